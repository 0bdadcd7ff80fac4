"""The network against brute force over assignments, quadrature, enumeration and its own draws."""

import itertools
import warnings

import numpy as np
import pytest
from scipy.stats import ks_2samp

from octavo.engine.trees.derivatives import DerivativeTree
from octavo.graphical import (
    CDN,
    CopulaCDF,
    GaussianCDF,
    LogisticCDF,
    TableCDF,
    UnivariateCDF,
    bidirected_graph,
    factor_scopes,
)
from octavo.graphical.cumulative_networks.fitting import _pairs, _whole, row_scores

NORMAL = [UnivariateCDF("normal"), UnivariateCDF("normal", 0.5, 2.0)]
PAIR = GaussianCDF([0.0, 0.3], [[1.0, 0.4], [0.4, 1.5]])


def random_table(shape, seed):
    mass = np.random.default_rng(seed).dirichlet(np.ones(np.prod(shape))).reshape(shape)
    for axis in range(len(shape)):
        mass = mass.cumsum(axis)
    return TableCDF(mass)


def tree():
    """Return five variables and factors of one to three, one of each kind."""
    return CDN(
        [
            ((2, 0, 1), LogisticCDF([1.0, 0.7, 1.5])),
            ((2, 3), CopulaCDF("gumbel", 0.5, NORMAL)),
            ((4, 2), PAIR),
            ((3,), UnivariateCDF("gumbel")),
            ((0, 2), CopulaCDF("clayton", 1.2, NORMAL)),
        ]
    )


def ring(d=4):
    factors = [((k, (k + 1) % d), LogisticCDF([1.0 + 0.2 * k, 0.8])) for k in range(d)]
    return CDN(factors, loopy="cluster")


def mixed():
    return CDN(
        [
            ((0, 1), random_table((3, 4), 0)),
            ((1, 2), GaussianCDF([1.0, 0.0], [[1.0, 0.5], [0.5, 1.0]])),
            ((2, 3), LogisticCDF([1.0, 2.0])),
            ((3, 4), CopulaCDF("frank", 2.0, NORMAL)),
        ],
        kinds=["ordinal", "ordinal", "continuous", "continuous", "ordinal"],
    )


def brute_force(network, X):
    """Sum over all assignments of variables to factors; ordinal ones over both corners."""
    d = network.n_variables
    steps = [kind == "ordinal" for kind in network.kinds]
    choices = []
    for v in range(d):
        mine = [s for s, scope in enumerate(network.scopes) if v in scope]
        choices.append([("corner", 0), ("corner", 1)] if steps[v] else [("slope", s) for s in mine])
    total = np.zeros(len(X))
    for pick in itertools.product(*choices):
        at, sign = X.copy(), 1.0
        for v, (what, which) in enumerate(pick):
            if what == "corner" and which == 1:
                sign = -sign
                at[:, v] = np.where(X[:, v] >= 1, X[:, v] - 1, -np.inf)
        term = np.full(len(X), sign)
        for s, (scope, factor) in enumerate(network.factors):
            wanted = [pick[v] == ("slope", s) for v in scope]
            own = at[:, list(scope)]
            below = np.isneginf(own).any(axis=1)
            table = factor.log_jet(np.where(np.isneginf(own), 0.0, own), wanted)
            value = np.exp(table[tuple(int(w) for w in wanted)])
            term = term * np.where(below, 0.0, value)
        total += term
    return np.log(total)


@pytest.mark.parametrize("make", [tree, ring, mixed])
def test_log_density_is_the_mixed_derivative_from_every_root(make):
    network = make()
    X = network.sample(6, random_state=0)
    want = brute_force(network, X)
    for root in range(network.n_variables):
        assert network.logpdf(X, root=root) == pytest.approx(want, abs=1e-10)


def test_dense_loops_by_clustering_equal_brute_force():
    rng = np.random.default_rng(0)
    for _ in range(3):
        pairs = [(i, j) for i in range(5) for j in range(i) if rng.uniform() < 0.5]
        scopes = [*pairs, *((v,) for v in range(5) if not any(v in p for p in pairs))]
        factors = [(s, LogisticCDF(rng.uniform(0.5, 2, size=len(s)))) for s in scopes]
        network = CDN(factors, loopy="cluster")
        X = rng.normal(size=(4, 5))
        assert network.logpdf(X) == pytest.approx(brute_force(network, X), abs=1e-10)


