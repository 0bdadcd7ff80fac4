"""Signs from the exponential of the matrix, kept to a few eigenvalues (Kunegis and others 2009)."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Self

import numpy as np
from scipy.sparse.linalg import aslinearoperator
from sklearn.utils import check_random_state

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.sklearn_door import Interval, fit_context
from octavo.engine.spectral.low_rank_sparse import truncated_svd
from octavo.network.signed.base import SignPredictor
from octavo.network.signed.signs import read_signs, undirected_signs

__all__ = ["ExponentialPredictor"]


class ExponentialPredictor(SignPredictor):
    """Predict signs by the exponential of the matrix at low rank: the baseline of Section 5.3.

    Parameters
    ----------
    rank : int, default=40
        Singular values that are kept.
    symmetric : bool, default=True
        Whether directions are dropped: U exp(Λ) Uᵀ of sign(A + Aᵀ), else U exp(Σ) Vᵀ of A.
    random_state : int, RandomState instance or None, default=None
        Starts the singular vectors.

    Attributes
    ----------
    values_ : ndarray of shape (rank,)
        The eigenvalues, or singular values, largest in size first.
    majority_ : int
        The sign that most links have.
    n_nodes_ : int
        Number of nodes.

    References
    ----------
    Kunegis, Lommatzsch and Bauckhage (2009), "The Slashdot Zoo", WWW.

    Examples
    --------
    >>> from octavo.data import make_weakly_balanced
    >>> from octavo.network import ExponentialPredictor
    >>> network = make_weakly_balanced([30, 20], 0.3, random_state=0)
    >>> ExponentialPredictor(rank=2, random_state=0).fit(network.A).predict([[0, 1], [0, 49]])
    array([ 1, -1])
    """

    _parameter_constraints = {
        "rank": [Interval(Integral, 1, None, closed="left")],
        "symmetric": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(self, rank=40, symmetric=True, random_state=None):
        self.rank = rank
        self.symmetric = symmetric
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, A: Any, y: Any = None) -> Self:
        """Decompose the matrix of a network.

        Parameters
        ----------
        A : graph
            Links of 1 and -1: matrix (0 is unknown), networkx graph, list of links.
        y : ignored
            Present for the convention.

        Returns
        -------
        self : ExponentialPredictor
            The fitted estimator.
        """
        matrix = (undirected_signs(A)[0] if self.symmetric else read_signs(A)).matrix
        self._count(matrix)
        rng = check_random_state(self.random_state)
        found = truncated_svd(aslinearoperator(matrix), self.rank, tol=1e-8, rng=rng)
        values, U, V = found.values, found.U, found.V
        if self.symmetric:  # the space is invariant: eigenvalues within it
            values, turn = np.linalg.eigh(V.T @ (matrix @ V))
            order = np.argsort(-np.abs(values))
            values, U = values[order], V @ turn[:, order]
            V = U
        self.values_ = values
        # exp(λ - λ_max): scores are compared with each other and with zero only
        self._left, self._right = U * np.exp(values - values.max()), V
        return self

    def _scores(self, pairs: Any) -> Floats:
        i, j = pairs.T
        return np.einsum("ij,ij->i", self._left[i], self._right[j])
