"""A Markov chain over sets of k rows whose law is proportional to det K_S (a k-DPP).

One step takes a member out and a stranger in, with probability min(1, det K_S'/det K_S). With
K_S = LLᵀ, w = L⁻¹k_S(j), u = L⁻ᵀw and B_rr = |L⁻¹e_r|², removing place r and adding j changes the
determinant by B_rr (k_jj − |w|²) + u_r²; an accepted swap down-dates L by a rank-one step and
appends a row.

Reference: Section 4.4.2 of the thesis; Li, Jegelka and Sra (2016), "Fast DPP sampling for
Nyström with application to kernel methods", ICML.
"""

from __future__ import annotations

import numpy as np

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.kernels.namespaces import to_numpy
from octavo.kernel.landmarks.feature_points import FeaturePoints

_BATCH = 64  # proposals whose kernel values are computed together
_JITTER = 1e-10  # of the mean diagonal: sets with duplicates have a determinant all the same


@njit(cache=True)
def _solve_lower(L, k, b, out):
    for i in range(k):
        s = b[i]
        for j in range(i):
            s -= L[i, j] * out[j]
        out[i] = s / L[i, i]


@njit(cache=True)
def _solve_upper(L, k, b, out):
    for i in range(k - 1, -1, -1):
        s = b[i]
        for j in range(i + 1, k):
            s -= L[j, i] * out[j]
        out[i] = s / L[i, i]


@njit(cache=True)
def _drop_row(L, k, r):
    """Remove row and column r of LLᵀ: what stood in column r is a rank-one update below."""
    v = L[r + 1 : k, r].copy()
    for i in range(r + 1, k):
        for j in range(r):
            L[i - 1, j] = L[i, j]
        for j in range(r + 1, i + 1):
            L[i - 1, j - 1] = L[i, j]
    for c in range(r, k - 1):
        x = v[c - r]
        d = np.sqrt(L[c, c] ** 2 + x * x)
        cos, sin = d / L[c, c], x / L[c, c]  # a rank-one update by rotations
        L[c, c] = d
        for i in range(c + 1, k - 1):
            L[i, c] = (L[i, c] + sin * v[i - r]) / cos
            v[i - r] = cos * v[i - r] - sin * L[i, c]


@njit(cache=True)
def _swap_chain(table, members, strangers, leaving, log_u, L):
    """Run swaps on a table of kernel values; members holds places in it. Return how many moved."""
    k, accepted = len(members), 0
    w, u, e, b = np.empty(k), np.empty(k), np.empty(k), np.empty(k)
    for step in range(len(strangers)):
        j, r = strangers[step], leaving[step]
        for i in range(k):
            b[i] = table[j, members[i]]
            e[i] = 0.0
        inside = False
        for i in range(k):
            if members[i] == j:
                inside = True
        if inside:
            continue
        e[r] = 1.0
        _solve_lower(L, k, b, w)
        _solve_upper(L, k, w, u)  # u = K_S⁻¹k_j
        _solve_lower(L, k, e, b)
        inverse, inner = 0.0, 0.0
        for i in range(k):
            inverse += b[i] * b[i]  # (K_S⁻¹)_rr = |L⁻¹e_r|²
            inner += w[i] * w[i]  # k_j'K_S⁻¹k_j = |L⁻¹k_j|²
        # det K_S' / det K_S: r leaves, j enters, in one rank-two update
        ratio = inverse * (table[j, j] - inner) + u[r] * u[r]
        if ratio <= 0.0 or log_u[step] >= np.log(ratio):  # min(1, ratio) of Metropolis
            continue
        _drop_row(L, k, r)
        for i in range(r, k - 1):
            members[i] = members[i + 1]
        members[k - 1] = j
        for i in range(k - 1):
            b[i] = table[j, members[i]]
        _solve_lower(L, k - 1, b, w)
        left = table[j, j]
        for i in range(k - 1):
            L[k - 1, i] = w[i]
            left -= w[i] * w[i]  # the new pivot: a Schur complement
        L[k - 1, k - 1] = np.sqrt(max(left, 1e-300))
        accepted += 1
    return accepted


def _factor(table: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return the Cholesky factor of the members' kernel matrix."""
    try:
        return np.linalg.cholesky(table[np.ix_(places, places)])
    except np.linalg.LinAlgError:
        lowest = float(np.linalg.eigvalsh(table[np.ix_(places, places)])[0])
        raise ValueError(
            "A k-DPP needs a positive semidefinite kernel; the kernel matrix of the current "
            f"landmarks has the eigenvalue {lowest:.3g}."
        ) from None


def kdpp_chain(
    points: FeaturePoints, start: np.ndarray, n_steps: int, rng: np.random.RandomState
) -> tuple[np.ndarray, int]:
    """Run the swap chain from a set of rows; return the last set and the number of swaps."""
    members = np.asarray(start, dtype=np.int64).copy()
    k = len(members)
    if k == points.n:
        return members, 0
    eps = float(points.xp.finfo(points.diagonal.dtype).eps)
    jitter = max(_JITTER, k * eps) * float(points.xp.mean(points.diagonal))
    swaps = 0
    for first in range(0, n_steps, _BATCH):
        size = min(_BATCH, n_steps - first)
        # A proposal that is a member already leaves the set as it is: the chain stays lazy.
        proposals = rng.randint(points.n, size=size)
        leaving = rng.randint(k, size=size)
        log_u = np.log(rng.uniform(size=size))
        rows = np.unique(np.concatenate([members, proposals]))
        few = points.few(rows)
        table = np.array(
            to_numpy(few.gram(slice(0, len(rows)), points.chosen(rows))), dtype=np.float64
        )
        table = (table + table.T) / 2.0 + jitter * np.eye(len(rows))
        places = np.searchsorted(rows, members)
        L = _factor(table, places)
        swaps += _swap_chain(table, places, np.searchsorted(rows, proposals), leaving, log_u, L)
        members = rows[places]
    return members, swaps


def _warmup() -> None:
    table, members = np.eye(3), np.array([0, 1])
    _swap_chain(table, members, np.array([2]), np.array([0]), np.array([-1.0]), np.eye(2))
