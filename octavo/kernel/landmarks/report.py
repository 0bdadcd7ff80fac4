"""How good a low-rank kernel approximation is: errors in three norms, lift, bounds.

Reference: thesis on kernel-based greedy algorithms (D. Oglic), Chapter 4: Theorem 4.8, the lift
of Section 4.5, and the bound (4.17) of Li, Jegelka and Sra (2016) for k-DPP landmarks.
"""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, eigsh
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, validate_params
from octavo.engine.kernels.gram import Kernel, resolve_kernel, row_chunks
from octavo.engine.kernels.namespaces import to_numpy
from octavo.engine.kernels.nystroem import nystroem_factor
from octavo.kernel.landmarks.feature_points import FeaturePoints
from octavo.kernel.landmarks.selection import SELECTION_CONSTRAINTS, Landmarks, check_rows
from octavo.kernel.landmarks.transformer import NystroemLandmarks

__all__ = ["NystroemReport", "kdpp_bound", "kmeanspp_bound", "nystroem_report"]


_HELD = 5000  # rows up to which the Gram matrix is held: 200 megabytes


class NystroemReport(NamedTuple):
    """Errors of a low-rank approximation of K in Schatten norms 1 (``trace``), 2, and ∞.

    ``trace``, ``frobenius``, ``spectral`` are the norms of what is missed; ``optimal_trace``,
    ``optimal_frobenius``, ``optimal_spectral`` those of the best approximation of the same rank
    (NaN unless asked for). ``uniform_frobenius`` is the mean error of uniformly drawn landmarks
    and ``lift`` how many times it is that of these. ``potential`` bounds ``trace`` from above.
    """

    trace: float
    frobenius: float
    spectral: float
    optimal_trace: float
    optimal_frobenius: float
    optimal_spectral: float
    uniform_frobenius: float
    lift: float
    potential: float


class GramRows:
    """The Gram matrix of rows: held if it is small or precomputed, else a slice at a time."""

    def __init__(self, X: Any, kernel: Kernel) -> None:
        self.X, self.kernel, self.n = X, kernel, X.shape[0]
        self.diagonal = np.asarray(kernel.diagonal(X), dtype=np.float64)
        self._held = X if kernel.name == "precomputed" else None
        if self._held is None and self.n <= _HELD:
            self._held = np.asarray(kernel.block(X, X), dtype=np.float64)

    def slices(self) -> Any:
        """Yield slices of rows whose block with all rows takes a few megabytes."""
        return row_chunks(self.n, self.n, megabytes=128.0)

    def rows(self, which: slice) -> np.ndarray:
        """Return a slice of rows of K."""
        if self._held is not None:
            return self._held[which]
        return self.kernel.block(self.X[which], self.X)

    def factor(self, points: Any, indices: np.ndarray | None) -> np.ndarray:
        """Return Ψ with ΨΨᵀ the Nyström approximation on landmarks."""
        if self.kernel.name == "precomputed":
            K_nZ = self.X[:, indices]
            return nystroem_factor(K_nZ, K_nZ[indices])
        return nystroem_factor(self.kernel.block(self.X, points), self.kernel.block(points, points))


def missed(gram: GramRows, factors: list[np.ndarray]) -> tuple[list[float], list[float]]:
    """Return traces and Frobenius norms of K − ΨΨᵀ for several factors in one pass over K."""
    total = float(gram.diagonal.sum())
    traces = [max(total - float(np.einsum("ij,ij->", f, f)), 0.0) for f in factors]
    squares = np.zeros(len(factors))
    for which in gram.slices():
        rows = gram.rows(which)
        for j, factor in enumerate(factors):
            block = factor[which] @ factor.T
            block -= rows
            squares[j] += float(np.vdot(block, block))
    return traces, [math.sqrt(s) for s in squares]


def largest_missed(gram: GramRows, factor: np.ndarray) -> float:
    """Return the spectral norm of K − ΨΨᵀ by Lanczos iterations."""

    def product(v: np.ndarray) -> np.ndarray:
        inner = np.empty(gram.n)
        for which in gram.slices():
            inner[which] = gram.rows(which) @ v
        return inner - factor @ (factor.T @ v)

    if gram.n <= 3:
        residual = gram.rows(slice(None)) - factor @ factor.T
        return float(np.abs(np.linalg.eigvalsh(residual)).max())
    operator = LinearOperator((gram.n, gram.n), matvec=product, dtype=np.float64)
    start = np.random.default_rng(0).standard_normal(gram.n)
    values = eigsh(operator, k=1, which="LM", v0=start, tol=1e-6, return_eigenvectors=False)
    return float(abs(values[0]))


