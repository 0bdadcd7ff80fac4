"""Splits and merges of the clusters of a plain mixture, with all parameters integrated out.

Single rows change the number of clusters slowly. Two rows drawn at random propose to split the
cluster that they share, or to merge the two that they are in; a split lets the others choose, one
after another, between the two sides (D. B. Dahl, 2005, "Sequentially-allocated merge-split sampler
for conjugate and nonconjugate Dirichlet process mixture models", technical report, Texas A&M
University). Most merges are hopeless, which marginal densities tell before any row is passed.
"""

from __future__ import annotations

import math

from octavo.bayes.enriched_dp.allocation import (
    add_to_regression,
    collapsed_log_like,
    drop_x_cluster,
    drop_y_cluster,
)
from octavo.bayes.enriched_dp.densities import (
    X_CLUSTER,
    add_to_sums,
    block_sums,
    clear_sums,
    normal_posterior,
    predictive_psi,
    x_log_like,
)
from octavo.bayes.enriched_dp.state import (
    ALPHA,
    COUNT,
    OWNER,
    PARTS,
    PROBIT,
    ROWS,
    SIZE,
    SQUARES,
    SUM1,
    SUM2,
)
from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.linalg.small_cholesky import factor_in_place, solve_lower
from octavo.engine.mcmc.compiled_draws import draw_uniform

PAIRS = 10  # of rows that propose in a sweep


@njit(cache=True, error_model="numpy")
def log_marginal_x(side, n, x, gauss, others, where, xp, xt):
    """Return log h_x of the rows of a side, without 2π and x!, which splits do not change."""
    clear_sums(0, xp, xt)
    for i in range(where.size):
        if where[i] == side:
            add_to_sums(1.0, x, i, 0, others, xp, xt)
    value = 0.0
    for h in range(gauss.shape[1]):
        c, a, b = gauss[1, h], gauss[2, h], gauss[3, h]
        _, after, shape, rate = normal_posterior(n, xp[0, SUM1, h], xp[0, SUM2, h], gauss, h)
        # h_x of a block, a column at a time
        value += 0.5 * math.log(c / after) + a * math.log(b) - shape * math.log(rate)
        value += math.lgamma(shape) - math.lgamma(a)
    if others is None:
        return value
    for g in range(others.shape[0]):
        start, width, a, b = int(others[g, 1]), int(others[g, 2]), others[g, 3], others[g, 4]
        if others[g, 0] == COUNT:
            total = a + xt[0, 1, start]  # gamma-Poisson marginal
            value += math.lgamma(total) - math.lgamma(a)
            value += a * math.log(b) - total * math.log(b + n)
            continue
        # Dirichlet-multinomial marginal
        value += math.lgamma(a * width) - math.lgamma(a * width + n)
        for v in range(start, start + width):
            value += math.lgamma(a + xt[0, 1, v]) - math.lgamma(a)
    return value


@njit(cache=True, error_model="numpy")
def log_marginal(
    side, x, design, rows, prior, scalars, gauss, others, modes, where, xi, pxp, pxt, block,
):  # fmt: skip
    """Return log Γ(n) h_y h_x of the rows of a side, without 2π; a probit's latents are given."""
    n = 0
    for i in range(where.size):
        if where[i] == side:
            n += 1
    # Γ(n_j) of Eq. (3), and h_x
    value = math.lgamma(float(n)) + log_marginal_x(side, n, x, gauss, others, where, pxp, pxt)
    d, rest = design.shape[1], block_sums(side, X_CLUSTER, design, rows, prior, where, xi, block)
    value -= 0.5 * factor_in_place(block)
    solve_lower(block, block[d], block[d + 1])
    for h in range(d):
        value += math.log(prior[d + h, h])
        rest -= block[d + 1, h] * block[d + 1, h]
    if modes[0] == PROBIT:
        return value - 0.5 * rest
    a, b, after = scalars[0], scalars[1], scalars[0] + 0.5 * n
    value += a * math.log(b) - after * math.log(b + 0.5 * max(rest, 0.0))  # h_y of Eq. (3)
    return value + math.lgamma(after) - math.lgamma(a)


