import builtins
import itertools
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from octavo.data import make_grouped_histograms
from octavo.engine.projections.metric_cone import triangle_excess
from octavo.metric import (
    GroundMetricLearner,
    OTNeighborsClassifier,
    ground_metric_criterion,
    metric_nearness,
    retrieval_curve,
    simplex_distance,
    threshold_metric,
    transport_distances,
)
from octavo.metric.ground.criterion import compare_labels
from octavo.metric.ground.histograms import uniform_metric
from octavo.metric.ground.starts import independence_metric

X, Y, GROUPS = make_grouped_histograms(40, n_groups=4, group_size=2, random_state=0)
WITHIN = (GROUPS[:, None] == GROUPS) & ~np.eye(8, dtype=bool)
BETWEEN = GROUPS[:, None] != GROUPS


def learn(R=X, y=Y, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return GroundMetricLearner(random_state=0, **options).fit(R, y)


def test_three_bins_reach_the_best_of_a_grid():
    rng = np.random.default_rng(0)
    R, y = rng.dirichlet(np.ones(3), 4), np.array([0, 0, 1, 1])
    best = np.inf
    for a, b in itertools.product(np.linspace(0, 0.5, 101), repeat=2):
        c = 0.5 - a - b  # half the sum of the matrix
        if min(a + b - c, b + c - a, a + c - b) >= 0:
            M = np.array([[0, a, b], [a, 0, c], [b, c, 0]])
            best = min(best, ground_metric_criterion(M, R, y, 1)[0])
    # the valley's floor is nearly flat: the paper's step would walk along it for thousands of steps
    model = learn(R, y, k=1, step=2.0, max_outer=8, min_inner=100, max_inner=100, outer_tol=0.0)
    found = model.objective_
    assert found <= best + 1e-3 * abs(best)  # the grid's spacing moves C_k by that much


@pytest.mark.parametrize("init", ["independence", "uniform"])
def test_the_criterion_never_rises(init):
    model = learn(init=init)
    assert (np.diff(model.objectives_) <= 1e-15).all()
    assert model.objectives_[-1] < model.objectives_[0]
    value, _ = ground_metric_criterion(model.metric_, X, Y)
    assert model.objective_ == pytest.approx(value, abs=1e-15)
    assert model.objective_ == pytest.approx(model.objectives_[-1], rel=1e-3)
    # the first value of each convex problem is the criterion itself
    firsts = model.history_[model.history_[:, 1] == 0, 2]
    np.testing.assert_allclose(firsts, model.objectives_[:-1], atol=1e-15)
    assert len(model.history_) == model.n_iter_


def test_the_metric_is_one():
    M = learn().metric_
    np.testing.assert_array_equal(M, M.T)
    assert M.sum() == pytest.approx(1.0)
    assert triangle_excess(M) <= 1e-15
    assert M[~np.eye(8, dtype=bool)].min() > 0.0


def test_planted_groups_are_found():
    M = learn().metric_
    assert M[WITHIN].mean() < 0.25 * M[BETWEEN].mean()


def test_planted_groups_leave_a_third_of_the_errors_of_l1():
    wrong = np.zeros(2)
    for seed in range(3):
        R, y, _ = make_grouped_histograms(260, random_state=seed)
        R, S, y, z = train_test_split(R, y, train_size=60, stratify=y, random_state=seed)
        ours = OTNeighborsClassifier(3, metric=learn(R, y).metric_)
        l1 = KNeighborsClassifier(3, metric="manhattan")
        wrong += [(model.fit(R, y).predict(S) != z).sum() for model in (ours, l1)]
    assert wrong[0] <= wrong[1] / 3


def test_permuted_bins_permute_the_metric():
    order = np.random.default_rng(1).permutation(8)
    one, two = learn(max_outer=1), learn(X[:, order], max_outer=1)
    # sums in another order send ties of exchanges another way after some steps: compare the start
    # (to which the projection comes within 1e-7)
    np.testing.assert_allclose(two.objectives_[0], one.objectives_[0], rtol=1e-6)
    told, ties = compare_labels(Y, 3), np.arange(2.0 * 780)
    M = independence_metric(X, told, 3, ties)
    shuffled = independence_metric(np.ascontiguousarray(X[:, order]), told, 3, ties)
    np.testing.assert_allclose(shuffled, M[np.ix_(order, order)], atol=1e-7 * M.max())
    assert two.objective_ == pytest.approx(one.objective_, rel=0.02)


def test_copies_of_a_bin_lie_together():
    share = np.random.default_rng(0).uniform(0.0, 1.0, len(X))
    R = np.column_stack([X[:, 0] * share, X[:, 0] * (1 - share), X[:, 1:]])
    M = learn(R).metric_
    assert M[0, 1] < 0.1 * M.sum() / (9 * 8)


def test_independence_start_is_the_projection():
    told, ties = compare_labels(Y, 3), np.arange(2.0 * 780)
    Xi = np.zeros((8, 8))
    D = simplex_distance(X)
    for i in range(40):
        for sign in (True, False):
            others = [j for j in range(40) if j != i and (Y[j] == Y[i]) == sign]
            for j in sorted(others, key=lambda j: D[i, j])[:3]:
                Xi += (1 if sign else -1) / 120 * np.outer(X[i], X[j])
    Xi = 0.5 * (Xi + Xi.T)
    expected, _ = metric_nearness(-Xi)
    found = independence_metric(X, told, 3, ties)
    np.testing.assert_allclose(found, expected / expected.sum(), atol=1e-5 * found.max())


def test_blend_and_arrays_as_starts():
    assert learn(blend=0.0).objectives_[0] == pytest.approx(
        ground_metric_criterion(uniform_metric(8), X, Y)[0]
    )
    start = learn(max_outer=2).metric_
    again = learn(init=5.0 * start, max_outer=1)
    assert again.objectives_[0] == pytest.approx(ground_metric_criterion(start, X, Y)[0], rel=1e-6)


def test_weights_of_labels_are_labels():
    omega = np.where(Y[:, None] == Y, 1.0, -1.0) / 120
    np.fill_diagonal(omega, 0.0)
    one, two = learn(), GroundMetricLearner(random_state=0).fit(X, omega=omega)
    np.testing.assert_array_equal(one.metric_, two.metric_)
    scaled = GroundMetricLearner(random_state=0).fit(X, omega=1024 * omega)
    np.testing.assert_allclose(scaled.metric_, one.metric_, rtol=1e-9)
    assert scaled.objective_ == pytest.approx(1024 * one.objective_)


def test_smoothed_transport_learns_the_groups_too():
    model = learn(ot="sinkhorn", reg=0.2)
    assert model.metric_[WITHIN].mean() < 0.25 * model.metric_[BETWEEN].mean()
    M, away = model.metric_, ~np.eye(40, dtype=bool)
    exact = transport_distances(X, M=M)[away]
    smooth = transport_distances(X, M=M, ot="sinkhorn", reg=2.0)[away]
    assert (smooth >= exact - 1e-5 * M.max()).all()  # margins are right to 1e-5


def test_smoothed_transport_in_another_namespace():
    strict = pytest.importorskip("array_api_strict")
    options = {"ot": "sinkhorn", "reg": 0.5, "max_outer": 1, "max_inner": 5, "random_state": 0}
    here = learn(**{k: v for k, v in options.items() if k != "random_state"})
    with sklearn.config_context(array_api_dispatch=True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        there = GroundMetricLearner(**options).fit(strict.asarray(X), Y)
    np.testing.assert_allclose(there.metric_, here.metric_, rtol=1e-9)


def test_candidates_save_transport_and_keep_the_criterion():
    R, y, _ = make_grouped_histograms(80, n_groups=4, group_size=2, random_state=1)
    every, some = (learn(R, y, init="uniform", candidates=c) for c in (None, 6))
    assert some.n_ot_ / some.n_iter_ < 0.7 * every.n_ot_ / every.n_iter_
    assert some.objective_ == pytest.approx(every.objective_, rel=0.05)


def test_pot_or_a_sentence(monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name == "ot":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"octavo\[ot\]"):
        GroundMetricLearner(ot="pot").fit(X, Y)
    with pytest.raises(ImportError, match=r"octavo\[ot\]"):
        transport_distances(X, M=uniform_metric(8), ot="pot")


def test_pot_agrees():
    pytest.importorskip("ot")
    one, two = learn(max_outer=1), learn(max_outer=1, ot="pot")
    assert two.objectives_[0] == pytest.approx(one.objectives_[0], abs=1e-12)
    M = one.metric_
    np.testing.assert_allclose(
        transport_distances(X, M=M, ot="pot"), transport_distances(X, M=M), atol=1e-12
    )


def test_unseen_bins_are_told_and_set_equal():
    R = np.column_stack([X, np.zeros((40, 2))])
    with pytest.warns(UserWarning, match="2 bins are empty in all histograms, the first is 8"):
        M = GroundMetricLearner(random_state=0).fit(R, Y).metric_
    assert triangle_excess(M) <= 1e-15
    assert M.sum() == pytest.approx(1.0)
    assert np.ptp(M[:8, 8:]) == 0.0
    inner = M[:8, :8] / M[:8, :8].sum()
    np.testing.assert_allclose(inner, learn().metric_, rtol=1e-9)


def test_a_class_of_one_is_told():
    y = Y.copy()
    y[0] = 7
    with pytest.warns(UserWarning, match="Class 7 has one histogram"):
        GroundMetricLearner(random_state=0).fit(X, y)


def test_an_early_stop_is_told():
    with pytest.warns(ConvergenceWarning, match="max_outer=1"):
        GroundMetricLearner(max_outer=1, random_state=0).fit(X, Y)


def test_sparse_counts_and_single_precision():
    expected = learn().metric_
    counts = GroundMetricLearner(normalize=True, random_state=0).fit(sp.csr_array(1e5 * X), Y)
    # sums that differ in the last bit end in other exchanges, and steps grow that
    np.testing.assert_allclose(counts.metric_, expected, atol=0.01 * expected.max())
    assert counts.objectives_[0] == pytest.approx(learn().objectives_[0], rel=1e-6)
    single = GroundMetricLearner(random_state=0).fit(X.astype(np.float32), Y)
    assert single.objective_ == pytest.approx(learn().objective_, rel=0.02)


@pytest.mark.parametrize(
    ("R", "options", "words"),
    [
        (2 * X, {"y": Y}, "row 0 of X sums to 2"),
        (np.vstack([X[:-1], 0 * X[:1]]), {"y": Y}, "Row 39 of X is all zero"),
        (X - 0.1, {"y": Y}, "Negative values in data"),
        (X, {"y": 0 * Y}, "two classes"),
        (X, {}, "requires y"),
        (X, {"y": Y, "omega": np.eye(40)}, "not both"),
        (X, {"omega": np.ones((3, 3))}, r"shape \(40, 40\)"),
        (X, {"omega": np.ones((40, 40))}, "positive and negative"),
        (X, {"omega": np.triu(np.ones((40, 40)))}, "symmetric"),
    ],
)
def test_bad_data(R, options, words):
    with pytest.raises(ValueError, match=words):
        GroundMetricLearner().fit(R, **options)


def test_bad_starts():
    with pytest.raises(ValueError, match="init has 3 bins"):
        GroundMetricLearner(init=uniform_metric(3)).fit(X, Y)
    with pytest.raises(ValueError, match="all zero"):
        GroundMetricLearner(init=np.zeros((8, 8))).fit(X, Y)


def test_the_classifier_uses_what_it_is_given():
    train, test = slice(0, 30), slice(30, 40)
    learner = GroundMetricLearner(random_state=0)
    model = OTNeighborsClassifier(metric=learner).fit(X[train], Y[train])
    M = learner.fit(X[train], Y[train]).metric_
    np.testing.assert_array_equal(model.metric_, M)
    D = transport_distances(X[test], X[train], M=M)
    distances, nearest = model.kneighbors(X[test])
    np.testing.assert_allclose(distances, np.sort(D, axis=1)[:, :3], atol=1e-15)
    shares = model.predict_proba(X[test])
    np.testing.assert_array_equal(model.predict(X[test]), shares.argmax(axis=1))
    np.testing.assert_allclose(shares[:, 1], Y[train][nearest].mean(axis=1))
    given = OTNeighborsClassifier(metric=M, threshold=1.0).fit(X[train], Y[train])
    np.testing.assert_array_equal(given.metric_, threshold_metric(M, 1.0))


def test_without_a_metric_it_is_total_variation():
    model = OTNeighborsClassifier(5).fit(X[:30], Y[:30])
    D = simplex_distance(X[30:], X[:30])
    np.testing.assert_allclose(model.kneighbors(X[30:])[0] * 56, np.sort(D, axis=1)[:, :5])


def test_a_thresholded_metric_is_one():
    M = learn().metric_
    capped = threshold_metric(M, 1.0)
    assert triangle_excess(capped) <= 1e-15
    assert capped.max() == pytest.approx(M.sum() / 56)
    for bad in (0.0, -1.0, np.inf, "a"):
        with pytest.raises(ValueError, match="threshold must be"):
            threshold_metric(M, bad)


def test_retrieval_equals_counting():
    D = simplex_distance(X)
    curve = retrieval_curve(D, Y)
    shares = []
    for i in range(40):
        order = [j for j in np.argsort(D[i], kind="stable") if j != i][:5]
        shares.append(np.mean(Y[order] == Y[i]))
    assert curve[4] == pytest.approx(np.mean(shares))
    assert len(curve) == 39
    for args in ((D[:3], Y), (D[:, :3], Y), (D, Y, Y[:3]), (D, Y, Y, 99)):
        with pytest.raises(ValueError, match="must"):
            retrieval_curve(*args)
