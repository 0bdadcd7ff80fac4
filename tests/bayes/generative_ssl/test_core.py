"""Objectives, models and solvers against closed forms, differences and other optimisers."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import approx_fprime, basinhopping, minimize
from sklearn.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB

from octavo.bayes import SemiSupervisedGenerativeClassifier
from octavo.bayes.generative_ssl.class_mixtures import ClassMixtures
from octavo.bayes.generative_ssl.counts import BernoulliFeatures, MultinomialCounts
from octavo.bayes.generative_ssl.gaussians import DiagonalGaussians, FullGaussians
from octavo.bayes.generative_ssl.objectives import OBJECTIVES, evaluate, make_goal
from octavo.bayes.generative_ssl.solvers import Limits, by_lbfgs, penalized, random_start


def rows(seed=0, n=60, d=2, n_labelled=12, apart=1.5):
    rng = np.random.RandomState(seed)
    truth = np.r_[0, 1, 0, 1, rng.randint(0, 2, n - 4)]
    X = rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) + apart * truth[:, None]
    X[:, 0] += 0.3 * X[:, 1] ** 2  # no Gaussian fits it
    return X, truth, np.where(np.arange(n) < n_labelled, truth, -1)


def models(K=3, d=3):
    return {
        "gaussian_nb": DiagonalGaussians(K, d, None, 2e-3, 0.1),
        "qda": FullGaussians(K, d, None, 2e-3, 0.1),
        "lda": FullGaussians(K, d, None, 2e-3, 0.1, shared=True),
        "gmm": ClassMixtures(K, d, None, 2e-3, 0.1, 2),
        "multinomial_nb": MultinomialCounts(K, d, None, 0.7),
        "bernoulli_nb": BernoulliFeatures(K, d, None, 0.7),
    }


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("name", list(models()))
def test_gradient_is_that_of_differences(name, objective):
    rng = np.random.RandomState(3)
    X = rng.uniform(-1, 1, (25, 3))
    if name == "multinomial_nb":
        X = rng.poisson(2.0, (25, 3)).astype(float)
    if name == "bernoulli_nb":
        X = (X > 0).astype(float)
    model = models()[name]
    goal = make_goal(objective, np.arange(9) % 3, 25, rng.uniform(0.5, 1.5, 9), 3)
    theta = random_start(model, goal, X, rng)
    theta = theta + 0.1 * rng.standard_normal(theta.size)
    value, slope = penalized(model, goal, X, theta)
    apart = approx_fprime(theta, lambda t: penalized(model, goal, X, t)[0], 1e-6)
    assert np.isfinite(value)
    np.testing.assert_allclose(slope, apart, rtol=2e-4, atol=2e-4 * np.abs(apart).max())


def test_rows_of_weights_sum_to_the_weight_of_their_density():
    rng = np.random.RandomState(0)
    goal = make_goal("unbiased", np.array([0, 2, 1]), 12, np.ones(3), 3)
    W = evaluate(goal, rng.standard_normal((12, 3)))[1]
    np.testing.assert_allclose(W.sum(axis=1), 3 / 12, atol=1e-14)
    assert W[:3].min() < 0  # no plain EM


def test_multi_conditional_with_the_ratio_is_unbiased():
    rng = np.random.RandomState(1)
    q, codes = rng.standard_normal((10, 2)), np.array([0, 1, 1, 0])
    one = evaluate(make_goal("unbiased", codes, 10, np.ones(4), 2), q)
    other = evaluate(make_goal("multi_conditional", codes, 10, np.ones(4), 2, None, 0.4), q)
    assert one[0] == pytest.approx(other[0], rel=1e-14)
    np.testing.assert_allclose(one[1], other[1], atol=1e-15)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_without_unlabelled_rows_all_are_the_closed_form(objective):
    X, truth, _ = rows()
    model = SemiSupervisedGenerativeClassifier(
        objective=objective, mean_penalty=0.0, random_state=0
    ).fit(X, truth)
    peer = GaussianNB(var_smoothing=0.0).fit(X, truth)
    np.testing.assert_allclose(model.means_, peer.theta_, atol=1e-6)
    np.testing.assert_allclose(model.vars_, peer.var_, rtol=1e-6)
    np.testing.assert_allclose(model.class_log_prior_, np.log(peer.class_prior_), atol=1e-6)
    np.testing.assert_allclose(model.predict_proba(X), peer.predict_proba(X), atol=1e-6)


def test_full_and_shared_covariances_have_closed_forms():
    X, truth, _ = rows(n=80, d=3)
    qda = SemiSupervisedGenerativeClassifier("qda", mean_penalty=0.0).fit(X, truth)
    lda = SemiSupervisedGenerativeClassifier("lda", mean_penalty=0.0).fit(X, truth)
    each = [np.cov(X[truth == k].T, bias=True) for k in (0, 1)]
    np.testing.assert_allclose(qda.covariances_, each, rtol=1e-6, atol=1e-8)
    pooled = sum(cov * (truth == k).mean() for k, cov in enumerate(each))
    np.testing.assert_allclose(lda.covariances_, pooled, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("sparse", [False, True])
def test_naive_bayes_on_words_is_scikit_learns(sparse):
    rng = np.random.RandomState(0)
    truth = np.arange(40) % 2
    X = rng.poisson(np.where(truth[:, None], [1, 3, 2], [3, 1, 2])).astype(float)
    given = sp.csr_array(X) if sparse else X
    for name, peer in (("multinomial_nb", MultinomialNB()), ("bernoulli_nb", BernoulliNB())):
        model = SemiSupervisedGenerativeClassifier(name, random_state=0).fit(given, truth)
        peer.fit(X, truth)
        np.testing.assert_allclose(model.feature_log_prob_, peer.feature_log_prob_, atol=1e-6)
        np.testing.assert_allclose(
            model.predict_joint_log_proba(given), peer.predict_joint_log_proba(X), atol=1e-6
        )


def one_dimensional(seed, n=40, n_labelled=8):
    rng = np.random.RandomState(seed)
    truth = np.r_[0, 1, rng.randint(0, 2, n - 2)]
    X = (rng.standard_gamma(2.0, n) + 2.0 * truth)[:, None]
    return X, np.where(np.arange(n) < n_labelled, truth, -1)


def written_out(theta, X, y, weight):
    """Eq. (20) for two classes on a line, without any of octavo's code."""
    log_prior = np.array([theta[0], 0.0]) - np.logaddexp(theta[0], 0.0)
    mu, log_sigma = theta[1:3], theta[3:5]
    q = log_prior - 0.5 * ((X - mu) / np.exp(log_sigma)) ** 2 - log_sigma
    q -= 0.5 * np.log(2 * np.pi)
    marginal = np.logaddexp(q[:, 0], q[:, 1])
    known = y >= 0
    return np.sum(q[known, y[known]] - marginal[known]) + weight * marginal.sum()


