"""Which binary variables are joined: edges as switches that both ends share, and nodewise l1.

Reference: T. Jebara (2011), "Multitask Sparsity via Maximum Entropy Discrimination", Journal of
Machine Learning Research 12, Section 12; the nodewise rival is M. J. Wainwright, P. Ravikumar and
J. D. Lafferty (2007), "High-Dimensional Graphical Model Selection Using l1-Regularized Logistic
Regression".
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import check_is_fitted, validate_data

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.kernel.multitask.base import Problem, TaskMachines
from octavo.kernel.multitask.losses import Loss, hinge_loss
from octavo.kernel.multitask.switches import warn_if_saturated
from octavo.kernel.multitask.task_blocks import FeatureBlock
from octavo.kernel.multitask.task_tables import TaskRows

__all__ = ["MEDIsingStructure", "NodewiseL1Ising"]


def pair_places(n_nodes: int) -> Any:
    """Return the number of the pair of nodes m and d, whichever comes first; −1 on the diagonal."""
    places = np.full((n_nodes, n_nodes), -1)
    upper = np.triu_indices(n_nodes, 1)
    places[upper] = places[upper[::-1]] = np.arange(len(upper[0]))
    return places


def _binary_table(owner: Any, X: Any) -> Floats:
    """Return X, checked to hold 0 and 1 and both of them in each column."""
    X = validate_data(owner, X, dtype=np.float64, ensure_min_samples=2, ensure_min_features=2)
    other = X[(X != 0.0) & (X != 1.0)]
    if other.size:
        raise ValueError(f"X must hold 0 and 1 only, got {float(other[0])!r}.")
    constant = np.flatnonzero(X.min(axis=0) == X.max(axis=0))
    if constant.size:
        raise ValueError(
            f"Each variable must take both values; column {constant[0]} is always "
            f"{int(X[0, constant[0]])}."
        )
    return X


def _threshold(scores: Floats, threshold: float) -> Any:
    edges = scores > threshold
    np.fill_diagonal(edges, False)
    return edges


class MEDIsingStructure(TaskMachines):
    """The graph of an Ising model from binary data, by machines that predict each node.

    Every node is predicted from all others; the switch of a pair guards both of its directions, so
    that the graph is symmetric without a rule of combination.

    Parameters
    ----------
    alpha : float, default=10.0
        (1 − ρ)/ρ for a prior probability ρ of an edge; larger values give sparser graphs.
    C : float, default=1.0
        Weight of the hinge loss.
    bias : "free" or float, default="free"
        ``"free"``, or the variance of the normal prior of each node's intercept.
    solver : {"newton", "bound"}, default="newton"
        As in `MEDMultitaskSVC`.
    max_sweeps : int, default=200
        Most sweeps over the nodes.

    Attributes
    ----------
    edge_scores_ : ndarray of shape (n_features, n_features)
        Expected switches of the edges, symmetric, with zeros on the diagonal.
    coef_ : ndarray of shape (n_features, n_features)
        Coefficients: row m predicts variable m.
    intercept_ : ndarray of shape (n_features,)
        Offsets.
    objective_ : float
        Primal objective.
    duality_gap_ : float
        How far the objective may be above the optimum.
    n_features_in_ : int
        Number of variables.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the variables, where X has them.

    See Also
    --------
    NodewiseL1Ising : One l1-penalised logistic regression a node.

    Notes
    -----
    Scores rank pairs; they are no probabilities of edges, as the prior and C decide their level.
    The hinge asks only for the right sign: where a strong neighbour decides it, a weaker one keeps
    a low score whatever the number of rows. With many rows nodewise logistic regression, which is
    consistent, is the better choice.

    References
    ----------
    .. [1] Jebara (2011). Multitask Sparsity via Maximum Entropy Discrimination. JMLR 12,
       Section 12.

    Examples
    --------
    >>> from octavo.data import make_ising
    >>> from octavo.kernel import MEDIsingStructure
    >>> data = make_ising(n_nodes=5, n_samples=300, random_state=1)
    >>> model = MEDIsingStructure(alpha=10.0, C=0.1).fit(data.X)
    >>> model.edge_scores_[0, 1:].round(1).tolist(), data.adjacency[0, 1:].tolist()
    ([0.9, 0.1, 0.4, 0.6], [True, False, True, True])
    """

    _parameter_constraints: dict[str, list[Any]] = {
        "alpha": [Interval(Real, 0, None, closed="left")],
        "C": [Interval(Real, 0, None, closed="neither")],
        "bias": [StrOptions({"free"}), Interval(Real, 0, None, closed="neither")],
        "solver": [StrOptions({"newton", "bound"})],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_sweeps": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self, alpha=10.0, C=1.0, *, bias="free", solver="newton", tol=1e-4, max_sweeps=200
    ):
        self.alpha = alpha
        self.C = C
        self.bias = bias
        self.solver = solver
        self.tol = tol
        self.max_sweeps = max_sweeps

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the switches of all pairs.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Binary rows: 0 and 1, both of them in each column.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The fitted model.
        """
        self._check_numbers()
        X = _binary_table(self, X)
        n_rows, n_nodes = X.shape
        places = pair_places(n_nodes)
        others = [np.flatnonzero(np.arange(n_nodes) != m) for m in range(n_nodes)]
        blocks = [  # the pair's one switch in both machines (Section 12)
            FeatureBlock(np.ascontiguousarray(X[:, other]), places[m, other])
            for m, other in enumerate(others)
        ]
        rows = np.arange(n_rows)
        problem = Problem(
            blocks,
            [2.0 * X[:, m] - 1.0 for m in range(n_nodes)],  # labels ±1 of x in {0, 1}
            TaskRows([rows] * n_nodes, None),
            n_nodes * (n_nodes - 1) // 2,
        )
        fit = self._solve(problem, None, X, None)
        self.edge_scores_ = np.zeros((n_nodes, n_nodes))
        self.coef_ = np.zeros((n_nodes, n_nodes))
        for m, other in enumerate(others):
            self.edge_scores_[m, other] = fit.switches[places[m, other]]
            self.coef_[m, other] = self.edge_scores_[m, other] * fit.responses[m]
        warn_if_saturated(fit.switches, self.alpha, fit.energies, "the pairs")
        return self

    def _losses(self, targets: list[Floats]) -> list[Loss]:
        offset = self._has_offset()
        return [hinge_loss(y, np.full(y.size, float(self.C)), 1.0, offset) for y in targets]

    def adjacency(self, threshold: float = 0.5) -> Any:
        """Return the pairs whose score is above a threshold.

        Parameters
        ----------
        threshold : float, default=0.5
            The threshold.

        Returns
        -------
        ndarray of bool of shape (n_features, n_features)
            Symmetric, with an empty diagonal.
        """
        check_is_fitted(self)
        return _threshold(self.edge_scores_, threshold)


