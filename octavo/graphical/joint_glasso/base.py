"""What all estimators of several networks share: input, solution, certificate and score."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.glasso.joint import (
    JointProblem,
    Settings,
    as_weights,
    divided,
    joint_graphical_lasso,
    log_det,
    solve_block,
)
from octavo.engine.glasso.penalties import (
    CohubNodes,
    FusedEdges,
    GroupedEdges,
    PerturbedNodes,
    SeparateEdges,
    without_diagonals,
)
from octavo.graphical.joint_glasso.groups import (
    by_group,
    check_bounded,
    given_covariances,
    rows_and_groups,
)

NON_NEGATIVE = Interval(Real, 0, None, closed="left")
SHARED_CONSTRAINTS: dict[str, list[Any]] = {
    "scale_by_n": ["boolean"],
    "penalize_diagonal": ["boolean"],
    "assume_centered": ["boolean"],
    "standardize": ["boolean"],
    "screening": ["boolean"],
    "rho": [Interval(Real, 0, None, closed="neither")],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "tol": [Interval(Real, 0, None, closed="neither")],
    "n_jobs": [None, Integral],
}


def network_penalty(kind, alpha_joint, norm, n_features):
    """Return the penalty of the given kind and strength."""
    if kind == "perturbed":
        return PerturbedNodes(alpha_joint, norm)
    if kind == "cohub":
        return CohubNodes(alpha_joint, norm)
    if kind == "separate":
        return SeparateEdges()
    # Equation (2) sums over i ≠ j: diagonals are not tied.
    matrix = alpha_joint * (1.0 - np.eye(n_features))
    return FusedEdges(matrix) if kind == "fused" else GroupedEdges(matrix)


def network_problem(
    S, n, kind, alpha_l1, alpha_joint, *, norm=2, scale_by_n=True, penalize_diagonal=True
):
    """Return the problem that an estimator solves, checked to have a solution."""
    scale = float(n.mean()) if scale_by_n else 1.0
    check_bounded(S, n, alpha_l1, alpha_joint, kind, penalize_diagonal)
    weights = as_weights(alpha_l1 * scale, S, penalize_diagonal=penalize_diagonal)
    return JointProblem(
        S, n, weights, network_penalty(kind, alpha_joint * scale, norm, S.shape[-1])
    )


def inverses(precisions):
    """Return the inverses of positive definite matrices, each variable in a unit of its own."""
    units = np.sqrt(np.diagonal(precisions, axis1=1, axis2=2))
    own: Any = np.linalg.inv(divided(precisions, units))
    found = divided(own, units)
    return (found + found.swapaxes(1, 2)) / 2


def gaussian_score(S, precisions):
    """Return log det Θ^k − tr(S^k Θ^k) of each network (section 7.2)."""
    return log_det(precisions) - (S * precisions).sum(axis=(1, 2))


def warn_unless_converged(solution, max_iter, stacklevel):
    """Say how far a solution is from proven where the solver did not finish."""
    if not solution.converged:
        warnings.warn(
            f"Not converged after {max_iter} iterations: the duality gap is "
            f"{solution.duality_gap:.3g} at an objective of {solution.objective:.6g}. Raise "
            "max_iter or tol, regularise more, or bring the groups to one scale.",
            ConvergenceWarning,
            stacklevel=stacklevel,
        )


class JointNetworkEstimator(CallbackSupportMixin, SoundEstimator):
    """Fit of K precision matrices; subclasses say which penalty ties them.

    Parameters
    ----------
    alpha_l1 : float, default=0.1
        Penalty on every entry: sparsity of each network.
    assume_centered : bool, default=False
        If True, the rows are not centred.
    max_iter : int, default=1000
        Most iterations for each block.
    n_jobs : int, default=None
        Number of threads, each for some of the blocks.
    screening : bool, default=True
        Solve for each block of variables apart where that is exact.
    standardize : bool, default=False
        Divide each variable by its standard deviation in each group. The networks are then
        those of the standardised variables.
    tol : float, default=1e-5
        Relative size of the residuals at which the solver stops, if the duality gap is then at
        most `tol` for each sample and variable.

    Attributes
    ----------
    adjacencies_ : ndarray of shape (n_groups, `n_features_in_`, `n_features_in_`), dtype bool
        Where the networks have edges.
    blocks_ : list of ndarray of int
        The blocks of variables that were solved apart.
    covariances_ : ndarray of shape (n_groups, `n_features_in_`, `n_features_in_`)
        Their inverses.
    duality_gap_ : float
        Most by which `objective_` can exceed the minimum.
    groups_ : ndarray of shape (n_groups,)
        Labels of the groups.
    locations_, scales_ : ndarray of shape (n_groups, `n_features_in_`)
        What was subtracted from the rows and what they were divided by.
    n_iter_ : int
        Iterations of the block that took most.
    n_samples_ : ndarray of shape (n_groups,)
        Rows of each group.
    objective_ : float
        Value of the objective above.
    precisions_ : ndarray of shape (n_groups, `n_features_in_`, `n_features_in_`)
        The networks, positive definite, with exact zeros.
    sample_covariances_ : ndarray of shape (n_groups, `n_features_in_`, `n_features_in_`)
        Covariances of the groups, of standardised variables if `standardize`.
    """

    _kind: ClassVar[str]
    _fewest_groups: ClassVar[int] = 1

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, groups=None):
        """Estimate the networks of all groups.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or list of such
            Rows of all groups with their labels in `groups`; or one table a group.
        y : None
            Ignored.
        groups : array-like of shape (n_samples,), default=None
            The group of each row. None puts all rows in one group.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        rows, groups = rows_and_groups(self, X, groups, reset=True)
        samples = by_group(
            rows, groups, assume_centered=self.assume_centered, standardize=self.standardize
        )
        return self._fit_samples(samples, rows)

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit_covariances(self, covariances, n_samples):
        """Estimate the networks from covariance matrices.

        Parameters
        ----------
        covariances : array-like of shape (n_groups, n_features, n_features)
            Covariances with divisor n; `standardize` does not change them.
        n_samples : array-like of shape (n_groups,)
            Sample sizes, the weights of the groups.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        samples = given_covariances(covariances, n_samples)
        self.n_features_in_ = samples.S.shape[-1]
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self._fit_samples(samples, None)

    def score(self, X, y=None, groups=None):
        """Return the mean log-likelihood of rows under the network of their group.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or list of such
            As in `fit`.
        y : None
            Ignored.
        groups : array-like of shape (n_samples,), default=None
            The group of each row, among those of `fit`.

        Returns
        -------
        float
            The mean over all rows.
        """
        check_is_fitted(self)
        rows, groups = rows_and_groups(self, X, groups, reset=False)
        unknown = np.setdiff1d(groups, self.groups_)
        if len(unknown):
            raise ValueError(
                f"groups has {unknown.tolist()[0]!r}, which fit has not seen: {self.groups_}."
            )
        total, p = 0.0, rows.shape[1]
        for k, label in enumerate(self.groups_):
            part = (rows[groups == label] - self.locations_[k]) / self.scales_[k]
            S = part.T @ part  # times the number of rows
            logs = log_det(self.precisions_[k : k + 1])[0] - 2.0 * np.log(self.scales_[k]).sum()
            total += len(part) * (logs - p * np.log(2 * np.pi)) - (S * self.precisions_[k]).sum()
        return float(0.5 * total / len(rows))

    def _fit_samples(self, samples, rows):
        if len(samples.n) < self._fewest_groups:
            raise ValueError(
                f"{type(self).__name__} compares networks: it needs at least "
                f"{self._fewest_groups} groups, got {len(samples.n)}. Pass groups, or a list of "
                "tables."
            )
        problem = network_problem(
            samples.S,
            samples.n,
            self._kind,
            self.alpha_l1,
            getattr(self, "alpha_joint", 0.0),
            norm=getattr(self, "norm", 2),
            scale_by_n=self.scale_by_n,
            penalize_diagonal=self.penalize_diagonal,
        )
        with FitProgress(self, None, rows) as progress:
            solution = joint_graphical_lasso(
                problem,
                Settings(self.rho, self.tol, self.max_iter),
                screening=self.screening,
                solver=self._solver(),
                n_jobs=self.n_jobs,
                on_check=progress.step,
            )
            progress.step()
        warn_unless_converged(solution, self.max_iter, stacklevel=4)
        return self._keep(samples, solution)

    def _solver(self):
        return solve_block

    def _keep(self, samples, solution):
        """Store a solution as fitted attributes."""
        self.groups_, self.n_samples_ = samples.labels, samples.n
        self.locations_, self.scales_ = samples.locations, samples.scales
        self.sample_covariances_ = samples.S
        self.precisions_ = solution.precisions
        self.covariances_ = inverses(solution.precisions)
        self.adjacencies_ = without_diagonals(solution.state.Z) != 0
        self.objective_, self.duality_gap_ = solution.objective, solution.duality_gap
        self.n_iter_, self.blocks_ = solution.n_iter, solution.blocks
        self._keep_nodes(solution)
        return self

    def _keep_nodes(self, solution):
        raise NotImplementedError
