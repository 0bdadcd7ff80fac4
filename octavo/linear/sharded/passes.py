"""What a node does with its shard: the online pass, and the sweeps of the batch phase.

A sweep reads the shard once. The weights and what is accumulated for them lie side by side in
one array, so that a feature costs one cache line for both. The margins z = Xw of the iterate and
u = Xd of the search direction stay at the site; between sweeps a line search needs only them.

The functions that take a `Site` are called by a communicator, at every shard with the same
arguments. Each says which version of the margins it needs (the number of steps taken so far), so
that calling it again after a failure does no harm.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.compilation.prefetch import coming, fetch, fetch_ahead
from octavo.engine.distributed.map_reduce import MemoryLost, Site
from octavo.engine.distributed.shards import Block
from octavo.engine.estimators.arrays import Floats
from octavo.engine.smooth.invariant_step import loss_and_step
from octavo.engine.smooth.losses import LOG, loss_curvature, loss_slope, loss_value

_JIT: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}
_ONE, _TWO = np.uint64(1), np.uint64(2)
_GROUP = 16  # rows whose dot products are taken before their gradients are scattered


class LinearTask(NamedTuple):
    """The loss scale·ℓ(p, y) + tilt·(y - p) of a linear prediction, and how to read a shard.

    ``step_code`` and ``level`` name the loss of the online pass, ``code`` and ``h`` that of the
    batch phase, which may be a smoothed form of it. ``positive`` is the label that counts as
    +1, None where targets are numbers. ``bias`` is the value of the intercept's feature.
    """

    step_code: int
    level: float
    code: int
    h: float
    scale: float
    tilt: float
    n_features: int
    bias: float
    positive: Any

    def targets(self, block: Block) -> Floats:
        """Return the targets as numbers, or labels as -1 and +1."""
        if self.positive is None:
            return np.ascontiguousarray(block.y, dtype=float)
        return np.where(block.y == self.positive, 1.0, -1.0)


# --- kernels -------------------------------------------------------------------------------------


@njit(**_JIT)
def row_dot(values, indices, first, last, state, stride):
    total = 0.0
    for k in range(first, last):
        total += state[stride * indices[k]] * values[k]
    return total


@njit(**_JIT)
def _longest_row(indptr):
    longest = 0
    for i in range(indptr.shape[0] - 1):
        longest = max(longest, indptr[i + 1] - indptr[i])
    return longest


@njit(**{**_JIT, "fastmath": {"reassoc", "contract"}, "forceinline": True})
def _two_dots(x, one, other):
    """Return the products of a row with two vectors, in any order of its entries."""
    p, q = 0.0, 0.0
    for k in range(x.shape[0]):
        p += one[k] * x[k]
        q += other[k] * x[k]
    return p, q


@njit(**_JIT)
def _online(values, indices, indptr, y, weight, state, eta, code, level, bias):
    """Algorithm 1 over some rows; state holds (w_j, G_j) pairs. Returns the progressive loss."""
    intercept = state.shape[0] - 2
    longest = _longest_row(indptr)
    w, G, scaled = np.empty(longest), np.empty(longest), np.empty(longest)  # last x_j G_j^(-1/2)
    total = 0.0
    for i in range(indptr.shape[0] - 1):
        h = weight[i] if weight.shape[0] else 1.0
        first, last = indptr[i], indptr[i + 1]
        fetch_ahead(values, first, last)
        fetch_ahead(indices, first, last)
        ix, x, soon = indices[first:last], values[first:last], coming(indices, first, last)
        for k in range(x.shape[0]):
            fetch(state, 2 * np.int64(soon[k]))
            j = _TWO * np.uint64(ix[k])  # unsigned: no look for negative ones
            w[k] = state[j]
            G[k] = state[j + _ONE]
        for k in range(x.shape[0]):  # alone in its loop, which becomes vector instructions
            scaled[k] = x[k] / np.sqrt(G[k])  # G^(-1/2) x
        p, q = _two_dots(x, w, scaled)
        along = bias / np.sqrt(state[intercept + 1])
        p += bias * state[intercept]
        q += bias * along
        # σ = s ℓ' of Algorithm 1: never beyond the kink or the optimum of the row
        loss, slope, sigma = loss_and_step(code, level, p, y[i], q, h * eta)
        total += h * loss
        squared = h * slope * slope
        for k in range(x.shape[0]):  # w before G, as printed
            j = _TWO * np.uint64(ix[k])
            state[j] = w[k] - sigma * scaled[k]
            state[j + _ONE] = G[k] + squared * x[k] * x[k]
        if bias != 0.0:
            state[intercept] -= sigma * along
            state[intercept + 1] += squared * bias * bias
    return total


@njit(**_JIT)
def sweep_start(values, indices, indptr, y, weight, code, h, scale, tilt, bias, state, z):
    """Take margins, gradient and the Hessian's diagonal; state holds (w, g, diagonal, -)."""
    intercept = state.shape[0] // 4 - 1
    total = 0.0
    for i in range(indptr.shape[0] - 1):
        p = row_dot(values, indices, indptr[i], indptr[i + 1], state, 4)
        p += bias * state[4 * intercept]
        z[i] = p
        c = weight[i] if weight.shape[0] else 1.0
        total += c * (scale * loss_value(code, h, p, y[i]) + tilt * (y[i] - p))
        slope = c * (scale * loss_slope(code, h, p, y[i]) - tilt)
        bend = c * scale * loss_curvature(code, h, p, y[i])  # ℓ'' x² of the Jacobi preconditioner
        for k in range(indptr[i], indptr[i + 1]):
            j = 4 * indices[k]
            state[j + 1] += slope * values[k]
            state[j + 2] += bend * values[k] * values[k]
        state[4 * intercept + 1] += slope * bias
        state[4 * intercept + 2] += bend * bias * bias
    return total


