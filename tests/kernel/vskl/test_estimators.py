"""Grouped kernel learning: against an interior-point method, limits, symmetries, bad input."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from octavo.kernel import (
    KernelStack,
    LpMKLClassifier,
    SimpleMKLClassifier,
    VSKLClassifier,
    VSKLRegressor,
)
from tests.kernel.vskl.problems import features_of, kernels_of, primal_by_cvxpy

C = 20.0


def fit(K, groups, y, q, *, cost=C, tol=1e-6, **options):
    model = VSKLClassifier(
        "precomputed", groups, q, cost, normalize=None, tol=tol, max_iter=2000, **options
    )
    return model.fit(K, y)


@pytest.mark.parametrize("q", [0.5, 0.75, 1.0, 2.0, 3.0, np.inf])
@pytest.mark.parametrize("seed", [0, 2])
def test_objective_equals_cvxpy(q, seed):
    blocks, groups, y = features_of(seed)
    exact = primal_by_cvxpy(blocks, groups, y, C, q)
    model = fit(kernels_of(blocks), groups, y, q)
    assert abs(model.objective_ - exact) <= 1e-5 * exact
    assert model.duality_gap_ <= 1e-6 * model.objective_
    # the interior-point method is exact to about 1e-8
    assert model.objective_ - model.duality_gap_ <= exact * (1 + 1e-7)


@pytest.mark.parametrize("q", [0.6, 1.0, 2.0, np.inf])
def test_the_gap_is_valid_at_every_iterate(q):
    blocks, groups, y = features_of(3)
    best = fit(kernels_of(blocks), groups, y, q).objective_
    rough = fit(kernels_of(blocks), groups, y, q, tol=1e-4)
    values, lower, gaps, calls = rough.history_.T
    slack = 1e-6 * best  # of the reference itself
    assert (values >= best - slack).all()
    assert (lower <= best + slack).all()
    assert (np.minimum.accumulate(values) - best <= gaps + slack).all()
    assert (np.diff(calls) >= 1).all()
    assert calls[-1] == rough.n_svm_calls_
    assert len(rough.history_) == rough.n_iter_


def test_low_rank_groups_at_infinity():
    """A group that is not among the longest has γ = 0: the objective holds, the gap stays wide."""
    blocks, groups, y = features_of(1)
    exact = primal_by_cvxpy(blocks, groups, y, C, np.inf)
    model = fit(kernels_of(blocks), groups, y, np.inf, tol=1e-4)
    assert abs(model.objective_ - exact) <= 1e-4 * exact
    assert model.gamma_.min() < 1e-3


@pytest.mark.parametrize("loss", ["squared", "epsilon_insensitive"])
@pytest.mark.parametrize("q", [0.75, 1.0, 3.0])
def test_regression_equals_cvxpy(loss, q):
    blocks, groups, y = features_of(0)
    targets = 3.0 + y + np.random.default_rng(0).normal(size=len(y))
    exact = primal_by_cvxpy(blocks, groups, targets, C, q, loss)
    model = VSKLRegressor(
        "precomputed", groups, q, C, loss=loss, normalize=None, tol=1e-7, max_iter=2000
    ).fit(kernels_of(blocks), targets)
    assert abs(model.objective_ - exact) <= 1e-5 * exact


@pytest.mark.filterwarnings("ignore:SimpleMKLClassifier did not converge")
def test_one_group_is_sparse_kernel_learning():
    blocks, _, y = features_of(0)
    K = kernels_of(blocks)
    ours = fit(K, "one", y, 3.0)
    theirs = LpMKLClassifier("precomputed", p=1, C=C, normalize=None, tol=1e-6).fit(K, y)
    simple = SimpleMKLClassifier("precomputed", C, normalize=None, tol=1e-5).fit(K, y)
    assert abs(ours.objective_ / theirs.objective_ - 1.0) < 1e-5
    assert abs(simple.objective_ / theirs.objective_ - 1.0) < 2e-5
    np.testing.assert_allclose(ours.weights_, theirs.weights_, atol=5e-3)
    np.testing.assert_allclose(simple.weights_, theirs.weights_, atol=2e-2)
    assert ours.gamma_.tolist() == [1.0]


def test_singletons_with_q_1_are_the_sum_of_kernels():
    blocks, _, y = features_of(0)
    K = kernels_of(blocks)
    model = fit(K, "each", y, 1.0, tol=1e-8)
    svc = SVC(kernel="precomputed", C=C, tol=1e-8).fit(K.sum(axis=0), y)
    np.testing.assert_array_equal(model.weights_, 1.0)
    np.testing.assert_allclose(
        model.decision_function(K), svc.decision_function(K.sum(axis=0)), atol=1e-4
    )


@pytest.mark.parametrize("loss", ["squared", "epsilon_insensitive"])
def test_targets_far_from_zero_move_the_intercept_alone(loss):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 3))
    y = np.round(256 * (X[:, 0] + 0.2 * rng.normal(size=60))) / 256  # exact at 1e9 too
    here = VSKLRegressor(C=100.0, loss=loss).fit(X, y)
    far = VSKLRegressor(C=100.0, loss=loss).fit(X, y + 2.0**30)
    np.testing.assert_allclose(far.predict(X) - 2.0**30, here.predict(X), atol=1e-6)


@pytest.mark.parametrize("q", [1.5, 2.0, 4.0])
def test_singletons_are_the_block_norms_of_lp_mkl(q):
    blocks, _, y = features_of(0)
    K = kernels_of(blocks)
    block = LpMKLClassifier(
        "precomputed", C=C, regularizer="block", q=2 * q, normalize=None, tol=1e-4, max_iter=3000
    ).fit(K, y)
    model = fit(K, "each", y, q)
    assert abs(model.objective_ / block.objective_ - 1.0) < 1e-4


def test_both_sides_of_1_meet():
    blocks, groups, y = features_of(0)
    K = kernels_of(blocks)
    values = [fit(K, groups, y, q).objective_ for q in (0.999, 1.0, 1.001)]
    assert values[0] > values[1] > values[2]  # the norm falls with its exponent
    assert values[0] - values[2] < 5e-3 * values[1]


def test_at_one_half_groups_do_not_matter():
    blocks, groups, y = features_of(0)
    K = kernels_of(blocks)
    grouped, merged = fit(K, groups, y, 0.5), fit(K, "one", y, 1.0)
    assert abs(grouped.objective_ / merged.objective_ - 1.0) < 2e-6
    np.testing.assert_allclose(grouped.weights_, merged.weights_, atol=1e-3)
    again = np.concatenate([g * lam for g, lam in zip(grouped.gamma_, grouped.lambda_)])
    np.testing.assert_allclose(again, grouped.weights_, atol=1e-12)


@pytest.mark.parametrize("q", [0.75, 2.0, np.inf])
def test_kkt_of_the_weights_within_groups(q):
    """λ_jk > 0 only where a'K_jk a is the largest of its group."""
    blocks, groups, y = features_of(2)
    K = kernels_of(blocks)
    model = fit(K, groups, y, q, tol=1e-8)
    a = np.zeros(len(y))
    a[model.support_] = model.dual_coef_[0]
    forms = np.array([a @ k @ a for k in K])
    for j in range(3):
        own, lam = forms[groups == j], model.lambda_[j]
        assert abs(lam.sum() - 1.0) < 1e-12
        assert (own[lam > 1e-3] >= (1 - 1e-3) * own.max()).all()
    scale = model.gamma_ if q < 1 else 1.0 / model.gamma_
    np.testing.assert_allclose(
        model.weights_, np.concatenate([s * lam for s, lam in zip(scale, model.lambda_)])
    )


