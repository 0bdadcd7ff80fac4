"""Cleaning of comparisons beside networkx; a metric from comparisons beside metric-learn's LSML."""

from __future__ import annotations

import warnings

import numpy as np

from benchmarks.harness import Contest
from octavo.metric import ComparisonGraph, LinearPOE


def answers():
    """Return contradictory answers about 300 items, half of them about popular pairs."""
    rng = np.random.default_rng(0)
    C = rng.integers(0, 60, (6000, 4))
    ok = (C[:, 0] != C[:, 1]) & (C[:, 2] != C[:, 3])
    ok &= (np.sort(C[:, :2], axis=1) != np.sort(C[:, 2:], axis=1)).any(axis=1)
    return ComparisonGraph(C[ok]).resolve().to_array()


def ours(C):
    graph = ComparisonGraph(C).acyclic(random_state=0)
    return len(graph), len(graph.reduce())


def by_networkx(C):
    """Keep an edge unless its head reaches its tail, then reduce: Algorithm 1 as written."""
    import networkx as nx

    graph = ComparisonGraph(C)
    order = np.lexsort((graph.heads, graph.tails))[np.random.RandomState(0).permutation(len(graph))]
    kept = nx.DiGraph()
    kept.add_nodes_from(range(len(graph.pairs)))
    for e in order:
        u, v = int(graph.tails[e]), int(graph.heads[e])
        if not nx.has_path(kept, v, u):
            kept.add_edge(u, v)
    return kept.number_of_edges(), nx.transitive_reduction(kept).number_of_edges()


def near_sizes(problem, found):
    """Compare how many comparisons are kept, and how many of them after the reduction."""
    sizes = list(found.values())
    assert all(abs(one - sizes[0][0]) <= 0.02 * sizes[0][0] for one, _ in sizes)
    listed = ", ".join(f"{name} {one} and {two}" for name, (one, two) in found.items())
    return f"kept, and left after the reduction: {listed}."


def compared_rows():
    """Return rows of ten features, three of which say what is alike, with comparisons."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 10))
    C = rng.integers(0, 200, (4000, 3))
    C = C[(C[:, 0] != C[:, 1]) & (C[:, 0] != C[:, 2]) & (C[:, 1] != C[:, 2])]
    D = ((X[:, None, :3] - X[:, :3]) ** 2).sum(axis=2)
    i, j, k = C.T
    C = np.where((D[i, j] < D[i, k])[:, None], C, C[:, [0, 2, 1]])
    return X, C[:2000], C[2000:]


def poe(problem):
    X, C, _ = problem
    return LinearPOE(beta=100.0, clean=False, tol=1e-3).fit(X, C).transform(X)


def lsml(problem):
    import metric_learn
    from sklearn.utils import validation

    def check(*args, force_all_finite=True, **options):  # scikit-learn has another word now
        return validation.check_array(*args, ensure_all_finite=force_all_finite, **options)

    metric_learn._util.check_array = check
    X, C, _ = problem
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = metric_learn.LSML()
        model.fit(X[C[:, [0, 1, 0, 2]]])
    return X @ model.components_.T


def held_out(problem, found):
    X, _, tests = problem
    i, j, k = tests.T
    shares = {}
    for name, Z in found.items():
        near, far = ((Z[i] - Z[j]) ** 2).sum(axis=1), ((Z[i] - Z[k]) ** 2).sum(axis=1)
        shares[name] = float((near < far).mean())
    listed = ", ".join(f"{name} {share:.3f}" for name, share in shares.items())
    return f"held-out comparisons in the right order: {listed}."


CONTESTS = [
    Contest(
        name="cleaning",
        problem="an acyclic subset of about 5,500 contradictory comparisons, and its reduction",
        setup=answers,
        solvers={"octavo": ours, "networkx": by_networkx},
        agree=near_sizes,
        repeats=1,
        target="at least 50 times",
        limit="searches of a graph: one an arc",
    ),
    Contest(
        name="lsml",
        problem="a distance from 2,000 comparisons of 200 rows, d = 10",
        setup=compared_rows,
        solvers={"octavo": poe, "metric-learn LSML": lsml},
        agree=held_out,
        repeats=2,
        limit="eigendecompositions of 10 x 10, a step",
    ),
]
