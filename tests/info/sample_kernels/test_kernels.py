"""Kernels between distributions: closed forms, diagonals, Gram matrices."""

import math

import numpy as np
import pytest

from octavo.info import (
    BhattacharyyaKernel,
    ExpJensenRenyiKernel,
    ExpJensenShannonKernel,
    ExpJensenTsallisKernel,
    JensenShannonDivergence,
    JensenShannonKernel,
    JensenTsallisKernel,
    KnnKLDivergence,
    KnnRenyiEntropy,
    Normal,
    ProbabilityProductKernel,
    Uniform,
    distribution_gram,
    distribution_kernel,
    quick_test,
)

P, Q = Normal([0, 0], [[1, 0.3], [0.3, 1]]), Normal([1, 0], [[1.5, 0], [0, 1]])
BOXES = Uniform([0, 0], [1, 1]), Uniform([0.5, 0.0], [1.5, 1.0])
JENSEN = [
    JensenShannonKernel(random_state=0),
    ExpJensenShannonKernel(2.0, random_state=0),
    JensenTsallisKernel(0.7, random_state=0),
    ExpJensenTsallisKernel(1.5, random_state=0),
    ExpJensenRenyiKernel(0.6, random_state=0),
]


@pytest.mark.parametrize(
    "kernel",
    [BhattacharyyaKernel(), ProbabilityProductKernel(), ProbabilityProductKernel(0.8)],
    ids=lambda k: repr(k),
)
def test_products_on_normals(kernel):
    result = quick_test(kernel, P, Q, n=3000, n_repeats=6)
    assert abs(result.bias) < 2 * result.deviation + 4 * result.deviation / math.sqrt(6)


@pytest.mark.parametrize("kernel", JENSEN, ids=lambda k: type(k).__name__)
def test_jensen_kernels_on_boxes(kernel):
    """Edges blur over the k-th neighbour: see the divergences."""
    n = 4000
    result = quick_test(kernel, *BOXES, n=n, n_repeats=4)
    blur = 3 * math.sqrt(3 / (math.pi * n)) * getattr(kernel, "scale", 1.0)
    assert abs(result.bias) < 2 * result.deviation + blur


def test_diagonals():
    X = P.sample(400, 0)
    assert BhattacharyyaKernel().estimate(X, X) == pytest.approx(1.0, rel=1e-12)
    assert JensenShannonKernel().estimate(X, X) == pytest.approx(math.log(2))
    assert ExpJensenShannonKernel().estimate(X, X) == 1.0
    assert ExpJensenRenyiKernel().estimate(X, X) == 1.0
    power = math.exp(-KnnRenyiEntropy(2.0, n_neighbors=5).estimate(X))  # ∫p²
    assert ProbabilityProductKernel(1.0).estimate(X, X) == pytest.approx(power, rel=1e-10)


def test_symmetry():
    X, Y = P.sample(200, 0), Q.sample(150, 1)
    for kernel in (BhattacharyyaKernel(), ProbabilityProductKernel()):
        assert kernel.estimate(X, Y) == pytest.approx(kernel.estimate(Y, X), rel=1e-12)


def samples(n=300):
    rng = np.random.default_rng(0)
    return [rng.normal(m, s, size=(n, 2)) for m, s in ((0, 1), (0.5, 1), (1, 1), (0, 2), (3, 1))]


@pytest.mark.parametrize("kernel", [BhattacharyyaKernel(), *JENSEN], ids=lambda k: repr(k)[:24])
def test_gram_matrices_are_positive_up_to_the_errors_of_estimation(kernel):
    """A symmetric error with entries of size e moves eigenvalues by at most about 2 e √n."""
    drawn = samples()
    gram = distribution_gram(drawn, kernel)
    np.testing.assert_array_equal(gram, gram.T)
    error = 3 / math.sqrt(300) * getattr(kernel, "scale", 1.0)
    assert np.linalg.eigvalsh(gram)[0] > -2 * error * math.sqrt(len(drawn))


def test_gram_by_name_by_function_and_in_threads():
    drawn = samples(100)
    by_name = distribution_gram(drawn, "exp_jensen_shannon", random_state=0, scale=2.0)
    by_object = distribution_gram(drawn, ExpJensenShannonKernel(2.0, random_state=0), n_jobs=2)
    np.testing.assert_array_equal(by_name, by_object)
    means = distribution_gram(drawn, lambda X, Y: float(X.mean() * Y.mean()))
    expected = np.outer(*[[X.mean() for X in drawn]] * 2)
    np.testing.assert_allclose(means, expected)
    divergences = distribution_gram(drawn[:3], JensenShannonDivergence(random_state=0))
    assert (np.diagonal(divergences) == 0).all()
    value = distribution_kernel(drawn[0], drawn[1], "bhattacharyya", n_neighbors=3)
    assert distribution_gram(drawn[:2], n_neighbors=3)[0, 1] == value


def test_gram_in_a_support_vector_machine():
    """Distributions on either side of a variance are told apart from their samples alone."""
    from sklearn.svm import SVC

    rng = np.random.default_rng(0)
    scales = np.concatenate([rng.uniform(0.5, 0.9, 15), rng.uniform(1.1, 1.5, 15)])
    labels = np.repeat([0, 1], 15)
    gram = distribution_gram([s * rng.normal(size=(200, 1)) for s in scales])
    train = np.arange(30) % 2 == 0
    machine = SVC(kernel="precomputed", C=100.0).fit(gram[np.ix_(train, train)], labels[train])
    assert machine.score(gram[np.ix_(~train, train)], labels[~train]) >= 13 / 15


def test_bad_input():
    drawn = samples(50)
    with pytest.raises(ValueError, match="samples is empty"):
        distribution_gram([])
    with pytest.raises(TypeError, match="kernel must be"):
        distribution_gram(drawn, 3)
    with pytest.raises(TypeError, match="kernel must be"):
        distribution_gram(drawn, KnnKLDivergence)
    with pytest.raises(ValueError, match="given by name"):
        distribution_gram(drawn, BhattacharyyaKernel(), n_neighbors=3)
    with pytest.raises(ValueError, match=r"samples\[1\] contains NaN"):
        distribution_gram([drawn[0], np.full((5, 2), np.nan)])
    with pytest.raises(ValueError, match="must exceed 5"):
        ProbabilityProductKernel(rho=5.0).estimate(drawn[0], drawn[1])
    with pytest.raises(ValueError, match="alpha"):
        ExpJensenRenyiKernel(alpha=1.5).estimate(drawn[0], drawn[1])
    with pytest.raises(ValueError, match="alpha=1 is the limit"):
        JensenTsallisKernel(alpha=1.0).estimate(drawn[0], drawn[1])
