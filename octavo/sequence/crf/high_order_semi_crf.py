"""Segmentation of sequences with patterns of segment labels: exact, of any order.

A semi-Markov conditional random field labels whole segments: it can look at a segment's length
and ends, and its patterns run over segments, so that "author, then title, then year" is a pattern
of three labels however many words each has. `HighOrderSemiCRF` trains and decodes with all such
patterns seen in training up to any order.

Reference: N. V. Cuong, N. Ye, W. S. Lee and H. L. Chieu (2014), "Conditional Random Field with
High-order Dependencies for Sequence Labeling and Segmentation", Journal of Machine Learning
Research 15. Implemented: Sections 2.1-2.4. The recursions are in `octavo.engine.chains.segments`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from numbers import Integral
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.callback import with_callbacks
from sklearn.utils import check_random_state

from octavo.engine.chains.label_sequences import classes_of
from octavo.engine.chains.segments import Segmentations
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.sequence.crf.base import PatternModel
from octavo.sequence.crf.pattern_automaton import Pattern
from octavo.sequence.crf.segment_field import SegmentData, SegmentField
from octavo.sequence.crf.segment_labels import (
    Segment,
    SegmentStack,
    encode_segments,
    stack_segments,
)
from octavo.sequence.crf.segment_metrics import segment_f1
from octavo.sequence.crf.sequence_features import Table, read_table, vectorize

__all__ = ["HighOrderSemiCRF"]

_NAMED = {"length", "boundary"}


class HighOrderSemiCRF(PatternModel):
    """Cut sequences into labelled segments with a semi-Markov random field of any order.

    The probability of a segmentation is proportional to the exponential of the scores of its
    segments plus the weights of all patterns that occur in the sequence of segment labels.

    Parameters
    ----------
    max_order : int, default=2
        Patterns have up to ``max_order + 1`` segment labels. 1 is the usual semi-Markov field.
    max_segment_length : int, optional
        Most positions of a segment; by default that of the longest one in training.
    allow_repeat : bool, default=False
        Whether a segment may have the label of the one before it. False suits segments that are
        maximal runs of a label; training segments that break it are then an error.
    segment_features : callable, or list of {"length", "boundary"}, optional
        What is known of a segment besides the sum of its observations. "length" has a weight
        for every length and label; "boundary" has weights for the first and the last observation.
        A function ``f(x, start, stop)`` returns a vector or a dictionary of features of the
        segment; it is called for every segment that is possible.
    min_pattern_count : int, default=1
        Patterns seen less often in training are left out.
    alpha : float, default=1.0
        Strength of the penalty α/2 ‖λ‖² on the weights: 1/σ² of the paper's Gaussian prior; 0 for
        none.
    alpha_by_order : dict of int to float, optional
        Strengths for patterns of some orders; weights of observations and segments
        belong to order 0.
    alpha_l1 : float, default=0.0
        Strength of an l1 penalty besides.
    transition_features : "patterns" or list of tuple, default="patterns"
        All patterns seen in training, or a list of your own.
    solver : {"lbfgs", "max_margin"}, default="lbfgs"
        Maximise the penalised likelihood, or the margin by Hamming loss over positions.
    max_iter : int, default=200
        Most iterations.
    tol : float, default=1e-5
        As in `HighOrderCRF`.
    n_jobs : int, default=None
        Threads among which the sequences are shared.
    observation_order : int, default=0
        Patterns from order 1 to this one have weights that depend on the observations of their
        last segment, besides their own.
    boundary_labels : bool, default=False
        Count the beginning and the end of a sequence as labels of patterns.
    max_patterns : int, default=100000
        More patterns are an error; None for no limit.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        The labels.
    max_segment_length_ : int
        Most positions of a segment.
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
    length_coef_ : ndarray of shape (max_length, n_labels)
        Weights of lengths; empty without "length".
    first_coef_, last_coef_ : ndarray of shape (n_features, n_labels)
        Weights of first and last observations; empty without "boundary".
    segment_coef_ : ndarray of shape (n_segment_features, n_labels)
        Weights of the features of your own; empty without.
    segment_feature_names_ : ndarray or None
        Their names where they were dictionaries.
    states_ : list of tuple
        The states of the automaton.
    n_iter_ : int
        Iterations done.
    objective_ : float
        What is minimised: the penalised negative log-likelihood; for "max_margin" the penalised
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
    HighOrderCRF : The same for labels of single positions.
    labels_to_segments : Segments from runs of labels.
    bio_to_segments : Segments from BIO tags.

    Notes
    -----
    Do not use it where segments have no inner structure: a `HighOrderCRF` on BIO tags
    (`segments_to_bio`) is faster and often as good; the paper's own best result on relation
    arguments is one. The cost grows with the length of the longest segment. scikit-learn has no
    model of sequences.

    A segment longer than any in training cannot be predicted: it will be split, among labels
    that may follow each other. Give max_segment_length if longer ones can come.

    References
    ----------
    .. [1] N. V. Cuong, N. Ye, W. S. Lee and H. L. Chieu (2014). "Conditional Random Field with
       High-order Dependencies for Sequence Labeling and Segmentation". Journal of Machine
       Learning Research 15.

    Examples
    --------
    >>> from octavo.data import make_citations
    >>> from octavo.sequence import HighOrderSemiCRF
    >>> X, segments = make_citations(60, random_state=0)
    >>> model = HighOrderSemiCRF(2, segment_features=["length"]).fit(X[:40], segments[:40])
    >>> round(model.score(X[40:], segments[40:]), 2)
    0.86
    """

    _parameter_constraints: dict[str, Any] = {
        **PatternModel._parameter_constraints,
        "max_segment_length": [None, Interval(Integral, 1, None, closed="left")],
        "allow_repeat": ["boolean"],
        "segment_features": [None, callable, list, tuple, StrOptions(_NAMED)],
    }

    def __init__(
        self,
        max_order: int = 2,
        max_segment_length: int | None = None,
        allow_repeat: bool = False,
        segment_features: Callable[[Any, int, int], Any] | Sequence[str] | None = None,
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
        self.max_segment_length = max_segment_length
        self.allow_repeat = allow_repeat
        self.segment_features = segment_features
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
        segments: Any,
        lengths: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from segmented sequences.

        Parameters
        ----------
        X : list of array-like (T_i, n_features), stacked array, or lists of dictionaries
            Observations.
        segments : list of lists of (start, stop, label)
            One segmentation a sequence: half-open, in order, without gaps.
        lengths : array-like of int, optional
            Lengths of the sequences of a stacked X; without, it is one sequence.
        sample_weight : array-like of shape (n_sequences,), optional
            What each sequence counts for.

        Returns
        -------
        self : HighOrderSemiCRF
            Fitted.
        """
        self._check_options()
        named = self._named_features()
        table = read_table(X, lengths)
        stack = stack_segments(segments, table.lengths)
        share = self._share(sample_weight, table.lengths.size)
        self.classes_ = classes_of(stack.labels)
        self.max_segment_length_ = self._longest(stack)
        patterns = self._choose_patterns(stack.labels, stack.counts)
        custom, self.segment_feature_names_ = self._custom_features(X, table, None)
        n_custom = 0 if custom is None else custom.shape[1]
        self._assemble(patterns, table.values.shape[1], table.names, named, n_custom)
        codes = encode_segments(stack, self.classes_)
        self._field.grammar.refuse_repeats(codes, stack.counts, "segments")
        data = SegmentData(
            table.values, table.lengths, custom, stack.counts, stack.start, stack.stop, codes
        )
        self._train(data, share, X, segments)
        return self

    def _named_features(self) -> set[str]:
        given = self.segment_features
        if given is None or callable(given):
            return set()
        names = [given] if isinstance(given, str) else list(given)
        for name in names:
            if name not in _NAMED:
                raise ValueError(
                    f"segment_features must be a function or a list of {sorted(_NAMED)}, got "
                    f"{name!r}."
                )
        return set(names)

    def _longest(self, stack: SegmentStack) -> int:
        """Return the most positions of a segment, after checking those of training."""
        sizes = stack.stop - stack.start
        longest = int(sizes.max())  # L of Section 2.1
        limit = self.max_segment_length
        if limit is None:
            return longest
        if longest > limit:
            row = int(np.argmax(sizes))
            q = int(np.searchsorted(np.cumsum(stack.counts), row, side="right"))
            raise ValueError(
                f"segments: sequence {q}, position {stack.start[row]}: a segment of {longest} "
                f"positions is longer than max_segment_length={limit}."
            )
        return limit

    def _assemble(
        self,
        patterns: list[Pattern],
        n_features: int,
        names: NDArray[Any] | None,
        named: set[str],
        n_custom: int,
    ) -> None:
        grammar, observed = self._grammar(patterns, allow_repeat=self.allow_repeat)
        self.patterns_ = patterns
        self.n_features_in_, self.feature_names_ = n_features, names
        self._field = SegmentField(
            grammar,
            n_features,
            observed,
            self.max_segment_length_,
            length="length" in named,
            boundary="boundary" in named,
            n_custom=n_custom,
        )

    def _expose(self, weights: Floats) -> None:
        super()._expose(weights)
        parts = self._field.blocks.split(weights)
        self.length_coef_, self.segment_coef_ = parts["length"], parts["segment"]
        self.first_coef_, self.last_coef_ = parts["first"], parts["last"]

    def _custom_features(
        self, X: Any, table: Table, names: NDArray[Any] | None, width: int | None = None
    ) -> tuple[Any, NDArray[Any] | None]:
        """Return the features of every possible segment by the user's function, as a table."""
        if not callable(self.segment_features):
            return None, None
        L, ends = self.max_segment_length_, np.cumsum(table.lengths)
        found, place = [], []
        for q, (length, end) in enumerate(zip(table.lengths.tolist(), ends.tolist())):
            first = end - length
            x = X[q] if table.listed else X[first:end]
            for start in range(length):
                for d in range(min(L, length - start)):
                    found.append(self.segment_features(x, start, start + d + 1))
                    # row n L + d: the segment of d + 1 positions from n
                    place.append(((first + start) * L + d, q, start, start + d + 1))

        def where(row: int) -> str:
            _, q, start, stop = place[row]
            return f"sequence {q}, segment ({start}, {stop})"

        if isinstance(found[0], Mapping):
            values, names = vectorize(found, names, where)
        else:
            width = len(np.atleast_1d(found[0])) if width is None else width
            for row, vector in enumerate(found):
                if np.shape(vector) != (width,) or not np.isfinite(vector).all():
                    raise ValueError(
                        f"segment_features: {where(row)}: expected {width} finite numbers, got "
                        f"{vector!r}."
                    )
            values = sp.csr_array(np.array(found, dtype=np.float64))
        table_rows = values.tocoo()
        rows = np.array([row for row, *_ in place])[table_rows.coords[0]]
        shape = (table.values.shape[0] * L, values.shape[1])
        return sp.csr_array((table_rows.data, (rows, table_rows.coords[1])), shape=shape), names

    @classmethod
    def from_weights(
        cls,
        labels: Sequence[Hashable],
        coef: ArrayLike,
        pattern_coef: Mapping[Pattern, float],
        max_segment_length: int,
        *,
        allow_repeat: bool = False,
        transition_coef: Mapping[Pattern, ArrayLike] | None = None,
        length_coef: ArrayLike | None = None,
        first_coef: ArrayLike | None = None,
        last_coef: ArrayLike | None = None,
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
            Weights of patterns of segment labels.
        max_segment_length : int
            Most positions of a segment.
        allow_repeat : bool, default=False
            Whether a label may follow itself.
        transition_coef : mapping of tuple to array-like (n_features,), optional
            Weights of patterns that depend on the observations of the last segment.
        length_coef : array-like of shape (max_segment_length, n_labels), optional
            Weights of lengths.
        first_coef, last_coef : array-like of shape (n_features, n_labels), optional
            Weights of first and last observations; both or neither.
        feature_names : sequence of str, optional
            Names of the features, for observations that are dictionaries.

        Returns
        -------
        model : HighOrderSemiCRF
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
        given = {"length": length_coef is not None, "boundary": first_coef is not None}
        named = {name for name, there in given.items() if there}
        model = cls(
            max((len(z) for z in patterns), default=1) - 1,
            max_segment_length,
            allow_repeat,
            sorted(named) or None,
            observation_order=max((len(z) for z in observed), default=1) - 1,
        )
        model.classes_ = classes_of(labels)
        model.max_segment_length_, model.segment_feature_names_ = max_segment_length, None
        names = None if feature_names is None else np.array(feature_names, dtype=object)
        model._assemble(patterns, matrix.shape[0], names, named, 0)
        place = [list(labels).index(label) for label in model.classes_.tolist()]
        parts: dict[str, Any] = {
            "coef": matrix,
            "length": length_coef,
            "first": first_coef,
            "last": last_coef,
        }
        arrays = {
            name: np.asarray(part, dtype=np.float64)[:, place]
            for name, part in parts.items()
            if part is not None
        }
        nothing = np.zeros(matrix.shape[0])
        model._expose(
            model._field.blocks.join(
                pattern=np.array([pattern_coef.get(z, 0.0) for z in patterns]),
                transition=np.array(
                    [observed.get(patterns[i], nothing) for i in model._field.observed]
                ).T,
                **arrays,
            )
        )
        return model

    # --- predicting -------------------------------------------------------------------------

    def _data(self, X: Any, lengths: ArrayLike | None) -> tuple[SegmentData, Table]:
        table = self._read(X, lengths)
        n_custom = self._field.n_custom
        custom, _ = self._custom_features(X, table, self.segment_feature_names_, n_custom)
        return SegmentData(table.values, table.lengths, custom), table

    def _segments(self, found: Segmentations, q: int) -> list[Segment]:
        names = self.classes_.tolist()
        return [(start, stop, names[code]) for start, stop, code in found.of(q)]

    def predict(self, X: Any, lengths: ArrayLike | None = None) -> list[list[Segment]]:
        """Return the most probable segmentation of each sequence.

        Parameters
        ----------
        X : sequences
            Observations, as in `fit`.
        lengths : array-like of int, optional
            Lengths of the sequences of a stacked X.

        Returns
        -------
        segments : list of lists of (start, stop, label)
            One a sequence.
        """
        data, _ = self._data(X, lengths)
        found = self._field.best(self._weights, data)
        self._refuse_impossible(found.score, data)
        self._warn_of_splits(found)
        return [self._segments(found, q) for q in range(data.lengths.size)]

    def _refuse_impossible(self, score: Floats, data: SegmentData) -> None:
        if np.isfinite(score).all():
            return
        q = int(np.argmin(np.isfinite(score)))
        raise ValueError(
            f"Sequence {q} has {data.lengths[q]} positions and no segmentation: a segment has at "
            f"most max_segment_length={self.max_segment_length_} positions, and there are "
            f"{self.classes_.size} labels that may not follow themselves."
        )

    def _warn_of_splits(self, found: Segmentations) -> None:
        """Warn where a run of one label is longer than a segment may be."""
        if self.max_segment_length_ == 1:
            return
        joins = (found.state[1:] == found.state[:-1]) & (found.start[1:] > 0)
        sizes = found.stop - found.start
        if np.any(joins & (sizes[1:] + sizes[:-1] > self.max_segment_length_)):
            warnings.warn(
                f"Neighbouring segments of one label exceed "
                f"max_segment_length={self.max_segment_length_} together: they may be one segment "
                "that is longer than those of training. Give max_segment_length to allow it.",
                UserWarning,
                stacklevel=3,
            )

    def predict_single(self, x: Any) -> list[Segment]:
        """Return the most probable segmentation of one sequence.

        Parameters
        ----------
        x : array-like of shape (T, n_features), or list of dictionaries
            Observations of one sequence.

        Returns
        -------
        segments : list of (start, stop, label)
            The segments.
        """
        return self.predict([x])[0]

    def predict_loss_augmented(
        self, X: Any, segments: Any, lengths: ArrayLike | None = None, *, loss: float = 1.0
    ) -> list[list[Segment]]:
        """Return the segmentations that maximise score plus loss: the most violating ones.

        Parameters
        ----------
        X : sequences
            Observations, as in `fit`.
        segments : list of lists of (start, stop, label)
            The true segments.
        lengths : array-like of int, optional
            Lengths of the sequences of a stacked X.
        loss : float, default=1.0
            What a position with a wrong label adds.

        Returns
        -------
        segments : list of lists of (start, stop, label)
            As from `predict`.
        """
        data = self._with_segments(X, segments, lengths)
        found = self._field.best(self._weights, data, loss=loss)
        self._refuse_impossible(found.score, data)
        return [self._segments(found, q) for q in range(data.lengths.size)]

    def _with_segments(self, X: Any, segments: Any, lengths: ArrayLike | None) -> SegmentData:
        data, _ = self._data(X, lengths)
        stack = stack_segments(segments, data.lengths)
        codes = encode_segments(stack, self.classes_)
        return data._replace(counts=stack.counts, start=stack.start, stop=stack.stop, codes=codes)

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
        data, table = self._data(X, lengths)
        parts = []
        for part in data.parts(self._field._positions):
            covered = self._field.marginals(self._weights, part).covered
            parts.append(self._field.by_label(covered))
        return self._as_given(np.concatenate(parts), table)

    def pattern_marginals(
        self, X: Any, patterns: Sequence[Pattern], lengths: ArrayLike | None = None
    ) -> Any:
        """Return the probability that a pattern ends with a segment.

        Parameters
        ----------
        X : sequences
            Observations, as in `fit`.
        patterns : sequence of tuple
            Any patterns of segment labels, of the model or not.
        lengths : array-like of int, optional
            Lengths of the sequences of a stacked X.

        Returns
        -------
        marginals : list of ndarray (T_i, L, n_patterns), or one stacked
            Entry [u, d, i] belongs to pattern i with the last segment u .. u + d; L is
            `max_segment_length_`.
        """
        data, table = self._data(X, lengths)
        asked = [tuple(z) for z in patterns]
        everything = list(dict.fromkeys([*self.patterns_, *asked]))
        grammar, _ = self._grammar(everything, allow_repeat=self.allow_repeat, complete=True)
        own = self._field
        # Observing all patterns, most with zero weights, makes the marginals those of states.
        field = SegmentField(
            grammar,
            self.n_features_in_,
            np.arange(len(everything)),
            self.max_segment_length_,
            length=self.length_coef_.size > 0,
            boundary=self.first_coef_.size > 0,
            n_custom=own.n_custom,
        )
        parts = dict(own.blocks.split(self._weights))
        pattern, transition = (
            np.zeros(len(everything)),
            np.zeros((self.n_features_in_, len(everything))),
        )
        pattern[: len(self.patterns_)] = parts["pattern"]
        transition[:, own.observed] = parts["transition"]
        weights = field.blocks.join(**{**parts, "pattern": pattern, "transition": transition})
        rows = [everything.index(z) for z in asked]
        ends = grammar.automaton.state_matrix[:, grammar.states].tocsr()[rows].toarray()
        # Σ over states that the pattern is a suffix of
        found = [
            field.marginals(weights, part, detail="segments").segments @ ends.T
            for part in data.parts(field._positions)
        ]
        return self._as_given(np.concatenate(found), table)

    def score(self, X: Any, segments: Any, lengths: ArrayLike | None = None) -> float:
        """Return the F1 score of the predicted segments, over all labels.

        Parameters
        ----------
        X : sequences
            Observations, as in `fit`.
        segments : list of lists of (start, stop, label)
            The true segments.
        lengths : array-like of int, optional
            Lengths of the sequences of a stacked X.

        Returns
        -------
        f1 : float
            As from `segment_f1`.
        """
        table = self._read(X, lengths)
        stack_segments(segments, table.lengths)
        return segment_f1([[tuple(s) for s in part] for part in segments], self.predict(X, lengths))

    def score_sequences(self, X: Any, segments: Any, lengths: ArrayLike | None = None) -> Floats:
        """Return the log-probability of the segmentation of each sequence.

        Parameters
        ----------
        X : sequences
            Observations, as in `fit`.
        segments : list of lists of (start, stop, label)
            Segments with labels that were seen in training.
        lengths : array-like of int, optional
            Lengths of the sequences of a stacked X.

        Returns
        -------
        log_probability : ndarray of shape (n_sequences,)
            -inf where a segment is longer than `max_segment_length_`, with a warning, and where a
            label follows itself though it may not.
        """
        data = self._with_segments(X, segments, lengths)
        sizes = data.stop - data.start
        sequence = np.repeat(np.arange(data.lengths.size), data.counts)
        again = (data.codes[1:] == data.codes[:-1]) & (sequence[1:] == sequence[:-1])
        impossible = np.zeros(data.lengths.size, dtype=bool)
        impossible[sequence[sizes > self.max_segment_length_]] = True
        if impossible.any():
            warnings.warn(
                f"Sequence {int(np.argmax(impossible))} has a segment of more than "
                f"max_segment_length={self.max_segment_length_} positions, which has "
                "probability 0.",
                UserWarning,
                stacklevel=2,
            )
        if not self.allow_repeat:
            impossible[sequence[1:][again]] = True
        if not impossible.any():
            score = self._field.path_scores(self._weights, data)
            # log P(s | x), Section 2.1
            return score - self._field.log_partition(self._weights, data)
        result = np.full(data.lengths.size, -np.inf)
        for q in np.flatnonzero(~impossible):
            part = data.part(int(q), int(q) + 1)
            log_z = self._field.log_partition(self._weights, part)
            result[q] = (self._field.path_scores(self._weights, part) - log_z)[0]
        return result

    def kbest(
        self, X: Any, k: int, lengths: ArrayLike | None = None
    ) -> list[list[tuple[list[Segment], float]]]:
        """Return the k most probable segmentations of each sequence.

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
        best : list of lists of (segments, log-probability)
            One list a sequence, best first.
        """
        data, _ = self._data(X, lengths)
        found = self._field.k_best(self._weights, data, k)
        self._refuse_impossible(found[0].score, data)
        log_z = self._field.log_partition(self._weights, data)
        return [
            [
                (self._segments(one, q), float(one.score[q] - log_z[q]))
                for one in found
                if one.score[q] > -np.inf
            ]
            for q in range(data.lengths.size)
        ]

    def sample(
        self,
        X: Any,
        n_samples: int = 1,
        random_state: Any = None,
        lengths: ArrayLike | None = None,
    ) -> list[list[list[Segment]]]:
        """Draw segmentations from the model.

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
        segments : list of lists of segmentations
            ``n_samples`` independent draws a sequence.
        """
        if n_samples < 1:
            raise ValueError(f"n_samples must be at least 1, got {n_samples}.")
        data, _ = self._data(X, lengths)
        found = self._field.sample(self._weights, data, n_samples, check_random_state(random_state))
        self._refuse_impossible(found[0].score, data)
        return [[self._segments(one, q) for one in found] for q in range(data.lengths.size)]
