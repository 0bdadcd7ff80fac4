"""Q(λ) against one-step learning, value iteration, a trace by hand, and a dense table."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.rl import (
    CountedModelPolicy,
    FuzzyBins,
    PropofolEnv,
    SigmoidPD,
    TabularEncoder,
    WatkinsQLambda,
)
from octavo.rl.infusion.agents import nearest_policy
from octavo.rl.infusion.value_tables import learn


class RandomMDP:
    """A small MDP with gymnasium's interface and whole numbers as observations."""

    def __init__(self, seed=0, n_states=4, n_actions=3, horizon=200):
        rng = np.random.RandomState(seed)
        self.P = rng.dirichlet(np.ones(n_states), (n_states, n_actions))
        self.R = rng.uniform(-1, 1, (n_states, n_actions))
        self.n_states, self.n_actions, self.horizon = n_states, n_actions, horizon

    def reset(self, *, seed=None, options=None):
        self.rng, self.t = np.random.RandomState(seed), 0
        self.s = self.rng.randint(self.n_states)
        return self.s, {}

    def step(self, a):
        reward = self.R[self.s, a]
        self.s = self.rng.choice(self.n_states, p=self.P[self.s, a])
        self.t += 1
        return self.s, reward, False, self.t >= self.horizon, {}

    def optimum(self, gamma):
        Q = np.zeros_like(self.R)
        for _ in range(2000):
            Q = self.R + gamma * self.P @ Q.max(axis=1)
        return Q


class Chain:
    """Three deterministic steps with rewards 1, 2, 3, and then the end."""

    n_states, n_actions = 4, 2

    def reset(self, *, seed=None, options=None):
        self.s = 0
        return 0, {}

    def step(self, a):
        self.s += 1
        return self.s, float(self.s), self.s == 3, False, {}


@pytest.mark.parametrize("lam", [0.0, 0.5])
@pytest.mark.parametrize("trace", ["accumulating", "replacing"])
def test_converges_to_value_iteration(lam, trace):
    env = RandomMDP(1)
    model = WatkinsQLambda(
        0.2, 0.6, lam, 0.5, trace, ssd_tol=0.5, alpha_min=1e-3, random_state=0, patience=None
    )
    model.fit(env, 300)
    # steps halve to 1e-3; a value's spread is about sqrt(α/2) of that of targets, below 0.05
    assert np.abs(model.q_table_ - env.optimum(0.6)).max() < 0.1
    assert (model.policy_table_ == env.optimum(0.6).argmax(axis=1)).all()
    assert model.alphas_[-1] < 0.02


def test_without_traces_it_is_one_step_learning():
    env, seen = RandomMDP(2, horizon=50), []

    class Log(RandomMDP):
        def step(self, a):
            before = self.s
            out = super().step(a)
            seen.append((before, a, out[1], out[0], out[3]))
            return out

    model = WatkinsQLambda(0.3, 0.7, 0.0, 0.3, random_state=0, patience=None, ssd_tol=0.0)
    model.fit(Log(2, horizon=50), 20)
    Q = np.zeros((env.n_states, env.n_actions))
    for s, a, reward, s2, _ in seen:
        Q[s, a] += 0.3 * (reward + 0.7 * Q[s2].max() - Q[s, a])
    visited = model.n_visits_ > 0
    # the same sums in the same order
    assert np.allclose(model.q_table_[visited], Q[visited], rtol=1e-13, atol=1e-15)
    assert np.isnan(model.q_table_[~visited]).all()
    assert model.n_visits_.sum() == len(seen) == model.n_steps_


class Corridor:
    """Four cells in a row, a reward at the end; the wrong step goes back."""

    n_states, n_actions = 4, 2

    def reset(self, *, seed=None, options=None):
        self.s, self.t = 0, 0
        return 0, {}

    def step(self, a):
        self.s, self.t = self.s + 1 if a == 1 else max(self.s - 1, 0), self.t + 1
        return self.s, float(self.s == 3), self.s == 3, self.t >= 30, {}


@pytest.mark.parametrize("lam", [0.0, 0.8])
def test_few_states_are_learned_before_the_step_size_is_gone(lam):
    model = WatkinsQLambda(0.5, 0.9, lam, 0.2, random_state=0).fit(Corridor(), 1000)
    best = [[0.729, 0.81], [0.729, 0.9], [0.81, 1.0]]
    assert np.allclose(model.q_table_[:3], best, atol=5e-3)


