"""Machines that share one kernel and one pool of support vectors: training and prediction.

What `EnsembleSVC` and `PUBaggingSVC` have in common once the rows and penalties of every machine
are known. Claesen, De Smet, Suykens and De Moor (2014), EnsembleSVM, section 2.
"""

from __future__ import annotations

import copy
import warnings
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed
from sklearn import config_context
from sklearn.base import ClassifierMixin
from sklearn.callback import CallbackSupportMixin
from sklearn.svm import SVC
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, column_or_1d

from octavo.engine.estimators.classes import encode_classes
from octavo.engine.estimators.doubles import LIBSVM_TOL, libsvm_steps, reachable_tolerance
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.estimators.sparse_rows import validate_rows
from octavo.engine.kernels.gram import Kernel, check_gram, resolve_kernel
from octavo.engine.kernels.namespaces import namespace_of, to_namespace, to_numpy
from octavo.svm.ensembles.aggregation import (
    TRAINED,
    WEIGHTED,
    Weighted,
    impute_rows,
    make_aggregator,
    needs_values,
)
from octavo.svm.ensembles.support_pool import (
    Member,
    SupportPool,
    keep_machines,
    machine_values,
    pool_decision,
    pool_members,
)


class Task(NamedTuple):
    """What one machine is trained on: its rows, without copies, and the penalty C_i of each."""

    rows: np.ndarray
    penalties: np.ndarray


def tasks_of_samples(samples: list[np.ndarray], penalties: np.ndarray) -> list[Task]:
    """Return a task for each sample; a row that was drawn twice has twice the penalty.

    Copies of a row share their slack, so that copies with C_i each and one row with their sum
    are the same problem; it is smaller with one row.
    """
    tasks = []
    for sample in samples:
        rows, counts = np.unique(sample, return_counts=True)
        tasks.append(Task(rows, counts * penalties[rows]))
    return tasks


def train_machines(
    X: Any,
    positive: np.ndarray,
    task: Task,
    kernel: Kernel,
    params: dict[str, Any],
) -> list[Member]:
    """Train a binary machine for every column of `positive` on the same rows, problem (1).

    Parameters
    ----------
    X : {ndarray, CSR matrix} of shape (n_rows, n_features)
        The rows of this sample; with a precomputed kernel their Gram matrix.
    positive : ndarray of shape (n_rows, n_columns), dtype bool
        Which rows are positive for each machine.
    task : Task
        Their numbers in the training set, and C_i.
    kernel : Kernel
        The kernel, as `params` have it.
    params : dict
        Parameters of `sklearn.svm.SVC`.

    Returns
    -------
    list of Member
        The machines.
    """
    members = []
    for column in positive.T:
        # All is checked already: on small samples checks would take longer than LIBSVM.
        with config_context(
            assume_finite=True, skip_parameter_validation=True, array_api_dispatch=False
        ):
            # C_i ξ_i of problem (1)
            svc = SVC(C=1.0, max_iter=libsvm_steps(X.shape[0]), **params)
            svc.fit(X, column, sample_weight=task.penalties)
            coef = svc.dual_coef_.toarray() if sp.issparse(svc.dual_coef_) else svc.dual_coef_
            local = Member(svc.support_, coef.ravel(), float(svc.intercept_[0]), 0.0)
            gap = duality_gap(X, column, task.penalties, local, kernel)
        members.append(local._replace(rows=task.rows[svc.support_], gap=gap))
    return members


def duality_gap(
    X: Any, positive: np.ndarray, penalties: np.ndarray, member: Member, kernel: Kernel
) -> float:
    """Return primal minus dual objective of problem (1), w'w + Σ C_i ξ_i − Σ α_i."""
    vectors = None if kernel.name == "precomputed" else X[member.rows]
    values = machine_values(X, member, vectors, kernel)
    slack = np.maximum(0.0, 1.0 - np.where(positive, values, -values))
    # w'w = Σ coef_i (f(x_i) - ρ)
    # Σ over support vectors alone, whose coefficients are y_i α_i
    squared_norm = member.coef @ (values[member.rows] - member.intercept)
    # problem (1) less its dual
    return float(squared_norm + penalties @ slack - np.abs(member.coef).sum())


