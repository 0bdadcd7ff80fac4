"""The convex functions of Table 2: f, its derivative, weight, conjugate and limits, in closed form.

Each is taken from its affine class in the form whose Csiszár dual t f(1/t) is again in the list:
symmetric divergences are their own duals. Weights are those of Eq. (28). Where the printed table
and that equation differ, the equation is right: the variational divergence has an atom of mass 4
at one half, and the arithmetic-geometric one a factor of 4 below.

Reference: Reid and Williamson (2011), JMLR 12:731-817, section 5.4 and appendices F and G.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import rel_entr, wrightomega, xlogy

from octavo.engine.estimators.arrays import Floats

Curve = Callable[[Floats], Floats]
_LOG2 = float(np.log(2.0))


class Generator(NamedTuple):
    """A convex f with f(1) = 0 on t > 0, and what belongs to it.

    ``at_zero`` is f(0) and ``slope`` the limit of f(t) / t; both may be infinite. ``conjugate`` is
    None where it has no closed form. ``dual`` names the generator of t f(1/t). ``masses`` is
    q f(p / q) of arrays, zeros included, where that is one expression without their ratio.
    """

    f: Curve
    df: Curve
    gamma: Curve
    at_zero: float
    slope: float
    conjugate: Curve | None
    dual: str
    atoms: tuple[tuple[float, float], ...] = ()
    masses: Callable[[Floats, Floats], Floats] | None = None


def _variational_conjugate(s: Floats) -> Floats:
    return np.where(s > 1.0, np.inf, np.maximum(s, -1.0))


def _reverse_kl_conjugate(s: Floats) -> Floats:
    return np.where(s < 0.0, -1.0 - np.log(np.where(s < 0.0, -s, 1.0)), np.inf)


def _triangular_conjugate(s: Floats) -> Floats:
    root = np.sqrt(np.clip(1.0 - s, 0.0, 4.0))
    inner = 4.0 - np.maximum(s, -3.0) - 4.0 * root
    return np.where(s > 1.0, np.inf, inner)


def _jensen_shannon_conjugate(s: Floats) -> Floats:
    rest = 2.0 - np.exp(2.0 * np.minimum(s, 0.5 * _LOG2))
    return np.where(rest > 0.0, -0.5 * np.log(np.where(rest > 0.0, rest, 1.0)), np.inf)


def _jensen_shannon_masses(p: Floats, q: Floats) -> Floats:
    middle = 0.5 * p + 0.5 * q
    return 0.5 * rel_entr(p, middle) + 0.5 * rel_entr(q, middle)


def _jeffreys_conjugate(s: Floats) -> Floats:
    u = np.real(wrightomega(1.0 - s))  # u = 1/t solves u + ln u = 1 - s
    return s + u + 1.0 / u - 2.0


def _hellinger_conjugate(s: Floats) -> Floats:
    return np.where(s < 1.0, s / np.where(s < 1.0, 1.0 - s, 1.0), np.inf)


def _pearson_conjugate(s: Floats) -> Floats:
    return np.where(s >= -2.0, s + 0.25 * s * s, -1.0)


def _neyman_conjugate(s: Floats) -> Floats:
    return np.where(s <= 1.0, 2.0 - 2.0 * np.sqrt(np.maximum(1.0 - s, 0.0)), np.inf)


def _mean_ratio(t: Floats) -> Floats:
    """Return the logarithm of the arithmetic over the geometric mean of 1 and t."""
    return np.log1p(t) - _LOG2 - 0.5 * np.log(t)


GENERATORS: dict[str, Generator] = {
    "variational": Generator(
        lambda t: np.abs(t - 1.0),
        lambda t: np.where(t >= 1.0, 1.0, -1.0),
        lambda p: np.zeros_like(p),
        1.0,
        1.0,
        _variational_conjugate,
        "variational",
        ((0.5, 4.0),),
        masses=lambda p, q: np.abs(p - q),
    ),
    "kl": Generator(
        lambda t: xlogy(t, t),
        lambda t: np.log(t) + 1.0,
        lambda p: 1.0 / (p * p * (1.0 - p)),
        0.0,
        np.inf,
        lambda s: np.exp(s - 1.0),
        "reverse_kl",
        masses=rel_entr,
    ),
    "reverse_kl": Generator(
        lambda t: -np.log(t),
        lambda t: -1.0 / t,
        lambda p: 1.0 / (p * (1.0 - p) ** 2),
        np.inf,
        0.0,
        _reverse_kl_conjugate,
        "kl",
        masses=lambda p, q: rel_entr(q, p),
    ),
    "triangular": Generator(
        lambda t: (t - 1.0) ** 2 / (t + 1.0),
        lambda t: 1.0 - 4.0 / (t + 1.0) ** 2,
        lambda p: np.full_like(p, 8.0),
        1.0,
        1.0,
        _triangular_conjugate,
        "triangular",
    ),
    "jensen_shannon": Generator(
        lambda t: 0.5 * xlogy(t, t) - 0.5 * (t + 1.0) * (np.log1p(t) - _LOG2),
        lambda t: 0.5 * (np.log(t) - np.log1p(t) + _LOG2),
        lambda p: 0.5 / (p * (1.0 - p)),
        0.5 * _LOG2,
        0.5 * _LOG2,
        _jensen_shannon_conjugate,
        "jensen_shannon",
        masses=_jensen_shannon_masses,
    ),
    "arithmetic_geometric": Generator(
        lambda t: 0.5 * (t + 1.0) * _mean_ratio(t),
        lambda t: 0.5 * _mean_ratio(t) + 0.25 - 0.25 / t,
        lambda p: (2.0 * p * p - 2.0 * p + 1.0) / (4.0 * (p * (1.0 - p)) ** 2),
        np.inf,
        np.inf,
        None,
        "arithmetic_geometric",
    ),
    "jeffreys": Generator(
        lambda t: (t - 1.0) * np.log(t),
        lambda t: np.log(t) + 1.0 - 1.0 / t,
        lambda p: 1.0 / (p * (1.0 - p)) ** 2,
        np.inf,
        np.inf,
        _jeffreys_conjugate,
        "jeffreys",
        masses=lambda p, q: rel_entr(p, q) + rel_entr(q, p),
    ),
    "hellinger": Generator(
        lambda t: (np.sqrt(t) - 1.0) ** 2,
        lambda t: 1.0 - 1.0 / np.sqrt(t),
        lambda p: 0.5 * (p * (1.0 - p)) ** -1.5,
        1.0,
        1.0,
        _hellinger_conjugate,
        "hellinger",
        masses=lambda p, q: (np.sqrt(p) - np.sqrt(q)) ** 2,
    ),
    "pearson": Generator(
        lambda t: (t - 1.0) ** 2,
        lambda t: 2.0 * (t - 1.0),
        lambda p: 2.0 / p**3,
        1.0,
        np.inf,
        _pearson_conjugate,
        "neyman",
    ),
    "neyman": Generator(
        lambda t: (t - 1.0) ** 2 / t,
        lambda t: 1.0 - 1.0 / (t * t),
        lambda p: 2.0 / (1.0 - p) ** 3,
        np.inf,
        1.0,
        _neyman_conjugate,
        "pearson",
    ),
    "symmetric_chi2": Generator(
        lambda t: (t - 1.0) ** 2 * (t + 1.0) / t,
        lambda t: 2.0 * t - 1.0 - 1.0 / (t * t),
        lambda p: 2.0 / p**3 + 2.0 / (1.0 - p) ** 3,
        np.inf,
        np.inf,
        None,
        "symmetric_chi2",
    ),
}


def dual_generator(generator: Any) -> tuple[Curve, Curve, Curve]:
    """Return t f(1/t), its derivative and its weight γ(1 - π) (Eq. (16) and Corollary 13)."""
    f, df, gamma = generator
    return (
        lambda t: t * f(1.0 / t),
        lambda t: f(1.0 / t) - df(1.0 / t) / t,
        lambda p: gamma(1.0 - p),
    )
