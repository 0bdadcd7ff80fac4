"""Beliefs behind logs of actions and observations, and what the logs earn in features.

Reference: Choi and Kim (2011), section 6, Eq. 18 and 19.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from octavo.rl.partial_observation.controllers import belief_key


class BeliefLogs(NamedTuple):
    """Trajectories of equal or unequal length, padded.

    `ids` and `actions` have shape (n, horizon); id -1 stands after the end. `beliefs` are those
    that the ids count.
    """

    ids: np.ndarray
    actions: np.ndarray
    beliefs: np.ndarray

    def earned(self, phi: np.ndarray, gamma: float) -> tuple[np.ndarray, np.ndarray]:
        """Return features earned from the start, and from the first visit of each belief on.

        The first is μ̂ of shape (n_features,), the second of shape (n_beliefs, n_features), each the
        mean over the trajectories that come there.
        """
        n, horizon = self.ids.shape
        each = np.einsum("ks,fsa->kaf", self.beliefs, phi, optimize=True)
        first = np.full((n, len(self.beliefs)), -1)
        for t in range(horizon - 1, -1, -1):
            there = np.flatnonzero(self.ids[:, t] >= 0)
            first[there, self.ids[there, t]] = t
        sums, counts = np.zeros((len(self.beliefs), len(phi))), np.zeros(len(self.beliefs))
        ahead = np.zeros((n, len(phi)))
        for t in range(horizon - 1, -1, -1):
            there = np.flatnonzero(self.ids[:, t] >= 0)
            k = self.ids[there, t]
            # Σ γ^(t - H) φ from here on
            ahead[there] = each[k, self.actions[there, t]] + gamma * ahead[there]
            new = first[there, k] == t  # Eq. (19) counts a belief's first visit only
            np.add.at(sums, k[new], ahead[there[new]])
            np.add.at(counts, k[new], 1.0)
        return ahead.mean(axis=0), sums / counts[:, None]  # Eqs. (18) and (19), without α


def _whole(values: Any, count: int, what: str, m: int) -> np.ndarray:
    try:
        array = np.asarray(values)
    except ValueError:
        array = np.array(None)
    if array.ndim != 1 or array.size == 0 or array.dtype.kind not in "iu":
        raise ValueError(f"The {what} of trajectory {m} must be a list of whole numbers.")
    if array.min() < 0 or array.max() >= count:
        t = int(np.argmax((array < 0) | (array >= count)))
        raise ValueError(
            f"The {what} of trajectory {m} must lie in 0 to {count - 1}, got {array[t]} at step "
            f"{t}."
        )
    return array.astype(np.int64)


def _checked(pomdp: Any, trajectories: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return padded actions and observations; -1 after the end."""
    if isinstance(trajectories, (str, bytes)) or not hasattr(trajectories, "__len__"):
        raise ValueError("Trajectories must be a list of pairs (actions, observations).")
    if len(trajectories) == 0:
        raise ValueError("Expected at least one trajectory, got none.")
    pairs = []
    for m, pair in enumerate(trajectories):
        if isinstance(pair, str) or not hasattr(pair, "__len__") or len(pair) != 2:
            raise ValueError(f"Trajectory {m} must be a pair (actions, observations).")
        a = _whole(pair[0], pomdp.n_actions, "actions", m)
        z = _whole(pair[1], pomdp.n_observations, "observations", m)
        if len(a) != len(z):
            raise ValueError(
                f"Trajectory {m} has {len(a)} actions and {len(z)} observations; one observation "
                "follows each action."
            )
        pairs.append((a, z))
    horizon = max(len(a) for a, _ in pairs)
    out = np.full((2, len(pairs), horizon), -1)
    for m, (a, z) in enumerate(pairs):
        out[0, m, : len(a)], out[1, m, : len(z)] = a, z
    return out[0], out[1]


def read_trajectories(pomdp: Any, trajectories: Any) -> BeliefLogs:
    """Return the beliefs before each action (Eq. 3), all trajectories in step."""
    actions, seen = _checked(pomdp, trajectories)
    n, horizon = actions.shape
    A, Z = pomdp.n_actions, pomdp.n_observations
    beliefs, number, follows = [pomdp.start], {belief_key(pomdp.start): 0}, {}
    ids = np.full((n, horizon), -1)
    now = np.zeros(n, dtype=np.int64)
    for t in range(horizon):
        there = np.flatnonzero(actions[:, t] >= 0)
        ids[there, t] = now[there]
        keys = (now[there] * A + actions[there, t]) * Z + seen[there, t]
        unique, back = np.unique(keys, return_inverse=True)
        goes = np.empty(len(unique), dtype=np.int64)
        for i, key in enumerate(unique):
            if int(key) not in follows:
                (b, a), z = divmod(int(key) // Z, A), int(key) % Z
                joint = (beliefs[b] @ pomdp.P[a]) * pomdp.O[a, :, z]  # Eq. (3) before division
                total = joint.sum()
                if not total > 0:
                    m = int(there[np.flatnonzero(back == i)[0]])
                    raise ValueError(
                        f"Observation {z} at step {t} of trajectory {m} is impossible after action "
                        f"{a}: trajectories must begin at the model's start and follow its tables."
                    )
                b_next = joint / total
                follows[int(key)] = number.setdefault(belief_key(b_next), len(beliefs))
                if follows[int(key)] == len(beliefs):
                    beliefs.append(b_next)
            goes[i] = follows[int(key)]
        now[there] = goes[back]
    used = np.unique(ids[ids >= 0])
    renumber = np.full(len(beliefs) + 1, -1)
    renumber[used] = np.arange(len(used))
    return BeliefLogs(renumber[ids], np.maximum(actions, 0), np.array(beliefs)[used])
