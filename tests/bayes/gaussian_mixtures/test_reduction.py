"""Reduction of Gaussian mixtures against moment matching, brute force and scikit-learn."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.mixture import GaussianMixture

from octavo.bayes import GMMReduction

FORMS = ["full", "diag", "spherical"]


def random_mixture(rng, n=6, d=2, form="full", spread=3.0):
    weights, means = rng.dirichlet(np.ones(n)), spread * rng.normal(size=(n, d))
    if form == "full":
        root = rng.normal(size=(n, d, d))
        return weights, means, root @ root.swapaxes(1, 2) + 0.2 * np.eye(d)
    return weights, means, rng.gamma(2.0, 0.5, (n, d) if form == "diag" else n) + 0.1


def matrices(covars, d):
    if covars.ndim == 3:
        return covars
    return np.eye(d) * (covars[:, None, None] if covars.ndim == 1 else covars[:, None])


def moments(weights, means, covars):
    mean = weights @ means
    gap = means - mean
    spread = matrices(covars, means.shape[1]) + np.einsum("nd,ne->nde", gap, gap)
    return mean, np.einsum("n,nde->de", weights, spread)


@pytest.mark.parametrize("form", FORMS)
def test_one_component_matches_the_moments(form):
    mixture = random_mixture(np.random.default_rng(0), form=form)
    reduced = GMMReduction(1, random_state=0).fit(mixture)
    mean, cov = moments(*mixture)
    np.testing.assert_allclose(reduced.means_[0], mean, atol=1e-12)
    expected = {"full": cov, "diag": np.diag(cov), "spherical": np.trace(cov) / 2}[form]
    np.testing.assert_allclose(reduced.covariances_[0], expected, atol=1e-12)
    assert reduced.covariance_type_ == form


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 5))
def test_mean_and_covariance_of_the_whole_are_kept(seed, k):
    mixture = random_mixture(np.random.default_rng(seed))
    reduced = GMMReduction(k, n_init=1, random_state=seed).fit(mixture)
    found = moments(reduced.weights_, reduced.means_, reduced.covariances_)
    for one, other in zip(found, moments(*mixture)):
        np.testing.assert_allclose(one, other, atol=1e-9)
    np.testing.assert_allclose(reduced.weights_.sum(), 1.0)
    trace = reduced.lower_bounds_
    assert np.all(np.diff(trace) >= -1e-9 * abs(trace[-1]))


def test_hard_reduction_is_the_best_partition():
    """With N → ∞ the bound is N Σ_i ω_i max_j E_i log N_j: compare all partitions in two groups."""
    rng = np.random.default_rng(1)
    weights, means, covars = random_mixture(rng, n=6)
    reduced = GMMReduction(2, n_virtual=1e9, n_init=30, random_state=0).fit(
        (weights, means, covars)
    )

    def value(labels):
        """Σ_i ω_i E_i log N of its group's Gaussian: minus the entropy, by moment matching."""
        total = 0.0
        for c in (0, 1):
            mine = labels == c
            _, cov = moments(weights[mine] / weights[mine].sum(), means[mine], covars[mine])
            total -= 0.5 * weights[mine].sum() * np.linalg.slogdet(2 * np.pi * np.e * cov)[1]
        return total

    partitions = [np.array((0, *rest)) for rest in itertools.product((0, 1), repeat=5) if any(rest)]
    best = max(value(labels) for labels in partitions)
    np.testing.assert_allclose(value(reduced.labels_), best, rtol=1e-9)
    np.testing.assert_allclose(reduced.lower_bound_ / 1e9, best, rtol=1e-6)


def test_components_far_apart_are_left_as_they_are():
    rng = np.random.default_rng(2)
    weights, means, covars = random_mixture(rng, n=4, spread=30)
    reduced = GMMReduction(4, random_state=0).fit((weights, means, covars))
    order = [np.flatnonzero(reduced.labels_ == j)[0] for j in range(4)]
    np.testing.assert_allclose(reduced.means_, means[order], atol=1e-9)
    np.testing.assert_allclose(reduced.covariances_, covars[order], atol=1e-9)
    np.testing.assert_allclose(reduced.weights_, weights[order], atol=1e-12)


def test_counts_weight_components_alike():
    mixture = ([0.2, 0.3, 0.5], [[0.0], [1.0], [9.0]], [[1.0], [1.0], [1.0]])
    counted = GMMReduction(2, weighting="count", random_state=0).fit(mixture)
    np.testing.assert_allclose(np.sort(counted.weights_), [1 / 3, 2 / 3], atol=1e-9)


@pytest.mark.parametrize("form", [*FORMS, "tied"])
def test_scikit_learns_mixtures_go_in_and_come_out(form):
    X = np.random.default_rng(3).normal(size=(200, 2)) + np.repeat([[0, 0], [6, 0]], 100, axis=0)
    mixture = GaussianMixture(6, covariance_type=form, random_state=0).fit(X)
    reduced = GMMReduction(2, random_state=0).fit(mixture)
    back = reduced.to_gaussian_mixture()
    assert back.covariance_type == ("full" if form == "tied" else form)
    direct = GaussianMixture(2, covariance_type=back.covariance_type, random_state=0).fit(X)
    assert back.score(X) > direct.score(X) - 0.1  # the data's own fit, within a tenth of a nat
    assert back.sample(5)[0].shape == (5, 2)


def test_bad_input():
    good = ([0.5, 0.5], [[0.0], [1.0]], [[1.0], [1.0]])
    cases = [
        (([0.5, 0.5], [[0.0], [np.nan]], good[2]), "Component 1: means has a value that is NaN"),
        ((good[0], good[1], [[1.0], [-1.0]]), r"Component 1: .*negative variance, -1"),
        (([0.5, -0.5], good[1], good[2]), "not negative, got -0.5 for component 1"),
        (([0.0, 0.0], good[1], good[2]), "not add up to zero"),
        ((good[0], [[0.0]], good[2]), r"means must have shape \(2, d\)"),
        ((good[0], good[1], [[1.0]]), "covariances must have shape"),
        (([], good[1], good[2]), "weights must be a vector"),
    ]
    for mixture, words in cases:
        with pytest.raises(ValueError, match=words):
            GMMReduction(1).fit(mixture)
    with pytest.raises(ValueError, match="n_components=3 is more than the 2 of the mixture"):
        GMMReduction(3).fit(good)
    with pytest.raises(TypeError, match="Expected a fitted GaussianMixture"):
        GMMReduction(1).fit(np.zeros((3, 2)))
    with pytest.raises(NotFittedError):
        GMMReduction(1).to_gaussian_mixture()
