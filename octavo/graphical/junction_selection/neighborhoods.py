"""Edges by regressing every variable on the others: the adaptive lasso, node by node.

Reference: D. Vats and R. D. Nowak (2014), "A junction tree framework for undirected graphical model
selection", JMLR 15:147-191, Appendix B.2; N. Meinshausen and P. Buehlmann (2006),
"High-dimensional graphs and variable selection with the lasso"; H. Zou (2006), "The adaptive lasso
and its oracle properties"; J. Chen and Z. Chen (2008), "Extended Bayesian information criteria".
"""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from numpy.typing import NDArray

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.sklearn_door import Interval, StrOptions
from octavo.engine.proximal.gram_lasso import gram_lasso
from octavo.graphical.junction_selection.selectors import Decision, GraphSelector

__all__ = ["MaskedNeighbourhoodLasso"]

LEAST = 1e-3  # of the largest penalty: where a path ends at the latest
WORSE = 6  # steps of a path above the best criterion before it ends


def free_lasso(
    G: Floats, b: Floats, costs: Floats, alpha: float, start: Floats | None = None
) -> Floats:
    """Minimise ½ wᵀGw − bᵀw + alpha Σ_j costs_j |w_j|, where a cost of 0 leaves w_j free.

    The free ones are solved for and put in: what is left is a lasso in the others.
    """
    paid = costs > 0
    free = ~paid
    w = np.zeros(len(b))
    if not paid.any():
        w[free] = solve_moments(G, b)
        return w
    Gp, bp = G[np.ix_(paid, paid)], b[paid]
    if free.any():
        cross = G[np.ix_(free, paid)]
        slopes = solve_moments(G[np.ix_(free, free)], np.column_stack([cross, b[free]]))
        # the free coefficients are profiled out: a Schur complement
        Gp, bp = Gp - cross.T @ slopes[:, :-1], bp - cross.T @ slopes[:, -1]
    c = costs[paid]
    first = None if start is None else (start[paid] * c)[None, :, None]
    # v = costs w turns the adaptive lasso into a plain one.
    v = gram_lasso(
        (Gp / c[:, None] / c)[None], (bp / c)[None, :, None], 2.0 * alpha, first, tol=1e-7
    )
    w[paid] = v[0, :, 0] / c
    if free.any():
        w[free] = slopes[:, -1] - slopes[:, :-1] @ w[paid]
    return w


def solve_moments(G: Floats, B: Floats) -> Floats:
    """Solve Gw = b, with a trace of ridge that keeps twins apart."""
    return np.linalg.solve(G + 1e-10 * np.trace(G) / len(G) * np.eye(len(G)), B)


def first_costs(G: Floats, b: Floats, asked: NDArray[np.bool_], n: int, *, adaptive: bool):
    """Return what each coefficient costs: 1/|first estimate| where it is asked about, else 0."""
    if not adaptive:
        return asked.astype(np.float64)
    # Least squares where rows abound, ridge of the size of the noise where they do not.
    ridge = 0.0 if 3 * len(G) < n else len(G) / n
    size = np.abs(solve_moments(G + ridge * np.eye(len(G)), b))
    return np.where(asked, 1.0 / np.maximum(size, 1e-8), 0.0)  # adaptive weights of Appendix B.2


def neighbors_of(
    G: Floats,
    b: Floats,
    asked: NDArray[np.bool_],
    n: int,
    options: MaskedNeighbourhoodLasso,
    d: int,
) -> tuple[NDArray[np.bool_], float, float]:
    """Return which of the regressors asked about stay, the penalty, and the criterion."""
    costs = first_costs(G, b, asked, n, adaptive=options.adaptive)
    residual = np.zeros(len(b))
    residual[~asked] = solve_moments(G[np.ix_(~asked, ~asked)], b[~asked]) if (~asked).any() else 0
    slope = np.abs(b - G @ residual)
    most = float((slope[asked] / costs[asked]).max(initial=0.0))
    price = np.log(n) + 2.0 * options.gamma * np.log(max(d, 1))
    none = np.zeros(len(b), dtype=bool)
    best, seen, worse = (_unexplained(G, b, ~asked, n), none, most), {}, 0
    alphas = (
        most * np.geomspace(1.0, LEAST, options.n_alphas)[1:]
        if options.alpha is None
        else [options.alpha * (1.0 / max(float(costs.max()), 1.0) if options.adaptive else 1.0)]
    )
    if not most > 0:
        return none, 0.0, best[0]
    w = None
    for alpha in alphas:
        w = free_lasso(G, b, costs, alpha, w)
        kept = asked & (w != 0)
        if options.alpha is not None:
            return kept, float(alpha), best[0]
        key = kept.tobytes()
        if key not in seen:
            seen[key] = _unexplained(G, b, kept | ~asked, n) + price * kept.sum()
        worse = worse + 1 if seen[key] > best[0] else 0
        if seen[key] < best[0]:
            best = (seen[key], kept, float(alpha))
        if worse >= WORSE or kept.sum() > n // 2:
            break
    return best[1], best[2], best[0]


