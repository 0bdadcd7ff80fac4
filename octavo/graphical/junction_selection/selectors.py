"""What every selector of edges has in common: a region in, the edges of it out.

Reference: D. Vats and R. D. Nowak (2014), "A junction tree framework for undirected graphical model
selection", JMLR 15:147-191, section 2.3 and Appendix B.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils.validation import validate_data

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.doubles import real_array
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.glasso.joint import log_det
from octavo.engine.glasso.pattern_mle import PatternFit, pattern_mle
from octavo.graphical.junction_selection.clusters import as_graph, as_mask
from octavo.graphical.junction_selection.moments import Moments, edge_price, moments

__all__ = ["Selection"]

Bools = NDArray[np.bool_]
FEWEST = 4  # rows: with three, correlations of any pair say next to nothing


class Selection(NamedTuple):
    """What a selector found in a region.

    Attributes
    ----------
    edges : tuple of (int, int)
        Pairs of columns of X, among those that were to be decided.
    alpha : float
        The penalty, threshold or level that was used.
    score : float
        The criterion at it, larger is better; 0 where nothing was compared.
    """

    edges: tuple[tuple[int, int], ...]
    alpha: float
    score: float


class Decision(NamedTuple):
    """Positions of the edges that a selector keeps, and the fit that they come from, if any."""

    kept: NDArray[np.intp]
    alpha: float
    score: float
    precision: Any = None


class Region(NamedTuple):
    """A region as a selector sees it: rows of its columns, and two masks over them."""

    X: Floats
    moments: Moments
    allowed: Bools
    penalised: Bools

    @property
    def pairs(self) -> NDArray[np.intp]:
        """Pairs to decide, i < j."""
        return np.argwhere(np.triu(self.penalised, 1))

    @property
    def known(self) -> Bools:
        """Pairs that are allowed and not to be decided."""
        return self.allowed & ~self.penalised


def as_region(X: Any, nodes: Any, allowed: Any, penalised: Any) -> tuple[Region, NDArray[np.intp]]:
    """Check what `select` is given."""
    X = real_array(X, "X")
    if X.ndim != 2 or len(X) < FEWEST:
        raise ValueError(f"X must be a table of at least {FEWEST} rows, got shape {X.shape}.")
    columns = np.asarray(nodes)
    if columns.ndim != 1 or columns.dtype.kind not in "iu" or not columns.size:
        raise ValueError(f"nodes must be a list of columns of X, got {nodes!r}.")
    if (
        columns.min() < 0
        or columns.max() >= X.shape[1]
        or len(set(columns.tolist())) < len(columns)
    ):
        raise ValueError(
            f"nodes must hold different columns, 0 to {X.shape[1] - 1}, got {columns.tolist()}."
        )
    columns = columns.astype(np.intp)
    may = as_mask(allowed, len(columns), "allowed")
    asked = as_mask(penalised, len(columns), "penalised")
    outside = np.argwhere(asked & ~may)
    if len(outside):
        i, j = outside[0]
        raise ValueError(f"penalised has the pair ({i}, {j}), which is not allowed.")
    part = X[:, columns]
    return Region(part, moments(part), may, asked), columns


def as_selection(decision: Decision, columns: NDArray[np.intp]) -> Selection:
    """Return a decision in the names of the columns."""
    edges = sorted((int(columns[i]), int(columns[j])) for i, j in decision.kept)
    return Selection(tuple(edges), float(decision.alpha), float(decision.score))


def shrunk_mle(R: Floats, adjacency: Bools, tol: float = 1e-9) -> PatternFit:
    """Return the Gaussian fit under a pattern of zeros; a correlation matrix may be shrunk.

    Where the sample is too small for the pattern, correlations are shrunk by a hundredth, a tenth
    and so on until the likelihood has a maximum; `residual` then says by how much it is off.
    """
    for shrink in (0.0, 1e-2, 1e-1, 0.5):
        shrunk = (1.0 - shrink) * R + shrink * np.eye(len(R))
        try:
            fit = pattern_mle(shrunk, adjacency, tol, 200)
        except (ValueError, np.linalg.LinAlgError):
            continue
        if np.isfinite(fit.precision).all() and np.linalg.eigvalsh(fit.precision)[0] > 0:
            return fit._replace(residual=max(fit.residual, shrink))
    raise ValueError("The likelihood has no maximum under this pattern.")


def gaussian_ebic(
    precision: Floats, R: Floats, n: int, n_edges: int, gamma: float, size: int | None = None
) -> float:
    """Return the extended Bayesian information criterion of section 8, larger is better."""
    fit = n * float(log_det(precision[None])[0] - np.vdot(R, precision))  # n (log det Θ - tr(SΘ))
    # less |E| (log n + 4γ log p); the text prints plus signs
    return fit - n_edges * float(edge_price(n, len(R) if size is None else size, gamma))


class GraphSelector(CallbackSupportMixin, SoundEstimator):
    """A selector: `select` decides the edges of a region, `fit` those of all pairs of columns."""

    is_gaussian: ClassVar[bool] = True

    def select(self, X, nodes, allowed, penalised):
        """Decide some edges over some columns.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            All rows and columns.
        nodes : sequence of int
            The columns that are looked at.
        allowed : array of shape (n_nodes, n_nodes) of bool
            Pairs of `nodes` that may be joined.
        penalised : array of shape (n_nodes, n_nodes) of bool
            Those of them that are to be decided; the others are taken as they are.

        Returns
        -------
        Selection
            The edges found, as pairs of columns of X, with the penalty and the criterion.
        """
        self._validate_params()
        region, columns = as_region(X, nodes, allowed, penalised)
        return as_selection(self._decide(region), columns)

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Find the graph of all columns.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The sample, at least four rows.
        y : None
            Ignored.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        X = validate_data(self, X, dtype=np.float64, ensure_min_samples=FEWEST)
        d = X.shape[1]
        region, _ = as_region(X, np.arange(d), None, None)
        with FitProgress(self, 1, X) as progress:
            found = self._decide(region)
            progress.step()
        self.adjacency_ = np.zeros((d, d), dtype=bool)
        i, j = np.asarray(found.kept, dtype=np.intp).reshape(-1, 2).T
        self.adjacency_[i, j] = self.adjacency_[j, i] = True
        self.graph_ = as_graph(self.adjacency_)
        self.alpha_, self.score_ = float(found.alpha), float(found.score)
        if found.precision is not None:
            scale = region.moments.scale
            self.precision_ = found.precision / scale[:, None] / scale
        return self

    def _decide(self, region: Region) -> Decision:
        raise NotImplementedError
