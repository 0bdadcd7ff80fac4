"""Mini-batch steps on flat and polar factors, and the schedule of their lengths.

Reference: Meyer, Bonnabel and Sepulchre (2011), Eqs. (9), (20) and (23), Sections 7.3 and 7.4.2,
Appendix A.
"""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

import numpy as np

from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.manifolds.fixed_rank import PolarPoint, polar_point
from octavo.engine.manifolds.grassmann import orthonormal_factor
from octavo.metric.fixed_rank.losses import half_mean_square, residuals

POWERS = tuple(2.0**k for k in range(-3, 4))  # tried for s and t0
_TRIAL_ROWS = 1024
_LARGEST_EXPONENT = 10.0
_RETRIES = 8


class Schedule(NamedTuple):
    """s_t = (s/µ̂) · n t0/(n t0 + t), Eq. (23); ``safe`` divides by max(‖G‖², 1), Appendix A."""

    s: float
    t0: float
    unit: float
    n: int
    safe: bool = False

    def at(self, t: int, size: float) -> float:
        """Return the step after t rows, where ‖G‖² is `size`."""
        annealed = self.s / self.unit * self.n * self.t0 / (self.n * self.t0 + t)  # Eq. (23)
        # Appendix A: η_t / max(‖G‖², 1)
        return annealed / max(size, 1.0) if self.safe else annealed


def bounded_step(form: Floats, step: float) -> tuple[float, Floats]:
    """Return a step whose exponent stays below e^10, and exp(-½ step `form`)."""
    omega, V = np.linalg.eigh(form)
    largest = 0.5 * step * max(abs(float(omega[0])), abs(float(omega[-1])))
    if largest > _LARGEST_EXPONENT:
        step *= _LARGEST_EXPONENT / largest
    return step, (V * np.exp(-0.5 * step * omega)) @ V.T  # exp(-½ s form), by its eigenvectors


class FlatStream:
    """Online descent on G, Eq. (9)."""

    def __init__(self, G: Floats) -> None:
        self.G = np.array(G)

    def copy(self) -> FlatStream:
        """Return another that stands here."""
        return FlatStream(self.G)

    def aim(self, rows: Any, y: Floats, relation: Ints | None) -> float:
        """Take the gradient on a batch; return its norm."""
        P = rows.dot(self.G)
        e = residuals(np.einsum("ij,ij->i", P, P), y, relation)
        # 2 Sym(X) G e, mean over the batch
        self._xi = rows.transposed_dot((2.0 / len(y)) * e[:, None] * P)
        return float(np.linalg.norm(self._xi))

    def move(self, step: float) -> None:
        """Go against the gradient."""
        self.G = self.G - step * self._xi  # Eq. (9)

    def squared(self, rows: Any) -> Floats:
        """Return aᵀWa of rows."""
        P = rows.dot(self.factor())
        return np.einsum("ij,ij->i", P, P)

    def size(self) -> float:
        """Return ‖G‖²."""
        return float(np.sum(self.G**2))

    def factor(self) -> Floats:
        """Return G."""
        return self.G


class PolarStream:
    """Online descent on a subspace and a form within it, Eq. (20)."""

    def __init__(self, point: PolarPoint, lam: float) -> None:
        (self.U, self.R), self.lam = point, lam

    def copy(self) -> PolarStream:
        """Return another that stands here."""
        return PolarStream(PolarPoint(self.U, self.R), self.lam)

    def aim(self, rows: Any, y: Floats, relation: Ints | None) -> float:
        """Take the gradient on a batch; return its norm."""
        Q = rows.dot(self.U)
        P = Q @ self.R
        e = residuals(np.einsum("ij,ij->i", P, P), y, relation) / len(y)
        self._form = (1.0 - self.lam) * (P.T @ (e[:, None] * P))  # RᵀUᵀMUR
        # Eq. (17), the form's part
        slope = float(np.sum(self._form**2)) / max(1.0 - self.lam, 1e-300)
        self._xi = None
        if self.lam > 0.0:
            MU = rows.transposed_dot(e[:, None] * Q)
            # (I - UUᵀ) M U RRᵀ, where print writes R² for RRᵀ
            out = (MU - self.U @ (self.U.T @ MU)) @ (self.R @ self.R.T)
            self._xi = 2.0 * self.lam * out
            slope += 4.0 * self.lam * float(np.sum(out**2))  # Eq. (17), the subspace's part
        return float(np.sqrt(slope))

    def move(self, step: float) -> None:
        """Go against the gradient; an exponent beyond e^10 shortens the step."""
        step, turn = bounded_step(self._form, step)
        # Eq. (20), which needs Rᵀ on the left of the exponent: R is not symmetric for long
        self.R = self.R @ turn
        if self._xi is not None:
            self.U = orthonormal_factor(self.U - step * self._xi)[0]  # Eq. (20) with qf of Eq. (18)

    def squared(self, rows: Any) -> Floats:
        """Return aᵀWa of rows."""
        P = rows.dot(self.factor())
        return np.einsum("ij,ij->i", P, P)

    def size(self) -> float:
        """Return 1: polar steps need no guard."""
        return 1.0

    def factor(self) -> Floats:
        """Return UR."""
        return self.U @ self.R


def start_stream(G: Floats, geometry: str, lam: float) -> FlatStream | PolarStream:
    """Return a stream that stands at GGᵀ."""
    return FlatStream(G) if geometry == "flat" else PolarStream(polar_point(G), lam)


