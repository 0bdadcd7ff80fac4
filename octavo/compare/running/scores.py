"""How a fitted model is judged on rows that it has not seen; larger is better throughout."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from sklearn.metrics import (
    accuracy_score,
    adjusted_rand_score,
    average_precision_score,
    balanced_accuracy_score,
    f1_score,
    get_scorer,
    hamming_loss,
    mean_absolute_error,
    r2_score,
    root_mean_squared_error,
    silhouette_score,
)

from octavo.compare.methods.hazards import concordance, concordance_ipcw
from octavo.compare.methods.rankers import pairs_of_games
from octavo.compare.table.problems import Problem
from octavo.compare.table.reading import InputError

KEPT_PREDICTIONS = 2000  # of a fold, for the pictures
KEPT_VALUES = 20_000  # rows of a fold, for the tests
SILHOUETTE_ROWS = 2000
IMBALANCED = 0.8  # share of the largest class from which accuracy says little

EXTRAS = {
    "classification": ("accuracy", "balanced_accuracy", "f1_macro"),
    "multilabel": ("neg_hamming_loss", "exact_match", "f1_micro"),
    "regression": ("r2", "neg_root_mean_squared_error", "neg_mean_absolute_error"),
    "survival": ("concordance", "concordance_ipcw"),
    "ranking": ("pair_accuracy", "neg_log_loss"),
    "clustering": ("silhouette", "stability"),
}
METRICS: dict[str, dict[str, Any]] = {  # of predictions, which are made once
    "classification": {
        "accuracy": accuracy_score,
        "balanced_accuracy": balanced_accuracy_score,
        "f1_macro": partial(f1_score, average="macro"),
    },
    "multilabel": {
        "neg_hamming_loss": lambda y, p: -hamming_loss(y, p),
        "exact_match": accuracy_score,
        "f1_micro": partial(f1_score, average="micro", zero_division=0.0),
    },
    "regression": {
        "r2": r2_score,
        "neg_root_mean_squared_error": lambda y, p: -root_mean_squared_error(y, p),
        "neg_mean_absolute_error": lambda y, p: -mean_absolute_error(y, p),
    },
}
OWN = {"concordance", "concordance_ipcw", "pair_accuracy", "silhouette", "stability"}
NAMES = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "f1_macro": "F1 (mean of classes)",
    "neg_hamming_loss": "Hamming loss (negative)",
    "exact_match": "rows with all labels right",
    "f1_micro": "F1 (all labels together)",
    "roc_auc": "area under the ROC curve",
    "average_precision": "average precision (rarer class)",
    "brier": "Brier score (smaller is better)",
    "neg_log_loss": "log-loss (negative)",
    "r2": "R²",
    "neg_root_mean_squared_error": "RMSE (negative)",
    "neg_mean_absolute_error": "mean absolute error (negative)",
    "concordance": "concordance (Harrell)",
    "concordance_ipcw": "concordance (Uno)",
    "pair_accuracy": "pairs predicted right",
    "silhouette": "silhouette of unseen rows",
    "stability": "stability (adjusted Rand)",
}


@dataclass
class Verdict:
    """Scores of a model on unseen rows, and some of its predictions."""

    score: float
    extras: dict[str, float]
    predictions: list[Any]
    margins: list[float]
    values: list[float] = field(default_factory=list)
    chances: list[float] = field(default_factory=list)


def choose_score(problem: Problem, wanted: str | None) -> tuple[str, str]:
    """Return the score that methods are ranked by, and a sentence that says why.

    Parameters
    ----------
    problem : Problem
        What is compared on.
    wanted : str or None
        The name of one of scikit-learn's scorers, or of octavo's for the task; None chooses.

    Returns
    -------
    score, why : str
        The name and the sentence.
    """
    from octavo._names import UnknownNameError

    own = EXTRAS[problem.task]
    if wanted is not None:
        if problem.task in ("classification", "regression"):
            from sklearn.metrics import get_scorer_names

            if wanted not in get_scorer_names():
                raise InputError(str(UnknownNameError("score", wanted, get_scorer_names())))
        elif wanted not in own:
            raise InputError(str(UnknownNameError(f"score for {problem.task}", wanted, list(own))))
        return wanted, f"Methods are ranked by {NAMES.get(wanted, wanted)}, as asked."
    if problem.task == "classification":
        share = np.unique(problem.y, return_counts=True)[1].max() / len(problem.y)
        if share > IMBALANCED:
            return "balanced_accuracy", (
                f"Methods are ranked by balanced accuracy, because {share:.0%} of the rows are of "
                "one "
                "class and accuracy would praise a guess (--score says otherwise)."
            )
    return own[0], f"Methods are ranked by {NAMES[own[0]]} (--score says otherwise)."


def judge(model: Any, train: Problem, test: Problem, score: str, *, full: bool = True) -> Verdict:
    """Score a fitted model on a test part.

    Parameters
    ----------
    model : estimator
        Fitted on `train`.
    train, test : Problem
        The parts of the problem.
    score : str
        The score that counts.
    full : bool, default=True
        Whether the other scores and predictions are wanted too.

    Returns
    -------
    verdict : Verdict
        Scores and predictions.
    """
    if test.task in ("classification", "multilabel", "regression"):
        return _judge_supervised(model, train, test, score, full)
    judges: Any = {
        "survival": _judge_survival,
        "ranking": _judge_ranking,
        "clustering": _judge_clusters,
    }
    values, predictions, by_row = judges[test.task](model, train, test)
    if not np.isfinite(values[score]):
        raise FloatingPointError(f"Its {NAMES[score]} is {values[score]}.")
    kept = _kept(by_row.get(score), values[score]) if full else []
    return Verdict(values[score], values, predictions[:KEPT_PREDICTIONS], [], kept)


def _kept(values: Any, score: float) -> list[float]:
    """Return row values to six figures; none where their mean is not the score."""
    if values is None or not np.isclose(np.mean(values), score, rtol=1e-6, atol=1e-9):
        return []
    return [float(f"{v:.6g}") for v in values[:KEPT_VALUES]]


def row_values(score: str, model: Any, test: Problem, predictions: Any) -> Any:
    """Return a value a test row whose mean is the score, and whose spread is its uncertainty.

    For a score that is not a mean over rows these are its influence values (Hampel 1974): the
    score, plus how much a row moves it to first order. A ratio, such as R², is told apart from
    its denominator that way; a ranking, such as the area under the ROC curve, has the
    placements of DeLong and others (1988).

    Parameters
    ----------
    score : str
        The score.
    model : estimator
        Fitted, for chances and margins.
    test : Problem
        The test part.
    predictions : ndarray
        Of the model for the test part.

    Returns
    -------
    values : ndarray or None
        None where the score has no such values here.
    """
    y, n = test.y, test.n_rows
    if test.task == "multilabel":
        return _label_values(score, np.asarray(predictions), y)
    if score == "accuracy":
        return (predictions == y).astype(float)
    if score == "balanced_accuracy":
        return _recall_values((predictions == y).astype(float), y)
    if test.task == "regression":
        error = np.asarray(predictions, dtype=float) - y
        if score == "neg_mean_absolute_error":
            return -np.abs(error)
        square = error**2
        if score == "neg_mean_squared_error":
            return -square
        mse = square.mean()
        if score == "neg_root_mean_squared_error" and mse > 0:
            return -np.sqrt(mse) - (square - mse) / (2 * np.sqrt(mse))
        spread = (y - y.mean()) ** 2
        if score == "r2" and spread.mean() > 0:
            ratio = mse / spread.mean()
            return 1 - ratio - ((square - mse) - ratio * (spread - spread.mean())) / spread.mean()
        return None
    if score == "neg_log_loss" and hasattr(model, "predict_proba"):
        chance = np.asarray(model.predict_proba(test.X), dtype=float)
        place = np.searchsorted(model.classes_, y)
        eps = np.finfo(chance.dtype).eps
        return np.log(np.clip(chance[np.arange(n), place], eps, 1 - eps))
    if score == "roc_auc" and len(np.unique(y)) == 2:
        margin = margins_of(model, test)
        return None if margin is None else _placements(margin, y == np.unique(y)[1])
    return None


def _label_values(score: str, predictions: Any, y: Any) -> Any:
    """Return row values of the scores of several labels."""
    wrong = predictions != y
    if score == "neg_hamming_loss":
        return -wrong.mean(axis=1)
    if score == "exact_match":
        return (~wrong.any(axis=1)).astype(float)
    # F1 is twice the labels found over twice those plus the mistakes: a ratio of two means.
    found = 2.0 * ((predictions == 1) & (y == 1)).sum(axis=1)
    size = found + wrong.sum(axis=1)
    if score != "f1_micro" or size.sum() == 0:
        return None
    ratio = found.mean() / size.mean()
    return ratio + (found - ratio * size) / size.mean()


def _recall_values(right: Any, y: Any) -> Any:
    """Return the influence values of the mean of the classes' shares of right rows."""
    _, place, counts = np.unique(y, return_inverse=True, return_counts=True)
    recall = np.bincount(place, right) / counts
    return recall.mean() + len(y) / (len(counts) * counts[place]) * (right - recall[place])


