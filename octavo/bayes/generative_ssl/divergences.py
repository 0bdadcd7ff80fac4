"""What maximum likelihood with unlabelled rows really minimises, and by how much that can hurt."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy.special import rel_entr
from sklearn.utils.multiclass import check_classification_targets

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.sound import NotFiniteWarning
from octavo.engine.probability.mixtures import log_sum

__all__ = ["KLDecomposition", "bias_bounds", "kl_decomposition", "semi_supervised_kl"]


class KLDecomposition(NamedTuple):
    """Divergences of a model from the truth: of (x, y), of y given x, of x, and Eq. (8)."""

    joint: float
    conditional: float
    marginal: float
    semi_supervised: float


def _share(p_unlabelled: Any) -> float:
    value = float(p_unlabelled)
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"p_unlabelled must be between 0 and 1; got {p_unlabelled!r}.")
    return value


def _decompose(conditional: float, marginal: float, p_unlabelled: float) -> KLDecomposition:
    joint = conditional + marginal  # D(X, Y) = D(Y | X) + D(X), Eq. (21)
    # Eq. (8): D(X, Z) = P(labelled) D(X, Y) + P(unlabelled) D(X)
    # Eq. (8) without D(X, Y), so that no infinity meets a zero
    semi = marginal + ((1.0 - p_unlabelled) * conditional if p_unlabelled < 1.0 else 0.0)
    found = KLDecomposition(float(joint), float(conditional), float(marginal), float(semi))
    if not np.isfinite(joint):
        warnings.warn(
            "The divergence is infinite: the model gives no probability to something that occurs.",
            NotFiniteWarning,
            stacklevel=4,
        )
    return found


def _table(values: Any, name: str) -> Floats:
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2 or table.size == 0:
        raise ValueError(f"{name} must be a table of x by y; got shape {table.shape}.")
    if not np.isfinite(table).all() or (table < 0).any() or abs(table.sum() - 1.0) > 1e-6:
        raise ValueError(f"{name} must hold probabilities that sum to one.")
    return table / table.sum()


@checked
def kl_decomposition(P: Any, Q: Any, p_unlabelled: float) -> KLDecomposition:
    """Decompose the divergence of a model's table Q from the true table P.

    Parameters
    ----------
    P, Q : array-like of shape (n_x, n_y)
        Joint probabilities of x and y: the truth and the model.
    p_unlabelled : float
        Share of rows whose label is unknown.

    Returns
    -------
    divergences : KLDecomposition
        Of (x, y), of y given x, of x, and of what is seen when labels go missing (Eq. 8), which
        is what maximum likelihood minimises.

    Examples
    --------
    >>> from octavo.bayes import kl_decomposition
    >>> found = kl_decomposition([[0.4, 0.1], [0.1, 0.4]], [[0.3, 0.2], [0.1, 0.4]], 0.5)
    >>> round(found.joint, 4), round(found.marginal, 4), round(found.semi_supervised, 4)
    (0.0458, 0.0, 0.0229)
    """
    share = _share(p_unlabelled)
    P, Q = _table(P, "P"), _table(Q, "Q")
    if P.shape != Q.shape:
        raise ValueError(f"P and Q must have the same shape; got {P.shape} and {Q.shape}.")
    p, q = P.sum(axis=1), Q.sum(axis=1)
    marginal = float(rel_entr(p, q).sum())  # D(P(X), θ)
    seen = p > 0
    if not (q[seen] > 0).all():
        return _decompose(np.inf, marginal, share)
    given = P[seen] / p[seen, None]
    conditional = p[seen] @ rel_entr(given, Q[seen] / q[seen, None]).sum(axis=1)  # D(P(Y | X), θ)
    return _decompose(float(conditional), marginal, share)


@checked
def semi_supervised_kl(log_p: Any, log_q: Any, y: Any, p_unlabelled: float) -> KLDecomposition:
    """Estimate the divergences of a model from rows drawn from a truth whose density is known.

    Parameters
    ----------
    log_p, log_q : array-like of shape (n_rows, n_classes)
        log p(x, y) of the truth and of the model at each row x and every class.
    y : array-like of int of shape (n_rows,)
        Column of the class that was drawn.
    p_unlabelled : float
        Share of rows whose label is unknown.

    Returns
    -------
    divergences : KLDecomposition
        Means over the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.bayes import semi_supervised_kl
    >>> truth, model = np.log([[0.4, 0.1], [0.1, 0.4]]), np.log([[0.3, 0.2], [0.1, 0.4]])
    >>> rows, y = [0] * 5 + [1] * 5, [0] * 4 + [1] + [0] + [1] * 4
    >>> round(semi_supervised_kl(truth[rows], model[rows], y, 0.5).joint, 4)
    0.0458
    """
    share = _share(p_unlabelled)
    P, Q = np.asarray(log_p, dtype=np.float64), np.asarray(log_q, dtype=np.float64)
    check_classification_targets(y)
    column = np.asarray(y, dtype=np.intp)
    if P.ndim != 2 or P.shape != Q.shape or column.shape != P.shape[:1] or not P.size:
        raise ValueError(
            "log_p and log_q must be tables of rows by classes of one shape, with one entry of y a "
            f"row; got {P.shape}, {Q.shape} and {column.shape}."
        )
    if column.min() < 0 or column.max() >= P.shape[1]:
        raise ValueError(f"y must hold columns from 0 to {P.shape[1] - 1}.")
    if np.isnan(P).any() or np.isnan(Q).any():
        raise ValueError("log_p and log_q must not hold NaN.")
    rows = np.arange(len(column))
    p, q = log_sum(P), log_sum(Q)
    if not (np.isfinite(p).all() and np.isfinite(P[rows, column]).all()):
        raise ValueError("log_p must be finite where a row was drawn.")
    marginal = float(np.mean(p - q))  # the sample mean of log p(x) / p(x | θ)
    if not np.isfinite(marginal):
        return _decompose(np.inf, np.inf, share)
    conditional = float(np.mean(P[rows, column] - p - (Q[rows, column] - q)))
    return _decompose(conditional, marginal, share)


@checked
def bias_bounds(
    d_star: float, p_unlabelled: float, d_unsupervised: float | None = None
) -> tuple[float, float]:
    """Bound the divergence that maximum likelihood reaches with unlabelled rows (Theorems 7, 9).

    Parameters
    ----------
    d_star : float
        The smallest divergence D(P(X, Y)) within the model family: what infinitely many labels
        would reach.
    p_unlabelled : float
        Share of rows whose label is unknown.
    d_unsupervised : float or None, default=None
        D(P(X, Y)) at the fit to x alone, a second upper bound.

    Returns
    -------
    lower, upper : float
        D(θ*) and min(D(θ*) / P(labelled), D(θ_U)).

    Examples
    --------
    >>> from octavo.bayes import bias_bounds
    >>> bias_bounds(0.2, 0.75)
    (0.2, 0.8)
    """
    share, least = _share(p_unlabelled), float(d_star)
    if not (np.isfinite(least) and least >= 0.0):
        raise ValueError(f"d_star must be a divergence, finite and not negative; got {d_star!r}.")
    upper = np.inf
    if share < 1.0:
        upper = least / (1.0 - share)  # Eq. (11): D(θ*) / P(labelled)
    elif least == 0.0:
        upper = 0.0 if d_unsupervised is None else float(d_unsupervised)
    if d_unsupervised is not None:
        other = float(d_unsupervised)
        if np.isnan(other) or other < least * (1.0 - 1e-9) - 1e-12:
            raise ValueError(
                f"d_unsupervised must be at least d_star={least:g}, the smallest divergence of the "
                f"family; got {d_unsupervised!r}."
            )
        upper = min(upper, other)  # Theorem 9: no worse than without any label
    if not np.isfinite(upper):
        warnings.warn(
            "Without labels and without d_unsupervised nothing bounds the divergence from above.",
            NotFiniteWarning,
            stacklevel=3,
        )
    return least, max(upper, least)  # Eq. (11), whose lower end is D(θ*)
