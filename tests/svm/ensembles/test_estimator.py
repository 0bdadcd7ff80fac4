"""EnsembleSVC and PUBaggingSVC against SVC, bagging, explicit weights and each other."""

import pickle

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from sklearn.datasets import make_blobs, make_moons
from sklearn.ensemble import BaggingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC, NuSVC

from octavo.svm import EnsembleSVC, PUBaggingSVC, merge_ensembles
from octavo.svm.ensembles.aggregation import FixedLogistic, MeanDecision, Vote, make_aggregator
from octavo.svm.ensembles.samples import SamplingPlan, draw_samples, keep_ratio
from octavo.svm.ensembles.support_pool import (
    SupportPool,
    fold_equal_rows,
    keep_machines,
    pool_decision,
)

X, Y = make_moons(400, noise=0.25, random_state=0)
QUERY = make_moons(150, noise=0.3, random_state=1)[0]
X3, Y3 = make_blobs(300, centers=3, cluster_std=2.5, n_features=4, random_state=2)
# LIBSVM sums a decision value one product at a time and the pool by BLAS: 400 terms of size C
# differ by less than 400 roundings, 1e-13 · C.
CLOSE = {"rtol": 0, "atol": 1e-10}
ALL_ROWS = {"n_estimators": 1, "replace": False, "max_samples": 1.0}


def fitted(n=7, size=120, **params):
    defaults = {"max_samples": size, "gamma": 1.5, "C": 2.0, "random_state": 0}
    return EnsembleSVC(n, **{**defaults, **params})


def machines(model, X, y, **params):
    """Return SVCs trained one by one on the samples of an ensemble."""
    found = []
    for sample in model.estimators_samples_:
        rows, counts = np.unique(sample, return_counts=True)
        svc = SVC(C=model.C, gamma=model.gamma_, kernel=model.kernel, **params)
        found.append(svc.fit(X[rows], y[rows], sample_weight=counts))
    return found


# --- oracles: the base machines -------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "sigmoid"])
@pytest.mark.parametrize(
    "make", [np.asarray, sp.csr_matrix, sp.csr_array], ids=lambda f: f.__name__
)
def test_one_machine_on_all_rows_is_svc(kernel, make):
    params = {"kernel": kernel, "C": 3.0, "coef0": 0.5, "degree": 2}
    ours = EnsembleSVC(**ALL_ROWS, **params).fit(make(X), Y)
    theirs = SVC(**params).fit(make(X), Y)
    values = ours.base_decision_function(make(QUERY))
    np.testing.assert_allclose(values[:, 0], theirs.decision_function(make(QUERY)), **CLOSE)
    np.testing.assert_array_equal(ours.predict(make(QUERY)), theirs.predict(make(QUERY)))
    np.testing.assert_array_equal(ours.support_indices_, np.sort(theirs.support_))


def test_class_and_sample_weights_are_those_of_svc():
    weight = np.random.default_rng(0).uniform(0.2, 3.0, len(X))
    for class_weight in ({0: 0.3, 1: 2.0}, "balanced"):
        ours = EnsembleSVC(**ALL_ROWS, class_weight=class_weight).fit(X, Y, weight)
        theirs = SVC(class_weight=class_weight).fit(X, Y, weight)
        np.testing.assert_allclose(
            ours.base_decision_function(QUERY)[:, 0], theirs.decision_function(QUERY), **CLOSE
        )


@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("sampling", ["stratified", "balanced", "bootstrap", "partition"])
def test_the_pool_gives_what_the_machines_give(make, sampling):
    size = "auto" if sampling == "partition" else 120
    model = fitted(size=size, sampling=sampling).fit(make(X), Y)
    alone = [m.decision_function(make(QUERY)) for m in machines(model, make(X), Y)]
    values = model.base_decision_function(make(QUERY))
    np.testing.assert_allclose(values, np.column_stack(alone), **CLOSE)


def test_copies_of_a_row_are_one_row_with_their_penalties():
    """Trained on the drawn rows as they are, copies apart, the machines decide the same."""
    model = fitted(3, tol=1e-10).fit(X, Y)
    for b, sample in enumerate(model.estimators_samples_):
        assert len(np.unique(sample)) < len(sample)
        copies = SVC(C=2.0, gamma=1.5, tol=1e-10).fit(X[sample], Y[sample])
        # Both are within 1e-10 of optimality in the gradient of the dual; values follow to 1e-6.
        np.testing.assert_allclose(
            model.base_decision_function(QUERY)[:, b], copies.decision_function(QUERY), atol=1e-6
        )


def test_vote_is_the_hard_vote_of_bagging():
    bagging = BaggingClassifier(SVC(C=2.0, gamma=1.5, tol=1e-8), 9, max_samples=0.3, random_state=0)
    bagging.fit(X, Y)
    model = fitted(9, tol=1e-8).fit(X, Y, sample_indices=list(bagging.estimators_samples_))
    votes = np.mean([e.predict(QUERY) for e in bagging.estimators_], axis=0)
    np.testing.assert_allclose(model.predict_proba(QUERY)[:, 1], votes, atol=1e-12)
    np.testing.assert_array_equal(model.predict(QUERY), bagging.predict(QUERY))


def test_linear_machines_collapse_to_weights():
    model = fitted(kernel="linear").fit(X, Y)
    weights = model.dual_coef_.T @ model.support_vectors_
    np.testing.assert_allclose(
        model.base_decision_function(QUERY), QUERY @ weights.T + model.intercept_, **CLOSE
    )
    alone = [m.coef_.ravel() for m in machines(model, X, Y)]
    np.testing.assert_allclose(weights, alone, atol=1e-9)


