"""Kemeny's consensus: the order that disagrees with the fewest preferences.

The exact search and the local one (which contains local Kemenisation, exchanges of neighbours)
are those of `octavo.engine.graphs.feedback_arcs`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from octavo.engine.estimators.arrays import Indices
from octavo.engine.estimators.checked import checked
from octavo.engine.graphs.feedback_arcs import (
    feedback_arcs_exact,
    feedback_arcs_local,
    majority_components,
)
from octavo.engine.graphs.orders import kendall_distance
from octavo.ranking.aggregation.preferences import as_preferences

__all__ = ["kemeny", "kendall_distance"]

EXACT = 40  # items of a cycle of majorities up to which "auto" asks for the optimum


@checked
def kemeny(R: Any, *, method: str = "auto") -> tuple[Indices, float]:
    """Return the order of the items that disagrees with the fewest preferences.

    Parameters
    ----------
    R : array-like of shape (n_items, n_experts) or PairwisePreferences
        Ranks, 1 is best, NaN is missing; or preferences, whose strengths are then summed.
    method : {"auto", "exact", "local"}, default="auto"
        The optimum, or an order that no move of a single item improves. The problem is NP-hard;
        "auto" is exact unless more than 40 items form one cycle of majorities.

    Returns
    -------
    order : ndarray of shape (n_items,)
        The items, best first.
    disagreements : float
        How many strict preferences of experts (or how much strength) the order reverses.

    Examples
    --------
    >>> from octavo.ranking import kemeny
    >>> order, disagreements = kemeny([[1.0, 1.0, 2.0], [2.0, 3.0, 1.0], [3.0, 2.0, 3.0]])
    >>> order.tolist(), disagreements
    ([0, 1, 2], 2.0)
    """
    if method not in ("auto", "exact", "local"):
        raise ValueError(f"method must be 'auto', 'exact' or 'local'; got {method!r}.")
    weights = as_preferences(R, "binary").to_array()
    if method == "auto":
        largest = max(part.size for part in majority_components(weights))
        method = "exact" if largest <= EXACT else "local"
    solve = feedback_arcs_exact if method == "exact" else feedback_arcs_local
    order, weight = solve(weights)
    return np.asarray(order), weight
