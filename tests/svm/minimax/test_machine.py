"""MinimaxProbabilityMachine against cone programs, closed forms and extremal distributions."""

import warnings

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics.pairwise import rbf_kernel

from octavo.svm import (
    ClassMoments,
    MinimaxProbabilityMachine,
    class_moments,
    fisher_hyperplane,
    iterated_least_squares,
    minimax_hyperplane,
)


def two_classes(d, n=(40, 70), seed=0):
    rng = np.random.default_rng(seed)
    shape = [rng.normal(size=(d, d)) + 0.3 * np.eye(d) for _ in range(2)]
    X = np.r_[rng.normal(size=(n[0], d)) @ shape[0], rng.normal(size=(n[1], d)) @ shape[1] + 1.0]
    return X, np.repeat([0, 1], n)


def half(cov):
    values, vectors = np.linalg.eigh(cov)
    return (vectors * np.sqrt(np.maximum(values, 0))).T


def kappa_by_cone_program(zero, one, alpha):
    """Return κ of Eq. (3.7) from cvxpy."""
    d = len(zero.mean)
    w = cp.Variable(d)
    spreads = [cp.norm(half(m.cov + alpha * np.eye(d)) @ w) for m in (zero, one)]
    problem = cp.Problem(cp.Minimize(sum(spreads)), [w @ (one.mean - zero.mean) == 1])
    problem.solve(solver="CLARABEL")
    return 1 / problem.value


def kappa_of(w, zero, one, alpha=0.0):
    spread = sum(np.sqrt(w @ m.cov @ w + alpha * w @ w) for m in (zero, one))
    return abs(w @ (one.mean - zero.mean)) / spread


@pytest.mark.parametrize(
    ("d", "n", "alpha"),
    [(1, (9, 5), 0.0), (2, (40, 70), 0.0), (12, (40, 70), 0.0), (12, (8, 70), 0.0),
     (12, (5, 6), 1e-2), (6, (1, 30), 0.0)],
)  # fmt: skip
def test_against_cvxpy(d, n, alpha):
    zero, one = class_moments(*two_classes(d, n))
    plane = minimax_hyperplane(zero, one, alpha)
    assert_allclose(plane.kappas[0], kappa_by_cone_program(zero, one, alpha), rtol=1e-6)
    assert plane.kappas[0] == plane.kappas[1]
    assert plane.gap < 1e-9 * plane.kappas[0]
    assert_allclose(plane.coef @ (one.mean - zero.mean), 1.0)


def test_against_iterated_least_squares():
    """Lanckriet et al.'s own algorithm reaches the same direction."""
    zero, one = class_moments(*two_classes(5))
    difference = one.mean - zero.mean
    spreads = np.ones(2)
    for _ in range(500):
        w = np.linalg.solve(zero.cov / spreads[0] + one.cov / spreads[1], difference)
        w /= w @ difference
        spreads = np.sqrt([w @ m.cov @ w for m in (zero, one)])
    planes = minimax_hyperplane(zero, one), iterated_least_squares(zero, one, 0.0, tol=1e-14)
    for plane in planes:
        assert_allclose(plane.coef, w, rtol=1e-6)
        assert_allclose(plane.threshold, w @ one.mean - spreads[1] / spreads.sum(), rtol=1e-6)
    assert_allclose(planes[0].coef, w, rtol=1e-9)


def test_iterated_least_squares_minimise_the_penalised_sum():
    zero, one = class_moments(*two_classes(5))
    delta = 0.3
    w = cp.Variable(5)
    cost = cp.norm(half(zero.cov) @ w) + cp.norm(half(one.cov) @ w) + delta / 2 * cp.sum_squares(w)
    cp.Problem(cp.Minimize(cost), [w @ (one.mean - zero.mean) == 1]).solve(solver="CLARABEL")
    plane = iterated_least_squares(zero, one, delta, tol=1e-13)
    assert_allclose(plane.coef, w.value, atol=1e-5)


def test_spheres_touch_between_the_means():
    mean, s0, s1 = np.array([3.0, -1.0, 2.0]), 0.7, 1.9
    zero = ClassMoments(np.zeros(3), s0**2 * np.eye(3), 10)
    plane = minimax_hyperplane(zero, ClassMoments(mean, s1**2 * np.eye(3), 10))
    assert_allclose(plane.kappas[0], np.linalg.norm(mean) / (s0 + s1))
    assert_allclose(plane.coef, mean / (mean @ mean))
    assert_allclose(plane.threshold, s0 / (s0 + s1))


