"""What the averaged one-pass learners share: a step size from R, one pass, the mean of iterates.

Reference: F. Bach (2014), "Adaptivity of Averaged Stochastic Gradient Descent to Local Strong
Convexity for Logistic Regression", Journal of Machine Learning Research 15: Sections 2 and 3.
"""

from __future__ import annotations

import math
import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.doubles import check_squares
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions
from octavo.engine.estimators.sparse_rows import validate_rows
from octavo.engine.streams import averaged_descent as descents
from octavo.engine.streams import passes as streams
from octavo.engine.streams.averaged_descent import CONSTANT, DECAY, DOUBLING, StepRule
from octavo.engine.streams.chunks import linear_scores

PIECE = 1 << 20  # rows learnt between two reports of progress
SHORT = 0.01  # of rows beside the constant 1 of an intercept
SCHEDULES = {"decay": DECAY, "constant": CONSTANT, "doubling": DOUBLING, "distance": CONSTANT}
STEP_CONSTRAINTS: dict[str, list[Any]] = {
    "schedule": [StrOptions(set(SCHEDULES))],
    "c": [Interval(Real, 0, None, closed="neither")],
    "R": [Interval(Real, 0, None, closed="neither"), None],
    "horizon": [Interval(Integral, 1, None, closed="left"), None],
    "dist": [Interval(Real, 0, None, closed="neither"), None],
    "fit_intercept": ["boolean"],
    "shuffle": ["boolean"],
    "random_state": ["random_state"],
}


def step_rule(
    schedule: str, c: float, horizon: int | None, dist: float | None, factor: float
) -> StepRule:
    """Return the steps that a schedule's name means; refuse one that lacks its numbers.

    Constant steps are c / (R² √N), the paper's with c = 1/2; "decay" has n in the place of N, and
    "doubling" the power of two below n. "distance" is ‖θ_0 - θ*‖ / (R √N), below Corollary 2.
    """
    if SCHEDULES[schedule] == CONSTANT and horizon is None:
        raise ValueError(
            f"schedule={schedule!r} needs a horizon: the number of rows that will come. Give it, "
            "or take schedule='decay' or 'doubling', which need none."
        )
    if schedule == "distance":
        if dist is None:
            raise ValueError(
                "schedule='distance' needs dist, an upper bound on the distance from the start, 0, "
                "to the optimum."
            )
        return StepRule(CONSTANT, float(dist), float(horizon or 1), False, factor)
    return StepRule(SCHEDULES[schedule], float(c), float(horizon or 1), True, factor)


def row_lengths(X: Any) -> np.ndarray:
    """Return the Euclidean lengths of rows."""
    if sp.issparse(X):
        squares = np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).reshape(-1)
        return np.sqrt(squares)
    return np.sqrt(np.einsum("ij,ij->i", X, X, dtype=np.float64))


def scaled_rows(X: Any, normalize: bool | str, limit: float) -> Any:
    """Return rows of length one (True), or no longer than ``limit`` ("clip"), or as they are."""
    if normalize is False:
        return X
    lengths = row_lengths(X)
    with np.errstate(divide="ignore", invalid="ignore"):
        factors = np.minimum(1.0, limit / lengths) if normalize == "clip" else 1.0 / lengths
    factors[lengths == 0.0] = 1.0
    factors = factors.astype(X.dtype, copy=False)
    if sp.issparse(X):
        scaled = X.copy()
        scaled.data *= np.repeat(factors, np.diff(X.indptr))
        return scaled
    return X * factors[:, None]


def row_count(X: Any) -> int | None:
    """Return the number of rows of what may be a table, or None."""
    shape = getattr(X, "shape", None)
    if shape is not None:
        return int(shape[0]) if len(shape) else None
    return len(X) if hasattr(X, "__len__") else None


