"""Exact partition functions of machines with few hidden units, by enumeration.

With Gaussian visible units a machine of H hidden units is a mixture of 2^H Gaussians with means
a + W h, so Z is a sum over hidden states.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from octavo.engine.contrastive.divergence import Field, softplus
from octavo.engine.kernels.namespaces import namespace_of, to_namespace, to_numpy

_NUMBERS = 1 << 21  # that a block of the table holds at most


def log_partition(field: Field) -> Any:
    """Return log Z of the machine of each row, of shape (n,).

    Parameters
    ----------
    field : Field
        Machines with at most about 20 hidden units: the work is n · 2^H.

    Returns
    -------
    log_z : array of shape (n,)
        The logarithm of the sum over hidden and the integral (or sum) over visible states.
    """
    xp = field.xp
    gate = getattr(field.interaction, "gate", None)
    if gate is None:
        return _same_matrix(field.a, field.b, field.interaction.matrix(0), field.visible)
    # Rows with one gate share a matrix, and so a table of hidden states.
    _, first, group = np.unique(to_numpy(gate), axis=0, return_index=True, return_inverse=True)
    group = group.reshape(-1)
    order = np.argsort(group, kind="stable")
    parts = []
    for k, row in enumerate(first):
        members = to_namespace(np.flatnonzero(group == k), field.a)
        a, b = xp.take(field.a, members, axis=0), xp.take(field.b, members, axis=0)
        parts.append(_same_matrix(a, b, field.interaction.matrix(int(row)), field.visible))
    back = np.empty_like(order)
    back[order] = np.arange(order.size)
    return xp.take(xp.concat(parts, axis=0), to_namespace(back, field.a), axis=0)


def _same_matrix(a: Any, b: Any, W: Any, visible: str) -> Any:
    """Return log Z of rows that share W, hidden states in blocks."""
    xp = namespace_of(a).xp
    D, H = W.shape
    width = a.shape[0] * (1 if visible == "gaussian" else max(D, 1)) + H + D
    block = max(1, min(1 << H, _NUMBERS // width))
    total: Any = None
    for first in range(0, 1 << H, block):
        states = to_namespace(_states(first, min(first + block, 1 << H), H), a)
        means = states @ W.T  # rows W h
        scores = b @ states.T
        if visible == "gaussian":
            # b'h + a'Wh + ½ ‖Wh‖²: v is integrated out
            scores = scores + a @ means.T + 0.5 * xp.sum(means * means, axis=1)[None, :]
        else:
            scores = scores + xp.sum(softplus(a[:, None, :] + means[None, :, :], xp), axis=2)
        part = log_sum_exp(scores)
        total = part if total is None else xp.logaddexp(total, part)
    return total + (0.5 * D * math.log(2 * math.pi) if visible == "gaussian" else 0.0)


def _states(first: int, last: int, H: int) -> np.ndarray:
    return ((np.arange(first, last)[:, None] >> np.arange(H)[None, :]) & 1).astype(np.float64)


def log_sum_exp(scores: Any) -> Any:
    """Return log Σ exp over the last axis."""
    xp = namespace_of(scores).xp
    top = xp.max(scores, axis=-1, keepdims=True)
    return xp.log(xp.sum(xp.exp(scores - top), axis=-1)) + top[..., 0]
