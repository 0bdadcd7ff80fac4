"""Tagging of sequences with label patterns of any length: exact, in time linear in the patterns.

A conditional random field scores every label by its observation and every run of consecutive
labels that it knows as a pattern. `HighOrderCRF` trains and decodes with all patterns seen in
training up to any order, where packages for first-order fields stop at pairs.

Reference: N. V. Cuong, N. Ye, W. S. Lee and H. L. Chieu (2014), "Conditional Random Field with
High-order Dependencies for Sequence Labeling and Segmentation", Journal of Machine Learning
Research 15. Implemented: Sections 2.1-2.4 with segments of one position, the regularisers of
Section 3.3. The automaton is in `octavo.sequence.crf.pattern_automaton`, its layout in
`octavo.sequence.crf.label_grammar`, the recursions in `octavo.engine.chains.lanes` and
`octavo.engine.chains.inference`.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.callback import with_callbacks
from sklearn.utils import check_random_state

from octavo.engine.chains.label_sequences import classes_of, encode_labels
from octavo.engine.chains.sequences import split_sequences
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.sklearn_door import fit_context
from octavo.sequence.crf.base import PatternModel, labels_of, match_labels
from octavo.sequence.crf.chain_field import ChainData, ChainField
from octavo.sequence.crf.pattern_automaton import Pattern
from octavo.sequence.crf.sequence_features import read_table

__all__ = ["HighOrderCRF"]


class HighOrderCRF(PatternModel):
    """Tag sequences with a conditional random field of any order.

    The probability of labels y given observations x is proportional to the exponential of
    Σ_t x_t · coef[:, y_t] plus the weights of all patterns that occur in y. The cost of training
    and decoding grows with the number of patterns, not with n_labels to the power of the order.

    Parameters
    ----------
    max_order : int, default=2
        Patterns have up to ``max_order + 1`` labels. 1 is the usual linear-chain field, 0 a
        classifier of single positions.
    min_pattern_count : int, default=1
        Patterns seen less often in training are left out.
    alpha : float, default=1.0
        Strength of the penalty α/2 ‖λ‖² on the weights: 1/σ² of the paper's Gaussian prior; 0 for
        none.
    alpha_by_order : dict of int to float, optional
        Strengths for patterns of some orders; the order of a pattern is its length
        less one, and weights of observations belong to order 0.
    alpha_l1 : float, default=0.0
        Strength of an l1 penalty besides.
    transition_features : "patterns" or list of tuple, default="patterns"
        All patterns seen in training, or a list of your own. Patterns are tuples of labels.
    solver : {"lbfgs", "max_margin"}, default="lbfgs"
        Maximise the penalised likelihood, or the margin by Hamming loss (a structured support
        vector machine).
    max_iter : int, default=200
        Most iterations.
    tol : float, default=1e-5
        Stop when no entry of the gradient, divided by the number of positions, exceeds it; for
        "max_margin", when the duality gap, so divided, does not. 1e-2 is enough there.
    n_jobs : int, default=None
        Threads among which the sequences are shared.
    observation_order : int, default=0
        Patterns from order 1 to this one have weights that depend on the observation, besides
        their own.
    boundary_labels : bool, default=False
        Count the beginning and the end of a sequence as labels of patterns.
    max_patterns : int, default=100000
        More patterns are an error; None for no limit.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        The labels.
    patterns_ : list of tuple
        The patterns, shorter ones first.
    pattern_coef_ : dict of tuple to float
        The weight of each pattern.
    coef_ : ndarray of shape (n_features, n_labels)
        The weights of observations.
    observed_patterns_ : list of tuple
        Patterns whose weight depends on the observation.
    transition_coef_ : ndarray of shape (n_features, n_observed_patterns)
        How.
    states_ : list of tuple
        The states of the automaton.
    n_iter_ : int
        Iterations done.
    objective_ : float
        What is minimised: -Σ log P + α/2 ‖λ‖² + alpha_l1 ‖λ‖₁; for "max_margin" the penalised
        hinge loss.
    objectives_ : ndarray of shape (n_iterations,)
        The objective after every iteration.
    gradient_norm_ : float
        What tol was compared with; NaN for "max_margin".
    duality_gap_ : float
        The objective is at most this much below its optimum; inf where weights have no prior.
    n_features_in_ : int
        Number of features of an observation.
    feature_names_ : ndarray or None
        Their names where observations were dictionaries.

    See Also
    --------
    HighOrderSemiCRF : The same for segments of several positions.
    PatternAutomaton : The automaton of the patterns.

    Notes
    -----
    Sequences are a list of arrays (T_i, n_features), dense or sparse, or one stacked array with
    ``lengths``, or lists of dictionaries of features in the style of crfsuite. What is returned
    has the form of what was given.

    A pattern counts only where it fits into the sequence: histories are not padded. A pattern of
    training that occurs at test time has its weight, any other has none.

    Do not use it where labels are sparse and independent of each other: a classifier of single
    positions, such as `sklearn.linear_model.LogisticRegression` on `window_features`, is simpler
    (scikit-learn has no model of sequences). High orders memorise label sequences that repeat;
    where test sequences follow another grammar, prefer a low order. With much text, a fine-tuned
    language model is more accurate.

    References
    ----------
    .. [1] N. V. Cuong, N. Ye, W. S. Lee and H. L. Chieu (2014). "Conditional Random Field with
       High-order Dependencies for Sequence Labeling and Segmentation". Journal of Machine
       Learning Research 15.
    .. [2] I. Tsochantaridis, T. Hofmann, T. Joachims and Y. Altun (2004). "Support Vector
       Machine Learning for Interdependent and Structured Output Spaces". ICML.

    Examples
    --------
    >>> from octavo.data import make_high_order_markov
    >>> from octavo.sequence import HighOrderCRF
    >>> X, y = make_high_order_markov(60, order=2, sigma=0.5, random_state=0)
    >>> first, second = (HighOrderCRF(order).fit(X[:40], y[:40]) for order in (1, 2))
    >>> round(first.score(X[40:], y[40:]), 3), round(second.score(X[40:], y[40:]), 3)
    (0.578, 0.675)
    """

    def __init__(
        self,
        max_order: int = 2,
        min_pattern_count: int = 1,
        alpha: float = 1.0,
        alpha_by_order: dict[int, float] | None = None,
        alpha_l1: float = 0.0,
        transition_features: str | Sequence[Pattern] = "patterns",
        solver: str = "lbfgs",
        max_iter: int = 200,
        tol: float = 1e-5,
        n_jobs: int | None = None,
        *,
        observation_order: int = 0,
        boundary_labels: bool = False,
        max_patterns: int | None = 100_000,
    ) -> None:
        self.max_order = max_order
        self.min_pattern_count = min_pattern_count
        self.alpha = alpha
        self.alpha_by_order = alpha_by_order
        self.alpha_l1 = alpha_l1
        self.transition_features = transition_features
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.observation_order = observation_order
        self.boundary_labels = boundary_labels
        self.max_patterns = max_patterns

    # --- fitting ----------------------------------------------------------------------------

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: Any,
        y: Any,
        lengths: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from labelled sequences.

        Parameters
        ----------
        X : list of array-like (T_i, n_features), stacked array, or lists of dictionaries
            Observations.
        y : list of label sequences, or flat sequence of labels with ``lengths``
            Labels, anything hashable.
        lengths : array-like of int, optional
            Lengths of the sequences of a stacked X; without, it is one sequence.
        sample_weight : array-like of shape (n_sequences,), optional
            What each sequence counts for.

        Returns
        -------
        self : HighOrderCRF
            Fitted.
        """
        self._check_options()
        table = read_table(X, lengths)
        stack = match_labels(y, table)
        share = self._share(sample_weight, table.lengths.size)
        self.classes_ = classes_of(stack.labels)
        patterns = self._choose_patterns(stack.labels, stack.lengths)
        self._assemble(patterns, table.values.shape[1], table.names)
        codes = encode_labels(stack, self.classes_)
        self._train(ChainData(table.values, table.lengths, codes), share, X, y)
        return self

    def _assemble(
        self, patterns: list[Pattern], n_features: int, names: NDArray[Any] | None
    ) -> None:
        grammar, observed = self._grammar(patterns, allow_repeat=True)
        self.patterns_ = patterns
        self.n_features_in_, self.feature_names_ = n_features, names
        self._field = ChainField(grammar, n_features, observed)

    @classmethod
    def from_weights(
        cls,
        labels: Sequence[Hashable],
        coef: ArrayLike,
        pattern_coef: Mapping[Pattern, float],
        *,
        transition_coef: Mapping[Pattern, ArrayLike] | None = None,
        feature_names: Sequence[str] | None = None,
    ) -> Self:
        """Return a model with weights that are known already.

        Parameters
        ----------
        labels : sequence of hashable
            All labels.
        coef : array-like of shape (n_features, n_labels)
            Weights of observations, columns in the order of ``labels``.
        pattern_coef : mapping of tuple to float
            Weights of patterns.
        transition_coef : mapping of tuple to array-like (n_features,), optional
            Weights of patterns that depend on the observation.
        feature_names : sequence of str, optional
            Names of the features, for observations that are dictionaries.

        Returns
        -------
        model : HighOrderCRF
            Ready to predict.
        """
        observed = dict(transition_coef or {})
        patterns = list(dict.fromkeys([*pattern_coef, *observed]))
        matrix = np.asarray(coef, dtype=np.float64)
        if matrix.ndim != 2 or matrix.shape[1] != len(labels):
            raise ValueError(
                f"coef must have a column for each of the {len(labels)} labels, got shape "
                f"{matrix.shape}."
            )
        order = max((len(z) for z in patterns), default=1) - 1
        model = cls(order, observation_order=max((len(z) for z in observed), default=1) - 1)
        model.classes_ = classes_of(labels)
        names = None if feature_names is None else np.array(feature_names, dtype=object)
        model._assemble(patterns, matrix.shape[0], names)
        place = [list(labels).index(label) for label in model.classes_.tolist()]
        nothing = np.zeros(matrix.shape[0])
        model._expose(
            model._field.blocks.join(
                coef=matrix[:, place],
                pattern=np.array([pattern_coef.get(z, 0.0) for z in patterns]),
                transition=np.array(
                    [observed.get(patterns[i], nothing) for i in model._field.observed]
                ).T,
            )
        )
        return model

    # --- predicting -------------------------------------------------------------------------

    def predict(self, X: Any, lengths: ArrayLike | None = None) -> Any:
        """Return the most probable labels of each sequence.

        Parameters
        ----------
        X : sequences
            Observations, as in `fit`.
        lengths : array-like of int, optional
            Lengths of the sequences of a stacked X.

        Returns
        -------
        labels : list of ndarray, or ndarray
            One array a sequence; stacked where X is.
        """
        table = self._read(X, lengths)
        codes, _ = self._field.best(self._weights, ChainData(table.values, table.lengths))
        return self._as_given(labels_of(codes, self.classes_), table)

    def predict_single(self, x: Any) -> NDArray[Any]:
        """Return the most probable labels of one sequence.

        Parameters
        ----------
        x : array-like of shape (T, n_features), or list of dictionaries
            Observations of one sequence.

        Returns
        -------
        labels : ndarray of shape (T,)
            The labels.
        """
        return self.predict([x])[0]

    def predict_loss_augmented(
        self, X: Any, y: Any, lengths: ArrayLike | None = None, *, loss: float = 1.0
    ) -> Any:
        """Return the labels that maximise score plus loss: the most violating ones.

        Parameters
        ----------
        X : sequences
            Observations, as in `fit`.
        y : list of label sequences, or flat sequence of labels
            The true labels.
        lengths : array-like of int, optional
            Lengths of the sequences of a stacked X.
        loss : float, default=1.0
            What a wrong label adds.

        Returns
        -------
        labels : list of ndarray, or ndarray
            As from `predict`.
        """
        table = self._read(X, lengths)
        codes = encode_labels(match_labels(y, table), self.classes_)
        data = ChainData(table.values, table.lengths, codes)
        found, _ = self._field.best(self._weights, data, loss=loss)
        return self._as_given(labels_of(found, self.classes_), table)

    def predict_marginals(self, X: Any, lengths: ArrayLike | None = None) -> Any:
        """Return the probability of every label at every position.

        Parameters
        ----------
        X : sequences
            Observations, as in `fit`.
        lengths : array-like of int, optional
            Lengths of the sequences of a stacked X.

        Returns
        -------
        marginals : list of ndarray (T_i, n_labels), or ndarray (N, n_labels)
            Rows add up to one; columns in the order of `classes_`.
        """
        table = self._read(X, lengths)
        data = ChainData(table.values, table.lengths)
        return self._as_given(self._field.label_marginals(self._weights, data), table)

    def pattern_marginals(
        self, X: Any, patterns: Sequence[Pattern], lengths: ArrayLike | None = None
    ) -> Any:
        """Return the probability that a pattern ends at a position.

        Parameters
        ----------
        X : sequences
            Observations, as in `fit`.
        patterns : sequence of tuple
            Any patterns of labels, of the model or not.
        lengths : array-like of int, optional
            Lengths of the sequences of a stacked X.

        Returns
        -------
        marginals : list of ndarray (T_i, n_patterns), or ndarray (N, n_patterns)
            Columns in the order of ``patterns``.
        """
        table = self._read(X, lengths)
        asked = [tuple(z) for z in patterns]
        all_patterns = list(dict.fromkeys([*self.patterns_, *asked]))
        grammar, _ = self._grammar(all_patterns, allow_repeat=True, complete=True)
        # Observing all patterns, most with zero weights, makes the marginals those of states.
        field = ChainField(grammar, self.n_features_in_, np.arange(len(all_patterns)))
        n_own, observed = len(self.patterns_), self._field.observed
        pattern, transition = (
            np.zeros(len(all_patterns)),
            np.zeros(field.blocks.shapes["transition"]),
        )
        pattern[:n_own] = list(self.pattern_coef_.values())
        transition[:, observed] = self.transition_coef_
        weights = field.blocks.join(coef=self.coef_, pattern=pattern, transition=transition)
        rows = [all_patterns.index(z) for z in asked]
        ends = grammar.automaton.state_matrix[:, grammar.states].tocsr()[rows]
        # P(z | x): a pattern ends where a state does that it is a suffix of
        found = [
            (ends @ field.marginals(weights, part).nodes.T).T
            for part in ChainData(table.values, table.lengths).parts(field._positions)
        ]
        return self._as_given(np.concatenate(found), table)

    def score(self, X: Any, y: Any, lengths: ArrayLike | None = None) -> float:
        """Return the fraction of positions whose label is predicted.

        Parameters
        ----------
        X : sequences
            Observations, as in `fit`.
        y : list of label sequences, or flat sequence of labels
            The true labels; one that was never seen in training counts as an error.
        lengths : array-like of int, optional
            Lengths of the sequences of a stacked X.

        Returns
        -------
        accuracy : float
            Over all positions of all sequences.
        """
        table = self._read(X, lengths)
        stack = match_labels(y, table)
        place = {label: code for code, label in enumerate(self.classes_.tolist())}
        truth = np.array([place.get(label, -1) for label in stack.labels])
        codes, _ = self._field.best(self._weights, ChainData(table.values, table.lengths))
        return float(np.mean(codes == truth))

    def score_sequences(self, X: Any, y: Any, lengths: ArrayLike | None = None) -> Floats:
        """Return the log-probability of the labels of each sequence.

        Parameters
        ----------
        X : sequences
            Observations, as in `fit`.
        y : list of label sequences, or flat sequence of labels
            Labels that were seen in training.
        lengths : array-like of int, optional
            Lengths of the sequences of a stacked X.

        Returns
        -------
        log_probability : ndarray of shape (n_sequences,)
            log P(y | X) of each.
        """
        table = self._read(X, lengths)
        codes = encode_labels(match_labels(y, table), self.classes_)
        data = ChainData(table.values, table.lengths, codes)
        log_z = self._field.log_partition(self._weights, data)
        return self._field.path_scores(self._weights, data) - log_z  # log P(s | x), Section 2.1

    def kbest(
        self, X: Any, k: int, lengths: ArrayLike | None = None
    ) -> list[list[tuple[NDArray[Any], float]]]:
        """Return the k most probable labellings of each sequence.

        Parameters
        ----------
        X : sequences
            Observations, as in `fit`.
        k : int
            How many; a short sequence may have fewer.
        lengths : array-like of int, optional
            Lengths of the sequences of a stacked X.

        Returns
        -------
        best : list of lists of (labels, log-probability)
            One list a sequence, best first.
        """
        table = self._read(X, lengths)
        data = ChainData(table.values, table.lengths)
        codes, scores = self._field.k_best(self._weights, data, k)
        log_z = self._field.log_partition(self._weights, data)
        parts = [split_sequences(row, table.lengths) for row in codes]
        return [
            [
                (labels_of(parts[r][q], self.classes_), float(scores[r, q] - log_z[q]))
                for r in range(k)
                if scores[r, q] > -np.inf
            ]
            for q in range(table.lengths.size)
        ]

    def sample(
        self,
        X: Any,
        n_samples: int = 1,
        random_state: Any = None,
        lengths: ArrayLike | None = None,
    ) -> Any:
        """Draw labellings from the model.

        Parameters
        ----------
        X : sequences
            Observations, as in `fit`.
        n_samples : int, default=1
            How many of each sequence.
        random_state : int, RandomState instance or None, default=None
            Source of randomness.
        lengths : array-like of int, optional
            Lengths of the sequences of a stacked X.

        Returns
        -------
        labels : list of ndarray (n_samples, T_i), or ndarray (n_samples, N)
            Independent draws.
        """
        if n_samples < 1:
            raise ValueError(f"n_samples must be at least 1, got {n_samples}.")
        table = self._read(X, lengths)
        data = ChainData(table.values, table.lengths)
        rng = check_random_state(random_state)
        found = labels_of(self._field.sample(self._weights, data, n_samples, rng), self.classes_)
        if not table.listed:
            return found
        return np.split(found, np.cumsum(table.lengths)[:-1], axis=1)
