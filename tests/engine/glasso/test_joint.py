"""The joint engine against cvxpy, scikit-learn, closed forms and its own certificate."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.covariance import graphical_lasso

from octavo.engine.glasso.joint import (
    JointProblem,
    Settings,
    as_weights,
    dual_value,
    expand,
    joint_graphical_lasso,
    log_det,
    own_units,
    screened_blocks,
)
from octavo.engine.glasso.penalties import (
    CohubNodes,
    FusedEdges,
    GroupedEdges,
    PerturbedNodes,
    SeparateEdges,
)
from tests.graphical.cvx_networks import covariances, solve_by_cvxpy

TIGHT = Settings(tol=1e-9, max_iter=20_000)
SIZES = np.array([30.0, 20.0, 25.0])


def penalty_of(kind, alpha_joint, q, p):
    off = alpha_joint * (1.0 - np.eye(p))
    return {
        "perturbed": lambda: PerturbedNodes(alpha_joint, q),
        "cohub": lambda: CohubNodes(alpha_joint, q),
        "fused": lambda: FusedEdges(off),
        "group": lambda: GroupedEdges(off),
        "separate": lambda: SeparateEdges(),
    }[kind]()


def solve(S, n, alpha_l1, alpha_joint, kind, q=2, **options):
    problem = JointProblem(
        S, n, as_weights(alpha_l1, S), penalty_of(kind, alpha_joint, q, S.shape[-1])
    )
    return joint_graphical_lasso(problem, TIGHT, **options)


def test_expand_solves_its_equation():
    """The minimiser of -n log det T + rho/2 |T - A|² has rho (T - A) = n T^-1."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((2, 4, 4))
    A, n = A + A.swapaxes(1, 2), np.array([3.0, 7.0])
    T = expand(A, n, 1.7)
    np.testing.assert_allclose(1.7 * (T - A), n[:, None, None] * np.linalg.inv(T), atol=1e-12)


def test_log_det_tells_which_are_not_positive_definite():
    found = log_det(np.array([np.diag([1.0, 2.0]), np.diag([1.0, -2.0])]))
    np.testing.assert_allclose(found, [np.log(2.0), -np.inf])


CASES = [("perturbed", q) for q in (1, 2, np.inf)] + [("cohub", q) for q in (1, 2, np.inf)]
CASES += [("fused", 0), ("group", 0)]


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize(("kind", "q"), CASES)
def test_equals_cvxpy(kind, q, K):
    n = SIZES[:K]
    S = covariances(n, 6)
    alpha_joint = 6.0 if kind in ("perturbed", "cohub") else 2.0
    exact, value = solve_by_cvxpy(S, n, 1.5, alpha_joint, kind, q)
    found = solve(S, n, 1.5, alpha_joint, kind, q)
    assert found.converged
    np.testing.assert_allclose(found.precisions, exact, atol=1e-6)
    assert found.objective == pytest.approx(value, abs=1e-6)
    assert -1e-9 <= found.duality_gap <= 1e-5


def test_one_network_with_hubs_equals_cvxpy():
    S, n = covariances([40], 7), np.array([40.0])
    exact, _ = solve_by_cvxpy(S, n, 1.0, 6.0, "cohub", 2)
    np.testing.assert_allclose(solve(S, n, 1.0, 6.0, "cohub").precisions, exact, atol=1e-6)


@pytest.mark.parametrize("kind", ["perturbed", "separate", "group"])
def test_weights_and_forbidden_edges_equal_cvxpy(kind):
    """Every entry its own weight, in each network; infinite ones forbid the edge."""
    n = SIZES[:2]
    S = covariances(n, 5)
    rng = np.random.default_rng(1)
    weights = rng.uniform(0.5, 3.0, S.shape)
    weights = (weights + weights.swapaxes(1, 2)) / 2
    weights[:, 0, 3] = weights[:, 3, 0] = weights[1, 1, 2] = weights[1, 2, 1] = np.inf
    exact, _ = solve_by_cvxpy(S, n, None, 3.0, kind, weights=weights)
    problem = JointProblem(S, n, weights, penalty_of(kind, 3.0, 2, 5))
    found = joint_graphical_lasso(problem, TIGHT)
    np.testing.assert_allclose(found.precisions, exact, atol=1e-6)
    assert not found.precisions[np.isinf(weights)].any()
    assert found.duality_gap <= 1e-5