class NodewiseL1Ising(SoundEstimator):
    """The graph of an Ising model by one l1-penalised logistic regression a node.

    Parameters
    ----------
    alpha : float, default=1.0
        Penalty on the absolute coefficients of a node, the paper's ν: its loss is a sum over rows.
    rule : {"and", "or"}, default="and"
        How the two coefficients of a pair are combined: the smaller absolute value or the larger.
    tol : float, default=1e-6
        Tolerance of scikit-learn's coordinate descent.
    max_iter : int, default=1000
        Most iterations of it.

    Attributes
    ----------
    edge_scores_ : ndarray of shape (n_features, n_features)
        Combined absolute coefficients, symmetric, with zeros on the diagonal.
    coef_ : ndarray of shape (n_features, n_features)
        Coefficients: row m predicts variable m.
    intercept_ : ndarray of shape (n_features,)
        Intercepts.
    n_features_in_ : int
        Number of variables.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the variables, where X has them.

    See Also
    --------
    MEDIsingStructure : One switch for both directions of a pair.

    Notes
    -----
    A wrapper of `sklearn.linear_model.LogisticRegression`, here as the rival of
    `MEDIsingStructure`. Its solver penalises the intercept too, a hundredfold less.

    References
    ----------
    .. [1] Wainwright, Ravikumar and Lafferty (2007). High-Dimensional Graphical Model Selection
       Using l1-Regularized Logistic Regression. NIPS 19.

    Examples
    --------
    >>> from octavo.data import make_ising
    >>> from octavo.kernel import NodewiseL1Ising
    >>> data = make_ising(n_nodes=5, n_samples=300, random_state=1)
    >>> model = NodewiseL1Ising(alpha=10.0).fit(data.X)
    >>> model.adjacency()[0].tolist(), data.adjacency[0].tolist()
    ([False, True, False, True, True], [False, True, False, True, True])
    """

    _parameter_constraints: dict[str, list[Any]] = {
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "rule": [StrOptions({"and", "or"})],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(self, alpha=1.0, rule="and", *, tol=1e-6, max_iter=1000):
        self.alpha = alpha
        self.rule = rule
        self.tol = tol
        self.max_iter = max_iter

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit one regression a node.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Binary rows: 0 and 1, both of them in each column.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The fitted model.
        """
        X = _binary_table(self, X)
        if not np.isfinite(self.alpha) or not np.isfinite(1.0 / self.alpha):
            raise ValueError(f"alpha must be finite, and its inverse too, got {self.alpha}.")
        n_nodes = X.shape[1]
        self.coef_, self.intercept_ = np.zeros((n_nodes, n_nodes)), np.zeros(n_nodes)
        for m in range(n_nodes):
            other = np.flatnonzero(np.arange(n_nodes) != m)
            model = LogisticRegression(
                l1_ratio=1.0,
                C=1.0 / self.alpha,
                solver="liblinear",
                intercept_scaling=100.0,
                tol=max(self.tol, 1e-10),
                max_iter=self.max_iter,
                random_state=0,
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FutureWarning)
                model.fit(X[:, other], X[:, m])
            self.coef_[m, other], self.intercept_[m] = model.coef_[0], model.intercept_[0]
        size = np.abs(self.coef_)
        self.edge_scores_ = (np.minimum if self.rule == "and" else np.maximum)(size, size.T)
        return self

    def adjacency(self, threshold: float = 0.0) -> Any:
        """Return the pairs whose score is above a threshold.

        Parameters
        ----------
        threshold : float, default=0.0
            The threshold; 0 takes every pair that the rule keeps.

        Returns
        -------
        ndarray of bool of shape (n_features, n_features)
            Symmetric, with an empty diagonal.
        """
        check_is_fitted(self)
        return _threshold(self.edge_scores_, threshold)
