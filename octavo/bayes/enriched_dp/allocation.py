"""Step 1 of a sweep: each row chooses its y- and x-cluster given all others (Eq. 16).

Existing clusters are judged by their parameters (Neal's Algorithm 2), or by their predictive laws
with the parameters integrated out (Algorithm 3, `collapsed`). A response without a conjugate prior
chooses among parameters drawn from the prior (Algorithm 8).
"""

from __future__ import annotations

import math

import numpy as np

from octavo.bayes.enriched_dp.densities import (
    LOG_2PI,
    Y_CLUSTER,
    add_to_sums,
    clear_sums,
    draw_psi,
    draw_side,
    log_normal_cdf,
    new_alpha,
    predictive_psi,
    prior_theta,
    redraw_theta,
    row_log_like,
    x_log_like,
)
from octavo.bayes.enriched_dp.state import (
    ALPHA,
    HX,
    HY,
    LATENT,
    NOISE,
    OFFSET,
    OWNER,
    PARTS,
    PROBIT,
    RESPONSE,
    ROWS,
    SIZE,
    SQUARES,
)
from octavo.engine.compilation.copies import copy_row, copy_table
from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.linalg.small_cholesky import (
    change_by_rank_one,
    solve_lower,
)
from octavo.engine.mcmc.compiled_draws import draw_uniform


@njit(cache=True, error_model="numpy")
def spread_of(factor, design, i, work):
    """Return 1 + x C⁻¹ xᵀ given the factor of C."""
    solve_lower(factor, design[i], work)
    total = 1.0
    for h in range(work.size):
        total += work[h] * work[h]
    return total


@njit(cache=True, error_model="numpy")
def add_to_regression(sign, i, j, design, rows, ys, deep, work):
    """Let a row join or leave the sums of a y-cluster: rank-one change of the factor of Ĉ."""
    d = design.shape[1]
    away = rows[LATENT, i] - rows[OFFSET, i]
    change_by_rank_one(deep[j], design[i], sign, work)  # Ĉ ± xᵀx, on its factor
    for h in range(d):
        deep[j, d, h] += sign * design[i, h] * away
    ys[j, SQUARES] += sign * away * away
    solve_lower(deep[j], deep[j, d], deep[j, d + 1])


@njit(cache=True, error_model="numpy")
def drop_x_cluster(l, labels, sizes, xi, yi, xp, xt):
    """Take an empty x-cluster out; the last takes its place."""
    yi[xi[l, OWNER], PARTS] -= 1
    last = sizes[1] - 1
    sizes[1] = last
    if l == last:
        return
    xi[l, OWNER], xi[l, SIZE] = xi[last, OWNER], xi[last, SIZE]
    copy_table(xp[last], xp[l])
    copy_table(xt[last], xt[l])
    for i in range(labels.size):
        if labels[i] == last:
            labels[i] = l


@njit(cache=True, error_model="numpy")
def drop_y_cluster(j, sizes, xi, yi, beta, ys, deep):
    """Take an empty y-cluster out; the last takes its place."""
    last = sizes[0] - 1
    sizes[0] = last
    if j == last:
        return
    yi[j, ROWS], yi[j, PARTS] = yi[last, ROWS], yi[last, PARTS]
    copy_row(ys[last], ys[j])
    copy_table(beta[last], beta[j])
    for l in range(sizes[1]):
        if xi[l, OWNER] == last:
            xi[l, OWNER] = j
    if deep is not None:
        copy_table(deep[last], deep[j])


@njit(cache=True, error_model="numpy")
def collapsed_log_like(response, i, j, design, rows, scalars, yi, ys, deep, work):
    """Return the log predictive density of a row's response in a y-cluster."""
    d = design.shape[1]
    solve_lower(deep[j], design[i], work)
    location, spread, rest, y = rows[OFFSET, i], 1.0, ys[j, SQUARES], rows[RESPONSE, i]
    for h in range(d):
        location += work[h] * deep[j, d + 1, h]
        spread += work[h] * work[h]
        rest -= deep[j, d + 1, h] * deep[j, d + 1, h]
    if response == PROBIT:
        # Φ(±xβ̂ / √(1 + x Ĉ⁻¹ xᵀ)): the latent number is integrated out
        z = location / math.sqrt(spread)
        return log_normal_cdf(z if y > 0.5 else -z)
    shape, rate = scalars[0] + 0.5 * yi[j, ROWS], scalars[1] + 0.5 * max(rest, 0.0)
    value = math.lgamma(shape + 0.5) - math.lgamma(shape)
    value -= 0.5 * (LOG_2PI + math.log(rate * spread))
    away = y - location
    # the t law with 2 â degrees of freedom, on its log scale
    return value - (shape + 0.5) * math.log1p(0.5 * (away * away) / (rate * spread))