@settings(max_examples=8, deadline=None)
@given(st.sampled_from([0.75, 1.0, 2.0, np.inf]), st.permutations(range(8)))
def test_order_does_not_matter(q, order):
    blocks, groups, y = features_of(0)
    K, order = kernels_of(blocks), np.array(order)
    plain = fit(K, groups, y, q)
    mixed = fit(K[order], groups[order], y, q)
    assert abs(mixed.objective_ / plain.objective_ - 1.0) < 2e-6
    np.testing.assert_allclose(mixed.weights_, plain.weights_[order], rtol=0.02, atol=0.02)


def test_a_copy_of_a_kernel_leaves_the_objective():
    blocks, groups, y = features_of(0)
    K = kernels_of(blocks)
    plain = fit(K, groups, y, 2.0)
    twice = fit(np.concatenate([K, K[:1]]), np.append(groups, 0), y, 2.0)
    assert abs(twice.objective_ / plain.objective_ - 1.0) < 2e-6


def test_scale_of_kernels_and_cost_cancel():
    blocks, groups, y = features_of(0)
    K = kernels_of(blocks)
    plain, scaled = fit(K, groups, y, 2.0), fit(50.0 * K, groups, y, 2.0, cost=C / 50.0)
    np.testing.assert_allclose(
        scaled.decision_function(50.0 * K), plain.decision_function(K), atol=1e-2
    )


