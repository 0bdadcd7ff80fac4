"""Dependency grammars from tag sequences alone: the dependency model with valence.

Learns which tags govern which, by EM, with a Dirichlet prior, or with a penalty on the number of
kinds of dependencies that the posterior uses.

Reference: J. Gillenwater, K. Ganchev, J. Graça, F. Pereira and B. Taskar (2011), "Posterior
Sparsity in Unsupervised Dependency Parsing", Journal of Machine Learning Research 12: all of it but
the logistic normal priors, structural annealing and contrastive estimation that it compares with.
"""

from __future__ import annotations

from math import exp
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.probability.mixtures import safe_log
from octavo.engine.trees.dependency_draws import draw_dependency_tree
from octavo.engine.trees.projective import best_projective_trees
from octavo.structured.grammars.corpus import (
    Corpus,
    check_projective,
    encode,
    head_arrays,
    tag_lists,
)
from octavo.structured.grammars.evaluation import dependency_ambiguity
from octavo.structured.grammars.grammar import (
    Counts,
    Grammar,
    best_trees,
    edge_tables,
    estimated,
    smoothed,
    sum_over_trees,
)
from octavo.structured.grammars.learning import (
    Learned,
    check_possible,
    edge_features,
    expected_log_probability,
    learn_em,
    learn_pr,
    learn_sdp,
    project_trees,
)
from octavo.structured.grammars.starts import (
    harmonic_counts,
    pooled_grammar,
    random_grammar,
    uniform_grammar,
)

__all__ = ["DMV"]

LEARNING = ("em", "sdp", "pr-s", "pr-as")
STARTS = ("harmonic", "random", "random-pools", "uniform")
SMOOTHING = exp(-10)
LONGEST = 10_000  # a sentence that is longer comes of a grammar that does not end


