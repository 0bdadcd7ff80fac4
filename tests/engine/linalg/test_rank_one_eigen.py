"""The oracle is `numpy.linalg.eigh` of the changed matrix."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.engine.linalg.rank_one_eigen import rank_one_eigh


def check(sigma, U, a, tau):
    found = rank_one_eigh(sigma, U, a, tau)
    basis = np.eye(len(sigma)) if U is None else U
    matrix = (basis * sigma) @ basis.T + tau * np.outer(a, a)
    scale = max(np.abs(sigma).max(), abs(tau) * (a @ a), 1e-300)
    n = len(sigma)
    assert np.abs(found.eigenvalues - np.linalg.eigvalsh(matrix)).max() <= 1e-13 * n * scale
    V = found.eigenvectors
    assert np.abs(V.T @ V - np.eye(n)).max() <= 1e-13 * n
    assert np.abs(matrix @ V - V * found.eigenvalues).max() <= 1e-13 * n * scale
    return found


@settings(deadline=None)
@given(
    seed=st.integers(0, 100_000),
    n=st.integers(1, 25),
    tau=st.sampled_from([-3.0, -1e-9, 1e-12, 0.5, 1.0, 1e6]),
    repeated=st.booleans(),
    sparse=st.booleans(),
    rotated=st.booleans(),
)
def test_equals_eigh(seed, n, tau, repeated, sparse, rotated):
    rng = np.random.default_rng(seed)
    sigma = rng.standard_normal(n)
    sigma = np.round(sigma) if repeated else sigma
    a = rng.standard_normal(n) * (rng.random(n) < 0.5 if sparse else 1.0)
    U = np.linalg.qr(rng.standard_normal((n, n)))[0] if rotated else None
    check(sigma, U, a, tau)


def test_zero_change_deflates_everything():
    found = check(np.array([3.0, 1.0, 2.0]), None, np.zeros(3), 1.0)
    assert found.n_deflated == 3
    assert found.eigenvalues.tolist() == [1.0, 2.0, 3.0]


def test_identity_keeps_all_but_one():
    a = np.array([1.0, 2.0, 2.0])
    found = check(np.ones(3), None, a, 1.0)
    assert found.n_deflated == 2
    assert found.eigenvalues == pytest.approx([1.0, 1.0, 10.0])


def test_close_eigenvalues_keep_orthogonal_vectors():
    sigma = 1.0 + np.arange(20) * 1e-13
    check(np.append(sigma, [5.0, 1e6]), None, np.linspace(1, 2, 22), 1.0)


def test_interlacing():
    rng = np.random.default_rng(0)
    sigma, a = np.sort(rng.standard_normal(40)), rng.standard_normal(40)
    up = rank_one_eigh(sigma, None, a, 2.0).eigenvalues
    down = rank_one_eigh(sigma, None, a, -2.0).eigenvalues
    assert np.all(sigma <= up)
    assert np.all(up[:-1] <= sigma[1:])
    assert np.all(down <= sigma)
    assert np.all(sigma[:-1] <= down[1:])
    assert up.sum() == pytest.approx(sigma.sum() + 2.0 * a @ a)


def test_a_chain_of_changes_stays_accurate():
    rng = np.random.default_rng(1)
    matrix = np.diag(rng.standard_normal(15))
    sigma, U = np.diagonal(matrix).copy(), np.eye(15)
    for _ in range(20):
        a = rng.standard_normal(15)
        sigma, U = rank_one_eigh(sigma, U, a, 0.5)[:2]
        matrix = matrix + 0.5 * np.outer(a, a)
    assert np.allclose((U * sigma) @ U.T, matrix, atol=1e-11)


def test_few_steps_a_root():
    rng = np.random.default_rng(2)
    found = rank_one_eigh(rng.random(300), None, rng.standard_normal(300))
    assert found.n_iter <= 12


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([1.0, 2.0], None, [1.0]), "one length"),
        (([1.0, 2.0], np.eye(3), [1.0, 1.0]), "one length"),
        (([1.0, np.nan], None, [1.0, 1.0]), "finite"),
        (([1.0, 2.0], None, [1.0, 1.0], np.inf), "finite"),
    ],
)
def test_bad_input(arguments, words):
    with pytest.raises(ValueError, match=words):
        rank_one_eigh(*arguments)
