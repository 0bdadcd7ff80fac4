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
    dot,
    draw_beyond,
    draw_psi,
    draw_theta,
    log_normal_cdf,
    others_log_like,
    predictive_psi,
    row_log_like,
)
from octavo.bayes.enriched_dp.state import AUXILIARY, COUNT, GAUSSIAN, PROBIT
from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.linalg.small_cholesky import change_by_rank_one, solve_lower
from octavo.engine.mcmc.compiled_draws import draw_gamma, draw_uniform


@njit(cache=True, error_model="numpy")
def fill_prior_densities(first, table, base):
    """Set log h_x and log h_y of the rows from `first` on; of rows with gaps if it is negative."""
    n_gaussian, d = base.mu0.size, base.beta0.size
    mu, prec, power = np.empty(n_gaussian), np.empty(n_gaussian), np.empty(n_gaussian)
    zeros, entries = np.zeros(n_gaussian), np.zeros(base.starts.size + base.widths.sum())
    params, work = np.empty(entries.size), np.empty(d)
    const = predictive_psi(0, zeros, zeros, entries, base, mu, prec, power, params)
    a, b = base.noise[0], base.noise[1]
    response = base.modes[0]
    level = math.lgamma(a + 0.5) - math.lgamma(a) - 0.5 * (LOG_2PI + math.log(b))
    n_rows = table.gaps.shape[0] if first < 0 else table.response.size - first
    for place in range(n_rows):
        i = table.gaps[place, 0] if first < 0 else place + first
        value = const + others_log_like(table.values[i], n_gaussian, base, params, True)
        for h in range(n_gaussian):
            away = table.values[i, h] - mu[h]
            value -= power[h] * math.log1p(prec[h] * away * away)
        table.log_hx[i] = value
        table.offset[i] = dot(table.design[i], base.beta0)
        solve_lower(base.C_factor, table.design[i], work)
        spread = 1.0 + dot(work, work)
        if response == GAUSSIAN:  # t_{2a}(x β0, (b / a) (1 + x C⁻¹ xᵀ))
            away = table.response[i] - table.offset[i]
            value = level - 0.5 * math.log(spread)
            table.log_hy[i] = value - (a + 0.5) * math.log1p(0.5 * away * away / (b * spread))
        elif response == PROBIT:
            z = table.offset[i] / math.sqrt(spread)
            table.log_hy[i] = log_normal_cdf(z if table.response[i] > 0.5 else -z)


@njit(cache=True, error_model="numpy")
def add_to_sums(sign, x, base, s1, s2, counts):
    """Let a row join (1) or leave (-1) the sums of an x-cluster."""
    n_gaussian = s1.size
    for h in range(n_gaussian):
        s1[h] += sign * x[h]
        s2[h] += sign * x[h] * x[h]
    for g in range(base.kinds.size):
        if base.kinds[g] == COUNT:
            counts[base.starts[g]] += sign * x[n_gaussian + g]
        else:
            counts[base.starts[g] + int(x[n_gaussian + g])] += sign


@njit(cache=True, error_model="numpy")
def add_to_regression(sign, i, j, table, mix, work):
    """Let a row join or leave the sums of a y-cluster: rank-one change of the factor of Ĉ."""
    x = table.design[i]
    away = mix.latent[i] - table.offset[i]
    change_by_rank_one(mix.factors[j], x, sign, work)
    for h in range(x.size):
        mix.moments[j, h] += sign * x[h] * away
    mix.squares[j] += sign * away * away
    solve_lower(mix.factors[j], mix.moments[j], mix.solved[j])


