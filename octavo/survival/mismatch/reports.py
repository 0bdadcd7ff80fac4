"""What a high-risk group is worth: Cox's hazard ratio, Kaplan-Meier curves, gain in AUROC.

Reference: Z. Syed and J. Guttag (2011), "Unsupervised Similarity-Based Risk Stratification for
Cardiovascular Events Using Long-Term Time-Series Data", JMLR 12:999-1024, Sections 5 and 6.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri
from sklearn.exceptions import ConvergenceWarning

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.doubles import real_array
from octavo.engine.survival.cox import constant_columns, newton_cox
from octavo.engine.survival.curves import Steps, kaplan_meier
from octavo.engine.survival.groups import logrank
from octavo.survival.classical.curves import checked_events

__all__ = ["RiskReport", "risk_report"]

FEW_EVENTS = 5
LARGEST_LOG = 700.0


class RiskReport(NamedTuple):
    """A group against the rest: hazard ratio with interval, curves, and what it adds."""

    hazard_ratio: float
    ci_low: float
    ci_high: float
    p_value: float
    coef: Floats  # of the group, then of the covariates
    standard_errors: Floats
    n_high: int
    n_low: int
    events_high: int
    events_low: int
    high_curve: Steps
    low_curve: Steps
    logrank_p_value: float
    auroc: float  # of the model's risk against having an event
    auroc_without: float  # without the group; a half where there are no covariates


def area_under_roc(event: Any, risk: Floats) -> float:
    """Return the chance that a row with an event has the larger risk; ties count half."""
    from scipy.stats import rankdata

    n, cases = len(event), int(event.sum())
    if cases in (0, n):
        return 0.5
    ranks = rankdata(risk)
    # Mann-Whitney's count
    return float((ranks[event].sum() - cases * (cases + 1) / 2) / (cases * (n - cases)))


def _group(high_risk: Any, n: int) -> Any:
    values = real_array(high_risk, "high_risk")
    if values.shape != (n,):
        raise ValueError(f"high_risk must have one entry a row, {n}; got {values.shape}.")
    wrong = np.flatnonzero((values != 0) & (values != 1))
    if wrong.size:
        raise ValueError(f"high_risk must be 0 or 1; row {wrong[0]} has {values[wrong[0]]:g}.")
    group = values.astype(bool)
    if group.all() or not group.any():
        raise ValueError(
            "high_risk must split the rows into two groups; all of them are "
            f"{'high' if group.all() else 'low'}."
        )
    return group


def _covariates(covariates: Any, n: int) -> Floats:
    if covariates is None:
        return np.empty((n, 0))
    if hasattr(covariates, "to_numpy"):
        covariates = covariates.to_numpy()
    table = real_array(covariates, "covariates")
    table = table[:, None] if table.ndim == 1 else table
    if table.ndim != 2 or len(table) != n:
        raise ValueError(f"covariates must be a table of {n} rows; got {table.shape}.")
    if np.abs(table).max(initial=0.0) > 1e100:
        raise ValueError("covariates hold numbers beyond 1e+100; scale them.")
    return table


@checked
def risk_report(high_risk: Any, durations: Any, events: Any, covariates: Any = None) -> RiskReport:
    """Return how much sooner a group has events than the rest.

    Parameters
    ----------
    high_risk : array-like of bool of shape (n_samples,)
        Who is in the group.
    durations : array-like of shape (n_samples,)
        Times of events or of censoring.
    events : array-like of bool of shape (n_samples,)
        Whether the event was seen.
    covariates : array-like of shape (n_samples, n_covariates), default=None
        Known risks to adjust for: the hazard ratio is then that of a multivariate model.

    Returns
    -------
    report : RiskReport
        ``hazard_ratio, ci_low, ci_high, p_value`` by Cox's model with Efron's ties and Wald's 95 %
        interval; counts; Kaplan-Meier curves of either group; and the area under the ROC curve
        of the model's risk with and without the group.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.survival import risk_report
    >>> high = np.arange(24) % 2 == 0
    >>> report = risk_report(high, np.where(high, 1.0, 2.0) + np.arange(24), np.ones(24))
    >>> round(report.hazard_ratio, 3), round(report.p_value, 3)
    (1.391, 0.432)
    """
    event, time = checked_events(events, durations)
    group = _group(high_risk, len(time))
    known = _covariates(covariates, len(time))
    if not event.any():
        raise ValueError("A hazard ratio needs at least one event; every row is censored.")
    died = [int(event[group].sum()), int(event[~group].sum())]
    if min(died) < FEW_EVENTS:
        warnings.warn(
            f"Only {min(died)} event(s) in the {'high' if died[0] <= died[1] else 'low'}-risk "
            "group: the hazard ratio is unstable.",
            UserWarning,
            stacklevel=2,
        )
    # Section 2.4, with Efron's ties
    coef, errors, risk = _cox(np.column_stack([group, known]), event, time)
    without = _cox(known, event, time)[2] if known.shape[1] else np.zeros(len(time))
    reach = float(ndtri(0.975)) * errors[0]
    logs = np.array([coef[0], coef[0] - reach, coef[0] + reach])
    ratio, low, high = np.exp(np.clip(logs, -LARGEST_LOG, LARGEST_LOG))
    return RiskReport(
        hazard_ratio=float(ratio),
        ci_low=float(low),
        ci_high=float(high),
        p_value=float(2.0 * ndtr(-abs(coef[0]) / errors[0])),  # Wald's test
        coef=coef,
        standard_errors=errors,
        n_high=int(group.sum()),
        n_low=int((~group).sum()),
        events_high=died[0],
        events_low=died[1],
        high_curve=kaplan_meier(event[group], time[group]),
        low_curve=kaplan_meier(event[~group], time[~group]),
        logrank_p_value=logrank(event, time, group.astype(np.intp), 2)[1],
        auroc=area_under_roc(event, risk),
        auroc_without=area_under_roc(event, without),
    )


def _cox(X: Floats, event: Any, time: Floats) -> tuple[Floats, Floats, Floats]:
    """Return coefficients, standard errors and risks; columns are scaled for the solver only."""
    center, scale = X.mean(axis=0), X.std(axis=0)
    if (still := constant_columns(X)).any():
        column = int(np.flatnonzero(still)[0])
        raise ValueError(f"Covariate {column - 1} is constant and tells no risk; drop it.")
    Z = (X - center) / scale
    fit = newton_cox(Z, event, time, tol=1e-11)
    if not fit.converged and fit.gradient_norm > 1e-6 * event.sum():
        warnings.warn(
            f"Newton's method ended with a gradient of {fit.gradient_norm:.2g}: a column orders "
            "all events, and the likelihood has no maximum.",
            ConvergenceWarning,
            stacklevel=3,
        )
    errors = np.sqrt(np.maximum(np.diagonal(fit.covariance), 0.0)) / scale
    return fit.coef / scale, errors, Z @ fit.coef
