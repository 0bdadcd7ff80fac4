"""Draw subsets with probability proportional to anything that can be evaluated.

References: D. J. Nott and P. J. Green (2004), "Bayesian variable selection and the Swendsen-Wang
algorithm", Journal of Computational and Graphical Statistics 13; Section 3.2 of Z. Zhang, G. Dai
and M. I. Jordan (2011), "Bayesian Generalized Kernel Mixed Models", Journal of Machine Learning
Research 12.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from octavo.engine.estimators.checked import checked
from octavo.engine.mcmc.chains import chain_generators
from octavo.engine.mcmc.subsets import walk_over_subsets

__all__ = ["reversible_jump_subset"]

METHODS = ("reversible-jump", "stochastic-search")


def check_k_max(k_max: Any, n: int) -> int:
    """Return `k_max`, or n with a warning where there are not as many things."""
    if isinstance(k_max, bool) or k_max != int(k_max) or k_max < 1:
        raise ValueError(f"k_max must be a positive whole number; got {k_max!r}.")
    if k_max > n:
        warnings.warn(
            f"k_max={k_max} is more than there is to choose from; {n} is used.", stacklevel=3
        )
    return int(min(k_max, n))


@checked
def reversible_jump_subset(
    log_post: Callable[[NDArray[np.bool_]], float],
    n: int,
    k_max: int,
    n_iter: int = 10000,
    random_state: Any = None,
    *,
    method: str = "reversible-jump",
) -> NDArray[np.bool_]:
    """Draw subsets of n things by births, deaths and swaps.

    Parameters
    ----------
    log_post : callable
        Takes a boolean mask of shape (n,) and returns the log probability of that subset, up to a
        constant; minus infinity where it is impossible.
    n : int
        Number of things.
    k_max : int
        Most things in a subset; above n it is n, with a warning.
    n_iter : int, default=10000
        Number of moves. The walk starts from the empty set: leave the first part out.
    random_state : int, RandomState instance or None, default=None
        Seeds the moves.
    method : {"reversible-jump", "stochastic-search"}, default="reversible-jump"
        Births, deaths and swaps with probabilities 0.3, 0.3 and 0.4, corrected for in the
        acceptance; or flips and swaps that need no correction. The target is the same.

    Returns
    -------
    masks : ndarray of bool of shape (n_iter, n)
        The subset after each move.

    Examples
    --------
    >>> from octavo.kernel import reversible_jump_subset
    >>> masks = reversible_jump_subset(lambda mask: 2.0 * mask[0], 3, 3, random_state=0)
    >>> masks.shape, bool(abs(masks[:, 0].mean() - 0.88) < 0.03)  # e² / (1 + e²)
    ((10000, 3), True)
    """
    for name, value in (("n", n), ("n_iter", n_iter)):
        if isinstance(value, bool) or value != int(value) or value < 1:
            raise ValueError(f"{name} must be a positive whole number; got {value!r}.")
    if not callable(log_post):
        raise TypeError(f"log_post must be a function of a boolean mask; got {log_post!r}.")
    if method not in METHODS:
        raise ValueError(f"method must be one of {METHODS}; got {method!r}.")
    k_max = check_k_max(k_max, int(n))
    (rng,) = chain_generators(random_state, 1)
    jump = method == "reversible-jump"
    return walk_over_subsets(log_post, int(n), k_max, int(n_iter), rng, jump=jump).masks