@njit(cache=True, error_model="numpy")
def choose(n_options, weights, rng):
    """Return an option drawn by its log weight; the weights are overwritten."""
    top = -np.inf
    for o in range(n_options):
        top = max(top, weights[0, o])
    total = 0.0
    for o in range(n_options):
        if weights[0, o] > top - 40.0:  # others have less than 5e-18 of the best
            total += math.exp(weights[0, o] - top)
        weights[0, o] = total
    u = draw_uniform(rng) * total
    for o in range(n_options):
        if u < weights[0, o]:
            return o
    return n_options - 1


@njit(cache=True, error_model="numpy")
def fill_weights(
    i, x, design, rows, scalars, others, modes, sizes, xi, yi, xp, xt, beta, ys, deep, auxiliary,
    logs, weights, work,
):  # fmt: skip
    """Set log weights: x-clusters, a new one in each y-cluster, new y-clusters; return how many."""
    k, kx, response, plain = sizes[0], sizes[1], modes[0], modes[2] == 1
    log_hx = rows[HX, i]
    for j in range(k):
        if deep is None:
            value = row_log_like(
                response, rows[RESPONSE, i], design, i, beta, j, ys[j, NOISE], auxiliary
            )
        else:
            value = collapsed_log_like(response, i, j, design, rows, scalars, yi, ys, deep, work)
        # of ω_{j,l} in Eq. (16): the row itself is out, so n_j is n_j^{-i}
        value += logs[yi[j, ROWS]]
        if plain:
            weights[0, kx + j] = -np.inf
        else:
            value -= math.log(ys[j, ALPHA] + yi[j, ROWS])  # n_j / (α_ψ(θ_j) + n_j) of Eq. (16)
            # ω_{j,k_j+1} of Eq. (16): a new x-cluster
            weights[0, kx + j] = value + math.log(ys[j, ALPHA]) + log_hx
        weights[1, j] = value
    for l in range(kx):
        value = weights[1, xi[l, OWNER]] + x_log_like(x, i, l, xp, xt, others, deep)
        # ω_{j,l} of Eq. (16); a plain mixture's row counts once, in n_j
        weights[0, l] = value if plain else value + logs[xi[l, SIZE]]
    log_alpha = math.log(scalars[7]) + log_hx
    if auxiliary is None:
        weights[0, kx + k] = log_alpha + rows[HY, i]  # ω_{k+1,1} of Eq. (16)
        return kx + k + 1
    n_offered = auxiliary.shape[0]
    for t in range(n_offered):
        value = row_log_like(response, rows[RESPONSE, i], design, i, auxiliary, t, 1.0, auxiliary)
        # α_θ is shared by what is offered (Neal's Algorithm 8)
        weights[0, kx + k + t] = log_alpha - math.log(n_offered) + value
    return kx + k + n_offered


@njit(cache=True, error_model="numpy")
def take_out(
    i, x, design, rows, gauss, others, labels, sizes, xi, yi, xp, xt, beta, ys, deep, auxiliary,
    work,
):  # fmt: skip
    """Remove a row from its clusters; return whether its y-cluster is gone."""
    l = labels[i]
    j = xi[l, OWNER]
    labels[i] = -1
    xi[l, SIZE] -= 1
    yi[j, ROWS] -= 1
    if xi[l, SIZE] == 0:
        drop_x_cluster(l, labels, sizes, xi, yi, xp, xt)
    elif deep is not None:
        add_to_sums(-1.0, x, i, l, others, xp, xt)
        predictive_psi(l, xi[l, SIZE], gauss, others, xp, xt)
    if yi[j, ROWS] > 0:
        if deep is not None:
            add_to_regression(-1.0, i, j, design, rows, ys, deep, work)
        return False
    if auxiliary is not None:  # Algorithm 8 offers the parameters again
        copy_table(beta[j], auxiliary[0])
    drop_y_cluster(j, sizes, xi, yi, beta, ys, deep)
    return True


