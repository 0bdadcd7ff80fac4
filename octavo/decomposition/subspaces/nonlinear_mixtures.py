"""Independent subspaces behind bent features, and of sources with dynamics of unknown shape.

Features that are monotone functions of linear mixtures are first made normal: mixtures of many
sources are nearly so, and the functions come undone. Dynamics of unknown shape are estimated by
kernel regression, and what they do not predict is taken apart.

References: Ziehe, Kawanabe, Harmeling and Müller (2003), "Blind separation of post-nonlinear
mixtures using linearizing transformations and temporal decorrelation", JMLR 4:1319-1338; Szabó,
Póczos and Lőrincz (2012), "Separation theorem for independent subspace analysis and its
consequences", Pattern Recognition 45:1782-1791; Nadaraya (1964) and Watson (1964) for the
regression.
"""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri
from scipy.stats import rankdata
from sklearn.callback import with_callbacks
from sklearn.utils.validation import check_is_fitted, validate_data

from octavo.decomposition.subspaces.analysis import SubspaceModel, whitening
from octavo.decomposition.subspaces.linear_processes import lagged
from octavo.decomposition.subspaces.process_analysis import ProcessModel
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.samples import as_sample
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context

__all__ = ["NonparametricARISA", "PostNonlinearISA", "kernel_regression"]

BLOCK = 1 << 22  # numbers in the temporary matrices of one block of rows


def normal_scores(x: Floats) -> tuple[Floats, Floats]:
    """Return the distinct values of x, ascending, and the normal quantiles of their ranks."""
    values, places = np.unique(x, return_inverse=True)
    scores = np.empty(len(values))
    scores[places] = ndtri(rankdata(x) / (len(x) + 1.0))  # over n + 1: no score is infinite
    return values, scores


@checked
def kernel_regression(
    Z: ArrayLike, Y: ArrayLike, bandwidth: float, *, leave_one_out: bool = True
) -> Floats:
    """Return the mean of Y near each row of Z, weighted by a Gaussian of the distance.

    Parameters
    ----------
    Z : array-like of shape (n, d)
        Where: regressors, in comparable units.
    Y : array-like of shape (n, p)
        What: responses.
    bandwidth : float
        Deviation of the Gaussian.
    leave_one_out : bool, default=True
        Whether a row takes no part in its own mean.

    Returns
    -------
    fitted : ndarray of shape (n, p)
        The estimates of Nadaraya and Watson.

    References
    ----------
    .. [1] Nadaraya (1964). On estimating regression. Theory of Probability and its Applications
       9:141-142.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.decomposition import kernel_regression
    >>> z = np.linspace(-3, 3, 300)[:, None]
    >>> print(f"{kernel_regression(z, np.sin(z), 0.1)[200, 0]:.2f} {np.sin(z)[200, 0]:.2f}")
    0.84 0.85
    """
    where = as_sample(Z, "Z", allow_complex=False)
    what = as_sample(Y, "Y", allow_complex=False)
    n = len(where)
    if len(what) != n or n < 2 or not bandwidth > 0:
        raise ValueError(
            "Z and Y need the same two rows or more and bandwidth must be positive, got "
            f"{n} and {len(what)} rows and bandwidth={bandwidth!r}."
        )
    fitted = np.empty_like(what)
    squares = np.einsum("ij,ij->i", where, where)
    step = max(1, BLOCK // n)
    for start in range(0, n, step):
        rows = np.arange(start, min(start + step, n))
        # |z|² + |z'|² − 2 z'z
        distances = squares[rows, None] + squares - 2.0 * where[rows] @ where.T
        if leave_one_out:
            distances[np.arange(len(rows)), rows] = np.inf
        nearest = distances.min(axis=1, keepdims=True)  # some weight is 1: no row is without
        weights = np.exp((nearest - distances) / (2.0 * bandwidth**2))
        fitted[rows] = weights @ what / weights.sum(axis=1, keepdims=True)
    return fitted


def best_bandwidth(Z: Floats, Y: Floats) -> float:
    """Return the bandwidth of least leave-one-out error among multiples of Scott's."""
    n, d = Z.shape
    # Scott's n^(−1/(d + 4)), of white data
    trials = n ** (-1.0 / (d + 4)) * np.array([0.25, 0.5, 1.0, 2.0])
    errors = [((Y - kernel_regression(Z, Y, h)) ** 2).sum() for h in trials]
    return float(trials[int(np.argmin(errors))])


class PostNonlinearISA(SubspaceModel):
    """Mixtures of independent vectors whose features are bent: x_i = f_i((As)_i).

    Every f_i is an unknown monotone function. Each feature is made normal, which undoes f_i as
    far as the mixture was normal, and the result is taken apart by independent subspace analysis.

    Attributes
    ----------
    knots_ : list of ndarray
        Distinct values of each feature.
    scores_ : list of ndarray
        The normal scores that they become.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit.

    See Also
    --------
    IndependentSubspaceAnalysis : Where features are linear mixtures.

    Notes
    -----
    A mixture of few sources is far from normal, and making it so adds an error that no sample
    size takes away: use it from some six coordinates on, and not where features are linear.
    Features that fall with their mixture have their sign changed, like the rows of the unmixing
    matrix. New values outside the range of the training data count as the nearest in it.

    References
    ----------
    .. [1] Ziehe, Kawanabe, Harmeling and Müller (2003). Blind separation of post-nonlinear mixtures
       using linearizing transformations and temporal decorrelation. JMLR 4:1319-1338.
    .. [2] Szabó (2014). Information theoretical estimators toolbox. JMLR 15:283-287.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.data import make_subspace_mixture
    >>> from octavo.decomposition import PostNonlinearISA
    >>> sample = make_subspace_mixture("letters", n_samples=1000, random_state=0)
    >>> model = PostNonlinearISA(subspace_dims=[2, 2, 2], random_state=0)
    >>> straight = model.fit_transform(sample.X)
    >>> bent = model.fit_transform(np.sinh(sample.X))
    >>> print(f"{abs(straight - bent).max():.6f}")
    0.000000
    """

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None):
        """Make every feature normal and take the result apart.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Bent mixtures.
        y : None
            Ignored.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        X = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        self.knots_, self.scores_ = map(list, zip(*[normal_scores(x) for x in X.T]))
        straight = self._straighten(X)
        self.mean_ = straight.mean(axis=0)
        with FitProgress(self, None, X, step_name="round") as progress:
            self._separate(straight - self.mean_, progress)
        return self

    def _straighten(self, X: Floats) -> Floats:
        columns = zip(X.T, self.knots_, self.scores_)
        return np.column_stack([np.interp(x, knots, scores) for x, knots, scores in columns])

    def transform(self, X):
        """Return the sources, subspace after subspace.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Bent mixtures.

        Returns
        -------
        S : ndarray of shape (n_samples, n_components)
            Coordinates of the sources.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return (self._straighten(X) - self.mean_) @ self.unmixing_.T

    def inverse_transform(self, X):
        """Mix sources again and bend the mixtures.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Coordinates of the sources.

        Returns
        -------
        X_original : ndarray of shape (n_samples, n_features)
            Their bent mixture.
        """
        straight = super().inverse_transform(X)
        columns = zip(straight.T, self.scores_, self.knots_)
        return np.column_stack([np.interp(x, scores, knots) for x, scores, knots in columns])


