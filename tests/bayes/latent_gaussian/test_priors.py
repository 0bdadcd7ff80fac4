"""Priors, the hyper-grid, marginals as objects, and the public factor."""

import numpy as np
import pytest
import scipy.sparse as sp

from octavo.bayes import (
    GaussianPrior,
    Marginal,
    ar1,
    hyperparameter_grid,
    icar,
    make_likelihood,
    matern_grid,
    rw1,
    rw2,
    selected_inverse,
    sparse_cholesky,
    thin_plate_grid,
)


def test_ar1_is_stationary():
    n, rho, tau = 6, 0.7, 3.0
    V = np.linalg.inv(ar1(n, rho, tau).toarray())
    lag = np.subtract.outer(np.arange(n), np.arange(n))
    assert np.allclose(V, rho ** abs(lag) / (tau * (1 - rho**2)))
    assert ar1(1, rho, tau).toarray()[0, 0] == pytest.approx(tau * (1 - rho**2))


def test_walks_charge_differences():
    x = np.random.default_rng(0).standard_normal(9)
    assert x @ rw1(9) @ x == pytest.approx(np.sum(np.diff(x) ** 2))
    assert x @ rw2(9) @ x == pytest.approx(np.sum(np.diff(x, 2) ** 2))


def test_icar_charges_neighbours():
    W = np.array([[0, 1, 0], [1, 0, 2], [0, 2, 0]])
    x = np.array([1.0, 3.0, -1.0])
    assert x @ icar(W) @ x == pytest.approx(1 * 4 + 2 * 16)


def test_thin_plate_charges_bending_alone():
    Q = thin_plate_grid(5, 6)
    r, c = np.mgrid[:5, :6].astype(float)
    for plane in (np.ones((5, 6)), r, c, 2 * r - 3 * c + 1):
        assert abs(Q @ plane.ravel()).max() == 0
    f = np.random.default_rng(0).standard_normal((5, 6))
    bend = np.sum(np.diff(f, 2, axis=0) ** 2) + np.sum(np.diff(f, 2, axis=1) ** 2)
    bend += 2 * np.sum(np.diff(np.diff(f, axis=0), axis=1) ** 2)
    assert f.ravel() @ Q @ f.ravel() == pytest.approx(bend)
    assert np.linalg.matrix_rank(Q.toarray(), tol=1e-8) == 27


