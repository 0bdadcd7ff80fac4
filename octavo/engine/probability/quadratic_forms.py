"""Distribution of quadratic forms in normal variables, many at a time.

D = Σ a Z² + b Z + c with independent standard normal Z covers weighted sums of noncentral
chi-squares, normal parts (a = 0) and everything between, without a division that fails
where a is small. Its moment generating function is

    M(s) = Π (1 - 2 a s)^(-1/2) exp(c s + b² s² / (2 (1 - 2 a s))),

whose singularities lie on the real axis. P(D ≤ t) is an integral of M(s) exp(-s t) / s along
the imaginary axis (Gil-Pelaez), where it oscillates. Here the path is turned towards the side
on which the integrand decays, about which nothing changes as long as no singularity is
crossed, and the integral is summed by a double exponential rule: some eighty points give
ten digits where Imhof's form needs thousands, or fails (one or two dimensions).
"""

from __future__ import annotations

import math

import numpy as np

from octavo.engine.compilation.kernel_cache import njit

TURN = math.pi / 8  # of the path; below π/4, so that normal parts decay on it too
GROWTH = 3.0  # of the integrand's logarithm, beyond which a turned path is given up
REACH = 4.0  # of the rule on either side: u runs from 1e-19 to 1e+19 standard units
_LARGE = 1e150  # beyond which a product of factors is carried on in part as a logarithm
_LOG_LARGE = math.log(_LARGE)
HALVINGS = 8  # of the first step, 0.2
COARSEST = 1e-4  # of tolerances: sums cut off sooner may miss a whole wave
_FINEST = 0.025  # of the steps whose nodes are kept: the first and three halvings
_MIDDLE = round(REACH / _FINEST)
_TAU = np.arange(-_MIDDLE, _MIDDLE + 1) * _FINEST
_NODES, _WEIGHTS = np.exp(np.pi / 2 * np.sinh(_TAU)), np.pi / 2 * np.cosh(_TAU)
FAR = 1e5  # standard deviations from the mean beyond which Chebyshev leaves less than 1e-10


@njit(cache=True)
def _direction(t, a, b):
    """Return the side on which exp(s w) decays far out, and the size of D - t."""
    far, near, variance = -t, -t, 0.0
    for k in range(len(a)):
        near += a[k]
        variance += 2 * a[k] ** 2 + b[k] ** 2
        if a[k] != 0 and b[k] != 0:
            far -= b[k] ** 2 / (4 * a[k])
    size = math.sqrt(variance + near**2)
    return (1.0 if far > 0 else -1.0), size


@njit(cache=True, error_model="numpy")
def _integrand(s, t, a, b):
    """Return Im M(s) exp(-s t), or infinity where it grows.

    The principal roots of the factors 1 - 2 a s are taken at once: their product's root, with the
    sign turned whenever the angle of the product passes π. Paths cross no cut.
    """
    x, y = s.real, s.imag
    square_x, square_y = x * x - y * y, 2.0 * x * y  # s²
    real, imag = -x * t, -y * t  # of the exponent
    over, up = 1.0, 0.0  # the product of the factors
    sign, log_size = 1.0, 0.0
    for k in range(len(a)):
        gap_x, gap_y = 1.0 - 2.0 * a[k] * x, -2.0 * a[k] * y
        half = 0.5 * b[k] * b[k] / (gap_x * gap_x + gap_y * gap_y)
        real += half * (square_x * gap_x + square_y * gap_y)
        imag += half * (square_y * gap_x - square_x * gap_y)
        before = up
        over, up = over * gap_x - up * gap_y, over * gap_y + up * gap_x
        if before * gap_y > 0.0 and before * up < 0.0:
            sign = -sign
        if abs(over) + abs(up) > _LARGE:
            over, up, log_size = over / _LARGE, up / _LARGE, log_size + _LOG_LARGE
    real -= 0.5 * log_size
    if real > GROWTH:
        return math.inf
    size = math.sqrt(over * over + up * up)  # neither square overflows
    # The root of the product: cosine and sine of half of its angle, from halves of |z| + x.
    root_x = math.sqrt(0.5 * (size + abs(over)))
    root_y = 0.5 * up / root_x
    if over < 0.0:
        root_x, root_y = abs(root_y), (root_x if up >= 0.0 else -root_x)
    size = sign * math.exp(real) / size
    value = size * (root_x * math.sin(imag) - root_y * math.cos(imag))
    return value if value == value else 0.0


