"""The equicorrelated probit model, whose marginal is a one-dimensional integral."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import norm

from octavo.bayes import GaussianPrior, LatentGaussianModel

# n, v, c: log Z exact, EP, Laplace; total variation errors of the marginal by method.
TABLE = {
    (3, 1.0, 0.25): (
        (-1.705376, -1.705694, -2.078785),
        {
            "ep-g": 0.1127,
            "ep-l": 0.00024,
            "ep-fact": 0.00003,
            "ep-1step": 0.00001,
            "lm-g": 0.237,
            "lm-l": 0.048,
            "la-cm": 0.0256,
            "la-cm2": 0.0260,
            "la-tk": 0.0456,
        },
    ),
    (3, 4.0, 0.9): (
        (-0.954579, -0.999158, -1.304874),
        {
            "ep-g": 0.129,
            "ep-l": 0.0488,
            "ep-fact": 0.0040,
            "ep-1step": 0.0003,
            "lm-g": 0.423,
            "lm-l": 0.284,
            "la-cm": 0.150,
            "la-cm2": 0.0507,
            "la-tk": 0.0461,
        },
    ),
    (32, 4.0, 0.95): (
        (-1.221389, -1.413578, -1.619981),
        {
            "ep-g": 0.165,
            "ep-l": 0.155,
            "ep-fact": 0.0511,
            "ep-1step": 0.0117,
            "lm-g": 0.564,
            "lm-l": 0.530,
            "la-cm": 0.305,
            "la-cm2": 0.107,
            "la-tk": 0.105,
        },
    ),
}
each_row = pytest.mark.parametrize("row", TABLE, ids=str)


def covariance(n, v, c):
    return v * ((1 - c) * np.eye(n) + c * np.ones((n, n)))


def fitted(row, method, **options):
    n = row[0]
    prior = GaussianPrior(covariance=covariance(*row))
    model = LatentGaussianModel("probit", prior=prior, method=method, max_iter=500, **options)
    return model.fit(np.ones(n), 4.0 * np.eye(n))


def exact(row, x):
    """Return log Z and the marginal of x_1 by quadrature over the common factor."""
    n, v, c = row
    u = np.linspace(-9, 9, 6001)
    other = norm.logcdf(4 * np.sqrt(v * c) * u / np.sqrt(1 + 16 * v * (1 - c)))
    weight = np.exp(norm.logpdf(u) + (n - 1) * other)
    means = np.sqrt(v * c) * u
    p = norm.cdf(4 * x) * (weight * norm.pdf(x[:, None], means, np.sqrt(v * (1 - c)))).sum(axis=1)
    log_z = np.log(np.trapezoid(np.exp(norm.logpdf(u) + n * other), u))
    return log_z, p / np.trapezoid(p, x)


@each_row
def test_evidence(row):
    (log_z, ep, laplace), _ = TABLE[row]
    assert exact(row, np.array([0.0, 1.0]))[0] == pytest.approx(log_z, abs=1e-6)
    assert fitted(row, "ep").log_evidence_ == pytest.approx(ep, abs=1e-4)
    assert fitted(row, "laplace").log_evidence_ == pytest.approx(laplace, abs=1e-4)


@each_row
@pytest.mark.parametrize("method", ["ep", "laplace"])
@pytest.mark.slow
def test_total_variation_of_every_marginal(row, method):
    sd = np.sqrt(row[1])
    x = np.linspace(-3 * sd, 5 * sd, 1601)
    _, p = exact(row, x)
    model = fitted(row, method)
    for name, expected in TABLE[row][1].items():
        if name.startswith("ep") != (method == "ep"):
            continue
        marginal = model.marginal(0, name)
        found = 0.5 * np.trapezoid(abs(p - marginal.density(x)), x)
        # Within 10 %, and half a unit of the last printed digit where that is more.
        assert abs(found - expected) < max(0.1 * expected, 1.5e-5), name
        if name in ("ep-fact", "ep-1step") and row[0] == 3:
            assert abs(marginal.cdf(-sd) - np.trapezoid(p[x <= -sd], x[x <= -sd])) < 1e-4 + found
        ends = marginal.pdf[[0, -1]] * marginal.sd
        assert (ends < 1e-4).all(), "the grid ends before the tails do"


def test_full_ep_is_at_least_as_good_as_one_step():
    row = (32, 4.0, 0.95)
    x = np.linspace(-6, 10, 1601)
    _, p = exact(row, x)
    model = fitted(row, "ep")
    errors = [
        0.5 * np.trapezoid(abs(p - model.marginal(0, name).density(x)), x)
        for name in ("ep-full", "ep-1step", "ep-fact", "ep-l")
    ]
    assert errors == sorted(errors)


def test_sparse_precision_gives_the_same():
    row = (3, 4.0, 0.9)
    dense = fitted(row, "ep")
    Q = sp.csr_array(np.linalg.inv(covariance(*row)))
    sparse = LatentGaussianModel("probit", prior=Q).fit(np.ones(3), 4.0 * np.eye(3))
    assert sparse.log_evidence_ == pytest.approx(dense.log_evidence_, abs=1e-8)
    for name in ("ep-fact", "ep-1step", "ep-full", "ep-opw"):
        a, b = dense.marginal(1, name), sparse.marginal(1, name)
        assert (a.mean, a.sd) == pytest.approx((b.mean, b.sd), abs=1e-6)
