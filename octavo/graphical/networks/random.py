"""Random Bayesian networks, to draw data from whose structure is known."""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_random_state

from octavo.engine.estimators.checked import checked
from octavo.graphical.networks.model import BayesianNetworkModel

__all__ = ["make_bayesian_network"]


@checked
def make_bayesian_network(
    n_nodes: int = 10,
    n_arcs: int | None = None,
    *,
    n_states: tuple[int, int] = (2, 3),
    max_parents: int = 4,
    concentration: float = 0.5,
    random_state: int | np.random.RandomState | None = None,
) -> BayesianNetworkModel:
    """Draw a network with random arcs and random tables.

    Parameters
    ----------
    n_nodes : int, default=10
        Number of variables, called x0, x1, ...
    n_arcs : int or None, default=None
        Number of arcs, fewer where `max_parents` leaves no room; by default 1.5 a node.
    n_states : tuple of int, default=(2, 3)
        Smallest and largest number of states of a variable.
    max_parents : int, default=4
        Largest number of parents.
    concentration : float, default=0.5
        Of the Dirichlet distribution of each row of a table: the smaller, the closer to a
        deterministic rule.
    random_state : int, RandomState instance or None, default=None
        Source of randomness.

    Returns
    -------
    model : BayesianNetworkModel
        The network; its `sample` draws data.

    Examples
    --------
    >>> from octavo.graphical import make_bayesian_network
    >>> model = make_bayesian_network(5, 6, random_state=0)
    >>> sum(map(len, model.parents)), model.sample(3, random_state=0).shape
    (6, (3, 5))
    """
    if n_nodes < 1 or max_parents < 0 or not concentration > 0:
        raise ValueError(
            "n_nodes must be at least 1, max_parents at least 0 and concentration positive; got "
            f"{n_nodes}, {max_parents} and {concentration}."
        )
    rng = check_random_state(random_state)
    order = rng.permutation(n_nodes)
    pairs = [(int(order[a]), int(order[b])) for b in range(n_nodes) for a in range(b)]
    parents: list[list[int]] = [[] for _ in range(n_nodes)]
    wanted = round(1.5 * n_nodes) if n_arcs is None else n_arcs
    for k in rng.permutation(len(pairs)):
        parent, child = pairs[k]
        if wanted > 0 and len(parents[child]) < max_parents:
            parents[child].append(parent)
            wanted -= 1
    sizes = rng.randint(n_states[0], n_states[1] + 1, size=n_nodes)
    tables = []
    for node, of in enumerate(parents):
        of.sort()
        shape = tuple(int(sizes[p]) for p in of)
        tables.append(rng.dirichlet(np.full(sizes[node], concentration), size=shape))
    names = [f"x{k}" for k in range(n_nodes)]
    return BayesianNetworkModel(names, [range(size) for size in sizes], parents, tables)