def test_equal_covariances_give_fisher_and_half_the_mahalanobis_distance():
    X, y = two_classes(4)
    X[y == 0] -= X[y == 0].mean(axis=0)
    cov = np.cov(X[y == 0].T, bias=True)
    mean = np.array([1.0, -2.0, 0.5, 1.5])
    zero, one = ClassMoments(np.zeros(4), cov, 40), ClassMoments(mean, cov, 70)
    plane, fisher = minimax_hyperplane(zero, one), fisher_hyperplane(zero, one)
    assert_allclose(plane.kappas[0], np.sqrt(mean @ np.linalg.solve(cov, mean)) / 2)
    assert_allclose(plane.coef, fisher.coef)
    assert_allclose(plane.threshold, 0.5)
    assert fisher.gap < 1e-12


def test_fisher_direction_is_that_of_linear_discriminant_analysis():
    X, y = two_classes(5)
    model = MinimaxProbabilityMachine(alpha=0.0, direction="fisher").fit(X, y)
    theirs = LinearDiscriminantAnalysis().fit(X, y).coef_.ravel()
    ours = model.coef_.ravel()
    assert_allclose(ours / np.linalg.norm(ours), theirs / np.linalg.norm(theirs), rtol=1e-9)
    best = MinimaxProbabilityMachine(alpha=0.0).fit(X, y).kappa_
    assert model.kappa_ < best <= model.kappa_ + model.duality_gap_


def test_ellipsoids_are_tangent():
    """The point of each ellipsoid nearest to the plane is one and the same (Figure 3.1)."""
    zero, one = class_moments(*two_classes(3))
    plane = minimax_hyperplane(zero, one)
    w, kappa = plane.coef, plane.kappas[0]
    from_zero = zero.mean + kappa * zero.cov @ w / np.sqrt(w @ zero.cov @ w)
    from_one = one.mean - kappa * one.cov @ w / np.sqrt(w @ one.cov @ w)
    assert_allclose(from_zero, from_one, rtol=1e-10)
    assert_allclose(w @ from_zero, plane.threshold)


def test_worst_case_error_is_attained():
    """A distribution with the sample's moments that is wrong as often as the guarantee allows."""
    X, y = two_classes(3)
    model = MinimaxProbabilityMachine(alpha=0.0).fit(X, y)
    zero, _ = class_moments(X, y)
    w, b = model.coef_.ravel(), -model.intercept_[0]
    spread = np.sqrt(w @ zero.cov @ w)
    along = zero.cov @ w / spread
    kappa, p = model.kappa_, model.worst_case_error_
    # Along `along` two points; across it any distribution with the covariance that is left.
    across = half(zero.cov - np.outer(along, along)).T * np.sqrt(3)
    points, mass = [], []
    for z, share in ((kappa * (1 + 1e-7), p), (-1 / kappa, 1 - p)):
        for axis in across.T:
            for sign in (-1, 1):
                points.append(zero.mean + z * along + sign * axis)
                mass.append(share / 6)
    points, mass = np.array(points), np.array(mass)
    assert_allclose(mass @ points, zero.mean, atol=1e-6)
    centred = points - zero.mean
    assert_allclose(centred.T @ (mass[:, None] * centred), zero.cov, atol=1e-6)
    assert_allclose(mass @ (points @ w > b), p)
    assert_allclose(mass @ (model.predict(points) == 1), p)


def test_kernel_machine_solves_the_published_kernel_problem():
    """Minimise ‖L₁α‖ + ‖L₀α‖ with a ridge on αᵀKα, by cvxpy in the coefficients of the rows."""
    X, y = two_classes(2, (12, 15))
    ridge = 0.03
    K = rbf_kernel(X, gamma=0.4)
    model = MinimaxProbabilityMachine("rbf", alpha=0.0, rho_cov=ridge, gamma=0.4).fit(X, y)
    means = [K[y == j].mean(axis=0) for j in (0, 1)]
    blocks = [(K[y == j] - means[j]) / np.sqrt(np.sum(y == j)) for j in (0, 1)]
    alpha = cp.Variable(27)
    stacked = [cp.norm(np.vstack([L, np.sqrt(ridge) * half(K)]) @ alpha) for L in blocks]
    problem = cp.Problem(cp.Minimize(sum(stacked)), [alpha @ (means[1] - means[0]) == 1])
    problem.solve(solver="CLARABEL")
    assert_allclose(model.kappa_, 1 / problem.value, rtol=1e-6)
    ours = model.dual_coef_.ravel()
    spreads = [np.sqrt(ours @ L.T @ L @ ours + ridge * ours @ K @ ours) for L in blocks]
    assert_allclose(ours @ (means[1] - means[0]) / sum(spreads), model.kappa_, rtol=1e-8)
    assert_allclose(-model.intercept_[0], ours @ means[0] + model.kappa_ * spreads[0], rtol=1e-8)


