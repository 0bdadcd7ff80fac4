"""Maximum margin regression: each row's output should agree with its class, rivals unseen.

Reference: Y. Ni, C. Saunders, S. Szedmak and M. Niranjan (2011), "Exploitation of Machine Learning
Techniques in Modelling Phrase Movements for Machine Translation", Journal of Machine Learning
Research 12: Section 2.2.2 and Appendix B.
"""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from octavo.engine.duals.smo import solve_box
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.classes import encode_classes
from octavo.engine.estimators.doubles import check_squares, libsvm_steps, real_array
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.estimators.sparse_rows import validate_rows
from octavo.engine.kernels.gram import KERNEL_PARAMETERS, Kernel, check_gram, resolve_kernel
from octavo.engine.streams.passes import as_rows, locked
from octavo.structured.margins.class_distance import settle_class_distance
from octavo.structured.margins.margin_steps import regression_pass, row_norms

__all__ = ["MaximumMarginRegression"]

VIOLATION = 1e-11  # of margins, which are 1
PASSES = 200  # at least; small problems may take more
WORK = 3e7  # products that passes over a small problem may cost in all


class _Machine(NamedTuple):
    """Dual variables, their objective and gap; for linear kernels the sums V of rows too."""

    alpha: Floats
    objective: float
    gap: float
    sums: Floats | None


def output_gram(output_kernel: Any, classes: np.ndarray) -> Floats:
    """Return κ(o, o') of all classes; refuse what is no kernel.

    Parameters
    ----------
    output_kernel : {"indicator", "class_distance"}, array-like or callable
        1[o = o']; 1 - Δ/2 with the paper's prices; a table; or f(o, o') of two classes.
    classes : ndarray of shape (n_classes,)
        Classes in order.

    Returns
    -------
    ndarray of shape (n_classes, n_classes)
        Symmetric and positive semi-definite.
    """
    n = len(classes)
    if isinstance(output_kernel, str):
        if output_kernel == "indicator":
            return np.eye(n)
        # Δ small, agreement large: κ_out = 1 - Δ / 2
        return 1.0 - 0.5 * settle_class_distance("tree", n)
    if callable(output_kernel):
        table = real_array(
            [[output_kernel(a, b) for b in classes] for a in classes], "output_kernel"
        )
    else:
        table = real_array(output_kernel, "output_kernel")
    if table.shape != (n, n):
        raise ValueError(
            f"An output_kernel of the {n} classes of y must have shape {(n, n)}, got {table.shape}."
        )
    check_gram(table, definite=False, name="The output kernel")
    lowest = float(np.linalg.eigvalsh(table)[0])
    if lowest < -1e-9 * float(np.abs(table).max()):
        raise ValueError(
            f"The output kernel must be positive semi-definite, its lowest eigenvalue is "
            f"{lowest:.3g}; add as much to its diagonal."
        )
    return np.ascontiguousarray(table)


def linear_machine(X: Any, codes: Any, gram: Floats, C: float) -> _Machine:
    """Solve the dual by passes over the rows, with weights instead of a Gram matrix."""
    rows, n, n_classes = as_rows(X), len(codes), len(gram)
    norms, alpha = np.empty(n), np.zeros(n)
    row_norms(rows, norms)
    codes, gram = locked(np.asarray(codes, dtype=np.int64)), locked(gram)
    sums = np.zeros(X.shape[1] * n_classes)
    stored = X.nnz if hasattr(X, "nnz") else X.size
    passes = int(max(PASSES, WORK / max(stored * n_classes, 1)))
    random = np.random.RandomState(0)
    for _ in range(passes):
        order = locked(random.permutation(n))
        if regression_pass(rows, order, codes, norms, gram, C, sums, alpha) <= VIOLATION:
            break
    V = np.ascontiguousarray(sums.reshape(-1, n_classes).T)
    coef = gram @ V  # W = Σ_n α_n ψ(o_n) φ_nᵀ, seen by each class through κ_out
    margins = np.asarray(X @ coef.T)[np.arange(n), codes]
    penalty = 0.5 * float(np.vdot(V, coef))
    # ½ ‖W‖² + C Σ ξ of Appendix B
    objective = penalty + C * float(np.maximum(0.0, 1.0 - margins).sum())
    # primal less dual, the dual being Σ α - ½ ‖W‖²
    return _Machine(alpha, objective, max(objective + penalty - float(alpha.sum()), 0.0), coef)


