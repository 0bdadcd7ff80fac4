"""Which rate a one-pass fit is in, how good it is bound to be, and how many rows a target needs.

Reference: F. Bach (2014), "Adaptivity of Averaged Stochastic Gradient Descent to Local Strong
Convexity for Logistic Regression", Journal of Machine Learning Research 15: Section 5. Its last
remark gives the asymptotic rate tr(H⁻¹G)/n; the excess risk is half of that, from the quadratic
expansion.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_regressor
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted

from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.classes import encode_classes
from octavo.engine.estimators.doubles import check_squares
from octavo.engine.estimators.sparse_rows import canonical_csr
from octavo.engine.smooth.losses import make_loss
from octavo.engine.smooth.newton import DENSE_LIMIT, newton_linear
from octavo.linear.averaged_sgd.base import AveragedDescentMixin, row_lengths, scaled_rows
from octavo.linear.averaged_sgd.bounds import need_number
from octavo.linear.averaged_sgd.certificate import self_concordance_certificate
from octavo.linear.averaged_sgd.curvature import LinearProblem, with_ones

__all__ = ["LocalConditioning", "local_conditioning"]


class LocalConditioning(NamedTuple):
    """What `local_conditioning` found about a fitted linear model on some rows.

    ``mu`` is the lowest eigenvalue of the Hessian, ``R`` the paper's R of these rows, ``n_seen``
    the rows learnt from; ``threshold`` = R²/√n, and ``regime`` "fast" (1/(μn)) where μ exceeds
    it, else "slow" (1/√n). ``complexity`` is tr(H⁻¹G), the number of parameters for a
    well-specified model, and ``predicted_excess`` = complexity/(2n). With labels,
    ``gradient_norm``, ``excess_bound`` and ``distance_bound`` certify the fit on these rows, and
    ``efficiency`` is the predicted excess over itself plus how far the fit is above the
    optimum on these rows: near 1, more passes would gain nothing. None where nothing is known.
    """

    mu: float
    R: float
    n_seen: int
    threshold: float
    regime: str
    complexity: float
    predicted_excess: float
    gradient_norm: float | None
    excess_bound: float | None
    distance_bound: float | None
    efficiency: float | None

    def samples_for(self, eps: float) -> float:
        """Return how many rows an excess risk of eps takes by the asymptotic rate."""
        return max(1.0, self.complexity / (2.0 * need_number("eps", eps)))


def _problem(estimator: Any, X: Any, y: Any, alpha: float) -> LinearProblem:
    """Return the problem that a fitted model solves, in the units in which it learnt."""
    check_is_fitted(estimator)
    if not hasattr(estimator, "coef_"):
        raise ValueError(
            f"{type(estimator).__name__} has no coef_; expected a fitted linear model."
        )
    coef = np.atleast_2d(np.asarray(estimator.coef_, dtype=np.float64))
    intercept = np.atleast_1d(np.asarray(getattr(estimator, "intercept_", 0.0), np.float64))
    if X.shape[1] != coef.shape[1]:
        raise ValueError(f"X has {X.shape[1]} features; the model has {coef.shape[1]}.")
    has_intercept = bool(getattr(estimator, "fit_intercept", np.any(intercept != 0.0)))
    ours = isinstance(estimator, AveragedDescentMixin)
    if is_regressor(estimator):
        if not ours:
            raise ValueError("A regressor must be an AveragedSGDRegressor; its loss is known.")
        loss = make_loss(estimator.loss)
        coef, intercept = coef / estimator.scale_, intercept - estimator.center_
        intercept = intercept / estimator.scale_
        targets = None if y is None else (y - estimator.center_) / estimator.scale_
        if targets is None:
            raise ValueError("The curvature of a regression depends on y; give it.")
    else:
        loss = make_loss(estimator.loss if ours else "log")
        targets = None
        if y is not None:
            targets = encode_classes(y, classes=estimator.classes_, owner=estimator)[1]
            targets = 2.0 * targets - 1.0 if len(coef) == 1 else targets
    if ours:
        X = scaled_rows(X, estimator.normalize, estimator._row_limit())
    weights = np.hstack([coef, np.resize(intercept, (len(coef), 1))]) if has_intercept else coef
    penalty = np.full(weights.shape[1], alpha)
    if has_intercept:
        penalty[-1] = 0.0
    softmaxed = len(coef) > 1 and loss.name == "log"
    return LinearProblem(with_ones(X, has_intercept), weights, loss, softmaxed, targets, penalty)


def _complexity(part: LinearProblem, mu: float) -> float:
    """Return tr(H⁻¹G), or the number of parameters where labels or room are wanting."""
    if part.targets is None or part.size > DENSE_LIMIT:
        return float(part.size)
    if mu <= 0.0:
        return math.inf
    # Tr(H⁻¹G): d where the model is true.
    return float(np.trace(np.linalg.solve(part.hessian(), part.gradient_covariance())))


def _above_the_optimum(part: LinearProblem) -> float | None:
    """Return how far the mean loss is above its minimum over the weights, where that is found."""
    if part.softmax or part.size > DENSE_LIMIT or part.penalty.any():
        return None
    y = np.asarray(part.targets, dtype=np.float64)
    n = len(y)
    ridge = 1e-13 * float(np.abs(part.X).max()) ** 2  # keeps the factor of a Hessian positive
    best = newton_linear(part.X, y, part.loss, ridge, start=part.weights[0], tol=1e-9, max_iter=50)
    if not best.converged:
        return None
    now, then = (
        part.loss.evaluate(np.asarray(part.X @ w), y, order=0)[0] / n
        for w in (part.weights[0], best.coef)
    )
    return max(0.0, float(now - then))


@checked
def local_conditioning(
    estimator: Any, X: Any, y: Any = None, *, alpha: float = 0.0
) -> LocalConditioning:
    """Return how well conditioned a linear model's problem is at its weights, and how good it is.

    Parameters
    ----------
    estimator : estimator
        A fitted `AveragedSGDClassifier` or `AveragedSGDRegressor`, or any classifier with
        ``coef_`` and ``intercept_`` that minimises the logistic loss (binary, or softmax), such
        as `sklearn.linear_model.LogisticRegression`.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows: those learnt from, or others of the same kind.
    y : array-like of shape (n_samples,), optional
        Their targets. Without them there is no certificate, and the model is taken to be well
        specified; regressors need them.
    alpha : float, default=0.0
        Strength of an L2 penalty alpha/2 ‖coef‖² beside the *mean* loss, for models that were
        fitted with one: 1/(C n) of LogisticRegression. The intercept is not penalised.

    Returns
    -------
    found : LocalConditioning
        Eigenvalue, regime, predicted excess risk and certificate.

    See Also
    --------
    self_concordance_certificate : The certificate from a gradient and an eigenvalue.

    Examples
    --------
    >>> from octavo.data import make_logistic_stream
    >>> from octavo.linear import AveragedSGDClassifier, local_conditioning
    >>> X, y, theta = make_logistic_stream(20_000, 5, random_state=0)
    >>> model = AveragedSGDClassifier(fit_intercept=False, random_state=0).fit(X, y)
    >>> found = local_conditioning(model, X, y)
    >>> found.regime, round(found.mu, 3), round(found.efficiency, 1)
    ('fast', 0.029, 0.9)
    """
    alpha = need_number("alpha", alpha, zero=True)
    X = check_array(X, accept_sparse="csr", dtype=np.float64)
    X = canonical_csr(X, narrow=True)
    check_squares(X)
    if y is not None:
        y = check_array(y, ensure_2d=False, dtype=None)
        if y.ndim != 1:
            raise ValueError(f"y must have one dimension, got shape {y.shape}.")
        check_consistent_length(X, y)
    problem = _problem(estimator, X, y, alpha)
    n_seen = int(getattr(estimator, "n_seen_", X.shape[0]))
    longest = float(row_lengths(problem.X).max())
    parts = problem.parts()
    eigenvalues = [part.lowest_eigenvalue() for part in parts]
    mu = min(eigenvalues)
    R = longest * (math.sqrt(2.0) if problem.softmax else problem.loss.radius)
    # Section 5, whose μR²√N is μ√N/R²
    threshold = R * R / math.sqrt(max(n_seen, 1))
    complexity = sum(_complexity(part, low) for part, low in zip(parts, eigenvalues))
    # The quadratic expansion around θ* has a factor 1/2.
    predicted = complexity / (2.0 * max(n_seen, 1))
    known = _certified(parts, eigenvalues, longest, predicted) if y is not None else (None,) * 4
    regime = "fast" if mu > threshold else "slow"
    return LocalConditioning(mu, R, n_seen, threshold, regime, complexity, predicted, *known)


def _certified(
    parts: list[LinearProblem], eigenvalues: list[float], longest: float, predicted: float
) -> tuple[float, float, float, float | None]:
    """Return gradient norm, the two bounds and the efficiency, over problems that share nothing."""
    norms, bounds = [], []
    for part, mu in zip(parts, eigenvalues):
        # R of (A2) alone, which the certificate needs
        constant = math.sqrt(2.0) if part.softmax else part.loss.self_concordance
        norms.append(float(np.linalg.norm(part.gradient())))
        bounds.append(self_concordance_certificate(norms[-1], mu, constant * longest))
    gaps = [_above_the_optimum(part) for part in parts]
    efficiency = None
    found = [gap for gap in gaps if gap is not None]
    if len(found) == len(gaps) and 0.0 < predicted < math.inf:
        efficiency = predicted / (predicted + sum(found))
    excess = sum(bound.excess for bound in bounds)
    return math.hypot(*norms), excess, math.hypot(*(b.distance for b in bounds)), efficiency