def _placements(margin: Any, positive: Any) -> Any:
    """Return the influence values of the area under the ROC curve."""
    from scipy.stats import rankdata

    n, n_pos = len(margin), int(positive.sum())
    ranks = rankdata(margin)
    above = np.empty(n)  # the share of the other class that lies on the right side
    above[positive] = (ranks[positive] - rankdata(margin[positive])) / (n - n_pos)
    above[~positive] = 1 - (ranks[~positive] - rankdata(margin[~positive])) / n_pos
    area = above[positive].mean()
    size = np.where(positive, n_pos, n - n_pos)
    return area + n / size * (above - area)


def margins_of(model: Any, test: Problem) -> Any:
    """Return how far each row leans to the second of two classes, or None where that is not told.

    Parameters
    ----------
    model : estimator
        A fitted classifier of two classes.
    test : Problem
        Whose rows are asked about.

    Returns
    -------
    margins : ndarray or None
        Decision values, or chances.
    """
    for method in ("decision_function", "predict_proba"):
        try:
            found = np.asarray(getattr(model, method)(test.X), dtype=float)
        except (AttributeError, NotImplementedError):
            continue
        return found[:, -1] if found.ndim == 2 else found
    return None


def _judge_supervised(model: Any, train: Problem, test: Problem, score: str, full: bool) -> Verdict:
    metrics = METRICS[test.task]
    predictions = np.asarray(model.predict(test.X)) if full or score in metrics else None
    if score in metrics:
        value = float(metrics[score](test.y, predictions))
    else:
        value = float(get_scorer(score)(model, test.X, test.y))
    if not np.isfinite(value):
        raise FloatingPointError(f"Its {NAMES.get(score, score)} is {value}.")
    if not full:
        return Verdict(value, {}, [], [])
    assert predictions is not None
    extras = {name: float(metrics[name](test.y, predictions)) for name in EXTRAS[test.task]}
    margins, chances = None, None
    if len(train.classes) == 2:
        margins = margins_of(model, test)
        more, chances = _judge_rarer(model, train, test, margins)
        extras |= more
    return Verdict(
        value,
        {score: value} | extras,
        predictions[:KEPT_PREDICTIONS].tolist(),
        [] if margins is None else margins[:KEPT_PREDICTIONS].tolist(),
        _kept(row_values(score, model, test, predictions), value),
        [] if chances is None else chances[:KEPT_PREDICTIONS].tolist(),
    )


