"""A weighted representative set: few rows whose convex hulls in kernel space hold all the others.

The rows of each class are cut into small sets of neighbours, and of each set only its approximate
extreme points are kept: every other row is within eps (squared distance in kernel space) of a
convex combination of them, and gives them its weight in those proportions. What learns from
weighted rows can learn from the representatives instead.

Reference: Nandan, Khargonekar and Talathi (2014), "Fast SVM training using approximate extreme
points", JMLR 15:59-98, Sections 3.1 and 4.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.arrays import Indices
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import (
    Interval,
    StrOptions,
    check_sample_weight,
    fit_context,
)
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.estimators.sparse_rows import validate_rows
from octavo.engine.kernels.gram import Kernel, resolve_kernel, row_chunks
from octavo.svm.representatives.hull_selection import (
    MAX_STEPS,
    ExtremePoints,
    select_extremes,
    warn_undecided,
)
from octavo.svm.representatives.partition import (
    DistinctRows,
    contiguous_blocks,
    distinct_rows,
    median_split_blocks,
    neighbour_subsets,
    squared_norms,
)

__all__ = ["ApproximateExtremePoints", "RepresentativeSet"]

KERNELS = {"rbf", "poly", "linear"}
NO_COMPRESSION = 0.8  # a larger share of rows kept is worth a warning
ENOUGH_ROWS = 1000  # ... where there are so many that the effort was in vain


class RepresentativeSet(NamedTuple):
    """What `ApproximateExtremePoints.fit_resample` returns: rows, their classes, their weights."""

    X: Any
    y: np.ndarray | None
    weights: np.ndarray


class Segregated(NamedTuple):
    """Rows cut into subsets of one class: distinct rows, their weights, and the subsets."""

    distinct: DistinctRows
    kept: Indices  # rows of positive weight, which `distinct` counts from
    rows: Indices  # index in X of each distinct row
    weight: np.ndarray  # of each distinct row
    subsets: list[Indices]  # indices of distinct rows


def segregate(
    kernel: Kernel,
    X: Any,
    labels: np.ndarray,
    sample_weight: np.ndarray,
    *,
    block_size: int,
    subset_size: int,
    segregation: str,
    deduplicate: bool,
) -> Segregated:
    """Cut the rows of each class into subsets of neighbours (steps 1 to 3 of DeriveRS)."""
    kept = np.flatnonzero(sample_weight > 0)
    is_all = len(kept) == len(labels)
    inside, classes = (X, labels) if is_all else (X[kept], labels[kept])
    if deduplicate:
        distinct = distinct_rows(inside, classes, keep_order=segregation == "contiguous")
    else:
        distinct = DistinctRows(np.arange(len(kept)), np.arange(len(kept)))
    rows = kept[distinct.first]
    weight = np.bincount(distinct.inverse, sample_weight[kept], len(rows))
    diagonal = np.ones(X.shape[0]) if kernel.name == "rbf" else np.asarray(kernel.diagonal(X))
    place = np.empty(X.shape[0], dtype=np.intp)
    place[rows] = np.arange(len(rows))
    subsets = []
    for label in np.unique(classes):
        own = rows[labels[rows] == label]
        if segregation == "contiguous":
            blocks = contiguous_blocks(own, block_size)
        else:
            blocks = median_split_blocks(kernel, X, own, diagonal, block_size)
        for block in blocks:
            subsets += neighbour_subsets(kernel, X, block, diagonal, subset_size)
    return Segregated(distinct, kept, rows, weight, [place[subset] for subset in subsets])


def gram_of_rows(kernel: Kernel, X: Any, rows: Indices) -> np.ndarray:
    """Return the Gram matrix of a few rows, float64, C-ordered and exactly symmetric."""
    local = X[rows]
    gram = np.ascontiguousarray(kernel.block(local, local), dtype=np.float64)
    if not np.isfinite(gram).all():
        raise ValueError("The kernel returned NaN or infinity for some pairs of rows.")
    return gram


def iterate_extremes(
    kernel: Kernel, X: Any, cut: Segregated, eps: float, resolve: bool, n_jobs: int | None
) -> Iterator[ExtremePoints]:
    """Yield the extreme points of each subset, in order (steps 4 and 5 of DeriveRS)."""

    def one(subset: Indices) -> ExtremePoints:
        return select_extremes(gram_of_rows(kernel, X, cut.rows[subset]), eps, resolve=resolve)

    if effective_n_jobs(n_jobs) == 1:
        yield from map(one, cut.subsets)
        return
    # Threads: the kernels release the lock, and the data are not copied.
    workers = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
    yield from workers(delayed(one)(subset) for subset in cut.subsets)


def collapses(kernel: Kernel, X: Any, eps: float) -> bool:
    """Return whether eps is so large that one point may stand for all."""
    some = X[:: max(1, X.shape[0] // 1000)]
    # ||φ - φ'||² ≤ 2 max k(x, x) where k ≥ 0
    return eps >= 2.0 * float(np.max(kernel.diagonal(some)))


class ApproximateExtremePoints(CallbackSupportMixin, SoundEstimator):
    """Choose a weighted representative set by approximate extreme points in kernel space.

    The rows of each class are cut into sets of at most `subset_size` neighbours. Of each set
    those points are kept that span its convex hull in kernel space up to a squared distance
    `eps`; each other row is spread over them as a convex combination that is near it: its squared
    distance is within eps/10 of the least. A linear number of small problems, and never a matrix
    of all rows by all rows.

    Parameters
    ----------
    kernel : {"rbf", "poly", "linear"} or callable, default="rbf"
        The kernel whose space distances are measured in; a callable takes two matrices and
        returns the block of kernel values.
    gamma : float or {"scale", "auto"}, default=1.0
        Coefficient of "rbf" and "poly", as in `sklearn.svm.SVC`. A value such as 1 expects
        features scaled to about [0, 1].
    degree : float, default=3
        Degree of "poly".
    coef0 : float, default=1.0
        Offset of "poly".
    eps : float, default=1e-2
        Largest squared distance in kernel space of a row to the hull of its representatives.
        1e-3 or less costs more representatives and is closer to learning from all rows.
    subset_size : int, default=1000
        Most rows of one set (V in the paper). Larger sets need fewer representatives and more
        time; the memory of one set is three matrices of this size.
    block_size : int, default=100_000
        Most rows of a block in which sets are cut (P in the paper).
    segregation : {"median_split", "contiguous"}, default="median_split"
        How blocks are made: by halving at the median distance from a pivot, or as consecutive
        rows, for series in which neighbours stand side by side.
    deduplicate : bool, default=True
        Treat equal rows of a class as one row of their total weight. With "median_split" the
        result then does not depend on the order of the rows; otherwise pivots are the rows
        that come first.
    resolve : bool, default=True
        Compute the convex weights anew once a set's representatives are known, until squared
        distances are within eps/10 of the least; single weights may still be tens of per cent
        from those of the nearest point, which `distance_to_hull` finds. Otherwise keep the
        first weights within eps, which takes less time.
    store_assignments : bool, default=False
        Keep the convex weights of every row in `assignments_`.
    n_jobs : int, default=None
        Number of threads, each for some of the sets.

    Attributes
    ----------
    indices_ : ndarray of shape (`n_selected_`,)
        Rows that represent, one set after the other.
    weights_ : ndarray of shape (`n_selected_`,)
        Their weights; they sum to the number of rows (or to the sum of `sample_weight`) in each
        class, and none is below that of its own row.
    hull_error_ : ndarray of shape (n_samples,)
        Squared distance of each row to its convex combination, at most `eps`; nan for rows of
        weight zero.
    subset_labels_ : ndarray of shape (n_samples,)
        The set that each row fell into; -1 for rows of weight zero.
    n_subsets_ : int
        Number of sets.
    n_selected_ : int
        Number of representatives.
    reduction_ : float
        Share of rows kept, `n_selected_` over the number of rows.
    assignments_ : CSR array of shape (n_samples, `n_selected_`)
        Convex weights of each row, only with `store_assignments`.
    kernel_ : Kernel
        The kernel with its parameters settled.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit.

    See Also
    --------
    AESVC : The classifier that learns from the representatives.
    approximate_extreme_points : The selection from one Gram matrix.

    Notes
    -----
    When not to use it: in many dimensions, or with a narrow kernel, every row is extreme and
    nothing is saved (a warning says so); use `sklearn.kernel_approximation.Nystroem` there.
    Features on different scales should be scaled first.

    References
    ----------
    .. [1] Nandan, Khargonekar and Talathi (2014). Fast SVM training using approximate extreme
       points. JMLR 15:59-98.

    Examples
    --------
    >>> from octavo.data import make_redundant_classes
    >>> from octavo.svm import ApproximateExtremePoints
    >>> X, y = make_redundant_classes(5000, kind="rings", random_state=0)
    >>> points = ApproximateExtremePoints(gamma=4.0).fit(X, y)
    >>> points.n_selected_ < 500, round(float(points.weights_.sum()))
    (True, 5000)
    >>> bool(points.hull_error_.max() <= 1e-2)
    True
    """

    _parameter_constraints: dict = {
        "kernel": [StrOptions(KERNELS), callable],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0, None, closed="neither")],
        "degree": [Interval(Real, 0, None, closed="neither")],
        "coef0": [Interval(Real, 0, None, closed="left")],
        "eps": [Interval(Real, 0, None, closed="neither")],
        "subset_size": [Interval(Integral, 2, None, closed="left")],
        "block_size": [Interval(Integral, 2, None, closed="left")],
        "segregation": [StrOptions({"median_split", "contiguous"})],
        "deduplicate": ["boolean"],
        "resolve": ["boolean"],
        "store_assignments": ["boolean"],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self,
        kernel="rbf",
        *,
        gamma=1.0,
        degree=3,
        coef0=1.0,
        eps=1e-2,
        subset_size=1000,
        block_size=100_000,
        segregation="median_split",
        deduplicate=True,
        resolve=True,
        store_assignments=False,
        n_jobs=None,
    ):
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.eps = eps
        self.subset_size = subset_size
        self.block_size = block_size
        self.segregation = segregation
        self.deduplicate = deduplicate
        self.resolve = resolve
        self.store_assignments = store_assignments
        self.n_jobs = n_jobs

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):
        """Select the representatives.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,), default=None
            Classes; each is represented by its own rows. None puts all rows into one class.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, at least 0; a row of weight 2 counts as two equal rows.

        Returns
        -------
        self : ApproximateExtremePoints
            The fitted selection.
        """
        X = validate_rows(self, X, accept_sparse="csr", dtype=np.float64)
        labels = class_labels(y, X.shape[0])
        weight = check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        self._fit_checked(X, labels, weight, owner=self, y=y)
        self._warn_of_extremes(X)
        return self

    def _fit_checked(self, X, labels, weight, *, owner, y=None):
        """Select from checked input; `owner` is the estimator whose callbacks are told."""
        if self.subset_size > self.block_size:
            raise ValueError(
                f"subset_size must not exceed block_size: got subset_size={self.subset_size} and "
                f"block_size={self.block_size}."
            )
        gamma = weighted_scale(X, weight) if self.gamma == "scale" else self.gamma
        self.kernel_ = resolve_kernel(
            self.kernel, X, gamma=gamma, degree=self.degree, coef0=self.coef0
        )
        gram_of_rows(self.kernel_, X, np.arange(min(2, X.shape[0])))  # a callable may be wrong
        cut = segregate(
            self.kernel_,
            X,
            labels,
            weight,
            block_size=self.block_size,
            subset_size=self.subset_size,
            segregation=self.segregation,
            deduplicate=self.deduplicate,
        )
        with FitProgress(owner, len(cut.subsets), X, y, step_name="subset") as progress:
            self._collect(X, cut, progress)
        return self

    def _collect(self, X: Any, cut: Segregated, progress: FitProgress) -> None:
        """Run the selection and put the subsets' results together."""
        found, beta, columns, undecided = [], [], [], 0
        error, place = np.empty(len(cut.rows)), np.empty(len(cut.rows), dtype=np.intp)
        parts = iterate_extremes(self.kernel_, X, cut, self.eps, self.resolve, self.n_jobs)
        for number, (subset, part) in enumerate(zip(cut.subsets, parts)):
            found.append(cut.rows[subset[part.indices]])
            beta.append(cut.weight[subset] @ part.weights)  # Eq. (9)
            error[subset], place[subset] = part.error, number
            undecided += part.n_undecided
            if self.store_assignments:
                columns.append(sp.csr_array(part.weights))
            progress.step()
        warn_undecided(undecided, MAX_STEPS)
        n = X.shape[0]
        # By set, not by row: so a learner sees the same whatever the order of the rows was.
        self.indices_, self.weights_ = np.concatenate(found), np.concatenate(beta)
        self.n_selected_, self.n_subsets_ = len(self.indices_), len(cut.subsets)
        self.reduction_ = self.n_selected_ / n
        self.hull_error_, self.subset_labels_ = np.full(n, np.nan), np.full(n, -1)
        self.hull_error_[cut.kept] = error[cut.distinct.inverse]
        self.subset_labels_[cut.kept] = place[cut.distinct.inverse]
        if self.store_assignments:
            self.assignments_ = assemble_assignments(columns, cut, n)

    def _warn_of_extremes(self, X: Any) -> None:
        n = X.shape[0]
        if collapses(self.kernel_, X, self.eps):
            warnings.warn(
                f"eps={self.eps:g} is at least the largest squared distance that two rows can "
                f"have in kernel space; {self.n_selected_} rows now stand for {n}. Usual values "
                "are 1e-4 to 1e-2.",
                UserWarning,
                stacklevel=3,
            )
        if self.reduction_ > NO_COMPRESSION and n >= ENOUGH_ROWS:
            warnings.warn(
                f"No compression: {self.n_selected_} of {n} rows are needed to be within "
                f"eps={self.eps:g}. The data have many dimensions, or the kernel is narrow (large "
                "gamma, unscaled features); use SVC or Nystroem, or a larger eps.",
                UserWarning,
                stacklevel=3,
            )

    def fit_resample(self, X, y=None, sample_weight=None):
        """Select the representatives and return them with their classes and weights.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,), default=None
            Classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        RepresentativeSet
            ``X``, ``y`` (None if none was given) and ``weights``, to fit any learner that takes
            ``sample_weight``.
        """
        self.fit(X, y, sample_weight)
        return self.take(X, y)

    def take(self, X, y=None):
        """Return the representatives among the rows that were fitted.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows that were given to `fit`.
        y : array-like of shape (n_samples,), default=None
            Their classes.

        Returns
        -------
        RepresentativeSet
            ``X``, ``y`` and ``weights``.
        """
        check_is_fitted(self)
        X = validate_rows(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        if X.shape[0] != len(self.hull_error_):
            raise ValueError(
                f"take needs the {len(self.hull_error_)} rows that were fitted, got {X.shape[0]}."
            )
        chosen = None if y is None else np.asarray(y)[self.indices_]
        return RepresentativeSet(X[self.indices_], chosen, self.weights_)


def weighted_scale(X: Any, weight: np.ndarray) -> float:
    """Return what gamma="scale" means where a row of weight 2 counts as two rows."""
    total = float(weight.sum()) * X.shape[1]
    mean = float(weight @ np.asarray(X.sum(axis=1)).ravel()) / total
    if sp.issparse(X):
        variance = float(weight @ squared_norms(X)) / total - mean**2
    else:
        chunks = row_chunks(X.shape[0], X.shape[1], megabytes=16.0)
        variance = sum(float(weight[rows] @ squared_norms(X[rows] - mean)) for rows in chunks)
        variance /= total
    return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0


def class_labels(y: Any, n: int) -> np.ndarray:
    """Return classes as small integers; zeros without y."""
    if y is None:
        return np.zeros(n, dtype=np.intp)
    from sklearn.utils import check_consistent_length, column_or_1d
    from sklearn.utils.multiclass import check_classification_targets

    y = column_or_1d(y)
    check_consistent_length(y, np.empty(n))
    check_classification_targets(y)
    return np.unique(y, return_inverse=True)[1]


def assemble_assignments(columns: list[Any], cut: Segregated, n: int) -> sp.csr_array:
    """Return the convex weights of all rows from those of the subsets."""
    stacked = sp.csr_array(sp.block_diag(columns, format="csr"))
    row_of = np.empty(len(cut.rows), dtype=np.intp)
    row_of[np.concatenate(cut.subsets)] = np.arange(len(cut.rows))
    inside = sp.csr_array(stacked[row_of[cut.distinct.inverse]])
    if len(cut.kept) == n:
        return inside
    spread = sp.csr_array(
        (np.ones(len(cut.kept)), (cut.kept, np.arange(len(cut.kept)))), shape=(n, len(cut.kept))
    )
    return sp.csr_array(spread @ inside)
