"""What an online update rule is written in, and the register of all the rules.

A rule is one compiled function ``kernel(y, x, state) -> (margin, loss)``. It predicts the row
``x`` with the weights in ``state``, looks at the label ``y``, and changes the state where its
own loss is positive. This module gives it the words for that (`score`, `step_along`,
`scale_weights`, `rival`, `variance`, `confident_step`, `dual_score`, `dual_step`; they carry
no underscore, since rules elsewhere are written with them), walks the rows of a stream
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
from numba import types
from numba.extending import overload

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.checked import checked
from octavo.engine.streams import packed_covariance as rank_one
from octavo.engine.streams import passes as streams
from octavo.engine.streams.packed_covariance import Covariance
from octavo.engine.streams.passes import JIT, ROUND, SCALE, WORD

__all__ = ["LearnerState", "UpdateRule", "register_rule", "registered_rules"]

# Numbers that a rule may keep from round to round, in `state.memory`.
NORM2, COUNT, RIVAL = 0, 1, 2
MEMORY_SIZE = 8
NEAR = 1 << 16  # numbers that the processor's second cache holds beside all else: 512 KiB
SOON = 2  # rows after the present one whose weights are asked for, where they may be far
# A rule, and the loop that calls it, are inlined into one compiled function per rule: handing
# a compiled rule to a compiled loop as an argument would work too, but numba cannot keep such
# code on disk, and every process would compile it anew.
RULE: dict[str, Any] = {**JIT, "inline": "always"}


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


def side_by_side(state: LearnerState) -> LearnerState:
    """Return a state with a weight and its variance beside each other, where there is one of each.

    They are views of one array then: a sparse row needs one line of the cache for both. Dense
    rows are faster with two arrays, which is also what copies and pickles of a state hold.
    """
    weights, sigma = state.weights, state.covariance
    apart = weights.flags.c_contiguous and weights.size == sigma.values.size
    if sigma.kind != rank_one.DIAGONAL or not apart:
        return state
    pairs = np.column_stack((weights, sigma.values))
    return state._replace(weights=pairs[:, 0], covariance=sigma._replace(values=pairs[:, 1]))


def state_weights(state: LearnerState, average: bool = False) -> np.ndarray:
    """Return the weights, one row per vector, or their mean over the rounds."""
    if average:
        flat = streams.averaged(state.weights, state.drift, state.clock)
    else:
        flat = streams.current(state.weights, state.clock)
    return np.ascontiguousarray(flat.reshape(-1, state.scores.size).T)


@njit(**WORD)
def score(x, state):
    """Return w·x of a binary learner."""
    return state.clock[SCALE] * streams.dot(x, state.weights)


@njit(**WORD)
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


@njit(**WORD)
def step_along(x, state, c, step):
    """Add ``step`` times the row to weight vector ``c``."""
    streams.add(step, x, state.weights, state.drift, state.clock, state.scores.size, c)


@njit(**WORD)
def scale_weights(state, factor):
    """Multiply all weights by ``factor``."""
    streams.rescale(factor, state.weights, state.drift, state.clock)


@njit(**WORD)
def variance(x, state):
    """Return xᵀΣx; to be called before `confident_step`."""
    return rank_one.variance(x, state.covariance)


@njit(**JIT)
def _step_dense(gain, step, weights, drift, past, n, c):
    """Move weight vector ``c`` of ``n`` along ``gain``."""
    if n == 1 and drift.size == 0:  # numbers beside each other: vector instructions
        for j in range(weights.size):
            weights[j] += step * gain[j]
        return
    for j in range(weights.size // n):  # of a gain that may end with what fills a tile
        weights[j * n + c] += step * gain[j]
    if drift.size > 0:
        for j in range(weights.size // n):
            drift[j * n + c] += past * step * gain[j]


@njit(**WORD)
def _step_diagonal(x, sigma, v, step, noise, weights, drift, past, n, winner, loser):
    """Move weights along σ∘x and let σ absorb the row, on the coordinates of the row."""
    shrink = 1.0 / (noise + v)
    if n == 1 and loser < 0 and drift.size == 0 and not x.dense:
        for k in range(x.values.size):  # nothing to decide on the way: twice as fast
            at = x.indices[k]
            g = rank_one.absorb_coordinate(sigma, at, x.values[k], v, noise, shrink)
            weights[at] += step * g
        if x.bias != 0.0:
            g = rank_one.absorb_coordinate(sigma, x.n_features, x.bias, v, noise, shrink)
            weights[x.n_features] += step * g
        return
    for k in range(x.values.size + (x.bias != 0.0)):
        value = x.bias if k == x.values.size else x.values[k]
        j = streams.coordinate(x, k)
        g = rank_one.absorb_coordinate(sigma, j, value, v, noise, shrink)
        weights[j * n + winner] += step * g
        if loser >= 0:
            weights[j * n + loser] -= step * g
        if drift.size > 0:
            drift[j * n + winner] += past * step * g
            if loser >= 0:
                drift[j * n + loser] -= past * step * g


@njit(**WORD)
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
    weights, drift, n = state.weights, state.drift, state.scores.size
    past, sigma = state.clock[ROUND] - 1.0, state.covariance
    _confident_step(
        x, sigma.values, sigma.projected, sigma.gain, v, step, noise, weights, drift, past, n,
        winner, loser,
    )  # fmt: skip


@njit(**JIT)
def _step_full(sigma, projected, gain, step, noise, weights, drift, past, n, winner, loser):
    """Move weights along Σx and let the factor of Σ absorb the row."""
    rank_one.absorb_factor(sigma, projected, gain, noise)
    _step_dense(gain, step, weights, drift, past, n, winner)
    if loser >= 0:
        _step_dense(gain, -step, weights, drift, past, n, loser)


# Only the form of the covariance that is there is compiled; the plain function says what both
# overloads do, and names what they call for the key of the cache.
def _confident_step(
    x, sigma, projected, gain, v, step, noise, weights, drift, past, n, winner, loser
):
    if gain is None:
        _step_diagonal(x, sigma, v, step, noise, weights, drift, past, n, winner, loser)
    else:
        _step_full(sigma, projected, gain, step, noise, weights, drift, past, n, winner, loser)


@overload(_confident_step, jit_options=rank_one.INNER_WORD)
def _confident_step_either(
    x, sigma, projected, gain, v, step, noise, weights, drift, past, n, winner, loser
):
    def diagonal(x, sigma, projected, gain, v, step, noise, weights, drift, past, n, winner, loser):
        _step_diagonal(x, sigma, v, step, noise, weights, drift, past, n, winner, loser)

    def full(x, sigma, projected, gain, v, step, noise, weights, drift, past, n, winner, loser):
        _step_full(sigma, projected, gain, step, noise, weights, drift, past, n, winner, loser)

    return diagonal if isinstance(gain, types.NoneType) else full


@njit(**JIT)
def dual_score(x, state, f, v, noise):
    """Return θᵀΣ'x, where w = Σθ has score ``f`` and Σ' is Σ after absorbing the row."""
    if noise == np.inf:
        return f
    if state.covariance.kind == rank_one.FULL:
        return f * (noise / (noise + v))  # Σ'x = Σx r/(v + r)
    sigma, total = state.covariance.values, 0.0
    for k in range(x.values.size + (x.bias != 0.0)):
        value = x.bias if k == x.values.size else x.values[k]
        j = streams.coordinate(x, k)
        # 1 - σ x²/(v + r), without the difference
        kept = (noise + max(v - sigma[j] * value * value, 0.0)) / (noise + v)
        total += state.weights[j] * value * kept
    return total


@njit(**JIT)
def dual_step(x, state, f, v, step, noise):
    """Let Σ absorb the row and add ``step`` times the row to θ, where w = Σθ of score ``f``."""
    if state.covariance.kind == rank_one.FULL:
        along = step if noise == np.inf else (step * noise - f) / (v + noise)
        confident_step(x, state, v, along, noise, 0, -1)
        return
    sigma, weights, drift = state.covariance.values, state.weights, state.drift
    shrink = 1.0 / (noise + v)
    for k in range(x.values.size + (x.bias != 0.0)):
        value = x.bias if k == x.values.size else x.values[k]
        j = streams.coordinate(x, k)
        old, before = weights[j], sigma[j]
        rank_one.absorb_coordinate(sigma, j, value, v, noise, shrink)
        weights[j] = sigma[j] * (old / before + step * value)
        if drift.size > 0:
            drift[j] += (state.clock[ROUND] - 1.0) * (weights[j] - old)


def _borrowed_if_any(vector):
    """Return what `streams.borrowed` does, or None for None."""


@overload(_borrowed_if_any)
def _borrowed_if_array(vector):
    if isinstance(vector, types.NoneType):
        return lambda vector: None
    return lambda vector: streams.borrowed(vector)


@njit(**JIT)
def _borrowed_state(state):
    """Return a state whose arrays do not count references."""
    covariance = Covariance(
        state.covariance.kind,
        state.covariance.n_coordinates,
        streams.borrowed(state.covariance.values),
        _borrowed_if_any(state.covariance.projected),
        _borrowed_if_any(state.covariance.gain),
    )
    return LearnerState(
        streams.borrowed(state.weights),
        streams.borrowed(state.drift),
        streams.borrowed(state.clock),
        covariance,
        streams.borrowed(state.scores),
        streams.borrowed(state.parameters),
        streams.borrowed(state.memory),
    )


@njit(**RULE)
def binary_rounds(kernel, rows, order, labels, state, margins, losses):
    """Predict and learn rows one by one; return the numbers of mistakes and of updates.

    ``labels`` are ±1.0, in the order of the visits, as are ``margins`` and ``losses``, which
    are written. A row of zeros teaches nothing: its round counts, and its score is 0. So
    does a row whose numbers are all below 1e-150, with whose square a rule would divide.
    """
    mistakes = 0
    updates = 0
    rows = streams.borrowed_rows(rows)
    state = _borrowed_state(state)
    wide = state.weights.size + state.drift.size + state.covariance.values.size > NEAR
    for i in range(order.size):
        x = streams.row_of(rows, order[i])
        if wide and i + SOON < order.size:
            streams.fetch_row(rows, order[i + SOON], state.weights)
            streams.fetch_row(rows, order[i + SOON], state.drift)
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


@njit(**RULE)
def multiclass_rounds(kernel, rows, order, labels, state, margins, losses):
    """As `binary_rounds`, with ``labels`` the numbers of the classes; ties go to the first."""
    mistakes = 0
    updates = 0
    rows = streams.borrowed_rows(rows)
    state = _borrowed_state(state)
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


_ROUNDS = {"binary": binary_rounds, "multiclass": multiclass_rounds}


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


@checked
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
    >>> from octavo.online.one_pass.rules import score, step_along
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
    if not isinstance(name, str):
        raise ValueError(f"name must be a str, got {name!r}.")
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
        kernel = njit(inline="always", nogil=True, error_model="numpy")(kernel)
    rounds = _ROUNDS[task]

    @njit(nogil=True, error_model="numpy")
    def run(rows, order, labels, state, margins, losses):
        return rounds(kernel, rows, order, labels, state, margins, losses)

    return run


@checked
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
    import octavo.online.one_pass.rules_binary
    import octavo.online.one_pass.rules_multiclass  # noqa: F401

    return {key: rule for key, rule in _RULES.items() if task in (None, key[1])}


def find_rule(name: str, task: str) -> UpdateRule:
    """Return a rule of the register, or say which names there are."""
    if (name, task) not in _RULES:
        known = registered_rules(task)
        if (name, task) not in known:
            names = ", ".join(sorted(key[0] for key in known))
            raise ValueError(f"No {task} update rule is named {name!r}; there are: {names}.")
    return _RULES[name, task]


def sample_stream(task: str, bias: float = 0.0):
    """Return arguments of a run over two rows, to compile a rule with."""
    rows = streams.as_rows(np.array([[1.0, 0.0], [0.5, 2.0]]), bias)
    order = streams.locked(np.arange(2, dtype=np.int64))
    labels = np.array([1.0, -1.0]) if task == "binary" else np.array([0, 1], dtype=np.int64)
    return rows, order, streams.locked(labels)


def _warmup() -> None:
    """Compile the words that rules are written in."""
    rows, _, _ = sample_stream("binary")
    x = streams.row_of(rows, 1)
    state = new_state(2, 2, (1.0,), covariance_kind=rank_one.DIAGONAL, average=True)
    score(x, new_state(2, 1, (1.0,)))
    rival(0, x, state)
    step_along(x, state, 0, 1.0)
    scale_weights(state, 0.5)
    v = variance(x, state)
    confident_step(x, state, v, 0.1, 1.0, 0, 1)
    full = new_state(2, 2, (1.0,), covariance_kind=rank_one.FULL, average=True)
    confident_step(x, full, variance(x, full), 0.1, 1.0, 0, 1)
    moved = (state.weights, state.drift, 0.0, 2, 0, 1)
    _step_diagonal(x, state.covariance.values, v, 0.1, 1.0, *moved)
    _, _, values, projected, gain = full.covariance
    _step_full(values, projected, gain, 0.1, 1.0, *moved)
    dual_score(x, state, 0.0, v, 1.0)
    dual_step(x, state, 0.0, v, 1.0, 1.0)
