"""All exact searches agree with each other and with brute force; bounds hold when stopped."""

import re

import numpy as np
import pytest

from octavo.engine.discrete.bitsets import masks_of
from octavo.graphical import ParentSetCache, required_arc, solve_parent_sets
from octavo.graphical.network_search.branch_and_bound import CaseQueue, solve_bnb
from octavo.graphical.network_search.cluster_cuts import raise_costs
from octavo.graphical.network_search.integer_program import solve_ilp
from octavo.graphical.network_search.lattice import solve_lattice
from octavo.graphical.network_search.orders import relaxed_bound, solve_climb, solve_dp, solve_order
from octavo.graphical.network_search.problem import parts, whole_problem
from tests.graphical.network_oracles import (
    admits_a_network,
    brute_force,
    is_acyclic,
    random_rules,
    random_table,
)

SCORES = ["bic", "aic", "bdeu", "k2"]


def random_cache(seed, n_nodes=9, n_sets=12, largest=3):
    """Return a cache of random sets and scores: hard, since nothing is consistent."""
    rng = np.random.default_rng(seed)
    masks, scores = [], []
    for node in range(n_nodes):
        others = [v for v in range(n_nodes) if v != node]
        sets = {()} | {
            tuple(sorted(rng.choice(others, rng.integers(1, largest + 1), replace=False)))
            for _ in range(n_sets)
        }
        masks.append(masks_of(sorted(sets), n_nodes))
        value = rng.normal(size=len(sets)) * 10
        value[sorted(sets).index(())] = -40.0
        scores.append(value - 100.0)
    return ParentSetCache([f"v{k}" for k in range(n_nodes)], masks, scores)


def exact_scores(problem):
    """Return what every exact search says about one problem."""
    results = [
        solve_dp(problem),
        solve_bnb(problem, random_state=0),
        solve_bnb(problem, bound="relaxed", random_state=0),
        solve_bnb(problem, n_jobs=2, random_state=0),
        solve_lattice(problem, random_state=0),
        solve_ilp(problem, random_state=0),
    ]
    for result in results:
        assert result.optimal
        assert result.upper_bound == result.score
        assert problem.scores[result.choice].sum() == pytest.approx(result.score, rel=1e-12)
        assert ((problem.ptr[:-1] <= result.choice) & (result.choice < problem.ptr[1:])).all()
    return [result.score for result in results]


@pytest.mark.parametrize("seed", range(100))
def test_searches_agree_on_random_problems_with_random_constraints(seed):
    X = random_table(seed)
    rules = random_rules(seed + 1000, X.shape[1])
    score = SCORES[seed % 4]
    expected = brute_force(X, score, rules) if X.shape[1] <= 4 else None
    try:
        cache = ParentSetCache.build(X, score, rules)
        first = solve_parent_sets(cache, "dp")
    except ValueError as error:
        assert re.search("no network|^Node", str(error))  # noqa: PT017
        assert not admits_a_network(rules, X.shape[1])
        return
    for method in ("bnb", "dp", "ilp", "auto"):
        result = solve_parent_sets(cache, method, random_state=0)
        assert result.optimal
        assert result.score == pytest.approx(first.score, rel=1e-9)
        assert is_acyclic(result.parents)
        assert cache.score_of(result.parents) == pytest.approx(result.score, rel=1e-12)
    if X.shape[1] <= 4:
        assert first.score == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("seed", range(12))
