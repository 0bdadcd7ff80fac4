"""Partial order embedding of several views: one matrix a kernel, jointly optimal.

Reference: B. McFee and G. Lanckriet (2011), "Learning Multi-modal Similarity", Section 4, Algorithm
4. The classes K2 and K3 of the paper are not convex and are not built.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.doubles import check_squares
from octavo.engine.estimators.sklearn_door import StrOptions, fit_context
from octavo.engine.estimators.sparse_rows import canonical_csr
from octavo.engine.kernels.gram import check_gram, resolve_kernel
from octavo.metric.partial_order.base import BasePOE
from octavo.metric.partial_order.views import gram_view, unit_scale

__all__ = ["MultipleKernelPOE"]


def check_view(view: Any, place: int, *, precomputed: bool, rows: int = 1) -> Any:
    """Return a view as a finite table."""
    accept = False if precomputed else "csr"
    table = check_array(
        view,
        accept_sparse=accept,
        dtype=np.float64,
        ensure_min_samples=rows,
        input_name=f"View {place}",
    )
    check_squares(table, f"View {place}")
    return canonical_csr(table)


def view_list(views: Any, n_views: int | None) -> list[Any]:
    """Return the views; a single table stands for all of `n_views` kernels."""
    single = hasattr(views, "tocsr") or (hasattr(views, "ndim") and views.ndim == 2)
    if single:
        return [views] * (1 if n_views is None else n_views)
    if isinstance(views, (str, bytes, dict)) or not hasattr(views, "__len__"):
        raise ValueError(
            f"X must be a list of views, one table or kernel matrix each; got "
            f"{type(views).__name__}."
        )
    if not len(views):
        raise ValueError("X must hold at least one view, got an empty list.")
    for place, view in enumerate(views):
        if np.ndim(view) != 2 and not hasattr(view, "tocsr"):
            raise ValueError(
                "X must be a list of views, one table or kernel matrix each; entry "
                f"{place} has {np.ndim(view)} dimensions."
            )
    if n_views is not None and len(views) != n_views:
        raise ValueError(f"X must have one view for each of {n_views} kernels, got {len(views)}.")
    return list(views)


def kernel_specs(kernels: Any, n_views: int) -> list[tuple[Any, dict[str, Any]]]:
    """Return (kernel, parameters) of every view from what a user wrote."""
    if kernels is None or isinstance(kernels, str) or callable(kernels):
        kernels = ["rbf" if kernels is None else kernels] * n_views
    specs = []
    for spec in kernels:
        kernel, params = spec if isinstance(spec, (tuple, list)) and len(spec) == 2 else (spec, {})
        if not (isinstance(kernel, str) or callable(kernel)) or not isinstance(params, dict):
            raise ValueError(
                "A kernel is a name, a function or (kernel, parameters) with a dict of "
                f"parameters; got {spec!r}."
            )
        if kernel == "precomputed":
            raise ValueError("With kernels='precomputed' all views are; a single one cannot be.")
        unknown = set() if callable(kernel) else set(params) - {"gamma", "degree", "coef0"}
        if unknown:
            raise ValueError(
                f"A kernel's parameters are gamma, degree and coef0; got {sorted(unknown)}."
            )
        specs.append((kernel, params))
    return specs


class MultipleKernelPOE(BasePOE):
    """Learn one similarity space from several kernels and comparisons of pairs.

    Each kernel p gets its own matrix W^p; together they minimise Σ tr(W^pK^p) +
    (β/|C|) Σ max(0, 1 + d(i, j) - d(k, l)) over all comparisons "i and j are more alike than k
    and l", d(i, j) = Σ (K^p_i - K^p_j)ᵀW^p(K^p_i - K^p_j). Kernels that say nothing about the
    comparisons get no weight, and items that were not compared can be embedded by their features.

    Answers of people contradict each other; `clean` makes them consistent before anything is
    learned. With labels for all items in place of comparisons,
    `sklearn.neighbors.NeighborhoodComponentsAnalysis` is simpler.

    Parameters
    ----------
    kernels : str, callable or list, default=None
        Kernel of the views: one for all, or a list with one a view, each a name ("linear", "poly",
        "rbf", "sigmoid", "laplacian", "cosine", "chi2"), a function of two tables, or a pair of
        one of these and a dict of ``gamma``, ``degree``, ``coef0``. None stands for "rbf".
        ``"precomputed"``: the views are Gram matrices.
    structure : {"full", "diagonal"}, default="full"
        ``"full"`` is a semidefinite program; ``"diagonal"`` a linear one with a weight for every
        kernel and training item, for many items and for a look at which landmarks count.
    beta : float, default=1000.0
        The paper's β: weight of the mean loss. `MultipleKernelPOECV` finds one.
    n_components : int, default=None
        Directions of largest variance of the training items that are kept; None keeps all.
    combine : {"separate", "sum"}, default="separate"
        ``"sum"`` learns one matrix for the unweighted sum of the kernels (the paper's K1).
    clean : bool or tuple of str, default=True
        Whether contradictions, cycles and redundancies are removed first; a tuple names the steps
        of `clean_comparisons`. False warns of cycles and keeps all.
    normalize : bool, default=True
        Whether each kernel is scaled to unit mean diagonal.
    solver : {"auto", "admm", "atoms", "fista", "subgradient", "sdp", "lp"}, default="auto"
        ``"auto"`` takes ``"lp"`` for diagonals and else ``"atoms"``, which is ``"admm"`` unless all
        views have few dimensions. ``"fista"`` descends on a smoothed loss first;
        ``"subgradient"`` is the paper's own, slow; ``"sdp"`` is cvxpy, for up to about 60 items
        times kernels.
    tol : float, default=1e-4
        Duality gap relative to the objective; below 1e-9 counts as 1e-9.
    max_iter : int, default=2000
        Most steps.
    random_state : int, RandomState instance or None, default=None
        Draws the order in which cycles are broken.

    Attributes
    ----------
    W_ : list of ndarray of shape (n_items, n_items)
        The matrix of each kernel, for the kernel times its entry of ``scales_``.
    embedding_ : ndarray of shape (n_items, n_dimensions)
        The training items in the learned space.
    kernel_weights_ : ndarray of shape (n_kernels,)
        tr(W^pK^p), how much each kernel takes part.
    scales_ : ndarray of shape (n_kernels,)
        What each kernel is multiplied by.
    kernels_ : list
        The kernels with their parameters settled; empty for precomputed ones.
    objective_ : float
        What is minimised, over the comparisons that cleaning left.
    duality_gap_ : float
        At least as large as the distance of `objective_` from the optimum.
    comparisons_ : ndarray of shape (n_comparisons, 4)
        The comparisons that cleaning left.
    n_violated_ : int
        How many of them the learned distances get wrong.
    n_iter_ : int
        Steps taken.

    See Also
    --------
    MultipleKernelPOECV : Chooses beta on comparisons that are held out.
    clean_comparisons : The cleaning on its own.

    References
    ----------
    .. [1] McFee and Lanckriet (2011). Learning Multi-modal Similarity. JMLR 12:491-523.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.metric import MultipleKernelPOE
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(20, 2))
    >>> noise = rng.normal(size=(20, 3))
    >>> i, j, k = rng.integers(20, size=(3, 300))
    >>> use = (i != j) & (i != k) & (j != k)
    >>> closer = np.linalg.norm(x[i] - x[j], axis=1) < np.linalg.norm(x[i] - x[k], axis=1)
    >>> C = np.where(closer[:, None], np.c_[i, j, k], np.c_[i, k, j])[use]
    >>> model = MultipleKernelPOE("linear", beta=100.0).fit([x, noise], C)
    >>> share = model.kernel_weights_ / model.kernel_weights_.sum()
    >>> bool(share[1] < 0.05), model.score(C) > 0.95
    (True, True)
    """

    _parameter_constraints: dict[str, Any] = {
        **BasePOE._parameter_constraints,
        "kernels": [str, callable, list, tuple, None],
        "combine": [StrOptions({"separate", "sum"})],
    }

    def __init__(
        self,
        kernels=None,
        structure="full",
        beta=1000.0,
        n_components=None,
        *,
        combine="separate",
        clean=True,
        normalize=True,
        solver="auto",
        tol=1e-4,
        max_iter=2000,
        random_state=None,
    ):
        self.kernels = kernels
        self.structure = structure
        self.beta = beta
        self.n_components = n_components
        self.combine = combine
        self.clean = clean
        self.normalize = normalize
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _is_precomputed(self):
        return isinstance(self.kernels, str) and self.kernels == "precomputed"

    @property
    def W_(self):
        check_is_fitted(self)
        return self._learned_matrices()

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, C):
        """Learn the space.

        Parameters
        ----------
        X : list of {array-like, sparse matrix}, each of shape (n_items, n_features_p)
            Views of the same items, one a kernel; Gram matrices of shape (n_items, n_items) with
            ``kernels="precomputed"``. A single table is seen by every kernel.
        C : array-like of shape (n_comparisons, 4) or (n_comparisons, 3)
            Rows (i, j, k, l): i and j are more alike than k and l; or (i, j, k) for (i, j, i, k).

        Returns
        -------
        self : object
            Fitted estimator.
        """
        return self._learn(self._views(X), C)

    def _views(self, X):
        precomputed = self._is_precomputed()
        listed = self.kernels if isinstance(self.kernels, (list, tuple)) else None
        tables = [
            check_view(view, place, precomputed=precomputed, rows=2)
            for place, view in enumerate(view_list(X, None if listed is None else len(listed)))
        ]
        sizes = {table.shape[0] for table in tables}
        if len(sizes) > 1:
            raise ValueError(
                "All views must be of the same items; they have "
                f"{[table.shape[0] for table in tables]} rows."
            )
        self._widths = [table.shape[1] for table in tables]
        if precomputed:
            self.kernels_, self._tables_seen, grams = [], [], tables
        else:
            specs = kernel_specs(self.kernels, len(tables))
            self.kernels_ = [
                _resolved(kernel, params, table)
                for (kernel, params), table in zip(specs, tables, strict=True)
            ]
            self._tables_seen = tables
            grams = [
                kernel.block(table, table)
                for kernel, table in zip(self.kernels_, tables, strict=True)
            ]
        scales = []
        for place, K in enumerate(grams):
            name = f"Kernel {place}"
            check_gram(K, definite=False, name=name)
            own = float(np.diagonal(K).mean())
            # One scale for kernels of any unit
            scales.append(unit_scale(own, name) if self.normalize else 1.0)
        self.scales_ = np.array(scales)
        ready = [0.5 * scale * (K + K.T) for scale, K in zip(self.scales_, grams, strict=True)]
        if self.combine == "sum":
            ready = [np.sum(ready, axis=0)]  # Eq. (7)
        return [gram_view(K, self.structure, f"Kernel {place}") for place, K in enumerate(ready)]

    def _tables(self, X):
        precomputed = self._is_precomputed()
        views = [
            check_view(view, place, precomputed=precomputed)
            for place, view in enumerate(view_list(X, len(self._widths)))
        ]
        for place, (view, width) in enumerate(zip(views, self._widths, strict=True)):
            if view.shape[1] != width:
                raise ValueError(
                    f"View {place} has {view.shape[1]} columns, but {width} were seen by fit."
                )
        if len({view.shape[0] for view in views}) > 1:
            raise ValueError(
                f"All views must be of the same items; they have {[v.shape[0] for v in views]} "
                "rows."
            )
        if not precomputed:
            views = [
                kernel.block(view, seen)
                for kernel, view, seen in zip(self.kernels_, views, self._tables_seen, strict=True)
            ]
        # By the scales of training
        blocks = [scale * K for scale, K in zip(self.scales_, views, strict=True)]
        return [np.sum(blocks, axis=0)] if self.combine == "sum" else blocks


def _resolved(kernel, params, table):
    if callable(kernel):
        return resolve_kernel(kernel, table, params=params)
    return resolve_kernel(kernel, table, **params)
