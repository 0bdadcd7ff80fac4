"""MIC-Multi with a covariance between tasks: residuals of one task tell about those of another.

Reference: Dhillon, Foster and Ungar (2011), section 4.1.2: S_E of Eq. (7) with the covariance of
the previous model, Σ_λ = λ Σ_D + (1 - λ) Σ_F. Given Σ all coefficients are those of generalised
least squares (the tasks are seemingly unrelated regressions), so what a feature would save in a set
of tasks is a quadratic form in its scores, exactly; the tasks of a feature enter one at a time
(Algorithm 1), and both cuts of section 4.3.2 bound the search.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from octavo.engine.estimators.arrays import Floats, Indices, Numbers
from octavo.engine.linalg.forward_selection import ForwardSelection, greedy_quadratics
from octavo.engine.linalg.unit_columns import UnitColumns
from octavo.linear.code_length.codes import coefficient_bits, subset_bits
from octavo.linear.code_length.data_bits import LN2, CodePath

CELLS = 1 << 21  # numbers in a block of quadratics
SLACK = 1e-9
SINGULAR = 1e-10  # least eigenvalue of a correlation matrix
ROUNDS, STILL = 50, 1e-10  # of covariance and coefficients in turn


class JointFit(NamedTuple):
    """Generalised least squares on the supports of a `ForwardSelection`."""

    precision: Floats  # Σ^-1, (h, h)
    residual: Floats  # (h, n)
    task_of: Indices  # the task of each coefficient
    basis: Floats  # orthonormal within each task, (m, n)
    inverse: Floats  # of the information of all coefficients, (m, m)


def shrunken_covariance(residual: Floats, shrinkage: float, floor: Floats) -> Floats:
    """Return λ Σ_D + (1 - λ) Σ_F; variances are at least `floor`."""
    full = residual @ residual.T / residual.shape[1]  # Σ_F of Section 4.1.2
    found = (1.0 - shrinkage) * full
    np.fill_diagonal(found, np.maximum(np.diag(full), floor))
    return found


def joint_fit(state: ForwardSelection, units: Floats, shrinkage: float) -> JointFit:
    """Alternate between the covariance of residuals and coefficients until both stand still."""
    h, n = units.shape
    task_of = np.repeat(np.arange(h), state.n_terms)
    basis = np.vstack([state.basis(t) for t in range(h)])
    cosines, products = basis @ basis.T, basis @ units.T
    residual, floor = state.residual, np.full(h, 1e-12 / n)
    inverse = np.empty((0, 0))
    for _ in range(ROUNDS):
        precision = _precision(shrunken_covariance(residual, shrinkage, floor))
        if not task_of.size:
            break
        inverse = _inverse(precision[np.ix_(task_of, task_of)] * cosines)
        # Generalised least squares, given Σ
        found = inverse @ np.einsum("bt,bt->b", precision[task_of], products)
        fitted = np.zeros_like(units)
        np.add.at(fitted, task_of, found[:, None] * basis)
        change = float(np.abs(units - fitted - residual).max())
        residual = units - fitted
        if change < STILL:
            break
    return JointFit(precision, residual, task_of, basis, inverse)


def _inverse(matrix: Floats) -> Floats:
    return np.asarray(cho_solve(cho_factor(matrix), np.eye(len(matrix))))


def _precision(covariance: Floats) -> Floats:
    deviations = np.sqrt(np.diag(covariance))
    correlation = covariance / np.outer(deviations, deviations)
    if np.linalg.eigvalsh(correlation)[0] < SINGULAR:
        raise ValueError(
            "The covariance between tasks is singular: tasks repeat each other, or there are fewer "
            "rows than tasks. Set cov to a number between 0 and 1, which shrinks it."
        )
    return _inverse(correlation) / np.outer(deviations, deviations)


class Quadratics:
    """Scores and information of every feature in every task, given a joint fit."""

    def __init__(self, state: ForwardSelection, fit: JointFit) -> None:
        self.state, self.fit = state, fit
        columns = state.columns
        self.scores = fit.precision @ columns.dot(fit.residual)  # (h, p)
        m = fit.task_of.size
        self.inside = columns.dot(fit.basis) if m else np.empty((0, columns.p))
        self.starts = np.flatnonzero(np.r_[True, np.diff(fit.task_of) > 0]) if m else None

    def block(self, features: Indices) -> tuple[Floats, Floats, Numbers]:
        """Return (c, h, h) information outside the models, (c, h) scores, and what is usable."""
        precision = self.fit.precision
        usable = self.state.free(np.arange(len(precision)))[:, features].T
        matrices = np.repeat(precision[None], features.size, axis=0)
        if self.starts is not None:
            A = self.inside[:, features].T
            pairs = A[:, :, None] * self.fit.inverse * A[:, None, :]
            pairs = np.add.reduceat(
                np.add.reduceat(pairs, self.starts, axis=1), self.starts, axis=2
            )
            P = precision[:, self.fit.task_of[self.starts]]
            matrices -= P @ pairs @ P.T  # the Schur complement of the models' coefficients
        return matrices, self.scores[:, features].T.copy(), usable

    def blocks(self, features: Indices) -> list[Indices]:
        """Return the features in parts whose quadratics fit into memory."""
        cells = max(len(self.fit.precision), self.fit.task_of.size) ** 2
        return np.array_split(features, max(1, -(-features.size * cells // CELLS)))


def fall_in_all(matrices: Floats, vectors: Floats, usable: Numbers) -> Floats:
    """Return the maximum of each quadratic over its usable coordinates."""
    both = usable[:, :, None] & usable[:, None, :]
    scale = np.einsum("cii->ci", matrices).clip(1e-300)
    eye = np.eye(usable.shape[1]) * np.where(usable, 1e-13 * scale, 1.0)[:, None, :]
    v = np.where(usable, vectors, 0.0)
    solved = np.linalg.solve(np.where(both, matrices, 0.0) + eye, v[:, :, None])[:, :, 0]
    return np.einsum("ch,ch->c", v, solved)


class JointBits(NamedTuple):
    """Bits saved by a fall of the sum of ε'Σ^-1 ε, which is `total` now."""

    total: float
    cells: int
    variance: str

    def __call__(self, falls: Floats) -> Floats:
        """Return ΔS_E; "profile" fits the scale of Σ anew, not its shape."""
        if self.variance == "plugin":
            return falls / (2.0 * LN2)  # Eq. (7) with Σ from the model before
        return -0.5 * self.cells * np.log2(np.maximum(1.0 - falls / self.total, 1e-12))


