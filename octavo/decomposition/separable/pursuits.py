"""Separable factorisation by successive projection (SPA) and by extreme rays (XRAY).

Both choose rows of X whose hull contains the other rows, one after the other. SPA takes the row of
largest norm and projects all rows on its orthogonal complement: it is QR with column pivoting. XRAY
fits all rows by non-negative combinations of those chosen, and takes the row that lies farthest
in the direction of a residual.

References: Gillis and Vavasis (2014), "Fast and robust recursive algorithms for separable
nonnegative matrix factorization", IEEE TPAMI 36:698-714; Kumar, Sindhwani and Kambadur (2013),
"Fast conical hull algorithms for near-separable non-negative matrix factorization", ICML.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state
from sklearn.utils.extmath import row_norms, safe_sparse_dot
from sklearn.utils.validation import check_array

from octavo.decomposition.separable.anchor_factorization import (
    SPARSE,
    AnchorFactorization,
    dense_rows,
    refuse_extremes,
)
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.sklearn_door import StrOptions
from octavo.engine.estimators.sparse_rows import canonical_csr
from octavo.engine.proximal.nonnegative_least_squares import nonnegative_least_squares

__all__ = ["SuccessiveProjection", "XRay", "successive_projection", "xray_anchors"]

Step = Callable[[], bool]
POLICIES = ("max", "dist", "greedy", "rand")
_BLOCK = 1 << 22  # entries of the largest block that is made dense
_CANCELLED = 1e-6  # below this share of what it was, a running squared norm is computed afresh
_RANK_TOL = 1e-7  # of the largest norm: XRAY's residuals come from squares, sqrt(eps) at best


def _as_points(X, n_components):
    X = canonical_csr(check_array(X, accept_sparse=SPARSE, dtype=np.float64))
    refuse_extremes(X)
    if not 1 <= n_components <= X.shape[0]:
        raise ValueError(
            f"n_components must be between 1 and the number of points {X.shape[0]}, got "
            f"{n_components}."
        )
    return X


def remaining_norms(X, basis: np.ndarray) -> np.ndarray:
    """Return the squared norm of each row less its projection, from the residual itself."""
    found, size = np.empty(X.shape[0]), max(1, _BLOCK // max(X.shape[1], 1))
    for start in range(0, X.shape[0], size):
        rows = slice(start, start + size)
        block = X[rows].toarray() if sparse.issparse(X) else X[rows]
        found[rows] = row_norms(block - (block @ basis.T) @ basis, squared=True)
    return found


def rank_error(n_components, rank, shape, name="n_components", what="X") -> ValueError:
    """Return the error for more anchors than there are dimensions."""
    return ValueError(
        f"{name}={n_components} exceeds the rank of {what}, which is {rank} "
        f"(n_samples={shape[0]}, n_features={shape[1]})."
    )


@checked
def successive_projection(X, n_components: int, *, step: Step | None = None) -> NDArray[np.intp]:
    """Choose rows of X by successive projection.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_points, n_dimensions)
        Points.
    n_components : int
        How many to choose; at most the rank of X.
    step : callable, optional
        Called after each choice.

    Returns
    -------
    ndarray of shape (n_components,)
        Indices, in the order chosen: the first pivots of ``scipy.linalg.qr(X.T, pivoting=True)``.

    Examples
    --------
    >>> from octavo.decomposition import successive_projection
    >>> successive_projection([[0.5, 0.5], [0.0, 1.0], [2.0, 0.0]], 2).tolist()
    [2, 1]
    """
    X = _as_points(X, n_components)
    norms = row_norms(X, squared=True)
    first = known = norms.max()
    basis = np.zeros((n_components, X.shape[1]))
    chosen = np.empty(n_components, dtype=np.intp)
    for k in range(n_components):
        j = int(norms.argmax())
        if norms[j] <= _CANCELLED * known:
            norms = remaining_norms(X, basis[:k])
            norms[chosen[:k]] = -np.inf
            j = int(norms.argmax())
            known = norms[j]
        if norms[j] <= first * (max(X.shape) * np.finfo(float).eps) ** 2:
            raise rank_error(n_components, k, X.shape)
        rest = dense_rows(X, [j])[0]
        for _ in range(2):  # twice is enough for orthogonality
            rest -= basis[:k].T @ (basis[:k] @ rest)
        basis[k] = rest / np.linalg.norm(rest)
        chosen[k] = j
        norms = norms - (X @ basis[k]) ** 2  # Pythagoras: no residual matrix is formed
        norms[j] = -np.inf
        if step is not None:
            step()
    return chosen


def _positive_part_sums(X, weights, targets) -> tuple[np.ndarray, np.ndarray]:
    """Return Σ_j (R_iᵀ a_j)₊² for each i, and Σ_i (R_iᵀ a_j)₊² for each j, block by block.

    R_iᵀ a_j = a_iᵀ a_j - w_iᵀ (A_I a_j), so that R is never formed.
    """
    n = X.shape[0]
    by_row, by_column, size = np.empty(n), np.zeros(n), max(1, _BLOCK // n)
    for start in range(0, n, size):
        rows = slice(start, start + size)
        block = safe_sparse_dot(X[rows], X.T, dense_output=True) - weights[rows] @ targets.T
        np.maximum(block, 0.0, out=block)
        np.multiply(block, block, out=block)
        by_row[rows] = block.sum(axis=1)
        by_column += block.sum(axis=0)
    return by_row, by_column


@checked
def xray_anchors(
    X, n_components: int, *, policy: str = "max", random_state=None, step: Step | None = None
) -> NDArray[np.intp]:
    """Choose rows of X by XRAY.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_points, n_dimensions)
        Points. Only those with a positive sum can be chosen.
    n_components : int
        How many to choose.
    policy : {"max", "dist", "greedy", "rand"}, default="max"
        Which residual R_i gives the direction in which the next anchor is sought: the longest
        one ("max"); the one with the longest positive part of its products with all points
        ("dist"); that of the point whose products with all residuals have the longest positive
        part, over its own length ("greedy"); a random one ("rand"). "dist" and "greedy" cost a
        product of X with its transpose for each anchor.
    random_state : int, RandomState instance or None, default=None
        For "rand".
    step : callable, optional
        Called after each choice.

    Returns
    -------
    ndarray of shape (n_components,)
        Indices, in the order chosen.

    Examples
    --------
    >>> from octavo.decomposition import xray_anchors
    >>> sorted(xray_anchors([[0.5, 0.5], [0.0, 1.0], [2.0, 0.0]], 2).tolist())
    [1, 2]
    """
    if policy not in POLICIES:
        raise ValueError(f"policy must be one of {POLICIES}, got {policy!r}.")
    X = _as_points(X, n_components)
    rng = check_random_state(random_state)
    sums, norms = np.asarray(X.sum(axis=1)).ravel(), row_norms(X, squared=True)
    allowed = sums > 0
    if not allowed.any():
        raise ValueError("XRAY needs points with a positive sum of entries; X has none.")
    chosen: list[int] = []
    weights, targets = np.zeros((X.shape[0], 0)), np.zeros((X.shape[0], 0))
    for k in range(n_components):
        anchors = dense_rows(X, chosen) if chosen else np.zeros((0, X.shape[1]))
        # ||R_i||² = ||a_i||² - 2 w_iᵀ A_I a_i + w_iᵀ A_I A_Iᵀ w_i
        fitted = weights @ (anchors @ anchors.T)
        # the first term of R_iᵀR_i, then what the fit takes off
        lengths = norms - np.einsum("ij,ij->i", weights, 2.0 * targets - fitted)
        lengths[~allowed] = 0.0  # their direction may lead to no point that can be chosen
        if lengths.max() <= _RANK_TOL**2 * norms.max():
            raise _exhausted(n_components, k, X.shape)
        i = _residual(policy, X, weights, targets, lengths, norms, rng)
        # A − A(I)X*: print has the opposite sign
        residual = dense_rows(X, [i])[0] - weights[i] @ anchors
        # R_iᵀ a_j / 1ᵀa_j, for every policy: a residual's own index may be no vertex
        score = np.divide(X @ residual, sums, out=np.zeros_like(sums), where=allowed)
        score[~allowed] = -np.inf
        score[chosen] = -np.inf
        j = int(score.argmax())
        if not score[j] > 0:
            raise _exhausted(n_components, k, X.shape)
        chosen.append(j)
        weights, targets = _refit(X, chosen, weights)
        if step is not None:
            step()
    return np.array(chosen, dtype=np.intp)


def _exhausted(n_components, k, shape) -> ValueError:
    return ValueError(
        f"n_components={n_components} exceeds the rays that X needs: all points whose sum is "
        f"positive are non-negative combinations of {k} (n_samples={shape[0]}, "
        f"n_features={shape[1]})."
    )


def _residual(policy, X, weights, targets, lengths, norms, rng) -> int:
    """Return which residual gives the direction."""
    if policy == "max":
        return int(lengths.argmax())
    if policy == "rand":
        return int(rng.choice(np.flatnonzero(lengths > _RANK_TOL * lengths.max())))
    by_row, by_column = _positive_part_sums(X, weights, targets)
    # rules of Kumar and others (2013), which the paper names only
    sizes = by_row if policy == "dist" else by_column / np.where(norms > 0, norms, 1.0)
    return int(np.where(lengths > 0, sizes, -np.inf).argmax())


def _refit(X, chosen, weights) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights of all points on the chosen ones, from those without the last."""
    anchors = dense_rows(X, chosen)
    targets = np.asarray(safe_sparse_dot(X, anchors.T))
    start = np.column_stack([weights, np.ones(X.shape[0])])
    return nonnegative_least_squares(anchors @ anchors.T, targets, start).weights, targets


