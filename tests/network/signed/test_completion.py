"""Completion against cvxpy, ridge regression, singular values and the facts of the paper."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import check_grad
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge

from octavo.data import make_weakly_balanced
from octavo.network import HigherOrderCycleClassifier, ImbalancePredictor, SignedCompletion
from octavo.network.signed.factors import alternate, loss_values, objective, ridge_rows
from octavo.network.signed.low_rank import least_nuclear_norm, project_singular_values

GROUPS = [100, 200, 300, 400, 500]


def never():
    return False


def partial(n=15, density=0.6, seed=0):
    rng = np.random.RandomState(seed)
    A = np.sign(rng.standard_normal((n, n))) * (rng.random_sample((n, n)) < density)
    return sp.csr_array(A)


@pytest.mark.parametrize("sizes", [[3], [2, 3], [1, 2, 3], [2, 2, 2, 3]])
def test_theorem_13_ranks(sizes):
    truth = make_weakly_balanced(sizes, 1.0, random_state=0).truth
    assert np.linalg.matrix_rank(truth) == (1 if len(sizes) <= 2 else len(sizes))


@pytest.mark.parametrize("rank", [2, 20])  # both forms of the normal equations
def test_rows_are_ridge_regressions(rank):
    A, rng = partial(), np.random.RandomState(1)
    H = rng.standard_normal((15, rank))
    W, loss = ridge_rows(A, H, 0.7)
    assert loss == pytest.approx((((W @ H.T - A.toarray()) * (A.toarray() != 0)) ** 2).sum())
    for i in range(15):
        known = A[[i]].indices
        ridge = Ridge(0.7, fit_intercept=False).fit(H[known], A.toarray()[i, known])
        assert W[i] == pytest.approx(ridge.coef_, abs=1e-9)


def test_no_sweep_raises_the_objective_and_the_end_is_stationary():
    A = partial()
    H = np.random.RandomState(2).standard_normal((15, 3))
    found = alternate(A, H, 0.5, 3000, 1e-14, never)
    assert (np.diff(found.losses) <= 1e-12 * found.losses[0]).all()
    assert found.losses[-1] == pytest.approx(objective(A, found.W, found.H, 0.5, "squared"))
    off = (found.W @ found.H.T - A.toarray()) * (A.toarray() != 0)
    assert off @ found.H + 0.5 * found.W == pytest.approx(0.0, abs=1e-4)


def test_all_entries_known_and_no_penalty_is_the_truncated_svd():
    rng = np.random.RandomState(3)
    A = sp.csr_array(np.sign(rng.standard_normal((12, 12))))
    found = alternate(A, rng.standard_normal((12, 3)), 1e-10, 5000, 1e-15, never)
    values = np.linalg.svd(A.toarray(), compute_uv=False)
    assert found.losses[-1] == pytest.approx((values[3:] ** 2).sum(), rel=1e-6)


@pytest.mark.parametrize("loss", ["squared", "sigmoid", "squared_hinge"])
def test_slopes_of_losses(loss):
    signs = np.array([1.0, -1.0, 1.0, -1.0])

    def value(z):
        return loss_values(loss, signs, z)[0].sum()

    def slope(z):
        return loss_values(loss, signs, z)[1]

    assert check_grad(value, slope, np.array([0.3, 0.4, 1.7, -2.0])) < 1e-6


def test_squared_loss_by_lbfgs_is_that_of_als():
    A = make_weakly_balanced([15, 15, 10], 0.5, 0.05, random_state=0).A
    ends = [
        SignedCompletion(3, solver=solver, tol=1e-10, max_iter=2000, random_state=0).fit(A)
        for solver in ("als", "lbfgs")
    ]
    assert ends[0].losses_[-1] == pytest.approx(ends[1].losses_[-1], rel=1e-5)


def test_nuclear_norm_is_cvxpys():
    cp = pytest.importorskip("cvxpy")
    A = partial(12, 0.5, 5)
    X, norms, converged = least_nuclear_norm(A, 20_000, 1e-9, never)
    Y = cp.Variable((12, 12))
    known = A.tocoo()
    rules = [Y[i, j] == a for i, j, a in zip(known.row, known.col, known.data)]
    problem = cp.Problem(cp.Minimize(cp.normNuc(Y)), rules)
    problem.solve(solver="CLARABEL")
    assert converged
    assert np.linalg.norm(X, "nuc") == pytest.approx(problem.value, rel=1e-6)
    assert X[known.row, known.col] == pytest.approx(known.data)


def test_projection_recovers_a_weakly_balanced_network():
    network = make_weakly_balanced([60, 80, 100], 0.3, random_state=0)
    found = project_singular_values(network.A, 3, 500, 1e-6, never, np.random.RandomState(0))
    assert (np.diff(found.losses) < 0.0).all()
    off = ~np.eye(240, dtype=bool)
    assert ((np.sign(found.W @ found.H.T) == network.truth) | ~off).all()


@pytest.mark.parametrize("solver", ["als", "lbfgs", "sgd", "svp", "nuclear"])
def test_every_solver_completes_three_camps(solver):
    network = make_weakly_balanced([20, 20, 20], 0.5, random_state=0)
    alpha = 0.1 if solver != "sgd" else 0.01
    model = SignedCompletion(3, solver=solver, alpha=alpha, max_iter=400, random_state=0)
    hidden = np.argwhere(np.triu(network.A.toarray() == 0, 1))
    model.fit(network.A)
    assert (model.predict(hidden) == network.truth[tuple(hidden.T)]).mean() == 1.0


@pytest.mark.parametrize("loss", ["sigmoid", "squared_hinge"])
@pytest.mark.parametrize("solver", ["lbfgs", "sgd"])
def test_losses_of_signs_complete_too(loss, solver):
    network = make_weakly_balanced([20, 20, 20], 0.5, random_state=0)
    model = SignedCompletion(
        3, loss, solver, alpha=0.01, max_iter=600, step=0.3, random_state=0
    ).fit(network.A)
    hidden = np.argwhere(np.triu(network.A.toarray() == 0, 1))
    assert (model.predict(hidden) == network.truth[tuple(hidden.T)]).mean() > 0.99


def test_switching_signs_switches_the_answers():
    """A camp that turns all its signs is the same network seen from the other side."""
    network = make_weakly_balanced([15, 15], 0.4, random_state=2)
    s = np.sign(np.random.RandomState(0).standard_normal(30))
    D = sp.diags_array(s)
    pairs = np.argwhere(np.triu(np.ones((30, 30)), 1))
    turned = s[pairs[:, 0]] * s[pairs[:, 1]]
    for model in (
        ImbalancePredictor(),
        SignedCompletion(2, tol=1e-12, max_iter=3000, random_state=0),
    ):
        plain = model.fit(network.A).decision_function(pairs)
        other = model.fit(sp.csr_array(D @ network.A @ D)).decision_function(pairs)
        assert other == pytest.approx(turned * plain, abs=1e-3)


def test_directions_may_differ():
    rng = np.random.RandomState(0)
    giver, taker = np.sign(rng.standard_normal((2, 40)))
    A = np.outer(giver, taker) * (rng.random_sample((40, 40)) < 0.4)
    np.fill_diagonal(A, 0)
    model = SignedCompletion(1, alpha=0.1, random_state=0).fit(sp.csr_array(A))
    pairs = np.argwhere((A == 0) & ~np.eye(40, dtype=bool))
    assert (model.predict(pairs) == np.outer(giver, taker)[tuple(pairs.T)]).all()


def test_nodes_without_links_get_the_majority():
    A = np.zeros((5, 5))
    A[0, 1] = A[1, 0] = A[1, 2] = A[2, 1] = -1
    for solver in ("als", "lbfgs"):
        model = SignedCompletion(1, solver=solver, random_state=0).fit(A)
        assert model.isolated_.tolist() == [3, 4]
        assert model.decision_function([[3, 4]]).tolist() == [0.0]
        assert model.predict([[3, 4]]).tolist() == [-1]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"loss": "sigmoid"}, "squared loss only"),
        ({"rank": 0}, "'rank'"),
        ({"solver": "magic"}, "'solver'"),
    ],
)
def test_options_that_do_not_fit(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        SignedCompletion(**options).fit([(0, 1, 1)])


def test_a_short_run_warns_with_what_is_left():
    A = make_weakly_balanced([15, 15], 0.5, 0.2, random_state=0).A
    with pytest.warns(ConvergenceWarning, match="still changes by"):
        SignedCompletion(5, max_iter=2, tol=1e-12, random_state=0).fit(A)


@pytest.mark.slow
def test_five_groups_are_completed_where_cycles_guess():
    network = make_weakly_balanced(GROUPS, 0.05, random_state=0)
    rng = np.random.RandomState(0)
    pairs = rng.randint(0, 1500, (4000, 2))
    seen = np.asarray(network.A[pairs[:, 0], pairs[:, 1]]).ravel() != 0
    pairs = pairs[(pairs[:, 0] != pairs[:, 1]) & ~seen]
    truth = network.truth[tuple(pairs.T)]
    model = SignedCompletion(5, alpha=0.1, random_state=0).fit(network.A)
    assert (model.predict(pairs) == truth).mean() >= 0.99


def test_cycles_of_nodes_without_links_get_the_majority():
    A = make_weakly_balanced([10, 12, 14], 0.6, random_state=0).A.tolil()
    A[0, :], A[:, 0] = 0.0, 0.0
    model = HigherOrderCycleClassifier().fit(A.tocsr())
    assert model.isolated_.tolist() == [0]
    assert model.majority_ == -1
    assert model.decision_function([[0, 5], [7, 0]]).tolist() == [0.0, 0.0]
    assert model.predict([[0, 5], [7, 0]]).tolist() == [-1, -1]


def test_some_links_without_a_sign_are_refused():
    graph = nx.Graph()
    graph.add_edge("a", "b", sign=1)
    graph.add_edge("a", "c", weight=-1)
    with pytest.raises(ValueError, match="all links have the attribute 'sign'"):
        SignedCompletion(rank=2).fit(graph)


def test_directions_that_disagree_are_counted():
    A = np.array([[0, 1, -1], [-1, 0, 1], [-1, 1, 0]])
    assert SignedCompletion(rank=2, symmetric=True, random_state=0).fit(A).n_conflicts_ == 1
    assert SignedCompletion(rank=2, random_state=0).fit(A).n_conflicts_ == 0


@pytest.mark.parametrize("loss", ["squared", "squared_hinge", "sigmoid"])
def test_single_links_get_near_the_minimum_of_every_loss(loss):
    A = make_weakly_balanced([40, 60, 50], 0.3, 0.02, random_state=0).A
    least = [
        min(SignedCompletion(3, loss=loss, solver=solver, random_state=0).fit(A).losses_)
        for solver in ("sgd", "lbfgs")
    ]
    assert least[0] == pytest.approx(least[1], rel=0.02)  # steps that fall like 1/pass never arrive
