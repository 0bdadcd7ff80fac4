"""How a fitted model is judged on rows that it has not seen; larger is better throughout."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score, get_scorer, silhouette_score

from octavo.compare.hazards import concordance, concordance_ipcw
from octavo.compare.problems import Problem
from octavo.compare.rankers import pairs_of_games
from octavo.compare.reading import InputError

KEPT_PREDICTIONS = 2000  # of a fold, for the pictures
SILHOUETTE_ROWS = 2000
IMBALANCED = 0.8  # share of the largest class from which accuracy says little

EXTRAS = {
    "classification": ("accuracy", "balanced_accuracy", "f1_macro"),
    "regression": ("r2", "neg_root_mean_squared_error", "neg_mean_absolute_error"),
    "survival": ("concordance", "concordance_ipcw"),
    "ranking": ("pair_accuracy", "neg_log_loss"),
    "clustering": ("silhouette", "stability"),
}
OWN = {"concordance", "concordance_ipcw", "pair_accuracy", "silhouette", "stability"}
NAMES = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "f1_macro": "F1 (mean of classes)",
    "roc_auc": "area under the ROC curve",
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
    if test.task in ("classification", "regression"):
        return _judge_supervised(model, test, score, full)
    judges: Any = {
        "survival": _judge_survival,
        "ranking": _judge_ranking,
        "clustering": _judge_clusters,
    }
    values, predictions = judges[test.task](model, train, test)
    if not np.isfinite(values[score]):
        raise FloatingPointError(f"its {NAMES[score]} is {values[score]}")
    return Verdict(values[score], values, predictions[:KEPT_PREDICTIONS], [])


def _judge_supervised(model: Any, test: Problem, score: str, full: bool) -> Verdict:
    value = float(get_scorer(score)(model, test.X, test.y))
    if not np.isfinite(value):
        raise FloatingPointError(f"its {NAMES.get(score, score)} is {value}")
    if not full:
        return Verdict(value, {}, [], [])
    extras = {name: float(get_scorer(name)(model, test.X, test.y)) for name in EXTRAS[test.task]}
    kept = test.take(np.arange(min(test.n_rows, KEPT_PREDICTIONS)))
    predictions = np.asarray(model.predict(kept.X)).tolist()
    margins: list[float] = []
    if len(test.classes) == 2:
        for method in ("decision_function", "predict_proba"):
            try:
                found = np.asarray(getattr(model, method)(kept.X), dtype=float)
            except (AttributeError, NotImplementedError):
                continue
            margins = (found[:, -1] if found.ndim == 2 else found).tolist()
            break
    return Verdict(value, {score: value} | extras, predictions, margins)


def _judge_survival(
    model: Any, train: Problem, test: Problem
) -> tuple[dict[str, float], list[float]]:
    risk = np.asarray(model.predict(test.X), dtype=float)
    harrell = concordance(test.y["event"], test.y["time"], risk)
    uno = concordance_ipcw(train.y, test.y, risk)
    return {"concordance": harrell, "concordance_ipcw": uno}, risk.tolist()


def _judge_ranking(
    model: Any, train: Problem, test: Problem
) -> tuple[dict[str, float], list[float]]:
    right = loss = 0.0
    chances = []
    pairs = pairs_of_games(test.X)
    for one, other, result in pairs:
        chance = float(np.clip(model.predict_win([one, other])[0], 1e-12, 1 - 1e-12))
        right += (
            0.5
            if chance == 0.5
            else float((chance > 0.5) == (result > 0.5))
            if result != 0.5
            else 0.5
        )
        loss -= result * np.log(chance) + (1 - result) * np.log(1 - chance)
        chances.append(chance)
    return {"pair_accuracy": right / len(pairs), "neg_log_loss": -loss / len(pairs)}, chances


def _judge_clusters(
    model: Any, train: Problem, test: Problem
) -> tuple[dict[str, float], list[int]]:
    """Silhouette of the unseen rows in the learnt clusters, and whether they find the same ones."""
    labels = np.asarray(model.predict(test.X))
    points = model.encode(test.X)
    rows = np.arange(len(labels))[:SILHOUETTE_ROWS]
    n_labels = len(np.unique(labels[rows]))
    silhouette = silhouette_score(points[rows], labels[rows]) if 1 < n_labels < len(rows) else 0.0
    again = model.clusters_of(test.X)
    stability = adjusted_rand_score(labels, again) if n_labels > 1 else 0.0
    return {"silhouette": float(silhouette), "stability": float(stability)}, labels.tolist()
