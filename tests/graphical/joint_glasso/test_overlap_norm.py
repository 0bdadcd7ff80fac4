"""The overlap norm: cvxpy's minimum, closed forms, duality and the axioms of a norm."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from octavo.engine.proximal.groups import column_norms, dual_exponent
from octavo.graphical import rcon_norm

QS = (1, 2, np.inf)
seeds = st.integers(0, 2**32 - 1)
few = settings(max_examples=20, deadline=None)


def symmetric(seed, K, p, zeros=0.0):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((K, p, p)) * (rng.uniform(size=(K, p, p)) >= zeros)
    return A + A.swapaxes(1, 2)


@pytest.mark.parametrize("q", QS)
@pytest.mark.parametrize(("K", "p", "zeros"), [(1, 6, 0.0), (2, 5, 0.5), (3, 4, 0.0)])
def test_equals_cvxpy(q, K, p, zeros):
    cp = pytest.importorskip("cvxpy")
    Theta = symmetric(0, K, p, zeros)
    V = [cp.Variable((p, p)) for _ in range(K)]
    stacked = cp.vstack(V)
    problem = cp.Problem(
        cp.Minimize(sum(cp.norm(stacked[:, j], q) for j in range(p))),
        [Theta[k] == V[k] + V[k].T for k in range(K)],
    )
    problem.solve(solver="CLARABEL")
    assert rcon_norm(Theta, q).value == pytest.approx(problem.value, rel=1e-6)


def test_closed_forms():
    star = np.zeros((6, 6))
    star[2, :] = star[:, 2] = 3.0
    star[2, 2] = 0.0
    assert rcon_norm(star, 2).value == pytest.approx(3.0 * np.sqrt(5))
    assert rcon_norm(star, np.inf).value == pytest.approx(3.0)
    # A number: V = t/2.
    for q in QS:
        assert rcon_norm([[-3.0]], q).value == pytest.approx(1.5)
    assert rcon_norm(np.zeros((2, 3, 3))).value == 0.0


@few
@given(seeds, st.integers(1, 3), st.integers(1, 6))
def test_q_of_one_is_half_the_sum_of_absolute_values(seed, K, p):
    Theta = symmetric(seed, K, p)
    assert rcon_norm(Theta, 1).value == pytest.approx(np.abs(Theta).sum() / 2)


@few
@given(seeds, st.integers(1, 3), st.integers(1, 6), st.sampled_from(QS))
def test_both_sides_are_feasible_and_meet(seed, K, p, q):
    Theta = symmetric(seed, K, p)
    norm = rcon_norm(Theta, q)
    np.testing.assert_allclose(norm.V + norm.V.swapaxes(1, 2), Theta, atol=1e-12)
    assert column_norms(norm.V.reshape(-1, p), q).sum() == pytest.approx(norm.value)
    twice = (norm.dual + norm.dual.swapaxes(1, 2)).reshape(-1, p)
    assert (column_norms(twice, dual_exponent(q)) <= 1 + 1e-9).all()  # Lemma 11
    assert (norm.dual * Theta).sum() == pytest.approx(norm.value - norm.duality_gap, abs=1e-9)
    assert norm.duality_gap <= 1e-8 * norm.value


@few
@given(seeds, st.sampled_from((2, np.inf)), st.floats(-3, 3))
def test_axioms_of_a_norm(seed, q, c):
    one, other = symmetric(seed, 2, 4), symmetric(seed + 1, 2, 4)
    norm = rcon_norm(one, q).value
    assert norm > 0
    assert rcon_norm(c * one, q).value == pytest.approx(abs(c) * norm, rel=1e-6, abs=1e-12)
    assert rcon_norm(one + other, q).value <= (norm + rcon_norm(other, q).value) * (1 + 1e-7)


@few
@given(seeds, st.sampled_from((2, np.inf)))
def test_relabelling_and_flipping_signs_change_nothing(seed, q):
    Theta = symmetric(seed, 2, 5)
    rng = np.random.default_rng(seed)
    order, signs = rng.permutation(5), rng.choice([-1.0, 1.0], 5)
    value = rcon_norm(Theta, q).value
    assert rcon_norm(Theta[:, order][:, :, order], q).value == pytest.approx(value, rel=1e-6)
    assert rcon_norm(Theta * np.outer(signs, signs), q).value == pytest.approx(value, rel=1e-6)


@few
@given(seeds, st.sampled_from((2, np.inf)))
def test_no_feasible_dual_exceeds_it(seed, q):
    """Weak duality, with Λ drawn at random and scaled to be feasible."""
    Theta, Lam = symmetric(seed, 1, 4), symmetric(seed + 1, 1, 4)
    Lam = Lam / column_norms((2 * Lam)[0], dual_exponent(q)).max()
    assert (Lam * Theta).sum() <= rcon_norm(Theta, q).value * (1 + 1e-7)


def test_too_few_iterations_warn_with_the_gap():
    with pytest.warns(ConvergenceWarning, match="duality gap"):
        norm = rcon_norm(symmetric(0, 1, 8), np.inf, max_iter=3)
    assert norm.duality_gap > 0


@pytest.mark.parametrize(
    ("Theta", "options", "words"),
    [
        ([[1.0, 2.0], [3.0, 1.0]], {}, "symmetric"),
        (np.ones((2, 3)), {}, "square"),
        ([[np.nan]], {}, "NaN"),
        ([[1.0]], {"q": 3}, "q must be 1, 2 or inf"),
        ([[1.0]], {"tol": 0}, "tol must be > 0"),
    ],
    ids=["asymmetric", "shape", "NaN", "q", "tol"],
)
def test_bad_input(Theta, options, words):
    with pytest.raises(ValueError, match=words):
        rcon_norm(Theta, **options)
