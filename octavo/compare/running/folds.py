"""One fold of one method: choose settings on inner folds, refit, judge on rows left out.

`run_fold` is what workers call. It never raises: a method that fails, runs out of memory or
returns nonsense gives an outcome that says so.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import sys
import time
import traceback
import warnings
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    TimeSeriesSplit,
)
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_limits

from octavo.compare.methods.candidates import Candidate
from octavo.compare.running.scores import judge
from octavo.compare.table.problems import Problem

INNER_ROWS = 20_000  # rows that settings are chosen on
MARGIN = 0.2  # over the root of the rows: by how much others must beat a method's simple settings
ENCODING_MODULES = ("sklearn/preprocessing/", "sklearn/impute/", "sklearn/metrics/", "/compose/")
_DIGITS = re.compile(r"[-+.\de]+")


@dataclass(frozen=True)
class Settings:
    """What a fold's outcome depends on beside data and method."""

    cv: int = 5
    inner_cv: int = 3
    score: str = "accuracy"
    seed: int = 0
    memory: int | None = None  # bytes that one fold may take
    repeats: int = 1  # of the outer folds, each time drawn anew


@dataclass
class FoldOutcome:
    """What came of one fold; `error` is None when all went well."""

    method: str
    fold: int
    score: float = float("nan")
    extras: dict[str, float] = field(default_factory=dict)
    params: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    fit_seconds: float = 0.0
    predict_seconds: float = 0.0
    n_train: int = 0
    n_test: int = 0
    predictions: list[Any] = field(default_factory=list)
    margins: list[float] = field(default_factory=list)
    values: list[float] = field(default_factory=list)  # of test rows; their mean is the score
    chances: list[float] = field(default_factory=list)  # of the rarer of two classes
    warning: str = ""
    error: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, for the journal."""
        return asdict(self)


def splits(problem: Problem, n_folds: int, seed: int) -> list[tuple[NDArray[Any], NDArray[Any]]]:
    """Return (train, test) rows, with classes or events spread evenly; the test rows are mixed.

    Groups stay together; rows in the order of time are learnt from before they are tested.
    """
    rows = np.zeros(problem.n_rows)
    if problem.ordered:
        return list(TimeSeriesSplit(n_folds).split(rows))
    if problem.groups is not None:
        return _group_splits(problem, n_folds, seed)
    if problem.task in ("classification", "survival"):
        strata = problem.y["event"] if problem.task == "survival" else problem.y
        smallest = np.unique(strata, return_counts=True)[1].min()
        folds: Any = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
        if smallest < 2:
            folds = KFold(n_folds, shuffle=True, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a class smaller than the folds
            parts = list(folds.split(rows, strata))
    else:
        parts = list(KFold(n_folds, shuffle=True, random_state=seed).split(rows))
    rng = np.random.default_rng(seed)
    return [(train, rng.permutation(test)) for train, test in parts]


def _group_splits(
    problem: Problem, n_folds: int, seed: int
) -> list[tuple[NDArray[Any], NDArray[Any]]]:
    if problem.task in ("multilabel", "regression"):
        folds: Any = GroupKFold(n_folds, shuffle=True, random_state=seed)
        strata = None
    else:
        folds = StratifiedGroupKFold(n_folds, shuffle=True, random_state=seed)
        strata = problem.y["event"] if problem.task == "survival" else problem.y
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a class smaller than the folds
        return list(folds.split(np.zeros(problem.n_rows), strata, problem.groups))


def outer_split(
    problem: Problem, settings: Settings, fold: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the (train, test) rows of an outer fold; repeats are counted on: cv is fold 0 anew."""
    repeat, place = divmod(fold, settings.cv)
    seed = settings.seed if repeat == 0 else seed_of(settings.seed, "repeat", repeat)
    return splits(problem, settings.cv, seed)[place]


def seed_of(seed: int, name: str, fold: int) -> int:
    """Return a seed that depends on method and fold, but not on the order of work."""
    return int(
        np.random.SeedSequence([seed, zlib.crc32(name.encode()), fold]).generate_state(1)[0] >> 1
    )


def random_part(problem: Problem, limit: int | None, seed: int) -> Problem:
    """Return a random part of the rows where there are more than a limit."""
    if limit is None or problem.n_rows <= limit:
        return problem
    return problem.take(np.sort(np.random.default_rng(seed).permutation(problem.n_rows)[:limit]))


def fit_model(candidate: Candidate, problem: Problem, params: dict[str, Any], seed: int) -> Any:
    """Return the candidate fitted on a problem."""
    model = candidate.build(problem, params, seed)
    return model.fit(problem.X) if problem.y is None else model.fit(problem.X, problem.y)


