"""LSTD, LSPE and FPKF against forward views, closed forms and exact limits."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import Ridge

from octavo import rl
from octavo.rl import (
    BRM,
    FPKF,
    LSPE,
    LSTD,
    Transitions,
    eligibility_traces,
    forward_fpkf,
    forward_lspe,
    forward_lstd,
)
from octavo.rl.evaluators.penalties import lasso_td
from tests.rl.batches import random_batch, walk

pytestmark = pytest.mark.filterwarnings(
    "ignore:the traces have no bounded variance", "ignore:LSTD has 1 transitions"
)
LAMBDAS = [0.0, 0.6, 1.0]
WEIGHTS = ["transition", "standard"]
each_lam = pytest.mark.parametrize("lam", LAMBDAS)
each_weighting = pytest.mark.parametrize("off_policy", WEIGHTS)
each_solver = pytest.mark.parametrize("solver", ["batch", "recursive"])


# --- recursive = batch = definition -------------------------------------------------------------


@each_lam
@each_weighting
@pytest.mark.parametrize("seed", range(3))
def test_lstd_recursive_batch_and_forward_view_agree(seed, lam, off_policy):
    batch = random_batch(seed)
    kwargs = {"gamma": 0.9, "lam": lam, "off_policy": off_policy, "eps": 10.0}
    one = LSTD(**kwargs).fit(batch)
    other = LSTD(**kwargs, solver="recursive").fit(batch)
    expected = forward_lstd(batch, 0.9, lam, eps=10.0, off_policy=off_policy)
    np.testing.assert_allclose(one.coef_, expected, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(other.coef_, expected, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(other.A_, one.A_, atol=1e-12)
    inverse = np.linalg.inv(one.A_ + np.eye(4) / 10)
    np.testing.assert_allclose(other.M_, inverse, rtol=1e-8, atol=1e-8 * np.abs(inverse).max())
    np.testing.assert_allclose(one.trace_, eligibility_traces(batch, 0.9, lam)[-1], atol=1e-12)


@each_lam
@each_weighting
@pytest.mark.parametrize("seed", range(3))
def test_lspe_is_a_regression_of_returns_at_every_step(seed, lam, off_policy):
    batch = random_batch(seed)
    model = LSPE(gamma=0.9, lam=lam, off_policy=off_policy, eps=10.0, learning_rate=0.3).fit(batch)
    expected = forward_lspe(batch, 0.9, lam, eps=10.0, learning_rate=0.3, off_policy=off_policy)
    np.testing.assert_allclose(model.coef_, expected, rtol=1e-8, atol=1e-8)


@each_lam
@each_weighting
@pytest.mark.parametrize("seed", range(3))
def test_fpkf_is_a_regression_of_returns_of_their_own_time(seed, lam, off_policy):
    batch = random_batch(seed)
    model = FPKF(gamma=0.9, lam=lam, off_policy=off_policy, eps=10.0).fit(batch)
    expected = forward_fpkf(batch, 0.9, lam, eps=10.0, off_policy=off_policy)
    np.testing.assert_allclose(model.coef_, expected, rtol=1e-8, atol=1e-8)


def test_lspe_gram_may_be_weighted():
    batch = random_batch(1, p=2)
    model = LSPE(gamma=0.8, eps=5.0, weight_gram=True).fit(batch)
    theta = np.zeros(2)
    for i in range(1, len(batch) + 1):
        X, D = batch.X[:i], batch.X[:i] - 0.8 * batch.X_next[:i]
        rho = batch.rho[:i, None]
        gram = X.T @ (rho * X) + np.eye(2) / 5
        theta = theta + np.linalg.solve(
            gram, X.T @ (batch.rho[:i] * batch.r[:i]) - X.T @ (rho * D) @ theta
        )
    np.testing.assert_allclose(model.coef_, theta, rtol=1e-8, atol=1e-8)


def test_lspe_in_batches_converges_to_lstd():
    states, _, R, Phi = walk(0, 2000)
    batch = Transitions(Phi[states[:-1]], R[states[:-1]], Phi[states[1:]])
    lstd = LSTD(gamma=0.9, eps=None).fit(batch)
    lspe = LSPE(gamma=0.9, eps=1e9, solver="batch", tol=1e-12).fit(batch)
    assert lspe.n_iter_ > 1
    np.testing.assert_allclose(lspe.coef_, lstd.coef_, rtol=1e-7)


@pytest.mark.parametrize("seed", range(3))
@each_lam
def test_recursions_equal_batches_on_garnets(seed, lam):
    """Off-policy, with bounded traces: γ times the largest ratio is below 1."""
    mdp = rl.make_garnet(20, 2, 2, 5, gamma=0.5, random_state=seed)
    acting = np.full((20, 2), 0.5)
    target = 0.5 * acting + 0.5 * mdp.random_policy(seed)
    batch = mdp.sample(400, target, acting, random_state=seed)
    assert not batch.on_policy
    pairs = [
        [LSTD(0.5, lam, off_policy=way, solver=s).fit(batch).coef_ for s in ("batch", "recursive")]
        for way in WEIGHTS
    ]
    for way in WEIGHTS:
        lspe = LSPE(0.5, lam, eps=1.0, learning_rate=0.2, off_policy=way).fit(batch[:60]).coef_
        fpkf = FPKF(0.5, lam, off_policy=way).fit(batch[:60]).coef_
        pairs.append(
            [lspe, forward_lspe(batch[:60], 0.5, lam, eps=1.0, learning_rate=0.2, off_policy=way)]
        )
        pairs.append([fpkf, forward_fpkf(batch[:60], 0.5, lam, off_policy=way)])
    brm = [
        rl.BRM(0.5, lam, off_policy="standard", solver=s).fit(batch).coef_
        for s in ("batch", "recursive")
    ]
    pairs += [brm, [brm[0], rl.forward_brm(batch, 0.5, lam, eps=1e3)]]
    for one, other in pairs:
        np.testing.assert_allclose(one, other, atol=1e-8 * np.abs(other).max())


# --- closed forms -------------------------------------------------------------------------------


@each_solver
def test_tabular_lstd_solves_the_empirical_chain(solver):
    states, _, R, _ = walk(1, 500, n_states=5)
    onehot = np.eye(5)
    model = LSTD(gamma=0.9, eps=1e9, solver=solver).fit(
        onehot[states[:-1]], R[states[:-1]], onehot[states[1:]]
    )
    counts = np.zeros((5, 5))
    np.add.at(counts, (states[:-1], states[1:]), 1)
    P = counts / counts.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.coef_, np.linalg.solve(np.eye(5) - 0.9 * P, R), rtol=1e-6)


@each_solver
def test_lambda_one_on_complete_episodes_is_ridge_on_returns(solver):
    batch = random_batch(2, lengths=(6, 7, 1, 12), off_policy=False, ends=True)
    model = LSTD(gamma=0.9, lam=1.0, eps=4.0, solver=solver).fit(batch)
    returns, total = np.empty(len(batch)), 0.0
    for i in range(len(batch) - 1, -1, -1):
        total = batch.r[i] + (0.0 if batch.terminal[i] else 0.9 * total)
        returns[i] = total
    ridge = Ridge(alpha=1 / 4.0, fit_intercept=False).fit(batch.X, returns)
    np.testing.assert_allclose(model.coef_, ridge.coef_, rtol=1e-8)


@each_solver
@each_weighting
def test_gamma_zero_is_weighted_regression_on_rewards(solver, off_policy):
    batch = random_batch(3)
    model = LSTD(gamma=0.0, eps=7.0, solver=solver, off_policy=off_policy).fit(batch)
    X, weights = batch.X, batch.rho if off_policy == "transition" else np.ones(len(batch))
    A = X.T @ (weights[:, None] * X) + np.eye(4) / 7
    np.testing.assert_allclose(model.coef_, np.linalg.solve(A, X.T @ (batch.rho * batch.r)))


@each_lam
@pytest.mark.parametrize("cls", [LSTD, LSPE, FPKF])
def test_ratios_of_one_change_nothing(cls, lam):
    batch = random_batch(4, off_policy=False)
    # rewards of order one keep LSPE from overflowing while its Gram matrix is young
    one, other = (cls(lam=lam, gamma=0.5, eps=1.0, off_policy=way).fit(batch) for way in WEIGHTS)
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-9)


@each_lam
@each_weighting
@pytest.mark.slow
def test_sums_converge_to_the_exact_system(lam, off_policy):
    """A_i / i -> Φᵀ D₀ (I - γP)(I - λγP)⁻¹ Φ with P of the target, D₀ of the behaviour policy."""
    rng = np.random.default_rng(5)
    n_states, n_actions, gamma, n = 4, 2, 0.6, 200_000
    P = rng.dirichlet(np.ones(n_states), size=(n_actions, n_states))
    R = rng.normal(size=n_states)
    Phi = rng.normal(size=(n_states, 2))
    behaviour = rng.dirichlet(5 * np.ones(n_actions), size=n_states)
    target = rng.dirichlet(5 * np.ones(n_actions), size=n_states)
    states, actions = np.empty(n + 1, int), np.empty(n, int)
    states[0], draws = 0, rng.random((n, 2))
    for t in range(n):
        s = states[t]
        actions[t] = draws[t, 0] > behaviour[s, 0]
        states[t + 1] = np.searchsorted(P[actions[t], s].cumsum(), draws[t, 1])
    rho = (target / behaviour)[states[:-1], actions]
    model = LSTD(gamma=gamma, lam=lam, off_policy=off_policy).fit(
        Phi[states[:-1]], R[states[:-1]], Phi[states[1:]], rho=rho
    )
    P_target = np.einsum("sa,ast->st", target, P)
    P_behaviour = np.einsum("sa,ast->st", behaviour, P)
    values, vectors = np.linalg.eig(P_behaviour.T)
    d = np.real(vectors[:, np.argmax(values.real)])
    D = np.diag(d / d.sum())
    Q = np.linalg.inv(np.eye(n_states) - lam * gamma * P_target)
    A = Phi.T @ D @ (np.eye(n_states) - gamma * P_target) @ Q @ Phi
    b = Phi.T @ D @ Q @ R
    # the standard error of a mean of 2e5 correlated terms of order one is some 5e-3
    np.testing.assert_allclose(model.A_ / n, A, atol=0.05)
    np.testing.assert_allclose(model.b_ / n, b, atol=0.05)


def test_lspe_diverges_where_the_operator_does_not_contract():
    """Tsitsiklis and Van Roy: features 1 and 2, all updates at the first state, γ > 5/6."""
    X, X_next = np.array([[1.0], [2.0]] * 200), np.array([[2.0], [2.0]] * 200)
    with pytest.warns(ConvergenceWarning, match="diverged"):
        model = LSPE(gamma=0.95, solver="recursive", theta0=[1.0], learning_rate=1.0, eps=1e3).fit(
            X, np.zeros(400), X_next, start=np.ones(400)
        )
    assert model.diverged_
    with pytest.warns(ConvergenceWarning, match="did not converge"):
        LSPE(gamma=0.95, solver="batch", theta0=[1.0]).fit(X, np.zeros(400), X_next)
    calm = LSPE(gamma=0.8, theta0=[1.0]).fit(X, np.zeros(400), X_next, start=np.ones(400))
    assert abs(calm.coef_[0]) < 1e-2


def test_fpkf_waits_and_slows_down():
    batch = random_batch(6)
    n = len(batch)
    assert not FPKF(min_samples=n).fit(batch).coef_.any()
    assert FPKF(min_samples=n - 1).fit(batch).coef_.any()
    slow = FPKF(learning_rate=0.5, learning_rate_decay=3.0, eps=2.0, gamma=0.7).fit(batch)
    theta, N = np.zeros(4), 2.0 * np.eye(4)
    for t in range(n):
        x, rho = batch.X[t], batch.rho[t]
        N = np.linalg.inv(np.linalg.inv(N) + np.outer(x, x))
        delta = rho * (batch.r[t] - (x - 0.7 * batch.X_next[t]) @ theta)
        theta = theta + 0.5 * 3 / (3 + t + 1) * N @ x * delta
    np.testing.assert_allclose(slow.coef_, theta, rtol=1e-8, atol=1e-10)


# --- how data come in ---------------------------------------------------------------------------


@pytest.mark.parametrize("make", [LSTD, lambda **k: LSTD(solver="recursive", **k), LSPE, FPKF])
@each_lam
def test_chunks_and_sparse_rows_give_the_same(make, lam):
    batch = random_batch(7, lengths=(40, 25))
    whole = make(gamma=0.7, lam=lam, eps=5.0).fit(batch)
    parts = make(gamma=0.7, lam=lam, eps=5.0)
    for chunk in batch.chunks(11):
        parts.partial_fit(chunk)
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-8, atol=1e-10)
    assert parts.n_transitions_ == whole.n_transitions_ == len(batch)
    assert parts.trace_ess_ == pytest.approx(whole.trace_ess_)
    sparse = Transitions(
        sp.csr_matrix(batch.X),
        batch.r,
        sp.csr_matrix(batch.X_next),
        batch.rho,
        batch.start,
        batch.terminal,
    )
    other = make(gamma=0.7, lam=lam, eps=5.0).fit(sparse)
    np.testing.assert_allclose(other.coef_, whole.coef_, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(other.predict(sparse.X), whole.predict(batch.X), rtol=1e-8)


def test_arrays_given_piece_by_piece_continue_the_trace():
    batch = random_batch(8, lengths=(30,), ends=[False], off_policy=False)
    whole = LSTD(lam=0.8).fit(batch)
    parts, fresh = LSTD(lam=0.8), LSTD(lam=0.8)
    for rows in (slice(0, 13), slice(13, 30)):
        columns = (batch.X[rows], batch.r[rows], batch.X_next[rows])
        parts.partial_fit(*columns, rho=batch.rho[rows])
        fresh.partial_fit(*columns, rho=batch.rho[rows], start=np.arange(len(columns[1])) == 0)
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-9)
    assert np.abs(fresh.coef_ - whole.coef_).max() > 1e-6


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(LAMBDAS), st.sampled_from(WEIGHTS))
def test_invariances(seed, lam, off_policy):
    batch = random_batch(seed)
    model = LSTD(gamma=0.8, lam=lam, off_policy=off_policy, eps=1.0)
    theta = model.fit(batch).coef_
    scale = 1e-7 * (1 + np.abs(theta).max()) * np.linalg.cond(model.A_ + np.eye(4))
    order = np.random.default_rng(seed).permutation(4)
    shuffled = Transitions(
        batch.X[:, order],
        batch.r,
        batch.X_next[:, order],
        batch.rho,
        batch.start,
        batch.terminal,
    )
    np.testing.assert_allclose(model.fit(shuffled).coef_, theta[order], atol=scale)
    tripled = Transitions(
        batch.X, 3 * batch.r, batch.X_next, batch.rho, batch.start, batch.terminal
    )
    np.testing.assert_allclose(model.fit(tripled).coef_, 3 * theta, atol=scale)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6))
def test_order_of_transitions_is_nothing_without_traces(seed):
    batch = random_batch(seed)
    order = np.random.default_rng(seed).permutation(len(batch))
    one = LSTD(gamma=0.8).fit(batch)
    two = LSTD(gamma=0.8).fit(
        batch.X[order], batch.r[order], batch.X_next[order], rho=batch.rho[order]
    )
    np.testing.assert_allclose(one.A_, two.A_, atol=1e-10)
    np.testing.assert_allclose(one.b_, two.b_, atol=1e-10)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(LAMBDAS))
def test_episodes_add_up(seed, lam):
    batch = random_batch(seed)
    starts = [*np.flatnonzero(batch.start), len(batch)]
    whole = LSTD(lam=lam).fit(batch)
    parts = [LSTD(lam=lam).fit(batch[a:b]) for a, b in pairwise(starts) if batch.rho[a:b].any()]
    np.testing.assert_allclose(sum(part.A_ for part in parts), whole.A_, atol=1e-10)


# --- what goes wrong ----------------------------------------------------------------------------


def test_a_vanishing_denominator_restarts_from_the_sums():
    """The second row makes A + I/eps exactly singular; the third makes it regular again."""
    X = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    X_next = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    r = np.array([1.0, 2.0, 3.0, 4.0])
    kwargs = {"gamma": 1.0, "eps": 1.0}
    one = LSTD(**kwargs).fit(X, r, X_next)
    other = LSTD(**kwargs, solver="recursive").fit(X, r, X_next)
    assert other.n_restarts_ == 1
    np.testing.assert_allclose(other.coef_, one.coef_, atol=1e-12)


def test_rank_deficient_features_warn_and_give_the_least_norm():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    twice = np.hstack([X, X])
    with pytest.warns(UserWarning, match="rank 2"):
        model = LSTD(gamma=0.0, eps=None).fit(twice, X[:, 0], twice)
    np.testing.assert_allclose(model.coef_, [0.5, 0, 0.5, 0], atol=1e-10)


def test_fewer_transitions_than_features_warn():
    with pytest.warns(UserWarning, match="2 transitions for 3 features"):
        LSTD().fit(np.eye(3)[:2], [1.0, 2.0], np.eye(3)[1:])


def test_traces_without_bounded_variance_warn():
    n = 50
    X = np.ones((n, 1))
    with pytest.warns(UserWarning, match="no bounded variance"):
        model = LSTD(lam=1.0).fit(X, np.zeros(n), X, rho=np.tile([0.0, 2.0], n // 2))
    assert model.max_trace_factor_ == pytest.approx(1.9)
    assert model.trace_ess_ < n
    calm = LSTD(lam=0.0).fit(X, np.zeros(n), X)
    assert (calm.max_trace_factor_, calm.trace_ess_) == (0.0, n)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"rho": [1.0, -0.5]}, "cannot be negative, got -0.5"),
        ({"rho": [1.0, np.inf]}, "rho must be finite"),
        ({"rho": [1.0, np.nan]}, "rho must be finite"),
        ({"rho": [0.0, 0.0]}, "Every importance ratio is 0"),
        ({"rho": [1.0]}, "rho must have one entry a transition, 2"),
        ({"r": [1.0, 2.0, 3.0]}, "r must have one entry a transition, 2"),
        ({"r": [1.0, np.nan]}, "NaN"),
        ({"X_next": [[1.0, 2.0]]}, r"X_next must have the shape of X, \(2, 1\)"),
        ({"start": [1, 2]}, "start must hold 2 booleans"),
        ({"terminal": [True]}, "terminal must hold 2 booleans"),
        ({"r": None}, "give X, r and X_next"),
        ({"r2": [1.0, 1.0]}, "give X_next2"),
        ({"X_next2": [[1.0], [1.0]]}, "without r2"),
    ],
)
def test_bad_transitions(change, words):
    columns = {"X": [[1.0], [2.0]], "r": [1.0, 2.0], "X_next": [[2.0], [1.0]], **change}
    with pytest.raises(ValueError, match=words):
        LSTD().fit(**columns)


@pytest.mark.parametrize(
    "params",
    [{"gamma": 1.1}, {"gamma": -0.1}, {"lam": 2.0}, {"eps": 0.0}, {"off_policy": "none"}],
)
def test_bad_parameters(params):
    with pytest.raises(ValueError, match=next(iter(params))):
        LSTD(**params).fit([[1.0]], [1.0], [[1.0]])


def test_other_mistakes():
    batch = random_batch(0)
    with pytest.raises(ValueError, match="starts from eps"):
        LSTD(eps=None, solver="recursive").fit(batch)
    with pytest.raises(ValueError, match="holds everything"):
        LSTD().fit(batch, batch.r)
    with pytest.raises(ValueError, match="expecting 4 features"):
        LSTD().fit(batch).partial_fit([[1.0]], [1.0], [[1.0]])
    with pytest.raises(ValueError, match="theta0 must hold 4"):
        LSPE(theta0=[1.0]).fit(batch)
    with pytest.raises(NotFittedError):
        LSTD().predict([[1.0]])


# --- penalties ----------------------------------------------------------------------------------


def penalised_data(p=6):
    states, _, R, Phi = walk(11, 400, p=p)
    return Transitions(Phi[states[:-1]], R[states[:-1]], Phi[states[1:]])


@pytest.mark.parametrize("lam", [0.0, 0.5])
def test_penalties_solve_the_system_of_means(lam):
    batch = penalised_data()
    plain = LSTD(0.9, lam).fit(batch)
    A, b = plain.A_ / len(batch), plain.b_ / len(batch)
    chain = np.diff(np.eye(6), axis=0)
    expected = {
        "l2": rl.ridge_td(A, b, 0.02),
        "l1": rl.l1_td(A, b, 0.02),
        "lasso-td": lasso_td(A, b, 0.02),
        "dantzig": rl.dantzig_td(A, b, 0.02),
        "laplacian": rl.laplacian_td(A, b, np.eye(6), chain.T @ chain, 0.02),
    }
    for penalty, theta in expected.items():
        model = LSTD(
            0.9, lam, penalty=penalty, alpha=0.02, laplacian=chain.T @ chain, nodes=np.eye(6)
        )
        np.testing.assert_allclose(model.fit(batch).coef_, theta, rtol=1e-9, atol=1e-12)
    other = LSTD(0.9, lam, penalty="lasso-td", alpha=0.02, lasso_solver="lcp").fit(batch)
    np.testing.assert_allclose(other.coef_, expected["lasso-td"], atol=1e-8)


@pytest.mark.parametrize("gamma", [0.0, 0.9])
def test_nested_penalties_equal_their_function(gamma):
    batch = penalised_data()
    kinds = {"l2l2": (0.03, "l2"), "l2l1": (0.03, "l1"), "l1-pbr": (0.0, "l1")}
    for penalty, (alpha, kind) in kinds.items():
        model = LSTD(gamma, penalty=penalty, alpha=0.03, alpha_nested=0.01).fit(batch)
        expected = rl.nested_td(
            batch.X, batch.X_next, batch.r, gamma, alpha=alpha, alpha_fixed=0.01, penalty=kind
        )
        np.testing.assert_allclose(model.coef_, expected, rtol=1e-5, atol=1e-6)


def test_random_projection_equals_its_function_and_streams():
    batch = penalised_data()
    kwargs = {"penalty": "rp", "n_components": 3, "alpha": 0.01, "random_state": 0}
    expected = rl.random_projection_td(
        batch.X, batch.X_next, batch.r, 0.9, n_components=3, alpha=0.01, random_state=0
    )
    np.testing.assert_allclose(LSTD(0.9, **kwargs).fit(batch).coef_, expected, rtol=1e-9)
    parts = LSTD(0.9, **kwargs)
    for chunk in batch.chunks(50):
        parts.partial_fit(chunk)
    np.testing.assert_allclose(parts.coef_, expected, rtol=1e-9)
    assert parts.A_.shape == (3, 3)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"penalty": "l2", "solver": "recursive"}, "set solver='batch'"),
        ({"penalty": "laplacian"}, "needs laplacian and nodes"),
        ({"penalty": "l1-pbr", "lam": 0.5}, "needs lam=0"),
        ({"penalty": "l2l2", "off_policy": "standard"}, "off_policy='transition'"),
        ({"penalty": "l3"}, "'penalty'"),
        ({"penalty": "l2", "alpha": -1.0}, "'alpha'"),
    ],
)
def test_penalties_that_mean_nothing(params, words):
    with pytest.raises(ValueError, match=words):
        LSTD(**params).fit(penalised_data())


@pytest.mark.parametrize("make", [LSTD, lambda: LSTD(solver="recursive"), LSPE, FPKF, BRM])
@pytest.mark.parametrize("unit", [1.0, 1e-5])
def test_a_ridge_that_outweighs_tiny_features_is_told(make, unit):
    rng = np.random.RandomState(0)
    X, X_next, r = unit * rng.normal(size=(50, 3)), unit * rng.normal(size=(50, 3)), np.ones(50)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        make().fit(X, r, X_next)
    told = ["outweighs all 50 transitions" in str(one.message) for one in caught]
    assert sum(told) == (unit < 1.0)
