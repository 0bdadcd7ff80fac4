"""Optimise any estimate over the parameters that arrange its samples, without gradients.

Estimates of information are noisy or piecewise functions of a transform of the data (a rotation,
a shift, a mixing matrix): their derivatives are of no use, their values are. Two searches need
nothing else: the simplex of Nelder and Mead near a good start, and the cross-entropy method
from afar.

References: Nelder and Mead (1965), "A simplex method for function minimization", Computer
Journal 7:308-313; Rubinstein and Kroese (2004), "The cross-entropy method", Springer, section
5.1.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from octavo.engine.estimators.checked import checked

__all__ = ["SearchResult", "optimize_estimate"]

METHODS = ("nelder_mead", "cross_entropy")
ELITE = 0.2  # share of the draws that the next ones are drawn around
SMOOTHING = 0.7  # weight of the new spread against the old one, so that it does not collapse


class SearchResult(NamedTuple):
    """What a search found: parameters ``x``, the estimate there, and how it got there.

    ``value`` is the estimate at ``x``, ``n_evaluations`` how many were made, ``converged`` whether
    the parameters settled within the tolerance, ``trace`` the best estimate after each.
    """

    x: np.ndarray
    value: float
    n_evaluations: int
    converged: bool
    trace: np.ndarray


class Ledger:
    """Evaluates an objective, and keeps the best parameters and a trace of the best values."""

    def __init__(self, objective: Callable[[np.ndarray], float], limit: int) -> None:
        self.objective, self.limit = objective, limit
        self.best_x, self.best = np.empty(0), np.inf
        self.trace: list[float] = []

    def __call__(self, x: np.ndarray) -> float:
        value = float(self.objective(x))
        if not np.isfinite(value):
            raise ValueError(f"The estimate is {value} at the parameters {x}.")
        if value < self.best or not self.trace:
            self.best_x, self.best = np.array(x, dtype=np.float64), value
        self.trace.append(self.best)
        return value

    @property
    def left(self) -> int:
        """How many evaluations may still be made."""
        return self.limit - len(self.trace)


def simplex_search(ledger: Ledger, start: np.ndarray, spread: np.ndarray, tol: float) -> bool:
    """Search by Nelder and Mead's simplex of edges `spread`; return whether it settled."""
    corners = np.vstack([start, start + np.diag(spread)])
    found = minimize(
        lambda z: ledger(z * spread),  # unit steps in every parameter
        start / spread,
        method="Nelder-Mead",
        options={
            "initial_simplex": corners / spread,
            "xatol": tol,
            "fatol": np.inf,
            "maxfev": max(ledger.left, 1),
        },
    )
    return bool(found.success)


def cross_entropy_search(
    ledger: Ledger, start: np.ndarray, spread: np.ndarray, tol: float, random_state: Any
) -> bool:
    """Search by Gaussian draws around the best of the last draws; return whether they settled."""
    rng = check_random_state(random_state)
    n_draws = 20 + 10 * len(start)
    n_elite = max(3, int(ELITE * n_draws))
    centre, width = start.copy(), spread.copy()
    ledger(centre)
    while ledger.left > 0:
        draws = centre + width * rng.standard_normal((min(n_draws, ledger.left), len(start)))
        values = np.array([ledger(draw) for draw in draws])
        elite = draws[np.argsort(values, kind="stable")[:n_elite]]
        centre = elite.mean(axis=0)
        # smoothed, as a spread that collapses ends the search too early
        width = SMOOTHING * elite.std(axis=0, ddof=1) + (1.0 - SMOOTHING) * width
        if (width <= tol * spread).all():
            return True
    return False


