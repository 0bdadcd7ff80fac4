"""What all one-pass classifiers share: streams, chunks, labels, bad input, rules of one's own."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from octavo.data import ArrayChunks
from octavo.online import (
    ALMA,
    AROW,
    SCW,
    ConfidenceWeighted,
    CustomOnlineClassifier,
    ImprovedEllipsoid,
    OGDClassifier,
    OnlinePerceptron,
    PassiveAggressive,
    register_rule,
    registered_rules,
)
from octavo.online.one_pass.rules import (
    confident_step,
    rival,
    score,
    step_along,
    variance,
)
from tests.online.one_pass.learners import (
    FIRST_ORDER,
    MULTICLASS,
    SECOND_ORDER,
    label_of,
    noisy_stream,
)

ALL = FIRST_ORDER + SECOND_ORDER
each_learner = pytest.mark.parametrize("entry", ALL, ids=label_of)


def same_model(one, other):
    assert (one.t_, one.n_mistakes_, one.n_updates_) == (
        other.t_,
        other.n_mistakes_,
        other.n_updates_,
    )
    np.testing.assert_array_equal(one.coef_, other.coef_)
    np.testing.assert_array_equal(one.intercept_, other.intercept_)
    if hasattr(one, "covariance_"):
        np.testing.assert_array_equal(one.covariance_, other.covariance_)


# --- one stream, however it is cut -----------------------------------------------------------


@each_learner
@pytest.mark.parametrize("n_classes", [2, 3])
def test_chunks_rows_and_tables_give_one_model(entry, n_classes):
    X, y = noisy_stream(n=50, n_classes=n_classes)
    whole = clone(entry[0]).fit(X, y)
    parts, single = clone(entry[0]), clone(entry[0])
    for start in range(0, 50, 7):
        parts.partial_fit(X[start : start + 7], y[start : start + 7], classes=range(n_classes))
    for row, label in zip(X, y, strict=True):
        single.learn_one(row, label, classes=range(n_classes))
    same_model(whole, parts)
    same_model(whole, single)
    chunks = [(X[:20], y[:20]), (X[20:], y[20:])]
    same_model(whole, clone(entry[0]).fit(iter(chunks)))
    same_model(whole, clone(entry[0]).fit(ArrayChunks(X, y, 11)))


@settings(max_examples=20, deadline=None)
@given(st.sampled_from(ALL), st.lists(st.integers(1, 59), max_size=5), st.booleans())
def test_cutting_a_sparse_stream_anywhere_changes_nothing(entry, cuts, average):
    X, y = noisy_stream(n=60, seed=7)
    X = sp.csr_matrix(X)
    estimator = clone(entry[0]).set_params(average=average)
    whole, parts = clone(estimator).fit(X, y), clone(estimator)
    for part in np.split(np.arange(60), sorted(set(cuts))):
        parts.partial_fit(X[part], y[part], classes=[0, 1])
    same_model(whole, parts)


@each_learner
def test_rounds_without_loss_leave_the_model_as_it_is(entry):
    X, y = noisy_stream(n=80)
    model = clone(entry[0])
    quiet = 0
    for row, label in zip(X, y, strict=True):
        before = copy.deepcopy(model)
        model.learn_one(row, label, classes=[0, 1])
        absorbs_all = getattr(model, "update_on", None) == "all"
        if before.__dict__.get("t_") and model.n_updates_ == before.n_updates_ and not absorbs_all:
            np.testing.assert_array_equal(model.coef_, before.coef_)
            if hasattr(model, "covariance_"):
                np.testing.assert_array_equal(model.covariance_, before.covariance_)
            quiet += 1
    logistic = getattr(model, "loss", None) in ("log", "square")
    assert quiet > 0 or logistic or getattr(model, "update_on", None) == "all"


@each_learner
def test_mistakes_are_those_of_predicting_each_row_first(entry):
    X, y = noisy_stream(n=60, n_classes=3, seed=8)
    for labels, classes in ((y, [0, 1, 2]), (y % 2, [0, 1])):
        model, mistakes = clone(entry[0]), 0
        for t in range(60):
            tie = classes[0] if len(classes) == 3 else classes[1]
            guess = model.predict(X[t : t + 1])[0] if t else tie
            mistakes += int(guess != labels[t])
            model.partial_fit(X[t : t + 1], labels[t : t + 1], classes=classes)
        assert model.n_mistakes_ == mistakes


def test_epochs_and_shuffling():
    X, y = noisy_stream()
    twice = AROW(n_epochs=2).fit(X, y)
    same_model(twice, AROW().fit(np.vstack([X, X]), np.concatenate([y, y])))
    shuffled = AROW(shuffle=True, random_state=0).fit(X, y)
    order = np.random.RandomState(0).permutation(len(y))
    same_model(shuffled, AROW().fit(X[order], y[order]))
    same_model(AROW(n_epochs=2).fit(ArrayChunks(X, y, 50)), twice)
    with pytest.raises(ValueError, match="n_epochs=2 needs chunks that can be read again"):
        AROW(n_epochs=2).fit(iter([(X, y)]))


def test_fitting_again_forgets():
    X, y = noisy_stream()
    model = SCW().fit(X, y)
    first = copy.deepcopy(model)
    same_model(first, model.fit(X, y))


@each_learner
def test_pickling_keeps_learning(entry):
    X, y = noisy_stream()
    model = clone(entry[0]).fit(X[:60], y[:60])
    again = pickle.loads(pickle.dumps(model))
    same_model(model.partial_fit(X[60:], y[60:]), again.partial_fit(X[60:], y[60:]))


@pytest.mark.parametrize("learner", [AROW, SCW, ImprovedEllipsoid])
@pytest.mark.parametrize("average", [False, True])
def test_diagonals_learn_alike_from_sparse_dense_and_both_kinds_of_rows(learner, average):
    """Sparse rows keep a weight beside its variance; dense ones, and pickles, each in an array."""
    X, y = noisy_stream()
    csr = sp.csr_matrix(X * (np.random.default_rng(3).random(X.shape) > 0.5))
    dense = learner(covariance="diag", average=average).fit(csr.toarray(), y)
    sparse = clone(dense).fit(csr[:40], y[:40])
    sparse = pickle.loads(pickle.dumps(sparse))
    for rows in (csr[40:50], csr[50:60].toarray(), csr[60:]):
        sparse.partial_fit(rows, y[sparse.t_ : sparse.t_ + rows.shape[0]])
    assert (sparse.n_mistakes_, sparse.n_updates_) == (dense.n_mistakes_, dense.n_updates_)
    np.testing.assert_allclose(sparse.coef_, dense.coef_, rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(sparse.covariance_, dense.covariance_, rtol=1e-10)


def test_rows_far_apart_in_memory_teach_the_same():
    """More weights than the second cache holds, so that those of later rows are asked for."""
    rng = np.random.default_rng(0)
    X = sp.random(60, 100_000, density=1e-4, format="csr", random_state=rng)
    y = (rng.random(60) > 0.5).astype(int)
    named = np.unique(X.indices)
    for model in (PassiveAggressive(), AROW(covariance="diag"), SCW(covariance="diag")):
        wide, narrow = clone(model).fit(X, y), clone(model).fit(X[:, named], y)
        np.testing.assert_allclose(wide.coef_[0, named], narrow.coef_[0], rtol=1e-12, atol=1e-15)
        assert np.count_nonzero(wide.coef_) == np.count_nonzero(narrow.coef_)


def test_single_precision_rows_are_used_as_they_are():
    X, y = noisy_stream(n=3000, d=200)
    X = X.astype(np.float32)
    dense = PassiveAggressive().fit(X, y)
    sparse = PassiveAggressive().fit(sp.csr_matrix(X), y)
    wide = PassiveAggressive().fit(X.astype(np.float64), y)
    np.testing.assert_allclose(dense.coef_, wide.coef_, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(sparse.coef_, wide.coef_, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(
        dense.decision_function(X), wide.decision_function(X.astype(np.float64)), rtol=1e-9
    )


def test_repeated_columns_of_a_sparse_row_are_added():
    X = sp.csr_matrix(([1.0, 2.0, 1.0], [0, 0, 1], [0, 2, 3]), shape=(2, 2))
    model = AROW(covariance="diag").fit(X, [1, 0])
    np.testing.assert_array_equal(
        model.coef_, AROW(covariance="diag").fit(X.toarray(), [1, 0]).coef_
    )
    assert X.nnz == 3, "the caller's matrix was changed"


def test_labels_of_any_kind():
    X, y = noisy_stream()
    for names in (np.array(["no", "yes"]), np.array([False, True]), np.array([3.0, 7.0])):
        model = AROW().fit(X, names[y])
        np.testing.assert_array_equal(model.predict(X), names[AROW().fit(X, y).predict(X)])


# --- bad input -------------------------------------------------------------------------------


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="number of classes has to be greater than one; got 1"):
        AROW().fit([[1.0], [2.0]], [1, 1])
    with pytest.raises(ValueError, match="greater than one"):
        AROW().partial_fit([[1.0]], [1], classes=[1])
    with pytest.raises(ValueError, match="needs the argument `classes`"):
        AROW().fit(iter([([[1.0], [2.0]], [1, 1])]))


def test_unseen_classes_are_refused():
    model = AROW().partial_fit([[1.0]], [1], classes=[0, 1])
    before = model.coef_.copy()
    with pytest.raises(ValueError, match=r"not one of the classes: .*5"):
        model.partial_fit([[1.0], [2.0]], [1, 5])
    with pytest.raises(ValueError, match="not one of the classes"):
        model.learn_one([1.0], 7)
    with pytest.raises(ValueError, match="not the same as on last call"):
        model.partial_fit([[1.0]], [1], classes=[0, 1, 2])
    np.testing.assert_array_equal(model.coef_, before)
    three = OnlinePerceptron().partial_fit([[1.0]], [1], classes=[0, 1, 4])
    with pytest.raises(ValueError, match="not one of the classes"):
        three.learn_one([1.0], 9)


def test_first_call_needs_classes():
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        AROW().partial_fit([[1.0]], [1])
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        AROW().learn_one([1.0], 1)
    with pytest.raises(NotFittedError):
        AROW().predict([[1.0]])
    assert not hasattr(AROW(), "coef_")
    assert not hasattr(AROW(), "covariance_")


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_not_finite_are_refused(bad):
    model = AROW().fit([[1.0, 0.0], [0.0, 1.0]], [0, 1])
    for table in ([[1.0, bad]], sp.csr_matrix([[1.0, bad]])):
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            model.partial_fit(table, [1])
        with pytest.raises(ValueError, match="NaN or infinity"):
            model.learn_one(table[0] if isinstance(table, list) else table, 1)
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            model.predict(table)


def test_another_number_of_features_is_refused():
    model = AROW().fit([[1.0, 0.0], [0.0, 1.0]], [0, 1])
    for use in (
        lambda: model.partial_fit([[1.0]], [1]),
        lambda: model.learn_one([1.0, 2.0, 3.0], 1),
        lambda: model.predict([[1.0]]),
    ):
        with pytest.raises(ValueError, match="features"):
            use()
    with pytest.raises(ValueError, match="one row"):
        model.learn_one(np.ones((2, 2)), 1)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: AROW(r=0.0), "r"),
        (lambda: AROW(a=-1.0), "a"),
        (lambda: AROW(covariance="sparse"), "covariance"),
        (lambda: PassiveAggressive("pa3"), "variant"),
        (lambda: PassiveAggressive(C=0.0), "C"),
        (lambda: OGDClassifier("huber"), "loss"),
        (lambda: ALMA(alpha=1.0), "alpha"),
        (lambda: ALMA(p=1.5), "p"),
        (lambda: SCW(3), "variant"),
        (lambda: ConfidenceWeighted(n_epochs=0), "n_epochs"),
        (lambda: ImprovedEllipsoid(fit_intercept="yes"), "fit_intercept"),
    ],
)
def test_impossible_parameters_are_refused(make, name):
    with pytest.raises(ValueError, match=f"'{name}' parameter"):
        make().fit([[0.0], [1.0]], [0, 1])


def test_a_table_without_labels_is_not_taken_for_a_stream():
    for table in ([[1.0, 2.0], [3.0, 4.0]], [(1.0, 2.0), (3.0, 4.0)], np.eye(2)):
        with pytest.raises(ValueError, match="requires y to be passed"):
            AROW().fit(table)


def test_streams_without_a_chunk_are_refused():
    with pytest.raises(ValueError, match="at least one"):
        AROW().fit(iter([]))


def test_rows_of_zeros_count_as_rounds_without_an_update():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 0.0]])
    for entry in ALL:
        model = clone(entry[0]).set_params(fit_intercept=False).fit(X, [0, 1, 0])
        assert model.t_ == 3
        assert model.n_mistakes_ == 2, "a score of 0 predicts the second class"
        assert model.n_updates_ <= 1
    for entry in MULTICLASS:
        model = clone(entry[0]).set_params(fit_intercept=False)
        model.partial_fit(X[:1], [2], classes=[0, 1, 2])
        assert (model.n_mistakes_, model.n_updates_) == (1, 0)


def test_huge_and_tiny_rows_stay_finite():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)) * 10.0 ** rng.integers(-140, 60, size=(60, 1))
    y = rng.integers(0, 2, 60)
    for entry in ALL:
        if entry[1] == "ogd":
            continue  # a gradient step has the length of its row
        model = clone(entry[0]).set_params(fit_intercept=False)
        with np.errstate(all="ignore"):
            model.fit(X, y)
        assert np.all(np.isfinite(model.coef_)), label_of(entry)


# --- rules of one's own ----------------------------------------------------------------------


def test_sixteen_binary_and_thirteen_multiclass_rules():
    binary = {name for name, _ in registered_rules("binary")}
    assert binary >= {
        *("perceptron", "romma", "aromma", "alma", "ogd", "pa", "pa1", "pa2"),
        *("sop", "iellip", "cw", "scw1", "scw2", "arow", "narow", "nherd"),
    }
    multiclass = {name for name, _ in registered_rules("multiclass")}
    assert multiclass >= {
        *("perceptron_max", "perceptron_uniform", "perceptron_proportional"),
        *("romma", "aromma", "ogd", "pa", "pa1", "pa2", "cw", "scw1", "scw2", "arow"),
    }


def insistent(y, x, state):
    margin = y * score(x, state)
    loss = max(0.0, state.parameters[0] - margin)
    if loss > 0.0:
        step_along(x, state, 0, y)
    return margin, loss


def own_arow(y, x, state):
    margin, other = rival(y, x, state)
    loss = max(0.0, 1.0 - margin)
    if loss > 0.0:
        v = variance(x, state)
        confident_step(x, state, v, loss / (v + 1.0), 1.0, y, other)
    return margin, loss


def test_a_rule_of_ones_own_is_one_function():
    register_rule("insistent", insistent)
    X, y = noisy_stream()
    model = CustomOnlineClassifier("insistent", parameters=(0.5,), fit_intercept=False).fit(X, y)
    w, updates = np.zeros(X.shape[1]), 0
    for x, label in zip(X, 2 * y - 1, strict=True):
        if x.any() and label * (w @ x) < 0.5:
            w, updates = w + label * x, updates + 1
    np.testing.assert_allclose(model.coef_[0], w, atol=1e-12)
    assert model.n_updates_ == updates
    three = CustomOnlineClassifier("insistent", parameters=(1.0,)).fit(*noisy_stream(n_classes=3))
    assert three.coef_.shape == (3, 7), "one learner per class"


def test_a_multiclass_rule_of_ones_own_with_a_covariance():
    register_rule("own arow", own_arow, task="multiclass", second_order=True)
    X, y = noisy_stream(n_classes=3)
    same_model(CustomOnlineClassifier("own arow").fit(X, y), AROW().fit(X, y))


def test_unknown_rules_are_refused():
    with pytest.raises(ValueError, match="No binary update rule is named 'nothing'; there are"):
        CustomOnlineClassifier("nothing").fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="task must be"):
        register_rule("x", insistent, task="regression")
    with pytest.raises(ValueError, match="needs a kernel or a run"):
        register_rule("x")
    with pytest.raises(ValueError, match="name must be a str, got 3"):
        register_rule(3, insistent)


CACHED = """
import numpy as np
from octavo.online import AROW, PassiveAggressive
for make in (AROW, PassiveAggressive):
    make().fit(np.eye(3), [0, 1, 1])
from octavo.online.one_pass import rules_binary
hits = rules_binary._arow_pass.stats.cache_hits, rules_binary._pa_pass.stats.cache_hits
assert all(sum(h.values()) == 1 for h in hits), hits
"""


def test_a_second_process_does_not_compile_again():
    AROW().fit(np.eye(3), [0, 1, 1])
    PassiveAggressive().fit(np.eye(3), [0, 1, 1])
    done = subprocess.run([sys.executable, "-c", CACHED], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