@njit(**_JIT)
def _sweep_margins(values, indices, indptr, bias, w, z):
    for i in range(indptr.shape[0] - 1):
        z[i] = row_dot(values, indices, indptr[i], indptr[i + 1], w, 1) + bias * w[-1]


@njit(**_JIT)
def _sweep_probe(values, indices, indptr, y, weight, code, h, scale, tilt, bias, state, z, u, step):
    """Take u = Xd, and value, slope and gradient at z + step·u; state holds (d, g) pairs."""
    n, intercept = indptr.shape[0] - 1, state.shape[0] // 2 - 1
    total, along, constant = 0.0, 0.0, 0.0
    slopes = np.empty(_GROUP)
    for start in range(0, n, _GROUP):
        stop = min(start + _GROUP, n)
        for i in range(start, stop):
            u[i] = row_dot(values, indices, indptr[i], indptr[i + 1], state, 2)
            u[i] += bias * state[2 * intercept]
        for i in range(start, stop):
            p = z[i] + step * u[i]  # the sites' margins move along u, so that a step costs no pass
            c = weight[i] if weight.shape[0] else 1.0
            total += c * (scale * loss_value(code, h, p, y[i]) + tilt * (y[i] - p))
            slope = c * (scale * loss_slope(code, h, p, y[i]) - tilt)
            slopes[i - start] = slope
            along += slope * u[i]
            constant += slope
        for i in range(start, stop):
            slope = slopes[i - start]
            for k in range(indptr[i], indptr[i + 1]):
                state[2 * indices[k] + 1] += slope * values[k]
    state[2 * intercept + 1] += constant * bias
    return total, along


@njit(**_JIT)
def _sweep_gradient(
    values, indices, indptr, y, weight, code, h, scale, tilt, bias, z, u, step, gradient
):
    constant = 0.0
    for i in range(indptr.shape[0] - 1):
        c = weight[i] if weight.shape[0] else 1.0
        slope = c * (scale * loss_slope(code, h, z[i] + step * u[i], y[i]) - tilt)
        constant += slope
        for k in range(indptr[i], indptr[i + 1]):
            gradient[indices[k]] += slope * values[k]
    gradient[-1] += constant * bias


@njit(**_JIT)
def _line(y, weight, code, h, scale, tilt, z, u, step):
    """Return value and slope at z + step·u."""
    total, along = 0.0, 0.0
    for i in range(y.shape[0]):
        p = z[i] + step * u[i]
        c = weight[i] if weight.shape[0] else 1.0
        total += c * (scale * loss_value(code, h, p, y[i]) + tilt * (y[i] - p))
        along += c * (scale * loss_slope(code, h, p, y[i]) - tilt) * u[i]
    return total, along


@njit(**_JIT)
def _line_kink(y, weight, code, h, scale, tilt, exact, level, z):
    """Return the exact loss, and how far smooth slopes are from supporting it (Fenchel-Young)."""
    total, gap = 0.0, 0.0
    for i in range(y.shape[0]):
        c = weight[i] if weight.shape[0] else 1.0
        value = loss_value(exact, level, z[i], y[i])
        slope = scale * loss_slope(code, h, z[i], y[i]) - tilt
        # Both kinked losses are zero at their kink, where any such slope supports them.
        kink = y[i]
        total += c * value
        gap += c * (value - slope * (z[i] - kink))
    return total, gap


