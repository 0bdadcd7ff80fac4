"""Kernels of graphs: common random walks (Equation 5.24) and Weisfeiler-Lehman subtrees.

For vertices that are alike, 1'(A ⊗ B)^n 1 = (1'A^n 1)(1'B^n 1): the random-walk kernel is an inner
product of numbers of walks, a few hundred features per graph and one matrix product for all pairs.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.search.active_pairs.asking import is_real

__all__ = ["random_walk_kernel", "weisfeiler_lehman_kernel"]

MOST_TERMS = 600  # of the series; beyond, pairs are summed over their spectra
UNIT = 2.0**-53


def as_graphs(graphs: Any, name: str = "graphs") -> list[Any]:
    """Return a list of networkx graphs."""
    import networkx as nx

    if isinstance(graphs, nx.Graph):
        raise ValueError(f"A list of networkx graphs is needed as {name}; got a single graph.")
    if isinstance(graphs, (str, bytes, dict)) or not hasattr(graphs, "__len__"):
        raise ValueError(f"A list of networkx graphs is needed as {name}; got {graphs!r}.")
    graphs = list(graphs)
    for i, graph in enumerate(graphs):
        if not isinstance(graph, nx.Graph) or graph.is_directed() or graph.is_multigraph():
            kind = type(graph).__name__
            raise ValueError(
                f"Undirected networkx graphs are needed as {name}; entry {i} is of type {kind}."
            )
    return graphs


def adjacency(graph: Any) -> Floats:
    """Return the matrix of zeros and ones; a loop is a one on the diagonal."""
    place = {vertex: i for i, vertex in enumerate(graph)}
    matrix = np.zeros((len(place), len(place)))
    ends = [(place[u], place[v]) for u, v in graph.edges()]
    if ends:
        u, v = np.array(ends).T
        matrix[u, v] = matrix[v, u] = 1.0
    return matrix


def vertex_labels(graphs: list[Any]) -> list[list[Any]] | None:
    """Return the labels of the vertices of each graph; None where no vertex carries one."""
    labels = [[data.get("label") for _, data in graph.nodes(data=True)] for graph in graphs]
    if all(label is None for row in labels for label in row):
        return None
    return labels


def by_size(matrices: list[Floats]) -> list[tuple[Any, Floats]]:
    """Return which graphs have a size, and their matrices in one stack, for every size."""
    sizes = np.array([len(matrix) for matrix in matrices])
    groups = [np.flatnonzero(sizes == size) for size in np.unique(sizes)]
    return [(at, np.stack([matrices[i] for i in at])) for at in groups]


def radii(matrices: list[Floats]) -> Floats:
    """Return the largest eigenvalue of each adjacency matrix."""
    found = np.zeros(len(matrices))
    for at, stack in by_size(matrices):
        if stack.shape[1]:
            found[at] = np.linalg.eigvalsh(stack)[:, -1]
    return np.maximum(found, 0.0)


def walk_features(matrices: list[Floats], scale: float, n_terms: int) -> Floats:
    """Return scale^n 1'A^n 1 for n = 0, ..., n_terms - 1, a row per graph."""
    features = np.zeros((len(matrices), n_terms))
    for at, stack in by_size(matrices):
        walks = np.ones((len(at), stack.shape[1], 1))
        for n in range(n_terms):
            features[at, n] = walks.sum(axis=(1, 2))
            walks = scale * (stack @ walks)
    return features


def spectral_sums(matrices: list[Floats], other: list[Floats], decay: float) -> Floats:
    """Return Σ a_i b_j / (1 - λ d_i e_j) for eigenvalues d, e and squared projections a, b of 1."""
    parts = []
    for group in (matrices, other):
        found = [np.linalg.eigh(matrix) for matrix in group]
        parts.append([(values, vectors.sum(axis=0) ** 2) for values, vectors in found])
    K = np.zeros((len(matrices), len(other)))
    for i, (d, a) in enumerate(parts[0]):
        for j, (e, b) in enumerate(parts[1]):
            K[i, j] = a @ (1.0 / (1.0 - decay * np.outer(d, e))) @ b
    # Eq. (5.24): E× = E_1 ⊗ E_2 has the eigenvalues d_i e_j, and Σ (λ d e)^n is a geometric series.
    return K


def labelled_walks(A: Floats, B: Floats, same: Floats, decay: float) -> float:
    """Return the walks of the product graph, whose vertices are pairs with equal labels."""
    first, second = np.nonzero(same)
    E = A[np.ix_(first, first)] * B[np.ix_(second, second)]
    ones = np.ones(len(first))
    # Eq. (5.24): 1'(I - λ E×)⁻¹ 1
    return float(np.linalg.solve(np.eye(len(first)) - decay * E, ones).sum())


def check_decay(decay: Any, first: Floats, second: Floats) -> float:
    """Return the ratio of the geometric series; refuse one that diverges."""
    if not is_real(decay) or not 0 <= decay < math.inf:
        raise ValueError(f"The decay must be a finite number of at least 0; got {decay!r}.")
    largest = float(first.max(initial=0.0) * second.max(initial=0.0))
    ratio = float(decay) * largest
    if ratio >= 1.0 - 1e-12:
        raise ValueError(
            f"The sum over walks diverges for decay={decay:g}: these graphs need a decay below "
            f"{1.0 / largest:.6g}, one over the product of their largest eigenvalues."
        )
    return ratio


