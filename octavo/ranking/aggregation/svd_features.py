"""`SVDRankAggregator`: items described by singular vectors of preferences, then learning to rank.

Reference: Volkovs and Zemel (2014), New learning methods for supervised and unsupervised
preference aggregation, Section 3.5 and Algorithm 1; C. Burges, R. Ragno and Q. V. Le (2006),
Learning to rank with nonsmooth cost functions (LambdaRank).
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
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
from octavo.ranking.aggregation.metrics import discounts, ndcg
from octavo.ranking.aggregation.preferences import PairwisePreferences, as_preferences
from octavo.ranking.aggregation.strengths import TRANSFORMS

__all__ = ["SVDRankAggregator", "preference_svd_features"]


def signed_svd(Y: Floats, n_components: int) -> tuple[Floats, Floats, Floats]:
    """Return the leading singular triplets, each left vector with a sum that is not negative.

    The sign of a pair of singular vectors is free; without a rule it would differ from query to
    query and no weight could be learned.

    Parameters
    ----------
    Y : ndarray of shape (n, n)
        Strengths.
    n_components : int
        How many; missing ones are zero.

    Returns
    -------
    U : ndarray of shape (n, n_components)
        Left vectors.
    sigma : ndarray of shape (n_components,)
        Singular values.
    V : ndarray of shape (n, n_components)
        Right vectors.
    """
    n = Y.shape[0]
    U, sigma, V = np.zeros((n, n_components)), np.zeros(n_components), np.zeros((n, n_components))
    if not Y.any():
        return U, sigma, V
    left, values, right = np.linalg.svd(Y)  # Section 3.5.1
    rank = min(n_components, int((values > 1e-12 * values[0]).sum()))
    sign = np.where(left[:, :rank].sum(axis=0) < 0, -1.0, 1.0)
    U[:, :rank], sigma[:rank], V[:, :rank] = (
        left[:, :rank] * sign,
        values[:rank],
        (right[:rank].T * sign),
    )
    return U, sigma, V


def _instance_features(prefs: PairwisePreferences, n_components: int) -> Floats:
    """Return (missing, U, σ, V) of every item and expert, Eq. (3)."""
    F = np.zeros((prefs.n_items, prefs.n_experts, 3 * n_components + 1))
    F[:, :, 0] = 1.0
    for e in range(prefs.n_experts):
        # I[R(i, ψ) = 0] of Eq. (3)
        seen = prefs.wins.indices[prefs.wins.indptr[e] : prefs.wins.indptr[e + 1]]
        if seen.size == 0:
            continue
        Y = prefs.to_array(e)[np.ix_(seen, seen)]
        # Of what he has seen: the other rows and columns are zero
        U, sigma, V = signed_svd(Y, n_components)
        F[seen, e, 0] = 0.0
        # u1, σ1, v1, u2, ...; σ is the same for all items of a query, seen or not.
        F[seen, e, 1::3], F[:, e, 2::3], F[seen, e, 3::3] = U, sigma, V
    return F


@checked
def preference_svd_features(R: Any, n_components: int = 1, transform: str = "log") -> Floats:
    """Return features of items from the singular vectors of each expert's preferences.

    With them any method that learns to rank can aggregate rankings.

    Parameters
    ----------
    R : array-like of shape (n_items, n_experts) or PairwisePreferences
        Ranks, 1 is best, NaN is missing; or preferences.
    n_components : int, default=1
        Singular triplets an expert.
    transform : {"binary", "rank_difference", "normalized", "log"}, default="log"
        How ranks become strengths.

    Returns
    -------
    features : ndarray of shape (n_items, n_experts * (3 * n_components + 1))
        For each expert: 1 where the item is missing, then u, σ and v of each component; u and v are
        zero where the item is missing, and σ is the same for all items.

    Examples
    --------
    >>> from octavo.ranking import preference_svd_features
    >>> preference_svd_features([[1.0], [2.0], [float("nan")]]).round(3) + 0.0
    array([[0., 1., 1., 0.],
           [0., 0., 1., 1.],
           [1., 0., 1., 0.]])
    """
    if not isinstance(n_components, Integral) or isinstance(n_components, bool) or n_components < 1:
        raise ValueError(f"n_components must be an integer of at least 1; got {n_components!r}.")
    prefs = as_preferences(R, transform)
    return _instance_features(prefs, int(n_components)).reshape(prefs.n_items, -1)


@njit(cache=True, nogil=True)
def _lambda_slopes(scores, gains, discount):
    """Return LambdaRank's ascent direction by each score, for NDCG of the full list."""
    n = scores.shape[0]
    place = np.zeros(n, dtype=np.int64)
    best = np.zeros(n, dtype=np.int64)
    for i in range(n):
        for j in range(n):
            if scores[j] > scores[i] or (scores[j] == scores[i] and j < i):
                place[i] += 1
            if gains[j] > gains[i] or (gains[j] == gains[i] and j < i):
                best[i] += 1
    ideal = 0.0
    for i in range(n):
        ideal += gains[i] * discount[best[i]]  # NDCG's divisor, of the full list
    slopes = np.zeros(n)
    for i in range(n):
        for j in range(n):
            if gains[i] > gains[j]:
                # |ΔNDCG| when i and j swap, times the ideal
                change = abs((gains[i] - gains[j]) * (discount[place[i]] - discount[place[j]]))
                # λ_ij: |ΔNDCG| (1 - Q_ij)
                push = change / ideal / (1.0 + np.exp(scores[i] - scores[j]))
                slopes[i] += push
                slopes[j] -= push
    return slopes


