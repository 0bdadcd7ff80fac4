"""Networks that differ, or agree, by whole nodes: node-based joint graphical lassos.

`PerturbedNodeJointGraphicalLasso` finds variables whose relations to all others change between
conditions; `CohubNodeJointGraphicalLasso` finds hubs that all conditions share. Both estimate
one precision matrix a condition by a convex problem that is solved with a certificate, block by
block where `node_screening_conditions` says that this is exact.

Reference: Mohan, London, Fazel, Witten and Lee (2014), "Node-based learning of multiple Gaussian
graphical models", JMLR 15:445-488, sections 3 to 5.
"""

from __future__ import annotations

import warnings
from numbers import Real
from typing import NamedTuple

import numpy as np

from octavo.engine.discrete.graph_blocks import block_support, connected_blocks
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.sklearn_door import Options, StrOptions
from octavo.engine.glasso.joint import solve_block
from octavo.engine.glasso.penalties import pair_indices, without_diagonals
from octavo.engine.proximal.groups import NORMS, column_norms, dual_exponent
from octavo.graphical.joint_glasso.base import (
    NON_NEGATIVE,
    SHARED_CONSTRAINTS,
    JointNetworkEstimator,
)
from octavo.graphical.joint_glasso.groups import given_covariances
from octavo.graphical.joint_glasso.metrics import detect_nodes
from octavo.graphical.joint_glasso.multiblock_admm import solve_paper

__all__ = [
    "CohubNodeJointGraphicalLasso",
    "NodeScreening",
    "PerturbedNodeJointGraphicalLasso",
    "node_screening_conditions",
]

NODE_CONSTRAINTS = {
    "alpha_l1": [NON_NEGATIVE],
    "alpha_joint": [NON_NEGATIVE],
    "norm": [Options(Real, set(NORMS))],
    "solver": [StrOptions({"admm2", "paper"})],
    **SHARED_CONSTRAINTS,
}


# --- screening ------------------------------------------------------------------------------------


class NodeScreening(NamedTuple):
    """Which blocks are certain, which partition is not excluded, and how far apart they are.

    ``blocks`` satisfy the sufficient condition: the solution is zero outside them. No solution
    can be zero outside a partition finer than ``necessary_blocks``. The gap between the two is
    what the conditions leave open. ``necessary_hold`` tells of each necessary condition whether
    it holds for ``blocks``.
    """

    blocks: list[np.ndarray]
    necessary_blocks: list[np.ndarray]
    necessary_hold: dict[str, bool]


@checked
def node_screening_conditions(
    covariances, n_samples, alpha_l1, alpha_joint, q=2, *, kind="perturbed"
):
    """Say from covariances alone into which blocks a node-based solution falls apart.

    Parameters
    ----------
    covariances : array-like of shape (n_groups, n_features, n_features)
        Covariances with divisor n.
    n_samples : array-like of shape (n_groups,)
        Sample sizes.
    alpha_l1, alpha_joint : float
        The penalties of equations (6) and (7), not divided by sample sizes.
    q : {1, 2, inf}, default=2
        Norm of the columns.
    kind : {"perturbed", "cohub"}, default="perturbed"
        Which of the two problems.

    Returns
    -------
    NodeScreening
        `blocks` by the sufficient condition of Theorems 6, 9 and 10; `necessary_blocks`, the
        finest partition that the entrywise conditions of Theorems 4 and 7 do not exclude; and
        `necessary_hold`, for `blocks`, by the names "entries" (17), "sums" (18, two perturbed
        networks only) and "average" (19, 20; q > 1 only).

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.graphical import node_screening_conditions
    >>> S = np.array([[[1.0, 0.3, 0.0], [0.3, 1.0, 0.1], [0.0, 0.1, 1.0]]] * 2)
    >>> found = node_screening_conditions(S, [50, 50], alpha_l1=10.0, alpha_joint=4.0)
    >>> [block.tolist() for block in found.blocks]
    [[0, 1], [2]]
    """
    if kind not in ("perturbed", "cohub"):
        raise ValueError(f"kind must be 'perturbed' or 'cohub', got {kind!r}.")
    if q not in NORMS:
        raise ValueError(f"q must be 1, 2 or inf, got {q!r}.")
    if not (alpha_l1 >= 0 and alpha_joint >= 0):
        raise ValueError(
            f"alpha_l1 and alpha_joint must be >= 0, got {alpha_l1!r} and {alpha_joint!r}."
        )
    samples = given_covariances(covariances, n_samples)
    nS = samples.S * samples.n[:, None, None]
    size = np.abs(nS)
    K, p = nS.shape[:2]
    blocks = connected_blocks((size > alpha_l1).any(axis=0))  # Theorems 6 and 9: sufficient
    # The multiplier of Ω_q adds at most λ2/2 for each difference that a network takes part in.
    parts = K - 1 if kind == "perturbed" else 1
    # Eq. (17), and Theorem 7
    bounds = {"entries": (size <= alpha_l1 + parts * alpha_joint / 2.0).all(axis=0)}
    if kind == "perturbed":  # the multipliers of the differences cancel in the sum
        bounds["sums"] = np.abs(nS.sum(axis=0)) <= K * alpha_l1  # Eq. (18)
    necessary = connected_blocks(~np.logical_and.reduce(list(bounds.values())))
    outside = ~block_support(blocks, p)
    hold = {name: bool(ok[outside].all()) for name, ok in bounds.items()}
    if q > 1:  # Hölder's inequality, which has nothing to say for q = 1
        count = max(int(outside.sum()), 1)
        room = alpha_l1 + parts * alpha_joint / 2.0 * (p / count) ** (1.0 / dual_exponent(q))
        # Eqs. (19) and (20)
        hold["average"] = bool((size[:, outside].sum(axis=1) / count <= room).all())
    return NodeScreening(blocks, necessary, hold)


