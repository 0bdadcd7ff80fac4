"""Ensembles of kernel support vector machines on samples of the rows.

Many machines on a few thousand rows each cost far less than one on all rows, and vote nearly as
well. They share one kernel and one pool of support vectors, so that prediction compares a query
with every distinct support vector once.

Claesen, De Smet, Suykens and De Moor (2014), EnsembleSVM: a library for ensemble learning using
support vector machines, JMLR 15:141-145: all sections. Training and prediction are in
`octavo.svm.ensembles.pooled_svc`, the pool in `octavo.svm.ensembles.support_pool`.
"""

from __future__ import annotations

import copy
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.callback import with_callbacks
from sklearn.utils import check_random_state, compute_class_weight
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.sklearn_door import (
    HasMethods,
    Interval,
    StrOptions,
    check_sample_weight,
    fit_context,
)
from octavo.engine.estimators.sparse_rows import canonical_csr
from octavo.engine.kernels.namespaces import namespace_of, to_numpy
from octavo.svm.ensembles.aggregation import (
    TRAINED,
    WEIGHTED,
    Trained,
    check_aggregation,
    make_aggregator,
    needs_values,
)
from octavo.svm.ensembles.merging import check_alike, kernel_of_svc, pool_of_svc
from octavo.svm.ensembles.pooled_svc import PooledSVC, Task, tasks_of_samples
from octavo.svm.ensembles.samples import SamplingPlan, draw_samples
from octavo.svm.ensembles.support_pool import merge_pools

__all__ = ["EnsembleSVC", "merge_ensembles"]

OF_TRAINING = ("estimators_samples_", "duality_gap_")  # unknown for machines trained elsewhere
OUT_OF_BAG = ("_out_of_bag", "oob_score_", "oob_decision_function_")
KERNEL_CONSTRAINTS: dict[str, list[Any]] = {
    "C": [Interval(Real, 0, None, closed="neither")],
    "kernel": [StrOptions({"linear", "poly", "rbf", "sigmoid", "precomputed"}), callable],
    "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0, None, closed="neither")],
    "degree": [Interval(Integral, 0, None, closed="left")],
    "coef0": [Interval(Real, None, None, closed="neither")],
    "tol": [Interval(Real, 0, None, closed="neither")],
    "cache_size": [Interval(Real, 0, None, closed="neither")],
    "batch_size": [Interval(Integral, 1, None, closed="left")],
    "n_jobs": [None, Integral],
    "random_state": ["random_state"],
}


# --- what a user says about samples and penalties ------------------------------------------------


def tasks_of_penalties(penalties: Any, n: int) -> list[Task]:
    """Return a task for each row of a matrix of C_i; rows of the data with C_i = 0 have no part."""
    matrix = sp.csr_array(penalties, dtype=np.float64, copy=True)  # zeros are dropped below
    if matrix.ndim != 2 or matrix.shape[1] != n:
        raise ValueError(
            f"penalties must have a row for each machine and a column for each of the {n} "
            f"samples; got shape {matrix.shape}."
        )
    matrix = canonical_csr(matrix)
    if not np.isfinite(matrix.data).all():
        raise ValueError("penalties must be finite; they hold NaN or infinite values.")
    if matrix.data.min(initial=0.0) < 0.0:
        raise ValueError(f"penalties must not be negative; the smallest is {matrix.data.min():g}.")
    matrix.eliminate_zeros()
    bounds = zip(matrix.indptr[:-1], matrix.indptr[1:])
    return [Task(matrix.indices[a:b].astype(np.intp), matrix.data[a:b]) for a, b in bounds]


def check_indices(sample_indices: Any, n: int, used: np.ndarray) -> list[np.ndarray]:
    """Return the samples that a user gave as arrays of row numbers that may be drawn."""
    samples = []
    for b, sample in enumerate(sample_indices):
        rows = np.asarray(sample)
        if rows.ndim != 1 or rows.dtype.kind not in "iu":
            raise ValueError(
                f"sample_indices must be a list of arrays of row numbers; number {b} has dtype "
                f"{rows.dtype} and {rows.ndim} dimensions."
            )
        if len(rows) and not (rows.min() >= 0 and rows.max() < n):
            raise ValueError(
                f"sample_indices number {b} holds rows from {rows.min()} to {rows.max()}; the "
                f"rows are numbered 0 to {n - 1}."
            )
        samples.append(rows[used[rows]].astype(np.intp))
    return samples


