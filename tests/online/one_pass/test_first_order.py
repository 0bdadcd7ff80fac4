"""First-order learners against quadratic programs, peers, limits and mistake bounds."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import clone
from sklearn.linear_model import Perceptron, SGDClassifier

from octavo.engine.streams.passes import locked, row_blocks
from octavo.online import ALMA, ROMMA, OGDClassifier, OnlinePerceptron, PassiveAggressive
from octavo.online.one_pass.rules import find_rule, new_state, state_weights
from tests.online.one_pass.learners import FIRST_ORDER, label_of, noisy_stream

EXACT = {"solver": "CLARABEL", "tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12}
PLAIN = {"fit_intercept": False}


def state_before_and_after(estimator, X, y, t):
    """Return the weights before and after row ``t``."""
    estimator = clone(estimator).set_params(**PLAIN)
    estimator.partial_fit(X[:t], y[:t], classes=[0, 1])
    before = estimator.coef_[0].copy()
    updates = estimator.n_updates_
    estimator.learn_one(X[t], y[t])
    return before, estimator.coef_[0], estimator.n_updates_ > updates


def solve(objective, constraints, variable):
    cp.Problem(cp.Minimize(objective), constraints).solve(**EXACT)
    return variable.value


# --- steps are the solutions of their programs -----------------------------------------------


@pytest.mark.parametrize("variant", ["pa", "pa1", "pa2"])
@pytest.mark.parametrize("t", [3, 11])
def test_passive_aggressive_steps_solve_their_programs(variant, t):
    X, y = noisy_stream(sparsity=0.0)
    before, after, _ = state_before_and_after(PassiveAggressive(variant, C=0.1), X, y, t)
    label = 2 * y[t] - 1
    w, slack = cp.Variable(X.shape[1]), cp.Variable(nonneg=True)
    price = {"pa": 0, "pa1": 0.1 * slack, "pa2": 0.1 * slack**2}[variant]
    room = 0 if variant == "pa" else slack
    objective = 0.5 * cp.sum_squares(w - before) + price
    best = solve(objective, [label * (X[t] @ w) >= 1 - room], w)
    np.testing.assert_allclose(after, best, atol=1e-6)


@pytest.mark.parametrize("aggressive", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_romma_steps_solve_their_program(aggressive, seed):
    X, y = noisy_stream(n=60, d=4, seed=seed, sparsity=0.0)
    model = ROMMA(aggressive=aggressive, **PLAIN)
    model.partial_fit(X[1:2], y[1:2], classes=[0, 1])
    checked = 0
    for t in range(2, 60):
        before, updates = model.coef_[0].copy(), model.n_updates_
        model.learn_one(X[t], y[t])
        if model.n_updates_ == updates or checked == 3 or not np.any(before):
            continue
        w, label = cp.Variable(4), 2 * y[t] - 1
        scale = before @ before
        constraints = [w @ before / scale >= 1, label * (X[t] @ w) >= 1]
        best = solve(0.5 * cp.sum_squares(w), constraints, w)
        np.testing.assert_allclose(model.coef_[0], best, rtol=1e-5, atol=1e-5)
        checked += 1
    assert checked == 3


def test_aggressive_romma_drops_a_constraint_that_the_row_implies():
    """Where y w·x ≥ ‖x‖²‖w‖² the shortest vector is x/‖x‖²; the release overshoots."""
    X, y = np.array([[1.0, 0.0], [0.9, 0.2]]), [1, 1]
    right = ROMMA(aggressive=True, **PLAIN).fit(X, y, classes=[0, 1])
    np.testing.assert_allclose(right.coef_[0], X[1] / (X[1] @ X[1]), rtol=1e-12)
    legacy = ROMMA(aggressive=True, legacy=True, **PLAIN).fit(X, y, classes=[0, 1])
    np.testing.assert_allclose(legacy.coef_[0], [1.0, 0.5], rtol=1e-12)
    assert np.linalg.norm(right.coef_) < np.linalg.norm(legacy.coef_)


@pytest.mark.parametrize("p", [2, 3, 6])
def test_alma_stays_in_the_unit_ball_of_the_dual_norm(p):
    X, y = noisy_stream(n=200, sparsity=0.0)
    model = ALMA(p=p, **PLAIN).fit(X, y)
    q = p / (p - 1)
    assert np.linalg.norm(model.coef_[0], q) <= 1 + 1e-9


def test_alma_does_not_look_at_the_length_of_rows():
    X, y = noisy_stream(sparsity=0.1)
    lengths = np.random.default_rng(0).uniform(0.01, 100, size=(len(X), 1))
    one, other = ALMA(**PLAIN).fit(X, y), ALMA(**PLAIN).fit(X * lengths, y)
    np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-12)


# --- limits ----------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 4])
def test_passive_aggressive_without_a_bound_is_pa(n_classes):
    X, y = noisy_stream(n_classes=n_classes)
    plain = PassiveAggressive("pa").fit(X, y).coef_
    # Two kernels: the compiler may sum a row's products in another order in each.
    unbounded = PassiveAggressive("pa1", C=1e300).fit(X, y).coef_
    np.testing.assert_allclose(unbounded, plain, rtol=1e-12)
    np.testing.assert_allclose(PassiveAggressive("pa2", C=1e12).fit(X, y).coef_, plain, rtol=1e-6)


def test_zero_one_descent_with_constant_steps_is_the_perceptron():
    X, y = noisy_stream(n=1)
    one = OGDClassifier("zero_one").fit(X + 1, y, classes=[0, 1])
    other = OnlinePerceptron().fit(X + 1, y, classes=[0, 1])
    np.testing.assert_array_equal(one.coef_, other.coef_)


@pytest.mark.parametrize(
    ("multi", "single"),
    [
        (("perceptron_max", ()), ("perceptron", ())),
        (("perceptron_uniform", ()), ("perceptron", ())),
        (("perceptron_proportional", ()), ("perceptron", ())),
        (("pa", ()), ("pa", ())),
        (("pa1", (0.5,)), ("pa1", (0.25,))),
        (("pa2", (0.5,)), ("pa2", (0.25,))),
    ],
)
def test_the_multiclass_rule_of_two_classes_is_the_binary_rule(multi, single):
    """It keeps W_0 = -W_1, and W_1 learns as the binary rule does from 2x (perceptron: x)."""
    X, y = noisy_stream(seed=6, sparsity=0.1)
    start = np.random.default_rng(0).normal(size=X.shape[1])  # no ties, which the two break apart
    double = 1.0 if single[0] == "perceptron" else 2.0
    both = new_state(X.shape[1], 2, multi[1])
    both.weights[:] = np.stack([-start, start], axis=1).ravel()
    alone = new_state(X.shape[1], 1, single[1])
    alone.weights[:] = start
    out = np.empty(len(y)), np.empty(len(y))
    rows, order, _ = next(row_blocks(X))
    find_rule(multi[0], "multiclass").run(rows, order, locked(y), both, *out)
    rows, order, _ = next(row_blocks(double * X))
    find_rule(single[0], "binary").run(rows, order, locked(2.0 * y - 1), alone, *out)
    W = state_weights(both)
    np.testing.assert_allclose(W[0], -W[1], atol=1e-12)
    np.testing.assert_allclose(W[1], alone.weights, atol=1e-10)


# --- peers -----------------------------------------------------------------------------------


def test_perceptron_is_scikit_learns():
    """They differ at a score of exactly 0, so the first row is taken away from both."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 8))
    y = (X @ rng.normal(size=8) + rng.normal(size=300) > 0).astype(int)
    y[0] = 0  # a score of 0 predicts class 1 here: both learn from the first row
    ours = OnlinePerceptron(**PLAIN).fit(X, y)
    theirs = Perceptron(shuffle=False, max_iter=1, tol=None, fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-12)


