"""Pairwise energies with ordered labels on graphs.

Q(f) = Σ_a θ_a(f_a) + Σ_ab w_ab min(d(f_a - f_b), M), with d convex and even and d(0) = 0: Section
3.2 of Kumar, Veksler and Torr (2011). `PairwiseMRF` checks and holds one; `grid_mrf` makes one of
an image.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from octavo.engine.estimators.arrays import Floats, Indices, Ints
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.doubles import real_array
from octavo.engine.graphs.links import read_links

__all__ = ["PairwiseMRF", "grid_mrf"]

LARGEST = 1e280  # of energies: sums and squares of labels below stay finite
LINEAR, QUADRATIC, TABLE = 0, 1, 2


class PairwiseMRF:
    """An energy of labellings of a graph, with ordered labels and truncated convex differences.

    Parameters
    ----------
    unary : array-like of shape (n_variables, n_labels) or (height, width, n_labels)
        Cost of each label for each variable. Plus infinity forbids a label.
    edges : array-like of int of shape (n_edges, 2), graph or square matrix
        Pairs of neighbours; or a networkx graph, or a symmetric matrix (dense or sparse), whose
        entries are the weights unless `weights` is given. Repeated edges add their weights.
    weights : array-like of shape (n_edges,), float or None, default=None
        Weights of the edges, at least 0; one number for all of them; 1, or those of the graph, by
        default. For a graph or a matrix only None or one number can be given.
    d : {"linear", "quadratic"} or callable, default="linear"
        The difference of labels: |x|, x² or a function of the difference that is convex, even and
        0 at 0.
    truncation : float or None, default=None
        The largest difference M that counts, above 0; without it the energy is convex in the
        differences and ``method="exact"`` minimises it.

    Attributes
    ----------
    unary : ndarray of shape (n_variables, n_labels)
        The costs.
    edges : ndarray of shape (n_edges, 2)
        Edges once each, the smaller variable first.
    weights : ndarray of shape (n_edges,)
        Their weights.
    truncation : float
        M, infinite where there is none.
    n_variables, n_labels : int
        Sizes.
    shape : tuple of int
        Of the variables: that of the image, or (n_variables,).
    costs : ndarray of shape (n_variables, n_labels)
        The unary costs with finite numbers in place of infinity, large enough to change no optimum.
    differences : ndarray of shape (n_labels + 1,)
        d(0), d(1), ..., d(n_labels).
    pair_costs : ndarray of shape (n_labels, n_labels)
        min(d(k - k'), M).

    See Also
    --------
    grid_mrf : The energy of an image.
    minimize_mrf : Its minimisers.

    References
    ----------
    M. P. Kumar, O. Veksler and P. H. S. Torr (2011). Improved Moves for Truncated Convex Models.
    Journal of Machine Learning Research 12, 31-67.

    Examples
    --------
    >>> from octavo.graphical import PairwiseMRF
    >>> mrf = PairwiseMRF([[0, 4, 9], [9, 4, 0], [9, 1, 0]], [[0, 1], [1, 2]], 2.0, truncation=1)
    >>> mrf.energy([0, 2, 2])
    2.0
    """

    def __init__(
        self,
        unary: ArrayLike,
        edges: Any,
        weights: Any = None,
        d: str | Callable[[int], float] = "linear",
        truncation: float | None = None,
    ) -> None:
        costs = real_array(unary, "unary", finite=False)
        if costs.ndim not in (2, 3) or not costs.size:
            raise ValueError(
                "unary must have shape (n_variables, n_labels) or (height, width, n_labels), "
                f"none of them 0; got {costs.shape}."
            )
        self.shape = costs.shape[:-1]
        self.unary = costs.reshape(-1, costs.shape[-1])
        self.n_variables, self.n_labels = self.unary.shape
        _refuse_bad_unary(self.unary)
        self.edges, self.weights = _read_edges(edges, weights, self.n_variables)
        self.d = d
        self.differences = _difference_table(d, self.n_labels)
        self.truncation = _read_truncation(truncation)
        offsets = np.abs(np.subtract.outer(np.arange(self.n_labels), np.arange(self.n_labels)))
        self.pair_costs = np.minimum(self.differences[offsets], self.truncation)
        self.costs = self._finite_costs()

    @property
    def is_convex(self) -> bool:
        """Whether no difference of labels is truncated."""
        return bool(self.differences[self.n_labels - 1] <= self.truncation)

    @property
    def kind(self) -> int:
        """The number by which kernels know d."""
        return {"linear": LINEAR, "quadratic": QUADRATIC}.get(str(self.d), TABLE)

    def energy(self, labels: ArrayLike) -> float:
        """Return the energy of a labelling; infinite where it has a forbidden label.

        Parameters
        ----------
        labels : array-like of int of shape (n_variables,) or (height, width)
            A label of 0 to n_labels - 1 for each variable.

        Returns
        -------
        energy : float
            Q(labels).
        """
        return self.energy_of(self.read_labels(labels))

    def energy_of(self, f: Indices) -> float:
        """Return the energy of labels that are known to be right.

        Parameters
        ----------
        f : ndarray of int of shape (n_variables,)
            Labels.

        Returns
        -------
        energy : float
            Q(f).
        """
        a, b = self.edges.T
        pairs = self.weights @ self.pair_costs[f[a], f[b]]
        return float(self.unary[np.arange(self.n_variables), f].sum() + pairs)

    def read_labels(self, labels: ArrayLike, name: str = "labels") -> Indices:
        """Return checked labels, one for each variable in their order.

        Parameters
        ----------
        labels : array-like of int
            Of the shape of the variables, or flat.
        name : str, default="labels"
            What messages call them.

        Returns
        -------
        labels : ndarray of int of shape (n_variables,)
            The labels.
        """
        values = real_array(labels, name)
        if values.shape not in (self.shape, (self.n_variables,)):
            raise ValueError(
                f"{name} must have one entry for each variable, shape {self.shape}; "
                f"got {values.shape}."
            )
        flat = values.ravel()
        wrong = (flat != np.floor(flat)) | (flat < 0) | (flat >= self.n_labels)
        if wrong.any():
            a = int(np.argmax(wrong))
            raise ValueError(
                f"{name} must be whole numbers of 0 to {self.n_labels - 1}; variable {a} has "
                f"{flat[a]:g}."
            )
        return flat.astype(np.intp)

    def _finite_costs(self) -> Floats:
        """Return unary costs in which a forbidden label costs more than all it could save."""
        finite = np.where(np.isinf(self.unary), -np.inf, self.unary)
        highest, largest = finite.max(axis=1), float(self.pair_costs.max())
        degree = np.zeros(self.n_variables)
        for ends in self.edges.T:
            np.add.at(degree, ends, self.weights)
        span = float(np.abs(np.where(np.isinf(self.unary), 0.0, self.unary)).max())
        with np.errstate(over="ignore"):
            total = (
                span * self.n_variables
                + float(degree.sum()) * float(self.differences.max()) * self.n_labels
            )
        if not total < LARGEST:
            raise ValueError(
                "unary costs or weights are too large: energies would not be finite numbers. "
                "Scale them."
            )
        ceiling = highest + degree * largest + span + (1.0 if span + largest == 0 else 0.0)
        return np.where(np.isinf(self.unary), ceiling[:, None], self.unary)


def _refuse_bad_unary(unary: Floats) -> None:
    bad = np.isnan(unary) | (unary == -np.inf)
    if bad.any():
        a, k = np.argwhere(bad)[0]
        raise ValueError(
            f"unary must hold numbers or plus infinity (a forbidden label); variable {a} has "
            f"{unary[a, k]} for label {k}."
        )
    none = np.isinf(unary).all(axis=1)
    if none.any():
        raise ValueError(f"unary forbids every label of variable {int(np.argmax(none))}.")


def _read_truncation(truncation: Any) -> float:
    if truncation is None:
        return np.inf
    if isinstance(truncation, (bool, np.bool_)) or not np.isscalar(truncation):
        raise ValueError(f"truncation must be a number above 0 or None; got {truncation!r}.")
    try:
        value = float(truncation)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        value = np.nan
    if not value > 0:
        raise ValueError(f"truncation must be a number above 0 or None; got {truncation!r}.")
    return value


def _difference_table(d: Any, n_labels: int) -> Floats:
    """Return d(0), ..., d(n_labels), checked to be even, convex and 0 at 0."""
    x = np.arange(n_labels + 1, dtype=np.float64)
    if isinstance(d, str) and d in ("linear", "quadratic"):
        return x if d == "linear" else x**2
    if not callable(d):
        raise ValueError(f"d must be 'linear', 'quadratic' or a function; got {d!r}.")
    try:
        right = np.array([float(d(k)) for k in range(n_labels + 1)])
        left = np.array([float(d(-k)) for k in range(n_labels + 1)])
    except Exception as error:
        raise ValueError(
            "d must be a function of one difference of labels that returns a number; it raised "
            f"{type(error).__name__}: {error}"
        ) from error
    if not (np.isfinite(right).all() and np.isfinite(left).all()):
        raise ValueError(f"d must be finite at differences of up to {n_labels}.")
    scale = 1e-12 * max(1e-300, float(np.abs(right).max()))
    if abs(right[0]) > scale:
        raise ValueError(f"d must be 0 at 0; d(0) = {right[0]:g}.")
    odd = np.abs(right - left) > scale
    if odd.any():
        k = int(np.argmax(odd))
        raise ValueError(f"d must be even; d({k}) = {right[k]:g}, but d(-{k}) = {left[k]:g}.")
    bend = np.diff(np.concatenate([[right[1]], right]), 2)
    if (bend < -4 * scale).any():
        k = int(np.argmax(bend < -4 * scale))
        raise ValueError(
            f"d must be convex; d({k + 1}) - 2 d({k}) + d({k - 1}) = {bend[k]:g} is negative."
        )
    right[0] = 0.0
    return right


def _read_edges(edges: Any, weights: Any, n: int) -> tuple[Ints, Floats]:
    """Return edges once each and their weights, from an edge list or a graph."""
    array = None if sp.issparse(edges) or hasattr(edges, "edges") else np.asarray(edges)
    is_list = array is not None and (
        array.size == 0 or (array.ndim == 2 and array.shape[1] == 2 and array.dtype != bool)
    )
    if is_list and array is not None:
        pairs = real_array(array.reshape(-1, 2), "edges")
        if (pairs != np.floor(pairs)).any() or (pairs < 0).any() or (pairs >= n).any():
            raise ValueError(f"edges must join variables 0 to {n - 1}, as whole numbers.")
        pairs = pairs.astype(np.int64)
        values = real_array(1.0 if weights is None else weights, "weights", finite=False)
        if values.ndim == 0:
            values = np.full(len(pairs), float(values))
        if values.shape != (len(pairs),):
            raise ValueError(
                f"weights must have one entry for each of the {len(pairs)} edges; "
                f"got shape {values.shape}."
            )
    else:
        links = read_links(edges, n_nodes=n)
        if links.matrix.shape[0] != n:
            raise ValueError(
                f"The graph has {links.matrix.shape[0]} nodes, but unary has {n} variables."
            )
        upper = sp.triu(links.matrix).tocoo()
        pairs = np.column_stack([upper.row, upper.col]).astype(np.int64)
        values = upper.data.astype(np.float64)
        if weights is not None:
            if np.ndim(weights) != 0:
                raise ValueError("weights beside a graph must be None or one number for all edges.")
            values = np.full(len(pairs), float(real_array(weights, "weights", finite=False)))
    loops = pairs[:, 0] == pairs[:, 1]
    if loops.any():
        raise ValueError(f"edges must not join variable {pairs[np.argmax(loops), 0]} to itself.")
    bad = ~(np.isfinite(values) & (values >= 0))
    if bad.any():
        e = int(np.argmax(bad))
        raise ValueError(
            f"weights must be finite and at least 0; the edge between variables {pairs[e, 0]} and "
            f"{pairs[e, 1]} has {values[e]:g}."
        )
    pairs.sort(axis=1)
    unique, place = np.unique(pairs, axis=0, return_inverse=True)
    total = np.bincount(place.ravel(), weights=values, minlength=len(unique))
    kept = total > 0
    return unique[kept], np.asarray(total[kept], dtype=np.float64)


def grid_edges(height: int, width: int, connectivity: int = 4) -> Ints:
    """Return the edges between neighbours of a grid: right, down, and for 8 both diagonals.

    Parameters
    ----------
    height, width : int
        Size of the grid; variables are numbered row by row.
    connectivity : {4, 8}, default=4
        How many neighbours an inner variable has.

    Returns
    -------
    edges : ndarray of int of shape (n_edges, 2)
        Pairs of variables.
    """
    at = np.arange(height * width).reshape(height, width)
    steps = [(at[:, :-1], at[:, 1:]), (at[:-1], at[1:])]
    if connectivity == 8:
        steps += [(at[:-1, :-1], at[1:, 1:]), (at[:-1, 1:], at[1:, :-1])]
    return np.concatenate([np.column_stack([u.ravel(), v.ravel()]) for u, v in steps])


@checked
def grid_mrf(
    unary: ArrayLike,
    weights: ArrayLike = 1.0,
    d: str | Callable[[int], float] = "linear",
    truncation: float | None = None,
    *,
    connectivity: int = 4,
) -> PairwiseMRF:
    """Return the energy of labellings of an image.

    Parameters
    ----------
    unary : array-like of shape (height, width, n_labels)
        Cost of each label for each pixel.
    weights : float or array-like of shape (n_edges,), default=1.0
        One weight, or one for each edge: those to the right row by row, then those below, then,
        with eight neighbours, those below right and below left.
    d : {"linear", "quadratic"} or callable, default="linear"
        The difference of labels, as for `PairwiseMRF`.
    truncation : float or None, default=None
        The largest difference that counts.
    connectivity : {4, 8}, default=4
        Number of neighbours. Diagonal edges have the weight that is given, not one over their
        length.

    Returns
    -------
    mrf : PairwiseMRF
        The energy; its labellings have the shape of the image.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.graphical import grid_mrf
    >>> mrf = grid_mrf(np.zeros((3, 4, 2)), 0.5, truncation=1)
    >>> len(mrf.edges), mrf.energy([[0, 1, 0, 1]] * 3)
    (17, 4.5)
    """
    costs = real_array(unary, "unary", finite=False)
    if costs.ndim != 3 or not costs.size:
        raise ValueError(f"unary must have shape (height, width, n_labels); got {costs.shape}.")
    if connectivity not in (4, 8) or isinstance(connectivity, bool):
        raise ValueError(f"connectivity must be 4 or 8; got {connectivity!r}.")
    edges = grid_edges(costs.shape[0], costs.shape[1], connectivity)
    return PairwiseMRF(costs, edges, weights, d, truncation)