def choose_params(
    candidate: Candidate, train: Problem, settings: Settings, seed: int
) -> dict[str, Any]:
    """Return the settings of the grid with the best mean over inner folds; the first of equals.

    The best of many noisy means is chosen for its noise: where a method says which settings are
    simple, others must beat them by a margin.
    """
    if len(candidate.grid) == 1:
        return candidate.grid[0]
    score = settings.score
    if candidate.balance == "threshold":  # tuned once, for the model that this choice is about
        candidate, score = replace(candidate, balance=""), "roc_auc"
    part = random_part(train, INNER_ROWS, seed)
    parts = [(part.take(a), part.take(b)) for a, b in splits(part, settings.inner_cv, seed)]
    if part.ordered and part.task == "classification":  # the earliest rows may hold one class
        parts = [(a, b) for a, b in parts if len(a.classes) > 1]
        if not parts:
            return candidate.grid[0]
    scores = np.empty((len(parts), len(candidate.grid)))
    for k, (inner, left_out) in enumerate(parts):
        built = [candidate.build(inner, params, seed) for params in candidate.grid]
        if isinstance(built[0], Pipeline):  # all settings see the same encoding: it is learnt once
            encoder = built[0]["encode"]
            inner = replace(inner, X=encoder.fit_transform(inner.X, inner.y))
            left_out = replace(left_out, X=encoder.transform(left_out.X))
            built = [model["model"] for model in built]
        for j, model in enumerate(built):
            fitted = model.fit(inner.X) if inner.y is None else model.fit(inner.X, inner.y)
            scores[k, j] = judge(fitted, inner, left_out, score, full=False).score
    means = scores.mean(axis=0)
    if candidate.simple:
        means[candidate.simple :] -= MARGIN / np.sqrt(part.n_rows)
    return candidate.grid[int(np.argmax(means))]


def work(candidate: Candidate, problem: Problem, fold: int, settings: Settings) -> FoldOutcome:
    """Run one fold; errors go through."""
    begin = time.perf_counter()
    train_rows, test_rows = outer_split(problem, settings, fold)
    seed = seed_of(settings.seed, candidate.name, fold)
    train = random_part(problem.take(train_rows), candidate.row_limit, seed)
    test = problem.take(test_rows)
    params = choose_params(candidate, train, settings, seed)
    start = time.perf_counter()
    model = fit_model(candidate, train, params, seed)
    fitted = time.perf_counter()
    verdict = judge(model, train, test, settings.score)
    end = time.perf_counter()
    return FoldOutcome(
        candidate.name,
        fold,
        verdict.score,
        verdict.extras,
        params,
        end - begin,
        fitted - start,
        end - fitted,
        train.n_rows,
        test.n_rows,
        verdict.predictions,
        verdict.margins,
        verdict.values,
        verdict.chances,
    )


def run_fold(
    source: Problem | str, candidate: Candidate, fold: int, settings: Settings
) -> FoldOutcome:
    """Run one fold in a worker, whatever happens.

    Parameters
    ----------
    source : Problem or str
        The problem, or the file that it was put into for the workers.
    candidate : Candidate
        The method.
    fold : int
        Which fold.
    settings : Settings
        Everything else.

    Returns
    -------
    outcome : FoldOutcome
        Scores, or the error.
    """
    begin = time.perf_counter()
    problem = loaded(source) if isinstance(source, str) else source
    try:
        with (
            threadpool_limits(1),
            memory_limit(settings.memory),
            np.errstate(all="ignore"),
            warnings.catch_warnings(record=True) as caught,
        ):
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", UserWarning)
            outcome = work(candidate, problem, fold, settings)
        outcome.warning = _warnings_text(caught)
        return outcome
    except MemoryError as error:
        text = f"out of memory: {_one_line(error)}" if str(error) else "out of memory"
    except Exception as error:
        frame = traceback.extract_tb(sys.exc_info()[2])[-1]
        where = f"{os.path.basename(frame.filename)}, line {frame.lineno}"
        text = f"{type(error).__name__}: {_one_line(error)} ({where})"
    return FoldOutcome(candidate.name, fold, seconds=time.perf_counter() - begin, error=text)


def _warnings_text(caught: list[warnings.WarningMessage]) -> str:
    """Return what a method warned of, each sentence once; what its encoding says is no news."""
    sentences: dict[str, int] = {}
    for item in caught:
        place = item.filename.replace(os.sep, "/")
        if not any(part in place for part in ENCODING_MODULES):
            text = _one_line(item.message)
            # Numbers differ from fit to fit; the sentence is the same.
            same = next((s for s in sentences if _DIGITS.sub("", s) == _DIGITS.sub("", text)), text)
            sentences[same] = sentences.get(same, 0) + 1
    return "; ".join(
        f"{text} ({n} times)" if n > 1 else text for text, n in list(sentences.items())[:2]
    )


def _one_line(text: Any) -> str:
    words = " ".join(str(text).split())
    return words if len(words) <= 300 else words[:297] + "..."


@functools.lru_cache(maxsize=1)
def loaded(path: str) -> Problem:
    """Return the problem that was put into a file; a worker keeps the last one."""
    import joblib

    return joblib.load(path)


@contextlib.contextmanager
def memory_limit(n_bytes: int | None) -> Iterator[None]:
    """Let allocations beyond a limit raise MemoryError, so that the machine survives.

    Where the system does not limit the memory of a process (Windows, macOS), nothing is done.
    """
    if n_bytes is None or not sys.platform.startswith("linux"):
        yield
        return
    import resource

    with open("/proc/self/statm", encoding="ascii") as pages:
        in_use = int(pages.read().split()[0]) * resource.getpagesize()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = in_use + n_bytes
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
