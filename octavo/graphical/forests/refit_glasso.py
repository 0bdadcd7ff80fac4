"""The graphical lasso refitted: its zeros kept, its shrinkage undone.

The lasso chooses the zeros of a precision matrix; the likelihood is then maximised under them,
without a penalty. This is the Gaussian rival of forest densities in their paper.

Reference: Liu, Xu, Gu, Gupta, Lafferty and Wasserman (2011), "Forest density estimation",
JMLR 12:907-951, section 6.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from sklearn.base import DensityMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.glasso.joint import JointProblem, Settings, as_weights, joint_graphical_lasso
from octavo.engine.glasso.pattern_mle import pattern_mle
from octavo.engine.glasso.penalties import SeparateEdges
from octavo.graphical.forests.estimator import split_rows
from octavo.graphical.forests.structures import as_graph

__all__ = ["RefitGraphicalLasso"]

LEAST_ALPHA = 0.02  # of the largest, at the end of a path
REFIT_SWEEPS = 200


class PathStep(NamedTuple):
    """The lasso at one alpha, on correlations, and its refit; None where there is none."""

    alpha: float
    lasso: Floats
    duality_gap: float
    converged: bool
    adjacency: Floats
    refit: Floats | None
    kkt_residual: float


def standardized(X, names=None):
    """Return means, standard deviations and correlations."""
    mean = X.mean(axis=0)
    with np.errstate(over="ignore", invalid="ignore"):
        largest = np.abs(X - mean).max(axis=0)
        centred = (X - mean) / np.where(largest > 0, largest, 1.0)
        scale = np.sqrt((centred**2).mean(axis=0)) * largest
    for k in np.flatnonzero(~((scale > 0) & np.isfinite(scale))):
        told = "constant" if scale[k] == 0 else "too large for a variance"
        raise ValueError(f"Column {k} is {told}: it has no correlations. Drop or rescale it.")
    unit = centred * (largest / scale)
    return mean, scale, unit.T @ unit / len(X)


def lasso_path(R, alphas, tol, max_iter, step=None):
    """Yield the graphical lasso of correlations at each alpha, with its refit."""
    d = len(R)
    one = np.ones(1)
    start = None
    for alpha in alphas:
        weights = as_weights(alpha, R[None], penalize_diagonal=False)
        problem = JointProblem(R[None], one, weights, SeparateEdges())
        found = joint_graphical_lasso(problem, Settings(1.0, tol, max_iter), start=start)
        start = found.state
        Theta = found.precisions[0]
        adjacency = (Theta != 0) & ~np.eye(d, dtype=bool)
        adjacency |= adjacency.T
        refit, residual = None, np.inf
        try:
            fitted = pattern_mle(R, adjacency, max_iter=REFIT_SWEEPS)
        except (ValueError, np.linalg.LinAlgError):
            pass  # the likelihood has no maximum under these zeros
        else:
            refit, residual = fitted.precision, fitted.residual
        yield PathStep(
            float(alpha), Theta, found.duality_gap, found.converged, adjacency, refit, residual
        )
        if step is not None:
            step()


def gaussian_score(precision, R):
    """Return the mean log-likelihood of data with second moments R about the mean."""
    sign, log_det = np.linalg.slogdet(precision)
    if sign <= 0:
        return -np.inf
    d = len(R)
    return float(0.5 * (log_det - (R * precision).sum() - d * np.log(2 * np.pi)))


class RefitGraphicalLasso(CallbackSupportMixin, DensityMixin, SoundEstimator):
    """A sparse Gaussian density: the graph of the graphical lasso, refitted without its penalty.

    Parameters
    ----------
    alpha : float or "holdout", default="holdout"
        Penalty of the lasso on correlations, between 0 and 1. "holdout": the one of a path at
        which a second part of the rows is most likely under the refit; the refit at that
        alpha then has the first part, as a forest density has.
    n_alphas : int, default=20
        Length of the path, from where the graph is empty down to a fiftieth of that.
    holdout : float or array-like of int, default=0.5
        The second part: a fraction of the rows, drawn at random, or their numbers.
    refit : bool, default=False
        Whether, with ``alpha="holdout"``, the chosen alpha is fitted to all rows in the end.
    tol : float, default=1e-4
        Duality gap of the lasso, a variable, at which it ends.
    max_iter : int, default=1000
        Most iterations of the lasso at an alpha.
    random_state : int, RandomState instance or None, default=None
        Of the split.

    Attributes
    ----------
    precision_, covariance_ : ndarray of shape (n_features, n_features)
        The refit, with exact zeros in the first, and its inverse.
    location_ : ndarray of shape (n_features,)
        Means.
    adjacency_ : ndarray of shape (n_features, n_features), dtype bool
        The graph.
    graph_ : networkx.Graph
        The graph, ``weight`` the partial correlation.
    n_edges_ : int
        Its edges.
    alpha_ : float
        The penalty.
    alphas_ : ndarray of shape (n_alphas,)
        The path; one entry if `alpha` is a number.
    n_edges_path_ : ndarray of shape (n_alphas,)
        Edges along it.
    heldout_scores_ : ndarray of shape (n_alphas, 2)
        Mean log-likelihood of the second part along it: of the lasso, and of its refit (-inf
        where the likelihood has no maximum under the zeros). None if `alpha` is a number.
    duality_gap_ : float
        Of the lasso at `alpha_`, on correlations.
    kkt_residual_ : float
        Of the refit: largest difference of correlations on the graph.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit.

    See Also
    --------
    ForestDensityEstimator : Without a Gaussian assumption.
    CLIME : A sparse precision matrix by linear programs.
    sklearn.covariance.GraphicalLassoCV : The lasso itself, by cross-validation.

    Notes
    -----
    Use `sklearn.covariance.GraphicalLassoCV` where rows are few: its shrinkage helps the
    likelihood then, and it has an answer where a refit has none.

    References
    ----------
    .. [1] Liu, Xu, Gu, Gupta, Lafferty and Wasserman (2011). Forest density estimation.
       JMLR 12:907-951.

    Examples
    --------
    >>> from octavo.graphical import RefitGraphicalLasso, make_sparse_precision
    >>> X = make_sparse_precision(8, 400, graph="band", random_state=0).X
    >>> model = RefitGraphicalLasso(alpha=0.2).fit(X)
    >>> model.n_edges_, round(model.score(X), 2)
    (8, -10.24)
    """

    _parameter_constraints = {
        "alpha": [StrOptions({"holdout"}), Interval(Real, 0, None, closed="neither")],
        "n_alphas": [Interval(Integral, 1, 1000, closed="both")],
        "holdout": [Interval(Real, 0, 1, closed="neither"), "array-like"],
        "refit": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        alpha="holdout",
        *,
        n_alphas=20,
        holdout=0.5,
        refit=False,
        tol=1e-4,
        max_iter=1000,
        random_state=None,
    ):
        self.alpha = alpha
        self.n_alphas = n_alphas
        self.holdout = holdout
        self.refit = refit
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Choose the zeros by the lasso and maximise the likelihood under them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : None
            Not used.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        X = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        chosen = isinstance(self.alpha, str)
        used = X
        if chosen:
            random = check_random_state(self.random_state)
            first, second = split_rows(X.shape, self.holdout, random, least=2)
            used = X[first]
        mean, scale, R = standardized(used)
        alphas = self._path(R) if chosen else np.array([float(self.alpha)])
        with FitProgress(self, len(alphas) + (chosen and self.refit), X) as progress:
            steps = list(lasso_path(R, alphas, self.tol, self.max_iter, progress.step))
            self.heldout_scores_ = None
            best = steps[0]
            if chosen:
                best = self._choose(steps, (X[second] - mean) / scale, scale)
                if self.refit:
                    mean, scale, R = standardized(X)
                    again = lasso_path(R, [best.alpha], self.tol, self.max_iter, progress.step)
                    best = next(again)
        self.alphas_ = alphas
        self.n_edges_path_ = np.array([int(s.adjacency.sum()) // 2 for s in steps])
        self._set_model(best, mean, scale)
        return self

    def _path(self, R):
        off = np.abs(R - np.diag(np.diag(R))).max(initial=0.0)
        top = max(float(off), 1e-3)
        return np.geomspace(top, LEAST_ALPHA * top, self.n_alphas)

    def _choose(self, steps, rows, scale):
        R = rows.T @ rows / len(rows)
        shift = np.log(scale).sum()
        scores = [
            (gaussian_score(s.lasso, R), -np.inf if s.refit is None else gaussian_score(s.refit, R))
            for s in steps
        ]
        self.heldout_scores_ = np.array(scores) - shift
        at = int(self.heldout_scores_[:, 1].argmax())
        if at + 1 < len(steps) and steps[at + 1].refit is None:
            warnings.warn(
                f"The path ends at {int(steps[at].adjacency.sum()) // 2} edges: with those of "
                f"alpha={steps[at + 1].alpha:.4g} the likelihood has no maximum. Columns that "
                "determine each other, or too few rows, do this; drop columns or give more rows.",
                UserWarning,
                stacklevel=3,
            )
        return steps[at]

    def _set_model(self, best, mean, scale):
        if best.refit is None:
            raise ValueError(
                f"The likelihood has no maximum under the zeros at alpha={best.alpha:.4g}, where "
                f"{int(best.adjacency.sum()) // 2} pairs are free: raise alpha, or give more rows."
            )
        if best.kkt_residual > 1e-6 or not best.converged:
            warnings.warn(
                f"Not converged: the duality gap of the lasso is {best.duality_gap:.3g} and the "
                f"residual of the refit {best.kkt_residual:.3g}. Raise max_iter or alpha.",
                ConvergenceWarning,
                stacklevel=3,
            )
        self.alpha_ = best.alpha
        self.location_ = mean
        self.precision_ = best.refit / scale / scale[:, None]
        self.covariance_ = np.linalg.inv(best.refit) * scale * scale[:, None]
        self.adjacency_ = best.adjacency
        size = np.sqrt(np.diag(best.refit))
        partial = -best.refit / size / size[:, None]
        edges = np.argwhere(np.triu(best.adjacency))
        self.graph_ = as_graph(len(mean), edges, partial)
        self.n_edges_ = len(edges)
        self.duality_gap_, self.kkt_residual_ = best.duality_gap, best.kkt_residual
        self._scale, self._unit = scale, best.refit

    def score_samples(self, X):
        """Return the log-density of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Log-densities.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        with np.errstate(over="ignore"):
            rows = np.clip((X - self.location_) / self._scale, -1e150, 1e150)
        squares = np.einsum("ij,jk,ik->i", rows, self._unit, rows, optimize=True)
        log_det = np.linalg.slogdet(self._unit)[1] - 2 * np.log(self._scale).sum()
        return 0.5 * (log_det - squares - X.shape[1] * np.log(2 * np.pi))

    def score(self, X, y=None):
        """Return the mean log-density of the rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : None
            Not used.

        Returns
        -------
        float
            Mean of `score_samples`.
        """
        return float(self.score_samples(X).mean())
