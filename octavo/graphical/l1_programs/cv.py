"""CLIME with λ chosen from the data: by held-out loss, by the eBIC or by stability.

References: Cai, Liu and Luo (2011), "A constrained l1 minimization approach to sparse precision
matrix estimation", JASA 106:594-607, section 4; Foygel and Drton (2010), "Extended Bayesian
information criteria for Gaussian graphical models", NeurIPS 23, equation (2); Liu, Roeder and
Wasserman (2010), "Stability approach to regularization selection (StARS)", NeurIPS 23, section 3.
"""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.covariance import EmpiricalCovariance, empirical_covariance
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, validate_data

from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.linear_programs.l1_homotopy import l1_solutions
from octavo.graphical.l1_programs.clime import CLIME
from octavo.graphical.l1_programs.columns import (
    SHARED_CONSTRAINTS,
    as_problem,
    assemble,
    edges,
    map_columns,
    unit,
)

__all__ = ["CLIMECV"]


def _loss(precision, S, kind):
    """Return the Gaussian loss −log det Ω + tr(SΩ), or the trace loss Σ_i ((SΩ)_ii − 1)²."""
    if kind == "trace":
        return float(((np.einsum("ij,ji->i", S, precision) - 1.0) ** 2).sum())
    try:
        factor = np.linalg.cholesky((precision + precision.T) / 2)
    except np.linalg.LinAlgError:
        return np.inf
    return float((S * precision).sum() - 2.0 * np.log(np.diag(factor)).sum())


def _default_lambdas(problem, n_samples, n_alphas):
    """Return λ from where the graph is empty to a fraction of what theory asks for.

    β = (1 − λ) e_i / S_ii stays feasible, and the graph empty, until λ falls to
    |S_ti| / (S_ii + |S_ti|) for some t.
    """
    size = np.abs(problem.S)
    diagonal = np.maximum(np.diag(size), np.finfo(float).tiny)
    ratio = size / (size + diagonal)
    np.fill_diagonal(ratio, 0.0)
    highest = min(max(float(ratio.max()), 1e-3), 1.0)
    # the rate at which the largest error of S falls
    theory = np.sqrt(np.log(max(len(size), 2)) / n_samples)
    return np.geomspace(highest, min(0.25 * theory, 0.5 * highest), n_alphas)


def _instability(share):
    """Return the mean of 2θ(1 − θ) over pairs, θ the share of subsamples with the edge."""
    theta = share[np.triu_indices_from(share, 1)]
    return float(np.mean(2.0 * theta * (1.0 - theta))) if theta.size else 0.0


