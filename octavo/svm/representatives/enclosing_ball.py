"""The smallest ball around a set of points in kernel space (hard-margin data description).

Only points on the surface carry the ball. They are found by adding the points farthest outside
to a small working set and solving for its ball, until the ball of the working set holds all
points; kernel values of all pairs are never needed.

References: Tax and Duin (2004), "Support vector data description", Machine Learning 54:45-66;
Nandan, Khargonekar and Talathi (2014), "Fast SVM training using approximate extreme points",
JMLR 15:59-98, Section 4.3.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from octavo.engine.duals.simplex_qp import simplex_qp
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.estimators.sparse_rows import validate_rows
from octavo.engine.kernels.gram import Kernel, resolve_kernel, row_chunks
from octavo.svm.representatives.hull_selection import MAX_STEPS

__all__ = ["MinimumEnclosingBall"]

ADDED = 30  # points that join the working set in one round, at least; half as many as it has
SEEN, SHARE_SEEN = 2_000, 0.05  # rows that rounds look at between looks at all, at least
PART = 0.03  # of the gap that is left: how finely the ball of the working set is found
ROUNDING = 1e-12  # relative to the largest kernel value: differences below are not seen


class Ball(NamedTuple):
    """Convex `weights` on the rows `support` make the centre; `inner`² ≤ radius² ≤ `outer`²."""

    support: NDArray[np.intp]
    weights: NDArray[np.float64]
    centre_norm: float
    inner: float
    outer: float
    n_iter: int


def distances_to_centre(
    kernel: Kernel, X: Any, diagonal: Any, corners: Any, weights: Any, centre_norm: float
) -> NDArray[np.float64]:
    """Return ||φ(x) - Σ a_t φ(x_t)||² of every row, a chunk at a time."""
    far = np.empty(X.shape[0])
    for rows in row_chunks(X.shape[0], max(corners.shape[0], X.shape[1]), megabytes=16.0):
        # K_ii - 2(Ka)_i + a'Ka
        far[rows] = diagonal[rows] - 2.0 * (kernel.block(X[rows], corners) @ weights)
    return np.maximum(far + centre_norm, 0.0)


def ball_of_rows(
    kernel: Kernel, local: Any, weights: NDArray[np.float64], precision: float
) -> tuple[float, float, NDArray[np.bool_]]:
    """Find the ball of few rows, `weights` in place: its radius² from below, centre and holders."""
    gram = np.ascontiguousarray(kernel.block(local, local), dtype=np.float64)
    half, slope = 0.5 * gram.diagonal(), np.empty(len(weights))  # max Σ a K_ii - a'Ka, halved
    value, _, _ = simplex_qp(gram, half, weights, slope, precision, MAX_STEPS, np.inf, -np.inf)
    held = weights > 0
    return 2.0 * value, float(weights[held] @ gram[np.ix_(held, held)] @ weights[held]), held


def enclosing_ball(
    kernel: Kernel, X: Any, tol: float, max_iter: int, progress: FitProgress | None = None
) -> Ball:
    """Return the smallest ball around the rows of X, to a relative gap of tol in radius².

    Rounds look at the rows that were farthest when all were looked at last, and at all rows again
    when the ball holds those. Only looks at all rows bound the radius.
    """
    diagonal = np.asarray(kernel.diagonal(X), dtype=np.float64)
    far = distances_to_centre(kernel, X, diagonal, X[:1], np.ones(1), float(diagonal[0]))
    working, weights = np.zeros(1, dtype=np.intp), np.ones(1)
    best = Ball(working, weights, float(diagonal[0]), 0.0, float(far.max()), 0)
    n_iter, stopped = 0, False
    while n_iter < max_iter and not stopped:
        if best.outer - best.inner <= tol * best.outer + ROUNDING * diagonal.max():
            break
        seen = min(max(SEEN, SHARE_SEEN * len(far), 4 * len(working)), len(far))
        pool = np.argpartition(-far, int(seen) - 1)[: int(seen)]
        near, among = (X, diagonal) if seen == len(far) else (X[pool], diagonal[pool])
        pool_far = far if seen == len(far) else far[pool]
        pool = np.arange(len(far)) if seen == len(far) else pool
        while n_iter < max_iter and not stopped:
            n_iter += 1
            # The points farthest outside join those that hold the ball.
            n_new = min(max(ADDED, len(working) // 2), len(pool))
            outside = pool[np.argpartition(-pool_far, n_new - 1)[:n_new]]
            outside = np.setdiff1d(outside, working)
            working = np.concatenate([working, outside])
            weights = np.concatenate([weights, np.zeros(len(outside))])
            local = X[working]
            # No finer than a part of what the rows outside still ask for.
            precision = max(0.125 * tol * best.outer, PART * (pool_far.max() - best.inner))
            inner, centre, held = ball_of_rows(kernel, local, weights, precision)
            local, working, weights = local[held], working[held], weights[held]
            best = best._replace(inner=max(inner, best.inner), n_iter=n_iter)
            pool_far = distances_to_centre(kernel, near, among, local, weights, centre)
            stopped = progress is not None and progress.step()
            if seen == len(far) or pool_far.max() <= inner + 0.5 * tol * best.outer:
                break
        far = pool_far
        if seen < len(diagonal):
            far = distances_to_centre(kernel, X, diagonal, local, weights, centre)
        if far.max() < best.outer:
            # No point is farther than `outer`: a ball of that radius holds all.
            best = Ball(working, weights, centre, best.inner, float(far.max()), n_iter)
    return best


class MinimumEnclosingBall(CallbackSupportMixin, SoundEstimator):
    """Find the smallest ball that holds all rows in kernel space.

    Parameters
    ----------
    kernel : {"rbf", "poly", "linear"} or callable, default="rbf"
        The kernel; a callable takes two matrices and returns the block of kernel values. With
        "linear" this is the smallest ball in the space of the rows themselves.
    gamma : float or {"scale", "auto"}, default=1.0
        Coefficient of "rbf" and "poly".
    degree : float, default=3
        Degree of "poly".
    coef0 : float, default=1.0
        Offset of "poly".
    tol : float, default=1e-6
        Largest gap of radius², relative to radius².
    max_iter : int, default=1000
        Most rounds of adding points to the working set.

    Attributes
    ----------
    support_ : ndarray of shape (n_support,)
        Rows on the surface.
    dual_coef_ : ndarray of shape (n_support,)
        Their weights in the centre, positive with sum 1.
    support_vectors_ : {ndarray, CSR matrix} of shape (n_support, `n_features_in_`)
        The rows themselves.
    radius_ : float
        Radius of the ball around the centre that holds all rows.
    duality_gap_ : float
        How much smaller radius² might still be.
    n_iter_ : int
        Rounds taken.
    kernel_ : Kernel
        The kernel with its parameters settled.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit.

    See Also
    --------
    AEOneClassSVM : A ball that may leave some rows outside, from many rows.
    ApproximateExtremePoints : Uses these balls to choose where to start.

    Notes
    -----
    When not to use it: one wild row decides the ball. To describe data that may hold outliers
    use `sklearn.svm.OneClassSVM`.

    References
    ----------
    .. [1] Tax and Duin (2004). Support vector data description. Machine Learning 54:45-66.
    .. [2] Nandan, Khargonekar and Talathi (2014). Fast SVM training using approximate extreme
       points. JMLR 15:59-98.

    Examples
    --------
    >>> from octavo.svm import MinimumEnclosingBall
    >>> ball = MinimumEnclosingBall(kernel="linear").fit([[0.0, 0.0], [2.0, 0.0], [1.0, 0.5]])
    >>> round(ball.radius_, 6), ball.support_.tolist()
    (1.0, [0, 1])
    >>> ball.distance([[1.0, 3.0]]).round(6)
    array([3.])
    """

    _parameter_constraints: dict = {
        "kernel": [StrOptions({"rbf", "poly", "linear"}), callable],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0, None, closed="neither")],
        "degree": [Interval(Real, 0, None, closed="neither")],
        "coef0": [Interval(Real, 0, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(self, kernel="rbf", *, gamma=1.0, degree=3, coef0=1.0, tol=1e-6, max_iter=1000):
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.tol = tol
        self.max_iter = max_iter

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Find the ball.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : None
            Ignored.

        Returns
        -------
        self : MinimumEnclosingBall
            The fitted ball.
        """
        X = validate_rows(self, X, accept_sparse="csr", dtype=np.float64)
        self.kernel_ = resolve_kernel(
            self.kernel, X, gamma=self.gamma, degree=self.degree, coef0=self.coef0
        )
        with FitProgress(self, self.max_iter, X, step_name="round") as progress:
            ball = enclosing_ball(self.kernel_, X, self.tol, self.max_iter, progress)
            progress.step()
        self.support_, self.dual_coef_, self.n_iter_ = ball.support, ball.weights, ball.n_iter
        self.support_vectors_ = X[ball.support]
        self.radius_ = float(np.sqrt(ball.outer))
        self.duality_gap_ = max(ball.outer - ball.inner, 0.0)
        self._centre_norm = ball.centre_norm
        largest = float(np.max(self.kernel_.diagonal(self.support_vectors_)))
        if self.duality_gap_ > self.tol * ball.outer + ROUNDING * largest:
            warnings.warn(
                f"The ball was not found to tol={self.tol:g} in {self.n_iter_} rounds: radius² "
                f"{ball.outer:.6g} may be {self.duality_gap_:.3g} too large.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def distance(self, X):
        """Return the distance of each row to the centre, in kernel space.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        distance : ndarray of shape (n_samples,)
            Distances; above `radius_` outside the ball.
        """
        check_is_fitted(self)
        X = validate_rows(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        diagonal = np.asarray(self.kernel_.diagonal(X), dtype=np.float64)
        return np.sqrt(
            distances_to_centre(
                self.kernel_,
                X,
                diagonal,
                self.support_vectors_,
                self.dual_coef_,
                self._centre_norm,
            )
        )
