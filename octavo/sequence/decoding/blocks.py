"""Decoders that count correct blocks of neighbouring states (Rabiner's proposal).

They maximise the expected number of blocks of k states that are right; for k = 2 any loss on
pairs can take the place of the count. The paths may be impossible, which is why the k-block
posterior-Viterbi decoder multiplies where these add; they are here to compare with.

Reference: J. Lember and A. A. Koloydenko (2014), "Bridging Viterbi and Posterior Decoding",
Journal of Machine Learning Research 15. Implemented: Eq. (29)-(30), and the pairwise losses of
Yau and Holmes (2010) that Sections 1.2.1 and 8 describe.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from octavo.engine.chains.inference import Edges, best_paths, chain_marginals
from octavo.engine.compilation.copies import copy_row
from octavo.engine.compilation.kernel_cache import njit
from octavo.sequence.hmm.scores import HMMScores, require_possible

_LARGEST = 200_000  # blocks of k - 1 states that the recursion may hold


def block_path(scores: HMMScores, k: int) -> NDArray[np.int64]:
    """Return the path that maximises the sum of posteriors of its blocks of k states."""
    K = scores.start.size
    if k != int(k) or k < 1:
        raise ValueError(f"k must be an integer of at least 1 for blocks, got {k}.")
    k = int(k)
    short = np.flatnonzero(scores.lengths < k)
    if short.size:
        q = int(short[0])
        raise ValueError(f"k={k} exceeds the {scores.lengths[q]} positions of sequence {q}.")
    if K ** (k - 1) > _LARGEST:
        raise ValueError(
            f"Blocks of k={k} among {K} states need {K}^{k - 1} = {K ** (k - 1)} states in the "
            f"recursion, at most {_LARGEST} are allowed; method='k-block' costs the same for any k."
        )
    gamma, follow = _follow(scores)
    ptr = np.concatenate([[0], np.cumsum(scores.lengths)])
    states = np.empty(ptr[-1], dtype=np.int64)
    if k == 1:
        return gamma.argmax(axis=1)  # k = 1 is posterior decoding, Eq. (5)
    _best_blocks(gamma, follow, ptr, k, states)
    return states


def _follow(scores: HMMScores) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return posterior marginals, and P(Y_{t+1} = j | Y_t = i, x) of every step."""
    if isinstance(scores.trans, Edges):
        raise ValueError("Decoding by blocks needs dense transitions.")
    found = chain_marginals(
        scores.start, scores.trans, scores.emission, scores.lengths, pairs="step"
    )
    require_possible(scores, found.log_partition)
    assert found.pairs is not None
    total = found.pairs.sum(axis=2, keepdims=True)
    # P(Y_{t+1} = j | Y_t = i, x) = ξ / Σ_j ξ
    return found.nodes, np.divide(found.pairs, total, out=found.pairs, where=total > 0)


@njit(cache=True, nogil=True)
def _best_blocks(gamma, follow, ptr, k, states):
    """Fill states by max-plus over windows (y_t .. y_{t+k-2}), numbered in base K."""
    K = gamma.shape[1]
    inner = K ** (k - 2)  # windows without their first state
    size = inner * K
    chance, score = np.empty(size), np.empty(size)
    new_chance, new_score = np.empty(size), np.empty(size)
    for q in range(ptr.shape[0] - 1):
        row, T = ptr[q], ptr[q + 1] - ptr[q]
        back = np.empty((T - k + 1, size), np.int32)
        copy_row(gamma[row], chance)
        width = K
        for m in range(k - 2):  # p(y_1 .. y_{m+2} | x) by the Markov property
            for u in range(width - 1, -1, -1):
                p = chance[u]
                for j in range(K):
                    chance[u * K + j] = p * follow[row - q + m, u % K, j]
            width *= K
        score[:] = 0.0
        for t in range(T - k + 1):
            s = row - q + t + k - 2
            for middle in range(inner):
                # base K: the next window drops its first state and takes j as its last
                for j in range(K):
                    v = middle * K + j
                    best, where, total = -1.0, 0, 0.0
                    for i in range(K):
                        u = i * inner + middle
                        block = chance[u] * follow[s, u % K, j]  # p(y_t..y_{t+k-1} | x), Eq. (29)
                        # p of the window that stays, with its first state summed out
                        total += block
                        if score[u] + block > best:
                            best, where = score[u] + block, i
                    new_chance[v], new_score[v], back[t, v] = total, best, where
            chance, new_chance = new_chance, chance
            score, new_score = new_score, score
        window = int(np.argmax(score))
        for m in range(k - 1):
            states[row + T - 1 - m] = (window // K**m) % K
        for t in range(T - k, -1, -1):
            i = int(back[t, window])
            states[row + t] = i
            window = i * inner + window // K


def pairwise_path(scores: HMMScores, loss: ArrayLike) -> NDArray[np.int64]:
    """Return the path of least expected loss[s_t, s_{t+1}, y_t, y_{t+1}], summed over steps."""
    K = scores.start.size
    cost = np.asarray(loss, dtype=np.float64).reshape(K * K, K * K)
    if not np.isfinite(cost).all():
        raise ValueError("A loss on pairs must be finite.")
    short = np.flatnonzero(scores.lengths < 2)
    if short.size:
        raise ValueError(f"A loss on pairs needs two positions; sequence {short[0]} has one.")
    if isinstance(scores.trans, Edges):
        raise ValueError("Decoding by blocks needs dense transitions.")
    found = chain_marginals(
        scores.start, scores.trans, scores.emission, scores.lengths, pairs="step"
    )
    require_possible(scores, found.log_partition)
    assert found.pairs is not None
    # Minus the expected loss of each pair: Eq. (30) for k = 2, with a general loss.
    gain: Any = -(found.pairs.reshape(-1, K * K) @ cost.T).reshape(-1, K, K)
    zero = np.zeros(scores.emission.shape)
    return best_paths(np.zeros(K), gain, zero, scores.lengths).states


def _warmup() -> None:
    gamma, follow = np.ones((2, 1)), np.ones((1, 1, 1))
    _best_blocks(gamma, follow, np.array([0, 2]), 2, np.empty(2, np.int64))
