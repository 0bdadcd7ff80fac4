"""Samples stand for all pairs: exactly, by enumeration, and with the spread that theory gives."""

from itertools import combinations, permutations, product

import numpy as np
import pytest

from octavo.search import (
    PairSample,
    band_sample,
    bernoulli_sample,
    cluster_sample,
    pair_error,
    relative_regret_estimate,
    uniform_sample,
)
from octavo.search.active_pairs.asking import pair_keys
from octavo.search.active_pairs.sampling import (
    band_inclusion,
    bernoulli_inclusion,
    cluster_inclusion,
)


def answers(n, seed):
    Y = np.triu(np.random.RandomState(seed).randint(0, 2, (n, n)), 1)
    return Y + np.tril(1 - Y.T, -1)


def band_of(distance, p):
    i = 0
    while not (2**i - 1) * p < distance <= (2 ** (i + 1) - 1) * p:
        i += 1
    return i


def regret(Y, pivot, other, kind="ranking"):
    return pair_error(other, Y, kind) - pair_error(pivot, Y, kind)


@pytest.mark.parametrize("p", [1, 2])
def test_bands_are_unbiased_by_enumeration(p):
    n, rng = 6, np.random.RandomState(p)
    Y, pivot, other = answers(n, p), rng.permutation(n), rng.permutation(n)
    weight = {}  # as the sampler gives them
    for seed in range(40):
        sample = band_sample(pivot, p, seed)
        for (u, v), w in zip(sample.pairs, sample.weights):
            assert weight.setdefault((u, v), w) == w
    assert len(weight) == n * (n - 1)
    expected = 0.0
    for u in range(n):
        bands = {}
        for v in set(range(n)) - {u}:
            bands.setdefault(band_of(abs(pivot[u] - pivot[v]), p), []).append(v)
        for members in bands.values():
            whole = len(members) <= p
            outcomes = [tuple(members)] if whole else list(product(members, repeat=p))
            for drawn in outcomes:
                pairs = [(u, v) for v in drawn]
                part = PairSample(pairs, [weight[pair] for pair in pairs])
                value, _ = relative_regret_estimate(part, Y, pivot, other)
                expected += value / len(outcomes)
    assert expected == pytest.approx(regret(Y, pivot, other), abs=1e-12)


def test_bernoulli_is_unbiased_by_enumeration():
    n, p, rng = 5, 1, np.random.RandomState(3)
    Y, pivot, other = answers(n, 0), rng.permutation(n), rng.permutation(n)
    every = list(combinations(range(n), 2))
    chance = {(u, v): min(1.0, p / abs(pivot[u] - pivot[v])) for u, v in every}
    open_pairs = [pair for pair in every if chance[pair] < 1.0]
    expected = 0.0
    for drawn in product((False, True), repeat=len(open_pairs)):
        chosen = [pair for pair in every if chance[pair] == 1.0]
        chosen += [pair for pair, take in zip(open_pairs, drawn) if take]
        probability = np.prod(
            [chance[q] if t else 1 - chance[q] for q, t in zip(open_pairs, drawn)]
        )
        part = PairSample(chosen, [2.0 / chance[pair] for pair in chosen])
        expected += probability * relative_regret_estimate(part, Y, pivot, other)[0]
    assert expected == pytest.approx(regret(Y, pivot, other), abs=1e-12)
    sample = bernoulli_sample(pivot, p, 0)
    places = np.sort(sample.pairs, axis=1)
    assert np.allclose(sample.weights, [2.0 / chance[u, v] for u, v in places])


def test_clusters_are_unbiased_by_enumeration():
    labels, other, q = np.array([1, 0, 0, 1, 0, 0]), np.array([0, 0, 1, 1, 2, 0]), 1
    n = len(labels)
    Y = np.triu(np.random.RandomState(0).randint(0, 2, (n, n)), 1)
    Y = Y + Y.T
    weight = {}
    for seed in range(60):
        sample = cluster_sample(labels, q, seed)
        for (u, v), w in zip(sample.pairs, sample.weights):
            assert weight.setdefault((u, v), w) == w
    sizes = np.bincount(labels)
    expected = 0.0
    for u in range(n):
        for cluster in range(2):
            if sizes[cluster] > sizes[labels[u]]:
                continue  # the larger cluster draws
            members = [v for v in range(n) if labels[v] == cluster and v != u]
            for v in members:
                part = PairSample([(u, v)], [weight[u, v]])
                value, _ = relative_regret_estimate(part, Y, labels, other, "clustering")
                expected += value / len(members)
    assert expected == pytest.approx(regret(Y, labels, other, "clustering"), abs=1e-12)


