"""Blocks of variables that a thresholded matrix leaves connected.

A penalised Gaussian likelihood often splits exactly: variables that no entry above its threshold
connects, even through others, can be estimated apart (Witten, Friedman and Simon, 2011, "New
insights and faster computations for the graphical lasso", JCGS 20:892-900; Mazumder and Hastie,
2012, JMLR 13:723-736).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components


def connected_blocks(adjacency: NDArray[np.bool_]) -> list[NDArray[np.intp]]:
    """Return the connected components of a symmetric graph, each as sorted indices.

    Parameters
    ----------
    adjacency : ndarray of shape (n, n), dtype bool
        Where two variables are joined; the diagonal does not matter.

    Returns
    -------
    list of ndarray of int
        The components in the order of their first members.
    """
    _, labels = connected_components(csr_array(adjacency), directed=False)
    order = np.argsort(labels, kind="stable")
    ends = np.flatnonzero(np.diff(labels[order])) + 1
    blocks = np.split(order, ends)
    return sorted(blocks, key=lambda block: int(block[0]))


def block_support(blocks: list[NDArray[np.intp]], n: int) -> NDArray[np.bool_]:
    """Return which entries of an n × n matrix lie inside the blocks."""
    label = np.empty(n, dtype=np.intp)
    for number, block in enumerate(blocks):
        label[block] = number
    return label[:, None] == label[None, :]
