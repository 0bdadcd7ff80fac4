"""The path of steepest ascent, and where along it to stand (OptimiseRSM, Appendix B.2)."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.search.screening.effects import ScreeningResult
from octavo.search.screening.factors import check_defaults
from octavo.search.screening.runs import as_experiments

__all__ = ["AscentPath", "QuadraticStep", "quadratic_step", "section_search", "steepest_ascent"]

LARGEST_STEP = 10.0  # further out nothing that was fitted says anything

GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


class AscentPath(NamedTuple):
    """The runs of an ascent.

    `coded` has the relevant factors as columns, in the order in which they entered; `natural` the
    parameters of each run, `responses` what came of them; `best_params` and `best_response` are the
    first best run of the path (and of the screening, where that was asked for).
    """

    coded: Floats
    natural: list[dict[str, Any]]
    responses: Floats
    best_params: dict[str, Any]
    best_response: float


class QuadraticStep(NamedTuple):
    """A parabola through responses along a line: `coef` (a0, a1, a2), and its best `step`."""

    coef: Floats
    step: float


def _check_step(step: Any, patience: Any, max_iter: Any) -> None:
    if not isinstance(step, (int, float, np.number)) or not 0.0 < step <= LARGEST_STEP:
        raise ValueError(
            f"step must be a positive number of at most {LARGEST_STEP:g} coded units, of which the "
            f"experiment spans two; got {step!r}."
        )
    for name, value in (("patience", patience), ("max_iter", max_iter)):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
            raise ValueError(f"{name} must be a positive integer; got {value!r}.")


def climb(
    respond: Callable[[Floats], float], gradient: Floats, step: float, patience: int, max_iter: int
) -> tuple[Floats, Floats]:
    """Walk from 0 along a gradient until `patience` runs in a row are no better than the best.

    The steepest factor moves by `step`, another by b_i / b_j of that (Figure 8).
    """
    # Section 4.2: 1 for the steepest, b_i / b_j for another
    direction = step * gradient / np.abs(gradient).max()
    points: list[Floats] = []
    values: list[float] = []
    best, idle = -math.inf, 0
    while idle < patience and len(points) <= max_iter:  # footnote 6: the k-in-a-row rule
        points.append(len(points) * direction)  # Figure 8: 0, δ, 2δ, ... times the direction
        values.append(respond(points[-1]))
        idle = 0 if values[-1] > best else idle + 1
        best = max(best, values[-1])
    return np.array(points), np.array(values)


@checked
def steepest_ascent(
    objective: Any,
    screening: ScreeningResult,
    step: float = 0.5,
    patience: int = 3,
    *,
    defaults: Any = None,
    include_screening: bool = False,
    max_iter: int = 100,
) -> AscentPath:
    """Climb the plane that a screening fitted, from the middle of its design.

    Parameters
    ----------
    objective : callable
        Takes a dict of parameters and returns a number.
    screening : ScreeningResult
        An adequate screening.
    step : float, default=0.5
        Step of the factor with the largest effect, in coded units; at most 10.
    patience : int, default=3
        Runs in a row that are no better than the best, after which it ends.
    defaults : dict, optional
        Values of the factors that are not relevant; the middle of their ranges by default.
    include_screening : bool, default=False
        Whether the best may be a run of the screening. The paper says no.
    max_iter : int, default=100
        Most steps.

    Returns
    -------
    path : AscentPath
        The runs and the best of them.

    Examples
    --------
    >>> from octavo.search import FactorialDesign, screen, steepest_ascent
    >>> def height(p):
    ...     return -((p["a"] - 3) ** 2) - 0.5 * (p["b"] - 2) ** 2 + 0.01 * p["c"] * p["d"]
    >>> result = screen(height, FactorialDesign({name: (0, 2) for name in "abcd"}))
    >>> path = steepest_ascent(height, result)
    >>> print(result.relevant, path.best_params["a"], len(path.responses))
    ('a', 'b') 3.0 8
    """
    if not isinstance(screening, ScreeningResult):
        raise ValueError(f"screening must be a ScreeningResult; got {screening!r}.")
    _check_step(step, patience, max_iter)
    if not screening.adequate:
        raise ValueError(
            "The screening found no relevant factor, so there is no plane to climb; keep the "
            "defaults, widen the ranges, or take more runs."
        )
    space = screening.design.space_
    fixed = check_defaults(defaults, space)
    runs = as_experiments(objective)
    order = [space.names.index(name) for name in screening.relevant]
    sign = 1.0 if screening.maximize else -1.0
    natural: list[dict[str, Any]] = []

    def respond(x: Floats) -> float:
        row = np.zeros(len(space.names))
        row[order] = x
        moved = space.decode(row)
        natural.append(fixed | {name: moved[name] for name in screening.relevant})
        return sign * runs.mean(natural[-1])

    # step O1; stepwise regression at the screening has fitted it
    gradient = sign * screening.model.coef_[order]
    coded, values = climb(respond, gradient, float(step), patience, max_iter)  # step O2
    if len(values) > max_iter:
        warnings.warn(
            f"The ascent ended after {max_iter} steps while the response still rose; raise "
            "max_iter or step.",
            UserWarning,
            stacklevel=3,
        )
    # Footnote 7: the best of the path alone, though a screening run may have been better.
    best = int(np.argmax(values))
    params, response = natural[best], sign * float(values[best])
    if include_screening:
        first = int(np.argmax(sign * screening.responses))
        if sign * screening.responses[first] > values[best]:
            params = screening.design.natural_[first]
            response = float(screening.responses[first])
    return AscentPath(coded, natural, sign * values, params, response)


@checked
def quadratic_step(steps: Any, responses: Any) -> QuadraticStep:
    """Fit y = a0 + a1 δ + a2 δ² to responses along a line and find its top, -a1 / (2 a2).

    Where the parabola has no top (a2 is not negative), `step` is the best of the steps given, and a
    warning says so.

    Parameters
    ----------
    steps : array-like of shape (n,)
        Step sizes δ, at least three different ones.
    responses : array-like of shape (n,)
        Responses.

    Returns
    -------
    fitted : QuadraticStep
        Coefficients and the best step.

    Examples
    --------
    >>> from octavo.search import quadratic_step
    >>> found = quadratic_step([0, -0.5, -1.5, -2.0], [0.769, 0.793, 0.781, 0.692])  # Figure 19
    >>> print(found.coef.round(3), round(found.step, 2))
    [ 0.764 -0.117 -0.075] -0.78
    """
    x, y = np.asarray(steps, dtype=float), np.asarray(responses, dtype=float)
    if x.ndim != 1 or x.shape != y.shape or not np.isfinite(x).all() or not np.isfinite(y).all():
        raise ValueError("steps and responses must be finite and of one length.")
    if len(np.unique(x)) < 3:
        raise ValueError(f"A parabola needs three different steps; got {len(np.unique(x))}.")
    # around the middle, so that steps far from zero keep their digits
    middle = float(x.mean())
    width, unit = float(np.abs(x - middle).max()), float(np.abs(y).max()) or 1.0
    largest = float(np.abs(x).max())
    if width * width == 0.0 or not math.isfinite(largest * largest):
        raise ValueError(
            f"The steps are too small or too large to be squared; the largest is {largest:g}."
        )
    powers = np.vander((x - middle) / width, 3, increasing=True)
    scaled = np.linalg.lstsq(powers, y / unit, rcond=None)[0]
    b0, b1, b2 = scaled * unit / width ** np.arange(3)
    # b0 + b1 (δ - m) + b2 (δ - m)² in powers of δ
    coef = np.array([b0 - b1 * middle + b2 * middle**2, b1 - 2.0 * b2 * middle, b2])
    if scaled[2] >= -1e-12:
        warnings.warn(
            "The parabola has no highest point; the best of the steps given is returned.",
            UserWarning,
            stacklevel=3,
        )
        return QuadraticStep(coef, float(x[np.argmax(y)]))
    return QuadraticStep(coef, float(middle - scaled[1] / (2.0 * scaled[2]) * width))


@checked
def section_search(
    objective: Any,
    low: float,
    high: float,
    *,
    method: str = "golden",
    n_evaluations: int = 12,
    maximize: bool = True,
) -> tuple[float, float]:
    """Search a line for the top of a response that rises and then falls.

    Parameters
    ----------
    objective : callable
        Takes a step and returns a number.
    low, high : float
        Ends of the interval.
    method : {"golden", "fibonacci"}, default="golden"
        How the interval is cut. Fibonacci's cuts are the best for a number of runs that is known.
    n_evaluations : int, default=12
        Number of runs, at least 2.
    maximize : bool, default=True
        Whether larger responses are better.

    Returns
    -------
    step : float
        The best step that was run.
    response : float
        Its response.

    Examples
    --------
    >>> from octavo.search import section_search
    >>> step, response = section_search(lambda s: -((s - 0.3) ** 2), 0.0, 1.0, n_evaluations=20)
    >>> print(round(step, 3))
    0.3
    """
    ends = (float(low), float(high))
    if not (math.isfinite(ends[0]) and math.isfinite(ends[1]) and ends[0] < ends[1]):
        raise ValueError(f"low and high must be finite with low < high; got {low!r}, {high!r}.")
    if method not in ("golden", "fibonacci"):
        raise ValueError(f"method must be 'golden' or 'fibonacci'; got {method!r}.")
    whole = isinstance(n_evaluations, (int, np.integer)) and not isinstance(n_evaluations, bool)
    if not whole or not 2 <= n_evaluations <= 80:
        raise ValueError(f"n_evaluations must be an integer from 2 to 80; got {n_evaluations!r}.")
    runs = as_experiments(lambda params: objective(params["step"]))
    sign = 1.0 if maximize else -1.0
    numbers = [1, 1]
    while len(numbers) <= n_evaluations:
        numbers.append(numbers[-1] + numbers[-2])

    def respond(s: float) -> float:
        return sign * runs.run([{"step": s}])[0]

    def share(left: int) -> float:
        return GOLDEN if method == "golden" else numbers[left - 1] / numbers[left]

    a, b = ends
    cut = share(n_evaluations)
    x1, x2 = b - cut * (b - a), a + cut * (b - a)
    seen = [(respond(x1), x1)]
    if x2 != x1:
        seen.append((respond(x2), x2))
    y1, y2 = seen[0][0], seen[-1][0]
    for left in range(n_evaluations - 1, 1, -1):
        cut = share(left)
        if y1 >= y2:
            b, x2, y2 = x2, x1, y1
            x1 = b - cut * (b - a)
            y1 = respond(x1)
            seen.append((y1, x1))
        else:
            a, x1, y1 = x1, x2, y2
            x2 = a + cut * (b - a)
            y2 = respond(x2)
            seen.append((y2, x2))
    best = max(seen)
    return best[1], sign * best[0]
