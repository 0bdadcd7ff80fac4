"""Limited-memory BFGS for objectives that are cheap along a line.

For a linear model, F(w) = Σ ℓ(w·x) + penalty, the margins z = Xw are kept; along a direction d
with u = Xd the objective at any step t needs z + t·u alone, no pass over the data. The oracle
that is minimised here offers just that: one costly ``probe`` of a direction, which returns the
objective, its slope and the gradient at a guessed step, and cheap looks at other steps. When the
guess is taken, an iteration costs one pass.

The initial Hessian of every two-loop recursion is diagonal: the Hessian's own diagonal at the
start (Jacobi), or the identity scaled by the latest curvature seen.

References
----------
D. C. Liu and J. Nocedal. On the limited memory BFGS method for large scale optimization.
Mathematical Programming 45, 1989.
W. W. Hager and H. Zhang. A new conjugate gradient method with guaranteed descent and an
efficient line search. SIAM Journal on Optimization 16, 2005: the approximate Wolfe condition.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from octavo.engine.estimators.arrays import Floats

ARMIJO, CURVATURE = 1e-4, 0.9
_ROUNDING = 1e-14  # relative; below it a difference of objectives is noise
_TRIALS = 40


class LineOracle(Protocol):
    """A smooth convex function that is cheap along a line."""

    def start(self, x: Floats) -> tuple[float, Floats, Floats]:
        """Return value, gradient and the Hessian's diagonal at x, and stand there."""

    def probe(self, direction: Floats, step: float, gradient: bool) -> tuple[float, float, Floats]:
        """Look along a direction from here: value, slope and (if asked) gradient at a step."""

    def look(self, step: float) -> tuple[float, float]:
        """Return value and slope at another step of the direction probed last."""

    def gradient(self, step: float) -> Floats:
        """Return the gradient at a step of the direction probed last."""

    def move(self, step: float) -> None:
        """Go there."""


class LBFGSResult(NamedTuple):
    """Where the minimisation ended, and how.

    ``decrement`` is ½ gᵀHg, the fall that the quadratic model still expects; ``path`` holds the
    objective at every iterate; ``reason`` says why it stopped.
    """

    x: Floats
    value: float
    gradient: Floats
    decrement: float
    n_iter: int
    path: list[float]
    converged: bool
    reason: str


class CurvaturePairs:
    """The last few steps with the changes of gradient, in a ring."""

    def __init__(self, memory: int, inverse: Floats | None) -> None:
        self.memory, self._inverse = memory, inverse
        self._steps: list[Floats] = []
        self._changes: list[Floats] = []
        self._rho: list[float] = []
        self._scale = 1.0

    def add(self, step: Floats, change: Floats) -> None:
        """Keep a pair, unless rounding has eaten its curvature."""
        product, spread = float(step @ change), float(change @ change)
        if product <= 1e-14 * np.sqrt(float(step @ step) * spread):
            return
        if len(self._steps) == self.memory:
            for kept in (self._steps, self._changes, self._rho):
                kept.pop(0)
        self._steps.append(step)
        self._changes.append(change)
        self._rho.append(1.0 / product)
        self._scale = product / spread  # s'y / y'y, the first guess of the inverse Hessian

    def descent(self, gradient: Floats) -> Floats:
        """Return -H·gradient by the two-loop recursion."""
        q = -gradient
        weights = []
        # newest pair first
        for s, y, rho in zip(self._steps[::-1], self._changes[::-1], self._rho[::-1]):
            weights.append(rho * float(s @ q))
            q -= weights[-1] * y
        q *= self._scale if self._inverse is None else self._inverse
        for s, y, rho, a in zip(self._steps, self._changes, self._rho, weights[::-1]):
            q += (a - rho * float(y @ q)) * s
        return q

    @property
    def empty(self) -> bool:
        """Whether there is no pair yet."""
        return not self._steps


