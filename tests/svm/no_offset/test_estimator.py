"""NoOffsetSVC and solve_box_svm against LinearSVC on a Cholesky factor, a QP solver and theory."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_blobs, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC, LinearSVC

from octavo.svm import NoOffsetSVC, iteration_bound, solve_box_svm
from octavo.svm.no_offset.warm_starts import Start, carried, kernel_rule, next_start, zeros

DOMINATING = ["1d", 0, 1, 2, 4, 7, 8, 32, 64, 128, 512, 1024, 1031]  # Theorem 6 covers these


def two_moons(n=150, seed=0, noise=0.3):
    X, y = make_moons(n, noise=noise, random_state=seed)
    return X, 2.0 * y - 1


def primal_by_liblinear(K, y, C):
    """With K = LL' the rows of L are samples of a linear SVM with the same objective."""
    L = np.linalg.cholesky(K + 1e-10 * np.eye(len(K)))
    C = np.broadcast_to(C, y.shape)
    machine = LinearSVC(
        loss="hinge", fit_intercept=False, C=1.0, dual=True, tol=1e-10, max_iter=10_000_000
    ).fit(L, y, sample_weight=C)
    w = machine.coef_[0]
    return 0.5 * w @ w + C @ np.maximum(0, 1 - y * (L @ w))


# --- oracles --------------------------------------------------------------------------------


@pytest.mark.parametrize(("C", "gamma"), [(0.05, 1.0), (1.0, 0.3), (1.0, 3.0), (20.0, 1.0)])
def test_primal_is_that_of_liblinear_on_the_cholesky_factor(C, gamma):
    X, y = two_moons()
    machine = NoOffsetSVC(C=C, gamma=gamma, tol=1e-9, stopping="gap").fit(X, y)
    expected = primal_by_liblinear(rbf_kernel(X, gamma=gamma), y, C)
    # the jitter of the factor adds 1e-10 times the squared norm of α
    assert machine.primal_objective_ == pytest.approx(expected, rel=1e-6)


def test_weights_are_bounds_of_their_own():
    X, y = two_moons()
    weights = np.random.default_rng(0).uniform(0.1, 3.0, y.size)
    machine = NoOffsetSVC(C=1.0, gamma=1.0, tol=1e-9, stopping="gap").fit(X, y, weights)
    expected = primal_by_liblinear(rbf_kernel(X, gamma=1.0), y, weights)
    assert machine.primal_objective_ == pytest.approx(expected, rel=1e-6)


def test_class_weights_multiply_sample_weights():
    X, y = two_moons()
    weights = np.random.default_rng(0).uniform(0.1, 3.0, y.size)
    by_class = NoOffsetSVC(class_weight={-1: 2.0, 1: 0.5}, tol=1e-8, stopping="gap", gamma=1.0)
    by_hand = NoOffsetSVC(tol=1e-8, stopping="gap", gamma=1.0)
    first = by_class.fit(X, y, weights)
    second = by_hand.fit(X, y, weights * np.where(y > 0, 0.5, 2.0))
    assert first.dual_objective_ == pytest.approx(second.dual_objective_, rel=1e-7)


def test_lam_is_c_by_the_papers_formula():
    X, y = two_moons(100)
    by_lam = NoOffsetSVC(alpha=0.01, gamma=1.0, random_state=0).fit(X, y)
    by_c = NoOffsetSVC(C=1 / (2 * 0.01 * 100), gamma=1.0, random_state=0).fit(X, y)
    assert by_lam.dual_objective_ == by_c.dual_objective_


