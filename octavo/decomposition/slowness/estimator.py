"""Slow feature analysis: signals that vary slowly, as functions of signals that do not.

Reference: Wiskott and Sejnowski (2002), "Slow feature analysis: unsupervised learning of
invariances", Neural Computation 14:715-770, in the form of Sprekeler, Zito and Wiskott (2014),
"An extension of slow feature analysis for nonlinear blind source separation", JMLR 15:921-947.
"""

from __future__ import annotations

import re
import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_array, check_is_fitted

from octavo.decomposition.slowness.deltas import resolvable_difference
from octavo.decomposition.slowness.directions import (
    SlowDirections,
    slow_directions,
    slow_directions_svd,
)
from octavo.decomposition.slowness.episodes import in_the_form_of, is_listed, validated
from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.estimators.doubles import check_finite_result
from octavo.engine.estimators.sklearn_door import HasMethods, Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.spectral.expansions import (
    BASES,
    Box,
    StreamingMoments,
    blocks_of,
    box_of,
    expansion,
    frame_of,
    mean_box,
    n_functions,
    streamed,
)

__all__ = ["SFA", "PolynomialExpansion"]

POLY = re.compile(r"poly([1-9]\d?)")
# A variance this small beside 1 is rounding in a matrix of second moments.
MOMENTS_HOLD = 1e-11
MOST_FUNCTIONS = 5000


def check_width(width: int, n_rows: int | None) -> None:
    """Refuse expansions that are too large for memory, or for the rows that there are."""
    if width > MOST_FUNCTIONS:
        raise ValueError(
            f"The expansion has {width} functions; at most {MOST_FUNCTIONS} are allowed. Lower the "
            "degree, or reduce X by PCA first."
        )
    if n_rows is not None and n_rows <= width:
        raise ValueError(
            f"X has n_samples={n_rows} rows for {width} expanded features; more rows than "
            "features are needed, and ten times as many are wise. Lower the degree, or give "
            "a longer series."
        )


def refuse_constant(scale: Floats) -> None:
    """Refuse channels that do not vary."""
    still = np.flatnonzero(~(scale > 0))
    if still.size:
        raise ValueError(
            f"X has {still.size} constant column{'s' * (still.size != 1)} (the first is column "
            f"{still[0]}); a constant has no slowness. Drop it."
        )


def warn_of_short(n_rows: int, width: int) -> None:
    """Warn where rows are fewer than ten times the functions."""
    if n_rows < 10 * width:
        warnings.warn(
            f"{n_rows} rows for {width} expanded features: slowness found in so few rows may be "
            "chance. Ten times as many rows are wise.",
            UserWarning,
            stacklevel=4,
        )


def warn_of_speed(delta: float) -> None:
    """Warn where the slowest output is nearly white noise."""
    if delta > 1.0:
        warnings.warn(
            f"The slowest output has a Δ-value of {delta:.3g}, near the 2 of white noise: rows may "
            "not be in the order of time, or are too far apart.",
            UserWarning,
            stacklevel=4,
        )


def warn_of_ties(deltas: Floats, n_rows: int) -> None:
    """Warn where neighbours are closer than the data resolve (Eq. (17))."""
    if len(deltas) < 2:
        return
    low = np.maximum(deltas[:-1], np.finfo(np.float64).tiny)
    close = np.flatnonzero(np.diff(deltas) < resolvable_difference(low, n_rows))
    if close.size:
        k = int(close[0])
        warnings.warn(
            f"Outputs {k} and {k + 1} have Δ-values {deltas[k]:.4g} and {deltas[k + 1]:.4g}, too "
            f"close for {n_rows} rows: they may be any mixture of each other.",
            UserWarning,
            stacklevel=4,
        )


