"""Divergences of behaviour against enumeration, exact dynamic programs and plain loops."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.rl import (
    BehaviourKernel,
    Episode,
    FiniteMDP,
    GaussianLinearPolicy,
    MultiControllerPolicy,
    SoftmaxLinearPolicy,
    behaviour_kl,
    policy_divergence_bound,
)

T = 4


def random_mdp(seed, n_states=3, n_actions=2):
    rng = np.random.RandomState(seed)
    P = rng.dirichlet(np.ones(n_states), (n_actions, n_states))
    return FiniteMDP(
        P, rng.normal(size=(n_states, n_actions)), start=rng.dirichlet(np.ones(n_states))
    )


def table_policy(n_states=3, n_actions=2):
    """A softmax with one feature a state: any table of positive probabilities."""
    eye = np.eye(n_states)
    return SoftmaxLinearPolicy(n_states, n_actions, lambda s: eye[s[:, 0].astype(int)])


def paths(mdp, pi):
    """Yield every trajectory with its probability and sum of rewards."""
    R = mdp.action_rewards()
    for states in itertools.product(range(mdp.n_states), repeat=T):
        for actions in itertools.product(range(mdp.n_actions), repeat=T):
            p, total = mdp.start[states[0]], 0.0
            for t in range(T):
                p *= pi[states[t], actions[t]]
                total += R[states[t], actions[t]]
                if t + 1 < T:
                    p *= mdp.P[actions[t], states[t], states[t + 1]]
            yield states, actions, p, total


def simulate(mdp, policy, theta, n, rng):
    pi = np.exp(policy.log_probs(theta, np.arange(mdp.n_states)[:, None]))
    runs = []
    for _ in range(n):
        s, states, actions = rng.choice(mdp.n_states, p=mdp.start), [], []
        for _ in range(T):
            a = rng.choice(mdp.n_actions, p=pi[s])
            states.append([s])
            actions.append(a)
            s = rng.choice(mdp.n_states, p=mdp.P[a, s])
        runs.append(Episode(states, actions, np.zeros(T)))
    return runs


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10_000))
def test_exact_divergence_and_theorem_1_by_enumeration(seed):
    mdp = random_mdp(seed)
    one, two = mdp.random_policy(seed), mdp.random_policy(seed + 1)
    first, second = list(paths(mdp, one)), list(paths(mdp, two))
    p, q = np.array([x[2] for x in first]), np.array([x[2] for x in second])
    kl = float((p * np.log(p / q)).sum())
    assert behaviour_kl(mdp, one, two, T) == pytest.approx(kl, abs=1e-10)
    returns = np.array([x[3] for x in first])
    bound = policy_divergence_bound(kl, float((q * np.log(q / p)).sum()), np.abs(returns).max())
    assert abs(p @ returns - q @ returns) <= bound


def test_divergence_is_infinite_without_support_and_zero_of_itself():
    mdp = random_mdp(0)
    sure = [[1.0, 0.0]] * 3
    assert behaviour_kl(mdp, mdp.random_policy(0), sure, T) == np.inf
    assert behaviour_kl(mdp, sure, sure, T) == 0.0


@pytest.fixture(scope="module")
def recorded():
    mdp, policy, rng = random_mdp(3), table_policy(), np.random.RandomState(0)
    old, new = rng.normal(size=6) * 0.5, rng.normal(size=6) * 0.5
    tables = [np.exp(policy.log_probs(th, np.arange(3)[:, None])) for th in (new, old)]
    return mdp, policy, old, new, tables, simulate(mdp, policy, old, 4000, rng)


def test_per_decision_is_unbiased_and_steadier_than_trajectory_weights(recorded):
    mdp, policy, old, new, (p_new, p_old), runs = recorded
    exact = behaviour_kl(mdp, p_new, p_old, T)
    kernel = BehaviourKernel(w_max=np.inf)
    sums = kernel.sums(policy, new[None], kernel.steps(policy, [old], [runs]))[0]
    forward, backward, ratio = sums.T
    error = forward.std() / np.sqrt(len(runs))
    assert abs(forward.mean() - exact) < 4 * error
    whole = np.exp(ratio) * ratio  # weights of whole trajectories: same mean
    assert abs(whole.mean() - exact) < 4 * whole.std() / np.sqrt(len(runs))
    assert forward.var() < 0.25 * whole.var()
    back = behaviour_kl(mdp, p_old, p_new, T)
    assert abs(backward.mean() - back) < 4 * backward.std() / np.sqrt(len(runs))
    assert abs(-ratio.mean() - back) < 4 * ratio.std() / np.sqrt(len(runs))


def test_sums_equal_a_plain_loop(recorded):
    mdp, policy, old, new, (p_new, p_old), runs = recorded
    few, cap = runs[:5], 1.1
    kernel = BehaviourKernel(w_max=cap)
    sums = kernel.sums(policy, new[None], kernel.steps(policy, [old], [few]))[0]
    for e, run in enumerate(few):
        w, forward, backward, ratio = 1.0, 0.0, 0.0, 0.0
        for s, a in zip(run.states[:, 0].astype(int), run.actions):
            forward += min(w, cap) * (p_new[s] @ np.log(p_new[s] / p_old[s]))
            backward += p_old[s] @ np.log(p_old[s] / p_new[s])
            ratio += np.log(p_new[s, a] / p_old[s, a])
            w *= p_new[s, a] / p_old[s, a]
        np.testing.assert_allclose(sums[e], [forward, backward, ratio], atol=1e-12)
    single = kernel.sums(policy, new[None], kernel.steps(policy, [old], [few]), np.float32)[0]
    np.testing.assert_allclose(single, sums, atol=1e-5)  # 4 steps of numbers below 5, at 6e-8


@pytest.mark.parametrize("size", [0.1, 1.0, 50.0])
def test_single_precision_follows_logits_of_any_size(size):
    rng = np.random.RandomState(0)
    policy, thetas = SoftmaxLinearPolicy(5, 4), rng.uniform(-1, 1, (6, 20))
    runs = [
        [Episode(rng.normal(size=(30, 5)) * size, rng.randint(4, size=30), np.zeros(30))]
        for _ in thetas
    ]
    kernel, candidates = BehaviourKernel(), rng.uniform(-1, 1, (40, 20))
    steps = kernel.steps(policy, thetas, runs)
    double = kernel.sums(policy, candidates, steps)
    single = kernel.sums(policy, candidates, steps, np.float32)
    # 30 logarithms of at most some 200·size, each with an error of 6e-8 of itself
    np.testing.assert_allclose(
        single[:, :, 1:], double[:, :, 1:], rtol=1e-5, atol=4e-4 * (1 + size)
    )
    assert np.isfinite(single).all()
    if size <= 1.0:  # beyond, weights fall below the smallest that is kept
        np.testing.assert_allclose(single[:, :, 0], double[:, :, 0], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("estimator", ["per_decision", "is"])
def test_matrix_and_cross_tend_to_the_exact_kernel(recorded, estimator):
    mdp, policy, old, new, (p_new, p_old), runs = recorded
    D = np.sqrt(behaviour_kl(mdp, p_new, p_old, T)) + np.sqrt(behaviour_kl(mdp, p_old, p_new, T))
    other = simulate(mdp, policy, new, 4000, np.random.RandomState(1))
    kernel = BehaviourKernel(estimator=estimator, w_max=1e9)
    K = kernel.matrix(policy, [old, new], [runs, other])
    # the standard error of each KL is below 0.02, of its root below 0.02 / (2 · 0.4)
    assert K[0, 1] == pytest.approx(np.exp(-D), abs=0.04)
    assert kernel.cross(policy, [new], [old], [runs])[0, 0] == pytest.approx(np.exp(-D), abs=0.04)
    assert kernel.cross(policy, [old], [old], [runs])[0, 0] == pytest.approx(1.0, abs=1e-6)


def test_the_papers_sums(recorded):
    _, policy, old, new, _, runs = recorded
    kernel, few = BehaviourKernel(0.1, divergence="paper"), runs[:3]
    ratio = [
        (
            policy.log_prob(new, r.states, r.actions) - policy.log_prob(old, r.states, r.actions)
        ).sum()
        for r in few
    ]
    D = sum(np.exp(l) * l - l for l in ratio)
    assert kernel.cross(policy, [new], [old], [few])[0, 0] == pytest.approx(np.exp(-0.1 * D))
    pair = -sum(ratio) + sum(ratio)  # both on the same runs: they cancel
    assert kernel.matrix(policy, [old, new], [few, few])[0, 1] == pytest.approx(np.exp(pair))


def test_shifted_logits_change_nothing(recorded):
    _, policy, old, new, _, runs = recorded
    shift = np.repeat(np.random.RandomState(2).normal(size=3), 2)
    kernel = BehaviourKernel()
    few = [runs[:3], runs[3:6]]
    np.testing.assert_allclose(
        kernel.matrix(policy, [old + shift, new], few), kernel.matrix(policy, [old, new], few)
    )


def test_gaussian_and_multi_controller_inner_divergences():
    rng = np.random.RandomState(0)
    states = rng.normal(size=(5, 2))
    gauss = GaussianLinearPolicy(2, 1, scale=0.3)
    a, b = rng.normal(size=(2, 2))
    x = np.linspace(-8, 8, 20001)
    for i, kl in enumerate(gauss.step_divergence(a, b, states)):
        rows = np.repeat(states[i : i + 1], len(x), axis=0)
        p, q = gauss.log_prob(a, rows, x), gauss.log_prob(b, rows, x)
        assert kl == pytest.approx(np.trapezoid(np.exp(p) * (p - q), x), abs=1e-6)
    arm = MultiControllerPolicy([SoftmaxLinearPolicy(2, 2), SoftmaxLinearPolicy(2, 3)])
    a, b = rng.normal(size=(2, 10))
    mine, theirs = arm.log_probs(a, states), arm.log_probs(b, states)
    np.testing.assert_allclose(np.exp(mine).sum(axis=1), 1.0)
    np.testing.assert_allclose(
        arm.step_divergence(a, b, states), (np.exp(mine) * (mine - theirs)).sum(axis=1)
    )
    actions = np.array([[1, 2]] * 5)
    np.testing.assert_allclose(arm.log_prob(a, states, actions), mine[:, 1 * 3 + 2])
    runs = [[Episode(states, actions, np.zeros(5))]] * 2
    K = BehaviourKernel().matrix(arm, [a, b], runs)
    D = sum(np.sqrt(arm.step_divergence(u, v, states).sum()) for u, v in ((a, b), (b, a)))
    assert K[0, 1] == pytest.approx(np.exp(-D))


def test_per_step_and_thinned_sums():
    rng = np.random.RandomState(0)
    policy = SoftmaxLinearPolicy(2, 3)
    state = rng.normal(size=2)
    runs = [[Episode(np.tile(state, (12, 1)), rng.randint(3, size=12), np.zeros(12))]]
    a, b = rng.normal(size=(2, 6))
    whole = BehaviourKernel(w_max=1.0)
    steps = whole.steps(policy, [a], runs)
    per_step = BehaviourKernel(w_max=1.0, normalize="per_step").cross(policy, [b], [a], runs)
    D = whole.cross_divergence(policy, b[None], steps)
    np.testing.assert_allclose(per_step, np.exp(-D / np.sqrt(12)))
    thin = BehaviourKernel(w_max=1.0, thin=4)
    backward = thin.sums(policy, b[None], thin.steps(policy, [a], runs))[0, 0, 1]
    assert backward == pytest.approx(whole.sums(policy, b[None], steps)[0, 0, 1])


def test_estimated_matrices_are_positive_semidefinite():
    rng = np.random.RandomState(0)
    policy = SoftmaxLinearPolicy(2, 2)
    runs = [
        [Episode(rng.normal(size=(6, 2)), rng.randint(2, size=6), np.zeros(6))] for _ in range(12)
    ]
    for kind in ("sqrt", "paper"):
        K = BehaviourKernel(divergence=kind).matrix(policy, rng.normal(size=(12, 4)) * 2, runs)
        assert np.linalg.eigvalsh(K)[0] > -1e-10
        np.testing.assert_allclose(np.diag(K), 1.0)
        assert (K == K.T).all()


def test_bad_input_is_met_by_sentences():
    policy = SoftmaxLinearPolicy(1, 2)
    run = Episode([[1.0]] * 3, [0, 1, 0], [0.0] * 3)

    class Sure(SoftmaxLinearPolicy):
        def log_probs(self, theta, states):
            return np.log(np.tile([1.0, 0.0], (len(states), 1)))

    with np.errstate(divide="ignore"), pytest.raises(ValueError, match="common support"):
        BehaviourKernel().matrix(Sure(1, 2), [[0.0, 0.0]], [[run]])
    with pytest.raises(ValueError, match="as many lists"):
        BehaviourKernel().matrix(policy, [[0.0, 0.0]], [])
    with pytest.raises(ValueError, match="at least one Episode"):
        BehaviourKernel().matrix(policy, [[0.0, 0.0]], [[]])
    with pytest.raises(ValueError, match="alpha"):
        BehaviourKernel(alpha=0)
    with pytest.raises(ValueError, match="estimator"):
        BehaviourKernel(estimator="x")
    with pytest.raises(ValueError, match="must be finite"):
        Episode([[1.0]], [0], [np.nan])
    with pytest.raises(ValueError, match="kl_ij"):
        policy_divergence_bound(-1.0, 0.0, 1.0)
    far = [[Episode([[1.0]] * 200, [0] * 200, [0.0] * 200)]] * 2
    with pytest.warns(UserWarning, match="unlike"):
        BehaviourKernel().matrix(policy, [[0.0, 0.0], [0.0, 5.0]], far)
