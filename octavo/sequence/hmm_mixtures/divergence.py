"""How well one hidden Markov model explains another, without sampling.

The expected log-likelihood of an HMM under sequences of another one has no closed form. Hershey
et al.'s variational bound on it is a backward recursion over pairs of states; differences of
such bounds approximate Kullback-Leibler divergences, and the bound's own statistics are what
clustering of HMMs maximises.

Reference: E. Coviello, A. B. Chan and G. R. G. Lanckriet (2014), "Clustering Hidden Markov Models
with Variational HEM", Journal of Machine Learning Research 15: Eq. (13)-(23) and Appendix B.
After J. R. Hershey, P. A. Olsen and S. J. Rennie (2007), "Variational Kullback-Leibler Divergence
for Hidden Markov Models", ASRU.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from octavo.engine.compilation.copies import fill_table
from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.probability.mixtures import log_sum, safe_log
from octavo.sequence.hmm.bank import HMMBank, component_scores, pack_hmms, require_positive
from octavo.sequence.hmm.params import HMMParams

__all__ = ["clustering_loglik", "hmm_distance_matrix", "hmm_expected_loglik", "hmm_kl"]

_LOST = 1e-200  # a sum above it has lost nothing to underflow that rounding would show
_ROOM = 1 << 21  # numbers in the temporary arrays of one block of base HMMs


# --- emissions -----------------------------------------------------------------------------------


class PairScores(NamedTuple):
    """Expected log emissions of base states under reduced states, with their responsibilities.

    ``states`` (n, Sb, K, S) is L_GMM, Eq. (22). ``parts`` (n, Sb, Mb, K, S, M) is η, Eq. (18): the
    share of Gaussian ℓ of a reduced state in Gaussian m of a base state; None where it is one.
    """

    states: Floats
    parts: Floats | None


def pair_scores(base: HMMBank, reduced: HMMBank) -> PairScores:
    """Return L_GMM and η of all pairs of states of two banks.

    Parameters
    ----------
    base : HMMBank
        The n models that sequences come from; their covariances may be singular.
    reduced : HMMBank
        The K models whose log-likelihood is averaged.

    Returns
    -------
    scores : PairScores
        Named tuple (states, parts).
    """
    n, Sb, Mb = base.weights.shape
    K, S, M = reduced.weights.shape
    if base.means is None:
        return PairScores(_discrete_scores(base.weights, reduced.weights), None)
    means, covars = base.gaussians()
    joint = component_scores(reduced, means, covars)  # (n Sb Mb, K, S, M)
    parts = None
    if M == 1:
        scores = joint[..., 0] + safe_log(reduced.weights[..., 0])  # η = 1 in Eq. (22)
    else:
        joint += safe_log(reduced.weights)
        scores = log_sum(joint)  # the inner sum of Eq. (22) at the η of Eq. (18)
        parts = np.exp(joint - np.where(np.isfinite(scores), scores, 0.0)[..., None])  # Eq. (18)
        parts = parts.reshape(n, Sb, Mb, K, S, M)
    scores = scores.reshape(n, Sb, Mb, K, S)
    if Mb == 1:
        return PairScores(scores[:, :, 0], parts)
    with np.errstate(invalid="ignore"):
        weighted = base.weights[..., None, None] * scores
    weighted[np.broadcast_to((base.weights == 0)[..., None, None], weighted.shape)] = 0.0
    return PairScores(weighted.sum(axis=2), parts)  # Eq. (22)


def _discrete_scores(base: Floats, reduced: Floats) -> Floats:
    """Return Σ_v b(v) log r(v), where 0 log 0 = 0 and anything else log 0 is -inf.

    In the place of Eq. (22): the expectation of a log-probability of symbols is exact.
    """
    logs = safe_log(reduced)
    impossible = ~np.isfinite(logs)
    scores = np.tensordot(base, np.where(impossible, 0.0, logs), axes=(2, 2))
    lost = np.tensordot(base, impossible.astype(float), axes=(2, 2))
    return np.where(lost > 0, -np.inf, scores)


# --- the recursion -------------------------------------------------------------------------------


@njit(cache=True, nogil=True)
def _log_total(chances, score):
    """Return log Σ_ρ chances[ρ] exp(score[ρ]) in logarithms throughout."""
    top = -np.inf
    for r in range(score.shape[0]):
        if chances[r] > 0.0:
            top = max(top, math.log(chances[r]) + score[r])
    if top == -np.inf:
        return top
    total = 0.0
    for r in range(score.shape[0]):
        if chances[r] > 0.0:
            total += math.exp(math.log(chances[r]) + score[r] - top)
    return top + math.log(total)


@njit(cache=True, nogil=True)
def _keep_choices(chances, score, value, phi):
    """Set phi[ρ] = chances[ρ] exp(score[ρ] - value); uniform where no choice is possible."""
    S = score.shape[0]
    for r in range(S):
        if value == -np.inf:
            phi[r] = 1.0 / S  # never reached
        elif chances[r] > 0.0:
            phi[r] = math.exp(math.log(chances[r]) + score[r] - value)
        else:
            phi[r] = 0.0


@njit(cache=True, nogil=True)
def _backward(i, j, models, tau, room):
    """Return L_HMM of base model i and reduced model j, Eq. (37).

    phi[t - 1, β, ρ', ρ] becomes φ_t if there is room; φ_1 does not depend on ρ', and stands in
    phi[0, β, 0].
    """
    start_b, trans_b, chances, emit = models
    ahead, values, linear, score, phi = room
    keep = phi.shape[0] > 0
    Sb, S = ahead.shape
    for b in range(Sb):
        for r in range(S):
            ahead[b, r] = 0.0
    for t in range(tau - 1, -1, -1):
        before, last = (0, S) if t > 0 else (S, S + 1)  # rows of chances
        for c in range(Sb):
            top = -np.inf
            for r in range(S):  # L_GMM + L_{t+1}, the exponents of Appendix B
                score[r] = emit[i, c, j, r] + ahead[c, r]
                top = max(top, score[r])
            for r in range(S):
                linear[r] = math.exp(score[r] - top) if top > -np.inf else 0.0
            for row in range(before, last):
                total = 0.0
                for r in range(S):
                    total += chances[j, row, r] * linear[r]
                if total > _LOST:
                    values[c, row - before] = top + math.log(total)
                    if keep:
                        for r in range(S):  # φ_t(ρ | ρ', β), Appendix B
                            phi[t, c, row - before, r] = chances[j, row, r] * linear[r] / total
                else:  # terms may have been lost to underflow: again in logarithms
                    value = _log_total(chances[j, row], score)
                    values[c, row - before] = value
                    if keep:
                        _keep_choices(chances[j, row], score, value, phi[t, c, row - before])
        if t > 0:
            for b in range(Sb):  # L_t(β', ρ') = Σ_β a_{β'β} log Σ_ρ ..., Appendix B
                for r in range(S):
                    ahead[b, r] = 0.0
                for c in range(Sb):
                    a = trans_b[i, b, c]
                    if a > 0.0:  # never 0 · (-inf)
                        for r in range(S):
                            ahead[b, r] += a * values[c, r]
    total = 0.0
    for c in range(Sb):
        if start_b[i, c] > 0.0:
            total += start_b[i, c] * values[c, 0]  # Eq. (37)
    return total


@njit(cache=True, nogil=True)
def _forward(i, j, w, models, tau, here, flow, phi, sums):
    """Add Eq. (23) of base model i and reduced model j, weighted by w, to the sums."""
    start_b, trans_b = models[0], models[1]
    start, trans, stay = sums
    S, Sb = here.shape
    for b in range(Sb):
        for r in range(S):
            here[r, b] = w * start_b[i, b] * phi[0, b, 0, r]  # ν_1(ρ, β)
            start[j, r] += here[r, b]  # ν̂_1, Eq. (23)
            stay[i, b, j, r] += here[r, b]  # ν̂, Eq. (23)
    for t in range(1, tau):
        fill_table(0.0, flow)
        for r in range(S):
            for b in range(Sb):
                if here[r, b] > 0.0:
                    for c in range(Sb):  # Σ_β' ν_{t-1}(ρ', β') a_{β'β}
                        flow[r, c] += here[r, b] * trans_b[i, b, c]
        fill_table(0.0, here)
        for c in range(Sb):
            for r in range(S):
                if flow[r, c] == 0.0:
                    continue
                for q in range(S):
                    xi = flow[r, c] * phi[t, c, r, q]  # ξ_t(ρ', ρ, β)
                    trans[j, r, q] += xi  # ξ̂, Eq. (23)
                    here[q, c] += xi  # ν_t(ρ, β)
            for q in range(S):
                stay[i, c, j, q] += here[q, c]


@njit(cache=True, nogil=True)
def _recursions(models, tau, share, room, flows, out, sums):
    """Fill out (n, K) with L_HMM of pairs that have a share; add to the sums if phi has room.

    models are start (n, Sb) and trans (n, Sb, Sb) of the base, chances (K, S + 1, S), which are the
    transitions of the reduced models and, last, their start, and emit (n, Sb, K, S). sums are start
    (K, S), trans (K, S, S) and stay (n, Sb, K, S), the weighted ν̂.
    """
    here, flow = flows
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            if share[i, j] != 0.0:
                out[i, j] = _backward(i, j, models, tau, room)
                if room[4].shape[0] > 0:
                    _forward(i, j, share[i, j], models, tau, here, flow, room[4], sums)


def _recurse(base, reduced, scores, tau, share, keep):
    """Run `_recursions` over a block of base models; return L_HMM and the sums."""
    n, Sb, K, S = scores.shape
    room = (*np.empty((2, Sb, S)), *np.empty((2, S)), np.empty((tau if keep else 0, Sb, S, S)))
    sums = np.zeros((K, S)), np.zeros((K, S, S)), np.zeros(scores.shape if keep else (0, 0, 0, 0))
    out = np.empty((n, K))
    models = base.start, base.trans, _chances(reduced), np.ascontiguousarray(scores)
    _recursions(models, tau, share, room, tuple(np.empty((2, S, Sb))), out, sums)
    return out, sums


# --- functions of banks --------------------------------------------------------------------------


def blocks(base: HMMBank, reduced: HMMBank) -> Iterator[slice]:
    """Yield slices of base models whose pairs with all reduced ones fit in memory."""
    width = base.weights[0].size * reduced.weights.size
    step = max(1, _ROOM // width)
    for first in range(0, base.size, step):
        yield slice(first, min(first + step, base.size))


def expected_logliks(base: HMMBank, reduced: HMMBank, tau: int) -> Floats:
    """Return L_HMM, Eq. (37), of every base model under every reduced one.

    Parameters
    ----------
    base, reduced : HMMBank
        n and K models of the same family.
    tau : int
        Length of the sequences.

    Returns
    -------
    logliks : ndarray of shape (n, K)
        Lower bounds on E_i log p(y_1..y_τ | j).
    """
    out = np.empty((base.size, reduced.size))
    for part in blocks(base, reduced):
        mine = base.take(part)
        scores = pair_scores(mine, reduced).states
        share = np.ones((mine.size, reduced.size))
        out[part], _ = _recurse(mine, reduced, scores, tau, share, keep=False)
    return out


def _chances(reduced: HMMBank) -> Floats:
    """Return transitions with the start as one more row, (K, S + 1, S)."""
    return np.concatenate([reduced.trans, reduced.start[:, None]], axis=1)


class PairStatistics(NamedTuple):
    """Weighted statistics of one block of base models: Eq. (23), and Ω's weights of Eq. (28).

    ``start`` (K, S), ``trans`` (K, S, S), and ``emission`` (n, Sb, Mb, K, S, M), the weight of each
    base Gaussian in each reduced one; for discrete emissions (n, Sb, K, S), that of each state.
    """

    start: Floats
    trans: Floats
    emission: Floats


def pair_statistics(base: HMMBank, reduced: HMMBank, tau: int, share: Floats) -> PairStatistics:
    """Return the statistics of the M-step, each pair weighted by its share.

    Parameters
    ----------
    base, reduced : HMMBank
        A block of n models, and K models.
    tau : int
        Length of the sequences.
    share : ndarray of shape (n, K)
        ẑ_ij ω_i; pairs of share zero cost nothing.

    Returns
    -------
    statistics : PairStatistics
        Named tuple (start, trans, emission).
    """
    scores = pair_scores(base, reduced)
    _, (start, trans, stay) = _recurse(base, reduced, scores.states, tau, share, keep=True)
    if base.means is None:
        return PairStatistics(start, trans, stay)
    weights = stay[:, :, None] * base.weights[..., None, None]  # ẑ ω ν̂ c of Eq. (28)
    if scores.parts is None:
        return PairStatistics(start, trans, weights[..., None])
    return PairStatistics(start, trans, weights[..., None] * scores.parts)


# --- public functions ----------------------------------------------------------------------------


def check_tau(tau: Any) -> int:
    if not isinstance(tau, (int, np.integer)) or isinstance(tau, bool) or tau < 1:
        raise ValueError(f"tau must be an integer of at least 1, got {tau!r}.")
    return int(tau)


def check_pair(base: HMMBank, reduced: HMMBank, name: str) -> None:
    """Raise unless models of one bank can be explained by those of the other."""
    if (base.means is None) != (reduced.means is None):
        raise ValueError(f"{name}: one has discrete emissions, the other Gaussian ones.")
    if base.means is None or reduced.means is None:
        if base.weights.shape[2] != reduced.weights.shape[2]:
            raise ValueError(
                f"{name}: {base.weights.shape[2]} symbols against {reduced.weights.shape[2]}."
            )
    elif base.means.shape[3] != reduced.means.shape[3]:
        raise ValueError(
            f"{name}: {base.means.shape[3]} features against {reduced.means.shape[3]}."
        )


@checked
def hmm_expected_loglik(p: HMMParams, q: HMMParams, tau: int = 10) -> float:
    """Return a lower bound on the mean log-likelihood under q of sequences drawn from p.

    Parameters
    ----------
    p : HMMParams, or another form that `as_hmm` takes
        The model that sequences come from; its covariances may be singular.
    q : HMMParams, or another form that `as_hmm` takes
        The model that explains them.
    tau : int, default=10
        Length of the sequences.

    Returns
    -------
    loglik : float
        The variational bound L_HMM; exact where q has a single state with a single Gaussian,
        and where p is a single sequence (one Gaussian of no variance after the other).

    Examples
    --------
    >>> from octavo.sequence import HMMParams, hmm_expected_loglik
    >>> p = HMMParams([1], [[1]], [[1]], [[[0.0]]], [[[1.0]]])
    >>> q = HMMParams([1], [[1]], [[1]], [[[2.0]]], [[[1.0]]])
    >>> round(hmm_expected_loglik(p, q, tau=1), 4)
    -3.4189
    """
    base, reduced = pack_hmms([p], name="p: HMM"), pack_hmms([q], name="q: HMM")
    check_pair(base, reduced, "p and q differ")
    require_positive(reduced, name="q: HMM")
    return float(expected_logliks(base, reduced, check_tau(tau))[0, 0])


@checked
def hmm_kl(p: HMMParams, q: HMMParams, tau: int = 10) -> float:
    """Approximate the Kullback-Leibler divergence of q from p over sequences of length tau.

    Parameters
    ----------
    p, q : HMMParams, or other forms that `as_hmm` takes
        Two models, both with a density.
    tau : int, default=10
        Length of the sequences.

    Returns
    -------
    divergence : float
        L(p, p) - L(p, q), two bounds of Eq. (37): an approximation, not a bound (footnote 7). It
        is exact for single-state models with one Gaussian, and good where states are distinct;
        where they overlap much it may even be a little negative.

    Examples
    --------
    >>> from octavo.sequence import HMMParams, hmm_kl
    >>> p = HMMParams([1], [[1]], [[1]], [[[0.0]]], [[[1.0]]])
    >>> q = HMMParams([1], [[1]], [[1]], [[[2.0]]], [[[1.0]]])
    >>> round(hmm_kl(p, q, tau=5), 4)
    10.0
    """
    own, other = pack_hmms([p], name="p: HMM"), pack_hmms([q], name="q: HMM")
    check_pair(own, other, "p and q differ")
    require_positive(own, name="p: HMM")
    require_positive(other, name="q: HMM")
    length = check_tau(tau)
    return float(  # D = L(p, p) - L(p, q), footnote 7
        expected_logliks(own, own, length)[0, 0] - expected_logliks(own, other, length)[0, 0]
    )


def own_logliks(bank: HMMBank, tau: int, reduced: HMMBank | None = None) -> Floats:
    """Return L_HMM of each model under itself, or under its partner in another bank."""
    partner = bank if reduced is None else reduced
    return np.array(
        [expected_logliks(bank.take([i]), partner.take([i]), tau)[0, 0] for i in range(bank.size)]
    )


@checked
def hmm_distance_matrix(hmms: Any, tau: int = 10, *, symmetric: bool = False) -> Floats:
    """Return the approximate divergences between all pairs of HMMs.

    Parameters
    ----------
    hmms : list of HMMParams, or of other forms that `as_hmm` takes
        n models of the same family.
    tau : int, default=10
        Length of the sequences.
    symmetric : bool, default=False
        Whether to average both directions, as embedding and agglomerative methods need.

    Returns
    -------
    distances : ndarray of shape (n, n)
        `hmm_kl` of model i (row) from model j (column), with zeros on the diagonal.

    Examples
    --------
    >>> from octavo.sequence import HMMParams, hmm_distance_matrix
    >>> hmms = [HMMParams([1], [[1]], [[1]], [[[m]]], [[[1.0]]]) for m in (0.0, 1.0, 3.0)]
    >>> hmm_distance_matrix(hmms, tau=2).round(6)
    array([[0., 1., 9.],
           [1., 0., 4.],
           [9., 4., 0.]])
    """
    bank = pack_hmms(hmms)
    require_positive(bank)
    logliks = expected_logliks(bank, bank, check_tau(tau))
    distances = np.diagonal(logliks)[:, None] - logliks  # footnote 7, all pairs at once
    if symmetric:
        distances = 0.5 * (distances + distances.T)
    return distances


@checked
def clustering_loglik(hmms: Any, labels: Any, centers: Any, tau: int = 10) -> float:
    """Return the expected log-likelihood of a clustering: each HMM under its cluster's centre.

    Parameters
    ----------
    hmms : list of HMMParams, or of other forms that `as_hmm` takes
        The models that were clustered.
    labels : array-like of int
        The cluster of each.
    centers : list of HMMParams
        The centre of each cluster.
    tau : int, default=10
        Length of the sequences.

    Returns
    -------
    loglik : float
        The sum over the models, as the paper's Section 5.1 compares clusterings.

    Examples
    --------
    >>> from octavo.sequence import HMMParams, clustering_loglik
    >>> hmms = [HMMParams([1], [[1]], [[1]], [[[m]]], [[[1.0]]]) for m in (0.0, 0.0, 3.0)]
    >>> round(clustering_loglik(hmms, [0, 0, 1], hmms[1:], tau=1), 4)
    -4.2568
    """
    base, reduced = pack_hmms(hmms), pack_hmms(centers, name="centre")
    check_pair(base, reduced, "HMMs and centres differ")
    require_positive(reduced, name="centre")
    which = np.asarray(labels)
    if which.shape != (base.size,) or which.dtype.kind not in "iu":
        raise ValueError(f"labels must be {base.size} integers, got {labels!r}.")
    if which.min() < 0 or which.max() >= reduced.size:
        raise ValueError(f"labels must be 0..{reduced.size - 1}, got {which.min()}..{which.max()}.")
    logliks = expected_logliks(base, reduced, check_tau(tau))
    # Section 5.1: expected log-likelihood of a clustering
    return float(logliks[np.arange(base.size), which].sum())


def _warmup() -> None:
    one = HMMParams([1.0], [[1.0]], [[1.0]], [[[0.0]]], [[[1.0]]])
    bank = pack_hmms([one])
    expected_logliks(bank, bank, 2)
    pair_statistics(bank, bank, 2, np.ones((1, 1)))
