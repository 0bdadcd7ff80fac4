"""Selectors for categories: the G² test in the PC algorithm, and logistic regressions.

Both have `select`, so that they serve as the base of `JunctionTreeUGMS`, and screen by tests of
their own.

Reference: D. Vats and R. D. Nowak (2014), "A junction tree framework for undirected graphical model
selection", JMLR 15:147-191, Appendix B.2; P. Ravikumar, M. J. Wainwright and J. D. Lafferty (2010),
"High-dimensional Ising model selection using l1-regularized logistic regression"; P. Spirtes, C.
Glymour and R. Scheines (2000), "Causation, Prediction, and Search".
"""

from __future__ import annotations

from itertools import combinations
from numbers import Integral, Real

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, expit, xlogy

from octavo.engine.discrete.contingency import count_table
from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.estimators.doubles import real_array
from octavo.engine.estimators.sklearn_door import Interval, StrOptions
from octavo.graphical.junction_selection.independence import check_order, pc_skeleton
from octavo.graphical.junction_selection.moments import Bools, smaller_sides
from octavo.graphical.junction_selection.neighborhoods import free_lasso
from octavo.graphical.junction_selection.selectors import Decision, GraphSelector

__all__ = ["DiscretePCSkeletonUGMS", "IsingNeighbourhoodLasso"]

SCREEN_LEVEL = 0.1  # screening may keep what is no edge, and should lose none
LEAST = 1e-3
WORSE = 6


class Codes:
    """Columns of categories as codes from 0."""

    def __init__(self, X: Floats):
        coded = [np.unique(column, return_inverse=True) for column in X.T]
        self.states = [len(values) for values, _ in coded]
        many = [v for v, size in enumerate(self.states) if size > max(20, np.sqrt(len(X)))]
        if many:
            raise ValueError(
                f"Column {many[0]} has {self.states[many[0]]} different values in {len(X)} rows: "
                "it must hold categories. Cut numbers into classes, or use a Gaussian selector."
            )
        self.codes = np.column_stack([code for _, code in coded]).astype(np.int64)


def g_square(data: Codes, i: int, j: int, given: tuple[int, ...]) -> tuple[float, float]:
    """Return the G² of two variables given others, and its p-value.

    Categories that do not occur together with what is given leave no freedom.
    """
    table = count_table(data.codes, data.states, [*given, i, j]).astype(np.float64)
    table = table.reshape(-1, data.states[i], data.states[j])
    rows, columns = table.sum(axis=2), table.sum(axis=1)
    total = rows.sum(axis=1)
    # Σ_k n_i.k n_.jk / n_..k
    expected = rows[:, :, None] * columns[:, None, :] / np.maximum(total, 1.0)[:, None, None]
    statistic = 2.0 * float(
        (xlogy(table, table) - xlogy(table, np.where(expected > 0, expected, 1))).sum()
    )
    # (r - 1)(c - 1) of each table that occurs
    freedom = float((((rows > 0).sum(axis=1) - 1) * ((columns > 0).sum(axis=1) - 1)).clip(0).sum())
    return max(statistic, 0.0), float(chdtrc(freedom, max(statistic, 0.0))) if freedom else 1.0


def by_g_square(data: Codes, alpha: float):
    """Return a test for `pc_skeleton`: some set leaves a p-value above the level."""

    def separated(H: Bools, pairs: Indices, k: int) -> Bools:
        sides = smaller_sides(H, pairs)
        gone = np.zeros(len(pairs), dtype=bool)
        for m, ((i, j), side) in enumerate(zip(pairs.tolist(), sides, strict=True)):
            gone[m] = any(
                g_square(data, i, j, given)[1] > alpha for given in combinations(side.tolist(), k)
            )
        return gone

    return separated


class _DiscreteSelector(GraphSelector):
    """Screening that both selectors share."""

    is_gaussian = False

    def screen(self, X, order):
        """Return the pairs that no set of at most `order` columns separates, by generous tests.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Categories.
        order : int
            Most columns that are conditioned on.

        Returns
        -------
        ndarray of shape (n_features, n_features) of bool
            The graph to begin with.
        """
        X = real_array(X, "X")
        if X.ndim != 2:
            raise ValueError(f"X must be a table, got shape {X.shape}.")
        check_order(order, len(X))
        every = ~np.eye(X.shape[1], dtype=bool)
        return pc_skeleton(every, every, order, by_g_square(Codes(X), SCREEN_LEVEL))


