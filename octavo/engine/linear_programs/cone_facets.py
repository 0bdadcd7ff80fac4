"""Which of many homogeneous inequalities bound the cone that they describe.

Of {x : a_i·x >= 0 for all i} an inequality is redundant if its normal is a non-negative combination
of the others' (Farkas), which non-negative least squares decides: a remainder r of a_j is a
direction -r that keeps all inequalities looked at and breaks the j-th. Following Clarkson, only
inequalities already known to bound the cone are looked at, and where they do not cover a_j,
the ray from an inner point towards the direction found ends at a new one that bounds it.

Reference: K. L. Clarkson (1994), "More output-sensitive geometric algorithms".
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from octavo.engine.estimators.arrays import Floats

TOL = 1e-9  # of unit normals: a remainder below is rounding


def _outside(normal: Floats, known: Floats) -> Floats | None:
    """Return a direction that keeps the known inequalities and breaks this one, or None."""
    if not len(known):
        return -normal
    # Farkas: is the normal a non-negative combination of the known ones?
    weights, length = nnls(known.T, normal)
    # -r keeps what is known, by the optimality of least squares, and breaks this one
    return None if length <= TOL else known.T @ weights - normal


def cone_facets(normals: Floats, inner: Floats) -> NDArray[np.bool_]:
    """Return which inequalities a·x >= 0 bound their cone.

    Parameters
    ----------
    normals : ndarray of shape (m, d)
        The normals a, none zero; of several that point in one direction all count.
    inner : ndarray of shape (d,)
        A point with a·x > 0 for every normal.

    Returns
    -------
    facets : ndarray of bool of shape (m,)
        True where leaving out all inequalities of that direction would change the cone.
    """
    if not len(normals):
        return np.zeros(0, dtype=bool)
    unit = normals / np.linalg.norm(normals, axis=1, keepdims=True)
    _, first, group = np.unique(unit.round(12), axis=0, return_index=True, return_inverse=True)
    rows, slack = unit[first], unit[first] @ inner
    found: list[int] = []
    is_facet = np.zeros(len(rows), dtype=bool)
    for j in range(len(rows)):
        while not is_facet[j]:
            direction = _outside(rows[j], rows[found])
            if direction is None:
                break
            slopes = rows @ direction
            # How far from the inner point each inequality breaks; the first one bounds the cone.
            with np.errstate(divide="ignore"):
                reach = np.where(slopes < 0.0, slack / -slopes, np.inf)
            hit = int(np.argmin(reach))
            if is_facet[hit]:  # rounding: the ray ends where one is known already
                hit = j
            found.append(hit)
            is_facet[hit] = True
    return is_facet[np.asarray(group).ravel()]
