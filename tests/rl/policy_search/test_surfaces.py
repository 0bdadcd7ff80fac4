"""The behaviour kernel as a Gaussian process sees it."""

import numpy as np
import pytest

from octavo import rl
from octavo.rl.policy_search.surfaces import BehaviourSurface, make_surface


@pytest.fixture(scope="module")
def told():
    car = rl.MountainCar(horizon=60)
    policy = car.make_policy()
    thetas = np.random.RandomState(3).uniform(-1, 1, (12, 16))
    runs = car.episodes(policy, thetas, random_state=3)
    return policy, thetas, runs, np.array([each[0].total for each in runs])


@pytest.mark.parametrize("kernel", ["bbk", rl.BehaviourKernel(alpha=0.1)])
def test_candidates_and_evaluated_have_one_kernel(told, kernel):
    policy, thetas, runs, values = told
    surface = make_surface(kernel, policy, -np.ones(16), np.ones(16))
    surface.update(thetas, runs, values)
    new = np.random.RandomState(4).uniform(-1, 1, (40, 16))
    for setting, K in enumerate(surface.matrices()):
        np.testing.assert_allclose(np.diag(K), 1.0)
        again = surface.rows(thetas, setting)
        off = ~np.eye(len(K), dtype=bool)
        np.testing.assert_allclose(again[off], K[off], atol=1e-12)
        rows = surface.rows(new, setting)
        for row in rows:  # a candidate beside the evaluated: no negative eigenvalue
            whole = np.block([[K, row[:, None]], [row[None], np.ones((1, 1))]])
            assert np.linalg.eigvalsh(whole).min() > -1e-10


def test_one_formula_is_the_kernel_itself_where_both_estimates_agree():
    # One state, two actions, a step each: no weights and no other states to differ by.
    policy = rl.SoftmaxLinearPolicy(1, 2)
    thetas = np.array([[0.0, 0.0], [0.4, 0.0], [0.0, 1.0]])
    runs = [[rl.Episode([[1.0]], [0], [0.0])] for _ in thetas]
    kernel = rl.BehaviourKernel()
    surface = BehaviourSurface(kernel, policy)
    surface.update(thetas, runs, np.zeros(3))
    K = kernel.matrix(policy, thetas, runs)
    expected = K @ np.linalg.solve(K + 1e-2 * np.eye(3), K)
    np.fill_diagonal(expected, 1.0)
    np.testing.assert_allclose(surface.matrices()[0], expected, atol=1e-12)


def test_beliefs_stay_near_what_was_seen(told):
    policy, thetas, runs, _ = told  # no car arrives, and every return is the same: pay others
    values = 50.0 * np.random.RandomState(6).standard_normal(12)
    search = rl.TrajectoryBO(policy, (-1, 1), random_state=0)
    for theta, (run,), value in zip(thetas, runs, values):
        paid = np.full(len(run), value / len(run))
        search.tell(theta, [rl.Episode(run.states, run.actions, paid)])
    believed = search.posterior(np.random.RandomState(5).uniform(-1, 1, (500, 16)))
    assert np.abs(believed).max() <= 2 * np.abs(values).max()
    # where it was told, it believes it up to its noise: nearer to each value than to their mean
    at = search.posterior(thetas)
    assert np.abs(at - values).max() < 0.5 * np.abs(values - values.mean()).max()
