"""CSLIM: sparse factors that are smooth functions of time, with missing entries.

Section 3.4 of Henao and Winther (2011), Eqs. (8) and (9), and Appendices A.3 and A.5.
"""

from __future__ import annotations

import math
from numbers import Integral
from typing import Any, Self

import numpy as np
from scipy.special import logsumexp
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils.validation import check_array, check_is_fitted

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.mcmc.chains import chain_generators
from octavo.engine.mcmc.compiled_draws import draw_state
from octavo.graphical.causal_orders.gaussian_processes import SmoothFunction, draw_kappa
from octavo.graphical.causal_orders.model import Chain, factor_chain
from octavo.graphical.causal_orders.posterior import (
    check_table,
    diagnostics,
    match_factors,
    standardized,
    summary,
    thinned,
)

__all__ = ["CSLIM"]

FIRST_RATE = 0.02  # the prior mean of υ at the prior mean of κ


class SmoothChain:
    """A chain of the factor model whose factors are smooth in time."""

    def __init__(self, chain: Chain, times: Floats, rng: np.random.Generator) -> None:
        self.chain, self.rng, self.kappa = chain, rng, 100.0
        self.functions = [SmoothFunction(times, FIRST_RATE) for _ in chain.Z]
        self.state = draw_state(rng)

    def start(self) -> None:
        """Leave zero."""
        self.chain.start(self.rng)
        for j, function in enumerate(self.functions):
            function.draw_prior(self.rng)
            self.chain.Z[j] = function.values

    def sweep(self) -> Floats:
        """Change the whole state once; return the means of missing entries."""
        chain, rng = self.chain, self.rng
        E = chain.X - chain.W @ chain.Z
        for j, function in enumerate(self.functions):
            c = chain.W[:, j]
            E += np.outer(c, chain.Z[j])
            # Eq. (8): signal and precision of z_j from all rows
            function.draw((c / chain.psi) @ E, float(np.sum(c * c / chain.psi)), self.kappa, rng)
            chain.Z[j] = function.values
            E -= np.outer(c, chain.Z[j])
        self.kappa = draw_kappa([f.rate for f in self.functions], rng)
        chain.draw_loadings(self.state)
        i, n = chain.missing.T
        means = np.einsum("ej,je->e", chain.W[i], chain.Z[:, n])
        chain.X[i, n] = means + np.sqrt(chain.psi[i]) * rng.standard_normal(i.size)
        return means


