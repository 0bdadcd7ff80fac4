"""Birth, death and swap of active vectors, on Cholesky factors that grow and shrink by a row.

With K̃ = [1, K_γ] and Σ = diag(η, g K_γγ), everything that the sampler asks of a set γ of active
vectors is in two factors: L of Υ = τ K̃'K̃ + Σ and M of K_γγ; τ is the precision of the noise (one
for the probit). A move costs O(n_γ²) and touches no n × n matrix; a whole factor is made anew once
per sweep, when g and η have changed.

Reference: Section 3.2 of Z. Zhang, G. Dai and M. I. Jordan (2011), "Bayesian Generalized Kernel
Mixed Models", Journal of Machine Learning Research 12.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.blas import dtrsm

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.mcmc.metropolis import accepts
from octavo.engine.mcmc.subsets import BIRTH, DEATH, STAY, SWAP, choose_move, log_birth_ratio


class ActiveSet(NamedTuple):
    """Active vectors with their factors; every array has room for `k_max` of them.

    Attributes
    ----------
    members : ndarray of int of shape (n,)
        A permutation of the rows; the first k are active, in the order of the factors.
    rows : ndarray of shape (k_max + 1, n)
        K̃': a row of ones, then one row of the kernel per active vector.
    products : ndarray of shape (k_max + 1, k_max + 1)
        K̃'K̃.
    gram : ndarray of shape (k_max, k_max)
        K_γγ, with what is added to its diagonal.
    upsilon : ndarray of shape (k_max + 1, k_max + 1)
        Lower factor L of Υ.
    factor : ndarray of shape (k_max, k_max)
        Lower factor M of K_γγ.
    targets : ndarray of shape (k_max + 1, n_outputs)
        Z = L⁻¹ τ K̃'S.
    """

    members: Ints
    rows: Floats
    products: Floats
    gram: Floats
    upsilon: Floats
    factor: Floats
    targets: Floats


def empty_set(n: int, k_max: int, n_outputs: int) -> ActiveSet:
    """Return a set without members and with room for `k_max`."""
    room = k_max + 1
    rows = np.zeros((room, n))
    rows[0] = 1.0
    products = np.zeros((room, room))
    products[0, 0] = n
    return ActiveSet(
        np.arange(n),
        rows,
        products,
        np.zeros((k_max, k_max)),
        np.zeros((room, room)),
        np.zeros((k_max, k_max)),
        np.zeros((room, n_outputs)),
    )


def safe_cholesky(A: Floats) -> Floats:
    """Return the lower factor; a matrix that rounding made indefinite gets a larger diagonal."""
    ridge = 0.0
    for power in range(-13, -3):
        try:
            raised = A + ridge * np.eye(A.shape[0]) if ridge else A
            return np.asarray(np.linalg.cholesky(raised), dtype=np.float64)
        except np.linalg.LinAlgError:
            ridge = 10.0**power * float(np.trace(A)) / A.shape[0]
    raise ValueError(
        "The kernel matrix of the active vectors is not positive semi-definite; is the kernel one?"
    )


def solve_lower(L: Floats, B: Floats) -> Floats:
    """Return L⁻¹B for a lower factor in row order, without a copy of it."""
    return dtrsm(1.0, L.T, B, lower=0, trans_a=1) if L.shape[0] else B.copy()


def solve_upper(L: Floats, B: Floats) -> Floats:
    """Return L⁻ᵀB for a lower factor in row order."""
    return dtrsm(1.0, L.T, B, lower=0) if L.shape[0] else B.copy()


def set_members(active: ActiveSet, chosen: Ints, rows: Floats, jitter: float) -> None:
    """Make `chosen`, whose kernel rows are `rows`, the active vectors; factors of K̃'K̃ and K_γγ."""
    n, k = active.members.shape[0], len(chosen)
    inside = np.zeros(n, dtype=bool)
    inside[chosen] = True
    active.members[:k], active.members[k:] = chosen, np.flatnonzero(~inside)
    active.rows[1 : k + 1] = rows
    part = active.rows[: k + 1]
    active.products[: k + 1, : k + 1] = part @ part.T
    gram = rows[:, chosen]
    gram[np.diag_indices(k)] += jitter
    active.gram[:k, :k] = gram
    active.factor[:k, :k] = safe_cholesky(gram) if k else gram


