"""How well a level was kept: the measures of Varvel and of O'Hara, and the criteria of a trial.

Simulation, not a medical device.

References: Varvel, Donoho and Shafer (1992), "Measuring the predictive performance of
computer-controlled infusion pumps"; O'Hara, Bogen and Noordergraaf (1992), "The use of computers
for controlling the delivery of anesthesia"; Moore et al. (2014), JMLR 15:655-696, section 3.4.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from octavo.rl.infusion.numbers_in import positive, series

__all__ = [
    "OharaMetrics",
    "VarvelMetrics",
    "acceptance_table",
    "controlled_share",
    "maintenance_mask",
    "ohara_metrics",
    "varvel_metrics",
]

# Table 2 of the paper. Divergence is printed as %/h; see `acceptance_table`.
CRITERIA = {
    "mdpe": 5.0, "mdape": 7.5, "wobble": 5.0, "divergence": 0.001, "controlled": 80.0, "rmse": 5.0,
}  # fmt: skip


@dataclass(frozen=True)
class VarvelMetrics:
    """Measures of kept BIS; simulation, not a medical device.

    Parameters
    ----------
    mdpe, mdape, wobble : float
        Median error, median absolute error and median distance from the median, % of the target.
    divergence : float
        Slope of the absolute error, % per hour.
    rmse : float
        Root mean squared error in BIS.
    controlled : float
        Measurements within 5 of the target, in %.

    Examples
    --------
    >>> from octavo.rl import VarvelMetrics
    >>> VarvelMetrics(0.0, 4.0, 4.0, 0.0, 2.0, 90.0).controlled
    90.0
    """

    mdpe: float
    mdape: float
    wobble: float
    divergence: float
    rmse: float
    controlled: float


@dataclass(frozen=True)
class OharaMetrics:
    """Measures of a change of the target; simulation, not a medical device.

    NaN stands for what did not happen.

    Parameters
    ----------
    t_sp, t_peak, t_ss : float
        Minutes from the change to the first crossing of the target, to the largest overshoot and
        to the steady state.
    bis_peak : float
        BIS at the largest overshoot.
    overshoot : float
        Its distance from the target.

    Examples
    --------
    >>> from octavo.rl import OharaMetrics
    >>> OharaMetrics(2.0, 3.0, 4.0, 42.0, 8.0).overshoot
    8.0
    """

    t_sp: float
    t_peak: float
    t_ss: float
    bis_peak: float
    overshoot: float


def _signals(bis: Any, target: Any, t: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    values = series("bis", bis)
    if not values.size:
        raise ValueError("At least one measurement is needed; got none.")
    targets = series("target", target, len(values))
    if targets.min() <= 0:
        raise ValueError(
            f"Targets must be above 0, since errors are relative to them; got {targets.min():g}."
        )
    times = series("t", t)
    if times.shape != values.shape:
        raise ValueError(f"Times must be as many as measurements, {len(values)}; got {len(times)}.")
    if (np.diff(times) < 0).any():
        raise ValueError("Times must not fall; sort the measurements.")
    return values, targets, times


def _slope(y: np.ndarray, x: np.ndarray) -> float:
    """Return the slope of the regression line; 0 where all times are one."""
    centred = x - x.mean()
    scale = np.abs(centred).max()
    if scale == 0:
        return 0.0
    unit = centred / scale
    return float(unit @ (y - y.mean()) / (unit @ unit) / scale)


def varvel_metrics(bis: Any, target: Any, t: Any) -> VarvelMetrics:
    """Return the measures of Varvel with RMSE and the controlled share.

    Simulation, not a medical device.

    Parameters
    ----------
    bis : array-like of shape (n,)
        BIS.
    target : float or array-like of shape (n,)
        Target, above 0.
    t : array-like of shape (n,)
        Minutes.

    Returns
    -------
    VarvelMetrics
        Eqs. (2) to (5); divergence is the slope of the absolute performance error.

    Examples
    --------
    >>> from octavo.rl import varvel_metrics
    >>> found = varvel_metrics([50, 55, 45, 60], 50, [0, 1, 2, 3])
    >>> print(found.mdpe, found.mdape, found.wobble, found.controlled)
    5.0 10.0 10.0 75.0
    """
    values, targets, times = _signals(bis, target, t)
    error = values - targets
    with np.errstate(over="ignore"):
        pe = 100.0 * (error / targets)  # Eq. (2)
        size = np.abs(error).max()
        rmse = size * float(np.sqrt(np.mean((error / size) ** 2))) if size > 0 else 0.0
    mdpe = float(np.median(pe))  # Eq. (3)
    return VarvelMetrics(
        mdpe,
        float(np.median(np.abs(pe))),  # Eq. (4)
        float(np.median(np.abs(pe - mdpe))),  # Eq. (5)
        60.0 * _slope(np.abs(pe), times),  # divergence, per hour
        float(rmse),
        controlled_share(values, targets),
    )


def controlled_share(bis: Any, target: Any, within: Any = 5.0) -> float:
    """Return the share of measurements near the target.

    Simulation, not a medical device.

    Parameters
    ----------
    bis : array-like of shape (n,)
        BIS.
    target : float or array-like of shape (n,)
        Target.
    within : float, default=5.0
        Largest distance that counts; 10 is the other usual one.

    Returns
    -------
    float
        Per cent.

    Examples
    --------
    >>> from octavo.rl import controlled_share
    >>> controlled_share([50, 58, 44, 61], 50, within=10)
    75.0
    """
    values, near = series("bis", bis), positive("within", within)
    if not values.size:
        raise ValueError("At least one measurement is needed; got none.")
    apart = np.abs(values - series("target", target, len(values)))
    return float(100.0 * np.mean(apart <= near))


def steady_index(inside: np.ndarray, n: int) -> int:
    """Return where the first run of n inside begins, or -1."""
    run = 0
    for i, yes in enumerate(inside):
        run = run + 1 if yes else 0
        if run == n:
            return i - n + 1
    return -1


def _window_steps(times: np.ndarray, window: float) -> int:
    gap = float(np.median(np.diff(times))) if len(times) > 1 else window
    return max(1, round(window / gap)) if gap > 0 else 1


def ohara_metrics(
    bis: Any, target: Any, t: Any, *, band: Any = 5.0, window: Any = 1.0
) -> OharaMetrics:
    """Return O'Hara's measures of the way to a new target.

    Simulation, not a medical device.

    Parameters
    ----------
    bis : array-like of shape (n,)
        BIS from the change of the target on.
    target : float
        The new target.
    t : array-like of shape (n,)
        Minutes; the first is the time of the change.
    band : float, default=5.0
        Distance from the target that counts as steady.
    window : float, default=1.0
        Minutes for which BIS must stay there. The paper does not say how long.

    Returns
    -------
    OharaMetrics
        Times from the change on, and the overshoot.

    Examples
    --------
    >>> from octavo.rl import ohara_metrics
    >>> found = ohara_metrics([95, 70, 48, 42, 46, 50, 51], 50, [0, 1, 2, 3, 4, 5, 6], window=2)
    >>> print(found.t_sp, found.t_peak, found.bis_peak, found.t_ss)
    2.0 3.0 42.0 4.0
    """
    values, targets, times = _signals(bis, target, t)
    if targets.min() != targets.max():
        raise ValueError("One change has one target; got several. Cut the record at each change.")
    band, window = positive("band", band), positive("window", window)
    error, since = values - targets, times - times[0]
    steady = steady_index(np.abs(error) <= band, _window_steps(times, window))
    sign = 1.0 if error[0] >= 0 else -1.0
    beyond = np.flatnonzero(sign * error <= 0)
    if not beyond.size:
        t_ss = float(since[steady]) if steady >= 0 else np.nan
        return OharaMetrics(np.nan, np.nan, t_ss, np.nan, np.nan)
    first = int(beyond[0])
    last = max(steady, first) + 1 if steady >= 0 else len(values)
    peak = first + int(np.argmin(sign * error[first:last]))
    return OharaMetrics(
        float(since[first]),
        float(since[peak]),
        float(since[steady]) if steady >= 0 else np.nan,
        float(values[peak]),
        float(abs(error[peak])),
    )


def maintenance_mask(
    bis: Any, target: Any, t: Any, *, band: Any = 5.0, window: Any = 1.0
) -> np.ndarray:
    """Return which measurements belong to maintenance: steady state to the next change of target.

    Simulation, not a medical device.

    Parameters
    ----------
    bis : array-like of shape (n,)
        BIS.
    target : float or array-like of shape (n,)
        Target at each time.
    t : array-like of shape (n,)
        Minutes.
    band, window : float, default=5.0, 1.0
        As for `ohara_metrics`.

    Returns
    -------
    ndarray of bool of shape (n,)
        False while a target is approached, and throughout where it is never reached.

    Examples
    --------
    >>> from octavo.rl import maintenance_mask
    >>> maintenance_mask([95, 60, 52, 49], 50, [0, 1, 2, 3], window=2).tolist()
    [False, False, True, True]
    """
    values, targets, times = _signals(bis, target, t)
    band, window = positive("band", band), positive("window", window)
    mask, n = np.zeros(len(values), dtype=bool), _window_steps(times, window)
    edges = [0, *(np.flatnonzero(np.diff(targets)) + 1), len(values)]
    for start, end in pairwise(edges):
        near = np.abs(values[start:end] - targets[start:end]) <= band
        steady = steady_index(near, n)
        if steady >= 0:
            mask[start + steady : end] = True
    return mask


def acceptance_table(trial: Any) -> dict[str, dict[str, Any]]:
    """Compare a trial with the criteria of Table 2.

    Simulation, not a medical device.

    Parameters
    ----------
    trial : dict
        What `run_trial` returns.

    Returns
    -------
    dict of str to dict
        For each measure ``median``, ``low`` and ``high`` (quartiles), ``criterion`` and ``met``.
        The paper's divergences, printed as % per hour, have the size of % per minute for noise of
        3 at five-second steps; ``divergence`` is judged as printed, ``divergence_per_minute`` by
        the other reading.

    Examples
    --------
    >>> from octavo.rl import PIDController, acceptance_table, run_trial
    >>> table = acceptance_table(run_trial(PIDController(), 20, random_state=0))
    >>> table["mdape"]["met"]
    True
    """
    if not hasattr(trial, "keys") or not set(CRITERIA) <= set(trial):
        raise ValueError(f"A trial must have the measures {', '.join(CRITERIA)}, as run_trial's.")
    out = {}
    rows = {name: (np.asarray(trial[name], float), bound) for name, bound in CRITERIA.items()}
    rows["divergence_per_minute"] = (rows["divergence"][0] / 60.0, CRITERIA["divergence"])
    for name, (values, bound) in rows.items():
        known = values[np.isfinite(values)]
        if not known.size:
            raise ValueError(f"No patient of the trial has a {name}; none reached a target.")
        low, middle, high = np.quantile(known, [0.25, 0.5, 0.75])
        met = middle >= bound if name == "controlled" else abs(middle) <= bound
        out[name] = {
            "median": float(middle), "low": float(low), "high": float(high), "criterion": bound,
            "met": bool(met),
        }  # fmt: skip
    return out
