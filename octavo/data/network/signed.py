"""Weakly balanced signed networks of which a part is seen, with errors."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from octavo.engine.estimators.checked import checked

__all__ = ["WeaklyBalancedNetwork", "make_weakly_balanced"]


class WeaklyBalancedNetwork(NamedTuple):
    """What is seen of a network (CSR), the complete signs (n, n), and the group of each node."""

    A: Any
    truth: np.ndarray
    groups: np.ndarray


@checked
def make_weakly_balanced(
    sizes: Any,
    density: float,
    noise: float = 0.0,
    sampling: str = "uniform",
    random_state: Any = None,
    *,
    exponent: float = 2.5,
) -> WeaklyBalancedNetwork:
    """Draw links of a network in which groups like their own and dislike all others.

    Parameters
    ----------
    sizes : array-like of int
        Nodes in each group.
    density : float
        Share of the pairs whose link is seen, in (0, 1].
    noise : float, default=0.0
        Chance that the sign of a link that is seen is turned.
    sampling : {"uniform", "power_law"}, default="uniform"
        Every pair alike, or with a chance that grows with the expected degrees of its nodes, which
        follow a power law (Chung and Lu 2002).
    random_state : int, RandomState instance or None, default=None
        Seed.
    exponent : float, default=2.5
        Of the power law, above 2.

    Returns
    -------
    network : WeaklyBalancedNetwork
        `A` is symmetric, `truth` has ones on its diagonal.

    References
    ----------
    Chiang, Hsieh, Natarajan, Dhillon and Tewari (2014), Section 5.1.

    Examples
    --------
    >>> from octavo.data import make_weakly_balanced
    >>> network = make_weakly_balanced([10, 20], 0.5, random_state=0)
    >>> network.A.shape, network.truth.shape
    ((30, 30), (30, 30))
    """
    sizes = np.asarray(sizes)
    if sizes.ndim != 1 or not sizes.size or sizes.dtype.kind not in "iu" or sizes.min() < 1:
        raise ValueError("sizes must be a sequence of whole numbers of at least 1.")
    if not 0.0 < density <= 1.0:
        raise ValueError(f"density must lie in (0, 1]; got {density:g}.")
    if not 0.0 <= noise <= 1.0:
        raise ValueError(f"noise must lie in [0, 1]; got {noise:g}.")
    if sampling not in ("uniform", "power_law"):
        raise ValueError(f"sampling must be 'uniform' or 'power_law'; got {sampling!r}.")
    if not exponent > 2.0:
        raise ValueError(f"exponent must be above 2; got {exponent:g}.")
    rng = check_random_state(random_state)
    groups = np.repeat(np.arange(sizes.size), sizes)
    n = groups.size
    truth = (groups[:, None] == groups).view(np.int8)
    truth *= 2  # in place: a byte for each pair of nodes is all that is taken
    truth -= 1
    popularity: np.ndarray = np.ones(n)
    if sampling == "power_law":
        popularity = (1.0 + np.arange(n)) ** (-1.0 / (exponent - 1.0))
        popularity = rng.permutation(popularity / popularity.mean())
    rows, columns, signs = [], [], []
    for i in range(n - 1):
        chance = np.minimum(density * popularity[i] * popularity[i + 1 :], 1.0)
        j = i + 1 + np.flatnonzero(rng.random_sample(n - 1 - i) < chance)
        sign = truth[i, j].astype(np.float64)
        sign[rng.random_sample(j.size) < noise] *= -1.0
        rows.append(np.full(j.size, i))
        columns.append(j)
        signs.append(sign)
    u, v, a = (np.concatenate(part) if part else np.empty(0) for part in (rows, columns, signs))
    both = np.concatenate([a, a]), (np.concatenate([u, v]), np.concatenate([v, u]))
    return WeaklyBalancedNetwork(sp.csr_array(sp.coo_array(both, shape=(n, n))), truth, groups)
