"""Sparse Bayesian regression with a spike at zero and a normal slab.

Section 3.1 of Henao and Winther (2011), Eqs. (2) to (4), as a method of its own: a row of their
loading matrix.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils.validation import check_is_fitted, validate_data

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.mcmc.chains import chain_generators
from octavo.engine.mcmc.compiled_draws import draw_state
from octavo.graphical.causal_orders.model import Chain, chunks, join_draws, priors
from octavo.graphical.causal_orders.posterior import diagnostics, summary
from octavo.graphical.causal_orders.sources import FREE

__all__ = ["SpikeSlabRegression"]

LARGEST = 1e100  # squares and their sums are doubles


class SpikeSlabRegression(RegressorMixin, CallbackSupportMixin, SoundEstimator):
    """Linear regression whose coefficients are zero or not, with probabilities.

    y = Xw + noise, without an intercept and without rescaling. A coefficient is zero or has the
    law N(0, ψτ), with ψ the noise variance; draws by Gibbs sampling.

    Parameters
    ----------
    noise : float, optional
        The noise variance ψ; otherwise 1/ψ has a Gamma(20, 1) prior.
    slab : float, optional
        The factor τ; otherwise each coefficient has its own, 1/τ with a Gamma(2, 1) prior.
    inclusion : float, optional
        Prior probability that a coefficient is not zero; otherwise the two-level prior of Eq. (3).
    n_samples, burn_in : int, default=3000, 1000
        Sweeps that are kept, and those before.
    random_state : int, RandomState instance or None, default=None
        Seed.
    rate : float, default=0.5
        Prior mean β_m of the share of coefficients that may differ from zero, where `inclusion`
        is not given.
    levels : {1, 2}, default=2
        Levels of the prior: Eq. (2) or Eq. (3).
    n_chains : int, default=1
        Independent chains.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Posterior means.
    coef_median_ : ndarray of shape (n_features,)
        Posterior medians: zero where the spike has more than half of the probability.
    coef_interval_ : ndarray of shape (2, n_features)
        95 % credible intervals.
    inclusion_prob_ : ndarray of shape (n_features,)
        Posterior probabilities that coefficients are not zero.
    noise_ : float
        Posterior mean of the noise variance.
    coef_draws_ : ndarray of shape (n_chains * n_samples, n_features)
        All draws.
    rhat_, ess_ : ndarray of shape (n_features,)
        Split R-hat and effective sizes of the coefficients.
    n_features_in_ : int
        Number of columns.

    Notes
    -----
    A single-site sampler moves slowly between two columns that say the same; look at `rhat_` with
    several chains. The prior of the noise expects a response with a variance near one.

    References
    ----------
    R. Henao and O. Winther (2011), "Sparse linear identifiable multivariate modeling", JMLR 12,
    section 3.1.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.graphical import SpikeSlabRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 4))
    >>> y = 0.8 * X[:, 1] + 0.3 * rng.standard_normal(60)
    >>> model = SpikeSlabRegression(random_state=0).fit(X, y)
    >>> (model.inclusion_prob_ > 0.5).tolist(), model.coef_[1].round(1)
    ([False, True, False, False], np.float64(0.8))
    """

    _parameter_constraints: dict = {
        "noise": [Interval(Real, 0, None, closed="neither"), None],
        "slab": [Interval(Real, 0, None, closed="neither"), None],
        "inclusion": [Interval(Real, 0, 1, closed="neither"), None],
        "rate": [Interval(Real, 0, 1, closed="neither")],
        "levels": [Interval(Integral, 1, 2, closed="both")],
        "n_samples": [Interval(Integral, 1, 10**7, closed="both")],
        "burn_in": [Interval(Integral, 0, 10**7, closed="both")],
        "n_chains": [Interval(Integral, 1, 1000, closed="both")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        noise: float | None = None,
        slab: float | None = None,
        inclusion: float | None = None,
        n_samples: int = 3000,
        burn_in: int = 1000,
        random_state: Any = None,
        *,
        rate: float = 0.5,
        levels: int = 2,
        n_chains: int = 1,
    ) -> None:
        self.noise = noise
        self.slab = slab
        self.inclusion = inclusion
        self.n_samples = n_samples
        self.burn_in = burn_in
        self.random_state = random_state
        self.rate = rate
        self.levels = levels
        self.n_chains = n_chains

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Draw from the posterior.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Regressors.
        y : array-like of shape (n_samples,)
            Response.

        Returns
        -------
        self : SpikeSlabRegression
            Fitted.
        """
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        if max(np.abs(X).max(), np.abs(y).max()) > LARGEST:
            raise ValueError(f"X and y must be at most {LARGEST:g} in size; rescale them.")
        rngs = chain_generators(self.random_state, self.n_chains)
        n_steps = self.n_chains * len(chunks(self.n_samples) + chunks(self.burn_in))
        with FitProgress(self, n_steps, X, y, step_name="chunk of sweeps") as progress:
            chains = [self._chain(X, y, rng, progress.step) for rng in rngs]
        draws = join_draws(chains)
        W = self.coef_draws_ = draws.W[:, 0]
        self.coef_ = W.mean(axis=0)
        self.coef_median_, self.coef_interval_ = summary(W)
        self.inclusion_prob_ = draws.Q[:, 0].mean(axis=0)
        self.noise_ = float(draws.psi.mean())
        self.rhat_, self.ess_ = diagnostics([chain.W[:, 0] for chain in chains])
        return self

    def _chain(self, X: Floats, y: Floats, rng: np.random.Generator, report: Any) -> Any:
        hyper = priors(
            noise=self.noise, slab=self.slab, inclusion=self.inclusion, levels=self.levels
        )
        p = X.shape[1]
        chain = Chain(y[None], np.full((1, p), FREE), X.T, [], np.full(p, self.rate), hyper)
        chain.psi[:] = 0.05 if self.noise is None else self.noise
        chain.slab[:] = 1.0 if self.slab is None else 1.0 / self.slab
        chain.nu[:] = self.rate if self.inclusion is None else self.inclusion
        return chain.sample(self.n_samples, self.burn_in, draw_state(rng), report=report)

    def predict(self, X: Any) -> Floats:
        """Return posterior means of Xw.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Regressors.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Means, averaged over which coefficients are zero.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        return X @ self.coef_
