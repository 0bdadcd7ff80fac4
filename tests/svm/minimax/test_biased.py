"""BiasedMPM and MinimumErrorMPM against cone programs, brute force and each other."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from octavo.svm import (
    BiasedMPM,
    ClassMoments,
    MinimaxProbabilityMachine,
    MinimumErrorMPM,
    accuracy_to_kappa,
    biased_hyperplane,
    class_moments,
    minimax_hyperplane,
    minimum_error_hyperplane,
    worst_case_error,
)
from octavo.svm.minimax.curve import GuaranteeCurve
from tests.svm.minimax.test_machine import half, two_classes


@pytest.mark.parametrize("accuracy", [0.0, 0.1, 0.3, 0.45])
def test_against_cvxpy(accuracy):
    """Minimise √(wᵀΣ₁w) with the mean of class 0 far enough behind: a cone program."""
    zero, one = class_moments(*two_classes(5))
    kappa = accuracy_to_kappa(accuracy)
    w = cp.Variable(5)
    behind = w @ (one.mean - zero.mean) - kappa * cp.norm(half(zero.cov) @ w) >= 1
    problem = cp.Problem(cp.Minimize(cp.norm(half(one.cov) @ w)), [behind])
    problem.solve(solver="CLARABEL")
    plane = biased_hyperplane(zero, one, accuracy)
    assert_allclose(plane.kappas, [kappa, 1 / problem.value], rtol=1e-6, atol=1e-12)
    assert plane.gap < 1e-9
    # The threshold keeps both promises.
    spreads = [np.sqrt(plane.coef @ m.cov @ plane.coef) for m in (zero, one)]
    ends = plane.threshold - plane.coef @ zero.mean, plane.coef @ one.mean - plane.threshold
    assert_allclose(np.array(ends) / spreads, plane.kappas, rtol=1e-9, atol=1e-12)


def test_minimax_machine_is_where_both_guarantees_are_equal():
    zero, one = class_moments(*two_classes(4))
    plain = minimax_hyperplane(zero, one)
    accuracy = 1 - worst_case_error(plain.kappas[0])
    biased = biased_hyperplane(zero, one, float(accuracy))
    assert_allclose(biased.kappas[1], plain.kappas[1])
    assert_allclose(biased.coef, plain.coef, rtol=1e-7)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 6))
def test_the_curve_falls_and_is_the_frontier(seed, d):
    zero, one = class_moments(*two_classes(d, (15, 20), seed))
    curve = GuaranteeCurve(zero, one, (1e-3, 1e-3))
    zeros, ones = curve.kappas(np.linspace(0.01, 0.99, 60))
    assert np.all(np.diff(zeros) <= 1e-12)
    assert np.all(np.diff(ones) >= -1e-12)
    # A direction with κ₀ at a point of the curve never has a larger κ₁ than the curve.
    rng = np.random.default_rng(seed)
    for w in rng.normal(size=(30, d)):
        w = w * np.sign(w @ curve.difference)
        spreads = [np.sqrt(w @ cov @ w) for cov in curve.covs]
        reached = (w @ curve.difference - zeros * spreads[0]) / spreads[1]
        assert np.all(reached <= ones + 1e-9)
    # Its ends are the Mahalanobis distances.
    lengths = [
        np.sqrt(curve.difference @ np.linalg.solve(cov, curve.difference)) for cov in curve.covs
    ]
    assert_allclose(curve.reach, lengths, rtol=1e-6)


def test_protecting_the_other_class_is_swapping_labels():
    X, y = two_classes(4)
    first = BiasedMPM(0.4, protected=0).fit(X, y)
    second = BiasedMPM(0.4, protected=1).fit(X, 1 - y)
    assert_allclose(second.decision_function(X), -first.decision_function(X), rtol=1e-8)
    assert_allclose(second.worst_case_accuracy_, first.worst_case_accuracy_[::-1])
    assert_allclose(first.worst_case_accuracy_[0], 0.4)
    assert_allclose(first.worst_case_error_, 1 - first.worst_case_accuracy_.min())


def test_an_impossible_accuracy_names_the_largest():
    X, y = two_classes(3)
    with pytest.raises(ValueError, match=r"min_accuracy=0\.999 cannot be guaranteed") as caught:
        BiasedMPM(0.999).fit(X, y)
    largest = float(str(caught.value).split("stays below ")[1].split(" ")[0])
    possible = BiasedMPM(largest - 1e-3).fit(X, y)
    assert possible.worst_case_accuracy_[1] < 0.05
    with pytest.raises(ValueError, match="cannot be guaranteed"):
        BiasedMPM(largest + 1e-3).fit(X, y)
    for protected in (1, 0):
        with pytest.warns(UserWarning, match="That is taken"):
            most = BiasedMPM(0.999, protected, on_infeasible="warn").fit(X, y)
        other = X[y == 1 - protected].mean(axis=0, keepdims=True)
        assert_allclose(most.decision_function(other), 0.0, atol=1e-8)
        assert most.worst_case_accuracy_[1 - protected] < 1e-8
    assert_allclose(most.worst_case_accuracy_[0], largest, atol=1e-4)  # four printed digits


def brute_force_error(zero, one, prior, n_angles=721, n_places=801):
    """Return the smallest weighted worst-case error over a grid of lines between the means."""
    angles = np.linspace(0, 2 * np.pi, n_angles)
    best = 1.0
    for w in np.c_[np.cos(angles), np.sin(angles)]:
        spread0, spread1 = np.sqrt(w @ zero.cov @ w), np.sqrt(w @ one.cov @ w)
        ends = np.array([zero.mean @ w, one.mean @ w])
        b = np.linspace(*ends, n_places)
        error = (1 - prior) * worst_case_error((b - ends[0]) / spread0)
        error += prior * worst_case_error((ends[1] - b) / spread1)
        best = min(best, error.min())
    return best


@pytest.mark.parametrize("prior", [0.05, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("apart", [0.4, 2.5])
def test_minimum_error_against_brute_force(prior, apart):
    zero = ClassMoments(np.zeros(2), np.array([[1.0, 0.4], [0.4, 0.5]]), 10)
    one = ClassMoments(apart * np.array([1.0, 0.7]), np.array([[0.3, -0.2], [-0.2, 0.8]]), 10)
    plane = minimum_error_hyperplane(zero, one, prior)
    errors = worst_case_error(plane.kappas)
    ours = (1 - prior) * errors[0] + prior * errors[1]
    grid = brute_force_error(zero, one, prior)
    # A grid of half degrees and 800 places between the means misses less than 1e-3 of the optimum.
    assert ours <= grid + 1e-9
    assert_allclose(ours, grid, atol=1e-3)


def test_equal_priors_and_covariances_are_the_plain_machine():
    X, y = two_classes(3, (40, 40))
    X[y == 0] = X[y == 1] - 6.0  # the same cloud, shifted: good guarantees, a single optimum
    plain = MinimaxProbabilityMachine().fit(X, y)
    other = MinimumErrorMPM(prior=0.5).fit(X, y)
    assert_allclose(other.kappas_, plain.kappa_, rtol=1e-6)
    assert_allclose(other.worst_case_error_, plain.worst_case_error_, rtol=1e-10)
    assert_allclose(other.decision_function(X), plain.decision_function(X), atol=1e-6)


def test_the_rarer_class_loses_ground():
    X, y = two_classes(3)
    rare, common = MinimumErrorMPM(prior=0.1).fit(X, y), MinimumErrorMPM(prior=0.9).fit(X, y)
    assert rare.worst_case_accuracy_[1] < common.worst_case_accuracy_[1]
    model = MinimumErrorMPM().fit(X, y)
    assert_allclose(model.prior_, 70 / 110)
    plain = MinimaxProbabilityMachine().fit(X, y)
    assert model.worst_case_error_ <= plain.worst_case_error_ + 1e-12


@pytest.mark.parametrize("make", [lambda **k: BiasedMPM(0.2, **k), MinimumErrorMPM])
def test_linear_kernel_agrees(make):
    X, y = two_classes(4)
    plain, kernel = make(alpha=0.0).fit(X, y), make(kernel="linear", alpha=0.0).fit(X, y)
    assert_allclose(kernel.kappas_, plain.kappas_, rtol=1e-6)
    assert_allclose(kernel.decision_function(X), plain.decision_function(X), rtol=1e-4, atol=1e-6)


def test_bad_input():
    X, y = two_classes(3, (6, 6))
    for bad in ({"min_accuracy": 1.0}, {"min_accuracy": -0.1}, {"protected": 2}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            BiasedMPM(**bad).fit(X, y)
    with pytest.raises(ValueError, match="prior"):
        MinimumErrorMPM(prior=1.0).fit(X, y)
    zero, one = class_moments(X, y)
    with pytest.raises(ValueError, match="strictly between 0 and 1"):
        minimum_error_hyperplane(zero, one, 0.0)
    with pytest.raises(ValueError, match="OneVsRestClassifier"):
        MinimumErrorMPM().fit(X, np.arange(12) % 3)
    with pytest.raises(ValueError, match="identical means"):
        MinimumErrorMPM().fit(np.r_[X[:6], X[:6]], y)