class CLIMECV(CLIME):
    """Sparse precision matrix by CLIME, with λ chosen from the data.

    Parameters
    ----------
    alphas : int or array-like of shape (n_alphas,), default=None
        Values of λ to choose from, or how many to place between the λ at which the graph is
        empty and a quarter of sqrt(log(n_features) / n_samples), both half as much again for
        "stars". None stands for 20.
    cv : int, cross-validation generator or iterable, default=5
        Folds, for ``selection="cv"``.
    loss : {"likelihood", "trace"}, default="likelihood"
        Loss on held-out rows with covariance S: −log det Ω + tr(SΩ), infinite where Ω is not
        positive definite; or Σ_i ((SΩ)_ii − 1)², which asks nothing of Ω.
    selection : {"cv", "ebic", "stars"}, default="cv"
        "cv": the smallest mean loss over the folds. "ebic": the smallest extended Bayesian
        information criterion on all rows, for finding the graph. "stars": the densest graph
        that is still stable under subsampling.
    ebic_gamma : float, default=0.5
        Weight of the term of the eBIC that grows with the number of features; 0 is the BIC.
    stars_threshold : float, default=0.1
        Largest instability, the mean variance of an edge times two, that is accepted.
    stars_n_subsamples : int, default=20
        Number of subsamples, each of min(0.8 n, 10 sqrt(n)) rows.
    standardize : bool, default=True
        As in `CLIME`.
    symmetrize : {"min", "max", "average", "none"}, default="min"
        As in `CLIME`.
    alpha_ridge : float, default=0.0
        As in `CLIME`.
    assume_centered : bool, default=False
        As in `CLIME`.
    psd : {"none", "shift"}, default="none"
        As in `CLIME`; the losses are those of the shifted estimate.
    on_infeasible : {"raise", "warn"}, default="raise"
        As in `CLIME`, for the final fit. A λ that is not feasible in a fold is not chosen.
    tol : float, default=1e-9
        As in `CLIME`.
    random_state : int, RandomState instance or None, default=None
        Of the subsamples of "stars".
    n_jobs : int, default=None
        As in `CLIME`.

    Attributes
    ----------
    alpha_ : float
        The λ chosen.
    alphas_ : ndarray of shape (n_alphas,)
        The values it was chosen from, decreasing.
    cv_results_ : dict of ndarray
        "alphas", and by the kind of selection: "mean_test_loss", "std_test_loss" and
        "split{k}_test_loss"; "ebic" and "n_edges"; or "instability". Infinite (nan for the
        instability) where λ is not feasible or Ω not positive definite.
    precision_, covariance_, sample_covariance_ : ndarray of shape (n_features, n_features)
        As in `CLIME`, at `alpha_` and from all rows.
    location_ : ndarray of shape (n_features,)
        Mean of the data.
    adjacency_, beta_ : ndarray of shape (n_features, n_features)
        As in `CLIME`.
    duality_gap_, violation_, alpha_per_column_, n_pivots_ : ndarray of shape (n_features,)
        As in `CLIME`.
    is_positive_definite_ : bool
        As in `CLIME`.
    shift_ : float
        As in `CLIME`.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit.

    See Also
    --------
    CLIME : For a λ that is known.
    sklearn.covariance.GraphicalLassoCV : The penalised maximum likelihood estimate.

    Notes
    -----
    Each fold costs one walk down the path, whatever the number of λ. The likelihood of
    held-out rows favours dense graphs: to find the edges rather than to predict, "ebic" or
    "stars" is the better choice. Where a positive definite estimate is needed, use
    `sklearn.covariance.GraphicalLassoCV` or ``psd="shift"``.

    References
    ----------
    .. [1] Cai, Liu and Luo (2011). A constrained l1 minimization approach to sparse precision
       matrix estimation. JASA 106:594-607.
    .. [2] Foygel and Drton (2010). Extended Bayesian information criteria for Gaussian
       graphical models. NeurIPS 23.
    .. [3] Liu, Roeder and Wasserman (2010). Stability approach to regularization selection
       (StARS) for high dimensional graphical models. NeurIPS 23.

    Examples
    --------
    >>> from octavo.graphical import CLIMECV, make_sparse_precision
    >>> sample = make_sparse_precision(15, 300, graph="band", random_state=0)
    >>> model = CLIMECV(selection="ebic").fit(sample.X)
    >>> round(model.alpha_, 3), int((model.adjacency_ != sample.adjacency).sum()) // 2
    (0.096, 3)
    """

    _parameter_constraints = {
        "alphas": [None, Interval(Integral, 1, None, closed="left"), "array-like"],
        "cv": ["cv_object"],
        "loss": [StrOptions({"likelihood", "trace"})],
        "selection": [StrOptions({"cv", "ebic", "stars"})],
        "ebic_gamma": [Interval(Real, 0, None, closed="left")],
        "stars_threshold": [Interval(Real, 0, 0.5, closed="both")],
        "stars_n_subsamples": [Interval(Integral, 2, None, closed="left")],
        "random_state": ["random_state"],
        **SHARED_CONSTRAINTS,
    }

    def __init__(
        self,
        alphas=None,
        *,
        cv=5,
        loss="likelihood",
        selection="cv",
        ebic_gamma=0.5,
        stars_threshold=0.1,
        stars_n_subsamples=20,
        standardize=True,
        symmetrize="min",
        alpha_ridge=0.0,
        assume_centered=False,
        psd="none",
        on_infeasible="raise",
        tol=1e-9,
        random_state=None,
        n_jobs=None,
    ):
        EmpiricalCovariance.__init__(self, assume_centered=assume_centered)
        self.alphas = alphas
        self.cv = cv
        self.loss = loss
        self.selection = selection
        self.ebic_gamma = ebic_gamma
        self.stars_threshold = stars_threshold
        self.stars_n_subsamples = stars_n_subsamples
        self.standardize = standardize
        self.symmetrize = symmetrize
        self.alpha_ridge = alpha_ridge
        self.psd = psd
        self.on_infeasible = on_infeasible
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Choose λ and estimate the precision matrix from all rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.
        y : None
            Ignored.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        X = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        problem = self._problem_of(X)
        self.alphas_ = self._grid(problem, len(X))
        choose, n_parts = {
            "cv": lambda: (self._choose_cv, check_cv(self.cv).get_n_splits(X)),
            "ebic": lambda: (self._choose_ebic, 1),
            "stars": lambda: (self._choose_stars, self.stars_n_subsamples),
        }[self.selection]()
        with FitProgress(self, n_parts + 1, X, step_name="part") as progress:
            # Part of the folds would choose another λ: a callback's wish to stop is not heeded.
            self.cv_results_, best = choose(X, problem, progress.step)
            self.alpha_ = float(self.alphas_[best])
            self._fit_problem(problem, self.alpha_)
            progress.step()
        return self

    def _problem_of(self, X):
        return as_problem(X, False, self.standardize, self.alpha_ridge, self.assume_centered)

    def _grid(self, problem, n_samples):
        if self.alphas is None or isinstance(self.alphas, Integral):
            alphas = _default_lambdas(problem, n_samples, self.alphas or 20)
            # Subsamples have larger chance correlations: their graphs are empty later.
            return np.minimum(1.5 * alphas, 1.0) if self.selection == "stars" else alphas
        alphas = np.unique(check_array(self.alphas, ensure_2d=False, dtype=np.float64))[::-1]
        if alphas.ndim != 1 or alphas[-1] < 0:
            raise ValueError(f"alphas must be a list of values >= 0, got {self.alphas!r}.")
        return alphas

    def _estimates(self, problem):
        """Yield the precision matrix at each λ, None from where λ is not feasible on."""
        d = len(problem.S)

        def solve(i):
            return l1_solutions(problem.S, unit(d, i), self.alphas_, scale=problem.scale)

        columns = map_columns(solve, d, self.n_jobs)
        for k in range(len(self.alphas_)):
            if any(k >= len(column.alphas) for column in columns):
                yield None
                continue
            beta = np.zeros((d, d))
            for i, column in enumerate(columns):
                piece = slice(column.coefs.indptr[k], column.coefs.indptr[k + 1])
                beta[column.coefs.indices[piece], i] = column.coefs.data[piece]
            yield assemble(beta, self.symmetrize, self.psd, problem.deviation)[0]

    def _choose_cv(self, X, problem, after_part):
        splits = list(check_cv(self.cv).split(X))
        losses = np.empty((len(splits), len(self.alphas_)))
        for k, (train, test) in enumerate(splits):
            fold = self._problem_of(X[train])
            S = empirical_covariance(X[test] - fold.location, assume_centered=True)
            for a, precision in enumerate(self._estimates(fold)):
                losses[k, a] = np.inf if precision is None else _loss(precision, S, self.loss)
            after_part()
        mean = losses.mean(axis=0)
        with np.errstate(invalid="ignore"):
            results = {"mean_test_loss": mean, "std_test_loss": losses.std(axis=0)}
        results |= {f"split{k}_test_loss": row for k, row in enumerate(losses)}
        return self._chosen(results, mean)

    def _choose_ebic(self, X, problem, after_part):
        n, d = X.shape
        criterion, n_edges = np.full((2, len(self.alphas_)), np.inf)
        for a, precision in enumerate(self._estimates(problem)):
            if precision is not None:
                adjacency = edges(precision)
                n_edges[a] = np.triu(adjacency | adjacency.T).sum()
                # Foygel and Drton, Eq. (2), with the fit as -2 log-likelihood
                penalty = np.log(n) + 4.0 * self.ebic_gamma * np.log(d)
                fit = n * _loss(precision, problem.covariance, "likelihood")
                criterion[a] = fit + n_edges[a] * penalty
        after_part()
        return self._chosen({"ebic": criterion, "n_edges": n_edges}, criterion)

    def _choose_stars(self, X, problem, after_part):
        rng, n = check_random_state(self.random_state), len(X)
        size = max(2, int(min(0.8 * n, 10 * np.sqrt(n))))
        counts = np.zeros((len(self.alphas_), *problem.S.shape))
        n_drawn = np.zeros(len(self.alphas_))
        for _ in range(self.stars_n_subsamples):
            part = self._problem_of(X[rng.choice(n, size, replace=False)])
            for a, precision in enumerate(self._estimates(part)):
                if precision is not None:
                    counts[a] += edges(precision)
                    n_drawn[a] += 1
            after_part()
        share = counts / self.stars_n_subsamples
        instability = np.array([_instability(theta) for theta in share])
        instability[n_drawn < self.stars_n_subsamples] = np.nan
        # The supremum over larger λ makes it grow as λ falls; nan only ever follows numbers.
        accepted = np.maximum.accumulate(instability) <= self.stars_threshold
        if not accepted.any():
            raise ValueError(
                f"No alpha gives an instability of at most stars_threshold="
                f"{self.stars_threshold}: at the largest, {self.alphas_[0]:.6g}, it is "
                f"{instability[0]:.3g}. Add larger values to alphas."
            )
        results = {"alphas": self.alphas_, "instability": instability}
        return results, int(np.flatnonzero(accepted)[-1])

    def _chosen(self, results, criterion):
        if not np.isfinite(criterion).any():
            raise ValueError(
                f"No alpha between {self.alphas_[-1]:.6g} and {self.alphas_[0]:.6g} gives a "
                "feasible and positive definite estimate. Add larger values to alphas, pass "
                "psd='shift' or raise alpha_ridge, or use loss='trace'."
            )
        return {"alphas": self.alphas_, **results}, int(np.argmin(criterion))
