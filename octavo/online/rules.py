"""What an online update rule is written in, and the register of all the rules.

A rule is one compiled function ``kernel(y, x, state) -> (margin, loss)``. It predicts the row
``x`` with the weights in ``state``, looks at the label ``y``, and changes the state where its
own loss is positive. This module gives it the words for that (`score`, `step_along`,
`scale_weights`, `rival`, `variance`, `confident_step`), walks the rows of a stream
(`binary_rounds`, `multiclass_rounds`), and keeps the register that estimators look rules up
in. A new algorithm is one kernel and one call of `register_rule`.

References
----------
S. C. H. Hoi, J. Wang, P. Zhao. LIBOL: A Library for Online Learning Algorithms. JMLR 15,
2014: Algorithm 1, the framework shared by all the rules.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np

from octavo.engine import rank_one, streams
from octavo.engine.rank_one import Covariance
from octavo.engine.streams import JIT, ROUND, SCALE

__all__ = ["LearnerState", "UpdateRule", "register_rule", "registered_rules"]

# Numbers that a rule may keep from round to round, in `state.memory`.
NORM2, COUNT, RIVAL = 0, 1, 2
MEMORY_SIZE = 8
# A rule, and the loop that calls it, are inlined into one compiled function per rule: handing
# a compiled rule to a compiled loop as an argument would work too, but numba cannot keep such
# code on disk, and every process would compile it anew.
RULE: dict[str, Any] = {"inline": "always", "nogil": True, "error_model": "numpy"}


class LearnerState(NamedTuple):
    """All that a rule knows.

    Attributes
    ----------
    weights : ndarray of shape (n_coordinates * n_vectors,)
        One weight vector (binary) or one per class, stored coordinate by coordinate.
    drift : ndarray, same shape as ``weights`` or empty
        What the mean of the past weights needs; empty when it is not wanted.
    clock : ndarray of shape (3,)
        The number of the current round (from 1), and the scale and lag of the weights.
    covariance : Covariance
        Of a weight vector; of kind ``NONE`` for first-order rules.
    scores : ndarray of shape (n_vectors,)
        Filled by `rival` with the scores of the classes; its size tells their number.
    parameters : ndarray
        The numbers given to the rule by its estimator.
    memory : ndarray of shape (8,)
        Numbers the rule keeps from round to round, all 0 at first.
    """

    weights: np.ndarray
    drift: np.ndarray
    clock: np.ndarray
    covariance: Covariance
    scores: np.ndarray
    parameters: np.ndarray
    memory: np.ndarray


def new_state(
    n_coordinates: int,
    n_vectors: int,
    parameters,
    *,
    covariance_kind: int = rank_one.NONE,
    variance: float = 1.0,
    average: bool = False,
) -> LearnerState:
    """Return the state before the first round.

    Parameters
    ----------
    n_coordinates : int
        Number of features, the intercept included.
    n_vectors : int
        1 for a binary rule, the number of classes for a multiclass one.
    parameters : sequence of float
        What the kernel reads from ``state.parameters``.
    covariance_kind : int, default=rank_one.NONE
        Covariance to keep.
    variance : float, default=1.0
        Initial variance of every weight.
    average : bool, default=False
        Whether to keep the mean of the weights over the rounds.

    Returns
    -------
    state : LearnerState
        Zero weights.
    """
    size = n_coordinates * n_vectors
    return LearnerState(
        weights=np.zeros(size),
        drift=np.zeros(size if average else 0),
        clock=streams.new_clock(),
        covariance=rank_one.new_covariance(covariance_kind, n_coordinates, variance),
        scores=np.zeros(n_vectors),
        parameters=np.array(parameters, dtype=np.float64).reshape(-1),
        memory=np.zeros(MEMORY_SIZE),
    )


def state_weights(state: LearnerState, average: bool = False) -> np.ndarray:
    """Return the weights, one row per vector, or their mean over the rounds."""
    if average:
        flat = streams.averaged(state.weights, state.drift, state.clock)
    else:
        flat = streams.current(state.weights, state.clock)
    return np.ascontiguousarray(flat.reshape(-1, state.scores.size).T)


@numba.njit(**JIT)
def score(x, state):
    """Return w·x of a binary learner."""
    return state.clock[SCALE] * streams.dot(x, state.weights)


@numba.njit(**JIT)
def rival(y, x, state):
    """Fill the scores of all classes; return the margin of class ``y`` and its best rival."""
    scores = state.scores
    streams.dots(x, state.weights, scores)
    best = -1
    for c in range(scores.size):
        scores[c] *= state.clock[SCALE]
        if c != y and (best < 0 or scores[c] > scores[best]):
            best = c
    state.memory[RIVAL] = best
    return scores[y] - scores[best], best


@numba.njit(**JIT)
def step_along(x, state, c, step):
    """Add ``step`` times the row to weight vector ``c``."""
    streams.add(step, x, state.weights, state.drift, state.clock, state.scores.size, c)


@numba.njit(**JIT)
def scale_weights(state, factor):
    """Multiply all weights by ``factor``."""
    streams.rescale(factor, state.weights, state.drift, state.clock)


@numba.njit(**JIT)
def variance(x, state):
    """Return xᵀΣx; to be called before `confident_step`."""
    return rank_one.variance(x, state.covariance)


@numba.njit(**JIT)
def _step_at(state, j, c, change):
    state.weights[j * state.scores.size + c] += change
    if state.drift.size > 0:
        state.drift[j * state.scores.size + c] += (state.clock[ROUND] - 1.0) * change


@numba.njit(**JIT)
def confident_step(x, state, v, step, noise, winner, loser):
    """Move the weights by ``step * Σx``, then let Σ absorb the row with variance ``noise``.

    Parameters
    ----------
    x : Row
        The row that `variance` was just called with.
    state : LearnerState
        Changed in place.
    v : float
        The value of `variance`.
    step : float
        Added to weight vector ``winner`` along Σx and subtracted from ``loser``.
    noise : float
        r in Σ - Σx xᵀΣ / (v + r); infinite to leave Σ as it is.
    winner, loser : int
        Weight vectors; a ``loser`` of -1 is none.
    """
    if state.covariance.kind == rank_one.FULL:
        rank_one.absorb_full(state.covariance, noise)
        gain = state.covariance.gain
        for j in range(gain.size):
            _step_at(state, j, winner, step * gain[j])
            if loser >= 0:
                _step_at(state, j, loser, -step * gain[j])
        return
    n = x.values.size
    for k in range(n + (x.bias != 0.0)):
        value = x.bias if k == n else x.values[k]
        j = streams.coordinate(x, k)
        g = rank_one.absorb_coordinate(state.covariance, j, value, v, noise)
        _step_at(state, j, winner, step * g)
        if loser >= 0:
            _step_at(state, j, loser, -step * g)


@numba.njit(**RULE)
def binary_rounds(kernel, rows, order, labels, state, margins, losses):
    """Predict and learn rows one by one; return the numbers of mistakes and of updates.

    ``labels`` are ±1.0, in the order of the visits, as are ``margins`` and ``losses``, which
    are written. A row of zeros teaches nothing: its round counts, and its score is 0.
    """
    mistakes = 0
    updates = 0
    for i in range(order.size):
        x = streams.row_of(rows, order[i])
        y = labels[i]
        state.clock[ROUND] += 1.0
        margin = 0.0
        loss = 0.0
        if not streams.is_zero(x):
            margin, loss = kernel(y, x, state)
        margins[i] = margin
        losses[i] = loss
        mistakes += margin < 0.0 or (margin == 0.0 and y < 0.0)  # a score of 0 predicts +1
        updates += loss > 0.0
    return mistakes, updates


@numba.njit(**RULE)
def multiclass_rounds(kernel, rows, order, labels, state, margins, losses):
    """As `binary_rounds`, with ``labels`` the numbers of the classes; ties go to the first."""
    mistakes = 0
    updates = 0
    for i in range(order.size):
        x = streams.row_of(rows, order[i])
        y = labels[i]
        state.clock[ROUND] += 1.0
        margin = 0.0
        loss = 0.0
        state.memory[RIVAL] = 0.0
        if not streams.is_zero(x):
            margin, loss = kernel(y, x, state)
        margins[i] = margin
        losses[i] = loss
        mistakes += margin < 0.0 or (margin == 0.0 and state.memory[RIVAL] < y)
        updates += loss > 0.0
    return mistakes, updates


class UpdateRule(NamedTuple):
    """A rule in the register.

    Attributes
    ----------
    name : str
        Its name.
    task : {"binary", "multiclass"}
        Labels it learns from: ±1.0, or the numbers of the classes.
    second_order : bool
        Whether it keeps a covariance.
    run : callable
        ``run(rows, order, labels, state, margins, losses) -> (mistakes, updates)``.
    """

    name: str
    task: str
    second_order: bool
    run: Callable


_RULES: dict[tuple[str, str], UpdateRule] = {}


def register_rule(
    name: str,
    kernel: Callable | None = None,
    *,
    task: str = "binary",
    second_order: bool = False,
    run: Callable | None = None,
) -> UpdateRule:
    """Enter an update rule, so that `CustomOnlineClassifier` and the harness can use it.

    Parameters
    ----------
    name : str
        Name of the rule; entering a name again replaces the rule.
    kernel : callable, optional
        ``kernel(y, x, state) -> (margin, loss)``, plain or compiled with ``numba.njit``. It
        is written with the functions of this module. ``loss`` must be positive in exactly
        the rounds that change the state.
    task : {"binary", "multiclass"}, default="binary"
        ``y`` is ±1.0, or the number of a class.
    second_order : bool, default=False
        Whether the rule needs a covariance (`variance`, `confident_step`).
    run : callable, optional
        The loop over the rows with the kernel inlined. Built from ``kernel`` when absent; a
        loop written out in a module of its own can be cached on disk by numba.

    Returns
    -------
    rule : UpdateRule
        The entry.

    Examples
    --------
    A perceptron that insists on a margin of 1:

    >>> import numpy as np
    >>> from octavo.online import CustomOnlineClassifier, register_rule
    >>> from octavo.online.rules import score, step_along
    >>> def insistent(y, x, state):
    ...     margin = y * score(x, state)
    ...     loss = max(0.0, 1.0 - margin)
    ...     if loss > 0.0:
    ...         step_along(x, state, 0, y * state.parameters[0])
    ...     return margin, loss
    >>> _ = register_rule("insistent perceptron", insistent)
    >>> X, y = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.5]]), np.array([1, 0, 1])
    >>> CustomOnlineClassifier("insistent perceptron", parameters=(0.5,)).fit(X, y).n_updates_
    3
    """
    if task not in ("binary", "multiclass"):
        raise ValueError(f"task must be 'binary' or 'multiclass', got {task!r}.")
    if run is None:
        if kernel is None:
            raise ValueError(f"Rule {name!r} needs a kernel or a run; got neither.")
        run = _compiled_run(kernel, task)
    rule = UpdateRule(name, task, second_order, run)
    _RULES[name, task] = rule
    return rule


def _compiled_run(kernel: Callable, task: str) -> Callable:
    """Put the loop of a task around a kernel."""
    if not isinstance(kernel, numba.core.dispatcher.Dispatcher):
        kernel = numba.njit(**RULE)(kernel)
    rounds = binary_rounds if task == "binary" else multiclass_rounds

    @numba.njit(nogil=True, error_model="numpy")
    def run(rows, order, labels, state, margins, losses):
        return rounds(kernel, rows, order, labels, state, margins, losses)

    return run


def registered_rules(task: str | None = None) -> dict[tuple[str, str], UpdateRule]:
    """Return the register, keyed by name and task.

    Parameters
    ----------
    task : {"binary", "multiclass"} or None, default=None
        Only the rules of this task.

    Returns
    -------
    rules : dict of (name, task) to UpdateRule
        A copy.

    Examples
    --------
    >>> from octavo.online import registered_rules
    >>> len(registered_rules("binary")) >= 16, len(registered_rules("multiclass")) >= 13
    (True, True)
    """
    import octavo.online.rules_binary
    import octavo.online.rules_multiclass  # noqa: F401

    return {key: rule for key, rule in _RULES.items() if task in (None, key[1])}


def find_rule(name: str, task: str) -> UpdateRule:
    """Return a rule of the register, or say which names there are."""
    rules = registered_rules(task)
    if (name, task) not in rules:
        known = ", ".join(sorted(key[0] for key in rules))
        raise ValueError(f"No {task} update rule is named {name!r}; there are: {known}.")
    return rules[name, task]
