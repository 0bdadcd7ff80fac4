"""Annealed importance sampling of the partition functions of conditional machines.

Every history has a partition function of its own, so every row of a field is annealed: from the
machine without interaction, whose partition function is a product, to the machine itself.

Reference: R. Salakhutdinov and I. Murray (2008), "On the Quantitative Analysis of Deep Belief
Networks", ICML.
"""

from __future__ import annotations

import itertools
import math
from typing import Any, NamedTuple

import numpy as np

from octavo.engine.contrastive.divergence import (
    Field,
    draw_binary,
    sigmoid,
    softplus,
)
from octavo.engine.contrastive.draws import Draws
from octavo.engine.contrastive.partition import log_sum_exp
from octavo.engine.kernels.namespaces import namespace_of, to_namespace


class Annealed(NamedTuple):
    """Estimates of log Z (n,), and the standard error of each."""

    log_partition: Any
    standard_error: Any


def annealed_log_partition(
    field: Field, draws: Draws, *, n_runs: int = 100, n_temperatures: int = 200
) -> Annealed:
    """Estimate log Z of the machine of each row.

    Parameters
    ----------
    field : Field
        The machine of each row.
    draws : Draws
        Random numbers on the field's device.
    n_runs : int, default=100
        Chains for each row.
    n_temperatures : int, default=200
        Steps from the machine without interaction to the machine itself.

    Returns
    -------
    annealed : Annealed
        log Z and its standard error; the estimate of Z itself is unbiased.
    """
    xp = field.xp
    n, D = field.a.shape
    H = field.b.shape[1]
    repeated = field.rows(to_namespace(np.repeat(np.arange(n), n_runs), field.a))
    # Z of the machine without interaction: Π (1 + e^b), and (2π)^(D/2) or Π (1 + e^a)
    base = xp.sum(softplus(field.b, xp), axis=1)
    if field.visible == "gaussian":
        base = base + 0.5 * D * math.log(2 * math.pi)
    else:
        base = base + xp.sum(softplus(field.a, xp), axis=1)
    v = _visible_draw(repeated, repeated.a, draws)
    weights = xp.zeros(n * n_runs, dtype=field.a.dtype, device=namespace_of(field.a).device)
    betas = np.linspace(0.0, 1.0, n_temperatures + 1)
    for before, now in itertools.pairwise(betas):
        heard = repeated.interaction.up(v)
        higher, lower = repeated.b + float(now) * heard, repeated.b + float(before) * heard
        # log p*_now(v) - log p*_before(v), hidden units summed out
        weights = weights + xp.sum(softplus(higher, xp) - softplus(lower, xp), axis=1)
        # a Gibbs step that leaves p_now as it is
        h = draw_binary(sigmoid(higher, xp), draws.uniform((n * n_runs, H)), xp)
        v = _visible_draw(repeated, repeated.a + float(now) * repeated.interaction.down(h), draws)
    weights = xp.reshape(weights, (n, n_runs))
    mean = log_sum_exp(weights) - math.log(n_runs)
    # scaled so that no weight overflows
    ratios = xp.exp(weights - mean[:, None])  # their mean is one
    spread = xp.sqrt(xp.sum((ratios - 1.0) ** 2, axis=1) / max(n_runs - 1, 1))
    return Annealed(base + mean, spread / math.sqrt(n_runs))


def _visible_draw(field: Field, total: Any, draws: Draws) -> Any:
    if field.visible == "gaussian":
        return total + draws.normal(total.shape)
    return draw_binary(sigmoid(total, field.xp), draws.uniform(total.shape), field.xp)
