"""When to stop: the local Rademacher complexity, the critical radius, and the times they give.

All of it is a function of the eigenvalues of Gram/n and of the noise's size. The complexity is
piecewise of a simple form between two eigenvalues, so that the critical radius is the root of a
quadratic equation, not of a search.

Reference: Raskutti, Wainwright and Yu (2014), Sections 3.1 and 3.4, Eqs. (4) to (8) and (18).
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.doubles import real_array

__all__ = [
    "critical_radius",
    "empirical_rademacher",
    "population_radius",
    "ridge_nu",
    "stopping_time",
]

THEORY = 2.0 * np.e  # Eqs. (5) and (6)
RIDGE_THEORY = 4.0  # Eq. (18)
POPULATION = 40.0  # Eq. (8)


def check_eigs(eigs: Any) -> Floats:
    """Return eigenvalues from the largest on; refuse negative ones beyond rounding."""
    values = np.sort(real_array(eigs, "eigs").ravel())[::-1]
    if not values.size:
        raise ValueError("eigs must hold at least one eigenvalue of Gram/n, got none.")
    if values[-1] < -1e-8 * max(values[0], 0.0):
        raise ValueError(f"eigs must not be negative; the smallest is {values[-1]:.3g}.")
    if values[0] > 1e150:
        raise ValueError(f"eigs must be below 1e150, or squares overflow; got {values[0]:g}.")
    return np.maximum(values, 0.0)


def check_positive(value: Any, name: str) -> float:
    """Return a positive finite number."""
    is_number = isinstance(value, Real) and not isinstance(value, (bool, np.bool_))
    if not is_number or not 0.0 < float(value) < np.inf:
        raise ValueError(f"{name} must be a positive number, got {value!r}.")
    return float(value)


def check_count(n: Any, eigs: Floats) -> int:
    """Return the number of rows: as many as the eigenvalues, or more."""
    if isinstance(n, bool) or not isinstance(n, Integral):
        raise ValueError(f"n must be a whole number, the rows of the Gram matrix; got {n!r}.")
    if int(n) < 1 or (len(eigs) > n):
        raise ValueError(
            f"n must be at least the number of eigenvalues, {len(eigs)}; got {n}. It is the number "
            "of rows of the Gram matrix; eigenvalues that are not listed count as zero."
        )
    return int(n)


def check_constant(constant: Any, theory: float = THEORY) -> float:
    """Return the constant; "theory" is the paper's."""
    if isinstance(constant, str):
        if constant != "theory":
            raise ValueError(f'constant must be "theory" or a positive number, got {constant!r}.')
        return theory
    return check_positive(constant, "constant")


def check_steps(steps: Any, top: float, *, unsafe: bool = False) -> float | Floats:
    """Return valid step sizes: 0 < α <= min(1, 1/λ₁), never increasing.

    With `unsafe` they may be anything below 2/λ₁, where descent still converges.
    """
    array = real_array(steps, "steps")
    if array.ndim > 1 or not array.size:
        raise ValueError(f"steps must be a number or a sequence of them, got shape {array.shape}.")
    if not array.min() > 0.0:
        raise ValueError(f"steps must be positive; the smallest is {array.min():g}.")
    if array.ndim and (np.diff(array) > 0.0).any():
        t = int(np.argmax(np.diff(array) > 0.0))
        raise ValueError(
            f"steps must never increase; step {t + 1} is {array[t + 1]:g} after {array[t]:g}."
        )
    if unsafe:
        if not array.max() * top < 2.0:
            raise ValueError(
                f"steps must be below 2/λ₁ = {2.0 / top:.6g} even with unsafe=True, where λ₁ = "
                f"{top:.6g} is the largest eigenvalue of Gram/n; got {array.max():.6g}, which "
                "diverges."
            )
        return array if array.ndim else float(array)
    limit = 1.0 if top <= 1.0 else 1.0 / top
    if array.max() > limit * (1.0 + 1e-9):
        raise ValueError(
            f"steps must be at most min(1, 1/λ₁) = {limit:.6g}, where λ₁ = {top:.6g} is the "
            f"largest eigenvalue of Gram/n; got {array.max():.6g}. Larger steps diverge, or leave "
            "the theory; unsafe=True of KernelGDRegressor allows them below 2/λ₁."
        )
    array = np.minimum(array, limit)
    return array if array.ndim else float(array)


