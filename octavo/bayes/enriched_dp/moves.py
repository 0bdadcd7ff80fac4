"""The three Metropolis-Hastings moves of x-clusters between y-clusters (Appendix A).

Move 1 takes an x-cluster of a y-cluster with several to another y-cluster, move 2 to a new one;
move 3 takes the only x-cluster of a y-cluster to another. The printed ratio of move 3 lacks the
parentheses of k_{x,1} (k - 1).
"""

from __future__ import annotations

import math

from octavo.bayes.enriched_dp.allocation import draw_auxiliary, drop_y_cluster
from octavo.bayes.enriched_dp.densities import (
    draw_theta,
    log_block,
    row_log_like,
)
from octavo.bayes.enriched_dp.state import GAUSSIAN, PROBIT
from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.linalg.small_cholesky import factor_in_place
from octavo.engine.mcmc.compiled_draws import draw_gamma, draw_uniform


@njit(cache=True, error_model="numpy")
def block_sums(l, is_y, table, base, mix, L, u):
    """Set L to Ĉ and u to Xᵀr of an x-cluster (or a y-cluster); return rᵀr and the rows."""
    d = base.beta0.size
    for h in range(d):
        u[h] = 0.0
        for g in range(h + 1):
            L[h, g] = base.C[h, g]
    squares, n = 0.0, 0
    for i in range(table.response.size):
        label = mix.x_labels[i]
        if (mix.owner[label] if is_y else label) != l:
            continue
        n += 1
        x, away = table.design[i], mix.latent[i] - table.offset[i]
        squares += away * away
        for h in range(d):
            u[h] += x[h] * away
            for g in range(h + 1):
                L[h, g] += x[h] * x[g]
    return squares, n


@njit(cache=True, error_model="numpy")
def rows_log_like(l, response, table, mix, beta, noise):
    """Return Σ log K(y_i | x_i, θ) over an x-cluster, given latent numbers where there are some."""
    total = 0.0
    for i in range(table.response.size):
        if mix.x_labels[i] == l:
            if response <= PROBIT:
                total += row_log_like(GAUSSIAN, mix.latent[i], table.design[i], beta, noise)
            else:
                total += row_log_like(response, table.response[i], table.design[i], beta, noise)
    return total


@njit(cache=True, error_model="numpy")
def pick(several, mix, state):
    """Return an x-cluster of y-clusters with several (or with one), uniformly, and their number."""
    count = 0
    for l in range(mix.sizes[1]):
        if (mix.k_x[mix.owner[l]] > 1) == several:
            count += 1
    if count == 0:
        return -1, 0
    rank = int(draw_uniform(state) * count)
    for l in range(mix.sizes[1]):
        if (mix.k_x[mix.owner[l]] > 1) == several:
            if rank == 0:
                return l, count
            rank -= 1
    return -1, 0


@njit(cache=True, error_model="numpy")
def log_rising(alpha, n):
    """Return log Γ(n) Γ(α) / Γ(α + n)."""
    return math.lgamma(float(n)) + math.lgamma(alpha) - math.lgamma(alpha + n)


@njit(cache=True, error_model="numpy")
def count_several(mix, j, change_j, h, change_h):
    """Return k_{x,2+} if y-clusters j and h had that many x-clusters more."""
    total = 0
    for g in range(mix.sizes[0]):
        size = mix.k_x[g]
        if g == j:
            size += change_j
        elif g == h:
            size += change_h
        if size > 1:
            total += size
    return total


@njit(cache=True, error_model="numpy")
def other_cluster(j, mix, state):
    """Return a y-cluster that is not j, uniformly."""
    h = int(draw_uniform(state) * (mix.sizes[0] - 1))
    return h + 1 if h >= j else h


@njit(cache=True, error_model="numpy")
def accept(move, log_ratio, mix, state):
    mix.tried[1, move] += 1.0
    if math.log(1.0 - draw_uniform(state)) >= log_ratio:
        return False
    mix.tried[0, move] += 1.0
    return True


@njit(cache=True, error_model="numpy")
def hand_over(l, j, h, mix):
    """Move x-cluster l from y-cluster j to h."""
    n = mix.n_x[l]
    mix.owner[l] = h
    mix.n_y[j] -= n
    mix.n_y[h] += n
    mix.k_x[j] -= 1
    mix.k_x[h] += 1


@njit(cache=True, error_model="numpy")
def move_between(table, base, mix, state):
    """Move 1: an x-cluster of j, which has several, to another y-cluster h."""
    if mix.sizes[0] < 2:
        return
    l, several = pick(True, mix, state)
    if l < 0:
        return
    j = mix.owner[l]
    h, n, response = other_cluster(j, mix, state), mix.n_x[l], base.modes[0]
    a_j, a_h, n_j, n_h = mix.alpha_psi[j], mix.alpha_psi[h], mix.n_y[j], mix.n_y[h]
    ratio = log_rising(a_j, n_j - n) + log_rising(a_h, n_h + n)
    ratio += math.log(a_h / a_j) - log_rising(a_j, n_j) - log_rising(a_h, n_h)
    ratio += rows_log_like(l, response, table, mix, mix.beta[h], mix.noise[h])
    ratio -= rows_log_like(l, response, table, mix, mix.beta[j], mix.noise[j])
    ratio += math.log(several / count_several(mix, j, -1, h, 1))
    if accept(0, ratio, mix, state):
        hand_over(l, j, h, mix)


