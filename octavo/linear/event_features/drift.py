"""What changes from one window of time to the next: columns, and what a model scores.

Reference: R. Oentaryo et al. (2014), Detecting click fraud in online advertising: a data mining
approach, Sections 2.2 and 6.3.2; Table 7, where the first three ranks are reversed on the test
window.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import ks_2samp

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.linear.event_features.precision import PrecisionInterval, average_precision_interval

__all__ = ["DriftReport", "drift_report", "window_precision"]

N_BINS = 10
LARGE = 0.25  # of the stability index, by the custom of credit scoring


class DriftReport(NamedTuple):
    """How far each column of a later table lies from an earlier one, the farthest first.

    ``names``; ``stability`` (population stability index over tenths of the earlier column),
    ``distance`` (Kolmogorov and Smirnov's), ``p_value`` of that distance, ``shift`` of the mean
    in standard deviations, ``outside`` (share of later rows beyond the earlier range).
    """

    names: NDArray[Any]
    stability: Floats
    distance: Floats
    p_value: Floats
    shift: Floats
    outside: Floats

    def drifted(self, limit: float = LARGE) -> list[str]:
        """Return the columns whose stability index is above a limit."""
        return [str(name) for name in self.names[self.stability > limit]]

    def to_frame(self) -> Any:
        """Return the report as a DataFrame of pandas, a row a column."""
        import pandas as pd

        return pd.DataFrame(self._asdict()).set_index("names")


def _table(X: Any, name: str) -> Floats:
    values = np.asarray(X, dtype=np.float64)
    if values.ndim != 2 or not values.size:
        raise ValueError(f"{name} must be a table with rows and columns; got {values.shape}.")
    if not np.isfinite(values).all():
        raise ValueError(f"{name} must be finite.")
    return values


def _stability(old: Floats, new: Floats) -> float:
    """Return Σ (q - p) log(q / p) over tenths of the earlier column, empty cells half a row."""
    # Inner edges of tenths; ties make fewer
    edges = np.unique(np.quantile(old, np.linspace(0, 1, N_BINS + 1)[1:-1]))
    cells = len(edges) + 1
    p, q = (
        np.maximum(np.bincount(np.searchsorted(edges, part, side="left"), minlength=cells), 0.5)
        / len(part)
        for part in (old, new)
    )
    return float(np.sum((q - p) * np.log(q / p)))  # both Kullback-Leibler divergences together


@checked
def drift_report(earlier: Any, later: Any) -> DriftReport:
    """Compare the columns of two windows.

    Parameters
    ----------
    earlier : array-like of shape (n_earlier, n_features)
        The window that a model was trained on; a DataFrame brings names.
    later : array-like of shape (n_later, n_features)
        Another window.

    Returns
    -------
    report : DriftReport
        The columns that drifted most first.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.linear import drift_report
    >>> rng = np.random.default_rng(0)
    >>> old = rng.normal(size=(500, 2))
    >>> new = rng.normal(size=(500, 2)) + [0, 2]
    >>> drift_report(old, new).drifted()
    ['x1']
    """
    old, new = _table(earlier, "earlier"), _table(later, "later")
    if old.shape[1] != new.shape[1]:
        raise ValueError(
            f"earlier and later must have the same columns; got {old.shape[1]} and {new.shape[1]}."
        )
    given = getattr(earlier, "columns", None)
    names = [f"x{k}" for k in range(old.shape[1])] if given is None else list(given)
    rows = []
    for before, after in zip(old.T, new.T):
        test = ks_2samp(before, after, method="asymp")
        # Before squares, which might overflow
        top = max(float(np.abs(before).max()), float(np.abs(after).max()), np.finfo(float).tiny)
        spread = float((before / top).std())
        move = float((after / top).mean() - (before / top).mean())
        shift = move / spread if spread > 0 else float(np.sign(move))
        outside = float(np.mean((after < before.min()) | (after > before.max())))
        rows.append((_stability(before, after), test.statistic, test.pvalue, shift, outside))
    table = np.array(rows, dtype=float)
    order = np.argsort(-table[:, 0], kind="stable")
    return DriftReport(np.array(names, dtype=object)[order], *table[order].T)


@checked
def window_precision(
    model: Any, windows: Mapping[str, Any], n_bootstrap: int = 1000, random_state: Any = None
) -> dict[str, PrecisionInterval]:
    """Return a fitted model's average precision in each window, and warn of a fall.

    Models that were chosen on a validation window look better there than later.

    Parameters
    ----------
    model : object
        A fitted classifier with `predict_proba` or `decision_function`.
    windows : dict of str to (X, y)
        Windows in the order of time, such as "validation" and "test"; y is 0 or 1.
    n_bootstrap : int, default=1000
        Resamples of each interval.
    random_state : int, RandomState instance or None, default=None
        Seeds the resampling.

    Returns
    -------
    precision : dict of str to PrecisionInterval
        With a warning where a window's value lies below the interval of the one before.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from octavo.linear import window_precision
    >>> X = np.arange(20.0)[:, None]
    >>> y = (X[:, 0] > 15).astype(int)
    >>> model = LogisticRegression().fit(X, y)
    >>> window_precision(model, {"validation": (X, y)}, random_state=0)["validation"].value
    1.0
    """
    if not isinstance(windows, Mapping) or not windows:
        raise ValueError("windows must be a dict of (X, y) by name, with at least one.")
    found: dict[str, PrecisionInterval] = {}
    before = None
    for name, pair in windows.items():
        X, y = pair
        if hasattr(model, "predict_proba"):
            score = np.asarray(model.predict_proba(X))[:, 1]
        else:
            score = np.asarray(model.decision_function(X))
        found[name] = average_precision_interval(
            y, score, n_bootstrap=n_bootstrap, random_state=random_state
        )
        if before is not None and found[name].value < found[before].low:
            warnings.warn(
                f"Average precision falls from {found[before]} in {before!r} to {found[name]} in "
                f"{name!r}: the model was tuned to the former, or the data have drifted.",
                UserWarning,
                stacklevel=3,
            )
        before = name
    return found