@pytest.mark.parametrize("seed", range(3))
def test_no_restart_of_scipy_is_better(seed):
    X, y = one_dimensional(seed)
    weight = (y >= 0).mean()
    model = SemiSupervisedGenerativeClassifier(mean_penalty=0.0, random_state=0).fit(X, y)
    found = np.r_[
        model.class_log_prior_[0] - model.class_log_prior_[1],
        model.means_.ravel(),
        0.5 * np.log(model.vars_.ravel()),
    ]
    assert written_out(found, X, y, weight) == pytest.approx(model.objective_, rel=1e-9)
    floor = np.log(1e-3 * np.ptp(X))
    box = [(-20, 20), (-50, 50), (-50, 50), (floor, 10), (floor, 10)]
    rng = np.random.RandomState(100 + seed)
    best = -np.inf
    for _ in range(20):
        start = np.r_[rng.normal(), rng.choice(X.ravel(), 2), rng.normal(size=2)]
        run = minimize(
            lambda t: -written_out(t, X, y, weight), start, bounds=box, method="L-BFGS-B"
        )
        best = max(best, -run.fun)
    hops = basinhopping(
        lambda t: -written_out(t, X, y, weight),
        found,
        niter=5,
        minimizer_kwargs={"bounds": box, "method": "L-BFGS-B"},
        rng=0,
    )
    best = max(best, -hops.fun)
    assert model.objective_ >= best - 1e-5


def test_em_and_lbfgs_agree_on_maximum_likelihood():
    X, _, y = rows(apart=3.0)
    fits = [
        SemiSupervisedGenerativeClassifier(
            objective="ml", solver=solver, n_init=0, tol=tol, max_iter=5000
        ).fit(X, y)
        for solver, tol in (("lbfgs", 1e-8), ("em", 1e-13))
    ]
    assert fits[0].objective_ == pytest.approx(fits[1].objective_, abs=1e-5)
    np.testing.assert_allclose(fits[0].means_, fits[1].means_, atol=1e-3)


@pytest.mark.parametrize("name", ["gaussian_nb", "qda", "lda", "gmm"])
def test_baum_welch_never_falls_and_ends_at_a_maximum(name):
    X, _, y = rows(n_labelled=24, apart=3.0)
    ebw = SemiSupervisedGenerativeClassifier(
        name, solver="ebw", n_init=0, max_iter=3000, tol=1e-11, random_state=0
    ).fit(X, y)
    assert np.diff(ebw.objectives_).min() >= 0.0
    # From where it ended, another solver finds next to nothing to gain.
    goal = make_goal("unbiased", y[:24], 60, np.ones(24), 2)
    scaled = ebw._axes.scaled(X)
    begin = penalized(ebw._model, goal, scaled, ebw.theta_)[0]
    polished = by_lbfgs(ebw._model, goal, scaled, ebw.theta_, Limits(500, 1e-8, None)).value
    assert begin - 1e-9 <= polished <= begin + 0.01 * abs(begin)


def test_stationary_beyond_the_supervised_start():
    X, _, y = rows()
    for name in ("gaussian_nb", "qda", "lda", "gmm"):
        start = SemiSupervisedGenerativeClassifier(name, "labelled", random_state=0).fit(X, y)
        model = SemiSupervisedGenerativeClassifier(name, random_state=0).fit(X, y)
        q = start.predict_joint_log_proba(X)
        goal = make_goal("unbiased", y[:12], 60, np.ones(12), 2)
        assert model.objective_ > evaluate(goal, q)[0]
        assert model.objective_ == pytest.approx(
            evaluate(goal, model.predict_joint_log_proba(X))[0], rel=1e-9
        )