@njit(cache=True, error_model="numpy")
def drop_x_cluster(l, mix):
    """Take an empty x-cluster out; the last takes its place."""
    mix.k_x[mix.owner[l]] -= 1
    last = mix.sizes[1] - 1
    mix.sizes[1] = last
    if l == last:
        return
    mix.owner[l], mix.n_x[l], mix.const[l] = mix.owner[last], mix.n_x[last], mix.const[last]
    for h in range(mix.mu.shape[1]):
        mix.mu[l, h], mix.prec[l, h] = mix.mu[last, h], mix.prec[last, h]
        mix.power[l, h] = mix.power[last, h]
        mix.s1[l, h], mix.s2[l, h] = mix.s1[last, h], mix.s2[last, h]
    for v in range(mix.table.shape[1]):
        mix.table[l, v], mix.counts[l, v] = mix.table[last, v], mix.counts[last, v]
    for i in range(mix.x_labels.size):
        if mix.x_labels[i] == last:
            mix.x_labels[i] = l


@njit(cache=True, error_model="numpy")
def drop_y_cluster(j, mix):
    """Take an empty y-cluster out; the last takes its place."""
    last = mix.sizes[0] - 1
    mix.sizes[0] = last
    if j == last:
        return
    mix.n_y[j], mix.k_x[j] = mix.n_y[last], mix.k_x[last]
    mix.noise[j], mix.alpha_psi[j] = mix.noise[last], mix.alpha_psi[last]
    for c in range(mix.beta.shape[1]):
        for h in range(mix.beta.shape[2]):
            mix.beta[j, c, h] = mix.beta[last, c, h]
    for l in range(mix.sizes[1]):
        if mix.owner[l] == last:
            mix.owner[l] = j
    if mix.factors.shape[0] > 1:
        d = mix.beta.shape[2]
        mix.squares[j] = mix.squares[last]
        for h in range(d):
            mix.moments[j, h], mix.solved[j, h] = mix.moments[last, h], mix.solved[last, h]
            for g in range(h + 1):
                mix.factors[j, h, g] = mix.factors[last, h, g]


@njit(cache=True, error_model="numpy")
def take_out(i, table, base, mix, work):
    """Remove a row from its clusters; return whether parameters of an emptied one were kept."""
    l = mix.x_labels[i]
    j = mix.owner[l]
    mix.x_labels[i] = -1
    mix.n_x[l] -= 1
    mix.n_y[j] -= 1
    collapsed = base.modes[3] == 1
    if mix.n_x[l] == 0:
        drop_x_cluster(l, mix)
    elif collapsed:
        add_to_sums(-1.0, table.values[i], base, mix.s1[l], mix.s2[l], mix.counts[l])
        mix.const[l] = predictive_psi(
            mix.n_x[l], mix.s1[l], mix.s2[l], mix.counts[l], base,
            mix.mu[l], mix.prec[l], mix.power[l], mix.table[l],
        )  # fmt: skip
    if mix.n_y[j] == 0:
        for c in range(mix.beta.shape[1]):
            for h in range(mix.beta.shape[2]):
                mix.auxiliary[0, c, h] = mix.beta[j, c, h]
        drop_y_cluster(j, mix)
        return True
    if collapsed:
        add_to_regression(-1.0, i, j, table, mix, work)
    return False


@njit(cache=True, error_model="numpy")
def predictive_row(i, j, table, mix, work):
    """Return location and squared scale of a row's response in a collapsed cluster."""
    solve_lower(mix.factors[j], table.design[i], work)
    return table.offset[i] + dot(work, mix.solved[j]), 1.0 + dot(work, work)


@njit(cache=True, error_model="numpy")
def y_log_like(i, j, table, base, mix, work):
    """Return log K(y_i | x_i, θ_j), or the log predictive density of a collapsed cluster."""
    response, y = base.modes[0], table.response[i]
    if base.modes[3] == 0:
        return row_log_like(response, y, table.design[i], mix.beta[j], mix.noise[j])
    location, spread = predictive_row(i, j, table, mix, work)
    if response == PROBIT:
        z = location / math.sqrt(spread)
        return log_normal_cdf(z if y > 0.5 else -z)
    shape = base.noise[0] + 0.5 * mix.n_y[j]
    rest = max(mix.squares[j] - dot(mix.solved[j], mix.solved[j]), 0.0)
    rate = base.noise[1] + 0.5 * rest
    value = math.lgamma(shape + 0.5) - math.lgamma(shape)
    value -= 0.5 * (LOG_2PI + math.log(rate * spread))
    return value - (shape + 0.5) * math.log1p(0.5 * (y - location) ** 2 / (rate * spread))


