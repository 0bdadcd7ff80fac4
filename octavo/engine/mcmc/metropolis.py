"""Metropolis-Hastings steps: acceptance on the log scale, random walks, scales that adapt.

A scale adapts during the burn-in only; afterwards the chain is a Markov chain again.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from octavo.engine.estimators.arrays import Floats
from octavo.engine.mcmc.chains import Schedule

# The rate that is best for one coordinate of a normal target, and the one for many.
ONE_COORDINATE, MANY_COORDINATES = 0.44, 0.234


def accepts(log_ratio: float, rng: np.random.Generator) -> bool:
    """Tell whether a move is accepted; a ratio that is no number never is."""
    # log1p(-u): u may be zero, 1 - u never
    return log_ratio >= 0.0 or math.log1p(-rng.random()) < log_ratio


class AdaptiveScale:
    """The step of a random walk, which moves towards a rate of acceptance (Robbins-Monro).

    Parameters
    ----------
    scale : float
        Where it starts.
    target : float
        The rate of acceptance that is wanted.

    Attributes
    ----------
    scale : float
        The step as it is now.
    n_seen, n_accepted : int
        Moves since the last `freeze`, and how many of them were accepted.
    """

    def __init__(self, scale: float, target: float = ONE_COORDINATE) -> None:
        self.scale, self.target = float(scale), float(target)
        self.n_seen = self.n_accepted = self.n_steps = 0
        self.frozen = False

    def record(self, accepted: bool) -> None:
        """Count a move and, unless frozen, move the scale."""
        self.n_seen += 1
        self.n_accepted += bool(accepted)
        if not self.frozen:
            self.n_steps += 1
            gain = self.n_steps**-0.6  # steps whose sum diverges and whose squares' sum does not
            self.scale *= math.exp(gain * (float(accepted) - self.target))

    def freeze(self) -> None:
        """Adapt no more, and count from zero."""
        if not self.frozen:
            self.frozen = True
            self.n_seen = self.n_accepted = 0

    @property
    def acceptance(self) -> float:
        """Rate of acceptance; NaN where nothing was proposed."""
        return self.n_accepted / self.n_seen if self.n_seen else math.nan


class Walk(NamedTuple):
    """Draws of a random walk.

    Attributes
    ----------
    draws : ndarray of shape (n_kept, n_dims)
        States that were kept.
    log_densities : ndarray of shape (n_kept,)
        Their log density.
    acceptance : float
        Rate of acceptance after the burn-in.
    scale : float
        The step after the burn-in.
    """

    draws: Floats
    log_densities: Floats
    acceptance: float
    scale: float


def random_walk_metropolis(
    log_density: Callable[[Floats], float],
    start: Any,
    schedule: Schedule,
    rng: np.random.Generator,
    *,
    scale: float = 1.0,
) -> Walk:
    """Return draws from a density by a normal random walk whose scale adapts in the burn-in.

    Parameters
    ----------
    log_density : callable
        Takes a vector; minus infinity outside the support.
    start : array-like of shape (n_dims,)
        A point of the support.
    schedule : Schedule
        Sweeps, burn-in and thinning.
    rng : Generator
        Source of randomness.
    scale : float, default=1.0
        Standard deviation of the first steps.

    Returns
    -------
    walk : Walk
        Draws and diagnostics.
    """
    x = np.array(start, dtype=np.float64, ndmin=1)
    value = float(log_density(x))
    if not np.isfinite(value):
        raise ValueError(f"The start must have a finite log density; got {value} at {x.tolist()}.")
    step = AdaptiveScale(scale, ONE_COORDINATE if x.size == 1 else MANY_COORDINATES)
    kept, values = [], []
    for sweep in range(schedule.n_iter):
        if sweep == schedule.burn_in:
            step.freeze()
        proposal = x + step.scale * rng.standard_normal(x.size)
        proposed = float(log_density(proposal))
        accepted = accepts(proposed - value, rng)
        if accepted:
            x, value = proposal, proposed
        step.record(accepted)
        if schedule.keeps(sweep):
            kept.append(x)
            values.append(value)
    return Walk(np.array(kept), np.array(values), step.acceptance, step.scale)
