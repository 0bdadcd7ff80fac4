"""Stacks of kernels against scikit-learn's kernels and their normalisation's definitions."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics.pairwise import linear_kernel, polynomial_kernel, rbf_kernel
from sklearn.preprocessing import KernelCenterer

from octavo.kernel import KernelStack, center_kernel, kernel_alignment, normalize_kernel

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 4))
QUERIES = rng.normal(size=(7, 4))
KERNELS = [
    ("wide", "rbf", {"gamma": 0.1}),
    ("narrow", "rbf", {"gamma": 2.0}),
    ("two", "rbf", {"gamma": 0.5, "columns": [1, 3]}),
    ("line", "linear", {"columns": [0]}),
    ("poly", "poly", {"gamma": 0.3, "degree": 2, "coef0": 1.0}),
    ("own", lambda A, B, power: (1.0 + A @ B.T) ** power, {"power": 2}),
]


def reference(A, B):
    return np.array(
        [
            rbf_kernel(A, B, 0.1),
            rbf_kernel(A, B, 2.0),
            rbf_kernel(A[:, [1, 3]], B[:, [1, 3]], 0.5),
            linear_kernel(A[:, :1], B[:, :1]),
            polynomial_kernel(A, B, degree=2, gamma=0.3, coef0=1.0),
            (1.0 + A @ B.T) ** 2,
        ]
    )


def test_raw_kernels_are_scikit_learns():
    stack = KernelStack(KERNELS, normalize=None)
    np.testing.assert_allclose(stack.fit_transform(X), reference(X, X), atol=1e-12)
    np.testing.assert_allclose(stack.transform(QUERIES), reference(QUERIES, X), atol=1e-12)
    assert stack.kernel_names_ == ["wide", "narrow", "two", "line", "poly", "own"]


def test_centring_is_scikit_learns():
    stack = KernelStack(KERNELS, normalize=None, center=True).fit(X)
    for k, raw, query in zip(stack.transform(QUERIES), reference(X, X), reference(QUERIES, X)):
        centerer = KernelCenterer().fit(raw)
        np.testing.assert_allclose(k, centerer.transform(query), atol=1e-10)
    np.testing.assert_allclose(stack.transform(X), center_kernel(reference(X, X)), atol=1e-10)


@pytest.mark.parametrize("center", [False, True])
def test_multiplicative_normalisation_gives_unit_variance(center):
    for K in KernelStack(KERNELS, center=center).fit_transform(X):
        assert abs(np.diagonal(K).mean() - K.mean() - 1.0) < 1e-12
    plain = normalize_kernel(reference(X, X))
    np.testing.assert_allclose(KernelStack(KERNELS).fit_transform(X), plain, atol=1e-12)


@pytest.mark.parametrize("center", [False, True])
def test_spherical_normalisation_gives_unit_lengths(center):
    stack = KernelStack(KERNELS, normalize="spherical", center=center)
    K = stack.fit_transform(X)
    np.testing.assert_allclose(np.diagonal(K, axis1=1, axis2=2), 1.0, atol=1e-12)
    # a training sample among the queries has the kernel values that it had in training
    np.testing.assert_allclose(stack.transform(X[:5]), K[:, :5], atol=1e-10)


@pytest.mark.parametrize("center", [False, True])
def test_trace_normalisation_gives_unit_trace(center):
    stack = KernelStack(KERNELS, normalize="trace", center=center)
    K = stack.fit_transform(X)
    np.testing.assert_allclose(np.trace(K, axis1=1, axis2=2), 1.0, atol=1e-12)
    np.testing.assert_allclose(stack.transform(X[:5]), K[:, :5], atol=1e-10)  # the same constant
    if not center:
        plain = normalize_kernel(reference(X, X), "trace")
        np.testing.assert_allclose(K, plain, atol=1e-12)


def test_a_kernel_of_zeros_has_no_trace_to_normalise():
    K = np.array([np.eye(4), np.zeros((4, 4))])
    with pytest.warns(UserWarning, match="trace 0"):
        stack = KernelStack("precomputed", normalize="trace").fit(K)
    np.testing.assert_allclose(stack.scales_, [0.25, 1.0])


def test_centred_and_spherical_is_already_multiplicative():
    """A kernel whose samples have length one after centring has variance one (Section 4.4.2)."""
    signs = np.sign(X[:, :2])
    signs[1::2] = -signs[::2]  # mean zero, equal lengths
    K = normalize_kernel(center_kernel(signs @ signs.T), "spherical")
    np.testing.assert_allclose(normalize_kernel(K), K, atol=1e-12)


@pytest.mark.parametrize("normalize", ["multiplicative", "spherical", "trace", None])
@pytest.mark.parametrize("center", [False, True])
def test_chunked_and_sparse_paths_agree_with_the_whole(normalize, center):
    many = rng.normal(size=(1100, 3))  # more than one block of the chunked sums
    kernels = [("a", "rbf", {"gamma": 0.3}), ("b", "rbf", {"gamma": 3.0}), ("c", "linear", {})]
    whole = KernelStack(kernels, normalize=normalize, center=center)
    K = whole.fit_transform(many)
    chunked = KernelStack(kernels, normalize=normalize, center=center).fit(many)
    np.testing.assert_allclose(chunked.scales_, whole.scales_, rtol=1e-10)
    np.testing.assert_allclose(chunked.transform(many[:4]), K[:, :4], atol=1e-9)
    np.testing.assert_allclose(chunked._diagonal, np.diagonal(K, axis1=1, axis2=2), atol=1e-9)
    sparse = KernelStack(kernels, normalize=normalize, center=center).fit(sp.csr_array(many))
    np.testing.assert_allclose(sparse.transform(sp.csr_array(many[:4])), K[:, :4], atol=1e-9)
    coef = rng.normal(size=(3, 1100, 2)) * (rng.uniform(size=(1, 1100, 1)) < 0.1)
    coef[1] = 0.0
    expected = np.einsum("mqn,mnk->qk", chunked.transform(many[:6]), coef)
    np.testing.assert_allclose(chunked._apply(many[:6], coef), expected, atol=1e-8)


def test_precomputed_kernels():
    K, K_query = reference(X, X), reference(QUERIES, X)
    table = KernelStack(KERNELS, center=True).fit(X)
    given = KernelStack("precomputed", center=True).fit(list(K))
    np.testing.assert_allclose(given.transform(K_query), table.transform(QUERIES), atol=1e-10)
    lengths = np.diagonal(reference(QUERIES, QUERIES), axis1=1, axis2=2)
    table = KernelStack(KERNELS, normalize="spherical").fit(X)
    given = KernelStack("precomputed", normalize="spherical").fit(K)
    answer = given.transform(K_query, diagonals=lengths)
    np.testing.assert_allclose(answer, table.transform(QUERIES), atol=1e-10)
    with pytest.raises(ValueError, match="pass diagonals"):
        given.transform(K_query)
    with pytest.raises(ValueError, match="diagonals must have shape"):
        given.transform(K_query, diagonals=lengths[:2])


def test_presets():
    assert KernelStack().fit(X).n_kernels_ == 10
    stack = KernelStack("linear_per_feature", normalize=None)
    np.testing.assert_allclose(stack.fit_transform(X)[2], np.outer(X[:, 2], X[:, 2]))
    assert KernelStack("rbf_per_feature").fit(X).n_kernels_ == 4


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), factor=st.floats(1e-3, 1e3))
def test_normalisers_forget_the_scale(seed, factor):
    Z = np.random.default_rng(seed).normal(size=(8, 3))
    K = Z @ Z.T
    for how in ("multiplicative", "spherical", "trace"):
        np.testing.assert_allclose(normalize_kernel(factor * K, how), normalize_kernel(K, how))


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_alignment_is_a_cosine(seed):
    local = np.random.default_rng(seed)
    K = np.array([Z @ Z.T for Z in local.normal(size=(3, 6, 2))])
    A = kernel_alignment(K)
    np.testing.assert_allclose(np.diagonal(A), 1.0)
    expected = (K[0] * K[1]).sum() / np.linalg.norm(K[0]) / np.linalg.norm(K[1])
    assert abs(A[0, 1] - expected) < 1e-12
    assert (A >= -1e-12).all()  # products of positive semidefinite matrices
    assert np.linalg.eigvalsh(A)[0] > -1e-10
    scaled = K * np.array([1.0, 5.0, 0.1])[:, None, None]
    np.testing.assert_allclose(kernel_alignment(scaled), A)
    np.testing.assert_allclose(kernel_alignment(K, center=True), kernel_alignment(center_kernel(K)))


@pytest.mark.parametrize(
    ("kernels", "words"),
    [
        ([], "at least one kernel"),
        ("ladder", "must be one of"),
        ([("a", "rbf"), ("a", "linear")], "names of kernels must differ"),
        ([("a", "rbf", {}, 3)], r"\(name, kernel\)"),
        ([3], r"\(name, kernel\)"),
        ([("a", "precomputed")], "cannot be precomputed"),
        ([("a", lambda A, B: np.ones(3))], "Kernel 'a': A kernel function must return"),
        ([("a", lambda A, B: np.full((len(A), len(B)), np.nan))], "NaN or infinity"),
    ],
)
def test_bad_kernels_are_refused(kernels, words):
    with pytest.raises(ValueError, match=words):
        KernelStack(kernels).fit_transform(X)


def test_a_kernel_without_variance_is_told():
    flat = np.column_stack([X[:, 0], np.ones(30)])
    with pytest.warns(UserWarning, match="no variance"):
        stack = KernelStack("linear_per_feature").fit(flat)
    assert stack.scales_[1] == 1.0
    with pytest.raises(ValueError, match="how must be"):
        normalize_kernel(np.eye(3), "unit")


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("normalize", [None, "multiplicative", "spherical", "trace"])
def test_diagonals_are_those_of_the_matrices(normalize, center):
    """Of training samples the diagonal is in the matrices; of queries, in a stack of both."""
    stack = KernelStack(KERNELS, normalize=normalize, center=center)
    K = stack.fit_transform(X)
    np.testing.assert_allclose(stack.diagonals(X), np.diagonal(K, axis1=1, axis2=2), atol=1e-9)
    if not center and normalize is None:
        own = [np.diagonal(k) for k in KernelStack(KERNELS, normalize=None).fit_transform(QUERIES)]
        np.testing.assert_allclose(stack.diagonals(QUERIES), own)


def test_precomputed_kernels_have_no_diagonals_of_queries():
    stack = KernelStack("precomputed").fit(np.eye(3)[None] + 1.0)
    with pytest.raises(ValueError, match="do not tell"):
        stack.diagonals(np.eye(3)[None])