def test_matern_has_its_variance_and_its_correlation():
    from scipy.special import k1

    n, scale, variance = 61, 10.0, 2.0
    V = np.linalg.inv(matern_grid(n, n, scale, variance).toarray())
    centre = (n // 2) * n + n // 2
    # The edge is thirty cells away: its image is at 60 or, for lag 10, at 50 cells, where the
    # correlation κr K₁(κr) is 2e-7 and 4e-6.
    assert V[centre, centre] == pytest.approx(variance, rel=1e-5)
    kappa = np.sqrt(8) / scale
    frequency = 2 * np.pi * np.arange(1024) / 1024
    symbol = kappa**2 + np.add.outer(2 - 2 * np.cos(frequency), 2 - 2 * np.cos(frequency))
    power = symbol**-2.0 / np.mean(symbol**-2.0)
    for lag in (3, 6, 10):
        found = V[centre, centre + lag] / V[centre, centre]
        assert found == pytest.approx(np.mean(power * np.cos(lag * frequency)), abs=1e-5)
        # The field of the plane is the limit of small κ, with an error of the order of κ².
        assert found == pytest.approx(kappa * lag * k1(kappa * lag), abs=kappa**2)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: rw1(1), "n should be at least 2, got 1"),
        (lambda: rw2(2.5), "n should be a whole number, got 2.5"),
        (lambda: ar1(5, 1.0), "rho should lie between -1 and 1, got 1.0"),
        (lambda: ar1(5, 0.5, -1.0), "precision should be a positive number, got -1.0"),
        (lambda: icar([[0, 1], [0, 0]]), "adjacency should be symmetric"),
        (lambda: icar([[1, 1], [1, 0]]), "zero on its diagonal, got 1 at 0"),
        (lambda: thin_plate_grid(2, 5), "n_rows should be at least 3, got 2"),
        (lambda: matern_grid(5, 5, 0.0, 1.0), "length_scale should be a positive number"),
        (lambda: GaussianPrior(), "either precision or covariance"),
        (lambda: make_likelihood("gaussian", sd=1.0), "takes .'variance'., got 'sd'"),
        (lambda: hyperparameter_grid(lambda t: 0.0, [0.0], method="x"), "method should be"),
        (lambda: hyperparameter_grid(lambda t: 0.0, [0.0], [[1.0]]), "nearly flat"),
        (lambda: selected_inverse([[1.0, 2.0], [2.0, 1.0]]), "pivot at row"),
        (lambda: sparse_cholesky(np.eye(3), order=[0, 0, 1]), "each of 0 to 2 once"),
        (lambda: sparse_cholesky(np.eye(3)).solve([1.0]), "b should have 3 rows"),
        (lambda: Marginal([0.0, 1.0], [-1.0, 1.0]), "pdf should be finite and not negative"),
        (lambda: Marginal([1.0, 0.0], [1.0, 1.0]), "ascending"),
        (lambda: Marginal([0.0, 1.0], [1.0, 1.0]).quantile(2.0), "between 0 and 1"),
    ],
)
def test_bad_values(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


def test_public_factor():
    Q = matern_grid(9, 11, 4.0, 1.0)
    factor = sparse_cholesky(Q)
    order = factor.order
    assert np.allclose((factor.L @ factor.L.T).toarray(), Q.toarray()[np.ix_(order, order)])
    assert factor.log_det == pytest.approx(np.linalg.slogdet(Q.toarray())[1])
    b = np.arange(99.0)
    assert np.allclose(Q @ factor.solve(b), b)
    V = selected_inverse(Q).tocoo()
    assert abs(V.data - np.linalg.inv(Q.toarray())[V.row, V.col]).max() < 1e-12
    pattern = {(i, j) for i, j in zip(V.row, V.col, strict=True)}
    assert all(pair in pattern for pair in zip(*sp.coo_array(Q).coords, strict=True))
    chosen = sparse_cholesky(Q, order=np.arange(99)[::-1])
    assert chosen.log_det == pytest.approx(factor.log_det)


@pytest.mark.parametrize("method", ["breadth-first", "axis"])
def test_grid_integrates_a_normal(method):
    S = np.array([[2.0, 0.8], [0.8, 0.5]])
    P = np.linalg.inv(S)
    values, vectors = np.linalg.eigh(S)
    grid = hyperparameter_grid(
        lambda t: -0.5 * float((t - 1) @ P @ (t - 1)),
        [1.0, 1.0],
        vectors * np.sqrt(values),
        method=method,
        threshold=12.0,
    )
    mean = grid.weights @ grid.nodes
    spread = (grid.nodes - mean).T @ ((grid.nodes - mean) * grid.weights[:, None])
    assert np.allclose(mean, 1.0, atol=1e-9)
    assert np.allclose(spread, S, atol=1e-3)  # the sum at unit steps is exact to 5e-8, the tail not


def test_marginal_of_a_skewed_density():
    x = np.linspace(0, 40, 40001)
    gamma = Marginal(x, x**2 * np.exp(-x))
    assert gamma.mean == pytest.approx(3.0, abs=1e-5)
    assert gamma.sd == pytest.approx(np.sqrt(3), abs=1e-5)
    assert gamma.cdf(gamma.quantile(0.3)) == pytest.approx(0.3, abs=1e-6)
    assert gamma.density([-1.0, 100.0]).tolist() == [0.0, 0.0]
    assert gamma.cdf([-1.0, 100.0]).tolist() == [0.0, 1.0]
    assert "mean=3" in repr(gamma)
