"""Regularised linear models fitted to full accuracy on data that need not fit one process.

Each node makes an online pass over its own shard, the results are averaged feature by feature
according to how much each node has seen, and that average starts a distributed L-BFGS that
converges to the optimum. The same code runs on threads, on a Dask cluster and under MPI.

Agarwal, Chapelle, Dudík and Langford (2014), "A Reliable Effective Terascale Linear Learning
System": Algorithms 1 and 2, Eq. (1) and (2), repeated averaging (Section 2.2), speculative
execution (Section 2.3).
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.callback import with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from octavo.engine.distributed.map_reduce import Site
from octavo.engine.distributed.shards import ArrayShard
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.smooth.lbfgs import LBFGSResult, lbfgs
from octavo.linear.sharded.models import (
    ShardedClassifier,
    ShardedLinearModel,
    ShardedRegressor,
    Training,
)
from octavo.linear.sharded.objective import OnlineState, ShardedObjective, online_average
from octavo.linear.sharded.passes import online_pass

__all__ = ["HybridLinearClassifier", "HybridLinearRegressor"]

_NARROWER = 0.2  # each round of a kinked loss is smoothed over this part of the last width
_NARROWEST = 1e-6


class _HybridLinear(ShardedLinearModel):
    """The fit that classifier and regressor share."""

    _parameter_constraints: dict[str, Any] = {
        **ShardedLinearModel._parameter_constraints,
        "alpha": [Interval(Real, 0, None, closed="left")],
        "n_online_passes": [Interval(Integral, 0, None, closed="left")],
        "eta": [Interval(Real, 0, None, closed="neither")],
        "G0": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "memory": [Interval(Integral, 1, None, closed="left")],
        "precondition": [StrOptions({"jacobi"}), None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "gtol": [Interval(Real, 0, None, closed="left")],
        "penalize_intercept": ["boolean"],
    }

    def _hybrid_fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        with self._training(X, y, sample_weight) as training:
            total = self.n_online_passes + self.max_iter
            with FitProgress(self, total, X, y) as progress:
                state, limit, passes = None, self.max_iter, 0
                while passes < self.n_online_passes:
                    # Algorithm 2's first loop
                    state = online_average(training.comm, training.task, self.eta, self.G0, state)
                    passes += 1
                    if progress.step(**self._weights(state.w)):
                        limit = 0  # a callback asked to stop
                        break
                w = self._store_online(state)
                self.n_epochs_ = passes
                self._batch(training, w, limit, progress)
        return self

    def _weights(self, w: Floats) -> dict[str, Any]:
        if self._classify:
            return {"coef_": w[None, :-1], "intercept_": w[-1:]}
        return {"coef_": w[:-1], "intercept_": float(w[-1])}

    def _store_online(self, state: OnlineState | None) -> Floats:
        """Keep what the online passes found; return where the batch phase starts."""
        d = self.n_features_in_
        w = np.zeros(d + 1) if state is None else state.w
        G = np.full(d + 1, float(self.G0)) if state is None else state.G
        self.online_coef_, self.online_intercept_ = w[:-1].copy(), float(w[-1])
        self.G_, self._G_intercept = G[:-1].copy(), float(G[-1])
        return w

    def _penalty(self) -> Floats:
        penalty = np.full(self.n_features_in_ + 1, float(self.alpha))
        if not self.penalize_intercept:
            penalty[-1] = 0.0
        return penalty

    def _batch(self, training: Training, w: Floats, limit: int, progress: FitProgress) -> None:
        """Minimise Eq. (1); a loss with a kink is smoothed less and less."""
        objective = ShardedObjective(training.comm, training.task, self._penalty())
        kinked = training.task.code != training.task.step_code
        path: list[float] = []
        n_iter, gap = 0, 0.0
        while True:
            result = lbfgs(
                objective, w, memory=self.memory, max_iter=limit - n_iter, tol=self.tol,
                gtol=self.gtol, precondition=self.precondition is not None,
                on_step=lambda x, _: progress.step(**self._weights(x)),
            )  # fmt: skip
            w, n_iter = result.x, n_iter + result.n_iter
            value = result.value
            if kinked:
                value, gap = objective.kink_gap()
            path += result.path if not kinked else [value]
            task = objective.task
            finished = gap <= self.tol * abs(value) or task.h <= _NARROWEST
            if not kinked or finished or not result.converged:
                break
            # Less smooth, from where it stands
            objective.task = task._replace(h=max(_NARROWER * task.h, _NARROWEST))
        self.n_iter_, self.objectives_ = n_iter, np.array(path)
        self._conclude(objective, result, value, gap)

    def _conclude(
        self, objective: ShardedObjective, result: LBFGSResult, value: float, gap: float
    ) -> None:
        """Store the result with its certificate, and warn when it is not an optimum."""
        self._store(result.x)
        self.objective_, self.smoothing_gap_ = float(value), float(gap)
        self.gradient_norm_ = float(np.abs(result.gradient).max())
        self.n_epochs_ += objective.n_sweeps
        if self.alpha == 0 and self.loss == "log" and objective.separated():
            message = (
                "alpha=0 and the classes are separable: the likelihood has no maximum, and the "
                f"weights grow without bound (here for {self.n_iter_} iterations). Set alpha > 0."
            )
        elif self.n_iter_ and not result.converged and result.reason != "callback":
            message = (
                f"L-BFGS stopped after {self.n_iter_} iterations before it converged: the "
                f"largest entry of the gradient is {self.gradient_norm_:.3g}, and the objective, "
                f"{value:.6g}, should fall by another {result.decrement:.2g}. Increase max_iter "
                "or tol."
            )
        else:
            return
        warnings.warn(message, ConvergenceWarning, stacklevel=5)

    def _partial_fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        """Continue Algorithm 1 over one more table."""
        d = self.n_features_in_
        begun = hasattr(self, "coef_")
        w = self._stored() if begun else np.zeros(d + 1)
        G = np.append(self.G_, self._G_intercept) if begun else np.full(d + 1, float(self.G0))
        positive = self.classes_[1] if self._classify else None
        site = Site(ArrayShard.of(X, y, sample_weight), 0)
        weighted, total, _, _ = online_pass(site, self._task(positive), self.eta, w, G)
        self._store(weighted / total)  # Eq. (2) of one node is G w / G
        self.G_, self._G_intercept = total[:-1], float(total[-1])
        self.online_coef_, self.online_intercept_ = (
            np.ravel(self.coef_),
            float(np.ravel(self.intercept_)[0]),
        )
        return self


class HybridLinearClassifier(ShardedClassifier, _HybridLinear):
    """Binary linear classifier: online pass, confidence-weighted average, distributed L-BFGS.

    Minimises Σ ℓ(w·x + b; y) + alpha/2 ‖w‖² over data that may lie in many shards, in memory,
    on disk or on the workers of a cluster, to the same optimum for any number of shards.

    Parameters
    ----------
    loss : {"log", "hinge", "squared_hinge", "squared"}, default="log"
        Loss ℓ of a prediction. The kinked hinge is smoothed less and less in the batch phase.
    alpha : float, default=1.0
        Strength of the L2 penalty on the *sum* of losses: ``C = 1 / alpha`` elsewhere.
    n_online_passes : int, default=1
        Online passes before the batch phase; after each the nodes' weights are averaged. Zero
        is plain L-BFGS.
    eta : float, default=0.5
        Rate of the online pass.
    G0 : float, default=1.0
        Squared gradients that every feature is taken to have seen before the first row.
    max_iter : int, default=50
        Largest number of L-BFGS iterations; zero stops after the online passes.
    memory : int, default=15
        Pairs of steps and gradients that L-BFGS keeps.
    precondition : {"jacobi", None}, default="jacobi"
        Start from the Hessian's diagonal at the average, or from the identity.
    tol : float, default=1e-6
        Stop when an iteration gained, and the quadratic model still expects, less than this
        part of the objective.
    comm : None, "threads", "dask", str, distributed.Client, mpi4py communicator or Communicator, \
            default=None
        Where shards are worked on: threads of this process, a Dask cluster started for the fit,
        the one at an address or behind a client, or the processes of an MPI job (each hands its
        own rows or shards to ``fit``).
    n_shards : int, default=1
        Shards that a table is cut into.
    fit_intercept : bool, default=True
        Whether to add an intercept.
    gtol : float, default=0
        Stop when no entry of the gradient is larger.
    penalize_intercept : bool, default=False
        Whether the penalty includes the intercept.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        Class labels; scores are positive for the second.
    objective_ : float
        Value of Σ ℓ + penalty at the weights.
    objectives_ : ndarray
        Its value at each L-BFGS iterate, the average of the online passes first (for the hinge,
        after each round of smoothing).
    gradient_norm_ : float
        Largest entry of the gradient there: zero at the optimum.
    smoothing_gap_ : float
        What smoothing a kink may still cost; zero for smooth losses.
    n_iter_ : int
        L-BFGS iterations.
    n_epochs_ : int
        Passes over the data in all.
    online_coef_ : ndarray of shape (n_features,)
        The confidence-weighted average after the online passes.
    online_intercept_ : float
        Its intercept.
    G_ : ndarray of shape (n_features,)
        Averaged sums of squared gradients.
    timing_ : FitTiming
        Every phase with its time split into computing, stalling and communication, and the
        bytes that moved: ``timing_.summary()``, ``timing_.total()``, ``timing_.phases``.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, where X has them.

    See Also
    --------
    RepeatedOnlineAveraging : Online passes alone.
    write_shards : Deal a table into shards on disk.
    ClusterModel : What more machines would bring.

    Notes
    -----
    ``fit`` takes a table with targets; or, with ``y=None``, shards: a folder of them, a list of
    paths, of ``(X, y)`` or ``(X, y, weight)`` tuples, or of functions that return a new iterator
    of such blocks; or dask arrays, whose row chunks are the shards. Rows must lie in random
    order, or the online pass of a shard is biased; a warning says so when the shards' mean
    targets differ.

    Do not use it for a small dense table: `sklearn.linear_model.LogisticRegression` is as good
    there and handles several classes. For data in several shards scikit-learn offers
    ``SGDClassifier.partial_fit``, which stops short of the optimum.

    References
    ----------
    .. [1] A. Agarwal, O. Chapelle, M. Dudík and J. Langford (2014). "A Reliable Effective
       Terascale Linear Learning System". Journal of Machine Learning Research 15.
    .. [2] N. Karampatziakis and J. Langford (2011). "Online Importance Weight Aware Updates".
       Uncertainty in Artificial Intelligence.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from octavo.linear import HybridLinearClassifier
    >>> X, y = make_classification(1000, random_state=0)
    >>> model = HybridLinearClassifier(n_shards=4).fit(X, y)
    >>> round(model.objective_, 2)
    157.48
    >>> model.score(X, y)
    0.951
    """

    _parameter_constraints: dict[str, Any] = {
        **_HybridLinear._parameter_constraints,
        "loss": [StrOptions({"log", "hinge", "squared_hinge", "squared"})],
    }

    def __init__(
        self,
        loss: str = "log",
        alpha: float = 1.0,
        n_online_passes: int = 1,
        eta: float = 0.5,
        G0: float = 1.0,
        max_iter: int = 50,
        memory: int = 15,
        precondition: str | None = "jacobi",
        tol: float = 1e-6,
        comm: Any = None,
        n_shards: int = 1,
        fit_intercept: bool = True,
        *,
        gtol: float = 0.0,
        penalize_intercept: bool = False,
    ) -> None:
        self.loss = loss
        self.alpha = alpha
        self.n_online_passes = n_online_passes
        self.eta = eta
        self.G0 = G0
        self.max_iter = max_iter
        self.memory = memory
        self.precondition = precondition
        self.tol = tol
        self.comm = comm
        self.n_shards = n_shards
        self.fit_intercept = fit_intercept
        self.gtol = gtol
        self.penalize_intercept = penalize_intercept

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fit to the optimum.

        Parameters
        ----------
        X : array-like, sparse matrix or dask array of shape (n_samples, n_features), or shards
            Training data; see the notes of the class.
        y : array-like of shape (n_samples,), optional
            Labels of two classes; None for shards, which carry their own.
        sample_weight : array-like of shape (n_samples,), optional
            Importance weights; None for shards.

        Returns
        -------
        self : HybridLinearClassifier
            The fitted classifier.
        """
        return self._hybrid_fit(X, y, sample_weight)

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn online from one more table, from wherever the weights stand.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows, visited once in their order.
        y : array-like of shape (n_samples,)
            Their labels.
        classes : array-like of shape (2,), optional
            Both classes; required in the first call, unless y holds both.
        sample_weight : array-like of shape (n_samples,), optional
            Importance weights: a row of weight 2 moves the weights as two rows would.

        Returns
        -------
        self : HybridLinearClassifier
            The classifier.
        """
        first = not hasattr(self, "coef_")
        X, y, sample_weight = self._table(X, y, sample_weight, reset=first)
        if first:
            self._set_classes(np.unique(y if classes is None else np.asarray(classes)))
        unknown = np.setdiff1d(y, self.classes_)
        if unknown.size:
            raise ValueError(f"y holds labels that are not among classes: {unknown[:5]}.")
        return self._partial_fit(X, y, sample_weight)

    @available_if(lambda self: _has_probabilities(self))
    def predict_proba(self, X: ArrayLike) -> Floats:
        """Return the probability of each class; only for the log loss.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, 2)
            In the order of `classes_`.
        """
        check_is_fitted(self)
        scores = self.decision_function(X)
        return np.stack([expit(-scores), expit(scores)], axis=1)

    @available_if(lambda self: _has_probabilities(self))
    def predict_log_proba(self, X: ArrayLike) -> Floats:
        """Return the logarithm of the probability of each class; only for the log loss.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        log_probabilities : ndarray of shape (n_samples, 2)
            In the order of `classes_`.
        """
        check_is_fitted(self)
        scores = self.decision_function(X)
        return -np.stack([np.logaddexp(0, scores), np.logaddexp(0, -scores)], axis=1)


def _has_probabilities(estimator: HybridLinearClassifier) -> bool:
    if estimator.loss != "log":
        raise AttributeError(f"Probabilities need loss='log', got loss={estimator.loss!r}.")
    return True


class HybridLinearRegressor(ShardedRegressor, _HybridLinear):
    """Linear regression: online pass, confidence-weighted average, distributed L-BFGS.

    Minimises Σ ℓ(w·x + b; y) + alpha/2 ‖w‖² over data that may lie in many shards, in memory,
    on disk or on the workers of a cluster, to the same optimum for any number of shards.

    Parameters
    ----------
    loss : {"squared", "quantile"}, default="squared"
        ½(p - y)², or the quantile loss, whose kink is smoothed less and less in the batch phase.
    alpha : float, default=1.0
        Strength of the L2 penalty on the *sum* of losses.
    n_online_passes : int, default=1
        Online passes before the batch phase; after each the nodes' weights are averaged.
    eta : float, default=0.5
        Rate of the online pass.
    G0 : float, default=1.0
        Squared gradients that every feature is taken to have seen before the first row.
    max_iter : int, default=50
        Largest number of L-BFGS iterations; zero stops after the online passes.
    memory : int, default=15
        Pairs of steps and gradients that L-BFGS keeps.
    precondition : {"jacobi", None}, default="jacobi"
        Start from the Hessian's diagonal at the average, or from the identity.
    tol : float, default=1e-6
        Stop when an iteration gained, and the quadratic model still expects, less than this
        part of the objective.
    comm : None, "threads", "dask", str, distributed.Client, mpi4py communicator or Communicator, \
            default=None
        Where shards are worked on; see `HybridLinearClassifier`.
    n_shards : int, default=1
        Shards that a table is cut into.
    fit_intercept : bool, default=True
        Whether to add an intercept.
    quantile : float, default=0.5
        Which quantile the quantile loss estimates.
    gtol : float, default=0
        Stop when no entry of the gradient is larger.
    penalize_intercept : bool, default=False
        Whether the penalty includes the intercept.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights.
    intercept_ : float
        Intercept.
    objective_ : float
        Value of Σ ℓ + penalty at the weights.
    objectives_ : ndarray
        Its value at each L-BFGS iterate, the average of the online passes first (for the
        quantile loss, after each round of smoothing).
    gradient_norm_ : float
        Largest entry of the gradient there: zero at the optimum.
    smoothing_gap_ : float
        What smoothing a kink may still cost; zero for smooth losses.
    n_iter_ : int
        L-BFGS iterations.
    n_epochs_ : int
        Passes over the data in all.
    online_coef_ : ndarray of shape (n_features,)
        The confidence-weighted average after the online passes.
    online_intercept_ : float
        Its intercept.
    G_ : ndarray of shape (n_features,)
        Averaged sums of squared gradients.
    timing_ : FitTiming
        Every phase with its time split into computing, stalling and communication, and the
        bytes that moved.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, where X has them.

    See Also
    --------
    HybridLinearClassifier : The same for two classes.

    Notes
    -----
    ``fit`` takes the same tables and shards as `HybridLinearClassifier`. Do not use it for a
    small dense table: `sklearn.linear_model.Ridge` solves it directly, and
    `sklearn.linear_model.QuantileRegressor` as a linear program.

    References
    ----------
    .. [1] A. Agarwal, O. Chapelle, M. Dudík and J. Langford (2014). "A Reliable Effective
       Terascale Linear Learning System". Journal of Machine Learning Research 15.

    Examples
    --------
    >>> from sklearn.datasets import make_regression
    >>> from octavo.linear import HybridLinearRegressor
    >>> X, y = make_regression(500, 10, noise=5.0, random_state=0)
    >>> model = HybridLinearRegressor(n_shards=3).fit(X, y)
    >>> round(model.score(X, y), 3)
    0.999
    """

    _parameter_constraints: dict[str, Any] = {
        **_HybridLinear._parameter_constraints,
        "loss": [StrOptions({"squared", "quantile"})],
        "quantile": [Interval(Real, 0, 1, closed="neither")],
    }

    def __init__(
        self,
        loss: str = "squared",
        alpha: float = 1.0,
        n_online_passes: int = 1,
        eta: float = 0.5,
        G0: float = 1.0,
        max_iter: int = 50,
        memory: int = 15,
        precondition: str | None = "jacobi",
        tol: float = 1e-6,
        comm: Any = None,
        n_shards: int = 1,
        fit_intercept: bool = True,
        *,
        quantile: float = 0.5,
        gtol: float = 0.0,
        penalize_intercept: bool = False,
    ) -> None:
        self.loss = loss
        self.alpha = alpha
        self.n_online_passes = n_online_passes
        self.eta = eta
        self.G0 = G0
        self.max_iter = max_iter
        self.memory = memory
        self.precondition = precondition
        self.tol = tol
        self.comm = comm
        self.n_shards = n_shards
        self.fit_intercept = fit_intercept
        self.quantile = quantile
        self.gtol = gtol
        self.penalize_intercept = penalize_intercept

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fit to the optimum.

        Parameters
        ----------
        X : array-like, sparse matrix or dask array of shape (n_samples, n_features), or shards
            Training data; see the notes of `HybridLinearClassifier`.
        y : array-like of shape (n_samples,), optional
            Targets; None for shards, which carry their own.
        sample_weight : array-like of shape (n_samples,), optional
            Importance weights; None for shards.

        Returns
        -------
        self : HybridLinearRegressor
            The fitted regressor.
        """
        return self._hybrid_fit(X, y, sample_weight)

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn online from one more table, from wherever the weights stand.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows, visited once in their order.
        y : array-like of shape (n_samples,)
            Their targets.
        sample_weight : array-like of shape (n_samples,), optional
            Importance weights: a row of weight 2 moves the weights as two rows would.

        Returns
        -------
        self : HybridLinearRegressor
            The regressor.
        """
        X, y, sample_weight = self._table(X, y, sample_weight, reset=not hasattr(self, "coef_"))
        return self._partial_fit(X, y, sample_weight)
