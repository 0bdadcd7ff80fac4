"""Two regimes of a response that one of many correlated covariates chooses between."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import norm
from sklearn.utils import check_random_state

from octavo.engine.estimators.checked import checked

__all__ = ["make_two_regimes", "two_regimes_density", "two_regimes_mean"]

TAU, FIRST, SECOND = 2.0, 4.0, 6.0


def regime_chance(X: Any) -> Any:
    """Return the probability of the first regime."""
    x = np.asarray(X, dtype=np.float64)[:, 0]
    logs = 0.5 * TAU**2 * ((x - FIRST) ** 2 - (x - SECOND) ** 2)
    return 1.0 / (1.0 + np.exp(np.clip(logs, -700, 700)))


@checked
def make_two_regimes(
    n_samples: int = 200, n_features: int = 5, *, random_state: Any = None
) -> tuple[Any, Any]:
    """Return covariates in two correlated groups, and a response that hangs on the first alone.

    Parameters
    ----------
    n_samples : int, default=200
        Number of rows.
    n_features : int, default=5
        Number of covariates: N(4, 4) each, with covariance 3.5 within the first, second, fourth,
        sixth ... and within the third, fifth, seventh ..., and 0 between both groups.
    random_state : int, RandomState instance or None, default=None
        Seeds the draws.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Covariates.
    y : ndarray of shape (n_samples,)
        N(x1, 1/16) with the probability p(x1), which falls from one to zero around 5, else
        N(4.5 + 0.1 x1, 1/8).

    Examples
    --------
    >>> from octavo.data import make_two_regimes
    >>> X, y = make_two_regimes(10, 3, random_state=0)
    >>> X.shape, y.shape
    ((10, 3), (10,))
    """
    for name, value in (("n_samples", n_samples), ("n_features", n_features)):
        if value < 1:
            raise ValueError(f"{name} must be at least 1; got {value}.")
    rng = check_random_state(random_state)
    group = np.array([0 if h == 0 or h % 2 == 1 else 1 for h in range(n_features)])
    shared = rng.normal(size=(n_samples, 2))[:, group]
    own = rng.normal(size=(n_samples, n_features))
    X = 4.0 + np.sqrt(3.5) * shared + np.sqrt(0.5) * own
    first = rng.uniform(size=n_samples) < regime_chance(X)
    noise = rng.normal(size=n_samples)
    y = np.where(first, X[:, 0] + 0.25 * noise, 4.5 + 0.1 * X[:, 0] + np.sqrt(0.125) * noise)
    return X, y


@checked
def two_regimes_mean(X: Any) -> Any:
    """Return the true mean of y given x of `make_two_regimes`.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Covariates.

    Returns
    -------
    mean : ndarray of shape (n_samples,)
        p x1 + (1 - p) (4.5 + 0.1 x1).

    Examples
    --------
    >>> from octavo.data import two_regimes_mean
    >>> two_regimes_mean([[5.0]]).tolist()
    [5.0]
    """
    X = np.atleast_2d(np.asarray(X, dtype=np.float64))
    p, x = regime_chance(X), X[:, 0]
    return p * x + (1.0 - p) * (4.5 + 0.1 * x)


@checked
def two_regimes_density(X: Any, y_grid: Any) -> Any:
    """Return the true density of y given x of `make_two_regimes` on a grid.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Covariates.
    y_grid : array-like of shape (n_grid,)
        Responses.

    Returns
    -------
    density : ndarray of shape (n_samples, n_grid)
        A mixture of two normal laws.

    Examples
    --------
    >>> from octavo.data import two_regimes_density
    >>> two_regimes_density([[2.0]], [2.0]).round(3).tolist()
    [[1.596]]
    """
    X = np.atleast_2d(np.asarray(X, dtype=np.float64))
    grid = np.atleast_1d(np.asarray(y_grid, dtype=np.float64))[None, :]
    p, x = regime_chance(X)[:, None], X[:, :1]
    return p * norm.pdf(grid, x, 0.25) + (1.0 - p) * norm.pdf(grid, 4.5 + 0.1 * x, np.sqrt(0.125))
