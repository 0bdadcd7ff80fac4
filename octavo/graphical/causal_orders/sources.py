"""Kinds of loadings and laws of latents as kernels know them, and draws of scales.

Section 3 and Appendix A.2 of Henao and Winther (2011).
"""

from __future__ import annotations

import math

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.mcmc.compiled_draws import draw_gamma, draw_normal, draw_uniform

ABSENT, FREE, ALWAYS, HELD = 0, 1, 2, 3
GAUSSIAN, LAPLACE, STUDENT = 0, 1, 2
# Positions in the vector of hyper-parameters: s_s, s_r, t_s, t_r, α_p, α_m, β_p; then whether the
# noise, the slabs and the rates of inclusion are held.
NOISE_SHAPE, NOISE_RATE, SLAB_SHAPE, SLAB_RATE, ALPHA_P, ALPHA_M, BETA_P = range(7)
HOLD_NOISE, HOLD_SLAB, HOLD_RATE = 7, 8, 9
N_HYPER = 10
TINY = 1e-10  # |z|, so that λ / |z| is a number
SMALLEST_VARIANCE, LARGEST_PRECISION = 1e-6, 1e12  # of noise; of a latent


@njit(cache=True, error_model="numpy")
def fill_noise(state, noise, coins):
    """Fill rows with normal and with uniform numbers, apart from loops that can be vectorised."""
    for n in range(noise.size):
        noise[n] = draw_normal(state)
    for n in range(coins.size):
        coins[n] = draw_uniform(state)


@njit(cache=True, error_model="numpy")
def draw_scales(j, Z, kind, parameter, state, noise, coins, precision):
    """Draw the precisions 1/υ of row j of the latents (Appendix A.2)."""
    n_rows = Z.shape[1]
    if kind == LAPLACE:
        fill_noise(state, noise, coins)
        for n in range(n_rows):
            # 1/υ ~ IG(λ/|z|, λ²), by its two roots; a is χ² (mean / 2 shape)
            mean = parameter / (abs(Z[j, n]) + TINY)
            a = noise[n] * noise[n] * mean * (0.5 / (parameter * parameter))
            w = 1.0 + a + math.sqrt(a * (a + 2.0))
            value = mean * (w if coins[n] * (1.0 + w) > w else 1.0 / w)
            precision[j, n] = value if value < LARGEST_PRECISION else LARGEST_PRECISION
    elif kind == STUDENT:
        # 1/υ ~ Gamma((θ + 1)/2, (θ + z²)/2), σ being 1 (Appendix A.2).
        for n in range(n_rows):
            rate = 0.5 * (parameter + Z[j, n] * Z[j, n])
            precision[j, n] = draw_gamma(state, 0.5 * (parameter + 1.0)) / rate


def _warmup() -> None:
    """Do nothing: only kernels call these, and are compiled with them."""