@njit(cache=True, error_model="numpy")
def block_marginal(l, table, base, mix, state, L, u, work, new):
    """Return log h_y of an x-cluster's rows, with θ drawn from their posterior as slot `new`.

    A response without a conjugate prior has θ from the prior, and its likelihood in place of h_y.
    """
    response = base.modes[0]
    if response > PROBIT:
        draw_auxiliary(0, base, mix, state, work)
        for c in range(mix.beta.shape[1]):
            for h in range(work.size):
                mix.beta[new, c, h] = mix.auxiliary[0, c, h]
        return rows_log_like(l, response, table, mix, mix.beta[new], 1.0)
    known = response == PROBIT
    log_det_prior = 0.0
    for h in range(work.size):
        log_det_prior += 2.0 * math.log(base.C_factor[h, h])
    squares, n = block_sums(l, False, table, base, mix, L, u)
    log_det = factor_in_place(L)
    mix.noise[new], rest = draw_theta(
        L, u, squares, n, base.noise, known, state, work, base.beta0, mix.beta[new, 0]
    )
    return log_block(log_det_prior, log_det, rest, n, base.noise, known)


@njit(cache=True, error_model="numpy")
def move_apart(table, base, mix, state, L, u, work):
    """Move 2: an x-cluster of j, which has several, becomes a y-cluster of its own."""
    k = mix.sizes[0]
    if k >= mix.n_y.size:
        return
    l, several = pick(True, mix, state)
    if l < 0:
        return
    j, n = mix.owner[l], mix.n_x[l]
    mix.alpha_psi[k] = base.psi_prior[2]
    if base.psi_prior[0] > 0.0:
        mix.alpha_psi[k] = max(draw_gamma(state, base.psi_prior[0]) / base.psi_prior[1], 1e-10)
    a_j, a_new, n_j = mix.alpha_psi[j], mix.alpha_psi[k], mix.n_y[j]
    ratio = log_rising(a_j, n_j - n) + log_rising(a_new, n) - log_rising(a_j, n_j)
    ratio += math.log(mix.alpha_theta[0] * a_new / a_j)
    ratio += block_marginal(l, table, base, mix, state, L, u, work, k)
    ratio -= rows_log_like(l, base.modes[0], table, mix, mix.beta[j], mix.noise[j])
    # of k + 1 clusters afterwards, those with one x-cluster
    alone = mix.sizes[1] - count_several(mix, j, -1, -1, 0)
    ratio += math.log(several / (alone * k))
    if accept(1, ratio, mix, state):
        mix.n_y[k], mix.k_x[k] = 0, 0
        mix.sizes[0] = k + 1
        hand_over(l, j, k, mix)


@njit(cache=True, error_model="numpy")
def move_together(table, base, mix, state, L, u, work):
    """Move 3: a y-cluster's only x-cluster joins another y-cluster h."""
    k = mix.sizes[0]
    if k < 2 or k >= mix.n_y.size:
        return
    l, alone = pick(False, mix, state)
    if l < 0:
        return
    j, n, response = mix.owner[l], mix.n_x[l], base.modes[0]
    h = other_cluster(j, mix, state)
    a_j, a_h, n_h = mix.alpha_psi[j], mix.alpha_psi[h], mix.n_y[h]
    ratio = log_rising(a_h, n_h + n) - log_rising(a_h, n_h) - log_rising(a_j, n)
    ratio += math.log(a_h / (mix.alpha_theta[0] * a_j))
    ratio += rows_log_like(l, response, table, mix, mix.beta[h], mix.noise[h])
    if response > PROBIT:
        ratio -= rows_log_like(l, response, table, mix, mix.beta[j], 1.0)
    else:
        ratio -= block_marginal(l, table, base, mix, state, L, u, work, k)
    # k_{x,1} (k - 1), with k before the move
    ratio += math.log(alone * (k - 1) / count_several(mix, j, -1, h, 1))
    if accept(2, ratio, mix, state):
        hand_over(l, j, h, mix)
        drop_y_cluster(j, mix)


@njit(cache=True, error_model="numpy")
def shuffle_clusters(table, base, mix, state, L, u, work):
    """Move 1, then move 2 or move 3 with equal chances."""
    move_between(table, base, mix, state)
    if draw_uniform(state) < 0.5:
        move_apart(table, base, mix, state, L, u, work)
    else:
        move_together(table, base, mix, state, L, u, work)
