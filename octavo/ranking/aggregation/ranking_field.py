"""`CRFRankAggregator`: experts weighed by a conditional random field over permutations.

An item's score is linear in three features of every expert: whether he has not seen it, how much
he prefers it, how much he prefers others. A permutation's energy discounts scores by position, so
the most probable one sorts them; training ascends the expected NDCG over all permutations of a few
items at a time.

Reference: Volkovs and Zemel (2014), New learning methods for supervised and unsupervised
preference aggregation, Section 3.6, Eq. (4) and (5) and Algorithm 2.
"""

from __future__ import annotations

from itertools import permutations
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.ranking.aggregation.instances import predict_queries, rank_queries, read_labelled
from octavo.ranking.aggregation.metrics import checked_relevance
from octavo.ranking.aggregation.preferences import PairwisePreferences, as_preferences
from octavo.ranking.aggregation.strengths import TRANSFORMS, checked_ranks

__all__ = ["CRFRankAggregator", "crf_expected_ndcg"]

_PAGE = 200  # items up to which two loops are faster than sorting
_LARGEST = 9  # items whose permutations are enumerated


def item_features(prefs: PairwisePreferences) -> Floats:
    """Return (missing, Σ_j Y_ij, -Σ_j Y_ji) of every item and expert.

    Parameters
    ----------
    prefs : PairwisePreferences
        One instance.

    Returns
    -------
    features : ndarray of shape (n_items, n_experts, 3)
        The features of Section 3.6.
    """
    F = np.zeros((prefs.n_items, prefs.n_experts, 3))
    F[:, :, 0] = 1.0
    wins, losses = prefs.wins, prefs.losses
    experts = np.repeat(np.arange(prefs.n_experts), np.diff(wins.indptr))
    F[wins.indices, experts, 0] = 0.0  # φ, the unary potential
    F[wins.indices, experts, 1] = wins.data  # w_pos of Eq. (4)
    F[losses.indices, experts, 2] = -losses.data  # w_neg, with its sign
    return F


def _positions(n: int) -> Indices:
    """Return, for each permutation of n items, the position of every item."""
    return np.array(list(permutations(range(n))), dtype=np.int64).reshape(-1, n)


@njit(cache=True, nogil=True)
def _expected_gain(scores, gains, positions, discount, energy_discount, share):
    """Return E[NDCG] over permutations, and its derivative by each item's score.

    Φ is linear in the features, so E[GΦ] - E[G]E[Φ] needs one number an item: the covariance of
    the gain with the discount of the item's position.
    """
    n_orders, n = positions.shape
    ideal = 0.0
    for i in range(n):
        place = 0  # among the gains in falling order, the earlier of equals first
        for j in range(n):
            if gains[j] > gains[i] or (gains[j] == gains[i] and j < i):
                place += 1
        ideal += gains[i] * discount[place]
    top = -np.inf
    minus_energy = np.empty(n_orders)
    for o in range(n_orders):
        total = 0.0
        for i in range(n):
            total += scores[i] * energy_discount[positions[o, i]]  # Eq. (4), with minus the sign
        minus_energy[o] = total * share
        top = max(top, minus_energy[o])
    mass = 0.0
    mean = 0.0
    both = np.zeros(n)
    single = np.zeros(n)
    for o in range(n_orders):
        chance = np.exp(minus_energy[o] - top)  # P(π), not yet divided by Z
        value = 0.0
        for i in range(n):
            value += gains[i] * discount[positions[o, i]]
        value /= ideal
        mass += chance
        mean += chance * value  # G P of Eq. (5)
        for i in range(n):
            weight = chance * energy_discount[positions[o, i]]
            both[i] += weight * value
            single[i] += weight
    mean /= mass
    slope = np.empty(n)
    for i in range(n):
        slope[i] = share * (both[i] / mass - mean * single[i] / mass)  # Cov(G, 1/log(pos + 1))/M²
    return mean, slope


def _discounts(n: int) -> tuple[Floats, Floats]:
    """Return the discounts of NDCG and of the energy, Eq. (4)."""
    places = np.arange(2.0, n + 2.0)
    return 1.0 / np.log2(places), 1.0 / np.log(places)  # log2 for NDCG, ln in Eq. (4)


