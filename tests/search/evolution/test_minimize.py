"""Natural evolution strategies: oracles first, then properties, then bad input."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import solve_ivp
from scipy.linalg import expm
from scipy.optimize import Bounds, rosen
from scipy.stats import chi2, mannwhitneyu, multivariate_t
from sklearn.datasets import load_iris
from sklearn.svm import SVC

from octavo.engine.smooth.ask_tell import projected_ranks
from octavo.search import (
    SNES,
    XNES,
    CanonicalNES,
    DoublePole,
    GaussianRadial,
    HillClimberXNES,
    NESSearchCV,
    RadialNES,
    SearchGradient,
    StudentRadial,
    gaussian_log_derivatives,
    minimize_nes,
    radial_natural_gradient,
    rank_utilities,
    weighted_mannwhitneyu,
)
from octavo.search.evolution.adaptation_sampling import adapted_rate, log_importance
from octavo.search.evolution.double_pole import _derivatives
from octavo.search.evolution.radial import radial_fisher


def sphere(X):
    return np.sum(np.square(X), axis=-1)


def rosenbrock(X):
    return rosen(np.asarray(X).T)


def run(search, f, generations):
    for _ in range(generations):
        X = search.ask()
        search.tell(X, f(X))
    return search


def update_by_the_paper(mean, sigma, B, S, u, eta_mu, eta_sigma, eta_B):
    """Algorithm 5 with its gradients formed in full and scipy's matrix exponential."""
    d = len(mean)
    grad_delta = sum(uk * s for uk, s in zip(u, S))
    grad_M = sum(uk * (np.outer(s, s) - np.eye(d)) for uk, s in zip(u, S))
    grad_sigma = np.trace(grad_M) / d
    grad_B = grad_M - grad_sigma * np.eye(d)
    return (
        mean + eta_mu * sigma * B @ grad_delta,
        sigma * np.exp(eta_sigma / 2 * grad_sigma),
        B @ expm(eta_B / 2 * grad_B),
    )


class TestUpdate:
    @pytest.mark.parametrize("d", [1, 2, 5, 30])  # fewer, and more, dimensions than points
    def test_step_is_algorithm_5(self, d):
        rng = np.random.default_rng(d)
        factor = rng.normal(size=(d, d)) + 2 * np.eye(d)
        search = XNES(rng.normal(size=d), cov0=factor @ factor.T, random_state=0)
        before = search.mean_, search.sigma_, search.B_
        X = search.ask()
        S = np.linalg.solve(search.sigma_ * search.B_, (X - search.mean_).T).T
        f = sphere(X - 1)
        S_sorted, u = S[np.argsort(f)], rank_utilities(len(f))
        search.tell(X, f)
        rates = search.lr_mu, search.lr_sigma, search.lr_B
        mean, sigma, B = update_by_the_paper(*before, S_sorted, u, *rates)
        assert_allclose(search.mean_, mean, rtol=1e-10, atol=1e-12)
        assert_allclose(search.sigma_, sigma, rtol=1e-12)
        assert_allclose(search.B_, B, rtol=1e-9, atol=1e-11)

    def test_utilities_that_do_not_sum_to_zero(self):
        own = np.array([0.5, 0.3, 0.1, 0.0, 0.0, 0.0, 0.0])
        with pytest.warns(UserWarning, match="sum to 0.9"):
            search = XNES(np.ones(3), popsize=7, utilities=own, random_state=0)
        before = search.mean_, search.sigma_, search.B_
        X = search.ask()
        S = (X - search.mean_)[np.argsort(sphere(X))]
        search.tell(X, sphere(X))
        expected = update_by_the_paper(*before, S, own, 1.0, search.lr_sigma, search.lr_B)
        assert_allclose(search.sigma_, expected[1], rtol=1e-12)
        assert_allclose(search.B_, expected[2], atol=1e-12)

    def test_snes_is_algorithm_6(self):
        rng = np.random.default_rng(0)
        sigma = rng.uniform(0.5, 2, size=6)
        search = SNES(rng.normal(size=6), sigma, random_state=1)
        mean = search.mean_
        X = search.ask()
        S = (X - mean) / sigma
        S, u = S[np.argsort(sphere(X))], rank_utilities(len(X))
        search.tell(X, sphere(X))
        assert_allclose(search.mean_, mean + sigma * (u @ S), rtol=1e-12)
        expected = sigma * np.exp(search.lr_sigma / 2 * (u @ (S**2 - 1)))
        assert_allclose(search.sigma_, expected, rtol=1e-12)

    def test_linear_update_is_the_rank_mu_update(self):
        rng = np.random.default_rng(3)
        factor = rng.normal(size=(8, 8))
        search = XNES(rng.normal(size=8), cov0=factor @ factor.T + np.eye(8), update="linear")
        cov, mean = search.cov_, search.mean_
        X = search.ask()
        order = np.argsort(rosenbrock(X))
        steps, u = (X - mean)[order], rank_utilities(len(X))
        search.tell(X, rosenbrock(X))
        eta = search.lr_B
        expected = (1 - u.sum() * eta) * cov + eta * (steps.T * u) @ steps
        assert_allclose(search.cov_, expected, rtol=1e-10, atol=1e-12 * abs(cov).max())
        assert_allclose(np.linalg.det(search.B_), 1.0, rtol=1e-10)

    def test_linear_and_exponential_agree_to_second_order(self):
        gaps = []
        for eta in (1e-2, 1e-3):
            covs = []
            for update in ("linear", "exponential"):
                search = XNES(np.ones(4), lr_sigma=eta, lr_B=eta, update=update, random_state=0)
                X = search.ask()
                covs.append(search.tell(X, rosenbrock(X)).cov_)
            gaps.append(abs(covs[0] - covs[1]).max())
        assert 80 < gaps[0] / gaps[1] < 120  # O(η²): a hundredth for a tenth

    def test_told_points_need_not_be_those_asked_for(self):
        rng = np.random.default_rng(0)
        a, b = (run(XNES(np.ones(5), random_state=0), sphere, 20) for _ in range(2))
        X = a.ask()
        a.tell(X, sphere(X))
        order = rng.permutation(len(X))
        b.tell(X[order], sphere(X[order]))  # b never asked for them
        assert_allclose(b.mean_, a.mean_, rtol=1e-10)
        assert_allclose(b.cov_, a.cov_, rtol=1e-9)


