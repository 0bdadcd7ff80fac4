"""Hidden binary features behind tables of numbers: collapsed Gibbs and variational inference.

X = Z A + noise with Z from an Indian buffet process and normal loadings A, after Griffiths and
Ghahramani (2011) and Doshi-Velez, Miller, Van Gael and Teh (2009), from which the categorical
model starts. The loadings are integrated out: given the other rows a row is normal around z μ,
with variance σ_x² (1 + z M zᵀ) + s σ_a² for s features of its own, which costs K² a candidate.
"""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from scipy.special import entr
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils.validation import check_is_fitted, validate_data

from octavo.bayes.buffet.chain import MOST_FEATURES
from octavo.bayes.buffet.patterns import listed, log_priors
from octavo.bayes.buffet.prior import harmonic, left_ordered, log_prob_of_counts
from octavo.bayes.buffet.variational import stick_bound, update_sticks
from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.doubles import check_squares
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.mcmc.chains import chain_generators, check_schedule
from octavo.engine.mcmc.compiled_draws import draw_state, draw_uniform
from octavo.engine.mcmc.diagnostics import effective_sample_size, split_rhat
from octavo.engine.smooth.em import climb, warn_unless_converged

__all__ = ["IBPLinearGaussian"]

POSITIVE = Interval(Real, 0, None, closed="neither")
COUNT = Interval(Integral, 1, None, closed="left")
TRIM_EVERY, TRIM_HEATS = 5, (5.0, 3.0, 2.0, 1.0, 1.0)  # in the second half of burn-in


@njit(cache=True, error_model="numpy")
def _move_row(z, x, K, sign, M, mu, a):
    """Add a row to the posterior of the loadings (sign 1) or take it out (-1): Sherman-Morrison."""
    s = 0.0
    for i in range(K):
        a[i] = 0.0
        for j in range(K):
            a[i] += M[i, j] * z[j]
        s += z[i] * a[i]
    w = sign / (1.0 + sign * s)  # 1 / (1 ± z M zᵀ)
    for d in range(x.size):
        gap = x[d]
        for i in range(K):
            gap -= z[i] * mu[i, d]
        for i in range(K):
            mu[i, d] += w * a[i] * gap
    for i in range(K):
        for j in range(K):
            M[i, j] -= w * a[i] * a[j]


@njit(cache=True, error_model="numpy")
def _log_row(z, x, K, M, mu, noise, extra):
    """Return log p(x) of a row with features z, given the other rows."""
    s = 1.0
    for i in range(K):
        if z[i] != 0.0:
            for j in range(K):
                s += M[i, j] * z[j]
    spread = noise * s + extra  # σ_x² (1 + z M zᵀ) + s σ_a²
    total = 0.0
    for d in range(x.size):
        gap = x[d]
        for i in range(K):
            if z[i] != 0.0:
                gap -= mu[i, d]
        total += gap * gap
    return -0.5 * (x.size * math.log(spread) + total / spread)


@njit(cache=True, error_model="numpy")
def _drop(Z, m, M, mu, k, last):
    """Put the last feature into the place of feature k."""
    for i in range(Z.shape[0]):
        Z[i, k] = Z[i, last]
        Z[i, last] = 0.0
    m[k] = m[last]
    for d in range(mu.shape[1]):
        mu[k, d] = mu[last, d]
    for i in range(last + 1):
        M[k, i] = M[last, i]
    for i in range(last + 1):
        M[i, k] = M[i, last]


