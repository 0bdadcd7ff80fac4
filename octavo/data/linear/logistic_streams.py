"""Streams of labelled rows whose best linear classifier is known."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.utils import check_random_state

from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.doubles import real_array

__all__ = ["make_logistic_stream"]

DESIGNS = ("sphere", "decaying", "heavy")
SPHERE_WEIGHTS = (2.0, -1.0, 1.0, 0.0, 0.5)  # repeated for more features


@checked
def make_logistic_stream(
    n_samples: int = 10_000,
    n_features: int = 5,
    *,
    design: str = "sphere",
    coef: Any = None,
    radius: float = 1.0,
    noise: float = 0.0,
    random_state: Any = None,
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.float64]]:
    """Draw rows of bounded length with labels from a logistic model.

    Parameters
    ----------
    n_samples : int, default=10_000
        Number of rows.
    n_features : int, default=5
        Number of features.
    design : {"sphere", "decaying", "heavy"}, default="sphere"
        Rows uniform on a sphere; Gaussian with variances k⁻⁴ and cut to the radius, which leaves
        hardly any curvature in most directions; Student's t with two degrees of freedom, cut to
        the radius.
    coef : array-like of shape (n_features,), optional
        Weights of the log-odds, for rows of length one; (2, -1, 1, 0, 0.5, ...) by default.
    radius : float, default=1.0
        No row is longer.
    noise : float, default=0.0
        Label noise that no linear model has: the label of a row is flipped with
        probability ``noise`` times its length over the radius. From 0 to 1/2.
    random_state : int, RandomState instance or None, default=None
        Seeds the draws.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        The rows.
    y : ndarray of shape (n_samples,)
        Labels 0 and 1.
    coef : ndarray of shape (n_features,)
        The weights of the log-odds before the noise; the best ones if there is none.

    Examples
    --------
    >>> from octavo.data import make_logistic_stream
    >>> X, y, coef = make_logistic_stream(100, random_state=0)
    >>> X.shape, float((X**2).sum(axis=1).max().round(6)), coef.tolist()
    ((100, 5), 1.0, [2.0, -1.0, 1.0, 0.0, 0.5])
    """
    if design not in DESIGNS:
        raise ValueError(f"design must be one of {', '.join(map(repr, DESIGNS))}; got {design!r}.")
    if n_samples < 1 or n_features < 1:
        raise ValueError(
            f"n_samples and n_features must be at least 1; got {n_samples!r} and {n_features!r}."
        )
    if not 0 < radius < 1e150:
        raise ValueError(f"radius must be positive, and at most 1e150; got {radius!r}.")
    if not 0 <= noise <= 0.5:
        raise ValueError(f"noise must lie between 0 and 1/2; got {noise!r}.")
    rng = check_random_state(random_state)
    theta = np.resize(SPHERE_WEIGHTS, n_features) if coef is None else real_array(coef, "coef")
    if theta.shape != (n_features,):
        raise ValueError(f"coef must have shape ({n_features},), got {theta.shape}.")
    if design == "heavy":
        X = rng.standard_t(2, size=(n_samples, n_features))
    else:
        X = rng.normal(size=(n_samples, n_features))
    if design == "decaying":
        X *= np.arange(1.0, n_features + 1.0) ** -2.0  # standard deviations; variances are k⁻⁴
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    lengths[lengths == 0.0] = 1.0
    X /= lengths if design == "sphere" else np.maximum(1.0, lengths)
    length = np.linalg.norm(X, axis=1)
    y = rng.uniform(size=n_samples) < expit(X @ theta)
    flipped = rng.uniform(size=n_samples) < noise * length
    return radius * X, (y ^ flipped).astype(np.int64), theta / radius
