"""A kernel support vector classifier without offset, and its array functions.

Dropping the offset b removes the equality constraint of the dual: the solver may move any one or
two variables, stops on a cheap duality gap and starts from any feasible point. On most data the
accuracy is that of `sklearn.svm.SVC`; the exception is data whose classes differ in size or
spread under a wide kernel.

Reference: I. Steinwart, D. Hush and C. Scovel (2011), "Training SVMs Without Offset", Journal of
Machine Learning Research 12:141-202. Implemented: sections 2 and 3. The problem on arrays is
`octavo.svm.solve_box_svm`, the grid of hyper-parameters `octavo.svm.NoOffsetSVCCV`.
"""

from __future__ import annotations

import warnings
from itertools import combinations
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state, compute_class_weight
from sklearn.utils.validation import check_is_fitted

from octavo.engine.duals.smo import BoxMemory, DualResult, solve_box, square_part
from octavo.engine.estimators.classes import encode_classes
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import (
    Interval,
    StrOptions,
    check_sample_weight,
    fit_context,
    ovr_decision_function,
)
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.estimators.sparse_rows import validate_rows
from octavo.engine.kernels.gram import GramColumns, Kernel, resolve_kernel, row_chunks
from octavo.svm.no_offset.box_problem import check_kernel_matrix, strategy_of
from octavo.svm.no_offset.warm_starts import RULES, carried

__all__ = ["NoOffsetSVC"]


class PairProblem(NamedTuple):
    """Two classes: which samples, their signs and the bounds y_i C_i of their variables."""

    indices: np.ndarray
    y: np.ndarray
    bound: np.ndarray


def pair_problems(codes: np.ndarray, n_classes: int, C: np.ndarray) -> list[PairProblem]:
    """Return one problem for every two classes; the later class is the positive one."""
    problems = []
    for a, b in combinations(range(n_classes), 2):
        chosen = np.flatnonzero((codes == a) | (codes == b))
        y = np.where(codes[chosen] == b, 1.0, -1.0)
        problems.append(PairProblem(chosen, y, y * C[chosen]))
    return problems


def sample_bounds(
    codes: np.ndarray,
    classes: np.ndarray,
    class_weight: Any,
    sample_weight: np.ndarray | None,
    C: float,
) -> np.ndarray:
    """Return C_i = C times the weights of the sample and of its class."""
    weights = np.ones(codes.size) if sample_weight is None else sample_weight
    if class_weight is not None:
        by_class = compute_class_weight(class_weight, classes=classes, y=classes[codes])
        if by_class.min() <= 0.0:
            raise ValueError(
                "class_weight must be positive for every class; it is "
                f"{dict(zip(classes.tolist(), by_class.tolist()))}."
            )
        weights = weights * by_class[codes]
    return C * weights


