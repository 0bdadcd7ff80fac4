"""Sequences of a hidden state of high order, observed with noise."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from octavo.engine.estimators.checked import checked

__all__ = ["make_high_order_markov"]


@checked
def make_high_order_markov(
    n_sequences: int = 500,
    length: int = 20,
    n_states: int = 5,
    order: int = 2,
    r: int = 2,
    n_obs: int = 3,
    sigma: float = 0.5,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[list[NDArray[np.float64]], list[NDArray[np.int64]]]:
    """Simulate a Markov model of any order and what is seen of it.

    After ``order`` states, ``r`` next states are possible, with random probabilities. A state
    has a mean drawn from the unit cube, and shows itself as that mean plus Gaussian noise. The
    first ``order`` states of a sequence are drawn at random. Data of Section 3.1.1 of Cuong, Ye,
    Lee and Chieu (2014).

    Parameters
    ----------
    n_sequences, length : int
        How many sequences, and how long.
    n_states : int, default=5
        Number of states.
    order : int, default=2
        How many states the next one depends on.
    r : int, default=2
        How many states are possible next.
    n_obs : int, default=3
        Dimension of an observation.
    sigma : float, default=0.5
        Standard deviation of the noise. The states do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Source of randomness.

    Returns
    -------
    X : list of ndarray of shape (length, n_obs)
        Observations.
    y : list of ndarray of shape (length,)
        States, 0 to n_states - 1.

    Examples
    --------
    >>> from octavo.data import make_high_order_markov
    >>> X, y = make_high_order_markov(2, length=4, random_state=0)
    >>> X[0].shape, y[0].shape
    ((4, 3), (4,))
    """
    if not 1 <= r <= n_states:
        raise ValueError(f"r must be between 1 and n_states={n_states}, got {r}.")
    if order < 1 or length < 1 or n_sequences < 1 or n_obs < 1 or sigma < 0:
        raise ValueError(
            "order, length, n_sequences and n_obs must be positive and sigma not negative, got "
            f"{order}, {length}, {n_sequences}, {n_obs} and {sigma}."
        )
    rng = check_random_state(random_state)
    n_histories = n_states**order
    following = np.array([rng.permutation(n_states)[:r] for _ in range(n_histories)])
    chances = rng.uniform(size=(n_histories, r))
    ceilings = np.cumsum(chances / chances.sum(axis=1, keepdims=True), axis=1)
    states = np.empty((n_sequences, max(length, order)), dtype=np.int64)
    states[:, :order] = rng.randint(n_states, size=(n_sequences, order))
    powers = n_states ** np.arange(order - 1, -1, -1)
    for t in range(order, length):
        history = states[:, t - order : t] @ powers
        draw = rng.uniform(size=n_sequences)
        choice = np.minimum((draw[:, None] > ceilings[history]).sum(axis=1), r - 1)
        states[:, t] = following[history, choice]
    states = states[:, :length]
    means = rng.uniform(size=(n_states, n_obs))
    X = means[states] + sigma * rng.normal(size=(n_sequences, length, n_obs))
    return list(X), list(states)
