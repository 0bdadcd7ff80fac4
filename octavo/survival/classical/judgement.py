"""How good a prediction of times is: concordance, ROC at a time, Brier score, split of groups.

References: F. E. Harrell and others (1984), "Regression modelling strategies for improved
prognostic prediction"; P. J. Heagerty, T. Lumley and M. S. Pepe (2000), "Time-dependent ROC curves
for censored survival data and a diagnostic marker"; H. Uno and others (2007), "Evaluating
prediction rules for t-year survivors with censored regression models"; E. Graf and others (1999),
"Assessment and comparison of prognostic classification schemes for survival data"; N. Mantel
(1966), "Evaluation of survival data".
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.doubles import real_array
from octavo.engine.survival import brier, curves
from octavo.engine.survival.concordance import interval_pairs
from octavo.engine.survival.groups import logrank
from octavo.engine.survival.targets import as_intervals, event_and_time
from octavo.survival.classical.curves import checked_events

__all__ = [
    "TimeDependentROC",
    "concordance_index",
    "integrated_brier_score",
    "logrank_test",
    "risk_groups",
    "time_dependent_roc",
]


def _numbers(values: Any, name: str, n: int | None = None) -> Floats:
    values = np.asarray(values)
    if values.dtype.kind not in "fiub" or values.ndim != 1:
        raise ValueError(f"{name} must be a vector of numbers; got {values.dtype} {values.shape}.")
    if n is not None and len(values) != n:
        raise ValueError(f"{name} must have {n} entries, one a row; got {len(values)}.")
    values = values.astype(np.float64)
    if not np.isfinite(values).all():
        i = int(np.flatnonzero(~np.isfinite(values))[0])
        raise ValueError(f"{name} must be finite; entry {i} is {values[i]}.")
    return values


@checked
def concordance_index(lower: Any, upper: Any, utility: Any, ties: float = 0.5) -> float:
    """Return the share of comparable pairs whose utilities are in the order of their times.

    Parameters
    ----------
    lower, upper : array-like of shape (n_samples,)
        Ends between which each event lies: equal for an event that was seen, an infinite upper
        end for a right-censored row, a lower end of zero for a left-censored one.
    utility : array-like of shape (n_samples,)
        What was predicted: larger is later. Of a risk, take the negative.
    ties : float, default=0.5
        What a pair with equal utilities counts; the paper takes 0.

    Returns
    -------
    share : float
        Between 0 and 1. Row i is later than row j if ``upper[j] < lower[i]``: rows that end and
        begin at the same time are not compared (scikit-survival compares an event with a row
        that is censored at the same time).

    Examples
    --------
    >>> from octavo.survival import concordance_index
    >>> concordance_index([1.0, 2.0, 3.0], [1.0, float("inf"), 3.0], [0.1, 0.5, 0.1])
    0.75
    """
    lower = real_array(lower, "lower", finite=False).ravel()
    upper = real_array(upper, "upper", finite=False).ravel()
    if len(lower) != len(upper):
        raise ValueError(
            f"lower and upper must have as many rows; got {len(lower)} and {len(upper)}."
        )
    ends = as_intervals(np.column_stack([lower, upper]))
    if not 0 <= ties <= 1:
        raise ValueError(f"ties must lie between 0 and 1; got {ties}.")
    found = interval_pairs(ends.lower, ends.upper, _numbers(utility, "utility", len(lower)))
    if not found.comparable:
        raise ValueError("No pair of rows is comparable: none ends before another begins.")
    return (found.concordant + ties * found.tied) / found.comparable


@checked
def risk_groups(risk: Any, n_groups: int = 2, cuts: Any = None) -> Ints:
    """Return groups of rising risk, split at quantiles or at given values.

    Parameters
    ----------
    risk : array-like of shape (n_samples,)
        Predicted risks.
    n_groups : int, default=2
        How many groups of about the same size; two split at the median.
    cuts : array-like, default=None
        Where to split instead, for example at the quantiles of training rows; a risk at a cut
        belongs to the group below.

    Returns
    -------
    groups : ndarray of int of shape (n_samples,)
        0 is the lowest risk.

    Examples
    --------
    >>> from octavo.survival import risk_groups
    >>> risk_groups([0.3, 0.1, 0.9, 0.5])
    array([0, 0, 1, 1])
    """
    risk = _numbers(risk, "risk")
    if cuts is None:
        if not 1 <= n_groups <= max(1, len(risk)):
            raise ValueError(
                f"n_groups must lie between 1 and the number of rows, {len(risk)}; got {n_groups}."
            )
        share = np.arange(1, n_groups) / n_groups
        cuts = np.quantile(risk, share) if len(risk) else np.empty(0)
    return np.searchsorted(np.sort(_numbers(cuts, "cuts")), risk, side="left").astype(np.int64)


@checked
def logrank_test(durations: Any, events: Any, groups: Any) -> tuple[float, float]:
    """Return the log-rank test of equal survival in two groups or more.

    Parameters
    ----------
    durations : array-like of shape (n_samples,)
        Times of events or of censoring.
    events : array-like of bool of shape (n_samples,)
        Whether the event was seen.
    groups : array-like of shape (n_samples,)
        Labels.

    Returns
    -------
    statistic, p_value : float
        Chi-squared with as many degrees of freedom as groups less one.

    Examples
    --------
    >>> from octavo.survival import logrank_test
    >>> statistic, p = logrank_test([1, 2, 3, 4], [1, 1, 1, 1], ["a", "a", "b", "b"])
    >>> round(statistic, 3), round(p, 3)
    (2.882, 0.09)
    """
    event, time = checked_events(events, durations)
    labels = np.asarray(groups)
    if labels.shape != time.shape:
        raise ValueError(
            f"groups must have one label a row, {len(time)}; got the shape {labels.shape}."
        )
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        raise ValueError("groups must not hold NaN.")
    names, codes = np.unique(labels, return_inverse=True)
    if len(names) < 2:
        raise ValueError(f"The log-rank test needs two groups; all rows are {names.tolist()[0]!r}.")
    if not event.any():
        raise ValueError("The log-rank test needs an event; every row is censored.")
    return logrank(event, time, codes.ravel(), len(names))


class TimeDependentROC(NamedTuple):
    """A ROC curve at one time: false and true positive shares, cuts of the risk, and its area."""

    fpr: Floats
    tpr: Floats
    thresholds: Floats
    auc: float


@checked
def time_dependent_roc(event: Any, time: Any, risk: Any, at: float) -> TimeDependentROC:
    """Return how well a risk tells who has the event by a time from who is still without it.

    Parameters
    ----------
    event : array-like of bool of shape (n_samples,)
        Whether the event was seen.
    time : array-like of shape (n_samples,)
        When, or until when the row was followed.
    risk : array-like of shape (n_samples,)
        What was predicted: larger is sooner.
    at : float
        The time.

    Returns
    -------
    curve : TimeDependentROC
        Cases are rows with an event by then, weighted by the inverse chance of not being
        censored before it; controls are rows that were followed beyond.

    Examples
    --------
    >>> from octavo.survival import time_dependent_roc
    >>> time_dependent_roc([1, 1, 0, 0], [1.0, 2.0, 3.0, 4.0], [4.0, 1.0, 2.0, 0.0], at=2.5).auc
    0.75
    """
    event, time = checked_events(event, time)
    risk = _numbers(risk, "risk", len(time))
    if not (np.isfinite(at) and at >= 0):
        raise ValueError(f"at must be a finite time of at least zero; got {at}.")
    case, control = event & (time <= at), time > at  # cumulative cases, dynamic controls
    if not case.any() or not control.any():
        raise ValueError(
            f"A ROC curve at {at:g} needs events by then and rows that were followed beyond; got "
            f"{int(case.sum())} and {int(control.sum())}."
        )
    censoring = curves.kaplan_meier(~event, time)
    # 1/G(T-): each case stands for those that were censored before their event
    weight = np.where(case, 1.0 / np.maximum(censoring(time, left=True), 1.0 / len(time)), 0.0)
    cuts, place = np.unique(-risk, return_inverse=True)
    place = place.ravel()
    tpr = np.cumsum(np.bincount(place, weight, len(cuts))) / weight.sum()
    fpr = np.cumsum(np.bincount(place, control, len(cuts))) / control.sum()
    tpr, fpr = np.r_[0.0, tpr], np.r_[0.0, fpr]
    area = float(np.trapezoid(tpr, fpr))
    return TimeDependentROC(fpr, tpr, np.r_[np.inf, -cuts], area)


@checked
def integrated_brier_score(train: Any, test: Any, survival: Any, times: Any) -> float:
    """Return the mean squared error of survival curves over time, corrected for censoring.

    Parameters
    ----------
    train : records or array-like of shape (n_train, 2)
        Events and times from which the chance of censoring is estimated.
    test : records or array-like of shape (n_samples, 2)
        Events and times of the rows that were predicted.
    survival : array-like of shape (n_samples, n_times)
        Predicted chances to be without the event.
    times : array-like of shape (n_times,)
        When, rising.

    Returns
    -------
    score : float
        0 is perfect; a constant of one half gets a quarter.

    Examples
    --------
    >>> from octavo.survival import integrated_brier_score
    >>> y = [[1.0, 1.0], [3.0, 3.0]]
    >>> integrated_brier_score(y, y, [[1.0, 0.5], [1.0, 0.5]], [0.5, 2.0])
    0.125
    """
    event, time = event_and_time(test)
    known, when = event_and_time(train)
    times = _numbers(times, "times")
    survival = np.asarray(survival, dtype=np.float64)
    if survival.shape != (len(time), len(times)):
        raise ValueError(
            f"survival must have a row for each of {len(time)} rows and a column for each of "
            f"{len(times)} times; got {survival.shape}."
        )
    if not np.isfinite(survival).all():
        raise ValueError("survival must be finite.")
    if len(times) > 1 and not (np.diff(times) > 0).all():
        raise ValueError("times must rise.")
    censoring = curves.kaplan_meier(~known, when)
    return brier.integrated(brier.brier_scores(event, time, survival, times, censoring), times)