def test_searches_agree_with_brute_force_over_all_networks_of_four_nodes(seed):
    X = random_table(seed, 4)
    score = SCORES[seed % 4]
    cache = ParentSetCache.build(X, score)
    expected = brute_force(X, score)
    assert exact_scores(whole_problem(cache)) == pytest.approx([expected] * 6, rel=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_searches_agree_on_hard_caches(seed):
    problem = whole_problem(random_cache(seed))
    scores = exact_scores(problem)
    assert scores == pytest.approx([scores[0]] * 6, rel=1e-9)


def test_more_nodes_than_a_word_has_bits():
    """Six copies of one problem, linked by nothing: the parts must add up."""
    one = random_cache(3, 12, 15)
    masks = [
        masks_of([[m + 12 * k for m in of] for _, of in one.parent_sets(node)], 72)
        for k in range(6)
        for node in range(12)
    ]
    scores = [np.array([s for s, _ in one.parent_sets(v)]) for _ in range(6) for v in range(12)]
    many = ParentSetCache([str(k) for k in range(72)], masks, scores)
    best = solve_parent_sets(one, "dp").score
    assert len(parts(many)) >= 6
    assert solve_parent_sets(many, "auto").score == pytest.approx(6 * best)
    whole = whole_problem(many)
    assert solve_ilp(whole, random_state=0).score == pytest.approx(6 * best)
    stopped = solve_bnb(whole, max_iter=300, random_state=0)
    assert stopped.upper_bound >= 6 * best - 1e-6
    with pytest.raises(ValueError, match="at most 26 nodes"):
        solve_dp(whole)


@pytest.mark.parametrize("solve", [solve_bnb, solve_lattice, solve_ilp])
@pytest.mark.parametrize("seed", range(5))
def test_bounds_are_valid_whenever_the_search_stops(solve, seed):
    problem = whole_problem(random_cache(seed, 13, 25))
    best = solve_dp(problem).score
    uppers = []
    for steps in (1, 2, 5, 20, 100):
        result = solve(problem, max_iter=steps, random_state=0)
        assert result.score <= best + 1e-9
        assert result.upper_bound >= best - 1e-6
        assert result.optimal == (result.upper_bound == result.score)
        lowers = [point.lower for point in result.trace]
        assert lowers == sorted(lowers)
        assert all(point.upper >= best - 1e-6 for point in result.trace)
        uppers.append(result.upper_bound)
    assert uppers == sorted(uppers, reverse=True)


def test_a_gap_that_is_allowed_ends_the_search_early():
    problem = whole_problem(random_cache(1, 10, 15))
    full = solve_bnb(problem, bound="relaxed", random_state=0)
    loose = solve_bnb(problem, bound="relaxed", gap=0.05, random_state=0)
    assert loose.n_steps < full.n_steps
    assert loose.upper_bound - loose.score <= 0.05 * abs(loose.score)
    assert loose.upper_bound >= full.score - 1e-9


def test_clusters_need_fewer_cases_than_the_relaxation():
    problem = whole_problem(random_cache(2, 10, 15))
    ours, theirs = (
        solve_bnb(problem, bound=b, random_state=0).n_steps for b in ("clusters", "relaxed")
    )
    assert ours < theirs


def test_the_cluster_ascent_is_a_bound():
    for seed in range(10):
        problem = whole_problem(random_cache(seed))
        tops = np.repeat(problem.scores[problem.ptr[:-1]], np.diff(problem.ptr))
        clusters, raised = np.zeros(500, np.uint64), np.zeros(500)
        found, total = raise_costs(
            problem.ptr, problem.masks, tops - problem.scores, np.inf, clusters, raised
        )
        assert found > 0
        assert total == pytest.approx(raised[:found].sum())
        assert relaxed_bound(problem) - total >= solve_dp(problem).score - 1e-9


def test_depth_first_search_ends_with_the_same_network(monkeypatch):
    from octavo.graphical.network_search import branch_and_bound as network_bnb

    problem = whole_problem(random_cache(4, 9, 12))
    best = solve_dp(problem).score
    assert solve_bnb(problem, bottom=1, random_state=0).score == pytest.approx(best)
    monkeypatch.setattr(network_bnb, "MEMORY", 0)  # every queue is too large
    result = solve_bnb(problem, bound="relaxed", random_state=0)
    assert result.optimal
    assert result.score == pytest.approx(best)


def test_the_queue_has_two_ends():
    problem = whole_problem(random_cache(0, 5))
    queue = CaseQueue(problem, room=1)
    rng = np.random.default_rng(0)
    values = rng.normal(size=200)
    blank = np.zeros((5, 1), np.uint64)
    for value in values:
        queue.push(np.zeros(5, np.int64), blank, blank, value)
    assert queue.size == 200
    assert queue.bounds()[0] == values.max()
    assert queue.cases[3][queue.heaps[1, 0]] == values.min()
    given = [case[3] for case in queue.give(200)]
    assert given == sorted(values, reverse=True)
    assert queue.size == 0


def test_orders_climb_to_the_optimum_of_small_problems():
    problem = whole_problem(random_cache(5, 8))
    best = solve_dp(problem).score
    assert solve_order(problem, 200, random_state=0).score == pytest.approx(best)
    plain = solve_order(problem, 20, climb=False, random_state=0)
    climbed = solve_order(problem, 20, random_state=0)
    assert plain.score <= climbed.score <= best + 1e-9
    assert solve_climb(problem).score <= best + 1e-9
    assert climbed.upper_bound == pytest.approx(relaxed_bound(problem))


def test_an_order_of_all_nodes_needs_no_search():
    from octavo.graphical import ordered_structure

    X = random_table(8, 6)
    cache = ParentSetCache.build(X, constraints=ordered_structure(range(6)))
    result = solve_parent_sets(cache, "bnb")
    assert result.score == pytest.approx(relaxed_bound(whole_problem(cache)))
    assert all(p < node for node, of in enumerate(result.parents) for p in of)


def test_rules_that_leave_no_network_are_found_out():
    """Each node has a legal set, no required arc is in a cycle, and yet no network exists."""
    X = random_table(1, 3)
    rules = [required_arc(1, 0) | required_arc(2, 0)]
    rules += [required_arc(0, 1) | required_arc(2, 1), required_arc(0, 2) | required_arc(1, 2)]
    cache = ParentSetCache.build(X, constraints=rules)
    for method in ("auto", "bnb", "dp", "ilp", "order", "hc"):
        with pytest.raises(ValueError, match=r"no network.*\['0', '1', '2'\].*cycle"):
            solve_parent_sets(cache, method)


def test_the_method_must_be_known():
    with pytest.raises(ValueError, match="method must be one of"):
        solve_parent_sets(random_cache(0, 5), "magic")
