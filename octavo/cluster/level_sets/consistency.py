"""What the theorems promise as samples grow: an experiment to watch them (Theorems 4, 7 and 10)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import pdist
from sklearn.metrics import adjusted_rand_score
from sklearn.utils import check_random_state

from octavo.cluster.level_sets.estimator import LevelSetSpectralClustering
from octavo.cluster.level_sets.extraction import extract
from octavo.cluster.level_sets.kernels import compact_kernel
from octavo.cluster.level_sets.partition import extension
from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.estimators.checked import checked
from octavo.engine.graphs.radius import cross_distances

__all__ = ["ConsistencyCurve", "consistency_curve"]

N_WAVES = 50  # test functions
N_PLACES = 300  # points at which operators are compared
DIAMETER_ROWS = 1000  # of a cluster that are compared pair by pair


class ConsistencyCurve(NamedTuple):
    """What was seen at each size of sample.

    Attributes
    ----------
    sizes : ndarray of int of shape (m,)
        Rows.
    adjusted_rand : ndarray of shape (m,)
        Agreement of the clustered rows with the truth.
    diameters : ndarray of shape (m,)
        The largest distance in feature space of two rows of one cluster.
    operator_gaps : ndarray of shape (m,)
        The largest |Q_n g(x) - Q g(x)| over smooth functions g of norm one and points x of the
        level set, Q that of a large sample.

    Examples
    --------
    >>> from octavo.cluster import ConsistencyCurve
    >>> print(ConsistencyCurve._fields)
    ('sizes', 'adjusted_rand', 'diameters', 'operator_gaps')
    """

    sizes: Ints
    adjusted_rand: Floats
    diameters: Floats
    operator_gaps: Floats


def plane_waves(points: Floats, scale: float, rng: np.random.RandomState) -> Callable[..., Floats]:
    """Return functions cos(w'x + b)/(1 + |w|): sup norm and gradient add up to at most one."""
    d = points.shape[1]
    directions = rng.normal(size=(d, N_WAVES)) / scale
    phases = rng.uniform(0, 2 * np.pi, size=N_WAVES)
    # ||g|| + ||Dg|| of cos(w'x + b) is at most 1 + |w|
    size = 1.0 + np.linalg.norm(directions, axis=0)
    return lambda x: np.cos(x @ directions + phases) / size


def walk_of(points: Floats, places: Floats, waves: Any, h: float, kernel: Any) -> Floats:
    """Return Q_n g at some places for every test function g: means of g over the next step."""
    functions = waves(points)
    near = cross_distances(places, points, h)
    return extension(near, functions, np.ones(functions.shape[1]), h, kernel)[0]


def widest_cluster(features: Floats, labels: Ints) -> float:
    """Return the largest distance of two rows of one cluster, on at most a thousand of each."""
    widths = [0.0]
    for label in np.unique(labels):
        rows = features[labels == label]
        rows = rows[:: max(1, len(rows) // DIAMETER_ROWS)]
        if len(rows) > 1:
            widths.append(float(pdist(rows).max()))
    return max(widths)


@checked
def consistency_curve(
    draw: Callable[[int, Any], tuple[ArrayLike, ArrayLike]],
    sizes: Sequence[int] = (250, 500, 1000, 2000, 4000),
    *,
    n_clusters: int | str = "auto",
    level: float | None = None,
    density: Any = "kde",
    h: float = 1.0,
    kernel: str = "triweight",
    n_reference: int = 20_000,
    random_state: Any = None,
) -> ConsistencyCurve:
    """Cluster growing samples of one distribution and watch them settle.

    Parameters
    ----------
    draw : callable
        Maps a size and a RandomState to points (size, d) and their true clusters (size,).
    sizes : sequence of int, default=(250, 500, 1000, 2000, 4000)
        Sizes of the samples.
    n_clusters, level, density, h, kernel : default="auto", None, "kde", 1.0, "triweight"
        As in `LevelSetSpectralClustering`; one h for all sizes, as the theorems have it.
    n_reference : int, default=20000
        Rows of the sample that stands for the limit.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws.

    Returns
    -------
    curve : ConsistencyCurve
        One entry a size.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.cluster import consistency_curve
    >>> def two_normals(n, rng):
    ...     y = rng.randint(2, size=n)
    ...     return rng.normal(6.0 * y)[:, None], y
    >>> curve = consistency_curve(two_normals, [200, 3200], n_clusters=2, h=1.5, random_state=0)
    >>> print(curve.adjusted_rand.round(2).tolist())
    [1.0, 1.0]
    >>> print(curve.operator_gaps[1] < curve.operator_gaps[0])
    True
    """
    if len(sizes) == 0 or min(sizes) < 2 or n_reference < 2:
        raise ValueError(f"sizes and n_reference must be at least 2; got {sizes}, {n_reference}.")
    rng = check_random_state(random_state)
    shape_of = compact_kernel(kernel)
    settings = {"level": level, "density": density, "h": h, "kernel": kernel, "random_state": rng}

    def clustered(n: int) -> tuple[Any, Floats, Any]:
        X, y = draw(int(n), rng)
        points = np.asarray(X, dtype=np.float64)
        model = LevelSetSpectralClustering(n_clusters, **settings).fit(points)
        return model, points[model.core_sample_indices_], np.asarray(y)

    many = np.asarray(draw(int(n_reference), rng)[0], dtype=np.float64)
    limit = many[extract(many, level=level, density=density, rng=rng).kept]
    waves = plane_waves(limit, h, rng)
    places = limit[rng.permutation(len(limit))[:N_PLACES]]
    target = walk_of(limit, places, waves, h, shape_of)
    found = []
    for n in sizes:
        model, points, y = clustered(n)
        core = model.core_sample_indices_
        # Theorem 4, on a set of test functions
        gap = np.abs(walk_of(points, places, waves, h, shape_of) - target).max()
        score = adjusted_rand_score(y[core], model.labels_[core])
        # Theorem 7
        found.append((score, widest_cluster(model.embedding_, model.labels_[core]), gap))
    return ConsistencyCurve(np.asarray(sizes), *np.array(found, dtype=np.float64).T)