class TestInvariance:
    @pytest.mark.parametrize("adapt", [False, True])
    def test_affine(self, adapt):
        rng = np.random.default_rng(0)
        d = 6
        T, b = rng.normal(size=(d, d)) + 3 * np.eye(d), rng.normal(size=d)
        A = np.eye(d) * 0.7
        straight = XNES(rng.normal(size=d), 0.7, adapt=adapt, random_state=1)
        bent = XNES(np.linalg.solve(T, straight.mean_ - b), adapt=adapt, random_state=1)
        factor = np.linalg.solve(T, A)
        bent.sigma_ = abs(np.linalg.det(factor)) ** (1 / d)
        bent.B_ = factor / bent.sigma_
        for _ in range(60):
            Z, Y = straight.ask(), bent.ask()
            # 1e-12 relative to the size of what is compared, as far as T's condition allows
            assert_allclose(Y @ T.T + b, Z, atol=1e-12 * np.linalg.cond(T) * abs(Z).max())
            straight.tell(Z, rosenbrock(Z))
            bent.tell(Y, rosenbrock(Z))

    @pytest.mark.parametrize("kind", [XNES, SNES])
    def test_increasing_transformations_change_no_bit(self, kind):
        plain = run(kind(np.ones(5), adapt=True, random_state=0), rosenbrock, 100)
        other = run(
            kind(np.ones(5), adapt=True, random_state=0), lambda X: np.cbrt(rosenbrock(X)) + 7, 100
        )
        assert_array_equal(plain.mean_, other.mean_)
        assert_array_equal(plain.cov_, other.cov_)

    def test_snes_scaling_and_order_of_coordinates(self):
        rng = np.random.default_rng(0)
        scale = rng.uniform(0.1, 10, size=4)
        plain = SNES(np.ones(4), random_state=0)
        scaled = SNES(np.ones(4) / scale, 1 / scale, random_state=0)
        for _ in range(50):
            Z, Y = plain.ask(), scaled.ask()
            assert_allclose(Y * scale, Z, rtol=1e-9, atol=1e-12)
            plain.tell(Z, rosenbrock(Z))
            scaled.tell(Y, rosenbrock(Z))