def test_linear_term_by_a_conic_solver():
    cp = pytest.importorskip("cvxpy")
    X, y = two_moons(40)
    K = rbf_kernel(X)
    rng = np.random.default_rng(1)
    linear, C = rng.normal(size=40), rng.uniform(0.1, 2, 40)
    alpha = cp.Variable(40)
    root = np.linalg.cholesky(K + 1e-12 * np.eye(40))
    objective = linear @ alpha - 0.5 * cp.sum_squares(root.T @ cp.multiply(y, alpha))
    solved = cp.Problem(cp.Maximize(objective), [alpha >= 0, alpha <= C])
    solved.solve(solver="CLARABEL")
    result = solve_box_svm(K, y, C, linear=linear, tol=1e-10, stopping="gap")
    assert result.dual_objective == pytest.approx(solved.value, rel=1e-7)
    assert np.all((result.alpha >= 0) & (result.alpha <= C))
    assert np.abs(result.gradient - (linear - y * (K @ (y * result.alpha)))).max() < 1e-10


@pytest.mark.parametrize("kernel", ["linear", "poly", "laplacian", "cosine"])
def test_kernels_whose_diagonal_is_not_one(kernel):
    X, y = two_moons(60)
    machine = NoOffsetSVC(C=0.5, kernel=kernel, gamma=1.0, coef0=1.0, tol=1e-9, stopping="gap")
    machine.fit(X, y)
    K = machine._kernel.block(X, X)
    assert machine.primal_objective_ == pytest.approx(primal_by_liblinear(K, y, 0.5), rel=1e-5)
    by_matrix = NoOffsetSVC(C=0.5, kernel="precomputed", tol=1e-9, stopping="gap").fit(K, y)
    assert by_matrix.dual_objective_ == pytest.approx(machine.dual_objective_, rel=1e-8)
    assert np.array_equal(by_matrix.predict(K), machine.predict(X))


def test_several_classes_are_pairs():
    X, labels = make_blobs(120, centers=4, cluster_std=2.0, random_state=0)
    names = np.array(["ant", "bee", "cat", "dog"])[labels]
    machine = NoOffsetSVC(gamma=0.2, tol=1e-8, stopping="gap").fit(X, names)
    values = machine._pair_values(X)
    at = 0
    for a in range(4):
        for b in range(a + 1, 4):
            chosen = np.isin(labels, (a, b))
            alone = NoOffsetSVC(gamma=0.2, tol=1e-8, stopping="gap").fit(X[chosen], names[chosen])
            assert np.abs(alone.decision_function(X) - values[:, at]).max() < 1e-3
            at += 1
    votes = machine.decision_function(X)
    assert np.array_equal(machine.predict(X), machine.classes_[votes.argmax(axis=1)])
    agreement = np.mean(machine.predict(X) == SVC(gamma=0.2).fit(X, names).predict(X))
    assert agreement > 0.9


def test_columns_on_demand_solve_the_same_problem():
    X, y = two_moons(200)
    whole = NoOffsetSVC(gamma=1.0, tol=1e-7, stopping="gap").fit(X, y)
    lazy = NoOffsetSVC(gamma=1.0, tol=1e-7, stopping="gap", cache_size=0.1).fit(X, y)
    assert lazy.dual_objective_ == pytest.approx(whole.dual_objective_, rel=1e-6)
    sparse = NoOffsetSVC(gamma=1.0, tol=1e-7, stopping="gap", cache_size=0.1)
    sparse.fit(sp.csr_matrix(X), y)
    assert sparse.dual_objective_ == pytest.approx(whole.dual_objective_, rel=1e-6)
    assert np.array_equal(sparse.predict(sp.csr_matrix(X)), whole.predict(X))


# --- stopping, counting ---------------------------------------------------------------------


@pytest.mark.parametrize("stopping", ["clipped_gap", "gap", "kkt"])
def test_stopping_rules_hold_at_the_end(stopping):
    X, y = two_moons()
    machine = NoOffsetSVC(alpha=1e-3, gamma=1.0, stopping=stopping, tol=1e-3).fit(X, y)
    limit = 1e-3 / (2 * 1e-3)
    if stopping == "kkt":
        f = machine.decision_function(X)
        alpha = np.zeros(y.size)
        alpha[machine.support_] = np.abs(machine.dual_coef_[0])
        g, C = 1 - y * f, 1 / (2 * 1e-3 * y.size)
        assert g[alpha < C].max(initial=0) <= 1e-3 + 1e-10
        assert g[alpha > 0].min(initial=0) >= -1e-3 - 1e-10
    elif stopping == "gap":
        assert machine.duality_gap_ <= limit
    else:
        assert machine.clipped_gap_ <= limit
    assert machine.clipped_gap_ <= machine.duality_gap_
    assert machine.primal_objective_ - machine.dual_objective_ == pytest.approx(
        machine.duality_gap_
    )


