"""The geometric median subspace against cvxpy, closed forms, brute force and its own theory."""

import warnings

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.sparse import csr_array
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning

from octavo.decomposition import (
    GeometricMedianSubspace,
    RobustPrecision,
    gms_precision,
    make_outlier_subspace,
)
from octavo.decomposition.gms.solver import descend, zero_map
from octavo.decomposition.gms.variants import dimension_by_gap, water_fill
from octavo.engine.linalg.weighted_scatter import advance, upper_factor, whitened_scatter


def projector(rows):
    basis = np.linalg.qr(np.asarray(rows).T)[0]
    return basis @ basis.T


def recovery_error(model, sample):
    return np.linalg.norm(projector(model.components_) - sample.basis @ sample.basis.T)


def cvxpy_solution(X, alpha=0.0, cap=None):
    Q = cp.Variable((X.shape[1],) * 2, symmetric=True)
    objective = cp.sum(cp.norm(X @ Q, axis=1)) + alpha * cp.sum_squares(Q)
    constraints = [cp.trace(Q) == 1]
    if cap is not None:
        constraints += [Q >> 0, cap * np.eye(X.shape[1]) - Q >> 0]
    problem = cp.Problem(cp.Minimize(objective), constraints)
    with warnings.catch_warnings():  # it stops short of 1e-12 and says so
        warnings.simplefilter("ignore", UserWarning)
        problem.solve(solver="CLARABEL", tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
    return problem.value, Q.value


DATA = {
    "gaussian": np.random.default_rng(0).standard_normal((50, 4)),
    "heavy tails": np.random.default_rng(1).standard_t(2.0, (60, 5)) * [4.0, 2.0, 1.0, 1.0, 0.5],
    "on a plane": make_outlier_subspace(40, 30, 5, 2, random_state=2).X,
    "few outliers": make_outlier_subspace(40, 4, 6, 2, random_state=3).X,
}


@pytest.mark.parametrize("name", DATA)
def test_objective_is_that_of_cvxpy(name):
    X = DATA[name]
    found = gms_precision(X)
    value, Q = cvxpy_solution(X)
    assert found.objective == pytest.approx(value, rel=1e-8)
    assert found.objective <= value * (1 + 1e-9)
    np.testing.assert_allclose(found.precision, Q, atol=1e-4)


@pytest.mark.parametrize("alpha", [0.1, 3.0, 100.0])
@pytest.mark.parametrize("name", DATA)
def test_penalised_objective_is_that_of_cvxpy(name, alpha):
    value, Q = cvxpy_solution(DATA[name], alpha)
    found = gms_precision(DATA[name], alpha=alpha)
    assert found.objective == pytest.approx(value, rel=1e-8)
    # Strong convexity: an error of 1e-9 in the value is one of sqrt(1e-9 F / alpha) in Q.
    np.testing.assert_allclose(found.precision, Q, atol=np.sqrt(1e-9 * value / alpha))


@pytest.mark.parametrize("name", ["gaussian", "heavy tails", "on a plane"])
def test_reaper_is_that_of_cvxpy(name):
    X = DATA[name]
    value, _ = cvxpy_solution(X, cap=1.0 / (X.shape[1] - 2))
    model = GeometricMedianSubspace(2, variant="reaper", max_iter=2000).fit(X)
    assert model.objective_ == pytest.approx(value, rel=1e-7)
    # Rows in the kernel have residuals of 1e-11, of which rounding leaves five digits.
    assert model.duality_gap_ <= (1e-3 if name == "on a plane" else 1e-7) * value
    assert np.linalg.eigvalsh(model.precision_)[-1] <= (1 + 1e-9) / (X.shape[1] - 2)


@pytest.mark.parametrize("name", DATA)
def test_certificate_holds_and_is_tight(name):
    """The bound is below what cvxpy reaches, and the gap is small."""
    found = gms_precision(DATA[name])
    value, _ = cvxpy_solution(DATA[name])
    assert found.objective - found.duality_gap <= value * (1 + 1e-9)
    assert found.duality_gap <= 1e-8 * found.objective
    assert found.kkt_residual <= 1e-7


def test_certificate_is_the_stationarity_equation():
    X = DATA["gaussian"]
    found = gms_precision(X)
    w = 1.0 / np.linalg.norm(X @ found.precision, axis=1)
    A = (X.T * w) @ X
    G = (found.precision @ A + A @ found.precision) / 2.0  # Eq. (36)
    np.testing.assert_allclose(G, found.objective * np.eye(4), atol=1e-8 * found.objective)


def test_gap_is_honest_when_stopped_early():
    X = DATA["heavy tails"]
    best = gms_precision(X).objective
    for max_iter in (2, 5, 10):
        with pytest.warns(ConvergenceWarning, match="duality gap"):
            early = gms_precision(X, max_iter=max_iter)
        assert not early.converged
        assert early.n_iter == max_iter
        assert early.objective - early.duality_gap <= best <= early.objective


def test_one_step_with_unit_weights_is_the_inverse_covariance():
    """Theorem 10: squared norms give (XᵀX)⁻¹ over its trace, whose subspace is that of PCA."""
    X = DATA["heavy tails"]
    Z = np.asfortranarray(np.eye(5) / np.sqrt(5))
    B = whitened_scatter(X, Z, lambda r: np.ones_like(r))[0]
    Z = advance(Z, upper_factor(B))
    inverse = np.linalg.inv(X.T @ X)
    np.testing.assert_allclose(Z @ Z.T, inverse / np.trace(inverse), rtol=1e-9)
    pca = PCA(2).fit(np.vstack([X, -X]))  # centred by symmetry
    bottom = np.linalg.eigh(Z @ Z.T)[1][:, :2]
    np.testing.assert_allclose(bottom @ bottom.T, projector(pca.components_), atol=1e-9)


def test_plane_by_brute_force():
    """d = 1, D = 2: Q = I/2 + a (cos 2t, sin 2t; sin 2t, -cos 2t) is scanned over t and a."""
    rng = np.random.default_rng(0)
    X = np.vstack([np.outer(rng.standard_normal(30), [0.6, 0.8]), rng.uniform(size=(12, 2))])

    def value(t, a):
        turn = np.array([[np.cos(t), np.sin(t)], [np.sin(t), -np.cos(t)]])
        return np.linalg.norm(X @ (np.eye(2) / 2 + a * turn), axis=1).sum()

    def best_over_a(t):
        return minimize_scalar(lambda a: value(t, a), bounds=(0, 1), method="bounded").fun

    centre, width = np.pi, np.pi
    for _ in range(4):  # the objective has a kink at its minimum: refine the scan there
        angles = np.linspace(centre - width, centre + width, 201)
        values = [best_over_a(t) for t in angles]
        centre, width = angles[np.argmin(values)], width / 50
    found = gms_precision(X)
    assert found.objective <= min(values)
    # The last grid is 2.5e-7 wide; the slope is at most the sum of the norms, 40 or so.
    assert found.objective == pytest.approx(min(values), abs=1e-4)
    assert abs(found.kernel[:, 0] @ [0.6, 0.8]) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("outliers", ["cube", "haystack", "asymmetric"])
@pytest.mark.parametrize("size", [(125, 125, 10, 5), (125, 125, 50, 5), (100, 160, 60, 8)])
def test_exact_recovery(size, outliers):
    sample = make_outlier_subspace(*size, outliers=outliers, random_state=0)
    model = GeometricMedianSubspace().fit(sample.X)
    assert model.n_components_ == size[-1]
    assert recovery_error(model, sample) <= 1e-10
    assert model.duality_gap_ <= 1e-8 * model.objective_
    inliers = -model.score_samples(sample.X)[sample.is_inlier]
    assert inliers.max() <= 1e-10


def test_error_is_linear_in_delta():
    """Section 6.4: the error of the smoothed solution is proportional to δ."""
    sample = make_outlier_subspace(250, 250, 100, 10, random_state=0)
    deltas = np.geomspace(1e-8, 1e-3, 6)
    errors = []
    for delta in deltas:
        model = GeometricMedianSubspace(10, delta=delta).fit(sample.X)
        errors.append(recovery_error(model, sample))
    slope = np.polyfit(np.log(deltas), np.log(errors), 1)[0]
    assert slope == pytest.approx(1.0, abs=0.1)


def test_smoothed_solutions_approach_the_exact_one():
    X = DATA["on a plane"]
    exact = gms_precision(X)
    smooth = gms_precision(X, delta=1e-9, exact=False)
    assert smooth.kernel.shape == (5, 0)
    # F(Q_δ) exceeds the minimum by at most N δ / 2 (Section 2.8).
    assert exact.objective <= smooth.objective <= exact.objective + len(X) * 1e-9 / 2
    np.testing.assert_allclose(smooth.precision, exact.precision, atol=1e-6)


def test_zero_map_leaves_the_solution_where_it_is():
    """Eq. (39): the solution is a fixed point of T, and T is the limit of Eq. (40)."""
    sample = make_outlier_subspace(40, 30, 5, 2, random_state=2)
    Q = gms_precision(sample.X).precision
    np.testing.assert_allclose(zero_map(sample.X, Q, sample.is_inlier), Q, atol=1e-8)
    rng = np.random.default_rng(0)
    outside = np.linalg.svd(sample.basis)[0][:, 2:]
    start = outside @ np.diag(rng.uniform(1, 2, 3)) @ outside.T
    delta = 1e-12
    w = 1.0 / np.maximum(np.linalg.norm(sample.X @ start, axis=1), delta)
    U, s, Vt = np.linalg.svd(sample.X * np.sqrt(w)[:, None], full_matrices=False)
    limit = (Vt.T / s**2) @ Vt
    expected = zero_map(sample.X, start, sample.is_inlier)
    np.testing.assert_allclose(limit / np.trace(limit), expected, atol=1e-8)


def test_objective_never_rises():
    for X in DATA.values():
        path = descend(X, 1e-11).path
        assert np.diff(path).max() <= 1e-12 * path[0]


def test_a_sample_finds_the_kernel_of_many_rows_and_the_rest_is_exact():
    sample = make_outlier_subspace(25_000, 25_000, 6, 2, random_state=0)
    found = gms_precision(sample.X)
    assert found.converged
    assert found.kernel.shape == (6, 2)
    assert found.duality_gap <= 1e-10 * found.objective
    Q = zero_map(sample.X, found.precision, sample.is_inlier)
    np.testing.assert_allclose(found.precision, Q, atol=1e-9)


def test_many_rows_without_a_kernel():
    X = np.random.default_rng(0).standard_t(3.0, (41_000, 3)) * [1.0, 2.0, 3.0]
    found = gms_precision(X)
    assert found.converged
    assert found.kernel.shape == (3, 0)
    assert found.duality_gap <= 1e-9 * found.objective


def test_rank_deficient_data_are_reduced():
    rng = np.random.default_rng(0)
    lift = np.linalg.qr(rng.standard_normal((9, 5)))[0]
    X = DATA["heavy tails"]
    small, large = gms_precision(X), gms_precision(X @ lift.T)
    assert large.objective == pytest.approx(small.objective, rel=1e-10)
    np.testing.assert_allclose(large.precision, lift @ small.precision @ lift.T, atol=1e-9)


def test_more_features_than_rows():
    sample = make_outlier_subspace(30, 10, 200, 3, random_state=0)
    model = GeometricMedianSubspace(3, variant="gms2", random_state=0).fit(sample.X)
    assert model.eigenvectors_.shape == (13, 200)
    assert recovery_error(model, sample) <= 1e-8


FEW = (100, 20, 100, 20)  # Section 6.2, case (b)


@pytest.mark.parametrize(
    "options",
    [
        {"variant": "gms2", "random_state": 0},
        {"alpha": 100.0},
        {"alpha": "bisect"},
        {"variant": "egms", "drop_per_round": "nonzero"},
    ],
    ids=["gms2", "penalty", "bisection", "fast egms"],
)
def test_few_outliers(options):
    sample = make_outlier_subspace(*FEW, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = GeometricMedianSubspace(20, **options).fit(sample.X)
    assert recovery_error(model, sample) <= 1e-7


def test_few_outliers_are_told_of():
    sample = make_outlier_subspace(*FEW, random_state=0)
    with pytest.warns(UserWarning, match="variant='gms2'"):
        model = GeometricMedianSubspace(20).fit(sample.X)
    assert recovery_error(model, sample) > 1.0


def test_gms2_tells_the_dimension():
    sample = make_outlier_subspace(*FEW, random_state=0)
    model = GeometricMedianSubspace(variant="gms2", random_state=0).fit(sample.X)
    assert model.n_components_ == 20


def test_bisection_finds_a_kernel_of_the_dimension():
    sample = make_outlier_subspace(*FEW, random_state=1)
    model = GeometricMedianSubspace(20, alpha="bisect").fit(sample.X)
    assert model.alpha_ > 0
    small = model.eigenvalues_ < 1e-6 * model.eigenvalues_[-1]
    assert small.sum() == 20


def test_bisection_without_a_kernel_says_so():
    X = np.random.default_rng(0).standard_normal((80, 5))
    with pytest.warns(ConvergenceWarning, match="alpha = 0 is taken"):
        model = GeometricMedianSubspace(2, alpha="bisect").fit(X)
    assert model.alpha_ == 0.0
    plain = GeometricMedianSubspace(2).fit(X)
    np.testing.assert_allclose(model.components_, plain.components_, atol=1e-8)


def test_egms_orders_robust_principal_vectors():
    """Without outliers the order and the directions are those of the axes."""
    X = np.random.default_rng(0).standard_normal((4000, 4)) * [8.0, 4.0, 2.0, 1.0]
    model = GeometricMedianSubspace(3, variant="egms").fit(X)
    np.testing.assert_allclose(np.abs(model.components_), np.eye(4)[:3], atol=0.06)
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(3), atol=1e-10)


def test_egms_first_round_removes_the_top_eigenvector():
    X = DATA["heavy tails"]
    model = GeometricMedianSubspace(4, variant="egms").fit(X)
    top = np.linalg.eigh(gms_precision(X).precision)[1][:, -1]
    np.testing.assert_allclose(np.abs(model.components_ @ top), 0.0, atol=1e-6)


def test_affine_subspaces_are_found_after_centring():
    sample = make_outlier_subspace(300, 60, 8, 2, outliers="haystack", random_state=0)
    shift = np.full(8, 30.0)
    plain = GeometricMedianSubspace(2).fit(sample.X + shift)
    centred = GeometricMedianSubspace(2, center="geometric_median").fit(sample.X + shift)
    assert recovery_error(plain, sample) > 0.5
    assert recovery_error(centred, sample) < 0.05
    assert np.linalg.norm(centred.location_ - shift) < 1.0
    mean = GeometricMedianSubspace(2, center="mean").fit(sample.X + shift)
    np.testing.assert_allclose(mean.location_, (sample.X + shift).mean(axis=0))


def test_spherize_removes_the_scale_of_rows():
    sample = make_outlier_subspace(100, 60, 8, 2, random_state=0)
    scales = np.exp(np.random.default_rng(0).normal(scale=3.0, size=(160, 1)))
    one = GeometricMedianSubspace(2, spherize=True).fit(sample.X)
    other = GeometricMedianSubspace(2, spherize=True).fit(sample.X * scales)
    np.testing.assert_allclose(other.precision_, one.precision_, atol=1e-8)


def test_a_huge_row_takes_over_unless_spherized():
    sample = make_outlier_subspace(100, 60, 8, 2, outliers="haystack", random_state=0)
    X = np.vstack([sample.X, 1e3 * np.ones(8)])
    assert recovery_error(GeometricMedianSubspace(2).fit(X), sample) > 0.1
    assert recovery_error(GeometricMedianSubspace(2, spherize=True).fit(X), sample) < 1e-8


seeds = st.integers(0, 2**31)


@settings(max_examples=15, deadline=None)
@given(seeds, st.floats(1e-6, 1e6))
def test_invariances(seed, scale):
    rng = np.random.default_rng(seed)
    X = rng.standard_t(3.0, (40, 4))
    turn = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    Q = gms_precision(X).precision
    assert np.trace(Q) == pytest.approx(1.0, rel=1e-12)
    assert np.linalg.eigvalsh(Q)[0] >= -1e-15
    np.testing.assert_allclose(gms_precision(X @ turn).precision, turn.T @ Q @ turn, atol=1e-7)
    np.testing.assert_allclose(gms_precision(scale * X).precision, Q, atol=1e-7)
    np.testing.assert_allclose(gms_precision(X[rng.permutation(40)]).precision, Q, atol=1e-7)
    np.testing.assert_allclose(gms_precision(np.vstack([X, -X])).precision, Q, atol=1e-7)


def test_zero_rows_change_nothing_but_warn():
    X = DATA["heavy tails"]
    plain = GeometricMedianSubspace(2).fit(X)
    with pytest.warns(UserWarning, match="2 of 62 rows are zero"):
        padded = GeometricMedianSubspace(2).fit(np.vstack([X[:7], np.zeros((2, 5)), X[7:]]))
    np.testing.assert_allclose(padded.precision_, plain.precision_, atol=1e-12)
    assert padded.weights_.shape == (62,)
    np.testing.assert_array_equal(padded.weights_[7:9], 0.0)


def test_badly_scaled_columns():
    X = np.random.default_rng(0).standard_normal((200, 12)) * np.geomspace(1.0, 1e-6, 12)
    found = gms_precision(X)
    assert found.converged
    assert found.duality_gap <= 1e-7 * found.objective
    assert np.linalg.eigvalsh(found.precision)[0] >= -1e-16


@pytest.mark.parametrize("variant", ["gms", "gms2", "egms", "reaper"])
def test_sparse_input_is_the_same_as_dense(variant):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 6)) * (rng.uniform(size=(80, 6)) < 0.5)
    X = X[np.abs(X).sum(axis=1) > 0]
    model = GeometricMedianSubspace(2, variant=variant, random_state=0)
    dense = model.fit(X)
    expected = (dense.components_, dense.score_samples(X), dense.outlier_scores(X))
    sparse = model.fit(csr_array(X))
    found = (
        sparse.components_,
        sparse.score_samples(csr_array(X)),
        sparse.outlier_scores(csr_array(X)),
    )
    for one, other in zip(found, expected):
        np.testing.assert_allclose(one, other, atol=1e-7)
    np.testing.assert_allclose(sparse.transform(csr_array(X)), dense.transform(X), atol=1e-7)


