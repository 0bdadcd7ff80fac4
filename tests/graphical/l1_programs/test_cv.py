"""CLIMECV against the same choice made by hand."""

import numpy as np
import pytest
from sklearn.covariance import empirical_covariance
from sklearn.model_selection import KFold

from octavo.graphical import CLIME, CLIMECV, make_sparse_precision

LAMBDAS = [0.5, 0.3, 0.2, 0.1, 0.05]


def sample(d=10, n=120, seed=0):
    return make_sparse_precision(d, n, graph="band", random_state=seed)


def gaussian_loss(precision, S):
    sign, logdet = np.linalg.slogdet(precision)
    return np.trace(S @ precision) - logdet if np.linalg.eigvalsh(precision)[0] > 0 else np.inf


def trace_loss(precision, S):
    return sum(((S @ precision)[i, i] - 1.0) ** 2 for i in range(len(S)))


@pytest.mark.parametrize(
    ("loss", "by_hand"), [("likelihood", gaussian_loss), ("trace", trace_loss)]
)
def test_losses_are_those_of_single_fits(loss, by_hand):
    X = sample().X
    folds = KFold(3, shuffle=True, random_state=0)
    model = CLIMECV(LAMBDAS, cv=folds, loss=loss).fit(X)
    expected = np.empty((3, 5))
    for k, (train, test) in enumerate(folds.split(X)):
        for a, alpha in enumerate(LAMBDAS):
            fit = CLIME(alpha=alpha).fit(X[train])
            S = empirical_covariance(X[test] - X[train].mean(axis=0), assume_centered=True)
            expected[k, a] = by_hand(fit.precision_, S)
    np.testing.assert_array_equal(model.alphas_, LAMBDAS)
    for k in range(3):
        np.testing.assert_allclose(model.cv_results_[f"split{k}_test_loss"], expected[k], rtol=1e-9)
    np.testing.assert_allclose(model.cv_results_["mean_test_loss"], expected.mean(axis=0))
    np.testing.assert_allclose(model.cv_results_["std_test_loss"], expected.std(axis=0))
    assert model.alpha_ == LAMBDAS[int(np.argmin(expected.mean(axis=0)))]
    refit = CLIME(alpha=model.alpha_).fit(X)
    np.testing.assert_allclose(model.precision_, refit.precision_, atol=1e-12)
    assert np.abs(model.duality_gap_).max() < 1e-10


@pytest.mark.parametrize("gamma", [0.0, 0.5, 1.0])
def test_ebic_is_its_formula(gamma):
    X = sample().X
    n, d = X.shape
    model = CLIMECV(LAMBDAS, selection="ebic", ebic_gamma=gamma).fit(X)
    S = empirical_covariance(X)
    expected = []
    for alpha in LAMBDAS:
        fit = CLIME(alpha=alpha).fit(X)
        n_edges = np.triu(fit.adjacency_).sum()
        likelihood = n / 2 * (np.linalg.slogdet(fit.precision_)[1] - np.trace(S @ fit.precision_))
        expected.append(-2 * likelihood + n_edges * (np.log(n) + 4 * gamma * np.log(d)))
    np.testing.assert_allclose(model.cv_results_["ebic"], expected, rtol=1e-9)
    assert model.alpha_ == LAMBDAS[int(np.argmin(expected))]


def test_a_larger_gamma_never_gives_a_denser_graph():
    X = sample(n=60).X
    counts = [
        CLIMECV(selection="ebic", ebic_gamma=gamma).fit(X).adjacency_.sum() for gamma in (0, 0.5, 2)
    ]
    assert counts == sorted(counts, reverse=True)


def test_stars_is_the_instability_of_single_fits():
    X = sample(n=100).X
    model = CLIMECV(
        LAMBDAS, selection="stars", stars_n_subsamples=6, stars_threshold=0.2, random_state=5
    ).fit(X)
    rng = np.random.RandomState(5)
    draws = [rng.choice(100, 80, replace=False) for _ in range(6)]
    expected = []
    for alpha in LAMBDAS:
        share = np.mean([CLIME(alpha=alpha).fit(X[rows]).adjacency_ for rows in draws], axis=0)
        instability = 2 * share * (1 - share)
        expected.append(instability[np.triu_indices(10, 1)].mean())
    np.testing.assert_allclose(model.cv_results_["instability"], expected, atol=1e-12)
    stable = np.maximum.accumulate(expected) <= 0.2
    assert stable.any()
    assert not stable.all()
    assert model.alpha_ == np.array(LAMBDAS)[stable][-1]


def test_selection_misses_no_edge():
    """StARS is made to overselect: its graph contains the true one (Liu et al., theorem 2)."""
    truth = sample(d=30, n=1500)
    for selection in ("ebic", "stars"):
        model = CLIMECV(selection=selection, random_state=0).fit(truth.X)
        assert not (truth.adjacency & ~model.adjacency_).any()
        assert not model.adjacency_.all()


def test_default_grid_starts_at_the_empty_graph():
    X = sample().X
    model = CLIMECV(7).fit(X)
    assert len(model.alphas_) == 7
    assert (np.diff(model.alphas_) < 0).all()
    assert not CLIME(alpha=model.alphas_[0] * 1.0001).fit(X).adjacency_.any()
    denser = CLIME(alpha=model.alphas_[0] * 0.99, symmetrize="max").fit(X)
    assert denser.adjacency_.any()


def test_lam_that_is_infeasible_in_a_fold_is_not_chosen():
    X = sample(d=24, n=20).X
    model = CLIMECV([0.6, 0.5, 0.4, 0.001], loss="trace", cv=4).fit(X)
    assert np.isinf(model.cv_results_["mean_test_loss"][-1])
    assert model.alpha_ > 0.001


def test_nothing_feasible_is_an_error():
    X = sample(d=24, n=14).X
    with pytest.raises(ValueError, match=r"No alpha between 0\.001 and 0\.01"):
        CLIMECV([0.01, 0.001], cv=4).fit(X)
    with pytest.raises(ValueError, match="No alpha gives an instability of at most"):
        CLIMECV([0.01], selection="stars").fit(X)


def test_bad_lambdas_are_named():
    with pytest.raises(ValueError, match="list of values >= 0"):
        CLIMECV([0.1, -0.1]).fit(sample().X)
