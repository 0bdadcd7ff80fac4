"""Chains of a sampler: their schedule, their seeds and how they run side by side.

A chain is a function of a `numpy.random.Generator`. The generators come from ``random_state``
alone, so that the draws do not depend on the number of processes, on their order, or on what else
was drawn from numpy. Compiled kernels take the same generator as an argument (numba knows its
type); `rng.random()` compiles in half a second, the other methods take seconds each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

import numpy as np
from joblib import Parallel, delayed
from sklearn.utils import check_random_state

from octavo.engine.estimators.arrays import Ints

Result = TypeVar("Result")
SEED_WORDS = 4  # 128 bits taken from random_state


class Schedule(NamedTuple):
    """Which of the sweeps of a chain are kept.

    Attributes
    ----------
    n_iter : int
        Number of sweeps, those of the burn-in included.
    burn_in : int
        Number of sweeps at the start that are thrown away.
    thin : int
        Of the others, every `thin`-th is kept.
    """

    n_iter: int
    burn_in: int
    thin: int = 1

    @property
    def n_kept(self) -> int:
        """Number of draws that a chain keeps."""
        return (self.n_iter - self.burn_in) // self.thin

    def keeps(self, sweep: int) -> bool:
        """Tell whether the state after sweep number `sweep` (from 0) is kept."""
        late = sweep + 1 - self.burn_in
        return late > 0 and late % self.thin == 0


def check_schedule(n_iter: int, burn_in: int, thin: int = 1) -> Schedule:
    """Return the schedule; refuse one that keeps no draw.

    Parameters
    ----------
    n_iter, burn_in, thin : int
        As in `Schedule`.

    Returns
    -------
    schedule : Schedule
        With at least one draw that is kept.

    Raises
    ------
    ValueError
        If no draw is kept.

    Examples
    --------
    >>> from octavo.engine.mcmc.chains import check_schedule
    >>> schedule = check_schedule(10, 4, 3)
    >>> schedule.n_kept, [t for t in range(10) if schedule.keeps(t)]
    (2, [6, 9])
    """
    if n_iter <= burn_in:
        raise ValueError(
            f"n_iter must be larger than burn_in, or no draw is left; got n_iter={n_iter} and "
            f"burn_in={burn_in}."
        )
    schedule = Schedule(int(n_iter), int(burn_in), int(thin))
    if schedule.n_kept < 1:
        raise ValueError(
            f"thin must be at most n_iter - burn_in = {n_iter - burn_in}, or no draw is left; got "
            f"thin={thin}."
        )
    return schedule


def chain_generators(random_state: Any, n_chains: int) -> list[np.random.Generator]:
    """Return one independent generator per chain, all from `random_state`.

    Parameters
    ----------
    random_state : int, RandomState instance or None
        As scikit-learn takes it.
    n_chains : int
        Number of chains.

    Returns
    -------
    generators : list of Generator
        The first chains are the same whatever the number of chains.

    Examples
    --------
    >>> from octavo.engine.mcmc.chains import chain_generators
    >>> one, two = (chain_generators(0, n)[0].random() for n in (1, 5))
    >>> one == two
    True
    """
    words = check_random_state(random_state).randint(0, 2**32, SEED_WORDS, dtype=np.uint64)
    root = np.random.SeedSequence([int(word) for word in words])
    return [np.random.default_rng(child) for child in root.spawn(n_chains)]


def run_chains(
    chain: Callable[..., Result],
    n_chains: int,
    *,
    random_state: Any = None,
    n_jobs: int | None = None,
    finished: Callable[[], Any] | None = None,
) -> list[Result]:
    """Return what each chain returns, in the order of the chains.

    Parameters
    ----------
    chain : callable
        Takes a Generator; has to be picklable where several processes are asked for.
    n_chains : int
        Number of chains.
    random_state : int, RandomState instance or None
        Seeds all of them.
    n_jobs : int, optional
        Number of joblib workers.
    finished : callable, optional
        Called without arguments each time that a chain has come back.

    Returns
    -------
    results : list
        One entry per chain.

    Examples
    --------
    >>> from octavo.engine.mcmc.chains import run_chains
    >>> draws = run_chains(lambda rng: rng.standard_normal(100).mean(), 3, random_state=0)
    >>> len(draws)
    3
    """
    generators = chain_generators(random_state, n_chains)
    jobs: Iterator[Any] = (delayed(chain)(rng) for rng in generators)
    results = []
    for result in Parallel(n_jobs=n_jobs, return_as="generator")(jobs):
        results.append(result)
        if finished is not None:
            finished()
    return results


def kept_sweeps(schedule: Schedule) -> Ints:
    """Return the numbers of the sweeps that are kept."""
    first = schedule.burn_in + schedule.thin - 1
    return np.arange(first, schedule.n_iter, schedule.thin, dtype=np.int64)