def test_rows_in_a_file_are_read_by_blocks(tmp_path):
    sample = make_outlier_subspace(1500, 1500, 6, 2, random_state=0)
    path = tmp_path / "rows.npy"
    np.save(path, sample.X)
    mapped = np.load(path, mmap_mode="r")
    found = gms_precision(mapped)
    np.testing.assert_allclose(found.precision, gms_precision(sample.X).precision, atol=1e-12)


def test_float32_is_kept_by_transform_and_solved_in_double():
    sample = make_outlier_subspace(100, 60, 8, 2, noise=0.01, random_state=0)
    single = sample.X.astype(np.float32)
    model = GeometricMedianSubspace(2).fit(single)
    assert model.transform(single).dtype == np.float32
    double = GeometricMedianSubspace(2).fit(single.astype(np.float64))
    np.testing.assert_allclose(model.precision_, double.precision_, atol=1e-9)


def test_directions_are_orthonormal_beside_a_nearly_singular_complement():
    """A huge row is all but in the kernel; its direction must not mix with that."""
    sample = make_outlier_subspace(100, 60, 8, 2, outliers="haystack", random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = GeometricMedianSubspace(2).fit(np.vstack([sample.X, 1e7 * np.ones(8)]))
    np.testing.assert_allclose(model.eigenvectors_ @ model.eigenvectors_.T, np.eye(8), atol=1e-12)
    assert np.isfinite(model.duality_gap_)


def test_transform_and_back():
    sample = make_outlier_subspace(100, 60, 8, 2, random_state=0)
    model = GeometricMedianSubspace(2, center="mean").fit(sample.X)
    points = model.inverse_transform(model.transform(sample.X))
    residual = np.linalg.norm(sample.X - points, axis=1)
    np.testing.assert_allclose(model.score_samples(sample.X), -residual, atol=1e-12)
    with pytest.raises(ValueError, match="2 columns"):
        model.inverse_transform(np.ones((3, 4)))


def test_robust_precision_view():
    X = DATA["heavy tails"]
    model = GeometricMedianSubspace(2, center="geometric_median").fit(X)
    view = model.robust_precision_
    assert isinstance(view, RobustPrecision)
    centred = X - model.location_
    Q = model.precision_
    np.testing.assert_allclose(view.residuals(X), np.linalg.norm(centred @ Q, axis=1))
    np.testing.assert_allclose(view.mahalanobis(X), np.einsum("ij,ij->i", centred @ Q, centred))
    inverse = np.linalg.inv(Q)
    np.testing.assert_allclose(view.covariance(), inverse / np.trace(inverse), rtol=1e-8)
    np.testing.assert_array_equal(view.principal_axes(2), model.components_)
    np.testing.assert_allclose(view.residuals(X).sum(), model.objective_)


def test_points_off_the_span_of_the_data_are_outlying():
    rng = np.random.default_rng(0)
    X = np.hstack([rng.standard_normal((50, 3)), np.zeros((50, 1))])
    model = GeometricMedianSubspace(1).fit(X)
    new = np.array([[0.0, 0.0, 0.0, 2.0]])
    np.testing.assert_allclose(model.score_samples(new), -2.0)
    np.testing.assert_allclose(model.outlier_scores(new), 2.0 * model.eigenvalues_[-1])


def test_dimension_by_gap():
    assert dimension_by_gap(np.array([1e-12, 1e-11, 0.1, 0.4, 0.5])) == 2
    assert dimension_by_gap(np.array([0.0, 0.0, 0.0, 0.5])) == 3
    assert dimension_by_gap(np.array([1.0])) == 1


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(1e-6, 1e6), min_size=3, max_size=8), st.data())
def test_water_filling_solves_its_problem(values, data):
    """min Σ q²/s over 0 ≤ q ≤ cap, Σq = 1: all q below the cap have the same q/s, others less."""
    s = np.sort(np.array(values))[::-1]
    cap = 1.0 / data.draw(st.integers(1, len(s) - 1))
    q = water_fill(s, cap)
    assert q.sum() == pytest.approx(1.0)
    assert (q <= cap * (1 + 1e-12)).all()
    free = q < cap * (1 - 1e-12)
    if free.any():
        level = (q / s)[free]
        np.testing.assert_allclose(level, level[0], rtol=1e-9)
        assert ((q / s)[~free] <= level[0] * (1 + 1e-9)).all()


