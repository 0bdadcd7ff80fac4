"""Intersection trees against a plain Python tree, branching processes and brute force."""

import warnings
from itertools import combinations, pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from octavo.engine.discrete.draws import word_seeds
from octavo.linear import (
    RandomIntersectionTrees,
    intersection_tree,
    plan_rit,
    rit_recovery,
)
from octavo.linear.intersections.patterns import maximal_sets
from octavo.linear.intersections.trees import (
    Shape,
    exact_ceiling,
    grow_trees,
    hashed_ceiling,
    no_ceiling,
)


def table(n=120, p=12, density=0.4, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.random((n, p)) < density).astype(np.int8), rng.integers(0, 2, n)


def sets_of(leaves):
    ends = leaves.starts
    return [tuple(leaves.members[a:b].tolist()) for a, b in pairwise(ends)]


# --- one tree against plain Python ---------------------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [
        {"depth": 3, "theta0": None},
        {"depth": 3, "theta0": None, "branching": 2.6},
        {"depth": 4, "theta0": 0.1},
        {"depth": None, "theta0": 0.1},
        {"depth": None, "theta0": 0.1, "branching": 1.5},
        {"depth": None, "theta0": 0.3, "root_single_child": True},
        {"depth": None, "theta0": 0.0, "max_depth": 3},
        {"depth": None, "theta0": 0.05, "max_nodes": 40},
    ],
    ids=str,
)
def test_a_tree_is_the_plain_python_tree_of_the_same_seed(settings):
    X, y = table()
    settings = {"branching": 3, **settings}
    for seed in range(15):
        plain = intersection_tree(X, y, random_state=seed, **settings)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            model = RandomIntersectionTrees(
                1, prevalence="exact", min_count=1, random_state=seed, **settings
            ).fit(X, y)
        assert model.n_nodes_ == len(plain.sets)
        assert model.truncated_ == plain.truncated
        leaves = {plain.sets[leaf] for leaf in plain.leaves}
        if settings["theta0"] is not None:  # what is returned satisfies (1)
            others = X[y == 0]
            leaves = {
                s for s in leaves if others[:, s].all(axis=1).mean() <= settings["theta0"] + 1e-12
            }
        assert set(model.patterns_) == leaves


def test_a_plain_tree_is_a_tree_of_intersections():
    X, y = table()
    tree = intersection_tree(X, y, branching=3, theta0=0.1, random_state=2)
    rows = [frozenset(np.flatnonzero(row)) for row in X]
    others = [rows[i] for i in np.flatnonzero(y == 0)]
    for node, (own, parent, row) in enumerate(zip(tree.sets, tree.parents, tree.rows)):
        assert y[row] == 1
        assert parent < node
        expected = rows[row] if parent < 0 else rows[row] & frozenset(tree.sets[parent])
        assert frozenset(own) == expected
        share = np.mean([expected <= other for other in others])
        assert tree.admissible[node] == (bool(expected) and share <= 0.1)
        if parent >= 0:
            assert tree.admissible[parent]
    below = {parent for node, parent in enumerate(tree.parents) if tree.admissible[node]}
    wanted = [n for n in range(len(tree.sets)) if tree.admissible[n] and n not in below]
    assert sorted(tree.leaves) == wanted


# --- the law of Algorithm 1 ----------------------------------------------------------------------


@pytest.mark.slow
def test_sets_shrink_as_the_paper_says():
    # E|S_j| = Σ δ_k^(d+1) at depth d.
    X, y = table(n=60, seed=1)
    own = X[y == 1]
    deltas = own.mean(axis=0)
    for depth in (1, 2, 3):
        totals = []
        for seed in range(400):
            tree = intersection_tree(X, y, branching=1, depth=depth, theta0=None, random_state=seed)
            # A tree ends early where its set is empty.
            totals.append(len(tree.sets[-1]) if len(tree.sets) == depth + 1 else 0)
        expected = (deltas ** (depth + 1)).sum()
        assert abs(np.mean(totals) - expected) < 5 * np.std(totals) / np.sqrt(400) + 1e-9