# --- phases --------------------------------------------------------------------------------------


class ShardFacts(NamedTuple):
    """What a shard says about itself: sizes, and the labels or the sums of its targets."""

    rank: int
    name: str
    n_rows: int
    n_features: int
    nnz: int
    weight: float
    labels: NDArray[Any]
    counts: NDArray[np.int64]
    total: float
    squares: float


def describe(site: Site, classify: bool) -> list[ShardFacts]:
    """Count rows, entries and labels; refuse targets and weights that make no sense."""
    n, nnz, weight, total, squares = 0, 0, 0.0, 0.0, 0.0
    labels: dict[Any, int] = {}
    for block in site.shard.blocks():
        n += block.y.size
        nnz += block.nnz
        weight += float(block.weight.sum()) if block.weight.size else float(block.y.size)
        if block.weight.size and not (np.isfinite(block.weight) & (block.weight >= 0)).all():
            raise ValueError("Sample weights must be finite and not negative.")
        if classify:
            for label, count in zip(*np.unique(block.y, return_counts=True)):
                labels[label] = labels.get(label, 0) + int(count)
        else:
            y = np.asarray(block.y, dtype=float)
            if not np.isfinite(y).all():
                raise ValueError("targets must be finite.")
            with np.errstate(over="ignore"):  # refused with the shard's name when it is reported
                total += float(y.sum())
                squares += float(y @ y)
        if len(labels) > 100:
            raise ValueError(f"Targets look continuous: more than {len(labels) - 1} labels.")
    keys = sorted(labels)
    counts = np.array([labels[key] for key in keys], dtype=np.int64)
    return [
        ShardFacts(
            site.rank, site.shard.name, n, site.shard.n_features, nnz, weight,
            np.array(keys), counts, total, squares,
        )
    ]  # fmt: skip


def online_pass(
    site: Site, task: LinearTask, eta: float, w: Floats | None, G: Floats | float
) -> tuple[Floats, Floats, Floats, float]:
    """Run Algorithm 1 over the shard; return G·w, G and G² (for Eq. 2), and the loss met.

    A shard without rows has no confidence in anything: its G counts as zero.
    """
    state = np.zeros(2 * (task.n_features + 1))
    state[1::2] = G
    if w is not None:
        state[::2] = w
    loss, seen = 0.0, 0
    for block in site.shard.blocks():
        values, indices, indptr, _, weight = block
        y = task.targets(block)
        loss += _online(
            values, indices, indptr, y, weight, state, eta, task.step_code, task.level, task.bias
        )
        seen += y.size
        site.work += block.nnz
    if not seen:
        state[:] = 0.0
    w, G = state[::2], state[1::2]
    return G * w, G.copy(), G * G, loss  # the sums of Eq. (2) and of Ḡ below it


def start_batch(site: Site, task: LinearTask, w: Floats) -> tuple[float, Floats, Floats]:
    """Return loss, gradient and the Hessian's diagonal at w, and keep the margins."""
    state = np.zeros(4 * w.size)
    state[::4] = w
    margins, loss = [], 0.0
    for block in site.shard.blocks():
        z = np.empty(block.y.size)
        loss += sweep_start(*read_shard(task, block), state, z)
        margins.append(z)
        site.work += block.nnz
    site.memory = {"z": _joined(margins), "version": 0}
    return loss, state[1::4].copy(), state[2::4].copy()


def probe(
    site: Site,
    task: LinearTask,
    version: int,
    taken: float,
    direction: Floats,
    step: float,
    gradient: bool,
) -> tuple[float, float, Floats]:
    """Finish the last step, then take u = Xd and value, slope and gradient at a new step."""
    z = _margins(site, version, taken)
    u = np.empty_like(z)
    state = np.zeros(2 * direction.size)
    state[::2] = direction
    loss, along, row = 0.0, 0.0, 0
    for block in site.shard.blocks():
        rows = slice(row, row + block.y.size)
        if gradient:
            value, slope = _sweep_probe(*read_shard(task, block), state, z[rows], u[rows], step)
        else:
            _sweep_margins(*block[:3], task.bias, direction, u[rows])
            value, slope = _line(*_targets(task, block), z[rows], u[rows], step)
        loss, along, row = loss + value, along + slope, rows.stop
        site.work += block.nnz
    site.memory["u"] = u
    return loss, along, state[1::2].copy() if gradient else np.empty(0)