def select_jointly(
    X: Any,
    Y: Floats,
    *,
    shrinkage: float,
    mode: str = "partial",
    coef_bits: float | str = 2.0,
    variance: str = "profile",
    max_features: int | None = None,
    cut: bool = True,
) -> tuple[CodePath, UnitColumns, Floats]:
    """Select as `select_for_responses` does, with correlated residuals; return fits too."""
    columns = UnitColumns(X)
    state = ForwardSelection(columns, Y)
    if state.constant.any():
        raise ValueError(
            f"Response {int(np.flatnonzero(state.constant)[0])} is constant and has no covariance "
            "with others. Leave it out, or set cov='diag'."
        )
    units, (n, h), p = state.units, Y.shape, columns.p
    sizes = np.arange(1.0, h + 1.0)
    each = coefficient_bits(coef_bits, n)
    # Eq. (5), in bits by the number of tasks
    costs = float(np.log2(p)) + each * sizes + (subset_bits(sizes, h) if mode == "partial" else 0.0)
    order, taken = list[int](), list[Indices]()
    data, model = [0.0], [0.0]
    available = columns.usable.copy()
    fit = joint_fit(state, units, shrinkage)
    data[0] = _start(fit, state.length)
    for _ in range(p if max_features is None else max_features):
        total = float(np.einsum("tn,ts,sn->", fit.residual, fit.precision, fit.residual))
        bits = JointBits(total, n * h, variance)
        search = _Search(Quadratics(state, fit), bits, costs, full=mode == "full", cut=cut)
        j, tasks, saved, cost = search.best(np.flatnonzero(available))
        if j < 0:
            break
        order.append(j)
        taken.append(tasks)
        data.append(data[-1] - saved)
        model.append(model[-1] + cost)
        state.add([j] * tasks.size, tasks.tolist())
        available[j] = False
        fit = joint_fit(state, units, shrinkage)
    support = np.zeros((p, h), dtype=bool)
    for j, tasks in zip(order, taken):
        support[j, tasks] = True
    steps = np.array(order, dtype=np.intp)
    path = CodePath(steps, taken, np.array(data), np.array(model), support, state.saturated)
    return path, columns, ((units - fit.residual) * state.length[:, None]).T


