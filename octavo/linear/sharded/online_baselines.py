"""What the hybrid learner is compared with: online learning alone, in three distributed forms.

Agarwal, Chapelle, Dudík and Langford (2014), "A Reliable Effective Terascale Linear Learning
System": repeated online averaging (Section 2.2), overcomplete averaging (Section 3.3.2) and
parallel mini-batches (Section 3.3.3).
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.callback import with_callbacks

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.distributed.map_reduce import Site
from octavo.engine.distributed.shards import ChainShard, Shard
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.smooth.losses import LOG, loss_slope
from octavo.linear.sharded.models import ShardedClassifier
from octavo.linear.sharded.objective import online_average
from octavo.linear.sharded.passes import LinearTask, read_shard, row_dot, sweep_start

__all__ = ["OvercompleteSGD", "ParallelMiniBatchSGD", "RepeatedOnlineAveraging"]

LOSS_NAMES = {"log", "hinge", "squared_hinge", "squared"}


@njit(cache=True, nogil=True, error_model="numpy")
def _sgd(values, indices, indptr, y, weight, code, level, bias, v, scale, t, L, gamma, decay):
    """Plain stochastic gradient steps on w = scale·v (intercept last, not scaled).

    The penalty's part of a step is taken implicitly, as a division by 1 + η·decay.
    """
    intercept = v.shape[0] - 1
    for i in range(indptr.shape[0] - 1):
        t += 1
        eta = 1.0 / (L + gamma * np.sqrt(t))  # Section 3.3.2
        p = scale * row_dot(values, indices, indptr[i], indptr[i + 1], v, 1)
        p += bias * v[intercept]
        c = weight[i] if weight.shape[0] else 1.0
        slope = c * loss_slope(code, level, p, y[i])
        scale /= 1.0 + eta * decay  # w - η (slope x + decay w'), solved for w'
        for k in range(indptr[i], indptr[i + 1]):
            v[indices[k]] -= eta * slope / scale * values[k]
        v[intercept] -= eta * slope * bias
        if scale < 1e-9:
            for j in range(intercept):
                v[j] *= scale
            scale = 1.0
    return scale, t


def sgd_pass(
    site: Site, task: LinearTask, L: float, gamma: float, decay: float
) -> tuple[Floats, int]:
    """Return the weights after one pass over the shard, and one for a node that has rows."""
    v, scale, t = np.zeros(task.n_features + 1), 1.0, 0
    for block in site.shard.blocks():
        values, indices, indptr, _, weight = block
        scale, t = _sgd(
            values, indices, indptr, task.targets(block), weight,
            task.step_code, task.level, task.bias, v, scale, t, L, gamma, decay,
        )  # fmt: skip
        site.work += block.nnz
    v[:-1] *= scale
    return v, int(t > 0)


def batch_gradient(
    site: Site, task: LinearTask, w: Floats, start: int, share: int
) -> tuple[Floats, float]:
    """Return the summed gradient of some rows, and how many there were."""
    n = site.shard.n_rows
    state = np.zeros(4 * w.size)
    state[::4] = w
    if n is None:
        site.shard.rows(0, 0)  # says that a stream cannot be read at a given row
    rows = 0.0
    if n and start < n:
        block = site.shard.rows(start, min(start + share, n))
        sweep_start(*read_shard(task, block), state, np.empty(block.y.size))
        site.work += block.nnz
        rows = float(block.y.size)
    return state[1::4].copy(), rows


def _exact(task: LinearTask) -> LinearTask:
    """Return the task with the loss itself in place of its smoothed form."""
    return task._replace(code=task.step_code, h=task.level, scale=1.0, tilt=0.0)


class RepeatedOnlineAveraging(ShardedClassifier):
    """Binary linear classifier from online passes with averaging, without a batch phase.

    Every node passes over its shard with adaptive, importance-invariant steps; weights and
    confidences are averaged (Eq. 2), and the next pass starts from there.

    Parameters
    ----------
    n_epochs : int, default=5
        Passes over the data, with an average after each.
    eta : float, default=0.5
        Rate of the online pass.
    G0 : float, default=1.0
        Squared gradients that every feature is taken to have seen before the first row.
    comm : None, "threads", "dask", str, distributed.Client, mpi4py communicator or Communicator, \
            default=None
        Where shards are worked on; see `HybridLinearClassifier`.
    n_shards : int, default=1
        Shards that a table is cut into.
    fit_intercept : bool, default=True
        Whether to add an intercept.

    Attributes
    ----------
    G_ : ndarray of shape (n_features,)
        Averaged sums of squared gradients.
    losses_ : ndarray of shape (n_epochs,)
        Mean loss of each row just before it was learnt from, pass by pass.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, where X has them.

    See Also
    --------
    HybridLinearClassifier : Goes on to the optimum.

    Notes
    -----
    It finds a fair model in very few passes; do not use it when the last percent matters:
    `HybridLinearClassifier` continues from the same average. `sklearn.linear_model.SGDClassifier`
    is the sequential counterpart.

    References
    ----------
    .. [1] A. Agarwal, O. Chapelle, M. Dudík and J. Langford (2014). "A Reliable Effective
       Terascale Linear Learning System". Journal of Machine Learning Research 15.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from octavo.linear import RepeatedOnlineAveraging
    >>> X, y = make_classification(1000, random_state=0)
    >>> model = RepeatedOnlineAveraging(n_epochs=2, n_shards=4).fit(X, y)
    >>> bool(model.losses_[1] < model.losses_[0])
    True
    """

    _parameter_constraints: dict[str, Any] = {
        **ShardedClassifier._parameter_constraints,
        "loss": [StrOptions(LOSS_NAMES)],
        "n_epochs": [Interval(Integral, 1, None, closed="left")],
        "eta": [Interval(Real, 0, None, closed="neither")],
        "G0": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        loss: str = "log",
        n_epochs: int = 5,
        eta: float = 0.5,
        G0: float = 1.0,
        comm: Any = None,
        n_shards: int = 1,
        fit_intercept: bool = True,
    ) -> None:
        self.loss = loss
        self.n_epochs = n_epochs
        self.eta = eta
        self.G0 = G0
        self.comm = comm
        self.n_shards = n_shards
        self.fit_intercept = fit_intercept

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Make the online passes.

        Parameters
        ----------
        X : array-like, sparse matrix or dask array of shape (n_samples, n_features), or shards
            Training data, as for `HybridLinearClassifier`.
        y : array-like of shape (n_samples,), optional
            Labels of two classes; None for shards.
        sample_weight : array-like of shape (n_samples,), optional
            Importance weights; None for shards.

        Returns
        -------
        self : RepeatedOnlineAveraging
            The fitted classifier.
        """
        with (
            self._training(X, y, sample_weight) as training,
            FitProgress(self, self.n_epochs, X, y, step_name="pass") as progress,
        ):
            state, losses = None, []
            for _ in range(self.n_epochs):
                state = online_average(training.comm, training.task, self.eta, self.G0, state)
                losses.append(state.loss / training.weight)
                self._store(state.w)
                self.G_ = state.G[:-1].copy()
                if progress.step(coef_=self.coef_, intercept_=self.intercept_):
                    break
            self.losses_ = np.array(losses)
        return self


