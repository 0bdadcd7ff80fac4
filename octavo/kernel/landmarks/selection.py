"""Choose the landmarks of a low-rank kernel approximation: nine ways, one call.

Uniform landmarks, as `sklearn.kernel_approximation.Nystroem` draws them, spend most of a budget
where the data are dense. Kernel K-means++ spreads them by distance in the feature space, at the
cost of one kernel column a landmark.

Reference: thesis on kernel-based greedy algorithms (D. Oglic), Chapter 4: Algorithm 4.1, local
restarts, Lloyd refinements, and the strategies it is compared with in Sections 4.4 and 4.6.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array, check_random_state

from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, validate_params
from octavo.engine.estimators.sparse_rows import canonical_csr
from octavo.engine.kernels.gram import Kernel, check_gram, resolve_kernel
from octavo.engine.kernels.namespaces import namespace_of, to_namespace, to_numpy
from octavo.engine.kernels.nystroem import nystroem_factor
from octavo.kernel.landmarks.feature_points import FeaturePoints
from octavo.kernel.landmarks.kdpp import kdpp_chain
from octavo.kernel.landmarks.sampling import (
    kmeanspp,
    lloyd,
    squared_column_norms,
    weighted_without_replacement,
)

__all__ = ["Landmarks", "select_landmarks"]

METHODS = ("kmeans++", "kmeans", "uniform", "diagonal", "column_norm", "leverage", "kdpp")
_LLOYD_STEPS = 100

# What select_landmarks and NystroemLandmarks check alike.
SELECTION_CONSTRAINTS: dict[str, list[Any]] = {
    "kernel": [str, callable],
    "method": [StrOptions(set(METHODS))],
    "gamma": [Interval(Real, 0, None, closed="neither"), StrOptions({"scale", "auto"}), None],
    "degree": [Interval(Real, 0, None, closed="left")],
    "coef0": [Interval(Real, None, None, closed="neither")],
    "kernel_params": [dict, None],
    "n_local": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
    "lloyd": ["boolean"],
    "sketch": [StrOptions({"uniform", "diagonal"})],
    "sketch_size": [Interval(Integral, 1, None, closed="left"), None],
    "alpha": [Interval(Real, 0, None, closed="neither"), None],
    "n_steps": [Interval(Integral, 0, None, closed="left")],
    "start": [StrOptions({"uniform", "kmeans++"})],
    "random_state": ["random_state"],
}


class Landmarks(NamedTuple):
    """Landmarks: ``indices`` of rows (None if they are no rows), ``points``, ``potential``.

    ``points`` has one row a landmark (None with a precomputed kernel). ``potential`` is the sum
    over all rows of the squared distance, in the feature space, to the nearest landmark; the
    trace of what the Nyström approximation misses is never larger.
    """

    indices: np.ndarray | None
    points: Any
    potential: float


def approximate_leverage(
    points: FeaturePoints,
    k: int,
    rng: np.random.RandomState,
    *,
    sketch: str = "uniform",
    size: int | None = None,
    alpha: float | None = None,
) -> np.ndarray:
    """Return leverage scores of the rows from a Nyström sketch of the Gram matrix.

    Parameters
    ----------
    points : FeaturePoints
        The rows.
    k : int
        Rank to which the scores refer.
    rng : RandomState
        Draws the columns of the sketch.
    sketch : {"uniform", "diagonal"}, default="uniform"
        How they are drawn.
    size : int, default=None
        How many; k ln k, at least 2k, by default.
    alpha : float, default=None
        λ of the ridge form ψᵀ(ΨᵀΨ + nλI)⁻¹ψ; the squared norms of the rows of the top k left
        singular vectors of Ψ by default.

    Returns
    -------
    scores : ndarray of shape (n_samples,)
        Between 0 and 1.
    """
    n, xp = points.n, points.xp
    size = min(n, size or max(2 * k, math.ceil(k * math.log(max(k, 2)))))
    if sketch == "uniform":
        columns = rng.permutation(n)[:size]
    else:
        weights = np.maximum(to_numpy(points.diagonal), 0.0)
        columns = weighted_without_replacement(weights, size, rng)
    targets = points.chosen(columns)
    blocks = [points.gram(rows, targets).T for rows in points.chunks(size)]
    K_nS = xp.concat(blocks, axis=0)
    K_SS = to_namespace(np.asarray(_gram_of(points, columns)), points.diagonal)
    factor = nystroem_factor(K_nS, K_SS)  # Eq. (4.3) on the sketch
    values, vectors = xp.linalg.eigh(factor.T @ factor)
    if alpha is not None:
        shrunk = values + n * alpha  # ψᵀ(ΨᵀΨ + nλ)⁻¹ψ
    else:
        keep = min(k, values.shape[0])
        values, vectors = values[-keep:], vectors[:, -keep:]
        floor = 1e-12 * float(values[-1])
        shrunk = xp.where(values > floor, values, xp.ones_like(values) * math.inf)
    rotated = factor @ vectors  # left singular vectors times singular values
    # ‖row i of U_K‖², or the ridge form
    return to_numpy(xp.sum(rotated * rotated / shrunk, axis=1)).astype(np.float64)


def _gram_of(points: FeaturePoints, indices: np.ndarray) -> np.ndarray:
    """Return the Gram matrix of a few rows on the host."""
    few = points.few(indices)
    return to_numpy(few.gram(slice(0, len(indices)), points.chosen(indices)))


def choose(
    X: Any,
    k: int,
    kernel: Kernel,
    rng: np.random.RandomState,
    *,
    method: str = "kmeans++",
    n_local: int | str = "auto",
    lloyd_refinement: bool = False,
    sketch: str = "uniform",
    sketch_size: int | None = None,
    alpha: float | None = None,
    n_steps: int = 1000,
    start: str = "uniform",
) -> Landmarks:
    """Choose landmarks of validated rows; see `select_landmarks`."""
    _check_size(X, k, kernel, method, lloyd_refinement)
    if method == "kmeans":
        return _instance_kmeans(X, k, kernel, n_local, rng)
    points = FeaturePoints(X, kernel)
    potential = None
    if method == "kmeans++":
        indices, potential = kmeanspp(points, k, n_local, rng)
    elif method == "uniform":
        indices = rng.permutation(points.n)[:k]
    elif method == "diagonal":
        indices = weighted_without_replacement(to_numpy(points.diagonal), k, rng)
    elif method == "column_norm":
        indices = weighted_without_replacement(squared_column_norms(points), k, rng)
    elif method == "leverage":
        scores = approximate_leverage(points, k, rng, sketch=sketch, size=sketch_size, alpha=alpha)
        indices = weighted_without_replacement(scores, k, rng)
    else:
        first = rng.permutation(points.n)[:k]  # of the k-DPP chain
        if start == "kmeans++":
            first, _ = kmeanspp(points, k, n_local, rng)
        indices, _ = kdpp_chain(points, first, n_steps, rng)
    if potential is None:
        _, potential = points.nearest(points.chosen(indices))
    points.warn_if_indefinite()
    if kernel.name == "precomputed":
        return Landmarks(indices, None, potential)
    rows = points.take(indices)
    if lloyd_refinement:
        rows, potential, n_moved = lloyd(points, rows, potential, max_iter=_LLOYD_STEPS)
        if n_moved:
            return Landmarks(None, rows, potential)
    return Landmarks(indices, rows, potential)


def _check_size(X: Any, k: int, kernel: Kernel, method: str, refine: bool) -> None:
    n = X.shape[0]
    if k > n:
        raise ValueError(
            f"{k} landmarks were asked for, but there are only n_samples={n} rows to choose from."
        )
    if kernel.name == "precomputed" and (refine or method == "kmeans"):
        what = "lloyd=True" if refine else 'method="kmeans"'
        raise ValueError(
            f"{what} moves landmarks to means of rows and needs vectors; with a precomputed kernel "
            'there are none. Use method="kmeans++" without Lloyd refinement.'
        )


def _instance_kmeans(
    X: Any, k: int, kernel: Kernel, n_local: int | str, rng: np.random.RandomState
) -> Landmarks:
    """Return the centres of K-means in the space of the rows (Section 4.4.3)."""
    flat = FeaturePoints(X, Kernel("linear"))
    indices, potential = kmeanspp(flat, k, n_local, rng)
    centres, _, n_moved = lloyd(
        flat, flat.take(indices), potential, max_iter=3 * _LLOYD_STEPS, tol=1e-4
    )
    seen = FeaturePoints(X, kernel)
    _, potential = seen.nearest(seen.foreign(centres))
    return Landmarks(None if n_moved else indices, centres, potential)


def check_rows(X: Any, kernel: str | Callable[..., Any]) -> Any:
    """Validate rows of any namespace, dense or CSR; with a precomputed kernel a Gram matrix."""
    if sp.issparse(X):
        return canonical_csr(check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32]))
    xp = namespace_of(X).xp
    X = check_array(X, dtype=[xp.float64, xp.float32])
    if kernel == "precomputed":
        check_gram(to_numpy(X), definite=False)
    return X


@checked
@validate_params(
    {
        "X": ["array-like", "sparse matrix"],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        **SELECTION_CONSTRAINTS,
    },
    prefer_skip_nested_validation=True,
)
def select_landmarks(
    X,
    n_components,
    kernel="rbf",
    *,
    method="kmeans++",
    gamma=None,
    degree=3,
    coef0=1.0,
    kernel_params=None,
    n_local="auto",
    lloyd=False,
    sketch="uniform",
    sketch_size=None,
    alpha=None,
    n_steps=1000,
    start="uniform",
    random_state=None,
):
    """Choose rows, or points near them, that represent all rows in a kernel's feature space.

    Parameters
    ----------
    X : {array, CSR matrix} of shape (n_samples, n_features)
        Rows. With scikit-learn's ``array_api_dispatch`` an array of another namespace is computed
        where it is. With ``kernel="precomputed"`` the Gram matrix.
    n_components : int
        How many landmarks.
    kernel : str or callable, default="rbf"
        ``"linear"``, ``"poly"``, ``"rbf"``, ``"sigmoid"``, ``"laplacian"``, ``"cosine"``,
        ``"precomputed"``, another name of `sklearn.metrics.pairwise_kernels`, or a function of
        two arrays that returns the block of kernel values.
    method : str, default="kmeans++"
        ``"kmeans++"`` draws by distance in the feature space (Algorithm 4.1); ``"kmeans"`` takes
        the centres of K-means on the rows themselves; ``"uniform"``; ``"diagonal"`` draws in
        proportion to k(x, x); ``"column_norm"`` to the squared norms of the Gram matrix's columns
        (O(n²) time); ``"leverage"`` to approximate leverage scores; ``"kdpp"`` runs a chain
        whose law is proportional to the determinant of the landmarks' Gram matrix.
    gamma : float, {"scale", "auto"} or None, default=None
        Scale of the kernel; None and ``"auto"`` are 1 / n_features.
    degree : float, default=3
        Exponent of ``"poly"``.
    coef0 : float, default=1.0
        Offset of ``"poly"`` and ``"sigmoid"``.
    kernel_params : dict, default=None
        Further parameters of a callable kernel.
    n_local : int or "auto", default="auto"
        Candidates a landmark of ``"kmeans++"``, of which the best is kept; ``"auto"`` is
        ⌊2 + ln K⌋. With 1, whole batches of landmarks share a pass over the rows: an order of
        magnitude faster on large data, a little worse.
    lloyd : bool, default=False
        Move the landmarks to the means of their clusters while the potential falls. They are
        then no rows of X any more. Only for vectors.
    sketch : {"uniform", "diagonal"}, default="uniform"
        How ``"leverage"`` draws the columns of its sketch.
    sketch_size : int, default=None
        How many columns; max(2K, K ln K) by default.
    alpha : float, default=None
        With a number λ, ``"leverage"`` uses the ridge form ψᵀ(ΨᵀΨ + nλI)⁻¹ψ of the scores.
    n_steps : int, default=1000
        Steps of the ``"kdpp"`` chain.
    start : {"uniform", "kmeans++"}, default="uniform"
        Where that chain starts.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    landmarks : Landmarks
        With the fields ``indices`` (None where landmarks are no rows), ``points`` and
        ``potential``.

    Warns
    -----
    UserWarning
        If fewer than `n_components` rows differ in the feature space, or if the kernel is not
        positive semidefinite.

    Notes
    -----
    ``"kmeans++"`` with ``n_local=1`` costs one kernel column a landmark and nothing else that
    depends on n. Restarts multiply that by ⌊2 + ln K⌋. For Gaussian kernels in few dimensions
    ``lloyd=True`` or ``"kmeans"`` give the best landmarks, at several times the cost.

    References
    ----------
    .. [1] D. Oglic (2018). "Constructive Approximation and Learning by Greedy Algorithms".
       PhD thesis, University of Bonn. Chapter 4.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.kernel import select_landmarks
    >>> X = np.repeat([[0.0], [5.0], [10.0]], 20, axis=0)
    >>> np.sort(select_landmarks(X, 3, gamma=1.0, random_state=0).points.ravel())
    array([ 0.,  5., 10.])
    """
    X = check_rows(X, kernel)
    resolved = resolve_kernel(
        kernel, X, gamma=gamma, degree=degree, coef0=coef0, params=kernel_params
    )
    return choose(
        X,
        n_components,
        resolved,
        check_random_state(random_state),
        method=method,
        n_local=n_local,
        lloyd_refinement=lloyd,
        sketch=sketch,
        sketch_size=sketch_size,
        alpha=alpha,
        n_steps=n_steps,
        start=start,
    )
