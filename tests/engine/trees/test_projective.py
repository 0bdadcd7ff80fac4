"""Sums and maxima over projective trees against all trees written out."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from octavo.engine.trees.projective import best_projective_trees, projective_marginals


def projective_trees(n):
    """Yield the heads (0 root, 1-based) of all projective trees with one root."""
    for heads in itertools.product(range(n + 1), repeat=n):
        if sum(h == 0 for h in heads) == 1 and reaches_root(heads) and not crosses(heads):
            yield heads


def reaches_root(heads):
    for c in range(1, len(heads) + 1):
        seen = set()
        while c:
            if c in seen:
                return False
            seen.add(c)
            c = heads[c - 1]
    return True


def crosses(heads):
    arcs = [(min(h, c), max(h, c)) for c, h in enumerate(heads, start=1)]  # the root stands at 0
    return any(a < c < b < d for a, b in arcs for c, d in arcs)


def factors(heads, V):
    """Return the root, the edges (h, c, class) and the stops (h, side, class) of a tree."""
    edges, stops, root = [], [], heads.index(0)
    for h in range(len(heads)):
        mine = [c for c in range(len(heads)) if heads[c] == h + 1]
        for side in (0, 1):
            there = [c for c in mine if (c > h) == bool(side)]
            stops.append((h, side, min(len(there), V - 1)))
            for c in there:
                farther = sum(abs(o - h) > abs(c - h) for o in there)
                edges.append((h, c, min(farther, V - 1)))
    return root, edges, stops


@pytest.mark.parametrize("V", [1, 2, 3])
def test_numbers_of_trees(V):
    # C(3n - 2, n - 1) / n
    for n, count in enumerate((1, 2, 7, 30, 143, 728), start=1):
        assert count == math.comb(3 * n - 2, n - 1) // n
        found = projective_marginals(np.zeros((1, n, n, V)), np.zeros((1, n)))
        assert math.isclose(math.exp(found.log_partition[0]), count, rel_tol=1e-12)


@pytest.mark.parametrize("spread", [1.0, 200.0])
@pytest.mark.parametrize("V", [1, 2, 3, 4])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_equals_enumeration(n, V, spread):
    rng = np.random.default_rng(10 * n + V)
    edge = spread * rng.normal(size=(1, n, n, V))
    root, stop = spread * rng.normal(size=(1, n)), spread * rng.normal(size=(1, n, 2, V))
    trees = list(projective_trees(n))
    logs = []
    for heads in trees:
        r, edges, stops = factors(heads, V)
        logs.append(root[0, r] + sum(edge[0][e] for e in edges) + sum(stop[0][s] for s in stops))
    logs = np.array(logs)
    shares = np.exp(logs - logs.max())
    log_z = logs.max() + math.log(shares.sum())
    shares /= shares.sum()
    by_edge, by_root, by_stop = np.zeros((n, n, V)), np.zeros(n), np.zeros((n, 2, V))
    for share, heads in zip(shares, trees):
        r, edges, stops = factors(heads, V)
        by_root[r] += share
        for e in edges:
            by_edge[e] += share
        for s in stops:
            by_stop[s] += share
    found = projective_marginals(edge, root, stop)
    np.testing.assert_allclose(found.log_partition[0], log_z, rtol=1e-12, atol=1e-10)
    np.testing.assert_allclose(found.edges[0], by_edge, atol=1e-9)
    np.testing.assert_allclose(found.roots[0], by_root, atol=1e-9)
    np.testing.assert_allclose(found.stops[0], by_stop, atol=1e-9)
    heads, scores = best_projective_trees(edge, root, stop)
    assert tuple(heads[0]) == trees[int(np.argmax(logs))]
    np.testing.assert_allclose(scores[0], logs.max(), rtol=1e-12)


def test_gradient_of_long_sentences():
    rng = np.random.default_rng(0)
    edge, root = rng.normal(size=(1, 60, 60, 2)), rng.normal(size=(1, 60))
    stop = rng.normal(size=(1, 60, 2, 2)) - 20.0
    base = projective_marginals(edge, root, stop)
    np.testing.assert_allclose(base.edges[0].sum((0, 2)) + base.roots[0], 1.0, atol=1e-9)
    np.testing.assert_allclose(base.stops[0].sum(axis=2), 1.0, atol=1e-9)
    step = 1e-5
    for h, c, a in ((3, 4, 0), (50, 20, 1), (10, 11, 1)):
        moved = []
        for sign in (1, -1):
            edge[0, h, c, a] += sign * step
            moved.append(projective_marginals(edge, root, stop).log_partition[0])
            edge[0, h, c, a] -= sign * step
        # the sum is near 2,500, so a difference carries 1e-12 / 1e-5 of rounding
        slope = (moved[0] - moved[1]) / (2 * step)
        assert abs(slope - base.edges[0, h, c, a]) < 1e-6


def test_forbidden_trees():
    edge, root = np.full((1, 2, 2, 1), -np.inf), np.zeros((1, 2))
    found = projective_marginals(edge, root)
    assert found.log_partition[0] == -np.inf
    assert not found.edges.any()
    assert not found.roots.any()
    assert best_projective_trees(edge, root)[0].tolist() == [[-1, -1]]


def test_bad_shapes():
    with pytest.raises(ValueError, match="Edges must have the shape"):
        projective_marginals(np.zeros((2, 2)), np.zeros(2))
    with pytest.raises(ValueError, match="roots must be"):
        projective_marginals(np.zeros((1, 2, 2, 1)), np.zeros((1, 3)))
    with pytest.raises(ValueError, match="below infinity"):
        projective_marginals(np.full((1, 2, 2, 1), np.nan), np.zeros((1, 2)))
