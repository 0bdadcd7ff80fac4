"""The second step (Sections 3.4 and 5.5): from utilities to outcomes and to survival curves.

References: V. Van Belle, K. Pelckmans, J. A. K. Suykens and S. Van Huffel (2011), "Learning
Transformation Models for Ranking and Survival Analysis", JMLR 12, Lemma 1 and Section 5.5.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_array, check_is_fitted

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.sklearn_door import Interval, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.projections.isotonic import isotonic_chain
from octavo.engine.survival.curves import Steps, kaplan_meier
from octavo.engine.survival.targets import Intervals, as_intervals
from octavo.survival.minlip.times import representative_times

__all__ = ["SurvivalCurveEstimator", "TransformationFunction"]

SWEEPS = 2000  # of Dykstra's projections
LEAST = 1e-8  # weight of a cell that nobody was seen in, of the mean weight


def _utilities(values: Any) -> Floats:
    values = np.asarray(values)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise ValueError(
            f"Utilities must be one number a row: a vector; got the shape {values.shape}."
        )
    return check_array(values[:, None], dtype=np.float64, input_name="utility")[:, 0]


class TransformationFunction(RegressorMixin, SoundEstimator):
    """An increasing function h from utilities to outcomes, piecewise linear (Lemma 1).

    Isotonic regression of the outcomes on the utilities gives h at blocks of rows; between
    them it is a straight line, beyond them constant.

    Attributes
    ----------
    utilities_ : ndarray of shape (n_knots,)
        Where h has its knots.
    values_ : ndarray of shape (n_knots,)
        h there.
    lipschitz_ : float
        The largest slope of h.

    Notes
    -----
    scikit-learn's `IsotonicRegression` is the same fit with steps at both ends of every block;
    use that where flat pieces are wanted.

    References
    ----------
    .. [1] V. Van Belle, K. Pelckmans, J. A. K. Suykens and S. Van Huffel (2011). "Learning
       Transformation Models for Ranking and Survival Analysis". Journal of Machine Learning
       Research 12:819-862.

    Examples
    --------
    >>> from octavo.survival import TransformationFunction
    >>> h = TransformationFunction().fit([0.0, 1.0, 2.0, 3.0], [1.0, 3.0, 2.0, 8.0])
    >>> h.predict([0.0, 1.5, 2.25])
    array([1.  , 2.5 , 5.25])
    """

    def fit(self, utility: Any, y: Any) -> TransformationFunction:
        """Fit h.

        Parameters
        ----------
        utility : array-like of shape (n_samples,)
            Utilities.
        y : array-like of shape (n_samples,)
            Outcomes.

        Returns
        -------
        self : TransformationFunction
            The fitted function.
        """
        u = _utilities(utility)
        y = check_array(np.asarray(y)[..., None], dtype=np.float64, input_name="y")[:, 0]
        if len(u) != len(y):
            raise ValueError(f"utility and y must have as many rows; got {len(u)} and {len(y)}.")
        knots, place, count = np.unique(u, return_inverse=True, return_counts=True)
        mean = np.bincount(place.ravel(), y) / count
        # Isotonic regression of the mean outcome at each utility
        fit = isotonic_chain(mean, count.astype(float))
        _, block = np.unique(fit.blocks, return_inverse=True)
        size = np.bincount(block, count)
        self.utilities_ = np.bincount(block, count * knots) / size
        # Knots in the middle of blocks: interpolation keeps the slopes finite
        self.values_ = np.bincount(block, count * mean) / size
        rise, run = np.diff(self.values_), np.diff(self.utilities_)
        slopes = rise[run > 0] / run[run > 0]
        self.lipschitz_ = float(slopes.max(initial=0.0))  # L of Lemma 1
        return self

    def predict(self, utility: Any) -> Floats:
        """Return h at utilities.

        Parameters
        ----------
        utility : array-like of shape (n_samples,)
            Utilities.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Outcomes.
        """
        check_is_fitted(self, "values_")
        return np.interp(_utilities(utility), self.utilities_, self.values_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array, tags.input_tags.two_d_array = True, False
        return tags


# --- survival curves -----------------------------------------------------------------------------


def failure_cells(
    ends: Intervals, times: Floats, censoring: Steps | None = None
) -> tuple[Floats, Floats]:
    """Return which rows have failed by which time, and the weight of each cell.

    Parameters
    ----------
    ends : Intervals
        What was observed.
    times : ndarray of shape (n_times,)
        When.
    censoring : Steps, default=None
        Chance of not being censored by a time, by whose inverse cells are weighted.

    Returns
    -------
    failed, weight : ndarray of shape (n_samples, n_times)
        Y_il of Section 5.5; the weight is zero where it is not known.
    """
    failed = (ends.upper[:, None] <= times).astype(float)  # Y_il of Section 5.5
    alive = (ends.lower[:, None] > times).astype(float)  # no cell after the censoring: Section 5.5
    if censoring is None:
        return failed, failed + alive
    least = 1.0 / max(len(censoring.times), 1)
    # Without these weights the omitted cells bias F upwards
    at_event = np.maximum(censoring(representative_times(ends), left=True), least)
    at_times = np.maximum(censoring(times), least)
    return failed, failed / at_event[:, None] + alive / at_times


def monotone_surface(values: Floats, weight: Floats, tol: float = 1e-6) -> Floats:
    """Return the nearest table that does not rise down its rows nor fall along its columns.

    Dykstra's alternating projections onto the two cones, in the norm of the weights.

    Parameters
    ----------
    values, weight : ndarray of shape (m, k)
        Rows in the order of utility, columns in that of time.
    tol : float, default=1e-6
        The sweeps end when no cell moves more.

    Returns
    -------
    surface : ndarray of shape (m, k)
        Non-increasing in the first index, non-decreasing in the second.
    """
    surface = values.copy()
    down, across = np.zeros_like(values), np.zeros_like(values)
    for _ in range(SWEEPS):
        start = surface
        moved = surface + down
        columns = [
            -isotonic_chain(-c, w).values for c, w in zip(moved.T, np.ascontiguousarray(weight.T))
        ]
        half = np.stack(columns, axis=1)
        down = moved - half
        moved = half + across
        # F rises in l
        surface = np.stack([isotonic_chain(r, w).values for r, w in zip(moved, weight)])
        across = moved - surface
        if np.abs(surface - start).max() <= tol:
            break
    # What is left of the other cone's rounding would show as curves that cross.
    return np.maximum.accumulate(np.minimum.accumulate(surface, axis=0), axis=1)


class SurvivalCurveEstimator(SoundEstimator):
    """Survival curves as a function of one utility: larger utilities live longer, throughout.

    The chance to have failed by time t is fitted by least squares to what was seen to fail by
    then, under the two conditions that it does not fall in time and does not rise in the utility
    (Section 5.5, with isotonic regression in place of a monotone support vector machine). Rows
    are pooled in bins of their utility, and curves between bins are interpolated.

    Parameters
    ----------
    n_times : int, default=60
        Times at which the curves are fitted, at quantiles of the times that were seen (the paper
        takes equidistant ones).
    n_bins : int or None, default=None
        Bins of the utility, with as many rows each; None takes the cube root of their
        number, at most 60.
    weighting : bool, default=True
        Weigh rows by the inverse chance of not being censored before. Without it (the paper's
        way) rows count until they are censored, and curves are too low under censoring.

    Attributes
    ----------
    utilities_ : ndarray of shape (n_bins,)
        Mean utility of each bin.
    times_ : ndarray of shape (n_times,)
        When the curves step.
    survival_ : ndarray of shape (n_bins, n_times)
        The chance to be without the event.

    Notes
    -----
    Where proportional hazards hold, Breslow's estimate (`CoxRegression`) has less variance.

    References
    ----------
    .. [1] V. Van Belle, K. Pelckmans, J. A. K. Suykens and S. Van Huffel (2011). "Learning
       Transformation Models for Ranking and Survival Analysis". Journal of Machine Learning
       Research 12:819-862.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.survival import SurvivalCurveEstimator
    >>> time = np.array([1.0, 2.0, 3.0, 4.0])
    >>> y = np.column_stack([time, time])
    >>> curves = SurvivalCurveEstimator(n_bins=2).fit([0.0, 0.0, 1.0, 1.0], y)
    >>> curves.predict([0.0, 0.5, 1.0], times=[1.5, 3.5])
    array([[0.5 , 0.  ],
           [0.75, 0.25],
           [1.  , 0.5 ]])
    """

    _parameter_constraints: dict[str, Any] = {
        "n_times": [Interval(Integral, 1, None, closed="left")],
        "n_bins": [Interval(Integral, 1, None, closed="left"), None],
        "weighting": ["boolean"],
    }

    def __init__(
        self, n_times: int = 60, *, n_bins: int | None = None, weighting: bool = True
    ) -> None:
        self.n_times = n_times
        self.n_bins = n_bins
        self.weighting = weighting

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, utility: Any, y: Any) -> SurvivalCurveEstimator:
        """Fit the curves.

        Parameters
        ----------
        utility : array-like of shape (n_samples,)
            The larger, the later.
        y : records or array-like of shape (n_samples, 2)
            Events and times, or lower and upper ends.

        Returns
        -------
        self : SurvivalCurveEstimator
            The fitted curves.
        """
        u = _utilities(utility)
        ends = as_intervals(y, len(u))
        ends_seen = ends.upper[np.isfinite(ends.upper)]
        if not ends_seen.size:
            raise ValueError("No event was seen: every row is right-censored.")
        seen = np.unique(ends_seen)
        if len(seen) > self.n_times:
            share = np.linspace(0, 1, self.n_times)
            # Quantiles, where Section 5.5 has equidistant times
            seen = np.unique(np.quantile(ends_seen, share, method="inverted_cdf"))
        n = len(u)
        bins = min(60, int(np.ceil(n ** (1 / 3)))) if self.n_bins is None else self.n_bins
        cells = _binned(u, min(bins, n))
        m = int(cells.max()) + 1
        weighted = self.weighting and ends.right_censored
        censoring = kaplan_meier(~ends.event, ends.lower) if weighted else None
        total, mass = np.zeros((m, len(seen))), np.zeros((m, len(seen)))
        for rows in np.array_split(np.arange(n), max(1, n * len(seen) // 5_000_000)):
            part = Intervals(ends.lower[rows], ends.upper[rows])
            failed, weight = failure_cells(part, seen, censoring)
            into = sp.csr_matrix(
                (np.ones(len(rows)), (cells[rows], np.arange(len(rows)))), (m, len(rows))
            )
            total += into @ (failed * weight)
            mass += into @ weight
        empty = mass <= 0
        overall = total.sum(axis=0) / np.maximum(mass.sum(axis=0), 1e-300)
        values = np.where(empty, overall, total / np.where(empty, 1.0, mass))
        mass = np.where(empty, LEAST * float(mass[~empty].mean()), mass)
        self.utilities_ = np.bincount(cells, u) / np.bincount(cells)
        self.times_ = seen
        self.survival_ = np.clip(1.0 - monotone_surface(values, mass), 0.0, 1.0)  # S = 1 - F
        return self

    def predict(self, utility: Any, times: Any = None) -> Floats:
        """Return the chance to be without the event.

        Parameters
        ----------
        utility : array-like of shape (n_samples,)
            Utilities.
        times : array-like of shape (n_times,), default=None
            When; `times_` by default.

        Returns
        -------
        survival : ndarray of shape (n_samples, n_times)
            Non-increasing along rows.
        """
        check_is_fitted(self, "survival_")
        u = _utilities(utility)
        times = self.times_ if times is None else checked_times(times)
        place = np.clip(
            np.interp(u, self.utilities_, np.arange(len(self.utilities_))),
            0,
            len(self.utilities_) - 1,
        )
        below = np.floor(place).astype(int)
        above = np.minimum(below + 1, len(self.utilities_) - 1)
        share = (place - below)[:, None]
        column = np.searchsorted(self.times_, times, side="right")
        table = np.hstack([np.ones((len(self.utilities_), 1)), self.survival_])[:, column]
        return (1.0 - share) * table[below] + share * table[above]

    def hazard(self, utility: Any) -> Floats:
        """Return the hazard between the times of the curves (Section 5.5, divided by survival).

        Parameters
        ----------
        utility : array-like of shape (n_samples,)
            Utilities.

        Returns
        -------
        hazard : ndarray of shape (n_samples, n_times - 1)
            (S(t_l) - S(t_l+1)) / ((t_l+1 - t_l) S(t_l)); zero where nobody is left.
        """
        check_is_fitted(self, "survival_")
        survival = self.predict(utility)
        # Section 5.5's difference quotient of F
        fall = -np.diff(survival, axis=1) / np.diff(self.times_)
        left = survival[:, :-1]
        # Over S, which print leaves out
        return np.divide(fall, left, out=np.zeros_like(fall), where=left > 0)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array, tags.input_tags.two_d_array = True, False
        tags.target_tags.required = True
        return tags


def checked_times(times: Any) -> Floats:
    """Return the times at which curves are asked for, as a vector of finite numbers."""
    times = np.atleast_1d(np.asarray(times, dtype=np.float64))
    if times.ndim != 1 or not np.isfinite(times).all() or (times < 0).any():
        raise ValueError("times must be a vector of finite numbers of at least zero.")
    return times


def _binned(u: Floats, n_bins: int) -> Any:
    """Return the bin of each utility: about as many rows each, equal utilities together."""
    values, place, count = np.unique(u, return_inverse=True, return_counts=True)
    middle = np.cumsum(count) - 0.5 * count
    codes = np.minimum((middle * n_bins / len(u)).astype(int), n_bins - 1)
    return np.unique(codes, return_inverse=True)[1][place.ravel()]
