"""Draws of effects together with the driving signal that takes up the change.

Where the noise of x_i is small, its driving signal is all but known given the effects on x_i, and
these given the signal, so that draws of one given the other hardly move. A move here changes an
effect, or brings it in or takes it out, and shifts the signal so that x_i is fitted as before; or
it exchanges size between a signal and its loading. Only priors and the law of the signal decide.
Shifts preserve volume; a change of size by e^s does not: n numbers shrink by it, and the loading
grows. The scales of the signal are integrated out of the decisions and drawn again where a move is
taken.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.mcmc.compiled_draws import draw_normal, draw_uniform
from octavo.graphical.causal_orders.confounded import source_log_density
from octavo.graphical.causal_orders.sources import (
    ABSENT,
    ALPHA_M,
    ALWAYS,
    FREE,
    GAUSSIAN,
    HELD,
    draw_scales,
)

WIDE, NARROW = 1.0, 0.1  # standard deviations of the effects that a move brings in


def driven_rows(allowed: Any, p: int) -> Any:
    """Return the rows i whose signal, column p + i, acts on no other row; None if there are none.

    Parameters
    ----------
    allowed : ndarray of shape (d, K)
        The kind of each loading.
    p : int
        Regressors that are known; the driving signals follow.

    Returns
    -------
    rows : ndarray of int or None
        Only those with an effect to be drawn.
    """
    d, K = allowed.shape
    if p != d or 2 * d > K:
        return None
    found = [
        i
        for i in range(d)
        if allowed[i, p + i] in (ALWAYS, HELD)
        and np.count_nonzero(allowed[:, p + i] != ABSENT) == 1
        and np.any(allowed[i, :p] == FREE)
    ]
    return np.array(found, dtype=np.int64) if found else None


@njit(cache=True, error_model="numpy")
def entry_log_density(value):
    """Return the log-density from which new effects are drawn: half WIDE, half NARROW."""
    far, near = value / WIDE, value / NARROW
    wide, narrow = math.exp(-0.5 * (far * far)) / WIDE, math.exp(-0.5 * (near * near)) / NARROW
    return math.log(max(0.5 * (wide + narrow), 1e-300)) - 0.5 * math.log(2.0 * math.pi)


@njit(cache=True, error_model="numpy")
def draw_shifts(F, rows, allowed, kinds, parameters, hyper, state, work, slab, nu, psi,
                W, Q, Z, precision):  # fmt: skip
    """Offer one move to every effect on the rows, and one to the size of their signals."""
    p, n_rows = F.shape[0], F.shape[1]
    moved, noise, coins = work[0], work[1], work[2]
    for t in range(rows.size):
        i = rows[t]
        own, taken = p + i, False
        if W[i, own] == 0.0:
            continue
        now = source_log_density(Z[i], kinds[i], parameters[i])
        for j in range(p + 1):
            size, choice, gain = W[i, own], draw_uniform(state), 0.0
            step = math.pow(10.0, -2.0 * draw_uniform(state)) * draw_normal(state)
            if j == p:  # the size of the signal
                if allowed[i, own] == HELD:
                    continue
                new, up = size * math.exp(step), 1
                gain -= 0.5 * slab[i, own] * (new * new - size * size) / psi[i]
                gain -= (n_rows - 1.0) * step  # |∂(z, size)| = e^(s (1 - n))
                for n in range(n_rows):
                    moved[n] = Z[i, n] * size / new
            else:
                b, up = W[i, j], 1
                if allowed[i, j] != FREE or (Q[i, j] == 0 and choice < 0.5):
                    continue
                new = b + step
                if Q[i, j] == 0:  # in
                    new = (WIDE if choice < 0.75 else NARROW) * draw_normal(state)
                    gain -= entry_log_density(new)
                elif choice < 0.5:  # out
                    new, up = 0.0, 0
                    gain += entry_log_density(b)
                if up != Q[i, j]:  # the odds of a slab, and its density at 0
                    rate = min(max(hyper[ALPHA_M] * nu[j], 1e-300), 1.0 - 1e-16)
                    odds = math.log(rate) - math.log1p(-rate)
                    odds += 0.5 * math.log(slab[i, j] / (2.0 * math.pi * psi[i]))
                    gain += odds if up else -odds
                gain -= 0.5 * slab[i, j] * (new * new - b * b) / psi[i]
                for n in range(n_rows):
                    moved[n] = Z[i, n] - (new - b) / size * F[j, n]  # x_i is fitted as before
            other = source_log_density(moved, kinds[i], parameters[i])
            if math.log(1.0 - draw_uniform(state)) < gain + other - now:
                now, taken = other, True
                if j == p:
                    W[i, own] = new
                else:
                    W[i, j], Q[i, j] = new, up
                for n in range(n_rows):
                    Z[i, n] = moved[n]
        if taken and kinds[i] != GAUSSIAN:
            draw_scales(i, Z, kinds[i], parameters[i], state, noise, coins, precision)


def _warmup() -> None:
    """Do nothing: only kernels call these, and are compiled with them."""
