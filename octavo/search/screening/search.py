"""The two procedures of the paper: screen and climb (SO), screen and try all levels (SO')."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.search.screening.ascent import AscentPath, climb, steepest_ascent
from octavo.search.screening.designs import central_composite, fractional_factorial, full_factorial
from octavo.search.screening.effects import ScreeningResult, curvature_test, screen
from octavo.search.screening.factors import FactorialDesign, Factors, check_defaults
from octavo.search.screening.runs import Experiments, Params, as_experiments
from octavo.search.screening.stepwise import StepwiseOLS
from octavo.search.screening.surface import SecondOrderModel

__all__ = ["ScreenedSearch", "coded_levels", "factorial_search", "response_surface_search"]

MAX_GRID = 100_000
CENTRE_RUNS = 3  # of a new first-order model, for its test of curvature


@dataclass(frozen=True)
class ScreenedSearch:
    """What a search found.

    Parameters
    ----------
    best_params : dict
        The first best parameters; the defaults where no factor was relevant.
    best_response : float or None
        Their response; None where the defaults were returned without being run.
    tied_params : list of dict
        All parameters with that response.
    n_experiments : int
        Number of different runs.
    screening : ScreeningResult
        The screening.
    path : AscentPath or None
        The first ascent; None for a factorial search, or without a relevant factor.
    surface : SecondOrderModel or None
        The second-order model, where one was fitted.
    history : list of tuple
        Every run: its parameters and response.

    Examples
    --------
    >>> from octavo.search import response_surface_search
    >>> found = response_surface_search(lambda p: -((p["a"] - 2) ** 2), {"a": (0, 1), "b": (0, 1)})
    >>> print(type(found).__name__, found.best_params["a"], found.n_experiments)
    ScreenedSearch 2.0 14
    """

    best_params: Params
    best_response: float | None
    tied_params: list[Params]
    n_experiments: int
    screening: ScreeningResult
    path: AscentPath | None = None
    surface: SecondOrderModel | None = None
    history: list[tuple[Params, float]] = field(default_factory=list)

    @property
    def adequate(self) -> bool:
        """Whether any factor was relevant."""
        return self.screening.adequate


@checked
def coded_levels(n_levels: int) -> Floats:
    """Return the coded levels of a factorial search: 0, ±1 and ±√2 when there are five.

    Parameters
    ----------
    n_levels : int
        Number of levels, at least 2. Other numbers than five are spaced evenly from -√2 to √2.

    Returns
    -------
    levels : ndarray of shape (n_levels,)
        Ascending.

    Examples
    --------
    >>> from octavo.search import coded_levels
    >>> print(coded_levels(5).round(2).tolist())
    [-1.41, -1.0, 0.0, 1.0, 1.41]
    """
    whole = isinstance(n_levels, (int, np.integer)) and not isinstance(n_levels, bool)
    if not whole or not 2 <= n_levels <= 1000:
        raise ValueError(
            f"The number of levels must be an integer from 2 to 1000; got {n_levels!r}."
        )
    edge = math.sqrt(2.0)
    return (
        np.array([-edge, -1.0, 0.0, 1.0, edge])
        if n_levels == 5
        else np.linspace(-edge, edge, n_levels)
    )


def _defaults_only(
    screening: ScreeningResult, defaults: Params, runs: Experiments
) -> ScreenedSearch:
    """Return the defaults and say so: the paper's rule where no model is adequate."""
    warnings.warn(
        "No factor is relevant: the responses do not follow any of them beyond noise. The defaults "
        "are returned.",
        UserWarning,
        stacklevel=4,
    )
    return ScreenedSearch(
        defaults, None, [defaults], runs.n_experiments, screening, history=runs.history
    )


class _Local:
    """Relevant factors around a point: coded offsets in, responses to be maximised out."""

    def __init__(
        self,
        runs: Experiments,
        space: Factors,
        relevant: tuple[str, ...],
        fixed: Params,
        sign: float,
    ) -> None:
        self.runs, self.space, self.fixed, self.sign = runs, space, fixed, sign
        self.order = [space.names.index(name) for name in relevant]
        self.names = relevant
        self.center = np.zeros(len(relevant))

    def params(self, offset: Any) -> Params:
        row = np.zeros(len(self.space.names))
        row[self.order] = self.center + offset
        moved = self.space.decode(row)
        return self.fixed | {name: moved[name] for name in self.names}

    def respond(self, offset: Any) -> float:
        return self.sign * self.runs.mean(self.params(offset))


def _new_plane(local: _Local, p_enter: float, p_remove: float) -> tuple[Floats, bool]:
    """Fit a plane around a point (step O3); return its gradient and whether it bends."""
    r = len(local.center)
    corners = fractional_factorial(r).coded
    coded = np.vstack([corners, np.zeros((CENTRE_RUNS, r))])
    repeats = [0] * len(corners) + list(range(CENTRE_RUNS))
    responses = local.sign * local.runs.run([local.params(row) for row in coded], repeats)
    model = StepwiseOLS(p_enter, p_remove).fit(coded, responses)
    gap = abs(responses[: len(corners)].mean() - responses[len(corners) :].mean())
    # without noise any curvature is significant: it must outweigh the slope as well
    steep = np.abs(model.coef_).max()
    return model.coef_, curvature_test(coded, responses) < p_enter and gap > steep


