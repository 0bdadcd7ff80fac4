"""BRM and the residual gradient against least squares, forward views and exact objectives."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.rl import BRM, ResidualGradient, Transitions, forward_brm
from tests.rl.batches import random_batch, walk

pytestmark = pytest.mark.filterwarnings("ignore:the traces have no bounded variance")
LAMBDAS = [0.0, 0.6, 1.0]
each_lam = pytest.mark.parametrize("lam", LAMBDAS)


@each_lam
@pytest.mark.parametrize("seed", range(4))
def test_recursive_batch_and_definition_agree(seed, lam):
    batch = random_batch(seed)
    kwargs = {"gamma": 0.9, "lam": lam, "eps": 10.0, "off_policy": "standard"}
    expected = forward_brm(batch, 0.9, lam, eps=10.0)
    batchwise = BRM(**kwargs).fit(batch)
    recursive = BRM(**kwargs, solver="recursive").fit(batch)
    np.testing.assert_allclose(batchwise.coef_, expected, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(recursive.coef_, expected, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(recursive.A_, batchwise.A_, atol=1e-10)
    inverse = np.linalg.inv(batchwise.A_ + np.eye(4) / 10)
    np.testing.assert_allclose(recursive.M_, inverse, atol=1e-8 * np.abs(inverse).max())


@pytest.mark.parametrize("solver", ["batch", "recursive"])
def test_transition_weights_are_a_weighted_regression(solver):
    batch = random_batch(5)
    model = BRM(gamma=0.9, eps=3.0, solver=solver).fit(batch)
    D = batch.X - 0.9 * batch.X_next
    A = D.T @ (batch.rho[:, None] * D) + np.eye(4) / 3
    np.testing.assert_allclose(model.coef_, np.linalg.solve(A, D.T @ (batch.rho * batch.r)))


def test_double_samples_recursive_equals_batch():
    batch = random_batch(6, double=True)
    kwargs = {"gamma": 0.9, "eps": 2.0, "double_sample": True}
    D1, D2 = batch.X - 0.9 * batch.X_next, batch.X - 0.9 * batch.X_next2
    weight = batch.rho * batch.rho2
    A = D1.T @ (weight[:, None] * D2) + np.eye(4) / 2
    b = 0.5 * (D2.T @ (weight * batch.r) + D1.T @ (weight * batch.r2))
    expected = np.linalg.solve(A, b)
    for solver in ("batch", "recursive"):
        model = BRM(**kwargs, solver=solver).fit(batch)
        np.testing.assert_allclose(model.coef_, expected, rtol=1e-8)
        parts = BRM(**kwargs, solver=solver)
        for chunk in batch.chunks(7):
            parts.partial_fit(chunk)
        np.testing.assert_allclose(parts.coef_, expected, rtol=1e-8)


def test_double_samples_find_the_bellman_error_and_single_ones_do_not():
    rng = np.random.default_rng(7)
    states, P, R, Phi = walk(7, 100_000)
    s = states[:-1]
    cumulative = P.cumsum(axis=1)
    second = (rng.random(s.size)[:, None] > cumulative[s]).sum(axis=1)
    values, vectors = np.linalg.eig(P.T)
    d = np.real(vectors[:, np.argmax(values.real)])
    root = np.sqrt(d / d.sum())[:, None]
    mean_difference = Phi - 0.9 * P @ Phi
    msbe = np.linalg.lstsq(root * mean_difference, root[:, 0] * R, rcond=None)[0]
    double = BRM(gamma=0.9, double_sample=True).fit(
        Phi[s], R[s], Phi[states[1:]], X_next2=Phi[second], r2=R[s]
    )
    single = BRM(gamma=0.9).fit(Phi[s], R[s], Phi[states[1:]])
    assert np.linalg.norm(double.coef_ - msbe) < 0.05 * np.linalg.norm(msbe)
    assert np.linalg.norm(single.coef_ - msbe) > 0.2 * np.linalg.norm(msbe)


@each_lam
@pytest.mark.parametrize("solver", ["batch", "recursive"])
def test_chunks_and_sparse_rows_give_the_same(lam, solver):
    batch = random_batch(8, lengths=(40, 21))
    make = lambda: BRM(0.8, lam, eps=5.0, off_policy="standard", solver=solver)  # noqa: E731
    whole, parts = make().fit(batch), make()
    for chunk in batch.chunks(8):
        parts.partial_fit(chunk)
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-8)
    sparse = Transitions(
        sp.csr_matrix(batch.X),
        batch.r,
        sp.csr_matrix(batch.X_next),
        batch.rho,
        batch.start,
        batch.terminal,
    )
    np.testing.assert_allclose(make().fit(sparse).coef_, whole.coef_, rtol=1e-8)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(LAMBDAS))
def test_no_other_coefficients_have_a_smaller_residual(seed, lam):
    from octavo.rl import lambda_td_errors

    batch = random_batch(seed)
    model = BRM(0.8, lam, eps=None, off_policy="standard").fit(batch)

    def loss(theta):
        errors = lambda_td_errors(theta, batch, 0.8, lam, off_policy="standard")
        return errors @ errors

    best = loss(model.coef_)
    rng = np.random.default_rng(seed)
    for _ in range(5):
        assert loss(model.coef_ + 0.1 * rng.normal(size=4)) >= best * (1 - 1e-9)


# --- residual gradient --------------------------------------------------------------------------


def plain_residual(batch, gamma, alpha, double):
    theta = np.zeros(batch.n_features)
    for i in range(len(batch)):
        x, y = batch.X[i], batch.X_next[i]
        y2, weight = y, batch.rho[i]
        if double:
            y2, weight = batch.X_next2[i], batch.rho[i] * batch.rho2[i]
        delta = batch.r[i] + gamma * y @ theta - x @ theta
        theta = theta + alpha * weight * delta * (x - gamma * y2)
    return theta


def plain_gbrm(batch, gamma, lam, alpha):
    p = batch.n_features
    theta, z, zeta, c, d = np.zeros(p), np.zeros(p), np.zeros(p), 0.0, 0.0
    for i in range(len(batch)):
        x, y, rho = batch.X[i], batch.X_next[i], batch.rho[i]
        e = gamma * lam * batch.previous_rho[i]
        delta = rho * batch.r[i] - (x - gamma * rho * y) @ theta
        ahead = gamma * rho * (1 - lam) * y
        c = 1 + e * e * c
        zeta = ahead * c + e * zeta
        d = delta * c + e * d
        z = e * z + x
        theta = theta + alpha * (delta * (z + ahead * c - zeta) - d * ahead)
    return theta


@pytest.mark.parametrize("double", [False, True])
def test_residual_gradient_equals_the_listing(double):
    batch = random_batch(9, double=True)
    model = ResidualGradient(0.9, learning_rate=0.03, double_sample=double).fit(batch)
    expected = plain_residual(batch, 0.9, 0.03, double)
    np.testing.assert_allclose(model.coef_, expected, rtol=1e-10)


@each_lam
def test_gbrm_equals_the_listing(lam):
    batch = random_batch(10)
    model = ResidualGradient(0.9, lam, learning_rate=0.03, off_policy="standard")
    expected = plain_gbrm(batch, 0.9, lam, 0.03)
    np.testing.assert_allclose(model.fit(batch).coef_, expected, rtol=1e-10, atol=1e-13)
    sparse = Transitions(
        sp.csr_matrix(batch.X),
        batch.r,
        sp.csr_matrix(batch.X_next),
        batch.rho,
        batch.start,
        batch.terminal,
    )
    np.testing.assert_allclose(model.fit(sparse).coef_, expected, rtol=1e-10, atol=1e-13)
    parts = ResidualGradient(0.9, lam, learning_rate=0.03, off_policy="standard")
    for chunk in batch.chunks(7):
        parts.partial_fit(chunk)
    np.testing.assert_allclose(parts.coef_, expected, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("double", [False, True])
def test_average_and_projection_of_the_residual_gradient(double):
    batch = random_batch(11, double=True, lengths=(25,))
    path, model = [], ResidualGradient(0.9, learning_rate=0.05, double_sample=double, clip_norm=0.1)
    for i in range(len(batch)):
        path.append(model.partial_fit(batch[i : i + 1]).coef_)
    mean = ResidualGradient(
        0.9, learning_rate=0.05, double_sample=double, clip_norm=0.1, average=True
    )
    np.testing.assert_allclose(mean.fit(batch).coef_, np.mean(path, axis=0), rtol=1e-9, atol=1e-13)
    assert max(np.linalg.norm(theta) for theta in path) <= 0.1 * (1 + 1e-12)


def test_second_draws_end_by_themselves():
    X, r = np.ones((2, 1)), np.zeros(2)
    ends = {"terminal": [True, False], "terminal2": [False, True]}
    model = BRM(0.5, double_sample=True).fit(X, r, X, X_next2=X, r2=r, **ends)
    # Δ' = (1, 1/2), Δ'' = (1/2, 1): their products sum to one
    assert model.A_[0, 0] == pytest.approx(1.0)


# --- what goes wrong ----------------------------------------------------------------------------


@pytest.mark.parametrize("cls", [BRM, ResidualGradient])
def test_combinations_that_no_algorithm_defines(cls):
    batch = random_batch(0, double=True)
    with pytest.raises(ValueError, match="no form with traces: set lam=0"):
        cls(lam=0.5, double_sample=True).fit(batch)
    with pytest.raises(ValueError, match="set off_policy='standard' or lam=0"):
        cls(lam=0.5).fit(batch)
    with pytest.raises(ValueError, match="two independent draws"):
        cls(double_sample=True).fit(random_batch(0))
    cls(lam=0.5).fit(random_batch(0, off_policy=False))  # ratios of one need no weighting
    with pytest.raises(ValueError, match="without rho2"):
        cls(double_sample=True).fit(
            batch.X, batch.r, batch.X_next, rho=batch.rho, X_next2=batch.X_next2, r2=batch.r2
        )
