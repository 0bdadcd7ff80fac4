"""Gibbs distributions against cvxpy, closed forms and duality; infeasible moments; tables."""

import pickle

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import rel_entr
from sklearn.exceptions import ConvergenceWarning

from octavo.info import (
    InfeasibleConstraints,
    MaxEntDistribution,
    i_projection,
    ipf,
    iterative_scaling,
)

FACES = np.arange(1.0, 7.0)[:, None]


def attainable(seed, n=40, k=3):
    rng = np.random.default_rng(seed)
    F, prior = rng.normal(size=(n, k)), rng.dirichlet(np.ones(n))
    return prior, F, rng.dirichlet(np.ones(n)) @ F


@pytest.mark.parametrize("solver", ["newton", "lbfgs", "gis"])
def test_die_with_mean_4_2(solver):
    model = MaxEntDistribution(FACES, solver=solver).fit([4.2])
    assert model.multipliers_[0] == pytest.approx(0.249045, abs=1e-6)
    assert model.entropy_ == pytest.approx(1.70621, abs=1e-5)
    expected = [0.08183, 0.10497, 0.13465, 0.17273, 0.22158, 0.28424]
    np.testing.assert_allclose(model.prob_, expected, atol=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_equals_cvxpy(seed):
    prior, F, b = attainable(seed)
    p = cp.Variable(len(prior))
    problem = cp.Problem(cp.Minimize(cp.sum(cp.rel_entr(p, prior))), [cp.sum(p) == 1, F.T @ p == b])
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-13, tol_gap_rel=1e-13, tol_feas=1e-13)
    np.testing.assert_allclose(i_projection(prior, F, b), p.value, atol=1e-8)


def test_slack_equals_cvxpy():
    prior, F, b = attainable(7)
    p = cp.Variable(len(prior))
    problem = cp.Problem(
        cp.Minimize(cp.sum(cp.rel_entr(p, prior))),
        [cp.sum(p) == 1, cp.norm(F.T @ p - b) <= 0.1],
    )
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
    model = MaxEntDistribution(F, prior, slack=0.1).fit(b)
    np.testing.assert_allclose(model.prob_, p.value, atol=1e-7)
    assert np.linalg.norm(model.moments_ - b) == pytest.approx(0.1, abs=1e-8)


def test_slack_that_allows_the_prior_leaves_it():
    prior, F, b = attainable(1)
    model = MaxEntDistribution(F, prior, slack=100.0).fit(b)
    np.testing.assert_allclose(model.prob_, prior, atol=1e-15)
    assert not model.multipliers_.any()


def test_slack_makes_the_outside_attainable_and_no_more():
    model = MaxEntDistribution(FACES, slack=1.0).fit([6.5])
    assert model.moments_[0] == pytest.approx(5.5, abs=1e-8)
    with pytest.raises(InfeasibleConstraints):
        MaxEntDistribution(FACES, slack=0.1).fit([6.5])


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_moments_gibbs_form_and_pythagoras(seed):
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(5, 30)), int(rng.integers(1, 4))
    F, prior, p = rng.normal(size=(n, k)), rng.dirichlet(np.ones(n)), rng.dirichlet(np.ones(n))
    model = MaxEntDistribution(F, prior).fit(p @ F)
    q = model.prob_
    np.testing.assert_allclose(q @ F, p @ F, atol=1e-9)
    logs = np.log(q / prior) - F @ model.multipliers_
    np.testing.assert_allclose(logs, logs[0], atol=1e-7 * (1 + np.abs(logs).max()))
    whole = rel_entr(p, prior).sum()
    assert whole == pytest.approx(rel_entr(p, q).sum() + rel_entr(q, prior).sum(), abs=1e-7)
    assert model.duality_gap_ < 1e-7


def test_solvers_agree_and_zero_cells_stay_zero():
    prior, F, b = attainable(3)
    prior[:5] = 0.0
    b = np.random.default_rng(0).dirichlet(np.ones(35)) @ F[5:]
    newton = i_projection(prior, F, b)
    assert not newton[:5].any()
    np.testing.assert_allclose(iterative_scaling(prior, F, b), newton, atol=1e-8)
    lbfgs = MaxEntDistribution(F, prior, "lbfgs").fit(b).prob_
    np.testing.assert_allclose(lbfgs, newton, atol=1e-8)


def test_gaussian_moments_on_a_grid_give_the_gaussian():
    x = np.linspace(-6, 6, 2001)
    q = MaxEntDistribution(lambda s: np.column_stack([s, s**2]), support=x).fit([0.5, 1.25]).prob_
    gauss = np.exp(-0.5 * (x - 0.5) ** 2)
    # truncation at 5.5 deviations moves the variance by less than 1e-6
    np.testing.assert_allclose(q, gauss / gauss.sum(), atol=1e-6 * q.max())


