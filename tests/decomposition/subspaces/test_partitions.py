"""Objectives and searches over partitions, against enumeration and exact identities."""

from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.data import make_subspace_mixture
from octavo.decomposition import (
    find_subspaces,
    pairwise_dependence,
    subspace_objective,
)
from octavo.decomposition.subspaces.objectives import OBJECTIVES, Objective
from octavo.decomposition.subspaces.partitions import (
    all_partitions,
    cross_entropy_groups,
    draw_labels,
    greedy_swaps,
    n_partitions,
)
from octavo.decomposition.subspaces.spectral_groups import partition_of_labels, sized_groups
from octavo.info import HSIC, KnnShannonEntropy, KSGMutualInformation, MIFromEntropy


def as_set(groups):
    return {frozenset(np.ravel(group).tolist()) for group in groups}


@pytest.fixture(scope="module")
def mixed():
    """Sources of two dimensions each, shuffled and turned a little between subspaces."""
    S = make_subspace_mixture("letters", n_samples=400, random_state=1).sources
    turn = np.linalg.qr(np.eye(6) + 0.1 * np.random.default_rng(0).normal(size=(6, 6)))[0]
    return (S @ turn)[:, [3, 0, 5, 1, 4, 2]]


# Oracles


def test_enumeration_is_complete_and_counts_right():
    for dims in ([2, 2], [2, 1, 2], [3, 1, 1], [2, 2, 2], [1, 1, 1]):
        bounds = np.cumsum([0, *dims])
        brute = {
            frozenset(frozenset(p[a:b]) for a, b in pairwise(bounds))
            for p in permutations(range(sum(dims)))
        }
        listed = [frozenset(as_set(p)) for p in all_partitions(dims, tuple(range(sum(dims))))]
        assert len(listed) == len(set(listed)) == n_partitions(dims)
        assert set(listed) == brute


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_greedy_and_cross_entropy_find_the_optimum_of_enumeration(mixed, objective):
    found = {
        name: find_subspaces(mixed, [2, 2, 2], objective, optimizer=name, random_state=0)
        for name in ("exhaustive", "greedy", "ce")
    }
    for name in ("greedy", "ce"):
        assert as_set(found[name].subspaces) == as_set(found["exhaustive"].subspaces), name
        if objective != "recursive_information":  # whose estimate depends on the order of groups
            assert found[name].objective == pytest.approx(found["exhaustive"].objective)


