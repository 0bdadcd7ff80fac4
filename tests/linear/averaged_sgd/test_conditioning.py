"""Curvature against finite differences, certificates of real fits, and the predicted risk."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import expit, logsumexp
from sklearn.linear_model import LogisticRegression

from octavo.data import make_logistic_stream
from octavo.engine.smooth.losses import make_loss
from octavo.linear import (
    AveragedSGDClassifier,
    AveragedSGDRegressor,
    KernelAveragedSGD,
    local_conditioning,
)
from octavo.linear.averaged_sgd import curvature


def problem(kind, seed=0, n=40, d=3):
    rng = np.random.default_rng(seed)
    X = np.c_[rng.normal(size=(n, d)), np.ones(n)]
    softmax = kind == "softmax"
    weights = rng.normal(size=(3 if softmax else 1, d + 1))
    targets = rng.integers(0, 3, n) if softmax else np.where(rng.random(n) < 0.5, 1.0, -1.0)
    penalty = np.array([0.1] * d + [0.0])
    loss = make_loss("log" if softmax else kind)
    return curvature.LinearProblem(X, weights, loss, softmax, targets, penalty)


def value(p, flat):
    """Return the penalised mean loss at weights that differ from the problem's by contrasts."""
    weights = p.weights + p.contrasts() @ flat.reshape(p.contrasts().shape[1], -1)
    scores, n = p.X @ weights.T, len(p.X)
    if p.softmax:
        losses = logsumexp(scores, axis=1) - scores[np.arange(n), p.targets]
        total = losses.mean()
    else:
        total = p.loss.evaluate(np.ascontiguousarray(scores[:, 0]), p.targets, order=0)[0] / n
    return total + 0.5 * np.sum(p.penalty * weights**2)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kind", ["log", "sqrt", "logcosh", "softmax"])
def test_derivatives_are_finite_differences(kind, sparse):
    p = problem(kind)
    size, h = p.size, 1e-4
    steps = h * np.eye(size)
    slope = [(value(p, s) - value(p, -s)) / (2 * h) for s in steps]
    bend = [
        [
            (value(p, a + b) - value(p, a - b) - value(p, b - a) + value(p, -a - b)) / (4 * h * h)
            for a in steps
        ]
        for b in steps
    ]
    if sparse:
        p = curvature.LinearProblem(
            sp.csr_matrix(p.X), p.weights, p.loss, p.softmax, p.targets, p.penalty
        )
    np.testing.assert_allclose(p.gradient(), slope, atol=1e-7)
    np.testing.assert_allclose(p.hessian(), bend, atol=1e-6)
    single = [
        curvature.LinearProblem(
            p.X[i : i + 1], p.weights, p.loss, p.softmax, p.targets[i : i + 1], 0 * p.penalty
        ).gradient()
        for i in range(p.X.shape[0])
    ]
    np.testing.assert_allclose(
        p.gradient_covariance(), np.mean([np.outer(g, g) for g in single], axis=0), atol=1e-12
    )


@pytest.mark.parametrize("kind", ["log", "softmax"])
def test_lanczos_finds_the_same_eigenvalue(kind, monkeypatch):
    p = problem(kind, n=200, d=12)
    dense = p.lowest_eigenvalue()
    monkeypatch.setattr(curvature, "DENSE_LIMIT", 1)
    assert p.lowest_eigenvalue() == pytest.approx(dense, rel=1e-4)
    assert p.lowest_eigenvalue() <= dense


def test_a_penalised_fit_of_scikit_learn_is_certified():
    X, y, _ = make_logistic_stream(400, 4, random_state=0)
    for C, n_iter in ((10.0, 3), (1.0, 100)):
        loose = LogisticRegression(C=C, max_iter=n_iter, tol=1e-3)
        model, exact = loose.fit(X, y), LogisticRegression(C=C, tol=1e-12).fit(X, y)
        alpha = 1 / (C * 400)

        def objective(m, alpha=alpha):
            u = m.decision_function(X)
            return np.logaddexp(0, -(2 * y - 1) * u).mean() + 0.5 * alpha * np.sum(m.coef_**2)

        found = local_conditioning(model, X, y, alpha=alpha)
        gap = objective(model) - objective(exact)
        assert 0 <= gap <= found.excess_bound < 0.1
        apart = np.r_[model.coef_[0] - exact.coef_[0], model.intercept_ - exact.intercept_]
        assert np.linalg.norm(apart) <= found.distance_bound


def test_a_softmax_fit_is_certified():
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (3000, 3))
    y = np.array([rng.choice(3, p=np.exp(s - logsumexp(s))) for s in X @ rng.normal(size=(3, 3))])
    model = AveragedSGDClassifier(c=20.0, random_state=0).fit(X, y)
    best = LogisticRegression(C=np.inf, tol=1e-10).fit(X, y)

    def mean_loss(m):
        return -np.log(m.predict_proba(X)[np.arange(3000), y]).mean()

    found = local_conditioning(model, X, y)
    assert 0 <= mean_loss(model) - mean_loss(best) <= found.excess_bound < np.inf
    assert found.complexity == pytest.approx(8, rel=0.1)  # two contrasts of four coordinates
    assert found.efficiency is None


