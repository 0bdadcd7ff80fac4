"""Kendall's distance beside the definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.engine.graphs.orders import discordant_pairs, kendall_distance

RANKS = st.lists(
    st.tuples(
        st.sampled_from([1.0, 2.0, 3.0, 4.0, np.nan]), st.sampled_from([1.0, 2.0, 3.0, np.nan])
    ),
    max_size=9,
)


@settings(deadline=None)
@given(RANKS)
def test_pairs_are_those_of_the_definition(rows):
    a, b = (np.array([row[side] for row in rows]) for side in (0, 1))
    signs = [(a[i] - a[j]) * (b[i] - b[j]) for i in range(len(rows)) for j in range(i)]
    expected = sum(s < 0 for s in signs), sum(s != 0 and not np.isnan(s) for s in signs)
    assert discordant_pairs(a, b) == expected


def test_a_reversed_ranking_is_as_far_as_can_be():
    ranks = np.arange(1.0, 1001)
    assert kendall_distance(ranks, ranks[::-1]) == 1000 * 999 // 2
    assert kendall_distance(ranks, ranks) == 0
    assert kendall_distance(ranks, ranks[::-1], normalize=True) == 1.0


def test_rankings_of_other_items_are_refused():
    with pytest.raises(ValueError, match="equal length"):
        kendall_distance([1, 2, 3], [1, 2])


def test_footrule_lies_between_one_and_two_kendall_distances():
    from octavo.engine.graphs.orders import footrule

    rng = np.random.RandomState(0)
    for _ in range(50):
        a, b = rng.permutation(9), rng.permutation(9)
        inversions = kendall_distance(a, b)
        assert inversions <= footrule(a, b) <= 2 * inversions  # Diaconis and Graham
    assert footrule([0, 1, 2], [2, 1, 0]) == 4.0
    with pytest.raises(ValueError, match="equal length"):
        footrule([0, 1], [0, 1, 2])
    with pytest.raises(ValueError, match="finite"):
        footrule([0, np.nan], [0, 1])