def test_fifty_widths_of_four_groups_on_tables():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=90)
    X = rng.normal(size=(90, 4)) + np.eye(3, 4)[y] * 2.0
    kernels = [
        (f"{j} {gamma}", "rbf", {"gamma": gamma, "columns": [j]})
        for j in range(4)
        for gamma in (0.01, 0.1, 1.0)
    ]
    model = VSKLClassifier(kernels, q=2.0, C=300.0).fit(X, y)
    assert model.group_names_ == [f"features {j}" for j in range(4)]
    assert model.weights_.shape == (3, 12)
    assert model.gamma_.shape == (3, 4)
    assert [len(own) for own in model.lambda_] == [4, 4, 4]
    assert model.decision_function(X).shape == (90, 3)
    assert (model.duality_gap_ <= 1e-3 * model.objective_).all()
    K = KernelStack(kernels, normalize="trace").fit_transform(X)
    given = VSKLClassifier("precomputed", np.repeat(range(4), 3), 2.0, 300.0).fit(K, y)
    np.testing.assert_allclose(given.weights_, model.weights_, rtol=1e-6)
    np.testing.assert_array_equal(given.predict(K), model.predict(X))


def test_warm_starts_end_where_cold_ones_do():
    blocks, groups, y = features_of(0)
    K = kernels_of(blocks)
    warm = fit(K, groups, y, 2.0, cost=10.0, warm_start=True)
    cold = fit(K, groups, y, 2.0, cost=12.0)
    warm.set_params(C=12.0).fit(K, y)
    assert abs(warm.objective_ / cold.objective_ - 1.0) < 2e-6


def test_the_papers_stopping_rule_stops_earlier():
    blocks, groups, y = features_of(0)
    K = kernels_of(blocks)
    by_gap = fit(K, groups, y, 2.0, tol=1e-4)
    by_change = fit(K, groups, y, 2.0, tol=1e-4, stopping="objective")
    assert by_change.n_svm_calls_ <= by_gap.n_svm_calls_
    fixed = fit(K, groups, y, 2.0, tol=1e-4, oracle_tol=1e-6)
    assert abs(fixed.objective_ / by_gap.objective_ - 1.0) < 2e-4


def test_class_weights_are_costs():
    blocks, groups, y = features_of(0)
    K = kernels_of(blocks)
    weighted = fit(K, groups, y, 2.0, class_weight={-1.0: 2.0, 1.0: 1.0})
    a = np.abs(weighted.dual_coef_[0])
    assert a[y[weighted.support_] < 0].max() > C
    assert a[y[weighted.support_] > 0].max() <= C + 1e-9


def test_kernels_without_signal_are_left_out():
    blocks, groups, y = features_of(0)
    K = kernels_of(blocks)
    plain = fit(K, groups, y, np.inf, tol=1e-4)
    idle = np.array([np.zeros((40, 40)), np.ones((40, 40))])
    with pytest.warns(UserWarning, match="cannot tell the training samples apart"):
        more = fit(np.concatenate([K, idle]), [*groups, 0, 9], y, np.inf, tol=1e-4)
    assert abs(more.objective_ / plain.objective_ - 1.0) < 2e-4
    assert more.weights_[8:].tolist() == [0.0, 0.0]
    assert more.gamma_[3] == 0.0
    with pytest.raises(ValueError, match="No kernel tells"):
        fit(idle, "one", y, 2.0)


def test_no_signal_at_all_is_told():
    y = np.array([1, 1, -1, -1])
    phi = np.array([[1.0], [-1.0], [1.0], [-1.0]])  # its mean is the same in both classes
    with pytest.warns(UserWarning, match="No kernel has signal"):
        model = fit((phi @ phi.T)[None], "one", y, 2.0, cost=1e-3)
    # w = 0, and no threshold loses less than 1 a sample on two and two
    assert model.objective_ == pytest.approx(4e-3, rel=1e-6)
    np.testing.assert_allclose(model.decision_function((phi @ phi.T)[None]), 0.0, atol=1.0)


