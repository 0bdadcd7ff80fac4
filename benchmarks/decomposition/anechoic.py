"""Anechoic mixtures beside what a user has today: truncated SVD, NMF, and shifts tried in turn."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.decomposition import NMF, TruncatedSVD

from benchmarks.harness import Contest
from octavo.data import make_anechoic_mixture
from octavo.decomposition import AnechoicMixture, ConvolutiveNMF, estimate_delays

WEIGHTS = [[1, 2], [3, 1], [10, 5], [1, 2], [1, 1]]
DELAYS = [[0, 4000], [2500, 5000], [100, 200], [1, 1], [500, 333]]


def sounds():
    return make_anechoic_mixture(
        "sound", n_channels=5, n_times=8000, weights=WEIGHTS, delays=DELAYS, random_state=0
    ).X


def quality(X, model):
    return 1 - np.linalg.norm(X - model) / np.linalg.norm(X)


def demixed(X):
    return AnechoicMixture(2, n_init=1, random_state=0).fit(X).reconstruct()


def components(X):
    svd = TruncatedSVD(2, algorithm="arpack", random_state=0)
    return svd.inverse_transform(svd.fit_transform(X))


def told(X, answers):
    listed = ", ".join(f"{name} {quality(X, model):.3f}" for name, model in answers.items())
    return f"Quality {listed}."


def trials():
    sample = make_anechoic_mixture("sound", n_channels=1, n_times=1000, random_state=0)
    rng = np.random.default_rng(0)
    X = np.roll(sample.sources[0], 20) + np.roll(sample.sources[1], 77)
    return sample.sources, X + 0.01 * X.std() * rng.normal(size=(20, 1000))


def joint(problem):
    sources, X = problem
    return estimate_delays(X, sources, subsample=False).delays


def all_pairs(problem):
    """Try every pair of delays: correlations once, and 2 x 2 systems for a million pairs."""
    sources, X = problem
    spectra = np.fft.fft(sources)
    n = X.shape[1]
    cross = np.fft.ifft(spectra[0] * spectra[1].conj()).real
    lag = (np.arange(n)[None, :] - np.arange(n)[:, None]) % n
    g = cross[lag]
    e0, e1 = (sources**2).sum(axis=1)
    found = []
    for x in X:
        c0, c1 = np.fft.ifft(np.fft.fft(x) * spectra.conj()).real
        top = e1 * c0[:, None] ** 2 - 2 * g * c0[:, None] * c1 + e0 * c1**2
        place = np.argmax(top / np.maximum(e0 * e1 - g**2, 1e-12))
        found.append(np.unravel_index(place, top.shape))
    return np.array(found, dtype=float)


def same_delays(problem, answers):
    rows = [np.mod(delays, 1000) for delays in answers.values()]
    assert all(np.array_equal(rows[0], other) for other in rows[1:])
    return "The same delays in all mixtures."


def positive():
    return np.abs(sounds())[:, :4000]


def convolutive(X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = ConvolutiveNMF(2, 1, 100, 0, tol=0).fit(X)
    return model.reconstruct()


def multiplicative(X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = NMF(2, init="random", solver="mu", max_iter=100, tol=0, random_state=0)
        return model.inverse_transform(model.fit_transform(X))


CONTESTS = [
    Contest(
        name="sounds",
        problem="data II: 5 channels of 8,000 samples, two sources, one start",
        setup=sounds,
        solvers={"octavo": demixed, "scikit-learn TruncatedSVD": components},
        agree=told,
        repeats=3,
        limit="FFTs of the channels, an iteration",
    ),
    Contest(
        name="delays",
        problem="whole delays of two sources in 20 mixtures of 1,000 samples",
        setup=trials,
        solvers={"octavo": joint, "numpy, all pairs of delays": all_pairs},
        agree=same_delays,
        repeats=3,
        limit="FFTs of 20 mixtures, an iteration",
    ),
    Contest(
        name="filters-of-one-entry",
        problem="5 x 4,000, two parts, 100 multiplicative iterations",
        setup=positive,
        solvers={"octavo ConvolutiveNMF": convolutive, "scikit-learn NMF": multiplicative},
        agree=told,
        repeats=3,
        limit="BLAS: four products of 5 x 4,000 with two parts, an iteration",
    ),
]
