"""Sums over recorded steps from which divergences between policies are made.

Steps of all episodes of all evaluated policies are stacked once. For a block of candidates one
matrix product gives all logits, numpy's vector instructions the exponentials, and a compiled pass
the sums of every episode (`single_sums` does it in single precision, in one go):

- ``forward``, Σ_t w_t KL(π_new(·|s_t) ‖ π_j(·|s_t)) with w_t the clipped weight of steps before,
- ``backward``, Σ_t KL(π_j(·|s_t) ‖ π_new(·|s_t)),
- ``log_ratio``, ℓ = Σ_t ln π_new(a_t|s_t) − ln π_j(a_t|s_t).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from octavo.engine.compilation.kernel_cache import njit
from octavo.rl.simulators.episodes import Episode
from octavo.rl.simulators.policies import SoftmaxLinearPolicy

FORWARD, BACKWARD, LOG_RATIO = 0, 1, 2
_BLOCK = 1 << 17  # logits in a block of candidates: what a second-level cache holds


@dataclass(frozen=True)
class Steps:
    """Stacked steps of the episodes of evaluated policies.

    `own` holds ln π_j of every action in every state (None without finite actions), `taken` that
    of the actions which were taken; episode e has the steps ``bounds[e]`` to ``bounds[e + 1]``
    and belongs to policy ``owner[e]``; ``lengths`` are the episodes' true lengths, ``thin`` the
    distance between kept steps.
    """

    thetas: np.ndarray
    states: np.ndarray
    actions: np.ndarray
    own: np.ndarray | None
    taken: np.ndarray
    bounds: np.ndarray
    owner: np.ndarray
    lengths: np.ndarray
    thin: int
    features: np.ndarray | None = None

    def means(self, sums: np.ndarray) -> np.ndarray:
        """Return means over the episodes of each policy; the last axis runs over episodes."""
        if len(self.owner) == len(self.thetas):  # one episode each
            return sums
        counts = np.bincount(self.owner, minlength=len(self.thetas))
        first = np.concatenate([[0], np.cumsum(counts)[:-1]])
        return np.add.reduceat(sums, first, axis=-1) / counts

    @cached_property
    def double(self) -> SoftmaxTable:
        """What `_softmax_sums` needs of the evaluated policies."""
        return softmax_table(self)

    @cached_property
    def single(self) -> SingleTable:
        """What `single_sums` needs of them."""
        return single_table(self)


def _supported(values: np.ndarray, what: str) -> np.ndarray:
    if not np.isfinite(values).all():
        raise ValueError(
            f"The behaviour kernel compares policies with common support, but {what} gives an "
            "action that was taken, or could be, probability zero: use stochastic policies, or "
            "kernel='se'."
        )
    return values


def check_episodes(thetas: Any, episodes: Any) -> tuple[np.ndarray, list[list[Episode]]]:
    """Return parameters as rows, and a list of episodes for each."""
    thetas = np.asarray(thetas, dtype=float)
    if thetas.ndim != 2 or not np.isfinite(thetas).all():
        raise ValueError(f"Parameters must be finite rows; got an array of shape {thetas.shape}.")
    try:
        lists = [[one] if isinstance(one, Episode) else list(one) for one in episodes]
    except TypeError:
        raise ValueError("episodes must be a list of episodes for each row of thetas.") from None
    if len(lists) != len(thetas):
        raise ValueError(
            f"{len(thetas)} policies need as many lists of episodes; got {len(lists)}."
        )
    for j, each in enumerate(lists):
        if not each or not all(isinstance(e, Episode) for e in each):
            raise ValueError(f"Policy {j} needs a list of at least one Episode.")
    return thetas, lists


def stack_steps(policy: Any, thetas: Any, episodes: Sequence[Any], thin: int = 1) -> Steps:
    """Stack episodes, with each policy's log-probabilities on its own steps."""
    thetas, lists = check_episodes(thetas, episodes)
    flat = [episode for each in lists for episode in each]
    states = np.vstack([e.states[::thin] for e in flat])
    actions = np.concatenate([e.actions[::thin] for e in flat])
    kept = np.array([len(range(0, len(e), thin)) for e in flat])
    bounds = np.concatenate([[0], np.cumsum(kept)])
    owner = np.repeat(np.arange(len(lists)), [len(each) for each in lists])
    finite = hasattr(policy, "log_probs")
    own, taken = [], []
    for theta, each in zip(thetas, lists):
        here = np.vstack([e.states[::thin] for e in each])
        done = np.concatenate([e.actions[::thin] for e in each])
        if finite:
            own.append(np.asarray(policy.log_probs(theta, here), dtype=float))
        taken.append(np.asarray(policy.log_prob(theta, here, done), dtype=float))
    table = _supported(np.vstack(own), "an evaluated policy") if finite else None
    made = policy.describe(states) if isinstance(policy, SoftmaxLinearPolicy) else None
    return Steps(
        thetas,
        states,
        actions,
        table,
        _supported(np.concatenate(taken), "an evaluated policy"),
        bounds.astype(np.int64),
        owner,
        np.array([len(e) for e in flat], dtype=float),
        thin,
        made,
    )