@njit(cache=True, error_model="numpy")
def sweep_numbers(X, Z, m, K, M, mu, noise, prior, alpha, max_new, state, a, logs):
    """Draw the features of all rows; return how many there are.

    The features that only a row has count by their number while its other entries are drawn, and
    are then replaced.
    """
    N = X.shape[0]
    for n in range(N):
        x, z = X[n], Z[n]
        _move_row(z, x, K, -1.0, M, mu, a)
        s = 0
        for k in range(K - 1, -1, -1):
            if z[k] != 0.0:
                m[k] -= 1
            if m[k] == 0:
                s += 1
                _drop(Z, m, M, mu, k, K - 1)
                K -= 1
        for k in range(K):
            # m_{-n,k} / N against 1 - m_{-n,k} / N, Eq. (1)
            odds = math.log(m[k] / (N - m[k])) if m[k] < N else np.inf
            z[k] = 1.0
            one = _log_row(z, x, K, M, mu, noise, s * prior)
            z[k] = 0.0
            # the own features stay in `s`: without them this is no Gibbs step
            odds += one - _log_row(z, x, K, M, mu, noise, s * prior)
            u = draw_uniform(state)
            if math.log(u + 1e-300) - math.log1p(-u) < odds:
                z[k] = 1.0
                m[k] += 1
        most = min(max_new, Z.shape[1] - K)
        log_prior, top = 0.0, -np.inf
        for j in range(most + 1):
            if j > 0:
                # Poisson(α / N), one factor a feature
                log_prior += math.log(alpha / N) - math.log(float(j))
            logs[j] = log_prior + _log_row(z, x, K, M, mu, noise, j * prior)
            top = max(top, logs[j])
        total = 0.0
        for j in range(most + 1):
            logs[j] = math.exp(logs[j] - top)
            total += logs[j]
        left, new = draw_uniform(state) * total, 0
        while new < most and left >= logs[new]:
            left -= logs[new]
            new += 1
        for k in range(K, K + new):
            z[k] = 1.0
            m[k] = 1
            for i in range(K + new):
                # a new feature's prior, in units of the noise
                M[k, i] = prior / noise if i == k else 0.0
                M[i, k] = prior / noise if i == k else 0.0
            for d in range(x.size):
                mu[k, d] = 0.0
        K += new
        _move_row(z, x, K, 1.0, M, mu, a)
    return K


def gaussian_log_evidence(X: Any, Z: Any, sigma_x: float, sigma_a: float) -> float:
    """Return log p(X | Z), the loadings integrated out."""
    X, Z = np.asarray(X, dtype=np.float64), np.asarray(Z, dtype=np.float64)
    n, D = X.shape
    noise = sigma_x**2
    H = Z.T @ Z + noise / sigma_a**2 * np.eye(Z.shape[1])
    h = Z.T @ X
    fit = float((h * np.linalg.solve(H, h)).sum()) if Z.shape[1] else 0.0
    # |Zᵀ Z σ_a² / σ_x² + I|
    log_det = np.linalg.slogdet(H * sigma_a**2 / noise)[1] if Z.shape[1] else 0.0
    gap = max(float((X**2).sum()) - fit, 0.0)
    return -0.5 * (n * D * math.log(2 * math.pi * noise) + D * log_det + gap / noise)


