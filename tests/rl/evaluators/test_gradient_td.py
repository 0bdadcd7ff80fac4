"""TD, GTD, GTD2 and TDC against plain recursions, forward views and known limits."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from octavo.rl import (
    GTD,
    GTD2,
    LSTD,
    TD,
    TDC,
    ResidualGradient,
    Transitions,
    eligibility_traces,
    forward_update,
    lambda_successors,
    lambda_td_errors,
    step_sizes,
)
from tests.rl.batches import random_batch, walk

pytestmark = pytest.mark.filterwarnings("ignore:the traces have no bounded variance")
LAMBDAS = [0.0, 0.6, 1.0]
each_lam = pytest.mark.parametrize("lam", LAMBDAS)
each_weighting = pytest.mark.parametrize("off_policy", ["transition", "standard"])


def plain(method, batch, gamma, lam, alphas, betas, off_policy, weight_gram=False, radius=np.inf):
    """The listings, line by line, on dense vectors; returns every θ."""
    p = batch.n_features
    theta, w, z, before = np.zeros(p), np.zeros(p), np.zeros(p), 0.0
    path = []
    for i in range(len(batch)):
        x, y, r, rho = batch.X[i], batch.X_next[i], batch.r[i], batch.rho[i]
        before = 0.0 if batch.start[i] else before
        z = gamma * lam * before * z + x
        own = rho if off_policy == "transition" else 1.0
        delta_phi = own * x - gamma * rho * y
        alpha, beta = alphas[i], betas[i]
        delta = rho * r - delta_phi @ theta
        gram = rho if weight_gram else 1.0
        if method == "td":
            theta = theta + alpha * delta * z
        elif method == "gtd":
            theta, w = theta + alpha * delta_phi * (x @ w), w + beta * (delta * x - own * w)
        elif method == "tdc":
            theta = theta + alpha * (delta * z - gamma * rho * (1 - lam) * (z @ w) * y)
            w = w + beta * ((rho * r - delta_phi @ theta) * z - gram * (x @ w) * x)
        elif method == "gtd2":
            theta = theta + alpha * (own * x * (x @ w) - gamma * rho * (1 - lam) * (z @ w) * y)
            w = w + beta * ((rho * r - delta_phi @ theta) * z - (x @ w) * x)
        if np.linalg.norm(theta) > radius:
            theta = theta * (radius / np.linalg.norm(theta))
        before = rho
        path.append(theta)
    return np.array(path)


METHODS = {"td": TD, "gtd": GTD, "gtd2": GTD2, "tdc": TDC}


def model_of(method, lam, **kwargs):
    if method != "gtd":
        kwargs["lam"] = lam
    if method != "td":
        kwargs["beta"] = 0.07
    return METHODS[method](gamma=0.9, learning_rate=0.03, **kwargs)


@pytest.mark.parametrize("method", METHODS)
@each_lam
@each_weighting
def test_passes_equal_the_listings(method, lam, off_policy):
    batch = random_batch(0)
    n = len(batch)
    lam = 0.0 if method == "gtd" else lam
    path = plain(method, batch, 0.9, lam, np.full(n, 0.03), np.full(n, 0.07), off_policy)
    model = model_of(method, lam, off_policy=off_policy).fit(batch)
    np.testing.assert_allclose(model.coef_, path[-1], rtol=1e-10, atol=1e-13)
    mean = model_of(method, lam, off_policy=off_policy, average=True).fit(batch)
    np.testing.assert_allclose(mean.coef_, path.mean(axis=0), rtol=1e-10, atol=1e-13)
    radius = 0.5 * np.linalg.norm(path[-1])
    inside = plain(
        method, batch, 0.9, lam, np.full(n, 0.03), np.full(n, 0.07), off_policy, radius=radius
    )
    ball = model_of(method, lam, off_policy=off_policy, clip_norm=radius, average=True).fit(batch)
    np.testing.assert_allclose(ball.coef_, inside.mean(axis=0), rtol=1e-10, atol=1e-13)


def test_tdc_to_weighs_the_gram():
    batch = random_batch(1)
    n = len(batch)
    path = plain("tdc", batch, 0.9, 0.5, np.full(n, 0.03), np.full(n, 0.07), "transition", True)
    model = model_of("tdc", 0.5, weight_gram=True).fit(batch)
    np.testing.assert_allclose(model.coef_, path[-1], rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("method", METHODS)
@each_lam
def test_sparse_rows_chunks_and_sweeps(method, lam):
    batch = random_batch(2, lengths=(30, 11, 40), p=7)
    keep = np.random.default_rng(0).random(batch.X.shape) < 0.4
    dense = Transitions(
        batch.X * keep, batch.r, batch.X_next * keep, batch.rho, batch.start, batch.terminal
    )
    sparse = Transitions(
        sp.csr_matrix(dense.X),
        dense.r,
        sp.csr_matrix(dense.X_next),
        dense.rho,
        dense.start,
        dense.terminal,
    )
    whole = model_of(method, lam, average=True).fit(dense)
    other = model_of(method, lam, average=True).fit(sparse)
    np.testing.assert_allclose(other.coef_, whole.coef_, rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(other.trace_, whole.trace_, atol=1e-14)
    for data in (dense, sparse):
        parts = model_of(method, lam, average=True)
        for chunk in data.chunks(9):
            parts.partial_fit(chunk)
        np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-10, atol=1e-14)
    twice = model_of(method, lam, n_epochs=2).fit(dense)
    again = model_of(method, lam).partial_fit(dense).partial_fit(dense)
    np.testing.assert_allclose(twice.coef_, again.coef_, rtol=1e-12)


# --- forward = backward -------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.floats(0, 1), st.floats(0, 1))
def test_forward_views_telescope_into_backward_views(seed, gamma, lam):
    """Propositions 6, 8 and 9 summed over a whole batch, with θ and w held fixed."""
    batch = random_batch(seed)
    rng = np.random.default_rng(seed + 1)
    theta, w = rng.normal(size=(2, 4))
    X, Y, rho = batch.X, batch.X_next, batch.rho
    Z = eligibility_traces(batch, gamma, lam)
    delta = rho * batch.r - (X - gamma * rho[:, None] * Y) @ theta
    ahead = (gamma * (1 - lam) * rho)[:, None] * Y
    c = zeta = d = 0.0
    products = np.zeros(4)
    for i in range(len(batch)):
        e = gamma * lam * batch.previous_rho[i]
        c = 1 + e * e * c
        zeta = ahead[i] * c + e * zeta
        d = delta[i] * c + e * d
        products += delta[i] * zeta + d * ahead[i] - delta[i] * ahead[i] * c
    errors = lambda_td_errors(theta, batch, gamma, lam, off_policy="standard")
    g = lambda_successors(batch, gamma, lam)
    scale = 1e-10 * (1 + np.abs(errors).max()) * (1 + np.abs(g).max()) * len(batch)
    np.testing.assert_allclose(X.T @ errors, Z.T @ delta, atol=scale)
    np.testing.assert_allclose(g.T @ X, ahead.T @ Z, atol=scale)
    np.testing.assert_allclose(g.T @ errors, products, atol=scale)
    tdc = forward_update("tdc", theta, batch, gamma, lam, w=w)
    np.testing.assert_allclose(tdc, Z.T @ delta - ahead.T @ (Z @ w), atol=10 * scale)
    gtd2 = forward_update("gtd2", theta, batch, gamma, lam, w=w)
    np.testing.assert_allclose(gtd2, X.T @ (X @ w) - ahead.T @ (Z @ w), atol=10 * scale)
    residual = forward_update("residual", theta, batch, gamma, lam)
    np.testing.assert_allclose(residual, Z.T @ delta - products, atol=10 * scale)


# --- limits -------------------------------------------------------------------------------------


@each_weighting
def test_with_lambda_one_tdc_and_gbrm_are_td(off_policy):
    batch = random_batch(3)
    td = TD(lam=1.0, off_policy=off_policy).fit(batch)
    tdc = TDC(lam=1.0, off_policy=off_policy).fit(batch)
    np.testing.assert_allclose(tdc.coef_, td.coef_, rtol=1e-12)
    if off_policy == "standard":
        residual = ResidualGradient(lam=1.0, off_policy=off_policy).fit(batch)
        np.testing.assert_allclose(residual.coef_, td.coef_, rtol=1e-10)


@each_lam
def test_tdc_without_a_second_step_is_td(lam):
    batch = random_batch(4)
    td, tdc = TD(lam=lam).fit(batch), TDC(lam=lam, mu=0.0).fit(batch)
    np.testing.assert_array_equal(tdc.coef_, td.coef_)
    assert not tdc.correction_.any()


@pytest.mark.parametrize("cls", [TD, TDC, GTD2])
def test_gradient_methods_approach_lstd_on_the_same_data(cls):
    states, _, R, Phi = walk(1, 2000)
    Phi = Phi / np.linalg.norm(Phi, axis=1, keepdims=True)
    batch = Transitions(Phi[states[:-1]], R[states[:-1]], Phi[states[1:]])
    exact = LSTD(0.8, 0.5).fit(batch).coef_
    second = {} if cls is TD else {"beta": 0.5}
    model = cls(0.8, 0.5, learning_rate=0.5, schedule="harmonic", n_epochs=300, **second).fit(batch)
    # the last steps are below 1e-3; the noise that they leave is of the order of their root
    assert np.linalg.norm(model.coef_ - exact) < 0.05 * np.linalg.norm(exact)


def baird(n, seed=0):
    """Baird's star: behaviour 7/8 dashed to a corner, 1/8 solid to the centre; target solid."""
    rng = np.random.default_rng(seed)
    Phi = np.zeros((8, 9))
    Phi[:7, :7], Phi[:7, 8] = 2 * np.eye(7), 1.0
    Phi[7, 7], Phi[7, 8] = 1.0, 2.0
    solid = rng.random(n) < 1 / 8
    states = np.append(0, np.where(solid, 7, rng.integers(0, 7, n)))
    return Transitions(Phi[states[:-1]], np.zeros(n), Phi[states[1:]], rho=np.where(solid, 8.0, 0))


