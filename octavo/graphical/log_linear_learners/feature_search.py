"""Search over sets of features, one feature at a time: generalise (Algorithm 4), or add.

A feature's own terms in the pseudo-likelihood are the pairs of a row and a variable whose margin it
moves. With all other weights held, its best weight is a concave problem in one variable over these
pairs alone. Relearning the other weights can only raise the penalised pseudo-likelihood further,
so that a gain found this way is one that is really there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.engine.estimators.arrays import Floats, Ints
from octavo.graphical.log_linear.conjunctions import (
    Feature,
    Parts,
    as_parts,
    canonical,
    cell_offsets,
    margins_of,
)
from octavo.graphical.log_linear.pseudo_likelihood import WeightedRows

__all__: list[str] = []

NEWTON_STEPS = 50


class FeatureTerms(NamedTuple):
    """Pairs (row, variable) that a feature moves, their cells, and by what (-1, 0, 1) each."""

    rows: Ints
    cells: Ints
    exists: NDArray[np.bool_]
    signs: Floats


def feature_terms(rows: WeightedRows, feature: Feature) -> FeatureTerms:
    """Return the terms of a feature on a table."""
    cards, parts = rows.cardinalities, as_parts([feature], rows.cardinalities)
    offsets = cell_offsets(cards)
    held = parts.allowed[np.arange(parts.variable.size), rows.codes[:, parts.variable]]
    # only rows that violate no part, or one, have a margin that the feature moves
    violated = (~held).sum(axis=1)
    all_hold = np.flatnonzero(violated == 0)
    one_fails = np.flatnonzero(violated == 1)
    m = parts.variable.size
    at = np.concatenate([np.repeat(all_hold, m), one_fails])
    part = np.concatenate([np.tile(np.arange(m), all_hold.size), (~held[one_fails]).argmax(axis=1)])
    lost = np.concatenate([np.ones(all_hold.size * m, bool), np.zeros(one_fails.size, bool)])
    states = np.arange(parts.allowed.shape[1])
    k = parts.variable[part].astype(np.int64)
    exists = states < cards[k][:, None]
    allowed = parts.allowed[part]
    signs = np.where(lost[:, None], -1.0 * (~allowed & exists), 1.0 * allowed)
    cells = np.minimum(offsets[k][:, None] + states, offsets[-1] - 1)
    return FeatureTerms(at, cells, exists, signs)


def _log_mass(scores: Floats) -> Floats:
    top = scores.max(axis=1)
    return np.log(np.exp(scores - top[:, None]).sum(axis=1)) + top


def _margins_at(margins: Floats, terms: FeatureTerms) -> Floats:
    return np.where(terms.exists, margins[terms.rows[:, None], terms.cells], -np.inf)


def move_margins(margins: Floats, terms: FeatureTerms, weight: float) -> None:
    """Add a feature with a weight to margins, in place."""
    row, state = np.nonzero(terms.signs)
    margins[terms.rows[row], terms.cells[row, state]] += weight * terms.signs[row, state]


def change_of(margins: Floats, terms: FeatureTerms, counts: Ints, weight: float) -> float:
    """Return what adding a feature with a weight adds to the pseudo-log-likelihood."""
    now = _margins_at(margins, terms)
    lost = _log_mass(now + weight * terms.signs) - _log_mass(now)
    return -float(counts[terms.rows] @ lost)  # Eq. (2) before and after


def best_weight(
    margins: Floats, terms: FeatureTerms, counts: Ints, weight_sd: float
) -> tuple[float, float]:
    """Return the best weight of a feature with all others held, and what it gains.

    Newton's method on the pseudo-log-likelihood less w²/(2σ²), halving steps that do not gain.

    Parameters
    ----------
    margins : ndarray
        Without the feature.
    terms : FeatureTerms
        Of the feature.
    counts : ndarray
        How often each row is there.
    weight_sd : float
        σ.

    Returns
    -------
    weight, gain : float
        The gain includes the prior's part.
    """
    if not terms.rows.size:
        return 0.0, 0.0
    base = _margins_at(margins, terms)
    many = counts[terms.rows].astype(float)
    start = _log_mass(base)
    ridge = 1.0 / weight_sd**2

    def value(w: float) -> float:
        # concave in one weight
        return -float(many @ (_log_mass(base + w * terms.signs) - start)) - 0.5 * ridge * w * w

    weight, gain = 0.0, 0.0
    for _ in range(NEWTON_STEPS):
        scores = base + weight * terms.signs
        p = np.exp(scores - _log_mass(scores)[:, None])
        mean = (p * terms.signs).sum(axis=1)
        # E[±1] under the model; what is observed moves no margin of its own
        slope = -float(many @ mean) - ridge * weight
        curvature = float(many @ ((p * terms.signs**2).sum(axis=1) - mean**2)) + ridge
        step = slope / curvature
        while abs(step) > 1e-10 * (1.0 + abs(weight)) and value(weight + step) < gain:
            step *= 0.5
        if abs(step) <= 1e-8 * (1.0 + abs(weight)):
            break
        weight += step
        gain = value(weight)
    return weight, gain


# --- generalising: Algorithms 3 and 4 ------------------------------------------------------------


def pair_counts(rows: WeightedRows) -> Floats:
    """Return how often two cells (variable, value) are there together."""
    offsets = cell_offsets(rows.cardinalities)
    ones = np.zeros((len(rows.codes), int(offsets[-1])))
    np.put_along_axis(ones, (rows.codes + offsets[:-1]).astype(np.int64), 1.0, axis=1)
    return ones.T @ (ones * rows.weights[:, None])


def value_differences(parts: Parts, counts: Floats, cardinalities: Ints, power: int) -> Floats:
    """Return how far each value of each of a feature's variables is from what the feature allows.

    The generalised value difference metric: a sum over the feature's other variables c and their
    values h of abs(P(c=h | allowed) - P(c=h | value))**power.

    Parameters
    ----------
    parts : Parts
        Of one feature.
    counts : ndarray
        From `pair_counts`.
    cardinalities : ndarray of int
        States of each variable.
    power : int
        The paper's Q.

    Returns
    -------
    differences : ndarray of shape (n_parts, most states)
        The distance of a row is the sum over parts of the entry of the row's value.
    """
    offsets = cell_offsets(cardinalities)
    far = np.zeros(parts.allowed.shape)
    for p, k in enumerate(parts.variable):
        cells = np.arange(offsets[k], offsets[k + 1])
        allowed = parts.allowed[p, : cells.size]
        for c in parts.variable:
            if c == k:
                continue
            table = counts[cells, offsets[c] : offsets[c + 1]]
            of_value = table / np.maximum(table.sum(axis=1, keepdims=True), 1.0)
            pooled = table[allowed].sum(axis=0)  # P(c | f_i), f_i allowing several values
            of_feature = pooled / max(pooled.sum(), 1.0)
            # GVDM: Σ_h |P(c = h | f_i) - P(c = h | e)|^Q
            far[p, : cells.size] += (np.abs(of_value - of_feature) ** power).sum(axis=1)
    return far


def generalizations(
    rows: WeightedRows, feature: Feature, counts: Floats, n_neighbors: Iterable[int], power: int
) -> list[Feature]:
    """Return a feature without the tests that its nearest unmatched rows fail (Algorithm 4).

    Parameters
    ----------
    rows : WeightedRows
        The table.
    feature : Feature
        What is generalised.
    counts : ndarray
        From `pair_counts`.
    n_neighbors : iterable of int
        The paper's K.
    power : int
        Of the metric.

    Returns
    -------
    features : list of Feature
        Distinct and shorter; none where nothing is left.
    """
    cards, parts = rows.cardinalities, as_parts([feature], rows.cardinalities)
    values = rows.codes[:, parts.variable]
    held = parts.allowed[np.arange(parts.variable.size), values]
    unmatched = np.flatnonzero(~held.all(axis=1))
    far = value_differences(parts, counts, cards, power)
    distance = far[np.arange(parts.variable.size), values[unmatched]].sum(axis=1)
    nearest = unmatched[np.argsort(distance, kind="stable")]
    many = np.cumsum(rows.weights[nearest])
    found: dict[Feature, None] = {}
    for k in n_neighbors:  # U_k of Algorithm 4, repeated rows counted as often as they are
        near = nearest[: int(np.searchsorted(many, k)) + 1]
        # f' keeps the variables that no row of U_k violates
        kept = set(parts.variable[held[near].all(axis=0)].tolist())
        made = canonical([lit for lit in feature if lit[0] in kept], cards)
        if made and made != feature:
            found.setdefault(made)
    return list(found)


class SearchState(NamedTuple):
    """Features with their weights, and the margins of all rows under them."""

    weights: dict[Feature, float]
    margins: Floats


def search_state(rows: WeightedRows, features: list[Feature], weights: Floats) -> SearchState:
    """Return the state of a search at given weights."""
    parts = as_parts(features, rows.cardinalities)
    margins = margins_of(rows.codes, parts, weights, rows.cardinalities)
    return SearchState(dict(zip(features, weights.tolist())), margins)


def generalize_once(
    rows: WeightedRows,
    state: SearchState,
    feature: Feature,
    candidates: Iterable[Feature],
    weight_sd: float,
    cost: float,
) -> bool:
    """Replace a feature by its best candidate, or drop it, if the score rises; say whether it did.

    The score is the penalised pseudo-log-likelihood less `cost` a test.
    """
    weights, margins = state
    counts, old = rows.weights, weights[feature]
    terms = feature_terms(rows, feature)
    removal = change_of(margins, terms, counts, -old)
    # dropping f frees its prior and its price
    freed = removal + 0.5 * (old / weight_sd) ** 2 + cost * len(feature)
    move_margins(margins, terms, -old)
    best: tuple[float, Feature | None, float] = (freed, None, 0.0)
    for candidate in candidates:
        if candidate in weights:
            continue  # it is there already: the same as dropping this one
        # the candidate's score with all other weights held: a lower bound of its own
        weight, gain = best_weight(margins, feature_terms(rows, candidate), counts, weight_sd)
        total = freed + gain - cost * len(candidate)
        if total > best[0]:
            best = total, candidate, weight
    if best[0] <= 1e-9 * rows.n_samples:
        move_margins(margins, terms, old)
        return False
    del weights[feature]
    if best[1] is not None:
        weights[best[1]] = best[2]
        move_margins(margins, feature_terms(rows, best[1]), best[2])
    return True
