"""lp-norm multiple kernel learning against convex solvers, limits, and each other's solvers."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, SVR, OneClassSVM

from octavo.kernel import (
    KernelStack,
    LpMKLClassifier,
    LpMKLClassifierCV,
    LpMKLOneClass,
    LpMKLRegressor,
    ivanov_to_tikhonov,
    kernel_alignment,
    make_mkl_toy,
    smooth_group_lasso,
    tikhonov_to_ivanov,
)

NORMS = (1.0, 1.1, 4 / 3, 2.0, 4.0, np.inf)
CLARABEL = {"solver": "CLARABEL", "tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}
# A gap g leaves decision values within about sqrt(2g) of the optimum's: 1e-3 at these tolerances.
TIGHT = {"normalize": None, "tol": 1e-7, "svm_tol": 1e-8, "max_iter": 2000}


def views(n=40, n_kernels=4, seed=0):
    """Explicit features of each kernel, labels, targets and kernel matrices."""
    rng = np.random.default_rng(seed)
    blocks = [rng.normal(size=(n, 3)) for _ in range(n_kernels)]
    score = blocks[0][:, 0] + 0.5 * blocks[1][:, 1]
    y = np.where(score + 0.7 * rng.normal(size=n) > 0, 1.0, -1.0)
    target = score + 0.3 * rng.normal(size=n)
    return blocks, y, target, np.array([Z @ Z.T for Z in blocks])


def primal(blocks, loss, q, C=1.0):
    """Return the optimum of C Σ loss(f) + ½ (Σ ||w_m||^q)^(2/q), and the blocks of w."""
    w, b = [cp.Variable(Z.shape[1]) for Z in blocks], cp.Variable()
    f = sum(Z @ v for Z, v in zip(blocks, w)) + b
    lengths = cp.hstack([cp.norm(v, 2) for v in w])
    norm = cp.max(lengths) if q == np.inf else cp.pnorm(lengths, q, approx=False)
    problem = cp.Problem(cp.Minimize(C * loss(f) + 0.5 * cp.square(norm)))
    problem.solve(**CLARABEL)
    return problem.value, [v.value for v in w]


def block_q(p):
    return 2.0 if p == np.inf else 2 * p / (p + 1)


@pytest.mark.parametrize("p", NORMS)
@pytest.mark.parametrize("solver", ["wrapper", "silp", "interleaved"])
def test_objective_and_weights_are_those_of_the_convex_program(p, solver):
    if p == np.inf and solver == "silp":
        pytest.skip("the sum of kernels has no weights to find")
    blocks, y, _, K = views()
    value, w = primal(blocks, lambda f: cp.sum(cp.pos(1 - cp.multiply(y, f))), block_q(p))
    model = LpMKLClassifier("precomputed", p=p, solver=solver, **TIGHT).fit(K, y)
    assert abs(model.objective_ - value) <= 1e-6
    lengths = np.array([np.linalg.norm(v) for v in w])
    np.testing.assert_allclose(model.kernel_norms_, lengths, atol=1e-3)
    if p < np.inf:
        theta = lengths ** (2 / (p + 1))
        theta /= (theta**p).sum() ** (1 / p)
        np.testing.assert_allclose(model.weights_, theta, atol=1e-3)
        assert abs((model.weights_**p).sum() ** (1 / p) - 1) < 1e-9
    # the gap is a certificate: the optimum lies between
    assert -1e-9 <= model.objective_ - value <= model.duality_gap_ + 1e-8


@pytest.mark.parametrize("q", [1.0, 1.5, 2.0, 2.5, 4.0, 8.0])
def test_block_norms_on_both_sides_of_two(q):
    blocks, y, _, K = views()
    value, w = primal(blocks, lambda f: cp.sum(cp.pos(1 - cp.multiply(y, f))), q)
    model = LpMKLClassifier("precomputed", regularizer="block", q=q, **TIGHT).fit(K, y)
    assert abs(model.objective_ - value) <= 1e-6
    np.testing.assert_allclose(model.kernel_norms_, [np.linalg.norm(v) for v in w], atol=1e-3)


@pytest.mark.filterwarnings("ignore:Multiple kernel learning did not converge")
def test_the_largest_block_alone():
    """q = ∞ drives kernels out of the dual, and converges slowly; its gap still tells the truth."""
    blocks, y, _, K = views()
    value, _ = primal(blocks, lambda f: cp.sum(cp.pos(1 - cp.multiply(y, f))), np.inf)
    asked = {"normalize": None, "tol": 1e-3, "max_iter": 30}
    model = LpMKLClassifier("precomputed", regularizer="block", q=np.inf, **asked).fit(K, y)
    assert value - 1e-8 <= model.objective_ <= value + model.duality_gap_ + 1e-8
    assert model.duality_gap_ < 0.1 * value


@pytest.mark.parametrize("p", [1.0, 1.5, 4.0])
@pytest.mark.parametrize("loss", ["logistic", "squared"])
def test_other_losses_of_classification(p, loss):
    blocks, y, _, K = views()
    losses = {
        "logistic": lambda f: cp.sum(cp.logistic(-cp.multiply(y, f))),
        "squared": lambda f: 0.5 * cp.sum_squares(y - f),
    }
    value, _ = primal(blocks, losses[loss], block_q(p), C=0.5)
    model = LpMKLClassifier("precomputed", p=p, C=0.5, loss=loss, **TIGHT).fit(K, y)
    assert abs(model.objective_ - value) <= 1e-6


@pytest.mark.parametrize("p", [1.0, 1.5, 4.0])
@pytest.mark.parametrize("solver", ["wrapper", "silp", "interleaved"])
def test_tube_regression(p, solver):
    blocks, _, target, K = views()
    value, _ = primal(blocks, lambda f: cp.sum(cp.pos(cp.abs(target - f) - 0.1)), block_q(p), C=2.0)
    model = LpMKLRegressor("precomputed", p=p, C=2.0, solver=solver, **TIGHT).fit(K, target)
    assert abs(model.objective_ - value) <= 1e-6


@pytest.mark.parametrize("p", [1.1, 1.5, 4.0])
def test_squared_regression_by_three_solvers(p):
    blocks, _, target, K = views()
    value, _ = primal(blocks, lambda f: 0.5 * cp.sum_squares(target - f), block_q(p), C=2.0)
    for solver in ("wrapper", "silp", "lbfgs"):
        model = LpMKLRegressor("precomputed", p=p, C=2.0, loss="squared", solver=solver, **TIGHT)
        assert abs(model.fit(K, target).objective_ - value) <= 1e-6


def test_group_lasso_is_the_limit():
    """At p = 1 the penalty is ½ (Σ ||w_m||)²: the group lasso with λ = Σ ||w_m|| / C."""
    blocks, _, target, K = views()
    model = LpMKLRegressor("precomputed", p=1.0, C=0.2, loss="squared", **TIGHT).fit(K, target)
    lam = model.kernel_norms_.sum() / 0.2
    w, b = [cp.Variable(3) for _ in blocks], cp.Variable()
    fit = 0.5 * cp.sum_squares(target - sum(Z @ v for Z, v in zip(blocks, w)) - b)
    problem = cp.Problem(cp.Minimize(fit + lam * sum(cp.norm(v, 2) for v in w)))
    problem.solve(**CLARABEL)
    lengths = [np.linalg.norm(v.value) for v in w]
    np.testing.assert_allclose(model.kernel_norms_, lengths, atol=1e-5)


def test_smooth_group_lasso_predicts_as_the_regressor():
    _, _, target, K = views()
    a, offset, theta = smooth_group_lasso(K, target, C=2.0, p=1.3, tol=1e-7)
    model = LpMKLRegressor("precomputed", p=1.3, C=2.0, loss="squared", **TIGHT).fit(K, target)
    f = np.tensordot(theta, K, 1) @ a + offset
    np.testing.assert_allclose(f, model.predict(K), atol=1e-3)


@pytest.mark.parametrize("p", [1.0, 2.0, np.inf])
@pytest.mark.parametrize("solver", ["wrapper", "interleaved"])
def test_one_class_against_its_dual(p, solver):
    _, _, _, K = views(n=30)
    nu, n = 0.3, 30
    a, t = cp.Variable(n), cp.Variable(len(K))
    roots = [np.linalg.cholesky(k + 1e-12 * np.eye(n)).T for k in K]
    cones = [cp.sum_squares(R @ a) <= t[m] for m, R in enumerate(roots)]
    size = {1.0: cp.max(t), 2.0: cp.norm(t, 2), np.inf: cp.sum(t)}[p]
    limits = [a >= 0, a <= 1 / (nu * n), cp.sum(a) == 1]
    problem = cp.Problem(cp.Minimize(0.5 * size), [*limits, *cones])
    problem.solve(**CLARABEL)
    asked = {**TIGHT, "tol": 1e-6} if p == 1.0 else TIGHT
    model = LpMKLOneClass("precomputed", p=p, nu=nu, solver=solver, **asked).fit(K)
    assert abs(model.objective_ + problem.value) <= 1e-5 * problem.value
    assert abs(model.dual_coef_.sum() - 1) < 1e-9


def test_sum_of_kernels_and_single_kernels_are_scikit_learns():
    _, y, target, K = views()
    total = K.sum(axis=0)
    svc = SVC(kernel="precomputed", C=1.0, tol=1e-10).fit(total, y)
    ours = LpMKLClassifier("precomputed", p=np.inf, **TIGHT).fit(K, y)
    np.testing.assert_allclose(ours.decision_function(K), svc.decision_function(total), atol=1e-4)
    svc = SVC(kernel="precomputed", C=1.0, tol=1e-10).fit(K[0], y)
    ours = LpMKLClassifier("precomputed", p=1.5, **TIGHT).fit(K[:1], y)
    np.testing.assert_allclose(
        ours.decision_function(K[:1]), svc.decision_function(K[0]), atol=1e-4
    )
    svr = SVR(kernel="precomputed", C=1.0, epsilon=0.1, tol=1e-10).fit(total, target)
    ours = LpMKLRegressor("precomputed", p=np.inf, **TIGHT).fit(K, target)
    np.testing.assert_allclose(ours.predict(K), svr.predict(total), atol=1e-4)
    K = K + 0.1 * np.eye(40)  # a unique solution
    one = OneClassSVM(kernel="precomputed", nu=0.3, tol=1e-10).fit(K.sum(axis=0))
    ours = LpMKLOneClass("precomputed", p=np.inf, nu=0.3, **TIGHT).fit(K)
    expected = one.decision_function(K.sum(axis=0)) / (0.3 * 40)
    np.testing.assert_allclose(ours.decision_function(K), expected, atol=1e-5)


@pytest.mark.parametrize("p", [1.2, 2.0, 5.0])
def test_identical_kernels_share_alike(p):
    _, y, _, K = views()
    model = LpMKLClassifier("precomputed", p=p, **TIGHT).fit(np.array([K[0]] * 3), y)
    np.testing.assert_allclose(model.weights_, 3 ** (-1 / p), rtol=1e-6)


def test_mahalanobis_against_the_convex_program():
    blocks, y, _, K = views()
    rng = np.random.default_rng(1)
    for E in (np.eye(4), kernel_alignment(K), np.cov(rng.normal(size=(4, 8)))):
        w, b, theta = [cp.Variable(3) for _ in blocks], cp.Variable(), cp.Variable(4)
        f = sum(Z @ v for Z, v in zip(blocks, w)) + b
        ratios = sum(cp.quad_over_lin(v, theta[m]) for m, v in enumerate(w))
        loss = cp.sum(cp.pos(1 - cp.multiply(y, f)))
        inverse = cp.psd_wrap(np.linalg.inv(E))
        limits = [cp.quad_form(theta, inverse) <= 1, theta >= 0]
        problem = cp.Problem(cp.Minimize(loss + 0.5 * ratios), limits)
        problem.solve(**CLARABEL)
        asked = {**TIGHT, "tol": 1e-7}
        model = LpMKLClassifier("precomputed", regularizer="mahalanobis", E=E, **asked).fit(K, y)
        assert abs(model.objective_ - problem.value) <= 1e-5
        np.testing.assert_allclose(model.weights_, theta.value, atol=1e-3)
    # a ball in the Euclidean norm is the lp norm with p = 2
    plain = LpMKLClassifier("precomputed", p=2.0, **TIGHT).fit(K, y)
    ball = LpMKLClassifier("precomputed", regularizer="mahalanobis", E=np.eye(4), **TIGHT).fit(K, y)
    np.testing.assert_allclose(ball.weights_, plain.weights_, atol=1e-3)


@pytest.mark.parametrize("solver", ["wrapper", "silp", "interleaved"])
@pytest.mark.parametrize("p", [1.0, 2.0])
def test_importance_is_a_scaling_of_the_kernels(solver, p):
    _, y, _, K = views()
    v = np.array([1.0, 3.0, 0.5, 2.0])
    asked = {**TIGHT, "tol": 1e-6}
    scaled = LpMKLClassifier("precomputed", p=p, solver=solver, **asked)
    scaled.fit(v[:, None, None] * K, y)
    model = LpMKLClassifier("precomputed", p=p, solver=solver, importance=v, **asked).fit(K, y)
    assert abs(model.objective_ - scaled.objective_) < 1e-5
    np.testing.assert_allclose(model.weights_, v * scaled.weights_, atol=1e-2)


def test_tikhonov_form_has_the_same_solution():
    """Theorem 1, by solving problem (3) itself."""
    blocks, y, _, K = views()
    p, C = 2.0, 0.7
    model = LpMKLClassifier("precomputed", p=p, C=C, **TIGHT).fit(K, y)
    form = ivanov_to_tikhonov(C, float((model.kernel_norms_**2 / model.weights_).sum()), mu=0.3)
    w, b, theta = [cp.Variable(3) for _ in blocks], cp.Variable(), cp.Variable(4)
    f = sum(Z @ v for Z, v in zip(blocks, w)) + b
    ratios = sum(cp.quad_over_lin(v, theta[m]) for m, v in enumerate(w))
    loss = cp.sum(cp.pos(1 - cp.multiply(y, f)))
    problem = cp.Problem(
        cp.Minimize(form.C * loss + 0.5 * ratios + form.mu * cp.sum_squares(theta))
    )
    problem.solve(**CLARABEL)
    np.testing.assert_allclose(theta.value, form.weight_scale * model.weights_, atol=1e-3)
    np.testing.assert_allclose(f.value, model.decision_function(K), atol=1e-3)

    def penalty(cost):
        fit = LpMKLClassifier("precomputed", p=p, C=cost, **{**TIGHT, "tol": 1e-6}).fit(K, y)
        return float((fit.kernel_norms_**2 / fit.weights_).sum())

    assert abs(tikhonov_to_ivanov(penalty, form.C, form.mu, tol=1e-4) / C - 1) < 1e-2


def test_solvers_agree_on_kernels_computed_on_the_fly():
    """Matrices in memory, and columns from distances and values, centred and scaled alike."""
    X, y, _ = make_mkl_toy(150, 0.5, d=6, random_state=0)
    kernels = [
        *((f"r{k}", "rbf", {"gamma": 4.0**k}) for k in range(-4, 1)),
        ("some", "rbf", {"gamma": 0.5, "columns": [0, 1]}),
        ("poly", "poly", {"degree": 2, "coef0": 1.0}),
        ("line", "linear", {"columns": [2]}),
    ]
    from octavo.kernel.mkl import base as mkl_fit

    for normalize, center in (
        ("multiplicative", False),
        ("spherical", True),
        ("trace", False),
        (None, True),
    ):
        fits = []
        for limit in (mkl_fit.IN_MEMORY, 0):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(mkl_fit, "IN_MEMORY", limit)
                fits.append(
                    LpMKLClassifier(
                        kernels,
                        p=1.5,
                        solver="interleaved",
                        normalize=normalize,
                        center=center,
                        tol=1e-6,
                        cache_size=0.02,
                    ).fit(X, y)
                )
        np.testing.assert_allclose(fits[0].weights_, fits[1].weights_, atol=1e-5)
        np.testing.assert_allclose(
            fits[0].decision_function(X), fits[1].decision_function(X), atol=1e-4
        )
        wrapped = fits[0].__class__(**{**fits[0].get_params(), "solver": "wrapper"}).fit(X, y)
        assert abs(fits[1].objective_ / wrapped.objective_ - 1) < 1e-4


def test_large_problems_form_no_matrix(monkeypatch):
    from octavo.kernel.mkl import base as mkl_fit

    X, y, _ = make_mkl_toy(60, 0.5, d=4, random_state=0)
    whole = LpMKLClassifier(p=2, tol=1e-7).fit(X, y)
    scores = whole.decision_function(X)
    monkeypatch.setattr(mkl_fit, "IN_MEMORY", 0)
    monkeypatch.setattr(KernelStack, "fit_transform", None)
    rows = LpMKLClassifier(p=2, tol=1e-7).fit(X, y)
    # each objective is within its gap of the common optimum
    apart = abs(rows.objective_ - whole.objective_)
    assert apart <= rows.duality_gap_ + whole.duality_gap_ <= 1e-5 * whole.objective_
    np.testing.assert_allclose(rows.weights_, whole.weights_, atol=5e-3)
    np.testing.assert_allclose(rows.decision_function(X), scores, atol=2e-2)


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 1000),
    p=st.sampled_from([1.0, 1.2, 2.0, 6.0]),
    order=st.permutations(range(4)),
)
def test_weights_follow_their_kernels(seed, p, order):
    _, y, _, K = views(n=25, seed=seed)
    assume(abs(y.sum()) < 25)
    asked = {"normalize": None, "tol": 1e-7, "max_iter": 5000}
    one = LpMKLClassifier("precomputed", p=p, **asked).fit(K, y)
    two = LpMKLClassifier("precomputed", p=p, **asked).fit(K[list(order)], y)
    assert (one.weights_ >= 0).all()
    assert one.duality_gap_ >= 0
    assert abs(one.objective_ - two.objective_) <= one.duality_gap_ + two.duality_gap_ + 1e-9
    np.testing.assert_allclose(two.weights_, one.weights_[list(order)], atol=5e-3)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 1000), factor=st.sampled_from([0.25, 4.0]))
def test_scaling_all_kernels_is_scaling_the_cost(seed, factor):
    """K → cK with C → C/c leaves the decision function, the weights and c × the objective."""
    _, y, _, K = views(n=25, seed=seed)
    assume(abs(y.sum()) < 25)
    asked = {"normalize": None, "tol": 1e-8}
    one = LpMKLClassifier("precomputed", p=1.7, C=1.0, **asked).fit(K, y)
    two = LpMKLClassifier("precomputed", p=1.7, C=1.0 / factor, **asked).fit(factor * K, y)
    assert abs(two.objective_ * factor - one.objective_) <= 1e-6 * one.objective_
    np.testing.assert_allclose(one.weights_, two.weights_, atol=1e-3)


def test_best_primal_value_never_rises():
    X, y, _ = make_mkl_toy(80, 0.5, d=10, random_state=0)
    for p in (1.5, 4.0):
        history = LpMKLClassifier("linear_per_feature", p=p, solver="wrapper", tol=1e-6).fit(X, y)
        primal_values, dual_values, gaps = history.history_.T
        assert (np.diff(gaps) <= 1e-12).all()
        assert (primal_values >= dual_values - 1e-9).all()
        # after the machines are accurate, each step of the weights lowers the primal value
        assert (np.diff(primal_values[2:]) <= 1e-4 * primal_values[0]).all()


def test_warm_start_reaches_the_same_solution_sooner():
    X, y, _ = make_mkl_toy(100, 0.5, d=10, random_state=0)
    cold = LpMKLClassifier(p=1.5, C=2.0, tol=1e-5).fit(X, y)
    warm = LpMKLClassifier(p=1.5, C=1.9, tol=1e-5, warm_start=True).fit(X, y)
    warm.set_params(C=2.0).fit(X, y)
    assert abs(warm.objective_ - cold.objective_) <= cold.duality_gap_ + warm.duality_gap_
    assert warm.n_iter_ <= cold.n_iter_


def test_classes_of_their_own_and_shared_weights():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 4))
    y = np.array(["a", "b", "c"])[np.argmax(X[:, :3] + 0.1 * rng.normal(size=(90, 3)), axis=1)]
    own = LpMKLClassifier("linear_per_feature", p=1, C=1.0).fit(X, y)
    assert own.weights_.shape == (3, 4)
    assert own.decision_function(X).shape == (90, 3)
    for k, label in enumerate("abc"):
        binary = LpMKLClassifier("linear_per_feature", p=1, C=1.0).fit(X, y == label)
        np.testing.assert_allclose(binary.weights_, own.weights_[k], atol=1e-6)
    shared = LpMKLClassifier("linear_per_feature", p=2, C=1.0, shared_weights=True, tol=1e-6)
    shared.fit(X, y)
    assert shared.weights_.shape == (4,)
    assert shared.weights_[3] == shared.weights_.min()
    # at the optimum θ answers the sum of the machines' forms
    s = (shared.kernel_norms_ / shared.weights_) ** 2
    answer = (shared.weights_**2 * s) ** (1 / 3)
    np.testing.assert_allclose(answer / np.sqrt((answer**2).sum()), shared.weights_, atol=1e-2)


@pytest.mark.slow
def test_cross_validation_finds_the_sparse_and_the_uniform_truth():
    for nu, expected in ((0.95, 1.0), (0.0, np.inf)):
        X, y, _ = make_mkl_toy(100, nu, d=20, random_state=0)
        model = LpMKLClassifierCV("linear_per_feature", norms=(1, np.inf), Cs=(0.01, 0.1)).fit(X, y)
        assert model.p_ == expected
        assert model.scores_.shape == (2, 2, 5)
        assert model.best_score_ == model.scores_.mean(axis=2).max()
    K = KernelStack("linear_per_feature", normalize=None).fit_transform(X)
    given = LpMKLClassifierCV("precomputed", norms=(1, np.inf), Cs=(0.01, 0.1)).fit(K, y)
    np.testing.assert_allclose(given.scores_, model.scores_)
    np.testing.assert_array_equal(given.predict(K), model.predict(X))


def test_class_weights_move_the_boundary():
    X, y, _ = make_mkl_toy(100, 0.5, d=6, random_state=1)
    plain = LpMKLClassifier(C=0.1).fit(X, y)
    weighted = LpMKLClassifier(C=0.1, class_weight={1: 20.0, -1: 1.0}).fit(X, y)
    assert (weighted.predict(X) == 1).sum() > (plain.predict(X) == 1).sum()


# --- bad input ------------------------------------------------------------------------------


def fit_precomputed(K, y, **params):
    return LpMKLClassifier("precomputed", **{"normalize": None, **params}).fit(K, y)


def test_bad_kernels_are_refused():
    _, y, _, K = views()
    spoilt = K.copy()
    spoilt[1, 3, 3] = np.nan
    with pytest.raises(ValueError, match="Kernel 1 contains NaN"):
        fit_precomputed(spoilt, y)
    skew = K.copy()
    skew[2, 0, 1] += 1.0
    with pytest.raises(ValueError, match="Kernel 2 must be symmetric"):
        fit_precomputed(skew, y)
    with pytest.raises(ValueError, match="same shape"):
        fit_precomputed([K[0], K[1][:5, :5]], y)
    with pytest.raises(ValueError, match="must be square"):
        fit_precomputed(K[:, :5], y[:5])
    with pytest.raises(ValueError, match="one entry per sample"):
        fit_precomputed(K, y[:-1])
    model = fit_precomputed(K, y, p=2)
    with pytest.raises(ValueError, match="Expected 4 kernels with 40 columns"):
        model.predict(K[:3])
    with pytest.raises(ValueError, match="Expected 4 kernels with 40 columns"):
        model.predict(K[:, :, :7])


def test_bad_parameters_are_refused():
    _, y, _, K = views()
    with pytest.raises(ValueError, match="'p' parameter"):
        fit_precomputed(K, y, p=0.9)
    with pytest.raises(ValueError, match="one class"):
        fit_precomputed(K, np.ones(40))
    with pytest.raises(ValueError, match="needs q >= 1"):
        fit_precomputed(K, y, regularizer="block")
    with pytest.raises(ValueError, match="one row and column per kernel"):
        fit_precomputed(K, y, regularizer="mahalanobis", E=np.eye(3))
    with pytest.raises(ValueError, match="positive definite"):
        fit_precomputed(K, y, regularizer="mahalanobis", E=np.ones((4, 4)))
    with pytest.raises(ValueError, match="importance must be 4 positive"):
        fit_precomputed(K, y, importance=[1, 2, 3, 0])
    with pytest.raises(ValueError, match="importance is for"):
        fit_precomputed(K, y, importance=[1, 2, 3, 4], regularizer="block", q=3)
    with pytest.raises(ValueError, match="solver='interleaved' is for one machine"):
        fit_precomputed(K, y, solver="interleaved", loss="logistic")
    with pytest.raises(ValueError, match="silp"):
        fit_precomputed(K, y, solver="silp", p=np.inf)
    with pytest.raises(ValueError, match="needs loss='squared'"):
        LpMKLRegressor("precomputed", solver="lbfgs").fit(K, y)
    with pytest.raises(ValueError, match="norms must be"):
        LpMKLClassifierCV("precomputed", norms=(0.5, 1)).fit(K, y)


def test_kernels_without_signal_are_an_error():
    _, y, _, K = views()
    with pytest.raises(ValueError, match="No kernel has signal"):
        fit_precomputed(np.ones_like(K), y, p=2)


def test_unequal_scales_and_indefinite_kernels_are_told():
    _, y, _, K = views()
    with pytest.warns(UserWarning, match="variances of the kernels"):
        fit_precomputed(K * np.array([1, 1, 1, 100.0])[:, None, None], y)
    tilted = K.copy()
    tilted[3] = -0.5 * K[0]
    with pytest.warns(UserWarning, match="indefinite"):
        model = fit_precomputed(tilted, y, p=2)
    assert model.weights_[3] == 0.0


def test_non_convergence_is_told_with_the_gap():
    _, y, _, K = views()
    with pytest.warns(ConvergenceWarning, match="duality gap is"):
        fit_precomputed(K, y, p=1.1, solver="wrapper", max_iter=1, tol=1e-8)


def test_duplicate_kernels_leave_the_sparse_objective_alone():
    _, y, _, K = views()
    once = fit_precomputed(K, y, p=1, tol=1e-8, max_iter=1000)
    twice = fit_precomputed(np.concatenate([K, K]), y, p=1, tol=1e-8, max_iter=1000)
    assert abs(once.objective_ - twice.objective_) < 1e-6
