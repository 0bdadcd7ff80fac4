"""Factors: derivatives against finite differences and sympy, draws against the function."""

import pickle

import numpy as np
import pytest
from scipy import stats

from octavo.graphical import CDFFactor, CopulaCDF, GaussianCDF, LogisticCDF, TableCDF, UnivariateCDF

COV3 = np.array([[1.0, 0.5, 0.2], [0.5, 2.0, -0.3], [0.2, -0.3, 1.5]])
MARGINS = [UnivariateCDF("normal", 0.2, 1.3), UnivariateCDF("gumbel"), UnivariateCDF("t", shape=4)]
SMOOTH = {
    "gaussian": GaussianCDF([0.1, -0.2, 0.3], COV3),
    "logistic": LogisticCDF([1.0, 0.5, 2.0]),
    "shifted": LogisticCDF([1.0, 0.5, 2.0], [0.3, -0.5, 0.1]),
    "gumbel": CopulaCDF("gumbel", 0.4, MARGINS),
    "gumbel independent": CopulaCDF("gumbel", 1.0, MARGINS),
    "clayton": CopulaCDF("clayton", 1.7, MARGINS),
    "frank": CopulaCDF("frank", 3.0, MARGINS),
    "gaussian copula": CopulaCDF("gaussian", 0.4, MARGINS),
    "independence": CopulaCDF("independence", None, MARGINS),
    "logistic margin": UnivariateCDF("logistic", 0.1, 0.7),
    "gev": UnivariateCDF("gev", 0.0, 1.0, 0.2, power=0.5),
    "scipy": UnivariateCDF(stats.cauchy(0.1)),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_each_derivative_is_the_slope_of_the_one_before(name):
    factor = SMOOTH[name]
    k = factor.arity
    X = np.random.default_rng(0).normal(0.3, 0.7, size=(4, k))
    wanted = [True] * k
    table = np.exp(factor.log_jet(X, wanted))
    step = 1e-4
    for index in np.ndindex(*table.shape[:-1]):
        if not any(index):
            continue
        a = max(k for k, i in enumerate(index) if i)
        under = (*index[:a], 0, *index[a + 1 :])
        ends = []
        for sign in (-1, 1):
            moved = X.copy()
            moved[:, a] += sign * step
            ends.append(np.exp(factor.log_jet(moved, wanted))[under])
        slope = (ends[1] - ends[0]) / (2 * step)
        assert table[index] == pytest.approx(slope, rel=1e-5, abs=1e-8)


@pytest.mark.parametrize("name", SMOOTH)
def test_numbers_and_logs_agree_and_infinity_is_the_margin(name):
    factor = SMOOTH[name]
    k = factor.arity
    X = np.random.default_rng(1).normal(size=(5, k))
    wanted, none = [True] * k, [False] * k
    assert np.log(factor.table(X, wanted, none)) == pytest.approx(factor.log_jet(X, wanted))
    assert factor.cdf(np.full((1, k), np.inf)) == pytest.approx([1.0], abs=1e-12)
    assert factor.cdf(np.full((1, k), -np.inf)) == pytest.approx([0.0], abs=1e-12)
    if k == 3:
        high = X.copy()
        high[:, 1] = np.inf
        part = factor.marginal([2, 0])
        assert part.cdf(X[:, [2, 0]]) == pytest.approx(factor.cdf(high), abs=1e-12)
        jet = factor.log_table(high, [True, False, True], none)[:, 0]
        swapped = part.log_jet(X[:, [2, 0]], [True, True]).swapaxes(0, 1)
        assert np.exp(jet) == pytest.approx(np.exp(swapped), abs=1e-9)


@pytest.mark.parametrize("name", SMOOTH)
def test_draws_have_the_distribution_function(name):
    factor = SMOOTH[name]
    n = 20_000
    draws = factor.draw(n, np.random.RandomState(0))
    for point in np.random.default_rng(2).normal(0.5, 1, size=(4, factor.arity)):
        share = (draws <= point).all(axis=1).mean()
        chance = factor.cdf(point[None])[0]
        assert abs(share - chance) < 4.5 * np.sqrt(chance * (1 - chance) / n) + 1e-4


@pytest.mark.parametrize("name", SMOOTH)
def test_free_parameters_go_round_and_have_the_gradient_they_say(name):
    factor = SMOOTH[name]
    k = factor.arity
    X = np.random.default_rng(3).normal(size=(3, k))
    again = factor.freed(factor.free())
    assert again.cdf(X) == pytest.approx(factor.cdf(X), abs=1e-9)
    wanted, none = [True] * k, [False] * k
    for p, slope in enumerate(factor.log_table_gradient(X, wanted, none)):
        ends = []
        for sign in (1, -1):
            moved = factor.free()
            moved[p] += sign * 1e-4
            ends.append(factor.freed(moved).log_table(X, wanted, none))
        assert slope == pytest.approx((ends[0] - ends[1]) / 2e-4, abs=2e-4)


@pytest.mark.parametrize("margin", [UnivariateCDF("logistic", -0.3, 0.7), MARGINS[2]])
@pytest.mark.parametrize(
    ("family", "theta"),
    [("gumbel", 0.4), ("gumbel", 0.9), ("clayton", 0.1), ("clayton", 1.7), ("frank", 3.0)],
)
def test_copulas_have_the_gradient_of_their_differences(family, theta, margin):
    margins = [MARGINS[0], UnivariateCDF("gumbel", 0.1, 0.8, power=0.5), margin]
    factor = CopulaCDF(family, theta, margins)
    X, none = np.random.default_rng(5).normal(0.3, 0.8, size=(50, 3)), [False] * 3
    for wanted in ([True] * 3, [True, False, True], none):
        exact = factor.log_table_gradient(X, wanted, none)
        differences = CDFFactor.log_table_gradient(factor, X, wanted, none)
        assert len(exact) == len(differences) == factor.free().size
        for one, other in zip(exact, differences):  # 1e-5 squared, and 1e-16 / 1e-5
            np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-7)


