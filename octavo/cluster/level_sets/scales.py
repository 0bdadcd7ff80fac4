"""The range h of the similarity: a default, the affinity, and eigenvalues along a path of h."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from octavo.cluster.level_sets.counting import count_near_one
from octavo.cluster.level_sets.extraction import extract
from octavo.cluster.level_sets.kernels import CompactKernel, compact_kernel
from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.doubles import real_array
from octavo.engine.estimators.samples import as_sample
from octavo.engine.graphs.radius import mean_neighbours, radius_graph
from octavo.engine.probability.neighbours import neighbour_distances
from octavo.engine.spectral.embedding import embed_graph, normalized_graph

__all__ = ["ScalePath", "scale_path"]

FACTORS = (3.0, 2.5, 2.0, 1.6, 1.3, 1.1)  # times the 95 % quantile of neighbour distances
QUANTILES = (0.95, 0.75, 0.5)
ENTRIES = 8_000_000  # of the affinity: what 100,000 rows can bear
ASKING = 5000  # rows that tell neighbour distances
COUNTED = 300  # rows that tell how many neighbours there are
LOOK_TOL = 1e-3  # residual of eigenvectors of which only the eigenvalues are looked at


def neighbours_for(n: int) -> int:
    """Return ⌈log n⌉, the neighbours that keep a random neighbourhood graph in one piece."""
    # neighbourhood graphs of fewer break
    return max(1, min(n - 1, int(np.ceil(np.log(max(n, 2))))))


def default_scale(X: Floats, workers: int = 1) -> float:
    """Return h: thrice the 95 % quantile of distances to the ⌈log n⌉-th neighbour.

    Less where that would join too many pairs: down to 1.1 times, then to lower quantiles.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        The kept points.
    workers : int, default=1
        Threads of the search.

    Returns
    -------
    float
        In the units of X; 1 where all points are equal.
    """
    n = len(X)
    if n < 2:
        return 1.0
    order = np.random.default_rng(0).permutation(n)
    k = neighbours_for(n)
    if n <= ASKING:
        reach = neighbour_distances(X, k, workers=workers)[:, -1]
    else:
        asking = np.ascontiguousarray(X[order[:ASKING]])
        reach = neighbour_distances(asking, k + 1, Y=X, workers=workers)[:, -1]
    if reach.max() == 0.0:
        spread = float((X.max(axis=0) - X.min(axis=0)).max())
        return spread or 1.0
    reach = reach[reach > 0.0]  # duplicates say nothing of the scale
    tried = [f * float(np.quantile(reach, QUANTILES[0])) for f in FACTORS]
    tried += [float(np.quantile(reach, q)) for q in QUANTILES]
    for h in tried[:-1]:
        if n * n <= ENTRIES or n * mean_neighbours(X, h, order[:COUNTED]) <= ENTRIES:
            return h
    return tried[-1]


def affinity_of(X: Floats, h: float, kernel: CompactKernel) -> sp.csr_array:
    """Return K_ij = k(|x_i - x_j| / h), with its diagonal of ones (section 2.2)."""
    graph = radius_graph(X, h)
    graph.data /= h
    graph.data = kernel.of_distances(graph.data)
    graph.eliminate_zeros()
    return graph


class ScalePath(NamedTuple):
    """Eigenvalues along a path of h.

    Attributes
    ----------
    hs : ndarray of shape (m,)
        The scales.
    eigenvalues : ndarray of shape (m, n_eigenvalues)
        A row for each scale, from 1 down.
    n_components : ndarray of int of shape (m,)
        Components of the neighbourhood graph.
    n_clusters : ndarray of int of shape (m,)
        Eigenvalues that are 1 up to `eig_tol`, apart from the next.
    plateau : tuple of float
        The ends of the longest run of scales, in log h, with one number of clusters above one;
        (nan, nan) where there is none.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.cluster import scale_path
    >>> X = np.concatenate([np.linspace(0, 1, 50), np.linspace(2, 3, 50)])[:, None]
    >>> print(scale_path(X, [0.1, 0.5, 2.0]).n_clusters.tolist())
    [2, 2, 1]
    """

    hs: Floats
    eigenvalues: Floats
    n_components: Ints
    n_clusters: Ints
    plateau: tuple[float, float]


@checked
def scale_path(
    X: ArrayLike,
    hs: ArrayLike,
    *,
    n_eigenvalues: int = 10,
    kernel: str = "triweight",
    level: float | None = None,
    drop_fraction: float = 0.0,
    density: Any = "kde",
    bandwidth: Any = "scott",
    eig_tol: float = 1e-2,
) -> ScalePath:
    """Return the leading eigenvalues of the random walk for every h of a path.

    While h is less than the gap between clusters, as many eigenvalues are 1 as there are clusters
    (Theorem 7); a little beyond they are still near 1 and apart from the rest (Theorem 10). The
    plateau of that number over h tells how many clusters there are and which h shows them.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The points; all of them, unless `level` or `drop_fraction` says otherwise.
    hs : array-like of shape (m,)
        Scales, positive and increasing, in the units of X.
    n_eigenvalues : int, default=10
        How many for each.
    kernel : {"triweight", "wendland", "bump", "epanechnikov", "flat"}, default="triweight"
        See `compact_kernel`.
    level : float, optional
        Points of lower density are left out first.
    drop_fraction : float, default=0.0
        Without `level`, the fraction of points of lowest density that are left out.
    density, bandwidth : default="kde", "scott"
        As in `LevelSetSpectralClustering`.
    eig_tol : float, default=1e-2
        How near 1 an eigenvalue must be.

    Returns
    -------
    path : ScalePath
        ``eigenvalues`` has a row for each h.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from octavo.cluster import scale_path
    >>> X, _ = make_moons(500, noise=0.05, random_state=0)
    >>> path = scale_path(X, [0.2, 0.3, 0.4], n_eigenvalues=3)
    >>> print(path.eigenvalues.round(3))
    [[1.    1.    0.998]
     [1.    1.    0.995]
     [1.    1.    0.991]]
    """
    points = as_sample(X, allow_complex=False)
    scales = real_array(hs, "hs")
    if scales.ndim != 1 or not scales.size or (scales <= 0).any() or (np.diff(scales) <= 0).any():
        raise ValueError(
            f"hs must be a list of positive, increasing scales; got {np.asarray(hs)!r}."
        )
    if not n_eigenvalues >= 1:
        raise ValueError(f"n_eigenvalues must be at least 1; got {n_eigenvalues}.")
    if not 0.0 <= eig_tol < 1.0:
        raise ValueError(f"eig_tol must be from 0 to 1; got {eig_tol}.")
    if level is not None or drop_fraction > 0.0:
        check_fraction(drop_fraction)
        found = extract(
            points, level=level, drop_fraction=drop_fraction, density=density, bandwidth=bandwidth
        )
        points = points[found.kept]
    shape_of = compact_kernel(kernel)
    wanted = min(int(n_eigenvalues), len(points))
    values = np.empty((len(scales), wanted))
    counts = np.empty((2, len(scales)), dtype=np.int64)
    for i, h in enumerate(scales):
        graph = normalized_graph(affinity_of(points, float(h), shape_of))
        n_components = graph.n_components
        leading = embed_graph(graph, wanted).values
        values[i] = leading[:wanted]
        counts[:, i] = n_components, count_near_one(leading, n_components, eig_tol)
    return ScalePath(scales, values, counts[0], counts[1], _plateau(scales, counts[1]))


def check_fraction(drop_fraction: float) -> None:
    """Refuse fractions that leave nothing."""
    if not 0.0 <= drop_fraction < 1.0:
        raise ValueError(f"drop_fraction must be at least 0 and below 1; got {drop_fraction}.")


def _plateau(scales: Floats, counts: Ints) -> tuple[float, float]:
    """Return the ends of the longest run of one count above one, in log h."""
    best, found = 0.0, (np.nan, np.nan)
    start = 0
    for i in range(1, len(scales) + 1):
        if i < len(scales) and counts[i] == counts[start]:
            continue
        length = float(np.log(scales[i - 1] / scales[start])) + np.finfo(float).tiny
        if counts[start] > 1 and length > best:
            best, found = length, (float(scales[start]), float(scales[i - 1]))
        start = i
    return found
