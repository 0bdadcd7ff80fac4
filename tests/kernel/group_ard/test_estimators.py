"""Group ARD and the group lasso against other solvers and packages, closed forms, invariances."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import DotProduct
from sklearn.linear_model import ARDRegression, Lasso
from sklearn.model_selection import KFold

from octavo.kernel import (
    GroupARDRegression,
    GroupLassoEB,
    KernelStack,
    ard_orthogonal,
    gamma_grid,
    group_lasso_kkt,
    make_group_sparse,
    pard_kkt,
)
from octavo.kernel.group_ard.objectives import VarianceObjective, linear_evidence
from octavo.kernel.group_ard.primal import primal_group_lasso

SOLVERS = ["lbfgs", "fixed_point", "reweighted", "newton"]


def data(n=80, p=6, k=3, seed=0, noise=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p * k))
    theta = np.zeros(p * k)
    theta[:k], theta[2 * k : 3 * k] = rng.normal(size=k), 0.5
    return X, X @ theta + noise * rng.normal(size=n), np.repeat(np.arange(p), k)


def cvxpy_group_lasso(X, y, groups, sigma2, weight):
    cvxpy = pytest.importorskip("cvxpy")
    theta = cvxpy.Variable(X.shape[1])
    penalty = sum(cvxpy.norm(theta[groups == g]) for g in np.unique(groups))
    loss = cvxpy.sum_squares(y - X @ theta) / (2 * sigma2)
    problem = cvxpy.Problem(cvxpy.Minimize(loss + weight * penalty))
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    return theta.value, problem.value


@pytest.mark.parametrize("solver", ["lbfgs", "fixed_point", "fista", "newton"])
@pytest.mark.parametrize("n", [14, 60])
def test_group_lasso_is_cvxpys(n, solver):
    X, y, groups = data(n)
    sigma2, gamma = 0.7, 12.0
    model = GroupLassoEB(groups, gamma, sigma2, solver=solver, fit_intercept=False).fit(X, y)
    theta, value = cvxpy_group_lasso(X, y, groups, sigma2, np.sqrt(2 * gamma))
    assert 0 < len(model.active_groups_) < 6
    np.testing.assert_allclose(model.coef_, theta, atol=1e-5)
    assert model.objective_ == pytest.approx(value, rel=1e-8)
    assert model.duality_gap_ < 1e-6 * model.objective_
    norms = np.array([np.linalg.norm(model.coef_[groups == g]) for g in range(6)])
    np.testing.assert_allclose(model.lambda_, norms / np.sqrt(2 * gamma), atol=1e-7)
    assert group_lasso_kkt(model.lambda_, X, y, groups, sigma2, gamma) < 1e-6


@pytest.mark.parametrize("n", [10, 60])
def test_proximal_gradients_alone_reach_the_same_minimum(n):
    X, y, groups = data(n)
    evidence = linear_evidence(X, y, [np.flatnonzero(groups == g) for g in range(6)])
    objective = VarianceObjective(evidence, 8.0, 0.9, logdet=False)
    lam, values = primal_group_lasso(objective, np.ones(6), 20_000, lambda: False, tol=1e-12)
    model = GroupLassoEB(groups, 8.0, 0.9, fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(lam, model.lambda_, atol=1e-8)
    assert values[-1] == pytest.approx(model.objective_, rel=1e-10)


def test_duality_gap_bounds_the_distance_before_the_end():
    X, y, groups = data()
    exact = GroupLassoEB(groups, 5.0, 1.0).fit(X, y).objective_
    with pytest.warns(ConvergenceWarning, match="stopped after 2 steps"):
        rough = GroupLassoEB(groups, 5.0, 1.0, solver="newton", max_iter=2).fit(X, y)
    assert 0 < rough.objective_ - exact <= rough.duality_gap_


def test_groups_of_one_are_sklearns_lasso():
    X, y, _ = data()
    sigma2, gamma = 0.8, 30.0
    model = GroupLassoEB(None, gamma, sigma2).fit(X, y)
    lasso = Lasso(np.sqrt(2 * gamma) * sigma2 / len(y), tol=1e-12, max_iter=100_000).fit(X, y)
    np.testing.assert_allclose(model.coef_, lasso.coef_, atol=1e-7)
    assert model.intercept_ == pytest.approx(lasso.intercept_, abs=1e-7)


def celer_group_lasso(X, y, groups, alpha):
    celer = pytest.importorskip("celer")
    columns = [np.flatnonzero(groups == g).tolist() for g in np.unique(groups)]
    return celer.GroupLasso(columns, alpha=alpha, tol=1e-12, fit_intercept=False).fit(X, y).coef_


def test_group_lasso_is_celers():
    X, y, groups = data()
    sigma2, gamma = 0.7, 12.0
    model = GroupLassoEB(groups, gamma, sigma2, fit_intercept=False).fit(X, y)
    theirs = celer_group_lasso(X, y, groups, np.sqrt(2 * gamma) * sigma2 / len(y))
    np.testing.assert_allclose(model.coef_, theirs, atol=1e-5)


@pytest.mark.parametrize("noise", [0.8, "ls", "ml"])
def test_one_group_is_a_search_in_one_variable(noise):
    X, y, _ = data(30, p=2, k=2)
    model = GroupARDRegression(np.zeros(4, int), noise=noise).fit(X, y)
    Xc, yc = X - X.mean(axis=0), y - y.mean()

    def likelihood(log_lam, sigma2):
        process = np.exp(log_lam) * Xc @ Xc.T + sigma2 * np.eye(30)
        return -0.5 * (np.linalg.slogdet(process)[1] + yc @ np.linalg.solve(process, yc))

    at = model.sigma2_
    found = minimize_scalar(lambda u: -likelihood(u, at), bounds=(-8, 8), method="bounded")
    assert np.log(model.lambda_[0]) == pytest.approx(found.x, abs=1e-4)
    constant = 15 * np.log(2 * np.pi)
    exact = likelihood(np.log(model.lambda_[0]), at) - constant
    assert model.log_marginal_likelihood_ == pytest.approx(exact, rel=1e-12)
    if noise == "ml":
        for factor in (0.99, 1.01):
            assert likelihood(np.log(model.lambda_[0]), factor * at) - constant < exact


def test_likelihood_is_that_of_a_gaussian_process():
    X, y, _ = data(40, p=1, k=3)
    model = GroupARDRegression([[0, 1, 2]], noise=0.9, fit_intercept=False).fit(X, y)
    kernel = model.lambda_[0] * DotProduct(0.0, "fixed")
    process = GaussianProcessRegressor(kernel, alpha=0.9, optimizer=None).fit(X, y)
    ours, theirs = model.log_marginal_likelihood_, process.log_marginal_likelihood_value_
    assert ours == pytest.approx(theirs, rel=1e-10)
    mean, std = model.predict(X[:5], return_std=True)
    expected, spread = process.predict(X[:5], return_std=True)
    np.testing.assert_allclose(mean, expected, rtol=1e-8)
    np.testing.assert_allclose(std, np.sqrt(spread**2 + 0.9), rtol=1e-8)


def test_at_least_as_likely_as_sklearns_ard():
    """Its pruned solution at its own noise, scored by our marginal likelihood."""
    X, y, _ = data(100, p=5, k=3)
    theirs = ARDRegression(tol=1e-8, max_iter=3000).fit(X, y)
    sigma2 = 1 / theirs.alpha_
    lam = np.where(theirs.coef_ != 0, 1 / theirs.lambda_, 0.0)
    ours = GroupARDRegression(noise=sigma2).fit(X, y)
    Xc, yc = X - X.mean(axis=0), y - y.mean()
    process = sigma2 * np.eye(100) + (Xc * lam) @ Xc.T
    value = -0.5 * (np.linalg.slogdet(process)[1] + yc @ np.linalg.solve(process, yc))
    assert ours.log_marginal_likelihood_ >= value - 50 * np.log(2 * np.pi) - 1e-6


@pytest.mark.parametrize("gamma", [0.0, 3.0])
@pytest.mark.parametrize("n", [15, 60])
def test_solvers_agree(n, gamma):
    X, y, groups = data(n)
    models = [GroupARDRegression(groups, gamma, 1.0, solver=solver).fit(X, y) for solver in SOLVERS]
    Xc, yc = X - X.mean(axis=0), y - y.mean()
    for model in models:
        assert model.kkt_violation_ < 1e-6
        own = pard_kkt(model.lambda_, Xc, yc, groups, 1.0, gamma)
        assert own == pytest.approx(model.kkt_violation_, abs=1e-9)
        assert model.objective_ == pytest.approx(models[0].objective_, rel=1e-10)
        np.testing.assert_allclose(model.coef_, models[0].coef_, atol=1e-6)


@pytest.mark.parametrize("gamma", [0.0, 0.5])
def test_orthogonal_design(gamma):
    rng = np.random.default_rng(3)
    X = np.sqrt(50) * np.linalg.qr(rng.normal(size=(50, 12)))[0]
    y = X[:, :3] @ [1.0, 0.3, -0.5] + rng.normal(size=50)
    model = GroupARDRegression(np.repeat(np.arange(4), 3), gamma, fit_intercept=False).fit(X, y)
    residual = y - X @ (X.T @ y / 50)
    assert model.sigma2_ == pytest.approx(residual @ residual / (50 - 12))  # Section 4.2
    norms = np.linalg.norm((X.T @ y / 50).reshape(4, 3), axis=1)
    exact = ard_orthogonal(norms, 3, 50, model.sigma2_, gamma)
    np.testing.assert_allclose(model.lambda_, exact, rtol=1e-8, atol=1e-10)


@pytest.mark.slow
def test_least_squares_noise_is_unbiased_with_an_intercept():
    rng = np.random.default_rng(4)
    estimates = [
        GroupARDRegression().fit(rng.normal(size=(12, 4)), 3.0 + rng.normal(size=12)).sigma2_
        for _ in range(400)
    ]
    # var of χ²_7 / 7 is 2/7; dividing by 8 would give 0.875, five standard errors away
    assert abs(np.mean(estimates) - 1.0) < 4 * np.sqrt(2 / 7 / 400)


def test_posterior_is_the_gaussian_one():
    X, y, groups = data(40)
    model = GroupARDRegression(groups, noise=1.1, fit_intercept=False).fit(X, y)
    active = model.coef_ != 0
    prior = np.diag(1 / model.lambda_[groups[active]])
    precision = prior + X[:, active].T @ X[:, active] / 1.1
    covariance = np.zeros((18, 18))
    covariance[np.ix_(active, active)] = np.linalg.inv(precision)
    np.testing.assert_allclose(model.coef_cov_, covariance, atol=1e-10)
    np.testing.assert_allclose(model.coef_, covariance @ X.T @ y / 1.1, atol=1e-10)
    _, std = model.predict(X[:4], return_std=True)
    np.testing.assert_allclose(std**2, 1.1 + np.sum(X[:4] @ covariance * X[:4], axis=1))


def test_wide_tables_have_the_same_posterior_form():
    X, y, groups = data(12)
    model = GroupARDRegression(groups, noise=0.5, fit_intercept=False).fit(X, y)
    tall = GroupARDRegression(groups, noise=0.5, fit_intercept=False)
    zeros = np.zeros((20, 18))  # rows of zeros change nothing but the noise's determinant
    tall.fit(np.vstack([X, zeros]), np.append(y, np.zeros(20)))
    np.testing.assert_allclose(model.lambda_, tall.lambda_, rtol=1e-6)
    np.testing.assert_allclose(model.coef_cov_, tall.coef_cov_, atol=1e-8)
    np.testing.assert_allclose(
        model.predict(X, return_std=True), tall.predict(X, return_std=True), rtol=1e-6
    )


@pytest.mark.parametrize("noise", ["ls", 0.9, "ml"])
@pytest.mark.parametrize("estimator", [GroupARDRegression, GroupLassoEB])
def test_linear_kernels_are_groups(estimator, noise):
    X, y, groups = data(50)
    kernels = [(str(g), "linear", {"columns": np.flatnonzero(groups == g)}) for g in range(6)]
    options = {"gamma": 0.5, "noise": noise}
    ours = estimator(groups, **options).fit(X, y)
    for spec in (kernels, KernelStack(kernels, normalize=None, center=True)):
        theirs = estimator(kernels=spec, **options).fit(X, y)
        np.testing.assert_allclose(theirs.lambda_, ours.lambda_, rtol=1e-5, atol=1e-9)
        assert theirs.sigma2_ == pytest.approx(ours.sigma2_, rel=1e-6)
        assert theirs.log_marginal_likelihood_ == pytest.approx(ours.log_marginal_likelihood_)
        for a, b in zip(
            theirs.predict(X[:7] + 1, return_std=True), ours.predict(X[:7] + 1, return_std=True)
        ):
            np.testing.assert_allclose(a, b, rtol=1e-5)
    stacked = np.array([X[:, groups == g] @ X[:, groups == g].T for g in range(6)])
    pre = estimator(kernels="precomputed", **options).fit(stacked, y)
    np.testing.assert_allclose(pre.lambda_, ours.lambda_, rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(pre.predict(stacked), ours.predict(X), rtol=1e-5)


def test_chosen_rate_is_the_same_for_kernels_and_groups():
    X, y, groups = data(40)
    kernels = [(str(g), "linear", {"columns": np.flatnonzero(groups == g)}) for g in range(6)]
    ours = GroupARDRegression(groups, "cv", n_gammas=5, cv=3).fit(X, y)
    theirs = GroupARDRegression(None, "cv", kernels=kernels, n_gammas=5, cv=3).fit(X, y)
    np.testing.assert_allclose(theirs.cv_scores_, ours.cv_scores_, rtol=1e-4)
    stacked = np.array([X[:, groups == g] @ X[:, groups == g].T for g in range(6)])
    pre = GroupARDRegression(None, "cv", kernels="precomputed", n_gammas=5, cv=3)
    np.testing.assert_allclose(pre.fit(stacked, y).cv_scores_, ours.cv_scores_, rtol=1e-4)


def test_chosen_rate_is_the_best_of_a_loop():
    X, y, groups = data(60, seed=5)
    model = GroupARDRegression(groups, "cv", n_gammas=6, cv=KFold(4)).fit(X, y)
    errors = []
    for gamma in model.gammas_:
        total = 0.0
        for train, test in KFold(4).split(X):
            part = GroupARDRegression(groups, gamma, model.sigma2_).fit(X[train], y[train])
            total += ((part.predict(X[test]) - y[test]) ** 2).sum()
        errors.append(total / len(y))
    np.testing.assert_allclose(-model.cv_scores_, errors, rtol=1e-4)
    assert model.gamma_ == model.gammas_[np.argmin(errors)]


def test_grid_is_the_papers():
    grid = gamma_grid(4.0)
    assert len(grid) == 30
    assert grid[0] == pytest.approx(1e-2 / 4)
    assert grid[-1] == pytest.approx(1e4 / 4)
    np.testing.assert_allclose(np.diff(np.log(grid)), np.log(1e6) / 29)


def test_sparse_tables_give_the_same_model():
    X, y, groups = data(50)
    X = X * (np.random.default_rng(0).uniform(size=X.shape) < 0.5)
    for n in (50, 12):
        for noise in (1.0, "ml"):
            dense = GroupARDRegression(groups, noise=noise).fit(X[:n], y[:n])
            sparse = GroupARDRegression(groups, noise=noise).fit(sp.csr_array(X[:n]), y[:n])
            np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-6)
            for a, b in zip(
                sparse.predict(sp.csr_array(X[:5]), return_std=True),
                dense.predict(X[:5], return_std=True),
            ):
                np.testing.assert_allclose(a, b, rtol=1e-6)
    dense = GroupARDRegression(groups).fit(X, y)
    sparse = GroupARDRegression(groups).fit(sp.csr_array(X), y)
    assert sparse.sigma2_ == pytest.approx(dense.sigma2_)


@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 1000), factor=st.sampled_from([1e-6, 0.3, 1e6]))
def test_invariances(seed, factor):
    X, y, groups = data(40, seed=seed)
    model = GroupARDRegression(groups, 0.3, 1.0).fit(X, y)
    rng = np.random.default_rng(seed)
    # Rotations inside a group leave the variances.
    turned = X.copy()
    turned[:, groups == 2] = X[:, groups == 2] @ np.linalg.qr(rng.normal(size=(3, 3)))[0]
    other = GroupARDRegression(groups, 0.3, 1.0).fit(turned, y)
    np.testing.assert_allclose(other.lambda_, model.lambda_, rtol=1e-4, atol=1e-7)
    # The unit of y: variances and noise by its square, the rate by its inverse.
    other = GroupARDRegression(groups, 0.3 / factor**2, factor**2).fit(X, factor * y)
    np.testing.assert_allclose(other.lambda_, factor**2 * model.lambda_, rtol=1e-4, atol=0)
    # Order of the groups and of the rows.
    order, rows = rng.permutation(18), rng.permutation(40)
    other = GroupARDRegression(groups[order], 0.3, 1.0).fit(X[rows][:, order], y[rows])
    np.testing.assert_allclose(other.lambda_, model.lambda_, rtol=1e-4, atol=1e-7)
    # A variance is zero where the coefficients are, exactly.
    for g in range(6):
        assert (model.lambda_[g] == 0) == (model.coef_[groups == g] == 0).all()


def test_penalty_leaves_out_more():
    X, y, groups = data(seed=2)
    counts = [
        len(GroupARDRegression(groups, gamma).fit(X, y).active_groups_)
        for gamma in (0.0, 10.0, 100.0, 1e6)
    ]
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] == 0 < counts[0]


def test_starts_keep_the_best():
    X, y, groups = data(25, seed=8)
    one = GroupARDRegression(groups, noise=0.1).fit(X, y)
    four = GroupARDRegression(groups, noise=0.1, n_starts=4).fit(X, y)
    assert four.log_marginal_likelihood_ >= one.log_marginal_likelihood_ - 1e-9


def test_objective_never_rises():
    X, y, groups = data(seed=9)
    for solver in SOLVERS:
        model = GroupARDRegression(groups, solver=solver, noise="ml").fit(X, y)
        falls = np.diff(model.objectives_)
        assert falls.max() < 1e-9 * abs(model.objective_)
        assert model.objectives_[-1] == model.objective_


def test_exact_fit_and_constant_targets():
    X, _, groups = data(40)
    y = X[:, 0] - 2 * X[:, 1] + 5
    model = GroupARDRegression(groups).fit(X, y)
    assert model.sigma2_ == pytest.approx(1e-10 * y.var())
    np.testing.assert_allclose(model.predict(X), y, atol=1e-5)
    for estimator in (GroupARDRegression(groups), GroupLassoEB(groups)):
        for noise in ("ls", "ml", 1.0):
            flat = estimator.set_params(noise=noise).fit(X, np.full(40, 3.0))
            assert not flat.lambda_.any()
            assert not flat.coef_.any()
            np.testing.assert_array_equal(flat.predict(X), 3.0)
            assert np.isfinite(flat.predict(X, return_std=True)[1]).all()


def test_columns_of_zeros_and_constants_are_left_out():
    X, y, groups = data(50)
    X[:, 3:6], X[:, 15:] = 0.0, 7.0
    model = GroupARDRegression(groups).fit(X, y)
    assert not np.isin([1, 5], model.active_groups_).any()
    assert model.kkt_violation_ < 1e-6


def test_duplicate_groups_warn():
    X, y, groups = data(50)
    X[:, 3:6] = 2.0 * X[:, [1, 0, 2]]
    with pytest.warns(UserWarning, match="Groups 0 and 1 are the same up to scale"):
        model = GroupARDRegression(groups, noise=1.0).fit(X, y)
    assert np.isfinite(model.coef_).all()


def test_well_posed_fits_do_not_warn():
    X, y, _, groups, _ = make_group_sparse(random_state=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        GroupARDRegression(groups).fit(X, y)
        GroupLassoEB(groups, 1.0).fit(X, y)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"groups": [[0, 1], [1, 2]]}, "column 1 is in groups"),
        ({"groups": [[0], [1]]}, "column 2 is in no group"),
        ({"gamma": -0.5}, "gamma.*Got -0.5"),
        ({"gamma": "auto"}, "gamma"),
        ({"noise": 0.0}, "noise"),
        ({"noise": "mle"}, "noise"),
        ({"groups": [0, 0, 1], "kernels": "rbf_ladder"}, "groups and kernels exclude each other"),
        ({"solver": "sgd"}, "solver"),
        ({"n_starts": 0}, "n_starts"),
    ],
)
def test_bad_parameters_are_named(params, words):
    X = np.random.default_rng(0).normal(size=(20, 3))
    with pytest.raises(ValueError, match=words):
        GroupARDRegression(**params).fit(X, X[:, 0])


def test_least_squares_noise_needs_rows():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match=r'"ls" needs more samples than columns.*n_samples=8'):
        GroupARDRegression().fit(rng.normal(size=(8, 9)), rng.normal(size=8))
    with pytest.raises(ValueError, match="n_samples - 7 - 1"):
        GroupARDRegression().fit(rng.normal(size=(8, 7)), rng.normal(size=8))
    with pytest.raises(ValueError, match="dimensions of the kernels"):
        GroupARDRegression(kernels="rbf_ladder").fit(rng.normal(size=(8, 2)), rng.normal(size=8))
    GroupARDRegression(fit_intercept=False).fit(rng.normal(size=(8, 7)), rng.normal(size=8))


def test_kernels_have_no_coefficients():
    X, y, _ = data(30)
    model = GroupARDRegression(kernels="rbf_per_feature", noise="ml").fit(X[:, :3], y)
    assert not hasattr(model, "coef_cov_")
    with pytest.raises(ValueError, match="fista"):
        GroupLassoEB(kernels="rbf_ladder", gamma=1.0, solver="fista").fit(X, y)
    stack = KernelStack("rbf_ladder").fit_transform(X)
    pre = GroupARDRegression(kernels="precomputed", noise=1.0).fit(stack, y)
    with pytest.raises(ValueError, match=r"k\(x, x\)"):
        pre.predict(stack, return_std=True)
    with pytest.raises(ValueError, match="y must have one entry per sample"):
        GroupARDRegression(kernels="precomputed", noise=1.0).fit(stack, y[:-1])
