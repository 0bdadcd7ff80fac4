"""What all topic estimators share: counts in, chains that can go on, topics of new documents."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.callback import CallbackSupportMixin
from sklearn.utils.validation import check_is_fitted

from octavo.bayes.max_margin_topics.chain import TopicChain
from octavo.bayes.max_margin_topics.corpora import Corpus, as_corpus, check_counts, refuse_empty
from octavo.bayes.max_margin_topics.hinge_terms import HingeTerms
from octavo.bayes.max_margin_topics.token_sweeps import infer_topics
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.mcmc.chains import chain_generators

POSITIVE = Interval(Real, 0, None, closed="neither")
TOPIC_CONSTRAINTS: dict[str, Any] = {
    "n_topics": [Interval(Integral, 1, None, closed="left")],
    "alpha": [POSITIVE],
    "beta": [POSITIVE],
    "n_iter": [Interval(Integral, 1, None, closed="left")],
    "n_avg": [Interval(Integral, 1, None, closed="left")],
    "n_infer_iter": [Interval(Integral, 1, None, closed="left")],
    "n_infer_burn": [Interval(Integral, 0, None, closed="left")],
    "random_state": ["random_state"],
    "warm_start": ["boolean"],
}
SUPERVISED_CONSTRAINTS: dict[str, Any] = TOPIC_CONSTRAINTS | {
    "c": [Interval(Real, 0, None, closed="left")],
    "nu2": [POSITIVE],
    "method": [StrOptions({"gibbs", "em"})],
}
MOST_CELLS = 2**31  # of words x topics, 16 GiB: refused before memory is


def check_sweeps(n_iter: Any) -> None:
    """Raise unless a number of sweeps is one."""
    if isinstance(n_iter, bool) or not isinstance(n_iter, Integral) or n_iter < 1:
        raise ValueError(f"n_iter must be a whole number of at least 1; got {n_iter!r}.")


class _Averages:
    """Sums over the last sweeps of a chain."""

    def __init__(self) -> None:
        self.n = 0
        self.sums: tuple[Floats, ...] = ()

    def add(self, chain: TopicChain) -> None:
        new = (chain.phi, chain.shares, chain.eta.copy())
        self.sums = new if self.n == 0 else tuple(a + b for a, b in zip(self.sums, new))
        self.n += 1

    def means(self) -> tuple[Floats, Floats, Floats]:
        phi, shares, eta = (total / self.n for total in self.sums)
        return phi, shares, eta


def _run(chain: TopicChain, n_iter: int, n_avg: int, step: Any = None) -> Any:
    """Sweep `n_iter` times; return the chain and means over the last `n_avg` sweeps."""
    averages = _Averages()
    for t in range(n_iter):
        chain.sweep()
        stop = step is not None and step()
        if t >= n_iter - n_avg or stop:
            averages.add(chain)
        if stop:
            break
    return chain, averages.means()


class TopicBase(
    CallbackSupportMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, SoundEstimator
):
    """Topics of documents; what is learned from labels is left to those that have them.

    Parameters
    ----------
    alpha : float, default=1.0
        Concentration of topics in a document; each has Dirichlet parameter ``alpha / n_topics``.
    beta : float, default=0.01
        Dirichlet parameter of each word in a topic.
    n_avg : int, default=10
        What is fitted is a mean over the last so many sweeps; with 1 it is the last state.
    n_infer_burn : int, default=10
        Sweeps over a new document that are thrown away.
    n_infer_iter : int, default=30
        Sweeps over a new document, those of its burn-in included.
    n_iter : int, default=50
        Number of sweeps over all words.
    warm_start : bool, default=False
        Let `fit` start from the topics of the last fit; on the same documents it goes on with the
        chain.

    Attributes
    ----------
    components_ : ndarray of shape (n_topics, n_words)
        Probabilities of words; rows sum to one.
    doc_topic_ : ndarray of shape (n_documents, n_topics)
        Which part of each document each topic has.
    log_likelihoods_ : ndarray of shape (n_sweeps,)
        log p(words, topics of words) after each sweep.
    """

    _chains: list[TopicChain]

    def _corpus(self, X: Any) -> Corpus:
        corpus = as_corpus(check_counts(self, X, reset=True))
        refuse_empty(corpus)
        if corpus.n_words * self.n_topics > MOST_CELLS:
            raise ValueError(
                f"n_topics must be at most {MOST_CELLS // corpus.n_words} for {corpus.n_words} "
                f"words: the table of both does not fit; got {self.n_topics}."
            )
        self._check_inference()
        return corpus

    def _check_inference(self) -> None:
        if self.n_infer_burn >= self.n_infer_iter:
            raise ValueError(
                "n_infer_iter must be larger than n_infer_burn, or no draw is left; got "
                f"n_infer_iter={self.n_infer_iter} and n_infer_burn={self.n_infer_burn}."
            )

    def _start(self, corpus: Corpus, groups: Sequence[HingeTerms | None]) -> list[TopicChain]:
        """Return a chain for each group of tasks; warm chains where they are asked for."""
        # α_k = α / K: one prior mass of topics, however many they are
        alpha, old = self.alpha / self.n_topics, getattr(self, "_chains", None)
        nu2, method = getattr(self, "nu2", 1.0), getattr(self, "method", "gibbs")
        if self.warm_start and old and len(old) == len(groups) and self._fits(old[0], corpus):
            same = np.array_equal(old[0].corpus.words, corpus.words) and np.array_equal(
                old[0].corpus.starts, corpus.starts
            )
            if same:
                for chain, terms in zip(old, groups, strict=True):
                    chain.alpha, chain.beta = alpha, self.beta
                    chain.nu2, chain.method = nu2, method
                    chain.set_terms(terms)
                    chain.losses, chain.log_likelihoods = [], []
                return old
        else:
            old = None
        # the seed of predictions comes last, so that it does not move the chains
        rngs = chain_generators(self.random_state, len(groups) + 1)
        self._seed = np.uint64(rngs[-1].integers(1, 2**63))
        chains = []
        for i, (terms, rng) in enumerate(zip(groups, rngs[:-1], strict=True)):
            topics = None if old is None else self._infer(corpus, old[i].phi)[1]
            chains.append(
                TopicChain(corpus, self.n_topics, alpha, self.beta, terms, nu2, rng, method, topics)
            )
        return chains

    def _fits(self, chain: TopicChain, corpus: Corpus) -> bool:
        return chain.n_topics == self.n_topics and chain.corpus.n_words == corpus.n_words

    def _sample(self, n_iter: int, X: Any = None, y: Any = None) -> None:
        """Let the chains go on and set what is fitted."""
        chains, n_jobs = self._chains, getattr(self, "n_jobs", None)
        n_avg = min(self.n_avg, n_iter)
        if len(chains) == 1:
            with FitProgress(self, n_iter, X, y, step_name="sweep") as progress:
                found = [_run(chains[0], n_iter, n_avg, progress.step)]
        else:
            jobs = (delayed(_run)(chain, n_iter, n_avg) for chain in chains)
            found = []
            with FitProgress(self, len(chains), X, y, step_name="chain") as progress:
                for one in Parallel(n_jobs=n_jobs, return_as="generator")(jobs):
                    found.append(one)
                    progress.step()
        self._chains = [chain for chain, _ in found]
        phis, shares, etas = zip(*(means for _, means in found), strict=True)
        self.components_ = np.ascontiguousarray(np.hstack(phis).T)
        self.doc_topic_ = np.hstack(shares)
        # each chain's weights see its own topics alone
        self._weights = etas[0] if len(etas) == 1 else sp.block_diag(etas).toarray()
        self._n_features_out = self.components_.shape[0]
        logs = np.array([chain.log_likelihoods for chain in self._chains])
        self.log_likelihoods_ = logs.sum(axis=0)
        self._seen = self._chains[0].word_topic.sum(axis=1) > 0.0
        if self._chains[0].terms is not None:
            self.losses_ = np.array([chain.losses for chain in self._chains]).sum(axis=0)

    def continue_fit(self, n_iter: int = 1) -> Self:
        """Go on with the chain where it stands.

        Parameters
        ----------
        n_iter : int, default=1
            Number of further sweeps. What is fitted is averaged over the last `n_avg` of them, or
            over all where they are fewer.

        Returns
        -------
        self : estimator
            With the traces of all sweeps so far.
        """
        check_is_fitted(self)
        check_sweeps(n_iter)
        self._sample(int(n_iter))
        self._finish()
        return self  # E η and E φ over the last sweeps of one chain: its topics keep their order

    def _add(self, corpus: Corpus, groups: Sequence[HingeTerms | None], n_iter: int) -> Self:
        """Add documents to the chains, whose labels are those of old and new, and go on."""
        for chain, terms in zip(self._chains, groups, strict=True):
            chain.add_documents(corpus, self._infer(corpus, chain.phi)[1], terms)
        self._sample(int(n_iter))
        self._finish()
        return self

    def _more(self, X: Any, n_iter: int) -> Corpus:
        """Return further documents, over the words of fit, once the sweeps are counted too."""
        check_sweeps(n_iter)
        corpus = as_corpus(check_counts(self, X, reset=False))
        refuse_empty(corpus)
        return corpus

    def _finish(self) -> None:
        """Set what else is fitted; nothing for plain topics."""

    def _infer(self, corpus: Corpus, phi: Floats) -> tuple[Floats, Any]:
        """Return mean counts of topics in documents and the last draw, given φ (words x topics)."""
        self._check_inference()
        counts = np.zeros((corpus.starts.size - 1, phi.shape[1]))
        topics = np.zeros(corpus.words.size, dtype=np.int32)
        infer_topics(
            corpus.words,
            corpus.starts,
            np.ascontiguousarray(phi),
            self.alpha / self.n_topics,
            self.n_infer_iter,
            self.n_infer_burn,
            self._seed,
            np.empty(4, dtype=np.uint64),
            np.empty((2, phi.shape[1])),
            topics,
            counts,
        )
        return counts, topics

    def _known_words(self, X: Any) -> Corpus:
        """Return the tokens of new documents that fit has seen; warn where none is left."""
        check_is_fitted(self)
        X = check_counts(self, X, reset=False)
        X = sp.csr_array(X @ sp.diags_array(self._seen.astype(np.float64)))
        X.eliminate_zeros()
        X.sort_indices()
        corpus = as_corpus(X)
        empty = np.flatnonzero(np.diff(corpus.starts) == 0)
        if empty.size:
            warnings.warn(
                f"{empty.size} rows of X, the first of them row {empty[0]}, have no word that was "
                "seen in fit: their topics are zero.",
                stacklevel=3,
            )
        return corpus

    def transform(self, X: Any) -> Floats:
        """Return which part of each document each topic has, given the topics of fit.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_documents, n_words)
            Counts. Words that no document of fit holds are left out.

        Returns
        -------
        doc_topic : ndarray of shape (n_documents, n_topics)
            Means over draws (Section 4.4); rows sum to one, or to zero where no word is known. The
            same document always has the same answer.
        """
        corpus = self._known_words(X)
        blocks = np.split(self.components_.T, len(self._chains), axis=1)
        counts = np.hstack([self._infer(corpus, phi)[0] for phi in blocks])
        return counts / np.maximum(corpus.lengths, 1.0)[:, None]

    def perplexity(self, X: Any) -> float:
        """Return exp of minus the mean log-probability of a word, given drawn topics of documents.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_documents, n_words)
            Counts.

        Returns
        -------
        perplexity : float
            Smaller is better; words unseen in fit are left out.
        """
        corpus = self._known_words(X)
        if corpus.words.size == 0:
            raise ValueError("Perplexity needs a word that was seen in fit; X has none.")
        phi = self.components_[: self.n_topics].T
        counts, alpha = self._infer(corpus, phi)[0], self.alpha / self.n_topics
        # E(θ | z): (C_k + α_k) / (N + α)
        theta = (counts + alpha) / (corpus.lengths[:, None] + self.alpha)
        rows = np.repeat(np.arange(corpus.lengths.size), np.diff(corpus.starts))
        total, n_words = 0.0, corpus.words.size
        for start in range(0, n_words, 100_000):
            cut = slice(start, start + 100_000)
            chances = np.einsum("nk,nk->n", theta[rows[cut]], phi[corpus.words[cut]])
            total += float(np.log(chances).sum())
        return float(np.exp(-total / n_words))

    def top_words(self, feature_names: Any = None, n: int = 10) -> list[list[Any]]:
        """Return the most probable words of each topic.

        Parameters
        ----------
        feature_names : array-like of shape (n_words,), optional
            The words; names seen in fit, else column numbers, by default.
        n : int, default=10
            How many of each topic.

        Returns
        -------
        words : list of list
            One list a topic, the most probable first.
        """
        check_is_fitted(self)
        if isinstance(n, bool) or not isinstance(n, Integral) or n < 1:
            raise ValueError(f"n must be a whole number of at least 1; got {n!r}.")
        if feature_names is None:
            feature_names = getattr(self, "feature_names_in_", range(self.n_features_in_))
        names = np.asarray(feature_names)
        if names.shape != (self.n_features_in_,):
            raise ValueError(
                f"feature_names must hold one name for each of the {self.n_features_in_} words; "
                f"got shape {names.shape}."
            )
        order = np.argsort(-self.components_, axis=1, kind="stable")[:, :n]
        return [names[row].tolist() for row in order]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.input_tags.two_d_array = False  # counts of words, not any table
        return tags