def refactor(active: ActiveSet, k: int, S: Floats, g: float, eta: float, tau: float) -> None:
    """Make L and Z anew, as g, η, τ or S have changed."""
    # Υ = τ K̃'K̃ + diag(η, g K_γγ), above Eq. (8)
    upsilon = tau * active.products[: k + 1, : k + 1]
    upsilon[0, 0] += eta
    upsilon[1:, 1:] += g * active.gram[:k, :k]
    L = safe_cholesky(upsilon)
    active.upsilon[: k + 1, : k + 1] = L
    # L⁻¹ τK̃'s of Eq. (9)
    active.targets[: k + 1] = solve_lower(L, tau * (active.rows[: k + 1] @ S))


def log_marginal(
    active: ActiveSet, k: int, S: Floats, g: float, eta: float, tau: float = 1.0
) -> float:
    """Return log p(S | γ), with the coefficients integrated out: Eq. (8) by way of Eq. (11)."""
    n, m = S.shape
    Z = active.targets[: k + 1]
    # s'Q⁻¹s of Eq. (8), with Q⁻¹ = τ − τ²K̃Υ⁻¹K̃'
    square = tau * float(np.sum(S * S)) - float(np.sum(Z * Z))
    log_upsilon = 2.0 * float(np.log(np.diagonal(active.upsilon)[: k + 1]).sum())
    log_gram = 2.0 * float(np.log(np.diagonal(active.factor)[:k]).sum())
    log_q = log_upsilon - math.log(eta) - k * math.log(g) - log_gram - n * math.log(tau)  # Eq. (11)
    return -0.5 * (square + m * log_q + n * m * math.log(2.0 * math.pi))


@njit(cache=True, fastmath={"reassoc", "contract"})
def _forward(L, size, b, out, first):
    """Solve L out = b for a lower factor; entries of b before `first` are zero."""
    for i in range(first, size):
        total = 0.0
        for q in range(first, i):
            total += L[i, q] * out[q]
        out[i] = (b[i] - total) / L[i, i]


@njit(cache=True)
def _drop_row(L, size, p, Z, m):
    """Delete row p of a lower factor of that size, and restore its shape by rotations.

    Where Z = L⁻¹C it becomes that of the smaller factor; `m` is its number of columns.
    """
    cosines, sines = np.empty(size), np.empty(size)
    for i in range(p, size - 1):
        for q in range(p):
            L[i, q] = L[i + 1, q]
        carried = L[i + 1, p]
        for q in range(p, i):  # the rotations of the rows above, on columns q and q + 1
            following = L[i + 1, q + 1]
            L[i, q] = cosines[q] * carried + sines[q] * following
            carried = -sines[q] * carried + cosines[q] * following
        following = L[i + 1, i + 1]
        length = math.hypot(carried, following)
        cosines[i], sines[i] = carried / length, following / length
        L[i, i] = length
        L[i, i + 1] = 0.0
    for q in range(p, size - 1):
        for c in range(m):
            here, below = Z[q, c], Z[q + 1, c]
            Z[q, c] = cosines[q] * here + sines[q] * below
            Z[q + 1, c] = -sines[q] * here + cosines[q] * below


class Newcomer(NamedTuple):
    """What the factors would gain by another active vector.

    Attributes
    ----------
    row : ndarray of shape (n,)
        Its row of the kernel.
    cross : ndarray of shape (k + 2,)
        Its products with K̃, and with itself.
    beside : ndarray of shape (k,)
        Its kernel values with the active vectors.
    l, l_gram : ndarray
        Its rows of L and M, but for their last entries ...
    d2, d2_gram : float
        ... whose squares these are; not positive where it is a copy of what is there.
    targets : ndarray of shape (n_outputs,)
        Its row of Z.
    """

    row: Floats
    cross: Floats
    beside: Floats
    l: Floats
    l_gram: Floats
    d2: float
    d2_gram: float
    targets: Floats


