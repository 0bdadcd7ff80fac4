"""Simulators against gymnasium, conservation laws and hand calculation."""

import numpy as np
import pytest
from scipy.stats import norm

from octavo.rl import (
    Acrobot,
    Bicycle,
    CartPole,
    GaussianLinearPolicy,
    MountainCar,
    MultiControllerPolicy,
    PlanarArm,
    SoftmaxLinearPolicy,
    record_episode,
)

ALL = [MountainCar, Acrobot, CartPole, PlanarArm, Bicycle]


@pytest.mark.parametrize("cls", ALL, ids=lambda c: c.__name__)
def test_interface_repeats_and_ends(cls):
    env = cls(horizon=30)
    policy = env.make_policy()
    theta = np.random.RandomState(0).uniform(-1, 1, policy.n_params)
    one, two = (record_episode(env, policy, theta, random_state=4) for _ in range(2))
    np.testing.assert_array_equal(one.states, two.states)
    assert len(one) <= 30
    assert np.isfinite(one.states).all()
    assert one.states.shape[1] == env.n_variables
    fresh = cls(horizon=3)
    with pytest.raises(ValueError, match="reset"):
        fresh.step(0)
    with pytest.raises(ValueError, match="horizon"):
        cls(horizon=0)
    fresh.reset(seed=1)
    with pytest.raises(ValueError, match="action"):
        fresh.step([9, 9])


# the bicycle's chance is drawn inside
@pytest.mark.parametrize("cls", [c for c in ALL if c is not Bicycle], ids=lambda c: c.__name__)
def test_rows_step_as_they_would_alone(cls):
    env = cls(horizon=20)
    policy = env.make_policy()
    thetas = np.random.RandomState(0).uniform(-1, 1, (3, policy.n_params))
    runs = env.episodes(policy, thetas, 2, random_state=0)
    assert [len(each) for each in runs] == [2, 2, 2]
    for each in runs:
        for run in each:
            s, a, r, after = run.transitions()
            draws = np.zeros((len(s), 1))
            for t in range(len(s)):
                got = env.transition(s[t : t + 1], a[t : t + 1], draws[:1], t)
                np.testing.assert_allclose(got[0][0], after[t], atol=1e-12)
                assert got[1][0] == pytest.approx(r[t])


def test_mountain_car_is_gymnasiums():
    gym = pytest.importorskip("gymnasium")
    peer, car = gym.make("MountainCar-v0").unwrapped, MountainCar()
    peer.reset(seed=0)
    car.reset(seed=0)
    peer.state = tuple(car.state)
    rng = np.random.RandomState(0)
    for _ in range(100):
        action = int(rng.randint(2))
        theirs = peer.step(2 * action)[0]
        np.testing.assert_allclose(car.step(action)[0], theirs, atol=1e-6)  # theirs is float32


def test_acrobot_is_gymnasiums():
    gym = pytest.importorskip("gymnasium")
    peer, robot = gym.make("Acrobot-v1").unwrapped, Acrobot()
    peer.reset(seed=0)
    robot.reset(seed=0)
    peer.state = robot.state.copy()
    rng = np.random.RandomState(0)
    for _ in range(15):  # chaos doubles errors of 1e-16 too slowly to matter here
        action = int(rng.randint(3))
        peer.step(action)
        np.testing.assert_allclose(robot.step(action)[0], peer.state, atol=1e-9)


def test_cart_pole_is_gymnasiums():
    gym = pytest.importorskip("gymnasium")
    peer, cart = gym.make("CartPole-v1").unwrapped, CartPole()
    peer.reset(seed=0)
    cart.reset(seed=0)
    peer.state = cart.state.copy()
    for action in (1, 0, 1, 1, 0, 0, 1, 0):
        peer.step(action)
        got = cart.step([2.0 * action - 1.0])[0]
        np.testing.assert_allclose(got, peer.state, atol=1e-12)


