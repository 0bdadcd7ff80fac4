"""What a search has asked so far: states, labels, weights, and the surrogate fitted to them."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy.special import log_softmax

from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.kernels.gram import resolve_kernel
from octavo.search.de_novo.family import is_set, kernel_block
from octavo.search.de_novo.surrogate import alpha_grid, choose_alpha, fit_family, gram_factor
from octavo.search.de_novo.vector_kernels import label_intersection_kernel

TWO_SIDED = (-1, 0, 1)


class SearchRound(NamedTuple):
    """One round of a search.

    Attributes
    ----------
    n_queries : int
        States asked about so far.
    n_found : int
        Targets among them, repeated ones included.
    states, labels : list
        What was asked in this round, and the answers.
    probabilities : ndarray
        p(target | state) of the surrogate before the answers; NaN where there is none.
    weights : ndarray
        Importance weights of the answers.
    alpha : float
        Penalty of the surrogate; NaN before there is one.
    burn_in : int
        Steps of the chains; 0 where there are none.
    acceptance : float
        Share of their proposals that were accepted; NaN where there are none.
    """

    n_queries: int
    n_found: int
    states: list[Any]
    labels: list[Any]
    probabilities: Floats
    weights: Floats
    alpha: float = math.nan
    burn_in: int = 0
    acceptance: float = math.nan


def is_number(label: Any) -> bool:
    """Whether a label is a number; True and False count as 1 and 0."""
    return isinstance(label, (Real, np.bool_))


def check_label(label: Any, target: Any, known: list[Any]) -> Any:
    """Return a label of the target's set, or say that it is outside."""
    if is_set(target):
        if is_set(label):
            return frozenset(label)
        raise ValueError(f"The oracle must answer with sets, as the target is; got {label!r}.")
    if isinstance(target, str):
        if isinstance(label, str):
            return str(label)
        raise ValueError(f"The oracle must answer with words, as the target is; got {label!r}.")
    if not is_number(label) or label != label or (target in TWO_SIDED and label not in TWO_SIDED):
        raise ValueError(
            f"The oracle answered {label!r}, which is no label beside the target {target!r}: "
            "labels are 0 and 1, -1 and 1, words, or sets."
        )
    if target in TWO_SIDED and len({int(value) for value in [*known, label, target]}) > 2:
        raise ValueError(
            f"The oracle answered {label!r} although it had answered with other labels beside the "
            f"target {target!r}: labels are 0 and 1, or -1 and 1."
        )
    return label.item() if hasattr(label, "item") else label


def ask(oracle: Callable[..., Any], states: list[Any], target: Any, known: list[Any]) -> list[Any]:
    """Return the oracle's labels of states, checked; `known` are distinct labels seen before."""
    answers = oracle(list(states))
    listed = hasattr(answers, "__len__") and not isinstance(answers, (str, bytes, dict, set))
    if not listed or len(answers) != len(states):
        raise ValueError(
            f"The oracle must return a list of {len(states)} labels for as many states; got "
            f"{answers!r}."
        )
    labels: list[Any] = []
    for answer in answers:
        label = check_label(answer, target, known)
        if label not in known:
            known.append(label)
        labels.append(label)
    return labels


def make_kernel(kernel: Any) -> Callable[[list[Any], list[Any]], Floats]:
    """Return a kernel as a function of two lists of states."""
    if callable(kernel):
        return lambda X, Y: kernel_block(kernel, X, Y)
    if not isinstance(kernel, str) or kernel == "precomputed":
        raise ValueError(f"The kernel must be a name or a function of two lists; got {kernel!r}.")

    def named(X: list[Any], Y: list[Any]) -> Floats:
        rows, others = (np.asarray(list(Z), dtype=np.float64) for Z in (X, Y))
        rows, others = (Z.reshape(len(Z), -1) for Z in (rows, others))
        return np.asarray(resolve_kernel(kernel, others, gamma=None).block(rows, others))

    return named


class Evidence:
    """States with labels and weights, their Gram matrix, and the surrogate of p(target | x)."""

    def __init__(self, kernel: Any, target: Any, alpha: Any) -> None:
        self.kernel, self.target, self.alpha = make_kernel(kernel), target, alpha
        self.known: list[Any] = []
        self.classes: list[Any] = [target]
        self.states: list[Any] = []
        self.labels: list[Any] = []
        self.weights = np.zeros(0)
        self.K = np.zeros((0, 0))
        self.dual: Floats | None = None
        self.n_basis = 0
        self.used_alpha = math.nan

    @property
    def n_classes(self) -> int:
        """Number of labels; the target has company even where nothing else was seen."""
        return max(2, len(self.classes))

    def add(self, states: list[Any], labels: list[Any], weights: Floats) -> None:
        """Take note of answers."""
        if not states:
            return
        cross = self.kernel(states, self.states) if self.states else np.zeros((len(states), 0))
        own = self.kernel(states, states)
        self.K = np.block([[self.K, cross.T], [cross, 0.5 * (own + own.T)]])
        self.states += states
        self.labels += labels
        self.weights = np.concatenate([self.weights, weights])
        self.classes += [x for x in dict.fromkeys(labels) if x not in self.classes]

    def codes(self) -> Ints:
        """Return labels as numbers: the target is 0, which `fit` turns to the other end for two."""
        return np.array([self.classes.index(label) for label in self.labels], dtype=np.int64)

    def fit(self, random_state: Any) -> None:
        """Fit the surrogate, line 9, with the penalty that was given or chosen by folds."""
        factor = gram_factor(self.K)
        gram = None
        if is_set(self.target):
            names = [*self.classes, frozenset()][: self.n_classes]
            gram = label_intersection_kernel(names)
        extra: dict[str, Any] = {"n_classes": self.n_classes, "label_gram": gram}
        codes = self.codes()
        alpha = self.alpha
        if isinstance(alpha, str):
            alpha = choose_alpha(
                factor.features,
                codes,
                self.weights,
                alpha_grid(self.K),
                random_state=random_state,
                **extra,
            )
        self.used_alpha = float(alpha)
        found = fit_family(factor.features, codes, self.weights, float(alpha), tol=1e-8, **extra)
        self.dual, self.n_basis = factor.embed @ found.theta, len(self.states)

    def log_probability(self, states: list[Any]) -> Floats:
        """Return ln p(target | x) of states; all alike before the first fit."""
        if self.dual is None:
            return np.full(len(states), -math.log(self.n_classes))
        scores = self.kernel(states, self.states[: self.n_basis]) @ self.dual
        return log_softmax(scores, axis=1)[:, 0]