class TestBehaviour:
    def test_scale_grows_on_a_linear_function(self):
        growth = []
        for seed in range(200):
            search = XNES(np.zeros(10), random_state=seed)
            X = search.ask()
            growth.append(np.log(search.tell(X, X[:, 0]).sigma_))
        mean, error = np.mean(growth), np.std(growth) / np.sqrt(len(growth))
        assert mean > 3 * error

    def test_log_linear_convergence_on_the_sphere(self):
        result = minimize_nes(sphere, np.ones(10), vectorized=True, ftarget=1e-18, random_state=0)
        n, f = result.history["n_evals"], np.log10(result.history["best_f"])
        late = f < -2
        fit = np.polynomial.Polynomial.fit(n[late], f[late], 1)
        assert np.sqrt(np.mean((fit(n[late]) - f[late]) ** 2)) < 0.3  # decades, of sixteen
        assert result.success
        assert result.fun <= 1e-18

    @pytest.mark.slow
    def test_plain_gradient_fails_to_shrink_where_natural_gradient_does(self):
        """Figure 1: minimising z², η = 0.01, λ = 10."""
        plain, natural = [], []
        for seed in range(30):
            search = SearchGradient([1.0], popsize=10, learning_rate=0.01, random_state=seed)
            plain.append(np.sqrt(run(search, lambda X: X[:, 0] ** 2, 1000).cov_[0, 0]))
            natural.append(run(XNES([1.0], popsize=10, random_state=seed), sphere, 100).sigma_)
        assert np.median(plain) > 1e-2
        assert np.median(natural) < 1e-8

    def test_adaptation_raises_the_rate_on_the_sphere(self):
        slow = minimize_nes(sphere, np.ones(10), vectorized=True, ftarget=1e-8, random_state=0)
        fast = minimize_nes(
            sphere, np.ones(10), vectorized=True, ftarget=1e-8, adapt=True, random_state=0
        )
        assert fast.nfev < slow.nfev / 2
        assert fast.history["eta_sigma"].max() > 5 * fast.history["eta_sigma"][0]

    def test_restarts_escape_a_trap(self):
        def trap(X):  # a broad basin at zero, the better one is narrow and far
            return np.minimum(sphere(X) + 1, 10 * sphere(X - 4))

        once = minimize_nes(trap, np.zeros(2), 0.5, vectorized=True, random_state=0)
        assert once.fun >= 1
        assert once.n_restarts == 0
        often = minimize_nes(
            trap, np.zeros(2), 0.5, vectorized=True, restarts=100, ftarget=1e-6,
            bounds=[(-6, 6)] * 2, random_state=0,
        )  # fmt: skip
        assert often.fun <= 1e-6
        assert often.n_restarts > 0
        assert often.history["run"][-1] == often.n_restarts
        assert often.nfev == often.history["n_evals"][-1]

    def test_population_grows_with_restarts(self):
        sizes = []
        minimize_nes(
            sphere, np.ones(2), vectorized=True, restarts=2, popsize=6, popsize_growth=2.0,
            tol_sigma=1e-4, callback=lambda search: sizes.append(search.popsize), random_state=0,
        )  # fmt: skip
        assert sorted(set(sizes)) == [6, 12, 24]

    def test_noise_and_failures_are_survived(self):
        rng = np.random.default_rng(0)

        def rough(X):
            f = sphere(X) * (1 + 0.3 * rng.standard_normal(len(X)))
            return np.where(rng.random(len(X)) < 0.2, np.nan, f)

        assert sphere(run(XNES(np.ones(4), random_state=0), rough, 300).mean_) < 1e-6


class TestBounds:
    @pytest.mark.parametrize("handling", ["resample", "project"])
    @pytest.mark.parametrize("method", ["xnes", "snes"])
    def test_optimum_on_a_wall(self, handling, method):
        seen = []

        def f(X):
            seen.append(X.copy())
            return sphere(X + 1)

        result = minimize_nes(
            f, np.full(4, 2.0), bounds=Bounds(np.zeros(4), np.full(4, 3.0)), vectorized=True,
            bounds_handling=handling, method=method, max_evals=6000, random_state=0,
        )  # fmt: skip
        assert_allclose(result.x, 0, atol=1e-3)
        assert np.min(np.vstack(seen)) >= 0
        assert np.max(np.vstack(seen)) <= 3
        assert_allclose(result.fun, sphere(result.x + 1))

    def test_errors(self):
        with pytest.raises(ValueError, match="outside the bounds in coordinate 1"):
            minimize_nes(sphere, [0.0, 5.0], bounds=[(-1, 1)] * 2)
        with pytest.raises(ValueError, match="lower bound"):
            minimize_nes(sphere, [0.0], bounds=[(1, 1)])
        with pytest.raises(ValueError, match="bounds_handling"):
            minimize_nes(sphere, [0.0], bounds=[(-1, 1)], bounds_handling="penalty")