@pytest.mark.parametrize("variant", ["pa1", "pa2"])
def test_passive_aggressive_is_scikit_learns_sgd(variant):
    X, y = noisy_stream(n=300, sparsity=0.2)
    X, y = X[np.any(X, axis=1)], y[np.any(X, axis=1)]
    ours = PassiveAggressive(variant, C=0.3, **PLAIN).fit(X, y)
    theirs = SGDClassifier(
        loss="hinge",
        penalty=None,
        learning_rate=variant,
        eta0=0.3,
        shuffle=False,
        max_iter=1,
        tol=None,
        fit_intercept=False,
    ).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["PAClassifier", "ALMAClassifier"])
def test_river_step_by_step(name):
    linear_model = pytest.importorskip("river.linear_model")
    X, y = noisy_stream(n=60, sparsity=0.1)
    X, y = X[np.any(X, axis=1)], y[np.any(X, axis=1)]
    if name == "PAClassifier":
        ours = PassiveAggressive("pa1", C=0.5, **PLAIN)
        theirs = linear_model.PAClassifier(C=0.5, mode=1, learn_intercept=False)
    else:
        X /= np.linalg.norm(X, axis=1, keepdims=True)  # river's does not normalise rows
        ours, theirs = ALMA(**PLAIN), linear_model.ALMAClassifier()
    for t, (row, label) in enumerate(zip(X, y, strict=True)):
        ours.learn_one(row, label, classes=[0, 1] if t == 0 else None)
        theirs.learn_one(dict(enumerate(row)), bool(label))
        kept = theirs.weights if name == "PAClassifier" else theirs.w
        weights = np.array([kept.get(j, 0.0) for j in range(X.shape[1])])
        np.testing.assert_allclose(ours.coef_[0], weights, rtol=1e-9, atol=1e-12)


