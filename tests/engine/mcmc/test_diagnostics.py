import numpy as np
import pytest

from octavo.engine.mcmc.diagnostics import (
    autocovariances,
    effective_sample_size,
    monte_carlo_error,
    split_rhat,
)


def autoregression(rho, shape, rng):
    x = rng.standard_normal(shape)
    x[:, 0] /= np.sqrt(1 - rho**2)
    for t in range(1, shape[1]):
        x[:, t] += rho * x[:, t - 1]
    return x


def test_autocovariances_are_the_sums_of_products():
    x = np.random.default_rng(0).standard_normal((2, 9))
    centred = x - x.mean(axis=1, keepdims=True)
    direct = [[(row[: 9 - lag] * row[lag:]).sum() / 9 for lag in range(9)] for row in centred]
    np.testing.assert_allclose(autocovariances(x), direct, atol=1e-14)


@pytest.mark.parametrize("rho", [-0.4, 0.0, 0.6, 0.9])
def test_ess_of_an_autoregression(rho):
    """n (1 - ρ)/(1 + ρ) in closed form; ten per cent is four standard errors of the estimate."""
    x = autoregression(rho, (4, 20_000), np.random.default_rng(1))
    exact = x.size * (1 - rho) / (1 + rho)
    assert effective_sample_size(x) == pytest.approx(exact, rel=0.1)


def test_monte_carlo_error_is_the_spread_of_means():
    rng = np.random.default_rng(2)
    means = [autoregression(0.7, (1, 1000), rng).mean() for _ in range(400)]
    one = monte_carlo_error(autoregression(0.7, (2, 20_000), rng)) * np.sqrt(40)
    assert one == pytest.approx(np.std(means), rel=0.15)


def test_plain_rhat_is_gelmans_formula():
    x = np.random.default_rng(3).standard_normal((2, 50)) + [[0.0], [1.0]]
    halves = np.array([x[0, :25], x[0, 25:], x[1, :25], x[1, 25:]])
    within = halves.var(axis=1, ddof=1).mean()
    between = 25 * halves.mean(axis=1).var(ddof=1)
    expected = np.sqrt((24 / 25 * within + between / 25) / within)
    assert split_rhat(x, rank_normalized=False) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("spoil", ["shift", "spread", "drift"])
def test_rhat_sees_chains_that_disagree(spoil):
    x = np.random.default_rng(4).standard_normal((4, 1000))
    assert split_rhat(x) < 1.01
    if spoil == "shift":
        x[0] += 1.0
    elif spoil == "spread":
        x[0] *= 4.0
    else:
        x += np.linspace(-1.5, 1.5, 1000)
    assert split_rhat(x) > 1.05


def test_several_quantities_are_judged_one_by_one():
    x = np.random.default_rng(5).standard_normal((3, 200, 2))
    for judge in (split_rhat, effective_sample_size):
        both = judge(x)
        np.testing.assert_allclose(both, [judge(x[:, :, 0]), judge(x[:, :, 1])])


def test_constants():
    assert split_rhat(np.ones((2, 10))) == 1.0
    assert split_rhat(np.repeat([[1.0], [2.0]], 10, axis=1), rank_normalized=False) == np.inf
    assert effective_sample_size(np.ones((2, 10))) == 20.0


def test_too_few_draws_are_refused():
    with pytest.raises(ValueError, match="at least four draws"):
        split_rhat(np.ones((2, 3)))