class MaximumMarginRegression(CallbackSupportMixin, ClassifierMixin, SoundEstimator):
    """Classifier that aligns W φ(x) with the output ψ(y), at margin one and without rivals.

    Minimises ½‖W‖² + C Σ max(0, 1 - ⟨ψ(y_n), W φ(x_n)⟩). One variable per row, whatever the number
    of classes; predicts the class o with the largest ⟨ψ(o), W φ(x)⟩.

    Parameters
    ----------
    C : float, default=1.0
        Price of a unit of slack of one row.
    kernel : {"linear", "poly", "rbf", "sigmoid", "laplacian", "cosine", "precomputed"} or \
callable, default="linear"
        Compares rows. "linear" keeps weights, the others the Gram matrix of the rows.
    output_kernel : {"indicator", "class_distance"}, array-like of shape (n_classes, n_classes) or \
callable, default="indicator"
        Compares classes, in sorted order. "indicator" trains each class on its own rows alone;
        "class_distance" is 1 - Δ/2 with Δ 0.5 on the same side of the middle class and 1 else.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels.
    coef_ : ndarray of shape (n_classes, n_features)
        Weights of the scores; only for ``kernel="linear"``.
    dual_coef_ : ndarray of shape (n_support,)
        The dual variables α that are not zero.
    support_ : ndarray of shape (n_support,)
        Their rows.
    objective_ : float
        Primal objective.
    duality_gap_ : float
        How far it may be above the optimum.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, where X has them.

    See Also
    --------
    StructuredMarginClassifier : Keeps rivals at a distance, and is more accurate.

    Notes
    -----
    Not where accuracy matters most: with indicator outputs no class sees the rows of another, so
    that scores of different classes are not made for comparison. It is the fastest of the paper's
    machines to describe and the weakest of them; `sklearn.svm.LinearSVC` is the usual choice.

    References
    ----------
    .. [1] Y. Ni, C. Saunders, S. Szedmak and M. Niranjan (2011). Exploitation of Machine Learning
       Techniques in Modelling Phrase Movements for Machine Translation. JMLR 12.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from octavo.structured import MaximumMarginRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> round(MaximumMarginRegression(kernel="rbf").fit(X, y).score(X, y), 2)
    0.91
    """

    _parameter_constraints: dict[str, Any] = {
        "C": [Interval(Real, 0, None, closed="neither")],
        "kernel": [StrOptions({*KERNEL_PARAMETERS, "precomputed"}), callable],
        "output_kernel": [StrOptions({"indicator", "class_distance"}), "array-like", callable],
    }

    def __init__(self, C=1.0, kernel="linear", output_kernel="indicator"):
        self.C = C
        self.kernel = kernel
        self.output_kernel = output_kernel

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def _rows(self, X: Any, *y: Any, reset: bool = False) -> Any:
        accept = False if self.kernel == "precomputed" else "csr"
        return validate_rows(
            self, X, *y, narrow=True, reset=reset, dtype=np.float64, accept_sparse=accept, order="C"
        )

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Train on rows with their classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; their Gram matrix for ``kernel="precomputed"``.
        y : array-like of shape (n_samples,)
            Classes.

        Returns
        -------
        self : MaximumMarginRegression
            The fitted classifier.
        """
        X, y = self._rows(X, y, reset=True)
        self.classes_, codes = encode_classes(y, owner=self)
        gram = output_gram(self.output_kernel, self.classes_)
        if hasattr(self, "coef_"):
            del self.coef_
        with FitProgress(self, 1, X, y, step_name="dual") as progress:
            if self.kernel == "linear":
                check_squares(X)
                found = linear_machine(X, codes, gram, float(self.C))
                self.coef_: Any = found.sums
            else:
                found = self._kernel_machine(X, codes, gram)
            progress.step()
        self.support_ = np.flatnonzero(found.alpha)
        self.dual_coef_ = found.alpha[self.support_]
        self.objective_, self.duality_gap_ = found.objective, found.gap
        self._outputs = gram[:, codes[self.support_]]
        keeps_rows = self.kernel not in ("precomputed", "linear")
        self._vectors = X[self.support_] if keeps_rows else None
        self._warn_of_gap()
        return self

    def _kernel_machine(self, X: Any, codes: np.ndarray, gram: Floats) -> _Machine:
        """Solve the dual, the box problem with kernel κ_out ∘ κ_in and all labels 1."""
        if self.kernel == "precomputed":
            check_gram(X)
        self._kernel: Kernel = resolve_kernel(self.kernel, X)
        K = X if self.kernel == "precomputed" else self._kernel.block(X, X)
        # κ_out ∘ κ_in, Appendix B
        K = np.ascontiguousarray(K * gram[np.ix_(codes, codes)], dtype=np.float64)
        n, C = len(codes), float(self.C)
        found = solve_box(
            K,
            np.ones(n),
            np.zeros(n),
            np.full(n, C),
            stopping="kkt",
            tol=1e-10,
            max_iter=libsvm_steps(n),
        )
        pull = K @ found.alpha
        penalty = 0.5 * float(found.alpha @ pull)
        objective = penalty + C * float(np.maximum(0.0, 1.0 - pull).sum())
        gap = max(objective + penalty - float(found.alpha.sum()), 0.0)
        return _Machine(found.alpha, objective, gap, None)

    def _warn_of_gap(self) -> None:
        if self.duality_gap_ > 1e-6 * max(self.objective_, 1e-300):
            warnings.warn(
                f"MaximumMarginRegression did not converge: the objective is {self.objective_:.6g} "
                f"and its duality gap {self.duality_gap_:.3g}. Scale X so that rows have lengths "
                "of about 1, or take a smaller C.",
                ConvergenceWarning,
                stacklevel=5,
            )

    def _scores(self, X: Any) -> Floats:
        check_is_fitted(self, "dual_coef_")
        X = self._rows(X)
        if self.kernel == "linear":
            return np.asarray(X @ self.coef_.T)
        if not len(self.support_):
            return np.zeros((X.shape[0], len(self.classes_)))
        K = np.asarray(self._kernel.against(X, self._vectors, self.support_), dtype=np.float64)
        # ⟨ψ(o), W φ⟩ = Σ_n α_n κ_out(o, o_n) κ_in(x, x_n)
        return (K * self.dual_coef_) @ self._outputs.T

    def decision_function(self, X: Any) -> Floats:
        """Return ⟨ψ(o), W φ(x)⟩.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; their kernel with the training rows for ``kernel="precomputed"``.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes) or (n_samples,)
            One column for each class; for two classes the second less the first.
        """
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict(self, X: Any) -> np.ndarray:
        """Return the class with the largest score, the first of equals.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; their kernel with the training rows for ``kernel="precomputed"``.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Classes.
        """
        best = np.argmax(self._scores(X), axis=1)
        return self.classes_[best]
