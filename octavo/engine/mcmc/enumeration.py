"""The enumeration oracle: a sampler of few discrete states beside its exact law."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from scipy.special import logsumexp

from octavo.engine.estimators.arrays import Floats


def all_subsets(n: int, k_max: int | None = None) -> np.ndarray:
    """Return the masks of all subsets of n things with at most `k_max`, one per row."""
    codes = np.arange(1 << n)
    masks = (codes[:, None] >> np.arange(n)) & 1 == 1
    return masks if k_max is None else masks[masks.sum(axis=1) <= k_max]


def exact_law(log_density: Callable[[Any], float], states: Iterable[Any]) -> Floats:
    """Return the probability of each state, from a log density up to a constant.

    Parameters
    ----------
    log_density : callable
        Takes a state.
    states : iterable
        All of them.

    Returns
    -------
    law : ndarray of shape (n_states,)
        Sums to one.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.engine.mcmc.enumeration import all_subsets, exact_law
    >>> exact_law(lambda mask: np.log(3.0) * mask.sum(), all_subsets(2)).round(4).tolist()
    [0.0625, 0.1875, 0.1875, 0.5625]
    """
    logs = np.array([float(log_density(state)) for state in states])
    return np.exp(logs - logsumexp(logs))


def _key(state: Any) -> Hashable:
    return np.asarray(state).tobytes() if not isinstance(state, (str, int, tuple)) else state


def frequencies(draws: Iterable[Any], states: Sequence[Any]) -> Floats:
    """Return how often each state was drawn; a draw that is none of them is an error."""
    counts = Counter(_key(draw) for draw in draws)
    found = np.array([counts.pop(_key(state), 0) for state in states], dtype=np.float64)
    if counts:
        raise ValueError(f"{sum(counts.values())} draws are none of the {len(states)} states.")
    return found / found.sum()


def total_variation(p: Any, q: Any) -> float:
    """Return the total-variation distance of two laws over the same states."""
    return 0.5 * float(np.abs(np.asarray(p) - np.asarray(q)).sum())