@pytest.mark.parametrize("size", [1e-5, 1.0, 1e5])
def test_scale_and_offset_of_features_do_not_matter(size):
    prior, F, b = attainable(5)
    shift = 1e4 * size
    found = i_projection(prior, F * size + shift, b * size + shift)
    np.testing.assert_allclose(found, i_projection(prior, F, b), atol=1e-8)


def test_redundant_constraints_are_no_harm():
    prior, F, b = attainable(2)
    twice = np.hstack([F, F @ np.ones((3, 1)), np.ones((len(F), 1))])
    found = i_projection(prior, twice, [*b, b.sum(), 1.0])
    np.testing.assert_allclose(found, i_projection(prior, F, b), atol=1e-8)


@pytest.mark.parametrize("b", [6.5, 6.0, 1.0, 0.2])
@pytest.mark.parametrize("solver", ["newton", "lbfgs", "gis"])
def test_moments_outside_or_on_the_boundary(b, solver):
    with pytest.raises(InfeasibleConstraints, match="direction") as caught:
        MaxEntDistribution(FACES, solver=solver).fit([b])
    direction = caught.value.direction
    assert (FACES @ direction <= b * direction[0] + 1e-9).all()
    assert pickle.loads(pickle.dumps(caught.value)).direction == direction


@pytest.mark.parametrize("seed", range(4))
def test_the_direction_separates(seed):
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(30, 4))
    outside = 1.5 * F[np.argmax(np.linalg.norm(F, axis=1))]
    edge = 0.5 * (F[np.argmax(F[:, 0])] + F[np.argmax(F[:, 0])])  # a vertex
    for b in (outside, edge):
        with pytest.raises(InfeasibleConstraints) as caught:
            i_projection(np.ones(30), F, b)
        apart = (F - b) @ caught.value.direction
        assert apart.max() <= 1e-8
        assert apart.min() < -1e-3


def test_off_the_plane_of_the_points():
    F = np.column_stack([np.arange(6.0), 2 * np.arange(6.0) + 1])
    with pytest.raises(InfeasibleConstraints) as caught:
        i_projection(np.ones(6), F, [2.0, 3.0])
    assert ((F - [2.0, 3.0]) @ caught.value.direction < 0).all()


def test_close_to_the_boundary_is_still_inside():
    p = i_projection(np.ones(6), FACES, [5.9999])
    assert p @ FACES[:, 0] == pytest.approx(5.9999, abs=1e-11)


def test_gis_says_when_it_did_not_arrive():
    with pytest.warns(ConvergenceWarning, match="still off"):
        iterative_scaling(np.ones(6), FACES, [5.5], max_iter=3)


@pytest.mark.parametrize(
    ("p0", "F", "b", "words"),
    [
        ([1, -1], [[1.0], [2.0]], [1.5], "negative"),
        ([1, 1, 1], [[1.0], [2.0]], [1.5], "support point"),
        ([1, 1], [[1.0], [np.nan]], [1.5], "NaN"),
        ([1, 1], [[1.0], [2.0]], [1.5, 2.0], "one moment per column"),
        ([0, 0], [[1.0], [2.0]], [1.5], "zero throughout"),
    ],
)
def test_bad_input(p0, F, b, words):
    with pytest.raises(ValueError, match=words):
        i_projection(p0, F, b)


def test_sampling_and_expectations():
    model = MaxEntDistribution(FACES).fit([4.2])
    assert model.expectation(FACES[:, 0]) == pytest.approx(4.2)
    draws = model.sample(20_000, random_state=0)
    # five standard errors of a face: 1.6/√20000
    assert FACES[draws, 0].mean() == pytest.approx(4.2, abs=0.06)


# --- tables ------------------------------------------------------------------------------------


def test_margins_of_ones_are_independence():
    rows, columns = np.array([1.0, 2.0, 3.0]), np.array([4.0, 2.0])
    np.testing.assert_allclose(
        ipf(np.ones((3, 2)), [rows, columns], [0, 1]), np.outer(rows, columns) / 6.0, atol=1e-9
    )


def test_ipf_is_the_projection_with_cvxpy():
    rng = np.random.default_rng(0)
    seed, target = rng.uniform(size=(3, 4, 2)), rng.uniform(size=(3, 4, 2))
    margins = [target.sum(axis=2), target.sum(axis=(0, 1)), target.sum(axis=1).T]
    found = ipf(seed, margins, [(0, 1), 2, (2, 0)], 1e-12)
    p = cp.Variable(24)
    F = np.eye(24).reshape(24, 3, 4, 2)
    sums = [F.sum(axis=3), F.sum(axis=(1, 2)), F.sum(axis=2).transpose(0, 2, 1)]
    rows = np.hstack([part.reshape(24, -1) for part in sums])
    wanted = np.concatenate([m.ravel() for m in margins])
    problem = cp.Problem(cp.Minimize(cp.sum(cp.rel_entr(p, seed.ravel()))), [rows.T @ p == wanted])
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
    # a gap of 1e-12 in an objective of curvature one leaves √2e-12
    np.testing.assert_allclose(found.ravel(), p.value, atol=2e-6)


