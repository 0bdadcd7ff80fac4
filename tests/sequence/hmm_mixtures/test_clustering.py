"""Clustering of HMMs against Baum-Welch, scikit-learn's EM, closed forms and invariances."""

import warnings

import numpy as np
import pytest
from hmmlearn.hmm import CategoricalHMM, GaussianHMM
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import rand_score
from sklearn.mixture import GaussianMixture

from octavo.data import make_hmm_sequences
from octavo.sequence import (
    HierarchicalHMMClustering,
    HMMClustering,
    HMMParams,
    SampledHMMClustering,
    clustering_loglik,
    fit_hmms,
    hmm_expected_loglik,
)
from octavo.sequence.hmm.bank import pack_hmms
from octavo.sequence.hmm.sequence_sets import Mixture, gather_sets
from octavo.sequence.hmm_mixtures.divergence import pair_statistics
from octavo.sequence.hmm_mixtures.mixture import expect as expect_sequences
from octavo.sequence.hmm_mixtures.mixture import maximize as maximize_sequences
from octavo.sequence.hmm_mixtures.vhem import Collection, expect, maximize
from tests.sequence.models import chain_of, permuted, random_hmm

KINDS = ["diag", "full", "spherical"]


def collection(hmms, tau, virtual=None, weights=None):
    n = len(hmms)
    weights = np.full(n, 1 / n) if weights is None else np.asarray(weights)
    total = n if virtual is None else virtual  # N = K_b: one virtual sequence an HMM
    return Collection(pack_hmms(hmms), weights, total * weights, tau)


def one_iteration(hmms, start, tau, **options):
    base = collection(hmms, tau, **options)
    mixture = Mixture(np.full(len(start), 1 / len(start)), pack_hmms(start))
    objective, found = expect(mixture, base)
    return objective, found, maximize(mixture, found, base)


def groups_of_hmms(rng, n_each=4, S=2, kind="diag", jitter=0.05):
    """Return HMMs in three groups far apart, states in random order, and their groups."""
    centers = [random_hmm(rng, S, 1, 2, kind, spread=4.0) for _ in range(3)]
    hmms = []
    for center in centers:
        for _ in range(n_each):
            trans = center.transmat + jitter * rng.uniform(size=center.transmat.shape)
            means = center.means + jitter * rng.normal(size=center.means.shape)
            one = HMMParams(
                center.startprob,
                trans / trans.sum(axis=1, keepdims=True),
                center.weights,
                means,
                center.covars,
                kind,
            )
            hmms.append(permuted(one, rng.permutation(S)))
    return hmms, np.repeat(np.arange(3), n_each)


def gaussian(mean=0.0, var=1.0):
    return HMMParams([1.0], [[1.0]], [[1.0]], [[[mean]]], [[[var]]])


# --- special cases that are other algorithms ----------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_an_iteration_on_deterministic_chains_is_one_of_baum_welch(kind):
    rng = np.random.default_rng(0)
    T, n = 9, 4
    X = [rng.normal(size=(T, 2)) for _ in range(n)]
    start = random_hmm(rng, 3, 1, 2, kind)
    objective, _, after = one_iteration([chain_of(x, kind) for x in X], [start], T)
    model = start.to_hmmlearn().set_params(
        init_params="", n_iter=1, covars_prior=0, covars_weight=0, means_weight=0, min_covar=0
    )
    stacked, lengths = np.concatenate(X), [T] * n
    np.testing.assert_allclose(objective, model.score(stacked, lengths), rtol=1e-12)
    model.fit(stacked, lengths)
    bank = after.bank
    np.testing.assert_allclose(bank.start[0], model.startprob_, atol=1e-13)
    np.testing.assert_allclose(bank.trans[0], model.transmat_, atol=1e-13)
    np.testing.assert_allclose(bank.means[0, :, 0], model.means_, atol=1e-12)
    covars = bank.covars[0, :, 0]
    expected = HMMParams.from_hmmlearn(model).covars[:, 0]
    found = covars[:, 0] if kind == "spherical" else covars
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("M", [1, 2])
def test_several_clusters_of_chains_are_em_for_mixtures_of_hmms(kind, M):
    rng = np.random.default_rng(1)
    T, n, K = 8, 6, 2
    X = [rng.normal(size=(T, 2)) for _ in range(n)]
    start = [random_hmm(rng, 2, M, 2, kind, spread=0.5) for _ in range(K)]
    objective, found, after = one_iteration([chain_of(x, kind) for x in X], start, T)
    logliks = np.array([[h.to_hmmlearn().score(x) for h in start] for x in X])
    np.testing.assert_allclose(found.logliks, logliks, rtol=1e-11)
    np.testing.assert_allclose(objective, logsumexp(logliks - np.log(K), axis=1).sum(), rtol=1e-12)
    data = gather_sets(np.concatenate(X), np.full(n, T), None)
    mixture = Mixture(np.full(K, 1 / K), pack_hmms(start))
    value, expectations = expect_sequences(mixture, data, 0.0)
    em = maximize_sequences(mixture, expectations, 0.0)
    np.testing.assert_allclose(value, objective, rtol=1e-12)
    np.testing.assert_allclose(found.share, expectations.share, atol=1e-11)
    np.testing.assert_allclose(after.weights, em.weights, atol=1e-12)
    for name in ("start", "trans", "weights", "means", "covars"):
        np.testing.assert_allclose(
            getattr(after.bank, name), getattr(em.bank, name), atol=1e-11, err_msg=name
        )