def test_predicted_risk_and_efficiency():
    X, y, theta = make_logistic_stream(50_000, 5, random_state=2)
    model = AveragedSGDClassifier(fit_intercept=False, random_state=0).fit(X, y)
    found = local_conditioning(model, X, y)
    assert found.complexity == pytest.approx(5, rel=0.05)  # tr H⁻¹G = d for a true model
    assert found.predicted_excess == pytest.approx(5 / 100_000, rel=0.05)
    assert found.samples_for(1e-3) == pytest.approx(2500, rel=0.05)
    assert 0.8 < found.efficiency <= 1
    assert found.regime == "fast"
    assert pytest.approx(1.0) == found.R
    unlabelled = local_conditioning(model, X)
    assert unlabelled.mu == pytest.approx(found.mu)
    assert (unlabelled.complexity, unlabelled.excess_bound) == (5.0, None)
    assert local_conditioning(model, sp.csr_matrix(X), y).mu == pytest.approx(found.mu)
    # one row is not enough, and the regime of a flat problem is slow
    steep, flat, _ = make_logistic_stream(5000, 30, design="decaying", random_state=0)
    slow = AveragedSGDClassifier(fit_intercept=False, random_state=0).fit(steep, flat)
    assert local_conditioning(slow, steep, flat).regime == "slow"


@pytest.mark.parametrize("loss", ["log", "sqrt"])
def test_classes_against_the_rest_and_normalised_rows(loss):
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(2000, 3)), rng.integers(0, 3, 2000)
    model = AveragedSGDClassifier(loss, normalize=True, c=20.0, random_state=0).fit(X, y)
    found = local_conditioning(model, X, y)
    assert 0 < found.mu < 1
    assert found.excess_bound < np.inf
    assert (found.efficiency is None) == (loss == "log")


def test_regressors_are_certified_in_their_scale():
    rng = np.random.default_rng(4)
    X = rng.uniform(-1, 1, (20_000, 3))
    y = 100 + 10 * (X @ [1.0, -2.0, 0.5] + rng.standard_t(3, size=20_000))
    model = AveragedSGDRegressor(scale="auto", c=20.0, random_state=0).fit(X, y)
    found = local_conditioning(model, X, y)
    Z = np.c_[X, np.ones(len(X))]

    def mean_loss(theta):  # log cosh of residuals in units of the scale, its slope with it
        r = (y - Z @ theta) / model.scale_
        total = np.logaddexp(r, -r).mean() - np.log(2)
        return total, -Z.T @ np.tanh(r) / len(r) / model.scale_

    own = np.append(model.coef_, model.intercept_)
    best = minimize(mean_loss, own, jac=True, method="BFGS", options={"gtol": 1e-12}).x
    gap = mean_loss(own)[0] - mean_loss(best)[0]
    assert 1e-9 < gap <= found.excess_bound < 4 * gap  # looseness is about three
    assert np.linalg.norm(own - best) / model.scale_ <= found.distance_bound
    tails = 1 / np.cosh((y - Z @ own) / model.scale_) ** 2
    assert found.mu == pytest.approx(np.linalg.eigvalsh((Z.T * tails) @ Z / len(Z))[0], rel=1e-6)
    assert found.efficiency > 0.3
    with pytest.raises(ValueError, match="depends on y"):
        local_conditioning(model, X)


def test_separable_classes_and_singular_rows_have_no_certificate():
    X, y = np.linspace(-1, 1, 50)[:, None], np.arange(50) >= 25
    separable = local_conditioning(AveragedSGDClassifier(random_state=0).fit(X, y), X, y)
    assert separable.excess_bound == np.inf
    twice, labels = np.c_[X, X], expit(3 * X[:, 0]) > np.random.default_rng(5).random(50)
    model = AveragedSGDClassifier(fit_intercept=False, random_state=0).fit(twice, labels)
    singular = local_conditioning(model, twice, labels)
    assert singular.mu < 1e-15
    assert singular.excess_bound == np.inf


def test_bad_input():
    X, y, _ = make_logistic_stream(100, 3, random_state=0)
    model = AveragedSGDClassifier().fit(X, y)
    with pytest.raises(ValueError, match="3"):
        local_conditioning(model, X[:, :2])
    with pytest.raises(ValueError, match="not in classes"):
        local_conditioning(model, X, y + 5)
    with pytest.raises(ValueError, match="alpha must"):
        local_conditioning(model, X, y, alpha=-1.0)
    with pytest.raises(ValueError, match="no coef_"):
        local_conditioning(KernelAveragedSGD().fit(X, y), X)
    with pytest.raises(ValueError, match="inconsistent"):
        local_conditioning(model, X, y[:-1])
    with pytest.raises(ValueError, match="eps must"):
        local_conditioning(model, X).samples_for(0.0)
