"""A tree of the labels alone (Chow and Liu), and a choice among models by exponential weights.

Reference: S. Cousins, PhD thesis, University College London, Algorithms 3 and 8.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.estimators.checked import checked
from octavo.engine.graphs.spanning import maximum_forest, rooted_forest
from octavo.structured.label_trees.base import label_matrix

__all__ = ["ExpertChoice", "chow_liu_label_tree", "exponential_weights_choice"]


def pair_informations(Y: np.ndarray) -> Floats:
    """Return the mutual information of every pair of 0/1 columns, in nats."""
    m = len(Y)
    on = Y.astype(np.float64)
    tables = {(1, 1): on.T @ on / m, (1, 0): on.T @ (1 - on) / m}
    tables[0, 1], tables[0, 0] = tables[1, 0].T, (1 - on).T @ (1 - on) / m
    rates = {1: on.mean(axis=0), 0: 1 - on.mean(axis=0)}
    total = np.zeros((Y.shape[1], Y.shape[1]))
    for (a, b), joint in tables.items():
        apart = np.outer(rates[a], rates[b])
        seen = joint > 0.0
        total[seen] += joint[seen] * np.log(joint[seen] / apart[seen])  # Σ p log p / (p_i p_j)
    return np.maximum(total, 0.0)


@checked
def chow_liu_label_tree(Y: Any) -> Indices:
    """Return the tree of labels that fits their joint frequencies best (Chow and Liu; Algorithm 3).

    Parameters
    ----------
    Y : {array-like, sparse matrix} of shape (n_samples, n_labels)
        0 and 1.

    Returns
    -------
    parent : ndarray of shape (n_labels,)
        Parent of each label in the tree of largest mutual information, -1 at label 0, the root;
        as `k_best_tree` takes it.

    Examples
    --------
    >>> from octavo.structured import chow_liu_label_tree
    >>> chow_liu_label_tree([[0, 0, 1], [0, 0, 0], [1, 1, 0], [1, 1, 0], [1, 0, 0]]).tolist()
    [-1, 0, 0]
    """
    labels = label_matrix(Y)
    if not len(labels):
        raise ValueError("Y must have at least one row, got none.")
    return rooted_forest(labels.shape[1], maximum_forest(pair_informations(labels)))[0]


class ExpertChoice(NamedTuple):
    """Label sets from several models, weighted by how well each did before.

    Attributes
    ----------
    predictions : ndarray of shape (n_rounds, n_labels)
        Weighted votes, 0 and 1.
    weights : ndarray of shape (n_rounds + 1, n_experts)
        Weights before each round, and after the last.
    losses : ndarray of shape (n_rounds,)
        Hamming loss of the votes in each round.
    """

    predictions: np.ndarray
    weights: Floats
    losses: Floats


@checked
def exponential_weights_choice(
    predictions: ArrayLike,
    Y: ArrayLike,
    training_losses: ArrayLike | None = None,
    learning_rate: float = 0.1,
) -> ExpertChoice:
    """Follow several fitted models through time, by exponential weights (Algorithm 8).

    Parameters
    ----------
    predictions : array-like of shape (n_experts, n_rounds, n_labels)
        What each model, say each setting of C, gives in each round: 0 and 1.
    Y : array-like of shape (n_rounds, n_labels)
        True label sets, seen after each round.
    training_losses : array-like of shape (n_experts,), default=None
        Sum of Hamming losses of each model before the first round; zero by default.
    learning_rate : float, default=0.1
        How fast weights follow losses.

    Returns
    -------
    ExpertChoice
        Votes, weights and losses.

    Notes
    -----
    The thesis prints votes of at least 0 for 0/1 predictions, which gives every label; a label is
    given here where models with at least half of the weight give it.

    Examples
    --------
    >>> from octavo.structured import exponential_weights_choice
    >>> right, wrong = [[1, 0], [0, 1], [1, 1]], [[0, 1], [1, 0], [0, 0]]
    >>> choice = exponential_weights_choice([right, wrong], right, [0.0, 1.0])
    >>> choice.predictions.tolist(), choice.weights[-1].round(2).tolist()
    ([[1, 0], [0, 1], [1, 1]], [0.6, 0.4])
    """
    votes = np.asarray(predictions)
    truth = np.asarray(Y)
    if votes.ndim != 3 or truth.shape != votes.shape[1:] or not len(votes):
        raise ValueError(
            "predictions must have shape (n_experts, n_rounds, n_labels) and Y shape (n_rounds, "
            f"n_labels), got {votes.shape} and {truth.shape}."
        )
    for name, given in (("predictions", votes), ("Y", truth)):
        if not np.isin(given, (0, 1)).all():
            raise ValueError(f"{name} must hold 0 and 1 only.")
    if not 0.0 < learning_rate < np.inf:
        raise ValueError(f"learning_rate must be positive and finite, got {learning_rate}.")
    before = np.zeros(len(votes)) if training_losses is None else np.asarray(training_losses, float)
    if before.shape != (len(votes),) or not np.isfinite(before).all():
        raise ValueError(
            f"training_losses must be {len(votes)} finite numbers, one per expert, got shape "
            f"{before.shape}."
        )
    losses = (votes != truth).mean(axis=2)
    totals = before[:, None] + np.hstack([np.zeros((len(votes), 1)), np.cumsum(losses, axis=1)])
    # exp(-η × loss so far), scaled so that the best is one
    weights = np.exp(-learning_rate * (totals - totals.min(axis=0)))
    weights = (weights / weights.sum(axis=0)).T
    # the weighted vote before the truth of that round is known
    share = np.einsum("tj,jti->ti", weights[:-1], votes.astype(np.float64))
    chosen = (share >= 0.5 - 1e-12).astype(np.int64)
    return ExpertChoice(chosen, weights, (chosen != truth).mean(axis=1))