def optimal_errors(gram: GramRows, rank: int) -> tuple[float, float, float]:
    """Return the Schatten 1, 2 and ∞ errors of the best approximation of a rank."""
    left = np.sort(np.linalg.eigvalsh(gram.rows(slice(None))))[::-1][rank:]
    left = np.maximum(left, 0.0)
    return float(left.sum()), float(np.sqrt((left**2).sum())), float(left.max(initial=0.0))


def _landmarks_of(X: Any, landmarks: Any, gram: GramRows) -> tuple[np.ndarray, Any, int]:
    """Return the factor, the points or indices, and how many landmarks there are."""
    if isinstance(landmarks, NystroemLandmarks):
        check_is_fitted(landmarks)
        factor = np.asarray(landmarks.transform(X), dtype=np.float64)
        indices = None if landmarks.landmarks_ is None else to_numpy(landmarks.landmarks_)
        return factor, (landmarks.components_, indices), landmarks.n_components
    if isinstance(landmarks, Landmarks):
        points, indices = landmarks.points, landmarks.indices
    else:
        indices = np.asarray(landmarks)
        if indices.ndim != 1 or indices.dtype.kind not in "iu" or not len(indices):
            raise ValueError(
                "landmarks must be a fitted NystroemLandmarks, what select_landmarks returns, or "
                f"a list of row indices; got an array of shape {indices.shape} and type "
                f"{indices.dtype}."
            )
        if indices.min() < 0 or indices.max() >= gram.n:
            raise ValueError(
                f"Indices of landmarks must lie in 0..{gram.n - 1}; got {indices.min()} to "
                f"{indices.max()}."
            )
        points = None if gram.kernel.name == "precomputed" else X[indices]
    n_landmarks = points.shape[0] if points is not None else len(np.asarray(indices))
    return gram.factor(points, indices), (points, indices), n_landmarks


