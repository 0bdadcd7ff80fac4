"""Derivative messages against the product rule written out over all assignments."""

import itertools

import numpy as np
import pytest

from octavo.engine.trees.derivatives import (
    DerivativeTree,
    absorbed,
    is_tree_of,
    table_product,
)

TREES = {
    "chain": [(0, 1), (1, 2), (2, 3), (3, 4)],
    "triples": [(2, 0, 1), (2, 4), (3, 2), (4,), (0, 2)],
    "star": [(3, 0), (3, 1), (3, 2), (3, 4), (3,)],
    "forest": [(0, 1), (2,), (3, 4), (4,)],
}
LOOPS = {
    "cycle": [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)],
    "two triangles": [(0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (2, 4)],
    "dense": [(0, 1, 2), (1, 2, 3), (2, 3, 4), (0, 4), (1, 4)],
}


def random_tables(scopes, n, seed, wanted=None):
    """Return mixtures of products, so that a difference is never larger than its value."""
    rng = np.random.default_rng(seed)
    tables = []
    for scope in scopes:
        table = np.zeros((2,) * len(scope) + (n,))
        for _ in range(3):
            part = np.ones(n)
            for a in range(len(scope)):
                high = rng.uniform(0.1, 1.0, size=n)
                pair = np.stack([high, high * rng.uniform(size=n)])
                part = part[..., None, :] * pair.reshape((1,) * a + (2, n))
            table += part
        for a, v in enumerate(scope):
            if wanted is not None and not wanted[v]:
                table = np.take(table, [0], axis=a)
        tables.append(table)
    return tables


def all_assignments(scopes, tables, d, wanted, steps):
    """Sum over which factors take the derivative by each variable; steps by both corners."""
    total = 0.0
    choices = []
    for v in range(d):
        mine = [s for s, scope in enumerate(scopes) if v in scope]
        if not wanted[v]:
            choices.append([(None, 1.0)])
        elif steps[v]:
            choices.append([("high", 1.0), ("low", -1.0)])
        else:
            choices.append([(s, 1.0) for s in mine])
    for pick in itertools.product(*choices):
        term = np.prod([sign for _, sign in pick])
        for s, scope in enumerate(scopes):
            table = tables[s]
            for v in scope:
                kind = pick[v][0]
                if kind == "low":
                    table = table[0] - table[1]
                elif kind in (None, "high"):
                    table = table[0]
                else:
                    table = table[1 if kind == s else 0]
            term = term * table
        total = total + term
    return total


@pytest.mark.parametrize("name", [*TREES, *LOOPS])
@pytest.mark.parametrize("seed", range(3))
def test_derivatives_are_the_sum_over_all_assignments(name, seed):
    scopes = {**TREES, **LOOPS}[name]
    rng = np.random.default_rng(seed)
    wanted = rng.uniform(size=5) < (1.0 if seed == 0 else 0.6)
    tables = random_tables(scopes, 3, seed, wanted)
    steps = rng.uniform(size=5) < (0.0 if seed == 0 else 0.5)
    want = np.log(all_assignments(scopes, tables, 5, wanted, steps))
    for root in range(5):
        tree = DerivativeTree(5, scopes, root)
        assert tree.log_derivative(tables, wanted, steps) == pytest.approx(want, abs=1e-12)
        logs = [np.log(t) for t in tables]
        assert tree.log_derivative(logs, wanted, steps, logs=True) == pytest.approx(want, abs=1e-12)


@pytest.mark.parametrize("name", [*TREES, *LOOPS])
def test_weights_are_the_gradient_by_the_tables(name):
    scopes = {**TREES, **LOOPS}[name]
    wanted, steps = np.array([1, 1, 0, 1, 1], bool), np.array([0, 1, 0, 0, 1], bool)
    tables = random_tables(scopes, 2, 7, wanted)
    tree = DerivativeTree(5, scopes)
    logs = [np.log(t) for t in tables]
    value, shares = tree.weights(logs, wanted, steps)
    assert value == pytest.approx(tree.log_derivative(tables, wanted, steps), abs=1e-12)
    for s, share in enumerate(shares):
        assert share.sum(axis=tuple(range(share.ndim - 1))) == pytest.approx(1.0)
        for entry in np.ndindex(share.shape[:-1]):
            moved = [t.copy() for t in tables]
            moved[s][entry] *= 1 + 1e-6
            gain = tree.log_derivative(moved, wanted, steps) - value
            assert gain == pytest.approx(1e-6 * share[entry], abs=5e-11)


def test_nothing_underflows_in_logs():
    scopes = [(k, k + 1) for k in range(4)]
    tables = [np.full((2, 2, 1), -800.0) for _ in scopes]
    all_of = np.ones(5, bool)
    got = DerivativeTree(5, scopes).log_derivative(tables, all_of, ~all_of, logs=True)
    assert got[0] == pytest.approx(4 * -800 + np.log(2**3))


def test_trees_and_nested_factors():
    assert is_tree_of(5, TREES["triples"])
    assert absorbed([(0,), (1, 0), (0, 1), (1, 2)]) == [1, 1, 1, 3]
    assert is_tree_of(2, [(0, 1), (1, 0)])
    for scopes in LOOPS.values():
        assert not is_tree_of(5, scopes)
    with pytest.raises(ValueError, match="cluster of 13 variables"):
        DerivativeTree(13, [(i, j) for i in range(13) for j in range(i)])


def test_a_product_of_steps_is_that_of_the_corners():
    a, b = random_tables([(0, 1)] * 2, 4, 0)
    got = table_product(a, b, [True, True])
    corners = [(t[0, 0], t[0, 0] - t[0, 1], t[0, 0] - t[1, 0]) for t in (a, b)]
    low = [t[0, 0] - t[0, 1] - t[1, 0] + t[1, 1] for t in (a, b)]
    (ah, a1, a0), (bh, b1, b0) = corners
    want = ah * bh - a1 * b1 - a0 * b0 + low[0] * low[1]
    assert got[1, 1] == pytest.approx(want)