def test_penalties_are_sample_weights_and_zero_is_absence():
    rng = np.random.default_rng(3)
    penalties = rng.uniform(0.1, 4.0, (4, len(X))) * (rng.random((4, len(X))) < 0.4)
    stored = sp.csr_array(penalties)
    stored.data[:3] = penalties.ravel()[np.flatnonzero(penalties.ravel())[:3]] = 0.0
    kept = stored.copy()
    model = EnsembleSVC(gamma=1.5).fit(X, Y, penalties=stored)
    assert stored.nnz == kept.nnz  # zeros are dropped from a copy, not from the caller's matrix
    for b, row in enumerate(penalties):
        rows = np.flatnonzero(row)
        svc = SVC(C=1.0, gamma=1.5).fit(X[rows], Y[rows], sample_weight=row[rows])
        np.testing.assert_allclose(
            model.base_decision_function(QUERY)[:, b], svc.decision_function(QUERY), **CLOSE
        )
        used = model.support_indices_[model.dual_coef_[:, [b]].toarray().ravel() != 0]
        assert set(used) <= set(rows)
        np.testing.assert_array_equal(model.estimators_samples_[b], rows)


def test_penalty_signs_and_bounds_are_those_of_the_dual():
    """Problem (1): 0 <= α_i <= C_i, y'α = 0."""
    rng = np.random.default_rng(4)
    penalties = rng.uniform(0.1, 4.0, (3, len(X)))
    model = EnsembleSVC(gamma=1.5).fit(X, Y, penalties=penalties)
    coef = model.dual_coef_.toarray()
    sign = np.where(Y[model.support_indices_] == 1, 1.0, -1.0)[:, None]
    alpha = coef * sign
    assert (alpha >= 0).all()
    assert (alpha <= penalties[:, model.support_indices_].T * (1 + 1e-12)).all()
    np.testing.assert_allclose(coef.sum(axis=0), 0.0, atol=1e-9)


@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
def test_the_duality_gap_bounds_the_distance_to_an_independent_optimum(kernel):
    """The dual of problem (1) by cvxpy; LIBSVM's objective is within its gap of that."""
    cp = pytest.importorskip("cvxpy")
    rows, y = X[:80], Y[:80]
    penalties = np.random.default_rng(0).uniform(0.2, 3.0, (1, 80))
    gram, sign = rbf_kernel(rows, gamma=1.5), np.where(y == 1, 1.0, -1.0)
    factor = np.linalg.cholesky(gram + 1e-12 * np.eye(80))
    alpha = cp.Variable(80)
    objective = cp.sum(alpha) - cp.sum_squares(factor.T @ cp.multiply(sign, alpha)) / 2
    problem = cp.Problem(
        cp.Maximize(objective), [alpha >= 0, alpha <= penalties[0], sign @ alpha == 0]
    )
    optimum = problem.solve(solver="CLARABEL")
    gaps = []
    for tol in (1e-1, 1e-3, 1e-8):
        model = EnsembleSVC(kernel=kernel, gamma=1.5, tol=tol)
        model.fit(rows if kernel == "rbf" else gram, y, penalties=penalties)
        ours = np.zeros(80)
        ours[model.support_indices_] = (
            model.dual_coef_.toarray()[:, 0] * sign[model.support_indices_]
        )
        value = ours.sum() - (sign * ours) @ gram @ (sign * ours) / 2
        # The interior-point optimum is good to 1e-7.
        assert -1e-6 <= optimum - value <= model.duality_gap_[0] + 1e-6
        gaps.append(model.duality_gap_[0])
    assert gaps[0] > gaps[1] > gaps[2]
    assert gaps[2] < 1e-6 * optimum


def test_duality_gaps_follow_their_machines():
    model = fitted(4).fit(X, Y)
    assert (model.duality_gap_ > -1e-9).all()
    np.testing.assert_array_equal(model.prune([0, 1, 0, 1]).duality_gap_, model.duality_gap_[1::2])
    merged = merge_ensembles([model, model])
    np.testing.assert_array_equal(merged.duality_gap_, np.tile(model.duality_gap_, 2))
    assert fitted(4).fit(X3, Y3).duality_gap_.shape == (4, 3)


def test_weight_is_repetition_for_one_machine():
    weight = np.random.default_rng(5).integers(0, 4, len(X))
    params = {**ALL_ROWS, "gamma": 1.5, "tol": 1e-10}
    weighted = EnsembleSVC(**params).fit(X, Y, sample_weight=weight)
    repeated = EnsembleSVC(**params).fit(np.repeat(X, weight, axis=0), np.repeat(Y, weight))
    np.testing.assert_allclose(
        weighted.base_decision_function(QUERY), repeated.base_decision_function(QUERY), atol=1e-6
    )
    assert weight[weighted.support_indices_].min() > 0


def test_gamma_is_settled_once_on_all_rows():
    model = fitted(gamma="scale").fit(X, Y)
    assert model.gamma_ == pytest.approx(1 / (2 * X.var()), rel=1e-12)
    weight = np.r_[np.ones(200), np.zeros(200)]
    assert fitted(gamma="scale").fit(X, Y, weight).gamma_ == pytest.approx(
        1 / (2 * X[:200].var()), rel=1e-12
    )


# --- oracles: more than two classes, precomputed and callable kernels -----------------------------


def test_more_classes_are_one_against_the_rest_over_one_pool():
    model = fitted(5, gamma=0.1).fit(X3, Y3)
    values = model.base_decision_function(X3)
    assert values.shape == (300, 5, 3)
    for b, sample in enumerate(model.estimators_samples_):
        rows, counts = np.unique(sample, return_counts=True)
        for k in range(3):
            svc = SVC(C=2.0, gamma=0.1).fit(X3[rows], Y3[rows] == k, sample_weight=counts)
            np.testing.assert_allclose(values[:, b, k], svc.decision_function(X3), **CLOSE)
    votes = values.argmax(axis=2)
    shares = np.stack([(votes == k).mean(axis=1) for k in range(3)], axis=1)
    np.testing.assert_allclose(model.predict_proba(X3), shares, atol=1e-12)
    np.testing.assert_array_equal(model.predict(X3), shares.argmax(axis=1))
    assert len(model.support_indices_) == len(np.unique(model.support_indices_))


def test_vote_of_more_classes_is_that_of_bagged_one_vs_rest():
    bagging = BaggingClassifier(
        OneVsRestClassifier(SVC(C=2.0, gamma=0.1, tol=1e-8)), 7, max_samples=0.4, random_state=0
    ).fit(X3, Y3)
    model = fitted(gamma=0.1, tol=1e-8).fit(
        X3, Y3, sample_indices=list(bagging.estimators_samples_)
    )
    votes = np.stack([e.predict(X3) for e in bagging.estimators_])
    shares = np.stack([(votes == k).mean(axis=0) for k in range(3)], axis=1)
    np.testing.assert_allclose(model.predict_proba(X3), shares, atol=1e-12)


