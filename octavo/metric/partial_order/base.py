"""What the estimators of partial order embedding share: cleaning, solving, embedding, scoring.

Reference: B. McFee and G. Lanckriet (2011), "Learning Multi-modal Similarity", Sections 3 and 4.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.doubles import reachable_tolerance
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions
from octavo.engine.estimators.sound import SoundEstimator
from octavo.metric.partial_order.comparison_graph import (
    ComparisonGraph,
    check_steps,
    cleaned_graph,
)
from octavo.metric.partial_order.comparisons import check_comparisons
from octavo.metric.partial_order.views import (
    View,
    make_program,
    projections,
    solve_program,
    upright,
)

CLEANING = ("pairs", "acyclic", "reduce")


def prepare_comparisons(comparisons: Any, n_items: int, clean: Any, random_state: Any) -> Any:
    """Return comparisons, cleaned where that is asked for; warn of cycles where it is not."""
    rows = check_comparisons(comparisons, n_items)
    graph = ComparisonGraph(rows, n_items)
    if clean is False:
        cyclic = len(graph.contradictions().cyclic)
        if cyclic:
            warnings.warn(
                f"{cyclic} of {len(graph)} comparisons lie on cycles, which no embedding can "
                "satisfy; clean=True removes them.",
                UserWarning,
                stacklevel=4,
            )
        return rows
    steps = CLEANING if clean is True else check_steps(clean)
    kept = cleaned_graph(graph, steps, "random", random_state)
    if not len(kept):
        raise ValueError(
            f"None of {len(rows)} comparisons is left after cleaning: all contradict each other."
        )
    return rows[np.sort(kept.rows)]


class BasePOE(TransformerMixin, CallbackSupportMixin, SoundEstimator):
    """Fit views to comparisons; what a view is, subclasses say.

    See `MultipleKernelPOE` for the parameters.
    """

    _parameter_constraints: dict[str, Any] = {
        "structure": [StrOptions({"full", "diagonal"})],
        "beta": [Interval(Real, 0, None, closed="neither")],
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "clean": ["boolean", tuple, list],
        "normalize": ["boolean"],
        "solver": [StrOptions({"auto", "admm", "atoms", "fista", "subgradient", "sdp", "lp"})],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.no_validation = True
        return tags

    def _tables(self, X: Any) -> list[Floats]:
        """Return what each of the views' maps multiplies, for items that are new."""
        raise NotImplementedError

    def _solved(self, views: list[View], comparisons: Any, beta: float, on_step: Any) -> Any:
        program = make_program(views, self.structure, comparisons, beta)
        tol = reachable_tolerance(self.tol, floor=1e-9)
        found = solve_program(program, self.structure, self.solver, tol, self.max_iter, on_step)
        return found, *projections(program, views, found.weights)

    def _learn(self, views: list[View], comparisons: Any) -> Any:
        rows = prepare_comparisons(comparisons, len(views[0].table), self.clean, self.random_state)
        with FitProgress(self, self.max_iter, None, rows) as progress:
            found, maps, traces = self._solved(views, rows, self.beta, lambda: progress.step())
        self.comparisons_, self.n_iter_ = rows, found.n_iter
        self.objective_, self.duality_gap_ = found.objective, max(found.duality_gap, 0.0)
        self.kernel_weights_ = traces
        self._maps, self._rotation = maps, None
        stacked = self._stacked([view.table for view in views])
        self._rotation = self._chosen_rotation(stacked)
        self.embedding_ = stacked if self._rotation is None else stacked @ self._rotation
        self.n_violated_ = int((~self.predict_comparisons(rows)).sum())
        if not traces.any():
            warnings.warn(
                f"The solution at beta={self.beta:g} is W = 0, all items in one point: margins "
                "cost more than they gain. Use a larger beta.",
                UserWarning,
                stacklevel=3,
            )
        if not found.converged:
            warnings.warn(
                f"{type(self).__name__} stopped after {found.n_iter} steps with a duality gap of "
                f"{found.duality_gap:.3g} at an objective of {found.objective:.6g}. Increase "
                "max_iter or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return self

    def _stacked(self, tables: list[Floats]) -> Floats:
        """Return g(x) = (N^p K^p_x)_p, Eq. (9)."""
        parts = [table @ M for table, M in zip(tables, self._maps, strict=True)]  # N^p K^p_x
        stacked = np.hstack(parts)
        return stacked if stacked.shape[1] else np.zeros((len(tables[0]), 1))

    def _chosen_rotation(self, stacked: Floats) -> Any:
        """Return the directions of largest variance, or None where all are kept as they are."""
        if self.n_components is None:
            return None
        _, values, Vt = np.linalg.svd(stacked - stacked.mean(axis=0), full_matrices=False)
        rank = max(int((values > 1e-9 * max(float(values[0]), 1e-300)).sum()), 1)
        if self.n_components > rank:
            warnings.warn(
                f"n_components={self.n_components} is more than the {rank} dimensions of the "
                f"solution; {rank} are kept.",
                UserWarning,
                stacklevel=4,
            )
        return upright(np.ascontiguousarray(Vt[: min(self.n_components, rank)].T))

    def _learned_matrices(self) -> list[Floats]:
        return [M @ M.T for M in self._maps]

    def transform(self, X):
        """Map items, new ones too, into the learned space.

        Parameters
        ----------
        X : array-like, or list of array-like
            Items in the form of those of `fit`; for precomputed kernels, their values with the
            training items, of shape (n_queries, n_items).

        Returns
        -------
        Z : ndarray of shape (n_queries, n_dimensions)
            Points; squared distances between them are the learned ones.
        """
        check_is_fitted(self)
        stacked = self._stacked(self._tables(X))
        return stacked if self._rotation is None else stacked @ self._rotation

    def predict_comparisons(self, C, X=None):
        """Return for each comparison whether its first pair is the closer one.

        Parameters
        ----------
        C : array-like of shape (n_comparisons, 4) or (n_comparisons, 3)
            Rows (i, j, k, l) or (i, j, k) of items.
        X : array-like, or list of array-like, default=None
            New items, in the form that `transform` takes; they are numbered behind the training
            items, so that the first has the number n_items.

        Returns
        -------
        closer : ndarray of bool of shape (n_comparisons,)
            True where d(i, j) < d(k, l).
        """
        check_is_fitted(self)
        points = self.embedding_ if X is None else np.vstack([self.embedding_, self.transform(X)])
        i, j, k, l = check_comparisons(C, len(points)).T
        near, far = points[i] - points[j], points[k] - points[l]
        return np.einsum("cd,cd->c", near, near) < np.einsum("cd,cd->c", far, far)

    def score(self, C, X=None):
        """Return the share of comparisons that the learned distances respect (GAUC).

        Parameters
        ----------
        C : array-like of shape (n_comparisons, 4) or (n_comparisons, 3)
            Rows (i, j, k, l) or (i, j, k) of items, not cleaned.
        X : array-like, or list of array-like, default=None
            New items, numbered behind the training items.

        Returns
        -------
        float
            Between 0 and 1.
        """
        return float(np.mean(self.predict_comparisons(C, X)))