def test_ordinal_masses_sum_to_one():
    network = CDN(
        [((0, 1), random_table((3, 4), 1)), ((1, 2), random_table((4, 2), 2))],
        kinds=["ordinal"] * 3,
    )
    cells = np.array(list(itertools.product(range(3), range(4), range(2))), dtype=float)
    mass = np.exp(network.logpdf(cells))
    assert mass.sum() == pytest.approx(1.0, abs=1e-13)
    assert mass == pytest.approx(np.exp(brute_force(network, cells)), abs=1e-13)
    assert np.isneginf(network.logpdf([[3.0, 0, 0]])[0])


def test_densities_of_examples_1_to_3_integrate_to_one():
    def normal(mx, my, sx, sy, rho):
        return GaussianCDF([mx, my], [[sx * sx, rho * sx * sy], [rho * sx * sy, sy * sy]])

    first = CDN(
        [
            ((0, 1), normal(0, 3, np.sqrt(3), 1, 0.9)),
            ((0, 1), normal(4, 4, np.sqrt(5), np.sqrt(10), -0.6)),
        ]
    )
    third = CDN([((0, 1), LogisticCDF([12.5, 0.125])), ((0, 1), LogisticCDF([0.4, 0.5]))])
    grids = (
        (np.linspace(-12, 25, 300), np.linspace(-12, 30, 300)),
        (np.sinh(np.linspace(-5, 5.5, 500)), np.linspace(-120, 400, 300)),  # steep near zero
    )
    for network, (x, y) in zip((first, third), grids):
        grid = np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1).reshape(-1, 2)
        density = np.exp(network.logpdf(grid)).reshape(len(x), len(y))
        mass = np.trapezoid(np.trapezoid(density, y, axis=1), x)
        assert mass == pytest.approx(1.0, abs=2e-3)


def test_example_4_orthants_do_not_factor_over_the_chain():
    r = np.sqrt(2) / 2
    network = CDN([((0, 1, 2), GaussianCDF([0, 0, 0], [[1, r, 0], [r, 1, -0.5], [0, -0.5, 1]]))])
    inf = np.inf
    got = network.cdf([[0, 0, inf], [inf, 0, 0], [0, 0, 0], [inf, 0, inf]])
    assert got == pytest.approx([3 / 8, 1 / 6, 7 / 48, 1 / 2], abs=1e-14)
    assert got[2] * got[3] != pytest.approx(got[0] * got[1], abs=1e-3)


def test_one_factor_twice_is_the_larger_of_two_draws():
    network = CDN([((0, 1), PAIR), ((1, 0), PAIR.marginal([1, 0]))])
    X = np.random.default_rng(0).normal(size=(5, 2))
    assert network.cdf(X) == pytest.approx(PAIR.cdf(X) ** 2)
    alone = CDN([((k,), UnivariateCDF("logistic")) for k in range(3)])
    Z = np.random.default_rng(1).normal(size=(5, 3))
    want = sum(UnivariateCDF("logistic").log_pdf(Z[:, k]) for k in range(3))
    assert alone.logpdf(Z) == pytest.approx(want)


def test_marginal_density_is_the_integral():
    network = CDN([((0, 1), LogisticCDF([1, 2])), ((1, 2), LogisticCDF([1.5, 1]))])
    point = np.array([0.3, -0.2])
    ts = np.linspace(-40, 60, 4001)
    rows = np.column_stack([np.full(4001, 0.3), ts, np.full(4001, -0.2)])
    want = np.trapezoid(np.exp(network.logpdf(rows)), ts)
    assert np.exp(network.marginal([0, 2]).logpdf([point]))[0] == pytest.approx(want, abs=1e-7)
    turned = network.marginal([2, 0]).logpdf([point[::-1]])
    assert turned == pytest.approx(network.marginal([0, 2]).logpdf([point]))


@pytest.mark.parametrize("make", [tree, ring, mixed])
def test_conditional_distribution_functions(make):
    network = make()
    x = network.sample(1, random_state=3)[0]
    ordinal = network.kinds[0] == "ordinal"
    values = np.arange(0.0, 6) if ordinal else np.linspace(-30, 60, 40)
    given = {1: x[1], 2: x[2]}
    for event in ("eq", "le"):
        curve = network.conditional_cdf({0: values}, given, event=event)
        assert (np.diff(curve) >= -1e-12).all()
        assert curve[-1] == pytest.approx(1.0, abs=1e-6)
    le = network.conditional_cdf({0: x[0]}, given, event="le")
    far = np.full((2, network.n_variables), np.inf)
    far[:, 1:3] = x[1:3]
    far[0, 0] = x[0]
    assert le == pytest.approx(np.divide(*network.cdf(far)))
    both = (
        network.marginal([0, 1, 2]).logpdf([x[:3]])[0]
        - network.marginal([1, 2]).logpdf([x[1:3]])[0]
    )
    assert network.conditional_logpdf({0: x[0]}, given) == pytest.approx(both, abs=1e-9)
    if not ordinal:
        h = 1e-4
        ends = network.conditional_cdf({0: x[0] + np.array([h, -h])}, given)
        assert np.log((ends[0] - ends[1]) / (2 * h)) == pytest.approx(both, abs=1e-4)


