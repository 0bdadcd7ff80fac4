"""Paths between Viterbi and posterior decoding for any fitted hidden Markov model.

Viterbi returns the most probable path, which gets many positions wrong; posterior decoding gets
most positions right, by a path that may be impossible. The decoders here trade one for the
other continuously, keep the path possible, and take label classes and unequal losses; each costs
one forward-backward pass and one max-plus pass.

Reference: J. Lember and A. A. Koloydenko (2014), "Bridging Viterbi and Posterior Decoding: A
Generalized Risk Approach to Hidden Path Inference Based on Hidden Markov Models", Journal of
Machine Learning Research 15. Implemented: Sections 2 to 8; the decoders themselves are in
`octavo.sequence.decoding.paths`, the risks in `posterior_risks`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.metrics import accuracy_score, balanced_accuracy_score, f1_score, matthews_corrcoef
from sklearn.model_selection import check_cv
from sklearn.utils.validation import check_is_fitted

from octavo.engine.chains.inference import chain_marginals
from octavo.engine.chains.sequences import locate, split_sequences, stack_sequences
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import HasMethods, Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.sequence.decoding.count_hmm import CountHMM
from octavo.sequence.decoding.paths import (
    FAMILIES,
    METHODS,
    PointLoss,
    family_members,
    family_states,
    path_risks_of_each,
    state_path,
)
from octavo.sequence.decoding.posterior_risks import checked_labels, stacked_states
from octavo.sequence.hmm.params import as_hmm, is_listed, scores_on
from octavo.sequence.hmm.scores import HMMScores, require_possible
from octavo.sequence.hmm.simulation import generator, simulate_hmm

__all__ = ["HybridDecoder", "HybridDecoderCV", "asymptotic_risks"]

DEFAULT_ALPHAS = (0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 0.97, 1.0)

SCORES: dict[str, Callable[..., float]] = {
    "accuracy": accuracy_score,
    "balanced_accuracy": balanced_accuracy_score,
    "f1_macro": lambda true, found: f1_score(true, found, average="macro"),
    "matthews_corrcoef": matthews_corrcoef,
}


class HybridDecoder(SoundEstimator):
    """Decode hidden states anywhere between Viterbi and posterior decoding.

    It wraps a model that is already fitted and needs no fit of its own.

    Parameters
    ----------
    model : HMMParams, or another form that `as_hmm` takes
        Such as a fitted hmmlearn model, a CountHMM, a fitted mixture of HMMs, or a tuple
        (startprob, transmat, emission). Transitions may be a scipy sparse matrix, or vary:
        (n_positions - n_sequences, n_states, n_states).
    method : str, default="hybrid-pvd"
        Any method of `decode`.
    alpha : float in [0, 1], default=0.5
        From posterior decoding (0) to Viterbi (1), for "hybrid-pvd", "hybrid-pmap", "beta" and
        "k-block"; other methods do not use it.
    C : array-like of 4 floats, optional
        Weights in place of alpha.
    loss : array-like of shape (n_states, n_states), optional
        ``loss[s, y]``: the cost of saying s when y is true.
    labels : array-like of shape (n_states,), optional
        Label of each state; positions are right when their labels are, and labels are returned.
    k : float, optional
        Block length for "k-block" (in place of alpha) and "rabiner".
    beta : array-like of 2 floats, default=(0, 0)
        Powers for "beta".
    mu : float, optional
        Power of the transform for "power", "brushe" and "brushe-normalized".
    class_weight : array-like of shape (n_states,) or dict, optional
        Cost of missing each state.
    label_agg : {"sum", "mean"}, default="sum"
        How marginals of states with the same label combine.

    Attributes
    ----------
    n_states_ : int
        Number of states of the model; set by `fit`, which only checks.
    classes_ : ndarray
        What `predict` can answer: the distinct labels, or the states.

    See Also
    --------
    decode : The same for log-probabilities at hand.
    HybridDecoderCV : Chooses alpha by cross-validation.

    Notes
    -----
    Cloning keeps the model as it is, fitted. Do not use it to learn a model (hmmlearn does), nor
    where every position can be classified on its own: any scikit-learn classifier is simpler.
    scikit-learn has no models of sequences.

    Posterior decoding (``alpha=0``) may return impossible paths; any ``alpha > 0`` cannot.

    References
    ----------
    .. [1] J. Lember and A. A. Koloydenko (2014). "Bridging Viterbi and Posterior Decoding: A
       Generalized Risk Approach to Hidden Path Inference Based on Hidden Markov Models". Journal
       of Machine Learning Research 15.

    Examples
    --------
    >>> from octavo.sequence import HybridDecoder
    >>> dice = ([2 / 3, 1 / 3], [[0.95, 0.05], [0.1, 0.9]], [[1 / 6] * 6, [0.1] * 5 + [0.5]])
    >>> rolls = [0, 2, 1, 5, 5, 5, 2, 0, 3, 1]
    >>> HybridDecoder(dice, alpha=0.1).predict(rolls)
    array([0, 0, 0, 1, 1, 1, 0, 0, 0, 0])
    >>> HybridDecoder(dice, method="viterbi").predict(rolls)
    array([0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
    >>> round(HybridDecoder(dice).score_path(rolls, [0, 0, 0, 1, 1, 1, 0, 0, 0, 0])["R1"], 3)
    0.342
    """

    _parameter_constraints: dict[str, Any] = {
        "model": "no_validation",
        "method": [StrOptions(set(METHODS))],
        "alpha": [Interval(Real, 0, 1, closed="both")],
        "C": [None, "array-like"],
        "loss": [None, "array-like"],
        "labels": [None, "array-like"],
        "k": [None, Interval(Real, 1, None, closed="both")],
        "beta": ["array-like"],
        "mu": [None, Real],
        "class_weight": [None, "array-like", dict],
        "label_agg": [StrOptions({"sum", "mean"})],
    }

    def __init__(
        self,
        model: Any,
        method: str = "hybrid-pvd",
        alpha: float = 0.5,
        C: ArrayLike | None = None,
        loss: ArrayLike | None = None,
        labels: ArrayLike | None = None,
        *,
        k: float | None = None,
        beta: ArrayLike = (0, 0),
        mu: float | None = None,
        class_weight: Any = None,
        label_agg: str = "sum",
    ) -> None:
        self.model = model
        self.method = method
        self.alpha = alpha
        self.C = C
        self.loss = loss
        self.labels = labels
        self.k = k
        self.beta = beta
        self.mu = mu
        self.class_weight = class_weight
        self.label_agg = label_agg

    def __sklearn_clone__(self) -> Self:
        """Copy the parameters but keep the model: cloning it would undo its fit."""
        parameters = self.get_params(deep=False)
        model = parameters.pop("model")
        return type(self)(model, **copy.deepcopy(parameters))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.requires_fit = False
        return tags

    def fit(self, X: Any = None, y: Any = None, lengths: ArrayLike | None = None) -> Self:
        """Check the parameters and the model; nothing is learnt.

        Parameters
        ----------
        X, y, lengths : None
            Ignored.

        Returns
        -------
        self : HybridDecoder
            The decoder.
        """
        self._validate_params()
        self.n_states_ = as_hmm(self.model).n_states
        names = self._names(self.n_states_)
        self.classes_ = np.arange(self.n_states_) if names is None else np.unique(names)
        return self

    def _names(self, K: int) -> NDArray[Any] | None:
        return None if self.labels is None else checked_labels(self.labels, K)

    def _point_loss(self) -> PointLoss:
        return PointLoss(self.loss, self.class_weight, self.labels, self.label_agg)

    def _choice(self) -> dict[str, Any]:
        blocks = self.method in ("k-block", "rabiner") and self.k is not None
        alpha = None if self.C is not None or blocks else self.alpha
        return {"alpha": alpha, "k": self.k, "C": self.C, "beta": self.beta, "mu": self.mu}

    def _scores(self, X: Any, lengths: ArrayLike | None) -> HMMScores:
        self._validate_params()
        return scores_on(as_hmm(self.model), stack_sequences(X, lengths), is_listed(X, lengths))

    def predict_states(self, X: Any, lengths: ArrayLike | None = None) -> Any:
        """Return the path of states, whatever the labels.

        Parameters
        ----------
        X : array-like of shape (n_positions,) or (n_positions, n_features), or list of such
            Observations.
        lengths : array-like of int, optional
            Lengths of stacked sequences.

        Returns
        -------
        states : ndarray of shape (n_positions,), or list of such
            States counted from 0.
        """
        scores = self._scores(X, lengths)
        return scores.unstack(state_path(scores, self.method, self._point_loss(), **self._choice()))

    def predict(self, X: Any, lengths: ArrayLike | None = None) -> Any:
        """Return the decoded path.

        Parameters
        ----------
        X : array-like of shape (n_positions,) or (n_positions, n_features), or list of such
            Observations, stacked with ``lengths`` or a list of sequences.
        lengths : array-like of int, optional
            Lengths of stacked sequences.

        Returns
        -------
        path : ndarray of shape (n_positions,), or list of such
            States counted from 0, or labels.
        """
        states = self.predict_states(X, lengths)
        if self.labels is None:
            return states
        names = np.asarray(self.labels)
        return [names[part] for part in states] if isinstance(states, list) else names[states]

    def predict_proba(self, X: Any, lengths: ArrayLike | None = None) -> Any:
        """Return the posterior probabilities of the states of every position.

        Parameters
        ----------
        X : array-like of shape (n_positions,) or (n_positions, n_features), or list of such
            Observations.
        lengths : array-like of int, optional
            Lengths of stacked sequences.

        Returns
        -------
        proba : ndarray of shape (n_positions, n_classes), or list of such
            A column a state; with labels a column a distinct label, in sorted order.
        """
        scores = self._scores(X, lengths)
        found = chain_marginals(scores.start, scores.trans, scores.emission, scores.lengths)
        require_possible(scores, found.log_partition)
        names = self._names(scores.start.size)
        if names is None:
            return scores.unstack(found.nodes)
        distinct = np.unique(names)
        # labels of states: their marginals add up
        return scores.unstack(found.nodes @ (names[:, None] == distinct[None, :]).astype(float))

    def score_path(
        self,
        X: Any,
        path: Any,
        lengths: ArrayLike | None = None,
        *,
        k: float = 2,
        truth: Any = None,
    ) -> dict[str, float]:
        """Return the risks of a path of states.

        Parameters
        ----------
        X : array-like of shape (n_positions,) or (n_positions, n_features), or list of such
            Observations.
        path : array-like of int, or list of such
            States of every position, in the form of X.
        lengths : array-like of int, optional
            Lengths of stacked sequences.
        k : float, default=2
            Block length of Rk and Rk_bar.
        truth : array-like of int, or list of such, optional
            True states, for the share of wrong positions.

        Returns
        -------
        risks : dict of str to float
            As `path_risks` tells; means over sequences.
        """
        scores = self._scores(X, lengths)
        states = stacked_states(path, scores, "path")
        true = None if truth is None else stacked_states(truth, scores, "truth")
        risks = path_risks_of_each(scores, states, self._point_loss(), k, true)
        return {name: float(values.mean()) for name, values in risks.items()}

    def decode_family(self, X: Any, alphas: ArrayLike, lengths: ArrayLike | None = None) -> Any:
        """Return the paths of many members of the method's family in one call.

        Parameters
        ----------
        X : array-like of shape (n_positions,) or (n_positions, n_features), or list of such
            Observations.
        alphas : array-like of shape (A,) or (A, 4)
            Values of alpha, or of C.
        lengths : array-like of int, optional
            Lengths of stacked sequences.

        Returns
        -------
        paths : ndarray of shape (A, n_positions), or list of such
            One path a row, as `predict` would return it.
        """
        scores = self._scores(X, lengths)
        members = family_members(alphas, self.method, self.beta)
        states = family_states(scores, members, self._point_loss())
        names = self._names(scores.start.size)
        values = states if names is None else names[states]
        if not scores.listed:
            return values
        return np.split(values, np.cumsum(scores.lengths)[:-1], axis=1)


class HybridDecoderCV(CallbackSupportMixin, SoundEstimator):
    """Choose between Viterbi and posterior decoding on labelled sequences.

    Decodes every labelled sequence with all members of a family at once and keeps the one whose
    paths score best. A `CountHMM` is estimated anew without the sequences it is judged on; any
    other model is taken as it is.

    Parameters
    ----------
    model : CountHMM, HMMParams, or another form that `as_hmm` takes
        As in `HybridDecoder`. A CountHMM need not be fitted.
    method : {"hybrid-pvd", "hybrid-pmap", "k-block", "beta"}, default="hybrid-pvd"
        The family.
    alphas : array-like of shape (A,) or (A, 4), optional
        Values of alpha to choose among, or of the weights C1..C4. By default 14 values from 0 to
        1, dense at both ends.
    scoring : {"accuracy", "balanced_accuracy", "f1_macro", "matthews_corrcoef"} or callable, \
            default="accuracy"
        What is maximised; a callable takes the true and the decoded states of all positions of a
        fold.
    cv : int or cross-validation splitter, default=5
        How sequences are split into folds.
    loss, labels, beta, class_weight, label_agg : optional
        As in `HybridDecoder`. With labels, y holds labels.

    Attributes
    ----------
    alpha_ : float
        The chosen alpha; C2 / (C1 + C2) where weights were given.
    C_ : tuple of 4 floats
        The chosen weights.
    best_score_ : float
        Mean score of the choice over folds.
    cv_results_ : dict
        ``alphas``, ``mean_test_score`` (A,) and ``split_test_score`` (n_folds, A).
    model_ : model
        The model used by `predict`: a CountHMM fitted to all sequences, or the one given.
    decoder_ : HybridDecoder
        The chosen decoder.
    classes_ : ndarray
        What `predict` can answer.

    Notes
    -----
    The best score is optimistic, as that of any selection: judge the result on other sequences.
    Do not use it when the labels were made by the model itself. For independent positions use
    `sklearn.model_selection.GridSearchCV` on a classifier.

    References
    ----------
    .. [1] J. Lember and A. A. Koloydenko (2014). "Bridging Viterbi and Posterior Decoding: A
       Generalized Risk Approach to Hidden Path Inference Based on Hidden Markov Models". Journal
       of Machine Learning Research 15.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.sequence import CountHMM, HybridDecoderCV, simulate_hmm
    >>> dice = ([2 / 3, 1 / 3], [[0.95, 0.05], [0.1, 0.9]], [[1 / 6] * 6, [0.1] * 5 + [0.5]])
    >>> lengths = np.full(40, 50)
    >>> X, states = simulate_hmm(dice, lengths, rng=0)
    >>> search = HybridDecoderCV(CountHMM(6, pseudocount=1)).fit(X, states, lengths)
    >>> search.alpha_, round(search.best_score_, 3)
    (0.1, 0.823)
    """

    _parameter_constraints: dict[str, Any] = {
        "model": "no_validation",
        "method": [StrOptions(set(FAMILIES))],
        "alphas": [None, "array-like"],
        "scoring": [StrOptions(set(SCORES)), callable],
        "cv": [Interval(Integral, 2, None, closed="left"), HasMethods("split"), "array-like"],
        "loss": [None, "array-like"],
        "labels": [None, "array-like"],
        "beta": ["array-like"],
        "class_weight": [None, "array-like", dict],
        "label_agg": [StrOptions({"sum", "mean"})],
    }

    def __init__(
        self,
        model: Any,
        method: str = "hybrid-pvd",
        alphas: ArrayLike | None = None,
        scoring: str | Callable[..., float] = "accuracy",
        cv: Any = 5,
        *,
        loss: ArrayLike | None = None,
        labels: ArrayLike | None = None,
        beta: ArrayLike = (0, 0),
        class_weight: Any = None,
        label_agg: str = "sum",
    ) -> None:
        self.model = model
        self.method = method
        self.alphas = alphas
        self.scoring = scoring
        self.cv = cv
        self.loss = loss
        self.labels = labels
        self.beta = beta
        self.class_weight = class_weight
        self.label_agg = label_agg

    def __sklearn_clone__(self) -> Self:
        """Copy the parameters but keep the model: cloning it would undo its fit."""
        parameters = self.get_params(deep=False)
        model = parameters.pop("model")
        return type(self)(model, **copy.deepcopy(parameters))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.target_tags.required = True
        return tags

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, lengths: ArrayLike | None = None) -> Self:
        """Choose the member of the family that decodes labelled sequences best.

        Parameters
        ----------
        X : array-like of shape (n_positions,) or (n_positions, n_features), or list of such
            Observations, stacked with ``lengths`` or a list of sequences.
        y : array-like of shape (n_positions,), or list of such
            True states, or labels where the decoder has labels, in the form of X.
        lengths : array-like of int, optional
            Lengths of stacked sequences.

        Returns
        -------
        self : HybridDecoderCV
            The fitted search.
        """
        grid = np.asarray(DEFAULT_ALPHAS if self.alphas is None else self.alphas, dtype=float)
        members = family_members(grid, self.method, self.beta)
        stacked = stack_sequences(X, lengths)
        marks, marked = stack_sequences(y, lengths, name="y")
        if not np.array_equal(marked, stacked.lengths):
            raise ValueError(
                f"y has sequences of lengths {marked.tolist()}, X of {stacked.lengths.tolist()}."
            )
        estimate = isinstance(self.model, CountHMM)
        if estimate and self.labels is not None:
            raise ValueError("labels need the states of y; fit the CountHMM on states beforehand.")
        self.model_ = self.model
        if estimate:
            marks = np.asarray(marks)
            self.model_ = clone(self.model).fit(stacked.values, marks, stacked.lengths)
        self._check_marks(marks, stacked.lengths)
        parts, folds = split_sequences(*stacked), self._folds(stacked.lengths.size)
        truths = split_sequences(marks, stacked.lengths)
        scores = np.empty((len(folds), len(members)))
        with FitProgress(self, len(folds), X, y, step_name="fold") as progress:
            for f, (train, test) in enumerate(folds):
                model = self.model_
                if estimate:
                    model = self._estimated(parts, truths, train)
                scores[f] = self._fold_scores(model, members, parts, truths, test)
                progress.step()
        self._choose(grid, members, scores)
        return self

    def _folds(self, n_sequences: int) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        splitter = check_cv(self.cv)
        n_splits = splitter.get_n_splits(np.zeros(n_sequences))
        if n_sequences < 2 or (isinstance(self.cv, Integral) and n_sequences < n_splits):
            raise ValueError(f"cv={self.cv} needs as many sequences, got {n_sequences}.")
        return list(splitter.split(np.zeros(n_sequences)))

    def _check_marks(self, marks: NDArray[Any], lengths: NDArray[np.int64]) -> None:
        """Raise where y holds a state or label that the model does not have."""
        K = as_hmm(self.model_).n_states
        known = np.arange(K) if self.labels is None else np.unique(checked_labels(self.labels, K))
        self.classes_ = known
        if marks.ndim != 1:
            raise ValueError(f"y must hold one state a position, got shape {marks.shape}.")
        strange = np.flatnonzero(~np.isin(marks, known))
        if strange.size:
            row = int(strange[0])
            raise ValueError(
                f"y holds {marks[row]!r} at {locate(row, lengths)}, which the model does not "
                f"have; it has {known.tolist()}."
            )

    def _estimated(self, parts: list[Any], truths: list[Any], train: NDArray[np.int64]) -> Any:
        """Return the model estimated from some of the sequences, with all the states."""
        model = clone(self.model).set_params(n_states=self.model_.n_states_)
        return model.fit([parts[q] for q in train], [truths[q] for q in train])

    def _fold_scores(
        self,
        model: Any,
        members: Any,
        parts: list[Any],
        truths: list[Any],
        test: NDArray[np.int64],
    ) -> NDArray[np.float64]:
        """Return the score of every member on the sequences of a fold."""
        stacked = stack_sequences([parts[q] for q in test])
        scores = scores_on(as_hmm(model), stacked)
        point = PointLoss(self.loss, self.class_weight, self.labels, self.label_agg)
        states = family_states(scores, members, point)
        found = states if self.labels is None else np.asarray(self.labels)[states]
        true = np.concatenate([truths[q] for q in test])
        metric = SCORES[self.scoring] if isinstance(self.scoring, str) else self.scoring
        return np.array([metric(true, path) for path in found])

    def _choose(self, grid: NDArray[np.float64], members: Any, scores: NDArray[np.float64]) -> None:
        mean = scores.mean(axis=0)
        best = int(np.argmax(mean))
        self.C_ = members[best].C
        both = self.C_[0] + self.C_[1]
        self.alpha_ = float(self.C_[1] / both) if both else float("nan")
        self.best_score_ = float(mean[best])
        self.cv_results_ = {"alphas": grid, "mean_test_score": mean, "split_test_score": scores}
        self.decoder_ = HybridDecoder(
            self.model_,
            self.method if self.method != "k-block" else "hybrid-pvd",
            C=self.C_,
            loss=self.loss,
            labels=self.labels,
            beta=self.beta,
            class_weight=self.class_weight,
            label_agg=self.label_agg,
        )

    def predict(self, X: Any, lengths: ArrayLike | None = None) -> Any:
        """Return the paths by the chosen decoder.

        Parameters
        ----------
        X : array-like of shape (n_positions,) or (n_positions, n_features), or list of such
            Observations.
        lengths : array-like of int, optional
            Lengths of stacked sequences.

        Returns
        -------
        path : ndarray of shape (n_positions,), or list of such
            States counted from 0, or labels.
        """
        check_is_fitted(self)
        return self.decoder_.predict(X, lengths)

    def predict_proba(self, X: Any, lengths: ArrayLike | None = None) -> Any:
        """Return the posterior probabilities of the states of every position.

        Parameters
        ----------
        X : array-like of shape (n_positions,) or (n_positions, n_features), or list of such
            Observations.
        lengths : array-like of int, optional
            Lengths of stacked sequences.

        Returns
        -------
        proba : ndarray of shape (n_positions, n_classes), or list of such
            As `HybridDecoder.predict_proba`.
        """
        check_is_fitted(self)
        return self.decoder_.predict_proba(X, lengths)


@checked
def asymptotic_risks(
    model: Any, decoder: Any, T: int, n: int, *, k: float = 2, rng: Any = None
) -> dict[str, float]:
    """Estimate by simulation the risks that a decoder tends to on long sequences of a model.

    Parameters
    ----------
    model : HMMParams, or another form that `as_hmm` takes
        What sequences are drawn from, and decoded with.
    decoder : str, dict or HybridDecoder
        A method, keyword arguments of `HybridDecoder`, or a decoder, whose own model is replaced.
    T : int
        Length of the sequences.
    n : int
        Number of sequences, at least 2.
    k : float, default=2
        Block length of Rk and Rk_bar.
    rng : None, int, numpy Generator or RandomState
        Source of randomness.

    Returns
    -------
    risks : dict of str to float
        Means of the risks of `path_risks` and of ``error``, the share of wrong positions; the
        standard error of each stands under its name with ``_se``.

    Examples
    --------
    >>> from octavo.sequence import asymptotic_risks
    >>> dice = ([2 / 3, 1 / 3], [[0.95, 0.05], [0.1, 0.9]], [[1 / 6] * 6, [0.1] * 5 + [0.5]])
    >>> viterbi = asymptotic_risks(dice, "viterbi", T=500, n=20, rng=0)
    >>> pmap = asymptotic_risks(dice, "pmap", T=500, n=20, rng=0)
    >>> round(viterbi["R1"], 2), round(pmap["R1"], 2)
    (0.2, 0.17)
    """
    if n < 2:
        raise ValueError(f"n must be at least 2 for a standard error, got {n}.")
    if isinstance(decoder, HybridDecoder):
        chosen = clone(decoder).set_params(model=model)
    else:
        keywords = {"method": decoder} if isinstance(decoder, str) else dict(decoder)
        chosen = HybridDecoder(model, **keywords)
    lengths = np.full(n, T)
    # Section 7: the limit of the risks as T grows, over n chains of length T
    X, truth = simulate_hmm(model, lengths, generator(rng))
    scores = chosen._scores(X, lengths)
    states = state_path(scores, chosen.method, chosen._point_loss(), **chosen._choice())
    risks = path_risks_of_each(scores, states, chosen._point_loss(), k, truth)
    found = {name: float(values.mean()) for name, values in risks.items()}
    with np.errstate(invalid="ignore"):
        errors = {
            f"{name}_se": float(values.std(ddof=1) / np.sqrt(n)) for name, values in risks.items()
        }
    return found | errors