def test_points_of_length_one_are_scikit_learns_gaussian_mixture():
    rng = np.random.default_rng(2)
    points = rng.normal(size=(30, 2))
    kinds = {"full": np.eye(2)[None, None] * 1.5, "diag": np.full((1, 1, 2), 1.5)}
    for kind, covar in kinds.items():
        means = rng.normal(size=(3, 2))
        start = [HMMParams([1], [[1]], [[1]], m[None, None], covar, kind) for m in means]
        base = [chain_of(p[None], kind) for p in points]
        objective, _, after = one_iteration(base, start, 1)
        precision = np.linalg.inv(covar[0, 0]) if kind == "full" else 1 / covar[0, 0]
        model = GaussianMixture(
            3,
            covariance_type=kind,
            weights_init=np.full(3, 1 / 3),
            means_init=means,
            precisions_init=np.stack([precision] * 3),
            reg_covar=0,
            max_iter=1,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(points)
        np.testing.assert_allclose(after.weights, model.weights_, atol=1e-12)
        np.testing.assert_allclose(after.bank.means[:, 0, 0], model.means_, atol=1e-12)
        np.testing.assert_allclose(after.bank.covars[:, 0, 0], model.covariances_, atol=1e-12)


def test_an_iteration_on_gaussians_is_vasconcelos_hierarchical_em():
    rng = np.random.default_rng(3)
    n, N = 8, 40.0
    weights = rng.dirichlet(np.ones(n))
    base = [random_hmm(rng, 1, 1, 2, "full") for _ in range(n)]
    start = [random_hmm(rng, 1, 1, 2, "full") for _ in range(2)]
    _, found, after = one_iteration(base, start, 1, virtual=N, weights=weights)
    joint = np.empty((n, 2))
    for i, b in enumerate(base):
        for j, r in enumerate(start):
            inverse = np.linalg.inv(r.covars[0, 0])
            gap = (b.means - r.means)[0, 0]
            # log [G(μ_b; μ_r, Σ_r) exp(-½ tr Σ_r⁻¹ Σ_b)]^{N_i} π_r
            log_density = -0.5 * (
                2 * np.log(2 * np.pi) + np.linalg.slogdet(r.covars[0, 0])[1] + gap @ inverse @ gap
            )
            trace = -0.5 * np.trace(inverse @ b.covars[0, 0])
            joint[i, j] = N * weights[i] * (log_density + trace) + np.log(0.5)
    h = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
    np.testing.assert_allclose(found.share, h, atol=1e-11)
    np.testing.assert_allclose(after.weights, h.mean(axis=0), atol=1e-12)
    w = h * weights[:, None] / (h * weights[:, None]).sum(axis=0)
    means = np.array([b.means[0, 0] for b in base])
    np.testing.assert_allclose(after.bank.means[:, 0, 0], w.T @ means, atol=1e-11)
    for j in range(2):
        gap = means - w[:, j] @ means
        spread = np.array([b.covars[0, 0] for b in base]) + np.einsum("nd,ne->nde", gap, gap)
        np.testing.assert_allclose(
            after.bank.covars[j, 0, 0], np.einsum("n,nde->de", w[:, j], spread), atol=1e-11
        )


def test_one_cluster_of_one_state_matches_moments():
    """Stationary single-state HMMs: the centre has the mean and covariance of their mixture."""
    rng = np.random.default_rng(4)
    hmms = [random_hmm(rng, 1, 1, 2, "full") for _ in range(5)]
    weights = rng.dirichlet(np.ones(5))
    model = HMMClustering(
        1, covariance_type="full", reg_covar=0, tau=3, n_init=1, random_state=0
    ).fit(hmms, weights)
    means = np.array([h.means[0, 0] for h in hmms])
    mean = weights @ means
    gap = means - mean
    cov = np.einsum("n,nde->de", weights, [h.covars[0, 0] for h in hmms])
    cov += np.einsum("n,nd,ne->de", weights, gap, gap)
    np.testing.assert_allclose(model.cluster_hmms_[0].means[0, 0], mean, atol=1e-12)
    np.testing.assert_allclose(model.cluster_hmms_[0].covars[0, 0], cov, atol=1e-12)


def test_discrete_chains_are_baum_welch_too():
    rng = np.random.default_rng(5)
    T, n, V = 7, 5, 3
    words = rng.integers(0, V, (n, T))
    shift = np.eye(T, k=1)
    shift[-1, -1] = 1
    base = [HMMParams(np.eye(T)[0], shift, np.eye(V)[word]) for word in words]
    start = random_hmm(rng, 2, d=V, kind="discrete")
    objective, _, after = one_iteration(base, [start], T)
    model = CategoricalHMM(2, n_features=V, n_iter=1, init_params="")
    model.startprob_, model.transmat_ = start.startprob, start.transmat
    model.emissionprob_ = start.weights
    X, lengths = words.reshape(-1, 1), [T] * n
    np.testing.assert_allclose(objective, model.score(X, lengths), rtol=1e-12)
    model.fit(X, lengths)
    np.testing.assert_allclose(after.bank.start[0], model.startprob_, atol=1e-13)
    np.testing.assert_allclose(after.bank.trans[0], model.transmat_, atol=1e-13)
    np.testing.assert_allclose(after.bank.weights[0], model.emissionprob_, atol=1e-13)


# --- properties ---------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 10_000),
    st.sampled_from([*KINDS, "discrete"]),
    st.sampled_from([*KINDS]),
    st.integers(1, 3),
    st.sampled_from([1.0, 30.0, 1e4]),
)
def test_the_bound_never_falls(seed, kind, centre, tau, virtual):
    rng = np.random.default_rng(seed)
    hmms = [random_hmm(rng, int(rng.integers(1, 4)), 2, 3, kind) for _ in range(6)]
    mixed = "discrete" if kind == "discrete" else centre
    start = [random_hmm(rng, 2, 2, 3, mixed) for _ in range(2)]
    base = collection(hmms, tau, virtual=6 * virtual, weights=rng.dirichlet(np.ones(6)))
    mixture = Mixture(np.array([0.3, 0.7]), pack_hmms(start))
    value, found = expect(mixture, base)
    for _ in range(5):
        mixture = maximize(mixture, found, base)
        after, found = expect(mixture, base)
        assert after >= value - 1e-10 * abs(value)
        value = after
    for rows in (mixture.bank.start, mixture.bank.trans, mixture.bank.weights, mixture.weights):
        np.testing.assert_allclose(rows.sum(axis=-1), 1.0)


