"""A discrete hidden Markov model from labelled sequences, by counting.

Reference: J. Lember and A. A. Koloydenko (2014), "Bridging Viterbi and Posterior Decoding",
Journal of Machine Learning Research 15, whose experiments (Section 5) estimate their models so.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from octavo.engine.chains.sequences import stack_sequences
from octavo.engine.estimators.sklearn_door import Interval, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.sequence.decoding.posterior_risks import step_rows
from octavo.sequence.hmm.emissions import checked_symbols
from octavo.sequence.hmm.params import HMMParams

__all__ = ["CountHMM"]


class CountHMM(SoundEstimator):
    """Maximum likelihood hidden Markov model with discrete emissions, from known states.

    Parameters
    ----------
    alphabet_size : int
        Number of symbols; observations are integers 0..alphabet_size - 1.
    pseudocount : float, default=0.0
        Added to every count of starts, transitions and emissions.
    n_states : int, optional
        Number of states; by default one more than the largest seen.

    Attributes
    ----------
    startprob_ : ndarray of shape (n_states,)
        Probabilities of the first state.
    transmat_ : ndarray of shape (n_states, n_states)
        Transition probabilities.
    emissionprob_ : ndarray of shape (n_states, alphabet_size)
        Emission probabilities.
    n_states_ : int
        Number of states.

    See Also
    --------
    HybridDecoder : Decodes sequences with the model.

    Notes
    -----
    Do not use it when the states of the training sequences are unknown: hmmlearn's
    ``CategoricalHMM`` learns them by expectation maximisation. Where positions are independent
    given the observations, a scikit-learn classifier such as
    `sklearn.naive_bayes.CategoricalNB` is all that is needed.

    References
    ----------
    .. [1] J. Lember and A. A. Koloydenko (2014). "Bridging Viterbi and Posterior Decoding: A
       Generalized Risk Approach to Hidden Path Inference Based on Hidden Markov Models". Journal
       of Machine Learning Research 15.

    Examples
    --------
    >>> from octavo.sequence import CountHMM
    >>> model = CountHMM(alphabet_size=2).fit([[0, 0, 1], [1, 1]], [[0, 0, 1], [1, 1]])
    >>> model.transmat_
    array([[0.5, 0.5],
           [0. , 1. ]])
    >>> round(model.score([[0, 0, 1]]), 3)
    -2.079
    """

    _parameter_constraints: dict[str, Any] = {
        "alphabet_size": [Interval(Integral, 1, None, closed="left")],
        "pseudocount": [Interval(Real, 0, None, closed="left")],
        "n_states": [None, Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self, alphabet_size: int, pseudocount: float = 0.0, n_states: int | None = None
    ) -> None:
        self.alphabet_size = alphabet_size
        self.pseudocount = pseudocount
        self.n_states = n_states

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.target_tags.required = True
        return tags

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, lengths: ArrayLike | None = None) -> Self:
        """Count starts, transitions and emissions.

        Parameters
        ----------
        X : array-like of int, or list of such
            Observed symbols, stacked with ``lengths`` or a list of sequences.
        y : array-like of int, or list of such
            The state of every position, in the form of X.
        lengths : array-like of int, optional
            Lengths of stacked sequences.

        Returns
        -------
        self : CountHMM
            The fitted model.
        """
        values, counts = stack_sequences(X, lengths)
        symbols = checked_symbols(values, counts, self.alphabet_size)
        marks, marked = stack_sequences(y, lengths, name="y")
        if not np.array_equal(marked, counts):
            raise ValueError(
                f"y has sequences of lengths {marked.tolist()}, X of {counts.tolist()}."
            )
        largest = int(marks.max()) + 1 if marks.dtype.kind in "iu" else 0
        K = max(largest, 1) if self.n_states is None else int(self.n_states)
        states = checked_symbols(marks, counts, K, name="y")
        first = np.cumsum(counts) - counts
        before = step_rows(counts)
        pairs = states[before] * K + states[before + 1]
        # relative frequencies of first states, transitions and symbols (Section 5)
        start = np.bincount(states[first], minlength=K)
        trans = np.bincount(pairs, minlength=K * K).reshape(K, K)
        emit = np.bincount(
            states * self.alphabet_size + symbols, minlength=K * self.alphabet_size
        ).reshape(K, self.alphabet_size)
        self.startprob_ = self._normalised(start[None])[0]
        self.emissionprob_ = self._normalised(emit)
        self.transmat_ = self._normalised_transitions(trans)
        self.n_states_ = K
        return self

    def _normalised(self, counts: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return counts plus pseudocounts as probabilities."""
        smooth = counts + float(self.pseudocount)
        total = smooth.sum(axis=1, keepdims=True)
        empty = np.flatnonzero(total[:, 0] == 0)
        if empty.size:
            raise ValueError(
                f"State {empty[0]} never occurs in training, so that its emissions are unknown; "
                "number the states without gaps or set pseudocount above 0."
            )
        return smooth / total

    def _normalised_transitions(self, counts: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return transition probabilities; a state that is never left stays where it is."""
        smooth = counts + float(self.pseudocount)
        empty = np.flatnonzero(smooth.sum(axis=1) == 0)
        if empty.size:
            warnings.warn(
                f"State {empty[0]} is only seen at the end of sequences; its transition "
                "probabilities are unknown and set to stay in it.",
                UserWarning,
                stacklevel=4,
            )
            smooth[empty, empty] = 1.0
        return smooth / smooth.sum(axis=1, keepdims=True)

    def to_hmm(self) -> HMMParams:
        """Return the model as the type that all methods of `octavo.sequence` take.

        Returns
        -------
        hmm : HMMParams
            With the probabilities that were counted.
        """
        check_is_fitted(self)
        return HMMParams(self.startprob_, self.transmat_, self.emissionprob_)

    def log_emission(self, X: Any, lengths: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return the logs of the emission probabilities of every position in each state.

        Parameters
        ----------
        X : array-like of int, or list of such
            Observed symbols.
        lengths : array-like of int, optional
            Lengths of stacked sequences.

        Returns
        -------
        log_emission : ndarray of shape (n_positions, n_states)
            Stacked over sequences.
        """
        return self.to_hmm().log_emission(X, lengths)

    def score(self, X: Any, y: Any = None, lengths: ArrayLike | None = None) -> float:
        """Return the mean log-likelihood of the observed sequences.

        Parameters
        ----------
        X : array-like of int, or list of such
            Observed symbols.
        y : None
            Ignored.
        lengths : array-like of int, optional
            Lengths of stacked sequences.

        Returns
        -------
        score : float
            Mean over sequences of log p(x).
        """
        return float(self.to_hmm().score_samples(X, lengths).mean())