def test_callbacks_can_stop_a_fit():
    steps = []
    found = descend(DATA["heavy tails"], 1e-11, step=lambda: len(steps) == 3 or steps.append(1))
    assert len(found.path) == 4
    assert not found.converged


BAD = [
    ({"n_components": 4}, DATA["gaussian"], "must be below the number of features, 4"),
    ({"n_components": 0}, DATA["gaussian"], "'n_components'"),
    ({"variant": "egms"}, DATA["gaussian"], "needs n_components"),
    ({"variant": "reaper"}, DATA["gaussian"], "needs n_components"),
    ({"alpha": "bisect"}, DATA["gaussian"], "needs n_components"),
    ({"variant": "gms2", "alpha": 1.0}, DATA["gaussian"], "penalty of variant='gms'"),
    ({"variant": "mle"}, DATA["gaussian"], "'variant'"),
    ({"center": "mean"}, csr_array(DATA["gaussian"]), "dense"),
    ({}, np.ones((1, 3)), "minimum of 2"),
    ({}, np.ones((5, 1)), "minimum of 2"),
    ({}, np.array([[1.0, np.nan], [0.0, 1.0]]), "NaN"),
    ({}, np.array([[1.0, np.inf], [0.0, 1.0]]), "infinity"),
    ({"n_components": 2}, np.outer(np.arange(1, 9), [1.0, 2.0, 3.0]), "dimension of what"),
    ({"center": "mean"}, np.ones((5, 3)), "All 5 rows are equal"),
    ({}, 1e200 * np.random.default_rng(0).standard_normal((9, 3)), "norms of 9 rows overflow"),
]


