"""What taggers and segmenters by label patterns share: parameters, patterns, training, weights."""

from __future__ import annotations

import math
import warnings
from collections.abc import Hashable, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from octavo.engine.chains.label_sequences import LabelStack, object_array, stack_labels
from octavo.engine.chains.sequences import split_sequences
from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions
from octavo.engine.estimators.sound import SoundEstimator
from octavo.sequence.crf.field_training import Trained, fit_likelihood, fit_margin, prior_sigmas
from octavo.sequence.crf.label_grammar import LabelGrammar
from octavo.sequence.crf.pattern_automaton import BoundaryLabel, Pattern, observed_patterns
from octavo.sequence.crf.sequence_features import Table, read_table


class PatternModel(CallbackSupportMixin, SoundEstimator):
    """Base of `HighOrderCRF` and `HighOrderSemiCRF`, which document the parameters."""

    max_order: int
    min_pattern_count: int
    alpha: float
    alpha_by_order: dict[int, float] | None
    alpha_l1: float
    transition_features: str | Sequence[Pattern]
    solver: str
    max_iter: int
    tol: float
    n_jobs: int | None
    observation_order: int
    boundary_labels: bool
    max_patterns: int | None

    _parameter_constraints: dict[str, Any] = {
        "max_order": [Interval(Integral, 0, None, closed="left")],
        "min_pattern_count": [Interval(Integral, 1, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "alpha_by_order": [None, dict],
        "alpha_l1": [Interval(Real, 0, None, closed="left")],
        "transition_features": [StrOptions({"patterns"}), "array-like"],
        "solver": [StrOptions({"lbfgs", "max_margin"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "n_jobs": [None, Integral],
        "observation_order": [Interval(Integral, 0, None, closed="left")],
        "boundary_labels": ["boolean"],
        "max_patterns": [None, Interval(Integral, 1, None, closed="left")],
    }

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags

    # --- patterns ---------------------------------------------------------------------------

    def _choose_patterns(self, labels: list[Hashable], lengths: Ints) -> list[Pattern]:
        """Return the patterns of the model: those seen in training, or those listed."""
        given = self.transition_features
        if not isinstance(given, str):
            if self.max_patterns is not None and len(given) > self.max_patterns:
                raise ValueError(
                    f"transition_features lists {len(given)} patterns, more than "
                    f"max_patterns={self.max_patterns}."
                )
            return [z if isinstance(z, str) else tuple(z) for z in given]
        return list(
            observed_patterns(
                labels,
                self.max_order,
                min_count=self.min_pattern_count,
                boundary_labels=self.boundary_labels,
                max_patterns=self.max_patterns,
                lengths=lengths,
            )
        )

    def _grammar(
        self, patterns: Sequence[Pattern], *, allow_repeat: bool, complete: bool = False
    ) -> tuple[LabelGrammar, Ints]:
        """Return the grammar, and which patterns have weights that depend on observations."""
        order = self.observation_order
        observed = [
            i
            for i, z in enumerate(patterns)
            if 2 <= len(z) <= order + 1
            and BoundaryLabel.BEGIN not in z
            and BoundaryLabel.END not in z
        ]
        labels = self.classes_.tolist()
        grammar = LabelGrammar(
            labels, patterns, allow_repeat=allow_repeat, complete=complete or bool(observed)
        )
        return grammar, np.array(observed, dtype=np.int64)

    # --- training ---------------------------------------------------------------------------

    def _check_options(self) -> None:
        if self.solver == "max_margin" and self.alpha_l1 > 0:
            raise ValueError(f"alpha_l1={self.alpha_l1} needs solver='lbfgs'.")
        if self.solver == "max_margin" and self.alpha == 0:
            raise ValueError("solver='max_margin' needs alpha > 0; got 0.")
        for order, value in (self.alpha_by_order or {}).items():
            if not isinstance(order, Integral) or order < 0:
                raise ValueError(
                    f"alpha_by_order has the key {order!r}; keys are orders, 0, 1, ..."
                )
            if not isinstance(value, Real) or not value > 0:
                raise ValueError(f"alpha_by_order[{order}] must be positive; got {value!r}.")

    def _share(self, sample_weight: ArrayLike | None, n_sequences: int) -> Floats:
        if sample_weight is None:
            return np.ones(n_sequences)
        share = np.asarray(sample_weight, dtype=np.float64)
        if share.shape != (n_sequences,) or not np.isfinite(share).all() or share.min() < 0:
            raise ValueError(
                f"sample_weight must be {n_sequences} numbers that are not negative, one a "
                f"sequence, got {sample_weight!r}."
            )
        if share.sum() <= 0:
            raise ValueError("sample_weight must not be zero for all sequences.")
        return share

    def _train(self, data: Any, share: Floats, X: Any, y: Any) -> None:
        """Find the weights of the field by the chosen solver; warn if it did not converge."""
        sigma = prior_sigmas(self._field, self.alpha, self.alpha_by_order)
        limits: dict[str, Any] = {"tol": self.tol, "max_iter": self.max_iter}
        with FitProgress(self, self.max_iter, X, y) as progress:
            if self.solver == "lbfgs":
                found = fit_likelihood(
                    self._field,
                    data,
                    share,
                    sigma,
                    l1=self.alpha_l1,
                    n_jobs=self.n_jobs,
                    step=progress.step,
                    **limits,
                )
            else:
                found = fit_margin(self._field, data, share, sigma, step=progress.step, **limits)
        self._keep(found)

    def _keep(self, found: Trained) -> None:
        if not found.converged:
            what = "duality gap" if self.solver == "max_margin" else "largest entry of the gradient"
            warnings.warn(
                f"{type(self).__name__} stopped after {found.n_iter} iterations with a {what} of "
                f"{found.residual:.2e} per position, above tol={self.tol:g}; the objective is "
                f"within {found.gap:.3g} of its optimum. Raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=4,
            )
        self.n_iter_ = found.n_iter
        self.objective_, self.objectives_ = -found.objective, -found.trace
        self.duality_gap_ = found.gap
        self.gradient_norm_ = found.residual if self.solver == "lbfgs" else math.nan
        self._expose(found.weights)

    def _expose(self, weights: Floats) -> None:
        """Set the fitted attributes that show the weights."""
        self._weights = weights
        parts = self._field.blocks.split(weights)
        self.coef_ = parts["coef"]
        self.pattern_coef_ = dict(zip(self.patterns_, parts["pattern"].tolist()))
        self.transition_coef_ = parts["transition"]
        self.observed_patterns_ = [self.patterns_[i] for i in self._field.observed]
        self.states_ = list(self._field.grammar.automaton.states)

    # --- input and output -------------------------------------------------------------------

    def _read(self, X: Any, lengths: ArrayLike | None) -> Table:
        """Return observations to predict from, after checking that they look like training."""
        check_is_fitted(self, "_weights")
        table = read_table(X, lengths, names=self.feature_names_)
        if (self.feature_names_ is None) != (table.names is None):
            kinds = "an array", "dictionaries of features"
            trained, given = kinds if self.feature_names_ is None else kinds[::-1]
            raise ValueError(f"X was {trained} in training and is now {given}.")
        if table.values.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {table.values.shape[1]} features, but {type(self).__name__} was trained "
                f"on {self.n_features_in_}."
            )
        return table

    def _as_given(self, values: NDArray[Any], table: Table) -> Any:
        """Return what belongs to positions as a list, or stacked, as X was."""
        return split_sequences(values, table.lengths) if table.listed else values


def match_labels(y: Any, table: Table, *, name: str = "y") -> LabelStack:
    """Return labels after checking that every sequence has as many as positions."""
    if y is None:
        raise ValueError(f"{name} is missing: this model learns from labelled sequences.")
    if table.listed and hasattr(y, "__len__") and not isinstance(y, str):
        y = [list(part) if isinstance(part, tuple) else part for part in y]
    nested = hasattr(y, "__len__") and len(y) and all(isinstance(p, (list, np.ndarray)) for p in y)
    if nested or table.listed:
        if not nested and len(table.lengths) == 1:
            y = [y]
        elif not nested:
            raise ValueError(f"{name} must be a list of label sequences, as X is.")
        stack = stack_labels([*y], name=name)
        if stack.lengths.size != table.lengths.size:
            raise ValueError(
                f"X has {table.lengths.size} sequences, but {name} has {stack.lengths.size}."
            )
        wrong = np.flatnonzero(stack.lengths != table.lengths)
        if wrong.size:
            q = int(wrong[0])
            raise ValueError(
                f"Sequence {q} has {table.lengths[q]} positions in X, but {stack.lengths[q]} "
                f"labels in {name}."
            )
        return stack
    return stack_labels(y, table.lengths, name=name)


def labels_of(codes: Ints, classes: NDArray[Any]) -> NDArray[Any]:
    """Return labels from their codes."""
    if classes.dtype == object:
        return object_array([classes[c] for c in codes.ravel()]).reshape(codes.shape)
    return classes[codes]
