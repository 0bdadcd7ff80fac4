"""Trees, Voronoi cells and k-d cells: independent constructions and closed forms."""

import itertools
import math

import numpy as np
import pytest
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial import ConvexHull, Voronoi
from scipy.spatial.distance import pdist, squareform
from scipy.special import digamma

from octavo.info import (
    KDPartitionEntropy,
    MSTRenyiEntropy,
    Normal,
    Uniform,
    VoronoiEntropy,
    mst_constant,
    quick_test,
)
from octavo.info.entropies.graph import (
    _LOG_CELL,
    _LOG_CONSTANTS,
    _log_mst_constant,
    kd_partition,
    mst_lengths,
    voronoi_volumes,
)


@pytest.mark.parametrize("d", [1, 2, 3, 4, 7])
def test_tree_equals_that_of_all_pairs(d):
    X = np.random.default_rng(d).normal(size=(150, d))
    expected = np.sort(minimum_spanning_tree(squareform(pdist(X))).data)
    np.testing.assert_allclose(np.sort(mst_lengths(X)), expected, rtol=1e-10)


def test_tree_of_duplicates_leaves_them_out():
    X = np.random.default_rng(0).normal(size=(80, 2))
    np.testing.assert_allclose(
        np.sort(mst_lengths(np.vstack([X, X[:20]]))), np.sort(mst_lengths(X)), rtol=1e-12
    )


def test_tree_of_a_lattice():
    """Many ties: Delaunay may leave out points, the tree must not. All edges have length 1."""
    grid = np.array(list(itertools.product(range(9), range(9))), dtype=float)
    np.testing.assert_allclose(mst_lengths(grid), np.ones(80), rtol=1e-9)


def test_known_constants_are_those_of_new_simulations():
    """Smaller samples than those of the table, five standard errors of them."""
    for d, alpha in ((2, 0.5), (3, 0.8), (4, 0.35)):
        values = [mst_constant(d, alpha, n=3000, n_repeats=1, random_state=s) for s in range(6)]
        error = np.std(values, ddof=1) / math.sqrt(6)
        # Torus samples of n points reach the limit up to a few over n.
        expected = math.exp(_log_mst_constant(d, alpha))
        assert abs(np.mean(values) - expected) < 5 * error + 5 / 3000


def test_constant_on_the_line_is_exact():
    """Gaps of uniform points are exponential: E gap^(1-α) = Γ(2-α)."""
    simulated = mst_constant(1, 0.4, n=20_000, n_repeats=4, random_state=0)
    assert simulated == pytest.approx(math.gamma(1.6), rel=4 * 0.6 / math.sqrt(80_000) + 1e-3)


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_tree_entropy_of_the_uniform_distribution(d):
    """The bias is the boundary's, which falls like n^(-1/d): two sizes extrapolate to none."""
    few, many = (
        quick_test(MSTRenyiEntropy(0.6), Uniform([0] * d, [1] * d), n=n, n_repeats=8)
        for n in (375, 3000)
    )
    fall = 8 ** (1 / d)
    extrapolated = (fall * many.bias - few.bias) / (fall - 1)
    error = math.hypot(fall * many.deviation, few.deviation) / (fall - 1) / math.sqrt(8)
    assert abs(extrapolated) < 4 * error
    assert abs(many.bias) < max(abs(few.bias), 4 * few.deviation / math.sqrt(8))


def test_tree_entropy_scales():
    X = np.random.default_rng(0).normal(size=(200, 2))
    one, other = (MSTRenyiEntropy(0.7).estimate(c * X) for c in (1.0, 5.0))
    assert other - one == pytest.approx(2 * math.log(5), rel=1e-10)


def test_mult_skips_the_constant_and_unknown_ones_are_asked_for():
    X = np.random.default_rng(0).normal(size=(60, 2))
    raw, full = (MSTRenyiEntropy(0.7, mult=mult).estimate(X) for mult in (False, True))
    assert raw - full == pytest.approx(_log_mst_constant(2, 0.7) / 0.3, rel=1e-9)
    given = MSTRenyiEntropy(0.7, constant=math.exp(_log_mst_constant(2, 0.7))).estimate(X)
    assert given == pytest.approx(full, rel=1e-12)
    wide = np.random.default_rng(0).normal(size=(60, 9))
    with pytest.raises(ValueError, match=r"not known for d=9 \(known: 1 to 6\).*mst_constant"):
        MSTRenyiEntropy(0.7).estimate(wide)
    assert np.isfinite(MSTRenyiEntropy(0.7, mult=False).estimate(wide))
    assert set(_LOG_CONSTANTS) == {2, 3, 4, 5, 6}


