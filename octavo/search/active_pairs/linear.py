"""`SRRALinearRanker`: a linear score from few answers about pairs (Sections 6.1 and 6.2)."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.svm import LinearSVC
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.estimators.doubles import check_squares
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.search.active_pairs.asking import as_oracle
from octavo.search.active_pairs.ranker import SAMPLERS, inverse, started_order
from octavo.search.active_pairs.regret import said_before
from octavo.search.active_pairs.rounds import Problem, run_rounds
from octavo.search.active_pairs.sampling import PairSample
from octavo.search.active_pairs.shells import (
    MOST_ITEMS,
    peeled_layers,
    shell_inclusion,
    shell_sample,
)

__all__ = ["SRRALinearRanker"]


def ranking_svm(
    X: Floats, pairs: Ints, answers: Floats, weights: Floats, C: float, tol: float, max_iter: int
) -> Floats:
    """Return w that minimises ½‖w‖² + C Σ weight max(0, 1 - y w·(x_u - x_v)), y = ±1 (Section 6.2).

    Weights are divided by their mean; a tie pulls with half its weight either way.
    """
    differences = X[pairs[:, 0]] - X[pairs[:, 1]]
    rows = np.concatenate([differences, -differences])
    # Section 6.2's hinge: a pair counts as u before v, v before u, or a share of both.
    shares = np.concatenate([weights * answers, weights * (1.0 - answers)]) / weights.mean()
    kept = shares > 0.0
    rows, shares = rows[kept], shares[kept]
    # Each row says "positive"; half are turned round, since the solver wants two classes.
    sign = np.where(np.arange(len(rows)) % 2 == 0, 1.0, -1.0)
    if len(rows) == 1:
        rows, sign = np.repeat(rows, 2, axis=0), np.array([1.0, -1.0])
        shares = np.repeat(shares / 2.0, 2)
    machine = LinearSVC(
        C=C, loss="hinge", fit_intercept=False, tol=tol, max_iter=max_iter, random_state=0
    )
    machine.fit(rows * sign[:, None], sign, sample_weight=shares)
    return machine.coef_[0]


class SRRALinearRanker(CallbackSupportMixin, SoundEstimator):
    """Learn a linear score of items with features by asking few questions about pairs.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the loss against ½‖w‖², for a pair of average weight.
    n_rounds : int, default=4
        Rounds of questions.
    p : int, default=3
        As for `SRRARanker`; with "shells", p n pairs are drawn from each shell.
    sampling : {"bernoulli", "bands", "shells"}, default="bernoulli"
        How pairs are drawn: by distance under the pivot, or from shells of pairs about which linear
        rankings close to the pivot's disagree (Section 6.1.2; at most 60 items).
    reuse : {"pool", "fresh"}, default="pool"
        Whether a round uses all answers ever bought, or, as printed, those of its own sample alone.
    init : {"quicksort", "borda"} or array-like of shape (n_items,), default="quicksort"
        The first order, as for `SRRARanker`.
    max_weight : float or None, default=None
        Largest ratio of two weights; None does not limit.
    tol : float, default=1e-4
        Tolerance of the support vector machine.
    max_iter : int, default=10000
        Its largest number of iterations.
    random_state : int, RandomState instance or None, default=None
        Source of the draws.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        The direction w; an item with a larger ``X @ coef_`` comes earlier.
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
        Estimated error of the ranking less that of the last pivot; may be positive, since the hinge
        loss is minimised and not the error.
    budget_exhausted_ : bool
        Whether the oracle's budget ended the fit.
    n_features_in_ : int
        Number of features.

    Notes
    -----
    Features are scaled by the largest standard deviation before the machine sees them, so that C
    does not depend on their unit; features of different units want a `StandardScaler`. Do not use
    it where no linear score ranks the items: `SRRARanker` needs no features.

    References
    ----------
    N. Ailon, R. Begleiter and E. Ezra (2014). Active Learning Using Smooth Relative Regret
    Approximations with Applications. Journal of Machine Learning Research 15, Section 6.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.search import SRRALinearRanker
    >>> X = np.random.RandomState(0).standard_normal((60, 3))
    >>> score = X @ [1.0, -2.0, 0.5]
    >>> model = SRRALinearRanker(random_state=0).fit(X, lambda u, v: score[u] > score[v])
    >>> print((model.coef_ / model.coef_[0]).round(1))
    [ 1.  -2.   0.5]
    """

    _parameter_constraints: dict = {
        "C": [Interval(Real, 0, None, closed="neither")],
        "n_rounds": [Interval(Integral, 1, 10_000, closed="both")],
        "p": [Interval(Integral, 1, None, closed="left")],
        "sampling": [StrOptions({*SAMPLERS, "shells"})],
        "reuse": [StrOptions({"pool", "fresh"})],
        "init": [StrOptions({"quicksort", "borda"}), "array-like"],
        "max_weight": [Interval(Real, 1, None, closed="left"), None],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        C: float = 1.0,
        n_rounds: int = 4,
        p: int = 3,
        sampling: str = "bernoulli",
        reuse: str = "pool",
        init: Any = "quicksort",
        max_weight: float | None = None,
        tol: float = 1e-4,
        max_iter: int = 10_000,
        random_state: Any = None,
    ) -> None:
        self.C = C
        self.n_rounds = n_rounds
        self.p = p
        self.sampling = sampling
        self.reuse = reuse
        self.init = init
        self.max_weight = max_weight
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _samplers(self, Z: Floats, direction: dict) -> tuple[Any, Any]:
        """Return how pairs are drawn around a pivot, and how likely each is."""
        if self.sampling != "shells":
            draw, chance = SAMPLERS[self.sampling]
            return (
                lambda position, rng: draw(position, self.p, rng),
                lambda position, x: chance(position, x, self.p),
            )
        n = len(Z)
        total, m = n * (n - 1), self.p * n

        def radii(position: Ints) -> tuple[Ints, Floats]:
            w = direction.get(position.tobytes())
            if w is None:  # the first order need not be linear: one shell holds all pairs
                return np.column_stack(np.triu_indices(n, 1)), np.zeros(n * (n - 1) // 2)
            pairs, layer = peeled_layers(Z, w)
            # each layer is one inversion, two ordered pairs of n(n - 1)
            return pairs, 2.0 * layer / total

        kept: dict[bytes, tuple[Ints, Floats]] = {}

        def around(position: Ints) -> tuple[Ints, Floats]:
            key = position.tobytes()
            if key not in kept:
                kept[key] = radii(position)
            return kept[key]

        def sample(position: Ints, rng: Any) -> PairSample:
            pairs, far = around(position)
            drawn = shell_sample(far, 2.0 / total, m, rng)  # μ is the least distance there is
            return PairSample(pairs[drawn.pairs], 2.0 * drawn.weights, drawn.cells)

        def chance_of(position: Ints, x: Ints) -> Floats:
            pairs, far = around(position)
            number = np.full((n, n), -1)
            number[pairs[:, 0], pairs[:, 1]] = number[pairs[:, 1], pairs[:, 0]] = np.arange(
                len(pairs)
            )
            place = number[x[:, 0], x[:, 1]]
            chance = shell_inclusion(far, 2.0 / total, m, np.maximum(place, 0))
            return np.where(place < 0, 1.0, chance)

        return sample, chance_of

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, oracle: Any) -> Self:
        """Ask and learn.

        Parameters
        ----------
        X : array-like of shape (n_items, n_features)
            The items.
        oracle : PairwiseOracle, callable or array-like of shape (n_items, n_items)
            Who answers: ``answers(u, v)`` is 1 when row u comes before row v, 0 when not, 0.5 for a
            tie.

        Returns
        -------
        self : SRRALinearRanker
            The fitted ranker.
        """
        X = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        check_squares(X)
        n = len(X)
        if self.sampling == "shells" and n > MOST_ITEMS:
            raise ValueError(f"sampling='shells' takes at most {MOST_ITEMS} items; got {n}.")
        unit = float(np.abs(X).max()) or 1.0
        scale = float((X / unit).std(axis=0).max()) * unit or unit
        Z = X / scale - (X / scale).mean(axis=0)
        oracle = as_oracle(oracle, n)
        rng = check_random_state(self.random_state)
        asked = oracle.n_queries_
        order, bought, _ = started_order(self.init, n, self.p, oracle, rng)
        direction: dict[bytes, Floats] = {}
        newest = np.zeros(Z.shape[1])

        def minimize(pairs: Ints, answers: Floats, weights: Floats, pivot: Ints) -> Ints:
            nonlocal newest
            newest = ranking_svm(Z, pairs, answers, weights, self.C, self.tol, self.max_iter)
            position = inverse(np.argsort(-(Z @ newest), kind="stable"))
            direction[position.tobytes()] = newest
            return position

        sample, chance = self._samplers(Z, direction)
        pooled = self.reuse == "pool"
        problem = Problem(sample, said_before, minimize, chance if pooled else None, n * (n - 1))
        with FitProgress(self, self.n_rounds, X, step_name="round") as progress:
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
        self.coef_ = newest / scale
        self.position_ = found.hypothesis
        self.ranking_ = np.argsort(found.hypothesis)
        self.n_queries_ = oracle.n_queries_ - asked
        self.history_ = found.history
        self.estimated_regret_ = found.history[-1].regret if found.history else 0.0
        self.budget_exhausted_ = found.budget_exhausted
        return self

    def decision_function(self, X: Any) -> Floats:
        """Return the scores of items; a larger one comes earlier.

        Parameters
        ----------
        X : array-like of shape (n_items, n_features)
            Items, old or new.

        Returns
        -------
        scores : ndarray of shape (n_items,)
            ``X @ coef_``.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return X @ self.coef_