def rarer_class(y: Any) -> tuple[Any, int]:
    """Return the rarer of two classes (the second of equals), and its place among them."""
    labels, counts = np.unique(y, return_counts=True)
    place = int(counts[1] <= counts[0])
    return labels[place], place


def _judge_rarer(
    model: Any, train: Problem, test: Problem, margins: Any
) -> tuple[dict[str, float], Any]:
    """Return how well the rarer class is found and its chance told, and those chances."""
    label, place = rarer_class(train.y)
    truth = test.y == label
    found: dict[str, float] = {}
    if margins is not None and truth.any():
        lean = margins if place == 1 else -margins
        found["average_precision"] = float(average_precision_score(truth, lean))
    try:
        chance = np.asarray(model.predict_proba(test.X), dtype=float)[:, place]
    except (AttributeError, NotImplementedError):
        return found, None
    found["brier"] = float(np.mean((chance - truth) ** 2))
    return found, chance


def _judge_survival(
    model: Any, train: Problem, test: Problem
) -> tuple[dict[str, float], list[float], dict[str, Any]]:
    risk = np.asarray(model.predict(test.X), dtype=float)
    harrell = concordance(test.y["event"], test.y["time"], risk)
    uno = concordance_ipcw(train.y, test.y, risk)
    return {"concordance": harrell, "concordance_ipcw": uno}, risk.tolist(), {}


