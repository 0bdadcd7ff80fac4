"""Columns of a table: their kinds, their codes, standard units, and the design of regressions."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.bayes.enriched_dp.state import CATEGORICAL, COUNT, NORMAL
from octavo.engine.estimators.arrays import Floats, Ints

KINDS = {"gaussian": NORMAL, "categorical": CATEGORICAL, "poisson": COUNT}


class Plan(NamedTuple):
    """How columns of the input become columns of the sampler, Gaussian ones first.

    Attributes
    ----------
    order : ndarray of shape (p,)
        Columns of the input that hold a value at all.
    kinds : ndarray of shape (p,)
        Their kinds, in that order.
    center, scale : ndarray of shape (p,)
        Standard units of numbers; 0 and 1 for categories.
    levels : ndarray of shape (p,)
        Number of categories, 0 for numbers.
    design_columns : ndarray of shape (p,)
        Where each begins in the design, in which a category but the first has an indicator.
    width : int
        Columns of the design, the constant included.
    """

    order: Ints
    kinds: Ints
    center: Floats
    scale: Floats
    levels: Ints
    design_columns: Ints
    width: int

    @property
    def n_gaussian(self) -> int:
        """Number of Gaussian columns, which come first."""
        return int((self.kinds == NORMAL).sum())


def frame_columns(X: Any) -> list[Any] | None:
    """Return the columns of a data frame, or None for anything else."""
    if hasattr(X, "columns") and hasattr(X, "dtypes") and hasattr(X, "iloc"):
        return [X.iloc[:, h] for h in range(X.shape[1])]
    return None


def is_categorical(column: Any) -> bool:
    """Tell whether a column of a data frame holds categories by its type."""
    name = str(column.dtype)
    return name in ("category", "object", "bool", "boolean", "string", "str")


def column_kinds(given: Any, X: Any, n_columns: int, names: Any = None) -> list[str]:
    """Return the kind of each column.

    Parameters
    ----------
    given : {"auto"}, str, list of str or dict
        One kind for all, one for each, or kinds by name or number ("auto" for others).
    X : array-like or data frame
        The input, asked for types of columns.
    n_columns : int
        Number of columns.
    names : ndarray, optional
        Names of the columns.

    Returns
    -------
    kinds : list of str
        "gaussian", "categorical" or "poisson".
    """
    frame = frame_columns(X)
    auto = [
        "categorical" if frame is not None and is_categorical(frame[h]) else "gaussian"
        for h in range(n_columns)
    ]
    if isinstance(given, str):
        kinds = auto if given == "auto" else [given] * n_columns
    elif isinstance(given, dict):
        kinds = list(auto)
        index = {} if names is None else {name: h for h, name in enumerate(names)}
        for key, kind in given.items():
            h = index.get(key, key)
            if (
                isinstance(h, bool)
                or not isinstance(h, (int, np.integer))
                or not 0 <= h < n_columns
            ):
                raise ValueError(f"column_kinds names a column that X does not have: {key!r}.")
            kinds[h] = kind
    else:
        kinds = list(given)
    if len(kinds) != n_columns:
        raise ValueError(
            f"column_kinds must hold a kind for each of the {n_columns} columns; got {len(kinds)}."
        )
    kinds = [auto[h] if kind == "auto" else kind for h, kind in enumerate(kinds)]
    for h, kind in enumerate(kinds):
        if kind not in KINDS:
            raise ValueError(
                f"column_kinds must be made of {sorted(KINDS)} or 'auto'; got {kind!r} for column "
                f"{h}."
            )
    return kinds


def is_missing(values: Any) -> NDArray[np.bool_]:
    """Return which entries of an object array are None or NaN."""
    return np.array([v is None or v != v or str(v) in ("<NA>", "NaT") for v in values], dtype=bool)


def encode_categories(column: Any, known: Any = None, place: int = 0) -> tuple[Floats, Any]:
    """Return codes, NaN where missing, and the sorted categories.

    Parameters
    ----------
    column : array-like
        Values.
    known : ndarray, optional
        Categories of fit; a value that is none of them is refused.
    place : int
        Number of the column, for the error.

    Returns
    -------
    codes : ndarray
        Positions among the categories.
    categories : ndarray
        All of them.
    """
    values = np.asarray(column, dtype=object)
    gone = is_missing(values)
    present = values[~gone]
    if known is None:
        try:
            known = np.unique(present)
        except TypeError:  # of mixed types
            known = np.array(sorted(set(present.tolist()), key=str), dtype=object)
    table = {value: code for code, value in enumerate(known.tolist())}
    codes = np.full(len(values), np.nan)
    for i in np.flatnonzero(~gone):
        code = table.get(values[i])
        if code is None:
            raise ValueError(
                f"Column {place} holds {values[i]!r}, which was not among its categories in fit: "
                f"{known.tolist()[:10]}. Use NaN for an unknown one."
            )
        codes[i] = code
    return codes, known


def make_plan(X: Floats, kinds: list[str]) -> Plan:
    """Return the plan for a table of numbers and codes; columns without any value are left out."""
    codes = np.array([KINDS[kind] for kind in kinds])
    used = np.flatnonzero(~np.isnan(X).all(axis=0))
    if used.size == 0:
        raise ValueError("Every column of X is missing throughout: there is nothing to learn from.")
    order = used[np.argsort(codes[used] != NORMAL, kind="stable")]
    p = order.size
    center, scale, levels = np.zeros(p), np.ones(p), np.zeros(p, dtype=np.int64)
    for place, h in enumerate(order):
        column = X[:, h][~np.isnan(X[:, h])]
        if codes[h] == CATEGORICAL:
            levels[place] = max(int(column.max()) + 1, 1)
            continue
        if codes[h] == COUNT and ((column < 0).any() or (column != np.floor(column)).any()):
            raise ValueError(
                f"Column {h} is of kind 'poisson' and must hold whole numbers that are not "
                "negative; it does not. Use 'gaussian'."
            )
        center[place], spread = column.mean(), column.std()
        if not np.isfinite(spread) or not np.isfinite(center[place]):
            raise ValueError(f"Column {h} of X is too large for 64 bits: divide it by its size.")
        tiny = 1e-12 * np.abs(column).max()
        scale[place] = spread if spread > tiny else 1.0
    widths = np.where(codes[order] == CATEGORICAL, np.maximum(levels - 1, 0), 1)
    starts = 1 + np.concatenate([[0], np.cumsum(widths)[:-1]])
    return Plan(
        order.astype(np.int64), codes[order].astype(np.int64), center, scale, levels,
        starts.astype(np.int64), int(1 + widths.sum()),
    )  # fmt: skip


def in_units(X: Floats, plan: Plan) -> Floats:
    """Return values as kernels take them: Gaussian columns in standard units, others as given."""
    values = np.ascontiguousarray(X[:, plan.order])
    normal = plan.kinds == NORMAL
    values[:, normal] = (values[:, normal] - plan.center[normal]) / plan.scale[normal]
    return values


def design_matrix(values: Floats, plan: Plan) -> Floats:
    """Return the design: a constant, numbers in standard units, indicators of categories."""
    design = np.zeros((len(values), plan.width))
    design[:, 0] = 1.0
    for place, kind in enumerate(plan.kinds):
        column, start = values[:, place], plan.design_columns[place]
        if kind == NORMAL:
            design[:, start] = column
        elif kind == COUNT:
            design[:, start] = (column - plan.center[place]) / plan.scale[place]
        else:
            for v in range(1, plan.levels[place]):
                design[:, start + v - 1] = column == v
    return design


def unit_map(plan: Plan) -> Floats:
    """Return A with β' = A β: coefficients for the design from those for (1, x)."""
    A = np.eye(plan.width)
    for place, kind in enumerate(plan.kinds):
        if kind != CATEGORICAL:
            start = plan.design_columns[place]
            A[0, start], A[start, start] = plan.center[place], plan.scale[place]
    return A


def design_order(plan: Plan) -> Ints:
    """Return for each column of (1, x), as the user has it, its place in the design."""
    places = [0]
    for place in np.argsort(plan.order, kind="stable"):
        n = max(int(plan.levels[place]) - 1, 0) if plan.kinds[place] == CATEGORICAL else 1
        places += [int(plan.design_columns[place]) + v for v in range(n)]
    return np.array(places)


def with_means(values: Floats, plan: Plan) -> tuple[Floats, Ints]:
    """Return values with gaps filled by a plain start, and where they are (row, column)."""
    gaps = np.argwhere(np.isnan(values)).astype(np.int64)
    filled = values.copy()
    for place, kind in enumerate(plan.kinds):
        hole = np.isnan(values[:, place])
        if not hole.any():
            continue
        seen = values[~hole, place]
        if kind == CATEGORICAL:
            filled[hole, place] = np.bincount(seen.astype(int)).argmax() if seen.size else 0
        elif kind == COUNT:
            filled[hole, place] = np.round(np.median(seen)) if seen.size else 0.0
        else:
            filled[hole, place] = seen.mean() if seen.size else 0.0
    return filled, gaps
