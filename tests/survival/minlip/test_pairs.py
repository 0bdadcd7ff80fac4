"""Comparable pairs against their definition, and thresholds against pairs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.engine.survival.targets import Intervals
from octavo.survival import comparable_pairs
from octavo.survival.minlip.pairs import threshold_terms
from tests.survival.minlip.programs import all_pairs, nearest_pairs

ends = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 3), st.booleans()), min_size=1, max_size=12
)


@given(ends)
@settings(max_examples=80, deadline=None)
def test_pairs_equal_their_definition(rows):
    lower = np.array([float(a) for a, _, _ in rows])
    upper = np.array([np.inf if open_end else float(a + w) for a, w, open_end in rows])
    found = {tuple(p) for p in comparable_pairs(lower, upper, "all").tolist()}
    assert found == set(all_pairs(lower, upper))
    found = comparable_pairs(lower, upper, "nearest").tolist()
    assert {tuple(p) for p in found} == set(nearest_pairs(lower, upper))
    assert len(found) == len({tuple(p) for p in found})
    near = comparable_pairs(lower, upper, "next").tolist()
    assert {tuple(p) for p in near} <= set(all_pairs(lower, upper))
    assert len(near) < len(rows)


@given(ends, st.sampled_from(["nearest", "all", "next"]))
@settings(max_examples=80, deadline=None)
def test_thresholds_say_what_pairs_say(rows, mode):
    """Which values a satisfy all pairs, and for which there are thresholds, is the same."""
    lower = np.array([float(a) for a, _, _ in rows])
    upper = np.array([np.inf if open_end else float(a + w) for a, w, open_end in rows])
    terms = threshold_terms(Intervals(lower, upper), mode)
    pairs = comparable_pairs(lower, upper, mode)
    assert (terms.n_thresholds == 0) == (len(pairs) == 0)
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(30):
        a = rng.integers(0, 4, len(rows)).astype(float) + 0.5 * lower
        a += 3.0 * lower * rng.integers(0, 2)
        held = all(a[i] - a[j] >= lower[i] - upper[j] for i, j in pairs)
        K = terms.n_thresholds
        floor, ceiling = np.full(K, -np.inf), np.full(K, np.inf)
        for i in range(len(rows)):
            if terms.high[i] >= 0:
                k = terms.high[i]
                floor[k] = max(floor[k], a[i] - upper[i])
            if terms.low[i] >= 0:
                k = terms.low[i]
                ceiling[k] = min(ceiling[k], a[i] - lower[i])
        if terms.chain:
            floor = np.maximum.accumulate(floor)
        assert held == bool((floor <= ceiling).all())
        seen.add(held)


def test_without_ties_nearest_gives_one_pair_a_row():
    lower = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    upper = np.array([1.0, np.inf, 3.0, 4.0, np.inf])
    assert comparable_pairs(lower, upper).tolist() == [[1, 0], [2, 0], [3, 2], [4, 3]]
    assert comparable_pairs(lower, upper, "next").tolist() == [[1, 0], [3, 2], [4, 3]]
    assert len(comparable_pairs(lower, upper, "all")) == 4 + 2 + 1


def test_bad_ends():
    with pytest.raises(ValueError, match="mode"):
        comparable_pairs([1.0], [1.0], "some")
    with pytest.raises(ValueError, match="row 0"):
        comparable_pairs([2.0], [1.0])
    with pytest.raises(ValueError, match="vector"):
        comparable_pairs([[2.0]], [1.0])
    assert comparable_pairs([1.0, 2.0], [np.inf, np.inf]).shape == (0, 2)
