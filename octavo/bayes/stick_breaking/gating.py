"""All gates of one data set: their updates, their widths, and what they say at each point."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import softmax

from octavo.bayes.stick_breaking.locations import KernelBank
from octavo.bayes.stick_breaking.weight_priors import Gate
from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.variational.logistic_bound import expected_log_sigmoid

IDLE = 1e-2  # rows' weight below which a gate is left as it is


class Gating(NamedTuple):
    """K - 1 gates, the widths they have, and E g, E g² at each point (n, K - 1)."""

    gates: tuple[Gate, ...]
    widths: Indices
    first: Floats
    second: Floats

    @property
    def bound(self) -> float:
        """The priors' part of the bound."""
        return sum(gate.bound for gate in self.gates)

    def log_sigmoids(self) -> tuple[Floats, Floats]:
        """Return bounds of E log σ(g) and E log σ(-g), (n, K - 1) each."""
        # Eq. (7): at this η its quadratic term is zero, which print adds before Eq. (10)
        return expected_log_sigmoid(self.first, self.second)


def moments(rows: Floats, coef: Floats, cov: Floats) -> tuple[Floats, Floats]:
    """Return E w'x and E (w'x)² of each row."""
    mean = rows @ coef
    # η² = xᵀ <w wᵀ> x, the η at which Eq. (7) is tightest
    return mean, np.einsum("ij,ij->i", rows @ cov, rows) + mean**2


class GateFitter:
    """Updates gates on kernels of one data set.

    Parameters
    ----------
    bank : KernelBank
        Rows of each width.
    prior : StudentT or SpikeSlab
        Of the weights.
    inference : {"map", "sample", "fixed"}
        How widths are chosen.
    rng : RandomState
        For widths that are sampled.
    """

    def __init__(self, bank: KernelBank, prior: Any, inference: str, rng: Any) -> None:
        self.bank, self.prior, self.inference, self.rng = bank, prior, inference, rng

    def start(self, n_gates: int) -> Gating:
        """Return gates that have seen nothing: η = 1 everywhere (the middle width)."""
        n, d = self.bank.n_points, self.bank.n_columns
        gate = Gate(np.zeros(d), np.zeros((d, d)), 0.0, self.prior.start(d))
        widths = np.full(n_gates, self.bank.psi.size // 2)
        return Gating((gate,) * n_gates, widths, np.zeros((n, n_gates)), np.ones((n, n_gates)))

    def step(self, old: Gating, yes: Floats, no: Floats, *, choose: bool) -> Gating:
        """Update each gate given the weights with which points say yes and no (n, K - 1).

        With ``choose`` each gate looks at all widths first, by a step of its own at each; by the
        rule of Section 4.2 where widths are sampled.
        """
        gates, widths = list(old.gates), old.widths.copy()
        first, second = old.first.copy(), old.second.copy()
        choose = choose and self.inference != "fixed" and self.bank.psi.size > 1
        for k, gate in enumerate(gates):
            weights = yes[:, k] + no[:, k]
            if gate.bound != 0.0 and weights.sum() < IDLE:
                if gate.coef.any():
                    gates[k] = self._idle(gate, widths[k], yes[:, k], no[:, k])
                    rows = self.bank.rows(widths[k])
                    first[:, k], second[:, k] = moments(rows, gates[k].coef, gates[k].cov)
                continue  # no point reaches it
            around = second[:, k]
            if choose and self.inference == "sample":
                widths[k] = self._sampled(gate, yes[:, k], no[:, k])
                rows = self.bank.rows(widths[k])
                around = np.maximum(moments(rows, gate.coef, gate.cov)[1], 0.0)
            if choose and self.inference == "map":
                widths[k], gate = self._best(gate, widths[k], yes[:, k], no[:, k], around)
            rows = self.bank.rows(widths[k])
            # η from before the step, as the bound needs to rise
            gates[k] = self.prior.step(rows, weights, yes[:, k], around, gate.hyper)
            first[:, k], second[:, k] = moments(rows, gates[k].coef, gates[k].cov)
        return Gating(tuple(gates), widths, first, second)

    def _score(self, gate: Gate, j: int, yes: Floats, no: Floats) -> float:
        """Return Eq. (8): the bound of the gate's log likelihood with width j."""
        log_yes, log_no = expected_log_sigmoid(*moments(self.bank.rows(j), gate.coef, gate.cov))
        # Eq. (8): yes holds <ξ_nk>, no holds Σ_{l>k} <ξ_nl>, and Eq. (9) gives log(1 - σ)
        return float(yes @ log_yes + no @ log_no)

    def _sampled(self, gate: Gate, yes: Floats, no: Floats) -> int:
        """Draw a width by its probability given q(w) (Section 4.2)."""
        scores = np.array([self._score(gate, j, yes, no) for j in range(self.bank.psi.size)])
        # Eq. (8), its prior uniform over the library
        return int(self.rng.choice(scores.size, p=softmax(scores)))

    def _idle(self, gate: Gate, j: int, yes: Floats, no: Floats) -> Gate:
        """Return the gate that has seen no point, where that is no worse."""
        none = np.zeros(0)
        rows = self.bank.rows(j)[:0]
        idle = self.prior.step(rows, none, none, none, gate.hyper)
        before, after = (self._score(g, j, yes, no) + g.bound for g in (gate, idle))
        return idle if after >= before else gate

    def _best(
        self, gate: Gate, now: int, yes: Floats, no: Floats, around: Floats
    ) -> tuple[int, Gate]:
        """Return the width whose gate, after a step from the same start, has the largest bound."""
        best = (-np.inf, now, gate)
        for j in range(self.bank.psi.size):
            rows = self.bank.rows(j)
            trial = self.prior.step(rows, yes + no, yes, around, gate.hyper)
            value = self._score(trial, j, yes, no) + trial.bound
            if value > best[0]:
                best = value, j, gate
        return best[1], best[2]