class TestSearchGradients:
    def test_log_derivatives_by_finite_differences(self):
        rng = np.random.default_rng(0)
        A = rng.normal(size=(3, 3))
        mean, cov, z = rng.normal(size=3), A @ A.T + np.eye(3), rng.normal(size=3)

        def log_density(mean, cov):
            gap = z - mean
            return -0.5 * (np.linalg.slogdet(cov)[1] + gap @ np.linalg.solve(cov, gap))

        by_mean, by_cov = gaussian_log_derivatives(z[None], mean, cov)
        h = 1e-6
        for i in range(3):
            e = np.eye(3)[i] * h
            slope = (log_density(mean + e, cov) - log_density(mean - e, cov)) / (2 * h)
            assert_allclose(by_mean[0, i], slope, rtol=1e-7)
            for j in range(3):
                E = np.zeros((3, 3))
                E[i, j] = h
                slope = (log_density(mean, cov + E) - log_density(mean, cov - E)) / (2 * h)
                assert_allclose(by_cov[0, i, j], slope, rtol=1e-6, atol=1e-8)

    def test_gradient_of_the_expected_value_of_a_quadratic(self):
        """E f = μᵀHμ + tr(HΣ): its derivatives are 2Hμ and H; sampled to its standard error."""
        rng = np.random.default_rng(1)
        H, mean, cov = np.diag([1.0, 4.0]), np.array([0.5, -1.0]), np.diag([2.0, 0.5])
        Z = mean + rng.normal(size=(400_000, 2)) * np.sqrt(np.diag(cov))
        f = np.einsum("ki,ij,kj->k", Z, H, Z)
        for scores, exact in zip(gaussian_log_derivatives(Z, mean, cov), (2 * H @ mean, H)):
            terms = f.reshape(-1, *[1] * (scores.ndim - 1)) * scores
            error = terms.std(axis=0) / np.sqrt(len(Z))
            assert (abs(terms.mean(axis=0) - exact) < 5 * error + 1e-12).all()

    def test_sampled_fisher_tends_to_the_closed_form(self):
        """Algorithm 3 with many points moves mean and covariance as XNES in linear coordinates."""
        rng = np.random.default_rng(0)
        A = rng.normal(size=(2, 2))
        cov0, n = A @ A.T + np.eye(2), 100_000
        canonical = CanonicalNES([0.5, 1.0], cov0=cov0, popsize=n, learning_rate=0.3)
        X = canonical.mean_ + rng.normal(size=(n, 2)) @ np.linalg.cholesky(cov0).T
        closed = XNES([0.5, 1.0], cov0=cov0, popsize=n, lr_mu=0.3, lr_B=0.3, update="linear")
        f = rosenbrock(X)
        canonical.tell(X, f)
        closed.tell(X, f)
        # the sampled Fisher matrix is off by 1/√n = 0.3 %, the step is of order 0.1
        assert_allclose(canonical.mean_, closed.mean_, atol=3e-3)
        assert_allclose(canonical.cov_, closed.cov_, atol=2e-2)

    def test_canonical_nes_converges(self):
        search = run(CanonicalNES(np.ones(3), random_state=0), sphere, 200)
        assert search.best_f_ < 1e-8

    def test_raw_values_with_failures(self):
        search = SearchGradient([1.0, 1.0], random_state=0)
        X = search.ask()
        f = sphere(X)
        f[0] = np.nan
        before = search.mean_.copy()
        search.tell(X, f)
        # Eq. (2) with the identity as covariance: ∇ log π is x - μ; a failure counts as the worst
        gradient = -np.where(np.isnan(f), np.nanmax(f), f) @ (X - before) / len(f)
        assert_allclose(search.mean_, before + search.learning_rate * gradient, rtol=1e-12)
        assert np.linalg.eigvalsh(search.cov_).min() > 0