class CSLIM(CallbackSupportMixin, SoundEstimator):
    """Factor analysis of series, with factors that are smooth in time.

    x(t) = C z(t) + ε with a spike and a slab on every loading and a Gaussian process on every
    factor, whose length scales are drawn too. Different length scales make the model identifiable.

    Parameters
    ----------
    n_components : int, default=2
        Number of factors.
    times : array-like of shape (n_samples,), optional
        Times of the rows; by default their numbers.
    mask : array-like of bool of shape (d, n_components), optional
        Which loadings may differ from zero, where that is known.
    n_samples, burn_in : int, default=2000, 1000
        Sweeps that are kept, and those before; the paper takes 6000 and 2000.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, d)
        Medians of the loadings in the data's units, after matching the factors of all draws.
    inclusion_prob_ : ndarray of shape (n_components, d)
        Posterior probabilities that loadings are not zero.
    factors_ : ndarray of shape (n_samples, n_components)
        Posterior means of the factors at the times.
    length_rates_ : ndarray of shape (n_components,)
        Medians of υ, per squared mean distance of times.
    imputed_ : ndarray of shape (n_samples, d)
        The data with posterior means for NaN.
    noise_variance_ : ndarray of shape (d,)
        Medians of the noise variances.
    acceptance_ : float
        Rate at which length scales were accepted.
    mean_, scale_ : ndarray of shape (d,)
        Means and standard deviations of the observed entries.
    rhat_, ess_ : ndarray of shape (d,)
        Split R-hat and effective sizes of the noise variances.
    n_features_in_ : int
        Number of columns.

    References
    ----------
    R. Henao and O. Winther (2011), "Sparse linear identifiable multivariate modeling", JMLR 12,
    section 3.4.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.graphical import CSLIM
    >>> t, rng = np.arange(40), np.random.default_rng(0)
    >>> Z = np.column_stack([np.sin(t / 3), np.cos(t / 8)])
    >>> full = Z @ rng.standard_normal((2, 6)) + 0.1 * rng.standard_normal((40, 6))
    >>> X = full.copy()
    >>> X[5:9, 2] = np.nan
    >>> model = CSLIM(2, n_samples=100, burn_in=100, random_state=0).fit(X)
    >>> bool(np.abs(model.imputed_ - full).max() < 1)
    True
    """

    _parameter_constraints: dict = {
        "n_components": [Interval(Integral, 1, 10**4, closed="both")],
        "times": ["array-like", None],
        "mask": ["array-like", None],
        "n_samples": [Interval(Integral, 1, 10**6, closed="both")],
        "burn_in": [Interval(Integral, 0, 10**6, closed="both")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        times: Any = None,
        mask: Any = None,
        n_samples: int = 2000,
        burn_in: int = 1000,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.times = times
        self.mask = mask
        self.n_samples = n_samples
        self.burn_in = burn_in
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw from the posterior.

        Parameters
        ----------
        X : array-like of shape (n_samples, d)
            A series per column; NaN where an entry is missing.
        y : None
            Ignored.

        Returns
        -------
        self : CSLIM
            Fitted.
        """
        X = check_table(self, X, allow_nan=True)
        times, mask = self._times(len(X)), self._mask(X.shape[1])
        scaled = standardized(X)
        self.mean_, self.scale_ = scaled.mean, scaled.scale
        (rng,) = chain_generators(self.random_state, 1)
        chain = factor_chain(
            scaled.X.T.copy(), self.n_components, mask=mask, missing=scaled.missing[:, ::-1]
        )
        smooth = SmoothChain(chain, times, rng)
        smooth.start()
        kept = []
        with FitProgress(self, self.burn_in + self.n_samples, X, step_name="sweep") as progress:
            for sweep in range(self.burn_in + self.n_samples):
                means = smooth.sweep()
                progress.step()
                if sweep >= self.burn_in:
                    rates = np.array([f.rate for f in smooth.functions])
                    state = (chain.W, chain.Q, chain.psi, chain.Z, rates, means)
                    kept.append([np.array(part) for part in state])
        self._summarize(kept, scaled.missing, X)
        proposed = sum(f.n_proposed for f in smooth.functions)
        self.acceptance_ = sum(f.n_accepted for f in smooth.functions) / proposed
        return self

    def _times(self, n: int) -> Floats:
        if self.times is None:
            return np.arange(n, dtype=np.float64)
        times = check_array(self.times, ensure_2d=False, dtype=np.float64)
        if times.shape != (n,) or np.ptp(times) == 0.0:
            raise ValueError(
                f"times must hold {n} numbers, one for each row and not all equal; got the shape "
                f"{times.shape}."
            )
        return (times - times.min()) / np.ptp(times) * (n - 1)  # mean distance one

    def _mask(self, d: int) -> Any:
        if self.mask is None:
            return None
        mask = np.asarray(self.mask, dtype=bool)
        if mask.shape != (d, self.n_components):
            raise ValueError(
                f"mask must have the shape ({d}, {self.n_components}), variables by factors; got "
                f"{mask.shape}."
            )
        return mask

    def _summarize(self, kept: list[Any], missing: Any, X: Floats) -> None:
        W, Q, psi, Z, rates, means = (np.array(part) for part in zip(*kept, strict=True))
        few = thinned(len(W))
        matched, places = match_factors(W[few])
        self.components_ = summary(matched)[0].T * self.scale_
        rows = np.arange(W.shape[1])[:, None]
        inside = [q[rows, p] for q, p in zip(Q[few], places, strict=True)]
        self.inclusion_prob_ = np.mean(inside, axis=0).T
        pairs = zip(W[few], matched, places, Z[few], strict=True)
        turned = [
            z[p] * np.where(np.sum(w[:, p] * m, axis=0) < 0.0, -1.0, 1.0)[:, None]
            for w, m, p, z in pairs
        ]
        self.factors_ = np.mean(turned, axis=0).T
        self.length_rates_ = np.median(
            [rate[p] for rate, p in zip(rates[few], places, strict=True)], axis=0
        )
        self.noise_variance_ = np.median(psi, axis=0) * self.scale_**2
        self.rhat_, self.ess_ = diagnostics([psi])
        self.imputed_ = X.copy()
        i, j = missing.T
        self.imputed_[i, j] = means.mean(axis=0) * self.scale_[j] + self.mean_[j]
        self._missing, self._means, self._psi = missing, means, psi

    def missing_log_density(self, X: Any, *, per_draw: bool = False) -> Any:
        """Return the log predictive density of entries that were missing, now that they are known.

        Parameters
        ----------
        X : array-like of shape (n_samples, d)
            The data of `fit` with its NaN filled in.
        per_draw : bool, default=False
            Return the sum over entries for each draw; the paper takes their median.

        Returns
        -------
        log_density : float or ndarray of shape (n_draws,)
            The sum over entries of log densities averaged over draws, or one sum per draw.
        """
        check_is_fitted(self)
        X = check_array(X, dtype=np.float64)
        if X.shape != self.imputed_.shape:
            raise ValueError(f"X must have the shape {self.imputed_.shape} of fit; got {X.shape}.")
        if not len(self._missing):
            raise ValueError("No entry was missing in fit: remove some, and fit again.")
        i, j = self._missing.T
        values = (X[i, j] - self.mean_[j]) / self.scale_[j]
        variances = self._psi[:, j]
        logs = -0.5 * ((values - self._means) ** 2 / variances + np.log(2 * np.pi * variances))
        logs -= np.log(self.scale_[j])
        if per_draw:
            return logs.sum(axis=1)
        return float(np.sum(logsumexp(logs, axis=0) - math.log(len(logs))))
