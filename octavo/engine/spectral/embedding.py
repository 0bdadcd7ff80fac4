"""Spectral embedding of a sparse symmetric affinity, with what is known of every component exact.

D^(-1/2) A D^(-1/2), D the sums of |a_ij|, has eigenvalues from -1 to 1. Each connected component of
the graph has the eigenvalue 1 with an eigenvector that can be written down: the square roots of
degrees on that component, zero elsewhere. Where entries have signs it exists if and only if the
component is balanced (its nodes fall into two camps, positive links within and negative ones
between), and then has the camps' signs (Harary 1953). Eigensolvers lose their way among such
multiple eigenvalues; here they are taken out and a solver looks only for the rest.

`embed_affinity` does all of it; `leading_eigenpairs` takes any symmetric matrix with eigenvectors
that are known already (signed Laplacians, either end of the spectrum, or both).

References: von Luxburg (2007), "A tutorial on spectral clustering", Statistics and Computing 17;
Kunegis et al. (2010), "Spectral analysis of signed graphs", SDM, for signs.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order, connected_components
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh
from sklearn.exceptions import ConvergenceWarning

from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.spectral.two_level import Eigenpairs, coarse_graph, two_level_eigenpairs

DENSE_NODES = 800  # up to here all eigenvectors by LAPACK are faster than any iteration
TWO_LEVEL_NODES = 4000
SPARE_VECTORS = 20  # of a Lanczos basis beyond twice the wanted ones
ENDS = {"largest": "LA", "smallest": "SA", "magnitude": "LM"}


class Embedding(NamedTuple):
    """Leading eigenpairs of D^(-1/2) A D^(-1/2).

    `values` (k,) and orthonormal `vectors` (n, k) from the wanted end on, `residuals` (k,) of both;
    `degrees` (n,); `components` (n,) numbers the connected components, of which there are
    `n_components`; the first `n_exact` eigenpairs are the known ones.
    """

    values: Floats
    vectors: Floats
    residuals: Floats
    degrees: Floats
    components: Ints
    n_components: int
    n_exact: int


def normalized_matrix(affinity: Any) -> tuple[sp.csr_array, Floats]:
    """Return D^(-1/2) A D^(-1/2) and D, the sums of |a_ij|.

    Nodes without an edge keep one to themselves: their degree is 1 and so is their entry.
    """
    A = sp.csr_array(affinity, dtype=np.float64, copy=True)
    A.sum_duplicates()
    A.eliminate_zeros()
    degrees = np.asarray(abs(A).sum(axis=1), dtype=np.float64).ravel()
    alone = degrees <= 0.0
    if alone.any():
        A = sp.csr_array(A + sp.diags_array(alone.astype(np.float64)))
        degrees = np.where(alone, 1.0, degrees)
    root = 1.0 / np.sqrt(degrees)
    A.data *= np.repeat(root, np.diff(A.indptr))  # D^(−½)A, then A D^(−½)
    A.data *= root[A.indices]
    return A, degrees


def camps(matrix: sp.csr_array, components: Ints) -> tuple[Floats, np.ndarray]:
    """Return a camp (1 or -1) for every node, and whether each component is balanced.

    Parameters
    ----------
    matrix : csr_array of shape (n, n)
        Symmetric, with signs.
    components : ndarray of int of shape (n,)
        Connected components of its pattern.

    Returns
    -------
    signs : ndarray of shape (n,)
        The product of signs along a tree from the component's first node.
    balanced : ndarray of bool of shape (n_components,)
        Whether every entry has the sign that the camps of its two nodes ask for.
    """
    n, n_components = matrix.shape[0], int(components.max()) + 1
    signs, balanced = np.ones(n), np.ones(n_components, dtype=bool)
    if matrix.data.min(initial=0.0) >= 0.0:
        return signs, balanced
    entries = sp.coo_array(matrix)
    row, column, value = entries.coords[0], entries.coords[1], entries.data
    first = np.unique(components, return_index=True)[1]
    # a node beyond the last, linked to one of each component, starts one search for all
    top = sp.csr_array((np.ones(n_components), (np.full(n_components, n), first)), (n + 1,) * 2)
    pattern = sp.csr_array((np.ones(len(row)), (row, column)), (n + 1,) * 2)
    parent = breadth_first_order(pattern + top + top.T, n, directed=True)[1][:n]
    child = parent < n
    signs[child] = np.sign(matrix[np.flatnonzero(child), parent[child]])
    ancestor = np.where(child, parent, np.arange(n))
    while not np.array_equal(ancestor, ancestor[ancestor]):  # twice the length each time
        signs, ancestor = signs * signs[ancestor], ancestor[ancestor]
    balanced[components[row[value * signs[row] * signs[column] < 0]]] = False
    return signs, balanced


def trivial_vectors(
    matrix: sp.csr_array, degrees: Floats, components: Ints
) -> tuple[sp.csr_array, Floats]:
    """Return the known eigenvectors (n, m), heaviest component first, and the signed √degrees.

    The columns are orthonormal, with eigenvalue 1 of `normalized_matrix`; components that are not
    balanced have none.
    """
    signs, balanced = camps(matrix, components)
    root = signs * np.sqrt(degrees)
    volume = np.bincount(components, degrees, minlength=len(balanced))
    order = np.argsort(-np.where(balanced, volume, -1.0), kind="stable")[: int(balanced.sum())]
    place = np.full(len(balanced), -1)
    place[order] = np.arange(len(order))
    inside = place[components] >= 0
    nodes = np.flatnonzero(inside)
    values = root[nodes] / np.sqrt(volume[components[nodes]])  # √degree over √volume: of length one
    known = sp.csr_array((values, (nodes, place[components[nodes]])), (len(degrees), len(order)))
    return known, root


def leading_eigenpairs(
    matrix: Any,
    k: int,
    *,
    which: str = "largest",
    known: Any = None,
    weights: Floats | None = None,
    tol: float = 1e-7,
    max_iter: int = 100,
    random_state: int = 0,
) -> Eigenpairs:
    """Return eigenpairs of a symmetric matrix at one end of its spectrum, without known ones.

    Parameters
    ----------
    matrix : {ndarray, sparse matrix} of shape (n, n)
        Symmetric.
    k : int
        How many; at most n less the known ones.
    which : {"largest", "smallest", "magnitude"}, default="largest"
        Which end, or the largest absolute values of both.
    known : {ndarray, sparse matrix} of shape (n, m), optional
        Orthonormal eigenvectors that are known already: they are taken out.
    weights : ndarray of shape (n,), optional
        Without zeros, and locally like the wanted eigenvectors: given, and with ``which="largest"``
        and eigenvalues in [-1, 1], large graphs are solved on two levels.
    tol : float, default=1e-7
        Residual |Av - λv|, in units of the largest absolute row sum, that is good enough; a
        ConvergenceWarning tells of a larger one.
    max_iter : int, default=100
        The most steps on two levels; few do for a rough look.
    random_state : int, default=0
        Seed of the first vector.

    Returns
    -------
    Eigenpairs
        From the wanted end on.
    """
    if which not in ENDS:
        raise ValueError(f"which must be one of {', '.join(ENDS)}; got {which!r}.")
    S = sp.csr_array(matrix, dtype=np.float64)
    n = S.shape[0]
    U = sp.csr_array((n, 0)) if known is None else sp.csr_array(known)
    free = n - U.shape[1]
    if not 0 <= k <= free:
        raise ValueError(f"k must be from 0 to {free}, the nodes less the known vectors; got {k}.")
    if k == 0:
        return Eigenpairs(np.zeros(0), np.zeros((n, 0)), np.zeros(0))
    scale = float(abs(S).sum(axis=1).max()) or 1.0
    UT = sp.csr_array(U.T)

    def project(V: Floats) -> Floats:
        return V - U @ (UT @ V)

    start = project(np.random.default_rng(random_state).standard_normal(n))
    if n <= DENSE_NODES or 2 * k + SPARE_VECTORS >= n:
        found = _dense(S, U, k, which)
    else:
        coarse = None
        if which == "largest" and weights is not None and n >= TWO_LEVEL_NODES:
            order = np.random.default_rng(random_state).permutation(n)
            coarse = coarse_graph(S, weights, order)
        if coarse is not None:
            found = two_level_eigenpairs(
                S, k, coarse, project, start=start, tol=tol * scale, max_iter=max_iter
            )
        else:
            found = _lanczos(S, U, UT, k, which, scale, start)
    worst = float(found.residuals.max()) / scale
    if worst > max(tol, 1e-10):
        warnings.warn(
            f"Eigenvectors have a residual of {worst:.1e}; {tol:.1e} was wanted. The graph may "
            "have very many eigenvalues that are almost equal: ask for fewer, or join more nodes.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return found


def _order(values: Floats, which: str) -> Ints:
    keys = {"largest": -values, "smallest": values, "magnitude": -np.abs(values)}
    return np.argsort(keys[which], kind="stable")


def _with_residuals(S: sp.csr_array, values: Floats, vectors: Floats, which: str) -> Eigenpairs:
    order = _order(values, which)
    values, vectors = values[order], vectors[:, order]
    return Eigenpairs(values, vectors, np.linalg.norm(S @ vectors - vectors * values, axis=0))


def _dense(S: sp.csr_array, U: sp.csr_array, k: int, which: str) -> Eigenpairs:
    """Solve in full on what is orthogonal to the known vectors."""
    A, n_known = S.toarray(), U.shape[1]
    Q = np.linalg.qr(U.toarray(), mode="complete")[0][:, n_known:] if n_known else None
    inner = A if Q is None else Q.T @ A @ Q
    values, vectors = np.linalg.eigh((inner + inner.T) / 2.0)
    order = _order(values, which)[:k]
    vectors = vectors[:, order] if Q is None else Q @ vectors[:, order]
    return _with_residuals(S, values[order], vectors, which)


def _lanczos(
    S: sp.csr_array,
    U: sp.csr_array,
    UT: sp.csr_array,
    k: int,
    which: str,
    scale: float,
    start: Floats,
) -> Eigenpairs:
    """Restarted Lanczos of ARPACK, the known vectors moved to where nobody looks."""
    # so far off that no wanted eigenvalue is near
    far = {"largest": -4.0 * scale, "smallest": 4.0 * scale, "magnitude": 0.0}[which]

    def multiply(v: Floats) -> Floats:
        inside = UT @ v
        image = S @ (v - U @ inside)
        return image - U @ (UT @ image) + far * (U @ inside)

    operator = LinearOperator(S.shape, matvec=multiply, dtype=np.float64)
    n_basis = min(S.shape[0], 2 * k + SPARE_VECTORS)
    try:
        values, vectors = eigsh(operator, k, which=ENDS[which], ncv=n_basis, tol=1e-10, v0=start)
    except ArpackNoConvergence as stuck:
        values, vectors = stuck.eigenvalues, stuck.eigenvectors
        if len(values) < k:
            raise ValueError(
                f"Only {len(values)} of {k} eigenvectors converged: too many eigenvalues of the "
                "affinity are almost equal. Join more nodes, or ask for fewer."
            ) from stuck
    return _with_residuals(S, values, vectors, which)


class NormalizedGraph(NamedTuple):
    """D^(-1/2) A D^(-1/2), D, connected components, and what is known of them.

    `known` (n, m) are eigenvectors with eigenvalue 1; `root` (n,) is ±√D.
    """

    matrix: sp.csr_array
    degrees: Floats
    components: Ints
    n_components: int
    known: sp.csr_array
    root: Floats


def normalized_graph(affinity: Any) -> NormalizedGraph:
    """Return an affinity with what `embed_graph` needs, done once for several questions."""
    S, degrees = normalized_matrix(affinity)
    n_components, components = connected_components(S, directed=False)
    return NormalizedGraph(
        S, degrees, components, n_components, *trivial_vectors(S, degrees, components)
    )


def embed_graph(
    graph: NormalizedGraph,
    k: int,
    *,
    which: str = "largest",
    tol: float = 1e-7,
    max_iter: int = 100,
    random_state: int = 0,
) -> Embedding:
    """Return the k leading eigenpairs of a normalised graph; see `embed_affinity`."""
    S, n = graph.matrix, len(graph.degrees)
    if not 1 <= k <= n:
        raise ValueError(f"k must be from 1 to {n}, the number of nodes; got {k}.")
    told = graph.degrees, graph.components, graph.n_components
    if which == "smallest":
        rest = leading_eigenpairs(S, k, which=which, tol=tol, random_state=random_state)
        return Embedding(*rest, *told, 0)
    n_exact = min(k, graph.known.shape[1])
    exact = graph.known[:, :n_exact].toarray()
    rest = leading_eigenpairs(
        S,
        k - n_exact,
        which=which,
        known=graph.known,
        weights=graph.root,
        tol=tol,
        max_iter=max_iter,
        random_state=random_state,
    )
    values = np.concatenate([np.ones(n_exact), np.clip(rest.values, -1.0, 1.0)])
    vectors = np.hstack([exact, rest.vectors])
    residuals = np.concatenate([np.linalg.norm(S @ exact - exact, axis=0), rest.residuals])
    return Embedding(values, vectors, residuals, *told, n_exact)


def embed_affinity(
    affinity: Any,
    k: int,
    *,
    which: str = "largest",
    tol: float = 1e-7,
    random_state: int = 0,
) -> Embedding:
    """Return the k leading eigenpairs of D^(-1/2) A D^(-1/2), exact where they are known.

    Parameters
    ----------
    affinity : {ndarray, sparse matrix} of shape (n, n)
        Symmetric; negative entries are links of a signed network.
    k : int
        How many, from 1 to n.
    which : {"largest", "smallest", "magnitude"}, default="largest"
        Which end of the spectrum. From "smallest" nothing is taken out.
    tol : float, default=1e-7
        Residual that is good enough.
    random_state : int, default=0
        Seed of the solver.

    Returns
    -------
    Embedding
        With fewer than as many vectors as components, those of the heaviest components.
    """
    graph = normalized_graph(affinity)
    return embed_graph(graph, k, which=which, tol=tol, random_state=random_state)


def unit_rows(vectors: Floats) -> Floats:
    """Return rows of length one; rows of zeros stay."""
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(length > 0.0, length, 1.0)
