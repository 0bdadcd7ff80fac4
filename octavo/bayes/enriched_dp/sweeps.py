"""One sweep: rows choose clusters, x-clusters move, parameters and concentrations are redrawn."""

from __future__ import annotations

import math

import numpy as np

from octavo.bayes.enriched_dp.allocation import (
    add_to_sums,
    allocate_rows,
    draw_side,
    fill_prior_densities,
)
from octavo.bayes.enriched_dp.densities import (
    dot,
    draw_concentration,
    draw_psi,
    draw_theta,
    predictive_psi,
    row_log_like,
)
from octavo.bayes.enriched_dp.moves import block_sums, shuffle_clusters
from octavo.bayes.enriched_dp.state import COUNT, GAUSSIAN, PROBIT
from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.linalg.small_cholesky import factor_in_place, solve_lower
from octavo.engine.mcmc.compiled_draws import draw_normal, draw_uniform


@njit(cache=True, error_model="numpy")
def redraw_regressions(table, base, mix, state, L, u, work):
    """Draw θ of every y-cluster from its posterior (Eq. 4)."""
    for j in range(mix.sizes[0]):
        squares, n = block_sums(j, True, table, base, mix, L, u)
        factor_in_place(L)
        mix.noise[j], _ = draw_theta(
            L, u, squares, n, base.noise, base.modes[0] == PROBIT, state, work, base.beta0,
            mix.beta[j, 0],
        )  # fmt: skip


@njit(cache=True, error_model="numpy")
def sum_columns(table, base, mix):
    """Set the sums of every x-cluster anew."""
    kx = mix.sizes[1]
    mix.s1[:kx] = 0.0
    mix.s2[:kx] = 0.0
    mix.counts[:kx] = 0.0
    for i in range(table.response.size):
        l = mix.x_labels[i]
        add_to_sums(1.0, table.values[i], base, mix.s1[l], mix.s2[l], mix.counts[l])


@njit(cache=True, error_model="numpy")
def redraw_kernels(table, base, mix, state):
    """Draw ψ of every x-cluster from its posterior."""
    sum_columns(table, base, mix)
    for l in range(mix.sizes[1]):
        mix.const[l] = draw_psi(
            mix.n_x[l], mix.s1[l], mix.s2[l], mix.counts[l], base, state,
            mix.mu[l], mix.prec[l], mix.table[l],
        )  # fmt: skip


@njit(cache=True, error_model="numpy")
def redraw_concentrations(base, mix, state, n):
    """Draw α_θ and every α_ψ (Escobar and West 1995)."""
    if base.theta_prior[0] > 0.0:
        alpha = mix.alpha_theta[0]
        mix.alpha_theta[0] = draw_concentration(state, alpha, n, mix.sizes[0], base.theta_prior)
    if base.psi_prior[0] > 0.0:
        for j in range(mix.sizes[0]):
            mix.alpha_psi[j] = draw_concentration(
                state, mix.alpha_psi[j], mix.n_y[j], mix.k_x[j], base.psi_prior
            )


@njit(cache=True, error_model="numpy")
def set_entry(i, h, entry, table, base, n_gaussian):
    """Write a value into a row and its design."""
    table.values[i, h] = entry
    column = base.design_columns[h]
    g = h - n_gaussian
    if g < 0:
        table.design[i, column] = entry
    elif base.kinds[g] == COUNT:
        table.design[i, column] = (entry - base.units[h, 0]) / base.units[h, 1]
    else:
        for v in range(1, base.widths[g]):
            table.design[i, column + v - 1] = 1.0 if int(entry) == v else 0.0


@njit(cache=True, error_model="numpy")
def draw_entry(h, n_gaussian, base, mu, prec, params, state):
    """Return a value of a column from K(x | ψ)."""
    g = h - n_gaussian
    if g < 0:
        return mu[h] + draw_normal(state) / math.sqrt(prec[h])
    start = base.starts[g]
    if base.kinds[g] == COUNT:  # arrivals in pieces, so that exp(-rate) does not underflow
        left, total = params[start + 1], 0.0
        while left > 0.0:
            piece = min(left, 500.0)
            left -= piece
            floor, product = math.exp(-piece), 1.0 - draw_uniform(state)
            while product > floor:
                total += 1.0
                product *= 1.0 - draw_uniform(state)
        return total
    u = draw_uniform(state)
    for v in range(base.widths[g]):
        u -= math.exp(params[start + v])
        if u < 0.0:
            return float(v)
    return float(base.widths[g] - 1)


