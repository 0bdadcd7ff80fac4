"""What theory promises of gradient descent and of ridge regression that are stopped in time.

Part (c) of Theorem 1 and of Proposition 5, a lower bound beyond the stopping time, is false as
printed: the proof squares min(1, ηλ) and the statement does not. Both forms are here.

Reference: Raskutti, Wainwright and Yu (2014), Theorem 1, Corollaries 3 and 4, Proposition 5.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.doubles import real_array
from octavo.kernel.early_stopping.complexity import (
    THEORY,
    check_count,
    check_eigs,
    check_positive,
    radius_square,
)

__all__ = [
    "StoppingBounds",
    "finite_rank_rate",
    "polynomial_decay_rate",
    "stopping_bounds",
]


class StoppingBounds(NamedTuple):
    """Bounds on the squared error |f_t - f*|²_n for a unit ball and noise of size σ.

    `upper` holds up to the stopping time and `at_stop` there, both with high probability; `lower`
    bounds the expected error, `lower_printed` is the paper's form of it, which can fail.
    """

    upper: np.ndarray
    at_stop: float
    lower: np.ndarray
    lower_printed: np.ndarray


@checked
def stopping_bounds(
    eigs: Any, n: int, sigma: float, etas: Any, *, method: str = "descent"
) -> StoppingBounds:
    """Return the bounds of Theorem 1, or of Proposition 5, with part (c) corrected.

    Parameters
    ----------
    eigs : array-like of shape (n,)
        Eigenvalues of Gram/n.
    n : int
        Rows of the Gram matrix.
    sigma : float
        Standard deviation of the noise.
    etas : array-like of shape (n_times,)
        Running sums of the step sizes; values of ν for ridge regression.
    method : {"descent", "ridge"}, default="descent"
        Gradient descent (Theorem 1) or kernel ridge regression (Proposition 5; its part (b) has a
        constant that nobody states, so that `at_stop` is infinite).

    Returns
    -------
    bounds : StoppingBounds
        (a) 4/(eη) or 2/ν; (b) 12 ε²; (c) (σ²/4n) Σ min(1, ηλ)², and without the square as printed.

    Examples
    --------
    The paper's part (c) for K = I/n, where the risk of pure noise is known exactly:

    >>> import numpy as np
    >>> from octavo.kernel import exact_risk, stopping_bounds
    >>> n, eigs = 1000, np.full(1000, 1e-3)
    >>> risk = exact_risk(eigs, np.zeros(n), 1.0, np.ones(10))[10]
    >>> bounds = stopping_bounds(eigs, n, 1.0, [10.0])
    >>> bool(bounds.lower_printed[0] > risk > bounds.lower[0])
    True
    """
    values = check_eigs(eigs)
    n = check_count(n, values)
    sigma = check_positive(sigma, "sigma")
    times = np.atleast_1d(real_array(etas, "etas"))
    if times.ndim != 1 or not (times > 0.0).all():
        raise ValueError("etas must be positive numbers in one row.")
    if method not in ("descent", "ridge"):
        raise ValueError(f'method must be "descent" or "ridge", got {method!r}.')
    grown = np.minimum(1.0, times[:, None] * values)
    # Theorem 1(a); Proposition 5(a)
    upper = 4.0 / (np.e * times) if method == "descent" else 2.0 / times
    critical = 12.0 * radius_square(values, 0.0, n, THEORY * sigma)  # Theorem 1(b)
    return StoppingBounds(
        upper,
        critical if method == "descent" else np.inf,
        # part (c) as its proof has it: min(1, ηλ) squared
        sigma**2 / (4.0 * n) * (grown**2).sum(axis=1),
        sigma**2 / (4.0 * n) * grown.sum(axis=1),  # and as it is printed
    )


@checked
def polynomial_decay_rate(n: int, sigma: float, beta: float) -> float:
    """Return the rate of Corollary 3 for eigenvalues that fall as k^(-2β), without its constant.

    Parameters
    ----------
    n : int
        Rows.
    sigma : float
        Standard deviation of the noise.
    beta : float
        β above 1/2: derivatives of a Sobolev space.

    Returns
    -------
    rate : float
        (σ²/n)^(2β/(2β+1)).

    Examples
    --------
    >>> from octavo.kernel import polynomial_decay_rate
    >>> round(polynomial_decay_rate(1000, 1.0, 1.0), 6)
    0.01
    """
    n, sigma = check_count(n, np.zeros(0)), check_positive(sigma, "sigma")
    beta = check_positive(beta, "beta")
    if not beta > 0.5:
        raise ValueError(f"beta must be above 1/2, or the eigenvalues have no sum; got {beta:g}.")
    # Corollary 3, with ε = σ/√n
    return float((sigma / np.sqrt(n)) ** (4.0 * beta / (2.0 * beta + 1.0)))


@checked
def finite_rank_rate(n: int, sigma: float, rank: int) -> float:
    """Return the rate of Corollary 4 for a kernel of finite rank, without its constant.

    Parameters
    ----------
    n : int
        Rows.
    sigma : float
        Standard deviation of the noise.
    rank : int
        Rank m of the kernel; d + 1 for (1 + xx')^d on the line.

    Returns
    -------
    rate : float
        σ² m/n.

    Examples
    --------
    >>> from octavo.kernel import finite_rank_rate
    >>> finite_rank_rate(100, 1.0, 3)
    0.03
    """
    n, sigma = check_count(n, np.zeros(0)), check_positive(sigma, "sigma")
    rank = check_count(rank, np.zeros(0))
    return sigma**2 * rank / n  # Corollary 4