@njit(cache=True)
def _segment_sums(forward, backward, log_ratio, bounds, most, out):
    """Fill one row of sums for each episode: weighted, plain, and of log ratios."""
    for e in range(bounds.shape[0] - 1):
        weight, total, back, ratio = 0.0, 0.0, 0.0, 0.0
        for t in range(bounds[e], bounds[e + 1]):
            if weight <= -700.0:
                factor = 0.0
            elif weight >= most:
                factor = np.exp(most)
            else:
                factor = np.exp(weight)
            total += factor * forward[t]
            back += backward[t]
            ratio += log_ratio[t]
            weight = ratio
        out[e, 0], out[e, 1], out[e, 2] = total, back, ratio


@njit(cache=True, fastmath={"nsz", "arcp", "contract", "reassoc"})
def _softmax_sums(logits, exps, log_norm, norm, own, own_exp, entropy, taken, bounds, cap, out):
    """Do the same for finite actions, from shifted logits (n_actions, n_steps) and their exps.

    The weight is a product of ratios: one division a step instead of an exponential.
    """
    n_actions = logits.shape[0]
    for e in range(bounds.shape[0] - 1):
        weight, total, back, ratio = 1.0, 0.0, 0.0, 0.0
        for t in range(bounds[e], bounds[e + 1]):
            z, shift = 1.0 / norm[t], log_norm[t]
            ahead, behind = 0.0, 0.0
            for a in range(n_actions):
                ahead += exps[a, t] * (logits[a, t] - own[a, t])
                behind += own_exp[a, t] * logits[a, t]
            # w_t KL(new, j) of a step: exact inside, weighted by the steps before
            total += min(weight, cap) * (ahead * z - shift)
            back += entropy[t] + shift - behind
            done = taken[t]
            # log P_new - log P_j: dynamics cancel (Section 4.2)
            ratio += logits[done, t] - shift - own[done, t]
            weight *= exps[done, t] * z / own_exp[done, t]
            weight = min(max(weight, 1e-300), 1e300)
        out[e, 0], out[e, 1], out[e, 2] = total, back, ratio


class SoftmaxTable(NamedTuple):
    """What `_softmax_sums` needs of the evaluated policies."""

    features: np.ndarray
    own: np.ndarray
    own_exp: np.ndarray
    entropy: np.ndarray
    taken: np.ndarray


def softmax_table(steps: Steps) -> SoftmaxTable:
    """Return the stacked steps as the compiled pass wants them."""
    own = np.ascontiguousarray(steps.own.T, dtype=float)  # type: ignore[union-attr]
    own_exp = np.maximum(np.exp(own), 1e-300)
    entropy = np.einsum("an,an->n", own_exp, own)  # Σ p ln p
    made = None if steps.features is None else np.ascontiguousarray(steps.features.T, dtype=float)
    taken = np.ascontiguousarray(steps.actions, dtype=np.int64).ravel()
    return SoftmaxTable(made, own, own_exp, entropy, taken)  # type: ignore[arg-type]


class SingleTable(NamedTuple):
    """What `single_sums` needs: by step for the compiled pass, and by episode.

    `own` are logarithms to base two, from the second column on relative to the first; `share` is
    one over the probability of what was done, `largest` the largest Σ abs of a row of features. By
    episode: Σ φ pᵀ and Σ φ 1ᵀ with 1 what was done, flat, and Σ p ln p and Σ ln p(done).
    """

    features: np.ndarray
    own: np.ndarray
    share: np.ndarray
    taken: np.ndarray
    largest: float
    expected: np.ndarray
    done: np.ndarray
    entropy: np.ndarray
    log_done: np.ndarray


