"""MINLIP against cvxpy, scikit-survival, isotonic regression and its invariances."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics.pairwise import pairwise_kernels

from octavo.engine.survival.targets import survival_record
from octavo.survival import ComponentwiseKernel, MinlipRanker, MinlipSurvival
from tests.survival.minlip.programs import (
    all_pairs,
    factor,
    minlip_primal,
    nearest_pairs,
    sample,
)

cvxpy = pytest.importorskip("cvxpy")
PLAIN = {"time_scale": None}


def records(lower, upper):
    return survival_record(np.isfinite(upper), lower)


def spread(u):
    return u - u.mean()


@pytest.mark.parametrize("kind", ["exact", "right", "interval", "mixed"])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("loss", ["l1", "l2"])
@pytest.mark.parametrize("pairs", ["nearest", "all"])
def test_survival_equals_the_program(kind, ties, loss, pairs):
    X, lower, upper = sample(40, kind=kind, ties=ties, seed=3)
    listed = {"nearest": nearest_pairs, "all": all_pairs}[pairs](lower, upper)
    for C in (0.02, 1.0):
        model = MinlipSurvival(C=C, loss=loss, pairs=pairs, **PLAIN)
        model.fit(X, np.column_stack([lower, upper]))
        value, utility = minlip_primal(X, lower, upper, listed, C, loss)
        assert model.objective_ == pytest.approx(value, rel=1e-6)
        assert 0 <= model.duality_gap_ <= 1e-6 * value
        np.testing.assert_allclose(spread(model.utility_train_), spread(utility), atol=1e-4)
        assert model.lipschitz_ == pytest.approx(np.linalg.norm(model.coef_))


def bounded(name):
    """Return features and ends of one of the sets of lifelines: intervals, open ends or left."""
    sets = pytest.importorskip("lifelines.datasets")
    if name == "botulinum":  # days until toxin is found: from zero, between two looks, or later
        table = sets.load_c_botulinum_lag_phase().to_numpy(float)
        return table[:, :2], table[:, 2], table[:, 3]
    if name == "diabetes":  # years until a kidney fails, between two visits
        table = sets.load_diabetes()[:90]
        return (table[["gender"]] == "male").to_numpy(float), *table[["left", "right"]].to_numpy().T
    table = sets.load_nh4()  # concentrations, some below what the meter sees
    upper = table["NH4.mg.per.L"].to_numpy()
    lower = np.where(table["Censored"], 0.0, upper)
    return np.c_[table["Week"], np.arange(len(upper))].astype(float), lower, upper


@pytest.mark.parametrize("name", ["botulinum", "diabetes", "ammonia"])
@pytest.mark.parametrize("pairs", ["nearest", "all"])
def test_bounded_times_of_lifelines_equal_the_program(name, pairs):
    X, lower, upper = bounded(name)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    lower, upper = lower / np.median(lower[lower > 0]), upper / np.median(lower[lower > 0])
    model = MinlipSurvival(C=0.1, pairs=pairs, **PLAIN).fit(X, np.column_stack([lower, upper]))
    listed = {"nearest": nearest_pairs, "all": all_pairs}[pairs](lower, upper)
    value, utility = minlip_primal(X, lower, upper, listed, 0.1)
    assert model.objective_ == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(spread(model.utility_train_), spread(utility), atol=1e-4)
    u = model.predict_utility(X)
    counted = [(u[i] > u[j]) + 0.5 * (u[i] == u[j]) for i, j in all_pairs(lower, upper)]
    found = model.score(X, np.column_stack([lower, upper]))
    assert found == pytest.approx(np.mean(counted), abs=1e-12)


def kernel_of(name):
    return ComponentwiseKernel(name[5:]) if name.startswith("each-") else name


@pytest.mark.parametrize(
    "kernel", ["rbf", "poly", "laplacian", "each-poly2", "each-poly3", "each-rbf"]
)
@pytest.mark.parametrize("loss", ["l1", "l2"])
def test_kernels_equal_the_program_in_features_of_the_gram_matrix(kernel, loss):
    X, lower, upper = sample(35, seed=1)
    found = kernel_of(kernel)
    if callable(found):
        K = sum(
            {
                "poly2": lambda x: (1 + x @ x.T) ** 2,
                "poly3": lambda x: (1 + x @ x.T) ** 3,
                "rbf": lambda x: np.exp(-((x - x.T) ** 2)),
            }[found.base](X[:, [p]])
            for p in range(3)
        )
    else:
        options = {"rbf": {}, "laplacian": {}, "poly": {"degree": 2, "coef0": 1.0}}[kernel]
        K = pairwise_kernels(X, metric=kernel, gamma=0.3, **options)
    model = MinlipSurvival(C=0.5, kernel=found, gamma=0.3, degree=2, loss=loss, **PLAIN).fit(
        X, np.column_stack([lower, upper])
    )
    value, utility = minlip_primal(factor(K), lower, upper, nearest_pairs(lower, upper), 0.5, loss)
    assert model.objective_ == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(spread(model.utility_train_), spread(utility), atol=2e-4)
    again = MinlipSurvival(C=0.5, kernel="precomputed", loss=loss, **PLAIN)
    again.fit(K, np.column_stack([lower, upper]))
    assert again.objective_ == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(
        spread(again.predict_utility(K[:5])) - spread(model.predict_utility(X[:5])), 0, atol=2e-4
    )


@pytest.mark.parametrize("pairs", ["nearest", "next", "all"])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_utilities_equal_scikit_survival(pairs, kernel):
    svm = pytest.importorskip("sksurv.svm")
    X, lower, upper = sample(40, seed=5)
    y = records(lower, upper)
    theirs = svm.MinlipSurvivalAnalysis(
        alpha=0.3, kernel=kernel, gamma=0.2, degree=2, coef0=1.0, pairs=pairs
    ).fit(X, y)
    ours = MinlipSurvival(C=0.3, kernel=kernel, gamma=0.2, degree=2, pairs=pairs, **PLAIN).fit(X, y)
    np.testing.assert_allclose(spread(ours.predict(X)), spread(theirs.predict(X)), atol=1e-4)


def test_without_errors_the_ranker_is_the_hard_program_and_an_infeasible_one_says_set_C():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4))
    y = np.exp(X @ [1.0, 2.0, 0.0, -1.0])
    value, utility = minlip_primal(X, y, y, nearest_pairs(y, y), None)
    for C in (None, np.inf):
        model = MinlipRanker(C=C).fit(X, y)
        assert model.objective_ == pytest.approx(value, rel=1e-6)
        np.testing.assert_allclose(spread(model.utility_train_), spread(utility), atol=1e-4)
        assert model.score(X, y) == 1
        np.testing.assert_allclose(model.predict(X), y)
    X[1], y[0], y[1] = X[0], 0.1, 5.0
    with pytest.raises(ValueError, match="set C"):
        MinlipRanker(C=None).fit(X, y)


def test_the_consistent_direction_is_found():
    """Proposition 1: noiseless y = h(w·x) on dense data leaves no angle."""
    rng = np.random.default_rng(1)
    w = np.array([0.6, -0.8])
    angles = []
    for n in (50, 2000):
        X = rng.uniform(-1, 1, size=(n, 2))
        coef = MinlipRanker(C=None).fit(X, (X @ w) ** 3 + X @ w).coef_
        angles.append(np.arccos(coef @ w / np.linalg.norm(coef)))
    assert angles[1] < 0.02
    assert angles[1] < angles[0]


@pytest.mark.parametrize("ties", [False, True])
def test_the_slack_is_the_distance_to_isotonic_sequences(ties):
    """For fixed u the errors of Eq. (8) are an L1 isotonic regression of u - y (median PAVA)."""
    from octavo.engine.projections.isotonic import isotonic_chain

    X, y, _ = sample(60, kind="exact", ties=ties)
    model = MinlipRanker(C=0.7).fit(X, y)
    u = model.utility_train_
    order = np.lexsort((u, y))  # rows of one outcome are free among themselves
    a = (u - y)[order]
    errors = np.abs(isotonic_chain(a, loss="l1").values - a).sum()
    assert model.objective_ == pytest.approx(
        0.5 * model.coef_ @ model.coef_ + 0.7 * errors, rel=1e-7
    )


@given(st.integers(0, 1000))
@settings(max_examples=15, deadline=None)
def test_invariances(seed):
    X, lower, upper = sample(30, seed=seed, ties=seed % 2 == 0)
    rng = np.random.default_rng(seed)
    y = np.column_stack([lower, upper])
    base = MinlipSurvival(C=0.4, **PLAIN).fit(X, y)
    order = rng.permutation(30)
    moved = MinlipSurvival(C=0.4, **PLAIN).fit(X[order], y[order])
    np.testing.assert_allclose(moved.coef_, base.coef_, atol=1e-5)
    # y -> c y with C -> c C gives w -> c w
    double = MinlipSurvival(C=0.8, **PLAIN).fit(X, 2 * y)
    np.testing.assert_allclose(double.coef_, 2 * base.coef_, atol=2e-5)
    assert double.objective_ == pytest.approx(4 * base.objective_, rel=1e-6)
    # days or years: the median is divided out
    years = MinlipSurvival(C=0.4).fit(X, y)
    days = MinlipSurvival(C=0.4).fit(X, 365.25 * y)
    np.testing.assert_allclose(days.coef_, years.coef_, atol=1e-5)
    assert days.time_scale_ == pytest.approx(365.25 * years.time_scale_)
    shifted = MinlipRanker(C=0.4).fit(X, lower - 7.0)
    np.testing.assert_allclose(shifted.coef_, MinlipRanker(C=0.4).fit(X, lower).coef_, atol=1e-5)
    # all pairs say what the nearest ones say when times are exact or right-censored
    every = MinlipSurvival(C=0.4, pairs="all", **PLAIN).fit(X, y)
    np.testing.assert_allclose(every.coef_, base.coef_, atol=1e-5)


def test_clocks_and_field_names():
    X, lower, upper = sample(40)
    y = records(lower, upper)
    other = y.astype([("cens", bool), ("Survival_in_days", float)])
    one = MinlipSurvival(time_transform="log").fit(X, y)
    two = MinlipSurvival(time_transform="log").fit(X, other)
    np.testing.assert_array_equal(one.coef_, two.coef_)
    swapped = np.empty(40, [("t", float), ("d", bool)])
    swapped["t"], swapped["d"] = y["time"], y["event"]
    np.testing.assert_array_equal(
        MinlipSurvival(time_transform="log").fit(X, swapped).coef_, one.coef_
    )
    by_hand = MinlipSurvival(time_scale=None).fit(
        X,
        np.column_stack(
            [np.log(lower) + 9, np.where(np.isfinite(upper), np.log(upper) + 9, upper)]
        ),
    )
    np.testing.assert_allclose(one.coef_, by_hand.coef_, atol=1e-6)
    ranks = MinlipSurvival(time_transform="rank").fit(X, y)
    again = MinlipSurvival(time_transform="rank").fit(X, records(lower**3, upper))
    np.testing.assert_allclose(ranks.coef_, again.coef_, atol=1e-8)
    # Rank by hand: a third of three events each; the censored rows stand half way between two.
    times = np.array([2.0, 3.0, 5.0, 6.0, 7.0, 9.0])
    few = np.column_stack([times, np.where(np.isin(times, [2.0, 5.0, 9.0]), times, np.inf)])
    places = np.array([2, 3, 4, 5, 5, 6]) / 6
    by_rank = MinlipSurvival(time_transform="rank").fit(X[:6], few)
    by_hand = MinlipSurvival(time_scale=None).fit(
        X[:6], np.column_stack([places, np.where(np.isfinite(few[:, 1]), places, np.inf)])
    )
    np.testing.assert_allclose(by_rank.coef_, by_hand.coef_, atol=1e-8)
    assert one.predict(X) == pytest.approx(-one.predict_utility(X))
    zero, first = y.copy(), np.argmin(np.where(y["event"], y["time"], np.inf))
    zero["time"][first] = 0.0
    found = MinlipSurvival(time_transform="log", time_scale=None).fit(X, zero)
    zero["time"][first] = (
        0.5 * zero["time"][zero["time"] > 0].min()
    )  # half of the least that has a logarithm
    half = MinlipSurvival(time_transform="log", time_scale=None).fit(X, zero)
    np.testing.assert_allclose(found.coef_, half.coef_, atol=1e-8)
    assert found.objective_ == pytest.approx(half.objective_, rel=1e-8)


def test_more_columns_than_rows_and_landmarks():
    rng = np.random.default_rng(0)
    X, lower, upper = sample(30)
    wide = np.hstack([X, rng.normal(size=(30, 60))])
    y = np.column_stack([lower, upper])
    model = MinlipSurvival(C=0.1, **PLAIN).fit(wide, y)
    value, utility = minlip_primal(wide, lower, upper, nearest_pairs(lower, upper), 0.1)
    assert model.objective_ == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(wide @ model.coef_, model.utility_train_, atol=1e-8)
    whole = MinlipSurvival(kernel="rbf", gamma=0.1).fit(X, y)
    most = MinlipSurvival(kernel="rbf", gamma=0.1, n_components=29, random_state=0).fit(X, y)
    assert most.objective_ == pytest.approx(whole.objective_, rel=0.05)
    assert np.corrcoef(most.predict(X), whole.predict(X))[0, 1] > 0.95


def test_partial_effects_add_up():
    X, lower, upper = sample(40)
    y = np.column_stack([lower, upper])
    for kernel in ("linear", ComponentwiseKernel("poly2"), ComponentwiseKernel("rbf", gamma=0.5)):
        model = MinlipSurvival(kernel=kernel).fit(X, y)
        total = sum(model.partial_effect(p, X[:, p]) for p in range(3))
        np.testing.assert_allclose(spread(total), spread(model.utility_train_), atol=1e-8)
    with pytest.raises(ValueError, match="adds them up"):
        MinlipSurvival(kernel="rbf").fit(X, y).partial_effect(0, [0.0])


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (np.array([[1.0, np.inf], [2.0, np.inf], [3.0, np.inf]]), "No pair of rows is comparable"),
        (np.array([[1.0, 1.0], [2.0, 1.5], [3.0, 3.0]]), "row 1 is .2, 1.5."),
        (np.array([[1.0, 1.0], [-2.0, 1.5], [3.0, 3.0]]), "a negative time: row 1"),
        (np.array([[1.0, 1.0], [np.nan, 1.5], [3.0, 3.0]]), "NaN: row 1"),
        (np.array([1.0, 2.0, 3.0]), "shape"),
        (np.array([[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]]), "No pair of rows is comparable"),
    ],
)
def test_bad_targets(y, words):
    with pytest.raises(ValueError, match=words):
        MinlipSurvival().fit(np.eye(3), y)


@pytest.mark.parametrize("loss", ["l1", "l2"])
def test_the_splitting_solver_agrees(loss):
    X, lower, upper = sample(40, seed=7)
    y = np.column_stack([lower, upper])
    one = MinlipSurvival(C=0.5, loss=loss, solver="interior", **PLAIN).fit(X, y)
    two = MinlipSurvival(C=0.5, loss=loss, solver="admm", tol=1e-7, **PLAIN).fit(X, y)
    assert two.objective_ == pytest.approx(one.objective_, rel=1e-6)
    np.testing.assert_allclose(two.coef_, one.coef_, atol=1e-5)
    np.testing.assert_allclose(two.dual_coef_ @ X, one.coef_, atol=1e-4)
    auto = MinlipSurvival(C=0.5, loss=loss, **PLAIN).fit(X, y)
    np.testing.assert_allclose(auto.coef_, one.coef_, atol=1e-5)


def test_gradient_of_the_squared_loss_by_finite_differences():
    from scipy.optimize import approx_fprime

    from octavo.engine.projections.isotonic import isotonic_chain

    X, y, _ = sample(40, kind="exact")
    model = MinlipRanker(C=0.8, loss="l2").fit(X, y)
    order = np.argsort(y)

    def objective(w):
        a = (X @ w - y)[order]
        e = isotonic_chain(a).values - a
        return 0.5 * w @ w + 0.4 * e @ e

    assert model.objective_ == pytest.approx(objective(model.coef_), rel=1e-10)
    np.testing.assert_allclose(approx_fprime(model.coef_, objective, 1e-6), 0, atol=1e-4)


def test_curves_of_the_machine():
    X, lower, upper = sample(80)
    model = MinlipSurvival().fit(X, records(lower, upper))
    times = [0.5, 1.0, 2.0]
    S = model.predict_survival_function(X, times)
    assert S.shape == (80, 3)
    np.testing.assert_allclose(
        model.predict_cumulative_hazard(X, times), -np.log(np.maximum(S, 1e-12))
    )
    best, worst = np.argmin(model.predict(X)), np.argmax(model.predict(X))
    assert (S[best] >= S[worst]).all()
