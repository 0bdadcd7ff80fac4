"""Learned rewards against cvxpy, against planning and against each other."""

import warnings
from itertools import product

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from octavo.rl import (
    FSCIRL,
    MDPIRL,
    POMDP,
    ExactPOMDPSolver,
    FiniteMDP,
    FSCPolicy,
    PBPISolver,
    TrajectoryIRL,
    compact_basis,
    make_grid5,
    make_heaven_hell,
    make_maze1d,
    make_tiger,
    normalize_reward,
    partition_basis,
    solve_mdp,
    state_basis,
    trajectory_horizon,
    value_gap,
)
from octavo.rl.inverse.apprenticeship import Plan, match_features, value_weights
from octavo.rl.inverse.belief_logs import BeliefLogs
from octavo.rl.inverse.margin_program import MarginProgram, dense_margins
from octavo.rl.inverse.mdp_irl import expected_features

MAZE = make_maze1d()
EXPERT = FSCPolicy([0, 1, 1], [[2, 0], [0, 0], [1, 0]], start=2)


def explain(model, *data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(*data)


def all_rows(pomdp, policy):
    """Margins of all deviations, by solving for each reward indicator: slow and plain."""
    S, A, n = pomdp.n_states, pomdp.n_actions, policy.n_nodes
    basis = np.eye(S * A).reshape(S * A, S, A)
    V = np.array([policy.values(pomdp, R) for R in basis])  # feature, node, state
    rows = []
    reached = policy.reachable_beliefs(pomdp)
    for node, b in zip(reached.nodes, reached.beliefs):
        for a in range(A):
            for to in product(range(n), repeat=pomdp.n_observations):
                new = np.zeros(S * A)
                for f, R in enumerate(basis):
                    new[f] = b @ R[:, a] + pomdp.gamma * sum(
                        (b @ pomdp.P[a] * pomdp.O[a][:, z]) @ V[f, to[z]]
                        for z in range(pomdp.n_observations)
                    )
                rows.append(V[:, node] @ b - new)
    return np.array(rows)


@pytest.mark.parametrize("alpha", [0.0, 5.0, 20.0])
def test_the_program_is_cvxpy_s(alpha):
    cp = pytest.importorskip("cvxpy")
    G = all_rows(MAZE, EXPERT)
    R = cp.Variable(8)
    goal = cp.Maximize(G.sum(axis=0) @ R - alpha * cp.norm1(R))
    best = cp.Problem(goal, [G @ R >= 0, cp.abs(R) <= 1]).solve(solver="CLARABEL")
    model = explain(FSCIRL("dp", alpha=alpha), MAZE, EXPERT)
    assert -model.objective_ == pytest.approx(best, rel=1e-6)
    x = model.reward_.ravel()
    assert (G @ x).min() > -1e-6
    assert G.sum(axis=0) @ x - alpha * np.abs(x).sum() == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("method", ["witness", "dp", "q"])
def test_tables_of_the_paper(method):
    tiger = make_tiger()
    published = {"witness": (39, 12), "dp": (75, 18), "q": (375, 54)}[method]
    for pomdp, expert, count in zip((tiger, MAZE), (PBPISolver().solve(tiger), EXPERT), published):
        model = explain(FSCIRL(method), pomdp, expert)
        assert model.n_new_nodes_ == count
        R = model.reward_
        assert value_gap(pomdp, pomdp.rewards(), R, expert=expert) < 1e-6
        assert value_gap(pomdp, R, R, expert=expert) < 1e-6


def test_the_sparse_reward_of_the_tiger_is_the_printed_one():
    tiger = make_tiger()
    with pytest.warns(ConvergenceWarning, match="margin_ is zero"):
        model = FSCIRL().fit(tiger, PBPISolver().solve(tiger))
    R = model.reward_
    assert model.margin_ == 0.0
    np.testing.assert_allclose(R[:, 0], 0, atol=1e-9)
    printed = 99 * R - 1  # Table 5: listen -1, success 5.68, failure -100
    np.testing.assert_allclose(printed[0], [-1, -100, 5.68], atol=0.01)


def test_grid_and_heaven():
    grid, alternating = make_grid5(), FSCPolicy([3, 1], [[1] * 9, [0] * 9])
    model = explain(FSCIRL(), grid, alternating)
    assert model.n_new_nodes_ == 1044
    assert model.policy_.value(grid) == pytest.approx(alternating.value(grid))
    heaven = make_heaven_hell()
    expert = PBPISolver().solve(heaven)
    model = explain(FSCIRL(), heaven, expert)
    assert model.policy_.value(heaven) == pytest.approx(expert.value(heaven))
    assert model.margin_ > 0
    assert model.margin_floor_ > 0
    with pytest.raises(ValueError, match="witness"):
        FSCIRL("dp").fit(heaven, PBPISolver(merge=False).solve(heaven))


def test_full_observation_keeps_the_conditions_of_the_mdp():
    rng = np.random.RandomState(1)
    P = rng.dirichlet(np.ones(3), (2, 3))
    true = rng.normal(size=(3, 2))
    start = np.eye(3)[0]
    mdp = FiniteMDP(P, true, 0.8, start=start)
    _, policy = solve_mdp(mdp)
    pomdp = POMDP(P, np.tile(np.eye(3), (2, 1, 1)), true, 0.8, start=start)
    expert = FSCPolicy(policy, np.tile(np.arange(3), (3, 1)), 0)
    learned = explain(FSCIRL("dp", alpha=0.0), pomdp, expert).reward_
    Q = FiniteMDP(P, learned, 0.8, start=start).action_value(policy)
    assert (Q.max(axis=1) - Q[np.arange(3), policy]).max() < 1e-6
    theirs = MDPIRL().fit(mdp, policy)
    assert expert.value(pomdp, theirs.reward_) == pytest.approx(
        PBPISolver().solve(pomdp, theirs.reward_).value(pomdp, theirs.reward_), abs=1e-6
    )


@pytest.mark.parametrize(("one", "other"), [("mmfe", "max-margin"), ("prj", "projection")])
def test_full_observation_takes_the_steps_of_the_mdp(one, other):
    rng = np.random.RandomState(2)
    P = (rng.dirichlet(np.ones(4) * 0.2, (2, 4)) > 0.3).astype(float)
    P = np.where(P.sum(axis=2, keepdims=True) == 1, P, np.eye(4))  # deterministic: logs are exact
    start = np.eye(4)[0]
    true = rng.normal(size=(4, 2))
    mdp = FiniteMDP(P, true, 0.5, start=start)
    pomdp = POMDP(P, np.tile(np.eye(4), (2, 1, 1)), true, 0.5, start=start)
    expert = PBPISolver().solve(pomdp)
    logs = pomdp.sample(expert, 1, 60, random_state=0)
    seen = [(np.append(0, logs[0][1][:-1]), logs[0][0])]
    hidden = TrajectoryIRL(one, max_iter=20, random_state=0).fit(pomdp, logs)
    open_ = MDPIRL(other, max_iter=20, random_state=0).fit(mdp, seen)
    np.testing.assert_allclose(hidden.coef_, open_.coef_, atol=1e-7)


def test_mdp_program_is_cvxpy_s():
    cp = pytest.importorskip("cvxpy")
    rng = np.random.RandomState(3)
    P = rng.dirichlet(np.ones(4), (3, 4))
    mdp = FiniteMDP(P, rng.normal(size=(4, 3)), 0.9)
    _, policy = solve_mdp(mdp)
    chosen = P[policy, np.arange(4)]
    R = cp.Variable((4, 3))
    own = cp.hstack([R[s, policy[s]] for s in range(4)])
    inverse = np.linalg.inv(np.eye(4) - 0.9 * chosen)
    margins = [own - R[:, a] + 0.9 * (chosen - P[a]) @ inverse @ own for a in range(3)]
    goal = sum(cp.sum(m) for m in margins) - 0.5 * cp.sum(cp.abs(R))
    allowed = [m >= 0 for m in margins] + [cp.abs(R) <= 2]
    best = cp.Problem(cp.Maximize(goal), allowed).solve(solver="CLARABEL")
    model = MDPIRL(alpha=0.5, r_max=2.0).fit(mdp, policy)
    assert np.abs(model.reward_).max() <= 2 + 1e-9
    x = model.reward_
    mine = x[np.arange(4), policy]
    total = sum((mine - x[:, a] + 0.9 * (chosen - P[a]) @ inverse @ mine).sum() for a in range(3))
    assert total - 0.5 * np.abs(x).sum() == pytest.approx(best, rel=1e-6)
    # of all optima, how far some direction reaches one way and the other
    along = cp.sum(cp.multiply(rng.normal(size=(4, 3)), R))
    reach = [
        cp.Problem(cp.Maximize(sign * along), [*allowed, goal >= best - 1e-7]).solve(
            solver="CLARABEL"
        )
        for sign in (1, -1)
    ]
    assert model.unique_ == (sum(reach) < 1e-4)


@pytest.mark.parametrize("method", ["mmfe", "prj"])
def test_logs_of_four_problems(method):
    grid_expert = FSCPolicy([3, 1], [[1] * 9, [0] * 9])
    for make, steps, expert in (
        (make_tiger, 20, None), (make_maze1d, 20, EXPERT), (make_grid5, 50, grid_expert),
        (make_heaven_hell, 300, None),
    ):  # fmt: skip
        pomdp = make()
        expert = expert or PBPISolver().solve(pomdp)
        logs = pomdp.sample(expert, 500, steps, random_state=0)
        model = TrajectoryIRL(method, max_iter=25, random_state=0).fit(pomdp, logs)
        assert model.policy_.value(pomdp) >= 0.99 * expert.value(pomdp)


def test_projection_never_goes_back_and_margin_is_cvxpy_s():
    cp = pytest.importorskip("cvxpy")
    logs = MAZE.sample(EXPERT, 300, 30, random_state=1)
    model = TrajectoryIRL("prj", max_iter=15, tol=0.0, random_state=0).fit(MAZE, logs)
    t = [record["t"] for record in model.history_]
    assert (np.diff(t) <= 1e-12).all()
    seen = []

    class Recorder(PBPISolver):
        def solve(self, pomdp, R=None):
            policy = super().solve(pomdp, R)
            seen.append(policy.feature_expectation(pomdp))
            return policy

    model = TrajectoryIRL(max_iter=4, tol=0.0, solver=Recorder(), random_state=0).fit(MAZE, logs)
    gaps = model.feature_expectation_ - np.array(seen[: len(model.history_)])
    a, s = cp.Variable(8), cp.Variable()
    cp.Problem(cp.Maximize(s), [gaps @ a >= s, cp.norm2(a) <= 1]).solve(solver="CLARABEL")
    assert model.history_[-1]["t"] == pytest.approx(s.value, abs=1e-6)


def test_values_learn_the_maze():
    logs = MAZE.sample(EXPERT, 500, 30, random_state=0)
    model = TrajectoryIRL("mmv", random_state=0).fit(MAZE, logs)
    assert model.policy_.value(MAZE) == pytest.approx(EXPERT.value(MAZE))
    assert np.abs(model.coef_).max() <= 1 + 1e-9


def test_mdp_logs():
    rng = np.random.RandomState(0)
    mdp = FiniteMDP(rng.dirichlet(np.ones(4) * 0.2, (2, 4)), [0, 0, 0, 1.0], 0.8)
    values, policy = solve_mdp(mdp)
    log = mdp.simulate(4000, policy, random_state=0)
    logs = [(log.states[i : i + 40], log.actions[i : i + 40]) for i in range(0, 4000, 40)]
    for method in ("lp", "max-margin", "projection"):
        model = MDPIRL(method, basis="state", random_state=0).fit(mdp, logs)
        assert model.reward_.shape == (4, 2)
        assert model.policy_.shape == (4,)
    exact = MDPIRL("max-margin", random_state=0).fit(mdp, policy)
    assert value_gap(mdp, mdp.action_rewards(), exact.reward_) < 1e-9 * abs(values).max()


def test_penalties():
    with pytest.warns(ConvergenceWarning, match="All-zero reward"):
        model = FSCIRL(alpha=1000.0).fit(MAZE, EXPERT)
    assert not model.reward_.any()
    big, small = (explain(FSCIRL(r_max=c), MAZE, EXPERT).reward_ for c in (1e5, 1e-5))
    np.testing.assert_allclose(big / 1e5, small / 1e-5, atol=1e-7)


def test_logs_that_cannot_be():
    logs = MAZE.sample(EXPERT, 3, 10, random_state=0)
    broken = [*logs, ([1, 1, 1, 1, 1], [0, 0, 0, 0, 1])]
    with pytest.raises(ValueError, match="step 4 of trajectory 3 is impossible"):
        TrajectoryIRL().fit(MAZE, broken)
    for bad, words in (
        ([], "at least one"), ([([0], [0, 1])], "follows each"), ([([5], [0])], "lie in"),
        ([([0.5], [0])], "whole numbers"), ("banana", "list of pairs"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=words):
            TrajectoryIRL().fit(MAZE, bad)
    with pytest.raises(ValueError, match="FSCPolicy"):
        FSCIRL().fit(MAZE, [0, 1])
    mdp = FiniteMDP(np.full((2, 2, 2), 0.5), [0, 1.0], 0.5)
    with pytest.raises(ValueError, match="one action in each state"):
        MDPIRL().fit(mdp, np.full((2, 2), 0.5))


def test_bases_and_display():
    R = MAZE.rewards()
    assert len(compact_basis(R)) == 2
    assert state_basis(4, 2).sum() == 8
    assert len(partition_basis([[(2, 0), (2, 1)]], 4, 2)) == 2
    np.testing.assert_allclose(normalize_reward(3 * R - 7, R), R, atol=1e-12)
    assert trajectory_horizon(0.9, 0.1) == int(np.ceil(np.log(0.01) / np.log(0.9)))
    assert value_gap(MAZE, R, 2 * R + 1) == pytest.approx(0, abs=1e-9)
    # who plans for -R gets the least of R: both ends by value iteration over all beliefs
    ends = [ExactPOMDPSolver(tol=1e-8).solve(MAZE, s * R).value(MAZE, s * R) for s in (1, -1)]
    assert value_gap(MAZE, R, -R) == pytest.approx(sum(ends), abs=1e-5)


# --- what other choices of the formulas would give ------------------------------------------------


def test_comparisons_are_counted_at_every_belief():
    always_right = FSCPolicy([1], [[0, 0]])
    n_beliefs = len(always_right.reachable_beliefs(MAZE).beliefs)
    assert n_beliefs > 1
    model = explain(FSCIRL(alpha=0.0), MAZE, always_right)
    # one new node, which goes left, at each belief; the expert's own node is no deviation
    assert (model.n_new_nodes_, model.n_constraints_) == (2, n_beliefs)


def test_margins_are_in_units_of_the_reward():
    mdp = FiniteMDP([[[1, 0], [0, 1]], [[0, 1], [1, 0]]], [0, 0], gamma=0.5)
    model = MDPIRL(r_max=3.0).fit(mdp, [1, 0])
    Q = FiniteMDP(mdp.P, model.reward_, 0.5).action_value([1, 0])
    least = np.abs(Q[:, 0] - Q[:, 1]).min()  # two actions: one gap in each state
    assert model.margin_ == pytest.approx(least) == pytest.approx(6.0)


def test_the_largest_penalty_is_where_the_reward_vanishes():
    cp = pytest.importorskip("cvxpy")
    G = all_rows(MAZE, EXPERT)
    c, R = G.sum(axis=0), cp.Variable(8)
    largest = cp.Problem(cp.Maximize(c @ R), [G @ R >= 0, cp.norm1(R) <= 1]).solve(
        solver="CLARABEL"
    )
    assert MarginProgram(c, dense_margins(G), 1.0).largest_alpha() == pytest.approx(largest)
    for share, is_zero in ((0.99, False), (1.01, True)):
        model = explain(FSCIRL("dp", alpha=share * largest), MAZE, EXPERT)
        assert (not model.reward_.any()) == is_zero


@pytest.mark.parametrize("alpha", [0.0, 0.2, 2.0])
def test_weights_of_values_are_cvxpy_s(alpha):
    cp = pytest.importorskip("cvxpy")
    rng = np.random.RandomState(0)
    differences, phi = rng.normal(size=(7, 3)), rng.randint(0, 2, size=(3, 10)).astype(float)

    def worth(w, least, absolute):
        x = differences @ w
        return least(x) - alpha * absolute(phi.T @ w)

    w = cp.Variable(3)
    goal = worth(w, lambda x: cp.sum(cp.minimum(x, 2 * x)), cp.norm1)
    best = cp.Problem(cp.Maximize(goal), [cp.abs(w) <= 1]).solve(solver="CLARABEL")
    found = value_weights(differences, phi, alpha, 3)
    assert np.abs(found).max() <= 1 + 1e-9
    mine = worth(found, lambda x: np.minimum(x, 2 * x).sum(), lambda z: np.abs(z).sum())
    assert mine == pytest.approx(best, abs=1e-7)


def test_projections_stay_on_the_segment():
    points = iter([[0.0, 0.0], [1.0, 0.0], [2.0, 2.0]])

    def plan(coef):
        return Plan(None, np.array(next(points)))

    found = match_features(
        plan, np.array([3.0, 1.0]), np.ones(2), project=True, tol=0.0, max_iter=3
    )
    # the foot of (3, 1) on the line through (0, 0) and (1, 0) is (3, 0), beyond its end
    second, third = (record["t"] for record in found.history[1:])
    assert second == pytest.approx(np.sqrt(5))
    # then towards (2, 2): the foot at a share (2 + 2) / 5 of (1, 2) from (1, 0)
    assert third == pytest.approx(np.hypot(3 - 1.8, 1 - 1.6))


def test_a_belief_counts_from_its_first_visit():
    ids = np.array([[0, 0, 0], [0, 1, -1]])
    logs = BeliefLogs(ids, np.zeros((2, 3), dtype=int), np.eye(2))
    phi = np.array([[[1.0], [4.0]]])
    mu, earned = logs.earned(phi, 0.5)
    assert mu == pytest.approx([((1 + 0.5 + 0.25) + (1 + 0.5 * 4)) / 2])
    # belief 0 from the start of both, belief 1 from the second step of the other
    np.testing.assert_allclose(earned[:, 0], [mu[0], 4.0])


@pytest.mark.parametrize("seed", range(3))
def test_terminal_states_earn_nothing_however_they_are_entered(seed):
    rng = np.random.RandomState(seed)
    P, R = rng.dirichlet(np.ones(4), (2, 4)), rng.normal(size=(4, 2)) + 1.0
    terminal = np.array([False, False, True, False])
    mdp = FiniteMDP(P, R, 0.9, terminal=terminal)  # it may start in the terminal state
    values, policy = solve_mdp(mdp)
    others = np.array([mdp.value(list(choice)) for choice in product(range(2), repeat=4)])
    np.testing.assert_allclose(values, others.max(axis=0), atol=1e-9)
    assert values[2] == 0.0
    phi = rng.normal(size=(3, 4, 2))
    table = mdp.check_policy(policy)
    each = [FiniteMDP(P, part, 0.9, terminal=terminal).value(policy) for part in phi]
    np.testing.assert_allclose(expected_features(mdp, table, phi), np.array(each) @ mdp.start)


def test_a_planner_that_beats_the_expert_explains_nothing():
    model, solver = FSCIRL(), PBPISolver()
    model._deviate(MAZE, EXPERT)
    alpha = 0.5 * model._program.largest_alpha()
    own = EXPERT.feature_expectation(MAZE)
    worse = FSCPolicy([1], [[0, 0]]).feature_expectation(MAZE)
    assert model._try(MAZE, solver, own, alpha, forced=10**6).rank == 4
    assert model._try(MAZE, solver, worse, alpha, forced=10**6).rank == 1


def test_rewards_that_contradict_the_reference_keep_its_range():
    R, reference = np.array([[0.0, 1.0], [2.0, 3.0]]), np.array([[3.0, 1.0], [2.0, 0.5]])
    shown = normalize_reward(R, reference)
    assert np.ptp(shown) == pytest.approx(2.5)
    assert shown.mean() == pytest.approx(reference.mean())
    assert np.corrcoef(shown.ravel(), R.ravel())[0, 1] == pytest.approx(1.0)


@pytest.mark.parametrize("r_max", [0.2, 1.0, 50.0])
def test_the_horizon_is_the_first_that_misses_little(r_max):
    H = trajectory_horizon(0.9, 0.1, r_max)
    assert 0.9**H * r_max / 0.1 <= 0.1 < 0.9 ** (H - 1) * r_max / 0.1