@njit(cache=True, error_model="numpy")
def join_collapsed(i, l, j, x, design, rows, gauss, others, modes, xi, xp, xt, ys, deep, rng, work):
    """Let a row join the sums of its clusters; draw its latent number on the way."""
    d = design.shape[1]
    add_to_sums(1.0, x, i, l, others, xp, xt)
    predictive_psi(l, xi[l, SIZE] + 1, gauss, others, xp, xt)
    if modes[0] == PROBIT:
        spread = spread_of(deep[j], design, i, work)
        location = rows[OFFSET, i]
        for h in range(d):
            location += work[h] * deep[j, d + 1, h]
        rows[LATENT, i] = draw_side(rows[RESPONSE, i], location, math.sqrt(spread), rng)
    add_to_regression(1.0, i, j, design, rows, ys, deep, work)


@njit(cache=True, error_model="numpy")
def allocate_rows(
    start, x, design, rows, prior, scalars, gauss, others, modes, labels, sizes, xi, yi, xp, xt,
    beta, ys, deep, auxiliary, rng, logs, weights, block,
):  # fmt: skip
    """Let rows choose from `start` on; return where room for clusters ran out, or n."""
    n, d, response = x.shape[0], design.shape[1], modes[0]
    work = block[d + 1]
    for i in range(start, n):
        if sizes[0] + 1 >= yi.shape[0] or sizes[1] + 1 >= xi.shape[0]:
            return i
        gone = take_out(
            i, x, design, rows, gauss, others, labels, sizes, xi, yi, xp, xt, beta, ys, deep,
            auxiliary, work,
        )  # fmt: skip
        if auxiliary is not None:
            for t in range(1 if gone else 0, auxiliary.shape[0]):
                prior_theta(block, prior, rng, auxiliary, t)
        n_options = fill_weights(
            i, x, design, rows, scalars, others, modes, sizes, xi, yi, xp, xt, beta, ys, deep,
            auxiliary, logs, weights, work,
        )  # fmt: skip
        l = choose(n_options, weights, rng)
        k, kx = sizes[0], sizes[1]
        if l >= kx:
            j, l = l - kx, kx
            if j >= k:
                option, j = j - k, k
                sizes[0] += 1
                yi[j, ROWS] = yi[j, PARTS] = 0
                new_alpha(scalars, rng, ys, j)  # α_ψ of a new y-cluster comes from its prior
                if auxiliary is not None:
                    copy_table(auxiliary[option], beta[j])
                elif deep is None:
                    if response == PROBIT:
                        scale = math.sqrt(spread_of(prior[d:], design, i, work))
                        rows[LATENT, i] = draw_side(rows[RESPONSE, i], rows[OFFSET, i], scale, rng)
                    labels[i], xi[l, OWNER] = l, j
                    redraw_theta(  # θ given (y_i, x_i), as after Eq. (16)
                        j, Y_CLUSTER, 1, response, design, rows, prior, scalars, labels, xi, beta,
                        ys, j, rng, block,
                    )  # fmt: skip
                if deep is not None:
                    ys[j, SQUARES] = 0.0
                    for h in range(d):
                        deep[j, d, h] = deep[j, d + 1, h] = 0.0
                        for g in range(h + 1):
                            deep[j, h, g] = prior[d + h, g]
            sizes[1] += 1
            xi[l, OWNER], xi[l, SIZE] = j, 0
            yi[j, PARTS] += 1
            clear_sums(l, xp, xt)
            if deep is None:
                add_to_sums(1.0, x, i, l, others, xp, xt)
                draw_psi(l, 1, gauss, others, rng, xp, xt)  # ψ given x_i, as after Eq. (16)
        j = xi[l, OWNER]
        labels[i] = l
        if deep is not None:
            join_collapsed(
                i, l, j, x, design, rows, gauss, others, modes, xi, xp, xt, ys, deep, rng, work
            )
        xi[l, SIZE] += 1
        yi[j, ROWS] += 1
    return n


def _warmup() -> None:
    from octavo.bayes.enriched_dp.chain import warm_chain

    warm_chain()
