"""Hidden Markov models in which a word has few tags: sparse posteriors along chains.

Reference: J. Graça, K. Ganchev, B. Taskar and F. Pereira (2009), "Posterior vs. parameter sparsity
in latent variable models", NIPS; the penalty is Eq. (7) of Gillenwater et al. (2011), with pairs of
word and hidden state as kinds.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.special import xlogy
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from octavo.engine.chains.inference import best_paths, chain_marginals
from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.probability.mixtures import safe_log
from octavo.engine.projections.group_balls import Groups, group_entries, largest_of_groups
from octavo.engine.smooth.em import climb
from octavo.structured.grammars.corpus import tag_lists
from octavo.structured.grammars.grammar import normalized
from octavo.structured.grammars.learning import GAP, ROUNDING
from octavo.structured.grammars.regularizer import project_posterior

__all__ = ["SparseTagHMM"]


class Chain(NamedTuple):
    """A hidden Markov model: first states (K,), transitions (K, K), words (K, W)."""

    start: Floats
    trans: Floats
    emission: Floats


class Words(NamedTuple):
    """Sentences one after the other as word numbers, their lengths, and where each begins."""

    numbers: Indices
    lengths: Indices
    firsts: Indices
    kinds: Groups  # features are (position, state); kinds are (word, state)


def pack_words(lists: list[list[Any]], words: np.ndarray, n_states: int) -> Words:
    """Return sentences as numbers; words unknown to the model are refused."""
    number = {word: i for i, word in enumerate(words.tolist())}
    unseen = sorted({str(w) for each in lists for w in each if w not in number})
    if unseen:
        raise ValueError(f"Words {', '.join(unseen[:10])} were not seen in training.")
    flat = np.array([number[w] for each in lists for w in each], dtype=np.int64)
    lengths = np.array([len(each) for each in lists], dtype=np.int64)
    kinds = flat[:, None] * n_states + np.arange(n_states)
    return Words(flat, lengths, np.cumsum(lengths) - lengths, group_entries(kinds.ravel()))


def chain_sums(model: Chain, words: Words, lam: Floats | None = None) -> tuple[Any, Chain]:
    """Return marginals under exp(-lam) weights and the counts that they add up to."""
    nodes = safe_log(model.emission)[:, words.numbers].T
    if lam is not None:
        nodes = nodes - lam.reshape(nodes.shape)  # exp(-λ) on (position, state)
    found = chain_marginals(
        safe_log(model.start), safe_log(model.trans), nodes, words.lengths, pairs="total"
    )
    assert found.pairs is not None
    emission = np.zeros((model.emission.shape[1], model.start.size))
    np.add.at(emission, words.numbers, found.nodes)
    return found, Chain(found.nodes[words.firsts].sum(axis=0), found.pairs, emission.T)


class _Step:
    """The regularised E-step, with dual numbers and the last posterior kept between calls."""

    def __init__(self, words: Words, n_states: int, sigma: float, inner_iter: int) -> None:
        self.words, self.sigma, self.inner_iter = words, sigma, inner_iter
        self.warm = np.zeros(words.numbers.size * n_states)
        self.last: tuple[Chain, float] | None = None

    def __call__(self, model: Chain) -> tuple[float, tuple[Chain, float]]:
        free, counts = chain_sums(model, self.words)
        loglik = float(free.log_partition.sum())

        def log_partition(lam: Floats) -> tuple[float, Floats, Chain]:
            found, mine = chain_sums(model, self.words, lam) if lam.any() else (free, counts)
            return float(found.log_partition.sum()) - loglik, found.nodes.ravel(), mine

        kinds = self.words.kinds
        found = project_posterior(
            log_partition, kinds, self.sigma, self.warm, tol=GAP, max_iter=self.inner_iter
        )
        self.warm = found.last
        bound, gap = loglik - found.value, found.gap
        if self.last is not None:
            kept = _expected(self.last[0], model) + self.last[1]  # F of Eq. (8) at the last q
            if kept > bound + ROUNDING * abs(
                bound
            ):  # as in the grammar's step: the bound never falls
                return kept, (self.last[0], max(bound + gap - kept, 0.0))
        penalty = self.sigma * float(largest_of_groups(found.expectations, kinds).sum())
        entropy = loglik - (found.value - penalty) - _expected(found.rest[0], model)
        self.last = found.rest[0], entropy - penalty
        return bound, (found.rest[0], gap)


def _expected(counts: Chain, model: Chain) -> float:
    return float(sum(xlogy(n, p).sum() for n, p in zip(counts, model)))


class SparseTagHMM(CallbackSupportMixin, SoundEstimator):
    """Hidden Markov model of words whose posterior gives each word few hidden tags.

    Parameters
    ----------
    n_states : int, default=5
        Hidden tags.
    sigma : float, default=10.0
        Price of a tag that a word takes with certainty somewhere; 0 is the plain model, by EM.
    n_iter : int, default=100
        Iterations.
    inner_iter : int, default=20
        Most sums over the corpus in the regularised step of one iteration.
    random_state : int, RandomState instance or None, default=None
        Draws the start.

    Attributes
    ----------
    words_ : ndarray of shape (n_words,)
        The words, sorted.
    startprob_ : ndarray of shape (n_states,)
        Chances of first tags.
    transmat_ : ndarray of shape (n_states, n_states)
        Chances of the next tag.
    emissionprob_ : ndarray of shape (n_states, n_words)
        Chances of words.
    lower_bounds_ : ndarray of shape (n_iter_ + 1,)
        Bound of the regularised likelihood at the start and after each iteration; never falls.
    lower_bound_ : float
        The last of them.
    duality_gap_ : float
        How far the last posterior may be from the best one.
    n_iter_ : int
        Iterations done.

    See Also
    --------
    DMV : The same penalty on dependencies.
    HMMMixture : Hidden Markov models of numbers, and mixtures of them.

    Notes
    -----
    Not for sequences of measurements, nor where tags are known: use `HighOrderCRF` then. Local
    optima abound; try several ``random_state``.

    References
    ----------
    .. [1] J. Graça, K. Ganchev, B. Taskar and F. Pereira (2009). Posterior vs. parameter sparsity
       in latent variable models. NIPS.

    Examples
    --------
    >>> from octavo.structured import SparseTagHMM
    >>> words = [["the", "dog", "barks"], ["a", "cat", "sleeps"], ["the", "cat", "barks"]] * 4
    >>> model = SparseTagHMM(3, sigma=2.0, n_iter=50, random_state=0).fit(words)
    >>> len(set(model.predict([["a", "dog", "sleeps"]])[0].tolist()))
    3
    """

    _parameter_constraints: dict[str, Any] = {
        "n_states": [Interval(Integral, 1, None, closed="left")],
        "sigma": [Interval(Real, 0, None, closed="left")],
        "n_iter": [Interval(Integral, 0, None, closed="left")],
        "inner_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(self, n_states=5, sigma=10.0, n_iter=100, inner_iter=20, random_state=None):
        self.n_states = n_states
        self.sigma = sigma
        self.n_iter = n_iter
        self.inner_iter = inner_iter
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        return tags

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, sequences: Any, y: Any = None) -> Self:
        """Learn tags of words from sentences.

        Parameters
        ----------
        sequences : list of list of str or int
            Words of each sentence.
        y : None
            Not used.

        Returns
        -------
        self : SparseTagHMM
            Fitted.
        """
        lists = tag_lists(sequences)
        names = np.array(sorted({word for each in lists for word in each}))
        K, random = self.n_states, check_random_state(self.random_state)
        words = pack_words(lists, names, K)
        start = Chain(
            random.dirichlet(np.ones(K)),
            random.dirichlet(np.ones(K), size=K),
            random.dirichlet(np.ones(len(names)), size=K),
        )
        step = _Step(words, K, float(self.sigma), self.inner_iter)
        with FitProgress(self, self.n_iter, sequences) as progress:
            run = climb(
                step,
                lambda _, found: Chain(*(normalized(n) for n in found[0])),
                start,
                max_iter=self.n_iter,
                tol=-1.0,
                progress=progress,
            )
        self.words_ = names
        self.startprob_, self.transmat_, self.emissionprob_ = run.params
        self.lower_bounds_, self.lower_bound_ = run.trace, float(run.trace[-1])
        self.duality_gap_, self.n_iter_ = float(run.expectations[1]), run.n_iter
        return self

    def _packed(self, sequences: Any) -> tuple[Chain, Words]:
        check_is_fitted(self, "emissionprob_")
        model = Chain(self.startprob_, self.transmat_, self.emissionprob_)
        return model, pack_words(tag_lists(sequences), self.words_, self.startprob_.size)

    def predict(self, sequences: Any) -> list[Indices]:
        """Return the most probable tags of each sentence.

        Parameters
        ----------
        sequences : list of list of str or int
            Words of each sentence.

        Returns
        -------
        list of ndarray of int
            Tag numbers; -1 throughout a sentence of probability zero.
        """
        model, words = self._packed(sequences)
        nodes = safe_log(model.emission)[:, words.numbers].T
        paths = best_paths(safe_log(model.start), safe_log(model.trans), nodes, words.lengths)
        return np.split(paths.states, words.firsts[1:])

    def predict_proba(self, sequences: Any) -> list[Floats]:
        """Return the chance of each tag for each word.

        Parameters
        ----------
        sequences : list of list of str or int
            Words of each sentence.

        Returns
        -------
        list of ndarray of shape (n, n_states)
            Rows add up to one.
        """
        model, words = self._packed(sequences)
        return np.split(chain_sums(model, words)[0].nodes, words.firsts[1:])

    def score_samples(self, sequences: Any) -> Floats:
        """Return the log-likelihood of each sentence, given its length.

        Parameters
        ----------
        sequences : list of list of str or int
            Words of each sentence.

        Returns
        -------
        ndarray of shape (n_sentences,)
            Log-likelihoods.
        """
        model, words = self._packed(sequences)
        return chain_sums(model, words)[0].log_partition

    def score(self, sequences: Any, y: Any = None) -> float:
        """Return the mean log-likelihood of a sentence.

        Parameters
        ----------
        sequences : list of list of str or int
            Words of each sentence.
        y : None
            Not used.

        Returns
        -------
        float
            The mean of `score_samples`.
        """
        return float(self.score_samples(sequences).mean())