@pytest.mark.parametrize("dims", [[2, 2], [3, 1], [2, 2, 1], [3, 3]], ids=str)
def test_greedy_from_any_start_finds_the_optimum(mixed, dims):
    cost = Objective(mixed[:, : sum(dims)], "sum_entropy")
    trials = list(all_partitions(dims, tuple(range(sum(dims)))))
    best = min(map(cost, trials))
    for start in trials[:: max(1, len(trials) // 3)]:
        assert greedy_swaps(cost, start, lambda: None)[1] == pytest.approx(best)


@pytest.mark.parametrize("dims", [[4, 2], [2, 4]], ids=str)
def test_greedy_is_enumeration_for_sources_of_different_dimensions(dims):
    """Two sources that grow and shrink together are one source of four dimensions."""
    S = make_subspace_mixture("letters", n_samples=400, random_state=1).sources
    S[:, :4] *= np.random.default_rng(0).exponential(size=(400, 1))
    found = [
        find_subspaces(S[:, [4, 0, 2, 1, 5, 3]], dims, optimizer=name, random_state=0)
        for name in ("exhaustive", "greedy")
    ]
    assert as_set(found[0].subspaces) == {frozenset({0, 4}), frozenset({1, 2, 3, 5})}
    assert as_set(found[1].subspaces) == as_set(found[0].subspaces)
    assert [len(group) for group in found[1].subspaces] == dims


def test_greedy_ends_where_no_exchange_helps():
    """On any table of values; the end is a local optimum by a loop of its own."""
    rng = np.random.default_rng(0)
    table = {
        frozenset(as_set(p)): rng.uniform() for p in all_partitions([3, 3, 2], tuple(range(8)))
    }

    def cost(partition):
        return table[frozenset(as_set(partition))]

    groups, value, _, converged = greedy_swaps(cost, [(0, 1, 2), (3, 4, 5), (6, 7)], lambda: None)
    assert converged
    label = np.empty(8, dtype=int)
    for m, group in enumerate(groups):
        label[list(group)] = m
    for i in range(8):
        for j in range(i):
            other = label.copy()
            other[[i, j]] = label[[j, i]]
            assert cost([np.flatnonzero(other == m) for m in range(3)]) >= value


def test_cross_entropy_finds_a_planted_partition():
    truth = [(0, 5, 7), (1, 2), (3, 4, 6)]

    def cost(partition):
        label = {i: m for m, group in enumerate(truth) for i in group}
        return float(sum(label[i] != label[j] for g in partition for i in g for j in g))

    rng = np.random.RandomState(0)
    groups, value, _, converged = cross_entropy_groups(cost, [3, 2, 3], rng, lambda: None)
    assert converged
    assert value == 0
    assert as_set(groups) == as_set(truth)


def test_objectives_are_what_their_entropies_say(mixed):
    """With I = ΣH − H of one entropy all identities between the objectives are exact."""
    entropy = KnnShannonEntropy(n_neighbors=4)
    information = MIFromEntropy(entropy=entropy)
    groups = [[0, 4], [1], [2, 3, 5]]
    H = {tuple(c): entropy.estimate(mixed[:, c]) for c in [*groups, range(6)]}
    single = [entropy.estimate(mixed[:, [i]]) for i in range(6)]
    sum_h = sum(H[tuple(group)] for group in groups)

    def value(name):
        return subspace_objective(
            mixed, groups, name, entropy if name == "sum_entropy" else information
        )

    assert value("sum_entropy") == pytest.approx(sum_h, abs=1e-12)
    assert value("information") == pytest.approx(sum_h - H[tuple(range(6))], abs=1e-10)
    assert value("recursive_information") == pytest.approx(value("information"), abs=1e-10)
    assert value("sum_information") == pytest.approx(sum_h - sum(single), abs=1e-10)
    pairs = sum(
        information.estimate(mixed[:, a], mixed[:, b]) for a in groups for b in groups if a != b
    )
    assert value("pairwise_information") == pytest.approx(pairs, abs=1e-10)
    singles = sum(
        information.estimate(mixed[:, [i]], mixed[:, [j]])
        for a in groups
        for b in groups
        if a != b
        for i in a
        for j in b
    )
    assert value("pairwise_information_1d") == pytest.approx(singles, abs=1e-10)


@pytest.mark.parametrize("n", [7, 400])
def test_defaults_are_the_neighbours_of_octavo_info(mixed, n):
    """The defaults come from the engine; the estimators of the other room are the oracle."""
    S, groups = mixed[:n], [[0, 4], [1], [2, 3, 5]]
    entropy = KnnShannonEntropy(n_neighbors=min(3, n // 4))
    information = KSGMutualInformation(n_neighbors=min(10, n // 4))
    for name in OBJECTIVES:
        estimator = entropy if name == "sum_entropy" else information
        assert subspace_objective(S, groups, name) == subspace_objective(
            S, groups, name, estimator
        ), name
    np.testing.assert_array_equal(pairwise_dependence(S), pairwise_dependence(S, information))


def test_an_estimator_is_known_by_its_kind_and_its_method():
    class Spread:
        kind = "entropy"

        def estimate(self, X):
            return float(np.log(X.std(axis=0)).sum())

    S = np.random.default_rng(0).normal(size=(50, 3)) * [1.0, 2.0, 3.0]
    assert subspace_objective(S, [[0, 1], [2]], estimator=Spread()) == pytest.approx(
        np.log(S.std(axis=0)).sum()
    )


def test_infinite_defaults_are_errors_in_words():
    S = 1e200 * np.random.default_rng(0).normal(size=(30, 2))
    with pytest.raises(ValueError, match="found inf for this sample"):
        subspace_objective(S, [[0, 1]])


def test_groups_of_given_sizes():
    affinity = np.full((6, 6), 0.01)
    for group in ([0, 3, 4], [1, 2], [5]):
        affinity[np.ix_(group, group)] = 1.0
    np.fill_diagonal(affinity, 0.0)
    groups = sized_groups(affinity, [1, 3, 2], np.random.RandomState(0))
    assert groups == [(5,), (0, 3, 4), (1, 2)]


def test_groups_of_labels_come_by_size_and_first_member():
    assert partition_of_labels(np.array([2, 0, 2, 1, 0, 7])) == [(0, 2), (1, 4), (3,), (5,)]


# Properties


@settings(max_examples=8, deadline=None)
@given(st.permutations(range(6)))
def test_the_order_of_columns_does_not_matter(order):
    S = make_subspace_mixture("letters", n_samples=300, random_state=1).sources
    found = find_subspaces(S[:, order], [2, 2, 2], random_state=0)
    assert as_set([np.array(order)[group] for group in found.subspaces]) == {
        frozenset({0, 1}),
        frozenset({2, 3}),
        frozenset({4, 5}),
    }


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=5), st.integers(0, 1000))
def test_drawn_groups_have_their_sizes(dims, seed):
    rng = np.random.RandomState(seed)
    probabilities = rng.dirichlet(np.full(len(dims), 0.3), size=sum(dims))
    labels = draw_labels(probabilities, dims, rng)
    assert np.bincount(labels, minlength=len(dims)).tolist() == dims


def test_pairwise_dependence_is_symmetric_and_of_the_estimator():
    S = np.random.default_rng(0).normal(size=(100, 3))
    D = pairwise_dependence(S, HSIC())
    np.testing.assert_array_equal(D, D.T)
    assert D[0, 2] == HSIC().estimate(S[:, [0]], S[:, [2]])
    assert (np.diag(D) == 0).all()


def test_number_of_subspaces_can_be_given():
    S = make_subspace_mixture("letters", n_samples=500, random_state=1).sources
    found = find_subspaces(S, n_subspaces=2, optimizer="spectral", random_state=0)
    assert sorted(len(group) for group in found.subspaces) == [2, 4]


# Bad input


def test_bad_partitions_and_sizes():
    S = np.random.default_rng(0).normal(size=(50, 4))
    with pytest.raises(ValueError, match="each of the columns 0 to 3 once"):
        subspace_objective(S, [[0, 1], [1, 2, 3]])
    with pytest.raises(ValueError, match="add up to 5"):
        find_subspaces(S, [2, 3])
    with pytest.raises(ValueError, match="2 sizes"):
        find_subspaces(S, [2, 2], n_subspaces=3)
    with pytest.raises(ValueError, match="'auto' or a list"):
        find_subspaces(S, "two")
    with pytest.raises(ValueError, match="optimizer"):
        find_subspaces(S, optimizer="newton")
    with pytest.raises(ValueError, match="objective"):
        subspace_objective(S, [[0, 1], [2, 3]], "entropy")
    with pytest.raises(TypeError, match=r"kind='mutual_info', such as octavo.info.HSIC"):
        pairwise_dependence(S, KnnShannonEntropy())
    with pytest.raises(TypeError, match=r"'sum_entropy' needs .* kind='entropy'"):
        subspace_objective(S, [[0, 1], [2, 3]], "sum_entropy", HSIC())
    with pytest.raises(TypeError, match="got <class"):
        subspace_objective(S, [[0, 1], [2, 3]], "sum_entropy", KnnShannonEntropy)


def test_enumeration_has_a_limit():
    S = np.random.default_rng(0).normal(size=(30, 20))
    with pytest.raises(ValueError, match="would try"):
        find_subspaces(S, [2] * 10, optimizer="exhaustive", random_state=0)