def exact_recovery(own, pattern, branching, depth):
    """The probability that one tree ends with a pattern, by all distinct intersections."""
    sets = [frozenset(np.flatnonzero(row)) for row in own]
    pattern, known = frozenset(pattern), {}

    def lost(held, left):
        """No set at the last level, `left` below, is the pattern."""
        if not pattern <= held:
            return 1.0
        if left == 0:
            return float(held != pattern)
        if (held, left) not in known:
            child = np.mean([lost(held & row, left - 1) for row in sets])
            known[held, left] = child**branching
        return known[held, left]

    return 1.0 - np.mean([lost(row, depth) for row in sets])


@pytest.mark.parametrize(("branching", "depth"), [(1, 2), (2, 2), (3, 3)])
def test_how_often_a_pattern_is_found_is_an_exact_probability(branching, depth):
    rng = np.random.default_rng(3)
    own = (rng.random((25, 6)) < 0.5).astype(np.int8)
    own[:10, :2] = 1
    rows = sp.csr_array(own)
    n_trees = 20_000
    leaves = grow_trees(rows, no_ceiling(), word_seeds(0, n_trees), Shape(branching, depth=depth))
    found = dict(zip(sets_of(leaves), leaves.counts))
    for pattern in [(0, 1), (0,), (1, 4), (0, 1, 2)]:
        chance = exact_recovery(own, pattern, branching, depth)
        error = np.sqrt(chance * (1 - chance) / n_trees)
        assert abs(found.get(pattern, 0) / n_trees - chance) <= 5 * error


def test_the_branching_recursion_is_the_exact_probability_of_independent_columns():
    # All 2^m combinations of m noise columns, once each, beside a pattern that half of them hold.
    m = 4
    noise = np.array([[code >> k & 1 for k in range(m)] for code in range(2**m)], np.int8)
    own = np.vstack([np.hstack([np.full((2**m, 2), held), noise]) for held in (0, 1)]).astype(
        np.int8
    )
    for branching, depth in ((2, 2), (3, 3)):
        exact = exact_recovery(own, (0, 1), branching, depth)
        assert rit_recovery(0.5, 0.5, m, branching, depth) == pytest.approx(exact, rel=1e-12)
    assert rit_recovery(0.5, 0.5, m, 2, 2, n_trees=7) == pytest.approx(
        1 - (1 - rit_recovery(0.5, 0.5, m, 2, 2)) ** 7, rel=1e-12
    )


# --- the planner ---------------------------------------------------------------------------------


def test_the_plan_solves_the_equations_of_the_proof():
    for theta1 in (0.05, 0.3, 0.9, 1.0):
        for eps in (0.1, 0.5, 1.0):
            plan = plan_rit(theta1, 0.4, 0.2, 50, 0.05, eps)
            q = 1 / (1 + 2 * eps)
            b = int(plan.branching)
            share = theta1 * (1 - q)
            fixed = (1 - (plan.branching - b) * share) * (1 - share) ** b
            assert fixed == pytest.approx(q, rel=1e-9)  # G(q) = q
            assert plan.branching <= (1 + eps) / theta1 * (1 + 1e-12)
            assert 50 * 0.4 ** (plan.depth + 1) <= q  # p ν^(D+1) ≤ q
            assert 50 * 0.4**plan.depth > q or plan.depth == 1
            bound = (1 + 2 * eps) * np.log(1 / 0.05) / (2 * eps * theta1)
            assert plan.n_trees == int(np.ceil(bound - 1e-12))
            powers = sum((plan.branching * 0.2) ** d for d in range(1, plan.depth + 1))
            cost = np.log(50) * plan.n_trees * 50 * powers
            assert plan.expected_cost == pytest.approx(cost, rel=1e-9)


