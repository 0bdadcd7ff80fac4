"""Ordinal machines against cvxpy (primal and dual), SVC, and each other."""

import itertools

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from octavo.survival import MinlipOrdinal, OrdinalSVM


def sample(n=45, levels=(1.0, 2.0, 4.0, 9.0), seed=0, d=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 3.0
    latent = X @ np.array([1.0, -1.0, 0.5])[:d] + 0.5 * rng.normal(size=n)
    codes = np.searchsorted(np.quantile(latent, np.arange(1, len(levels)) / len(levels)), latent)
    return X, np.array(levels)[codes]


def primal(X, codes, below, above, C, every=False):
    """Eq. (11), or EXC and IMC with margins of one."""
    cp = pytest.importorskip("cvxpy")
    n, d = X.shape
    k = int(codes.max()) + 1
    w, v = cp.Variable(d), cp.Variable(k - 1)
    cost, held = 0, []
    u = X @ w
    for i, c in enumerate(codes):
        for j in range(k - 1):
            if (every and j < c) or j == c - 1:
                cost += cp.pos(below[c] - u[i] + v[j])
            elif (every and j >= c) or j == c:
                cost += cp.pos(u[i] - v[j] - above[c])
    if not every:
        held.append(v[:-1] <= v[1:]) if k > 2 else None
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + C * cost), held)
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    return problem.value, w.value, v.value


def margins(levels):
    middle = 0.5 * (levels[1:] + levels[:-1])
    return np.r_[0.0, levels[1:] - middle], np.r_[levels[:-1] - middle, 0.0]


@pytest.mark.parametrize("C", [0.05, 2.0])
@pytest.mark.parametrize("levels", [(1.0, 2.0, 4.0, 9.0), (0.0, 1.0), (1.0, 2.0, 3.0)])
def test_minlip_equals_the_primal_and_the_dual(C, levels):
    X, y = sample(levels=levels)
    codes = np.searchsorted(levels, y)
    model = MinlipOrdinal(C=C).fit(X, y)
    value, w, v = primal(X, codes, *margins(np.array(levels)), C)
    assert model.objective_ == pytest.approx(value, rel=1e-7)
    assert model.duality_gap_ <= 1e-8 * max(1.0, value)
    np.testing.assert_allclose(model.coef_, w, atol=1e-4)
    np.testing.assert_allclose(X.T @ model.dual_coef_, model.coef_, atol=1e-6)
    # thresholds may be an interval; they lie where the primal is the same
    assert primal_at(X, codes, levels, C, model.coef_, model.thresholds_) == pytest.approx(
        value, rel=1e-6
    )


def primal_at(X, codes, levels, C, w, v):
    below, above = margins(np.array(levels))
    u, k = X @ w, len(levels)
    up, down = codes > 0, codes < k - 1
    e = np.maximum(below[codes[up]] - u[up] + v[codes[up] - 1], 0).sum()
    e += np.maximum(u[down] - v[codes[down]] - above[codes[down]], 0).sum()
    return 0.5 * w @ w + C * e


@pytest.mark.parametrize("thresholds", ["explicit", "implicit"])
def test_ordinal_svm_equals_the_program(thresholds):
    X, y = sample(30)
    codes = np.searchsorted([1.0, 2.0, 4.0, 9.0], y)
    model = OrdinalSVM(C=0.5, thresholds=thresholds).fit(X, y)
    value, w, _ = primal(X, codes, np.ones(4), -np.ones(4), 0.5, every=thresholds == "implicit")
    assert model.objective_ == pytest.approx(value, rel=1e-7)
    assert model.duality_gap_ <= 1e-8 * max(1.0, value)
    np.testing.assert_allclose(model.coef_, w, atol=1e-4)
    assert (np.diff(model.thresholds_) >= 0).all()


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_two_levels_are_the_support_vector_machine(kernel):
    X, y = sample(levels=(1.0, 4.0))
    half, C = 1.5, 2.0
    svc = SVC(kernel=kernel, gamma=0.3, C=C / half, tol=1e-10).fit(X, y)
    model = MinlipOrdinal(C=C, kernel=kernel, gamma=0.3).fit(X, y)
    theirs, ours = half * svc.decision_function(X), model.predict_utility(X) - model.thresholds_[0]
    K = X @ X.T if kernel == "linear" else rbf_kernel(X, gamma=0.3)
    signs = np.where(y == 4.0, 1.0, -1.0)
    multipliers = np.zeros(len(X))
    multipliers[svc.support_] = half * svc.dual_coef_[0]

    def objective(q, f):
        return 0.5 * q @ K @ q + C * np.maximum(half - signs * f, 0).sum()

    best = objective(multipliers, theirs)
    # LIBSVM stops some digits earlier; a gap of g leaves w within sqrt(2 g).
    assert model.objective_ <= best * (1 + 1e-9)
    assert model.objective_ == pytest.approx(best, rel=1e-5)
    reach = np.sqrt(2 * (best - model.objective_) + 1e-12) * np.sqrt(K.max())
    np.testing.assert_allclose(ours, theirs, atol=2 * reach + 1e-5)
    if kernel == "linear":
        np.testing.assert_allclose(model.coef_, half * svc.coef_[0], atol=reach + 1e-5)
    for thresholds in ("explicit", "implicit"):
        plain = OrdinalSVM(C=C, thresholds=thresholds, kernel=kernel, gamma=0.3).fit(X, y)
        same = MinlipOrdinal(C=C, kernel=kernel, gamma=0.3).fit(X, signs)
        np.testing.assert_allclose(
            plain.predict_utility(X) - plain.thresholds_[0],
            same.predict_utility(X) - same.thresholds_[0],
            atol=1e-5,
        )


