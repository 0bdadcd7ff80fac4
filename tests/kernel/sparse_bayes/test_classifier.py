import warnings

import numpy as np
import pytest
from scipy.special import ndtr
from sklearn.datasets import make_blobs, make_moons
from sklearn.exceptions import ConvergenceWarning

from octavo.kernel import SparseBayesKernelClassifier
from octavo.kernel.sparse_bayes.kernel_sources import mean_distance, rbf_block
from octavo.kernel.sparse_bayes.latent_scores import class_contrasts
from octavo.kernel.sparse_bayes.predictive import class_probabilities

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def model(**options):
    settings = {"n_iter": 600, "burn_in": 200, "thin": 2, "k_max": 20, "random_state": 0}
    return SparseBayesKernelClassifier(**settings | options)


@pytest.fixture(scope="module")
def moons():
    return make_moons(60, noise=0.2, random_state=0)


def elliptical_slice(y, K, n_draws, rng):
    """Draw the latent function of a probit Gaussian process: a sampler that shares no code."""
    L = np.linalg.cholesky(K + 1e-10 * np.eye(len(K)))
    sign, f = 2.0 * y - 1.0, np.zeros(len(y))

    def log_lik(f):
        return np.log(ndtr(sign * f)).sum()

    value, draws = log_lik(f), []
    for _ in range(n_draws):
        nu, bar = L @ rng.standard_normal(len(y)), value + np.log(rng.random())
        angle = rng.uniform(0, 2 * np.pi)
        low, high = angle - 2 * np.pi, angle
        while True:
            proposal = f * np.cos(angle) + nu * np.sin(angle)
            value = log_lik(proposal)
            if value > bar:
                break
            low, high = (angle, high) if angle < 0 else (low, angle)
            angle = rng.uniform(low, high)
        f = proposal
        draws.append(f)
    return np.array(draws)


@pytest.mark.parametrize(
    "form", ["bgkm", *(pytest.param(f, marks=pytest.mark.slow) for f in ("fbgkm", "sgpc"))]
)
def test_all_samples_active_is_a_probit_gaussian_process(form):
    """Covariance K/g + 11'/η with g and η held by their priors; sparse forms by p(γ)."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(15, 2))
    y = (X[:, 0] + 0.5 * rng.normal(size=15) > 0).astype(int)
    K = rbf_block(X, X, np.array([1.5]))
    K = K + 1e-3 * np.eye(15)
    draws = elliptical_slice(y, K / 0.5 + 1 / 0.8, 40_000, rng)[2_000:]
    exact = ndtr(draws).mean(axis=0)
    held = {"a_g": 1e9, "b_g": 2e9, "a_eta": 1e9, "b_eta": 1.25e9}
    all_in = {} if form == "bgkm" else {"a_alpha": 1e9, "b_alpha": 1e-3, "n_moves": 15}
    fitted = model(
        model=form, kernel="precomputed", k_max=15, n_iter=12_000, burn_in=1_000, **held, **all_in
    ).fit(K, y)
    assert np.all(fitted.traces_["n_active"][1_000:] == 15)
    np.testing.assert_allclose(fitted.predict_proba(K)[:, 1], exact, atol=0.01)


@pytest.mark.slow
def test_swapping_the_classes_swaps_the_probabilities(moons):
    """The same law, other draws: both are within Monte Carlo error of each other."""
    X, y = moons
    options = {"n_iter": 3_000, "burn_in": 500, "n_chains": 2}
    one = model(**options).fit(X, y).predict_proba(X)
    two = model(**options).fit(X, 1 - y).predict_proba(X)
    np.testing.assert_allclose(one, two[:, ::-1], atol=0.08)


@pytest.mark.slow
def test_the_order_of_rows_does_not_matter_but_for_chance(moons):
    X, y = moons
    order = np.random.default_rng(0).permutation(len(y))
    options = {"n_iter": 3_000, "burn_in": 500, "n_chains": 2}
    one = model(**options).fit(X, y).predict_proba(X)
    two = model(**options).fit(X[order], y[order]).predict_proba(X)
    np.testing.assert_allclose(one, two, atol=0.08)


def test_far_from_the_data_only_the_intercept_speaks(moons):
    X, y = moons
    fitted = model().fit(X, y)
    intercepts = np.array([u for _, _, u in fitted.draws_])
    far = fitted.predict_proba([[1e4, -1e4]])[0, 1]
    assert far == pytest.approx(ndtr(intercepts).mean(), abs=1e-12)


def test_draws_predict_what_predict_proba_says(moons):
    X, y = moons
    fitted = model(n_chains=2).fit(X, y)
    K = rbf_block(X, X, np.array([fitted.width_]))
    by_hand = [ndtr(u + K[:, index] @ beta) for index, beta, u in fitted.draws_]
    np.testing.assert_allclose(fitted.predict_proba(X)[:, 1], np.mean(by_hand, axis=0), atol=1e-10)
    interval = fitted.predict_interval(X, [0.1, 0.9])
    np.testing.assert_allclose(interval, np.quantile(by_hand, [0.1, 0.9], axis=0).T, atol=1e-10)
    inside = [np.isin(np.arange(60), index) for index, *_ in fitted.draws_]
    np.testing.assert_allclose(fitted.inclusion_probs_, np.mean(inside, axis=0))
    assert len(fitted.draws_) == 2 * 200


def test_the_process_variance_is_that_of_section_4_2(moons):
    """In n_γ unknowns beside the formulas with M_γ = I + K_γ (g K_γγ)⁻¹ K_γ' as printed."""
    X, y = moons
    fitted = model(model="sgpc", n_iter=210, burn_in=200, thin=10).fit(X, y)
    (draw,) = fitted._draws
    K = rbf_block(X, X, np.array([fitted.width_]))
    index, g = draw.indices, draw.g
    rows, gram = K[:, index], K[np.ix_(index, index)] + 1e-8 * np.eye(len(index))
    new = np.array([[0.3, 0.2], [2.0, -1.0]])
    k = rbf_block(new, X[index], np.array([fitted.width_]))
    P = np.linalg.solve(gram, rows.T)
    M = np.eye(60) + rows @ P / g
    variance = 1 + np.einsum("ij,ji->i", k, np.linalg.solve(gram, k.T)) / g
    variance -= np.einsum("ij,ji->i", k @ P, np.linalg.solve(M, (k @ P).T)) / g**2
    (_, scores, variances), *_ = fitted._scores(new)
    np.testing.assert_allclose(variances[:, 0], variance, rtol=1e-6)
    expected = ndtr(scores[:, 0, 0] / np.sqrt(variance))
    np.testing.assert_allclose(fitted.predict_proba(new)[:, 1], expected, rtol=1e-6)