def test_allowed_edges_become_infinite_weights():
    S = covariances([30], 4)
    allowed = np.ones((4, 4), dtype=bool)
    allowed[0, 1] = allowed[1, 0] = False
    weights = as_weights(2.0, S, penalize_diagonal=False, allowed=allowed)
    assert weights[0, 0, 1] == np.inf
    assert weights[0, 0, 0] == 0.0
    assert weights[0, 0, 2] == 2.0


def test_separate_networks_equal_scikit_learn():
    """scikit-learn does not penalise the diagonal: it is added to the covariance there."""
    n, lam = SIZES[:2], 4.0
    S = covariances(n, 6)
    found = solve(S, n, lam, 0.0, "separate").precisions
    for k in range(2):
        shifted = S[k] + lam / n[k] * np.eye(6)
        theirs = graphical_lasso(shifted, lam / n[k], tol=1e-10, enet_tol=1e-12, max_iter=1000)[1]
        np.testing.assert_allclose(found[k], theirs, atol=1e-5)


@pytest.mark.parametrize("kind", ["perturbed", "cohub", "fused", "group"])
def test_no_second_penalty_leaves_separate_networks(kind):
    n = SIZES[:3]
    S = covariances(n, 5)
    alone = solve(S, n, 2.0, 0.0, "separate").precisions
    np.testing.assert_allclose(solve(S, n, 2.0, 0.0, kind).precisions, alone, atol=1e-7)


@pytest.mark.parametrize("K", [2, 3])
def test_perturbed_entries_are_fused_entries_with_half_the_weight(K):
    """Remark 2, with the differences of the diagonals."""
    n = SIZES[:K]
    S = covariances(n, 5)
    fused = JointProblem(S, n, as_weights(1.5, S), FusedEdges(np.full((5, 5), 2.0)))
    one = joint_graphical_lasso(fused, TIGHT).precisions
    np.testing.assert_allclose(solve(S, n, 1.5, 4.0, "perturbed", 1).precisions, one, atol=1e-7)


def test_cohub_entries_are_separate_networks():
    """Remark 3: alpha_l1 + alpha_joint/2 off the diagonal, alpha_l1 on it."""
    n = SIZES[:2]
    S = covariances(n, 5)
    weights = np.full(S.shape, 1.5 + 2.0)
    weights[:, np.arange(5), np.arange(5)] = 1.5
    alone = joint_graphical_lasso(JointProblem(S, n, weights, SeparateEdges()), TIGHT).precisions
    np.testing.assert_allclose(solve(S, n, 1.5, 4.0, "cohub", 1).precisions, alone, atol=1e-7)


@pytest.mark.parametrize("q", [1, 2, np.inf])
def test_a_large_penalty_on_differences_pools_the_networks(q):
    n = SIZES[:3]
    S = covariances(n, 5)
    found = solve(S, n, 1.0, 1e4, "perturbed", q).precisions
    pooled = solve(
        (n[:, None, None] * S).sum(0, keepdims=True) / n.sum(),
        n.sum(keepdims=True),
        3.0,
        0.0,
        "separate",
    ).precisions
    np.testing.assert_allclose(found, np.repeat(pooled, 3, axis=0), atol=1e-6)


def test_a_large_penalty_on_hubs_leaves_diagonals():
    n = SIZES[:2]
    S = covariances(n, 5)
    found = solve(S, n, 1.0, 1e4, "cohub").precisions
    diagonal = n[:, None] / (n[:, None] * np.diagonal(S, axis1=1, axis2=2) + 1.0)
    np.testing.assert_allclose(found, [np.diag(d) for d in diagonal], atol=1e-7)


def block_covariances(n, seed=0):
    """Return covariances of two groups of variables that hardly correlate, and a lone one."""
    rng = np.random.default_rng(seed)
    S = covariances(n, 9, seed)
    S[:, :4, 4:] *= 0.002
    S[:, 4:, :4] *= 0.002
    S[:, 8, :8] *= 0.002
    S[:, :8, 8] *= 0.002
    return S + 0.05 * rng.uniform(size=(len(n), 1, 1)) * np.eye(9)


@pytest.mark.parametrize(("kind", "q"), CASES)
@pytest.mark.parametrize("K", [2, 3])
def test_screening_is_exact(kind, q, K):
    n = SIZES[:K]
    S = block_covariances(n)
    alpha_joint = 3.0 if kind in ("perturbed", "cohub") else 1.0
    whole = solve(S, n, 1.2, alpha_joint, kind, q, screening=False)
    apart = solve(S, n, 1.2, alpha_joint, kind, q)
    assert len(whole.blocks) == 1
    assert len(apart.blocks) >= 3
    np.testing.assert_allclose(apart.precisions, whole.precisions, atol=1e-6)
    assert apart.objective == pytest.approx(whole.objective, abs=1e-6)
    assert apart.duality_gap <= 1e-5


