"""Hidden Markov models as arrays: checks, adapters for fitted models, simulation.

Decoders take a model as logarithms (start, transitions, emissions of each position); users have
fitted models. This module turns the one into the other, and says in words which sequence and
position is wrong when something is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import logsumexp
from sklearn.exceptions import NotFittedError

from octavo.engine.chains.inference import Edges, group_edges
from octavo.engine.chains.sequences import check_lengths, locate, split_sequences, stack_sequences
from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.checked import checked

__all__ = ["simulate_hmm"]

Floats = NDArray[np.float64]

_STOCHASTIC = 1e-6  # how far probabilities may be from adding up to one


class HMMScores(NamedTuple):
    """Checked logarithms of a model on stacked sequences.

    ``trans`` is (K, K), (S, K, K) with S = N - number of sequences, or `Edges`; ``listed`` says
    that the sequences came as a list and answers go back as one.
    """

    start: Floats
    trans: Floats | Edges
    emission: Floats
    lengths: NDArray[np.int64]
    listed: bool

    def unstack(self, values: NDArray[Any]) -> Any:
        """Return stacked rows in the form in which the sequences were given."""
        return split_sequences(values, self.lengths) if self.listed else values


# --- checking -----------------------------------------------------------------------------------


def checked_hmm(
    log_start: ArrayLike, log_trans: Any, log_emission: Any, lengths: ArrayLike | None = None
) -> HMMScores:
    """Return the logarithms of a model as `HMMScores`, or say what is wrong with them."""
    emission, counts, listed = _checked_emission(log_emission, lengths)
    K = emission.shape[1]
    start = np.asarray(log_start, dtype=np.float64)
    if start.shape != (K,):
        raise ValueError(f"log_start must have shape ({K},) as log_emission, got {start.shape}")
    _require_stochastic(start[None], lambda row: "start")
    return HMMScores(start, _checked_trans(log_trans, K, counts), emission, counts, listed)


def _checked_emission(
    log_emission: Any, lengths: ArrayLike | None
) -> tuple[Floats, NDArray[np.int64], bool]:
    listed = (
        lengths is None
        and isinstance(log_emission, (list, tuple))
        and len(log_emission) > 0
        and all(np.ndim(part) == 2 for part in log_emission)
    )
    if listed:
        values, counts = stack_sequences(log_emission, name="log_emission")
    else:
        values = np.asarray(log_emission)
        if values.ndim != 2:
            raise ValueError(
                "log_emission must be (n_positions, n_states) or a list of such arrays, got shape "
                f"{values.shape}"
            )
        counts = check_lengths(lengths, values.shape[0], name="log_emission")
    values = np.ascontiguousarray(values, dtype=np.float64)
    if values.shape[1] == 0:
        raise ValueError("log_emission has no states: its second axis is empty")
    best = _row_max(values)
    bad = np.flatnonzero(~np.isfinite(best))
    if bad.size:
        row = int(bad[0])
        if best[row] == -np.inf:
            raise ValueError(
                f"observation sequence has zero probability under the model: at "
                f"{locate(row, counts)} every state has emission probability zero"
            )
        state = int(np.argmax(~(values[row] < np.inf)))
        raise ValueError(
            f"log_emission must be below +inf and not NaN, got {values[row, state]} at "
            f"{locate(row, counts)}, state {state}"
        )
    return values, counts, listed


def _checked_trans(log_trans: Any, K: int, lengths: NDArray[np.int64]) -> Floats | Edges:
    """Return transitions as (K, K), (S, K, K) or Edges, every row adding up to one."""
    if isinstance(log_trans, Edges) or sparse.issparse(log_trans):
        edges = log_trans if isinstance(log_trans, Edges) else edges_of_sparse(log_trans)
        if edges.indptr.size != K + 1 or edges.score.ndim != 1:
            raise ValueError(f"sparse log_trans must be ({K}, {K}), one for all steps")
        total = np.bincount(edges.source, np.exp(edges.score), minlength=K)
        _require_stochastic(np.log(total, where=total > 0, out=np.full(K, -np.inf))[:, None])
        return edges
    if isinstance(log_trans, (list, tuple)) and all(np.ndim(part) == 3 for part in log_trans):
        parts = [np.asarray(part, dtype=np.float64) for part in log_trans]
        for q, (part, n) in enumerate(zip(parts, lengths)):
            if part.shape != (n - 1, K, K):
                raise ValueError(
                    f"sequence {q} of {n} positions needs log_trans of shape "
                    f"({n - 1}, {K}, {K}), got {part.shape}"
                )
        if len(parts) != lengths.size:
            raise ValueError(f"log_trans has {len(parts)} parts for {lengths.size} sequences")
        log_trans = np.concatenate(parts)
    trans = np.asarray(log_trans, dtype=np.float64)
    steps = int(lengths.sum()) - lengths.size
    if trans.shape not in ((K, K), (steps, K, K)):
        raise ValueError(
            f"log_trans must have shape ({K}, {K}), or ({steps}, {K}, {K}) where it varies, "
            f"got {trans.shape}"
        )
    if trans.ndim == 2:
        _require_stochastic(trans)
        return trans

    def name(row: int) -> str:
        before, step = lengths - 1, row // K
        q = int(np.searchsorted(np.cumsum(before), step, side="right"))
        return f"transition row {row % K} at sequence {q}, step {step - int(before[:q].sum())}"

    _require_stochastic(trans.reshape(-1, K), name)
    return trans


def _require_stochastic(
    logs: Floats, name: Callable[[int], str] = lambda row: f"transition row {row}"
) -> None:
    """Raise unless the exponentials of every row add up to one."""
    if not logs.size:
        return
    totals = np.exp(logs).sum(axis=1)
    bad = np.flatnonzero(~(np.abs(totals - 1.0) <= _STOCHASTIC))
    if bad.size:
        row = int(bad[0])
        hint = ""
        if np.all(logs[row] >= 0) and abs(logs[row].sum() - 1.0) <= _STOCHASTIC:
            hint = "; these look like probabilities, their logarithms are expected"
        raise ValueError(
            f"{name(row)}: probabilities must add up to 1 (within {_STOCHASTIC:g}), "
            f"they add up to {totals[row]:g}{hint}"
        )


@njit(cache=True)
def _row_max(values):
    """Return the maximum of every row, NaN where a row has one."""
    out = np.empty(values.shape[0])
    for n in range(values.shape[0]):
        best = -np.inf
        for j in range(values.shape[1]):
            x = values[n, j]
            if x != x:
                best = x
                break
            best = max(best, x)
        out[n] = best
    return out


def edges_of_sparse(log_trans: Any) -> Edges:
    """Return a scipy sparse matrix, whose stored entries are log-probabilities, as `Edges`."""
    entries = sparse.coo_array(log_trans)
    return group_edges(entries.coords[0], entries.coords[1], entries.data, entries.shape[0])


def require_possible(scores: HMMScores, log_likelihood: Floats) -> None:
    """Raise where a sequence has no path of positive probability, naming where paths end.

    A score of -inf may have another reason, an infinite risk; then nothing is raised.
    """
    impossible = np.flatnonzero(log_likelihood == -np.inf)
    if not impossible.size:
        return
    q = int(impossible[0])
    first = int(scores.lengths[:q].sum())
    emitted = scores.emission[first : first + scores.lengths[q]] > -np.inf
    alive = (scores.start > -np.inf) & emitted[0]
    t = 0
    while alive.any():
        t += 1
        if t == emitted.shape[0]:
            return
        alive = _reached(scores.trans, first - q + t - 1, alive) & emitted[t]
    raise ValueError(
        "observation sequence has zero probability under the model: no path of positive "
        f"probability reaches sequence {q}, position {t}"
    )


def _reached(trans: Floats | Edges, step: int, alive: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the states that can follow those alive."""
    if isinstance(trans, Edges):
        targets = np.repeat(np.arange(alive.size), np.diff(trans.indptr))
        reached = np.zeros(alive.size, dtype=bool)
        reached[targets[alive[trans.source] & (trans.score > -np.inf)]] = True
        return reached
    matrix = trans if trans.ndim == 2 else trans[step]
    return np.any(matrix[alive] > -np.inf, axis=0)


