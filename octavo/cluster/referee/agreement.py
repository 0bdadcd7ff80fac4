"""How well two partitions of the same points agree."""

from __future__ import annotations

from typing import Any

from scipy.optimize import linear_sum_assignment

from octavo._names import UnknownNameError
from octavo.engine.discrete.partition_agreement import contingency_table, partition_distance
from octavo.engine.estimators.checked import checked

__all__ = ["classification_accuracy", "classification_proportion", "variation_of_information"]


@checked
def variation_of_information(labels_true: Any, labels_pred: Any) -> float:
    """Return H(true | pred) + H(pred | true) in nats: a distance, zero for equal partitions.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_samples,)
        Two partitions.

    Returns
    -------
    distance : float
        Between zero and log(n_samples).

    Examples
    --------
    >>> from octavo.cluster import variation_of_information
    >>> print(round(variation_of_information([0, 0, 1, 1], [0, 1, 0, 1]), 4))
    1.3863
    """
    return partition_distance(labels_true, labels_pred)


@checked
def classification_accuracy(labels_true: Any, labels_pred: Any) -> float:
    """Return the share of points in matching groups, groups matched one to one at best.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_samples,)
        Two partitions.

    Returns
    -------
    accuracy : float
        One for equal partitions, whatever their labels.

    Examples
    --------
    >>> from octavo.cluster import classification_accuracy
    >>> print(classification_accuracy([0, 0, 1, 1], [1, 1, 0, 1]))
    0.75
    """
    table = contingency_table(labels_true, labels_pred)
    rows, columns = linear_sum_assignment(-table)
    return float(table[rows, columns].sum() / table.sum())


@checked
def classification_proportion(labels_true: Any, labels_pred: Any) -> float:
    """Return the share of points that are in the majority of their predicted group (purity).

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_samples,)
        Two partitions.

    Returns
    -------
    proportion : float
        At least `classification_accuracy`; one too when groups are split.

    Examples
    --------
    >>> from octavo.cluster import classification_proportion
    >>> print(classification_proportion([0, 0, 1, 1], [0, 1, 2, 2]))
    1.0
    """
    table = contingency_table(labels_true, labels_pred)
    return float(table.max(axis=0).sum() / table.sum())


def named_metric(name: str) -> Any:
    """Return an agreement measure by name."""
    from sklearn import metrics

    known = {
        "adjusted_rand": metrics.adjusted_rand_score,
        "rand": metrics.rand_score,
        "normalized_mutual_info": metrics.normalized_mutual_info_score,
        "adjusted_mutual_info": metrics.adjusted_mutual_info_score,
        "variation_of_information": variation_of_information,
        "classification_accuracy": classification_accuracy,
        "classification_proportion": classification_proportion,
    }
    if name not in known:
        raise UnknownNameError("metric", name, sorted(known))
    return known[name]
