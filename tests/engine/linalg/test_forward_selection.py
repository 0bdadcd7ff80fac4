"""Forward selection for many responses equals refits; its quadratics equal brute force."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

from octavo.engine.linalg.forward_selection import (
    ForwardSelection,
    coefficients,
    greedy_quadratics,
)
from octavo.engine.linalg.unit_columns import UnitColumns


def refit_rss(X, y, support):
    design = np.column_stack([np.ones(len(X)), X[:, support]])
    left = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
    return float(left @ left)


def table(n=40, p=25, h=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * 10.0 ** rng.integers(-3, 4, p) + rng.normal(0, 5, p)
    X[:, 7] = X[:, 3] + X[:, 4]
    X[:, 8] = 0.1
    Y = X[:, :4] @ rng.standard_normal((4, h)) + rng.standard_normal((n, h))
    return X, Y


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csc_matrix])
@pytest.mark.parametrize("shared", [False, True])
def test_residuals_and_falls_equal_refits(form, shared):
    X, Y = table()
    state = ForwardSelection(UnitColumns(form(X)), Y, shared=shared)
    rng = np.random.default_rng(1)
    for j in (3, 12, 4, 20, 0):
        tasks = range(5) if shared else sorted(rng.choice(5, 3, replace=False))
        state.add([j] * len(tasks), list(tasks))
        for t in range(5):
            exact = refit_rss(X, Y[:, t], state.supports[t])
            assert state.rss[t] * state.length[t] ** 2 == pytest.approx(exact, rel=1e-9)
    falls = state.falls(range(5))
    for t, candidate in itertools.product(range(5), range(25)):
        now, then = (
            refit_rss(X, Y[:, t], support)
            for support in (state.supports[t], [*state.supports[t], candidate])
        )
        assert falls[t, candidate] * state.length[t] ** 2 == pytest.approx(
            now - then, abs=1e-9 * now
        )


def test_duplicates_and_constants_cannot_enter():
    X, Y = table()
    state = ForwardSelection(UnitColumns(X), Y)
    assert not state.free([0])[0, 8]
    state.add([3, 3], [0, 1])
    state.add([4], [0])
    assert not state.free([0])[0, [3, 4, 7, 8]].any()
    assert state.free([1])[0, 7]
    assert state.free([2])[0, 3]


def test_an_exact_fit_and_the_last_rows_close_a_model():
    X, Y = table()
    Y[:, 0] = 2 * X[:, 5] - 1
    Y[:, 1] = 0.1
    state = ForwardSelection(UnitColumns(X), Y)
    assert state.constant.tolist() == [False, True, False, False, False]
    state.add([5], [0])
    assert not state.open[0]
    assert state.saturated.tolist() == [0]
    small = ForwardSelection(UnitColumns(X[:5]), Y[:5])
    for j in (0, 1, 2):
        assert small.open[2]
        small.add([j], [2])
    assert not small.open[2]


def test_products_stay_exact_when_a_residual_becomes_tiny():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 30))
    y = X[:, :3] @ [1e4, 1.0, 1e-4] + 1e-6 * rng.standard_normal(60)
    state = ForwardSelection(UnitColumns(X), y[:, None])
    for j in range(2):
        state.add([j], [0])
    exact = refit_rss(X, y, [0, 1]) - refit_rss(X, y, [0, 1, 2])
    assert state.falls([0])[0, 2] * state.length[0] ** 2 == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_huge_and_tiny_columns_are_no_trouble(form):
    X, Y = table()
    scaled = X.copy()
    scaled[:, 0] *= 1e150
    scaled[:, 1] *= 1e-200
    one, other = (UnitColumns(form(Z)) for Z in (X, scaled))
    V = np.random.default_rng(0).standard_normal((2, 40))
    np.testing.assert_allclose(one.dot(V), other.dot(V), rtol=1e-9, atol=1e-9)
    assert not other.usable[8]


def test_coefficients_equal_least_squares():
    X, Y = table()
    supports = [[0, 3], [3, 0], [], [5], [1, 2, 4]]
    coef, intercept = coefficients(UnitColumns(X), Y, supports)
    for t, support in enumerate(supports):
        left = Y[:, t] - X @ coef[t] - intercept[t]
        assert left @ left == pytest.approx(refit_rss(X, Y[:, t], support), rel=1e-9)
        assert set(np.flatnonzero(coef[t])) == set(support)


def test_greedy_quadratics_enter_what_adds_most():
    rng = np.random.default_rng(0)
    roots = rng.standard_normal((20, 9, 4))
    M, v = roots.transpose(0, 2, 1) @ roots, rng.standard_normal((20, 4))
    found = greedy_quadratics(M.copy(), v.copy(), np.ones((20, 4), dtype=bool))

    def reached(i, chosen):
        return v[i, chosen] @ np.linalg.solve(M[i][np.ix_(chosen, chosen)], v[i, chosen])

    for i in range(20):
        chosen = []
        for k in range(4):
            best = max(set(range(4)) - set(chosen), key=lambda t: reached(i, [*chosen, t]))
            chosen.append(best)
            assert found.order[i, k] == best
            assert found.falls[i, k] == pytest.approx(reached(i, chosen), rel=1e-9)
