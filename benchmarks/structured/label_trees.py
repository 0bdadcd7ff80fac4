"""SpanningTreeMultiLabel beside a quadratic program over the same trees, and K-best lists."""

from __future__ import annotations

import itertools

import numpy as np

from benchmarks.harness import Contest
from octavo.data import make_label_chain
from octavo.structured import RandomSpanningTreeMultiLabel, k_best_tree


def small_problem():
    X, Y, _ = make_label_chain(40, n_labels=5, random_state=0)
    return X, Y


def ours(problem):
    model = RandomSpanningTreeMultiLabel(5, tol=1e-4, max_outer=500, random_state=0)
    return model.fit(*problem)


def by_cone_program(problem):
    """Solve for the same random trees with every label set of every row written out."""
    import cvxpy as cp

    X, Y = problem
    weights = RandomSpanningTreeMultiLabel(5, max_outer=1, tol=1e9, random_state=0)
    edge_weights = weights.fit(X, Y).edge_weights_
    pairs = [(i, j) for i, j in zip(*np.triu_indices(5, 1)) if edge_weights[i, j] > 0]
    sizes = np.sqrt([edge_weights[i, j] / 4 for i, j in pairs])
    rows = np.hstack([X, np.ones((len(X), 1))])
    sets = np.array(list(itertools.product((0, 1), repeat=5)))
    w, slack = cp.Variable(len(pairs) * 4 * rows.shape[1]), cp.Variable(len(X))

    def features(x, y):
        return np.concatenate(
            [s * np.kron(np.eye(4)[2 * y[i] + y[j]], x) for s, (i, j) in zip(sizes, pairs)]
        )

    margins = []
    for k, x in enumerate(rows):
        apart = np.array([features(x, Y[k]) - features(x, y) for y in sets])
        margins.append(apart @ w >= np.mean(sets != Y[k], axis=1) - slack[k])
    program = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + cp.sum(slack)), margins)
    program.solve(solver="CLARABEL")
    return program.value


def same_optimum(_, answers):
    model, theirs = answers.values()
    gap = abs(model.objective_ - theirs) / theirs
    assert gap < 2e-4
    return f"They agree to {gap:.1e}."


def chain_of_scores():
    n = 16
    parent = np.arange(-1, n - 1)
    return parent, np.random.default_rng(0).normal(size=(n, 2, 2))


def by_enumeration(problem):
    parent, scores = problem
    n = len(parent)
    labels = (np.arange(1 << n)[:, None] >> np.arange(n)) & 1
    above = np.where(parent >= 0, labels[:, parent], 0)
    totals = scores[np.arange(n), above, labels].sum(axis=1)
    return np.sort(totals)[::-1][:64]


def same_lists(_, answers):
    (_, ours), theirs = answers.values()
    gap = float(np.abs(ours - theirs).max())
    assert gap < 1e-9
    return f"They agree to {gap:.1e}."


CONTESTS = [
    Contest(
        name="margin machine",
        problem="Five random trees of five labels, 40 rows, to a relative gap of 1e-4",
        setup=small_problem,
        solvers={"octavo": ours, "cvxpy (Clarabel)": by_cone_program},
        agree=same_optimum,
        repeats=3,
        limit="K best labellings of five trees, a step",
    ),
    Contest(
        name="K best",
        problem="The 64 best labellings of a chain of 16 labels",
        setup=chain_of_scores,
        solvers={"octavo": lambda p: k_best_tree(*p, 64), "all labellings": by_enumeration},
        agree=same_lists,
        repeats=3,
        no_limit="16 labels: calls of compiled code",
    ),
]