@pytest.mark.parametrize("d", [2, 3])
def test_volumes_equal_those_of_convex_hulls(d):
    X = np.random.default_rng(d).normal(size=(120, d))
    cells = Voronoi(X)
    volumes = voronoi_volumes(X)
    for i, region in enumerate(cells.point_region):
        corners = cells.regions[region]
        expected = math.inf if -1 in corners else ConvexHull(cells.vertices[corners]).volume
        assert volumes[i] == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("d", [2, 3])
def test_volumes_of_a_lattice(d):
    """Inner cells of the integer lattice are unit cubes."""
    grid = np.array(list(itertools.product(range(5), repeat=d)), dtype=float)
    grid += 1e-7 * np.random.default_rng(0).normal(size=grid.shape)
    inner = ((grid > 0.5) & (grid < 3.5)).all(axis=1)
    np.testing.assert_allclose(voronoi_volumes(grid)[inner], 1.0, rtol=1e-5)


def test_constant_of_cells_is_that_of_a_gamma_law():
    """Volumes of Poisson-Voronoi cells are nearly Gamma(3.57) and Gamma(5.59) distributed."""

    for d, shape in ((2, 3.57), (3, 5.59)):
        assert _LOG_CELL[d] == pytest.approx(digamma(shape) - math.log(shape), abs=0.004)


@pytest.mark.parametrize(("d", "n"), [(2, 6000), (3, 6000)])
@pytest.mark.slow
def test_voronoi_entropy_of_normals(d, n):
    """Standard error √(var log p + var log cell)/n; cells at the rim are about n^(1-1/d)/10."""
    result = quick_test(VoronoiEntropy(), Normal(np.zeros(d), np.eye(d)), n=n, n_repeats=3)
    assert abs(result.bias) < 4 * math.sqrt((d / 2 + 0.3) / (3 * n)) + 0.5 * n ** (-1 / d)
    raw = quick_test(VoronoiEntropy(mult=False), Normal(np.zeros(d), np.eye(d)), n=n, n_repeats=3)
    assert raw.mean - result.mean == pytest.approx(_LOG_CELL[d], rel=1e-9)


def test_partition_holds_all_points_and_fills_the_box():
    X = np.random.default_rng(0).normal(size=(777, 3))
    cells = kd_partition(X, 5, 1.96)
    assert sum(count for count, _ in cells) == 777
    box = float(np.prod(X.max(axis=0) - X.min(axis=0)))
    assert sum(math.exp(volume) for _, volume in cells) == pytest.approx(box, rel=1e-10)
    assert len(cells) >= 2**5


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("correct", [False, True])
def test_partition_entropy_of_the_uniform_distribution(d, correct):
    """As published, √n cells cost about cells/(2n); mended, nothing is left to see."""
    n, repeats = 2000, 40
    result = quick_test(
        KDPartitionEntropy(correct=correct), Uniform([0] * d, [2] * d), n=n, n_repeats=repeats
    )
    error = 4 * result.deviation / math.sqrt(repeats)
    cells = 2 ** math.ceil(0.5 * math.log2(n))
    if correct:
        assert abs(result.bias) < error + d / n
    else:
        assert -2 * cells / n < result.bias < -0.4 * cells / n


def test_cut_of_uniform_points_has_the_mean_log_share_of_a_beta_variable():
    """The correction of one forced cut, against simulation: x_(k) of n is Beta(k, n - k + 1)."""
    n, k = 21, 11
    u = np.random.default_rng(0).beta(k, n - k + 1, size=400_000)
    x = np.sort(np.random.default_rng(1).uniform(size=n))[:, None]
    plain, mended = (dict(kd_partition(x, 1, 1e9, correct=c)) for c in (False, True))
    start = digamma(n + 1) - digamma(n - 1)
    below = mended[k] - plain[k] - start
    assert below == pytest.approx(math.log(k / n) - np.log(u).mean(), abs=4e-3)
    above = mended[n - k] - plain[n - k] - start
    assert above == pytest.approx(math.log((n - k) / n) - np.log(1 - u).mean(), abs=4e-3)


def test_bad_input():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    with pytest.raises(ValueError, match="5 duplicates"):
        VoronoiEntropy().estimate(np.vstack([X, X[:5]]))
    with pytest.raises(ValueError, match="2 or 3 column"):
        VoronoiEntropy().estimate(rng.normal(size=(30, 4)))
    with pytest.raises(ValueError, match="need 4 rows"):
        VoronoiEntropy().estimate(X[:3])
    with pytest.raises(ValueError, match="alpha"):
        MSTRenyiEntropy(alpha=1.5).estimate(X)
    with pytest.raises(ValueError, match="constant"):
        KDPartitionEntropy().estimate(np.column_stack([X, np.ones(30)]))


def test_voronoi_cells_do_not_mind_where_the_points_are():
    X = np.random.default_rng(0).normal(size=(60, 2))
    near = VoronoiEntropy().estimate(X)
    assert VoronoiEntropy().estimate(X + 1e9) == pytest.approx(near, abs=1e-5)