def test_cart_pole_pays_for_the_whole_time():
    cart = CartPole(horizon=50, bonus=7.0)
    policy = cart.make_policy(scale=0.0)
    run = record_episode(cart, policy, [0.1, 0.1, 0.9, 0.5], random_state=0)
    assert len(run) == 50
    without = CartPole(horizon=50, bonus=0.0)
    plain = record_episode(without, policy, [0.1, 0.1, 0.9, 0.5], random_state=0)
    np.testing.assert_allclose(run.rewards[:-1], plain.rewards[:-1])
    assert run.rewards[-1] == pytest.approx(plain.rewards[-1] + 7.0)
    assert run.rewards[:-1].max() <= 1.0


def test_arm_reaches_by_plane_geometry():
    arm = PlanarArm()
    states = np.array([[np.pi / 2, -np.pi / 2, np.pi / 2, 0.0, 0.0]])
    after, _, ended = arm.transition(states, np.array([[1, 0, 1]]))
    angles = states[0, :3] + 0.05 * np.array([1, -1, 1])
    tip = sum(np.exp(1j * np.cumsum(angles)))
    np.testing.assert_allclose(after[0, 3:], [tip.real, tip.imag])
    assert not ended[0]
    near = np.array([[0.0, 0.0, 0.0, 3.0, 0.0]])
    reached = PlanarArm(goal=(3.0, 0.0)).transition(near, np.array([[1, 0, 1]]))
    assert reached[2][0]
    assert reached[1][0] > 9.9


def test_bicycle_falls_as_a_pendulum_and_stands_when_straight():
    bicycle = Bicycle(noise=0.0)
    still = bicycle.starts(1, None)
    after = bicycle.transition(still, np.array([4]), np.zeros((1, 1)))[0]
    np.testing.assert_allclose(after[0, :4], 0.0)
    assert after[0, 8] == pytest.approx(10 / 3.6 * 0.01)  # it goes straight on
    leaning = still.copy()
    leaning[0, 0] = 0.05
    after = bicycle.transition(leaning, np.array([4]), np.zeros((1, 1)))[0]
    inertia = 13 / 3 * 15 * 0.94**2 + 60 * 1.24**2
    assert after[0, 1] == pytest.approx(0.01 * 75 * 0.94 * 9.82 * np.sin(0.05) / inertia)
    assert bicycle.is_terminal(np.full((1, 9), 0.3))[0]
    assert bicycle.policy_features(still).shape == (1, 20)


@pytest.mark.parametrize(
    "policy",
    [
        SoftmaxLinearPolicy(2, 3),
        GaussianLinearPolicy(2, 1),
        MultiControllerPolicy([SoftmaxLinearPolicy(2, 2), SoftmaxLinearPolicy(2, 3)]),
    ],
)
def test_policies_act_with_generators_of_either_kind(policy):
    theta, state = np.zeros(policy.n_params), np.ones(2)
    for rng in (np.random.RandomState(0), np.random.default_rng(0)):
        action = policy.act(theta, state, rng)
        # at θ = 0 every choice is as likely as any other, and the normal law has mean 0
        expected = {SoftmaxLinearPolicy: -np.log(3), MultiControllerPolicy: -np.log(6)}.get(
            type(policy)
        )
        if expected is None:
            expected = norm.logpdf(action[0], scale=policy.scale)
        found = policy.log_prob(theta, state[None], np.atleast_2d(action))
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_fractions_are_no_actions():
    policy = SoftmaxLinearPolicy(2, 3)
    assert policy.log_prob(np.zeros(6), np.ones((1, 2)), [1.0]) == -np.log(3.0)
    with pytest.raises(ValueError, match=r"Actions must be whole numbers; got 0\.5"):
        policy.log_prob(np.zeros(6), np.ones((2, 2)), [1.0, 0.5])
    with pytest.raises(ValueError, match="Actions must be whole numbers; got nan"):
        policy.log_prob(np.zeros(6), np.ones((1, 2)), [np.nan])