def _judge_ranking(
    model: Any, train: Problem, test: Problem
) -> tuple[dict[str, float], list[float], dict[str, Any]]:
    right, gain, games, chances = [], [], [], []
    for number, game in enumerate(test.X):
        for one, other, result in pairs_of_games([game]):
            chance = float(np.clip(model.predict_win([one, other])[0], 1e-12, 1 - 1e-12))
            open_end = chance == 0.5 or result == 0.5
            right.append(0.5 if open_end else float((chance > 0.5) == (result > 0.5)))
            gain.append(result * np.log(chance) + (1 - result) * np.log(1 - chance))
            games.append(number)
            chances.append(chance)
    by_score = {"pair_accuracy": np.array(right), "neg_log_loss": np.array(gain)}
    # A game of several places has several pairs, which are not independent: a value a game.
    by_game = {
        name: np.bincount(games, found, len(test.X)) * len(test.X) / len(found)
        for name, found in by_score.items()
    }
    return {name: float(found.mean()) for name, found in by_score.items()}, chances, by_game


def silhouette_with_noise(points: Any, labels: Any) -> float:
    """Return the mean silhouette, in which a row without a cluster (-1) counts as 0.

    Noise is no cluster; were its rows left out, who calls most of them noise would win.

    Parameters
    ----------
    points : array-like of shape (n_samples, n_features)
        Rows.
    labels : ndarray of shape (n_samples,)
        Their clusters.

    Returns
    -------
    float
        0 where there are not two clusters.
    """
    clustered = np.flatnonzero(labels != -1)
    n_clusters = len(np.unique(labels[clustered]))
    if not 1 < n_clusters < len(clustered):
        return 0.0
    score = silhouette_score(points[clustered], labels[clustered])
    return float(score * len(clustered) / len(labels))


def _judge_clusters(
    model: Any, train: Problem, test: Problem
) -> tuple[dict[str, float], list[int], dict[str, Any]]:
    """Silhouette of the unseen rows in the learnt clusters, and whether they find the same ones."""
    labels = np.asarray(model.predict(test.X))
    points = model.encode(test.X)
    silhouette = silhouette_with_noise(points[:SILHOUETTE_ROWS], labels[:SILHOUETTE_ROWS])
    n_labels = len(np.unique(labels[:SILHOUETTE_ROWS]))
    again = model.clusters_of(test.X)
    stability = adjusted_rand_score(labels, again) if n_labels > 1 else 0.0
    return {"silhouette": float(silhouette), "stability": float(stability)}, labels.tolist(), {}
