"""Benchmark problems: models, truths and logs that agree with each other."""

import numpy as np
import pytest

from octavo.rl import (
    FiniteMDP,
    FiniteProblem,
    make_action_mdp,
    make_baird,
    make_boyan,
    make_cart_pole,
    make_grid_world,
    make_n_link_pendulum,
    make_random_mdp,
    make_swing_up,
    td_statistics,
)

PROBLEMS = {
    "boyan": make_boyan,
    "baird": make_baird,
    "random on": lambda: make_random_mdp(40, 4, 10),
    "random off": lambda: make_random_mdp(40, 4, 10, off_policy=True),
    "action": lambda: make_action_mdp(10, 5, stochasticity=0.5),
    "cart on": make_cart_pole,
    "cart off": lambda: make_cart_pole("perfect", off_policy=True),
    "links on": lambda: make_n_link_pendulum(2),
    "links off": lambda: make_n_link_pendulum(2, off_policy=True),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_logs_have_the_moments_that_the_objectives_state(name):
    problem = PROBLEMS[name]()
    exact = problem.objectives()
    parts = []
    for seed in range(6):
        log = problem.sample(15_000, random_state=seed)
        parts.append(
            np.column_stack(td_statistics(log.X, log.X_next, log.r, problem.gamma, log.rho))
        )
    seen, error = np.mean(parts, axis=0), np.std(parts, axis=0, ddof=1) / np.sqrt(6)
    truth = np.column_stack([exact.A, exact.b])
    # t of five degrees of freedom: 12 is beyond 1 - 4e-5.
    assert (np.abs(seen - truth) <= 12 * error + 1e-9).all()


@pytest.mark.parametrize("name", [n for n in PROBLEMS if "on" in n or n == "boyan"])
def test_logs_have_the_squared_temporal_differences_stated(name):
    problem = PROBLEMS[name]()
    exact, theta = problem.objectives(), np.linspace(-1, 1, problem.features_.shape[1])
    seen = []
    for seed in range(6):
        log = problem.sample(15_000, random_state=seed)
        delta = log.r + problem.gamma * log.X_next @ theta - log.X @ theta
        seen.append(np.mean(delta**2))
    error = np.std(seen, ddof=1) / np.sqrt(6)
    assert abs(np.mean(seen) - exact.mstde(theta)) <= 12 * error


@pytest.mark.parametrize("name", PROBLEMS)
def test_double_samples_estimate_the_bellman_error(name):
    problem = PROBLEMS[name]()
    exact, theta = problem.objectives(), np.linspace(-1, 1, problem.features_.shape[1])
    seen = []
    for seed in range(6):
        log = problem.sample(15_000, double=True, random_state=seed)
        value = log.X @ theta
        first = log.r + problem.gamma * log.X_next @ theta - value
        second = log.r2 + problem.gamma * log.X_next2 @ theta - value
        seen.append(np.mean(log.rho * log.rho2 * first * second))
    error = np.std(seen, ddof=1) / np.sqrt(6)
    assert abs(np.mean(seen) - exact.msbe(theta)) <= 12 * error + 1e-12


def test_boyan_log_loops_as_often_as_asked():
    problem = make_boyan()
    log = problem.sample(60_000, random_state=0)
    in_last = (log.X[:, -1] == 1.0).sum() / log.start.sum()
    assert in_last == pytest.approx(14, rel=0.05)


def test_boyan_value_without_discount_is_a_line():
    chain = make_boyan(14, 4, gamma=1.0)
    np.testing.assert_allclose(chain.value_, -2.0 * np.arange(13, -1, -1), atol=1e-12)
    exact = chain.objectives()
    assert exact.mse(exact.minimiser("mspbe")) < 1e-20


def test_baird_is_the_star_of_the_survey():
    star = make_baird()
    assert star.features_.shape == (8, 9)
    np.testing.assert_array_equal(star.features_[0], [2, 0, 0, 0, 0, 0, 0, 0, 1])
    np.testing.assert_array_equal(star.features_[7], [0, 0, 0, 0, 0, 0, 0, 1, 2])
    np.testing.assert_allclose(star.weights_, 1 / 8)
    np.testing.assert_array_equal(star.theta0, [1, 1, 1, 1, 1, 1, 1, 10, 1])
    assert not star.value_.any()


def test_random_mdp_of_the_survey_has_its_size():
    problem = make_random_mdp(off_policy=True)
    assert problem.features_.shape == (400, 200)
    np.testing.assert_array_equal(problem.features_[:, -1], 1.0)
    assert problem.mdp.n_actions == 10


def test_action_mdp_is_deterministic_in_turn():
    problem = make_action_mdp(40)
    rewards = problem.mdp.expected_rewards(problem.policy)
    lap = sum(0.95**k * rewards[k] for k in range(40))
    assert problem.value_[0] == pytest.approx(lap / (1 - 0.95**40))


def test_grid_world_pays_for_the_goal_and_for_water():
    world = make_grid_world(noise=0.0)
    value = world.value_.reshape(15, 15)
    assert value[4, 3] == 0.0
    assert value[4, 2] == pytest.approx(10.0)
    assert value[0, 3] == pytest.approx(10 * 0.99**3)
    assert value[4, 14] < value[4, 0]  # the way from the right leads through water
    assert make_grid_world().value_.max() < 10.0


def test_swing_up_value_and_features():
    problem = make_swing_up(off_policy=True, n_states=40, n_rollouts=4)
    log = problem.sample(450, double=True, random_state=0)
    np.testing.assert_allclose(log.X.sum(axis=1), 2.0)
    assert log.start.sum() == 3
    assert np.abs(log.r).max() <= 1.001
    # Ratios of two normal densities with variances 1/4 and 1: at most 2, and one on average.
    assert log.rho.max() <= 2.0
    assert log.rho.mean() == pytest.approx(1.0, abs=0.15)
    exact = problem.objectives()
    assert exact.msbe(np.zeros_like(problem.theta0)) == pytest.approx(np.mean(exact.rewards**2))


def test_swing_up_conserves_energy_without_friction_and_force(monkeypatch):
    from octavo.rl.problems import swing_up

    def energy(s):
        psi, spin, _, speed = s
        m, M, length = 0.5, 0.5, 0.6
        kinetic = 0.5 * (M + m) * speed**2 + 0.5 * m * length * speed * spin * np.cos(psi)
        return kinetic + m * length**2 * spin**2 / 6 + 0.5 * m * 9.81 * length * np.cos(psi)

    # Friction takes power b ẋ² and nothing else does: dE/dt from the equations of motion.
    rng = np.random.default_rng(0)
    for state in rng.normal(size=(20, 4)) * [2, 3, 1, 2]:
        turn, slide = swing_up._accelerations(state[0], state[1], state[3], 0.0)
        rate = np.array([state[1], turn, state[3], slide])
        change = sum(
            (energy(state + h) - energy(state - h)) / 2e-6 * rate[k]
            for k, h in enumerate(1e-6 * np.eye(4))
        )
        assert change == pytest.approx(-0.1 * state[3] ** 2, abs=1e-6)


def test_swing_up_mostly_ends_upright():
    problem = make_swing_up(n_states=20, n_rollouts=1)
    states, _ = problem._simulate(40, np.random.RandomState(1))
    assert (np.cos(states[:, -10:, 0]).min(axis=1) > 0.8).mean() > 0.7


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: make_boyan(2), "n_states must be at least 3, got 2"),
        (lambda: make_boyan(loops=0), "loops must be at least 1"),
        (lambda: make_baird(0), "n_corners"),
        (lambda: make_random_mdp(n_features=0), "n_features"),
        (lambda: make_action_mdp(stochasticity=1.5), "stochasticity must lie"),
        (lambda: make_grid_world(noise=-0.1), "noise must lie"),
        (lambda: make_cart_pole("some"), "'imperfect' or 'perfect', got 'some'"),
        (lambda: make_cart_pole(variant="printed"), "'physical' or 'as_published'"),
        (lambda: make_n_link_pendulum(0), "n_links"),
        (lambda: make_swing_up().sample(0), "n_steps must be at least 1"),
        (
            lambda: FiniteProblem(
                FiniteMDP(np.full((2, 2, 2), 0.5), [0, 1]), [[1, 0], [1, 0]], [[0, 1], [1, 0]]
            ),
            "has no support",
        ),
    ],
)
def test_bad_input(make, words):
    with pytest.raises(ValueError, match=words):
        make()