@checked
def crf_expected_ndcg(
    R: Any, relevance: Any, weights: Any, transform: str = "log"
) -> tuple[float, Floats]:
    """Return the expected NDCG of a random field over all permutations, and its gradient.

    The probability of a permutation is proportional to exp of M⁻² Σ score / log(position + 1),
    where M is the number of items.

    Parameters
    ----------
    R : array-like of shape (n_items, n_experts) or PairwisePreferences
        Ranks, 1 is best, NaN is missing; or preferences. At most nine items.
    relevance : array-like of shape (n_items,)
        Grades, larger is better.
    weights : array-like of shape (n_experts, 3)
        Weights of missing, wins and losses of every expert.
    transform : {"binary", "rank_difference", "normalized", "log"}, default="log"
        How ranks become strengths.

    Returns
    -------
    value : float
        Expected NDCG; 0 without a relevant item.
    gradient : ndarray of shape (n_experts, 3)
        By the weights.

    Examples
    --------
    >>> from octavo.ranking import crf_expected_ndcg
    >>> ranks, weights = [[1.0], [2.0], [3.0]], [[0.0, 1.0, 1.0]]
    >>> value, gradient = crf_expected_ndcg(ranks, [2.0, 0.0, 1.0], weights)
    >>> round(value, 4)
    0.7932
    >>> gradient.round(4) + 0.0
    array([[0.    , 0.0069, 0.0041]])
    """
    prefs = as_preferences(R, transform)
    grades = checked_relevance(relevance, prefs.n_items)
    if prefs.n_items > _LARGEST:
        raise ValueError(
            f"All permutations of at most {_LARGEST} items can be enumerated; got {prefs.n_items}."
        )
    W = np.asarray(weights, dtype=np.float64)
    if W.shape != (prefs.n_experts, 3) or not np.isfinite(W).all():
        raise ValueError(
            f"weights must be finite numbers of shape ({prefs.n_experts}, 3): missing, wins and "
            f"losses of every expert; got shape {W.shape}."
        )
    F = item_features(prefs)
    gains = np.exp2(grades) - 1.0
    if not gains.any():
        return 0.0, np.zeros_like(W)
    n = prefs.n_items
    scores = np.einsum("iek,ek->i", F, W)
    if not np.isfinite(scores).all():
        raise ValueError("Scores are not finite; the weights or strengths are too large.")
    value, slope = _expected_gain(scores, gains, _positions(n), *_discounts(n), 1.0 / n**2)
    return float(value), np.einsum("i,iek->ek", slope, F)


@njit(cache=True, nogil=True)
def _visit(F, gains, chosen, positions, discount, energy_discount, weights, gradient):
    """Set the gradient of the expected NDCG of some items of one query; return its value."""
    n, n_features = chosen.shape[0], weights.shape[0]
    scores = np.zeros(n)
    some = np.empty(n)
    for a in range(n):
        some[a] = gains[chosen[a]]
        total = 0.0
        for f in range(n_features):
            total += F[chosen[a], f] * weights[f]
        scores[a] = total
    # M is that of the subsample
    value, slope = _expected_gain(scores, some, positions, discount, energy_discount, 1.0 / (n * n))
    gradient[:] = 0.0
    for a in range(n):
        for f in range(n_features):
            gradient[f] += slope[a] * F[chosen[a], f]
    return value


@njit(cache=True, nogil=True)
def _score_page(ranks, weights, transform, scores):
    """Add every expert's weighted features of a page of ranks; return whether they are ranks.

    Two loops over what an expert has seen: for a page of results faster than any sort. The
    transforms are numbered as in `TRANSFORMS`.
    """
    n, n_experts = ranks.shape
    seen = np.empty(n, dtype=np.int64)
    values = np.empty(n)
    for e in range(n_experts):
        missing, wins, losses = weights[e, 0], weights[e, 1], weights[e, 2]
        m = 0
        largest = 1.0
        for i in range(n):
            rank = ranks[i, e]
            if np.isnan(rank):
                scores[i] += missing
            else:
                if rank < 1.0 or np.isinf(rank):
                    return False
                largest = max(largest, rank)
                seen[m] = i
                values[m] = rank
                m += 1
        unit = 1.0
        if transform == 2:
            unit = largest
        elif transform == 3:
            for a in range(m):
                values[a] = np.log(values[a])
            if largest > 1.0:
                unit = np.log(largest)
        for a in range(m):
            won = 0.0
            lost = 0.0
            for b in range(m):
                gap = values[b] - values[a]  # a is better when it is positive
                if transform == 0:
                    won += gap > 0.0
                    lost += gap < 0.0
                elif gap > 0.0:
                    won += gap
                else:
                    lost -= gap
            scores[seen[a]] += (wins * won - losses * lost) / unit  # b, w_pos and w_neg of Eq. (4)
    return True