class AveragedDescentMixin:
    """A linear model that a stream of rows is learnt by, in one pass, as a mean of iterates.

    A class that uses it has the parameters below and gives `_first_rows` and `_prepare` (rows and
    targets as the kernels take them), `_factor` (R over the longest row) and `_learn_block`.
    """

    schedule: str
    c: float
    R: float | None
    horizon: int | None
    dist: float | None
    normalize: bool | str
    fit_intercept: bool
    shuffle: bool
    random_state: Any
    n_features_in_: int

    _parameter_constraints: dict[str, list[Any]] = {
        **STEP_CONSTRAINTS,
        "normalize": ["boolean", StrOptions({"clip"})],
    }

    def _factor(self) -> float:
        raise NotImplementedError

    def _n_vectors(self) -> int:
        return 1

    def _first_rows(
        self, X: Any, y: Any, first: Any, horizon: int | None = None
    ) -> tuple[Any, np.ndarray]:
        raise NotImplementedError

    def _prepare(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        raise NotImplementedError

    def _learn_block(self, rows: Any, local: np.ndarray, targets: np.ndarray) -> None:
        raise NotImplementedError

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = True
        return tags

    # Learning -------------------------------------------------------------------------

    def _begin(self, horizon: int | None) -> None:
        """Set the state of a model that has seen nothing."""
        known = self.horizon if self.horizon is not None else horizon
        self._rule = step_rule(self.schedule, self.c, known, self.dist, self._factor())
        self._row_limit()
        coordinates = self.n_features_in_ + int(self.fit_intercept)
        radius = 0.0 if self.R is None else float(self.R)
        self._descent = descents.new_descent(coordinates, self._n_vectors(), self._rule, radius)
        self._has_warned = False

    def _row_limit(self) -> float:
        """Return the length that rows are clipped to, so that with the intercept R bounds them."""
        if self.normalize != "clip":
            return math.inf
        if self.R is None:
            raise ValueError("normalize='clip' needs R, the length that rows are cut to.")
        # R² = factor² (‖x‖² + 1), the 1 of the intercept
        room = (float(self.R) / self._factor()) ** 2 - float(self.fit_intercept)
        if room <= 0.0:
            raise ValueError(
                f"normalize='clip' with R={self.R!r} leaves no room for rows beside the constant 1 "
                f"of the intercept: R must exceed {self._factor():g}, or fit_intercept be False."
            )
        return math.sqrt(room)

    def _table(self, X: Any, *y: Any, reset: bool = False, **options: Any) -> Any:
        """Check a table, with its targets where there are any, as scikit-learn does."""
        kinds = [np.float64, np.float32]
        checked = validate_rows(
            self, X, *y, accept_sparse="csr", dtype=kinds, reset=reset, **options
        )
        table = checked[0] if y else checked
        if table.shape[1] >= 2**31:
            raise ValueError(f"X has {table.shape[1]} features; at most 2**31 - 1 are supported.")
        if self.normalize is not False:
            check_squares(table)
        return checked

    def _learn(self, X: Any, targets: np.ndarray, order: np.ndarray | None = None) -> None:
        """Take a step a row, in an order."""
        X = scaled_rows(X, self.normalize, self._row_limit())
        for rows, local, visited in streams.row_blocks(X, order, float(self.fit_intercept)):
            self._learn_block(rows, local, streams.locked(targets[visited]))
            if self._descent.clock[descents.BROKEN]:
                raise ValueError(
                    "The lengths of rows, or the scores that were met while learning, are not "
                    "finite: the numbers are too large or too small for doubles. Scale X, or "
                    "choose another c or R."
                )
        if self.R is not None and self._descent.clock[descents.LONGER] and not self._has_warned:
            self._has_warned = True
            warnings.warn(
                f"A row is longer than R={self.R!r} allows: R must be {self.R_:.6g} or more for "
                f"rows that were met (the intercept's 1 and the loss's factor "
                f"{self._rule.factor:g} included). Steps follow the longest row from now on, and "
                "the bounds for the R given do not hold (bounds_valid_ is False).",
                UserWarning,
                stacklevel=4,
            )

    def _learn_table(self, X: Any, y: Any, targets: np.ndarray) -> None:
        """Learn a whole table, shuffled if asked for, piece by piece."""
        n = X.shape[0]
        order = None
        if self.shuffle:
            order = check_random_state(self.random_state).permutation(n)
        starts = range(0, n, PIECE)
        with FitProgress(self, len(starts), X, y, step_name="piece") as progress:
            for start in starts:
                stop = min(start + PIECE, n)
                if order is not None:
                    self._learn(X, targets, order[start:stop])
                elif len(starts) == 1:
                    self._learn(X, targets)
                else:
                    self._learn(X[start:stop], targets[start:stop])
                if progress.step():
                    break
        self._warn_of_short_rows()

    def _warn_of_short_rows(self) -> None:
        """Say that rows are short beside the intercept's 1, which then sets the steps of all."""
        longest = float(self._descent.clock[descents.RADIUS]) / self._rule.factor
        if self.R is None and self.fit_intercept and longest**2 - 1.0 < SHORT**2:
            warnings.warn(
                f"No row is longer than {SHORT:g}, beside the 1 that stands for the intercept: "
                "steps are as long as that 1 allows, in which weights of such features hardly "
                "move. Scale X, or set fit_intercept=False.",
                UserWarning,
                stacklevel=4,
            )

    def _learn_chunks(self, chunks: Any, first: Any) -> None:
        """Learn an iterable of chunks; ``first`` prepares the model for the first of them."""
        rng = check_random_state(self.random_state)
        started = False
        with FitProgress(self, None, step_name="chunk") as progress:
            for X, y in chunks:
                X, targets = self._first_rows(X, y, first) if not started else self._prepare(X, y)
                started = True
                self._learn(X, targets, rng.permutation(X.shape[0]) if self.shuffle else None)
                if progress.step():
                    break
        if not started:
            raise ValueError("X is an iterable without a chunk; expected at least one (X, y).")
        self._warn_of_short_rows()

    # The model ------------------------------------------------------------------------

    def _state(self) -> Any:
        if not hasattr(self, "_descent"):
            raise AttributeError(f"{type(self).__name__} has no weights before it is fitted.")
        return self._descent

    def _weights(self, *, newest: bool = False) -> np.ndarray:
        pick = descents.newest if newest else descents.averaged
        return pick(self._state(), self._n_vectors())

    def _split(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return coefficients and intercepts."""
        d = self.n_features_in_
        if self.fit_intercept:
            return weights[:, :d], weights[:, d].copy()
        return weights, np.zeros(len(weights))

    @property
    def n_seen_(self):
        """Rows learnt from."""
        return int(self._state().clock[descents.SEEN])

    @property
    def R_(self):
        """The R that steps were taken with: given, or found on the way."""
        return float(self._state().clock[descents.RADIUS])

    @property
    def step_(self):
        """Length of the last step, γ_n."""
        return descents.last_step(self._state())

    @property
    def bounds_valid_(self):
        """Whether one R served all rows, as the paper's bounds assume."""
        allowed = 1.0 if self.R is None else 0.0  # the first row sets what nobody gave
        return bool(self._state().clock[descents.LONGER] <= allowed)

    def _scores(self, X: Any) -> np.ndarray:
        check_is_fitted(self, "_descent")
        X = scaled_rows(self._table(X), self.normalize, self._row_limit())
        return linear_scores(X, self._weights(), self.n_features_in_)
