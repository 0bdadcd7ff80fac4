"""Projections of groups against those of rows, and at extreme sizes."""

from __future__ import annotations

import numpy as np
import pytest

from octavo.engine.projections.group_balls import (
    group_entries,
    largest_of_groups,
    project_group_balls,
)
from octavo.engine.projections.simplex import project_l1_balls


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_equals_rows(scale):
    random = np.random.default_rng(0)
    rows = scale * random.normal(size=(30, 7))
    numbers = random.permutation(np.repeat(np.arange(30), 7))
    point = np.empty(210)
    for g in range(30):
        point[numbers == g] = rows[g]
    found = project_group_balls(point, group_entries(numbers), 0.9)
    expected = project_l1_balls(np.maximum(rows, 0.0), 0.9)
    for g in range(30):
        # sums of 7 entries of this size are rounded
        np.testing.assert_allclose(found[numbers == g], expected[g], atol=1e-14 * max(scale, 1.0))


def test_radius_lost_to_rounding():
    point = np.array([1e20, 1e20, 1.0, 3e19])
    found = project_group_balls(point, group_entries([0, 0, 0, 0]), 1.0)
    assert np.isfinite(found).all()
    assert found.sum() <= 1e20


def test_largest_and_left_out():
    groups = group_entries([2, -1, 2, 5])
    assert largest_of_groups(np.array([0.1, 9.0, 0.3, 0.2]), groups).tolist() == [0.3, 0.2]
    assert project_group_balls(np.array([1.0, 1.0, 1.0, 1.0]), groups, 1.0)[1] == 0.0
