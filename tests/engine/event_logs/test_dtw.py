"""Time warping against the enumeration of all paths, dtaidistance, and itself without bounds."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.engine.event_logs.dtw import (
    Warping,
    cross,
    one_to_many,
    ragged,
    warp,
    weighted_means,
)


def paths(n, m, reach):
    """Yield every warping path of two lengths within a band."""

    def grow(path):
        i, j = path[-1]
        if (i, j) == (n - 1, m - 1):
            yield path
            return
        for a, b in ((i + 1, j), (i, j + 1), (i + 1, j + 1)):
            if a < n and b < m and abs(a - b) <= reach:
                yield from grow([*path, (a, b)])

    yield from grow([(0, 0)])


def enumerated(x, y, how):
    n, m = len(x), len(y)
    reach = max(n, m)
    if how.band < 1:
        reach = max(int(np.ceil(how.band * max(n, m))), abs(n - m))
    found = []
    for path in paths(n, m, reach):
        d = [abs(x[i] - y[j]) for i, j in path]
        total = sum(v * v for v in d) if how.squared else sum(d)
        found.append((round(total, 12), len(path), total))
    _, length, total = min(found)
    return total / length if how.normalized else total


RULES = [
    Warping(band, squared, normalized)
    for band in (1.0, 0.3)
    for squared in (False, True)
    for normalized in (False, True)
]


@pytest.mark.parametrize("how", RULES, ids=str)
def test_it_is_the_best_of_all_paths(how):
    rng = np.random.default_rng(0)
    for n in range(1, 7):
        for m in range(1, 7):
            x, y = rng.normal(size=n), rng.normal(size=m)
            # sums of at most 11 terms in another order
            assert warp(x, y, how) == pytest.approx(enumerated(x, y, how), rel=1e-13)


@pytest.mark.parametrize("how", RULES, ids=str)
def test_ties_take_the_shortest_path(how):
    rng = np.random.default_rng(1)
    for _ in range(40):
        n, m = rng.integers(1, 6, 2)
        x, y = rng.integers(0, 3, n).astype(float), rng.integers(0, 3, m).astype(float)
        assert warp(x, y, how) == enumerated(x, y, how)


def test_path_cost_is_not_the_least_mean_cost():
    rng = np.random.default_rng(0)
    below = []
    for _ in range(30):
        x, y = rng.normal(size=(2, 4))
        least = min(np.mean([abs(x[i] - y[j]) for i, j in p]) for p in paths(4, 4, 4))
        below.append(warp(x, y, Warping(normalized=True)) - least)
    assert min(below) > -1e-12
    assert max(below) > 1e-3


def test_dtaidistance_agrees():
    peer = pytest.importorskip("dtaidistance.dtw")
    rng = np.random.default_rng(2)
    for n, m in [(30, 30), (20, 41), (64, 64)]:
        x, y = rng.normal(size=n), rng.normal(size=m)
        ours = np.sqrt(warp(x, y, Warping(squared=True)))
        assert ours == pytest.approx(peer.distance(x, y), rel=1e-12)
    x, y = rng.normal(size=40), rng.normal(size=40)
    # its window counts the diagonal: 5 is a reach of 4, a tenth of 40
    ours = np.sqrt(warp(x, y, Warping(0.1, True)))
    assert ours == pytest.approx(peer.distance(x, y, window=5), rel=1e-12)


series = st.lists(st.floats(-5, 5), min_size=1, max_size=12).map(np.array)


@settings(max_examples=60, deadline=None)
@given(series, series, st.sampled_from(RULES), st.floats(0.0, 3.0))
def test_symmetry_zero_and_bounds(x, y, how, bound):
    whole = warp(x, y, how)
    assert warp(y, x, how) == whole
    assert warp(x, x, how) == 0.0
    plain = how._replace(normalized=False)
    assert warp(x, y, plain._replace(band=1.0)) <= warp(x, y, plain) * (1 + 1e-12)
    bounded = warp(x, y, how, bound)
    assert bounded == whole if whole <= bound else bounded in (whole, np.inf)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(RULES))
def test_batches_with_bounds_equal_single_pairs(seed, how):
    rng = np.random.default_rng(seed)
    some = [rng.normal(size=rng.integers(1, 30)).cumsum() for _ in range(15)]
    y = rng.normal(size=rng.integers(1, 30)).cumsum()
    exact = np.array([warp(x, y, how) for x in some])
    many = ragged(some)
    np.testing.assert_array_equal(one_to_many(y, many, how), exact)
    bounds = rng.uniform(0, 2, 15) * exact
    found = one_to_many(y, many, how, bounds)
    np.testing.assert_array_equal(np.minimum(found, bounds), np.minimum(exact, bounds))
    np.testing.assert_array_equal(cross(many, ragged([y]), how)[:, 0], exact)


def test_bounds_leave_most_pairs_early():
    rng = np.random.default_rng(0)
    many = ragged([rng.normal(size=40) + 10 * (i % 2) for i in range(50)])
    found = one_to_many(rng.normal(size=40), many, Warping(0.1), np.full(50, 60.0))
    assert np.isinf(found[1::2]).all()
    assert np.isfinite(found[::2]).all()


def test_straight_is_euclidean():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 9))
    assert warp(x, y, Warping(straight=True)) == pytest.approx(np.linalg.norm(x - y), rel=1e-14)


def test_weighted_means_equal_sums_of_pairs():
    rng = np.random.default_rng(3)
    some = [rng.normal(size=rng.integers(3, 9)) for _ in range(9)]
    weights = rng.random(9)
    groups = np.array([0, 2, 5, 9])
    how = Warping(0.2, False, True)
    C = np.array([[warp(x, y, how) for y in some] for x in some])
    expected = np.array(
        [
            [weights[a:b] @ C[a:b, c:d] @ weights[c:d] for c, d in itertools.pairwise(groups)]
            for a, b in itertools.pairwise(groups)
        ]
    )
    for n_jobs in (None, 2):
        found = weighted_means(ragged(some), weights, groups, how, n_jobs=n_jobs)
        np.testing.assert_allclose(found, expected, rtol=1e-13)
    rows = weighted_means(ragged(some), weights, groups, how, np.array([0]), 1)
    np.testing.assert_allclose(rows[0, 1:], expected[0, 1:], rtol=1e-13)


def test_hundred_thousand_beats_size():
    """Memory of a pass is that of the answers: no matrix of pairs."""
    many = ragged([np.zeros(3)] * 10_000)
    assert one_to_many(np.ones(3), many, Warping(), n_jobs=2).tolist() == [3.0] * 10_000
