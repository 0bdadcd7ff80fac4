"""Graphs of low rank whose nodes' interests follow an autoregression (Section 4.2)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from octavo.engine.estimators.checked import checked

__all__ = ["AutoregressiveGraphs", "make_autoregressive_graphs"]


class AutoregressiveGraphs(NamedTuple):
    """Snapshots (T, n, n), the graph that follows (n, n), and what made them.

    `V` (n, rank) and `K` (rank, rank) are the paper's V₀ and K₀; `U` (T + 1, n, rank) has the
    factors of all snapshots and of the next graph.
    """

    snapshots: np.ndarray
    A_next: np.ndarray
    V: np.ndarray
    K: np.ndarray
    U: np.ndarray


@checked
def make_autoregressive_graphs(
    n: int = 50,
    rank: int = 5,
    T: int = 10,
    random_state: Any = None,
    *,
    sigma: float = 0.5,
    density: float = 0.2,
    radius: float = 0.9,
    nonneg: bool = True,
) -> AutoregressiveGraphs:
    """Draw a series of graphs A_t = U_t Vᵀ with U_t = U_{t−1} K + N_t.

    Where the paper is silent: U₀ and V have a share `density` of absolute normal entries, K moves
    each interest to another (a random permutation, each entry of which is `radius`), and N_t is
    normal noise of deviation `sigma` shrunk by twice that, so that one entry in twenty is not
    zero (one in forty where it must not be negative).

    Parameters
    ----------
    n : int, default=50
        Nodes.
    rank : int, default=5
        Interests.
    T : int, default=10
        Snapshots; one more is the truth.
    random_state : int, RandomState instance or None, default=None
        Seed.
    sigma : float, default=0.5
        Standard deviation of the noise before it is shrunk; 0 for none.
    density : float, default=0.2
        Share of entries of U₀ and V that are not zero, in (0, 1].
    radius : float, default=0.9
        Spectral radius of K, below 1.
    nonneg : bool, default=True
        Whether negative noise is cut off, so that no weight is negative.

    Returns
    -------
    series : AutoregressiveGraphs
        `snapshots`, `A_next`, `V`, `K`, `U`.

    References
    ----------
    Richard, Gaïffas and Vayatis (2014), Sections 4.2 and 5.1.

    Examples
    --------
    >>> from octavo.data import make_autoregressive_graphs
    >>> series = make_autoregressive_graphs(n=20, rank=2, T=6, random_state=0)
    >>> series.snapshots.shape, series.A_next.shape
    ((6, 20, 20), (20, 20))
    """
    for name, count in (("n", n), ("rank", rank), ("T", T)):
        if count < 1 or count != int(count):
            raise ValueError(f"{name} must be a whole number of at least 1; got {count!r}.")
    if rank > n:
        raise ValueError(f"rank must be at most n={n}; got {rank}.")
    if n * n * (T + 1) > 5e8:
        raise ValueError(f"{T + 1} graphs of {n} nodes would fill more than 4 GB.")
    if not 0.0 <= sigma < 1e100:
        raise ValueError(f"sigma must be at least 0, and no more than 1e100; got {sigma!r}.")
    if not 0.0 < density <= 1.0:
        raise ValueError(f"density must lie in (0, 1]; got {density!r}.")
    if not 0.0 <= radius < 1.0:
        raise ValueError(f"radius must be at least 0 and below 1; got {radius!r}.")
    rng = check_random_state(random_state)

    def sparse_positive() -> np.ndarray:
        entries = np.abs(rng.standard_normal((n, rank)))
        return entries * (rng.random_sample((n, rank)) < density)

    V, U = sparse_positive(), [sparse_positive()]
    empty = np.flatnonzero(~V.any(axis=0))
    V[rng.permutation(n)[: empty.size], empty] = 1.0  # no interest without a node
    K = radius * np.eye(rank)[rng.permutation(rank)]
    for _ in range(T):
        noise = sigma * rng.standard_normal((n, rank))
        noise = noise - np.clip(noise, -2.0 * sigma, 2.0 * sigma)
        U.append(U[-1] @ K + (np.maximum(noise, 0.0) if nonneg else noise))
    factors = np.array(U)
    graphs = factors @ V.T
    return AutoregressiveGraphs(graphs[:T], graphs[T], V, K, factors)
