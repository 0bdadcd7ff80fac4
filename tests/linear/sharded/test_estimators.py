"""The hybrid learner against scikit-learn, scipy, cvxpy and Algorithm 1 written out plainly."""

import copy
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from octavo.engine.distributed.map_reduce import (
    MemoryLost,
    Site,
    ThreadCommunicator,
    communicator_for,
)
from octavo.engine.distributed.shards import ArrayShard, split_rows
from octavo.engine.smooth.losses import LOSSES
from octavo.linear import (
    HybridLinearClassifier,
    HybridLinearRegressor,
    ShardWriter,
    confidence_average,
    write_shards,
)
from octavo.linear.sharded.passes import (
    LinearTask,
    look,
    probe,
    restore_margins,
    start_batch,
)

TIGHT = {"tol": 1e-13, "max_iter": 2000}


def zipf(n=400, d=60, s=8, seed=0, dtype=float):
    """Return rows of a few features, some frequent and most rare, with values; labels 0 and 1."""
    rng = np.random.default_rng(seed)
    indices = np.minimum((d ** rng.uniform(size=(n, s))).astype(int) - 1, d - 1)
    values = rng.uniform(0.5, 1.5, n * s)
    X = sp.csr_array((values, indices.ravel(), np.arange(n + 1) * s), shape=(n, d))
    X.sum_duplicates()
    score = X @ rng.normal(size=d) + 0.5
    return X.astype(dtype), (score + rng.logistic(size=n) > 0).astype(int)


def log_objective(X, y, coef, intercept, alpha, weight=1.0):
    margin = (2 * y - 1) * (X @ np.ravel(coef) + np.ravel(intercept))
    return float(np.sum(weight * np.logaddexp(0, -margin)) + 0.5 * alpha * np.sum(coef**2))


# --- the optimum ---------------------------------------------------------------------------------


@pytest.mark.parametrize("n_shards", [1, 2, 4, 7])
def test_the_optimum_is_that_of_logistic_regression_and_scipy(n_shards):
    X, y = zipf()
    ours = HybridLinearClassifier(alpha=0.7, n_shards=n_shards, **TIGHT).fit(X, y)
    theirs = LogisticRegression(C=1 / 0.7, tol=1e-10, max_iter=10_000).fit(X, y)
    best = log_objective(X, y, theirs.coef_, theirs.intercept_, 0.7)
    assert ours.objective_ == pytest.approx(best, rel=1e-6)
    assert ours.objective_ == pytest.approx(
        log_objective(X, y, ours.coef_, ours.intercept_, 0.7), rel=1e-12
    )

    def function(w):
        s = 2 * y - 1
        slope = -s * expit(-s * (X @ w[:-1] + w[-1]))
        gradient = np.append(X.T @ slope + 0.7 * w[:-1], slope.sum())
        return log_objective(X, y, w[:-1], w[-1], 0.7), gradient

    scipys = minimize(function, np.zeros(61), jac=True, method="L-BFGS-B",
                      options={"ftol": 1e-15, "gtol": 1e-8, "maxiter": 5000})  # fmt: skip
    assert ours.objective_ == pytest.approx(scipys.fun, rel=1e-6)
    np.testing.assert_allclose(np.append(ours.coef_, ours.intercept_), scipys.x, atol=1e-3)
    assert np.abs(function(np.append(ours.coef_, ours.intercept_))[1]).max() < 1e-3
    assert ours.gradient_norm_ < 1e-3


@pytest.mark.parametrize("intercept", ["none", "free", "penalised"])
def test_weights_and_intercepts(intercept):
    X, y = zipf(seed=1)
    weight = np.random.default_rng(0).uniform(0.1, 3, len(y))
    ours = HybridLinearClassifier(
        n_shards=3, fit_intercept=intercept != "none",
        penalize_intercept=intercept == "penalised", **TIGHT,
    ).fit(X, y, weight)  # fmt: skip
    table = sp.hstack([X, np.ones((len(y), 1))]).tocsr() if intercept == "penalised" else X
    theirs = LogisticRegression(fit_intercept=intercept == "free", tol=1e-10, max_iter=10_000)
    theirs.fit(table, y, weight)
    best = log_objective(table, y, theirs.coef_, theirs.intercept_, 1.0, weight)
    assert ours.objective_ == pytest.approx(best, rel=1e-7)
    np.testing.assert_allclose(
        ours.decision_function(X), theirs.decision_function(table), atol=2e-3
    )


