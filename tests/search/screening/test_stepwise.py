"""Stepwise least squares against the paper's Figure 9, statsmodels, and exhaustive F tests."""

import itertools
import warnings

import numpy as np
import pytest
from scipy.stats import f as f_law

from octavo.search import (
    SecondOrderModel,
    StepwiseOLS,
    central_composite,
    curvature_test,
    fractional_factorial,
)

X4 = fractional_factorial(4).coded
FIG9 = {
    "a": [0.793, 0.644, 0.763, 0.669, 0.757, 0.728, 0.787, 0.669],
    "b": [0.911, 0.870, 0.899, 0.899, 0.899, 0.905, 0.905, 0.876],
    "c": [0.464, 0.461, 0.444, 0.447, 0.457, 0.451, 0.467, 0.461],
}


def test_figure_9():
    a = StepwiseOLS().fit(X4, FIG9["a"])
    assert a.selected_.tolist() == [2, 3]
    np.testing.assert_allclose([a.intercept_, *a.coef_[2:]], [0.726, -0.049, -0.018], atol=5e-4)
    b = StepwiseOLS().fit(X4, FIG9["b"])
    assert b.selected_.tolist() == [3, 2]
    # printed -0.009, which is -0.0095 cut, not rounded
    np.testing.assert_allclose([b.intercept_, *b.coef_[2:]], [0.896, -0.008, -0.0095], atol=6e-4)
    assert StepwiseOLS().fit(X4, FIG9["c"]).selected_.size == 0


def test_with_five_per_cent_the_paper_s_models_would_not_come_out():
    assert StepwiseOLS(0.05, 0.05).fit(X4, FIG9["a"]).selected_.tolist() == [2]
    assert StepwiseOLS(0.05, 0.05).fit(X4, FIG9["b"]).selected_.size == 0


def ols(X, y):
    A = np.column_stack([np.ones(len(X)), X])
    coef = np.linalg.lstsq(A, y, rcond=None)[0]
    return coef, float(np.sum((y - A @ coef) ** 2))


def slow_stepwise(X, y, p_in, p_out):
    """Figure 18 by fitting every model anew."""
    inside = []
    for _ in range(50):
        before = list(inside)
        trials = {}
        for j in set(range(X.shape[1])) - set(inside):
            old, new = ols(X[:, inside], y)[1], ols(X[:, [*inside, j]], y)[1]
            df = len(y) - len(inside) - 2
            trials[j] = (new, f_law.sf((old - new) / (new / df), 1, df))
        if trials:
            j = min(trials, key=lambda j: trials[j][0])
            if trials[j][1] <= p_in:
                inside.append(j)
        costs = {}
        for j in inside:
            rest = [i for i in inside if i != j]
            new, old = ols(X[:, inside], y)[1], ols(X[:, rest], y)[1]
            df = len(y) - len(inside) - 1
            costs[j] = (old, f_law.sf((old - new) / (new / df), 1, df))
        if costs:
            j = min(costs, key=lambda j: costs[j][0])
            if costs[j][1] > p_out:
                inside.remove(j)
        if inside == before:
            return inside
    raise AssertionError


@pytest.mark.parametrize("seed", range(12))
def test_exhaustive_f_tests_agree(seed):
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((25, 6)) @ rng.standard_normal((6, 6))
    y = X @ (rng.standard_normal(6) * (rng.rand(6) < 0.5)) + 2 * rng.standard_normal(25)
    model = StepwiseOLS().fit(X, y)
    assert model.selected_.tolist() == slow_stepwise(X, y, 0.10, 0.15)


@pytest.mark.parametrize("scale", [1e-5, 1.0, 1e5])
def test_statistics_equal_statsmodels(scale):
    sm = pytest.importorskip("statsmodels.api")
    rng = np.random.RandomState(0)
    X = rng.standard_normal((30, 5)) * scale
    y = (X[:, 1] / scale - 0.6 * X[:, 3] / scale + 3 + rng.standard_normal(30)) * scale
    model = StepwiseOLS().fit(X, y)
    chosen = model.selected_
    peer = sm.OLS(y, sm.add_constant(X[:, chosen])).fit()
    np.testing.assert_allclose(model.intercept_, peer.params[0], rtol=1e-10)
    np.testing.assert_allclose(model.coef_[chosen], peer.params[1:], rtol=1e-10)
    np.testing.assert_allclose(model.pvalues_[chosen], peer.pvalues[1:], rtol=1e-8)
    np.testing.assert_allclose(model.r2_, peer.rsquared, rtol=1e-10)
    np.testing.assert_allclose(model.r2_adj_, peer.rsquared_adj, rtol=1e-10)
    press = np.sum(peer.get_influence().resid_press ** 2)
    np.testing.assert_allclose(model.r2_pred_, 1 - press / peer.centered_tss, rtol=1e-10)
    rows = {row.source: row for row in model.anova_}
    np.testing.assert_allclose(rows["regression"].f, peer.fvalue, rtol=1e-10)
    np.testing.assert_allclose(rows["regression"].sum_sq, peer.ess, rtol=1e-10)
    np.testing.assert_allclose(rows["residual"].sum_sq, peer.ssr, rtol=1e-10)
    np.testing.assert_allclose(rows["total"].sum_sq, peer.centered_tss, rtol=1e-10)


