"""The posterior of a linear DAG whose order is known, with latent common causes or without.

Sections 2, 3.2 and 6.4 of Henao and Winther (2011): x = Bx + C_D z_D + C_L z_L + ε with driving
signals z_D of Laplace's law and latent causes z_L of another, which makes the model identifiable.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils.validation import check_is_fitted, validate_data

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.mcmc.chains import chain_generators
from octavo.engine.mcmc.compiled_draws import draw_state
from octavo.graphical.causal_orders.model import (
    DAG_RATES,
    NOISE_PRIOR,
    Draws,
    check_noise_prior,
    dag_chain,
    join_draws,
    source_law,
)
from octavo.graphical.causal_orders.orders import check_order
from octavo.graphical.causal_orders.posterior import (
    CausalEdge,
    check_table,
    diagnostics,
    edge_rows,
    match_factors,
    rescale,
    standardized,
    summary,
    thinned,
    warn_if_gaussian,
)
from octavo.graphical.causal_orders.predictive import draw_log_densities, log_mean

__all__ = ["SLIMDAG", "CausalEdge"]

PREDICTIVE_DRAWS = 300
MOST = 10**7
LAWS = {"laplace", "student", "cauchy", "gaussian"}


def dag_draws(
    X: Floats,
    order: Any,
    rng: np.random.Generator,
    *,
    rate: float,
    laws: Any,
    n_latent: int,
    n_samples: int,
    burn_in: int,
    noise_prior: Any = NOISE_PRIOR,
    report: Any = None,
) -> Draws:
    """Return the draws of one chain for a standardised table, with samples as rows."""
    chain = dag_chain(
        X.T.copy(), order, rate=rate, laws=laws, n_latent=n_latent, noise_prior=noise_prior
    )
    chain.start(rng)
    return chain.sample(n_samples, burn_in, draw_state(rng), report=report)


class EdgeAnswers(CallbackSupportMixin, SoundEstimator):
    """What a fitted DAG says of its edges."""

    def edge_table(self) -> list[CausalEdge]:
        """Return all edges with a positive probability, most probable first.

        Returns
        -------
        edges : list of CausalEdge
            Cause, effect, probability, and the effect's median with its 95 % interval.
        """
        check_is_fitted(self)
        return edge_rows(self.edge_prob_, self.B_median_, self.B_interval_)

    @property
    def graph_(self) -> Any:
        """The edges with a probability above one half, as a networkx.DiGraph."""
        import networkx as nx

        graph = nx.DiGraph()
        graph.add_nodes_from(range(len(self.adjacency_)))
        for edge in self.edge_table():
            if edge.probability > 0.5:
                graph.add_edge(
                    edge.cause, edge.effect, weight=edge.median, probability=edge.probability
                )
        return graph


class DagAnswers(EdgeAnswers):
    """What a fitted DAG says of its edges, and of new rows."""

    def score_samples(self, X: Any) -> Floats:
        """Return the log predictive density of rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, d)
            Rows in the data's units.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
            Averaged over posterior draws, latents integrated out.
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