def test_clipped_gap_never_stops_later_than_the_gap():
    X, y = two_moons()
    for lam in (1e-1, 1e-2, 1e-3, 1e-4):
        options = {"alpha": lam, "gamma": 1.0, "random_state": 0, "shrinking": False}
        clipped = NoOffsetSVC(stopping="clipped_gap", **options).fit(X, y)
        plain = NoOffsetSVC(stopping="gap", **options).fit(X, y)
        assert clipped.n_iter_ <= plain.n_iter_


@pytest.mark.parametrize("working_set", DOMINATING)
@pytest.mark.parametrize(("lam", "eps"), [(0.05, 0.05), (0.5, 0.5), (0.2, 0.3)])
def test_iterations_stay_below_the_bound_of_theorem_6(working_set, lam, eps):
    """For large λ and ε the bound is a few hundred, and starts from zero need half of n."""
    X, y = two_moons(60)
    K = rbf_kernel(X)
    C = 1 / (2 * lam * 60)
    best = solve_box_svm(K, y, C, tol=1e-10, stopping="gap").dual_objective
    for stopping in ("clipped_gap", "gap"):
        result = solve_box_svm(
            K, y, C, tol=eps, working_set=working_set, stopping=stopping, random_state=0
        )
        assert result.n_iter <= iteration_bound(60, lam, eps, best)


def test_iteration_bound_by_hand():
    # m = 2·0.5·0.5 = 0.5; ⌈2/(0.5·0.5·0.5)⌉ = 16; ⌈2·10·ln(4·0.5·3/(0.5·0.5))⌉ = ⌈20 ln 24⌉ = 64
    assert iteration_bound(10, 0.5, 0.5, 3.0) == 80
    assert iteration_bound(10, 0.5, 0.5, 0.0) == 16
    with pytest.raises(ValueError, match="alpha must be positive"):
        iteration_bound(10, 0.0, 0.5, 3.0)
    with pytest.raises(ValueError, match="w_gap"):
        iteration_bound(10, 0.1, 0.5, -3.0)


def test_pairs_need_fewer_iterations_than_single_variables():
    X, y = two_moons(200)
    counts = {"1d": 0, 1: 0, 7: 0, 32: 0}
    for lam in (1e-2, 1e-3, 1e-4):
        for gamma in (0.3, 1.0, 3.0):
            for working_set in counts:
                machine = NoOffsetSVC(
                    alpha=lam, gamma=gamma, working_set=working_set, shrinking=False, random_state=0
                )
                counts[working_set] += machine.fit(X, y).n_iter_
    assert counts["1d"] > counts[1] > counts[7] > counts[32]


def test_trace_tells_the_ascent():
    X, y = two_moons()
    machine = NoOffsetSVC(alpha=1e-3, trace=True, random_state=0).fit(X, y)
    (trace,) = machine.trace_
    assert trace.shape == (machine.n_iter_ + 1, 3)
    assert np.all(np.diff(trace[:, 0]) >= 0)
    assert trace[-1] == pytest.approx(
        [machine.dual_objective_, machine.duality_gap_, machine.clipped_gap_], rel=1e-9
    )
    assert trace[0] == pytest.approx([0.0, 1 / (2 * 1e-3), 1 / (2 * 1e-3)])  # I0: W = 0, gap = ΣC


# --- warm starts ----------------------------------------------------------------------------


def a_start(seed, n=40):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = rng.choice([-1.0, 1.0], n)
    K = rbf_kernel(X)
    weights = rng.uniform(0.3, 1.0, n)  # classes and samples weigh differently
    bound = y * weights * rng.uniform(0.2, 3.0)
    return K, y, bound, rng