# --- estimators -----------------------------------------------------------------------------------


class _NodeJointGraphicalLasso(JointNetworkEstimator):
    """Parameters and node scores of both estimators."""

    _parameter_constraints: dict = NODE_CONSTRAINTS

    def __init__(
        self,
        alpha_l1=0.1,
        alpha_joint=0.1,
        *,
        norm=2,
        scale_by_n=True,
        penalize_diagonal=True,
        assume_centered=False,
        standardize=False,
        screening=True,
        solver="admm2",
        rho=1.0,
        max_iter=1000,
        tol=1e-5,
        n_jobs=None,
    ):
        self.alpha_l1 = alpha_l1
        self.alpha_joint = alpha_joint
        self.norm = norm
        self.scale_by_n = scale_by_n
        self.penalize_diagonal = penalize_diagonal
        self.assume_centered = assume_centered
        self.standardize = standardize
        self.screening = screening
        self.solver = solver
        self.rho = rho
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs

    def _solver(self):
        return solve_paper if self.solver == "paper" else solve_block

    def _warn_of_norm(self):
        if self.norm == 1:
            warnings.warn(
                "norm=1 penalises single entries: node scores say nothing about nodes. Use "
                "norm=2 or norm=inf to find nodes.",
                UserWarning,
                stacklevel=5,
            )


class PerturbedNodeJointGraphicalLasso(_NodeJointGraphicalLasso):
    """Precision matrices of several groups that differ by a few perturbed nodes (PNJGL).

    Each group of rows has its network of conditional dependences. The networks are taken to be
    alike but for a few variables whose relations to all others change: which gene, which stock,
    which sensor is it? Minimises, over positive definite Θ^1, …, Θ^K, ::

        Σ_k n_k (tr S^k Θ^k − log det Θ^k) + alpha_l1 Σ_k ‖Θ^k‖₁
        + alpha_joint Σ_{k<l} Ω_q(Θ^k − Θ^l)

    where Ω_q, the row-column overlap norm, is small for matrices whose entries lie in few rows
    and the same columns.

    Parameters
    ----------
    alpha_joint : float, default=0.1
        Penalty on perturbed nodes: the larger, the fewer differences between the networks.
    norm : {1, 2, inf}, default=2
        q, the norm of a perturbed node's differences. 1 is the fused graphical lasso, which
        knows of edges only.
    scale_by_n : bool, default=True
        Multiply both penalties by the mean sample size of a group, so that their meaning does not
        change with it. False takes them as they stand in the objective.
    penalize_diagonal : bool, default=True
        Whether `alpha_l1` holds for the diagonals too. `alpha_joint` always does.
    solver : {"admm2", "paper"}, default="admm2"
        "admm2" has two blocks and converges; "paper" is the paper's Algorithm 1, of which
        that is not known.
    rho : float, default=1.0
        First penalty parameter of the solver, relative to the mean sample size. "admm2" adapts
        it, "paper" multiplies it by 5 in each pass.
    tol : float, default=1e-5
        Relative size of the residuals at which "admm2" stops, if the duality gap is then at most
        `tol` for each sample and variable; relative change of the networks at which "paper" does.
        Partial correlations of at most ten times `tol` are zero where the gap cannot tell them from
        that.

    Attributes
    ----------
    V_ : dict of (label, label) to ndarray of shape (`n_features_in_`, `n_features_in_`)
        For each pair of groups, V with V + Vᵀ the difference of their precision matrices, up to
        the tolerance; a column that is not zero is a perturbed node.
    column_norms_ : ndarray of shape (n_pairs, `n_features_in_`)
        l2 norms of the columns of each V without their diagonals.
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
    CohubNodeJointGraphicalLasso : Hubs that all networks share.
    FusedJointGraphicalLasso : Networks that differ by single edges.
    NodeJointGraphicalLassoCV : Chooses the penalties.

    Notes
    -----
    Not for a single group, for which `sklearn.covariance.GraphicalLasso` is there, nor where the
    networks differ in scattered edges: use `FusedJointGraphicalLasso` then.

    V is not unique where several attain the norm, as they often do with ``norm=inf``; scores are
    those of the one found. Rank `node_scores_` rather than trust the threshold of
    `perturbed_nodes_`, which finds nothing among 31 variables or fewer. A hub that the networks
    share can get a score too where its estimates are noisy.

    References
    ----------
    .. [1] Mohan, London, Fazel, Witten and Lee (2014). Node-based learning of multiple Gaussian
       graphical models. JMLR 15:445-488.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.graphical import PerturbedNodeJointGraphicalLasso, make_node_perturbed_networks
    >>> sample = make_node_perturbed_networks(40, 200, n_cohubs=0, random_state=0)
    >>> model = PerturbedNodeJointGraphicalLasso(alpha_l1=0.1, alpha_joint=0.5)
    >>> model = model.fit(sample.X, groups=sample.groups)
    >>> np.sort(np.argsort(model.node_scores_)[-2:]), sample.perturbed_nodes
    (array([31, 39]), array([31, 39]))
    """

    _kind = "perturbed"
    _fewest_groups = 2

    def _keep_nodes(self, solution):
        self._warn_of_norm()
        pairs = zip(*pair_indices(len(self.groups_)))
        labels = self.groups_.tolist()
        self.V_ = {(labels[k], labels[l]): V for (k, l), V in zip(pairs, solution.V)}
        self.column_norms_ = column_norms(without_diagonals(solution.V), 2)
        self.node_scores_ = np.sqrt((self.column_norms_**2).sum(axis=0))
        self.perturbed_nodes_ = detect_nodes(self.column_norms_, how="any")


