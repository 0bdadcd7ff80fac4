"""The rest of a sweep: parameters, concentrations and missing entries given the clusters."""

from __future__ import annotations

import math

import numpy as np

from octavo.bayes.enriched_dp.allocation import allocate_rows
from octavo.bayes.enriched_dp.densities import (
    Y_CLUSTER,
    add_to_sums,
    block_sums,
    clear_sums,
    draw_concentration,
    draw_psi,
    draw_side,
    linear,
    predictive_psi,
    prior_theta,
    redraw_theta,
    row_log_like,
)
from octavo.bayes.enriched_dp.moves import shuffle_clusters
from octavo.bayes.enriched_dp.splits import split_and_merge
from octavo.bayes.enriched_dp.state import (
    ALPHA,
    COUNT,
    GAUSSIAN,
    LATENT,
    MU,
    NOISE,
    OWNER,
    PARTS,
    PREC,
    PROBIT,
    RESPONSE,
    ROWS,
    SIZE,
    SQUARES,
)
from octavo.engine.compilation.copies import copy_table
from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.linalg.small_cholesky import factor_in_place, solve_lower
from octavo.engine.mcmc.compiled_draws import draw_normal, draw_uniform

REGRESSIONS, KERNELS = 1, 2  # bits of what is drawn
ALLOCATE, LATENTS, PARAMETERS, MOVES, SPLITS = range(5)  # parts of a sweep


@njit(cache=True, error_model="numpy")
def redraw_latents(design, rows, labels, xi, beta, rng):
    """Draw the latent numbers of a probit."""
    for i in range(labels.size):
        eta = linear(design, i, beta, xi[labels[i], OWNER], 0)
        # y* ~ N(xβ, 1), truncated by the class (Section 6)
        rows[LATENT, i] = draw_side(rows[RESPONSE, i], eta, 1.0, rng)


@njit(cache=True, error_model="numpy")
def redraw_parameters(
    which, x, design, rows, prior, scalars, gauss, others, modes, labels, sizes, xi, yi, xp, xt,
    beta, ys, rng, block,
):  # fmt: skip
    """Draw θ of every y-cluster (Eq. 4), and ψ of every x-cluster and all concentrations."""
    if which & REGRESSIONS:
        for j in range(sizes[0]):
            redraw_theta(
                j, Y_CLUSTER, yi[j, ROWS], modes[0], design, rows, prior, scalars, labels, xi,
                beta, ys, j, rng, block,
            )  # fmt: skip
    if not which & KERNELS:
        return
    for l in range(sizes[1]):
        clear_sums(l, xp, xt)
    for i in range(labels.size):
        add_to_sums(1.0, x, i, labels[i], others, xp, xt)
    for l in range(sizes[1]):
        draw_psi(l, xi[l, SIZE], gauss, others, rng, xp, xt)
    if scalars[2] > 0.0:
        scalars[7] = draw_concentration(  # α_θ given (n, k)
            rng, scalars[7], labels.size, sizes[0], scalars[2], scalars[3]
        )
    if scalars[4] > 0.0:
        for j in range(sizes[0]):
            ys[j, ALPHA] = draw_concentration(  # α_ψ(θ_j) given (n_j, k_j)
                rng, ys[j, ALPHA], yi[j, ROWS], yi[j, PARTS], scalars[4], scalars[5]
            )


@njit(cache=True, error_model="numpy")
def run_part(
    part, number, x, design, rows, prior, scalars, gauss, others, modes, labels, sizes, xi, yi, xp,
    xt, beta, ys, deep, auxiliary, rng, logs, weights, block, tried, moves, pxp, pxt, pys, pyi,
    pdeep, where, both, order,
):  # fmt: skip
    """Run a part of a sweep, `number` as the part takes it; return where allocation ended.

    The parts are one kernel for the compiler's sake: what several of them call, and what takes
    arrays over from Python, is there once. `moves`, or all from `pxp` on, are None where a chain
    does without, and then not compiled.
    """
    if part == ALLOCATE:
        return allocate_rows(
            number, x, design, rows, prior, scalars, gauss, others, modes, labels, sizes, xi, yi,
            xp, xt, beta, ys, deep, auxiliary, rng, logs, weights, block,
        )  # fmt: skip
    if part == LATENTS:
        redraw_latents(design, rows, labels, xi, beta, rng)
    elif part == PARAMETERS:
        redraw_parameters(
            number, x, design, rows, prior, scalars, gauss, others, modes, labels, sizes, xi, yi,
            xp, xt, beta, ys, rng, block,
        )  # fmt: skip
    if moves is not None and part == MOVES:
        shuffle_clusters(
            design, rows, prior, scalars, modes, labels, sizes, xi, yi, beta, ys, deep, auxiliary,
            rng, block, tried,
        )  # fmt: skip
    if pxp is not None and part == SPLITS:
        split_and_merge(
            number, x, design, rows, prior, scalars, gauss, others, modes, labels, sizes, xi, yi,
            xp, xt, beta, ys, deep, pxp, pxt, pys, pyi, pdeep, where, both, order, rng, block,
            tried,
        )  # fmt: skip
    return 0


@njit(cache=True, error_model="numpy")
def prepare_collapsed(x, design, rows, prior, gauss, others, labels, sizes, xi, xp, xt, ys, deep):
    """Set the sums and predictive laws of all clusters anew."""
    d = design.shape[1]
    for j in range(sizes[0]):
        ys[j, SQUARES] = block_sums(j, Y_CLUSTER, design, rows, prior, labels, xi, deep[j])
        factor_in_place(deep[j])
        solve_lower(deep[j], deep[j, d], deep[j, d + 1])
    for l in range(sizes[1]):
        clear_sums(l, xp, xt)
    for i in range(labels.size):
        add_to_sums(1.0, x, i, labels[i], others, xp, xt)
    for l in range(sizes[1]):
        predictive_psi(l, xi[l, SIZE], gauss, others, xp, xt)