@pytest.mark.parametrize(
    ("draw", "inclusion", "pivot"),
    [
        (band_sample, band_inclusion, np.random.RandomState(0).permutation(20)),
        (bernoulli_sample, bernoulli_inclusion, np.random.RandomState(0).permutation(20)),
        (cluster_sample, cluster_inclusion, np.random.RandomState(0).randint(0, 3, 20)),
    ],
)
def test_inclusion_is_how_often_a_pair_is_drawn(draw, inclusion, pivot):
    rng = np.random.RandomState(1)
    pairs = np.array(list(combinations(range(20), 2)))
    hits, runs = np.zeros(len(pairs)), 400
    for _ in range(runs):
        hits += np.isin(pair_keys(pairs), pair_keys(draw(pivot, 2, rng).pairs))
    chance = inclusion(pivot, pairs, 2)
    z = (hits - runs * chance) / np.sqrt(runs * chance * (1 - chance) + 1e-9)
    assert (hits[chance == 1.0] == runs).all()
    assert np.abs(z[chance < 1.0]).max() < 4.5  # 190 normal draws: beyond with probability 0.0013


@pytest.mark.parametrize("draw", [band_sample, bernoulli_sample])
def test_spread_is_that_of_the_standard_error(draw):
    rng = np.random.RandomState(0)
    pivot, other, Y = np.arange(40), rng.permutation(40), answers(40, 0)
    found = np.array(
        [relative_regret_estimate(draw(pivot, 2, rng), Y, pivot, other) for _ in range(200)]
    )
    spread = found[:, 0].std()
    assert abs(found[:, 0].mean() - regret(Y, pivot, other)) < 4 * spread / np.sqrt(200)
    # The deviation of 200 draws is known to about 5 %.
    assert np.sqrt((found[:, 1] ** 2).mean()) == pytest.approx(spread, rel=0.2)


def test_deviation_falls_with_the_root_of_p():
    # n = 7: the largest |f - reg| / dist over all permutations; p = 1 against p = 4 halves at
    # least, since whole bands have no error at all.
    n, Y, pivot = 7, answers(7, 1), np.arange(7)
    orders = np.array(list(permutations(range(n))))
    u, v = np.triu_indices(n, 1)
    said = orders[:, u] < orders[:, v]
    truth = np.abs(said - Y[u, v]).mean(axis=1) - np.abs(1.0 - Y[u, v]).mean()
    dist = (said != (u < v)).mean(axis=1)
    worst = {}
    for p in (1, 4):
        rng, largest = np.random.RandomState(0), []
        for _ in range(60):
            sample = bernoulli_sample(pivot, p, rng)
            number = {pair: k for k, pair in enumerate(zip(u, v))}
            w = np.zeros(len(u))
            np.add.at(w, [number[tuple(sorted(pair))] for pair in sample.pairs], sample.weights)
            f = (np.abs(said - Y[u, v]) - np.abs(1.0 - Y[u, v])) @ w / (n * (n - 1))
            largest.append((np.abs(f - truth)[dist > 0] / dist[dist > 0]).max())
        worst[p] = np.mean(largest)
    assert worst[4] < worst[1] / 2


def test_uniform_pairs_are_distinct_and_cover_all():
    sample = uniform_sample(7, 21, 0)
    assert sorted(map(tuple, sample.pairs)) == list(combinations(range(7), 2))
    sample = uniform_sample(1000, 5000, 0)
    assert len(np.unique(pair_keys(sample.pairs))) == 5000
    assert sample.weights.sum() == pytest.approx(1000 * 999)


def test_pivot_has_no_regret_and_bad_input_is_met():
    pivot = np.arange(6)
    sample = band_sample(pivot, 2, 0)
    assert relative_regret_estimate(sample, answers(6, 0), pivot, pivot) == (0.0, 0.0)
    pairs, weights = sample
    assert len(pairs) == len(weights)
    with pytest.raises(ValueError, match="permutation"):
        band_sample([0, 0, 1], 2)
    with pytest.raises(ValueError, match="p must be at least 1"):
        bernoulli_sample(pivot, 0)
    with pytest.raises(ValueError, match="from 0"):
        cluster_sample([-1, 0], 2)
    with pytest.raises(ValueError, match="kind"):
        relative_regret_estimate(sample, answers(6, 0), pivot, pivot, kind="x")
    with pytest.raises(ValueError, match="same items"):
        relative_regret_estimate(sample, answers(6, 0), pivot, np.arange(5))
    with pytest.raises(ValueError, match="between 0 and 3"):
        uniform_sample(3, 4)
