"""Metropolis-Hastings chains over arbitrary Python objects, many in lock step.

A proposal is a function (state or None, rng) -> state; None asks for a first state. It is taken to
be reversible for its own law, which is the base measure of the target; a method ``log_ratio(x, y)``
gives ln g(y, x) - ln g(x, y), or that plus ln ρ(y) - ln ρ(x), where it is not. A proposal that does
not look at the state says so by ``independent = True``: the targets of many proposals are
then computed in one call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from octavo.engine.estimators.arrays import Floats
from octavo.engine.mcmc.metropolis import accepts

CHUNK = 512  # proposals whose targets are computed together
Target = Callable[[list[Any]], Floats]


class StateChains(NamedTuple):
    """Where chains stand.

    Attributes
    ----------
    states : list
        One state per chain.
    log_values : ndarray of shape (n_chains,)
        Their log targets.
    n_proposed, n_accepted : int
        Moves so far, and how many of them were accepted.
    """

    states: list[Any]
    log_values: Floats
    n_proposed: int
    n_accepted: int


def log_targets(log_target: Target, states: list[Any]) -> Floats:
    """Return the log targets of states; refuse what is no vector of numbers, NaN or plus infinity.

    Parameters
    ----------
    log_target : callable
        Takes a list of states.
    states : list
        The states.

    Returns
    -------
    values : ndarray of shape (n_states,)
        Minus infinity where a state is impossible.
    """
    values = np.asarray(log_target(states))
    if values.dtype.kind not in "biuf" or values.size != len(states):
        raise ValueError(
            f"The log target must return one number for each of the {len(states)} states that it "
            f"is given; it returned an array of type {values.dtype} and shape {values.shape}."
        )
    values = values.reshape(len(states)).astype(np.float64)
    wrong = np.isnan(values) | (values == np.inf)
    if wrong.any():
        at = int(np.argmax(wrong))
        raise ValueError(
            f"The log target must be a number or minus infinity; it was {values[at]} for state "
            f"{states[at]!r}."
        )
    return values


def start_chains(
    proposal: Callable[..., Any], log_target: Target, generators: Sequence[np.random.Generator]
) -> StateChains:
    """Return chains at first draws of the proposal, one per generator."""
    states = [proposal(None, rng) for rng in generators]
    return StateChains(states, log_targets(log_target, states), 0, 0)


def _proposals(
    proposal: Callable[..., Any],
    log_target: Target,
    states: list[Any],
    generators: Sequence[np.random.Generator],
    n_steps: int,
) -> tuple[list[list[Any]], Floats]:
    """Return proposed states by step and chain with their log targets, from one call."""
    drawn = [[proposal(x, rng) for x, rng in zip(states, generators)] for _ in range(n_steps)]
    flat = [state for row in drawn for state in row]
    return drawn, log_targets(log_target, flat).reshape(n_steps, len(generators))


def advance_chains(
    chains: StateChains,
    proposal: Callable[..., Any],
    log_target: Target,
    generators: Sequence[np.random.Generator],
    n_steps: int,
    *,
    visit: Callable[[list[Any]], None] | None = None,
) -> StateChains:
    """Return the chains after some steps of Metropolis-Hastings, Equation (5.2).

    Parameters
    ----------
    chains : StateChains
        Where they stand.
    proposal : callable
        As told in the module.
    log_target : callable
        Takes a list of states, returns their log densities with respect to the proposal's law.
    generators : list of Generator
        One per chain.
    n_steps : int
        Steps of every chain.
    visit : callable, optional
        Called with the list of states after every step.

    Returns
    -------
    chains : StateChains
        Where they stand then.
    """
    states, values = list(chains.states), chains.log_values.copy()
    proposed, accepted, left = chains.n_proposed, chains.n_accepted, int(n_steps)
    correct = getattr(proposal, "log_ratio", None)
    ahead = max(1, CHUNK // len(states)) if getattr(proposal, "independent", False) else 1
    while left > 0:
        steps = min(ahead, left)
        rows, targets = _proposals(proposal, log_target, states, generators, steps)
        for row, target in zip(rows, targets):
            for j, rng in enumerate(generators):
                proposed += 1
                # From an impossible state any possible one is a step towards the support.
                change = target[j] - values[j] if np.isfinite(values[j]) else np.inf
                if not np.isfinite(target[j]):
                    continue
                if correct is not None and np.isfinite(change):
                    change += float(correct(states[j], row[j]))
                if accepts(change, rng):
                    states[j], values[j] = row[j], target[j]
                    accepted += 1
            if visit is not None:
                visit(list(states))
        left -= steps
    return StateChains(states, values, proposed, accepted)