@pytest.mark.parametrize("n_shards", [1, 5])
def test_squared_loss_is_ridge(n_shards):
    X, _ = zipf(seed=2)
    y = X @ np.linspace(-1, 1, 60) + np.random.default_rng(0).normal(size=400) + 3
    weight = np.random.default_rng(1).uniform(0.5, 2, 400)
    ours = HybridLinearRegressor(alpha=2.0, n_shards=n_shards, **TIGHT).fit(X, y, weight)
    theirs = Ridge(alpha=2.0).fit(X.toarray(), y, weight)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, abs=1e-5)
    classifier = HybridLinearClassifier("squared", n_shards=n_shards, **TIGHT).fit(X, y > 3)
    ridge = Ridge(alpha=1.0).fit(X.toarray(), np.where(y > 3, 1.0, -1.0))
    np.testing.assert_allclose(classifier.coef_[0], ridge.coef_, atol=1e-5)


def test_squared_hinge_is_the_linear_svm():
    X, y = zipf(seed=3)
    ours = HybridLinearClassifier(
        "squared_hinge", alpha=1.0, fit_intercept=False, n_shards=2, **TIGHT
    ).fit(X, y)
    svm = LinearSVC(C=1.0, fit_intercept=False, tol=1e-10, max_iter=100_000)
    svm.fit(X.toarray(), y)
    np.testing.assert_allclose(ours.coef_, svm.coef_, atol=1e-4)


@pytest.mark.parametrize(("loss", "level"), [("hinge", 0.5), ("quantile", 0.5), ("quantile", 0.9)])
def test_kinked_losses_reach_the_exact_optimum(loss, level):
    cp = pytest.importorskip("cvxpy")
    rng = np.random.default_rng(4)
    X = rng.normal(size=(200, 6))
    y = X[:, 0] - X[:, 1] + rng.standard_t(3, size=200)
    w, b = cp.Variable(6), cp.Variable()
    p = X @ w + b
    if loss == "hinge":
        y = np.where(y > 0, 1.0, -1.0)
        total = cp.sum(cp.pos(1 - cp.multiply(y, p)))
        model = HybridLinearClassifier(loss, n_shards=3, tol=1e-7, max_iter=5000)
    else:
        total = cp.sum(cp.maximum(level * (y - p), (level - 1) * (y - p)))
        model = HybridLinearRegressor(loss, quantile=level, n_shards=3, tol=1e-7, max_iter=5000)
    exact = cp.Problem(cp.Minimize(total + 0.5 * cp.sum_squares(w)))
    exact.solve(solver="CLARABEL")
    model.fit(X, y)
    assert 0 <= model.objective_ / exact.value - 1 + 1e-8 <= 2e-5
    assert 0 <= model.smoothing_gap_ <= 1e-4 * exact.value
    np.testing.assert_allclose(np.ravel(model.coef_), w.value, atol=2e-2)
    assert (np.diff(model.objectives_) <= 1e-9).all(), "narrower smoothing, lower objective"


def test_a_free_intercept_estimates_the_quantile_itself():
    y = np.random.default_rng(0).exponential(size=301)
    model = HybridLinearRegressor("quantile", quantile=0.8, tol=1e-8, max_iter=3000)
    model.fit(np.zeros((301, 1)), y)
    assert model.intercept_ == pytest.approx(np.quantile(y, 0.8), abs=1e-3)


# --- sharding ------------------------------------------------------------------------------------


def test_the_batch_path_does_not_depend_on_the_shards():
    X, y = zipf(seed=5)
    paths = [
        HybridLinearClassifier(n_online_passes=0, n_shards=m, tol=1e-10, max_iter=40)
        .fit(X, y)
        .objectives_
        for m in (1, 2, 4, 7, 50)
    ]
    for path in paths[1:]:
        np.testing.assert_allclose(path, paths[0], rtol=1e-10)


def test_bits_do_not_depend_on_the_threads():
    X, y = zipf(seed=6)
    fits = [
        HybridLinearClassifier(n_shards=7, comm=ThreadCommunicator(k)).fit(X, y) for k in (1, 2, 5)
    ]
    assert len({fit.coef_.tobytes() for fit in fits}) == 1


