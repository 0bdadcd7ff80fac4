"""Region graphs: which part of the data decides which edges of a graph.

Clusters of a junction tree, their separators, the intersections of those, and so on: an edge is
decided in the smallest region that holds it, from the data of all clusters around that region.

Reference: D. Vats and R. D. Nowak (2014), "A junction tree framework for undirected graphical model
selection", JMLR 15:147-191, sections 3 and 4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.engine.estimators.checked import checked
from octavo.engine.graphs.junction_trees import JunctionTree

__all__ = ["RegionGraph", "region_graph"]

Region = frozenset[Any]
Key = tuple[int, Region]


class RegionGraph(NamedTuple):
    """Regions in rows, and what lies around each; keys are ``(row, region)``, rows counted from 0.

    Attributes
    ----------
    rows : tuple of tuple of frozenset
        Clusters; separators; intersections of separators of more than one node; and so on. A
        region may stand in several rows.
    children : dict of (int, frozenset) to frozenset of frozenset
        The regions of the next row that a region contains, ch(R).
    ancestors : dict of (int, frozenset) to frozenset of frozenset
        All regions of the rows before from which arcs lead to it, an(R).
    closure : dict of (int, frozenset) to frozenset
        The nodes of a region and of all its ancestors: the union of the clusters that hold it.
    """

    rows: tuple[tuple[Region, ...], ...]
    children: dict[Key, frozenset[Region]]
    ancestors: dict[Key, frozenset[Region]]
    closure: dict[Key, Region]


def _ordered(regions: Iterable[Region]) -> tuple[Region, ...]:
    return tuple(dict.fromkeys(regions))


def live_regions(tree: JunctionTree, is_live: Callable[[Region], bool]) -> RegionGraph:
    """Return the region graph (Algorithm 1) of the regions that pass a test.

    What holds a region that passes must pass too: then nothing that is left lacks an ancestor.
    """
    rows = [_ordered(c for c in tree.clusters if is_live(c))]  # line 1
    row = _ordered(s for s in tree.separators if is_live(s))  # line 2
    while row:  # lines 3 and 4
        rows.append(row)
        met = _ordered(a & b for a, b in combinations(row, 2))
        row = tuple(region for region in met if len(region) > 1 and is_live(region))
    children: dict[Key, frozenset[Region]] = {}
    ancestors: dict[Key, frozenset[Region]] = {(0, region): frozenset() for region in rows[0]}
    for level, row in enumerate(rows):
        below = rows[level + 1] if level + 1 < len(rows) else ()
        above: dict[Region, set[Region]] = {region: set() for region in below}
        for region in row:
            inside = frozenset(s for s in below if s <= region)  # line 5
            children[level, region] = inside
            for s in inside:
                above[s] |= {region, *ancestors[level, region]}
        for s in below:
            ancestors[level + 1, s] = frozenset(above[s])
    closure = {key: key[1].union(*ancestors[key]) for key in ancestors}  # Eq. (2)
    return RegionGraph(tuple(rows), children, ancestors, closure)


@checked
def region_graph(tree):
    """Arrange the clusters of a junction tree, their separators and what these share in rows.

    Parameters
    ----------
    tree : JunctionTree
        As `junction_tree` or `merge_clusters` returns it.

    Returns
    -------
    RegionGraph
        `rows` of frozensets; `children`, `ancestors` and `closure` keyed by ``(row, region)``, the
        first row is 0.

    References
    ----------
    .. [1] Vats and Nowak (2014). A junction tree framework for undirected graphical model
       selection. JMLR 15:147-191, Algorithm 1.

    Examples
    --------
    >>> import networkx as nx
    >>> from octavo.graphical import junction_tree, region_graph
    >>> regions = region_graph(junction_tree(nx.cycle_graph(5)))
    >>> [len(row) for row in regions.rows]
    [3, 2]
    >>> sorted(regions.closure[1, regions.rows[1][0]])
    [0, 1, 2, 4]
    """
    return live_regions(tree, lambda region: True)


class RegionTask(NamedTuple):
    """One region to decide: its row, its nodes, the nodes of its closure, and its edges."""

    row: int
    region: tuple[int, ...]
    closure: NDArray[np.intp]
    edges: NDArray[np.intp]


def own_edges(region: Region, children: Iterable[Region], undecided: Any) -> NDArray[np.intp]:
    """Return the edges H'_R of a region that lie in none of its children, as pairs i < j."""
    members = np.array(sorted(region), dtype=np.intp)
    left = np.triu(undecided[np.ix_(members, members)], 1)
    for child in children:  # Eq. (3)
        inside = np.isin(members, list(child))
        left &= ~np.outer(inside, inside)
    return members[np.argwhere(left)].reshape(-1, 2)


def row_tasks(regions: RegionGraph, undecided: Any) -> Iterator[list[RegionTask]]:
    """Yield, row by row, the regions that have edges of their own to decide."""
    for level, row in enumerate(regions.rows):
        tasks = []
        for region in row:
            edges = own_edges(region, regions.children[level, region], undecided)
            if len(edges):
                # the closure's data decide the region's own edges (Proposition 8)
                closure = np.array(sorted(regions.closure[level, region]), dtype=np.intp)
                tasks.append(RegionTask(level, tuple(sorted(region)), closure, edges))
        yield tasks