class TestRadial:
    @pytest.mark.parametrize("d", [2, 12])
    def test_gaussian_radial_is_xnes(self, d):
        a = run(XNES(np.ones(d), random_state=0), rosenbrock, 50)
        b = run(RadialNES(np.ones(d), random_state=0), rosenbrock, 50)
        assert_allclose(b.mean_, a.mean_, rtol=1e-9)
        assert_allclose(b.cov_, a.cov_, rtol=1e-8, atol=1e-12)

    @pytest.mark.parametrize("df", [1.0, 3.5, 40.0])
    @pytest.mark.parametrize("d", [1, 3, 10])
    def test_student_fisher_constants_in_closed_form(self, df, d):
        fisher = radial_fisher(StudentRadial(df), d, np.random.RandomState(0))
        total = df + d + 2
        assert_allclose(fisher.mean, (df + d) / total, rtol=2e-3)
        assert_allclose(fisher.shape, (df + d) / (2 * total), rtol=2e-3)
        assert_allclose(fisher.scale, df / (2 * total), rtol=2e-3)

    def test_sampled_constants_of_a_users_distribution(self):
        class Own:
            tau = np.empty(0)
            draw = staticmethod(lambda n, d, rng: rng.standard_normal((n, d)))
            weight = staticmethod(lambda r2, d: np.ones_like(r2))
            tau_scores = staticmethod(lambda r2, d: np.empty((len(r2), 0)))

        fisher = radial_fisher(Own(), 4, np.random.RandomState(0))
        assert_allclose([fisher.mean, fisher.shape, fisher.scale], [1, 0.5, 0.5], rtol=0.05)
        assert run(RadialNES(np.ones(4), radial=Own(), random_state=0), sphere, 400).best_f_ < 1e-6

    def test_scores_of_student_by_finite_differences(self):
        nu, d, s = 2.3, 3, np.array([0.4, -1.0, 2.0])
        r2 = np.array([s @ s])

        def log_density(df, scale=1.0):
            return multivariate_t.logpdf(s, np.zeros(d), np.eye(d) * scale, df=df)

        h = 1e-6
        by_log = (log_density(nu * np.exp(h)) - log_density(nu * np.exp(-h))) / (2 * h)
        family = StudentRadial(nu, adapt_df=True)
        assert_allclose(family.tau_scores(r2, d)[0, 0], by_log, rtol=1e-7)
        # M = t I scales s by e^t: the score is (ω r² - d) / 2 for the variance, twice for t
        by_scale = (log_density(nu, np.exp(2 * h)) - log_density(nu, np.exp(-2 * h))) / (2 * h)
        assert_allclose(family.weight(r2, d)[0] * r2[0] - d, by_scale, rtol=1e-7)

    def test_natural_gradient_with_radial_parameters_is_the_inverse(self):
        rng = np.random.default_rng(0)
        v = rng.normal(size=(5, 2)) * 0.3
        c = np.array([[2.0, 0.3], [0.3, 1.5]])
        fisher = np.block([[np.eye(5), v], [v.T, c]])
        g = rng.normal(size=7)
        assert_allclose(
            np.concatenate(radial_natural_gradient(g[:5], g[5:], v, c)), np.linalg.solve(fisher, g)
        )

    def test_squared_radius_has_the_corrected_density(self):
        """π^(d/2)/Γ(d/2) (r²)^(d/2-1) q(r²): chi-squared for a Gaussian."""
        r2 = np.sum(GaussianRadial().draw(20_000, 5, np.random.RandomState(0)) ** 2, axis=1)
        assert abs(np.mean(r2 <= chi2(5).ppf(0.3)) - 0.3) < 4 * np.sqrt(0.21 / 20_000)

    @pytest.mark.slow
    def test_degrees_of_freedom_adapt_and_search_converges(self):
        search = RadialNES(np.ones(4), radial=StudentRadial(2.0, adapt_df=True), random_state=0)
        run(search, sphere, 500)
        assert search.best_f_ < 1e-8
        assert search.radial_.df != 2.0

    def test_hill_climber(self):
        climber = HillClimberXNES(np.ones(5), random_state=0)
        assert_array_equal(climber.ask()[0], np.ones(5))
        best = []
        for _ in range(4000):
            X = climber.ask()
            climber.tell(X, sphere(X))
            best.append(climber.best_f_)
        assert best[-1] < 1e-10
        assert (np.diff(best) <= 0).all()
        assert_allclose(sphere(climber.mean_), climber.best_f_)


