"""Independent subspaces of sources with a memory: autoregressive, controlled, moving average.

Where each source is a process of its own, the observed mixture is a process too, and its
innovations are a mixture of the innovations of the sources. So the process is estimated first, and
independent subspace analysis is done on what it does not predict.

References: Szabó, Póczos and Lőrincz (2007), "Undercomplete blind subspace deconvolution", JMLR
8:1063-1095, and (2012), "Separation theorem for independent subspace analysis and its
consequences", Pattern Recognition 45:1782-1791, sections on AR, ARX and MA.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from octavo.decomposition.subspaces.analysis import SubspaceModel
from octavo.decomposition.subspaces.linear_processes import (
    ar_innovations,
    fit_autoregression,
    run_autoregression,
)
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, fit_context

__all__ = [
    "ARIndependentSubspaceAnalysis",
    "ARXIndependentSubspaceAnalysis",
    "MAIndependentSubspaceAnalysis",
]


class ProcessModel(SubspaceModel):
    """Subspaces of the innovations of a process."""

    def _fit_innovations(self, innovations: Floats, progress: FitProgress) -> None:
        self._separate(innovations - innovations.mean(axis=0), progress)


class ARIndependentSubspaceAnalysis(ProcessModel):
    """Mixtures of independent autoregressive vectors.

    x = As, where the sources are vector processes with independent innovations. The
    autoregression of x is fitted by least squares; its innovations are taken apart.

    Parameters
    ----------
    order : int, default=1
        Number of steps that the process looks back; 0 for independent subspace analysis.

    Attributes
    ----------
    coef_ : ndarray of shape (order, `n_features_in_`, `n_features_in_`)
        The autoregression of the data: row i of ``coef_[l - 1]`` predicts feature i from l
        steps before.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit.

    See Also
    --------
    ARXIndependentSubspaceAnalysis : With inputs from outside.
    MissingARISA : With missing values.
    NonparametricARISA : With dynamics of unknown shape.

    Notes
    -----
    Rows are times, in order. Where sources have no memory, `IndependentSubspaceAnalysis` needs
    fewer samples. Non-normality is asked of the innovations.

    References
    ----------
    .. [1] Szabó, Póczos and Lőrincz (2012). Separation theorem for independent subspace analysis
       and its consequences. Pattern Recognition 45:1782-1791.

    Examples
    --------
    >>> from octavo.data import make_subspace_mixture
    >>> from octavo.decomposition import ARIndependentSubspaceAnalysis, amari_index
    >>> sample = make_subspace_mixture("letters", n_subspaces=2, random_state=0)
    >>> X = sample.X.copy()
    >>> for t in range(1, len(X)):
    ...     X[t] += 0.7 * X[t - 1]
    >>> model = ARIndependentSubspaceAnalysis(order=1, random_state=0).fit(X)
    >>> index = amari_index(model.unmixing_, sample.mixing, model.subspaces_, sample.subspaces)
    >>> print(f"{index:.2f}")
    0.01
    """

    _parameter_constraints = {
        **SubspaceModel._parameter_constraints,
        "order": [Interval(Integral, 0, None, closed="left")],
    }

    def __init__(
        self,
        order=1,
        n_components=None,
        subspace_dims="auto",
        objective="sum_entropy",
        estimator=None,
        ica=None,
        optimizer="greedy",
        n_subspaces=None,
        random_state=None,
    ):
        super().__init__(
            n_components=n_components,
            subspace_dims=subspace_dims,
            objective=objective,
            estimator=estimator,
            ica=ica,
            optimizer=optimizer,
            n_subspaces=n_subspaces,
            random_state=random_state,
        )
        self.order = order

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None):
        """Fit the autoregression and take its innovations apart.

        Parameters
        ----------
        X : array-like of shape (n_times, n_features)
            Mixtures, in the order of time.
        y : None
            Ignored.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        X = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        self.mean_ = X.mean(axis=0)
        process = fit_autoregression(X - self.mean_, self.order)
        self.coef_ = process.coef
        with FitProgress(self, None, X, step_name="round") as progress:
            self._fit_innovations(process.innovations, progress)
        return self

    def innovations(self, X):
        """Return what is new in the sources at each time.

        Parameters
        ----------
        X : array-like of shape (n_times, n_features)
            Mixtures, in the order of time.

        Returns
        -------
        innovations : ndarray of shape (n_times - order, n_components)
            Of the sources, from the first time that has all of its past.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        left = ar_innovations(X - self.mean_, self.coef_)
        return left[len(self.coef_) :] @ self.unmixing_.T


class ARXIndependentSubspaceAnalysis(ProcessModel):
    """Mixtures of independent autoregressive vectors that are driven from outside.

    x = As with sources that depend on their past, on known inputs u, and on independent
    innovations. Without inputs it is `ARIndependentSubspaceAnalysis`.

    Parameters
    ----------
    order : int, default=1
        Number of steps that the process looks back.
    input_order : int, default=1
        Number of inputs that it sees: the present one and those before it.

    Attributes
    ----------
    coef_ : ndarray of shape (order, `n_features_in_`, `n_features_in_`)
        The autoregression of the data.
    input_coef_ : ndarray of shape (input_order, `n_features_in_`, n_inputs)
        The effect of the inputs; none where there were none.
    input_mean_ : ndarray of shape (n_inputs,)
        Mean of the inputs.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit.

    See Also
    --------
    ARIndependentSubspaceAnalysis : Without inputs.

    Notes
    -----
    Inputs that depend on the innovations (feedback) spoil the estimate. Where nothing drives
    the sources, use `ARIndependentSubspaceAnalysis`.

    References
    ----------
    .. [1] Szabó (2014). Information theoretical estimators toolbox. JMLR 15:283-287.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.data import make_subspace_mixture
    >>> from octavo.decomposition import ARXIndependentSubspaceAnalysis
    >>> sample = make_subspace_mixture("letters", n_subspaces=2, random_state=0)
    >>> inputs = np.random.default_rng(0).normal(size=(1000, 1))
    >>> X = sample.X + inputs @ [[1.0, -2.0, 0.5, 0.0]]
    >>> model = ARXIndependentSubspaceAnalysis(order=1, random_state=0).fit(X, inputs=inputs)
    >>> print(np.round(model.input_coef_[0, :, 0], 1) + 0.0)
    [ 1.  -2.   0.5  0. ]
    """

    _parameter_constraints = {
        **ARIndependentSubspaceAnalysis._parameter_constraints,
        "input_order": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        order=1,
        input_order=1,
        n_components=None,
        subspace_dims="auto",
        objective="sum_entropy",
        estimator=None,
        ica=None,
        optimizer="greedy",
        n_subspaces=None,
        random_state=None,
    ):
        super().__init__(
            n_components=n_components,
            subspace_dims=subspace_dims,
            objective=objective,
            estimator=estimator,
            ica=ica,
            optimizer=optimizer,
            n_subspaces=n_subspaces,
            random_state=random_state,
        )
        self.order = order
        self.input_order = input_order

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None, *, inputs=None):
        """Fit the driven autoregression and take its innovations apart.

        Parameters
        ----------
        X : array-like of shape (n_times, n_features)
            Mixtures, in the order of time.
        y : None
            Ignored.
        inputs : array-like of shape (n_times, n_inputs), default=None
            What drives the sources.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        X = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        self.mean_ = X.mean(axis=0)
        drive: Any = None
        self.input_mean_ = np.empty(0)
        if inputs is not None:
            drive = check_array(inputs, dtype=np.float64, input_name="inputs")
            self.input_mean_ = drive.mean(axis=0)
            drive = drive - self.input_mean_
        process = fit_autoregression(X - self.mean_, self.order, drive, self.input_order)
        self.coef_, self.input_coef_ = process.coef, process.input_coef
        with FitProgress(self, None, X, step_name="round") as progress:
            self._fit_innovations(process.innovations, progress)
        return self

    def innovations(self, X, inputs=None):
        """Return what is new in the sources at each time, other than by the inputs.

        Parameters
        ----------
        X : array-like of shape (n_times, n_features)
            Mixtures, in the order of time.
        inputs : array-like of shape (n_times, n_inputs), default=None
            What drove the sources; needed where there were inputs in fit.

        Returns
        -------
        innovations : ndarray of shape (n_times - lag, n_components)
            Of the sources, from the first time that has all of its past.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        first, left = len(self.coef_), ar_innovations(X - self.mean_, self.coef_)
        if len(self.input_mean_):
            drive = check_array(inputs, dtype=np.float64, input_name="inputs")
            if drive.shape != (len(X), len(self.input_mean_)):
                raise ValueError(
                    f"inputs must have the shape {(len(X), len(self.input_mean_))}, a row for "
                    f"each time and the columns of fit, got {drive.shape}."
                )
            drive = drive - self.input_mean_
            first = max(first, len(self.input_coef_) - 1)
            for j, B in enumerate(self.input_coef_):
                left[j:] -= drive[: len(drive) - j] @ B.T
        return left[first:] @ self.unmixing_.T


class MAIndependentSubspaceAnalysis(ProcessModel):
    """Convolutive mixtures of independent vectors: blind subspace deconvolution.

    x_t = H_0 s_t + ... + H_L s_(t-L), with more features than coordinates of sources. Such a
    moving average is, but for special H, also an autoregression with the innovations H_0 s_t; it
    is fitted, and its innovations are taken apart.

    Parameters
    ----------
    ma_order : int, default=1
        L, the number of past sources in a mixture; 0 for independent subspace analysis.
    ar_order : int, default=None
        Order of the autoregression; 2(L + 1) by default, and 0 for L = 0.

    Attributes
    ----------
    coef_ : ndarray of shape (ar_order, `n_features_in_`, `n_features_in_`)
        The autoregression of the data.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit.

    See Also
    --------
    IndependentSubspaceAnalysis : Mixtures without echoes.

    Notes
    -----
    Give `n_components` or `subspace_dims`: with as many sources as features a moving average has
    in general no finite autoregression. Each row of a transform depends on the rows before it, and
    the times before the first row count as the mean: the first `ar_order` rows are of less worth.

    References
    ----------
    .. [1] Szabó, Póczos and Lőrincz (2007). Undercomplete blind subspace deconvolution. JMLR
       8:1063-1095.
    .. [2] Szabó, Póczos and Lőrincz (2007). Undercomplete blind subspace deconvolution via linear
       prediction. ECML.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.data import make_subspace_mixture
    >>> from octavo.decomposition import MAIndependentSubspaceAnalysis, amari_index
    >>> S = make_subspace_mixture("letters", n_subspaces=2, n_samples=2000, random_state=0).sources
    >>> H = np.random.default_rng(0).normal(size=(2, 8, 4))
    >>> X = S[1:] @ H[0].T + S[:-1] @ H[1].T
    >>> model = MAIndependentSubspaceAnalysis(1, subspace_dims=[2, 2], random_state=0).fit(X)
    >>> index = amari_index(model.unmixing_, H[0], model.subspaces_)
    >>> print(f"{index:.2f}")
    0.02
    """

    _parameter_constraints = {
        **SubspaceModel._parameter_constraints,
        "ma_order": [Interval(Integral, 0, None, closed="left")],
        "ar_order": [Interval(Integral, 0, None, closed="left"), None],
    }

    def __init__(
        self,
        ma_order=1,
        ar_order=None,
        n_components=None,
        subspace_dims="auto",
        objective="sum_entropy",
        estimator=None,
        ica=None,
        optimizer="greedy",
        n_subspaces=None,
        random_state=None,
    ):
        super().__init__(
            n_components=n_components,
            subspace_dims=subspace_dims,
            objective=objective,
            estimator=estimator,
            ica=ica,
            optimizer=optimizer,
            n_subspaces=n_subspaces,
            random_state=random_state,
        )
        self.ma_order = ma_order
        self.ar_order = ar_order

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None):
        """Fit the autoregression and take its innovations apart.

        Parameters
        ----------
        X : array-like of shape (n_times, n_features)
            Mixtures, in the order of time.
        y : None
            Ignored.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        X = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        order = self.ar_order
        if order is None:
            # an autoregression of so many terms stands for the infinite one of a moving average
            order = 2 * (self.ma_order + 1) if self.ma_order else 0
        self.mean_ = X.mean(axis=0)
        process = fit_autoregression(X - self.mean_, order)
        self.coef_ = process.coef
        with FitProgress(self, None, X, step_name="round") as progress:
            self._fit_innovations(process.innovations, progress)
        return self

    def transform(self, X):
        """Return the sources, subspace after subspace.

        Parameters
        ----------
        X : array-like of shape (n_times, n_features)
            Mixtures, in the order of time.

        Returns
        -------
        S : ndarray of shape (n_times, n_components)
            Coordinates of the sources.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return ar_innovations(X - self.mean_, self.coef_) @ self.unmixing_.T

    def inverse_transform(self, X):
        """Mix sources again.

        Parameters
        ----------
        X : array-like of shape (n_times, n_components)
            Coordinates of the sources, in the order of time.

        Returns
        -------
        X_original : ndarray of shape (n_times, n_features)
            Their convolutive mixture.
        """
        innovations = self._as_sources(X) @ self.mixing_.T
        return run_autoregression(innovations, self.coef_) + self.mean_
