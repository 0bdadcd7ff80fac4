"""What conditional machines are measured against: a linear autoregression, and nearest frames.

Reference: G. W. Taylor, G. E. Hinton and S. T. Roweis (2011), Sections 3.5.7 and 4.6.3.
"""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
import scipy.linalg
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.sklearn_door import Interval, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.sequence.conditional_rbm.base import companion_radius
from octavo.sequence.conditional_rbm.frames import (
    check_frames,
    check_long_enough,
    learn_scaling,
    target_rows,
)
from octavo.sequence.conditional_rbm.residuals import least_squares
from octavo.sequence.conditional_rbm.training import past_of

__all__ = ["NearestFrameImputer", "VectorAutoRegression"]

EXACT = 1e-20  # share of a channel's variance below which its residuals are rounding alone


class VectorAutoRegression(SoundEstimator):
    """Linear autoregression of vector time series by least squares.

    Parameters
    ----------
    order : int, default=3
        How many frames back it looks.
    alpha : float, default=0.0
        Strength of the ridge penalty on coefficients of standardised channels.

    Attributes
    ----------
    coef_ : ndarray of shape (order · D, D)
        Coefficients in the units of the data, v(t-1) first.
    intercept_ : ndarray of shape (D,)
        Intercept.
    covariance_ : ndarray of shape (D, D)
        Covariance of the residuals (maximum likelihood).
    mean_, scale_ : ndarray of shape (D,)
        Mean and scale of each channel; the scale of a constant one is 1.
    n_features_in_ : int
        Number of channels.

    See Also
    --------
    CRBM : Adds hidden units.

    Notes
    -----
    Do not use it for series whose dynamics change with their state, or beyond a few steps.
    statsmodels' VAR has tests and confidence bands for a single series; scikit-learn has nothing.

    References
    ----------
    .. [1] G. W. Taylor, G. E. Hinton and S. T. Roweis (2011). "Two Distributed-State Models for
       Generating High-Dimensional Time Series". Journal of Machine Learning Research 12.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.sequence import VectorAutoRegression
    >>> t = np.arange(50)
    >>> X = np.stack([np.sin(t / 5), np.cos(t / 5)], axis=1)
    >>> model = VectorAutoRegression(1).fit(X)
    >>> bool(np.abs(model.predict(X[-1:], 3)[2] - [np.sin(52 / 5), np.cos(52 / 5)]).max() < 1e-6)
    True
    """

    _parameter_constraints: dict[str, Any] = {
        "order": [Interval(Integral, 1, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(self, order=3, alpha=0.0):
        self.order = order
        self.alpha = alpha

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, lengths: Any = None) -> Self:
        """Fit by least squares.

        Parameters
        ----------
        X : list of arrays (T, D), or array (n_rows, D)
            Sequences of frames.
        y : None
            Ignored.
        lengths : array-like of int, optional
            Lengths of stacked sequences.

        Returns
        -------
        self : object
            The fitted model.
        """
        frames = check_frames(X, lengths)
        check_long_enough(frames, self.order)
        self.n_features_in_ = int(frames.rows.shape[1])
        scaling = learn_scaling(frames, True)
        self.mean_ = scaling.constant
        self.scale_ = np.ones(self.n_features_in_)
        self.scale_[scaling.kept] = scaling.scale
        rows = (np.asarray(frames.rows[0 : frames.n_rows, :], dtype=np.float64) - self.mean_) / (
            self.scale_
        )
        targets = target_rows(frames.lengths, self.order)
        past, now = past_of(rows, targets, self.order, np), rows[targets]
        centre, level = past.mean(axis=0), now.mean(axis=0)
        coef = least_squares(past - centre, now - level, self.alpha)
        residual = now - level - (past - centre) @ coef
        tall = np.tile(self.scale_, self.order)
        self.coef_ = coef / tall[:, None] * self.scale_
        # back to the units of the data: v = intercept + past @ coef
        shift = (level - centre @ coef) * self.scale_ + self.mean_
        self.intercept_ = shift - np.tile(self.mean_, self.order) @ self.coef_
        self.covariance_ = (residual.T @ residual / len(now)) * np.outer(self.scale_, self.scale_)
        return self

    def predict(self, history: Any, n_steps: int = 1) -> Any:
        """Return the frames that follow a history.

        Parameters
        ----------
        history : array of shape (T, D) or (n, T, D)
            The frames before, oldest first; the last ``order`` are used.
        n_steps : int, default=1
            How many frames, each from those before.

        Returns
        -------
        frames : ndarray of shape (n_steps, D) or (n, n_steps, D)
            Conditional means.
        """
        check_is_fitted(self)
        if not isinstance(n_steps, Integral) or isinstance(n_steps, bool) or n_steps < 1:
            raise ValueError(f"n_steps must be a positive integer, got {n_steps!r}.")
        histories = np.asarray(history)
        if histories.ndim not in (2, 3) or histories.shape[-2] < self.order:
            raise ValueError(
                f"history must hold at least {self.order} frames, (T, D) or (n, T, D); got shape "
                f"{histories.shape}."
            )
        single = histories.ndim == 2
        histories = histories[None] if single else histories
        n, T, D = histories.shape
        check_frames(histories.reshape(n * T, D), n_features=self.n_features_in_, name="history")
        past = histories[:, ::-1][:, : self.order].reshape(n, -1).astype(np.float64)
        found = []
        for _ in range(n_steps):
            v = self.intercept_ + past @ self.coef_
            found.append(v)
            past = np.concatenate([v, past[:, : (self.order - 1) * D]], axis=1)
        answer = np.stack(found, axis=1)
        return answer[0] if single else answer

    def score_samples(self, X: Any, y: Any = None, lengths: Any = None) -> Floats:
        """Return the Gaussian log density of each frame given its past.

        Parameters
        ----------
        X : list of arrays (T, D), or array (n_rows, D)
            Sequences of frames.
        y : None
            Ignored.
        lengths : array-like of int, optional
            Lengths of stacked sequences.

        Returns
        -------
        log_density : ndarray of shape (n_frames,)
            A row for each frame that has a full past; constant channels are not counted.
        """
        check_is_fitted(self)
        frames = check_frames(X, lengths, n_features=self.n_features_in_)
        check_long_enough(frames, self.order)
        rows = np.asarray(frames.rows[0 : frames.n_rows, :], dtype=np.float64)
        targets = target_rows(frames.lengths, self.order)
        residual = (
            rows[targets] - self.intercept_ - past_of(rows, targets, self.order, np) @ self.coef_
        )
        scaled = self.covariance_ / np.outer(self.scale_, self.scale_)
        kept = np.diag(scaled) > 0
        if not kept.any() or np.diag(scaled)[kept].min() < EXACT:
            raise ValueError(
                "The autoregression fits its training frames without error, so it has no density; "
                "give more frames, lower the order or raise alpha."
            )
        try:
            lower = scipy.linalg.cholesky(scaled[np.ix_(kept, kept)], lower=True)
        except scipy.linalg.LinAlgError as error:
            raise ValueError(
                "The residuals of the autoregression are linearly dependent, so it has no "
                "density; leave out channels that follow from others, or raise alpha."
            ) from error
        z = scipy.linalg.solve_triangular(lower, (residual / self.scale_)[:, kept].T, lower=True)
        log_det = np.log(np.diag(lower)).sum() + np.log(self.scale_[kept]).sum()
        # log N(residual; 0, Σ), channels without variance left out
        return -0.5 * (z**2).sum(axis=0) - log_det - 0.5 * kept.sum() * math.log(2 * math.pi)

    def score(self, X: Any, y: Any = None, lengths: Any = None) -> float:
        """Return the mean of `score_samples`.

        Parameters
        ----------
        X : list of arrays (T, D), or array (n_rows, D)
            Sequences of frames.
        y : None
            Ignored.
        lengths : array-like of int, optional
            Lengths of stacked sequences.

        Returns
        -------
        score : float
            Mean log density of a frame.
        """
        return float(np.mean(self.score_samples(X, y, lengths)))

    def spectral_radius(self) -> float:
        """Return the spectral radius of the recursion; above one, forecasts explode.

        Returns
        -------
        radius : float
            The largest modulus of the companion matrix's eigenvalues.
        """
        check_is_fitted(self)
        return companion_radius(self.coef_)


class NearestFrameImputer(SoundEstimator):
    """Fill in missing channels from the most similar training frames.

    Parameters
    ----------
    k : int, default=1
        How many training frames are averaged.

    Attributes
    ----------
    frames_ : ndarray of shape (n_rows, D)
        Training frames, standardised.
    mean_, scale_ : ndarray of shape (D,)
        Scaling of the channels; the scale of a constant one is 1.
    n_features_in_ : int
        Number of channels.

    See Also
    --------
    CRBM : Fills in from the past as well.

    Notes
    -----
    Do not use it where the past says more than the channels that are there.
    `sklearn.impute.KNNImputer` is the same without standardising, and uses training rows that have
    the missing entry only; here training frames are complete.

    References
    ----------
    .. [1] G. W. Taylor, G. E. Hinton and S. T. Roweis (2011). "Two Distributed-State Models for
       Generating High-Dimensional Time Series". Journal of Machine Learning Research 12.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.sequence import NearestFrameImputer
    >>> X = np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 5.0]])
    >>> NearestFrameImputer(1).fit(X).impute([[1.2, np.nan]])
    array([[1.2, 3. ]])
    """

    _parameter_constraints: dict[str, Any] = {"k": [Interval(Integral, 1, None, closed="left")]}

    def __init__(self, k=1):
        self.k = k

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, lengths: Any = None) -> Self:
        """Keep the training frames.

        Parameters
        ----------
        X : list of arrays (T, D), or array (n_rows, D)
            Sequences of frames.
        y : None
            Ignored.
        lengths : array-like of int, optional
            Lengths of stacked sequences.

        Returns
        -------
        self : object
            The fitted imputer.
        """
        frames = check_frames(X, lengths)
        if frames.n_rows < self.k:
            raise ValueError(
                f"Neighbours cannot be more than frames, got k={self.k} and {frames.n_rows} frames."
            )
        self.n_features_in_ = int(frames.rows.shape[1])
        scaling = learn_scaling(frames, True)
        self.mean_ = scaling.constant
        self.scale_ = np.ones(self.n_features_in_)
        self.scale_[scaling.kept] = scaling.scale
        rows = np.asarray(frames.rows[0 : frames.n_rows, :], dtype=np.float64)
        self.frames_ = (rows - self.mean_) / self.scale_
        return self

    def impute(self, X: Any, lengths: Any = None) -> Floats:
        """Fill in missing values, each frame by itself.

        Parameters
        ----------
        X : list of arrays (T, D), or array (n_rows, D)
            Sequences of frames with NaN where a value is missing.
        lengths : array-like of int, optional
            Lengths of stacked sequences.

        Returns
        -------
        frames : ndarray of shape (n_rows, D)
            X with numbers where it had NaN. A frame without any known channel takes the mean.
        """
        check_is_fitted(self)
        frames = check_frames(X, lengths, n_features=self.n_features_in_, allow_nan=True)
        raw = np.array(frames.rows[0 : frames.n_rows, :], dtype=np.float64)
        rows = (raw - self.mean_) / self.scale_
        missing = np.isnan(rows)
        for pattern in np.unique(missing[missing.any(axis=1)], axis=0):
            chosen = np.flatnonzero((missing == pattern).all(axis=1))
            known = ~pattern
            if not known.any():
                raw[chosen] = self.mean_
                continue
            bank = self.frames_[:, known]
            size = (bank**2).sum(axis=1)
            for part in np.array_split(chosen, max(1, chosen.size * size.size // (1 << 22))):
                # ‖a - b‖² but for ‖a‖², the same for all training frames
                distance = size - 2 * rows[np.ix_(part, known)] @ bank.T
                nearest = np.argpartition(distance, self.k - 1, axis=1)[:, : self.k]
                mean = self.frames_[nearest][:, :, pattern].mean(axis=1)
                raw[np.ix_(part, pattern)] = mean * self.scale_[pattern] + self.mean_[pattern]
        return raw
