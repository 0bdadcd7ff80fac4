"""Subspaces of processes: the process is fitted as an independent solver does, then it is ISA."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from octavo.data import make_subspace_mixture
from octavo.decomposition import (
    ARIndependentSubspaceAnalysis,
    ARXIndependentSubspaceAnalysis,
    IndependentSubspaceAnalysis,
    MAIndependentSubspaceAnalysis,
    MissingARISA,
    amari_index,
    fit_autoregression,
)
from octavo.decomposition.subspaces.linear_processes import ar_innovations, run_autoregression
from octavo.decomposition.subspaces.missing_processes import Process, smooth

COEF = np.array([[[0.5, 0.2], [-0.3, 0.4]], [[-0.2, 0.0], [0.1, -0.3]]])


def process_of(seed, n, coef=COEF):
    e = np.random.default_rng(seed).normal(size=(n, coef.shape[1]))
    return run_autoregression(e, coef), e


@pytest.fixture(scope="module")
def letters():
    return make_subspace_mixture("letters", n_subspaces=2, n_samples=1000, random_state=2)


@pytest.fixture(scope="module")
def driven(letters):
    """A mixture of two sources with a memory of two steps of their own."""
    rng = np.random.default_rng(0)
    coef = np.zeros((2, 4, 4))
    for group in letters.subspaces:
        turn = np.linalg.qr(rng.normal(size=(2, 2)))[0]
        coef[0][np.ix_(group, group)], coef[1][np.ix_(group, group)] = 0.6 * turn, -0.2 * np.eye(2)
    return run_autoregression(letters.sources, coef) @ letters.mixing.T


def index_of(model, sample):
    return amari_index(model.unmixing_, sample.mixing, model.subspaces_, sample.subspaces)


# Autoregression


def test_autoregression_against_least_squares_feature_by_feature():
    X, _ = process_of(0, 60)
    U = np.random.default_rng(1).normal(size=(60, 3))
    found = fit_autoregression(X, 2, U, 3)
    design = np.array(
        [np.concatenate([X[t - 1], X[t - 2], U[t], U[t - 1], U[t - 2]]) for t in range(2, 60)]
    )
    for i in range(2):
        weights = np.linalg.solve(design.T @ design, design.T @ X[2:, i])
        np.testing.assert_allclose(found.coef[:, i].ravel(), weights[:4], atol=1e-10)
        np.testing.assert_allclose(found.input_coef[:, i].ravel(), weights[4:], atol=1e-10)
        np.testing.assert_allclose(found.innovations[:, i], X[2:, i] - design @ weights, atol=1e-10)


def test_innovations_and_process_undo_each_other():
    X, e = process_of(0, 50)
    np.testing.assert_allclose(ar_innovations(X, COEF), e, atol=1e-12)
    np.testing.assert_allclose(run_autoregression(ar_innovations(e, COEF), COEF), e, atol=1e-12)


def test_known_innovations_reduce_it_to_isa(driven):
    """AR-ISA is ISA of what least squares leaves, to the last digit."""
    model = ARIndependentSubspaceAnalysis(2, subspace_dims=[2, 2], random_state=0).fit(driven)
    left = fit_autoregression(driven - driven.mean(axis=0), 2).innovations
    plain = IndependentSubspaceAnalysis(subspace_dims=[2, 2], random_state=0).fit(left)
    np.testing.assert_allclose(model.unmixing_, plain.unmixing_, rtol=1e-10)
    shifted = model.innovations(driven) - model.innovations(driven).mean(axis=0)
    np.testing.assert_allclose(shifted, plain.transform(left), atol=1e-9)


@pytest.mark.parametrize(
    "model",
    [ARIndependentSubspaceAnalysis(order=0), MAIndependentSubspaceAnalysis(ma_order=0)],
    ids=["AR(0)", "MA(0)"],
)
def test_without_memory_it_is_isa(letters, model):
    model.set_params(random_state=0).fit(letters.X)
    plain = IndependentSubspaceAnalysis(random_state=0).fit(letters.X)
    np.testing.assert_allclose(model.unmixing_, plain.unmixing_, rtol=1e-9)
    np.testing.assert_allclose(model.transform(letters.X), plain.transform(letters.X), atol=1e-9)


def test_sources_with_memory_are_separated(letters, driven):
    """Off-block entries of WA are of order 1/√n once the memory is taken out."""
    model = ARIndependentSubspaceAnalysis(2, random_state=0).fit(driven)
    assert model.subspace_dims_.tolist() == [2, 2]
    assert index_of(model, letters) < 3 / np.sqrt(1000)
    np.testing.assert_allclose(model.inverse_transform(model.transform(driven)), driven, atol=1e-9)


def test_inputs_are_taken_out(letters, driven):
    """A strong input into all features hides the sources from AR, not from ARX."""
    rng = np.random.default_rng(5)
    inputs = rng.standard_t(3, size=(1000, 2))
    effect = rng.normal(size=(4, 2)) * 3
    coef = fit_autoregression(driven, 2).coef
    X = run_autoregression(ar_innovations(driven, coef) + inputs @ effect.T, coef)
    common = {"subspace_dims": [2, 2], "random_state": 0}
    model = ARXIndependentSubspaceAnalysis(2, **common).fit(X, inputs=inputs)
    assert index_of(model, letters) < 3 / np.sqrt(1000)
    # 1000 times, deviation of innovations about 1 and of inputs about 1.7: error 0.02 each.
    np.testing.assert_allclose(model.input_coef_[0], effect, atol=0.1)
    process = fit_autoregression(X - X.mean(axis=0), 2, inputs - inputs.mean(axis=0), 1)
    np.testing.assert_allclose(
        model.innovations(X, inputs), process.innovations @ model.unmixing_.T, atol=1e-9
    )
    with pytest.raises(ValueError, match="inputs must have the shape"):
        model.innovations(X, inputs[:, :1])
    without = ARIndependentSubspaceAnalysis(2, **common).fit(X)
    assert index_of(without, letters) > 3 * index_of(model, letters)
    same = ARXIndependentSubspaceAnalysis(2, **common).fit(X)
    np.testing.assert_array_equal(same.unmixing_, without.unmixing_)


# Moving averages


def test_echoes_are_taken_out():
    rng = np.random.default_rng(0)
    sample = make_subspace_mixture("letters", n_subspaces=2, n_samples=2000, random_state=0)
    H = rng.normal(size=(2, 8, 4))
    X = sample.sources[1:] @ H[0].T + sample.sources[:-1] @ H[1].T
    model = MAIndependentSubspaceAnalysis(1, subspace_dims=[2, 2], random_state=0).fit(X)
    assert amari_index(model.unmixing_, H[0], model.subspaces_) < 3 / np.sqrt(2000)
    # The polynomial has a left inverse: the autoregression leaves H₀s, and nothing else.
    S = model.transform(X)[10:]
    known = sample.sources[11:]
    fitted = known @ np.linalg.lstsq(known, S, rcond=None)[0]
    assert np.mean((S - fitted) ** 2) < 0.02  # 32 coefficients of 2000 times
    plain = IndependentSubspaceAnalysis(subspace_dims=[2, 2], random_state=0).fit(X)
    assert amari_index(plain.unmixing_, H[0], plain.subspaces_) > 0.1


def test_moving_average_comes_back_from_its_sources():
    X = np.random.default_rng(0).uniform(size=(200, 3))
    model = MAIndependentSubspaceAnalysis(1, random_state=0).fit(X)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-9)


# Missing values


def dense_process(process, n):
    """Return the joint covariance of all n values, from x = L e with the first ones free."""
    order, p, _ = process.coef.shape
    L = np.zeros((n * p, n * p))
    root = np.linalg.cholesky(process.noise)
    for t in range(n):
        rows = slice(t * p, (t + 1) * p)
        if t < order:
            L[rows, rows] = np.diag(np.sqrt(process.spread))
            continue
        L[rows, rows] = root
        for i, F in enumerate(process.coef, start=1):
            L[rows] += F @ L[(t - i) * p : (t - i + 1) * p]
    return L @ L.T


def test_smoother_against_conditioning_of_the_joint_normal():
    X, _ = process_of(0, 12)
    X[np.random.default_rng(1).uniform(size=X.shape) < 0.3] = np.nan
    X[0, 1] = X[5] = np.nan
    noise = np.array([[1.0, 0.3], [0.3, 0.5]])
    process = Process(COEF, noise, np.array([1.5, 0.7]))
    likelihood, smoothed = smooth(X, process)
    cov, x = dense_process(process, 12), X.ravel()
    seen = ~np.isnan(x)
    inner = cov[np.ix_(seen, seen)]
    gain = np.linalg.solve(inner, cov[seen]).T
    # The ridge of 1e-10 moves the answer by about as much.
    np.testing.assert_allclose(smoothed.means.ravel(), gain @ x[seen], atol=1e-7)
    expected = multivariate_normal(np.zeros(seen.sum()), inner).logpdf(x[seen])
    assert likelihood == pytest.approx(expected, abs=1e-6)
    left = cov - gain @ cov[seen]
    moments = np.zeros((6, 6))
    for t in range(2, 12):
        places = np.concatenate([np.arange(2) + 2 * (t - i) for i in range(3)])
        mean = (gain @ x[seen])[places]
        moments += left[np.ix_(places, places)] + np.outer(mean, mean)
    np.testing.assert_allclose(smoothed.moments, moments, atol=1e-6)


def test_nothing_missing_is_least_squares(driven):
    model = MissingARISA(2, subspace_dims=[2, 2], random_state=0).fit(driven)
    plain = ARIndependentSubspaceAnalysis(2, subspace_dims=[2, 2], random_state=0).fit(driven)
    np.testing.assert_allclose(model.coef_, plain.coef_, atol=1e-7)
    np.testing.assert_allclose(model.unmixing_, plain.unmixing_, atol=1e-5)
    np.testing.assert_allclose(model.transform(driven), plain.transform(driven), atol=1e-5)


def test_missing_values_cost_little(letters, driven):
    X = driven[:400].copy()
    gone = np.random.default_rng(0).uniform(size=X.shape) < 0.1
    X[gone] = np.nan
    model = MissingARISA(2, subspace_dims=[2, 2], random_state=0).fit(X)
    assert (np.diff(model.log_likelihood_) >= -1e-9 * abs(model.log_likelihood_[-1])).all()
    assert index_of(model, letters) < 3 / np.sqrt(model.n_complete_)
    filled = model.impute(X)
    np.testing.assert_array_equal(filled[~gone], X[~gone])
    truth, mean = driven[:400][gone], np.broadcast_to(np.nanmean(X, axis=0), X.shape)[gone]
    assert np.mean((filled[gone] - truth) ** 2) < np.mean((mean - truth) ** 2)
    assert np.isfinite(model.transform(X[:2])).all()


# Bad input


def test_too_short_and_mismatched():
    X = np.random.default_rng(0).normal(size=(6, 3))
    with pytest.raises(ValueError, match="too few"):
        ARIndependentSubspaceAnalysis(order=3).fit(X)
    with pytest.raises(ValueError, match="each of the 6 times"):
        ARXIndependentSubspaceAnalysis().fit(X, inputs=np.ones((5, 1)))
    with pytest.raises(ValueError, match="inputs contains NaN"):
        ARXIndependentSubspaceAnalysis().fit(X, inputs=np.full((6, 1), np.nan))
    with pytest.raises(ValueError, match="'order'"):
        ARIndependentSubspaceAnalysis(order=-1).fit(X)
    X[:, 1] = np.nan
    with pytest.raises(ValueError, match=r"\[1\] of X were never seen"):
        MissingARISA().fit(X)
