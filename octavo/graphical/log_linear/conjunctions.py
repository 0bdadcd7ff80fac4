"""Conjunctions of tests on categories: the features of a log-linear network.

A feature is a tuple of literals (variable, "==" or "!=", value). What a feature says of one of its
variables is the set of values that it allows; a *part* is one variable of one feature with that
set. All counting is done on parts: a row violates a part or does not, and what a feature has to do
with a variable depends on whether its other parts hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats, Ints
from octavo.graphical.log_linear.state_codes import Codes

__all__: list[str] = []

Literal = tuple[int, str, int]
Feature = tuple[Literal, ...]


class Parts(NamedTuple):
    """Features as arrays: parts of each (indptr), the variable of a part, and what it allows."""

    indptr: Ints
    variable: NDArray[np.int32]
    allowed: NDArray[np.bool_]


def _checked_literal(literal: Any, cardinalities: Ints) -> Literal:
    try:
        variable, sign, value = literal
        variable, value = int(variable), int(value)
    except (TypeError, ValueError):
        raise ValueError(
            f'A literal is (variable, "==" or "!=", value); got {literal!r}.'
        ) from None
    if sign not in ("==", "!="):
        raise ValueError(f'A literal is (variable, "==" or "!=", value); got {literal!r}.')
    if not 0 <= variable < len(cardinalities):
        raise ValueError(f"{literal!r} tests a variable beyond the {len(cardinalities)} there are.")
    if not 0 <= value < cardinalities[variable]:
        raise ValueError(
            f"{literal!r} tests a value that variable {variable} with its "
            f"{cardinalities[variable]} states has not."
        )
    return variable, sign, value


def _allowed_sets(feature: Iterable[Any], cardinalities: Ints) -> dict[int, set[int]]:
    allowed: dict[int, set[int]] = {}
    for literal in feature:
        variable, sign, value = _checked_literal(literal, cardinalities)
        left = allowed.setdefault(variable, set(range(int(cardinalities[variable]))))
        left.intersection_update({value} if sign == "==" else left - {value})
    return allowed


def canonical(feature: Iterable[Any], cardinalities: Ints) -> Feature | None:
    """Return a feature in its one form, or None where no row can match it.

    Variables ascend; a single value that is left is "==", else the values that are not allowed are
    listed; tests that allow everything are dropped.

    Parameters
    ----------
    feature : iterable of literals
        A conjunction.
    cardinalities : ndarray of int
        States of each variable.

    Returns
    -------
    feature : tuple of literals or None
        Empty for a feature that is always true.
    """
    literals: list[Literal] = []
    for variable, values in sorted(_allowed_sets(feature, cardinalities).items()):
        if not values:
            return None
        if len(values) == 1:
            literals.append((variable, "==", next(iter(values))))
        else:
            gone = set(range(int(cardinalities[variable]))) - values
            literals += [(variable, "!=", value) for value in sorted(gone)]
    return tuple(literals)


def canonical_set(features: Iterable[Any], cardinalities: Ints) -> list[Feature]:
    """Return distinct features in canonical form, in order; the empty one is left out."""
    found: dict[Feature, None] = {}
    for feature in features:
        made = canonical(feature, cardinalities)
        if made:
            found.setdefault(made)
    return list(found)


def as_parts(features: Sequence[Feature], cardinalities: Ints) -> Parts:
    """Return canonical features as arrays."""
    sets = [_allowed_sets(feature, cardinalities) for feature in features]
    indptr = np.zeros(len(sets) + 1, np.int64)
    np.cumsum([len(s) for s in sets], out=indptr[1:])
    variable = np.array([v for s in sets for v in s], np.int32)
    allowed = np.zeros((variable.size, int(np.max(cardinalities, initial=1))), bool)
    flat = [values for s in sets for values in s.values()]
    for part, values in enumerate(flat):
        allowed[part, list(values)] = True
    return Parts(indptr, variable, allowed)


def cell_offsets(cardinalities: Ints) -> Ints:
    """Return where the cells (variable, value) of each variable begin, and how many there are."""
    return np.concatenate([[0], np.cumsum(cardinalities)]).astype(np.int64)


@njit(cache=True, nogil=True)
def _add_margins(codes, indptr, variable, allowed, weights, offsets, margins):
    """Add to margins[row, cell] what each feature gains when the cell's value is taken."""
    for i in range(codes.shape[0]):
        for f in range(indptr.size - 1):
            violated, at = 0, -1
            for part in range(indptr[f], indptr[f + 1]):
                if not allowed[part, codes[i, variable[part]]]:
                    violated += 1
                    at = part
                    if violated > 1:
                        break
            if violated == 0:
                for part in range(indptr[f], indptr[f + 1]):
                    k = variable[part]
                    for v in range(offsets[k + 1] - offsets[k]):
                        if not allowed[part, v]:
                            margins[i, offsets[k] + v] -= weights[f]
            elif violated == 1:
                k = variable[at]
                for v in range(offsets[k + 1] - offsets[k]):
                    if allowed[at, v]:
                        margins[i, offsets[k] + v] += weights[f]


def margins_of(codes: Codes, parts: Parts, weights: Floats, cardinalities: Ints) -> Floats:
    """Return log P(x_k = v | rest) - log P(x_k as it is | rest) of every cell (k, v) of each row.

    Parameters
    ----------
    codes : ndarray of shape (n_samples, n_variables)
        Complete rows.
    parts : Parts
        Features.
    weights : ndarray
        Of the features.
    cardinalities : ndarray of int
        States of each variable.

    Returns
    -------
    margins : ndarray of shape (n_samples, sum of cardinalities)
        Zero in the cells of the row itself.
    """
    offsets = cell_offsets(cardinalities)
    margins = np.zeros((len(codes), offsets[-1]))
    _add_margins(codes, *parts, weights, offsets, margins)
    return margins


def log_conditionals(margins: Floats, cardinalities: Ints) -> Floats:
    """Return log P(x_k | rest) of each row and variable from its margins."""
    starts = cell_offsets(cardinalities)[:-1]
    top = np.maximum.reduceat(margins, starts, axis=1)
    shifted = np.exp(margins - np.repeat(top, cardinalities, axis=1))
    return -(np.log(np.add.reduceat(shifted, starts, axis=1)) + top)


def matches(codes: Codes, parts: Parts) -> NDArray[np.bool_]:
    """Return which rows match which features, as a table of shape (n_samples, n_features)."""
    held = parts.allowed[np.arange(parts.variable.size), codes[:, parts.variable]]
    if not parts.variable.size:
        return np.ones((len(codes), len(parts.indptr) - 1), bool)
    return np.logical_and.reduceat(held, parts.indptr[:-1], axis=1)


def _warmup() -> None:
    """Compile the kernel."""
    cards = np.array([2, 2])
    parts = as_parts([((0, "==", 1), (1, "==", 1))], cards)
    margins_of(np.zeros((1, 2), np.int32), parts, np.ones(1), cards)