# --- fitted models ------------------------------------------------------------------------------


class FittedHMM(NamedTuple):
    """What decoding and simulation need of a model.

    ``log_emission(values, lengths)`` returns (N, K) logs of densities; ``draw(states, rng)``
    returns one observation a state, and is None where the model cannot be sampled from.
    """

    startprob: Floats
    transmat: Any
    log_emission: Callable[[NDArray[Any], NDArray[np.int64]], Floats]
    draw: Callable[[NDArray[np.int64], Any], NDArray[Any]] | None

    @property
    def log_start(self) -> Floats:
        return log_of_probabilities(self.startprob, "startprob")

    @property
    def log_trans(self) -> Any:
        if not sparse.issparse(self.transmat):
            return log_of_probabilities(self.transmat, "transmat")
        matrix = sparse.coo_array(self.transmat, copy=True)
        matrix.data = log_of_probabilities(matrix.data, "transmat")
        return matrix


def log_of_probabilities(values: ArrayLike, name: str) -> Floats:
    """Return logarithms, -inf for zero, after checking that nothing is negative."""
    array = np.asarray(values, dtype=np.float64)
    bad = np.argwhere(~(array >= 0))
    if bad.size:
        at = tuple(int(i) for i in bad[0])
        raise ValueError(f"{name} must hold probabilities, got {array[at]} at index {at}")
    with np.errstate(divide="ignore"):
        return np.log(array)


