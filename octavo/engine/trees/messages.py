"""Sums and maxima over all labellings of a rooted forest, by messages from the leaves.

`scores[..., v, a, b]` is the score of vertex v with label b under a parent with label a; a root
reads its row `[..., v, 0, :]`. Scores are logarithms of potentials: -inf forbids. Leading axes are
problems on the same forest, answered together.
"""

from __future__ import annotations

import numpy as np

from octavo.engine.estimators.arrays import Floats, Indices

__all__ = ["max_product", "sum_product"]


def _log_sum(values: Floats) -> Floats:
    """Return the logarithm of the sum of exponentials over the last axis; -inf of nothing."""
    top = values.max(axis=-1, keepdims=True)
    safe = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.log(np.exp(values - safe).sum(axis=-1)) + safe[..., 0]


def sum_product(parent: Indices, order: Indices, scores: Floats) -> tuple[Floats, Floats]:
    """Return the log partition function and the probability of every pair of labels.

    Parameters
    ----------
    parent : ndarray of shape (n,)
        -1 at a root.
    order : ndarray of shape (n,)
        Parents before children.
    scores : ndarray of shape (..., n, L, L)
        Of each vertex under its parent.

    Returns
    -------
    log_partition : ndarray of shape (...)
        Summed over the trees of the forest. Where it is -inf no labelling is allowed, and the
        probabilities are NaN.
    pairs : ndarray of shape (..., n, L, L)
        Probability of (label of the parent, own label); of a root in the row `[..., v, 0, :]`.
    """
    below = np.zeros((*scores.shape[:-2], scores.shape[-1]))  # messages that came up to v
    up = np.zeros_like(below)  # what v sends up
    log_partition = np.zeros(scores.shape[:-3])
    for v in order[::-1]:
        total = scores[..., v, :, :] + below[..., v, None, :]
        if parent[v] < 0:
            log_partition += _log_sum(total[..., 0, :])
        else:
            up[..., v, :] = _log_sum(total)
            below[..., parent[v], :] += up[..., v, :]
    pairs = np.zeros_like(scores)
    own = np.zeros_like(below)
    with np.errstate(invalid="ignore"):
        for v in order:
            total = scores[..., v, :, :] + below[..., v, None, :]
            if parent[v] < 0:
                top = total[..., 0, :]
                pairs[..., v, 0, :] = np.exp(top - _log_sum(top)[..., None])
            else:
                above = own[..., parent[v], :, None]
                # p(own | parent) from the message that v had sent
                share = np.exp(total - up[..., v, :, None])  # of own label given the parent's
                pairs[..., v, :, :] = np.where(above > 0, above * share, 0 * above)
            own[..., v, :] = pairs[..., v, :, :].sum(axis=-2)
    return log_partition, pairs


def max_product(parent: Indices, order: Indices, scores: Floats) -> tuple[Floats, Indices]:
    """Return the largest score of a labelling, and one that has it.

    Parameters
    ----------
    parent : ndarray of shape (n,)
        -1 at a root.
    order : ndarray of shape (n,)
        Parents before children.
    scores : ndarray of shape (..., n, L, L)
        Of each vertex under its parent.

    Returns
    -------
    value : ndarray of shape (...)
        The largest total.
    labels : ndarray of shape (..., n)
        The smallest labels where several are as good, seen from the roots.
    """
    below = np.zeros((*scores.shape[:-2], scores.shape[-1]))
    choice = np.zeros((*scores.shape[:-1],), dtype=np.intp)  # of v, for each label of its parent
    value = np.zeros(scores.shape[:-3])
    for v in order[::-1]:
        total = scores[..., v, :, :] + below[..., v, None, :]
        choice[..., v, :] = total.argmax(axis=-1)
        if parent[v] < 0:
            value += total[..., 0, :].max(axis=-1)
        else:
            below[..., parent[v], :] += total.max(axis=-1)
    labels = np.zeros(scores.shape[:-2], dtype=np.intp)
    for v in order:
        if parent[v] < 0:
            labels[..., v] = choice[..., v, 0]
        else:
            above = labels[..., parent[v], None]
            labels[..., v] = np.take_along_axis(choice[..., v, :], above, axis=-1)[..., 0]
    return value, labels
