"""Small problems and slow, obvious answers for the tests of Bayesian networks."""

from itertools import combinations, product
from math import lgamma, log

import numpy as np

from octavo.graphical import forbidden_arc, indegree, required_arc


def random_table(seed, n_nodes=None, n_rows=None):
    """Return codes with real dependences, every state of every variable present."""
    rng = np.random.default_rng(seed)
    n = n_nodes or int(rng.integers(3, 7))
    rows = n_rows or int(rng.integers(30, 200))
    states = rng.integers(2, 4, n)
    X = np.empty((rows, n), int)
    for i in range(n):
        depends = rng.random(i) < 0.6
        signal = X[:, :i][:, depends].sum(axis=1)
        noise = (rng.random(rows) < 0.3) * rng.integers(0, 3, rows)
        X[:, i] = (signal + noise + rng.integers(0, 2)) % states[i]
    X[:3] = np.minimum(np.arange(3)[:, None], states - 1)
    return X


def slow_score(X, node, parents, score, ess=1.0):
    """Local scores written out from Eqs. (1) and (2)."""
    N, r = len(X), len(np.unique(X[:, node]))
    cells = np.prod([len(np.unique(X[:, p])) for p in parents], initial=1.0)
    table = {}
    for row in X:
        key = tuple(row[list(parents)])
        table.setdefault(key, [0] * r)[row[node]] += 1
    if score in ("bic", "aic", "loglik"):
        fit = sum(n * log(n / sum(line)) for line in table.values() for n in line if n)
        weight = {"bic": log(N) / 2, "aic": 1.0, "loglik": 0.0}[score]
        return fit - weight * cells * (r - 1)
    a = 1.0 if score == "k2" else ess / (cells * r)
    total = 0.0
    for line in table.values():
        total += lgamma(a * r) - lgamma(a * r + sum(line))
        total += sum(lgamma(a + n) - lgamma(a) for n in line)
    return total


def subsets(items):
    return [set(c) for k in range(len(items) + 1) for c in combinations(items, k)]


def is_acyclic(parents):
    placed, waiting = set(), set(range(len(parents)))
    while ready := {v for v in waiting if set(parents[v]) <= placed}:
        placed |= ready
        waiting -= ready
    return not waiting


def allows(rule, parents):
    """Whether a rule holds for one parent set, by reading the rule."""
    if rule.kind == "arc":
        return rule.value in parents
    if rule.kind == "lt":
        return len(parents) < rule.value
    if rule.kind == "eq":
        return len(parents) == rule.value
    if rule.kind == "not":
        return not allows(rule.value, parents)
    joined = any if rule.kind == "or" else all
    return joined(allows(part, parents) for part in rule.value)


def admits_a_network(rules, n):
    """Whether some order of the nodes gives each a legal parent set among those before it."""
    placed = set()

    def can_follow(node):
        own = [rule for rule in rules if rule.node == node]
        return any(all(allows(rule, s) for rule in own) for s in subsets(sorted(placed)))

    while ready := {v for v in range(n) if v not in placed and can_follow(v)}:
        placed |= ready
    return len(placed) == n


def brute_force(X, score, rules=(), ess=1.0, max_parents=None):
    """Return the best score over all networks that satisfy the rules, None if there are none."""
    n = X.shape[1]
    lists = []
    for node in range(n):
        own = [rule for rule in rules if rule.node == node]
        sets = subsets([v for v in range(n) if v != node])
        legal = [s for s in sets if all(allows(rule, s) for rule in own)]
        legal = [s for s in legal if max_parents is None or len(s) <= max_parents]
        lists.append([(slow_score(X, node, sorted(s), score, ess), s) for s in legal])
    best = None
    for combination in product(*lists):
        if is_acyclic([s for _, s in combination]):
            total = sum(value for value, _ in combination)
            best = total if best is None else max(best, total)
    return best


def random_rules(seed, n):
    """Return a few local rules, of all kinds."""
    rng = np.random.default_rng(seed)

    def one(node):
        others = [v for v in range(n) if v != node]
        kind = rng.integers(0, 6)
        a, b = (int(v) for v in rng.choice(others, 2))
        if kind == 0:
            return required_arc(a, node)
        if kind == 1:
            return forbidden_arc(a, node)
        if kind == 2:
            return indegree(node, int(rng.integers(1, n)), "lt")
        if kind == 3:
            return indegree(node, int(rng.integers(0, 3)), "eq")
        if kind == 4:
            return required_arc(a, node) | indegree(node, 0, "eq")
        return ~(required_arc(a, node) & ~forbidden_arc(b, node))

    return [one(int(node)) for node in rng.integers(0, n, rng.integers(0, 4))]