@checked
@validate_params(
    {
        "X": ["array-like", "sparse matrix"],
        "landmarks": "no_validation",
        "kernel": [str, callable, None],
        "gamma": SELECTION_CONSTRAINTS["gamma"],
        "degree": SELECTION_CONSTRAINTS["degree"],
        "coef0": SELECTION_CONSTRAINTS["coef0"],
        "kernel_params": [dict, None],
        "n_uniform": [Interval(Integral, 0, None, closed="left")],
        "optimal": ["boolean"],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def nystroem_report(
    X,
    landmarks,
    kernel=None,
    *,
    gamma=None,
    degree=3,
    coef0=1.0,
    kernel_params=None,
    n_uniform=10,
    optimal=False,
    random_state=None,
):
    """Measure what a Nyström approximation misses, and its lift over uniform landmarks.

    Parameters
    ----------
    X : {array-like, CSR matrix} of shape (n_samples, n_features)
        Rows; with ``kernel="precomputed"`` the Gram matrix.
    landmarks : NystroemLandmarks, Landmarks or array-like of int
        A fitted transformer (whose kernel and rank are used), what `select_landmarks` returned,
        or indices of rows.
    kernel : str or callable, default=None
        Kernel; that of a fitted transformer, else ``"rbf"``, by default.
    gamma : float, {"scale", "auto"} or None, default=None
        Scale of the kernel; None and ``"auto"`` are 1 / n_features.
    degree : float, default=3
        Exponent of ``"poly"``.
    coef0 : float, default=1.0
        Offset of ``"poly"`` and ``"sigmoid"``.
    kernel_params : dict, default=None
        Further parameters of a callable kernel.
    n_uniform : int, default=10
        Uniform draws that the lift averages over; 0 leaves it out (NaN).
    optimal : bool, default=False
        Also compute the errors of the best approximation of that rank: O(n³) time, O(n²) memory.
    random_state : int, RandomState instance or None, default=None
        Seed of the uniform draws.

    Returns
    -------
    report : NystroemReport
        Errors in the Schatten norms 1, 2 and ∞, the lift, and the clustering potential.

    Notes
    -----
    Beyond 5,000 rows the Gram matrix is computed block by block and not held, unless
    ``optimal=True``; the time is O(n²) for every draw. Take a sample of the rows when there are
    more than some ten thousand.

    References
    ----------
    .. [1] D. Oglic (2018). "Constructive Approximation and Learning by Greedy Algorithms".
       PhD thesis, University of Bonn. Section 4.5.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.kernel import nystroem_report, select_landmarks
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> report = nystroem_report(X, select_landmarks(X, 20, gamma=0.5, random_state=0), gamma=0.5)
    >>> report.trace <= report.potential
    True
    """
    if isinstance(landmarks, NystroemLandmarks):
        check_is_fitted(landmarks)
        resolved = landmarks.kernel_
        X = check_rows(X, landmarks.kernel)
    else:
        X = check_rows(X, "rbf" if kernel is None else kernel)
        resolved = resolve_kernel(
            "rbf" if kernel is None else kernel,
            X,
            gamma=gamma,
            degree=degree,
            coef0=coef0,
            params=kernel_params,
        )
    if not sp.issparse(X):
        X = to_numpy(X)
    gram = GramRows(X, resolved)
    factor, (points, indices), rank = _landmarks_of(X, landmarks, gram)
    rng = check_random_state(random_state)
    draws = [_uniform_factor(gram, rng.permutation(gram.n)[:rank]) for _ in range(n_uniform)]
    traces, errors = missed(gram, [factor, *draws])
    frobenius = errors[0]
    uniform = float(np.mean(errors[1:])) if n_uniform else math.nan
    seen = FeaturePoints(X, resolved)
    targets = seen.chosen(indices) if indices is not None else seen.foreign(points)
    best = optimal_errors(gram, rank) if optimal else (math.nan, math.nan, math.nan)
    return NystroemReport(
        traces[0],
        frobenius,
        largest_missed(gram, factor),
        *best,
        uniform,
        uniform / frobenius if frobenius > 0.0 else math.inf if n_uniform else math.nan,
        seen.nearest(targets)[1],
    )


def _uniform_factor(gram: GramRows, indices: np.ndarray) -> np.ndarray:
    points = None if gram.kernel.name == "precomputed" else gram.X[indices]
    return gram.factor(points, indices)


_SIZES = {
    "n_components": [Interval(Integral, 1, None, closed="left")],
    "n_samples": [Interval(Integral, 1, None, closed="left")],
}


@checked
@validate_params(
    {**_SIZES, "theta": [Interval(Real, 0, None, closed="left"), StrOptions({"corollary"})]},
    prefer_skip_nested_validation=True,
)
def kmeanspp_bound(n_components, n_samples, theta="corollary"):
    """Bound the expected relative error of K-means++ landmarks (Theorem 4.8).

    E‖H − H̃_K‖₂ / ‖H − H_K‖₂ ≤ 8(ln(K + 1) + 2)(√(n − K) + Θ_K), with K + 1 landmarks.

    Parameters
    ----------
    n_components : int
        Rank K; the theorem takes K + 1 landmarks.
    n_samples : int
        Number n of rows, more than K.
    theta : float or "corollary", default="corollary"
        Θ_K: the potential of the best clustering inside the top K directions over ‖H − H_K‖₂.
        ``"corollary"`` takes √(n − K), the largest value for which Corollary 4.9 speaks.

    Returns
    -------
    bound : float
        On the expected ratio of Frobenius errors.

    Notes
    -----
    The proof needs a *centred* feature map: with another kernel the best clustering can have a
    smaller potential than the best low-rank approximation has error (Proposition 4.7 fails).

    References
    ----------
    .. [1] D. Oglic (2018). "Constructive Approximation and Learning by Greedy Algorithms".
       PhD thesis, University of Bonn. Theorem 4.8.

    Examples
    --------
    >>> from octavo.kernel import kdpp_bound, kmeanspp_bound
    >>> round(kmeanspp_bound(100, 10_000)), round(kdpp_bound(101, 100, 10_000))
    (10531, 5074)
    """
    _check_rank(n_components, n_samples)
    spread = math.sqrt(n_samples - n_components)
    extra = spread if theta == "corollary" else float(theta)
    return 8.0 * (math.log(n_components + 1) + 2.0) * (spread + extra)


@checked
@validate_params(
    {"n_landmarks": [Interval(Integral, 1, None, closed="left")], **_SIZES},
    prefer_skip_nested_validation=True,
)
def kdpp_bound(n_landmarks, n_components, n_samples):
    """Bound the expected relative error of k-DPP landmarks, Eq. (4.17).

    E‖H − H̃_K‖₂ / ‖H − H_K‖₂ ≤ (l + 1) / (l + 1 − K) · √(n − K).

    Parameters
    ----------
    n_landmarks : int
        Number l of landmarks, at least K.
    n_components : int
        Rank K of the approximation.
    n_samples : int
        Number n of rows, more than K.

    Returns
    -------
    bound : float
        On the expected ratio of Frobenius errors.

    References
    ----------
    .. [1] C. Li, S. Jegelka and S. Sra (2016). "Fast DPP sampling for Nyström with application to
       kernel methods". ICML.

    Examples
    --------
    >>> from octavo.kernel import kdpp_bound
    >>> kdpp_bound(3, 3, 12)
    12.0
    """
    _check_rank(n_components, n_samples)
    if n_landmarks < n_components:
        raise ValueError(
            f"n_landmarks must be at least n_components={n_components}; got {n_landmarks}."
        )
    return (
        (n_landmarks + 1) / (n_landmarks + 1 - n_components) * math.sqrt(n_samples - n_components)
    )


def _check_rank(n_components: int, n_samples: int) -> None:
    if n_components >= n_samples:
        raise ValueError(
            f"n_components must be smaller than n_samples={n_samples}; got {n_components}."
        )
