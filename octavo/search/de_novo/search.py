"""`DeNovoSearch`: many different objects with a property, in a space that can only be sampled."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.mcmc.chains import chain_generators
from octavo.engine.mcmc.state_chains import advance_chains, start_chains
from octavo.search.active_pairs.asking import is_real
from octavo.search.de_novo.evidence import Evidence, SearchRound, ask, is_number
from octavo.search.de_novo.family import is_set
from octavo.search.de_novo.metropolis import check_callable, check_count
from octavo.search.de_novo.mixing import independence_burn_in

__all__ = ["DeNovoSearch", "SearchRound"]

EPS = 0.01  # distance from the posterior that an automatic burn-in allows
PROBES = 200  # proposals from which max p / mean p is estimated
LONGEST = 2000  # of an automatic burn-in


def check_target(target: Any) -> None:
    """Refuse a target that cannot be a label."""
    if not (is_number(target) or isinstance(target, str) or is_set(target)) or target != target:
        raise ValueError(f"The target must be a number, a word or a set; got {target!r}.")


def check_alpha(alpha: Any) -> None:
    """Refuse a penalty that is neither "cv" nor a positive number."""
    if isinstance(alpha, str) and alpha == "cv":
        return
    if not is_real(alpha) or not 0 < alpha < math.inf:
        raise ValueError(f"A positive number or 'cv' is needed for alpha; got {alpha!r}.")


def check_start(start: Any) -> tuple[list[Any], Any]:
    """Return the states and labels with which a search is warm-started."""
    if start is None:
        return [], []
    pair = isinstance(start, (tuple, list)) and len(start) == 2
    if not pair or not all(hasattr(part, "__len__") for part in start):
        raise ValueError("A start must be a pair: a list of states and a list of their labels.")
    states, labels = list(start[0]), start[1]
    if len(states) != len(labels):
        raise ValueError(f"The start has {len(states)} states and {len(labels)} labels.")
    return states, labels


def importance_weights(log_probability: Floats, cap: float) -> Floats:
    """Return w = 1 / max(p(y* | x), 1 / η), line 8 with capped weights (Section 5.4.3)."""
    # Line 8 has 1 / p(y* | x): one unlikely state would then outweigh all the others.
    return 1.0 / np.maximum(np.exp(log_probability), 1.0 / cap)


class DeNovoSearch(CallbackSupportMixin, SoundEstimator):
    """Find many different objects with a property, where objects can only be proposed and tested.

    In every round Metropolis-Hastings chains draw from the proposal's law times the surrogate's
    probability of the target; the oracle labels what they end in; the surrogate, a conditional
    exponential family, is fitted anew to all labels with importance weights (Algorithm 5.1). Draws
    from the posterior, rather than its peak, find targets all over the space.

    Parameters
    ----------
    oracle : callable
        Takes a list of states and returns their labels.
    proposal : callable
        (state or None, rng) -> state, as in `MetropolisHastings`; an `UnlabeledGraphSampler`, a
        fitted `SparseVectorSampler` or a `SubstituentSampler` is one.
    kernel : str or callable
        Name of a kernel of vectors, or a function (list, list) -> matrix, such as
        `random_walk_kernel`.
    target : int, str or frozenset, default=1
        The label that is wanted. Beside 1, labels are 0, or -1; beside a word, words; beside a set
        of properties, sets, which are compared by what they share.
    batch : int, default=10
        Chains, and so questions, in a round.
    burn_in : int or "auto", default="auto"
        Steps of each chain. ``"auto"`` takes `independence_burn_in` with c estimated from 200
        proposals and 0.01, at most 2,000; for a proposal that depends on the state this is a guess.
    weight_cap : float, default=20.0
        Largest importance weight, the thesis's η.
    alpha : float or "cv", default="cv"
        Penalty of the surrogate; chosen by importance-weighted folds in every round by default.
    random_state : int, RandomState instance or None, default=None
        Source of the draws.

    Attributes
    ----------
    found_ : list
        States that the oracle gave the target's label, in the order of the questions; a state that
        was drawn twice is there twice.
    history_ : list of SearchRound
        For each round the states, their labels, probabilities and weights, the penalty, the burn-in
        and the rate of acceptance.
    acceptance_ : float
        Share of all proposals that the chains accepted. Near zero the proposal hardly reaches what
        the surrogate takes for targets.
    states_, labels_ : list
        Everything asked, in order, a warm start left out.

    Notes
    -----
    Not for one best object (use Bayesian optimisation), for a list of candidates that is given
    (`KNNActiveSearch` finds more targets there, though more alike), or where proposals are so poor
    that no target is ever seen.

    References
    ----------
    D. Oglic (2018). Constructive Approximation and Learning by Greedy Algorithms. PhD thesis,
    University of Bonn, Chapter 5.

    Examples
    --------
    >>> import networkx as nx
    >>> from octavo.search import DeNovoSearch, UnlabeledGraphSampler, random_walk_kernel
    >>> search = DeNovoSearch(
    ...     lambda graphs: [int(nx.is_connected(g) and nx.is_planar(g)) for g in graphs],
    ...     UnlabeledGraphSampler(8),
    ...     random_walk_kernel,
    ...     random_state=0,
    ... ).run(60)
    >>> print(len(search.found_), len(search.history_))
    37 6
    """

    def __init__(
        self,
        oracle: Callable[[list[Any]], Any],
        proposal: Callable[..., Any],
        kernel: Any,
        *,
        target: Any = 1,
        batch: int = 10,
        burn_in: int | str = "auto",
        weight_cap: float = 20.0,
        alpha: float | str = "cv",
        random_state: Any = None,
    ) -> None:
        self.oracle = oracle
        self.proposal = proposal
        self.kernel = kernel
        self.target = target
        self.batch = batch
        self.burn_in = burn_in
        self.weight_cap = weight_cap
        self.alpha = alpha
        self.random_state = random_state

    def _check(self) -> None:
        check_callable(self.oracle, "oracle", "of a list of states")
        check_callable(self.proposal, "proposal", "of a state (or None) and a generator")
        check_target(self.target)
        check_alpha(self.alpha)
        check_count(self.batch, "batch", 1)
        if not (isinstance(self.burn_in, str) and self.burn_in == "auto"):
            check_count(self.burn_in, "burn_in ('auto' for a choice by mixing time)", 0)
        if not is_real(self.weight_cap) or not 1 <= self.weight_cap < math.inf:
            raise ValueError(
                f"A finite number of at least 1 is needed for weight_cap; got {self.weight_cap!r}."
            )

    def _burn_in(self, evidence: Evidence, rng: np.random.Generator) -> int:
        """Return the steps of a round (Proposition 5.19); none are needed before the first fit."""
        if not isinstance(self.burn_in, str):
            return int(self.burn_in)
        if evidence.dual is None:
            return 0
        probes = [self.proposal(None, rng) for _ in range(PROBES)]
        p = np.exp(evidence.log_probability(probes))
        # c = max p(y* | x) / p(y*), from draws of ρ
        ratio = float(p.max() / max(float(p.mean()), 1e-300))
        return min(LONGEST, independence_burn_in(max(1.0, ratio), EPS))

    @with_callbacks
    def run(self, budget: int, start: Any = None) -> Self:
        """Search, from the beginning.

        Parameters
        ----------
        budget : int
            Questions that the oracle is asked in all.
        start : (list, list), default=None
            States whose labels are known, and these labels, to start from; they are not counted.

        Returns
        -------
        self : DeNovoSearch
            With what was found.
        """
        self._check()
        budget = check_count(budget, "budget", 1)
        evidence = Evidence(self.kernel, self.target, self.alpha)
        seeds = check_random_state(self.random_state)
        prober = np.random.default_rng(seeds.randint(2**31))
        warm, labels = check_start(start)
        labels = ask(lambda _: labels, warm, self.target, evidence.known)
        # Given states were not drawn by p(y* | x): at θ = 0 that is 1/2.
        evidence.add(warm, labels, np.full(len(warm), min(2.0, float(self.weight_cap))))
        if warm:
            evidence.fit(seeds.randint(2**31))
        self.history_: list[SearchRound] = []
        self.states_: list[Any] = []
        self.labels_: list[Any] = []
        proposed = accepted = 0
        n_rounds = math.ceil(budget / int(self.batch))
        with FitProgress(self, n_rounds, step_name="round") as progress:
            for _ in range(n_rounds):
                size = min(int(self.batch), budget - len(self.states_))
                # Algorithm 5.1, one chain for each state of the batch
                generators = chain_generators(seeds.randint(2**31), size)
                steps = self._burn_in(evidence, prober)
                chains = start_chains(self.proposal, evidence.log_probability, generators)
                chains = advance_chains(
                    chains, self.proposal, evidence.log_probability, generators, steps
                )
                proposed += chains.n_proposed
                accepted += chains.n_accepted
                rate = chains.n_accepted / chains.n_proposed if chains.n_proposed else math.nan
                self._note(evidence, chains.states, chains.log_values, steps, rate)
                if len(self.states_) < budget:
                    evidence.fit(seeds.randint(2**31))
                if progress.step():
                    break
        self.acceptance_ = accepted / proposed if proposed else 1.0
        self.found_ = [x for x, y in zip(self.states_, self.labels_) if y == self.target]
        return self

    def _note(
        self, evidence: Evidence, states: list[Any], logs: Floats, steps: int, rate: float
    ) -> None:
        """Ask about states and write the round down (line 8)."""
        weights = importance_weights(logs, float(self.weight_cap))
        labels = ask(self.oracle, states, self.target, evidence.known)
        used = evidence.used_alpha
        evidence.add(list(states), labels, weights)
        self.states_ += states
        self.labels_ += labels
        found = sum(label == self.target for label in self.labels_)
        self.history_.append(
            SearchRound(
                len(self.states_), found, states, labels, np.exp(logs), weights, used, steps, rate
            )
        )
