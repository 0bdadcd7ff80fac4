"""Neighbours under transport distances: a classifier, and curves of what is retrieved.

Reference: Cuturi and Avis (2014), Section 6.3.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.classes import encode_classes
from octavo.engine.estimators.doubles import real_array
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.estimators.sparse_rows import validate_rows
from octavo.metric.ground.histograms import as_ground_metric, as_histograms, uniform_metric
from octavo.metric.ground.learner import GroundMetricLearner
from octavo.metric.ground.transports import distance_table, threshold_metric

__all__ = ["OTNeighborsClassifier", "retrieval_curve"]


class OTNeighborsClassifier(ClassifierMixin, CallbackSupportMixin, SoundEstimator):
    """Classify histograms by their nearest neighbours under a transport distance.

    With bins that are unrelated, `sklearn.neighbors.KNeighborsClassifier` on square roots of the
    histograms (`HellingerTransformer`) is as good and much faster.

    Parameters
    ----------
    n_neighbors : int, default=3
        Neighbours that vote; of equal votes the first class wins, as in scikit-learn. All, where
        there are fewer.
    metric : None, array-like of shape (n_features, n_features) or GroundMetricLearner, default=None
        Ground metric. None: all bins equally far apart, which is total variation; an array; or a
        learner, of which a copy is fitted to the training set. For the metric of one that is fitted
        already, give its ``metric_``.
    ot : {"emd", "pot", "sinkhorn"}, default="emd"
        As for `transport_distances`.
    reg : float, default=0.05
        Smoothing of "sinkhorn", in units of the mean of the metric.
    threshold : float or None, default=None
        Cap on distances between bins, in units of their mean: see `threshold_metric`.
    normalize : bool, default=False
        Whether rows are divided by their sums, or refused unless they sum to one.
    n_jobs : int or None, default=None
        Threads of "emd".

    Attributes
    ----------
    classes_ : ndarray
        Classes.
    metric_ : ndarray of shape (n_features, n_features)
        The ground metric in use.
    estimator_ : GroundMetricLearner or None
        The fitted copy, where `metric` is a learner.
    n_features_in_ : int
        Number of bins seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of bins seen during fit.

    References
    ----------
    .. [1] Cuturi and Avis (2014). Ground metric learning. JMLR 15:533-564.

    Examples
    --------
    >>> from octavo.data import make_grouped_histograms
    >>> from octavo.metric import GroundMetricLearner, OTNeighborsClassifier
    >>> X, y, _ = make_grouped_histograms(160, random_state=0)
    >>> scores = []
    >>> for metric in (None, GroundMetricLearner(random_state=0)):
    ...     model = OTNeighborsClassifier(metric=metric).fit(X[:60], y[:60])
    ...     scores.append(model.score(X[60:], y[60:]))
    >>> scores[1] > scores[0]
    True
    """

    _parameter_constraints: dict[str, Any] = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "metric": ["array-like", GroundMetricLearner, None],
        "ot": [StrOptions({"emd", "pot", "sinkhorn"})],
        "reg": [Interval(Real, 0, None, closed="neither")],
        "threshold": [Interval(Real, 0, None, closed="neither"), None],
        "normalize": ["boolean"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        n_neighbors=3,
        metric=None,
        *,
        ot="emd",
        reg=0.05,
        threshold=None,
        normalize=False,
        n_jobs=None,
    ):
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.ot = ot
        self.reg = reg
        self.threshold = threshold
        self.normalize = normalize
        self.n_jobs = n_jobs

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.input_tags.sparse = True
        return tags

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y):
        """Keep the histograms, and learn the metric where `metric` is a learner.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Histograms.
        y : array-like of shape (n_samples,)
            Classes.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        X, y = validate_rows(
            self, X, y, accept_sparse="csr", dtype=np.float64, ensure_min_features=2
        )
        self._rows = as_histograms(X, "X", normalize=self.normalize)
        self.classes_, self._codes = encode_classes(y, owner=self)
        self.estimator_ = None
        with FitProgress(self, 1, X, y, step_name="metric") as progress:
            if self.metric is None:
                M = uniform_metric(self._rows.shape[1])
            elif isinstance(self.metric, GroundMetricLearner):
                self.estimator_ = clone(self.metric).fit(self._rows, y)
                M = self.estimator_.metric_
            else:
                M = as_ground_metric(self.metric, self._rows.shape[1], "metric")
            progress.step()
        self.metric_ = M if self.threshold is None else threshold_metric(M, self.threshold)
        return self

    def kneighbors(self, X, n_neighbors=None, return_distance=True):
        """Return the nearest training histograms.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Histograms.
        n_neighbors : int, default=None
            How many; `n_neighbors` of the classifier by default.
        return_distance : bool, default=True
            Whether distances are returned too.

        Returns
        -------
        distances : ndarray of shape (n_samples, n_neighbors)
            Distances, the nearest first; only where asked for.
        indices : ndarray of shape (n_samples, n_neighbors)
            Positions in the training set.
        """
        check_is_fitted(self)
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        if not isinstance(k, Integral) or isinstance(k, bool) or k < 1:
            raise ValueError(f"n_neighbors must be an int of at least 1; got {k!r}.")
        X = validate_rows(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        R = as_histograms(X, "X", normalize=self.normalize)
        D = distance_table(R, self._rows, self.metric_, self.ot, reg=self.reg, n_jobs=self.n_jobs)
        nearest = np.argsort(D, axis=1, kind="stable")[:, : int(k)]
        if not return_distance:
            return nearest
        return np.take_along_axis(D, nearest, axis=1), nearest

    def predict_proba(self, X):
        """Return the shares of classes among the nearest neighbours.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Histograms.

        Returns
        -------
        shares : ndarray of shape (n_samples, n_classes)
            They sum to one.
        """
        nearest = self.kneighbors(X, return_distance=False)
        votes = self._codes[nearest]
        return (votes[:, :, None] == np.arange(len(self.classes_))).mean(axis=1)

    def predict(self, X):
        """Return the class with most votes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Histograms.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Classes.
        """
        shares = self.predict_proba(X)
        return self.classes_[shares.argmax(axis=1)]


@checked
def retrieval_curve(D, y, y_reference=None, max_neighbors=None):
    """Return the mean share of the same class among the κ nearest, for κ = 1, 2, ... (Figure 6).

    Parameters
    ----------
    D : array-like of shape (n, n')
        Distances of queries to references, of any kind.
    y : array-like of shape (n,)
        Classes of the queries.
    y_reference : array-like of shape (n',) or None, default=None
        Classes of the references. None: queries are the references, and none retrieves itself.
    max_neighbors : int or None, default=None
        The largest κ; all references by default.

    Returns
    -------
    shares : ndarray of shape (max_neighbors,)
        Entry κ - 1 belongs to κ neighbours.

    Examples
    --------
    >>> from octavo.metric import retrieval_curve
    >>> retrieval_curve([[0.1, 0.2, 0.9], [0.8, 0.5, 0.1]], [0, 1], [0, 0, 1]).round(2).tolist()
    [1.0, 0.75, 0.5]
    """
    D = real_array(D, "D")
    y = np.asarray(y)
    if D.ndim != 2 or not D.size or y.shape != (len(D),):
        raise ValueError(
            f"D must be a table with a row for each of y; got shapes {D.shape} and {y.shape}."
        )
    if y_reference is None:
        if D.shape[0] != D.shape[1] or len(D) < 2:
            raise ValueError(
                f"Without y_reference D must be square, two rows at least; it is {D.shape}."
            )
        D, others = D.copy(), y
        np.fill_diagonal(D, np.inf)
        available = D.shape[1] - 1
    else:
        others = np.asarray(y_reference)
        available = D.shape[1]
        if others.shape != (available,):
            raise ValueError(
                f"y_reference must have a label for each of the {available} columns of D; got "
                f"{others.shape}."
            )
    most = available if max_neighbors is None else max_neighbors
    if not isinstance(most, Integral) or not 1 <= int(most) <= available:
        raise ValueError(f"max_neighbors must be from 1 to {available}; got {most!r}.")
    order = np.argsort(D, axis=1, kind="stable")[:, : int(most)]
    same = others[order] == y[:, None]
    return (np.cumsum(same, axis=1) / np.arange(1, int(most) + 1)).mean(axis=0)
