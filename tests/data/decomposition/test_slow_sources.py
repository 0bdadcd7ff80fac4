"""Generators of slow sources and their mixtures."""

import numpy as np
import pytest

from octavo.data import make_colored_noise, make_postnonlinear_mixture, make_spiral_mixture


def test_noise_has_the_spectrum_asked_for():
    T, sigma = 20_000, 500
    powers = np.zeros(T // 2 + 1)
    for seed in range(20):
        powers += np.abs(np.fft.rfft(make_colored_noise(T, sigma, random_state=seed))) ** 2
    # |exp(-f² / 2σ²)|² in bands of 100 frequencies: 2000 squares each, an error of 2 %
    bands = powers[1:2001].reshape(20, 100).mean(axis=1)
    f = np.arange(1, 2001).reshape(20, 100)
    expected = np.exp(-((f / sigma) ** 2)).mean(axis=1)
    strong = expected > 1e-3
    np.testing.assert_allclose(
        (bands / bands[0])[strong], (expected / expected[0])[strong], rtol=0.15
    )


def test_noise_is_seeded_and_standardized():
    one, other = (make_colored_noise(500, [5, 10], random_state=3) for _ in range(2))
    np.testing.assert_array_equal(one, other)
    np.testing.assert_allclose(one.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(one.std(axis=0), 1)
    assert make_colored_noise(500, 5).shape == (500,)


def test_the_spiral_can_be_inverted():
    rng = np.random.default_rng(0)
    s1, s2 = rng.uniform(-1, 1, (2, 500))
    X = make_spiral_mixture(s1, s2)
    radius = np.hypot(*X.T)  # s2 + 3 s1 + 6 is positive
    np.testing.assert_allclose(radius, s2 + 3 * s1 + 6)
    angle = np.arctan2(X[:, 1], X[:, 0])
    # 1.5 π s1 covers one and a half turns: of two candidates one gives s2 in [-1, 1]
    candidates = (angle[:, None] + 2 * np.pi * np.array([-1, 0, 1])) / (1.5 * np.pi)
    fits = np.abs(radius[:, None] - 6 - 3 * candidates) <= 1 + 1e-9
    fits &= np.abs(candidates) <= 1 + 1e-9
    assert fits.any(axis=1).all()
    with pytest.warns(UserWarning, match=r"these go to 2"):
        make_spiral_mixture([2.0], [0.0])


@pytest.mark.parametrize("strength", [0.5, 2.0])
def test_bent_rotations_can_be_inverted(strength):
    S = make_colored_noise(300, [10, 20, 30], random_state=0)
    X = make_postnonlinear_mixture(S, strength, repeats=1, random_state=1)
    straight = np.tan(X) / strength
    turn = np.linalg.lstsq(S, straight, rcond=None)[0]
    np.testing.assert_allclose(S @ turn, straight, atol=1e-9)
    np.testing.assert_allclose(turn @ turn.T, np.eye(3), atol=1e-9)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: make_colored_noise(3, 1.0), "'T'"),
        (lambda: make_colored_noise(100, -1.0), "sigma"),
        (lambda: make_colored_noise(100, 1e-3), "no frequency"),
        (lambda: make_colored_noise(100, [[1.0]]), "sigma"),
        (lambda: make_spiral_mixture([0.0], [0.0, 1.0]), "same length"),
        (lambda: make_spiral_mixture([np.nan], [0.0]), "finite"),
        (lambda: make_postnonlinear_mixture(np.ones((5, 2)), 1.0), "constant"),
        (lambda: make_postnonlinear_mixture([1.0, 2.0], 1.0), "table"),
        (lambda: make_postnonlinear_mixture(np.eye(3), 0.0), "strength"),
    ],
)
def test_bad_input_is_told(call, words):
    with pytest.raises(ValueError, match=words):
        call()
