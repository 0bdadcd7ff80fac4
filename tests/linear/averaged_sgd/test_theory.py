"""The theorems on simulated streams: expectations and tails below their bounds, and the rate."""

import math

import numpy as np
import pytest
from scipy.special import expit

from octavo.data import make_logistic_stream
from octavo.linear import AveragedSGDClassifier, asgd_bounds

FRESH, _, THETA = make_logistic_stream(20_000, 5, random_state=12_345)


def risk(coef):
    u, best = FRESH @ coef, FRESH @ THETA
    return np.mean(np.logaddexp(0, u) - np.logaddexp(0, best) - expit(best) * (u - best))


def ends(n, n_streams, **options):
    for seed in range(n_streams):
        X, y, _ = make_logistic_stream(n, 5, random_state=seed)
        yield AveragedSGDClassifier(fit_intercept=False, shuffle=False, **options).fit(X, y)


@pytest.mark.parametrize("n", [20, 300])
def test_expectations_and_tails_are_below_their_bounds(n):
    models = list(ends(n, 200, schedule="constant", c=0.5, R=1.0))
    bounds = asgd_bounds(n, 1.0, float(np.linalg.norm(THETA)), delta=0.1)
    risks = np.array([risk(m.coef_[0]) for m in models])
    apart = np.array([np.sum((m.last_coef_[0] - THETA) ** 2) for m in models])
    assert np.mean(risks + apart / (2 * bounds["gamma"] * n)) <= bounds["lemma_1"]
    assert np.mean(risks) <= bounds["corollary_2"]
    assert np.mean(apart) <= bounds["corollary_2_distance"]
    assert np.mean(risks > bounds["corollary_6"]) <= 0.1
    assert np.mean(apart > bounds["corollary_6_distance"]) <= 0.1


@pytest.mark.slow
def test_the_default_reaches_the_best_rate():
    """1.0 to 1.3 times d/(2N) at 10⁵ rows; 40 streams leave 0.05 of sampling either way."""
    risks = [risk(m.coef_[0]) for m in ends(100_000, 40)]
    assert 0.85 <= np.mean(risks) * 2 * 100_000 / 5 <= 1.3


def test_the_rate_adapts():
    few, many = (np.mean([risk(m.coef_[0]) for m in ends(n, 20)]) for n in (1000, 16_000))
    assert math.log(many / few) / math.log(16) < -0.75
