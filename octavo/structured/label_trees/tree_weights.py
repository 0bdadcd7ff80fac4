"""How the weights of trees, or of the pairs in them, follow the machine that is trained on them.

Three rules. ``"edges"`` keeps weights of pairs only and multiplies each by the root of its gamma,
as far as mixtures of trees allow: for given functions of the pairs that minimises the primal.
``"closed"`` keeps trees and does the same with their upsilon (Eq. 4.16). Both take longer steps,
by a higher power, for as long as what the weights leave open falls. ``"thesis"`` is Algorithm 7:
exponential weights, with trees added and dropped.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.graphs.spanning import maximum_forest
from octavo.structured.label_trees.parities import LabelPairs
from octavo.structured.label_trees.tree_polytope import closed_step

DROPPED = 1e-3  # Algorithm 7: a tree below this weight that violates nothing goes
DAMPING = 0.5


class TreeMixture(NamedTuple):
    """Spanning trees with weights, and what they give to the pairs.

    Attributes
    ----------
    n_labels : int
        Labels.
    edge_weights : ndarray of shape (n_pairs,)
        Sum of the weights of the trees that have a pair.
    trees : tuple of ndarray of shape (n_labels - 1, 2)
        Trees, where they are kept.
    weights : ndarray of shape (n_trees,)
        Their weights, which sum to one.
    """

    n_labels: int
    edge_weights: Floats
    trees: tuple[Indices, ...]
    weights: Floats


def pair_numbers(tree: Indices, n: int) -> Indices:
    """Return the places of a tree's edges among all pairs."""
    i, j = tree[:, 0], tree[:, 1]
    return i * (2 * n - i - 1) // 2 + j - i - 1


def mixture_of(n: int, trees: tuple[Indices, ...], weights: Floats) -> TreeMixture:
    """Return a mixture of explicit trees."""
    edge_weights = np.zeros(n * (n - 1) // 2)
    for tree, weight in zip(trees, weights):
        edge_weights[pair_numbers(tree, n)] += weight
    return TreeMixture(n, edge_weights, trees, np.asarray(weights, dtype=np.float64))


def next_mixture(
    mixture: TreeMixture, norms: Floats, pairs: LabelPairs, update: str, power: float, tol: float
) -> TreeMixture:
    """Return the mixture after one step of its weights.

    Parameters
    ----------
    mixture : TreeMixture
        As it was.
    norms : ndarray of shape (n_pairs,)
        gamma_e.
    pairs : LabelPairs
        The pairs.
    update : {"edges", "closed", "thesis"}
        The rule.
    power : float
        Of the norms, by which weights are multiplied; one half is the closed form.
    tol : float
        What the fit aims at: weights far below it do not matter.

    Returns
    -------
    TreeMixture
        With other weights.
    """
    n = mixture.n_labels
    if update == "edges":
        new = closed_step(mixture.edge_weights, norms, pairs.first, pairs.second, n, power)
        share = min(0.05 * tol, 0.01)  # no pair is lost for good: each is in 2/n of all trees
        return TreeMixture(n, (1.0 - share) * new + share * 2.0 / n, (), np.empty(0))
    table = np.zeros((n, n))
    table[pairs.first, pairs.second] = table[pairs.second, pairs.first] = norms
    heaviest = maximum_forest(table)
    return _explicit_step(mixture, norms, heaviest, update, power)


def _explicit_step(
    mixture: TreeMixture, norms: Floats, heaviest: Indices, update: str, power: float
) -> TreeMixture:
    """Return the mixture after a step of trees' weights, with the heaviest tree in it."""
    n, trees, weights = mixture.n_labels, list(mixture.trees), mixture.weights
    # υ_T = Σ_{e in T} γ_e
    upsilon = np.array([norms[pair_numbers(tree, n)].sum() for tree in trees])
    top = norms[pair_numbers(heaviest, n)].sum()  # υ_{T*}
    known = [set(pair_numbers(tree, n).tolist()) for tree in trees]
    is_new = set(pair_numbers(heaviest, n).tolist()) not in known
    if not top > 0.0:
        return mixture
    if update == "closed":
        # λ_T √υ_T at power ½, Eq. (4.16)
        weights = weights * (np.maximum(upsilon, 0.0) / top) ** power
    else:
        # Algorithm 7: T goes where υ_T and λ_T are both small
        stay = (upsilon >= (weights @ upsilon)) | (weights >= DROPPED)
        trees, weights, upsilon = (
            [t for t, s in zip(trees, stay) if s],
            weights[stay],
            upsilon[stay],
        )
        if not is_new:
            # Algorithm 7: λ_T exp(√υ_T), scaled by the largest
            ahead = weights * np.exp(np.sqrt(np.maximum(upsilon, 0.0)) - np.sqrt(top))
            weights = DAMPING * weights / weights.sum() + (1 - DAMPING) * ahead / ahead.sum()
    weights = weights / weights.sum()
    if is_new:
        # Algorithm 7: the new tree enters with 1 / |T|
        weights = np.append(weights, 1.0 / max(len(trees), 1))
        trees.append(heaviest)
    weights = weights / weights.sum()
    if update == "closed":
        stay = weights > 1e-6 * weights.max()
        trees, weights = [t for t, s in zip(trees, stay) if s], weights[stay] / weights[stay].sum()
    return mixture_of(n, tuple(trees), weights)
