"""Judge online learners as they learn: predict a row, score the prediction, then learn it.

`progressive_evaluate` gives the mistakes, updates and computing time of one learner along a
stream, `compare_online` those of many learners over many random orders, and `tune_online`
chooses parameters with one pass per candidate.

References
----------
S. C. H. Hoi, J. Wang, P. Zhao. LIBOL: A Library for Online Learning Algorithms. JMLR 15,
2014, section 3.1 (Table 1 and Figure 1).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.utils import check_array, check_consistent_length, check_random_state

from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.sparse_rows import canonical_csr
from octavo.engine.streams.chunks import is_chunk_stream
from octavo.online.one_pass.base import OnlineClassifierMixin, encode_labels
from octavo.online.one_pass.first_order import (
    ALMA,
    ROMMA,
    OGDClassifier,
    OnlinePerceptron,
    PassiveAggressive,
)
from octavo.online.one_pass.second_order import (
    AROW,
    NAROW,
    NHERD,
    SCW,
    ConfidenceWeighted,
    ImprovedEllipsoid,
    SecondOrderPerceptron,
)

__all__ = [
    "OnlineComparison",
    "OnlineTuning",
    "ProgressiveTrace",
    "compare_online",
    "libol_learners",
    "progressive_evaluate",
    "tune_online",
]

_POWERS = tuple(2.0**k for k in range(-4, 5))  # LIBOL's grid of C
_PROBABILITIES = tuple(round(0.55 + 0.05 * k, 2) for k in range(9))
_TENTHS = tuple(round(0.1 * k, 1) for k in range(1, 10))


class ProgressiveTrace(NamedTuple):
    """How a learner did along a stream, at a few ticks.

    Attributes
    ----------
    n_seen : ndarray of shape (n_ticks,)
        Rows seen.
    n_mistakes : ndarray of shape (n_ticks,)
        Rows predicted wrongly before they were learnt.
    n_updates : ndarray of shape (n_ticks,)
        Rows that changed the model; NaN for a learner that does not tell.
    cpu_time : ndarray of shape (n_ticks,)
        Seconds of computing time, compilation not counted.
    estimator : object
        The learner after the last row.
    """

    n_seen: np.ndarray
    n_mistakes: np.ndarray
    n_updates: np.ndarray
    cpu_time: np.ndarray
    estimator: Any

    @property
    def mistake_rate(self) -> np.ndarray:
        """Mistakes per row seen, at the ticks."""
        return self.n_mistakes / self.n_seen


def _tick_positions(ticks, n_rounds: int) -> np.ndarray:
    """Return the numbers of rows after which to look."""
    if np.ndim(ticks) == 0:
        if ticks < 1:
            raise ValueError(f"ticks must be at least 1, got {ticks!r}.")
        return np.unique(np.ceil(np.linspace(0, n_rounds, int(ticks) + 1)[1:]).astype(int))
    positions = np.unique(np.asarray(ticks, dtype=int))
    if len(positions) == 0 or positions[0] < 1 or positions[-1] > n_rounds:
        raise ValueError(f"ticks must lie between 1 and {n_rounds}, got {ticks!r}.")
    return positions


def _segments(estimator, X, y, order, positions) -> Iterator[tuple[int, float, float]]:
    """Let an octavo learner walk to each tick; yield its mistakes, updates and seconds."""
    X, y = estimator._validated(X, y, reset=True)
    estimator._start(np.unique(y))
    codes = encode_labels(y, estimator.classes_)
    start = 0
    for stop in positions:
        begin = time.thread_time()
        estimator._learn(X, codes, order[start:stop])
        seconds = time.thread_time() - begin
        start = stop
        yield estimator.n_mistakes_, estimator.n_updates_, seconds


def _row_by_row(estimator, X, y, order, positions) -> Iterator[tuple[int, float, float]]:
    """Do the same with any estimator that has ``predict`` and ``partial_fit``."""
    X = canonical_csr(check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32]))
    y = np.asarray(y)
    classes = np.unique(y)
    mistakes = 0
    start = 0
    for stop in positions:
        begin = time.thread_time()
        for t in range(start, stop):
            row, label = X[order[t] : order[t] + 1], y[order[t] : order[t] + 1]
            # there is no model before the first row: score that round as a zero score
            guess = estimator.predict(row)[0] if t else classes[-1 if len(classes) == 2 else 0]
            mistakes += int(guess != label[0])
            estimator.partial_fit(row, label, classes=classes)
        start = stop
        yield mistakes, np.nan, time.thread_time() - begin


@checked
def progressive_evaluate(estimator, X, y=None, order=None, ticks=15):
    """Follow an online learner along a stream: predict, score, then learn.

    Parameters
    ----------
    estimator : estimator
        An online classifier of octavo, or any classifier with ``predict`` and
        ``partial_fit`` (much slower: row by row in Python). It is cloned.
    X : {array-like, sparse matrix} of shape (n_samples, n_features), or iterable
        The rows. With ``y`` left out, an iterable of chunks ``(X, y)`` for an octavo
        learner; there is a tick after every chunk.
    y : array-like of shape (n_samples,), optional
        The labels.
    order : array-like of shape (n_rounds,), optional
        Rows to visit, in this order; all as stored when absent.
    ticks : int or array-like of int, default=15
        Number of evenly spaced ticks, or the numbers of rows after which to look.

    Returns
    -------
    trace : ProgressiveTrace
        Rows seen, mistakes, updates and computing time at the ticks.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from octavo.online import AROW, progressive_evaluate
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> trace = progressive_evaluate(AROW(), scale(X), y, ticks=[100, 569])
    >>> trace.n_mistakes
    array([13, 32])
    """
    estimator = clone(estimator)
    if y is None and is_chunk_stream(X):
        return _follow_chunks(estimator, X)
    check_consistent_length(X, y)
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    order = np.arange(n_rows) if order is None else np.asarray(order)
    positions = _tick_positions(ticks, len(order))
    if isinstance(estimator, OnlineClassifierMixin):
        _warm(estimator, X, y)
        steps = _segments(estimator, X, y, order, positions)
    else:
        steps = _row_by_row(estimator, X, y, order, positions)
    return _trace(estimator, positions, list(steps))


def _warm(estimator, X, y) -> None:
    """Compile the rule before the clock runs."""
    y = np.asarray(y)
    _, first = np.unique(y, return_index=True)
    rows = X.tocsr()[first] if hasattr(X, "tocsr") else np.asarray(X)[first]
    clone(estimator).fit(rows, y[first])


def _follow_chunks(estimator, chunks) -> ProgressiveTrace:
    seen, steps = [], []

    def watched():
        for chunk in chunks:
            begin = time.thread_time()
            yield chunk
            seen.append(estimator.t_)
            steps.append((estimator.n_mistakes_, estimator.n_updates_, time.thread_time() - begin))

    estimator.set_params(n_epochs=1).fit(watched(), classes=getattr(chunks, "classes", None))
    return _trace(estimator, np.array(seen), steps)


def _trace(estimator, positions, steps) -> ProgressiveTrace:
    mistakes, updates, seconds = zip(*steps, strict=True)
    return ProgressiveTrace(
        positions, np.array(mistakes), np.array(updates), np.cumsum(seconds), estimator
    )


class OnlineComparison(NamedTuple):
    """How several learners did over several random orders of the same rows.

    Attributes
    ----------
    names : list of str
        The learners.
    n_seen : ndarray of shape (n_ticks,)
        Rows seen at the ticks.
    mistake_rate : ndarray of shape (n_learners, n_orders, n_ticks)
        Mistakes per row seen.
    n_updates : ndarray of shape (n_learners, n_orders, n_ticks)
        Rows that changed the model.
    cpu_time : ndarray of shape (n_learners, n_orders, n_ticks)
        Seconds of computing time.
    """

    names: list[str]
    n_seen: np.ndarray
    mistake_rate: np.ndarray
    n_updates: np.ndarray
    cpu_time: np.ndarray

    def table(self) -> list[dict[str, Any]]:
        """Return, for each learner, mean and standard deviation at the last tick.

        Returns
        -------
        rows : list of dict
            Keys ``name``, and ``mistake_rate``, ``n_updates`` and ``cpu_time`` with their
            ``_std``: the columns of Table 1.
        """
        columns = ("mistake_rate", "n_updates", "cpu_time")
        rows = []
        for a, name in enumerate(self.names):
            row: dict[str, Any] = {"name": name}
            for column in columns:
                final = getattr(self, column)[a, :, -1]
                row[column] = float(np.mean(final))
                row[f"{column}_std"] = float(np.std(final, ddof=1)) if len(final) > 1 else 0.0
            rows.append(row)
        return rows

    def __str__(self) -> str:
        width = max(len("learner"), *(len(name) for name in self.names))
        lines = [f"{'learner':{width}}   mistake rate        updates              time (s)"]
        lines += [
            f"{row['name']:{width}}   {row['mistake_rate']:.3f} ± {row['mistake_rate_std']:.3f}"
            f"   {row['n_updates']:10.1f} ± {row['n_updates_std']:7.1f}"
            f"   {row['cpu_time']:.4f} ± {row['cpu_time_std']:.4f}"
            for row in self.table()
        ]
        return "\n".join(lines)


@checked
def compare_online(
    estimators, X, y, n_orders=20, random_state=None, *, ticks=15, n_jobs=None
) -> OnlineComparison:
    """Run online learners over the same random orders of the same rows.

    Parameters
    ----------
    estimators : dict of str to estimator, or sequence of estimators
        The learners, by name.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The rows.
    y : array-like of shape (n_samples,)
        The labels.
    n_orders : int, default=20
        Number of random orders; every learner sees all of them.
    random_state : int, RandomState instance or None, default=None
        The orders.
    ticks : int or array-like of int, default=15
        As in `progressive_evaluate`.
    n_jobs : int or None, default=None
        Threads. More than one disturbs the times.

    Returns
    -------
    comparison : OnlineComparison
        Curves, and the table of final means (``print`` shows it).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from octavo.online import AROW, OnlinePerceptron, compare_online
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> result = compare_online([AROW(), OnlinePerceptron()], scale(X), y, 5, random_state=0)
    >>> [(row["name"], round(row["mistake_rate"], 3)) for row in result.table()]
    [('AROW', 0.044), ('OnlinePerceptron', 0.057)]
    """
    if not isinstance(estimators, Mapping):
        estimators = _named(estimators)
    rng = check_random_state(random_state)
    orders = [rng.permutation(len(y)) for _ in range(n_orders)]
    traces = Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(progressive_evaluate)(estimator, X, y, order, ticks)
        for estimator in estimators.values()
        for order in orders
    )
    shape = (len(estimators), n_orders, -1)
    return OnlineComparison(
        list(estimators),
        traces[0].n_seen,
        np.array([trace.mistake_rate for trace in traces]).reshape(shape),
        np.array([trace.n_updates for trace in traces], dtype=float).reshape(shape),
        np.array([trace.cpu_time for trace in traces]).reshape(shape),
    )


def _named(estimators: Sequence) -> dict[str, Any]:
    """Name estimators by their class, or in full where classes repeat."""
    names = [type(estimator).__name__ for estimator in estimators]
    if len(set(names)) < len(names):
        names = [" ".join(str(estimator).split()) for estimator in estimators]
    return dict(zip(names, estimators, strict=True))


class OnlineTuning(NamedTuple):
    """Parameters chosen by `tune_online`.

    Attributes
    ----------
    estimator : estimator
        A clone with the best parameters, not fitted.
    params : dict
        These parameters.
    n_mistakes : int
        Mistakes of the best candidate on the rows it was chosen on.
    candidates : list of (dict, int)
        All candidates and their mistakes, as they were tried.
    n_rows : int
        Number of rows they were tried on. After ``protocol="prefix"`` these are the first,
        and the rows from ``n_rows`` on were not touched.
    """

    estimator: Any
    params: dict[str, Any]
    n_mistakes: int
    candidates: list[tuple[dict[str, Any], int]]
    n_rows: int


def default_grid(estimator, protocol: str) -> dict[str, tuple[float, ...]]:
    """Return the values of LIBOL for the parameters of an estimator, in the order of tuning."""
    if isinstance(estimator, PassiveAggressive):
        return {} if estimator.variant == "pa" else {"C": _POWERS}
    if isinstance(estimator, OGDClassifier):
        return {} if protocol == "libol" else {"C": _POWERS}  # Table 1 has C = 1
    if isinstance(estimator, ALMA):
        return {"C": _POWERS, "alpha": _PROBABILITIES, "p": (2, 4, 6, 8, 10)}
    if isinstance(estimator, SCW):
        return {"C": _POWERS, "eta": _PROBABILITIES}
    for kind, grid in (
        (ConfidenceWeighted, {"eta": _PROBABILITIES}),
        (ImprovedEllipsoid, {"b": _TENTHS}),
        (AROW, {"r": _POWERS}),
        (NAROW, {"b": _POWERS}),
        (NHERD, {"C": _POWERS}),
    ):
        if isinstance(estimator, kind):
            return dict(grid)
    return {}


@checked
def tune_online(
    estimator, X, y, grid=None, *, protocol="prefix", prefix=0.1, random_state=None
) -> OnlineTuning:
    """Choose parameters by one pass per candidate: the fewest mistakes win.

    Parameters are chosen one after the other, the others held, and ties go to the later value.

    Parameters
    ----------
    estimator : estimator
        An online classifier.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The rows.
    y : array-like of shape (n_samples,)
        The labels.
    grid : dict of str to sequence, optional
        Values of each parameter, in the order of tuning. LIBOL's when absent: C, r and the
        b of NAROW in 2**-4, ..., 2**4; eta and the alpha of ALMA in 0.55, ..., 0.95; the b of
        `ImprovedEllipsoid` in 0.1, ..., 0.9; p in 2, 4, ..., 10.
    protocol : {"prefix", "libol"}, default="prefix"
        "prefix" looks at the first rows only, so that the rest can judge the result. "libol"
        does as LIBOL: all rows, in one random order; the mistakes of the winner then flatter
        it, since it was chosen on the rows it is judged on.
    prefix : float or int, default=0.1
        Share or number of rows that "prefix" looks at.
    random_state : int, RandomState instance or None, default=None
        The order of "libol".

    Returns
    -------
    tuning : OnlineTuning
        The best estimator (not fitted), its parameters, and all candidates.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from octavo.online import AROW, tune_online
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> tuning = tune_online(AROW(), scale(X), y, prefix=0.3)
    >>> tuning.params, tuning.n_rows
    ({'r': 16.0}, 171)
    """
    if protocol not in ("prefix", "libol"):
        raise ValueError(f"protocol must be 'prefix' or 'libol', got {protocol!r}.")
    n_rows = len(y)
    if protocol == "libol":
        order = check_random_state(random_state).permutation(n_rows)
    else:
        count = int(np.ceil(prefix * n_rows)) if isinstance(prefix, float) else int(prefix)
        if not 0 < count <= n_rows or (isinstance(prefix, float) and prefix > 1.0):
            raise ValueError(
                f"prefix must be a share in (0, 1] or a number of rows up to {n_rows}, got "
                f"{prefix!r}."
            )
        order = np.arange(count)
    grid = default_grid(estimator, protocol) if grid is None else grid
    chosen: dict[str, Any] = {}
    candidates: list[tuple[dict[str, Any], int]] = []

    def mistakes_of(params) -> int:
        learner = clone(estimator).set_params(**params)
        count = int(progressive_evaluate(learner, X, y, order, ticks=1).n_mistakes[-1])
        candidates.append((params, count))
        return count

    for name, values in grid.items():
        counts = [mistakes_of({**chosen, name: value}) for value in values]
        best = len(counts) - 1 - int(np.argmin(counts[::-1]))  # of ties the last
        chosen[name] = values[best]
    if not grid:
        mistakes_of({})
    final = min(count for params, count in candidates if params == chosen)
    best_estimator = clone(estimator).set_params(**chosen)
    return OnlineTuning(best_estimator, chosen, final, candidates, len(order))


@checked
def libol_learners(task="binary", *, release=True) -> dict[str, Any]:
    """Return LIBOL's algorithms with the names and settings of its Table 1.

    Parameters
    ----------
    task : {"binary", "multiclass"}, default="binary"
        Sixteen binary or thirteen multiclass algorithms.
    release : bool, default=True
        Whether SOP, NAROW and the first step of ROMMA are those of the MATLAB release, with
        which the table was made. No learner has an intercept, as there. Ties of PerceptronU and
        PerceptronS are not: see ``legacy`` of `OnlinePerceptron`.

    Returns
    -------
    learners : dict of str to estimator
        Not fitted.

    Examples
    --------
    >>> from octavo.online import libol_learners
    >>> list(libol_learners())[:4], len(libol_learners("multiclass"))
    (['Perceptron', 'ROMMA', 'aROMMA', 'ALMA'], 13)
    """
    if task not in ("binary", "multiclass"):
        raise ValueError(f"task must be 'binary' or 'multiclass', got {task!r}.")
    plain = {"fit_intercept": False}
    first = {**plain, "first_step": "example" if release else "min_norm"}
    margin: dict[str, Any] = {
        "ROMMA": ROMMA(**first),
        "aROMMA": ROMMA(aggressive=True, **first),
        "OGD": OGDClassifier(**plain),
        "PA": PassiveAggressive("pa", **plain),
        "PA1": PassiveAggressive("pa1", **plain),
        "PA2": PassiveAggressive("pa2", **plain),
    }
    confident = {"covariance": "full", **plain}
    if task == "multiclass":
        perceptrons = {
            f"Perceptron{kind[0].upper()}": OnlinePerceptron(kind, **plain)
            for kind in ("max", "uniform")
        }
        perceptrons["PerceptronS"] = OnlinePerceptron("proportional", **plain)
        return {
            **perceptrons,
            **margin,
            "CW": ConfidenceWeighted(0.75, **confident),
            "SCW1": SCW(1, **confident),
            "SCW2": SCW(2, **confident),
            "AROW": AROW(**confident),
        }
    absorb = {"update_on": "all" if release else "mistake"}
    noise = {"variant": "libol" if release else "dual"}
    return {
        "Perceptron": OnlinePerceptron(**plain),
        "ROMMA": margin.pop("ROMMA"),
        "aROMMA": margin.pop("aROMMA"),
        "ALMA": ALMA(**plain),
        **margin,
        "SOP": SecondOrderPerceptron(**absorb, **confident),
        "IELLIP": ImprovedEllipsoid(**confident),
        "CW": ConfidenceWeighted(**confident),
        "NHERD": NHERD(**confident),
        "AROW": AROW(**confident),
        "NAROW": NAROW(**noise, **confident),
        "SCW": SCW(1, **confident),
        "SCW2": SCW(2, eta=0.9, **confident),
    }
