"""Compiled sweeps of the buffet: features of every row of a table, weights integrated out.

Rows with the same features are one pattern of a table; a column is known by its counts, patterns x
levels. A row is taken out of the table and stands beside it as a candidate with any features, so
that an evidence costs the patterns and not the rows. The features that only this row has stay
while its other entries are drawn, and are replaced afterwards; in another order the sweep is not
a Gibbs step. As the weights of s such features act on this row alone by their sum, they are one
column with entry √s.

The number of new features is found by inversion with bounds. A feature of one row adds symmetric
noise to its logits, which can make a level likelier than one half only where it already beats its
best rival; hence most rows are settled without a look at new features, and with the same outcome.
One entry of one row changes little: the evidences of both states differ by a second-order
expansion, column by column, where that is near enough.
"""

from __future__ import annotations

import math

import numpy as np

from octavo.engine.compilation.copies import copy_row, copy_table, fill_row, fill_table
from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.mcmc.compiled_draws import draw_uniform
from octavo.engine.smooth.softmax_laplace import (
    binary_evidence,
    column_evidence,
    expand_column,
    gaussian_evidence,
    row_change,
)

SLACK = 0.7  # by which a Laplace evidence may exceed the bound of an exact one
NEAR = 0.1  # sum of changes of the weights up to which an expansion is as good as Newton
LOOSE = 0.4  # twice the largest error of an expansion that was seen where they change by more


@njit(cache=True, error_model="numpy")
def _find(codes, G, code):
    for p in range(G):
        if codes[p] == code:
            return p
    return -1


@njit(cache=True, error_model="numpy")
def _clear(P, counts, p):
    """Make a pattern one of no features and no rows."""
    fill_row(0.0, P[p])
    P[p, 0] = 1.0
    fill_table(0.0, counts[p])


@njit(cache=True, error_model="numpy")
def _keep(B, ev, many_B, many_ev, s):
    copy_row(ev, many_ev[s])
    for d in range(ev.size):
        copy_table(B[d], many_B[s, d])


@njit(cache=True, error_model="numpy")
def _sum(values):
    total = 0.0
    for value in values:
        total += value
    return total


@njit(cache=True, error_model="numpy")
def _count(counts, p, levels, x, sign):
    """Add a row to a pattern's counts, or take it out."""
    for d in range(levels.size):
        if levels[d] > 0:
            if x[d] >= 0.0:
                counts[p, d, int(x[d])] += sign
        elif not math.isnan(x[d]):
            counts[p, d, 0] += sign
            counts[p, d, 1] += sign * x[d]
            counts[p, d, 2] += sign * x[d] * x[d]


@njit(cache=True, error_model="numpy")
def _add_row(codes, sizes, P, counts, G, K, code, levels, x):
    """Put a row into the table of patterns; return how many patterns there are."""
    p = _find(codes, G, code)
    if p < 0:
        p = G
        G += 1
        codes[p] = code
        sizes[p] = 0
        _clear(P, counts, p)
        for k in range(K):
            P[p, k + 1] = float((code >> k) & 1)
    sizes[p] += 1
    _count(counts, p, levels, x, 1.0)
    return G


@njit(cache=True, error_model="numpy")
def _remove_row(codes, sizes, P, counts, G, code, levels, x):
    """Take a row out; return how many patterns are left."""
    p = _find(codes, G, code)
    sizes[p] -= 1
    _count(counts, p, levels, x, -1.0)
    if sizes[p] == 0:
        G -= 1
        codes[p], sizes[p] = codes[G], sizes[G]
        copy_row(P[G], P[p])
        copy_table(counts[G], counts[p])
    return G


@njit(cache=True, error_model="numpy")
def _swapped(code, a, b):
    """Return the code with two bits exchanged."""
    if ((code >> a) & 1) != ((code >> b) & 1):
        code ^= (1 << a) | (1 << b)
    return code


@njit(cache=True, error_model="numpy")
def _swap_features(rows, codes, G, P, m, B, a, b):
    """Exchange two features everywhere."""
    for i in range(rows.size):
        rows[i] = _swapped(rows[i], a, b)
    for p in range(G):
        codes[p] = _swapped(codes[p], a, b)
        P[p, a + 1], P[p, b + 1] = P[p, b + 1], P[p, a + 1]
    m[a], m[b] = m[b], m[a]
    for d in range(B.shape[0]):
        for r in range(B.shape[2]):
            B[d, a + 1, r], B[d, b + 1, r] = B[d, b + 1, r], B[d, a + 1, r]