def test_every_form_of_input_gives_the_same_optimum(tmp_path):
    X, y = zipf(seed=7)
    weight = np.random.default_rng(0).uniform(0.5, 2, 400)
    cuts = [slice(0, 150), slice(150, 150), slice(150, 400)]
    tuples = [(X[c], y[c], weight[c]) for c in cuts]
    paths = write_shards(tmp_path, X, y, weight, n_shards=4, random_state=0)

    def stream():
        for start in range(0, 400, 90):
            rows = slice(start, start + 90)
            yield X[rows].toarray(), y[rows], weight[rows]

    inputs = {
        "table": (X, y, weight),
        "dense": (X.toarray(), y, weight),
        "read-only": (_read_only(X.toarray()), y, weight),
        "tuples": (tuples,),
        "paths": (paths,),
        "folder": (tmp_path,),
        "text": (str(tmp_path),),
        "stream": (stream,),
        "mixed": ([tuples[0], lambda: iter([tuples[2]])],),
    }
    found = {
        name: HybridLinearClassifier(n_shards=2, **TIGHT).fit(*given)
        for name, given in inputs.items()
    }
    for name, model in found.items():
        assert model.objective_ == pytest.approx(found["table"].objective_, rel=1e-9), name
        assert model.n_features_in_ == 60
        np.testing.assert_array_equal(model.classes_, [0, 1])


def _read_only(array):
    array.flags.writeable = False
    return array


def test_dask_arrays_without_a_cluster():
    da = pytest.importorskip("dask.array")
    X, y = zipf(seed=8)
    table = HybridLinearClassifier(**TIGHT).fit(X, y)
    for targets in (y, da.from_array(y, chunks=33)):
        chunked = da.from_array(X.toarray(), chunks=(90, 25))
        model = HybridLinearClassifier(**TIGHT).fit(chunked, targets)
        assert model.objective_ == pytest.approx(table.objective_, rel=1e-9)
    with pytest.raises(ValueError, match="400 rows, y or sample_weight 399"):
        HybridLinearClassifier().fit(da.from_array(X.toarray()), y[1:])


def test_single_precision_is_read_as_it_is():
    X, y = zipf(seed=9)
    double = HybridLinearClassifier(**TIGHT).fit(X.astype(np.float32).astype(float), y)
    single = HybridLinearClassifier(**TIGHT).fit(X.astype(np.float32), y)
    assert single.objective_ == pytest.approx(double.objective_, rel=1e-12)
    assert single.coef_.dtype == np.float64


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 1000), n_shards=st.integers(1, 5))
def test_rows_may_be_permuted_and_split_by_weight(seed, n_shards):
    X, y = zipf(n=80, d=10, seed=11)
    rng = np.random.default_rng(seed)
    weight = rng.uniform(0.5, 2, 80)
    order = rng.permutation(80)
    share = rng.uniform(0.1, 0.9, 80)
    one = HybridLinearClassifier(n_shards=n_shards, **TIGHT).fit(X, y, weight)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        two = HybridLinearClassifier(n_shards=2, **TIGHT).fit(
            sp.vstack([X, X[order]]).tocsr(),
            np.concatenate([y, y[order]]),
            np.concatenate([weight * share, (weight * (1 - share))[order]]),
        )
    assert one.objective_ == pytest.approx(two.objective_, rel=1e-8)


# --- the online pass -----------------------------------------------------------------------------


def algorithm_1(X, y, weight, w, G, loss, eta, level=0.5):
    """The paper's Algorithm 1, with the invariant step from its differential equation."""
    slopes = {
        "log": lambda p, t: -t * expit(-t * p),
        "squared": lambda p, t: p - t,
        "hinge": lambda p, t: -t if t * p < 1 else 0.0,
        "squared_hinge": lambda p, t: -2 * t * max(0.0, 1 - t * p),
        "quantile": lambda p, t: -level if t > p else (1 - level if t < p else 0.0),
    }
    slope = slopes[loss]
    for x, t, h in zip(X, y, weight):
        p, q = x @ w, (x**2) @ G**-0.5
        if loss in ("hinge", "quantile"):
            distance = max(0.0, 1 - t * p) if loss == "hinge" else abs(p - t)
            first = slope(p, t)
            s = np.sign(first) * min(h * eta * abs(first), distance / q)
        else:
            solved = solve_ivp(
                lambda _, s, p, q, t: [slope(p - s[0] * q, t)], (0, h * eta), [0.0],
                args=(p, q, t), rtol=1e-10, atol=1e-12,
            )  # fmt: skip
            s = solved.y[0, -1]
        g = slope(p, t) * x
        w = w - s * G**-0.5 * x
        G = G + h * g**2
    return w, G


