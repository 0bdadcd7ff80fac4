"""A chain of the nested sampler, and the draws that it keeps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from octavo.bayes.enriched_dp.base_measure import log_prior_x, log_prior_y
from octavo.bayes.enriched_dp.splits import PAIRS
from octavo.bayes.enriched_dp.state import (
    ALPHA,
    AUXILIARY,
    HX,
    HY,
    LATENT,
    MU,
    NOISE,
    OFFSET,
    OWNER,
    PREC,
    PROBIT,
    RESPONSE,
    ROWS,
    SIZE,
    Base,
    Table,
    grown,
    new_mixture,
    new_pair,
)
from octavo.bayes.enriched_dp.sweeps import (
    ALLOCATE,
    KERNELS,
    LATENTS,
    MOVES,
    PARAMETERS,
    REGRESSIONS,
    SPLITS,
    fill_gaps,
    prepare_collapsed,
    run_part,
    slice_regressions,
)
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
        self.table, self.state = table, draw_state(rng)
        self.base = base._replace(scalars=base.scalars.copy())  # holds α_θ
        caps = (min(n, FIRST_ROOM[0]) + 2, min(n, FIRST_ROOM[1]) + 2)
        self.mix = new_mixture(n, d, base, caps)
        self._logs = np.log(np.maximum(np.arange(n + 2.0), 1.0))
        self._block = np.zeros((d + 2, d))
        self._holed = np.unique(table.gaps[:, 0])
        plain, conjugate = base.modes[2], base.modes[0] <= PROBIT
        self._moves = True if base.modes[4] and not plain else None
        self._pair: Any = new_pair(n, d, base) if plain and conjugate else (None,) * 8
        self._make_room()
        self.refresh()

    def _make_room(self) -> None:
        self._weights = np.empty((2, len(self.mix.xi) + len(self.mix.yi) + AUXILIARY))

    def _densities(self, which: Any) -> None:
        """Set offsets and prior densities of some rows."""
        rows, design = self.table.rows, self.table.design[which]
        rows[OFFSET, which] = design @ self.base.prior[-1]
        rows[HX, which] = log_prior_x(self.table.x[which], self.base)
        rows[HY, which] = log_prior_y(rows[RESPONSE, which], design, self.base)

    def refresh(self) -> None:
        """Draw all parameters given the clusters, after data or clusters have changed."""
        rows = self.table.rows
        rows[LATENT] = rows[RESPONSE]
        self._densities(slice(None))
        if self.base.modes[0] == PROBIT:
            self._run(LATENTS)
        self._run(PARAMETERS, KERNELS | (REGRESSIONS if self.base.modes[0] <= PROBIT else 0))

    def _run(self, part: int, number: int = 0) -> int:
        t, b, m = self.table, self.base, self.mix
        return run_part(
            part, number, t.x, t.design, t.rows, b.prior, b.scalars, b.gauss, b.others, b.modes,
            m.labels, m.sizes, m.xi, m.yi, m.xp, m.xt, m.beta, m.ys, m.deep, m.auxiliary,
            self.state, self._logs, self._weights, self._block, m.tried, self._moves, *self._pair,
        )  # fmt: skip

    def allocate(self) -> None:
        """Let every row choose its clusters, with more room for them where it is needed."""
        t, b, m = self.table, self.base, self.mix
        if m.deep is not None:
            prepare_collapsed(
                t.x, t.design, t.rows, b.prior, b.gauss, b.others, m.labels, m.sizes, m.xi, m.xp,
                m.xt, m.ys, m.deep,
            )  # fmt: skip
        reached, n = 0, len(t.x)
        while True:
            reached = self._run(ALLOCATE, reached)
            if reached == n:
                return
            self.mix = grown(self.mix, b)
            self._make_room()

    def split_and_merge(self) -> None:
        """Propose splits and merges of a plain mixture's clusters."""
        while min(len(self.mix.xi), len(self.mix.yi)) < self.mix.sizes[0] + PAIRS + 1:
            self.mix = grown(self.mix, self.base)
            self._make_room()
        self._run(SPLITS, PAIRS)

    def step(self) -> None:
        """Run one sweep (Appendix A)."""
        response, _, plain, collapsed, moves = self.base.modes
        conjugate = response <= PROBIT
        self.allocate()  # Appendix A, first step: Eq. (16) for every row
        t, b, m = self.table, self.base, self.mix
        if response == PROBIT and not collapsed:
            self._run(LATENTS)  # after the rows' choices, which integrate the latent numbers out
        if self._pair[0] is not None:
            self.split_and_merge()
            m = self.mix
        elif collapsed:
            self._run(PARAMETERS, REGRESSIONS)
        if self._moves:
            self._run(MOVES)  # Appendix A, second step: the Metropolis-Hastings moves
        which = KERNELS
        if conjugate and (moves or plain or not collapsed):
            which |= REGRESSIONS
        elif not conjugate:
            slice_regressions(
                t.design, t.rows, b.prior, b.modes, m.labels, m.sizes, m.xi, m.beta, self.state,
                self._block,
            )  # fmt: skip
        self._run(PARAMETERS, which)  # Appendix A, third step: parameters and concentrations
        if len(t.gaps):
            fill_gaps(
                t.gaps, t.x, t.design, t.rows, b.others, b.units, b.modes, m.labels, m.xi, m.xp,
                m.xt, m.beta, m.ys, m.auxiliary, self.state,
            )  # fmt: skip
            self._densities(self._holed)