@checked
def random_walk_kernel(graphs: Any, other: Any = None, decay: float = 0.01) -> Floats:
    """Count the walks that two graphs have in common, Equation (5.24) with λ_n = decay^n.

    Parameters
    ----------
    graphs : list of networkx.Graph
        Undirected graphs; weights of edges are not looked at.
    other : list of networkx.Graph, default=None
        The second arguments; `graphs` by default.
    decay : float, default=0.01
        The thesis's λ, below one over the product of the largest eigenvalues of two graphs (one
        over the squared largest degree is always small enough).

    Returns
    -------
    K : ndarray of shape (n_graphs, n_other)
        Σ_n decay^n times the number of common walks of length n, not normalised. Vertices that
        carry an attribute ``label`` are matched with those of the same label only.

    Examples
    --------
    >>> import networkx as nx
    >>> from octavo.search import random_walk_kernel
    >>> graphs = [nx.path_graph(3), nx.complete_graph(4)]
    >>> print(random_walk_kernel(graphs, decay=0.1).round(3).tolist())
    [[11.042, 20.488], [20.488, 160.0]]
    """
    first = as_graphs(graphs)
    second = first if other is None else as_graphs(other, "other")
    A = [adjacency(graph) for graph in first]
    B = A if other is None else [adjacency(graph) for graph in second]
    tall = radii(A)
    wide = tall if other is None else radii(B)
    ratio = check_decay(decay, tall, wide)
    together = first if other is None else [*first, *second]
    labels = vertex_labels(together)
    if labels is not None:
        left, right = labels[: len(first)], labels[-len(second) :] if second else []
        K = np.zeros((len(A), len(B)))
        for i, mine in enumerate(left):
            for j, theirs in enumerate(right):
                same = np.array([[a == b for b in theirs] for a in mine]).reshape(
                    len(mine), len(theirs)
                )
                K[i, j] = labelled_walks(A[i], B[j], same, decay)
        return K
    # What is cut off is at most ratio^n / (1 - ratio) of the first term.
    n_terms = 1
    if ratio > 0.0:
        n_terms += math.ceil(math.log(UNIT * (1.0 - ratio)) / math.log(ratio))
    if n_terms > MOST_TERMS:
        return spectral_sums(A, B, float(decay))
    # Both sides are scaled to a largest eigenvalue of one before powers are taken.
    tops = [float(found.max(initial=0.0)) or 1.0 for found in (tall, wide)]
    left_features = walk_features(A, 1.0 / tops[0], n_terms)
    right_features = walk_features(B, 1.0 / tops[1], n_terms)
    weights = (float(decay) * tops[0] * tops[1]) ** np.arange(n_terms)
    K = (left_features * weights) @ right_features.T
    return 0.5 * (K + K.T) if other is None else K


def subtree_counts(graphs: list[Any], n_iter: int) -> sp.csr_matrix:
    """Return how often each subtree pattern of height 0 to n_iter occurs, a row per graph."""
    names: dict[Any, int] = {}
    rows: list[int] = []
    columns: list[int] = []
    for i, graph in enumerate(graphs):
        labels = {v: data.get("label") for v, data in graph.nodes(data=True)}
        code = {v: names.setdefault((0, label), len(names)) for v, label in labels.items()}
        around = {v: list(graph.adj[v]) for v in graph}
        columns += code.values()
        for height in range(1, n_iter + 1):
            code = {
                v: names.setdefault(
                    (height, code[v], tuple(sorted([code[u] for u in near]))), len(names)
                )
                for v, near in around.items()
            }
            columns += code.values()
        rows += [i] * (len(columns) - len(rows))
    shape = (len(graphs), max(len(names), 1))
    return sp.csr_matrix((np.ones(len(rows)), (rows, columns)), shape=shape)


@checked
def weisfeiler_lehman_kernel(graphs: Any, other: Any = None, n_iter: int = 3) -> Floats:
    """Count the subtree patterns that two graphs have in common (Weisfeiler and Lehman).

    Parameters
    ----------
    graphs : list of networkx.Graph
        Undirected graphs. Vertices are alike unless they carry an attribute ``label``.
    other : list of networkx.Graph, default=None
        The second arguments; `graphs` by default.
    n_iter : int, default=3
        Largest height of a pattern; heights 0 to `n_iter` are counted.

    Returns
    -------
    K : ndarray of shape (n_graphs, n_other)
        Inner products of the counts, not normalised.

    Examples
    --------
    >>> import networkx as nx
    >>> from octavo.search import weisfeiler_lehman_kernel
    >>> graphs = [nx.path_graph(3), nx.complete_graph(4)]
    >>> print(weisfeiler_lehman_kernel(graphs, n_iter=1).tolist())
    [[14.0, 12.0], [12.0, 32.0]]
    """
    whole = isinstance(n_iter, (int, np.integer)) and not isinstance(n_iter, bool)
    if not whole or not 0 <= n_iter <= 1000:
        raise ValueError(f"An integer from 0 to 1000 is needed for n_iter; got {n_iter!r}.")
    first = as_graphs(graphs)
    second = [] if other is None else as_graphs(other, "other")
    counts = subtree_counts([*first, *second], int(n_iter))
    left = counts[: len(first)]
    right = left if other is None else counts[len(first) :]
    return (left @ right.T).toarray()
