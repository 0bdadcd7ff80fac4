"""Streams of chunks ``(X, y)``, and scores of rows a block at a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from octavo.engine.streams import passes as streams


def is_chunk_stream(X: Any) -> bool:
    """Tell an iterable of (X, y) chunks from a table."""
    if streams.is_sparse(X) or hasattr(X, "__array__") or hasattr(X, "shape"):
        return False
    if isinstance(X, Sequence):  # a table may be a list of rows
        return len(X) == 0 or (isinstance(X[0], tuple) and len(X[0]) == 2 and np.ndim(X[0][0]) > 0)
    return isinstance(X, Iterable) and not isinstance(X, dict)


def linear_scores(X, weights: np.ndarray, n_features: int) -> np.ndarray:
    """Return the scores of rows under weight vectors, whose last may be an intercept."""
    scores = np.empty((X.shape[0], len(weights)))
    size = X.shape[0]
    if X.dtype == np.float32:  # the product converts to float64: a block at a time
        size = max(1, streams.BLOCK // max(1, n_features))
    for start in range(0, X.shape[0], max(1, size)):
        scores[start : start + size] = X[start : start + size] @ weights[:, :n_features].T
    if weights.shape[1] > n_features:
        scores += weights[:, -1]
    return scores
