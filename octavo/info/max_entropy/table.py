"""Sums over a long table of features, read a few times and copied only where it must be.

Everything is in scaled coordinates G = (F - b)/scale, |G| ≤ 1; where b is of the order of the
features' range and neither is extreme, F itself is read and b and the scale are applied to sums.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.doubles import check_squares, real_array

CHUNK = 2048  # rows that stay in the cache
STRIDE = 17  # of a long table, every such row is looked at for a first Hessian and for proofs
LONG = 50_000
FAR = 16.0  # moments farther out than this many ranges cost too many digits unless taken off first
EXTREME = 1e60  # features whose squares may leave the doubles unless scaled first


class Features(NamedTuple):
    """A finite table, a row a point, with the least and the largest of each column."""

    table: Floats
    low: Floats
    high: Floats


def with_range(table: Floats) -> Features:
    """Return a table with its columns' ranges; NaN goes through."""
    n, d = table.shape
    fold = 8 if table.flags.c_contiguous else 1  # short rows are slow: several are taken for one
    low, high = np.full(d, np.inf), np.full(d, -np.inf)
    for start in range(0, n, CHUNK):
        rows = table[start : start + CHUNK]
        if len(rows) % fold == 0:
            rows = rows.reshape(-1, fold * d)
        low = np.minimum(low, rows.min(axis=0).reshape(-1, d).min(axis=0))
        high = np.maximum(high, rows.max(axis=0).reshape(-1, d).max(axis=0))
    return Features(table, low, high)


def read_features(F: Any) -> Features:
    """Return the features as a finite table, one row per support point."""
    table = real_array(F, "F", finite=False)
    if table.ndim == 1:
        table = table[:, None]
    if table.ndim != 2 or 0 in table.shape:
        raise ValueError(
            "F must be a table with one row per support point and one column per constraint; got "
            f"shape {table.shape}."
        )
    found = with_range(table)
    ends = np.concatenate([found.low, found.high])
    real_array(ends, "F")
    check_squares(np.broadcast_to(ends, (len(table), ends.size)), "F")
    return found


class Moments(NamedTuple):
    """A problem: G = (table - offset)/unit where p0 is positive, log p0, and λ = μ/scale.

    ``some`` is every `STRIDE`th row of G where the table is long, and None else.
    """

    table: Floats
    offset: Floats
    unit: Floats
    some: Floats | None
    log_prior: Floats
    scale: Floats
    slack: float

    def penalty(self, mu: Floats) -> float:
        """Return ε‖λ‖ of scaled multipliers."""
        return self.slack * float(np.linalg.norm(mu / self.scale)) if self.slack else 0.0

    def scaled(self) -> Floats:
        """Return G as an array of its own."""
        return (self.table - self.offset) / self.unit

    def times(self, mu: Floats) -> Floats:
        """Return G μ."""
        return self.table @ (mu / self.unit) - self.offset @ (mu / self.unit)


def moments_of(features: Features, prior: Floats, b: Floats, slack: float) -> Moments:
    """Return the problem on the points that a prior allows."""
    inside = prior > 0.0
    if not inside.all():
        features, prior = with_range(features.table[inside]), prior[inside]
    scale = np.maximum(features.high - b, b - features.low)
    scale = np.where(scale > 0.0, scale, 1.0)
    table, offset, unit = features.table, b, scale
    is_plain = scale.min() > 1.0 / EXTREME and scale.max() < EXTREME
    if not is_plain or (np.abs(b) > FAR * scale).any():
        table, offset, unit = (table - b) / scale, np.zeros(b.size), np.ones(b.size)
    some = (table[::STRIDE] - offset) / unit if len(table) >= LONG else None
    return Moments(table, offset, unit, some, np.log(prior), scale, slack)


class Tilted(NamedTuple):
    """log Σ p0 e^(G μ), the probabilities p ∝ p0 e^(G μ), E_p[G] and, if asked for, cov_p[G]."""

    log_total: float
    prob: Floats
    mean: Floats
    spread: Floats | None


def tilted(problem: Moments, mu: Floats, *, with_spread: bool = False) -> Tilted:
    """Return a Gibbs distribution and its moments in one reading of the table."""
    table, log_prior, unit = problem.table, problem.log_prior, problem.unit
    if not mu.any() and not with_spread:
        prior = np.exp(log_prior)
        return Tilted(0.0, prior, (prior @ table - problem.offset) / unit, None)
    n, weights = len(table), mu / unit
    tilt, ahead = np.empty(n), np.empty(min(n, CHUNK))
    top, total, sums = -np.inf, 0.0, np.zeros(mu.size)
    squares, block = np.zeros((mu.size, mu.size)), np.empty((ahead.size, mu.size))
    for start in range(0, n, CHUNK):
        rows, part = table[start : start + CHUNK], tilt[start : start + CHUNK]
        np.dot(rows, weights, out=part)
        part += log_prior[start : start + CHUNK]
        high = float(part.max())
        if high > top:  # what was summed below another largest exponent
            shrunk = np.exp(top - high)
            top, total = high, total * shrunk
            sums *= shrunk
            squares *= shrunk
        share = np.subtract(part, top, out=ahead[: len(part)])
        np.exp(share, out=share)
        total += float(share.sum())
        sums += share @ rows
        if with_spread:
            squares += rows.T @ np.multiply(rows, share[:, None], out=block[: len(rows)])
    log_total = top + float(np.log(total))
    tilt -= log_total
    raw, spread = sums / total, None
    if with_spread:
        spread = (squares / total - np.outer(raw, raw)) / np.outer(unit, unit)
    mean = (raw - problem.offset) / unit
    return Tilted(log_total - float(problem.offset @ weights), np.exp(tilt, out=tilt), mean, spread)


def covariance(problem: Moments, prob: Floats) -> Floats:
    """Return the covariance of G's columns, by blocks of rows that stay in the cache."""
    table, d = problem.table, problem.unit.size
    squares, sums, block = np.zeros((d, d)), np.zeros(d), np.empty((min(CHUNK, len(table)), d))
    for start in range(0, len(table), CHUNK):
        rows, weight = table[start : start + CHUNK], prob[start : start + CHUNK]
        sums += weight @ rows
        squares += rows.T @ np.multiply(rows, weight[:, None], out=block[: len(rows)])
    return (squares - np.outer(sums, sums)) / np.outer(problem.unit, problem.unit)


def partial_covariance(some: Floats, prob: Floats) -> tuple[Floats, float]:
    """Return Σ p_i (G_i - m)(G_i - m)ᵀ over every `STRIDE`th row about their mean m, and Σ p_i.

    It is below the covariance of all rows: whatever it spans, and however widely, they do too.
    """
    weight = prob[::STRIDE]
    mass = max(float(weight.sum()), 1e-300)
    mean = weight @ some / mass
    return some.T @ (some * weight[:, None]) - mass * np.outer(mean, mean), mass
