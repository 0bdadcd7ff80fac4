"""The variational bound between HMMs against enumeration, optimisers, sampling and closed forms."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax

from octavo.sequence import (
    HMMParams,
    clustering_loglik,
    hmm_distance_matrix,
    hmm_expected_loglik,
    hmm_kl,
)
from octavo.sequence.hmm.bank import pack_hmms
from octavo.sequence.hmm_mixtures.divergence import expected_logliks, pair_scores, pair_statistics
from tests.sequence.models import chain_of, permuted, random_hmm

CASES = [(2, 3, 1, 1, 2), (3, 2, 2, 1, 3), (2, 2, 1, 3, 4), (3, 3, 2, 2, 3), (1, 3, 1, 2, 3)]


def gaussian_pair(p, q, beta, m, rho, l):
    """E log N(y; q's Gaussian) under p's, from the definition."""
    C = np.atleast_2d(np.diag(p.covars[beta, m]))
    S = np.atleast_2d(np.diag(q.covars[rho, l]))
    gap = q.means[rho, l] - p.means[beta, m]
    inverse = np.linalg.inv(S)
    return -0.5 * (
        gap.size * np.log(2 * np.pi)
        + np.linalg.slogdet(S)[1]
        + np.trace(inverse @ C)
        + gap @ inverse @ gap
    )


def gmm_bound(p, q):
    """L_GMM by Eq. (22) at the η of Eq. (18)."""
    out = np.zeros((p.n_states, q.n_states))
    for beta, rho in itertools.product(range(p.n_states), range(q.n_states)):
        for m in range(p.n_mix):
            e = np.array([gaussian_pair(p, q, beta, m, rho, l) for l in range(q.n_mix)])
            eta = softmax(np.log(q.weights[rho]) + e)
            inner = eta @ (np.log(q.weights[rho]) - np.log(eta) + e)
            out[beta, rho] += p.weights[beta, m] * inner
    return out


def optimal_phi(p, q, emit, tau):
    """φ_1 (β, ρ) and φ_t (β, ρ', ρ) for t = 2..τ, by Appendix B in logarithms."""
    ahead = np.zeros_like(emit)
    phis = []
    for _ in range(tau - 1):
        score = np.log(q.transmat)[None] + (emit + ahead)[:, None]  # (β, ρ', ρ)
        total = logsumexp(score, axis=2)
        phis.append(np.exp(score - total[..., None]))
        ahead = p.transmat @ total
    first = softmax(np.log(q.startprob) + emit + ahead, axis=1)
    return first, phis[::-1]


def enumerated(p, q, emit, first, phis):
    """Eq. (21) summed over all pairs of state sequences, with ν̂_1, ν̂ and ξ̂."""
    tau = len(phis) + 1
    total = 0.0
    nu1, nu = np.zeros(q.n_states), np.zeros((q.n_states, p.n_states))
    xi = np.zeros((q.n_states, q.n_states))
    for beta in itertools.product(range(p.n_states), repeat=tau):
        base = p.startprob[beta[0]]
        for t in range(1, tau):
            base *= p.transmat[beta[t - 1], beta[t]]
        for rho in itertools.product(range(q.n_states), repeat=tau):
            chosen, reduced = first[beta[0], rho[0]], np.log(q.startprob[rho[0]])
            for t in range(1, tau):
                chosen *= phis[t - 1][beta[t], rho[t - 1], rho[t]]
                reduced += np.log(q.transmat[rho[t - 1], rho[t]])
            score = reduced - np.log(chosen) + sum(emit[b, r] for b, r in zip(beta, rho))
            weight = base * chosen
            total += weight * score
            nu1[rho[0]] += weight
            for t in range(tau):
                nu[rho[t], beta[t]] += weight
                if t:
                    xi[rho[t - 1], rho[t]] += weight
    return total, nu1, nu, xi


# --- the recursion is what the paper defines ----------------------------------------------------


@pytest.mark.parametrize(("S", "R", "M", "L", "tau"), CASES)
def test_recursion_equals_enumeration_over_all_state_sequences(S, R, M, L, tau):
    rng = np.random.default_rng(S + 10 * R + 100 * M)
    p, q = random_hmm(rng, S, M), random_hmm(rng, R, L)
    emit = gmm_bound(p, q)
    banks = pack_hmms([p]), pack_hmms([q])
    np.testing.assert_allclose(pair_scores(*banks).states[0, :, 0], emit, rtol=1e-12)
    first, phis = optimal_phi(p, q, emit, tau)
    total, nu1, nu, xi = enumerated(p, q, emit, first, phis)
    np.testing.assert_allclose(hmm_expected_loglik(p, q, tau), total, rtol=1e-12)
    found = pair_statistics(*banks, tau, np.ones((1, 1)))
    np.testing.assert_allclose(found.start[0], nu1, atol=1e-13)
    np.testing.assert_allclose(found.trans[0], xi, atol=1e-13)
    stay = found.emission[0].sum(axis=(1, 4))[:, 0]  # over Gaussians of both: (β, ρ)
    np.testing.assert_allclose(stay.T, nu, atol=1e-13)
    np.testing.assert_allclose([nu1.sum(), nu.sum(), xi.sum()], [1, tau, tau - 1])


def test_no_other_phi_does_better():
    rng = np.random.default_rng(0)
    p, q, tau = random_hmm(rng, 2), random_hmm(rng, 3), 3
    emit = gmm_bound(p, q)
    first, phis = optimal_phi(p, q, emit, tau)
    best = hmm_expected_loglik(p, q, tau)

    def perturbed(phi, size):
        return softmax(np.log(phi) + size * rng.normal(size=phi.shape), axis=-1)

    for size in (0.01, 0.1, 1.0, 1.0, 1.0):
        value, *_ = enumerated(
            p, q, emit, perturbed(first, size), [perturbed(phi, size) for phi in phis]
        )
        assert value < best


def test_an_optimiser_that_knows_only_the_bound_finds_the_same_value():
    rng = np.random.default_rng(1)
    # States so near to each other that the best φ is far from 0 and 1, where softmax is flat.
    p, q, tau = random_hmm(rng, 2, d=1, spread=0.5), random_hmm(rng, 2, d=1, spread=0.5), 2
    emit = gmm_bound(p, q)

    def negative(x):
        first, phi = softmax(x[:4].reshape(2, 2), axis=1), softmax(x[4:].reshape(2, 2, 2), axis=2)
        return -enumerated(p, q, emit, first, [phi])[0]

    found = minimize(negative, np.zeros(12), method="BFGS", options={"gtol": 1e-7})
    np.testing.assert_allclose(hmm_expected_loglik(p, q, tau), -found.fun, rtol=1e-9)


def test_chain_of_bounds_ends_at_the_sampled_truth():
    """L_HMM ≤ the bound with φ that sees all of β ≤ E log p, the last by sampling."""
    rng = np.random.default_rng(2)
    p, q, tau = random_hmm(rng, 2, d=1, spread=1.0), random_hmm(rng, 3, d=1, spread=1.0), 4
    emit = gmm_bound(p, q)
    seeing = 0.0
    for beta in itertools.product(range(2), repeat=tau):
        chance = p.startprob[beta[0]] * np.prod(
            [p.transmat[a, b] for a, b in itertools.pairwise(beta)]
        )
        scores = [
            np.log(q.startprob[rho[0]])
            + sum(np.log(q.transmat[a, b]) for a, b in itertools.pairwise(rho))
            + sum(emit[b, r] for b, r in zip(beta, rho))
            for rho in itertools.product(range(3), repeat=tau)
        ]
        seeing += chance * logsumexp(scores)
    sampled = q.score_samples(p.sample(20_000, tau, random_state=0))
    truth, error = sampled.mean(), sampled.std() / np.sqrt(20_000)
    assert hmm_expected_loglik(p, q, tau) <= seeing + 1e-12
    assert seeing <= truth + 4 * error


def test_bound_is_exact_for_one_state_with_one_gaussian():
    rng = np.random.default_rng(3)
    p, q, tau = random_hmm(rng, 3, 2), random_hmm(rng, 1, 1), 5
    state, expected = p.startprob, 0.0
    per_state = gmm_bound(p, q)[:, 0]
    for _ in range(tau):
        expected += state @ per_state
        state = state @ p.transmat
    np.testing.assert_allclose(hmm_expected_loglik(p, q, tau), expected, rtol=1e-12)


@pytest.mark.parametrize("kind", ["diag", "full", "spherical"])
@pytest.mark.parametrize("M", [1, 2])
def test_bound_is_the_log_likelihood_where_the_base_is_a_sequence(kind, M):
    rng = np.random.default_rng(4)
    sequence, q = rng.normal(size=(12, 2)), random_hmm(rng, 3, M, kind=kind)
    found = hmm_expected_loglik(chain_of(sequence, kind), q, 12)
    np.testing.assert_allclose(found, q.to_hmmlearn().score(sequence), rtol=1e-12)


def test_discrete_emissions():
    rng = np.random.default_rng(5)
    p, q = random_hmm(rng, 2, d=4, kind="discrete"), random_hmm(rng, 3, d=4, kind="discrete")
    emit = p.weights @ np.log(q.weights).T
    first, phis = optimal_phi(p, q, emit, 3)
    expected = enumerated(p, q, emit, first, phis)[0]
    np.testing.assert_allclose(hmm_expected_loglik(p, q, 3), expected, rtol=1e-12)
    word = np.array([0, 3, 1, 1])
    shift = np.eye(4, k=1)
    shift[-1, -1] = 1
    chain = HMMParams(np.eye(4)[0], shift, np.eye(4)[word])
    exact = q.to_hmmlearn().score(word[:, None])
    np.testing.assert_allclose(hmm_expected_loglik(chain, q, 4), exact, rtol=1e-12)


# --- zeros and extremes -------------------------------------------------------------------------


def plain_bound(p, q, emit, tau):
    """Eq. (37) in logarithms throughout, where 0 · (-inf) is 0."""

    def mean(weights, values):
        return sum(w * v for w, v in zip(weights, values) if w > 0)

    with np.errstate(divide="ignore"):
        start, trans = np.log(q.startprob), np.log(q.transmat)
    ahead = np.zeros_like(emit)
    for _ in range(tau - 1):
        total = np.array(
            [
                [logsumexp(trans[r] + emit[b] + ahead[b]) for r in range(len(trans))]
                for b in range(len(emit))
            ]
        )
        ahead = np.array(
            [[mean(row, total[:, r]) for r in range(len(trans))] for row in p.transmat]
        )
    return mean(p.startprob, [logsumexp(start + emit[b] + ahead[b]) for b in range(len(emit))])


def test_sums_that_underflow_are_taken_in_logarithms():
    """The best next state is forbidden, and the next best is exp(-5000) times as likely."""
    p = HMMParams([1.0], [[1.0]], [[1.0]], [[[0.0]]], [[[1.0]]])
    trans = [[0.0, 1.0], [0.5, 0.5]]
    q = HMMParams([1.0, 0.0], trans, [[1.0], [1.0]], [[[0.0]], [[100.0]]], [[[1.0]], [[1.0]]])
    expected = plain_bound(p, q, gmm_bound(p, q), 4)
    assert expected < -4000
    np.testing.assert_allclose(hmm_expected_loglik(p, q, 4), expected, rtol=1e-13)
    found = pair_statistics(pack_hmms([p]), pack_hmms([q]), 4, np.ones((1, 1)))
    np.testing.assert_allclose(found.trans[0].sum(), 3)
    assert np.isfinite(found.emission).all()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000))
