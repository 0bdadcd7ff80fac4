"""The bounds: constants of the paper by hand, identities between them, and certificates."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

from octavo.engine.smooth.losses import CustomLoss, make_loss
from octavo.engine.smooth.newton import newton_linear
from octavo.linear import (
    asgd_bounds,
    asgd_required_samples,
    local_convexity_bounds,
    self_concordance_certificate,
)


def test_every_constant_of_the_paper():
    """N = 100, R = 2, D = 3, μ = 0.5, δ = 2/e (so that t = 1), worked out on paper."""
    found = asgd_bounds(100, 2.0, 3.0, mu=0.5, delta=2 / math.e)
    expected = {
        "gamma": 1 / 80,
        "lemma_1": 9 / 2.5 + 0.025,
        "corollary_2": 3.6 + 0.025,
        "lemma_1_distance": 9 + 1 / 16,
        "corollary_2_distance": 9 + 1 / 16,
        "proposition_3_p1": 27 + 1.25,
        "proposition_3_p2": (27 + 2.5) ** 2,
        "proposition_3_p3": (27 + 3.75) ** 3,
        "section_4_2_p1": 9 + 1 / 16,
        "section_4_2_p2": (9 + 9 / 16) ** 2,
        "section_4_2_p3": (9 + 20 / 16) ** 3,
        "corollary_4_p1": (108 + 5) / 10,
        "corollary_4_p2": (118 / 10) ** 2,
        "corollary_4_p3": (123 / 10) ** 3,
        "corollary_4_distance_p1": 113 / 4,
        "corollary_4_distance_p2": (118 / 4) ** 2,
        "corollary_4_distance_p3": (123 / 4) ** 3,
        "proposition_5": 30 / 80 * 4 + 27 / 1.25,
        "corollary_6": (15 + 216) / 10,
        "proposition_5_distance": 15 / 4 + 54,
        "corollary_6_distance": 15 / 4 + 54,
        "proposition_7_p1": 0.2 * (8 + 0.4 + 20 + 216 + 36),
        "corollary_8_p1": 0.2 * (8 + 0.4 + 20 + 216 + 36),
        "corollary_8_p2": 0.2 * (8 * math.sqrt(2) + 0.8 + 40 + 216 + 36),
        "corollary_8_p3": 0.2 * (8 * math.sqrt(3) + 1.2 + 60 + 216 + 36),
        "proposition_7_p2": 0.2 * (8 * math.sqrt(2) + 0.8 + 40 + 216 + 36),
        "proposition_7_p3": 0.2 * (8 * math.sqrt(3) + 1.2 + 60 + 216 + 36),
        "proposition_10": 4 / 50 * 45**4,
        "proposition_10_distance": 4 / 25 * 57**4,
        "vacuous": True,
    }
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, rel=1e-12), name


def test_a_step_of_ones_own_leaves_out_the_corollaries():
    found = asgd_bounds(50, 1.0, 2.0, mu=0.1, gamma=0.03, delta=0.05)
    assert not any(name.startswith(("corollary", "proposition_10")) for name in found)
    assert found["lemma_1"] == pytest.approx(4 / (2 * 0.03 * 50) + 0.015)
    assert found["proposition_5"] == pytest.approx(0.9 * math.log(40) + 12 / 1.5)
    # the step that Section 4.1 calls better minimises Lemma 1
    best = 2.0 / math.sqrt(50)
    low = asgd_bounds(50, 1.0, 2.0, gamma=best)["lemma_1"]
    assert low == pytest.approx(2.0 / math.sqrt(50))
    for other in (0.9 * best, 1.1 * best):
        assert asgd_bounds(50, 1.0, 2.0, gamma=other)["lemma_1"] > low


def test_proposition_10_is_not_vacuous_on_enough_rows():
    assert not asgd_bounds(10**14, 1.0, 1.0, mu=0.25)["vacuous"]


@settings(max_examples=100, deadline=None)
@given(eps=st.floats(1e-5, 1.0), D=st.floats(0, 5), mu=st.one_of(st.none(), st.floats(1e-3, 0.25)))
def test_required_samples_are_the_fewest(eps, D, mu):
    def proved(N):
        found = asgd_bounds(N, 1.0, D, mu)
        return min(found["corollary_2"], found.get("proposition_10", math.inf))

    N = asgd_required_samples(eps, 1.0, D, mu)
    assert proved(N) <= eps * (1 + 1e-12)
    assert N == 1 or proved(N - 1) > eps * (1 - 1e-9)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"N": 0}, "N must"),
        ({"N": 2.5}, "N must"),
        ({"R": 0.0}, "R must"),
        ({"R": math.nan}, "R must"),
        ({"dist": -1.0}, "dist must"),
        ({"mu": 0.0}, "mu must"),
        ({"gamma": math.inf}, "gamma must"),
        ({"delta": 1.0}, "delta must"),
        ({"R": "one"}, "R must"),
    ],
)
def test_bounds_refuse_what_they_cannot_use(change, words):
    with pytest.raises(ValueError, match=words):
        asgd_bounds(**({"N": 10, "R": 1.0, "dist": 1.0} | change))


def test_required_samples_refuse_numbers_without_end():
    with pytest.raises(ValueError, match="more than can be counted"):
        asgd_required_samples(1e-30, 1.0, 1.0)
    with pytest.raises(ValueError, match="eps must"):
        asgd_required_samples(0.0, 1.0, 1.0)


# --- certificates --------------------------------------------------------------------------------


def random_problem(rng):
    """Return a random mean loss with two derivatives, its optimum and its constant of (A2)."""
    n, d = int(rng.integers(5, 60)), int(rng.integers(1, 6))
    X = rng.normal(size=(n, d)) * np.exp(rng.normal(0, 0.7, d))
    loss = make_loss(str(rng.choice(["log", "logcosh", "sqrt"])))
    if loss.name == "logcosh":
        y = X @ rng.normal(size=d) + rng.standard_t(2, size=n)
    else:
        y = np.where(rng.random(n) < expit(rng.normal() + X @ rng.normal(size=d)), 1.0, -1.0)
    ridge = float(rng.choice([1e-6, 1e-3, 0.1]))
    R = loss.self_concordance * float(np.linalg.norm(X, axis=1).max())
    best = newton_linear(X, y, loss, ridge, tol=1e-12, max_iter=200)

    def evaluate(theta):
        total, slope, curvature = loss.evaluate(X @ theta, y)
        gradient = X.T @ slope / n + ridge * theta
        H = X.T @ (curvature[:, None] * X) / n + ridge * np.eye(d)
        return total / n + 0.5 * ridge * theta @ theta, gradient, H

    return evaluate, best, R


@pytest.mark.slow
def test_certificate_is_never_violated():
    """1,000 random problems of three losses, points near and far; looseness about three."""
    rng = np.random.default_rng(0)
    finite, loose, sharper = 0, [], []
    for _ in range(1000):
        evaluate, best, R = random_problem(rng)
        if not best.converged:
            continue
        lowest, _, H_best = evaluate(best.coef)
        theta = best.coef + rng.normal(size=best.coef.size) * 10 ** rng.uniform(-4, 0)
        value, gradient, H = evaluate(theta)
        excess, distance = value - lowest, np.linalg.norm(theta - best.coef)
        room = 1e-11 * max(1.0, abs(value))  # rounding of the values, and of the optimum
        for hessian in (H, H_best):  # the computable form, and the paper's
            found = self_concordance_certificate(gradient, hessian, R)
            a = R * np.linalg.norm(gradient) / np.linalg.eigvalsh(hessian)[0]
            assert np.isfinite(found.excess) == np.isfinite(found.distance) == (a < 1)
            assert excess <= found.excess + room
            assert distance <= found.distance * (1 + 1e-9) + 1e-9
        sharp = self_concordance_certificate(gradient, H, R, sharp=True)
        plain = self_concordance_certificate(gradient, H, R)
        assert excess <= sharp.excess + room
        assert sharp.excess <= plain.excess
        if np.isfinite(plain.excess) and excess > 1e-9:
            finite += 1
            loose.append(plain.excess / excess)
            sharper.append(sharp.excess / excess)
        lemmas = local_convexity_bounds(gradient, H_best, R, dist=distance)
        for name in ("lemma_9", "lemma_13", "lemma_13_always"):
            assert excess <= lemmas[name] + room
        assert distance <= lemmas["lemma_9_distance"] * (1 + 1e-9) + 1e-9
    assert finite > 200  # the test would pass for nothing else
    assert np.median(loose) < 10
    assert np.median(sharper) < 0.6 * np.median(loose)


def test_certificate_by_hand():
    """f(θ) = log cosh θ: the optimum is 0, R = 2; at 0.1 everything has a closed form."""
    grad, mu = math.tanh(0.1), 1 - math.tanh(0.1) ** 2
    a = 2 * grad / mu
    found = self_concordance_certificate(grad, mu, 2.0)
    assert found.distance == pytest.approx(-math.log(1 - a) / 2)
    assert found.excess == pytest.approx(-grad * math.log(1 - a) / 2)
    assert found.distance > 0.1
    assert found.excess > math.log(math.cosh(0.1))


@settings(max_examples=200, deadline=None)
@given(a=st.floats(1e-12, 0.999), mu=st.floats(1e-6, 1e3), R=st.floats(1e-6, 1e3))
def test_certificate_is_finite_whenever_a_is_below_one(a, mu, R):
    plain = self_concordance_certificate(a * mu / R, mu, R)
    sharp = self_concordance_certificate(a * mu / R, mu, R, sharp=True)
    assert 0 < sharp.excess <= plain.excess < math.inf
    assert sharp.excess == pytest.approx(
        (a * mu / R) ** 2 / mu * sum(a ** (k - 2) / (k * (k - 1)) for k in range(2, 9000)), rel=1e-6
    )


def test_certificate_is_infinite_where_nothing_is_known():
    assert self_concordance_certificate(1.0, 1.0, 1.0) == (math.inf, math.inf)  # a = 1
    assert self_concordance_certificate([0.1, 0.0], np.diag([0.0, 1.0]), 1.0)[0] == math.inf
    assert self_concordance_certificate(0.1, 0.0, 1.0) == (math.inf, math.inf)
    assert self_concordance_certificate([0.0, 0.0], 0.0, 1.0) == (0.0, 0.0)
    assert self_concordance_certificate(1e-200, 1e-100, 1.0).distance == pytest.approx(1e-100)
    # a quadratic has R = 0
    assert self_concordance_certificate(0.2, 0.5, 0.0) == pytest.approx((0.08, 0.4))
    assert local_convexity_bounds(1.0, 0.0, 1.0)["lemma_9"] == math.inf


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([], 1.0, 1.0), "empty"),
        (([np.nan], 1.0, 1.0), "finite"),
        ((1.0, -1.0, 1.0), "negative"),
        ((1.0, np.ones((2, 3)), 1.0), "square"),
        ((1.0, np.array([[1.0, 2.0], [0.0, 1.0]]), 1.0), "symmetric"),
        ((1.0, [1.0, 2.0], 1.0), "shape"),
        ((1.0, 1.0, -1.0), "R must"),
    ],
)
def test_certificate_refuses_what_it_cannot_use(arguments, words):
    with pytest.raises(ValueError, match=words):
        self_concordance_certificate(*arguments)


def test_custom_losses_may_be_certified():
    loss = CustomLoss(
        value=lambda p, y: np.logaddexp(0, -y * p),
        slope=lambda p, y: -y * expit(-y * p),
        curvature=lambda p, y: expit(p) * expit(-p),
        lipschitz=1.0,
        curvature_bound=0.25,
    )
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(80, 3)), np.where(rng.random(80) < 0.5, 1.0, -1.0)
    fit = newton_linear(X, y, loss, 1e-9, tol=1e-6)
    _, _, curvature = loss.evaluate(X @ fit.coef, y)
    H = X.T @ (curvature[:, None] * X) / 80
    assert self_concordance_certificate(fit.gradient_norm, H, 5.0).excess < 1e-9
