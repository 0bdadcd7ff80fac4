"""Weights over costs: measures on (0, 1) with a density and atoms, and their moments.

Every f-divergence and every proper loss is a mixture of cost-sensitive ones, and the weight of
that mixture says all about it. What is needed of a weight w are its two moments from one half,

    M1(x) = ∫_½^x c w(c) dc,    M2(x) = ∫_½^x (1 - c) w(c) dc,

from which f, f', partial losses and Bayes risks follow without another integral. They are found
by Gauss-Legendre rules on panels of log(c / (1 - c)), where poles of w at 0 and 1 are exponentials,
and summed over sorted points, so that a million points cost one pass.

Reference: Reid and Williamson (2011), "Information, divergence and risk for binary experiments",
JMLR 12:731-817, sections 2.4, 5.1 and 5.3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.special import expit, logit

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.doubles import real_array

Function = Callable[[Any], Any]
Atoms = tuple[tuple[float, float], ...]

_NODES, _NODE_WEIGHTS = np.polynomial.legendre.leggauss(12)
_WIDTH = 2.0  # of a panel of the log-odds: poles of the logistic map lie pi away
_FAR = 24.0  # log-odds beyond which an end is continued by its power
_SLOWEST = 0.02  # decay per unit of log-odds below which an end counts as infinite
_LARGEST = float(np.nextafter(1.0, 0.0))


def open_unit(values: Any, name: str) -> Floats:
    """Return numbers strictly between 0 and 1."""
    array = real_array(values, name)
    if array.size and not (array.min() > 0.0 and array.max() < 1.0):
        raise ValueError(
            f"{name} must lie strictly between 0 and 1; it ranges from {array.min():.4g} to "
            f"{array.max():.4g}."
        )
    return array


def closed_unit(values: Any, name: str) -> Floats:
    """Return numbers from 0 to 1."""
    array = real_array(values, name)
    if array.size and not (array.min() >= 0.0 and array.max() <= 1.0):
        raise ValueError(
            f"{name} must lie between 0 and 1; it ranges from {array.min():.4g} to "
            f"{array.max():.4g}."
        )
    return array


def one_number(value: Any, name: str) -> float:
    """Return a single real number."""
    array = real_array(value, name)
    if array.size != 1:
        raise ValueError(f"{name} must be one number, got an array of shape {array.shape}.")
    return float(array.reshape(()))


def one_prior(value: Any, name: str = "pi") -> float:
    """Return one number strictly between 0 and 1."""
    return one_number(open_unit(value, name), name)


def check_atoms(atoms: Any) -> Atoms:
    """Return pairs (place, mass) with places inside (0, 1) and masses that are not negative."""
    try:
        pairs = tuple((float(place), float(mass)) for place, mass in atoms)
    except (TypeError, ValueError):
        raise ValueError(f"atoms must be pairs (place, mass), got {atoms!r}.") from None
    for place, mass in pairs:
        if not (0.0 < place < 1.0 and 0.0 <= mass < np.inf):
            raise ValueError(
                "Every atom is a place strictly between 0 and 1 and a mass that is finite and not "
                f"negative, got ({place}, {mass})."
            )
    return tuple(sorted(pairs))


def evaluate(function: Function, x: Floats, name: str) -> Floats:
    """Return a user's function at all points; one that takes single numbers is called for each."""
    if not callable(function):
        raise ValueError(f"{name} must be a function of numbers, got {type(function).__name__}.")
    with np.errstate(all="ignore"):
        try:
            values = np.asarray(function(x), dtype=np.float64)
        except (TypeError, ValueError):
            flat = [float(function(float(entry))) for entry in x.ravel()]
            values = np.asarray(flat).reshape(x.shape)
    return np.broadcast_to(values, x.shape)


def settled(near: float, far: float, limit: float, size: float) -> float:
    """Return a limit that is approached, or infinity where it recedes.

    `near` and `far` are steps of equal length on a logarithmic scale, the second further out, to
    values of a `size`; a power makes them shrink, a logarithm or a pole does not.
    """
    if not np.isfinite(limit):
        return limit if limit == limit else np.inf
    if abs(far) <= 1e-12 * (1.0 + size):
        return limit
    return float(np.sign(far)) * np.inf if abs(far) > 0.85 * abs(near) else limit


def golden_section(function: Function, low: Floats, high: Floats) -> Floats:
    """Return the least values of functions with one valley each, all at once."""
    ratio = 0.5 * (np.sqrt(5.0) - 1.0)
    with np.errstate(all="ignore"):
        best = np.fmin(function(low), function(high))
        for _ in range(60):  # a valley of one part in 1e12: its floor is flat to rounding
            a, b = high - ratio * (high - low), low + ratio * (high - low)
            at_a, at_b = function(a), function(b)
            best = np.fmin(best, np.fmin(at_a, at_b))
            low, high = np.where(at_a > at_b, a, low), np.where(at_a > at_b, high, b)
    return best


def made_by(thing: Any, maker: Callable[..., Any], *args: Any) -> Any:
    """Return the thing, which from now on is pickled as a call of its maker."""
    thing._recipe = (maker, args)
    return thing


def remade(thing: Any) -> Any:
    """Return what pickle needs: the maker and its arguments."""
    recipe = getattr(thing, "_recipe", None)
    if recipe is None:
        raise TypeError(
            f"{thing!r} was made of functions that cannot be pickled; make it again from a name, a "
            "function or a weight."
        )
    return recipe


