"""Which one or two variables of a box-constrained dual to move next, and how far.

    maximise  W(β) = linear'β − ½ β'Kβ   subject to  lower ≤ β ≤ upper,    h = linear − Kβ

There is no equality constraint, so that any variable may move alone and any two together. The
best single variable i* costs one pass. The strategies look for a partner; they are bits of a
mask, and a sum of them takes the candidate pair of the largest exact gain.

Reference: Steinwart, Hush and Scovel (2011), "Training SVMs Without Offset", JMLR 12:141-202,
sections 2.1, 3.1 and 3.2. The numbers of the strategies are theirs; the formulae hold for any
diagonal of K and any box.
"""

from __future__ import annotations

import numpy as np

from octavo.engine.compilation.kernel_cache import njit

SINGLE = -1  # i* alone: the 1D-SVM
ALL_PAIRS = 0  # the best of all pairs
PREVIOUS = 1  # i* and the i* of the iteration before
HALVES = 2  # the best of each half of the samples
NEIGHBOURS = 4  # i* and the best of its nearest neighbours
AHEAD = 8  # i* and what would be best after i* has moved
VIOLATORS = 16  # the two that violate optimality most
PARTNER = 32  # i* and the partner of the largest gain
SOME_PARTNERS = 64  # the same among a random fifth
CLIPPED = 128  # i* and the partner of the largest approximate gain
RANDOM_PAIRS = 256  # the best of n random pairs
INNER = 512  # i* and the best inner support vector, by a closed form
SOME_INNER = 1024  # the same among a random fifth
EXTRA_INNER = 2048  # random pairs of inner support vectors beside what the others found
LAST = 2 * EXTRA_INNER
NEEDS_MATRIX = VIOLATORS | RANDOM_PAIRS | EXTRA_INNER  # entries of K outside row i*

BLOCK, LARGE_BLOCK = 16, 64  # samples that share a half; the second for many samples
_NEVER = np.iinfo(np.int64).min
_NOT_SIGN = np.iinfo(np.int64).max
_STAYS = int(np.array(-np.inf).view(np.int64)) ^ _NOT_SIGN  # the rank of minus infinity
_SINGULAR = 1e-12  # 1 − correlation² below which two samples count as collinear


# --- the largest of many --------------------------------------------------------------------


@njit(cache=True, nogil=True)
def largest_entry(values):
    """Return the largest value; eight running maxima, for one would wait for itself."""
    a = b = c = d = e = f = g = h = -np.inf
    even = values.size - values.size % 8
    for t in range(0, even, 8):
        a, b = max(a, values[t]), max(b, values[t + 1])
        c, d = max(c, values[t + 2]), max(d, values[t + 3])
        e, f = max(e, values[t + 4]), max(f, values[t + 5])
        g, h = max(g, values[t + 6]), max(h, values[t + 7])
    for t in range(even, values.size):
        a = max(a, values[t])
    return max(max(max(a, b), max(c, d)), max(max(e, f), max(g, h)))


@njit(cache=True, nogil=True)
def _where_equal(values, value):
    for t in range(values.size):
        if values[t] == value:
            return t
    return 0


@njit(cache=True, nogil=True)
def first_largest(values):
    """Return the first place of the largest value; several times as fast as one branching loop."""
    return _where_equal(values, largest_entry(values))


@njit(cache=True, nogil=True)
def _largest_bits(bits):
    """Return the largest of integers: one loop that the compiler vectorises."""
    largest = np.int64(_NEVER)
    for t in range(bits.size):
        largest = max(largest, bits[t])
    return largest


@njit(cache=True, nogil=True)
def halves(gain, side):
    """Return the best variable of each half; blocks of samples are assigned by `side`.

    Gains are not negative, so that they compare like the integers that share their bits.
    """
    bits = gain.view(np.int64)
    block = BLOCK if side.size * BLOCK >= gain.size else LARGE_BLOCK
    best_0, best_1, block_0, block_1 = np.int64(-1), np.int64(-1), -1, -1
    for b in range(side.size):
        largest = _largest_bits(bits[b * block : (b + 1) * block])
        if side[b]:
            if largest > best_1:
                best_1, block_1 = largest, b
        elif largest > best_0:
            best_0, block_0 = largest, b
    first = second = -1
    if block_0 >= 0:
        first = block_0 * block + _where_equal(bits[block_0 * block :], best_0)
    if block_1 >= 0:
        second = block_1 * block + _where_equal(bits[block_1 * block :], best_1)
    return (first, second) if best_0 >= best_1 else (second, first)