@pytest.mark.parametrize("classes", [2, 3])
def test_precomputed_and_callable_kernels_equal_the_named_one(classes):
    data, y = (X, Y) if classes == 2 else (X3, Y3)
    model = fitted(gamma=0.7).fit(data, y)
    gram = rbf_kernel(data, gamma=0.7)
    precomputed = fitted(kernel="precomputed").fit(gram, y)
    called = fitted(kernel=lambda A, B: rbf_kernel(A, B, gamma=0.7)).fit(data, y)
    query = data[::3] + 0.1
    expected = model.base_decision_function(query)
    # Solutions of one problem with kernels equal to 1e-16: within LIBSVM's tolerance.
    block = rbf_kernel(query, data, gamma=0.7)
    for values in (
        precomputed.base_decision_function(block),
        called.base_decision_function(query),
    ):
        np.testing.assert_allclose(values, expected, atol=5e-3)
    assert precomputed.support_vectors_.size == 0
    alone = [
        SVC(C=2.0, kernel="precomputed")
        .fit(gram[np.ix_(rows, rows)], y[rows] == y.max(), sample_weight=counts)
        .decision_function(block[:, rows])
        for rows, counts in (
            np.unique(s, return_counts=True) for s in precomputed.estimators_samples_
        )
    ]
    values = precomputed.base_decision_function(block)
    last = values if classes == 2 else values[:, :, 2]
    np.testing.assert_allclose(last, np.column_stack(alone), **CLOSE)


# --- oracles: aggregation -------------------------------------------------------------------------


def test_fixed_aggregations_by_their_formulas():
    model = fitted(5).fit(X, Y)
    D = model.base_decision_function(QUERY)
    a = np.array([1.0, 2.0, 0.5, 0.0, 3.0])
    vote = model.with_aggregation("vote", weights=a)
    np.testing.assert_allclose(vote.predict_proba(QUERY)[:, 1], (D > 0) @ a / a.sum(), atol=1e-12)
    mean = model.with_aggregation("mean", weights=a)
    np.testing.assert_allclose(mean.decision_function(QUERY), D @ a / a.sum(), atol=1e-12)
    plain = model.with_aggregation("logistic")
    np.testing.assert_allclose(plain.predict_proba(QUERY)[:, 1], expit(D.sum(axis=1)), atol=1e-12)
    raised = model.with_aggregation("logistic", weights=a, threshold=0.9)
    np.testing.assert_array_equal(raised.predict(QUERY), (expit(D @ a) > 0.9).astype(int))
    assert not hasattr(mean, "predict_proba")


@pytest.mark.parametrize("aggregation", ["vote", "mean", "logistic", lambda D: D.mean(axis=1)])
def test_rows_to_train_a_fixed_aggregation_on_are_refused_not_ignored(aggregation):
    model = fitted(5).fit(X, Y)
    with pytest.raises(ValueError, match=r"not trained.*Leave them out"):
        model.with_aggregation(aggregation, X=X, y=Y)
    if aggregation == "logistic":
        with pytest.raises(ValueError, match="'logistic_regression' is what trains one"):
            model.with_aggregation(aggregation, X=X, y=Y)
        trained = model.with_aggregation("logistic_regression", X=X, y=Y)
        fixed = model.with_aggregation("logistic")
        assert not np.allclose(trained.predict_proba(QUERY), fixed.predict_proba(QUERY))


@pytest.mark.parametrize("make", [sp.csr_matrix, sp.csr_array])
def test_64_bit_indices_change_nothing(make):
    wide = make(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    query = make(QUERY)
    query.indices, query.indptr = query.indices.astype(np.int64), query.indptr.astype(np.int64)
    model, narrow = fitted(5).fit(wide, Y), fitted(5).fit(make(X), Y)
    assert wide.indices.dtype == wide.indptr.dtype == np.int64, "the caller's arrays stay"
    np.testing.assert_array_equal(model.predict(query), narrow.predict(make(QUERY)))
    np.testing.assert_array_equal(
        model.base_decision_function(query), narrow.base_decision_function(make(QUERY))
    )


def test_logistic_probabilities_of_more_classes_sum_to_one_even_where_all_are_tiny():
    D = np.full((2, 4, 3), -300.0)
    D[1, :, 1] = -299.0
    proba = FixedLogistic(np.ones(4)).proba(D)
    np.testing.assert_allclose(proba[0], 1 / 3, atol=1e-12)
    np.testing.assert_allclose(proba[1, 1] / proba[1, 0], np.exp(4.0), rtol=1e-9)


def test_trained_aggregation_is_the_classifier_on_out_of_bag_values():
    model = fitted(9, aggregation="logistic_regression", oob_score=True).fit(X, Y)
    D = model.base_decision_function(X)
    for b, sample in enumerate(model.estimators_samples_):
        D[sample, b] = np.nan
    means = np.nanmean(D, axis=1)
    D = np.where(np.isnan(D), means[:, None], D)
    expected = LogisticRegression().fit(D, Y)
    np.testing.assert_allclose(model.aggregator_.estimator.coef_, expected.coef_, atol=1e-9)
    np.testing.assert_allclose(
        model.decision_function(QUERY),
        expected.decision_function(model.base_decision_function(QUERY)),
        atol=1e-9,
    )
    assert model.oob_score_ == pytest.approx(expected.score(D, Y))
    np.testing.assert_allclose(model.predict_proba(QUERY).sum(axis=1), 1.0)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    "aggregation",
    ["linear_svc", "svc", make_pipeline(StandardScaler(), LogisticRegression())],
    ids=["linear_svc", "svc", "pipeline"],
)
def test_aggregation_trained_on_rows_held_out(aggregation, classes):
    data, y = (X, Y) if classes == 2 else (X3, Y3)
    labels = np.array(["no", "yes", "zero"])[y]
    model = fitted(gamma=0.5).fit(data[::2], labels[::2])
    edited = model.with_aggregation(aggregation, data[1::2], labels[1::2])
    D = model.base_decision_function(data[1::2]).reshape(len(data[1::2]), -1)
    peer = {"linear_svc": LinearSVC(), "svc": SVC()}.get(str(aggregation), aggregation)
    expected = sklearn.base.clone(peer).fit(D, labels[1::2])
    flat = model.base_decision_function(data).reshape(len(data), -1)
    np.testing.assert_array_equal(edited.predict(data), expected.predict(flat))
    assert edited.support_vectors_ is model.support_vectors_
    assert edited.aggregation is aggregation


