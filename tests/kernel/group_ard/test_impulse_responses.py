"""Impulse responses from lagged inputs: exact designs, priors, bad input."""

import numpy as np
import pytest
from scipy.signal import lfilter

from octavo.kernel import GroupARDRegression, ImpulseResponseSelector, zero_probability
from octavo.kernel.group_ard.impulse_responses import lagged_inputs, prior_root


def system(n=400, seed=0, noise=0.1, delay=0):
    """Five inputs, of which 1 and 3 act through decaying responses."""
    rng = np.random.default_rng(seed)
    U = rng.normal(size=(n, 5))
    responses = np.zeros((5, 8))
    responses[1], responses[3] = 0.8 ** np.arange(8), -(0.5 ** np.arange(8))
    y = sum(lfilter(h, 1.0, u) for h, u in zip(responses, U.T))
    if delay:
        y = np.append(np.zeros(delay), y[:-delay])
    return U, y + noise * rng.normal(size=n), responses


@pytest.mark.parametrize("delay", [0, 2])
def test_lags_are_those_of_a_loop(delay):
    U = np.arange(12.0).reshape(6, 2) + 1
    table = lagged_inputs(U, 3, delay)
    for t in range(6):
        for i in range(2):
            for j in range(3):
                s = t - delay - j
                assert table[t, 3 * i + j] == (U[s, i] if s >= 0 else 0.0)


@pytest.mark.parametrize("delay", [0, 1])
def test_recovers_responses_and_inputs(delay):
    U, y, responses = system(delay=delay)
    # The inputs are nearly orthogonal: this rate leaves out each that has no effect, and its
    # shrinkage of the others is 2 %.
    gamma = 8e5
    assert zero_probability(0.0, 8, 400, 0.01, gamma) > 0.9999
    selector = ImpulseResponseSelector(8, delay=delay, gamma=gamma).fit(U, y)
    assert selector.active_groups_.tolist() == [1, 3]
    assert selector.impulse_responses_.shape == (5, 8)
    # least squares has sd 0.1/√400 = 0.005 an entry; five of them, and the shrinkage
    np.testing.assert_allclose(selector.impulse_responses_, responses, atol=0.025 + 0.02)
    assert not selector.impulse_responses_[[0, 2, 4]].any()
    clean = system(noise=0.0, delay=delay)[1]
    # the shrinkage, and sixteen coefficients of sd 0.005 times inputs of about one
    np.testing.assert_allclose(selector.predict(U), clean, rtol=0.03, atol=5 * 0.02)


def test_deviations_cover_the_errors():
    U, y, responses = system(seed=3)
    selector = ImpulseResponseSelector(8).fit(U, y)
    assert {1, 3} <= set(selector.active_groups_)
    z = ((selector.impulse_responses_ - responses) / np.maximum(selector.impulse_std_, 1e-9))[
        [1, 3]
    ]
    assert 0.5 < np.sqrt((z**2).mean()) < 1.6  # sixteen of them: 1 ± 3.4 · 0.177


def test_without_a_prior_it_is_the_regression_on_lags():
    U, y, _ = system(120)
    selector = ImpulseResponseSelector(4, noise=0.5).fit(U, y)
    groups = np.repeat(np.arange(5), 4)
    model = GroupARDRegression(groups, noise=0.5).fit(lagged_inputs(U, 4, 0)[3:], y[3:])
    np.testing.assert_allclose(selector.impulse_responses_.ravel(), model.coef_)
    spread = np.sqrt(np.diag(model.coef_cov_))
    np.testing.assert_allclose(selector.impulse_std_.ravel(), spread, atol=1e-12)
    assert selector.log_marginal_likelihood_ == model.log_marginal_likelihood_


def test_prior_is_the_stable_spline():
    P = prior_root(5, 0.7) @ prior_root(5, 0.7).T
    for s in range(5):
        for t in range(5):
            assert P[s, t] == pytest.approx(0.7 ** max(s, t))


def test_stable_splines_are_the_posterior_under_their_prior():
    U, y, _ = system(100)
    model = ImpulseResponseSelector(
        6, prior="stable-spline", decay=0.8, noise=0.3, fit_intercept=False
    ).fit(U, y)
    lags = lagged_inputs(U, 6, 0)[5:]
    P = 0.8 ** np.maximum(np.arange(6), np.arange(6)[:, None])
    prior = np.kron(np.diag(model.lambda_), P)
    Sigma = lags @ prior @ lags.T + 0.3 * np.eye(95)
    mean = prior @ lags.T @ np.linalg.solve(Sigma, y[5:])
    np.testing.assert_allclose(model.impulse_responses_.ravel(), mean, atol=1e-8)
    spread = prior - prior @ lags.T @ np.linalg.solve(Sigma, lags @ prior)
    np.testing.assert_allclose(model.impulse_std_.ravel() ** 2, np.diag(spread), atol=1e-10)


def test_decay_is_chosen_by_likelihood_and_helps_long_responses():
    U, y, responses = system(150, noise=1.0, seed=1)
    plain = ImpulseResponseSelector(20).fit(U, y)
    spline = ImpulseResponseSelector(20, prior="stable-spline").fit(U, y)
    assert 0.5 <= spline.decay_ <= 0.98
    truth = np.zeros((5, 20))
    truth[:, :8] = responses
    error = [np.linalg.norm(m.impulse_responses_ - truth) for m in (spline, plain)]
    assert error[0] < 0.7 * error[1]
    assert spline.log_marginal_likelihood_ > plain.log_marginal_likelihood_
    for decay in (0.5, 0.98):
        other = ImpulseResponseSelector(20, prior="stable-spline", decay=decay).fit(U, y)
        assert other.log_marginal_likelihood_ <= spline.log_marginal_likelihood_


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"n_lags": 0}, "n_lags"),
        ({"n_lags": 30}, "n_lags=30 and delay=0 need at least 31 samples; got 20"),
        ({"n_lags": 5}, 'noise="ls" needs more samples'),
        ({"decay": 1.0}, "decay"),
        ({"delay": -1}, "delay"),
        ({"prior": "spline"}, "prior"),
    ],
)
def test_bad_input_is_named(params, words):
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match=words):
        ImpulseResponseSelector(**{"n_lags": 3} | params).fit(
            rng.normal(size=(20, 5)), rng.normal(size=20)
        )
