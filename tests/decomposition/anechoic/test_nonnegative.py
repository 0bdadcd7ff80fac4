"""Nonnegative factorizations against dense matrices, scikit-learn's updates and planted factors."""

import numpy as np
import pytest
from sklearn.decomposition import non_negative_factorization

from octavo.decomposition import AnechoicNMF, ConvolutiveNMF
from octavo.decomposition.anechoic import convolutive
from octavo.decomposition.anechoic.nonnegative_factors import (
    alpha_divergence,
    euclidean_factors,
    sparse_filters,
)


def circulant(signal):
    """The matrix that convolves with a signal on the circle, Eq. (24)."""
    return np.array([np.roll(signal, k) for k in range(len(signal))]).T


def data(seed=0, m=4, n=2, length=8, taps=8):
    rng = np.random.default_rng(seed)
    return (
        rng.exponential(size=(m, length)),
        rng.exponential(size=(m, n, taps)),
        rng.exponential(size=(n, length)),
    )


def test_updates_equal_block_circulant_matrices():
    X, filters, sources = data()
    m, n, length = 4, 2, 8
    A = np.block([[circulant(filters[i, j]) for j in range(n)] for i in range(m)])
    S = sources.ravel()
    np.testing.assert_allclose(A @ S, convolutive.convolved(filters, sources).ravel(), rtol=1e-12)
    expected = S * (A.T @ X.ravel()) / (A.T @ A @ S)  # Eq. (27)
    found = convolutive.update_sources(X, filters, sources, 0.0)
    np.testing.assert_allclose(found.ravel(), expected, rtol=1e-10)
    model = (A @ S).reshape(m, length)
    for i in range(m):
        for j in range(n):
            C = circulant(sources[j])
            expected = filters[i, j] * (C.T @ X[i]) / (C.T @ model[i])  # Eq. (26)
            found = convolutive.update_filters(X, filters, sources, 0.0)[i, j]
            np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_filters_of_one_entry_are_scikit_learns_updates():
    X, filters, sources = data(1, m=6, n=3, length=20, taps=1)
    W, H, _ = non_negative_factorization(
        X, filters[..., 0].copy(), sources.copy(), n_components=3, init="custom", solver="mu",
        max_iter=25, tol=0,
    )  # fmt: skip
    for _ in range(25):
        filters = convolutive.update_filters(X, filters, sources, 0.0)
        sources = convolutive.update_sources(X, filters, sources, 0.0)
    np.testing.assert_allclose(filters[..., 0], W, rtol=1e-8)
    np.testing.assert_allclose(sources, H, rtol=1e-8)


@pytest.mark.parametrize("alpha", [0.0, 0.1])
@pytest.mark.parametrize("seed", range(3))
def test_convolutive_objective_never_rises(alpha, seed):
    X = data(seed, m=5, length=30)[0]
    model = ConvolutiveNMF(2, 6, max_iter=100, random_state=seed, alpha=alpha, tol=0.0).fit(X)
    assert np.all(np.diff(model.objectives_) <= 1e-12 * model.objectives_[0])
    fit = 0.5 * np.sum((X - model.reconstruct()) ** 2)
    if alpha == 0:
        np.testing.assert_allclose(model.objective_, fit, rtol=1e-10)
    else:
        assert fit < model.objective_


def test_a_penalty_makes_filters_sparse():
    rng = np.random.default_rng(3)
    sources = rng.exponential(size=(1, 60)) ** 3
    X = np.array([np.roll(sources[0], k) for k in (0, 2, 5, 7)])
    entries = []
    for alpha in (0.0, 0.05):
        f = ConvolutiveNMF(1, 10, 500, 0, alpha=alpha, tol=0).fit(X).filters_
        entries.append(np.mean(f.sum(axis=2) ** 2 / (f**2).sum(axis=2)))
    assert entries[1] < entries[0]
    assert entries[1] < 1.5


def planted(seed, m=6, n=2, length=64):
    rng = np.random.default_rng(seed)
    t = np.arange(length)
    sources = np.exp(
        -0.5 * ((t - rng.uniform(10, 50, (n, 3, 1))) / rng.uniform(1, 3, (n, 3, 1))) ** 2
    )
    sources = sources.sum(axis=1)
    weights, delays = rng.uniform(0.3, 2, (m, n)), rng.integers(0, length, (m, n))
    X = sum(
        weights[:, j, None] * np.array([np.roll(sources[j], d) for d in delays[:, j]])
        for j in range(n)
    )
    return X, sources, weights, delays


@pytest.mark.parametrize("seed", range(20, 24))
def test_planted_nonnegative_mixtures_come_back(seed):
    X, sources, weights, delays = planted(seed)
    model = AnechoicNMF(2, n_init=20, random_state=0).fit(X)
    assert model.quality_ > 0.97
    assert np.all(np.diff(model.objectives_) <= 1e-12 * model.objectives_[0])
    np.testing.assert_allclose(np.linalg.norm(model.sources_, axis=1), 1.0)
    relative = np.sort((delays[1:] - delays[0]) % 64, axis=1)
    found = np.sort((model.delays_[1:] - model.delays_[0]) % 64, axis=1)
    assert np.mean(relative == found) > 0.8