@pytest.mark.parametrize("n", [(40, 70), (4, 5)])
def test_linear_kernel_csr_and_precomputed_agree_with_plain(n):
    X, y = two_classes(12, n)  # the second has more features than rows
    new = np.random.default_rng(9).normal(size=(20, 12))
    # The alpha is absolute: a share of the variance would depend on the coordinates.
    plain = MinimaxProbabilityMachine(alpha=0.0, rho_cov=0.1).fit(X, y)
    expected = plain.decision_function(new)
    for kernel, train, test in [
        (None, sp.csr_array(X), sp.csr_array(new)),
        ("linear", X, new),
        ("linear", sp.csr_array(X), sp.csr_array(new)),
        ("precomputed", X @ X.T, new @ X.T),
        (lambda A, B: A @ B.T, X, new),
    ]:
        other = MinimaxProbabilityMachine(kernel, alpha=0.0, rho_cov=0.1).fit(train, y)
        assert_allclose(other.kappa_, plain.kappa_, rtol=1e-8)
        assert_allclose(other.decision_function(test), expected, rtol=1e-6, atol=1e-8)


def test_more_features_than_rows_lose_nothing_in_the_span():
    X, y = two_classes(12, (4, 5))
    zero, one = class_moments(X, y)
    model = MinimaxProbabilityMachine(alpha=0.0, rho_cov=0.1).fit(X, y)
    plane = minimax_hyperplane(zero, one, 0.1)
    assert_allclose(model.coef_.ravel(), plane.coef, rtol=1e-7, atol=1e-9)
    assert_allclose(model.kappa_, plane.kappas[0])


def test_landmarks_span_the_kernel():
    X, y = two_classes(2, (30, 30))
    exact = MinimaxProbabilityMachine("rbf", alpha=1e-2).fit(X, y)
    some = MinimaxProbabilityMachine("rbf", alpha=1e-2, n_components=20, random_state=0).fit(X, y)
    assert some.landmarks_.shape == (20, 2)
    assert np.array_equal(X[some.landmark_indices_], some.landmarks_)
    assert np.mean(some.predict(X) == exact.predict(X)) > 0.9
    all_of_them = MinimaxProbabilityMachine("rbf", alpha=1e-2, n_components=60).fit(X, y)
    assert_allclose(all_of_them.decision_function(X), exact.decision_function(X))