class GaussianChain:
    """Features of rows of numbers; missing numbers are drawn with the loadings."""

    def __init__(self, X: Any, Z: Any, rng: np.random.Generator, options: dict[str, Any]) -> None:
        self.gaps = np.isnan(X)
        self.X, self.rng = np.where(self.gaps, 0.0, X), rng
        self.alpha, self.sample_alpha = float(options["alpha"]), options["sample_alpha"]
        self.sigma_x, self.sigma_a = float(options["sigma_x"]), float(options["sigma_a"])
        self.max_new, cap = int(options["max_new"]), max(options["max_features"], Z.shape[1])
        self.state, self.K = draw_state(rng), 0
        self.full = np.zeros((len(X), cap))
        Z = Z[:, Z.any(axis=0)]
        self.K = Z.shape[1]
        self.full[:, : self.K] = Z
        self.m = self.full.sum(axis=0).astype(np.int64)
        self.M, self.mu = np.zeros((cap, cap)), np.zeros((cap, X.shape[1]))
        self.rebuild()

    def rebuild(self) -> None:
        """Compute the posterior of the loadings anew."""
        K, Z = self.K, self.full[:, : self.K]
        # M = (Zᵀ Z + σ_x² / σ_a² I)⁻¹
        self.M[:K, :K] = np.linalg.inv(Z.T @ Z + (self.sigma_x / self.sigma_a) ** 2 * np.eye(K))
        self.mu[:K] = self.M[:K, :K] @ Z.T @ self.X

    def sweep(self, heat: float = 1.0) -> None:
        """Draw all features, then α and missing numbers where there are any.

        Above 1 `heat` multiplies the standard deviation of the noise while features are drawn.
        """
        cold = self.sigma_x
        if heat > 1.0:
            self.sigma_x = heat * cold
            self.rebuild()
        self.K = sweep_numbers(
            self.X, self.full, self.m, self.K, self.M, self.mu, self.sigma_x**2, self.sigma_a**2,
            self.alpha, self.max_new, self.state, np.empty(self.full.shape[1]),
            np.empty(self.max_new + 1),
        )  # fmt: skip
        self.sigma_x = cold
        self.rebuild()
        if self.gaps.any():
            K, noise = self.K, self.rng.standard_normal((self.K, self.X.shape[1]))
            root = np.linalg.cholesky(self.M[:K, :K]) if K else np.zeros((0, 0))
            # loadings given all rows: N(μ, σ_x² M) a column
            A = self.mu[:K] + self.sigma_x * root @ noise
            drawn = self.full[:, :K] @ A + self.sigma_x * self.rng.standard_normal(self.X.shape)
            self.X[self.gaps] = drawn[self.gaps]
            self.rebuild()
        if self.sample_alpha:
            # α | K_+ ~ Γ(1 + K_+, 1 + H_N)
            self.alpha = self.rng.gamma(1.0 + self.K) / (1.0 + harmonic(len(self.X)))

    def trim(self) -> None:
        """Leave out each feature in turn, sweep, and take what has the larger p(X, Z).

        Not a step of the chain: for sweeps that are thrown away.
        """
        for k in range(self.K - 1, -1, -1):
            if k >= self.K:
                continue
            before = self.log_evidence + self.log_prior
            state = self.full.copy(), self.m.copy(), self.K, self.X.copy(), self.alpha
            self.full[:, k : self.K] = np.c_[self.full[:, k + 1 : self.K], np.zeros(len(self.X))]
            self.m = self.full.sum(axis=0).astype(np.int64)
            self.K -= 1
            self.rebuild()
            for heat in TRIM_HEATS:
                self.sweep(heat)
            if self.log_evidence + self.log_prior < before:
                self.full, self.m, self.K, self.X, self.alpha = state
                self.rebuild()

    @property
    def Z(self) -> Any:
        """The features as a binary matrix."""
        return self.full[:, : self.K].astype(np.int8)

    @property
    def log_evidence(self) -> float:
        """log p(X | Z), missing numbers as drawn."""
        return gaussian_log_evidence(self.X, self.Z, self.sigma_x, self.sigma_a)

    @property
    def log_prior(self) -> float:
        """The log-probability of the class of Z."""
        return log_prob_of_counts(self.Z, self.m[: self.K], len(self.X), self.alpha)


class _Bound:
    """The variational iteration in the form that `climb` takes: q is (nu, sticks, phi, s2)."""

    def __init__(self, X: Any, alpha: float, noise: float, prior: float) -> None:
        self.here = ~np.isnan(X)
        self.X = np.where(self.here, X, 0.0)
        self.alpha, self.noise, self.prior = alpha, noise, prior

    def expect(self, q: Any) -> tuple[float, Any]:
        nu, sticks, phi, s2 = q
        nu = nu.copy()
        prior, W = sticks.log_on - sticks.log_off, self.here.astype(np.float64)
        rest = (self.X - nu @ phi) * W
        for k in range(nu.shape[1]):
            rest += np.outer(nu[:, k], phi[k]) * W
            # E log p(x | ν) with feature k on, less that with it off
            score = prior[k] + (rest @ phi[k] - 0.5 * (W @ (s2[k] + phi[k] ** 2))) / self.noise
            nu[:, k] = 1.0 / (1.0 + np.exp(-np.clip(score, -700, 700)))
            rest -= np.outer(nu[:, k], phi[k]) * W
        # Var(Σ_k z_k a_k): E z a² - (E z a)², independent under q
        spread = (W.T @ nu) * (s2 + phi**2).T - (W.T @ nu**2) * (phi**2).T
        total = -0.5 * (W.sum() * math.log(2 * math.pi * self.noise))
        total -= 0.5 * float((rest**2).sum() + spread.sum()) / self.noise
        total += 0.5 * float((np.log(s2 / self.prior) + 1.0 - (s2 + phi**2) / self.prior).sum())
        total += float(entr(nu).sum() + entr(1.0 - nu).sum())
        total += stick_bound(sticks, nu.sum(axis=0), len(nu), self.alpha)
        return total, (nu, sticks, phi, s2)

    def maximize(self, _: Any, q: Any) -> Any:
        nu, sticks, phi, s2 = q
        sticks = update_sticks(sticks.tau, nu.sum(axis=0), len(nu), self.alpha)
        phi, W = phi.copy(), self.here.astype(np.float64)
        # q(A): the precision of each loading, its entries independent
        s2 = 1.0 / (1.0 / self.prior + (nu.T @ W) / self.noise)
        rest = (self.X - nu @ phi) * W
        for k in range(nu.shape[1]):
            rest += np.outer(nu[:, k], phi[k]) * W
            phi[k] = s2[k] * (nu[:, k] @ rest) / self.noise
            rest -= np.outer(nu[:, k], phi[k]) * W
        return nu, sticks, phi, s2