def single_table(steps: Steps) -> SingleTable:
    """Return the stacked steps as the pass in single precision wants them."""
    made, log_p, starts = steps.features, steps.own, steps.bounds[:-1]
    assert made is not None
    assert log_p is not None
    taken = np.ascontiguousarray(steps.actions, dtype=np.int64).ravel()
    p, done = np.exp(log_p), np.eye(log_p.shape[1])[taken]
    own = log_p / np.log(2)
    own[:, 1:] -= own[:, :1]
    share = 1.0 / np.maximum((p * done).sum(axis=1), 1e-30)
    outer = [
        np.add.reduceat(np.einsum("td,ta->tda", made, v).reshape(len(taken), -1), starts)
        for v in (p, done)
    ]
    logs = [np.add.reduceat((v * log_p).sum(axis=1), starts) for v in (p, done)]
    return SingleTable(
        np.ascontiguousarray(made, dtype=np.float32),
        own.astype(np.float32),
        share.astype(np.float32),
        taken,
        float(np.abs(made).sum(axis=1).max()),
        *outer,
        *logs,
    )


def _pass(
    logits: np.ndarray, table: SoftmaxTable, bounds: np.ndarray, cap: float, out: Any
) -> None:
    """Turn the logits (n_block, n_actions, n_steps) of a block into sums, in place."""
    logits -= logits.max(axis=1, keepdims=True)
    exps = np.exp(logits)
    norms = exps.sum(axis=1)
    logs = np.log(norms)
    for b in range(len(logits)):
        _softmax_sums(
            logits[b], exps[b], logs[b], norms[b], table.own, table.own_exp, table.entropy,
            table.taken, bounds, cap, out[b],
        )  # fmt: skip


def softmax_sums(
    policy: SoftmaxLinearPolicy,
    candidates: np.ndarray,
    steps: Steps,
    table: SoftmaxTable,
    cap: float,
) -> np.ndarray:
    """Return sums (n_candidates, n_episodes, 3) for candidates of a linear softmax policy."""
    n, (d, total) = len(candidates), table.features.shape
    k = policy.n_actions
    weights = candidates.reshape(n, d, k).transpose(0, 2, 1)
    out = np.empty((n, len(steps.bounds) - 1, 3))
    block = max(1, _BLOCK // (k * total))
    for first in range(0, n, block):
        part = weights[first : first + block].reshape(-1, d)
        logits = (part @ table.features).reshape(-1, k, total)
        _pass(logits, table, steps.bounds, cap, out[first : first + block])
    return out


def finite_sums(
    policy: Any, candidates: np.ndarray, steps: Steps, table: SoftmaxTable, cap: float
) -> np.ndarray:
    """Return the sums for candidates of any policy with finite actions."""
    out = np.empty((len(candidates), len(steps.bounds) - 1, 3))
    for c, theta in enumerate(candidates):
        made = np.asarray(policy.log_probs(theta, steps.states), dtype=float)
        logits = _supported(made, f"candidate {c}").T[None]
        _pass(np.ascontiguousarray(logits), table, steps.bounds, cap, out[c : c + 1])
    return out


def other_sums(policy: Any, candidates: np.ndarray, steps: Steps, cap: float) -> np.ndarray:
    """Return the sums for candidates of a policy without finite actions."""
    exact = hasattr(policy, "step_divergence")
    segments = [steps.bounds[e] for e in range(len(steps.bounds))]
    out = np.empty((len(candidates), len(steps.bounds) - 1, 3))
    forward, backward = np.zeros(len(steps.states)), np.zeros(len(steps.states))
    edges = steps.bounds[np.searchsorted(steps.owner, np.arange(len(steps.thetas) + 1))]
    for c, theta in enumerate(candidates):
        made = np.asarray(policy.log_prob(theta, steps.states, steps.actions), dtype=float)
        ratio = _supported(made, f"candidate {c}") - steps.taken
        for j in range(len(steps.thetas) if exact else 0):
            here = slice(edges[j], edges[j + 1])
            states, old = steps.states[here], steps.thetas[j]
            forward[here] = policy.step_divergence(theta, old, states)
            backward[here] = policy.step_divergence(old, theta, states)
        if not exact:  # the log ratio itself: one draw of the inner divergence
            forward, backward = np.exp(np.minimum(ratio, np.log(cap))) * ratio, -ratio
        _segment_sums(forward, backward, ratio, np.array(segments), np.log(cap), out[c])
    return out


def _warmup() -> None:
    """Compile every kernel of this module."""
    bounds = np.array([0, 1])
    out = np.empty((1, 3))
    one = np.ones(1)
    _segment_sums(one, one, one, bounds, 1.0, out)
    table, taken = np.ones((2, 1)), np.zeros(1, dtype=np.int64)
    _softmax_sums(table, table, one, one, table, table, one, taken, bounds, 10.0, out)
