"""Tiles of triangular matrices against the matrices themselves."""

import numpy as np
import pytest
from numba import njit

from octavo.engine.streams import triangular_tiles as tiled


@njit
def products(tiles, x, out):
    tiled.transposed_product(tiles, x, out, x.size // 4)


@njit
def swept(tiles, slopes, steps, out):
    tiled.sweep(tiles, slopes, steps, out, out.size // 4)


def filled(n, seed=0):
    """Return tiles of a random unit triangular matrix, made by sweeps, and the matrix."""
    rng = np.random.default_rng(seed)
    tiles, size = tiled.unit_tiles(n), 4 * tiled.n_tiles(n)
    for _ in range(3):
        slopes, steps = np.zeros((2, size))
        slopes[:n], steps[:n] = rng.normal(size=(2, n))
        swept(tiles, slopes, steps, np.empty(size))
    return tiles, tiled.tile_matrix(tiles, n), rng


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 11, 22])
def test_tiles_of_the_identity(n):
    tiles = tiled.unit_tiles(n)
    np.testing.assert_array_equal(tiled.tile_matrix(tiles, n), np.eye(n))
    assert tiles.sum() == n


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 11, 22])
def test_products_with_the_transpose(n):
    tiles, matrix, rng = filled(n)
    size = 4 * tiled.n_tiles(n)
    x, out = np.zeros(size), np.full(size, np.nan)
    x[:n] = rng.normal(size=n)
    products(tiles, x, out)
    np.testing.assert_allclose(out[:n], matrix.T @ x[:n], rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(out[n:], 0.0)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 11, 22])
def test_sweeps_column_by_column(n):
    tiles, matrix, rng = filled(n)
    size = 4 * tiled.n_tiles(n)
    slopes, steps = np.zeros((2, size))
    slopes[:n], steps[:n] = rng.normal(size=(2, n))
    wanted, sums = matrix.copy(), np.zeros(n)
    for j in range(n):
        column = matrix[:, j]
        wanted[:, j], sums = column + slopes[j] * sums, sums + steps[j] * column
    out = np.full(size, np.nan)
    swept(tiles, slopes, steps, out)
    np.testing.assert_allclose(out[:n], sums, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(tiled.tile_matrix(tiles, n), wanted, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(out[n:], 0.0)
    again = tiled.tile_matrix(tiles, size)
    np.testing.assert_array_equal(again, np.triu(again))
    np.testing.assert_array_equal(again.diagonal()[:n], 1.0)
