"""GPTD and KTD against the normal posterior in matrices, a Kalman filter and regressions."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Ridge

from octavo.rl import GPTD, KTD, LSTD, Transitions
from tests.rl.batches import random_batch


def posterior(batch, gamma, noise, prior):
    """Return mean and covariance by Eq. (34): noise covariance σ² Γ Γᵀ, one block an episode."""
    n = len(batch)
    D = batch.X - gamma * batch.X_next
    starts = [*np.flatnonzero(batch.start), n]
    rows = []
    for a, b in pairwise(starts):
        block = np.zeros((b - a, b - a + 1))
        block[np.arange(b - a), np.arange(b - a)] = 1.0
        block[np.arange(b - a), np.arange(b - a) + 1] = -gamma
        if batch.terminal[b - 1]:
            block = block[:, :-1]
        rows.append(block @ block.T)
    sigma = noise * np.asarray(sp.block_diag(rows).todense())
    precision = D.T @ np.linalg.solve(sigma, D) + np.eye(D.shape[1]) / prior
    return np.linalg.solve(precision, D.T @ np.linalg.solve(sigma, batch.r)), np.linalg.inv(
        precision
    )


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("solver", ["batch", "recursive"])
def test_gptd_is_the_normal_posterior(seed, solver):
    batch = random_batch(seed, off_policy=False)
    model = GPTD(gamma=0.9, noise=0.3, prior_variance=2.0, solver=solver).fit(batch)
    mean, covariance = posterior(batch, 0.9, 0.3, 2.0)
    np.testing.assert_allclose(model.coef_, mean, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(model.covariance_, covariance, rtol=1e-8, atol=1e-10)
    X = np.random.default_rng(0).normal(size=(5, 4))
    values, std = model.predict(X, return_std=True)
    np.testing.assert_allclose(values, X @ mean)
    np.testing.assert_allclose(std**2, np.diag(X @ covariance @ X.T))
    _, other = model.predict(sp.csr_matrix(X), return_std=True)
    np.testing.assert_allclose(other, std)


@pytest.mark.parametrize("solver", ["batch", "recursive"])
def test_gptd_goes_on_where_it_stopped(solver):
    batch = random_batch(3, off_policy=False, lengths=(12, 9, 15))
    whole = GPTD(gamma=0.9, solver=solver).fit(batch)
    parts = GPTD(gamma=0.9, solver=solver)
    for chunk in batch.chunks(5):
        parts.partial_fit(chunk)
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-9)
    np.testing.assert_allclose(parts.covariance_, whole.covariance_, rtol=1e-9, atol=1e-13)


def test_on_complete_episodes_gptd_regresses_returns():
    batch = random_batch(4, off_policy=False, lengths=(5, 8, 6), ends=True)
    returns, total = np.empty(len(batch)), 0.0
    for i in range(len(batch) - 1, -1, -1):
        total = batch.r[i] + (0.0 if batch.terminal[i] else 0.9 * total)
        returns[i] = total
    ridge = Ridge(alpha=0.5 / 2.0, fit_intercept=False).fit(batch.X, returns)
    kwargs = {"gamma": 0.9, "noise": 0.5, "prior_variance": 2.0}
    np.testing.assert_allclose(GPTD(**kwargs).fit(batch).coef_, ridge.coef_, rtol=1e-9)
    nearly = GPTD(**kwargs, lam=1 - 1e-12).fit(batch)
    np.testing.assert_allclose(nearly.coef_, ridge.coef_, rtol=1e-7)


def test_gptd_lambda_is_lstd_with_a_ridge():
    batch = random_batch(5, off_policy=False)
    model = GPTD(gamma=0.9, lam=0.4, noise=0.5, prior_variance=2.0).fit(batch)
    lstd = LSTD(gamma=0.9, lam=0.4, eps=4.0).fit(batch)
    np.testing.assert_allclose(model.coef_, lstd.coef_, rtol=1e-10)
    with pytest.raises(ValueError, match="without a posterior"):
        model.predict(batch.X, return_std=True)
    model.set_params(lam=1.0).fit(batch).predict(batch.X, return_std=True)


def kalman(batch, gamma, noise, prior, drift):
    """A Kalman filter of (θ, η_t, η_{t+1}), with r_t = Δφᵀθ + η_t - γ η_{t+1} seen exactly."""
    p = batch.n_features
    mean, cov = np.zeros(p + 2), np.zeros((p + 2, p + 2))
    cov[:p, :p] = prior * np.eye(p)
    for i in range(len(batch)):
        F = np.eye(p + 2)
        F[p, p], F[p, p + 1], F[p + 1, p + 1] = 0.0, 1.0, 0.0
        if batch.start[i]:
            F[p, p + 1] = 0.0
        Q = np.zeros_like(cov)
        Q[:p, :p] = drift
        Q[p, p] = noise if batch.start[i] else 0.0
        Q[p + 1, p + 1] = 0.0 if batch.terminal[i] else noise
        mean, cov = F @ mean, F @ cov @ F.T + Q
        H = np.append(batch.X[i] - gamma * batch.X_next[i], [1.0, -gamma])
        gain = cov @ H / (H @ cov @ H)
        mean = mean + gain * (batch.r[i] - H @ mean)
        cov = cov - np.outer(gain, H @ cov)
    return mean[:p], cov[:p, :p]


@pytest.mark.parametrize("full", [False, True])
def test_ktd_is_a_kalman_filter(full):
    batch = random_batch(6, off_policy=False)
    root = np.random.default_rng(0).normal(size=(4, 4))
    drift = 0.05 * root @ root.T if full else 0.1
    matrix = drift if full else 0.1 * np.eye(4)
    model = KTD(gamma=0.9, noise=0.3, prior_variance=2.0, process_noise=drift).fit(batch)
    mean, covariance = kalman(batch, 0.9, 0.3, 2.0, matrix)
    np.testing.assert_allclose(model.coef_, mean, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(model.covariance_, covariance, rtol=1e-8, atol=1e-10)


def test_ktd_without_drift_is_gptd():
    batch = random_batch(7, off_policy=False)
    one, other = KTD(gamma=0.9).fit(batch), GPTD(gamma=0.9).fit(batch)
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-9)
    np.testing.assert_allclose(one.covariance_, other.covariance_, rtol=1e-9, atol=1e-13)


def test_ktd_follows_a_change():
    """After the rewards change, the filter that expects a drift finds the new value."""
    n = 400
    X = np.ones((n, 1))
    r = np.r_[np.zeros(n // 2), np.ones(n // 2)]
    drifting = KTD(gamma=0.5, process_noise=0.1).fit(X, r, X)
    fixed = KTD(gamma=0.5).fit(X, r, X)
    assert abs(drifting.coef_[0] - 2) < 0.1 < abs(fixed.coef_[0] - 2)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6))
def test_covariance_is_positive_and_shrinks(seed):
    batch = random_batch(seed, off_policy=False)
    model, before = GPTD(gamma=0.9, solver="recursive"), np.eye(4)
    for chunk in batch.chunks(8):
        after = model.partial_fit(chunk).covariance_.copy()
        assert np.linalg.eigvalsh(after).min() > 0
        assert np.linalg.eigvalsh(before - after).min() > -1e-12
        before = after


def test_what_goes_wrong():
    batch = random_batch(0)
    for cls in (GPTD, KTD):
        with pytest.raises(ValueError, match="takes no importance ratios"):
            cls().fit(batch)
        with pytest.raises(ValueError, match="noise"):
            cls(noise=0.0).fit(random_batch(0, off_policy=False))
    ours = random_batch(0, off_policy=False)
    with pytest.raises(ValueError, match=r"lam=1, got lam=0\.5"):
        GPTD(lam=0.5, solver="recursive").fit(ours)
    with pytest.raises(ValueError, match="symmetric matrix of 4 rows"):
        KTD(process_noise=np.eye(3)).fit(ours)
    with pytest.raises(ValueError, match="positive semidefinite"):
        KTD(process_noise=-np.eye(4)).fit(ours)
    with pytest.raises(ValueError, match="process_noise"):
        KTD(process_noise=-1.0).fit(ours)


def test_terminal_features_are_taken_to_be_zero():
    batch = Transitions([[1.0]], [1.0], [[5.0]], terminal=[True])
    assert batch.X_next[0, 0] == 0.0
    model = GPTD(gamma=0.9).fit(batch)  # one return of one, noise and prior variance one
    np.testing.assert_allclose([model.coef_[0], model.covariance_[0, 0]], 0.5)
