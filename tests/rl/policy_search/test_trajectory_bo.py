"""The optimiser against scikit-learn's processes, closed forms and limiting cases."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import multivariate_normal
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF

from octavo.rl import (
    BehaviourKernel,
    Episode,
    GaussianLinearPolicy,
    LinearWorldModel,
    MountainCar,
    SoftmaxLinearPolicy,
    TrajectoryBO,
    expected_improvement,
    model_weight,
    solve_lqr,
)

LINE = GaussianLinearPolicy(1, 1)
PLANE = GaussianLinearPolicy(2, 1)


def told(value, n=1):
    """Return an episode whose rewards sum to a value."""
    return [Episode([[0.0]], [[0.0]], [value])] * n


def wave(theta):
    return np.sin(3 * theta[..., 0]) + 0.5 * theta[..., 0]


def filled(n=8, seed=0, kernel=None, **options):
    kernel = kernel or RBF(0.5)
    search = TrajectoryBO(LINE, (-2, 2), kernel=kernel, noise=1e-4, random_state=seed, **options)
    for theta in np.random.RandomState(5).uniform(-2, 2, (n, 1)):
        search.tell(theta, told(float(wave(theta))))
    return search


def test_posterior_is_scikit_learns():
    search = filled()
    X = np.array([h["theta"] for h in search.history_])
    y = np.array([h["value"] for h in search.history_])
    peer = GaussianProcessRegressor(RBF(0.5), alpha=1e-4, optimizer=None).fit(X, y)
    Z = np.linspace(-2, 2, 50)[:, None]
    for ours, theirs in zip(search.posterior(Z, return_std=True), peer.predict(Z, return_std=True)):
        np.testing.assert_allclose(ours, theirs, atol=1e-8)
    assert search.best_value_ == y.max()
    np.testing.assert_array_equal(search.best_params_, X[y.argmax()])


def test_the_next_point_has_the_largest_expected_improvement():
    search = filled(5)
    Z = np.linspace(-2, 2, 4001)[:, None]
    gains = expected_improvement(*search.posterior(Z, return_std=True), search.best_value_)
    theta = search.ask()
    gain = expected_improvement(*search.posterior([theta], return_std=True), search.best_value_)
    assert gain[0] >= gains.max() * (1 - 1e-3)  # DIRECT divides 4 by 3 until the budget is spent


def test_a_mean_of_zero_is_plain_optimisation_bit_for_bit():
    for kernel in (RBF(0.5), "se"):
        plain, zero = (
            TrajectoryBO(LINE, (-2, 2), kernel=kernel, mean=mean, random_state=3)
            for mean in ("zero", lambda thetas: np.zeros(len(thetas)))
        )
        for _ in range(8):
            one, two = plain.ask(), zero.ask()
            np.testing.assert_array_equal(one, two)
            plain.tell(one, told(float(wave(one))))
            zero.tell(two, told(float(wave(two))))
        assert zero.beta_ == 0.0


def test_weight_maximises_the_evidence():
    rng = np.random.RandomState(0)
    X = rng.uniform(-1, 1, (9, 1))
    K = RBF(0.5)(X) + 0.01 * np.eye(9)
    m = rng.normal(size=9)
    y = 0.6 * m + 0.1 * rng.normal(size=9)
    best = minimize_scalar(
        lambda b: -multivariate_normal(b * m, K).logpdf(y), bounds=(0, 1), method="bounded",
        options={"xatol": 1e-10},
    )  # fmt: skip
    assert model_weight(y, m, K) == pytest.approx(best.x, abs=1e-6)
    assert model_weight(y, 0 * m, K) == 0.0
    assert model_weight(-m, m, K) == 0.0
    assert model_weight(3 * m, m, K) == 1.0


def test_a_perfect_model_is_believed_and_followed():
    search = filled(6, mean=wave, kernel="se")
    assert search.gp_.beta == pytest.approx(1.0)
    np.testing.assert_allclose(search.posterior([[0.3], [1.1]]), wave(np.array([[0.3], [1.1]])))
    grid = np.linspace(-2, 2, 4001)[:, None]
    assert wave(search.ask()) >= wave(grid).max() - 1e-2


def test_weighted_mean_is_the_dense_formula():
    search = filled(6, mean=lambda t: 0.5 * np.cos(t[:, 0]) + 0.3)
    X = np.array([h["theta"] for h in search.history_])
    y = np.array([h["value"] for h in search.history_])
    m = search.mean(X)
    K, noise = RBF(0.5)(X), 1e-4 * np.eye(6)
    beta = float(
        np.clip(y @ np.linalg.solve(K + noise, m) / (m @ np.linalg.solve(K + noise, m)), 0, 1)
    )
    assert 0 < beta < 1
    c = (1 - beta) ** 2 + beta**2
    Z = np.linspace(-2, 2, 9)[:, None]
    k = RBF(0.5)(Z, X)
    mean = beta * search.mean(Z) + c * k @ np.linalg.solve(c * K + noise, y - beta * m)
    variance = c - c**2 * np.einsum("ij,ji->i", k, np.linalg.solve(c * K + noise, k.T))
    got = search.posterior(Z, return_std=True)
    assert search.beta_ == pytest.approx(beta)
    np.testing.assert_allclose(got[0], mean, atol=1e-8)
    np.testing.assert_allclose(got[1], np.sqrt(variance), atol=1e-7)


def test_a_pessimist_is_weighed_down_and_the_optimum_found():
    search = TrajectoryBO(
        LINE, (-2, 2), kernel=RBF(0.5), mean=lambda t: wave(t) - 5.0, noise=1e-6, random_state=0
    )
    for _ in range(15):
        theta = search.ask()
        search.tell(theta, told(float(wave(theta)) + 3.0))
    assert search.beta_ < 0.5
    grid = wave(np.linspace(-2, 2, 4001)[:, None]).max() + 3.0
    assert search.best_value_ > grid - 0.02


@pytest.mark.parametrize("optimizer", ["direct", "xnes", "multistart"])
def test_every_maximiser_finds_a_quadratic(optimizer):
    search = TrajectoryBO(PLANE, (-1, 1), kernel="se", acq_optimizer=optimizer, random_state=0)
    aim = np.array([0.3, -0.4])
    for _ in range(20):
        theta = search.ask()
        search.tell(theta, told(-float(np.sum((theta - aim) ** 2))))
    assert search.best_value_ > -1e-3


def test_gain_of_a_linear_regulator():
    """The return of a = θs on s' = s + a, cost s² + a², is known; so is the best θ."""
    best = solve_lqr([[1.0]], [[1.0]], [[1.0]], [[1.0]])[0, 0]

    def cost(theta):
        s, total = 1.0, 0.0
        for _ in range(200):
            a = theta * s
            total += s**2 + a**2
            s += a
        return total

    search = TrajectoryBO(LINE, (-1.5, -0.2), kernel="se", random_state=0)
    for _ in range(14):
        theta = search.ask()
        search.tell(theta, told(-cost(theta[0])))
    assert search.best_params_[0] == pytest.approx(best, abs=0.02)