def test_one_factor_is_a_known_distribution():
    X = np.random.default_rng(4).normal(size=(6, 3))
    law = stats.multivariate_normal([0.1, -0.2, 0.3], COV3)
    table = SMOOTH["gaussian"].log_jet(X, [True] * 3)
    assert table[1, 1, 1] == pytest.approx(law.logpdf(X), abs=1e-12)
    assert UnivariateCDF("t", shape=0.5).log_pdf(X[:, 0]) == pytest.approx(
        stats.t(0.5).logpdf(X[:, 0])
    )
    flat = UnivariateCDF("uniform", loc=-1.0, scale=2.0)
    ends = np.array([-1.5, -0.5, 0.5, 1.5, 2.5])
    assert np.exp(flat.log_pdf(ends)) == pytest.approx([0.0, 0.5, 0.5, 0.0, 0.0])
    assert np.exp(flat.log_cdf(ends)) == pytest.approx([0.0, 0.25, 0.75, 1.0, 1.0])
    u = np.array([[0.3, 0.6]])
    assert CopulaCDF("clayton", 2.0).cdf(u)[0] == pytest.approx((0.3**-2 + 0.6**-2 - 1) ** -0.5)
    e = np.expm1
    frank = -np.log1p(e(-1.2) * e(-2.4) / e(-4)) / 4
    assert CopulaCDF("frank", 4.0).cdf(u)[0] == pytest.approx(frank)


def test_sigmoid_far_out_needs_its_logarithms():
    factor = LogisticCDF([1.0, 2.0])
    table = factor.log_jet(np.array([[-900.0, 800.0]]), [True, True])
    # log S = 900; the derivative by the second loses another 1600 + 900.
    assert table[0, 0, 0] == pytest.approx(-900.0)
    assert table[1, 1, 0] == pytest.approx(np.log(2) + np.log(2) - 900 - 1600 - 900)


def test_tables_differ_without_cancelling():
    mass = np.array([[1e-18, 0.2], [0.3, 0.5]])
    factor = TableCDF(mass.cumsum(0).cumsum(1))
    cells = np.array([[0, 1], [1, 0], [1, 1]], dtype=float)
    both = factor.log_table(cells, [True, True], [True, True])
    assert np.exp(both[1, 1]) == pytest.approx([0.2, 0.3, 0.5])
    assert np.exp(both[0, 1]) == pytest.approx([0.2, 0.3, 0.7])
    beyond = factor.log_table(np.array([[2.0, 0.0]]), [True, True], [True, True])
    assert np.isneginf(beyond[1, 1, 0])
    assert np.exp(beyond[0, 1, 0]) == pytest.approx(0.3)
    draws = factor.draw(4000, np.random.RandomState(0))
    assert (draws == [1, 1]).all(axis=1).mean() == pytest.approx(0.5, abs=0.04)
    assert factor.marginal([1]).cdf([[0], [1]]) == pytest.approx([0.3, 1.0])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: CopulaCDF("gumbel", 1.2), r"\(0, 1\]"),
        (lambda: CopulaCDF("gumbel", 0.0), r"\(0, 1\]"),
        (lambda: CopulaCDF("clayton", -1.0), "clayton"),
        (lambda: CopulaCDF("joe", 2.0), "family must be one of"),
        (lambda: LogisticCDF([1.0, -0.5]), "weights must be positive"),
        (lambda: LogisticCDF(np.ones(13)), "more than 12"),
        (lambda: GaussianCDF([0, 0], [[1, 2], [2, 1]]), "positive semi-definite"),
        (lambda: GaussianCDF([0, 0], [[1, 1], [1, 1]]), "singular"),
        (lambda: GaussianCDF([0, 0], [[1, 0.2], [0.5, 1]]), "symmetric"),
        (lambda: GaussianCDF([0, np.nan], np.eye(2)), "finite"),
        (lambda: TableCDF([[0.5, 0.4], [0.6, 1.0]]), "cumulative"),
        (lambda: TableCDF([0.5, 0.9]), "cumulative"),
        (lambda: UnivariateCDF("weibull"), "family must be one of"),
        (lambda: UnivariateCDF("t"), "needs a shape"),
        (lambda: UnivariateCDF(scale=-1.0), "scale"),
        (lambda: LogisticCDF([1.0]).cdf([[1.0, 2.0]]), "1 columns"),
    ],
)
def test_bad_factors_are_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()


@pytest.mark.parametrize("name", SMOOTH)
def test_factors_are_the_same_after_pickling(name):
    factor = SMOOTH[name]
    X = np.random.default_rng(3).normal(size=(5, factor.arity))
    again = pickle.loads(pickle.dumps(factor))
    assert np.array_equal(again.cdf(X), factor.cdf(X))