@njit(cache=True, error_model="numpy")
def pass_rows(
    split, least, n_between, order, x, design, rows, prior, scalars, gauss, others, modes, where,
    pxp, pxt, pys, pyi, pdeep, rng, work,
):  # fmt: skip
    """Return log q of a division of rows that choose a side in turn, the first two given.

    A split draws the sides; a merge reads them, and ends once log q is below `least`.
    """
    d, log_q = design.shape[1], 0.0
    for s in range(2):
        clear_sums(s, pxp, pxt)
        pyi[s, ROWS], pys[s, SQUARES] = 0, 0.0
        for h in range(d):
            pdeep[s, d, h] = pdeep[s, d + 1, h] = 0.0
            for g in range(h + 1):
                pdeep[s, h, g] = prior[d + h, g]
    for t in range(n_between):
        i = order[t]
        s = t
        if t > 1:
            odds = math.log(pyi[1, ROWS] / pyi[0, ROWS])  # n_1 / n_0 of the sequential restaurant
            for s in range(2):
                value = x_log_like(x, i, s, pxp, pxt, others, pdeep)
                value += collapsed_log_like(
                    modes[0], i, s, design, rows, scalars, pyi, pys, pdeep, work
                )
                odds += value if s == 1 else -value
            s = where[i]
            if split:
                s = 1 if draw_uniform(rng) * (1.0 + math.exp(-odds)) < 1.0 else 0
            if s == 0:
                odds = -odds
            # log of the chosen side's chance; its limit where exp would overflow
            log_q -= math.log1p(math.exp(-odds)) if odds > -700.0 else -odds
            if log_q < least:
                return log_q
        where[i] = s
        add_to_sums(1.0, x, i, s, others, pxp, pxt)
        add_to_regression(1.0, i, s, design, rows, pys, pdeep, work)
        pyi[s, ROWS] += 1
        predictive_psi(s, pyi[s, ROWS], gauss, others, pxp, pxt)
    return log_q


@njit(cache=True, error_model="numpy")
def draw_pair(labels, where, both, order, rng):
    """Draw two rows; list them and the others of their clusters in random order.

    `where` is 0 in the first row's cluster, 1 in the second's if that is another, -1 elsewhere;
    `both` is 0 in either.
    """
    n = labels.size
    first, second = int(draw_uniform(rng) * n), int(draw_uniform(rng) * (n - 1))
    second = second + 1 if second >= first else second
    a, b = labels[first], labels[second]
    order[0], order[1], m = first, second, 2
    for i in range(n):
        where[i] = both[i] = -1
        if labels[i] == a or labels[i] == b:
            where[i] = 0 if labels[i] == a else 1
            both[i] = 0
            if i != first and i != second:
                order[m] = i
                m += 1
    for t in range(m - 1, 2, -1):
        # Fisher and Yates, the first two rows left in place
        u = 2 + int(draw_uniform(rng) * (t - 1))
        i = order[t]
        order[t] = order[u]
        order[u] = i
    return a, b, m


@njit(cache=True, error_model="numpy")
def split_and_merge(
    times, x, design, rows, prior, scalars, gauss, others, modes, labels, sizes, xi, yi, xp, xt,
    beta, ys, deep, pxp, pxt, pys, pyi, pdeep, where, both, order, rng, block, tried,
):  # fmt: skip
    """Propose splits and merges, `times` pairs of rows; parameters are to be redrawn after it."""
    for _ in range(times):
        a, b, m = draw_pair(labels, where, both, order, rng)
        split, log_u = a == b, math.log(1.0 - draw_uniform(rng))
        tried[1, 0 if split else 1] += 1.0
        log_q = gain = 0.0
        for stage in range(2):  # rows are passed before the marginals of a split, after a merge's
            if (stage == 0) == split:
                log_q = pass_rows(
                    split, -math.inf if split else log_u + gain, m, order, x, design, rows, prior,
                    scalars, gauss, others, modes, where, pxp, pxt, pys, pyi, pdeep, rng,
                    block[-1],
                )  # fmt: skip
            if stage == 1:
                break
            # α of Eq. (3)
            gain = math.log(scalars[7])  # of a split, in the posterior of the partition
            for turn in range(3):
                value = log_marginal(
                    turn % 2, x, design, rows, prior, scalars, gauss, others, modes,
                    both if turn == 2 else where, xi, pxp, pxt, block,
                )  # fmt: skip
                # Eq. (3) of two clusters over that of their union
                gain += value if turn < 2 else -value
            if not split and log_u >= -gain:
                break
        if split:
            # p(split) / (p(union) q); a merge is the inverse, and its own q is 1
            if log_u >= gain - log_q:
                continue
            tried[0, 0] += 1.0
            j, l = sizes[0], sizes[1]
            sizes[0], sizes[1] = j + 1, l + 1
            ys[j, ALPHA] = scalars[6]
            xi[l, OWNER], xi[l, SIZE], yi[j, ROWS], yi[j, PARTS] = j, 0, 0, 1
            b = l
        else:
            if log_u >= -gain or log_u >= log_q - gain:
                continue
            tried[0, 1] += 1.0
            a, b = b, a
        j, g = xi[a, OWNER], xi[b, OWNER]
        for t in range(m):  # rows of side 1 go from a to b
            i = order[t]
            if where[i] == 1:
                labels[i] = b
                xi[a, SIZE] -= 1
                yi[j, ROWS] -= 1
                xi[b, SIZE] += 1
                yi[g, ROWS] += 1
        if not split:
            drop_x_cluster(a, labels, sizes, xi, yi, xp, xt)
            drop_y_cluster(j, sizes, xi, yi, beta, ys, deep)


def _warmup() -> None:
    from octavo.bayes.enriched_dp.chain import warm_chain

    warm_chain()
