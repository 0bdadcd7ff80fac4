"""How well signs are predicted: links are held out whole, in both directions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from sklearn.utils import check_random_state

from octavo.data.network.signed import make_weakly_balanced
from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.estimators.checked import checked
from octavo.network.signed.balance import embeddedness
from octavo.network.signed.signs import read_signs

__all__ = [
    "SignScores",
    "cross_validate_signs",
    "embeddedness_curve",
    "make_weakly_balanced",
    "sign_folds",
]


class SignScores(NamedTuple):
    """Held-out links of all folds with what was said of them, and a score for each fold.

    `false_positive_rate` is the share of negative links that were called positive.
    """

    pairs: Indices
    signs: Indices
    predicted: Indices
    accuracy: Floats
    balanced_accuracy: Floats
    auc: Floats
    false_positive_rate: Floats


@checked
def sign_folds(
    A: Any, n_splits: int = 10, random_state: Any = None
) -> Iterator[tuple[sp.csr_array, Indices, Indices]]:
    """Split the links of a network into folds, a pair's two directions always together.

    Parameters
    ----------
    A : graph
        A signed network.
    n_splits : int, default=10
        Number of folds.
    random_state : int, RandomState instance or None, default=None
        Which links go where.

    Returns
    -------
    folds : iterator of tuple
        Of the matrix without the held-out links, their pairs (m, 2) and their signs (m,).

    Examples
    --------
    >>> from octavo.network import sign_folds
    >>> train, pairs, signs = next(sign_folds([(0, 1, 1), (1, 2, -1)], 2, random_state=0))
    >>> train.nnz, len(pairs)
    (1, 1)
    """
    links = read_signs(A).matrix.tocoo()
    low, high = np.minimum(links.row, links.col), np.maximum(links.row, links.col)
    pair_of = np.unique(low.astype(np.int64) * links.shape[0] + high, return_inverse=True)[1]
    n_pairs = int(pair_of.max()) + 1
    if not 2 <= n_splits <= n_pairs:
        raise ValueError(
            f"n_splits must be between 2 and the number of linked pairs, {n_pairs}; got {n_splits}."
        )
    fold_of = check_random_state(random_state).permutation(n_pairs) % n_splits
    return _folds(links, fold_of[pair_of], n_splits)


def _folds(links: Any, fold: Indices, n_splits: int) -> Iterator[tuple[Any, Indices, Indices]]:
    for number in range(n_splits):
        kept = fold != number
        entries = links.data[kept], (links.row[kept], links.col[kept])
        train = sp.csr_array(sp.coo_array(entries, shape=links.shape))
        pairs = np.column_stack([links.row[~kept], links.col[~kept]]).astype(np.intp)
        yield train, pairs, links.data[~kept].astype(np.intp)


@checked
def cross_validate_signs(
    predictor: Any, A: Any, n_splits: int = 10, random_state: Any = None
) -> SignScores:
    """Score a predictor of signs on links that it has not seen.

    Parameters
    ----------
    predictor : estimator
        With `fit(A)`, `decision_function(pairs)` and `predict(pairs)`.
    A : graph
        A signed network.
    n_splits : int, default=10
        Number of folds.
    random_state : int, RandomState instance or None, default=None
        Which links go where.

    Returns
    -------
    scores : SignScores
        Of each fold, with the pairs and what was said of them.

    Examples
    --------
    >>> from octavo.data import make_weakly_balanced
    >>> from octavo.network import ImbalancePredictor, cross_validate_signs
    >>> network = make_weakly_balanced([30, 30], 0.3, random_state=0)
    >>> scores = cross_validate_signs(ImbalancePredictor(), network.A, 5, random_state=0)
    >>> print(scores.accuracy.mean().round(3))
    1.0
    """
    pairs, signs, predicted, table = [], [], [], []
    for train, held_out, truth in sign_folds(A, n_splits, random_state):
        model = clone(predictor).fit(train)
        answer, score = model.predict(held_out), model.decision_function(held_out)
        pairs.append(held_out)
        signs.append(truth)
        predicted.append(answer)
        both = np.unique(truth).size == 2
        negative = truth < 0
        table.append(
            (
                np.mean(answer == truth),
                balanced_accuracy_score(truth, answer) if both else np.nan,
                roc_auc_score(truth, score) if both else np.nan,
                np.mean(answer[negative] > 0) if negative.any() else np.nan,
            )
        )
    columns = np.array(table, dtype=np.float64).T
    return SignScores(np.vstack(pairs), np.hstack(signs), np.hstack(predicted), *columns)


@checked
def embeddedness_curve(A: Any, scores: SignScores) -> tuple[Indices, Floats, Indices]:
    """Return the accuracy on links whose ends share at least so many neighbours.

    Parameters
    ----------
    A : graph
        The network that was cross-validated.
    scores : SignScores
        From `cross_validate_signs`.

    Returns
    -------
    thresholds : ndarray
        The numbers of common neighbours that occur.
    accuracy : ndarray
        At each of them.
    n_links : ndarray
        How many links that is.

    Examples
    --------
    >>> from octavo.data import make_weakly_balanced
    >>> from octavo.network import ImbalancePredictor, cross_validate_signs, embeddedness_curve
    >>> network = make_weakly_balanced([30, 30], 0.3, random_state=0)
    >>> scores = cross_validate_signs(ImbalancePredictor(), network.A, 5, random_state=0)
    >>> print(embeddedness_curve(network.A, scores)[0][:3])
    [0 1 2]
    """
    common = embeddedness(A, scores.pairs)
    right = np.asarray(scores.signs == scores.predicted, dtype=np.float64)
    order = np.argsort(-common, kind="stable")
    values = np.unique(-common)
    thresholds = -values  # falling
    last = np.searchsorted(-common[order], values, side="right")
    accuracy = np.cumsum(right[order])[last - 1] / last
    return thresholds[::-1], accuracy[::-1], last[::-1]