def test_cart_pole_pays_less_off_the_middle_and_nothing_for_a_fall():
    cart, still = CartPole(), np.zeros((1, 1))
    for state, reward in (
        ([0, 0, 0, 0], 1.0), ([2, 0, 0, 0], 1 - 0.5 / 4), ([0, 0, np.pi / 8, 0], 1 - 0.5 / 4),
        ([-4, 0, np.pi / 4, 0], 0.0), ([3.99, 1, 0, 0], 0.0), ([0, 0, -0.78, -1], 0.0),
    ):  # fmt: skip
        got = cart.transition(np.array([state], dtype=float), still)
        assert got[1][0] == pytest.approx(reward)
    lost = np.array([[4.01, 0, 0, 0], [0, 0, 0.79, 0], [-3.9, 0, 0.78, 0]])
    assert cart.is_terminal(lost).tolist() == [True, True, False]


def randlov(state, torque, shift):
    """One step of Randløv and Alstrøm's bicycle, as their section 2 writes it."""
    omega, d_omega, theta, d_theta, psi, xf, yf, xb, yb = state
    c, d_cm, h, wheelbase, m_c, m_d, m_p, r, v, dt, g = (
        0.66, 0.30, 0.94, 1.11, 15.0, 1.7, 60.0, 0.34, 10 / 3.6, 0.01, 9.82,
    )  # fmt: skip
    sigma, mass = v / r, m_c + m_p
    i_both = 13 / 3 * m_c * h**2 + m_p * (h + d_cm) ** 2
    i_dc, i_dv, i_dl = m_d * r**2, 1.5 * m_d * r**2, 0.5 * m_d * r**2
    r_f, r_b = wheelbase / abs(np.sin(theta)), wheelbase / abs(np.tan(theta))
    r_cm = np.sqrt((wheelbase - c) ** 2 + wheelbase**2 / np.tan(theta) ** 2)
    phi = omega + np.arctan(shift / h)
    dd_omega = (
        mass * h * g * np.sin(phi)
        - np.cos(phi)
        * (
            i_dc * sigma * d_theta
            + np.sign(theta) * v**2 * (m_d * r / r_f + m_d * r / r_b + mass * h / r_cm)
        )
    ) / i_both
    dd_theta = (torque - i_dv * sigma * d_omega) / i_dl
    front = psi + theta + np.sign(psi + theta) * np.arcsin(v * dt / (2 * r_f))
    back = psi + np.sign(psi) * np.arcsin(v * dt / (2 * r_b))
    return [
        omega + dt * d_omega, d_omega + dt * dd_omega, theta + dt * d_theta,
        d_theta + dt * dd_theta, xf - v * dt * np.sin(front), yf + v * dt * np.cos(front),
        xb - v * dt * np.sin(back), yb + v * dt * np.cos(back),
    ]  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
def test_the_bicycle_of_the_paper_in_a_curve(seed):
    rng = np.random.RandomState(seed)
    omega, d_omega, theta, d_theta, psi = rng.uniform(-0.15, 0.15, 5)
    ahead = 1.11 * np.array([-np.sin(psi), np.cos(psi)])  # from the rear tyre to the front one
    state = np.array([omega, d_omega, theta, d_theta, psi, *ahead, 0.0, 0.0])
    bicycle = Bicycle(noise=0.0)
    for action, (torque, shift) in enumerate([(-1, 0), (1, 0), (0, -0.02), (0, 0.02), (0, 0)]):
        after, reward, _ = bicycle.transition(state[None], np.array([action]), np.zeros((1, 1)))
        expected = randlov(state, torque, shift)
        np.testing.assert_allclose(after[0, :4], expected[:4], rtol=1e-12)
        np.testing.assert_allclose(after[0, 5:7], expected[4:6], rtol=1e-12)
        # the frame keeps its length: the rear tyre is pulled along the line between both
        front, rear = np.array(expected[4:6]), np.array(expected[6:])
        pulled = front + (rear - front) * 1.11 / np.hypot(*(rear - front))
        np.testing.assert_allclose(after[0, 7:], pulled, atol=1e-12)
        x, y = after[0, 5:7] - after[0, 7:]
        assert after[0, 4] == pytest.approx(np.arctan2(-x, y))
        assert reward[0] == pytest.approx(omega**2 - after[0, 0] ** 2)
    fallen = np.array([[0.25, 1.0, *state[2:]]])
    assert bicycle.transition(fallen, np.array([4]), np.zeros((1, 1)))[1][0] == pytest.approx(
        0.25**2 - 0.26**2 - 10.0
    )
