"""A clusterer on encoded rows that can also place rows it has not seen."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.neighbors import KNeighborsClassifier


class ClusterModel(BaseEstimator):
    """Encode, cluster, and place later rows.

    A clusterer without ``predict`` places a row with its nearest training row.

    Parameters
    ----------
    encoder : transformer
        Of the table.
    clusterer : clusterer
        Of the encoded rows.

    Attributes
    ----------
    encoder_, clusterer_ : estimators
        The fitted ones.
    labels_ : ndarray of int
        Clusters of the training rows.
    """

    def __init__(self, encoder: Any, clusterer: Any) -> None:
        self.encoder = encoder
        self.clusterer = clusterer

    def fit(self, X: Any) -> ClusterModel:
        """Find clusters."""
        self.encoder_ = clone(self.encoder)
        points = self.encoder_.fit_transform(X)
        self.clusterer_ = clone(self.clusterer)
        self.labels_ = np.asarray(self.clusterer_.fit_predict(points))
        if not hasattr(self.clusterer_, "predict"):
            self.nearest_ = KNeighborsClassifier(1).fit(points, self.labels_)
        return self

    def encode(self, X: Any) -> Any:
        """Return rows as the clusterer sees them."""
        return self.encoder_.transform(X)

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return the cluster of each row."""
        model = getattr(self, "nearest_", self.clusterer_)
        return np.asarray(model.predict(self.encode(X)))

    def clusters_of(self, X: Any) -> NDArray[np.int64]:
        """Return the clusters that the same settings find in these rows alone."""
        return np.asarray(clone(self.clusterer).fit_predict(self.encode(X)))
