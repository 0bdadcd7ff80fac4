"""CLIME: a sparse precision matrix by one small linear program per column, exact for every λ.

Column i of the estimate solves  min ||β||₁  subject to  ||Sβ − e_i||∞ ≤ λ  with S the sample
covariance. The solution is piecewise linear in λ: `clime_path` returns all of it, `CLIME` the
estimate at one λ. Every column carries the duality gap that proves it optimal, and says which
λ is the smallest that its constraints allow.

References: Cai, Liu and Luo (2011), "A constrained l1 minimization approach to sparse precision
matrix estimation", JASA 106:594-607; Pang, Liu and Vanderbei (2014), "The fastclime package",
JMLR 15:489-493, section 2.
"""

from __future__ import annotations

import warnings
from numbers import Real

import numpy as np
from joblib import effective_n_jobs
from scipy.linalg import pinvh
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.covariance import EmpiricalCovariance
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from octavo.data.graphical.sparse_precision import make_sparse_precision
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.linear_programs.l1_homotopy import L1Path, certificate, l1_path
from octavo.graphical.l1_programs.columns import (
    SHARED_CONSTRAINTS,
    SYMMETRIZE,
    ColumnProblem,
    as_problem,
    assemble,
    edges,
    infeasible_message,
    is_positive_definite,
    map_columns,
    solve_at,
    symmetrized,
    unit,
)

__all__ = ["CLIME", "ClimePath", "clime_path", "make_sparse_precision"]


class ClimePath:
    """The CLIME estimate for every λ, as `clime_path` returns it.

    Parameters
    ----------
    columns : list of L1Path
        The path of each column on the scale that was solved: its breakpoints, its
        coefficients and its dual vectors.
    problem : ColumnProblem
        The matrix that was solved for, and the way back to the scale of the data.
    symmetrize : {"min", "max", "average", "none"}, default="min"
        How entries ij and ji become one.

    Attributes
    ----------
    alphas_per_column : list of ndarray
        The breakpoints of each column, decreasing. They end at `alpha_min`; or at the smallest
        feasible λ where that is larger; or where `n_alphas` breakpoints were reached.
    status_per_column : list of str
        Why a column ends where it does: "complete", "infeasible" (no smaller λ is feasible),
        "truncated" (`n_alphas` was reached) or "stalled".
    smallest_feasible : ndarray of shape (n_features,)
        The smallest feasible λ of the columns that are "infeasible", nan for the others.
    degrees_of_freedom : list of ndarray
        Number of coefficients that are not zero, at each breakpoint of each column.
    alpha_reached : float
        The smallest λ that every column reaches.
    n_pivots : int
        Pivots of all columns together.
    location, covariance : ndarray
        Mean and covariance of the data.

    Examples
    --------
    With 10 samples of 15 variables, S has no inverse, and λ cannot reach 0:

    >>> from octavo.graphical import clime_path, make_sparse_precision
    >>> path = clime_path(make_sparse_precision(15, 10, random_state=0).X, alpha_min=0.0)
    >>> path.status_per_column[0], round(float(path.smallest_feasible[0]), 3)
    ('infeasible', 0.225)
    """

    def __init__(self, columns: list[L1Path], problem: ColumnProblem, symmetrize: str = "min"):
        self.columns = columns
        self.alphas_per_column = [path.alphas for path in columns]
        self.status_per_column = [path.status for path in columns]
        ends = np.array([path.alpha_end for path in columns])
        is_infeasible = np.array([path.status == "infeasible" for path in columns])
        self.smallest_feasible = np.where(is_infeasible, ends, np.nan)
        self.degrees_of_freedom = [np.diff(path.coefs.indptr) for path in columns]
        self.alpha_reached = float(ends.max())
        self.n_pivots = sum(path.n_pivots for path in columns)
        self.location, self.covariance = problem.location, problem.covariance
        self._problem, self._symmetrize = problem, symmetrize

    def beta(self, alpha: float) -> np.ndarray:
        """Return the columns at `alpha`, before they are made symmetric.

        Parameters
        ----------
        alpha : float
            Any λ from `alpha_reached` on.

        Returns
        -------
        ndarray of shape (n_features, n_features)
            Column i minimises ||β||₁ subject to ||Sβ − e_i||∞ ≤ λ, on the scale solved.
        """
        self._check_reached(alpha)
        return np.column_stack([path.at(alpha) for path in self.columns])

    def precision(self, alpha: float) -> np.ndarray:
        """Return the precision matrix at `alpha`, exact also between the breakpoints.

        Parameters
        ----------
        alpha : float
            Any λ from `alpha_reached` on.

        Returns
        -------
        ndarray of shape (n_features, n_features)
            The estimate on the scale of the data.
        """
        return assemble(self.beta(alpha), self._symmetrize, "none", self._problem.deviation)[0]

    def n_edges(self, alpha: float) -> int:
        """Return the number of edges of the graph at `alpha`."""
        adjacency = edges(symmetrized(self.beta(alpha), self._symmetrize))
        return int(np.triu(adjacency | adjacency.T).sum())

    def duality_gap(self, alpha: float) -> np.ndarray:
        """Return the duality gap of each column at `alpha`, computed from S, β and y alone."""
        self._check_reached(alpha)
        S, d = self._problem.S, len(self.columns)
        return np.array(
            [
                certificate(S, unit(d, i), alpha, path.at(alpha), path.dual_at(alpha))[0]
                for i, path in enumerate(self.columns)
            ]
        )

    def _check_reached(self, alpha: float) -> None:
        if alpha >= self.alpha_reached:
            return
        short = [i for i, path in enumerate(self.columns) if not alpha >= path.alpha_end]
        if not short:  # nan
            raise ValueError(f"alpha must be a number, got {alpha!r}.")
        ends = [self.columns[i].alpha_end for i in short]
        if any(self.status_per_column[i] == "infeasible" for i in short):
            raise ValueError(infeasible_message(alpha, short, ends, self.alpha_reached))
        raise ValueError(
            f"alpha={alpha:.6g} is below {self.alpha_reached:.6g}, the smallest alpha that "
            f"every column of this path reaches ({len(short)} column(s) end above alpha). Ask for "
            "a smaller alpha_min, or for more breakpoints with n_alphas."
        )


