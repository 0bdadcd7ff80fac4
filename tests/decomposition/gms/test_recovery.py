"""Recovery conditions against definitions and against what the method then does."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from octavo.decomposition import (
    gms_precision,
    make_outlier_subspace,
    required_inlier_ratio,
    required_sample_size,
    subspace_recovery_conditions,
    uniqueness_check,
)


def conditions(sample, **options):
    return subspace_recovery_conditions(*sample, random_state=0, **options)


def test_sides_in_the_plane_by_brute_force():
    """d = 1, D = 2: both subspaces are lines, every optimum over unit vectors is explicit."""
    sample = make_outlier_subspace(20, 9, 2, 1, random_state=0)
    told = conditions(sample)
    v = sample.basis[:, 0]
    across = np.array([-v[1], v[0]])
    outliers = sample.X[~sample.is_inlier]
    assert told.left == pytest.approx(np.abs(sample.X[sample.is_inlier] @ v).sum())
    assert told.right_6 == pytest.approx(np.sqrt(2) * np.abs(outliers @ across).sum())
    assert told.right_7_low == pytest.approx(np.sqrt(2) * np.abs(outliers @ v).sum())
    unit = np.sign(outliers @ across)
    assert told.right_10 == pytest.approx(np.sqrt(2) * abs(unit @ (outliers @ across)))
    assert told.right_11 == pytest.approx(np.sqrt(2) * abs(unit @ (outliers @ v)))
    assert told.rank == 1


def test_extremes_over_directions_by_scan():
    """d = 2, D = 4: directions of a plane are scanned."""
    sample = make_outlier_subspace(30, 25, 4, 2, random_state=1)
    told = conditions(sample)
    outliers = sample.X[~sample.is_inlier]
    outside = np.linalg.svd(sample.basis)[0][:, 2:]

    def value(t, plane):
        return np.abs(outliers @ plane @ [np.cos(t), np.sin(t)]).sum()

    angles = np.linspace(0, np.pi, 2000)
    smallest = min(value(t, outside) for t in angles)
    best = angles[np.argmin([value(t, outside) for t in angles])]
    refined = minimize_scalar(
        lambda t: value(t, outside), bounds=(best - 0.01, best + 0.01), method="bounded"
    ).fun
    largest = max(value(t, sample.basis) for t in angles)
    root = np.sqrt(2)
    assert told.right_6 <= root * smallest
    assert told.right_6 == pytest.approx(root * refined, rel=1e-5)
    assert root * largest <= told.right_7_low * (1 + 1e-12)
    assert told.right_7_low == pytest.approx(root * largest, rel=1e-5)
    assert told.right_7_low <= told.right_7_high


def test_left_side_is_the_problem_on_the_inliers():
    sample = make_outlier_subspace(50, 20, 6, 3, random_state=0)
    inside = sample.X[sample.is_inlier] @ sample.basis
    assert conditions(sample).left == pytest.approx(gms_precision(inside).objective)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("n_inliers", [6, 15, 60])
def test_what_is_guaranteed_happens(seed, n_inliers):
    """Theorem 1: where the conditions hold, the kernel of Q is the subspace."""
    sample = make_outlier_subspace(n_inliers, 25, 6, 2, outliers="haystack", random_state=seed)
    told = conditions(sample)
    kernel = gms_precision(sample.X).kernel
    error = np.linalg.norm(kernel @ kernel.T - sample.basis @ sample.basis.T)
    if told.exact_recovery:
        assert error < 1e-9
    if n_inliers == 6:
        assert told.holds_9
        assert not told.necessary_12, "fewer than outliers can outweigh"
        assert error > 1e-3
    if n_inliers == 60:
        assert told.exact_recovery, "far above the ratio of Eq. (15)"


def test_weaker_conditions_are_weaker():
    for seed in range(8):
        told = conditions(
            make_outlier_subspace(40, 30, 6, 2, outliers="haystack", random_state=seed)
        )
        if told.holds_9 and told.holds_7:
            assert told.holds_11
        assert told.right_11 <= told.right_7_low * (1 + 1e-9)


def test_few_outliers_violate_condition_9():
    told = conditions(make_outlier_subspace(60, 3, 8, 2, random_state=0))
    assert not told.holds_9
    assert told.rank == 3
    assert told.exact_recovery is None


def test_inliers_on_a_line_of_the_plane_violate_6_and_7():
    sample = make_outlier_subspace(40, 30, 5, 2, random_state=0)
    X = sample.X.copy()
    X[:40] = np.outer(np.arange(1, 41), sample.basis[:, 0])
    told = subspace_recovery_conditions(X, sample.is_inlier, sample.basis, random_state=0)
    assert told.left == 0.0
    assert told.holds_7 is False
    assert told.exact_recovery is None


def test_uniqueness():
    rng = np.random.default_rng(0)
    general = rng.standard_normal((9, 4))
    assert not uniqueness_check(general, random_state=0).violated
    two = np.vstack([rng.standard_normal((6, 3)) @ rng.standard_normal((3, 4)) for _ in range(2)])
    found = uniqueness_check(two, random_state=0)
    assert found.violated
    assert np.abs(two @ found.normals.T).min(axis=1).max() < 1e-8
    flat = rng.standard_normal((9, 2)) @ rng.standard_normal((2, 4))
    assert uniqueness_check(flat, random_state=0).violated


def test_fewer_than_2d_minus_1_rows_are_always_on_two_hyperplanes():
    rows = np.random.default_rng(0).standard_normal((6, 4))
    assert uniqueness_check(rows, n_trials=1, random_state=0).violated


def test_ratios():
    assert required_inlier_ratio(1, 2, 3.0) == pytest.approx(4 * 3 / np.sqrt(2))
    assert required_inlier_ratio(5, 20, bound="tyler") == pytest.approx(1 / 3)
    assert required_inlier_ratio(9, 20, bound="outlier-pursuit") == pytest.approx(121)
    assert required_inlier_ratio(9, 20, 0.5, bound="hr-pca") == 0.5
    constant = np.sqrt(2) * (np.sqrt(2 / np.pi) + 0.35) / (np.sqrt(2 / np.pi) - 0.35)
    assert required_inlier_ratio(4, 16, 2.0, bound="finite-sample") == pytest.approx(2 * constant)
    # Eq. (18): every count must exceed its bound, and one row less would not.
    n = required_sample_size(3, 10, 0.25)
    assert n > 64 * 24 >= n - 1


BAD = [
    (lambda s: (s.X, s.is_inlier[:-1], s.basis), "booleans, one per row"),
    (lambda s: (s.X, s.is_inlier.astype(int), s.basis), "booleans"),
    (lambda s: (s.X, s.is_inlier, s.basis[:-1]), "one per feature"),
    (lambda s: (s.X, ~s.is_inlier, s.basis), "off it"),
    (lambda s: (s.X[s.is_inlier], s.is_inlier[s.is_inlier], s.basis), "0 outliers"),
]


@pytest.mark.parametrize(("spoil", "words"), BAD, ids=[str(i) for i in range(len(BAD))])
def test_bad_input(spoil, words):
    sample = make_outlier_subspace(20, 10, 4, 2, random_state=0)
    with pytest.raises(ValueError, match=words):
        subspace_recovery_conditions(*spoil(sample))


def test_bad_dimensions():
    for function in (lambda: required_inlier_ratio(5, 5), lambda: required_sample_size(6, 5, 0.5)):
        with pytest.raises(ValueError, match="below D=5"):
            function()
