"""Spectral clustering of very many rows, by means that stand for them.

Reference: Yan, Huang and Jordan (2009), "Fast approximate spectral clustering", KDD, algorithm 2.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.cluster import MiniBatchKMeans
from sklearn.utils import check_random_state

from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.samples import as_sample
from octavo.engine.spectral.normalized_affinity import spectral_labels

__all__ = ["fast_spectral_clusters"]


@checked
def fast_spectral_clusters(
    X: ArrayLike,
    n_clusters: int,
    *,
    n_representatives: int = 500,
    bandwidth: float | None = None,
    random_state: Any = None,
) -> np.ndarray:
    """Cluster very many rows: k-means to representatives, spectral clustering of those.

    Linear in the number of rows. To group very many coordinates of a signal, whose pairwise
    dependence cannot be computed, let row i be what tells the group of coordinate i, such as
    its squares over time.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
        What is clustered.
    n_clusters : int
        The number of clusters.
    n_representatives : int, default=500
        How many means stand for the rows.
    bandwidth : float, default=None
        Of the Gaussian affinity of representatives; None for the median distance of a
        representative to its third neighbour.
    random_state : int, RandomState instance or None, default=None
        Seed of k-means.

    Returns
    -------
    labels : ndarray of shape (n_rows,)
        The cluster of every row.

    References
    ----------
    .. [1] Yan, Huang and Jordan (2009). Fast approximate spectral clustering. KDD, algorithm 2.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.cluster import fast_spectral_clusters
    >>> t = np.random.default_rng(0).uniform(0, 6.28, size=5000)
    >>> rings = np.column_stack([np.cos(t), np.sin(t)]) * np.where(t < 3.14, 1, 5)[:, None]
    >>> labels = fast_spectral_clusters(rings, 2, n_representatives=50, random_state=0)
    >>> len(set(labels[t < 3.14].tolist()))
    1
    """
    rows = as_sample(X, allow_complex=False)
    n_means = min(n_representatives, len(rows))
    if not 1 <= n_clusters <= n_means:
        raise ValueError(
            f"n_clusters must be between 1 and the {n_means} representatives, got {n_clusters}."
        )
    rng = check_random_state(random_state)
    if n_means == len(rows):
        nearest, means = np.arange(len(rows)), rows
    else:
        model = MiniBatchKMeans(
            n_means, batch_size=max(1024, 4 * n_means), n_init=1, max_iter=20, random_state=rng
        ).fit(rows)
        nearest, means = model.labels_, model.cluster_centers_
    distances = np.sqrt(np.maximum(((means[:, None] - means[None]) ** 2).sum(axis=2), 0.0))
    if bandwidth is None:
        bandwidth = float(np.median(np.sort(distances, axis=1)[:, min(3, n_means - 1)])) or 1.0
    affinity = np.exp(-0.5 * (distances / bandwidth) ** 2)
    np.fill_diagonal(affinity, 0.0)
    return spectral_labels(affinity, n_clusters, rng)[nearest]
