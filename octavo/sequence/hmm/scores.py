"""A hidden Markov model on given sequences as logarithms, checked.

Decoders take a model as logarithms: start, transitions, emissions of each position. This module
says in words which sequence and position is wrong when something is.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from octavo.engine.chains.inference import Edges, group_edges
from octavo.engine.chains.sequences import check_lengths, locate, split_sequences, stack_sequences
from octavo.engine.estimators.arrays import Floats

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
    start = checked_start(log_start, K)
    return HMMScores(start, checked_trans(log_trans, K, counts), emission, counts, listed)


def checked_start(log_start: ArrayLike, K: int) -> Floats:
    """Return the logs of the first state's probabilities, which add up to one."""
    start = np.asarray(log_start, dtype=np.float64)
    if start.shape != (K,):
        raise ValueError(f"log_start must have shape ({K},) as log_emission, got {start.shape}.")
    require_stochastic(start[None], lambda row: "Start")
    return start


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
                f"{values.shape}."
            )
        counts = check_lengths(lengths, values.shape[0], name="log_emission")
    values = np.ascontiguousarray(values, dtype=np.float64)
    if values.shape[1] == 0:
        raise ValueError("log_emission has no states: its second axis is empty.")
    best = reduce(np.maximum, values.T)  # of each row; NaN where it has one
    bad = np.flatnonzero(~np.isfinite(best))
    if bad.size:
        row = int(bad[0])
        if best[row] == -np.inf:
            raise ValueError(
                "The observation sequence has zero probability under the model: at "
                f"{locate(row, counts)} every state has emission probability zero."
            )
        state = int(np.argmax(~(values[row] < np.inf)))
        raise ValueError(
            f"log_emission must be below +inf and not NaN, got {values[row, state]} at "
            f"{locate(row, counts)}, state {state}."
        )
    return values, counts, listed


def checked_trans(log_trans: Any, K: int, lengths: NDArray[np.int64]) -> Floats | Edges:
    """Return transitions as (K, K), (S, K, K) or Edges, every row adding up to one."""
    if isinstance(log_trans, Edges) or sparse.issparse(log_trans):
        edges = log_trans if isinstance(log_trans, Edges) else edges_of_sparse(log_trans)
        if edges.indptr.size != K + 1 or edges.score.ndim != 1:
            raise ValueError(f"A sparse log_trans must be ({K}, {K}), one for all steps.")
        total = np.bincount(edges.source, np.exp(edges.score), minlength=K)
        require_stochastic(np.log(total, where=total > 0, out=np.full(K, -np.inf))[:, None])
        return edges
    if isinstance(log_trans, (list, tuple)) and all(np.ndim(part) == 3 for part in log_trans):
        parts = [np.asarray(part, dtype=np.float64) for part in log_trans]
        for q, (part, n) in enumerate(zip(parts, lengths)):
            if part.shape != (n - 1, K, K):
                raise ValueError(
                    f"Sequence {q} of {n} positions needs log_trans of shape "
                    f"({n - 1}, {K}, {K}), got {part.shape}."
                )
        if len(parts) != lengths.size:
            raise ValueError(f"log_trans has {len(parts)} parts for {lengths.size} sequences.")
        log_trans = np.concatenate(parts)
    trans = np.asarray(log_trans, dtype=np.float64)
    steps = int(lengths.sum()) - lengths.size
    if trans.shape not in ((K, K), (steps, K, K)):
        raise ValueError(
            f"log_trans must have shape ({K}, {K}), or ({steps}, {K}, {K}) where it varies, "
            f"got {trans.shape}."
        )
    if trans.ndim == 2:
        require_stochastic(trans)
        return trans

    def name(row: int) -> str:
        before, step = lengths - 1, row // K
        q = int(np.searchsorted(np.cumsum(before), step, side="right"))
        return f"Transition row {row % K} at sequence {q}, step {step - int(before[:q].sum())}"

    require_stochastic(trans.reshape(-1, K), name)
    return trans


def require_stochastic(
    logs: Floats, name: Callable[[int], str] = lambda row: f"Transition row {row}"
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
            f"they add up to {totals[row]:g}{hint}."
        )


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
        "The observation sequence has zero probability under the model: no path of positive "
        f"probability reaches sequence {q}, position {t}."
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


def log_of_probabilities(values: ArrayLike, name: str) -> Floats:
    """Return logarithms, -inf for zero, after checking that nothing is negative."""
    array = np.asarray(values, dtype=np.float64)
    bad = np.argwhere(~(array >= 0))
    if bad.size:
        at = tuple(int(i) for i in bad[0])
        raise ValueError(f"{name} must hold probabilities, got {array[at]} at index {at}.")
    with np.errstate(divide="ignore"):
        return np.log(array)
