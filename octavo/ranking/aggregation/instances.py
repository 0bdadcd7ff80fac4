"""What aggregators of several queries take: lists of instances, or one table with query numbers."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from octavo.engine.estimators.arrays import Floats
from octavo.ranking.aggregation.metrics import checked_relevance
from octavo.ranking.aggregation.preferences import PairwisePreferences, as_preferences


def is_several(X: Any) -> bool:
    """Return whether X is a list of instances, not one of them.

    Parameters
    ----------
    X : list of instances, PairwisePreferences or array-like
        What fit was given.

    Returns
    -------
    several : bool
        True for a list of preferences or of tables.
    """
    if isinstance(X, PairwisePreferences) or not isinstance(X, (list, tuple)):
        return getattr(X, "ndim", 0) == 3
    return len(X) > 0 and (isinstance(X[0], PairwisePreferences) or _depth(X[0]) == 2)


def _depth(entry: Any) -> int:
    if hasattr(entry, "ndim"):
        return int(entry.ndim)
    if isinstance(entry, (list, tuple)):
        return 1 + (_depth(entry[0]) if len(entry) else 0)
    return 2 if hasattr(entry, "to_numpy") else 0


def warn_of_silent_experts(instances: list[PairwisePreferences]) -> None:
    """Name the experts who prefer no item to another in any instance.

    Parameters
    ----------
    instances : list of PairwisePreferences
        Instances that share their experts.
    """
    silent = np.flatnonzero(sum(one.totals for one in instances) == 0.0)
    if 0 < silent.size < instances[0].n_experts:
        named = ", ".join(map(str, silent[:5])) + (", ..." if silent.size > 5 else "")
        warnings.warn(
            f"{'Expert' if silent.size == 1 else 'Experts'} {named} of {instances[0].n_experts} "
            "without a ranking of two items or more: they have no say, and what is learned of "
            "them means nothing.",
            UserWarning,
            stacklevel=4,
        )


def read_instances(
    X: Any, transform: str, *, same_experts: bool = True
) -> tuple[list[PairwisePreferences], bool]:
    """Return preferences of every instance, and whether there was a list of them.

    Parameters
    ----------
    X : list of instances, PairwisePreferences or array-like of shape (n_items, n_experts)
        Preferences or ranks.
    transform : str
        How ranks become strengths.
    same_experts : bool, default=True
        Whether all instances must have one and the same number of experts.

    Returns
    -------
    instances : list of PairwisePreferences
        An entry an instance.
    several : bool
        Whether X was a list.
    """
    if not is_several(X):
        return [as_preferences(X, transform)], False
    found = []
    for number, one in enumerate(X):
        try:
            found.append(as_preferences(one, transform))
        except (ValueError, TypeError) as error:
            raise type(error)(f"Instance {number}: {error}") from None
        if same_experts and found[-1].n_experts != found[0].n_experts:
            raise ValueError(
                f"Instance {number} has {found[-1].n_experts} experts, instance 0 has "
                f"{found[0].n_experts}; all instances share their experts."
            )
    return found, True


def split_queries(X: Any, y: Any, qid: Any) -> tuple[list[Any], list[Any]]:
    """Return a list of rank matrices and a list of grades, of a table or of lists.

    Parameters
    ----------
    X : list of instances, or array-like of shape (n_rows, n_experts)
        Instances; with `qid` one table of all.
    y : list of array-like, or array-like of shape (n_rows,), or None
        Grades in the same form; None where there are none.
    qid : array-like of shape (n_rows,) or None
        The query of each row.

    Returns
    -------
    instances, grades : list
        An entry a query, queries in the order in which they appear.
    """
    if qid is not None:
        table = np.asarray(X, dtype=np.float64)
        number = np.asarray(qid)
        if table.ndim != 2 or number.shape != (len(table),):
            raise ValueError(
                "With qid, X must be one table and qid hold a query for each of its rows; got "
                f"shapes {table.shape} and {number.shape}."
            )
        rows = query_rows(number)
        if y is None:
            return [table[r] for r in rows], []
        grades = checked_relevance(y, len(table), "y")
        return [table[r] for r in rows], [grades[r] for r in rows]
    if not is_several(X):
        X, y = [X], None if y is None else [y]
    if y is not None and (not hasattr(y, "__len__") or len(y) != len(X)):
        raise ValueError(
            f"y must hold the relevance of each of the {len(X)} queries; got {y!r:.60}."
        )
    return list(X), [] if y is None else list(y)


def query_rows(qid: Any) -> list[Any]:
    """Return the rows of each query, queries in the order in which they appear.

    Parameters
    ----------
    qid : ndarray of shape (n_rows,)
        The query of each row.

    Returns
    -------
    rows : list of ndarray
        An entry a query.
    """
    _, first, label = np.unique(qid, return_index=True, return_inverse=True)
    return [np.flatnonzero(label == q) for q in np.argsort(first)]


def read_labelled(
    X: Any, y: Any, qid: Any, transform: str, *, same_experts: bool = True
) -> tuple[list[PairwisePreferences], list[Floats]]:
    """Return the instances and grades to learn from; those with a single grade teach nothing.

    Parameters
    ----------
    X, y, qid : as in `split_queries`
        The training data.
    transform : str
        How ranks become strengths.
    same_experts : bool, default=True
        Whether all queries must have one and the same number of experts.

    Returns
    -------
    instances : list of PairwisePreferences
        Those whose items differ in relevance.
    grades : list of ndarray
        Their relevance.
    """
    tables, labels = split_queries(X, y, qid)
    if y is None:
        raise ValueError("y is missing; relevance of every query's items is needed.")
    instances, _ = read_instances(tables, transform, same_experts=same_experts)
    kept = []
    for n, (one, given) in enumerate(zip(instances, labels)):
        grades = checked_relevance(given, one.n_items, f"The relevance of query {n}")
        if grades.min() < grades.max():
            kept.append((one, grades))
    if not kept:
        raise ValueError(
            f"None of the {len(instances)} queries has items of different relevance; there is "
            "nothing to learn from."
        )
    if not any((one.totals > 0).any() for one, _ in kept):
        raise ValueError("No expert has ranked two items of one query; there is no preference.")
    if same_experts:
        warn_of_silent_experts(instances)
    return [one for one, _ in kept], [grades for _, grades in kept]


def predict_queries(X: Any, qid: Any, transform: str, score: Any, n_experts: int | None) -> Any:
    """Return scores of one query, of a list, or of the rows of a table with query numbers.

    Parameters
    ----------
    X, qid
        As `predict` takes them.
    transform : str
        How ranks become strengths.
    score : callable
        Maps preferences to scores.
    n_experts : int or None
        How many the model knows; None where any number will do.

    Returns
    -------
    scores : ndarray or list of ndarray
        In the form of X.
    """
    tables, _ = split_queries(X, None, qid)
    instances, _ = read_instances(tables, transform, same_experts=n_experts is not None)
    if n_experts is not None and instances[0].n_experts != n_experts:
        raise ValueError(
            f"The model knows {n_experts} experts; the query has {instances[0].n_experts}."
        )
    scores = [score(one) for one in instances]
    if qid is not None:
        flat = np.empty(len(np.asarray(qid)))
        for rows, own in zip(query_rows(np.asarray(qid)), scores):
            flat[rows] = own
        return flat
    return scores if is_several(X) else scores[0]


def rank_queries(predict: Any, X: Any, qid: Any) -> Any:
    """Return orders, best first, in the form in which scores come.

    Parameters
    ----------
    predict : callable
        Of the model.
    X, qid
        As `predict` takes them.

    Returns
    -------
    order : ndarray or list of ndarray
        A list for several queries.
    """
    scores = predict(X, qid)
    if qid is not None:
        scores = [scores[rows] for rows in query_rows(np.asarray(qid))]
    if isinstance(scores, list):
        return [np.argsort(-s, kind="stable") for s in scores]
    return np.argsort(-scores, kind="stable")