@njit(cache=True, nogil=True)
def _draw(state, n):
    """Return a random integer below n (splitmix64); `state` moves on."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return np.int64((z >> np.uint64(11)) % np.uint64(n))


# --- steps ----------------------------------------------------------------------------------


@njit(cache=True, nogil=True)
def _clip(value, low, high):
    return low if value < low else (high if value > high else value)


@njit(cache=True, nogil=True)
def _one_step(b, h, k, low, high):
    """Return the best move of one variable, Eq. (4); k = 0 leaves only the bounds."""
    if k > 0.0:
        return _clip(b + h / k, low, high) - b
    return (high - b) if h > 0.0 else ((low - b) if h < 0.0 else 0.0)


@njit(cache=True, nogil=True)
def _pair_gain(di, dj, hi, hj, kii, kjj, kij):
    """Return how much a move of two variables gains, Lemma 2."""
    return di * (hi - 0.5 * di * kii) + dj * (hj - 0.5 * dj * kjj) - di * dj * kij


@njit(cache=True, nogil=True)
def _along_edge(best, fixed_first, di, bj, hi, hj, kii, kjj, kij, lj, uj):
    """Fix the move of one variable, do the best with the other; keep what gains more."""
    # the rest of Lemma 2 in dj is Lemma 1 with h_j − di K_ij
    dj = _one_step(bj, hj - di * kij, kjj, lj, uj)
    gain = _pair_gain(di, dj, hi, hj, kii, kjj, kij)
    if gain > best[2]:
        return (di, dj, gain) if fixed_first else (dj, di, gain)
    return best


@njit(cache=True, nogil=True)
def _pair_step(bi, bj, hi, hj, kii, kjj, kij, li, ui, lj, uj):
    """Return the best move of two variables in their box and its gain, section 3.1."""
    determinant = kii * kjj - kij * kij
    best = (0.0, 0.0, 0.0)
    if determinant > _SINGULAR * kii * kjj:
        ni = bi + (hi * kjj - hj * kij) / determinant  # Eq. (12)
        nj = bj + (hj * kii - hi * kij) / determinant
        out_i, out_j = ni < li or ni > ui, nj < lj or nj > uj
        if not (out_i or out_j):
            di, dj = ni - bi, nj - bj
            return di, dj, _pair_gain(di, dj, hi, hj, kii, kjj, kij)
        # W is concave: its maximum in the box lies on an edge that the free one is beyond
        if out_i:
            edge = li if ni < li else ui
            best = _along_edge(best, True, edge - bi, bj, hi, hj, kii, kjj, kij, lj, uj)
        if out_j:
            edge = lj if nj < lj else uj
            best = _along_edge(best, False, edge - bj, bi, hj, hi, kjj, kii, kij, li, ui)
        return best
    return _collinear_step(bi, bj, hi, hj, kii, kjj, kij, li, ui, lj, uj)


@njit(cache=True, nogil=True)
def _collinear_step(bi, bj, hi, hj, kii, kjj, kij, li, ui, lj, uj):
    """The cases K_ij = ±1: W is linear along one direction, so that an edge has its maximum."""
    if kij > 0.0 and abs(kii - kjj) <= 1e-10 * kii and abs(hi - hj) <= 1e-10 * (1.0 + abs(hi)):
        # a duplicate with the same label: only the sum counts, and is shared out evenly
        total = hi / kii + bi + bj
        low, high = max(li, total - uj), min(ui, total - lj)  # α_i + α_j is what Eq. (11) fixes
        if low <= high:
            ni = _clip(0.5 * total, low, high)
            di, dj = ni - bi, _clip(total - ni, lj, uj) - bj
            return di, dj, _pair_gain(di, dj, hi, hj, kii, kjj, kij)
    best = (0.0, 0.0, 0.0)
    best = _along_edge(best, True, li - bi, bj, hi, hj, kii, kjj, kij, lj, uj)
    best = _along_edge(best, True, ui - bi, bj, hi, hj, kii, kjj, kij, lj, uj)
    best = _along_edge(best, False, lj - bj, bi, hj, hi, kjj, kii, kij, li, ui)
    return _along_edge(best, False, uj - bj, bi, hj, hi, kjj, kii, kij, li, ui)


@njit(cache=True, nogil=True)
def _clipped_gain(bi, bj, hi, hj, kii, kjj, kij, li, ui, lj, uj):
    """Return the gain of clipping the free optimum into the box, as WSS 128 does."""
    determinant = kii * kjj - kij * kij
    if determinant <= _SINGULAR * kii * kjj:
        return _collinear_step(bi, bj, hi, hj, kii, kjj, kij, li, ui, lj, uj)[2]
    di = _clip(bi + (hi * kjj - hj * kij) / determinant, li, ui) - bi
    dj = _clip(bj + (hj * kii - hi * kij) / determinant, lj, uj) - bj
    return _pair_gain(di, dj, hi, hj, kii, kjj, kij)


@njit(cache=True, nogil=True)
def _single_gains(beta, h, lower, upper, diagonal, inverse, gain):
    """Write the exact gain of moving each variable alone, Lemma 1."""
    for t in range(gain.size):
        b, g = beta[t], h[t]
        target = b + g * inverse[t]
        target = lower[t] if target < lower[t] else target
        target = upper[t] if target > upper[t] else target
        d = target - b
        value = d * (g - 0.5 * d * diagonal[t])
        gain[t] = value if value > 0.0 else 0.0  # never less, but for rounding


@njit(cache=True, nogil=True)
def _single_gains_unit(beta, h, lower, upper, gain):
    """The same for a kernel with k(x, x) = 1."""
    for t in range(gain.size):
        b, g = beta[t], h[t]
        target = b + g
        target = lower[t] if target < lower[t] else target
        target = upper[t] if target > upper[t] else target
        d = target - b
        value = d * (g - 0.5 * d)
        gain[t] = value if value > 0.0 else 0.0


# --- partners -------------------------------------------------------------------------------


@njit(cache=True, nogil=True)
def _best_pair(best, count, pairs, i, row, K, diagonal, beta, h, lower, upper):
    """Return (gain, a, b, move of a, move of b) of the listed pair with the largest exact gain.

    The one place where exact steps are tried, so that they are compiled once.
    """
    for at in range(count):
        a, b = pairs[at, 0], pairs[at, 1]
        if a == b:
            continue
        kab = row[b] if a == i else K[a, b]
        da, db, gain = _pair_step(
            beta[a], beta[b], h[a], h[b], diagonal[a], diagonal[b], kab, lower[a], upper[a],
            lower[b], upper[b],
        )  # fmt: skip
        if gain > best[0]:
            best = (gain, a, b, da, db)
    return best


@njit(cache=True, nogil=True)
def _add_pair(pairs, count, a, b):
    """Put a pair on the list of candidates; return the new length."""
    if b >= 0:
        pairs[count, 0], pairs[count, 1] = a, b
        count += 1
    return count


@njit(cache=True, nogil=True)
def _closeness(row, diagonal, lower, upper, values, rank):
    """Write integers that order samples as 2 k(x_i, x) − k(x, x) does; the least if they stay.

    ``rank`` are the bits of ``values``.
    """
    for t in range(row.size):
        close = 2.0 * row[t] - diagonal[t]
        values[t] = close if lower[t] < upper[t] else -np.inf
    for t in range(row.size):  # the bits of floats, with those of negative ones turned round
        rank[t] ^= (rank[t] >> 63) & _NOT_SIGN


@njit(cache=True, nogil=True)
def _nearest_by_kernel(i, row, diagonal, lower, upper, found, values):
    """Write the samples nearest to i in the metric of the kernel, among those that can move."""
    rank = values.view(np.int64)
    _closeness(row, diagonal, lower, upper, values, rank)
    rank[i] = _NEVER
    n_blocks = -(-row.size // LARGE_BLOCK)
    tops = np.empty(n_blocks, np.int64)
    for b in range(n_blocks):
        tops[b] = _largest_bits(rank[b * LARGE_BLOCK : (b + 1) * LARGE_BLOCK])
    for at in range(found.size):
        best = 0
        for b in range(1, n_blocks):
            if tops[b] > tops[best]:
                best = b
        part = rank[best * LARGE_BLOCK : (best + 1) * LARGE_BLOCK]
        if tops[best] <= _STAYS:
            found[at] = -1
            continue
        place = _where_equal(part, tops[best])
        found[at] = best * LARGE_BLOCK + place
        part[place] = _NEVER
        tops[best] = _largest_bits(part)


@njit(cache=True, nogil=True)
def _list_neighbours(pairs, count, i, row, nearby, diagonal, lower, upper, score):
    """WSS 4. Neighbours are looked up when a sample is first asked for, and remembered."""
    if nearby[i, 0] == -2:
        _nearest_by_kernel(i, row, diagonal, lower, upper, nearby[i], score)
    for at in range(nearby.shape[1]):
        count = _add_pair(pairs, count, i, nearby[i, at])
    return count


@njit(cache=True, nogil=True)
def _ahead(i, row, diagonal, beta, h, lower, upper, score):
    """WSS 8: return the best single variable after variable i has moved alone."""
    step = _one_step(beta[i], h[i], diagonal[i], lower[i], upper[i])
    for t in range(row.size):
        g = h[t] - step * row[t]
        d = _one_step(beta[t], g, diagonal[t], lower[t], upper[t])
        score[t] = d * (g - 0.5 * d * diagonal[t])
    score[i] = -1.0
    return first_largest(score)


@njit(cache=True, nogil=True)
def _violators(beta, h, lower, upper, score):
    """WSS 16: return the two variables that violate the optimality conditions most."""
    for t in range(h.size):
        up = h[t] if beta[t] < upper[t] else 0.0
        down = -h[t] if beta[t] > lower[t] else 0.0
        score[t] = up if up > down else down
    first = first_largest(score)
    score[first] = -1.0
    return first, first_largest(score)


@njit(cache=True, nogil=True)
def _clipped_partner(i, row, diagonal, beta, h, lower, upper, score):
    """WSS 128: return the partner of the largest approximate gain."""
    bi, hi, kii, li, ui = beta[i], h[i], diagonal[i], lower[i], upper[i]
    for j in range(row.size):
        score[j] = _clipped_gain(
            bi, beta[j], hi, h[j], kii, diagonal[j], row[j], li, ui, lower[j], upper[j]
        )
    score[i] = -1.0
    return first_largest(score)


@njit(cache=True, nogil=True)
def _is_inner(t, beta, lower, upper):
    return lower[t] < beta[t] < upper[t]


@njit(cache=True, nogil=True)
def _free_gain(hi, hj, kii, kjj, kij):
    """Return the gain of a pair that no bound stops; -1 for collinear samples."""
    determinant = kii * kjj - kij * kij
    if determinant <= _SINGULAR * kii * kjj:  # Lemma 2 at Eq. (12)
        return -1.0
    return 0.5 * (hi * hi * kjj + hj * hj * kii - 2.0 * hi * hj * kij) / determinant


@njit(cache=True, nogil=True)
def _inner_partner(i, row, every, diagonal, beta, h, lower, upper, state):
    """WSS 512 and 1024: return the best inner partner by the closed form, or -1.

    `every` = 1 looks at all of them, 5 at each with a chance of one in five.
    """
    partner, best = -1, -1.0
    for j in range(row.size):
        if j == i or not _is_inner(j, beta, lower, upper):
            continue
        if every > 1 and _draw(state, every) != 0:
            continue
        gain = _free_gain(h[i], h[j], diagonal[i], diagonal[j], row[j])
        if gain > best:
            best, partner = gain, j
    return partner


@njit(cache=True, nogil=True)
def _random_inner_pair(K, diagonal, beta, h, lower, upper, state):
    """WSS 2048: return the best by the closed form among random pairs of inner variables."""
    inner = np.empty(h.size, np.int64)
    count = 0
    for t in range(h.size):
        if _is_inner(t, beta, lower, upper):
            inner[count] = t
            count += 1
    first, second, best = -1, -1, -1.0
    for _ in range(count // 5 + 1 if count > 1 else 0):
        a, b = inner[_draw(state, count)], inner[_draw(state, count)]
        gain = _free_gain(h[a], h[b], diagonal[a], diagonal[b], K[a, b]) if a != b else -1.0
        if gain > best:
            first, second, best = a, b, gain
    return first, second


@njit(cache=True, nogil=True)
def _list_random(pairs, count, mask, i, n, state):
    """WSS 64 and 256: random partners, random pairs."""
    if mask & SOME_PARTNERS:
        for _ in range(max(n // 5, 1)):
            count = _add_pair(pairs, count, i, _draw(state, n))
    if mask & RANDOM_PAIRS:
        for _ in range(n):
            count = _add_pair(pairs, count, _draw(state, n), _draw(state, n))
    return count


@njit(cache=True, nogil=True)
def _list_inner(pairs, count, mask, i, flag, row, K, diagonal, beta, h, lower, upper, state):
    """WSS 512, 1024 and 2048: partners among the inner support vectors."""
    if mask & INNER and flag:
        j = _inner_partner(i, row, 1, diagonal, beta, h, lower, upper, state)
        count = _add_pair(pairs, count, i, j)
    if mask & SOME_INNER:
        j = _inner_partner(i, row, 5, diagonal, beta, h, lower, upper, state)
        count = _add_pair(pairs, count, i, j)
    if mask & EXTRA_INNER:
        a, b = _random_inner_pair(K, diagonal, beta, h, lower, upper, state)
        count = _add_pair(pairs, count, a, b)
    return count


@njit(cache=True, nogil=True)
def _list_searched(pairs, count, mask, i, row, diagonal, beta, h, lower, upper, score):
    """WSS 8, 16, 32 and 128: another pass over all samples."""
    if mask & AHEAD:
        j = _ahead(i, row, diagonal, beta, h, lower, upper, score)
        count = _add_pair(pairs, count, i, j)
    if mask & VIOLATORS:
        a, b = _violators(beta, h, lower, upper, score)
        count = _add_pair(pairs, count, a, b)
    if mask & PARTNER:
        for j in range(h.size):
            count = _add_pair(pairs, count, i, j)
    if mask & CLIPPED:
        j = _clipped_partner(i, row, diagonal, beta, h, lower, upper, score)
        count = _add_pair(pairs, count, i, j)
    return count


@njit(cache=True, nogil=True)
def _select(
    mask, rare, i, other, previous, flag, row, K, diagonal, beta, h, lower, upper, score, pairs,
    nearby, state,
):  # fmt: skip
    """Return (gain, i, j, move of i, move of j) for the strategies in `mask`; j = -1 for one.

    `i` is the best single variable, `other` the best of the half that i is not in, `row` the
    row of K that belongs to i, `nearby` the neighbours found so far. `score` and `pairs` are
    room to write in. `rare` is `rare_strategies(mask)`: where it is None, the compiler drops
    the branches of the others, which take two thirds of its time.
    """
    n = h.size
    d = _one_step(beta[i], h[i], diagonal[i], lower[i], upper[i])
    single = best = (d * (h[i] - 0.5 * d * diagonal[i]), i, -1, d, 0.0)
    if mask == SINGLE:
        return single
    count = np.int64(0)  # not a literal, for which `_add_pair` would be compiled once more
    if rare is not None:
        if mask == ALL_PAIRS:
            for a in range(n):
                for b in range(a):
                    count = _add_pair(pairs, count, a, b)
        elif not mask & ~(VIOLATORS | RANDOM_PAIRS):
            best = (0.0, -1, -1, 0.0, 0.0)  # these choose pairs that i* need not be part of
    if mask & PREVIOUS or (mask & NEIGHBOURS and not flag):
        count = _add_pair(pairs, count, i, previous)
    if mask & HALVES:
        count = _add_pair(pairs, count, i, other)
    if mask & NEIGHBOURS and flag:
        count = _list_neighbours(pairs, count, i, row, nearby, diagonal, lower, upper, score)
    if rare is not None:
        if mask & (AHEAD | VIOLATORS | PARTNER | CLIPPED):
            count = _list_searched(
                pairs, count, mask, i, row, diagonal, beta, h, lower, upper, score
            )
        if mask & (SOME_PARTNERS | RANDOM_PAIRS):
            count = _list_random(pairs, count, mask, i, n, state)
        if mask & (INNER | SOME_INNER | EXTRA_INNER) and _is_inner(i, beta, lower, upper):
            count = _list_inner(
                pairs, count, mask, i, flag, row, K, diagonal, beta, h, lower, upper, state
            )
    best = _best_pair(best, count, pairs, i, row, K, diagonal, beta, h, lower, upper)
    return best if best[1] >= 0 else single


def rare_strategies(mask: int) -> bool | None:
    """Return None where `mask` holds the default strategies alone, else True."""
    plain = mask == SINGLE or (mask != ALL_PAIRS and not mask & ~(PREVIOUS | HALVES | NEIGHBOURS))
    return None if plain else True


def room_for_pairs(mask: int, n: int, n_neighbors: int) -> int:
    """Return how many pairs the strategies may list."""
    if mask == ALL_PAIRS:
        return n * (n - 1) // 2
    return (3 * n if mask & (PARTNER | SOME_PARTNERS | RANDOM_PAIRS) else 0) + n_neighbors + 8


# --- the ascent -----------------------------------------------------------------------------


@njit(cache=True, nogil=True)
def update_gains(beta, h, lower, upper, diagonal, inverse, gain):
    """Write the gains of single variables; an `inverse` of None says that the diagonal is 1."""
    if inverse is None:
        _single_gains_unit(beta, h, lower, upper, gain)
    else:
        _single_gains(beta, h, lower, upper, diagonal, inverse, gain)


@njit(cache=True, nogil=True)
def _move(t, d, beta, lower, upper):
    """Move one variable; who reaches a bound up to rounding is put exactly there."""
    new = beta[t] + d
    room = 1e-14 * (upper[t] - lower[t])
    beta[t] = lower[t] if new <= lower[t] + room else (upper[t] if new >= upper[t] - room else new)


@njit(cache=True, nogil=True)
def subtract_row(h, d, row):
    for t in range(h.size):
        h[t] -= d * row[t]


@njit(cache=True, nogil=True)
def _subtract_two_rows(h, d, row, e, other):
    for t in range(h.size):
        h[t] -= d * row[t] + e * other[t]


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def box_gap(beta, h, lower, upper):
    """Return the duality gap, Eq. (7): Σ max over the box of h_i (β̃_i − β_i)."""
    total = 0.0
    for t in range(h.size):
        # max over the box, bound by bound
        total += ((upper[t] if h[t] > 0.0 else lower[t]) - beta[t]) * h[t]
    return total


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def gap_clipped(beta, h, lower, upper):
    """Return S of Eq. (9): the gap with the slack of every sample clipped at 2."""
    total = 0.0
    for t in range(h.size):  # [h]² of Eq. (9), from 0 to 2 in variables without signs
        slack = h[t] if h[t] < 2.0 else 2.0
        slack = slack if slack > -2.0 else -2.0
        total += (upper[t] if slack > 0.0 else lower[t]) * slack - beta[t] * h[t]
    return total


@njit(cache=True, nogil=True)
def kkt_violation(beta, h, lower, upper):
    """Return the largest violation of the optimality conditions, Eq. (5)."""
    worst = 0.0
    for t in range(h.size):
        if h[t] > worst and beta[t] < upper[t]:
            worst = h[t]
        if -h[t] > worst and beta[t] > lower[t]:
            worst = -h[t]
    return worst


STOP_VALUES = (gap_clipped, box_gap, kkt_violation)


def stop_value(rule: int, beta, h, lower, upper) -> float:
    """Return what a stopping rule, a place in `STOP_VALUES`, looks at."""
    return STOP_VALUES[rule](beta, h, lower, upper)


@njit(cache=True, nogil=True)
def _stop_value(other_rule, beta, h, lower, upper):
    """The same in a kernel; None is rule 0, for which the compiler leaves the others out."""
    if other_rule is None:
        return gap_clipped(beta, h, lower, upper)
    else:
        if other_rule == 1:
            return box_gap(beta, h, lower, upper)
        return kkt_violation(beta, h, lower, upper)


@njit(cache=True, nogil=True)
def _both_inner(a, b, beta, lower, upper):
    return _is_inner(a, beta, lower, upper) and (b < 0 or _is_inner(b, beta, lower, upper))


@njit(cache=True, nogil=True)
def _remember(memory, i, inner):
    """Note the step: the previous variable, and whether most steps move inner variables.

    memory = [previous, flag, steps counted, of them inner]; the flag is set anew every ten
    steps, and says whether in at least five both variables were inner before they moved.
    """
    memory[0] = i
    memory[2] += 1
    memory[3] += inner
    if memory[2] == 10:
        memory[1] = 1 if memory[3] >= 5 else 0
        memory[2] = memory[3] = 0


@njit(cache=True, nogil=True)
def ascend_box(
    K, diagonal, inverse, beta, h, lower, upper, mask, rare, other_rule, threshold, max_iter,
    side, nearby, memory, state, gain, score, pairs, trace,
):  # fmt: skip
    """Move variables until the stopping rule is met; return the steps and why it ended.

    0: met; 1: `max_iter` steps; 2: no step gains anything. Where `inverse`, `rare`, `other_rule`
    and `trace` are None, as they are by default, the compiler leaves out what they are for.
    """
    update_gains(beta, h, lower, upper, diagonal, inverse, gain)
    done = 0
    while True:
        # near the start every step is checked, later every eighth: a check costs a pass
        look = done < 8 or done % 8 == 0 or done == max_iter
        if trace is not None:
            look = True
        if look and _stop_value(other_rule, beta, h, lower, upper) <= threshold:
            return done, 0
        if done == max_iter:
            return done, 1
        i, other = halves(gain, side)
        best, a, b, da, db = _select(
            mask, rare, i, other, memory[0], memory[1] == 1, K[i], K, diagonal, beta, h, lower,
            upper, score, pairs, nearby, state,
        )  # fmt: skip
        if not best > 0.0:
            return done, 2
        _remember(memory, i, _both_inner(a, b, beta, lower, upper))
        _move(a, da, beta, lower, upper)
        if b >= 0:
            _move(b, db, beta, lower, upper)
            _subtract_two_rows(h, da, K[a], db, K[b])
        else:
            subtract_row(h, da, K[a])
        update_gains(beta, h, lower, upper, diagonal, inverse, gain)
        done += 1
        if trace is not None:
            trace[done, 0] = trace[done - 1, 0] + best
            trace[done, 1] = box_gap(beta, h, lower, upper)
            trace[done, 2] = gap_clipped(beta, h, lower, upper)


@njit(cache=True, nogil=True)
def step_by_columns(
    i, other, row, K, diagonal, beta, h, lower, upper, mask, rare, memory, score, pairs, nearby,
    state,
):  # fmt: skip
    """Choose and move with row i of K alone; return the gain, the partner and its move.

    The partner's row has still to be subtracted.
    """
    best, _, b, da, db = _select(
        mask, rare, i, other, memory[0], memory[1] == 1, row, K, diagonal, beta, h, lower, upper,
        score, pairs, nearby, state,
    )  # fmt: skip
    if best > 0.0:
        _remember(memory, i, _both_inner(i, b, beta, lower, upper))
        _move(i, da, beta, lower, upper)
        if b >= 0:
            _move(b, db, beta, lower, upper)
        subtract_row(h, da, row)
    return best, b, db


def _warmup() -> None:
    """Compile every kernel of this module: the solver that calls them does."""
    from octavo.engine.duals import smo

    smo._warmup()