def run_chain(
    rng: np.random.Generator,
    table: Table,
    base: Base,
    schedule: Schedule,
    progress: Callable[[], Any] | None = None,
) -> Draws:
    """Run a chain and return its kept draws."""
    own: Any = [part.copy() for part in table]  # missing entries are written into it
    chain = NestedChain(Table(*own), base, rng)
    kept: list[tuple[Any, ...]] = []
    for t in range(schedule.n_iter):
        chain.step()
        if t + 1 == schedule.burn_in:
            chain.mix.tried[:] = 0.0
        if schedule.keeps(t):
            kept.append(_copy(chain.mix, chain.base.scalars[7]))
        if progress is not None and progress():
            break
    if not kept:
        kept.append(
            _copy(chain.mix, chain.base.scalars[7])
        )  # stopped by a callback before the first kept draw
    return join_draws(kept, chain.mix.tried)


def _copy(mix: Any, alpha_theta: float) -> tuple[Any, ...]:
    k, kx = int(mix.sizes[0]), int(mix.sizes[1])
    return (
        k, kx, alpha_theta, mix.beta[:k].copy(), mix.ys[:k, NOISE].copy(),
        mix.ys[:k, ALPHA].copy(), mix.yi[:k, ROWS].copy(), mix.xi[:kx, OWNER].copy(),
        mix.xi[:kx, SIZE].copy(), mix.xp[:kx, MU].copy(), mix.xp[:kx, PREC].copy(),
        mix.xt[:kx, 0].copy(), mix.labels.astype(np.int32),
        mix.xi[mix.labels, OWNER].astype(np.int32),
    )  # fmt: skip


def join_draws(kept: list[tuple[Any, ...]], tried: Floats) -> Draws:
    """Return draws as arrays."""
    columns = list(zip(*kept, strict=True))
    parts: list[Any] = [np.array(column) for column in columns[:3]]
    parts += [np.concatenate(column) for column in columns[3:12]]
    parts += [np.array(column) for column in columns[12:]]
    return Draws._make([*parts, tried.copy()])


def join_chains(parts: list[Draws]) -> Draws:
    """Return the draws of several chains, one chain after another."""
    if len(parts) == 1:
        return parts[0]
    joined: list[Any] = [np.concatenate(arrays) for arrays in list(zip(*parts, strict=True))[:-1]]
    return Draws._make([*joined, np.sum([part.tried for part in parts], axis=0)])


def warm_chain() -> None:
    """Compile what chains call, on a handful of rows."""
    x = np.array([[0.0], [1.0], [2.0], [0.5]])
    design, y = np.column_stack([np.ones(4), x]), np.array([0.0, 1.0, 0.0, 1.0])
    for modes, others, gaps in (
        ((0, 1, 0, 0, 1), None, np.zeros((0, 2))),
        ((0, 1, 1, 0, 0), None, np.zeros((0, 2))),
        ((0, 1, 0, 1, 1), None, np.array([[0, 0]])),
        ((1, 1, 0, 0, 1), None, np.zeros((0, 2))),
        ((2, 1, 0, 0, 1), None, np.zeros((0, 2))),
    ):
        base = Base(
            np.vstack([np.eye(2), np.eye(2), np.zeros(2)]),
            np.array([2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]),
            np.array([[0.0], [1.0], [2.0], [1.0]]),
            others,
            np.array([[1.0, 0.0, 1.0]]),
            np.array(modes),
        )
        rows = np.zeros((5, 4))
        rows[RESPONSE] = y
        table = Table(x.copy(), design.copy(), rows, gaps.astype(np.int64))
        NestedChain(table, base, np.random.default_rng(0)).step()
