"""A noise level for those who know none: what successive projection leaves of the data.

A heuristic of octavo's, not of the paper: the paper's programs are given ε.
"""

from __future__ import annotations

import numpy as np

from octavo.decomposition.separable.anchor_factorization import fit_weights
from octavo.decomposition.separable.pursuits import successive_projection
from octavo.engine.estimators.arrays import Floats

__all__: list[str] = []

_MOST = 30  # trial anchors
_NOTHING = 1e-9  # of the first residual: data without noise


def _size(residual: Floats, norms: Floats, noise: str) -> float:
    """Return the residual in the norm of the noise model, the largest of all rows."""
    if noise == "frobenius":
        return float(np.linalg.norm(residual))
    if noise == "l2":
        return float(np.linalg.norm(residual, axis=1).max())
    if noise == "linf":
        return float(np.abs(residual).max())
    sizes = np.abs(residual).sum(axis=1)
    return float((sizes / norms).max() if noise == "relative" else sizes.max())


def estimate_epsilon(X: Floats, n_components: int | None, noise: str) -> float:
    """Return half of the largest residual of the rows on anchors by SPA.

    Without `n_components` the anchors are as many as stand before the largest relative drop of that
    residual, of up to 30.
    """
    norms = np.abs(X).sum(axis=1)
    X, norms = X[norms > 0], norms[norms > 0]
    rank = int(np.linalg.matrix_rank(X / norms[:, None]))
    most = min(rank, len(X), _MOST if n_components is None else n_components)
    anchors = successive_projection(X, max(most, 1))
    counts = range(1, len(anchors) + 1) if n_components is None else (len(anchors),)
    sizes = [_size(X, norms, noise)]
    for k in counts:
        basis = X[anchors[:k]]
        sizes.append(_size(X - fit_weights(X, basis).weights @ basis, norms, noise))
        if sizes[-1] <= _NOTHING * sizes[0]:
            return 0.0
    if n_components is not None:
        return 0.5 * sizes[-1]
    drops = np.diff(-np.log(sizes))
    return 0.5 * sizes[int(drops.argmax()) + 1]
