"""When can a subspace be recovered among outliers? Conditions that can be checked, and bounds.

Reference: Zhang and Lerman (2014), "A novel M-estimator for robust PCA", JMLR 15:749-808,
Sections 2.3 to 2.6.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, check_random_state

from octavo.decomposition.gms.solver import GMSPrecision, gms_precision
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, validate_params

__all__ = [
    "RecoveryConditions",
    "UniquenessCheck",
    "required_inlier_ratio",
    "required_sample_size",
    "subspace_recovery_conditions",
    "uniqueness_check",
]


FULL_RANK = 1e-6  # smallest eigenvalue over the largest below which Q̂₀ is singular


class RecoveryConditions(NamedTuple):
    """The two sides of each condition, and what follows.

    ``left``: the common left-hand side, min Σ‖Qx‖ over the inliers. ``right_6``: an upper bound
    on the right-hand side of (6), found by descent, so that (6) holds where ``left`` is larger.
    ``right_7_low`` and ``right_7_high``: bounds on that of (7), which is a maximum that cannot be
    computed in general. ``right_10``, ``right_11``: the weaker conditions, exact. ``rank``: that of
    the minimiser over the outliers' part off the subspace, which (9) wants to be D - d.
    ``holds_6``, ``holds_7``, ``holds_9``, ``holds_10``, ``holds_11``: True, False, or None where
    the bounds leave it open. ``necessary_12``: whether the necessary condition (12) is met.
    ``exact_recovery``: True where (9), (10) and (11), or (6), (7) and (9), guarantee that the
    kernel of Q is the subspace; None where nothing is guaranteed.
    """

    left: float
    right_6: float
    right_7_low: float
    right_7_high: float
    right_10: float
    right_11: float
    rank: int
    holds_6: bool | None
    holds_7: bool | None
    holds_9: bool
    holds_10: bool
    holds_11: bool
    necessary_12: bool
    exact_recovery: bool | None


class UniquenessCheck(NamedTuple):
    """Whether two hyperplanes that hold all rows were found.

    ``violated``: True when they were, and condition (14) fails; False says only that none were
    found. ``normals`` of shape (2, n_features), their normals, or None; ``n_trials``.
    """

    violated: bool
    normals: Floats | None
    n_trials: int


def _solution(rows: Floats) -> GMSPrecision:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        return gms_precision(rows)


def _least_absolute(rows: Floats, rng: np.random.RandomState, n_starts: int) -> float:
    """Return a small Σ|vᵀx| over unit v: an upper bound on the smallest."""
    size = rows.shape[1]
    scale = np.linalg.norm(rows, axis=1).max()
    best = np.inf
    scatter_start = np.linalg.eigh(rows.T @ rows)[1][:, 0]
    for start in [scatter_start, *rng.standard_normal((n_starts, size))]:
        v = start / np.linalg.norm(start)
        value = np.abs(rows @ v).sum()
        for _ in range(100):  # min Σ|vᵀx| is not convex: reweighted least squares goes down
            w = 1.0 / np.maximum(np.abs(rows @ v), 1e-10 * scale)
            v = np.linalg.eigh((rows.T * w) @ rows)[1][:, 0]
            previous, value = value, np.abs(rows @ v).sum()
            best = min(best, value)
            if previous - value <= 1e-10 * previous:
                break
    return float(best)


def _largest_absolute(rows: Floats, rng: np.random.RandomState, n_starts: int) -> float:
    """Return a large Σ|vᵀx| over unit v: a lower bound on the largest.

    The maximum is that of ‖Σ sᵢxᵢ‖ over signs; taking v along that sum never lowers it.
    """
    best = 0.0
    top = np.linalg.eigh(rows.T @ rows)[1][:, -1]
    for start in [top, rows.sum(axis=0), *rng.standard_normal((n_starts, rows.shape[1]))]:
        v, value = start, -1.0
        while True:
            total = np.where(rows @ v >= 0.0, 1.0, -1.0) @ rows
            reached = float(np.linalg.norm(total))
            if reached <= value * (1.0 + 1e-12):
                break
            v, value = total, reached
        best = max(best, value)
    return best


def _split_rows(X, inlier_mask, basis):
    X = check_array(X, dtype=np.float64, ensure_min_samples=2, ensure_min_features=2)
    basis = check_array(basis, dtype=np.float64)
    mask = np.asarray(inlier_mask)
    n_samples, n_features = X.shape
    if mask.shape != (n_samples,) or mask.dtype != bool:
        raise ValueError(
            f"inlier_mask must be {n_samples} booleans, one per row; got shape {mask.shape} of "
            f"{mask.dtype}."
        )
    if basis.shape[0] != n_features or basis.shape[1] >= n_features:
        raise ValueError(
            f"basis must have {n_features} rows, one per feature, and fewer columns; got shape "
            f"{basis.shape}."
        )
    inside = np.linalg.qr(basis)[0]
    inliers, outliers = X[mask], X[~mask]
    off = np.linalg.norm(inliers - (inliers @ inside) @ inside.T, axis=1)
    if len(inliers) == 0 or len(outliers) == 0:
        raise ValueError(
            f"Both kinds of rows are needed; got {len(inliers)} inliers and {len(outliers)} "
            "outliers."
        )
    if (off > 1e-8 * np.linalg.norm(inliers, axis=1).max()).any():
        raise ValueError(
            f"The conditions are for inliers on the subspace; one is {off.max():.3g} off it. "
            "Project them first."
        )
    outside = np.linalg.svd(inside)[0][:, inside.shape[1] :]
    return inliers @ inside, outliers @ inside, outliers @ outside


def _left_side(inliers: Floats) -> float:
    """Return the smallest Σ‖Qx‖ within the subspace: zero where the inliers do not fill it."""
    filled = np.linalg.matrix_rank(inliers) == inliers.shape[1]
    return _solution(inliers).objective if filled else 0.0


@checked
@validate_params(
    {
        "X": ["array-like"],
        "inlier_mask": ["array-like"],
        "basis": ["array-like"],
        "n_starts": [Interval(Integral, 0, None, closed="left")],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def subspace_recovery_conditions(X, inlier_mask, basis, *, n_starts=20, random_state=None):
    """Check what guarantees that the subspace of the inliers is recovered exactly.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows.
    inlier_mask : array-like of shape (n_samples,)
        True for the rows that lie on the subspace.
    basis : array-like of shape (n_features, d)
        Columns that span the subspace.
    n_starts : int, default=20
        Random starts of the searches behind the bounds for (6) and (7).
    random_state : int, RandomState instance or None, default=None
        Of those starts.

    Returns
    -------
    RecoveryConditions
        A named tuple: the sides of conditions (6), (7), (9), (10) and (11), which of them hold,
        and `exact_recovery`.

    References
    ----------
    .. [1] Zhang and Lerman (2014). A novel M-estimator for robust PCA. JMLR 15:749-808.

    Examples
    --------
    >>> from octavo.decomposition import make_outlier_subspace, subspace_recovery_conditions
    >>> sample = make_outlier_subspace(100, 40, 8, 2, outliers="haystack", random_state=0)
    >>> told = subspace_recovery_conditions(*sample, random_state=0)
    >>> told.holds_9, told.exact_recovery
    (True, True)
    """
    inliers, along, off = _split_rows(X, inlier_mask, basis)
    rng = check_random_state(random_state)
    root = np.sqrt(2.0)
    left = _left_side(inliers)
    rank, right_10, right_11 = _oracle(along, off)
    spans = np.linalg.matrix_rank(off) == off.shape[1]
    # the right side of condition (6), from above
    right_6 = root * _least_absolute(off, rng, n_starts) if spans else 0.0
    low = root * _largest_absolute(along, rng, n_starts)  # of condition (7), from below
    # Σ|vᵀx| ≤ √N ‖Xv‖, and is at most the sum of the norms.
    high = root * min(
        np.sqrt(len(along)) * np.linalg.norm(along, 2), np.linalg.norm(along, axis=1).sum()
    )
    full = rank == off.shape[1]  # condition (9)
    holds_6 = True if left > right_6 else None
    holds_7 = True if left > high else (False if left <= low else None)
    holds_10, holds_11 = left > right_10, left > right_11
    # Theorem 1, or its weaker conditions (10) and (11)
    guaranteed = full and ((holds_10 or holds_6 is True) and (holds_11 or holds_7 is True))
    return RecoveryConditions(
        left,
        float(right_6),
        float(low),
        float(high),
        right_10,
        right_11,
        rank,
        holds_6,
        holds_7,
        full,
        holds_10,
        holds_11,
        # condition (12): (10) without √2, summed over the outliers, where print has X₁
        left >= right_10 / root,
        True if guaranteed else None,
    )


def _oracle(along: Floats, off: Floats) -> tuple[int, float, float]:
    """Return the rank of the minimiser of Eq. (8), and the right sides of (10) and (11)."""
    spread = int(np.linalg.matrix_rank(off))
    if spread < off.shape[1]:
        return spread, np.inf, np.inf
    Q = _solution(off).precision
    values = np.linalg.eigvalsh(Q)
    rank = int((values > FULL_RANK * values[-1]).sum())
    if rank < off.shape[1]:
        return rank, np.inf, np.inf
    R = off @ Q
    unit = R / np.linalg.norm(R, axis=1, keepdims=True)
    root = np.sqrt(2.0)
    return (
        rank,
        float(root * np.linalg.norm(unit.T @ off, 2)),  # Eq. (10)
        float(root * np.linalg.norm(unit.T @ along, 2)),  # Eq. (11)
    )


@checked
@validate_params(
    {
        "X": ["array-like"],
        "n_trials": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def uniqueness_check(X, *, n_trials=200, random_state=None):
    """Look for two hyperplanes that together hold all rows, against condition (14).

    Where there are none, the solution of the convex problem is unique. The search is random:
    what it finds proves a violation, finding nothing proves nothing.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows.
    n_trials : int, default=200
        How many hyperplanes through random rows are tried.
    random_state : int, RandomState instance or None, default=None
        Of the rows.

    Returns
    -------
    UniquenessCheck
        A named tuple: `violated`, `normals` and `n_trials`.

    References
    ----------
    .. [1] Zhang and Lerman (2014). A novel M-estimator for robust PCA. JMLR 15:749-808.

    Examples
    --------
    Rows on two lines of the plane:

    >>> from octavo.decomposition import uniqueness_check
    >>> uniqueness_check([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0]], random_state=0).violated
    True
    """
    X = check_array(X, dtype=np.float64, ensure_min_features=2)
    rng = check_random_state(random_state)
    norms = np.linalg.norm(X, axis=1)
    rows = X[norms > 0.0] / norms[norms > 0.0, None]
    n_features = X.shape[1]
    for trial in range(1, n_trials + 1):
        chosen = rng.permutation(len(rows))[: n_features - 1]
        first = _normal(rows[chosen])  # condition (14): a first hyperplane through D − 1 rows
        left_out = rows[np.abs(rows @ first) > 1e-9]
        if np.linalg.matrix_rank(left_out, tol=1e-9) < n_features:
            return UniquenessCheck(True, np.vstack([first, _normal(left_out)]), trial)
    return UniquenessCheck(False, None, n_trials)


def _normal(rows: Floats) -> Floats:
    """Return a unit vector that is orthogonal to all rows, which must not span the space."""
    if len(rows) == 0:
        return np.eye(rows.shape[1])[0]
    return np.linalg.svd(rows)[2][-1]


@checked
@validate_params(
    {
        "d": [Interval(Integral, 1, None, closed="left")],
        "D": [Interval(Integral, 2, None, closed="left")],
        "sigma_ratio": [Interval(Real, 0, None, closed="neither")],
        "bound": [StrOptions({"gms", "finite-sample", "outlier-pursuit", "tyler", "hr-pca"})],
    },
    prefer_skip_nested_validation=True,
)
def required_inlier_ratio(d, D, sigma_ratio=1.0, *, bound="gms"):
    """Return how many inliers per outlier guarantee exact recovery, for many rows (Table 1).

    Inliers are N(0, σ₁² P / d) on the subspace, outliers N(0, σ₀² I / D).

    Parameters
    ----------
    d : int
        Dimension of the subspace.
    D : int
        Dimension of the space.
    sigma_ratio : float, default=1.0
        σ₀ / σ₁, the scale of the outliers over that of the inliers. Scaling rows to norm one
        makes it one.
    bound : {"gms", "finite-sample", "outlier-pursuit", "tyler", "hr-pca"}, default="gms"
        "gms": Eq. (15). "finite-sample": the bound of Theorem 5, for at least
        `required_sample_size` rows; Eq. (17) is printed upside down, and here is what its proof
        gives. The others are those of Table 1 for other methods.

    Returns
    -------
    float
        The smallest ratio of the number of inliers to that of outliers.

    References
    ----------
    .. [1] Zhang and Lerman (2014). A novel M-estimator for robust PCA. JMLR 15:749-808.

    Examples
    --------
    >>> from octavo.decomposition import required_inlier_ratio
    >>> round(required_inlier_ratio(10, 100), 3)
    0.422
    """
    if d >= D:
        raise ValueError(f"d must be below D={D}, got d={d}.")
    if bound == "gms":
        return float(4.0 * sigma_ratio * d / np.sqrt((D - d) * D))  # Eq. (15)
    if bound == "finite-sample":
        mean, slack = np.sqrt(2.0 / np.pi), 1.0 / 4.0 + 1.0 / 10.0
        constant = np.sqrt(2.0) * (mean + slack) / (mean - slack)  # Eqs. (73) to (75)
        return float(constant * sigma_ratio * d / np.sqrt(D))
    if bound == "outlier-pursuit":
        return 121.0 * d / 9.0
    return float(d / (D - d)) if bound == "tyler" else float(sigma_ratio)


@checked
@validate_params(
    {
        "d": [Interval(Integral, 1, None, closed="left")],
        "D": [Interval(Integral, 2, None, closed="left")],
        "inlier_share": [Interval(Real, 0, 1, closed="neither")],
    },
    prefer_skip_nested_validation=True,
)
def required_sample_size(d, D, inlier_share):
    """Return how many rows Theorem 5 asks for, Eq. (18).

    Parameters
    ----------
    d : int
        Dimension of the subspace.
    D : int
        Dimension of the space.
    inlier_share : float
        Share α₁ of the rows that are inliers.

    Returns
    -------
    int
        The smallest number of rows above the bound.

    References
    ----------
    .. [1] Zhang and Lerman (2014). A novel M-estimator for robust PCA. JMLR 15:749-808.

    Examples
    --------
    >>> from octavo.decomposition import required_sample_size
    >>> required_sample_size(2, 10, 0.5)
    2049
    """
    if d >= D:
        raise ValueError(f"d must be below D={D}, got d={d}.")
    outlier_share = 1.0 - inlier_share
    most = max(2 * d / inlier_share, 2 * d / outlier_share, 2 * (D - d) / outlier_share)  # Eq. (18)
    return int(np.floor(64.0 * most)) + 1
