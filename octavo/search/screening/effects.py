"""Which factors matter: run a design and fit its main effects step by step (ScreenFrac)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import t as t_law

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.search.screening.factors import FactorialDesign
from octavo.search.screening.runs import as_experiments
from octavo.search.screening.stepwise import StepwiseOLS

__all__ = ["ScreeningResult", "curvature_test", "screen"]


@dataclass(frozen=True)
class ScreeningResult:
    """What a screening found.

    Parameters
    ----------
    responses : ndarray of shape (n_runs,)
        Response of each run of the design, as the objective returned it.
    model : StepwiseOLS
        The first-order model in coded factors.
    relevant : tuple of str
        Names of the factors that entered, in the order of entry.
    adequate : bool
        Whether any did.
    design : FactorialDesign
        The design that was run.
    maximize : bool, default=True
        Whether larger responses are better.
    n_experiments : int, default=0
        Number of runs made.

    Examples
    --------
    >>> from octavo.search import FactorialDesign, screen
    >>> design = FactorialDesign({name: (0, 1) for name in "abcd"})
    >>> result = screen(lambda p: 3 * p["b"] + 0.01 * p["a"] * p["c"], design)
    >>> print(type(result).__name__, result.relevant)
    ScreeningResult ('b',)
    """

    responses: Floats
    model: StepwiseOLS
    relevant: tuple[str, ...]
    adequate: bool
    design: FactorialDesign
    maximize: bool = True
    n_experiments: int = 0


def _repeats(coded: Floats) -> list[int]:
    """Return how often each row has stood before."""
    counts: dict[bytes, int] = {}
    found = []
    for row in coded:
        key = (row + 0.0).tobytes()
        found.append(counts.get(key, 0))
        counts[key] = found[-1] + 1
    return found


def check_saturated(design: FactorialDesign) -> None:
    """Refuse a design that leaves no degree of freedom for the error."""
    n, k = design.coded_.shape
    if n < k + 2:
        larger = 2 * n if k > 1 else 4
        raise ValueError(
            f"The design is saturated: {n} runs leave no degree of freedom for the error beside "
            f"{k} main effects and a constant. Take a higher resolution ({larger} runs or more), "
            "replicates=2, or at least one of center_points."
        )


@checked
def screen(
    objective: Any,
    design: FactorialDesign,
    *,
    p_enter: float = 0.10,
    p_remove: float = 0.15,
    direction: str = "both",
    maximize: bool = True,
    n_jobs: int | None = None,
) -> ScreeningResult:
    """Run a design and find the factors that matter (procedure ScreenFrac).

    Parameters
    ----------
    objective : callable
        Takes a dict of parameters and returns a number.
    design : FactorialDesign
        The runs.
    p_enter : float, default=0.10
        Largest p-value with which a factor enters the model.
    p_remove : float, default=0.15
        p-value beyond which one leaves it.
    direction : {"both", "forward", "backward"}, default="both"
        Whether factors enter and leave, only enter, or only leave.
    maximize : bool, default=True
        Whether larger responses are better.
    n_jobs : int, default=None
        Processes among which the runs are shared.

    Returns
    -------
    result : ScreeningResult
        Responses, model, relevant factors, and whether there are any.

    Examples
    --------
    >>> from octavo.search import FactorialDesign, screen
    >>> design = FactorialDesign({name: (0, 1) for name in "abcd"})
    >>> result = screen(lambda p: 3 * p["b"] - p["d"] + 0.01 * p["a"] * p["c"], design)
    >>> print(result.relevant, result.model.coef_.round(2))
    ('b', 'd') [ 0.   1.5  0.  -0.5]
    """
    if not isinstance(design, FactorialDesign):
        raise ValueError(f"design must be a FactorialDesign; got {design!r}.")
    check_saturated(design)
    model = StepwiseOLS(p_enter, p_remove, direction)
    model._validate_params()
    runs = as_experiments(objective, n_jobs)
    begin = runs.n_experiments
    responses = runs.run(design.natural_, _repeats(design.coded_))  # step S3
    model.fit(design.coded_, responses)  # step S4, by stepwise regression
    relevant = tuple(design.space_.names[j] for j in model.selected_)
    count = runs.n_experiments - begin
    return ScreeningResult(
        responses, model, relevant, bool(relevant), design, bool(maximize), count
    )


@checked
def curvature_test(coded: Any, responses: Any) -> float:
    """Return the p-value of the test that centre points lie on the plane of the corners.

    Parameters
    ----------
    coded : array-like of shape (n_runs, n_factors)
        A two-level design with two or more centre points.
    responses : array-like of shape (n_runs,)
        Its responses.

    Returns
    -------
    pvalue : float
        Two-sided; small where a first-order model is not enough.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.search import curvature_test
    >>> X = np.array([[-1, -1], [-1, 1], [1, -1], [1, 1], [0, 0], [0, 0], [0, 0]])
    >>> y = np.array([1.0, 2.0, 3.0, 4.0, 6.0, 6.1, 5.9])
    >>> print(curvature_test(X, y) < 0.01)
    True
    """
    X, y = np.asarray(coded, dtype=float), np.asarray(responses, dtype=float)
    if (
        X.ndim != 2
        or y.shape != X.shape[:1]
        or not np.isfinite(X).all()
        or not np.isfinite(y).all()
    ):
        raise ValueError("coded must be a finite table with one finite response for each row.")
    middle = ~X.any(axis=1)
    m, n = int(middle.sum()), int((~middle).sum())
    if m < 2 or n < 1:
        raise ValueError(
            f"A test of curvature needs corners and two or more centre points; got {n} and {m}."
        )
    unit = float(np.abs(y).max()) or 1.0
    y = y / unit
    # Centre points and corners have one mean unless there are squares; the variance is pure error.
    gap = y[~middle].mean() - y[middle].mean()
    variance = y[middle].var(ddof=1) * (1.0 / n + 1.0 / m)
    if variance <= 1e-28:
        return 1.0 if abs(gap) <= 1e-12 else 0.0
    return float(2.0 * t_law.sf(abs(gap) / np.sqrt(variance), m - 1))
