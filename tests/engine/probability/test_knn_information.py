"""Entropy, information and powers of densities from neighbours, against loops over all pairs."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.spatial.distance import cdist
from scipy.special import digamma, gamma
from scipy.stats import norm

from octavo.engine.probability.knn_information import (
    check_power,
    ksg_balls,
    ksg_boxes,
    log_ball_volume,
    log_enclosed,
    log_power_mean,
    shannon_from_enclosed,
)

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(90, 2)), RNG.normal(0.5, 1.2, size=(70, 2))


def kth_distance(A, B, k):
    """Return the distance to the k-th of all others, by sorting them."""
    distances = cdist(A, B)
    if A is B:
        np.fill_diagonal(distances, np.inf)
    return np.sort(distances, axis=1)[:, k - 1]


def test_volumes_of_balls():
    volumes = [math.exp(log_ball_volume(d)) for d in (1, 2, 3, 4)]
    np.testing.assert_allclose(volumes, [2, np.pi, 4 / 3 * np.pi, np.pi**2 / 2], rtol=1e-14)


@pytest.mark.parametrize("k", [1, 4])
def test_enclosed_volumes_are_those_of_all_pairs(k):
    own = 89 * np.pi * kth_distance(X, X, k) ** 2
    other = 70 * np.pi * kth_distance(X, Y, k) ** 2
    np.testing.assert_allclose(np.exp(log_enclosed(X, k)), own, rtol=1e-10)
    np.testing.assert_allclose(np.exp(log_enclosed(X, k, Y=Y)), other, rtol=1e-10)


@pytest.mark.parametrize("k", [1, 3])
def test_shannon_is_the_formula_of_kozachenko_and_leonenko(k):
    n, d = X.shape
    mean_log = np.log(kth_distance(X, X, k)).mean()
    expected = digamma(n) - digamma(k) + math.log(np.pi) + d * mean_log
    found = shannon_from_enclosed(log_enclosed(X, k), n, k)
    assert found == pytest.approx(expected, rel=1e-12)


def test_means_of_powers_are_the_formula_of_the_module():
    k, a, b = 4, 0.5, -0.7
    own = 89 * np.pi * kth_distance(X, X, k) ** 2
    other = 70 * np.pi * kth_distance(X, Y, k) ** 2
    constant = gamma(k) ** 2 / (gamma(k - a) * gamma(k - b))
    expected = math.log(constant * (own**-a * other**-b).mean())
    found = log_power_mean(log_enclosed(X, k), k, a, log_v=log_enclosed(X, k, Y=Y), b=b)
    assert found == pytest.approx(expected, rel=1e-10)
    with pytest.raises(ValueError, match="n_neighbors=2 cannot give: it must exceed 2"):
        check_power(2, 2.0, "this")


def test_means_of_powers_tend_to_the_integral():
    """∫ p^a q^b dp of two normals by quadrature; the mean over samples has that expectation."""
    p, q, k, a, b = norm(0.0, 1.0), norm(0.4, 1.5), 5, 0.5, 0.5
    truth = quad(lambda x: p.pdf(x) ** (1 + a) * q.pdf(x) ** b, -12, 12)[0]
    rng = np.random.default_rng(1)
    found = []
    for _ in range(30):
        one, other = rng.normal(0.0, 1.0, size=(400, 1)), rng.normal(0.4, 1.5, size=(400, 1))
        log_v = log_enclosed(one, k, Y=other)
        found.append(math.exp(log_power_mean(log_enclosed(one, k), k, a, log_v=log_v, b=b)))
    # The bias of smooth densities is of order (k/n)², far below the standard error.
    error = np.std(found, ddof=1) / math.sqrt(len(found))
    assert abs(np.mean(found) - truth) < 4 * error


@pytest.mark.parametrize("groups", [[[0], [1]], [[0, 2], [1]], [[0], [1], [2, 3]]], ids=str)
def test_information_is_that_of_counting_all_pairs(groups):
    """Kraskov, Stögbauer and Grassberger, Eqs. (8), (9), (22) and (23), by two nested loops."""
    table, k = np.hstack([X, X @ [[1.0, 0.3], [0.2, 1.0]]]), 4
    table = table + 0.3 * np.random.default_rng(2).normal(size=table.shape)
    blocks = [np.ascontiguousarray(table[:, group]) for group in groups]
    n, m = len(table), len(blocks)
    parts = [cdist(block, block, "chebyshev") for block in blocks]
    joint = np.max(parts, axis=0)
    balls = boxes = 0.0
    for i in range(n):
        others = np.delete(np.arange(n), i)
        near = others[np.argsort(joint[i, others])[:k]]
        for part in parts:
            balls += digamma((part[i, others] < joint[i, near[-1]]).sum() + 1) / n
            boxes += digamma((part[i, others] <= part[i, near].max()).sum()) / n
    shared = digamma(k) + (m - 1) * digamma(n)
    assert ksg_balls(blocks, k) == pytest.approx(shared - balls, rel=1e-12)
    assert ksg_boxes(blocks, k) == pytest.approx(shared - (m - 1) / k - boxes, rel=1e-12)