def subsample(grades: Floats, n_subsample: int, rng: np.random.RandomState) -> Indices:
    """Return some items of a query, at least one of each grade while there is room.

    Parameters
    ----------
    grades : ndarray of shape (n_items,)
        Relevance.
    n_subsample : int
        How many items, at most.
    rng : RandomState
        Draws them.

    Returns
    -------
    items : ndarray
        Without repetition; at least two grades are among them.
    """
    order = rng.permutation(grades.size)
    # The first item of each grade in a random order goes first, best grade before the others.
    _, first = np.unique(-grades[order], return_index=True)
    rest = np.setdiff1d(np.arange(order.size), first, assume_unique=True)
    return order[np.concatenate([first, rest])[:n_subsample]]  # the downsampling of Algorithm 2


def _is_page(X: Any) -> bool:
    return (
        isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype == np.float64 and 2 <= len(X) <= _PAGE
    )


class CRFRankAggregator(CallbackSupportMixin, SoundEstimator):
    """Rank aggregation that learns from labelled queries how to use each expert.

    Every expert has three weights: for items that he has not seen, for his preferences and for
    those against. Negative weights turn an expert round who is reliably wrong. A new query is
    ranked by one weighted sum an item.

    Do not use it without labelled queries (`MultinomialPreferenceModel`, `reciprocal_rank_fusion`).
    scikit-learn has neither rank aggregation nor learning to rank.

    Parameters
    ----------
    transform : {"binary", "rank_difference", "normalized", "log"}, default="log"
        How ranks become strengths (`PairwisePreferences.from_ranks`).
    n_subsample : int, default=6
        Items of a query whose permutations are enumerated at one visit, from 2 to 8.
    learning_rate : float, default=0.1
        Step of Adam on features that are scaled to unit size; falls to zero along a cosine.
    n_epochs : int, default=100
        Passes over the queries.
    share_weights : bool or array-like of bool of shape (n_experts,), default=False
        Whether all experts have the same three weights: a consensus of anonymous experts, of whom
        there may be more or fewer from query to query. An array says which experts share, beside
        known ones with weights of their own; new experts, who come after these, share as well.
    random_state : int, RandomState instance or None, default=None
        Seeds the order of queries and the items that are visited.

    Attributes
    ----------
    expert_weights_ : ndarray of shape (n_experts, 3)
        Weights of missing, wins and losses. Positive weights of wins and losses follow the
        expert, negative ones turn him round.
    consensus_weights_ : ndarray of shape (3,) or None
        The weights of those who share; None where nobody does.
    train_scores_ : ndarray of shape (n_epochs,)
        Mean expected NDCG of the visits of each epoch.
    n_iter_ : int
        Epochs.

    References
    ----------
    .. [1] M. N. Volkovs and R. S. Zemel. New learning methods for supervised and unsupervised
       preference aggregation. Journal of Machine Learning Research 15, 2014.

    Examples
    --------
    >>> from octavo.data import make_meta_search
    >>> from octavo.ranking import CRFRankAggregator, ndcg_at
    >>> ranks, relevance = make_meta_search(60, random_state=0)[:2]
    >>> model = CRFRankAggregator(n_epochs=20, random_state=0).fit(ranks[:40], relevance[:40])
    >>> model.expert_weights_.shape
    (25, 3)
    >>> bool(ndcg_at(relevance[40:], model.predict(ranks[40:]), k=5) > 0.6)
    True
    """

    _parameter_constraints: dict[str, Any] = {
        "transform": [StrOptions(set(TRANSFORMS))],
        "n_subsample": [Interval(Integral, 2, 8, closed="both")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "n_epochs": [Interval(Integral, 1, None, closed="left")],
        "share_weights": ["boolean", "array-like"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        transform: str = "log",
        n_subsample: int = 6,
        learning_rate: float = 0.1,
        n_epochs: int = 100,
        share_weights: Any = False,
        random_state: Any = None,
    ) -> None:
        self.transform = transform
        self.n_subsample = n_subsample
        self.learning_rate = learning_rate
        self.n_epochs = n_epochs
        self.share_weights = share_weights
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.target_tags.required = True
        return tags

    def _shared(self, n_experts: int) -> NDArray[np.bool_]:
        """Return which experts share their weights."""
        if isinstance(self.share_weights, (bool, np.bool_)):
            return np.full(n_experts, bool(self.share_weights))
        mask = np.asarray(self.share_weights)
        if mask.shape != (n_experts,) or mask.dtype != bool:
            raise ValueError(
                f"share_weights must be True, False or {n_experts} of these, one an expert; got "
                f"{self.share_weights!r:.60}."
            )
        return mask

    def _features(self, prefs: PairwisePreferences) -> Floats:
        """Return the known experts' features, then the sum of those that share, if any."""
        F, shared = item_features(prefs), self._shared(prefs.n_experts)
        parts = [F[:, ~shared].reshape(prefs.n_items, -1)]
        if shared.any():
            parts.append(F[:, shared].sum(axis=1))
        return np.ascontiguousarray(np.hstack(parts))

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, qid=None):
        """Learn the weights from labelled queries.

        Parameters
        ----------
        X : list of array-like of shape (n_items, n_experts) or of PairwisePreferences
            Ranks (1 is best, NaN is missing) of each query; with `qid`, one table of all.
        y : list of array-like of shape (n_items,)
            Relevance of each query's items; with `qid`, one vector. Queries whose items are all
            of one grade are left out.
        qid : array-like of shape (n_rows,), optional
            The query of each row.

        Returns
        -------
        self : object
            The fitted model.
        """
        rng = check_random_state(self.random_state)
        anonymous = self.share_weights is True
        instances, grades = read_labelled(X, y, qid, self.transform, same_experts=not anonymous)
        n_experts = max(one.n_experts for one in instances)
        shared = self._shared(n_experts)
        features = [self._features(one) for one in instances]
        # Unit size of each feature, so that one step suits counts of one and of hundreds.
        # Not in the paper, whose step is one for all.
        size = np.sqrt(np.mean(np.vstack(features) ** 2, axis=0))
        scale = np.where(size > 0, size, 1.0)
        features = [np.ascontiguousarray(F / scale) for F in features]
        gains = [np.exp2(g) - 1.0 for g in grades]
        weights = np.zeros(scale.size)
        history = []
        steps = _Adam(weights.size, self.learning_rate, self.n_epochs * len(instances))
        tables = {n: (_positions(n), *_discounts(n)) for n in range(2, self.n_subsample + 1)}
        gradient = np.empty_like(weights)
        with FitProgress(self, self.n_epochs, step_name="epoch") as progress:
            for _ in range(self.n_epochs):
                total = 0.0
                for query in rng.permutation(len(instances)):
                    # Algorithm 2, if M > ε
                    chosen = subsample(grades[query], self.n_subsample, rng)
                    total += _visit(
                        features[query],
                        gains[query],
                        chosen,
                        *tables[chosen.size],
                        weights,
                        gradient,
                    )
                    steps.ascend(weights, gradient)  # W + η ∇W, by Adam
                history.append(total / len(instances))
                if progress.step():
                    break
        own = (weights / scale).reshape(-1, 3)
        self.consensus_weights_ = own[-1].copy() if shared.any() else None
        self.expert_weights_ = np.empty((n_experts, 3))
        self.expert_weights_[~shared] = own[: (~shared).sum()]
        if shared.any():
            self.expert_weights_[shared] = own[-1]
        self.train_scores_ = np.array(history)
        self.n_iter_ = len(history)
        return self

    def predict(self, X: Any, qid: Any = None) -> Floats | list[Floats]:
        """Return the scores of a query's items, or of a list of queries.

        Parameters
        ----------
        X : array-like of shape (n_items, n_experts), PairwisePreferences, or list of such
            Ranks or preferences; with `qid`, one table of several queries.
        qid : array-like of shape (n_rows,), optional
            The query of each row.

        Returns
        -------
        scores : ndarray of shape (n_items,) or list of such
            Larger is better.
        """
        if not hasattr(self, "expert_weights_"):
            check_is_fitted(self, "expert_weights_")
        if qid is None:
            if _is_page(X):
                return self._score_table(X)
            if isinstance(X, list) and len(X) and all(_is_page(one) for one in X):
                return [self._score_table(one) for one in X]
        return predict_queries(X, qid, self.transform, self._score, None)

    def _weights_for(self, n_experts: int) -> Floats:
        """Return the weights of a query's experts: those that are known, then those that share."""
        W = self.expert_weights_
        if n_experts == len(W):
            return W
        consensus = getattr(self, "consensus_weights_", None)
        anonymous = self.share_weights is True
        if consensus is None or (n_experts < len(W) and not anonymous):
            raise ValueError(f"The model knows {len(W)} experts; the query has {n_experts}.")
        new = np.tile(consensus, (max(n_experts - len(W), 0), 1))
        return np.vstack([W[:n_experts], new])

    def _score_table(self, R: Floats) -> Floats:
        """Score one table of ranks without building preferences: microseconds count here."""
        W = self._weights_for(R.shape[1])
        scores = np.zeros(len(R))
        R = np.ascontiguousarray(R)  # some engines of a wider table, or a table by columns
        if not _score_page(R, W, TRANSFORMS.index(self.transform), scores):
            checked_ranks(R)  # names the item
        return scores

    def _score(self, prefs: PairwisePreferences) -> Floats:
        W = self._weights_for(prefs.n_experts)
        # Unseen everywhere, then what was seen instead: as sparse as the ranks are.
        # Minus ϑ of Section 3.6.2: sorted descending, where print sorts ϑ ascending.
        seen = prefs.wins @ W[:, 1] - prefs.losses @ W[:, 2]
        pattern = prefs.wins.copy()
        pattern.data = np.ones_like(pattern.data)
        return seen + W[:, 0].sum() - pattern @ W[:, 0]

    def rank(self, X: Any, qid: Any = None) -> Indices | list[Indices]:
        """Return the items of a query, best first: the most probable permutation.

        Parameters
        ----------
        X : array-like of shape (n_items, n_experts), PairwisePreferences, or list of such
            Ranks or preferences.
        qid : array-like of shape (n_rows,), optional
            The query of each row; the orders are then a list.

        Returns
        -------
        order : ndarray of shape (n_items,) or list of such
            The items, best first.
        """
        return rank_queries(self.predict, X, qid)


class _Adam:
    """Adam's steps along a cosine."""

    def __init__(self, size: int, learning_rate: float, total: int) -> None:
        self.first, self.second = np.zeros(size), np.zeros(size)
        self.learning_rate, self.total, self.count = learning_rate, total, 0

    def ascend(self, weights: Floats, gradient: Floats) -> None:
        """Add one step to the weights."""
        self.count += 1
        self.first += 0.1 * (gradient - self.first)
        self.second += 0.001 * (gradient**2 - self.second)
        rate = self.learning_rate * 0.5 * (1.0 + np.cos(np.pi * self.count / self.total))
        first = self.first / (1.0 - 0.9**self.count)
        second = self.second / (1.0 - 0.999**self.count)
        weights += rate * first / (np.sqrt(second) + 1e-12)


def _warmup() -> None:
    F, gains, chosen = np.zeros((2, 3)), np.ones(2), np.arange(2)
    weights, gradient = np.zeros(3), np.zeros(3)
    _visit(F, gains, chosen, _positions(2), *_discounts(2), weights, gradient)
    _expected_gain(np.zeros(2), gains, _positions(2), *_discounts(2), 0.25)
    _score_page(np.ones((2, 1)), np.zeros((1, 3)), 0, np.zeros(2))