def test_structural_zeros_are_followed(seed):
    rng = np.random.default_rng(seed)
    p, q = random_hmm(rng, 3, spread=20), random_hmm(rng, 3, spread=20)
    for hmm in (p, q):
        hmm.transmat[rng.uniform(size=(3, 3)) < 0.4] = 0.0
        hmm.transmat[np.arange(3), rng.integers(0, 3, 3)] += 0.1
        hmm.transmat /= hmm.transmat.sum(axis=1, keepdims=True)
        hmm.startprob = np.eye(3)[rng.integers(0, 3)]
    expected = plain_bound(p, q, gmm_bound(p, q), 5)
    np.testing.assert_allclose(hmm_expected_loglik(p, q, 5), expected, rtol=1e-11)


def test_impossible_symbols_make_the_bound_minus_infinity_only_where_they_are_emitted():
    p = HMMParams([1.0, 0.0], np.eye(2), [[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    q = HMMParams([1.0], [[1.0]], [[0.5, 0.5, 0.0]])
    np.testing.assert_allclose(hmm_expected_loglik(p, q, 3), -3 * np.log(2))
    assert hmm_expected_loglik(HMMParams([0.5, 0.5], np.eye(2), p.weights), q, 3) == -np.inf


# --- divergences --------------------------------------------------------------------------------


def test_divergence_of_single_gaussians_is_exact():
    rng = np.random.default_rng(6)
    p, q = random_hmm(rng, 1, 1, 3, "full"), random_hmm(rng, 1, 1, 3, "full")
    S, C = q.covars[0, 0], p.covars[0, 0]
    gap, inverse = (q.means - p.means)[0, 0], np.linalg.inv(q.covars[0, 0])
    exact = 0.5 * (
        np.trace(inverse @ C)
        - 3
        + gap @ inverse @ gap
        + np.linalg.slogdet(S)[1]
        - np.linalg.slogdet(C)[1]
    )
    np.testing.assert_allclose(hmm_kl(p, q, 7), 7 * exact, rtol=1e-11)
    assert hmm_kl(p, p, 7) == 0.0


def test_divergence_agrees_with_sampling_where_states_are_distinct():
    """States ten standard deviations apart leave no doubt about the path: the bounds are tight."""
    means = np.array([0.0, 10.0, 20.0]).reshape(3, 1, 1)
    one, unit = np.ones((3, 1)), np.ones((3, 1, 1))
    rng = np.random.default_rng(7)
    p = HMMParams(rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3), 3), one, means, unit)
    q = HMMParams(
        rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3), 3), one, means + 0.3, 1.5 * unit
    )
    X = p.sample(40_000, 8, random_state=0)
    ratio = p.score_samples(X) - q.score_samples(X)
    error = ratio.std() / np.sqrt(ratio.size)
    assert error < 0.02
    assert abs(hmm_kl(p, q, 8) - ratio.mean()) < 4 * error