@given(
    seed=st.integers(0, 10_000),
    rule=st.sampled_from(["W0", "W1", "W2", "W3", "W4", "W5", "W6"]),
    r=st.floats(0.1, 10.0),
    share=st.floats(0.0, 1.0),
)
@settings(max_examples=150, deadline=None)
def test_every_start_is_feasible_and_knows_its_gradient(seed, rule, r, share):
    K, y, bound, rng = a_start(seed)
    fraction = np.where(rng.uniform(size=y.size) < share, 1.0, rng.uniform(-0.5, 1.0, y.size))
    beta = bound * np.maximum(fraction, 0.0)  # some at the bound, some at zero, some between
    new = r * bound
    start = next_start(rule, K, y, bound, new, r, Start(beta, y - K @ beta))
    assert np.all(np.abs(start.beta) <= np.abs(new))
    assert np.all(start.beta * y >= 0)
    assert np.abs(start.h - (y - K @ start.beta)).max() < 1e-10
    assert np.array_equal(start.beta, carried(rule, beta, bound, new, r))


def test_starts_by_hand():
    bound, new = np.array([1.0, -1.0, 1.0, -1.0]), np.array([2.0, -2.0, 2.0, -2.0])
    beta = np.array([1.0, -1.0, 0.5, 0.0])
    assert carried("W4", beta, bound, new, 2.0).tolist() == [2.0, -2.0, 0.5, 0.0]
    assert carried("W3", beta, bound, new, 2.0).tolist() == [2.0, -2.0, 1.0, 0.0]
    assert carried("W2", beta, bound, new, 2.0).tolist() == beta.tolist()
    half = 0.25 * bound
    assert carried("W6", beta, bound, half, 0.25).tolist() == [0.25, -0.25, 0.25, 0.0]
    K = np.eye(4)
    assert zeros(bound).h.tolist() == bound.tolist()
    assert kernel_rule(K, np.ones(4), bound).h.tolist() == [0.0, 2.0, 0.0, 2.0]


def test_warm_start_saves_iterations_and_changes_no_result():
    X, y = two_moons(300)
    for rule in ("W2", "W3", "W4"):
        machine = NoOffsetSVC(
            alpha=1e-3, gamma=1.0, warm_start=True, warm_start_rule=rule, random_state=0
        ).fit(X, y)
        warm = machine.set_params(alpha=5e-4).fit(X, y)
        cold = NoOffsetSVC(alpha=5e-4, gamma=1.0, random_state=0).fit(X, y)
        assert warm.n_iter_ < cold.n_iter_
        assert warm.duality_gap_ >= 0
        # each lies within its own gap of the common optimum
        assert abs(warm.dual_objective_ - cold.dual_objective_) <= max(
            warm.duality_gap_, cold.duality_gap_
        )


def test_warm_start_of_the_same_fit_needs_nothing():
    X, y = two_moons()
    machine = NoOffsetSVC(warm_start=True, random_state=0).fit(X, y)
    first = machine.dual_objective_
    assert machine.fit(X, y).n_iter_ == 0
    assert machine.dual_objective_ == pytest.approx(first, rel=1e-14)
    shorter = machine.fit(X[:100], y[:100])  # other samples: a cold start
    assert shorter.n_iter_ > 0


def test_kernel_rule_starts_at_the_bounds():
    X, y = two_moons()
    machine = NoOffsetSVC(C=1e-3, gamma=1.0, init="kernel_rule").fit(X, y)
    assert machine.n_iter_ == 0  # with so small a C every sample is bounded
    assert machine.bounded_support_.size == y.size


# --- invariances ----------------------------------------------------------------------------


