"""The vectorised functions in single precision against doubles."""

import numpy as np

from octavo.engine.kernels.single_precision import _into, exp_single, log_single


def made(x):
    exps, logs = np.empty_like(x), np.empty_like(x)
    _into(x, exps, logs)
    return exps, logs


def test_errors_are_a_few_units_in_the_last_place():
    rng = np.random.default_rng(0)
    x = np.concatenate([1 + rng.exponential(scale, 20_000) for scale in (1e-6, 0.1, 2.0, 20.0)])
    x = x[x < 87].astype(np.float32)
    exps, logs = made(x)
    exact = x.astype(np.float64)
    assert np.max(np.abs(exps / np.exp(-exact) - 1)) < 3e-7  # 5 half units of 2^-24
    assert np.max(np.abs(logs - np.log(exact))) < 4e-7  # at 4.5, whose unit is 4.8e-7


def test_limits():
    exps, logs = made(np.array([1.0, 87.0, 1e30], dtype=np.float32))
    assert exps.dtype == np.float32
    assert logs[0] == 0.0
    assert exps[2] == exps[1] < 2e-38  # a floor, not a subnormal
    assert exp_single(np.float32(0.0)) == 1.0
    assert abs(log_single(np.float32(1e30)) - np.log(1e30)) < 1e-5


def test_a_loop_gives_what_single_calls_give():
    x = (1 + np.random.default_rng(1).exponential(5.0, 1003)).astype(np.float32)
    exps, logs = made(x)
    np.testing.assert_array_equal(exps, [exp_single(-value) for value in x])
    np.testing.assert_array_equal(logs, [log_single(value) for value in x])