class SLIMDAG(DagAnswers):
    """A linear DAG for a known order of the variables: edge probabilities and effects.

    Parameters
    ----------
    order : sequence of int, optional
        Columns, causes before effects; by default as they stand.
    n_latent : int, default=0
        Latent common causes.
    n_samples, burn_in : int, default=3000, 1000
        Sweeps that are kept, and those before; twice as many are advised with latent causes.
    dag_prior : {"sparse", "dense"}, default="sparse"
        Few edges expected (β_m = 0.1), or most (0.99).
    factor : {"laplace", "student", "cauchy", "gaussian"}, default="laplace"
        Law of the driving signals.
    latent : {"cauchy", "laplace", "student", "gaussian"}, default="cauchy"
        Law of the latent causes. Where it is that of the driving signals, effects and confounding
        cannot be told apart.
    degrees : float, default=5.0
        Degrees of freedom of "student".
    n_chains : int, default=1
        Independent chains.
    n_rep : int, default=500
        Draws of scales in predictive densities where there are latent causes.
    noise_prior : (float, float), default=(20.0, 1.0)
        Shape and rate of the Gamma law of 1/ψ, of standardised columns. The paper's holds the noise
        of n rows above about 1/(20 + n/2); (2.0, 0.01) allows much less.
    random_state : int, RandomState instance or None, default=None
        Seed.
    n_jobs : int, optional
        Number of joblib workers for the chains.

    Attributes
    ----------
    B_median_ : ndarray of shape (d, d)
        Medians of the effects in the data's units, B[i, j] of j on i.
    B_interval_ : ndarray of shape (2, d, d)
        95 % credible intervals.
    edge_prob_ : ndarray of shape (d, d)
        Posterior probabilities of the edges.
    adjacency_ : ndarray of bool of shape (d, d)
        Edges with a probability above one half, [i, j] from j to i.
    graph_ : networkx.DiGraph
        The same with directed edges, their weights and probabilities.
    CL_ : ndarray of shape (d, n_latent)
        Medians of the loadings of latent causes, after matching their signs.
    CL_prob_ : ndarray of shape (d, n_latent)
        Posterior probabilities that they are not zero.
    CD_ : ndarray of shape (d,)
        Medians of the sizes of the driving signals.
    noise_variance_ : ndarray of shape (d,)
        Medians of the noise variances.
    causal_order_ : tuple of int
        The order.
    B_draws_ : ndarray of shape (n_chains * n_samples, d, d)
        Draws of the effects, in the data's units.
    mean_, scale_ : ndarray of shape (d,)
        Means and standard deviations of the columns.
    rhat_, ess_ : ndarray of shape (d, d)
        Split R-hat and effective sizes of the effects; NaN where none is allowed.
    n_iter_ : int
        Sweeps of each chain.
    n_features_in_ : int
        Number of columns.

    References
    ----------
    R. Henao and O. Winther (2011), "Sparse linear identifiable multivariate modeling", JMLR 12.

    Examples
    --------
    >>> from octavo.graphical import SLIMDAG, make_linear_dag
    >>> data = make_linear_dag(4, 400, density="sparse", random_state=3)
    >>> dag = SLIMDAG(data.order, n_samples=1000, random_state=0).fit(data.X)
    >>> bool(((dag.edge_prob_ > 0.5) == (data.B != 0)).all())
    True
    """

    _parameter_constraints: dict = {
        "order": ["array-like", None],
        "n_latent": [Interval(Integral, 0, 10**4, closed="both")],
        "n_samples": [Interval(Integral, 1, MOST, closed="both")],
        "burn_in": [Interval(Integral, 0, MOST, closed="both")],
        "dag_prior": [StrOptions(set(DAG_RATES))],
        "factor": [StrOptions(LAWS)],
        "latent": [StrOptions(LAWS)],
        "degrees": [Interval(Real, 0, None, closed="neither")],
        "n_chains": [Interval(Integral, 1, 1000, closed="both")],
        "n_rep": [Interval(Integral, 1, 10**6, closed="both")],
        "noise_prior": [tuple, list],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        order: Any = None,
        n_latent: int = 0,
        n_samples: int = 3000,
        burn_in: int = 1000,
        *,
        dag_prior: str = "sparse",
        factor: str = "laplace",
        latent: str = "cauchy",
        degrees: float = 5.0,
        n_chains: int = 1,
        n_rep: int = 500,
        noise_prior: Any = NOISE_PRIOR,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.order = order
        self.n_latent = n_latent
        self.n_samples = n_samples
        self.burn_in = burn_in
        self.dag_prior = dag_prior
        self.factor = factor
        self.latent = latent
        self.degrees = degrees
        self.n_chains = n_chains
        self.n_rep = n_rep
        self.noise_prior = noise_prior
        self.random_state = random_state
        self.n_jobs = n_jobs

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
        self : SLIMDAG
            Fitted.
        """
        X = check_table(self, X, independent=True)
        d = X.shape[1]
        order = check_order(range(d) if self.order is None else self.order, d)
        self._fit_order(X, order)
        R = (X - self.mean_) / self.scale_
        warn_if_gaussian(R - R @ (self.B_median_ / self._units).T, "residuals")
        return self

    def _fit_order(self, X: Floats, order: Any) -> None:
        """Run the chains of an order and sum them up."""
        noise_prior = check_noise_prior(self.noise_prior)
        scaled = standardized(X)
        self.mean_, self.scale_ = scaled.mean, scaled.scale
        d = X.shape[1]
        driving = source_law(self.factor, self.degrees)
        self._laws = [driving] * d + [source_law(self.latent, self.degrees)] * self.n_latent
        rngs = chain_generators(self.random_state, self.n_chains)
        with FitProgress(self, self.n_chains, X, step_name="chain") as progress:
            jobs = (
                delayed(dag_draws)(
                    scaled.X,
                    order,
                    rng,
                    rate=DAG_RATES[self.dag_prior],
                    laws=self._laws,
                    n_latent=self.n_latent,
                    n_samples=self.n_samples,
                    burn_in=self.burn_in,
                    noise_prior=noise_prior,
                )
                for rng in rngs
            )
            chains = []
            for chain in Parallel(n_jobs=self.n_jobs, return_as="generator")(jobs):
                chains.append(chain)
                progress.step()
        self.causal_order_ = tuple(int(i) for i in order)
        self._summarize(chains, order)

    def _summarize(self, chains: list[Draws], order: Any) -> None:
        draws, d = join_draws(chains), len(order)
        self._units = np.outer(self.scale_, 1.0 / self.scale_)
        self.B_draws_ = draws.W[:, :, :d] * self._units
        self.B_median_, self.B_interval_ = summary(self.B_draws_)
        self.edge_prob_ = draws.Q[:, :, :d].mean(axis=0)
        self.adjacency_ = self.edge_prob_ > 0.5
        self.noise_variance_ = np.median(draws.psi, axis=0) * self.scale_**2
        diagonal = np.abs(np.diagonal(draws.W[:, :, d : 2 * d], axis1=1, axis2=2))
        self.CD_ = np.median(diagonal, axis=0) * self.scale_
        kept = thinned(len(draws.W))
        C, places = match_factors(draws.W[kept][:, :, 2 * d :])
        self.CL_ = np.median(C, axis=0) * self.scale_[:, None]
        rows = np.arange(d)[:, None]
        Q = draws.Q[kept][:, :, 2 * d :]
        self.CL_prob_ = np.mean([q[rows, p] for q, p in zip(Q, places, strict=True)], axis=0)
        place = np.argsort(order)
        effects, causes = np.nonzero(place[:, None] > place[None, :])
        self.rhat_, self.ess_ = np.full((d, d), np.nan), np.full((d, d), np.nan)
        self.rhat_[effects, causes], self.ess_[effects, causes] = diagnostics(
            [chain.W[:, effects, causes] for chain in chains]
        )
        self.n_iter_ = self.n_samples + self.burn_in
        few = thinned(len(draws.W), PREDICTIVE_DRAWS)
        self._W, self._psi = draws.W[few], draws.psi[few]

    def _log_densities(self, X: Floats, seed: int = 0) -> Floats:
        R, rng = rescale(X, self.mean_, self.scale_), np.random.RandomState(seed)
        draws = draw_log_densities(
            R, self._W, self._psi, self._laws, len(self.scale_), self.n_rep, rng
        )
        return log_mean(draws) - np.log(self.scale_).sum()
