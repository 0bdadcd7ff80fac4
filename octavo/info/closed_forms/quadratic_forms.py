"""Quadratic forms in normal variables: their distribution function.

Log-likelihood ratios of normal distributions, kernel statistics under independence and many test
statistics are such forms.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.doubles import real_array
from octavo.engine.probability.quadratic_forms import quadratic_form_cdf

__all__ = ["quadform_cdf"]

LEAST_TOL = 1e-10  # what the rule reaches at any place; asking for less is asking for this


@checked
def quadform_cdf(
    x: Any, weights: Any, ncp: Any = 0.0, sigma2: float = 0.0, tol: float = 1e-9
) -> Any:
    """Return the distribution function of a quadratic form in normal variables.

    In the coordinates of its principal axes the form is Q = Σ w_l χ²_1(ν_l) + N(0, σ²), a weighted
    sum of noncentral chi-squares and a normal, with weights of any sign.

    Parameters
    ----------
    x : float or array-like
        Where to evaluate it.
    weights : array-like of shape (m,)
        Weights w; repeat one for more degrees of freedom.
    ncp : float or array-like of shape (m,), default=0.0
        Noncentrality parameters ν.
    sigma2 : float, default=0.0
        Variance of the normal part.
    tol : float, default=1e-9
        Absolute tolerance. Below 1e-10 the answer is as exact as the rule makes it, which is
        about that; a `ConvergenceWarning` tells the error where it is larger.

    Returns
    -------
    cdf : float or ndarray
        P(Q ≤ x), of the shape of x.

    Notes
    -----
    x'Mx with x normal of mean μ and covariance LL' has the eigenvalues of L'ML for weights and the
    squares of L⁻¹μ along its eigenvectors for `ncp`. `scipy.stats.ncx2` is enough where all
    weights are equal and positive.

    References
    ----------
    .. [1] Melnykov and Maitra (2011). CARP: software for fishing out good clustering algorithms.
       JMLR 12, whose overlaps are such probabilities.
    .. [2] Imhof (1961). Computing the distribution of quadratic forms in normal variables.
       Biometrika 48, whose integral it is, along another path.

    Examples
    --------
    >>> from octavo.info import quadform_cdf
    >>> print(round(quadform_cdf(3.0, [1.0, 1.0]), 6), round(quadform_cdf(0.0, [1.0, -1.0]), 6))
    0.77687 0.5
    """
    w = np.atleast_1d(real_array(weights, "weights", finite=False))
    nu = np.broadcast_to(real_array(ncp, "ncp", finite=False), w.shape)
    where = real_array(x, "x", finite=False)
    if w.ndim != 1 or not np.isfinite(w).all():
        raise ValueError("weights must be a vector of finite numbers.")
    if not np.isfinite(nu).all() or (nu < 0).any():
        raise ValueError("ncp must be finite and not negative.")
    if not (np.isfinite(sigma2) and sigma2 >= 0):
        raise ValueError(f"sigma2 must be finite and not negative; got {sigma2}.")
    if np.isnan(where).any():
        raise ValueError("x must not be NaN.")
    if not tol >= 0:
        raise ValueError(f"tol must be a number that is not negative; got {tol}.")
    # w (Z + √ν)² = w Z² + 2w√ν Z + wν, and σZ for the normal part
    a = np.append(w, 0.0)
    with np.errstate(over="ignore"):  # told below
        b = np.append(2 * w * np.sqrt(nu), np.sqrt(sigma2))
        c = np.append(w * nu, 0.0)
    if not (np.isfinite(b).all() and np.isfinite(c).all()):
        raise ValueError("weights times ncp overflows; scale x, weights and sigma2 down together.")
    flat = where.ravel()
    finite = np.isfinite(flat)
    cdf = (flat > 0).astype(float)
    shape = (int(finite.sum()), len(a))
    a, b, c = (np.broadcast_to(part, shape) for part in (a, b, c))
    cdf[finite], error = quadratic_form_cdf(flat[finite], a, b, c, tol)
    worst = error.max(initial=0.0)
    if worst > max(tol, LEAST_TOL):
        warnings.warn(
            f"The distribution function is only known to {worst:.1e}, not to tol={tol:g}.",
            ConvergenceWarning,
            stacklevel=3,
        )
    return float(cdf[0]) if where.ndim == 0 else cdf.reshape(where.shape)
