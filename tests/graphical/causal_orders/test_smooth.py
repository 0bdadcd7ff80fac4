"""Smooth latents: the kernel's factor, the joint tests of CSLIM and SNIM, and what they find."""

import numpy as np
import pytest
from scipy.linalg import solve_triangular

from octavo.engine.mcmc.joint_test import geweke_joint_test
from octavo.graphical.causal_orders.correlated import CSLIM, SmoothChain
from octavo.graphical.causal_orders.gaussian_processes import (
    KAPPA_RATE,
    KAPPA_SHAPE,
    RATE_SHAPE,
    SmoothFunction,
    evidence,
)
from octavo.graphical.causal_orders.model import factor_chain
from octavo.graphical.causal_orders.nonlinear import SNIM, NonlinearChain, causal_direction
from octavo.graphical.causal_orders.sources import ABSENT, FREE, LAPLACE
from tests.graphical.causal_orders.test_sweeps import draw_prior

N = 6


def kernel(t, rate):
    return np.exp(-rate * (t[:, None] - t[None, :]) ** 2)


@pytest.mark.parametrize("rate", [1e-3, 0.1, 5.0, 1e4])
def test_factor_gives_the_kernel(rate):
    t = np.random.default_rng(0).standard_normal(30)
    function = SmoothFunction(t, rate)
    assert np.allclose(function.F.T @ function.F, kernel(t, rate), atol=1e-7)
    assert len(function.F) <= 30


def test_evidence_and_draws_equal_dense_formulas():
    rng = np.random.default_rng(0)
    t, own = np.sort(rng.standard_normal(12)), 3.0
    signal = rng.standard_normal(12)
    values = []
    for rate in (0.2, 1.5):
        A = kernel(t, rate) + np.eye(12) / own
        r = signal / own  # N(r | 0, K + 1/own)
        values.append(-0.5 * r @ np.linalg.solve(A, r) - 0.5 * np.linalg.slogdet(A)[1])
    found = [evidence(SmoothFunction(t, rate).F, signal, own)[0] for rate in (0.2, 1.5)]
    assert np.isclose(found[1] - found[0], values[1] - values[0], atol=1e-6)
    function = SmoothFunction(t, 0.2)
    _, L, y = evidence(function.F, signal, own)
    draws = []
    for _ in range(1500):
        draws.append(solve_triangular(L.T, y + rng.standard_normal(len(L))) @ function.F)
    K = kernel(t, 0.2)
    V = K - K @ np.linalg.solve(np.eye(12) / own + K, K)  # Appendix A.3
    assert np.allclose(np.mean(draws, axis=0), V @ signal, atol=0.05)  # 1,500 draws: 0.01 an error
    assert np.allclose(np.cov(np.array(draws).T), V, atol=0.05)


def test_extension_interpolates():
    rng = np.random.default_rng(0)
    t = np.linspace(-2, 2, 20)
    function = SmoothFunction(t, 0.5)
    function.draw_prior(rng)
    assert np.allclose(function.extend(t, rng), function.values, atol=1e-3)
    between = function.extend(t[:-1] + 0.1, rng)
    K, k = kernel(t, 0.5) + 1e-9 * np.eye(20), np.exp(-0.5 * (t[:-1, None] + 0.1 - t) ** 2)
    assert np.allclose(between, k @ np.linalg.solve(K, function.values), atol=1e-2)


def smooth_prior(functions, chain, rng):
    draw_prior(chain, rng)
    kappa = rng.gamma(KAPPA_SHAPE, 1.0 / KAPPA_RATE)
    for function in functions:
        function.set_rate(rng.gamma(RATE_SHAPE, 1.0 / kappa))
        function.draw_prior(rng)
    return kappa


def moments(chain, functions, kappa):
    squash, X = np.tanh, chain.X
    rates = np.log([f.rate for f in functions])
    values = np.array([f.values for f in functions])
    return np.array(
        [
            np.log(chain.psi).mean(),
            chain.nu.mean(),
            chain.Q[chain.allowed == FREE].mean(),
            np.log(chain.slab[chain.allowed != ABSENT]).mean(),
            squash(np.abs(chain.W[chain.allowed != ABSENT]) * 4).mean(),
            squash(rates[0] / 4),
            squash(rates.mean() / 4),
            squash(np.log(kappa) / 4),
            squash(values[0] ** 2).mean(),
            squash(10 * np.diff(values[0])[0] ** 2),
            squash(X**2).mean(),
            squash(4 * X[0] * X[-1]).mean(),
        ]
    )


