"""Δ-values of known signals, the sum rule against enumeration, and the paper's own numbers."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.decomposition import (
    correlation_time,
    delta_density,
    delta_value,
    predicted_delta,
    predicted_spectrum,
    required_samples,
    resolvable_difference,
    slow_frequency,
)


def test_sines_and_noise():
    t = np.arange(200_000)
    w = 2 * np.pi / 200
    assert delta_value(np.sin(w * t)) == pytest.approx(2 - 2 * np.cos(w), rel=1e-4)
    noise = np.random.default_rng(0).normal(size=len(t))
    # The mean of T squares of differences has a standard error of √(6 · 4 / T) / 2 · 2 ≈ 0.011.
    assert delta_value(noise) == pytest.approx(2.0, abs=0.05)


@given(shift=st.floats(-1e6, 1e6), scale=st.floats(1e-3, 1e3), dt=st.floats(0.01, 100.0))
def test_shift_scale_time_and_direction(shift, scale, dt):
    y = np.cumsum(np.random.default_rng(1).normal(size=300))
    expected = delta_value(y)
    assert delta_value(scale * y + shift, dt) * dt**2 == pytest.approx(expected, rel=1e-5)
    assert delta_value(y[::-1]) == pytest.approx(expected, rel=1e-12)


def test_episodes_lose_the_difference_at_their_border():
    y = np.random.default_rng(2).normal(size=50)
    steps = np.delete(np.diff(y), 19)  # that between rows 19 and 20
    expected = np.mean(steps**2) / y.var()
    assert delta_value(y, lengths=[20, 30]) == pytest.approx(expected, rel=1e-12)
    assert delta_value([y[:20, None], y[20:, None]]) == pytest.approx(expected, rel=1e-12)
    assert delta_value(y, lag=3) == pytest.approx(np.mean((y[3:] - y[:-3]) ** 2) / y.var())


@pytest.mark.parametrize("size", [1e-5, 1e5, 1e150, 1e-150])
def test_any_scale(size):
    y = np.random.default_rng(3).normal(size=(100, 2))
    np.testing.assert_allclose(delta_value(size * y), delta_value(y), rtol=1e-10)


@pytest.mark.parametrize("law", ["gaussian", "uniform"])
def test_spectrum_is_that_of_enumeration(law):
    deltas, power = [0.013, 0.031, 0.047], 1 if law == "gaussian" else 2
    table = np.array(list(product(range(9), repeat=3)))[1:]
    every = (table.astype(float) ** power) @ deltas
    found = predicted_spectrum(deltas, 8, law=law)
    np.testing.assert_allclose(found.delta_values, np.sort(every)[:8], rtol=1e-12)
    np.testing.assert_allclose(
        predicted_delta(deltas, found.orders, law=law), found.delta_values, rtol=1e-12
    )


def test_ladders_may_be_given():
    ladders = [[0.01, 0.05], [0.02, 0.03, 0.07]]
    assert predicted_delta(ladders, [2, 3]) == pytest.approx(0.12)
    with pytest.raises(ValueError, match="2 harmonics of source 0"):
        predicted_delta(ladders, [3, 0])


def test_counts_are_volumes():
    # The number of lattice points below a plane is the volume up to lower orders.
    table = np.array(list(product(range(400), range(400))))
    exact = ((table @ [0.01, 0.013]) < 3.0).sum()
    count, density = delta_density(3.0, [0.01, 0.013])
    assert count == pytest.approx(exact, rel=0.02)
    step = 1e-5
    numeric = (delta_density(3 + step, [0.01, 0.013])[0] - count) / step
    assert density == pytest.approx(numeric, rel=1e-4)


def test_the_papers_example():
    # Section 5.1: Δ = 0.01 means ten samples; 5 % apart needs 400 of these, 4000 samples.
    assert correlation_time(0.01) == pytest.approx(10.0)
    assert required_samples(0.01, 0.0105) == required_samples(0.0105, 0.01) == 4000
    assert resolvable_difference(0.01, 4000) == pytest.approx(0.0005)
    assert slow_frequency((2 * np.pi * 0.02) ** 2) == pytest.approx(0.02)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: delta_value(np.ones(10)), "constant"),
        (lambda: delta_value([1.0, np.nan, 2.0]), "position 1"),
        (lambda: delta_value([1.0, 2.0], dt=0), "dt must be"),
        (lambda: delta_value([1.0, 2.0], lag=2), "more than lag=2"),
        (lambda: delta_value(np.zeros((2, 2, 2))), "rows of numbers"),
        (lambda: delta_value([1.0, 2.0], lengths=[1, 2]), "add up to 3"),
        (lambda: required_samples(0.1, 0.1), "cannot be told apart"),
        (lambda: required_samples(-0.1, 0.1), "positive"),
        (lambda: predicted_delta([0.1], [[0.5]]), "integers"),
        (lambda: predicted_delta([0.1], [-1]), "negative"),
        (lambda: predicted_delta([0.1], [1, 2]), "2 columns"),
        (lambda: predicted_delta([0.1], [1], law="cauchy"), "'cauchy'"),
        (lambda: delta_density(0.1, []), "1 to 100"),
        (lambda: correlation_time(0.0), "positive"),
    ],
)
def test_bad_input_is_told(call, words):
    with pytest.raises(ValueError, match=words):
        call()
