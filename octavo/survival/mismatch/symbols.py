"""Symbols of a recording: a few cycles that stand for all, and how often each of them occurs.

Max-Min clustering takes the first cycle, then always the one that differs most from all that were
taken, until nothing differs by more than a threshold. One pass over the cycles is made for each
that is taken, and most pairs of a pass are left early: a new symbol matters for a cycle only if
it is closer than the closest before.

Reference: Z. Syed and J. Guttag (2011), "Unsupervised Similarity-Based Risk Stratification for
Cardiovascular Events Using Long-Term Time-Series Data", JMLR 12:999-1024, Section 3.1.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.event_logs.dtw import Ragged, Warping, cross, one_to_many, ragged
from octavo.survival.mismatch.warping import check_lengths, many_cycles, warping

__all__ = ["MaxMinSymbolizer", "Symbols"]

MEDOID_SAMPLE = 100


class Symbols(NamedTuple):
    """What a recording is compared by: its prototypes and the share of cycles of each."""

    prototypes: list[Floats]
    frequencies: Floats


class Cover(NamedTuple):
    """Cycles taken one after the other; the closest to each cycle; the distances when taken."""

    taken: Ints
    labels: Ints
    nearest: Floats
    curve: Floats  # entry i: the largest distance to the first i + 1 taken


def farthest_first(
    cycles: Ragged,
    how: Warping,
    *,
    first: int = 0,
    max_symbols: int = 300,
    threshold: float = 0.0,
    n_jobs: int | None = None,
    on_step: Callable[[], bool] | None = None,
) -> Cover:
    """Take cycles that differ most from all taken before, until none differs by the threshold.

    Parameters
    ----------
    cycles : Ragged
        The cycles.
    how : Warping
        How they are compared.
    first : int, default=0
        The first to be taken.
    max_symbols : int, default=300
        How many are taken at most.
    threshold : float, default=0
        The end: the largest distance to what is taken falls below it, or is zero.
    n_jobs : int, optional
        Threads.
    on_step : callable, optional
        Called after each; returns whether to stop.

    Returns
    -------
    Cover
        With a curve that never rises.
    """
    n = len(cycles)
    nearest, labels = np.full(n, np.inf), np.zeros(n, dtype=np.int64)
    taken: list[int] = []
    curve: list[float] = []
    new = first
    while True:
        d = one_to_many(cycles.series(new), cycles, how, nearest, n_jobs)
        d[new] = 0.0
        closer = d < nearest  # C(x, S) as S grows: one pass for each symbol
        nearest[closer] = d[closer]
        labels[closer] = len(taken)
        taken.append(new)
        new = int(np.argmax(nearest))  # max over x of min over y in S of C(x, y)
        curve.append(float(nearest[new]))
        stop = on_step is not None and on_step()
        if stop or len(taken) >= min(n, max_symbols) or not curve[-1] > 0:
            break
        if curve[-1] < threshold:  # the Max-Min stops: Section 3.1
            break
    return Cover(np.array(taken, dtype=np.int64), labels, nearest, np.array(curve))


def knee(curve: Floats) -> int:
    """Return the place of a falling curve that is farthest below the chord of its ends."""
    n = len(curve)
    if n < 3 or not curve[0] > curve[-1]:
        return n - 1
    across = np.linspace(0.0, 1.0, n)
    height = (curve - curve[-1]) / (curve[0] - curve[-1])
    return int(np.argmax(1.0 - across - height))  # furthest below the chord of its ends


def medoid(cycles: Ragged, how: Warping) -> int:
    """Return the cycle with the least sum of differences to others, of an even sample."""
    sample = np.unique(np.linspace(0, len(cycles) - 1, MEDOID_SAMPLE).astype(np.int64))
    some = ragged([cycles.series(int(i)) for i in sample])
    return int(sample[np.argmin(cross(some, some, how).sum(axis=1))])


def frequent(frequencies: Floats, least: float) -> Ints:
    """Return the symbols that occur often enough; the most frequent always does."""
    kept = np.flatnonzero(frequencies >= least)
    return kept if len(kept) else np.array([int(np.argmax(frequencies))])


class MaxMinSymbolizer(CallbackSupportMixin, TransformerMixin, SoundEstimator):
    """Prototypes of the cycles of one recording, by Max-Min clustering under time warping.

    Parameters
    ----------
    metric : {"dtw", "euclidean"}, default="dtw"
        Warped, or by position for cycles of one length.
    band : float or None, default=0.1
        How far a path may leave the diagonal, as a share of the longer cycle.
    normalize : {"path"} or None, default="path"
        Whether a difference is divided by the length of its path.
    threshold : {"knee"} or float or None, default="knee"
        The end: no cycle differs from its prototype by as much. "knee" takes `max_symbols`, and
        keeps those up to the knee of the curve of largest differences (the point farthest below
        the chord of its ends); 0 or None keeps every distinct cycle up to `max_symbols`.
    max_symbols : int, default=300
        Prototypes at most.
    cost : {"absolute", "squared"}, default="absolute"
        What two samples that are matched cost.
    start : {"first", "medoid"}, default="first"
        The first prototype: the first cycle, as in the paper, or the most central one of a
        hundred, which is no artefact.
    min_frequency : float, default=0
        Symbols of a smaller share of the cycles are dropped, and their cycles go to the
        closest of the others.
    n_jobs : int or None, default=None
        Threads.

    Attributes
    ----------
    prototypes_ : list of ndarray
        Cycles that stand for the others, in the order in which they were taken.
    prototype_indices_ : ndarray of int of shape (n_symbols,)
        Which cycles they are.
    frequencies_ : ndarray of shape (n_symbols,)
        Share of the cycles that each stands for.
    labels_ : ndarray of int of shape (n_cycles,)
        The symbol of each cycle.
    maxmin_curve_ : ndarray
        The largest difference of a cycle to its prototype, with one prototype, two, and so on.
    threshold_ : float
        The difference at which the fit ended.
    symbols_ : Symbols
        Prototypes and frequencies together: what `SymbolicMismatch` takes.

    Notes
    -----
    The result depends on the order of the cycles through the first one and through ties. Noise
    becomes symbols of tiny frequency, which hardly count in a mismatch but cost time: see
    `min_frequency`. For cycles that are rows of features use scikit-learn's `KMeans` or `Birch`.

    References
    ----------
    .. [1] Z. Syed and J. Guttag (2011). "Unsupervised Similarity-Based Risk Stratification for
       Cardiovascular Events Using Long-Term Time-Series Data". Journal of Machine Learning
       Research 12:999-1024.

    Examples
    --------
    >>> from octavo.survival import MaxMinSymbolizer
    >>> beats = [[0.0, 1.0, 0.0], [0.0, 1.1, 0.0], [0.0, 3.0, 0.0], [0.0, 0.9, 0.0, 0.0]]
    >>> MaxMinSymbolizer(threshold=0.5).fit(beats).frequencies_
    array([0.75, 0.25])
    """

    _parameter_constraints: dict[str, Any] = {
        "metric": [StrOptions({"dtw", "euclidean"})],
        "band": [Interval(Real, 0, None, closed="left"), None],
        "normalize": [StrOptions({"path"}), None],
        "threshold": [StrOptions({"knee"}), Interval(Real, 0, None, closed="left"), None],
        "max_symbols": [Interval(Integral, 1, None, closed="left")],
        "cost": [StrOptions({"absolute", "squared"})],
        "start": [StrOptions({"first", "medoid"})],
        "min_frequency": [Interval(Real, 0, 1, closed="left")],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        metric: str = "dtw",
        band: float | None = 0.1,
        normalize: str | None = "path",
        threshold: float | str | None = "knee",
        max_symbols: int = 300,
        cost: str = "absolute",
        start: str = "first",
        min_frequency: float = 0.0,
        n_jobs: int | None = None,
    ) -> None:
        self.metric = metric
        self.band = band
        self.normalize = normalize
        self.threshold = threshold
        self.max_symbols = max_symbols
        self.cost = cost
        self.start = start
        self.min_frequency = min_frequency
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.no_validation = True
        return tags

    def warping(self) -> Warping:
        """Return how cycles are compared.

        Returns
        -------
        how : Warping
            Band, cost and normalisation, as kernels take them.
        """
        return warping(self.band, self.normalize, self.cost, self.metric)

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> MaxMinSymbolizer:
        """Find the prototypes of one recording.

        Parameters
        ----------
        X : list of array-like, or array-like of shape (n_cycles, length)
            Cycles.
        y : None
            Ignored.

        Returns
        -------
        self : MaxMinSymbolizer
            The fitted symboliser.
        """
        cycles = ragged(many_cycles(X, least=2))
        how = self.warping()
        check_lengths(cycles, how)
        to_knee = self.threshold == "knee"
        with FitProgress(self, min(self.max_symbols, len(cycles)), X, step_name="symbol") as seen:
            cover = farthest_first(
                cycles,
                how,
                first=medoid(cycles, how) if self.start == "medoid" else 0,
                max_symbols=self.max_symbols,
                threshold=0.0 if to_knee or self.threshold is None else float(self.threshold),
                n_jobs=self.n_jobs,
                on_step=seen.step,
            )
        self.maxmin_curve_ = cover.curve
        taken, labels = cover.taken, cover.labels
        self.threshold_ = float(cover.curve[-1])
        if to_knee:
            last = knee(cover.curve)
            self.threshold_ = float(cover.curve[last])
            if last + 1 < len(taken):
                taken = taken[: last + 1]
                labels = self._nearest(cycles, taken, how)
        counts = np.bincount(labels, minlength=len(taken))
        kept = frequent(counts / len(cycles), self.min_frequency)
        if len(kept) < len(taken):
            taken = taken[kept]
            labels = self._nearest(cycles, taken, how)
            counts = np.bincount(labels, minlength=len(taken))
        self.prototype_indices_, self.labels_ = taken, labels
        self.prototypes_ = [cycles.series(int(i)).copy() for i in taken]
        self.frequencies_ = counts / len(cycles)  # F_p of Section 3.2
        self.symbols_ = Symbols(self.prototypes_, self.frequencies_)
        return self

    def _nearest(self, cycles: Ragged, taken: Ints, how: Warping) -> Ints:
        return nearest_symbols(cycles, [cycles.series(int(i)) for i in taken], how, self.n_jobs)

    def transform(self, X: Any) -> Ints:
        """Return the symbol of each cycle.

        Parameters
        ----------
        X : list of array-like, or array-like of shape (n_cycles, length)
            Cycles.

        Returns
        -------
        symbols : ndarray of int of shape (n_cycles,)
            The closest prototype; of equals the first.
        """
        check_is_fitted(self, "prototypes_")
        cycles = ragged(many_cycles(X))
        how = self.warping()
        check_lengths(ragged([*self.prototypes_, cycles.series(0)]), how)
        check_lengths(cycles, how)
        return nearest_symbols(cycles, self.prototypes_, how, self.n_jobs)


def nearest_symbols(
    cycles: Ragged, prototypes: list[Floats], how: Warping, n_jobs: int | None = None
) -> Ints:
    """Return the closest prototype of each cycle; of equals the first."""
    nearest = np.full(len(cycles), np.inf)
    labels = np.zeros(len(cycles), dtype=np.int64)
    for i, prototype in enumerate(prototypes):
        d = one_to_many(prototype, cycles, how, nearest, n_jobs)
        closer = d < nearest
        nearest[closer] = d[closer]
        labels[closer] = i
    return labels