def test_a_callable_aggregates():
    model = fitted().fit(X, Y)
    edited = model.with_aggregation(lambda D: np.median(D, axis=1), threshold=0.2)
    median = np.median(model.base_decision_function(QUERY), axis=1)
    np.testing.assert_allclose(edited.decision_function(QUERY), median - 0.2)
    np.testing.assert_array_equal(edited.predict(QUERY), (median > 0.2).astype(int))
    with pytest.raises(ValueError, match=r"shape \(150,\)"):
        model.with_aggregation(lambda D: D).predict(QUERY)


def test_ties_go_to_the_first_class_and_are_exact():
    D = np.array([[1.0, -1.0] * 10, [1.0] * 11 + [-1.0] * 9])
    assert Vote(np.ones(20)).choose(D).tolist() == [0, 1]
    assert Vote(np.ones(20)).decision(D)[0] == 0.0


# --- oracles: out of bag --------------------------------------------------------------------------


@pytest.mark.parametrize("aggregation", ["vote", "mean", "logistic"])
@pytest.mark.parametrize("classes", [2, 3])
def test_out_of_bag_values_row_by_row(aggregation, classes):
    data, y = (X, Y) if classes == 2 else (X3, Y3)
    model = fitted(15, aggregation=aggregation, gamma=0.5, oob_score=True).fit(data, y)
    D = model.base_decision_function(data)
    chosen = []
    for i in range(len(data)):
        seen = [b for b in range(15) if i not in model.estimators_samples_[b]]
        values = D[i, seen]
        if aggregation == "vote" and classes == 2:
            score = (values > 0).mean() - 0.5
        elif aggregation == "vote":
            score = np.bincount(values.argmax(axis=1), minlength=3) / len(seen)
        else:
            score = values.mean(axis=0) * (15 if aggregation == "logistic" else 1)
        np.testing.assert_allclose(model.oob_decision_function_[i], score, atol=1e-9)
        chosen.append(score > 0 if classes == 2 else score.argmax())
    assert model.oob_score_ == pytest.approx(np.mean(np.asarray(chosen) == y))


def test_a_second_fit_forgets_the_first():
    model = fitted(oob_score=True).fit(X, Y)
    model.set_params(oob_score=False).fit(X, Y)
    assert not hasattr(model, "oob_score_")
    assert not hasattr(model, "oob_decision_function_")
    with pytest.raises(ValueError, match="oob_score=True"):
        model.with_aggregation("svc")


def test_rows_that_no_machine_left_out_are_told():
    model = fitted(1, size=1.0, oob_score=True)
    with pytest.warns(UserWarning, match="in the sample of every machine"):
        model.fit(X, Y)
    inside = np.isin(np.arange(len(X)), model.estimators_samples_[0])
    np.testing.assert_array_equal(np.isnan(model.oob_decision_function_), inside)
    with pytest.raises(ValueError, match="out of bag"):
        EnsembleSVC(**ALL_ROWS, aggregation="svc").fit(X, Y)


# --- oracles: merging and pruning -----------------------------------------------------------------


@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
def test_merged_ensembles_are_the_ensemble_of_all_samples(make):
    parts = [fitted(4, random_state=seed).fit(make(X), Y) for seed in range(3)]
    samples = [s for part in parts for s in part.estimators_samples_]
    whole = fitted().fit(make(X), Y, sample_indices=samples)
    merged = merge_ensembles(parts)
    order = np.argsort(merged.support_indices_)
    np.testing.assert_array_equal(merged.support_indices_[order], whole.support_indices_)
    np.testing.assert_allclose(
        merged.dual_coef_.toarray()[order], whole.dual_coef_.toarray(), rtol=0, atol=0
    )
    np.testing.assert_array_equal(merged.predict(QUERY), whole.predict(QUERY))
    assert merged.n_support_total_ == whole.n_support_total_


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
def test_merging_with_itself_changes_nothing(classes, kernel):
    data, y = (X, Y) if classes == 2 else (X3, Y3)
    if kernel == "precomputed":
        data = rbf_kernel(data, gamma=0.3)
    model = fitted(4, kernel=kernel).fit(data, y)
    merged = merge_ensembles([model, model])
    np.testing.assert_array_equal(merged.support_indices_, model.support_indices_)
    np.testing.assert_allclose(
        merged.decision_function(data), model.decision_function(data), atol=1e-12
    )
    np.testing.assert_array_equal(merged.predict(data), model.predict(data))


def test_machines_trained_elsewhere_share_rows_by_value():
    """Two parties number their rows differently; the pool knows the rows they share."""
    order = np.random.default_rng(0).permutation(len(X))
    here = fitted(3).fit(X, Y)
    there = fitted(3).fit(
        X[order], Y[order], sample_indices=[np.argsort(order)[s] for s in here.estimators_samples_]
    )
    merged = merge_ensembles([here, there])
    assert len(merged.support_indices_) <= len(
        set(here.support_indices_) | set(order[there.support_indices_])
    )
    assert len(merged.support_vectors_) == len(np.unique(merged.support_vectors_, axis=0))


def test_equal_rows_are_one_support_vector():
    doubled, labels = np.vstack([X, X]), np.r_[Y, Y]
    model = fitted().fit(doubled, labels)
    assert len(np.unique(model.support_vectors_, axis=0)) == len(model.support_vectors_)
    alone = [m.decision_function(QUERY) for m in machines(model, doubled, labels)]
    np.testing.assert_allclose(model.base_decision_function(QUERY), np.column_stack(alone), **CLOSE)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