def _has_proba(estimator: Any) -> bool:
    """Return whether the aggregation gives probabilities, before and after fit."""
    if hasattr(estimator, "aggregator_"):
        return estimator.aggregator_.has_proba
    aggregation = getattr(estimator, "aggregation", "mean")
    if isinstance(aggregation, str):
        return aggregation in ("vote", "logistic", "logistic_regression")
    return hasattr(aggregation, "predict_proba")


class PooledSVC(ClassifierMixin, CallbackSupportMixin, SoundEstimator):
    """Kernel machines on samples of the rows over one pool of support vectors."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = self.kernel != "precomputed"
        return tags

    # --- training ---

    def _check_training_data(self, X, y):
        """Return X on the host and y as numbers of classes; settle the classes and the kernel."""
        if not namespace_of(X).is_numpy:  # LIBSVM works on the host
            X = to_numpy(X)
        if y is not None and not namespace_of(y).is_numpy:
            y = to_numpy(y)
        X, y = validate_rows(
            self, X, y, narrow=True, accept_sparse="csr", dtype=np.float64, order="C"
        )
        y = column_or_1d(y, warn=True)
        self.classes_, y = encode_classes(y, owner=self)
        if self.kernel == "precomputed":
            if sp.issparse(X):
                raise TypeError("A precomputed kernel must be dense.")
            check_gram(X)
        return X, y

    def _settle_kernel(self, X):
        """Settle gamma once, on all rows: machines with kernels of their own share no pool."""
        degree, coef0 = getattr(self, "degree", 3), getattr(self, "coef0", 0.0)
        self._kernel = resolve_kernel(self.kernel, X, gamma=self.gamma, degree=degree, coef0=coef0)
        self.gamma_ = self._kernel.gamma

    def _svc_params(self) -> dict[str, Any]:
        kernel: Kernel = self._kernel
        return {
            "kernel": self.kernel,
            "gamma": kernel.gamma,
            "degree": int(kernel.degree),
            "coef0": kernel.coef0,
            "tol": reachable_tolerance(self.tol, floor=LIBSVM_TOL),
            "cache_size": self.cache_size,
        }

    def _fit_tasks(self, X, y, tasks):
        """Train the machines of all tasks and pool their support vectors."""
        K = len(self.classes_)
        positive = (y == 1)[:, None] if K == 2 else y[:, None] == np.arange(K)
        precomputed = self.kernel == "precomputed"
        params = self._svc_params()
        # Each task carries its own rows: a worker elsewhere receives a sample, not the set.
        found = Parallel(n_jobs=self.n_jobs, prefer="threads", return_as="generator")(
            delayed(train_machines)(
                X[np.ix_(task.rows, task.rows)] if precomputed else X[task.rows],
                positive[task.rows],
                task,
                self._kernel,
                params,
            )
            for task in tasks
        )
        members = []
        with FitProgress(self, len(tasks), X, y, step_name="machine") as progress:
            for machines in found:  # a callback's wish to stop is not heeded: all are wanted
                members += machines
                progress.step()
        self.n_support_total_ = sum(len(member.rows) for member in members)
        gaps = np.array([member.gap for member in members])
        self.duality_gap_ = gaps if K == 2 else gaps.reshape(-1, K)
        self._set_pool(pool_members(members, None if precomputed else X))

    def _set_pool(self, pool: SupportPool):
        """Bind the attributes that are the pool."""
        K = len(self.classes_)
        self.support_indices_ = pool.indices
        self.support_vectors_ = np.empty((0, 0)) if pool.vectors is None else pool.vectors
        self.dual_coef_ = pool.coef
        self.intercept_ = pool.intercept if K == 2 else pool.intercept.reshape(-1, K)

    @property
    def _pool(self) -> SupportPool:
        vectors = None if self._kernel.name == "precomputed" else self.support_vectors_
        return SupportPool(self.support_indices_, vectors, self.dual_coef_, self.intercept_.ravel())

    @property
    def _n_machines(self) -> int:
        return self.intercept_.shape[0]

    # --- out of bag ---

    def _set_out_of_bag(self, X, y, used):
        """Keep the decision values of the rows that a machine was not trained on."""
        known = np.ones((X.shape[0], self._n_machines), dtype=bool)
        for b, sample in enumerate(self.estimators_samples_):
            known[sample, b] = False
        values = self._base_values(X)
        values[~known] = np.nan
        self._out_of_bag = (values, known, y, used)

    def _out_of_bag_values(self):
        """Return (D, y) for a trained aggregation: gaps filled by the mean of their row."""
        values, known, y, used = self._out_of_bag
        return impute_rows(values, known)[used], y[used]

    def _set_oob_score(self):
        """Score the ensemble on every row by the machines that have not seen it."""
        values, known, y, used = self._out_of_bag
        decision = self.aggregator_.decision(values, known)
        self.oob_decision_function_ = decision
        seen = ~np.isnan(decision if decision.ndim == 1 else decision[:, 0])
        missed = int((used & ~seen).sum())
        if missed:
            warnings.warn(
                f"{missed} of {int(used.sum())} rows were in the sample of every machine and have "
                "no out-of-bag decision value; they are left out of oob_score_. More machines or "
                "smaller samples leave every row out somewhere.",
                UserWarning,
                stacklevel=4,
            )
        rows = used & seen
        chosen = decision[rows] > 0.0 if decision.ndim == 1 else decision[rows].argmax(axis=1)
        self.oob_score_ = float(np.mean(chosen == y[rows])) if rows.any() else float("nan")

    # --- prediction ---

    def _checked(self, X):
        check_is_fitted(self)
        xp, _, is_numpy = namespace_of(X)
        dtype = np.float64 if is_numpy else [xp.float64, xp.float32]
        return validate_rows(self, X, narrow=True, accept_sparse="csr", dtype=dtype, reset=False)

    def _base_values(self, X):
        batch = getattr(self, "batch_size", 4096)
        values = pool_decision(X, self._pool, self._kernel, batch, self.n_jobs)
        K = len(self.classes_)
        if K == 2:
            return values
        return namespace_of(values).xp.reshape(values, (values.shape[0], -1, K))

    def base_decision_function(self, X):
        """Return the decision values of every machine.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; for a precomputed kernel k(X, training rows).

        Returns
        -------
        ndarray of shape (n_samples, n_machines) or (n_samples, n_machines, n_classes)
            Positive where a machine chooses the second of two classes; for more classes, of each
            class against the others.
        """
        return self._base_values(self._checked(X))

    def decision_function(self, X):
        """Return the decision values of the ensemble.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; for a precomputed kernel k(X, training rows).

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            What the aggregation makes of the machines, less its threshold: positive where the
            second of two classes is chosen. For more classes, the largest is chosen.
        """
        values = self.base_decision_function(X)
        return self.aggregator_.decision(values)

    def predict(self, X):
        """Predict classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; for a precomputed kernel k(X, training rows).

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels; in the namespace of X where they are numbers.
        """
        values = self.base_decision_function(X)
        chosen = self.aggregator_.choose(values)
        xp, _, is_numpy = namespace_of(chosen)
        if is_numpy or self.classes_.dtype.kind not in "iufb":
            return self.classes_[to_numpy(chosen)]
        return xp.take(to_namespace(self.classes_, chosen), chosen, axis=0)

    @available_if(_has_proba)
    def predict_proba(self, X):
        """Return shares of votes, or probabilities of a logistic aggregation.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; for a precomputed kernel k(X, training rows).

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            One column a class. Shares of votes, and the logistic function of sums of decision
            values, are not calibrated; those of a trained aggregation are as good as it is.
        """
        values = self.base_decision_function(X)
        return self.aggregator_.proba(values)

    # --- editing ---

    def with_aggregation(self, aggregation, X=None, y=None, *, weights=None, threshold=None):
        """Return a copy that aggregates otherwise; nothing else is trained again.

        Parameters
        ----------
        aggregation : str, classifier or callable
            As the parameter of that name. A pipeline prepares decision values before its last
            step sees them.
        X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
            Rows to train an aggregation on that no machine was trained on. Without them
            the out-of-bag values of a fit with ``oob_score=True`` are used.
        y : array-like of shape (n_samples,), default=None
            Their labels.
        weights : array-like of shape (n_machines,), default=None
            A weight for each machine, for "vote", "mean" and "logistic".
        threshold : float, default=None
            The second of two classes is chosen above it; 1/2 for votes and probabilities and
            0 for decision values where None.

        Returns
        -------
        estimator
            Shares the pool with this one.
        """
        check_is_fitted(self)
        if (X is None) != (y is None):
            raise ValueError("An aggregation is trained on X and y; only one of them was given.")
        if isinstance(aggregation, str) and not needs_values(aggregation):
            self._check_untrained(aggregation, X)
        elif X is not None and not needs_values(aggregation):
            raise ValueError(
                "A function that aggregates is not trained; X and y are for classifiers and for "
                f"{', '.join(map(repr, TRAINED))}. Leave them out."
            )

        def values():
            if X is not None:
                D = to_numpy(self.base_decision_function(X))
                return D, self._class_numbers(y if namespace_of(y).is_numpy else to_numpy(y))
            if not hasattr(self, "_out_of_bag"):
                raise ValueError(
                    f"The aggregation {aggregation!r} is trained on decision values of rows that "
                    "the machines have not seen: pass such X and y, or fit with oob_score=True."
                )
            return self._out_of_bag_values()

        edited = copy.copy(self)
        edited.aggregator_ = make_aggregator(
            aggregation,
            self._n_machines,
            len(self.classes_),
            weights=weights,
            threshold=threshold,
            values=values,
        )
        edited._remember(aggregation=aggregation, aggregation_weights=weights, threshold=threshold)
        if hasattr(self, "oob_score_"):
            edited._set_oob_score()
        return edited

    def _remember(self, **params):
        """Set the parameters that this class has: what a fit would do again."""
        own = self.get_params(deep=False)
        for name, value in params.items():
            if name in own and ("aggregation" in own or value is not None):
                setattr(self, name, value)

    def _check_untrained(self, name, X):
        if name in WEIGHTED and X is not None:
            hint = " 'logistic_regression' is what trains one." if name == "logistic" else ""
            raise ValueError(
                f"The aggregation {name!r} is a fixed formula and is not trained; X and y would be "
                f"ignored.{hint} Leave them out."
            )
        if name not in WEIGHTED:
            raise ValueError(
                "aggregation must be one of 'vote', 'mean', 'logistic', 'logistic_regression', "
                f"'linear_svc' and 'svc', a classifier or a callable; got {name!r}."
            )

    def _class_numbers(self, y):
        y = column_or_1d(y, warn=True)
        unknown = np.setdiff1d(y, self.classes_)
        if len(unknown):
            raise ValueError(f"y holds labels that were not seen in fit: {unknown.tolist()}.")
        return np.searchsorted(self.classes_, y)

    def prune(self, weights=None):
        """Return a copy without the machines whose weight is zero.

        Parameters
        ----------
        weights : array-like of shape (n_machines,), default=None
            Weights, which those that remain keep; the present ones where None.

        Returns
        -------
        estimator
            An ensemble of the other machines, with the support vectors that they use.
        """
        check_is_fitted(self)
        if not isinstance(self.aggregator_, Weighted):
            raise ValueError(
                f"The aggregation in use, {type(self.aggregator_).__name__}, was made for all "
                f"{self._n_machines} machines. Choose 'vote', 'mean' or 'logistic' with "
                "with_aggregation first, and train another after pruning."
            )
        threshold = self.aggregator_.threshold if len(self.classes_) == 2 else None
        weighted = make_aggregator(
            self.aggregator_.name,
            self._n_machines,
            len(self.classes_),
            weights=self.aggregator_.weights if weights is None else weights,
            threshold=threshold,
        )
        assert isinstance(weighted, Weighted)
        return self._with_machines(np.flatnonzero(weighted.weights), weighted)

    def _with_machines(self, keep, weighted):
        """Return a copy with some of the machines and their weights."""
        K = len(self.classes_)
        pruned = copy.copy(self)
        columns = keep if K == 2 else (keep[:, None] * K + np.arange(K)).ravel()
        pruned._set_pool(keep_machines(self._pool, columns))
        pruned.n_support_total_ = int(pruned.dual_coef_.nnz)
        if hasattr(self, "estimators_samples_"):  # unknown for machines trained elsewhere
            pruned.estimators_samples_ = [self.estimators_samples_[b] for b in keep]
            pruned.duality_gap_ = self.duality_gap_[keep]
        weights = weighted.weights[keep]
        pruned.aggregator_ = type(weighted)(weights, weighted.threshold)
        pruned._remember(aggregation_weights=weights, n_estimators=len(keep))
        for name in ("_out_of_bag", "oob_score_", "oob_decision_function_"):
            pruned.__dict__.pop(name, None)
        if hasattr(self, "_out_of_bag"):
            values, known, y, used = self._out_of_bag
            pruned._out_of_bag = (values[:, keep], known[:, keep], y, used)
            if hasattr(self, "oob_score_"):
                pruned._set_oob_score()
        return pruned
