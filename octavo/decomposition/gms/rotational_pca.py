"""R1-PCA: the subspace of the smallest sum of distances, large ones counted linearly.

Reference: Ding, Zhou, He and Zha (2006), "R1-PCA: rotational invariant L1-norm principal
component analysis for robust subspace factorization", ICML.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.sklearn_door import Interval, validate_params

__all__ = ["R1Subspace", "r1_pca"]


class R1Subspace(NamedTuple):
    """A subspace by R1-PCA.

    ``components`` of shape (n_components, n_features), orthonormal; the ``cutoff`` up to which
    distances count squared; the ``objectives``, which never rises; ``n_iter``; and whether it
    ``converged``.
    """

    components: Floats
    cutoff: float
    objectives: Floats
    n_iter: int
    converged: bool


def _top(scatter: Floats, d: int) -> Floats:
    n_features = len(scatter)
    vectors = eigh(scatter, subset_by_index=(n_features - d, n_features - 1))[1]
    return vectors[:, ::-1].T


def _distances(X: Floats, squares: Floats, components: Floats) -> Floats:
    inside = X @ components.T
    return np.sqrt(np.maximum(squares - np.einsum("ij,ij->i", inside, inside), 0.0))


@checked
@validate_params(
    {
        "X": ["array-like"],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "cutoff": [None, Interval(Real, 0, None, closed="neither")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    },
    prefer_skip_nested_validation=True,
)
def r1_pca(X, n_components, *, cutoff=None, tol=1e-10, max_iter=500):
    """Return a subspace by R1-PCA.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows, centred.
    n_components : int
        Dimension of the subspace, below the number of features.
    cutoff : float, default=None
        Distances up to it count squared, larger ones linearly. None takes the median distance
        to the subspace of PCA.
    tol : float, default=1e-10
        Stop when the objective falls by less than this, relatively.
    max_iter : int, default=500
        The largest number of iterations.

    Returns
    -------
    R1Subspace
        A named tuple: `components`, `cutoff`, `objectives`, `n_iter` and `converged`.

    Notes
    -----
    The problem is not convex: the result is the local solution next to that of PCA. A few rows
    far out can still carry it away; see `GeometricMedianSubspace`.

    References
    ----------
    .. [1] Ding, Zhou, He and Zha (2006). R1-PCA: rotational invariant L1-norm principal component
       analysis for robust subspace factorization. ICML.

    Examples
    --------
    >>> from octavo.decomposition import make_outlier_subspace, r1_pca
    >>> sample = make_outlier_subspace(100, 20, 6, 2, outliers="haystack", random_state=0)
    >>> r1_pca(sample.X, 2).components.shape
    (2, 6)
    """
    X = check_array(X, dtype=np.float64, ensure_min_samples=2)
    if n_components >= X.shape[1]:
        raise ValueError(
            f"n_components={n_components} must be below the number of features, {X.shape[1]}."
        )
    squares = np.einsum("ij,ij->i", X, X)
    components = _top(X.T @ X, n_components)
    s = _distances(X, squares, components)
    if cutoff is None:
        cutoff = float(np.median(s)) or float(s.max()) or 1.0
    path: list[float] = []
    for _ in range(max_iter):
        far = s > cutoff
        # Huber's loss: squares within the cutoff, lines beyond
        path.append(float(np.where(far, 2.0 * cutoff * s - cutoff**2, s**2).sum()))
        if len(path) > 1 and path[-2] - path[-1] <= tol * path[-1]:
            return R1Subspace(components, cutoff, np.array(path), len(path), True)
        w = np.where(far, cutoff / np.maximum(s, cutoff), 1.0)  # its weights
        components = _top((X.T * w) @ X, n_components)
        s = _distances(X, squares, components)
    warnings.warn(
        f"R1-PCA is not converged after {max_iter} iterations: the objective last fell by "
        f"{(path[-2] - path[-1]) / path[-1] if len(path) > 1 else np.inf:.3g} of itself.",
        ConvergenceWarning,
        stacklevel=3,
    )
    return R1Subspace(components, cutoff, np.array(path), len(path), False)
