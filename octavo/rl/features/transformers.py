"""Feature maps for linear value functions: states in, features out, as scikit-learn transformers.

Reference: Dann, Neumann and Peters (2014), "Policy evaluation with temporal differences: a survey
and comparison", JMLR 15:809-883, sections 3.1.1 to 3.1.8. Grids of bumps and tiles
stand in `octavo.rl.features.grids`.
"""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator

__all__ = [
    "FeatureNormalizer",
    "SquaredFeatures",
    "TabularFeatures",
    "TriangularFeatures",
]


class StateFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, SoundEstimator):
    """What the maps below share: checked states, a range that is given or learnt, names."""

    def _states(self, X, reset=False):
        if not reset:
            check_is_fitted(self)
        return validate_data(self, X, reset=reset, dtype=np.float64)

    def _set_range(self, X):
        """Set `low_` and `high_` from the parameters, or from the data where those are None."""
        self.low_ = self._bound(self.low, X.min(axis=0), "low")
        self.high_ = self._bound(self.high, X.max(axis=0), "high")
        flat = self.high_ <= self.low_
        given = self.low is not None or self.high is not None
        if flat.any() and given:
            at = int(np.argmax(flat))
            raise ValueError(
                f"high must exceed low, got {self.high_[at]:.6g} <= {self.low_[at]:.6g} for "
                f"variable {at}."
            )
        self.high_ = np.where(flat, self.low_ + 1.0, self.high_)

    def _bound(self, given, seen, name):
        if given is None:
            return seen.astype(np.float64)
        bound = np.asarray(given, dtype=np.float64)
        if bound.ndim > 1 or (bound.ndim == 1 and bound.size != seen.size):
            raise ValueError(
                f"{name} must be a number or one for each of {seen.size} variables, got shape "
                f"{bound.shape}."
            )
        return np.broadcast_to(bound, seen.shape).copy()

    @property
    def _n_features_out(self):
        return self.n_features_out_


