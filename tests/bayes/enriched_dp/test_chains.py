"""Chains against an enumeration of all nested partitions, and Geweke's joint test."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from octavo.bayes import DPMixtureRegressor, EnrichedDPClassifier, EnrichedDPRegressor
from octavo.bayes.enriched_dp.chain import NestedChain
from octavo.bayes.enriched_dp.state import ALPHA, MU, NOISE, OWNER, PARTS, PREC, ROWS, SIZE, Base
from octavo.bayes.enriched_dp.state import Table as Rows
from octavo.data import make_two_regimes
from octavo.engine.mcmc.joint_test import geweke_joint_test
from tests.bayes.enriched_dp.enumerated import PRIOR, co_clustering, rows

X, Y = rows()
LONG = {"n_iter": 16_500, "burn_in": 500, "random_state": 0}
TOLERANCE = 0.02  # about four standard errors of a share of 16,000 draws, half of them effective


def gap(model, exact):
    return max(
        np.abs(model.co_clustering_y_ - exact[0]).max(),
        np.abs(model.co_clustering_x_ - exact[1]).max(),
    )


@pytest.mark.parametrize("moves", [True, False])
@pytest.mark.parametrize("collapsed", [True, False])
def test_chain_equals_enumeration(moves, collapsed):
    model = EnrichedDPRegressor(
        alpha_theta=1.0, alpha_psi=0.7, mh_moves=moves, collapsed=collapsed, **LONG, **PRIOR
    ).fit(X, Y)
    assert gap(model, co_clustering(X, Y, 1.0, 0.7)) < TOLERANCE
    assert (model.acceptance_ > 0.05).all() == moves


def test_chain_equals_enumeration_with_drawn_concentrations():
    model = EnrichedDPRegressor(alpha_theta=1.0, **LONG, **PRIOR).fit(X, Y)
    assert gap(model, co_clustering(X, Y, 1.0, None)) < TOLERANCE


@pytest.mark.parametrize("collapsed", [True, False])
def test_plain_mixture_equals_enumeration(collapsed):
    model = DPMixtureRegressor(alpha_theta=1.0, collapsed=collapsed, **LONG, **PRIOR).fit(X, Y)
    exact = co_clustering(X, Y, 1.0, None, plain=True)
    assert gap(model, exact) < TOLERANCE
    limit = EnrichedDPRegressor(alpha_theta=1.0, alpha_psi=1e-8, **LONG, **PRIOR).fit(X, Y)
    assert gap(limit, exact) < TOLERANCE


def probit_marginal(design, y):
    """Return the log probability of classes: a box of a normal law."""
    signs = np.where(y > 0.5, 1.0, -1.0)
    covariance = np.eye(len(y)) + design @ np.diag(1 / np.array(PRIOR["C"])) @ design.T
    mean = design @ PRIOR["beta0"]
    flipped = covariance * np.outer(signs, signs)
    law = multivariate_normal(-signs * mean, flipped, seed=0)
    return np.log(law.cdf(np.zeros(len(y))))


@pytest.mark.parametrize(
    "options", [{}, {"mh_moves": False}, {"collapsed": True}], ids=["both", "gibbs", "collapsed"]
)
def test_probit_equals_enumeration(options):
    keep = {k: v for k, v in PRIOR.items() if k not in ("a_y", "b_y")}
    y = np.array([1, 0, 1, 0])
    model = EnrichedDPClassifier(alpha_theta=1.0, alpha_psi=0.7, **LONG, **keep, **options)
    model.fit(X[:4], y)
    exact = co_clustering(X[:4], y, 1.0, 0.7, y_marginal=probit_marginal)
    assert gap(model, exact) < TOLERANCE


def logit_marginal(design, y):
    """Return the log probability of classes by an average over the prior."""
    rng = np.random.default_rng(5)
    beta = PRIOR["beta0"] + rng.normal(size=(200_000, 3)) / np.sqrt(PRIOR["C"])
    eta = beta @ design.T * np.where(y > 0.5, 1.0, -1.0)
    return np.log(np.exp(-np.log1p(np.exp(-eta)).sum(axis=1)).mean())


@pytest.mark.slow
@pytest.mark.parametrize("moves", [True, False])
def test_logit_equals_enumeration(moves):
    keep = {k: v for k, v in PRIOR.items() if k not in ("a_y", "b_y")}
    y = np.array([1, 0, 1, 0])
    options = {"alpha_theta": 1.0, "alpha_psi": 0.7, "link": "logit", "mh_moves": moves}
    model = EnrichedDPClassifier(**options, **LONG, **keep).fit(X[:4], y)
    exact = co_clustering(X[:4], y, 1.0, 0.7, y_marginal=logit_marginal)
    assert gap(model, exact) < TOLERANCE


N = 4


def joint_pieces(response, collapsed, others, plain=False):
    """Return prior, data and a step of the sampler for the joint test: few rows, one column each.

    The state is a chain; its table is rewritten by `simulate`.
    """
    d = 2 if others is None else 3
    base = Base(
        np.vstack([np.eye(d), np.eye(d), np.zeros(d)]),
        np.array([3.0, 2.0, 2.0, 2.0, 0.0 if plain else 2.0, 2.0, 1.0, 1.0]),
        np.array([[0.0], [1.0], [3.0], [2.0]]),
        others,
        np.array([[1.0, 0.0, 1.0], [2.0, 1.0, 1.0]])[: d - 1],
        np.array([response, 1, int(plain), int(collapsed), int(not plain)]),
    )

    def design(x):
        columns = [np.ones(N), x[:, 0]]
        if others is not None:
            columns.append(x[:, 1] - (1.0 if others is COUNTS else 0.0))
        return np.column_stack(columns)

    def prior(rng):
        x = np.zeros((N, d - 1))
        table = Rows(x, design(x), np.zeros((5, N)), np.zeros((0, 2), dtype=np.int64))
        chain = NestedChain(table, base, rng)
        mix = chain.mix
        chain.base.scalars[7] = rng.gamma(2.0, 0.5)
        alphas, y_sizes, x_sizes, owner = [], [], [], []
        for i in range(N):
            weights = np.r_[y_sizes, chain.base.scalars[7]]
            j = rng.choice(len(weights), p=weights / weights.sum())
            if j == len(y_sizes):
                y_sizes.append(0)
                alphas.append(rng.gamma(2.0, 0.5))
            inside = [l for l in range(len(owner)) if owner[l] == j]
            weights = np.r_[[x_sizes[l] for l in inside], 0.0 if plain and inside else alphas[j]]
            pick = rng.choice(len(weights), p=weights / weights.sum())
            if pick == len(inside):
                inside.append(len(owner))
                owner.append(j)
                x_sizes.append(0)
            l = inside[pick]
            y_sizes[j] += 1
            x_sizes[l] += 1
            mix.labels[i] = l
        k, kx = len(y_sizes), len(owner)
        mix.sizes[:] = k, kx
        mix.xi[:kx, OWNER], mix.xi[:kx, SIZE] = owner, x_sizes
        mix.yi[:k, ROWS], mix.yi[:k, PARTS] = y_sizes, np.bincount(owner)
        mix.ys[:k, ALPHA] = 1.0 if plain else alphas
        mix.ys[:k, NOISE] = 1.0 if response else 2.0 / rng.gamma(3.0, 1.0, k)
        mix.beta[:k, 0] = rng.normal(size=(k, d)) * np.sqrt(mix.ys[:k, NOISE])[:, None]
        mix.xp[:kx, PREC, 0] = rng.gamma(3.0, 0.5, kx)
        mix.xp[:kx, MU, 0] = rng.normal(size=kx) / np.sqrt(mix.xp[:kx, PREC, 0])
        if others is COUNTS:
            rates = rng.gamma(others[0, 3], 1 / others[0, 4], kx)
            mix.xt[:kx, 0, 1], mix.xt[:kx, 0, 2] = np.log(rates), rates
        elif others is LEVELS:
            mix.xt[:kx, 0, 1:] = np.log(rng.dirichlet([0.8, 0.8], kx))
        mix.xt[:kx, 0, 0] = 0.5 * (np.log(mix.xp[:kx, PREC, 0]) - np.log(2 * np.pi))
        return chain

    def simulate(chain, rng):
        mix, table = chain.mix, chain.table
        l = mix.labels
        j = mix.xi[l, OWNER]
        table.x[:, 0] = mix.xp[l, MU, 0] + rng.normal(size=N) / np.sqrt(mix.xp[l, PREC, 0])
        if others is COUNTS:
            table.x[:, 1] = rng.poisson(mix.xt[l, 0, 2])
        elif others is LEVELS:
            table.x[:, 1] = rng.random(N) < np.exp(mix.xt[l, 0, 2])
        table.design[:] = design(table.x)
        eta = np.einsum("nd,nd->n", table.design, mix.beta[j, 0])
        if response == 0:
            table.rows[1] = eta + rng.normal(size=N) * np.sqrt(mix.ys[j, NOISE])
            table.rows[4] = table.rows[1]
        elif response == 1:
            table.rows[4] = eta + rng.normal(size=N)
            table.rows[1] = table.rows[4] > 0
        else:
            table.rows[1] = rng.poisson(np.exp(np.minimum(eta, 6.0)))
        chain._densities(slice(None))
        return chain

    def step(chain, rng):
        chain.step()
        return chain

    def statistics(chain):
        mix = chain.mix
        j = mix.xi[mix.labels, OWNER]
        y, x = np.tanh(chain.table.rows[1]), np.tanh(chain.table.x[:, 0])
        return [
            mix.sizes[0], mix.sizes[1], np.log(chain.base.scalars[7]), mix.ys[j[0], ALPHA],
            j[0] == j[1], mix.labels[0] == mix.labels[1], np.tanh(mix.beta[j[0], 0, 1]) ** 2,
            np.log(mix.ys[j[0], NOISE]), np.log(mix.xp[mix.labels[0], PREC, 0]), y[0] * x[0],
            y[0] * y[1], x[0] * x[1], np.tanh(mix.beta[j[0], 0, 0]) * y[0],
        ]  # fmt: skip

    return prior, simulate, step, statistics


COUNTS = np.array([[2.0, 1.0, 2.0, 2.0, 2.0]])
LEVELS = np.array([[1.0, 1.0, 2.0, 0.8, 0.0]])


@pytest.mark.parametrize(
    ("response", "collapsed", "others"),
    [
        (0, False, None),
        pytest.param(0, True, COUNTS, marks=pytest.mark.slow),
        (1, False, None),
        pytest.param(1, True, None, marks=pytest.mark.slow),
        pytest.param(3, False, None, marks=pytest.mark.slow),
    ],
    ids=["gaussian", "collapsed", "probit", "probit-collapsed", "poisson"],
)
def test_joint_law_of_parameters_and_data(response, collapsed, others):
    """Geweke (2004): a wrong ratio, density or order shows as a z-score beyond four."""
    pieces = joint_pieces(response, collapsed, others)
    test = geweke_joint_test(*pieces, n_draws=2500, rng=np.random.default_rng(7))
    assert np.abs(test.z).max() < 4.2, test.z.round(2)


@pytest.mark.parametrize(
    ("response", "collapsed", "others"),
    [
        (0, False, None),
        (1, False, None),
        pytest.param(0, True, None, marks=pytest.mark.slow),
        pytest.param(1, True, None, marks=pytest.mark.slow),
        pytest.param(0, False, COUNTS, marks=pytest.mark.slow),
        pytest.param(0, False, LEVELS, marks=pytest.mark.slow),
    ],
    ids=["gaussian", "probit", "collapsed", "probit-collapsed", "counts", "levels"],
)
def test_joint_law_of_a_plain_mixture(response, collapsed, others):
    pieces = joint_pieces(response, collapsed, others, plain=True)
    test = geweke_joint_test(*pieces, n_draws=2500, rng=np.random.default_rng(8))
    assert np.abs(test.z).max() < 4.2, test.z.round(2)


def test_numbers_of_clusters_of_a_plain_mixture_mix():
    """Single rows gave 6 to 56 effective draws of 4,000; with splits and merges 130 to 230."""
    X, y = make_two_regimes(200, 5, random_state=300)
    model = DPMixtureRegressor(n_iter=5000, burn_in=1000, random_state=0).fit(X, y)
    assert model.ess_[0] > 80
    assert (model.acceptance_[:2] > 0).all()