class SuccessiveProjection(AnchorFactorization):
    """Separable factorisation by the successive projection algorithm (SPA).

    Rows of X are chosen one after the other: the longest, then the longest after projection on the
    orthogonal complement of those chosen. All rows are then fitted by non-negative combinations
    of the chosen ones.

    Parameters
    ----------
    n_components : int, default=2
        Number of anchors; at most the rank of X.
    axis : {"samples", "features"}, default="samples"
        Choose rows (prototypes, pure pixels) or columns (anchor words).
    normalize : bool, default=False
        Choose among points scaled to unit l1 norm; zero ones are left out. The paper does not.
    strict : bool, default=False
        Refuse negative entries; otherwise they are taken for noise.

    Attributes
    ----------
    anchor_indices_ : ndarray of shape (n_components,)
        Indices of the anchors, in the order chosen.
    components_ : ndarray of shape (n_components, n_features)
        The chosen rows of X; with ``axis="features"``, the weights of all columns on the chosen
        ones.
    reconstruction_err_ : float
        Frobenius norm of what the factorisation leaves of the data.
    noise_bound_ : float
        Equation (3) of [2]_ with the factors found in place of those without noise.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit.

    See Also
    --------
    EllipsoidalRoundingNMF : Chooses among the points of contact of an ellipsoid, and withstands
        more noise.
    sklearn.decomposition.NMF : For data without anchors.

    Notes
    -----
    Do not use it on data with outliers: the longest row is chosen first, whatever it is. Where no
    sample is pure, `sklearn.decomposition.NMF` fits better.

    References
    ----------
    .. [1] Gillis and Vavasis (2014). Fast and robust recursive algorithms for separable
       nonnegative matrix factorization. IEEE TPAMI 36:698-714.
    .. [2] Mizutani (2014). Ellipsoidal rounding for nonnegative matrix factorization under noisy
       separability. JMLR 15:1011-1039.

    Examples
    --------
    >>> from octavo.data import make_separable
    >>> from octavo.decomposition import SuccessiveProjection
    >>> sample = make_separable(200, 30, n_components=4, random_state=0)
    >>> model = SuccessiveProjection(4).fit(sample.X)
    >>> sorted(model.anchor_indices_.tolist()) == sorted(sample.anchors.tolist())
    True
    >>> round(model.reconstruction_err_, 6)
    0.0
    """

    def __init__(self, n_components=2, *, axis="samples", normalize=False, strict=False):
        self.n_components = n_components
        self.axis = axis
        self.normalize = normalize
        self.strict = strict

    def _find_anchors(self, points, step):
        _check_enough(self.n_components, points.shape)
        return successive_projection(points, self.n_components, step=step)


