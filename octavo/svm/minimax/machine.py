"""Minimax probability machines: the best guarantee that two means and covariances allow.

Among all hyperplanes, the one whose error is smallest for the worst pair of distributions that
have the given means and covariances. Nothing is assumed about their shape; the guarantee comes
with the machine.

References: G. R. G. Lanckriet, L. El Ghaoui, C. Bhattacharyya and M. I. Jordan (2003), "A robust
minimax approach to classification", JMLR 3; S. Cousins, thesis on moments and multi-label
learning (University College London), Sections 3.1, 3.2 and 3.3.4. Where they iterate least
squares, `octavo.svm.minimax.curve` solves for one number.
"""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, solve

from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.sklearn_door import Interval, StrOptions
from octavo.svm.minimax.base import KERNEL_CONSTRAINTS, GuaranteedClassifier
from octavo.svm.minimax.curve import GuaranteeCurve, Hyperplane, average_variance, mean_difference
from octavo.svm.minimax.moment_bounds import worst_case_error
from octavo.svm.minimax.moment_space import ClassMoments

__all__ = [
    "MinimaxProbabilityMachine",
    "fisher_hyperplane",
    "iterated_least_squares",
    "minimax_hyperplane",
]


@checked
def minimax_hyperplane(zero: ClassMoments, one: ClassMoments, alpha: float = 0.0) -> Hyperplane:
    """Return the hyperplane with the best worst-case accuracy for both classes.

    Parameters
    ----------
    zero, one : ClassMoments
        Means and covariances of the classes.
    alpha : float, default=0.0
        Added to the diagonals of both covariances; without it Σ₁ + Σ₀ must be invertible.

    Returns
    -------
    plane : Hyperplane
        κ⁻¹ = min √(wᵀΣ₁w) + √(wᵀΣ₀w) over w with w·(mean₁ - mean₀) = 1, with the threshold
        b = w·mean₁ - κ√(wᵀΣ₁w) and a bound on what is missing from the largest κ.

    See Also
    --------
    biased_hyperplane : Another guarantee for each class.

    Examples
    --------
    Spheres of deviations 1 and 2 around means 6 apart touch when κ is 6 / (1 + 2):

    >>> import numpy as np
    >>> from octavo.svm import ClassMoments, minimax_hyperplane
    >>> zero = ClassMoments(np.array([0.0, 0.0]), np.eye(2), 50)
    >>> one = ClassMoments(np.array([6.0, 0.0]), 4 * np.eye(2), 50)
    >>> plane = minimax_hyperplane(zero, one)
    >>> round(plane.kappas[0], 6), round(float(plane.threshold / plane.coef[0]), 6)
    (2.0, 2.0)
    """
    curve = GuaranteeCurve(zero, one, (alpha, alpha))
    t, steps = curve.meet()  # κ₀ = κ₁, as Eq. (3.7) asks
    return curve.hyperplane(curve.direction(t), None, steps)


@checked
def fisher_hyperplane(zero: ClassMoments, one: ClassMoments, alpha: float = 0.0) -> Hyperplane:
    """Return Fisher's direction with the threshold and guarantee of a minimax machine.

    Parameters
    ----------
    zero, one : ClassMoments
        Means, covariances and sizes of the classes.
    alpha : float, default=0.0
        Added to the diagonals of both covariances.

    Returns
    -------
    plane : Hyperplane
        w = (n₁Σ₁ + n₀Σ₀)⁻¹(mean₁ - mean₀), and the threshold that makes the worst-case accuracy
        the same for both classes. ``gap`` bounds what the minimax direction could add.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.svm import ClassMoments, fisher_hyperplane
    >>> cov = np.diag([1.0, 4.0])
    >>> zero, one = ClassMoments(np.zeros(2), cov, 9), ClassMoments(np.array([3.0, 2.0]), cov, 9)
    >>> round(fisher_hyperplane(zero, one).kappas[0] ** 2, 6)  # a quarter of Mahalanobis's 9 + 1
    2.5
    """
    curve = GuaranteeCurve(zero, one, (alpha, alpha))
    pooled = zero.n * curve.covs[0] + one.n * curve.covs[1]  # C_W of Eq. (3.1)
    try:
        w = solve(pooled, curve.difference, assume_a="pos")  # Fisher's direction, C_W⁻¹Δ
    except LinAlgError:
        raise ValueError("The pooled covariance is singular: regularise (alpha > 0).") from None
    return curve.hyperplane(w / float(w @ curve.difference), None, 1)


