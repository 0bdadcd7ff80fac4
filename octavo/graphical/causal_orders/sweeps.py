"""Gibbs sweeps of x = W [f, z] + ε: loadings with spikes and slabs, latents with scale mixtures.

All models of the family are one: rows of W are sparse regressions of a variable on regressors,
which are fixed or drawn elsewhere (f: other variables in a DAG, functions of them in SNIM) or
latent (z: factors, driving signals, confounders). `allowed` says of each loading whether it is
absent (0), has a spike and a slab (1), is always there (2), or is held at its value (3).

Formulas of Henao and Winther (2011), Appendix A, with what its text has wrong put right: only slabs
count in the noise variance (13), the mean of a latent has the factor u (14), the odds of a slab
have τ^(-1/2), not ψ^(1/2) (17), and Laplace's mixing law is exponential with rate λ²/2 (5).
"""

from __future__ import annotations

import math

import numpy as np

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.mcmc.compiled_draws import (
    draw_beta,
    draw_gamma,
    draw_normal,
    draw_state,
    draw_uniform,
)
from octavo.graphical.causal_orders.confounded import draw_causes, draw_opposed
from octavo.graphical.causal_orders.shifts import draw_shifts
from octavo.graphical.causal_orders.sources import (
    ABSENT,
    ALPHA_M,
    BETA_P,
    FREE,
    GAUSSIAN,
    HELD,
    HOLD_NOISE,
    HOLD_RATE,
    HOLD_SLAB,
    LAPLACE,
    NOISE_RATE,
    NOISE_SHAPE,
    SLAB_RATE,
    SLAB_SHAPE,
    SMALLEST_VARIANCE,
    draw_scales,
    fill_noise,
)


@njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract"})
def cross_products(left, right, out, first_row, first_column):
    """Write left @ right.T into a block of `out`; rows are samples' series."""
    for i in range(left.shape[0]):
        for j in range(right.shape[0]):
            total = 0.0
            for n in range(left.shape[1]):
                total += left[i, n] * right[j, n]
            out[first_row + i, first_column + j] = total


@njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract"})
def draw_latents(E, p, W, psi, kinds, parameters, state, work, Z, precision):
    """Draw all latents given what is left of x without them, E, and then their scales.

    Their loadings are the columns of W from p on.
    """
    d, m, n_rows = W.shape[0], Z.shape[0], Z.shape[1]
    signal, noise, coins = work[0], work[1], work[2]
    for j in range(m):
        for n in range(n_rows):
            signal[n] = 0.0  # C_j' Ψ⁻¹ ε_\j
        own = 0.0
        for i in range(d):
            weight = W[i, p + j] / psi[i]
            own += weight * W[i, p + j]
            if weight != 0.0:
                for n in range(n_rows):
                    signal[n] += weight * E[i, n]
        for k in range(m):
            shared = 0.0
            for i in range(d):
                shared += W[i, p + j] * W[i, p + k] / psi[i]
            if k != j and shared != 0.0:
                for n in range(n_rows):
                    signal[n] -= shared * Z[k, n]  # ε_\j: what the other latents explain goes
        fill_noise(state, noise, coins[:0])
        for n in range(n_rows):
            u = 1.0 / (own + precision[j, n])  # Eq. (14)'s variance; print leaves u out of its mean
            Z[j, n] = u * signal[n] + math.sqrt(u) * noise[n]  # Eq. (14)
        if kinds[j] != GAUSSIAN:
            draw_scales(j, Z, kinds[j], parameters[j], state, noise, coins, precision)