def test_anova_equals_statsmodels():
    pd = pytest.importorskip("pandas")
    formula = pytest.importorskip("statsmodels.formula.api")
    anova_lm = pytest.importorskip("statsmodels.stats.anova").anova_lm
    rng = np.random.RandomState(1)
    frame = pd.DataFrame(rng.standard_normal((20, 3)), columns=["a", "b", "c"])
    y = frame["c"] + 0.7 * frame["a"] + 0.5 * rng.standard_normal(20)
    model = StepwiseOLS().fit(frame, y)
    names = [frame.columns[j] for j in model.selected_]
    table = anova_lm(formula.ols(f"y ~ {' + '.join(names)}", frame.assign(y=y)).fit())
    rows = {row.source: row for row in model.anova_}
    for name in names:
        np.testing.assert_allclose(rows[name].sum_sq, table.loc[name, "sum_sq"], rtol=1e-10)
        np.testing.assert_allclose(rows[name].f, table.loc[name, "F"], rtol=1e-10)
        np.testing.assert_allclose(rows[name].pvalue, table.loc[name, "PR(>F)"], rtol=1e-8)


def test_directions():
    rng = np.random.RandomState(3)
    X = rng.standard_normal((40, 4))
    y = 2 * X[:, 2] + 0.2 * rng.standard_normal(40)
    for direction in ("both", "forward", "backward"):
        assert 2 in StepwiseOLS(0.01, 0.01, direction).fit(X, y).selected_


def test_exact_and_constant_responses():
    y = 1 + 2 * X4[:, 1] - X4[:, 3]
    model = StepwiseOLS().fit(X4, y)
    assert model.selected_.tolist() == [1, 3]
    assert model.r2_ == pytest.approx(1.0)
    flat = StepwiseOLS().fit(X4, np.full(8, 0.1))
    assert flat.selected_.size == 0
    assert flat.r2_ == 0.0
    assert flat.intercept_ == pytest.approx(0.1)


def test_bad_input():
    with pytest.raises(ValueError, match="must not exceed"):
        StepwiseOLS(0.2, 0.1).fit(X4, FIG9["a"])
    with pytest.raises(ValueError, match="degrees of freedom"):
        StepwiseOLS(direction="backward").fit(fractional_factorial(7).coded, np.arange(8.0))
    with pytest.raises(ValueError, match="independent"):
        StepwiseOLS(direction="backward").fit(
            np.column_stack([X4, X4[:, 0]])[:, [0, 1, 4]], FIG9["a"]
        )
    with pytest.raises(ValueError, match="NaN"):
        StepwiseOLS().fit(X4, [np.nan] * 8)


@pytest.mark.parametrize("d", [1, 2, 3, 4])
@pytest.mark.parametrize("scale", [1e-5, 1.0, 1e5])
def test_second_order_model_is_exact(d, scale):
    rng = np.random.RandomState(d)
    X = central_composite(d) * scale
    M = rng.standard_normal((d, d))
    B, top = -(M @ M.T + np.eye(d)), rng.uniform(-1, 1, d) * scale
    y = 7 * scale**2 + np.einsum("ni,ij,nj->n", X - top, B, X - top)
    model = SecondOrderModel().fit(X, y)
    np.testing.assert_allclose(model.stationary_point_, top, atol=1e-9 * scale)
    np.testing.assert_allclose(model.curvature_, B, atol=1e-7 * np.abs(B).max())
    assert model.kind_ == "maximum"
    np.testing.assert_allclose(model.predict(X), y, atol=1e-9 * np.abs(y).max())


@pytest.mark.parametrize("seed", range(4))
def test_ridge_beats_a_circle_of_points(seed):
    rng = np.random.RandomState(seed)
    X = central_composite(2, center_points=3)
    model = SecondOrderModel().fit(X, rng.standard_normal(len(X)))
    angles = np.linspace(0, 2 * np.pi, 20_001)
    for radius, maximize in itertools.product((0.5, 1.4), (True, False)):
        circle = radius * np.column_stack([np.cos(angles), np.sin(angles)])
        values = model.predict(circle)
        found = model.ridge(radius, maximize)
        best = values.max() if maximize else values.min()
        np.testing.assert_allclose(found.response, best, atol=1e-6)
        assert np.linalg.norm(found.coded) == pytest.approx(radius)
    inside = model.best_within(1.0)
    disc = rng.uniform(-1, 1, (20_000, 2))
    disc = disc[np.linalg.norm(disc, axis=1) <= 1]
    assert inside.response >= model.predict(disc).max() - 1e-9


def test_kinds_of_stationary_points():
    X = central_composite(2)
    assert SecondOrderModel().fit(X, (X**2).sum(axis=1)).kind_ == "minimum"
    assert SecondOrderModel().fit(X, X[:, 0] * X[:, 1]).kind_ == "saddle"
    assert SecondOrderModel().fit(X, X[:, 0]).kind_ == "flat"
    with pytest.warns(UserWarning, match="determine"):
        SecondOrderModel().fit(X[:4], np.arange(4.0))


def test_curvature_test_is_student_s():
    rng = np.random.RandomState(0)
    X = np.vstack([X4, np.zeros((4, 4))])
    from scipy.stats import t as t_law

    y = rng.standard_normal(12)
    gap = y[:8].mean() - y[8:].mean()
    t = gap / np.sqrt(y[8:].var(ddof=1) * (1 / 8 + 1 / 4))
    assert curvature_test(X, y) == pytest.approx(2 * t_law.sf(abs(t), 3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert curvature_test(X, np.ones(12)) == 1.0
    with pytest.raises(ValueError, match="two or more"):
        curvature_test(X4, y[:8])