@pytest.mark.parametrize("loss", ["log", "hinge", "squared_hinge", "squared", "quantile"])
def test_the_online_pass_is_algorithm_1_with_averaging(loss):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(45, 4)) * (rng.uniform(size=(45, 4)) < 0.7)
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=45) > 0, 1.0, -1.0)
    y = y * rng.uniform(0.5, 2, 45) if loss == "quantile" else y
    weight = rng.uniform(0.5, 2, 45)
    options = {"n_online_passes": 2, "eta": 0.7, "G0": 2.0, "max_iter": 0, "n_shards": 3}
    kind = HybridLinearRegressor if loss == "quantile" else HybridLinearClassifier
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = kind(loss, **options).fit(X, y, weight)

    extended = np.column_stack([X, np.ones(45)])
    w, G = np.zeros(5), np.full(5, 2.0)
    for _ in range(2):
        runs = [
            algorithm_1(extended[rows], y[rows], weight[rows], w, G, loss, 0.7)
            for rows in (slice(0, 15), slice(15, 30), slice(30, 45))
        ]
        total = sum(own for _, own in runs)
        w = sum(own * v for v, own in runs) / total  # Eq. (2)
        G = sum(own**2 for _, own in runs) / total
    np.testing.assert_allclose(model.online_coef_, w[:-1], rtol=1e-6, atol=1e-8)
    assert model.online_intercept_ == pytest.approx(w[-1], rel=1e-6, abs=1e-8)
    np.testing.assert_allclose(model.G_, G[:-1], rtol=1e-6)
    np.testing.assert_allclose(np.ravel(model.coef_), model.online_coef_)