class TestWeightedTest:
    @settings(max_examples=50, deadline=None)
    @given(st.integers(0, 10**6), st.sampled_from(["two-sided", "less", "greater"]))
    def test_unit_weights_are_the_ordinary_test(self, seed, alternative):
        rng = np.random.default_rng(seed)
        x, y = rng.normal(size=rng.integers(2, 30)), rng.normal(0.3, size=rng.integers(2, 30))
        ours = weighted_mannwhitneyu(x, y, alternative=alternative)
        theirs = mannwhitneyu(
            x, y, alternative=alternative, method="asymptotic", use_continuity=False
        )
        assert_allclose(ours.statistic, theirs.statistic, rtol=1e-12)
        assert_allclose(ours.pvalue, theirs.pvalue, rtol=1e-9)

    def test_statistic_by_loops_with_ties_and_weights(self):
        rng = np.random.default_rng(0)
        x, y = rng.integers(0, 5, 12).astype(float), rng.integers(0, 5, 9).astype(float)
        wx, wy = rng.uniform(size=12), rng.uniform(size=9)
        total = sum(
            a * b * ((p > q) + 0.5 * (p == q)) for p, a in zip(x, wx) for q, b in zip(y, wy)
        )
        assert_allclose(weighted_mannwhitneyu(x, y, wx, wy).statistic, total)

    def test_integer_weights_are_repetitions(self):
        x, y, wx = np.array([1.0, 5.0, 2.5]), np.array([2.0, 3.0]), np.array([2, 1, 3])
        a = weighted_mannwhitneyu(x, y, wx)
        b = weighted_mannwhitneyu(np.repeat(x, wx), y)
        assert_allclose(a, b)

    def test_importance_weights_are_density_ratios(self):
        rng = np.random.default_rng(0)
        S, growth = rng.normal(size=(5, 3)), np.array([0.2, -0.1, 0.0])
        expected = [
            multivariate_normal_log(s, np.exp(2 * growth)) - multivariate_normal_log(s, np.ones(3))
            for s in S
        ]
        assert_allclose(log_importance(S, growth), expected, rtol=1e-12)

    def test_no_evidence_shrinks_the_rate(self):
        ranks = np.arange(10.0)
        assert adapted_rate(0.5, 0.1, ranks, np.zeros(10), 10) == 0.9 * 0.5 + 0.1 * 0.1
        good = np.where(ranks < 3, 1.0, -3.0)  # the best are more likely under the faster rate
        assert_allclose(adapted_rate(0.5, 0.1, ranks, good, 10), 0.55)
        assert adapted_rate(0.99, 0.1, ranks, good, 10) == 1.0
        # weights that vanish are no evidence either
        assert adapted_rate(0.5, 0.1, ranks, np.full(10, -1e9), 10) == 0.9 * 0.5 + 0.1 * 0.1

    def test_errors(self):
        for bad, words in (
            ({"wx": [1.0]}, "needs one weight"),
            ({"wx": [-1.0, 2.0]}, "not be negative"),
            ({"wx": [0.0, 0.0]}, "not all be zero"),
            ({"alternative": "more"}, "alternative must be one of"),
        ):
            with pytest.raises(ValueError, match=words):
                weighted_mannwhitneyu([1.0, 2.0], [3.0], **bad)
        with pytest.raises(ValueError, match="NaN"):
            weighted_mannwhitneyu([np.nan], [3.0])


def multivariate_normal_log(s, variances):
    return -0.5 * np.sum(np.log(2 * np.pi * variances) + s**2 / variances)


