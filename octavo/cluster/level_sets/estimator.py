"""`LevelSetSpectralClustering`: clusters are connected regions where the density is high.

Reference: Pelletier and Pudlo (2011), "Operator norm convergence of spectral clustering on level
sets", Journal of Machine Learning Research 12.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from joblib import effective_n_jobs
from scipy.spatial import cKDTree
from sklearn.base import ClusterMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from octavo.cluster.level_sets.assignment import component_distances, nearest_gap
from octavo.cluster.level_sets.densities import GivenDensities
from octavo.cluster.level_sets.extraction import LevelSet, at_or_above, extract
from octavo.cluster.level_sets.given_distances import (
    DistanceDensities,
    gaps_between,
    nearest_of,
    read_distances,
    scale_of_distances,
    stored_distances,
    within,
)
from octavo.cluster.level_sets.kernels import ROUGH, SMOOTH, compact_kernel
from octavo.cluster.level_sets.partition import (
    extension,
    features_of,
    partition,
    stray_points,
)
from octavo.cluster.level_sets.scales import affinity_of, default_scale, neighbours_for
from octavo.cluster.level_sets.trees import sweep
from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.graphs.radius import cross_distances, nearby_order, radius_graph
from octavo.engine.spectral.embedding import normalized_graph

__all__ = ["LevelSetSpectralClustering"]

LEVELS_TRIED = 19  # quantiles from 0 to 90 % among which excess mass chooses
PREDICT_ROWS = 20_000  # new rows at a time


class LevelSetSpectralClustering(CallbackSupportMixin, ClusterMixin, SoundEstimator):
    """Spectral clustering of the rows where the density is high; the others are noise.

    A cluster is a connected component of the set on which the density is at least a level
    (Hartigan 1975). Rows of lower estimated density get the label -1. The others are clustered by
    eigenvectors of a random walk that steps no farther than `h`. While `h` is less than the gap
    between clusters these are the components of the neighbourhood graph; unlike that graph, the
    eigenvectors still tell clusters apart where `h` is somewhat larger (Theorem 10).

    Use it for clusters of any shape in few columns, with background noise. Do not use it in many
    columns, where no density can be estimated (a warning tells of more than six), nor where
    clusters are dense and thin at once in different places: one level and one `h` serve all; there
    scikit-learn's HDBSCAN is the better choice.

    Parameters
    ----------
    n_clusters : int or {"auto", "eigengap", "concentration"}, default="auto"
        The number of clusters. ``"auto"`` counts the components of the neighbourhood graph, and
        further eigenvalues that are 1 up to `eig_tol` if the next is at least 1/√eig_tol times as
        far from 1. ``"eigengap"`` takes the largest difference of successive eigenvalues,
        ``"concentration"`` the number for which the eigenvectors gather best around axes
        (Zelnik-Manor and Perona 2004).
    level : float or "excess_mass", optional
        The level of the density, in its units. ``"excess_mass"`` is the quantile at which most of
        the mass above the level lies outside the heaviest component. By default `drop_fraction`
        decides.
    drop_fraction : float, default=0.1
        The fraction of rows of lowest density that become noise; 0 keeps all.
    density : {"kde", "knn"} or callable, default="kde"
        A Gaussian kernel density, one from the distance to the ⌈√n⌉-th neighbour, or a function
        that maps points (n, d) to densities (n,).
    bandwidth : float or {"scott", "silverman", "cv"}, default="scott"
        Of the kernel density, in the units of X.
    h : float or "auto", default="auto"
        The range of the similarity, in the units of X. By default thrice the 95 % quantile of the
        distances to the ⌈log n⌉-th neighbour, or less where too many pairs would be joined; rows
        in components of no more than ⌈log n⌉ points then become noise.
    kernel : {"triweight", "wendland", "bump", "epanechnikov", "flat"}, default="triweight"
        See `compact_kernel`.
    embed : {"row_normalized", "d_orthonormal"}, default="row_normalized"
        Rows of the eigenvectors of length one, so that clusters lie √2 apart; or as they are,
        which draws k-means to small clusters.
    assign_labels : {"kmeans", "linkage"}, default="kmeans"
        How clusters are found among the rows of eigenvectors: k-means, or single linkage.
    eig_tol : float, default=1e-2
        How near 1 an eigenvalue counts as 1 with ``n_clusters="auto"``.
    assign_noise : bool, default=False
        Whether rows below the level get the cluster that the eigenvectors' extension, or else the
        nearest clustered row, gives them.
    n_jobs : int, optional
        Threads of neighbour searches.
    random_state : int, RandomState instance or None, default=None
        For k-means, and for the rows that stand for all in the density of very many rows in more
        than three columns.
    metric : {"euclidean", "precomputed"}, default="euclidean"
        ``"precomputed"``: X is a square matrix of distances, dense, or sparse with the near pairs
        alone; pairs that it does not hold are farther apart than any `h`. Densities then are sums
        of Gaussians without units (`bandwidth`: a number, or by default the median distance to the
        ⌈√n⌉-th neighbour) or 1 over that distance; a function gets rows of distances, as CSR.

    Attributes
    ----------
    labels_ : ndarray of int of shape (n_samples,)
        Clusters in the order in which rows show them; -1 for noise.
    core_sample_indices_ : ndarray of int of shape (n_kept,)
        Rows that were clustered.
    density_ : ndarray of shape (n_samples,)
        Estimated density of every row.
    level_ : float
        The level.
    bandwidth_ : float
        Of the kernel density; nan for other densities.
    h_ : float
        The range of the similarity.
    eigenvalues_ : ndarray of shape (m,)
        Leading eigenvalues of the random walk, at least one more than clusters where there is one.
    embedding_ : ndarray of shape (n_kept, n_clusters_)
        Points in feature space.
    n_clusters_ : int
        The number of clusters.
    n_components_graph_ : int
        Components of the neighbourhood graph of the clustered rows.
    d_min_estimate_ : float
        The least distance of rows in different clusters; infinite for one cluster.
    n_features_in_ : int
        Number of columns.

    References
    ----------
    .. [1] Pelletier and Pudlo (2011). Operator norm convergence of spectral clustering on level
       sets. Journal of Machine Learning Research 12.
    .. [2] Zelnik-Manor and Perona (2004). Self-tuning spectral clustering. NIPS 17.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.metrics import adjusted_rand_score
    >>> from octavo.cluster import LevelSetSpectralClustering
    >>> moons, y = make_moons(1500, noise=0.05, random_state=0)
    >>> noise = np.random.default_rng(0).uniform([-1.5, -1.0], [2.5, 1.5], size=(500, 2))
    >>> model = LevelSetSpectralClustering(drop_fraction=0.3, bandwidth=0.1)
    >>> labels = model.fit_predict(np.vstack([moons, noise]))[:1500]
    >>> print(model.n_clusters_, round(adjusted_rand_score(y[labels >= 0], labels[labels >= 0]), 3))
    2 1.0
    """

    _parameter_constraints: ClassVar[dict] = {
        "n_clusters": [
            Interval(Integral, 1, None, closed="left"),
            StrOptions({"auto", "eigengap", "concentration"}),
        ],
        "level": [None, Interval(Real, 0, None, closed="left"), StrOptions({"excess_mass"})],
        "drop_fraction": [Interval(Real, 0, 1, closed="left")],
        "density": [StrOptions({"kde", "knn"}), callable],
        "bandwidth": [
            Interval(Real, 0, None, closed="neither"),
            StrOptions({"scott", "silverman", "cv"}),
        ],
        "h": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "kernel": [StrOptions(set(SMOOTH | ROUGH))],
        "embed": [StrOptions({"row_normalized", "d_orthonormal"})],
        "assign_labels": [StrOptions({"kmeans", "linkage"})],
        "eig_tol": [Interval(Real, 0, 1, closed="left")],
        "assign_noise": ["boolean"],
        "n_jobs": [None, Integral],
        "metric": [StrOptions({"euclidean", "precomputed"})],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_clusters: int | str = "auto",
        *,
        level: float | str | None = None,
        drop_fraction: float = 0.1,
        density: str | Callable[[Any], Any] = "kde",
        bandwidth: float | str = "scott",
        h: float | str = "auto",
        kernel: str = "triweight",
        embed: str = "row_normalized",
        assign_labels: str = "kmeans",
        eig_tol: float = 1e-2,
        assign_noise: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        metric: str = "euclidean",
    ) -> None:
        self.n_clusters = n_clusters
        self.level = level
        self.drop_fraction = drop_fraction
        self.density = density
        self.bandwidth = bandwidth
        self.h = h
        self.kernel = kernel
        self.embed = embed
        self.assign_labels = assign_labels
        self.eig_tol = eig_tol
        self.assign_noise = assign_noise
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.metric = metric

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        tags.input_tags.sparse = self.metric == "precomputed"
        return tags

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the rows of high density and cluster them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows; or the distances of all pairs of rows, see `metric`.
        y : None
            Not used.

        Returns
        -------
        self : LevelSetSpectralClustering
            The fitted estimator.
        """
        given = "csr" if self.metric == "precomputed" else False
        X = validate_data(
            self, X, dtype=np.float64, order="C", ensure_min_samples=2, accept_sparse=given
        )
        rng = check_random_state(self.random_state)
        kernel = compact_kernel(self.kernel)
        if given:
            return self._fit_distances(X, kernel, rng)
        workers = effective_n_jobs(self.n_jobs)
        with FitProgress(self, 4, X, step_name="step") as progress:
            found = self._level_set(X, rng, workers)
            progress.step()
            kept = self._enough(found.kept)
            kept = kept[nearby_order(X[kept])]
            points = np.ascontiguousarray(X[kept])
            h = default_scale(points, workers) if isinstance(self.h, str) else float(self.h)
            affinity = affinity_of(points, h, kernel)
            graph = normalized_graph(affinity)
            self._tell_isolated(graph.components, lambda: default_scale(points), h)
            stray = stray_points(
                graph.components, always=isinstance(self.h, str), n_clusters=self.n_clusters
            )
            if stray.any():
                kept = self._enough(kept[~stray])
                points = np.ascontiguousarray(points[~stray])
                graph = normalized_graph(affinity[~stray][:, ~stray])
            progress.step()
            result = self._partition(
                kept,
                graph,
                h,
                rng,
                gaps=lambda c, m: component_distances(points, c, np.arange(m)),
                usual=lambda: default_scale(points),
            )
            progress.step()
            self._points = points
            self._store(found, h, kernel, kept, graph, result)
            self.d_min_estimate_ = nearest_gap(points, result.labels)
            if self.assign_noise and len(kept) < len(X):
                noise = np.flatnonzero(self.labels_ < 0)
                self.labels_[noise] = self._placed(X[noise])
            progress.step()
        return self

    def _fit_distances(self, X: Any, kernel: Any, rng: np.random.RandomState) -> Self:
        """Do as `fit`, from distances."""
        if self.level == "excess_mass":
            raise ValueError(
                "level='excess_mass' weighs masses of points; with metric='precomputed' give a "
                "number, or drop_fraction."
            )
        D = read_distances(X)
        with FitProgress(self, 4, X, step_name="step") as progress:
            found = self._level_set_of_distances(D)
            progress.step()
            kept = self._enough(found.kept)
            near = D[kept][:, kept]
            h = scale_of_distances(near) if isinstance(self.h, str) else float(self.h)
            affinity = within(near, h)
            affinity.data = kernel.of_distances(affinity.data / h)
            affinity.eliminate_zeros()
            graph = normalized_graph(affinity)
            self._tell_isolated(graph.components, lambda: scale_of_distances(near), h)
            stray = stray_points(
                graph.components, always=isinstance(self.h, str), n_clusters=self.n_clusters
            )
            if stray.any():
                kept = self._enough(kept[~stray])
                near, affinity = near[~stray][:, ~stray], affinity[~stray][:, ~stray]
                graph = normalized_graph(affinity)
            progress.step()
            result = self._partition(
                kept,
                graph,
                h,
                rng,
                gaps=lambda c, m: gaps_between(near, c, m),
                usual=lambda: scale_of_distances(near),
            )
            progress.step()
            self._kept = kept
            self._store(found, h, kernel, kept, graph, result)
            gaps = gaps_between(near, result.labels, result.n_clusters)
            np.fill_diagonal(gaps, np.inf)
            self.d_min_estimate_ = float(gaps.min())
            if self.assign_noise and len(kept) < D.shape[0]:
                noise = np.flatnonzero(self.labels_ < 0)
                self.labels_[noise] = self._placed(D[noise])
            progress.step()
        return self

    def _level_set_of_distances(self, D: Any) -> LevelSet:
        if callable(self.density):
            known: Any = GivenDensities(D, self.density)
            values, bandwidth = known.rows(), np.nan
        else:
            known = DistanceDensities(D, self.density, self.bandwidth)
            values, bandwidth = known.rows, known.bandwidth
        return at_or_above(values, self.level, self.drop_fraction, known, bandwidth)

    def _partition(self, kept: Ints, graph: Any, h: float, rng: Any, **ways: Any) -> Any:
        return partition(
            kept,
            graph,
            self.n_clusters,
            h=h,
            embed=self.embed,
            assign_labels=self.assign_labels,
            eig_tol=self.eig_tol,
            rng=rng,
            **ways,
        )

    def _level_set(self, X: Floats, rng: np.random.RandomState, workers: int) -> LevelSet:
        level = self.level
        found = extract(
            X,
            level=0.0 if isinstance(level, str) else level,
            drop_fraction=self.drop_fraction,
            density=self.density,
            bandwidth=self.bandwidth,
            rng=rng,
            workers=workers,
        )
        if not isinstance(level, str):
            return found
        tried = np.unique(np.quantile(found.density, np.linspace(0.0, 0.9, LEVELS_TRIED)))
        h = default_scale(X, workers) if isinstance(self.h, str) else float(self.h)
        graph = radius_graph(X, h)
        graph.data = np.ones_like(graph.data)
        excess = sweep(graph, found.density, tried, neighbours_for(len(X)) + 1)[3]
        t = float(tried[int(np.argmax(excess))])
        return found._replace(level=t, kept=np.flatnonzero(found.density >= t))

    def _enough(self, kept: Ints) -> Ints:
        if not isinstance(self.n_clusters, str) and len(kept) < self.n_clusters:
            raise ValueError(
                f"{len(kept)} rows are left for n_clusters={self.n_clusters}. Lower level or "
                "drop_fraction, or ask for fewer clusters."
            )
        return kept

    def _tell_isolated(self, components: Ints, usual: Callable[[], float], h: float) -> None:
        if isinstance(self.h, str):
            return
        alone = int((np.bincount(components) == 1).sum())
        if alone == 0 or len(components) == 1:
            return
        hint = f"An h of about {usual():.4g} joins most to their neighbours."
        if alone == len(components):
            raise ValueError(f"h={h:.4g} leaves all {alone} points without a neighbour. {hint}")
        warnings.warn(
            f"h={h:.4g} leaves {alone} of {len(components)} points without a neighbour: each is a "
            f"component of its own. {hint}",
            UserWarning,
            stacklevel=3,
        )

    def _store(
        self, found: LevelSet, h: float, kernel: Any, kept: Ints, graph: Any, result: Any
    ) -> None:
        self.density_, self.level_ = found.density, found.level
        self.bandwidth_, self.h_ = found.bandwidth, h
        self.eigenvalues_, self.n_clusters_ = result.values, result.n_clusters
        self._density_at, self._kernel = found.density_at, kernel
        self._vectors, self._anchors = result.vectors, result.anchors
        self._point_labels = result.labels
        self.n_components_graph_ = graph.n_components
        order = np.argsort(kept)
        self.core_sample_indices_ = kept[order]
        self.embedding_ = result.features[order]
        self.labels_ = np.full(len(found.density), -1, dtype=np.int64)
        self.labels_[kept] = result.labels

    def eigenfunctions(self, X: Any) -> Floats:
        """Return the leading eigenvectors of the random walk, extended to any points.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points; a clustered row gets its own entries of the eigenvectors.

        Returns
        -------
        values : ndarray of shape (n_samples, n_clusters_)
            Orthonormal on the clustered rows with respect to their degrees; zero where no
            clustered row is within h.
        """
        check_is_fitted(self)
        return self._extended(self._read_new(X))[0]

    def _read_new(self, X: Any) -> Any:
        """Return new points; or their distances to all rows of the fit."""
        given = "csr" if self.metric == "precomputed" else False
        X = validate_data(self, X, dtype=np.float64, order="C", reset=False, accept_sparse=given)
        return stored_distances(X) if given else X

    def _extended(self, X: Any) -> tuple[Floats, np.ndarray]:
        values = self.eigenvalues_[: self._vectors.shape[1]]
        if self.metric == "precomputed":
            near = within(X[:, self._kept], self.h_)
        else:
            near = cross_distances(X, self._points, self.h_)
        return extension(near, self._vectors, values, self.h_, self._kernel)

    def predict(self, X: Any) -> Ints:
        """Return the cluster of new rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        labels : ndarray of int of shape (n_samples,)
            By the extended eigenvectors; -1 where the density is below the level or no clustered
            row is within h, unless `assign_noise`.
        """
        check_is_fitted(self)
        X = self._read_new(X)
        n = X.shape[0]
        labels = np.full(n, -1, dtype=np.int64)
        for start in range(0, n, PREDICT_ROWS):
            rows = np.arange(start, min(start + PREDICT_ROWS, n))
            if not self.assign_noise:
                rows = rows[self._density_at(X[rows]) >= self.level_]
            if len(rows):
                labels[rows] = self._placed(X[rows])
        return labels

    def _placed(self, X: Any) -> Ints:
        """Return clusters by the extension; where nothing is within h, -1 or the nearest row's."""
        vectors, reached = self._extended(X)
        labels = self._anchors.labels_of(features_of(vectors, self.embed))
        if self.assign_noise and not reached.all():
            if self.metric == "precomputed":
                nearest = nearest_of(X[~reached][:, self._kept])
            else:
                nearest = cKDTree(self._points).query(X[~reached])[1]
            labels[~reached] = self._point_labels[nearest]
        elif not reached.all():
            labels[~reached] = -1
        return labels
