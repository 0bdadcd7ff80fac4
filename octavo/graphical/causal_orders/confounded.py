"""Draws where latent causes stand beside driving signals, which single draws hardly move.

A latent and a driving signal share x_j, whose noise is small: each alone is held by the other, so
the latents are drawn with the driving signals integrated out, then these.

Where a latent acts on x_j, the effect of x_j's own part on x_i is an edge from j to i together with
a loading of x_i on the latent of the opposite size: alone, each brings the whole latent into x_i,
and no sweep over single loadings finds the pair (Figure 11 of Henao and Winther 2011). A move here
changes both, or brings both in or takes both out, and the driving signal of x_i takes up the
change, so that x_i is fitted as before: only priors and the law of that signal decide. Shifts of a
signal preserve volume. Its scales are integrated out of the decision and drawn again where the
move is taken.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.mcmc.compiled_draws import draw_normal, draw_uniform
from octavo.graphical.causal_orders.sources import (
    ALPHA_M,
    ALWAYS,
    FREE,
    GAUSSIAN,
    HELD,
    LAPLACE,
    draw_scales,
    fill_noise,
)

# Sizes among which a move draws how far the pair is from cancelling: latents of heavy tails need
# small ones.
OFFSETS = np.array([1e-1, 1e-2, 1e-3, 1e-4])


def opposed_loadings(allowed: Any, p: int) -> Any:
    """Return rows (i, column of j, column of a latent, column of i's driving signal), or None.

    Parameters
    ----------
    allowed : ndarray of shape (d, K)
        The kind of each loading.
    p : int
        Regressors that are known; the driving signals follow, then the latents.

    Returns
    -------
    quadruples : ndarray of int of shape (n, 4) or None
        None where there is no latent beside driving signals.
    """
    d, K = allowed.shape
    if p != d or 2 * d >= K:
        return None
    found = [
        (i, j, latent, p + i)
        for i in range(d)
        if allowed[i, p + i] in (ALWAYS, HELD)
        for j in range(p)
        for latent in range(2 * d, K)
        if allowed[i, j] == FREE and allowed[i, latent] == FREE
    ]
    return np.array(found, dtype=np.int64) if found else None


@njit(cache=True, error_model="numpy")
def draw_causes(E, p, W, psi, kinds, parameters, state, work, Z, precision):
    """Draw latents given what is left of x without known regressors, E, as `draw_latents` does.

    Row i of Z is the driving signal of variable i, those from d on are the latents.
    """
    d, m, n_rows = W.shape[0], Z.shape[0], Z.shape[1]
    signal, own, noise = work[0], work[1], work[2]
    for j in range(d, m):
        for n in range(n_rows):
            signal[n] = own[n] = 0.0
        for i in range(d):
            c, size = W[i, p + j], W[i, p + i]
            if c == 0.0:
                continue
            for n in range(n_rows):
                rest = E[i, n]
                for k in range(d, m):
                    if k != j:
                        rest -= W[i, p + k] * Z[k, n]
                # z_D of row i integrated out: it adds c_D² υ to ψ
                weight = c / (psi[i] + size * size / precision[i, n])
                signal[n] += weight * rest
                own[n] += weight * c
        fill_noise(state, noise, noise[:0])
        for n in range(n_rows):
            u = 1.0 / (own[n] + precision[j, n])
            Z[j, n] = u * signal[n] + math.sqrt(u) * noise[n]
    for i in range(d):
        size = W[i, p + i]
        fill_noise(state, noise, noise[:0])
        for n in range(n_rows):
            rest = E[i, n]
            for k in range(d, m):
                rest -= W[i, p + k] * Z[k, n]
            u = 1.0 / (size * size / psi[i] + precision[i, n])
            Z[i, n] = u * size * rest / psi[i] + math.sqrt(u) * noise[n]  # Eq. (14)
    for j in range(m):
        if kinds[j] != GAUSSIAN:
            draw_scales(j, Z, kinds[j], parameters[j], state, noise, own, precision)


@njit(cache=True, error_model="numpy")
def source_log_density(z, kind, parameter):
    """Return the log-density of a source up to a constant, its scales integrated out."""
    total = 0.0
    if kind == GAUSSIAN:
        for n in range(z.size):
            total -= 0.5 * z[n] * z[n]
    elif kind == LAPLACE:
        for n in range(z.size):
            total -= parameter * abs(z[n])
    else:
        for n in range(z.size):
            total -= 0.5 * (parameter + 1.0) * math.log1p(z[n] * z[n] / parameter)
    return total


@njit(cache=True, error_model="numpy")
def offset_log_density(value):
    """Return the log-density of the mixture of normals of the sizes OFFSETS."""
    total = 0.0
    for s in range(OFFSETS.size):
        total += math.exp(-0.5 * (value / OFFSETS[s]) ** 2) / OFFSETS[s]
    return math.log(max(total, 1e-300) / OFFSETS.size) - 0.5 * math.log(2.0 * math.pi)


@njit(cache=True, error_model="numpy")
def draw_opposed(F, quadruples, kinds, parameters, hyper, state, work, slab, nu, psi,
                 W, Q, Z, precision):  # fmt: skip
    """Offer one move to every pair of an edge and a loading; return how many were taken."""
    p, n_rows = F.shape[0], F.shape[1]
    moved, noise, coins = work[0], work[1], work[2]
    taken = 0
    for t in range(quadruples.shape[0]):
        i, j, latent, own = quadruples[t]
        c, size = W[j, latent], W[i, own]
        b, k = W[i, j], W[i, latent]
        both, choice = Q[i, j] + Q[i, latent], draw_uniform(state)
        if c == 0.0 or size == 0.0 or both == 1 or (both == 0 and choice < 0.5):
            continue
        gain = 0.0
        if both == 2 and choice < 0.5:  # along the line on which they cancel
            step = math.pow(10.0, -2.0 * draw_uniform(state)) * draw_normal(state)
            new_b, new_k, up = b + step, k - step * c, 1
        elif both == 2:  # both out
            new_b, new_k, up = 0.0, 0.0, 0
            gain += offset_log_density(k + b * c) - 0.5 * b * b - 0.5 * math.log(2.0 * math.pi)
        else:  # both in
            new_b, up = draw_normal(state), 1
            offset = OFFSETS[int(draw_uniform(state) * OFFSETS.size)] * draw_normal(state)
            new_k = offset - new_b * c
            gain -= offset_log_density(offset) - 0.5 * new_b * new_b - 0.5 * math.log(2.0 * math.pi)
        for column, old, new in ((j, b, new_b), (latent, k, new_k)):
            gain -= 0.5 * slab[i, column] * (new * new - old * old) / psi[i]
            if 2 * up != both:  # the odds of a slab, and its density at 0
                rate = min(max(hyper[ALPHA_M] * nu[column], 1e-300), 1.0 - 1e-16)
                odds = math.log(rate) - math.log1p(-rate)
                odds += 0.5 * math.log(slab[i, column] / (2.0 * math.pi * psi[i]))
                gain += odds if up else -odds
        row = own - p
        for n in range(n_rows):
            # what x_i loses from its parents, its own signal gives back
            change = (new_b - b) * F[j, n] + (new_k - k) * Z[latent - p, n]
            moved[n] = Z[row, n] - change / size
        gain += source_log_density(moved, kinds[row], parameters[row])
        gain -= source_log_density(Z[row], kinds[row], parameters[row])
        if math.log(1.0 - draw_uniform(state)) < gain:
            W[i, j], W[i, latent], Q[i, j], Q[i, latent] = new_b, new_k, up, up
            for n in range(n_rows):
                Z[row, n] = moved[n]
            if kinds[row] != GAUSSIAN:
                draw_scales(row, Z, kinds[row], parameters[row], state, noise, coins, precision)
            taken += 1
    return taken


def _warmup() -> None:
    """Do nothing: only kernels call these, and are compiled with them."""