def test_the_m_step_is_the_maximum_of_its_bound():
    """With φ, η and z fixed, no nearby parameters do better: checked on the bound itself."""
    rng = np.random.default_rng(6)
    hmms, start = [random_hmm(rng, 2) for _ in range(4)], [random_hmm(rng, 2)]
    base = collection(hmms, 3)
    mixture = Mixture(np.ones(1), pack_hmms(start))
    after = maximize(mixture, expect(mixture, base)[1], base)
    counts = [
        pair_statistics(base.bank.take([i]), mixture.bank, 3, np.ones((1, 1))) for i in range(4)
    ]

    def fixed_bound(bank):
        """The part of the bound that depends on the parameters, statistics fixed."""
        total = 0.0
        for i, c in enumerate(counts):
            total += (c.start * np.log(bank.start)).sum() + (c.trans * np.log(bank.trans)).sum()
            gap = base.bank.means[i, :, 0][:, None] - bank.means[0, :, 0]
            spread = bank.covars[0, :, 0]
            e = -0.5 * (np.log(spread) + (base.bank.covars[i, :, 0][:, None] + gap**2) / spread)
            total += (c.emission[0, :, 0, 0, :, 0] * e.sum(axis=2)).sum()
        return total

    best = fixed_bound(after.bank)
    for _ in range(20):
        noise = 0.05 * rng.normal(size=4)
        near = after.bank._replace(
            start=after.bank.start ** np.exp(noise[0]),
            trans=after.bank.trans ** np.exp(noise[1]),
            means=after.bank.means + noise[2],
            covars=after.bank.covars * np.exp(noise[3]),
        )
        near = near._replace(
            start=near.start / near.start.sum(axis=1, keepdims=True),
            trans=near.trans / near.trans.sum(axis=2, keepdims=True),
        )
        assert fixed_bound(near) < best


