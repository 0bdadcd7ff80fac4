import numpy as np
import pytest
from scipy import stats
from scipy.special import betaln

from octavo.engine.mcmc.enumeration import all_subsets, exact_law, frequencies, total_variation
from octavo.kernel.sparse_bayes.kernel_sources import FixedKernel, WidthKernel, rbf_block
from octavo.kernel.sparse_bayes.sampler import FullModel, Priors, SparseModel
from tests.kernel.sparse_bayes.problems import dense_covariance, small_kernel, sparse_model

G, ETA = 0.8, 0.5


@pytest.mark.parametrize("chosen", [[], [3], [4, 0, 6, 2], range(8)])
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_log_marginal_is_the_normal_density(chosen, n_outputs):
    """Eq. (11) beside the dense covariance."""
    _, K = small_kernel(8)
    S = np.random.default_rng(1).normal(size=(8, n_outputs))
    model = sparse_model(K, S, chosen=list(chosen), tau=1.7)
    model.g, model.eta = G, ETA
    model.refresh()
    mask = np.isin(np.arange(8), list(chosen))
    law = stats.multivariate_normal(np.zeros(8), dense_covariance(K, mask, G, ETA, 1.7))
    assert model.log_marginal() == pytest.approx(law.logpdf(S.T).sum(), rel=1e-9)


def test_the_full_model_is_that_of_all_samples():
    _, K = small_kernel(8)
    S = np.random.default_rng(1).normal(size=(8, 2))
    full = FullModel(FixedKernel(K), S, Priors(), tau=1.7)
    full.g, full.eta = G, ETA
    dense = np.eye(8) / 1.7 + np.ones((8, 8)) / ETA + K / G
    law = stats.multivariate_normal(np.zeros(8), dense)
    assert full.log_marginal() == pytest.approx(law.logpdf(S.T).sum(), rel=1e-10)


def factors_from_scratch(model, K):
    fresh = sparse_model(K, model.S, chosen=model.indices, k_max=model.k_max)
    fresh.g, fresh.eta, fresh.tau = model.g, model.eta, model.tau
    fresh.refresh()
    return fresh.active


@pytest.mark.parametrize("source", ["matrix", "widths"])
def test_factors_after_ten_thousand_moves_are_those_made_anew(source):
    X, K = small_kernel(60, d=3)
    S = np.random.default_rng(2).normal(size=(60, 2)) * 2
    kernel = FixedKernel(K) if source == "matrix" else WidthKernel(X, 1.5, ard=False)
    model = SparseModel(kernel, S, Priors(), k_max=40, chosen=np.arange(5))
    model.g, model.eta = 0.5, 0.3
    model.refresh()
    model.move_active(np.random.default_rng(3), 10_000)
    assert np.all(model.accepted[:3] > 100)
    k, fresh = model.k, factors_from_scratch(model, K)
    for name, size in (("upsilon", k + 1), ("factor", k), ("products", k + 1), ("gram", k)):
        np.testing.assert_allclose(
            getattr(model.active, name)[:size, :size],
            getattr(fresh, name)[:size, :size],
            atol=1e-8,
        )
    np.testing.assert_allclose(model.active.targets[: k + 1], fresh.targets[: k + 1], atol=1e-7)
    np.testing.assert_allclose(model.active.rows[: k + 1], fresh.rows[: k + 1], atol=1e-12)
    assert sorted(model.active.members) == list(range(60))


@pytest.mark.parametrize("jump", [True, False])
@pytest.mark.parametrize("k_max", [5, 2])
@pytest.mark.slow
def test_active_sets_come_as_often_as_enumeration_says(jump, k_max):
    """Scores observed: the marginal likelihood of every set is in closed form.

    The scores are small, so that no set is an island: 40,000 moves are worth some 5,000 draws
    (with scores twice as large and two vectors at most they are worth 90), which leaves a total
    variation of about 0.013.
    """
    _, K = small_kernel(5, seed=4)
    S = np.random.default_rng(5).normal(size=(5, 2))
    model = sparse_model(K, S, k_max=k_max, jump=jump, priors=Priors(a_alpha=1.5, b_alpha=2.0))
    model.g, model.eta = G, ETA
    model.refresh()

    def log_post(mask):
        law = stats.multivariate_normal(np.zeros(5), dense_covariance(K, mask, G, ETA))
        return law.logpdf(S.T).sum() + betaln(mask.sum() + 1.5, 5 - mask.sum() + 2.0)

    states = all_subsets(5, k_max)
    rng, seen = np.random.default_rng(6), np.zeros((40_000, 5), dtype=bool)
    for draw in seen:
        model.move_active(rng, 1)
        draw[model.indices] = True
    assert total_variation(frequencies(seen, states), exact_law(log_post, states)) < 0.03


def test_a_copy_of_an_active_vector_does_no_harm():
    X = np.repeat(np.random.default_rng(0).normal(size=(10, 2)), 3, axis=0)
    kernel = WidthKernel(X, 1.0, ard=False)
    S = np.random.default_rng(1).normal(size=(30, 1))
    model = SparseModel(kernel, S, Priors(), k_max=30, chosen=np.arange(3))
    model.move_active(np.random.default_rng(2), 3000)
    K = rbf_block(X, X, np.array([1.0]))
    law = stats.multivariate_normal(
        np.zeros(30), dense_covariance(K, np.isin(np.arange(30), model.indices), model.g, model.eta)
    )
    # the jitter of the Gram matrix, by which copies differ, is known to some digits only
    assert model.log_marginal() == pytest.approx(law.logpdf(S[:, 0]), abs=1e-3)
    assert len(np.unique(X[model.indices], axis=0)) < model.k  # copies were let in
