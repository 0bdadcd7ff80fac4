"""Density estimation by a cumulative distribution network on a chain, a tree or a given graph."""

from __future__ import annotations

from itertools import combinations
from numbers import Integral, Real
from typing import Any, Self

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar
from scipy.special import ndtri
from sklearn.base import DensityMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.doubles import check_squares
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.graphs.spanning import maximum_forest
from octavo.engine.probability.copula import pseudo_observations
from octavo.graphical.cumulative_networks.copulas import CopulaCDF
from octavo.graphical.cumulative_networks.factors import CDFFactor, GaussianCDF, LogisticCDF
from octavo.graphical.cumulative_networks.fitting import fit_factors
from octavo.graphical.cumulative_networks.margins import UnivariateCDF
from octavo.graphical.cumulative_networks.network import CDN
from octavo.graphical.cumulative_networks.separation import bidirected_graph, factor_scopes

__all__ = ["CDNDensityEstimator", "pairwise_gains"]

_START = {"gumbel": 0.7, "clayton": 0.5, "frank": 1.0, "gaussian": 0.2}
_SHAPE = {"t": 5.0, "gev": 0.1}


@checked
def pairwise_gains(X: ArrayLike, copula: str = "gumbel") -> Floats:
    """Return how much log-likelihood a row a copula of each pair gains over independence.

    The weights of the tree that `CDNDensityEstimator` learns; not in the paper.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows; only their ranks are used.
    copula : {"gumbel", "clayton", "frank", "gaussian", "logistic"}, default="gumbel"
        Fitted to each pair; the logistic factor has the Clayton copula with theta one.

    Returns
    -------
    ndarray of shape (n_features, n_features)
        Symmetric, zero on the diagonal.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.graphical import pairwise_gains
    >>> x, y, z = np.random.default_rng(0).normal(size=(3, 200))
    >>> pairwise_gains(np.column_stack([x, x + y, z])).round(2)[0]
    array([0.  , 0.25, 0.  ])
    """
    if copula not in (*_START, "logistic"):
        raise ValueError(f"copula must be one of {', '.join(_START)} or logistic, got {copula!r}.")
    rows = np.asarray(X, dtype=float)
    if rows.ndim != 2 or len(rows) < 2 or not np.isfinite(rows).all():
        raise ValueError("X must be a table of finite numbers with two rows or more.")
    U = pseudo_observations(rows)
    d = U.shape[1]
    gains = np.zeros((d, d))
    probe = CopulaCDF(copula, _START[copula]) if copula != "logistic" else None
    for i, j in combinations(range(d), 2):
        pair = U[:, [i, j]]

        def loss(free: float, pair: Floats = pair) -> float:
            model = CopulaCDF("clayton", 1.0) if probe is None else probe.freed(np.array([free]))
            return -float(model.log_jet(pair, [True, True])[1, 1].mean())

        best = loss(0.0)  # of a copula's density alone: independence has 0
        if probe is not None:
            best = float(minimize_scalar(loss, bounds=(-6, 6), method="bounded").fun)
        gains[i, j] = gains[j, i] = -best
    return gains