@njit(cache=True, error_model="numpy")
def fill_weights(i, table, base, mix, work, logs, levels, weights):
    """Set log weights: x-clusters, a new one in each y-cluster, new y-clusters; return how many."""
    k, kx = mix.sizes[0], mix.sizes[1]
    response, plain, collapsed = base.modes[0], base.modes[2] == 1, base.modes[3] == 1
    n_gaussian = mix.mu.shape[1]
    x, log_hx = table.values[i], table.log_hx[i]
    for j in range(k):
        value = logs[mix.n_y[j]] + y_log_like(i, j, table, base, mix, work)
        if plain:
            weights[kx + j] = -np.inf
        else:
            value -= math.log(mix.alpha_psi[j] + mix.n_y[j])
            weights[kx + j] = value + math.log(mix.alpha_psi[j]) + log_hx
        levels[j] = value
    for l in range(kx):
        value = 0.0
        if collapsed:
            for h in range(n_gaussian):
                away = x[h] - mix.mu[l, h]
                value -= mix.power[l, h] * math.log1p(mix.prec[l, h] * away * away)
        else:
            for h in range(n_gaussian):
                away = x[h] - mix.mu[l, h]
                value -= mix.prec[l, h] * away * away
            value *= 0.5
        value += mix.const[l] + others_log_like(x, n_gaussian, base, mix.table[l], collapsed)
        value += levels[mix.owner[l]]
        weights[l] = value if plain else value + logs[mix.n_x[l]]
    log_alpha = math.log(mix.alpha_theta[0]) + log_hx
    if response <= PROBIT:
        weights[kx + k] = log_alpha + table.log_hy[i]
        return kx + k + 1
    for t in range(AUXILIARY):
        value = row_log_like(response, table.response[i], table.design[i], mix.auxiliary[t], 1.0)
        weights[kx + k + t] = log_alpha - math.log(AUXILIARY) + value
    return kx + k + AUXILIARY


@njit(cache=True, error_model="numpy")
def choose(n_options, weights, state):
    """Return an option drawn by its log weight; the weights are overwritten."""
    top = -np.inf
    for o in range(n_options):
        top = max(top, weights[o])
    total = 0.0
    for o in range(n_options):
        if weights[o] > top - 40.0:  # others have less than 5e-18 of the best
            total += math.exp(weights[o] - top)
        weights[o] = total
    u = draw_uniform(state) * total
    for o in range(n_options):
        if u < weights[o]:
            return o
    return n_options - 1


@njit(cache=True, error_model="numpy")
def open_x_cluster(i, j, table, base, mix, state):
    """Give a row an x-cluster of its own in y-cluster j."""
    l = mix.sizes[1]
    mix.sizes[1] += 1
    mix.owner[l], mix.n_x[l] = j, 0
    mix.k_x[j] += 1
    for h in range(mix.mu.shape[1]):
        mix.s1[l, h] = mix.s2[l, h] = 0.0
    for v in range(mix.table.shape[1]):
        mix.counts[l, v] = 0.0
    if base.modes[3] == 0:
        add_to_sums(1.0, table.values[i], base, mix.s1[l], mix.s2[l], mix.counts[l])
        mix.const[l] = draw_psi(
            1, mix.s1[l], mix.s2[l], mix.counts[l], base, state,
            mix.mu[l], mix.prec[l], mix.table[l],
        )  # fmt: skip
    return l


