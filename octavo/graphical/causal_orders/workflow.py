"""SLIM: from a table to a causal order, a DAG with probabilities, and the choice of the model.

Section 5.1 of Henao and Winther (2011): a factor model with a search for orders, a DAG for each of
the orders visited most, and the model whose predictive density of held-out rows is the highest.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from sklearn.callback import with_callbacks
from sklearn.utils import check_random_state

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.graphical.causal_orders.dag import LAWS, MOST, SLIMDAG, DagAnswers
from octavo.graphical.causal_orders.factor_model import SLIMOrderSearch
from octavo.graphical.causal_orders.model import DAG_RATES, NOISE_PRIOR, check_noise_prior
from octavo.graphical.causal_orders.posterior import (
    SMALLEST_SAMPLE,
    check_table,
    warn_if_gaussian,
)

__all__ = ["SLIM"]


def _pair(name: str, value: Any, low: int) -> tuple[int, int]:
    """Return numbers of sweeps for the factor model and for a DAG."""
    both: Any = (value, value) if isinstance(value, Integral) else tuple(value)
    if len(both) != 2 or not all(
        isinstance(v, Integral) and not isinstance(v, bool) and low <= int(v) <= MOST for v in both
    ):
        raise ValueError(
            f"{name} must be two whole numbers from {low} to {MOST}, for the factor model and for "
            f"each DAG; got {value!r}."
        )
    return int(both[0]), int(both[1])


def _fit_dag(dag: SLIMDAG, X: Floats, held: Floats, order: Any) -> tuple[SLIMDAG, Floats]:
    dag._fit_order(X, np.asarray(order))
    return dag, dag._log_densities(held)


class SLIM(DagAnswers):
    """A causal order, a linear DAG with probabilities, and whether a factor model fits better.

    Parameters
    ----------
    n_latent : int, default=0
        Latent common causes.
    dag_prior : {"sparse", "dense"}, default="sparse"
        Few edges expected (β_m = 0.1), or most (0.99).
    factor : {"laplace", "student", "cauchy", "gaussian"}, default="laplace"
        Law of factors and driving signals.
    latent : {"cauchy", "laplace", "student", "gaussian"}, default="cauchy"
        Law of latent causes in the DAGs.
    n_candidates : int, default=10
        Orders for which a DAG is drawn, the paper's m_top.
    n_samples, burn_in : int or (int, int), default=(10000, 3000), (5000, 1000)
        Sweeps that are kept and those before, of the factor model and of each DAG.
    test_size : float, default=0.2
        Share of the rows that is held out, to compare models.
    n_chains : int, default=1
        Independent chains of each model.
    random_state : int, RandomState instance or None, default=None
        Seed.
    n_jobs : int, optional
        Number of joblib workers for the candidates.
    noise_prior : (float, float), default=(20.0, 1.0)
        Shape and rate of the Gamma law of 1/ψ, of standardised columns. The paper's holds the noise
        of n rows above about 1/(20 + n/2); (2.0, 0.01) allows much less.

    Attributes
    ----------
    causal_order_ : tuple of int
        Columns, causes before effects: the order of the best DAG.
    ordering_candidates_ : list of OrderCandidate
        Orders with their shares of the search's visits.
    dags_ : list of SLIMDAG
        The fitted DAG of each.
    best_dag_ : SLIMDAG
        The one with the highest predictive density of held-out rows.
    B_median_, B_interval_, edge_prob_, adjacency_, graph_ : object
        Those of the best DAG; [i, j] is about the effect of column j on column i.
    factor_model_ : SLIMOrderSearch
        The fitted factor model.
    test_loglik_ : dict
        Mean log densities of held-out rows: "factor", "dag" (the best) and "dags" (all), and the
        "standard_error" of the difference between the first two.
    selected_ : str
        "dag" or "factor".
    diagnostics_ : dict
        Largest R-hat and smallest effective size of "factor" and of "dag".
    n_features_in_ : int
        Number of columns.

    Notes
    -----
    The paper takes the median over draws of the likelihood of all held-out rows; here the densities
    are averaged over draws, which is what a predictive density is. Frequencies of orders are no
    posterior probabilities. Where the sources are Gaussian no order is identified: a warning says
    so.

    References
    ----------
    R. Henao and O. Winther (2011), "Sparse linear identifiable multivariate modeling", JMLR 12.

    Examples
    --------
    >>> from octavo.graphical import SLIM, make_linear_dag
    >>> data = make_linear_dag(3, 300, density="dense", random_state=0)
    >>> model = SLIM(n_samples=(1000, 500), burn_in=(1000, 200), random_state=0).fit(data.X)
    >>> model.causal_order_ == data.order, model.selected_
    (True, 'dag')
    """

    _parameter_constraints: dict = {
        "n_latent": [Interval(Integral, 0, 10**4, closed="both")],
        "dag_prior": [StrOptions(set(DAG_RATES))],
        "factor": [StrOptions(LAWS)],
        "latent": [StrOptions(LAWS)],
        "n_candidates": [Interval(Integral, 1, 10**6, closed="both")],
        "n_samples": [Integral, tuple, list],
        "burn_in": [Integral, tuple, list],
        "test_size": [Interval(Real, 0, 1, closed="neither")],
        "n_chains": [Interval(Integral, 1, 1000, closed="both")],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "noise_prior": [tuple, list],
    }

    def __init__(
        self,
        n_latent: int = 0,
        dag_prior: str = "sparse",
        factor: str = "laplace",
        latent: str = "cauchy",
        n_candidates: int = 10,
        n_samples: Any = (10000, 3000),
        burn_in: Any = (5000, 1000),
        test_size: float = 0.2,
        n_chains: int = 1,
        random_state: Any = None,
        n_jobs: int | None = None,
        *,
        noise_prior: Any = NOISE_PRIOR,
    ) -> None:
        self.n_latent = n_latent
        self.dag_prior = dag_prior
        self.factor = factor
        self.latent = latent
        self.n_candidates = n_candidates
        self.n_samples = n_samples
        self.burn_in = burn_in
        self.test_size = test_size
        self.n_chains = n_chains
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.noise_prior = noise_prior

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Search orders, draw their DAGs and choose a model by held-out rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, d)
            Rows.
        y : None
            Ignored.

        Returns
        -------
        self : SLIM
            Fitted.
        """
        X = check_table(self, X, independent=True)
        n_samples, burn_in = (
            _pair("n_samples", self.n_samples, 1),
            _pair("burn_in", self.burn_in, 0),
        )
        check_noise_prior(self.noise_prior)
        if self.n_latent > X.shape[1]:
            warnings.warn(
                f"n_latent={self.n_latent} is more than the {X.shape[1]} variables: the model is "
                "not identified.",
                UserWarning,
                stacklevel=2,
            )
        rng = check_random_state(self.random_state)
        train, held = self._split(X, rng)
        seeds = rng.randint(2**31 - 1, size=self.n_candidates + 1)
        with FitProgress(self, self.n_candidates + 1, X, step_name="model") as progress:
            self._fit_factor_model(train, held, n_samples[0], burn_in[0], int(seeds[0]))
            progress.step()
            jobs = (
                delayed(_fit_dag)(self._dag(n_samples[1], burn_in[1], seed), train, held, c.order)
                for c, seed in zip(self.ordering_candidates_, seeds[1:], strict=False)
            )
            found = []
            for pair in Parallel(n_jobs=self.n_jobs, return_as="generator")(jobs):
                found.append(pair)
                progress.step()
        self._choose(found)
        R = (train - self.best_dag_.mean_) / self.best_dag_.scale_
        B = self.B_median_ / self.best_dag_._units
        warn_if_gaussian(R - R @ B.T, "residuals of the best DAG")
        return self

    def _split(self, X: Floats, rng: Any) -> tuple[Floats, Floats]:
        n = len(X)
        n_held = min(max(round(self.test_size * n), 1), n - SMALLEST_SAMPLE // 2)
        rows = rng.permutation(n)
        return X[rows[n_held:]], X[rows[:n_held]]

    def _fit_factor_model(self, X: Any, held: Any, n_samples: int, burn_in: int, seed: int) -> None:
        search = SLIMOrderSearch(
            n_latent=self.n_latent,
            n_candidates=self.n_candidates,
            factor=self.factor,
            n_samples=n_samples,
            burn_in=burn_in,
            n_chains=self.n_chains,
            noise_prior=self.noise_prior,
            random_state=seed,
        )
        # With shifts of no rows the chains share the kernel of the DAGs that follow.
        search._search(X, None if self.n_latent else np.empty(0, dtype=np.int64))
        search.n_features_in_ = X.shape[1]
        self.factor_model_, self.ordering_candidates_ = search, search.ordering_candidates_
        self._held = search._log_densities(held)

    def _dag(self, n_samples: int, burn_in: int, seed: int) -> SLIMDAG:
        return SLIMDAG(
            n_latent=self.n_latent,
            n_samples=n_samples,
            burn_in=burn_in,
            dag_prior=self.dag_prior,
            factor=self.factor,
            latent=self.latent,
            n_chains=self.n_chains,
            noise_prior=self.noise_prior,
            random_state=int(seed),
        )

    def _choose(self, found: list[tuple[SLIMDAG, Floats]]) -> None:
        self.dags_ = [dag for dag, _ in found]
        rows = np.array([densities for _, densities in found])
        scores = rows.mean(axis=1)
        for dag in self.dags_:
            dag.order, dag.n_features_in_ = dag.causal_order_, len(dag.causal_order_)
        first = int(np.argmax(scores))
        best = self.best_dag_ = self.dags_[first]
        ahead = rows[first] - self._held
        self.test_loglik_: dict[str, Any] = {
            "factor": float(self._held.mean()),
            "dag": float(scores.max()),
            "dags": scores,
            "standard_error": float(ahead.std() / np.sqrt(ahead.size)),
        }
        del self._held
        self.selected_ = (
            "dag" if self.test_loglik_["dag"] > self.test_loglik_["factor"] else "factor"
        )
        self.causal_order_ = best.causal_order_
        self.B_median_, self.B_interval_ = best.B_median_, best.B_interval_
        self.edge_prob_, self.adjacency_ = best.edge_prob_, best.adjacency_
        search = self.factor_model_
        self.diagnostics_ = {
            "factor": {"rhat": float(np.max(search.rhat_)), "ess": float(np.min(search.ess_))},
            "dag": {"rhat": float(np.nanmax(best.rhat_)), "ess": float(np.nanmin(best.ess_))},
        }

    def _log_densities(self, X: Floats, seed: int = 0) -> Floats:
        chosen = self.best_dag_ if self.selected_ == "dag" else self.factor_model_
        return chosen._log_densities(X, seed)