@pytest.mark.parametrize("form", ["fbgkm", "sgpc", "bgkm"])
def test_many_classes(form):
    X, y = make_blobs(90, centers=4, cluster_std=0.8, random_state=1)
    names = np.array(["d", "a", "c", "b"])[y]
    fitted = model(model=form).fit(X, names)
    P = fitted.predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    assert fitted.score(X, names) > 0.9
    assert fitted.predict_interval(X, 0.5).shape == (90, 4, 1)


def test_probabilities_of_three_classes_are_those_of_simulation():
    scores, D = np.array([[0.4, -1.1], [2.0, 0.3]]), class_contrasts(3)
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((400_000, 2))
    for row, P in zip(scores, class_probabilities(scores, D)):
        winners = ((row + noise) @ D.T).argmax(axis=1)
        np.testing.assert_allclose(P, np.bincount(winners, minlength=3) / 400_000, atol=4e-3)


def test_two_classes_by_quadrature_and_in_closed_form():
    scores = np.linspace(-3, 3, 7)[:, None]
    P = class_probabilities(scores, class_contrasts(2))
    np.testing.assert_allclose(P[:, 1], ndtr(scores[:, 0]))


def test_relevance_finds_the_feature_that_matters():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    y = (np.sin(2 * X[:, 1]) + 0.1 * rng.normal(size=100) > 0).astype(int)
    fitted = model(ard=True, n_iter=1500, burn_in=700).fit(X, y)
    assert fitted.relevance_.argmax() == 1
    assert fitted.relevance_[1] > 5 * np.delete(fitted.relevance_, 1).max()
    assert fitted.traces_["width"].shape == (1500, 3)
    assert 0.1 < fitted.acceptance_["width"] < 0.9


def test_a_sampled_width_varies_and_predicts(moons):
    X, y = moons
    fitted = model(sample_width=True).fit(X, y)
    assert np.std(fitted.traces_["width"]) > 0
    assert fitted.score(X, y) > 0.85
    fixed = model(width=0.7).fit(X, y)
    assert fixed.width_ == 0.7
    assert model().fit(X, y).width_ == pytest.approx(mean_distance(X))


