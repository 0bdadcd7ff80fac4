"""The volume of a game, its scaled fluctuation, and bounds γ(t) on that.

The volume v_t of a game is the sum of the largest absolute loss of every round so far, and
fluc(t) = Δv_t / v_t. A strategy for unbounded losses can have a regret that vanishes beside the
volume only if fluc(t) tends to zero; `PROT` is told a bound γ(t) on it.

Reference: V. V. V'yugin (2011), "Online Learning in Case of Unbounded Losses Using Follow the
Perturbed Leader Algorithm", Journal of Machine Learning Research 12, Sections 2, 3, 4 and 6.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.online.experts.strategy import checked_losses

__all__ = [
    "CombinedGamma",
    "ConstantGamma",
    "GameDiagnostics",
    "InverseGamma",
    "PowerGamma",
    "ShiftedGamma",
    "game_diagnostics",
]

Gamma = Callable[[Any], Any]
_POWER = re.compile(r"(?:t|\(t\+(?P<c>\d+(?:\.\d*)?)\))\*\*-(?P<delta>\d*\.?\d+)")


@dataclass(frozen=True)
class PowerGamma:
    """γ(t) = 1 / (t + c)^δ.

    Parameters
    ----------
    delta : float
        The power δ > 0. Random play is almost surely consistent if it exceeds 1/2.
    c : float, default=0.0
        Shift c >= 0 of the clock.

    Examples
    --------
    >>> from octavo.online import PowerGamma
    >>> PowerGamma(0.5)(4)
    0.5
    """

    delta: float
    c: float = 0.0

    def __post_init__(self) -> None:
        if not (0 < self.delta < math.inf and 0 <= self.c < math.inf):
            raise ValueError(f"Needs delta > 0 and c >= 0, got {self.delta} and {self.c}.")

    def __call__(self, t: Any) -> Any:
        return (t + self.c) ** -self.delta


@dataclass(frozen=True)
class ConstantGamma:
    """γ(t) = γ for all t.

    Parameters
    ----------
    value : float
        The constant, in (0, 1]. The regret bound is then a fraction of the volume.

    Examples
    --------
    >>> from octavo.online import ConstantGamma
    >>> ConstantGamma(0.1)(7)
    0.1
    """

    value: float

    def __post_init__(self) -> None:
        if not 0 < self.value <= 1:
            raise ValueError(f"value must lie in (0, 1], got {self.value}.")

    def __call__(self, t: Any) -> Any:
        return np.full(np.shape(t), self.value) if np.ndim(t) else self.value


@dataclass(frozen=True)
class InverseGamma:
    """γ(t) = 1 / β(t), for losses in [-1, 1] and a volume of at least β(t) (Section 4).

    Parameters
    ----------
    beta : callable
        A non-decreasing function of t = 1, 2, ... with values of at least 1.

    Examples
    --------
    >>> from octavo.online import InverseGamma
    >>> InverseGamma(lambda t: t**0.5)(16)
    0.25
    """

    beta: Callable[[Any], Any]

    def __call__(self, t: Any) -> Any:
        return 1.0 / self.beta(t)


@dataclass(frozen=True)
class ShiftedGamma:
    """γ'(t) = γ(t + t₀): starts the clock later, where γ is small enough for the theorem.

    Parameters
    ----------
    gamma : callable
        The function to shift.
    start : int
        t₀ >= 0.

    Examples
    --------
    >>> from octavo.online import PowerGamma, ShiftedGamma
    >>> ShiftedGamma(PowerGamma(0.5), 99)(1)
    0.1
    """

    gamma: Gamma
    start: int

    def __call__(self, t: Any) -> Any:
        return self.gamma(t + self.start)


class CombinedGamma:
    """A γ that in the end exceeds every member of a family (Eq. 49).

    In phase m, γ(t) is the largest of 2^-m and the first m members; the next phase begins when
    its members have all fallen to 2^-m. So γ never rises and tends to zero, and a strategy
    with it is consistent whenever some member bounds the fluctuation up to a constant.

    Parameters
    ----------
    family : sequence of callables, or callable
        The members, each non-increasing, in (0, 1] and tending to zero; or a function of
        i = 0, 1, ... that returns member i of an infinite family.

    Examples
    --------
    >>> from octavo.online import CombinedGamma, PowerGamma
    >>> gamma = CombinedGamma([PowerGamma(1.0), PowerGamma(0.25)])
    >>> [round(gamma(t), 3) for t in (1, 4, 100, 10_000)]
    [1.0, 0.5, 0.316, 0.1]
    """

    def __init__(self, family: Sequence[Gamma] | Callable[[int], Gamma]) -> None:
        self.family = family
        self._begins = [1]  # first round of each phase

    def _largest(self, phase: int, t: Any) -> float:
        """Return the largest of the first members at t."""
        if callable(self.family):
            members = [self.family(i) for i in range(phase)]
        else:
            members = list(self.family[:phase])
        return max((float(member(t)) for member in members), default=0.0)

    def _first_below(self, phase: int, after: int) -> int:
        """Return the first round from which the members of the next phase are at most 2^-phase."""
        level = 2.0**-phase
        low, high = after, after
        while self._largest(phase + 1, high) > level:
            low, high = high + 1, 2 * high
            if high > 2**62:
                raise ValueError(f"A member of the family does not fall to {level}.")
        while low < high:
            middle = (low + high) // 2
            if self._largest(phase + 1, middle) > level:
                low = middle + 1
            else:
                high = middle
        return low

    def __call__(self, t: Any) -> Any:
        if np.ndim(t):
            return np.array([self(int(value)) for value in np.ravel(t)]).reshape(np.shape(t))
        while self._begins[-1] <= t:
            phase = len(self._begins) - 1
            self._begins.append(max(self._first_below(phase, self._begins[-1]), 1))
            if phase > 1000:
                break
        phase = int(np.searchsorted(self._begins, t, side="right")) - 1
        # Above every member from some round on, as Eq. (49) needs
        return max(2.0**-phase, self._largest(phase, t))


def as_gamma(gamma: Any) -> Gamma:
    """Return γ as a function: of a string such as "t**-0.5", a constant, or a callable."""
    if callable(gamma):
        return gamma
    if isinstance(gamma, str):
        match = _POWER.fullmatch(gamma.replace(" ", ""))
        if match is None:
            raise ValueError(f'gamma must read like "t**-0.5" or "(t+10)**-0.5", got {gamma!r}.')
        return PowerGamma(float(match["delta"]), float(match["c"] or 0.0))
    return ConstantGamma(float(gamma))


def gamma_values(gamma: Any, first: int, n_rounds: int, previous: float = math.inf) -> Floats:
    """Return γ(first + 1), ..., checked to lie in (0, 1] and not to rise."""
    function = as_gamma(gamma)
    t = np.arange(first + 1, first + n_rounds + 1)
    try:
        values = np.asarray(function(t.astype(float)), dtype=float)
    except (TypeError, ValueError):  # a function of one number
        values = np.empty(0)
    if values.shape != t.shape:
        values = np.array([float(function(int(value))) for value in t])
    bad = ~((values > 0) & (values <= 1))
    if bad.any():
        place = int(np.argmax(bad))
        raise ValueError(f"gamma must lie in (0, 1], got {values[place]} at t={t[place]}.")
    rises = np.diff(values, prepend=min(previous, 1.0)) > 0
    if rises.any():
        raise ValueError(f"gamma must not increase, but does at t={t[int(np.argmax(rises))]}.")
    return values


class GameDiagnostics(NamedTuple):
    """Volume and fluctuation of a game, round by round, and what they say of γ.

    `increments` is Δv, `fluctuation` Δv/v, `exceeds` where the fluctuation exceeds γ. `delta` is
    the largest δ for which t^-δ bounds the fluctuation of all rounds. `squared_fluctuation` is
    the sum of its squares, which must stay bounded for random play to be consistent almost
    surely (Proposition 6), `squared_gamma` that of γ (Eq. 38). `mean_root_gamma` is
    Σ √γ Δv / v, which must tend to zero for consistency in the mean (Toeplitz's lemma).
    """

    volume: Floats
    increments: Floats
    fluctuation: Floats
    gamma: Floats
    exceeds: NDArray[np.bool_]
    delta: float
    squared_fluctuation: Floats
    squared_gamma: Floats
    mean_root_gamma: Floats


@checked
def game_diagnostics(losses: ArrayLike, gamma: Any = "t**-0.5", v0: float = 0.0) -> GameDiagnostics:
    """Return the volume and the scaled fluctuation of a game beside a bound γ on it.

    Parameters
    ----------
    losses : array-like of shape (n_rounds, n_experts)
        Losses, of any sign and size.
    gamma : str, float or callable, default="t**-0.5"
        The bound: a power of t, a constant, or a function.
    v0 : float, default=0.0
        Volume before the first round.

    Returns
    -------
    diagnostics : GameDiagnostics
        Arrays with an entry a round.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.online import game_diagnostics
    >>> losses = np.random.default_rng(0).normal(size=(500, 3))
    >>> found = game_diagnostics(losses)
    >>> bool(found.exceeds.any()), round(found.delta, 2)
    (False, 0.59)
    """
    matrix = checked_losses(losses, ndim=(2,), drop=False)
    if not 0 <= v0 < math.inf:
        raise ValueError(f"v0 must be finite and at least 0, got {v0}.")
    increments = np.abs(matrix).max(axis=1)  # Δv_t of Section 2
    volume = v0 + np.cumsum(increments)
    positive = volume > 0
    # fluc(t), with 0/0 = 0
    fluctuation = np.divide(increments, volume, out=np.zeros_like(volume), where=positive)
    values = gamma_values(gamma, 0, len(matrix))
    t = np.arange(1, len(matrix) + 1)
    with np.errstate(divide="ignore"):
        powers = -np.log(fluctuation[1:]) / np.log(t[1:])  # the δ for which fluc(t) = t^-δ
    weighted = np.cumsum(np.sqrt(values) * increments)  # the sum of Eq. (9)
    return GameDiagnostics(
        volume,
        increments,
        fluctuation,
        values,
        fluctuation > values,
        float(powers.min(initial=math.inf)) + 0.0,  # no negative zero
        np.cumsum(fluctuation**2),
        np.cumsum(values**2),  # Eq. (38): bounded for Hannan consistency
        np.divide(weighted, volume, out=np.zeros_like(volume), where=positive),
    )