def test_history_is_monotone_and_ends_at_the_bound_of_the_formula():
    rng = np.random.default_rng(7)
    hmms, _ = groups_of_hmms(rng, S=3, jitter=0.4)
    weights = rng.dirichlet(np.ones(12))
    model = HMMClustering(3, n_virtual=500.0, reg_covar=0, n_init=2, random_state=0, tau=6)
    model.fit(hmms, weights)
    assert np.all(np.diff(model.lower_bounds_) >= -1e-9 * abs(model.lower_bound_))
    assert model.lower_bounds_[-1] == model.lower_bound_
    logliks = [[hmm_expected_loglik(h, c, 6) for c in model.cluster_hmms_] for h in hmms]
    np.testing.assert_allclose(model.transform(hmms), logliks, rtol=1e-12)
    joint = np.log(model.weights_) + 500.0 * weights[:, None] * np.array(logliks)
    np.testing.assert_allclose(model.lower_bound_, logsumexp(joint, axis=1).sum(), rtol=1e-12)
    share = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
    np.testing.assert_allclose(model.responsibilities_, share, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_groups_far_apart_are_found_whatever_the_order_of_states(kind):
    rng = np.random.default_rng(8)
    hmms, groups = groups_of_hmms(rng, kind=kind)
    model = HMMClustering(3, covariance_type=kind, n_init=3, random_state=0).fit(hmms)
    assert rand_score(groups, model.labels_) == 1.0
    np.testing.assert_array_equal(model.predict(hmms), model.labels_)
    np.testing.assert_allclose(model.weights_, 1 / 3)
    again = [permuted(h, rng.permutation(2)) for h in hmms]
    moved = HMMClustering(3, covariance_type=kind, n_init=3, random_state=0).fit(again)
    assert rand_score(moved.labels_, model.labels_) == 1.0
    np.testing.assert_allclose(moved.lower_bound_, model.lower_bound_, rtol=1e-6)


def test_permuting_base_states_changes_nothing_in_an_iteration():
    rng = np.random.default_rng(9)
    hmms, start = (
        [random_hmm(rng, 3, 2) for _ in range(4)],
        [random_hmm(rng, 2, 2) for _ in range(2)],
    )
    one = one_iteration(hmms, start, 5)
    other = one_iteration([permuted(h, rng.permutation(3)) for h in hmms], start, 5)
    np.testing.assert_allclose(one[0], other[0], rtol=1e-12)
    for name in ("start", "trans", "weights", "means", "covars"):
        np.testing.assert_allclose(
            getattr(one[2].bank, name), getattr(other[2].bank, name), atol=1e-12
        )


def test_splitting_an_hmm_in_two_halves_leaves_hard_centres_alone():
    """Eq. (24) counts HMMs, so only the weights change."""
    rng = np.random.default_rng(10)
    hmms, _ = groups_of_hmms(rng)
    init = [hmms[0], hmms[4], hmms[8]]
    weights = np.full(12, 1 / 12)
    whole = HMMClustering(3, init=init, reg_covar=0, tol=1e-12).fit(hmms)
    split = HMMClustering(3, init=init, reg_covar=0, tol=1e-12).fit(
        [*hmms, hmms[0]], [weights[0] / 2, *weights[1:], weights[0] / 2]
    )
    for a, b in zip(whole.cluster_hmms_, split.cluster_hmms_):
        np.testing.assert_allclose(a.startprob, b.startprob, atol=1e-6)
        np.testing.assert_allclose(a.transmat, b.transmat, atol=1e-6)
        np.testing.assert_allclose(a.means, b.means, atol=1e-6)
        np.testing.assert_allclose(a.covars, b.covars, atol=1e-6)
    np.testing.assert_allclose(np.sort(split.weights_), [4 / 13, 4 / 13, 5 / 13])


def test_as_many_clusters_as_gaussians_is_a_fixed_point():
    rng = np.random.default_rng(11)
    hmms = [random_hmm(rng, 1, 1, 2, spread=10) for _ in range(4)]
    model = HMMClustering(4, init=hmms, reg_covar=0).fit(hmms)
    np.testing.assert_array_equal(model.labels_, np.arange(4))
    for a, b in zip(model.cluster_hmms_, hmms):
        np.testing.assert_allclose(a.means, b.means, atol=1e-12)
        np.testing.assert_allclose(a.covars, b.covars, atol=1e-12)


def test_centres_may_have_another_shape_than_the_hmms():
    rng = np.random.default_rng(12)
    hmms, groups = groups_of_hmms(rng)
    mixed = [h if i % 2 else HMMParams(*_doubled(h)) for i, h in enumerate(hmms)]
    model = HMMClustering(3, n_states=3, n_mix=2, covariance_type="full", n_init=2, random_state=0)
    model.fit(mixed)
    assert rand_score(groups, model.labels_) == 1.0
    assert model.cluster_hmms_[0].covars.shape == (3, 2, 2, 2)


def _doubled(hmm):
    """Return the parts of the same distribution with every state twice."""
    two = np.repeat(np.arange(hmm.n_states), 2)
    return (
        hmm.startprob[two] / 2,
        hmm.transmat[np.ix_(two, two)] / 2,
        hmm.weights[two],
        hmm.means[two],
        hmm.covars[two],
        hmm.covariance_type,
    )


def test_a_doubled_state_changes_no_distribution():
    rng = np.random.default_rng(13)
    p, q = random_hmm(rng, 2), random_hmm(rng, 2)
    twice = HMMParams(*_doubled(p))
    np.testing.assert_allclose(hmm_expected_loglik(twice, q, 5), hmm_expected_loglik(p, q, 5))


def test_discrete_hmms_of_hmmlearn_are_clustered():
    rng = np.random.default_rng(14)
    models = []
    for g in (0, 1):
        for _ in range(4):
            model = CategoricalHMM(2)
            model.startprob_, model.n_features = np.array([0.5, 0.5]), 4
            model.transmat_ = np.array([[0.9, 0.1], [0.1, 0.9]]) if g else np.full((2, 2), 0.5)
            # Symbols that tell the state: where they do not, the bound is loose.
            emit = np.array([[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]])
            emit = emit + 0.02 * rng.uniform(size=emit.shape)
            model.emissionprob_ = emit / emit.sum(axis=1, keepdims=True)
            models.append(model)
    found = HMMClustering(2, n_init=3, random_state=0).fit(models)
    assert rand_score([0] * 4 + [1] * 4, found.labels_) == 1.0
    assert found.cluster_hmms_[0].weights.shape == (2, 4)


def test_whole_mixtures_are_clustered_as_hmms_of_one_state():
    """Mixtures of two kinds that share their components, in any order, but not the weights."""
    rng = np.random.default_rng(26)
    places = np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 6.0], [6.0, 6.0]])
    mixtures = []
    for kind in (0, 0, 0, 1, 1, 1):
        weights = np.array([[0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]])[kind]
        order = rng.permutation(4)
        X = places[rng.choice(4, 400, p=weights)] + rng.normal(size=(400, 2))
        mixture = GaussianMixture(4, means_init=places[order], random_state=0).fit(X)
        mixtures.append(HMMParams.from_gaussian_mixture(mixture))
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)  # one state: nothing is lost with tau=1
        model = HMMClustering(2, covariance_type="full", tau=1, n_init=3, random_state=0)
        model.fit(mixtures)
    assert rand_score([0, 0, 0, 1, 1, 1], model.labels_) == 1.0
    assert model.cluster_hmms_[0].means.shape == (1, 4, 2)


