"""Ordinary least squares that takes its variables in and out by partial F tests (Figure 18)."""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.stats import f as f_law
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.doubles import check_squares
from octavo.engine.estimators.sklearn_door import Interval, StrOptions
from octavo.engine.estimators.sound import SoundEstimator

__all__ = ["AnovaRow", "StepwiseOLS"]

ROUNDING = 1e-12  # a share of a sum of squares below which a remainder is rounding


class AnovaRow(NamedTuple):
    """A row of an analysis of variance; `f` and `pvalue` are None where nothing is tested."""

    source: str
    df: int
    sum_sq: float
    mean_sq: float
    f: float | None
    pvalue: float | None


def partial_f(gain: Any, sse: Any, df: int) -> tuple[Floats, Floats]:
    """Return F = gain / (SSE / df) and its p-value; a remainder of nothing gives p = 0."""
    gain, sse = np.asarray(gain, dtype=float), np.asarray(sse, dtype=float)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # F of one variable, its gain over the mean square of the rest
        F = np.where(sse > 0.0, gain / (sse / df), np.where(gain > 0.0, np.inf, 0.0))
    return F, f_law.sf(F, 1, df)


class LeastSquares(NamedTuple):
    """A fit of centred columns: coefficients, residuals, their sum of squares, leverages, R, Q."""

    coef: Floats
    residuals: Floats
    sse: float
    leverages: Floats
    R: Floats
    Q: Floats


def least_squares(X: Floats, y: Floats) -> LeastSquares:
    """Fit centred y to centred, independent columns of X by QR."""
    Q, R = np.linalg.qr(X)
    coef = solve_triangular(R, Q.T @ y) if X.shape[1] else np.zeros(0)
    residuals = y - Q @ (Q.T @ y)
    total = float(y @ y)
    sse = float(residuals @ residuals)
    if sse <= ROUNDING**2 * total:
        residuals, sse = np.zeros_like(residuals), 0.0
    return LeastSquares(coef, residuals, sse, 1.0 / len(y) + (Q**2).sum(axis=1), R, Q)


def entering(X: Floats, y: Floats, inside: list[int]) -> tuple[Floats, Floats]:
    """Return each column's gain and p-value if it entered; 0 and 1 where it adds nothing."""
    fit = least_squares(X[:, inside], y)
    # what each column adds is what is left of it beside those inside (Frisch, Waugh, Lovell)
    Z = X - fit.Q @ (fit.Q.T @ X)
    norms, before = (Z**2).sum(axis=0), (X**2).sum(axis=0)
    free = norms > ROUNDING * before
    free[inside] = False
    gain = np.zeros(X.shape[1])
    # growth of R², times the total sum of squares
    gain[free] = (Z[:, free].T @ fit.residuals) ** 2 / norms[free]
    gain = np.minimum(gain, fit.sse)
    df = len(y) - len(inside) - 2
    if df < 1:
        return gain, np.ones(X.shape[1])
    rest = fit.sse - gain
    rest[rest <= ROUNDING * float(y @ y)] = 0.0
    p = np.where(free & (gain > 0.0), partial_f(gain, rest, df)[1], 1.0)
    return gain, p


def leaving(X: Floats, y: Floats, inside: list[int]) -> tuple[Floats, Floats]:
    """Return what each included column's removal costs, and its p-value."""
    fit = least_squares(X[:, inside], y)
    inverse = solve_triangular(fit.R, np.eye(len(inside)))
    # b² / diag((XᵀX)⁻¹): the rise of SSE without refitting
    cost = fit.coef**2 / (inverse**2).sum(axis=1)
    sse = 0.0 if fit.sse <= ROUNDING * float(y @ y) else fit.sse
    return cost, partial_f(cost, sse, len(y) - len(inside) - 1)[1]


