"""HC-Search: one learned function guides the search, another picks the answer.

Section 7 of Doppa, Fern and Tadepalli (2014) names it; J. R. Doppa, A. Fern and P. Tadepalli
(2014), "HC-Search: A Learning Framework for Search-based Structured Prediction", Journal of
Artificial Intelligence Research 50.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.estimators.progress import FitProgress
from octavo.structured.output_search.cost_learning import (
    Imitation,
    RankingExamples,
    RankLearner,
    learn_cost,
    machine_weights,
)
from octavo.structured.output_search.estimator import OutputSpaceSearchClassifier
from octavo.structured.output_search.evaluation import CostField
from octavo.structured.output_search.procedures import (
    OutputSearch,
    SelectingSearch,
    step_budget,
)
from octavo.structured.output_search.rollouts import Training
from octavo.structured.output_search.space import Space, Successors

__all__ = ["HCSearchClassifier"]


class _Collector:
    """An evaluation that keeps every output that it is asked about."""

    def __init__(self, guide: Any) -> None:
        self.guide = guide
        self.outputs: dict[bytes, Ints] = {}

    def of(self, labels: Ints) -> float:
        """Return the guide's value of an output."""
        self.outputs.setdefault(labels.tobytes(), labels.copy())
        return self.guide.of(labels)

    def of_successors(self, labels: Ints, value: float, found: Successors) -> Floats:
        """Return the guide's values of neighbours."""
        for row in found.outputs(labels):
            self.outputs.setdefault(row.tobytes(), row)
        return self.guide.of_successors(labels, value, found)