@pytest.mark.parametrize("make", [tree, ring, mixed])
def test_draws_have_the_distribution_function(make):
    network = make()
    n = 20_000
    draws = network.sample(n, random_state=0)
    for point in draws[:4]:
        share, chance = (draws <= point).all(axis=1).mean(), network.cdf([point])[0]
        assert abs(share - chance) < 4.5 * np.sqrt(chance * (1 - chance) / n) + 1e-4


@pytest.mark.parametrize("make", [ring, mixed])
def test_both_samplers_draw_the_same(make):
    network = make()
    fast = network.sample(600, random_state=0)
    slow = network.sample(300, method="sequential", random_state=1)
    for v in range(network.n_variables):
        assert ks_2samp(fast[:, v], slow[:, v]).pvalue > 1e-3
    assert ks_2samp(fast[:, :2].sum(axis=1), slow[:, :2].sum(axis=1)).pvalue > 1e-3


def test_far_rows_are_done_in_logarithms():
    network = CDN([((k, k + 1), LogisticCDF([1.0, 1.0])) for k in range(3)])
    value = network.logpdf(np.array([[-1000.0, -900, -800, -700], [900.0, 800, 900, 1000]]))
    assert np.isfinite(value).all()
    assert value[0] < -1000
    # Far to the right a factor's derivative by m variables is m! e^(-their sum); variables 1 and 2
    # go to either neighbour: 2 + 2 * 2 + 2 + 2 terms.
    assert value[1] == pytest.approx(-3600.0 + np.log(10), abs=1e-6)
    assert np.isneginf(network.logpdf([[np.inf, 0, 0, 0], [0, -np.inf, 0, 0]])).all()
    assert network.cdf([[-np.inf, 0, 0, 0]])[0] == 0.0


def test_independence_queries():
    chain = CDN([((k, k + 1), LogisticCDF([1.0, 1.0])) for k in range(4)])
    assert chain.independent([0], [2])  # Theorem 10
    assert not chain.independent([0], [1])
    assert not chain.independent([0], [2], given=[1])  # observing joins
    assert chain.independent([0], [2], given=[3, 4])  # 1 is not looked at: Theorem 11
    assert chain.independent([0], [2], given=[1], kind="le")  # Theorem 8
    assert not chain.independent([0], [1], given=[2], kind="le")
    assert chain.separated([0], [3], by=[1])
    assert not chain.separated([0], [3])
    with pytest.raises(ValueError, match="ordinal"):
        chain.independent([0], [2], given=[1], kind="min")
    steps = CDN(
        [((0, 1), random_table((2, 3), 0)), ((1, 2), random_table((3, 2), 1))],
        kinds=["ordinal"] * 3,
    )
    assert steps.independent([0], [2], given=[1], kind="min")
    # The numbers agree: given X1 = 0 the two are independent, given X1 = 1 they are not.
    for value, holds in ((0.0, True), (1.0, False)):
        both = steps.conditional_cdf({0: 0.0, 2: 0.0}, {1: value})
        alone = [steps.conditional_cdf({v: 0.0}, {1: value}) for v in (0, 2)]
        assert (abs(both - alone[0] * alone[1]) < 1e-12) == holds


def test_bidirected_graphs_go_both_ways():
    scopes = [(0, 1), (1, 2), (3,)]
    assert factor_scopes(bidirected_graph(scopes)) == scopes
    network = CDN.from_bidirected(bidirected_graph(scopes), lambda s: LogisticCDF(np.ones(len(s))))
    assert network.scopes == scopes
    with pytest.raises(ValueError, match="symmetric"):
        factor_scopes([[0, 1], [0, 0]])


def test_stochastic_orders():
    low, high = UnivariateCDF("normal", 0.0), UnivariateCDF("normal", 1.0)
    network = CDN([((0,), low), ((1,), high), ((2,), UnivariateCDF("normal", 0.5, 9.0))])
    assert network.stochastically_ordered([0], [1])
    assert not network.stochastically_ordered([1], [0])
    assert not network.stochastically_ordered([0], [2])  # a larger mean is not enough
    draws = network.sample(4000, random_state=0)
    t = np.linspace(-2, 3, 20)
    share = (draws[:, :2, None] <= t).mean(axis=0)
    assert (share[0] >= share[1] - 0.03).all()