class IBPLinearGaussian(
    CallbackSupportMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, SoundEstimator
):
    """Binary hidden features behind numbers, their number unknown: X = Z A + noise.

    Parameters
    ----------
    alpha : float, default=1.0
        Mass of the buffet: expected number of features of a row.
    sigma_x : float, default=1.0
        Standard deviation of the noise, in units of X.
    sigma_a : float, default=1.0
        Standard deviation of the loadings, in units of X.
    sample_alpha : bool, default=False
        Draw alpha too, with a Gamma(1, 1) prior (sampler only).
    max_features : int, default=25
        Most features; the truncation of the variational engine.
    n_iter : int, default=500
        Number of sweeps, or most iterations.
    burn_in : int, default=200
        Sweeps that are thrown away.
    thin : int, default=1
        Every so many sweeps are kept.
    n_chains : int, default=1
        Number of chains; the best state of all is kept.
    k_init : int, default=1
        Number of features at the start, each of a row with probability one half.
    max_new : int, default=4
        Most new features that a row is offered at a time.
    tol : float, default=1e-6
        Relative rise of the bound at which the variational engine stops.
    engine : {"gibbs", "variational"}, default="gibbs"
        The collapsed sampler, or the truncated bound.
    n_init : int, default=5
        Random starts of the variational engine, of which the best bound is kept.
    random_state : int, RandomState instance or None, default=None
        Seeds everything.

    Attributes
    ----------
    Z_ : ndarray of int of shape (n_samples, n_features_)
        Features of the draw of largest p(X, Z), or those of probability above one half.
    loadings_ : ndarray of shape (n_features_, n_columns)
        Posterior mean of A given `Z_`.
    n_features_ : int
        Number of features.
    feature_probs_ : ndarray of shape (n_features_,)
        Share of rows with each feature.
    k_draws_ : ndarray of shape (n_draws,)
        Number of features of each draw that is kept (sampler).
    log_evidences_ : ndarray of shape (n_chains * n_iter,)
        log p(X | Z) after each sweep (sampler).
    alpha_draws_ : ndarray of shape (n_draws,)
        Mass of each draw (sampler).
    rhat_, ess_ : float
        Split R-hat and effective number of draws of the log evidence (sampler).
    lower_bound_ : float
        The bound (variational).
    lower_bounds_ : ndarray of shape (n_iter_ + 1,)
        The bound at the start and after each iteration (variational).
    n_iter_ : int
        Number of sweeps or iterations.
    n_features_in_ : int
        Number of columns.

    See Also
    --------
    IBPCategorical : The same for answers.

    Notes
    -----
    Where noise is small, entries that are drawn one by one do not leave the first explanation they
    find. Hence in the first half of `burn_in` the noise of the sampler falls from the size of X to
    `sigma_x`, and in the second each feature is left out now and then, to see whether what the
    sweeps make of the others is more probable. All that is kept is drawn by plain sweeps.

    There is no bias: centre X, or let a feature that all rows have take its place. Missing numbers
    (NaN) are drawn by the sampler and left out of the bound. When *not* to use it: where features
    are graded rather than on or off, use `sklearn.decomposition.FactorAnalysis`.

    References
    ----------
    .. [1] T. L. Griffiths and Z. Ghahramani (2011). The Indian Buffet Process: An Introduction and
       Review. JMLR 12.
    .. [2] F. Doshi-Velez, K. T. Miller, J. Van Gael and Y. W. Teh (2009). Variational Inference
       for the Indian Buffet Process. AISTATS.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.bayes import IBPLinearGaussian
    >>> rng = np.random.RandomState(0)
    >>> Z = rng.randint(0, 2, (100, 2))
    >>> X = Z @ rng.normal(0, 3, (2, 8)) + 0.5 * rng.normal(size=(100, 8))
    >>> model = IBPLinearGaussian(sigma_x=0.5, sigma_a=3.0, n_iter=60, burn_in=30, random_state=0)
    >>> model.fit(X).n_features_
    2
    """

    _parameter_constraints: dict[str, Any] = {
        "alpha": [POSITIVE],
        "sigma_x": [POSITIVE],
        "sigma_a": [POSITIVE],
        "sample_alpha": ["boolean"],
        "max_features": [Interval(Integral, 1, MOST_FEATURES, closed="both")],
        "n_iter": [COUNT],
        "burn_in": [Interval(Integral, 0, None, closed="left")],
        "thin": [COUNT],
        "n_chains": [COUNT],
        "k_init": [Interval(Integral, 0, MOST_FEATURES, closed="both")],
        "max_new": [COUNT],
        "tol": [Interval(Real, 0, None, closed="left")],
        "engine": [StrOptions({"gibbs", "variational"})],
        "n_init": [COUNT],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        alpha=1.0,
        sigma_x=1.0,
        sigma_a=1.0,
        sample_alpha=False,
        max_features=25,
        n_iter=500,
        burn_in=200,
        thin=1,
        n_chains=1,
        k_init=1,
        max_new=4,
        tol=1e-6,
        engine="gibbs",
        n_init=5,
        random_state=None,
    ):
        self.alpha = alpha
        self.sigma_x = sigma_x
        self.sigma_a = sigma_a
        self.sample_alpha = sample_alpha
        self.max_features = max_features
        self.n_iter = n_iter
        self.burn_in = burn_in
        self.thin = thin
        self.n_chains = n_chains
        self.k_init = k_init
        self.max_new = max_new
        self.tol = tol
        self.engine = engine
        self.n_init = n_init
        self.random_state = random_state

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the features.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_columns)
            Numbers; NaN where missing.
        y : None
            Ignored.

        Returns
        -------
        self : IBPLinearGaussian
            Fitted.
        """
        X = validate_data(
            self, X, dtype=np.float64, ensure_all_finite="allow-nan", ensure_min_samples=2
        )
        check_squares(np.nan_to_num(X))
        Z, filled = self._fit_gibbs(X) if self.engine == "gibbs" else self._fit_variational(X)
        Z = left_ordered(Z[:, Z.any(axis=0)])
        self.Z_ = np.ascontiguousarray(Z[:, np.argsort(-Z.sum(axis=0), kind="stable")])
        self.n_features_ = self._n_features_out = self.Z_.shape[1]
        self.feature_probs_ = self.Z_.mean(axis=0)
        # features of the buffet's next row: m_k / (N + 1)
        self._shares = self.Z_.sum(axis=0) / (len(X) + 1.0)
        ridge = (self.sigma_x / self.sigma_a) ** 2 * np.eye(self.n_features_)
        full = self.Z_.astype(np.float64)
        self._cov = np.linalg.inv(full.T @ full + ridge)
        self.loadings_ = self._cov @ full.T @ filled
        return self

    def _fit_gibbs(self, X: Floats) -> tuple[Any, Floats]:
        schedule = check_schedule(self.n_iter, self.burn_in, self.thin)
        best, found, logs, kept = -np.inf, None, [], []
        spread = math.sqrt(float(np.nanmean(X**2))) if not np.isnan(X).all() else 0.0
        hottest = max(spread / self.sigma_x, 1.0) if self.burn_in else 1.0
        with FitProgress(self, self.n_iter * self.n_chains, X, step_name="sweep") as progress:
            for rng in chain_generators(self.random_state, self.n_chains):
                Z = rng.integers(0, 2, (len(X), min(self.k_init, self.max_features)))
                chain, mine = GaussianChain(X, Z, rng, self.get_params()), []
                for t in range(self.n_iter):
                    # tempered at first: noise as large as the data, cooled over half the burn-in
                    chain.sweep(hottest ** max(0.0, 1.0 - 2.0 * t / max(self.burn_in, 1)))
                    if self.burn_in // 2 <= t < self.burn_in and t % TRIM_EVERY == 0:
                        chain.trim()
                    logs.append(chain.log_evidence)
                    stop = progress.step()
                    if schedule.keeps(t) or stop:
                        mine.append((chain.K, chain.alpha, logs[-1]))
                        value = logs[-1] + chain.log_prior
                        if found is None or value > best:
                            best, found = value, (chain.Z, chain.X.copy())
                    if stop:
                        break
                kept.append(np.array(mine))
        self.log_evidences_ = np.array(logs)
        self.k_draws_ = np.concatenate([one[:, 0] for one in kept]).astype(np.int64)
        self.alpha_draws_ = np.concatenate([one[:, 1] for one in kept])
        shortest = min(len(one) for one in kept)
        draws = np.array([one[:shortest, 2] for one in kept])
        good = shortest >= 4 and np.ptp(draws) > 0
        self.rhat_ = float(split_rhat(draws)) if good else np.nan
        self.ess_ = float(effective_sample_size(draws)) if good else np.nan
        self.n_iter_ = len(logs) // self.n_chains
        assert found is not None
        return found

    def _fit_variational(self, X: Floats) -> tuple[Any, Floats]:
        model = _Bound(X, self.alpha, self.sigma_x**2, self.sigma_a**2)
        n, D = X.shape
        K, best = self.max_features, None
        with FitProgress(self, self.n_iter * self.n_init, X) as progress:
            for rng in chain_generators(self.random_state, self.n_init):
                nu = rng.random((n, K))  # features start apart: equal ones would stay equal
                tau = np.c_[np.full(K, float(self.alpha)), np.ones(K)]
                sticks = update_sticks(tau, nu.sum(axis=0), n, self.alpha)
                phi = rng.normal(0.0, 0.1 * self.sigma_a, (K, D))
                start = nu, sticks, phi, np.full((K, D), 0.1 * self.sigma_a**2)
                run = climb(
                    model.expect,
                    model.maximize,
                    start,
                    max_iter=self.n_iter,
                    tol=self.tol,
                    progress=progress,
                )
                if best is None or run.objective > best.objective:
                    best = run
        assert best is not None
        warn_unless_converged(best, self, max_iter=self.n_iter, tol=self.tol)
        self.lower_bounds_, self.lower_bound_ = best.trace, best.objective
        self.n_iter_ = best.n_iter
        nu, _, phi, _ = best.expectations
        return (nu > 0.5).astype(np.int8), np.where(np.isnan(X), nu @ phi, X)

    def transform(self, X: Any) -> Floats:
        """Return the probability of each feature of new rows, the loadings as in fit.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_columns)
            Numbers; NaN where missing.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_features_)
            P(z = 1); a row without numbers has the prior.
        """
        patterns, joint = self._joint(X)
        top = joint.max(axis=1, keepdims=True)
        part = np.exp(joint - top)
        return part @ patterns / part.sum(axis=1, keepdims=True)

    def _joint(self, X: Any) -> tuple[Any, Floats]:
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False)
        check_squares(np.nan_to_num(X))
        patterns = listed(self.n_features_, self.Z_).astype(np.float64)
        here = ~np.isnan(X)
        filled = np.where(here, X, 0.0)
        # the loadings' posterior variance at a pattern
        spread = self.sigma_x**2 * (1.0 + np.einsum("pk,kl,pl->p", patterns, self._cov, patterns))
        mean = patterns @ self.loadings_
        square = (filled**2).sum(axis=1)[:, None] - 2.0 * filled @ mean.T
        square = np.maximum(square + here @ (mean**2).T, 0.0)
        like = -0.5 * (square / spread + here.sum(axis=1)[:, None] * np.log(2 * np.pi * spread))
        return patterns, like + log_priors(patterns, self._shares)

    def score_samples(self, X: Any) -> Floats:
        """Return the predictive log-density of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_columns)
            Numbers; NaN where missing.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
            Summed over features.
        """
        _, joint = self._joint(X)
        top = joint.max(axis=1)
        return top + np.log(np.exp(joint - top[:, None]).sum(axis=1))

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean predictive log-density of rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_columns)
            Numbers.
        y : None
            Ignored.

        Returns
        -------
        score : float
            Larger is better.
        """
        return float(np.mean(self.score_samples(X)))

    def impute(self, X: Any) -> Floats:
        """Return a table whose missing numbers are their means given the others of the row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_columns)
            Numbers; NaN where missing.

        Returns
        -------
        filled : ndarray of shape (n_samples, n_columns)
            Without NaN.
        """
        means = self.transform(X) @ self.loadings_
        X = np.array(X, dtype=np.float64)
        return np.where(np.isnan(X), means, X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _warmup() -> None:
    rng = np.random.default_rng(0)
    options = {"alpha": 1.0, "sigma_x": 1.0, "sigma_a": 1.0, "sample_alpha": False}
    options |= {"max_features": 3, "max_new": 2}
    GaussianChain(np.zeros((2, 1)), np.ones((2, 1)), rng, options).sweep()