@njit(cache=True, error_model="numpy")
def _side(direction, t, a, b, step, shift, sign, negligible):
    """Add the rule's terms from the middle outwards, until they no longer matter."""
    total, quiet, k = 0.0, 0, 0
    kept = step * (0.5 if shift == 0.5 else 1.0) > 0.9 * _FINEST  # all of its nodes
    while total < math.inf:
        tau = sign * (k + shift) * step
        if abs(tau) > REACH:
            return total
        if kept:
            node = int(tau / _FINEST + _MIDDLE + 0.5)
            u, weight = _NODES[node], _WEIGHTS[node]
        else:
            u, weight = math.exp(math.pi / 2 * math.sinh(tau)), math.pi / 2 * math.cosh(tau)
        term = step * weight * _integrand(direction * u, t, a, b)
        total += term
        quiet = quiet + 1 if abs(term) < negligible * step else 0
        if quiet >= 4:
            return total
        k += 1
    return total


@njit(cache=True)
def _along_path(turn, size, t, a, b, tol):
    """Return P(D ≤ t) by a path turned by that angle, and how far the last halving moved it.

    Both are infinite if the integrand grows on that path.
    """
    direction = complex(-math.sin(turn), math.cos(turn)) / size
    step, small = 0.2, 0.01 * tol
    total = _side(direction, t, a, b, step, 0, 1, small)
    total += _side(direction, t, a, b, step, 1, -1, small)
    moved = math.inf
    for halving in range(HALVINGS):
        between = _side(direction, t, a, b, step, 0.5, 1, small)
        between += _side(direction, t, a, b, step, 0.5, -1, small)
        if total + between == math.inf:
            return math.inf, math.inf
        moved = abs(between - total) / (2 * math.pi)
        total = (total + between) / 2
        step /= 2
        if moved <= tol and halving > 0:  # two coarse sums may agree by chance
            break
    cdf = 0.5 - (turn + total) / math.pi
    return min(1.0, max(0.0, cdf)), moved


@njit(cache=True)
def _one_cdf(t, a, b, c, tol):
    """Return P(D ≤ t) of one form, and how far the last halving of the step moved it.

    Far from the mean Chebyshev's inequality answers, and bounds the error.

    Parts of a form that are nearly normal may make the integrand grow on the side where it
    decays in the end: then the other side is tried, and last the axis, where it never grows.
    """
    unit = max(np.abs(a).max(), np.abs(b).max())
    if unit == 0:
        return (1.0 if c.sum() <= t else 0.0), 0.0
    # In units of the largest coefficient no square overflows. A power of two: nothing is rounded.
    unit = math.ldexp(1.0, math.floor(math.log2(unit)))
    # Constants go first: large ones that cancel would take the digits of all that follows.
    t, a, b = (t - c.sum()) / unit, a / unit, b / unit
    away = t - a.sum()
    deviation = math.sqrt((2 * a**2 + b**2).sum())
    if abs(away) > FAR * deviation:
        return (1.0 if away > 0 else 0.0), (deviation / away) ** 2
    side, size = _direction(t, a, b)
    best, moved = _along_path(side * TURN, size, t, a, b, tol)
    for turn in (-side * TURN, 0.0):
        if moved <= tol:
            break
        other, error = _along_path(turn, size, t, a, b, tol)
        if error < moved:
            best, moved = other, error
    return best, moved


@njit(cache=True)
def _all_cdf(t, a, b, c, tol, cdf, error):
    for i in range(len(t)):
        cdf[i], error[i] = _one_cdf(t[i], a[i], b[i], c[i], tol)


def quadratic_form_cdf(
    t: np.ndarray, a: np.ndarray, b: np.ndarray, c: np.ndarray, tol: float = 1e-9
) -> tuple[np.ndarray, np.ndarray]:
    """Return P(Σ a Z² + b Z + c ≤ t) for many forms, and estimates of the error.

    Parameters
    ----------
    t : ndarray of shape (m,)
        Where.
    a, b, c : ndarray of shape (m, p)
        Coefficients of the forms.
    tol : float
        Halve the step of the rule until that moves an answer by less than this.

    Returns
    -------
    cdf : ndarray of shape (m,)
        The probabilities.
    error : ndarray of shape (m,)
        How far the last halving of the step moved each of them.
    """
    cdf, error = np.empty(len(t)), np.empty(len(t))
    t, a, b, c = (np.ascontiguousarray(part, dtype=float) for part in (t, a, b, c))
    _all_cdf(t, a, b, c, min(tol, COARSEST), cdf, error)
    return cdf, error


def _warmup() -> None:
    one = np.ones((1, 1))
    quadratic_form_cdf(np.ones(1), one, one, one)
