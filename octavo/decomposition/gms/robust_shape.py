"""Robust scatter matrices: Tyler's shape and the M-estimators of Maronna.

Both are fixed points of a weighted scatter matrix: rows far out, in the metric of the estimate
itself, count less. Tyler's estimator looks at directions only and has no tuning constant.

References: Tyler (1987), "A distribution-free M-estimator of multivariate scatter", Annals of
Statistics 15:234-251; Maronna (1976), "Robust M-estimators of multivariate location and
scatter", Annals of Statistics 4:51-67; Kent and Tyler (1991), "Redescending M-estimates of
multivariate location and scatter", Annals of Statistics 19:2102-2119. In Zhang and Lerman (2014),
"A novel M-estimator for robust PCA", JMLR 15:749-808, these are Eqs. (29) and (28).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array

from octavo.decomposition.gms.solver import drop_zero_rows
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, validate_params
from octavo.engine.estimators.sparse_rows import canonical_csr
from octavo.engine.linalg.weighted_scatter import (
    advance,
    off_identity,
    row_norms,
    scatter_factor,
    span,
    upper_factor,
    whitened_scatter,
)
from octavo.engine.smooth.anderson import AndersonMixing

__all__ = ["RobustShape", "maronna_scatter", "tyler_shape"]


MIXED = 0.5  # the residual below which steps are mixed
SINGULAR = 1e-7  # of the factor: the scatter has lost all digits in some direction


class RobustShape(NamedTuple):
    """A scatter matrix and how well its equation holds.

    ``scatter`` of shape (n_features, n_features); ``distances`` xᵢᵀΣ⁻¹xᵢ of the rows; ``residual``,
    by how much the weighted scatter of the whitened rows differs from the identity; ``n_iter``;
    whether it ``converged``; and whether it is ``singular``: so many rows lie on a subspace that
    the fixed point has no variance outside it.
    """

    scatter: Floats
    distances: Floats
    residual: float
    n_iter: int
    converged: bool
    singular: bool


def _fixed_point(
    X: Any,
    weight: Callable[[Floats], Floats],
    level: float,
    scaled: bool,
    tol: float,
    max_iter: int,
) -> RobustShape:
    """Iterate Σ ← Σᵢ w(xᵢᵀΣ⁻¹xᵢ) xᵢxᵢᵀ / level, with Σ⁻¹ = ZZᵀ."""
    n_features = X.shape[1]
    Z = np.asfortranarray(np.eye(n_features) / np.sqrt(np.mean(row_norms(X) ** 2) / n_features))
    residual, converged, singular, n_iter = np.inf, False, False, 0
    mixing = AndersonMixing()
    plain: Floats | None = None  # where the last step led, if a mixture was taken instead
    while n_iter < max_iter:
        # B = Σ w ZᵀxxᵀZ is level times I at the fixed point
        B, t = whitened_scatter(X, Z, weight, squared=True)
        before, residual = residual, off_identity(B, level)
        if plain is not None and not residual < before:
            Z, plain = plain, None
            mixing.forget()
            continue
        n_iter += 1
        converged = residual <= tol
        diagonal = np.abs(np.diagonal(Z))
        singular = not converged and bool(diagonal.min() < SINGULAR * diagonal.max())
        if converged or singular:
            break
        U = upper_factor(B)
        U = scatter_factor(X, Z, weight(t)) if U is None else U
        after, plain = advance(Z, np.asfortranarray(U / np.sqrt(level)), unit_trace=scaled), None
        if residual < MIXED:
            mixed = mixing(Z, after)
            if (np.diagonal(mixed) > 0.0).all():
                after, plain = mixed, after
        Z = after
    else:
        Z = Z if plain is None else plain  # the last mixture was not looked at
    root = solve_triangular(Z, np.eye(n_features))
    return RobustShape(root.T @ root, t, residual, n_iter, converged, singular)  # Σ = Z⁻ᵀZ⁻¹


def _rows(X: Any, what: str) -> Any:
    """Return the rows that count, and say why there is no answer where there is none."""
    X = canonical_csr(
        check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_min_samples=2)
    )
    rows, _ = drop_zero_rows(X, row_norms(X))
    n_samples, n_features = rows.shape
    if n_samples <= n_features:
        raise ValueError(
            f"{what} needs more rows than features, so that every subspace can hold less than its "
            f"share; got {n_samples} rows that are not zero and {n_features} features."
        )
    basis = span(rows)
    if basis is not None:
        raise ValueError(
            f"{what} needs rows that span all {n_features} features; they span a subspace of "
            f"dimension {basis.shape[1]}. Project onto it first (e.g. with "
            "sklearn.decomposition.PCA)."
        )
    return rows


def _told(found: RobustShape, tol: float) -> RobustShape:
    if found.singular:
        warnings.warn(
            "Too many rows lie on a subspace for a regular scatter matrix to exist: the one "
            f"returned is singular up to rounding after {found.n_iter} iterations, and its top "
            "eigenvectors span that subspace.",
            ConvergenceWarning,
            stacklevel=4,
        )
    elif not found.converged:
        warnings.warn(
            f"Not converged after {found.n_iter} iterations: the fixed-point equation is off by "
            f"{found.residual:.3g} instead of {tol:.3g}.",
            ConvergenceWarning,
            stacklevel=4,
        )
    return found


@checked
@validate_params(
    {
        "X": ["array-like", "sparse matrix"],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    },
    prefer_skip_nested_validation=True,
)
def tyler_shape(X, *, tol=1e-10, max_iter=1000):
    """Return Tyler's shape matrix: Σ = (D/N) Σᵢ xᵢxᵢᵀ / (xᵢᵀΣ⁻¹xᵢ), of trace one.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows, centred; more of them than features. Only their directions matter.
    tol : float, default=1e-10
        Stop when the equation holds to this, relatively.
    max_iter : int, default=1000
        The largest number of iterations.

    Returns
    -------
    RobustShape
        A named tuple: `scatter`, `distances`, `residual`, `n_iter`, `converged` and `singular`.

    Notes
    -----
    Not for data with fewer rows than features; a shrunk covariance such as
    `sklearn.covariance.LedoitWolf` is defined there. Where more than a share d / D of the rows
    lie on a subspace of dimension d, the solution is singular and recovers that subspace: the
    subspace is found, the scatter outside of it is not.

    References
    ----------
    .. [1] Tyler (1987). A distribution-free M-estimator of multivariate scatter. Annals of
       Statistics 15:234-251.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.decomposition import tyler_shape
    >>> X = np.random.default_rng(0).standard_t(1.0, (4000, 2)) * [2.0, 1.0]
    >>> np.diag(tyler_shape(X).scatter).round(1)
    array([0.8, 0.2])
    """
    rows = _rows(X, "Tyler's estimator")
    level = rows.shape[0] / rows.shape[1]
    # Eq. (29); the whitened rows weighed by 1/t then sum to (N/D) I.
    found = _fixed_point(rows, lambda t: 1.0 / t, level, True, tol, max_iter)
    trace = np.trace(found.scatter)
    found = found._replace(scatter=found.scatter / trace, distances=found.distances * trace)
    return _told(found, tol)


def _weight_function(weight: Any, n_features: int, df: float, power: float):
    if callable(weight):
        return weight
    if weight == "student":
        return lambda t: (df + n_features) / (df + t)
    if weight == "power":
        return lambda t: np.minimum(np.maximum(t, 1e-300) ** -power, 1e30)
    # 2 ln(1 + t) / t, which is ln(t) / t for large t, and positive and decreasing throughout.
    return lambda t: 2.0 * np.log1p(t) / np.maximum(t, 1e-300)


@checked
@validate_params(
    {
        "X": ["array-like", "sparse matrix"],
        "weight": [StrOptions({"log", "power", "student"}), callable],
        "df": [Interval(Real, 0, None, closed="neither")],
        "power": [Interval(Real, 0, 1, closed="neither")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    },
    prefer_skip_nested_validation=True,
)
def maronna_scatter(X, *, weight="log", df=3.0, power=0.9, tol=1e-10, max_iter=1000):
    """Return an M-estimator of scatter: Σ = (1/N) Σᵢ u(xᵢᵀΣ⁻¹xᵢ) xᵢxᵢᵀ.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows, centred; more of them than features.
    weight : {"log", "power", "student"} or callable, default="log"
        The function u. "log": 2 ln(1 + t) / t. "power": t to the power of -`power`.
        "student": (ν + D) / (ν + t), the maximum likelihood of a t distribution with ν = `df`.
        A callable must be positive, with u(t) decreasing and t u(t) increasing.
    df : float, default=3.0
        Degrees of freedom ν of "student".
    power : float, default=0.9
        The exponent of "power", below one.
    tol : float, default=1e-10
        Stop when the equation holds to this, relatively.
    max_iter : int, default=1000
        The largest number of iterations.

    Returns
    -------
    RobustShape
        A named tuple: `scatter`, `distances`, `residual`, `n_iter`, `converged` and `singular`.

    Notes
    -----
    Such an estimator is regular where it exists, and so cannot recover a subspace exactly
    (Theorem 9 of Zhang and Lerman 2014). It is for elliptical data with heavy tails.

    References
    ----------
    .. [1] Maronna (1976). Robust M-estimators of multivariate location and scatter. Annals of
       Statistics 4:51-67.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.decomposition import maronna_scatter
    >>> X = np.random.default_rng(0).standard_normal((2000, 2)) * [2.0, 1.0]
    >>> found = maronna_scatter(X, weight="student")
    >>> found.converged, round(float(found.scatter[0, 0] / found.scatter[1, 1]))
    (True, 4)
    """
    rows = _rows(X, "an M-estimator of scatter")
    u = _weight_function(weight, rows.shape[1], df, power)
    return _told(_fixed_point(rows, u, float(rows.shape[0]), False, tol, max_iter), tol)