@pytest.mark.parametrize("replacing", [False, True])
def test_traces_by_hand(replacing):
    """Three steps in which the second choice is not greedy: the cut forgets the first step."""
    Q, e, active = np.zeros((3, 2)), np.zeros((3, 2)), np.zeros(7, dtype=np.int64)
    Q[1, 1] = 1.0
    alpha, gamma, lam = 0.5, 0.8, 0.5
    n = learn(Q, e, active, 0, 0, 0, 1.0, 0, 0, False, alpha, gamma, gamma * lam, replacing)
    assert Q[0, 0] == pytest.approx(0.5)  # δ = 1 + 0 − 0
    assert e[0, 0] == pytest.approx(0.4)
    n = learn(Q, e, active, n, 0, 0, 2.0, 1, 0, False, alpha, gamma, gamma * lam, replacing)
    delta, weight = 2 + 0.8 * 1.0 - 0.5, 1.0 if replacing else 1.4
    assert Q[0, 0] == pytest.approx(0.5 + 0.5 * delta * weight)
    assert n == 0  # action 0 of state 1 is not greedy: cut
    assert not e.any()
    kept = Q[0, 0]
    learn(Q, e, active, n, 1, 0, -1.0, 2, 0, True, alpha, gamma, gamma * lam, replacing)
    assert Q[1, 0] == pytest.approx(-0.5)
    assert Q[0, 0] == kept


def test_episode_with_an_end_by_hand():
    """One episode of the chain with λ = 1: the return reaches the first state."""
    model = WatkinsQLambda(1.0, 1.0, 1.0, 0.0, random_state=0).fit(Chain(), 1)
    assert model.q_table_[:3, 0].tolist() == [6.0, 5.0, 3.0]
    assert np.isnan(model.q_table_[3]).all()
    assert model.policy_table_.tolist() == [0, 0, 0, -1]
    with pytest.raises(ValueError, match="never visited"):
        model.predict([3])


def test_factories_and_unknown_numbers_of_states():
    class Bare(RandomMDP):
        def __init__(self):
            super().__init__(3, n_states=70, horizon=30)
            self.known, self.n_states = self.n_states, None

        def reset(self, **options):
            self.n_states = self.known
            out = super().reset(**options)
            return out

    model = WatkinsQLambda(random_state=0).fit(Bare, 100)
    assert model.q_table_.shape[0] <= 70
    assert (model.n_visits_.sum(axis=1) > 0).sum() > 60


def python_training(env, starts, n_steps, alpha, gamma, lam, codes):
    """Greedy Q(λ) on the dense table of 10⁶ cells, by dictionaries; no noise, no exploration."""
    steps, first, targets, _ = starts
    Q, pd = {}, SigmoidPD()
    for E, c, target in zip(steps, first, targets):
        e, c = {}, c.copy()
        smoothed = float(pd.predict(c[3]))
        past = [smoothed - target] * (env.lag + 1)
        s = codes([[past[-1], 0.0]])
        row = [Q.get((s, b), 0.0) for b in range(15)]
        a = int(np.argmax(row))
        for _ in range(n_steps):
            c = E[:, :4] @ c + E[:, 4] * env.rates[a]
            smoothed += env.share * (float(pd.predict(c[3])) - smoothed)
            past = [*past[1:], smoothed - target]
            s2 = codes([[past[-1], past[-1] - past[0]]])
            row = [Q.get((s2, b), 0.0) for b in range(15)]
            a2 = int(np.argmax(row))
            delta = -abs(past[-1]) + gamma * max(row) - Q.get((s, a), 0.0)
            e[s, a] = e.get((s, a), 0.0) + 1.0
            for key in e:
                Q[key] = Q.get(key, 0.0) + alpha * delta * e[key]
                e[key] *= gamma * lam
            s, a = s2, a2
    return Q


def test_the_compiled_loop_on_cells_is_the_dense_table():
    """The same episodes by dictionaries over six bins: equal values for every cell."""
    env, n = PropofolEnv(exploring=True, noise=0.0, horizon=150), 6
    model = WatkinsQLambda(
        0.2, 0.69, 0.8, 0.0, random_state=5, block_size=n, patience=None, ssd_tol=0.0
    )
    model.fit(env, n)
    rng = np.random.RandomState(5)
    rng.randint(2**31 - 1)  # what fit draws for its compiled stream
    bins = FuzzyBins()
    dense = python_training(
        env, env.starts(n, rng), 150, 0.2, 0.69, 0.8,
        lambda row: int(bins.transform(row)[0] @ 10 ** np.arange(6)),
    )  # fmt: skip
    found = sorted(model.q_table_[model.n_visits_ > 0])
    # traces below 1e-8 are dropped: at most 1e-8 of an error of 50 a step, 900 steps
    assert np.allclose(found, sorted(dense.values()), atol=1e-4)
    assert len(found) == len(dense)


