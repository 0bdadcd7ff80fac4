"""SNIM: DAGs with smooth effects for all orders of few variables, and cause or effect of two.

Section 3.5 of Henao and Winther (2011), Eq. (10): x = B y + C_D z + ε with y_j a smooth function of
x_j that has a Gaussian-process prior.
"""

from __future__ import annotations

from itertools import permutations
from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np
from joblib import Parallel, delayed
from sklearn.callback import with_callbacks
from sklearn.utils.validation import check_array, check_random_state

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context, validate_params
from octavo.engine.mcmc.compiled_draws import draw_state
from octavo.graphical.causal_orders.dag import EdgeAnswers
from octavo.graphical.causal_orders.gaussian_processes import SmoothFunction, draw_kappa
from octavo.graphical.causal_orders.model import DAG_RATES, dag_chain, source_law
from octavo.graphical.causal_orders.orders import check_order
from octavo.graphical.causal_orders.posterior import (
    SMALLEST_SAMPLE,
    check_table,
    rescale,
    standardized,
    summary,
)
from octavo.graphical.causal_orders.predictive import log_densities, log_mean

__all__ = ["SNIM", "CausalDirection", "causal_direction"]

MOST_EXHAUSTIVE = 6
EVERY = 5  # of the sweeps that are kept, the densities of held-out rows are taken at every fifth
FIRST_RATE = 0.02


class NonlinearChain:
    """A chain of the DAG whose parents act through smooth functions."""

    def __init__(self, X: Floats, order: Any, rate: float, law: Any, rng: Any) -> None:
        self.rng, self.state, self.kappa = rng, draw_state(rng), 100.0
        self.laws = [law] * X.shape[1]
        self.functions = [SmoothFunction(x, FIRST_RATE) for x in X.T]
        self.chain = dag_chain(X.T.copy(), order, rate=rate, laws=self.laws, F=np.zeros(X.T.shape))
        self.parents = [int(j) for j in order[:-1]]
        for j in order:
            self.functions[j].draw_prior(rng)
            self.chain.F[j] = self.functions[j].values

    def sweep(self) -> None:
        """Change the whole state once."""
        chain, d = self.chain, len(self.chain.X)
        chain.run(1, self.state)
        B = chain.W[:, :d]
        E = chain.X - B @ chain.F - chain.W[:, d:] @ chain.Z
        for j in self.parents:
            function, b = self.functions[j], B[:, j]
            E += np.outer(b, chain.F[j])
            own = float(np.sum(b * b / chain.psi))
            # Eq. (10): as factors of CSLIM, with y_j in place of z_j
            function.draw((b / chain.psi) @ E, own, self.kappa, self.rng)
            chain.F[j] = function.values
            E -= np.outer(b, chain.F[j])
        self.kappa = draw_kappa([self.functions[j].rate for j in self.parents], self.rng)

    def densities(self, X: Floats) -> Floats:
        """Return log densities of new rows under the state as it is."""
        d = X.shape[1]
        W, Y = self.chain.W, np.zeros(X.shape)
        for j in self.parents:
            if W[:, j].any():
                # the function at held-out values of its parent
                Y[:, j] = self.functions[j].extend(X[:, j], self.rng)
        return log_densities(X - Y @ W[:, :d].T, W[:, d:], self.chain.psi, self.laws, 1, self.rng)


class NonlinearDraws(NamedTuple):
    """What the chain of one order has kept."""

    order: tuple[int, ...]
    B: Floats
    edge_prob: Floats
    functions: Floats
    densities: Floats
    acceptance: float


def run_order(
    X: Floats, held: Floats, order: Any, rate: float, law: Any, n: int, burn_in: int, seed: int
) -> NonlinearDraws:
    """Run the chain of one order on standardised rows."""
    rng = np.random.default_rng(seed)
    chain = NonlinearChain(X, order, rate, law, rng)
    d = X.shape[1]
    B, Q, F, logs = [], np.zeros((d, d)), np.zeros((d, len(X))), []
    for sweep in range(burn_in + n):
        chain.sweep()
        if sweep >= burn_in:
            B.append(chain.chain.W[:, :d].copy())
            Q += chain.chain.Q[:, :d]
            F += chain.chain.F
            if (sweep - burn_in) % EVERY == 0:
                logs.append(chain.densities(held))
    proposed = max(sum(f.n_proposed for f in chain.functions), 1)
    rate_of = sum(f.n_accepted for f in chain.functions) / proposed
    where = tuple(int(j) for j in order)
    return NonlinearDraws(where, np.array(B), Q / n, F / n, np.array(logs), rate_of)