def test_an_indefinite_kernel_gets_a_ridge():
    blocks, groups, y = features_of(0)
    K = kernels_of(blocks)
    K[4] -= 0.05 * np.eye(40)  # of rank two before: its least eigenvalue is now -0.05
    with pytest.warns(UserWarning, match="indefinite"):
        model = fit(K, groups, y, 2.0)
    whole = fit(kernels_of(blocks), groups, y, 2.0)
    assert model.duality_gap_ <= 1e-6 * model.objective_
    # the ridge that is left, 1e-6 of 0.05, moves the objective by less than the two gaps
    assert model.objective_ == pytest.approx(whole.objective_, rel=3e-6)


@pytest.mark.parametrize("loss", ["squared", "epsilon_insensitive"])
def test_indefinite_kernels_of_a_regression_get_a_ridge_too(loss):
    rng = np.random.default_rng(0)
    X, odd = rng.normal(size=(40, 3)), rng.normal(size=(40, 40))
    K = np.array([np.exp(-((X[:, None] - X[None]) ** 2).sum(-1)), odd + odd.T])
    model = VSKLRegressor("precomputed", "each", loss=loss, normalize=None)
    with pytest.warns(UserWarning, match=r"'1'\] are indefinite.*A ridge"):
        model.fit(K, X[:, 0])
    assert model.duality_gap_ <= 1e-3 * model.objective_
    K[1] -= np.linalg.eigvalsh(K[1])[0] * np.eye(40)
    by_hand = VSKLRegressor("precomputed", "each", loss=loss, normalize=None).fit(K, X[:, 0])
    apart = abs(by_hand.objective_ - model.objective_)
    assert apart <= max(by_hand.duality_gap_, model.duality_gap_) + 1e-5 * model.objective_


def test_too_few_iterations_warn_with_the_gap():
    blocks, groups, y = features_of(0)
    model = VSKLClassifier("precomputed", groups, 2.0, C, normalize=None, max_iter=2)
    with pytest.warns(ConvergenceWarning, match="duality gap is"):
        model.fit(kernels_of(blocks), y)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"q": 0.4}, "'q' parameter"),
        ({"groups": [0, 1]}, "one label per kernel"),
        ({"groups": [[0, 1, 2, 3, 4, 5, 6, 7], []]}, "is empty"),
        ({"groups": [[0, 1], [1, 2]]}, "exactly once"),
        ({"groups": "all"}, "'groups' parameter"),
        ({"C": 0.0}, "'C' parameter"),
        ({"step": 0.0}, "'step' parameter"),
        ({"oracle_tol": "tight"}, "'oracle_tol' parameter"),
        ({"stopping": "time"}, "'stopping' parameter"),
        ({"normalize": "unit"}, "'normalize' parameter"),
    ],
)
def test_bad_parameters(params, message):
    blocks, _, y = features_of(0)
    with pytest.raises(ValueError, match=message):
        VSKLClassifier("precomputed", **params).fit(kernels_of(blocks), y)


def test_bad_data():
    blocks, groups, y = features_of(0)
    K = kernels_of(blocks)
    with pytest.raises(ValueError, match="one entry per sample"):
        fit(K, groups, y[:-1], 2.0)
    with pytest.raises(ValueError, match="at least two classes"):
        fit(K, groups, np.ones(40), 2.0)
    with pytest.raises(ValueError, match="NaN"):
        fit(np.where(K[0, 0, 0] == K, np.nan, K), groups, y, 2.0)
    with pytest.raises(ValueError, match="NaN"):
        VSKLRegressor("precomputed").fit(K, np.where(y > 0, np.nan, 1.0))


@pytest.mark.parametrize("q", [1.0, 2.0, np.inf])
def test_two_hundred_kernels_need_few_machines(q):
    """A gap of 1e-3 within a hundred machines, one group of 200 kernels or three."""
    from octavo.papers.variable_sparsity import feature_kernels

    K, y = feature_kernels("wpbc", 200, 0)
    groups = "one" if q == 1.0 else [m % 30 // 10 for m in range(200)]
    model = VSKLClassifier("precomputed", groups, q, 1000.0, normalize=None).fit(K, y)
    assert model.duality_gap_ <= 1e-3 * model.objective_
    assert model.n_svm_calls_ <= 100