def test_the_plan_keeps_its_probability():
    for theta1 in (0.02, 0.1, 0.5, 0.9):
        for nu in (0.1, 0.5, 0.9):
            for n_noise in (1, 10, 100):
                for eps in (0.05, 0.5, 1.0):
                    plan = plan_rit(theta1, nu, nu, n_noise + 2, 0.05, eps)
                    found = rit_recovery(
                        theta1, nu, n_noise, plan.branching, plan.depth, plan.n_trees
                    )
                    assert found >= 0.95


def test_exponents_are_those_of_the_corollaries():
    # The example of Section 1: θ = δ = 1/2 gives a cost that is nearly linear.
    plan = plan_rit(0.5, 0.5, 0.5, 1000)
    assert plan.exponent == plan.exponent_independent == 1.0
    # A pattern as rare as two independent columns: nearly quadratic.
    plan = plan_rit(0.04, 0.2, 0.2, 1000)
    assert plan.exponent == pytest.approx(2.0)
    assert plan.exponent_independent == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"theta1": 0.0}, "theta1"),
        ({"theta1": 1.5}, "theta1"),
        ({"nu": 1.0}, "nu"),
        ({"eta": 0.0}, "eta"),
        ({"eps": 2.0}, "eps"),
        ({"p": 0}, "p must"),
        ({"deltas": 1.5}, "deltas"),
        ({"deltas": [0.1, 0.2]}, "deltas"),
    ],
)
def test_plans_that_cannot_be_made(changes, words):
    with pytest.raises(ValueError, match=words):
        plan_rit(**{"theta1": 0.3, "nu": 0.2, "deltas": 0.1, "p": 10} | changes)


# --- completeness --------------------------------------------------------------------------------


def satisfying(X, y, theta0, theta1):
    """All sets that satisfy (1), by brute force."""
    found = []
    for size in range(1, X.shape[1] + 1):
        for s in combinations(range(X.shape[1]), size):
            held = X[:, s].all(axis=1)
            if held[y == 1].mean() >= theta1 and held[y == 0].mean() <= theta0:
                found.append(s)
    return found


def planted(seed, n=300, p=10):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = (rng.random((n, p)) < 0.3).astype(np.int8)
    for pattern in ((0, 1, 2), (3, 4)):
        X[np.ix_((y == 1) & (rng.random(n) < 0.45), pattern)] = 1
    return X, y


def largest_nu(own, pattern):
    held = own[own[:, pattern].all(axis=1)]
    return max(held[:, k].mean() for k in range(own.shape[1]) if k not in pattern)


def test_all_maximal_patterns_are_found_at_the_planned_number_of_trees():
    eta, theta0, theta1, trials = 0.1, 0.1, 0.35, 200
    rng = np.random.default_rng(0)
    y = np.arange(400) % 2
    X = (rng.random((400, 15)) < 0.15).astype(np.int8)
    for pattern in ((0, 1, 2), (3, 4)):
        X[np.ix_((y == 1) & (rng.random(400) < 0.45), pattern)] = 1
    own = X[y == 1]
    wanted = maximal_sets(satisfying(X, y, theta0, theta1))
    assert len(wanted) >= 2
    # Trees that suffice for the rarest pattern and the least independent one, by a union bound.
    share = min(own[:, pattern].all(axis=1).mean() for pattern in wanted)
    nu = max(largest_nu(own, pattern) for pattern in wanted)
    plan = plan_rit(share, nu, own.mean(axis=0), 15, eta / len(wanted), 0.5)
    missed = 0
    for seed in range(trials):
        model = RandomIntersectionTrees(
            plan.n_trees, plan.branching, plan.depth, None, theta1,
            min_count=1, max_nodes=10_000_000, random_state=seed,
        ).fit(X, y)  # fmt: skip
        missed += not set(wanted) <= set(model.patterns_)
    assert missed / trials <= eta


# --- what comes back -----------------------------------------------------------------------------