def test_without_shifts_it_is_an_instantaneous_factorization():
    rng = np.random.default_rng(2)
    W, H = rng.exponential(size=(8, 3)), rng.exponential(size=(3, 40)) * (rng.random((3, 40)) < 0.4)
    factors, errors, _ = euclidean_factors(
        (W @ H)[:, None], 3, np.random.RandomState(0), move=False, max_iter=2000, tol=0.0
    )
    assert factors.error < 1e-4 * np.sum((W @ H) ** 2)
    assert not factors.delays.any()
    assert np.all(np.diff(errors) <= 1e-12 * errors[0])


@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0, 3.0])
def test_divergence_never_rises_without_overrelaxation(beta):
    Y = data(4, m=5, length=24)[0][:, None]
    found = sparse_filters(
        Y, 2, np.random.RandomState(0), filter_length=24, mu=1.0, beta=beta, alpha_filters=0.0,
        alpha_sources=0.0, max_iter=60,
    )  # fmt: skip
    trace = np.array(found.objectives)
    assert np.all(np.diff(trace) <= 1e-9 * trace[0])
    assert trace[-1] < 0.5 * trace[0]


def test_divergences_against_their_definitions():
    rng = np.random.default_rng(0)
    y, z = rng.exponential(size=(2, 30))
    kl = np.sum(y * np.log(y / z) - y + z)
    np.testing.assert_allclose(alpha_divergence(y, z, 1.0), kl)
    np.testing.assert_allclose(alpha_divergence(y, z, 1.0 + 1e-6), kl, rtol=1e-4)
    np.testing.assert_allclose(alpha_divergence(y, z, 2.0), 0.5 * np.sum((y - z) ** 2 / z))


def test_sparse_filters_find_delays():
    X, _, _, delays = planted(31, n=1)
    model = AnechoicNMF(1, method="filters", n_init=5, max_iter=400, random_state=0).fit(X)
    found = (model.delays_ - model.delays_[0]) % 64
    wanted = (delays - delays[0]) % 64
    off = np.abs((found - wanted + 32) % 64 - 32)
    assert np.median(off) <= 1
    assert model.filters_.shape == (6, 1, 64)


def test_weights_of_filters_fit_their_delays():
    t = np.arange(40)
    peak, block = np.exp(-0.5 * ((t - 8) / 2) ** 2), 1.0 * (abs(t - 25) < 4)
    X = np.array([peak + block, 2 * np.roll(peak, 5), np.roll(peak, 9) + np.roll(block, 2)])
    model = AnechoicNMF(2, method="filters", n_init=2, random_state=0).fit(X)
    for x, w, tau in zip(X, model.weights_, model.delays_.astype(int)):
        moved = np.array([np.roll(s, k) for s, k in zip(model.sources_, tau)])
        slope = moved @ (x - w @ moved)  # least squares with w >= 0: no w helps further
        assert slope.max() <= 1e-9 * np.linalg.norm(x)
        assert abs(slope @ w) <= 1e-9 * (x @ x)
    assert model.quality_ >= 0.0


def test_orthogonal_sources():
    rng = np.random.default_rng(5)
    supports = np.repeat(np.eye(3), 8, axis=1)
    H = supports * rng.uniform(0.5, 1.5, supports.shape)
    X = rng.uniform(0.2, 1.0, (9, 3)) @ H
    overlap = {}
    for orthogonal, max_iter in ((False, 500), (True, 500), (True, 4000)):
        factors, _, _ = euclidean_factors(
            X[:, None], 3, np.random.RandomState(0), move=False, orthogonal=orthogonal,
            max_iter=max_iter, tol=0,
        )  # fmt: skip
        S = factors.sources[:, 0]
        overlap[orthogonal, max_iter] = np.abs(S @ S.T - np.eye(3)).max()
    # Entries that must vanish do so like one over the number of multiplicative steps.
    assert overlap[True, 4000] < 0.5 * overlap[True, 500]
    assert overlap[True, 4000] < 0.1 * overlap[False, 500]
    model = AnechoicNMF(2, orthogonal=True, random_state=0).fit(planted(40)[0])
    assert abs(model.sources_[0] @ model.sources_[1]) < 0.5


def test_bad_input():
    X = data()[0]
    with pytest.raises(ValueError, match="Negative values"):
        AnechoicNMF(1).fit(X - 5)
    with pytest.raises(ValueError, match="at most the number of times, 8, got 9"):
        ConvolutiveNMF(1, 9).fit(X)
    with pytest.warns(UserWarning, match="fewer channels"):
        AnechoicNMF(5, n_init=1, max_iter=5).fit(X)
    silent = np.vstack([X, np.zeros(8)])
    model = AnechoicNMF(1, random_state=0).fit(silent)
    assert model.weights_[-1] == 0
    assert np.all(np.isfinite(ConvolutiveNMF(1, 2, random_state=0).fit(silent).filters_))
    assert AnechoicNMF(1, n_init=1).fit(np.zeros((2, 5))).quality_ == 1.0


@pytest.mark.parametrize("scale", [1e-5, 1e5])
def test_scale_of_the_data_changes_nothing_else(scale):
    X = planted(50)[0]
    for make in (
        lambda: AnechoicNMF(2, n_init=3, random_state=0),
        lambda: AnechoicNMF(2, method="filters", n_init=1, max_iter=30, random_state=0),
        lambda: ConvolutiveNMF(2, 4, random_state=0),
    ):
        one, two = make().fit(X).reconstruct(), make().fit(scale * X).reconstruct()
        np.testing.assert_allclose(two, scale * one, rtol=1e-6, atol=1e-9 * scale)
