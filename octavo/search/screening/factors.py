"""Factors with ranges: what their coded values -1 and +1 mean, and designs of named factors."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from octavo.engine.estimators.arrays import Floats
from octavo.search.screening.designs import Fraction, fractional_factorial

__all__ = ["FactorialDesign"]

KINDS = ("linear", "log", "int")


class Factors(NamedTuple):
    """Ranges of named factors (logarithms where `kinds` says so) and their hard ends."""

    names: tuple[str, ...]
    low: Floats
    high: Floats
    kinds: tuple[str, ...]
    limits: tuple[tuple[float, float], ...]

    def decode(self, coded: Any) -> dict[str, Any]:
        """Return the parameters of one run: x = (X - middle) / half, solved for X."""
        params: dict[str, Any] = {}
        for j, x in enumerate(np.asarray(coded, dtype=float)):
            value = (self.low[j] + self.high[j]) / 2 + x * (self.high[j] - self.low[j]) / 2
            if self.kinds[j] == "log":
                value = float(f"{math.exp(min(value, 709.0)):.14g}")  # 10, not 10.000000000000002
            low, high = self.limits[j]
            value = min(max(float(value), low), high)
            if self.kinds[j] == "int":
                value = math.floor(value + 0.5)  # halves go up, as in Figure 10
            params[self.names[j]] = value
        return params

    def encode(self, params: Mapping[str, Any]) -> Floats:
        """Return the coded values of parameters."""
        values = [
            math.log(params[name]) if kind == "log" else float(params[name])
            for name, kind in zip(self.names, self.kinds)
        ]
        return (np.array(values) - (self.low + self.high) / 2) / ((self.high - self.low) / 2)


def _is_real(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_))


def _check_range(given: Any, label: str) -> tuple[float, float, str]:
    spec = tuple(given) if isinstance(given, (tuple, list, np.ndarray)) else ()
    kind = spec[2] if len(spec) == 3 else "linear"
    if len(spec) not in (2, 3) or not isinstance(kind, str) or kind not in KINDS:
        raise ValueError(
            f"{label} must be (low, high), (low, high, 'log') or (low, high, 'int'); got "
            f"{given!r}. Only quantitative factors can be screened: fix categorical ones first."
        )
    if not (_is_real(spec[0]) and _is_real(spec[1])):
        raise ValueError(
            f"{label} must have numbers as its ends; got {given!r}. Only quantitative factors can "
            "be screened: fix categorical ones beforehand."
        )
    low, high = float(spec[0]), float(spec[1])
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ValueError(f"{label} must have finite ends with low < high; got {given!r}.")
    if not math.isfinite(high - low):
        raise ValueError(f"{label} is wider than a double can hold; got {given!r}.")
    if kind == "log" and low <= 0:
        raise ValueError(f"{label}: a logarithmic range must be positive; got {given!r}.")
    if kind == "int" and (low != int(low) or high != int(high)):
        raise ValueError(f"{label}: the ends of an integer range must be integers; got {given!r}.")
    return low, high, kind


def _check_limits(limits: Any, name: str, kind: str, low: float, high: float) -> Any:
    given = limits.get(name, (None, None))
    ends = tuple(given) if isinstance(given, (tuple, list)) else ()
    if len(ends) != 2 or not all(end is None or _is_real(end) for end in ends):
        raise ValueError(
            f"limits[{name!r}] must be a pair (lowest, highest), None where there is "
            f"none; got {given!r}."
        )
    floor = 0.0 if kind == "log" else -math.inf
    least = floor if ends[0] is None else float(ends[0])
    most = math.inf if ends[1] is None else float(ends[1])
    if not least <= low < high <= most:
        raise ValueError(
            f"limits[{name!r}] = {given!r} must enclose the range from {low:g} to {high:g}."
        )
    return least, most


def check_factors(factors: Any, limits: Any = None, what: str = "factors") -> Factors:
    """Return ranges and hard ends as numbers, or say which is wrong."""
    if not isinstance(factors, Mapping) or not factors:
        raise ValueError(
            f"{what} must be a dict of at least one name to (low, high), (low, high, 'log') or "
            f"(low, high, 'int'); got {factors!r}."
        )
    limits = {} if limits is None else limits
    if not isinstance(limits, Mapping):
        raise ValueError(f"limits must be a dict of names to (lowest, highest); got {limits!r}.")
    if unknown := sorted(str(name) for name in limits if name not in factors):
        raise ValueError(f"limits names no factor: {', '.join(unknown)}.")
    low, high, kinds, ends = [], [], [], []
    for name, given in factors.items():
        a, b, kind = _check_range(given, f"{what}[{name!r}]")
        ends.append(_check_limits(limits, name, kind, a, b))
        low.append(math.log(a) if kind == "log" else a)
        high.append(math.log(b) if kind == "log" else b)
        kinds.append(kind)
    return Factors(tuple(factors), np.array(low), np.array(high), tuple(kinds), tuple(ends))


class OwnDefaults(dict[str, Any]):
    """Values that an estimator has by itself (None, "scale"), which nobody judges."""


def check_defaults(defaults: Any, space: Factors) -> dict[str, Any]:
    """Return a value for every factor: the middle where nothing is given."""
    middle = space.decode(np.zeros(len(space.names)))
    if defaults is None:
        return middle
    if not isinstance(defaults, Mapping):
        raise ValueError(f"defaults must be a dict of names to values; got {defaults!r}.")
    if unknown := sorted(str(name) for name in defaults if name not in space.names):
        raise ValueError(f"defaults names no factor: {', '.join(unknown)}.")
    for name, value in () if isinstance(defaults, OwnDefaults) else defaults.items():
        if not _is_real(value) or not math.isfinite(value):
            raise ValueError(f"defaults[{name!r}] must be a finite number; got {value!r}.")
        j = space.names.index(name)
        ends = space.limits[j]
        if not (math.isfinite(ends[0]) or math.isfinite(ends[1])) or ends == (0.0, math.inf):
            ends = (float(space.low[j]), float(space.high[j]))
            if space.kinds[j] == "log":
                ends = (math.exp(ends[0]) * (1 - 1e-12), math.exp(ends[1]) * (1 + 1e-12))
        if not ends[0] <= value <= ends[1]:
            raise ValueError(
                f"defaults[{name!r}] = {value!r} lies outside its range, {ends[0]:g} to "
                f"{ends[1]:g}; widen the range, or give its hard ends as limits."
            )
    return middle | dict(defaults)


def _smallest_fraction(k: int, resolution: int) -> Fraction:
    """Return the smallest design of at least a resolution."""
    found = fractional_factorial(k)
    while found.resolution < resolution and found.generators:
        found = fractional_factorial(k, len(found.generators) - 1)
    return found


class FactorialDesign:
    """A two-level design of named factors: coded runs and the parameters that they mean.

    Parameters
    ----------
    factors : dict of str to tuple
        For each factor (low, high), (low, high, "log") or (low, high, "int").
    resolution : int, default=3
        The least resolution. 3 keeps main effects apart; 4 keeps them from interactions of two
        factors also; 5 keeps those from one another. The smallest such design is taken.
    center_points : int, default=0
        Runs in the middle, which show curvature and leave degrees of freedom for a test.
    replicates : int, default=1
        How often the two-level runs are repeated.
    limits : dict of str to tuple, optional
        Hard ends (lowest, highest) to which decoded values are clipped; None for no end.
    random_state : int, RandomState instance or None, default=None
        Shuffles the runs; None leaves them in their standard order.

    Attributes
    ----------
    coded_ : ndarray of shape (n_runs, n_factors)
        The runs, -1 for low, +1 for high, 0 for the middle.
    natural_ : list of dict
        The parameters of each run.
    aliases_ : tuple
        Groups of sets of columns that cannot be told apart, as in `Fraction`.
    resolution_ : int
        The resolution that it has.
    generators_ : tuple of tuple of int
        The base columns whose products the last columns are.

    Examples
    --------
    >>> from octavo.search import FactorialDesign
    >>> design = FactorialDesign({"C": (0.1, 10, "log"), "degree": (2, 5, "int")})
    >>> print(design.coded_.shape, round(design.natural_[0]["C"], 6), design.natural_[1]["degree"])
    (4, 2) 0.1 5
    """

    def __init__(
        self,
        factors: Any,
        resolution: int = 3,
        center_points: int = 0,
        replicates: int = 1,
        limits: Any = None,
        random_state: Any = None,
    ) -> None:
        for name, value, least in (
            ("resolution", resolution, 3),
            ("center_points", center_points, 0),
            ("replicates", replicates, 1),
        ):
            whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
            if not whole or not least <= value <= 10_000:
                raise ValueError(f"{name} must be an integer from {least} to 10000; got {value!r}.")
        self.factors, self.resolution, self.limits = factors, resolution, limits
        self.center_points, self.replicates = center_points, replicates
        self.random_state = random_state
        self.space_ = check_factors(factors, limits)
        fraction = _smallest_fraction(len(self.space_.names), resolution)
        middle = np.zeros((center_points, len(self.space_.names)))
        coded = np.vstack([*[fraction.coded] * replicates, middle])
        if random_state is not None:
            coded = coded[check_random_state(random_state).permutation(len(coded))]
        self.coded_ = coded
        self.natural_ = [self.space_.decode(row) for row in coded]
        self.aliases_, self.resolution_ = fraction.aliases, fraction.resolution
        self.generators_ = fraction.generators

    def __repr__(self) -> str:
        return f"FactorialDesign({', '.join(self.space_.names)}; {len(self.coded_)} runs)"
