"""How a fit starts and ends: subsamples first, features from blocks of columns, canonical form."""

from __future__ import annotations

from typing import Any

import numpy as np

from octavo.bayes.buffet.chain import BuffetChain
from octavo.bayes.buffet.patterns import (
    fit_weights,
    listed,
    log_likelihoods,
    log_priors,
    pattern_laws,
)
from octavo.bayes.buffet.prior import left_ordered
from octavo.engine.estimators.arrays import Floats, Ints

SUBSAMPLE = 3500  # rows of the first stage (Section 5.2)
MANY_ROWS = 5000  # beyond which init="auto" takes two stages
BLOCK, BLOCK_ROWS, BLOCK_SWEEPS = 14, 1000, 40  # columns, rows and sweeps of a small run
FEWEST, FEWEST_SHARE = 50, 0.005  # rows below which a variational feature is left out


def flipped(Z: Any, pinned: Any = None, above: float = 0.8) -> Any:
    """Return Z with complements of features that more than a share of rows have (Section 5.3).

    Rows that are pinned to the null pattern have no feature by definition, and keep none.
    """
    free = np.ones(len(Z), dtype=bool) if pinned is None else ~pinned
    often = Z.mean(axis=0) > above
    return np.where(often[None, :] & free[:, None], 1 - Z, Z)


def canonical(Z: Any, pinned: Any = None, fewest: int = 1, above: float = 0.8) -> Any:
    """Return Z flipped, without features of too few rows, the most frequent first."""
    Z = flipped(np.asarray(Z), pinned, above)
    sums = Z.sum(axis=0)
    Z = left_ordered(Z[:, sums >= max(fewest, 1)])
    return np.ascontiguousarray(Z[:, np.argsort(-Z.sum(axis=0), kind="stable")]).astype(np.int8)


def posterior_of_rows(
    X: Floats, levels: Ints, seen: Any, shares: Floats, weights: Any, sigma2_x: float,
    covs: Any = None,
) -> tuple[Any, Floats, Floats]:  # fmt: skip
    """Return patterns, P(pattern | row) and log p(row), with features that stay as they are."""
    patterns = listed(seen.shape[1], seen)
    prior, at_once = log_priors(patterns, shares), max(1, 2**22 // max(len(patterns), 1))
    laws = pattern_laws(patterns, levels, weights, covs, sigma2_x)
    chances, logs = np.empty((len(X), len(patterns))), np.empty(len(X))
    for at in range(0, len(X), at_once):
        cut = slice(at, at + at_once)
        joint = log_likelihoods(laws, X[cut], levels) + prior
        top = joint.max(axis=1, keepdims=True)
        part = np.exp(joint - top)
        total = part.sum(axis=1, keepdims=True)
        # log Σ over patterns of p(x | z) p(z)
        chances[cut], logs[cut] = part / total, (top + np.log(total))[:, 0]
    return patterns, chances, logs


def spread_features(
    X: Floats, levels: Ints, Z: Any, weights: Any, sigma2_x: float, rng: np.random.Generator,
    pinned: Any,
) -> Any:  # fmt: skip
    """Return features of all rows, drawn given features that were learned on some (Section 5.2)."""
    shares = Z.sum(axis=0) / (len(Z) + 1.0)  # m_k / (N + 1): what the buffet gives the next row
    out = np.zeros((len(X), Z.shape[1]), dtype=np.int8)
    for at in range(0, len(X), 4096):
        cut = slice(at, at + 4096)
        patterns, chances, _ = posterior_of_rows(X[cut], levels, Z, shares, weights, sigma2_x)
        ends = np.cumsum(chances, axis=1)
        picks = (rng.random(len(ends))[:, None] * ends[:, -1:] > ends).sum(axis=1)
        out[cut] = patterns[np.minimum(picks, len(patterns) - 1)]
    out[pinned] = 0
    return out


def block_features(
    X: Floats, levels: Ints, rng: np.random.Generator, most: int, pinned: Any, **options: Any
) -> Any:
    """Return features of all rows from small Gibbs runs on blocks of columns (Section 5.3)."""
    n, D = X.shape
    n_blocks = max(1, -(-D // BLOCK))
    rows = rng.permutation(n)[:BLOCK_ROWS]
    found = []
    for columns in np.array_split(rng.permutation(D), n_blocks):
        part = np.ascontiguousarray(X[np.ix_(rows, columns)])
        start = rng.integers(0, 2, (len(rows), 1))
        start[pinned[rows]] = 0
        chain = BuffetChain(part, levels[columns], start, rng, pinned=pinned[rows], **options)
        for _ in range(BLOCK_SWEEPS):
            chain.sweep()
        Z = canonical(chain.Z, pinned[rows], max(2, len(rows) // 50))
        if Z.shape[1]:
            sigma2_b = 1.0 / chain.prec
            weights, _, _ = fit_weights(Z, part, levels[columns], sigma2_b, 1.0)
            found.append(
                spread_features(X[:, columns], levels[columns], Z, weights, 1.0, rng, pinned)
            )
    if not found:
        return np.zeros((n, 0), dtype=np.int8)
    Z = np.hstack(found)
    return Z[:, np.argsort(-Z.sum(axis=0), kind="stable")[:most]]