@pytest.mark.parametrize("tie", [FusedEdges, GroupedEdges])
def test_screening_is_exact_where_diagonals_are_tied(tie):
    n = SIZES[:3]
    S = block_covariances(n)
    problem = JointProblem(S, n, as_weights(1.2, S), tie(np.ones((9, 9))))
    whole = joint_graphical_lasso(problem, TIGHT, screening=False)
    apart = joint_graphical_lasso(problem, TIGHT)
    assert min(len(block) for block in apart.blocks) == 1
    np.testing.assert_allclose(apart.precisions, whole.precisions, atol=1e-6)


def test_threads_do_not_change_the_answer():
    S = block_covariances(SIZES[:2])
    one = solve(S, SIZES[:2], 1.2, 3.0, "perturbed")
    two = solve(S, SIZES[:2], 1.2, 3.0, "perturbed", n_jobs=2)
    np.testing.assert_array_equal(one.precisions, two.precisions)


def test_screening_of_edge_penalties_is_necessary_too():
    """Two fused networks: |n S| ≤ alpha_l1 + alpha_joint and |sum| ≤ 2 alpha_l1 decide."""
    n = np.array([10.0, 10.0])
    S = np.array([np.eye(3), np.eye(3)])
    S[0, 0, 1] = S[0, 1, 0] = 0.25  # 2.5 against alpha_l1 = 2: only the fusion holds it at zero
    problem = JointProblem(S, n, as_weights(2.0, S), FusedEdges(np.ones((3, 3)) - np.eye(3)))
    assert len(screened_blocks(problem)) == 3
    S[1, 0, 1] = S[1, 1, 0] = 0.2  # now the sum exceeds 4
    assert len(screened_blocks(problem)) == 2


def test_starting_from_a_solution_ends_at_once():
    n = SIZES[:2]
    S = covariances(n, 6)
    problem = JointProblem(S, n, as_weights(1.5, S), PerturbedNodes(5.0, 2))
    cold = joint_graphical_lasso(problem, Settings(tol=1e-6))
    warm = joint_graphical_lasso(problem, Settings(tol=1e-5), start=cold.state)
    assert warm.n_iter <= 10 < cold.n_iter
    np.testing.assert_allclose(warm.precisions, cold.precisions, atol=1e-4)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["perturbed", "cohub", "fused", "group"]))
def test_the_gap_bounds_the_distance_from_the_optimum(seed, kind):
    """Whenever it is stopped, objective − gap is no more than the value of a better solution."""
    n = SIZES[:2]
    S = covariances(n, 4, seed)
    problem = JointProblem(S, n, as_weights(2.0, S), penalty_of(kind, 3.0, 2, 4))
    rough = joint_graphical_lasso(problem, Settings(max_iter=7), screening=False)
    good = joint_graphical_lasso(problem, TIGHT, screening=False)
    slack = 1e-9 * abs(good.objective)
    assert rough.objective - rough.duality_gap <= good.objective + slack
    assert rough.objective >= good.objective - good.duality_gap - slack


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["perturbed", "cohub"]))
def test_relabelling_variables_relabels_the_solution(seed, kind):
    n = SIZES[:2]
    S = covariances(n, 5, seed)
    order = np.random.default_rng(seed).permutation(5)
    one = solve(S, n, 2.0, 3.0, kind).precisions
    other = solve(S[:, order][:, :, order], n, 2.0, 3.0, kind).precisions
    np.testing.assert_allclose(other, one[:, order][:, :, order], atol=1e-6)


def test_scaling_the_objective_scales_the_value():
    n = SIZES[:2]
    S = covariances(n, 5)
    problem = JointProblem(S, n, as_weights(1.5, S), CohubNodes(4.0, 2))
    one, ten = (joint_graphical_lasso(p, TIGHT) for p in (problem, problem.scaled(10.0)))
    np.testing.assert_allclose(ten.precisions, one.precisions, atol=1e-8)
    assert ten.objective == pytest.approx(10 * one.objective)


def test_an_infeasible_dual_point_bounds_nothing():
    S = covariances([5], 4)
    problem = JointProblem(S, np.array([5.0]), as_weights(1.0, S), SeparateEdges())
    assert dual_value(problem, -10.0 * 5 * np.eye(4)[None]) == -np.inf