@njit(cache=True, error_model="numpy")
def _absent(level, x):
    return x < 0.0 if level > 0 else math.isnan(x)


@njit(cache=True, error_model="numpy")
def evidences(
    P, G, G1, K1, counts, levels, two, many, noise, U, prec, x, k, to, extra, quick, fast, start, S,
    tilt, stale, B, ev, out, work,
):  # fmt: skip
    """Fill the columns' evidences of a candidate and, where not `fast`, their maxima.

    The candidate has the first G1 patterns; the row at G has `to` as its entry k, if k is not
    negative, and `extra` as the variance of features of its own that P does not hold. Columns where
    x is missing keep the evidence that `ev` has, and no maximum is filled. A fast evidence is `ev`
    and its change by expansion. `quick`, `two`, `many` and `noise` are None where no column needs
    them, for the sake of the compiler. Return the sum of all, and how far some column's weights
    move where that is more than near.
    """
    old, g, H, step, pi, held, small = work
    total, loose = 0.0, 0.0
    for d in range(levels.size):
        R = levels[d]
        if _absent(R, x[d]):
            out[d] = ev[d]
            total += ev[d]
            continue
        value = np.nan
        if quick is not None:
            if fast and R > 0 and stale[d]:
                expand_column(
                    P, G + 1, K1, counts, d, R, U, prec, start[d], S[d], tilt[d], H, g, step, pi,
                    held, small,
                )  # fmt: skip
                stale[d] = False
            if fast and R > 0:
                change, far = row_change(
                    P[G], k, to, extra, K1, R, U, int(x[d]), start[d], S[d], tilt[d], pi, step,
                    small,
                )  # fmt: skip
                value = ev[d] + change
                if far > NEAR:
                    loose = max(loose, far)
        if math.isnan(value):
            for i in range(K1):
                for r in range(max(R, 1)):
                    B[d, i, r] = start[d, i, r]
            before = P[G, max(k, 0)]
            if k >= 0:
                P[G, k] = to
            if R == 2:
                if two is not None:
                    value = binary_evidence(P, G1, K1, counts, d, prec, B[d], old, g, H, step)
            elif R > 0:
                if many is not None:
                    value = column_evidence(
                        P, G1, K1, counts, d, R, U, prec, B[d], old, g, H, step, pi, held
                    )
            elif noise is not None:
                value = gaussian_evidence(P, G1, K1, counts, d, prec, noise, B[d], H, g, step)
            P[G, max(k, 0)] = before
        out[d] = value
        total += value
    return total, loose


@njit(cache=True, error_model="numpy")
def _most_from_new(P, G, K1, levels, noise, x, B):
    """Return a bound of log p(x) of the row at G with any number of features of its own."""
    total = 0.0
    for d in range(levels.size):
        R = levels[d]
        if _absent(R, x[d]):
            continue
        if R > 0:
            gap = np.inf  # of the row's level to its best rival
            for r in range(R):
                if r != int(x[d]):
                    here = 0.0
                    for k in range(K1):
                        here += P[G, k] * (B[d, k, int(x[d])] - B[d, k, r])
                    gap = min(gap, here)
            total -= math.log1p(math.exp(-max(gap, 0.0)))
        elif noise is not None:
            gap = x[d]
            for k in range(K1):
                gap -= P[G, k] * B[d, k, 0]
            spread = max(noise, gap * gap)
            total -= 0.5 * (math.log(2.0 * math.pi * spread) + gap * gap / spread)
    return total


@njit(cache=True, error_model="numpy")
def _take(levels, x, K1, B, ev, new_B, new_ev, stale):
    """Make a candidate the state."""
    for d in range(levels.size):
        stale[d] = True
        if not _absent(levels[d], x[d]):
            ev[d] = new_ev[d]
            for k in range(K1):
                for r in range(B.shape[2]):
                    B[d, k, r] = new_B[d, k, r]


@njit(cache=True, error_model="numpy")
def _settled(u, logs, known, rest):
    """Return the number that u picks, or -1 where what is not known yet could change it."""
    total = 0.0
    for j in range(known):
        total += math.exp(logs[j])
    cum = 0.0
    for j in range(known):
        cum += math.exp(logs[j])
        if u * total < cum:
            return j if u * (total + rest) < cum else -1
    return -1 if rest > 0.0 else known - 1


