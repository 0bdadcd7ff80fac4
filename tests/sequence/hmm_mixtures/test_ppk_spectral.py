"""The probability product kernel against enumeration, quadrature, sampling and message passing."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate
from scipy.stats import norm
from sklearn.metrics import rand_score

from octavo.engine.chains.inference import log_partition
from octavo.sequence import HMMParams, PPKSpectralClustering, hmm_ppk, ppk_compactness
from octavo.sequence.hmm.bank import pack_hmms
from octavo.sequence.hmm_mixtures.ppk_spectral import log_ppk
from tests.sequence.hmm_mixtures.test_clustering import groups_of_hmms
from tests.sequence.models import permuted, random_hmm


def density(hmm, s, m, y):
    return norm.pdf(y, hmm.means[s, m, 0], np.sqrt(hmm.covars[s, m, 0]))


def state_kernel(p, q, lam):
    """ψ(β, ρ) = Σ (c c')^λ ∫ (N N')^λ by quadrature, in one dimension."""
    out = np.zeros((p.n_states, q.n_states))
    for b, r in np.ndindex(out.shape):
        for m, l in itertools.product(range(p.n_mix), range(q.n_mix)):
            value, _ = integrate.quad(
                lambda y, a=(b, m), c=(r, l): (density(p, *a, y) * density(q, *c, y)) ** lam,
                -60,
                60,
                limit=200,
            )
            out[b, r] += (p.weights[b, m] * q.weights[r, l]) ** lam * value
    return out


def path_probability(hmm, path):
    steps = [hmm.transmat[a, b] for a, b in itertools.pairwise(path)]
    return hmm.startprob[path[0]] * np.prod(steps)


@pytest.mark.parametrize("lam", [0.3, 0.5, 1.0])
def test_kernel_equals_enumeration_over_all_paths(lam):
    rng = np.random.default_rng(0)
    p, q, tau = random_hmm(rng, 2, 2, 1), random_hmm(rng, 3, 1, 1), 3
    psi = state_kernel(p, q, lam)
    expected = sum(
        (path_probability(p, beta) * path_probability(q, rho)) ** lam
        * np.prod([psi[b, r] for b, r in zip(beta, rho)])
        for beta in itertools.product(range(2), repeat=tau)
        for rho in itertools.product(range(3), repeat=tau)
    )
    found = log_ppk(pack_hmms([p]), pack_hmms([q]), lam, tau)[0, 0]
    np.testing.assert_allclose(found, np.log(expected), atol=1e-7)


def test_power_one_is_the_expected_likelihood():
    """∫ p q by sampling from p, at four standard errors."""
    rng = np.random.default_rng(1)
    p, q = random_hmm(rng, 2, 2, 1, spread=1.0), random_hmm(rng, 3, 1, 1, spread=1.0)
    likelihood = np.exp(q.score_samples(p.sample(40_000, 2, random_state=0)))
    kernel = hmm_ppk([p, q], lam=1.0, tau=2, normalize=False)[0, 1]
    assert abs(kernel - likelihood.mean()) < 4 * likelihood.std() / 200


def test_kernel_is_the_partition_function_of_pairs_of_states():
    rng = np.random.default_rng(2)
    p, q, lam, tau = random_hmm(rng, 3, 2, 2, "full"), random_hmm(rng, 2, 1, 2, "full"), 0.5, 6
    from octavo.sequence.hmm_mixtures.ppk_spectral import _log_states

    nodes = _log_states(pack_hmms([p]), pack_hmms([q]), lam)[0, 0].ravel()
    start = lam * np.log(np.outer(p.startprob, q.startprob)).ravel()
    trans = lam * np.log(np.kron(p.transmat, q.transmat))
    expected = log_partition(start, trans, np.tile(nodes, (tau, 1)))[0]
    found = log_ppk(pack_hmms([p]), pack_hmms([q]), lam, tau)[0, 0]
    np.testing.assert_allclose(found, expected, rtol=1e-11)


@settings(max_examples=20, deadline=None)
@given(
    st.integers(0, 10_000),
    st.sampled_from([0.3, 0.5, 1.0]),
    st.sampled_from(["diag", "full", "spherical", "discrete"]),
)
def test_kernel_is_symmetric_positive_and_blind_to_the_order_of_states(seed, lam, kind):
    rng = np.random.default_rng(seed)
    hmms = [random_hmm(rng, int(rng.integers(1, 4)), 2, 3, kind) for _ in range(6)]
    kernel = hmm_ppk(hmms, lam=lam, tau=4)
    np.testing.assert_allclose(np.diag(kernel), 1.0)
    np.testing.assert_array_equal(kernel, kernel.T)
    assert np.linalg.eigvalsh(kernel)[0] > -1e-12
    moved = hmm_ppk([permuted(h, rng.permutation(h.n_states)) for h in hmms], lam=lam, tau=4)
    np.testing.assert_allclose(moved, kernel, atol=1e-12)


def test_bhattacharyya_affinity_of_gaussians():
    one, other = (HMMParams([1], [[1]], [[1]], [[[m]]], [[[1.0]]]) for m in (0.0, 2.0))
    np.testing.assert_allclose(hmm_ppk([one, other], tau=3)[0, 1], np.exp(-3 * 4 / 8))


def test_models_without_a_sequence_in_common_have_no_affinity():
    p = HMMParams([1, 0], [[0, 1], [0, 1]], [[1, 0], [0, 1]])
    q = HMMParams([1], [[1]], [[1, 0]])
    np.testing.assert_array_equal(hmm_ppk([p, q], tau=2), np.eye(2))


def test_clusters_centres_and_extension():
    rng = np.random.default_rng(3)
    hmms, groups = groups_of_hmms(rng)
    for centers in ("medoid", "hybrid"):
        model = PPKSpectralClustering(3, centers=centers, random_state=0).fit(hmms)
        assert rand_score(groups, model.labels_) == 1.0
        np.testing.assert_allclose(model.weights_, 1 / 3)
        np.testing.assert_allclose(model.transform(hmms), model.embedding_, atol=1e-9)
        np.testing.assert_array_equal(model.predict(hmms), model.labels_)
        for c, centre in enumerate(model.cluster_hmms_):
            members = [h for h, label in zip(hmms, model.labels_) if label == c]
            assert any(np.allclose(centre.means, h.means) for h in members) == (centers == "medoid")


def test_a_hierarchy_groups_clusters():
    rng = np.random.default_rng(4)
    hmms, groups = groups_of_hmms(rng)
    model = PPKSpectralClustering((3, 2, 1), random_state=0).fit(hmms)
    assert rand_score(groups, model.levels_[0].labels) == 1.0
    for below, above in itertools.pairwise(model.levels_):
        np.testing.assert_array_equal(above.labels, above.parents[below.labels])
    np.testing.assert_array_equal(model.predict(hmms, level=1), model.levels_[1].labels)
    np.testing.assert_array_equal(model.predict(hmms, level=-1), 0)


def test_compactness_is_the_sum_of_means_within_clusters():
    kernel = np.random.default_rng(5).uniform(size=(5, 5))
    labels = np.array([0, 1, 0, 1, 1])
    expected = sum(
        np.mean([kernel[i, j] for i in range(5) for j in range(5) if labels[i] == labels[j] == c])
        for c in (0, 1)
    )
    np.testing.assert_allclose(ppk_compactness(kernel, labels), expected)


def test_bad_input():
    good = HMMParams([1], [[1]], [[1]], [[[0.0]]], [[[1.0]]])
    flat = HMMParams([1], [[1]], [[1]], [[[0.0]]], [[[0.0]]])
    with pytest.raises(ValueError, match=r"HMM 1: .*singular"):
        hmm_ppk([good, flat])
    with pytest.raises(ValueError, match="lam must be a positive number, got -1"):
        hmm_ppk([good], lam=-1)
    with pytest.raises(ValueError, match="n_clusters=3 is more than the 2 HMMs"):
        PPKSpectralClustering(3).fit([good, good])
    with pytest.raises(ValueError, match="kernel must be 2 x 2"):
        ppk_compactness([[1.0]], [0, 1])