def test_callbacks_can_stop_it():
    S = covariances(SIZES[:2], 5)
    problem = JointProblem(S, SIZES[:2], as_weights(1.5, S), PerturbedNodes(5.0, 2))
    stopped = joint_graphical_lasso(problem, TIGHT, on_check=lambda: True)
    assert (stopped.n_iter, stopped.converged) == (5, False)


# --- units ---------------------------------------------------------------------------------------

UNITS = np.array([1.0, 1.0, 40.0, 1.0, 1.0, 0.02])


@pytest.mark.parametrize(("kind", "q"), CASES)
def test_variables_in_units_of_their_own_equal_cvxpy(kind, q):
    """Two variables so far from the others that the solver changes their units."""
    n = SIZES[:2]
    S = covariances(n, 6) * UNITS[:, None] * UNITS
    alpha_joint = 6.0 if kind in ("perturbed", "cohub") else 2.0
    problem = JointProblem(S, n, as_weights(1.5, S), penalty_of(kind, alpha_joint, q, 6))
    assert len(np.unique(own_units(problem))) > 1
    # an interior-point method, as SCS takes for ever on data like these
    exact, value = solve_by_cvxpy(S, n, 1.5, alpha_joint, kind, q, solver="CLARABEL")
    found = joint_graphical_lasso(problem, TIGHT)
    assert found.objective == pytest.approx(value, rel=1e-6)  # its own tolerance, 1e-8, is scaled
    assert -1e-9 <= found.duality_gap <= 1e-5
    both = np.sqrt(np.diagonal(found.precisions, axis1=1, axis2=2))
    off = np.abs(found.precisions - exact) / both[:, :, None] / both[:, None, :]
    assert off.max() < 2e-3  # a relative error of 1e-6 in the value leaves its root in the argument


@pytest.mark.parametrize("factor", [1e-5, 1e4, 1e5, 1e100])
@pytest.mark.parametrize(("kind", "q"), [*CASES, ("separate", 0)])
def test_another_unit_of_all_data_is_the_same_problem(kind, q, factor):
    """Penalties in squared units: Θ is divided by them, and log det moves by p log of them."""
    n, square = SIZES[:2], factor**2
    S = covariances(n, 6)
    one = solve(S, n, 1.5, 3.0, kind, q)
    other = solve(square * S, n, 1.5 * square, 3.0 * square, kind, q)
    assert other.converged
    np.testing.assert_allclose(other.precisions * square, one.precisions, atol=1e-6)
    shift = 2.0 * 6 * n.sum() * np.log(factor)
    assert other.objective == pytest.approx(one.objective + shift, abs=1e-6)
    assert other.duality_gap <= 1e-6
    np.testing.assert_array_equal(other.precisions != 0, one.precisions != 0)


@pytest.mark.parametrize("kind", ["fused", "group", "separate"])
def test_one_variable_in_another_unit_is_the_same_problem(kind):
    """With weights in its units the solution is the same, and found as fast."""
    n, units = SIZES[:2], np.array([1.0, 1.0, 1e5, 1.0, 1.0, 1.0])
    both = units[:, None] * units
    S = covariances(n, 6)
    penalty = penalty_of(kind, 2.0, 0, 6)
    one = joint_graphical_lasso(JointProblem(S, n, as_weights(1.5, S), penalty), TIGHT)
    mapped = JointProblem(S * both, n, as_weights(1.5, S) * both, penalty.in_units(1.0 / units))
    other = joint_graphical_lasso(mapped, TIGHT)
    assert other.converged
    np.testing.assert_allclose(other.precisions * both, one.precisions, atol=1e-6)


def test_units_are_powers_of_two_and_cost_no_digit():
    S = covariances(SIZES[:2], 4)
    problem = JointProblem(S * 1e9, SIZES[:2], as_weights(1.0, S), PerturbedNodes(1.0, 2))
    units = own_units(problem)
    np.testing.assert_array_equal(np.log2(units), np.round(np.log2(units)))
    np.testing.assert_array_equal(problem.in_units(units).in_units(1.0 / units).S, problem.S)


@pytest.mark.parametrize("kind", ["perturbed", "cohub", "fused", "group"])
def test_small_residuals_alone_are_no_convergence(kind):
    """Groups in units of their own: nothing moves, and the gap says that it should."""
    n = SIZES[:2]
    S = covariances(n, 6) * np.array([1.0, 1e8])[:, None, None]
    problem = JointProblem(S, n, as_weights(1.5, S), penalty_of(kind, 2.0, 2, 6))
    found = joint_graphical_lasso(problem, Settings(max_iter=100))
    assert found.converged == (found.duality_gap <= 1e-5 * n.sum() * 6)
    assert not found.converged