def signed(components: Floats, covariance: Floats, loadings: Floats | None = None) -> Floats:
    """Return components whose strongest correlation with a signal is positive.

    Parameters
    ----------
    components : ndarray of shape (n_outputs, n)
        Weights of signals.
    covariance : ndarray of shape (n, n)
        Their covariance.
    loadings : ndarray of shape (n_first, n_features), optional
        What features are of the first signals, if not the signals themselves count.

    Returns
    -------
    components : ndarray of shape (n_outputs, n)
        The same but for signs.
    """
    if loadings is None:
        loadings = np.eye(len(covariance))
    k = len(loadings)
    variances = np.einsum("ij,ik,kj->j", loadings, covariance[:k, :k], loadings)
    spread = np.sqrt(np.maximum(variances, 0.0))
    shared = components @ covariance[:, :k] @ loadings
    shared = np.divide(shared, spread, out=np.zeros_like(shared), where=spread > 0)
    strongest = shared[np.arange(len(shared)), np.abs(shared).argmax(axis=1)]
    return components * np.where(strongest < 0, -1.0, 1.0)[:, None]


class PolynomialExpansion(TransformerMixin, SoundEstimator):
    """All polynomials of the features up to a degree, in a basis that keeps its digits.

    The bases span the same functions as `sklearn.preprocessing.PolynomialFeatures`, without the
    constant. Powers of a high degree are nearly dependent, and their moments have no digits
    left; products of orthogonal polynomials of scaled features are not.

    Parameters
    ----------
    degree : int, default=2
        The highest total degree.
    basis : {"chebyshev", "hermite", "legendre", "monomial"}, default="chebyshev"
        Polynomials of one feature whose products are taken.
    scale : {"minmax", "standard"}, default="minmax"
        Features are brought to [-1, 1], or to zero mean and unit variance (the choice for
        "hermite").
    whiten : bool, default=False
        Take polynomials of uncorrelated combinations of the features, which are as many as
        the features, less those that others determine. Nearly dependent features do no harm then.

    Attributes
    ----------
    exponents_ : ndarray of shape (n_functions, n_variables)
        Degree of each function in each feature, or in each combination with `whiten`.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit.

    See Also
    --------
    SFA : Takes one as `expansion`.

    Notes
    -----
    Do not use it where coefficients are to be read as those of powers: there
    `sklearn.preprocessing.PolynomialFeatures` is the choice.

    References
    ----------
    .. [1] Mason and Handscomb (2003). Chebyshev polynomials. CRC Press.

    Examples
    --------
    >>> from octavo.decomposition import PolynomialExpansion
    >>> X = [[-1.0, 0.0], [0.0, 2.0], [1.0, 4.0]]
    >>> print(PolynomialExpansion(2).fit_transform(X)[0])
    [-1. -1.  1.  1.  1.]
    """

    _parameter_constraints = {
        "degree": [Interval(Integral, 1, 100, closed="both")],
        "basis": [StrOptions(set(BASES))],
        "scale": [StrOptions({"minmax", "standard"})],
        "whiten": ["boolean"],
    }

    def __init__(self, degree=2, *, basis="chebyshev", scale="minmax", whiten=False):
        self.degree = degree
        self.basis = basis
        self.scale = scale
        self.whiten = whiten

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Take the range of the features.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : None
            Ignored.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        values, _ = validated(self, X)
        check_width(n_functions(values.shape[1], self.degree), None)
        if self.whiten:
            self._frame: Any = frame_of(values, self.scale)
        else:
            box = box_of(values, self.scale)
            # A constant feature adds nothing; it must only not divide by zero.
            self._frame = Box(box.center, np.where(box.scale > 0, box.scale, 1.0))
        variables = self._frame(values[:1]).shape[1]
        self._expansion = expansion(variables, self.degree, self.basis)
        self.exponents_ = self._expansion.exponents
        return self

    def transform(self, X):
        """Return the polynomials.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_functions)
            Values, ordered by degree.
        """
        check_is_fitted(self)
        values, _ = validated(self, X, reset=False)
        return np.ascontiguousarray(self._made(values))

    def _made(self, values: Floats) -> Floats:
        """Return the polynomials of checked rows, column by column."""
        return self._expansion(self._frame(values))

    def get_feature_names_out(self, input_features=None):
        """Return names that say which degrees are multiplied.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the features; those seen in fit, or x0, x1, ... by default.

        Returns
        -------
        names : ndarray of str
            One for each function; combinations are called w0, w1, ...
        """
        check_is_fitted(self)
        if input_features is None:
            given = getattr(self, "feature_names_in_", None)
            input_features = (
                [f"x{i}" for i in range(self.n_features_in_)] if given is None else given
            )
        if len(input_features) != self.n_features_in_:
            raise ValueError(
                f"input_features should have length equal to number of features "
                f"({self.n_features_in_}), got {len(input_features)}."
            )
        if self.whiten:
            input_features = [f"w{i}" for i in range(self.exponents_.shape[1])]
        return np.array(
            [
                " ".join(f"{name}:{power}" for name, power in zip(input_features, row) if power)
                for row in self.exponents_
            ],
            dtype=object,
        )