@njit(cache=True, error_model="numpy")
def fill_gaps(table, base, mix, state):
    """Draw missing entries given clusters and parameters."""
    n_gaussian, response = mix.mu.shape[1], base.modes[0]
    for place in range(table.gaps.shape[0]):
        i, h = table.gaps[place, 0], table.gaps[place, 1]
        l = mix.x_labels[i]
        j, x = mix.owner[l], table.design[i]
        if h < n_gaussian and response <= PROBIT:  # normal given the rest
            slope, noise = mix.beta[j, 0, base.design_columns[h]], mix.noise[j]
            away = mix.latent[i] - dot(x, mix.beta[j, 0]) + slope * table.values[i, h]
            prec = mix.prec[l, h] + slope * slope / noise
            mean = (mix.prec[l, h] * mix.mu[l, h] + slope * away / noise) / prec
            entry = mean + draw_normal(state) / math.sqrt(prec)
            set_entry(i, h, entry, table, base, n_gaussian)
            continue
        # a proposal from K(x | ψ), so that K(y | x, θ) alone decides
        kind = GAUSSIAN if response <= PROBIT else response
        y = mix.latent[i] if response <= PROBIT else table.response[i]
        old, before = table.values[i, h], row_log_like(kind, y, x, mix.beta[j], mix.noise[j])
        entry = draw_entry(h, n_gaussian, base, mix.mu[l], mix.prec[l], mix.table[l], state)
        set_entry(i, h, entry, table, base, n_gaussian)
        after = row_log_like(kind, y, x, mix.beta[j], mix.noise[j])
        if math.log(1.0 - draw_uniform(state)) >= after - before:
            set_entry(i, h, old, table, base, n_gaussian)
    fill_prior_densities(-1, table, base)


@njit(cache=True, error_model="numpy")
def prepare_collapsed(table, base, mix, L, u):
    """Set the sums and predictive laws of all clusters anew."""
    d = base.beta0.size
    for j in range(mix.sizes[0]):
        mix.squares[j], _ = block_sums(j, True, table, base, mix, L, u)
        factor_in_place(L)
        for h in range(d):
            mix.moments[j, h] = u[h]
            for g in range(h + 1):
                mix.factors[j, h, g] = L[h, g]
        solve_lower(L, u, mix.solved[j])
    sum_columns(table, base, mix)
    for l in range(mix.sizes[1]):
        mix.const[l] = predictive_psi(
            mix.n_x[l], mix.s1[l], mix.s2[l], mix.counts[l], base,
            mix.mu[l], mix.prec[l], mix.power[l], mix.table[l],
        )  # fmt: skip


@njit(cache=True, error_model="numpy")
def sweep(start, table, base, mix, state, logs, levels, weights, L, u, work):
    """Run a sweep from row `start` on; return n, or the row at which room for clusters ran out.

    With ``start = n`` no row chooses: what follows is drawn given the clusters as they are.
    """
    n, response, collapsed = table.response.size, base.modes[0], base.modes[3] == 1
    if collapsed and start == 0:
        prepare_collapsed(table, base, mix, L, u)
    reached = allocate_rows(start, table, base, mix, state, logs, levels, weights, work, L)
    if reached < n:
        return reached
    if response == PROBIT and not collapsed:
        for i in range(n):
            j = mix.owner[mix.x_labels[i]]
            eta = dot(table.design[i], mix.beta[j, 0])
            mix.latent[i] = draw_side(table.response[i], eta, 1.0, state)
    if collapsed:
        redraw_regressions(table, base, mix, state, L, u, work)
    if base.modes[4] == 1 and base.modes[2] == 0:
        shuffle_clusters(table, base, mix, state, L, u, work)
    if response <= PROBIT and not (collapsed and base.modes[4] == 0):
        redraw_regressions(table, base, mix, state, L, u, work)
    redraw_kernels(table, base, mix, state)
    redraw_concentrations(base, mix, state, n)
    if table.gaps.shape[0] > 0:
        fill_gaps(table, base, mix, state)
    return n


@njit(cache=True, error_model="numpy")
def cluster_log_like(j, response, table, mix):
    total = 0.0
    for i in range(table.response.size):
        if mix.owner[mix.x_labels[i]] == j:
            total += row_log_like(response, table.response[i], table.design[i], mix.beta[j], 1.0)
    return total


@njit(cache=True, error_model="numpy")
def slice_regressions(table, base, mix, state):
    """Draw β of every y-cluster by elliptical slice sampling (Murray, Adams and MacKay 2010)."""
    response, k = base.modes[0], mix.sizes[0]
    outputs, d = mix.beta.shape[1], mix.beta.shape[2]
    old, other, work = np.empty((outputs, d)), np.empty((outputs, d)), np.empty(d)
    for j in range(k):
        for c in range(outputs):
            for h in range(d):
                work[h] = 0.0
            draw_theta(
                base.C_factor, work, 0.0, 0, base.noise, True, state, work, base.beta0, other[c]
            )
        old[:] = mix.beta[j]
        level = cluster_log_like(j, response, table, mix) + math.log(1.0 - draw_uniform(state))
        angle = 2.0 * math.pi * draw_uniform(state)
        low, high = angle - 2.0 * math.pi, angle
        found = False
        for _ in range(200):
            cos, sin = math.cos(angle), math.sin(angle)
            for c in range(outputs):
                for h in range(d):
                    b0 = base.beta0[h]
                    mix.beta[j, c, h] = b0 + (old[c, h] - b0) * cos + (other[c, h] - b0) * sin
            if cluster_log_like(j, response, table, mix) > level:
                found = True
                break
            if angle < 0.0:
                low = angle
            else:
                high = angle
            angle = low + (high - low) * draw_uniform(state)
        if not found:
            mix.beta[j] = old