class WeightMeasure:
    """A weight over (0, 1): a density that may have poles at both ends, and atoms.

    Parameters
    ----------
    density : callable
        w(c), not negative.
    atoms : sequence of (float, float)
        Places and masses.
    breaks : sequence of float
        Where the density jumps or has a kink; panels end there.
    name : str
        What messages call it.
    """

    def __init__(
        self,
        density: Function,
        atoms: Any = (),
        breaks: Sequence[float] = (),
        name: str = "The weight",
    ) -> None:
        self.density, self.atoms = density, check_atoms(atoms)
        self.breaks = tuple(np.sort(open_unit(list(breaks), "breaks")))
        self.name = name
        self._check()

    def _check(self) -> None:
        """Refuse a density that is negative or not a number, as far as a grid can see."""
        grid = expit(np.linspace(-20.0, 20.0, 401))
        values = self(grid)
        if not np.isfinite(values).all() or values.min() < 0.0:
            where = grid[np.argmin(np.where(np.isfinite(values), values, -np.inf))]
            raise ValueError(
                f"{self.name} must be finite and not negative inside (0, 1); at {where:.6g} it is "
                f"{float(self(np.array([where]))[0]):.6g}."
            )

    def __call__(self, c: Floats) -> Floats:
        """Return the density, atoms apart."""
        return evaluate(self.density, np.clip(c, 1e-300, _LARGEST), self.name)

    def _pieces(self, edges: Floats) -> tuple[Floats, Floats]:
        """Return ∫ c w and ∫ (1 - c) w over the panels between sorted log-odds."""
        half = 0.5 * np.diff(edges)[:, None]
        # dc = c(1 − c) du in log-odds u
        u = 0.5 * (edges[:-1] + edges[1:])[:, None] + half * _NODES
        c, rest = expit(u), expit(-u)
        mass = self(c) * c * rest * half * _NODE_WEIGHTS
        return np.sum(c * mass, axis=1), np.sum(rest * mass, axis=1)

    def _edges(self, points: Floats) -> Floats:
        low, high = min(points.min(initial=0.0), 0.0), max(points.max(initial=0.0), 0.0)
        steps = np.arange(np.floor(low / _WIDTH), np.ceil(high / _WIDTH) + 1.0) * _WIDTH
        inner = [logit(b) for b in self.breaks]
        edges = np.unique(np.concatenate([points, steps, inner, [0.0]]))
        return edges[(edges >= low) & (edges <= high)]

    def moments(self, x: Floats) -> tuple[Floats, Floats]:
        """Return M1(x) and M2(x); x itself counts, so that both are continuous from the right.

        Parameters
        ----------
        x : ndarray
            Points of [0, 1].

        Returns
        -------
        tuple of ndarray
            Minus or plus infinity at an end that the weight has too much of.
        """
        flat = np.ravel(x)
        inside = (flat > 0.0) & (flat < 1.0)
        places = logit(flat[inside])
        edges = self._edges(places)
        found = []
        start = int(np.searchsorted(edges, 0.0))
        with np.errstate(over="ignore", invalid="ignore"):
            pieces = self._pieces(edges)
        for k, piece in enumerate(pieces):
            right = np.cumsum(piece[start:])
            left = -np.cumsum(piece[:start][::-1])[::-1]
            table = np.concatenate([left, [0.0], right])
            out = np.empty(flat.size)
            out[inside] = table[np.searchsorted(edges, places)]
            if not inside.all():
                out[flat == 0.0] = -self._end(k, -1.0)
                out[flat == 1.0] = self._end(k, 1.0)
            found.append((out + self._atom_moment(flat, k)).reshape(np.shape(x)))
        return found[0], found[1]

    def _end(self, k: int, side: float) -> float:
        """Return the moment between one half and an end, the last part as a power, or infinity."""
        edges = np.unique(np.append(self._edges(np.array([side * _FAR])), side * _FAR))
        total = float(np.sum(self._pieces(edges)[k]))
        near, far = (self._integrand(k, side * u) for u in (0.5 * _FAR, _FAR))
        if far <= 0.0:
            return total
        decay = np.log(near / far) / (0.5 * _FAR) if near > 0.0 else -np.inf
        # ∫ of far e^(−decay u) beyond the last panel
        return total + far / decay if decay > _SLOWEST else np.inf

    def _integrand(self, k: int, u: float) -> float:
        c, rest = expit(u), expit(-u)
        return float(self(np.array([c]))[0] * c * rest * (c if k == 0 else rest))

    def _atom_moment(self, flat: Floats, k: int) -> Floats:
        total = np.zeros(flat.size)
        for place, mass in self.atoms:
            size = mass * (place if k == 0 else 1.0 - place)
            if place > 0.5:
                total += size * (flat >= place)
            else:
                total -= size * (flat < place)
        return total


# Central differences of order eight: of the first and of the second derivative.
_FIRST = np.array([1 / 280, -4 / 105, 1 / 5, -4 / 5, 0.0, 4 / 5, -1 / 5, 4 / 105, -1 / 280])
_SECOND = np.array([-1 / 560, 8 / 315, -1 / 5, 8 / 5, -205 / 72, 8 / 5, -1 / 5, 8 / 315, -1 / 560])
_STEP = 0.02  # truncation and rounding of both are then about 1e-12 for smooth functions


def numeric_derivative(function: Function, x: Floats, room: Floats, name: str) -> Floats:
    """Return f'(x) where f is smooth within a twelfth of `room` on both sides."""
    return _stencil(function, x, _STEP * room, name, _FIRST) / (_STEP * room)


def numeric_curvature(function: Function, x: Floats, room: Floats, name: str) -> Floats:
    """Return f''(x), likewise."""
    return _stencil(function, x, _STEP * room, name, _SECOND) / (_STEP * room) ** 2


def _stencil(function: Function, x: Floats, h: Floats, name: str, rule: Floats) -> Floats:
    points = np.asarray(x)[..., None] + np.asarray(h)[..., None] * np.arange(-4, 5)
    return evaluate(function, points, name) @ rule
