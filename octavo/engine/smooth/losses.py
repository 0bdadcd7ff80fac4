"""Losses of a linear prediction: value, two derivatives, and the constants that bounds need.

A loss is a function of the prediction p and the target y: y is -1 or +1 for the
classification losses and a real number for ``squared``, ``quantile``, ``smooth_absolute`` and
``logcosh``.
Derivatives are with respect to p. `LOSSES` names those that are built in; `SmoothLoss` evaluates
them on arrays, and the scalar kernels ``loss_value``, ``loss_slope`` and ``loss_curvature`` serve
compiled loops.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats
from octavo.engine.probability.normal import sigmoid

LOG, HUBER, SMOOTH_HINGE, SQUARED_HINGE, SQUARED, HINGE, QUANTILE, SMOOTH_ABSOLUTE = range(8)
LOG_COSH, SQUARE_ROOT = 8, 9


@njit(cache=True)
def loss_value(code, h, p, y):
    """Return the loss; h is the half-width of a smoothed kink or the quantile's level."""
    if code == SQUARED:
        return 0.5 * (p - y) ** 2
    if code == SMOOTH_ABSOLUTE:
        r = abs(p - y)
        # r above h, and a parabola that meets it with its slope below
        return r if r >= h else 0.5 * (r * r / h + h)
    if code == QUANTILE:
        return h * (y - p) if y > p else (1.0 - h) * (p - y)
    if code == LOG_COSH:
        r = abs(p - y)
        return r + math.log1p(math.exp(-2.0 * r)) - math.log(2.0)
    z = y * p
    if code == SQUARE_ROOT:  # -yp + √(1 + p²), without the difference of two large numbers
        root = math.hypot(1.0, p)
        # 1 = y² gives (root - z)(root + z) = 1 + p² - z² = 1.
        return root - z if z <= 0.0 or y * y != 1.0 else 1.0 / (root + z)
    if code == LOG:
        return math.log1p(math.exp(-z)) if z > 0.0 else math.log1p(math.exp(z)) - z
    u = 1.0 - z
    if code == SQUARED_HINGE:
        return u * u if u > 0.0 else 0.0
    if code == HINGE:
        return u if u > 0.0 else 0.0
    if u <= -h:
        return 0.0
    if u >= h:
        return u
    if code == HUBER:
        return (u + h) ** 2 / (4.0 * h)  # Chaudhuri, Monteleoni and Sarwate (2011), Eq. (7)
    # The same authors' ℓ_s of degree four: its second derivative vanishes at both ends.
    return -(u**4) / (16.0 * h**3) + 3.0 * u * u / (8.0 * h) + 0.5 * u + 3.0 * h / 16.0


@njit(cache=True)
def loss_slope(code, h, p, y):
    """Return the first derivative; at a kink, the derivative on the side of no loss."""
    if code == SQUARED:
        return p - y
    if code == SMOOTH_ABSOLUTE:
        return min(1.0, max(-1.0, (p - y) / h))
    if code == QUANTILE:
        return -h if y > p else (1.0 - h if y < p else 0.0)
    if code == LOG_COSH:
        return math.tanh(p - y)
    z = y * p
    if code == SQUARE_ROOT:
        return p / math.hypot(1.0, p) - y
    if code == LOG:
        return -y * sigmoid(-z)
    u = 1.0 - z
    if code == SQUARED_HINGE:
        return -2.0 * y * u if u > 0.0 else 0.0
    if code == HINGE:
        return -y if u > 0.0 else 0.0
    if u <= -h:
        return 0.0
    if u >= h:
        return -y
    if code == HUBER:
        return -y * (u + h) / (2.0 * h)
    return -y * (-(u**3) / (4.0 * h**3) + 3.0 * u / (4.0 * h) + 0.5)


@njit(cache=True)
def loss_curvature(code, h, p, y):
    """Return the second derivative, zero where it does not exist."""
    if code == SQUARED:
        return 1.0
    if code in (QUANTILE, HINGE):
        return 0.0
    if code == SMOOTH_ABSOLUTE:
        return 1.0 / h if abs(p - y) <= h else 0.0
    if code == LOG_COSH:
        e = math.exp(-2.0 * abs(p - y))
        return 4.0 * e / (1.0 + e) ** 2
    if code == SQUARE_ROOT:
        return 1.0 / math.hypot(1.0, p) ** 3
    z = y * p
    if code == LOG:
        s = sigmoid(z)
        return s * (1.0 - s)
    u = 1.0 - z
    if code == SQUARED_HINGE:
        return 2.0 if u > 0.0 else 0.0
    if abs(u) > h:
        return 0.0
    if code == HUBER:
        return 1.0 / (2.0 * h)
    return 3.0 * (h * h - u * u) / (4.0 * h**3)


@njit(cache=True)
def _evaluate(code, h, p, y, weight, slope, curvature):
    """Fill weighted slopes and curvatures (where room is given) and return the weighted sum."""
    total = 0.0
    for i in range(p.shape[0]):
        w = weight[i] if weight.shape[0] else 1.0
        if code == LOG and slope.shape[0] and curvature.shape[0]:  # one exponential for all three
            z = y[i] * p[i]
            e = math.exp(-abs(z))
            s = (1.0 if z >= 0.0 else e) / (1.0 + e)
            total += w * (math.log1p(e) - min(z, 0.0))
            slope[i] = -w * y[i] * (e if z > 0.0 else 1.0) / (1.0 + e)
            curvature[i] = w * (s * (1.0 - s))
            continue
        total += w * loss_value(code, h, p[i], y[i])
        if slope.shape[0]:
            slope[i] = w * loss_slope(code, h, p[i], y[i])
        if curvature.shape[0]:
            curvature[i] = w * loss_curvature(code, h, p[i], y[i])
    return total


