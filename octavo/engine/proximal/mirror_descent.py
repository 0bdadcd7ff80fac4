"""Mirror descent on a product of simplices, with a gap that certifies its answer.

    min f(x)   over   x = (x_1, ..., x_n),   each x_j ≥ 0 with Σ_k x_jk = 1,   f convex

The entropy as prox-function makes every step a closed form, a softmax of log x less a multiple of
the gradient; it needs a number of iterations that hardly grows with the size of the simplices. A
gradient g at x bounds f from below everywhere on the product, f(y) ≥ f(x) + g'(y - x), so that the
best value seen less the best of these bounds is a certificate.

Reference: J. Aflalo, A. Ben-Tal, C. Bhattacharyya, J. Saketha Nath and S. Raman (2011), "Variable
Sparsity Kernel Learning", Journal of Machine Learning Research 12, Sections 3.1 and 3.2. The steps
that adapt themselves, one a coordinate, are those of Riedmiller and Braun's resilient
back-propagation (1993), taken over to the logarithms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.doubles import reachable_tolerance, real_array

__all__ = ["MirrorDescent", "MirrorDescentResult", "mirror_descent_product_simplex"]

_GROW, _SHRINK = 1.2, 0.6  # of a coordinate's step: its sign has stayed, or has changed
_RISEN = 0.7  # of all steps, where f has risen
_INERTIA = 0.5  # of the last change, while a coordinate keeps its sign and f falls
_LONGEST, _SHORTEST = 500.0, 1e-6  # of a step, relative to 1 / max |gradient|
_MEMORY = 0.9  # of max |gradient|: where the gradient vanishes, steps must not grow by it
_LOWEST = np.log(1e-12)  # of log x below that of its block's largest: from lower none comes back
NONE = 1e-9  # share of its block's largest below which a coordinate is zero
SCHEDULES = ("adaptive", "sqrt")


class MirrorDescentResult(NamedTuple):
    """The best point, f there, and how far f may be above its minimum.

    ``history`` has one row an iteration: f, the best lower bound so far, and the gap.
    """

    x: Floats
    objective: float
    gap: float
    n_iter: int
    converged: bool
    history: Floats


class MirrorDescent:
    """A point of a product of simplices that moves against gradients.

    Parameters
    ----------
    sizes : sequence of int
        Number of coordinates of each simplex.
    step : float, default=2.0
        Length of the first step in units of 1 / max |gradient|.
    schedule : {"adaptive", "sqrt"}, default="adaptive"
        ``"sqrt"``: step √(ln n_max) / √t, the rule of the proof. ``"adaptive"``: every coordinate
        a step of its own, which grows while the coordinate's advantage over its block keeps its
        sign and shrinks when that changes; all shrink when f has risen, and half of the last
        change is added while neither happens.
    x : ndarray, default=None
        Where to start; the middle by default.
    """

    def __init__(
        self,
        sizes: Sequence[int] | Indices,
        *,
        step: float = 2.0,
        schedule: str = "adaptive",
        x: Floats | None = None,
    ) -> None:
        self.sizes = np.asarray(sizes, dtype=np.intp)
        self.starts = np.concatenate([[0], np.cumsum(self.sizes)[:-1]])
        self.schedule, self.n_moves = schedule, 0
        total = int(self.sizes.sum())
        self._first = step * np.sqrt(np.log(max(int(self.sizes.max()), 2)))
        self._steps = np.full(total, step)
        self._advantage, self._value = np.zeros(total), np.inf
        self._change, self._top = np.zeros(total), np.zeros(len(self.sizes))
        middle = np.repeat(1.0 / self.sizes, self.sizes)
        self._logs = np.log(np.maximum(middle if x is None else x, np.exp(2.0 * _LOWEST)))
        self._settle()

    def spread(self, values: Floats) -> Floats:
        """Return values of the blocks, repeated for their coordinates."""
        return np.repeat(values, self.sizes)

    def sums(self, values: Floats) -> Floats:
        """Return the sum of every block."""
        return np.add.reduceat(values, self.starts)

    def largest(self, values: Floats) -> Floats:
        """Return the largest value of every block."""
        return np.maximum.reduceat(values, self.starts)

    def _settle(self) -> None:
        """Scale the logarithms so that every block has largest 0, and derive x from them."""
        self._logs -= self.spread(self.largest(self._logs))
        np.maximum(self._logs, _LOWEST, out=self._logs)
        shares = np.exp(self._logs)
        shares[shares < NONE] = 0.0
        self.x = shares / self.spread(self.sums(shares))  # softmax: the entropy's mirror map back

    def distance(self, gradient: Floats) -> float:
        """Return x'g less the least y'g of all points y: how far f may be above its minimum."""
        # max over y of -g'y is the sum of the blocks' largest -g
        return float(self.x @ gradient + self.largest(-gradient).sum())

    def move(self, gradient: Floats, value: float) -> None:
        """Take the step of Algorithm 1 from where f is `value`: λ ∝ λ exp(-s ∂f/∂λ)."""
        self.n_moves += 1
        if self.schedule == "sqrt":
            top = float(np.abs(gradient).max())
            factor = self._first / np.sqrt(self.n_moves)
            # the steps of Section 3.2, which fall like 1/√t
            change = -factor * gradient / (top if top > 0.0 else 1.0)
        else:
            change = self._adapted(gradient, value)
        self._logs += change
        self._settle()

    def _adapted(self, gradient: Floats, value: float) -> Floats:
        """Return the change of the logarithms with steps that follow signs."""
        self._top = np.maximum(self.largest(np.abs(gradient)), _MEMORY * self._top)
        top = self.spread(self._top)
        mean = self.spread(self.sums(self.x * gradient))
        advantage = np.divide(mean - gradient, top, out=np.zeros_like(top), where=top > 0.0)
        agree = advantage * self._advantage
        self._steps[agree > 0.0] *= _GROW
        self._steps[agree < 0.0] *= _SHRINK
        self._change[agree < 0.0] = 0.0
        if value > self._value:
            self._steps *= _RISEN
            self._change[:] = 0.0
        np.clip(self._steps, _SHORTEST, _LONGEST, out=self._steps)
        self._advantage, self._value = advantage, value
        self._change = _INERTIA * self._change + self._steps * advantage
        return self._change


@checked
def mirror_descent_product_simplex(
    fun_grad: Callable[[Floats], Any],
    sizes: ArrayLike,
    max_iter: int = 500,
    *,
    tol: float = 1e-6,
    step: float = 2.0,
    schedule: str = "adaptive",
    x: ArrayLike | None = None,
) -> MirrorDescentResult:
    """Minimise a convex function over a product of simplices by entropic mirror descent.

    Parameters
    ----------
    fun_grad : callable
        Takes the concatenated vector x, returns f(x) and a subgradient of the same length.
    sizes : array-like of int
        Number of coordinates of each simplex, in the order in which they stand in x.
    max_iter : int, default=500
        Most evaluations of `fun_grad`.
    tol : float, default=1e-6
        Gap to stop at, relative to the largest ``|f|`` that was met.
    step : float, default=2.0
        Length of the first step, in units of 1 / max ``|gradient|``.
    schedule : {"adaptive", "sqrt"}, default="adaptive"
        ``"sqrt"``: steps that fall with the square root of their number, for which convergence is
        proved. ``"adaptive"``: one step a coordinate, longer while its direction stays; mostly
        much faster. The certificate holds for both.
    x : array-like, default=None
        Where to start; coordinates of zero stay near it for long. The middle by default.

    Returns
    -------
    MirrorDescentResult
        ``x``, ``objective``, ``gap`` (absolute), ``n_iter``, ``converged`` and ``history``. The
        best point of all iterations, since mirror descent is not monotone.

    Raises
    ------
    ValueError
        If a size is no positive whole number, or `fun_grad` returns something else than a number
        and a vector, both finite.

    References
    ----------
    .. [1] Aflalo, Ben-Tal, Bhattacharyya, Saketha Nath and Raman (2011). Variable Sparsity Kernel
       Learning. JMLR 12, Algorithm 1.

    Examples
    --------
    The point of two simplices nearest to a given one:

    >>> import numpy as np
    >>> from octavo.kernel import mirror_descent_product_simplex
    >>> near = np.array([0.7, 0.5, -1.0, 0.2, 0.8])
    >>> found = mirror_descent_product_simplex(
    ...     lambda x: (0.5 * ((x - near) ** 2).sum(), x - near), sizes=[3, 2]
    ... )
    >>> found.x.round(3).tolist(), found.converged
    ([0.6, 0.4, 0.0, 0.2, 0.8], True)
    """
    lengths = real_array(sizes, "sizes")
    if lengths.ndim != 1 or not lengths.size or (lengths != np.floor(lengths)).any():
        raise ValueError(f"sizes must be a list of whole numbers, got {sizes!r}.")
    if (lengths < 1).any():
        raise ValueError(f"Every simplex needs a coordinate, got sizes {lengths.tolist()}.")
    if lengths.sum() > 1e9:
        raise ValueError(f"sizes must sum to at most 1e9 coordinates, got {lengths.sum():.3g}.")
    if schedule not in SCHEDULES:
        raise ValueError(f"schedule must be one of {SCHEDULES}, got {schedule!r}.")
    if not (np.isfinite(step) and step > 0.0):
        raise ValueError(f"step must be a positive number, got {step!r}.")
    if max_iter < 1:
        raise ValueError(f"max_iter must be at least 1, got {max_iter!r}.")
    whole = lengths.astype(np.intp)
    first = None if x is None else _start(x, whole)
    descent = MirrorDescent(whole, step=step, schedule=schedule, x=first)
    tol = reachable_tolerance(tol)
    best, upper, lower, scale = descent.x, np.inf, -np.inf, 0.0
    rows: list[tuple[float, float, float]] = []
    for n_iter in range(1, max_iter + 1):
        value, gradient = _evaluated(fun_grad, descent.x)
        if value < upper:
            best, upper = descent.x, value
        lower = max(lower, value - descent.distance(gradient))  # convexity: f(y) ≥ f(x) + g'(y − x)
        scale = max(scale, abs(value))
        gap = max(upper - lower, 0.0)
        rows.append((value, lower, gap))
        if gap <= tol * scale or n_iter == max_iter:
            break
        descent.move(gradient, value)
    return MirrorDescentResult(best, upper, gap, n_iter, gap <= tol * scale, np.array(rows))


def _start(x: ArrayLike, sizes: Any) -> Floats:
    first = real_array(x, "x").ravel()
    if first.size != sizes.sum():
        raise ValueError(f"x must have {sizes.sum()} coordinates, got {first.size}.")
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    if (first < 0.0).any() or np.abs(np.add.reduceat(first, starts) - 1.0).max() > 1e-6:
        raise ValueError("x must be non-negative and sum to one in every simplex.")
    return first


def _evaluated(fun_grad: Callable[[Floats], Any], x: Floats) -> tuple[float, Floats]:
    """Return f(x) and the gradient, refused where they are no numbers."""
    try:
        value, gradient = fun_grad(x.copy())
    except (TypeError, ValueError) as error:
        if "unpack" not in str(error):
            raise
        raise ValueError("fun_grad must return two things, f(x) and its gradient.") from None
    slope = real_array(gradient, "The gradient of fun_grad").ravel()
    if slope.size != x.size:
        raise ValueError(f"fun_grad's gradient must have {x.size} entries, got {slope.size}.")
    height = float(real_array(value, "The value of fun_grad"))
    return height, slope
