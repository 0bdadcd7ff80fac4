"""How good a predicted graph is: ranking of links, error of features, and a map of both."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import rankdata

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.doubles import real_array
from octavo.network.autoregressive.snapshots import dense, read_snapshot

__all__ = ["feature_error", "link_auc"]


@checked
def link_auc(A: Any, scores: Any, known: Any = None) -> float:
    """Return the area under the ROC curve of scores of all pairs, or of new links only.

    Parameters
    ----------
    A : matrix of shape (n, m)
        What came; every entry that is not zero is a link.
    scores : array-like of shape (n, m)
        What was foreseen.
    known : matrix of shape (n, m), default=None
        An earlier graph, or the sum of several: pairs that it links are left out. Persistent
        links are easy and often most of the score.

    Returns
    -------
    auc : float

    Examples
    --------
    >>> from octavo.network import link_auc
    >>> link_auc([[0, 1], [1, 0]], [[0.1, 0.9], [0.2, 0.3]])
    0.75
    """
    truth = dense(read_snapshot(A, "A")) != 0.0
    values = dense(read_snapshot(scores, "scores"))
    asked = np.ones(truth.shape, dtype=bool)
    if known is not None:
        asked = dense(read_snapshot(known, "known")) == 0.0
    if not truth.shape == values.shape == asked.shape:
        raise ValueError(
            f"A, scores and known must have one shape; got {truth.shape}, {values.shape} and "
            f"{asked.shape}."
        )
    truth, values = truth[asked], values[asked]
    links = int(truth.sum())
    if links in (0, truth.size):
        raise ValueError(
            "The area under the curve needs pairs with a link and pairs without; "
            f"{links} of {truth.size} have one."
        )
    above = rankdata(values)[truth].sum() - links * (links + 1) / 2.0
    return float(above / (links * (truth.size - links)))


@checked
def feature_error(predicted: Any, actual: Any) -> float:
    """Return the relative quadratic error of features, ``‖predicted − actual‖ / ‖actual‖``.

    Parameters
    ----------
    predicted : array-like
        Features that were foreseen: sums of columns, say.
    actual : array-like
        Those that came, of the same shape.

    Returns
    -------
    error : float
        1 is what foreseeing zeros costs.

    References
    ----------
    Richard, Gaïffas and Vayatis (2014), Section 5.2.

    Examples
    --------
    >>> from octavo.network import feature_error
    >>> feature_error([3.0, 3.0], [3.0, 4.0])
    0.2
    """
    foreseen: Floats = real_array(predicted, "predicted")
    came: Floats = real_array(actual, "actual")
    if foreseen.shape != came.shape:
        raise ValueError(
            f"predicted and actual must have one shape; got {foreseen.shape} and {came.shape}."
        )
    size = float(np.abs(came).max(initial=0.0))
    if size == 0.0:
        raise ValueError("actual is zero throughout: no error is relative to it.")
    with np.errstate(over="ignore"):
        return float(np.linalg.norm(foreseen / size - came / size) / np.linalg.norm(came / size))