class DMV(CallbackSupportMixin, SoundEstimator):
    """Dependency model with valence: a grammar of heads and dependents, from tags alone.

    Parameters
    ----------
    stop_valence : int, default=2
        Classes of the number of dependents that the choice to stop depends on; the last holds that
        many or more, counted from zero. 2 and 1 are the plain model.
    child_valence : int, default=1
        The same for the choice of a dependent.
    backoff : float or None, default=None
        Share of dependents that are drawn by head, the others being drawn whatever the head (the
        paper's λ, 1/3 there); None for all of them.
    learning : {"em", "sdp", "pr-s", "pr-as"}, default="em"
        EM; variational Bayes with a Dirichlet prior of ``alpha``; posterior regularisation with
        strength ``sigma``, of pairs of tokens or of tokens and tags of parents.
    sigma : float, default=120.0
        Price of a kind of dependency, in nats; see `scale_sigma`.
    alpha : float, default=0.25
        Parameter of the Dirichlet prior; below one half it makes the grammar sparse.
    init : {"harmonic", "random", "random-pools", "uniform"} or DMV, default="harmonic"
        Where to start: near heads first; random parameters; the best of 20 random ones after 5
        steps of EM by held-out likelihood; equal chances; or a fitted model, of other valences too.
    n_iter : int, default=100
        Iterations.
    inner_iter : int, default=20
        Most sums over the corpus in the regularised step of one iteration.
    smoothing : float, default=exp(-10)
        Added to every parameter in the end.
    n_jobs : int, default=None
        Threads.
    random_state : int, RandomState instance or None, default=None
        Draws random starts.

    Attributes
    ----------
    tags_ : ndarray of shape (n_tags,)
        The tags, sorted.
    root_ : ndarray of shape (n_tags,)
        Chance of each tag to be the root.
    stop_ : ndarray of shape (n_tags, 2, stop_valence)
        Chance of a head to stop, on the left (0) and right (1), by dependents taken there.
    child_ : ndarray of shape (n_tags, 2, child_valence, n_tags)
        Chance of each dependent by head, side and dependents taken, the outermost being taken
        first.
    lower_bounds_ : ndarray of shape (n_iter_ + 1,)
        Log-likelihood (EM), variational bound (Dirichlet prior) or a lower bound of J
        (regularised), at the start and after each iteration, before smoothing; it never falls.
    lower_bound_ : float
        The last of them.
    duality_gap_ : float
        How far the last regularised posterior may be from the best one; zero without a penalty.
    dual_ : list of ndarray of shape (n + 1, n) or None
        Penalties of the edges of each training sentence; None without a penalty.
    ambiguity_ : float
        `dependency_ambiguity` of the training sentences, of the measure that ``learning`` names.
    n_iter_ : int
        Iterations done.

    See Also
    --------
    L1LinfPosteriorRegularizer : The penalty alone, for other models.
    attachment_score, dependency_error_table : Judge heads.

    Notes
    -----
    Not where trees are at hand: `fit_supervised` counts them, and neural parsers do better. What is
    learned without trees are local optima whose quality no likelihood tells, and neither ``sigma``
    nor the number of iterations can be chosen without trees. Score both directed and undirected
    attachment. `predict` uses the model itself; the paper found the regularised posterior worse.

    References
    ----------
    .. [1] J. Gillenwater, K. Ganchev, J. Graça, F. Pereira and B. Taskar (2011). Posterior Sparsity
       in Unsupervised Dependency Parsing. Journal of Machine Learning Research 12.
    .. [2] D. Klein and C. Manning (2004). Corpus-based induction of syntactic structure. ACL.

    Examples
    --------
    >>> from octavo.structured import DMV
    >>> tags = [["D", "N", "V"], ["N", "V"], ["D", "N", "V", "D", "N"], ["N", "V", "N"]] * 5
    >>> model = DMV(learning="pr-s", sigma=5.0, n_iter=30).fit(tags)
    >>> model.predict([["D", "N", "V", "N"]])[0].tolist()
    [2, 3, 0, 3]
    """

    _parameter_constraints: dict[str, Any] = {
        "stop_valence": [Interval(Integral, 1, None, closed="left")],
        "child_valence": [Interval(Integral, 1, None, closed="left")],
        "backoff": [Interval(Real, 0, 1, closed="right"), None],
        "learning": [StrOptions(set(LEARNING))],
        "sigma": [Interval(Real, 0, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "init": [StrOptions(set(STARTS)), object],
        "n_iter": [Interval(Integral, 0, None, closed="left")],
        "inner_iter": [Interval(Integral, 1, None, closed="left")],
        "smoothing": [Interval(Real, 0, None, closed="left")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        stop_valence=2,
        child_valence=1,
        backoff=None,
        learning="em",
        sigma=120.0,
        alpha=0.25,
        init="harmonic",
        n_iter=100,
        inner_iter=20,
        smoothing=SMOOTHING,
        n_jobs=None,
        random_state=None,
    ):
        self.stop_valence = stop_valence
        self.child_valence = child_valence
        self.backoff = backoff
        self.learning = learning
        self.sigma = sigma
        self.alpha = alpha
        self.init = init
        self.n_iter = n_iter
        self.inner_iter = inner_iter
        self.smoothing = smoothing
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        return tags

    # --- learning -------------------------------------------------------------------------------

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, sequences: Any, y: Any = None) -> Self:
        """Learn a grammar from sentences without trees.

        Parameters
        ----------
        sequences : list of list of str or int
            Tags of each sentence.
        y : None
            Not used.

        Returns
        -------
        self : DMV
            Fitted.
        """
        self._check_init()
        corpus, tags = encode(sequences)
        random = check_random_state(self.random_state)
        with FitProgress(self, self.n_iter, sequences) as progress:
            learned = self._learn(corpus, tags, random, progress)
        self._keep(learned.grammar, tags)
        self.lower_bounds_ = learned.climb.trace
        self.duality_gap_ = float(learned.gap)
        self.n_iter_ = learned.climb.n_iter
        self.dual_ = None if learned.lam is None else _by_sentence(corpus, learned.lam)
        self._end(corpus, sequences)
        return self

    def _check_init(self) -> None:
        if isinstance(self.init, DMV) or (isinstance(self.init, str) and self.init in STARTS):
            return
        error = ValueError if isinstance(self.init, str) else TypeError
        shown = self.init if isinstance(self.init, str) else type(self.init).__name__
        raise error(
            f"The 'init' parameter of DMV must be one of {', '.join(STARTS)} or a fitted DMV, got "
            f"{shown!r}."
        )

    def _end(self, corpus: Corpus, sequences: Any) -> None:
        self.lower_bound_ = float(self.lower_bounds_[-1])
        trees = sum_over_trees(self._grammar, corpus, n_jobs=self.n_jobs)
        self.ambiguity_ = dependency_ambiguity(
            _by_sentence(corpus, trees.edges), sequences, self.learning != "pr-as"
        )

    def _learn(self, corpus: Corpus, tags: Any, random: Any, progress: FitProgress) -> Learned:
        start, counts = self._start(corpus, tags, random)
        if self.learning == "em":
            return learn_em(corpus, start, self.n_iter, progress, self.n_jobs)
        if self.learning == "sdp":
            if counts is None:
                trees = sum_over_trees(start, corpus, n_jobs=self.n_jobs)
                check_possible(trees.log_partition)
                counts = trees.counts
            return learn_sdp(
                corpus, counts, start.backoff, self.alpha, self.n_iter, progress, self.n_jobs
            )
        return learn_pr(
            corpus,
            start,
            self.learning == "pr-s",
            float(self.sigma),
            self.n_iter,
            self.inner_iter,
            progress,
            self.n_jobs,
        )

    def _shape(self, n_tags: int) -> Grammar:
        share = 1.0 if self.backoff is None else float(self.backoff)
        return uniform_grammar(n_tags, self.stop_valence, self.child_valence, share)

    def _start(self, corpus: Corpus, tags: Any, random: Any) -> tuple[Grammar, Counts | None]:
        """Return a grammar to start from, and its counts where it was made from some."""
        shape = self._shape(corpus.n_tags)
        if isinstance(self.init, DMV):
            return self._warm(self.init, corpus, tags, shape)
        if self.init == "uniform":
            return shape, None
        if self.init == "random":
            return random_grammar(shape, random), None
        if self.init == "random-pools":
            return pooled_grammar(corpus, shape, random, self.n_jobs), None
        counts = harmonic_counts(corpus, shape)
        return estimated(counts, None, shape.backoff), counts

    def _warm(
        self, other: DMV, corpus: Corpus, tags: Any, shape: Grammar
    ) -> tuple[Grammar, Counts | None]:
        check_is_fitted(other, "root_")
        number = {tag: i for i, tag in enumerate(other.tags_.tolist())}
        unseen = [str(tag) for tag in tags.tolist() if tag not in number]
        if unseen:
            raise ValueError(
                f"Tags {', '.join(unseen[:10])} are unknown to the model in init. Fit it on "
                "sequences with all tags."
            )
        mine, theirs = np.array([number[tag] for tag in tags.tolist()]), other._grammar
        total = theirs.own[mine][..., mine].sum(axis=-1, keepdims=True)
        some = np.where(total > 0, total, 1.0)
        known = Grammar(
            theirs.root[mine],
            theirs.stop[mine],
            theirs.go[mine],
            theirs.own[mine][..., mine] / some,
            theirs.shared[..., mine],
            theirs.backoff,
        )
        same = all(a.shape == b.shape for a, b in zip(known[:5], shape[:5]))
        if same and known.backoff == shape.backoff:
            return known, None
        # in classes fine enough for both models, so that counts can be folded into the new ones
        Vs, Vc = shape.stop.shape[2], shape.own.shape[2]
        s = np.minimum(np.arange(Vs), known.stop.shape[2] - 1)
        c = np.minimum(np.arange(Vc), known.own.shape[2] - 1)
        wide = known._replace(
            stop=known.stop[:, :, s],
            go=known.go[:, :, s],
            own=known.own[:, :, c],
            shared=known.shared[:, c],
        )
        trees = sum_over_trees(wide, corpus, n_jobs=self.n_jobs)
        check_possible(trees.log_partition)
        return estimated(trees.counts, None, shape.backoff), trees.counts

    @fit_context(prefer_skip_nested_validation=True)
    def fit_supervised(self, sequences: Any, heads: Any) -> Self:
        """Learn a grammar from sentences with their trees, by counting.

        Parameters
        ----------
        sequences : list of list of str or int
            Tags of each sentence.
        heads : list of array-like of int
            Heads of each sentence, 0 for the root and 1-based else; trees must be projective.

        Returns
        -------
        self : DMV
            Fitted; ``lower_bounds_`` has one entry, the log-probability of sentences and trees.
        """
        self._check_init()
        corpus, tags = encode(sequences)
        lengths = [len(each) for each in tag_lists(sequences)]
        given = head_arrays(heads, lengths)
        for q, mine in enumerate(given):
            check_projective(mine, q)
        shape = self._shape(corpus.n_tags)
        counts = self._counted(corpus, given, shape)
        grammar = estimated(counts, None, shape.backoff)
        if shape.backoff < 1.0:
            # EM for the mixture of Eq. (10); trees are seen
            for _ in range(max(self.n_iter, 1)):  # which of the two a dependent came from is hidden
                grammar = estimated(counts, grammar, shape.backoff)
        self._keep(grammar, tags)
        self.lower_bounds_ = np.array([expected_log_probability(counts, grammar)])
        self.duality_gap_, self.dual_, self.n_iter_ = 0.0, None, 0
        self._end(corpus, sequences)
        return self

    def _counted(self, corpus: Corpus, heads: list[Indices], shape: Grammar) -> Counts:
        Vs, Vc = shape.stop.shape[2], shape.own.shape[2]
        counts = Counts(*(np.zeros_like(a) for a in (shape.root, shape.stop, shape.go, shape.own)))
        for batch in corpus.batches:
            for q, x in zip(batch.rows, batch.tags):
                _count_tree(x, heads[q], counts, Vs, Vc)
        return counts

    def _keep(self, grammar: Grammar, tags: Any) -> None:
        self._grammar = smoothed(grammar, float(self.smoothing))
        self.tags_ = tags
        self.root_ = self._grammar.root
        self.stop_ = self._grammar.stop
        self.child_ = self._grammar.child

    # --- questions ------------------------------------------------------------------------------

    def _encoded(self, sequences: Any) -> Corpus:
        check_is_fitted(self, "root_")
        return encode(sequences, self.tags_)[0]

    def _penalties(self, corpus: Corpus, project: bool) -> Floats | None:
        if not project:
            return None
        if self.learning not in ("pr-s", "pr-as"):
            raise ValueError(
                f"Only regularised learning can project its posterior, not {self.learning!r}. "
                "Leave project=False, or fit with learning='pr-s'."
            )
        features = edge_features(corpus, self.learning == "pr-s")
        found, _ = project_trees(
            self._grammar,
            corpus,
            features,
            float(self.sigma),
            np.zeros(features.size),
            tol=1e-3,
            max_iter=10 * self.inner_iter,
            n_jobs=self.n_jobs,
        )
        return found.lam if features.owner is None else found.lam[features.owner]

    def predict(
        self, sequences: Any, method: str = "viterbi", project: bool = False
    ) -> list[Indices]:
        """Return the heads of each sentence.

        Parameters
        ----------
        sequences : list of list of str or int
            Tags of each sentence.
        method : {"viterbi", "mbr"}, default="viterbi"
            The most probable tree, or the tree with the most right heads to be expected.
        project : bool, default=False
            Whether to use the regularised posterior of these sentences (after regularised
            learning).

        Returns
        -------
        list of ndarray of int
            0 for the root, 1-based else.
        """
        corpus = self._encoded(sequences)
        if method not in ("viterbi", "mbr"):
            raise ValueError(f"Parameter method must be 'viterbi' or 'mbr', got {method!r}.")
        lam = self._penalties(corpus, project)
        if method == "viterbi":
            heads, scores = best_trees(self._grammar, corpus, lam)
            check_possible(scores)
            return heads
        found: list[Indices] = [np.empty(0, dtype=np.int64)] * corpus.n_sentences
        trees = sum_over_trees(self._grammar, corpus, lam, self.n_jobs)
        check_possible(trees.log_partition)
        for batch, table in zip(corpus.batches, edge_tables(corpus, trees.edges)):
            # the tree of most expected right heads
            best, _ = best_projective_trees(table[:, 1:, :, None], table[:, 0])
            for q, mine in zip(batch.rows, best):
                found[q] = mine
        return found

    def predict_proba(self, sequences: Any, project: bool = False) -> list[Floats]:
        """Return the chance of each head for each token.

        Parameters
        ----------
        sequences : list of list of str or int
            Tags of each sentence.
        project : bool, default=False
            Whether to use the regularised posterior of these sentences (after regularised
            learning).

        Returns
        -------
        list of ndarray of shape (n + 1, n)
            Rows are heads, the root first; columns add up to one.
        """
        corpus = self._encoded(sequences)
        lam = self._penalties(corpus, project)
        trees = sum_over_trees(self._grammar, corpus, lam, self.n_jobs)
        check_possible(trees.log_partition)
        return _by_sentence(corpus, trees.edges)

    def score_samples(self, sequences: Any) -> Floats:
        """Return the log-likelihood of each sentence.

        Parameters
        ----------
        sequences : list of list of str or int
            Tags of each sentence.

        Returns
        -------
        ndarray of shape (n_sentences,)
            Log-likelihoods, among sentences of all lengths.
        """
        corpus = self._encoded(sequences)
        return sum_over_trees(self._grammar, corpus, n_jobs=self.n_jobs).log_partition

    def score(self, sequences: Any, y: Any = None) -> float:
        """Return the mean log-likelihood of a sentence.

        Parameters
        ----------
        sequences : list of list of str or int
            Tags of each sentence.
        y : None
            Not used.

        Returns
        -------
        float
            The mean of `score_samples`.
        """
        return float(self.score_samples(sequences).mean())

    def log_prob(self, sequence: Any, heads: Any) -> float:
        """Return the log-probability of one sentence with its tree.

        Parameters
        ----------
        sequence : list of str or int
            Tags.
        heads : array-like of int
            0 for the root, 1-based else; the tree must be projective.

        Returns
        -------
        float
            Log-probability of tags and tree.
        """
        corpus = self._encoded([sequence])
        x = corpus.batches[0].tags[0]
        mine = head_arrays([heads], [x.size])[0]
        check_projective(mine, 0)
        g = self._grammar
        Vs, Vc = g.stop.shape[2], g.own.shape[2]
        counts = Counts(*(np.zeros_like(a) for a in (g.root, g.stop, g.go, g.own)))
        _count_tree(x, mine, counts, Vs, Vc)
        parts = zip(counts, (g.root, g.stop, g.go, g.child))
        return float(sum((n[n > 0] * safe_log(p[n > 0])).sum() for n, p in parts))

    def sample(self, n: int = 1, random_state: Any = None) -> tuple[list[list[Any]], list[Indices]]:
        """Draw sentences with their trees.

        Parameters
        ----------
        n : int, default=1
            How many.
        random_state : int, RandomState instance or None, default=None
            Source of randomness.

        Returns
        -------
        sequences : list of list of str or int
            Tags.
        heads : list of ndarray of int
            0 for the root, 1-based else.
        """
        check_is_fitted(self, "root_")
        if isinstance(n, bool) or not isinstance(n, Integral) or n < 1:
            raise ValueError(f"Expected a positive number of sentences, got {n!r}.")
        random, names = check_random_state(random_state), self.tags_.tolist()
        sequences, heads = [], []
        for _ in range(int(n)):
            drawn = draw_dependency_tree(self.root_, self.stop_, self.child_, random, LONGEST)
            if drawn is None:
                raise ValueError(
                    f"A sentence grew beyond {LONGEST} tokens: heads of this grammar have on "
                    "average one dependent or more. Fit it on whole sentences."
                )
            sequences.append([names[t] for t in drawn[0]])
            heads.append(drawn[1])
        return sequences, heads


def _by_sentence(corpus: Corpus, flat: Floats) -> list[Floats]:
    """Return the tables of edges in the order of the sentences."""
    found: list[Floats] = [np.empty((0, 0))] * corpus.n_sentences
    for batch, tables in zip(corpus.batches, edge_tables(corpus, flat)):
        for q, table in zip(batch.rows, tables):
            found[q] = table.copy()
    return found


def _count_tree(x: Indices, heads: Indices, counts: Counts, Vs: int, Vc: int) -> None:
    """Add the decisions of one tree."""
    counts.root[x[int(np.flatnonzero(heads == 0)[0])]] += 1
    for h in range(x.size):
        mine = np.flatnonzero(heads == h + 1)
        for d, there in enumerate((mine[mine < h], mine[mine > h][::-1])):  # outermost first
            counts.stop[x[h], d, min(there.size, Vs - 1)] += 1
            for a, c in enumerate(there):
                counts.go[x[h], d, min(a, Vs - 1)] += 1
                counts.child[x[h], d, min(a, Vc - 1), x[c]] += 1