def run_pass(
    stream: Any,
    rows: Any,
    y: Floats,
    relation: Ints | None,
    schedule: Schedule,
    t: int,
    batch_size: int,
    order: Any = None,
) -> tuple[int, int]:
    """Take one pass over the rows, a step for every batch.

    Parameters
    ----------
    stream : FlatStream or PolarStream
        Is moved.
    rows, y, relation : TableRows or PairDifferences, ndarray, ndarray or None
        The data.
    schedule : Schedule
        Lengths of steps.
    t : int
        Rows seen before.
    batch_size : int
        The paper's p.
    order : ndarray, default=None
        In which rows come.

    Returns
    -------
    t : int
        Rows seen now.
    n_skipped : int
        Batches whose step would have left the finite numbers, which were left out.
    """
    n, n_skipped = len(y), 0
    for start in range(0, n, batch_size):
        chosen = slice(start, start + batch_size)
        if order is not None:
            chosen = order[chosen]
        part = None if relation is None else relation[chosen]
        norm = stream.aim(rows.take(chosen), y[chosen], part)
        t += len(y[chosen])
        if norm == 0.0:
            continue
        step = schedule.at(t, stream.size() if schedule.safe else 1.0)
        if not np.isfinite(step * norm):
            n_skipped += 1
            continue
        stream.move(step)
    return t, n_skipped


def steady_pass(
    stream: Any,
    rows: Any,
    y: Floats,
    relation: Ints | None,
    schedule: Schedule,
    t: int,
    batch_size: int,
    order: Any = None,
) -> tuple[Any, Schedule, int, int]:
    """Take one pass, again with a quarter of the step where it has run away.

    A schedule that ends lowest on the first rows can still be too long for what comes: a flat
    gradient grows as the cube of its point, and a polar form shrinks to nothing. A pass has run
    away where the cost of the first rows is not finite, or more than ten times what it was and
    more than a tenth of what W = 0 costs.

    Parameters
    ----------
    stream : FlatStream or PolarStream
        Where the pass starts; it is not moved.
    rows, y, relation, schedule, t, batch_size, order
        As for `run_pass`.

    Returns
    -------
    stream : FlatStream or PolarStream
        Moved; the given one where no step was short enough.
    schedule : Schedule
        With the step that was taken.
    t : int
        Rows seen now; as many as before where no step was short enough.
    n_skipped : int
        As for `run_pass`.
    """
    few = slice(0, min(len(y), _TRIAL_ROWS))
    part, target = rows.take(few), y[few]
    bound = None if relation is None else relation[few]

    def cost(predicted: Floats) -> float:
        return half_mean_square(residuals(predicted, target, bound))

    with np.errstate(over="ignore", invalid="ignore"):
        limit = max(10.0 * cost(stream.squared(part)), 0.1 * cost(np.zeros_like(target)))
        for _ in range(_RETRIES):
            moved = stream.copy()
            seen, n_skipped = run_pass(moved, rows, y, relation, schedule, t, batch_size, order)
            if cost(moved.squared(part)) <= limit:
                return moved, schedule, seen, n_skipped
            schedule = schedule._replace(s=0.25 * schedule.s)
    return stream, schedule, t, 0


def mean_gradient(stream: Any, rows: Any, y: Floats, relation: Any, batch_size: int) -> float:
    """Return µ̂, the mean norm of the gradients of batches at the start; 1 where all are zero."""
    norms = []
    for start in range(0, min(len(y), _TRIAL_ROWS), batch_size):
        chosen = slice(start, start + batch_size)
        part = None if relation is None else relation[chosen]
        norms.append(stream.aim(rows.take(chosen), y[chosen], part))
    mean = float(np.mean(norms))
    return mean if mean > 0.0 and np.isfinite(mean) else 1.0


def choose_schedule(
    stream: Any,
    rows: Any,
    y: Floats,
    relation: Ints | None,
    batch_size: int,
    *,
    s: float | None = None,
    t0: float | None = None,
    safe: bool = False,
) -> Schedule:
    """Return the schedule whose trial pass over the first rows ends lowest.

    Parameters
    ----------
    stream : FlatStream or PolarStream
        Where trials start; it is not moved.
    rows, y, relation : TableRows or PairDifferences, ndarray, ndarray or None
        The data; the first 1,024 rows are tried on.
    batch_size : int
        The paper's p.
    s, t0 : float, default=None
        Kept where given; else powers of two from 1/8 to 8 are tried, Section 7.4.2.
    safe : bool, default=False
        Whether steps are divided by max(‖G‖², 1).

    Returns
    -------
    Schedule
        For all rows.
    """
    unit, n = mean_gradient(stream, rows, y, relation, batch_size), len(y)
    if s is not None and t0 is not None:
        return Schedule(s, t0, unit, n, safe)
    few = slice(0, min(n, _TRIAL_ROWS))
    part, target = rows.take(few), y[few]
    bound = None if relation is None else relation[few]
    best, lowest = (POWERS[0], 1.0), np.inf
    # Section 7.4.2: 2^k, k = -3, ..., 3
    for one in product(POWERS if s is None else (s,), POWERS if t0 is None else (t0,)):
        trial = stream.copy()
        schedule = Schedule(*one, unit, len(target), safe)
        with np.errstate(over="ignore", invalid="ignore"):
            run_pass(trial, part, target, bound, schedule, 0, batch_size)
            cost = half_mean_square(residuals(trial.squared(part), target, bound))
        if cost < lowest:
            best, lowest = one, cost
    return Schedule(*best, unit, n, safe)