def look(site: Site, task: LinearTask, version: int, step: float) -> tuple[float, float]:
    """Return value and slope at a step of the direction probed last; reads targets only."""
    z, u = _line_of(site, version)
    loss, along, row = 0.0, 0.0, 0
    for block in site.shard.blocks():
        rows = slice(row, row + block.y.size)
        value, slope = _line(*_targets(task, block), z[rows], u[rows], step)
        loss, along, row = loss + value, along + slope, rows.stop
    return loss, along


def gradient_at(site: Site, task: LinearTask, version: int, step: float) -> Floats:
    """Return the gradient at a step of the direction probed last."""
    z, u = _line_of(site, version)
    gradient, row = np.zeros(task.n_features + 1), 0
    for block in site.shard.blocks():
        rows = slice(row, row + block.y.size)
        _sweep_gradient(*read_shard(task, block), z[rows], u[rows], step, gradient)
        row = rows.stop
        site.work += block.nnz
    return gradient


def smallest_margin(site: Site, task: LinearTask, version: int, taken: float) -> float:
    """Return -min y·z: negative when the shard is classified without error."""
    z, worst, row = _margins(site, version, taken), -np.inf, 0
    for block in site.shard.blocks():
        rows = slice(row, row + block.y.size)
        worst = max(worst, float(np.max(-task.targets(block) * z[rows], initial=-np.inf)))
        row = rows.stop
    return max(worst, -1e300)


def kink_gap(site: Site, task: LinearTask, version: int, taken: float) -> tuple[float, float]:
    """Return the exact loss, and the part of the duality gap that smoothing leaves."""
    z, total, gap, row = _margins(site, version, taken), 0.0, 0.0, 0
    for block in site.shard.blocks():
        rows = slice(row, row + block.y.size)
        value, part = _line_kink(*_targets(task, block), task.step_code, task.level, z[rows])
        total, gap, row = total + value, gap + part, rows.stop
    return total, gap


def restore_margins(
    site: Site, task: LinearTask, version: int, w: Floats, direction: Floats | None
) -> None:
    """Rebuild what a lost site remembered, from the weights."""
    kept: dict[str, Any] = {"version": version}
    for name, vector in (("z", w), ("u", direction)):
        if vector is None:
            continue
        parts = []
        for block in site.shard.blocks():
            part = np.empty(block.y.size)
            _sweep_margins(*block[:3], task.bias, vector, part)
            parts.append(part)
            site.work += block.nnz
        kept[name] = _joined(parts)
    site.memory = kept


def read_shard(task: LinearTask, block: Block) -> tuple[Any, ...]:
    """Return what the sweeps take: the rows, then the loss."""
    y, weight, *loss = _targets(task, block)
    return (*block[:3], y, weight, *loss, task.bias)


def _targets(task: LinearTask, block: Block) -> tuple[Any, ...]:
    return task.targets(block), block.weight, task.code, task.h, task.scale, task.tilt


def _joined(parts: list[Floats]) -> Floats:
    return parts[0] if len(parts) == 1 else np.concatenate(parts) if parts else np.empty(0)


def _margins(site: Site, version: int, taken: float) -> Floats:
    """Return the margins of a version, taking the last step if that is all that is missing."""
    memory = site.memory
    if memory.get("version") == version - 1 and "u" in memory:
        memory["z"] += taken * memory.pop("u")
        memory["version"] = version
    if memory.get("version") != version:
        raise MemoryLost
    return memory["z"]


def _line_of(site: Site, version: int) -> tuple[Floats, Floats]:
    if site.memory.get("version") != version or "u" not in site.memory:
        raise MemoryLost
    return site.memory["z"], site.memory["u"]


def _warmup() -> None:
    indices, indptr = np.array([0], np.uint32), np.array([0, 1])
    y, weight, one = np.ones(1), np.empty(0), np.ones(1)
    loss = (LOG, 0.5, 1.0, 0.0)
    for dtype in (np.float64, np.float32):
        rows = (np.ones(1, dtype), indices, indptr)
        row_dot(*rows[:2], 0, 1, np.ones(2), 1)
        _two_dots(rows[0], one, one)
        _online(*rows, y, weight, np.ones(4), 0.5, LOG, 0.5, 1.0)
        sweep_start(*rows, y, weight, *loss, 1.0, np.ones(8), one.copy())
        _sweep_margins(*rows, 1.0, np.ones(2), one.copy())
        _sweep_probe(*rows, y, weight, *loss, 1.0, np.ones(4), one, one.copy(), 1.0)
        _sweep_gradient(*rows, y, weight, *loss, 1.0, one, one, 1.0, np.ones(2))
    _longest_row(indptr)
    _line(y, weight, *loss, one, one, 1.0)
    _line_kink(y, weight, *loss, LOG, 0.5, one)