@given(seed=st.integers(0, 1000))
@settings(max_examples=15, deadline=None)
def test_order_and_names_of_samples_do_not_matter(seed):
    X, y = two_moons(50, seed % 7)
    order = np.random.default_rng(seed).permutation(50)
    options = {"gamma": 1.0, "tol": 1e-11, "stopping": "gap"}
    first = NoOffsetSVC(**options).fit(X, y).decision_function(X)
    shuffled = NoOffsetSVC(**options).fit(X[order], y[order]).decision_function(X)
    flipped = NoOffsetSVC(**options).fit(X, -y).decision_function(X)
    # ||f − f*||² ≤ 2 · gap, and |f(x)| ≤ ||f|| for this kernel
    allowed = 2 * np.sqrt(2 * 1e-11 * 50)
    assert np.abs(first - shuffled).max() <= allowed
    assert np.abs(first + flipped).max() <= allowed


def test_two_copies_are_one_sample_of_twice_the_weight():
    X, y = two_moons(60)
    options = {"gamma": 1.0, "tol": 1e-11, "stopping": "gap"}
    doubled = NoOffsetSVC(**options).fit(np.vstack([X, X]), np.concatenate([y, y]))
    heavy = NoOffsetSVC(**options).fit(X, y, np.full(60, 2.0))
    difference = doubled.decision_function(X) - heavy.decision_function(X)
    assert np.abs(difference).max() <= 2 * np.sqrt(2 * 1e-11 * 120)


def test_contradicting_copies_cancel():
    X = np.array([[0.0], [0.0], [1.0]])
    machine = NoOffsetSVC(C=5.0, gamma=1.0, tol=1e-12, stopping="gap").fit(X, [0, 1, 1])
    # The copies lose 2 together while |f| is at most 1 there, and f = k(1, ·) does for the third.
    assert machine.primal_objective_ == pytest.approx(5.0 * 2 + 0.5, abs=1e-9)
    np.testing.assert_allclose(machine.decision_function([[0.0], [1.0]]), [np.exp(-1), 1.0])


# --- attributes, edges ----------------------------------------------------------------------


def test_attributes_tell_the_solution():
    X, y = two_moons()
    machine = NoOffsetSVC(gamma=1.0).fit(X, y)
    f = rbf_kernel(X, machine.support_vectors_, gamma=1.0) @ machine.dual_coef_[0]
    assert np.allclose(f, machine.decision_function(X))
    assert np.all(np.sign(machine.dual_coef_[0]) == y[machine.support_])
    at_bound = machine.support_[np.abs(machine.dual_coef_[0]) == 1.0]
    assert np.array_equal(at_bound, machine.bounded_support_)
    assert 0 < machine.bounded_support_.size < machine.support_.size


def test_zero_counts_for_the_second_class():
    X = np.array([[0.0, 1.0], [0.0, -1.0]])
    machine = NoOffsetSVC(kernel="linear").fit(X, ["a", "b"])
    assert machine.decision_function([[1.0, 0.0]]) == 0.0
    assert machine.predict([[1.0, 0.0]]).tolist() == ["b"]


def test_sorted_labels_with_and_without_shuffling():
    X, y = two_moons(400)
    order = np.argsort(y, kind="stable")
    options = {"alpha": 1e-3, "gamma": 1.0, "working_set": 2, "random_state": 0, "shrinking": False}
    drawn = NoOffsetSVC(shuffle=True, **options).fit(X[order], y[order])
    split = NoOffsetSVC(shuffle=False, **options).fit(X[order], y[order])
    limit = 1e-3 / (2 * 1e-3)  # of the default rule, whose tol is in units of the scaled objective
    assert drawn.clipped_gap_ <= limit
    assert split.clipped_gap_ <= limit
    # each lies within its own gap of the common optimum
    apart = abs(drawn.dual_objective_ - split.dual_objective_)
    assert apart <= max(drawn.duality_gap_, split.duality_gap_) < 0.02 * drawn.dual_objective_
    assert drawn.n_iter_ != split.n_iter_


# --- bad input ------------------------------------------------------------------------------


def test_non_convergence_warns_with_the_gap():
    X, y = two_moons()
    with pytest.warns(ConvergenceWarning, match=r"after 3 iterations with a duality gap of \d"):
        NoOffsetSVC(C=100.0, max_iter=3).fit(X, y)


