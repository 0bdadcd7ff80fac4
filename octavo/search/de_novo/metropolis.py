"""`MetropolisHastings`: draws from a law over things that can be proposed one by one."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.mcmc.chains import chain_generators
from octavo.engine.mcmc.state_chains import (
    StateChains,
    advance_chains,
    log_targets,
    start_chains,
)

__all__ = ["MetropolisHastings"]


def check_count(value: Any, name: str, least: int) -> int:
    """Return a whole number of at least `least`, or say what it must be."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"An integer of at least {least} is needed for {name}; got {value!r}.")
    return int(value)


def check_callable(value: Any, name: str, what: str) -> None:
    """Refuse what cannot be called."""
    if not callable(value):
        raise ValueError(f"The {name} must be a function {what}; got {value!r}.")


class MetropolisHastings(SoundEstimator):
    """Draw states with probability proportional to exp(log_target) times the proposal's law.

    A chain starts at a draw of the proposal. Each step proposes a state and accepts it with
    probability min(1, exp(log_target(new) - log_target(old))), Equation (5.2). States may be any
    Python objects: graphs, recipes, strings.

    Parameters
    ----------
    proposal : callable
        (state or None, rng) -> state, where None asks for a first state and rng is a numpy
        Generator; reversible for its own law. One that is not has a method ``log_ratio(x, y)``
        that returns ln g(y, x) - ln g(x, y), to which ln ρ(y) - ln ρ(x) is added if the target is
        to have the base measure ρ. One that never looks at the state may say ``independent =
        True``, which is faster.
    log_target : callable
        Takes a list of states and returns their log densities up to a constant; minus infinity
        where a state is impossible.
    random_state : int, RandomState instance or None, default=None
        Source of the draws.

    Attributes
    ----------
    acceptance_ : float
        Share of the proposals that were accepted, burn-in included.

    Notes
    -----
    States that are close in time are alike; `independence_burn_in` says how long to wait where
    proposals do not depend on the state. Not the tool for densities of real vectors, for which
    there are gradients.

    References
    ----------
    D. Oglic (2018). Constructive Approximation and Learning by Greedy Algorithms. PhD thesis,
    University of Bonn, Section 5.3.2, Algorithm 5.2.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.search import MetropolisHastings
    >>> chain = MetropolisHastings(
    ...     lambda state, rng: int(rng.integers(4)),
    ...     lambda states: np.log(1.0 + np.array(states)),
    ...     random_state=0,
    ... )
    >>> draws = chain.sample(20_000)
    >>> print((np.bincount(draws) / 20_000).round(2), round(chain.acceptance_, 2))
    [0.1 0.2 0.3 0.4] 0.75
    """

    def __init__(
        self, proposal: Callable[..., Any], log_target: Callable[..., Any], random_state: Any = None
    ) -> None:
        self.proposal = proposal
        self.log_target = log_target
        self.random_state = random_state

    def sample(self, n: int, burn_in: int = 0, n_chains: int = 1) -> list[Any]:
        """Return n states.

        Parameters
        ----------
        n : int
            States in all, whatever the number of chains.
        burn_in : int, default=0
            Steps of every chain before the first state that is kept.
        n_chains : int, default=1
            Independent chains, which run in lock step; the states of the first kept step come
            first, one of each chain, then those of the next.

        Returns
        -------
        states : list
            The states.
        """
        n, n_chains = check_count(n, "n", 1), check_count(n_chains, "n_chains", 1)
        burn_in = check_count(burn_in, "burn_in", 0)
        check_callable(self.proposal, "proposal", "of a state (or None) and a generator")
        check_callable(self.log_target, "log target", "of a list of states")
        generators = chain_generators(self.random_state, n_chains)
        kept: list[Any] = []
        chains = start_chains(self.proposal, self.log_target, generators)
        chains = self._advance(chains, generators, burn_in, None)
        chains = self._advance(chains, generators, -(-n // n_chains), kept.extend)
        self.acceptance_ = chains.n_accepted / chains.n_proposed
        # a chain that has met a possible state never leaves them
        lost = int(np.isneginf(log_targets(self.log_target, kept[:n_chains])).sum())
        if lost:
            warnings.warn(
                f"{lost} of {n_chains} chains were still at states whose log target is minus "
                "infinity when states began to be kept: these are no draws from the target. Take a "
                "longer burn_in, or a proposal that begins where the target is positive.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return kept[:n]

    def _advance(self, chains: StateChains, generators: Any, steps: int, visit: Any) -> StateChains:
        return advance_chains(
            chains, self.proposal, self.log_target, generators, steps, visit=visit
        )