@pytest.mark.parametrize(("options", "X", "words"), BAD, ids=[words for _, _, words in BAD])
def test_bad_input(options, X, words):
    with pytest.raises(ValueError, match=words):
        GeometricMedianSubspace(**options).fit(X)


@pytest.mark.filterwarnings("ignore:5 of 5 rows are zero")
def test_nothing_but_zeros():
    with pytest.raises(ValueError, match="no row that is not zero"):
        GeometricMedianSubspace().fit(np.zeros((5, 3)))


@pytest.mark.filterwarnings("ignore:at most")
def test_data_on_a_line():
    model = GeometricMedianSubspace().fit(np.outer(np.arange(1, 9), [3.0, 0.0, 4.0]))
    np.testing.assert_allclose(model.components_, [[0.6, 0.0, 0.8]], atol=1e-12)
    assert np.isfinite(model.objective_)


@pytest.mark.filterwarnings("ignore:at most")
def test_duplicates_and_constant_columns():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.standard_normal((20, 4)), 3, axis=0)
    X[:, 2] = 1.0
    model = GeometricMedianSubspace().fit(X)
    assert np.isfinite(model.precision_).all()
    assert model.duality_gap_ <= 1e-8 * model.objective_


@pytest.mark.parametrize("drop", [2, 3, 50])
@pytest.mark.parametrize("n_outliers", [1, 2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_egms_never_removes_what_is_in_the_kernel(drop, n_outliers, seed):
    """With fewer outliers than a round removes, the rest would come from the subspace."""
    sample = make_outlier_subspace(40, n_outliers, 8, 3, random_state=seed)
    one = GeometricMedianSubspace(3, variant="egms").fit(sample.X)
    several = GeometricMedianSubspace(3, variant="egms", drop_per_round=drop).fit(sample.X)
    assert recovery_error(one, sample) <= 1e-7
    assert recovery_error(several, sample) <= 1e-7
    assert several.converged_


@pytest.mark.parametrize("seed", range(3))
def test_wherever_it_is_stopped_the_descent_does_not_rise(seed):
    """A mixture of steps that was never evaluated may be worse than all before: not returned."""
    rng = np.random.default_rng(seed)
    X = np.vstack(
        [rng.normal(size=(60, 12)) @ rng.normal(size=(12, 20)), rng.normal(size=(12, 20))]
    )
    for max_iter in range(1, 120, 3):
        found = descend(X, 1e-9, max_iter=max_iter)
        assert found.residuals.sum() <= found.path[-1] * (1.0 + 1e-12)