class TestDoublePole:
    def test_mechanics_conserve_energy_and_momentum(self):
        """Without friction and force; the Lagrangian of uniform rods hinged on a cart."""
        from octavo.search.evolution import double_pole as task

        def rates(t, state):
            out = np.empty(6)
            _derivatives(state, 0.0, out)
            return out

        def energy(state):
            x, v, *rest = state
            total = 0.5 * task.CART * v**2
            for k in range(2):
                angle, speed = rest[2 * k : 2 * k + 2]
                m, half = task.MASSES[k], task.HALF_LENGTHS[k]
                vx, vy = v + half * speed * np.cos(angle), -half * speed * np.sin(angle)
                total += 0.5 * m * (vx**2 + vy**2) + m * half**2 / 6 * speed**2
                total += m * task.GRAVITY * half * np.cos(angle)
            return total

        start = np.array([0.1, 0.3, 0.4, -0.5, -0.3, 0.8])
        path = solve_ivp(rates, (0, 0.3), start, rtol=1e-11, atol=1e-12)
        energies = np.array([energy(state) for state in path.y.T])
        # friction of the hinges, 2e-6 times squared speeds over 0.3 s, takes about 1e-4 at most
        assert abs(energies / energies[0] - 1).max() < 3e-4

    def test_upright_is_unstable_and_a_push_moves_the_cart(self):
        out = np.empty(6)
        _derivatives(np.array([0, 0, 0.1, 0, 0.1, 0.0]), 0.0, out)
        assert out[3] > 0
        assert out[5] > out[3]
        _derivatives(np.zeros(6), 1.0, out)
        assert out[1] > 0
        assert out[3] < 0

    def test_rows_and_single_controllers_agree(self):
        task = DoublePole(2, max_steps=500)
        W = np.random.default_rng(0).normal(size=(5, task.n_weights))
        assert_array_equal(task(W), [task(w) for w in W])
        with pytest.raises(ValueError, match="10 weights"):
            task(np.zeros(4))

    @pytest.mark.parametrize("method", ["xnes", "snes"])
    def test_solved(self, method):
        task = DoublePole()
        solved = minimize_nes(
            task, np.zeros(4), method=method, ftarget=-task.max_steps, vectorized=True,
            max_evals=5000, restarts=20, random_state=0,
        )  # fmt: skip
        assert solved.fun == -task.max_steps
        assert task(solved.x) == -task.max_steps


class TestInterface:
    def test_pickle_in_the_middle_of_a_search(self):
        search = run(XNES(np.ones(4), adapt=True, random_state=0), rosenbrock, 20)
        twin = pickle.loads(pickle.dumps(search))
        assert_array_equal(run(search, rosenbrock, 20).mean_, run(twin, rosenbrock, 20).mean_)

    @pytest.mark.parametrize("workers", [2, map])
    def test_workers_give_the_same_search(self, workers):
        options = {"max_evals": 200, "random_state": 0}
        alone = minimize_nes(rosen, np.zeros(3), **options)
        together = minimize_nes(rosen, np.zeros(3), workers=workers, **options)
        assert_array_equal(alone.x, together.x)
        assert alone.nfev == together.nfev >= 200

    def test_callback_stops(self):
        seen = []
        result = minimize_nes(
            sphere, np.ones(3), vectorized=True, random_state=0,
            callback=lambda search: seen.append(search.best_f_) or len(seen) == 5,
        )  # fmt: skip
        assert len(seen) == 5 == result.nit
        assert "callback" in result.message

    def test_ties_share_utilities(self):
        a = XNES(np.ones(3), random_state=0)
        X = a.ask()
        a.tell(X, np.zeros(len(X)))  # all equal: nothing is learnt
        assert_allclose(a.mean_, 1.0, atol=1e-15)
        assert_allclose(a.cov_, np.eye(3), atol=1e-15)

    def test_a_function_without_minimum_ends_the_run(self):
        result = minimize_nes(lambda X: X[:, 0], np.ones(3), vectorized=True, random_state=0)
        assert "beyond all bounds" in result.message
        assert not result.success

    def test_plateau_ends_the_run(self):
        result = minimize_nes(lambda X: np.ones(len(X)), np.ones(3), vectorized=True)
        assert "equal" in result.message
        assert not result.success
        assert result.nit == 10

    def test_auto_chooses_by_dimension(self):
        few = minimize_nes(sphere, np.ones(3), max_evals=10, vectorized=True)
        many = minimize_nes(sphere, np.ones(101), max_evals=10, vectorized=True)
        assert np.ndim(few.sigma) == 0
        assert np.ndim(many.sigma) == 1

    def test_one_dimension(self):
        result = minimize_nes(lambda x: abs(x[0] - 2), [0.0], ftarget=1e-8, random_state=0)
        assert_allclose(result.x, 2, atol=1e-7)

    def test_search_cv_tunes(self):
        X, y = load_iris(return_X_y=True)
        space = {"C": (1e-3, 1e3, "log"), "gamma": (1e-6, 1e2, "log")}
        tuned = NESSearchCV(SVC(), space, n_generations=6, random_state=0).fit(X, y)
        assert tuned.best_score_ >= 0.96
        assert all(1e-3 <= params["C"] <= 1e3 for params in tuned.cv_results_["params"])
        assert len(tuned.cv_results_["params"]) == tuned.search_.n_evals_
        for bad in ({"C": (1.0, 1.0)}, {"C": (0.0, 1.0, "log")}, {"C": (0, 1, 2, 3)}, {}):
            with pytest.raises(ValueError, match="param_space"):
                NESSearchCV(SVC(), bad).fit(X, y)