START = [1.0] * 7 + [10.0, 1.0]


def test_td_diverges_on_bairds_star_and_tdc_does_not():
    batch = baird(20_000)
    with pytest.warns(ConvergenceWarning, match="diverged after"):
        td = TD(gamma=0.99, learning_rate=0.02, theta0=START).fit(batch)
    assert td.diverged_
    assert np.linalg.norm(td.coef_) > 1e10
    assert np.all(np.isfinite(td.coef_))
    tdc = TDC(gamma=0.99, learning_rate=0.003, mu=16.0, theta0=START).fit(batch)
    assert np.linalg.norm(tdc.coef_) < 2 * np.linalg.norm(START)
    ball = TD(gamma=0.99, learning_rate=0.02, theta0=START, clip_norm=50.0).fit(batch)
    assert np.linalg.norm(ball.coef_) <= 50 * (1 + 1e-12)


def test_the_adaptive_step_never_overshoots():
    """After each step of the rule, |δ| at the new θ is no larger than at the old one (λ = 0)."""
    batch = random_batch(5, off_policy=False)
    model = TD(gamma=0.9, learning_rate=10.0, schedule="adaptive")
    theta, smallest, met = np.zeros(4), 10.0, 0
    for i in range(len(batch)):
        x, y = batch.X[i], batch.X_next[i]
        smallest = min(smallest, 1 / max(x @ (x - 0.9 * y), 1e-300))
        before = batch.r[i] + 0.9 * y @ theta - x @ theta
        theta = theta + smallest * before * x
        model.partial_fit(batch[i : i + 1])
        np.testing.assert_allclose(model.coef_, theta, rtol=1e-9, atol=1e-12)
        if x @ (x - 0.9 * y) > 0:
            assert abs(batch.r[i] + 0.9 * y @ theta - x @ theta) <= abs(before) + 1e-12
            met += 1
    assert met > len(batch) / 2
    assert model.learning_rate_ == pytest.approx(smallest)
    assert np.all(np.isfinite(TDC(learning_rate=1.0, schedule="adaptive").fit(batch).coef_))


