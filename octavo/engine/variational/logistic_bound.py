"""Jaakkola and Jordan's quadratic bound of the logistic function, and regression with it.

log σ(x) ≥ log σ(η) + (x - η) / 2 - f(η) (x² - η²) with f(η) = tanh(η / 2) / (4 η): equality at
x = ±η. Under a Gaussian q(x) the best η is √E x², where the last term vanishes in the mean.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.lapack import dpotri
from scipy.special import log_expit

from octavo.engine.estimators.arrays import Floats


def half_curvature(eta: Floats) -> Floats:
    """Return f(η) = tanh(η / 2) / (4 η), 1/8 at zero.

    Parameters
    ----------
    eta : ndarray
        Where the bound touches.

    Returns
    -------
    f : ndarray
        Between 0 and 1/8.
    """
    eta = np.abs(eta)
    safe = np.maximum(eta, 1e-4)
    # tanh(x)/x = 1 - x²/3 + O(x⁴): below 1e-4 the next term is under 1e-17
    return np.where(eta > 1e-4, np.tanh(safe / 2) / (4 * safe), 0.125 - eta**2 / 96)


def expected_log_sigmoid(mean: Floats, second: Floats) -> tuple[Floats, Floats]:
    """Return bounds of E log σ(x) and E log σ(-x) at the best η.

    Parameters
    ----------
    mean, second : ndarray
        E x and E x².

    Returns
    -------
    log_yes, log_no : ndarray
        log σ(η) ± E x / 2 - η / 2.
    """
    eta = np.sqrt(second)
    base = log_expit(eta) - 0.5 * eta
    return base + 0.5 * mean, base - 0.5 * mean


def logistic_normal_step(
    X: Floats, weights: Floats, targets: Floats, second: Floats, precision: Floats
) -> tuple[Floats, Floats, float]:
    """Return the best Gaussian q(w) of a weighted logistic regression at η² = second.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Rows.
    weights : ndarray of shape (n,)
        How much each row counts.
    targets : ndarray of shape (n,)
        Expected answers times the weight: W T, between 0 and W.
    second : ndarray of shape (n,)
        E (w'x)² under the old q: the squares of η.
    precision : ndarray of shape (d,)
        Precisions of the prior N(0, 1 / precision).

    Returns
    -------
    mean : ndarray of shape (d,)
        Γ Σ W (T - ½) x.
    cov : ndarray of shape (d, d)
        Γ = (2 Σ W f(η) x x' + diag(precision))⁻¹.
    log_det : float
        log |Γ|.
    """
    root = np.sqrt(2.0 * weights * half_curvature(np.sqrt(second)))
    Z = X * root[:, None]
    scale = 1.0 / np.sqrt(precision)  # unit prior: the factor cannot fail for wide precisions
    A = Z.T @ Z
    A *= scale[:, None] * scale
    A.flat[:: len(scale) + 1] += 1.0
    factor, lower = cho_factor(A, lower=True, overwrite_a=True, check_finite=False)
    right = scale * (X.T @ (targets - 0.5 * weights))
    mean = scale * cho_solve((factor, lower), right, check_finite=False)
    log_det = 2.0 * float(np.log(scale).sum() - np.log(np.diagonal(factor)).sum())
    inverse, _ = dpotri(factor, lower=1, overwrite_c=1)
    cov = np.tril(inverse) + np.tril(inverse, -1).T
    cov *= scale[:, None] * scale
    return mean, cov, log_det
