"""The baselines against plain loops, and against each other in limiting cases."""

import warnings

import numpy as np
import pytest
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning

from octavo.linear import (
    HybridLinearClassifier,
    OvercompleteSGD,
    ParallelMiniBatchSGD,
    RepeatedOnlineAveraging,
    write_shards,
)
from tests.linear.sharded.test_estimators import zipf

SLOPES = {
    "log": lambda p, s: -s * expit(-s * p),
    "hinge": lambda p, s: -s if s * p < 1 else 0.0,
    "squared_hinge": lambda p, s: -2 * s * max(0.0, 1 - s * p),
    "squared": lambda p, s: p - s,
}


def test_repeated_averaging_is_the_online_phase_of_the_hybrid():
    X, y = zipf()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        hybrid = HybridLinearClassifier(n_online_passes=3, n_shards=4, max_iter=0).fit(X, y)
    online = RepeatedOnlineAveraging(n_epochs=3, n_shards=4).fit(X, y)
    np.testing.assert_array_equal(online.coef_, hybrid.coef_)
    np.testing.assert_array_equal(online.G_, hybrid.G_)
    assert online.losses_.shape == (3,)
    assert (np.diff(online.losses_) < 0).all()
    assert online.losses_[0] < np.log(2)


@pytest.mark.parametrize("loss", SLOPES)
@pytest.mark.parametrize("replicas", [1, 3])
def test_overcomplete_sgd_is_a_loop(loss, replicas):
    X, y = zipf(n=60, d=12, s=4, seed=1)
    weight = np.random.default_rng(0).uniform(0.5, 1.5, 60)
    model = OvercompleteSGD(loss, alpha=3.0, n_replicas=replicas, L=2.0, gamma=0.7, n_shards=4).fit(
        X, y, weight
    )
    table, parts = X.toarray(), np.split(np.arange(60), 4)
    finals = []
    for k in range(4):
        w, b = np.zeros(12), 0.0
        rows = np.concatenate([parts[(k + r) % 4] for r in range(replicas)])
        for t, row in enumerate(rows, 1):
            eta = 1 / (2.0 + 0.7 * np.sqrt(t))
            g = weight[row] * SLOPES[loss](table[row] @ w + b, 2 * y[row] - 1)
            w = w / (1 + eta * 3.0 / 60) - eta * g * table[row]
            b -= eta * g
        finals.append(np.append(w, b))
    found = np.append(model.coef_, model.intercept_)
    np.testing.assert_allclose(found, np.mean(finals, axis=0), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("loss", SLOPES)
def test_parallel_mini_batches_are_a_loop(loss):
    X, y = zipf(n=61, d=12, s=4, seed=2)
    model = ParallelMiniBatchSGD(
        loss, alpha=2.0, batch_size=12, n_epochs=2, L=2.0, gamma=0.7, n_shards=3
    ).fit(X, y)
    table = np.column_stack([X.toarray(), np.ones(61)])
    parts = [np.arange(61 * k // 3, 61 * (k + 1) // 3) for k in range(3)]
    w, t = np.zeros(13), 0
    for _ in range(2):
        for start in range(0, 21, 4):
            t += 1
            rows = np.concatenate([part[start : start + 4] for part in parts])
            g = sum(SLOPES[loss](table[i] @ w, 2 * y[i] - 1) * table[i] for i in rows) / len(rows)
            eta = 1 / (2.0 + 0.7 * np.sqrt(t / 3))
            w = (w - eta * g) / (1 + eta * np.append(np.full(12, 2.0 / 61), 0.0))
    assert model.n_updates_ == t
    found = np.append(model.coef_, model.intercept_)
    np.testing.assert_allclose(found, w, rtol=1e-9, atol=1e-12)


def test_full_batches_do_not_depend_on_the_shards():
    X, y = zipf(n=120, seed=3)
    fits = [
        ParallelMiniBatchSGD(batch_size=120, n_epochs=5, gamma=0.0, n_shards=m).fit(X, y)
        for m in (1, 2, 5)
    ]
    for fit in fits[1:]:
        np.testing.assert_allclose(fit.coef_, fits[0].coef_, rtol=1e-10, atol=1e-13)


def test_one_node_without_overlap_is_plain_sgd_whatever_the_input(tmp_path):
    X, y = zipf(n=200, seed=4)
    whole = OvercompleteSGD().fit(X, y)
    in_files = OvercompleteSGD().fit(write_shards(tmp_path, X, y, random_state=0))
    order = np.random.RandomState(0).permutation(200)
    np.testing.assert_allclose(OvercompleteSGD().fit(X[order], y[order]).coef_, in_files.coef_)
    assert whole.score(X, y) > 0.7
    batches = ParallelMiniBatchSGD(n_epochs=1).fit(tmp_path)
    assert batches.n_updates_ == int(np.ceil(200 / 14))


def test_streams_cannot_be_read_in_batches():
    X, y = zipf(n=50)
    with pytest.raises(TypeError, match=r"shard 0 .*from its beginning"):
        ParallelMiniBatchSGD(n_epochs=1).fit(lambda: iter([(X, y)]))
