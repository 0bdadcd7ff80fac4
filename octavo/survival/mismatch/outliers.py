"""Recordings that are unlike the others: nearest neighbours, one-class SVM, average linkage.

Reference: Z. Syed and J. Guttag (2011), "Unsupervised Similarity-Based Risk Stratification for
Cardiovascular Events Using Long-Term Time-Series Data", JMLR 12:999-1024, Section 4.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from sklearn.base import OutlierMixin
from sklearn.svm import OneClassSVM
from sklearn.utils.validation import check_is_fitted, validate_data

from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.estimators.doubles import LIBSVM_TOL, libsvm_steps
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.survival.mismatch.spectra import (
    SpectrumTransform,
    check_mismatch,
    median_gamma,
    similarity,
)

__all__ = ["MismatchOutlierDetector"]


class Clusters(NamedTuple):
    """Average linkage, cut at the knee of its heights."""

    merges: Floats
    labels: Ints
    largest: int


def neighbor_sums(mismatch: Floats, k: int, *, own: bool) -> Floats:
    """Return the sum of the k least mismatches of each row; ``own``: not with itself."""
    if own:
        mismatch = mismatch.copy()
        np.fill_diagonal(mismatch, np.inf)
    return np.partition(mismatch, k - 1, axis=1)[:, :k].sum(axis=1)  # Section 4.2


def knee_of_merges(heights: Floats) -> int:
    """Return the merge at the knee: where a rising curve is farthest below its chord."""
    if len(heights) < 3 or not heights[-1] > heights[0]:
        return len(heights) - 1
    across = np.linspace(0.0, 1.0, len(heights))
    rise = (heights - heights[0]) / (heights[-1] - heights[0])
    return int(np.argmax(across - rise))


def linked(mismatch: Floats) -> Clusters:
    """Merge the closest clusters, by mean mismatch, up to the knee; find the largest."""
    plain = mismatch - min(0.0, float(mismatch.min()))  # an energy may be below zero by a little
    np.fill_diagonal(plain, 0.0)
    # Section 4.3: average linkage
    merges = linkage(squareform(plain, checks=False), method="average")
    heights = merges[:, 2]
    labels = fcluster(merges, heights[knee_of_merges(heights)], criterion="distance") - 1
    return Clusters(merges, labels.astype(np.int64), int(np.argmax(np.bincount(labels))))


class MismatchOutlierDetector(OutlierMixin, SoundEstimator):
    """Outliers among recordings, from the mismatch of all pairs.

    Parameters
    ----------
    method : {"knn", "ocsvm", "linkage"}, default="knn"
        The sum of the mismatches with the nearest recordings; a one-class SVM on their
        similarities; everything outside the largest cluster of average linkage.
    k : int, default=7
        Neighbours that are added up. With fewer other recordings, all of them.
    contamination : float, default=0.25
        Share of recordings to flag, in (0, 0.5]. For "ocsvm" it is ν, a bound on the share outside;
        for "linkage" the knee of the heights decides alone.
    clip : {"gram", "similarity", "paper"} or None, default="gram"
        Whose spectrum is clipped, to distances in whose space: "gram", the doubly centred -½JΨJ,
        which forgets how much a recording differs from itself; "similarity", exp(-gamma ψ), the
        kernel of the one-class SVM; "paper", as there: the similarity for "ocsvm" and the mismatch
        itself for the others (see `SpectrumTransform`). None: the mismatch as it is.
    gamma : float or None, default=None
        Width of the similarity; None: the inverse of the median mismatch of two recordings.

    Attributes
    ----------
    anomaly_scores_ : ndarray of shape (n_records,)
        Of the recordings of fit, without themselves: larger is more unlike the others.
    high_risk_ : ndarray of bool of shape (n_records,)
        Which are flagged.
    labels_ : ndarray of int of shape (n_records,)
        -1 for those, 1 for the others.
    offset_ : float
        `score_samples` below it is flagged.
    n_positive_ : int
        Positive eigenvalues of the matrix that was clipped; -1 where none was.
    merges_ : ndarray of shape (n_records - 1, 4)
        For "linkage": scipy's matrix of merges, for a dendrogram.
    cluster_labels_ : ndarray of int of shape (n_records,)
        For "linkage": the cluster of each recording.
    n_features_in_ : int
        Number of recordings of fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns, where they are all strings.

    Notes
    -----
    `fit_predict` answers for the recordings of fit, each left out of its own neighbours. `predict`
    and `score_samples` take rows of new recordings (`SymbolicMismatch.transform`); a row that
    equals one of fit gets the answer of fit. For tables use scikit-learn's `LocalOutlierFactor`.

    The flagged are unusual, not ill: this is no medical device.

    References
    ----------
    .. [1] Z. Syed and J. Guttag (2011). "Unsupervised Similarity-Based Risk Stratification for
       Cardiovascular Events Using Long-Term Time-Series Data". Journal of Machine Learning
       Research 12:999-1024.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.survival import MismatchOutlierDetector
    >>> x = np.array([0.0, 0.1, 0.2, 0.3, 5.0])
    >>> MismatchOutlierDetector(k=2).fit_predict(np.abs(x - x[:, None]))
    array([ 1,  1,  1,  1, -1])
    """

    _parameter_constraints: dict[str, Any] = {
        "method": [StrOptions({"knn", "ocsvm", "linkage"})],
        "k": [Interval(Integral, 1, None, closed="left")],
        "contamination": [Interval(Real, 0, 0.5, closed="right")],
        "clip": [StrOptions({"similarity", "gram", "paper"}), None],
        "gamma": [Interval(Real, 0, None, closed="neither"), None],
    }

    def __init__(
        self,
        method: str = "knn",
        k: int = 7,
        contamination: float = 0.25,
        clip: str | None = "gram",
        gamma: float | None = None,
    ) -> None:
        self.method = method
        self.k = k
        self.contamination = contamination
        self.clip = clip
        self.gamma = gamma

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = True
        return tags

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> MismatchOutlierDetector:
        """Score the recordings and flag outliers.

        Parameters
        ----------
        X : array-like of shape (n_records, n_records)
            Mismatch of all pairs; symmetric.
        y : None
            Ignored.

        Returns
        -------
        self : MismatchOutlierDetector
            The fitted detector.
        """
        given = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        mismatch = check_mismatch(given)
        self.n_positive_ = -1
        used = self._fit_matrix(mismatch)
        if self.method == "ocsvm":
            self._fit_svm(used)
        elif self.method == "knn":
            self._k = min(int(self.k), len(used) - 1)
            # Section 4.2, never with itself
            self.anomaly_scores_ = neighbor_sums(used, self._k, own=True)
            # The top quarter: Section 5
            cut = np.quantile(self.anomaly_scores_, 1.0 - self.contamination, method="lower")
            self.high_risk_ = self.anomaly_scores_ > cut
            self.offset_ = -float(cut)
        else:
            self._fit_linkage(used)
        self.labels_ = np.where(self.high_risk_, -1, 1)
        self._known = {(row + 0.0).tobytes(): i for i, row in enumerate(given)}
        return self

    def _fit_matrix(self, mismatch: Floats) -> Floats:
        """Return the matrix that the method works on, and keep how rows come to it."""
        on = self.clip
        if self.method == "ocsvm" and on != "gram":
            on = "similarity"
        self._spectrum = None
        if on is None:
            return mismatch
        # Section 3.3
        self._spectrum = SpectrumTransform("clip" if self.clip else "none", on, self.gamma)
        K = self._spectrum.fit_transform(mismatch)
        if self.clip:
            self.n_positive_ = self._spectrum.n_positive_
        self._in_space = on == "gram" or (on == "similarity" and self.method != "ocsvm")
        if not self._in_space:
            return K
        self._norms = np.diagonal(K).copy()
        self._level = 0.5 * float(mismatch.mean() + np.diagonal(mismatch).mean())
        # Squared distances in the kernel's space
        squares = np.maximum(self._norms + self._norms[:, None] - 2.0 * K, 0.0)
        if self.method == "ocsvm":
            self._gamma = median_gamma(squares) if self.gamma is None else float(self.gamma)
            return similarity(squares, self._gamma)
        return np.sqrt(squares)

    def _fit_svm(self, K: Floats) -> None:
        self._svm = OneClassSVM(  # Section 4.1
            kernel="precomputed",
            nu=float(self.contamination),
            tol=max(1e-6, LIBSVM_TOL),
            max_iter=libsvm_steps(len(K)),
        ).fit(K)
        self.anomaly_scores_ = -self._svm.score_samples(K)
        self.offset_ = float(self._svm.offset_[0])
        self.high_risk_ = self._svm.decision_function(K) < 0

    def _fit_linkage(self, used: Floats) -> None:
        found = linked(used)
        self.merges_, self.cluster_labels_ = found.merges, found.labels
        self._largest = found.largest
        self._mismatch = used
        # All outside the largest cluster: Section 4.3
        self.high_risk_ = found.labels != found.largest
        inside = (~self.high_risk_).astype(np.float64)
        others = np.maximum(inside.sum() - inside, 1.0)
        plain = used - np.diag(np.diagonal(used))
        self.anomaly_scores_ = plain @ inside / others
        self.offset_ = -float(self.anomaly_scores_[~self.high_risk_].max())

    def _rows(self, X: Any) -> tuple[Floats, Ints]:
        """Return rows of the matrix that the method works on, and which of fit they are, or -1."""
        check_is_fitted(self, "anomaly_scores_")
        rows = validate_data(self, X, dtype=np.float64, reset=False)
        own = np.array([self._known.get((row + 0.0).tobytes(), -1) for row in rows], dtype=np.int64)
        return self._mapped(rows), own

    def _mapped(self, rows: Floats) -> Floats:
        if self._spectrum is None:
            return rows
        K = self._spectrum.transform(rows)
        if not self._in_space:
            return K
        # ψ of a new recording with itself is unknown: the mean of the others stands for it
        own = np.full(len(rows), self._norms.mean())
        if self.clip == "gram":
            # Of the double-centred matrix: its mean row is zero
            own = rows.mean(axis=1) - self._level
        squares = np.maximum(own[:, None] + self._norms - 2.0 * K, 0.0)
        return similarity(squares, self._gamma) if self.method == "ocsvm" else np.sqrt(squares)

    def score_samples(self, X: Any) -> Floats:
        """Return how much each new recording is like the others: larger is more.

        Parameters
        ----------
        X : array-like of shape (n_new, n_records)
            Mismatch with the recordings of fit.

        Returns
        -------
        scores : ndarray of shape (n_new,)
            The negative of the anomaly score.
        """
        rows, own = self._rows(X)
        if self.method == "ocsvm":
            scores = self._svm.score_samples(rows)
        elif self.method == "knn":
            scores = -neighbor_sums(rows, self._k, own=False)
        else:
            scores = -rows[:, ~self.high_risk_].mean(axis=1)
        return np.where(own >= 0, -self.anomaly_scores_[own], scores)

    def decision_function(self, X: Any) -> Floats:
        """Return the score less the offset: below zero is an outlier.

        Parameters
        ----------
        X : array-like of shape (n_new, n_records)
            Mismatch with the recordings of fit.

        Returns
        -------
        decision : ndarray of shape (n_new,)
            For "linkage" a guide only: `predict` asks for the closest cluster.
        """
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> Ints:
        """Return -1 for outliers and 1 for the others.

        Parameters
        ----------
        X : array-like of shape (n_new, n_records)
            Mismatch with the recordings of fit.

        Returns
        -------
        labels : ndarray of int of shape (n_new,)
            For "linkage" -1 for those that are closest, by mean mismatch, to a cluster other
            than the largest.
        """
        if self.method != "linkage":
            return np.where(self.decision_function(X) < 0, -1, 1)
        rows, own = self._rows(X)
        members = np.eye(self.cluster_labels_.max() + 1)[self.cluster_labels_]
        means = rows @ members / members.sum(axis=0)
        labels = np.where(np.argmin(means, axis=1) == self._largest, 1, -1)
        return np.where(own >= 0, self.labels_[own], labels)

    def fit_predict(self, X: Any, y: Any = None) -> Ints:
        """Return -1 for outliers among the recordings of fit and 1 for the others.

        Parameters
        ----------
        X : array-like of shape (n_records, n_records)
            Mismatch of all pairs; symmetric.
        y : None
            Ignored.

        Returns
        -------
        labels : ndarray of int of shape (n_records,)
            `labels_`.
        """
        return self.fit(X).labels_