def test_noisy_training_gives_less_below_the_target_and_repeats():
    model = WatkinsQLambda(random_state=0).fit(PropofolEnv(exploring=True), 500)
    seen = (model.n_visits_.sum(axis=1) > 0).reshape(19, 19)
    actions = model.policy_table_.reshape(19, 19)
    assert actions[:5][seen[:5]].mean() < actions[10:14][seen[10:14]].mean()
    again = WatkinsQLambda(random_state=0).fit(PropofolEnv(exploring=True), 500)
    assert np.array_equal(model.q_table_, again.q_table_, equal_nan=True)


def test_counted_model_is_value_iteration():
    env = RandomMDP(4)
    model = CountedModelPolicy(0.6, epsilon=1.0, random_state=0).fit(env, 300)
    # 5,000 visits of each pair: probabilities to 0.01, values to 0.6/0.4 · 0.01 of their range
    assert np.abs(model.q_table_ - env.optimum(0.6)).max() < 0.06
    assert (model.policy_table_ == env.optimum(0.6).argmax(axis=1)).all()


def test_counting_compiled_and_in_python_agree():
    """The same kind of episodes; frequencies of the common cells agree within their errors."""
    env = PropofolEnv(exploring=True, horizon=100)

    class Plain(PropofolEnv):
        pass

    compiled = [CountedModelPolicy(n_rounds=1, random_state=s).fit(env, 100) for s in range(20)]
    slow = CountedModelPolicy(n_rounds=1, random_state=20).fit(
        Plain(exploring=True, horizon=100), 100
    )
    shares = np.array([m.n_visits_.sum(axis=1) / m.n_steps_ for m in compiled])
    common = shares.mean(axis=0) > 0.01
    assert common.sum() > 10
    # steps of an episode hang together, so that twenty lots tell what a hundred episodes vary by;
    # beyond six of the errors lies one cell in 100,000 (Student's t with 19 degrees)
    error = shares.std(axis=0, ddof=1) * np.sqrt(1 + 1 / 20)
    apart = slow.n_visits_.sum(axis=1) / slow.n_steps_ - shares.mean(axis=0)
    assert (np.abs(apart) < 6 * error)[common].all()
    assert max(np.nanmax(model.q_table_) for model in compiled) <= 0


def test_unvisited_cells_take_the_nearest():
    policy = np.array([3, -1, -1, 5, -1])
    places = np.arange(5.0)[:, None]
    assert nearest_policy(policy, places).tolist() == [3, 3, 5, 5, 5]
    assert nearest_policy(np.array([7, -1, 2]), np.arange(3.0)[:, None]).tolist() == [7, 2, 2]


@settings(max_examples=100, deadline=None)
@given(st.floats(-1e3, 1e3), st.floats(-1e3, 1e3))
def test_memberships_sum_to_one(error, change):
    parts = FuzzyBins().memberships([[error, change]])[0]
    assert parts[:3].sum() == pytest.approx(1.0, abs=1e-15)
    assert parts[3:].sum() == pytest.approx(1.0, abs=1e-15)
    assert ((parts >= 0) & (parts <= 1)).all()


def test_reachable_cells_are_361():
    rng = np.random.RandomState(0)
    X = rng.uniform(-30, 30, (200_000, 2))
    bins = FuzzyBins()
    rows, codes = bins.transform(X), bins.encode(X)
    dense = rows @ 10 ** np.arange(6)
    assert len(np.unique(dense)) == len(np.unique(codes)) == bins.n_states == 361
    # one number for one row of bins, and the other way round
    assert len(np.unique(np.stack([dense, codes], axis=1), axis=0)) == 361


def test_grid_encoder_by_hand():
    grid = TabularEncoder(3, low=[0, 0], high=[3, 6]).fit([[0.0, 0.0]])
    assert grid.encode([[0.5, 5.9], [2.5, 0.1], [-9, 99]]).tolist() == [2, 6, 2]
    assert grid.n_states == 9
    assert grid.places()[5].tolist() == [1.0, 2.0]


def test_grid_encoder_learns():
    env = PropofolEnv(exploring=True, horizon=50)
    grid = TabularEncoder(6, low=-30.0, high=30.0).fit([[0.0, 0.0]])
    model = WatkinsQLambda(encoder=grid, random_state=0).fit(env, 20)
    assert model.q_table_.shape == (36, 15)
    assert model.predict([[5.0, 0.0]]).shape == (1,)


@pytest.mark.parametrize(
    ("env", "n"),
    [("banana", 1), (None, 1), (RandomMDP(), 0), (RandomMDP(), 1.5), (lambda: 3, 1)],
)
def test_bad_environments(env, n):
    with pytest.raises(ValueError, match=r"^[A-Z].*[.]$"):
        WatkinsQLambda().fit(env, n)


def test_vectors_without_an_encoder_are_refused():
    class Vectors(RandomMDP):
        def reset(self, **options):
            super().reset(**options)
            return np.zeros(2), {}

    with pytest.raises(ValueError, match="encoder"):
        WatkinsQLambda().fit(Vectors(), 1)