def newcomer(
    active: ActiveSet,
    k: int,
    row: Floats,
    cross: Floats,
    own: float,
    S: Floats,
    g: float,
    tau: float,
) -> Newcomer:
    """Return what the factors would gain by the vector with this row of the kernel."""
    beside = row[active.members[:k]]
    v = tau * cross[: k + 1]  # the new row of Υ
    v[1:] += g * beside
    l, l_gram = np.empty(k + 1), np.empty(k)
    _forward(active.upsilon, k + 1, v, l, 0)
    _forward(active.factor, k, beside, l_gram, 0)
    # squared pivots: what the newcomer adds to |Υ| and |K_γγ| of Eq. (11)
    d2 = float(tau * cross[k + 1] + g * own - l @ l)
    d2_gram = float(own - l_gram @ l_gram)
    targets = tau * (row @ S) - l @ active.targets[: k + 1]
    if d2 > 0.0:
        targets /= math.sqrt(d2)
    return Newcomer(row, cross, beside, l, l_gram, d2, d2_gram, targets)


def append(active: ActiveSet, k: int, place: int, new: Newcomer, own: float) -> None:
    """Make the inactive vector at `place` the last active one."""
    members, rows, products, gram, L, M, Z = active
    L[k + 1, : k + 1], L[k + 1, k + 1] = new.l, math.sqrt(new.d2)
    M[k, :k], M[k, k] = new.l_gram, math.sqrt(new.d2_gram)
    products[k + 1, : k + 2] = products[: k + 2, k + 1] = new.cross
    gram[k, :k] = gram[:k, k] = new.beside
    gram[k, k] = own
    Z[k + 1] = new.targets
    rows[k + 1] = new.row
    members[k], members[place] = members[place], members[k]


def remove(active: ActiveSet, k: int, r: int) -> None:
    """Make the r-th of k active vectors inactive."""
    members, rows, products, gram, L, M, Z = active
    _drop_row(L, k + 1, r + 1, Z, Z.shape[1])
    _drop_row(M, k, r, Z, 0)
    for A, size, p in ((products, k + 1, r + 1), (gram, k, r)):
        A[p : size - 1, :size] = A[p + 1 : size, :size]
        A[: size - 1, p : size - 1] = A[: size - 1, p + 1 : size]
    rows[r + 1 : k] = rows[r + 2 : k + 1]
    gone = members[r]
    members[r : k - 1] = members[r + 1 : k]
    members[k - 1] = gone


def log_gain(squares: float, d2: float, d2_gram: float, g: float, n_outputs: int) -> float:
    """Return the gain in log p(S | γ) by a vector, from Eq. (11) and the last rows of L and M."""
    # by one vector |Q| is d²/(g d²_gram) times what it was
    return 0.5 * squares - 0.5 * n_outputs * (math.log(d2) - math.log(g) - math.log(d2_gram))


def log_loss(active: ActiveSet, k: int, r: int, g: float, new: Newcomer | None = None) -> float:
    """Return the gain that the r-th active vector brought, beside all others and `new`.

    With w = L⁻¹e_r, (Υ⁻¹)_rr = w'w is what 1/d² would be if r stood last, and w'Z its row of Z
    over d. Beside another vector, whose row of L is l, w'l/d is what it takes over.
    """
    m = active.targets.shape[1]
    w, w_gram, unit = np.zeros(k + 1), np.zeros(k), np.zeros(k + 1)
    unit[r + 1] = 1.0
    _forward(active.upsilon, k + 1, unit, w, r + 1)
    unit[r + 1], unit[r] = 0.0, 1.0
    _forward(active.factor, k, unit, w_gram, r)
    inverse, inverse_gram = float(w @ w), float(w_gram @ w_gram)
    b = w @ active.targets[: k + 1]
    if new is not None:
        shared = float(w @ new.l) / math.sqrt(new.d2)
        inverse += shared * shared
        inverse_gram += float(w_gram @ new.l_gram) ** 2 / new.d2_gram
        b = b - shared * new.targets
    return log_gain(float(b @ b) / inverse, 1.0 / inverse, 1.0 / inverse_gram, g, m)


