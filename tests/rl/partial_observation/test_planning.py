"""Models, controllers and planners against closed forms, simulation and each other."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.rl import (
    POMDP,
    ExactPOMDPSolver,
    FiniteMDP,
    FSCPolicy,
    PBPISolver,
    make_grid5,
    make_heaven_hell,
    make_maze1d,
    make_rock_sample,
    make_tiger,
    read_cassandra,
    rock_sample_basis,
    solve_mdp,
)

MAZE_EXPERT = FSCPolicy([0, 1, 1], [[2, 0], [0, 0], [1, 0]], start=2)


def random_model(seed, S=3, A=2, Z=2, gamma=0.7):
    rng = np.random.RandomState(seed)
    return POMDP(
        rng.dirichlet(np.ones(S), (A, S)), rng.dirichlet(np.ones(Z), (A, S)),
        rng.normal(size=(S, A)), gamma, start=rng.dirichlet(np.ones(S)),
    )  # fmt: skip


def tiger_by_counts(most=12):
    """Value of the tiger by a dynamic program over the difference of what was heard."""
    d = np.arange(-most, most + 1)
    left = 0.85**d / (0.85**d + 0.15**d)
    opened = np.maximum(10 * left - 100 * (1 - left), 10 * (1 - left) - 100 * left)
    V = np.zeros(len(d))
    for _ in range(300):
        heard = 0.85 * left + 0.15 * (1 - left)
        up, down = np.append(V[1:], V[-1]), np.append(V[0], V[:-1])
        V = np.maximum(opened + 0.75 * V[most], -1 + 0.75 * (heard * up + (1 - heard) * down))
    return V[most]


def test_the_tiger_by_counts_by_both_planners_and_in_print():
    tiger, value = make_tiger(), tiger_by_counts()
    assert value == pytest.approx(1.9334, abs=5e-5)
    for solver in (PBPISolver(), ExactPOMDPSolver()):
        assert solver.solve(tiger).value(tiger) == pytest.approx(value, abs=1e-6)


def test_the_printed_controller_of_the_maze():
    maze = make_maze1d()
    assert MAZE_EXPERT.value(maze) == pytest.approx(1.0207, abs=5e-5)
    assert PBPISolver().solve(maze).value(maze) == pytest.approx(MAZE_EXPERT.value(maze))
    assert len(MAZE_EXPERT.reachable_beliefs(maze).nodes) == 4


def test_grid_and_heaven_in_closed_form():
    grid, heaven = make_grid5(), make_heaven_hell()
    assert PBPISolver().solve(grid).value(grid) == pytest.approx(0.9**8 / (1 - 0.9**9))
    walk = 0.99**10 / (1 - 0.99**11)  # ten steps by the priest to heaven, again and again
    solver = PBPISolver()
    assert solver.solve(heaven).value(heaven) == pytest.approx(walk)
    assert solver.upper_ == pytest.approx(walk)
    alternating = FSCPolicy([3, 1], [[1] * 9, [0] * 9])
    assert alternating.value(grid) == pytest.approx(0.9**8 / (1 - 0.9**9))


@pytest.mark.parametrize("seed", range(3))
def test_point_based_values_are_the_exact_ones(seed):
    pomdp = random_model(seed)
    exact = ExactPOMDPSolver(tol=1e-7)
    exact.solve(pomdp)
    best = (exact.vectors_ @ pomdp.start).max()
    solver = PBPISolver(n_beliefs=3000)
    solver.solve(pomdp)
    assert solver.value_ <= best + 1e-5
    assert solver.upper_ >= best - 1e-5
    assert solver.value_ == pytest.approx(best, abs=1e-3)


def test_values_are_those_of_simulation():
    tiger = make_tiger()
    expert = PBPISolver().solve(tiger)
    logs = tiger.sample(expert, 4000, 30, random_state=0)
    r = tiger.rewards()
    earned = []
    for actions, seen in logs:
        b, total = tiger.start, 0.0
        for t, (a, z) in enumerate(zip(actions, seen)):
            total += 0.75**t * (b @ r[:, a])
            b = tiger.belief_update(b, a, z)
        earned.append(total)
    error = np.std(earned) / np.sqrt(len(earned))
    assert abs(np.mean(earned) - expert.value(tiger)) < 5 * error + 0.75**30 * 400


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000))
def test_features_and_values_are_one(seed):
    rng = np.random.RandomState(seed)
    pomdp = random_model(seed)
    policy = FSCPolicy(rng.randint(2, size=4), rng.randint(4, size=(4, 2)), int(rng.randint(4)))
    R = rng.normal(size=(3, 2))
    value = policy.value(pomdp, R)
    assert policy.feature_expectation(pomdp) @ R.ravel() == pytest.approx(value)
    maps = policy.value_maps(pomdp) @ R.ravel()
    np.testing.assert_allclose(maps, policy.values(pomdp, R), atol=1e-10)
    assert policy.occupancy(pomdp).sum() == pytest.approx(1 / 0.3)
    Q = policy.action_values(pomdp, R)
    own = np.take_along_axis(Q, policy.actions[:, None, None], 2)[:, :, 0]
    np.testing.assert_allclose(own, policy.values(pomdp, R), atol=1e-10)


@settings(max_examples=8, deadline=None)
@given(st.floats(1e-3, 1e3), st.floats(-10, 10))
def test_scale_and_shift_change_no_plan(scale, shift):
    maze = make_maze1d()
    policy = PBPISolver().solve(maze, scale * maze.rewards() + shift * scale)
    assert policy.value(maze) == pytest.approx(1.0207, abs=5e-5)


def test_full_observation_is_the_mdp():
    rng = np.random.RandomState(0)
    P, R = rng.dirichlet(np.ones(4), (3, 4)), rng.normal(size=(4, 3))
    start = np.eye(4)[1]
    pomdp = POMDP(P, np.tile(np.eye(4), (3, 1, 1)), R, 0.9, start=start)
    values, _ = solve_mdp(FiniteMDP(P, R, 0.9, start=start))
    assert PBPISolver().solve(pomdp).value(pomdp) == pytest.approx(values[1])


@pytest.mark.parametrize("S", [2, 3, 4])
def test_points_find_the_optimum_where_beliefs_never_come_back(S):
    for seed in range(6):
        pomdp = random_model(seed, S=S)
        best = ExactPOMDPSolver().solve(pomdp).value(pomdp)
        solver = PBPISolver(n_beliefs=200)
        assert solver.solve(pomdp).value(pomdp) == pytest.approx(best, abs=1e-6)
        assert solver.upper_ >= best - 1e-9


def test_a_reward_is_planned_for_as_if_none_had_come_before():
    rng = np.random.RandomState(1)
    P, O = rng.dirichlet(np.full(32, 0.1), (3, 32)), rng.dirichlet(np.ones(3), (3, 32))
    pomdp = POMDP(P, O, rng.normal(size=(32, 3)), 0.9, start=rng.dirichlet(np.ones(32)))
    later = rng.normal(size=(32, 3))
    fresh, used = PBPISolver(n_beliefs=60), PBPISolver(n_beliefs=60)
    fresh.solve(pomdp, later)
    used.solve(pomdp)  # spends all of its beliefs
    used.solve(pomdp, later)
    assert (used.value_, used.upper_) == (fresh.value_, fresh.upper_)


def test_sparse_tables_add_up_their_duplicates():
    P = sp.coo_matrix(([0.5, 0.5, 1.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    pomdp = POMDP([P], [sp.csr_matrix(np.eye(2))], gamma=0.5)
    np.testing.assert_array_equal(pomdp.P[0], [[0, 1], [1, 0]])


def test_rock_sample_has_the_paper_s_size_and_features():
    rocks = make_rock_sample(4, 3)
    assert (rocks.n_states, rocks.n_actions, rocks.n_observations) == (129, 8, 2)
    r = rocks.rewards()
    for compact in (True, False):
        phi = rock_sample_basis(rocks, compact)
        fit = np.linalg.lstsq(phi.reshape(len(phi), -1).T, r.ravel(), rcond=None)[0]
        np.testing.assert_allclose(np.einsum("f,fsa->sa", fit, phi), r, atol=1e-9)
    assert len(rock_sample_basis(rocks)) == 12


def test_cassandra_s_tiger(tmp_path):
    path = tmp_path / "tiger.POMDP"
    path.write_text(TIGER, encoding="utf-8-sig")  # as Windows writes it
    read, made = read_cassandra(path), make_tiger()
    np.testing.assert_allclose(read.P, made.P)
    np.testing.assert_allclose(read.O, made.O)
    np.testing.assert_allclose(read.rewards(), made.rewards())
    assert read.gamma == 0.75
    assert read.action_names[0] == "listen"
    for broken in (TIGER.replace("tiger-left : *", "lion : *"), "states: 2\n", "nonsense"):
        path.write_text(broken)
        with pytest.raises(ValueError, match="Cannot read"):
            read_cassandra(path)
    with pytest.raises(ValueError, match="none at"):
        read_cassandra(tmp_path / "missing.POMDP")


TIGER = """
discount: 0.75
values: reward
states: tiger-left tiger-right
actions: listen open-left open-right
observations: 2
T: listen
identity
T: open-left : *
uniform
T: open-right
0.5 0.5
0.5 0.5
O: listen : tiger-left : 0 0.85
O: listen : tiger-left : 1 0.15
O: listen : tiger-right
0.15 0.85
O: open-left
uniform
O: 2
uniform
R: listen : * : * : * -1
R: open-left : tiger-left : * : * -100  # eaten
R: open-left : tiger-right : * : * 10
R: open-right : tiger-left : * : * 10
R: open-right : tiger-right : * : * -100
"""


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"P": np.full((1, 2, 2), 0.4)}, "Rows of P must sum to 1"),
        ({"O": np.full((1, 2, 2), 0.6)}, "Rows of O must sum to 1"),
        ({"P": np.full((1, 2, 2), np.nan)}, "finite"),
        ({"O": np.full((2, 2, 2), 0.5)}, "to go with P"),
        ({"gamma": 1.0}, r"\[0, 1\)"),
        ({"start": [1.0, 1.0]}, "start"),
        ({"R": [np.nan, 0]}, "finite"),
        ({"P": "banana"}, "table"),
    ],
)
def test_bad_models(change, words):
    good = {"P": np.full((1, 2, 2), 0.5), "O": np.full((1, 2, 2), 0.5), "gamma": 0.5}
    with pytest.raises(ValueError, match=words):
        POMDP(**{**good, **change})


def test_bad_controllers_and_beliefs():
    with pytest.raises(ValueError, match="missing"):
        FSCPolicy([0], [[0, 1]])
    with pytest.raises(ValueError, match="start"):
        FSCPolicy([0], [[0, 0]], start=1)
    with pytest.raises(ValueError, match="whole numbers"):
        FSCPolicy([0.5], [[0, 0]])
    maze = make_maze1d()
    with pytest.raises(ValueError, match="impossible"):
        maze.belief_update([1, 0, 0, 0], 0, 1)
    with pytest.raises(ValueError, match="observations"):
        FSCPolicy([0], [[0]]).values(maze)
    with pytest.raises(ValueError, match="no reward"):
        MAZE_EXPERT.values(POMDP(maze.P, maze.O))
    with pytest.raises(ValueError, match="not tiny"):
        ExactPOMDPSolver(max_vectors=2).solve(make_tiger())


def test_cassandra_s_wildcards_costs_and_resets(tmp_path):
    path = tmp_path / "reset.POMDP"
    path.write_text(
        "discount: 0.9\nvalues: cost\nstates: a b c\nactions: go stay\nobservations: 2\n"
        "start include: a c\nT: stay identity\nT: go : * : b 1.0\nT: go : b reset\n"
        "T: go : c\nuniform\nO: * : * : 0 0.25\nO: * : * : 1 0.75\nO: go : c\n1 0\n"
        "R: go : b : c : 0 8\nR: go : c : *\n1 2\nR: stay : * : * : * 4\n"
    )
    read = read_cassandra(path)
    np.testing.assert_array_equal(read.start, [0.5, 0.0, 0.5])
    np.testing.assert_allclose(read.P[0], [[0, 1, 0], [0.5, 0, 0.5], [1 / 3, 1 / 3, 1 / 3]])
    np.testing.assert_array_equal(read.P[1], np.eye(3))
    # from c: a and b show 0 one time in four, c always
    at_c = (2 * (0.25 * 1 + 0.75 * 2) + 1) / 3
    np.testing.assert_allclose(read.rewards(), [[0, -4], [-0.5 * 8, -4], [-at_c, -4]])


def test_the_bound_holds_where_the_plan_is_poor():
    lost = []
    for seed in range(8):
        pomdp = random_model(seed)
        best = ExactPOMDPSolver().solve(pomdp).value(pomdp)
        poor = PBPISolver(n_beliefs=1, max_iter=0)
        lost.append(best - poor.solve(pomdp).value(pomdp))
        assert poor.upper_ >= best - 1e-9
    assert min(lost) >= -1e-9
    assert max(lost) > 0.01


def test_exact_values_are_as_near_as_was_asked():
    tol = 1e-2
    for seed in range(4):
        pomdp = random_model(seed, gamma=0.95)
        close, far = ExactPOMDPSolver(tol=1e-8), ExactPOMDPSolver(tol=tol)
        close.solve(pomdp)
        far.solve(pomdp)
        B = np.random.RandomState(seed).dirichlet(np.ones(3), 50)
        apart = np.abs((B @ close.vectors_.T).max(axis=1) - (B @ far.vectors_.T).max(axis=1))
        assert apart.max() <= tol * np.abs(pomdp.rewards()).max() / 0.05


def test_rock_sample_pays_and_senses_as_it_says():
    rocks = make_rock_sample(3, 1, rocks=[(2, 0)], half_distance=2.0)
    r = rocks.rewards()

    def state(x, y, good):
        return (3 * y + x) * 2 + good

    west, east, north, south, sample, check = range(6)
    for good in (0, 1):
        assert [r[state(0, 1, good), a] for a in (west, east, north)] == [-100, 0, 0]
        assert [r[state(2, 1, good), a] for a in (west, east, south)] == [0, 1, 0]
        assert r[state(0, 2, good), north] == r[state(0, 0, good), south] == -100
        assert r[state(2, 0, good), sample] == (10 if good else -10)
        assert r[state(1, 0, good), sample] == -100
        taken = rocks.P[sample, state(2, 0, good)]
        assert taken[state(2, 0, 0)] == 1  # a rock is good once
        right = 0.5 + 0.5 * 2 ** (-np.sqrt(5) / 2)  # two steps east and one south
        assert rocks.O[check, state(0, 1, good), good] == pytest.approx(right)
        assert rocks.O[check, state(2, 0, good), good] == 1
