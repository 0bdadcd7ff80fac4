"""A mismatch matrix made positive semi-definite: by clipping its spectrum, or the cited others.

The paper clips the matrix of dissimilarities itself. Where the cycles' differences are of negative
type (Euclidean ones are), that matrix is conditionally negative definite and has exactly one
positive eigenvalue, so that clipping leaves a rank-one matrix of how mismatched everybody is on
the whole; `n_positive_` tells. Clipping a similarity, or the doubly centred Gram matrix, does not.

References: Z. Syed and J. Guttag (2011), "Unsupervised Similarity-Based Risk Stratification for
Cardiovascular Events Using Long-Term Time-Series Data", JMLR 12:999-1024, Section 3.3; Y. Chen
and others (2009), "Similarity-based classification: concepts and algorithms", JMLR 10:747-776.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator

__all__ = ["SpectrumTransform"]

SYMMETRY = 1e-8
NOTHING = 1e-10  # an eigenvalue of this share of the largest is rounding


def check_mismatch(X: Floats, name: str = "X") -> Floats:
    """Return a square symmetric matrix, exactly symmetric; refuse any other."""
    if X.ndim != 2 or X.shape[0] != X.shape[1]:
        raise ValueError(
            f"{name} must be a square matrix of mismatches of all pairs; got {X.shape}."
        )
    scale = max(float(np.abs(X).max(initial=0.0)), np.finfo(float).tiny)
    with np.errstate(over="ignore"):
        gap = np.abs(X - X.T)
    if gap.max(initial=0.0) > SYMMETRY * scale:
        i, j = np.unravel_index(int(np.argmax(gap)), X.shape)
        raise ValueError(
            f"{name} must be symmetric; entries ({i}, {j}) and ({j}, {i}) are {X[i, j]:g} and "
            f"{X[j, i]:g}."
        )
    return 0.5 * X + 0.5 * X.T


def median_gamma(mismatch: Floats) -> float:
    """Return the inverse of the median mismatch of two different recordings."""
    off = mismatch[~np.eye(len(mismatch), dtype=bool)]
    median = float(np.median(off)) if off.size else 0.0
    return 1.0 / median if median > np.finfo(float).tiny else 1.0  # γ is not given in the paper


def similarity(mismatch: Floats, gamma: float) -> Floats:
    """Return exp(-gamma ψ), the generalised radial basis function."""
    return np.exp(np.minimum(-gamma * mismatch, 700.0))  # Section 4.1


def transformed_spectrum(eigenvalues: Floats, method: str) -> Floats:
    """Return what becomes of each eigenvalue."""
    if method == "clip":
        return np.maximum(eigenvalues, 0.0)  # Section 3.3
    if method == "flip":
        return np.abs(eigenvalues)
    if method == "shift":
        return eigenvalues - min(0.0, float(eigenvalues.min()))
    if method == "square":
        return eigenvalues**2
    return eigenvalues


class SpectrumTransform(TransformerMixin, SoundEstimator):
    """A kernel matrix from a matrix of mismatches.

    Parameters
    ----------
    method : {"clip", "flip", "shift", "square", "none"}, default="clip"
        What is done with negative eigenvalues: they become zero; positive; all are raised by the
        least; all are squared; nothing.
    on : {"similarity", "gram", "paper"}, default="similarity"
        The matrix whose spectrum it is: exp(-gamma ψ); the doubly centred -½JΨJ; or, as the
        paper has it, the mismatch itself.
    gamma : float or None, default=None
        Width of the similarity; None: the inverse of the median mismatch of two recordings.

    Attributes
    ----------
    matrix_ : ndarray of shape (n_records, n_records)
        The transformed matrix of the recordings of fit.
    eigenvalues_ : ndarray of shape (n_records,)
        Before the transformation, falling.
    n_positive_ : int
        How many of them are above rounding. One means that a clipped matrix has rank one.
    gamma_ : float
        The width that was used.
    n_features_in_ : int
        Number of recordings of fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns, where they are all strings.

    Notes
    -----
    `transform` gives the rows of new recordings by the linear map that fit found: for "clip"
    k U₊U₊ᵀ. The rows of fit come out as in `matrix_`, but for "shift", which changes only the
    similarity of a recording with itself and leaves rows as they are.

    For vectors there are scikit-learn's kernels, which are positive semi-definite from the start.

    References
    ----------
    .. [1] Z. Syed and J. Guttag (2011). "Unsupervised Similarity-Based Risk Stratification for
       Cardiovascular Events Using Long-Term Time-Series Data". Journal of Machine Learning
       Research 12:999-1024.

    Examples
    --------
    >>> from octavo.survival import SpectrumTransform
    >>> SpectrumTransform(on="paper").fit_transform([[0.0, 1.0], [1.0, 0.0]])
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """

    _parameter_constraints: dict[str, Any] = {
        "method": [StrOptions({"clip", "flip", "shift", "square", "none"})],
        "on": [StrOptions({"similarity", "gram", "paper"})],
        "gamma": [Interval(Real, 0, None, closed="neither"), None],
    }

    def __init__(
        self, method: str = "clip", on: str = "similarity", gamma: float | None = None
    ) -> None:
        self.method = method
        self.on = on
        self.gamma = gamma

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = True
        return tags

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> SpectrumTransform:
        """Find the spectrum.

        Parameters
        ----------
        X : array-like of shape (n_records, n_records)
            Mismatch of all pairs; symmetric.
        y : None
            Ignored.

        Returns
        -------
        self : SpectrumTransform
            The fitted transformation.
        """
        mismatch = check_mismatch(validate_data(self, X, dtype=np.float64))
        self.gamma_ = median_gamma(mismatch) if self.gamma is None else float(self.gamma)
        self._means = mismatch.mean(axis=0)
        K = self._source(mismatch)
        values, U = np.linalg.eigh(0.5 * (K + K.T))
        self.eigenvalues_ = values[::-1].copy()
        least = NOTHING * float(np.abs(values).max(initial=0.0))
        self.n_positive_ = int((values > least).sum())
        now = transformed_spectrum(values, self.method)
        self.matrix_ = (U * now) @ U.T  # U diag(λ) Uᵀ; the paper prints UᵀΛU
        self.matrix_ = 0.5 * (self.matrix_ + self.matrix_.T)
        kept = np.abs(values) > least
        factor = np.divide(now, values, out=np.zeros_like(values), where=kept)
        self._map = None if self.method in ("shift", "none") else (U * factor) @ U.T
        return self

    def _source(self, mismatch: Floats) -> Floats:
        if self.on == "similarity":
            return similarity(mismatch, self.gamma_)
        if self.on == "gram":
            rows = mismatch - self._means - mismatch.mean(axis=1, keepdims=True)
            return -0.5 * (rows + self._means.mean())  # -½ J ψ J
        return mismatch

    def transform(self, X: Any) -> Floats:
        """Return rows of the transformed matrix for recordings that may be new.

        Parameters
        ----------
        X : array-like of shape (n_new, n_records)
            Mismatch with the recordings of fit.

        Returns
        -------
        rows : ndarray of shape (n_new, n_records)
            Their similarities with the recordings of fit.
        """
        check_is_fitted(self, "matrix_")
        K = self._source(validate_data(self, X, dtype=np.float64, reset=False))
        # K U diag(λ⁺/λ) Uᵀ: new rows by the map of the old
        return K if self._map is None else K @ self._map

    def fit_transform(self, X: Any, y: Any = None) -> Floats:
        """Return the transformed matrix.

        Parameters
        ----------
        X : array-like of shape (n_records, n_records)
            Mismatch of all pairs; symmetric.
        y : None
            Ignored.

        Returns
        -------
        matrix : ndarray of shape (n_records, n_records)
            `matrix_`.
        """
        return self.fit(X).matrix_
