"""What similar tasks with more data tell about features: clusters of tasks, and learnt codes.

Reference: Dhillon, Foster and Ungar (2011), section 7.1 and 7.2.1.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse.csgraph import connected_components

from octavo.engine.estimators.arrays import Floats, Indices
from octavo.linear.code_length.groups import GroupCode


def cosines(vectors: Floats) -> Floats:
    """Return the cosines between rows; 0 for a row of zeros."""
    lengths = np.linalg.norm(vectors, axis=1)
    units = vectors / np.where(lengths > 0.0, lengths, 1.0)[:, None]
    return units @ units.T


def foreground_clusters(similarity: Floats, background: float, threshold: float) -> Indices:
    """Return clusters of similar things: 0, 1, ..., and -1 for those that are like no other.

    The share `background` whose nearest neighbour is furthest goes to the background; the rest are
    linked where their similarity reaches the threshold, and stand alone (-1) where nothing does.
    """
    n = len(similarity)
    others = np.where(np.eye(n, dtype=bool), -np.inf, similarity)
    # 20 % in Section 7.2.1
    isolated = np.argsort(others.max(axis=1), kind="stable")[: int(background * n)]
    linked = others >= threshold
    linked[isolated] = linked[:, isolated] = False
    labels = connected_components(linked, directed=False)[1]
    sizes = np.bincount(labels)
    clusters = np.full(n, -1, dtype=np.intp)
    together = sizes[labels] > 1
    clusters[together] = np.unique(labels[together], return_inverse=True)[1]
    return clusters


def prior_bits(selected: Floats, n_donors: int, sizes: Floats, a: float) -> Floats:
    """Return -lg p of Eq. (17) with b = a (size - 1): uniform where there is no evidence."""
    # Eq. (17); b = p - 1 at a = 1 is Section 7.1.1
    return -np.log2((selected + a) / (n_donors + a * sizes))


def learnt_code(
    group_of: Indices, scheme: str, coef_bits: float, donors: Floats, a: float
) -> GroupCode:
    """Return a code that is shorter for what the donors selected.

    Parameters
    ----------
    group_of : ndarray of shape (p,)
        Groups, 0 to K - 1, of the features of the task.
    scheme : {"switch", "ric"}
        What it is built on.
    coef_bits : float
        Bits of a coefficient.
    donors : ndarray of shape (n_donors, p)
        Whether each donor selected each of these features.
    a : float
        Weight of the uniform code.

    Returns
    -------
    GroupCode
        The uniform one where there are no donors.
    """
    if not len(donors):
        return GroupCode(group_of, scheme, coef_bits)
    n_donors, K = len(donors), int(group_of.max()) + 1
    by_feature = donors.sum(axis=0)
    if scheme == "ric":
        size = np.full(group_of.size, float(group_of.size))
        bits = prior_bits(by_feature, n_donors, size, a)  # K = 1 group
        return GroupCode(group_of, scheme, coef_bits, feature_bits=bits)
    in_group = np.zeros((K, group_of.size))
    in_group[group_of, np.arange(group_of.size)] = 1.0
    by_group = ((donors @ in_group.T) > 0).sum(axis=0)  # G_j: any feature of the group
    sizes = np.bincount(group_of, minlength=K).astype(np.float64)
    return GroupCode(
        group_of,
        scheme,
        coef_bits,
        new_bits=prior_bits(by_group, n_donors, np.full(K, float(K)), a),
        feature_bits=prior_bits(by_feature, n_donors, sizes[group_of], a),
    )