@pytest.mark.parametrize("form", ["fbgkm", "sgpc", "bgkm"])
def test_several_kernels_are_weighted(form):
    """One kernel sees what matters, the other only noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 6))
    y = (X[:, 0] ** 2 + 0.1 * rng.normal(size=80) > 0.5).astype(int)
    kernels = [
        ("signal", "rbf", {"gamma": 1.0, "columns": [0]}),
        ("noise", "rbf", {"gamma": 0.2, "columns": [1, 2, 3, 4, 5]}),
    ]
    fitted = model(model=form, kernels=kernels, n_iter=800, burn_in=400).fit(X, y)
    assert fitted.kernel_probs_[0] > 0.95
    assert fitted.weights_[0] > fitted.weights_[1]
    assert fitted.score(X, y) > 0.9


@pytest.mark.slow
def test_search_and_jump_agree(moons):
    X, y = moons
    options = {"n_iter": 3_000, "burn_in": 500, "n_chains": 2}
    one = model(**options).fit(X, y)
    two = model(method="stochastic-search", **options).fit(X, y)
    np.testing.assert_allclose(one.predict_proba(X), two.predict_proba(X), atol=0.08)
    assert one.traces_["n_active"].mean() == pytest.approx(two.traces_["n_active"].mean(), rel=0.3)


@pytest.mark.slow
def test_processes_do_not_change_the_draws(moons):
    X, y = moons
    one, two = (model(n_chains=2, n_jobs=n).fit(X, y) for n in (None, 2))
    np.testing.assert_array_equal(one.traces_["g"], two.traces_["g"])
    assert one.traces_["g"].shape == (2, 600)
    assert set(one.rhat_) == set(one.ess_) == set(one.traces_)


def test_a_callable_kernel_and_its_matrix_are_one(moons):
    X, y = moons

    def kernel(A, B):
        return rbf_block(A, B, np.array([0.9]))

    a = model(kernel=kernel).fit(X, y).predict_proba(X)
    b = model(kernel="precomputed").fit(kernel(X, X), y).predict_proba(kernel(X, X))
    np.testing.assert_allclose(a, b)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_iter": 100, "burn_in": 100}, "n_iter=100 and burn_in=100"),
        ({"n_iter": 10, "burn_in": 5, "thin": 6}, "thin must be at most"),
        ({"kernel": "precomputed", "ard": True}, "ard=True needs kernel='rbf'"),
        ({"kernels": "rbf_ladder", "sample_width": True}, "sample_width=True needs"),
        ({"kernels": "precomputed"}, "kernels='precomputed' is not supported"),
        ({"width": -1.0}, "width"),
        ({"spike": 1.0}, "spike"),
        ({"model": "svm"}, "model"),
        ({"kernel": lambda A, B: np.ones((1, 1))}, "kernel must return finite numbers of shape"),
        ({"kernel": lambda A, B: A[:, :1] - B[:, 0]}, r"must be symmetric; entries \("),
    ],
)
def test_options_that_make_no_sense_are_refused(moons, options, words):
    with pytest.raises(ValueError, match=words):
        model(**options).fit(*moons)


def test_one_class_is_refused(moons):
    with pytest.raises(ValueError, match="SparseBayesKernelClassifier needs at least two classes"):
        model().fit(moons[0], np.ones(60))


def test_bad_levels_are_refused(moons):
    with pytest.raises(ValueError, match="q must hold probabilities"):
        model().fit(*moons).predict_interval(moons[0], [0.5, 1.5])


def test_k_max_above_n_warns_and_at_the_limit_warns(moons):
    with pytest.warns(UserWarning, match="k_max=61 is more than there is"):
        model(k_max=61).fit(*moons)
    with pytest.warns(UserWarning, match="k_max=2 active vectors"):
        model(k_max=2, a_alpha=100.0).fit(*moons)


def test_a_chain_that_has_not_come_to_rest_warns(moons):
    with pytest.warns(ConvergenceWarning, match="R-hat is"):
        model(n_iter=20, burn_in=2, thin=1, n_chains=3, n_moves=1).fit(*moons)


def test_duplicates_and_constant_features_are_fit():
    X = np.repeat(np.eye(3), 10, axis=0)
    y = np.tile([0, 1], 15)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        P = model(k_max=30).fit(X, y).predict_proba(X)
    assert np.all(np.isfinite(P))
    assert np.abs(P - 0.5).max() < 0.2
