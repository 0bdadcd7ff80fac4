"""Block-coordinate Frank-Wolfe for quadratic duals over products of simplices, with a duality gap.

Blocks are training examples. A point of block k is a convex combination, C in total, of vertices:
vectors `s` of p features, each with a loss. With D[k] = C s_k - sum of alpha_k(s) s, where s_k is
the true vertex, whose loss is 0, and a kernel K over the blocks, the dual is

    sum of alpha_k(s) loss_k(s) - 1/2 sum_f weights[f] D[:, f]' K D[:, f].

Its gradient in alpha_k(s) is, but for a constant of the block, loss_k(s) + F_k(s) with F_k(s) the
sum of weights[f] (K D)[k, f] s_f: the loss-augmented score, so that the vertex with the largest is
both the Frank-Wolfe direction and the constraint that is violated most, and the gap of a block is
C times that score less the mean score of the block. The gaps add up to primal - dual.

Two forms: `marginal_pass` keeps D and the losses only (memory that does not grow), `vertex_passes`
keeps the vertices that were met with their alphas and moves mass from the worst to the best of
them, which converges much faster. Neither can lower the dual: every step is an exact line search.

Reference: S. Lacoste-Julien, M. Jaggi, M. Schmidt and P. Pletscher (2013), "Block-coordinate
Frank-Wolfe optimization for structural SVMs", ICML.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats, Indices

__all__ = ["VertexStore", "add_vertices", "marginal_pass", "new_store", "vertex_passes"]

USUAL = 8  # a block with so many vertices gives the place of one without mass to a new one
_REGROUP = {"reassoc", "nsz", "contract"}


class VertexStore(NamedTuple):
    """The vertices that were met, with their masses.

    Attributes
    ----------
    vertices : ndarray of shape (n_blocks, capacity, p), int8
        Their features.
    losses : ndarray of shape (n_blocks, capacity)
        Their losses.
    alpha : ndarray of shape (n_blocks, capacity)
        Their masses; each row sums to C.
    n_held : ndarray of shape (n_blocks,)
        How many places of each block are in use.
    """

    vertices: np.ndarray
    losses: Floats
    alpha: Floats
    n_held: Indices


def new_store(truth: np.ndarray, C: float, capacity: int = USUAL) -> VertexStore:
    """Return a store in which each block has all its mass on its true vertex.

    Parameters
    ----------
    truth : ndarray of shape (n_blocks, p)
        True vertices; whole numbers from -127 to 127.
    C : float
        Mass of a block.
    capacity : int, default=8
        Places of each block to begin with.

    Returns
    -------
    VertexStore
        With one vertex in each block.
    """
    m, p = truth.shape
    vertices = np.zeros((m, capacity, p), dtype=np.int8)
    vertices[:, 0] = truth
    alpha = np.zeros((m, capacity))
    alpha[:, 0] = C
    return VertexStore(vertices, np.zeros((m, capacity)), alpha, np.ones(m, dtype=np.int64))


def add_vertices(
    store: VertexStore, blocks: Indices, vertices: np.ndarray, losses: Floats
) -> VertexStore:
    """Return a store with one more vertex in each of the given blocks, where it is new there.

    Parameters
    ----------
    store : VertexStore
        Changed in place where there is room, else copied to a larger one.
    blocks : ndarray of shape (n,)
        Different blocks.
    vertices : ndarray of shape (n, p)
        A vertex for each.
    losses : ndarray of shape (n,)
        Their losses.

    Returns
    -------
    VertexStore
        The store to go on with. A vertex without mass gives its place to the new one where its
        block is full.
    """
    capacity = store.vertices.shape[1]
    while not _add(*store, blocks, vertices.astype(np.int8), losses):
        wider = [(0, 0), (0, capacity)]
        store = VertexStore(
            np.pad(store.vertices, [*wider, (0, 0)]),
            np.pad(store.losses, wider),
            np.pad(store.alpha, wider),
            store.n_held,
        )
        capacity *= 2
    return store


@njit(cache=True, nogil=True)
def _add(store, losses, alpha, count, blocks, vertices, new_losses):
    """Add what is new; return False where a block is full of vertices with mass."""
    capacity, p = store.shape[1], store.shape[2]
    for i in range(blocks.shape[0]):
        k = blocks[i]
        place = -1
        known = False
        for a in range(count[k]):
            same = True
            for f in range(p):
                if store[k, a, f] != vertices[i, f]:
                    same = False
                    break
            known = known or same
            if alpha[k, a] == 0.0 and place < 0:
                place = a
        if known:
            continue
        if count[k] < capacity and (place < 0 or count[k] < USUAL):
            place = count[k]
            count[k] += 1
        elif place < 0:
            return False
        for f in range(p):
            store[k, place, f] = vertices[i, f]
        losses[k, place] = new_losses[i]
        alpha[k, place] = 0.0
    return True


@njit(cache=True, nogil=True, fastmath=_REGROUP)
def _potential(K, D, k, out):
    """Write (K D)[k]."""
    m, p = D.shape
    for f in range(p):
        out[f] = 0.0
    for j in range(0, m - 3, 4):  # four rows for each time that the sum is read
        a, b, c, d = K[k, j], K[k, j + 1], K[k, j + 2], K[k, j + 3]
        for f in range(p):
            out[f] += a * D[j, f] + b * D[j + 1, f] + c * D[j + 2, f] + d * D[j + 3, f]
    for j in range(m - m % 4, m):
        a = K[k, j]
        for f in range(p):
            out[f] += a * D[j, f]


@njit(cache=True, nogil=True, fastmath=_REGROUP)
def _score(weights, G, vertex):
    total = 0.0
    for f in range(weights.shape[0]):
        total += weights[f] * G[f] * vertex[f]
    return total


@njit(cache=True, nogil=True, fastmath=_REGROUP)
def _apart(weights, one, other):
    """Return the squared distance of two vertices under the weights."""
    total = 0.0
    for f in range(weights.shape[0]):
        gap = float(one[f]) - float(other[f])
        total += weights[f] * gap * gap
    return total


@njit(cache=True, nogil=True)
def _move(D, G, k, own, step, to, away):
    """Move mass from one vertex to another."""
    for f in range(G.shape[0]):
        change = step * (float(to[f]) - float(away[f]))
        D[k, f] -= change
        G[f] -= own * change


@njit(cache=True, nogil=True)
def _vertex_passes(K, weights, D, vertices, losses, alpha, count, order, n_moves, tol):
    G = np.empty(D.shape[1])
    scores = np.empty(vertices.shape[1])
    for i in range(order.shape[0]):
        k = order[i]
        n = count[k]
        if n < 2:
            continue
        _potential(K, D, k, G)
        for _ in range(n_moves):
            best, worst = -1, -1
            for a in range(n):
                scores[a] = _score(weights, G, vertices[k, a]) + losses[k, a]
                if best < 0 or scores[a] > scores[best]:
                    best = a
                if alpha[k, a] > 0.0 and (worst < 0 or scores[a] < scores[worst]):
                    worst = a
            rise = scores[best] - scores[worst]
            if rise <= tol:
                break
            bend = K[k, k] * _apart(weights, vertices[k, best], vertices[k, worst])
            step = alpha[k, worst]
            if rise < step * bend:
                step = rise / bend
                alpha[k, worst] -= step
            else:
                alpha[k, worst] = 0.0
            alpha[k, best] += step
            _move(D, G, k, K[k, k], step, vertices[k, best], vertices[k, worst])


def vertex_passes(
    K: Floats, weights: Floats, D: Floats, store: VertexStore, order: Indices, tol: float
) -> None:
    """Visit blocks and move mass between the vertices that they have met, in place.

    Parameters
    ----------
    K : ndarray of shape (n_blocks, n_blocks)
        Kernel of the blocks.
    weights : ndarray of shape (p,)
        Of features, not negative.
    D : ndarray of shape (n_blocks, p)
        C times the true vertex less the mean of the block; changed.
    store : VertexStore
        Vertices and masses; changed.
    order : ndarray of shape (n_visits,)
        Which block is visited when.
    tol : float
        A block is left when no move would raise the dual by more than this for each unit of mass.
    """
    n_moves = 4 * store.vertices.shape[1]
    _vertex_passes(K, weights, D, *store, order, n_moves, tol)


@njit(cache=True, nogil=True)
def _marginal_pass(K, weights, D, mean_losses, C, truth, blocks, vertices, losses):
    p = D.shape[1]
    G = np.empty(p)
    ahead = np.empty(p)
    for i in range(blocks.shape[0]):
        k = blocks[i]
        _potential(K, D, k, G)
        for f in range(p):  # C vertex - mean of the block
            ahead[f] = C * (float(vertices[i, f]) - float(truth[k, f])) + D[k, f]
        rise, bend = C * losses[i] - mean_losses[k], 0.0
        for f in range(p):
            rise += weights[f] * G[f] * ahead[f]
            bend += weights[f] * ahead[f] * ahead[f]
        bend *= K[k, k]
        if rise <= 0.0:
            continue
        step = 1.0 if rise >= bend else rise / bend
        for f in range(p):
            D[k, f] -= step * ahead[f]
        mean_losses[k] += step * (C * losses[i] - mean_losses[k])


def marginal_pass(
    K: Floats,
    weights: Floats,
    D: Floats,
    mean_losses: Floats,
    C: float,
    truth: np.ndarray,
    blocks: Indices,
    vertices: np.ndarray,
    losses: Floats,
) -> None:
    """Step from the mean of each given block towards a vertex, by exact line search, in place.

    Parameters
    ----------
    K : ndarray of shape (n_blocks, n_blocks)
        Kernel of the blocks.
    weights : ndarray of shape (p,)
        Of features, not negative.
    D : ndarray of shape (n_blocks, p)
        C times the true vertex less the mean of the block; changed.
    mean_losses : ndarray of shape (n_blocks,)
        Sum of mass times loss of each block; changed.
    C : float
        Mass of a block.
    truth : ndarray of shape (n_blocks, p), int8
        True vertices.
    blocks : ndarray of shape (n,)
        Blocks to step in, one after another.
    vertices : ndarray of shape (n, p), int8
        Where to.
    losses : ndarray of shape (n,)
        Of those vertices.
    """
    _marginal_pass(K, weights, D, mean_losses, C, truth, blocks, vertices, losses)


def _warmup() -> None:
    K, weights, D = np.eye(2), np.ones(2), np.zeros((2, 2))
    truth, blocks = np.ones((2, 2), dtype=np.int8), np.arange(2)
    store = add_vertices(new_store(truth, 1.0), blocks, -truth, np.ones(2))
    vertex_passes(K, weights, D, store, blocks, 0.0)
    marginal_pass(K, weights, np.zeros((2, 2)), np.zeros(2), 1.0, truth, blocks, -truth, np.ones(2))
