"""Margin machines over mixtures of spanning trees: dual steps and steps of the pairs' weights.

The primal (Definition 3) is 1/2 (sum_T |w_T|)^2 + C sum of slacks. For weights lambda of the pairs
that some mixture of trees has, it is 1/2 sum_e |w_e|^2 / lambda_e' + C sum of slacks, lambda' =
lambda over the number of a tree's parts, and its dual (Definition 5) is sum of alpha loss - 1/2
max_T upsilon_T(alpha). Rounds alternate between steps of block-coordinate Frank-Wolfe for fixed
weights (Section 4.4.6) and steps of the weights. Every round has a primal value and a dual bound;
their difference is what the machine's own dual leaves open plus half of how much the heaviest
spanning tree under gamma is heavier than the mixture.

Reference: S. Cousins (thesis, University College London), Sections 4.4.3 to 4.4.8, with the
printed block updates of potentials and losses corrected: F loses beta k(x_k, .) D(e, u), the mean
loss moves by beta (C loss(y*) - mean loss).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from octavo.engine.duals.block_frank_wolfe import (
    add_vertices,
    marginal_pass,
    new_store,
    vertex_passes,
)
from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.graphs.spanning import maximum_forest, random_tree
from octavo.structured.label_trees.decoding import decode
from octavo.structured.label_trees.parities import (
    LabelPairs,
    edge_norms,
    label_pairs,
    parities,
    parity_weights,
)
from octavo.structured.label_trees.tree_weights import TreeMixture, mixture_of, next_mixture

Rows = np.ndarray
GROW, SHRINK, LARGEST = 1.5, 3.0, 64.0  # of the power in steps of the weights
EAGER = 0.2  # weights move where they leave at least this share of what the alphas leave open
BATCH = 64  # rows that are searched at once


class Margins(NamedTuple):
    """The fixed parts of a problem.

    Attributes
    ----------
    K : ndarray of shape (n_samples, n_samples)
        Kernel of the rows.
    Y : ndarray of shape (n_samples, n_labels)
        0 and 1.
    C : float
        Price of a unit of slack.
    loss : {"hamming", "zero_one"}
        What a wrong label set costs; Hamming as a share of the labels.
    k_best : int or "auto"
        Lists of the loss-augmented search.
    node_potentials : bool
        Whether labels have functions of their own beside those of pairs.
    """

    K: Floats
    Y: Rows
    C: float
    loss: str
    k_best: int | str
    node_potentials: bool


class TreeMachine(NamedTuple):
    """What training ends with.

    Attributes
    ----------
    moments : ndarray of shape (n_samples, n_parities)
        D: scores are weights · (K D) · parities.
    mixture : TreeMixture
        Weights of pairs, and trees where they are explicit.
    objective : float
        The primal.
    gap : float
        How far it may be above the optimum.
    objectives, gaps : list of float
        After each round.
    n_trees : list of int
        Trees in the mixture at each round.
    converged : bool
        Whether the gap is as small as asked for.
    """

    moments: Floats
    mixture: TreeMixture
    objective: float
    gap: float
    objectives: list[float]
    gaps: list[float]
    n_trees: list[int]
    converged: bool


class Worst(NamedTuple):
    """The loss-augmented search of all rows."""

    labels: Rows
    losses: Floats
    slacks: Floats  # an upper bound on each row's slack, at least 0
    squares: Floats  # of each parity's function


def losses_of(Y: Rows, labels: Rows, loss: str) -> Floats:
    """Return what label sets cost where Y is right."""
    wrong = np.asarray(Y) != labels
    # Δ of Section 4.4.3
    return wrong.mean(axis=1) if loss == "hamming" else wrong.any(axis=1).astype(np.float64)


def augmented(coefficients: Floats, Y: Rows, loss: str) -> tuple[Floats, float, float]:
    """Return coefficients with the loss in them, a constant that goes with it, and a bonus.

    The share of wrong labels is 1/2 - sum of s_i s_i(true) / 2l: terms of single labels.
    """
    if loss == "zero_one":
        return coefficients, 0.0, 1.0
    n = Y.shape[1]
    coefficients = coefficients.copy()
    coefficients[:, :n] -= (2.0 * Y - 1.0) / (2.0 * n)  # (1/l) 1[y ≠ y_k] = 1/(2l) - s s_k / (2l)
    return coefficients, 0.5, 0.0


def worst_label_sets(problem: Margins, weights: Floats, G: Floats, rows: Indices) -> Worst:
    """Find for each row the label set with the largest score plus loss."""
    pairs = label_pairs(problem.Y.shape[1])
    Y = problem.Y[rows]
    plain = G * weights
    coefficients, constant, bonus = augmented(plain, Y, problem.loss)
    found = decode(coefficients, pairs, problem.k_best, bonus=bonus, truth=Y)
    own = np.einsum("kf,kf->k", plain, parities(Y, pairs))
    # bounds, not values: a slack that decoding missed stays in the primal
    slacks = np.maximum(found.bounds + constant - own, 0.0)
    losses = losses_of(Y, found.labels, problem.loss)
    return Worst(found.labels, losses, slacks, np.empty(0))


class _State:
    """Moments, masses and the bounds that go with them."""

    def __init__(self, problem: Margins, form: str, seed: np.random.RandomState) -> None:
        self.problem, self.form, self.random = problem, form, seed
        self.pairs: LabelPairs = label_pairs(problem.Y.shape[1])
        self.truth = parities(problem.Y, self.pairs)
        m, p = self.truth.shape
        self.D = np.zeros((m, p))
        self.mean_losses = np.zeros(m)
        self.store = new_store(self.truth, problem.C) if form == "dual" else None

    def look(self, weights: Floats) -> tuple[Worst, float, float]:
        """Return the worst label sets, the primal value and the machine's own dual value."""
        G = self.problem.K @ self.D
        squares = np.einsum("kf,kf->f", self.D, G)  # αᵀ K α of each parity
        worst = worst_label_sets(self.problem, weights, G, np.arange(len(self.D)))
        worst = worst._replace(squares=squares)
        half = 0.5 * float(weights @ squares)
        primal = half + self.problem.C * float(worst.slacks.sum())  # Definition 3 at these weights
        return worst, primal, self.total_loss() - half

    def total_loss(self) -> float:
        """Return the sum of alpha times loss."""
        if self.store is None:
            return float(self.mean_losses.sum())
        return float(np.sum(self.store.alpha * self.store.losses))

    def improve(self, weights: Floats, worst: Worst, n_passes: int, tol: float) -> None:
        """Take dual steps for fixed weights, `n_passes` visits of each row."""
        order = self.random.permutation(len(self.D))
        if self.store is not None:
            vertices = parities(worst.labels, self.pairs)
            self.store = add_vertices(self.store, np.arange(len(order)), vertices, worst.losses)
        for start in range(0, len(order), BATCH):
            self._search_and_step(weights, order[start : start + BATCH], tol)
        for _ in range(n_passes - 1):
            order = self.random.permutation(len(self.D))
            if self.store is not None:
                vertex_passes(self.problem.K, weights, self.D, self.store, order, tol)
                continue
            for start in range(0, len(order), BATCH):
                self._search_and_step(weights, order[start : start + BATCH], tol)

    def _search_and_step(self, weights: Floats, rows: Indices, tol: float) -> None:
        """Search the worst label sets of some rows, for one product with K, and step to them."""
        problem = self.problem
        found = worst_label_sets(problem, weights, problem.K[rows] @ self.D, rows)
        vertices = parities(found.labels, self.pairs)
        if self.store is not None:
            self.store = add_vertices(self.store, rows, vertices, found.losses)
            vertex_passes(problem.K, weights, self.D, self.store, rows, tol)
            return
        marginal_pass(
            problem.K,
            weights,
            self.D,
            self.mean_losses,
            problem.C,
            self.truth,
            rows,
            vertices,
            found.losses,
        )


