"""How close a variational posterior density is to the exact one.

Reference: M. P. Wand (2014), Section 5.1, Eq. (11).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import gaussian_kde
from sklearn.utils.validation import check_array

from octavo.engine.estimators.checked import checked

__all__ = ["variational_accuracy"]


@checked
def variational_accuracy(q_pdf: Any, samples: Any, n_grid: int = 1001) -> float:
    """Return 100 (1 - half the integrated absolute difference) of two densities (Eq. 11).

    Parameters
    ----------
    q_pdf : callable
        The approximate density, of an array.
    samples : array-like of shape (n_draws,)
        Draws from the exact posterior, whose density is estimated by a Gaussian kernel.
    n_grid : int, default=1001
        Number of points of the trapezoidal rule. They cover the draws and, beyond them, a fifth
        of their range on either side; what q has outside counts as missed.

    Returns
    -------
    accuracy : float
        Between 0 and 100; 100 for equal densities.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.stats import norm
    >>> from octavo.bayes import variational_accuracy
    >>> draws = norm.ppf((np.arange(2000) + 0.5) / 2000)
    >>> round(variational_accuracy(norm(0, 1).pdf, draws))
    99
    >>> round(variational_accuracy(norm(1, 1).pdf, draws))
    62
    """
    draws = check_array(samples, dtype=np.float64, ensure_2d=False, input_name="samples")
    if draws.ndim != 1 or draws.size < 10:
        raise ValueError(
            f"samples must be a vector of at least 10 draws; it has shape {draws.shape}."
        )
    low, high = float(draws.min()), float(draws.max())
    if not high > low or np.std(draws) < 1e-12 * max(abs(low), abs(high)):
        raise ValueError("samples must vary; all draws are equal.")
    if isinstance(n_grid, bool) or not isinstance(n_grid, (int, np.integer)) or n_grid < 3:
        raise ValueError(f"n_grid must be a whole number of at least 3; got {n_grid!r}.")
    margin = 0.2 * (high - low)
    grid = np.linspace(low - margin, high + margin, int(n_grid))
    exact = gaussian_kde(draws)(grid)
    q = np.asarray(q_pdf(grid), dtype=np.float64)
    if q.shape != grid.shape or not np.isfinite(q).all() or (q < 0).any():
        raise ValueError(
            "q_pdf must return a finite density for each point of an array; it does not."
        )
    # what q has beyond the grid, where the exact density is nil
    outside = max(0.0, 1.0 - float(np.trapezoid(q, grid)))
    distance = float(np.trapezoid(np.abs(q - exact), grid)) + outside
    return 100.0 * (1.0 - 0.5 * min(distance, 2.0))  # Eq. (11)