@njit(cache=True, error_model="numpy")
def set_entry(i, h, entry, x, design, others, units, n_gaussian):
    """Write a value into a row and its design."""
    x[i, h] = entry
    column, g = int(units[h, 0]), h - n_gaussian
    if g < 0:
        design[i, column] = entry
    elif others is not None:
        if others[g, 0] == COUNT:
            design[i, column] = (entry - units[h, 1]) / units[h, 2]
        else:
            for v in range(1, int(others[g, 2])):
                design[i, column + v - 1] = 1.0 if int(entry) == v else 0.0


@njit(cache=True, error_model="numpy")
def draw_entry(h, l, others, xp, xt, rng):
    """Return a value of a column from K(x | ψ_l)."""
    g = h - xp.shape[2]
    if g < 0:
        return xp[l, MU, h] + draw_normal(rng) / math.sqrt(xp[l, PREC, h])
    if others is None:
        return 0.0
    start = int(others[g, 1])
    if others[g, 0] == COUNT:  # arrivals in pieces, so that exp(-rate) does not underflow
        left, total = xt[l, 0, start + 1], 0.0
        while left > 0.0:
            piece = min(left, 500.0)
            left -= piece
            floor, product = math.exp(-piece), 1.0 - draw_uniform(rng)
            while product > floor:
                total += 1.0
                product *= 1.0 - draw_uniform(rng)
        return total
    u, width = draw_uniform(rng), int(others[g, 2])
    for v in range(width):
        u -= math.exp(xt[l, 0, start + v])
        if u < 0.0:
            return float(v)
    return width - 1.0


@njit(cache=True, error_model="numpy")
def fill_gaps(
    gaps, x, design, rows, others, units, modes, labels, xi, xp, xt, beta, ys, auxiliary, rng,
):  # fmt: skip
    """Draw missing entries given clusters and parameters."""
    n_gaussian, response = xp.shape[2], modes[0]
    for place in range(gaps.shape[0]):
        i, h = gaps[place, 0], gaps[place, 1]
        l = labels[i]
        j = xi[l, OWNER]
        noise = ys[j, NOISE]
        if h < n_gaussian and response <= PROBIT:  # normal given the rest
            slope = beta[j, 0, int(units[h, 0])]
            away = rows[LATENT, i] - linear(design, i, beta, j, 0) + slope * x[i, h]
            # precisions of K(x | ψ) and K(y | x, θ) add up
            prec = xp[l, PREC, h] + slope * slope / noise
            mean = (xp[l, PREC, h] * xp[l, MU, h] + slope * away / noise) / prec
            entry = mean + draw_normal(rng) / math.sqrt(prec)
            set_entry(i, h, entry, x, design, others, units, n_gaussian)
            continue
        # a proposal from K(x | ψ), so that K(y | x, θ) alone decides
        kind, y = response, rows[RESPONSE, i]
        if response <= PROBIT:
            kind, y = GAUSSIAN, rows[LATENT, i]
        old, before = x[i, h], row_log_like(kind, y, design, i, beta, j, noise, auxiliary)
        entry = draw_entry(h, l, others, xp, xt, rng)
        set_entry(i, h, entry, x, design, others, units, n_gaussian)
        after = row_log_like(kind, y, design, i, beta, j, noise, auxiliary)
        if math.log(1.0 - draw_uniform(rng)) >= after - before:
            set_entry(i, h, old, x, design, others, units, n_gaussian)


@njit(cache=True, error_model="numpy")
def cluster_log_like(j, response, design, rows, labels, xi, beta):
    """Return the log likelihood of a y-cluster's rows."""
    total = 0.0
    for i in range(labels.size):
        if xi[labels[i], OWNER] == j:
            total += row_log_like(response, rows[RESPONSE, i], design, i, beta, j, 1.0, beta)
    return total


@njit(cache=True, error_model="numpy")
def slice_regressions(design, rows, prior, modes, labels, sizes, xi, beta, rng, block):
    """Draw β of every y-cluster by elliptical slice sampling (Murray, Adams and MacKay 2010)."""
    outputs, d = beta.shape[1], beta.shape[2]
    pair = np.empty((2, outputs, d))  # where it stands, and a draw from the prior
    for j in range(sizes[0]):
        prior_theta(block, prior, rng, pair, 1)
        copy_table(beta[j], pair[0])
        level = cluster_log_like(j, modes[0], design, rows, labels, xi, beta)
        level += math.log(1.0 - draw_uniform(rng))
        angle = 2.0 * math.pi * draw_uniform(rng)
        low, high, found = angle - 2.0 * math.pi, angle, False
        for _ in range(200):
            cos, sin = math.cos(angle), math.sin(angle)
            for c in range(outputs):
                for h in range(d):
                    b0 = prior[2 * d, h]
                    # a point of the ellipse through both, about β0
                    beta[j, c, h] = b0 + (pair[0, c, h] - b0) * cos + (pair[1, c, h] - b0) * sin
            if cluster_log_like(j, modes[0], design, rows, labels, xi, beta) > level:
                found = True
                break
            if angle < 0.0:  # each refusal shortens the arc; where it stands is always inside
                low = angle
            else:
                high = angle
            angle = low + (high - low) * draw_uniform(rng)
        if not found:
            copy_table(pair[0], beta[j])


def _warmup() -> None:
    from octavo.bayes.enriched_dp.chain import warm_chain

    warm_chain()
