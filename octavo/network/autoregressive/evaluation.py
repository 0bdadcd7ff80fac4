"""How good a predicted graph is: ranking of links, error of features, and a map of both."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.base import clone

from octavo.data.network.autoregressive import make_autoregressive_graphs
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.doubles import real_array
from octavo.network.autoregressive.snapshots import dense, read_snapshot

__all__ = ["feature_error", "link_auc", "make_autoregressive_graphs", "phase_transition"]


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
        0.5 is a guess, 1 a perfect order; ties count half.

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


@checked
def phase_transition(
    estimator: Any, make: Any, ranks: Any, lengths: Any, n_repeats: int = 5, random_state: int = 0
) -> Floats:
    """Return how well links are predicted for each rank and each length of the series.

    Parameters
    ----------
    estimator : estimator
        With `fit(snapshots)` and `predict_scores()`; a `rank` is set where it has one.
    make : callable
        ``make(rank, T, seed)`` returns a series with `snapshots` and `A_next`.
    ranks : array-like of int
        Ranks of the graphs.
    lengths : array-like of int
        Numbers of snapshots.
    n_repeats : int, default=5
        Series of each kind.
    random_state : int, default=0
        The first seed; the others follow.

    Returns
    -------
    auc : ndarray of shape (n_ranks, n_lengths)
        Means over series.

    References
    ----------
    Richard, Gaïffas and Vayatis (2014), Figure 2, right.

    Examples
    --------
    >>> from octavo.data import make_autoregressive_graphs
    >>> from octavo.network import AutoregressiveLinkPredictor, phase_transition
    >>> def make(rank, T, seed):
    ...     return make_autoregressive_graphs(20, rank, T, random_state=seed)
    >>> model = AutoregressiveLinkPredictor(1e-3, 1e-5, 1e-3)
    >>> phase_transition(model, make, [2], [3, 6], n_repeats=2).shape
    (1, 2)
    """
    ranks, lengths = real_array(ranks, "ranks"), real_array(lengths, "lengths")
    if ranks.ndim != 1 or lengths.ndim != 1 or not ranks.size or not lengths.size:
        raise ValueError("ranks and lengths must be sequences of whole numbers.")
    if not 1 <= n_repeats <= 10**6:
        raise ValueError(f"n_repeats must be between 1 and a million; got {n_repeats!r}.")
    found = np.empty((ranks.size, lengths.size))
    for a, rank in enumerate(ranks):
        for b, T in enumerate(lengths):
            scores = []
            for seed in range(int(random_state), int(random_state) + int(n_repeats)):
                series = make(int(rank), int(T), seed)
                model = clone(estimator)
                if "rank" in model.get_params():
                    model.set_params(rank=int(rank))
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    scores.append(
                        link_auc(series.A_next, model.fit(series.snapshots).predict_scores())
                    )
            found[a, b] = np.mean(scores)
    return found
