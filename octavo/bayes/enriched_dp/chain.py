"""A chain of the nested sampler, and the draws that it keeps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from octavo.bayes.enriched_dp.allocation import fill_prior_densities
from octavo.bayes.enriched_dp.state import AUXILIARY, PROBIT, Base, Table, grown, new_mixture
from octavo.bayes.enriched_dp.sweeps import slice_regressions, sweep
from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.mcmc.chains import Schedule
from octavo.engine.mcmc.compiled_draws import draw_state

FIRST_ROOM = (16, 64)  # y- and x-clusters that a chain has room for at the start


class Draws(NamedTuple):
    """Kept draws, clusters of all draws in one list each.

    Attributes
    ----------
    k, kx : ndarray of shape (n_draws,)
        Numbers of y- and of x-clusters.
    alpha_theta : ndarray of shape (n_draws,)
        Concentration of y-clusters.
    beta, noise, alpha_psi, n_y : ndarray of shape (sum of k, ...)
        Of the y-clusters.
    owner, n_x, mu, prec, table : ndarray of shape (sum of kx, ...)
        Of the x-clusters; the owner is counted within its draw.
    x_labels : ndarray of shape (n_draws, n)
        x-cluster of each row.
    y_labels : ndarray of shape (n_draws, n)
        y-cluster of each row.
    tried : ndarray of shape (2, 3)
        Accepted and proposed moves of each kind.
    """

    k: Ints
    kx: Ints
    alpha_theta: Floats
    beta: Floats
    noise: Floats
    alpha_psi: Floats
    n_y: Ints
    owner: Ints
    n_x: Ints
    mu: Floats
    prec: Floats
    table: Floats
    x_labels: Ints
    y_labels: Ints
    tried: Floats


class NestedChain:
    """The state of a sampler; `step` is a sweep.

    Parameters
    ----------
    table : Table
        Rows; values at gaps are changed, so each chain has its own.
    base : Base
        The base measure.
    rng : Generator
        Source of all draws.
    """

    def __init__(self, table: Table, base: Base, rng: np.random.Generator) -> None:
        n, d = table.design.shape
        self.table, self.base, self.state = table, base, draw_state(rng)
        self._deep = bool(base.modes[3])
        entries = int(base.widths.sum())
        caps = (min(n, FIRST_ROOM[0]) + 2, min(n, FIRST_ROOM[1]) + 2)
        outputs = int(base.modes[1])
        self.mix = new_mixture(n, d, base.mu0.size, entries, outputs, caps, self._deep)
        self.mix.alpha_theta[0] = base.theta_prior[2]
        self.mix.alpha_psi[0] = base.psi_prior[2]
        self.mix.latent[:] = table.response
        self._logs = np.log(np.maximum(np.arange(n + 2.0), 1.0))
        self._L, self._u, self._work = np.zeros((d, d)), np.zeros(d), np.zeros(d)
        self._make_room()
        self.refresh()

    def refresh(self) -> None:
        """Draw all parameters given the clusters, after data or clusters have changed."""
        self.mix.beta[:, :] = self.base.beta0
        fill_prior_densities(0, self.table, self.base)
        modes = self.base.modes.copy()
        modes[3:] = 0  # by parameters, no moves
        self._sweep(len(self.table.response), self.base._replace(modes=modes))

    def _make_room(self) -> None:
        n_options = self.mix.n_x.size + self.mix.n_y.size + AUXILIARY
        self._weights, self._levels = np.empty(n_options), np.empty(self.mix.n_y.size)

    def _sweep(self, start: int, base: Base) -> int:
        return sweep(
            start, self.table, base, self.mix, self.state, self._logs, self._levels,
            self._weights, self._L, self._u, self._work,
        )  # fmt: skip

    def step(self) -> None:
        """Run one sweep, with more room for clusters where it is needed."""
        n = self.table.response.size
        reached = self._sweep(0, self.base)
        while reached < n:
            self.mix = grown(self.mix, self._deep)
            self._make_room()
            reached = self._sweep(reached, self.base)
        if self.base.modes[0] > PROBIT:
            slice_regressions(self.table, self.base, self.mix, self.state)


def run_chain(
    rng: np.random.Generator,
    table: Table,
    base: Base,
    schedule: Schedule,
    progress: Callable[[], Any] | None = None,
) -> Draws:
    """Run a chain and return its kept draws."""
    table = Table(*(part.copy() for part in table))
    chain = NestedChain(table, base, rng)
    kept: list[tuple[Any, ...]] = []
    for t in range(schedule.n_iter):
        chain.step()
        if t + 1 == schedule.burn_in:
            chain.mix.tried[:] = 0.0
        if schedule.keeps(t):
            kept.append(_copy(chain.mix))
        if progress is not None and progress():
            break
    if not kept:
        kept.append(_copy(chain.mix))  # stopped by a callback before the first kept draw
    return join_draws(kept, chain.mix.tried)


def _copy(mix: Any) -> tuple[Any, ...]:
    k, kx = int(mix.sizes[0]), int(mix.sizes[1])
    labels = mix.x_labels.astype(np.int32)
    return (
        k, kx, mix.alpha_theta[0], mix.beta[:k].copy(), mix.noise[:k].copy(),
        mix.alpha_psi[:k].copy(), mix.n_y[:k].copy(), mix.owner[:kx].copy(), mix.n_x[:kx].copy(),
        mix.mu[:kx].copy(), mix.prec[:kx].copy(), mix.table[:kx].copy(), labels,
        mix.owner[mix.x_labels].astype(np.int32),
    )  # fmt: skip


def join_draws(kept: list[tuple[Any, ...]], tried: Floats) -> Draws:
    """Return draws as arrays."""
    columns = list(zip(*kept, strict=True))
    numbers = [np.array(column) for column in columns[:3]]
    lists = [np.concatenate(column) for column in columns[3:12]]
    labels = [np.array(column) for column in columns[12:]]
    return Draws(*numbers, *lists, *labels, tried.copy())


def join_chains(parts: list[Draws]) -> Draws:
    """Return the draws of several chains, one chain after another."""
    if len(parts) == 1:
        return parts[0]
    joined = [np.concatenate(arrays) for arrays in list(zip(*parts, strict=True))[:-1]]
    return Draws(*joined, sum(part.tried for part in parts))