class SFA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, SoundEstimator):
    """Slow feature analysis: functions of a series that vary as slowly as possible.

    Outputs have zero mean and unit variance, are uncorrelated, and come in the order of their
    Δ-value, the mean square of their change from one time to the next. They are instantaneous
    functions of the input and no filters.

    Parameters
    ----------
    n_components : int, default=None
        How many outputs; all that vary by default.
    expansion : None, str or transformer, default=None
        What outputs are linear combinations of: the features; with "poly2", "poly3", ...
        polynomials up to that degree; or what a scikit-learn transformer makes of the rows, such as
        `PolynomialExpansion`, `sklearn.kernel_approximation.Nystroem` or `RBFSampler`.
    rank_tol : float, default=1e-7
        Principal components of expanded features, each in units of its deviation, with at most
        this variance are left out.
    lag : int, default=1
        Change is the difference of rows that are so many steps apart.

    Attributes
    ----------
    components_ : ndarray of shape (n_outputs, n_functions)
        Weights of the expanded features; of the features themselves without `expansion`.
    delta_values_ : ndarray of shape (n_outputs,)
        Δ-value of each output, ascending; 2 is white noise.
    mean_ : ndarray of shape (n_functions,)
        Mean of the expanded features.
    rank_ : int
        Number of principal components kept.
    n_features_out_ : int
        Number of outputs.
    n_samples_seen_ : int
        Rows that the moments are made of.
    expansion_ : transformer or None
        What expands rows; None where they are taken as they are.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit.

    See Also
    --------
    XSFA : Sources behind a nonlinear mixture.
    sklearn.decomposition.FastICA : Independent components, whatever their order in time.

    Notes
    -----
    Do not use it on rows without an order, or on signals that were mixed with delays: outputs
    look at one time only. White noise that is added to slow signals makes their Δ-values equal,
    and what is found then is chance; a warning says so where Δ exceeds 1.

    A series may come as one array, as a list of arrays (episodes), or stacked with ``lengths``; no
    difference is taken across borders. The sign of an output is arbitrary and set so that its
    strongest correlation with a feature (of a transformer: an expanded one) is positive.

    Moments are added up in blocks, so that memory does not grow with the length. Below a
    `rank_tol` of 1e-11 moments have no digits left, and `fit` decomposes the rows themselves.

    References
    ----------
    .. [1] Wiskott and Sejnowski (2002). Slow feature analysis: unsupervised learning of
       invariances. Neural Computation 14:715-770.
    .. [2] Sprekeler, Zito and Wiskott (2014). An extension of slow feature analysis for nonlinear
       blind source separation. JMLR 15:921-947.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.decomposition import SFA
    >>> t = np.linspace(0, 20 * np.pi, 5000)
    >>> X = np.column_stack([np.sin(t) + np.cos(11 * t) ** 2, np.cos(11 * t)])
    >>> y = SFA(1, expansion="poly2").fit_transform(X)[:, 0]
    >>> print(f"{abs(np.corrcoef(y, np.sin(t))[0, 1]):.4f}")
    1.0000
    """

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "expansion": [str, HasMethods(["fit", "transform"]), None],
        "rank_tol": [Interval(Real, 0, 1, closed="left")],
        "lag": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(self, n_components=None, *, expansion=None, rank_tol=1e-7, lag=1):
        self.n_components = n_components
        self.expansion = expansion
        self.rank_tol = rank_tol
        self.lag = lag

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None, lengths=None):
        """Find the slowest functions of a series.

        Parameters
        ----------
        X : array-like of shape (n_times, n_features), or list of such
            Rows in the order of time; a list holds episodes.
        y : None
            Ignored.
        lengths : array-like of int, default=None
            Lengths of the episodes that are stacked in X.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        values, counts = validated(self, X, lengths, min_samples=2)
        self._begin(values)
        if self.expansion is not None:
            refuse_constant(box_of(values).scale)
        check_width(self._width, len(values))
        self._add(values, counts)
        if self.expansion is None:
            refuse_constant(self._ranges(values))
        if self._moments.n_steps == 0:
            raise ValueError(
                f"No episode has more than lag={self.lag} rows; the longest has {counts.max()}."
            )
        found = None
        if self.rank_tol < MOMENTS_HOLD:
            found = slow_directions_svd(self._expand(values), counts, self.rank_tol, lag=self.lag)
        self._solve(found)
        warn_of_short(len(values), self._width)
        warn_of_speed(float(self.delta_values_[0]))
        if self.n_components is not None:
            warn_of_ties(self.delta_values_, len(values))
        return self

    @fit_context(prefer_skip_nested_validation=False)
    def partial_fit(self, X, y=None, lengths=None, new_episode=None):
        """Go on with further rows; the result is that of one fit on all of them.

        Parameters
        ----------
        X : array-like of shape (n_times, n_features), or list of such
            Further rows. There is an answer once there are more rows than expanded features.
        y : None
            Ignored.
        lengths : array-like of int, default=None
            Lengths of the episodes that are stacked in X.
        new_episode : bool, default=None
            Whether the first row begins an episode instead of following the last row so far. By
            default it does in lists and with `lengths`.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        first = not hasattr(self, "_moments")
        values, counts = validated(self, X, lengths, reset=first)
        if first:
            self._begin(values)
        if new_episode is None:
            new_episode = lengths is not None or is_listed(X)
        self._add(values, counts, new_episode=new_episode)
        moments = self._moments
        if moments.count > self._width and moments.n_steps:
            self._solve(None)
        return self

    def _begin(self, values: Floats) -> None:
        """Fix the units of the features and the functions of them."""
        width = values.shape[1]
        matched = POLY.fullmatch(self.expansion) if isinstance(self.expansion, str) else None
        self.expansion_: Any = None
        if matched:
            check_width(n_functions(width, int(matched[1])), None)
            self.expansion_ = PolynomialExpansion(int(matched[1]), whiten=True).fit(values)
            width = len(self.expansion_.exponents_)
        elif isinstance(self.expansion, str):
            raise ValueError(
                f"expansion={self.expansion!r} is not known: give None, 'poly2', 'poly3', ..., or "
                "a transformer."
            )
        elif self.expansion is not None:
            self.expansion_ = clone(self.expansion).fit(values)
            width = self._expand(values[:1]).shape[1]
            check_width(width, None)
        if self.expansion is None:
            self._units = mean_box(values)
        self._width = width
        self._moments = StreamingMoments(self.lag, about_mean=self.expansion is None)
        self._n_episodes = 0

    def _ranges(self, values: Floats) -> Floats:
        """Return zero for features that do not vary; the values are asked where they hardly do."""
        center, scale = self._units
        spread = scale * np.sqrt(np.maximum(np.diagonal(self._moments.covariance), 0.0))
        still = ~(spread > 1e-6 * np.abs(center))
        if still.any():
            spread[still] = box_of(values[:, still]).scale
        return spread

    def _expand(self, rows: Floats) -> Floats:
        if self.expansion_ is None:
            return self._units.turned(rows)
        if isinstance(self.expansion, str):
            return self.expansion_._made(rows)
        made = self.expansion_.transform(rows)
        made = made.toarray() if sparse.issparse(made) else made
        return check_array(made, dtype=np.float64, input_name="The expansion of X")

    def _add(self, values: Floats, counts: Ints, new_episode: bool = False) -> None:
        """Add the moments of further rows."""
        if new_episode:
            self._n_episodes += 1
        streamed(
            values,
            counts,
            self._expand,
            self._width,
            into=self._moments,
            first=self._n_episodes,
            fresh=self.expansion is None or isinstance(self.expansion, str),
        )
        self._n_episodes += len(counts) - 1
        self.n_samples_seen_ = self._moments.count

    def _solve(self, found: SlowDirections | None) -> None:
        """Find the directions from the moments, unless they are given."""
        covariance = self._moments.covariance
        check_finite_result(covariance, "The moments of the expanded features")
        if found is None:
            velocity = self._moments.velocity_covariance
            found = slow_directions(covariance, velocity, self.rank_tol)
        if found.rank == 0:
            raise ValueError(
                f"No direction of X has a variance above rank_tol={self.rank_tol:g}, in units of "
                "its features: there is nothing that could be slow."
            )
        wanted = found.rank if self.n_components is None else self.n_components
        if wanted > found.rank:
            raise ValueError(
                f"n_components={wanted}, but only {found.rank} directions of the expanded "
                f"features vary by more than rank_tol={self.rank_tol:g}."
            )
        # Polynomials of degree one come first, and features are combinations of them: the sign does
        # not depend on the basis.
        polynomial = isinstance(self.expansion, str)
        loadings = self.expansion_._frame.loadings if polynomial else None
        components = signed(found.components[:wanted], covariance, loadings)
        self.components_, self.mean_ = components, self._moments.mean
        self._mixing = components @ covariance
        if self.expansion_ is None:
            self.components_ = components / self._units.scale
            self.mean_ = self._units.center + self._units.scale * self.mean_
            self._mixing = self._mixing * self._units.scale
        self.delta_values_ = found.delta_values[:wanted]
        self.rank_ = found.rank
        self.n_features_out_ = wanted

    @property
    def _n_features_out(self):
        return self.components_.shape[0]

    def transform(self, X):
        """Return the slow outputs at every time.

        Parameters
        ----------
        X : array-like of shape (n_times, n_features), or list of such
            Rows, or a list of episodes.

        Returns
        -------
        Y : ndarray of shape (n_times, n_outputs), or list of such
            Outputs, a list where X is one.
        """
        check_is_fitted(self, "components_")
        values, counts = validated(self, X, reset=False)
        if self.expansion_ is None:
            Y = (values - self.mean_) @ self.components_.T
        else:
            Y = np.empty((len(values), self.n_features_out_))
            for rows in blocks_of(len(values), self._width):
                Y[rows] = (self._expand(values[rows]) - self.mean_) @ self.components_.T
        return in_the_form_of(X, Y, counts)

    @available_if(lambda self: self.expansion is None)
    def inverse_transform(self, X):
        """Return the rows that outputs came from, as nearly as they tell; without expansion only.

        Parameters
        ----------
        X : array-like of shape (n_times, n_outputs)
            Outputs.

        Returns
        -------
        X_original : ndarray of shape (n_times, n_features)
            The linear prediction of the features from the outputs, of least square error on
            the training data.
        """
        check_is_fitted(self, "components_")
        Y = check_array(X, dtype=np.float64)
        if Y.shape[1] != self.n_features_out_:
            raise ValueError(
                f"X has {Y.shape[1]} columns, but there are {self.n_features_out_} outputs."
            )
        return self.mean_ + Y @ self._mixing