class OvercompleteSGD(ShardedClassifier):
    """Binary linear classifier from independent SGD runs on overlapping samples, averaged.

    Node k runs plain stochastic gradient descent over its own shard and the following
    ``n_replicas - 1``; the final weights are averaged uniformly (Zinkevich et al. 2010).

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the L2 penalty on the sum of losses.
    n_replicas : int, default=1
        How often each shard is used.
    L, gamma : float, default=1.0
        Rate of step t: 1/(L + gamma·√t).
    comm : None, "threads", "dask", str, distributed.Client, mpi4py communicator or Communicator, \
            default=None
        Where shards are worked on; see `HybridLinearClassifier`.
    n_shards : int, default=1
        Shards that a table is cut into.
    fit_intercept : bool, default=True
        Whether to add an intercept.

    Attributes
    ----------
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, where X has them.

    See Also
    --------
    RepeatedOnlineAveraging : Adaptive steps and averages in between.

    Notes
    -----
    A baseline: do not choose it for its own sake. Its replicas move the data themselves between
    machines, and it converges slowly on hard problems. `sklearn.linear_model.SGDClassifier` is
    the sequential counterpart.

    References
    ----------
    .. [1] M. Zinkevich, M. Weimer, A. Smola and L. Li (2010). "Parallelized Stochastic Gradient
       Descent". Advances in Neural Information Processing Systems 23.
    .. [2] A. Agarwal, O. Chapelle, M. Dudík and J. Langford (2014). "A Reliable Effective
       Terascale Linear Learning System". Journal of Machine Learning Research 15.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from octavo.linear import OvercompleteSGD
    >>> X, y = make_classification(1000, random_state=0)
    >>> OvercompleteSGD(n_shards=4, n_replicas=2).fit(X, y).score(X, y) > 0.9
    True
    """

    _parameter_constraints: dict[str, Any] = {
        **ShardedClassifier._parameter_constraints,
        "loss": [StrOptions(LOSS_NAMES)],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "n_replicas": [Interval(Integral, 1, None, closed="left")],
        "L": [Interval(Real, 0, None, closed="neither")],
        "gamma": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        loss: str = "log",
        alpha: float = 1.0,
        n_replicas: int = 1,
        L: float = 1.0,
        gamma: float = 1.0,
        comm: Any = None,
        n_shards: int = 1,
        fit_intercept: bool = True,
    ) -> None:
        self.loss = loss
        self.alpha = alpha
        self.n_replicas = n_replicas
        self.L = L
        self.gamma = gamma
        self.comm = comm
        self.n_shards = n_shards
        self.fit_intercept = fit_intercept

    def _shards(self, X: Any, y: Any, sample_weight: Any) -> list[Shard]:
        own = super()._shards(X, y, sample_weight)
        if self.n_replicas == 1:
            return own
        m = len(own)
        return [ChainShard([own[(k + r) % m] for r in range(self.n_replicas)]) for k in range(m)]

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Run the nodes and average.

        Parameters
        ----------
        X : array-like, sparse matrix or dask array of shape (n_samples, n_features), or shards
            Training data, as for `HybridLinearClassifier`.
        y : array-like of shape (n_samples,), optional
            Labels of two classes; None for shards.
        sample_weight : array-like of shape (n_samples,), optional
            Factors of the rows' gradients; None for shards.

        Returns
        -------
        self : OvercompleteSGD
            The fitted classifier.
        """
        with (
            self._training(X, y, sample_weight) as training,
            FitProgress(self, 1, X, y, step_name="pass") as progress,
        ):
            n = sum(fact.n_rows for fact in training.facts) / self.n_replicas
            total, nodes = training.comm.run(
                sgd_pass, training.task, self.L, self.gamma, self.alpha / n, phase="sgd", race=True
            )
            self._store(total / nodes)
            progress.step(coef_=self.coef_, intercept_=self.intercept_)
        return self


class ParallelMiniBatchSGD(ShardedClassifier):
    """Binary linear classifier by mini-batches whose gradients all nodes share.

    Every update sums the gradients of ``batch_size`` rows, a part of them at each node (Dekel et
    al. 2012). Communication is one vector an update, which is what makes it slow on a cluster.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the L2 penalty on the sum of losses.
    batch_size : int or None, default=None
        Rows of an update, over all nodes; the square root of their number by default.
    n_epochs : int, default=10
        Passes over the data.
    L, gamma : float, default=1.0
        Rate of update t on m nodes: 1/(L + gamma·√(t/m)).
    comm : None, "threads", "dask", str, distributed.Client, mpi4py communicator or Communicator, \
            default=None
        Where shards are worked on; see `HybridLinearClassifier`.
    n_shards : int, default=1
        Shards that a table is cut into.
    fit_intercept : bool, default=True
        Whether to add an intercept.

    Attributes
    ----------
    n_updates_ : int
        Updates made, each of which moved a vector through the tree.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, where X has them.

    See Also
    --------
    communication_cost : What the updates cost each node.

    Notes
    -----
    A baseline: do not choose it for its own sake. Shards must be tables or files, not streams.
    `sklearn.linear_model.SGDClassifier` makes smaller steps on one machine.

    References
    ----------
    .. [1] O. Dekel, R. Gilad-Bachrach, O. Shamir and L. Xiao (2012). "Optimal Distributed Online
       Prediction Using Mini-Batches". Journal of Machine Learning Research 13.
    .. [2] A. Agarwal, O. Chapelle, M. Dudík and J. Langford (2014). "A Reliable Effective
       Terascale Linear Learning System". Journal of Machine Learning Research 15.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from octavo.linear import ParallelMiniBatchSGD
    >>> X, y = make_classification(1000, random_state=0)
    >>> ParallelMiniBatchSGD(n_shards=4).fit(X, y).n_updates_
    360
    """

    _parameter_constraints: dict[str, Any] = {
        **ShardedClassifier._parameter_constraints,
        "loss": [StrOptions(LOSS_NAMES)],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "batch_size": [Interval(Integral, 1, None, closed="left"), None],
        "n_epochs": [Interval(Integral, 1, None, closed="left")],
        "L": [Interval(Real, 0, None, closed="neither")],
        "gamma": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        loss: str = "log",
        alpha: float = 1.0,
        batch_size: int | None = None,
        n_epochs: int = 10,
        L: float = 1.0,
        gamma: float = 1.0,
        comm: Any = None,
        n_shards: int = 1,
        fit_intercept: bool = True,
    ) -> None:
        self.loss = loss
        self.alpha = alpha
        self.batch_size = batch_size
        self.n_epochs = n_epochs
        self.L = L
        self.gamma = gamma
        self.comm = comm
        self.n_shards = n_shards
        self.fit_intercept = fit_intercept

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Make the updates.

        Parameters
        ----------
        X : array-like, sparse matrix or dask array of shape (n_samples, n_features), or shards
            Training data, as for `HybridLinearClassifier`, without streams.
        y : array-like of shape (n_samples,), optional
            Labels of two classes; None for shards.
        sample_weight : array-like of shape (n_samples,), optional
            Factors of the rows' gradients; None for shards.

        Returns
        -------
        self : ParallelMiniBatchSGD
            The fitted classifier.
        """
        with (
            self._training(X, y, sample_weight) as training,
            FitProgress(self, self.n_epochs, X, y, step_name="pass") as progress,
        ):
            comm, task = training.comm, _exact(training.task)
            sizes = [fact.n_rows for fact in training.facts]
            n, m = sum(sizes), len(sizes)
            share = max(1, (self.batch_size or int(np.sqrt(n))) // m)
            decay = np.full(task.n_features + 1, self.alpha / n)
            decay[-1] = 0.0
            w, t = np.zeros(task.n_features + 1), 0
            for _ in range(self.n_epochs):
                for start in range(0, max(sizes), share):
                    t += 1
                    gradient, rows = comm.run(batch_gradient, task, w, start, share, phase="batch")
                    eta = 1.0 / (self.L + self.gamma * np.sqrt(t / m))  # Section 3.3.3
                    w = (w - eta * gradient / rows) / (1.0 + eta * decay)
                self._store(w)
                self.n_updates_ = t
                if progress.step(coef_=self.coef_, intercept_=self.intercept_):
                    break
        return self


def _warmup() -> None:
    indices, indptr = np.array([0], np.uint32), np.array([0, 1])
    for dtype in (np.float64, np.float32):
        _sgd(
            np.ones(1, dtype), indices, indptr, np.ones(1), np.empty(0),
            LOG, 0.5, 1.0, np.zeros(2), 1.0, 0, 1.0, 1.0, 0.1,
        )  # fmt: skip
