"""Other ways to spend the budget: plain proposals, the best of many, nearest neighbours (5.6.1)."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state

from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sound import SoundEstimator
from octavo.search.active_pairs.asking import is_real
from octavo.search.de_novo.evidence import Evidence, SearchRound, ask, make_kernel
from octavo.search.de_novo.metropolis import check_callable, check_count
from octavo.search.de_novo.search import check_alpha, check_start, check_target

__all__ = ["ArgmaxSearch", "KNNActiveSearch", "MonteCarloSearch"]

ROWS = 1000  # of the pool, whose kernel is computed at a time


class _Search(CallbackSupportMixin, SoundEstimator):
    """What searches have in common: they ask, and write down what was answered."""

    def _begin(self, budget: Any) -> int:
        check_callable(self.oracle, "oracle", "of a list of states")
        check_callable(self.proposal, "proposal", "of a state (or None) and a generator")
        check_target(self.target)
        self.history_: list[SearchRound] = []
        self.states_: list[Any] = []
        self.labels_: list[Any] = []
        return check_count(budget, "budget", 1)

    def _note(self, states: list[Any], known: list[Any], p: Floats, alpha: float) -> list[Any]:
        labels = ask(self.oracle, states, self.target, known)
        self.states_ += states
        self.labels_ += labels
        self.found_ = [x for x, y in zip(self.states_, self.labels_) if y == self.target]
        ones = np.ones(len(states))
        self.history_.append(
            SearchRound(len(self.states_), len(self.found_), list(states), labels, p, ones, alpha)
        )
        return labels


class MonteCarloSearch(_Search):
    """Ask about proposals as they come: what every search is measured against.

    Parameters
    ----------
    oracle : callable
        Takes a list of states and returns their labels.
    proposal : callable
        (state or None, rng) -> state; only first states, with None, are asked for.
    kernel : object, default=None
        Not used; here so that searches can be exchanged for one another.
    target : int, str or frozenset, default=1
        The label that is wanted.
    batch : int, default=10
        Questions in a round.
    random_state : int, RandomState instance or None, default=None
        Source of the draws.

    Attributes
    ----------
    found_, states_, labels_ : list
        Targets, everything asked, and all labels, in order.
    history_ : list of SearchRound
        One record per round.

    Notes
    -----
    Learns nothing; use it as a baseline only.

    References
    ----------
    D. Oglic (2018). Constructive Approximation and Learning by Greedy Algorithms. PhD thesis,
    University of Bonn, Section 5.6.2.

    Examples
    --------
    >>> from octavo.search import MonteCarloSearch
    >>> search = MonteCarloSearch(
    ...     lambda states: [int(x > 0.8) for x in states],
    ...     lambda state, rng: rng.random(),
    ...     random_state=0,
    ... ).run(100)
    >>> print(len(search.found_))
    21
    """

    def __init__(
        self,
        oracle: Any,
        proposal: Any,
        kernel: Any = None,
        *,
        target: Any = 1,
        batch: int = 10,
        random_state: Any = None,
    ) -> None:
        self.oracle = oracle
        self.proposal = proposal
        self.kernel = kernel
        self.target = target
        self.batch = batch
        self.random_state = random_state

    @with_callbacks
    def run(self, budget: int, start: Any = None) -> Self:
        """Search, from the beginning.

        Parameters
        ----------
        budget : int
            Questions in all.
        start : (list, list), default=None
            Not used: labels that are known say nothing to this search.

        Returns
        -------
        self : MonteCarloSearch
            With what was found.
        """
        budget = self._begin(budget)
        batch = check_count(self.batch, "batch", 1)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        known: list[Any] = []
        with FitProgress(self, math.ceil(budget / batch), step_name="round") as progress:
            while len(self.states_) < budget:
                size = min(batch, budget - len(self.states_))
                states = [self.proposal(None, rng) for _ in range(size)]
                self._note(states, known, np.full(size, math.nan), math.nan)
                if progress.step():
                    break
        return self


class ArgmaxSearch(_Search):
    """Ask about the proposals that the surrogate holds most probable to be targets.

    Parameters
    ----------
    oracle : callable
        Takes a list of states and returns their labels.
    proposal : callable
        (state or None, rng) -> state; only first states, with None, are asked for.
    kernel : str or callable
        As in `DeNovoSearch`.
    target : int, str or frozenset, default=1
        The label that is wanted.
    batch : int, default=1
        Questions between two fits of the surrogate.
    pool_size : int, default=1000
        Proposals of which the best are asked about, drawn anew in every round.
    alpha : float or "cv", default="cv"
        Penalty of the surrogate; chosen by folds by default.
    random_state : int, RandomState instance or None, default=None
        Source of the draws.

    Attributes
    ----------
    found_, states_, labels_ : list
        Targets, everything asked, and all labels, in order.
    history_ : list of SearchRound
        One record per round.

    Notes
    -----
    Stays where it found targets first; `DeNovoSearch` finds more different ones.

    References
    ----------
    D. Oglic (2018). Constructive Approximation and Learning by Greedy Algorithms. PhD thesis,
    University of Bonn, Section 5.6.1.

    Examples
    --------
    >>> from octavo.search import ArgmaxSearch
    >>> search = ArgmaxSearch(
    ...     lambda states: [int(x[0] > 0.8) for x in states],
    ...     lambda state, rng: rng.random(2),
    ...     "rbf",
    ...     pool_size=50,
    ...     random_state=0,
    ... ).run(30)
    >>> print(len(search.found_))
    28
    """

    def __init__(
        self,
        oracle: Any,
        proposal: Any,
        kernel: Any,
        *,
        target: Any = 1,
        batch: int = 1,
        pool_size: int = 1000,
        alpha: float | str = "cv",
        random_state: Any = None,
    ) -> None:
        self.oracle = oracle
        self.proposal = proposal
        self.kernel = kernel
        self.target = target
        self.batch = batch
        self.pool_size = pool_size
        self.alpha = alpha
        self.random_state = random_state

    @with_callbacks
    def run(self, budget: int, start: Any = None) -> Self:
        """Search, from the beginning.

        Parameters
        ----------
        budget : int
            Questions in all.
        start : (list, list), default=None
            States whose labels are known, and these labels.

        Returns
        -------
        self : ArgmaxSearch
            With what was found.
        """
        budget = self._begin(budget)
        check_alpha(self.alpha)
        batch = check_count(self.batch, "batch", 1)
        pool_size = check_count(self.pool_size, "pool_size", batch)
        seeds = check_random_state(self.random_state)
        rng = np.random.default_rng(seeds.randint(2**31))
        evidence = Evidence(self.kernel, self.target, self.alpha)
        warm, labels = check_start(start)
        evidence.add(
            warm, ask(lambda _: labels, warm, self.target, evidence.known), np.ones(len(warm))
        )
        if warm:
            evidence.fit(seeds.randint(2**31))
        with FitProgress(self, math.ceil(budget / batch), step_name="round") as progress:
            while len(self.states_) < budget:
                size = min(batch, budget - len(self.states_))
                pool = [self.proposal(None, rng) for _ in range(pool_size)]
                logs = evidence.log_probability(pool)
                best = np.argsort(-logs, kind="stable")[:size]
                chosen = [pool[i] for i in best]
                used = evidence.used_alpha
                answers = self._note(chosen, evidence.known, np.exp(logs[best]), used)
                evidence.add(chosen, answers, np.ones(size))
                if len(self.states_) < budget:
                    evidence.fit(seeds.randint(2**31))
                if progress.step():
                    break
        return self


def nearest_neighbors(kernel: Any, pool: list[Any], k: int) -> sp.csr_matrix:
    """Return a table with a one where the column is among the k nearest of the row, in the kernel.

    Squared distances are k(x, x) + k(y, y) - 2 k(x, y); a state is no neighbour of itself.
    """
    n = len(pool)
    parts = [pool[i : i + ROWS] for i in range(0, n, ROWS)]
    norms = np.concatenate([np.diag(kernel(part, part)) for part in parts])
    columns = np.empty((n, k), dtype=np.int64)
    for at, part in enumerate(parts):
        rows = np.arange(at * ROWS, at * ROWS + len(part))
        # k(x, x) of the row is the same for all columns
        distance = norms - 2.0 * kernel(part, pool)
        distance[np.arange(len(part)), rows] = np.inf
        columns[rows] = np.argpartition(distance, k - 1, axis=1)[:, :k]
    indptr = np.arange(0, n * k + 1, k)
    return sp.csr_matrix((np.ones(n * k), columns.ravel(), indptr), shape=(n, n))


class NeighborModel:
    """p(target | x) = (γ + targets) / (1 + labels) among the labelled nearest neighbours of x."""

    def __init__(self, neighbors: sp.csr_matrix, prior: float) -> None:
        by_column = neighbors.tocsc()
        n = neighbors.shape[0]
        self.seen_by = [
            by_column.indices[by_column.indptr[i] : by_column.indptr[i + 1]] for i in range(n)
        ]
        self.prior, self.open = prior, np.ones(n, dtype=bool)
        self.targets, self.labels = np.zeros(n), np.zeros(n)

    def add(self, i: int, is_target: bool) -> None:
        """Take note of the label of state i."""
        self.open[i] = False
        self.labels[self.seen_by[i]] += 1.0
        self.targets[self.seen_by[i]] += float(is_target)

    def probability(self) -> Floats:
        """Return p(target | x) for all states."""
        return (self.prior + self.targets) / (1.0 + self.labels)

    def one_step(self) -> int:
        """Return the open state that is most probably a target."""
        return int(np.argmax(np.where(self.open, self.probability(), -1.0)))

    def two_steps(self) -> int:
        """Return the open state with the most targets expected of it and of the best one after it.

        States are looked at by falling probability, until no other can do better (Garnett et al.).
        """
        p = np.where(self.open, self.probability(), -1.0)
        order: Ints = np.argsort(-p, kind="stable")[: int(self.open.sum())]
        hopeful = (self.prior + self.targets + 1.0) / (2.0 + self.labels)
        sober = (self.prior + self.targets) / (2.0 + self.labels)
        ceiling = float(hopeful[order].max())
        best, chosen = -1.0, int(order[0])
        for x in order:
            # No state further down can beat the best: its next step is bounded by `ceiling`.
            if p[x] + p[x] * ceiling + (1.0 - p[x]) * p[order[0]] <= best + 1e-15:
                break
            near = self.seen_by[x]
            near = near[self.open[near] & (near != x)]
            touched = set(near.tolist()) | {int(x)}
            rest = next((float(p[i]) for i in order if int(i) not in touched), 0.0)
            yes = max(rest, float(hopeful[near].max(initial=0.0)))
            no = max(rest, float(sober[near].max(initial=0.0)))
            value = float(p[x] + p[x] * yes + (1.0 - p[x]) * no)
            if value > best + 1e-15:
                best, chosen = value, int(x)
        return chosen


class KNNActiveSearch(_Search):
    """Search a pool of proposals by the labels of nearest neighbours, one or two steps ahead.

    Parameters
    ----------
    oracle : callable
        Takes a list of states and returns their labels.
    proposal : callable
        (state or None, rng) -> state; the pool is drawn from it.
    kernel : str or callable
        As in `DeNovoSearch`; its distances say which states are neighbours.
    k : int, default=50
        Number of neighbours that are looked at.
    lookahead : {1, 2}, default=1
        1 takes the state that is most probably a target; 2 adds the best one that could follow.
    target : int, str or frozenset, default=1
        The label that is wanted.
    pool_size : int, default=5000
        Size of the pool; the thesis has 50,000.
    prior : float, default=0.1
        Probability of a target where no neighbour is labelled.
    random_state : int, RandomState instance or None, default=None
        Source of the draws.

    Attributes
    ----------
    found_, states_, labels_ : list
        Targets, everything asked, and all labels, in order.
    history_ : list of SearchRound
        One record per question.
    pool_ : list
        The pool, with a warm start at its end.

    Notes
    -----
    Its distances take time and memory that grow with the square of the pool. It finds more targets
    than `DeNovoSearch` and less different ones.

    References
    ----------
    R. Garnett, Y. Krishnamurthy, X. Xiong, J. Schneider and R. Mann (2012). Bayesian optimal active
    search and surveying. International Conference on Machine Learning. D. Oglic (2018).
    Constructive Approximation and Learning by Greedy Algorithms. PhD thesis, University of Bonn,
    Section 5.6.1.

    Examples
    --------
    >>> from octavo.search import KNNActiveSearch
    >>> search = KNNActiveSearch(
    ...     lambda states: [int(x[0] > 0.8) for x in states],
    ...     lambda state, rng: rng.random(2),
    ...     "rbf",
    ...     k=10,
    ...     pool_size=200,
    ...     random_state=0,
    ... ).run(30)
    >>> print(len(search.found_))
    23
    """

    def __init__(
        self,
        oracle: Any = None,
        proposal: Any = None,
        kernel: Any = None,
        *,
        k: int = 50,
        lookahead: int = 1,
        target: Any = 1,
        pool_size: int = 5000,
        prior: float = 0.1,
        random_state: Any = None,
    ) -> None:
        self.oracle = oracle
        self.proposal = proposal
        self.kernel = kernel
        self.k = k
        self.lookahead = lookahead
        self.target = target
        self.pool_size = pool_size
        self.prior = prior
        self.random_state = random_state

    def _check(self) -> None:
        check_count(self.k, "k", 1)
        check_count(self.pool_size, "pool_size", int(self.k) + 1)
        if self.lookahead not in (1, 2) or isinstance(self.lookahead, bool):
            raise ValueError(f"One or two steps are looked ahead; got {self.lookahead!r}.")
        if not is_real(self.prior) or not 0 < self.prior < 1:
            raise ValueError(
                f"A probability between 0 and 1 is needed as prior; got {self.prior!r}."
            )

    @with_callbacks
    def run(self, budget: int, start: Any = None) -> Self:
        """Search, from the beginning.

        Parameters
        ----------
        budget : int
            Questions in all.
        start : (list, list), default=None
            States whose labels are known, and these labels; they join the pool.

        Returns
        -------
        self : KNNActiveSearch
            With what was found.
        """
        budget = self._begin(budget)
        self._check()
        if budget > self.pool_size:
            raise ValueError(f"A pool of {self.pool_size} states has no {budget} to ask about.")
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        known: list[Any] = []
        warm, given = check_start(start)
        labels = ask(lambda _: given, warm, self.target, known)
        self.pool_ = [self.proposal(None, rng) for _ in range(int(self.pool_size))] + warm
        neighbors = nearest_neighbors(make_kernel(self.kernel), self.pool_, int(self.k))
        model = NeighborModel(neighbors, float(self.prior))
        for i, label in enumerate(labels):
            model.add(int(self.pool_size) + i, label == self.target)
        with FitProgress(self, budget, step_name="question") as progress:
            while len(self.states_) < budget:
                i = model.one_step() if self.lookahead == 1 else model.two_steps()
                p = model.probability()[[i]]
                answer = self._note([self.pool_[i]], known, p, math.nan)
                model.add(i, answer[0] == self.target)
                if progress.step():
                    break
        return self
