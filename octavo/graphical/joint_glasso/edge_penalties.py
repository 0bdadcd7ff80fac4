"""Networks that share or differ by single edges: fused, group and separate graphical lassos.

The edge-based methods that node-based ones are compared with, through the same engine, with the
same certificate. `FusedJointGraphicalLasso` pulls the networks together edge by edge,
`GroupJointGraphicalLasso` makes them have the same edges, `SeparateGraphicalLasso` does neither.

Reference: Danaher, Wang and Witten (2014), "The joint graphical lasso for inverse covariance
estimation across multiple classes", JRSS B 76:373-397.
"""

from __future__ import annotations

import numpy as np

from octavo.graphical.joint_glasso.base import (
    NON_NEGATIVE,
    SHARED_CONSTRAINTS,
    JointNetworkEstimator,
)
from octavo.graphical.joint_glasso.metrics import detect_nodes, network_column_norms

__all__ = ["FusedJointGraphicalLasso", "GroupJointGraphicalLasso", "SeparateGraphicalLasso"]


class _EdgeJointGraphicalLasso(JointNetworkEstimator):
    """Parameters and column norms of the estimators with two penalties."""

    _parameter_constraints: dict = {
        "alpha_l1": [NON_NEGATIVE],
        "alpha_joint": [NON_NEGATIVE],
        **SHARED_CONSTRAINTS,
    }

    def __init__(
        self,
        alpha_l1=0.1,
        alpha_joint=0.1,
        *,
        scale_by_n=True,
        penalize_diagonal=True,
        assume_centered=False,
        standardize=False,
        screening=True,
        rho=1.0,
        max_iter=1000,
        tol=1e-5,
        n_jobs=None,
    ):
        self.alpha_l1 = alpha_l1
        self.alpha_joint = alpha_joint
        self.scale_by_n = scale_by_n
        self.penalize_diagonal = penalize_diagonal
        self.assume_centered = assume_centered
        self.standardize = standardize
        self.screening = screening
        self.rho = rho
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs


class FusedJointGraphicalLasso(_EdgeJointGraphicalLasso):
    """Precision matrices of several groups that differ by a few edges (FGL).

    Minimises, over positive definite Θ^1, …, Θ^K, ::

        Σ_k n_k (tr S^k Θ^k − log det Θ^k) + alpha_l1 Σ_k ‖Θ^k‖₁
            + alpha_joint Σ_{i≠j} Σ_{k<l} |Θ^k_ij − Θ^l_ij|

    Parameters
    ----------
    alpha_joint : float, default=0.1
        Penalty on the differences of every pair of networks, entry by entry.
    scale_by_n : bool, default=True
        Multiply the penalties by the mean sample size of a group, so that their meaning does not
        change with it. False takes them as they stand in the objective.
    penalize_diagonal : bool, default=True
        Whether `alpha_l1` holds for the diagonals too. `alpha_joint` never does.
    rho : float, default=1.0
        First penalty parameter of the solver, relative to the mean sample size; it is adapted.

    Attributes
    ----------
    column_norms_ : ndarray of shape (n_pairs, `n_features_in_`)
        l2 norms of the columns of the differences of each pair of networks, without diagonals.
    node_scores_ : ndarray of shape (`n_features_in_`,)
        The same over all pairs together.
    perturbed_nodes_ : ndarray of int
        Nodes whose norm exceeds the mean by 5.5 standard deviations in some pair.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit.

    See Also
    --------
    PerturbedNodeJointGraphicalLasso : Networks that differ by whole nodes.

    Notes
    -----
    Not where a node changes all its relations: `PerturbedNodeJointGraphicalLasso` pools the
    evidence of its edges. With one group it is the graphical lasso, for which
    `sklearn.covariance.GraphicalLasso` is there.

    References
    ----------
    .. [1] Danaher, Wang and Witten (2014). The joint graphical lasso for inverse covariance
       estimation across multiple classes. JRSS B 76:373-397.

    Examples
    --------
    >>> from octavo.graphical import FusedJointGraphicalLasso, make_node_perturbed_networks
    >>> sample = make_node_perturbed_networks(20, 100, random_state=0)
    >>> model = FusedJointGraphicalLasso(0.1, 0.05).fit(sample.X, groups=sample.groups)
    >>> int((model.precisions_[0] != model.precisions_[1]).sum()) // 2
    53
    """

    _kind = "fused"

    def _keep_nodes(self, solution):
        norms = network_column_norms(self.precisions_, of="differences")
        self.column_norms_ = norms
        self.node_scores_ = np.sqrt((norms**2).sum(axis=0))
        self.perturbed_nodes_ = _detected(norms, "any")


