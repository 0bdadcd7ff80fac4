"""Shannon's mutual information from nearest neighbours (Kraskov, Stögbauer and Grassberger).

Reference: Kraskov, Stögbauer and Grassberger (2004), "Estimating mutual information", Physical
Review E 69, equations (8), (9), (22) and (23).
"""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from scipy.stats import rankdata

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.sklearn_door import Options, StrOptions
from octavo.engine.probability.knn_information import ksg_balls, ksg_boxes, n_workers
from octavo.engine.probability.neighbours import jittered
from octavo.info.entropies.knn import KNN_CONSTRAINTS
from octavo.info.estimators import MutualInformationEstimator

__all__ = ["KSGMutualInformation"]


def scaled_columns(X: Floats, scaling: str | None) -> Floats:
    """Return columns of unit deviation, or of ranks over N + 1, or as they are."""
    if scaling == "deviation":
        return X / X.std(axis=0)
    if scaling == "copula":
        # over N + 1: strictly inside the unit cube
        return np.asarray(rankdata(X, axis=0), dtype=np.float64) / (X.shape[0] + 1)
    return X


class KSGMutualInformation(MutualInformationEstimator):
    """Shannon mutual information by the method of Kraskov, Stögbauer and Grassberger.

    The errors of the entropies of the parts and of the whole nearly cancel, because all use the
    neighbourhood of the same size. The estimator to start with. Distances are the largest
    differences of coordinates, so columns must have similar spreads: see `scaling`. It does not see
    dependence much finer than the distance between neighbours, and underestimates very strong
    dependence.
    For two single columns scikit-learn's `mutual_info_regression` does the same.

    Parameters
    ----------
    n_neighbors : int, default=3
        The neighbour: small for low bias, large for low variance.
    variant : {1, 2}, default=1
        The first (one radius) or second (a radius for each group) estimate of the paper. The
        second has less bias and more variance for strong dependence.
    scaling : {"deviation", "copula"}, default=None
        What is done to columns first: divide them by their standard deviation, or replace them
        by their ranks over N + 1. Neither changes the mutual information of the distribution.
    jitter : float, default=0.0
        Noise that breaks ties, in standard deviations of each column. By default ties that
        spoil the estimate raise an error that counts them.
    n_jobs : int, default=None
        Threads of the search; -1 for all.

    References
    ----------
    .. [1] Kraskov, Stögbauer and Grassberger (2004). Estimating mutual information. Physical
       Review E 69.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.info import KSGMutualInformation
    >>> cov = [[1, 0.9], [0.9, 1]]  # mutual information 0.830
    >>> X = np.random.default_rng(0).multivariate_normal([0, 0], cov, size=2000)
    >>> print(f"{KSGMutualInformation().estimate(X):.2f}")
    0.85
    """

    measure, method = "shannon", "ksg"
    estimates = "I = ∫ p log(p / ∏ p_m)"
    cost = "O(N log N), more for groups of many columns"
    assumptions = "a joint density; columns of similar spread; no ties"
    preferred = True
    density = True
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **KNN_CONSTRAINTS,
        "variant": [Options(Integral, {1, 2})],
        "scaling": [StrOptions({"deviation", "copula"}), None],
    }

    def __init__(self, n_neighbors=3, variant=1, scaling=None, jitter=0.0, n_jobs=None):
        self.n_neighbors = n_neighbors
        self.variant = variant
        self.scaling = scaling
        self.jitter = jitter
        self.n_jobs = n_jobs

    def _estimate(self, blocks):
        blocks = [scaled_columns(block, self.scaling) for block in blocks]
        if self.jitter:
            ends = np.cumsum([block.shape[1] for block in blocks])[:-1]
            blocks = np.split(jittered(np.hstack(blocks), self.jitter), ends, axis=1)
        ksg = ksg_balls if self.variant == 1 else ksg_boxes
        return ksg(blocks, self.n_neighbors, workers=n_workers(self.n_jobs))
