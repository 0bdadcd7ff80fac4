"""Overlap, mixtures and data sets: oracles, targets, properties, bad input."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.datasets import load_iris, load_wine
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.mixture import GaussianMixture

from octavo.cluster import (
    GaussianMixtureSpec,
    OverlapNotReached,
    gaussian_overlap,
    make_overlap_blobs,
    make_overlap_dataset,
    make_overlap_mixture,
    overlap_of_clustering,
    overlap_of_fit,
)
from octavo.cluster.referee.mixtures import inverse_box_cox, limit_eccentricity
from octavo.cluster.referee.overlap import check_mixture, least_overlaps, pair_forms


def random_mixture(rng, K=3, p=2):
    factors = rng.normal(size=(K, p, p)) * 0.6
    covs = factors @ factors.transpose(0, 2, 1) + 0.2 * np.eye(p)
    return rng.dirichlet(np.full(K, 5.0)), rng.normal(size=(K, p)) * 1.5, covs


def one_dimensional(weights, means, variances):
    """ω(1|0) by the roots of the log ratio of two normal densities."""
    (w0, w1), (m0, m1), (v0, v1) = weights, means, variances
    # log w1 φ1 - log w0 φ0 = A x² + B x + C > 0
    A = 0.5 / v0 - 0.5 / v1
    B = m1 / v1 - m0 / v0
    C = np.log(w1 / w0) + 0.5 * np.log(v0 / v1) + m0**2 / (2 * v0) - m1**2 / (2 * v1)
    disc = B * B - 4 * A * C
    if disc < 0:
        return float(A > 0)
    low, high = np.sort((-B + np.array([-1, 1]) * np.sqrt(disc)) / (2 * A))
    inside = stats.norm.cdf(high, m0, np.sqrt(v0)) - stats.norm.cdf(low, m0, np.sqrt(v0))
    return 1 - inside if A > 0 else inside


class TestOverlap:
    def test_one_dimension_by_roots(self):
        rng = np.random.default_rng(0)
        for _ in range(200):
            weights = rng.dirichlet([2, 2])
            means, variances = rng.normal(size=2) * 2, rng.uniform(0.1, 3, size=2)
            omega = gaussian_overlap(weights, means[:, None], variances[:, None, None]).omega
            assert_allclose(omega[0, 1], one_dimensional(weights, means, variances), atol=1e-8)
            back = one_dimensional(weights[::-1], means[::-1], variances[::-1])
            assert_allclose(omega[1, 0], back, atol=1e-8)

    def test_homogeneous_closed_form(self):
        rng = np.random.default_rng(1)
        weights, means, covs = random_mixture(rng)
        covs[:] = covs[0]
        found = gaussian_overlap(weights, means, covs)
        by_inversion = gaussian_overlap(weights, means, covs, method="inversion")
        inverse = np.linalg.inv(covs[0])
        for i in range(3):
            for j in range(3):
                if i != j:
                    gap = means[i] - means[j]
                    length = np.sqrt(gap @ inverse @ gap)
                    log_ratio = np.log(weights[j] / weights[i])
                    exact = stats.norm.cdf(-length / 2 + log_ratio / length)
                    assert_allclose(found.omega[i, j], exact, rtol=1e-10)
        assert_allclose(found.omega, by_inversion.omega, atol=1e-8)

    @pytest.mark.parametrize("p", [1, 2, 5])
    def test_simulation(self, p):
        rng = np.random.default_rng(p)
        weights, means, covs = random_mixture(rng, K=3, p=p)
        omega = gaussian_overlap(weights, means, covs).omega
        n = 100_000
        for i in range(3):
            X = rng.multivariate_normal(means[i], covs[i], size=n)
            density = [
                np.log(weights[k]) + stats.multivariate_normal.logpdf(X, means[k], covs[k])
                for k in range(3)
            ]
            for j in range(3):
                if i != j:
                    share = np.mean(density[i] < density[j])
                    error = np.sqrt(max(share * (1 - share), 1 / n) / n)
                    assert abs(share - omega[i, j]) < 4.5 * error

    def test_error_of_the_optimal_rule(self):
        """Of two components the overlap is the error of quadratic discriminant analysis."""
        rng = np.random.default_rng(3)
        weights, means, covs = random_mixture(rng, K=2, p=3)
        spec = GaussianMixtureSpec(weights, means, covs)
        X, y = spec.sample(200_000, random_state=0)
        rule = QuadraticDiscriminantAnalysis().fit(X, y)
        omega = spec.overlap_map().omega
        expected = weights[0] * omega[0, 1] + weights[1] * omega[1, 0]
        assert abs(1 - rule.score(X, y) - expected) < 5 * np.sqrt(expected / len(X))

    @settings(max_examples=25, deadline=None)
    @given(st.integers(0, 10**6))
    def test_affine_maps_change_nothing(self, seed):
        rng = np.random.default_rng(seed)
        weights, means, covs = random_mixture(rng, K=3, p=3)
        A, b = rng.normal(size=(3, 3)) + 2 * np.eye(3), rng.normal(size=3)
        moved = gaussian_overlap(weights, means @ A.T + b, A @ covs @ A.T)
        assert_allclose(moved.omega, gaussian_overlap(weights, means, covs).omega, atol=1e-7)

    def test_map_is_consistent(self):
        found = gaussian_overlap(*random_mixture(np.random.default_rng(0), K=4))
        assert_array_equal(np.diag(found.omega), 1.0)
        pairs = found.pairwise[np.triu_indices(4, 1)]
        assert_allclose(found.average, pairs.mean())
        assert_allclose(found.maximum, pairs.max())
        assert found.pairwise[found.pair] == found.maximum
        assert 0 <= found.generalized <= 1
        # two components: the generalised overlap is the pairwise one
        two = gaussian_overlap(*random_mixture(np.random.default_rng(1), K=2))
        assert_allclose(two.generalized, two.maximum)

    def test_identical_components_split_their_ties(self):
        same = gaussian_overlap([0.5, 0.5], np.zeros((2, 2)), np.stack([np.eye(2)] * 2))
        assert_allclose(same.omega, [[1, 0.5], [0.5, 1]])

    def test_eigenvalues_at_and_near_one(self):
        base = np.eye(3)
        values = []
        for nudge in (0.0, 1e-12, 1e-8, 1e-5):
            other = np.diag([1.0, 1.0 + nudge, 2.0])
            overlap = gaussian_overlap(
                [0.4, 0.6], [[0, 0, 0], [1, 1, 1.0]], np.stack([base, other])
            )
            values.append(overlap.omega[0, 1])
        assert_allclose(values, values[0], atol=1e-5)
        assert abs(values[1] - values[0]) < 1e-8

    def test_of_fits_and_clusterings(self):
        X, y = load_iris(return_X_y=True)
        clustered = overlap_of_clustering(X, y)
        assert clustered.pair == (1, 2)
        assert clustered.pairwise[0, 1] < 1e-5
        assert_array_equal(overlap_of_clustering(X, np.where(y == 0, -1, y)).omega.shape, (2, 2))
        W = load_wine().data[:, :4]
        for kind in ("full", "tied", "diag", "spherical"):
            fitted = GaussianMixture(3, covariance_type=kind, random_state=0).fit(W)
            found = overlap_of_fit(fitted)
            assert found.omega.shape == (3, 3)
            assert np.isfinite(found.omega).all()
        full = GaussianMixture(2, random_state=0).fit(X)
        direct = gaussian_overlap(full.weights_, full.means_, full.covariances_)
        assert_allclose(overlap_of_fit(full).omega, direct.omega)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000), K=st.integers(2, 4), p=st.integers(1, 4))
def test_no_overlap_is_below_its_bound(seed, K, p):
    spec = GaussianMixtureSpec(*random_mixture(np.random.default_rng(seed), K, p))
    forms = pair_forms(
        spec.weights, spec.means, check_mixture(spec.weights, spec.means, spec.covariances)[3]
    )
    pairwise = spec.overlap_map().pairwise[forms.first, forms.second]
    assert np.all(least_overlaps(forms) <= pairwise + 1e-8)


def test_the_bound_of_overlaps_is_met_by_coinciding_components():
    """The better of two equal components gets the lighter one wrong, and no more."""
    spec = GaussianMixtureSpec([0.3, 0.7], np.zeros((2, 3)), np.array([np.eye(3)] * 2))
    forms = pair_forms(spec.weights, spec.means, np.linalg.cholesky(spec.covariances))
    assert_allclose(least_overlaps(forms), 0.3 / 0.7)


@pytest.mark.parametrize("bar_omega", [1e-3, 0.01, 0.05])
@pytest.mark.parametrize("tol", [1e-8, 1e-6, 1e-4])
def test_averages_are_met_twenty_times_nearer_than_asked(bar_omega, tol):
    """The last secant is not looked at where the excess before it says that it is near."""
    for seed in range(5):
        spec = make_overlap_mixture(6, 3, bar_omega=bar_omega, tol=tol, random_state=seed)
        assert abs(spec.overlap_map(1e-11).average - bar_omega) <= tol / 20


def independent_overlap(spec, n=400_000, seed=0):
    """Average and largest overlap by simulation."""
    rng = np.random.default_rng(seed)
    K = len(spec.weights)
    omega = np.zeros((K, K))
    for i in range(K):
        X = rng.multivariate_normal(spec.means[i], spec.covariances[i], size=n)
        logs = np.array(
            [
                np.log(w) + stats.multivariate_normal.logpdf(X, m, c)
                for w, m, c in zip(spec.weights, spec.means, spec.covariances)
            ]
        )
        omega[i] = np.mean(logs[i] < logs, axis=1)
    pairs = (omega + omega.T)[np.triu_indices(K, 1)]
    return pairs.mean(), pairs.max()


class TestMixtures:
    @pytest.mark.parametrize(
        "shape", [{}, {"spherical": True}, {"homogeneous": True}, {"min_weight": 0.05}]
    )
    @pytest.mark.parametrize("target", [{"max_omega": 0.1}, {"bar_omega": 0.01}])
    def test_one_target_is_hit(self, shape, target):
        spec = make_overlap_mixture(5, 3, random_state=0, **shape, **target)
        found = spec.overlap_map()
        got = found.maximum if "max_omega" in target else found.average
        assert abs(got - next(iter(target.values()))) <= 1e-6
        for cov in spec.covariances:
            values = np.linalg.eigvalsh(cov)
            assert np.sqrt(1 - values[0] / values[-1]) <= 0.9 + 1e-9
        if shape == {"spherical": True}:
            assert_allclose(spec.covariances[0], spec.covariances[0][0, 0] * np.eye(3))
        if shape == {"homogeneous": True}:
            assert_allclose(spec.covariances, spec.covariances[:1].repeat(5, axis=0))
        assert spec.weights.min() >= shape.get("min_weight", 0.2) - 1e-12

    @pytest.mark.parametrize(
        ("average", "largest"), [(0.05, 0.198), (0.05, 0.135), (0.001, 0.0036)]
    )
    def test_figure_2(self, average, largest):
        spec = make_overlap_mixture(6, 2, bar_omega=average, max_omega=largest, random_state=0)
        found = spec.overlap_map()
        assert abs(found.average - average) <= 1e-6
        assert abs(found.maximum - largest) <= 1e-6

    def test_simulation_agrees_with_the_targets(self):
        spec = make_overlap_mixture(4, 3, bar_omega=0.03, max_omega=0.1, random_state=1)
        average, largest = independent_overlap(spec)
        assert abs(average - 0.03) < 4 * np.sqrt(0.03 / 400_000)
        assert abs(largest - 0.1) < 4 * np.sqrt(0.1 / 400_000)

    def test_same_seed_same_mixture(self):
        a, b = (make_overlap_mixture(3, 2, max_omega=0.05, random_state=7) for _ in range(2))
        assert_array_equal(a.means, b.means)
        assert_array_equal(a.covariances, b.covariances)

    def test_one_dimension(self):
        spec = make_overlap_mixture(8, 1, max_omega=0.1, random_state=0)
        assert abs(spec.max_omega - 0.1) <= 1e-6

    def test_eccentricity(self):
        values = limit_eccentricity(np.array([0.01, 0.5, 1.0]), 0.9)
        assert_allclose(values[-1], 1.0)
        assert_allclose(np.sqrt(1 - values[0]), 0.9)
        assert_array_equal(limit_eccentricity(np.array([0.9, 1.0]), 0.9), [0.9, 1.0])

    def test_unreachable_says_what_was_reached(self):
        with pytest.raises(OverlapNotReached, match="reaches at most an average"):
            make_overlap_mixture(3, 50, bar_omega=0.95, max_tries=3, random_state=0)

    def test_bad_targets(self):
        for bad, words in (
            ({}, "bar_omega, max_omega"),
            ({"max_omega": 1.5}, "between 0 and 1"),
            ({"bar_omega": 0.0}, "between 0 and 1"),
            ({"bar_omega": 0.1, "max_omega": 0.05}, "lies between"),
            ({"bar_omega": 0.01, "max_omega": 0.5}, "lies between"),
            ({"max_omega": 0.1, "min_weight": 0.5}, "1/4"),
            ({"max_omega": 0.1, "max_eccentricity": 1.0}, "max_eccentricity"),
            ({"max_omega": 0.1, "mean_range": (1, 0)}, "mean_range"),
            ({"max_omega": 0.1, "max_tries": 0}, "max_tries"),
        ):
            with pytest.raises(ValueError, match=words):
                make_overlap_mixture(4, 2, **bad)
        with pytest.raises(ValueError, match="at least 2"):
            make_overlap_mixture(1, 2, max_omega=0.1)

    def test_bad_mixtures(self):
        good = ([0.5, 0.5], [[0.0, 0], [1, 1]], np.stack([np.eye(2)] * 2))
        for position, value, words in (
            (0, [0.5, 0.6], "sum to 1"),
            (0, [1.0, 0.0], "positive"),
            (1, [[0.0, np.nan], [1, 1]], "NaN"),
            (2, np.stack([np.eye(2), -np.eye(2)]), "Covariance 1 must be positive definite"),
            (2, np.stack([np.eye(2), [[1, 2], [0, 1]]]), "symmetric"),
            (2, np.eye(2), "shape"),
        ):
            bad = list(good)
            bad[position] = value
            with pytest.raises(ValueError, match=words):
                gaussian_overlap(*bad)
        with pytest.raises(ValueError, match="at least 2"):
            gaussian_overlap([1.0], [[0.0]], [[[1.0]]])
        with pytest.raises(ValueError, match="method"):
            gaussian_overlap(*good, method="magic")
        with pytest.raises(ValueError, match="2 points; a covariance in 4"):
            overlap_of_clustering(load_iris().data, [0] * 2 + [1] * 148)


class TestData:
    def test_points_follow_the_mixture(self):
        spec = make_overlap_mixture(3, 2, max_omega=0.05, min_weight=0.1, random_state=0)
        X, y = spec.sample(60_000, random_state=0)
        for k in range(3):
            n = (y == k).sum()
            assert abs(n / 60_000 - spec.weights[k]) < 4.5 * np.sqrt(0.25 / 60_000)
            error = np.sqrt(np.diag(spec.covariances[k]) / n)
            assert (abs(X[y == k].mean(axis=0) - spec.means[k]) < 4.5 * error).all()
            assert_allclose(
                np.cov(X[y == k], rowvar=False),
                spec.covariances[k],
                atol=0.05 * abs(spec.covariances[k]).max(),
            )

    def test_outliers_lie_outside_every_ellipsoid(self):
        spec = make_overlap_mixture(4, 3, bar_omega=0.01, random_state=0)
        X, y = make_overlap_dataset(200, spec, n_outliers=40, random_state=0)
        out = X[y == -1]
        assert len(out) == 40
        for mean, cov in zip(spec.means, spec.covariances):
            gap = out - mean
            distance = np.einsum("na,ab,nb->n", gap, np.linalg.inv(cov), gap)
            assert (distance > stats.chi2.isf(1e-3, 3)).all()

    def test_noise_features_and_sizes(self):
        X, y = make_overlap_dataset(
            300, n_components=3, n_features=2, max_omega=0.01, n_noise_features=2, random_state=0
        )
        assert X.shape == (300, 4)
        assert np.bincount(y).min() >= 3
        assert abs(np.corrcoef(X[:, 2], y)[0, 1]) < 0.2

    def test_inverse_box_cox_is_inverted_by_box_cox(self):
        X = np.random.default_rng(0).normal(size=(50, 3))
        for lam in (0.5, 0.0, -0.05, 2.0):
            bent = inverse_box_cox(X, lam)
            back = stats.boxcox(bent[:, 0], lmbda=lam)
            assert_allclose(back, X[:, 0] - X[:, 0].min(), atol=1e-10)
        assert_array_equal(inverse_box_cox(X, 1.0), X)
        with pytest.raises(ValueError, match="pole"):
            inverse_box_cox(10 * X, -0.5)

    def test_blobs_look_like_blobs(self):
        X, y, centers = make_overlap_blobs(
            90, 3, centers=4, max_omega=0.02, random_state=0, return_centers=True
        )
        assert X.shape == (90, 3)
        assert centers.shape == (4, 3)
        _, ordered = make_overlap_blobs(90, centers=4, shuffle=False, random_state=0)
        assert (np.diff(ordered) >= 0).all()

    def test_bad_requests(self):
        spec = make_overlap_mixture(3, 2, max_omega=0.05, random_state=0)
        for bad, words in (
            ({"max_omega": 0.1}, "no effect"),
            ({"n_outliers": -1}, "not negative"),
            ({"outlier_alpha": 0.0}, "between 0 and 1"),
            ({"min_size": 200}, "cannot give"),
        ):
            with pytest.raises(ValueError, match=words):
                make_overlap_dataset(100, spec, **bad)
