"""The four games between two experts of de Rooij, van Erven, Grünwald and Koolen (2014)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from octavo.engine.estimators.checked import checked

__all__ = ["make_expert_game"]

# The first losses, and the difference of the cumulative losses that the later rounds follow.
_GAMES: dict[int, tuple[tuple[float, float], Callable[[float], float]]] = {
    1: ((0.5, 0.0), lambda t: 0.0),
    2: ((1.0, 0.0), lambda t: 1.5),
    3: ((1.0, 0.0), lambda t: t**0.4),
    4: ((1.0, 0.0), lambda t: t**0.6),
}


@checked
def make_expert_game(experiment: int, n_rounds: int = 1000) -> NDArray[np.float64]:
    """Return the losses of two experts in one of the paper's experiments (Section 5).

    Each round after the first is (1, 0) or (0, 1), whichever brings the difference of the
    cumulative losses closest to a target f(t).

    Parameters
    ----------
    experiment : {1, 2, 3, 4}
        1: the worst case for following the leader, f = 0; 2: its best case, f = 3/2;
        3: f = t^0.4, where AdaHedge's weights do not concentrate; 4: f = t^0.6, where they do.
    n_rounds : int, default=1000
        Number of rounds.

    Returns
    -------
    losses : ndarray of shape (n_rounds, 2)
        The losses.

    Examples
    --------
    >>> from octavo.data import make_expert_game
    >>> make_expert_game(4).sum(axis=0)
    array([532., 468.])
    """
    if experiment not in _GAMES:
        raise ValueError(f"experiment must be 1, 2, 3 or 4, got {experiment!r}.")
    if n_rounds < 1:
        raise ValueError(f"n_rounds must be at least 1, got {n_rounds}.")
    first, target = _GAMES[experiment]
    losses = np.zeros((n_rounds, 2))
    losses[0] = first
    difference = first[0] - first[1]
    for t in range(2, n_rounds + 1):
        up = abs(difference + 1 - target(t)) < abs(difference - 1 - target(t))
        losses[t - 1, 0 if up else 1] = 1.0
        difference += 1.0 if up else -1.0
    return losses