def test_joint_distribution_of_cslim():
    rng = np.random.default_rng(4)
    smooth = SmoothChain(factor_chain(np.zeros((3, N)), 2), np.arange(N) * 2.0, rng)
    chain = smooth.chain

    def prior(rng):
        smooth.kappa = smooth_prior(smooth.functions, chain, rng)
        for j, function in enumerate(smooth.functions):
            chain.Z[j] = function.values
        return smooth

    def simulate(_, rng):
        noise = np.sqrt(chain.psi)[:, None] * rng.standard_normal(chain.X.shape)
        chain.X[:] = chain.W @ chain.Z + noise
        return smooth

    def transition(_, rng):
        smooth.sweep()
        return smooth

    test = geweke_joint_test(
        prior, simulate, transition, lambda s: moments(chain, s.functions, s.kappa), 500, rng
    )
    assert np.abs(test.z).max() < 4


def test_joint_distribution_of_snim():
    rng = np.random.default_rng(6)
    order = [1, 2, 0]
    start = rng.standard_normal((N, 3))
    model = NonlinearChain(start, order, 0.5, (LAPLACE, 1.0), rng)
    chain = model.chain

    def prior(rng):
        model.kappa = smooth_prior([model.functions[j] for j in model.parents], chain, rng)
        return model

    def simulate(_, rng):
        noise = np.sqrt(chain.psi)[:, None] * rng.standard_normal(chain.X.shape)
        base = chain.W[:, 3:] @ chain.Z + noise
        for j in order:  # x_j, then the function of it: together they are the data
            chain.X[j] = base[j] + chain.W[j, :3] @ chain.F
            function = model.functions[j]
            function.t = chain.X[j].copy()
            function.set_rate(function.rate)
            function.draw_prior(rng)
            chain.F[j] = function.values
        return model

    def transition(_, rng):
        model.sweep()
        return model

    def statistics(m):
        return moments(chain, [m.functions[j] for j in m.parents], m.kappa)

    test = geweke_joint_test(prior, simulate, transition, statistics, 500, rng)
    assert np.abs(test.z).max() < 4


def test_cslim_fills_in_what_is_missing():
    t, rng = np.arange(40), np.random.default_rng(1)
    Z = np.column_stack([np.sin(t / 3), np.cos(t / 9)])
    full = 100 * (Z @ rng.standard_normal((2, 6)) + 0.05 * rng.standard_normal((40, 6))) + 7
    X = full.copy()
    X[10:14, 0] = X[20, 3] = np.nan
    model = CSLIM(2, n_samples=150, burn_in=150, random_state=0).fit(X)
    gone = np.isnan(X)
    filled = np.abs(model.imputed_ - full)[gone]
    assert filled.mean() < 0.35 * np.std(full)
    assert np.array_equal(model.imputed_[~gone], full[~gone])
    poor = CSLIM(1, n_samples=150, burn_in=150, random_state=0).fit(X)
    assert model.missing_log_density(full) > poor.missing_log_density(full)
    assert model.missing_log_density(full, per_draw=True).shape == (150,)


def test_density_of_a_missing_entry_integrates_to_one():
    rng = np.random.default_rng(4)
    X = 50 * rng.standard_normal((30, 3)) + 7
    X[10, 1] = np.nan
    model = CSLIM(1, n_samples=40, burn_in=20, random_state=0).fit(X)
    axis = np.linspace(-800, 800, 801)
    density = []
    for value in axis:
        X[10, 1] = value
        density.append(np.exp(model.missing_log_density(X)))
    assert np.sum(density) * (axis[1] - axis[0]) == pytest.approx(1.0, abs=1e-6)


def test_snim_finds_the_direction_of_a_bend():
    rng = np.random.default_rng(2)
    x = rng.uniform(-2, 2, 100)
    y = x**2 + 0.3 * rng.laplace(size=100)
    found = causal_direction(x, y, n_samples=150, burn_in=100, random_state=0)
    back = causal_direction(y, x, n_samples=150, burn_in=100, random_state=0)
    assert found.direction == "x->y"
    assert found.log_ratio > 0
    assert back.direction == "y->x"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: SNIM().fit(np.random.default_rng(0).standard_normal((30, 7))), "at most 6"),
        (lambda: SNIM([0, 0]).fit(np.random.default_rng(0).standard_normal((30, 2))), "each of"),
        (lambda: causal_direction([1.0] * 30, np.arange(30.0)), "constant"),
        (lambda: causal_direction(np.arange(9.0), np.arange(9.0)), "20 rows"),
        (lambda: causal_direction(np.arange(30.0), np.arange(29.0)), "as long"),
        (lambda: CSLIM(times=[1, 2]).fit(np.random.default_rng(0).normal(size=(30, 2))), "times"),
        (lambda: CSLIM(mask=[[1]]).fit(np.random.default_rng(0).normal(size=(30, 2))), "mask"),
    ],
)
def test_bad_input(call, words):
    with pytest.raises(ValueError, match=words):
        call()