class XRay(AnchorFactorization):
    """Separable factorisation by XRAY: extreme rays of the cone of the data.

    Parameters
    ----------
    n_components : int, default=2
        Number of anchors.
    policy : {"max", "dist", "greedy", "rand"}, default="max"
        How the direction is chosen in which the next anchor is sought; see `xray_anchors`.
    axis : {"samples", "features"}, default="samples"
        Choose rows (prototypes, pure pixels) or columns (anchor words).
    normalize : bool, default=False
        Choose among points scaled to unit l1 norm; zero ones are left out.
    strict : bool, default=False
        Refuse negative entries; otherwise they are taken for noise.
    random_state : int, RandomState instance or None, default=None
        For ``policy="rand"``.

    Attributes
    ----------
    anchor_indices_ : ndarray of shape (n_components,)
        Indices of the anchors, in the order chosen.
    components_ : ndarray of shape (n_components, n_features)
        The chosen rows of X; with ``axis="features"``, the weights of all columns on the chosen
        ones.
    reconstruction_err_ : float
        Frobenius norm of what the factorisation leaves of the data.
    noise_bound_ : float
        Equation (3) of [2]_ with the factors found in place of those without noise.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit.

    See Also
    --------
    EllipsoidalRoundingNMF : Chooses among the points of contact of an ellipsoid.

    Notes
    -----
    Do not use "dist" and "greedy" on more than some ten thousand points: each anchor costs a
    product of X with its transpose. Unlike `SuccessiveProjection`, XRAY can choose more anchors
    than the rank of X, where the cone has that many rays. The rules of "dist" and "greedy" are
    those of [1]_ as far as [2]_ retells them.

    References
    ----------
    .. [1] Kumar, Sindhwani and Kambadur (2013). Fast conical hull algorithms for near-separable
       non-negative matrix factorization. ICML.
    .. [2] Mizutani (2014). Ellipsoidal rounding for nonnegative matrix factorization under noisy
       separability. JMLR 15:1011-1039.

    Examples
    --------
    >>> from octavo.data import make_separable
    >>> from octavo.decomposition import XRay
    >>> sample = make_separable(200, 30, n_components=4, random_state=0)
    >>> model = XRay(4, policy="greedy").fit(sample.X)
    >>> sorted(model.anchor_indices_.tolist()) == sorted(sample.anchors.tolist())
    True
    >>> round(model.reconstruction_err_, 6)
    0.0
    """

    _parameter_constraints = {
        **AnchorFactorization._parameter_constraints,
        "policy": [StrOptions(set(POLICIES))],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components=2,
        *,
        policy="max",
        axis="samples",
        normalize=False,
        strict=False,
        random_state=None,
    ):
        self.n_components = n_components
        self.policy = policy
        self.axis = axis
        self.normalize = normalize
        self.strict = strict
        self.random_state = random_state

    def _find_anchors(self, points, step):
        _check_enough(self.n_components, points.shape)
        return xray_anchors(
            points,
            self.n_components,
            policy=self.policy,
            random_state=self.random_state,
            step=step,
        )


def _check_enough(n_components, shape) -> None:
    if n_components > shape[0]:
        raise ValueError(
            f"n_components={n_components} exceeds the number of points that are not zero or "
            f"could be chosen: {shape[0]} (n_samples={shape[0]}, n_features={shape[1]})."
        )
