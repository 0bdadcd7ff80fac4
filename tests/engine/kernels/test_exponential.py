"""The vectorised exponential against extended precision."""

import numpy as np

from octavo.engine.kernels.exponential import _exp_into, exp_nonpositive


def test_error_is_below_one_unit_in_the_last_place():
    rng = np.random.default_rng(0)
    x = -np.concatenate([rng.exponential(scale, 20_000) for scale in (1e-9, 0.1, 5.0, 150.0)])
    x = np.concatenate([x[x > -690], [-0.0, -690.0, -1e-320, -np.log(2) / 2]])
    out = np.empty(x.size)
    _exp_into(x, out)
    exact = np.exp(x.astype(np.longdouble))
    assert np.finfo(np.longdouble).eps < 1e-18, "the reference must be more accurate"
    assert np.max(np.abs((out - exact) / np.spacing(out))) < 1.0


def test_limits():
    out = np.empty(4)
    _exp_into(np.array([0.0, -690.1, -1e300, -np.inf]), out)
    np.testing.assert_array_equal(out, [1.0, 0.0, 0.0, 0.0])


def test_a_loop_gives_what_single_calls_give():
    x = -np.random.default_rng(1).exponential(20.0, 1003)
    out = np.empty(x.size)
    _exp_into(x, out)
    np.testing.assert_array_equal(out, [exp_nonpositive(value) for value in x])
