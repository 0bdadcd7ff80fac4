"""The state of a topic sampler and its sweep: Algorithms 1, 2 and 3, and the EM-type iteration.

A sweep draws the weights given topics and scales, every topic given weights and scales, and the
scales given both. Without labels it draws topics alone, which is latent Dirichlet allocation. The
EM-type iteration (Section 3.2: the expected classifier) fits a support vector machine to the mean
topics instead of drawing weights, and tilts the topics of its support vectors.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import gammaln

from octavo.bayes.max_margin_topics.corpora import Corpus, appended
from octavo.bayes.max_margin_topics.hinge_terms import HingeTerms, draw_weights
from octavo.bayes.max_margin_topics.modes import hinge_mode
from octavo.bayes.max_margin_topics.token_sweeps import sweep_tokens, work_space
from octavo.engine.estimators.arrays import Floats
from octavo.engine.mcmc.compiled_draws import draw_state

# Share of the newest draw in the mean topics that the EM-type iteration fits its machine to.
NEWEST = 0.5


class TopicChain:
    """A corpus with a topic for every token, and what is learned from the labels.

    Parameters
    ----------
    corpus : Corpus
        Documents, none of them empty.
    n_topics : int
        Number of topics K.
    alpha, beta : float
        Dirichlet parameters of a topic in a document (the paper's α / K) and of a word in a topic.
    terms : HingeTerms or None
        The labels; none for plain topics.
    nu2 : float
        Prior variance of the weights.
    rng : Generator
        Source of all its draws.
    method : {"gibbs", "em"}, default="gibbs"
        Which iteration.
    topics : ndarray of shape (n_tokens,), optional
        Where to start; uniform draws by default.
    """

    def __init__(
        self,
        corpus: Corpus,
        n_topics: int,
        alpha: float,
        beta: float,
        terms: HingeTerms | None,
        nu2: float,
        rng: np.random.Generator,
        method: str = "gibbs",
        topics: Any = None,
    ) -> None:
        self.n_topics = n_topics
        self.alpha, self.beta, self.nu2, self.method = alpha, beta, nu2, method
        # topics have a stream of their own: labels that count for nothing change nothing
        self.rng, self.state, self.scale_state = rng, draw_state(rng), draw_state(rng)
        if topics is None:
            topics = rng.integers(0, n_topics, corpus.words.size)
        self.work = work_space(n_topics)
        self.set_documents(corpus, topics)
        self.losses: list[float] = []
        self.log_likelihoods: list[float] = []
        self.eta: Floats
        self.scales: Floats
        self.mean_shares: Floats | None
        self.set_terms(terms)

    def set_documents(self, corpus: Corpus, topics: Any) -> None:
        """Give the chain documents and a topic for each of their words."""
        self.corpus, self.lengths = corpus, corpus.lengths
        self.topics = np.ascontiguousarray(topics, dtype=np.int32)
        n_documents = self.lengths.size
        document = np.repeat(np.arange(n_documents), np.diff(corpus.starts))
        self.doc_topic = self._count(document, n_documents)
        self.word_topic = self._count(corpus.words, corpus.n_words)
        self.totals = self.doc_topic.sum(axis=0)

    def add_documents(self, corpus: Corpus, topics: Any, terms: HingeTerms | None) -> None:
        """Add documents with the topics of their words; `terms` are the labels of old and new.

        Weights and the scales of old documents stay, those of new ones start at one.
        """
        eta, scales, mean = self.eta, self.scales, self.mean_shares
        self.set_documents(appended(self.corpus, corpus), np.append(self.topics, topics))
        self.set_terms(terms)
        self.eta = eta
        self.scales[:, : scales.shape[1]] = scales
        if mean is not None:
            self.mean_shares = np.vstack([mean, self.shares[len(mean) :]])

    def set_terms(self, terms: HingeTerms | None) -> None:
        """Give the documents other labels; scales start at one."""
        n_documents, n_tasks = self.lengths.size, 0 if terms is None else terms.n_tasks
        self.terms = terms
        self.eta = np.zeros((n_tasks, self.n_topics))
        self.scales = np.ones((1, n_documents, 0) if terms is None else terms.margins.shape)
        self.lin, self.quad = np.zeros((2, n_documents, n_tasks))
        self.mean_shares = None

    def _count(self, owners: Any, n_owners: int) -> Floats:
        flat = owners.astype(np.int64) * self.n_topics + self.topics
        return (
            np.bincount(flat, minlength=n_owners * self.n_topics)
            .reshape(n_owners, self.n_topics)
            .astype(np.float64)
        )

    @property
    def shares(self) -> Floats:
        """The z̄ of every document: which part of its tokens each topic has."""
        return self.doc_topic / self.lengths[:, None]

    @property
    def phi(self) -> Floats:
        """The words of topics, words x topics, columns sum to one (Section 4.4)."""
        smooth = self.word_topic + self.beta
        return smooth / (self.totals + self.beta * self.corpus.n_words)  # φ̂_kt of Section 4.4

    def sweep(self) -> None:
        """Change everything once."""
        if self.terms is not None:
            self._learn()
        failed = sweep_tokens(  # Algorithms 1 to 3: each token by Eq. (11), (18) or (23)
            self.corpus.words,
            self.corpus.starts,
            self.topics,
            self.doc_topic,
            self.word_topic,
            self.totals,
            self.alpha,
            self.beta,
            self.eta,
            self.lin,
            self.quad,
            self.state,
            *self.work,
        )
        if failed:
            raise ValueError(
                f"The weights of topics in row {failed - 1} of X overflow: c, margin, nu2 or the "
                "targets are too large, or alpha and beta too small, for numbers of 64 bits."
            )
        if self.terms is not None:
            scores = self.shares @ self.eta.T
            if self.method == "gibbs":
                # Eq. (12), (19) and (20), (24)
                self.scales = self.terms.draw_scales(scores, self.scale_state)
            self.losses.append(self.terms.loss(scores))
        self.log_likelihoods.append(self.log_likelihood())

    def _learn(self) -> None:
        """Draw the weights, or fit them, and note what topics see of the labels."""
        assert self.terms is not None
        if self.method == "gibbs":
            self.lin, self.quad = self.terms.quadratic(self.scales)
            # Eq. (10), (17), (22)
            self.eta = draw_weights(self.shares, self.lin, self.quad, self.nu2, self.rng)
            return
        now, past = self.shares, self.mean_shares
        self.mean_shares = now if past is None else NEWEST * now + (1.0 - NEWEST) * past
        for i in range(self.terms.n_tasks):  # Eq. (5)
            task = self.terms.task(i)
            mode = hinge_mode(self.mean_shares, task, self.nu2, tol=1e-4)
            self.eta[i] = mode.weights
            self.lin[:, i] = (task.signs[..., 0] * mode.duals).sum(axis=0)  # Eq. (6)

    def log_likelihood(self) -> float:
        """Return log p(W, Z | α, β), topics and their words integrated out."""
        return _log_dirichlet(self.doc_topic, self.lengths, self.alpha) + _log_dirichlet(
            self.word_topic.T, self.totals, self.beta
        )


def _log_dirichlet(counts: Floats, sizes: Floats, prior: float) -> float:
    """Return the log probability of counts, in one order, under Dirichlet-multinomial laws."""
    whole = counts.astype(np.int64)
    # log Γ(n + β) - log Γ(β) for all n that occur
    # logs of whole-number steps: gammaln would be asked for every cell
    rising = np.concatenate([[0.0], np.cumsum(np.log(np.arange(whole.max(initial=0)) + prior))])
    mass = prior * counts.shape[1]
    return float(rising[whole].sum() + (gammaln(mass) - gammaln(mass + sizes)).sum())
