"""Exact limits against long simulations, limiting cases and known examples."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import lfilter

from octavo.rl import (
    FiniteMDP,
    best_approximation_bound,
    brm_limit,
    contraction,
    lstd_limit,
    make_baird,
    make_garnet,
    value_objectives,
)


def chain_and_policies(seed=3, blend=0.5, **shape):
    garnet = make_garnet(6, 2, 3, 3, random_state=seed)
    R = np.random.default_rng(seed).normal(size=garnet.P.shape)
    mdp = FiniteMDP(garnet.P, R, 0.95, features=garnet.features, **shape)
    pi = mdp.random_policy(1)
    return mdp, pi, (1 - blend) * pi + blend * mdp.random_policy(2)


def recursions(log, gamma, lam):
    """Return A/n, b/n of LSTD(λ) and of BRM(λ), straight from their recursions."""
    decay = gamma * lam * log.previous_rho
    delta, paid = log.X - gamma * log.rho[:, None] * log.X_next, log.rho * log.r
    p, n = log.X.shape[1], len(log)
    z, D, c, y = np.zeros(p), np.zeros(p), 0.0, 0.0
    A, b, A2, b2 = np.zeros((p, p)), np.zeros(p), np.zeros((p, p)), np.zeros(p)
    for e, phi, d, r in zip(decay, log.X, delta, paid):
        z = e * z + phi
        A += np.outer(z, d)
        b += z * r
        y = 1 + e * e * y
        A2 += y * np.outer(d, d) + e * (np.outer(d, D) + np.outer(D, d))
        b2 += y * d * r + e * (d * c + r * D)
        D, c = e * D + y * d, e * c + y * r
    return A / n, b / n, A2 / n, b2 / n


SHAPES = [
    {},
    {"restart": 0.2},
    {"terminal": [2], "restart": np.array([0.3, 0, 0, 0, 0.1, 0])},
]


@pytest.mark.parametrize("shape", SHAPES, ids=["continuing", "cut", "terminal"])
@pytest.mark.slow
def test_limits_agree_with_a_long_simulation(shape):
    mdp, pi, pi0 = chain_and_policies(**shape)
    lam, n = 0.4, 20_000
    parts = [recursions(mdp.sample(n, pi, pi0, random_state=k), 0.95, lam) for k in range(4)]
    exact = [*lstd_limit(mdp, pi, pi0, lam)[:2], *brm_limit(mdp, pi, pi0, lam)[:2]]
    for k, limit in enumerate(exact):
        seen = np.array([part[k] for part in parts])
        error = seen.std(axis=0, ddof=1) / 2
        # A t statistic of three degrees of freedom; 12 is beyond 99.9 %, and there are 24 of them.
        assert (np.abs(seen.mean(axis=0) - limit) < 12 * error + 1e-4).all()


def test_theorem_3_as_printed_is_contradicted_off_policy():
    mdp, pi, pi0 = chain_and_policies()
    lam = 0.4
    parts = [
        recursions(mdp.sample(20_000, pi, pi0, random_state=k), 0.95, lam)[3] for k in range(4)
    ]
    seen, error = np.mean(parts, axis=0), np.std(parts, axis=0, ddof=1) / 2
    printed = brm_limit(mdp, pi, pi0, lam, as_published=True).b
    assert (np.abs(seen - printed) > 12 * error).any()


def test_theorem_3_as_printed_is_right_on_policy_for_rewards_of_states():
    garnet = make_garnet(random_state=5)
    pi = garnet.random_policy(0)
    for lam in (0.0, 0.5, 0.9):
        ours = brm_limit(garnet, pi, lam=lam)
        printed = brm_limit(garnet, pi, lam=lam, as_published=True)
        np.testing.assert_allclose(ours.b, printed.b, rtol=1e-9)


@pytest.mark.parametrize("lam", [0.0, 0.4, 0.9, 1.0])
def test_lstd_limit_is_the_minimiser_of_the_projected_error(lam):
    garnet = make_garnet(random_state=1)
    pi, pi0 = garnet.random_policy(0), garnet.random_policy(1)
    exact = value_objectives(garnet, pi, pi0, lam=lam)
    limit = lstd_limit(garnet, pi, pi0, lam)
    np.testing.assert_allclose(limit.A, exact.A, atol=1e-12)
    np.testing.assert_allclose(limit.theta, exact.minimiser("mspbe"), rtol=1e-7)
    assert exact.mspbe(limit.theta) < 1e-18


def test_without_bootstrap_lstd_is_the_best_approximation():
    garnet = make_garnet(random_state=2)
    pi, pi0 = garnet.random_policy(0), garnet.random_policy(1)
    best = value_objectives(garnet, pi, pi0).minimiser("mse")
    np.testing.assert_allclose(lstd_limit(garnet, pi, pi0, 1.0).theta, best, rtol=1e-8)
    bound = best_approximation_bound(garnet, pi, pi0, 1.0)
    assert bound.error == pytest.approx(bound.best_error)
    assert bound.factor == pytest.approx(1.0)


@pytest.mark.parametrize("off_policy", [0.0, 0.02])
def test_without_bootstrap_brm_is_lstd(off_policy):
    # At λ = 1 the differences of features telescope to φ_j, so that both methods regress the same
    # weighted returns on it, off-policy too: the survey's remark after Theorem 3 says otherwise.
    garnet = make_garnet(random_state=3)
    pi = garnet.random_policy(0)
    near = (1 - off_policy) * pi + off_policy * garnet.random_policy(1)
    projected, residual = lstd_limit(garnet, pi, near, 1.0), brm_limit(garnet, pi, near, 1.0)
    np.testing.assert_allclose(residual.theta, projected.theta, rtol=1e-7)
    gram = (garnet.features.T * garnet.state_distribution(near)) @ garnet.features
    np.testing.assert_allclose(residual.A, gram, rtol=1e-8)


def test_without_traces_brm_minimises_the_squared_temporal_difference():
    mdp, pi, _ = chain_and_policies()
    np.testing.assert_allclose(
        brm_limit(mdp, pi).theta, value_objectives(mdp, pi).minimiser("mstde"), rtol=1e-8
    )


@pytest.mark.parametrize("lam", [0.3, 0.999999])
def test_on_policy_brm_tends_to_the_system_of_psi(lam):
    # Ψ = Φ − (1 − λ)γPQΦ; Ã and b̃ tend to Ψ'DΨ and Ψ'DQR as λ tends to one, and only then.
    garnet = make_garnet(random_state=6)
    pi = garnet.random_policy(0)
    P, R, Phi = garnet.transition_matrix(pi), garnet.expected_rewards(pi), garnet.features
    Q = np.linalg.inv(np.eye(30) - lam * 0.95 * P)
    Psi = Phi - (1 - lam) * 0.95 * P @ Q @ Phi
    D = np.diag(garnet.state_distribution(pi)) / (1 - (lam * 0.95) ** 2)
    A, b = Psi.T @ D @ Psi, Psi.T @ D @ Q @ R
    residual = np.linalg.solve(A, b) - brm_limit(garnet, pi, lam=lam).theta
    assert (np.abs(residual).max() < 1e-3) == (lam > 0.9)


@pytest.mark.parametrize(("gamma", "converges"), [(0.82, True), (0.85, False)])
def test_tsitsiklis_and_van_roy(gamma, converges):
    # Features 1 and 2, both states lead to the second: TD's factor is 6γ/5, one at γ = 5/6.
    P = np.array([[[0.0, 1], [0, 1]], [[1.0, 0], [1, 0]]])
    mdp = FiniteMDP(P, [0.0, 0.0], gamma, features=[[1.0], [2.0]])
    found = contraction(mdp, [[1.0, 0], [1, 0]], [[0.5, 0.5], [0.5, 0.5]])
    assert found.spectral_radius == pytest.approx(6 * gamma / 5)
    assert found.lspe is converges
    assert found.td is converges


@pytest.mark.parametrize("lam", [0.0, 0.7])
def test_projected_value_iteration_behaves_as_predicted(lam):
    outcomes = set()
    for seed in range(8):
        garnet = make_garnet(8, 2, 2, 4, gamma=0.99, random_state=seed)
        pi, pi0 = garnet.random_policy(0), garnet.random_policy(1)
        exact, theta = value_objectives(garnet, pi, pi0, lam=lam), np.ones(4)
        for _ in range(3000):
            theta = np.clip(exact.ope_minimiser(theta), -1e100, 1e100)
        settled = np.abs(theta).max() < 1e6
        assert settled == contraction(garnet, pi, pi0, lam).lspe
        outcomes.add(settled)
    assert outcomes == {True} or lam == 0.0


def test_baird_defeats_td_but_not_lstd():
    star = make_baird()
    found = contraction(star.mdp, star.policy, star.behaviour)
    assert found.lspe
    assert not found.td


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), lam=st.sampled_from([0.0, 0.5, 0.9]))
def test_on_policy_is_a_contraction_and_the_bounds_hold(seed, lam):
    garnet = make_garnet(12, 2, 3, 4, random_state=seed)
    pi, pi0 = garnet.random_policy(seed), garnet.random_policy(seed + 1)
    found = contraction(garnet, pi, lam=lam)
    assert found.spectral_radius <= found.norm * (1 + 1e-9)
    assert found.norm <= (1 - lam) * 0.95 / (1 - lam * 0.95) * (1 + 1e-9)
    assert found.td
    on = best_approximation_bound(garnet, pi, lam=lam)
    assert on.factor <= on.on_policy_factor * (1 + 1e-9)
    for bound in (on, best_approximation_bound(garnet, pi, pi0, lam)):
        assert bound.best_error <= bound.error * (1 + 1e-9)
        assert bound.error <= bound.factor * bound.best_error * (1 + 1e-7)


def test_second_moments_of_traces_grow_as_stated():
    mdp, pi, pi0 = chain_and_policies(blend=0.5)
    limit = lstd_limit(mdp, pi, pi0, 0.4)
    log = mdp.sample(200_000, pi, pi0, random_state=0)
    decay = 0.95 * 0.4 * log.previous_rho
    assert decay.max() == pytest.approx(limit.max_trace_factor)
    assert limit.trace_growth < limit.max_trace_factor**2 < 1
    # On-policy, Σ of squared trace weights is the geometric series of (γλ)².
    on = lstd_limit(mdp, pi, lam=0.4)
    assert on.trace_growth == pytest.approx((0.95 * 0.4) ** 2)
    weights = lfilter([1.0], [1.0, -((0.95 * 0.4) ** 2)], np.ones(50))
    assert weights[-1] == pytest.approx(1 / (1 - on.trace_growth))


def test_bad_input():
    garnet = make_garnet(random_state=0)
    pi, pi0 = garnet.random_policy(0), garnet.random_policy(1)
    with pytest.raises(ValueError, match=r"lam must lie in \[0, 1\], got -1"):
        lstd_limit(garnet, pi, pi0, -1)
    with pytest.raises(ValueError, match=r"BRM\(1\) has no limit here: .* grows by"):
        brm_limit(garnet, pi, pi0, 1.0)
    with pytest.raises(ValueError, match="has no support"):
        lstd_limit(garnet, pi, np.eye(2)[np.zeros(30, dtype=int)], 0.5)
    with pytest.warns(UserWarning, match="singular"):
        lstd_limit(garnet, pi, features=np.ones((30, 2)))
