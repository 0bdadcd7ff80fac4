"""Kernel blocks against scikit-learn's, on every namespace at hand; columns and checks."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.svm import SVC

from octavo.engine.kernels.gram import (
    GramColumns,
    Kernel,
    check_gram,
    check_symmetric,
    resolve_kernel,
    row_chunks,
    settle_gamma,
    squared_distances,
)
from octavo.engine.kernels.nystroem import nystroem_factor, nystroem_normalization

RNG = np.random.default_rng(20)
X = RNG.standard_normal((40, 6))
Y = RNG.standard_normal((25, 6))
NAMED = {
    "linear": {},
    "poly": {"gamma": 0.3, "degree": 3, "coef0": 0.5},
    "rbf": {"gamma": 0.3},
    "sigmoid": {"gamma": 0.3, "coef0": 0.5},
    "laplacian": {"gamma": 0.3},
    "cosine": {},
}


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("sparse", [False, True])
def test_blocks_are_scikit_learns(name, sparse):
    left, right = (sp.csr_array(X), sp.csr_array(Y)) if sparse else (X, Y)
    kernel = Kernel(name, **NAMED[name])
    expected = pairwise_kernels(X, Y, metric=name, **NAMED[name])
    np.testing.assert_allclose(kernel.block(left, right), expected, rtol=1e-12, atol=1e-13)
    own = pairwise_kernels(X, metric=name, **NAMED[name])
    np.testing.assert_allclose(kernel.diagonal(left), np.diagonal(own), rtol=1e-12)


def test_other_names_and_callables():
    positive = np.abs(X)
    np.testing.assert_allclose(
        Kernel("chi2", gamma=0.7).block(positive, positive),
        pairwise_kernels(positive, metric="chi2", gamma=0.7),
    )
    kernel = resolve_kernel(lambda A, B, power: (A @ B.T) ** power, X, params={"power": 2})
    np.testing.assert_allclose(kernel.block(X, Y), (X @ Y.T) ** 2)
    np.testing.assert_allclose(kernel.diagonal(X), np.diagonal((X @ X.T) ** 2))


def test_functions_give_a_number_for_each_pair():
    for values in (1.0, np.zeros(len(X)), np.zeros((len(X), len(Y) + 1))):
        kernel = resolve_kernel(lambda A, B, values=values: values, X)
        with pytest.raises(ValueError, match="each pair of rows"):
            kernel.block(X, Y)


@pytest.mark.parametrize("kernel", [Kernel("rbf", 0.4), Kernel("poly", 0.4, 2, 1.0)])
def test_squared_distances_of_the_images(kernel):
    K = kernel.block(np.vstack([X, Y]), np.vstack([X, Y]))
    D = np.diagonal(K)[:, None] + np.diagonal(K)[None, :] - 2 * K
    np.testing.assert_allclose(kernel.squared_distances(X, Y), D[:40, 40:], atol=1e-11)


def test_a_common_offset_costs_no_digits():
    far = Kernel("rbf", 0.3).block(X + 1e6, Y + 1e6)
    near = Kernel("rbf", 0.3).block((X + 1e6) - 1e6, (Y + 1e6) - 1e6)
    np.testing.assert_allclose(far, near, rtol=1e-9)
    single = Kernel("rbf", 0.3).block((X + 100).astype("f4"), (Y + 100).astype("f4"))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, Kernel("rbf", 0.3).block(X, Y), atol=5e-5)


def test_the_rbf_diagonal_is_one_exactly():
    K = Kernel("rbf", 3.0).block(X, X)
    assert (np.diagonal(K) == 1.0).all()
    assert K.max() == 1.0


@pytest.mark.parametrize("rows", [X, sp.csr_array(X)])
@pytest.mark.parametrize("gamma", ["scale", "auto", 0.25])
def test_gamma_means_what_it_means_in_svc(rows, gamma):
    machine = SVC(gamma=gamma).fit(rows, np.arange(40) % 2)
    assert settle_gamma(gamma, rows) == pytest.approx(machine._gamma, rel=1e-12)
    assert settle_gamma(None, rows) == pytest.approx(1 / 6)


def test_chunks_cover_the_rows_once():
    seen = np.concatenate([np.arange(100)[s] for s in row_chunks(100, 2**17, megabytes=7)])
    np.testing.assert_array_equal(seen, np.arange(100))
    assert max(s.stop - s.start for s in row_chunks(100, 2**17, megabytes=7)) == 7
    assert list(row_chunks(0, 10)) == []
    assert len(list(row_chunks(3, 2**40))) == 3


@pytest.mark.parametrize("rows", [X, sp.csr_array(X), "precomputed"])
def test_columns_are_those_of_the_matrix(rows):
    K = Kernel("rbf", 0.3).block(X, X)
    if isinstance(rows, str):
        columns = GramColumns(Kernel("precomputed"), K, megabytes=0)
    else:
        columns = GramColumns(Kernel("rbf", 0.3), rows, megabytes=0)
    np.testing.assert_allclose(columns.diagonal, 1.0)
    np.testing.assert_allclose(columns.matrix(), K, rtol=1e-12)
    np.testing.assert_allclose(columns.columns([3, 1]), K[:, [3, 1]], rtol=1e-12)
    np.testing.assert_allclose(columns.column(7), K[:, 7], rtol=1e-12)


def test_the_columns_used_last_are_kept():
    columns = GramColumns(Kernel("rbf", 0.3), X, megabytes=3 * 40 * 8 / 2**20)
    assert columns.capacity == 3
    for i in (0, 1, 2, 0, 3):  # 3 pushes out 1, which was used longest ago
        columns.column(i)
    assert (columns.n_computed, columns.n_found) == (4, 1)
    for i in (0, 2, 3):
        columns.column(i)
    assert (columns.n_computed, columns.n_found) == (4, 4)
    columns.column(1)
    assert columns.n_computed == 5


def test_what_is_no_gram_matrix_is_refused():
    K = Kernel("rbf", 0.3).block(X, X)
    check_gram(K)
    with pytest.raises(ValueError, match=r"must be square.*got \(40, 25\)"):
        check_gram(K[:, :25])
    crooked = K.copy()
    crooked[0, 1] += 0.5
    with pytest.raises(ValueError, match=r"must be symmetric.*differ by up to 0\.5"):
        check_gram(crooked)
    with pytest.raises(ValueError, match="non-negative diagonal; its minimum is -1"):
        check_gram(-K)


@pytest.mark.parametrize("n", [2, 33, 700])
@pytest.mark.parametrize("size", [1e-7, 1.0])
def test_one_entry_off_its_mirror_image_is_seen(n, size):
    """Anywhere, however large the matrix; rounding is not."""
    rng = np.random.default_rng(n)
    A = rng.standard_normal((n, n))
    A += A.T
    check_symmetric(A, "A")
    check_symmetric(A + 1e-13 * rng.standard_normal((n, n)), "A")
    for _ in range(5):
        i, j = rng.choice(n, 2, replace=False)
        crooked = A.copy()
        crooked[i, j] += size * np.abs(A).max()
        off = f"{abs(crooked[i, j] - A[i, j]):.3g}"
        with pytest.raises(ValueError, match=f"A must be symmetric.*differ by up to {off}"):
            check_symmetric(crooked, "A")
    check_symmetric(1e200 * A, "A")  # whose squares are too large for a number
    for bad in (np.nan, np.inf):
        A[0, 1] = bad
        with pytest.raises(ValueError, match="A contains NaN or infinity"):
            check_symmetric(A, "A")


@pytest.mark.parametrize("sparse", [False, True])
def test_squared_distances_of_rows(sparse):
    left, right = (sp.csr_array(X), sp.csr_array(Y)) if sparse else (X, Y)
    expected = ((X[:, None] - Y[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(squared_distances(left, right), expected, rtol=1e-10)
    own = squared_distances(left, left)
    assert (np.diagonal(own) == 0.0).all()
    assert own.min() >= 0.0


@pytest.mark.parametrize("n", [30, 700])
def test_an_indefinite_matrix_is_told(n):
    Q = np.linalg.qr(np.random.default_rng(n).standard_normal((n, n)))[0]
    values = np.linspace(0.5, 2.0, n)
    good = (Q * values) @ Q.T
    check_gram((good + good.T) / 2)
    values[0] = -0.4
    bad = (Q * values) @ Q.T
    with pytest.warns(UserWarning, match=r"indefinite: its smallest eigenvalue is -0\.4"):
        check_gram((bad + bad.T) / 2)
    check_gram((bad + bad.T) / 2, definite=False)


def test_a_precomputed_kernel_has_no_rows():
    with pytest.raises(TypeError, match="by its indices"):
        Kernel("precomputed").block(X, Y)
    np.testing.assert_array_equal(Kernel("precomputed").against(X, None, [2, 0]), X[:, [2, 0]])
    np.testing.assert_array_equal(
        Kernel("linear").against(X, Y, [2, 0]), Kernel("linear").block(X, Y)
    )


def test_the_nystroem_factor_is_exact_on_its_landmarks():
    kernel = Kernel("rbf", 0.1)
    Z = X[:10]
    factor = nystroem_factor(kernel.block(X, Z), kernel.block(Z, Z))
    approximate = factor @ factor.T
    exact = kernel.block(X, Z) @ np.linalg.pinv(kernel.block(Z, Z)) @ kernel.block(Z, X)
    np.testing.assert_allclose(approximate, exact, atol=1e-9)
    np.testing.assert_allclose(approximate[:, :10], kernel.block(X, Z), atol=1e-9)


def test_landmarks_that_repeat_lower_the_rank():
    kernel = Kernel("rbf", 0.1)
    Z = X[[0, 1, 2, 2, 1]]
    assert nystroem_normalization(kernel.block(Z, Z)).shape == (5, 3)
    with pytest.raises(ValueError, match="no positive eigenvalue"):
        nystroem_normalization(np.zeros((3, 3)))


def test_every_block_in_another_namespace():
    """The array API, strictly: scikit-learn dispatches only where SciPy was told to."""
    script = """
        import numpy as np, array_api_strict as xp, sklearn
        from octavo.engine.kernels.gram import Kernel, settle_gamma
        from octavo.engine.kernels.namespaces import namespace_of, to_namespace, to_numpy
        from octavo.engine.kernels.nystroem import nystroem_factor
        rng = np.random.default_rng(0)
        X, Y = rng.standard_normal((20, 4)), rng.standard_normal((11, 4))
        with sklearn.config_context(array_api_dispatch=True):
            A, B = xp.asarray(X), xp.asarray(Y)
            for name in ("linear", "poly", "rbf", "sigmoid", "cosine"):
                kernel = Kernel(name, 0.3, 2, 0.5)
                for left, right in ((A, B), (A, A)):
                    block = kernel.block(left, right)
                    assert namespace_of(block).xp is namespace_of(A).xp
                    host = kernel.block(to_numpy(left), to_numpy(right))
                    assert np.allclose(to_numpy(block), host, rtol=1e-12, atol=1e-13), name
                assert np.allclose(to_numpy(kernel.diagonal(A)), kernel.diagonal(X))
                near = to_numpy(kernel.squared_distances(A, B))
                assert np.allclose(near, kernel.squared_distances(X, Y))
            assert np.isclose(settle_gamma("scale", A), settle_gamma("scale", X))
            kernel = Kernel("rbf", 0.3)
            factor = nystroem_factor(kernel.block(A, B), kernel.block(B, B))
            host = nystroem_factor(kernel.block(X, Y), kernel.block(Y, Y))
            assert np.allclose(to_numpy(factor @ factor.T), host @ host.T)
            moved = to_namespace(Y.astype("f4"), A)
            assert moved.dtype == xp.float64 and namespace_of(moved).xp is namespace_of(A).xp
            indices = to_namespace(np.array([1, 2]), A)
            assert indices.dtype == xp.int64
        print("same")
    """
    told = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        env={**os.environ, "SCIPY_ARRAY_API": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.stdout.strip() == "same", told.stderr


def test_polynomial_is_poly_and_an_unknown_name_lists_the_known():
    given = {"gamma": 0.3, "degree": 2, "coef0": 0.5}
    kernel = Kernel("polynomial", **given)
    assert kernel.name == "poly"
    expected = pairwise_kernels(X, Y, metric="polynomial", **given)
    np.testing.assert_allclose(kernel.block(X, Y), expected, rtol=1e-12)
    with pytest.raises(ValueError, match=r"one of 'additive_chi2'.*'sigmoid', or .* got 'banana'"):
        resolve_kernel("banana", X)
    with pytest.raises(ValueError, match=r"must be finite, got nan"):
        Kernel("rbf", float("nan"))
    Kernel("linear", float("nan"))  # which has no gamma
    with pytest.raises(ValueError, match=r"'rbf' takes gamma, got \['degree'\]"):
        resolve_kernel("rbf", X, params={"degree": 2})


@pytest.mark.parametrize("name", ["linear", "poly", "rbf"])
def test_values_beyond_doubles_are_refused(name):
    big = X * 1e160  # squares overflow, and inf - inf is NaN
    with (
        pytest.raises(ValueError, match="NaN or infinity on these rows"),
        np.errstate(all="ignore"),
    ):
        Kernel(name).block(big, big)


def test_gamma_is_settled_or_refused_in_a_sentence():
    with pytest.raises(ValueError, match="'scale', 'auto', None or a number, got 'x'"):
        settle_gamma("x", X)
    for factor in (1e160, 1e-160):  # 1 / variance is 0 or infinite: a kernel of ones
        with pytest.raises(ValueError, match="beyond what floating point can hold"):
            settle_gamma("scale", X * factor)
