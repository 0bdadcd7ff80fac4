"""The theorems of the paper as tests, and the certified gap against the exact machine."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from octavo.data import make_redundant_classes
from octavo.svm import AESVC, ApproximateExtremePoints, error_certificate


def data(n=300, seed=0):
    return make_redundant_classes(n, kind="checkerboard", flip=0.05, random_state=seed)


def hinge(values, sign):
    return np.maximum(0.0, 1.0 - sign * values)


@pytest.mark.parametrize("seed", range(5))
def test_theorems_1_and_2_hold_for_any_machine(seed):
    X, y = data(seed=seed)
    sign = np.where(y == 1, 1.0, -1.0)
    points = ApproximateExtremePoints(gamma=4.0, subset_size=60, store_assignments=True).fit(X, y)
    rng = np.random.default_rng(seed)
    for _ in range(20):
        coef, b = rng.normal(size=len(X)), rng.normal()
        values = rbf_kernel(X, gamma=4.0) @ coef + b  # any w in the span, any b
        chosen = values[points.indices_]
        replaced = points.assignments_ @ chosen
        f1, f3 = hinge(values, sign).sum(), hinge(replaced, sign).sum()
        f2 = points.weights_ @ hinge(chosen, sign[points.indices_])
        assert f3 <= f2 + 1e-9
        apart = sign * (values - replaced)  # y w·τ
        assert -np.maximum(0, apart).sum() - 1e-9 <= f1 - f3 <= np.maximum(0, -apart).sum() + 1e-9


@pytest.mark.parametrize("eps", [1e-2, 1e-3, 1e-4])
@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_objectives_and_bounds(eps, kernel):
    X, y = data()
    params = {"C": 1.0, "kernel": kernel, "gamma": 4.0, "degree": 2, "coef0": 1.0, "tol": 1e-6}
    exact = SVC(**params).fit(X, y)
    model = AESVC(**params, eps=eps, subset_size=60).fit(X, y)
    found = error_certificate(model, X, y, baseline=exact)
    assert found.f2 == pytest.approx(model.objective_, rel=1e-9)
    assert found.f3 <= found.f2
    assert found.f1 <= found.f3 + found.theorem2 + 1e-9
    assert found.f1_baseline - found.f2 <= found.corollary3
    assert found.corollary3 == pytest.approx(300 * np.sqrt(300 * eps))
    # The lower bound is one, and the baseline's objective lies between.
    assert found.lower_bound <= found.f1_baseline + 1e-4
    assert found.f1_baseline <= found.f1 + 1e-4
    assert found.mean_hull_error <= found.max_hull_error <= eps
    assert found.trace_error <= found.trace_bound + 1e-9


def test_trace_error_is_that_of_the_low_rank_gram_matrix():
    X, y = data(200)
    model = AESVC(gamma=4.0, subset_size=50).fit(X, y)
    found = error_certificate(model, X, y)
    points = ApproximateExtremePoints(gamma=4.0, subset_size=50, store_assignments=True).fit(X, y)
    gamma = points.assignments_.toarray()
    A = rbf_kernel(X[points.indices_], gamma=4.0)
    low_rank = gamma @ A @ gamma.T
    assert found.trace_error == pytest.approx(200 - np.trace(low_rank), abs=1e-8)
    assert np.linalg.matrix_rank(low_rank) <= points.n_selected_
    assert np.isnan(found.f1_baseline)


def test_the_certified_gap_closes():
    X, y = data()
    gaps = []
    for eps in (1e-2, 1e-4, 1e-6):
        model = AESVC(gamma=4.0, eps=eps, tol=1e-5).fit(X, y)
        found = error_certificate(model, X, y)
        gaps.append((found.f1 - found.lower_bound) / found.f1)
    assert gaps[0] > gaps[1] > gaps[2]
    assert gaps[2] < 0.02


def test_weights_are_repetitions_for_the_certificate_too():
    X, y = data(150)
    weight = np.random.default_rng(0).integers(1, 4, 150)
    one = AESVC(gamma=4.0, tol=1e-6).fit(X, y, weight)
    times = np.repeat(np.arange(150), weight)
    other = AESVC(gamma=4.0, tol=1e-6).fit(X[times], y[times])
    first = error_certificate(one, X, y, weight)
    second = error_certificate(other, X[times], y[times])
    for name in ("f1", "f2", "f3", "lower_bound", "theorem2", "corollary3"):
        assert getattr(first, name) == pytest.approx(getattr(second, name), rel=1e-6), name
    skipped = error_certificate(one, X, y, weight, lower_bound=False)
    assert np.isnan(skipped.lower_bound)


def test_what_it_cannot_certify_is_refused():
    X, y = data(90)
    labels = np.arange(90) % 3
    three = AESVC().fit(X, labels)
    with pytest.raises(ValueError, match="got 3 classes"):
        error_certificate(three, X, labels)
    other = AESVC(estimator=SVC()).fit(X, y)
    with pytest.raises(ValueError, match="estimator=SVC"):
        error_certificate(other, X, y)
