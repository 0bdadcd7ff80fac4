"""DTSL (Algorithm 1): a probability tree for each variable, its paths as features, weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed

from octavo.engine.estimators.arrays import Ints
from octavo.graphical.log_linear.conjunctions import Feature, canonical_set
from octavo.graphical.log_linear.pseudo_likelihood import (
    FeaturePlan,
    WeightedRows,
    plan_features,
)
from octavo.graphical.log_linear.state_codes import Codes
from octavo.graphical.log_linear.trees import (
    SplitTree,
    closed_tree,
    features_of_tree,
    grow_tree,
    leaf_log_probabilities,
    leaf_of,
    most_conditions,
    nonzero_rows,
    split_cost,
)
from octavo.graphical.log_linear_learners.learning import Step, Tuning, choose_weight_sd

__all__: list[str] = []

KAPPAS = (1.0, 0.1, 0.01, 0.001, 0.0001)  # Section 7.1
FEATURE_METHODS = ("default", "prune", "prune-10", "prune-5", "nonzero")


class TreeChoice(NamedTuple):
    """What tuning chose, with the held-out scores that it saw."""

    kappa: float
    method: str
    weight_sd: float
    score: float
    scores: dict[Any, float]


def grow_trees(
    rows: WeightedRows,
    kappa: float,
    leaf_prior: float,
    min_samples_leaf: int,
    n_jobs: int | None = None,
    step: Step | None = None,
) -> list[SplitTree]:
    """Grow the tree of every variable."""
    listed = nonzero_rows(rows.codes, rows.weights, rows.cardinalities)

    def one(target: int) -> SplitTree:
        tree = grow_tree(listed, target, kappa, leaf_prior, min_samples_leaf)
        if step is not None:
            step()
        return tree

    targets = range(len(rows.cardinalities))
    return Parallel(n_jobs=n_jobs, prefer="threads")(delayed(one)(k) for k in targets)


def closed_trees(trees: Sequence[SplitTree], kappa: float, cardinalities: Ints) -> list[SplitTree]:
    """Return the trees of a smaller κ."""
    return [closed_tree(t, split_cost(kappa, int(cardinalities[t.target]))) for t in trees]


def tree_score(trees: Sequence[SplitTree], codes: Codes, leaf_prior: float) -> float:
    """Return the mean log-probability of all cells, each by the tree of its variable."""
    total = 0.0
    for tree in trees:
        logs = leaf_log_probabilities(tree, leaf_prior)
        total += float(logs[leaf_of(tree, codes), codes[:, tree.target]].sum())
    return total / codes.size


def choose_kappa(
    trees: Sequence[SplitTree],
    held_out: Codes,
    kappas: Sequence[float],
    leaf_prior: float,
    cardinalities: Ints,
) -> tuple[float, list[SplitTree], dict[float, float]]:
    """Choose κ by the held-out log-likelihood of all trees together (Section 7.1)."""
    scores: dict[float, float] = {}
    best: tuple[float, list[SplitTree]] = (kappas[0], list(trees))
    for kappa in kappas:
        closed = closed_trees(trees, kappa, cardinalities)
        scores[kappa] = tree_score(closed, held_out, leaf_prior)
        if scores[kappa] >= max(scores.values()):
            best = kappa, closed
    return best[0], best[1], scores


def tree_plan(
    trees: Sequence[SplitTree], method: str, cardinalities: Ints, loose: Sequence[Feature] = ()
) -> FeaturePlan:
    """Lay out the features of trees, and others beside them, for learning weights."""
    if method == "nonzero":  # its features hang on no tree any more
        made = [f for tree in trees for f in features_of_tree(tree, method, cardinalities)]
        every = canonical_set([*made, *loose], cardinalities)
        return plan_features([], "default", every, cardinalities)
    limit = most_conditions(method)
    if limit is not None:
        trees = [closed_tree(tree, max_depth=limit - 1) for tree in trees]
    return plan_features(trees, method, loose, cardinalities)


def choose_trees(
    tuning: Tuning,
    kappas: Sequence[float],
    methods: Sequence[str],
    weight_sd: Any,
    leaf_prior: float,
    min_samples_leaf: int,
) -> tuple[TreeChoice, list[SplitTree]]:
    """Choose κ by the trees, then features and prior by the pseudo-likelihood of held-out rows.

    Parameters
    ----------
    tuning : Tuning
        Rows.
    kappas, methods : sequence
        Candidates.
    weight_sd : "auto" or float
        Standard deviation of the prior.
    leaf_prior, min_samples_leaf
        Of trees.

    Returns
    -------
    choice : TreeChoice
        The best.
    trees : list of SplitTree
        Those of the chosen κ, on the training rows.
    """
    cards = tuning.train.cardinalities
    grown = grow_trees(
        tuning.train, max(kappas), leaf_prior, min_samples_leaf, tuning.n_jobs, tuning.step
    )
    kappa, trees, of_kappa = choose_kappa(grown, tuning.held_out, kappas, leaf_prior, cards)
    scores: dict[Any, float] = {("kappa", k): s for k, s in of_kappa.items()}
    best: TreeChoice | None = None
    known: dict[Feature, float] = {}  # ways to make features share most of them
    deepest = 1 + max(_depth(tree) for tree in trees)
    for method in methods:
        limit = most_conditions(method)
        if limit is not None and limit >= deepest and "prune" in methods:
            continue  # the same features as "prune"
        plan = tree_plan(trees, method, cards)
        sd, score, tried = choose_weight_sd(tuning, plan, weight_sd, known)
        scores |= {(method, s): value for s, value in tried.items()}
        if best is None or score > best.score:
            best = TreeChoice(kappa, method, sd, score, scores)
    assert best is not None
    return best, trees


def _depth(tree: SplitTree) -> int:
    depth = np.zeros(tree.variable.size, np.int64)
    for node, k in enumerate(tree.variable):
        if k >= 0:
            depth[tree.yes[node]] = depth[tree.no[node]] = depth[node] + 1
    return int(depth.max())