def test_from_svcs_decides_as_they_do(make, kernel):
    rng = np.random.default_rng(0)
    svcs = []
    for _ in range(5):
        rows = rng.choice(len(X), 150, replace=False)
        svcs.append(SVC(kernel=kernel, gamma=1.5).fit(make(X[rows]), Y[rows]))
    if kernel == "linear":
        svcs.append(LinearSVC().fit(X, Y))
    else:
        svcs.append(NuSVC(kernel=kernel, gamma=1.5).fit(make(X), Y))
    model = EnsembleSVC.from_svcs(svcs, aggregation="mean")
    alone = np.column_stack([svc.decision_function(make(QUERY)) for svc in svcs])
    np.testing.assert_allclose(model.base_decision_function(make(QUERY)), alone, **CLOSE)
    np.testing.assert_allclose(model.decision_function(make(QUERY)), alone.mean(axis=1), **CLOSE)
    again = merge_ensembles([model, model]).prune([1.0] * 6 + [0.0] * 6)
    np.testing.assert_allclose(again.base_decision_function(make(QUERY)), alone, **CLOSE)


def test_from_svcs_keeps_a_gamma_of_zero():
    svc = SVC(kernel="poly", gamma=0.0, coef0=2.0).fit(X, Y)  # a constant kernel, as it was asked
    model = EnsembleSVC.from_svcs([svc], aggregation="mean")
    np.testing.assert_allclose(model.decision_function(X), svc.decision_function(X), atol=1e-9)


def test_from_svcs_with_precomputed_kernels():
    gram = rbf_kernel(X)
    svcs = [SVC(C=C, kernel="precomputed").fit(gram, Y) for C in (0.1, 1.0, 10.0)]
    model = EnsembleSVC.from_svcs(svcs)
    alone = np.column_stack([svc.decision_function(gram) for svc in svcs])
    np.testing.assert_allclose(model.base_decision_function(gram), alone, **CLOSE)


@pytest.mark.filterwarnings("ignore:.*in the sample of every machine")
@pytest.mark.parametrize("classes", [2, 3])
def test_pruned_machines_and_their_vectors_are_gone(classes):
    data, y = (X, Y) if classes == 2 else (X3, Y3)
    model = fitted(6, size=60, aggregation="mean", oob_score=True).fit(data, y)
    weights = np.array([1.0, 0.0, 2.0, 0.0, 0.0, 1.0])
    pruned = model.prune(weights)
    weighted = model.with_aggregation("mean", weights=weights)
    np.testing.assert_allclose(
        pruned.decision_function(data), weighted.decision_function(data), atol=1e-12
    )
    np.testing.assert_allclose(pruned.oob_decision_function_, weighted.oob_decision_function_)
    direct = fitted(aggregation="mean").fit(
        data, y, sample_indices=[model.estimators_samples_[b] for b in (0, 2, 5)]
    )
    np.testing.assert_array_equal(pruned.support_indices_, direct.support_indices_)
    assert pruned.n_support_total_ == direct.n_support_total_
    assert len(model.intercept_) == 6


# --- the same model wherever it is trained --------------------------------------------------------


def same_model(a, b):
    np.testing.assert_array_equal(a.support_indices_, b.support_indices_)
    np.testing.assert_array_equal(a.dual_coef_.toarray(), b.dual_coef_.toarray())
    np.testing.assert_array_equal(a.intercept_, b.intercept_)
    np.testing.assert_array_equal(a.predict(QUERY), b.predict(QUERY))


@pytest.mark.parametrize("backend", ["threading", pytest.param("loky", marks=pytest.mark.slow)])
def test_joblib_backends_train_the_same_model(backend):
    alone = fitted(6).fit(X, Y)
    with joblib.parallel_backend(backend, n_jobs=2):
        same_model(fitted(6).fit(X, Y), alone)
    same_model(fitted(6, n_jobs=2).fit(X, Y), alone)


def test_a_dask_cluster_trains_the_same_model():
    distributed = pytest.importorskip("distributed")
    alone = fitted(6).fit(X, Y)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster),
        joblib.parallel_backend("dask"),
    ):
        same_model(fitted(6).fit(X, Y), alone)
        PUBaggingSVC(4).fit(X, Y)


def test_pickles_predict_alike():
    model = fitted(aggregation="logistic_regression", oob_score=True).fit(X, Y)
    same_model(pickle.loads(pickle.dumps(model)), model)


@pytest.mark.parametrize("batch_size", [1, 7, 4096])
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_batches_and_threads_leave_predictions(batch_size, n_jobs):
    model = fitted().fit(X, Y)
    cut = fitted(batch_size=batch_size, n_jobs=n_jobs).fit(X, Y)
    np.testing.assert_allclose(
        cut.base_decision_function(QUERY), model.base_decision_function(QUERY), atol=1e-12
    )


def test_sparse_and_dense_coefficients_give_one_product():
    """Above and below the density where the product changes its way."""
    rng = np.random.default_rng(0)
    vectors, query = rng.normal(size=(60, 3)), rng.normal(size=(20, 3))
    for density in (0.02, 0.9):
        coef = sp.random(60, 8, density=density, format="csc", random_state=0)
        pool = SupportPool(np.arange(60), vectors, sp.csc_array(coef), rng.normal(size=8))
        for kernel in ("rbf", "poly", "precomputed"):
            resolved = EnsembleSVC(kernel=kernel, gamma=0.3)
            resolved._settle_kernel(vectors)
            X_in = rbf_kernel(query, vectors) if kernel == "precomputed" else query
            block = resolved._kernel.against(X_in, vectors, pool.indices)
            np.testing.assert_allclose(
                pool_decision(X_in, pool, resolved._kernel),
                block @ coef.toarray() + pool.intercept,
                atol=1e-12,
            )


# --- other array namespaces -----------------------------------------------------------------------


