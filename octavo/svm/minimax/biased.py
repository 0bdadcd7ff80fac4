"""Minimax probability machines for classes that do not matter equally.

`BiasedMPM` gives one class the guarantee that was asked for and the other the best that is
left. `MinimumErrorMPM` weighs the two guarantees by how common the classes are.

References: K. Huang, H. Yang, I. King, M. R. Lyu and L. Chan (2004), "The minimum error minimax
probability machine", JMLR 5; K. Huang, H. Yang, I. King and M. R. Lyu (2006), "Maximizing
sensitivity in medical diagnosis using biased minimax probability machine", IEEE Transactions on
Biomedical Engineering 53; S. Cousins, thesis on moments and multi-label learning (University
College London), Eq. (3.17). Where they solve fractional programs in a line search, here every
point of the search is O(d) (`octavo.svm.minimax.curve`).
"""

from __future__ import annotations

import math
import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit, logit

from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.sklearn_door import Interval, StrOptions
from octavo.svm.minimax.base import KERNEL_CONSTRAINTS, GuaranteedClassifier
from octavo.svm.minimax.curve import EDGE, GuaranteeCurve, Hyperplane, average_variance
from octavo.svm.minimax.moment_bounds import accuracy_to_kappa, worst_case_error
from octavo.svm.minimax.moment_space import ClassMoments

__all__ = ["BiasedMPM", "MinimumErrorMPM", "biased_hyperplane", "minimum_error_hyperplane"]


@checked
def biased_hyperplane(
    zero: ClassMoments, one: ClassMoments, min_accuracy: float, alpha: float = 0.0
) -> Hyperplane:
    """Return the best guarantee for class 1 among hyperplanes that guarantee one for class 0.

    Parameters
    ----------
    zero, one : ClassMoments
        Means and covariances of the classes.
    min_accuracy : float
        Worst-case accuracy that class 0 must have, in [0, 1).
    alpha : float, default=0.0
        Added to the diagonals of both covariances.

    Returns
    -------
    plane : Hyperplane
        Maximises (w·(mean₁ - mean₀) - κ₀√(wᵀΣ₀w)) / √(wᵀΣ₁w), where κ₀ guarantees
        `min_accuracy`.

    See Also
    --------
    minimum_error_hyperplane : The best weighted sum of both guarantees.

    Examples
    --------
    Spheres of deviation 1 around means 5 apart: κ of 2 for one class leaves 3 for the other.

    >>> import numpy as np
    >>> from octavo.svm import ClassMoments, biased_hyperplane
    >>> zero = ClassMoments(np.array([0.0, 0.0]), np.eye(2), 50)
    >>> one = ClassMoments(np.array([3.0, 4.0]), np.eye(2), 50)
    >>> plane = biased_hyperplane(zero, one, min_accuracy=0.8)
    >>> [round(kappa, 6) for kappa in plane.kappas]
    [2.0, 3.0]
    """
    return _protecting(GuaranteeCurve(zero, one, (alpha, alpha)), min_accuracy, "raise")


def _protecting(curve: GuaranteeCurve, min_accuracy: float, on_infeasible: str) -> Hyperplane:
    """Return the place of the curve where class 0 has an accuracy, or the most it can have."""
    kappa = float(accuracy_to_kappa(min_accuracy))  # Eq. (3.6), inverted
    largest = curve.reach[0]
    if kappa < largest:
        t, steps = curve.where_zero_is(kappa)
        return curve.hyperplane(curve.direction(t), kappa, steps)
    message = (
        f"min_accuracy={min_accuracy:g} cannot be guaranteed for the protected class: its "
        f"worst-case accuracy stays below {1.0 - worst_case_error(largest):.4g} whatever the "
        "hyperplane."
    )
    if on_infeasible == "raise":
        raise ValueError(message)
    warnings.warn(
        message + " That is taken, and nothing guaranteed for the other class.",
        UserWarning,
        stacklevel=5,
    )
    w = curve.direction(EDGE)
    return curve.hyperplane(w, 1.0 / math.sqrt(float(w @ curve.covs[0] @ w)), 1)


