"""The sums of `step_sums` in single precision, for the many candidates of a search.

Everything between parameters and sums happens in one pass: 256 candidates lie side by side, and for
each recorded step logits, powers of two, one logarithm and the running weights of all of them are
vector instructions on arrays that stay in the first-level cache. No table of logits is made. What
is linear in the parameters is summed over the steps of an episode beforehand.
"""

from __future__ import annotations

import numpy as np

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.kernels.single_precision import exp2_single, log2_single
from octavo.rl.policy_search.step_sums import BACKWARD, LOG_RATIO, Steps

_SIDE = 256  # candidates in a block
_ZERO, _ONE = np.float32(0.0), np.float32(1.0)
_SMALL, _LARGE = np.float32(1e-30), np.float32(1e30)  # a running weight stays between them
_LOWEST = np.float32(-125.0)  # of a logit to base two below the largest
_TAME = 100.0  # logits to base two whose powers need no shift


@njit(cache=True, fastmath={"contract", "nsz", "arcp"}, error_model="numpy")
def _logits(features, weights, row):
    """Fill a row with the logits of all candidates side by side in one state."""
    d, side = weights.shape[0], row.shape[0]
    for c in range(side):
        row[c] = _ZERO
    whole = d - d % 4
    for j in range(0, whole, 4):  # four at a time: fewer loads and stores
        b0, b1, b2, b3 = weights[j], weights[j + 1], weights[j + 2], weights[j + 3]
        f0, f1, f2, f3 = features[j], features[j + 1], features[j + 2], features[j + 3]
        for c in range(side):
            row[c] += (f0 * b0[c] + f1 * b1[c]) + (f2 * b2[c] + f3 * b3[c])
    for j in range(whole, d):
        b0, f0 = weights[j], features[j]
        for c in range(side):
            row[c] += f0 * b0[c]


@njit(cache=True, fastmath={"contract", "nsz", "arcp"}, error_model="numpy")
def _block_sums(features, weights, own, share, taken, bounds, cap, tame, out):
    """Fill Σ w KL and Σ log2 of norms (2, n_episodes, n_side) of candidates.

    Weights have the shape (n_actions, d, n_side). Logits are to base two and relative to the first
    action's, as are the logarithms `own` of the evaluated policy, whose first column is that
    action's own; `share` is one over the probability of what was done.
    """
    k, side = weights.shape[0], weights.shape[2]
    logits, powers = np.zeros((k, side), np.float32), np.ones((k, side), np.float32)
    scratch = np.zeros((4, side), np.float32)
    top, norm, ahead, weight = scratch[0], scratch[1], scratch[2], scratch[3]
    for e in range(bounds.shape[0] - 1):
        total, shifts = out[0, e], out[1, e]
        for c in range(side):
            weight[c] = _ONE
            total[c] = _ZERO
            shifts[c] = _ZERO
        for t in range(bounds[e], bounds[e + 1]):
            for a in range(1, k):
                _logits(features[t], weights[a], logits[a])
            for c in range(side):
                norm[c] = _ONE
                ahead[c] = _ZERO
            if not tame:  # the largest logit becomes zero
                for c in range(side):
                    top[c] = _ZERO
                for a in range(1, k):
                    for c in range(side):
                        top[c] = max(top[c], logits[a, c])
                for c in range(side):
                    value = exp2_single(max(-top[c], _LOWEST))
                    powers[0, c] = value
                    norm[c] = value
                    ahead[c] = -value * top[c]
                    shifts[c] += top[c]
                for a in range(1, k):
                    for c in range(side):
                        logits[a, c] = max(logits[a, c] - top[c], _LOWEST)
            for a in range(1, k):
                row, raised, log_p = logits[a], powers[a], own[t, a]
                for c in range(side):
                    x = row[c]
                    value = exp2_single(x)
                    raised[c] = value
                    norm[c] += value
                    ahead[c] += value * (x - log_p)
            raised, first, inverse = powers[taken[t]], own[t, 0], share[t]
            for c in range(side):
                shift, z, w = log2_single(norm[c]), _ONE / norm[c], weight[c]
                total[c] += min(w, cap) * (ahead[c] * z - shift - first)
                shifts[c] += shift
                weight[c] = min(max(w * (raised[c] * z * inverse), _SMALL), _LARGE)


def single_sums(n_actions: int, candidates: np.ndarray, steps: Steps, cap: float) -> np.ndarray:
    """Return sums (n_candidates, n_episodes, 3) for candidates of a linear softmax policy."""
    table = steps.single
    n, n_episodes, d = len(candidates), len(steps.bounds) - 1, table.features.shape[1]
    relative = candidates.reshape(n, d, n_actions)
    relative = relative - relative[:, :, :1]  # softmax does not see it
    rates = (relative / np.log(2)).astype(np.float32)
    tame = bool(table.largest * np.abs(rates).max() < _TAME)
    side = min(_SIDE, -(-n // 16) * 16)
    sums = np.empty((2, n_episodes, side), dtype=np.float32)
    weights = np.zeros((n_actions, d, side), dtype=np.float32)
    most = np.float32(min(cap, float(_LARGE)))
    out = np.empty((3, n_episodes, n), dtype=np.float32)
    for first in range(0, n, side):
        part = rates[first : first + side]
        weights[:, :, : len(part)] = part.transpose(2, 1, 0)
        _block_sums(
            table.features, weights, table.own, table.share, table.taken, steps.bounds, most, tame,
            sums,
        )  # fmt: skip
        out[:2, :, first : first + side] = sums[:, :, : len(part)]
    flat = relative.reshape(n, -1).T
    out[:2] *= np.float32(np.log(2))
    out[LOG_RATIO] = table.done @ flat - table.log_done[:, None] - out[BACKWARD]
    out[BACKWARD] -= table.expected @ flat - table.entropy[:, None]
    return out.transpose(2, 1, 0)


def _warmup() -> None:
    """Compile every kernel of this module."""
    one = np.ones((1, 1), dtype=np.float32)
    _block_sums(
        one, np.ones((2, 1, 16), dtype=np.float32), np.ones((1, 2), dtype=np.float32), one[0],
        np.zeros(1, dtype=np.int64), np.array([0, 1]), _ONE, True,
        np.empty((2, 1, 16), dtype=np.float32),
    )  # fmt: skip
