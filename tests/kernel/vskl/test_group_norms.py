"""The norm across groups: closed forms against brute minimisation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from octavo.kernel.vskl.group_norms import GroupNorm

ABOVE = [1.5, 2.0, 3.0, np.inf]
BELOW = [0.6, 0.75, 0.9]


def conjugate(q):
    return 1.0 if q == np.inf else q / (q - 1.0)


def least_ratio(values, power):
    """Minimise Σ values/γ over γ ≥ 0 with Σ γ^power ≤ 1, by a general solver."""
    n = len(values)
    answer = minimize(
        lambda t: (values / np.exp(t)).sum(),
        np.full(n, -np.log(n) / power),
        jac=lambda t: -values / np.exp(t),
        constraints={"type": "ineq", "fun": lambda t: 1.0 - np.exp(power * t).sum()},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    return np.exp(answer.x), answer.fun


@pytest.mark.parametrize("q", ABOVE)
@pytest.mark.parametrize("seed", range(3))
def test_gamma_is_the_minimiser_of_lemma_2_2(q, seed):
    D = np.random.default_rng(seed).uniform(0.1, 3.0, size=4)
    norm = GroupNorm(q)
    gamma = norm.gamma(norm.respond(np.ones(4), D))
    found, least = least_ratio(D, conjugate(q))
    np.testing.assert_allclose(gamma, found, rtol=1e-4)
    assert abs((gamma ** conjugate(q)).sum() - 1.0) < 1e-12  # on the boundary
    assert abs((D / gamma).sum() - least) < 1e-6 * least
    assert abs(2.0 * norm.dual(D) - (D / gamma).sum()) < 1e-12 * least


@pytest.mark.parametrize("q", BELOW)
def test_composite_gamma_is_the_minimiser(q):
    rng = np.random.default_rng(0)
    D, omega = rng.uniform(0.1, 3.0, size=5), rng.uniform(0.2, 1.0, size=5)
    norm = GroupNorm(q)
    gamma, squares = norm.respond(omega, D), omega**2 * D
    found, least = least_ratio(squares, q / (1.0 - q))
    np.testing.assert_allclose(gamma, found, rtol=1e-4)
    assert abs(2.0 * norm.within(squares) - least) < 1e-6 * least


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from([0.5, 0.6, 0.8, 1.0, 1.3, 2.0, 5.0, np.inf]),
    st.integers(0, 10_000),
)
def test_penalty_and_dual_are_conjugate(q, seed):
    """Hölder: Σ g_j √M_j ≤ penalty(g) + dual(M), with equality at the best g."""
    rng = np.random.default_rng(seed)
    norm = GroupNorm(q)
    M, g = rng.uniform(0.01, 2.0, size=4), rng.uniform(0.0, 2.0, size=4)
    assert g @ np.sqrt(M) <= norm.penalty(g) + norm.dual(M) + 1e-12
    if 0.5 < q < np.inf:
        # stationary: (Σ g^2q)^(1/q - 1) g_j^(2q-1) = √M_j
        best = np.sqrt(M) ** (1.0 / (2.0 * q - 1.0))
        best *= np.sqrt(2.0 * norm.dual(M)) / (best ** (2.0 * q)).sum() ** (0.5 / q)
        gap = norm.penalty(best) + norm.dual(M) - best @ np.sqrt(M)
        assert abs(gap) < 1e-10 * norm.dual(M)


def test_start_lies_on_the_boundary():
    for q in ABOVE:
        assert abs((GroupNorm(q).gamma(GroupNorm(q).start(5)) ** conjugate(q)).sum() - 1) < 1e-12
    for q in BELOW:
        assert abs((GroupNorm(q).start(5) ** (q / (1 - q))).sum() - 1.0) < 1e-12
    np.testing.assert_array_equal(GroupNorm(1.0).start(5), 1.0)


def test_groups_without_signal_stay_finite():
    for q in (*ABOVE, *BELOW):
        omega = GroupNorm(q).respond(np.ones(3), np.array([1.0, 0.0, 1e-300]))
        assert np.isfinite(omega).all()
        assert (omega > 0.0).all()
