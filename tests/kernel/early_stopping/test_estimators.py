"""The regressors: against the recursion by hand, scikit-learn's KernelRidge, and each other."""

import os
import pickle
import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import pairwise_kernels, rbf_kernel
from sklearn.utils.estimator_checks import check_estimator

from octavo.data import make_kinked_curve
from octavo.kernel import (
    KernelGDRegressor,
    StoppedKernelRidge,
    gasser_variance,
    hall_marron_variance,
    ridge_nu,
    ridge_variance,
    sobolev_kernel,
    stop_on_curve,
    stopping_time,
    sure_curve,
)
from octavo.kernel.early_stopping import descent_regressor

PLAIN = {"fit_intercept": False, "scale_y": False}
SOLVERS = ("eigh", "iterate", "lanczos")


def table(n=120, d=3, sigma=0.4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, 5.0 + 3.0 * (np.sin(2 * X[:, 0]) + X[:, 1] + sigma * rng.normal(size=n))


def recursion(K, y, step, t):
    c = np.zeros_like(y)
    for s in range(t):
        c = c - step(s) / len(y) * (K @ c - y)
    return c


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("step", [0.8, lambda t: 0.8 / (1 + t) ** 0.3], ids=["constant", "falling"])
def test_iterate_is_closed_form_to_1e_10(solver, step):
    X, y = table()
    K, t = rbf_kernel(X, gamma=0.5), 37
    model = KernelGDRegressor(gamma=0.5, step=step, stopping=t, solver=solver, **PLAIN).fit(X, y)
    size = step if callable(step) else lambda s: step
    expected = recursion(K, y, size, t)
    assert model.n_iter_ == t
    assert model.eta_ == pytest.approx(sum(size(s) for s in range(t)))
    np.testing.assert_allclose(model.dual_coef_, expected, atol=1e-10)
    new = np.random.default_rng(5).normal(size=(7, 3))
    np.testing.assert_allclose(
        model.predict(new), rbf_kernel(new, X, gamma=0.5) @ expected, atol=1e-10
    )
    earlier = rbf_kernel(new, X, gamma=0.5) @ recursion(K, y, size, 11)
    np.testing.assert_allclose(model.predict(new, n_iter=11), earlier, atol=1e-10)
    staged = list(model.staged_predict(new))
    assert len(staged) == t
    np.testing.assert_allclose(staged[10], earlier, atol=1e-10)
    np.testing.assert_allclose(staged[-1], model.predict(new), atol=1e-10)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("step", [1.9, lambda t: 1.9 / (1 + t) ** 0.2], ids=["constant", "falling"])
def test_unsafe_steps_are_the_recursion_too(solver, step):
    X, y = table()
    K = rbf_kernel(X, gamma=0.5)
    K = K / (np.linalg.eigvalsh(K)[-1] / len(y))  # λ₁ = 1: the step lies between 1/λ₁ and 2/λ₁
    options = {"stopping": 37, "solver": solver, "max_iter": 100, **PLAIN}
    with pytest.raises(ValueError, match="unsafe=True"):
        KernelGDRegressor("precomputed", step=step, **options).fit(K, y)
    model = KernelGDRegressor("precomputed", step=step, unsafe=True, **options).fit(K, y)
    size = step if callable(step) else lambda s: step
    expected = recursion(K, y, size, 37)
    np.testing.assert_allclose(model.dual_coef_, expected, atol=1e-9 * np.abs(expected).max())
    earlier = K @ recursion(K, y, size, 12)
    np.testing.assert_allclose(model.predict(K, n_iter=12), earlier, atol=1e-9)
    np.testing.assert_allclose(list(model.staged_predict(K))[11], earlier, atol=1e-9)
    smoother = np.eye(len(y))  # I - S_t, by the recursion on matrices
    for s in range(37):
        smoother = smoother - size(s) * (K / len(y)) @ smoother
    freedom = len(y) - np.trace(smoother)
    assert model.df_ == pytest.approx(freedom, rel=1e-8 if solver == "eigh" else 0.05)


def test_unsafe_sure_and_holdout_see_steps_that_overshoot():
    X, y = table()
    K = rbf_kernel(X, gamma=0.5)
    K, n = K / (np.linalg.eigvalsh(K)[-1] / len(y)), len(y)
    model = KernelGDRegressor(
        "precomputed", step=1.5, unsafe=True, stopping="sure", noise=2.0, max_iter=40, **PLAIN
    ).fit(K, y)
    left, trace = y.copy(), np.eye(n)
    for t in range(41):  # Eq. (15), by the recursion on residuals
        risk = 4.0 + (left @ left - 2 * 4.0 * np.trace(trace)) / n
        assert model.risk_curve_[t] == pytest.approx(risk, rel=1e-9, abs=1e-9)
        left, trace = left - 1.5 * (K / n) @ left, trace - 1.5 * (K / n) @ trace
    held = model.stopped_by("holdout", refit=False, random_state=0)
    rows = np.setdiff1d(np.arange(n), held._rows)
    inner = recursion(K[np.ix_(held._rows, held._rows)], y[held._rows], lambda s: 1.5, 7)
    error = np.mean((y[rows] - K[np.ix_(rows, held._rows)] @ inner) ** 2)
    assert held.risk_curve_[7] == pytest.approx(error, rel=1e-9)


@pytest.mark.parametrize("factor", [2.0, 2.5])
def test_steps_that_diverge_are_refused_even_then(factor):
    X, y = table(60)
    K = rbf_kernel(X, gamma=0.5)
    K = K / (np.linalg.eigvalsh(K)[-1] / 60) * (1 + 1e-12)
    with pytest.raises(ValueError, match="below 2/λ₁"):
        KernelGDRegressor("precomputed", step=factor, unsafe=True).fit(K, y)


@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
@pytest.mark.parametrize("outputs", [1, 2])
def test_all_rules_come_from_one_decomposition(kernel, outputs, monkeypatch):
    X, y = table(150)
    X = rbf_kernel(X, gamma=0.3) if kernel == "precomputed" else X
    y = y if outputs == 1 else np.column_stack([y, np.abs(y) ** 0.5])
    options = {"constant": 1.0, "random_state": 3, "max_iter": 2000}
    first = KernelGDRegressor(kernel, **options).fit(X, y)
    fits = {
        rule: KernelGDRegressor(kernel, stopping=rule, **options).fit(X, y)
        for rule in ("rademacher", "sure", "holdout", "cv", 12)
    }
    louder = KernelGDRegressor(kernel, noise=2.0, step=0.5, **options).fit(X, y)

    def refused(*args):
        raise AssertionError("decomposed again")

    monkeypatch.setattr(descent_regressor, "whole_spectrum", refused)
    for rule, fit in fits.items():
        found = first.stopped_by(rule)
        assert found.get_params()["stopping"] == rule
        np.testing.assert_array_equal(found.n_iter_, fit.n_iter_)
        np.testing.assert_allclose(found.predict(X), fit.predict(X), rtol=1e-8)
        np.testing.assert_allclose(found.df_, fit.df_, rtol=1e-8)
    found = fits["sure"].stopped_by("rademacher", noise=2.0, step=0.5)
    np.testing.assert_array_equal(found.n_iter_, louder.n_iter_)
    np.testing.assert_allclose(found.sigma_, 2.0)
    assert first.stopping == "rademacher"  # the model itself has not changed
    again = pickle.loads(pickle.dumps(first)).stopped_by("sure")
    np.testing.assert_array_equal(again.n_iter_, fits["sure"].n_iter_)


@pytest.mark.parametrize("solver", ["lanczos", "iterate"])
@pytest.mark.parametrize("first", ["rademacher", "sure"])
def test_other_solvers_ask_another_rule_too(solver, first):
    X, y = table(300)
    options = {"constant": 1.0, "random_state": 3, "max_iter": 300, "solver": solver}
    model = KernelGDRegressor(stopping=first, **options).fit(X, y)
    for rule in ("rademacher", "sure", "holdout", "cv", 12):
        fit = KernelGDRegressor(stopping=rule, **options).fit(X, y)
        found = model.stopped_by(rule)
        assert found.n_iter_ == fit.n_iter_
        np.testing.assert_allclose(found.predict(X), fit.predict(X), rtol=1e-10)


def test_another_rule_needs_all_rows():
    X, y = table()
    given = KernelGDRegressor("precomputed", solver="lanczos").fit(rbf_kernel(X), y)
    with pytest.raises(ValueError, match='solver="eigh"'):
        given.stopped_by("sure")
    half = KernelGDRegressor(stopping="holdout", refit=False).fit(X, y)
    with pytest.raises(ValueError, match="refit=True"):
        half.stopped_by("sure")
    model = KernelGDRegressor().fit(X, y)
    with pytest.raises(ValueError, match="gamma belongs to the decomposition"):
        model.stopped_by("sure", gamma=2.0)
    with pytest.raises(ValueError, match="stopping"):
        model.stopped_by("later")


def test_one_step_of_the_limit_kills_the_first_residual():
    X, y = table(60)
    K = rbf_kernel(X, gamma=0.5)
    top = np.linalg.eigvalsh(K)[-1] / 60
    u = np.linalg.eigh(K)[1][:, -1]
    precomputed = K / max(top, 1.0)  # λ₁ is 1 or less: a step of 1/λ₁ is allowed where it is 1
    scaled = precomputed / (np.linalg.eigvalsh(precomputed)[-1] / 60)
    model = KernelGDRegressor("precomputed", stopping=1, step=1.0, noise=1.0, **PLAIN)
    left = y - model.fit(scaled, y).predict(scaled)
    assert abs(u @ left) < 1e-10 * abs(u @ y)


@pytest.mark.parametrize("n", [20, 100, 300])
@pytest.mark.parametrize("solver", SOLVERS)
def test_papers_simulation(n, solver):
    X, y, _ = make_kinked_curve(n, random_state=0)
    model = KernelGDRegressor(sobolev_kernel(1), step=0.25, noise=1.0, solver=solver, **PLAIN)
    model.fit(X, y)
    assert model.n_iter_ == {20: 4, 100: 10, 300: 25}[n]
    assert model.sigma_ == 1.0
    K = np.minimum(X, X.T)
    assert model.df_ == pytest.approx(
        np.trace(np.eye(n) - np.linalg.matrix_power(np.eye(n) - 0.25 * K / n, model.n_iter_)),
        rel=1e-3 if solver != "eigh" else 1e-10,
    )


@pytest.mark.parametrize("solver", SOLVERS)
def test_rule_in_units_of_y(solver):
    """With intercept and scaling the rule is that of the paper on (y - mean)/deviation."""
    X, y = table(400)
    model = KernelGDRegressor(gamma=0.5, noise=1.2, solver=solver, constant=1.0, random_state=0)
    model.fit(X, y)
    K = rbf_kernel(X, gamma=0.5)
    eigs = np.linalg.eigvalsh(K)[::-1] / 400
    assert model.n_iter_ == stopping_time(eigs, 400, 1.2 / y.std(), 1.0, 1.0)
    assert model.sigma_ == pytest.approx(1.2)
    rescaled = KernelGDRegressor(
        gamma=0.5, noise=12.0, solver=solver, constant=1.0, random_state=0
    ).fit(X, 10 * y - 3)
    np.testing.assert_allclose(rescaled.predict(X), 10 * model.predict(X) - 3, rtol=1e-8)
    doubled = KernelGDRegressor(
        gamma=0.5, noise=1.2, solver=solver, constant=2.0, hilbert_radius=2.0, random_state=0
    ).fit(X, y)
    assert doubled.n_iter_ == model.n_iter_  # B enters as σ/B


@pytest.mark.parametrize("mode", ["argmin", "first"])
def test_sure_is_the_public_curve(mode):
    X, y = table()
    model = KernelGDRegressor(gamma=0.5, stopping="sure", noise=1.2, mode=mode, max_iter=500)
    model.fit(X, y)
    eigs, U = np.linalg.eigh(rbf_kernel(X, gamma=0.5) / 120)
    scaled = (y - y.mean()) / y.std()
    curve = sure_curve(np.maximum(eigs, 0), U.T @ scaled, 1.2 / y.std(), np.ones(500))
    np.testing.assert_allclose(model.risk_curve_, curve, atol=1e-11)
    assert model.n_iter_ == stop_on_curve(curve, mode)


@pytest.mark.parametrize("limit", [0, 8000], ids=["top only", "all eigenvalues"])
def test_sure_on_the_top_of_the_spectrum_stops_where_the_whole_does(limit, monkeypatch):
    monkeypatch.setattr(descent_regressor, "_ALL_EIGENVALUES", limit)
    X, y = table(500)
    whole = KernelGDRegressor(gamma=0.5, stopping="sure", noise=1.2).fit(X, y)
    for solver in ("lanczos", "iterate"):
        top = KernelGDRegressor(
            gamma=0.5, stopping="sure", noise=1.2, solver=solver, random_state=0
        ).fit(X, y)
        assert (len(top.eigenvalues_) < 500) == (limit == 0)
        assert abs(top.n_iter_ - whole.n_iter_) <= max(1, 0.02 * whole.n_iter_)
        both = min(len(top.risk_curve_), len(whole.risk_curve_))
        np.testing.assert_allclose(top.risk_curve_[:both], whole.risk_curve_[:both], atol=2e-4)


@pytest.mark.parametrize("refit", [True, False])
def test_holdout_by_hand(refit):
    X, y = table(80)
    model = KernelGDRegressor(
        gamma=0.5, stopping="holdout", refit=refit, max_iter=60, random_state=3, noise=1.0
    ).fit(X, y)
    order = np.random.RandomState(3).permutation(80)
    test, train = np.sort(order[:40]), np.sort(order[40:])
    scaled = (y - y.mean()) / y.std()
    K = rbf_kernel(X, gamma=0.5)
    curve = []
    for t in range(61):
        c = recursion(K[np.ix_(train, train)], scaled[train], lambda s: 1.0, t)
        curve.append(((K[np.ix_(test, train)] @ c - scaled[test]) ** 2).mean())
    np.testing.assert_allclose(model.risk_curve_, curve, atol=1e-10)
    assert model.n_iter_ == np.argmin(curve)
    if refit:
        c = recursion(K, scaled, lambda s: 1.0, model.n_iter_)
        expected = K @ c
    else:
        c = recursion(K[np.ix_(train, train)], scaled[train], lambda s: 1.0, model.n_iter_)
        expected = K[:, train] @ c
    np.testing.assert_allclose(model.predict(X), expected * y.std() + y.mean(), rtol=1e-9)
    precomputed = KernelGDRegressor(
        "precomputed", stopping="holdout", refit=refit, max_iter=60, random_state=3, noise=1.0
    ).fit(K, y)
    np.testing.assert_allclose(precomputed.predict(K), model.predict(X), rtol=1e-9)


def test_cross_validation_by_hand():
    X, y = table(60)
    model = KernelGDRegressor(
        gamma=0.5, stopping="cv", cv=3, max_iter=40, random_state=1, noise=1.0
    ).fit(X, y)
    parts = np.array_split(np.random.RandomState(1).permutation(60), 3)
    scaled = (y - y.mean()) / y.std()
    K = rbf_kernel(X, gamma=0.5)
    total = np.zeros(41)
    for i in range(3):
        test = parts[i]
        train = np.setdiff1d(np.arange(60), test)
        for t in range(41):
            c = recursion(K[np.ix_(train, train)], scaled[train], lambda s: 1.0, t)
            total[t] += ((K[np.ix_(test, train)] @ c - scaled[test]) ** 2).sum()
    np.testing.assert_allclose(model.risk_curve_, total / 60, atol=1e-10)
    assert model.n_iter_ == np.argmin(total)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("stopping", ["rademacher", "sure", "holdout", 12])
def test_outputs_are_fitted_each_on_its_own(solver, stopping):
    X, y = table(150)
    Y = np.column_stack([y, X[:, 2] + 2 * np.random.default_rng(1).normal(size=150)])
    options = {"gamma": 0.5, "solver": solver, "stopping": stopping, "max_iter": 200}
    both = KernelGDRegressor(random_state=0, **options).fit(X, Y)
    assert both.predict(X).shape == (150, 2)
    for j in range(2):
        one = KernelGDRegressor(random_state=0, **options).fit(X, Y[:, j])
        assert both.n_iter_[j] == one.n_iter_
        np.testing.assert_allclose(both.predict(X)[:, j], one.predict(X), rtol=1e-7, atol=1e-9)
    assert len(list(both.staged_predict(X))) == both.n_iter_.max()


def test_noise_options():
    X, y = table(200)
    X = X[:, :1]
    found = KernelGDRegressor(gamma=1.0).fit(X, y)
    scaled = (y - y.mean()) / y.std()
    assert found.sigma_ == pytest.approx(np.sqrt(hall_marron_variance(X, scaled)) * y.std())
    eigs, U = np.linalg.eigh(rbf_kernel(X, gamma=1.0) / 200)
    for noise, variance in (
        ("difference", gasser_variance(X, scaled)),
        ("ridge", ridge_variance(eigs, U.T @ scaled)),
    ):
        found = KernelGDRegressor(gamma=1.0, noise=noise, solver="eigh").fit(X, y)
        assert found.sigma_ == pytest.approx(np.sqrt(variance) * y.std(), rel=1e-6)
    with pytest.raises(ValueError, match="one column of X"):
        KernelGDRegressor(noise="difference").fit(*table())


# --- ridge ---------------------------------------------------------------------------------------


def test_stopped_ridge_is_kernel_ridge_with_its_penalty():
    X, y = table()
    K = rbf_kernel(X, gamma=0.5)
    model = StoppedKernelRidge(gamma=0.5, noise=1.2, **PLAIN).fit(X, y)
    nu = ridge_nu(np.maximum(np.linalg.eigvalsh(K), 0) / 120, 120, 1.2)
    assert model.nu_ == pytest.approx(nu)
    assert model.alpha_ == pytest.approx(120 / nu)
    sklearns = KernelRidge(alpha=model.alpha_, kernel="rbf", gamma=0.5).fit(X, y)
    np.testing.assert_allclose(model.dual_coef_, sklearns.dual_coef_, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(model.predict(X[:9]), sklearns.predict(X[:9]), rtol=1e-9)
    smoother = K @ np.linalg.inv(K + model.alpha_ * np.eye(120))
    assert model.df_ == pytest.approx(np.trace(smoother))


def test_stopped_ridge_of_several_outputs():
    X, y = table()
    Y = np.column_stack([y, X[:, 2]])
    both = StoppedKernelRidge(gamma=0.5).fit(X, Y)
    for j in range(2):
        one = StoppedKernelRidge(gamma=0.5).fit(X, Y[:, j])
        np.testing.assert_allclose(both.predict(X)[:, j], one.predict(X), rtol=1e-8)
        assert both.nu_[j] == pytest.approx(one.nu_)


# --- forms of input ------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [KernelGDRegressor, StoppedKernelRidge])
def test_sparse_precomputed_and_callable_are_the_same(make):
    X, y = table()
    expected = make(gamma=0.5).fit(X, y).predict(X)
    np.testing.assert_allclose(make(gamma=0.5).fit(sp.csr_array(X), y).predict(X), expected)
    K = rbf_kernel(X, gamma=0.5)
    np.testing.assert_allclose(make(kernel="precomputed").fit(K, y).predict(K), expected)
    called = make(kernel=lambda A, B: pairwise_kernels(A, B, metric="rbf", gamma=0.5))
    np.testing.assert_allclose(called.fit(X, y).predict(X), expected, rtol=1e-7)
    again = pickle.loads(pickle.dumps(make(gamma=0.5).fit(X, y)))
    np.testing.assert_array_equal(again.predict(X), expected)


def test_repeated_rows_and_constants_are_met():
    X, y = table(40)
    X[20:] = X[:20]
    K, options = rbf_kernel(X, gamma=0.5), {"gamma": 0.5, "step": 0.8, "stopping": 500}
    found = KernelGDRegressor(**options, **PLAIN).fit(X, y).predict(X)
    np.testing.assert_allclose(found, K @ recursion(K, y, lambda s: 0.8, 500), atol=1e-9)
    for make in (KernelGDRegressor, StoppedKernelRidge):
        np.testing.assert_allclose(make().fit(X, np.full(40, 7.0)).predict(X), 7.0)


@pytest.mark.parametrize(
    ("options", "data", "message"),
    [
        ({"step": 2.0}, None, r"at most min\(1, 1/λ₁\) = 1"),
        ({"kernel": "linear", "step": 1.0}, None, r"at most min\(1, 1/λ₁\)"),
        ({"step": lambda t: 0.1 * (1 + t)}, None, "never increase"),
        ({"kernel": sobolev_kernel(1)}, (np.linspace(-1, 1, 9)[:, None], np.ones(9)), "x >= 0"),
        ({}, (np.ones((3, 1)), np.ones(3)), "minimum of 4"),
        ({"kernel": "precomputed"}, (np.triu(np.ones((9, 9))), np.ones(9)), "symmetric"),
        ({"stopping": "cv", "cv": 200}, None, "folds need as many rows"),
        ({"stopping": "never"}, None, "stopping"),
        ({"noise": -1.0}, None, "noise"),
        ({"kernel": lambda A, B: np.ones((2, 2))}, None, "number for each pair of rows"),
    ],
)
def test_bad_input_is_a_sentence(options, data, message):
    X, y = data or table()
    with pytest.raises(ValueError, match=message):
        KernelGDRegressor(**options).fit(X, y)


def test_ends_are_warned_of():
    X, y = table(30)
    with pytest.warns(UserWarning, match="stopping time is 0"):
        KernelGDRegressor(noise=1e4).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="reached max_iter=5"):
        KernelGDRegressor(noise=1e-6, max_iter=5).fit(X, y)
    model = KernelGDRegressor(stopping=3, solver="iterate").fit(X, y)
    with pytest.raises(ValueError, match="beyond the stopping time"):
        model.predict(X, n_iter=4)
    model = KernelGDRegressor("precomputed", stopping=3, solver="lanczos").fit(rbf_kernel(X), y)
    with pytest.raises(ValueError, match="beyond the stopping time"):
        model.predict(rbf_kernel(X), n_iter=4)
    with pytest.raises(ValueError, match="whole number"):
        model.predict(X, n_iter=-1)


@pytest.mark.parametrize("make", [KernelGDRegressor, StoppedKernelRidge])
@pytest.mark.filterwarnings("ignore")
def test_check_estimator(make):
    check_estimator(make())


STRICT = """
    import warnings
    import numpy as np, array_api_strict as xp, sklearn
    from octavo.kernel import KernelGDRegressor, StoppedKernelRidge
    rng = np.random.default_rng(0)
    X = rng.normal(size=(260, 3))
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=260)
    models = [StoppedKernelRidge(gamma=0.5)]
    for solver in ("eigh", "iterate", "lanczos"):
        for stopping in ("rademacher", "sure", "holdout", "cv", 9):
            models.append(KernelGDRegressor(gamma=0.5, solver=solver, stopping=stopping,
                                            max_iter=60, random_state=0))
    models.append(KernelGDRegressor(gamma=0.5, stopping="holdout", refit=False, random_state=0))
    warnings.simplefilter("ignore")
    for model in models:
        here = model.fit(X, y).predict(X)
        with sklearn.config_context(array_api_dispatch=True):
            A, b = xp.asarray(X), xp.asarray(y)
            there = sklearn.clone(model).fit(A, b).predict(A)
            assert type(there) is type(A), model
            np.testing.assert_allclose(np.asarray(there), here, rtol=1e-6, atol=1e-8)
"""


def test_the_array_api_gives_the_same_fits():
    pytest.importorskip("array_api_strict")
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(STRICT)],
        capture_output=True,
        text=True,
        env=os.environ | {"SCIPY_ARRAY_API": "1"},
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("stopping", ["rademacher", "sure", "holdout", "cv", 25])
@pytest.mark.parametrize("width", [0.2, 20.0, 200.0])
def test_auto_is_the_whole_spectrum_where_it_must_be_and_gives_its_answer(
    stopping, width, monkeypatch
):
    monkeypatch.setattr(descent_regressor, "_MANY_ROWS", 500)
    rng = np.random.default_rng(0)
    X = rng.random((700, 4))
    y = np.sin(4 * X[:, 0]) + np.abs(X[:, 1:] - 0.5).sum(axis=1) + 0.5 * rng.normal(size=700)
    options = {"gamma": width, "stopping": stopping, "max_iter": 500, "random_state": 0}
    with warnings.catch_warnings(action="ignore"):
        auto, whole = (
            KernelGDRegressor(constant=1.0, solver=solver, **options).fit(X, y)
            for solver in ("auto", "eigh")
        )
    assert auto.solver_ == ("lanczos" if width < 100.0 else "eigh")
    assert whole.solver_ == "eigh"
    assert auto.sigma_ == pytest.approx(whole.sigma_, rel=1.5e-3)  # half of the variance's 3e-3
    off = abs(auto.n_iter_ - whole.n_iter_)
    assert off <= (1 + 0.005 * whole.n_iter_ if stopping in ("rademacher", "sure") else 0)
    auto = auto.stopped_by(whole.n_iter_)
    assert auto.df_ == pytest.approx(whole.df_, rel=1e-3)
    np.testing.assert_allclose(auto.predict(X), whole.predict(X), rtol=0, atol=1e-9)
    other = auto.stopped_by(7)
    assert other.n_iter_ == 7
    assert other.solver_ == auto.solver_


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_lanczos_predicts_beyond_its_stopping_time_too(n_outputs):
    X, y = table(120)
    y = y if n_outputs == 1 else np.stack([y, y**2], axis=1)
    models = [KernelGDRegressor(stopping=3, solver=s).fit(X, y) for s in ("lanczos", "eigh")]
    for t in (2, 50):
        ours, whole = (model.predict(X, n_iter=t) for model in models)
        np.testing.assert_allclose(ours, whole, rtol=0, atol=1e-9)
        assert np.all(models[0].n_iter_ == 3)  # asking for other times leaves the model as it is


