"""Message passing on chains: sums, maxima, k-best lists and samples over all paths.

A chain of T positions with K states gives the path s_1..s_T the score

    start[s_1] + Σ_t nodes[t, s_t] + Σ_t trans[t, s_t, s_{t+1}],

where scores are any reals or -inf (forbidden); for a hidden Markov model they are the logs of
its probabilities, for a random field its potentials. The functions:

- `log_partition`, `chain_marginals`: log Σ exp(score), and marginals of exp(score)/Z of single
  positions and of neighbouring pairs;
- `best_paths`, `k_best_paths`: paths of largest score; `blended_paths`: the best paths of many
  weighted blends of potentials, in one pass;
- `path_scores`: the score of given paths;
- `sample_paths`: independent draws from exp(score)/Z.

Shapes, everywhere the same. Sequences are stacked: ``nodes`` is (N, K), N the sum of
``lengths`` (one sequence when lengths is None). ``start`` is (K,). ``trans`` is (K, K), indexed
[from, to], or (S, K, K) where it varies along the chain; S = N - number of sequences, the steps
of the first sequence, then those of the second, and so on. Sparse transitions are an `Edges`.
A grid of potentials is a leading axis of ``nodes`` (G, N, K); start is then (K,) or (G, K), and
trans (K, K), (G, K, K) or (G, S, K, K); all results get the same leading axis.

A sequence none of whose paths is possible has log Z = -inf, zero marginals, and -1 as states.
Ties go to the smallest state. All sums are exact to rounding whatever the range of the scores:
linear arithmetic with scaling is used where no positive number can underflow, and logarithms
where one would.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from octavo.engine.chains.kernels import (
    ALONG,
    BY_SEQUENCE,
    EACH,
    NO_PAIRS,
    TINY,
    TOTAL,
    below_top,
    best_blends,
    best_path,
    draw_paths,
    k_best_kernel,
    score_paths,
    sum_marginals,
    sum_partitions,
)
from octavo.engine.chains.sequences import check_lengths, locate
from octavo.engine.compilation.eights import EIGHT
from octavo.engine.estimators.arrays import Floats

_SCORE_BYTES = 1 << 28  # beyond this, scores along a path are recomputed block by block


class Edges(NamedTuple):
    """Sparse transitions, grouped by the state they enter.

    The edges into state j are ``indptr[j]:indptr[j+1]``; ``source`` is where each comes from and
    ``score`` its score: (E,), or (S, E) where it varies along the chain, or with a leading grid
    axis (G, E), (G, S, E). Forbidden transitions are simply absent.
    """

    indptr: NDArray[np.int64]
    source: NDArray[np.int64]
    score: Floats


class ChainMarginals(NamedTuple):
    """Marginals of all paths: ``nodes`` (N, K), ``pairs`` (see `chain_marginals`), log Z."""

    nodes: Floats
    pairs: Floats | None
    log_partition: Floats


class BestPaths(NamedTuple):
    """Paths of largest score: ``states`` (N,), and ``score`` of each sequence."""

    states: NDArray[np.int64]
    score: Floats


def group_edges(source: ArrayLike, target: ArrayLike, score: ArrayLike, n_states: int) -> Edges:
    """Return a list of transitions as `Edges`.

    The sort by target is stable: an input already grouped by target keeps its order, so that
    scores can be replaced later with ``edges._replace(score=...)``.

    Parameters
    ----------
    source, target : array-like of int of shape (E,)
        Where each transition comes from and goes to.
    score : array-like of shape (..., E)
        Its score; leading axes as in `Edges`.
    n_states : int
        Number of states.

    Returns
    -------
    edges : Edges
        The same transitions by target.
    """
    origin, goal = np.asarray(source, dtype=np.int64), np.asarray(target, dtype=np.int64)
    for ends in (origin, goal):
        if ends.size and (ends.min() < 0 or ends.max() >= n_states):
            raise ValueError(f"edges must join states 0..{n_states - 1}, got {ends.max()}.")
    if np.unique(goal * n_states + origin).size < goal.size:
        raise ValueError("A transition is listed twice.")
    order = np.argsort(goal, kind="stable")
    indptr = np.zeros(n_states + 1, dtype=np.int64)
    np.cumsum(np.bincount(goal, minlength=n_states), out=indptr[1:])
    return Edges(indptr, origin[order], np.asarray(score, dtype=np.float64)[..., order])


def edges_of_matrix(trans: ArrayLike) -> Edges:
    """Return the possible transitions of a (K, K) matrix of log scores as `Edges`."""
    matrix = np.asarray(trans, dtype=np.float64)
    target, source = np.nonzero(-np.inf < matrix.T)
    return group_edges(source, target, matrix[source, target], matrix.shape[0])


# --- checking ------------------------------------------------------------------------------------


class _Chains(NamedTuple):
    """Checked potentials of one point of a grid, as the kernels take them."""

    start: Floats
    trans: Any  # (S, K, K) or (indptr, source, (S, E))
    nodes: Floats

    @property
    def scores(self) -> Floats:
        return self.trans if isinstance(self.trans, np.ndarray) else self.trans[2]


def _checked(
    start: ArrayLike, trans: Any, nodes: ArrayLike, lengths: ArrayLike | None
) -> tuple[list[_Chains], NDArray[np.int64], bool]:
    """Return one `_Chains` per point of the grid, the row pointer, and whether there is a grid."""
    values = np.ascontiguousarray(nodes, dtype=np.float64)
    if values.ndim not in (2, 3):
        raise ValueError(f"nodes must be (N, K) or (G, N, K), got shape {values.shape}.")
    grid = values.ndim == 3
    N, K = values.shape[-2:]
    counts = check_lengths(lengths, N, name="nodes")
    ptr = np.concatenate([[0], np.cumsum(counts)])
    _refuse_above(values, "nodes", counts)
    G, S = (values.shape[0] if grid else 1), N - counts.size
    first = np.asarray(start, dtype=np.float64)
    if first.shape not in ((K,), (G, K)) or (first.ndim == 2 and not grid):
        raise ValueError(f"start must have shape ({K},) to go with nodes, got {first.shape}.")
    _refuse_above(first, "start", None)
    if isinstance(trans, Edges):
        if trans.indptr.shape != (K + 1,):
            raise ValueError(f"Edges are of {trans.indptr.size - 1} states, nodes of {K}.")
        tail: tuple[int, ...] = trans.source.shape
        score = np.ascontiguousarray(trans.score, dtype=np.float64)
    else:
        tail = (K, K)
        score = np.ascontiguousarray(trans, dtype=np.float64)
    _refuse_above(score, "trans", None)
    lead = score.shape[: score.ndim - len(tail)]
    shared = {(): (1, 1)} | (
        {(G,): (G, 1), (G, S): (G, S), (1, S): (1, S)} if grid else {(S,): (1, S)}
    )
    if score.shape[len(lead) :] != tail or lead not in shared:
        raise ValueError(
            f"trans must have shape {tail}, alone or with a leading axis of {S} steps"
            f"{f' or {G} points of the grid' if grid else ''}, got {score.shape}."
        )
    score = score.reshape(*shared[lead], *tail)
    chains = []
    for g in range(G):
        mine = score[g if score.shape[0] > 1 else 0]
        if isinstance(trans, Edges):
            mine = (trans.indptr.astype(np.int64), trans.source.astype(np.int64), mine)
        chains.append(
            _Chains(first if first.ndim == 1 else first[g], mine, values[g] if grid else values)
        )
    return chains, ptr, grid


def _refuse_above(values: Floats, name: str, lengths: NDArray[np.int64] | None) -> None:
    """Raise where a score is NaN or +inf, naming sequence and position."""
    if not values.size or values.max() < np.inf:  # max is NaN when anything is
        return
    bad = np.argwhere(~(values < np.inf))[0]
    at = f" at {locate(int(bad[-2]), lengths)}, state {bad[-1]}" if lengths is not None else ""
    where = at or f" at index {tuple(int(i) for i in bad)}"
    raise ValueError(f"{name} must be below +inf and not NaN, got {values[tuple(bad)]}{where}.")


def _linear(chain: _Chains) -> tuple[Any, Floats, bool]:
    """Return exp(trans - shift), the shift of each step, and whether no entry is tiny."""
    scores = chain.scores
    flat = scores.reshape(scores.shape[0], math.prod(scores.shape[1:]))
    # each step's largest transition is taken out, and comes back as a sum of shifts
    shift = flat.max(axis=1) if flat.shape[1] else np.zeros(flat.shape[0])
    shift = np.where(shift > -np.inf, shift, 0.0)
    linear = np.exp(scores - shift.reshape(-1, *[1] * (scores.ndim - 1)))
    possible = linear[scores > -np.inf]
    safe = bool(possible.size == 0 or possible.min() > TINY)
    trans = linear if isinstance(chain.trans, np.ndarray) else (*chain.trans[:2], linear)
    return trans, shift, safe


def log_partition(
    start: ArrayLike, trans: Any, nodes: ArrayLike, lengths: ArrayLike | None = None
) -> Floats:
    """Return log Σ exp(score) over all paths of each sequence.

    Parameters
    ----------
    start, trans, nodes, lengths : array-like
        As the module tells.

    Returns
    -------
    log_partition : ndarray of shape (n_sequences,)
        -inf where no path is possible.
    """
    chains, ptr, grid = _checked(start, trans, nodes, lengths)
    result = np.empty((len(chains), ptr.size - 1))
    for chain, log_z in zip(chains, result):
        rows = np.empty(chain.nodes.shape)
        sum_partitions(*_prepared(chain, ptr, rows), log_z)
    return result if grid else result[0]


def _prepared(
    chain: _Chains, ptr: NDArray[np.int64], rows: Floats
) -> tuple[Floats, Any, Any, Floats, bool, Floats, NDArray[np.int64], Floats, Floats]:
    """Return what sums over paths take, with exp(nodes - largest of the position) in rows."""
    linear, shift, safe = _linear(chain)
    tops = np.empty(rows.shape[0])
    # largest node of each position too: no exponential overflows
    below_top(chain.nodes, rows, tops)
    np.exp(rows, out=rows)
    return chain.start, linear, chain.trans, shift, safe, chain.nodes, ptr, tops, rows


def chain_marginals(
    start: ArrayLike,
    trans: Any,
    nodes: ArrayLike,
    lengths: ArrayLike | None = None,
    *,
    log: bool = False,
    pairs: str | ArrayLike | None = None,
    out: Floats | None = None,
) -> ChainMarginals:
    """Return the marginals of every position, and of neighbouring pairs if asked.

    Parameters
    ----------
    start, trans, nodes, lengths : array-like
        As the module tells.
    log : bool, default=False
        Return the logarithms of the node marginals, accurate however small they are.
    pairs : {None, "total", "sequence", "step"} or array-like of int, default=None
        Marginals of (s_t, s_{t+1}): summed over all sequences, over each sequence, or every
        step on its own. Shape (K, K), or (E,) for `Edges`; with a leading axis of sequences or
        of the S steps for the last two. Given the states of a path, the marginals of its S
        steps only.
    out : ndarray of shape (N, K), optional
        Where to write the node marginals, C-contiguous float64, not overlapping ``nodes``.

    Returns
    -------
    marginals : ChainMarginals
        Named tuple (nodes, pairs, log_partition).
    """
    chains, ptr, grid = _checked(start, trans, nodes, lengths)
    G, n_sequences = len(chains), ptr.size - 1
    shape = (G, *chains[0].nodes.shape)
    if out is None:
        rows = np.empty(shape)
    elif out.shape != shape[not grid :] or out.dtype != np.float64 or not out.flags.c_contiguous:
        raise ValueError(f"out must be C-contiguous float64 of shape {shape[not grid :]}.")
    else:
        rows = out.reshape(shape)
    tail = chains[0].scores.shape[1:]
    kind, count, path = _wanted_pairs(pairs, ptr, chains[0].nodes.shape[1])
    together = np.zeros((G, count, 1 if kind == ALONG else math.prod(tail)))
    log_z = np.empty((G, n_sequences))
    for chain, mine, joint, z in zip(chains, rows, together, log_z):
        in_logs = np.empty(n_sequences, dtype=bool)
        sum_marginals(*_prepared(chain, ptr, mine), log, joint, kind, path, z, in_logs)
        _convert(mine, ptr, in_logs, log)
    found = None
    if kind != NO_PAIRS:
        found = together.reshape(G, *{TOTAL: tail, ALONG: (count,)}.get(kind, (count, *tail)))
    if grid:
        return ChainMarginals(rows, found, log_z)
    return ChainMarginals(rows[0], None if found is None else found[0], log_z[0])


def _wanted_pairs(
    pairs: str | ArrayLike | None, ptr: NDArray[np.int64], K: int
) -> tuple[int, int, NDArray[np.int64] | None]:
    """Return which pair marginals are wanted, how many rows they take, and along which path."""
    steps, n_sequences = int(ptr[-1]) - (ptr.size - 1), ptr.size - 1
    if pairs is None:
        return NO_PAIRS, 0, None
    if not isinstance(pairs, str):
        return ALONG, steps, _checked_states(pairs, ptr, K)
    counts = {"total": (TOTAL, 1), "sequence": (BY_SEQUENCE, n_sequences), "step": (EACH, steps)}
    if pairs not in counts:
        raise ValueError(f"pairs must be None, 'total', 'sequence' or 'step', got {pairs!r}.")
    return (*counts[pairs], None)


def _checked_states(states: ArrayLike, ptr: NDArray[np.int64], K: int) -> NDArray[np.int64]:
    """Return stacked paths as integers, or say where one is not a state."""
    path = np.ascontiguousarray(states)
    if path.shape != (ptr[-1],) or path.dtype.kind not in "iu":
        raise ValueError(
            f"states must be {ptr[-1]} integers, got shape {path.shape}, {path.dtype}."
        )
    bad = np.flatnonzero((path < 0) | (path >= K))
    if bad.size:
        at = locate(int(bad[0]), np.diff(ptr))
        raise ValueError(f"states must be 0..{K - 1}, got {path[bad[0]]} at {at}.")
    return path.astype(np.int64)


def _convert(rows: Floats, ptr: NDArray[np.int64], in_logs: NDArray[np.bool_], log: bool) -> None:
    """Turn the rows of sequences that are not as wanted into, or out of, logarithms."""
    with np.errstate(divide="ignore"):
        if in_logs.any() or not log:
            for q in np.flatnonzero(in_logs != log):
                mine = rows[ptr[q] : ptr[q + 1]]
                (np.log if log else np.exp)(mine, out=mine)
        else:
            np.log(rows, out=rows)


def _room(longest: int, shape: tuple[int, ...], max_bytes: int) -> tuple[Floats, Floats]:
    """Return room for the scores of one block of positions, and for the first of each block.

    One block where a whole sequence fits in max_bytes; else blocks of about √T positions, each
    of which is recomputed from its first scores on the way back.
    """
    steps = max(1, longest - 1)
    fits = (steps + 1) * math.prod(shape) * 8 <= max_bytes
    # blocks of √T positions: scores of a block and of each block's first are kept
    block = steps if fits else math.isqrt(steps) + 1
    return np.empty((block + 1, *shape)), np.empty((-(-steps // block), *shape))


def best_paths(
    start: ArrayLike,
    trans: Any,
    nodes: ArrayLike,
    lengths: ArrayLike | None = None,
    *,
    max_bytes: int = _SCORE_BYTES,
) -> BestPaths:
    """Return the path of largest score of each sequence.

    Parameters
    ----------
    start, trans, nodes, lengths : array-like
        As the module tells.
    max_bytes : int
        Room for the scores along a sequence, from which its path is traced back. Where more
        would be needed, they are kept for blocks of √T positions and recomputed, at twice the
        time.

    Returns
    -------
    paths : BestPaths
        Named tuple (states, score).
    """
    chains, ptr, grid = _checked(start, trans, nodes, lengths)
    room = _room(int(np.diff(ptr).max()), chains[0].nodes.shape[1:], max_bytes)
    states = np.empty((len(chains), ptr[-1]), dtype=np.int64)
    scores = np.empty((len(chains), ptr.size - 1))
    for chain, path, score in zip(chains, states, scores):
        varies = chain.scores.shape[0] > 1
        best_path(chain.start, chain.trans, varies, chain.nodes, ptr, *room, path, score)
    return BestPaths(states, scores) if grid else BestPaths(states[0], scores[0])


def path_scores(
    start: ArrayLike,
    trans: Any,
    nodes: ArrayLike,
    states: ArrayLike,
    lengths: ArrayLike | None = None,
) -> Floats:
    """Return the score of a given path of each sequence.

    Parameters
    ----------
    start, trans, nodes, lengths : array-like
        As the module tells.
    states : array-like of int of shape (N,)
        The paths, stacked; the same for all points of a grid.

    Returns
    -------
    scores : ndarray of shape (n_sequences,)
        -inf where the path is forbidden.
    """
    chains, ptr, grid = _checked(start, trans, nodes, lengths)
    path = _checked_states(states, ptr, chains[0].nodes.shape[1])
    scores = np.empty((len(chains), ptr.size - 1))
    for chain, score in zip(chains, scores):
        varies = chain.scores.shape[0] > 1
        score_paths(chain.start, chain.trans, varies, chain.nodes, ptr, path, score)
    return scores if grid else scores[0]


def blended_paths(
    start: ArrayLike,
    trans: ArrayLike,
    nodes: ArrayLike,
    weights: ArrayLike,
    lengths: ArrayLike | None = None,
    *,
    max_bytes: int = _SCORE_BYTES,
) -> BestPaths:
    """Return the best paths of many weighted blends of potentials, in one pass.

    Blend g scores nodes as ``Σ_f weights[g, f] nodes[f]`` and start and trans with the factor
    ``weights[g, -1]``. A term of weight zero is left out, even where it is -inf.

    Parameters
    ----------
    start, trans, lengths : array-like
        As the module tells; trans is dense.
    nodes : array-like of shape (F, N, K)
        The potentials that are blended.
    weights : array-like of shape (G, F + 1)
        One row a blend.
    max_bytes : int
        Room for the scores along a sequence, as in `best_paths`.

    Returns
    -------
    paths : BestPaths
        Named tuple (states, score), with a leading axis of blends.
    """
    features = np.ascontiguousarray(nodes, dtype=np.float64)
    blend = np.asarray(weights, dtype=np.float64)
    if features.ndim != 3 or blend.ndim != 2 or blend.shape[1] != features.shape[0] + 1:
        raise ValueError(
            f"nodes (F, N, K) need weights (G, F + 1), got {features.shape} and {blend.shape}."
        )
    if not np.all(np.isfinite(blend)) or blend.min() < 0:
        raise ValueError("weights must be finite and not negative.")
    chains, ptr, _ = _checked(start, trans, features[0], lengths)
    for values in features[1:]:
        _refuse_above(values, "nodes", np.diff(ptr))
    G, K = blend.shape[0], features.shape[2]
    states, scores = np.empty((G, ptr[-1]), dtype=np.int64), np.empty((ptr.size - 1, G))
    groups = np.zeros((-(-G // EIGHT) * EIGHT, blend.shape[1]))
    groups[:G] = blend
    best_blends(
        chains[0].start,
        chains[0].trans,
        features,
        np.ascontiguousarray(groups.T).reshape(blend.shape[1], -1, EIGHT),
        ptr,
        _blend_room(int(np.diff(ptr).max()), K, G, max_bytes),
        states,
        scores,
    )
    for q, g in np.argwhere(scores == -np.inf):
        states[g, ptr[q] : ptr[q + 1]] = -1
    return BestPaths(states, np.ascontiguousarray(scores.T))


def _blend_room(longest: int, K: int, G: int, max_bytes: int) -> tuple[NDArray[Any], ...]:
    """Return room for scores of two positions and of blocks, transitions, origins and states."""
    H = -(-G // EIGHT)
    steps = max(1, longest - 1)
    fits = steps * K * H * EIGHT * 2 <= max_bytes
    block = steps if fits else math.isqrt(steps) + 1  # as in `_room`
    rows = (np.empty((n, K, H, EIGHT)) for n in (2, -(-steps // block), K))
    return *rows, np.empty((block, K, H * EIGHT), np.int16), np.empty(G, np.int64)


def k_best_paths(
    start: ArrayLike, trans: Any, nodes: ArrayLike, k: int, lengths: ArrayLike | None = None
) -> BestPaths:
    """Return the k paths of largest score of each sequence, best first.

    Parameters
    ----------
    start, trans, nodes, lengths : array-like
        As the module tells.
    k : int
        How many. Where fewer paths are possible, the rest is -1 with score -inf.

    Returns
    -------
    paths : BestPaths
        ``states`` (k, N) and ``score`` (k, n_sequences).
    """
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k}.")
    chains, ptr, grid = _checked(start, trans, nodes, lengths)
    states = np.empty((len(chains), k, ptr[-1]), dtype=np.int64)
    scores = np.empty((len(chains), k, ptr.size - 1))
    for chain, paths, score in zip(chains, states, scores):
        varies = chain.scores.shape[0] > 1
        k_best_kernel(chain.start, chain.trans, varies, chain.nodes, ptr, k, paths, score)
    return BestPaths(states, scores) if grid else BestPaths(states[0], scores[0])


def sample_paths(
    start: ArrayLike,
    trans: Any,
    nodes: ArrayLike,
    n_samples: int,
    rng: np.random.Generator | np.random.RandomState,
    lengths: ArrayLike | None = None,
) -> NDArray[np.int64]:
    """Return independent paths drawn with probability exp(score) / Z.

    Parameters
    ----------
    start, trans, nodes, lengths : array-like
        As the module tells.
    n_samples : int
        How many paths of each sequence.
    rng : numpy Generator or RandomState
        Source of randomness.

    Returns
    -------
    states : ndarray of shape (n_samples, N)
        One path a row.
    """
    chains, ptr, grid = _checked(start, trans, nodes, lengths)
    states = np.empty((len(chains), n_samples, ptr[-1]), dtype=np.int64)
    for chain, paths in zip(chains, states):
        linear, shift, _ = _linear(chain)
        uniforms = rng.uniform(size=paths.shape)
        draw_paths(chain.start, linear, chain.trans, shift, chain.nodes, ptr, uniforms, paths)
    return states if grid else states[0]