def fitted_hmm(model: Any) -> FittedHMM:
    """Return the parts of a fitted hmmlearn model, a CountHMM, or (start, trans, emission)."""
    if isinstance(model, (tuple, list)):
        if len(model) != 3:
            raise ValueError(f"a model is (startprob, transmat, emission), got {len(model)} parts")
        return _from_parts(*model)
    learnt = hasattr(model, "_compute_log_likelihood") or hasattr(model, "log_emission")
    if not learnt:
        raise TypeError(
            "model must be a fitted hmmlearn model, a CountHMM, or a tuple "
            f"(startprob, transmat, emission), got {type(model).__name__}"
        )
    if not hasattr(model, "transmat_") or not hasattr(model, "startprob_"):
        raise NotFittedError(f"this {type(model).__name__} is not fitted; fit it first")
    if hasattr(model, "log_emission"):
        return FittedHMM(
            model.startprob_,
            model.transmat_,
            model.log_emission,
            lambda states, rng: _draw_symbols(model.emissionprob_, states, rng),
        )
    return FittedHMM(
        model.startprob_,
        model.transmat_,
        lambda values, lengths: _hmmlearn_emission(model, values, lengths),
        lambda states, rng: _hmmlearn_draw(model, states, rng),
    )


def _from_parts(startprob: ArrayLike, transmat: Any, emission: Any) -> FittedHMM:
    start = np.asarray(startprob, dtype=np.float64)
    if not sparse.issparse(transmat):
        transmat = np.asarray(transmat, dtype=np.float64)
    if callable(emission):
        return FittedHMM(start, transmat, lambda values, lengths: emission(values), None)
    if isinstance(emission, (list, tuple)) and all(hasattr(d, "rvs") for d in emission):
        return FittedHMM(
            start,
            transmat,
            lambda values, lengths: _distribution_emission(emission, values),
            lambda states, rng: _draw_from_distributions(emission, states, rng),
        )
    table = np.asarray(emission, dtype=np.float64)
    if table.ndim != 2 or table.shape[0] != start.size:
        raise ValueError(
            "emission must be a function of the observations, a list of scipy distributions, or "
            f"a matrix of shape ({start.size}, n_symbols), got shape {table.shape}"
        )
    logs = log_of_probabilities(table, "emission")
    _require_stochastic(logs, lambda row: f"emission row {row}")
    return FittedHMM(
        start,
        transmat,
        lambda values, lengths: symbol_emission(logs, values, lengths),
        lambda states, rng: _draw_symbols(table, states, rng),
    )


