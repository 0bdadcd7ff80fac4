"""Correlated residuals: generalised least squares by Kronecker products, and brute force."""

import itertools

import numpy as np
import pytest

from octavo.engine.linalg.forward_selection import ForwardSelection
from octavo.engine.linalg.unit_columns import UnitColumns
from octavo.linear import MICRegressor, MICSelector
from octavo.linear.code_length.correlated import (
    Quadratics,
    fall_in_all,
    joint_fit,
    shrunken_covariance,
)


def correlated_tasks(n=60, p=10, h=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    root = np.tril(rng.uniform(0.3, 1.0, (h, h)))
    W = rng.standard_normal((p, h)) * (rng.uniform(size=(p, h)) < 0.3)
    return X, X @ W + rng.standard_normal((n, h)) @ root.T


def gls_quadratic(Z, E, supports, precision):
    """Return the least sum of ε'Pε over coefficients on the supports, by one big regression."""
    h = len(supports)
    root = np.linalg.cholesky(precision).T  # P = root' root
    response = (root @ E).ravel()
    designs = [np.outer(root[:, t], Z[j]).ravel() for t in range(h) for j in supports[t]]
    if not designs:
        return float(response @ response)
    design = np.array(designs).T
    left = response - design @ np.linalg.lstsq(design, response, rcond=None)[0]
    return float(left @ left)


def started(shrinkage):
    X, Y = correlated_tasks()
    columns = UnitColumns(X)
    state = ForwardSelection(columns, Y)
    state.add([0, 0, 0], [0, 1, 3])
    state.add([5, 5], [1, 2])
    return columns, state, joint_fit(state, state.units, shrinkage)


@pytest.mark.parametrize("shrinkage", [0.0, 0.3])
def test_the_joint_fit_is_generalised_least_squares(shrinkage):
    columns, state, fit = started(shrinkage)
    Z = columns.columns(range(10))
    now = float(np.einsum("tn,ts,sn->", fit.residual, fit.precision, fit.residual))
    assert now == pytest.approx(gls_quadratic(Z, state.units, state.supports, fit.precision))
    covariance = shrunken_covariance(fit.residual, shrinkage, np.zeros(4))
    np.testing.assert_allclose(covariance @ fit.precision, np.eye(4), atol=1e-7)


@pytest.mark.parametrize("shrinkage", [0.0, 0.3])
def test_falls_are_those_of_refits(shrinkage):
    columns, state, fit = started(shrinkage)
    Z = columns.columns(range(10))
    now = gls_quadratic(Z, state.units, state.supports, fit.precision)
    features = np.array([1, 2, 7])
    matrices, vectors, usable = Quadratics(state, fit).block(features)
    whole = fall_in_all(matrices, vectors, usable)
    for i, j in enumerate(features):
        wider = [[*support, j] for support in state.supports]
        assert whole[i] == pytest.approx(
            now - gls_quadratic(Z, state.units, wider, fit.precision), rel=1e-7
        )
        for subset in itertools.combinations(range(4), 2):
            part = [[*s, j] if t in subset else s for t, s in enumerate(state.supports)]
            exact = now - gls_quadratic(Z, state.units, part, fit.precision)
            M, v = matrices[i][np.ix_(subset, subset)], vectors[i, list(subset)]
            assert v @ np.linalg.solve(M, v) == pytest.approx(exact, rel=1e-7)


@pytest.mark.parametrize("mode", ["partial", "full"])
@pytest.mark.parametrize("variance", ["profile", "plugin"])
@pytest.mark.parametrize("cov", ["full", 0.4])
@pytest.mark.parametrize("seed", range(3))
def test_bounds_change_nothing(mode, variance, cov, seed):
    X, Y = correlated_tasks(p=80, h=6, seed=seed)
    one, other = (
        MICSelector(mode, variance=variance, cov=cov, branch_and_bound=cut).fit(X, Y)
        for cut in (True, False)
    )
    assert one.order_.tolist() == other.order_.tolist()
    np.testing.assert_array_equal(one.support_, other.support_)
    np.testing.assert_allclose(one.description_length_path_, other.description_length_path_)


@pytest.mark.parametrize("mode", ["partial", "full"])
def test_shrunken_to_the_diagonal_it_is_the_diagonal(mode):
    X, Y = correlated_tasks(p=60, h=5)
    near = MICSelector(mode, variance="plugin", cov=1 - 1e-9).fit(X, Y)
    diagonal = MICSelector(mode, variance="plugin").fit(X, Y)
    one = MICSelector(mode, variance="plugin", cov=1.0).fit(X, Y)
    assert near.order_.tolist() == diagonal.order_.tolist() == one.order_.tolist()
    np.testing.assert_array_equal(near.support_, diagonal.support_)
    np.testing.assert_allclose(near.coef_, diagonal.coef_, atol=1e-6)
    assert near.description_length_ == pytest.approx(diagonal.description_length_, abs=1e-4)


def test_a_correlated_neighbour_sharpens_a_task():
    """The noise of task 1 is known from task 0, so its small effect can be seen."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 50))
    noise = rng.standard_normal(100)
    Y = np.column_stack([noise, noise + 0.1 * rng.standard_normal(100) + 0.15 * X[:, 7]])
    assert 7 not in MICSelector().fit(X, Y).order_
    assert MICSelector(cov="full").fit(X, Y).order_.tolist() == [7]


def test_predictions_are_those_of_the_joint_fit():
    X, Y = correlated_tasks(n=80, p=6, h=3)
    model = MICRegressor(cov=0.2).fit(X, Y)
    outside = ~model.support_.T
    assert (model.coef_[outside] == 0).all()
    np.testing.assert_allclose((Y - model.predict(X)).mean(axis=0), 0, atol=1e-12)
    residual = (Y - model.predict(X)).T / np.linalg.norm(Y - Y.mean(axis=0), axis=0)[:, None]
    precision = np.linalg.inv(shrunken_covariance(residual, 0.2, np.zeros(3)))
    scores = precision @ residual @ (X - X.mean(axis=0))
    np.testing.assert_allclose(scores[model.support_.T], 0, atol=1e-6)  # the normal equations


def test_a_singular_covariance_is_named():
    X, Y = correlated_tasks()
    with pytest.raises(ValueError, match="singular"):
        MICSelector(cov="full").fit(X, np.column_stack([Y, Y[:, 0] + Y[:, 1]]))
    with pytest.raises(ValueError, match="Response 1 is constant"):
        MICSelector(cov="full").fit(X, np.column_stack([Y[:, 0], np.ones(len(Y))]))
    MICSelector(cov=0.5).fit(X, np.column_stack([Y, Y[:, 0] + Y[:, 1]]))
