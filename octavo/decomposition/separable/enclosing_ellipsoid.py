"""The ellipsoid of least volume around points: which of them span the cloud, with a certificate.

Origin-centred (around the points and their mirror images; the D-optimal design problem) or with a
free centre, by lifting each point x to (1, x).

Reference: Mizutani (2014), "Ellipsoidal rounding for nonnegative matrix factorization under noisy
separability", JMLR 15:1011-1039, sections 3 and 5.1; the solvers are in
`octavo.engine.linalg.ellipsoid`.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_array

from octavo.decomposition.separable.anchor_factorization import refuse_extremes
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.doubles import reachable_tolerance
from octavo.engine.linalg.ellipsoid import LEAST_GAP, SOLVERS, Stop, enclosing_ellipsoid

__all__ = ["EllipsoidResult", "min_volume_ellipsoid"]


class EllipsoidResult(NamedTuple):
    """The ellipsoid {x: (x - center)ᵀ L (x - center) ≤ 1} that `min_volume_ellipsoid` found.

    `weights` solve the dual problem: a D-optimal design. `contact` holds the left-hand side for
    each point, at most 1; `active` the indices of the points of contact, those with weight whose
    contact is 1 but for the tolerance. `gap` bounds how far -log det L is above its minimum, and
    `n_iter` counts the steps.
    """

    L: Floats
    center: Floats
    weights: Floats
    active: NDArray[np.intp]
    gap: float
    contact: Floats
    n_iter: int


@checked
def min_volume_ellipsoid(
    points: ArrayLike,
    *,
    centered: bool = True,
    tol: float = 1e-7,
    method: str = "cutting-plane",
    max_iter: int = 100_000,
    active_tol: float = 1e-6,
) -> EllipsoidResult:
    """Find the ellipsoid of least volume that contains every point.

    Parameters
    ----------
    points : array-like of shape (n_points, n_dimensions)
        They must span the space (with a free centre: not lie in a hyperplane).
    centered : bool, default=True
        Centre the ellipsoid at the origin: it is then the smallest around the points and their
        mirror images. False leaves the centre free.
    tol : float, default=1e-7
        Duality gap at which to stop: -log det L is at most that far above its minimum. At
        least 1e-12, which is what rounding leaves.
    method : {"fw", "cutting-plane", "cvxpy"}, default="cutting-plane"
        "fw" is Frank-Wolfe with away steps on all points, discarding those that cannot touch
        the ellipsoid; "cutting-plane" runs it on a few points at a time and is the fastest;
        "cvxpy" hands the problem to cvxpy as it stands, for reference.
    max_iter : int, default=100_000
        Most steps to take.
    active_tol : float, default=1e-6
        A point with weight touches the ellipsoid if its contact is at least 1 less this.

    Returns
    -------
    EllipsoidResult
        L, center, weights, active, gap, contact and n_iter. Every point is inside the ellipsoid
        returned, also where `tol` was not reached, which a `ConvergenceWarning` tells.

    Notes
    -----
    A few outliers determine the ellipsoid: it is no estimate of scatter. For that, use
    `sklearn.covariance.MinCovDet`.

    References
    ----------
    .. [1] Todd and Yıldırım (2007). On Khachiyan's algorithm for the computation of minimum-volume
       enclosing ellipsoids. Discrete Applied Mathematics 155:1731-1744.
    .. [2] Harman and Pronzato (2007). Improvements on removing nonoptimal support points in
       D-optimum design algorithms. Statistics & Probability Letters 77:90-94.
    .. [3] Mizutani (2014). Ellipsoidal rounding for nonnegative matrix factorization under noisy
       separability. JMLR 15:1011-1039.

    Examples
    --------
    The smallest circle around a square has half the area of its side squared times pi:

    >>> from octavo.decomposition import min_volume_ellipsoid
    >>> square = [[0, 0], [0, 2], [2, 0], [2, 2]]
    >>> found = min_volume_ellipsoid(square, centered=False)
    >>> found.center.round(6).tolist(), round(float(found.L[0, 0]), 6)
    ([1.0, 1.0], 0.5)
    """
    if method not in SOLVERS:
        raise ValueError(f"method must be one of {sorted(SOLVERS)}, got {method!r}.")
    for name, value in (("tol", tol), ("active_tol", active_tol), ("max_iter", max_iter)):
        if not value > 0:
            raise ValueError(f"{name} must be greater than 0, got {value!r}.")
    x = check_array(points, dtype=np.float64, input_name="points")
    refuse_extremes(x)
    d = x.shape[1]
    if centered:
        found = enclosing_ellipsoid(x, Stop.at_gap(tol, d, max_iter), method=method)
        shape, center, contact, gap = found.shape, np.zeros(d), found.contact, found.gap
    else:
        shape, center, contact, gap, found = _free_centre(x, tol, max_iter, method)
    if gap > tol or not found.converged:
        warnings.warn(
            f"The duality gap of the ellipsoid is {gap:.3g} after {found.n_iter} steps, above "
            f"tol={tol:.3g}. Raise max_iter, or tol.",
            ConvergenceWarning,
            stacklevel=2,
        )
    # active: δ = 1 of condition (6); those with weight are the reliable side
    active = np.flatnonzero((found.weights > 0) & (contact >= 1.0 - active_tol))
    return EllipsoidResult(shape, center, found.weights, active, gap, contact, found.n_iter)


def _free_centre(x, tol, max_iter, method):
    """Lift x to (1, x): the section at height 1 of the centred ellipsoid is the one sought.

    With u the weights of the lifted points, the centre is Σ u x, the shape the inverse of their
    covariance, and (x - c)ᵀ Cov⁻¹ (x - c) = w - 1 for the lifted w: the gap is
    d log((max w - 1) / d).
    """
    d = x.shape[1]
    origin = x.mean(axis=0)  # near the points, so that the lifted ones are well conditioned
    spread = np.abs(x - origin).max()
    scaled = (x - origin) / (spread if spread > 0 else 1.0)
    try:
        lifted = np.column_stack([np.ones(len(x)), scaled])
        tol = reachable_tolerance(tol, floor=LEAST_GAP)
        # max w = (d + 1)(1 + ε): the ε at which the gap above is tol
        stop = Stop(d * float(np.expm1(tol / d)) / (d + 1), tol, max_iter)
        found = enclosing_ellipsoid(lifted, stop, method=method)
    except ValueError as error:
        raise ValueError(
            f"With a free centre the points must not lie in a hyperplane, counting a column of "
            f"ones: {error}"
        ) from None
    height = float((d + 1) * np.exp(found.gap / (d + 1)) - 1.0)  # max w - 1, d at the optimum
    # of the lifted Ω = Σ u (1, x)(1, x)ᵀ: its Schur complement is the spread around Σ u x
    centre = found.weights @ scaled
    residual = scaled[found.weights > 0] - centre
    moment = (residual * found.weights[found.weights > 0, None]).T @ residual
    shape = np.linalg.inv(moment) / height
    contact = (found.contact * (height + 1.0) - 1.0) / height
    gap = d * float(np.log(max(height / d, 1.0)))
    return shape / spread**2, origin + spread * centre, contact, gap, found