def _unexplained(G: Floats, b: Floats, used: NDArray[np.bool_], n: int) -> float:
    """Return n log of the share of variance that some regressors leave."""
    if not used.any():
        return 0.0
    left = 1.0 - float(b[used] @ solve_moments(G[np.ix_(used, used)], b[used]))
    return n * float(np.log(max(left, 1e-12)))


class MaskedNeighbourhoodLasso(GraphSelector):
    """Choose edges by regressing every variable on the others with the adaptive lasso.

    Every variable has its own penalty, by the extended Bayesian criterion of regressions.

    Parameters
    ----------
    alpha : float, default=None
        The same penalty for every variable, on the scale of standardised columns; None lets the
        criterion choose.
    gamma : float, default=0.5
        Weight of the number of variables in the criterion: 0 is BIC, more gives sparser graphs.
    rule : {"and", "or"}, default="and"
        Whether an edge needs both of its ends, as in the paper's simulations, or one.
    adaptive : bool, default=True
        Weigh each coefficient by the inverse of a first estimate.
    n_alphas : int, default=40
        Penalties on the path of each variable.

    Attributes
    ----------
    adjacency_ : ndarray of shape (n_features, n_features), dtype bool
        Where the graph has edges.
    graph_ : networkx.Graph
        The same; its nodes are the columns.
    alpha_ : float
        The median of the penalties of the variables.
    score_ : float
        Minus the sum of the criteria of all regressions, larger is better.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit.

    See Also
    --------
    JunctionTreeUGMS : Applies it to the regions of a junction tree.

    Notes
    -----
    Gives no precision matrix; `gaussian_mle` fits one to the graph. Not for binary columns:
    `IsingNeighbourhoodLasso` is their like.

    References
    ----------
    .. [1] Vats and Nowak (2014). A junction tree framework for undirected graphical model
       selection. JMLR 15:147-191, Appendix B.2.

    Examples
    --------
    >>> from octavo.graphical import MaskedNeighbourhoodLasso, make_weak_edge_network
    >>> sample = make_weak_edge_network("CH1", 300, random_state=0, n_features=20, n_weak=5)
    >>> model = MaskedNeighbourhoodLasso().fit(sample.X)
    >>> int(model.adjacency_.sum()) // 2
    15
    """

    _parameter_constraints: dict = {
        "alpha": [None, Interval(Real, 0, None, closed="neither")],
        "gamma": [Interval(Real, 0, None, closed="left")],
        "rule": [StrOptions({"and", "or"})],
        "adaptive": ["boolean"],
        "n_alphas": [Interval(Integral, 2, None, closed="left")],
    }

    def __init__(self, alpha=None, *, gamma=0.5, rule="and", adaptive=True, n_alphas=40):
        self.alpha = alpha
        self.gamma = gamma
        self.rule = rule
        self.adaptive = adaptive
        self.n_alphas = n_alphas

    def _decide(self, region):
        R, n, d = region.moments.R, region.moments.n, len(region.moments.R)
        kept = np.zeros((d, d), dtype=bool)
        alphas, total = [0.0], 0.0
        for k in np.flatnonzero(region.penalised.any(axis=1)):  # Eq. (10)
            near = np.flatnonzero(region.allowed[k])
            found, alpha, value = neighbors_of(
                R[np.ix_(near, near)], R[near, k], region.penalised[k, near], n, self, d
            )
            kept[k, near[found]] = True
            alphas.append(alpha)
            total -= value
        both = kept & kept.T if self.rule == "and" else kept | kept.T
        alpha = float(np.median(alphas[1:] or alphas))
        return Decision(np.argwhere(np.triu(both, 1)), alpha, total)