def test_an_empty_cluster_is_given_to_the_hmm_explained_worst():
    """Starts on two equal HMMs leave a cluster empty; the third group must get it."""
    from octavo.engine.smooth.em import climb
    from octavo.sequence.hmm.starts import Shape
    from octavo.sequence.hmm_mixtures.vhem import prepare_seeds, reseeded

    rng = np.random.default_rng(15)
    hmms, groups = groups_of_hmms(rng)
    base = collection(hmms, 10, virtual=12e4)
    far = HMMParams([1, 0], np.eye(2), [[1], [1]], np.full((2, 1, 2), 1e3), np.ones((2, 1, 2)))
    mixture = Mixture(np.full(3, 1 / 3), pack_hmms([hmms[0], hmms[4], far]))
    run = climb(
        lambda m: expect(m, base), lambda m, f: maximize(m, f, base), mixture, max_iter=20, tol=1e-6
    )
    assert run.expectations.share[:, 2].sum() < 1e-6
    seeds = prepare_seeds(base, Shape(2, 1, "diag"))
    moved = reseeded(run, base, seeds, np.random.RandomState(0))
    value, found = expect(moved, base)
    assert value > run.objective
    assert rand_score(groups, found.share.argmax(axis=1)) == 1.0
    assert reseeded(run._replace(params=moved, expectations=found), base, seeds, rng) is None


