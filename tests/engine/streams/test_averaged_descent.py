"""The lazily averaged descent against iterates that are all kept: one vector, and classes."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import expit, softmax

from octavo.engine.smooth.losses import LOG, SQUARE_ROOT
from octavo.engine.streams import averaged_descent as descents
from octavo.engine.streams import dual_descent as duals
from octavo.engine.streams import passes as streams

SCHEDULES = {
    descents.DECAY: lambda n: 1 / np.sqrt(n),
    descents.CONSTANT: lambda n: 1 / np.sqrt(50.0),
    descents.DOUBLING: lambda n: 1 / np.sqrt(2.0 ** int(np.log2(n))),
}


def rows_and_order(X, bias):
    return streams.as_rows(X, bias), streams.locked(np.arange(X.shape[0], dtype=np.int64))


def by_the_book(X, slopes, rule, radius):
    """Return all R^q θ of the past, where the mean's window began, and R^q in the end."""
    width, slope = slopes
    theta, past, begun, first, R = np.zeros((width, X.shape[1])), [], 0, radius, radius
    for n, x in enumerate(X, start=1):
        length = rule.factor * np.linalg.norm(x)
        if length > R * (1 + 1e-12):
            R = length
            if 2 * first <= R:
                begun, first = n - 1, R
        past.append(theta.copy())
        scale = R * R if rule.squared else R
        theta = theta - rule.c * SCHEDULES[rule.schedule](n) * np.outer(
            slope(theta @ x / scale, n - 1), x
        )
    return past, theta, begun, scale


@pytest.mark.parametrize("squared", [True, False])
@pytest.mark.parametrize("radius", [0.0, 9.0])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("schedule", [descents.DECAY, descents.CONSTANT])
@pytest.mark.parametrize("width", [1, 3])
def test_mean_and_newest(width, schedule, sparse, radius, squared):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 4)) * (rng.random((50, 4)) < 0.7)
    X[:20] *= 0.2  # R doubles on the way where it is not given
    long = np.c_[X, np.ones(50)]
    labels = rng.integers(0, 3, 50)
    signs = np.where(labels == 0, 1.0, -1.0)
    rule = descents.StepRule(schedule, 0.9, 50.0, squared, 1.5)
    table, order = rows_and_order(sp.csr_matrix(X) if sparse else X, 1.0)
    state = descents.new_descent(5, width, rule, radius)
    if width == 1:
        descents.descend(table, order, streams.locked(signs), LOG, rule, state)
        slopes = (1, lambda u, i: -signs[i] * expit(-signs[i] * u))
    else:
        descents.descend_classes(table, order, labels, 3, LOG, True, rule, state)
        slopes = (3, lambda u, i: softmax(u) - np.eye(3)[labels[i]])
    past, theta, begun, scale = by_the_book(long, slopes, rule, radius)
    assert (begun > 0) == (radius == 0.0)
    np.testing.assert_allclose(descents.newest(state, width), theta / scale, rtol=1e-11, atol=1e-14)
    mean = np.mean(past[begun:], axis=0) / scale
    np.testing.assert_allclose(descents.averaged(state, width), mean, rtol=1e-11, atol=1e-14)
    assert state.clock[descents.SEEN] == 50


@pytest.mark.parametrize("n", [1, 2, 3, 6, 7, 50, 63])
def test_doubling_keeps_the_last_whole_block(n):
    rng = np.random.default_rng(1)
    X, signs = rng.normal(size=(n, 3)), np.where(rng.random(n) < 0.5, 1.0, -1.0)
    rule = descents.StepRule(descents.DOUBLING, 1.1, 1.0, True, 2.0)
    state = descents.new_descent(3, 1, rule, 20.0)
    table, order = rows_and_order(X, 0.0)
    descents.descend(table, order, streams.locked(signs), SQUARE_ROOT, rule, state)
    slopes = (1, lambda u, i: u / np.sqrt(1 + u * u) - signs[i])
    past, _, _, scale = by_the_book(X, slopes, rule, 20.0)
    p = int(np.log2(n + 1)) - 1  # rounds 2^p .. 2^(p+1) - 1 are over
    block = past[2**p - 1 : 2 ** (p + 1) - 1]
    np.testing.assert_allclose(
        descents.averaged(state, 1), np.mean(block, axis=0) / scale, rtol=1e-11, atol=1e-15
    )


def test_rows_whose_length_overflows_are_told():
    rule = descents.StepRule(descents.DECAY, 2.0, 1.0, True, 1.0)
    state = descents.new_descent(2, 1, rule, 0.0)
    table, order = rows_and_order(np.array([[1e200, 1.0]]), 0.0)
    descents.descend(table, order, streams.locked(np.ones(1)), LOG, rule, state)
    assert state.clock[descents.BROKEN]


@pytest.mark.parametrize("schedule", [descents.DECAY, descents.DOUBLING])
def test_dual_weights_give_the_primal_vectors(schedule):
    rng = np.random.default_rng(2)
    X, labels = rng.normal(size=(90, 4)), rng.integers(0, 3, 90)
    rule = descents.StepRule(schedule, 2.0, 1.0, True, np.sqrt(2.0))
    state = descents.new_descent(4, 3, rule, 0.0)
    descents.descend_classes(*rows_and_order(X, 0.0), labels, 3, LOG, True, rule, state)
    found = duals.dual_descent(
        lambda rows, columns: X[rows] @ X[columns].T,
        np.linalg.norm(X, axis=1), labels, 3, LOG, True, rule, 0.0,
    )  # fmt: skip
    for weights, vectors in ((found.averaged, descents.averaged), (found.newest, descents.newest)):
        np.testing.assert_allclose(
            weights.T @ X[found.positions], vectors(state, 3), rtol=1e-9, atol=1e-12
        )