def namespaces():
    xp = pytest.importorskip("array_api_strict")
    yield xp
    try:
        import torch
    except ImportError:
        return
    yield torch


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "sigmoid", "precomputed"])
def test_prediction_is_computed_where_the_rows_live(classes, kernel):
    data, y = (X, Y) if classes == 2 else (X3, Y3)
    if kernel == "precomputed":
        data = rbf_kernel(data, gamma=0.3)
    model = fitted(5, kernel=kernel, gamma=0.3, batch_size=64).fit(data, y)
    for xp in namespaces():
        rows = xp.asarray(data)
        with sklearn.config_context(array_api_dispatch=True):
            for name in ("vote", "mean", "logistic"):
                edited = model.with_aggregation(name)
                for method in ("base_decision_function", "decision_function", "predict"):
                    here, there = getattr(edited, method)(data), getattr(edited, method)(rows)
                    assert type(there) is type(rows)
                    np.testing.assert_allclose(np.asarray(there), here, atol=1e-9)
            proba = model.predict_proba(rows)
            np.testing.assert_allclose(np.asarray(proba), model.predict_proba(data), atol=1e-12)
            assert model.score(rows, xp.asarray(y)) == model.score(data, y)


def test_single_precision_and_devices_are_kept():
    xp = pytest.importorskip("array_api_strict")
    model = fitted().fit(X, Y)
    device = xp.Device("device1")
    rows = xp.asarray(QUERY.astype(np.float32), device=device)
    with sklearn.config_context(array_api_dispatch=True):
        values = model.base_decision_function(rows)
        assert values.dtype == xp.float32
        assert values.device == device
        assert model.predict(rows).device == device
    values = np.asarray(xp.asarray(values, device=xp.Device("CPU_DEVICE")))
    # Some 150 terms of size C = 2 in single precision: 150 · 2 · 6e-8.
    np.testing.assert_allclose(values, model.base_decision_function(QUERY), atol=2e-5)


def test_training_and_trained_aggregation_from_another_namespace():
    xp = pytest.importorskip("array_api_strict")
    alone = fitted(aggregation="logistic_regression").fit(X, Y)
    with sklearn.config_context(array_api_dispatch=True):
        model = fitted(aggregation="logistic_regression").fit(xp.asarray(X), xp.asarray(Y))
        values = model.decision_function(xp.asarray(QUERY))
        held_out = model.with_aggregation("svc", xp.asarray(X), xp.asarray(Y))
        proba = model.predict_proba(xp.asarray(QUERY))
    same_model(model, alone)
    np.testing.assert_allclose(np.asarray(values), alone.decision_function(QUERY), atol=1e-9)
    np.testing.assert_allclose(np.asarray(proba), alone.predict_proba(QUERY), atol=1e-9)
    np.testing.assert_array_equal(
        held_out.predict(QUERY), alone.with_aggregation("svc", X, Y).predict(QUERY)
    )


def test_lists_frames_and_sparse_rows_stay_with_numpy_under_dispatch():
    pd = pytest.importorskip("pandas")
    model = fitted().fit(X, Y)
    expected = model.base_decision_function(QUERY)
    with sklearn.config_context(array_api_dispatch=True):
        for rows in (QUERY, QUERY.tolist(), pd.DataFrame(QUERY), sp.csr_array(QUERY)):
            values = model.base_decision_function(rows)
            assert isinstance(values, np.ndarray)
            np.testing.assert_allclose(values, expected, atol=1e-12)
        same_model(fitted().fit(X.tolist(), Y.tolist()), model)


def test_labels_that_are_words_come_back_as_numpy():
    xp = pytest.importorskip("array_api_strict")
    words = np.array(["left", "right"])[Y]
    model = fitted().fit(X, words)
    with sklearn.config_context(array_api_dispatch=True):
        np.testing.assert_array_equal(model.predict(xp.asarray(QUERY)), model.predict(QUERY))


def test_sparse_pools_serve_dense_rows_elsewhere():
    xp = pytest.importorskip("array_api_strict")
    model = fitted().fit(sp.csr_array(X), Y)
    with sklearn.config_context(array_api_dispatch=True):
        values = model.base_decision_function(xp.asarray(QUERY))
    np.testing.assert_allclose(np.asarray(values), model.base_decision_function(QUERY), atol=1e-9)


# --- properties -----------------------------------------------------------------------------------


counts = st.lists(st.integers(1, 60), min_size=2, max_size=5)


@given(counts, st.integers(5, 200))
def test_kept_ratios_are_within_one_row(available, size):
    got = np.array(keep_ratio(size, available))
    exact = size * np.array(available) / sum(available)
    assert got.sum() == size
    assert got.min() >= 1
    rare = exact < 1  # a class that would get no row gets one, from the largest
    if not rare.any():
        assert np.abs(got - exact).max() < 1


@settings(max_examples=50)
@given(counts, st.integers(1, 6), st.booleans(), st.integers(0, 10**6))
def test_stratified_samples_hold_what_they_should(available, n, replace, seed):
    y = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(available)), available))
    rows = np.arange(len(y))
    plan = SamplingPlan("stratified", len(y), replace)
    samples = draw_samples(y, rows, n, plan, np.random.RandomState(seed))
    for sample in samples:
        np.testing.assert_array_equal(np.bincount(y[sample]), available)
        if not replace:
            np.testing.assert_array_equal(sample, rows)


@settings(max_examples=50)
@given(st.integers(1, 40), st.integers(1, 40), st.booleans(), st.integers(0, 10**6))
def test_composition_asked_for_is_what_is_drawn(n_pos, n_neg, replace, seed):
    y = np.repeat([0, 1], 40)
    plan = SamplingPlan("stratified", "auto", replace, n_neg, n_pos)
    for sample in draw_samples(y, np.arange(80), 3, plan, np.random.RandomState(seed)):
        assert np.bincount(y[sample]).tolist() == [n_neg, n_pos]
        assert replace or len(np.unique(sample)) == len(sample)


@settings(max_examples=50)
@given(counts, st.integers(1, 12), st.integers(0, 10**6))
def test_partitions_are_disjoint_and_complete(available, n, seed):
    y = np.repeat(np.arange(len(available)), available)
    plan = SamplingPlan("partition")
    rng = np.random.RandomState(seed)
    if min(available) < n:
        with pytest.raises(ValueError, match="partition"):
            draw_samples(y, np.arange(len(y)), n, plan, rng)
        return
    samples = draw_samples(y, np.arange(len(y)), n, plan, rng)
    np.testing.assert_array_equal(np.sort(np.concatenate(samples)), np.arange(len(y)))
    shares = np.array([np.bincount(y[s], minlength=len(available)) for s in samples])
    assert np.ptp(shares, axis=0).max() <= 1