def _second_order(local: _Local) -> tuple[SecondOrderModel | None, list[tuple[Params, float]]]:
    """Fit a quadratic around a point and run its best place (step O4)."""
    r = len(local.center)
    coded = central_composite(r, center_points=1)
    values = np.array([local.respond(row) for row in coded])
    surface = SecondOrderModel().fit(coded, values)
    point = surface.best_within(math.sqrt(r) if r > 1 else 2.0**0.25).coded
    runs = [(local.params(row), float(y)) for row, y in zip(coded, values)]
    return surface, [*runs, (local.params(point), local.respond(point))]


def _finish(
    found: list[tuple[Params, float]],
    sign: float,
    screening: ScreeningResult,
    runs: Experiments,
    **more: Any,
) -> ScreenedSearch:
    best = max(value for _, value in found)
    tied: list[Params] = []
    for params, value in found:
        if value == best and params not in tied:
            tied.append(params)
    return ScreenedSearch(
        tied[0], sign * best, tied, runs.n_experiments, screening, history=runs.history, **more
    )


def _screened(
    runs: Experiments, factors: Any, limits: Any, defaults: Any, options: dict[str, Any], *plan: Any
) -> tuple[ScreeningResult, Params]:
    resolution, center_points, replicates, random_state = plan
    design = (
        factors
        if isinstance(factors, FactorialDesign)
        else FactorialDesign(factors, resolution, center_points, replicates, limits, random_state)
    )
    fixed = check_defaults(defaults, design.space_)
    return screen(runs, design, **options), fixed


def _screening_runs(screening: ScreeningResult, sign: float) -> list[tuple[Params, float]]:
    return [(p, sign * float(y)) for p, y in zip(screening.design.natural_, screening.responses)]