def symbol_emission(log_table: Floats, values: NDArray[Any], lengths: NDArray[np.int64]) -> Floats:
    """Return the rows of a (K, M) table of log-probabilities for observed symbols."""
    symbols = checked_symbols(values, lengths, log_table.shape[1])
    return np.take(np.ascontiguousarray(log_table.T), symbols, axis=0)


def checked_symbols(
    values: NDArray[Any], lengths: NDArray[np.int64], n_symbols: int, name: str = "X"
) -> NDArray[np.int64]:
    """Return symbols as a vector of integers 0..n_symbols - 1, or say where one is not."""
    symbols = np.asarray(values)
    if symbols.ndim == 2 and symbols.shape[1] == 1:
        symbols = symbols[:, 0]
    if symbols.ndim != 1 or symbols.dtype.kind not in "iub":
        raise ValueError(
            f"{name} must hold one integer symbol a position, got {symbols.dtype} of shape "
            f"{symbols.shape}"
        )
    if symbols.size and (symbols.min() < 0 or symbols.max() >= n_symbols):
        row = int(np.argmax((symbols < 0) | (symbols >= n_symbols)))
        raise ValueError(
            f"{name} must hold integers 0..{n_symbols - 1}, got {symbols[row]} at "
            f"{locate(row, lengths)}"
        )
    return symbols.astype(np.int64, copy=False)


def _hmmlearn_emission(model: Any, values: NDArray[Any], lengths: NDArray[np.int64]) -> Floats:
    rows = values[:, None] if values.ndim == 1 else values
    if rows.dtype.kind == "f" and not np.isfinite(rows).all():
        row = int(np.argmax(~np.isfinite(rows).all(axis=1)))
        raise ValueError(f"X must be finite, got {rows[row]} at {locate(row, lengths)}")
    if type(model).__name__ == "CategoricalHMM":
        return symbol_emission(
            log_of_probabilities(model.emissionprob_, "emissionprob_"), rows, lengths
        )
    return np.ascontiguousarray(model._compute_log_likelihood(rows))


def _hmmlearn_draw(model: Any, states: NDArray[np.int64], rng: Any) -> NDArray[Any]:
    source = np.random.RandomState(rng.integers(2**31) if hasattr(rng, "integers") else None)
    return np.vstack([model._generate_sample_from_state(s, source) for s in states])


def _distribution_emission(emission: Sequence[Any], values: NDArray[Any]) -> Floats:
    """Return the log densities of scipy distributions, one a state."""
    x = values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values
    logs = [d.logpdf(x) if hasattr(d, "pdf") else d.logpmf(x) for d in emission]
    return np.ascontiguousarray(np.stack(logs, axis=1))


# --- simulation ---------------------------------------------------------------------------------


@njit(cache=True)
def _walk(start, trans, ptr, uniforms, states):
    """Fill states with a walk of each sequence; start and trans hold cumulative probabilities."""
    K = start.shape[0]
    for q in range(ptr.shape[0] - 1):
        for n in range(ptr[q], ptr[q + 1]):
            s = n - q - 1 if trans.shape[0] > 1 else 0
            j = 0
            if n == ptr[q]:
                while j < K - 1 and uniforms[n] >= start[j]:
                    j += 1
            else:
                while j < K - 1 and uniforms[n] >= trans[s, states[n - 1], j]:
                    j += 1
            states[n] = j


