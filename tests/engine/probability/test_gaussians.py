"""Gaussian algebra against scipy densities, quadrature and direct sums."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate
from scipy.stats import multivariate_normal, norm

from octavo.engine.probability import gaussians as ga


def spd(rng, n, d):
    root = rng.normal(size=(n, d, d))
    return root @ root.swapaxes(1, 2) + 0.2 * np.eye(d)


@pytest.mark.parametrize("full", [False, True])
def test_points_have_scipys_log_density(full):
    rng = np.random.default_rng(0)
    points, centers = rng.normal(size=(5, 3)), rng.normal(size=(4, 3))
    spreads = spd(rng, 4, 3) if full else rng.gamma(2.0, size=(4, 3))
    found = ga.expected_log_density(points, None, centers, spreads)
    for j in range(4):
        matrix = spreads[j] if full else np.diag(spreads[j])
        expected = multivariate_normal(centers[j], matrix).logpdf(points)
        np.testing.assert_allclose(found[:, j], expected, rtol=1e-12)


@pytest.mark.parametrize("noise", [0.0, 0.7])
def test_expected_log_density_is_the_integral(noise):
    """E log N(y; 1, 2) for y ~ N(-0.5, 1.3 + noise), by quadrature."""
    sd = np.sqrt(1.3 + noise)
    target = norm(1.0, np.sqrt(2.0))
    exact, _ = integrate.quad(lambda y: norm.pdf(y, -0.5, sd) * target.logpdf(y), -20, 20)
    args = (np.array([[-0.5]]), np.array([[1.3]]), np.array([[1.0]]), np.array([[2.0]]))
    np.testing.assert_allclose(ga.expected_log_density(*args, noise=noise), exact, rtol=1e-9)
    args = tuple(a[..., None] if i in (1, 3) else a for i, a in enumerate(args))
    np.testing.assert_allclose(ga.expected_log_density(*args, noise=noise), exact, rtol=1e-9)


def test_all_forms_of_covariances_agree():
    rng = np.random.default_rng(1)
    means, covars = rng.normal(size=(6, 2)), rng.gamma(1.0, size=(6, 2))
    centers, spreads = rng.normal(size=(3, 2)), rng.gamma(2.0, size=(3, 2))
    full = np.eye(2) * covars[:, None], np.eye(2) * spreads[:, None]
    expected = ga.expected_log_density(means, covars, centers, spreads, noise=0.1)
    for a, b in [(covars, full[1]), (full[0], spreads), full]:
        found = ga.expected_log_density(means, a, centers, b, noise=0.1)
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.booleans(), st.sampled_from(["points", "diag", "full"]))
def test_moments_are_direct_sums_whatever_the_shift(seed, full, form):
    rng = np.random.default_rng(seed)
    n, k, d = 7, 3, 2
    weights, means = rng.gamma(1.0, size=(n, k)), rng.normal(size=(n, d))
    weights[rng.uniform(size=(n, k)) < 0.3] = 0.0
    weights[0] += 0.1
    matrices = spd(rng, n, d)
    if form == "diag":
        matrices = matrices * np.eye(d)
    covars = {"points": None, "full": matrices, "diag": np.einsum("ndd->nd", matrices).copy()}[form]
    shift = rng.normal(size=(k, d))
    moments = ga.weighted_moments(
        weights[:4], means[:4], None if covars is None else covars[:4], shift, full=full
    )
    moments = moments.plus(
        ga.weighted_moments(
            weights[4:], means[4:], None if covars is None else covars[4:], shift, full=full
        )
    )
    centers, spreads = ga.moments_to_gaussians(moments, shift)
    for j in range(k):
        w = weights[:, j] / weights[:, j].sum()
        mean = w @ means
        gap = means - mean
        cov = np.einsum("n,nd,ne->de", w, gap, gap)
        if form != "points":
            cov += np.einsum("n,nde->de", w, matrices)
        np.testing.assert_allclose(centers[j], mean, atol=1e-12)
        np.testing.assert_allclose(spreads[j], cov if full else np.diag(cov), atol=1e-11)


@pytest.mark.parametrize("power", [0.3, 0.5, 1.0])
@pytest.mark.parametrize("full", [False, True])
def test_product_kernel_is_the_integral(power, full):
    rng = np.random.default_rng(2)
    means, centers = rng.normal(size=(2, 1)), rng.normal(size=(3, 1))
    covars, spreads = rng.gamma(2.0, size=(2, 1)), rng.gamma(2.0, size=(3, 1))
    tail = (slice(None), slice(None), None) if full else (slice(None), slice(None))
    found = ga.log_product_kernel(means, covars[tail], centers, spreads[tail], power)
    for i in range(2):
        for j in range(3):
            one, other = (
                norm(means[i, 0], covars[i, 0] ** 0.5),
                norm(centers[j, 0], spreads[j, 0] ** 0.5),
            )
            exact, _ = integrate.quad(
                lambda y, a=one, b=other: (a.pdf(y) * b.pdf(y)) ** power, -40, 40
            )
            np.testing.assert_allclose(found[i, j], np.log(exact), atol=1e-8)


def test_product_kernel_of_full_matrices_matches_the_paper_s_form():
    """The form with Σ† = (Σ⁻¹ + Σ'⁻¹)⁻¹, in three dimensions."""
    rng = np.random.default_rng(3)
    means, centers = rng.normal(size=(2, 3)), rng.normal(size=(2, 3))
    covars, spreads = spd(rng, 2, 3), spd(rng, 2, 3)
    lam, d = 0.4, 3
    found = ga.log_product_kernel(means, covars, centers, spreads, lam)
    for i in range(2):
        for j in range(2):
            P, Q = np.linalg.inv(covars[i]), np.linalg.inv(spreads[j])
            both = np.linalg.inv(P + Q)
            m = P @ means[i] + Q @ centers[j]
            far = means[i] @ P @ means[i] + centers[j] @ Q @ centers[j] - m @ both @ m
            exact = (
                (1 - 2 * lam) * d / 2 * np.log(2 * np.pi)
                - d / 2 * np.log(lam)
                + 0.5 * np.linalg.slogdet(both)[1]
                - lam / 2 * np.linalg.slogdet(covars[i])[1]
                - lam / 2 * np.linalg.slogdet(spreads[j])[1]
                - lam / 2 * far
            )
            np.testing.assert_allclose(found[i, j], exact, rtol=1e-11)


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("d", [1, 3])
def test_owned_forms_are_the_plain_ones_group_by_group(full, d):
    rng = np.random.default_rng(4)
    n, G, C = 20, 3, 2
    points, owner = rng.normal(size=(n, d)), rng.integers(0, G, n)
    centers = rng.normal(size=(G, C, d))
    spreads = spd(rng, G * C, d).reshape(G, C, d, d) if full else rng.gamma(2.0, size=(G, C, d))
    weights = rng.gamma(1.0, size=(n, C))
    scores = ga.owned_log_density(points, owner, centers, spreads, noise=0.2)
    moments = ga.owned_moments(weights, points, owner, centers, full=full)
    for g in range(G):
        mine = owner == g
        plain = ga.expected_log_density(points[mine], None, centers[g], spreads[g], noise=0.2)
        np.testing.assert_allclose(scores[mine], plain, rtol=1e-11)
        part = ga.weighted_moments(weights[mine], points[mine], None, centers[g], full=full)
        for found, exact in zip(moments, part):
            np.testing.assert_allclose(found[g * C : (g + 1) * C], exact, atol=1e-12)


def test_moments_of_a_component_without_weight_are_zero():
    """Found by chance: no sample of a block weighs on a component, with full covariances."""
    weights = np.array([[1.0, 0.0], [2.0, 0.0]])
    covars = np.stack([np.eye(2)] * 2)
    moments = ga.weighted_moments(weights, np.eye(2), covars, np.zeros((2, 2)), full=True)
    for part in moments:
        if isinstance(part, np.ndarray) and part.shape[:1] == (2,):
            assert not np.any(part[1])
            assert np.any(part[0])


# --- covariances that are none ------------------------------------------------------------------


def test_covariances_are_made_symmetric_or_named():
    rng = np.random.default_rng(20)
    good = spd(rng, 6, 2).reshape(2, 3, 2, 2)
    nearly = good + 1e-12 * np.array([[0.0, 1.0], [0.0, 0.0]])
    found = ga.checked_covariances(nearly, full=True)
    np.testing.assert_array_equal(found, found.swapaxes(-1, -2))
    np.testing.assert_allclose(found, good, atol=1e-12)
    skew, negative = good.copy(), good.copy()
    skew[1, 2, 0, 1] += 0.1
    negative[0, 1] = [[1.0, 2.0], [2.0, 1.0]]
    name = "The covariance of {}, {}".format
    with pytest.raises(ValueError, match=r"The covariance of 1, 2 is not symmetric\."):
        ga.checked_covariances(skew, full=True, name=name)
    with pytest.raises(ValueError, match=r"of 0, 1 has a negative eigenvalue, -1\."):
        ga.checked_covariances(negative, full=True, name=name)
    with pytest.raises(ValueError, match=r"covariance 1 has a negative variance, -2\."):
        ga.checked_covariances(np.array([[1.0, 1.0], [1.0, -2.0]]), full=False)


def test_singular_covariances_have_no_density():
    flat = np.array([np.eye(2), [[1.0, 1.0], [1.0, 1.0]]])
    np.testing.assert_array_equal(ga.is_singular(flat, full=True), [False, True])
    np.testing.assert_array_equal(
        ga.is_singular(np.array([[0.0, 1], [1, 2]]), full=False), [True, False]
    )
    with pytest.raises(ga.SingularCovarianceError, match=r"covariance 1 is singular"):
        ga.require_density(flat, full=True)
    ga.require_density(flat[:1], full=True)