class TriangularFeatures(StateFeatures):
    """Overlapping triangles along one variable: linear interpolation between knots.

    Parameters
    ----------
    n_triangles : int, default=4
        Number of triangles for each variable, their tips equally spaced from `low` to `high`. Each
        falls to zero at its neighbours' tips, so that they sum to one in between.
    low, high : float or array-like of shape (n_features,), default=None
        Where the first and the last tip stand; None stands for the range of the data.

    Attributes
    ----------
    low_, high_ : ndarray of shape (`n_features_in_`,)
        The range.
    n_features_out_ : int
        Number of features made.
    n_features_in_ : int
        Number of variables seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of variables seen during fit.

    See Also
    --------
    sklearn.preprocessing.SplineTransformer : With ``degree=1``, triangles at knots of its choice.

    Notes
    -----
    Variables are treated one by one; for functions of several at once use `RBFGridFeatures` or
    `TileCoding`.

    References
    ----------
    .. [1] Dann, Neumann and Peters (2014). Policy evaluation with temporal differences: a survey
       and comparison. JMLR 15:809-883, figure 13.

    Examples
    --------
    >>> from octavo.rl import TriangularFeatures
    >>> TriangularFeatures(3, low=0.0, high=4.0).fit_transform([[0.0], [1.0], [4.0]]).tolist()
    [[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]
    """

    _parameter_constraints = {
        "n_triangles": [Interval(Integral, 2, None, closed="left")],
        "low": [None, Real, "array-like"],
        "high": [None, Real, "array-like"],
    }

    def __init__(self, n_triangles=4, *, low=None, high=None):
        self.n_triangles = n_triangles
        self.low = low
        self.high = high

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Learn the range.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            States.
        y : None
            Ignored.

        Returns
        -------
        self : object
            Fitted transformer.
        """
        X = self._states(X, reset=True)
        self._set_range(X)
        self.n_features_out_ = X.shape[1] * self.n_triangles
        return self

    def transform(self, X):
        """Return the heights of the triangles.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            States.

        Returns
        -------
        ndarray of shape (n_samples, n_features * n_triangles)
            Features, those of the first variable first.
        """
        X = self._states(X)
        place = (X - self.low_) / (self.high_ - self.low_) * (self.n_triangles - 1)
        # At most the two triangles about a place are not zero.
        left = np.clip(np.floor(place), 0, self.n_triangles - 2)
        column = left.astype(np.intp) + self.n_triangles * np.arange(X.shape[1])
        column += self.n_features_out_ * np.arange(len(X))[:, None]
        made = np.zeros((len(X), self.n_features_out_))
        for k in (0, 1):
            made.ravel()[column + k] = np.maximum(1.0 - np.abs(place - (left + k)), 0.0)
        return made


class TabularFeatures(StateFeatures):
    """One indicator for each state: the exact representation of a finite problem.

    Parameters
    ----------
    n_states : int, default=None
        States are 0, ..., n_states - 1; None stands for the states seen during fit, whatever their
        numbers.
    bias : bool, default=False
        Whether to add a constant feature.
    sparse_output : bool, default=False
        Whether to return a CSR matrix.

    Attributes
    ----------
    states_ : ndarray of shape (n_known_states,)
        The states with an indicator.
    n_features_out_ : int
        Number of features made.
    n_features_in_ : int
        Number of variables seen during fit, 1.

    See Also
    --------
    sklearn.preprocessing.OneHotEncoder : For states of several variables, or with names.

    Notes
    -----
    Nothing is shared between states: a state that the data never visit has value zero.

    References
    ----------
    .. [1] Dann, Neumann and Peters (2014). Policy evaluation with temporal differences: a survey
       and comparison. JMLR 15:809-883.

    Examples
    --------
    >>> from octavo.rl import TabularFeatures
    >>> TabularFeatures(3).fit_transform([[2], [0]]).tolist()
    [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    """

    _parameter_constraints = {
        "n_states": [None, Interval(Integral, 1, None, closed="left")],
        "bias": ["boolean"],
        "sparse_output": ["boolean"],
    }

    def __init__(self, n_states=None, *, bias=False, sparse_output=False):
        self.n_states = n_states
        self.bias = bias
        self.sparse_output = sparse_output

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.one_d_array = True
        return tags

    def _column(self, X, reset):
        X = np.reshape(X, (-1, 1)) if np.ndim(X) == 1 else X
        X = validate_data(self, X, reset=reset, dtype=np.float64)
        if X.shape[1] != 1:
            raise ValueError(f"States are numbered by one variable, got {X.shape[1]} columns.")
        return X[:, 0]

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Learn which states there are.

        Parameters
        ----------
        X : array-like of shape (n_samples,) or (n_samples, 1)
            Numbers of states.
        y : None
            Ignored.

        Returns
        -------
        self : object
            Fitted transformer.
        """
        states = self._column(X, reset=True)
        seen = np.unique(states)
        self.states_ = seen if self.n_states is None else np.arange(float(self.n_states))
        self._places(states)
        self.n_features_out_ = len(self.states_) + self.bias
        return self

    def _places(self, states):
        places = np.minimum(np.searchsorted(self.states_, states), len(self.states_) - 1)
        unknown = self.states_[places] != states
        if unknown.any():
            raise ValueError(
                f"State {states[unknown][0]:g} is not one of the {len(self.states_)} known states."
            )
        return places

    def transform(self, X):
        """Return the indicators.

        Parameters
        ----------
        X : array-like of shape (n_samples,) or (n_samples, 1)
            Numbers of states.

        Returns
        -------
        ndarray or CSR matrix of shape (n_samples, n_features_out)
            Features.
        """
        check_is_fitted(self)
        places = self._places(self._column(X, reset=False))
        n, ones = len(places), np.ones(len(places))
        made = sp.csr_matrix((ones, (np.arange(n), places)), shape=(n, len(self.states_)))
        if self.bias:
            made = sp.hstack([made, ones[:, None]], format="csr")
        return made if self.sparse_output else made.toarray()


class SquaredFeatures(StateFeatures):
    """Squares of the variables, their products, and a constant: the value of a linear system.

    Parameters
    ----------
    interactions : bool, default=True
        Whether products of different variables are included (the upper triangle of xx'), or only
        the squares.
    bias : bool, default=True
        Whether to add a constant feature, the first.

    Attributes
    ----------
    pairs_ : ndarray of shape (2, n_products)
        Which variables each product has.
    n_features_out_ : int
        Number of features made.
    n_features_in_ : int
        Number of variables seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of variables seen during fit.

    See Also
    --------
    sklearn.preprocessing.PolynomialFeatures : The same with the variables themselves.

    Notes
    -----
    Exact for linear dynamics with quadratic rewards, and for nothing else; features differ much in
    scale, so follow with `FeatureNormalizer` before gradient methods.

    References
    ----------
    .. [1] Dann, Neumann and Peters (2014). Policy evaluation with temporal differences: a survey
       and comparison. JMLR 15:809-883, section 3.1.4.

    Examples
    --------
    >>> from octavo.rl import SquaredFeatures
    >>> SquaredFeatures().fit_transform([[2.0, 3.0]]).tolist()
    [[1.0, 4.0, 6.0, 9.0]]
    """

    _parameter_constraints = {"interactions": ["boolean"], "bias": ["boolean"]}

    def __init__(self, *, interactions=True, bias=True):
        self.interactions = interactions
        self.bias = bias

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Learn the number of variables.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            States.
        y : None
            Ignored.

        Returns
        -------
        self : object
            Fitted transformer.
        """
        d = self._states(X, reset=True).shape[1]
        self.pairs_ = np.array(np.triu_indices(d) if self.interactions else [range(d), range(d)])
        self.n_features_out_ = self.pairs_.shape[1] + self.bias
        return self

    def transform(self, X):
        """Return the constant, squares and products.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            States.

        Returns
        -------
        ndarray of shape (n_samples, n_features_out)
            Features.
        """
        X = self._states(X)
        return self._with_bias(X[:, self.pairs_[0]] * X[:, self.pairs_[1]])

    def _with_bias(self, products):
        return np.column_stack([np.ones(len(products)), products]) if self.bias else products

    def expected(self, mean, covariance):
        """Return the expected features of Gaussian states.

        Parameters
        ----------
        mean : array-like of shape (n_samples, n_features)
            Means.
        covariance : array-like of shape (n_features, n_features)
            The covariance that they share.

        Returns
        -------
        ndarray of shape (n_samples, n_features_out)
            E[x_i x_j] = m_i m_j + C_ij, and the constant.
        """
        mean, covariance = self._states(mean), np.asarray(covariance, dtype=np.float64)
        products = mean[:, self.pairs_[0]] * mean[:, self.pairs_[1]]
        return self._with_bias(products + covariance[self.pairs_[0], self.pairs_[1]])


class FeatureNormalizer(StateFeatures):
    """Put features on one scale: each feature over the data, or each state over the features.

    Parameters
    ----------
    mode : {"per_dimension", "per_step"}, default="per_dimension"
        "per_dimension" subtracts the mean of each feature and divides by its standard deviation;
        constant features are left as they are, so that the constant stays one. "per_step" divides
        each state's features by the sum of their absolute values.

    Attributes
    ----------
    mean_, scale_ : ndarray of shape (`n_features_in_`,)
        What is subtracted and divided by, "per_dimension".
    n_features_out_ : int
        Number of features.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit.

    See Also
    --------
    sklearn.preprocessing.StandardScaler : The same, but turns a constant feature into zeros.

    Notes
    -----
    Subtracting means changes what a linear value function can express unless there is a constant
    feature. Fit on the features of states, and transform states and successors alike; the zeros
    that stand for terminal states must stay zeros.

    References
    ----------
    .. [1] Dann, Neumann and Peters (2014). Policy evaluation with temporal differences: a survey
       and comparison. JMLR 15:809-883, section 3.1.8 and message 4.

    Examples
    --------
    >>> from octavo.rl import FeatureNormalizer
    >>> FeatureNormalizer().fit_transform([[1.0, 2.0], [1.0, 4.0]]).tolist()
    [[1.0, -1.0], [1.0, 1.0]]
    """

    _parameter_constraints = {"mode": [StrOptions({"per_dimension", "per_step"})]}

    def __init__(self, mode="per_dimension"):
        self.mode = mode

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Learn means and scales.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        y : None
            Ignored.

        Returns
        -------
        self : object
            Fitted transformer.
        """
        X = self._states(X, reset=True)
        mean, scale = X.mean(axis=0), X.std(axis=0)
        constant = scale <= 1e-12 * np.maximum(np.abs(mean), 1e-300)
        self.mean_ = np.where(constant, 0.0, mean)
        self.scale_ = np.where(constant, 1.0, scale)
        self.n_features_out_ = X.shape[1]
        return self

    def transform(self, X):
        """Return the features on one scale.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            Features.
        """
        X = self._states(X)
        if self.mode == "per_dimension":
            return (X - self.mean_) / self.scale_
        total = np.abs(X).sum(axis=1, keepdims=True)
        return X / np.where(total == 0, 1.0, total)
