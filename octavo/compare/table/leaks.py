"""Columns that give the target away.

Two kinds. A copy of the target under other names (one value of the column for each value of the
target, and the reverse) cannot be a feature and is left out. A single column that almost predicts
the target may be a leak or a gift: it stays, and the user is told to look.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from octavo.compare.table.cleaning import Step

if TYPE_CHECKING:
    import pandas as pd

SUSPECT = 0.99  # cross-validated score of one column alone
SAMPLE = 5000  # rows that are looked at


def find_leaks(
    X: pd.DataFrame,
    y: NDArray,
    task: str,
    *,
    keep: frozenset[str] = frozenset(),
    what: str = "the target",
    ordered: bool = False,
) -> tuple[list[str], list[Step]]:
    """Find the features that copy the target, and those that come too close to it.

    Parameters
    ----------
    X : DataFrame
        Clean features.
    y : ndarray
        Class indices, or numbers.
    task : {"classification", "regression"}
        What kind of target it is.
    keep : frozenset of str
        Columns that stay whatever is found.
    what : str
        What messages call the target.
    ordered : bool
        Whether methods learn from earlier rows alone: then a target that drifts is no suspicion.

    Returns
    -------
    copies : list of str
        Columns to leave out.
    steps : list of Step
        A sentence for each suspicion.
    """
    copies, steps = [], []
    for name in X.columns:
        column = X[name]
        if _is_copy(column, y, task):
            if name in keep:
                steps.append(Step(f"'{name}' tells {what} one to one; it stays, as asked.", True))
                continue
            copies.append(name)
            steps.append(
                Step(
                    f"'{name}' tells {what} one to one (a copy, or known only afterwards) and was "
                    f"left out. If it is known when you predict, bring it back: --keep '{name}'.",
                    True,
                )
            )
        elif (score := _alone(column, y, task)) > SUSPECT and name not in keep:
            if _grows(column):
                if ordered:
                    continue
                steps.append(
                    Step(
                        f"'{name}' alone predicts {what} almost perfectly (held-out score "
                        f"{score:.3f}), and the rows are sorted by it. If it is time, the target "
                        "drifts, and neighbours in time stand on both sides of the folds: predict "
                        f"later rows from earlier ones with --time-order '{name}'.",
                        True,
                        f"rows are sorted by '{name}', which alone predicts {what}",
                    )
                )
                continue
            steps.append(
                Step(
                    f"'{name}' alone predicts {what} almost perfectly (held-out score "
                    f"{score:.3f}): a leak? If it is known only afterwards, leave it out: "
                    f"--drop '{name}'.",
                    True,
                )
            )
        elif _missing_tells(column, y, task) and name not in keep:
            steps.append(
                Step(
                    f"'{name}' is filled in for some values of {what} and empty for the others, as "
                    f"something known only afterwards would be: leave it out with --drop '{name}', "
                    f"or keep it without this warning with --keep '{name}'.",
                    True,
                )
            )
    return copies, steps


def _grows(column: pd.Series) -> bool:
    """Whether a column of numbers grows from row to row, as time does."""
    if column.dtype == object or column.isna().any():
        return False
    return bool(column.is_monotonic_increasing) and column.nunique() > 0.5 * len(column)


def _is_copy(column: pd.Series, y: NDArray, task: str) -> bool:
    known = column.notna().to_numpy()
    if not known.all() or len(y) < 10:
        return False
    if task == "classification":
        codes, levels = column.factorize()
        n_classes = len(np.unique(y))
        return len(levels) == n_classes == len(np.unique(codes * n_classes + y))
    if column.dtype == object or column.nunique() < 10:
        return False
    values = column.to_numpy(dtype=float)
    order = np.argsort(values, kind="stable")
    steps = np.diff(np.asarray(y, dtype=float)[order])
    tied = np.diff(values[order]) == 0
    if (steps[tied] != 0).any() or len(np.unique(y)) != column.nunique():
        return False
    return bool((steps >= 0).all() or (steps <= 0).all())  # the same order: a monotone copy


def _alone(column: pd.Series, y: NDArray, task: str) -> float:
    """Return the cross-validated score of a small tree on one column."""
    from sklearn.model_selection import cross_val_score
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    if len(y) < 50:
        return 0.0
    rows = np.random.default_rng(0).permutation(len(y))[:SAMPLE]
    codes = column.factorize()[0] if column.dtype == object else column.to_numpy(dtype=float)
    x = np.asarray(codes, dtype=float)[rows, None]
    if task == "classification":
        target = y[rows]
        counts = np.unique(target, return_counts=True)[1]
        if counts.min() < 5:
            return 0.0
        tree = DecisionTreeClassifier(max_leaf_nodes=4 * len(counts), random_state=0)
        return float(cross_val_score(tree, x, target, cv=3, scoring="balanced_accuracy").mean())
    tree = DecisionTreeRegressor(min_samples_leaf=3, random_state=0)
    return float(cross_val_score(tree, x, np.asarray(y, float)[rows], cv=3, scoring="r2").mean())


def _missing_tells(column: pd.Series, y: NDArray, task: str) -> bool:
    if task != "classification" or len(y) < 50:
        return False
    empty = column.isna().to_numpy()
    if not 5 <= empty.sum() <= len(y) - 5:
        return False
    # Balanced accuracy of the best split of the classes by "is it empty?".
    rates = np.array([empty[y == label].mean() for label in np.unique(y)])
    return bool((np.minimum(rates, 1 - rates) < 0.02).all() and rates.max() - rates.min() > 0.9)
