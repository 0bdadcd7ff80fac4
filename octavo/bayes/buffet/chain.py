"""The state of the collapsed buffet sampler: features of rows, patterns, weights."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from octavo.bayes.buffet.prior import harmonic, log_prob_of_counts
from octavo.bayes.buffet.sweeps import sweep_rows
from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.mcmc.compiled_draws import draw_state
from octavo.engine.smooth.softmax_laplace import contrasts

MOST_FEATURES = 60  # bits of a code
MANY = 1000  # entries of a table from which expansions pay for their compilation


def codes_of(Z: Any) -> Ints:
    """Return each row of a binary matrix as the bits of a whole number."""
    Z = np.asarray(Z, dtype=np.int64)
    return (Z << np.arange(Z.shape[1], dtype=np.int64)).sum(axis=1).astype(np.int64)


def bits_of(codes: Ints, n_features: int) -> Any:
    """Return the binary matrix of codes."""
    return ((np.asarray(codes)[:, None] >> np.arange(n_features)) & 1).astype(np.int8)


class BuffetChain:
    """A table with features for every row, whose weights are integrated out by Laplace.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_columns)
        Levels from 0, with -1 where missing; numbers, with NaN where missing.
    levels : ndarray of shape (n_columns,)
        Number of levels; 0 for a column of numbers.
    Z : ndarray of shape (n_samples, n_start)
        Features at the start.
    rng : Generator
        Source of randomness.
    alpha, sigma2_b, sigma2_x : float
        Mass of the buffet, prior variance of weights, variance of numbers around their mean.
    max_features, max_new : int
        Most features, and most new ones of a row.
    pinned : ndarray of bool of shape (n_samples,), optional
        Rows whose features stay as they are.
    sample_alpha : bool, default=False
        Whether α is drawn too, from Ga(1 + K, 1 + H_N).
    quick : bool, optional
        Whether small changes of columns of levels are found by expansion in place of Newton; by
        default from 1,000 entries of X on, as what is not used is not compiled.
    """

    def __init__(
        self,
        X: Floats,
        levels: Ints,
        Z: Any,
        rng: np.random.Generator,
        *,
        alpha: float = 1.0,
        sigma2_b: float = 1.0,
        sigma2_x: float = 1.0,
        max_features: int = 25,
        max_new: int = 4,
        pinned: Any = None,
        sample_alpha: bool = False,
        quick: bool | None = None,
    ) -> None:
        self.X, self.levels, self.rng = np.ascontiguousarray(X), levels, rng
        self.alpha, self.sample_alpha = float(alpha), sample_alpha
        self.quick = True if (X.size >= MANY if quick is None else quick) else None
        self.prec, self.noise, self.max_new = 1.0 / sigma2_b, float(sigma2_x), int(max_new)
        n, D = X.shape
        Z = np.asarray(Z)[:, np.asarray(Z).any(axis=0)]
        self.cap, R = max(max_features, Z.shape[1]), max(int(levels.max()), 3)
        self.U, self.state = contrasts(R), draw_state(rng)
        free = np.ones(n, dtype=bool) if pinned is None else ~pinned
        self.order = np.flatnonzero(free)
        width, many = self.cap + 2, max(self.max_new, Z.shape[1]) + 2
        self.B = np.zeros((D, width, R))
        self.many_B, self.many_ev = np.zeros((many, D, width, R)), np.zeros((many, D))
        self.ev, self.starts = np.zeros(D), np.zeros((D, R, 5, R))
        m = (R - 1) * width
        self.S, self.tilt = np.zeros((D, m, m)), np.zeros((D, m))
        self.stale = np.ones(D, dtype=bool)
        self.kinds = (  # what no column needs is not compiled
            True if (levels == 2).any() else None,
            True if (levels > 2).any() else None,
            self.noise if (levels == 0).any() else None,
        )
        self.work = (
            np.empty((width, R)),
            np.empty(m),
            np.empty((m, m)),
            np.empty(m),
            np.empty(R),
            np.empty(width, dtype=np.int64),
            np.empty((4, 2 * R, 2 * R)),
        )
        self.room = np.empty(many), np.empty(many), np.zeros(D)
        self.set_features(Z)

    def set_features(self, Z: Any) -> None:
        """Put the rows into a fresh table of patterns with features Z; the weights start at 0."""
        n, D = self.X.shape
        self.rows, K = codes_of(Z), Z.shape[1]
        self.m = np.zeros(self.cap + 2, dtype=np.int64)
        self.m[:K] = Z.sum(axis=0)
        size = n + 1
        if self.cap < 20:
            size = min(size, 2**self.cap + 1)
        self.codes, self.sizes = np.zeros((2, size), dtype=np.int64)
        self.P = np.zeros((size, self.cap + 2))
        self.counts = np.zeros((size, D, self.U.shape[0]))
        found, where, sizes = np.unique(self.rows, return_inverse=True, return_counts=True)
        G = found.size
        self.codes[:G], self.sizes[:G] = found, sizes
        self.P[:, 0], self.P[:G, 1 : K + 1] = 1.0, bits_of(found, K)
        for d, R in enumerate(self.levels):
            self.counts[:G, d] = self._counted(where.reshape(-1), G, self.X[:, d], R)
        self.shape = np.array([G, K], dtype=np.int64)
        self.B[:] = 0.0
        self.refresh()

    def _counted(self, where: Ints, G: int, x: Floats, R: int) -> Floats:
        """Return a column's counts: patterns x levels, or numbers, their sums and squares."""
        counts = np.zeros((G, self.U.shape[0]))
        if R:
            here = x >= 0
            np.add.at(counts, (where[here], x[here].astype(np.int64)), 1.0)
        else:
            here = ~np.isnan(x)
            for power in range(3):
                counts[:, power] = np.bincount(where[here], x[here] ** power, minlength=G)
        return counts

    def refresh(self) -> None:
        """Compute the evidences and weights of all columns anew."""
        self._sweep(self.order[:0])

    def _sweep(self, order: Ints) -> None:
        sweep_rows(
            order, self.X, self.rows, self.codes, self.sizes, self.P, self.counts, self.shape,
            self.m, self.levels, *self.kinds, self.U, self.prec, self.alpha, self.max_new, self.B,
            self.ev, self.many_B, self.many_ev, self.starts, self.S, self.tilt, self.stale,
            self.state, self.work, self.quick, *self.room,
        )  # fmt: skip

    def sweep(self) -> None:
        """Draw the features of all rows that are not pinned, once each, and α where asked for."""
        self._sweep(self.order)
        if self.sample_alpha:
            n = len(self.X)
            # α | K_+ ~ Γ(1 + K_+, 1 + H_N), from a Γ(1, 1) prior
            self.alpha = self.rng.gamma(1.0 + self.n_features) / (1.0 + harmonic(n))

    @property
    def n_features(self) -> int:
        """Number of features that some row has."""
        return int(self.shape[1])

    @property
    def Z(self) -> Any:
        """The features of rows, as a binary matrix."""
        return bits_of(self.rows, self.n_features)

    @property
    def log_evidence(self) -> float:
        """The sum over columns of the Laplace log p(x | Z)."""
        return math.fsum(self.ev)  # Eq. (6), summed over columns

    @property
    def log_prior(self) -> float:
        """The log-probability of the class of Z."""
        counts = self.m[: self.n_features]
        return log_prob_of_counts(self.rows, counts, len(self.X), self.alpha)