@checked
def iterated_least_squares(
    zero: ClassMoments,
    one: ClassMoments,
    delta: float = 1e-6,
    *,
    tol: float = 1e-8,
    max_iter: int = 1000,
) -> Hyperplane:
    """Return the hyperplane of the published iteration, with its own regularisation.

    For comparison with results in the literature. `minimax_hyperplane` is exact in a number of
    steps that does not depend on the data, where this needs hundreds for separable classes.

    Parameters
    ----------
    zero, one : ClassMoments
        Means and covariances of the classes.
    delta : float, default=1e-6
        Added to the diagonal of each least-squares problem: the penalty ½δ‖w‖² on the sum of
        the two deviations. Where the classes are separable the deviations are small and it
        regularises far less than a ridge of the same size on the covariances.
    tol : float, default=1e-8
        Stop when the sum of the deviations changes by less than this share.
    max_iter : int, default=1000
        Largest number of problems.

    Returns
    -------
    plane : Hyperplane
        With the threshold of Eq. (3.8). ``gap`` is nan: with a penalty it is no optimum of (3.7).

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.svm import ClassMoments, iterated_least_squares
    >>> zero = ClassMoments(np.array([0.0, 0.0]), np.eye(2), 50)
    >>> one = ClassMoments(np.array([6.0, 0.0]), 4 * np.eye(2), 50)
    >>> round(iterated_least_squares(zero, one).kappas[0], 6)
    2.0
    """
    difference = mean_difference(zero, one)
    typical = math.sqrt(average_variance(zero, one)) / float(np.linalg.norm(difference))
    spreads, total, n_iter = (1.0, 1.0), math.inf, 0
    while n_iter < max_iter:
        n_iter += 1
        # √s ≤ s/2β + β/2: each root of Eq. (3.7) by a square that touches it.
        matrix = zero.cov / spreads[0] + one.cov / spreads[1]
        # δ of the published iteration, on every square
        matrix[np.diag_indices_from(matrix)] += delta
        try:
            w = np.asarray(np.linalg.solve(matrix, difference), dtype=np.float64)
        except np.linalg.LinAlgError:
            raise ValueError(
                f"A least-squares problem is singular with delta={delta:g}: give a larger one."
            ) from None
        w /= float(w @ difference)  # w·(mean₁ - mean₀) = 1
        found = (float(w @ m.cov @ w) for m in (zero, one))
        first, second = (max(math.sqrt(max(v, 0.0)), 1e-8 * typical) for v in found)
        spreads, before, total = (first, second), total, first + second
        if abs(before - total) <= tol * total:
            break
    kappa = 1.0 / total  # Eq. (3.7)
    threshold = float(w @ zero.mean) + kappa * spreads[0]  # Eq. (3.8), from the other side
    return Hyperplane(w, threshold, (kappa, kappa), math.nan, n_iter)


