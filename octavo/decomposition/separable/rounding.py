"""Ellipsoidal rounding: anchors are where the smallest ellipsoid touches the data.

The points are reduced to few dimensions by their singular vectors; the origin-centred ellipsoid of
least volume around them and their mirror images touches the vertices of their hull. With noise it
touches a few points more, among which SPA or XRAY choose.

Reference: Mizutani (2014), "Ellipsoidal rounding for nonnegative matrix factorization under noisy
separability", JMLR 15:1011-1039: Algorithms 1 to 3.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import cholesky
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_array

from octavo.decomposition.gms.reduced_points import (
    SVD_SOLVERS,
    Reduced,
    reduced_points,
    warn_of_smaller_rank,
)
from octavo.decomposition.separable.anchor_factorization import (
    SPARSE,
    AnchorFactorization,
    refuse_extremes,
)
from octavo.decomposition.separable.pursuits import rank_error, successive_projection, xray_anchors
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.sklearn_door import Interval, StrOptions
from octavo.engine.estimators.sparse_rows import canonical_csr
from octavo.engine.linalg.ellipsoid import Ellipsoid, Stop, enclosing_ellipsoid

__all__ = ["EllipsoidalRoundingNMF", "Rounding", "ellipsoidal_candidates"]

SELECTORS = ("spa", "xray-max", "xray-dist", "xray-greedy", "xray-rand")
Step = Callable[[], bool]


class Rounding(NamedTuple):
    """Points of contact of the ellipsoid around reduced points, as `ellipsoidal_candidates` finds.

    `candidates` are their indices, one for each group of equal points; `ellipsoid` holds the
    matrix, the dual weights, the contact of every point and the duality gap; `reduced` the
    coordinates in which it lives.
    """

    candidates: np.ndarray
    ellipsoid: Ellipsoid
    reduced: Reduced


def is_zero(X) -> bool:
    """Tell whether X has no entry but zeros."""
    return not (X.data if sparse.issparse(X) else X).any()


def contact_points(coordinates, found: Ellipsoid, active_tol: float) -> np.ndarray:
    """Return the indices of points of contact, in increasing order, equal ones once.

    Of points within `active_tol` of each other, in the norm of the ellipsoid, the one with the
    largest weight stands for all. Where the ellipsoid did not converge, every point with weight
    is taken for one of contact.
    """
    touches = (found.contact >= 1.0 - active_tol) | (not found.converged)  # as well as is known
    active = np.flatnonzero((found.weights > 0) & touches)
    active = active[np.argsort(-found.weights[active], kind="stable")]
    round_ = coordinates[active] @ cholesky(found.shape, lower=True)  # ellipsoid -> unit ball
    kept: list[int] = []
    for i in range(len(active)):
        gaps = np.linalg.norm(round_[kept] - round_[i], axis=1)
        if gaps.min(initial=np.inf) > active_tol:
            kept.append(i)
    return np.sort(active[kept])


@checked
def ellipsoidal_candidates(
    X,
    n_dimensions: int,
    *,
    tol: float = 1e-7,
    max_iter: int = 100_000,
    active_tol: float = 1e-6,
    svd_solver: str = "auto",
    random_state=None,
) -> Rounding:
    """Find the rows of X that the ellipsoid around them touches (Algorithm 1).

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_points, n_features)
        Points.
    n_dimensions : int
        To how many dimensions the points are reduced; at most the rank of X.
    tol : float, default=1e-7
        Duality gap of the ellipsoid; at least 1e-12, which is what rounding leaves.
    max_iter : int, default=100_000
        Most steps of the ellipsoid's solver.
    active_tol : float, default=1e-6
        A point with weight touches the ellipsoid if its contact is at least 1 less this.
    svd_solver : {"auto", "full", "covariance_eigh", "arpack", "randomized"}, default="auto"
        How the singular vectors are found.
    random_state : int, RandomState instance or None, default=None
        For the solvers "arpack" and "randomized".

    Returns
    -------
    Rounding
        The candidates, the ellipsoid and the reduced points. There are at least `n_dimensions`
        candidates (Lemma 11).

    Examples
    --------
    >>> from octavo.data import make_separable
    >>> from octavo.decomposition import ellipsoidal_candidates
    >>> sample = make_separable(300, 40, n_components=5, noise=0.01, random_state=0)
    >>> found = ellipsoidal_candidates(sample.X, 5)
    >>> sorted(sample.anchors.tolist()) == found.candidates.tolist()
    True
    """
    X = canonical_csr(check_array(X, accept_sparse=SPARSE, dtype=np.float64))
    if svd_solver not in SVD_SOLVERS:
        raise ValueError(f"svd_solver must be one of {SVD_SOLVERS}, got {svd_solver!r}.")
    if n_dimensions < 1:
        raise ValueError(f"n_dimensions must be at least 1, got {n_dimensions}.")
    refuse_extremes(X)
    if is_zero(X):
        raise rank_error(n_dimensions, 0, X.shape)
    reduced = reduced_points(X, n_dimensions, solver=svd_solver, random_state=random_state)
    if len(reduced.sizes) < n_dimensions:
        raise rank_error(n_dimensions, len(reduced.sizes), X.shape)
    return round_points(reduced, n_dimensions, Stop.at_gap(tol, n_dimensions, max_iter), active_tol)


def round_points(reduced: Reduced, d: int, stop: Stop, active_tol: float, step=None) -> Rounding:
    """Draw the ellipsoid around the first d coordinates of points."""
    reduced = Reduced(reduced.coordinates[:, :d], reduced.sizes[:d], reduced.directions[:d])
    coordinates = np.ascontiguousarray(reduced.coordinates)
    found = enclosing_ellipsoid(coordinates, stop, method="cutting-plane", step=step)
    return Rounding(contact_points(coordinates, found, active_tol), found, reduced)


def select_anchors(X, candidates, n_components, selector, random_state=None) -> np.ndarray:
    """Choose `n_components` of the candidates by SPA or XRAY on their rows of X."""
    if selector is None or len(candidates) == n_components:
        return candidates
    rows = X[candidates]
    if selector == "spa":
        return candidates[successive_projection(rows, n_components)]
    policy = selector.removeprefix("xray-")
    return candidates[xray_anchors(rows, n_components, policy=policy, random_state=random_state)]


class EllipsoidalRoundingNMF(AnchorFactorization):
    """Separable non-negative factorisation by ellipsoidal rounding (ER-SPA, ER-XRAY).

    Finds rows of X whose convex hull contains, up to noise, all others: pure pixels, prototypes;
    or columns: anchor words. The smallest ellipsoid around the reduced data touches candidates,
    among which a selector chooses. Deterministic, without restarts or local minima.

    Parameters
    ----------
    n_components : int, default=2
        Number of anchors; at most the rank of X.
    selector : {"spa", "xray-max", "xray-dist", "xray-greedy", "xray-rand"} or None, default="spa"
        What chooses among the candidates where there are more than `n_components`. None keeps
        them all (Algorithm 1).
    reduced_dim : int, default=None
        To how many dimensions the data are reduced: ρ of Algorithm 2. None is `n_components`.
        Where fewer than `n_components` points touch the ellipsoid, it is raised by one and
        the ellipsoid drawn again.
    mvee_tol : float, default=1e-7
        Duality gap of the ellipsoid; at least 1e-12, which is what rounding leaves.
    max_iter : int, default=100_000
        Most steps of the ellipsoid's solver.
    active_tol : float, default=1e-6
        A point with dual weight is a candidate if its contact is at least 1 less this; points
        nearer to each other than this, in the norm of the ellipsoid, count as one.
    svd_solver : {"auto", "full", "covariance_eigh", "arpack", "randomized"}, default="auto"
        How the data are reduced. "auto" takes eigenvectors of the smaller Gram matrix where
        that is small and accurate enough, LAPACK for dense data where `reduced_dim` is large,
        and else ARPACK.
    axis : {"samples", "features"}, default="samples"
        Choose rows (prototypes, pure pixels) or columns (anchor words).
    normalize : bool, default=False
        Choose among points scaled to unit l1 norm; zero ones are left out. This changes the
        answer: scale where mixtures have any size (Assumption 1-a), and not where the size
        carries meaning, since short points are mostly noise. The paper does not scale.
    strict : bool, default=False
        Refuse negative entries; otherwise they are taken for noise.
    random_state : int, RandomState instance or None, default=None
        For "xray-rand", and for the solvers "arpack" and "randomized".

    Attributes
    ----------
    anchor_indices_ : ndarray of shape (n_components,)
        Indices of the anchors.
    components_ : ndarray of shape (n_components, n_features)
        The chosen rows of X; with ``axis="features"``, the weights of all columns on the chosen
        ones.
    candidate_indices_ : ndarray of shape (n_candidates,)
        Indices of the points of contact.
    ellipsoid_ : ndarray of shape (`reduced_dim_`, `reduced_dim_`)
        L: the ellipsoid is {p: pᵀ L p ≤ 1} in reduced coordinates.
    reduced_points_ : ndarray of shape (n_points, `reduced_dim_`)
        The points in reduced coordinates. Rows are points that were kept: see `normalize`.
    contact_values_ : ndarray of shape (n_points,)
        pᵀ L p of each point of X: 1 where the ellipsoid touches it.
    dual_weights_ : ndarray of shape (n_points,)
        Dual solution; positive at points of contact.
    duality_gap_ : float
        By how much -log det L may exceed its minimum.
    reduced_dim_ : int
        The dimension in which the ellipsoid was drawn.
    n_iter_ : int
        Steps of the ellipsoid's solver, at least 1.
    reconstruction_err_ : float
        Frobenius norm of what the factorisation leaves of the data.
    noise_bound_ : float
        Equation (3) with the factors found: noise of smaller spectral norm would not change
        the anchors, were these factors the true ones.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit.

    See Also
    --------
    SuccessiveProjection : Without the ellipsoid: faster, and less robust to noise.
    AnchorTopics : Topics of documents.
    min_volume_ellipsoid : The ellipsoid alone.

    Notes
    -----
    Do not use it where no sample is pure: `sklearn.decomposition.NMF` places its components
    outside of the data. The anchors must be linearly independent; for cones with more rays than
    dimensions use `XRay`. A single outlier becomes an anchor.

    References
    ----------
    .. [1] Mizutani (2014). Ellipsoidal rounding for nonnegative matrix factorization under noisy
       separability. JMLR 15:1011-1039.

    Examples
    --------
    >>> from octavo.data import make_separable
    >>> from octavo.decomposition import EllipsoidalRoundingNMF
    >>> sample = make_separable(500, 50, n_components=5, noise=0.02, random_state=0)
    >>> model = EllipsoidalRoundingNMF(5).fit(sample.X)
    >>> sorted(model.anchor_indices_.tolist()) == sorted(sample.anchors.tolist())
    True
    >>> model.duality_gap_ <= 1e-7, len(model.candidate_indices_)
    (True, 5)
    """

    _parameter_constraints = {
        **AnchorFactorization._parameter_constraints,
        "selector": [StrOptions(set(SELECTORS)), None],
        "reduced_dim": [Interval(Integral, 1, None, closed="left"), None],
        "mvee_tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "active_tol": [Interval(Real, 0, 1, closed="neither")],
        "svd_solver": [StrOptions(set(SVD_SOLVERS))],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components=2,
        *,
        selector="spa",
        reduced_dim=None,
        mvee_tol=1e-7,
        max_iter=100_000,
        active_tol=1e-6,
        svd_solver="auto",
        axis="samples",
        normalize=False,
        strict=False,
        random_state=None,
    ):
        self.n_components = n_components
        self.selector = selector
        self.reduced_dim = reduced_dim
        self.mvee_tol = mvee_tol
        self.max_iter = max_iter
        self.active_tol = active_tol
        self.svd_solver = svd_solver
        self.axis = axis
        self.normalize = normalize
        self.strict = strict
        self.random_state = random_state

    def _n_steps(self):
        return None

    def _find_anchors(self, points, step):
        found = self._round(points, step)
        self.candidate_indices_ = found.candidates
        self.ellipsoid_, self.reduced_dim_ = found.ellipsoid.shape, len(found.reduced.sizes)
        self.reduced_points_ = found.reduced.coordinates
        self.duality_gap_ = found.ellipsoid.gap
        self.contact_values_ = found.ellipsoid.contact
        self.dual_weights_ = found.ellipsoid.weights
        return select_anchors(
            points, found.candidates, self.n_components, self.selector, self.random_state
        )

    def _place(self, kept, n_points):
        self.candidate_indices_ = kept[self.candidate_indices_]
        for name in ("contact_values_", "dual_weights_"):
            everywhere = np.zeros(n_points)
            everywhere[kept] = getattr(self, name)
            setattr(self, name, everywhere)

    def _round(self, points, step) -> Rounding:
        """Draw the ellipsoid, in more dimensions while it touches too few points (Algorithm 2)."""
        r, asked = self.n_components, self.reduced_dim or self.n_components
        if is_zero(points):
            raise rank_error(r, 0, points.shape)
        reduced = reduced_points(
            points, max(r, asked), solver=self.svd_solver, random_state=self.random_state
        )
        rank = len(reduced.sizes)
        if rank < r:
            raise rank_error(r, rank, points.shape)
        if rank < asked:
            warn_of_smaller_rank(asked, rank)
        self.n_iter_ = 0
        # Algorithm 2: Lemma 11 has at least d active points, so that it ends
        for d in range(min(asked, rank), rank + 1):
            stop = Stop.at_gap(self.mvee_tol, d, max(self.max_iter - self.n_iter_, 1))
            found = round_points(reduced, d, stop, self.active_tol, step)
            self.n_iter_ += found.ellipsoid.n_iter
            if len(found.candidates) >= r:  # Algorithm 2, step 2
                break
        self.n_iter_ = max(self.n_iter_, 1)
        step()
        if not found.ellipsoid.converged:
            warnings.warn(
                f"The duality gap of the ellipsoid is {found.ellipsoid.gap:.3g} after "
                f"{self.n_iter_} steps, above mvee_tol={self.mvee_tol:.3g}, or points with weight "
                "are not on its boundary. Raise max_iter, or mvee_tol.",
                ConvergenceWarning,
                stacklevel=5,
            )
        return found
