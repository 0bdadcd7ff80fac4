"""Margins with class distances against cone programs, liblinear and traces written by hand."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from octavo.structured import (
    StructuredMarginClassifier,
    class_distance_from_tree,
    ordinal_class_distance,
)


def problem(seed=0, n=40, n_classes=4):
    random = np.random.default_rng(seed)
    prices = random.uniform(0.2, 1.0, size=(n_classes, n_classes))
    np.fill_diagonal(prices, 0.0)
    y = np.arange(n) % n_classes
    return random.normal(size=(n, 6)) + 0.5 * np.eye(6)[y], y, prices


def cone_program(X, y, prices, alpha=None, R=None):
    cp = pytest.importorskip("cvxpy")
    W = cp.Variable((len(prices), X.shape[1]))
    scores = X @ W.T
    loss = sum(cp.max(prices[c] + scores[n] - scores[n, c]) for n, c in enumerate(y))
    if R is None:
        goal, balls = loss / len(y) + alpha / 2 * cp.sum_squares(W), []
    else:
        goal, balls = loss, [cp.norm(W[o]) <= R for o in range(len(prices))]
    return cp.Problem(cp.Minimize(goal), balls).solve(solver="CLARABEL")


@pytest.mark.parametrize("solver", ["sdca", "extragradient"])
def test_penalised_optimum_is_that_of_a_cone_program(solver):
    X, y, prices = problem()
    best = cone_program(X, y, prices, alpha=0.1)
    model = StructuredMarginClassifier(
        prices, solver, alpha=0.1, max_iter=2000, tol=1e-7, random_state=0
    ).fit(X, y)
    assert abs(model.objective_ - best) < 1e-6
    assert model.objective_ - model.duality_gap_ <= best + 1e-8  # Clarabel is right to 1e-8
    assert model.duality_gap_ < 1e-6
    assert_allclose(objective(model, X, y, prices, 0.1), model.objective_, rtol=1e-12)


def objective(model, X, y, prices, alpha):
    scores = X @ model.coef_.T
    losses = (prices[y] + scores - scores[np.arange(len(y)), y][:, None]).max(axis=1)
    return losses.mean() + alpha / 2 * (model.coef_**2).sum()


@pytest.mark.parametrize("R", [0.3, 2.0])
def test_saddle_form_is_the_bounded_problem(R):
    X, y, prices = problem(1)
    best = cone_program(X, y, prices, R=R)
    model = StructuredMarginClassifier(
        prices, "extragradient", R=R, max_iter=2000, tol=1e-8, random_state=0
    ).fit(X, y)
    assert abs(model.objective_ - best) < 1e-6
    assert model.objective_ - model.duality_gap_ <= best + 1e-6
    assert np.linalg.norm(model.coef_, axis=1).max() <= R * (1 + 1e-12)
    scores = X @ model.coef_.T
    losses = (prices[y] + scores - scores[np.arange(len(y)), y][:, None]).max(axis=1)
    assert_allclose(losses.sum(), model.objective_, rtol=1e-12)  # a sum, not a mean


def test_equal_prices_are_crammer_and_singer():
    X, y, _ = problem(2)
    ours = StructuredMarginClassifier(
        solver="sdca", alpha=0.05, max_iter=5000, tol=1e-12, random_state=0
    ).fit(X, y)
    theirs = LinearSVC(
        multi_class="crammer_singer",
        C=1 / (0.05 * 40),
        fit_intercept=False,
        tol=1e-10,
        max_iter=1_000_000,
    ).fit(X, y)
    # a gap of g leaves sqrt(2 g / alpha) in the weights: 1e-12 leaves 7e-6
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)


def test_two_classes_are_a_hinge_machine():
    X, y, _ = problem(3, n_classes=2)
    alpha = 0.1
    ours = StructuredMarginClassifier(
        solver="sdca", alpha=alpha, max_iter=5000, tol=1e-12, random_state=0
    ).fit(X, y)
    # w_1 = -w_0 = w / 2 with penalty alpha/4 ‖w‖²: C = 2 / (alpha N)
    theirs = LinearSVC(
        loss="hinge", C=2 / (alpha * 40), fit_intercept=False, tol=1e-10, max_iter=1_000_000
    ).fit(X, y)
    assert_allclose(ours.coef_[1] - ours.coef_[0], theirs.coef_[0], atol=1e-5)
    assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)


@pytest.mark.parametrize("average", [False, True])
def test_perceptron_steps_are_those_of_table_2(average):
    X, y, prices = problem(4, n=30, n_classes=3)
    W, past = np.zeros((3, 6)), []
    for x, c in zip(X, y):
        values = prices[c] + W @ x
        rival = int(np.argmax(values))
        if W[c] @ x < values[rival]:
            W = W.copy()
            W[c] += 0.5 * x
            W[rival] -= 0.5 * x
        past.append(W)
    model = StructuredMarginClassifier(prices, eta=0.5, average=average)
    model.partial_fit(X[:11], y[:11], classes=[0, 1, 2]).partial_fit(X[11:], y[11:])
    assert_allclose(model.coef_, np.mean(past, axis=0) if average else W, atol=1e-12)


def test_separable_classes_end_the_steps():
    random = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = 4.0 * np.eye(3)[y] + 0.1 * random.normal(size=(60, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = StructuredMarginClassifier(
            eta=1.0, early_stopping=False, average=False, max_iter=1000, random_state=0
        ).fit(X, y)
    assert model.n_iter_ < 1000
    assert model.objective_ == 0.0
    assert model.score(X, y) == 1.0


def test_overlapping_classes_without_an_end_are_warned_of():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(50, 2)), np.arange(50) % 3
    with pytest.warns(ConvergenceWarning, match="early_stopping=True"):
        StructuredMarginClassifier(early_stopping=False, max_iter=3).fit(X, y)


@pytest.mark.parametrize("scale", [1e5, 1e-5])
@pytest.mark.parametrize("options", [{}, {"solver": "sdca", "alpha": 0.1}])
def test_bad_scales_are_right_or_warned_of(scale, options):
    X, y, prices = problem(5)
    model = StructuredMarginClassifier(prices, random_state=0, **options)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(scale * X, y)
    warned = any("cale X" in str(w.message) for w in caught)
    # Steps of a fixed size are wrong at either scale; dual ascent asks its gap.
    right = bool(options) and model.duality_gap_ <= 1e-4 * model.objective_
    assert warned == (not right)


@pytest.mark.parametrize("scale", [1e-8, 1e-12])
def test_tiny_features_leave_the_price_of_weights_zero(scale):
    X, y, prices = problem(7)
    model = StructuredMarginClassifier(prices, "sdca", alpha=0.1, random_state=0).fit(scale * X, y)
    dearest = prices[y].max(axis=1).mean()  # the penalty forbids weights that such rows would need
    assert_allclose(model.objective_, dearest, rtol=1e-9)
    assert_allclose(objective(model, scale * X, y, prices, 0.1), dearest, rtol=1e-9)
    assert model.duality_gap_ <= 1e-9


def test_saddle_form_knows_no_scale():
    X, y, prices = problem(6)
    values = [
        StructuredMarginClassifier(
            prices, "extragradient", R=1.0 / scale, max_iter=1000, tol=1e-6, random_state=0
        )
        .fit(scale * X, y)
        .objective_
        for scale in (1.0, 1e5, 1e-5)
    ]
    assert_allclose(values, values[0], rtol=3e-6)


@pytest.mark.parametrize("solver", ["psl", "sdca", "extragradient"])
def test_sparse_rows_are_dense_rows(solver):
    X, y, prices = problem(7)
    X[np.abs(X) < 0.7] = 0.0
    model = StructuredMarginClassifier(
        prices, solver, alpha=0.1, max_iter=30, tol=0.5, random_state=0
    )
    dense = model.fit(X, y).coef_.copy()
    table = sp.csr_matrix(X)
    twice = sp.csr_matrix(
        (np.repeat(table.data / 2, 2), np.repeat(table.indices, 2), 2 * table.indptr), X.shape
    )
    twice.indices, twice.indptr = twice.indices.astype(np.int64), twice.indptr.astype(np.int64)
    assert_allclose(model.fit(twice, y).coef_, dense, atol=1e-10)


def test_weights_of_rows_are_repetitions():
    X, y, prices = problem(8)
    sizes = np.arange(40) % 3
    model = StructuredMarginClassifier(
        prices, "sdca", alpha=0.1, max_iter=3000, tol=1e-10, random_state=0
    )
    weighted = model.fit(X, y, sample_weight=sizes).coef_.copy()
    repeated = model.fit(np.repeat(X, sizes, axis=0), np.repeat(y, sizes)).coef_
    assert_allclose(weighted, repeated, atol=1e-4)  # sqrt(2 gap / alpha)


def test_large_tables_in_blocks_learn_as_well():
    from octavo.structured.margins import perceptron

    X, y, prices = problem(9, n=2000)
    plain = StructuredMarginClassifier(prices, random_state=0).fit(X, y)
    before = perceptron.LARGE, perceptron.BLOCK
    try:
        perceptron.LARGE, perceptron.BLOCK = 10, 8
        blocks = StructuredMarginClassifier(prices, random_state=0).fit(X, y)
    finally:
        perceptron.LARGE, perceptron.BLOCK = before
    nothing = prices[y].max(axis=1).mean()  # what weights of zero cost
    assert plain.objective_ < nothing
    assert nothing - blocks.objective_ > 0.5 * (nothing - plain.objective_)


def test_temperature_makes_held_out_classes_likelier():
    from sklearn.metrics import log_loss

    X, y, prices = problem(10, n=400)
    model = StructuredMarginClassifier(prices, eta=5.0, random_state=0).fit(X[:200], y[:200])
    before = log_loss(y[200:], model.predict_proba(X[200:]))
    predicted = model.predict(X)
    after = log_loss(y[200:], model.calibrate(X[200:], y[200:]).predict_proba(X[200:]))
    assert after < before
    assert_array_equal(model.predict(X), predicted)


def test_prices_of_trees_and_ranks():
    tree = class_distance_from_tree([[0, 1], 2, [3, 4]])
    sides = [0, 0, 1, 2, 2]
    for i in range(5):
        for j in range(5):
            expected = 0.0 if i == j else 0.5 if sides[i] == sides[j] else 1.0
            assert tree[i, j] == expected
    assert_allclose(class_distance_from_tree([[[0, 1], 2], 3])[0], [0, 1 / 3, 2 / 3, 1])
    assert_allclose(ordinal_class_distance(5)[0], [0, 0.25, 0.5, 0.75, 1])
    X, y, _ = problem(0, n_classes=4)
    y5 = np.arange(40) % 5
    assert_array_equal(StructuredMarginClassifier("tree").fit(X, y5).class_distance_, tree)
    even = StructuredMarginClassifier("tree").fit(X, y).class_distance_
    assert_array_equal(even, class_distance_from_tree([[0, 1], [2, 3]]))
    two = StructuredMarginClassifier("tree").fit(X, y % 2).class_distance_
    assert_array_equal(two, 1 - np.eye(2))


def test_prices_move_mistakes_to_where_they_are_cheap():
    random = np.random.default_rng(0)
    y = np.arange(600) % 3
    X = np.hstack([np.eye(3)[y] + 0.8 * random.normal(size=(600, 3)), np.ones((600, 1))])
    dear = np.array([[0.0, 5.0, 5.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
    plain, priced = (
        StructuredMarginClassifier(d, "sdca", alpha=0.01, max_iter=500, random_state=0).fit(X, y)
        for d in ("uniform", dear)
    )
    missed = [np.mean(model.predict(X)[y == 0] != 0) for model in (plain, priced)]
    assert missed[1] < missed[0]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"class_distance": np.ones((4, 4))}, "diagonal"),
        ({"class_distance": np.eye(4) - 1.0}, "negative"),
        ({"class_distance": 1 - np.eye(3)}, "shape"),
        ({"class_distance": np.zeros((4, 4))}, "zeros"),
        ({"solver": "sdca"}, "alpha > 0"),
        ({"R": 1.0}, "extragradient"),
        ({"solver": "extragradient", "R": 1.0, "alpha": 0.1}, "R or alpha"),
    ],
)
def test_bad_options_are_sentences(options, words):
    X, y, _ = problem()
    if "class_distance" in options and words == "negative":
        np.fill_diagonal(options["class_distance"], 0.0)
    with pytest.raises(ValueError, match=words):
        StructuredMarginClassifier(**options).fit(X, y)


def test_bad_ranks_are_sentences():
    for n in (1, 2.5):
        with pytest.raises(ValueError, match="whole number"):
            ordinal_class_distance(n)
    with pytest.raises(ValueError, match="one is empty"):
        class_distance_from_tree([[0, 1], []])


@pytest.mark.parametrize("scale", [0.0, 1e-200])
def test_rows_of_zeros_have_a_certificate(scale):
    X, y = scale * np.ones((12, 2)), np.arange(12) % 3
    model = StructuredMarginClassifier(solver="extragradient", R=1.0).fit(X, y)
    assert model.objective_ == pytest.approx(12.0)  # a price of 1 a row, whatever the weights
    assert model.duality_gap_ <= 1e-9


def test_bad_trees_are_sentences():
    for tree, words in [([0, 0], "each once"), (["a", "b"], "leaf"), (3, "nested"), ([0], "two")]:
        with pytest.raises(ValueError, match=words):
            class_distance_from_tree(tree)
    with pytest.raises(ValueError, match="two classes"):
        ordinal_class_distance(1)


def test_partial_fit_says_what_it_needs():
    X, y, _ = problem()
    with pytest.raises(ValueError, match="first call"):
        StructuredMarginClassifier().partial_fit(X, y)
    with pytest.raises(AttributeError, match="partial_fit"):
        StructuredMarginClassifier(solver="sdca", alpha=1.0).partial_fit(X, y, classes=[0, 1, 2, 3])
    model = StructuredMarginClassifier().partial_fit(X, y, classes=range(4))
    with pytest.raises(ValueError, match="same"):
        model.partial_fit(X, y, classes=[0, 1])