class Move(NamedTuple):
    """What a step over subsets of the samples needs beside the set.

    Attributes
    ----------
    source : FixedKernel
        Gives rows of the kernel and, where it has them, their products.
    S : ndarray of shape (n, n_outputs)
        Scores.
    k_max : int
        Most active vectors.
    jump : bool
        Reversible jump or stochastic search.
    jitter, g, tau, a_alpha, b_alpha : float
        As in the model.
    """

    source: Any
    S: Floats
    k_max: int
    jump: bool
    jitter: float
    g: float
    tau: float
    a_alpha: float
    b_alpha: float


def _proposed_newcomer(active: ActiveSet, k: int, place: int, move: Move) -> tuple[Newcomer, float]:
    j = active.members[place]
    row = move.source.row(j)
    own = float(row[j]) + move.jitter
    cross = np.empty(k + 2)
    if move.source.products.shape[0]:
        cross[0] = row.sum()
        cross[1 : k + 1] = move.source.products[j, active.members[:k]]
        cross[k + 1] = move.source.products[j, j]
    else:
        cross[: k + 1] = active.rows[: k + 1] @ row
        cross[k + 1] = row @ row
    return newcomer(active, k, row, cross, own, move.S, move.g, move.tau), own


def move_active(
    active: ActiveSet,
    k: int,
    move: Move,
    rng: np.random.Generator,
    proposed: Ints,
    accepted: Ints,
) -> int:
    """Propose a birth, a death or a swap; return the new size. Section 3.2, Step (c).

    Parameters
    ----------
    active : ActiveSet
        The set with its factors, changed in place.
    k : int
        Its size.
    move : Move
        Kernel, scores and precisions.
    rng : Generator
        Source of randomness.
    proposed, accepted : ndarray of int of shape (4,)
        Counts of births, deaths and swaps, changed in place.

    Returns
    -------
    k : int
        The size after the move.
    """
    n, m = move.S.shape
    which = choose_move(rng.random(), k, n, move.k_max, move.jump)  # Section 3.2, Step (c)
    if which == STAY:
        return k
    proposed[which] += 1
    log_ratio, new = 0.0, None
    if which != DEATH:
        place = k + int(rng.random() * (n - k))
        new, own = _proposed_newcomer(active, k, place, move)
        if not (new.d2 > 0.0 and new.d2_gram > 0.0):  # a copy of what is there, but for rounding
            return k
        squares = float(new.targets @ new.targets)  # z² of the new row of Z: what s'Q⁻¹s loses
        log_ratio += log_gain(squares, new.d2, new.d2_gram, move.g, m)
    if which != BIRTH:
        r = int(rng.random() * k)
        log_ratio -= log_loss(active, k, r, move.g, new)
    # Eq. (10): Be(k + 1 + a, n - k - 1 + b) / Be(k + a, n - k + b) for a birth at size k.
    if which == BIRTH:
        log_ratio += math.log(k + move.a_alpha) - math.log(n - k - 1 + move.b_alpha)
        log_ratio += log_birth_ratio(k, n, move.k_max, move.jump)
    elif which == DEATH:
        log_ratio -= math.log(k - 1 + move.a_alpha) - math.log(n - k + move.b_alpha)
        log_ratio -= log_birth_ratio(k - 1, n, move.k_max, move.jump)
    if not accepts(log_ratio, rng):
        return k
    accepted[which] += 1
    if which != BIRTH:
        remove(active, k, r)
        k -= 1
    if new is not None:
        if which == SWAP:  # its rows of the smaller factors
            cross = np.delete(new.cross, r + 1)
            new = newcomer(active, k, new.row, cross, own, move.S, move.g, move.tau)
        append(active, k, place, new, own)
        k += 1
    return k


def _warmup() -> None:
    L, Z = np.eye(3), np.zeros((3, 1))
    _forward(L, 2, np.ones(3), np.ones(3), 0)
    _drop_row(L, 3, 1, Z, 1)