def tree_bound(norms: Floats, squares: Floats, pairs: LabelPairs, node_potentials: bool) -> float:
    """Return max_T upsilon_T: the heaviest spanning tree under gamma, over its number of parts."""
    n = pairs.n_labels
    table = np.zeros((n, n))
    table[pairs.first, pairs.second] = table[pairs.second, pairs.first] = norms
    edges = maximum_forest(table)
    # max_T υ_T by one maximum spanning tree
    heaviest = float(table[edges[:, 0], edges[:, 1]].sum())
    if node_potentials:
        return (heaviest + 0.5 * float(squares[:n].sum())) / (2 * n - 1)
    return heaviest / (n - 1)


def train(
    problem: Margins,
    mixture: TreeMixture,
    *,
    update: str | None,
    max_outer: int,
    inner_factor: int,
    tol: float,
    random: np.random.RandomState,
    form: str = "dual",
    on_round: Callable[[], bool] = lambda: False,
) -> TreeMachine:
    """Train a machine over a mixture of spanning trees, and the mixture with it.

    Parameters
    ----------
    problem : Margins
        Kernel, labels, loss.
    mixture : TreeMixture
        To begin with.
    update : {"edges", "closed", "thesis"} or None
        How the mixture moves; None keeps it, and the optimum is that of fixed weights.
    max_outer : int
        Most rounds.
    inner_factor : int
        Visits of each row in a round.
    tol : float
        Gap to stop at, relative to the primal value.
    random : RandomState
        Draws the order of visits.
    form : {"dual", "marginal"}, default="dual"
        Whether to keep the label sets that were met, or only their moments.
    on_round : callable
        Called after each round; True ends the training.

    Returns
    -------
    TreeMachine
        The last round's machine, or the best one's where the mixture may get worse.
    """
    state = _State(problem, form, random)
    best_dual, objectives, gaps, n_trees = -np.inf, [], [], []
    power, last_kkt = (
        0.5,
        np.inf,
    )  # a step of one half is the closed form; longer ones while they help
    kept: tuple[float, Floats, TreeMixture] = (np.inf, np.empty(0), mixture)
    pairs, nodes = state.pairs, problem.node_potentials
    for outer in range(max_outer + 1):
        weights = parity_weights(mixture.edge_weights, pairs, nodes)
        worst, primal, dual = state.look(weights)
        norms = edge_norms(worst.squares, pairs)
        if update is None:
            bound = dual
        else:
            heaviest = tree_bound(norms, worst.squares, pairs, nodes)
            bound = state.total_loss() - 0.5 * heaviest  # Definition 5
        best_dual = max(best_dual, bound)
        if primal < kept[0]:
            kept = primal, state.D.copy(), mixture
        objectives.append(kept[0])
        gaps.append(max(kept[0] - best_dual, 0.0))  # best primal less best dual, of whatever rounds
        n_trees.append(len(mixture.trees))
        # υ_{T*} - Σ λ_T υ_T, halved: the gap that weights leave
        kkt = dual - bound if update is not None else 0.0
        if gaps[-1] <= tol * abs(kept[0]) or outer == max_outer or on_round():
            break
        inner_gap = primal - dual
        if update is not None and 0.0 < kkt >= EAGER * inner_gap:
            power = min(power * GROW, LARGEST) if kkt <= last_kkt else max(power / SHRINK, 0.5)
            last_kkt = kkt
            mixture = next_mixture(mixture, norms, pairs, update, power, tol)
            weights = parity_weights(mixture.edge_weights, pairs, nodes)
        state.improve(weights, worst, inner_factor, 0.05 * inner_gap / (problem.C * len(state.D)))
    primal, moments, mixture = kept
    converged = gaps[-1] <= tol * abs(primal)
    return TreeMachine(
        moments, mixture, primal, gaps[-1], objectives, gaps, n_trees, bool(converged)
    )


def starting_mixture(n: int, n_trees: int, random: np.random.RandomState) -> TreeMixture:
    """Return random spanning trees of equal weight."""
    trees = tuple(random_tree(n, random) for _ in range(n_trees))
    return mixture_of(n, trees, np.full(n_trees, 1.0 / n_trees))
