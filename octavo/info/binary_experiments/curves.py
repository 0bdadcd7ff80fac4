"""Risk curves over costs and their ROC duals, exact from scores or from distributions.

A point (FP, TP) of an ROC diagram is a line of a risk diagram, L_c = (1-π) c FP + π (1-c) (1-TP),
and the least of these lines is the lower envelope that belongs to the upper hull of the ROC
curve. Both are a list of groups of equal likelihood ratio, of masses p and q in the two classes:
the hull's segments, and the kinks of the risk curve. Integrals of a risk curve against a weight
over costs are sums over these groups, without a grid.

Reference: Reid and Williamson (2011), "Information, divergence and risk for binary experiments",
JMLR 12:731-817, section 6.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import quad
from scipy.optimize import isotonic_regression

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.doubles import real_array
from octavo.info.binary_experiments.csiszar import check_pair
from octavo.info.binary_experiments.losses import ProperLoss, binary_labels, check_weights
from octavo.info.binary_experiments.weights import closed_unit, one_prior

__all__ = [
    "RiskCurve",
    "risk_curve",
    "risk_to_roc",
    "roc_to_risk",
    "threshold_risk",
    "weighted_risk",
]


def hull_masses(p: Floats, q: Floats) -> tuple[Floats, Floats]:
    """Pool groups, given from the highest score to the lowest, until likelihood ratios fall.

    Parameters
    ----------
    p, q : ndarray of shape (n,)
        Masses of the groups in class 1 and class 0.

    Returns
    -------
    tuple of ndarray
        Masses of the segments of the upper hull of the ROC curve, from (0, 0) to (1, 1).
    """
    kept = (p > 0.0) | (q > 0.0)
    p, q = p[kept], q[kept]
    # the upper hull of the ROC curve: pooled until ratios p/q fall
    fit = isotonic_regression(p / (p + q), weights=p + q, increasing=False)
    starts = fit.blocks[:-1]
    p, q = np.add.reduceat(p, starts), np.add.reduceat(q, starts)
    # blocks of equal ratio that rounding kept apart do no harm; order is all that counts
    order = np.argsort(-p / (p + q), kind="stable")
    return p[order], q[order]


class RiskCurve:
    """The least cost-weighted risk over thresholds, as a function of the cost.

    Made by `risk_curve` from labels and scores, by `roc_to_risk` from rates, or by
    `from_distributions`. Call it with costs c.

    Parameters
    ----------
    p, q : array-like of shape (n,)
        Masses of groups in class 1 and class 0, from the highest score to the lowest; each sums
        to one.
    pi : float, default=0.5
        Prior probability of class 1.

    Attributes
    ----------
    p, q : ndarray
        Masses of the hull's segments, likelihood ratios falling.
    pi : float
        The prior.
    fpr, tpr : ndarray
        Vertices of the upper hull of the ROC curve.
    costs : ndarray
        Where the curve bends, rising: the posterior probabilities of the segments.

    Examples
    --------
    >>> from octavo.info import RiskCurve
    >>> curve = RiskCurve.from_distributions([0.5, 0.3, 0.2], [0.2, 0.2, 0.6])
    >>> print(f"{curve(0.5):.2f}, {curve.auc:.2f}")
    0.15, 0.72
    """

    def __init__(self, p: ArrayLike, q: ArrayLike, pi: float = 0.5) -> None:
        self.pi = one_prior(pi)
        self.p, self.q = hull_masses(*check_pair(p, q))
        self.fpr = np.minimum(np.concatenate([[0.0], np.cumsum(self.q)]), 1.0)
        self.tpr = np.minimum(np.concatenate([[0.0], np.cumsum(self.p)]), 1.0)
        self.fpr[-1] = self.tpr[-1] = 1.0
        self.mass = self.pi * self.p + (1.0 - self.pi) * self.q
        self.eta = self.pi * self.p / self.mass
        self.costs = self.eta[::-1].copy()

    def __repr__(self) -> str:
        return f"RiskCurve({self.p.size} segments, pi={self.pi:g})"

    @classmethod
    def from_distributions(cls, p: ArrayLike, q: ArrayLike, pi: float = 0.5) -> Self:
        """Return the Bayes risk of telling P from Q, for every cost.

        Parameters
        ----------
        p, q : array-like
            Probabilities of the same outcomes, each summing to one.
        pi : float, default=0.5
            Prior probability of P.

        Returns
        -------
        RiskCurve
            The lowest curve that any score of the outcomes can have.
        """
        p, q = check_pair(p, q)
        with np.errstate(divide="ignore", invalid="ignore"):
            order = np.argsort(-np.nan_to_num(p / (p + q), nan=0.0), kind="stable")
        return cls(p[order], q[order], pi)

    def __call__(self, c: ArrayLike) -> Floats:
        """Return the risk at costs c of a false positive, 1 - c of a missed one."""
        c = closed_unit(c, "c")
        # a segment is called positive where its posterior is at least c: so many of them
        vertex = self.eta.size - np.searchsorted(self.costs, c, side="left")
        missed = self.pi * (1.0 - c) * (1.0 - self.tpr[vertex])
        return ((1.0 - self.pi) * c * self.fpr[vertex] + missed)[()]  # Proposition 20

    def majority_risk(self, c: ArrayLike) -> Floats:
        """Return the risk of the better constant answer, the tent above the curve.

        Parameters
        ----------
        c : array-like
            Costs from 0 to 1.

        Returns
        -------
        ndarray
            min((1-π) c, π (1-c)).
        """
        c = closed_unit(c, "c")
        return np.minimum((1.0 - self.pi) * c, self.pi * (1.0 - c))[()]

    def prior_risk(self, pi: ArrayLike) -> Floats:
        """Return the 0-1 risk at other priors, Σ min(π p, (1-π) q) over the segments.

        Parameters
        ----------
        pi : array-like
            Priors from 0 to 1.

        Returns
        -------
        ndarray
            Risks; what `generalized_pinsker` takes.
        """
        pi = closed_unit(pi, "pi")
        return (2.0 * np.asarray(self.with_prior(0.5)(1.0 - pi)))[()]  # Theorem 15, part 2

    def with_prior(self, pi: float) -> RiskCurve:
        """Return the curve of the same scores at another prior.

        Parameters
        ----------
        pi : float
            Prior probability of class 1.

        Returns
        -------
        RiskCurve
            The curve.
        """
        return type(self)(self.p, self.q, pi)

    def power(self, fpr: ArrayLike) -> Floats:
        """Return the Neyman-Pearson function: the largest true positive rate at a rate of alarms.

        Parameters
        ----------
        fpr : array-like
            False positive rates from 0 to 1.

        Returns
        -------
        ndarray
            True positive rates of the hull.
        """
        fpr = closed_unit(fpr, "fpr")
        first = self.q > 0.0  # where q is 0 the hull rises straight up
        start = float(self.p[~first & (np.cumsum(self.q) == 0.0)].sum())
        x = np.concatenate([[0.0], np.cumsum(self.q[first])])
        y = np.concatenate([[start], start + np.cumsum(self.p[first])])
        return np.minimum(np.interp(fpr, x / x[-1], y), 1.0)[()]

    @property
    def auc(self) -> float:
        """Area under the hull of the ROC curve."""
        return float(np.sum(np.diff(self.fpr) * 0.5 * (self.tpr[1:] + self.tpr[:-1])))


@checked
def risk_curve(
    y: ArrayLike,
    score: ArrayLike,
    pi: float | None = None,
    *,
    sample_weight: ArrayLike | None = None,
) -> RiskCurve:
    """Return the least risk over thresholds on a score, for every cost at once.

    Exact: the curve bends where it must, and there is no grid. Scores that were fitted on the same
    labels make it too low; use held-out ones.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels of two classes; the larger one is class 1.
    score : array-like of shape (n_samples,)
        Larger for class 1; probabilities, margins, anything ordered.
    pi : float, default=None
        Prior probability of class 1; its share of `y` by default.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the samples.

    Returns
    -------
    RiskCurve
        Call it with a cost c for min (1-π) c FP + π (1-c) (1-TP).

    Examples
    --------
    >>> from octavo.info import risk_curve
    >>> curve = risk_curve([0, 0, 1, 1, 0, 1], [0.1, 0.4, 0.35, 0.8, 0.5, 0.9])
    >>> print(f"{curve(0.5):.4f}, {curve(0.2):.4f}")
    0.0833, 0.0667
    """
    labels = binary_labels(y)
    score = real_array(score, "score")
    if score.shape != labels.shape:
        raise ValueError(
            f"y and score must have one entry a sample, got {labels.size} labels and an array of "
            f"shape {score.shape}."
        )
    order = np.argsort(-score)
    weights = None if sample_weight is None else check_weights(sample_weight, labels.size)[order]
    positive = labels[order] if weights is None else weights * labels[order]
    either = np.ones(labels.size) if weights is None else weights
    starts = np.flatnonzero(np.concatenate([[True], np.diff(score[order]) != 0.0]))
    p = np.add.reduceat(positive, starts)
    q = np.add.reduceat(either, starts) - p
    q[q < 1e-14 * either.max()] = 0.0  # differences of weights
    totals = float(p.sum()), float(q.sum())
    if min(totals) <= 0.0:
        raise ValueError("Both classes must be present in y, with positive weight; one is not.")
    share = totals[0] / (totals[0] + totals[1])
    return RiskCurve(p / totals[0], q / totals[1], share if pi is None else pi)


@checked
def threshold_risk(y: ArrayLike, proba: ArrayLike, c: ArrayLike) -> Floats:
    """Return the risk of deciding by probabilities as they stand: positive where they reach c.

    This is the curve of an estimate itself (Figure 4), above the `risk_curve` of the same scores
    unless the probabilities are calibrated.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels of two classes; the larger one is class 1.
    proba : array-like of shape (n_samples,)
        Predicted probabilities of class 1.
    c : array-like
        Costs from 0 to 1.

    Returns
    -------
    ndarray
        Mean cost-weighted loss ℓ_c at every cost.

    Examples
    --------
    >>> from octavo.info import threshold_risk
    >>> print(threshold_risk([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.8], [0.5, 0.3]))
    [0.25  0.075]
    """
    labels, proba = binary_labels(y), closed_unit(proba, "proba")
    if proba.shape != labels.shape:
        raise ValueError(
            f"y and proba must have one entry a sample, got {labels.size} labels and an array of "
            f"shape {proba.shape}."
        )
    c = closed_unit(c, "c")
    zero, one = np.sort(proba[labels == 0.0]), np.sort(proba[labels == 1.0])
    alarms = zero.size - np.searchsorted(zero, c, side="left")
    missed = np.searchsorted(one, c, side="left")
    return ((c * alarms + (1.0 - c) * missed) / labels.size)[()]  # Eq. (30)


@checked
def roc_to_risk(fpr: ArrayLike, tpr: ArrayLike, pi: float = 0.5) -> RiskCurve:
    """Return the risk curve of an ROC curve (Proposition 20 and Eq. (42)).

    Parameters
    ----------
    fpr, tpr : array-like of shape (n,)
        Rates of false and true positives, both rising; (0, 0) and (1, 1) are added where they are
        missing.
    pi : float, default=0.5
        Prior probability of class 1.

    Returns
    -------
    RiskCurve
        Of the upper hull.

    Examples
    --------
    >>> from octavo.info import roc_to_risk
    >>> print(f"{roc_to_risk([0.0, 0.2, 1.0], [0.0, 0.7, 1.0])(0.5):.3f}")
    0.125
    """
    fpr, tpr = closed_unit(fpr, "fpr"), closed_unit(tpr, "tpr")
    if fpr.ndim != 1 or fpr.shape != tpr.shape or not fpr.size:
        raise ValueError(
            f"fpr and tpr must be vectors of one length, got shapes {fpr.shape} and {tpr.shape}."
        )
    q = np.diff(np.concatenate([[0.0], fpr, [1.0]]))
    p = np.diff(np.concatenate([[0.0], tpr, [1.0]]))
    if min(p.min(), q.min()) < 0.0:
        raise ValueError("fpr and tpr must rise together, as thresholds fall.")
    return RiskCurve(p, q, pi)


@checked
def risk_to_roc(
    curve: RiskCurve | Callable[[Any], Any], fpr: ArrayLike | None = None
) -> tuple[Floats, Floats]:
    """Return the ROC curve of a risk curve (Eq. (43)).

    Parameters
    ----------
    curve : RiskCurve or callable
        A risk curve over costs, or any concave function of the prior π that is a 0-1 Bayes risk,
        between 0 and min(π, 1 - π).
    fpr : array-like of shape (n,), default=None
        Where the true positive rate is wanted; the vertices of a `RiskCurve`, or 201 points, by
        default.

    Returns
    -------
    tuple of ndarray
        False and true positive rates of the maximal ROC curve.

    Examples
    --------
    >>> from octavo.info import risk_to_roc
    >>> print(risk_to_roc(lambda pi: 0.5 * pi * (1 - pi), [0.1, 0.3, 0.7])[1].round(4))
    [0.8472 0.9746 1.    ]
    """
    if isinstance(curve, RiskCurve):
        if fpr is None:
            return curve.fpr.copy(), curve.tpr.copy()
        return closed_unit(fpr, "fpr"), np.asarray(curve.power(fpr))
    if not callable(curve):
        raise ValueError(f"curve must be a risk curve or a function, got {type(curve).__name__}.")
    _refuse_what_is_no_risk(curve)
    rates = np.linspace(0.0, 1.0, 201) if fpr is None else closed_unit(fpr, "fpr")
    return rates, np.array([_envelope(curve, float(a)) for a in rates.ravel()]).reshape(rates.shape)


def _refuse_what_is_no_risk(risk: Callable[[Any], Any]) -> None:
    """Look at 99 priors: a Bayes risk is neither negative nor above that of a constant answer."""
    for prior in np.linspace(0.01, 0.99, 99).tolist():
        value, most = float(risk(prior)), min(prior, 1.0 - prior)
        if value < -1e-9 or value > most + 1e-9:
            raise ValueError(
                "curve must lie between 0 and min(pi, 1 - pi), as every 0-1 Bayes risk does; at "
                f"pi = {prior:.6g} it is {value:.6g}."
            )


def _envelope(risk: Callable[[Any], Any], alpha: float) -> float:
    """Return the least of ((1-π) α + π - L(π)) / π over π: a coarse look, then a fine one."""
    low, high = 1e-9, 1.0
    for _ in range(8):
        grid = np.linspace(low, high, 65)
        values = [((1.0 - x) * alpha + x - float(risk(x))) / x for x in grid]  # Eq. (43)
        if not np.isfinite(values).all():
            raise ValueError("curve must return finite risks for priors between 0 and 1.")
        best = int(np.argmin(values))
        low, high = grid[max(best - 1, 0)], grid[min(best + 1, 64)]
    return float(np.clip(min(values), 0.0, 1.0))


@checked
def weighted_risk(
    curve: RiskCurve | Callable[[Any], Any],
    w: ProperLoss | Callable[[Any], Any],
    atoms: Any = (),
) -> float:
    """Return the area under a risk curve, weighted by how much each cost matters.

    For a `RiskCurve` it is the expected loss of the best calibration of its scores, in closed
    form; an alternative to the AUC in which the costs are chosen and not left to the data.

    Parameters
    ----------
    curve : RiskCurve or callable
        The curve over costs.
    w : ProperLoss or callable
        A weight over costs, or a loss that stands for its weight.
    atoms : sequence of (float, float), default=()
        Costs and masses besides, with a callable `w`.

    Returns
    -------
    float
        ∫ curve(c) w(c) dc; infinity where the weight has too much at an end.

    Examples
    --------
    >>> from octavo.info import ProperLoss, risk_curve, weighted_risk
    >>> curve = risk_curve([0, 0, 1, 1, 0, 1], [0.1, 0.4, 0.35, 0.8, 0.5, 0.9])
    >>> print(f"{weighted_risk(curve, lambda c: 1.0):.4f}")
    0.0556
    """
    if not callable(curve):
        raise ValueError(f"curve must be a risk curve or a function, got {type(curve).__name__}.")
    loss = w if isinstance(w, ProperLoss) else ProperLoss.from_weight(w, atoms)
    if not isinstance(curve, RiskCurve):
        return _integrated(curve, loss)
    if loss.is_fair:
        return float(curve.mass @ np.atleast_1d(loss.bayes_risk(curve.eta)))  # Theorem 16
    return 0.0 if float(np.max(curve(np.append(curve.costs, 0.5)))) == 0.0 else np.inf


def _integrated(curve: Callable[[Any], Any], loss: ProperLoss) -> float:
    total = sum(mass * float(curve(c)) for c, mass in loss.atoms)
    for low, high in ((0.0, 0.5), (0.5, 1.0)):
        total += quad(  # ∫ L_c w(c) dc, Theorem 16
            lambda c: float(curve(c)) * float(loss.weight(c)), low, high, limit=200, epsabs=1e-11
        )[0]
    if not np.isfinite(total):
        raise ValueError("The curve times the weight has no finite integral over costs.")
    return float(total)