@pytest.mark.parametrize("pieces", [_whole, _pairs])
@pytest.mark.parametrize("make", [tree, ring, mixed])
def test_gradient_is_that_of_the_likelihood(make, pieces):
    network = make()
    X = network.sample(5, random_state=5)
    factors = [f for _, f in network.factors]
    parts = pieces(network)
    value, scores = row_scores(network, X, factors, parts)
    if pieces is _whole:
        assert value == pytest.approx(network.logpdf(X), abs=1e-10)
    for s, factor in enumerate(factors):
        for p in range(min(factor.free().size, 3)):
            ends = []
            for sign in (1, -1):
                moved = factor.free()
                moved[p] += sign * 1e-4
                new = [*factors[:s], factor.freed(moved), *factors[s + 1 :]]
                moved_network = CDN(list(zip(network.scopes, new)), "cluster", network.kinds)
                ends.append(
                    sum(
                        moved_network.marginal(part.columns).logpdf(X[:, part.columns])
                        for part in parts
                    )
                )
            assert scores[s][:, p] == pytest.approx((ends[0] - ends[1]) / 2e-4, abs=5e-5)


@pytest.mark.parametrize("method", ["ml", "composite"])
def test_fit_recovers_a_chain(method):
    truth = [[1.0, 2.0], [0.5, 1.0], [1.5, 0.7]]
    network = CDN([((k, k + 1), LogisticCDF(w)) for k, w in enumerate(truth)])
    X = network.sample(2000, random_state=0)
    model = CDN([((k, k + 1), LogisticCDF([1.0, 1.0])) for k in range(3)]).fit(X, method=method)
    found = np.concatenate([f.free() for _, f in model.factors])
    error = np.concatenate(model.standard_errors_)
    # Composite scores are correlated: their standard errors are too small by a factor below 2.
    wide = 2.0 if method == "ml" else 4.0
    assert (np.abs(found - np.log(np.concatenate(truth))) < wide * error).all()
    if method == "ml":
        assert model.log_likelihood_ >= network.logpdf(X).sum()


def test_fit_of_tables_reaches_the_frequencies():
    truth = random_table((3, 2), 4)
    X = truth.draw(500, np.random.RandomState(0))
    model = CDN([((0, 1), random_table((3, 2), 9))], kinds=["ordinal"] * 2).fit(X)
    cells = np.array(list(itertools.product(range(3), range(2))), dtype=float)
    share = (X[:, None] == cells).all(axis=2).mean(axis=0)
    assert np.exp(model.logpdf(cells)) == pytest.approx(share, abs=2e-3)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: CDN([((0, 2), PAIR)]), "Variable 1 is in no factor"),
        (lambda: CDN([((k, (k + 1) % 3), PAIR) for k in range(3)]), "loop"),
        (lambda: CDN([((0, 0), PAIR)]), "different numbers"),
        (lambda: CDN([((0,), PAIR)]), "Factor 0 has 2 variables"),
        (lambda: CDN([]), "needs a factor"),
        (lambda: CDN([((0, 1), PAIR)], loopy="no"), "loopy"),
        (lambda: CDN([((0, 1), PAIR)], kinds=["ordinal"]), "kinds"),
        (lambda: CDN([((0, 1), PAIR)]).logpdf([[0.0]]), "2 columns"),
        (lambda: CDN([((0, 1), PAIR)]).logpdf([[np.nan, 0.0]]), "Column 0 of X contains NaN"),
        (lambda: mixed().logpdf([[0.5, 0, 0, 0, 0]]), "not whole"),
        (lambda: CDN([(0, random_table((2,), 0))]).logpdf([[0.0]]), "no density"),
        (lambda: tree().marginal([0, 9]), "variables below 5"),
        (lambda: tree().conditional_cdf({0: 1.0}, {0: 1.0}), "both target and given"),
        (lambda: tree().fit(np.full((3, 5), np.inf)), "finite"),
        (lambda: DerivativeTree(13, [tuple(range(13))]), "cluster of 13"),
    ],
)
def test_bad_input(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_nominal_variables_are_warned_about():
    with pytest.warns(UserWarning, match="nominal"):
        CDN([((0, 1), random_table((2, 2), 0))], kinds=["ordinal", "nominal"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CDN([((0, 1), random_table((2, 2), 0))], kinds=["ordinal", "ordinal"])
