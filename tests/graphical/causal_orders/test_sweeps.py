"""Every sampler draws from its posterior: Geweke's joint test, and enumeration."""

from itertools import permutations, product

import numpy as np
import pytest
from scipy.stats import kstest, multivariate_normal

from octavo.engine.mcmc.compiled_draws import draw_state
from octavo.engine.mcmc.enumeration import all_subsets, exact_law
from octavo.engine.mcmc.joint_test import geweke_joint_test
from octavo.graphical.causal_orders.confounded import draw_opposed
from octavo.graphical.causal_orders.model import Chain, dag_chain, factor_chain, priors
from octavo.graphical.causal_orders.orders import rank_orders
from octavo.graphical.causal_orders.sources import (
    ABSENT,
    ALPHA_M,
    ALWAYS,
    FREE,
    GAUSSIAN,
    HELD,
    LAPLACE,
    STUDENT,
)
from octavo.graphical.causal_orders.sweeps import search_orders

N = 6


def draw_prior(chain, rng):
    """Replace the state of a chain by a draw from its prior; data follow later."""
    hyper, (d, K) = chain.hyper, chain.W.shape
    chain.psi[:] = 1.0 / rng.gamma(hyper[0], 1.0 / hyper[1], d)
    chain.slab[:] = rng.gamma(hyper[2], 1.0 / hyper[3], (d, K))
    chain.nu[:] = rng.beta(hyper[6] * chain.means, hyper[6] * (1 - chain.means))
    inside = rng.random((d, K)) < hyper[5] * chain.nu
    inside = np.where(chain.allowed == FREE, inside, chain.allowed == ALWAYS)
    chain.Q[:] = inside
    chain.W[:] = inside * rng.standard_normal((d, K)) * np.sqrt(chain.psi[:, None] / chain.slab)
    for j, (kind, value) in enumerate(zip(chain.kinds, chain.parameters, strict=True)):
        if kind == LAPLACE:
            chain.precision[j] = 1.0 / rng.exponential(2.0 / value**2, N)
        elif kind == STUDENT:
            chain.precision[j] = rng.gamma(value / 2, 2.0 / value, N)
        else:
            chain.precision[j] = 1.0
    chain.Z[:] = rng.standard_normal(chain.Z.shape) / np.sqrt(chain.precision)


def draw_data(chain, order, rng):
    """Draw x given everything else, in causal order."""
    p = len(chain.F)
    noise = np.sqrt(chain.psi)[:, None] * rng.standard_normal(chain.X.shape)
    base = chain.W[:, p:] @ chain.Z + noise
    for i in order:
        chain.X[i] = base[i] + (chain.W[i, :p] @ chain.X if p else 0.0)
    if p:
        chain.F = chain.X  # the parents are the data themselves


def moments(chain):
    """Return bounded statistics, whose errors a normal law describes."""
    free = chain.allowed == FREE
    squash, X, Z = np.tanh, chain.X, chain.Z
    scales = np.tanh(np.log(chain.precision))
    return np.array(
        [
            chain.psi.mean() * 20,
            np.log(chain.psi).mean(),
            chain.nu.mean(),
            chain.Q[free].mean(),
            (chain.Q[free].mean()) ** 2,
            np.log(chain.slab[chain.allowed != ABSENT]).mean(),
            squash(np.abs(chain.W[chain.allowed != ABSENT]) * 4).mean(),
            squash(np.abs(Z)).mean(),
            squash(np.abs(Z[-1])).mean(),
            scales.mean(),
            scales[0, 0],
            squash(X**2).mean(),
            squash(X[0] * X[-1] * 4).mean(),
            squash(np.abs(X[-1] * Z[-1])).mean(),
            squash(20 * chain.W[-1, -1] * Z[-1] @ X[-1] / N),
        ]
    )


def joint_z(make, order, n_draws, seed):
    rng = np.random.default_rng(seed)
    state = draw_state(rng)

    def prior(rng):
        chain = make()
        draw_prior(chain, rng)
        return chain

    def simulate(chain, rng):
        draw_data(chain, order, rng)
        return chain

    def transition(chain, rng):
        chain.run(1, state)
        return chain

    return geweke_joint_test(prior, simulate, transition, moments, n_draws, rng).z


def factor(kind, value, levels=2):
    return lambda: factor_chain(np.zeros((3, N)), 2, law=(kind, value), levels=levels)


def pure_dag(kind, value):
    return lambda: dag_chain(np.zeros((3, N)), [2, 0, 1], rate=0.5, laws=[(kind, value)] * 3)


