"""`MonomialFeatureMap`: the features whose inner products are the polynomial kernel, exactly.

Reference: A. Shashua (2008), "Introduction to Machine Learning", section 4.3. The constant term of
(xᵀy + θ)² is θ², of the feature θ (the notes print θ and √θ).
"""

from __future__ import annotations

from itertools import combinations_with_replacement
from math import comb, factorial, sqrt
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.estimators.sklearn_door import Interval, fit_context
from octavo.engine.estimators.sound import SoundEstimator

__all__ = ["MonomialFeatureMap"]

MOST_FEATURES = 2_000_000


def monomial_powers(n_features: int, degree: int) -> Ints:
    """Return the exponents of all monomials of exactly that degree, one row a monomial."""
    found = np.zeros((comb(n_features + degree - 1, degree), n_features), dtype=np.int64)
    for i, columns in enumerate(combinations_with_replacement(range(n_features), degree)):
        for column in columns:
            found[i, column] += 1
    return found


def multinomial_roots(powers: Ints, degree: int) -> Floats:
    """Return √(degree! / Π powers!) of each monomial."""
    whole = factorial(degree)
    return np.array([sqrt(whole // _product_of_factorials(row)) for row in powers.tolist()])


def _product_of_factorials(row: list[int]) -> int:
    total = 1
    for power in row:
        total *= factorial(power)
    return total


class MonomialFeatureMap(TransformerMixin, SoundEstimator):
    """Map rows to weighted monomials whose inner products are (xᵀy + coef0)^degree.

    A linear model on these features is the kernel machine of the polynomial kernel, with weights
    that can be read.

    Parameters
    ----------
    degree : int, default=2
        Degree of the kernel.
    coef0 : float, default=1.0
        Its constant, not negative; 0 leaves only monomials of the full degree.

    Attributes
    ----------
    powers_ : ndarray of shape (n_output_features, n_features)
        Exponents of each monomial.
    weights_ : ndarray of shape (n_output_features,)
        What it is multiplied by.
    n_output_features_ : int
        Number of monomials.
    n_features_in_ : int
        Number of columns.

    Notes
    -----
    C(n_features + degree, degree) columns: for few features and small degrees. For many use
    `sklearn.kernel_approximation.PolynomialCountSketch`, or the kernel itself. Monomials without
    weights are `sklearn.preprocessing.PolynomialFeatures`.

    References
    ----------
    .. [1] Shashua (2008). Introduction to Machine Learning, lecture notes, Hebrew University,
       section 4.3.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.kernel import MonomialFeatureMap
    >>> x, y = np.array([[1.0, 2.0]]), np.array([[3.0, -1.0]])
    >>> map2 = MonomialFeatureMap(2, coef0=3.0).fit(x)
    >>> round(float(map2.transform(x)[0] @ map2.transform(y)[0]), 6)  # (1 + 3)^2
    16.0
    >>> map2.get_feature_names_out().tolist()
    ['x0^2', 'x0 x1', 'x0', 'x1^2', 'x1', '1']
    """

    _parameter_constraints: dict[str, list[Any]] = {
        "degree": [Interval(Integral, 1, None, closed="left")],
        "coef0": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(self, degree=2, coef0=1.0):
        self.degree = degree
        self.coef0 = coef0

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """List the monomials.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : None
            Ignored.

        Returns
        -------
        self : MonomialFeatureMap
            Fitted.
        """
        X = validate_data(self, X, dtype=np.float64)
        d = X.shape[1]
        n_variables = d + (self.coef0 > 0.0)  # (x, √θ): a homogeneous kernel of one more variable
        size = comb(n_variables + self.degree - 1, self.degree)
        if size > MOST_FEATURES:
            raise ValueError(
                f"{d} features of degree {self.degree} have {size} monomials, more than "
                f"{MOST_FEATURES}; use a lower degree or the kernel itself."
            )
        powers = monomial_powers(n_variables, self.degree)
        # Section 4.3: root of the multinomial coefficient
        self.weights_ = multinomial_roots(powers, self.degree)
        if self.coef0 > 0.0:
            # θ is one more variable √θ: its power is half
            self.weights_ = self.weights_ * float(self.coef0) ** (0.5 * powers[:, -1])
        self.powers_ = powers[:, :d]
        self.n_output_features_ = size
        return self

    def transform(self, X: Any) -> Floats:
        """Return the weighted monomials.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        features : ndarray of shape (n_samples, n_output_features)
            φ(x) with φ(x)·φ(y) = (xᵀy + coef0)^degree.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        features = np.tile(self.weights_, (len(X), 1))
        with np.errstate(over="ignore"):
            for column in range(X.shape[1]):
                for power in range(1, self.degree + 1):
                    features[:, self.powers_[:, column] >= power] *= X[:, column : column + 1]
        if not np.isfinite(features).all():
            raise ValueError(
                f"Monomials of degree {self.degree} overflow on these rows, whose largest value is "
                f"{np.abs(X).max():.3g}; scale X."
            )
        return features

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the monomials by name.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the columns; those of fit, or x0, x1, ... by default.

        Returns
        -------
        names : ndarray of str
            Such as ``"x0^2"``; weights are left out.
        """
        check_is_fitted(self)
        fitted = getattr(self, "feature_names_in_", None)
        if input_features is None:
            names = [f"x{i}" for i in range(self.n_features_in_)] if fitted is None else fitted
        else:
            names = list(input_features)
            if fitted is not None and names != list(fitted):
                raise ValueError("input_features is not equal to feature_names_in_.")
            if len(names) != self.n_features_in_:
                raise ValueError(
                    "input_features should have length equal to number of features "
                    f"({self.n_features_in_}), got {len(names)}."
                )
        words = []
        for row in self.powers_:
            parts = [
                f"{names[j]}" if power == 1 else f"{names[j]}^{power}"
                for j, power in enumerate(row)
                if power
            ]
            words.append(" ".join(parts) or "1")
        return np.asarray(words, dtype=object)