_EMPTY = np.empty(0)


@dataclass(frozen=True)
class SmoothLoss:
    """A built-in loss and its constants.

    Parameters
    ----------
    name : str
        One of `LOSSES`.
    code : int
        What the kernels call it.
    h : float
        Half-width of a smoothed kink, or level of the quantile loss.
    lipschitz : float
        Largest absolute slope; infinite for squared losses.
    curvature_bound : float
        Largest second derivative; infinite where there is a kink.
    self_concordance : float, default=inf
        Largest |third derivative| over second derivative; infinite where none bounds it.
    """

    name: str
    code: int
    h: float
    lipschitz: float
    curvature_bound: float
    self_concordance: float = math.inf

    @property
    def radius(self) -> float:
        """R of a linear model on rows of length one: bounds its gradients and (A2) alike."""
        return max(self.lipschitz, self.self_concordance)

    def evaluate(
        self, p: Floats, y: Floats, weight: Floats | None = None, *, order: int = 2
    ) -> tuple[float, Floats, Floats]:
        """Return the weighted sum, and slopes and curvatures up to the order asked for."""
        slope = np.empty(p.shape[0] if order >= 1 else 0)
        curvature = np.empty(p.shape[0] if order >= 2 else 0)
        weights = _EMPTY if weight is None else weight
        total = _evaluate(self.code, self.h, p, y, weights, slope, curvature)
        return total, slope, curvature


@dataclass(frozen=True)
class CustomLoss:
    """A loss of your own: a convex function of the prediction p and the target y.

    Parameters
    ----------
    value, slope, curvature : callable
        Vectorised functions of (p, y): the loss and its first and second derivatives with
        respect to p. They are best defined in a module, so that a model can be pickled.
    lipschitz : float
        Largest absolute slope.
    curvature_bound : float
        Largest second derivative; infinite where there is a kink.
    name : str, default="custom"
        What to call it.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.engine.smooth.losses import CustomLoss
    >>> cosh = CustomLoss(
    ...     value=lambda p, y: np.log(np.cosh(p - y)),
    ...     slope=lambda p, y: np.tanh(p - y),
    ...     curvature=lambda p, y: 1 / np.cosh(p - y) ** 2,
    ...     lipschitz=1.0,
    ...     curvature_bound=1.0,
    ... )
    >>> round(cosh.evaluate(np.array([1.0, 3.0]), np.array([1.0, -1.0]), order=0)[0], 3)
    3.307
    """

    value: Callable[[Floats, Floats], Floats]
    slope: Callable[[Floats, Floats], Floats]
    curvature: Callable[[Floats, Floats], Floats]
    lipschitz: float
    curvature_bound: float
    name: str = "custom"

    def evaluate(
        self, p: Floats, y: Floats, weight: Floats | None = None, *, order: int = 2
    ) -> tuple[float, Floats, Floats]:
        """Return the weighted sum, and slopes and curvatures up to the order asked for."""
        w = 1.0 if weight is None else weight
        total = float(np.sum(w * self.value(p, y)))
        slope = np.asarray(w * self.slope(p, y), dtype=float) if order >= 1 else _EMPTY
        curvature = np.asarray(w * self.curvature(p, y), dtype=float) if order >= 2 else _EMPTY
        return total, slope, curvature


LOSSES = {
    "log": LOG,
    "huber": HUBER,
    "smooth_hinge": SMOOTH_HINGE,
    "squared_hinge": SQUARED_HINGE,
    "squared": SQUARED,
    "hinge": HINGE,
    "quantile": QUANTILE,
    "smooth_absolute": SMOOTH_ABSOLUTE,
    "logcosh": LOG_COSH,
    "sqrt": SQUARE_ROOT,
}
# Generalised self-concordance (Bach, 2010): |third| <= constant * second, everywhere.
SELF_CONCORDANCE = {LOG: 1.0, SQUARED: 0.0, LOG_COSH: 2.0, SQUARE_ROOT: 1.5}


def make_loss(name: str, h: float = 0.5) -> SmoothLoss:
    """Return a built-in loss by name."""
    lipschitz = {
        SQUARED_HINGE: math.inf,
        SQUARED: math.inf,
        QUANTILE: max(h, 1.0 - h),
        SQUARE_ROOT: 2.0,
    }
    curvature = {
        LOG: 0.25,
        HUBER: 1.0 / (2.0 * h),
        SMOOTH_HINGE: 3.0 / (4.0 * h),
        SQUARED_HINGE: 2.0,
        SQUARED: 1.0,
        SMOOTH_ABSOLUTE: 1.0 / h,
        LOG_COSH: 1.0,
        SQUARE_ROOT: 1.0,
    }
    code = LOSSES[name]
    return SmoothLoss(
        name,
        code,
        h,
        lipschitz.get(code, 1.0),
        curvature.get(code, math.inf),
        SELF_CONCORDANCE.get(code, math.inf),
    )


def _warmup() -> None:
    p, y = np.zeros(2), np.ones(2)
    loss_value(LOG, 0.5, 0.0, 1.0)
    loss_slope(LOG, 0.5, 0.0, 1.0)
    loss_curvature(LOG, 0.5, 0.0, 1.0)
    _evaluate(LOG, 0.5, p, y, _EMPTY, np.empty(2), np.empty(2))