def test_equal_spacing_is_the_explicit_machine_up_to_scale():
    X, y = sample(levels=(0.0, 2.0, 4.0, 6.0))
    minlip = MinlipOrdinal(C=0.7).fit(X, y)
    svm = OrdinalSVM(C=0.7).fit(X, y)  # margins of 1 are half of 2
    np.testing.assert_allclose(minlip.coef_, svm.coef_, atol=1e-6)
    wide = MinlipOrdinal(C=2.1).fit(X, 3 * y)
    np.testing.assert_allclose(wide.coef_, 3 * minlip.coef_, atol=1e-5)


def test_implicit_dummies_equal_the_extended_ranking():
    """Section 4.1: Eq. (8) on [[X, 0], [0, I]] and (Y, B)."""
    cp = pytest.importorskip("cvxpy")
    X, y = sample(25, levels=(1.0, 2.0, 5.0))
    B = np.array([1.5, 3.5])
    Z = np.block([[X, np.zeros((25, 2))], [np.zeros((2, 3)), np.eye(2)]])
    t = np.r_[y, B]
    values = np.unique(t)
    w, e = cp.Variable(5), cp.Variable(27)
    a = Z @ w + e
    held = [
        a[i] - a[j] >= t[i] - t[j]
        for low, high in itertools.pairwise(values)
        for i in np.flatnonzero(t == high)
        for j in np.flatnonzero(t == low)
    ]
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + 0.4 * cp.norm1(e)), held)
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    model = MinlipOrdinal(C=0.4, thresholds="implicit").fit(X, y)
    assert model.objective_ == pytest.approx(problem.value, rel=1e-7)
    np.testing.assert_allclose(model.coef_, w.value[:3], atol=1e-5)


@pytest.mark.filterwarnings("error")
def test_without_errors_equal_rows_of_two_levels_say_set_C_and_nothing_else():
    with pytest.raises(ValueError, match="set C to a number"):
        MinlipOrdinal(C=None).fit([[0.0], [1.0], [0.0]], [0, 1, 2])


def test_levels_without_rows_names_and_errors():
    X, y = sample(levels=(1.0, 2.0, 4.0))
    with pytest.warns(UserWarning, match="level 3.0"):
        model = MinlipOrdinal(levels=[1.0, 2.0, 3.0, 4.0]).fit(X, y)
    assert (np.diff(model.thresholds_) > 0).all()
    assert len(model.thresholds_) == 3
    names = np.array(["bad", "fair", "good"])[np.searchsorted([1.0, 2.0, 4.0], y)]
    named = MinlipOrdinal(levels=["bad", "fair", "good"]).fit(X, names)
    numbers = MinlipOrdinal().fit(X, np.searchsorted([1.0, 2.0, 4.0], y))
    np.testing.assert_allclose(named.coef_, numbers.coef_, atol=1e-8)
    assert set(named.predict(X)) <= {"bad", "fair", "good"}
    assert named.concordance(X, names) > 0.8
    with pytest.raises(ValueError, match=r"not in levels.*4.0"):
        MinlipOrdinal(levels=[1.0, 2.0]).fit(X, y)
    with pytest.raises(ValueError, match="two classes"):
        OrdinalSVM().fit(X, np.ones(len(X)))
    with pytest.raises(ValueError, match="rise"):
        MinlipOrdinal(levels=[2.0, 1.0]).fit(X, y)