def test_distance_matrix_is_made_of_divergences():
    rng = np.random.default_rng(8)
    hmms = [random_hmm(rng, S, 2) for S in (1, 2, 3)]  # padded inside
    found = hmm_distance_matrix(hmms, tau=4)
    expected = [[hmm_kl(p, q, 4) for q in hmms] for p in hmms]
    np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_array_equal(np.diag(found), 0)
    both = hmm_distance_matrix(hmms, tau=4, symmetric=True)
    np.testing.assert_allclose(both, 0.5 * (found + found.T))


def test_clustering_loglik_adds_each_under_its_centre():
    rng = np.random.default_rng(9)
    hmms, centers = [random_hmm(rng) for _ in range(4)], [random_hmm(rng) for _ in range(2)]
    expected = sum(hmm_expected_loglik(h, centers[c], 5) for h, c in zip(hmms, [0, 1, 1, 0]))
    np.testing.assert_allclose(clustering_loglik(hmms, [0, 1, 1, 0], centers, 5), expected)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(["diag", "full", "spherical", "discrete"]))
def test_the_order_of_states_does_not_matter(seed, kind):
    rng = np.random.default_rng(seed)
    p, q = random_hmm(rng, 3, 2, 3, kind), random_hmm(rng, 4, 1, 3, kind)
    value = hmm_expected_loglik(p, q, 6)
    moved = hmm_expected_loglik(permuted(p, rng.permutation(3)), permuted(q, rng.permutation(4)), 6)
    np.testing.assert_allclose(moved, value, rtol=1e-11)