# --- bounds ----------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 6))
def test_mistakes_on_separable_data_are_bounded(seed, d):
    rng = np.random.default_rng(seed)
    u = rng.normal(size=d)
    X = rng.normal(size=(150, d))
    X = X[np.abs(X @ u) > 0.2]
    y = (X @ u > 0).astype(int)
    assume(len(np.unique(y)) == 2)
    radius2, margin = np.max(np.sum(X**2, axis=1)), np.min(np.abs(X @ u)) / np.linalg.norm(u)
    model = OnlinePerceptron(**PLAIN).fit(X, y)
    assert model.n_mistakes_ <= radius2 / margin**2  # Novikoff
    assert ROMMA(**PLAIN).fit(X, y).n_mistakes_ <= radius2 / margin**2  # Li & Long, theorem 2
    scaled = u / np.min(np.abs(X @ u))  # a margin of 1 everywhere
    pa, total = PassiveAggressive("pa", **PLAIN), 0.0
    for row, label in zip(X, y, strict=True):
        known = hasattr(pa, "classes_")
        score = pa.decision_function(row[None])[0] if known else 0.0
        total += max(0.0, 1 - (2 * label - 1) * score) ** 2
        pa.learn_one(row, label, classes=None if known else [0, 1])
    assert total <= radius2 * (scaled @ scaled) * (1 + 1e-9)  # Crammer et al., theorem 2


# --- invariants ------------------------------------------------------------------------------


@pytest.mark.parametrize("entry", FIRST_ORDER, ids=label_of)
def test_permuting_features_permutes_the_weights(entry):
    X, y = noisy_stream(sparsity=0.1)
    order = np.random.default_rng(0).permutation(X.shape[1])
    one, other = clone(entry[0]).fit(X, y), clone(entry[0]).fit(X[:, order], y)
    scale = max(1.0, np.abs(one.coef_).max())
    np.testing.assert_allclose(one.coef_[:, order], other.coef_, atol=1e-9 * scale)


@settings(max_examples=20, deadline=None)
@given(
    arrays(np.float64, (12, 3), elements=st.floats(-5, 5).map(lambda v: round(v, 2))),
    st.lists(st.booleans(), min_size=12, max_size=12),
)
def test_passive_aggressive_reaches_its_margin_exactly(X, flags):
    model = PassiveAggressive("pa", **PLAIN)
    for row, label in zip(X, flags, strict=True):
        model.learn_one(row, label, classes=None if hasattr(model, "classes_") else [False, True])
        if row.any():
            assert (2 * label - 1) * model.decision_function(row[None])[0] >= 1 - 1e-6


@pytest.mark.parametrize("multiclass", ["uniform", "proportional"])
def test_in_a_tie_the_rival_loses_the_row_or_with_legacy_nobody(multiclass):
    row, label = [[1.0, 2.0]], [2]  # all scores are 0: class 0 is predicted, nobody is above 2
    ours = OnlinePerceptron(multiclass, **PLAIN).fit(row, label, classes=[0, 1, 2])
    theirs = OnlinePerceptron(multiclass, legacy=True, **PLAIN).fit(row, label, classes=[0, 1, 2])
    assert ours.coef_.tolist() == [[-1.0, -2.0], [0.0, 0.0], [1.0, 2.0]]
    assert theirs.coef_.tolist() == [[0.0, 0.0], [0.0, 0.0], [1.0, 2.0]]