@pytest.mark.parametrize("prevalence", ["minhash", "exact"])
def test_prevalences_are_exact_and_satisfy_the_thresholds(prevalence):
    X, y = planted(1, p=20)
    model = RandomIntersectionTrees(
        300, 2, theta0=0.1, theta1=0.2, prevalence=prevalence, random_state=0
    ).fit(X, y)
    assert model.patterns_
    for s, pattern in enumerate(model.patterns_):
        held = X[:, pattern].all(axis=1)
        inside, outside = held[y == 1].mean(), held[y == 0].mean()
        assert model.prevalence_[s].tolist() == [inside, outside]
        assert inside >= 0.2
        assert outside <= 0.1
        lift = y[held].mean() / y.mean()
        assert model.lift_[s] == pytest.approx(lift, rel=1e-12)
    assert (np.diff(model.counts_) <= 0).all()
    assert model.counts_.min() >= 2
    indicators = model.transform(X).toarray()
    for s, pattern in enumerate(model.patterns_):
        assert (indicators[:, s] == X[:, pattern].all(axis=1)).all()


@pytest.mark.slow
def test_hashes_and_counts_agree_where_hashes_are_many():
    X, y = planted(2, p=20)
    rows, others = sp.csr_array(X[y == 1]), sp.csr_array(X[y == 0])
    seeds = word_seeds(0, 200)
    exact = grow_trees(rows, exact_ceiling(others, 0.1), seeds, Shape(2.0))
    hashed = grow_trees(rows, hashed_ceiling(others, 0.1, 5_000, 0), seeds, Shape(2.0))
    common = set(sets_of(exact)) & set(sets_of(hashed))
    assert len(common) > 0.9 * len(sets_of(exact))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.slow
def test_threads_and_forms_of_the_rows_do_not_matter(weighted):
    X, y = planted(3)
    weight = np.random.default_rng(0).random(len(y)) if weighted else None
    settings = {"n_trees": 220, "branching": 2.5, "theta0": 0.1, "random_state": 4}
    plain = RandomIntersectionTrees(**settings).fit(X, y, weight)
    sets = [set(np.flatnonzero(row)) for row in X]
    ragged = [sorted(s) for s in sets]
    for form in (X.astype(bool), sp.csr_matrix(X), sp.csc_array(X), sets, ragged):
        again = RandomIntersectionTrees(**settings, n_jobs=2).fit(form, y, weight)
        assert again.patterns_ == plain.patterns_
        assert again.counts_.tolist() == plain.counts_.tolist()
        assert (again.transform(form) != plain.transform(X)).nnz == 0


def test_weights_draw_rows_in_proportion():
    rows = sp.csr_array(np.eye(3, dtype=np.int8))
    weights = np.array([1.0, 0.0, 3.0])
    leaves = grow_trees(
        rows, no_ceiling(), word_seeds(0, 8000), Shape(1.0, depth=0), weights=weights
    )
    found = dict(zip(sets_of(leaves), leaves.counts))
    assert set(found) == {(0,), (2,)}
    assert abs(found[0,] / 8000 - 0.25) < 5 * np.sqrt(0.25 * 0.75 / 8000)


def test_a_pair_without_any_main_effect_is_found():
    # Section 1: Y = 1{Z₁ + Z₂ ≠ 1} is independent of every single column.
    rng = np.random.default_rng(0)
    X = (rng.random((2000, 60)) < 0.5).astype(np.int8)
    y = (X[:, 0] + X[:, 1] != 1).astype(int)
    model = RandomIntersectionTrees(
        200, 2, theta0=0.0, prevalence="exact", random_state=0, max_nodes=20_000
    ).fit(X, y)
    assert model.top(1, by="prevalence")[0].pattern == (0, 1)
    assert model.top(1)[0].outside == 0.0