def test_more_virtual_sequences_make_assignments_harder():
    rng = np.random.default_rng(16)
    hmms, _ = groups_of_hmms(rng, jitter=0.5)
    model = HMMClustering(3, n_virtual=12.0, n_init=2, random_state=0).fit(hmms)
    soft = model.predict_proba(hmms).max(axis=1).mean()
    hard = HMMClustering(3, n_init=2, random_state=0).fit(hmms).predict_proba(hmms)
    assert soft < hard.max(axis=1).mean()
    np.testing.assert_allclose(hard.max(axis=1), 1.0)


def test_score_is_the_bound_per_virtual_sequence():
    rng = np.random.default_rng(17)
    hmms, _ = groups_of_hmms(rng)
    model = HMMClustering(3, n_virtual=60.0, reg_covar=0, n_init=1, random_state=0).fit(hmms)
    np.testing.assert_allclose(model.score(hmms), model.lower_bound_ / 60.0, rtol=1e-12)


def test_criteria_choose_the_number_of_groups():
    rng = np.random.default_rng(18)
    hmms, _ = groups_of_hmms(rng, n_each=8)
    models = {k: HMMClustering(k, n_init=4, random_state=0).fit(hmms) for k in (1, 2, 3, 4, 5)}
    assert min(models, key=lambda k: models[k].bic(hmms, n_sequences=240)) == 3
    model = models[2]
    parameters = 1 + 2 * (1 + 2 + 2 * (2 + 2))
    joint = np.log(model.weights_) + model.transform(hmms)  # one sequence an HMM
    minus = -2 * logsumexp(joint, axis=1).sum()
    np.testing.assert_allclose(model.bic(hmms), minus + parameters * np.log(24))
    np.testing.assert_allclose(model.aic(hmms), minus + 2 * parameters)


def test_input_is_left_alone():
    rng = np.random.default_rng(19)
    hmms, _ = groups_of_hmms(rng, n_each=2)
    before = [h.transmat.copy() for h in hmms]
    HMMClustering(2, n_init=1, random_state=0).fit(hmms)
    for h, old in zip(hmms, before):
        np.testing.assert_array_equal(h.transmat, old)


def test_a_variance_floor_tames_an_hmm_that_shrank():
    hmms = [
        HMMParams([1], [[1]], [[1]], [[[m]]], [[[v]]]) for m, v in [(0, 1), (0.2, 1), (0.1, 1e-12)]
    ]
    model = HMMClustering(1, min_covar=0.5, n_init=1, random_state=0, tau=2).fit(hmms)
    expected = np.mean([1, 1, 0.5]) + np.var([0, 0.2, 0.1]) + 1e-6
    np.testing.assert_allclose(model.cluster_hmms_[0].covars.ravel(), expected)
    full = [
        HMMParams(h.startprob, h.transmat, h.weights, h.means, h.covars[..., None], "full")
        for h in hmms
    ]
    model = HMMClustering(1, min_covar=0.5, n_init=1, random_state=0, tau=2).fit(full)
    np.testing.assert_allclose(model.cluster_hmms_[0].covars.ravel(), expected)


# --- trees and samples --------------------------------------------------------------------------


def test_a_tree_keeps_clusters_together():
    rng = np.random.default_rng(20)
    hmms, groups = groups_of_hmms(rng)
    tree = HierarchicalHMMClustering((6, 3, 2), n_init=3, random_state=0).fit(hmms)
    assert [len(level.cluster_hmms) for level in tree.levels_] == [6, 3, 2]
    assert rand_score(groups, tree.levels_[1].labels) == 1.0
    for below, above in zip(tree.levels_, tree.levels_[1:]):
        np.testing.assert_array_equal(above.labels, above.parents[below.labels])
    for level, children in zip(tree.levels_, tree.linkage_children_):
        assert sorted(np.concatenate(children)) == list(range(level.parents.size))
        for c, members in enumerate(children):
            np.testing.assert_array_equal(level.parents[members], c)
        rises = np.diff(level.lower_bounds)
        assert np.all(rises >= -1e-9 * abs(level.lower_bounds[-1]))
    np.testing.assert_array_equal(tree.predict(hmms, level=1), tree.levels_[1].labels)