def test_blocks_of_base_models_give_what_one_block_gives(monkeypatch):
    rng = np.random.default_rng(10)
    base, reduced = (pack_hmms([random_hmm(rng, 3, 2) for _ in range(n)]) for n in (9, 2))
    whole = expected_logliks(base, reduced, 5)
    monkeypatch.setattr("octavo.sequence.hmm_mixtures.divergence._ROOM", 1)
    np.testing.assert_array_equal(expected_logliks(base, reduced, 5), whole)


# --- bad input ----------------------------------------------------------------------------------


def test_bad_arguments_are_refused():
    rng = np.random.default_rng(11)
    p, q = random_hmm(rng), random_hmm(rng)
    with pytest.raises(ValueError, match=r"tau must be an integer of at least 1, got 0"):
        hmm_kl(p, q, 0)
    with pytest.raises(ValueError, match="2 features against 3"):
        hmm_kl(p, random_hmm(rng, d=3))
    with pytest.raises(ValueError, match="discrete"):
        hmm_expected_loglik(p, random_hmm(rng, kind="discrete"))
    singular = HMMParams([1.0], [[1.0]], [[1.0]], [[[0.0, 0.0]]], [[[0.0, 0.0]]])
    nearly = HMMParams([1.0], [[1.0]], [[1.0]], [[[0.0, 0.0]]], [[[1e-12, 1e-12]]])
    limit = hmm_expected_loglik(nearly, q)
    assert hmm_expected_loglik(singular, q) == pytest.approx(limit, rel=1e-9)
    with pytest.raises(ValueError, match=r"q: HMM 0.*singular"):
        hmm_expected_loglik(p, singular)
    with pytest.raises(ValueError, match=r"p: HMM 0.*singular"):
        hmm_kl(singular, q)
    with pytest.raises(ValueError, match=r"labels must be 0\.\.0"):
        clustering_loglik([p, q], [0, 1], [p])
    with pytest.raises(TypeError, match="HMM 1 must be an HMMParams"):
        hmm_distance_matrix([p, 3])