@checked
def clime_path(
    X,
    alpha_min=0.1,
    n_alphas=50,
    *,
    is_cov=False,
    standardize=True,
    symmetrize="min",
    alpha_ridge=0.0,
    assume_centered=False,
    n_jobs=None,
):
    """Compute the CLIME estimate for every λ from 1 down to `alpha_min`.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features) or (n_features, n_features)
        Data; with `is_cov`, a covariance matrix.
    alpha_min : float, default=0.1
        Where the path ends.
    n_alphas : int or None, default=50
        Breakpoints to keep per column at most; the path of a column ends at the last of
        them. None keeps them all, however many there are down to `alpha_min`.
    is_cov : bool, default=False
        Whether `X` is a covariance matrix.
    standardize : bool, default=True
        Solve for correlations, and scale the result back: λ between 0 and 1 then means the
        same for all columns.
    symmetrize : {"min", "max", "average", "none"}, default="min"
        How entries ij and ji become one.
    alpha_ridge : float, default=0.0
        Added to the diagonal of the matrix that is solved for. It makes every λ feasible
        when there are fewer samples than features.
    assume_centered : bool, default=False
        If True, the means are taken to be zero.
    n_jobs : int, default=None
        Number of threads, each for some of the columns.

    Returns
    -------
    ClimePath
        ``precision(alpha)``, ``n_edges(alpha)``, ``alphas_per_column`` and more.

    Notes
    -----
    Between two breakpoints of a column β is linear in λ, so that nothing is lost by keeping
    the breakpoints alone. Their number grows fast as λ falls and the solutions become dense.

    References
    ----------
    .. [1] Cai, Liu and Luo (2011). A constrained l1 minimization approach to sparse precision
       matrix estimation. JASA 106:594-607.
    .. [2] Pang, Liu and Vanderbei (2014). The fastclime package for linear programming and
       large-scale precision matrix estimation in R. JMLR 15:489-493.

    Examples
    --------
    >>> from octavo.graphical import clime_path, make_sparse_precision
    >>> X = make_sparse_precision(20, 200, graph="band", random_state=0).X
    >>> path = clime_path(X, alpha_min=0.05)
    >>> path.n_edges(0.3), path.n_edges(0.15)
    (13, 23)
    """
    if not alpha_min >= 0:
        raise ValueError(f"alpha_min must be >= 0, got {alpha_min!r}.")
    if n_alphas is not None and n_alphas < 1:
        raise ValueError(f"n_alphas must be at least 1, or None for all, got {n_alphas!r}.")
    if symmetrize not in SYMMETRIZE:
        raise ValueError(f"symmetrize must be one of {SYMMETRIZE}, got {symmetrize!r}.")
    if not alpha_ridge >= 0:
        raise ValueError(f"alpha_ridge must be >= 0, got {alpha_ridge!r}.")
    X = check_array(X, dtype=np.float64, ensure_min_samples=1 if is_cov else 2)
    problem = as_problem(X, is_cov, standardize, alpha_ridge, assume_centered)
    d = len(problem.S)

    def solve(i):
        return l1_path(
            problem.S, unit(d, i), alpha_min, max_breakpoints=n_alphas, scale=problem.scale
        )

    columns = map_columns(solve, d, n_jobs)
    stalled = [i for i, path in enumerate(columns) if path.status == "stalled"]
    if stalled:
        worst = max(columns[i].alpha_end for i in stalled)
        warnings.warn(
            f"The path of {len(stalled)} column(s), {stalled[:10]} among them, stalled above "
            f"alpha_min (at alpha={worst:.3g} the first): the covariance is too ill-conditioned. "
            "Raise `alpha_ridge`.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return ClimePath(columns, problem, symmetrize)


class CLIME(CallbackSupportMixin, SoundEstimator, EmpiricalCovariance):
    """Sparse precision matrix by constrained l1 minimisation (CLIME), exact at one λ.

    Column i of the estimate is the shortest β, in the l1 norm, that inverts the covariance S
    up to λ: ||Sβ − e_i||∞ ≤ λ. Zeros of the precision matrix are pairs of variables that are
    independent given all others.

    Parameters
    ----------
    alpha : float, default=0.1
        How far Sβ may be from e_i in any entry. At 1 and above (with standardised data) the
        estimate is zero; the smaller, the denser and the closer to the inverse of S. The
        rate that theory asks for is sqrt(log(n_features) / n_samples).
    standardize : bool, default=True
        Solve for correlations and scale the result back.
    symmetrize : {"min", "max", "average", "none"}, default="min"
        Entry ij of the precision matrix is found in column j and in column i; keep the
        one of smaller magnitude, of larger magnitude, their mean, or both as they are.
    alpha_ridge : float, default=0.0
        Added to the diagonal of the matrix solved for (on the scale of correlations if
        `standardize`). Of the order of sqrt(log(n_features) / n_samples) it makes small λ
        feasible with fewer samples than features.
    assume_centered : bool, default=False
        If True, the data are not centred.
    psd : {"none", "shift"}, default="none"
        The estimate need not be positive definite. "shift" adds a multiple of the identity
        (on the scale solved) where it is not, so that its condition number is 1000.
    on_infeasible : {"raise", "warn"}, default="raise"
        What to do where no β satisfies the constraints at `alpha`, as happens with fewer
        samples than features: raise a ValueError that says which λ would do, or warn and
        solve these columns at their smallest feasible λ.
    tol : float, default=1e-9
        Duality gap, relative to max(1, ||β||₁), and violation of the constraints above which
        a column counts as not solved; a `ConvergenceWarning` then says so.
    n_jobs : int, default=None
        Number of threads, each for some of the columns.

    Attributes
    ----------
    precision_ : ndarray of shape (n_features, n_features)
        The estimate, on the scale of the data.
    covariance_ : ndarray of shape (n_features, n_features)
        Its inverse (its pseudo-inverse where it has none).
    sample_covariance_ : ndarray of shape (n_features, n_features)
        The covariance that was given or computed from the data.
    location_ : ndarray of shape (n_features,)
        Mean of the data.
    adjacency_ : ndarray of shape (n_features, n_features), dtype bool
        The graph: where `precision_` is not zero off the diagonal.
    beta_ : ndarray of shape (n_features, n_features)
        The columns before they were made symmetric, on the scale solved.
    duality_gap_ : ndarray of shape (n_features,)
        Duality gap of each column: ||β||₁ minus a lower bound on its optimum.
    violation_ : ndarray of shape (n_features,)
        By how much each column exceeds its constraints.
    alpha_per_column_ : ndarray of shape (n_features,)
        `alpha`; the smallest feasible one in columns for which `alpha` is not feasible.
    n_pivots_ : ndarray of shape (n_features,)
        Pivots made in each column.
    is_positive_definite_ : bool
        Whether `precision_` is positive definite.
    shift_ : float
        What ``psd="shift"`` added to the diagonal on the scale solved.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit.

    See Also
    --------
    CLIMECV : Chooses `alpha`.
    clime_path : The estimate for every λ at once.
    sklearn.covariance.GraphicalLasso : The penalised maximum likelihood estimate.

    Notes
    -----
    Use `sklearn.covariance.GraphicalLasso` where a positive definite estimate is needed: it
    maximises a likelihood and always gives one, where CLIME gives columns that are optimal
    one by one. CLIME solves each column to machine precision and needs no tuning of a solver.

    The columns are unique but for ties: with duplicated variables, S has equal rows, several
    β are equally short, and one of them is returned.

    References
    ----------
    .. [1] Cai, Liu and Luo (2011). A constrained l1 minimization approach to sparse precision
       matrix estimation. JASA 106:594-607.
    .. [2] Pang, Liu and Vanderbei (2014). The fastclime package for linear programming and
       large-scale precision matrix estimation in R. JMLR 15:489-493.

    Examples
    --------
    >>> from octavo.graphical import CLIME, make_sparse_precision
    >>> sample = make_sparse_precision(20, 500, graph="band", random_state=0)
    >>> model = CLIME(alpha=0.2).fit(sample.X)
    >>> int((model.adjacency_ != sample.adjacency).sum()) // 2
    0
    """

    _parameter_constraints = {
        "alpha": [Interval(Real, 0, None, closed="left")],
        **SHARED_CONSTRAINTS,
    }

    def __init__(
        self,
        alpha=0.1,
        *,
        standardize=True,
        symmetrize="min",
        alpha_ridge=0.0,
        assume_centered=False,
        psd="none",
        on_infeasible="raise",
        tol=1e-9,
        n_jobs=None,
    ):
        super().__init__(assume_centered=assume_centered)
        self.alpha = alpha
        self.standardize = standardize
        self.symmetrize = symmetrize
        self.alpha_ridge = alpha_ridge
        self.psd = psd
        self.on_infeasible = on_infeasible
        self.tol = tol
        self.n_jobs = n_jobs

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, *, is_cov=False):
        """Estimate the precision matrix.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_features, n_features)
            Data; with `is_cov`, their covariance matrix.
        y : None
            Ignored.
        is_cov : bool, default=False
            Whether `X` is a covariance matrix.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        X = validate_data(self, X, dtype=np.float64, ensure_min_samples=1 if is_cov else 2)
        problem = as_problem(X, is_cov, self.standardize, self.alpha_ridge, self.assume_centered)
        n_tasks = min(len(problem.S), 20 * effective_n_jobs(self.n_jobs))
        with FitProgress(self, n_tasks, X, step_name="columns") as progress:
            # No column can be left out: a callback's wish to stop is not heeded.
            return self._fit_problem(problem, self.alpha, n_tasks, progress.step)

    def _fit_problem(self, problem, alpha, n_tasks=None, after_task=None):
        betas, alphas, statuses, pivots, gaps, violations = zip(
            *solve_at(problem, alpha, self.n_jobs, n_tasks, after_task)
        )
        self.beta_ = np.column_stack(betas)
        self.alpha_per_column_ = np.array(alphas)
        self.n_pivots_ = np.array(pivots)
        self.duality_gap_, self.violation_ = np.array(gaps), np.array(violations)
        self._check_solved(alpha, statuses)
        self.precision_, self.shift_ = assemble(
            self.beta_, self.symmetrize, self.psd, problem.deviation
        )
        self.sample_covariance_, self.location_ = problem.covariance, problem.location
        self.is_positive_definite_ = is_positive_definite(self.precision_)
        self.adjacency_ = edges(self.precision_)
        self.covariance_ = (
            np.linalg.inv(self.precision_)
            if self.is_positive_definite_
            else pinvh((self.precision_ + self.precision_.T) / 2)
        )
        return self

    def _check_solved(self, alpha, statuses):
        """Say what could not be solved: no feasible β, or a certificate that is not met."""
        infeasible = [i for i, status in enumerate(statuses) if status == "infeasible"]
        if infeasible:
            smallest = self.alpha_per_column_[infeasible]
            message = infeasible_message(alpha, infeasible, smallest, smallest.max())
            if self.on_infeasible == "raise":
                raise ValueError(
                    message
                    + " Raise alpha, raise alpha_ridge, or pass on_infeasible='warn' to solve "
                    "these columns at their smallest feasible alpha."
                )
            warnings.warn(
                message + " These columns are solved at their smallest feasible alpha.",
                UserWarning,
                stacklevel=4,
            )
        allowed = self.tol * np.maximum(1.0, np.abs(self.beta_).sum(axis=0))
        poor = (self.duality_gap_ > allowed) | (self.violation_ > self.tol)
        poor |= [status == "stalled" for status in statuses]
        if poor.any():
            warnings.warn(
                f"{int(poor.sum())} column(s), {np.flatnonzero(poor)[:10].tolist()} among them, "
                f"are not solved to tol={self.tol:.3g}: the largest duality gap is "
                f"{self.duality_gap_[poor].max():.3g}, the largest violation of a constraint "
                f"{self.violation_[poor].max():.3g}, at alpha up to "
                f"{self.alpha_per_column_[poor].max():.6g}. Raise `alpha_ridge`.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def score(self, X_test, y=None):
        """Return the mean Gaussian log-likelihood of `X_test`.

        Parameters
        ----------
        X_test : array-like of shape (n_samples, n_features)
            Data.
        y : None
            Ignored.

        Returns
        -------
        float
            The log-likelihood; -inf where the estimate is not positive definite.
        """
        check_is_fitted(self)
        if not self.is_positive_definite_:
            validate_data(self, X_test, reset=False)
            return -np.inf
        return super().score(X_test)