class CohubNodeJointGraphicalLasso(_NodeJointGraphicalLasso):
    """Precision matrices of several groups that share a few hubs (CNJGL).

    The networks are taken to have their edges at a few hubs, the same ones in all groups.
    Minimises, over positive definite Θ^1, …, Θ^K, ::

        Σ_k n_k (tr S^k Θ^k − log det Θ^k) + alpha_l1 Σ_k ‖Θ^k‖₁ + alpha_joint Ω_q(Θ^1, …, Θ^K)

    where Ω_q, the row-column overlap norm of the matrices without their diagonals, is small
    if their entries lie in few rows and the same columns, alike in all of them.

    Parameters
    ----------
    alpha_joint : float, default=0.1
        Penalty on hubs: the larger, the fewer hubs and the fewer edges.
    norm : {1, 2, inf}, default=2
        q, the norm of a hub's edges over all networks. With 1 the networks are independent
        graphical lassos and nodes mean nothing.
    scale_by_n : bool, default=True
        Multiply both penalties by the mean sample size of a group, so that their meaning does not
        change with it. False takes them as they stand in the objective.
    penalize_diagonal : bool, default=True
        Whether `alpha_l1` holds for the diagonals too. `alpha_joint` never does.
    solver : {"admm2", "paper"}, default="admm2"
        "admm2" has two blocks and converges; "paper" is the paper's Algorithm 2, of which
        that is not known.
    rho : float, default=1.0
        First penalty parameter of the solver, relative to the mean sample size. "admm2" adapts
        it, "paper" multiplies it by 5 in each pass.
    tol : float, default=1e-5
        Relative size of the residuals at which "admm2" stops, if the duality gap is then at most
        `tol` for each sample and variable; relative change of the networks at which "paper" does.
        Partial correlations of at most ten times `tol` are zero where the gap cannot tell them from
        that.

    Attributes
    ----------
    V_ : ndarray of shape (n_groups, `n_features_in_`, `n_features_in_`)
        For each group, V with V + Vᵀ its precision matrix off the diagonal, up to the tolerance;
        a column that is not zero is a hub.
    column_norms_ : ndarray of shape (n_groups, `n_features_in_`)
        l2 norms of the columns of each V.
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
    PerturbedNodeJointGraphicalLasso : Nodes by which the networks differ.
    GroupJointGraphicalLasso : Networks that share single edges.
    NodeJointGraphicalLassoCV : Chooses the penalties.

    Notes
    -----
    With one group it finds the hubs of one network. Not for networks without hubs: use
    `sklearn.covariance.GraphicalLasso` for one, `GroupJointGraphicalLasso` for several that share
    their edges.

    References
    ----------
    .. [1] Mohan, London, Fazel, Witten and Lee (2014). Node-based learning of multiple Gaussian
       graphical models. JMLR 15:445-488.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.graphical import CohubNodeJointGraphicalLasso, make_node_perturbed_networks
    >>> sample = make_node_perturbed_networks(40, 100, n_perturbed=0, random_state=0)
    >>> model = CohubNodeJointGraphicalLasso(alpha_l1=0.02, alpha_joint=1.5)
    >>> model = model.fit(sample.X, groups=sample.groups)
    >>> np.sort(np.argsort(model.node_scores_)[-2:]), sample.cohub_nodes
    (array([31, 39]), array([31, 39]))
    """

    _kind = "cohub"

    def _keep_nodes(self, solution):
        self._warn_of_norm()
        self.V_ = solution.V
        self.column_norms_ = column_norms(without_diagonals(solution.V), 2)
        self.node_scores_ = np.sqrt((self.column_norms_**2).sum(axis=0))
        self.cohub_nodes_ = detect_nodes(self.column_norms_, how="all")
