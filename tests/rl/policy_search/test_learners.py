"""World models and rivals: closed forms, finite differences and problems with known answers."""

import numpy as np
import pytest

from octavo.rl import (
    LSPI,
    OLPOMDP,
    DynaQ,
    Episode,
    FiniteMDP,
    GaussianLinearPolicy,
    LinearWorldModel,
    MountainCar,
    MultiControllerPolicy,
    QLearningCMAC,
    SoftmaxLinearPolicy,
    make_random_mdp,
)

POLICIES = [
    SoftmaxLinearPolicy(2, 3),
    GaussianLinearPolicy(2, 2, scale=0.7),
    MultiControllerPolicy([SoftmaxLinearPolicy(2, 2), SoftmaxLinearPolicy(2, 3)]),
]


@pytest.mark.parametrize("policy", POLICIES, ids=lambda p: type(p).__name__)
def test_scores_are_gradients_and_draws_follow_the_law(policy):
    rng = np.random.RandomState(0)
    theta, state = rng.normal(size=policy.n_params), rng.normal(size=2)
    action = policy.act(theta, state, rng)
    score = policy.score(theta, state, action)
    for i, push in enumerate(np.eye(policy.n_params) * 1e-6):
        up, down = (
            policy.log_prob(theta + s * push, state[None], np.asarray(action)[None])[0]
            for s in (1, -1)
        )
        assert score[i] == pytest.approx((up - down) / 2e-6, abs=1e-6)
    rows = (np.tile(theta, (20_000, 1)), np.tile(state, (20_000, 1)))
    drawn = policy.choose(*rows, policy.noise(rng, (20_000,)))
    if isinstance(policy, GaussianLinearPolicy):
        np.testing.assert_allclose(
            drawn.mean(axis=0), policy.mean(theta, state[None])[0], atol=0.03
        )
        np.testing.assert_allclose(drawn.std(axis=0), 0.7, atol=0.02)
    else:
        code = drawn if drawn.ndim == 1 else drawn @ [3, 1]
        p = np.exp(policy.log_probs(theta, state[None])[0])
        # four standard errors of a share: 4 · √(1/4 / 20000)
        np.testing.assert_allclose(np.bincount(code, minlength=len(p)) / 20_000, p, atol=0.015)


def linear_runs(n=4, seed=0):
    rng = np.random.RandomState(seed)
    A, B = np.array([[0.9, 0.2], [0.0, 0.8]]), np.array([[0.0], [0.5]])
    runs = []
    for _ in range(n):
        states, actions, rewards = [rng.normal(size=2)], [], []
        for _ in range(30):
            a = rng.normal(size=1)
            states.append(A @ states[-1] + B @ a)
            actions.append(a)
            rewards.append(-states[-2] @ states[-2] - 0.1 * a[0] ** 2)
        runs.append(Episode(np.array(states), np.array(actions), rewards))
    return A, B, runs


@pytest.mark.parametrize("scale", [1.0, 1e5, 1e-5])
def test_a_linear_world_is_learnt_exactly_at_any_scale(scale):
    A, B, runs = linear_runs()
    runs = [Episode(r.states_with_last() * scale, r.actions, r.rewards) for r in runs]
    model = LinearWorldModel(alpha=0.0).fit(runs)
    states, actions = np.array([[0.3, -0.2]]) * scale, np.array([[0.5]])
    following, rewards = model.predict(states, actions)
    np.testing.assert_allclose(following[0], A @ states[0] + scale * B @ actions[0], rtol=1e-6)
    assert rewards[0] == pytest.approx(-(0.09 + 0.04) - 0.025, abs=1e-6)
    assert LinearWorldModel().fit(runs).predict(states, actions)[1][0] == pytest.approx(
        rewards[0], abs=1e-3
    )


def test_roll_outs_share_chance_and_stay_in_the_box():
    _, _, runs = linear_runs()
    model = LinearWorldModel().fit(runs)
    policy = GaussianLinearPolicy(2, 1, scale=0.1)
    thetas = np.array([[0.0, 0.0], [0.0, 0.0], [0.0, 50.0]])
    totals = model.rollout(policy, 5, 40, 0, thetas=thetas)
    np.testing.assert_array_equal(totals[0], totals[1])
    assert np.isfinite(totals).all()
    assert totals.min() >= 40 * model.reward_range_[0] - 1e-9
    low, high = model.step(np.full((1, 2), 1e6), np.zeros((1, 1)))[0][0], model.high_
    assert (low <= high).all()


class Bandit:
    """One step; action 1 pays."""

    n_actions, low, high = 2, np.zeros(1), np.ones(1)

    def reset(self, seed=None, options=None):
        return np.ones(1), {}

    def step(self, action):
        return np.ones(1), float(action == 1), True, False, {}


def test_olpomdp_finds_the_better_arm():
    model = OLPOMDP(SoftmaxLinearPolicy(1, 2), 0.5, random_state=0).fit(Bandit(), 200)
    assert np.exp(model.policy.log_probs(model.theta_, [[1.0]]))[0, 1] > 0.95