def test_a_tree_is_a_linkage_matrix_for_scipy():
    from scipy.cluster.hierarchy import fcluster, is_valid_linkage

    rng = np.random.default_rng(21)
    hmms, _ = groups_of_hmms(rng)
    tree = HierarchicalHMMClustering((5, 3), n_init=2, random_state=0).fit(hmms)
    matrix = tree.linkage()
    assert is_valid_linkage(matrix)
    assert matrix[-1, 3] == 12
    for height, level in enumerate(tree.levels_, start=1):
        cut = fcluster(matrix, height, criterion="distance")
        assert rand_score(cut, level.labels) == 1.0


def test_sampling_agrees_with_the_bound_where_groups_are_far_apart():
    rng = np.random.default_rng(22)
    hmms, groups = groups_of_hmms(rng)
    model = SampledHMMClustering(3, n_init=3, random_state=0).fit(hmms)
    assert rand_score(groups, model.labels_) == 1.0
    np.testing.assert_array_equal(model.predict(hmms), model.labels_)
    assert np.all(np.diff(model.lower_bounds_) >= -1e-9 * abs(model.lower_bound_))
    discrete = [random_hmm(rng, 2, d=3, kind="discrete") for _ in range(4)]
    assert SampledHMMClustering(2, n_init=1, random_state=0).fit(discrete).labels_.shape == (4,)


def test_centres_beat_the_hmms_they_stand_for():
    """A centre explains its cluster better than any of its members does: why centres are learnt."""
    X, _ = make_hmm_sequences("means", n_per_class=4, random_state=0)
    hmms = fit_hmms(X, n_states=3, n_init=1, random_state=0)
    model = HMMClustering(1, n_init=3, reg_covar=0, random_state=0).fit(hmms)
    labels = np.zeros(len(hmms), dtype=int)
    learnt = clustering_loglik(hmms, labels, model.cluster_hmms_)
    assert learnt > max(clustering_loglik(hmms, labels, [h]) for h in hmms)


# --- bad input ----------------------------------------------------------------------------------


def single(start=1.0, trans=1.0, weight=1.0, mean=((0.0,),), covar=((1.0,),), kind="diag"):
    """Return an HMM of one state, with parts that may be wrong."""
    return HMMParams(np.atleast_1d(start), [[trans]], [[weight]], [mean], [covar], kind)


PAIR = ((0.0, 0.0),)
WRONG = [
    (single(mean=((np.nan,),)), "HMM 1: means has a value that is NaN"),
    (single(covar=((-1.0,),)), r"HMM 1: .*negative variance, -1"),
    (single(mean=PAIR, covar=((1.0, 1.0),)), "HMM 1 has 2 features, HMM 0 has 1"),
    (single(covar=(((1.0,),),), kind="full"), "HMM 1 has 'full' covariances"),
    (HMMParams([1], [[1]], [[0.5, 0.5]]), "HMM 1 has discrete emissions"),
    (single(trans=-1.0), "HMM 1: transmat has a negative"),
    (single(start=0.0), "HMM 1: startprob adds up to zero"),
    (single(start=[1.0, 0.0]), r"HMM 1: transmat must have shape \(2, 2\)"),
    (single(covar=(1.0,)), "HMM 1: covars must have shape"),
    (single(kind="tied"), "HMM 1: covariance_type must be one of"),
]


@pytest.mark.parametrize(("hmm", "words"), WRONG)
def test_errors_name_the_hmm(hmm, words):
    with pytest.raises(ValueError, match=words):
        HMMClustering(1).fit([gaussian(), hmm])


def test_full_covariances_are_checked():
    negative = single(mean=PAIR, covar=(((1.0, 2.0), (2.0, 1.0)),), kind="full")
    skew = single(mean=PAIR, covar=(((1.0, 0.5), (0.0, 1.0)),), kind="full")
    with pytest.raises(ValueError, match=r"HMM 0: .*negative eigenvalue, -1"):
        HMMClustering(1).fit([negative])
    with pytest.raises(ValueError, match=r"HMM 0: .*not symmetric"):
        HMMClustering(1).fit([skew])
    with pytest.raises(ValueError, match="empty list"):
        HMMClustering(1).fit([])


def test_probabilities_that_do_not_add_up_are_scaled_with_a_warning():
    off = HMMParams([2.0], [[1.0]], [[1.0]], [[[0.0]]], [[[1.0]]])
    with pytest.warns(UserWarning, match="HMM 1: startprob adds up to 2"):
        HMMClustering(1, n_init=1).fit([gaussian(), off])
    absorbing = HMMParams(
        [1, 0], [[0, 1], [0, 0]], [[1], [1]], [[[0.0]], [[1.0]]], [[[1.0]], [[1.0]]]
    )
    with pytest.warns(UserWarning, match="HMM 0: row 1 of transmat is zero"):
        HMMClustering(1, n_init=1, tau=2).fit([absorbing])