def test_balanced_samples_are_balanced_and_never_outgrow_the_rarest_class():
    y = np.repeat([0, 1, 2], [50, 8, 20])
    auto = SamplingPlan("balanced", "auto", False)
    (sample,) = draw_samples(y, np.arange(78), 1, auto, np.random.RandomState(0))
    assert np.bincount(y[sample]).tolist() == [8, 8, 8]
    (sample,) = draw_samples(
        y, np.arange(78), 1, SamplingPlan("balanced", 31), np.random.RandomState(0)
    )
    assert np.bincount(y[sample]).tolist() == [11, 10, 10]


@settings(max_examples=30)
@given(st.permutations(range(6)), st.sampled_from(["vote", "mean", "logistic"]))
def test_order_of_machines_does_not_matter(order, name):
    rng = np.random.default_rng(0)
    D, weights = rng.normal(size=(40, 6)), rng.integers(1, 5, 6).astype(float)
    order = list(order)
    first = make_aggregator(name, 6, 2, weights=weights).decision(D)
    second = make_aggregator(name, 6, 2, weights=weights[order]).decision(D[:, order])
    np.testing.assert_allclose(first, second, atol=1e-12)


@settings(max_examples=30)
@given(st.floats(1e-3, 1e3), st.integers(0, 1000))
def test_scale_of_weights_does_not_matter(scale, seed):
    rng = np.random.default_rng(seed)
    weights = rng.uniform(0.1, 1.0, 5)
    for shape in ((30, 5), (30, 5, 3)):
        D = rng.normal(size=shape)
        for kind in (Vote, MeanDecision):
            np.testing.assert_allclose(
                kind(weights).decision(D), kind(scale * weights).decision(D), atol=1e-12
            )


@settings(max_examples=30)
@given(st.integers(0, 1000), st.booleans())
def test_folding_and_keeping_leave_decisions(seed, sparse):
    rng = np.random.default_rng(seed)
    vectors = rng.integers(-1, 2, (12, 2)).astype(float)
    coef = sp.csc_array(rng.normal(size=(12, 4)) * (rng.random((12, 4)) < 0.5))
    held = sp.csr_array(vectors) if sparse else vectors
    pool = SupportPool(np.arange(12), held, coef, rng.normal(size=4))
    kernel = EnsembleSVC(gamma=0.5)
    kernel._settle_kernel(vectors)
    query = rng.normal(size=(5, 2))
    whole = pool_decision(query, pool, kernel._kernel)
    folded = fold_equal_rows(pool)
    assert len(folded.indices) == len(np.unique(vectors, axis=0))
    np.testing.assert_allclose(pool_decision(query, folded, kernel._kernel), whole, atol=1e-12)
    some = np.array([3, 1])
    kept = keep_machines(folded, some)
    np.testing.assert_allclose(
        pool_decision(query, kept, kernel._kernel), whole[:, some], atol=1e-12
    )


# --- positive and unlabelled ----------------------------------------------------------------------


def test_pu_machines_see_all_positives_and_weigh_the_sides_alike():
    known = Y * (np.arange(len(Y)) % 5 == 0)
    model = PUBaggingSVC(6, n_unlabelled=90, gamma=1.5, C=0.7, random_state=0).fit(X, known)
    n_pos = int(known.sum())
    for b, sample in enumerate(model.estimators_samples_):
        assert len(sample) == n_pos + 90
        assert set(np.flatnonzero(known)) <= set(sample)
        rows, times = np.unique(sample, return_counts=True)
        weight = 0.7 * times * np.where(known[rows] == 1, 90 / n_pos, 1.0)
        svc = SVC(C=1.0, gamma=1.5).fit(X[rows], known[rows], sample_weight=weight)
        np.testing.assert_allclose(
            model.base_decision_function(QUERY)[:, b], svc.decision_function(QUERY), **CLOSE
        )
    D = model.base_decision_function(QUERY)
    np.testing.assert_allclose(model.decision_function(QUERY), D.mean(axis=1), atol=1e-12)


def test_pu_ranks_unlabelled_rows_by_machines_that_did_not_see_them():
    known = Y * (np.arange(len(Y)) % 3 == 0)
    model = PUBaggingSVC(30, gamma=1.5, random_state=0).fit(X, known)
    D = model.base_decision_function(X)
    for i in np.flatnonzero(known == 0)[:40]:
        seen = [b for b in range(30) if i not in model.estimators_samples_[b]]
        assert model.oob_decision_function_[i] == pytest.approx(D[i, seen].mean(), abs=1e-9)
    assert np.isnan(model.oob_decision_function_[known == 1]).all()


def test_pu_ensembles_are_edited_like_others():
    model = PUBaggingSVC(6, gamma=1.5, random_state=0).fit(X, Y)
    assert not hasattr(model, "predict_proba")
    vote = model.with_aggregation("vote")
    shares = (model.base_decision_function(QUERY) > 0).mean(axis=1)
    np.testing.assert_allclose(vote.predict_proba(QUERY)[:, 1], shares, atol=1e-12)
    pruned = model.prune([1, 0, 0, 2, 0, 0])
    D = model.base_decision_function(QUERY)
    np.testing.assert_allclose(pruned.decision_function(QUERY), (D[:, 0] + 2 * D[:, 3]) / 3)
    for edited in (vote, pruned, model.with_aggregation("mean", threshold=0.3)):
        again = sklearn.base.clone(edited).fit(X, Y)
        assert len(again.intercept_) == edited.n_estimators
    assert again.aggregator_.threshold == 0.3


