"""Structured prediction by search among complete outputs with a learned cost.

A recurrent classifier proposes an output; search tries corrections; a cost learned from the
decisions of a search that knows the truth picks the best output found in the budget.

Reference: J. R. Doppa, A. Fern and P. Tadepalli (2014), "Structured Prediction via Output Space
Search", Journal of Machine Learning Research 15. Sections 3 (spaces), 4 (Algorithm 2, constraints,
rank learner) and 5.3 to 5.4 (beams, DAgger, orders, sparse spaces).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from octavo.engine.chains.label_sequences import classes_of, encode_labels
from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import HasMethods, Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.structured.output_search.cells import Cells, read_cells, read_labels
from octavo.structured.output_search.cost_learning import learn_cost
from octavo.structured.output_search.evaluation import CostField
from octavo.structured.output_search.features import n_joint_features
from octavo.structured.output_search.losses import StructureLoss
from octavo.structured.output_search.procedures import OutputSearch, State, step_budget
from octavo.structured.output_search.recurrent import RecurrentClassifier
from octavo.structured.output_search.rollouts import Training, training_space
from octavo.structured.output_search.space import Space

__all__ = ["OutputSpaceSearchClassifier"]


class OutputSpaceSearchClassifier(CallbackSupportMixin, ClassifierMixin, SoundEstimator):
    """Label sequences or grids by search among complete outputs with a learned cost.

    Search starts from the output of a recurrent classifier and tries corrections. What guides it
    and picks the answer is a cost w·Φ(x, y) of whole outputs, learned by imitating a search
    that is guided by the true loss. Any loss and label runs of any order can be used; an answer
    is there at any time, and more time makes it cheaper.

    Parameters
    ----------
    base_classifier : classifier, optional
        Classifier of single cells, or a `RecurrentClassifier`; a perceptron by default.
    space : {"lds", "flipbit"}, default="lds"
        Corrections: force one label and roll the classifier out again behind it (limited
        discrepancies), or change one label.
    sparse_k : int, optional
        Try only so many labels per cell, those that the classifier scores best besides the
        present one; all by default.
    search : {"greedy", "beam", "breadth"}, default="greedy"
        Keep one output; keep ``beam_width`` and expand the best of them; or expand all of them.
    beam_width : int, default=1
        Outputs that a beam keeps.
    n_steps : "length" or int, default="length"
        Search steps; by default as many as cells.
    time_budget : float, optional
        Seconds per structure after which prediction stops searching.
    feature_order : int, default=2
        The cost counts runs of up to ``feature_order + 1`` neighbouring labels.
    history : int, default=1
        Labels before a cell that the recurrent classifier sees.
    structure : {"sequence", "grid"}, default="sequence"
        Whether X holds (T, d) or (height, width, d) arrays.
    loss : {"hamming", "f1"} or callable, default="hamming"
        Wrong labels; 1 - F1 of segments (of BIO tags, or of runs of one label); or a function
        loss(y_true, y_pred) of the labels of one structure.
    rank_learner : {"pa", "pa-slack", "perceptron", "svm"}, default="pa"
        Passive-aggressive steps with margin √Δ; with margin 1 and errors that weigh Δ; averaged
        perceptron; or a linear support vector machine on all differences (small data).
    n_epochs : int, default=50
        Most passes over the ranking examples. From 20 structures on, some are held out to tell
        after how many to stop; then all are learned from with that many passes.
    imitation : {"exact", "dagger"}, default="exact"
        Learn on the states that the loss-guided search visits, or also on those that the
        learned cost visits.
    dagger_rounds : int, default=5
        Rounds of "dagger"; the one that is best on held-out structures is kept.
    cv_rollouts : "auto" or int, default="auto"
        Folds by which the classifier that makes training states is fitted on other structures
        than those; 0 for one classifier that has seen them all, as in the paper. "auto" is 5
        up to 2,000 structures, else 0.
    tie_break : {"random", "cost"}, default="random"
        How the loss-guided search chooses among equal losses: at random (for other losses than
        "hamming", among those with the fewest wrong labels), or by the cost learned so far, with
        trajectories made anew in every pass.
    validation_fraction : float, default=0.1
        Share of structures held out to choose the number of passes, and the round of "dagger".
    random_state : int, RandomState instance or None, default=None
        Source of randomness.
    n_jobs : int, default=None
        Threads among which structures are shared in prediction.
    skip_visited : bool, default=False
        Whether greedy search refuses outputs that it has been at. Beams always do.
    outside : hashable, optional
        For ``loss="f1"``: the label of what is no segment; None takes "O" or "outside" if there
        is such a label.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        The labels.
    recurrent_ : RecurrentClassifier
        Fitted; its output is where search starts.
    cost_coef_ : ndarray
        Weights of the cost, in the order of `joint_features`.
    ranking_examples_ : int
        Pairs of outputs that the cost was learned from.
    ranking_errors_ : ndarray
        Ranking errors met in each pass.
    imitation_error_ : float
        Share of training cells at which the classifier errs though all labels before are right.
    recurrent_error_ : float
        Share of training cells that the classifier gets wrong on its own.
    target_depth_ : float
        Mean number of discrepancies that lead to the true output. These three are measured with
        the classifiers that made the training states.
    n_features_in_ : int
        Number of features of a cell.

    See Also
    --------
    HCSearchClassifier : One function to guide the search, another to pick the answer.
    RecurrentClassifier : The classifier without search.
    search_report : Where the remaining loss comes from.

    Notes
    -----
    Sequences are a list of (T, d) arrays, or stacked rows with ``lengths``; answers have the form
    of what was given.

    Do not use it where exact inference is cheap and wanted: a linear-chain or high-order field
    (`octavo.sequence.HighOrderCRF`) is trained by a convex objective and decodes exactly, and
    it is more accurate on handwritten words, which repeat. scikit-learn has no model of
    structured outputs; where labels are independent, any of its classifiers will do.

    References
    ----------
    .. [1] J. R. Doppa, A. Fern and P. Tadepalli (2014). "Structured Prediction via Output Space
       Search". Journal of Machine Learning Research 15.

    Examples
    --------
    >>> from octavo.data import make_high_order_markov
    >>> from octavo.structured import OutputSpaceSearchClassifier
    >>> X, y = make_high_order_markov(60, order=2, sigma=0.5, random_state=0)
    >>> model = OutputSpaceSearchClassifier(n_epochs=10, random_state=0).fit(X[:40], y[:40])
    >>> round(model.recurrent_.score(X[40:], y[40:]), 2), round(model.score(X[40:], y[40:]), 2)
    (0.51, 0.57)
    """

    _parameter_constraints: dict[str, Any] = {
        "base_classifier": [None, HasMethods(["fit", "predict"])],
        "space": [StrOptions({"lds", "flipbit"})],
        "sparse_k": [None, Interval(Integral, 1, None, closed="left")],
        "search": [StrOptions({"greedy", "beam", "breadth"})],
        "beam_width": [Interval(Integral, 1, None, closed="left")],
        "n_steps": [StrOptions({"length"}), Interval(Integral, 0, None, closed="left")],
        "time_budget": [None, Interval(Real, 0, None, closed="left")],
        "feature_order": [Interval(Integral, 0, 6, closed="both")],
        "history": [Interval(Integral, 0, None, closed="left")],
        "structure": [StrOptions({"sequence", "grid"})],
        "loss": [StrOptions({"hamming", "f1"}), callable],
        "rank_learner": [StrOptions({"pa", "pa-slack", "perceptron", "svm"})],
        "n_epochs": [Interval(Integral, 1, None, closed="left")],
        "imitation": [StrOptions({"exact", "dagger"})],
        "dagger_rounds": [Interval(Integral, 1, None, closed="left")],
        "cv_rollouts": [StrOptions({"auto"}), None, Interval(Integral, 0, None, closed="left")],
        "tie_break": [StrOptions({"random", "cost"})],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "random_state": ["random_state"],
        "n_jobs": [None, Integral],
        "skip_visited": ["boolean"],
        "outside": "no_validation",
    }

    def __init__(
        self,
        base_classifier: Any = None,
        *,
        space: str = "lds",
        sparse_k: int | None = None,
        search: str = "greedy",
        beam_width: int = 1,
        n_steps: str | int = "length",
        time_budget: float | None = None,
        feature_order: int = 2,
        history: int = 1,
        structure: str = "sequence",
        loss: str | Callable[..., float] = "hamming",
        rank_learner: str = "pa",
        n_epochs: int = 50,
        imitation: str = "exact",
        dagger_rounds: int = 5,
        cv_rollouts: str | int | None = "auto",
        tie_break: str = "random",
        validation_fraction: float = 0.1,
        random_state: Any = None,
        n_jobs: int | None = None,
        skip_visited: bool = False,
        outside: Any = None,
    ) -> None:
        self.base_classifier = base_classifier
        self.space = space
        self.sparse_k = sparse_k
        self.search = search
        self.beam_width = beam_width
        self.n_steps = n_steps
        self.time_budget = time_budget
        self.feature_order = feature_order
        self.history = history
        self.structure = structure
        self.loss = loss
        self.rank_learner = rank_learner
        self.n_epochs = n_epochs
        self.imitation = imitation
        self.dagger_rounds = dagger_rounds
        self.cv_rollouts = cv_rollouts
        self.tie_break = tie_break
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.skip_visited = skip_visited
        self.outside = outside

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.target_tags.required = True
        return tags

    # --- fitting ----------------------------------------------------------------------------

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, lengths: ArrayLike | None = None) -> Self:
        """Learn the classifier, then the cost, from labelled sequences or grids.

        Parameters
        ----------
        X : list of array-like (T_i, d) or (height, width, d), or stacked rows
            Observations.
        y : list of label arrays, or stacked labels
            Labels, anything hashable.
        lengths : array-like of int, optional
            Lengths of the sequences of a stacked X; without, it is one sequence.

        Returns
        -------
        self : OutputSpaceSearchClassifier
            Fitted.
        """
        cells = read_cells(X, lengths, self.structure)
        stack = read_labels(y, cells)
        self.classes_ = classes_of(stack.labels)
        codes = encode_labels(stack, self.classes_)
        self.n_features_in_ = cells.values.shape[1]
        rng = check_random_state(self.random_state)
        training = self._prepare(cells, codes, rng)
        rounds = self.dagger_rounds if self.imitation == "dagger" else 0
        with FitProgress(self, self.n_epochs * (rounds + 1), X, y, step_name="pass") as progress:
            self._learn(training, rng, progress)
        return self

    def _prepare(self, cells: Cells, codes: Ints, rng: Any) -> Training:
        """Fit the recurrent classifier and lay out the space of training."""
        base = self.base_classifier
        if isinstance(base, RecurrentClassifier):
            options = base.get_params(deep=False)
        else:
            options = {"estimator": base, "history": self.history}
        if options.get("random_state") is None:
            given = self.random_state
            drawn = int(rng.randint(2**31 - 1))
            options["random_state"] = int(given) if isinstance(given, Integral) else drawn
        make = lambda: RecurrentClassifier(**options)  # noqa: E731
        self.recurrent_ = make().fit_cells(cells, codes, self.classes_)
        self._check_scores()
        n_weights = n_joint_features(
            self.n_features_in_, len(self.classes_), self.feature_order, cells.shapes is not None
        )
        folds = self.cv_rollouts or 0
        if folds == "auto":
            folds = 5 if cells.lengths.size <= 2000 else 0
        folds = min(int(folds), cells.lengths.size)
        space = training_space(
            cells,
            codes,
            self.recurrent_,
            make,
            n_folds=folds if folds > 1 and self.recurrent_.estimator_ is not None else 0,
            rolls=self.space == "lds",
            k=self.sparse_k or 0,
            order=self.feature_order,
            rng=rng,
        )
        loss = StructureLoss(self.loss, self.classes_, self.outside)
        field = self._field(cells, space)
        training = Training(cells, codes, space, field, loss, n_weights)
        self._measure(training)
        return training

    def _check_scores(self) -> None:
        if self.sparse_k is not None and not self.recurrent_.has_scores_:
            raise ValueError(
                f"sparse_k={self.sparse_k} needs a base classifier with decision_function or "
                f"predict_proba, which {type(self.recurrent_.estimator_).__name__} does not have; "
                "use another classifier or sparse_k=None."
            )

    def _measure(self, training: Training) -> None:
        """Store the errors of the classifiers that make training states (Section 3.4)."""
        depth = wrong = 0
        structures = range(training.cells.lengths.size)
        for q in structures:
            truth = training.truth(q)
            depth += training.space.errors(q, truth)
            wrong += int(np.count_nonzero(training.space.initial(q) != truth))
        self.imitation_error_ = depth / training.codes.size  # ε_ei of Proposition 1
        self.recurrent_error_ = wrong / training.codes.size
        self.target_depth_ = depth / len(structures)  # T ε_ei, Proposition 1

    def _learn(self, training: Training, rng: Any, progress: FitProgress) -> None:
        found = learn_cost(
            training,
            rng,
            rule=self.rank_learner,
            n_epochs=self.n_epochs,
            rounds=self.dagger_rounds if self.imitation == "dagger" else 0,
            tie_break=self.tie_break,
            validation_fraction=self.validation_fraction,
            search=(self.search, self.beam_width, self.skip_visited),
            n_steps=self.n_steps,
            step=progress.step,
        )
        self.cost_coef_ = found.weights
        self.ranking_examples_ = found.n_pairs
        self.ranking_errors_ = found.errors

    # --- predicting -------------------------------------------------------------------------

    def prediction_space(self, cells: Cells) -> tuple[Space, CostField]:
        """Return the space of prediction, and what costs are computed from.

        Parameters
        ----------
        cells : Cells
            All cells.

        Returns
        -------
        space, field : Space, CostField
            Of these cells.
        """
        self._check_scores()
        space = self.recurrent_.space(
            cells, rolls=self.space == "lds", k=self.sparse_k or 0, order=self.feature_order
        )
        return space, self._field(cells, space)

    def _field(self, cells: Cells, space: Space) -> CostField:
        return CostField(cells.values, cells.starts, space.layout, len(self.classes_))

    def start_search(self, space: Space, field: CostField, q: int) -> OutputSearch:
        """Return the search in one structure, at its start.

        Parameters
        ----------
        space : Space
            Of prediction.
        field : CostField
            What costs are computed from.
        q : int
            Which structure.

        Returns
        -------
        search : OutputSearch
            Not a step taken.
        """
        return OutputSearch(
            space,
            q,
            field.evaluation(q, self.cost_coef_),
            self.search,
            self.beam_width,
            self.skip_visited,
        )

    def _read(self, X: Any, lengths: ArrayLike | None) -> Cells:
        check_is_fitted(self, "cost_coef_")
        self._validate_params()
        cells = read_cells(X, lengths, self.structure)
        if cells.values.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {cells.values.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )
        return cells

    def _run(self, cells: Cells, n_steps: Any, time_budget: float | None) -> list[State]:
        """Search all structures; a share of them in each thread."""
        space, _ = self.prediction_space(cells)

        def share(part: Ints) -> list[State]:
            field = self._field(cells, space)  # with marks of its own: threads share nothing
            return [
                self.start_search(space, field, q).run(
                    step_budget(n_steps, int(cells.lengths[q])), None, time_budget
                )
                for q in part
            ]

        structures = np.arange(cells.lengths.size)
        if self.n_jobs in (None, 1) or structures.size < 2:
            return share(structures)
        parts = np.array_split(structures, min(structures.size, 8))
        found = Parallel(n_jobs=self.n_jobs, prefer="threads")(delayed(share)(p) for p in parts)
        return [state for part in found for state in part]

    def predict(
        self,
        X: Any,
        n_steps: str | int | None = None,
        time_budget: float | None = None,
        *,
        lengths: ArrayLike | None = None,
    ) -> Any:
        """Return the cheapest output found for each sequence or grid.

        Parameters
        ----------
        X : sequences or grids
            Observations, as in `fit`.
        n_steps : "length" or int, optional
            Search steps; those of the model by default. With 0 the recurrent classifier's own
            output is returned.
        time_budget : float, optional
            Seconds per structure; that of the model by default.
        lengths : array-like of int, optional
            Lengths of the sequences of a stacked X.

        Returns
        -------
        labels : list of ndarray, or ndarray
            One array per structure; stacked where X is.
        """
        cells = self._read(X, lengths)
        steps, seconds = check_budget(
            self.n_steps if n_steps is None else n_steps,
            self.time_budget if time_budget is None else time_budget,
        )
        found = self._run(cells, steps, seconds)
        return cells.give(self.classes_[np.concatenate([state.labels for state in found])])

    def predict_anytime(
        self, X: Any, n_steps: str | int | None = None, *, lengths: ArrayLike | None = None
    ) -> list[tuple[float, Any]]:
        """Return the outputs after every step of the search, and when they were there.

        Parameters
        ----------
        X : sequences or grids
            Observations, as in `fit`.
        n_steps : "length" or int, optional
            Search steps; those of the model by default.
        lengths : array-like of int, optional
            Lengths of the sequences of a stacked X.

        Returns
        -------
        curve : list of (elapsed, output)
            First the recurrent classifier's own output, then one entry per step: seconds since
            the search began, for all structures together, and what `predict` would return.
        """
        cells = self._read(X, lengths)
        steps, _ = check_budget(self.n_steps if n_steps is None else n_steps, None)
        begin = time.perf_counter()
        space, field = self.prediction_space(cells)
        searches = [self.start_search(space, field, q) for q in range(cells.lengths.size)]
        budgets = [step_budget(steps, int(n)) for n in cells.lengths]
        curve = []
        for s in range(max(budgets) + 1):
            labels = np.concatenate([search.answer().labels for search in searches])
            curve.append((time.perf_counter() - begin, cells.give(self.classes_[labels])))
            for search, budget in zip(searches, budgets):
                if s < budget:
                    search.step()
        return curve

    def cost(self, X: Any, y: Any, *, lengths: ArrayLike | None = None) -> Floats:
        """Return the learned cost w·Φ(x, y) of given outputs.

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
        cost : ndarray of shape (n_structures,)
            Smaller is better.
        """
        return self._costs(X, y, lengths, self.cost_coef_ if hasattr(self, "cost_coef_") else None)

    def _costs(self, X: Any, y: Any, lengths: ArrayLike | None, weights: Any) -> Floats:
        cells = self._read(X, lengths)
        codes = encode_labels(read_labels(y, cells), self.classes_)
        space = self.recurrent_.space(cells, order=self.feature_order)
        field, starts = self._field(cells, space), cells.starts
        return np.array(
            [
                field.evaluation(q, weights).of(codes[starts[q] : starts[q + 1]])
                for q in range(cells.lengths.size)
            ]
        )

    def score(self, X: Any, y: Any, lengths: ArrayLike | None = None) -> float:
        """Return the share of cells with the right label.

        Parameters
        ----------
        X : sequences or grids
            Observations.
        y : labels
            The truth.
        lengths : array-like of int, optional
            Lengths of the sequences of a stacked X.

        Returns
        -------
        accuracy : float
            Between 0 and 1.
        """
        cells = self._read(X, lengths)
        truth = read_labels(y, cells).labels
        steps, seconds = check_budget(self.n_steps, self.time_budget)
        states = self._run(cells, steps, seconds)
        found = self.classes_[np.concatenate([state.labels for state in states])].tolist()
        return float(np.mean([a == b for a, b in zip(truth, found)]))


def check_budget(n_steps: Any, time_budget: Any) -> tuple[Any, float | None]:
    """Return step and time budget after checking that neither is negative."""
    if not (isinstance(n_steps, str) and n_steps == "length") and not (
        isinstance(n_steps, Integral) and not isinstance(n_steps, bool) and int(n_steps) >= 0
    ):
        raise ValueError(
            f"n_steps must be 'length' or an integer that is not negative, got {n_steps!r}."
        )
    if time_budget is not None and not (
        isinstance(time_budget, Real)
        and not isinstance(time_budget, bool)
        and float(time_budget) >= 0
    ):
        raise ValueError(f"time_budget must be None or seconds, not negative, got {time_budget!r}.")
    return n_steps, None if time_budget is None else float(time_budget)
