"""Closed forms where GᵀG = nI: variances, chances of a zero, and errors of ARD and group lasso.

A calculator for design: how often a group without effect is left out, and what that costs where
there is one. θ̂_LS denotes the least squares estimate of a group, Gᵀy / n.

Reference: Aravkin, Burke, Chiuso and Pillonetto (2014), JMLR 15, Section 5.1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import chndtr, gammaln, ive
from sklearn.utils.validation import check_array

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked

__all__ = ["ard_orthogonal", "eb_mse", "orthogonal_mse", "zero_probability"]

METHODS = ("pard", "group-lasso")
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(200)
_REACH = 12.0  # standard deviations on both sides of the mean that a quadrature covers


def _numbers(lowest: dict[str, float], **given: Any) -> tuple[Floats, ...]:
    """Return the arguments as float arrays that fit together; refuse what is too small."""
    arrays = []
    for name, value in given.items():
        array = np.asarray(value)
        if array.dtype.kind not in "iuf" or array.size == 0 or not np.isfinite(array).all():
            raise ValueError(f"{name} must be a finite number or an array of them, got {value!r}.")
        strict = name in ("n", "sigma2")
        if (array <= lowest[name]).any() if strict else (array < lowest[name]).any():
            bound = "greater than" if strict else "at least"
            raise ValueError(f"{name} must be {bound} {lowest[name]:g}, got {value!r}.")
        arrays.append(array.astype(np.float64))
    return np.broadcast_arrays(*arrays)


_LOWEST = {"norm": 0.0, "ls_norm": 0.0, "theta_norm": 0.0, "k": 1.0, "n": 0.0, "sigma2": 0.0}


def _check_method(method: Any) -> None:
    if not isinstance(method, str) or method not in METHODS:
        raise ValueError(f"method must be one of {METHODS}, got {method!r}.")


def _variance(norm: Any, k: Any, noise: Any, gamma: Any, method: str) -> Any:
    """Return λ̂ of groups whose least squares estimate has this norm; noise is σ²/n."""
    if method == "pard":
        # Eq. (18) with the root in the denominator: it loses no digits as γ goes to zero.
        size = 2.0 * norm**2 / (np.sqrt(k**2 + 8.0 * gamma * norm**2) + k)
    else:
        with np.errstate(divide="ignore", invalid="ignore"):
            size = np.where(norm > 0.0, norm / np.sqrt(2.0 * gamma), 0.0)  # Eq. (22)
    return np.maximum(size - noise, 0.0)


@checked
def ard_orthogonal(ls_norm, k, n, sigma2, gamma=0.0, *, method="pard"):
    """Return the variance of a group by PARD or the group lasso where GᵀG = nI.

    Parameters
    ----------
    ls_norm : float or array-like
        Norm of the group's least squares estimate, ‖G_iᵀy‖ / n.
    k : int or array-like of int
        Size of the group.
    n : float or array-like
        What GᵀG is a multiple of the identity by.
    sigma2 : float or array-like
        Variance of the noise.
    gamma : float or array-like, default=0.0
        Rate of the exponential prior; 0 is ARD.
    method : {"pard", "group-lasso"}, default="pard"
        Eq. (18) or Eq. (22). The group lasso with γ = 0 does not shrink: its variance is infinite.

    Returns
    -------
    ndarray
        λ̂, of the shape that the arguments have together.

    References
    ----------
    .. [1] Aravkin, Burke, Chiuso and Pillonetto (2014). Convex vs Non-Convex Estimators for
       Regression and Sparse Estimation. JMLR 15, Propositions 9 and 12.

    Examples
    --------
    >>> from octavo.kernel import ard_orthogonal
    >>> ard_orthogonal([0.5, 2.0], k=4, n=100, sigma2=10.0, gamma=[0.0, 0.5]).round(4)
    array([0.    , 0.7284])
    """
    _check_method(method)
    norm, k, n, sigma2, gamma = _numbers(
        _LOWEST | {"gamma": 0.0}, ls_norm=ls_norm, k=k, n=n, sigma2=sigma2, gamma=gamma
    )
    return _variance(norm, k, sigma2 / n, gamma, method)


def _threshold(k: Any, noise: Any, gamma: Any, method: str) -> Any:
    """Return the n ‖θ̂_LS‖² / σ² up to which a group is zero."""
    return (k if method == "pard" else 0.0) + 2.0 * gamma * noise  # Eq. (19), Eq. (24)


@checked
def zero_probability(theta_norm, k, n, sigma2, gamma, method="pard"):
    """Return the probability that a group is set to zero where GᵀG = nI.

    Parameters
    ----------
    theta_norm : float or array-like
        Norm of the group's true coefficients.
    k : int or array-like of int
        Size of the group.
    n : float or array-like
        What GᵀG is a multiple of the identity by.
    sigma2 : float or array-like
        Variance of the noise.
    gamma : float or array-like
        Rate of the exponential prior; 0 is ARD.
    method : {"pard", "group-lasso"}, default="pard"
        Eq. (19) or Eq. (24).

    Returns
    -------
    ndarray
        The probability, of the shape that the arguments have together.

    References
    ----------
    .. [1] Aravkin, Burke, Chiuso and Pillonetto (2014). Convex vs Non-Convex Estimators for
       Regression and Sparse Estimation. JMLR 15, Propositions 9 and 12.

    Examples
    --------
    >>> from octavo.kernel import zero_probability
    >>> zero_probability(0.0, 4, 100, 1.0, [0.0, 100.0]).round(4)
    array([0.594 , 0.8009])
    >>> zero_probability(0.0, 4, 100, 1.0, [0.0, 100.0], method="group-lasso").round(4)
    array([0.    , 0.2642])
    """
    _check_method(method)
    norm, k, n, sigma2, gamma = _numbers(
        _LOWEST | {"gamma": 0.0}, theta_norm=theta_norm, k=k, n=n, sigma2=sigma2, gamma=gamma
    )
    # ls² n/σ² is χ² of k, off centre by ‖θ‖² n/σ²
    return chndtr(_threshold(k, sigma2 / n, gamma, method), k, norm**2 * n / sigma2)


def _bessel_ratio(k: float, w: Floats) -> Floats:
    """Return I_{k/2}(w) / I_{k/2-1}(w), the mean cosine between θ̂_LS and θ given its length."""
    below = ive(0.5 * k - 1.0, w)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = ive(0.5 * k, w) / below
    return np.where(below > 1e-250, ratio, w / k)  # its first term, where w is next to nothing


def _chi_density(v: Floats, k: float, shift: float) -> Floats:
    """Return the density of the length of a unit normal vector in k dimensions off the origin."""
    order = 0.5 * k - 1.0
    if shift == 0.0:
        return np.exp((k - 1.0) * np.log(v) - 0.5 * v**2 - order * np.log(2.0) - gammaln(0.5 * k))
    # v^{k/2} shift^{-order} exp(-(v² + shift²)/2) I_order(v shift), with the exponent of ive.
    bessel = ive(order, v * shift)
    with np.errstate(divide="ignore"):
        logs = np.log(v) + order * np.log(v / shift) - 0.5 * (v - shift) ** 2 + np.log(bessel)
    return np.exp(logs)


def _one_mse(norm: float, k: float, noise: float, gamma: float, method: str) -> float:
    """Return E‖θ̂ - θ‖² of one group; θ̂ = h(‖θ̂_LS‖) θ̂_LS, by quadrature over the length."""
    shift = norm / np.sqrt(noise)
    middle = np.sqrt(k + shift**2)
    lowest = float(np.sqrt(_threshold(k, noise, gamma, method)))  # shorter ones are zero
    low, high = max(lowest, middle - _REACH), max(lowest, middle) + _REACH
    low = max(low, 1e-12 * high)
    v = 0.5 * (high - low) * (_NODES + 1.0) + low
    length = v * np.sqrt(noise)
    variance = _variance(length, k, noise, gamma, method)
    with np.errstate(invalid="ignore"):
        # Λ/(Λ + σ²/n): Eq. (5) where GᵀG = nI
        shrunk = np.where(np.isinf(variance), 1.0, variance / (variance + noise)) * length
    error = shrunk**2 - 2.0 * shrunk * norm * _bessel_ratio(k, v * shift)
    density = _chi_density(v, k, shift)
    return float(norm**2 + 0.5 * (high - low) * (_WEIGHTS @ (density * error)))


@checked
def orthogonal_mse(theta_norm, k, n, sigma2, gamma, *, method="pard"):
    """Return the mean squared error of a group's estimate where GᵀG = nI, its variance estimated.

    Unlike `eb_mse`, where variances are given, this is the error of the whole procedure: the
    expectation is over the noise, on which λ̂ depends (the curves of Figure 4).

    Parameters
    ----------
    theta_norm : float or array-like
        Norm of the group's true coefficients.
    k : int or array-like of int
        Size of the group.
    n : float or array-like
        What GᵀG is a multiple of the identity by.
    sigma2 : float or array-like
        Variance of the noise.
    gamma : float or array-like
        Rate of the exponential prior; 0 is ARD.
    method : {"pard", "group-lasso"}, default="pard"
        How the variance is estimated.

    Returns
    -------
    ndarray
        E‖θ̂ - θ‖², of the shape that the arguments have together.

    References
    ----------
    .. [1] Aravkin, Burke, Chiuso and Pillonetto (2014). Convex vs Non-Convex Estimators for
       Regression and Sparse Estimation. JMLR 15, Figure 4.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.kernel import orthogonal_mse
    >>> orthogonal_mse([0.0, np.sqrt(10.0)], 10, 1, 0.5, 0.0).round(3)  # least squares has 5
    array([0.331, 3.856])
    """
    _check_method(method)
    norm, k, n, sigma2, gamma = _numbers(
        _LOWEST | {"gamma": 0.0}, theta_norm=theta_norm, k=k, n=n, sigma2=sigma2, gamma=gamma
    )
    noise = sigma2 / n
    values = [
        _one_mse(float(a), float(b), float(c), float(d), method)
        for a, b, c, d in zip(norm.ravel(), k.ravel(), noise.ravel(), gamma.ravel())
    ]
    return np.array(values).reshape(norm.shape)


@checked
def eb_mse(lam, G, theta, sigma2):
    """Return the mean squared error of E[θ | y, λ] given λ and the true θ, Eq. (17).

    Parameters
    ----------
    lam : array-like of shape (n_columns,)
        Prior variance of each coefficient, at least 0.
    G : array-like of shape (n_rows, n_columns)
        Regressors.
    theta : array-like of shape (n_columns,)
        True coefficients.
    sigma2 : float
        Variance of the noise.

    Returns
    -------
    float
        E‖θ̂(λ) - θ‖², over the noise.

    References
    ----------
    .. [1] Aravkin, Burke, Chiuso and Pillonetto (2014). Convex vs Non-Convex Estimators for
       Regression and Sparse Estimation. JMLR 15, Proposition 7.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.kernel import eb_mse
    >>> G, theta = 3.0 * np.eye(2), np.array([1.0, 0.0])
    >>> eb_mse([1.0, 0.0], G, theta, 0.9)  # Corollary 8: no λ does better
    0.09090909090909091
    """
    G = check_array(G, dtype=np.float64, input_name="G")
    m = G.shape[1]
    vectors = {}
    for name, value in (("lam", lam), ("theta", theta)):
        vector = check_array(value, ensure_2d=False, dtype=np.float64, input_name=name)
        if vector.shape != (m,):
            raise ValueError(
                f"{name} must hold one value per column of G, {m}; got shape {vector.shape}."
            )
        vectors[name] = vector
    lam, theta = vectors["lam"], vectors["theta"]
    if (lam < 0.0).any():
        raise ValueError(f"lam must not be negative; lam[{np.argmin(lam)}] is {lam.min():g}.")
    (noise,) = _numbers(_LOWEST, sigma2=sigma2)
    if noise.ndim:
        raise ValueError(f"sigma2 must be a number, got {sigma2!r}.")
    gram = G.T @ G
    D = lam[:, None] * gram + float(noise) * np.eye(m)  # ΛGᵀG + σ²
    if not np.isfinite(D).all():
        raise ValueError("lam and G are too large: ΛGᵀG overflows.")
    # θ̂ - θ = D⁻¹(ΛGᵀv - σ²θ): the third form of Eq. (17).
    spread = np.linalg.solve(D, lam[:, None] * G.T)
    bias = np.linalg.solve(D, float(noise) * theta)
    return float(float(noise) * np.einsum("ij,ij->", spread, spread) + bias @ bias)
