"""Sparse factor models with non-Gaussian factors, and the search for causal orders within them.

Sections 3.1 to 3.3 of Henao and Winther (2011).
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils.validation import check_is_fitted, validate_data

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.mcmc.chains import chain_generators
from octavo.engine.mcmc.compiled_draws import draw_state
from octavo.graphical.causal_orders.model import (
    NOISE_PRIOR,
    Draws,
    check_noise_prior,
    chunks,
    factor_chain,
    join_draws,
    source_law,
)
from octavo.graphical.causal_orders.orders import OrderCandidate, deterministic_order, rank_orders
from octavo.graphical.causal_orders.posterior import (
    check_table,
    diagnostics,
    match_factors,
    rescale,
    standardized,
    summary,
    thinned,
)
from octavo.graphical.causal_orders.predictive import draw_log_densities, log_mean
from octavo.graphical.causal_orders.sources import LAPLACE

__all__ = ["SLIMOrderSearch", "SparseFactorModel"]

N_PROPOSALS = 10  # section 5.1, step 2
PREDICTIVE_DRAWS = 300
MOST = 10**7

COMMON: dict = {
    "factor": [StrOptions({"laplace", "student", "cauchy", "gaussian"})],
    "degrees": [Interval(Real, 0, None, closed="neither")],
    "sparse": ["boolean"],
    "n_samples": [Interval(Integral, 1, MOST, closed="both")],
    "burn_in": [Interval(Integral, 0, MOST, closed="both")],
    "n_chains": [Interval(Integral, 1, 1000, closed="both")],
    "n_rep": [Interval(Integral, 1, 10**6, closed="both")],
    "noise_prior": [tuple, list],
    "random_state": ["random_state"],
}


class FactorFit(CallbackSupportMixin, SoundEstimator):
    """What factor models of the family share: chains, summaries and densities."""

    def _run(
        self,
        X: Floats,
        n_components: int,
        n_proposals: int,
        missing: bool,
        levels: int,
        driven: Any = None,
    ):
        """Run the chains on a standardised table and keep their summaries."""
        noise_prior = check_noise_prior(self.noise_prior)
        scaled = standardized(X)
        self.mean_, self.scale_ = scaled.mean, scaled.scale
        law = source_law(self.factor, self.degrees)
        self._laws = [law] * n_components
        rngs = chain_generators(self.random_state, self.n_chains)
        n_steps = self.n_chains * len(chunks(self.n_samples) + chunks(self.burn_in))
        chains: list[Draws] = []
        with FitProgress(self, n_steps, X, step_name="chunk of sweeps") as progress:
            for rng in rngs:
                chain = factor_chain(
                    scaled.X.T.copy(),
                    n_components,
                    law=law,
                    sparse=self.sparse,
                    levels=levels,
                    missing=scaled.missing[:, ::-1] if missing else None,
                    noise_prior=noise_prior,
                )
                chain.driven = driven
                chain.start(rng)
                chains.append(
                    chain.sample(
                        self.n_samples,
                        self.burn_in,
                        draw_state(rng),
                        n_proposals=n_proposals,
                        report=progress.step,
                    )
                )
        self._summarize(chains, scaled.missing if missing else scaled.missing[:0], X)
        return join_draws(chains)

    def _summarize(self, chains: list[Draws], missing: Any, X: Floats) -> None:
        draws = join_draws(chains)
        kept = thinned(len(draws.W))
        matched, places = match_factors(draws.W[kept])
        self.components_, interval = summary(matched)
        self.components_ = self.components_.T * self.scale_
        self.components_interval_ = interval.transpose(0, 2, 1) * self.scale_
        rows = np.arange(draws.W.shape[1])[:, None]
        inside = [q[rows, place] for q, place in zip(draws.Q[kept], places, strict=True)]
        self.inclusion_prob_ = np.mean(inside, axis=0).T
        self.noise_variance_ = np.median(draws.psi, axis=0) * self.scale_**2
        # Columns exchange their places between draws; the noise variances do not.
        self.rhat_, self.ess_ = diagnostics([chain.psi for chain in chains])
        self.n_iter_ = self.n_samples + self.burn_in
        few = thinned(len(draws.W), PREDICTIVE_DRAWS)
        self._W, self._psi = draws.W[few], draws.psi[few]
        if len(missing):
            self.imputed_ = X.copy()
            values = draws.missing.mean(axis=0)
            rows, columns = missing.T
            self.imputed_[rows, columns] = values * self.scale_[columns] + self.mean_[columns]

    def _log_densities(self, X: Floats, seed: int = 0) -> Floats:
        """Return log densities in the data's units; the scales have a seed of their own."""
        rng = np.random.RandomState(seed)
        draws = draw_log_densities(
            rescale(X, self.mean_, self.scale_), self._W, self._psi, self._laws, 0, self.n_rep, rng
        )
        return log_mean(draws) - np.log(self.scale_).sum()

    def score_samples(self, X: Any) -> Floats:
        """Return the log predictive density of rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, d)
            Rows in the data's units.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
            Averaged over posterior draws, factors integrated out.
        """
        check_is_fitted(self)
        return self._log_densities(validate_data(self, X, reset=False, dtype=np.float64))

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log predictive density of rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, d)
            Rows.
        y : None
            Ignored.

        Returns
        -------
        score : float
            Mean over rows.
        """
        return float(np.mean(self.score_samples(X)))


class SparseFactorModel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, FactorFit):
    """Factor analysis with loadings that are zero or not, and non-Gaussian factors.

    x = Cz + ε with a spike and a slab on every loading. Laplace's or Student's law of the factors
    makes C unique up to order, sign and scale of its columns, so that loadings can be read.

    Parameters
    ----------
    n_components : int, default=2
        Number of factors.
    factor : {"laplace", "student", "cauchy", "gaussian"}, default="laplace"
        Law of the factors. With "gaussian" only the span of the loadings is identified.
    degrees : float, default=5.0
        Degrees of freedom of "student".
    sparse : bool, default=True
        Spikes at zero; without them the paper's DENSE.
    levels : {1, 2}, default=2
        Levels of the prior of zeros: Eq. (2) or Eq. (3).
    missing : {"error", "sample"}, default="error"
        What to do with NaN: refuse, or draw the entries with everything else.
    n_samples, burn_in : int, default=10000, 5000
        Sweeps that are kept, and those before.
    n_chains : int, default=1
        Independent chains.
    n_rep : int, default=500
        Draws of the scales of factors in predictive densities.
    noise_prior : (float, float), default=(20.0, 1.0)
        Shape and rate of the Gamma law of 1/ψ, of standardised columns. The paper's holds the noise
        of n rows above about 1/(20 + n/2); (2.0, 0.01) allows much less.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, d)
        Medians of the loadings in the data's units, after matching the factors of all draws.
    components_interval_ : ndarray of shape (2, n_components, d)
        95 % credible intervals.
    inclusion_prob_ : ndarray of shape (n_components, d)
        Posterior probabilities that loadings are not zero.
    noise_variance_ : ndarray of shape (d,)
        Medians of the noise variances.
    mean_, scale_ : ndarray of shape (d,)
        Means and standard deviations of the columns.
    imputed_ : ndarray of shape (n_samples, d)
        The data with posterior means for NaN; only where there were any.
    rhat_, ess_ : ndarray of shape (d,)
        Split R-hat and effective sizes of the noise variances, which do not depend on the order of
        factors.
    n_iter_ : int
        Sweeps of each chain.
    n_features_in_ : int
        Number of columns.

    Notes
    -----
    Chains may stand at different local modes; compare their `score` where `rhat_` is above 1.05.

    References
    ----------
    R. Henao and O. Winther (2011), "Sparse linear identifiable multivariate modeling", JMLR 12.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.graphical import SparseFactorModel
    >>> rng = np.random.default_rng(0)
    >>> C = np.array([[1.0, 0], [1, 0], [1, 1], [0, 1], [0, 1]])
    >>> X = rng.laplace(size=(200, 2)) @ C.T + 0.2 * rng.standard_normal((200, 5))
    >>> model = SparseFactorModel(2, n_samples=500, burn_in=500, random_state=0).fit(X)
    >>> sorted((model.inclusion_prob_ > 0.9).sum(axis=1).tolist())
    [3, 3]
    """

    _parameter_constraints: dict = COMMON | {
        "n_components": [Interval(Integral, 1, 10**4, closed="both")],
        "levels": [Interval(Integral, 1, 2, closed="both")],
        "missing": [StrOptions({"error", "sample"})],
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        factor: str = "laplace",
        degrees: float = 5.0,
        sparse: bool = True,
        levels: int = 2,
        missing: str = "error",
        n_samples: int = 10000,
        burn_in: int = 5000,
        n_chains: int = 1,
        n_rep: int = 500,
        noise_prior: Any = NOISE_PRIOR,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.factor = factor
        self.degrees = degrees
        self.sparse = sparse
        self.levels = levels
        self.missing = missing
        self.n_samples = n_samples
        self.burn_in = burn_in
        self.n_chains = n_chains
        self.n_rep = n_rep
        self.noise_prior = noise_prior
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "sample"
        return tags

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw from the posterior.

        Parameters
        ----------
        X : array-like of shape (n_samples, d)
            Rows.
        y : None
            Ignored.

        Returns
        -------
        self : SparseFactorModel
            Fitted.
        """
        X = check_table(self, X, allow_nan=self.missing == "sample")
        self._run(X, self.n_components, 0, self.missing == "sample", self.levels)
        return self

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def transform(self, X: Any) -> Floats:
        """Return the factors of rows: their best linear predictor at the medians.

        Parameters
        ----------
        X : array-like of shape (n_samples, d)
            Rows; NaN where ``missing="sample"``.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_components)
            Factors, with their prior variance (one where the law has none).
        """
        check_is_fitted(self)
        nan = "allow-nan" if self.missing == "sample" else True
        X = validate_data(self, X, reset=False, dtype=np.float64, ensure_all_finite=nan)
        R = rescale(X, self.mean_, self.scale_)
        C, psi = self.components_ / self.scale_, self.noise_variance_ / self.scale_**2
        kind, _ = self._laws[0]
        prior = (0.5 if kind == LAPLACE else 1.0) * np.eye(len(C))
        if not np.isnan(R).any():
            found: Any = np.linalg.solve(prior + (C / psi) @ C.T, (C / psi) @ R.T)
            return found.T
        Z = np.zeros((len(R), len(C)))
        for n, row in enumerate(R):
            seen = ~np.isnan(row)
            part = C[:, seen] / psi[seen]
            Z[n] = np.linalg.solve(prior + part @ C[:, seen].T, part @ row[seen])
        return Z


