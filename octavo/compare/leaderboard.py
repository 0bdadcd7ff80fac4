"""From scores of folds to a ranking that says which differences are real.

Scores of overlapping training parts are not independent; the variance of their mean is corrected
after C. Nadeau and Y. Bengio (2003), "Inference for the Generalization Error". The methods are
tested against the best one, and the p-values corrected after S. Holm (1979).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from octavo.compare.candidates import Candidate
from octavo.compare.runner import RunLog

AT_MOST_ONE = {
    "accuracy",
    "balanced_accuracy",
    "f1_macro",
    "roc_auc",
    "r2",
    "concordance",
    "concordance_ipcw",
    "pair_accuracy",
    "silhouette",
    "stability",
}
LEVEL = 0.05


def corrected_interval(
    scores: ArrayLike, test_to_train: float, level: float = 0.95
) -> tuple[float, float]:
    """Return the confidence interval of the mean of cross-validated scores.

    Parameters
    ----------
    scores : array-like
        One a fold.
    test_to_train : float
        Rows of a test part over rows of a training part.
    level : float, default=0.95
        Confidence.

    Returns
    -------
    low, high : float
        The ends; NaN for a single fold.
    """
    values = np.asarray(scores, dtype=float)
    n = len(values)
    if n < 2:
        return float("nan"), float("nan")
    spread = np.sqrt((1 / n + test_to_train) * values.var(ddof=1))
    half = float(stats.t.ppf(0.5 + level / 2, n - 1) * spread)
    return float(values.mean()) - half, float(values.mean()) + half


def corrected_t_test(scores: ArrayLike, others: ArrayLike, test_to_train: float) -> float:
    """Return the two-sided p-value of the corrected resampled t-test on the same folds.

    Parameters
    ----------
    scores, others : array-like
        Scores of two methods, fold by fold.
    test_to_train : float
        Rows of a test part over rows of a training part.

    Returns
    -------
    p_value : float
        NaN for a single fold.
    """
    d = np.asarray(scores, dtype=float) - np.asarray(others, dtype=float)
    n = len(d)
    if n < 2:
        return float("nan")
    if np.ptp(d) == 0:
        return 1.0 if d[0] == 0 else 0.0
    t = d.mean() / np.sqrt((1 / n + test_to_train) * d.var(ddof=1))
    return float(2 * stats.t.sf(abs(t), n - 1))


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """Return p-values corrected for their number, in the order given.

    Parameters
    ----------
    p_values : array-like
        One a comparison.

    Returns
    -------
    corrected : ndarray
        Each at most a given level with a chance of at most that level that any null is rejected.
    """
    p = np.asarray(p_values, dtype=float)
    order = np.argsort(p, kind="stable")
    steps = (len(p) - np.arange(len(p))) * p[order]
    corrected = np.empty_like(p)
    corrected[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return corrected


@dataclass
class Standing:
    """One line of the leaderboard.

    `p_value` is that of the difference from the best, corrected; `tied` says that it could be
    chance. `n_train` is smaller than the training parts for a method that learns from a part.
    """

    rank: int
    name: str
    origin: str
    mean: float
    low: float
    high: float
    p_value: float
    tied: bool
    scores: list[float]
    extras: dict[str, float]
    params: dict[str, Any]
    seconds: float
    fit_seconds: float
    predict_seconds: float
    n_train: int
    limited: bool
    warning: str = ""


@dataclass(frozen=True)
class Failure:
    """A method without a place: "failed", "unfinished" or "not tried", and why."""

    name: str
    kind: str
    why: str


@dataclass
class Leaderboard:
    """Standings, best first, and the methods that have none."""

    standings: list[Standing]
    failures: list[Failure]
    folds: list[int] = field(default_factory=list)


def usual_params(candidate: Candidate, chosen: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the settings that most folds chose; of equals, the first of the grid."""
    counts = [sum(p == q for q in chosen) for p in candidate.grid]
    return candidate.grid[int(np.argmax(counts))] if any(counts) else chosen[0]


def common_folds(done: list[list[int]], cv: int) -> list[int]:
    """Return the folds to rank on: a run that was stopped has more of some methods than of others.

    Of the first k folds for every k, those with the largest number of methods that finished them,
    times √k, by which the precision of a mean grows.
    """
    best, best_value = 0, 0.0
    for k in range(1, cv + 1):
        n_methods = sum(set(range(k)) <= set(folds) for folds in done)
        if n_methods * k**0.5 >= best_value and n_methods:
            best, best_value = k, n_methods * k**0.5
    return list(range(best))


def _standing(
    candidate: Candidate, log: RunLog, folds: list[int], n_train: int, ratio: float, score: str
) -> Standing:
    found = [log.outcomes[candidate.name, fold] for fold in folds]
    scores = [outcome.score for outcome in found]
    low, high = corrected_interval(scores, ratio)
    if score in AT_MOST_ONE:
        high = min(high, 1.0)
    extras = {k: float(np.mean([o.extras[k] for o in found])) for k in found[0].extras}
    used = min(outcome.n_train for outcome in found)
    return Standing(
        0,
        candidate.name,
        candidate.origin,
        float(np.mean(scores)),
        low,
        high,
        float("nan"),
        True,
        scores,
        extras,
        usual_params(candidate, [o.params for o in found]),
        float(np.mean([o.seconds for o in found])),
        float(np.mean([o.fit_seconds for o in found])),
        float(np.mean([o.predict_seconds for o in found])),
        used,
        used < n_train,
        next((o.warning for o in found if o.warning), ""),
    )


def make_leaderboard(
    candidates: list[Candidate], log: RunLog, cv: int, n_rows: int, score: str
) -> Leaderboard:
    """Rank the methods that finished the folds, and list the others.

    Parameters
    ----------
    candidates : list of Candidate
        All that were to be tried.
    log : RunLog
        What came of it.
    cv, n_rows : int
        Number of folds, and of rows.
    score : str
        The score that counts.

    Returns
    -------
    board : Leaderboard
        Standings and failures.
    """
    failures, running = [], []
    for candidate in candidates:
        failure = log.failure(candidate.name)
        if failure is not None:
            where = "" if log.scores(candidate.name) == {} else f" (in fold {failure.fold + 1})"
            failures.append(Failure(candidate.name, "failed", f"{failure.error}{where}"))
        else:
            running.append(candidate)
    done = {c.name: list(log.scores(c.name)) for c in running}
    folds = common_folds(list(done.values()), cv)
    for candidate in running:
        if not folds or not set(folds) <= set(done[candidate.name]):
            n = len(done[candidate.name])
            why = f"{n} of {cv} folds were done when the run was stopped ({log.stopped or 'early'})"
            failures.append(Failure(candidate.name, "unfinished", why))
    # A training part has the rows of the other folds, less one where they do not divide evenly.
    n_train = n_rows - -(-n_rows // cv)
    ranked = [
        _standing(c, log, folds, n_train, 1 / (cv - 1), score)
        for c in running
        if folds and set(folds) <= set(done[c.name])
    ]
    ranked.sort(key=lambda s: (-s.mean, s.name))
    if len(ranked) > 1 and len(folds) > 1:
        raw = [corrected_t_test(ranked[0].scores, s.scores, 1 / (cv - 1)) for s in ranked[1:]]
        for standing, p in zip(ranked[1:], holm(raw)):
            standing.p_value, standing.tied = float(p), bool(p > LEVEL)
    for place, standing in enumerate(ranked, start=1):
        standing.rank = place
    return Leaderboard(ranked, failures, folds)