def test_behaviour_kernel_sees_what_parameters_hide():
    policy = SoftmaxLinearPolicy(1, 2)
    beliefs = {}
    for kernel in ("bbk", "se"):
        search = TrajectoryBO(policy, (-3, 3), kernel=kernel, noise=1e-6, random_state=0)
        for theta, value in (([0.0, 0.0], 1.0), ([0.0, 2.0], 3.0)):
            run = Episode([[1.0]] * 5, [0, 1, 0, 1, 0], [value] + [0.0] * 4)
            search.tell(theta, [run])
        # the last two are the first two with logits shifted: the same policies
        beliefs[kernel] = search.posterior([[0.0, 0.5], [0.0, 1.0], [2.0, 2.5], [-1.0, 0.0]])
    np.testing.assert_allclose(beliefs["bbk"][:2], beliefs["bbk"][2:], atol=1e-9)
    assert np.abs(beliefs["se"][:2] - beliefs["se"][2:]).min() > 0.05


def test_noise_is_the_variance_within_policies():
    search = TrajectoryBO(LINE, (-2, 2), kernel=RBF(0.5), random_state=0)
    rng = np.random.RandomState(0)
    for theta in ([0.0], [1.0], [-1.0]):
        values = rng.normal(size=4)
        search.tell(theta, [Episode([[0.0]], [[0.0]], [v]) for v in values])
    within = np.mean([np.var([e.total for e in runs], ddof=1) / 4 for runs in search._episodes])
    assert search.gp_.noise == pytest.approx(within)


