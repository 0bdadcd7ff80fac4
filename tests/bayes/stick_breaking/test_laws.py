"""Gates, allocations and bounds against enumeration, quadrature and other solvers."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import expit, logsumexp

from octavo.bayes import LogisticStickBreakingMixture
from octavo.bayes.stick_breaking.allocation import (
    bernoulli_step,
    categorical_step,
    gate_probabilities,
    memberships,
    sticks_of,
)
from octavo.bayes.stick_breaking.gating import GateFitter
from octavo.bayes.stick_breaking.locations import KernelBank, choose_centers, width_library
from octavo.bayes.stick_breaking.observations import Block, Observations, neighbours
from octavo.bayes.stick_breaking.weight_priors import SpikeSlab, StudentT

RNG = np.random.RandomState(0)


@given(st.integers(0, 10_000), st.integers(1, 6))
def test_memberships_and_sticks_are_inverse(seed, n_gates):
    sticks = np.random.RandomState(seed).uniform(0.01, 0.99, (5, n_gates))
    resp = memberships(sticks)
    assert_allclose(resp.sum(axis=1), 1.0)
    assert_allclose(sticks_of(resp), sticks, rtol=1e-8)


def test_gate_probabilities_are_the_product_of_sigmoids():
    g = RNG.normal(0, 5, (7, 3))
    by_hand = np.ones((7, 4))
    for k in range(3):
        by_hand[:, k] *= expit(g[:, k])
        by_hand[:, k + 1 :] *= 1 - expit(g[:, [k]])
    assert_allclose(gate_probabilities(g), by_hand, rtol=1e-10)  # 1 - σ loses some digits


def test_categorical_step_sums_over_atoms():
    scores, logs = RNG.normal(size=(4, 3)), np.log(RNG.uniform(0.1, 0.9, (4, 2)))
    no = np.log1p(-np.exp(logs))
    weights = memberships(np.exp(logs))
    resp, local = categorical_step(scores, logs, no)
    assert_allclose(local, np.log((weights * np.exp(scores)).sum(axis=1)), rtol=1e-12)
    assert_allclose(resp, weights * np.exp(scores - local[:, None]), rtol=1e-12)


def test_sequential_sticks_maximise_the_paper_bound():
    """Each ρ of the fixed point is the best on a fine grid, the others held."""
    scores = RNG.normal(0, 2, (1, 4))
    log_yes, log_no = np.log(RNG.uniform(0.2, 0.8, (2, 1, 3)))
    sticks = np.full((1, 3), 0.5)
    for _ in range(500):
        sticks, local = bernoulli_step(scores, log_yes, log_no, sticks)

    def bound(rho):
        rest = 1 - rho
        gates = rho * log_yes + rest * log_no - rho * np.log(rho) - rest * np.log(rest)
        return float((memberships(rho) * scores).sum() + gates.sum())

    assert_allclose(bound(sticks), local[0], rtol=1e-10)
    for k, value in itertools.product(range(3), np.linspace(1e-4, 1 - 1e-4, 400)):
        other = sticks.copy()
        other[0, k] = value
        assert bound(other) <= bound(sticks) + 1e-9


def logistic_data(n=120, n_centers=6):
    coords = np.linspace(0, 10, n)[:, None]
    yes = (np.sin(coords[:, 0]) > 0).astype(float)
    centers = choose_centers("subsample", n_centers, coords)
    return KernelBank(coords, centers, np.array([3.0])), yes


def test_gate_is_bayesian_logistic_regression_where_memberships_are_certain():
    """The fixed point equals that of an independent optimiser of the same bound to 1e-5."""
    from scipy.optimize import minimize

    bank, yes = logistic_data()
    a0 = b0 = 1.0
    fitter = GateFitter(bank, StudentT(a0, b0), "fixed", None)
    gating = fitter.start(1)
    for _ in range(4000):
        gating = fitter.step(gating, yes[:, None], 1 - yes[:, None], choose=False)
    gate = gating.gates[0]
    X, d = bank.rows(0), bank.n_columns
    index = np.tril_indices(d)

    def minus_bound(theta):  # w ~ N(m, LL'), λ and η at their best given it
        m, L = theta[:d], np.zeros((d, d))
        L[index] = theta[d:]
        moment = (L**2).sum(axis=1) + m**2
        mean = X @ m
        eta = np.sqrt(((X @ L) ** 2).sum(axis=1) + mean**2)
        data = np.sum((yes - 0.5) * mean - np.logaddexp(0, -eta) - eta / 2)
        prior = -(a0 + 0.5) * np.log(b0 + moment / 2).sum()
        return -(data + prior + np.log(np.abs(np.diagonal(L))).sum())

    start = np.concatenate([gate.coef * 0.9, np.linalg.cholesky(gate.cov * 1.1)[index]])
    found = minimize(minus_bound, start, method="BFGS", options={"gtol": 1e-7, "maxiter": 5000})
    assert_allclose(gate.coef, found.x[:d], atol=1e-5)
    L = np.zeros((d, d))
    L[index] = found.x[d:]
    assert_allclose(gate.cov, L @ L.T, atol=1e-5)


@pytest.mark.parametrize("prior", [StudentT(1e-6, 1e-6), StudentT(1.0, 1.0), SpikeSlab(1.0, 1.0)])
def test_gate_steps_never_lower_their_bound(prior):
    bank, yes = logistic_data()
    fitter = GateFitter(bank, prior, "fixed", None)
    gating, last = fitter.start(1), -np.inf
    for _ in range(60):
        gating = fitter.step(gating, yes[:, None], 1 - yes[:, None], choose=False)
        log_yes, log_no = gating.log_sigmoids()
        bound = float(yes @ log_yes[:, 0] + (1 - yes) @ log_no[:, 0]) + gating.bound
        assert bound >= last - 1e-8
        last = bound


def test_spike_slab_bound_is_below_the_evidence():
    """One kernel: the evidence by Monte Carlo over bias, weight and indicator."""
    coords = np.array([[0.0], [1.0], [2.0], [3.0]])
    yes = np.array([1.0, 1.0, 0.0, 0.0])
    bank = KernelBank(coords, np.array([[0.0]]), np.array([2.0]))
    fitter = GateFitter(bank, SpikeSlab(2.0, 2.0), "fixed", None)
    gating = fitter.start(1)
    for _ in range(200):
        gating = fitter.step(gating, yes[:, None], 1 - yes[:, None], choose=False)
    log_yes, log_no = gating.log_sigmoids()
    bound = float(yes @ log_yes[:, 0] + (1 - yes) @ log_no[:, 0]) + gating.bound
    rng, X = np.random.RandomState(1), bank.rows(0)
    draws = 200_000
    lam = rng.gamma(2.0, 0.5, draws)
    w = rng.normal(size=(draws, 2)) / np.sqrt(lam)[:, None]
    w[:, 1] *= rng.uniform(size=draws) < rng.beta(1.0, 10.0, draws)
    signs = 2 * yes - 1
    like = np.exp(-np.logaddexp(0, -(w @ X.T) * signs).sum(axis=1))
    evidence = np.log(like.mean())  # its error is about 0.002
    assert bound < evidence + 0.01
    assert bound > evidence - 1.5


@pytest.mark.parametrize("allocation", ["categorical", "bernoulli"])
def test_bound_is_below_the_exact_evidence(allocation):
    """Six points, two atoms: all 64 allocations, the gate's weight integrated by Monte Carlo."""
    rng = np.random.RandomState(3)
    t = np.arange(6.0)
    X = np.where(t < 3, -1.0, 2.0)[:, None] + rng.normal(size=(6, 1))
    model = LogisticStickBreakingMixture(
        2, n_centers=2, bandwidths=4.0, a0=2.0, b0=2.0, allocation=allocation, tol=1e-9,
        max_iter=500, random_state=0,
    ).fit(X, t)  # fmt: skip
    blocks = [Block("gaussian", X)]
    observations = Observations(blocks, neighbours(t[:, None]))
    tables = observations.tables(blocks)
    draws = 100_000
    lam = rng.gamma(2.0, 0.5, (draws, 3))
    w = rng.normal(size=(draws, 3)) / np.sqrt(lam)
    bank = KernelBank(t[:, None], model.centers_, np.array([4.0]))
    g = w @ bank.rows(0).T
    log_yes, log_no = -np.logaddexp(0, -g), -np.logaddexp(0, g)
    terms = []
    for c in itertools.product((0, 1), repeat=6):
        first = np.array(c, dtype=float)
        resp = np.stack([first, 1 - first], axis=1)
        likelihood = observations.evidences(tables, resp).sum() + 6 * observations.log_unit
        gate = logsumexp(log_yes @ first + log_no @ (1 - first)) - np.log(draws)
        terms.append(likelihood + gate)
    evidence = logsumexp(terms)
    assert model.lower_bound_ < evidence + 0.02  # Monte Carlo
    assert model.lower_bound_ > evidence - 6.0


