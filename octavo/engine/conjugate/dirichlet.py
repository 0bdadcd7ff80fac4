"""Probabilities of symbols with a Dirichlet prior: several posteriors at once.

Rows are counts of symbols, dense or sparse; a row that names one symbol is one count of 1. The
multinomial coefficient of a row is left out: it depends on no parameter.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import digamma, gammaln

from octavo.engine.estimators.arrays import Floats


def _product(A: Any, B: Floats) -> Floats:
    return np.asarray(A @ B)


class Dirichlet(NamedTuple):
    """Parameters (K, symbols), positive."""

    concentration: Floats

    def update(self, counts: Any, weights: Floats) -> Dirichlet:
        """Return the posteriors given rows of counts weighted by each column of weights (n, K)."""
        return Dirichlet(self.concentration + _product(counts.T, weights).T)  # α + Σ counts

    def expected_log_density(self, counts: Any) -> Floats:
        """Return E log p(row | θ_k) of shape (n, K)."""
        total = self.concentration.sum(axis=1, keepdims=True)
        logs = digamma(self.concentration) - digamma(total)  # E log θ = ψ(α) - ψ(Σ α)
        return _product(counts, logs.T)

    def predictive_log_density(self, counts: Any) -> Floats:
        """Return log p(row) of shape (n, K): Dirichlet-multinomial, without the coefficient."""
        table = sp.csr_array(counts)
        n = np.asarray(table.sum(axis=1)).ravel()
        out = np.empty((table.shape[0], len(self.concentration)))
        for k, alpha in enumerate(self.concentration):
            entries = alpha[table.indices]
            rises = gammaln(entries + table.data) - gammaln(entries)
            sums = np.concatenate([[0.0], np.cumsum(rises)])
            total = alpha.sum()
            # Γ(A) / Γ(A + n) Π Γ(α + c) / Γ(α)
            out[:, k] = np.diff(sums[table.indptr]) + gammaln(total) - gammaln(total + n)
        return out

    def divergence(self, prior: Dirichlet) -> Floats:
        """Return KL(posterior_k ‖ prior) for each component."""
        a, a0 = self.concentration, prior.concentration
        total, total0 = a.sum(axis=1), a0.sum(axis=1)
        logs = digamma(a) - digamma(total)[:, None]
        return np.asarray(
            gammaln(total) - gammaln(total0)
            + (gammaln(a0) - gammaln(a) + (a - a0) * logs).sum(axis=1)
        )  # fmt: skip

    def mean(self) -> Floats:
        """Return expected probabilities (K, symbols); rows sum to one."""
        return np.asarray(self.concentration / self.concentration.sum(axis=1, keepdims=True))
