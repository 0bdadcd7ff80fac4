"""Conditional marginal likelihood of held-out rows (Section 7.1)."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from octavo.engine.estimators.checked import checked
from octavo.graphical.log_linear.queries import NetworkQueries

__all__ = ["ncmll"]


@checked
def ncmll(
    model: Any,
    X: Any,
    *,
    n_sets: int = 4,
    method: str = "gibbs",
    n_chains: int = 10,
    burn_in: int = 100,
    n_iter: int = 1100,
    eps: float = 1e-6,
    random_state: Any = None,
) -> float:
    """Return the normalised conditional marginal log-likelihood of rows.

    Variables are divided into sets; each in turn is asked for, given all others. The sum of
    log P(x_i | evidence) is divided by the number of variables, and averaged over rows.

    Parameters
    ----------
    model : network
        Any log-linear or dependency network.
    X : array-like of shape (n_samples, n_features)
        Complete rows.
    n_sets : int, default=4
        Sets of variables.
    method : {"gibbs", "exact", "mean_field", "bp"}, default="gibbs"
        How marginals are found.
    n_chains, burn_in, n_iter : int, default=10, 100, 1100
        Chains a row, sweeps that are left out, and sweeps in all, of "gibbs".
    eps : float, default=1e-6
        Probabilities are mixed with the uniform one in this share, so that none is zero.
    random_state : int, RandomState or None, default=None
        Divides the variables, and seeds "gibbs".

    Returns
    -------
    ncmll : float
        Larger is better; never above 0.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.graphical import LogLinearMarkovNetwork, ncmll
    >>> network = LogLinearMarkovNetwork([[(0, "==", 1), (1, "==", 1)]], [2.0], [2, 2])
    >>> round(ncmll(network, [[1, 1], [0, 1]], n_sets=2, method="exact", random_state=0), 3)
    -0.768
    """
    if not isinstance(model, NetworkQueries):
        raise TypeError(f"model must be a log-linear network, got {type(model).__name__}.")
    codes = model._codes(X)
    d = codes.shape[1]
    if not 1 <= n_sets <= d:
        raise ValueError(f"n_sets must lie between 1 and the {d} variables, got {n_sets!r}.")
    if not 0 <= eps < 1:
        raise ValueError(f"eps must lie between 0 and 1, got {eps!r}.")
    rng = check_random_state(random_state)
    total = 0.0
    # query sets, each given all the others
    for asked in np.array_split(rng.permutation(d), n_sets):
        hidden = codes.copy()
        hidden[:, asked] = -1
        found = model._marginals(hidden, method, n_chains, burn_in, n_iter, rng)[:, asked]
        right = np.take_along_axis(found, codes[:, asked, None], axis=2)[:, :, 0]
        # no probability of 0 where a chain has missed a state
        mixed = (1 - eps) * right + eps / model.cardinalities_[asked]
        total += float(np.log(mixed).sum())
    return total / codes.size  # Section 7.1: by variables, and a mean over rows
