"""The small problems on which policies under partial observation are tried.

Reference: Choi and Kim (2011), section 7 and Figure 4; Cassandra, Kaelbling and Littman (1994);
Geffner and Bonet (1998).
"""

from __future__ import annotations

import numpy as np

from octavo.engine.estimators.checked import checked
from octavo.rl.partial_observation.pomdp import POMDP

__all__ = ["make_grid5", "make_heaven_hell", "make_maze1d", "make_tiger"]


@checked
def make_tiger(gamma: float = 0.75, accuracy: float = 0.85) -> POMDP:
    """Make the tiger problem: listen, or open one of two doors.

    Parameters
    ----------
    gamma : float, default=0.75
        Discount factor.
    accuracy : float, default=0.85
        Probability of hearing the tiger where it is.

    Returns
    -------
    POMDP
        States: the tiger is left or right. Actions: listen (-1), open left, open right (10, or -100
        with the tiger); opening begins anew.

    Examples
    --------
    >>> from octavo.rl import PBPISolver, make_tiger
    >>> tiger = make_tiger()
    >>> round(PBPISolver().solve(tiger).value(tiger), 4)
    1.9334
    """
    if not 0 <= accuracy <= 1:
        raise ValueError(f"The accuracy must be a probability, got {accuracy!r}.")
    half = np.full((2, 2), 0.5)
    heard = np.array([[accuracy, 1 - accuracy], [1 - accuracy, accuracy]])
    return POMDP(
        [np.eye(2), half, half],
        [heard, half, half],
        [[-1.0, -100.0, 10.0], [-1.0, 10.0, -100.0]],
        gamma,
        state_names=("tiger left", "tiger right"),
        action_names=("listen", "open left", "open right"),
        observation_names=("left", "right"),
    )


@checked
def make_maze1d(gamma: float = 0.75) -> POMDP:
    """Make the corridor of four cells, of which the third is the goal.

    Parameters
    ----------
    gamma : float, default=0.75
        Discount factor.

    Returns
    -------
    POMDP
        Any action in the goal earns 1 and leads to another cell at random; only the goal is seen.

    Examples
    --------
    >>> from octavo.rl import make_maze1d
    >>> make_maze1d()
    POMDP(n_states=4, n_actions=2, n_observations=2, gamma=0.75)
    """
    others = np.array([1, 1, 0, 1]) / 3
    P = np.zeros((2, 4, 4))
    for s in (0, 1, 3):
        P[0, s, max(s - 1, 0)] = P[1, s, min(s + 1, 3)] = 1
    P[:, 2] = others
    seen = np.tile([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.0]], (2, 1, 1))
    return POMDP(
        P,
        seen,
        [0.0, 0.0, 1.0, 0.0],
        gamma,
        start=others,
        state_names=("left", "middle", "goal", "right"),
        action_names=("left", "right"),
        observation_names=("nothing", "goal"),
    )


@checked
def make_grid5(gamma: float = 0.9, size: int = 5) -> POMDP:
    """Make the grid whose walls are all that is seen.

    Parameters
    ----------
    gamma : float, default=0.9
        Discount factor.
    size : int, default=5
        Cells on a side, at least 3.

    Returns
    -------
    POMDP
        States row by row from the north-west, where it starts; any action in the south-east corner
        earns 1 and leads back. Actions: west, east, north, south.

    Examples
    --------
    >>> from octavo.rl import PBPISolver, make_grid5
    >>> grid = make_grid5()
    >>> round(PBPISolver().solve(grid).value(grid), 4)
    0.7027
    """
    if size < 3:
        raise ValueError(f"The grid needs at least 3 cells on a side, got {size}.")
    n, names = size * size, ("null", "N", "S", "W", "E", "NW", "NE", "SW", "SE")
    P, seen = np.zeros((4, n, n)), np.zeros((n, 9))
    for s in range(n):
        y, x = divmod(s, size)
        for a, (dy, dx) in enumerate(((0, -1), (0, 1), (-1, 0), (1, 0))):
            row, column = (min(max(v, 0), size - 1) for v in (y + dy, x + dx))
            P[a, s, row * size + column] = 1
        wall = ("N" if y == 0 else "S" if y == size - 1 else "") + (
            "W" if x == 0 else "E" if x == size - 1 else ""
        )
        seen[s, names.index(wall or "null")] = 1
    P[:, n - 1] = np.eye(n)[0]
    return POMDP(
        P,
        np.tile(seen, (4, 1, 1)),
        np.eye(n)[n - 1],
        gamma,
        start=np.eye(n)[0],
        action_names=("west", "east", "north", "south"),
        observation_names=names,
    )


# Cell by cell, what lies to the west, east, north and south: the stem 0-1-2 to the north, arms
# 2-3-4 and 2-5-6, and the priest's branch 0-7-8-9 to the south. The drawing of Figure 4 is not at
# hand. Of branches from 0, 1 and 2 only that from 0 has the 19 reachable beliefs of Table 4; the
# expert takes all four actions (else Table 6 could not count its deviations), so it leads south.
_HEAVEN_MAP: dict[int, tuple[int | None, ...]] = {
    0: (None, None, 1, 7),
    1: (None, None, 2, 0),
    2: (3, 5, None, 1),
    3: (4, 2, None, None),
    4: (None, 3, None, None),
    5: (2, 6, None, None),
    6: (5, None, None, None),
    7: (None, None, 0, 8),
    8: (None, None, 7, 9),
    9: (None, None, 8, None),
}


@checked
def make_heaven_hell(gamma: float = 0.99) -> POMDP:
    """Make the walk to heaven or hell, whose places only a priest knows.

    Parameters
    ----------
    gamma : float, default=0.99
        Discount factor.

    Returns
    -------
    POMDP
        Positions 0 to 9, twice: heaven is at 4 and hell at 6 in states 0 to 9, the other way in
        states 10 to 19. The position is seen; at 9 also which of the two it is. Any action in
        heaven earns 1, in hell -1, and leads to position 0 with a new draw. Actions: west, east,
        north, south.

    Examples
    --------
    >>> from octavo.rl import PBPISolver, make_heaven_hell
    >>> world = make_heaven_hell()
    >>> round(PBPISolver().solve(world).value(world), 2)
    8.64
    """
    P, seen, start = np.zeros((4, 20, 20)), np.zeros((20, 11)), np.zeros(20)
    start[[0, 10]] = 0.5
    for world in (0, 10):
        for cell, ways in _HEAVEN_MAP.items():
            for a, to in enumerate(ways):
                P[a, world + cell, world + (cell if to is None else to)] = 1
            seen[world + cell, cell] = 1
        P[:, [world + 4, world + 6]] = start
    seen[19, 9], seen[19, 10] = 0, 1
    R = np.zeros(20)
    R[[4, 16]], R[[6, 14]] = 1, -1
    return POMDP(
        P,
        np.tile(seen, (4, 1, 1)),
        R,
        gamma,
        start=start,
        action_names=("west", "east", "north", "south"),
        observation_names=(*map(str, range(9)), "9: west", "9: east"),
    )