def test_weights_are_checked():
    hmms = [gaussian(), gaussian(3.0)]
    with pytest.raises(ValueError, match=r"not negative, got -1.0 for HMM 1"):
        HMMClustering(1).fit(hmms, [1.0, -1.0])
    with pytest.raises(ValueError, match=r"one entry an HMM \(2\)"):
        HMMClustering(1).fit(hmms, [1.0])
    with pytest.raises(ValueError, match="adds up to zero"):
        HMMClustering(1).fit(hmms, [0.0, 0.0])
    scaled = [
        HMMClustering(1, n_init=1, random_state=0).fit(hmms, w) for w in ([1, 3], [0.25, 0.75])
    ]
    np.testing.assert_array_equal(
        scaled[0].cluster_hmms_[0].means, scaled[1].cluster_hmms_[0].means
    )


def test_numbers_of_clusters_are_checked():
    hmms = [gaussian(), gaussian(5.0)]
    with pytest.raises(ValueError, match="n_clusters=3 is more than the 2 HMMs"):
        HMMClustering(3).fit(hmms)
    assert len(set(HMMClustering(2, random_state=0).fit(hmms).labels_)) == 2
    with pytest.raises(ValueError, match="n_clusters=8 is more than the 2 HMMs"):
        HierarchicalHMMClustering().fit(hmms)
    with pytest.raises(ValueError, match="must fall from level to level"):
        HierarchicalHMMClustering((1, 2)).fit(hmms)
    with pytest.raises(ValueError, match=r"init must be 2 HMMs of 1 states.*got 1"):
        HMMClustering(2, init=[gaussian()]).fit(hmms)
    with pytest.raises(ValueError, match="2 features against 1"):
        HMMClustering(1).fit(hmms).predict([random_hmm(np.random.default_rng(0))])


def test_length_one_keeps_transitions_and_says_so():
    rng = np.random.default_rng(23)
    hmms = [random_hmm(rng, 2) for _ in range(3)]
    init = [random_hmm(rng, 2)]
    with pytest.warns(UserWarning, match="tau=1"):
        model = HMMClustering(1, tau=1, init=init).fit(hmms)
    np.testing.assert_allclose(model.cluster_hmms_[0].transmat, init[0].transmat)


def test_left_to_right_models_shorter_than_tau_are_pointed_out():
    rng = np.random.default_rng(24)
    sequences = [rng.normal(size=(4, 1)) for _ in range(3)]
    chains = [chain_of(x) for x in sequences]
    with pytest.warns(UserWarning, match="HMM 0 runs from left to right through 4 states"):
        HMMClustering(1, n_states=2, tau=10, n_init=1, random_state=0).fit(chains)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        HMMClustering(1, n_states=2, tau=4, n_init=1, random_state=0).fit(chains)


def test_too_few_iterations_warn_with_the_rise():
    rng = np.random.default_rng(25)
    hmms = [random_hmm(rng, 3, spread=0.5) for _ in range(8)]
    with pytest.warns(ConvergenceWarning, match=r"did not converge in 1 iterations.*tol=1e-12"):
        HMMClustering(2, max_iter=1, tol=1e-12, n_init=1, random_state=0).fit(hmms)


def test_a_collapse_without_regularisation_says_what_to_do():
    point = HMMParams([1], [[1]], [[1]], [[[0.0]]], [[[0.0]]])
    with pytest.raises(ValueError, match=r"became singular.*raise reg_covar"):
        HMMClustering(1, reg_covar=0, n_init=2, tau=1).fit([point, point])
    fine = HMMClustering(1, tau=1, n_init=1).fit([point, point])
    np.testing.assert_allclose(fine.cluster_hmms_[0].covars, 1e-6)


def test_fitted_hmmlearn_models_go_in_and_come_out():
    X, _ = make_hmm_sequences("variances", n_per_class=2, random_state=0)
    models = [GaussianHMM(2, n_iter=5, random_state=0).fit(x) for x in X]
    model = HMMClustering(2, n_init=1, random_state=0).fit(models)
    back = model.cluster_hmms_[0].to_hmmlearn()
    ours = model.cluster_hmms_[0].score_samples([X[0]])[0]
    assert back.score(X[0]) == pytest.approx(ours, rel=1e-9)
