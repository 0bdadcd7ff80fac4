"""Calculators against the paper's formulas, and the cluster model against times it made up."""

import math

import numpy as np
import pytest

from octavo.engine.distributed.timing import FitTiming, PhaseTiming
from octavo.linear import (
    ClusterModel,
    HybridLinearClassifier,
    communication_cost,
    warm_start_passes,
)
from tests.linear.sharded.test_estimators import zipf

SIZES = {"n": 1e6, "s": 100, "d": 1e5, "m": 50, "T": 15}


def test_table_5():
    expected = {
        "hybrid": 1e5 * 15,
        "bundle": 1e5 * 15,
        "online_averaging": 1e5 * 15,
        "feature_sharded": 1e6 * 100 / 50 + 1e6 * 15,
        "overcomplete": 1e6 * 100 + 1e5,
        "minibatch_dense": 1e5 * 15 * 1e6 / 1e3,  # b = √n
        "minibatch_sparse": 1e6 * 100 * 15,
    }
    for method, cost in expected.items():
        assert communication_cost(method, **SIZES) == cost
    assert communication_cost("minibatch_dense", **SIZES, b=1e4) == 1e5 * 15 * 100
    with pytest.raises(ValueError, match="got 'gossip'"):
        communication_cost("gossip", **SIZES)
    with pytest.raises(ValueError, match="m must be positive, got 0"):
        communication_cost("hybrid", **{**SIZES, "m": 0})


def test_passes_of_section_4_1():
    n, m, kappa = 1e8, 100, 2.0
    passes = warm_start_passes(n, m, kappa)
    assert passes.hybrid == pytest.approx(1 + kappa / 2 * (math.log(m) + math.log(n)))
    assert passes.batch == pytest.approx(kappa * math.log(n))
    assert passes.saved == pytest.approx(kappa * math.log(1 / math.sqrt(m / n)) - 1)
    rough = warm_start_passes(n, m, kappa, epsilon=0.5, epsilon0=0.1)
    assert rough.hybrid == 1.0, "the online pass alone is accurate enough"
    with pytest.raises(ValueError, match="kappa must be positive"):
        warm_start_passes(n, m, 0.0)


def made_up_timing(rate, spread, latency, per_byte, nodes=8, phases=400):
    """Phases of a cluster that is exactly as the model says."""
    rng = np.random.default_rng(0)
    made = []
    for k in range(phases):
        size, share = (8 * 10**6, 10**7) if k % 2 else (16, 0)
        work = np.full(nodes, share)
        busy = work / rate * np.exp(spread * rng.normal(size=nodes)) + 1e-12
        communication = 2 * math.log2(nodes) * (latency + per_byte * size)
        names = tuple(f"n{i}" for i in range(nodes))
        wall = busy.max() + communication
        made.append(PhaseTiming("probe" if share else "line", wall, names, busy, work, 0, size))
    return FitTiming(made)


def test_the_model_is_recovered_from_times_that_follow_it():
    model = ClusterModel.from_timing(made_up_timing(2e8, 0.1, 2e-3, 1e-9))
    assert model.nonzeros_per_second == pytest.approx(2e8 / math.exp(0.1**2 / 2), rel=0.02)
    assert model.spread == pytest.approx(0.1, rel=0.05)
    assert model.latency == pytest.approx(2e-3, rel=1e-6)
    assert model.seconds_per_byte == pytest.approx(1e-9, rel=1e-6)


def test_predictions():
    model = ClusterModel(1e8, 0.0, 1e-3, 1e-9)
    time = model.predict(1e12, 1e6, n_machines=100, n_epochs=10)
    assert time.median == time.slowest == 100.0
    assert time.communication == pytest.approx(2 * 7 * (1e-3 + 8e-3))
    assert time.total == pytest.approx(10 * (time.slowest + time.communication))
    piped = model.predict(1e12, 1e6, 100, 10, pipelined=True)
    assert piped.communication == pytest.approx(2 * (7e-3 + 8e-3))
    assert model.predict(1e12, 1e6, 1).communication == 0.0
    uneven = ClusterModel(1e8, 0.2, 1e-3, 1e-9)
    worst = np.exp(0.2 * np.random.default_rng(0).normal(size=(4000, 100))).max(axis=1).mean()
    found = uneven.predict(1e12, 1e6, 100)
    assert found.slowest / found.median == pytest.approx(worst, rel=0.03)
    with pytest.raises(ValueError, match="at least 1, got 0"):
        model.predict(1e12, 1e6, 0)


def test_the_model_of_a_real_fit_is_sane():
    X, y = zipf(n=5000)
    timing = HybridLinearClassifier(n_shards=2, comm="threads").fit(X, y).timing_
    model = ClusterModel.from_timing(timing)
    assert 1e5 < model.nonzeros_per_second < 1e11
    assert model.predict(1e9, 1e6, 10).total > model.predict(1e9, 1e6, 10, n_epochs=5).total > 0
    with pytest.raises(ValueError, match="no pass over the data"):
        ClusterModel.from_timing(FitTiming())