def dag(degrees):
    # A Cauchy latent leaves its large values slowly: some 500 effective draws of 30,000.
    laws = [(LAPLACE, 1.0)] * 3 + [(STUDENT, degrees)]
    return lambda: dag_chain(np.zeros((3, N)), [2, 0, 1], rate=0.5, laws=laws, n_latent=1)


MODELS = {
    "laplace": (factor(LAPLACE, 1.0), range(3)),
    "student": (factor(STUDENT, 5.0), range(3)),
    "gaussian": (factor(GAUSSIAN, 1.0), range(3)),
    "one level": (factor(LAPLACE, 1.0, levels=1), range(3)),
    "dag": (pure_dag(LAPLACE, 1.0), [2, 0, 1]),
    "dag of student signals": (pure_dag(STUDENT, 5.0), [2, 0, 1]),
    "dag with a latent cause": (dag(5.0), [2, 0, 1]),
    "dag with a Cauchy cause": (dag(1.0), [2, 0, 1]),
}


@pytest.mark.parametrize("name", [name for name in MODELS if "Cauchy" not in name])
def test_joint_distribution(name):
    make, order = MODELS[name]
    z = joint_z(make, order, 1200, seed=3)
    assert z.size >= 10
    assert np.abs(z).max() < 4


def test_joint_distribution_can_fail():
    """Odds of a slab that are off by a factor, as in the paper's text, do not pass."""
    make, order = MODELS["laplace"]
    rng = np.random.default_rng(3)
    state = draw_state(rng)

    def prior(rng):
        chain = make()
        draw_prior(chain, rng)
        return chain

    def transition(chain, rng):
        chain.hyper[5] = 0.6  # α_m, 0.95 in the prior
        chain.run(1, state)
        return chain

    def simulate(chain, rng):
        draw_data(chain, order, rng)
        return chain

    z = geweke_joint_test(prior, simulate, transition, moments, 800, rng).z
    assert np.abs(z).max() > 6


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_joint_distribution_long(name):
    make, order = MODELS[name]
    assert np.abs(joint_z(make, order, 20_000, seed=11)).max() < 4


def exact_inclusion(X, y, psi, tau, inclusion):
    """Return p(q | y) of all subsets, coefficients integrated out."""
    masks = all_subsets(X.shape[1])

    def log_density(mask):
        cov = psi * (np.eye(len(y)) + tau * X[:, mask] @ X[:, mask].T)
        prior = np.where(mask, np.log(inclusion), np.log1p(-inclusion)).sum()
        return multivariate_normal.logpdf(y, np.zeros(len(y)), cov) + prior

    return exact_law(log_density, masks) @ masks