class GroupJointGraphicalLasso(_EdgeJointGraphicalLasso):
    """Precision matrices of several groups that have the same edges (GGL).

    Minimises, over positive definite Θ^1, …, Θ^K, ::

        Σ_k n_k (tr S^k Θ^k − log det Θ^k) + alpha_l1 Σ_k ‖Θ^k‖₁
            + alpha_joint Σ_{i≠j} sqrt(Σ_k (Θ^k_ij)²)

    Parameters
    ----------
    alpha_joint : float, default=0.1
        Penalty on an edge of all networks together.
    scale_by_n : bool, default=True
        Multiply the penalties by the mean sample size of a group, so that their meaning does not
        change with it. False takes them as they stand in the objective.
    penalize_diagonal : bool, default=True
        Whether `alpha_l1` holds for the diagonals too. `alpha_joint` never does.
    rho : float, default=1.0
        First penalty parameter of the solver, relative to the mean sample size; it is adapted.

    Attributes
    ----------
    column_norms_ : ndarray of shape (n_groups, `n_features_in_`)
        l2 norms of the columns of each network, without diagonals.
    node_scores_ : ndarray of shape (`n_features_in_`,)
        The same over all groups together.
    cohub_nodes_ : ndarray of int
        Nodes whose norm exceeds the mean by 5.5 standard deviations in all groups.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit.

    See Also
    --------
    CohubNodeJointGraphicalLasso : Networks that share hubs.

    Notes
    -----
    Not where the networks share hubs rather than edges: `CohubNodeJointGraphicalLasso` finds
    those. For one group use `sklearn.covariance.GraphicalLasso`.

    References
    ----------
    .. [1] Danaher, Wang and Witten (2014). The joint graphical lasso for inverse covariance
       estimation across multiple classes. JRSS B 76:373-397.

    Examples
    --------
    >>> from octavo.graphical import GroupJointGraphicalLasso, make_node_perturbed_networks
    >>> sample = make_node_perturbed_networks(20, 100, random_state=0)
    >>> model = GroupJointGraphicalLasso(0.02, 0.1).fit(sample.X, groups=sample.groups)
    >>> (model.adjacencies_.sum(axis=(1, 2)) // 2).tolist()
    [70, 71]
    """

    _kind = "group"

    def _keep_nodes(self, solution):
        norms = network_column_norms(self.precisions_, of="networks")
        self.column_norms_ = norms
        self.node_scores_ = np.sqrt((norms**2).sum(axis=0))
        self.cohub_nodes_ = detect_nodes(norms, how="all")


class SeparateGraphicalLasso(JointNetworkEstimator):
    """One graphical lasso for each of several groups, nothing shared (GL).

    Minimises Σ_k n_k (tr S^k Θ^k − log det Θ^k) + alpha_l1 Σ_k ‖Θ^k‖₁ over positive definite Θ^k.

    Parameters
    ----------
    scale_by_n : bool, default=True
        Multiply the penalties by the mean sample size of a group, so that their meaning does not
        change with it. False takes them as they stand in the objective.
    penalize_diagonal : bool, default=True
        Whether `alpha_l1` holds for the diagonals too.
    rho : float, default=1.0
        First penalty parameter of the solver, relative to the mean sample size; it is adapted.

    Attributes
    ----------
    column_norms_ : ndarray of shape (n_groups, `n_features_in_`)
        l2 norms of the columns of each network, without diagonals.
    node_scores_ : ndarray of shape (`n_features_in_`,)
        The same over all groups together.
    cohub_nodes_ : ndarray of int
        Nodes whose norm exceeds the mean by 5.5 standard deviations in all groups.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit.

    See Also
    --------
    FusedJointGraphicalLasso : Networks that differ by a few edges.
    sklearn.covariance.GraphicalLasso : One network, its diagonal not penalised.

    Notes
    -----
    A baseline: it borrows nothing from one group for another. For one group
    `sklearn.covariance.GraphicalLasso` is there.

    References
    ----------
    .. [1] Yuan and Lin (2007). Model selection and estimation in the Gaussian graphical model.
       Biometrika 94:19-35.

    Examples
    --------
    >>> from octavo.graphical import SeparateGraphicalLasso, make_node_perturbed_networks
    >>> sample = make_node_perturbed_networks(20, 100, random_state=0)
    >>> model = SeparateGraphicalLasso(0.1).fit(sample.X, groups=sample.groups)
    >>> (model.adjacencies_.sum(axis=(1, 2)) // 2).tolist()
    [56, 57]
    """

    _parameter_constraints: dict = {"alpha_l1": [NON_NEGATIVE], **SHARED_CONSTRAINTS}
    _kind = "separate"

    def __init__(
        self,
        alpha_l1=0.1,
        *,
        scale_by_n=True,
        penalize_diagonal=True,
        assume_centered=False,
        standardize=False,
        screening=True,
        rho=1.0,
        max_iter=1000,
        tol=1e-5,
        n_jobs=None,
    ):
        self.alpha_l1 = alpha_l1
        self.scale_by_n = scale_by_n
        self.penalize_diagonal = penalize_diagonal
        self.assume_centered = assume_centered
        self.standardize = standardize
        self.screening = screening
        self.rho = rho
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs

    def _keep_nodes(self, solution):
        norms = network_column_norms(self.precisions_, of="networks")
        self.column_norms_ = norms
        self.node_scores_ = np.sqrt((norms**2).sum(axis=0))
        self.cohub_nodes_ = detect_nodes(norms, how="all")


def _detected(norms, how):
    """Return the nodes that stand out; none where there is no pair to compare."""
    return detect_nodes(norms, how=how) if len(norms) else np.empty(0, dtype=np.intp)
