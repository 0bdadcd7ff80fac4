"""`SRRAClusterer`: k clusters from few noisy answers to "of one cluster?" (Algorithms 1 and 3)."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.search.active_pairs.asking import PairwiseOracle, as_count, as_oracle, as_pairs
from octavo.search.active_pairs.correlation import (
    best_settled,
    correlation_cluster_exact,
    tidy,
)
from octavo.search.active_pairs.regret import said_together
from octavo.search.active_pairs.rounds import Bought, Problem, run_rounds
from octavo.search.active_pairs.sampling import MOST, as_labels, cluster_inclusion, cluster_sample

__all__ = ["SRRAClusterer"]


def signed_weights(n: int, pairs: Ints, answers: Floats, weights: Floats) -> sp.csr_array:
    """Return W: the weight of "together" less that of "apart" for each pair, symmetric."""
    u, v = pairs[:, 0], pairs[:, 1]
    values = weights * (2.0 * answers - 1.0)
    W = sp.csr_array(
        (np.tile(values, 2), (np.concatenate([u, v]), np.concatenate([v, u]))), shape=(n, n)
    )
    W.eliminate_zeros()
    return W


def ask_by_pivots(n: int, k: int, oracle: PairwiseOracle, rng: Any) -> tuple[Ints, Ints]:
    """Take a random item and all that are said to be with it as a cluster, and go on with the rest.

    The last of k clusters takes what is left (Ailon, Charikar and Newman's pivot scheme has no k).
    """
    labels = np.full(n, k - 1, dtype=np.int64)
    rest, asked = rng.permutation(n), []
    for cluster in range(k - 1):
        if not len(rest):
            break
        pivot, others = rest[0], rest[1:]
        pairs = np.column_stack([np.full(len(others), pivot), others])
        answers = oracle.ask(pairs, symmetric=True)
        got = ~np.isnan(answers)
        asked.append(pairs[got])
        together = got & (np.where(got, answers, 0.0) > 0.5)
        labels[pivot] = cluster
        labels[others[together]] = cluster
        rest = others[~together]
        if not got.all():
            break
    return labels, np.concatenate(asked) if asked else np.zeros((0, 2), dtype=np.int64)


def pivot_inclusion(labels: Ints, pairs: Ints) -> Floats:
    """Return how likely random pivots are to ask about a pair: one is the first of its cluster."""
    sizes = np.bincount(labels)[labels[pairs]]
    same = labels[pairs[:, 0]] == labels[pairs[:, 1]]
    # of m items the pivot is one of two with chance 2 / m
    return np.minimum(1.0, 2.0 / np.where(same, sizes[:, 0], sizes.sum(axis=1)))


class SRRAClusterer(CallbackSupportMixin, SoundEstimator):
    """Cluster items by asking few noisy questions "are these two of one cluster?".

    Parameters
    ----------
    n_clusters : int
        Most clusters.
    q : int, default=5
        Partners that each item draws from its own cluster and from every smaller one, in a round.
    n_rounds : int, default=4
        Rounds of questions.
    reuse : {"pool", "fresh"}, default="pool"
        Whether a round uses all answers ever bought, or, as printed, those of its own sample alone.
    init : {"pivot", "random"} or array-like of shape (n_items,), default="pivot"
        The first clusters: a random item with all that are said to belong to it and so on, by
        chance, or given.
    minimizer : {"local", "exact"} or callable, default="local"
        How the weighted disagreement is minimised: by moves of items and mergers of clusters,
        exactly (at most 25 items), or by a function of W (symmetric CSR array, the weight of
        "together" less that of "apart") and the pivot's labels that returns labels.
    n_init : int, default=4
        Random starts of the local search, besides the pivot.
    max_weight : float or None, default=None
        Largest ratio of two weights; 1 weighs all answers alike, None does not limit.
    random_state : int, RandomState instance or None, default=None
        Source of the draws.

    Attributes
    ----------
    labels_ : ndarray of shape (n_items,)
        Clusters, numbered by first appearance.
    n_queries_ : int
        Questions that this fit asked.
    history_ : list of SRRARound
        For each round the questions so far, the pairs used, the estimated change of the error, and
        the labels found.
    estimated_regret_ : float
        Estimated error of the clustering less that of the last pivot.
    budget_exhausted_ : bool
        Whether the oracle's budget ended the fit; the labels are the best of what was bought.
    pairs_ : ndarray of shape (m, 2)
        Pairs used in the last round.
    weights_ : ndarray of shape (m,)
        Their weights: how many ordered pairs each stands for.
    n_items_ : int
        Number of items.

    Notes
    -----
    A local search voids the paper's guarantee. Do not use it where items have features that say
    which belong together: constrained clustering uses both.

    References
    ----------
    N. Ailon, R. Begleiter and E. Ezra (2014). Active Learning Using Smooth Relative Regret
    Approximations with Applications. Journal of Machine Learning Research 15, Section 5.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.search import SRRAClusterer, noisy_cluster_oracle, pair_error
    >>> truth = np.arange(90) % 3
    >>> oracle = noisy_cluster_oracle(truth, 0.1, random_state=0)
    >>> model = SRRAClusterer(3, q=2, n_rounds=3, random_state=0).fit(90, oracle)
    >>> print(model.n_queries_, "of", 90 * 89 // 2, bool((model.labels_ == truth).all()))
    1065 of 4005 True
    """

    _parameter_constraints: dict = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "q": [Interval(Integral, 1, None, closed="left")],
        "n_rounds": [Interval(Integral, 1, 10_000, closed="both")],
        "reuse": [StrOptions({"pool", "fresh"})],
        "init": [StrOptions({"pivot", "random"}), "array-like"],
        "minimizer": [StrOptions({"local", "exact"}), callable],
        "n_init": [Interval(Integral, 0, 10_000, closed="both")],
        "max_weight": [Interval(Real, 1, None, closed="left"), None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_clusters: int,
        q: int = 5,
        n_rounds: int = 4,
        reuse: str = "pool",
        init: Any = "pivot",
        minimizer: Any = "local",
        n_init: int = 4,
        max_weight: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.q = q
        self.n_rounds = n_rounds
        self.reuse = reuse
        self.init = init
        self.minimizer = minimizer
        self.n_init = n_init
        self.max_weight = max_weight
        self.random_state = random_state

    def _labels(self, labels: Any, n: int, name: str) -> Ints:
        found = tidy(as_labels(labels, name))
        if len(found) != n or found.max() >= self.n_clusters:
            raise ValueError(
                f"{name} must give each of {n} items one of {self.n_clusters} clusters."
            )
        return found

    def _start(self, n: int, oracle: PairwiseOracle, rng: Any) -> tuple[Ints, Bought | None]:
        if not isinstance(self.init, str):
            return self._labels(self.init, n, "init"), None
        if self.init == "random":
            return rng.randint(0, self.n_clusters, size=n), None
        labels, pairs = ask_by_pivots(n, self.n_clusters, oracle, rng)
        return labels, Bought(pairs, lambda x: pivot_inclusion(labels, x))

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, n_items: Any, oracle: Any) -> Self:
        """Ask and cluster.

        Parameters
        ----------
        n_items : int
            Number of items, which are called 0, ..., n_items - 1.
        oracle : PairwiseOracle, callable or array-like
            Who answers: ``answers(u, v)`` is 1 when both are of one cluster, 0 when not, 0.5 where
            that is open.

        Returns
        -------
        self : SRRAClusterer
            The fitted clusterer.
        """
        n = as_count(n_items, "n_items", most=MOST)
        if self.n_clusters > n:
            raise ValueError(f"n_clusters = {self.n_clusters} exceeds the {n} items.")
        oracle = as_oracle(oracle, n)
        rng = check_random_state(self.random_state)
        asked = oracle.n_queries_
        start, bought = self._start(n, oracle, rng)
        pooled = self.reuse == "pool"

        def minimize(pairs: Ints, answers: Floats, weights: Floats, pivot: Ints) -> Ints:
            W = signed_weights(n, pairs, answers, weights)
            if callable(self.minimizer):
                return self._labels(self.minimizer(W, pivot), n, "What minimizer returns")
            if self.minimizer == "exact":
                return correlation_cluster_exact(W, self.n_clusters)[0]
            return best_settled(W, pivot, self.n_clusters, self.n_init, rng)

        problem = Problem(
            sample=lambda labels, rng: cluster_sample(labels, self.q, rng),
            says=said_together,
            minimize=minimize,
            inclusion=(lambda labels, x: cluster_inclusion(labels, x, self.q)) if pooled else None,
            total=max(n * (n - 1), 1),
        )
        with FitProgress(self, self.n_rounds, step_name="round") as progress:
            found = run_rounds(
                problem,
                start,
                lambda pairs: oracle.ask(pairs, symmetric=True),
                lambda: oracle.n_queries_ - asked,
                n_rounds=self.n_rounds,
                rng=rng,
                bought=bought if pooled else None,
                max_weight=self.max_weight,
                step=progress.step,
            )
        self.n_items_ = n
        self.labels_ = tidy(found.hypothesis)
        self.n_queries_ = oracle.n_queries_ - asked
        self.history_ = found.history
        self.estimated_regret_ = found.history[-1].regret if found.history else 0.0
        self.budget_exhausted_ = found.budget_exhausted
        self.pairs_ = np.zeros((0, 2), np.int64) if found.pairs is None else found.pairs
        self.weights_ = np.zeros(0) if found.weights is None else found.weights
        return self

    def predict(self, pairs: Any) -> Ints:
        """Answer questions about pairs.

        Parameters
        ----------
        pairs : array-like of shape (m, 2)
            Pairs of items (u, v).

        Returns
        -------
        answers : ndarray of shape (m,)
            1 where both are of one cluster, else 0.
        """
        check_is_fitted(self)
        return said_together(self.labels_, as_pairs(pairs, self.n_items_)).astype(np.int64)