class SLIMOrderSearch(FactorFit):
    """Causal orders of variables, ranked by how often a search visits them.

    A factor model with as many factors as variables is drawn; after every sweep ten exchanges of
    two variables and of two factors are proposed, and accepted by the likelihood of the loadings
    cut to a triangle, Eq. (7).

    Parameters
    ----------
    n_latent : int, default=0
        Further factors that are not cut: latent common causes.
    search : {"stochastic", "deterministic"}, default="stochastic"
        "deterministic" takes one order from the median loadings, as LiNGAM does (the paper's DS).
    n_candidates : int, default=10
        Orders that are kept.
    factor : {"laplace", "student", "cauchy", "gaussian"}, default="laplace"
        Law of the factors; "gaussian" identifies no order.
    degrees : float, default=5.0
        Degrees of freedom of "student".
    sparse : bool, default=True
        Spikes at zero; without them the paper's DENSE.
    n_samples, burn_in : int, default=10000, 5000
        Sweeps that are kept, and those before.
    n_chains : int, default=1
        Independent chains, whose visits are pooled.
    n_rep : int, default=500
        Draws of the scales of factors in predictive densities.
    noise_prior : (float, float), default=(20.0, 1.0)
        Shape and rate of the Gamma law of 1/ψ, of standardised columns. The paper's holds the noise
        of n rows above about 1/(20 + n/2); (2.0, 0.01) allows much less.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Attributes
    ----------
    ordering_candidates_ : list of OrderCandidate
        Orders with their shares of the visits.
    causal_order_ : tuple of int
        The first of them.
    n_orders_ : int
        How many different orders were visited.
    acceptance_ : float
        Rate of acceptance of the exchanges.
    components_, components_interval_, inclusion_prob_, noise_variance_ : ndarray
        As in `SparseFactorModel`.
    mean_, scale_ : ndarray of shape (d,)
        Means and standard deviations of the columns.
    rhat_, ess_ : ndarray of shape (d,)
        Split R-hat and effective sizes of the noise variances.
    n_iter_ : int
        Sweeps of each chain.
    n_features_in_ : int
        Number of columns.

    Notes
    -----
    Frequencies rank hypotheses; they are no posterior probabilities of orders, since loadings are
    drawn without the triangle. Each exchange costs O(d³) whatever the number of rows.

    References
    ----------
    R. Henao and O. Winther (2011), "Sparse linear identifiable multivariate modeling", JMLR 12,
    section 3.3.

    Examples
    --------
    >>> from octavo.graphical import SLIMOrderSearch, is_causal_order, make_linear_dag
    >>> data = make_linear_dag(4, 300, density="dense", random_state=1)
    >>> search = SLIMOrderSearch(n_samples=1000, burn_in=1000, random_state=0).fit(data.X)
    >>> is_causal_order(search.causal_order_, data.B)
    True
    """

    _parameter_constraints: dict = COMMON | {
        "n_latent": [Interval(Integral, 0, 10**4, closed="both")],
        "search": [StrOptions({"stochastic", "deterministic"})],
        "n_candidates": [Interval(Integral, 1, 10**6, closed="both")],
    }

    def __init__(
        self,
        *,
        n_latent: int = 0,
        search: str = "stochastic",
        n_candidates: int = 10,
        factor: str = "laplace",
        degrees: float = 5.0,
        sparse: bool = True,
        n_samples: int = 10000,
        burn_in: int = 5000,
        n_chains: int = 1,
        n_rep: int = 500,
        noise_prior: Any = NOISE_PRIOR,
        random_state: Any = None,
    ) -> None:
        self.n_latent = n_latent
        self.search = search
        self.n_candidates = n_candidates
        self.factor = factor
        self.degrees = degrees
        self.sparse = sparse
        self.n_samples = n_samples
        self.burn_in = burn_in
        self.n_chains = n_chains
        self.n_rep = n_rep
        self.noise_prior = noise_prior
        self.random_state = random_state

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw loadings, and search orders along the way.

        Parameters
        ----------
        X : array-like of shape (n_samples, d)
            Rows.
        y : None
            Ignored.

        Returns
        -------
        self : SLIMOrderSearch
            Fitted.
        """
        X = check_table(self, X, independent=True)
        if self.search == "deterministic" and self.n_latent:
            raise ValueError("search='deterministic' needs n_latent=0: the loadings are inverted.")
        self._search(X)
        return self

    def _search(self, X: Floats, driven: Any = None) -> None:
        """Run the chains on a table that is checked, and rank orders; see `Chain.driven`."""
        d = X.shape[1]
        stochastic = self.search == "stochastic"
        draws = self._run(X, d + self.n_latent, N_PROPOSALS * stochastic, False, 2, driven)
        if stochastic:
            self.ordering_candidates_ = rank_orders(draws.orders, self.n_candidates)
            self.n_orders_ = len(rank_orders(draws.orders, len(draws.orders)))
        else:
            C = self.components_.T / self.scale_[:, None]
            weak = 1e-9 * np.eye(d)  # a factor that no draw uses has no column
            order = deterministic_order(C + np.where(np.abs(C).max(axis=0) > 0, 0.0, weak))
            self.ordering_candidates_ = [OrderCandidate(order, 1.0)]
            self.n_orders_ = 1
        self.acceptance_ = draws.acceptance
        self.causal_order_ = self.ordering_candidates_[0].order