@njit(cache=True, error_model="numpy")
def _stand_aside(n, K, X, rows, codes, sizes, P, counts, G, m, levels, B, stale):
    """Take a row out of the table and put it behind the patterns; its own features come last.

    Return the number of patterns and of features without those that only this row has.
    """
    x, code, s = X[n], rows[n], 0
    G = _remove_row(codes, sizes, P, counts, G, code, levels, x)
    for k in range(K):
        m[k] -= (code >> k) & 1
    for k in range(K - 1, -1, -1):
        if m[k] == 0:
            s += 1
            if k != K - s:
                _swap_features(rows, codes, G, P, m, B, k, K - s)
    K -= s
    _clear(P, counts, G)
    for k in range(K):
        P[G, k + 1] = float((rows[n] >> k) & 1)
    # s features of one row alone are one of value √s: their weights add up to variance s σ_b²
    P[G, K + 1] = math.sqrt(float(s))
    _count(counts, G, levels, x, 1.0)
    if s > 0:
        for d in range(levels.size):
            stale[d] = True
            for r in range(B.shape[2]):
                B[d, K + 1, r] *= math.sqrt(float(s))
    return G, K


@njit(cache=True, error_model="numpy")
def _join(n, K, j, X, rows, codes, sizes, P, counts, G, m, levels, B):
    """Put the row back with j features of its own; return how many patterns there are."""
    x, code = X[n], np.int64(0)
    for k in range(K):
        bit = np.int64(P[G, k + 1])
        code |= bit << k
        m[k] += bit
    for i in range(j):
        code |= np.int64(1) << (K + i)
        m[K + i] = 1
    for d in range(levels.size):
        absent = _absent(levels[d], x[d])
        for i in range(j - 1, -1, -1):
            for r in range(B.shape[2]):
                B[d, K + 1 + i, r] = 0.0 if absent else B[d, K + 1, r] / math.sqrt(float(j))
    rows[n] = code  # by symmetry the j weights are equal at the maximum
    return _add_row(codes, sizes, P, counts, G, K + j, code, levels, x)


@njit(cache=True, error_model="numpy")
def _single_starts(starts, levels, x, K, j, B, save):
    """Take weights of j new features from where such a row found them (save 0), or keep them (1).

    Whole numbers, since True and False would each be compiled.
    """
    for d in range(levels.size):
        level = int(x[d]) if levels[d] > 0 and x[d] >= 0.0 else 0
        for r in range(B.shape[2]):
            if save == 1:
                starts[d, level, min(j, 4), r] = B[d, K + 1, r]
            else:
                B[d, K + 1, r] = starts[d, level, min(j, 4), r]


