"""The sums of `step_sums` in single precision, for the many candidates of a search.

Everything between parameters and sums happens in one pass: 256 candidates lie side by side, and for
each recorded step logits, exponentials, one logarithm and the running weights of all of them are
vector instructions on arrays that stay in the first-level cache. No table of logits is made.
"""

from __future__ import annotations

import numpy as np

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.kernels.single_precision import exp_single, log_single
from octavo.rl.policy_search.step_sums import Steps

_SIDE = 256  # candidates in a block
_ZERO, _ONE = np.float32(0.0), np.float32(1.0)
_SMALL, _LARGE = np.float32(1e-30), np.float32(1e30)  # a running weight stays between them


@njit(cache=True, fastmath={"contract", "nsz", "arcp"}, error_model="numpy")
def _block_sums(features, weights, own, own_exp, entropy, taken, bounds, cap, out):
    """Fill sums (3, n_episodes, n_side) of candidates with weights (d, n_actions, n_side).

    Logits are relative to the first action's; d is a multiple of four.
    """
    d, k, side = weights.shape
    logits, exps = np.empty((k, side), np.float32), np.empty((k, side), np.float32)
    scratch = np.empty((5, side), np.float32)
    top, norm, ahead, behind, weight = scratch[0], scratch[1], scratch[2], scratch[3], scratch[4]
    for e in range(bounds.shape[0] - 1):
        total, back, ratio = out[0, e], out[1, e], out[2, e]
        for c in range(side):
            weight[c] = _ONE
            total[c] = _ZERO
            back[c] = _ZERO
            ratio[c] = _ZERO
        for t in range(bounds[e], bounds[e + 1]):
            for c in range(side):
                top[c] = _ZERO
                logits[0, c] = _ZERO
            for a in range(1, k):
                row = logits[a]
                for c in range(side):
                    row[c] = _ZERO
                for j in range(0, d, 4):  # four at a time: fewer loads and stores
                    b0, b1, b2, b3 = (
                        weights[j, a], weights[j + 1, a], weights[j + 2, a], weights[j + 3, a],
                    )  # fmt: skip
                    f0, f1, f2, f3 = (
                        features[t, j], features[t, j + 1], features[t, j + 2], features[t, j + 3],
                    )  # fmt: skip
                    for c in range(side):
                        row[c] += (f0 * b0[c] + f1 * b1[c]) + (f2 * b2[c] + f3 * b3[c])
                for c in range(side):
                    top[c] = max(top[c], row[c])
            for c in range(side):
                norm[c] = _ZERO
                ahead[c] = _ZERO
                behind[c] = _ZERO
            for a in range(k):
                row, raised, log_p, p = logits[a], exps[a], own[t, a], own_exp[t, a]
                for c in range(side):
                    x = row[c] - top[c]
                    value = exp_single(x)
                    row[c] = x
                    raised[c] = value
                    norm[c] += value
                    ahead[c] += value * (x - log_p)
                    behind[c] += p * x
            done = taken[t]
            row, raised, log_p, plogp = logits[done], exps[done], own[t, done], entropy[t]
            share = _ONE / own_exp[t, done]
            for c in range(side):
                shift, z = log_single(norm[c]), _ONE / norm[c]
                total[c] += min(weight[c], cap) * (ahead[c] * z - shift)
                back[c] += plogp + shift - behind[c]
                ratio[c] += row[c] - shift - log_p
                weight[c] = min(max(weight[c] * (raised[c] * z * share), _SMALL), _LARGE)


def single_sums(n_actions: int, candidates: np.ndarray, steps: Steps, cap: float) -> np.ndarray:
    """Return sums (n_candidates, n_episodes, 3) for candidates of a linear softmax policy."""
    assert steps.features is not None
    assert steps.own is not None
    n_steps, used = steps.features.shape
    d = -(-used // 4) * 4
    features = np.zeros((n_steps, d), dtype=np.float32)
    features[:, :used] = steps.features
    own = np.ascontiguousarray(steps.own, dtype=np.float32)
    own_exp = np.maximum(np.exp(own), _SMALL)
    entropy = np.einsum("na,na->n", own_exp, own)  # Σ p ln p
    taken = np.ascontiguousarray(steps.actions, dtype=np.int64).ravel()
    n = len(candidates)
    side = min(_SIDE, -(-n // 16) * 16)
    out = np.empty((3, len(steps.bounds) - 1, n), dtype=np.float32)
    sums = np.empty((3, len(steps.bounds) - 1, side), dtype=np.float32)
    weights = np.zeros((d, n_actions, side), dtype=np.float32)
    for first in range(0, n, side):
        part = candidates[first : first + side].reshape(-1, used, n_actions)
        part = part - part[:, :, :1]  # softmax does not see it
        weights[:used, :, : len(part)] = part.transpose(1, 2, 0)
        _block_sums(
            features, weights, own, own_exp, entropy, taken, steps.bounds,
            np.float32(min(cap, float(_LARGE))), sums,
        )  # fmt: skip
        out[:, :, first : first + side] = sums[:, :, : len(part)]
    return out.transpose(2, 1, 0)


def _warmup() -> None:
    """Compile every kernel of this module."""
    one = np.ones((1, 1), dtype=np.float32)
    _block_sums(
        np.ones((1, 4), dtype=np.float32), np.ones((4, 1, 16), dtype=np.float32), one, one, one[0],
        np.zeros(1, dtype=np.int64), np.array([0, 1]), _ONE,
        np.empty((3, 1, 16), dtype=np.float32),
    )  # fmt: skip
