"""What predictors of the coming graph share: a matrix of scores, pairs in, scores out."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.kernels.namespaces import to_numpy
from octavo.network.autoregressive.snapshots import check_cells


class CellScorer(SoundEstimator):
    """Base of the predictors; a subclass has `A_next_` after `fit`."""

    def predict_scores(self, pairs: Any = None) -> Floats:
        """Return the weights foreseen, of some pairs or of all.

        Parameters
        ----------
        pairs : array-like of shape (m, 2), default=None
            A row and a column each; all by default.

        Returns
        -------
        scores : ndarray of shape (m,), or of the snapshots' shape
            The larger, the likelier the link.
        """
        check_is_fitted(self)
        scores = to_numpy(self.A_next_)
        if pairs is None:
            return scores.copy()
        rows, columns = check_cells(pairs, scores.shape).T
        return scores[rows, columns]