def test_schedules():
    t = np.arange(1, 6)
    np.testing.assert_allclose(step_sizes(t, 2.0, "power", power=0.5), 2 / np.sqrt(t))
    np.testing.assert_allclose(step_sizes(t, 2.0, "harmonic", decay=3.0), 6 / (3 + t))
    np.testing.assert_allclose(step_sizes(t, 2.0), 2.0)
    with pytest.raises(ValueError, match="schedule must be one of"):
        step_sizes(t, 2.0, "cosine")
    batch = random_batch(6)
    n = len(batch)
    alphas = 0.5 * 7 / (7 + np.arange(1, n + 1))
    betas = 0.2 * 3 / (3 + np.arange(1, n + 1) ** (2 / 3))
    path = plain("tdc", batch, 0.9, 0.3, alphas, betas, "standard")
    kwargs = {"learning_rate": 0.5, "learning_rate_decay": 7, "beta": 0.2, "beta_decay": 3}
    model = TDC(0.9, 0.3, schedule="harmonic", off_policy="standard", **kwargs).fit(batch)
    np.testing.assert_allclose(model.coef_, path[-1], rtol=1e-10)


# --- what goes wrong ----------------------------------------------------------------------------


def test_features_of_very_different_scale_warn():
    batch = random_batch(7)
    stretched = Transitions(
        batch.X * [1, 1, 1, 1e4], batch.r, batch.X_next * [1, 1, 1, 1e4], batch.rho, batch.start
    )
    with pytest.warns(UserWarning, match="scale the features first"):
        TD(learning_rate=1e-12).fit(stretched)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (TD(lam=1.5), "lam"),
        (TD(gamma=2.0), "gamma"),
        (TD(learning_rate=-1.0), "learning_rate"),
        (TD(theta0=[1.0]), "theta0 must hold 4"),
        (TD(theta0=[np.nan] * 4), "theta0 must hold 4"),
        (TDC(beta=-1.0), "beta"),
        (GTD2(schedule="fast"), "schedule"),
        (TD(clip_norm=0.0), "clip_norm"),
        (TD(n_epochs=0), "n_epochs"),
    ],
)
def test_bad_parameters(model, words):
    with pytest.raises(ValueError, match=words):
        model.fit(random_batch(0))


def test_forward_update_says_what_it_needs():
    batch = random_batch(0)
    with pytest.raises(ValueError, match="needs w"):
        forward_update("tdc", np.zeros(4), batch, 0.9, 0.5)
    with pytest.raises(ValueError, match="method must be"):
        forward_update("sarsa", np.zeros(4), batch, 0.9, 0.5, w=np.zeros(4))
