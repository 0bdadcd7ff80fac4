"""Log-linear networks by brute force: every joint state, one after the other."""

from __future__ import annotations

import itertools

import numpy as np


def random_features(rng, cardinalities, n, longest=3):
    """Return random conjunctions that some row can match."""
    found = []
    while len(found) < n:
        scope = rng.choice(len(cardinalities), rng.integers(1, longest + 1), replace=False)
        feature = [
            (int(k), str(rng.choice(["==", "!="])), int(rng.integers(cardinalities[k])))
            for k in scope
        ]
        found.append(feature)
    return found


def all_states(cardinalities):
    return np.array(list(itertools.product(*(range(int(c)) for c in cardinalities))))


def log_potentials(states, features, weights):
    """Return Σ w_f f(x) of each state, a literal at a time."""
    total = np.zeros(len(states))
    for feature, weight in zip(features, weights):
        matched = np.ones(len(states), bool)
        for variable, sign, value in feature:
            equal = states[:, variable] == value
            matched &= equal if sign == "==" else ~equal
        total += weight * matched
    return total


def conditional(states, logs, row, query, n_states):
    """Return the marginals of the queried variables given the rest of a row."""
    rest = [k for k in range(states.shape[1]) if k not in query]
    fits = (states[:, rest] == np.asarray(row)[rest]).all(axis=1)
    mass = np.exp(logs[fits] - logs[fits].max())
    found = np.zeros((len(query), n_states))
    for place, k in enumerate(query):
        np.add.at(found[place], states[fits][:, k], mass)
    return found / mass.sum()
