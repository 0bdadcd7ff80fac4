"""The joint predictor against cvxpy, finite differences, limits of its penalties and symmetries."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator
from sklearn.exceptions import ConvergenceWarning

from octavo.data import make_autoregressive_graphs
from octavo.network import AutoregressiveLinkPredictor, prox_nuclear_l1
from octavo.network.autoregressive.features import (
    ColumnProjection,
    GeneralFeatures,
    RowProjection,
    leading_directions,
    read_feature_map,
)
from octavo.network.autoregressive.regression import FeatureRegression


def series(n=6, m=6, T=5, seed=0):
    rng = np.random.RandomState(seed)
    return np.maximum(rng.standard_normal((T, n, m)) + 0.3, 0.0)


def by_cvxpy(A, psi, tau, gamma, kappa, order=1, structure="full", nonneg=True):
    """Eq. (3) written out, with a full or a Kronecker W."""
    cp = pytest.importorskip("cvxpy")
    F = [a @ psi for a in A]
    n, r = F[0].shape
    T = len(A) - 1
    X = cp.Variable(A[0].shape, nonneg=nonneg)
    if structure == "kron":
        W = cp.Variable((order * r, r))
        stack = lambda t: np.hstack([F[t - lag] for lag in range(order)])  # noqa: E731
        past = sum(cp.sum_squares(F[t + 1] - stack(t) @ W) for t in range(order - 1, len(A) - 1))
        coming = cp.sum_squares(X @ psi - stack(len(A) - 1) @ W)
        size = n * cp.sum(cp.abs(W))  # K ⊗ I_n has every entry of K n times
    else:
        d = n * r
        W = cp.Variable((order * d, d))
        stack = lambda t: np.hstack([F[t - lag].ravel() for lag in range(order)])  # noqa: E731
        past = sum(
            cp.sum_squares(F[t + 1].ravel() - stack(t) @ W) for t in range(order - 1, len(A) - 1)
        )
        coming = cp.sum_squares(cp.vec(X @ psi, order="C") - stack(len(A) - 1) @ W)
        size = cp.sum(cp.abs(W))
    cost = past / T + kappa * size + coming / (n * r)
    cost += tau * cp.normNuc(X) + gamma * cp.sum(cp.abs(X))
    return cp.Problem(cp.Minimize(cost)).solve(solver="CLARABEL")


@pytest.mark.parametrize("solver", ["fista", "admm"])
@pytest.mark.parametrize(
    ("structure", "order", "nonneg"),
    [("full", 1, True), ("kron", 1, True), ("kron", 2, False), ("full", 2, True)],
)
def test_the_objective_is_cvxpys(structure, order, nonneg, solver):
    A = series(6, 5)
    psi = np.random.RandomState(1).standard_normal((5, 2))
    options = {"tau": 0.01, "gamma": 0.003, "kappa": 0.02}
    model = AutoregressiveLinkPredictor(
        **options,
        order=order,
        feature_map=psi,
        var_structure=structure,
        nonneg=nonneg,
        solver=solver,
        tol=1e-9,
        max_iter=20_000,
    ).fit(A)
    assert model.A_sparse_.any()
    best = by_cvxpy(A, psi, **options, order=order, structure=structure, nonneg=nonneg)
    assert model.objective_ == pytest.approx(best, rel=1e-6)
    assert model.kkt_residual_ < 1e-6
    assert model.A_next_ == pytest.approx(model.A_sparse_, abs=1e-6)


def test_algorithm_1_comes_near_the_optimum():
    A = series(8, 8)
    options = {"tau": 0.03, "gamma": 0.005, "kappa": 0.02, "rank": 3}
    exact = AutoregressiveLinkPredictor(**options, tol=1e-9, max_iter=5000).fit(A)
    near = AutoregressiveLinkPredictor(**options, solver="incremental", max_iter=3000).fit(A)
    assert exact.objective_ - 1e-9 <= near.objective_ <= exact.objective_ * (1 + 1e-3)


@pytest.mark.parametrize("structure", ["kron", "full", "diag"])
def test_the_objective_is_what_its_parts_say(structure):
    A = series(5, 7, 6)
    model = AutoregressiveLinkPredictor(
        0.02, 0.01, 0.05, rank=2, order=2, var_structure=structure, tol=1e-8, max_iter=5000
    ).fit(A)
    F, d = model.features_, model.features_.shape[1]
    K = model.var_coef_
    lags = np.hstack([F[1:], F[:-1]])  # rows t = 1, ..., T
    if structure == "kron":
        r, u = K.shape[1], d // K.shape[1]
        W = np.vstack([np.kron(np.eye(u), K[:r]), np.kron(np.eye(u), K[r:])])
    elif structure == "diag":
        W = np.vstack([np.diag(K[0]), np.diag(K[1])])
    else:
        W = K
    Z = model.A_sparse_
    coming = model._omega(Z)
    value = ((F[2:] - lags[:-1] @ W) ** 2).sum() / 5 + 0.05 * np.abs(W).sum()
    value += ((coming - lags[-1] @ W) ** 2).sum() / d
    value += 0.02 * np.linalg.norm(Z, "nuc") + 0.01 * np.abs(Z).sum()
    assert model.objective_ == pytest.approx(value, rel=1e-9)
    assert model.predicted_features_ == pytest.approx(lags[-1] @ W)


MAPS = {
    "rows": lambda rng: RowProjection(rng.standard_normal((5, 3)), 4),
    "columns": lambda rng: ColumnProjection(rng.standard_normal((4, 2)), 5),
    "general": lambda rng: GeneralFeatures(aslinearoperator(rng.standard_normal((6, 20))), (4, 5)),
}


@pytest.mark.parametrize("kind", MAPS)
def test_adjoints_norms_and_variances(kind):
    rng = np.random.RandomState(0)
    omega = MAPS[kind](rng)
    d = omega.units * omega.width
    A, r = rng.standard_normal((4, 5)), rng.standard_normal(d)
    assert omega(A) @ r == pytest.approx((A * omega.adjoint(r)).sum())
    assert omega(sp.csr_array(A)) == pytest.approx(omega(A))
    designs = [omega.adjoint(e) for e in np.eye(d)]
    L = np.array([design.ravel() for design in designs])
    assert omega.squared_norm() == pytest.approx(np.linalg.norm(L, 2) ** 2, rel=0.011)
    assert omega.squared_norm() >= np.linalg.norm(L, 2) ** 2 * (1 - 1e-9)
    v_op = max(
        np.linalg.norm(sum(o.T @ o for o in designs), 2),
        np.linalg.norm(sum(o @ o.T for o in designs), 2),
    )
    assert omega.variances() == pytest.approx((v_op / d, sum(o**2 for o in designs).max() / d))


def test_what_is_left_after_the_best_w_is_smooth_with_the_slope_of_the_residual():
    F = np.random.RandomState(2).standard_normal((6, 4, 2))
    regression = FeatureRegression(F, 1, 0.3, "kron")
    coming = np.random.RandomState(3).standard_normal(8)
    found = regression.fit(coming)
    slope = 2.0 * (coming - found.predicted) / 8
    for j in range(8):
        step = 1e-5 * np.eye(8)[j]
        rise = regression.fit(coming + step).value - regression.fit(coming - step).value
        assert rise / 2e-5 == pytest.approx(slope[j], abs=1e-6)


def test_a_list_and_an_operator_of_the_same_features_give_the_same_graph():
    A = series(4, 4, 6)
    psi = leading_directions(A.sum(axis=0), 1, np.random.RandomState(0))
    designs = [RowProjection(psi, 4).adjoint(e) for e in np.eye(4)]
    stacked = aslinearoperator(np.array([o.ravel() for o in designs]))
    options = {
        "tau": 0.05,
        "gamma": 0.01,
        "kappa": 0.05,
        "var_structure": "full",
        "tol": 1e-9,
        "max_iter": 5000,
    }
    plain = AutoregressiveLinkPredictor(**options, feature_map=psi).fit(A)
    for given in (designs, np.array(designs), [sp.csr_array(o) for o in designs], stacked):
        other = AutoregressiveLinkPredictor(**options, feature_map=given).fit(A)
        assert other.objective_ == pytest.approx(plain.objective_, rel=1e-6)
        assert other.A_next_ == pytest.approx(plain.A_next_, abs=1e-4)


def test_limits_of_the_penalties():
    A = series(6, 6, 8)
    with pytest.warns(UserWarning, match="No link is foreseen"):
        none = AutoregressiveLinkPredictor(0.1, 0.1, 1e6).fit(A)
    assert not none.var_coef_.any()
    assert not none.A_next_.any()
    free = AutoregressiveLinkPredictor(
        0.0, 0.0, 0.01, rank=6, nonneg=False, tol=1e-10, max_iter=5000
    ).fit(A)
    assert free.predict_features() == pytest.approx(free.predicted_features_, abs=1e-6)
    for name in ("tau", "gamma"):
        largest = getattr(free, f"{name}_max_")
        for factor, empty in ((1.001, True), (0.95, False)):
            options = {"tau": 0.0, "gamma": 0.0, name: factor * largest}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                model = AutoregressiveLinkPredictor(
                    **options, kappa=0.01, rank=6, nonneg=False
                ).fit(A)
            assert (not model.A_next_.any()) == empty


def test_noise_free_series_give_their_dynamics_back():
    made = make_autoregressive_graphs(30, 3, 8, sigma=0.0, density=0.5, random_state=0)
    psi = np.linalg.pinv(made.V.T)
    model = AutoregressiveLinkPredictor(
        1e-6, 1e-7, 1e-7, feature_map=psi, tol=1e-9, max_iter=5000
    ).fit(made.snapshots)
    assert model.var_coef_ == pytest.approx(made.K, abs=1e-3)
    assert model.predict_features() == pytest.approx(made.U[-1].ravel(), abs=2e-3)


def test_nodes_may_come_in_any_order():
    A = series(6, 5, 6)
    rows, columns = np.random.RandomState(4).permutation(6), np.random.RandomState(5).permutation(5)
    options = {"tau": 0.03, "gamma": 0.005, "kappa": 0.02, "rank": 2, "tol": 1e-9, "max_iter": 5000}
    plain = AutoregressiveLinkPredictor(**options).fit(A)
    moved = AutoregressiveLinkPredictor(**options).fit(A[:, rows][:, :, columns])
    assert moved.objective_ == pytest.approx(plain.objective_, rel=1e-7)
    assert moved.A_next_ == pytest.approx(plain.A_next_[rows][:, columns], abs=1e-4)


def test_degrees_predict_volumes_and_say_so():
    A = series(5, 4, 8)
    with pytest.warns(UserWarning, match="volumes"):
        model = AutoregressiveLinkPredictor(
            1e-4, 1e-4, 1e-3, feature_map="in_degree", var_structure="diag"
        ).fit(A)
    assert model.features_ == pytest.approx(A.sum(axis=1))
    assert np.ptp(model.A_next_, axis=0) == pytest.approx(0.0, abs=1e-6)  # identical rows
    with pytest.warns(UserWarning, match="columns"):
        model = AutoregressiveLinkPredictor(1e-4, 1e-4, 1e-3, feature_map="out_degree").fit(A)
    assert model.features_ == pytest.approx(A.sum(axis=2))


@pytest.mark.parametrize("scale", [1e-5, 1e5])
def test_rescaled_series_need_no_other_penalties(scale):
    A = series(6, 5, 6)
    plain = AutoregressiveLinkPredictor(0.02, 0.002, 0.01, rescale=True, rank=2).fit(A)
    other = AutoregressiveLinkPredictor(0.02, 0.002, 0.01, rescale=True, rank=2).fit(scale * A)
    assert other.A_next_ / scale == pytest.approx(plain.A_next_, abs=1e-6)
    fixed = AutoregressiveLinkPredictor(0.02 * scale, 0.002 * scale, 0.01 * scale**2, rank=2)
    plain = AutoregressiveLinkPredictor(0.02, 0.002, 0.01, rank=2).fit(A)
    assert fixed.fit(scale * A).A_next_ / scale == pytest.approx(plain.A_next_, abs=1e-5)


def test_sparse_dense_float32_networkx_and_repeated_entries_are_one_series():
    nx = pytest.importorskip("networkx")
    A = np.round(series(6, 6, 5), 3)
    options = {"tau": 0.02, "gamma": 0.002, "kappa": 0.01, "rank": 2}
    plain = AutoregressiveLinkPredictor(**options).fit(A).A_next_
    halves = []
    for a in A:
        i, j = np.nonzero(a)
        entries = np.concatenate([a[i, j] / 2, a[i, j] / 2])
        places = np.tile(np.array([i, j], dtype=np.int64), 2)
        halves.append(sp.coo_array((entries, tuple(places)), shape=a.shape))
    graphs = [nx.from_numpy_array(a, create_using=nx.DiGraph) for a in A]
    for given in (halves, [sp.csc_matrix(a) for a in A], A.astype(np.float32), list(A), graphs):
        found = AutoregressiveLinkPredictor(**options).fit(given).A_next_
        assert found == pytest.approx(plain, abs=1e-5)


def test_history_is_the_latest_snapshots():
    A = series(5, 5, 9)
    options = {"tau": 0.02, "gamma": 0.002, "kappa": 0.01, "rank": 2}
    late = AutoregressiveLinkPredictor(**options, history=4).fit(A)
    assert late.A_next_ == pytest.approx(AutoregressiveLinkPredictor(**options).fit(A[-4:]).A_next_)


def test_scores_of_pairs():
    A = series(5, 4, 6)
    model = AutoregressiveLinkPredictor(0.02, 0.002, 0.01, rank=2).fit(A)
    pairs = [[0, 3], [4, 0], [2, 2]]
    assert model.predict_scores(pairs).tolist() == [model.A_next_[i, j] for i, j in pairs]
    assert model.predict_scores().shape == (5, 4)
    for wrong, words in (([[5, 0]], "row 5"), ([[0, 4]], "column 4"), ([0, 1], "two columns")):
        with pytest.raises(ValueError, match=words):
            model.predict_scores(wrong)
    with pytest.raises(ValueError, match="whole"):
        model.predict_scores([[0.5, 1.0]])


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ([np.ones((3, 3)), np.ones((3, 4))], "same shape"),
        (np.ones((1, 3, 3)), "at least 2 snapshots"),
        (-np.ones((4, 3, 3)), "nonneg"),
        (np.full((4, 3, 3), np.nan), "finite"),
        (np.full((4, 3, 3), 1e200), "too large"),
        (np.ones((3, 3)), r"shape \(T, n, m\)"),
        (sp.eye_array(3), "single"),
        ([], "at least one"),
        (3, "list of graphs"),
    ],
)
def test_bad_series_are_sentences(bad, words):
    with pytest.raises(ValueError, match=words):
        AutoregressiveLinkPredictor().fit(bad)


def test_bad_feature_maps_are_sentences():
    A = series()
    for given, words in (
        ("some", "svd"),
        (np.ones((4, 2)), "row for each"),
        ([np.ones((2, 2))], "shape"),
        (aslinearoperator(np.ones((2, 7))), "36"),
    ):
        with pytest.raises(ValueError, match=words):
            AutoregressiveLinkPredictor(feature_map=given).fit(A)
    with pytest.raises(ValueError, match="order=5 needs at least 6"):
        AutoregressiveLinkPredictor(order=5).fit(A)
    with pytest.raises(ValueError, match="Raise history"):
        AutoregressiveLinkPredictor(order=2, history=2).fit(A)
    with pytest.raises(ValueError, match="too many"):
        AutoregressiveLinkPredictor(var_structure="full").fit(np.ones((2, 1000, 5)))
    with pytest.warns(UserWarning, match="raise kappa"):
        AutoregressiveLinkPredictor(1e-3, 1e-3, 0.01, var_structure="full").fit(series(20, 20, 4))


def test_not_settled_is_a_warning():
    with pytest.warns(ConvergenceWarning, match="residual"):
        AutoregressiveLinkPredictor(0.01, 0.001, 0.01, max_iter=1).fit(series())


def test_the_public_map_is_checked():
    assert read_feature_map("svd", [np.eye(3)], 9, np.random.RandomState(0)).width == 3
    assert prox_nuclear_l1(np.eye(3), 0.25, 0.25) == pytest.approx(0.5 * np.eye(3))
    with pytest.raises(ValueError, match="tau"):
        prox_nuclear_l1(np.eye(3), -1.0, 0.0)
    with pytest.raises(ValueError, match="finite"):
        prox_nuclear_l1([[np.nan]], 1.0, 0.0)