class TestBadInput:
    @pytest.mark.parametrize("kind", [XNES, SNES, SearchGradient, CanonicalNES, RadialNES])
    def test_start(self, kind):
        with pytest.raises(ValueError, match="finite"):
            kind([0.0, np.nan])
        with pytest.raises(ValueError, match="vector"):
            kind(np.zeros((2, 2)))
        with pytest.raises(ValueError, match="at least 4"):
            kind([0.0, 1.0], popsize=3)
        with pytest.raises(ValueError, match="sigma0"):
            kind([0.0, 1.0], sigma0=-1.0)

    def test_told(self):
        search = XNES(np.zeros(2))
        X = search.ask()
        with pytest.raises(ValueError, match="shape"):
            search.tell(X[:, :1], np.zeros(len(X)))
        with pytest.raises(ValueError, match="one value"):
            search.tell(X, np.zeros(2))
        with pytest.raises(ValueError, match="NaN"):
            search.tell(X, np.full(len(X), np.nan))
        with pytest.raises(ValueError, match="At least 2"):
            search.tell(X[:1], [0.0])
        assert search.n_evals_ == 0
        assert_array_equal(search.mean_, 0.0)

    def test_options(self):
        for bad in (
            {"method": "cma"}, {"restarts": -1}, {"max_evals": 0}, {"popsize_growth": 0.5},
            {"lr_B": 0.1, "method": "snes"}, {"utilities": "rank"}, {"lr_sigma": 0.0},
        ):  # fmt: skip
            with pytest.raises(ValueError, match=next(iter(bad))):
                minimize_nes(sphere, np.zeros(2), **bad)
        with pytest.raises(ValueError, match="exponential"):
            XNES(np.zeros(2), adapt=True, update="linear")
        with pytest.raises(ValueError, match="positive definite"):
            XNES(np.zeros(2), cov0=-np.eye(2))
        with pytest.raises(ValueError, match="increase"):
            XNES(np.zeros(2), popsize=4, utilities=[0, 0, 0, 1.0])
        with pytest.raises(ValueError, match="values for"):
            minimize_nes(lambda X: [1.0], np.zeros(2), vectorized=True)

    def test_infinite_values_rank_last(self):
        a, b = (XNES(np.ones(3), random_state=0) for _ in range(2))
        X = a.ask()
        f = sphere(X)
        worst = np.argmax(f)
        for search, value in ((a, np.inf), (b, np.nan)):
            f[worst] = value
            search.tell(X, f)
        assert_allclose(a.mean_, b.mean_, rtol=1e-12)
        assert np.isfinite(a.best_f_)


def test_proposals_outside_rank_by_value_and_then_by_distance():
    inside = np.array([[0.0], [1.0], [1.0], [1.0], [0.5]])
    X = np.array([[0.0], [3.0], [1.5], [2.0], [0.5]])  # three are projected onto the end at 1
    f = np.array([2.0, 1.0, 1.0, 1.0, np.nan])
    assert projected_ranks(f, X, inside).tolist() == [3, 2, 0, 1, 4]


def test_close_proposals_end_a_search():
    found = minimize_nes(lambda x: float(x @ x), [1.0, 1.0], xtol=1e-2, random_state=0)
    assert found.message == "the proposals are closer together than xtol"
    assert np.abs(found.x).max() < 0.1
