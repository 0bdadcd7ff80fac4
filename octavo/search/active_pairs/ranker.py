"""`SRRARanker`: rank items from few noisy answers about pairs (Algorithms 1 and 2)."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.arrays import Floats, Indices, Ints
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.search.active_pairs.asking import PairwiseOracle, as_count, as_oracle, as_pairs
from octavo.search.active_pairs.orders import (
    answered_weights,
    as_order,
    ask_by_quicksort,
    best_order,
    borda_order,
    mfast_exact,
    quicksort_inclusion,
)
from octavo.search.active_pairs.regret import said_before
from octavo.search.active_pairs.rounds import Bought, Problem, run_rounds
from octavo.search.active_pairs.sampling import (
    MOST,
    band_inclusion,
    band_sample,
    bernoulli_inclusion,
    bernoulli_sample,
    uniform_sample,
)

__all__ = ["SRRARanker"]

SAMPLERS: dict[str, tuple[Callable, Callable]] = {
    "bernoulli": (bernoulli_sample, bernoulli_inclusion),
    "bands": (band_sample, band_inclusion),
}


def inverse(order: Indices) -> Ints:
    """Return the position of every item."""
    position = np.empty(len(order), dtype=np.int64)
    position[order] = np.arange(len(order))
    return position


def started_order(
    init: Any, n: int, p: int, oracle: PairwiseOracle, rng: Any
) -> tuple[Indices, Bought | None, bool]:
    """Return a first order, what it cost, and whether the budget ended on the way."""
    if not isinstance(init, str):
        return as_order(init, n, "init"), None, False
    if init == "quicksort":
        order, pairs = ask_by_quicksort(n, oracle, rng)
        position = inverse(order)
        spent = oracle.budget is not None and oracle.n_queries_ >= oracle.budget
        return order, Bought(pairs, lambda x: quicksort_inclusion(position, x)), spent
    total = n * (n - 1) // 2
    sample = uniform_sample(n, min(n * p, total), rng)
    answers = oracle.ask(sample.pairs)
    got = ~np.isnan(answers)
    pairs = sample.pairs[got]
    share = len(pairs) / max(total, 1)
    order = borda_order(n, pairs, answers[got], np.ones(len(pairs)))
    return order, Bought(pairs, lambda x: np.full(len(x), share)), not got.all()


class SRRARanker(CallbackSupportMixin, SoundEstimator):
    """Rank items by asking few noisy questions about pairs.

    A first order is improved in rounds: pairs that stand close together are asked about, others
    with a probability that falls with their distance, and the order that disagrees least with
    all answers so far, weighted by how unlikely each was to be asked, is the next pivot.

    Parameters
    ----------
    n_rounds : int, default=4
        Rounds of questions.
    p : int, default=3
        Pairs up to this distance are always asked; beyond, with probability p / distance
        ("bernoulli"), or p from every band of distances ("bands").
    sampling : {"bernoulli", "bands"}, default="bernoulli"
        How pairs are drawn: each on its own, or as printed in the paper's Algorithm 2.
    reuse : {"pool", "fresh"}, default="pool"
        Whether a round uses all answers ever bought, or, as printed, those of its own sample alone.
    init : {"quicksort", "borda"} or array-like of shape (n_items,), default="quicksort"
        The first order: by sorting, by the wins in p n uniform pairs, or given, first to last.
    minimizer : {"local", "exact"} or callable, default="local"
        How the weighted disagreement is minimised: by moving single items from the pivot and from
        Borda's order (up to 5,000 items), exactly (few), or by a function of W (``W[u, v]`` is the
        weight of "u before v", a CSR array) and the pivot's order that returns an order.
    max_weight : float or None, default=None
        Largest ratio of two weights; 1 weighs all answers alike, None does not limit.
    random_state : int, RandomState instance or None, default=None
        Source of the draws.

    Attributes
    ----------
    ranking_ : ndarray of shape (n_items,)
        The items, first to last.
    position_ : ndarray of shape (n_items,)
        The place of every item in it.
    n_queries_ : int
        Questions that this fit asked.
    history_ : list of SRRARound
        For each round the questions so far, the pairs used, the estimated change of the error, and
        the positions found.
    estimated_regret_ : float
        Estimated error of the ranking less that of the last pivot; never positive with the local
        and the exact minimiser, and too hopeful, as every minimum of an estimate.
    budget_exhausted_ : bool
        Whether the oracle's budget ended the fit; the ranking is the best of what was bought.
    pairs_ : ndarray of shape (m, 2)
        Pairs used in the last round.
    weights_ : ndarray of shape (m,)
        Their weights: how many ordered pairs each stands for.
    n_items_ : int
        Number of items.

    Notes
    -----
    The paper's guarantee is for an exact minimiser and for p of the order log³n / ε³, which exceeds
    n in practice; a local search voids it. Pooling is not in the paper: fresh samples buy nothing
    over uniform pairs at sizes that fit on a desk. Do not use it where answers cost nothing (take
    all pairs), nor where each item can be scored on its own.

    References
    ----------
    N. Ailon, R. Begleiter and E. Ezra (2014). Active Learning Using Smooth Relative Regret
    Approximations with Applications. Journal of Machine Learning Research 15.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.search import SRRARanker, noisy_preference_oracle, pair_error
    >>> truth = np.random.RandomState(0).permutation(100)
    >>> oracle = noisy_preference_oracle(truth, 1.0, random_state=0)
    >>> model = SRRARanker(p=2, random_state=0).fit(100, oracle)
    >>> print(model.n_queries_, "of", 100 * 99 // 2)
    2047 of 4950
    >>> print(round(pair_error(model.position_, oracle), 3), round(pair_error(truth, oracle), 3))
    0.035 0.047
    """

    _parameter_constraints: dict = {
        "n_rounds": [Interval(Integral, 1, 10_000, closed="both")],
        "p": [Interval(Integral, 1, None, closed="left")],
        "sampling": [StrOptions(set(SAMPLERS))],
        "reuse": [StrOptions({"pool", "fresh"})],
        "init": [StrOptions({"quicksort", "borda"}), "array-like"],
        "minimizer": [StrOptions({"local", "exact"}), callable],
        "max_weight": [Interval(Real, 1, None, closed="left"), None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_rounds: int = 4,
        p: int = 3,
        sampling: str = "bernoulli",
        reuse: str = "pool",
        init: Any = "quicksort",
        minimizer: Any = "local",
        max_weight: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_rounds = n_rounds
        self.p = p
        self.sampling = sampling
        self.reuse = reuse
        self.init = init
        self.minimizer = minimizer
        self.max_weight = max_weight
        self.random_state = random_state

    def _minimize(self, pairs: Ints, answers: Floats, weights: Floats, pivot: Ints) -> Ints:
        n = len(pivot)
        W = answered_weights(n, pairs, answers, weights)
        order = np.argsort(pivot)
        if callable(self.minimizer):
            return inverse(as_order(self.minimizer(W, order), n, "What minimizer returns"))
        return inverse(mfast_exact(W)[0] if self.minimizer == "exact" else best_order(W, order))

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, n_items: Any, oracle: Any) -> Self:
        """Ask and rank.

        Parameters
        ----------
        n_items : int
            Number of items, which are called 0, ..., n_items - 1.
        oracle : PairwiseOracle, callable or array-like
            Who answers: ``answers(u, v)`` is 1 when u comes before v, 0 when not, 0.5 for a tie.

        Returns
        -------
        self : SRRARanker
            The fitted ranker.
        """
        n = as_count(n_items, "n_items", most=MOST)
        oracle = as_oracle(oracle, n)
        rng = check_random_state(self.random_state)
        asked = oracle.n_queries_
        order, bought, spent = started_order(self.init, n, self.p, oracle, rng)
        draw, chance = SAMPLERS[self.sampling]
        pooled = self.reuse == "pool"
        problem = Problem(
            sample=lambda position, rng: draw(position, self.p, rng),
            says=said_before,
            minimize=self._minimize,
            inclusion=(lambda position, x: chance(position, x, self.p)) if pooled else None,
            total=max(n * (n - 1), 1),
        )
        with FitProgress(self, self.n_rounds, step_name="round") as progress:
            found = run_rounds(
                problem,
                inverse(order),
                oracle.ask,
                lambda: oracle.n_queries_ - asked,
                n_rounds=self.n_rounds,
                rng=rng,
                bought=bought if pooled else None,
                max_weight=self.max_weight,
                step=progress.step,
            )
        self.n_items_ = n
        self.position_ = found.hypothesis
        self.ranking_ = np.argsort(found.hypothesis)
        self.n_queries_ = oracle.n_queries_ - asked
        self.history_ = found.history
        self.estimated_regret_ = found.history[-1].regret if found.history else 0.0
        self.budget_exhausted_ = bool(found.budget_exhausted or (spent and not found.history))
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
            1 where the first comes before the second, else 0.
        """
        check_is_fitted(self)
        return said_before(self.position_, as_pairs(pairs, self.n_items_)).astype(np.int64)