@pytest.mark.parametrize("seed", range(3))
def test_inclusion_equals_enumeration(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((15, 3))
    y = X @ [0.5, 0.2, 0.0] + 0.7 * rng.standard_normal(15)
    hyper = priors(noise=0.5, slab=0.4, inclusion=0.3)
    chain = Chain(y[None], np.full((1, 3), FREE), X.T, [], np.full(3, 0.5), hyper)
    chain.psi[:], chain.slab[:], chain.nu[:] = 0.5, 1 / 0.4, 0.3
    draws = chain.sample(20_000, 200, draw_state(rng))
    exact = exact_inclusion(X, y, 0.5, 0.4, 0.3)
    # 20,000 draws of weakly dependent 0-1 numbers: 0.02 is over five standard errors of 0.0035
    assert np.allclose(draws.Q[:, 0].mean(axis=0), exact, atol=0.02)


def test_order_search_visits_by_the_masked_likelihood():
    d, n = 4, 8
    rng = np.random.default_rng(0)
    C, Z = rng.standard_normal((d, d)), rng.laplace(size=(d, n))
    X, psi = C @ Z + rng.standard_normal((d, n)), np.full(d, 4.0)
    places = [np.array(p) for p in permutations(range(d))]

    def log_density(pair):
        rows, columns = pair
        masked = np.where(columns[None, :] > rows[:, None], 0.0, C)
        return -0.5 * np.sum((X - masked @ Z) ** 2 / psi[:, None])

    pairs = list(product(places, places))
    law = exact_law(log_density, pairs).reshape(len(places), len(places)).sum(axis=1)
    exact = {tuple(np.argsort(p)): mass for p, mass in zip(places, law, strict=True)}
    visited = np.empty((300_000, d), dtype=np.int16)
    squares = np.sum(X**2, axis=1)
    search_orders(Z @ Z.T, X @ Z.T, squares, C, psi, len(visited), draw_state(rng),
                  np.arange(d), np.arange(d), np.empty(d), 0, visited)  # fmt: skip
    seen = {c.order: c.frequency for c in rank_orders(visited, 24)}
    assert max(exact.values()) > 0.1  # not the uniform law
    assert sum(abs(seen.get(o, 0.0) - mass) for o, mass in exact.items()) / 2 < 0.02


def test_pairs_that_cancel_have_the_law_of_a_regression():
    """Both out, or both in as coefficients of the driving signal: normal, so in closed form."""
    rng = np.random.default_rng(5)
    c, size, psi, slab, rate, n = 0.7, 0.6, 0.5, 25.0, 0.4, 8
    Z = rng.standard_normal((3, n))  # driving signals of x_0 and x_1, and a latent
    F = np.array([c * Z[2] + 0.3 * Z[0], np.zeros(n)])
    signal = Z[1].copy()
    W, Q = np.zeros((2, 5)), np.zeros((2, 5), dtype=np.int64)
    W[0, 4], W[1, 3] = c, size
    hyper = priors()
    hyper[ALPHA_M] = 1.0
    chain = Chain(F, [[ABSENT, ABSENT, HELD, ABSENT, FREE], [FREE, ABSENT, ABSENT, HELD, FREE]],
                  F, [(GAUSSIAN, 1.0)] * 3, np.full(5, rate), hyper)  # fmt: skip
    moves = np.array([[1, 0, 4, 3]] * 60)
    state, work = draw_state(rng), np.empty((3, n))
    inside, loadings = [], []
    for _ in range(100_000):
        draw_opposed(F, moves, chain.kinds, chain.parameters, hyper, state, work,
                     np.full((2, 5), slab), np.full(5, rate), np.full(2, psi), W, Q, Z,
                     np.ones((3, n)))  # fmt: skip
        inside.append(Q[1, 0])
        loadings.append([W[1, 0], W[1, 4]])
        assert Q[1, 0] == Q[1, 4]
    # what the moves preserve: b f + k z + size × signal
    assert W[1, 0] * F[0] + W[1, 4] * Z[2] + size * Z[1] == pytest.approx(size * signal)
    A = np.column_stack([F[0], Z[2]]) / size
    logs = [multivariate_normal.logpdf(signal, np.zeros(n), np.eye(n) + v * A @ A.T)
            for v in (0.0, psi / slab)]  # fmt: skip
    odds = (rate / (1 - rate)) ** 2 * np.exp(logs[1] - logs[0])
    cov = np.linalg.inv(A.T @ A + slab / psi * np.eye(2))
    mean = cov @ A.T @ signal
    inside, loadings = np.array(inside, dtype=bool), np.array(loadings)
    found = loadings[inside]
    # standard errors by batches: 0.0022, 0.0024 and 0.0004; tolerances are five of them
    assert inside.mean() == pytest.approx(odds / (1 + odds), abs=0.011)
    np.testing.assert_allclose(found.mean(axis=0), mean, atol=0.012)
    np.testing.assert_allclose(np.cov(found.T), cov, atol=0.002)


def test_missing_entries_are_drawn_from_the_model():
    """A missing entry has mean cz and variance ψ; what is kept of it is that mean."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3, 40))
    chain = factor_chain(X.copy(), 2, missing=np.array([[1, 5]]))
    chain.start(rng)
    state, scores = draw_state(rng), []
    for _ in range(3000):
        kept = chain.run(1, state).missing
        mean = chain.W[1] @ chain.Z[:, 5]
        assert kept == pytest.approx(np.array([[mean]]))
        scores.append((chain.X[1, 5] - mean) / np.sqrt(chain.psi[1]))
    assert kstest(scores, "norm").pvalue > 1e-3
    assert np.array_equal(np.delete(chain.X, 5, axis=1), np.delete(X, 5, axis=1))


def test_an_edge_and_a_loading_that_cancel_are_found():
    """Figure 3(b): z acts on x1 and not on x2; driving signals have their size, as in Figure 11."""
    rng = np.random.default_rng(11)
    own = rng.laplace(size=(2, 500)) / np.sqrt(2)
    X = np.array([own[0] + rng.standard_cauchy(500), own[0] + own[1]])
    allowed = [[ABSENT, ABSENT, HELD, ABSENT, FREE], [FREE, ABSENT, ABSENT, HELD, FREE]]
    laws = [(LAPLACE, np.sqrt(2.0))] * 2 + [(STUDENT, 1.0)]
    found = []
    for child in rng.spawn(4):
        chain = Chain(X, allowed, X, laws, np.full(5, 0.99), priors())
        chain.start(child)
        chain.W[0, 2] = chain.W[1, 3] = 1.0
        draws = chain.sample(400, 600, draw_state(child))
        found.append(np.median(draws.W[:, 1, 0]))
    assert np.median(found) > 0.5  # b = 1; without the moves all chains end at 0
