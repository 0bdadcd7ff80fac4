"""Greedy descent: ridge-wave features one at a time, each fitted to what is left of the target.

A step adds the feature pair sin(w·x), cos(w·x) to the current estimate f and minimises, over w
and the penalty λ, the cross-validated error of the model c₀f + c₁ sin + c₂ cos; only w is kept.

Reference: thesis on kernel-based greedy algorithms (D. Oglic), Chapter 3: Algorithm 3.1 and the
hyper-parameter gradient of Section 3.2.2 (the derivative in λ is −2n tᵀc; the text drops −2).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from octavo.engine.estimators.arrays import Floats
from octavo.engine.smooth.holdout_gradient import (
    Moments,
    fit_and_judge,
    fold_starts,
    holdout_gradient,
)
from octavo.kernel.fourier.trig_sums import fill_waves, wave_pull, wave_sums, waves

Basis = tuple[Callable[[Floats], Floats], Callable[[Floats], Floats]]

N_FOLDS = 5
_START_ALPHA = 1e-4
_LOG_ALPHA = (-25.0, 7.0)
_PHASE_LIMIT = 1e5


class Descent(NamedTuple):
    """Features of one greedy descent: frequencies, phases, and the error after each step."""

    frequencies: Floats
    phases: Floats
    errors: list[float]


class WaveObjective:
    """Cross-validated error of (f, sin w·x, cos w·x), and its gradient in (w, log λ).

    Each model is trained on one fold and judged on the others (Section 3.1.5).
    """

    def __init__(self, X: Floats, y: Floats, f: Floats, starts: NDArray[np.intp]) -> None:
        self.X, self.y, self.f, self.starts = X, y, f, starts
        n, k = len(y), len(starts) - 1
        self._sine, self._cosine, self._pull = np.empty(n), np.empty(n), np.empty(n)
        self._gram, self._cross = np.empty((k, 3, 3)), np.empty((k, 3))
        self._count = np.diff(starts).astype(np.float64)
        pieces = [slice(a, b) for a, b in pairwise(starts)]
        self._gram[:, 0, 0] = [f[p] @ f[p] for p in pieces]
        self._cross[:, 0] = [f[p] @ y[p] for p in pieces]
        self._square = np.array([y[p] @ y[p] for p in pieces])

    def __call__(self, theta: Floats) -> tuple[float, Floats]:
        w, alpha = theta[:-1], float(np.exp(theta[-1]))
        phase = self.X @ w
        if np.abs(phase).max() > _PHASE_LIMIT:
            self._sine[:], self._cosine[:] = waves(phase)
        else:
            fill_waves(phase, self._sine, self._cosine)
        wave_sums(self.f, self._sine, self._cosine, self.y, self.starts, self._gram, self._cross)
        train = Moments(self._count, self._gram, self._cross, self._square)
        held = train.others()
        fit = fit_and_judge(train, held, alpha)
        wave_pull(
            self.f,
            self._sine,
            self._cosine,
            self.y,
            self.starts,
            self._forms(fit.c, fit.t, held.size),
            self._pull,
        )
        k = len(fit.error)
        gradient = np.append(self._pull @ self.X, alpha * fit.slope.sum()) / k
        return float(fit.error.mean()), gradient

    @staticmethod
    def _forms(c: Floats, t: Floats, held: Floats) -> Floats:
        """Return, a fold, the 2 × 4 map from (f, sin, cos, y) of a row to its weights on sin, cos.

        A row of fold j trains model j and judges all others.
        """
        residual = np.hstack([c, -np.ones((len(c), 1))])  # c·z − y as a form in (z, y)
        judged = 2.0 * c[:, 1:, None] * residual[:, None, :] / held[:, None, None]
        tilt = np.hstack([t, np.zeros((len(c), 1))])
        trained = -2.0 * (c[:, 1:, None] * tilt[:, None, :] + t[:, 1:, None] * residual[:, None, :])
        return judged.sum(axis=0) - judged + trained


class BasisObjective:
    """The same for a ridge function of one's own: features (f, φ(w·x + b)).

    X carries a column of ones at its end, whose weight is b.
    """

    def __init__(
        self, X: Floats, y: Floats, f: Floats, starts: NDArray[np.intp], basis: Basis
    ) -> None:
        self.X, self.y, self.f, self.starts, self.basis = X, y, f, starts, basis

    def __call__(self, theta: Floats) -> tuple[float, Floats]:
        alpha = float(np.exp(theta[-1]))
        phase = self.X @ theta[:-1]
        Z = np.column_stack([self.f, self.basis[0](phase)])
        found = holdout_gradient(Z, self.y, self.starts, alpha, train_on="one")
        pull = found.weights[:, 1] * self.basis[1](phase)
        return found.error, np.append(pull @ self.X, alpha * found.slope)


def refit(columns: list[Floats], y: Floats) -> tuple[Floats, float]:
    """Return the least-squares fit of y on a few columns, and its mean squared error."""
    Z = np.column_stack(columns)
    fitted = Z @ np.linalg.lstsq(Z, y, rcond=1e-12)[0]
    return fitted, float(((y - fitted) ** 2).mean())


def greedy_descent(
    X: Floats,
    y: Floats,
    f: Floats,
    rng: np.random.RandomState,
    *,
    basis: Basis | None = None,
    max_descent_steps: int = 20,
    tol: float = 0.01,
    max_iter: int = 100,
) -> Descent:
    """Add features one at a time while each lowers the error by a relative `tol` (Alg. 3.1).

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Rows in random order: their folds are contiguous.
    y : ndarray of shape (n,)
        Targets with a standard deviation near one.
    f : ndarray of shape (n,)
        The estimate to start from.
    rng : RandomState
        Draws where each search starts: w ~ N(0, I/d).
    basis : (φ, φ′), default=None
        A ridge function and its derivative; sine and cosine by default.
    max_descent_steps : int
        Most features.
    tol : float
        ε, the relative change of error below which the descent ends.
    max_iter : int
        Most L-BFGS-B iterations a feature.

    Returns
    -------
    Descent
        Frequencies and phases, one row a feature, and the training error after every step, which
        never rises because each refit may keep the old estimate.
    """
    n, d = X.shape
    starts = fold_starts(n, N_FOLDS)
    lifted = X if basis is None else np.column_stack([X, np.ones(n)])
    errors = [float(((y - f) ** 2).mean())]
    found: list[Floats] = []
    for _ in range(max_descent_steps):
        w = np.asarray(rng.standard_normal(lifted.shape[1]))
        w[:d] /= np.sqrt(d)
        objective: Any = (
            WaveObjective(X, y, f, starts)
            if basis is None
            else BasisObjective(lifted, y, f, starts, basis)
        )
        best = minimize(
            objective,
            np.append(w, np.log(_START_ALPHA)),
            jac=True,
            method="L-BFGS-B",
            bounds=[(None, None)] * len(w) + [_LOG_ALPHA],
            options={"maxiter": max_iter},
        )
        w = best.x[:-1]
        phase = lifted @ w
        new = list(waves(phase)) if basis is None else [basis[0](phase)]
        f, error = refit([f, *new], y)
        found.append(w)
        errors.append(error)
        if abs(errors[-2] - error) < tol * max(errors[-2], error) or error == 0.0:
            break
    table = np.array(found)
    return Descent(table[:, :d], table[:, d] if basis else np.zeros(len(table)), errors)