class DiscretePCSkeletonUGMS(_DiscreteSelector):
    """Choose edges between categorical columns by the PC algorithm with G² tests.

    Parameters
    ----------
    kappa : int, default=1
        Most columns that are conditioned on.
    alpha : float, default=0.05
        Level of the tests.

    Attributes
    ----------
    adjacency_ : ndarray of shape (n_features, n_features), dtype bool
        Where the graph has edges.
    graph_ : networkx.Graph
        The same; its nodes are the columns.
    alpha_ : float
        The level.
    score_ : float
        Always 0: nothing is compared.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit.

    See Also
    --------
    PCSkeletonUGMS : For numbers.

    Notes
    -----
    Every test counts a table over all categories of the columns it looks at: not with a `kappa`
    above two or three, nor with columns of many categories.

    References
    ----------
    .. [1] Vats and Nowak (2014). A junction tree framework for undirected graphical model
       selection. JMLR 15:147-191, Algorithm 4.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.graphical import DiscretePCSkeletonUGMS
    >>> rng = np.random.RandomState(0)
    >>> X = np.cumsum(rng.uniform(size=(500, 4)) < 0.3, axis=1) % 2  # a chain of coins
    >>> sorted(DiscretePCSkeletonUGMS().fit(X).graph_.edges)
    [(0, 1), (1, 2), (2, 3)]
    """

    _parameter_constraints: dict = {
        "kappa": [Interval(Integral, 0, None, closed="left")],
        "alpha": [Interval(Real, 0, 1, closed="neither")],
    }

    def __init__(self, kappa=1, alpha=0.05):
        self.kappa = kappa
        self.alpha = alpha

    def _decide(self, region):
        check_order(self.kappa, region.moments.n)
        test = by_g_square(Codes(region.X), self.alpha)
        kept = pc_skeleton(region.allowed, region.penalised, self.kappa, test)
        return Decision(np.argwhere(np.triu(kept, 1)), self.alpha, 0.0)


def logistic_step(Z: Floats, y: Floats, w: Floats) -> tuple[Floats, Floats, float]:
    """Return Gram matrix and moments of the next weighted regression, and the log-likelihood."""
    score = Z @ w
    p = expit(score)
    # a floor: far from the boundary the curvature vanishes
    weight = np.maximum(p * (1.0 - p), 1e-5)
    target = score + (y - p) / weight  # the working response of Newton's step
    value = float((y * score - np.logaddexp(0.0, score)).sum())
    return (Z * weight[:, None]).T @ Z / len(y), Z.T @ (weight * target) / len(y), value


def logistic_lasso(
    Z: Floats, y: Floats, costs: Floats, alpha: float, start: Floats, max_iter: int = 50
) -> Floats:
    """Minimise the mean logistic loss plus alpha Σ costs_j |w_j| by weighted lassos.

    A step that raises the objective is halved.
    """

    def objective(value, w):
        return -value / len(y) + alpha * float(costs @ np.abs(w))

    w = start
    G, b, value = logistic_step(Z, y, w)
    now = objective(value, w)
    for _ in range(max_iter):
        step = free_lasso(G, b, costs, alpha, w) - w
        for _ in range(10):
            G, b, value = logistic_step(Z, y, w + step)
            after = objective(value, w + step)
            if after <= now + 1e-12:
                break
            step = step / 2.0
        if after > now + 1e-12:
            break
        w, change, now = w + step, now - after, after
        if change <= 1e-8 * max(abs(now), 1e-3):
            break
    # A halved step leaves dust where the lasso has zeros.
    return np.where((costs > 0) & (np.abs(w) < 1e-7), 0.0, w)