# --- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "arguments", "words"),
    [
        ({"n_pos": 500, "replace": False}, {}, "there are 200"),
        ({"n_pos": 5, "sampling": "partition"}, {}, "n_pos and n_neg"),
        ({"max_samples": 1}, {}, "each of the 2 classes"),
        ({"max_samples": 500, "replace": False}, {}, "without replacement"),
        ({"sampling": "partition", "n_estimators": 300}, {}, "partition into 300"),
        ({"aggregation_weights": np.zeros(20)}, {}, "not all be zero"),
        ({"aggregation_weights": np.r_[-1.0, np.ones(19)]}, {}, "not be negative"),
        ({"aggregation_weights": np.ones(3)}, {}, "each of the 20 machines"),
        ({"aggregation_weights": np.full(20, np.nan)}, {}, "finite"),
        ({"aggregation_weights": np.ones(20), "aggregation": "svc"}, {}, "finds its own"),
        ({"aggregation": "logistic", "threshold": 1.5}, {}, "between 0 and 1"),
        ({"aggregation": "veto"}, {}, "'aggregation'"),
        ({"C": 0.0}, {}, "'C'"),
        ({"gamma": -1.0}, {}, "'gamma'"),
        ({"max_samples": 1.5}, {}, "'max_samples'"),
        ({}, {"sample_weight": -np.ones(400)}, "[Nn]egative"),
        ({}, {"sample_weight": (Y == 0).astype(float)}, "class .*1.* has sample_weight zero"),
        ({}, {"sample_indices": [[0, 400]]}, "numbered 0 to 399"),
        ({}, {"sample_indices": [[0.5, 1.0]]}, "row numbers"),
        ({}, {"sample_indices": [np.flatnonzero(Y)]}, "Sample 0 holds no row of class"),
        ({}, {"sample_indices": []}, "got none"),
        ({}, {"penalties": np.ones((2, 3))}, "each of the 400 samples"),
        ({}, {"penalties": -np.ones((2, 400))}, "not be negative"),
        ({}, {"penalties": np.full((2, 400), np.inf)}, "finite"),
        ({}, {"penalties": Y[None] * 1.0}, "no row of class"),
        ({}, {"penalties": np.ones((2, 400)), "sample_weight": np.ones(400)}, "sample_weight"),
        ({"class_weight": "balanced"}, {"penalties": np.ones((2, 400))}, "class_weight"),
        ({"kernel": "precomputed"}, {}, "square"),
    ],
)
def test_bad_input_is_told(params, arguments, words):
    with pytest.raises(ValueError, match=words):
        EnsembleSVC(**params).fit(X, Y, **arguments)


def test_bad_targets_and_kernels_are_told():
    with pytest.raises(ValueError, match="one class"):
        EnsembleSVC().fit(X, np.zeros(400))
    with pytest.raises(ValueError, match="two classes"):
        EnsembleSVC(n_pos=10).fit(X3, Y3)
    with pytest.raises(ValueError, match=r"threshold=0\.3"):
        EnsembleSVC(threshold=0.3).fit(X3, Y3)
    with pytest.raises(ValueError, match="symmetric"):
        EnsembleSVC(kernel="precomputed").fit(np.arange(9.0).reshape(3, 3), [0, 1, 0])
    indefinite = np.array([[0.1, 2.0, 0.0, 0.0], [2.0, 0.1, 0.0, 0.0], [0, 0, 1, 0], [0, 0, 0, 1]])
    with pytest.warns(UserWarning, match="indefinite"):
        EnsembleSVC(1, kernel="precomputed").fit(indefinite, [0, 1, 0, 1])
    with pytest.raises(TypeError, match=r"[Ss]parse|dense"):
        EnsembleSVC(kernel="precomputed").fit(sp.eye_array(4, format="csr"), [0, 1, 0, 1])
    with pytest.raises(ValueError, match="missed one of the 2 classes"):
        EnsembleSVC(sampling="bootstrap", max_samples=3, random_state=0).fit(
            np.arange(10_000.0)[:, None], np.arange(10_000) == 0
        )
    with pytest.raises(ValueError, match="two labels"):
        PUBaggingSVC().fit(X3, Y3)


def test_what_cannot_be_merged_is_told():
    model = fitted(3).fit(X, Y)
    with pytest.raises(ValueError, match="one kernel"):
        merge_ensembles([model, fitted(3, gamma=0.1).fit(X, Y)])
    with pytest.raises(ValueError, match="share their classes"):
        merge_ensembles([model, fitted(3).fit(X, Y + 1)])
    with pytest.raises(ValueError, match="share their features"):
        merge_ensembles([model, fitted(3).fit(np.c_[X, X], Y)])
    with pytest.raises(ValueError, match="same aggregation"):
        merge_ensembles([model, model.with_aggregation("mean")])
    with pytest.raises(ValueError, match="trained for the machines of one"):
        merge_ensembles([model.with_aggregation("svc", X, Y)] * 2)
    with pytest.raises(ValueError, match="got none"):
        merge_ensembles([])
    with pytest.raises(TypeError, match="SVC"):
        merge_ensembles([SVC()])
    svc = SVC(gamma=1.0).fit(X, Y)
    with pytest.raises(ValueError, match="one kernel"):
        EnsembleSVC.from_svcs([svc, SVC(gamma=2.0).fit(X, Y)])
    with pytest.raises(ValueError, match="one kernel"):
        EnsembleSVC.from_svcs([svc, LinearSVC().fit(X, Y)])
    with pytest.raises(ValueError, match="two classes"):
        EnsembleSVC.from_svcs([SVC().fit(X3, Y3)])
    with pytest.raises(ValueError, match="callable kernel"):
        EnsembleSVC.from_svcs([SVC(kernel=rbf_kernel).fit(X, Y)])
    with pytest.raises(ValueError, match="must be trained"):
        EnsembleSVC.from_svcs([svc], aggregation="svc")
    with pytest.raises(ValueError, match="got none"):
        EnsembleSVC.from_svcs([])
    with pytest.raises(TypeError, match="LogisticRegression"):
        EnsembleSVC.from_svcs([LogisticRegression()])


def test_what_cannot_be_edited_is_told():
    model = fitted(3).fit(X, Y)
    with pytest.raises(ValueError, match="oob_score=True"):
        model.with_aggregation("svc")
    with pytest.raises(ValueError, match="X and y"):
        model.with_aggregation("svc", X)
    with pytest.raises(ValueError, match="one of 'vote'"):
        model.with_aggregation("veto")
    with pytest.raises(ValueError, match="not seen in fit"):
        model.with_aggregation("svc", X, Y + 5)
    with pytest.raises(ValueError, match="all 3"):
        model.with_aggregation("svc", X, Y).prune([1, 0, 1])
    with pytest.raises(ValueError, match="not all be zero"):
        model.prune([0, 0, 0])
    with pytest.raises(sklearn.exceptions.NotFittedError):
        fitted().prune()