def test_partial_fit_is_the_same_pass_in_pieces():
    X, y = zipf(seed=12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        whole = HybridLinearClassifier(max_iter=0).fit(X, y)
    pieces = HybridLinearClassifier()
    for start in range(0, 400, 60):
        pieces.partial_fit(X[start : start + 60], y[start : start + 60], classes=[0, 1])
    np.testing.assert_allclose(pieces.coef_, whole.coef_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(pieces.G_, whole.G_, rtol=1e-12)
    fitted = HybridLinearClassifier(**TIGHT).fit(X, y)
    before = fitted.coef_.copy()
    fitted.partial_fit(X[:5], y[:5])
    assert not np.array_equal(fitted.coef_, before)
    assert np.abs(fitted.coef_ - before).max() < 0.5, "continues from where the fit ended"


def test_importance_weight_two_is_two_visits_at_frozen_confidence():
    """With G0 so large that confidences hardly move, weight 2 equals a row given twice."""
    X, y = np.array([[1.0, 2.0]]), [1]
    options = {"max_iter": 0, "G0": 1e8, "eta": 1e4, "fit_intercept": False}
    models = [HybridLinearClassifier(**options) for _ in range(2)]
    models[0].partial_fit(X, y, classes=[0, 1], sample_weight=[2.0])
    models[1].partial_fit(np.repeat(X, 2, axis=0), y * 2, classes=[0, 1])
    np.testing.assert_allclose(models[0].coef_, models[1].coef_, rtol=1e-7)


# --- Eq. (2) -------------------------------------------------------------------------------------


@settings(max_examples=50, deadline=None)
@given(m=st.integers(1, 9), seed=st.integers(0, 10**6))
def test_averages_by_confidence(m, seed):
    rng = np.random.default_rng(seed)
    ws, Gs = rng.normal(size=(m, 6)), rng.uniform(0.1, 5, size=(m, 6))
    w, G = confidence_average(list(ws), list(Gs))
    np.testing.assert_allclose(w, (Gs * ws).sum(axis=0) / Gs.sum(axis=0), rtol=1e-12)
    np.testing.assert_allclose(G, (Gs**2).sum(axis=0) / Gs.sum(axis=0), rtol=1e-12)
    assert (w <= ws.max(axis=0) + 1e-12).all()
    assert (w >= ws.min(axis=0) - 1e-12).all()
    one, own = confidence_average([ws[0]], [Gs[0]])
    np.testing.assert_allclose((one, own), (ws[0], Gs[0]), rtol=1e-15)
    equal, _ = confidence_average(list(ws), [np.full(6, 3.0)] * m)
    np.testing.assert_allclose(equal, ws.mean(axis=0), atol=1e-12)


def test_a_feature_that_one_node_saw_keeps_its_weight():
    ws = [[1.5, 2.0], [0.0, 4.0]]
    exact, _ = confidence_average(ws, [[7.0, 1.0], [0.0, 1.0]])
    np.testing.assert_array_equal(exact, [1.5, 3.0])
    near, _ = confidence_average(ws, [[1007.0, 1.0], [1.0, 1.0]])
    assert near[0] == pytest.approx(1.5, rel=1e-2)
    nobody, G = confidence_average([[0.0]], [[0.0]])
    assert (nobody[0], G[0]) == (0.0, 0.0)
    with pytest.raises(ValueError, match="cannot be negative"):
        confidence_average([[1.0]], [[-1.0]])
    with pytest.raises(ValueError, match="got 2 and 1"):
        confidence_average([[1.0], [2.0]], [[1.0]])


# --- phases at a site ----------------------------------------------------------------------------


def site_and_task(n=30):
    X, y = zipf(n=n, d=7, s=3, seed=13)
    code = LOSSES["log"]
    task = LinearTask(code, 0.5, code, 0.5, 1.0, 0.0, 7, 1.0, 1)
    return Site(ArrayShard.of(X, y), 0), task, X.toarray(), 2.0 * y - 1


def test_phases_can_be_repeated_and_rebuilt():
    """A retry after a failure, or a new site, gives what the first call gave."""
    site, task, *_ = site_and_task()
    rng = np.random.default_rng(0)
    w, d1, d2 = rng.normal(size=(3, 8))
    start_batch(site, task, w)
    first = probe(site, task, 0, 0.0, d1, 1.0, True)
    np.testing.assert_equal(probe(site, task, 0, 0.0, d1, 1.0, True), first)
    along = look(site, task, 0, 0.3)
    second = probe(site, task, 1, 0.3, d2, 1.0, True)
    np.testing.assert_equal(probe(site, task, 1, 0.3, d2, 1.0, True), second)
    with pytest.raises(MemoryLost):
        look(site, task, 0, 0.3)
    fresh, *_ = site_and_task()
    for needy in (
        lambda: probe(fresh, task, 1, 0.3, d2, 1.0, True),
        lambda: look(fresh, task, 0, 1),
    ):
        with pytest.raises(MemoryLost):
            needy()
    restore_margins(fresh, task, 0, w, d1)
    np.testing.assert_allclose(look(fresh, task, 0, 0.3), along, rtol=1e-12)
    restore_margins(fresh, task, 1, w + 0.3 * d1, None)
    for again, before in zip(probe(fresh, task, 1, 0.3, d2, 1.0, True), second):
        np.testing.assert_allclose(again, before, rtol=1e-10, atol=1e-12)


def test_sweeps_return_derivatives():
    site, task, X, s = site_and_task()
    extended = np.column_stack([X, np.ones(len(s))])
    rng = np.random.default_rng(1)
    w, d = rng.normal(size=(2, 8))

    def value(v):
        return np.logaddexp(0, -s * (extended @ v)).sum()

    def gradient(v):
        return extended.T @ (-s * expit(-s * (extended @ v)))

    loss, g, bend = start_batch(site, task, w)
    assert loss == pytest.approx(value(w))
    np.testing.assert_allclose(g, gradient(w), rtol=1e-10, atol=1e-12)
    chance = expit(extended @ w)
    np.testing.assert_allclose(bend, (extended**2).T @ (chance * (1 - chance)), rtol=1e-10)
    loss, slope, g = probe(site, task, 0, 0.0, d, 0.4, True)
    assert loss == pytest.approx(value(w + 0.4 * d))
    assert slope == pytest.approx(gradient(w + 0.4 * d) @ d)
    np.testing.assert_allclose(g, gradient(w + 0.4 * d), rtol=1e-10, atol=1e-12)
    searched = probe(site, task, 0, 0.0, d, 0.4, False)
    assert searched[:2] == pytest.approx((loss, slope))


# --- use -----------------------------------------------------------------------------------------


def test_timing_tells_where_the_time_went():
    X, y = zipf(n=3000, seed=14)
    model = HybridLinearClassifier(n_shards=4, comm="threads").fit(X, y)
    summary = model.timing_.summary()
    assert {"describe", "online", "start", "probe"} <= set(summary)
    probes = summary["probe"]
    assert probes["calls"] == model.n_iter_
    seconds = sum(phase.wall for phase in model.timing_.of("probe"))
    assert probes["nonzeros_per_second"] == pytest.approx(model.n_iter_ * X.nnz / seconds)
    for phase in model.timing_.of("probe"):
        assert phase.shares.sum() == X.nnz
        np.testing.assert_allclose(
            phase.busy + phase.stall + phase.communication, phase.wall, rtol=1e-9
        )
    sweeps = sum(summary.get(k, {"calls": 0})["calls"] for k in ("start", "probe", "gradient"))
    assert model.n_epochs_ == 1 + sweeps


def test_fitted_models_travel():
    X, y = zipf(seed=15)
    model = HybridLinearClassifier(n_shards=2, comm=ThreadCommunicator(2)).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert repr(again.timing_).startswith("<FitTiming")
    copied = clone(model)
    assert not hasattr(copied, "coef_")
    copy.deepcopy(model).fit(X, y)


def test_probabilities_belong_to_the_log_loss():
    X, y = zipf(seed=16)
    model = HybridLinearClassifier(**TIGHT).fit(X, np.where(y == 1, "yes", "no"))
    theirs = LogisticRegression(tol=1e-10, max_iter=10_000).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), theirs.predict_proba(X), atol=1e-4)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X))
    assert set(model.predict(X)) <= {"yes", "no"}
    assert not hasattr(HybridLinearClassifier("hinge"), "predict_proba")