def _cumulative(logs: Floats) -> Floats:
    """Return cumulative probabilities that end in exactly one at the last possible entry."""
    total = np.cumsum(np.exp(logs - logsumexp(logs, axis=-1, keepdims=True)), axis=-1)
    possible = logs > -np.inf
    last = logs.shape[-1] - 1 - np.argmax(possible[..., ::-1], axis=-1)
    total[np.arange(logs.shape[-1]) >= last[..., None]] = 1.0
    return total


def _draw_symbols(table: Floats, states: NDArray[np.int64], rng: Any) -> NDArray[np.int64]:
    cumulative = _cumulative(log_of_probabilities(table, "emission"))
    symbols = np.empty(states.size, dtype=np.int64)
    uniforms = rng.uniform(size=states.size)
    for state, row in enumerate(cumulative):
        here = states == state
        symbols[here] = np.searchsorted(row, uniforms[here], side="right")
    return symbols


def _draw_from_distributions(
    emission: Sequence[Any], states: NDArray[np.int64], rng: Any
) -> NDArray[Any]:
    drawn: NDArray[Any] | None = None
    for state, distribution in enumerate(emission):
        here = np.flatnonzero(states == state)
        if here.size:
            x = np.asarray(distribution.rvs(size=here.size, random_state=rng))
            if drawn is None:
                drawn = np.empty((states.size, *x.shape[1:]), dtype=x.dtype)
            drawn[here] = x
    assert drawn is not None
    return drawn


def generator(rng: Any) -> Any:
    """Return a source of randomness: a generator as it is, else one seeded with rng."""
    return rng if hasattr(rng, "uniform") else np.random.default_rng(rng)


@checked
def simulate_hmm(
    model: Any, lengths: int | ArrayLike, rng: Any = None
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Draw sequences of observations and hidden states from a model.

    Parameters
    ----------
    model : tuple (startprob, transmat, emission), CountHMM or fitted hmmlearn model
        In the tuple, start and transitions are probabilities and emission is a matrix
        (n_states, n_symbols) or a list of scipy distributions, one a state. Transitions may be
        (S, n_states, n_states), one matrix for every step of the stacked sequences.
    lengths : int or array-like of int
        Lengths of the sequences.
    rng : None, int, numpy Generator or RandomState
        Source of randomness.

    Returns
    -------
    X : ndarray of shape (sum(lengths),) or (sum(lengths), n_features)
        The observations, stacked.
    states : ndarray of shape (sum(lengths),)
        The hidden states.

    Examples
    --------
    >>> from octavo.sequence import simulate_hmm
    >>> coin = ([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], [[0.5, 0.5], [0.1, 0.9]])
    >>> X, states = simulate_hmm(coin, [4, 3], rng=0)
    >>> X
    array([1, 1, 1, 1, 0, 1, 0])
    >>> states
    array([1, 1, 0, 0, 1, 1, 1])
    """
    parts, source = fitted_hmm(model), generator(rng)
    if parts.draw is None:
        raise ValueError("a model whose emission is a function cannot be simulated")
    counts = np.atleast_1d(np.asarray(lengths))
    counts = check_lengths(counts, int(counts.sum()), name="lengths")
    K, log_start = parts.startprob.size, parts.log_start
    matrix = parts.transmat.toarray() if sparse.issparse(parts.transmat) else parts.transmat
    log_trans = _checked_trans(log_of_probabilities(matrix, "transmat"), K, counts)
    _require_stochastic(log_start[None], lambda row: "start")
    ptr = np.concatenate([[0], np.cumsum(counts)])
    states = np.empty(ptr[-1], dtype=np.int64)
    steps = _cumulative(np.asarray(log_trans)).reshape(-1, K, K)
    _walk(_cumulative(log_start), steps, ptr, source.uniform(size=ptr[-1]), states)
    return parts.draw(states, source), states


def _warmup() -> None:
    _row_max(np.zeros((1, 1)))
    _walk(np.ones(1), np.ones((1, 1, 1)), np.array([0, 2]), np.zeros(2), np.empty(2, np.int64))