class IsingNeighbourhoodLasso(_DiscreteSelector):
    """Choose edges between binary columns by a logistic regression of each on the others.

    Every column has its own penalty, by the extended Bayesian criterion.

    Parameters
    ----------
    alpha : float, default=None
        The same penalty for every column, of the mean logistic loss of standardised columns; None
        lets the criterion choose.
    gamma : float, default=0.5
        Weight of the number of columns in the criterion: 0 is BIC, more gives sparser graphs.
    rule : {"and", "or"}, default="and"
        Whether an edge needs both of its ends, or one.
    n_alphas : int, default=20
        Penalties on the path of each column.

    Attributes
    ----------
    adjacency_ : ndarray of shape (n_features, n_features), dtype bool
        Where the graph has edges.
    graph_ : networkx.Graph
        The same; its nodes are the columns.
    alpha_ : float
        The median of the penalties of the columns.
    score_ : float
        Minus the sum of the criteria of all regressions, larger is better.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit.

    See Also
    --------
    DiscretePCSkeletonUGMS : For more than two categories.

    Notes
    -----
    Each column must have exactly two values, whatever they are called.

    References
    ----------
    .. [1] Ravikumar, Wainwright and Lafferty (2010). High-dimensional Ising model selection using
       l1-regularized logistic regression. Annals of Statistics 38:1287-1319.
    .. [2] Vats and Nowak (2014). A junction tree framework for undirected graphical model
       selection. JMLR 15:147-191, Appendix B.2.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.graphical import IsingNeighbourhoodLasso
    >>> rng = np.random.RandomState(0)
    >>> X = np.cumsum(rng.uniform(size=(500, 4)) < 0.3, axis=1) % 2  # a chain of coins
    >>> sorted(IsingNeighbourhoodLasso().fit(X).graph_.edges)
    [(0, 1), (1, 2), (2, 3)]
    """

    _parameter_constraints: dict = {
        "alpha": [None, Interval(Real, 0, None, closed="neither")],
        "gamma": [Interval(Real, 0, None, closed="left")],
        "rule": [StrOptions({"and", "or"})],
        "n_alphas": [Interval(Integral, 2, None, closed="left")],
    }

    def __init__(self, alpha=None, *, gamma=0.5, rule="and", n_alphas=20):
        self.alpha = alpha
        self.gamma = gamma
        self.rule = rule
        self.n_alphas = n_alphas

    def _decide(self, region):
        m = region.moments
        values = [np.unique(column) for column in region.X.T]
        odd = [v for v, found in enumerate(values) if len(found) != 2]
        if odd:
            raise ValueError(
                f"Column {odd[0]} must have exactly two values, got {len(values[odd[0]])}. Use "
                "DiscretePCSkeletonUGMS for more categories."
            )
        Z = (region.X - m.location) / m.scale
        kept = np.zeros((len(m.R), len(m.R)), dtype=bool)
        alphas, total = [0.0], 0.0
        for k in np.flatnonzero(region.penalised.any(axis=1)):
            near = np.flatnonzero(region.allowed[k])
            y = (region.X[:, k] == values[k][1]).astype(np.float64)
            found, alpha, value = self._neighbors(Z[:, near], y, region.penalised[k, near], m.n)
            kept[k, near[found]] = True
            alphas.append(alpha)
            total -= value
        # Appendix B.2's intersection, or the union
        both = kept & kept.T if self.rule == "and" else kept | kept.T
        alpha = float(np.median(alphas[1:] or alphas))
        return Decision(np.argwhere(np.triu(both, 1)), alpha, total)

    def _neighbors(
        self, Z: Floats, y: Floats, asked: NDArray[np.bool_], n: int
    ) -> tuple[NDArray[np.bool_], float, float]:
        Z = np.column_stack([Z, np.ones(n)])  # the last coefficient is the intercept
        costs = np.append(asked.astype(np.float64), 0.0)
        known = costs == 0
        w = np.zeros(len(costs))
        w[known] = logistic_lasso(Z[:, known], y, np.zeros(known.sum()), 0.0, w[known])
        value = logistic_step(Z, y, w)[2]
        # ∇ at zero: the smallest alpha without an edge
        slope = np.abs(Z.T @ (y - expit(Z @ w))) / n
        most = float(slope[:-1][asked].max(initial=0.0))
        best = (-2.0 * value, np.zeros(len(asked), dtype=bool), most)
        if not most > 0:
            return best[1], 0.0, best[0]
        alphas = (
            most * np.geomspace(1.0, LEAST, self.n_alphas)[1:]
            if self.alpha is None
            else [self.alpha]
        )
        price = np.log(n) + 2.0 * self.gamma * np.log(max(len(asked) + 1, 1))
        seen: dict[bytes, float] = {}
        worse = 0
        for alpha in alphas:
            w = logistic_lasso(Z, y, costs, alpha, w)
            kept = asked & (w[:-1] != 0)
            if self.alpha is not None:
                return kept, float(alpha), best[0]
            if kept.tobytes() not in seen:
                used = np.append(kept | ~asked, True)
                own = logistic_lasso(Z[:, used], y, np.zeros(used.sum()), 0.0, w[used])
                seen[kept.tobytes()] = -2.0 * logistic_step(Z[:, used], y, own)[2] + price * (
                    kept.sum()
                )
            score = seen[kept.tobytes()]
            worse = worse + 1 if score > best[0] else 0
            if score < best[0]:
                best = (score, kept, float(alpha))
            if worse >= WORSE:
                break
        return best[1], best[2], best[0]
