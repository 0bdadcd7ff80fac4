"""One sweep over the tokens of a corpus, and topics of new documents given those of old ones.

The supervised part of Eq. (11), (18), (23) is the same for all models. Given scales, the
log-likelihood of a document is Σ_i lin_i f_i - quad_i f_i² / 2 with f_i = η_iᵀC_d / N_d. With
γ = 1 / N_d, a_k = γ Σ_i lin_i η_ik and B = γ² Σ_i quad_i η_i η_iᵀ a token that joins C_¬n in topic
k has the exponent a_k - B_kk / 2 - (B C_¬n)_k. (The paper's Eq. (11) and (23) lack a factor c in
a_k, its Eq. (18) has c for c².) The sampler keeps e = a - diag(B) / 2 - B C_d, with C_d the whole
document; without a token of topic j that is e + B_j. So exponentials are needed only where a
document's counts change and once for each topic that it holds; the cost of a token does not
depend on the number of tasks.
"""

from __future__ import annotations

import math

import numpy as np

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.mcmc.compiled_draws import draw_uniform

# Exponents that spread less than this are exponentiated apart and multiplied.
WIDE = 600.0
MIX, GOLDEN = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x9E3779B97F4A7C15)
MIX_AGAIN = np.uint64(0x94D049BB133111EB)
THIRTY, TWENTY_SEVEN, THIRTY_ONE = np.uint64(30), np.uint64(27), np.uint64(31)


def work_space(n_topics: int) -> tuple[Floats, Ints]:
    """Return the arrays that a sweep works in."""
    return np.empty((5 + 2 * n_topics, n_topics)), np.empty(n_topics, dtype=np.int64)


@njit(cache=True, error_model="numpy")
def pick(cumulative, total, state):
    """Return a position with the probability of its weight, from sums of weights."""
    u = draw_uniform(state) * total
    k = 0
    while k < cumulative.size - 1 and cumulative[k] <= u:
        k += 1
    return k


@njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract"})
def fill_row(j, d, gamma, eta, quad, B, G, ready):
    """Write row j of a document's B and of exp(B), unless it is there."""
    if ready[j] == d + 1:
        return
    ready[j] = d + 1
    n_tasks, n_topics = eta.shape
    for k in range(n_topics):
        B[j, k] = 0.0
    for i in range(n_tasks):
        q = gamma * gamma * quad[d, i] * eta[i, j]  # B = γ² Σ_i quad_i η_i η_iᵀ, row j
        if q != 0.0:
            for k in range(n_topics):
                B[j, k] += q * eta[i, k]
    for k in range(n_topics):
        G[j, k] = math.exp(min(B[j, k], WIDE))


@njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract"})
def sweep_tokens(words, starts, topics, doc_topic, word_topic, totals, alpha, beta,
                 eta, lin, quad, state, work, ready):  # fmt: skip
    """Draw the topic of every token once; return 0, or 1 + the document whose weights overflow."""
    n_topics, n_tasks = totals.size, eta.shape[0]
    mass = beta * word_topic.shape[0]
    inverse, e, E, diag, weights = work[0], work[1], work[2], work[3], work[4]
    B, G = work[5 : 5 + n_topics], work[5 + n_topics :]  # G is exp(B)
    for k in range(n_topics):
        inverse[k] = 1.0 / (totals[k] + mass)
        ready[k] = 0  # 1 + the document that a row of B is of
    for d in range(starts.size - 1):
        own = doc_topic[d]
        gamma = 1.0 / max(starts[d + 1] - starts[d], 1)
        supervised = False
        if n_tasks > 0:
            for k in range(n_topics):
                e[k] = diag[k] = 0.0
            for i in range(n_tasks):
                a, q = gamma * lin[d, i], gamma * gamma * quad[d, i]
                if a == 0.0 and q == 0.0:
                    continue
                supervised = True
                score = 0.0
                for k in range(n_topics):
                    score += eta[i, k] * own[k]
                for k in range(n_topics):
                    e[k] += eta[i, k] * (a - q * score)  # a_k - (B C_d)_k, the matrix B unformed
                    diag[k] += q * eta[i, k] * eta[i, k]
            for k in range(n_topics):
                e[k] -= 0.5 * diag[k]  # -½ B_kk of Eq. (11)
        stale, narrow, largest = True, True, 0.0
        if supervised:
            for k in range(n_topics):
                largest = max(largest, diag[k])  # of |B|, which is positive semidefinite
        for n in range(starts[d], starts[d + 1]):  # Eq. (11): the counts without this token
            word, old = words[n], topics[n]
            own[old] -= 1.0
            word_topic[word, old] -= 1.0
            totals[old] -= 1.0
            inverse[old] = 1.0 / (totals[old] + mass)
            row = word_topic[word]
            for k in range(n_topics):
                # Eq. (11) without labels: that of latent Dirichlet allocation
                weights[k] = (row[k] + beta) * (own[k] + alpha) * inverse[k]
            if supervised:
                if stale:
                    low, top = e[0], e[0]
                    for k in range(1, n_topics):
                        low, top = min(low, e[k]), max(top, e[k])
                    narrow = top - low + 2.0 * largest < WIDE
                    if narrow:
                        for k in range(n_topics):
                            # exp(e) is kept from token to token: it changes only where a topic does
                            E[k] = math.exp(e[k] - top)
                    stale = False
                fill_row(old, d, gamma, eta, quad, B, G, ready)
                if narrow:
                    for k in range(n_topics):
                        weights[k] *= E[k] * G[old, k]  # e + B[:, old] is the exponent at C_¬n
                else:
                    top = -math.inf
                    for k in range(n_topics):
                        top = max(top, e[k] + B[old, k])
                    for k in range(n_topics):
                        # the same in logs, where exp of the parts could overflow
                        weights[k] *= math.exp(e[k] + B[old, k] - top)
            total = 0.0
            for k in range(n_topics):
                total += weights[k]
                weights[k] = total
            if not (total > 0.0 and total < math.inf):
                own[old] += 1.0
                word_topic[word, old] += 1.0
                totals[old] += 1.0
                return d + 1
            new = pick(weights, total, state)
            topics[n] = new
            own[new] += 1.0
            row[new] += 1.0
            totals[new] += 1.0
            inverse[new] = 1.0 / (totals[new] + mass)
            if supervised and new != old:
                fill_row(new, d, gamma, eta, quad, B, G, ready)
                for k in range(n_topics):
                    e[k] += B[old, k] - B[new, k]  # -B C_d after the move
                stale = True
    return 0


@njit(cache=True, error_model="numpy")
def next_seed(word):
    """Return the next number of splitmix64, by which one word seeds four."""
    word = (word ^ (word >> THIRTY)) * MIX
    word = (word ^ (word >> TWENTY_SEVEN)) * MIX_AGAIN
    return word ^ (word >> THIRTY_ONE)


@njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract"})
def infer_topics(words, starts, phi, alpha, n_iter, burn_in, seed, state, work, topics, out):
    """Draw topics of new documents given φ and write mean counts after the burn-in.

    The stream of a document is a function of the seed and of its words alone: an answer does not
    depend on what else is asked.
    """
    n_topics = phi.shape[1]
    own, weights = work[0], work[1]
    for d in range(starts.size - 1):
        word_hash = seed
        for n in range(starts[d], starts[d + 1]):
            word_hash = next_seed(word_hash + GOLDEN + np.uint64(words[n]))
        for i in range(4):
            word_hash = next_seed(word_hash + GOLDEN)
            state[i] = word_hash | np.uint64(1)
        for k in range(n_topics):
            own[k] = 0.0
        for sweep in range(n_iter + 1):  # the first gives a start, from the words alone
            for n in range(starts[d], starts[d + 1]):
                row = phi[words[n]]
                if sweep > 0:
                    own[topics[n]] -= 1.0
                total = 0.0
                for k in range(n_topics):
                    total += row[k] * ((own[k] if sweep > 0 else 0.0) + alpha)  # Eq. (13)
                    weights[k] = total
                new = pick(weights, total, state)
                topics[n] = new
                own[new] += 1.0
            if sweep > burn_in:
                for k in range(n_topics):
                    out[d, k] += own[k]
        for k in range(n_topics):
            out[d, k] /= n_iter - burn_in


def _warmup() -> None:
    words, starts = np.zeros(1, dtype=np.int32), np.array([0, 1])
    topics, state = np.zeros(1, dtype=np.int32), np.ones(4, dtype=np.uint64)
    one = np.ones((1, 1))
    sweep_tokens(words, starts, topics, one.copy(), one.copy(), np.ones(1), 1.0, 1.0,
                 one, one, one, state, *work_space(1))  # fmt: skip
    infer_topics(words, starts, one, 1.0, 1, 0, np.uint64(1), state, np.empty((2, 1)), topics,
                 np.zeros((1, 1)))  # fmt: skip
