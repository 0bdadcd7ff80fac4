"""Truncated stick-breaking weights: Beta sticks with a Gamma prior on their concentration.

β_l = v_l ∏_{j<l} (1 - v_j) for l < L, and the last atom takes what remains; v_l ~ Beta(1, α),
α ~ Ga(shape, rate).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import betaln, digamma, gammaln

from octavo.engine.estimators.arrays import Floats


class Sticks(NamedTuple):
    """Posterior Beta(one_l, two_l) of L - 1 sticks, and Ga(shape, rate) of the concentration."""

    one: Floats
    two: Floats
    shape: float
    rate: float

    def update(self, counts: Floats, prior: tuple[float, float]) -> Sticks:
        """Return the sticks given expected counts of L atoms, then the concentration given them."""
        later = np.cumsum(counts[::-1])[::-1]
        # Beta(1 + count_l, E α + Σ_{j>l} count_j)
        one, two = 1.0 + counts[:-1], self.shape / self.rate + later[1:]
        logs = digamma(two) - digamma(one + two)
        # Ga(e_0 + L - 1, f_0 - Σ E log(1 - v_l))
        return Sticks(one, two, prior[0] + one.size, prior[1] - float(logs.sum()))

    def expected_log_weights(self) -> Floats:
        """Return E log β_l of L atoms."""
        total = digamma(self.one + self.two)
        rest = np.concatenate([[0.0], np.cumsum(digamma(self.two) - total)])
        # Σ_{j<l} E log(1 - v_j) + E log v_l; the last atom has no stick
        return np.asarray(rest + np.append(digamma(self.one) - total, 0.0))

    def weights(self) -> Floats:
        """Return E β_l of L atoms; they sum to one."""
        share = self.one / (self.one + self.two)
        return np.asarray(np.append(share, 1.0) * np.concatenate([[1.0], np.cumprod(1.0 - share)]))

    def divergence(self, prior: tuple[float, float]) -> float:
        """Return KL(q(v) q(α) ‖ p(v | α) p(α))."""
        total = digamma(self.one + self.two)
        log_v, log_rest = digamma(self.one) - total, digamma(self.two) - total
        log_alpha = digamma(self.shape) - np.log(self.rate)  # E log α, since E log p(v | α) has it
        alpha = self.shape / self.rate
        sticks = (
            (self.one - 1.0) * log_v + (self.two - 1.0) * log_rest - betaln(self.one, self.two)
            - log_alpha - (alpha - 1.0) * log_rest
        )  # fmt: skip
        gamma = (
            prior[0] * np.log(self.rate / prior[1]) - gammaln(self.shape) + gammaln(prior[0])
            + (self.shape - prior[0]) * digamma(self.shape) + alpha * (prior[1] - self.rate)
        )  # fmt: skip
        return float(sticks.sum() + gamma)


def new_sticks(n_atoms: int, prior: tuple[float, float]) -> Sticks:
    """Return sticks that have seen nothing, with the concentration at one.

    Parameters
    ----------
    n_atoms : int
        L, at least 1.
    prior : tuple of float
        Shape and rate of the concentration.

    Returns
    -------
    sticks : Sticks
        Each Beta(1, 1).
    """
    ones = np.ones(n_atoms - 1)
    shape = prior[0] + n_atoms - 1.0
    return Sticks(ones, ones.copy(), shape, shape)