@checked
def minimum_error_hyperplane(
    zero: ClassMoments, one: ClassMoments, prior: float, alpha: float = 0.0
) -> Hyperplane:
    """Return the hyperplane with the best worst-case accuracy over both classes together.

    Parameters
    ----------
    zero, one : ClassMoments
        Means and covariances of the classes.
    prior : float
        Probability of class 1, strictly between 0 and 1.
    alpha : float, default=0.0
        Added to the diagonals of both covariances.

    Returns
    -------
    plane : Hyperplane
        Maximises prior ω₁ + (1 - prior) ω₀, where ω_j is the worst-case accuracy of class j.
        Both means stay on their side. The sum may have several maxima along the curve of best
        pairs; a grid finds the highest, a line search refines it.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.svm import ClassMoments, minimum_error_hyperplane
    >>> zero = ClassMoments(np.array([0.0]), np.eye(1), 50)
    >>> one = ClassMoments(np.array([4.0]), np.eye(1), 50)
    >>> plane = minimum_error_hyperplane(zero, one, prior=0.2)
    >>> round(plane.threshold * 4, 3)  # nearer to the mean of the rarer class
    2.637
    """
    if not 0.0 < prior < 1.0:
        raise ValueError(f"prior must lie strictly between 0 and 1, got {prior!r}.")
    curve = GuaranteeCurve(zero, one, (alpha, alpha))

    def error(z: Any) -> Any:  # at t = 1/(1 + e⁻ᶻ), which spreads the ends of the curve
        kappa0, kappa1 = curve.kappas(np.clip(expit(z), EDGE, 1.0 - EDGE))
        # Eq. (3.17)
        return prior * worst_case_error(kappa1) + (1.0 - prior) * worst_case_error(kappa0)

    grid = np.linspace(logit(EDGE), -logit(EDGE), 241)
    values = error(grid)
    best = int(values.argmin())
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    found = minimize_scalar(error, bounds=(low, high), method="bounded", options={"xatol": 1e-10})
    z = found.x if found.fun < values[best] else grid[best]
    t = float(np.clip(expit(z), EDGE, 1.0 - EDGE))
    return curve.hyperplane(curve.direction(t), float(curve.kappas(t)[0]), len(grid) + found.nfev)


