import numpy as np
import pytest
from scipy import stats

from octavo.engine.mcmc.diagnostics import monte_carlo_error
from octavo.kernel.sparse_bayes.kernel_sources import FixedKernel
from octavo.kernel.sparse_bayes.latent_scores import (
    class_contrasts,
    draw_scores,
    starting_scores,
)
from octavo.kernel.sparse_bayes.sampler import FullModel, Priors
from tests.kernel.sparse_bayes.problems import dense_covariance, small_kernel, sparse_model


@pytest.mark.parametrize("c", [2, 3, 5])
def test_contrasts_are_an_orthonormal_basis_of_sums_of_zero(c):
    D = class_contrasts(c)
    np.testing.assert_allclose(D.T @ D, np.eye(c - 1), atol=1e-14)
    np.testing.assert_allclose(D @ D.T, np.eye(c) - 1 / c, atol=1e-14)
    if c == 2:
        assert D[1, 0] > 0


@pytest.mark.parametrize("c", [2, 4])
def test_scores_start_where_the_labels_are(c):
    codes = np.random.default_rng(0).integers(0, c, 50)
    S = starting_scores(codes, class_contrasts(c), np.random.default_rng(1))
    np.testing.assert_array_equal((S @ class_contrasts(c).T).argmax(axis=1), codes)


def rejection_draws(Q, codes, D, n_draws, rng):
    """Draw scores from N(0, Q ⊗ I) and keep those that have the labels."""
    root, kept = np.linalg.cholesky(Q), []
    while sum(len(part) for part in kept) < n_draws:
        T = np.einsum("ij,bjk->bik", root, rng.standard_normal((20_000, len(Q), D.shape[1])))
        agree = np.all((T @ D.T).argmax(axis=2) == codes, axis=1)
        kept.append(T[agree])
    return np.concatenate(kept)[:n_draws]


@pytest.mark.parametrize("form", ["sparse", "full"])
@pytest.mark.parametrize("codes", [[0, 1, 1], [2, 0, 1]])
@pytest.mark.slow
def test_scores_have_the_law_of_a_truncated_normal(form, codes):
    """Means and covariances beside plain rejection; four standard errors."""
    codes = np.array(codes)
    D = class_contrasts(codes.max() + 1)
    _, K = small_kernel(3, seed=2)
    rng = np.random.default_rng(0)
    S = starting_scores(codes, D, rng)
    if form == "sparse":
        model = sparse_model(K, S, chosen=[2, 0])
        mask = np.array([True, False, True])
    else:
        model = FullModel(FixedKernel(K), S, Priors())
        mask = np.ones(3, dtype=bool)
    model.g, model.eta = 0.4, 0.6
    exact = rejection_draws(dense_covariance(K, mask, 0.4, 0.6), codes, D, 20_000, rng)
    draws = np.empty((40_000, *S.shape))
    model.refresh()
    for draw in draws:
        model.draw_scores(rng, codes, D)
        draw[:] = model.S
    assert np.all((draws @ D.T).argmax(axis=2) == codes)
    for power in (1, 2):
        error = np.hypot(
            monte_carlo_error(draws[None] ** power), (exact**power).std(axis=0) / np.sqrt(20_000)
        )
        gap = (draws**power).mean(axis=0) - (exact**power).mean(axis=0)
        assert np.abs(gap / error).max() < 4.5


def test_the_conditional_is_that_of_the_textbook():
    """Precision 1 - H_ii, mean s_i - (Q⁻¹s)_i / (1 - H_ii)."""
    _, K = small_kernel(4, seed=3)
    Q = dense_covariance(K, np.array([1, 0, 1, 1], dtype=bool), 0.4, 0.6)
    inverse = np.linalg.inv(Q)
    s = np.array([0.3, -1.0, 0.5, 2.0])
    mean = s[0] - (inverse @ s)[0] / inverse[0, 0]
    rest = np.linalg.solve(Q[1:, 1:], Q[1:, 0])
    assert mean == pytest.approx(rest @ s[1:])
    W = np.linalg.cholesky(np.eye(4) - inverse + 1e-14 * np.eye(4))
    codes, D = np.array([1, 0, 1, 1]), class_contrasts(2)
    draws = []
    for seed in range(20_000):
        S = s[:, None].copy()
        draw_scores(np.random.default_rng(seed), W[:1], W.T @ S, S[:1], codes[:1], D)
        draws.append(S[0, 0])
    sd = 1 / np.sqrt(inverse[0, 0])
    law = stats.truncnorm(-mean / sd, np.inf, mean, sd)
    assert stats.kstest(draws, law.cdf).pvalue > 1e-6


def test_far_tails_stay_finite():
    """A label that its score contradicts by a hundred standard deviations."""
    W, codes, D = np.zeros((1, 1)), np.array([1]), class_contrasts(2)
    W[0, 0] = np.sqrt(1 - 1e-12)
    S = np.array([[1e-3]])
    draw_scores(np.random.default_rng(0), W, np.array([[-1e4]]), S, codes, D)
    # The law beyond zero has mean 1e-4; sums of 1e14 leave a multiple of their last bit, 1/64.
    assert 0.0 <= S[0, 0] <= 4 / 64
