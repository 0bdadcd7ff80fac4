"""The toy data have the distribution that Section 6.1 describes."""

import numpy as np
import pytest

from octavo.data import make_mkl_toy


@pytest.mark.parametrize(
    ("nu", "informative"),
    [(0, 50), (0.44, 28), (0.64, 18), (0.82, 9), (0.92, 4), (0.98, 1), (1, 1)],
)
def test_levels_of_the_paper(nu, informative):
    toy = make_mkl_toy(11, nu, random_state=0)
    assert toy.theta.sum() == informative
    assert toy.X.shape == (11, 50)
    assert (toy.y == 1).sum() == 6


def test_means_and_variances():
    toy = make_mkl_toy(40_000, 0.5, d=8, rho=1.75, random_state=0)
    mean = (toy.X * toy.y[:, None]).mean(axis=0)
    # standard error 1/200
    np.testing.assert_allclose(mean, 1.75 * toy.theta / 2.0, atol=0.025)
    np.testing.assert_allclose(np.linalg.norm(mean), 1.75, atol=0.025)
    rest = toy.X - toy.y[:, None] * mean
    np.testing.assert_allclose(np.cov(rest.T), np.eye(8), atol=0.03)
    # the best rule errs in 4.0 %
    wrong = np.mean(np.where(toy.X @ toy.theta > 0, 1, -1) != toy.y)
    assert abs(wrong - 0.04006) < 4 * np.sqrt(0.04 * 0.96 / 40_000)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="'nu'"):
        make_mkl_toy(10, 1.5)
    with pytest.raises(ValueError, match="'n'"):
        make_mkl_toy(1, 0.5)