def _start(fit: JointFit, lengths: Floats) -> float:
    """Return S_E of the intercepts alone, Eq. (7), with their own covariance."""
    h, n = fit.residual.shape
    quadratic = float(np.einsum("tn,ts,sn->", fit.residual, fit.precision, fit.residual))
    logdet = -np.linalg.slogdet(fit.precision)[1] + 2.0 * float(np.log(lengths).sum())
    return float((n * (h * np.log(2.0 * np.pi) + logdet) + quadratic) / (2.0 * LN2))  # Eq. (7)


class _Search:
    """One step: the feature and tasks that shorten the description most."""

    def __init__(
        self, quadratics: Quadratics, bits: JointBits, costs: Floats, *, full: bool, cut: bool
    ) -> None:
        self.quadratics, self.bits, self.costs = quadratics, bits, costs
        self.full, self.cut = full, cut
        self.found: tuple[int, Indices, float, float] = (-1, np.empty(0, np.intp), 0.0, 0.0)

    @property
    def shorter(self) -> float:
        """By how much the best so far shortens the description."""
        return self.found[2] - self.found[3]

    def best(self, features: Indices) -> tuple[int, Indices, float, float]:
        parts = self.quadratics.blocks(features) if features.size else []
        alls = [fall_in_all(*self.quadratics.block(part)) for part in parts]
        saved = self.bits(np.concatenate(alls)) if alls else np.empty(0)
        if self.full:
            self._take_full(features, saved)
            return self.found
        # First cut: no set of tasks saves more than all of them, and each costs a feature's index.
        bound = saved - self.costs.min()
        ranked = np.argsort(-bound, kind="stable") if self.cut else np.arange(features.size)
        ranked = ranked[bound[ranked] > 0.0] if self.cut else ranked  # Section 4.3.2, first bound
        start, size = 0, 8
        while start < ranked.size:
            if self.cut and bound[ranked[start]] < self.shorter - SLACK:
                break
            block = ranked[start : start + size]
            self._look_at(features[block], saved[block])
            start, size = start + size, min(4 * size, self._largest())
        return self.found

    def _largest(self) -> int:
        h = len(self.quadratics.fit.precision)
        return max(8, CELLS // max(h, self.quadratics.fit.task_of.size) ** 2)

    def _take_full(self, features: Indices, saved: Floats) -> None:
        h, cost = len(self.costs), float(self.costs[-1])
        free = self.quadratics.state.free(np.arange(h))[:, features].any(axis=0)
        saved = np.where(free, saved, -np.inf)
        best = int(saved.argmax()) if saved.size else -1
        if best >= 0 and saved[best] > cost:
            j = int(features[best])
            tasks = np.flatnonzero(self.quadratics.state.free(np.arange(h))[:, j])
            self.found = (j, tasks, float(saved[best]), cost)

    def _look_at(self, features: Indices, ceiling: Floats) -> None:
        def is_settled(k: int, falls: Floats) -> bool:
            # Second cut: no larger set of tasks can beat the best of any feature so far.
            if k == len(self.costs):
                return True
            shorter = (self.bits(falls) - self.costs[:k]).max(axis=1)
            best = max(self.shorter, float(shorter.max()))
            return bool(ceiling.max() - self.costs[k:].min() < best - SLACK)

        stop = is_settled if self.cut else None
        order, falls = greedy_quadratics(*self.quadratics.block(features), stop=stop)
        saved = self.bits(falls)
        shorter = np.where(order >= 0, saved - self.costs[: saved.shape[1]], -np.inf)
        counts = shorter.argmax(axis=1)
        values = shorter[np.arange(features.size), counts]
        i = int(np.lexsort((features, -values))[0])
        j, k = int(features[i]), int(counts[i])
        known = self.found[0]
        if values[i] > self.shorter or (values[i] == self.shorter > 0.0 and j < known):
            tasks = np.sort(order[i, : k + 1])
            self.found = (j, tasks, float(saved[i, k]), float(self.costs[k]))
