"""Label sets of a planted chain: every label pulls at the next, and each row at all of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from octavo.engine.estimators.checked import checked

__all__ = ["make_label_chain"]


@checked
def make_label_chain(
    n_samples: int = 1000,
    n_labels: int = 10,
    n_features: int = 5,
    coupling: float = 1.0,
    signal: float = 0.5,
    shuffle: bool = True,
    random_state: Any = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw label sets from chain-structured Ising models whose fields depend on the rows.

    Signs s = 2y - 1 have probability proportional to exp(sum of s_i h_i(x) + J s_i s_j over the
    edges of a chain), with h(x) = W x and standard normal x and W.

    Parameters
    ----------
    n_samples : int, default=1000
        Rows.
    n_labels : int, default=10
        Labels, at least two.
    n_features : int, default=5
        Features.
    coupling : float, default=1.0
        J, the pull between neighbours in the chain; signs alternate at random.
    signal : float, default=0.5
        Standard deviation of each label's field h_i(x).
    shuffle : bool, default=True
        Whether the chain visits the labels in random order.
    random_state : int, RandomState instance or None, default=None
        Draws all of it.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Rows.
    Y : ndarray of shape (n_samples, n_labels)
        0 and 1.
    edges : ndarray of shape (n_labels - 1, 2)
        Neighbours in the chain, i < j.

    Examples
    --------
    >>> from octavo.data import make_label_chain
    >>> X, Y, edges = make_label_chain(500, n_labels=4, shuffle=False, random_state=0)
    >>> Y.shape, edges.tolist()
    ((500, 4), [[0, 1], [1, 2], [2, 3]])
    """
    if n_samples < 1 or n_features < 1 or n_labels < 2:
        raise ValueError(
            "n_samples and n_features must be at least 1 and n_labels at least 2, got "
            f"{n_samples}, {n_features} and {n_labels}."
        )
    if not (np.isfinite(coupling) and np.isfinite(signal)):
        raise ValueError(f"coupling and signal must be finite, got {coupling} and {signal}.")
    random = check_random_state(random_state)
    place = random.permutation(n_labels) if shuffle else np.arange(n_labels)
    pulls = coupling * random.choice([-1.0, 1.0], size=n_labels - 1)
    W = signal / np.sqrt(n_features) * random.standard_normal((n_labels, n_features))
    X = random.standard_normal((n_samples, n_features))
    h = X @ W.T
    # messages from the end of the chain: half the difference that the sign before makes
    sent = np.zeros((n_samples, n_labels))
    for i in range(n_labels - 1, 0, -1):
        up, down = h[:, i] + sent[:, i] + pulls[i - 1], h[:, i] + sent[:, i] - pulls[i - 1]
        sent[:, i - 1] = 0.5 * (np.logaddexp(up, -up) - np.logaddexp(down, -down))
    signs = np.empty((n_samples, n_labels))
    before = np.zeros(n_samples)
    for i in range(n_labels):
        on = 1.0 / (1.0 + np.exp(-2.0 * (h[:, i] + sent[:, i] + before)))
        signs[:, i] = np.where(random.random_sample(n_samples) < on, 1.0, -1.0)
        before = pulls[i] * signs[:, i] if i < n_labels - 1 else before
    Y = np.empty((n_samples, n_labels), dtype=np.int64)
    Y[:, place] = (signs > 0).astype(np.int64)
    edges = np.sort(np.column_stack([place[:-1], place[1:]]), axis=1)
    return X, Y, edges
