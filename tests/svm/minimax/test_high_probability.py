"""HighProbabilityMPM against cone programs, limits, geometry and the guarantee itself."""

import builtins
import warnings

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from joblib import parallel_config
from numpy.testing import assert_allclose
from scipy.optimize import brentq
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import StratifiedKFold

from octavo.svm import (
    ClassMoments,
    HighProbabilityMPM,
    HighProbabilityMPMCV,
    InfeasibleUncertainty,
    MinimaxProbabilityMachine,
    MomentUncertainty,
    accuracy_threshold,
    class_moments,
    fisher_hyperplane,
    kappa_along,
    largest_uncertainty,
    minimax_hyperplane,
    moment_uncertainty,
    robust_hyperplane,
    worst_case_error,
)
from octavo.svm.minimax.robust_hyperplanes import _sparse_maximiser
from tests.svm.minimax.test_machine import half, two_classes


def problem(d=4, n=(40, 70), rho=0.1, seed=0, norm="l2"):
    """Return two classes and the share ρ of the largest uncertainty that they can bear."""
    X, y = two_classes(d, n, seed)
    zero, one = class_moments(X, y)
    full = moment_uncertainty(n, np.linalg.norm(X, axis=1).max())
    far = np.linalg.norm(one.mean - zero.mean, 2 if norm == "l2" else np.inf)
    return zero, one, full.times(rho * largest_uncertainty(far, full))


def roots(w, kappa, zero, one, uncertainty):
    spread = np.array([w @ zero.cov @ w, w @ one.cov @ w])
    return np.sqrt(uncertainty.offset + kappa**2 * (spread + uncertainty.inflation))


def kappa_by_bisection(zero, one, uncertainty, norm, steps=40):
    """Return the largest κ for which a cone program finds h(w, κ) ≥ 0."""
    w = cp.Variable(len(zero.mean))
    halves = half(zero.cov), half(one.cov)
    low, high = 0.0, 10.0
    for _ in range(steps):
        kappa = (low + high) / 2
        constant = np.sqrt(uncertainty.offset + kappa**2 * uncertainty.inflation)
        q = [cp.norm(cp.hstack([kappa * (h @ w), c])) for h, c in zip(halves, constant)]
        program = cp.Problem(
            cp.Maximize((one.mean - zero.mean) @ w - sum(q)), [cp.norm(w, norm) <= 1]
        )
        program.solve(solver="CLARABEL")
        low, high = (kappa, high) if program.value > 0 else (low, kappa)
    return (low + high) / 2


positive = st.floats(1e-6, 1e3)


@settings(max_examples=300, deadline=None)
@given(positive, positive, positive, positive, positive, st.floats(1.001, 50))
def test_kappa_along_is_the_root(a0, a1, b0, b1, scale, more):
    offset, spread = np.array([a0, a1]), np.array([b0, b1])
    distance = more * np.sqrt(offset).sum()
    kappa = kappa_along(distance, spread, offset, np.zeros(2))

    def h(k):
        return distance - np.sqrt(offset + k**2 * spread).sum()

    expected = brentq(h, 0.0, distance / np.sqrt(spread).min(), xtol=1e-300, rtol=1e-14)
    assert_allclose(kappa, expected, rtol=1e-9)
    # Equal B must not divide zero by zero.
    same = kappa_along(distance, np.array([b0, b0 * (1 + 1e-15)]), offset, np.zeros(2))
    assert_allclose(same, kappa_along(distance, np.array([b0, b0]), offset, np.zeros(2)))
    assert kappa_along(np.sqrt(offset).sum(), spread, offset, np.zeros(2)) == 0.0


@pytest.mark.parametrize("rho", [1e-6, 1e-2, 0.3, 0.95])
@pytest.mark.parametrize("d", [1, 3, 12])
def test_three_solvers_agree(d, rho):
    zero, one, uncertainty = problem(d, rho=rho)
    planes = {
        s: robust_hyperplane(zero, one, uncertainty, solver=s)
        for s in ("direct", "alternating", "socp")
    }
    kappa = planes["direct"].kappas[0]
    assert_allclose(planes["alternating"].kappas[0], kappa, rtol=1e-8)
    assert_allclose(planes["socp"].kappas[0], kappa, rtol=1e-7)
    for plane in planes.values():
        assert_allclose(np.linalg.norm(plane.coef), 1.0)
        # Both classes ask for the same threshold (Corollary 8).
        q = roots(plane.coef, plane.kappas[0], zero, one, uncertainty)
        assert_allclose(plane.coef @ zero.mean + q[0], plane.threshold, atol=1e-9)
        assert_allclose(plane.coef @ one.mean - q[1], plane.threshold, atol=1e-9)
    for name in ("direct", "alternating"):
        assert planes[name].gap <= 1e-8 * kappa


