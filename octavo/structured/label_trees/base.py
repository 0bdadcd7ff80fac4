"""What the multi-label machines over trees share: checked labels, kernels, scores, certificates."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.estimators.sparse_rows import validate_rows
from octavo.engine.kernels.gram import KERNELS, Kernel, check_gram, resolve_kernel
from octavo.structured.label_trees.decoding import Decoded, decode
from octavo.structured.label_trees.parities import label_pairs, parities, parity_weights
from octavo.structured.label_trees.training import Margins, TreeMachine, train
from octavo.structured.label_trees.tree_weights import TreeMixture

CONSTRAINTS: dict[str, list[Any]] = {
    "kernel": [StrOptions(set(KERNELS)), callable],
    "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0, None, closed="neither"), None],
    "intercept_scaling": [Interval(Real, 0, None, closed="left")],
    "C": [Interval(Real, 0, None, closed="neither")],
    "loss": [StrOptions({"hamming", "zero_one"})],
    "max_outer": [Interval(Integral, 1, None, closed="left")],
    "inner_factor": [Interval(Integral, 1, None, closed="left")],
    "tol": [Interval(Real, 0, None, closed="neither")],
    "k_best": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
    "node_potentials": ["boolean"],
    "n_jobs": [Integral, None],
    "random_state": ["random_state"],
}


def label_matrix(Y: Any, name: str = "Y") -> np.ndarray:
    """Return label sets as a dense matrix of 0 and 1; refuse everything else.

    Parameters
    ----------
    Y : {array-like, sparse matrix} of shape (n_samples, n_labels)
        0 and 1, or False and True.
    name : str, default="Y"
        What messages call it.

    Returns
    -------
    ndarray of shape (n_samples, n_labels), int8
        The labels.
    """
    if sp.issparse(Y):
        Y = Y.toarray()  # entries that are stored twice add up, and two is refused below
    Y = np.asarray(Y)
    if Y.ndim != 2:
        raise ValueError(
            f"{name} must be a table of 0 and 1, one column per label, got shape {Y.shape}. For "
            "one label use a classifier such as sklearn.svm.SVC."
        )
    if Y.shape[1] < 2:
        raise ValueError(
            f"{name} must have at least two labels, got {Y.shape[1]}: pairs of labels are what is "
            "learned. For one label use a classifier such as sklearn.svm.SVC."
        )
    try:
        binary = bool(np.isin(Y.astype(np.float64), (0.0, 1.0)).all())
    except (TypeError, ValueError):
        binary = False
    if not binary:
        raise ValueError(
            f"{name} must hold 0 and 1 only. For several classes a column use one column per "
            "class (sklearn.preprocessing.MultiLabelBinarizer)."
        )
    return Y.astype(np.float64).astype(np.int8)


def warn_of_constant(Y: np.ndarray) -> None:
    """Tell which labels are the same everywhere."""
    constant = np.flatnonzero((Y[:1] == Y).all(axis=0))
    if len(constant):
        warnings.warn(
            f"Label(s) {constant[:5].tolist()} have the same value in every training row; pairs "
            "with them teach nothing.",
            UserWarning,
            stacklevel=4,
        )


class LabelTreeBase(ClassifierMixin, CallbackSupportMixin, SoundEstimator):
    """Scores of label sets that are sums over pairs of labels.

    Parameters
    ----------
    gamma : {"scale", "auto"}, float or None, default=None
        Width of the kernel; None is 1 / n_features.
    inner_factor : int, default=5
        How often each row is visited in a round.
    loss : {"hamming", "zero_one"}, default="hamming"
        What a wrong label set costs: the share of wrong labels, or 1.
    tol : float, default=1e-3
        Duality gap to stop at, relative to the objective.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        Their numbers.
    n_labels_ : int
        Number of labels.
    support_ : ndarray of shape (n_support,)
        Rows that the scores depend on.
    """

    kernel: Any
    gamma: Any
    intercept_scaling: float
    C: float
    loss: str
    max_outer: int
    inner_factor: int
    tol: float
    k_best: int | str
    node_potentials: bool
    n_jobs: int | None
    random_state: Any

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.multi_label = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        tags.target_tags.two_d_labels = True
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, Y: ArrayLike) -> Self:
        """Train on rows with their label sets.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows; their Gram matrix for ``kernel="precomputed"``.
        Y : {array-like, sparse matrix} of shape (n_samples, n_labels)
            1 where a row has a label, 0 where not.

        Returns
        -------
        self : estimator
            Fitted.
        """
        X = self._rows(X, reset=True)
        if Y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        labels = label_matrix(Y)
        check_consistent_length(X, labels)
        warn_of_constant(labels)
        if self.kernel == "precomputed":
            check_gram(X)
        self.classes_ = np.arange(labels.shape[1])
        self.n_labels_ = labels.shape[1]
        self._kernel: Kernel = resolve_kernel(self.kernel, X, gamma=self.gamma)
        values = X if self.kernel == "precomputed" else self._kernel.block(X, X)
        K = np.ascontiguousarray(values, dtype=np.float64) + float(self.intercept_scaling) ** 2
        if not np.isfinite(K).all():
            raise ValueError("The kernel of these rows is beyond floating point; scale X.")
        self._solve(X, K, labels)
        return self

    def _rows(self, X: Any, reset: bool = False) -> Any:
        accept = False if self.kernel == "precomputed" else "csr"
        return validate_rows(self, X, reset=reset, dtype=np.float64, accept_sparse=accept)

    def _problem(self, K: Floats, Y: np.ndarray) -> Margins:
        return Margins(K, Y, float(self.C), self.loss, self.k_best, bool(self.node_potentials))

    def _solve(self, X: Any, K: Floats, Y: np.ndarray) -> None:
        """Train and store what predictions need."""
        raise NotImplementedError

    def _train(
        self,
        X: Any,
        K: Floats,
        Y: np.ndarray,
        mixture: TreeMixture,
        update: Any,
        random: np.random.RandomState,
    ) -> None:
        """Train one machine and store it."""
        with FitProgress(self, self.max_outer, X, Y, step_name="round") as progress:
            machine = train(
                self._problem(K, Y),
                mixture,
                update=update,
                max_outer=self.max_outer,
                inner_factor=self.inner_factor,
                tol=self.tol,
                random=random,
                on_round=progress.step,
            )
        self._keep(X, machine)

    def _keep(self, X: Any, machine: TreeMachine) -> None:
        n, mixture = self.n_labels_, machine.mixture
        pairs = label_pairs(n)
        self.edge_weights_ = np.zeros((n, n))
        self.edge_weights_[pairs.first, pairs.second] = mixture.edge_weights
        self.edge_weights_ += self.edge_weights_.T
        self.trees_ = [tree.copy() for tree in mixture.trees]
        self.tree_weights_ = mixture.weights
        self.objective_, self.duality_gap_ = machine.objective, machine.gap
        self.objectives_, self.duality_gaps_ = np.array(machine.objectives), np.array(machine.gaps)
        self.n_trees_ = np.array(machine.n_trees)
        self.n_iter_ = len(machine.objectives) - 1
        weights = parity_weights(mixture.edge_weights, pairs, bool(self.node_potentials))
        self._keep_moments(X, machine.moments * weights)
        if not machine.converged:
            warnings.warn(
                f"{type(self).__name__} did not converge in max_outer={self.max_outer} rounds: the "
                f"duality gap is {self.duality_gap_ / max(self.objective_, 1e-300):.3g} times the "
                f"objective, where tol={self.tol:.3g} was asked for. Increase max_outer or tol.",
                ConvergenceWarning,
                stacklevel=6,
            )

    def _keep_moments(self, X: Any, moments: Floats) -> None:
        self.support_ = np.flatnonzero(moments.any(axis=1))
        self.moments_ = moments[self.support_]
        self._vectors = None if self.kernel == "precomputed" else X[self.support_]

    def _support_kernel(self, X: Any) -> Floats:
        """Return the kernel of rows with the support rows, the constant feature included."""
        check_is_fitted(self)
        X = self._rows(X)
        if not len(self.support_):
            return np.zeros((X.shape[0], 0))
        K = np.asarray(self._kernel.against(X, self._vectors, self.support_), dtype=np.float64)
        return K + float(self.intercept_scaling) ** 2

    def _coefficients(self, X: Any) -> Floats:
        """Return the coefficients of the parities in the scores of each row."""
        return self._support_kernel(X) @ self.moments_

    def labelling_scores(self, X: ArrayLike, Y: ArrayLike) -> Floats:
        """Return the score F(x, y) of given label sets.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; their kernel with the training rows for ``kernel="precomputed"``.
        Y : {array-like, sparse matrix} of shape (n_samples, n_labels)
            A label set for each row.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            `predict` gives the label set with the largest.
        """
        coefficients = self._coefficients(X)
        labels = label_matrix(Y)
        if labels.shape != (len(coefficients), self.n_labels_):
            raise ValueError(
                f"Y must have {len(coefficients)} rows of {self.n_labels_} labels, one for each "
                f"row of X, got shape {labels.shape}."
            )
        signs = parities(labels, label_pairs(self.n_labels_))
        return np.einsum("kf,kf->k", coefficients, signs)

    def _decoded(self, X: Any) -> Decoded:
        """Return the best label sets with what is certain of them, in threads."""
        coefficients, pairs = self._coefficients(X), label_pairs(self.n_labels_)
        n_threads = min(effective_n_jobs(self.n_jobs), max(len(coefficients), 1))
        if n_threads == 1:
            return decode(coefficients, pairs, self.k_best)
        parts = Parallel(n_threads, prefer="threads")(
            delayed(decode)(part, pairs, self.k_best)
            for part in np.array_split(coefficients, n_threads)
        )
        return Decoded(*(np.concatenate(column) for column in zip(*parts)))

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Return the label set of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; their kernel with the training rows for ``kernel="precomputed"``.

        Returns
        -------
        Y : ndarray of shape (n_samples, n_labels)
            0 and 1.
        """
        return self._decoded(X).labels.astype(np.int64)

    def predict_certified(self, X: ArrayLike) -> tuple[np.ndarray, np.ndarray, Floats]:
        """Return label sets, which of them are certainly the best, and how far others may be off.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; their kernel with the training rows for ``kernel="precomputed"``.

        Returns
        -------
        Y : ndarray of shape (n_samples, n_labels)
            0 and 1.
        exact : ndarray of shape (n_samples,)
            Whether no label set can score more.
        gap : ndarray of shape (n_samples,)
            How much more another label set might score; 0 where exact.
        """
        found = self._decoded(X)
        gap = np.maximum(found.bounds - found.values, 0.0)
        return found.labels.astype(np.int64), gap == 0.0, gap