@settings(max_examples=8, deadline=None)
@given(
    st.integers(0, 10_000),
    st.sampled_from(["categorical", "bernoulli"]),
    st.sampled_from(["student_t", "spike_slab"]),
)
def test_bound_never_falls_with_fixed_widths(seed, allocation, weight_prior):
    rng = np.random.RandomState(seed)
    X, coords = rng.normal(size=(40, 2)) * [1.0, 1e3], rng.uniform(0, 5, (40, 2))
    model = LogisticStickBreakingMixture(
        4, n_centers=8, bandwidths=[2.0], bandwidth_inference="fixed", allocation=allocation,
        weight_prior=weight_prior, n_init=1, merge_moves=False, tol=0.0, max_iter=40,
        random_state=0,
    )  # fmt: skip
    with pytest.warns():  # forty iterations are not enough for tol=0
        model.fit(X, coords)
    rises = np.diff(model.lower_bounds_)
    assert model.n_iter_ == 40  # a fall would have ended the climb
    assert rises.min() >= -1e-9 * abs(model.lower_bound_)


def test_default_widths_cover_neighbours_and_extent():
    coords = np.indices((20, 20)).reshape(2, -1).T.astype(float)
    centers = choose_centers("subsample", 100, coords)
    lengths = width_library("auto", "length", coords, centers)
    near = np.sort(((centers[:, None] - centers) ** 2).sum(axis=2), axis=1)[:, 1]
    assert_allclose(lengths[0], 2 * np.sqrt(np.median(near)))
    assert_allclose(lengths[-1], np.hypot(19, 19) / 2)
    assert_allclose(width_library("auto", "squared", coords, centers), lengths**2)
    assert near.min() >= 1.4  # centres cover the grid: none beside another