class CDNDensityEstimator(CallbackSupportMixin, DensityMixin, SoundEstimator):
    """Estimate a joint density whose distribution function is a product over the edges of a graph.

    Parameters
    ----------
    graph : {"chain", "tree"}, list of pairs, networkx.Graph or array-like, default="chain"
        Which columns share a factor. "chain": neighbours in the order of the columns; "tree": the
        maximum spanning tree of `pairwise_gains` (not in the paper). Columns without an edge have a
        factor of their own.
    factor : {"logistic", "gaussian"}, default="logistic"
        Distribution function of a pair, where `copula` is None.
    copula : {"gumbel", "clayton", "frank", "gaussian"}, optional
        Pairs are copulas with margins instead.
    marginal : {"normal", "logistic", "gumbel", "t", "gev"}, default="normal"
        Family of the margins of copulas.
    margins : {"free", "preserve"}, default="free"
        Whether margins and copulas are fitted together, or each column's own fit is kept as its
        margin in the network and the copulas are fitted to it.
    method : {"ml", "composite"}, default="ml"
        Maximum likelihood, or that of the pairs; loops cost two to the power of their clusters.
    max_iter : int, default=200
        Most iterations of L-BFGS.
    tol : float, default=1e-8
        Relative gain at which it stops.

    Attributes
    ----------
    network_ : CDN
        The fitted network, in the data's own units.
    params_ : list of dict
        Of each factor its variables and parameters.
    standard_errors_ : list of ndarray
        Of each factor's free parameters, for standardised columns.
    graph_ : networkx.Graph
        Columns that share a factor.
    adjacency_ : ndarray of bool of shape (n_features, n_features)
        The same as a matrix.
    log_likelihood_ : float
        Of the training rows; the composite one if that was maximised.
    n_iter_ : int
        Iterations.

    See Also
    --------
    CDN : Networks with any factors, also of ordinal variables.

    Notes
    -----
    Do not use it where columns without a common factor depend on each other: such pairs are
    independent in the model. `sklearn.mixture.GaussianMixture` assumes nothing of the kind. What a
    network offers in return are closed-form joint tail probabilities and a sparse graph.

    References
    ----------
    .. [1] J. C. Huang and B. J. Frey (2011). "Cumulative Distribution Networks and the
       Derivative-sum-product Algorithm". Journal of Machine Learning Research 12.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.graphical import CDNDensityEstimator
    >>> X = np.random.default_rng(0).logistic(size=(200, 3))
    >>> model = CDNDensityEstimator(copula="gumbel", marginal="logistic").fit(X)
    >>> print(f"{model.score(X):.2f}")
    -5.97
    """

    _parameter_constraints: dict[str, Any] = {
        "graph": [StrOptions({"chain", "tree"}), list, tuple, nx.Graph, np.ndarray],
        "factor": [StrOptions({"logistic", "gaussian"})],
        "copula": [StrOptions(set(_START)), None],
        "marginal": [StrOptions({"normal", "logistic", "gumbel", "t", "gev"})],
        "margins": [StrOptions({"free", "preserve"})],
        "method": [StrOptions({"ml", "composite"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, 1, closed="neither")],
    }

    def __init__(
        self,
        graph: Any = "chain",
        factor: str = "logistic",
        copula: str | None = None,
        *,
        marginal: str = "normal",
        margins: str = "free",
        method: str = "ml",
        max_iter: int = 200,
        tol: float = 1e-8,
    ) -> None:
        self.graph = graph
        self.factor = factor
        self.copula = copula
        self.marginal = marginal
        self.margins = margins
        self.method = method
        self.max_iter = max_iter
        self.tol = tol

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose the graph where asked to, and fit all factors.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Continuous columns.
        y : None
            Ignored.

        Returns
        -------
        self
            Fitted.
        """
        X = validate_data(self, X, dtype=np.float64, ensure_min_samples=3)
        check_squares(X)
        center, scale = X.mean(axis=0), X.std(axis=0)
        flat = scale <= 1e-12 * np.maximum(np.abs(center), 1e-300)
        if flat.any():
            raise ValueError(f"Column {flat.argmax()} of X is constant and has no density.")
        Z = (X - center) / scale
        scopes = self._scopes(Z)
        degree = np.bincount([v for scope in scopes for v in scope], minlength=Z.shape[1])
        network = CDN([(s, self._start(s, degree, Z)) for s in scopes], loopy="cluster")
        with FitProgress(self, self.max_iter, X) as progress:
            fitted = fit_factors(
                network,
                Z,
                self.method,
                1,
                self.max_iter,
                self.tol,
                np.random.RandomState(0),
                on_step=progress.step,
            )
        scaled = [
            (s, _in_units(f, center[list(s)], scale[list(s)]))
            for s, f in zip(scopes, fitted.factors)
        ]
        self.network_ = CDN(scaled, loopy="cluster")
        self.params_ = [{"variables": s, **f.described()} for s, f in scaled]
        self.standard_errors_ = fitted.standard_errors
        self.graph_ = bidirected_graph(scopes)
        d = Z.shape[1]
        self.adjacency_ = nx.to_numpy_array(self.graph_, nodelist=range(d), dtype=bool)
        jacobian = np.log(scale)
        if self.method == "composite":  # a column counts once for each pair that it is in
            jacobian = jacobian * np.maximum(self.adjacency_.sum(axis=1), 1)
        self.log_likelihood_ = fitted.log_likelihood - len(Z) * float(jacobian.sum())
        self.n_iter_ = max(fitted.n_iter, 1)
        return self

    def _scopes(self, Z: Floats) -> list[tuple[int, ...]]:
        d = Z.shape[1]
        graph = self.graph
        if isinstance(graph, str):
            if graph == "chain":
                edges = [(k, k + 1) for k in range(d - 1)]
            else:
                gains = pairwise_gains(Z, self.copula or self.factor)
                edges = [(int(i), int(j)) for i, j in maximum_forest(gains)]
        elif isinstance(graph, nx.Graph) or (np.shape(graph) == (d, d) and d != 2):
            if len(graph) != d:
                raise ValueError(f"graph has {len(graph)} nodes, X has {d} columns.")
            return factor_scopes(graph)
        elif isinstance(graph, np.ndarray) and graph.shape == (d, d):
            return factor_scopes(graph)
        else:
            edges = self._edges(graph, d)
        made = nx.Graph()
        made.add_nodes_from(range(d))
        made.add_edges_from(edges)
        return factor_scopes(made)

    @staticmethod
    def _edges(graph: Any, d: int) -> list[tuple[int, int]]:
        try:
            edges = [(int(i), int(j)) for i, j in graph]
        except (TypeError, ValueError):
            raise ValueError(
                f'graph must be "chain", "tree", pairs of columns, a networkx graph or a {d} by '
                f"{d} boolean matrix, got {graph!r}."
            ) from None
        for i, j in edges:
            if i == j or not (0 <= i < d and 0 <= j < d):
                raise ValueError(f"The edge {(i, j)} is no pair of the {d} columns.")
        return edges

    def _start(self, scope: tuple[int, ...], degree: Any, Z: Floats) -> CDFFactor:
        """Return a factor to begin with, such that the columns' medians are about right."""
        # a column in several factors: each takes a root of its distribution function
        shares = 0.5 ** (1.0 / degree[list(scope)])
        if self.copula is None and self.factor == "logistic":
            weights = np.full(len(scope), np.pi / np.sqrt(3.0))
            return LogisticCDF(weights, np.log((1 - shares) / shares) / weights)
        if self.copula is None:
            k = len(scope)
            return GaussianCDF(-ndtri(shares), 0.8 * np.eye(k) + 0.2)
        margins = [self._margin(Z[:, v], 1.0 / degree[v]) for v in scope]
        if len(scope) == 1:
            return margins[0]
        return CopulaCDF(self.copula, _START[self.copula], margins)

    def _margin(self, column: Floats, power: float) -> UnivariateCDF:
        """Return the margin of a column by maximum likelihood."""
        first = UnivariateCDF(self.marginal, 0.0, 1.0, _SHAPE.get(self.marginal))
        if self.marginal == "gev":  # its support must hold all rows
            first = UnivariateCDF("gev", -0.5, 1.0, min(0.1, 0.9 / max(0.1, -column.min())))
        alone = CDN([((0,), first)]).fit(column[:, None], max_iter=100)
        found = alone.factors[0][1]
        assert isinstance(found, UnivariateCDF)
        keep = self.margins == "preserve"
        return UnivariateCDF(found.family, found.loc, found.scale, found.shape, power, keep)

    def score_samples(self, X: Any) -> Floats:
        """Return the log density of rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Log densities, in the data's own units.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return self.network_.logpdf(X)

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log density of rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : None
            Ignored.

        Returns
        -------
        float
            Larger is better.
        """
        return float(self.score_samples(X).mean())

    def sample(self, n_samples: int = 1, random_state: Any = None) -> Floats:
        """Draw rows of the fitted network.

        Parameters
        ----------
        n_samples : int, default=1
            How many.
        random_state : int, RandomState instance or None, default=None
            Seeds the draws.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            Draws.
        """
        check_is_fitted(self)
        return self.network_.sample(n_samples, random_state=check_random_state(random_state))


def _in_units(factor: CDFFactor, center: Floats, scale: Floats) -> CDFFactor:
    """Return the factor of x = center + scale z for a factor of z."""
    if isinstance(factor, LogisticCDF):
        loc = np.zeros(factor.arity) if factor.loc is None else factor.loc
        return LogisticCDF(factor.weights / scale, center + scale * loc)
    if isinstance(factor, GaussianCDF):
        return GaussianCDF(center + scale * factor.mean, factor.cov * np.outer(scale, scale))
    if isinstance(factor, UnivariateCDF):
        place = float(center[0] + scale[0] * factor.loc)
        size = float(scale[0] * factor.scale)
        return UnivariateCDF(factor.family, place, size, factor.shape, factor.power, factor.fixed)
    assert isinstance(factor, CopulaCDF)
    margins = [
        _in_units(m, center[k : k + 1], scale[k : k + 1]) for k, m in enumerate(factor.marginals)
    ]
    return CopulaCDF(factor.family, factor.theta, margins)
