"""An embedding that satisfies any comparisons without cycles, by construction.

Reference: B. McFee and G. Lanckriet (2011), "Learning Multi-modal Similarity", Appendix A.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import helmert

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.graphs.acyclic import topological_levels
from octavo.metric.partial_order.comparisons import check_comparisons, distinct_pairs

__all__ = ["partial_order_embedding"]


@checked
def partial_order_embedding(n: int, C: ArrayLike) -> Floats:
    """Return points whose squared distances satisfy every comparison with a margin of one.

    No features and no optimisation: pairs are put in a total order that respects the comparisons,
    their ranks are taken as squared distances, and a constant that makes them Euclidean is added to
    all. It shows that comparisons without cycles can always be satisfied; distances that nothing
    constrains mean nothing. In one dimension the same question is NP-hard (Theorem 1).

    Parameters
    ----------
    n : int
        Number of items.
    C : array-like of shape (n_comparisons, 4) or (n_comparisons, 3)
        Rows (i, j, k, l): i and j are more alike than k and l; or (i, j, k) for (i, j, i, k).

    Returns
    -------
    points : ndarray of shape (n, n - 1)
        Centred, the direction of largest variance first.

    References
    ----------
    .. [1] McFee and Lanckriet (2011). Learning Multi-modal Similarity. JMLR 12, Appendix A.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.metric import partial_order_embedding
    >>> points = partial_order_embedding(4, [[0, 1, 0, 2], [0, 2, 0, 3]])
    >>> squared = ((points[0] - points[1:]) ** 2).sum(axis=1)
    >>> np.diff(squared).round(6).tolist()
    [1.0, 1.0]
    """
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 2:
        raise ValueError(f"n must be an integer of at least 2, got {n!r}.")
    pairs, closer, farther = distinct_pairs(check_comparisons(C, int(n)))
    order, levels = topological_levels(len(pairs), closer, farther)
    if len(order) < len(pairs):
        raise ValueError(
            "C must have no cycle; "
            f"{len(pairs) - len(order)} of their {len(pairs)} pairs lie on one or behind one. "
            "clean_comparisons breaks them."
        )
    squared = np.ones((n, n))  # Algorithm 5
    np.fill_diagonal(squared, 0.0)
    i, j = pairs.T
    squared[i, j] = squared[j, i] = 1.0 + levels  # max + 1 along the topological order
    mean = squared.mean(axis=0)
    A = -0.5 * (squared - mean - mean[:, None] + mean.mean())  # -½ H Δ H
    basis = helmert(n).T  # of what is orthogonal to the constant vector, which moves no distance
    values, vectors = np.linalg.eigh(basis.T @ A @ basis)
    # Paper: A - λ_n(A) I, where λ_n ≤ 0 because the constant vector has the eigenvalue 0.
    shifted = values - min(float(values[0]), 0.0)
    return ((basis @ vectors) * np.sqrt(shifted))[:, ::-1]
