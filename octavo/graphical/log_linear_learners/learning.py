"""What all learners of log-linear networks share: rows held out, weights, tuning, files."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.estimators.sklearn_door import Interval, StrOptions
from octavo.engine.estimators.sound import SoundEstimator
from octavo.graphical.log_linear.conjunctions import (
    Feature,
    as_parts,
    canonical_set,
    log_conditionals,
    margins_of,
)
from octavo.graphical.log_linear.pseudo_likelihood import (
    FeaturePlan,
    PseudoLikelihood,
    WeightedRows,
    fit_weights,
    weighted_rows,
)
from octavo.graphical.log_linear.queries import NetworkQueries
from octavo.graphical.log_linear.state_codes import Codes, read_table
from octavo.graphical.log_linear.text_format import WrittenNetwork, parse_network

__all__: list[str] = []

WEIGHT_SDS = (0.1, 1.0, 10.0, 100.0)  # Section 7.1
TUNING_TOL, TUNING_ITER = 1e-4, 60  # weights that only choose settings need no more
TUNING_DIFFERENCE = 1e-4  # of scores: less than this is within what such weights can tell
Step = Callable[[], bool]

POSITIVE = Interval(Real, 0, None, closed="neither")
WEIGHT_CONSTRAINTS: dict[str, Any] = {
    "weight_sd": [StrOptions({"auto"}), POSITIVE],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "tol": [POSITIVE],
    "validation": [Interval(Real, 0, 1, closed="neither"), "array-like"],
    "random_state": ["random_state"],
    "n_jobs": [None, Integral],
}


class Tuning(NamedTuple):
    """Training and held-out rows, and how weights are fitted for choices of settings."""

    train: WeightedRows
    held_out: Codes
    n_jobs: int | None
    step: Step


def held_out_rows(n: int, validation: Any, random_state: Any) -> tuple[Ints, Ints]:
    """Return the rows to learn from and those to choose settings by.

    Parameters
    ----------
    n : int
        Number of rows.
    validation : float or array-like of int
        A share, drawn at random, or the numbers of the rows.
    random_state : int, RandomState or None
        Source of randomness.

    Returns
    -------
    train, held_out : ndarray of int
        Numbers of rows.
    """
    if np.ndim(validation) == 0:
        order = check_random_state(random_state).permutation(n)
        size = int(np.clip(round(float(validation) * n), 1, n - 1))
        return np.sort(order[size:]), np.sort(order[:size])
    rows = np.asarray(validation)
    fits = rows.ndim == 1 and rows.dtype.kind in "iu" and rows.size and rows.min() >= 0
    if not fits or rows.max() >= n or np.unique(rows).size >= n:
        raise ValueError(
            f"validation must be a share of the rows, or distinct numbers of some of the {n} rows."
        )
    held_out = np.unique(rows)
    return np.setdiff1d(np.arange(n), held_out), held_out


def held_out_score(codes: Codes, plan: FeaturePlan, weights: Floats, cardinalities: Ints) -> float:
    """Return the mean log conditional of held-out rows."""
    parts = as_parts(plan.features, cardinalities)
    return float(log_conditionals(margins_of(codes, parts, weights, cardinalities), cardinalities)
                 .mean())  # fmt: skip


def weights_at(features: Sequence[Feature], known: dict[Feature, float]) -> Floats:
    """Return a beginning for the weights of features: those that are known, else zero."""
    return np.array([known.get(feature, 0.0) for feature in features])


def choose_weight_sd(
    tuning: Tuning,
    plan: FeaturePlan,
    weight_sd: Any,
    known: dict[Feature, float] | None = None,
) -> tuple[float, float, dict[float, float]]:
    """Choose the prior's standard deviation by held-out score, from tight to loose.

    The first fit begins at `known` weights, and leaves its own there; each other begins at the one
    before. The path ends at the first that is no better, so that of equals the tighter prior is
    taken: its weights are found sooner.

    Parameters
    ----------
    tuning : Tuning
        Rows.
    plan : FeaturePlan
        Features.
    weight_sd : "auto" or float
        Candidates: the paper's four, or this one.
    known : dict, optional
        Weights of features by an earlier call, kept up to date.

    Returns
    -------
    weight_sd : float
        The best.
    score : float
        Its held-out score.
    scores : dict
        Of all that were tried.
    """
    likelihood = PseudoLikelihood(tuning.train, plan, tuning.n_jobs)
    candidates = WEIGHT_SDS if isinstance(weight_sd, str) else (float(weight_sd),)
    scores: dict[float, float] = {}
    start, best = None if known is None else weights_at(plan.features, known), candidates[0]
    for sd in candidates:
        fit = fit_weights(
            likelihood, sd, start=start, tol=TUNING_TOL, max_iter=TUNING_ITER, step=tuning.step
        )
        start = fit.x
        if known is not None and sd == candidates[0]:
            known.update(zip(plan.features, fit.x.tolist()))
        cards = tuning.train.cardinalities
        scores[sd] = held_out_score(tuning.held_out, plan, fit.x, cards)
        if sd != best and scores[sd] < scores[best] + TUNING_DIFFERENCE:
            break
        best = sd
    return best, scores[best], scores


class LearnedNetwork(CallbackSupportMixin, NetworkQueries, SoundEstimator):
    """A network whose features and weights come from a table.

    Parameters
    ----------
    leaf_prior : float, default=1.0
        The Dirichlet prior of leaves.
    max_iter : int, default=500
        Most iterations of the last fit of weights.
    min_samples_leaf : int, default=10
        Fewest rows of a leaf.
    n_jobs : int or None, default=None
        Threads; they change no digit.
    random_state : int, RandomState or None, default=None
        Draws the rows of `validation`.
    tol : float, default=1e-6
        Largest entry of the gradient of the objective at which it stops.

    Attributes
    ----------
    adjacency_ : ndarray of bool
        The same as a matrix.
    graph_ : networkx.Graph
        Variables, joined where they share a feature; `weight` is its largest absolute weight.
    weights_ : ndarray
        Of the features.
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        return tags

    def _codes(self, X: Any, unknown: bool = False) -> Codes:
        self._ready()
        return read_table(self, X, reset=False, unknown=unknown).codes

    def _ready(self) -> None:
        check_is_fitted(self, "weights_")

    def _read(self, X: Any, fewest: int) -> Codes:
        """Read the table of fit, and refuse one with too few rows."""
        table = read_table(self, X, reset=True)
        if len(table.codes) < fewest:
            raise ValueError(
                f"{type(self).__name__} needs at least {fewest} rows, two leaves' worth; X has "
                f"{len(table.codes)} samples."
            )
        self.cardinalities_, self.categories_ = table.cardinalities, table.categories
        return table.codes

    def _tuning(self, codes: Codes, step: Step) -> Tuning:
        train, held_out = held_out_rows(len(codes), self.validation, self.random_state)
        rows = weighted_rows(codes[train], self.cardinalities_)
        return Tuning(rows, codes[held_out], self.n_jobs, step)

    def _fit_final(
        self, rows: WeightedRows, plan: FeaturePlan, sd: float, step: Step, start: Any = None
    ) -> None:
        """Fit the weights of the chosen features to all rows, and keep them with a certificate."""
        likelihood = PseudoLikelihood(rows, plan, self.n_jobs)
        fit = fit_weights(
            likelihood, sd, start=start, tol=self.tol, max_iter=self.max_iter, step=step
        )
        self.features_, self.weights_, self.weight_sd_ = plan.features, fit.x, float(sd)
        self.objective_ = -fit.objective / rows.n_samples
        self.gradient_norm_, self.n_iter_ = fit.gradient_norm, fit.n_iter
        if not fit.converged:
            warnings.warn(
                f"Weights not converged after {fit.n_iter} iterations: the largest entry of the "
                f"gradient is {fit.gradient_norm:.3g} a row. Raise max_iter or tol, or lower "
                "weight_sd.",
                ConvergenceWarning,
                stacklevel=5,
            )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Any:
        """Read a network that `save` wrote.

        Parameters
        ----------
        path : str or path-like
            A text file.

        Returns
        -------
        network : object
            Answers all queries; what the search knew beside features and weights is not in a file.
        """
        network = cls()
        network._adopt(parse_network(Path(path).read_text(encoding="utf-8")))
        return network

    def _adopt(self, written: WrittenNetwork) -> None:
        if written.targets is not None:
            raise ValueError(
                "The file holds a dependency network; DependencyNetwork.load reads it."
            )
        self.cardinalities_ = written.cardinalities
        self.features_ = canonical_set(written.features, self.cardinalities_)
        self.weights_ = written.weights
        if len(self.features_) != len(self.weights_):
            raise ValueError("The file names a feature twice, or one without a test.")
        self.categories_ = [None] * len(self.cardinalities_)
        self.n_features_in_ = len(self.cardinalities_)


def all_of(values: Any, auto: Sequence[Any]) -> Sequence[Any]:
    """Return the candidates of a setting: the grid where it is "auto", else itself alone."""
    return auto if isinstance(values, str) and values == "auto" else (values,)