def test_three_classes_by_one_against_the_rest():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2))
    y = (X[:, 0] > 0.3).astype(int) + (X[:, 0] < -0.3) * 2
    with pytest.raises(ValueError, match="OneVsRestClassifier"):
        HybridLinearClassifier().fit(X, y)
    assert OneVsRestClassifier(HybridLinearClassifier()).fit(X, y).score(X, y) > 0.8


def test_a_callback_can_stop_the_fit():
    X, y = zipf(seed=17)

    class Stop:
        def setup(self, estimator, context): ...
        def teardown(self, estimator, context): ...
        def on_fit_task_begin(self, estimator, context): ...
        def on_fit_task_end(self, estimator, context):
            return True

    model = HybridLinearClassifier(tol=0.0).set_callbacks(Stop())
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model.fit(X, y)
    assert model.n_iter_ == 0, "asked to stop after the online pass"
    assert model.n_epochs_ == 2
    np.testing.assert_array_equal(model.coef_[0], model.online_coef_)
    model.set_params(n_online_passes=0).fit(X, y)
    assert model.n_iter_ == 1


# --- bad input -----------------------------------------------------------------------------------


def test_time_sorted_shards_are_noticed():
    X, y = zipf(n=2000, seed=18)
    order = np.argsort(y, kind="stable")
    with pytest.warns(UserWarning, match=r"shard 0 .* 5 standard errors"):
        HybridLinearClassifier(n_shards=4).fit(X[order], y[order])
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        HybridLinearClassifier(n_shards=4, max_iter=200).fit(X, y)
    with pytest.warns(UserWarning, match="5 standard errors"):
        HybridLinearRegressor(n_shards=2).fit(
            X, np.sort(np.random.default_rng(0).normal(size=2000))
        )


def test_empty_shards_count_for_nothing():
    X, y = zipf(seed=19)
    parts = [(X[:200], y[:200]), (X[:0], y[:0]), (X[200:], y[200:])]
    with_empty = HybridLinearClassifier(**TIGHT).fit(parts)
    without = HybridLinearClassifier(**TIGHT).fit([parts[0], parts[2]])
    np.testing.assert_array_equal(with_empty.online_coef_, without.online_coef_)
    np.testing.assert_array_equal(with_empty.G_, without.G_)
    assert with_empty.objective_ == pytest.approx(without.objective_, rel=1e-9)
    np.testing.assert_allclose(with_empty.coef_, without.coef_, atol=1e-4)
    with pytest.raises(ValueError, match="all shards are empty"):
        HybridLinearClassifier().fit([parts[1]])


