"""Ways to draw landmarks: by weights, by K-means++ in the feature space, by refinement.

K-means++ draws every landmark with a probability proportional to its squared distance from
those chosen before (Algorithm 4.1). Distances only fall, so a row drawn from *old* distances
and accepted with probability new/old is a draw from the new ones: the law is exactly that of
the algorithm, while all rows are compared with a whole batch of landmarks in one pass.

Reference: thesis on kernel-based greedy algorithms (D. Oglic), Chapter 4: Algorithm 4.1, local
restarts of Section 4.3.2, Lloyd refinements of Sections 4.3.3 and 4.4.3.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp

from octavo.engine.kernels.namespaces import set_to_zero, to_namespace, to_numpy
from octavo.kernel.landmarks.feature_points import FeaturePoints, Targets

_BLOCK = 1024  # rows a block of the two-level draw
_BATCH = 32  # landmarks that rows are compared with in one pass
_PROPOSALS = 16


class Potential:
    """The distance of every row to the nearest landmark, and draws in proportion to it.

    Parameters
    ----------
    points : FeaturePoints
        The rows.
    """

    def __init__(self, points: FeaturePoints) -> None:
        self.points = points
        xp, self._length = points.xp, -(-points.n // _BLOCK) * _BLOCK
        self.nearest = xp.zeros(self._length, dtype=points.diagonal.dtype, device=points.device)
        self._sums: np.ndarray | None = None

    def absorb(self, targets: Targets, first: bool = False) -> None:
        """Let further landmarks into the minimum (line 7 of Algorithm 4.1)."""
        xp = self.points.xp
        for rows in self.points.chunks(targets.diagonal.shape[0]):
            apart = self.points.closest(rows, targets)
            old = self.nearest[rows]
            self.nearest[rows] = apart if first else xp.where(apart < old, apart, old)
        self._sums = None

    def replace(self, nearest: Any) -> None:
        """Take new distances for the first n entries."""
        self.nearest[: self.points.n] = nearest
        self._sums = None

    def silence(self, indices: np.ndarray) -> None:
        """Set the distance of landmarks to exactly zero, so that none is drawn again."""
        set_to_zero(self.nearest, indices)
        self._sums = None

    @property
    def sums(self) -> np.ndarray:
        """Sums of the distances over blocks of rows (line 8), in double precision."""
        if self._sums is None:
            xp = self.points.xp
            table = xp.reshape(self.nearest, (-1, _BLOCK))
            self._sums = to_numpy(xp.sum(table, axis=1, dtype=xp.float64), xp)
        return self._sums

    @property
    def total(self) -> float:
        """The clustering potential φ."""
        return float(self.sums.sum())

    def draw(self, rng: np.random.RandomState, size: int) -> tuple[np.ndarray, np.ndarray]:
        """Draw rows with probability D/φ (lines 10 and 11), with replacement; also return D."""
        cumulative = np.cumsum(self.sums)  # in two levels: first a block, then a row in it
        # Rounding must not lead beyond the last row that has a distance, here and below.
        u = np.minimum(rng.uniform(size=size) * cumulative[-1], np.nextafter(cumulative[-1], 0.0))
        blocks = np.searchsorted(cumulative, u, side="right")
        # One transfer for all draws: on an accelerator each costs more than it brings.
        table = self.points.xp.reshape(self.nearest, (-1, _BLOCK))
        near = self.points.values(table, blocks)
        inside = np.cumsum(near, axis=1)
        left = np.clip(u - (cumulative[blocks] - self.sums[blocks]), 0.0, None)
        left = np.minimum(left, np.nextafter(inside[:, -1], 0.0))
        places = (inside <= left[:, None]).sum(axis=1)
        return blocks * _BLOCK + places, near[np.arange(size), places]


def kmeanspp_by_batches(
    points: FeaturePoints, k: int, rng: np.random.RandomState
) -> tuple[np.ndarray, float]:
    """Draw k landmarks by Algorithm 4.1; return their indices and the potential.

    Rows are compared with the landmarks in batches; see the module's text for why the law is
    not changed by that.
    """
    chosen = [int(rng.randint(points.n))]  # line 2
    potential = Potential(points)
    potential.absorb(points.chosen(np.array(chosen)), first=True)
    potential.silence(np.array(chosen))
    pending: list[int] = []
    while len(chosen) < k:
        if potential.total <= points.noise:
            return _fill_up(chosen, k, points.n, rng), potential.total
        accepted, tried = _accepted(points, potential, pending, k - len(chosen), rng)
        pending += accepted
        chosen += accepted
        due = pass_is_due(len(pending), len(chosen)) or len(accepted) < 0.25 * tried
        if len(chosen) == k or due:
            if pending:
                potential.absorb(points.chosen(np.array(pending)))
                potential.silence(np.array(pending))
            pending = []
    return np.array(chosen), potential.total


def pass_is_due(n_pending: int, n_chosen: int) -> bool:
    """Whether so many landmarks wait that comparing all rows with them saves rejections."""
    return n_pending >= min(_BATCH, max(1, n_chosen // 3))


def _accepted(
    points: FeaturePoints,
    potential: Potential,
    pending: list[int],
    wanted: int,
    rng: np.random.RandomState,
) -> tuple[list[int], int]:
    """Propose rows from old distances; return those that the new distances accept."""
    size = min(wanted, _PROPOSALS, max(1, _BATCH - len(pending)))
    proposals, old = potential.draw(rng, size)
    u = rng.uniform(size=size)
    if size == 1 and not pending:  # nothing has changed since: the draw stands
        return [int(proposals[0])], 1
    # distances to what was accepted since
    near = points.between(proposals, np.concatenate([pending, proposals]).astype(np.int64))
    accepted: list[int] = []
    active = list(range(len(pending)))
    for j in range(size):
        new = min(old[j], near[j, active].min()) if active else old[j]  # D as it would be by now
        if u[j] * old[j] < new:  # accepted with probability new/old
            accepted.append(int(proposals[j]))
            active.append(len(pending) + j)
    return accepted, size


def kmeanspp_with_restarts(
    points: FeaturePoints, k: int, n_local: int, rng: np.random.RandomState
) -> tuple[np.ndarray, float]:
    """Draw k landmarks, each the best of several candidates (Section 4.3.2)."""
    xp = points.xp
    chosen = [int(rng.randint(points.n))]
    potential = Potential(points)
    potential.absorb(points.chosen(np.array(chosen)), first=True)
    potential.silence(np.array(chosen))
    table = xp.zeros((n_local, points.n), dtype=points.diagonal.dtype, device=points.device)
    while len(chosen) < k:
        if potential.total <= points.noise:
            return _fill_up(chosen, k, points.n, rng), potential.total
        candidates, _ = potential.draw(rng, n_local)
        targets = points.chosen(candidates)
        totals = np.zeros(n_local)
        for rows in points.chunks(n_local):
            apart, old = points.distances(rows, targets), potential.nearest[rows]
            if points.is_numpy:
                block = np.minimum(apart, old, out=table[:, rows])
            else:
                block = xp.where(apart < old, apart, old)
                table[:, rows] = block
            totals += to_numpy(xp.sum(block, axis=1)).astype(np.float64)
        best = int(totals.argmin())  # the candidate with the lowest potential
        chosen.append(int(candidates[best]))
        potential.replace(table[best, :])
        potential.silence(np.array(chosen[-1:]))
    return np.array(chosen), potential.total


def _fill_up(chosen: list[int], k: int, n: int, rng: np.random.RandomState) -> np.ndarray:
    """Complete landmarks uniformly once every row coincides with one of them."""
    warnings.warn(
        f"After {len(chosen)} landmarks every row coincides with one of them in the feature space; "
        f"the other {k - len(chosen)} are drawn uniformly and add nothing: the rank of the "
        f"approximation is at most {len(chosen)}.",
        UserWarning,
        stacklevel=5,
    )
    left = np.setdiff1d(np.arange(n), chosen)
    return np.array([*chosen, *rng.permutation(left)[: k - len(chosen)]])


def local_trials(n_local: int | str, k: int) -> int:
    """Return the number of candidates a landmark: q = ⌊2 + ln K⌋ for ``"auto"``."""
    return int(2 + math.log(k)) if n_local == "auto" else int(n_local)


def kmeanspp(
    points: FeaturePoints, k: int, n_local: int | str, rng: np.random.RandomState
) -> tuple[np.ndarray, float]:
    """Draw landmarks by kernel K-means++, with restarts if n_local is more than one."""
    trials = local_trials(n_local, k)
    if trials > 1:
        return kmeanspp_with_restarts(points, k, trials, rng)
    return kmeanspp_by_batches(points, k, rng)


def weighted_without_replacement(
    weights: np.ndarray, k: int, rng: np.random.RandomState
) -> np.ndarray:
    """Draw k places one after the other, each with a chance proportional to its weight.

    An exponential race: with clocks of rate w_i, the order of arrival is that of the draws.
    Places without weight come last, in random order.
    """
    weights = np.asarray(weights, dtype=np.float64)
    clocks = rng.exponential(size=len(weights))
    with np.errstate(divide="ignore", over="ignore"):
        arrival = np.where(weights > 0.0, clocks / weights, np.inf)
    order = np.lexsort((clocks, arrival))
    return order[:k]


def squared_column_norms(points: FeaturePoints) -> np.ndarray:
    """Return Σ_j k(x_j, x_i)² for every i, block by block: O(n²) time, O(n) memory."""
    norms = np.zeros(points.n)
    step = 256 if points.is_numpy else 4096
    for start in range(0, points.n, step):
        batch = np.arange(start, min(start + step, points.n))
        targets = points.chosen(batch)
        for rows in points.chunks(len(batch)):
            block = points.gram(rows, targets)
            norms[batch] += to_numpy(points.xp.sum(block * block, axis=1)).astype(np.float64)
    return norms


def cluster_means(X: Any, labels: np.ndarray, old: Any, points: FeaturePoints) -> Any:
    """Return the mean of every cluster; an empty one keeps its old centre."""
    k = old.shape[0]
    counts = np.bincount(labels, minlength=k)
    scale = 1.0 / np.maximum(counts, 1)
    if points.is_numpy:
        shape = (k, len(labels))
        member = sp.csr_array(
            (scale[labels].astype(X.dtype), (labels, np.arange(len(labels)))), shape=shape
        )
        means = member @ X
        empty = np.flatnonzero(counts == 0)
        if len(empty):
            if sp.issparse(means):
                means = means.tolil()
            means[empty] = old[empty]
        return means.tocsr() if sp.issparse(means) else means
    xp, total = points.xp, None
    names = xp.arange(k, device=points.device)
    places = xp.asarray(labels, device=points.device)
    for rows in points.chunks(k):
        member = xp.astype(places[rows][:, None] == names[None, :], X.dtype)
        part = member.T @ X[rows, :]
        total = part if total is None else total + part
    empty = to_namespace((counts == 0).astype(np.float64), X)[:, None]
    return total * to_namespace(scale, X)[:, None] * (1.0 - empty) + old * empty


def lloyd(
    points: FeaturePoints, centres: Any, potential: float, *, max_iter: int, tol: float = 0.0
) -> tuple[Any, float, int]:
    """Move landmarks to the means of their clusters while the kernel potential falls.

    Parameters
    ----------
    points : FeaturePoints
        The rows, seen through the kernel whose potential must fall.
    centres : array of shape (k, n_features)
        Where to begin.
    potential : float
        The potential there.
    max_iter : int
        Largest number of iterations.
    tol : float, default=0
        Stop when an iteration gains no more than this part of the potential.

    Returns
    -------
    centres : array of shape (k, n_features)
        The last centres that were accepted.
    potential : float
        Their potential.
    n_iter : int
        How many iterations were accepted.
    """
    labels, potential = points.nearest(points.foreign(centres))
    for n_iter in range(max_iter):
        # Means of rows are not means of images: the kernel's potential may rise, which ends it.
        moved = cluster_means(points.X, labels, centres, points)
        labels, new = points.nearest(points.foreign(moved))
        if not new < potential:
            return centres, potential, n_iter
        gain, centres, potential = potential - new, moved, new
        if gain <= tol * potential:
            return centres, potential, n_iter + 1
    return centres, potential, max_iter
