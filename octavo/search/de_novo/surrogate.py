"""The surrogate: p(y | x) ∝ exp⟨φ(x, y), θ⟩, fitted to weighted labels (Section 5.2, line 9).

Minimised is (1/t) Σ w_i (-ln p(y_i | x_i, θ)) + α ‖θ‖². With a factor Φ of the Gram matrix of the
states and a factor B of that of the labels, θ is a matrix and the scores are Φ θ B'. For two labels
and the identity kernel on them that is logistic regression with C = 1 / (t α).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax
from sklearn.model_selection import StratifiedKFold

from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.smooth.losses import make_loss
from octavo.engine.smooth.newton import newton_linear

CUT = 1e-13  # eigenvalues below this part of the largest are rounding
N_FOLDS = 5
ALPHAS = 10.0 ** np.arange(-9.0, 1.0)  # in units of the mean of k(x, x); guessed


class GramFactor(NamedTuple):
    """K = features features', and features of new rows are k(x, X) `embed`."""

    features: Floats
    embed: Floats


def gram_factor(K: Floats, name: str = "The kernel") -> GramFactor:
    """Return the factor of a Gram matrix; refuse one that is not positive semidefinite."""
    K = 0.5 * (K + K.T)
    values, vectors = np.linalg.eigh(K)
    top = float(np.abs(values).max(initial=0.0))
    if values.min(initial=0.0) < -1e-6 * top:
        raise ValueError(
            f"{name} must be positive semidefinite; its matrix has the eigenvalue "
            f"{values.min():.3g} beside {top:.3g}."
        )
    kept = values > CUT * top
    root = np.sqrt(values[kept])
    return GramFactor(vectors[:, kept] * root, vectors[:, kept] / root)


class FamilyFit(NamedTuple):
    """θ as a matrix (features x labels), the objective, ‖θ‖², and the number of iterations."""

    theta: Floats
    objective: float
    squared_norm: float
    n_iter: int
    converged: bool


def fit_two(
    features: Floats, codes: Ints, weights: Floats, alpha: float, start: Any, tol: float
) -> FamilyFit:
    """Return the fit for two labels with the identity kernel; θ = (-β/2, β/2)."""
    # Softmax over (-β/2, β/2)'φ is the logistic of β'φ, and ‖θ‖² is ‖β‖² / 2.
    loss = make_loss("log")
    signs = (2 * codes - 1).astype(np.float64)
    found = newton_linear(
        features, signs, loss, alpha, weight=weights, start=start, tol=tol, max_iter=200
    )
    theta = np.column_stack([-0.5 * found.coef, 0.5 * found.coef])
    norm = 0.5 * float(found.coef @ found.coef)
    return FamilyFit(theta, found.objective, norm, found.n_iter, found.converged)


def fit_many(
    features: Floats, codes: Ints, weights: Floats, alpha: float, B: Floats, tol: float
) -> FamilyFit:
    """Return the fit for several labels, or for labels with a kernel of their own."""
    t, r, q = len(codes), features.shape[1], B.shape[1]
    chosen = np.zeros((t, len(B)))
    chosen[np.arange(t), codes] = 1.0

    def value(x: Floats) -> tuple[float, Floats]:
        logs = log_softmax(features @ x.reshape(r, q) @ B.T, axis=1)  # Eq. (5.3), its logarithm
        # line 9 of Algorithm 5.1, Eq. (5.16)
        loss = -float(weights @ logs[np.arange(t), codes]) / t + alpha * float(x @ x)
        slope = weights[:, None] * (np.exp(logs) - chosen) / t  # Eq. (5.4): E[φ] - φ(x_i, y_i)
        return loss, (features.T @ slope @ B).ravel() + 2.0 * alpha * x

    def product(x: Floats, v: Floats) -> Floats:
        p = np.exp(log_softmax(features @ x.reshape(r, q) @ B.T, axis=1))
        moved = features @ v.reshape(r, q) @ B.T
        # Eq. (5.4): the variance of φ under p, times v
        change = p * (moved - (p * moved).sum(axis=1, keepdims=True))
        return (features.T @ (weights[:, None] * change / t) @ B).ravel() + 2.0 * alpha * v

    found = minimize(
        value,
        np.zeros(r * q),
        jac=True,
        hessp=product,
        method="trust-ncg",
        options={"gtol": tol, "maxiter": 500},
    )
    ended = float(np.linalg.norm(found.jac)) <= 1e3 * tol
    norm = float(found.x @ found.x)
    return FamilyFit(found.x.reshape(r, q) @ B.T, float(found.fun), norm, int(found.nit), ended)