class HCSearchClassifier(OutputSpaceSearchClassifier):
    """Label sequences or grids with a heuristic that guides the search and a cost that chooses.

    A single cost must both lead to good outputs and recognise the best of them. Here a
    heuristic H is learned by imitating the loss-guided search; then a cost C is learned to
    prefer the best of all outputs that a search guided by H generates. The remaining loss falls
    apart into that of generation (H) and of selection (C): see `search_report`.

    Parameters
    ----------
    base_classifier : classifier, optional
        Classifier of single cells, or a `RecurrentClassifier`; a perceptron by default.
    space : {"lds", "flipbit"}, default="lds"
        Corrections: force one label and roll out again behind it, or change one label.
    sparse_k : int, optional
        Try only so many labels per cell; all by default.
    search : {"greedy", "beam", "breadth"}, default="greedy"
        Keep one output; keep several and expand the best of them; or expand all of them.
    beam_width : int, default=1
        Outputs that a beam keeps.
    n_steps : "length" or int, default="length"
        Search steps.
    time_budget : float, optional
        Seconds per structure after which prediction stops searching.
    feature_order : int, default=2
        Both functions count runs of up to ``feature_order + 1`` neighbouring labels.
    history : int, default=1
        Labels before a cell that the recurrent classifier sees.
    structure : {"sequence", "grid"}, default="sequence"
        Whether X holds (T, d) or (height, width, d) arrays.
    loss : {"hamming", "f1"} or callable, default="hamming"
        As in `OutputSpaceSearchClassifier`.
    rank_learner : {"pa", "pa-slack", "perceptron", "svm"}, default="pa"
        How ranks are learned.
    n_epochs : int, default=50
        Passes over the ranking examples of each function.
    imitation : {"exact", "dagger"}, default="exact"
        How the heuristic is learned.
    dagger_rounds : int, default=5
        Rounds of "dagger".
    cv_rollouts : "auto" or int, default="auto"
        Folds by which classifiers make training states of structures that they have not seen.
    tie_break : {"random", "cost"}, default="random"
        How the loss-guided search chooses among equal losses.
    validation_fraction : float, default=0.1
        Share of structures that judges the rounds of "dagger".
    random_state : int, RandomState instance or None, default=None
        Source of randomness.
    n_jobs : int, default=None
        Threads among which structures are shared in prediction.
    skip_visited : bool, default=False
        Whether greedy search refuses outputs that it has been at.
    outside : hashable, optional
        For ``loss="f1"``: the label of what is no segment.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        The labels.
    recurrent_ : RecurrentClassifier
        Fitted; its output is where search starts.
    heuristic_coef_ : ndarray
        Weights of the heuristic, in the order of `joint_features`.
    cost_coef_ : ndarray
        Weights of the cost that chooses.
    ranking_examples_ : int
        Pairs of outputs that both were learned from.
    ranking_errors_ : ndarray
        Ranking errors of the heuristic met in each pass.
    imitation_error_, recurrent_error_, target_depth_ : float
        As in `OutputSpaceSearchClassifier`.
    n_features_in_ : int
        Number of features of a cell.

    See Also
    --------
    OutputSpaceSearchClassifier : One function for both.

    Notes
    -----
    Do not use it where a search report shows no selection loss: one function is then enough and
    trains in half the time. scikit-learn has no model of structured outputs.

    References
    ----------
    .. [1] J. R. Doppa, A. Fern and P. Tadepalli (2014). "HC-Search: A Learning Framework for
       Search-based Structured Prediction". Journal of Artificial Intelligence Research 50.

    Examples
    --------
    >>> from octavo.data import make_high_order_markov
    >>> from octavo.structured import HCSearchClassifier
    >>> X, y = make_high_order_markov(60, order=2, sigma=0.5, random_state=0)
    >>> model = HCSearchClassifier(n_epochs=10, random_state=0).fit(X[:40], y[:40])
    >>> round(model.score(X[40:], y[40:]), 2)
    0.58
    """

    def _learn(self, training: Training, rng: Any, progress: FitProgress) -> None:
        options = (self.search, self.beam_width, self.skip_visited)
        found = learn_cost(
            training,
            rng,
            rule=self.rank_learner,
            n_epochs=self.n_epochs,
            rounds=self.dagger_rounds if self.imitation == "dagger" else 0,
            tie_break=self.tie_break,
            validation_fraction=self.validation_fraction,
            search=options,
            n_steps=self.n_steps,
            step=progress.step,
        )
        self.heuristic_coef_ = found.weights
        imitation = Imitation(training, rng, search=options, n_steps=self.n_steps)
        examples = self._generated(imitation)
        self.cost_coef_ = np.zeros(training.n_weights)
        if examples.parts and self.rank_learner == "svm":
            self.cost_coef_ = machine_weights(training, examples, rng)
        elif examples.parts:
            learner = RankLearner(training.field, training.n_weights, self.rank_learner)
            arrays = examples.arrays()
            for _ in range(self.n_epochs):
                if learner.one_pass(arrays, rng) == 0:
                    break
            self.cost_coef_ = learner.mean
        self.ranking_examples_ = found.n_pairs + examples.n_pairs
        self.ranking_errors_ = found.errors

    def _generated(self, imitation: Imitation) -> RankingExamples:
        """Return that the best of all outputs met by the heuristic must cost least."""
        training, examples = imitation.training, RankingExamples()
        starts = training.cells.starts
        for q in range(training.cells.lengths.size):
            guide = _Collector(training.field.evaluation(q, self.heuristic_coef_))
            run = OutputSearch(training.space, q, guide, *imitation.search)
            run.run(step_budget(self.n_steps, int(starts[q + 1] - starts[q])))
            outputs = np.array(list(guide.outputs.values()))
            expert = training.expert(q)
            losses = np.array([expert.of(row) for row in outputs])
            # the best output that the heuristic uncovered: the cost can choose no other
            base = outputs[int(np.argmin(losses))]
            row, cell = np.nonzero(outputs != base)
            counts = np.bincount(row, minlength=len(outputs))
            found = Successors(
                np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
                cell.astype(np.int64),
                outputs[row, cell],
            )
            # it must cost less than each of them
            examples.recorder(starts[q])(base, found, losses == losses.min(), losses)
        return examples

    def start_search(self, space: Space, field: CostField, q: int) -> OutputSearch:
        """Return the search in one structure, at its start.

        Parameters
        ----------
        space : Space
            Of prediction.
        field : CostField
            What both functions are computed from.
        q : int
            Which structure.

        Returns
        -------
        search : OutputSearch
            Not a step taken.
        """
        return SelectingSearch(
            space,
            q,
            field.evaluation(q, self.heuristic_coef_),
            field.evaluation(q, self.cost_coef_),
            self.search,
            self.beam_width,
            self.skip_visited,
        )

    def heuristic(self, X: Any, y: Any, *, lengths: ArrayLike | None = None) -> Floats:
        """Return the learned heuristic of given outputs.

        Parameters
        ----------
        X : sequences or grids
            Observations.
        y : labels
            Outputs, of labels known from training.
        lengths : array-like of int, optional
            Lengths of the sequences of a stacked X.

        Returns
        -------
        heuristic : ndarray of shape (n_structures,)
            Smaller is searched first.
        """
        return self._costs(X, y, lengths, getattr(self, "heuristic_coef_", None))