@njit(cache=True, error_model="numpy")
def draw_loadings(gram, cross, squares, n_rows, allowed, means, hyper, state,
                  counts, W, Q, slab, nu, psi):  # fmt: skip
    """Draw loadings, their slabs, noise variances and rates, from products of regressors.

    `gram` is that of the regressors, `cross` of variables by regressors, `squares` the sums of
    squares of the variables; `slab` holds 1/τ and `means` the β_m of each column. No law depends on
    η, which is not drawn.
    """
    d, K = W.shape
    for k in range(K):
        counts[0, k] = counts[1, k] = 0.0
    for i in range(d):
        n_slabs, spread = 0, 0.0
        for k in range(K):
            kind = allowed[i, k]
            if kind in (ABSENT, HELD):
                continue
            r = cross[i, k]
            for o in range(K):
                if o != k:
                    r -= W[i, o] * gram[o, k]
            s = gram[k, k] + slab[i, k]  # Z_j Z_j' + 1/τ_ij
            if kind == FREE:
                rate = min(max(hyper[ALPHA_M] * nu[k], 1e-300), 1.0 - 1e-16)
                # printed with ψ^(1/2) in place of τ^(-1/2), which is not the Bayes factor
                odds = math.log(rate) - math.log1p(-rate) + 0.5 * math.log(slab[i, k] / s)
                odds += r * r / (2.0 * psi[i] * s)  # Eq. (17), log ξ
                u = draw_uniform(state)
                Q[i, k] = u < 1.0 / (1.0 + math.exp(-max(odds, -700.0)))
            else:
                Q[i, k] = 1
            if Q[i, k]:
                W[i, k] = r / s + math.sqrt(psi[i] / s) * draw_normal(state)  # Eq. (15)
                n_slabs += 1
            else:
                W[i, k] = 0.0
            if hyper[HOLD_SLAB] == 0.0:  # Eq. (16); from the prior where there is no slab
                shape = hyper[SLAB_SHAPE] + 0.5 * Q[i, k]
                rate = hyper[SLAB_RATE] + 0.5 * W[i, k] * W[i, k] / psi[i]
                slab[i, k] = draw_gamma(state, shape) / rate
            spread += W[i, k] * W[i, k] * slab[i, k]
            if kind == FREE:  # Eq. (18), u
                top = hyper[ALPHA_M]
                up = Q[i, k] == 1
                if not up:
                    # u_ij given q_ij = 0, whose η is integrated out
                    up = draw_uniform(state) * (1.0 - nu[k] * top) < nu[k] * (1.0 - top)
                counts[0, k] += 1.0
                counts[1, k] += up
        if hyper[HOLD_NOISE] == 0.0:  # Eq. (13)
            rest = squares[i]
            for k in range(K):
                if W[i, k] != 0.0:
                    inner = 0.0
                    for o in range(K):
                        inner += gram[k, o] * W[i, o]
                    rest += W[i, k] * (inner - 2.0 * cross[i, k])
            # slabs alone count: print has (N + d) / 2
            shape = hyper[NOISE_SHAPE] + 0.5 * (n_rows + n_slabs)
            rate = hyper[NOISE_RATE] + 0.5 * (max(rest, 0.0) + spread)
            psi[i] = max(rate / draw_gamma(state, shape), SMALLEST_VARIANCE)
    for k in range(K):
        if hyper[HOLD_RATE] == 0.0:  # Eq. (19)
            high = hyper[BETA_P] * means[k] + counts[1, k]  # β_p β_m and how many rows have u = 1
            low = hyper[BETA_P] * (1.0 - means[k]) + counts[0, k] - counts[1, k]
            nu[k] = draw_beta(state, high, low)


@njit(cache=True, error_model="numpy")
def masked_misfit(gram, cross, squares, C, psi, row_place, column_place, row):
    """Return Σ_i ||x_i - (masked C)_i Z||² / 2ψ_i, the exponent of Eq. (7), for one pair of orders.

    The mask keeps a loading of the first d columns, in their order, on and below the diagonal.
    """
    d, m = C.shape
    total = 0.0
    for i in range(d):
        for j in range(m):
            place = column_place[j]
            # M of Eq. (7): nothing above the diagonal of the two orders
            row[j] = 0.0 if place < d and place > row_place[i] else C[i, j]
        rest = squares[i]
        for j in range(m):
            if row[j] != 0.0:
                inner = 0.0
                for k in range(m):
                    inner += gram[j, k] * row[k]
                rest += row[j] * (inner - 2.0 * cross[i, j])
        total += 0.5 * rest / psi[i]
    return total


@njit(cache=True, error_model="numpy")
def search_orders(gram, cross, squares, C, psi, n_proposals, state,
                  row_place, column_place, row, first, visited):  # fmt: skip
    """Walk over pairs of orders by exchanges; write each order of the rows, from row `first` on.

    The two exchanges are independent, and each may be none (an element with itself), so that one
    order moves while the other stays; proposals are symmetric. Returns how many were accepted.
    """
    d, m = C.shape
    now = masked_misfit(gram, cross, squares, C, psi, row_place, column_place, row)
    accepted = 0
    for t in range(n_proposals):
        # two exchanges: of rows, and of columns
        a, b = int(draw_uniform(state) * d), int(draw_uniform(state) * d)
        e, f = int(draw_uniform(state) * m), int(draw_uniform(state) * m)
        row_place[a], row_place[b] = row_place[b], row_place[a]
        column_place[e], column_place[f] = column_place[f], column_place[e]
        new = masked_misfit(gram, cross, squares, C, psi, row_place, column_place, row)
        if math.log(1.0 - draw_uniform(state)) < now - new:  # Eq. (7)
            now = new
            accepted += 1
        else:
            row_place[a], row_place[b] = row_place[b], row_place[a]
            column_place[e], column_place[f] = column_place[f], column_place[e]
        for i in range(d):
            visited[first + t, row_place[i]] = i
    return accepted


@njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract"})
def subtract(X, F, W, E, squares):
    """Write X - W F, over the regressors that are known, and the sums of squares of X."""
    for i in range(X.shape[0]):
        total = 0.0
        for n in range(X.shape[1]):
            E[i, n] = X[i, n]
        for n in range(X.shape[1]):
            total += X[i, n] * X[i, n]
        squares[i] = total
        for k in range(F.shape[0]):
            if W[i, k] != 0.0:
                for n in range(X.shape[1]):
                    E[i, n] -= W[i, k] * F[k, n]


@njit(cache=True, error_model="numpy")
def run_sweeps(X, F, missing, allowed, means, kinds, parameters, hyper, state,
               W, Q, slab, nu, psi, Z, precision, gram, cross, squares, E, work, counts,
               n_proposals, row_place, column_place, opposed, driven,
               W_draws, Q_draws, psi_draws, x_draws, visited):  # fmt: skip
    """Run as many sweeps as `W_draws` has rows, and keep each.

    `missing` lists (variable, row) of entries of X that are drawn, which then change in place.
    They need that there is no F. `opposed` lists what `draw_opposed` moves, `driven` the rows of
    `draw_shifts`, or they are None. Returns how many proposals of orders were accepted.
    """
    d, n_rows = X.shape
    p, m = F.shape[0], Z.shape[0]
    K = p + m
    cross_products(F, F, gram, 0, 0)
    cross_products(X, F, cross, 0, 0)
    accepted = 0
    for t in range(W_draws.shape[0]):
        subtract(X, F, W, E, squares)
        if m > 0:
            if opposed is None:
                draw_latents(E, p, W, psi, kinds, parameters, state, work, Z, precision)
            else:
                draw_causes(E, p, W, psi, kinds, parameters, state, work, Z, precision)
                draw_opposed(F, opposed, kinds, parameters, hyper, state, work, slab, nu, psi,
                             W, Q, Z, precision)  # fmt: skip
            if driven is not None:
                draw_shifts(F, driven, allowed, kinds, parameters, hyper, state, work, slab, nu,
                            psi, W, Q, Z, precision)  # fmt: skip
            cross_products(X, Z, cross, 0, p)
            cross_products(Z, Z, gram, p, p)
            cross_products(F, Z, gram, 0, p)
            for k in range(p):
                for j in range(m):
                    gram[p + j, k] = gram[k, p + j]
        draw_loadings(gram, cross, squares, n_rows, allowed, means, hyper, state,
                      counts, W, Q, slab, nu, psi)  # fmt: skip
        if n_proposals > 0:
            accepted += search_orders(
                gram, cross, squares, W, psi, n_proposals, state, row_place, column_place,
                counts[0], t * n_proposals, visited,
            )  # fmt: skip
        for e in range(missing.shape[0]):
            i, n = missing[e, 0], missing[e, 1]
            mean = 0.0
            for j in range(m):
                mean += W[i, p + j] * Z[j, n]
            X[i, n] = mean + math.sqrt(psi[i]) * draw_normal(state)
            x_draws[t, e] = mean
        for i in range(d):
            psi_draws[t, i] = psi[i]
            for k in range(K):
                W_draws[t, i, k] = W[i, k]
                Q_draws[t, i, k] = Q[i, k]
    return accepted


def _warmup() -> None:
    state, one = draw_state(np.random.default_rng(0)), np.ones((1, 1))
    code = np.ones((1, 1), dtype=np.int8)
    hyper = np.array([20.0, 1.0, 2.0, 1.0, 10.0, 0.95, 100.0, 0.0, 0.0, 0.0])
    place, empty = np.zeros(1, dtype=np.int64), np.empty((0, 1))
    held = np.empty((0, 2), dtype=np.int64)
    half, two = np.full(1, 0.5), np.empty((2, 1))
    run_sweeps(
        one.copy(), empty, held, code, half, place + LAPLACE, np.ones(1), hyper, state,
        one.copy(), code.copy(), one.copy(), half.copy(), np.ones(1), one.copy(), one.copy(),
        one.copy(), one.copy(), np.ones(1), one.copy(), np.empty((3, 1)), two,
        1, place, place.copy(), None, None, np.empty((1, 1, 1)), np.empty((1, 1, 1), dtype=np.int8),
        one.copy(), np.empty((1, 0)), np.empty((1, 1), dtype=np.int16),
    )  # fmt: skip
    draw_loadings(one, one, np.ones(1), 1, code, half, hyper, state, two, one.copy(),
                  code.copy(), one.copy(), half, np.ones(1))  # fmt: skip
