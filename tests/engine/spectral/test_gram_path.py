"""The spectral path of a Gram matrix: against the recursion, against dense linear algebra."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.engine.spectral.block_lanczos import block_lanczos
from octavo.engine.spectral.descent import descent
from octavo.engine.spectral.gram_path import (
    coefficient_factors,
    decayed_sums,
    factor_rows,
    fitted_factors,
    fitted_squares,
    gram_moments,
    krylov_path,
    residual_factors,
    top_spectrum,
    whole_path,
    whole_spectrum,
)


def gram(n, d=3, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, d))
    return np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / d)


def iterate(K, y, step_at, t):
    for c, _ in zip(descent(K, y, step_at), range(t + 1)):
        last = c
    return last


STEPS = {
    "one size": lambda top: min(1.0, 1.0 / top),
    "falling": lambda top: min(1.0, 1.0 / top) / np.sqrt(1.0 + np.arange(400)),
}


@pytest.mark.parametrize("kind", STEPS)
@pytest.mark.parametrize("t", [0, 1, 2, 17, 300])
def test_closed_form_and_krylov_space_are_the_recursion(kind, t):
    K = gram(60)
    y = np.random.default_rng(1).normal(size=60)
    spectrum = whole_spectrum(K)
    steps = STEPS[kind](spectrum.values[0])
    reference = iterate(K, y, lambda s: float(np.broadcast_to(steps, 400)[s]), t)
    scale = max(1.0, np.abs(reference).max())
    whole = whole_path(spectrum, y)
    krylov = krylov_path(K, y, steps, 300)
    for path in (whole, krylov):
        assert np.abs(path.coefficients(steps, t) - reference).max() < 1e-12 * scale
        left = path.residual_squares(steps, 300)[t]
        assert left == pytest.approx(((y - K @ reference) ** 2).sum(), rel=1e-11)


def test_thousands_of_steps_need_few_products():
    K = gram(400)
    y = np.random.default_rng(1).normal(size=400)
    spectrum = whole_spectrum(K)
    step = min(1.0, 1.0 / spectrum.values[0])
    path = krylov_path(K, y, step, 5000)
    assert path.vectors.shape[1] < 200
    exact = whole_path(spectrum, y).coefficients(step, 5000)
    np.testing.assert_allclose(path.coefficients(step, 5000), exact, atol=1e-10 * abs(exact).max())


def test_ridge_is_the_linear_system():
    K, y, nu = gram(40), np.random.default_rng(2).normal(size=40), 7.0
    path = whole_path(whole_spectrum(K), y)
    np.testing.assert_allclose(
        path.ridge_coefficients(nu), np.linalg.solve(K + 40 / nu * np.eye(40), y), atol=1e-12
    )


def test_a_zero_eigenvalue_takes_the_limit():
    values = np.array([0.5, 1e-18, 0.0])
    factors = coefficient_factors(values, 1.0, 12)
    np.testing.assert_allclose(factors[1:], 12.0, rtol=1e-14)  # η
    np.testing.assert_allclose(factor_rows(values, 1.0, [3, 12])[1], factors, rtol=1e-14)
    assert residual_factors(np.array([1.0]), 1.0, 1)[0] == 0.0  # a step of 1/λ kills it at once
    assert residual_factors(np.array([1.0]), 1.0, 0)[0] == 1.0


def test_small_factors_keep_their_digits():
    lam, t = 1e-13, 5
    assert fitted_factors(np.array([lam]), 1.0, t)[0] == pytest.approx(t * lam, rel=1e-12)


@settings(max_examples=50, deadline=None)
@given(
    values=st.lists(st.floats(0.0, 1.0), min_size=1, max_size=8),
    n_steps=st.integers(0, 60),
    power=st.sampled_from([1, 2]),
)
def test_sums_over_all_times_are_those_of_each(values, n_steps, power):
    values = np.array(values)
    weights = np.random.default_rng(0).uniform(size=len(values))
    falling = 1.0 / (1.0 + np.arange(60))
    for steps in (0.9, 1.7, falling, 1.9 * falling):  # those above 1 overshoot
        sums = decayed_sums(values, steps, n_steps, weights, power=power)
        each = [residual_factors(values, steps, t) ** power @ weights for t in range(n_steps + 1)]
        np.testing.assert_allclose(sums, each, rtol=1e-11, atol=1e-13)


@settings(max_examples=50, deadline=None)
@given(values=st.lists(st.floats(0.0, 1.0), min_size=1, max_size=8), t=st.integers(0, 30))
def test_factors_are_products_whether_or_not_steps_overshoot(values, t):
    values = np.array(values)
    for steps in (0.7, 1.8, 1.9 / (1.0 + np.arange(30)) ** 0.3):
        sizes = np.broadcast_to(steps, 30)[:t]
        product = np.prod(1.0 - sizes[:, None] * values, axis=0)
        np.testing.assert_allclose(residual_factors(values, steps, t), product, atol=1e-12)
        np.testing.assert_allclose(fitted_factors(values, steps, t), 1.0 - product, atol=1e-12)
        squares = fitted_squares(values, steps, t)[t]
        assert squares == pytest.approx(float(((1.0 - product) ** 2).sum()), abs=1e-10)


def test_the_top_of_the_spectrum_is_that_of_the_whole():
    K = gram(500)
    whole = whole_spectrum(K)
    top = top_spectrum(K, lambda s: len(s.values) >= 30)
    k = len(top.values)
    assert 30 <= k < 200
    np.testing.assert_allclose(top.values, whole.values[:k], atol=1e-9 * whole.values[0])
    assert top.rest == pytest.approx(whole.values[k:].sum(), rel=1e-6)
    assert top.rest_square == pytest.approx((whole.values[k:] ** 2).sum(), rel=1e-5)
    V = top.vectors
    np.testing.assert_allclose(V.T @ V, np.eye(k), atol=1e-10)
    np.testing.assert_allclose(gram_moments(K), (whole.trace, whole.square), rtol=1e-12)


def test_multiple_eigenvalues_are_all_found():
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.normal(size=(300, 300)))[0]
    values = np.r_[np.full(5, 3.0), np.full(3, 2.0), 0.5 * 0.9 ** np.arange(292)]
    top = top_spectrum((Q * values) @ Q.T, lambda s: len(s.values) >= 10)
    np.testing.assert_allclose(300 * top.values[:10], values[:10], atol=1e-8)


def test_a_matrix_of_low_rank_is_exhausted():
    F = np.random.default_rng(0).normal(size=(300, 12))
    K = F @ F.T
    top = top_spectrum(K, lambda s: False)
    assert len(top.values) >= 12
    np.testing.assert_allclose(top.values[:12], np.linalg.eigvalsh(K)[::-1][:12] / 300, rtol=1e-10)
    assert top.rest < 1e-10
    y = F @ np.ones(12)
    found = block_lanczos(lambda b: K @ b, y[:, None], lambda r: False, max_columns=300)
    assert found.exhausted
    assert found.basis.shape[1] <= 14


def test_zero_targets_have_a_path():
    path = krylov_path(gram(10), np.zeros(10), 1.0, 50)
    np.testing.assert_array_equal(path.coefficients(1.0, 50), np.zeros(10))


STRICT = """
    import numpy as np, array_api_strict as xp, sklearn
    from octavo.engine.spectral.gram_path import *
    X = np.random.default_rng(0).normal(size=(300, 3))
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
    y = X[:, 0]
    here = top_spectrum(K, lambda s: len(s.values) > 9)
    whole = whole_path(whole_spectrum(K), y).coefficients(1.0, 40)
    krylov = krylov_path(K, y, 1.0, 40).coefficients(1.0, 40)
    with sklearn.config_context(array_api_dispatch=True):
        A, b = xp.asarray(K), xp.asarray(y)
        there = top_spectrum(A, lambda s: len(s.values) > 9)
        assert type(there.vectors) is type(A)
        np.testing.assert_allclose(there.values, here.values, rtol=1e-10)
        c = whole_path(whole_spectrum(A), b).coefficients(1.0, 40)
        assert type(c) is type(A)
        np.testing.assert_allclose(np.asarray(c), whole, rtol=1e-9, atol=1e-12)
        c = krylov_path(A, b, 1.0, 40).coefficients(1.0, 40)
        np.testing.assert_allclose(np.asarray(c), krylov, rtol=1e-9, atol=1e-12)
"""


def test_the_array_api_gives_the_same_path():
    pytest.importorskip("array_api_strict")
    code = textwrap.dedent(STRICT)
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=os.environ | {"SCIPY_ARRAY_API": "1"},
    )
    assert done.returncode == 0, done.stderr