@checked
def response_surface_search(
    objective: Any,
    factors: Any,
    *,
    defaults: Any = None,
    limits: Any = None,
    resolution: int = 4,
    center_points: int = 0,
    replicates: int = 1,
    p_enter: float = 0.10,
    p_remove: float = 0.15,
    step: float = 0.5,
    patience: int = 3,
    n_rounds: int = 1,
    second_order: bool = False,
    include_screening: bool = False,
    maximize: bool = True,
    max_iter: int = 100,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> ScreenedSearch:
    """Screen factors with a fraction and climb those that matter (the paper's SO).

    Parameters
    ----------
    objective : callable
        Takes a dict of parameters and returns a number.
    factors : dict of str to tuple, or FactorialDesign
        For each factor (low, high), (low, high, "log") or (low, high, "int"); or a design.
    defaults : dict, optional
        Values of factors that are not relevant; the middle of their ranges by default.
    limits : dict of str to tuple, optional
        Hard ends (lowest, highest), beyond which the ascent does not go.
    resolution : int, default=4
        Least resolution of the fraction.
    center_points : int, default=0
        Runs in the middle of the screening.
    replicates : int, default=1
        How often its other runs are repeated.
    p_enter : float, default=0.10
        Largest p-value with which a factor is relevant.
    p_remove : float, default=0.15
        p-value beyond which it no longer is.
    step : float, default=0.5
        Step of the ascent, in coded units of the factor with the largest effect; at most 10.
    patience : int, default=3
        Runs without a better response, after which an ascent ends.
    n_rounds : int, default=1
        Most ascents: after each, a new first-order model is fitted around the best point (step
        O3), and climbed unless its centre points show a curvature that exceeds its slope.
    second_order : bool, default=False
        Whether a central composite design around the best point ends the search (step O4).
    include_screening : bool, default=False
        Whether the best may be a run of the screening.
    maximize : bool, default=True
        Whether larger responses are better.
    max_iter : int, default=100
        Most steps of an ascent.
    n_jobs : int, default=None
        Processes among which the runs of the screening are shared.
    random_state : int, RandomState instance or None, default=None
        Shuffles the runs of the screening; None leaves them in order.

    Returns
    -------
    found : ScreenedSearch
        The best parameters, and how they were found.

    Examples
    --------
    >>> from octavo.search import response_surface_search
    >>> def score(p):
    ...     return -((p["a"] - 3) ** 2) - (p["b"] - 2) ** 2 + 0.001 * p["c"] * p["d"]
    >>> found = response_surface_search(score, {name: (0, 2) for name in "abcd"})
    >>> print(found.screening.relevant, found.n_experiments, found.best_params["a"])
    ('a', 'b') 16 3.0
    """
    whole = isinstance(n_rounds, (int, np.integer)) and not isinstance(n_rounds, bool)
    if not whole or not 1 <= n_rounds <= 1000:
        raise ValueError(f"n_rounds must be an integer from 1 to 1000; got {n_rounds!r}.")
    runs = as_experiments(objective, n_jobs)
    options = {"p_enter": p_enter, "p_remove": p_remove, "maximize": maximize, "n_jobs": n_jobs}
    plan = (resolution, center_points, replicates, random_state)
    screening, fixed = _screened(runs, factors, limits, defaults, options, *plan)
    # Section 4.3's answer to its question 1; step O1 would return the best run of the screening.
    if not screening.adequate:
        return _defaults_only(screening, fixed, runs)
    sign = 1.0 if maximize else -1.0
    path = steepest_ascent(runs, screening, step, patience, defaults=defaults, max_iter=max_iter)
    found = [(p, sign * float(y)) for p, y in zip(path.natural, path.responses)]
    local = _Local(runs, screening.design.space_, screening.relevant, fixed, sign)
    local.center = path.coded[int(np.argmax(sign * path.responses))]
    for _ in range(n_rounds - 1):
        gradient, bends = _new_plane(local, p_enter, p_remove)
        if bends or not gradient.any():
            break  # step O3: a plane that bends is not adequate
        coded, values = climb(local.respond, gradient, step, patience, max_iter)  # step O2 again
        found += [(local.params(row), float(y)) for row, y in zip(coded, values)]
        top = int(np.argmax(values))
        if top == 0:
            break
        local.center = local.center + coded[top]
    surface = None
    if second_order:
        surface, more = _second_order(local)  # step O4
        found += more
    if include_screening:
        found += _screening_runs(screening, sign)
    return _finish(found, sign, screening, runs, path=path, surface=surface)


@checked
def factorial_search(
    objective: Any,
    factors: Any,
    *,
    levels: int = 5,
    defaults: Any = None,
    limits: Any = None,
    resolution: int = 4,
    center_points: int = 0,
    replicates: int = 1,
    p_enter: float = 0.10,
    p_remove: float = 0.15,
    maximize: bool = True,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> ScreenedSearch:
    """Screen factors with a fraction and try all levels of those that matter (the paper's SO').

    The best may be a run of the screening.

    Parameters
    ----------
    objective : callable
        Takes a dict of parameters and returns a number.
    factors : dict of str to tuple, or FactorialDesign
        For each factor (low, high), (low, high, "log") or (low, high, "int"); or a design.
    levels : int, default=5
        Levels of each relevant factor; five are 0, ±1 and ±√2 in coded units.
    defaults : dict, optional
        Values of factors that are not relevant; the middle of their ranges by default.
    limits : dict of str to tuple, optional
        Hard ends (lowest, highest), to which levels are clipped.
    resolution : int, default=4
        Least resolution of the fraction.
    center_points : int, default=0
        Runs in the middle of the screening.
    replicates : int, default=1
        How often its other runs are repeated.
    p_enter : float, default=0.10
        Largest p-value with which a factor is relevant.
    p_remove : float, default=0.15
        p-value beyond which it no longer is.
    maximize : bool, default=True
        Whether larger responses are better.
    n_jobs : int, default=None
        Processes among which runs are shared.
    random_state : int, RandomState instance or None, default=None
        Shuffles the runs of the screening; None leaves them in order.

    Returns
    -------
    found : ScreenedSearch
        The best parameters, and how they were found.

    Examples
    --------
    >>> from octavo.search import factorial_search
    >>> def score(p):
    ...     return -((p["a"] - 3) ** 2) - (p["b"] - 2) ** 2 + 0.001 * p["c"] * p["d"]
    >>> found = factorial_search(score, {name: (0, 2) for name in "abcd"})
    >>> print(found.n_experiments, round(found.best_params["a"], 2))
    33 2.41
    """
    values = coded_levels(levels)
    runs = as_experiments(objective, n_jobs)
    options = {"p_enter": p_enter, "p_remove": p_remove, "maximize": maximize, "n_jobs": n_jobs}
    plan = (resolution, center_points, replicates, random_state)
    screening, fixed = _screened(runs, factors, limits, defaults, options, *plan)
    if not screening.adequate:
        return _defaults_only(screening, fixed, runs)
    sign = 1.0 if maximize else -1.0
    r = len(screening.relevant)
    if len(values) ** r > MAX_GRID:
        raise ValueError(
            f"{len(values)} levels of {r} relevant factors are {len(values) ** r} runs; take fewer "
            "levels, a smaller p_enter, or response_surface_search."
        )
    local = _Local(runs, screening.design.space_, screening.relevant, fixed, sign)
    # steps O1' and O2'
    settings = [local.params(values[row]) for row in full_factorial([len(values)] * r)]
    responses = sign * runs.run(settings)
    # step O3', screening included
    found = list(zip(settings, map(float, responses))) + _screening_runs(screening, sign)
    return _finish(found, sign, screening, runs)
