"""The graphical lasso that may use some edges, must decide others, and leaves the rest alone.

Reference: D. Vats and R. D. Nowak (2014), "A junction tree framework for undirected graphical model
selection", JMLR 15:147-191, Appendix B.1; R. Foygel and M. Drton (2010), "Extended Bayesian
information criteria for Gaussian graphical models".
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.sklearn_door import Interval
from octavo.engine.glasso.joint import (
    JointProblem,
    JointSolution,
    JointState,
    Settings,
    joint_graphical_lasso,
)
from octavo.engine.glasso.pattern_mle import pattern_mle
from octavo.engine.glasso.penalties import SeparateEdges
from octavo.graphical.junction_selection.clusters import as_mask
from octavo.graphical.junction_selection.moments import edge_price, refuse_covariance
from octavo.graphical.junction_selection.selectors import (
    Decision,
    GraphSelector,
    Region,
    gaussian_ebic,
    shrunk_mle,
)

__all__ = ["MaskedGraphicalLasso", "MaskedLassoFit", "gaussian_mle", "masked_graphical_lasso"]

Bools = NDArray[np.bool_]
LEAST = 0.02  # of the largest penalty: where a path ends at the latest


class MaskedLassoFit(NamedTuple):
    """Solution of `masked_graphical_lasso`.

    Attributes
    ----------
    precision : ndarray of shape (n_features, n_features)
        Positive definite, with exact zeros.
    covariance : ndarray of shape (n_features, n_features)
        Its inverse.
    objective : float
        log det Θ − tr SΘ − alpha Σ |Θ_ij|, which is maximised.
    duality_gap : float
        Most by which the maximum can exceed `objective`.
    """

    precision: Floats
    covariance: Floats
    objective: float
    duality_gap: float


def entry_weights(alpha: float, allowed: Bools, penalised: Bools) -> Floats:
    """Return the weights of Eq. (9): alpha, 0 where an edge is known, infinite where forbidden."""
    weights = np.where(allowed, np.where(penalised, alpha, 0.0), np.inf)
    np.fill_diagonal(weights, 0.0)
    return weights


def solve_masked(
    S: Floats,
    alpha: float,
    allowed: Bools,
    penalised: Bools,
    settings: Settings,
    start: JointState | None = None,
) -> JointSolution:
    """Solve Eq. (9): a joint graphical lasso of one group."""
    weights = entry_weights(alpha, allowed, penalised)
    problem = JointProblem(S[None], np.ones(1), weights[None], SeparateEdges())
    return joint_graphical_lasso(problem, settings, start=start)


def refuse_unbounded(S: Floats, alpha: float, allowed: Bools, penalised: Bools) -> None:
    """Raise where the likelihood has no maximum.

    It has one if and only if the fit without the penalised pairs has one: a direction to infinity
    must not touch a penalised entry.
    """
    units = np.sqrt(np.diag(S))
    values, vectors = np.linalg.eigh(S / units[:, None] / units)
    if values[0] > 1e-10 * values[-1]:
        return
    free = allowed & ~penalised if alpha > 0 else allowed
    try:
        fit = pattern_mle(S, free, 1e-6, 100)
    except (ValueError, np.linalg.LinAlgError):
        fit = None
    if (
        fit is None
        or not fit.residual <= 1e-3
        or np.abs(fit.precision * units * units.T).max() > 1e9
    ):
        worst = int(np.argmax(np.abs(vectors[:, 0])))
        raise ValueError(
            "The likelihood is unbounded: S is singular among variables whose pairs are not "
            f"penalised (look at variable {worst}). Penalise them, use more rows than variables, "
            "or add a little to the diagonal of S."
        )


@checked
def masked_graphical_lasso(S, alpha, allowed=None, penalised=None, *, tol=1e-9, max_iter=10_000):
    """Fit a sparse precision matrix of which some entries are zero and some are not penalised.

    Maximises, over positive definite Θ with Θ_ij = 0 where a pair is not allowed, ::

        log det Θ − tr SΘ − alpha Σ_{i≠j, penalised} |Θ_ij|

    where both triangles count and the diagonal is not penalised.

    Parameters
    ----------
    S : array-like of shape (n_features, n_features)
        Covariance matrix.
    alpha : float
        Strength of the penalty, at least 0.
    allowed : array-like of shape (n_features, n_features), default=None
        Pairs that may differ from zero, symmetric; None allows all.
    penalised : array-like of shape (n_features, n_features), default=None
        Allowed pairs that are penalised, symmetric; None penalises all that are allowed.
    tol : float, default=1e-9
        Relative size of the residuals at which the solver stops, and the duality gap for each
        variable.
    max_iter : int, default=10000
        Most iterations.

    Returns
    -------
    MaskedLassoFit
        `precision`, `covariance`, `objective` and `duality_gap`.

    References
    ----------
    .. [1] Vats and Nowak (2014). A junction tree framework for undirected graphical model
       selection. JMLR 15:147-191, equation (9).

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.graphical import masked_graphical_lasso
    >>> S = np.array([[1.0, 0.5, 0.3], [0.5, 1.0, 0.4], [0.3, 0.4, 1.0]])
    >>> allowed = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> fit = masked_graphical_lasso(S, 0.1, allowed)
    >>> fit.covariance.round(3)
    array([[1.  , 0.4 , 0.12],
           [0.4 , 1.  , 0.3 ],
           [0.12, 0.3 , 1.  ]])
    """
    S = refuse_covariance(S)
    alpha = float(alpha)
    if not 0 <= alpha < np.inf:
        raise ValueError(f"alpha must be a finite number of at least 0, got {alpha!r}.")
    if not tol > 0 or not max_iter >= 1:
        raise ValueError(f"tol must be positive and max_iter at least 1, got {tol}, {max_iter}.")
    may = as_mask(allowed, len(S), "allowed")
    asked = may if penalised is None else as_mask(penalised, len(S), "penalised") & may
    refuse_unbounded(S, alpha, may, asked)
    solution = solve_masked(S, alpha, may, asked, Settings(1.0, tol, int(max_iter)))
    if not solution.converged:
        warnings.warn(
            f"Not converged after {max_iter} iterations: the duality gap is "
            f"{solution.duality_gap:.3g}. Raise max_iter or tol, or penalise more.",
            ConvergenceWarning,
            stacklevel=3,
        )
    precision = solution.precisions[0]
    units = np.sqrt(np.diag(precision))
    covariance = np.linalg.inv(precision / units[:, None] / units) / units[:, None] / units
    return MaskedLassoFit(
        precision,
        (covariance + covariance.T) / 2,
        -solution.objective,
        max(solution.duality_gap, 0.0),  # rounding may leave it a little below
    )


@checked
def gaussian_mle(S, adjacency, *, tol=1e-9, max_iter=1000):
    """Return the precision matrix of largest likelihood among those with the zeros of a graph.

    Parameters
    ----------
    S : array-like of shape (n_features, n_features)
        Covariance matrix.
    adjacency : networkx graph or array-like of shape (n_features, n_features)
        The graph over columns 0, 1, ...; pairs that are not joined are zero.
    tol : float, default=1e-9
        Largest difference of covariance and S on the graph, in standard deviations.
    max_iter : int, default=1000
        Most sweeps over the columns.

    Returns
    -------
    ndarray of shape (n_features, n_features)
        Its inverse agrees with S on the diagonal and on the graph.

    References
    ----------
    .. [1] Dempster (1972). Covariance selection. Biometrics 28:157-175.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.graphical import gaussian_mle
    >>> S = np.array([[1.0, 0.5, 0.3], [0.5, 1.0, 0.4], [0.3, 0.4, 1.0]])
    >>> precision = gaussian_mle(S, [[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> np.linalg.inv(precision).round(3)
    array([[1. , 0.5, 0.2],
           [0.5, 1. , 0.4],
           [0.2, 0.4, 1. ]])
    """
    S = refuse_covariance(S)
    pattern = as_mask(graph_over_columns(adjacency, len(S)), len(S), "adjacency")
    if not tol > 0 or not max_iter >= 1:
        raise ValueError(f"tol must be positive and max_iter at least 1, got {tol}, {max_iter}.")
    fit = pattern_mle(S, pattern, tol, int(max_iter))
    if not fit.residual <= tol:
        warnings.warn(
            f"Not converged after {fit.n_iter} sweeps: the covariance is off by "
            f"{fit.residual:.3g} standard deviations. Raise max_iter or tol.",
            ConvergenceWarning,
            stacklevel=3,
        )
    return fit.precision


def graph_over_columns(graph, d):
    """Return the matrix of a graph whose nodes are 0, …, d-1; a matrix is handed through."""
    if not hasattr(graph, "nodes"):
        return graph
    import networkx as nx

    if set(graph.nodes) != set(range(d)):
        raise ValueError(f"The nodes of the graph must be the columns 0 to {d - 1}.")
    return nx.to_numpy_array(graph, nodelist=range(d), weight=None)


class MaskedGraphicalLasso(GraphSelector):
    """Choose edges by the graphical lasso, its penalty by the extended Bayesian criterion.

    On a region of a junction tree it fits equation (9): pairs that are not allowed are zero, known
    edges are not penalised.

    Parameters
    ----------
    alpha : float, default=None
        The penalty; None takes the one of a path that the criterion likes best.
    gamma : float, default=0.5
        Weight of the size of the region in the criterion: 0 is BIC, more gives sparser graphs.
    n_alphas : int, default=30
        Penalties on the path, from the largest that leaves an edge downwards.
    refit : bool, default=True
        Judge a graph by its own largest likelihood, for which the criterion was made, instead of
        that of the lasso's shrunken estimate, as the paper's formula reads.
    standardize : bool, default=True
        Penalise correlations, so that units do not matter; False takes covariances as they are.
    tol : float, default=1e-4
        Of the solver, for each row and variable.
    max_iter : int, default=1000
        Most iterations for each penalty.

    Attributes
    ----------
    adjacency_ : ndarray of shape (n_features, n_features), dtype bool
        Where the graph has edges.
    graph_ : networkx.Graph
        The same; its nodes are the columns.
    precision_ : ndarray of shape (n_features, n_features)
        The lasso's estimate in the units of the data.
    alpha_ : float
        The penalty that was used.
    score_ : float
        The criterion at it, larger is better.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit.

    See Also
    --------
    JunctionTreeUGMS : Applies it to the regions of a junction tree, each with its own penalty.

    Notes
    -----
    Not for prediction of the covariance: the criterion is made for finding edges, and
    `sklearn.covariance.GraphicalLassoCV` looks at held-out likelihood.

    References
    ----------
    .. [1] Vats and Nowak (2014). A junction tree framework for undirected graphical model
       selection. JMLR 15:147-191, Appendix B.1.

    Examples
    --------
    >>> from octavo.graphical import MaskedGraphicalLasso, make_weak_edge_network
    >>> sample = make_weak_edge_network("CH1", 300, random_state=0, n_features=20, n_weak=5)
    >>> model = MaskedGraphicalLasso().fit(sample.X)
    >>> int(model.adjacency_.sum()) // 2
    15
    """

    _parameter_constraints: dict = {
        "alpha": [None, Interval(Real, 0, None, closed="left")],
        "gamma": [Interval(Real, 0, None, closed="left")],
        "n_alphas": [Interval(Integral, 1, None, closed="left")],
        "refit": ["boolean"],
        "standardize": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        alpha=None,
        *,
        gamma=0.5,
        n_alphas=30,
        refit=True,
        standardize=True,
        tol=1e-4,
        max_iter=1000,
    ):
        self.alpha = alpha
        self.gamma = gamma
        self.n_alphas = n_alphas
        self.refit = refit
        self.standardize = standardize
        self.tol = tol
        self.max_iter = max_iter

    def _decide(self, region):
        units = np.ones(len(region.moments.R)) if self.standardize else region.moments.scale
        S = region.moments.R * units[:, None] * units
        best = Decision(np.empty((0, 2), dtype=np.intp), 0.0, -np.inf, np.eye(len(S)))
        if self.alpha is not None:
            refuse_unbounded(S, self.alpha, region.allowed, region.penalised)
        settings = Settings(1.0, self.tol, self.max_iter)
        price = float(edge_price(region.moments.n, len(S), self.gamma))
        most, start, judged = largest_score(region), None, {}
        for alpha in self._alphas(S, region):
            # from large to small alpha, each from the solution before
            done = solve_masked(S, alpha, region.allowed, region.penalised, settings, start)
            start, Theta = done.state, done.precisions[0] * units[:, None] * units
            if not done.converged:
                if self.alpha is None and np.isfinite(best.score):
                    break  # too little penalty for so few rows: the path ends here
                self._warn(done)
            found = region.penalised & (Theta != 0)
            kept = np.argwhere(np.triu(found, 1))
            key = found.tobytes() if self.refit else alpha
            if key not in judged:
                judged[key] = self._score(Theta, found, region)
            score = judged[key]
            if score > best.score or not np.isfinite(best.score):
                best = Decision(kept, alpha, score, Theta)
            if most - price * len(kept) < best.score or found.sum() == region.penalised.sum():
                break  # no graph with as many edges can be better, or there is no other
        return best

    def _warn(self, done):
        warnings.warn(
            f"Not converged after {self.max_iter} iterations: the duality gap is "
            f"{done.duality_gap:.3g}. Raise max_iter or tol, or penalise more.",
            ConvergenceWarning,
            stacklevel=5,
        )

    def _alphas(self, S, region):
        if self.alpha is not None:
            return [float(self.alpha)]
        if region.known.any():  # the fit without the pairs in question: what they would explain
            R = region.moments.R
            units = np.sqrt(np.diag(S))
            # what known edges explain of a pair is not due to it
            left = (R - shrunk_mle(R, region.known, 1e-4).covariance) * units[:, None] * units
        else:
            left = S
        most = float(np.max(np.abs(left[region.penalised]), initial=0.0))
        if not most > 0:
            return [1.0]
        return most * np.geomspace(1.0, LEAST, self.n_alphas)

    def _score(self, Theta, found, region):
        R, n = region.moments.R, region.moments.n
        if self.refit:
            Theta = shrunk_mle(R, region.known | found, 1e-4).precision
        return gaussian_ebic(Theta, R, n, int(found.sum()) // 2, self.gamma)


def largest_score(region: Region) -> float:
    """Return what the criterion of a graph is at most before its edges are paid for."""
    values = np.linalg.eigvalsh(region.moments.R)
    if values[0] <= 1e-10 * values[-1]:
        return np.inf
    return -region.moments.n * float(np.log(values).sum() + len(values))