class Chain:
    """A finite MDP as an environment; states are one number."""

    def __init__(self, mdp, horizon=50):
        self.mdp, self.horizon, self.n_actions = mdp, horizon, mdp.n_actions
        self.low, self.high = np.zeros(1), np.full(1, mdp.n_states - 1.0)
        self.rng = np.random.RandomState(0)

    def reset(self, seed=None, options=None):
        self.s, self.t = self.rng.randint(self.mdp.n_states), 0
        return np.array([self.s]), {}

    def step(self, action):
        reward = self.mdp.action_rewards()[self.s, action]
        self.s = self.rng.choice(self.mdp.n_states, p=self.mdp.P[action, self.s])
        self.t += 1
        return np.array([self.s]), reward, False, self.t >= self.horizon, {}


def best_values(mdp):
    Q = np.zeros((mdp.n_states, mdp.n_actions))
    for _ in range(2000):
        Q = mdp.action_rewards() + mdp.gamma * (mdp.P @ Q.max(axis=1)).T
    return Q


def test_lspi_and_q_learning_find_the_best_policy_of_a_small_mdp():
    mdp = make_random_mdp(4, 2, 4).mdp
    mdp.gamma = 0.8
    eye, best = np.eye(4), best_values(mdp)
    states = np.arange(4.0)[:, None]
    lspi = LSPI(lambda s: eye[s[:, 0].astype(int)], gamma=0.8, alpha=0.0, random_state=0)
    lspi.fit(Chain(mdp), 60)
    spread = best.max() - best.min()
    np.testing.assert_allclose(lspi.decision_function(states), best, atol=0.1 * max(1, spread))
    gaps = best.max(axis=1) - best[np.arange(4), lspi.predict(states)]
    # all wrong loses what the actions of each state are apart; one of its tenths may be lost,
    # which is the state whose actions are 0.07 apart and no other
    whole = np.ptp(best, axis=1).sum()
    assert gaps.sum() < 0.1 * whole
    learner = QLearningCMAC(n_tilings=1, n_tiles=4, gamma=0.8, epsilon=1.0, decay=1.0,
                            learning_rate=0.05, random_state=0).fit(Chain(mdp), 150)  # fmt: skip
    gaps = best.max(axis=1) - best[np.arange(4), learner.predict(states)]
    assert gaps.sum() < 0.1 * whole


def test_thinking_helps_a_bandit_of_one_try():
    world = LinearWorldModel(terminal=lambda states: np.ones(len(states), dtype=bool))
    model = DynaQ(world, n_planning=500, n_tilings=1, n_tiles=1, random_state=0).fit(Bandit(), 8)
    assert model.predict([[1.0]])[0] == 1
    assert model.decision_function([[1.0]])[0, 1] == pytest.approx(1.0, abs=0.05)


def test_q_learning_climbs_the_hill():
    model = QLearningCMAC(gamma=1.0, epsilon=0.0, random_state=0).fit(MountainCar(), 60)
    assert model.returns_[-10:].mean() > -250


class Lap:
    """Two steps of reward 1 and 2; the second ends at the place where the first began."""

    low, high, n_actions = np.zeros(1), np.ones(1), 2  # both do the same

    def reset(self, seed=None, options=None):
        self.place = 0
        return np.zeros(1), {}

    def step(self, action):
        self.place += 1
        return np.array([self.place % 2]), float(self.place), self.place == 2, False, {}


def test_nothing_is_earned_after_the_end():
    eye, states, expected = np.eye(2), np.array([[0.0], [1.0]]), [[1 + 0.8 * 2] * 2, [2.0] * 2]
    lspi = LSPI(lambda s: eye[s[:, 0].astype(int)], gamma=0.8, alpha=0.0, random_state=0)
    tiles = QLearningCMAC(
        n_tilings=1, n_tiles=2, gamma=0.8, learning_rate=0.5, epsilon=1.0, decay=1.0, random_state=0
    )  # half of the error goes with each visit
    for learner in (lspi, tiles):
        found = learner.fit(Lap(), 300).decision_function(states)
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_q_learning_learns_discounted_values():
    moves = np.array([np.eye(3)[[1, 2, 0]], np.eye(3)[[2, 0, 1]]])  # round one way or the other
    mdp = FiniteMDP(moves, [[0.0, 1.0], [2.0, 0.0], [0.0, 0.5]], 0.6)
    learner = QLearningCMAC(
        n_tilings=1, n_tiles=3, gamma=0.6, epsilon=1.0, decay=1.0, learning_rate=0.5, random_state=0
    ).fit(Chain(mdp), 100)  # of 50 steps: without noise half of the error goes with each visit
    found = learner.decision_function(np.arange(3.0)[:, None])
    np.testing.assert_allclose(found, best_values(mdp), rtol=1e-10)


class Steady:
    """A policy without a choice, whose score is 1."""

    n_params = 1

    def act(self, theta, state, rng):
        return 0

    def score(self, theta, state, action):
        return np.ones(1)


def test_scores_fade_in_the_trace():
    class Three(Lap):
        def step(self, action):
            self.place += 1
            return np.zeros(1), float(self.place), self.place == 3, False, {}

    for lam, expected in ((0.5, 1 + 2 * 1.5 + 3 * 1.75), (0.0, 6.0), (1.0, 1 + 4 + 9)):
        model = OLPOMDP(Steady(), 0.1, lam).fit(Three(), 2)
        assert model.theta_[0] == pytest.approx(2 * 0.1 * expected)  # the trace begins anew
        assert model.returns_.tolist() == [6.0, 6.0]
