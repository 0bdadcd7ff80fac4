"""How far apart two partitions of the same points are: the variation of information."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics.cluster import contingency_matrix

from octavo.engine.estimators.arrays import Floats


def contingency_table(labels_true: Any, labels_pred: Any) -> Floats:
    """Return how many points each pair of groups shares.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_samples,)
        Two partitions.

    Returns
    -------
    table : ndarray of shape (n_true, n_pred)
        Counts.
    """
    labels_true, labels_pred = np.asarray(labels_true), np.asarray(labels_pred)
    if labels_true.ndim != 1 or labels_true.shape != labels_pred.shape:
        raise ValueError(
            f"Both partitions must label the same points; got shapes {labels_true.shape} and "
            f"{labels_pred.shape}."
        )
    if labels_true.size == 0:
        raise ValueError("There are no points.")
    return np.asarray(contingency_matrix(labels_true, labels_pred), dtype=float)


def partition_distance(labels_true: Any, labels_pred: Any) -> float:
    """Return the variation of information, H(true | pred) + H(pred | true) in nats.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_samples,)
        Two partitions.

    Returns
    -------
    distance : float
        Between zero and log(n_samples).
    """
    joint = contingency_table(labels_true, labels_pred)
    joint /= joint.sum()
    rows, columns = joint.sum(axis=1), joint.sum(axis=0)
    i, j = np.nonzero(joint)
    p = joint[i, j]
    # H(pred | true) + H(true | pred), term by term
    return float(max(0.0, -np.sum(p * (np.log(p / rows[i]) + np.log(p / columns[j])))))
