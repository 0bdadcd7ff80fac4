"""Chances of classes and labels from winners that give none: calibrated on rows left out.

A classifier is fitted on parts of the rows, and a logistic curve of its margins on the rest (J.
Platt 1999, "Probabilistic Outputs for Support Vector Machines"). Of several labels each has a
curve.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import Pipeline

from octavo.compare.table.reading import InputError
from octavo.engine.estimators.arrays import Floats

if TYPE_CHECKING:
    from octavo.compare.table.problems import Problem

PARTS = 5


def check_chances(problem: Problem) -> None:
    """Refuse chances of what has none, before any work is done."""
    if problem.task not in ("classification", "multilabel"):
        raise InputError(f"Probabilities are of classes; this is a {problem.task}.")


def label_chances(model: Any, X: Any) -> Floats:
    """Return the chance of each label from a model of several.

    Parameters
    ----------
    model : classifier
        With ``predict_proba``, which gives a column a label, or a table of two classes a label.
    X : array-like
        Rows.

    Returns
    -------
    chances : ndarray of shape (n_rows, n_labels)
        That a row has a label.
    """
    found = model.predict_proba(X)
    if not isinstance(found, list):
        return np.asarray(found, dtype=float)
    classes = [np.asarray(known).tolist() for known in model.classes_]
    columns = [
        chances[:, known.index(1)] if 1 in known else np.zeros(len(chances))
        for chances, known in zip(found, classes)
    ]
    return np.column_stack(columns)


class LabelChances(ClassifierMixin, BaseEstimator):
    """A fitted model of several labels, with a logistic curve of each label's margin.

    Parameters
    ----------
    model : classifier
        Fitted; its margins count, or its answers where it has none.
    slopes, offsets : ndarray of shape (n_labels,)
        Of the curves.
    """

    def __init__(self, model: Any, slopes: Floats, offsets: Floats) -> None:
        self.model, self.slopes, self.offsets = model, slopes, offsets

    def predict(self, X: Any) -> Any:
        """Return the model's labels."""
        return self.model.predict(X)

    def predict_proba(self, X: Any) -> Floats:
        """Return the chance of each label."""
        return 1 / (1 + np.exp(-(self.slopes * label_margins(self.model, X) + self.offsets)))


def label_margins(model: Any, X: Any) -> Floats:
    """Return a column of margins a label; of a model without margins, its answers."""
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(X), dtype=float)
    last = model[-1] if isinstance(model, Pipeline) else model
    if isinstance(last, MultiOutputClassifier) and all(
        hasattr(one, "decision_function") for one in last.estimators_
    ):  # it hides the margins of its classifiers
        inside = X if last is model else model[:-1].transform(X)
        return np.column_stack([one.decision_function(inside) for one in last.estimators_])
    return np.asarray(model.predict(X), dtype=float)


def calibrated_labels(problem: Problem, model: Any) -> LabelChances:
    """Return a model of several labels with chances.

    Parameters
    ----------
    problem : Problem
        What it is fitted on.
    model : classifier
        Fitted on all rows.

    Returns
    -------
    model : LabelChances
        The same model, with curves from what parts of the rows say of the others.
    """
    from sklearn.linear_model import LogisticRegression

    from octavo.compare.running.folds import splits

    margins, truth = [], []
    for train, test in splits(problem, PARTS, 0):
        part, rest = problem.take(train), problem.take(test)
        margins.append(label_margins(clone(model).fit(part.X, part.y), rest.X))
        truth.append(np.asarray(rest.y))
    margin, label = np.concatenate(margins), np.concatenate(truth)
    slopes, offsets = np.zeros(label.shape[1]), np.zeros(label.shape[1])
    for k, answer in enumerate(label.T):
        scale = margin[:, k].std() or 1.0
        if len(np.unique(answer)) < 2:  # in the later rows alone: the share, as Laplace counts
            share = (answer.sum() + 1) / (len(answer) + 2)
            offsets[k] = np.log(share / (1 - share))
            continue
        curve = LogisticRegression().fit(margin[:, k : k + 1] / scale, answer)
        slopes[k], offsets[k] = curve.coef_[0, 0] / scale, curve.intercept_[0]
    return LabelChances(model, slopes, offsets)


def calibrated(problem: Problem, model: Any) -> Any:
    """Return a classifier with chances: fitted on five parts, calibrated on what each leaves out.

    Parameters
    ----------
    problem : Problem
        What it is fitted on; its groups stay together.
    model : estimator
        A classifier with margins, or of several labels.

    Returns
    -------
    model : CalibratedClassifierCV or LabelChances
        Fitted.
    """
    from sklearn.calibration import CalibratedClassifierCV

    from octavo.compare.running.folds import splits

    if problem.task == "multilabel":
        return calibrated_labels(problem, model)
    smallest = int(np.unique(problem.y, return_counts=True)[1].min())
    if smallest < 2 or not hasattr(model, "decision_function"):
        raise InputError(
            "Chances cannot be calibrated: "
            + (
                f"a class has {smallest} row."
                if smallest < 2
                else "the method gives neither chances nor margins."
            )
        )
    parts = splits(problem, min(PARTS, smallest), 0)
    chances = CalibratedClassifierCV(
        clone(model), method="sigmoid", cv=parts, ensemble=problem.ordered
    )
    return chances.fit(problem.X, problem.y)