def stepwise(X: Floats, y: Floats, p_enter: float, p_remove: float, direction: str) -> list[int]:
    """Return the columns chosen, in the order of entry (Figure 18)."""
    inside = list(range(X.shape[1])) if direction == "backward" else []
    seen = {tuple(sorted(inside))}
    while True:
        before = list(inside)
        if direction != "backward" and len(inside) < X.shape[1]:  # Steps 4-5
            gain, p = entering(X, y, inside)
            best = int(np.argmax(gain))
            if gain[best] > ROUNDING * float(y @ y) and p[best] <= p_enter:
                inside.append(best)
        if direction != "forward" and inside:  # Steps 6-7, "greatest increase" read as least cost
            cost, p = leaving(X, y, inside)
            worst = int(np.argmin(cost))
            if p[worst] > p_remove:
                del inside[worst]
        if inside == before or (tuple(sorted(inside)) in seen and direction == "both"):
            return inside  # Step 8; ties could otherwise go round for ever
        seen.add(tuple(sorted(inside)))


def anova(X: Floats, y: Floats, chosen: list[int], names: list[str]) -> list[AnovaRow]:
    """Return sums of squares in the order of entry, with the test of the whole model first."""
    fit = least_squares(X[:, chosen], y)
    total, n, r = float(y @ y), len(y), len(chosen)
    df = n - 1 - r
    parts = (fit.Q.T @ y) ** 2
    mean = fit.sse / df if df else 0.0

    def row(source: str, count: int, sum_sq: float, tested: bool) -> AnovaRow:
        F = p = None
        if tested and mean > 0.0:
            F = sum_sq / count / mean
            p = float(f_law.sf(F, count, df))
        return AnovaRow(source, count, sum_sq, sum_sq / count if count else 0.0, F, p)

    rows = [row("regression", r, float(parts.sum()), r > 0)]
    rows += [row(names[j], 1, float(part), True) for j, part in zip(chosen, parts)]
    return [*rows, row("residual", df, fit.sse, False), row("total", n - 1, total, False)]


