"""How rich a class is, whoever teaches it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from octavo.engine.discrete.shattering import largest_shattered
from octavo.engine.estimators.checked import checked
from octavo.teaching.cooperative.concepts import class_of, table_of

__all__ = ["ClassStatistics", "class_statistics", "vc_dimension"]


class ClassStatistics(NamedTuple):
    """Size and spread of a class.

    `distances` are, of each concept, the instances on which its nearest neighbour differs;
    `shattered` are instances on which all labelings occur, as many as the VC dimension.
    """

    n_concepts: int
    n_instances: int
    vc_dimension: int
    shattered: tuple[int, ...]
    distances: np.ndarray


@checked
def vc_dimension(labelings: Any) -> int:
    """Return the size of the largest set of points that hypotheses label in every way.

    Parameters
    ----------
    labelings : ConceptClass or array-like of shape (n_hypotheses, n_points)
        Zeros and ones, or an object with such a `matrix`. Equal rows count once.

    Returns
    -------
    dimension : int
        The Vapnik-Chervonenkis dimension of the class on these points. Where they are a sample of a
        larger space it is a lower bound for the space. `shatters` decides for half-spaces and boxes
        without a table.

    Examples
    --------
    >>> from octavo.teaching import ConceptClass, vc_dimension
    >>> vc_dimension(ConceptClass.rectangles(4, 4)), vc_dimension([[0, 0], [0, 1], [1, 0], [1, 1]])
    (4, 2)
    """
    return len(largest_shattered(table_of(labelings)))


@checked
def class_statistics(concepts: Any) -> ClassStatistics:
    """Return the size of a class, its VC dimension and how far apart its concepts are.

    Parameters
    ----------
    concepts : ConceptClass or array-like of shape (n_concepts, n_instances)
        The class, or its table of zeros and ones.

    Returns
    -------
    statistics : ClassStatistics
        Numbers of concepts and instances, VC dimension, and distances to nearest neighbours.

    Examples
    --------
    >>> from octavo.teaching import ConceptClass, class_statistics
    >>> found = class_statistics(ConceptClass.thresholds(5))
    >>> found.n_concepts, found.vc_dimension, int(found.distances.max())
    (6, 1, 1)
    """
    table = class_of(concepts).matrix
    signs = 2.0 * table - 1.0
    nearest = np.zeros(len(table), np.int64)
    if len(table) > 1:
        for i, row in enumerate(signs):
            # Hamming distances from the products of signs
            apart = (table.shape[1] - signs @ row) / 2.0
            apart[i] = np.inf
            nearest[i] = int(apart.min())
    columns = largest_shattered(table)
    z, n = table.shape
    return ClassStatistics(z, n, len(columns), tuple(columns.tolist()), nearest)