def test_odds_ratios_are_kept():
    seed = np.array([[1.0, 2.0], [3.0, 4.0]])
    t = ipf(seed, [[10, 10], [8, 12]], [0, 1])
    assert t[0, 0] * t[1, 1] / (t[0, 1] * t[1, 0]) == pytest.approx(4 / 6)


def test_impossible_margins_have_a_direction():
    table = np.array([[1.0, 0.0], [0.0, 1.0]])
    with pytest.raises(InfeasibleConstraints) as caught:
        ipf(table, [[2.0, 1.0], [1.0, 2.0]], [0, 1], max_iter=50)
    y = caught.value.direction
    assert np.array([2.0, 1.0, 1.0, 2.0]) @ y > 0  # asked for
    assert y[0] + y[2] <= 1e-9  # what the two cells can give
    assert y[1] + y[3] <= 1e-9


@pytest.mark.parametrize(
    ("margins", "axes", "words"),
    [
        ([[1.0, 1.0], [1.0, 2.0]], [0, 1], "one positive total"),
        ([[1.0, 1.0]], [0, 1], "as many margins"),
        ([[1.0, 1.0, 1.0]], [0], "shape"),
        ([[1.0, 1.0]], [2], "axes of the table"),
        ([[-1.0, 3.0]], [0], "negative"),
    ],
)
def test_bad_margins(margins, axes, words):
    with pytest.raises(ValueError, match=words):
        ipf(np.ones((2, 2)), margins, axes)


def long_table(kind, n=60_000):
    rng = np.random.default_rng(3)
    F = rng.normal(size=(n, 4)) * [1.0, 50.0, 1e-3, 1.0] + [0.0, 10.0, 0.0, -2.0]
    if kind == "periodic":  # every seventeenth row is the same in one column
        F[::17, 2] = 0.0
    elif kind == "constant among those":  # or in all of them
        F[::17] = F[0]
    elif kind == "dependent":
        F[:, 3] = F[:, 0] + F[:, 1]
    elif kind == "far":
        F += 1e4 * F.std(axis=0)
    elif kind == "tiny":
        F *= 1e-90
    return F


@pytest.mark.parametrize(
    "kind", ["plain", "periodic", "constant among those", "dependent", "far", "tiny"]
)
@pytest.mark.parametrize("is_sparse_prior", [False, True])
def test_long_tables_have_their_moments_and_the_gibbs_form(kind, is_sparse_prior):
    F, rng = long_table(kind), np.random.default_rng(4)
    prior = rng.random(len(F)) + 0.1
    if is_sparse_prior:
        prior[::3] = 0.0
    wanted = prior * np.exp(0.3 * (F - F.mean(axis=0)) @ (rng.normal(size=4) / F.std(axis=0)))
    wanted /= wanted.sum()
    found = i_projection(prior, F, wanted @ F)
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-15)
    assert np.abs((found @ F - wanted @ F) / (F.std(axis=0))).max() < 1e-9


def test_long_tables_of_columns_in_any_order():
    F, rng = long_table("plain"), np.random.default_rng(5)
    b = rng.dirichlet(np.ones(len(F))) @ F
    expected = i_projection(np.ones(len(F)), F, b)
    np.testing.assert_allclose(
        i_projection(np.ones(len(F)), np.asfortranarray(F), b), expected, rtol=1e-9
    )
    dropped = i_projection(np.r_[np.ones(len(F)), 0.0], np.vstack([F, F[:1] + 1e6]), b)
    np.testing.assert_allclose(dropped[:-1], expected, rtol=1e-9)
    assert dropped[-1] == 0.0


@pytest.mark.parametrize("beyond", [1.01, 1.0])
@pytest.mark.parametrize("kind", ["plain", "periodic"])
def test_long_tables_refuse_what_no_distribution_has(kind, beyond):
    F = long_table(kind)
    direction = np.array([1.0, 0.0, 100.0, 0.5])
    tip = F[np.argmax(F @ direction)]  # a corner of the hull
    b = F.mean(axis=0) + beyond * (tip - F.mean(axis=0))
    with pytest.raises(InfeasibleConstraints) as error:
        i_projection(np.ones(len(F)), F, b)
    away = error.value.direction / F.std(axis=0).max()
    assert ((F - b) @ away).max() <= 1e-9
    near = F.mean(axis=0) + 0.9 * (tip - F.mean(axis=0))
    np.testing.assert_allclose(i_projection(np.ones(len(F)), F, near) @ F, near, rtol=1e-6)


def test_long_tables_off_their_plane():
    F = long_table("dependent")
    with pytest.raises(InfeasibleConstraints):
        i_projection(np.ones(len(F)), F, F.mean(axis=0) + [0.0, 0.0, 0.0, 1.0])