class SVDRankAggregator(CallbackSupportMixin, SoundEstimator):
    """Rank aggregation by singular vectors of each expert's preferences and LambdaRank.

    An item's features are its entries in the leading singular vectors of every expert's matrix of
    preferences, with a bias where the expert has not seen it; a linear score is trained for NDCG.

    Do not use it where queries must be answered fast: `CRFRankAggregator` is about as accurate and
    needs no decomposition. scikit-learn has neither rank aggregation nor learning to rank.

    Parameters
    ----------
    n_components : int, default=1
        Singular triplets an expert; the paper found one to be best.
    transform : {"binary", "rank_difference", "normalized", "log"}, default="log"
        How ranks become strengths (`PairwisePreferences.from_ranks`).
    learning_rate : float, default=0.01
        Step of stochastic gradient ascent, on features that are scaled to unit size.
    n_epochs : int, default=200
        Passes over the queries.
    validation_fraction : float, default=0.0
        Share of the queries by whose NDCG@10 the best epoch is kept; with 0, by the NDCG@10 of the
        training queries.
    random_state : int, RandomState instance or None, default=None
        Seeds the order of queries and the choice of validation queries.

    Attributes
    ----------
    expert_weights_ : ndarray of shape (n_experts, 3 * n_components + 1)
        Weights of missing, then of u, σ and v of each component.
    validation_scores_ : ndarray of shape (n_epochs,)
        NDCG@10 after each epoch.
    best_epoch_ : int
        The epoch whose weights were kept.
    n_iter_ : int
        Epochs.

    References
    ----------
    .. [1] M. N. Volkovs and R. S. Zemel. New learning methods for supervised and unsupervised
       preference aggregation. Journal of Machine Learning Research 15, 2014.

    Examples
    --------
    >>> from octavo.data import make_meta_search
    >>> from octavo.ranking import SVDRankAggregator, ndcg_at
    >>> ranks, relevance = make_meta_search(60, random_state=0)[:2]
    >>> model = SVDRankAggregator(n_epochs=20, random_state=0).fit(ranks[:40], relevance[:40])
    >>> model.expert_weights_.shape
    (25, 4)
    >>> bool(ndcg_at(relevance[40:], model.predict(ranks[40:]), k=5) > 0.6)
    True
    """

    _parameter_constraints: dict[str, Any] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "transform": [StrOptions(set(TRANSFORMS))],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "n_epochs": [Interval(Integral, 1, None, closed="left")],
        "validation_fraction": [Interval(Real, 0, 1, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components: int = 1,
        transform: str = "log",
        learning_rate: float = 0.01,
        n_epochs: int = 200,
        validation_fraction: float = 0.0,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.transform = transform
        self.learning_rate = learning_rate
        self.n_epochs = n_epochs
        self.validation_fraction = validation_fraction
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.target_tags.required = True
        return tags

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
        instances, grades = read_labelled(X, y, qid, self.transform)
        tables = [_instance_features(one, self.n_components) for one in instances]
        shape = tables[0].shape[1:]
        features = [F.reshape(len(F), -1) for F in tables]
        size = np.sqrt(np.mean(np.vstack(features) ** 2, axis=0))
        scale = np.where(size > 0, size, 1.0)
        features = [np.ascontiguousarray(F / scale) for F in features]
        gains = [np.exp2(g) - 1.0 for g in grades]
        weights_of_places = [discounts(g.size) for g in grades]
        order = rng.permutation(len(instances))
        held = min(int(self.validation_fraction * len(order)), len(order) - 1)
        judged, trained = (order[:held], order[held:]) if held else (order, order)
        weights = np.zeros(scale.size)
        history: list[float] = []
        best, kept = -np.inf, weights.copy()
        with FitProgress(self, self.n_epochs, step_name="epoch") as progress:
            for _ in range(self.n_epochs):
                for q in rng.permutation(trained):
                    F = features[q]
                    slopes = _lambda_slopes(F @ weights, gains[q], weights_of_places[q])
                    # Algorithm 1's update: ascent, for the slopes carry its sign
                    weights += self.learning_rate * (slopes @ F)
                # NDCG@10
                value = float(np.mean([ndcg(grades[q], features[q] @ weights, 10) for q in judged]))
                if value > best:
                    best, kept, self.best_epoch_ = value, weights.copy(), len(history)
                history.append(value)
                if progress.step():
                    break
        self.expert_weights_ = (kept / scale).reshape(shape)
        self.validation_scores_ = np.array(history)
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
        check_is_fitted(self, "expert_weights_")

        def score(prefs: PairwisePreferences) -> Floats:
            F = _instance_features(prefs, self.n_components)
            return np.einsum("iek,ek->i", F, self.expert_weights_)

        return predict_queries(X, qid, self.transform, score, len(self.expert_weights_))

    def rank(self, X: Any, qid: Any = None) -> Indices | list[Indices]:
        """Return the items of a query, best first.

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


def _warmup() -> None:
    _lambda_slopes(np.zeros(2), np.ones(2), np.ones(2))