def check_search(
    start: ArrayLike, spread: ArrayLike, method: str, max_evaluations: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the start and the spread as vectors of one length."""
    first = np.atleast_1d(np.asarray(start, dtype=np.float64))
    if first.ndim != 1 or not len(first) or not np.isfinite(first).all():
        raise ValueError(f"start must be a vector of finite numbers, got {start!r}.")
    widths = np.broadcast_to(np.asarray(spread, dtype=np.float64), first.shape).copy()
    if not (np.isfinite(widths) & (widths > 0)).all():
        raise ValueError(f"spread must be positive and finite, got {spread!r}.")
    if method not in METHODS:
        raise ValueError(f"method must be one of {METHODS}, got {method!r}.")
    if max_evaluations < 1:
        raise ValueError(f"max_evaluations must be at least 1, got {max_evaluations}.")
    return first, widths


@checked
def optimize_estimate(
    estimator: Any,
    arrange: Callable[[np.ndarray], Any],
    start: ArrayLike,
    *,
    spread: ArrayLike = 1.0,
    maximize: bool = False,
    method: str = "nelder_mead",
    max_evaluations: int = 1000,
    tol: float = 1e-4,
    random_state: Any = None,
) -> SearchResult:
    """Find the parameters at which an estimate is least, or greatest, without gradients.

    Parameters
    ----------
    estimator : SampleEstimator or callable
        Any estimator of this room, or a function of samples that returns a number.
    arrange : callable
        Takes parameters, an array of shape (n_parameters,), to the samples that the
        estimator receives: an array, or a tuple of several.
    start : array-like of shape (n_parameters,)
        Where to start.
    spread : float or array-like of shape (n_parameters,), default=1.0
        How far from the start the answer may be expected, in each parameter.
    maximize : bool, default=False
        Search for the greatest estimate.
    method : {"nelder_mead", "cross_entropy"}, default="nelder_mead"
        A simplex, for one valley and few parameters; or draws around the best draws, for
        several valleys and noise, with some ten times as many evaluations.
    max_evaluations : int, default=1000
        The most estimates that may be made.
    tol : float, default=1e-4
        Parameters have settled when they move by less than this share of `spread`.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws of "cross_entropy".

    Returns
    -------
    SearchResult
        The best parameters, the estimate there, and the trace.

    Warns
    -----
    ConvergenceWarning
        If `max_evaluations` were made before the parameters settled.

    References
    ----------
    .. [1] Szabó (2014). Information theoretical estimators toolbox. JMLR 15:283-287.
    .. [2] Rubinstein and Kroese (2004). The cross-entropy method. Springer.

    Examples
    --------
    The angle at which a mixture of two uniform variables comes apart again:

    >>> import numpy as np
    >>> from octavo.info import HSIC, optimize_estimate
    >>> def rotation(t):
    ...     return np.array([[np.cos(t), -np.sin(t)], [np.sin(t), np.cos(t)]])
    >>> S = np.random.default_rng(0).uniform(-1, 1, size=(500, 2))
    >>> X = S @ rotation(0.3)
    >>> found = optimize_estimate(HSIC(), lambda w: X @ rotation(-w[0]), [0.0], spread=0.5)
    >>> print(f"{found.x[0]:.1f}")
    0.3
    """
    first, widths = check_search(start, spread, method, max_evaluations)
    estimate, sign = getattr(estimator, "estimate", estimator), -1.0 if maximize else 1.0

    def objective(x: np.ndarray) -> float:
        samples = arrange(x)
        return sign * float(estimate(*samples) if isinstance(samples, tuple) else estimate(samples))

    ledger = Ledger(objective, max_evaluations)
    if method == "nelder_mead":
        converged = simplex_search(ledger, first, widths, tol)
    else:
        converged = cross_entropy_search(ledger, first, widths, tol, random_state)
    if not converged:
        warnings.warn(
            f"The search stopped after {len(ledger.trace)} estimates before its parameters settled "
            f"within {tol:g} of spread; the best estimate is {sign * ledger.best:.6g}. Allow more "
            "evaluations or a larger tol.",
            ConvergenceWarning,
            stacklevel=2,
        )
    trace = sign * np.array(ledger.trace)
    return SearchResult(ledger.best_x, sign * ledger.best, len(trace), converged, trace)