@pytest.mark.parametrize("n", [30, 501])
def test_indefinite_kernel_warns(n):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(n, n))
    K = A + A.T
    np.fill_diagonal(K, 1.0)
    with pytest.warns(UserWarning, match="is indefinite"):
        solve_box_svm(K, rng.choice([-1, 1], n), 1.0, max_iter=100)


def test_large_matrix_that_is_not_symmetric():
    K = np.eye(600) + 1e-3 * np.tri(600, k=-1)
    with pytest.raises(ValueError, match=r"differ by up to 0\.001"):
        NoOffsetSVC(kernel="precomputed").fit(K, np.arange(600) % 2)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"X": np.ones((3, 2))}, "must be square"),
        ({"X": np.array([[1.0, 0.5, 0], [0, 1, 0], [0, 0, 1]])}, "must be symmetric"),
        ({"X": np.diag([1.0, 0.0, 1.0])}, "positive diagonal"),
        ({"X": np.diag([1.0, -2.0, 1.0])}, "minimum is -2"),
        ({"X": np.full((3, 3), np.nan)}, "NaN"),
        ({"y": [1, 1, 1]}, "one class"),
        ({"y": [0.1, 0.2, 0.3]}, "Unknown label type"),
        ({"sample_weight": [-1, 1, 1]}, "[Nn]egative"),
        ({"sample_weight": [1, 0, 1]}, "positive weight"),
    ],
    ids=["shape", "skew", "zero", "negative", "nan", "one-class", "real", "weight", "no-weight"],
)
def test_bad_matrices_and_targets(change, words):
    arguments = {"X": np.eye(3), "y": [0, 1, 0], "sample_weight": None} | change
    with pytest.raises(ValueError, match=words):
        NoOffsetSVC(kernel="precomputed").fit(**arguments)


@pytest.mark.parametrize(
    "bad",
    [{"alpha": 0.0}, {"alpha": -1.0}, {"C": 0.0}, {"working_set": 5000}, {"working_set": "2d"},
     {"stopping": "never"}, {"warm_start_rule": "W9"}, {"tol": -1.0}, {"init": "ones"}],
    ids=str,
)  # fmt: skip
def test_bad_parameters(bad):
    X, y = two_moons(20)
    with pytest.raises(ValueError, match=next(iter(bad))):
        NoOffsetSVC(**bad).fit(X, y)


def test_too_few_samples_and_sparse_matrices_of_kernels():
    with pytest.raises(ValueError, match="minimum of 2"):
        NoOffsetSVC().fit([[1.0]], [1])
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        NoOffsetSVC(kernel="precomputed").fit(sp.csr_matrix(np.eye(4)), [0, 1, 0, 1])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((np.eye(2), [0, 1], 1.0), "labels -1 or"),
        ((np.eye(2), [1, -1], [1.0, -1.0]), "C must be finite"),
        ((np.eye(2), [1, -1], np.inf), "C must be finite"),
        ((np.eye(2), [1, -1], 0.0), "somewhere positive"),
        (([[1.0, 2.0]], [1, -1], 1.0), "square"),
    ],
    ids=["labels", "negative", "infinite", "zero", "shape"],
)
def test_bad_arrays(arguments, words):
    with pytest.raises(ValueError, match=words):
        solve_box_svm(*arguments)


def test_bad_options_of_the_array_function():
    with pytest.raises(ValueError, match="stopping must be one of"):
        solve_box_svm(np.eye(2), [1, -1], 1.0, stopping="soon")
    with pytest.raises(ValueError, match="working_set must be"):
        solve_box_svm(np.eye(2), [1, -1], 1.0, working_set=9999)
    with pytest.raises(ValueError, match="tol"):
        solve_box_svm(np.eye(2), [1, -1], 1.0, tol=-1)
    with pytest.raises(ValueError, match="outside by"):
        solve_box_svm(np.eye(2), [1, -1], 1.0, alpha=[2.0, 0.0])