@njit(cache=True, error_model="numpy")
def sweep_rows(
    order, X, rows, codes, sizes, P, counts, shape, m, levels, two, many, noise, U, prec, alpha,
    max_new, B, ev, many_B, many_ev, starts, S, tilt, stale, state, work, quick, logs, mosts,
    everywhere,
):  # fmt: skip
    """Draw the features of rows in turn; `shape` holds the numbers of patterns and of features.

    `work`, `logs` and `mosts` are room; `everywhere` is a row in which nothing is missing.

    Each row takes steps t: -1 finds the evidence without the row, t < K draws entry t, and later
    ones weigh t - K features of its own. There is one place where evidences are computed, for the
    sake of the compiler; after the last row it computes those of all columns anew.
    """
    G, K = shape[0], shape[1]
    N, spare = X.shape[0], many_ev.shape[0] - 1
    max_features = P.shape[1] - 2
    log_rate = math.log(alpha / N)  # Poisson(α / N) of Section 2.2
    for at in range(order.size + 1):
        last = at == order.size
        n, s, before = 0 if last else order[at], 0, K
        x = everywhere if last else X[n]
        if not last:
            G, K = _stand_aside(n, K, X, rows, codes, sizes, P, counts, G, m, levels, B, stale)
            s = before - K
        K1 = K + 1 if s == 0 else K + 2
        j_max = max(min(max_new, max_features - K), s)
        now, e_minus, limit, log_prior, u = _sum(ev), 0.0, 0.0, 0.0, 0.0
        t, j, sure, guess = -1, -1, False, 0
        while j < 0:
            slot, G1, width, k, to, fast = spare, G + 1, K1, -1, 0.0, s == 0 and not sure
            known, extra = False, 0.0
            if t < 0:
                G1, width = G, K + 1
                fast = fast and not last
            elif t < K:
                k, to = t + 1, 1.0 - P[G, t + 1]
                if not sure:
                    # Eq. (1): m_{-n,k} / N over 1 - m_{-n,k} / N
                    odds = math.log(m[t] / (N - m[t])) if m[t] < N else np.inf
                    odds = odds if to == 1.0 else -odds
                    u = draw_uniform(state)
                    # log odds of u: the rise of the evidence at which z_nk changes
                    limit = math.log(u + 1e-300) - math.log1p(-u) - odds
                    if limit >= e_minus - now + SLACK:  # not even if the row were certain
                        t += 1
                        continue
            elif guess > 0:  # the expansion of this many features of the row's own
                k, to, extra = 0, 1.0, guess / prec
            else:
                slot, fast = t - K, False
                if slot == 0:
                    u = draw_uniform(state)
                    most = e_minus
                    if s == 0:
                        most += _most_from_new(P, G, K1, levels, noise, x, B)
                    else:
                        _keep(B, ev, many_B, many_ev, s)
                    for i in range(j_max + 1):
                        mosts[i] = most - now + SLACK
                else:
                    # the next factor (α / N) / j of the Poisson prior
                    log_prior += log_rate - math.log(float(slot))
                width = K + 1 if slot == 0 else K + 2
                P[G, K + 1] = math.sqrt(float(slot))
                known = slot == s
                if not known:
                    _single_starts(starts, levels, x, K, slot, B, 0)
            rise = loose = 0.0
            if not known:
                rise, loose = evidences(
                    P, G, G1, width, counts, levels, two, many, noise, U, prec, x, k, to, extra,
                    quick, fast, B, S, tilt, stale, many_B[slot], ev, many_ev[slot], work,
                )  # fmt: skip
                rise -= now
            if t < 0:
                e_minus = now + rise
                if last:
                    _take(levels, x, K1, B, ev, many_B[spare], many_ev[spare], stale)
                    break
            elif t < K:
                margin = LOOSE if loose > 0.0 else 0.0
                if quick is not None and fast and rise + margin > limit:  # now with its maxima
                    sure = True
                    continue
                if rise > limit:  # Eq. (1), in logs
                    P[G, t + 1] = to
                    _take(levels, x, K1, B, ev, many_B[spare], many_ev[spare], stale)
                    now = _sum(ev)
                sure = False
            else:
                if guess > 0:
                    mosts[guess] = min(mosts[guess], rise + LOOSE)
                    slot = 0
                else:
                    logs[slot] = log_prior + rise
                    if slot > 0 and not known:
                        _single_starts(starts, levels, x, K, slot, many_B[slot], 1)
                rest, bound = 0.0, log_prior
                for i in range(slot + 1, j_max + 1):
                    bound += log_rate - math.log(float(i))
                    # Poisson mass of more features, each at its largest likelihood
                    rest += math.exp(min(bound + mosts[i], 700.0))
                j = _settled(u, logs, slot + 1, rest)
                if j < 0 and slot == j_max:
                    j = j_max
                if quick is not None and j < 0 and slot == 0 and s == 0 and guess < j_max:
                    guess += 1
                    continue
                guess = 0
            t += 1
        if not last:
            if s > 0 or j > 0:
                _take(levels, x, K + 1 if j == 0 else K + 2, B, ev, many_B[j], many_ev[j], stale)
            # the row's own features are replaced last, once its others are drawn
            G = _join(n, K, j, X, rows, codes, sizes, P, counts, G, m, levels, B)
            K += j
    shape[0], shape[1] = G, K


def _warmup() -> None:
    from octavo.bayes.buffet.chain import BuffetChain

    rng = np.random.default_rng(0)
    for levels in ([2], [3], [2, 3], [2, 3, 0]):
        X, Z = np.zeros((2, len(levels))), np.ones((2, 1), dtype=np.int64)
        for quick in (False, True):
            BuffetChain(X, np.array(levels), Z, rng, quick=quick).sweep()