def fit_family(
    features: Floats,
    codes: Ints,
    weights: Floats,
    alpha: float,
    *,
    n_classes: int = 2,
    label_gram: Floats | None = None,
    start: Any = None,
    tol: float = 1e-10,
) -> FamilyFit:
    """Return the surrogate for labels coded 0, ..., n_classes - 1.

    Parameters
    ----------
    features : ndarray of shape (n_samples, n_features)
        Factor of the Gram matrix.
    codes : ndarray of int of shape (n_samples,)
        Labels.
    weights : ndarray of shape (n_samples,)
        Importance weights.
    alpha : float
        Strength of the penalty.
    n_classes : int, default=2
        Number of labels.
    label_gram : ndarray of shape (n_classes, n_classes), default=None
        Kernel of the labels; the identity by default.
    start : ndarray of shape (n_features,), default=None
        Where to start, for two labels: half the logit's coefficients, twice.
    tol : float, default=1e-10
        Largest norm of the gradient.

    Returns
    -------
    fit : FamilyFit
        Scores of the labels are ``features @ fit.theta``.
    """
    if n_classes < 2 or not features.shape[1]:
        zero = np.zeros((features.shape[1], n_classes))
        return FamilyFit(zero, float(weights.mean() * np.log(n_classes)), 0.0, 0, True)
    # The gradient scales with the features: so does the tolerance.
    tol = tol * max(float(np.abs(features).max()) * float(weights.max()), 1e-300)
    if n_classes == 2 and label_gram is None:
        return fit_two(features, codes, weights, alpha, start, tol)
    B = np.eye(n_classes) if label_gram is None else gram_factor(label_gram).features
    if not B.shape[1]:
        return FamilyFit(
            np.zeros((features.shape[1], n_classes)), float(weights.mean()), 0.0, 0, True
        )
    return fit_many(features, codes, weights, alpha, B, tol)


def alpha_grid(K: Floats) -> Floats:
    """Return penalties to choose from, in units of the mean of k(x, x)."""
    return ALPHAS * max(float(np.trace(K)) / max(len(K), 1), 1e-300)


def choose_alpha(
    features: Floats,
    codes: Ints,
    weights: Floats,
    alphas: Floats,
    *,
    n_classes: int = 2,
    label_gram: Floats | None = None,
    random_state: Any = None,
) -> float:
    """Return the penalty with the least importance-weighted error of five stratified folds.

    Where a label was seen less than twice there is nothing to compare, and the largest penalty is
    taken, with which the surrogate says little.
    """
    seen = np.bincount(codes, minlength=n_classes)
    seen = seen[seen > 0]
    if len(seen) < 2 or seen.min() < 2:
        return float(alphas[-1])
    folds = StratifiedKFold(int(min(N_FOLDS, seen.min())), shuffle=True, random_state=random_state)
    losses = np.zeros(len(alphas))
    for train, test in folds.split(features, codes):
        start = None
        for i in range(len(alphas))[::-1]:
            fit = fit_family(
                features[train],
                codes[train],
                weights[train],
                float(alphas[i]),
                n_classes=n_classes,
                label_gram=label_gram,
                start=start,
                tol=1e-5,
            )
            start = 2.0 * fit.theta[:, 1] if n_classes == 2 and label_gram is None else None
            logs = log_softmax(features[test] @ fit.theta, axis=1)
            # importance-weighted validation (Section 5.4.3)
            losses[i] -= float(weights[test] @ logs[np.arange(len(test)), codes[test]])
    return float(alphas[int(np.argmin(losses))])
