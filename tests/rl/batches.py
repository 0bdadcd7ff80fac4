"""Small random batches of transitions, and plain numpy forms of what is tested."""

import numpy as np

from octavo.rl import Transitions


def random_batch(seed=0, lengths=(9, 1, 14, 8), p=4, off_policy=True, double=False, ends=None):
    """Return episodes whose states are random vectors; every other one ends for good."""
    rng = np.random.default_rng(seed)
    ends = [k % 2 == 0 for k in range(len(lengths))] if ends is None else ends
    features = [rng.normal(size=(n + 1, p)) for n in lengths]
    rewards = [rng.normal(size=n) for n in lengths]
    rho = [rng.choice([0.0, 0.4, 1.0, 1.7], size=n) for n in lengths] if off_policy else None
    batch = Transitions.from_trajectories(features, rewards, rho=rho, ends=ends)
    if not double:
        return batch
    n = len(batch)
    return Transitions(
        batch.X,
        batch.r,
        batch.X_next,
        rho=batch.rho,
        start=batch.start,
        terminal=batch.terminal,
        X_next2=batch.X_next + 0.3 * rng.normal(size=(n, p)),
        r2=rng.normal(size=n),
        rho2=rng.uniform(0, 2, size=n),
    )


def walk(seed, n, p=3, n_states=6, gamma_free=True):
    """Return one long walk through a random chain, its features, matrix and rewards."""
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.ones(n_states), size=n_states)
    R = rng.normal(size=n_states)
    Phi = rng.normal(size=(n_states, p))
    states = np.empty(n + 1, dtype=int)
    states[0] = 0
    cumulative = P.cumsum(axis=1)
    draws = rng.random(n)
    for t in range(n):
        states[t + 1] = min(np.searchsorted(cumulative[states[t]], draws[t]), n_states - 1)
    return states, P, R, Phi