class NonparametricARISA(ProcessModel):
    """Mixtures of independent vectors with dynamics of unknown shape.

    x = As with s_t = f(s_(t-1), ...) + e_t, where f is smooth and unknown and the vectors of e are
    independent. The expected next value of x is estimated by kernel regression, and what is
    left is taken apart.

    Parameters
    ----------
    order : int, default=1
        Number of steps that the process looks back.
    bandwidth : float or "cv", default="cv"
        Deviation of the Gaussian weights, for a past that is scaled to unit covariance; "cv"
        takes the best of four multiples of Scott's rule, by leaving one out.

    Attributes
    ----------
    bandwidth_ : float
        The bandwidth used.
    innovations_ : ndarray of shape (n_times - order, n_components)
        Innovations of the sources in the training data, subspace after subspace.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit.

    See Also
    --------
    ARIndependentSubspaceAnalysis : Linear dynamics, for which far fewer samples do.

    Notes
    -----
    Regression without a model needs samples that grow fast with order times n_features; beyond
    some four columns of past it smooths too much. Use `ARIndependentSubspaceAnalysis` where
    the dynamics may be linear. Memory is bounded, time is quadratic in the number of times.

    References
    ----------
    .. [1] Nadaraya (1964). On estimating regression. Theory of Probability and its Applications
       9:141-142.
    .. [2] Szabó, Póczos and Lőrincz (2012). Separation theorem for independent subspace analysis
       and its consequences. Pattern Recognition 45:1782-1791.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.data import make_subspace_mixture
    >>> from octavo.decomposition import NonparametricARISA, amari_index
    >>> sample = make_subspace_mixture("letters", n_subspaces=2, random_state=0)
    >>> S = sample.sources.copy()
    >>> for t in range(1, len(S)):
    ...     S[t] += np.sin(2 * S[t - 1])
    >>> model = NonparametricARISA(subspace_dims=[2, 2], random_state=0).fit(S @ sample.mixing.T)
    >>> index = amari_index(model.unmixing_, sample.mixing, model.subspaces_, sample.subspaces)
    >>> print(f"{index:.1f}")
    0.0
    """

    _parameter_constraints = {
        **SubspaceModel._parameter_constraints,
        "order": [Interval(Integral, 1, None, closed="left")],
        "bandwidth": [Interval(Real, 0, None, closed="neither"), StrOptions({"cv"})],
    }

    def __init__(
        self,
        order=1,
        bandwidth="cv",
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
        self.bandwidth = bandwidth

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None):
        """Estimate the dynamics and take apart what they do not predict.

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
        if len(X) < self.order + 3:
            raise ValueError(
                f"n_samples={len(X)} times are too few to learn dynamics of order {self.order}; "
                f"at least {self.order + 3} are needed."
            )
        self.mean_ = X.mean(axis=0)
        centred = X - self.mean_
        past = lagged(centred, range(1, self.order + 1), self.order)
        past = past @ whitening(past - past.mean(axis=0), None).T
        future = centred[self.order :]
        self.bandwidth_ = (
            best_bandwidth(past, future) if self.bandwidth == "cv" else float(self.bandwidth)
        )
        left = future - kernel_regression(past, future, self.bandwidth_)
        with FitProgress(self, None, X, step_name="round") as progress:
            self._fit_innovations(left, progress)
        self.innovations_ = (left - left.mean(axis=0)) @ self.unmixing_.T
        return self
