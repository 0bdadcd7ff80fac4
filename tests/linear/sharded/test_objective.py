"""Averages by confidence, against the formula in exact arithmetic."""

from fractions import Fraction

import numpy as np
import pytest

from octavo.linear import confidence_average


def exact(ws, Gs):
    w, G = [[Fraction(v) for v in part] for part in ws], [[Fraction(v) for v in g] for g in Gs]
    total = [sum(column) for column in zip(*G)]
    average = [sum(g * v for g, v in zip(gs, vs)) for gs, vs in zip(zip(*G), zip(*w))]
    squares = [sum(g * g for g in gs) for gs in zip(*G)]
    return (
        [float(a / t) if t else 0.0 for a, t in zip(average, total)],
        [float(s / t) if t else 0.0 for s, t in zip(squares, total)],
    )


@pytest.mark.parametrize("scale", [1e-300, 1e-155, 1.0, 1e155, 1e300])
def test_any_scale_of_confidence(scale):
    rng = np.random.default_rng(0)
    ws, Gs = rng.normal(size=(5, 4)), rng.exponential(size=(5, 4)) * scale
    Gs[:, 2] = 0.0  # nobody knows
    for found, wanted in zip(confidence_average(ws, Gs), exact(ws, Gs)):
        np.testing.assert_allclose(found, wanted, rtol=1e-14)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1j, "a"])
def test_bad_numbers_are_refused(bad):
    for place in range(2):
        arguments = [[[1.0, 2.0], [3.0, 4.0]], [[1.0, 2.0], [3.0, 4.0]]]
        arguments[place][1] = [bad, 1.0]
        with pytest.raises(ValueError, match=rf"{'wG'[place]}s\[1\] must"):
            confidence_average(*arguments)


def test_shapes_must_agree():
    with pytest.raises(ValueError, match="same shape"):
        confidence_average([[1.0, 2.0]], [[1.0]])