def wolfe_step(
    look: Callable[[float], tuple[float, float]],
    value: float,
    slope: float,
    first: tuple[float, float, float],
    curvature: float = CURVATURE,
) -> tuple[float, float] | None:
    """Return a step of a convex function with sufficient decrease, and its value.

    Parameters
    ----------
    look : callable
        Maps a step to value and slope there.
    value, slope : float
        At step zero; the slope is negative.
    first : (step, value, slope)
        A step that has been looked at already.
    curvature : float
        Accept when the slope has shrunk to this part of its size at zero.

    Returns
    -------
    step, value : tuple or None
        None when rounding leaves nothing to gain.
    """
    # The minimum along the line lies between `low` and `high`; slopes are monotone by convexity.
    low, low_slope = 0.0, slope  # slope < 0 here
    high, high_slope = np.inf, np.inf  # slope > 0 there
    slack = _ROUNDING * abs(value)
    step, now, tilt = first
    for _ in range(_TRIALS):
        enough = now <= value + ARMIJO * step * slope or (
            # Where differences are noise, slopes still tell (Hager and Zhang, Eq. 4).
            now <= value + slack and tilt <= (2 * ARMIJO - 1) * slope
        )
        if enough and abs(tilt) <= -curvature * slope:
            return step, now
        if tilt < 0 and enough:
            low, low_slope = step, tilt
        else:
            high, high_slope = step, tilt if np.isfinite(now) else np.inf
        if np.isinf(high):
            # The slope's secant, if it points ahead; at least twice as far, at most ten times.
            ahead = step * slope / (slope - tilt) if tilt > slope else np.inf
            step = min(max(ahead, 2 * step), 10 * step)
        else:
            width = high - low
            if width <= 1e-12 * high:
                break
            middle = 0.5 * width
            if np.isfinite(high_slope) and high_slope > 0:
                middle = width * low_slope / (low_slope - high_slope)
            step = low + min(max(middle, 0.05 * width), 0.95 * width)
        now, tilt = look(step)
    return (step, now) if now < value else None


def lbfgs(
    oracle: LineOracle,
    x: Floats,
    *,
    memory: int = 15,
    max_iter: int = 50,
    tol: float = 1e-6,
    gtol: float = 0.0,
    precondition: bool = True,
    on_step: Callable[[Floats, float], bool] | None = None,
) -> LBFGSResult:
    """Minimise by L-BFGS with Wolfe steps.

    Parameters
    ----------
    oracle : LineOracle
        The function.
    x : ndarray
        Where to start.
    memory : int
        Pairs kept.
    max_iter : int
        Largest number of iterations.
    tol : float
        Stop when an iteration gained, and the quadratic model still expects, less than this part
        of the objective.
    gtol : float
        Stop when no entry of the gradient is larger.
    precondition : bool
        Whether to begin from the Hessian's diagonal at the start, or from the identity.
    on_step : callable, optional
        Called with iterate and value after each iteration; returns whether to stop.

    Returns
    -------
    result : LBFGSResult
        With the objective at every iterate.
    """
    x = np.array(x, dtype=float)
    value, gradient, diagonal = oracle.start(x)
    pairs = CurvaturePairs(memory, _inverse(diagonal) if precondition else None)
    path, reason, gain, n_iter = [value], "", np.inf, 0
    while not reason:
        direction = pairs.descent(gradient)
        slope = float(gradient @ direction)
        decrement = -0.5 * slope  # what a quadratic with these curvatures would still lose
        small = tol * max(abs(value), 1e-12 * abs(path[0]))  # a perfect fit has nothing to gain
        if float(np.abs(gradient).max(initial=0.0)) <= gtol:
            reason = "gradient"
        elif gain <= small and decrement <= small:
            reason = "gain"
        elif n_iter == max_iter:
            reason = "max_iter"
        elif not slope < 0.0:
            reason = "rounding"
        if reason:
            break
        guess = 1.0
        if not precondition and pairs.empty:
            guess = 1.0 / float(np.linalg.norm(gradient))
        # The first direction knows no curvature: its step is searched, not guessed.
        fused = not pairs.empty
        now, tilt, ahead = oracle.probe(direction, guess, fused)
        found = wolfe_step(
            oracle.look, value, slope, (guess, now, tilt), CURVATURE if fused else 0.1
        )
        if found is None:
            reason = "rounding"
            break
        step, new = found
        if not (fused and step == guess):
            ahead = oracle.gradient(step)
        oracle.move(step)
        moved = step * direction
        x = x + moved
        pairs.add(moved, ahead - gradient)
        gain, value, gradient = value - new, new, ahead
        path.append(value)
        n_iter += 1
        if on_step is not None and on_step(x, value):
            reason = "callback"
    finished = reason in ("gradient", "gain") or (
        reason == "rounding" and decrement <= max(tol, 1e-10) * abs(value) + 1e-300
    )
    return LBFGSResult(x, value, gradient, decrement, n_iter, path, finished, reason)


def _inverse(diagonal: Floats) -> Floats:
    """Return 1/diagonal; directions without curvature are scaled as the average one."""
    known = diagonal[diagonal > 0]
    floor = 1e-12 * float(known.max()) if known.size else 1.0
    typical = float(np.exp(np.mean(np.log(known)))) if known.size else 1.0
    return 1.0 / np.where(diagonal > floor, diagonal, typical)