class MinimaxProbabilityMachine(GuaranteedClassifier):
    """Classify by the hyperplane whose worst-case accuracy is the best that moments allow.

    Only the mean and covariance of each class are used. Whatever the distributions with these
    moments are, no class is predicted wrongly more often than `worst_case_error_`; two
    distributions attain it.

    Parameters
    ----------
    kernel : {"linear", "poly", "rbf", "sigmoid", "laplacian", "cosine", "precomputed"}, \
            callable or None, default=None
        Space of the hyperplane; None for the features themselves.
    alpha : float, default=1e-6
        Added to the diagonals of both covariances, as a share of their average variance. With
        fewer rows than features it decides the direction: choose it by cross-validation.
    nu_mean : float, default=0.0
        The means may be wrong by this many standard deviations in any direction (the ν of
        Section 3.2.2). It lowers the guarantee and leaves the hyperplane as it is.
    rho_cov : float, default=0.0
        The covariances may be wrong by this much in Frobenius norm (ρ): added to both diagonals.
    direction : {"minimax", "fisher"}, default="minimax"
        "fisher" takes the direction of the linear discriminant, for comparison, and the
        threshold and guarantee of a minimax machine.
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
    kappa_ : float
        Distance of each class's mean from the hyperplane in its standard deviations.
    worst_case_error_ : float
        1 / (1 + (κ - ν)²): the largest error of either class that the moments allow.
    worst_case_accuracy_ : ndarray of shape (2,)
        One minus that, for each class.
    alpha_ : float
        What was added to the diagonals of both covariances.
    duality_gap_ : float
        No hyperplane has a `kappa_` larger by more than this.
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
    HighProbabilityMPM : The same with moments that come from a sample and may be wrong.
    BiasedMPM : The best guarantee for one class, given one for the other.

    Notes
    -----
    The guarantee is about distributions with exactly these moments. With few rows the moments
    are wrong and `worst_case_error_` is far too small: use `HighProbabilityMPM`. Do not use it
    with classes of very different size when overall accuracy counts: both classes weigh the
    same (see `MinimumErrorMPM`). With normal classes of the same covariance
    `sklearn.discriminant_analysis.LinearDiscriminantAnalysis` is the better choice.

    References
    ----------
    .. [1] G. R. G. Lanckriet, L. El Ghaoui, C. Bhattacharyya and M. I. Jordan (2003). "A robust
       minimax approach to classification". Journal of Machine Learning Research 3.
    .. [2] S. Cousins and J. Shawe-Taylor (2017). "High-probability minimax probability
       machines". Machine Learning 106.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import StandardScaler
    >>> from octavo.svm import MinimaxProbabilityMachine
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = MinimaxProbabilityMachine().fit(StandardScaler().fit_transform(X), y)
    >>> round(model.worst_case_error_, 3)
    0.225
    """

    _parameter_constraints: dict[str, Any] = {
        **KERNEL_CONSTRAINTS,
        "alpha": [Interval(Real, 0, None, closed="left")],
        "nu_mean": [Interval(Real, 0, None, closed="left")],
        "rho_cov": [Interval(Real, 0, None, closed="left")],
        "direction": [StrOptions({"minimax", "fisher"})],
    }

    def __init__(
        self,
        kernel: Any = None,
        alpha: float = 1e-6,
        nu_mean: float = 0.0,
        rho_cov: float = 0.0,
        *,
        direction: str = "minimax",
        gamma: float | str | None = None,
        degree: float = 3,
        coef0: float = 0.0,
        kernel_params: dict[str, Any] | None = None,
        n_components: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.alpha = alpha
        self.nu_mean = nu_mean
        self.rho_cov = rho_cov
        self.direction = direction
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.n_components = n_components
        self.random_state = random_state

    def _find_hyperplane(self, zero: ClassMoments, one: ClassMoments) -> Hyperplane:
        alpha = self.alpha_ = self._ridge(average_variance(zero, one)) + self.rho_cov
        solver = minimax_hyperplane if self.direction == "minimax" else fisher_hyperplane
        plane = solver(zero, one, alpha)
        self.kappa_ = plane.kappas[0]
        self._store_kappas(plane, self.nu_mean)
        self.worst_case_error_ = float(worst_case_error(self.kappa_ - self.nu_mean))  # Eq. (3.10)
        if self.direction == "minimax":
            self._warn_gap(plane, 1e-6)
        return plane
