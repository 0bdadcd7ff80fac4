"""Distribution functions of quadratic forms against closed forms and simulation."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from octavo.engine.probability.quadratic_forms import quadratic_form_cdf


def one(a, b, c, t, tol=1e-9):
    row = (np.atleast_2d(np.asarray(part, float)) for part in (a, b, c))
    return quadratic_form_cdf(np.array([float(t)]), *row, tol)[0][0]


def parabola_cdf(a, b, c, t):
    """P(a Z² + b Z + c ≤ t) by the roots of the parabola."""
    disc = b * b - 4 * a * (c - t)
    if disc < 0:
        return 0.0 if a > 0 else 1.0
    low, high = np.sort((-b + np.array([-1, 1]) * np.sqrt(disc)) / (2 * a))
    # the difference of upper or lower tails, whichever keeps its digits
    inside = max(
        stats.norm.cdf(high) - stats.norm.cdf(low), stats.norm.sf(low) - stats.norm.sf(high)
    )
    return inside if a > 0 else 1 - inside


@pytest.mark.parametrize("df", [1, 2, 3, 10, 60])
def test_chi_square(df):
    t = stats.chi2.ppf([1e-6, 0.01, 0.3, 0.9, 0.999999], df)
    for x in t:
        assert_allclose(
            one(np.ones(df), np.zeros(df), np.zeros(df), x), stats.chi2.cdf(x, df), atol=3e-9
        )


@pytest.mark.parametrize("weight", [2.5, -2.5])
def test_noncentral_chi_square(weight):
    nu = 3.0
    for x in (0.01, 1.0, 10.0, 80.0):
        cdf = stats.ncx2.cdf(x / abs(weight), 1, nu)
        got = one([weight], [2 * weight * np.sqrt(nu)], [weight * nu], np.sign(weight) * x)
        assert_allclose(got, cdf if weight > 0 else 1 - cdf, atol=3e-9)


def test_normal_part_alone():
    for x in (-9.0, -1.0, 0.3, 4.0):
        assert_allclose(
            one([0, 0], [1.5, 2.0], [1.0, 0.0], x), stats.norm.cdf(x, 1, 2.5), atol=3e-9
        )


def test_parabolas_of_every_curvature():
    """From nearly normal (a = 1e-4) to nearly chi-square, far into the tails."""
    rng = np.random.default_rng(0)
    n = 5000
    a = rng.normal(size=n) * 10 ** rng.uniform(-4, 2, size=n)
    b, c, t = rng.normal(size=n) * 3, rng.normal(size=n), rng.normal(size=n) * 3
    got, moved = quadratic_form_cdf(t, a[:, None], b[:, None], c[:, None])
    exact = [parabola_cdf(*row) for row in zip(a, b, c, t)]
    assert_allclose(got, exact, atol=1e-8)
    assert moved.max() <= 1e-9


@pytest.mark.parametrize("p", [2, 3, 8])
def test_mixed_signs_by_conditioning(p):
    """Given all but the last variable the rest is a parabola: average its exact probability."""
    rng = np.random.default_rng(p)
    a, b, c = rng.normal(size=(3, p))
    t = float((a + c).sum() + 0.5)
    Z = rng.standard_normal((4000, p - 1))
    left = t - Z**2 @ a[:-1] - Z @ b[:-1] - c[:-1].sum()
    inside = np.array([parabola_cdf(a[-1], b[-1], c[-1], x) for x in left])
    assert abs(one(a, b, c, t) - inside.mean()) < 4.5 * inside.std() / np.sqrt(len(Z))


def test_exponential_difference_in_closed_form():
    """χ²_2 - χ²_2 has the Laplace distribution with scale 2."""
    for x in (-7.0, -0.1, 0.0, 2.0):
        got = one([1, 1, -1, -1], np.zeros(4), np.zeros(4), x)
        assert_allclose(got, stats.laplace.cdf(x, scale=2), atol=3e-9)


def test_nearly_normal_part_beside_a_far_one():
    """A path that looks right far out may grow on the way; found with λ = 1.003 beside 5.6."""
    lam = np.array([0.32838732, 0.65026706, 1.00312117, 2.69514273, 5.60249066])
    delta = np.array([2.51343044, 7.7989687, -0.70307341, -0.57126583, -4.3762131])
    got = one(lam - 1, 2 * lam * delta, lam * delta**2, 1.1738450747886446)
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((200_000, 5))
    simulated = np.mean(((Z + delta) ** 2 * lam - Z**2).sum(axis=1) <= 1.1738450747886446)
    assert abs(got - simulated) < 1e-4
    assert 0 <= got < 1e-4


def test_constants_and_scale():
    assert one([0.0], [0.0], [2.0], 2.0) == 1.0
    assert one([0.0], [0.0], [2.0], 1.9) == 0.0
    assert_allclose(
        one([3.0, -1], [1, 2], [0, 1], 2.5), one([6.0, -2], [2, 4], [0, 2], 5.0), atol=3e-9
    )


@pytest.mark.parametrize("tol", [1e-2, 1e-3, 1e-4, 1e-5, 1e-6])
def test_coarse_tolerances_are_kept(tol):
    """Two coarse sums may agree by chance, and quiet terms come before loud ones."""
    rng = np.random.default_rng(0)
    for p in (1, 2, 5, 12):
        lam = np.exp(rng.normal(size=(200, p)))
        delta = rng.normal(scale=2.0, size=(200, p))
        a, b, c = lam - 1, 2 * lam * delta, lam * delta**2
        t = np.log(lam).sum(axis=1) + rng.normal(size=200)
        fine = quadratic_form_cdf(t, a, b, c, 1e-11)[0]
        assert_allclose(quadratic_form_cdf(t, a, b, c, tol)[0], fine, rtol=0, atol=tol)