@pytest.mark.parametrize(("d", "n"), [(4, (40, 70)), (12, (5, 7))])
def test_against_cone_programs(d, n):
    zero, one, uncertainty = problem(d, n)
    plane = robust_hyperplane(zero, one, uncertainty)
    assert_allclose(plane.kappas[0], kappa_by_bisection(zero, one, uncertainty, 2), rtol=1e-6)


@pytest.mark.parametrize(("rho", "nonzero"), [(1e-3, None), (0.1, None), (0.9, 2)])
def test_sparse_weights_against_cone_programs(rho, nonzero):
    zero, one, uncertainty = problem(12, rho=rho, norm="l1")
    plane = robust_hyperplane(zero, one, uncertainty, norm="l1")
    assert_allclose(plane.kappas[0], kappa_by_bisection(zero, one, uncertainty, 1), rtol=1e-6)
    assert_allclose(np.abs(plane.coef).sum(), 1.0)
    assert plane.gap <= 1e-8 * plane.kappas[0]
    if nonzero is not None:
        assert np.count_nonzero(plane.coef) <= nonzero


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 15), st.booleans())
def test_active_set_meets_its_optimality_conditions(seed, d, singular):
    """Maximise slope·v - ½vᵀCv - ½‖v‖₁²: the gradient is ‖v‖₁ on the support, or below."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(max(1, d // 2) if singular else 2 * d, d)) * rng.choice([1e-2, 1, 10])
    C, slope = rows.T @ rows, rng.normal(size=d)
    start = np.where(rng.random(d) < 0.5, rng.normal(size=d), 0.0)
    v = _sparse_maximiser(C, slope, start)
    left, level = slope - C @ v, np.abs(v).sum()
    scale = np.abs(slope).max()
    assert np.all(np.abs(left) <= level + 1e-8 * scale)
    assert_allclose(left[v != 0], level * np.sign(v[v != 0]), atol=1e-8 * scale)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 6), st.sampled_from([1e-5, 1e-2, 0.3, 0.9]))
def test_no_direction_beats_it_and_steps_never_go_down(seed, d, rho):
    zero, one, uncertainty = problem(d, (9, 14), rho, seed)
    trace = []
    plane = robust_hyperplane(
        zero, one, uncertainty, watch=lambda w, kappa: trace.append(kappa) or False
    )
    assert np.all(np.diff(trace) >= -1e-12 * plane.kappas[0])
    rng = np.random.default_rng(seed)
    others = np.r_[plane.coef + 0.05 * rng.normal(size=(50, d)), rng.normal(size=(50, d))]
    for w in others / np.linalg.norm(others, axis=1, keepdims=True):
        spread = np.array([w @ zero.cov @ w, w @ one.cov @ w])
        kappa = kappa_along(
            w @ (one.mean - zero.mean), spread, uncertainty.offset, uncertainty.inflation
        )
        assert kappa <= plane.kappas[0] + plane.gap + 1e-12


def test_gap_bounds_what_an_unfinished_search_misses():
    zero, one, uncertainty = problem(8, rho=1e-3)
    best = robust_hyperplane(zero, one, uncertainty).kappas[0]
    for solver in ("direct", "alternating"):
        for steps in (1, 2):
            early = robust_hyperplane(zero, one, uncertainty, solver=solver, max_iter=steps)
            assert early.kappas[0] <= best <= early.kappas[0] + early.gap
    early = robust_hyperplane(*problem(8, rho=1e-3, norm="l1"), norm="l1", max_iter=1)
    best = robust_hyperplane(*problem(8, rho=1e-3, norm="l1"), norm="l1").kappas[0]
    assert early.kappas[0] <= best <= early.kappas[0] + early.gap


def test_limits():
    zero, one, uncertainty = problem(4, rho=1e-10)
    plain = minimax_hyperplane(zero, one)
    plane = robust_hyperplane(zero, one, uncertainty)
    assert_allclose(plane.kappas[0], plain.kappas[0], rtol=1e-4)  # offsets enter by their root
    assert_allclose(plane.coef, plain.coef / np.linalg.norm(plain.coef), atol=1e-4)
    # Equal covariances: Fisher's direction and half the Mahalanobis distance.
    one = ClassMoments(one.mean, zero.cov, zero.n)
    difference = one.mean - zero.mean
    plane = robust_hyperplane(zero, one, uncertainty)
    fisher = fisher_hyperplane(zero, one).coef
    assert_allclose(plane.coef, fisher / np.linalg.norm(fisher), atol=1e-4)
    mahalanobis = np.sqrt(difference @ np.linalg.solve(zero.cov, difference))
    assert_allclose(plane.kappas[0], mahalanobis / 2, rtol=1e-4)
    # Almost everything uncertain: the direction of the means, and no guarantee.
    zero, one, uncertainty = problem(4, rho=1 - 1e-9)
    plane = robust_hyperplane(zero, one, uncertainty)
    difference = one.mean - zero.mean
    assert_allclose(plane.coef, difference / np.linalg.norm(difference), atol=1e-6)
    assert plane.kappas[0] < 1e-3


def test_regularised_ellipsoids_are_tangent():
    """Eq. (3.16): Σ + (A + offset/κ²)I, of size κ around each mean, touch at the plane."""
    zero, one, uncertainty = problem(3)
    plane = robust_hyperplane(zero, one, uncertainty)
    w, kappa = plane.coef, plane.kappas[0]
    points = []
    for j, (moments, sign) in enumerate([(zero, 1), (one, -1)]):
        ridge = uncertainty.inflation[j] + uncertainty.offset[j] / kappa**2
        cov = moments.cov + ridge * np.eye(3)
        points.append(moments.mean + sign * kappa * cov @ w / np.sqrt(w @ cov @ w))
    assert_allclose(points[0], points[1], atol=1e-7)
    assert_allclose(points[0] @ w, plane.threshold)


def test_more_doubt_means_less_guarantee():
    X, y = two_classes(4)
    top = HighProbabilityMPM().fit(X, y).nu_max_
    kappas = [
        HighProbabilityMPM(uncertainty=r * top).fit(X, y).kappa_ for r in (0.01, 0.1, 0.5, 0.9)
    ]
    assert np.all(np.diff(kappas) < 0)
    nu = 0.2 * top
    by_delta = [
        HighProbabilityMPM(uncertainty=nu, delta=d).fit(X, y).kappa_ for d in (0.5, 0.05, 1e-4)
    ]
    assert np.all(np.diff(by_delta) < 0)
    honest = HighProbabilityMPM(uncertainty=nu, bound="union").fit(X, y)
    assert honest.kappa_ < HighProbabilityMPM(uncertainty=nu).fit(X, y).kappa_


def test_the_plane_is_nearer_to_the_class_seen_more():
    zero = ClassMoments(np.array([-1.0, 0.0]), 0.1 * np.eye(2), 2000)
    one = ClassMoments(np.array([1.0, 0.0]), 0.1 * np.eye(2), 20)
    plane = robust_hyperplane(zero, one, moment_uncertainty([2000, 20], 1.5).times(0.01))
    assert plane.threshold < -0.05
    even = robust_hyperplane(zero, one, moment_uncertainty([200, 200], 1.5).times(0.01))
    assert_allclose(even.threshold, 0.0, atol=1e-12)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.floats(1e-3, 1e3))
def test_invariance_to_rotations_scale_order_and_labels(seed, scale):
    X, y = two_classes(3, (15, 20), seed)
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    order = rng.permutation(35)
    plain = HighProbabilityMPM().fit(X, y)
    other = HighProbabilityMPM().fit(scale * (X @ turn)[order], y[order])
    assert_allclose([other.kappa_, other.nu_max_], [plain.kappa_, plain.nu_max_], rtol=1e-7)
    scores = plain.decision_function(X)
    assert_allclose(other.decision_function(scale * X @ turn) / scale, scores, atol=1e-6)
    flipped = HighProbabilityMPM().fit(X, 1 - y)
    assert_allclose(flipped.decision_function(X), -scores, atol=1e-6)


@pytest.mark.parametrize("n", [(40, 70), (4, 5)])
def test_linear_kernel_csr_and_precomputed_agree_with_plain(n):
    X, y = two_classes(12, n)
    new = np.random.default_rng(9).normal(size=(20, 12))
    plain = HighProbabilityMPM().fit(X, y)
    for kernel, train, test in [
        (None, sp.csr_array(X), sp.csr_array(new)),
        ("linear", X, new),
        ("precomputed", X @ X.T, new @ X.T),
    ]:
        other = HighProbabilityMPM(kernel).fit(train, y)
        assert_allclose([other.kappa_, other.nu_], [plain.kappa_, plain.nu_], rtol=1e-7)
        assert_allclose(other.decision_function(test), plain.decision_function(new), atol=1e-6)
    zero, one = class_moments(X, y)  # more features than rows: nothing is lost in their span
    full = moment_uncertainty(n, plain.radius_).times(plain.nu_)
    assert_allclose(plain.coef_.ravel(), robust_hyperplane(zero, one, full).coef, atol=1e-6)


def test_kernel_solution_meets_the_published_kernel_equations():
    X, y = two_classes(2, (12, 15))
    K = rbf_kernel(X, gamma=0.4)
    model = HighProbabilityMPM("rbf", gamma=0.4).fit(X, y)
    alpha, kappa = model.dual_coef_.ravel(), model.kappa_
    assert_allclose(alpha @ K @ alpha, 1.0)
    assert model.radius_ == 1.0
    assert_allclose(model.A_, moment_uncertainty([12, 15]).inflation * model.nu_)
    means = [K[y == j].mean(axis=0) for j in (0, 1)]
    blocks = [(K[y == j] - means[j]) / np.sqrt(np.sum(y == j)) for j in (0, 1)]
    spread = np.array([alpha @ L.T @ L @ alpha for L in blocks])
    q = np.sqrt(2 * model.A_ + kappa**2 * (spread + model.A_))
    assert_allclose(alpha @ (means[1] - means[0]), q.sum(), rtol=1e-7)
    assert_allclose(-model.intercept_[0], alpha @ means[0] + q[0], rtol=1e-7)
    # No other combination of rows does better (the Gram matrix has full rank here).
    rng = np.random.default_rng(0)
    for other in alpha + 0.05 * np.abs(alpha).mean() * rng.normal(size=(200, 27)):
        other = other / np.sqrt(other @ K @ other)
        spread = np.array([other @ L.T @ L @ other for L in blocks])
        assert (
            kappa_along(other @ (means[1] - means[0]), spread, 2 * model.A_, model.A_)
            <= kappa + 1e-9
        )


def test_threshold_of_fewest_errors_against_brute_force():
    rng = np.random.default_rng(0)
    for _ in range(50):
        scores = rng.integers(0, 8, 15) / 2  # with ties
        y, weight = rng.random(15) < 0.5, rng.integers(1, 4, 15).astype(float)
        found = accuracy_threshold(scores, y, 1.3, weight)
        right = [weight @ ((scores >= b) == y) for b in np.r_[np.unique(scores) - 0.01, 99.0]]
        assert weight @ ((scores >= found) == y) == max(right)
    assert accuracy_threshold([1.0, 2.0, 3.0], [0, 1, 0], near=9.0) > 3.0
    assert accuracy_threshold([1.0, 3.0, 7.0, 9.0], [0, 1, 0, 1], near=8.5) == 8.0
    assert accuracy_threshold([1.0, 3.0, 7.0, 9.0], [0, 1, 0, 1], near=0.0) == 2.0


def test_accuracy_bias_moves_the_plane_only_and_voids_the_certificate():
    X, y = two_classes(3, (20, 90))
    plain = HighProbabilityMPM().fit(X, y)
    moved = HighProbabilityMPM(bias="accuracy").fit(X, y)
    assert_allclose(moved.coef_, plain.coef_)
    assert moved.score(X, y) >= plain.score(X, y)
    assert np.isnan(moved.certificate_)
    assert_allclose(moved.worst_case_error_, plain.worst_case_error_)


# --- the guarantee --------------------------------------------------------------------------


def bounded_draw(rng, n):
    """Two skewed classes inside the unit ball, and their true moments."""
    probabilities = 0.15, 0.25
    centres = np.array([[-0.85, 0.1], [0.85, 0.0]])
    jumps = np.array([[0.7, 0.2], [-0.6, -0.3]])
    rows, moments = [], []
    for p, centre, jump in zip(probabilities, centres, jumps):
        rows.append(centre + (rng.random(n) < p)[:, None] * jump)
        moments.append((centre + p * jump, p * (1 - p) * np.outer(jump, jump)))
    return np.concatenate(rows), np.repeat([0, 1], n), moments


def kept(model, moments, margin):
    """Whether the true moments give both classes the κ that was promised."""
    w, b = model.coef_.ravel(), -model.intercept_[0]
    room = [b - w @ moments[0][0], w @ moments[1][0] - b]
    need = [margin * np.sqrt(w @ cov @ w) for _, cov in moments]
    return room[0] >= need[0] and room[1] >= need[1]


def test_certificate_holds_in_at_least_1_minus_delta_of_200_draws():
    rng, delta, n = np.random.default_rng(0), 0.05, 3000
    promises, held_out = [], []
    for _ in range(200):
        X, y, moments = bounded_draw(rng, n)
        model = HighProbabilityMPM(uncertainty=1.0, radius=1.0, delta=delta, bound="union").fit(
            X, y
        )
        assert 0.0 < model.certificate_ < 1.0
        promises.append(kept(model, moments, model.kappa_))
        new, truth, _ = bounded_draw(rng, 2000)
        wrong = model.predict(new) != truth
        held_out.append(
            max(wrong[truth == 0].mean(), wrong[truth == 1].mean()) <= model.certificate_
        )
    assert np.mean(promises) >= 1 - delta
    assert np.mean(held_out) >= 1 - delta


def test_the_plain_machine_breaks_the_same_promise():
    """The check above can fail: moments taken for exact are too good for small samples."""
    rng = np.random.default_rng(0)
    broken = []
    for _ in range(200):
        X, y, moments = bounded_draw(rng, 15)
        X = X + 0.02 * rng.normal(size=X.shape)  # covariances of 15 rows with a second direction
        moments = [(mean, cov + 0.02**2 * np.eye(2)) for mean, cov in moments]
        model = MinimaxProbabilityMachine(alpha=0.0).fit(X, y)
        broken.append(not kept(model, moments, model.kappa_))
    assert np.mean(broken) > 0.05


def test_certificate_is_nan_where_nothing_is_guaranteed():
    X, y, _ = bounded_draw(np.random.default_rng(0), 3000)
    assert np.isnan(HighProbabilityMPM(uncertainty=0.99).fit(X, y).certificate_)
    whole = HighProbabilityMPM(uncertainty=1.0).fit(X, y)
    assert_allclose(whole.certificate_, worst_case_error(whole.kappa_))


def test_bootstrap_radii_are_smaller():
    X, y, _ = bounded_draw(np.random.default_rng(0), 300)
    formula = HighProbabilityMPM(radius=1.0).fit(X, y)
    boot = HighProbabilityMPM(radius=1.0, bound="bootstrap", random_state=0)
    assert boot.fit(X, y).nu_max_ > 3 * formula.nu_max_
    again = HighProbabilityMPM(radius=1.0, bound="bootstrap", random_state=0).fit(X, y)
    assert_allclose(boot.coef_, again.coef_)
    with pytest.raises(ValueError, match="takes no sample_weight"):
        boot.fit(X, y, sample_weight=np.ones(600))
    with pytest.raises(ValueError, match="two different rows"):
        boot.fit(X[[0, 301, 302]], [0, 1, 1])


# --- cross-validation -----------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [None, "rbf", "precomputed"])
def test_cross_validation_is_fitting_each_share_on_each_fold(kernel):
    X, y = two_classes(6, (20, 25))
    rhos, cv = (0.3, 1e-3, 0.05), StratifiedKFold(3)
    K = rbf_kernel(X, gamma=1 / 6)
    model = HighProbabilityMPMCV(rhos, cv, kernel).fit(K if kernel == "precomputed" else X, y)
    expected = np.empty((3, 3))
    for f, (train, test) in enumerate(cv.split(X, y)):
        plain = None if kernel is None else "rbf"
        top = HighProbabilityMPM(plain).fit(X[train], y[train]).nu_max_
        for r, rho in enumerate(rhos):
            one = HighProbabilityMPM(plain, uncertainty=rho * top).fit(X[train], y[train])
            expected[r, f] = one.score(X[test], y[test])
    assert_allclose(model.cv_scores_, expected)
    means = expected.mean(axis=1)
    assert model.rho_ == max(rho for rho, m in zip(rhos, means) if m >= means.max() - 1e-12)
    assert_allclose(model.nu_, model.rho_ * model.nu_max_)
    assert np.isnan(model.certificate_)


def test_cross_validation_options():
    X, y = two_classes(4, (20, 25))
    with parallel_config("threading"):
        two = HighProbabilityMPMCV(cv=3, n_jobs=2).fit(X, y)
    assert_allclose(two.cv_scores_, HighProbabilityMPMCV(cv=3).fit(X, y).cv_scores_)
    sparse = HighProbabilityMPMCV(cv=3, norm="l1", bias="accuracy").fit(X, y)
    assert_allclose(np.abs(sparse.coef_).sum(), 1.0)
    with pytest.raises(ValueError, match="strictly between"):
        HighProbabilityMPMCV(rhos=(0.5, 1.0)).fit(X, y)
    with pytest.raises(ValueError, match="strictly between"):
        HighProbabilityMPMCV(rhos=()).fit(X, y)
    with pytest.raises(ValueError, match="one class only"):
        HighProbabilityMPMCV(cv=[(np.arange(20), np.arange(20, 45))]).fit(X, y)


# --- bad input ------------------------------------------------------------------------------


def test_infeasible_uncertainty_names_the_largest():
    X, y = two_classes(3)
    with pytest.raises(InfeasibleUncertainty, match="nu_max=") as caught:
        HighProbabilityMPM(uncertainty=1.0).fit(X, y)
    top = float(str(caught.value).split("nu_max=")[1].split(" ")[0].rstrip("."))
    HighProbabilityMPM(uncertainty=0.999 * top).fit(X, y)
    with pytest.raises(InfeasibleUncertainty):
        HighProbabilityMPM(uncertainty=1.001 * top).fit(X, y)
    for norm in ("l2", "l1"):
        with pytest.warns(UserWarning, match="direction between the means"):
            model = HighProbabilityMPM(uncertainty=1.0, on_infeasible="warn", norm=norm).fit(X, y)
        assert model.worst_case_error_ == model.certificate_ == 1.0
    zero, one = class_moments(X, y)
    with pytest.raises(InfeasibleUncertainty, match="feasible"):
        robust_hyperplane(zero, one, moment_uncertainty([40, 70], 9.0))


def test_one_far_row_is_pointed_at():
    X, y = two_classes(3)
    X[0] *= 100
    with pytest.warns(UserWarning, match="five times the median"):
        HighProbabilityMPM(uncertainty=1e-9).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        HighProbabilityMPM(uncertainty=1e-9, radius=1e4).fit(X, y)
        HighProbabilityMPM().fit(X, y)  # a share of what is feasible: the radius cancels


def test_bad_input(monkeypatch):
    X, y = two_classes(3)
    with pytest.raises(ValueError, match="at least the norm of every row"):
        HighProbabilityMPM(radius=0.1).fit(X, y)
    with pytest.raises(ValueError, match="needs kernel=None"):
        HighProbabilityMPM("rbf", norm="l1").fit(X, y)
    with pytest.raises(ValueError, match='leave solver="direct"'):
        HighProbabilityMPM(norm="l1", solver="socp").fit(X, y)
    with pytest.raises(ValueError, match="identical means"):
        HighProbabilityMPM().fit(np.r_[X[:40], X[:40]], np.repeat([0, 1], 40))
    with pytest.raises(ValueError, match="OneVsRestClassifier"):
        HighProbabilityMPM().fit(X, np.arange(110) % 3)
    for bad in ({"uncertainty": 0.0}, {"delta": 1.0}, {"tol": 0.0}, {"bound": "none"}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            HighProbabilityMPM(**bad).fit(X, y)
    zero, one = class_moments(X, y)
    with pytest.raises(ValueError, match="must be positive"):
        robust_hyperplane(zero, one, MomentUncertainty(np.zeros(2), np.ones(2)))
    with pytest.raises(ValueError, match="Unknown norm"):
        robust_hyperplane(zero, one, moment_uncertainty([9, 9]), norm="l3")
    with pytest.warns(ConvergenceWarning, match="might be"):
        HighProbabilityMPM(max_iter=1).fit(X, y)
    real = builtins.__import__

    def without_cvxpy(name, *rest):
        if name == "cvxpy":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without_cvxpy)
    with pytest.raises(ImportError, match="needs cvxpy"):
        HighProbabilityMPM(solver="socp").fit(X, y)


def test_few_rows_are_enough():
    X, y = two_classes(20, (1, 2))
    model = HighProbabilityMPM().fit(X, y)  # singular covariances need no further help
    assert 0 < model.kappa_ < np.inf
    assert model.duality_gap_ <= 1e-8 * model.kappa_


def test_weights_are_repetitions():
    X, y = two_classes(4, (12, 15))
    counts = np.random.default_rng(0).integers(0, 4, 27)
    weighted = HighProbabilityMPM().fit(X, y, sample_weight=counts)
    repeated = HighProbabilityMPM().fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    assert_allclose(weighted.coef_, repeated.coef_, atol=1e-7)
    assert_allclose(weighted.A_, repeated.A_)
