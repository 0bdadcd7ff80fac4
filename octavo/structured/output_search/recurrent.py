"""A recurrent classifier: labels cell after cell, each from its observation and labels before it.

Section 3.1 and Algorithm 1 of J. R. Doppa, A. Fern and P. Tadepalli (2014), "Structured Prediction
via Output Space Search", Journal of Machine Learning Research 15; DAgger of Ross, Gordon and
Bagnell (2011) and SEARN of Daumé, Langford and Marcu (2009) as its other trainers.
"""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
from sklearn.svm import LinearSVC
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from octavo.engine.chains.label_sequences import classes_of, encode_labels
from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.estimators.sklearn_door import HasMethods, Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.streams.perceptron_passes import fit_perceptron
from octavo.structured.output_search.cells import Cells, layout, read_cells, read_labels
from octavo.structured.output_search.space import Scores, Space, no_answers

__all__ = ["RecurrentClassifier"]

N_PASSES = 100  # of the perceptron (Section 5.1)
N_ROUNDS = 5  # of DAgger and SEARN; the paper's DAgger improves no more after five
BETA = 0.3  # SEARN: chance that the newest classifier takes over a decision
LINEAR = (Perceptron, SGDClassifier, LogisticRegression, RidgeClassifier, LinearSVC)
MAX_HISTORIES = 20_000  # scores of a classifier that is not linear are tabulated


def history_codes(labels: Ints, slots: Ints) -> Ints:
    """Return the labels at the slots of each cell plus one; 0 where a slot lies outside."""
    return np.where(slots >= 0, labels[np.maximum(slots, 0)] + 1, 0)


def node_features(X: Floats, codes: Ints, n_labels: int) -> Floats:
    """Return observations and one-hot labels of the history: f(n) of a node."""
    n, n_slots = codes.shape
    onehot = np.zeros((n, n_slots, n_labels + 1))
    onehot[np.arange(n)[:, None], np.arange(n_slots)[None], codes] = 1.0
    return np.hstack([X, onehot[:, :, 1:].reshape(n, -1)])