def check_every_class(tasks: list[Task], y: np.ndarray, classes: np.ndarray) -> None:
    """Refuse samples that lack a class: their machine would have nothing to separate."""
    if not tasks:
        raise ValueError("An ensemble needs one sample or more; got none.")
    for b, task in enumerate(tasks):
        missing = np.setdiff1d(np.arange(len(classes)), y[task.rows])
        if len(missing):
            raise ValueError(
                f"Sample {b} holds no row of class {classes[missing[0]]!r}; every machine needs "
                "rows of all classes."
            )


# --- the estimator -------------------------------------------------------------------------------


class EnsembleSVC(PooledSVC):
    """Ensemble of kernel SVMs on samples of the rows, with one pool of support vectors.

    Every machine solves problem (1) of [1]_ by LIBSVM on a sample of the rows, with a penalty
    C_i for each row. All share one kernel, so that a distinct support vector is stored and
    compared with a query once, however many machines use it. A sample of n/p rows for each of p
    machines brings the n² of a single machine down to n²/p.

    Parameters
    ----------
    n_estimators : int, default=20
        Number of machines. An odd number leaves no ties to a vote of two classes.
    max_samples : "auto", int or float, default="auto"
        Rows of a sample: a number, or a share of all. "auto" is all up to 2,000; for balanced
        samples no more than the rarest class allows; for a partition everything.
    C : float, default=1.0
        Penalty of an error.
    kernel : {"rbf", "linear", "poly", "sigmoid", "precomputed"} or callable, default="rbf"
        The kernel. With "precomputed", X is the matrix of kernel values between training rows,
        and between rows and training rows to predict. A callable k(X, Y) must be deterministic.
    gamma : {"scale", "auto"} or float, default="scale"
        Scale of "rbf", "poly" and "sigmoid". "scale" is 1 / (n_features · variance of X), settled
        once on all rows and shared by the machines; "auto" is 1 / n_features.
    degree : int, default=3
        Degree of "poly".
    coef0 : float, default=0.0
        Offset of "poly" and "sigmoid".
    class_weight : dict or "balanced", default=None
        Multiplies C for each class.
    sampling : {"stratified", "balanced", "bootstrap", "partition"}, default="stratified"
        How samples are drawn. "stratified" keeps the ratio of the classes within one row;
        "balanced" takes as many rows of each class; "bootstrap" ignores classes; "partition"
        deals every row to one machine.
    replace : bool, default=True
        Draw with replacement. A partition never does.
    n_pos : int, default=None
        Rows of the second class in each sample, for two classes and sampling by class.
    n_neg : int, default=None
        Rows of the first class in each sample.
    aggregation : str, classifier or callable, default="vote"
        How machines decide together. "vote": share of votes; "mean": mean decision value;
        "logistic": logistic function of the sum of decision values. Trained on out-of-bag decision
        values: "logistic_regression", "linear_svc", "svc" (scikit-learn's, with their
        defaults) or any classifier. A callable takes the decision values of the machines and
        returns those of the ensemble.
    aggregation_weights : array-like of shape (n_estimators,), default=None
        Weights of the machines in "vote", "mean" and "logistic"; ones where None.
    threshold : float, default=None
        The second of two classes is chosen above it. Where None, 1/2 of the share of votes or of
        a probability, and 0 for decision values.
    oob_score : bool, default=False
        Whether to score every row by the machines that were not trained on it.
    tol : float, default=1e-3
        Tolerance of LIBSVM's optimality conditions; at least 1e-10, what it can reach.
    cache_size : float, default=200
        Megabytes of LIBSVM's cache, for each machine in training.
    batch_size : int, default=4096
        Rows that prediction takes at a time at most; on the host a block of kernel values
        also stays below 16 MB.
    n_jobs : int, default=None
        Machines trained, or batches predicted, at a time. Training runs where the joblib
        backend says: threads by default, processes or a Dask cluster by its context manager.
    random_state : int, RandomState instance or None, default=None
        Draws samples. The ensemble does not depend on `n_jobs` or on where it was trained.

    Attributes
    ----------
    support_indices_ : ndarray of shape (n_pool,)
        Rows of the training set that some machine uses; the first of equal rows.
    support_vectors_ : {ndarray, CSR matrix} of shape (n_pool, n_features)
        Those rows; empty for a precomputed kernel.
    dual_coef_ : CSC array of shape (n_pool, n_machines)
        Signed dual coefficients. With more than two classes there are ``n_classes`` columns for
        each sample, one after the other.
    intercept_ : ndarray of shape (n_estimators,) or (n_estimators, n_classes)
        Offsets.
    estimators_samples_ : list of ndarray
        Rows of the sample of each machine, those drawn twice twice.
    duality_gap_ : ndarray of shape (n_estimators,) or (n_estimators, n_classes)
        Primal minus dual objective of the problem of every machine, where LIBSVM stopped.
    n_support_total_ : int
        Support vectors of all machines, counted for each machine; over ``len(support_indices_)``
        it tells what sharing saves.
    gamma_ : float
        The value of `gamma` that was used.
    aggregator_ : object
        The aggregation in use; its ``threshold``, ``weights`` or trained ``estimator``.
    oob_decision_function_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
        Decision values from the machines that were not trained on a row; NaN where there is none.
        With ``oob_score=True``.
    oob_score_ : float
        Accuracy of `oob_decision_function_`.
    classes_ : ndarray of shape (n_classes,)
        Labels; the second of two is positive.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit.

    See Also
    --------
    merge_ensembles : One ensemble from several.
    PUBaggingSVC : The same for positive and unlabelled rows.
    sklearn.ensemble.BaggingClassifier : Ensembles of any classifier, nothing shared.

    Notes
    -----
    Do not use it where one `sklearn.svm.SVC` is affordable (up to some 10,000 rows): a single
    machine on all rows is rarely worse. With many features and a linear boundary,
    `sklearn.svm.LinearSVC` is faster still. Scale features outside, in a pipeline.

    A row that was drawn twice enters once with twice the penalty, which is the same problem. More
    than two classes are one against the others over the same samples and one pool; a vote is
    then for the class of the largest value. Ties of votes go to the first class.

    A trained aggregation never sees the decision value of a machine on its own rows: such values
    are replaced by the mean of the others of that row. The score out of bag of a trained
    aggregation is optimistic, because it was trained on the same values.

    With ``sklearn.set_config(array_api_dispatch=True)``, prediction for arrays of another
    namespace is computed there, on their device and in their precision. Training stays on the host,
    and so do classifiers that aggregate.

    References
    ----------
    .. [1] Claesen, De Smet, Suykens and De Moor (2014). EnsembleSVM: a library for ensemble
       learning using support vector machines. JMLR 15:141-145.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from octavo.svm import EnsembleSVC
    >>> X, y = make_moons(5000, noise=0.2, random_state=0)
    >>> model = EnsembleSVC(11, max_samples=300, oob_score=True, random_state=0).fit(X, y)
    >>> print(f"{model.oob_score_:.3f}")
    0.963
    >>> len(model.support_indices_) < model.n_support_total_
    True
    """

    _parameter_constraints = {
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "max_samples": [
            StrOptions({"auto"}),
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="right"),
        ],
        **KERNEL_CONSTRAINTS,
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "sampling": [StrOptions({"stratified", "balanced", "bootstrap", "partition"})],
        "replace": ["boolean"],
        "n_pos": [None, Interval(Integral, 1, None, closed="left")],
        "n_neg": [None, Interval(Integral, 1, None, closed="left")],
        "aggregation": [
            StrOptions({*WEIGHTED, *TRAINED}),
            HasMethods(["fit", "predict"]),
            callable,
        ],
        "aggregation_weights": ["array-like", None],
        "threshold": [Interval(Real, None, None, closed="neither"), None],
        "oob_score": ["boolean"],
    }

    def __init__(
        self,
        n_estimators=20,
        *,
        max_samples="auto",
        C=1.0,
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=0.0,
        class_weight=None,
        sampling="stratified",
        replace=True,
        n_pos=None,
        n_neg=None,
        aggregation="vote",
        aggregation_weights=None,
        threshold=None,
        oob_score=False,
        tol=1e-3,
        cache_size=200,
        batch_size=4096,
        n_jobs=None,
        random_state=None,
    ):
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.class_weight = class_weight
        self.sampling = sampling
        self.replace = replace
        self.n_pos = n_pos
        self.n_neg = n_neg
        self.aggregation = aggregation
        self.aggregation_weights = aggregation_weights
        self.threshold = threshold
        self.oob_score = oob_score
        self.tol = tol
        self.cache_size = cache_size
        self.batch_size = batch_size
        self.n_jobs = n_jobs
        self.random_state = random_state

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, sample_weight=None, sample_indices=None, penalties=None):
        """Train the machines.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows; for a precomputed kernel the (n_samples, n_samples) kernel values.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Multiplies C for each row. Rows of weight zero are never drawn.
        sample_indices : list of array-like, default=None
            The rows of each machine, instead of samples drawn here.
        penalties : {array-like, sparse matrix} of shape (n_machines, n_samples), default=None
            C_i of every row for every machine, instead of `C`, `class_weight` and samples: a
            machine is trained on the rows that have a penalty.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        X, y = self._check_training_data(X, y)
        used = self._used_rows(X, y, sample_weight, sample_indices, penalties)
        self._settle_kernel(X if used.all() or self.kernel == "precomputed" else X[used])
        if penalties is not None:
            tasks = tasks_of_penalties(penalties, X.shape[0])
            self.estimators_samples_ = [task.rows for task in tasks]
        else:
            samples = self._samples(y, used, sample_indices)
            tasks = tasks_of_samples(samples, self._penalties(y, used))
            self.estimators_samples_ = samples
        check_every_class(tasks, y, self.classes_)
        self._check_aggregation(len(tasks))
        self._fit_tasks(X, y, tasks)
        if self.oob_score or needs_values(self.aggregation):
            self._set_out_of_bag(X, y, used)
        self._set_aggregator()
        del self._weight
        return self

    def _used_rows(self, X, y, sample_weight, sample_indices, penalties):
        """Return which rows have a weight, after checking what contradicts."""
        if penalties is not None:
            for name, given in (
                ("sample_weight", sample_weight),
                ("sample_indices", sample_indices),
                ("class_weight", self.class_weight),
            ):
                if given is not None:
                    raise ValueError(f"penalties are all C_i: {name} cannot be given beside them.")
        if sample_weight is not None and not namespace_of(sample_weight).is_numpy:
            sample_weight = to_numpy(sample_weight)
        weight = check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        used = weight > 0.0
        for k, label in enumerate(self.classes_):
            if not used[y == k].any():
                raise ValueError(f"Every row of class {label!r} has sample_weight zero.")
        self._weight = weight
        return used

    def _penalties(self, y, used):
        """Return C_i = C · class weight · sample weight."""
        by_class = compute_class_weight(
            self.class_weight, classes=self.classes_, y=self.classes_[y[used]]
        )
        return self.C * by_class[y] * self._weight

    def _samples(self, y, used, sample_indices):
        """Return the rows of every machine: those given, or drawn."""
        if sample_indices is not None:
            return check_indices(sample_indices, len(y), used)
        plan = SamplingPlan(self.sampling, self.max_samples, self.replace, self.n_neg, self.n_pos)
        rng = check_random_state(self.random_state)
        return draw_samples(y, np.flatnonzero(used), self.n_estimators, plan, rng)

    def _check_aggregation(self, n_machines):
        """Refuse weights and thresholds before anything is trained."""
        K, weights = len(self.classes_), self.aggregation_weights
        check_aggregation(self.aggregation, K, weights, self.threshold)
        if not needs_values(self.aggregation):
            make_aggregator(
                self.aggregation, n_machines, K, weights=weights, threshold=self.threshold
            )

    def _set_aggregator(self):
        """Make the aggregator, and score out of bag where asked to."""
        self.aggregator_ = make_aggregator(
            self.aggregation,
            self._n_machines,
            len(self.classes_),
            weights=self.aggregation_weights,
            threshold=self.threshold,
            values=self._out_of_bag_values if hasattr(self, "_out_of_bag") else None,
        )
        if self.oob_score:
            self._set_oob_score()
        else:
            for name in OUT_OF_BAG:  # of an earlier fit, or for training the aggregation alone
                self.__dict__.pop(name, None)

    @classmethod
    def from_svcs(cls, svcs, *, aggregation="vote", aggregation_weights=None, threshold=None):
        """Make an ensemble of machines that were trained elsewhere.

        Parameters
        ----------
        svcs : list of SVC, NuSVC or LinearSVC
            Fitted on two classes, the same for all, with one kernel; a `LinearSVC` has the linear
            kernel. Machines fitted with ``gamma="scale"`` on different rows have different
            kernels and are refused.
        aggregation : str or callable, default="vote"
            One that needs no training; see `with_aggregation` for others.
        aggregation_weights : array-like of shape (n_machines,), default=None
            Weights of the machines.
        threshold : float, default=None
            The second class is chosen above it.

        Returns
        -------
        EnsembleSVC
            Fitted. Its `support_indices_` are rows of the training sets of the machines (−1 for
            the weight vector of a `LinearSVC`); it has no samples and no duality gaps.
        """
        svcs = list(svcs)
        if not svcs:
            raise ValueError("from_svcs needs one fitted machine or more; got none.")
        kernels = [kernel_of_svc(svc) for svc in svcs]
        check_alike(svcs, kernels)
        first, kernel = svcs[0], kernels[0]
        model = cls(
            len(svcs),
            C=first.C,
            kernel=kernel.name,
            gamma=kernel.gamma,
            degree=kernel.degree,
            coef0=kernel.coef0,
            aggregation=aggregation,
            aggregation_weights=aggregation_weights,
            threshold=threshold,
        )
        if needs_values(aggregation):
            raise ValueError(
                f"The aggregation {aggregation!r} must be trained: make the ensemble with 'vote' "
                "and call with_aggregation(aggregation, X, y)."
            )
        model.classes_, model.n_features_in_ = first.classes_, first.n_features_in_
        model._kernel, model.gamma_ = kernel, kernel.gamma
        pools = [pool_of_svc(svc) for svc in svcs]
        model.n_support_total_ = sum(int(pool.coef.nnz) for pool in pools)
        model._set_pool(merge_pools(pools))
        model._set_aggregator()
        return model


@checked
def merge_ensembles(ensembles):
    """Merge fitted ensembles into one, whose machines are all of theirs.

    Machines may be trained anywhere, on any rows, and are merged here: support vectors that
    several of them use are found by their values and stored once.

    Parameters
    ----------
    ensembles : list of EnsembleSVC
        Fitted, with one kernel, one set of classes and one aggregation that is not trained. With a
        precomputed kernel they must have been trained on one training set.

    Returns
    -------
    EnsembleSVC
        Fitted; the machines are in the order of the list. Its `support_indices_` are those of the
        first ensemble that holds a vector, and mean one thing where all were trained on one set.

    References
    ----------
    .. [1] Claesen, De Smet, Suykens and De Moor (2014). EnsembleSVM: a library for ensemble
       learning using support vector machines. JMLR 15:141-145.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from octavo.svm import EnsembleSVC, merge_ensembles
    >>> X, y = make_moons(1000, noise=0.2, random_state=0)
    >>> parts = [EnsembleSVC(5, gamma=2.0, random_state=seed).fit(X, y) for seed in range(3)]
    >>> merge_ensembles(parts).dual_coef_.shape[1]
    15
    """
    ensembles = list(ensembles)
    if not ensembles:
        raise ValueError("merge_ensembles needs one fitted ensemble or more; got none.")
    for ensemble in ensembles:
        if not isinstance(ensemble, EnsembleSVC):
            raise TypeError(f"Expected fitted EnsembleSVC; got {type(ensemble).__name__}.")
        check_is_fitted(ensemble)
    check_alike(ensembles, [ensemble._kernel for ensemble in ensembles])
    first = ensembles[0]
    _check_same_aggregation(ensembles)
    merged = copy.copy(first)
    for name in (*OF_TRAINING, *OUT_OF_BAG):
        merged.__dict__.pop(name, None)
    merged.n_support_total_ = sum(ensemble.n_support_total_ for ensemble in ensembles)
    merged._set_pool(merge_pools([ensemble._pool for ensemble in ensembles]))
    merged.n_estimators, merged.oob_score = merged._n_machines, False
    merged.gamma = first.gamma_
    if all(hasattr(ensemble, "estimators_samples_") for ensemble in ensembles):
        merged.estimators_samples_ = [s for e in ensembles for s in e.estimators_samples_]
        merged.duality_gap_ = np.concatenate([e.duality_gap_ for e in ensembles])
    if any(ensemble.aggregation_weights is not None for ensemble in ensembles):
        merged.aggregation_weights = np.concatenate([e.aggregator_.weights for e in ensembles])
    merged._set_aggregator()
    return merged


def _check_same_aggregation(ensembles: list[Any]) -> None:
    """Refuse aggregations that differ, or that were trained for some of the machines."""
    first = ensembles[0]
    for ensemble in ensembles:
        if isinstance(ensemble.aggregator_, Trained):
            raise ValueError(
                f"The aggregation {ensemble.aggregation!r} was trained for the machines of one "
                "ensemble. Merge with 'vote', 'mean' or 'logistic' (with_aggregation swaps it), "
                "and train another on the merged ensemble."
            )
        if (ensemble.aggregation, ensemble.threshold) != (first.aggregation, first.threshold):
            raise ValueError(
                "Ensembles to merge must have the same aggregation and threshold; got "
                f"{first.aggregation!r} with {first.threshold!r} and {ensemble.aggregation!r} "
                f"with {ensemble.threshold!r}."
            )
