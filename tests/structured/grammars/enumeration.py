"""All projective trees of a sentence and their probabilities, decision by decision."""

from __future__ import annotations

import itertools
import math
from functools import cache

import numpy as np


@cache
def projective_trees(n):
    """Return the heads (0 root, 1-based) of all projective trees with one root."""
    found = []
    for heads in itertools.product(range(n + 1), repeat=n):
        if sum(h == 0 for h in heads) != 1:
            continue
        arcs = [(min(h, c), max(h, c)) for c, h in enumerate(heads, start=1)]
        if any(a < c < b < d for a, b in arcs for c, d in arcs):
            continue
        if all(ends(heads, c) for c in range(1, n + 1)):
            found.append(heads)
    return found


def ends(heads, token):
    for _ in heads:
        token = heads[token - 1]
        if token == 0:
            return True
    return False


def tree_log_prob(model, x, heads):
    """Return log p(x, tree), written from the model's definition; x are tag numbers."""
    Vs, Vc = model.stop_.shape[2], model.child_.shape[2]
    total = math.log(model.root_[x[heads.index(0)]])
    for h in range(len(x)):
        for d in (0, 1):
            mine = [c for c in range(len(x)) if heads[c] == h + 1 and (c > h) == bool(d)]
            total += math.log(model.stop_[x[h], d, min(len(mine), Vs - 1)])
            for c in mine:
                a = sum(abs(o - h) > abs(c - h) for o in mine)
                total += math.log(1.0 - model.stop_[x[h], d, min(a, Vs - 1)])
                total += math.log(model.child_[x[h], d, min(a, Vc - 1), x[c]])
    return total


def posteriors(model, x, weights=None):
    """Return log Z, edge posteriors (n + 1, n) and the chances of all trees."""
    n, trees = len(x), projective_trees(len(x))
    logs = np.array([tree_log_prob(model, x, heads) for heads in trees])
    if weights is not None:
        logs -= [sum(weights[h, c] for c, h in enumerate(heads)) for heads in trees]
    chance = np.exp(logs - logs.max())
    log_z = logs.max() + math.log(chance.sum())
    chance /= chance.sum()
    edges = np.zeros((n + 1, n))
    for share, heads in zip(chance, trees):
        edges[list(heads), np.arange(n)] += share
    return log_z, edges, chance