def test_runs_repeat_and_read_gymnasium_like_environments():
    car = MountainCar(horizon=60)

    def run(seed):
        search = TrajectoryBO(car.make_policy(), (-1, 1), kernel="se", n_init=3, random_state=seed)
        return search.run(car, 5)

    one, two = run(1), run(1)
    np.testing.assert_array_equal(one.best_params_, two.best_params_)
    assert len(one.history_) == 5

    class Plain:
        def reset(self, seed=None, options=None):
            return np.zeros(1), {}

        def step(self, action):
            return np.zeros(1), -float(np.ravel(action)[0] ** 2), True, False, {}

    search = TrajectoryBO(LINE, (-2, 2), kernel="se", n_episodes=3, random_state=0).run(Plain(), 4)
    assert search.history_[0]["n_episodes"] == 3


@pytest.mark.parametrize("kernel", ["bbk", "ard_linear"])
def test_other_kernels_run(kernel):
    car = MountainCar(horizon=40)
    search = TrajectoryBO(car.make_policy(), (-1, 1), kernel=kernel, n_init=22, random_state=0)
    search.run(car, 23)
    mean, std = search.posterior(np.zeros((2, 16)), return_std=True)
    assert np.isfinite(mean).all()
    assert (std > 0).all()


def test_model_and_behaviour_combined():
    car = MountainCar(horizon=50)
    world = LinearWorldModel(
        car.good_transition_features, car.reward_features, terminal=car.is_terminal
    )
    search = TrajectoryBO(car.make_policy(), (-1, 1), mean=world, n_init=3, random_state=0)
    search.run(car, 4)
    assert 0.9 < search.beta_ <= 1.0  # every policy costs 50, and the model says so


def test_bad_input_is_met_by_sentences():
    with pytest.raises(ValueError, match="pair for each of 2"):
        TrajectoryBO(PLANE, [[-1, 1]] * 3)
    with pytest.raises(ValueError, match="below its upper"):
        TrajectoryBO(PLANE, (1, -1))
    with pytest.raises(ValueError, match="n_episodes"):
        TrajectoryBO(PLANE, (-1, 1), n_episodes=0)
    with pytest.raises(ValueError, match="kernel must be"):
        TrajectoryBO(PLANE, (-1, 1), kernel="banana")
    with pytest.raises(ValueError, match="mean must be"):
        TrajectoryBO(PLANE, (-1, 1), mean="banana")
    with pytest.raises(ValueError, match="noise"):
        TrajectoryBO(PLANE, (-1, 1), noise=-1.0)
    with pytest.raises(ValueError, match="stochastic"):
        TrajectoryBO(GaussianLinearPolicy(2, 1, scale=0.0), (-1, 1), kernel=BehaviourKernel())
    search = TrajectoryBO(PLANE, (-1, 1), kernel="se")
    with pytest.raises(ValueError, match="at least one Episode"):
        search.tell([0.0, 0.0], [])
    with pytest.raises(ValueError, match="2 parameters"):
        search.tell([0.0], told(1.0))
    with pytest.raises(ValueError, match="finite"):
        search.tell([np.nan, 0.0], told(1.0))
    with pytest.raises(ValueError, match="Nothing was told"):
        search.best_params_