def rademacher_squares(values: Floats, rest: float, squares: Floats, n: int) -> Floats:
    """Return R²(ε) at each ε² of `squares`: Eq. (4). `rest` sums eigenvalues below all ε²."""
    tails = np.append(np.cumsum(values[::-1])[::-1], 0.0) + rest  # sum of λ_i from each i on
    above = np.searchsorted(-values, -squares, side="left")  # eigenvalues above ε²
    capped = np.where(above > 0, above * np.where(np.isfinite(squares), squares, 0.0), 0.0)
    # Eq. (4): ε² for the eigenvalues above it, λ_i for the others
    return (capped + tails[above]) / n


def radius_square(values: Floats, rest: float, n: int, scale: float) -> float:
    """Return ε² with R(ε) = ε²/scale: the critical radius of Eq. (5) for scale = constant · σ."""
    s = scale**2 / n
    tails = np.append(np.cumsum(values[::-1])[::-1], 0.0) + rest
    k = np.arange(len(values))
    # at ε² = λ_k: is ε⁴ > s Σ min(λ, ε²)? Where it is, the root lies below λ_k.
    above = int(np.sum(values**2 > s * (k * values + tails[:-1])))
    half = 0.5 * above * s
    return float(half + np.sqrt(half**2 + s * tails[above]))  # ε⁴ = s (above · ε² + tail)


def time_of_rule(
    values: Floats, rest: float, n: int, scale: float, steps: float | Floats, longest: int
) -> int:
    """Return T of Eq. (6), at most `longest`; `scale` is constant · σ / B."""

    def goes_on(etas: Floats) -> np.ndarray:  # R(η^(-1/2)) <= 1/(scale · η), which holds until T
        return rademacher_squares(values, rest, 1.0 / etas, n) * (scale * etas) ** 2 <= 1.0

    if np.ndim(steps) > 0:
        etas = np.cumsum(np.asarray(steps, dtype=np.float64))[:longest]
        return int(np.argmin(np.append(goes_on(etas), False)))  # Eq. (6)
    radius = radius_square(values, rest, n, scale)
    guess = 1.0 / max(radius * float(steps), 1e-300)  # 1/η_{T+1} <= ε² <= 1/η_T
    if guess > longest + 2:
        return longest
    first = max(int(guess) - 2, 0)
    times = np.arange(first + 1, int(guess) + 4, dtype=np.float64)
    return min(first + int(np.argmin(np.append(goes_on(times * float(steps)), False))), longest)


@checked
def empirical_rademacher(eigs: Any, eps: Any, n: int) -> Any:
    """Return the local empirical Rademacher complexity of a kernel class, Eq. (4).

    Parameters
    ----------
    eigs : array-like of shape (n,)
        Eigenvalues of Gram/n. Those that are left out count as zero.
    eps : float or array-like
        Radius, or several.
    n : int
        Rows of the Gram matrix.

    Returns
    -------
    complexity : float or ndarray
        √((1/n) Σ min(λ_i, ε²)).

    Examples
    --------
    >>> from octavo.kernel import empirical_rademacher
    >>> float(empirical_rademacher([0.5, 0.1, 0.02], 0.3, 3).round(4))
    0.2582
    """
    values = check_eigs(eigs)
    n = check_count(n, values)
    radii = real_array(eps, "eps", finite=False)
    if not (radii >= 0.0).all():
        raise ValueError(f"eps must not be negative, got {radii.min():g}.")
    squares = np.minimum(radii, 1e150) ** 2
    return np.sqrt(rademacher_squares(values, 0.0, squares, n))[()]


@checked
def critical_radius(eigs: Any, n: int, sigma: float, constant: float | str = "theory") -> float:
    """Return the critical empirical radius: the smallest ε with R(ε) <= ε²/(constant · σ), Eq. (5).

    Parameters
    ----------
    eigs : array-like of shape (n,)
        Eigenvalues of Gram/n.
    n : int
        Rows of the Gram matrix.
    sigma : float
        Standard deviation of the noise; over the radius of the Hilbert ball if that is not one.
    constant : float or "theory", default="theory"
        ``"theory"`` is 2e, which the proof needs; about 1 serves better in practice.

    Returns
    -------
    radius : float
        ε, from the quadratic equation between two eigenvalues.

    Examples
    --------
    >>> from octavo.kernel import critical_radius
    >>> round(critical_radius([1.0, 1.0], 100, 1.0), 4)  # √((2e)² · 2/100)
    0.7688
    """
    values = check_eigs(eigs)
    n = check_count(n, values)
    scale = check_constant(constant) * check_positive(sigma, "sigma")
    return float(np.sqrt(radius_square(values, 0.0, n, scale)))


