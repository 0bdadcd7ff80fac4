"""Joint graphical lassos with both penalties chosen from the data.

By held-out likelihood (section 7.2 of the paper), by the extended Bayesian information criterion,
or by the stability of the edges under subsampling, which the paper's discussion proposes.

References: Mohan, London, Fazel, Witten and Lee (2014), "Node-based learning of multiple Gaussian
graphical models", JMLR 15:445-488; Foygel and Drton (2010), "Extended Bayesian information criteria
for Gaussian graphical models", NeurIPS 23; Meinshausen and Bühlmann (2010), "Stability selection",
JRSS B 72:417-473; Liu, Roeder and Wasserman (2010), "Stability approach to regularization selection
(StARS)", NeurIPS 23.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array

from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, Options, StrOptions, fit_context
from octavo.engine.glasso.joint import Settings, joint_graphical_lasso
from octavo.engine.glasso.penalties import pair_indices, without_diagonals
from octavo.engine.proximal.groups import NORMS, column_norms, dual_exponent, soft_threshold
from octavo.graphical.joint_glasso.base import (
    SHARED_CONSTRAINTS,
    JointNetworkEstimator,
    gaussian_score,
    network_problem,
    warn_unless_converged,
)
from octavo.graphical.joint_glasso.groups import by_group, rows_and_groups
from octavo.graphical.joint_glasso.metrics import detect_nodes, network_column_norms

__all__ = ["NodeJointGraphicalLassoCV"]


def default_lam1s(samples, count, scale):
    """Return penalties from where no edge is left down to a hundredth of that."""
    size = without_diagonals(np.abs(samples.S)) * samples.n[:, None, None]
    return _downwards(float(size.max()) / scale, samples, count, scale)


def _downwards(highest, samples, count, scale):
    """Return a grid of two decades; from a thousandth of the variances where nothing is there."""
    if highest == 0.0:
        variances = np.diagonal(samples.S, axis1=1, axis2=2) * samples.n[:, None]
        highest = 1e-3 * float(variances.max()) / scale or 1e-3
    return np.geomspace(highest, highest / 100.0, count)


def default_lam2s(samples, kind, norm, alpha_l1, count, scale):
    """Return penalties from about where nothing is perturbed, or no hub is left, downwards.

    Co-hubs: all edges vanish where ‖2 T_1(n S, λ1)_j‖_s ≤ λ2 for the stacked columns. Perturbed
    nodes: the networks can agree where ‖n (S^k − S^l)_j‖_s ≤ λ2. Edge penalties see the same
    matrices entry by entry.
    """
    nS = without_diagonals(samples.S) * samples.n[:, None, None]
    p = nS.shape[-1]
    if kind in ("perturbed", "fused"):
        first, second = pair_indices(len(nS))
        M = nS[first] - nS[second]  # what a common network must explain of two
    else:
        M = 2.0 * soft_threshold(nS, alpha_l1 * scale)
        M = M.reshape(-1, p) if kind == "cohub" else M
    if kind in ("fused", "group"):
        highest = float(np.abs(M).max(initial=0.0)) / 2.0
    else:
        highest = float(column_norms(M, dual_exponent(norm)).max(initial=0.0))
    return _downwards(highest / scale, samples, count, scale)


class NodeJointGraphicalLassoCV(JointNetworkEstimator):
    """Joint graphical lasso of several groups, with both penalties chosen from the data.

    Parameters
    ----------
    penalty : {"perturbed", "cohub", "fused", "group"}, default="perturbed"
        Which estimator: `PerturbedNodeJointGraphicalLasso`, `CohubNodeJointGraphicalLasso`,
        `FusedJointGraphicalLasso` or `GroupJointGraphicalLasso`.
    alphas_l1 : int or array-like of shape (n_lam1s,), default=5
        Values of alpha_l1 to choose from, or how many to place between the one that leaves no edge
        and a hundredth of it.
    alphas_joint : int or array-like of shape (n_lam2s,), default=5
        Values of alpha_joint to choose from, or how many to place between the one that leaves
        about no perturbed node, or no hub, and a hundredth of it.
    selection : {"cv", "ebic", "stability"}, default="cv"
        "cv": the largest held-out Σ_k [log det Θ^k − tr(S^k Θ^k)], the mean over folds. "ebic": the
        smallest extended Bayesian information criterion. "stability": the densest networks whose
        edges are still stable under subsampling.
    cv : int, cross-validation generator or iterable, default=5
        Folds for "cv"; an integer makes folds within each group.
    ebic_gamma : float, default=0.5
        Weight of the term of the eBIC that grows with the number of variables; 0 is the BIC.
    n_subsamples : int, default=20
        Number of subsamples for "stability", each of half of every group.
    stability_threshold : float, default=0.1
        Largest accepted instability, the mean over pairs of variables and networks of
        2 f (1 − f) with f the share of subsamples that have the edge.
    norm : {1, 2, inf}, default=2
        q, for penalties on nodes.
    scale_by_n : bool, default=True
        Multiply the penalties by the mean sample size of a group. It makes penalties chosen on
        folds right for all rows.
    penalize_diagonal : bool, default=True
        Whether alpha_l1 holds for the diagonals too.
    standardize : bool, default=False
        Divide each variable by its standard deviation in each group.
    rho : float, default=1.0
        First penalty parameter of the solver, relative to the mean sample size.
    random_state : int, RandomState instance or None, default=None
        Of the subsamples.

    Attributes
    ----------
    alpha_l1_, alpha_joint_ : float
        The penalties chosen.
    alphas_l1_ : ndarray of shape (n_lam1s,)
        Values of alpha_l1, decreasing.
    alphas_joint_ : ndarray of shape (n_lam2s,)
        Values of alpha_joint, decreasing.
    cv_results_ : dict of ndarray of shape (n_lam1s, n_lam2s)
        By the kind of selection: "mean_test_score", "std_test_score" and "split{k}_test_score";
        "ebic" and "n_edges"; or "instability" and "n_edges".
    edge_frequencies_ : ndarray of shape (n_groups, `n_features_in_`, `n_features_in_`)
        For "stability": share of subsamples that have each edge, at the penalties chosen.
    node_frequencies_ : ndarray of shape (`n_features_in_`,)
        For "stability": share of subsamples in which the node was detected.
    precisions_ : ndarray of shape (n_groups, `n_features_in_`, `n_features_in_`)
        The networks at the penalties chosen, from all rows.
    V_ : ndarray of shape (n_parts, `n_features_in_`, `n_features_in_`)
        For penalties on nodes: V of each pair of groups (k < l in their order), or of each group.
    column_norms_ : ndarray of shape (n_parts, `n_features_in_`)
        l2 norms of the columns of V, or of the networks or their differences for penalties on
        edges, without diagonals.
    node_scores_ : ndarray of shape (`n_features_in_`,)
        The same over all parts together.
    nodes_ : ndarray of int
        The perturbed nodes, or the co-hubs, that stand out.
    objective_, duality_gap_ : float
        Of the final fit.
    n_iter_ : int
        Iterations of the final fit.
    sample_covariances_ : ndarray of shape (n_groups, `n_features_in_`, `n_features_in_`)
        Covariances of the groups.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit.

    See Also
    --------
    PerturbedNodeJointGraphicalLasso : For penalties that are known.
    sklearn.covariance.GraphicalLassoCV : One network.

    Notes
    -----
    Held-out likelihood favours dense networks. To find edges or nodes, "ebic" or "stability" is
    the better choice. For a single network use `sklearn.covariance.GraphicalLassoCV`.

    References
    ----------
    .. [1] Mohan, London, Fazel, Witten and Lee (2014). Node-based learning of multiple Gaussian
       graphical models. JMLR 15:445-488.
    .. [2] Meinshausen and Bühlmann (2010). Stability selection. JRSS B 72:417-473.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.graphical import NodeJointGraphicalLassoCV, make_node_perturbed_networks
    >>> sample = make_node_perturbed_networks(15, 150, n_cohubs=0, n_perturbed=1, random_state=0)
    >>> model = NodeJointGraphicalLassoCV(alphas_l1=3, alphas_joint=3)
    >>> model = model.fit(sample.X, groups=sample.groups)
    >>> int(np.argmax(model.node_scores_)), sample.perturbed_nodes.tolist()
    (8, [8])
    """

    _parameter_constraints: dict = {
        "penalty": [StrOptions({"perturbed", "cohub", "fused", "group"})],
        "alphas_l1": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "alphas_joint": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "selection": [StrOptions({"cv", "ebic", "stability"})],
        "cv": ["cv_object"],
        "ebic_gamma": [Interval(Real, 0, None, closed="left")],
        "n_subsamples": [Interval(Integral, 2, None, closed="left")],
        "stability_threshold": [Interval(Real, 0, 0.5, closed="both")],
        "norm": [Options(Real, set(NORMS))],
        "random_state": ["random_state"],
        **SHARED_CONSTRAINTS,
    }

    def __init__(
        self,
        penalty="perturbed",
        *,
        alphas_l1=5,
        alphas_joint=5,
        selection="cv",
        cv=5,
        ebic_gamma=0.5,
        n_subsamples=20,
        stability_threshold=0.1,
        norm=2,
        scale_by_n=True,
        penalize_diagonal=True,
        assume_centered=False,
        standardize=False,
        screening=True,
        rho=1.0,
        max_iter=1000,
        tol=1e-5,
        random_state=None,
        n_jobs=None,
    ):
        self.penalty = penalty
        self.alphas_l1 = alphas_l1
        self.alphas_joint = alphas_joint
        self.selection = selection
        self.cv = cv
        self.ebic_gamma = ebic_gamma
        self.n_subsamples = n_subsamples
        self.stability_threshold = stability_threshold
        self.norm = norm
        self.scale_by_n = scale_by_n
        self.penalize_diagonal = penalize_diagonal
        self.assume_centered = assume_centered
        self.standardize = standardize
        self.screening = screening
        self.rho = rho
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, groups=None):
        """Choose the penalties, and estimate the networks of all groups with them.

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
        samples = self._samples(rows, groups)
        if len(samples.n) < 2 and self.penalty == "perturbed":
            raise ValueError(
                f"penalty='perturbed' compares networks: it needs at least 2 groups, got "
                f"{len(samples.n)}."
            )
        self._set_grids(samples)
        choose = {"cv": self._by_cv, "ebic": self._by_ebic, "stability": self._by_stability}
        with FitProgress(self, None, rows, step_name="part") as progress:
            i, j = choose[self.selection](rows, groups, samples, progress.step)
            self.alpha_l1_, self.alpha_joint_ = (
                float(self.alphas_l1_[i]),
                float(self.alphas_joint_[j]),
            )
            solution = self._solve(samples, self.alpha_l1_, self.alpha_joint_)
            progress.step()
        warn_unless_converged(solution, self.max_iter, stacklevel=4)
        return self._keep(samples, solution)

    def fit_covariances(self, covariances, n_samples):
        """Raise: choosing penalties takes rows.

        Parameters
        ----------
        covariances : array-like
            Not used.
        n_samples : array-like
            Not used.

        Returns
        -------
        self : object
            Never.
        """
        raise NotImplementedError("Choosing penalties needs rows; covariances are not enough.")

    def _samples(self, rows, groups):
        return by_group(
            rows, groups, assume_centered=self.assume_centered, standardize=self.standardize
        )

    def _set_grids(self, samples):
        scale = float(samples.n.mean()) if self.scale_by_n else 1.0
        if isinstance(self.alphas_l1, Integral):
            self.alphas_l1_ = default_lam1s(samples, self.alphas_l1, scale)
        else:
            self.alphas_l1_ = self._grid(self.alphas_l1, "alphas_l1")
        if isinstance(self.alphas_joint, Integral):
            lowest = self.alphas_l1_[-1]
            self.alphas_joint_ = default_lam2s(
                samples, self.penalty, self.norm, lowest, self.alphas_joint, scale
            )
        else:
            self.alphas_joint_ = self._grid(self.alphas_joint, "alphas_joint")

    def _grid(self, values, name):
        values = np.unique(check_array(values, ensure_2d=False, dtype=np.float64))[::-1]
        if values[-1] < 0:
            raise ValueError(f"{name} must hold values >= 0, got {values[-1]!r}.")
        return values

    def _solve(self, samples, alpha_l1, alpha_joint, start=None):
        problem = network_problem(
            samples.S,
            samples.n,
            self.penalty,
            alpha_l1,
            alpha_joint,
            norm=self.norm,
            scale_by_n=self.scale_by_n,
            penalize_diagonal=self.penalize_diagonal,
        )
        return joint_graphical_lasso(
            problem,
            Settings(self.rho, self.tol, self.max_iter),
            start=start,
            screening=self.screening,
            n_jobs=self.n_jobs,
        )

    def _path(self, samples):
        """Yield (i, j, solution) over the grid, each started from its neighbour."""
        first, unfinished = None, 0
        for i, alpha_l1 in enumerate(self.alphas_l1_):
            state = first
            for j, alpha_joint in enumerate(self.alphas_joint_):
                solution = self._solve(samples, alpha_l1, alpha_joint, state)
                unfinished += not solution.converged
                state = solution.state
                first = state if j == 0 else first
                yield i, j, solution
        if unfinished:
            warnings.warn(
                f"{unfinished} of the {self.alphas_l1_.size * self.alphas_joint_.size} fits of a "
                f"path did not converge in {self.max_iter} iterations; the last duality gap is "
                f"{solution.duality_gap:.3g}.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _by_cv(self, rows, groups, samples, after_part):
        splits = list(check_cv(self.cv, groups, classifier=True).split(rows, groups))
        scores = np.empty((len(splits), len(self.alphas_l1_), len(self.alphas_joint_)))
        for number, (train, test) in enumerate(splits):
            fold = self._samples(rows[train], groups[train])
            if len(fold.n) != len(samples.n) or len(np.unique(groups[test])) != len(samples.n):
                raise ValueError(f"Fold {number} lacks rows of some group: use fewer folds.")
            S = np.array(
                [
                    self._held_out(fold, k, rows[test][groups[test] == label])
                    for k, label in enumerate(fold.labels)
                ]
            )
            for i, j, solution in self._path(fold):
                scores[number, i, j] = gaussian_score(S, solution.precisions).sum()
            after_part()
        mean = scores.mean(axis=0)
        self.cv_results_ = {"mean_test_score": mean, "std_test_score": scores.std(axis=0)}
        self.cv_results_ |= {f"split{k}_test_score": part for k, part in enumerate(scores)}
        return np.unravel_index(np.argmax(mean), mean.shape)

    def _held_out(self, fold, k, part):
        part = (part - fold.locations[k]) / fold.scales[k]
        return part.T @ part / len(part)

    def _by_ebic(self, rows, groups, samples, after_part):
        shape, p = (len(self.alphas_l1_), len(self.alphas_joint_)), samples.S.shape[-1]
        criterion, n_edges = np.empty(shape), np.empty(shape)
        for i, j, solution in self._path(samples):
            edges = np.count_nonzero(without_diagonals(solution.precisions), axis=(1, 2)) / 2
            fit = -samples.n * gaussian_score(samples.S, solution.precisions)
            # the price of an edge, of its own n in each network
            price = np.log(samples.n) + 4.0 * self.ebic_gamma * np.log(p)
            criterion[i, j], n_edges[i, j] = (fit + edges * price).sum(), edges.sum()
            after_part()
        self.cv_results_ = {"ebic": criterion, "n_edges": n_edges}
        return np.unravel_index(np.argmin(criterion), shape)

    def _by_stability(self, rows, groups, samples, after_part):
        rng = check_random_state(self.random_state)
        shape, (K, p) = (len(self.alphas_l1_), len(self.alphas_joint_)), samples.S.shape[:2]
        edges, nodes = np.zeros((*shape, K, p, p)), np.zeros((*shape, p))
        for _ in range(self.n_subsamples):
            kept = np.concatenate(
                [self._half(np.flatnonzero(groups == label), rng) for label in samples.labels]
            )
            half = self._samples(rows[kept], groups[kept])
            for i, j, solution in self._path(half):
                edges[i, j] += without_diagonals(solution.precisions) != 0
                nodes[i, j, self._nodes_of(solution)[1]] += 1
            after_part()
        edges /= self.n_subsamples
        upper = np.triu_indices(p, 1)
        share = edges[..., upper[0], upper[1]]
        # twice the variance of an edge's presence in a half
        instability = (2.0 * share * (1.0 - share)).mean(axis=(2, 3)) if p > 1 else np.zeros(shape)
        n_edges = share.sum(axis=(2, 3))
        self.cv_results_ = {"instability": instability, "n_edges": n_edges}
        accepted = instability <= self.stability_threshold
        if not accepted.any():
            raise ValueError(
                f"No penalties give an instability of at most {self.stability_threshold}: the "
                f"smallest is {instability.min():.3g}. Add larger values to alphas_l1 "
                "or alphas_joint."
            )
        i, j = np.unravel_index(np.argmax(np.where(accepted, n_edges, -1.0)), shape)
        self.edge_frequencies_ = edges[i, j]
        self.node_frequencies_ = nodes[i, j] / self.n_subsamples
        return i, j

    def _half(self, members, rng):
        return rng.choice(members, max(2, len(members) // 2), replace=False)

    def _nodes_of(self, solution):
        """Return column norms and the nodes that stand out, as the penalty understands them."""
        how = "any" if self.penalty in ("perturbed", "fused") else "all"
        if solution.V is not None:
            norms = column_norms(without_diagonals(solution.V), 2)
        else:
            of = "differences" if self.penalty == "fused" else "networks"
            norms = network_column_norms(solution.precisions, of=of)
        found = detect_nodes(norms, how=how) if len(norms) else np.empty(0, dtype=np.intp)
        return norms, found

    def _keep_nodes(self, solution):
        self.column_norms_, self.nodes_ = self._nodes_of(solution)
        self.node_scores_ = np.sqrt((self.column_norms_**2).sum(axis=0))
        if solution.V is not None:
            self.V_ = solution.V
