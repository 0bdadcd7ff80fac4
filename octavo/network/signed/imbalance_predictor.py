"""Signs of links from the balance of the cycles that they would close."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.network.signed.base import SignPredictor
from octavo.network.signed.signs import undirected_signs
from octavo.network.signed.walks import check_beta, spectral_norm, walk_scores

__all__ = ["ImbalancePredictor"]


class ImbalancePredictor(SignPredictor):
    """Predict the sign that leaves fewer cycles unbalanced (MOI; signed Katz without an end).

    Parameters
    ----------
    order : int or inf, default=5
        The longest cycles that count; infinite is the signed Katz measure (Theorem 12).
    beta : float or "auto", default="auto"
        Discount of a step: the score is Σ_{t=3}^{order} β^(t-1) (A^(t-1))_ij, Eq. (7).
        ``"auto"`` is half of what lets the endless sum converge.

    Attributes
    ----------
    beta_ : float
        The discount.
    majority_ : int
        The sign that most links have; the answer where the score is zero.
    n_conflicts_ : int
        Pairs whose two directions disagree; they are dropped.
    n_nodes_ : int
        Number of nodes.

    See Also
    --------
    SignedCompletion : The global view, better when there are more than two groups.

    Notes
    -----
    Balance allows two groups. With more of them this guesses the majority, and
    `SignedCompletion` does not (Figure 3 of the paper).

    References
    ----------
    Chiang, Hsieh, Natarajan, Dhillon and Tewari (2014), "Prediction and Clustering in Signed
    Networks: A Local to Global Perspective", Section 3.

    Examples
    --------
    >>> from octavo.data import make_weakly_balanced
    >>> from octavo.network import ImbalancePredictor
    >>> network = make_weakly_balanced([30, 20], 0.2, random_state=0)
    >>> model = ImbalancePredictor().fit(network.A)
    >>> model.predict([[0, 1], [0, 49]]).tolist()
    [1, -1]
    """

    _parameter_constraints = {
        "order": [
            Interval(Integral, 3, None, closed="left"),
            Interval(Real, 3, None, closed="both"),
        ],
        "beta": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
    }

    def __init__(self, order=5, beta="auto"):
        self.order = order
        self.beta = beta

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, A: Any, y: Any = None) -> Self:
        """Read the network.

        Parameters
        ----------
        A : graph
            Links of 1 and -1: matrix (0 is unknown), networkx graph, list of links.
        y : ignored
            Present for the convention.

        Returns
        -------
        self : ImbalancePredictor
            The fitted estimator.
        """
        if np.isfinite(self.order) and self.order != int(self.order):
            raise ValueError(f"order must be a whole number or infinite; got {self.order:g}.")
        links, self.n_conflicts_ = undirected_signs(A)
        self._matrix = links.matrix
        self._count(self._matrix)
        norm = spectral_norm(self._matrix)
        self.beta_ = 0.5 / norm if isinstance(self.beta, str) else float(self.beta)
        if not np.isfinite(self.order):
            check_beta(self.beta_, norm)
        return self

    def _scores(self, pairs: Any) -> Floats:
        check_is_fitted(self)
        return walk_scores(self._matrix, pairs, self.beta_, self.order)