class StepwiseOLS(RegressorMixin, SoundEstimator):
    """Least squares of the variables that partial F tests keep.

    The variable that explains most enters while its test has p at most `p_enter`; after each entry
    the one that explains least leaves if its p exceeds `p_remove`.

    Parameters
    ----------
    p_enter : float, default=0.10
        Largest p-value with which a variable enters.
    p_remove : float, default=0.15
        Smallest p-value beyond which one leaves; no smaller than `p_enter`.
    direction : {"both", "forward", "backward"}, default="both"
        Whether variables enter and leave, only enter, or only leave a model of all.

    Attributes
    ----------
    selected_ : ndarray of int
        The columns of the model, in the order of entry.
    coef_ : ndarray of shape (n_features,)
        Coefficients, 0 where a variable is not selected.
    intercept_ : float
        The constant.
    pvalues_ : ndarray of shape (n_features,)
        p-value of each variable in the model; for the others, that with which it would enter.
    r2_, r2_adj_, r2_pred_ : float
        R², adjusted for the number of variables, and of predictions of rows left out (PRESS).
    anova_ : list of AnovaRow
        Analysis of variance: regression, each variable in the order of entry, residual, total.
    residuals_ : ndarray of shape (n_samples,)
        What the model leaves.
    n_features_in_ : int
        Number of variables.

    Notes
    -----
    p-values after a selection are too small: they are a rule for stopping, not evidence. Do not use
    it to predict from many correlated variables; a lasso or ridge regression is better there.

    References
    ----------
    A. Srinivasan and G. Ramakrishnan (2011). Parameter Screening and Optimisation for ILP using
    Designed Experiments. Journal of Machine Learning Research 12, Appendix A.

    Examples
    --------
    >>> from octavo.search import StepwiseOLS, fractional_factorial
    >>> accuracy = [0.793, 0.644, 0.763, 0.669, 0.757, 0.728, 0.787, 0.669]  # Figure 9(a)
    >>> model = StepwiseOLS().fit(fractional_factorial(4).coded, accuracy)
    >>> print(model.selected_, model.coef_.round(3), round(model.intercept_, 3))
    [2 3] [ 0.     0.    -0.049 -0.018] 0.726
    """

    _parameter_constraints: dict = {
        "p_enter": [Interval(Real, 0, 1, closed="both")],
        "p_remove": [Interval(Real, 0, 1, closed="both")],
        "direction": [StrOptions({"both", "forward", "backward"})],
    }

    def __init__(
        self, p_enter: float = 0.10, p_remove: float = 0.15, direction: str = "both"
    ) -> None:
        self.p_enter = p_enter
        self.p_remove = p_remove
        self.direction = direction

    def fit(self, X: Any, y: Any) -> StepwiseOLS:
        """Choose variables and fit them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The variables.
        y : array-like of shape (n_samples,)
            The response.

        Returns
        -------
        self : StepwiseOLS
            The fitted model.
        """
        self._validate_params()
        if self.p_enter > self.p_remove:
            raise ValueError(
                f"p_enter = {self.p_enter:g} must not exceed p_remove = {self.p_remove:g}: a "
                "variable would enter and leave for ever."
            )
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=2)
        y = np.asarray(y, dtype=np.float64)
        check_squares(X)
        check_squares(y, "y")
        n, d = X.shape
        if self.direction == "backward" and n < d + 2:
            raise ValueError(
                f"{n} rows leave no degrees of freedom beside {d} variables: elimination needs at "
                f"least {d + 2} rows."
            )
        scale = np.abs(X).max(axis=0)
        scale[scale == 0.0] = 1.0
        unit = float(np.abs(y).max()) or 1.0
        center, middle = (X / scale).mean(axis=0), float((y / unit).mean())
        Z, z = X / scale - center, y / unit - middle
        Z[:, (Z**2).sum(axis=0) <= ROUNDING**2 * n] = 0.0
        if float(z @ z) <= ROUNDING**2 * n:
            z = np.zeros(n)
        if self.direction == "backward" and np.linalg.matrix_rank(Z) < d:
            raise ValueError("Backward elimination needs variables that are linearly independent.")
        chosen = stepwise(Z, z, self.p_enter, self.p_remove, self.direction)
        self._keep(Z, z, chosen, scale, unit, center, middle)
        return self

    def _keep(
        self,
        Z: Floats,
        z: Floats,
        chosen: list[int],
        scale: Floats,
        unit: float,
        center: Floats,
        middle: float,
    ) -> None:
        n, d = Z.shape
        fit = least_squares(Z[:, chosen], z)
        self.selected_ = np.array(chosen, dtype=np.intp)
        self.coef_ = np.zeros(d)
        self.coef_[chosen] = fit.coef * unit / scale[chosen]
        self.intercept_ = float(middle * unit - (fit.coef * unit) @ center[chosen])
        self.pvalues_ = entering(Z, z, chosen)[1]
        if chosen:
            self.pvalues_[chosen] = leaving(Z, z, chosen)[1]
        total, df = float(z @ z), n - 1 - len(chosen)
        self.r2_ = 1.0 - fit.sse / total if total > 0.0 else 0.0
        self.r2_adj_ = 1.0 - (n - 1) / df * (1.0 - self.r2_) if df else self.r2_
        self.r2_pred_ = self._predicted(fit, total)
        names = getattr(self, "feature_names_in_", None)
        labels = [f"x{j}" for j in range(d)] if names is None else [str(name) for name in names]
        table = anova(Z, z, chosen, labels)
        self.anova_ = [
            row._replace(sum_sq=row.sum_sq * unit**2, mean_sq=row.mean_sq * unit**2)
            for row in table
        ]
        self.residuals_ = fit.residuals * unit

    def _predicted(self, fit: LeastSquares, total: float) -> float:
        """Return 1 - PRESS / SST; a row that alone decides a coefficient cannot be left out."""
        if total == 0.0 or fit.sse == 0.0:
            return self.r2_
        left = 1.0 - fit.leverages
        if left.min() <= ROUNDING:
            warnings.warn(
                "A row decides a coefficient alone, so it cannot be predicted by the others; "
                "r2_pred_ leaves it out.",
                UserWarning,
                stacklevel=4,
            )
        kept = left > ROUNDING
        # leave-one-out residual e / (1 - h)
        return 1.0 - float(np.sum((fit.residuals[kept] / left[kept]) ** 2)) / total

    def predict(self, X: Any) -> Floats:
        """Predict the response.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The variables.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Predictions.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return X @ self.coef_ + self.intercept_