class SNIM(EdgeAnswers):
    """A DAG with smooth effects, by comparing all orders of few variables.

    Parameters
    ----------
    order : "exhaustive" or sequence of int, default="exhaustive"
        All orders of up to six variables, or a known one.
    dag_prior : {"sparse", "dense"}, default="sparse"
        Few edges expected (β_m = 0.1), or most (0.99).
    factor : {"laplace", "gaussian"}, default="laplace"
        Law of the driving signals.
    n_samples, burn_in : int, default=1000, 500
        Sweeps of each order that are kept, and those before; the paper takes 3000 and 1000.
    test_size : float, default=0.2
        Share of the rows that is held out to compare orders.
    random_state : int, RandomState instance or None, default=None
        Seed.
    n_jobs : int, optional
        Number of joblib workers for the orders.

    Attributes
    ----------
    causal_order_ : tuple of int
        The order with the highest predictive density of held-out rows.
    orderings_ : list of tuple of int
        All orders that were compared, best first.
    test_loglik_ : ndarray of shape (n_orders,)
        Their mean log densities of held-out rows.
    B_median_, B_interval_ : ndarray of shape (d, d) and (2, d, d)
        Sizes of the effects of standardised variables through functions of variance one.
    edge_prob_ : ndarray of shape (d, d)
        Posterior probabilities of the edges, [i, j] from j to i.
    adjacency_ : ndarray of bool of shape (d, d)
        Edges with a probability above one half.
    graph_ : networkx.DiGraph
        The same with directed edges.
    functions_ : ndarray of shape (n_train, d)
        Posterior means of the functions at the rows of `train_rows_`.
    train_rows_ : ndarray of int of shape (n_train,)
        The rows that were not held out.
    acceptance_ : float
        Rate at which length scales were accepted.
    mean_, scale_ : ndarray of shape (d,)
        Means and standard deviations of the training rows.
    n_features_in_ : int
        Number of columns.

    Notes
    -----
    A variable acts on all its effects through one function. Signs of a function and of its effects
    can be exchanged together, so that `B_median_` is about absolute sizes. Orders of d variables
    number d!: six take minutes.

    References
    ----------
    R. Henao and O. Winther (2011), "Sparse linear identifiable multivariate modeling", JMLR 12,
    section 3.5.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.graphical import SNIM
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-2, 2, 80)
    >>> X = np.column_stack([np.cos(2 * x) + 0.2 * rng.laplace(size=80), x])
    >>> SNIM(n_samples=100, burn_in=50, random_state=0).fit(X).causal_order_
    (1, 0)
    """

    _parameter_constraints: dict = {
        "order": [StrOptions({"exhaustive"}), "array-like"],
        "dag_prior": [StrOptions(set(DAG_RATES))],
        "factor": [StrOptions({"laplace", "gaussian"})],
        "n_samples": [Interval(Integral, 1, 10**6, closed="both")],
        "burn_in": [Interval(Integral, 0, 10**6, closed="both")],
        "test_size": [Interval(Real, 0, 1, closed="neither")],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        order: Any = "exhaustive",
        *,
        dag_prior: str = "sparse",
        factor: str = "laplace",
        n_samples: int = 1000,
        burn_in: int = 500,
        test_size: float = 0.2,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.order = order
        self.dag_prior = dag_prior
        self.factor = factor
        self.n_samples = n_samples
        self.burn_in = burn_in
        self.test_size = test_size
        self.random_state = random_state
        self.n_jobs = n_jobs

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw the DAGs of all orders, and choose one by held-out rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, d)
            Rows.
        y : None
            Ignored.

        Returns
        -------
        self : SNIM
            Fitted.
        """
        X = check_table(self, X, independent=True)
        orders = self._orders(X.shape[1])
        rng = check_random_state(self.random_state)
        n = len(X)
        n_held = min(max(round(self.test_size * n), 1), n - SMALLEST_SAMPLE // 2)
        rows = rng.permutation(n)
        self.train_rows_, held_rows = np.sort(rows[n_held:]), np.sort(rows[:n_held])
        scaled = standardized(X[self.train_rows_])
        self.mean_, self.scale_ = scaled.mean, scaled.scale
        held = rescale(X[held_rows], self.mean_, self.scale_)
        seeds = rng.randint(2**31 - 1, size=len(orders))
        law, rate = source_law(self.factor), DAG_RATES[self.dag_prior]
        jobs = (
            delayed(run_order)(
                scaled.X, held, order, rate, law, self.n_samples, self.burn_in, int(seed)
            )
            for order, seed in zip(orders, seeds, strict=True)
        )
        found = []
        with FitProgress(self, len(orders), X, step_name="order") as progress:
            for draws in Parallel(n_jobs=self.n_jobs, return_as="generator")(jobs):
                found.append(draws)
                progress.step()
        self._choose(found)
        return self

    def _orders(self, d: int) -> list[Any]:
        if not isinstance(self.order, str):
            return [check_order(self.order, d)]
        if d > MOST_EXHAUSTIVE:
            raise ValueError(
                f"order='exhaustive' takes at most {MOST_EXHAUSTIVE} variables, which have 720 "
                f"orders; got {d}. Give an order, from SLIM for instance."
            )
        return [np.array(order) for order in permutations(range(d))]

    def _choose(self, found: list[NonlinearDraws]) -> None:
        scores = np.array([np.mean(log_mean(draws.densities)) for draws in found])
        ranking = np.argsort(-scores, kind="stable")
        best = found[int(ranking[0])]
        self.orderings_ = [found[int(k)].order for k in ranking]
        self.test_loglik_ = scores[ranking] - float(np.log(self.scale_).sum())
        self.causal_order_ = best.order
        self.B_median_, self.B_interval_ = summary(np.abs(best.B))
        self.edge_prob_ = best.edge_prob
        self.adjacency_ = self.edge_prob_ > 0.5
        self.functions_ = best.functions.T
        self.acceptance_ = best.acceptance


class CausalDirection(NamedTuple):
    """Which of two variables is the cause.

    Attributes
    ----------
    direction : str
        "x->y" or "y->x".
    log_ratio : float
        Log predictive density of held-out rows under x->y minus that under y->x.
    """

    direction: str
    log_ratio: float


@checked
@validate_params(
    {
        "x": ["array-like"],
        "y": ["array-like"],
        "n_samples": [Interval(Integral, 1, 10**6, closed="both")],
        "burn_in": [Interval(Integral, 0, 10**6, closed="both")],
        "test_size": [Interval(Real, 0, 1, closed="neither")],
        "max_rows": [Interval(Integral, SMALLEST_SAMPLE, None, closed="left")],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def causal_direction(
    x: Any,
    y: Any,
    *,
    n_samples: int = 600,
    burn_in: int = 300,
    test_size: float = 0.2,
    max_rows: int = 300,
    random_state: Any = None,
) -> CausalDirection:
    """Tell the cause of two variables from the effect, by smooth functions and held-out rows.

    Parameters
    ----------
    x, y : array-like of shape (n,)
        Two variables.
    n_samples, burn_in : int, default=600, 300
        Sweeps of each direction that are kept, and those before.
    test_size : float, default=0.2
        Share of the rows that is held out.
    max_rows : int, default=300
        More rows than this are drawn from without replacement.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    direction : CausalDirection
        The direction with the higher predictive density, and by how much.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.graphical import causal_direction
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-2, 2, 80)
    >>> y = np.cos(2 * x) + 0.2 * rng.laplace(size=80)
    >>> causal_direction(x, y, n_samples=100, burn_in=50, random_state=0).direction
    'x->y'
    """
    both = [check_array(v, ensure_2d=False, dtype=np.float64, input_name=n) for v, n in
            ((x, "x"), (y, "y"))]  # fmt: skip
    for values, name in zip(both, "xy", strict=True):
        if values.ndim != 1:
            raise ValueError(f"{name} must be one-dimensional, got the shape {values.shape}.")
    if both[0].size != both[1].size:
        raise ValueError(f"x and y must be as long; got {both[0].size} and {both[1].size}.")
    rng = check_random_state(random_state)
    X = np.column_stack(both)
    if len(X) > max_rows:
        X = X[rng.permutation(len(X))[:max_rows]]
    model = SNIM(
        dag_prior="dense",
        n_samples=n_samples,
        burn_in=burn_in,
        test_size=test_size,
        random_state=rng,
    ).fit(X)
    logs = dict(zip(model.orderings_, model.test_loglik_, strict=True))
    n_held = len(X) - len(model.train_rows_)
    ratio = float(n_held * (logs[0, 1] - logs[1, 0]))
    return CausalDirection("x->y" if ratio >= 0.0 else "y->x", ratio)
