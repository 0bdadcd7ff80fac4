"""Rock Sample: a rover among rocks that are good or bad, with a sensor that fades with distance.

Reference: Smith and Simmons (2004), "Heuristic search value iteration for POMDPs", UAI; Choi and
Kim (2011), section 7, which adds the penalties and the return to the start.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.utils import check_random_state

from octavo.engine.estimators.checked import checked
from octavo.rl.partial_observation.pomdp import POMDP

__all__ = ["make_rock_sample", "rock_sample_basis"]

_MOVES = ((-1, 0), (1, 0), (0, 1), (0, -1))  # west, east, north, south
_MOST_STATES = 5000


def _rock_places(n, k, rocks, random_state):
    if rocks is None:
        cells = check_random_state(random_state).permutation(n * n)[:k]
        return [(int(c) % n, int(c) // n) for c in cells]
    places = [tuple(map(int, place)) for place in rocks]
    inside = all(len(p) == 2 and min(p) >= 0 and max(p) < n for p in places)
    if len(places) != k or len(set(places)) != k or not inside:
        raise ValueError(f"Expected {k} different places (x, y) from 0 to {n - 1}, got {rocks!r}.")
    return places


@checked
def make_rock_sample(
    n: int = 4,
    k: int = 3,
    *,
    rocks: Sequence[tuple[int, int]] | None = None,
    half_distance: float = 20.0,
    gamma: float = 0.95,
    random_state=0,
) -> POMDP:
    """Make Rock Sample[n, k].

    Parameters
    ----------
    n : int, default=4
        Cells on a side.
    k : int, default=3
        Rocks.
    rocks : sequence of pairs of int, default=None
        Places (x, y) of the rocks, y from the south; None draws them.
    half_distance : float, default=20.0
        Where the sensor is right with probability 3/4: efficiency is 2^(-d / half_distance).
    gamma : float, default=0.95
        Discount factor.
    random_state : int, RandomState instance or None, default=0
        Draws the places.

    Returns
    -------
    POMDP
        State (y n + x) 2^k + rocks as bits, 1 for good, and a last one outside, from which any
        action leads to the start, in the middle of the west side, with rocks drawn anew. Actions:
        west, east, north, south, sample, and one check for each rock. Sampling earns 10 or -10,
        -100 without a rock; leaving east earns 1, elsewhere -100.

    Notes
    -----
    The map, the start and the sensor of the paper's experiment are not printed: these are ours.

    Examples
    --------
    >>> from octavo.rl import make_rock_sample
    >>> make_rock_sample(4, 3)
    POMDP(n_states=129, n_actions=8, n_observations=2, gamma=0.95)
    """
    if n < 2 or k < 1 or k > n * n:
        raise ValueError(f"Expected n of at least 2 and from 1 to n² rocks, got n={n}, k={k}.")
    if not half_distance > 0:
        raise ValueError(f"The half distance must be above 0, got {half_distance!r}.")
    kinds, S, A = 2**k, n * n * 2**k + 1, 5 + k
    if S > _MOST_STATES:
        raise ValueError(f"Rock Sample[{n},{k}] has {S} states; the most is {_MOST_STATES}.")
    places = _rock_places(n, k, rocks, random_state)
    P, R = np.zeros((A, S, S)), np.zeros((S, A))
    seen = np.zeros((A, S, 2))
    seen[:, :, 0] = 1.0  # moves and samples show nothing: always "bad"
    for s in range(S - 1):
        cell, good = divmod(s, kinds)
        y, x = divmod(cell, n)
        for a, (dx, dy) in enumerate(_MOVES):
            inside = 0 <= x + dx < n and 0 <= y + dy < n
            P[a, s, ((y + dy) * n + x + dx) * kinds + good if inside else S - 1] = 1
            R[s, a] = 0.0 if inside else 1.0 if a == 1 else -100.0
        rock = places.index((x, y)) if (x, y) in places else None
        after = s if rock is None else cell * kinds + (good & ~(1 << rock))
        P[4, s, after] = 1
        R[s, 4] = -100.0 if rock is None else 10.0 if good >> rock & 1 else -10.0
        for i, (rx, ry) in enumerate(places):
            P[5 + i, s, s] = 1
            right = 0.5 + 0.5 * 2.0 ** (-np.hypot(rx - x, ry - y) / half_distance)
            seen[5 + i, s] = [1 - right, right] if good >> i & 1 else [right, 1 - right]
    first = np.zeros(S)
    first[(n // 2) * n * kinds + np.arange(kinds)] = 1.0 / kinds
    P[:, S - 1] = first
    return POMDP(
        P, seen, R, gamma, start=first,
        action_names=(
            "west", "east", "north", "south", "sample", *(f"check {i}" for i in range(k))
        ),
        observation_names=("bad", "good"),
    )  # fmt: skip


@checked
def rock_sample_basis(pomdp: POMDP, compact: bool = True, random_state=0) -> np.ndarray:
    """Return the features of Table 8, for a model that `make_rock_sample` made.

    Parameters
    ----------
    pomdp : POMDP
        The model.
    compact : bool, default=True
        Whether to stop at the sets on which the true reward differs; False adds the paper's
        redundant ones: the sensor, moving, sampling at four empty places, at the rest of them.
    random_state : int, RandomState instance or None, default=0
        Draws the four empty places.

    Returns
    -------
    ndarray of shape (n_features, n_states, n_actions)
        Indicators; what none of the others covers is the last.

    Examples
    --------
    >>> from octavo.rl import make_rock_sample, rock_sample_basis
    >>> len(rock_sample_basis(make_rock_sample(4, 3)))
    12
    """
    R, S, A = pomdp.rewards(), pomdp.n_states, pomdp.n_actions
    kinds = 2 ** (A - 5)
    n = round(((S - 1) / kinds) ** 0.5)
    cell = np.append(np.arange(S - 1) // kinds, -1)
    good = np.append(np.arange(S - 1) % kinds, 0)
    sets = [((cell % n == 0) & (cell >= 0), 0), ((cell % n == n - 1) & (cell >= 0), 1)]
    sets += [((cell >= n * (n - 1)), 2), ((cell >= 0) & (cell < n), 3)]
    empty = (R[:, 4] == -100.0) & (cell >= 0)
    for i in range(A - 5):  # the rock of a bit stands where that bit decides about a sample
        here = [c for c in range(n * n) if R[c * kinds + (1 << i), 4] == 10.0]
        at = np.isin(cell, here)
        sets += [(at & (good >> i & 1 == 1), 4), (at & (good >> i & 1 == 0), 4)]
    if compact:
        sets.append((empty, 4))
    phi = np.zeros((len(sets), S, A))
    for i, (states, a) in enumerate(sets):
        phi[i, states, a] = 1
    if not compact:
        extra = np.zeros((7, S, A))
        extra[0][:-1, 5:] = 1
        extra[1][:-1, :4] = 1
        chosen = check_random_state(random_state).permutation(np.unique(cell[empty]))[:4]
        for j, c in enumerate(chosen):
            extra[2 + j][cell == c, 4] = 1
        extra[6][empty & ~np.isin(cell, chosen), 4] = 1
        phi = np.concatenate([phi, extra])
    return np.concatenate([phi, (phi.sum(axis=0) == 0)[None].astype(float)])