def test_features_never_seen_have_no_weight():
    X, y = zipf(seed=20)
    wide = sp.csr_array((X.data, X.indices, X.indptr), shape=(400, 75))
    model = HybridLinearClassifier(n_shards=3, G0=0.5).fit(wide, y)
    assert not model.online_coef_[60:].any()
    assert not model.coef_[0, 60:].any()
    np.testing.assert_allclose(model.G_[60:], 0.5)


def test_values_that_are_not_finite_name_their_shard(tmp_path):
    X, y = zipf(seed=21)
    bad = X[:200].copy()
    bad.data[17] = np.nan
    with pytest.raises(ValueError, match=r"shard 1 \(table 1\).*not finite"):
        HybridLinearClassifier().fit([(X[200:], y[200:]), (bad, y[:200])])
    with ShardWriter(tmp_path / "a", 60) as writer:
        writer.append(bad, y[:200])
    with pytest.raises(ValueError, match=r"shard 0 \(.*/a\).*not finite"):
        HybridLinearClassifier(n_online_passes=0).fit(tmp_path / "a")
    huge = HybridLinearRegressor(n_online_passes=0)
    with pytest.raises(ValueError, match="overflow"):
        huge.fit(np.array([[1e200], [-1e200]]), [1e200, 1.0])


def test_separable_data_without_a_penalty_warn():
    X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    with pytest.warns(ConvergenceWarning, match="separable"):
        model = HybridLinearClassifier(alpha=0.0, max_iter=30).fit(X, [0, 0, 1, 1])
    assert np.isfinite(model.coef_).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        HybridLinearClassifier(alpha=0.0, max_iter=100).fit(X, [0, 1, 0, 1])


def test_stopping_early_warns_with_the_gradient():
    X, y = zipf(seed=22)
    with pytest.warns(ConvergenceWarning, match=r"after 2 iterations .* gradient is [0-9.]+"):
        HybridLinearClassifier(max_iter=2).fit(X, y)


def test_bad_input_says_what_is_wrong(tmp_path):
    X, y = zipf(seed=23)
    fit = HybridLinearClassifier().fit
    with pytest.raises(ValueError, match="differ in their number of features"):
        fit([(X, y), (X[:, :9], y)])
    with pytest.raises(ValueError, match="must be None"):
        fit(tmp_path, y)
    with pytest.raises(TypeError, match="Entry 1 of the list of shards is a int"):
        fit([(X, y), 3])
    with pytest.raises(FileNotFoundError, match="no finished shard"):
        fit(tmp_path)
    with pytest.raises(ValueError, match="needs at least two classes"):
        fit([(X, np.ones(400))])
    with pytest.raises(ValueError, match=r"shard 0 .*finite and not negative"):
        fit([(X, y, -np.ones(400))])
    with pytest.raises(ValueError, match="All sample weights are zero"):
        fit([(X, y, np.zeros(400))])
    with pytest.raises(ValueError, match=r"shard 0 .*targets must be finite"):
        HybridLinearRegressor().fit([(X, np.full(400, np.nan))])
    with pytest.raises(ValueError, match="look continuous"):
        fit([(X, np.random.default_rng(0).normal(size=400))])
    with pytest.raises(TypeError, match="comm must be"):
        HybridLinearClassifier(comm=3.5).fit(X, y)
    with pytest.raises(ValueError, match="'loss'"):
        HybridLinearClassifier("quantile").fit(X, y)
    with pytest.raises(NotFittedError):
        HybridLinearClassifier().predict(X)
    with pytest.raises(ValueError, match="not among classes"):
        HybridLinearClassifier().partial_fit(X, y, classes=[1, 2])


def test_communicators_by_name():
    assert isinstance(communicator_for(None), ThreadCommunicator)
    assert isinstance(communicator_for("threads"), ThreadCommunicator)
    mine = ThreadCommunicator(3)
    assert communicator_for(mine) is not mine
    assert communicator_for(mine).n_threads == 3
    assert type(communicator_for("tcp://10.0.0.1:8786")).__name__ == "DaskCommunicator"
    assert len(split_rows(np.ones((3, 1)), np.ones(3), None, 2)) == 2
