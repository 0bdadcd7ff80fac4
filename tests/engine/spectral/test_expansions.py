"""Polynomials against numpy's, moments against sums over whole series."""

from math import factorial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.polynomial import chebyshev, hermite_e, legendre

from octavo.engine.spectral.expansions import (
    BASES,
    StreamingMoments,
    box_of,
    episodes_of,
    expansion,
    largest_degree,
    n_functions,
    one_dimensional,
    streamed,
)

RNG = np.random.default_rng(0)
EVALUATE = {
    "chebyshev": lambda u, k: chebyshev.chebval(u, np.eye(k + 1)[k]),
    "legendre": lambda u, k: legendre.legval(u, np.eye(k + 1)[k]),
    "hermite": lambda u, k: hermite_e.hermeval(u, np.eye(k + 1)[k]) / np.sqrt(factorial(k)),
    "monomial": lambda u, k: u**k,
}


@pytest.mark.parametrize("basis", BASES)
def test_one_dimensional_polynomials_are_numpys(basis):
    u = np.linspace(-1, 1, 41)
    for k, values in enumerate(one_dimensional(u, 12, basis)):
        np.testing.assert_allclose(values, EVALUATE[basis](u, k), atol=1e-12)


@pytest.mark.parametrize("basis", BASES)
@pytest.mark.parametrize(("n_features", "degree"), [(1, 5), (2, 7), (3, 4), (5, 2), (4, 1)])
def test_products_are_those_of_the_exponents(basis, n_features, degree):
    functions = expansion(n_features, degree, basis)
    U = RNG.uniform(-1, 1, (20, n_features))
    table = functions.exponents
    assert len(table) == n_functions(n_features, degree) == len({tuple(row) for row in table})
    assert table.sum(axis=1).min() == 1
    assert table.sum(axis=1).max() == degree
    assert (np.diff(table.sum(axis=1)) >= 0).all()
    expected = [
        np.prod([EVALUATE[basis](U[:, i], k) for i, k in enumerate(row)], axis=0) for row in table
    ]
    np.testing.assert_allclose(functions(U), np.column_stack(expected), atol=1e-12)


def test_bases_span_the_same_functions():
    U = RNG.uniform(-1, 1, (200, 2))
    one = np.column_stack([np.ones(200), expansion(2, 4, "monomial")(U)])
    for basis in BASES:
        other = expansion(2, 4, basis)(U)
        rest = other - one @ np.linalg.lstsq(one, other, rcond=None)[0]
        assert np.abs(rest).max() < 1e-10


def test_sizes_of_the_paper():
    assert n_functions(2, 7) == 35
    assert n_functions(6, 3) == 83
    assert n_functions(6, 4) == 209
    assert [largest_degree(n, 7, 100) for n in (1, 2, 6)] == [7, 7, 3]


def direct(Z, lengths, lag):
    parts = np.split(Z, np.cumsum(lengths)[:-1])
    steps = [part[lag:] - part[:-lag] for part in parts if len(part) > lag]
    steps = np.concatenate([*steps, np.empty((0, Z.shape[1]))])
    centred = Z - Z.mean(axis=0)
    return Z.mean(axis=0), centred.T @ centred, steps.T @ steps, len(steps)


@given(
    lengths=st.lists(st.integers(1, 12), min_size=1, max_size=6),
    cuts=st.lists(st.integers(1, 9), min_size=1, max_size=20),
    lag=st.integers(1, 4),
    seed=st.integers(0, 100),
)
@settings(deadline=None, max_examples=60)
def test_moments_of_any_blocks_are_those_of_the_series(lengths, cuts, lag, seed):
    n = sum(lengths)
    Z = np.random.default_rng(seed).normal(size=(n, 3)) + 100.0
    episodes = episodes_of(np.array(lengths))
    moments, start = StreamingMoments(lag), 0
    while start < n:
        for cut in cuts:
            if start < n:
                moments.update(Z[start : start + cut], episodes[start : start + cut])
                start += cut
    mean, scatter, velocity, n_steps = direct(Z, lengths, lag)
    assert moments.count == n
    assert moments.n_steps == n_steps
    np.testing.assert_allclose(moments.mean, mean, rtol=1e-12)
    np.testing.assert_allclose(moments.scatter, scatter, atol=1e-9)
    if n_steps:
        np.testing.assert_allclose(moments.velocity, velocity, atol=1e-10)


def test_moments_keep_their_digits_far_from_zero():
    Z = RNG.normal(size=(5000, 2)) + 1e7
    moments = streamed(Z, np.array([5000]), lambda rows: rows, 1 << 16)
    np.testing.assert_allclose(moments.covariance, np.cov(Z.T, bias=True), rtol=1e-8, atol=1e-8)


def test_boxes():
    X = np.column_stack([RNG.normal(size=50) * 1e155, RNG.normal(size=50) * 1e-300, np.full(50, 3)])
    for kind in ("minmax", "standard"):
        box = box_of(X, kind)
        assert box.scale[2] == 0
        units = (X[:, :2] - box.center[:2]) / box.scale[:2]
        if kind == "minmax":
            np.testing.assert_allclose(np.abs(units).max(axis=0), 1.0)
        else:
            np.testing.assert_allclose(units.std(axis=0), 1.0)
            np.testing.assert_allclose(units.mean(axis=0), 0.0, atol=1e-12)


def test_an_unknown_basis_is_named():
    with pytest.raises(ValueError, match="'fourier'"):
        expansion(2, 2, "fourier")