class RecurrentClassifier(ClassifierMixin, SoundEstimator):
    """Label sequences or grids one cell after the other with any classifier.

    Every cell is classified from its observation and the labels just before it (to the left;
    in grids also above). Learning imitates the path of the true labels; ``trainer`` chooses
    others that visit the classifier's own mistakes.

    Parameters
    ----------
    estimator : classifier, optional
        Scikit-learn classifier of single cells; by default a perceptron of all labels at once, with
        100 passes as in the paper and averaged weights. Linear ones are rolled out fastest.
    history : int, default=1
        Labels before the cell that the classifier sees, in each direction of a grid.
    trainer : {"imitation", "dagger", "searn"}, default="imitation"
        Learn on true histories; on histories of the classifiers so far, all rounds together; or
        on histories of a mixture of the truth and the classifiers so far. The last two keep the
        round that is best on a tenth of the structures, held out.
    random_state : int, RandomState instance or None, default=None
        Passed to the estimator; draws of SEARN.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        The labels.
    estimator_ : classifier
        Fitted; None where training has a single label.
    has_scores_ : bool
        Whether the classifier gives scores, which sparse spaces need.
    n_features_in_ : int
        Number of features of a cell.
    structure_ : {"sequence", "grid"}
        What it was trained on.

    See Also
    --------
    OutputSpaceSearchClassifier : Repairs what the classifier gets wrong.

    Notes
    -----
    Do not use it alone where early errors spoil what follows: `OutputSpaceSearchClassifier`
    searches for corrections. Where labels are independent, scikit-learn's classifiers suffice.
    With "searn" the final classifier is that of one round; the mixture serves training only, as
    a search needs a classifier that always answers alike.

    References
    ----------
    .. [1] J. R. Doppa, A. Fern and P. Tadepalli (2014). "Structured Prediction via Output Space
       Search". Journal of Machine Learning Research 15.

    Examples
    --------
    >>> from octavo.data import make_high_order_markov
    >>> from octavo.structured import RecurrentClassifier
    >>> X, y = make_high_order_markov(60, order=1, sigma=0.3, random_state=0)
    >>> model = RecurrentClassifier(random_state=0).fit(X[:40], y[:40])
    >>> round(model.score(X[40:], y[40:]), 2)
    0.74
    """

    _parameter_constraints: dict[str, Any] = {
        "estimator": [None, HasMethods(["fit", "predict"])],
        "history": [Interval(Integral, 0, None, closed="left")],
        "trainer": [StrOptions({"imitation", "dagger", "searn"})],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: Any = None,
        history: int = 1,
        trainer: str = "imitation",
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.history = history
        self.trainer = trainer
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.target_tags.required = True
        return tags

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, lengths: ArrayLike | None = None) -> Self:
        """Learn from labelled sequences or grids.

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
        self : RecurrentClassifier
            Fitted.
        """
        cells = read_cells(X, lengths)
        stack = read_labels(y, cells)
        classes = classes_of(stack.labels)
        return self.fit_cells(cells, encode_labels(stack, classes), classes)

    def fit_cells(self, cells: Cells, codes: Ints, classes: Any) -> Self:
        """Learn from cells that are read already.

        Parameters
        ----------
        cells : Cells
            All cells.
        codes : ndarray of int64
            The number of each cell's label in ``classes``.
        classes : ndarray
            All labels, whether they occur here or not.

        Returns
        -------
        self : RecurrentClassifier
            Fitted.
        """
        self.classes_ = classes
        self.n_features_in_ = cells.values.shape[1]
        self.structure_ = "sequence" if cells.shapes is None else "grid"
        self._constant = int(codes[0])
        rng = check_random_state(self.random_state)
        given = self.random_state
        seed = int(given if isinstance(given, Integral) else rng.randint(2**31 - 1))
        slots = layout(cells, self.history, len(classes), 0).slots
        if np.all(codes == codes[0]):
            only = classes.tolist()[int(codes[0])]
            warnings.warn(
                f"All training labels are {only!r}; it is always predicted.",
                UserWarning,
                stacklevel=3,
            )
            self.has_scores_ = True
            self.estimator_: Any = None
            return self
        if self.trainer == "imitation":
            self._learn(cells.values, history_codes(codes, slots), codes, seed)
        else:
            self._learn_by_rounds(cells, codes, slots, seed, rng)
        return self

    def _learn(self, X: Floats, history: Ints, codes: Ints, seed: int) -> None:
        """Fit the classifier of single cells (Algorithm 1, line 8)."""
        nodes = node_features(X, history, len(self.classes_))
        if self.estimator is None:
            self.estimator_ = model = fit_perceptron(nodes, codes, n_passes=N_PASSES, seed=seed)
        else:
            model = clone(self.estimator)
            options = model.get_params(deep=False)
            if "random_state" in options and options["random_state"] is None:
                model.set_params(random_state=seed)
            self.estimator_ = model.fit(nodes, codes)
        self.has_scores_ = hasattr(model, "decision_function") or hasattr(model, "predict_proba")

    def _learn_by_rounds(self, cells: Cells, codes: Ints, slots: Ints, seed: int, rng: Any) -> None:
        """Fit round after round on histories that the classifiers so far make."""
        held = _held_out(cells.lengths, rng)
        rows = np.flatnonzero(~np.repeat(held, cells.lengths))
        if np.all(codes[rows] == codes[rows[0]]):
            held[:], rows = False, np.arange(codes.size)
        truth = history_codes(codes, slots)  # true labels as history: Algorithm 1
        X, targets, histories = cells.values[rows], codes[rows], [truth[rows]]
        self._learn(X, histories[0], targets, seed)
        best, least, past = self.estimator_, np.inf, [self.estimator_]
        for r in range(N_ROUNDS + 1):
            made = self._labels(cells)
            wrong = np.repeat(held, cells.lengths) if held.any() else np.ones(codes.size, bool)
            error = float(np.mean((made != codes)[wrong]))
            if error < least:
                best, least = self.estimator_, error
            if r == N_ROUNDS:
                break
            if self.trainer == "dagger":
                # DAgger: histories that the classifier made, all rounds together
                histories.append(history_codes(made, slots)[rows])
                self._learn(
                    np.tile(X, (len(histories), 1)),
                    np.concatenate(histories),
                    np.tile(targets, len(histories)),
                    seed,
                )
            else:
                visited = self._mixture(cells, codes, slots, past, rng)
                self._learn(X, history_codes(visited, slots)[rows], targets, seed)
                past.append(self.estimator_)
        self.estimator_ = best

    def _mixture(self, cells: Cells, codes: Ints, slots: Ints, past: list[Any], rng: Any) -> Ints:
        """Return labels of SEARN's policy: each cell decided by the truth or a past classifier."""
        # SEARN: past policies with shares β (1 - β)^j, the truth with the rest
        share = np.array([BETA * (1 - BETA) ** (len(past) - 1 - j) for j in range(len(past))])
        chance = np.concatenate([[1.0 - share.sum()], share])
        who = rng.choice(len(chance), size=codes.size, p=chance)
        current, made = self.estimator_, np.array(codes)
        tables = []
        for model in past:
            self.estimator_ = model
            tables.append(self.scores(cells))
        self.estimator_ = current
        for c in np.flatnonzero(who > 0):
            s = tables[who[c] - 1]
            code = np.where(slots[c] >= 0, made[np.maximum(slots[c], 0)] + 1, 0)
            made[c] = int(np.argmax(_cell_scores(s, int(c), code)))
        return made

    # --- scores -----------------------------------------------------------------------------

    def scores(self, cells: Cells) -> Scores:
        """Return what the classifier says of all cells under all histories.

        Parameters
        ----------
        cells : Cells
            All cells.

        Returns
        -------
        scores : Scores
            Scores of cells and histories.
        """
        n_labels = len(self.classes_)
        n_slots = self.history * (2 if cells.shapes is not None else 1)
        which = np.zeros(cells.lengths.size, dtype=np.int64)
        nothing = np.zeros((0, 1, 1))
        hist = np.zeros((1, n_slots, n_labels + 1, n_labels))
        model = self.estimator_
        if model is None:
            unary = np.full((len(cells.values), n_labels), -1.0)
            unary[:, self._constant] = 0.0
            return Scores(unary, hist, which, nothing)
        d, known = self.n_features_in_, np.asarray(model.classes_, dtype=np.int64)
        if isinstance(model, LINEAR) and np.ndim(model.coef_) == 2:
            coef, intercept = np.asarray(model.coef_, dtype=float), np.ravel(model.intercept_)
            if known.size == 2 and len(coef) == 1:
                coef, intercept = np.vstack([-coef, coef]), np.array([-intercept[0], intercept[0]])
            intercept = np.broadcast_to(intercept, (known.size,))
            unary = np.full((len(cells.values), n_labels), -np.inf)
            unary[:, known] = cells.values @ coef[:, :d].T + intercept
            blocks = coef[:, d:].T.reshape(n_slots, n_labels, known.size)
            hist[0][:, 1:, known] = blocks
            return Scores(np.ascontiguousarray(unary), hist, which, nothing)
        return Scores(
            np.zeros((len(cells.values), n_labels)), hist, which, self._table(cells, n_slots)
        )

    def _table(self, cells: Cells, n_slots: int) -> Floats:
        """Return the scores of a classifier of any kind under all histories."""
        n_labels, n = len(self.classes_), len(cells.values)
        n_histories = (n_labels + 1) ** n_slots
        if n_histories > MAX_HISTORIES or n * n_histories * n_labels > 200_000_000:
            raise ValueError(
                f"{type(self.estimator_).__name__} is not linear, and {n_labels} labels at "
                f"{n_slots} places of the history make {n_histories} histories, too many to "
                "tabulate; use a linear classifier or a shorter history."
            )
        table = np.empty((n, n_histories, n_labels))
        for code in range(n_histories):
            # a history as digits in base n_labels + 1
            digits = [(code // (n_labels + 1) ** s) % (n_labels + 1) for s in range(n_slots)]
            codes = np.tile(np.array(digits, dtype=np.int64), (n, 1)).reshape(n, n_slots)
            table[:, code] = self._answers(node_features(cells.values, codes, n_labels))
        return table

    def _answers(self, features: Floats) -> Floats:
        """Return scores of all labels; of a classifier without scores, 1 for its choice."""
        model, known = self.estimator_, np.asarray(self.estimator_.classes_, dtype=np.int64)
        out = np.full((len(features), len(self.classes_)), -np.inf)
        if hasattr(model, "predict_proba"):
            out[:, known] = model.predict_proba(features)
        elif hasattr(model, "decision_function"):
            values = np.asarray(model.decision_function(features))
            if values.ndim == 1:
                values = np.stack([-values, values], axis=1)
            if values.shape[1] != known.size:
                raise ValueError(
                    f"The decision function of {type(model).__name__} has {values.shape[1]} "
                    f"columns for {known.size} labels; use one-against-rest scores."
                )
            out[:, known] = values
        else:
            out[:, known] = 0.0
            out[np.arange(len(features)), np.asarray(model.predict(features), dtype=np.int64)] = 1.0
        return out

    # --- predicting -------------------------------------------------------------------------

    def space(self, cells: Cells, *, rolls: bool = True, k: int = 0, order: int = 0) -> Space:
        """Return the outputs around this classifier's own.

        Parameters
        ----------
        cells : Cells
            All cells.
        rolls : bool, default=True
            Limited discrepancies; False for flip-bit.
        k : int, default=0
            Labels tried per cell; 0 for all.
        order : int, default=0
            Order of the joint features that will be used.

        Returns
        -------
        space : Space
            The outputs and their neighbours.
        """
        parts = layout(cells, self.history, len(self.classes_), order)
        memo = no_answers(parts, len(self.classes_))
        return Space(cells.starts, parts, self.scores(cells), rolls, k, memo)

    def _labels(self, cells: Cells) -> Ints:
        space = self.space(cells)
        return np.concatenate([space.initial(q) for q in range(cells.lengths.size)])

    def read(self, X: Any, lengths: ArrayLike | None = None) -> Cells:
        """Return observations to predict from, checked against training.

        Parameters
        ----------
        X : sequences or grids
            Observations.
        lengths : array-like of int, optional
            Lengths of the sequences of a stacked X.

        Returns
        -------
        cells : Cells
            All cells.
        """
        check_is_fitted(self, "classes_")
        cells = read_cells(X, lengths, self.structure_)
        if cells.values.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {cells.values.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )
        return cells

    def predict(self, X: Any, lengths: ArrayLike | None = None) -> Any:
        """Return the labels of each sequence or grid.

        Parameters
        ----------
        X : sequences or grids
            Observations, as in `fit`.
        lengths : array-like of int, optional
            Lengths of the sequences of a stacked X.

        Returns
        -------
        labels : list of ndarray, or ndarray
            One array per structure; stacked where X is.
        """
        cells = self.read(X, lengths)
        return cells.give(self.classes_[self._labels(cells)])

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
        cells = self.read(X, lengths)
        truth = read_labels(y, cells).labels
        found = self.classes_[self._labels(cells)].tolist()
        return float(np.mean([a == b for a, b in zip(truth, found)]))

    def imitation_errors(self, X: Any, y: Any, lengths: ArrayLike | None = None) -> Ints:
        """Return how many cells of each structure are wrong where all labels before are right.

        That number is the depth of the true output in the limited-discrepancy space
        (Proposition 1).

        Parameters
        ----------
        X : sequences or grids
            Observations.
        y : labels
            The truth, labels of training.
        lengths : array-like of int, optional
            Lengths of the sequences of a stacked X.

        Returns
        -------
        errors : ndarray of int64
            One number per structure.
        """
        cells = self.read(X, lengths)
        codes = encode_labels(read_labels(y, cells), self.classes_)
        space, starts = self.space(cells), cells.starts
        return np.array(
            [space.errors(q, codes[starts[q] : starts[q + 1]]) for q in range(cells.lengths.size)],
            dtype=np.int64,
        )


def _held_out(lengths: Ints, rng: Any) -> np.ndarray:
    """Return which structures judge rounds: a tenth, or none of fewer than ten."""
    held = np.zeros(lengths.size, dtype=bool)
    if lengths.size >= 10:
        held[rng.permutation(lengths.size)[: lengths.size // 10]] = True
    return held


def _cell_scores(scores: Scores, cell: int, code: Ints) -> Floats:
    """Return the scores of all labels at one cell under one history."""
    if scores.table.shape[0]:
        base = (scores.unary.shape[1] + 1) ** np.arange(code.size)
        return scores.table[cell, int(code @ base)]
    return scores.unary[cell] + scores.hist[0][np.arange(code.size), code].sum(axis=0)