@checked
def population_radius(eigs: Any, n: int, sigma: float, *, rest: float = 0.0) -> float:
    """Return the critical population rate ε_n, from eigenvalues of the kernel operator: Eq. (8).

    Parameters
    ----------
    eigs : array-like
        The largest eigenvalues of the kernel under the law of x, as many as matter.
    n : int
        Rows of a sample.
    sigma : float
        Standard deviation of the noise.
    rest : float, default=0.0
        The sum of the eigenvalues that are not listed.

    Returns
    -------
    radius : float
        The smallest ε with 40 R(ε) <= ε²/σ.

    Examples
    --------
    >>> from octavo.kernel import population_radius, sobolev_eigenvalues
    >>> round(population_radius(sobolev_eigenvalues(10_000), 10**6, 1.0), 4)
    0.1005
    """
    values = check_eigs(eigs)
    n = check_count(n, values[:1])
    if not isinstance(rest, Real) or not 0.0 <= float(rest) < 1e150:
        raise ValueError(f"rest must be a sum of eigenvalues, at least 0; got {rest!r}.")
    scale = POPULATION * check_positive(sigma, "sigma")
    return float(np.sqrt(radius_square(values, float(rest), n, scale)))


@checked
def stopping_time(
    eigs: Any, n: int, sigma: float, steps: Any, constant: float | str = "theory"
) -> int:
    """Return the stopping time T of the paper's rule, Eq. (6).

    Parameters
    ----------
    eigs : array-like of shape (n,)
        Eigenvalues of Gram/n.
    n : int
        Rows of the Gram matrix.
    sigma : float
        Standard deviation of the noise, over the radius of the Hilbert ball.
    steps : float or array-like
        One step size for all times, or α_0, α_1, ...: positive, never increasing, at most
        min(1, 1/λ₁).
    constant : float or "theory", default="theory"
        ``"theory"`` is 2e.

    Returns
    -------
    T : int
        One less than the first t with R(η_t^(-1/2)) > 1/(constant · σ η_t); with a sequence of
        steps that ends before, its length.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.kernel import stopping_time
    >>> x = np.arange(1, 101) / 100
    >>> eigs = np.linalg.eigvalsh(np.minimum.outer(x, x) / 100)
    >>> stopping_time(eigs, 100, 1.0, 0.25)  # as in the paper's simulation
    10
    """
    values = check_eigs(eigs)
    n = check_count(n, values)
    scale = check_constant(constant) * check_positive(sigma, "sigma")
    steps = check_steps(steps, values[0])
    longest = 2**53 if np.ndim(steps) == 0 else np.size(steps)
    T = time_of_rule(values, 0.0, n, scale, steps, longest)
    if np.ndim(steps) == 0 and longest == T:
        raise ValueError(
            f"With sigma={sigma:g} the rule never stops within 2^53 steps; is the noise that small?"
        )
    return T


@checked
def ridge_nu(eigs: Any, n: int, sigma: float, constant: float | str = "theory") -> float:
    """Return ν for kernel ridge regression by the rule of Eq. (18).

    Parameters
    ----------
    eigs : array-like of shape (n,)
        Eigenvalues of Gram/n.
    n : int
        Rows of the Gram matrix.
    sigma : float
        Standard deviation of the noise, over the radius of the Hilbert ball.
    constant : float or "theory", default="theory"
        ``"theory"`` is 4.

    Returns
    -------
    nu : float
        Where 1/(constant · σ ν) = R(ν^(-1/2)); `sklearn.kernel_ridge.KernelRidge` calls n/ν alpha.

    Examples
    --------
    >>> from octavo.kernel import ridge_nu
    >>> round(ridge_nu([1.0, 1.0], 100, 1.0), 4)  # 100 / (16 · 2)
    3.125
    """
    values = check_eigs(eigs)
    n = check_count(n, values)
    scale = check_constant(constant, RIDGE_THEORY) * check_positive(sigma, "sigma")
    square = radius_square(values, 0.0, n, scale)
    if not square > 0.0:
        raise ValueError("All eigenvalues are zero: every penalty gives the same fit.")
    return 1.0 / square  # Eq. (18): ν is 1/ε² at the critical radius
