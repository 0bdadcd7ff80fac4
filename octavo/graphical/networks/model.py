"""A Bayesian network with its probability tables: likelihood, sampling, exact queries, BIF.

Tables are estimated with a Dirichlet prior, queries are answered by variable elimination.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from octavo._unpacking import UNPACKING_ERRORS, TooLargeError, unpack
from octavo._whole_files import write_whole
from octavo.engine.discrete.bif import format_bif, parse_bif
from octavo.engine.discrete.contingency import count_table
from octavo.graphical.network_scores.local_scores import (
    check_acyclic,
    parents_of_graph,
    place_of,
    topological_order,
)
from octavo.graphical.network_scores.state_table import (
    Column,
    code_column,
    code_table,
    declared_categories,
    fit_columns,
)

__all__ = ["BayesianNetworkModel"]


class Factor(NamedTuple):
    """A non-negative function of some variables, an axis a variable."""

    variables: tuple[int, ...]
    values: NDArray[np.float64]


def _product(one: Factor, other: Factor) -> Factor:
    """Multiply two factors."""
    scope = (*one.variables, *(v for v in other.variables if v not in one.variables))
    axis = {v: k for k, v in enumerate(scope)}
    operands: list[Any] = [one.values, [axis[v] for v in one.variables]]
    operands += [other.values, [axis[v] for v in other.variables], list(range(len(scope)))]
    return Factor(scope, np.einsum(*operands))


def _sum_out(factor: Factor, variable: int) -> Factor:
    """Sum a factor over one of its variables."""
    at = factor.variables.index(variable)
    return Factor(factor.variables[:at] + factor.variables[at + 1 :], factor.values.sum(axis=at))


def _fixed(factor: Factor, evidence: Mapping[int, int]) -> Factor:
    """Set variables of a factor to what is known."""
    index = tuple(evidence.get(v, slice(None)) for v in factor.variables)
    left = tuple(v for v in factor.variables if v not in evidence)
    return Factor(left, factor.values[index])


def eliminate(factors: list[Factor], keep: Sequence[int]) -> Factor:
    """Multiply factors and sum out all variables but some, cheapest product first.

    Parameters
    ----------
    factors : list of Factor
        The factors.
    keep : sequence of int
        The variables of the result, in the order of its axes.

    Returns
    -------
    factor : Factor
        Not normalised.
    """
    factors = list(factors)
    size = {v: n for f in factors for v, n in zip(f.variables, f.values.shape)}
    waiting = set(size) - set(keep)

    def cost(variable: int) -> float:
        scope = {v for f in factors if variable in f.variables for v in f.variables}
        return math.prod(size[v] for v in scope)

    while waiting:
        variable = min(waiting, key=lambda v: (cost(v), v))
        waiting.remove(variable)
        touched = [f for f in factors if variable in f.variables]
        factors = [f for f in factors if variable not in f.variables]
        factors.append(_sum_out(reduce(_product, touched), variable))
    total = reduce(_product, factors, Factor((), np.array(1.0)))
    return Factor(tuple(keep), np.transpose(total.values, [total.variables.index(v) for v in keep]))


class BayesianNetworkModel:
    """A Bayesian network over categorical variables with its conditional probabilities.

    Parameters
    ----------
    names : sequence of str
        Names of the variables.
    states : sequence of sequences
        States of each variable.
    parents : sequence of sequences of int
        Parents of each variable, by position.
    tables : sequence of ndarray
        Conditional probabilities: an axis for each parent, in the order given, and the
        variable's own last, along which they add to one.

    Attributes
    ----------
    names, states, parents, tables : list
        As given.
    n_parameters : int
        Number of free parameters.

    See Also
    --------
    BayesianNetworkStructureLearner : Learns the network from data.

    Examples
    --------
    >>> from octavo.graphical import BayesianNetworkModel
    >>> rain = BayesianNetworkModel(
    ...     ["rain", "wet"], [["no", "yes"]] * 2, [(), (0,)], [[0.8, 0.2], [[0.9, 0.1], [0.2, 0.8]]]
    ... )
    >>> rain.query(["rain"], {"wet": "yes"}).round(3)
    array([0.333, 0.667])
    """

    def __init__(
        self,
        names: Sequence[str],
        states: Sequence[Sequence[Any]],
        parents: Sequence[Sequence[int]],
        tables: Sequence[ArrayLike],
    ) -> None:
        self.names = [str(name) for name in names]
        self.states = [tuple(of) for of in states]
        self.parents = [tuple(int(p) for p in of) for of in parents]
        self.tables = [np.asarray(table, np.float64) for table in tables]
        self._columns = [Column(*pair) for pair in zip(self.names, self.states)]
        self._check()

    def _check(self) -> None:
        n = len(self.names)
        if not len(self.states) == len(self.parents) == len(self.tables) == n:
            raise ValueError("names, states, parents and tables must have one entry a variable.")
        if len(set(self.names)) < n:
            raise ValueError(f"names must differ, got {self.names}.")
        check_acyclic(self.parents, self.names)
        for name, of, states, table in zip(self.names, self.parents, self.states, self.tables):
            shape = (*(len(self.states[p]) for p in of), len(states))
            if table.shape != shape:
                raise ValueError(
                    f"The table of {name!r} must have shape {shape}, got {table.shape}."
                )
            if (table < 0).any() or not np.allclose(table.sum(axis=-1), 1.0, atol=1e-4):
                raise ValueError(f"The rows of the table of {name!r} must be probabilities.")

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, BayesianNetworkModel)
            and (self.names, self.states, self.parents)
            == (other.names, other.states, other.parents)
            and all(np.array_equal(a, b) for a, b in zip(self.tables, other.tables))
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def n_parameters(self) -> int:
        """Number of free parameters."""
        return sum(table.size // table.shape[-1] * (table.shape[-1] - 1) for table in self.tables)

    # --- making -----------------------------------------------------------------------------

    @classmethod
    def from_codes(
        cls,
        codes: NDArray[np.integer],
        columns: Sequence[Column],
        parents: Sequence[Sequence[int]],
        alpha: float = 1.0,
        weights: NDArray[np.integer] | None = None,
    ) -> BayesianNetworkModel:
        """Estimate the tables from codes of states."""
        if not alpha >= 0:
            raise ValueError(f"alpha must be at least 0, got {alpha!r}.")
        if weights is not None:
            codes = np.repeat(codes, weights, axis=0)
        sizes = [len(column.states) for column in columns]
        tables = []
        for node, of in enumerate(parents):
            counts = count_table(codes, sizes, (*of, node)) + alpha
            total = counts.sum(axis=-1, keepdims=True)
            with np.errstate(invalid="ignore"):
                table = np.where(total > 0, counts / total, 1.0 / sizes[node])
            tables.append(table)
        names = [column.name for column in columns]
        model = cls(names, [column.states for column in columns], parents, tables)
        model._columns = list(columns)
        return model

    @classmethod
    def from_data(cls, X: ArrayLike, dag: Any, *, alpha: float = 1.0) -> BayesianNetworkModel:
        """Estimate the tables of a network from data.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Complete categorical data.
        dag : networkx.DiGraph or sequence of sequences of int
            The network.
        alpha : float, default=1.0
            Added to every count.

        Returns
        -------
        model : BayesianNetworkModel
            The network with its tables.
        """
        values = np.asarray(X)
        names = [str(name) for name in getattr(X, "columns", range(values.shape[1]))]
        columns = fit_columns(values, names, declared_categories(X), on_constant="isolate")
        return cls.from_codes(
            code_table(values, columns), columns, parents_of_graph(dag, names), alpha
        )

    def to_networkx(self) -> Any:
        """Return the network as a networkx.DiGraph whose nodes carry `states` and `table`.

        Returns
        -------
        graph : networkx.DiGraph
            Axes of a table are the predecessors listed in the node's `parents`.
        """
        import networkx as nx

        graph = nx.DiGraph()
        for name, states, of, table in zip(self.names, self.states, self.parents, self.tables):
            listed = tuple(self.names[p] for p in of)
            graph.add_node(name, states=states, parents=listed, table=table)
        for name, of in zip(self.names, self.parents):
            graph.add_edges_from((self.names[p], name) for p in of)
        return graph

    @classmethod
    def from_networkx(cls, graph: Any) -> BayesianNetworkModel:
        """Return the model of a graph that `to_networkx` made.

        Parameters
        ----------
        graph : networkx.DiGraph
            Nodes carry `states`, `parents` and `table`.

        Returns
        -------
        model : BayesianNetworkModel
            The network.
        """
        names = [str(node) for node in graph.nodes]
        data = list(graph.nodes.values())
        for name, entry in zip(names, data):
            absent = {"states", "parents", "table"} - set(entry)
            if absent:
                raise ValueError(f"Node {name!r} carries no {sorted(absent)}.")
        parents = [[names.index(str(p)) for p in entry["parents"]] for entry in data]
        return cls(names, [e["states"] for e in data], parents, [e["table"] for e in data])

    def to_bif(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the network in the Bayesian Interchange Format, and write it if asked.

        Parameters
        ----------
        path : str, path-like or None, default=None
            Where to write.

        Returns
        -------
        text : str
            The text; states become words.
        """
        text = format_bif(self.names, self.states, self.parents, self.tables)
        if path is not None:
            write_whole(path, text)
        return text

    @classmethod
    def from_bif(cls, source: str | os.PathLike[str]) -> BayesianNetworkModel:
        """Read a network in the Bayesian Interchange Format.

        Parameters
        ----------
        source : str or path-like
            A path (a .gz is unpacked), or the text itself.

        Returns
        -------
        model : BayesianNetworkModel
            The network; states are words.
        """
        text = str(source)
        if "{" not in text:
            raw = Path(source).read_bytes()
            if raw[:2] == b"\x1f\x8b":
                try:
                    raw = unpack(raw, ".gz")
                except (TooLargeError, *UNPACKING_ERRORS) as error:
                    raise ValueError(
                        f"{source} cannot be unpacked: {str(error).rstrip('.')}."
                    ) from None
            text = raw.decode("utf-8")
        names, states, parents, tables = parse_bif(text)
        # Files round their probabilities; what does not add to one is scaled.
        for table in tables:
            total = table.sum(axis=-1, keepdims=True)
            table /= np.where(np.abs(total - 1.0) > 1e-9, total, 1.0)
        return cls(names, states, parents, tables)

    # --- asking -----------------------------------------------------------------------------

    def _codes(self, X: Any) -> NDArray[np.int32]:
        values = np.asarray(X)
        if values.ndim != 2 or values.shape[1] != len(self.names):
            raise ValueError(
                f"X must have {len(self.names)} columns {self.names[:8]}, got shape {values.shape}."
            )
        return code_table(values, self._columns)

    def log_likelihood(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the log-probability of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_variables)
            Complete rows.

        Returns
        -------
        log_likelihood : ndarray of shape (n_samples,)
            Natural logarithms.
        """
        return self.log_likelihood_of_codes(self._codes(X))

    def log_likelihood_of_codes(self, codes: NDArray[np.integer]) -> NDArray[np.float64]:
        """Return the log-probability of each row of codes."""
        total = np.zeros(len(codes))
        with np.errstate(divide="ignore"):
            for node, of in enumerate(self.parents):
                index = tuple(codes[:, v] for v in (*of, node))
                total += np.log(self.tables[node])[index]
        return total

    def sample(
        self, n_samples: int = 1, random_state: int | np.random.RandomState | None = None
    ) -> NDArray[Any]:
        """Draw rows.

        Parameters
        ----------
        n_samples : int, default=1
            How many.
        random_state : int, RandomState instance or None, default=None
            Source of randomness.

        Returns
        -------
        X : ndarray of shape (n_samples, n_variables)
            States; of dtype object unless all states are numbers.
        """
        codes = self.sample_codes(n_samples, random_state)
        drawn = [np.asarray(states)[codes[:, v]] for v, states in enumerate(self.states)]
        if all(column.dtype.kind in "iufb" for column in drawn):
            return np.column_stack(drawn)
        rows = np.empty(codes.shape, object)
        for v, states in enumerate(self.states):
            rows[:, v] = [states[code] for code in codes[:, v]]
        return rows

    def sample_codes(
        self, n_samples: int, random_state: int | np.random.RandomState | None = None
    ) -> NDArray[np.int32]:
        """Draw rows of codes, parents first."""
        rng = check_random_state(random_state)
        codes = np.empty((n_samples, len(self.names)), np.int32)
        for node in topological_order(self.parents) or ():
            index = tuple(codes[:, p] for p in self.parents[node])
            steps = np.cumsum(self.tables[node], axis=-1)[index]
            draw = rng.uniform(size=n_samples)[:, None] * steps[..., -1:]
            codes[:, node] = np.minimum((draw >= steps).sum(axis=-1), steps.shape[-1] - 1)
        return codes

    def _relevant(self, variables: Sequence[int]) -> set[int]:
        """Return variables and all their ancestors; the others sum to one."""
        seen: set[int] = set()
        waiting = list(variables)
        while waiting:
            node = waiting.pop()
            if node not in seen:
                seen.add(node)
                waiting += self.parents[node]
        return seen

    def _answer(self, variables: Sequence[int], evidence: Mapping[int, int]) -> NDArray[np.float64]:
        relevant = self._relevant([*variables, *evidence])
        factors = [
            _fixed(Factor((*self.parents[v], v), self.tables[v]), evidence) for v in relevant
        ]
        values = eliminate(factors, list(variables)).values
        total = values.sum()
        if not total > 0:
            told = {self.names[v]: self.states[v][s] for v, s in evidence.items()}
            raise ValueError(f"The evidence {told} has probability zero.")
        return values / total

    def joint(self, variables: Sequence[int]) -> NDArray[np.float64]:
        """Return the joint distribution of some variables, given by position."""
        return self._answer(tuple(variables), {})

    def query(
        self, variables: Sequence[Any], evidence: Mapping[Any, Any] | None = None
    ) -> NDArray[np.float64]:
        """Return the joint distribution of some variables given others, exactly.

        Parameters
        ----------
        variables : sequence of str or int
            What is asked for, by name or position.
        evidence : mapping of str or int to state, or None, default=None
            What is known.

        Returns
        -------
        probabilities : ndarray
            An axis a variable, in the order asked.
        """
        wanted = [place_of(v, self.names) for v in variables]
        known = {}
        for name, state in (evidence or {}).items():
            v = place_of(name, self.names)
            known[v] = int(code_column(np.array([state], dtype=object), self._columns[v])[0])
        twice = set(wanted) & set(known)
        if twice or len(set(wanted)) < len(wanted):
            raise ValueError("Each variable may be asked for once, and not be evidence as well.")
        return self._answer(wanted, known)

    def predict_proba(self, X: ArrayLike, variable: Any) -> NDArray[np.float64]:
        """Return the distribution of one variable given the rest of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_variables)
            Rows; the variable's own column is not looked at, and cells that are None or NaN
            are unknown and summed out.
        variable : str or int
            What to predict.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_states)
            One row a sample.
        """
        target = place_of(variable, self.names)
        values = np.array(X, dtype=object)
        if values.ndim != 2 or values.shape[1] != len(self.names):
            raise ValueError(f"X must have {len(self.names)} columns, got shape {values.shape}.")
        codes = np.full(values.shape, -1, np.int32)
        for v, column in enumerate(self._columns):
            known = np.array([x is not None and x == x for x in values[:, v]], np.bool_)
            if v != target and known.any():
                kept = np.array(values[known, v].tolist())
                codes[known, v] = code_column(kept, column)
        return self.proba_of_partial_codes(codes, target)

    def proba_of_partial_codes(
        self, codes: NDArray[np.integer], target: int
    ) -> NDArray[np.float64]:
        """Return the distribution of one variable in rows of codes, where -1 is unknown."""
        rows, back = np.unique(codes, axis=0, return_inverse=True)
        complete = (np.delete(rows, target, axis=1) >= 0).all(axis=1)
        found = np.empty((len(rows), len(self.states[target])))
        found[complete] = self.proba_of_codes(rows[complete], target)
        for k in np.flatnonzero(~complete):
            evidence = {v: int(s) for v, s in enumerate(rows[k]) if s >= 0 and v != target}
            found[k] = self._answer([target], evidence)
        return found[back.ravel()]

    def proba_of_codes(self, codes: NDArray[np.integer], target: int) -> NDArray[np.float64]:
        """Return the distribution of one variable in complete rows, from its Markov blanket."""
        logs = np.zeros((len(codes), len(self.states[target])))
        family = [target, *(v for v, of in enumerate(self.parents) if target in of)]
        trial = codes.copy()
        for state in range(logs.shape[1]):
            trial[:, target] = state
            for v in family:
                index = tuple(trial[:, u] for u in (*self.parents[v], v))
                with np.errstate(divide="ignore"):
                    logs[:, state] += np.log(self.tables[v][index])
        top = logs.max(axis=1, keepdims=True)
        weights = np.exp(logs - np.where(np.isfinite(top), top, 0.0))
        total = weights.sum(axis=1, keepdims=True)
        uniform = 1.0 / logs.shape[1]  # a row that no state makes possible
        return np.where(total > 0, weights / np.where(total > 0, total, 1.0), uniform)

    def predict(self, X: ArrayLike, variable: Any) -> NDArray[Any]:
        """Return the most probable state of one variable given the rest of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_variables)
            Rows, as in `predict_proba`.
        variable : str or int
            What to predict.

        Returns
        -------
        states : ndarray of shape (n_samples,)
            States.
        """
        best = self.predict_proba(X, variable).argmax(axis=1)
        return np.asarray(self.states[place_of(variable, self.names)])[best]