def test_uncertain_moments():
    X, y = two_classes(4)
    plain = MinimaxProbabilityMachine(alpha=0.0).fit(X, y)
    wary = MinimaxProbabilityMachine(alpha=0.0, nu_mean=0.2).fit(X, y)
    assert_allclose(wary.coef_, plain.coef_)
    assert_allclose(wary.worst_case_error_, 1 / (1 + (plain.kappa_ - 0.2) ** 2))  # Eq. (3.10)
    assert MinimaxProbabilityMachine(nu_mean=50.0).fit(X, y).worst_case_error_ == 1.0
    zero, one = class_moments(X, y)
    shrunk = MinimaxProbabilityMachine(alpha=0.0, rho_cov=0.5).fit(X, y)
    assert_allclose(shrunk.coef_.ravel(), minimax_hyperplane(zero, one, 0.5).coef)
    # Great uncertainty turns w to the difference of the means, and b to their middle.
    blind = MinimaxProbabilityMachine(alpha=0.0, rho_cov=1e9).fit(X, y)
    difference = one.mean - zero.mean
    assert_allclose(blind.coef_.ravel(), difference / (difference @ difference), rtol=1e-6)
    assert_allclose(
        -blind.intercept_[0], blind.coef_.ravel() @ (one.mean + zero.mean) / 2, rtol=1e-6
    )


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 6))
def test_no_direction_beats_it(seed, d):
    zero, one = class_moments(*two_classes(d, (10, 13), seed))
    plane = minimax_hyperplane(zero, one, 1e-3)
    rng = np.random.default_rng(seed)
    near = plane.coef + 0.05 * np.linalg.norm(plane.coef) * rng.normal(size=(50, d))
    for w in [*near, *rng.normal(size=(50, d))]:
        assert kappa_of(w, zero, one, 1e-3) <= plane.kappas[0] + plane.gap + 1e-12
    assert_allclose(kappa_of(plane.coef, zero, one, 1e-3), plane.kappas[0])


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6))
def test_invariance_to_linear_maps_shifts_and_labels(seed):
    X, y = two_classes(3, (15, 20), seed)
    rng = np.random.default_rng(seed)
    A = np.linalg.qr(rng.normal(size=(3, 3)))[0] * rng.uniform(0.2, 5, 3)
    plain = MinimaxProbabilityMachine(alpha=0.0).fit(X, y)
    order = rng.permutation(len(y))
    mapped = MinimaxProbabilityMachine(alpha=0.0).fit((X @ A + 7.0)[order], y[order])
    assert_allclose(mapped.kappa_, plain.kappa_, rtol=1e-8)
    assert_allclose(
        mapped.decision_function(X @ A + 7.0), plain.decision_function(X), rtol=1e-6, atol=1e-7
    )
    flipped = MinimaxProbabilityMachine(alpha=0.0).fit(X, 1 - y)
    assert_allclose(flipped.decision_function(X), -plain.decision_function(X), rtol=1e-6, atol=1e-8)


def test_scale_of_the_data_does_not_matter_with_the_default_reg():
    X, y = two_classes(3)
    small, large = (MinimaxProbabilityMachine().fit(s * X, y) for s in (1e-4, 1e4))
    assert_allclose(small.kappa_, large.kappa_)


def test_bad_input():
    X, y = two_classes(3, (6, 6))
    fit = MinimaxProbabilityMachine().fit
    with pytest.raises(ValueError, match="identical means"):
        fit(np.r_[X[:6], X[:6]], y)
    with pytest.raises(ValueError, match="OneVsRestClassifier"):
        fit(X, np.arange(12) % 3)
    with pytest.raises(ValueError, match="one class"):
        fit(X, np.ones(12))
    with pytest.raises(ValueError, match="singular in a common direction"):
        MinimaxProbabilityMachine(alpha=0.0).fit(np.c_[X, X[:, 0]], y)
    with pytest.raises(ValueError, match="any spread"):
        fit(X[[0, 6]], [0, 1])
    with pytest.raises(ValueError, match="NaN"):
        fit(np.r_[[[np.nan] * 3], X[1:]], y)
    with pytest.raises(ValueError, match="symmetric"):
        MinimaxProbabilityMachine("precomputed").fit(np.triu(X @ X.T), y)
    with pytest.warns(UserWarning, match="indefinite"):
        MinimaxProbabilityMachine("precomputed").fit(X @ X.T - 2 * np.eye(12) * 0.1, y)
    with pytest.raises(ValueError, match="'alpha'"):
        MinimaxProbabilityMachine(alpha=-1.0).fit(X, y)
    with pytest.raises(ValueError, match="Negative values"):
        fit(X, y, sample_weight=-np.ones(12))


def test_a_class_of_one_row_is_a_point():
    X, y = two_classes(3, (1, 20))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = MinimaxProbabilityMachine(alpha=0.0).fit(X, y)
    _, one = class_moments(X, y)
    difference = one.mean - X[0]
    # κ is then the Mahalanobis distance of that point, and the plane passes through it.
    assert_allclose(model.kappa_, np.sqrt(difference @ np.linalg.solve(one.cov, difference)))
    assert_allclose(model.decision_function(X[:1]), 0, atol=1e-8)


def test_zero_weights_are_absent_rows_of_a_gram_matrix_too():
    X, y = two_classes(3, (8, 9))
    weight = np.ones(17)
    weight[[0, 12]] = 0
    kept = weight > 0
    gram = MinimaxProbabilityMachine("precomputed", alpha=0.0, rho_cov=0.1)
    part = MinimaxProbabilityMachine(alpha=0.0, rho_cov=0.1).fit(X[kept], y[kept])
    gram.fit(X @ X.T, y, sample_weight=weight)
    assert_allclose(gram.decision_function(X @ X.T), part.decision_function(X), rtol=1e-6)
