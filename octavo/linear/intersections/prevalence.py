"""Estimate how often columns occur together, from a table of min-wise hashes."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from octavo.engine.discrete.min_hash import estimate_sets, min_hash_table
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.sklearn_door import Interval, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.linear.intersections.binary_rows import binary_csr
from octavo.linear.intersections.patterns import flat_sets

__all__ = ["MinHashPrevalence"]


class MinHashPrevalence(SoundEstimator):
    """Estimate the share of rows that hold all columns of a set, without looking at rows again.

    Fit hashes the columns once, in L random orders of the rows. An estimate then takes L steps a
    column, however many rows there were. Its variance is smaller than that of L sampled rows, by
    the share of rows that hold any of the columns (Theorem 4).

    Parameters
    ----------
    n_hashes : int, default=200
        Number of random orders (L).
    random_state : int, RandomState instance or None, default=None
        Seeds the orders.

    Attributes
    ----------
    hashes_ : ndarray of shape (n_features, n_hashes), dtype int32
        The place of the first row that holds a column, in each order; n_samples_ + 1 for a
        column that no row holds.
    n_samples_ : int
        Number of rows.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, where X0 has names that are strings.

    Notes
    -----
    Do not use it where rows are few or one set is asked for: ``X[:, list(S)].all(axis=1).mean()``
    is exact. Prevalences well below 1 / n_hashes come out as zero.

    References
    ----------
    R. D. Shah and N. Meinshausen (2014), "Random Intersection Trees", Journal of Machine
    Learning Research 15, Section 4.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.linear import MinHashPrevalence
    >>> X = np.random.default_rng(0).random((2000, 3)) < [0.5, 0.5, 0.1]
    >>> X[:, 1] = X[:, 0]
    >>> model = MinHashPrevalence(n_hashes=400, random_state=0).fit(X)
    >>> model.estimate([(0, 1), (0, 2)]).round(2)
    array([0.51, 0.05])
    """

    _parameter_constraints: dict[str, Any] = {
        "n_hashes": [Interval(Integral, 1, 100_000, closed="both")],
        "random_state": ["random_state"],
    }

    def __init__(self, n_hashes=200, random_state=None):
        self.n_hashes = n_hashes
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X0, y=None):
        """Hash the columns of 0/1 rows.

        Parameters
        ----------
        X0 : {array-like, sparse matrix} of shape (n_samples, n_features) or list of sets
            Zeros and ones, or the active columns of each row.
        y : None
            Ignored.

        Returns
        -------
        self : MinHashPrevalence
            The fitted estimator.
        """
        rows = sp.csc_array(binary_csr(self, X0, reset=True))
        self.n_samples_ = rows.shape[0]
        self.hashes_ = min_hash_table(
            rows.indptr, rows.indices, self.n_samples_, self.n_hashes, self.random_state
        )
        return self

    def estimate_parts(self, sets):
        """Return the two factors of the estimates.

        Parameters
        ----------
        sets : sequence of (sequence of int)
            Sets of column numbers.

        Returns
        -------
        shares : ndarray of shape (n_sets, 2)
            π̂₁, among rows that hold any column of the set, the share of those that hold all,
            (5); and π̂₂, the share of rows that hold any, (7).
        """
        check_is_fitted(self)
        starts, members = flat_sets(sets, self.n_features_in_)
        return estimate_sets(self.hashes_, self.n_samples_, starts, members)

    def estimate(self, sets):
        """Return the estimated share of rows that hold each set, (8).

        Parameters
        ----------
        sets : sequence of (sequence of int)
            Sets of column numbers; the empty set has prevalence 1.

        Returns
        -------
        prevalence : ndarray of shape (n_sets,)
            Between 0 and 1.
        """
        return self.estimate_parts(sets).prod(axis=1)

    def standard_error(self, sets):
        """Return the standard error of `estimate`, by Theorem 4 at the estimated shares.

        Parameters
        ----------
        sets : sequence of (sequence of int)
            Sets of column numbers.

        Returns
        -------
        errors : ndarray of shape (n_sets,)
            Standard errors.
        """
        first, second = self.estimate_parts(sets).T
        return np.sqrt(_variance(first, second, self.n_samples_) / self.n_hashes)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _variance(first: Floats, second: Floats, n: int) -> Floats:
    """Return the variance of √L times the estimate, Eq. (9) with ε(n) where it belongs.

    Ties and first places are independent: π₂²π₁(1 - π₁) is the ties' part, π₁²π₂²(1 - π₂)(1 + ε(n))
    that of the first places. Eq. (9) has 1 + ε(n) on their sum, off by a term of order 1/n.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        # Eq. (10)
        extra = (1 / n - second**2 - 2 * second / n) / (n * second * (second + 2 / n) * (1 + 1 / n))
    ties = second**2 * first * (1.0 - first)
    places = (first * second) ** 2 * (1.0 - second) * (1.0 + np.where(second > 0, extra, 0.0))
    return np.where(first * second > 0, ties + places, 0.0)
