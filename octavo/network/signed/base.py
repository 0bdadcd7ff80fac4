"""What all predictors of signs share: pairs in, scores and signs out."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.sound import SoundEstimator
from octavo.network.signed.signs import check_pairs


class SignPredictor(SoundEstimator):
    """Base of the predictors; a subclass has `fit(A)` and `_scores(pairs)`."""

    def _count(self, matrix: Any) -> None:
        """Keep the number of nodes and the sign that most links have."""
        self.n_nodes_ = matrix.shape[0]
        self.majority_ = 1 if matrix.data.sum() >= 0.0 else -1

    def decision_function(self, pairs: Any) -> Floats:
        """Return a score for each pair of nodes, above zero for a positive link.

        Parameters
        ----------
        pairs : array-like of shape (m, 2)
            Rows of the network's matrix. A known link is scored without itself where links
            score each other.

        Returns
        -------
        scores : ndarray of shape (m,)
        """
        check_is_fitted(self)
        return self._scores(check_pairs(pairs, self.n_nodes_))

    def predict(self, pairs: Any) -> np.ndarray:
        """Return a sign for each pair of nodes; where the score is zero, that of most links.

        Parameters
        ----------
        pairs : array-like of shape (m, 2)
            Rows of the network's matrix.

        Returns
        -------
        signs : ndarray of shape (m,)
            Of 1 and -1.
        """
        scores = self.decision_function(pairs)
        return np.where(scores == 0.0, self.majority_, np.sign(scores)).astype(np.intp)

    def _scores(self, pairs: Any) -> Floats:
        raise NotImplementedError
