"""The network: a joint distribution function that is a product of small ones.

Marginals are free (let variables go to infinity), conditioning and densities are mixed derivatives
by messages on the tree of factors (`octavo.engine.trees.derivatives`). The network is also the law
of the componentwise maximum of independent draws of its factors, which is how it is sampled.

Reference: J. C. Huang and B. J. Frey (2011), "Cumulative Distribution Networks and the
Derivative-sum-product Algorithm", Journal of Machine Learning Research 12. Implemented: Sections 2
and 3 with loops by clustering, Example 8, and the gradient that Section 5.1 leaves to the future.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Self

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from octavo.engine.estimators.arrays import Floats
from octavo.engine.trees.derivatives import DerivativeTree, is_tree_of
from octavo.graphical.cumulative_networks.factors import CDFFactor
from octavo.graphical.cumulative_networks.fitting import fit_factors
from octavo.graphical.cumulative_networks.sampling import max_sample, sequential_sample
from octavo.graphical.cumulative_networks.separation import (
    bidirected_graph,
    factor_scopes,
    joined,
    meets,
)

__all__ = ["CDN"]

_ROWS = 16384  # at a time, which bounds the memory of the tables
KINDS = ("continuous", "ordinal")


class CDN:
    """A cumulative distribution network: F(x) = Π_s φ_s(x_s).

    Parameters
    ----------
    factors : list of (variables, factor)
        Variables are numbers 0, 1, ...; each must be in some factor. A factor's columns are its
        variables in the order given. Factors over the same variables, or over some of another's,
        are put together and make no loop.
    loopy : {"raise", "cluster"}, default="raise"
        Whether a graph with loops is refused or made a tree by clustering its variables; then the
        cost is two to the power of the largest cluster, at most 12 variables.
    kinds : sequence of {"continuous", "ordinal"}, optional
        Of each variable; all continuous by default. Ordinal values are 0, 1, 2, ...; under a
        factor that knows no steps, value k holds the mass of (k - 1, k] and 0 all below.

    Attributes
    ----------
    factors : list of (tuple, CDFFactor)
        The factors; `fit` replaces them.
    n_variables : int
        How many variables there are.
    log_likelihood_, standard_errors_ : float, list of ndarray
        After `fit`: the log-likelihood (or the composite one), and the standard errors of each
        factor's free parameters from the scores of the rows.

    See Also
    --------
    CDNDensityEstimator : Chooses graph and factors, and fits them to a table.

    Notes
    -----
    Do not use it where variables that share no factor depend on each other: in the network they
    are marginally independent, as in a covariance graph. scikit-learn's `GaussianMixture` and
    `KernelDensity` make no such assumption. For ordinal variables the model depends on which end
    of the scale is called smallest.

    Examples
    --------
    >>> from octavo.graphical import CDN, LogisticCDF
    >>> network = CDN([((0, 1), LogisticCDF([1, 1])), ((1, 2), LogisticCDF([2, 1]))])
    >>> network.cdf([[0.0, 0.0, 0.0]]).round(4)
    array([0.1111])
    >>> network.logpdf([[0.0, 0.0, 0.0]]).round(4)
    array([-3.7013])
    """

    def __init__(
        self,
        factors: Sequence[tuple[Sequence[int], CDFFactor]],
        loopy: str = "raise",
        kinds: Sequence[str] | None = None,
    ) -> None:
        if loopy not in ("raise", "cluster"):
            raise ValueError(f'loopy must be "raise" or "cluster", got {loopy!r}.')
        self.factors = [self._checked_factor(k, pair) for k, pair in enumerate(list(factors))]
        if not self.factors:
            raise ValueError("A network needs a factor.")
        self.loopy = loopy
        self.scopes = [variables for variables, _ in self.factors]
        seen = {v for scope in self.scopes for v in scope}
        self.n_variables = max(seen) + 1
        if len(seen) < self.n_variables:
            lost = min(set(range(self.n_variables)) - seen)
            raise ValueError(f"Variable {lost} is in no factor.")
        self.kinds = self._checked_kinds(kinds)
        self._steps = np.array([kind == "ordinal" for kind in self.kinds])
        if loopy == "raise" and not self.is_tree:
            raise ValueError(
                "The factors form a loop; messages are exact on trees. "
                'loopy="cluster" joins variables until it is one.'
            )

    @staticmethod
    def _checked_factor(k: int, pair: Any) -> tuple[tuple[int, ...], CDFFactor]:
        try:
            variables, factor = pair
            scope = (variables,) if isinstance(variables, (int, np.integer)) else tuple(variables)
        except (TypeError, ValueError):
            raise ValueError(f"Factor {k} is not a pair (variables, factor): {pair!r}.") from None
        if not isinstance(factor, CDFFactor):
            raise TypeError(f"Factor {k} is no CDFFactor: {factor!r}.")
        whole = all(isinstance(v, (int, np.integer)) and not isinstance(v, bool) for v in scope)
        if not whole or len(set(scope)) < len(scope) or any(v < 0 for v in scope):
            raise ValueError(
                f"The variables of factor {k} must be different numbers 0, 1, ..., got "
                f"{variables!r}."
            )
        if len(scope) != factor.arity:
            raise ValueError(
                f"Factor {k} has {factor.arity} variables, but {len(scope)} are named: {scope}."
            )
        return tuple(int(v) for v in scope), factor

    def _checked_kinds(self, kinds: Any) -> tuple[str, ...]:
        if kinds is None:
            return ("continuous",) * self.n_variables
        found = tuple(kinds)
        if len(found) != self.n_variables or not set(found) <= {*KINDS, "nominal"}:
            raise ValueError(
                f'kinds must say "continuous" or "ordinal" for each of {self.n_variables} '
                f"variables, got {kinds!r}."
            )
        if "nominal" in found:
            warnings.warn(
                f"Variable {found.index('nominal')} is nominal: its values are taken as ordered, "
                "and the model depends on which of them is the smallest.",
                UserWarning,
                stacklevel=3,
            )
        return tuple("ordinal" if kind == "nominal" else kind for kind in found)

    def __repr__(self) -> str:
        return f"CDN({self.factors!r}, loopy={self.loopy!r}, kinds={self.kinds!r})"

    # --- numbers ------------------------------------------------------------------------------

    def _rows(self, X: ArrayLike) -> Floats:
        try:
            rows = np.asarray(X, dtype=float)
        except (TypeError, ValueError):
            raise ValueError("X must be a table of numbers.") from None
        if rows.ndim != 2 or rows.shape[1] != self.n_variables:
            raise ValueError(
                f"X must have {self.n_variables} columns, one a variable; got shape {rows.shape}."
            )
        if np.isnan(rows).any():
            raise ValueError(f"Column {np.isnan(rows).any(axis=0).argmax()} of X contains NaN.")
        for v in np.flatnonzero(self._steps):
            column = rows[:, v][np.isfinite(rows[:, v])]
            if (column != np.floor(column)).any():
                raise ValueError(f"Column {v} of X is ordinal, and has values that are not whole.")
        return rows

    @cached_property
    def _tree(self) -> DerivativeTree:
        return DerivativeTree(self.n_variables, self.scopes)

    def _log_derivative(self, X: Floats, wanted: Any, root: int | None = None) -> Floats:
        """Return the log derivative of F by the wanted variables; where it underflows, in logs."""
        tree = self._tree if root is None else DerivativeTree(self.n_variables, self.scopes, root)
        out = np.empty(len(X))
        for start in range(0, len(X), _ROWS):
            part = X[start : start + _ROWS]
            block = self._block(tree, part, wanted)
            if not np.isfinite(part).all():
                dead = np.isneginf(part).any(axis=1) | np.isinf(part[:, wanted]).any(axis=1)
                block[dead] = -np.inf
            out[start : start + _ROWS] = block
        return out

    def _block(self, tree: DerivativeTree, X: Floats, wanted: Any) -> Floats:
        columns = np.ascontiguousarray(X.T)
        steps: Any = self._steps
        tables = [
            f.table(columns[list(s)].T, wanted[list(s)], steps[list(s)]) for s, f in self.factors
        ]
        value = tree.log_derivative(tables, wanted, steps)
        lost = ~np.isfinite(value) & ~np.isneginf(X).any(axis=1)
        if lost.any():
            part = X[lost]
            tables = [
                f.log_table(part[:, list(s)], wanted[list(s)], steps[list(s)])
                for s, f in self.factors
            ]
            again = tree.log_derivative(tables, wanted, steps, logs=True)
            value[lost] = np.where(np.isnan(again), -np.inf, again)
        return value

    def cdf(self, X: ArrayLike) -> Floats:
        """Return the joint distribution function at rows.

        Parameters
        ----------
        X : array-like of shape (n, n_variables)
            Points; +inf leaves a variable out.

        Returns
        -------
        ndarray of shape (n,)
            F(x).
        """
        # F = Π φ_s; the messages are only for derivatives.
        rows = self._rows(X)
        value = np.ones(len(rows))
        for scope, factor in self.factors:
            at = list(scope)
            table = factor.log_table(rows[:, at], [False] * len(at), self._steps[at].tolist())
            value *= np.exp(table.reshape(-1))
        return np.where(np.isneginf(rows).any(axis=1), 0.0, value)

    def logpdf(self, X: ArrayLike, root: int | None = None) -> Floats:
        """Return the log density at rows; of ordinal variables the log mass.

        Parameters
        ----------
        X : array-like of shape (n, n_variables)
            Points.
        root : int, optional
            The variable at which the messages end; the answer does not depend on it.

        Returns
        -------
        ndarray of shape (n,)
            -inf where an entry is infinite or outside the support.
        """
        rows = self._rows(X)
        if root is not None and root not in range(self.n_variables):
            raise ValueError(f"root must be a variable below {self.n_variables}, got {root!r}.")
        return self._log_derivative(rows, np.ones(self.n_variables, dtype=bool), root)

    def marginal(self, variables: Sequence[int]) -> CDN:
        """Return the network of some of the variables, renumbered in the order given.

        Parameters
        ----------
        variables : sequence of int
            Which to keep.

        Returns
        -------
        CDN
            Factors without any of them are gone.
        """
        kept = self._checked_set(variables, "variables")
        place = {v: k for k, v in enumerate(kept)}
        factors = []
        for scope, factor in self.factors:
            at = [k for k, v in enumerate(scope) if v in place]
            if at:
                # Proposition 1: the others go to infinity
                own = factor if len(at) == len(scope) else factor.marginal(at)
                factors.append(([place[scope[k]] for k in at], own))
        return CDN(factors, self.loopy, [self.kinds[v] for v in kept])

    def _checked_set(self, variables: Any, name: str) -> list[int]:
        try:
            found = list(variables) if np.ndim(variables) or hasattr(variables, "__len__") else None
        except TypeError:
            found = None
        if found is None or isinstance(variables, (str, bytes)):
            found = [variables]
        valid = all(
            isinstance(v, (int, np.integer))
            and not isinstance(v, bool)
            and 0 <= v < self.n_variables
            for v in found
        )
        if not valid or not found or len(set(found)) < len(found):
            raise ValueError(
                f"{name} must be different numbers of variables below {self.n_variables}, got "
                f"{variables!r}."
            )
        return [int(v) for v in found]

    def conditional_cdf(
        self,
        target: Mapping[int, ArrayLike],
        given: Mapping[int, ArrayLike],
        event: str = "eq",
    ) -> Any:
        """Return F(x_A | x_B), or F(x_A | X_B <= x_B).

        Parameters
        ----------
        target : dict of int to float
            Values of the variables A; arrays of one length are answered entry by entry.
        given : dict of int to float
            Values of the variables B; may be empty.
        event : {"eq", "le"}, default="eq"
            Whether the variables B have these values, or are at most that large.

        Returns
        -------
        float or ndarray
            Conditional probabilities that X_A <= x_A; NaN where what is given has density zero.
        """
        return self._conditional(target, given, event, density=False)

    def conditional_logpdf(
        self,
        target: Mapping[int, ArrayLike],
        given: Mapping[int, ArrayLike],
        event: str = "eq",
    ) -> Any:
        """Return log P(x_A | x_B), or log P(x_A | X_B <= x_B).

        Parameters
        ----------
        target, given : dict of int to float
            As in `conditional_cdf`.
        event : {"eq", "le"}, default="eq"
            As in `conditional_cdf`.

        Returns
        -------
        float or ndarray
            Log densities; log masses of ordinal variables.
        """
        return self._conditional(target, given, event, density=True)

    def _conditional(self, target: Any, given: Any, event: str, density: bool) -> Any:
        if event not in ("eq", "le"):
            raise ValueError(f'event must be "eq" or "le", got {event!r}.')
        if not isinstance(target, Mapping) or not isinstance(given, Mapping):
            raise TypeError("target and given must be dicts of variables to values.")
        A, B = self._checked_set(list(target), "target"), list(given)
        if B:
            B = self._checked_set(B, "given")
        if set(A) & set(B):
            raise ValueError(f"Variables {sorted(set(A) & set(B))} are in both target and given.")
        values = [np.asarray(v, dtype=float) for v in [*target.values(), *given.values()]]
        shape = np.broadcast_shapes(*(v.shape for v in values))
        both = [*A, *B]
        local = self.marginal(both)
        flat = [np.broadcast_to(v, shape).ravel() for v in values]
        X = local._rows(np.stack(flat, axis=1) if flat[0].size else np.empty((0, len(both))))
        is_given = np.arange(len(both)) >= len(A)
        wanted = is_given & (event == "eq")
        base = np.where(is_given, X, np.inf)
        bottom = local._log_derivative(base, wanted)  # lim of the same derivative as x_A → ∞
        # ∂_B F(x_A, x_B), Section 1.3
        top = local._log_derivative(X, wanted | (~is_given & density))
        with np.errstate(invalid="ignore"):
            log_ratio = np.where(np.isneginf(bottom), np.nan, top - bottom)
        found = log_ratio if density else np.clip(np.exp(log_ratio), 0.0, 1.0)
        return float(found[0]) if shape == () else found.reshape(shape)

    # --- the graph ----------------------------------------------------------------------------

    @property
    def is_tree(self) -> bool:
        """Whether variables and factors form a tree (or several), nested factors put together."""
        return is_tree_of(self.n_variables, self.scopes)

    def separated(self, A: Iterable[int], B: Iterable[int], by: Iterable[int] = ()) -> bool:
        """Tell whether every path from A to B passes through a variable of a third set.

        Parameters
        ----------
        A, B : iterable of int
            Variables.
        by : iterable of int, default=()
            The set that separates.

        Returns
        -------
        bool
            Separation in the graph.
        """
        first, second, third = self._disjoint(A, B, by)
        return not joined(self.scopes, first, second, set(range(self.n_variables)) - set(third))

    def independent(
        self,
        A: Iterable[int],
        B: Iterable[int],
        given: Iterable[int] = (),
        kind: str = "eq",
    ) -> bool:
        """Tell whether the graph implies that A and B are independent.

        Parameters
        ----------
        A, B : iterable of int
            Variables.
        given : iterable of int, default=()
            Variables that are conditioned on; nothing is marginal independence (Theorem 10).
        kind : {"eq", "le", "min"}, default="eq"
            Given their values (Theorem 11), given that they are at most some values (Theorem 8), or
            given that ordinal ones have their smallest value (Theorem 15).

        Returns
        -------
        bool
            False where the graph does not imply it; the factors may still be such that it holds.
        """
        if kind not in ("eq", "le", "min"):
            raise ValueError(f'kind must be "eq", "le" or "min", got {kind!r}.')
        first, second, third = self._disjoint(A, B, given)
        if kind == "min" and not self._steps[third].all():
            raise ValueError('kind="min" is about ordinal variables.')
        if kind == "eq":  # what is not looked at is gone, and must separate
            # Theorem 11, with Theorem 10 where nothing is given
            return not joined(self.scopes, first, second, third)
        # Theorem 8: under inequalities a common factor is all that joins
        return not meets(self.scopes, first, second)

    def _disjoint(self, A: Any, B: Any, C: Any) -> tuple[list[int], list[int], list[int]]:
        first, second = self._checked_set(A, "A"), self._checked_set(B, "B")
        third = self._checked_set(C, "given") if np.ndim(C) == 0 or list(C) else []
        if len({*first, *second, *third}) < len(first) + len(second) + len(third):
            raise ValueError("The sets of variables must be disjoint.")
        return first, second, third

    @property
    def graph_(self) -> nx.Graph:
        """The bi-directed graph, undirected edges for both directions."""
        return bidirected_graph(self.scopes)

    @classmethod
    def from_bidirected(cls, graph: Any, factor: Any, **options: Any) -> CDN:
        """Return a network with one factor for each edge of a bi-directed graph.

        Parameters
        ----------
        graph : networkx.Graph or array-like of shape (d, d)
            As in `factor_scopes`.
        factor : callable
            Maps the variables of a factor, a tuple, to the factor.
        **options : dict
            `loopy` and `kinds`.

        Returns
        -------
        CDN
            With the marginal independences of the graph.
        """
        return cls([(scope, factor(scope)) for scope in factor_scopes(graph)], **options)

    def stochastically_ordered(
        self, A: Sequence[int], B: Sequence[int], grid: ArrayLike | None = None, tol: float = 1e-12
    ) -> bool:
        """Tell whether X_A is stochastically below X_B: F_A(t) >= F_B(t) everywhere on a grid.

        Parameters
        ----------
        A, B : sequence of int
            As many variables each, compared one by one.
        grid : array-like of shape (n, len(A)), optional
            Points t; by default 2000 that draws of both sets suggest, with seed 0.
        tol : float, default=1e-12
            Differences below it are none.

        Returns
        -------
        bool
            Proposition 18 at the points of the grid.
        """
        first, second = self._checked_set(A, "A"), self._checked_set(B, "B")
        if len(first) != len(second) or set(first) & set(second):
            raise ValueError(f"A and B must be disjoint and of one size, got {first} and {second}.")
        if not isinstance(tol, (int, float)) or not 0 <= tol < 1:
            raise ValueError(f"tol must be a number in [0, 1), got {tol!r}.")
        low, high = self.marginal(first), self.marginal(second)
        if grid is None:
            random = check_random_state(0)
            draws = np.concatenate([max_sample(net, 1000, random) for net in (low, high)])
            points = random.permuted(draws, axis=0) if len(first) > 1 else draws
        else:
            points = np.asarray(grid, dtype=float)
        return bool((low.cdf(points) >= high.cdf(points) - tol).all())

    # --- draws and fits -----------------------------------------------------------------------

    def sample(self, n: int = 1, method: str = "max", random_state: Any = None) -> Floats:
        """Draw rows.

        Parameters
        ----------
        n : int, default=1
            How many.
        method : {"max", "sequential"}, default="max"
            The maximum of independent draws of the factors, exact for every graph; or one variable
            after another by inverting its conditional distribution (Example 8), far slower.
        random_state : int, RandomState instance or None, default=None
            Seeds the draws.

        Returns
        -------
        ndarray of shape (n, n_variables)
            Draws.
        """
        if method not in ("max", "sequential"):
            raise ValueError(f'method must be "max" or "sequential", got {method!r}.')
        if not isinstance(n, (int, np.integer)) or isinstance(n, bool) or n < 0:
            raise ValueError(f"n must be a whole number of rows, got {n!r}.")
        random = check_random_state(random_state)
        draw = max_sample if method == "max" else sequential_sample
        return draw(self, int(n), random)

    def fit(
        self,
        X: ArrayLike,
        method: str = "ml",
        n_starts: int = 1,
        *,
        max_iter: int = 200,
        tol: float = 1e-8,
        random_state: Any = None,
    ) -> Self:
        """Fit the parameters of all factors, from where they are.

        Parameters
        ----------
        X : array-like of shape (n, n_variables)
            Rows.
        method : {"ml", "composite"}, default="ml"
            Maximum likelihood, or the likelihoods of all pairs that share a factor, which needs no
            tree.
        n_starts : int, default=1
            The first start is the present parameters, others lie around them; the best end wins.
        max_iter : int, default=200
            Most iterations of L-BFGS.
        tol : float, default=1e-8
            Relative gain at which it stops.
        random_state : int, RandomState instance or None, default=None
            Seeds the further starts.

        Returns
        -------
        self
            With new `factors`.
        """
        if method not in ("ml", "composite"):
            raise ValueError(f'method must be "ml" or "composite", got {method!r}.')
        rows = self._rows(X)
        if len(rows) < 2 or not np.isfinite(rows).all():
            raise ValueError("X must have two rows or more, all finite, to be fitted.")
        fitted = fit_factors(
            self, rows, method, n_starts, max_iter, tol, check_random_state(random_state)
        )
        self.factors = [(scope, f) for scope, f in zip(self.scopes, fitted.factors)]
        self.log_likelihood_ = fitted.log_likelihood
        self.standard_errors_ = fitted.standard_errors
        self.n_iter_ = fitted.n_iter
        return self