class BiasedMPM(GuaranteedClassifier):
    """Guarantee an accuracy for one class, and the best that is then left for the other.

    For errors of unequal cost: a test that must find the sick with a worst-case accuracy that is
    prescribed, and then disturb as few of the healthy as the moments allow.

    Parameters
    ----------
    min_accuracy : float, default=0.8
        Worst-case accuracy of the protected class, in [0, 1). At most what its mean and
        covariance allow.
    protected : {0, 1}, default=0
        Which class is protected: its place in ``classes_``.
    on_infeasible : {"raise", "warn"}, default="raise"
        What to do when no hyperplane can guarantee `min_accuracy`: raise a ValueError that says
        how much is possible, or warn and take that, with the hyperplane through the mean of the
        other class.
    kernel : {"linear", "poly", "rbf", "sigmoid", "laplacian", "cosine", "precomputed"}, \
            callable or None, default=None
        Space of the hyperplane; None for the features themselves.
    alpha : float, default=1e-6
        Added to the diagonals of both covariances, as a share of their average variance.
    kernel_params : dict, default=None
        Further parameters of a callable kernel.
    random_state : None, int or RandomState, default=None
        Draws these rows.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        Weights of the features; only without a kernel.
    dual_coef_ : ndarray of shape (1, n_landmarks)
        Weights of the rows that span the kernel; only with a kernel.
    landmarks_ : ndarray of shape (n_landmarks, n_features)
        These rows.
    landmark_indices_ : ndarray of shape (n_landmarks,)
        Their places among the training rows.
    intercept_ : ndarray of shape (1,)
        Minus the threshold.
    kappas_ : ndarray of shape (2,)
        Distances of the class means from the hyperplane in their standard deviations.
    worst_case_accuracy_ : ndarray of shape (2,)
        Accuracy of each class, whatever the distributions with these moments.
    worst_case_error_ : float
        The larger of the two worst-case errors.
    alpha_ : float
        What was added to the diagonals of both covariances.
    duality_gap_ : float
        No hyperplane has both `kappas_` larger by more than this.
    n_iter_ : int
        Steps of the search for one number.
    classes_ : ndarray of shape (2,)
        The classes.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit.

    See Also
    --------
    MinimumErrorMPM : Weighs the classes instead.

    Notes
    -----
    Do not use it when the moments come from few rows: the guarantee is about the moments given.
    Where the accuracy on the training rows is what should be held, move the threshold of any
    classifier with `sklearn.model_selection.TunedThresholdClassifierCV`.

    References
    ----------
    .. [1] K. Huang, H. Yang, I. King and M. R. Lyu (2006). "Maximizing sensitivity in medical
       diagnosis using biased minimax probability machine". IEEE Transactions on Biomedical
       Engineering 53.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import StandardScaler
    >>> from octavo.svm import BiasedMPM
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = BiasedMPM(min_accuracy=0.9).fit(StandardScaler().fit_transform(X), y)
    >>> model.worst_case_accuracy_.round(3).tolist()
    [0.9, 0.364]
    """

    _parameter_constraints: dict[str, Any] = {
        **KERNEL_CONSTRAINTS,
        "min_accuracy": [Interval(Real, 0, 1, closed="left")],
        "protected": [Interval(Integral, 0, 1, closed="both")],
        "on_infeasible": [StrOptions({"raise", "warn"})],
        "alpha": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        min_accuracy: float = 0.8,
        protected: int = 0,
        *,
        on_infeasible: str = "raise",
        kernel: Any = None,
        alpha: float = 1e-6,
        gamma: float | str | None = None,
        degree: float = 3,
        coef0: float = 0.0,
        kernel_params: dict[str, Any] | None = None,
        n_components: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.min_accuracy = min_accuracy
        self.protected = protected
        self.on_infeasible = on_infeasible
        self.kernel = kernel
        self.alpha = alpha
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.n_components = n_components
        self.random_state = random_state

    def _find_hyperplane(self, zero: ClassMoments, one: ClassMoments) -> Hyperplane:
        alpha = self._ridge(average_variance(zero, one))
        first, second = (zero, one) if self.protected == 0 else (one, zero)
        curve = GuaranteeCurve(first, second, (alpha, alpha))
        plane = _protecting(curve, self.min_accuracy, self.on_infeasible)
        if self.protected == 1:  # the same problem seen from the other side
            plane = plane._replace(
                coef=-plane.coef, threshold=-plane.threshold, kappas=plane.kappas[::-1]
            )
        self.kappas_ = np.array(plane.kappas)
        self._store_kappas(plane)
        self._warn_gap(plane, 1e-6)
        return plane


class MinimumErrorMPM(GuaranteedClassifier):
    """Minimax probability machine for classes that are not equally common.

    Maximises the worst-case accuracy over both classes together, each with its probability;
    the plain machine treats a class of one row in a hundred like the other ninety-nine.

    Parameters
    ----------
    prior : {"empirical"} or float, default="empirical"
        Probability of ``classes_[1]``; "empirical" takes its share of the training rows.
    kernel : {"linear", "poly", "rbf", "sigmoid", "laplacian", "cosine", "precomputed"}, \
            callable or None, default=None
        Space of the hyperplane; None for the features themselves.
    alpha : float, default=1e-6
        Added to the diagonals of both covariances, as a share of their average variance.
    kernel_params : dict, default=None
        Further parameters of a callable kernel.
    random_state : None, int or RandomState, default=None
        Draws these rows.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        Weights of the features; only without a kernel.
    dual_coef_ : ndarray of shape (1, n_landmarks)
        Weights of the rows that span the kernel; only with a kernel.
    landmarks_ : ndarray of shape (n_landmarks, n_features)
        These rows.
    landmark_indices_ : ndarray of shape (n_landmarks,)
        Their places among the training rows.
    intercept_ : ndarray of shape (1,)
        Minus the threshold.
    prior_ : float
        The probability of ``classes_[1]`` that was used.
    kappas_ : ndarray of shape (2,)
        Distances of the class means from the hyperplane in their standard deviations.
    worst_case_accuracy_ : ndarray of shape (2,)
        Accuracy of each class, whatever the distributions with these moments.
    worst_case_error_ : float
        The worst-case error of both classes together, weighted by `prior_`.
    alpha_ : float
        What was added to the diagonals of both covariances.
    duality_gap_ : float
        No hyperplane has both `kappas_` larger by more than this.
    n_iter_ : int
        Points of the curve of best guarantees that were looked at.
    classes_ : ndarray of shape (2,)
        The classes.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit.

    See Also
    --------
    BiasedMPM : Holds one class to a prescribed accuracy.

    Notes
    -----
    Do not use it when every row of the rare class counts: it may give that class up (a
    worst-case accuracy of zero, the hyperplane through its mean) because giving it up costs
    little. `BiasedMPM` cannot. As in [1]_, both means stay on their side; where
    `worst_case_error_` exceeds the probability of the rare class, always predicting the common
    one has the better guarantee. For probabilities use `sklearn.linear_model.LogisticRegression`.

    References
    ----------
    .. [1] K. Huang, H. Yang, I. King, M. R. Lyu and L. Chan (2004). "The minimum error minimax
       probability machine". Journal of Machine Learning Research 5.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import StandardScaler
    >>> from octavo.svm import MinimumErrorMPM
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = MinimumErrorMPM().fit(StandardScaler().fit_transform(X), y)
    >>> round(model.prior_, 3), round(model.worst_case_error_, 3)
    (0.627, 0.201)
    """

    _parameter_constraints: dict[str, Any] = {
        **KERNEL_CONSTRAINTS,
        "prior": [StrOptions({"empirical"}), Interval(Real, 0, 1, closed="neither")],
        "alpha": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        prior: str | float = "empirical",
        *,
        kernel: Any = None,
        alpha: float = 1e-6,
        gamma: float | str | None = None,
        degree: float = 3,
        coef0: float = 0.0,
        kernel_params: dict[str, Any] | None = None,
        n_components: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.prior = prior
        self.kernel = kernel
        self.alpha = alpha
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.n_components = n_components
        self.random_state = random_state

    def _find_hyperplane(self, zero: ClassMoments, one: ClassMoments) -> Hyperplane:
        self.prior_ = one.n / (one.n + zero.n) if isinstance(self.prior, str) else float(self.prior)
        alpha = self._ridge(average_variance(zero, one))
        plane = minimum_error_hyperplane(zero, one, self.prior_, alpha)
        self.kappas_ = np.array(plane.kappas)
        self._store_kappas(plane)
        weights = np.array([1.0 - self.prior_, self.prior_])
        self.worst_case_error_ = float(weights @ (1.0 - self.worst_case_accuracy_))
        self._warn_gap(plane, 1e-6)
        return plane