class NoOffsetSVC(CallbackSupportMixin, ClassifierMixin, SoundEstimator):
    """Kernel support vector classifier without offset.

    It minimises  λ ||f||² + (1/n) Σ w_i max(0, 1 − y_i f(x_i))  over the functions f of the
    kernel's space, with no constant added to f. With C = 1 / (2 λ n) that is
    ½ ||f||² + C Σ w_i max(0, 1 − y_i f(x_i)), the problem of `sklearn.svm.SVC` without its offset.

    Parameters
    ----------
    alpha : float, default=None
        The paper's regularisation λ. If given, C is 1 / (2 λ n_samples), and thus changes with
        the number of samples.
    C : float, default=1.0
        Weight of the loss, used when `alpha` is None.
    kernel : str or callable, default="rbf"
        One of "rbf", "linear", "poly", "sigmoid", "laplacian", "cosine", "precomputed", another
        name that `sklearn.metrics.pairwise_kernels` knows, or a function of (X, Y).
    gamma : {"scale", "auto"} or float, default="scale"
        Scale of the kernel as in `sklearn.svm.SVC`; the paper's σ² for "rbf".
    degree : float, default=3
        Degree of "poly".
    coef0 : float, default=0.0
        Constant of "poly" and "sigmoid".
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes in the loss.
    working_set : int or "1d", default=7
        Which variables are moved: a sum of strategies, see `solve_box_svm`.
    stopping : {"clipped_gap", "gap", "kkt"}, default="clipped_gap"
        What must fall to the tolerance: the duality gap with slacks clipped at 2, which suffices
        for the statistical guarantees; the duality gap; or the violation of optimality.
    tol : float, default=1e-3
        Tolerance; for the gaps it is relative to the sum of all C_i, the objective of f = 0 (the
        paper's ε / (2λ)).
    init : {"zeros", "kernel_rule"}, default="zeros"
        Where to start: at zero, or with every variable at its bound.
    n_neighbors : int, default=10
        Neighbours that strategy 4 looks at.
    max_iter : int, default=-1
        Most iterations of each pair of classes; -1 for no limit.
    warm_start : bool, default=False
        Start from the previous solution when the samples are as many and labelled alike.
    warm_start_rule : {"W0", "W1", "W2", "W3", "W4", "W5", "W6"}, default="W4"
        How the previous solution is carried to another C: W2 keeps it, W3 and W5 scale it, W4
        and W6 move what is at a bound with its bound; W0 and W1 start cold.
    shuffle : bool, default=True
        Draw the halves of strategy 2 at random. False is slow on files sorted by label.
    random_state : int, RandomState instance or None, default=None
        Draws the halves and the random strategies.
    trace : bool, default=False
        Keep objective and gaps of every iteration in `trace_`.
    shrinking : bool, default=True
        Finish among the variables that may still move, on a copy of their part of the kernel
        matrix.
    cache_size : float, default=2000
        Megabytes for kernel values. If the kernel matrix needs more, its columns are computed
        when needed, and the last used are kept.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    dual_coef_ : ndarray of shape (n_pairs, n_SV)
        y_i α_i of every support vector, one row for every two classes.
    support_ : ndarray of shape (n_SV,)
        Indices of the support vectors of any pair.
    support_vectors_ : {ndarray, sparse matrix} of shape (n_SV, `n_features_in_`)
        The support vectors; empty for a precomputed kernel.
    bounded_support_ : ndarray
        Indices of the samples whose variable is at its upper bound for some pair.
    n_iter_ : int
        Iterations of all pairs together.
    dual_objective_, primal_objective_ : float
        Objectives reached, summed over the pairs of classes.
    duality_gap_ : float
        Their difference: how far from the optimum the solution is at most.
    clipped_gap_ : float
        The same with slacks clipped at 2; it may be negative.
    trace_ : list of ndarray of shape (n_iter + 1, 3)
        Dual objective, gap and clipped gap before every iteration and at the end, for every two
        classes; only with ``trace=True``.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, where they are all strings.

    See Also
    --------
    NoOffsetSVCCV : Chooses λ and the kernel width over a grid.
    solve_box_svm : The problem on arrays.

    Notes
    -----
    Do not use it with kernels that cannot represent a constant (linear above all) on data that
    is not centred, nor with wide kernels on classes of very different size: it may then predict
    one class only. Give a `class_weight`, a `coef0`, or use `sklearn.svm.SVC`, which has an
    offset. Features should be scaled, as for any kernel. A value f(x) = 0 is assigned to the
    second class. For large samples approximate methods are faster.

    References
    ----------
    .. [1] I. Steinwart, D. Hush and C. Scovel (2011). "Training SVMs Without Offset". Journal of
       Machine Learning Research 12:141-202.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from octavo.svm import NoOffsetSVC
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> svc = NoOffsetSVC(alpha=1e-3, gamma=2.0, random_state=0).fit(X, y)
    >>> svc.score(X, y), svc.duality_gap_ < 0.1 * svc.primal_objective_
    (0.97, True)
    """

    _parameter_constraints: dict[str, Any] = {
        "alpha": [Interval(Real, 0, None, closed="neither"), None],
        "C": [Interval(Real, 0, None, closed="neither")],
        "kernel": [str, callable],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0, None, closed="left")],
        "degree": [Interval(Real, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "working_set": [Interval(Integral, 0, 4095, closed="both"), StrOptions({"1d"})],
        "stopping": [StrOptions({"clipped_gap", "gap", "kkt"})],
        "tol": [Interval(Real, 0, None, closed="left")],
        "init": [StrOptions({"zeros", "kernel_rule"})],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
        "warm_start": ["boolean"],
        "warm_start_rule": [StrOptions(set(RULES))],
        "shuffle": ["boolean"],
        "random_state": ["random_state"],
        "trace": ["boolean"],
        "shrinking": ["boolean"],
        "cache_size": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        alpha=None,
        C=1.0,
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=0.0,
        class_weight=None,
        working_set=7,
        stopping="clipped_gap",
        tol=1e-3,
        init="zeros",
        n_neighbors=10,
        max_iter=-1,
        warm_start=False,
        warm_start_rule="W4",
        shuffle=True,
        random_state=None,
        trace=False,
        *,
        shrinking=True,
        cache_size=2000,
    ):
        self.alpha = alpha
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.class_weight = class_weight
        self.working_set = working_set
        self.stopping = stopping
        self.tol = tol
        self.init = init
        self.n_neighbors = n_neighbors
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.warm_start_rule = warm_start_rule
        self.shuffle = shuffle
        self.random_state = random_state
        self.trace = trace
        self.shrinking = shrinking
        self.cache_size = cache_size

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    # --- fitting ----------------------------------------------------------------------------

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Fit the classifier.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples; with ``kernel="precomputed"`` their kernel matrix.
        y : array-like of shape (n_samples,)
            Classes, two or more.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples in the loss.

        Returns
        -------
        self : NoOffsetSVC
            The fitted classifier.
        """
        X, codes, weights = self._validated(X, y, sample_weight)
        n, k = codes.size, len(self.classes_)
        C = self.C if self.alpha is None else 1.0 / (2.0 * self.alpha * n)  # Eq. (1) to Eq. (3)
        bounds = sample_bounds(codes, self.classes_, self.class_weight, weights, C)
        problems = pair_problems(codes, k, bounds)
        # what "scale" means costs a pass over a kernel matrix that has no use for it
        gamma = "auto" if self.kernel == "precomputed" else self.gamma
        self._kernel = resolve_kernel(
            self.kernel, X, gamma=gamma, degree=self.degree, coef0=self.coef0
        )
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        before = getattr(self, "_last", None) if self.warm_start else None
        gram = self._matrix(X, codes)
        results = []
        with FitProgress(self, None, X, y, step_name="block of iterations") as progress:
            for at, problem in enumerate(problems):
                if progress.step():
                    break
                old = before[at] if before is not None and len(before) == len(problems) else None
                results.append(self._solve(X, gram, problem, old, seed, progress))
        if len(results) < len(problems):
            raise RuntimeError("A callback stopped the fit before every pair of classes was seen.")
        self._last = [(p, r.alpha) for p, r in zip(problems, results)] if self.warm_start else None
        self._store(X, problems, results)
        return self

    def _validated(self, X, y, sample_weight):
        X, y = validate_rows(
            self,
            X,
            y,
            accept_sparse=self._sparse(),
            dtype=np.float64,
            ensure_min_samples=2,
            ensure_all_finite=self.kernel != "precomputed",  # looked at with its symmetry
        )
        self.classes_, codes = encode_classes(y, owner=self)
        if sample_weight is not None:
            sample_weight = check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
            left = np.unique(codes[sample_weight > 0])
            if len(left) < len(self.classes_):
                raise ValueError(
                    "Every class needs a sample of positive weight; without one is "
                    f"{np.delete(self.classes_, left).tolist()}."
                )
        if self.kernel == "precomputed":
            check_kernel_matrix(X)
        return X, codes, sample_weight

    def _sparse(self):
        return False if self.kernel == "precomputed" else "csr"

    def _matrix(self, X, codes):
        """Return the kernel matrix of all samples, or None where it does not fit."""
        if self._kernel.name == "precomputed":
            return np.ascontiguousarray(X)
        if 8 * codes.size**2 > self.cache_size * 2**20:
            return None
        gram = np.asarray(self._kernel.block(X, X), dtype=np.float64)
        if not np.isfinite(gram).all():
            raise ValueError("The kernel has values that are not finite on the samples.")
        return np.ascontiguousarray(gram)

    def _solve(self, X, gram, problem, old, seed, progress) -> DualResult:
        """Solve the problem of two classes."""
        n, diagonal = problem.indices.size, None
        if gram is None:
            cache = GramColumns(self._kernel, X[problem.indices], megabytes=self.cache_size)
            K, diagonal = cache.column, cache.diagonal
        else:
            K = gram if n == len(gram) else square_part(gram, problem.indices)
        total = float(np.abs(problem.bound).sum())
        result = solve_box(
            K,
            problem.y,
            np.minimum(problem.bound, 0.0),
            np.maximum(problem.bound, 0.0),
            beta=self._start(problem, old),  # Eq. (3) in β = yα
            diagonal=diagonal,
            working_set=strategy_of(self.working_set),
            stopping=self.stopping,
            # ε/(2λ) of Eqs. (7) and (9)
            tol=self.tol if self.stopping == "kkt" else self.tol * total,
            max_iter=self.max_iter,
            memory=BoxMemory.new(n, self.n_neighbors, shuffle=self.shuffle, seed=seed),
            shrinking=self.shrinking,
            trace=self.trace,
            watch=progress.step,
        )
        if not result.converged:
            warnings.warn(
                f"NoOffsetSVC stopped after {result.n_iter} iterations with a duality gap of "
                f"{result.duality_gap:.3g} (clipped {result.clipped_gap:.3g}, violation "
                f"{result.violation:.3g}); the tolerance is {self.tol:g} and Σ C_i = {total:.3g}. "
                "Raise max_iter, or look whether the kernel is positive semi-definite.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return result

    def _start(self, problem, old) -> np.ndarray | None:
        """Return where to start: cold, or from the solution of the last fit.

        Samples and kernel may have changed since, so that no gradient is carried over.
        """
        if old is not None:
            before, beta = old
            used = before.bound != 0
            if (
                np.array_equal(before.indices, problem.indices)
                and np.array_equal(before.y, problem.y)
                and np.array_equal(used, problem.bound != 0)
            ):
                ratios = problem.bound[used] / before.bound[used]
                if np.allclose(ratios, ratios[0], rtol=1e-12):
                    r = float(ratios[0])
                    return carried(self.warm_start_rule, beta, before.bound, problem.bound, r)
        return problem.bound if self.init == "kernel_rule" else None

    def _store(self, X, problems, results) -> None:
        n = X.shape[0]
        dual, is_bounded = np.zeros((len(problems), n)), np.zeros(n, dtype=bool)
        for row, problem, result in zip(dual, problems, results):
            row[problem.indices] = result.alpha
            at_bound = (result.alpha == problem.bound) & (problem.bound != 0)
            is_bounded[problem.indices[at_bound]] = True
        self.support_ = np.flatnonzero(dual.any(axis=0))
        self.dual_coef_ = dual[:, self.support_]
        self.bounded_support_ = np.flatnonzero(is_bounded)
        precomputed = self._kernel.name == "precomputed"
        self.support_vectors_ = np.empty((0, 0)) if precomputed else X[self.support_]
        self.n_iter_ = sum(result.n_iter for result in results)
        self.dual_objective_ = sum(result.dual_objective for result in results)
        self.primal_objective_ = sum(result.primal_objective for result in results)
        self.duality_gap_ = sum(result.duality_gap for result in results)
        self.clipped_gap_ = sum(result.clipped_gap for result in results)
        if self.trace:
            self.trace_ = [result.trace for result in results]

    # --- predicting -------------------------------------------------------------------------

    def _pair_values(self, X) -> np.ndarray:
        """Return f(x) for every sample and every two classes."""
        check_is_fitted(self)
        X = validate_rows(self, X, accept_sparse=self._sparse(), dtype=np.float64, reset=False)
        return pair_values(self._kernel, X, self.support_vectors_, self.support_, self.dual_coef_)

    def decision_function(self, X):
        """Return f(x), or a score for every class when there are more than two.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples; for a precomputed kernel, their kernel values with the training samples.

        Returns
        -------
        values : ndarray of shape (n_samples,) or (n_samples, n_classes)
            With two classes, positive values mean the second. With more, votes of the pairs
            of classes, ties broken by the sums of their values, as in `sklearn.svm.SVC`.
        """
        values = self._pair_values(X)
        if len(self.classes_) == 2:
            return values[:, 0]
        return ovr_decision_function(values >= 0, values, len(self.classes_))

    def predict(self, X):
        """Return the predicted classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples; for a precomputed kernel, their kernel values with the training samples.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            The classes; f(x) = 0 counts for the second of two.
        """
        values = self.decision_function(X)
        if values.ndim == 1:
            return self.classes_[(values >= 0).astype(int)]
        return self.classes_[values.argmax(axis=1)]


def pair_values(
    kernel: Kernel, X: Any, vectors: Any, indices: np.ndarray, dual_coef: np.ndarray
) -> np.ndarray:
    """Return Σ_i coef_i k(x_i, x) for every row of coefficients, in blocks of rows of X."""
    values = np.empty((X.shape[0], len(dual_coef)))
    for rows in row_chunks(X.shape[0], len(indices)):
        block = np.asarray(kernel.against(X[rows], vectors, indices))
        values[rows] = block @ dual_coef.T
    return values
