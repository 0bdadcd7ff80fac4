"""The best possible bounds between divergences, and from one loss's regret to another's.

A divergence given the variational divergence is least for distributions on two outcomes: merging
all others by the sign of p - q keeps V and lowers everything else. Given several points of the
0-1 risk curve it is least for a curve of straight pieces through them, whose slopes are found by
a convex program in a box (Theorem 30). Each piece's end is an outcome of a pair (P, Q), so that
the objective is an ordinary divergence and needs no integral.

The printed Theorem 25 takes the larger of two sides where only the smaller one holds: what is
here is the corrected form.

Reference: Reid and Williamson (2011), "Information, divergence and risk for binary experiments",
JMLR 12:731-817, section 7 and appendices A, B and D.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from octavo.engine.duals.sparse_qp import solve_lp
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.doubles import real_array
from octavo.info.binary_experiments.csiszar import CsiszarDivergence, resolve_divergence
from octavo.info.binary_experiments.losses import ProperLoss, resolve_loss
from octavo.info.binary_experiments.weights import (
    evaluate,
    golden_section,
    one_number,
    one_prior,
    open_unit,
)

__all__ = [
    "extended_convolution",
    "generalized_pinsker",
    "pinsker_bound",
    "psi_transform",
    "surrogate_regret_bound",
]


@checked
def pinsker_bound(div: CsiszarDivergence | str, V: ArrayLike) -> Floats:
    """Return the least divergence that two distributions of variational divergence V can have.

    Parameters
    ----------
    div : CsiszarDivergence or str
        The divergence or its name.
    V : array-like
        Variational divergences Σ|p - q|, from 0 to 2.

    Returns
    -------
    ndarray or float
        The bound, attained on two outcomes; infinity where it is.

    Examples
    --------
    >>> from octavo.info import pinsker_bound
    >>> print(f"{pinsker_bound('kl', 1.0):.6f}, {pinsker_bound('kl', 1.5):.6f}")
    0.532298, 1.339702
    """
    div, V = resolve_divergence(div), real_array(V, "V")
    if V.size and not (V.min() >= 0.0 and V.max() <= 2.0):
        raise ValueError(
            "V is the sum of |p - q| and lies between 0 and 2, got "
            f"{V.min():.6g} to {V.max():.6g}; some authors halve it."
        )

    def value(x: Floats) -> Floats:  # P = (x, 1-x) and Q = (x - V/2, 1 - x + V/2)
        y = np.maximum(x - 0.5 * V, 0.0)
        rest = np.maximum(1.0 - x, 0.0)
        terms = div.perspective(x, y), div.perspective(rest, np.maximum(1.0 - y, 0.0))
        return np.asarray(terms[0]) + np.asarray(terms[1])

    if div.is_symmetric:  # Theorem 31: the even split
        return np.maximum(value(0.5 + 0.25 * V), 0.0)[()]
    return np.maximum(golden_section(value, 0.5 * V, np.ones_like(V)), 0.0)[()]


class _Pieces:
    """Concave curves of straight pieces through given points, below the tent min(π, 1-π)."""

    def __init__(self, div: CsiszarDivergence, pis: Floats, values: Floats) -> None:
        self.div, self.pis, self.values = div, pis, values
        x, y = np.concatenate([[0.0], pis, [1.0]]), np.concatenate([[0.0], values, [0.0]])
        chords = np.diff(y) / np.diff(x)
        self.low, self.high = chords[1:], chords[:-1]  # the set A_n of Theorem 30
        if np.any(self.low > self.high + 1e-9):
            worst = int(np.argmax(self.low - self.high))
            raise ValueError(
                "values must lie on a concave curve from (0, 0) to (1, 0), as every risk curve is; "
                f"the point at pi = {pis[worst]:.6g} lies below its neighbours' chord."
            )
        self.high = np.maximum(self.low, self.high)

    def knots(self, a: Floats) -> tuple[Floats, Floats]:
        """Return where neighbouring pieces meet, and by how much the slope falls there."""
        slopes = np.concatenate([[1.0], a, [-1.0]])
        heights = np.concatenate([[0.0], self.values - a * self.pis, [1.0]])
        fall = slopes[:-1] - slopes[1:]
        # rounding of slopes is no outcome, and may be one of infinite cost
        fall[fall < 1e-12] = 0.0
        meet = np.diff(heights) / np.where(fall > 0.0, fall, 1.0)  # Eq. (51)
        left = np.concatenate([[0.0], self.pis])
        right = np.concatenate([self.pis, [1.0]])
        return np.clip(np.where(fall > 0.0, meet, right), left, right), fall

    def objective(self, a: Floats) -> float:
        """Return Eq. (56): a knot at π with fall m is an outcome of masses m (1-π) and m π."""
        place, fall = self.knots(a)
        return float(np.sum(self.div.perspective(fall * (1.0 - place), fall * place)))

    def gradient(self, a: Floats) -> Floats:
        """Return -∫ (π - π_i) γ over each piece, in closed form."""
        place = np.clip(self.knots(a)[0], 1e-300, 1.0 - 1e-16)
        t = (1.0 - place) / place
        f, df = np.asarray(self.div.f(t)), np.asarray(self.div.df(t))
        height, slope = place * f, f - df / place  # of the perspective π f((1-π) / π)
        # ∫(π − π_i) γ by parts: γ is the second derivative of π f((1 − π)/π)
        first = (place[:-1] - self.pis) * slope[:-1] - height[:-1]
        second = (place[1:] - self.pis) * slope[1:] - height[1:]
        return first - second

    def gap(self, a: Floats) -> float:
        """Return how far above the least value a point can be, by convexity."""
        g, wide = self.gradient(a), self.high > self.low
        with np.errstate(invalid="ignore"):
            parts = np.maximum(g * (a - self.low), g * (a - self.high))
        return float(np.sum(np.where(wide & np.isfinite(parts), parts, 0.0)))

    def inner(self, share: float) -> tuple[Floats, Floats]:
        """Return the box without a share at both ends, where the objective may be infinite."""
        width = share * (self.high - self.low)
        return self.low + width, self.high - width


def _by_sweeps(pieces: _Pieces, a: Floats, tol: float, max_iter: int = 60) -> Floats:
    """Minimise over every other slope at once by halving: odd ones, even ones, until settled."""
    low, high = pieces.inner(1e-12)
    for _ in range(max_iter):
        for start in (0, 1):
            mine = np.arange(a.size) % 2 == start
            left, right = np.where(mine, low, a), np.where(mine, high, a)
            for _ in range(52):
                a = 0.5 * (left + right)
                rising = pieces.gradient(a) > 0.0
                left, right = np.where(mine & ~rising, a, left), np.where(mine & rising, a, right)
            a = 0.5 * (left + right)
        if pieces.gap(a) <= tol * (1.0 + pieces.objective(a)):
            break
    return a


def _by_cuts(pieces: _Pieces, tol: float, max_iter: int = 500) -> float:
    """Minimise by linear programs over tangents; for weights with atoms, which have corners."""
    finite = np.isfinite(pieces.div.at_zero) and np.isfinite(pieces.div.slope)
    low, high = pieces.inner(0.0 if finite else 1e-9)
    n, a, best = low.size, 0.5 * (low + high), np.inf
    rows, sides = [-np.append(np.eye(n)[i], 0.0) for i in range(n)], list(-high)
    floor = np.append(low, 0.0)  # a divergence is at least 0
    for _ in range(max_iter):
        value, slope = pieces.objective(a), pieces.gradient(a)
        best = min(best, value)
        rows.append(np.append(-slope, 1.0))
        sides.append(value - float(slope @ a))
        found = solve_lp(np.eye(n + 1)[n], sp.csr_matrix(np.array(rows)), sides, lower=floor)
        if best - found.objective <= tol * (1.0 + best):
            break
        a = np.clip(found.x[:n], low, high)
    return best


@checked
def generalized_pinsker(div: CsiszarDivergence | str, pis: ArrayLike, values: ArrayLike) -> float:
    """Return the least divergence of two distributions whose 0-1 risks are known at some priors.

    Parameters
    ----------
    div : CsiszarDivergence or str
        The divergence or its name.
    pis : array-like of shape (n,)
        Priors π, different, strictly between 0 and 1.
    values : array-like of shape (n,)
        Risks Σ min(π p, (1-π) q) at these priors; 1/2 - V/4 at one half.

    Returns
    -------
    float
        The bound of Theorem 30, to about 1e-9; attained by distributions on n + 1 outcomes.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import generalized_pinsker
    >>> p, q = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.2, 0.6])
    >>> pis = np.array([0.35, 0.6])
    >>> values = np.minimum(np.outer(pis, p), np.outer(1 - pis, q)).sum(axis=1)
    >>> print(f"{generalized_pinsker('kl', pis, values):.4f}")  # the divergence itself is 0.3601
    0.3544
    """
    div, pis = resolve_divergence(div), open_unit(pis, "pis").ravel()
    values = real_array(values, "values").ravel()
    if not pis.size or pis.shape != values.shape:
        raise ValueError(
            f"pis and values must match and hold a point at least, got {pis.size} and "
            f"{values.size}."
        )
    order = np.argsort(pis)
    pis, values = pis[order], values[order]
    if np.any(np.diff(pis) <= 1e-12):
        raise ValueError("pis must be different from each other.")
    tent = np.minimum(pis, 1.0 - pis)
    if np.any(values < -1e-12) or np.any(values > tent + 1e-9):
        worst = int(np.argmax(np.maximum(values - tent, -values)))
        raise ValueError(
            "values must lie between 0 and min(pi, 1 - pi), as every 0-1 risk does; at pi = "
            f"{pis[worst]:.6g} it is {values[worst]:.6g}."
        )
    pieces = _Pieces(div, pis, np.clip(values, 0.0, tent))
    if div.atoms:
        return _by_cuts(pieces, 1e-10)
    low, high = pieces.inner(1e-9)
    start = minimize(
        pieces.objective,
        0.5 * (low + high),
        jac=pieces.gradient,
        method="L-BFGS-B",
        bounds=list(zip(low, high, strict=True)),
        options={"ftol": 1e-15, "gtol": 1e-10, "maxiter": 500},
    ).x
    a = np.clip(start, pieces.low, pieces.high)
    if not pieces.gap(a) <= 1e-10 * (1.0 + pieces.objective(a)):
        a = _by_sweeps(pieces, a, 1e-10)
    value, gap = pieces.objective(a), pieces.gap(a)
    if gap > 1e-8 * (1.0 + value):
        warnings.warn(
            f"The bound may be too large by {gap:.1e}: the slopes have not settled.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return max(value, 0.0)


@checked
def surrogate_regret_bound(
    loss: ProperLoss | str,
    c0: float,
    alpha: float | None = None,
    regret: float | None = None,
    *,
    side: str = "either",
    method: str = "exact",
) -> float:
    """Bound the regret of a proper loss by that of cost-weighted decisions, or the other way.

    Parameters
    ----------
    loss : ProperLoss or str
        The surrogate loss or its name.
    c0 : float
        The cost at which decisions are made, strictly between 0 and 1.
    alpha : float, default=None
        Regret of the decisions, for ℓ_c0 (half of the 0-1 regret at c0 = 1/2): the least regret
        of the surrogate is returned.
    regret : float, default=None
        Regret of the surrogate: the largest regret of the decisions is returned (Corollary 28).
    side : {"either", "above", "below"}, default="either"
        Where the true probability is known to lie: above c0, below, or not known.
    method : {"exact", "quadratic"}, default="exact"
        The tight bound, or w(1/2) α² / 2 for symmetric losses at c0 = 1/2 (Corollary 29). The
        latter holds only where w is least at one half and is refused elsewhere.

    Returns
    -------
    float
        The bound of Theorem 25, with the smaller of its two sides: the printed maximum is wrong.

    Examples
    --------
    >>> from octavo.info import surrogate_regret_bound
    >>> print(f"{surrogate_regret_bound('log', 0.5, alpha=0.2):.4f}")
    0.0823
    >>> print(f"{surrogate_regret_bound('log', 0.5, regret=0.0823):.3f}")
    0.200
    """
    loss, c0 = resolve_loss(loss), one_prior(c0, "c0")
    if (alpha is None) == (regret is None):
        raise ValueError("Give either alpha or regret, not both or neither.")
    if side not in ("either", "above", "below"):
        raise ValueError(f"side must be 'either', 'above' or 'below', got {side!r}.")
    if method == "quadratic":
        return _quadratic(loss, c0, alpha, regret)
    if method != "exact":
        raise ValueError(f"method must be 'exact' or 'quadratic', got {method!r}.")
    sides = [s for s in ("above", "below") if side in (s, "either")]
    if alpha is not None:
        alpha = _at_least_zero(alpha, "alpha")
        bounds = [_psi(loss, c0, alpha, s) for s in sides if alpha <= _room(c0, s)]
        if not bounds:
            raise ValueError(
                f"alpha must be at most {max(_room(c0, s) for s in sides):.6g}, the largest regret "
                f"at c0 = {c0:g}; got {alpha:.6g}."
            )
        return min(bounds)
    regret = _at_least_zero(regret, "regret")
    return max(_inverse_psi(loss, c0, regret, s) for s in sides)


def _at_least_zero(value: Any, name: str) -> float:
    number = one_number(value, name)
    if number < 0.0:
        raise ValueError(f"{name} is a regret and at least 0, got {number:g}.")
    return number


def _room(c0: float, side: str) -> float:
    return 1.0 - c0 if side == "above" else c0


def _psi(loss: ProperLoss, c0: float, alpha: float, side: str) -> float:
    """Return B(c0 ± α, c0), the prediction falling on the wrong side (Lemma 26)."""
    if side == "above":  # a prediction below c0, which is called negative
        return float(loss.regret(min(c0 + alpha, 1.0), np.nextafter(c0, 0.0)))
    return float(loss.regret(max(c0 - alpha, 0.0), c0))


def _inverse_psi(loss: ProperLoss, c0: float, regret: float, side: str) -> float:
    low, high = 0.0, _room(c0, side)
    if _psi(loss, c0, high, side) <= regret:
        return high
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _psi(loss, c0, middle, side) <= regret else (low, middle)
    return low


def _quadratic(loss: ProperLoss, c0: float, alpha: Any, regret: Any) -> float:
    grid = 0.5 + np.linspace(0.0, 0.499, 200)
    at_half = float(loss.weight(0.5))
    if c0 != 0.5 or not loss.is_symmetric:
        raise ValueError("The quadratic bound is for symmetric losses at c0 = 0.5.")
    if np.min(loss.weight(grid)) < at_half * (1.0 - 1e-9):
        raise ValueError(
            "The quadratic bound fails for weights that are not least at one half, as this one; "
            "use method='exact'."
        )
    if alpha is not None:
        return 0.5 * at_half * _at_least_zero(alpha, "alpha") ** 2  # Corollary 29
    if at_half <= 0.0:
        return 0.5
    # the same turned round; no 0-1 regret exceeds a half
    return min(float(np.sqrt(2.0 * _at_least_zero(regret, "regret") / at_half)), 0.5)


@checked
def psi_transform(margin_loss: Callable[[Any], Any], theta: ArrayLike) -> Floats:
    """Return the ψ-transform of a margin loss: what Theorem 25 is compared with (appendix D).

    Bartlett, Jordan and McAuliffe bound the 0-1 regret by ψ(0-1 regret) ≤ regret of the loss, for
    losses φ(y h) of real predictions. Found by a search over h, and made convex.

    Parameters
    ----------
    margin_loss : callable
        φ of the margin, convex.
    theta : array-like
        0-1 regrets from 0 to 1.

    Returns
    -------
    ndarray
        ψ(θ). For a margin loss that is a proper loss with a link it equals
        ``surrogate_regret_bound(loss, 0.5, alpha=theta / 2)``.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import psi_transform
    >>> print(psi_transform(lambda m: np.exp(-m), [0.5]).round(4))  # 1 - √(1 - θ²)
    [0.134]
    """
    theta = real_array(theta, "theta")
    if theta.size and not (theta.min() >= 0.0 and theta.max() <= 1.0):
        raise ValueError("theta is a 0-1 regret and lies between 0 and 1.")
    grid = np.union1d(np.linspace(0.0, 1.0, 257), theta.ravel())
    eta = 0.5 * (1.0 + grid)

    def risk(h: Floats) -> Floats:
        return eta * evaluate(margin_loss, h, "margin_loss") + (1.0 - eta) * evaluate(
            margin_loss, -h, "margin_loss"
        )

    wide = np.full(eta.size, 30.0)
    free = golden_section(risk, -wide, wide)
    wrong = golden_section(risk, -wide, np.zeros(eta.size))  # predictions of the wrong sign
    gain = wrong - free
    if not np.isfinite(gain).all():
        raise ValueError("margin_loss must be finite for margins between -30 and 30.")
    hull = [0]
    for i in range(1, grid.size):  # the lower hull: the biconjugate
        while len(hull) > 1 and _turns_down(grid, gain, hull[-2], hull[-1], i):
            hull.pop()
        hull.append(i)
    return np.maximum(np.interp(theta, grid[hull], gain[hull]), 0.0)


def _turns_down(x: Floats, y: Floats, i: int, j: int, k: int) -> bool:
    return bool((y[j] - y[i]) * (x[k] - x[i]) >= (y[k] - y[i]) * (x[j] - x[i]))


@checked
def extended_convolution(f: Callable[[Any], Any], g: Callable[[Any], Any], t: ArrayLike) -> Floats:
    """Return the extended infimal convolution inf over x > 0 of f(x) + t g(x / t).

    Parameters
    ----------
    f, g : callable
        Convex functions on x > 0.
    t : array-like
        Where it is wanted, above 0.

    Returns
    -------
    ndarray
        Values (Definition 35); the triangular discrimination for (x - 1)² twice.

    Examples
    --------
    >>> from octavo.info import extended_convolution
    >>> print(extended_convolution(lambda x: (x - 1) ** 2, lambda x: (x - 1) ** 2, [3.0]))
    [1.]
    """
    t = real_array(t, "t")
    if t.size and t.min() <= 0.0:
        raise ValueError(f"t must be positive, got {t.min():.6g}.")
    grid = np.exp(np.linspace(-40.0, 40.0, 161))

    def value(x: Floats) -> Floats:
        return evaluate(f, x, "f") + t * evaluate(g, x / t, "g")

    with np.errstate(all="ignore"):
        table = np.array([np.broadcast_to(value(np.full(t.shape, x)), t.shape) for x in grid])
    if not np.isfinite(table).any():
        raise ValueError("f and g must be finite somewhere on x > 0.")
    centre = np.log(grid[np.argmin(np.where(np.isfinite(table), table, np.inf), axis=0)])
    return golden_section(lambda u: value(np.exp(u)), centre - 0.5, centre + 0.5)[()]