@njit(cache=True, error_model="numpy")
def open_y_cluster(i, option, table, base, mix, state, work, L):
    """Give a row a y-cluster of its own, with θ from its posterior given the row."""
    j, d, response = mix.sizes[0], base.beta0.size, base.modes[0]
    mix.sizes[0] += 1
    mix.n_y[j], mix.k_x[j] = 0, 0
    mix.alpha_psi[j] = base.psi_prior[2]
    if base.psi_prior[0] > 0.0:
        mix.alpha_psi[j] = max(draw_gamma(state, base.psi_prior[0]) / base.psi_prior[1], 1e-10)
    if response > PROBIT:
        for c in range(mix.beta.shape[1]):
            for h in range(d):
                mix.beta[j, c, h] = mix.auxiliary[option, c, h]
        return j
    for h in range(d):
        for g in range(h + 1):
            L[h, g] = base.C_factor[h, g]
    if base.modes[3] == 1:  # empty sums; the row joins them below
        mix.squares[j] = 0.0
        for h in range(d):
            mix.moments[j, h] = mix.solved[j, h] = 0.0
            for g in range(h + 1):
                mix.factors[j, h, g] = L[h, g]
        return j
    x = table.design[i]
    if response == PROBIT:
        solve_lower(L, x, work)
        spread = math.sqrt(1.0 + dot(work, work))
        mix.latent[i] = draw_side(table.response[i], table.offset[i], spread, state)
    away = mix.latent[i] - table.offset[i]
    change_by_rank_one(L, x, 1.0, work)
    u = mix.auxiliary[0, 0]
    for h in range(d):
        u[h] = x[h] * away
    mix.noise[j], _ = draw_theta(
        L, u, away * away, 1, base.noise, response == PROBIT, state, work, base.beta0,
        mix.beta[j, 0],
    )  # fmt: skip
    return j


@njit(cache=True, error_model="numpy")
def draw_side(y, location, scale, state):
    """Return a normal draw on the side of zero that the class says."""
    if y > 0.5:
        return location + scale * draw_beyond(state, -location / scale)
    return location - scale * draw_beyond(state, location / scale)


@njit(cache=True, error_model="numpy")
def put_in(i, l, table, base, mix, state, work):
    """Let a row join an x-cluster and its y-cluster."""
    j = mix.owner[l]
    mix.x_labels[i] = l
    if base.modes[3] == 1:
        add_to_sums(1.0, table.values[i], base, mix.s1[l], mix.s2[l], mix.counts[l])
        mix.const[l] = predictive_psi(
            mix.n_x[l] + 1, mix.s1[l], mix.s2[l], mix.counts[l], base,
            mix.mu[l], mix.prec[l], mix.power[l], mix.table[l],
        )  # fmt: skip
        if base.modes[0] == PROBIT:
            location, spread = predictive_row(i, j, table, mix, work)
            mix.latent[i] = draw_side(table.response[i], location, math.sqrt(spread), state)
        add_to_regression(1.0, i, j, table, mix, work)
    mix.n_x[l] += 1
    mix.n_y[j] += 1


@njit(cache=True, error_model="numpy")
def allocate_rows(start, table, base, mix, state, logs, levels, weights, work, L):
    """Let rows choose from `start` on; return where room for clusters ran out, or n."""
    n = table.response.size
    for i in range(start, n):
        if mix.sizes[0] + 1 >= mix.n_y.size or mix.sizes[1] + 1 >= mix.n_x.size:
            return i
        kept = take_out(i, table, base, mix, work)
        if base.modes[0] > PROBIT:
            draw_auxiliary(1 if kept else 0, base, mix, state, work)
        n_options = fill_weights(i, table, base, mix, work, logs, levels, weights)
        k, l = mix.sizes[0], choose(n_options, weights, state)
        if l >= mix.sizes[1]:
            j = l - mix.sizes[1]
            if j >= k:
                j = open_y_cluster(i, j - k, table, base, mix, state, work, L)
            l = open_x_cluster(i, j, table, base, mix, state)
        put_in(i, l, table, base, mix, state, work)
    return n


@njit(cache=True, error_model="numpy")
def draw_auxiliary(first, base, mix, state, work):
    """Draw the parameters that Algorithm 8 offers, from the prior."""
    for t in range(first, AUXILIARY):
        for c in range(mix.beta.shape[1]):
            for h in range(work.size):
                work[h] = 0.0
            draw_theta(
                base.C_factor, work, 0.0, 0, base.noise, True, state, work, base.beta0,
                mix.auxiliary[t, c],
            )  # fmt: skip
