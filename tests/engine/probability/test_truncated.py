import numpy as np
import pytest
from scipy import stats

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.probability.truncated import draw_above, draw_between

N = 20_000


@njit
def many(rng, a, b, n):
    out = np.empty(n)
    for i in range(n):
        out[i] = draw_between(rng, a, b)
    return out


REGIONS = [
    (-np.inf, np.inf),
    (-np.inf, 1.3),
    (-np.inf, -2.0),
    (-0.7, np.inf),
    (0.3, np.inf),
    (3.0, np.inf),
    (-0.4, 0.3),
    (-2.0, 2.5),
    (1.0, 1.2),
    (1.0, 4.0),
    (6.0, 6.1),
    (-7.0, -5.0),
    (-1.0, 0.0),
]


@pytest.mark.parametrize(("a", "b"), REGIONS)
def test_draws_follow_the_truncated_law(a, b):
    """Kolmogorov's test at one in a million: a wrong region or proposal is off by far more."""
    draws = many(np.random.default_rng(5), a, b, N)
    assert np.all((draws > a) & (draws < b))
    law = stats.truncnorm(a, b)
    assert stats.kstest(draws, law.cdf).pvalue > 1e-6


@pytest.mark.parametrize("a", [8.0, 40.0, 1e3, 1e8])
def test_far_tails_are_finite_and_exponential(a):
    rng = np.random.default_rng(0)
    draws = np.array([draw_above(rng, a) for _ in range(5000)])
    assert np.all(np.isfinite(draws))
    assert np.all(draws >= a)
    # (Z - a) a tends to an exponential of mean 1 - 2/a² + ...; rounding of Z hides it at 1e8.
    if a < 1e6:
        assert np.mean((draws - a) * a) == pytest.approx(1 - 2 / a**2, abs=5 / np.sqrt(5000))