def test_larger_sets_are_rarer():
    X, y = planted(5)
    model = RandomIntersectionTrees(200, 2, theta0=0.2, random_state=0).fit(X, y)
    share = dict(zip(model.patterns_, map(tuple, model.prevalence_.tolist())))
    nested = [(one, other) for one in share for other in share if set(one) < set(other)]
    assert len(nested) > 10
    assert len(set(share.values())) > 10  # not one number for all
    for small, large in nested:
        assert share[small][0] >= share[large][0]
        assert share[small][1] >= share[large][1]


def test_columns_of_all_rows_are_reported():
    X, y = planted(6)
    X[y == 1, 7] = 1
    model = RandomIntersectionTrees(100, 2, theta0=0.2, random_state=0).fit(X, y)
    assert model.always_.tolist() == [7]
    assert all(7 in pattern for pattern in model.patterns_)


def test_explosions_are_cut_and_told():
    X, y = table(200, 40, 0.5)
    model = RandomIntersectionTrees(20, 5, theta0=0.2, max_nodes=500, random_state=0)
    with pytest.warns(UserWarning, match="20 of 20 trees were cut at 500 nodes"):
        model.fit(X, y)
    assert model.truncated_ == 20
    assert model.n_nodes_ == 20 * 500


# --- bad input -----------------------------------------------------------------------------------

X, Y = table(30, 4)


@pytest.mark.parametrize(
    ("data", "labels", "settings", "words"),
    [
        (X * 2.0, Y, {}, "0 and 1 alone.*ThresholdBinarizer"),
        (sp.csr_array(X * 0.5), Y, {}, "0 and 1 alone"),
        (np.where(X == 1, np.nan, 0.0), Y, {}, "NaN"),
        (X, np.r_[1, np.zeros(29)], {}, "at least two rows"),
        (X, np.r_[0, np.ones(29)], {}, "at least two rows"),
        (X, np.ones(30), {}, "at least two classes"),
        (X, np.arange(30) % 3, {}, "target must name"),
        (X, Y, {"target": 7}, "none of the classes"),
        (X, Y, {"theta0": None}, "give a depth"),
        (X, Y, {"theta0": 0.3, "theta1": 0.2}, "below theta1"),
        (X, Y, {"theta0": 1.0}, "theta0"),
        (X, Y, {"branching": 0.5}, "branching"),
        ([[0, 1], [2]], [0, 1], {}, "at least two rows"),
        ([[0, 1.5], [2], [1], [3, 4]], [0, 1, 0, 1], {}, "column numbers"),
        ([{-1}, {2}, {1}, {3}], [0, 1, 0, 1], {}, "column numbers"),
    ],
)
def test_bad_input(data, labels, settings, words):
    with pytest.raises(ValueError, match=words):
        RandomIntersectionTrees(5, **settings).fit(data, labels)


def test_negative_weights_are_refused():
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        RandomIntersectionTrees(5).fit(X, Y, -np.ones(30))
    with pytest.raises(ValueError, match="positive for some row"):
        RandomIntersectionTrees(5).fit(X, Y, (Y == 0).astype(float))


def test_rankings():
    X, y = planted(7)
    model = RandomIntersectionTrees(100, 2, theta0=0.2, random_state=0).fit(X, y)
    for by, attribute in (("count", "n_trees"), ("lift", "lift"), ("prevalence", "inside")):
        values = [getattr(found, attribute) for found in model.top(5, by=by)]
        assert values == sorted(values, reverse=True)
        assert values[0] == max(getattr(f, attribute) for f in model.top(10**6, by=by))
    first = model.top(1)[0]
    held = X[:, first.pattern].all(axis=1)
    assert first.precision == pytest.approx(y[held].mean())
    assert model.get_feature_names_out()[0] == " & ".join(f"x{k}" for k in model.patterns_[0])
    with pytest.raises(ValueError, match="by must be"):
        model.top(by="size")
    with pytest.raises(ValueError, match="k must be"):
        model.top(-1)