def test_the_noise_behind_the_top_eigenvalues_is_not_taken_for_more(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 5))
    y = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=1000)
    options = {"stopping": 20}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        top = KernelGDRegressor(solver="lanczos", **options).fit(X, y)
    whole = KernelGDRegressor(solver="eigh", **options).fit(X, y)
    assert top.sigma_ == pytest.approx(whole.sigma_, rel=2e-3)
    monkeypatch.setattr(descent_regressor, "_MOST_TRIED", 64)
    with pytest.warns(ConvergenceWarning, match="not settled by the"):
        KernelGDRegressor(solver="lanczos", **options).fit(X, y)


def test_auto_decomposes_what_may_be_indefinite_or_is_small(monkeypatch):
    X, y = table(120)
    assert KernelGDRegressor(solver="auto", stopping=3).fit(X, y).solver_ == "eigh"
    monkeypatch.setattr(descent_regressor, "_MANY_ROWS", 100)
    assert KernelGDRegressor(solver="auto", stopping=3, noise=1.0).fit(X, y).solver_ == "lanczos"
    given = KernelGDRegressor("precomputed", solver="auto", stopping=3, noise=1.0)
    assert given.fit(rbf_kernel(X), y).solver_ == "eigh"
    own = KernelGDRegressor(lambda A, B: rbf_kernel(A, B), solver="auto", stopping=3, noise=1.0)
    assert own.fit(X, y).solver_ == "eigh"
    assert (
        KernelGDRegressor("poly", solver="auto", stopping=3, noise=1.0).fit(X, y).solver_ == "eigh"
    )
