"""Contrastive training of any wiring on blocks of frames, with a watch on divergence."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from octavo.engine.contrastive.capture import ReplayedStep, is_cuda_tensor
from octavo.engine.contrastive.descent import Layout, Rates, layout_of, momentum_step
from octavo.engine.contrastive.divergence import contrastive_phases
from octavo.engine.contrastive.draws import Draws
from octavo.engine.estimators.arrays import Ints
from octavo.engine.kernels.namespaces import namespace_of, to_namespace
from octavo.sequence.conditional_rbm.wiring import Params, Wiring, differences

DAMPING = 0.9  # of the average activation that sparsity watches
GROWTH = 4.0  # a reconstruction error this many times the frames' own size is a divergence


class Block(NamedTuple):
    """Standardised frames (n, D), their styles (n, P) or None, and the rows to learn from."""

    frames: Any
    style: Any
    targets: Ints


class Schedule(NamedTuple):
    """Rates and options of contrastive training, as `CRBM` documents them."""

    learning_rate: float
    ar_learning_rate: float
    momentum: float
    weight_decay: float
    batch_size: int
    sparsity_target: float | None
    sparsity_cost: float
    history_noise: float
    sampled: bool
    bound: float


class Climb(NamedTuple):
    """What a step carries on: parameters, speed, activations, summed error, clipped steps."""

    vector: Any
    speed: Any
    activity: Any
    error: Any
    clipped: Any


class Trained(NamedTuple):
    """Parameters, their speed and activations, a record for each epoch, and where it diverged."""

    params: Params
    speed: Any
    activity: Any
    history: list[dict[str, Any]]
    diverged: dict[str, Any] | None


def past_of(frames: Any, rows: Any, span: int, xp: Any) -> Any:
    """Return the past of some rows, v(t-1) first, of shape (n, span · D)."""
    n, D = rows.shape[0], frames.shape[1]
    if span == 0:
        return xp.reshape(frames[:0, :], (0, 0)) if n == 0 else frames[:n, :0]
    lags = xp.arange(1, span + 1, dtype=rows.dtype, device=namespace_of(frames).device)
    index = xp.reshape(rows[:, None] - lags[None, :], (n * span,))
    return xp.reshape(xp.take(frames, index, axis=0), (n, span * D))


def make_rates(wiring: Wiring, layout: Layout, schedule: Schedule, like: Any) -> Rates:
    """Return the rates of every entry; biases do not decay (Section 3.5.2)."""
    # Section 3.5.2: the autoregressive weights learn a hundred times slower
    rate = {
        name: schedule.ar_learning_rate if name in wiring.slow else schedule.learning_rate
        for name in layout.names
    }
    decay = {
        name: 0.0 if name in wiring.biases else rate[name] * schedule.weight_decay
        for name in layout.names
    }
    return Rates(
        layout.spread(rate, like), layout.spread(decay, like), schedule.momentum, schedule.bound
    )


def make_step(
    wiring: Wiring, layout: Layout, rates: Rates, schedule: Schedule, block: Block, xp: Any
) -> Callable[..., Climb]:
    """Return a function of a `Climb`, rows, uniform and normal numbers that makes one step.

    Normal numbers are those of the past and those of reconstructions, where either are asked for.
    """
    span = wiring.shape.span
    sparse = schedule.sparsity_target is not None and schedule.sparsity_cost > 0

    def step(climb: Climb, rows: Any, uniforms: Any, *noise: Any) -> Climb:
        params = layout.unpack(climb.vector, xp)
        past = past_of(block.frames, rows, span, xp)
        if schedule.history_noise > 0:
            # Section 3.5.6: noise on the past, anew at each visit
            past = past + schedule.history_noise * noise[0]
        style = None if block.style is None else xp.take(block.style, rows, axis=0)
        field, cache = wiring.field(params, past, style, xp)
        shaken = noise[-1] if schedule.sampled else None
        phases = contrastive_phases(field, xp.take(block.frames, rows, axis=0), uniforms, shaken)
        activity, push = climb.activity, None
        if sparse:
            # q ← 0.9 q + 0.1 mean(p_h)
            activity = DAMPING * activity + (1 - DAMPING) * xp.mean(phases.p0, axis=0)
            # gradient of the cross-entropy between target and q
            push = -schedule.sparsity_cost * (activity - schedule.sparsity_target)
        d = differences(phases, push, xp)
        gradient = layout.pack(wiring.gradient(params, past, style, cache, d, xp), xp)
        vector, speed, clipped = momentum_step(climb.vector, climb.speed, gradient, rates, xp)
        error = climb.error + xp.sum(d.dv * d.dv)
        return Climb(vector, speed, activity, error, climb.clipped + clipped)

    return step


class Trainer:
    """Contrastive training that can be carried on, epoch by epoch."""

    def __init__(
        self, wiring: Wiring, params: Params, schedule: Schedule, draws: Draws, seed: int
    ) -> None:
        self.wiring, self.schedule, self.draws = wiring, schedule, draws
        self._rng = np.random.RandomState(seed)
        like = params["a"]
        self.xp, self._device, _ = namespace_of(like)
        self.layout = layout_of(params)
        self.rates = make_rates(wiring, self.layout, schedule, like)
        vector = self.layout.pack(params, self.xp)
        target = 0.0 if schedule.sparsity_target is None else schedule.sparsity_target
        zero = self.xp.zeros((), dtype=like.dtype, device=self._device)
        activity = self.xp.zeros_like(params["b"]) + target
        self.climb = Climb(vector, self.xp.zeros_like(vector), activity, zero, zero)
        self._replayed: dict[tuple[int, int], Any] = {}

    def resume(self, speed: Any, activity: Any) -> None:
        """Carry on with the speed and activations of an earlier call."""
        self.climb = self.climb._replace(speed=speed, activity=activity)

    def params(self) -> Params:
        """Return the present parameters."""
        return self.layout.unpack(self.climb.vector, self.xp)

    def epoch(self, blocks: Iterable[Block], cd_k: int) -> tuple[float, int]:
        """Make one pass; return the mean squared reconstruction error and the clipped steps."""
        zero = self.xp.zeros_like(self.climb.error)
        self.climb = self.climb._replace(error=zero, clipped=zero)
        seen = 0
        for block in blocks:
            seen += block.targets.size
            self._pass(block, cd_k)
        error = float(self.climb.error) / max(1, seen * self.wiring.shape.n_visible)
        return error, int(float(self.climb.clipped)) if math.isfinite(error) else 0

    def _pass(self, block: Block, cd_k: int) -> None:
        size, H = self.schedule.batch_size, self.wiring.shape.n_hidden
        order = to_namespace(self._rng.permutation(block.targets), block.frames)
        step = make_step(self.wiring, self.layout, self.rates, self.schedule, block, self.xp)
        width = self.wiring.shape.span * self.wiring.shape.n_visible
        for first in range(0, block.targets.size, size):
            rows = order[first : min(first + size, block.targets.size)]
            n = int(rows.shape[0])
            inputs: tuple[Any, ...] = (rows, self.draws.uniform((cd_k, n, H)))
            if self.schedule.history_noise > 0:
                inputs = (*inputs, self.draws.normal((n, width)))
            if self.schedule.sampled:
                inputs = (*inputs, self.draws.normal((cd_k, n, self.wiring.shape.n_visible)))
            self.climb = self._run(step, block, inputs, n == size)

    def _run(self, step: Any, block: Block, inputs: tuple[Any, ...], whole: bool) -> Climb:
        if not (whole and is_cuda_tensor(block.frames)):
            return step(self.climb, *inputs)
        key = (id(block.frames), inputs[1].shape[0])
        if key not in self._replayed:  # one recording for each block and number of Gibbs steps
            self._replayed = {key: ReplayedStep(step, self.climb, inputs)}
        return self._replayed[key](self.climb, *inputs)


def cd_steps(cd_k: Any, epoch: int) -> int:
    """Return the number of reconstructions of an epoch: a number, a list, or a function."""
    if callable(cd_k):
        k = cd_k(epoch)
    elif isinstance(cd_k, (list, tuple, np.ndarray)):
        if not len(cd_k):
            raise ValueError("cd_k must have at least one entry, got an empty list.")
        k = cd_k[min(epoch, len(cd_k) - 1)]
    else:
        k = cd_k
    if int(k) != k or k < 1:
        raise ValueError(f"cd_k must be a positive integer in every epoch, got {k!r}.")
    return int(k)


def train(
    trainer: Trainer,
    blocks: Callable[[], Iterator[Block]],
    n_epochs: int,
    cd_k: Any,
    *,
    first: int = 0,
    report: Callable[[], bool] = lambda: False,
) -> Trained:
    """Train for some epochs, and go back to the last good one where learning diverges.

    Parameters
    ----------
    trainer : Trainer
        Where training stands.
    blocks : callable
        Yields the blocks of an epoch.
    n_epochs : int
        How many passes.
    cd_k : int, list or callable
        Gibbs steps of an epoch.
    first : int, default=0
        Number of the first epoch.
    report : callable
        Called after each epoch; returns whether to stop.

    Returns
    -------
    trained : Trained
        Parameters and the record of the epochs.
    """
    history, diverged = [], None
    for epoch in range(first, first + n_epochs):
        k, good = cd_steps(cd_k, epoch), trainer.climb
        if isinstance(good.vector, np.ndarray) or not is_cuda_tensor(good.vector):
            kept = good
        else:
            kept = Climb(*[part.clone() for part in good])  # a replayed step writes in place
        error, clipped = trainer.epoch(blocks(), k)
        history.append(
            {"epoch": epoch, "cd_k": k, "reconstruction_error": error, "clipped": clipped}
        )
        if not error <= GROWTH * trainer.schedule.bound:  # NaN, too
            diverged = {"epoch": epoch, "reconstruction_error": error}
            trainer.climb = kept
            break
        if report():
            break
    return Trained(trainer.params(), trainer.climb.speed, trainer.climb.activity, history, diverged)
