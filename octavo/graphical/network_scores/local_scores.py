"""Scores of a node given its parents: BIC, AIC, log-likelihood, BDeu, BDe, K2 and general BD.

A decomposable score of a network is a sum over nodes of s_i(parents). For all of them but the
general BD, s_i(P) = J(P ∪ {i}) − M_i(P), where J and M are sums over the cells of a contingency
table; each table is counted once, whichever of its variables is the child.

Reference: C. P. de Campos and Q. Ji (2011), "Efficient Structure Learning of Bayesian Networks
using Constraints", JMLR 12, Equations (1) and (2). Natural logarithms.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from octavo.engine.discrete.contingency import CellSums, CountedRows, distinct_rows
from octavo.engine.estimators.checked import checked
from octavo.graphical.network_scores.state_table import code_table, declared_categories, fit_columns

__all__ = ["local_score", "network_score"]

SCORES = ("bic", "aic", "loglik", "bdeu", "bde", "bd", "k2")
AlphaTable = Callable[[int, tuple[int, ...]], NDArray[np.float64]]


class FamilyScorer:
    """Score many families (a node with a set of parents) on one data set.

    Parameters
    ----------
    rows : CountedRows
        The data.
    score : {"bic", "aic", "loglik", "bdeu", "bde", "bd", "k2"}
        The score.
    ess : float
        Equivalent sample size of BDeu and BDe.
    alpha : float or callable
        Cell of the Dirichlet prior of "bd": a number for all cells, or a function of (node,
        parents) that returns an array with an axis for each parent and the node's last.
    prior : sequence of array-like, object with ``joint(variables)``, or None
        The prior distribution of "bde": a marginal a variable, taken as independent, or a
        model. None is uniform, which makes it BDeu.
    n_jobs : int or None
        Number of threads that count.

    Attributes
    ----------
    weight : float
        Penalty of one free parameter: log(N)/2 for BIC, 1 for AIC, 0 otherwise.
    n_evaluations : int
        How many local scores were computed.
    """

    def __init__(
        self,
        rows: CountedRows,
        score: str = "bic",
        *,
        ess: float = 1.0,
        alpha: float | AlphaTable = 1.0,
        prior: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        if score not in SCORES:
            raise ValueError(f"score must be one of {SCORES}, got {score!r}.")
        if score == "bde" and prior is None:
            score = "bdeu"
        self.rows, self.score, self.ess = rows, score, float(ess)
        self.n_states = np.asarray(rows.n_states, np.int64)
        self.n_evaluations = 0
        self.weight = {"bic": 0.5 * math.log(max(rows.n_samples, 1)), "aic": 1.0}.get(score, 0.0)
        self.penalised = score in ("bic", "aic", "loglik")
        self._alpha: AlphaTable | None = None
        scale, shared = [0.0], [False]
        if score == "bdeu":
            scale, shared = [self.ess], [True]
        elif score == "bde":
            self._alpha = _prior_tables(prior, self.n_states, self.ess)
        elif callable(alpha) and score == "bd":
            self._alpha = alpha
        elif score in ("bd", "k2"):
            cell = 1.0 if score == "k2" else float(alpha)  # type: ignore[arg-type]
            if not cell > 0:
                raise ValueError(f"alpha must be positive, got {alpha!r}.")
            # A cell of the parents' table has the r_i cells of the node's table below it.
            self._sizes = np.unique(self.n_states)
            scale = [cell, *(cell * self._sizes)]
            shared = [False] * len(scale)
        self.sums = CellSums(rows, scale, shared, n_jobs)

    def __call__(
        self, nodes: NDArray[np.integer], parents: NDArray[np.integer]
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the scores of families of one size, and their numbers of occupied cells.

        Parameters
        ----------
        nodes : ndarray of shape (n_families,)
            The children.
        parents : ndarray of shape (n_families, n_parents)
            Their parents, ascending.

        Returns
        -------
        scores : ndarray of shape (n_families,)
            Local scores.
        occupied : ndarray of shape (n_families,)
            Combinations of states of child and parents that occur (|K_i| in the paper).
        """
        self.n_evaluations += len(nodes)
        if self._alpha is not None:
            return self._by_tables(nodes, parents)
        families = np.sort(np.column_stack([parents, nodes]).astype(np.int16), axis=1)
        joint, occupied = self.sums(families)
        margin, _ = self.sums(np.ascontiguousarray(parents, np.int16))
        column = np.zeros(len(nodes), np.int64)
        if self.score in ("bd", "k2"):
            column = 1 + np.searchsorted(self._sizes, self.n_states[nodes])
        # Σ n_ijk log(n_ijk / n_ij), or the Γ terms of Eq. (2), of joint less margin
        scores = joint[:, 0] - margin[np.arange(len(nodes)), column]
        if self.weight:  # Eq. (1): w times t_i = r_P (r_i − 1)
            scores -= self.weight * self.n_parameters(nodes, parents)
        return scores, occupied

    def n_parameters(
        self, nodes: NDArray[np.integer], parents: NDArray[np.integer]
    ) -> NDArray[np.float64]:
        """Return t_i(P) = r_P (r_i − 1), in floating point since r_P can be astronomical."""
        return self.parent_cells(parents) * (self.n_states[nodes] - 1.0)

    def parent_cells(self, parents: NDArray[np.integer]) -> NDArray[np.float64]:
        """Return r_P, the number of combinations of the parents' states."""
        return np.prod(self.n_states[parents].astype(np.float64), axis=1)

    def one(self, node: int, parents: Sequence[int]) -> float:
        """Return the score of one family."""
        ordered = np.array([sorted(parents)], np.int16).reshape(1, -1)
        return float(self(np.array([node]), ordered)[0][0])

    def _by_tables(
        self, nodes: NDArray[np.integer], parents: NDArray[np.integer]
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Eq. (2) with any hyper-parameters, one full table at a time."""
        assert self._alpha is not None
        scores, occupied = np.empty(len(nodes)), np.empty(len(nodes), np.int64)
        for f, (node, others) in enumerate(zip(nodes.tolist(), parents.tolist())):
            shape = tuple(int(self.n_states[v]) for v in (*others, node))
            cell = np.zeros(self.rows.weights.size, np.int64)
            for v, size in zip((*others, node), shape):
                cell = cell * size + self.rows.codes[v]
            n = np.bincount(cell, self.rows.weights, math.prod(shape)).reshape(-1, shape[-1])
            a = np.asarray(self._alpha(node, tuple(others)), np.float64)
            if a.shape != shape or not (a > 0).all():
                raise ValueError(
                    f"alpha(node={node}, parents={tuple(others)}) must be positive of shape "
                    f"{shape}, got shape {a.shape} with smallest entry "
                    f"{a.min() if a.size else '-'}."
                )
            a = a.reshape(n.shape)
            a_row, n_row = a.sum(axis=1), n.sum(axis=1)
            # Eq. (2): Π Γ(α_ijk + n_ijk) / Γ(α_ijk)
            scores[f] = (gammaln(a + n) - gammaln(a)).sum()
            # Eq. (2): Π Γ(α_ij) / Γ(α_ij + n_ij)
            scores[f] -= (gammaln(a_row + n_row) - gammaln(a_row)).sum()
            occupied[f] = np.count_nonzero(n)
        return scores, occupied


def _prior_tables(prior: Any, n_states: NDArray[np.int64], ess: float) -> AlphaTable:
    """Return the hyper-parameters of BDe: the sample size times a prior's joint probabilities."""
    if hasattr(prior, "joint"):
        return lambda node, parents: ess * prior.joint((*parents, node))
    marginals = [np.asarray(p, np.float64) for p in prior]
    for v, (p, r) in enumerate(zip(marginals, n_states)):
        if p.shape != (r,) or not np.isclose(p.sum(), 1.0) or (p <= 0).any():
            raise ValueError(
                f"The prior of variable {v} must hold {r} positive probabilities, got {p}."
            )
    if len(marginals) != len(n_states):
        raise ValueError(f"prior must have {len(n_states)} marginals, got {len(marginals)}.")

    # ESS times the prior's joint probability
    def table(node: int, parents: tuple[int, ...]) -> NDArray[np.float64]:
        joint = np.array(ess)
        for v in (*parents, node):
            joint = joint[..., None] * marginals[v]
        return joint

    return table


def as_counted_rows(X: Any) -> tuple[CountedRows, list[str]]:
    """Return the distinct rows of a complete categorical table and the names of its columns."""
    names = [str(name) for name in getattr(X, "columns", range(np.shape(X)[1]))]
    declared = declared_categories(X)
    values = np.asarray(X)
    columns = fit_columns(values, names, declared)
    codes = code_table(values, columns)
    return distinct_rows(codes, [len(column.states) for column in columns]), names


def place_of(node: Any, names: Sequence[str]) -> int:
    """Return the position of a node given by name or position."""
    if isinstance(node, (int, np.integer)) and not isinstance(node, bool):
        if 0 <= node < len(names):
            return int(node)
    elif str(node) in names:
        return list(names).index(str(node))
    raise ValueError(f"There is no node {node!r}; the nodes are {list(names)[:20]}.")


@checked
def local_score(
    X: ArrayLike,
    node: Any,
    parents: Sequence[Any] = (),
    score: str = "bic",
    *,
    ess: float = 1.0,
    alpha: float | AlphaTable = 1.0,
    prior: Any = None,
) -> float:
    """Score one node given its parents.

    Parameters
    ----------
    X : array-like or DataFrame of shape (n_samples, n_features)
        Complete categorical data.
    node : int or str
        The child, by position or name.
    parents : sequence of int or str, default=()
        Its parents.
    score : {"bic", "aic", "loglik", "bdeu", "bde", "bd", "k2"}, default="bic"
        The score, in natural logarithms; larger is better.
    ess : float, default=1.0
        Equivalent sample size of "bdeu" and "bde".
    alpha : float or callable, default=1.0
        Hyper-parameters of "bd": one value for all cells, or ``alpha(node, parents)``, which
        returns an array with an axis a parent and the node's last.
    prior : list of array-like, BayesianNetworkModel or None, default=None
        Prior distribution of "bde"; None is uniform.

    Returns
    -------
    score : float
        The local score s_i(P).

    Examples
    --------
    >>> from octavo.graphical import local_score
    >>> X = [[0, 0], [1, 1], [0, 0], [1, 1], [1, 0]]
    >>> round(local_score(X, 1, [0]), 3)
    -3.519
    """
    rows, names = as_counted_rows(X if hasattr(X, "columns") else np.asarray(X))
    scorer = FamilyScorer(rows, score, ess=ess, alpha=alpha, prior=prior)
    return scorer.one(place_of(node, names), [place_of(p, names) for p in parents])


@checked
def network_score(
    X: ArrayLike,
    dag: Any,
    score: str = "bic",
    *,
    ess: float = 1.0,
    alpha: float | AlphaTable = 1.0,
    prior: Any = None,
) -> float:
    """Score a network: the sum of the local scores of its nodes.

    Parameters
    ----------
    X : array-like or DataFrame of shape (n_samples, n_features)
        Complete categorical data.
    dag : networkx.DiGraph or sequence of sequences of int
        The network: a graph whose nodes are names or positions of columns, or the parents of
        each column.
    score : {"bic", "aic", "loglik", "bdeu", "bde", "bd", "k2"}, default="bic"
        The score, in natural logarithms; larger is better.
    ess : float, default=1.0
        Equivalent sample size of "bdeu" and "bde".
    alpha : float or callable, default=1.0
        Hyper-parameters of "bd".
    prior : list of array-like, BayesianNetworkModel or None, default=None
        Prior distribution of "bde".

    Returns
    -------
    score : float
        The score of the network.

    Examples
    --------
    >>> from octavo.graphical import network_score
    >>> X = [[0, 0], [1, 1], [0, 0], [1, 1], [1, 0]]
    >>> round(network_score(X, [(), (0,)]) - network_score(X, [(1,), ()]), 9)
    0.0
    """
    rows, names = as_counted_rows(X if hasattr(X, "columns") else np.asarray(X))
    scorer = FamilyScorer(rows, score, ess=ess, alpha=alpha, prior=prior)
    parents = parents_of_graph(dag, names)
    return math.fsum(scorer.one(node, of) for node, of in enumerate(parents))


def parents_of_graph(dag: Any, names: Sequence[str]) -> list[tuple[int, ...]]:
    """Return the parents of each node, by position, of a networkx graph or a list of parents."""
    if hasattr(dag, "predecessors"):
        found: list[tuple[int, ...]] = [()] * len(names)
        for node in dag.nodes:
            of = sorted(place_of(parent, names) for parent in dag.predecessors(node))
            found[place_of(node, names)] = tuple(of)
    else:
        found = [tuple(sorted(place_of(p, names) for p in of)) for of in dag]
        if len(found) != len(names):
            raise ValueError(f"Expected the parents of {len(names)} nodes, got {len(found)}.")
    check_acyclic(found, names)
    return found


def topological_order(parents: Sequence[Sequence[int]]) -> list[int] | None:
    """Return the nodes with parents first, or None if there is a directed cycle."""
    waiting = {node: set(of) for node, of in enumerate(parents)}
    order: list[int] = []
    placed: set[int] = set()
    while waiting:
        ready = [node for node, of in waiting.items() if of <= placed]
        if not ready:
            return None
        order += ready
        placed.update(ready)
        for node in ready:
            del waiting[node]
    return order


def check_acyclic(parents: Sequence[Sequence[int]], names: Sequence[str]) -> None:
    """Raise a ValueError that shows a cycle, if there is one."""
    if topological_order(parents) is not None:
        return
    left = set(range(len(parents)))
    while True:  # what remains after peeling roots has a parent in what remains
        roots = {node for node in left if not left & set(parents[node])}
        if not roots:
            break
        left -= roots
    walk = [min(left)]
    while walk[-1] not in walk[:-1]:
        walk.append(min(left & set(parents[walk[-1]])))
    cycle = walk[walk.index(walk[-1]) :][::-1]
    raise ValueError(f"The arcs form a cycle: {' -> '.join(str(names[node]) for node in cycle)}.")
