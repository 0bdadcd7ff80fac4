"""The vectorised functions in single precision against doubles."""

import numpy as np

from octavo.engine.kernels.single_precision import _into, exp2_single, log2_single


def made(x):
    powers, logs = np.empty_like(x), np.empty_like(x)
    _into(x, powers, logs)
    return powers, logs


def test_errors_are_a_few_units_in_the_last_place():
    rng = np.random.default_rng(0)
    x = np.concatenate([1 + rng.exponential(scale, 20_000) for scale in (1e-6, 0.1, 2.0, 20.0)])
    x = x[x < 87].astype(np.float32)
    powers, logs = made(x)
    exact = x.astype(np.float64)
    assert np.max(np.abs(powers / np.exp2(-exact) - 1)) < 3e-7  # 5 half units of 2^-24
    assert np.max(np.abs(logs - np.log2(exact))) < 5e-7  # at 6.4, whose unit is 4.8e-7


def test_limits():
    powers, logs = made(np.array([1.0, 125.0], dtype=np.float32))
    assert powers.dtype == np.float32
    assert logs[0] == 0.0
    assert powers[0] == 0.5
    assert powers[1] == np.float32(2.0**-125)
    assert exp2_single(np.float32(0.0)) == 1.0
    assert exp2_single(np.float32(125.0)) == np.float32(2.0**125)
    assert abs(log2_single(np.float32(1e30)) - np.log2(1e30)) < 1e-5


def test_a_loop_gives_what_single_calls_give():
    x = (1 + np.random.default_rng(1).exponential(5.0, 1003)).astype(np.float32)
    powers, logs = made(x)
    np.testing.assert_array_equal(powers, [exp2_single(-value) for value in x])
    np.testing.assert_array_equal(logs, [log2_single(value) for value in x])
