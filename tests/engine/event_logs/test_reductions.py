"""Reductions of sorted logs against loops; order and chunks do not matter."""

from collections import Counter

import numpy as np
import pytest

from octavo.engine.event_logs.coding import Coder, joint_codes
from octavo.engine.event_logs.reductions import (
    canonical_places,
    count_keys,
    distinct_counts,
    moments,
    placed,
    segments,
    series_summary,
)


def sorted_log(seed, n=200, n_entities=5, n_bins=6, n_codes=4):
    rng = np.random.default_rng(seed)
    entity = np.sort(rng.integers(0, n_entities, n)).astype(np.int32)
    bins = rng.integers(0, n_bins, n)
    places = canonical_places(entity, bins, [])
    offsets = np.searchsorted(entity, np.arange(n_entities + 2))  # the last entity has no row
    return (
        offsets,
        placed(entity, places),
        placed(bins, places),
        rng.integers(-1, n_codes, n).astype(np.int32),
    )


@pytest.mark.parametrize("by_time", [True, False])
@pytest.mark.parametrize("far", [1, 2**57])  # too far apart for entity and time in one number
def test_places_are_those_of_a_sort_by_all_keys(by_time, far):
    rng = np.random.default_rng(7)
    entity = rng.integers(0, 6, 400).astype(np.int32)
    time = rng.integers(0, 40, 400) * far
    time = np.sort(time) if by_time else time
    codes = [rng.integers(-1, 3, 400).astype(np.int32) for _ in range(2)]
    places = canonical_places(entity, time, codes)
    assert np.array_equal(np.sort(places), np.arange(400))
    order = np.lexsort((*codes, time, entity))
    for column in (entity, time, *codes):
        np.testing.assert_array_equal(placed(column, places), column[order])


@pytest.mark.parametrize("seed", range(3))
def test_groups_and_distinct_values(seed):
    offsets, entity, bins, codes = sorted_log(seed)
    groups = count_keys(offsets, bins, codes + np.int32(1), 5)
    wanted = Counter(zip(entity.tolist(), bins.tolist(), codes.tolist()))
    got = {
        (int(entity[i]), int(bins[i]), int(codes[i])): int(count)
        for i, count in zip(groups.first, groups.counts)
    }
    assert got == wanted
    starts, own = segments(offsets, bins)
    values = distinct_counts(starts, codes, 4)
    for e in range(len(offsets) - 1):
        assert groups.offsets[e + 1] - groups.offsets[e] == sum(k[0] == e for k in wanted)
        for s in range(own[e], own[e + 1]):
            rows = (entity == e) & (bins == bins[starts[s]])
            assert values[s] == len(set(codes[rows].tolist()) - {-1})


@pytest.mark.parametrize("seed", range(3))
def test_moments_and_series(seed):
    rng = np.random.default_rng(seed)
    offsets = np.array([0, 0, 7, 20])
    values = rng.integers(1, 9, 20)
    found = moments(values, offsets, more_than=3)
    np.testing.assert_array_equal(found.n, [0, 7, 13])
    for e in (1, 2):
        own = values[offsets[e] : offsets[e + 1]]
        np.testing.assert_allclose(found.mean[e], own.mean())
        np.testing.assert_allclose(found.variance[e], own.var())
        assert (found.max[e], found.over[e]) == (own.max(), own[own > 3].sum())
    assert not found.mean[0]
    full = np.where(rng.random(30) < 0.5, rng.integers(0, 5, 30), 0).astype(float)
    bins = np.flatnonzero(full)
    got = series_summary(full[bins], bins, np.array([0, len(bins)]), np.array([30]))[0]
    step = np.diff(full)
    for row, part in zip(got, (full[full > 0], step[step > 0], -step[step < 0])):
        np.testing.assert_allclose(
            row, [len(part), part.mean(), part.max(), part.sum(), (part**2).sum(), part.std()]
        )


def test_chunks_are_merged_exactly():
    values = ["b", None, "a", "", "c", "a", float("nan"), "b"]
    whole = Coder()
    whole.add(values)
    pieces = Coder()
    for k in range(0, 8, 3):
        pieces.add(values[k : k + 3])
    np.testing.assert_array_equal(whole.column().codes, [1, -1, 0, -1, 2, 0, -1, 1])
    np.testing.assert_array_equal(pieces.column().codes, whole.column().codes)


def test_joint_codes_are_one_to_one():
    rng = np.random.default_rng(0)
    columns = [(rng.integers(0, 7, 300).astype(np.int32), 7) for _ in range(3)]
    codes, size = joint_codes(*columns)
    tuples = list(zip(*(column.tolist() for column, _ in columns)))
    assert size == len(set(tuples)) == len(set(zip(tuples, codes.tolist())))
