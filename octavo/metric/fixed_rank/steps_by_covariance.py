"""Steps measured by the covariance of the features, so that no linear change of them matters.

With features that go together, cost falls steeply along few directions and hardly along the rest,
and conjugate gradients take as many steps as the root of their ratio. In the metric of the
covariance all directions are alike.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from octavo.engine.estimators.arrays import Floats
from octavo.engine.linalg.pair_differences import PairDifferences

_MOST_FEATURES = 2000  # a covariance of more costs more than the steps it saves
_TIMES = 2  # as many rows as features, or pairs as entries: fewer leave the factor open
_OWN_SHARE = 1e-3  # of each column's variance, added: columns may be copies of each other


def feature_metric(rows: PairDifferences, r: int) -> Callable[[Floats], Floats] | None:
    """Return the map from a gradient to a direction by the inverse covariance of the items.

    Parameters
    ----------
    rows : PairDifferences
        Pairs of rows of a table.
    r : int
        Columns of the factor.

    Returns
    -------
    callable or None
        None where rows are fewer than two a feature, pairs fewer than two an entry of the factor,
        or features too many: what the data leave open stays as it was at the start then, while
        steps of this metric would fill it with directions of small variance.
    """
    X: Any = rows.X
    n, d = X.shape
    if d > _MOST_FEATURES or n < _TIMES * d or rows.shape[0] < _TIMES * d * r:
        return None
    mean = np.asarray(X.mean(axis=0)).ravel()
    products = X.T @ X
    C = np.asarray(products.todense() if hasattr(products, "todense") else products) / n
    C -= np.outer(mean, mean)
    own = np.maximum(np.diagonal(C), 0.0)
    own = np.where(own > 1e-12 * max(float(own.max()), 1e-300), own, max(float(own.max()), 1e-300))
    factor = cho_factor(C + np.diag(_OWN_SHARE * own), lower=True)
    return lambda gradient: np.asarray(cho_solve(factor, gradient))
