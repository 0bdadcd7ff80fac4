"""Search problems of the user's own, searches that know the truth, and what they decide.

`StructuredProblem` is the interface ⟨I, A, s, f, T⟩ of Section 3.1 of Doppa, Fern and Tadepalli
(2014); `ranking_constraints` gives the sufficient pairwise decisions of their Section 4.3.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from octavo.engine.estimators.checked import checked

__all__ = ["OracleSearch", "StructuredProblem", "oracle_search", "ranking_constraints"]


@runtime_checkable
class StructuredProblem(Protocol):
    """What a primitive search space must tell: nodes are partial outputs, actions extend them.

    Any object with these methods will do for `oracle_search`. Outputs are tuples of actions.
    Do not write one for sequences or grids of labels: `OutputSpaceSearchClassifier` has them.

    Examples
    --------
    >>> from octavo.structured import StructuredProblem
    >>> class Bits:
    ...     def initial(self, x): return (x, ())
    ...     def actions(self, node): return (0, 1)
    ...     def step(self, node, action): return (node[0], (*node[1], action))
    ...     def node_features(self, node): return [float(len(node[1]))]
    ...     def is_terminal(self, node): return len(node[1]) == node[0]
    ...     def output_features(self, x, y): return [float(sum(y))]
    ...     def delta_features(self, x, y, i, action): return [float(action - y[i])]
    >>> isinstance(Bits(), StructuredProblem)
    True
    """

    def __init__(self) -> None: ...

    def initial(self, x: Any) -> Any:
        """Return the node before any decision: I of the paper.

        Parameters
        ----------
        x : object
            The input.

        Returns
        -------
        node : object
            The first node.
        """

    def actions(self, node: Any) -> Sequence[Any]:
        """Return the actions that are possible at a node: A.

        Parameters
        ----------
        node : object
            A node that is not terminal.

        Returns
        -------
        actions : sequence
            What can be decided there.
        """

    def step(self, node: Any, action: Any) -> Any:
        """Return the node that an action leads to: s.

        Parameters
        ----------
        node : object
            Where it is taken.
        action : object
            One of the actions there.

        Returns
        -------
        node : object
            The next node.
        """

    def node_features(self, node: Any) -> Any:
        """Return what a recurrent classifier sees at a node: f.

        Parameters
        ----------
        node : object
            A node that is not terminal.

        Returns
        -------
        features : array-like
            Numbers.
        """

    def is_terminal(self, node: Any) -> bool:
        """Return whether a node is a complete output: T.

        Parameters
        ----------
        node : object
            Any node.

        Returns
        -------
        terminal : bool
            True when nothing is left to decide.
        """

    def output_features(self, x: Any, y: Sequence[Any]) -> Any:
        """Return the joint features of a complete output: Φ.

        Parameters
        ----------
        x : object
            The input.
        y : sequence
            Actions from first to last.

        Returns
        -------
        features : array-like
            Numbers.
        """

    def delta_features(self, x: Any, y: Sequence[Any], i: int, action: Any) -> Any:
        """Return how the joint features change where action i becomes another.

        Parameters
        ----------
        x : object
            The input.
        y : sequence
            Actions from first to last.
        i : int
            Which one changes.
        action : object
            What it becomes.

        Returns
        -------
        features : array-like
            The difference of `output_features`.
        """


class OracleSearch(NamedTuple):
    """Result of `oracle_search`.

    ``output`` is the best output met, ``loss`` its loss, ``losses`` the least loss after every
    step (the start first), ``trajectory`` the outputs that were expanded or kept best, one per
    step.
    """

    output: tuple[Any, ...]
    loss: float
    losses: list[float]
    trajectory: list[tuple[Any, ...]]


def _roll(
    problem: Any, x: Any, policy: Callable[[Any], Any], forced: dict[int, Any], n: int
) -> tuple:
    """Return the actions of a policy where some are forced: h[D](x)."""
    node = problem.initial(x)
    taken: list[Any] = []
    while not problem.is_terminal(node):
        i = len(taken)
        if i == n:
            raise ValueError(f"y_true has {n} actions, but the problem goes on after as many.")
        if i in forced:
            action = forced[i]
        else:
            action = policy(node)
        taken.append(action)
        node = problem.step(node, action)
    return tuple(taken)


def _options(problem: Any, x: Any, output: tuple) -> list[Sequence[Any]]:
    """Return the actions possible at every step of an output."""
    node, found = problem.initial(x), []
    for action in output:
        found.append(problem.actions(node))
        node = problem.step(node, action)
    return found


@checked
def oracle_search(
    problem: StructuredProblem,
    x: Any,
    y_true: Sequence[Any],
    *,
    policy: Callable[[Any], Any] | None = None,
    loss: Callable[[Any, Any], float] | None = None,
    space: str = "lds",
    search: str = "greedy",
    beam_width: int = 1,
    n_steps: int | None = None,
    skip_visited: bool = False,
) -> OracleSearch:
    """Search among complete outputs with the true loss as the guide.

    It tells how good outputs can be that a space offers: the loss that remains is that of the
    search space, not of a learned cost.

    Parameters
    ----------
    problem : StructuredProblem
        The primitive search space.
    x : object
        The input.
    y_true : sequence
        The right actions.
    policy : callable, optional
        Takes a node and returns an action: the recurrent classifier. By default the first action.
    loss : callable, optional
        loss(y_true, y_pred); by default the number of wrong actions.
    space : {"lds", "flipbit"}, default="lds"
        Force one action and let the policy go on, or change one action.
    search : {"greedy", "beam", "breadth"}, default="greedy"
        Keep one output; keep several and expand the best; or expand all of them.
    beam_width : int, default=1
        Outputs that a beam keeps.
    n_steps : int, optional
        Search steps; as many as actions by default.
    skip_visited : bool, default=False
        Whether outputs met before are no candidates; beams of several outputs always skip them.

    Returns
    -------
    found : OracleSearch
        Best output, its loss, the least loss after every step, and the way.

    Examples
    --------
    >>> from octavo.structured import oracle_search
    >>> class Bits:
    ...     def initial(self, x): return (x, ())
    ...     def actions(self, node): return (0, 1)
    ...     def step(self, node, action): return (node[0], (*node[1], action))
    ...     def is_terminal(self, node): return len(node[1]) == node[0]
    >>> oracle_search(Bits(), 4, (1, 0, 1, 1), space="flipbit").losses
    [3.0, 2.0, 1.0, 0.0, 0.0]
    """
    if space not in ("lds", "flipbit") or search not in ("greedy", "beam", "breadth"):
        raise ValueError(
            f"space must be 'lds' or 'flipbit' and search 'greedy', 'beam' or 'breadth', got "
            f"{space!r} and {search!r}."
        )
    if beam_width < 1 or (n_steps is not None and n_steps < 0):
        raise ValueError(
            f"beam_width must be positive and n_steps not negative, got {beam_width} and {n_steps}."
        )
    act = policy or (lambda node: problem.actions(node)[0])
    truth = tuple(y_true)
    price = loss or (lambda a, b: float(sum(p != q for p, q in zip(a, b))))
    first = _roll(problem, x, act, {}, len(truth))
    if len(first) != len(truth):
        raise ValueError(f"y_true has {len(truth)} actions, but the problem takes {len(first)}.")

    def neighbours(state: tuple[tuple, tuple]) -> list[tuple[tuple, tuple]]:
        output, forced = state
        found: list[tuple[tuple, tuple]] = []
        for i, options in enumerate(_options(problem, x, output)):
            for action in options:
                if action == output[i]:
                    continue
                if space == "flipbit":
                    found.append(((*output[:i], action, *output[i + 1 :]), ()))
                    continue
                more = {**dict(forced), i: action}
                found.append(
                    (_roll(problem, x, act, more, len(truth)), tuple(sorted(more.items())))
                )
        return found

    walk = _Walk(
        neighbours,
        lambda state: float(price(truth, state[0])),
        (first, ()),
        1 if search == "greedy" else beam_width,
        breadth=search == "breadth",
        skip=skip_visited,
        key=lambda state: state[0],
    )
    losses, way = [walk.best[0]], [first]
    for _ in range(len(truth) if n_steps is None else n_steps):
        if not walk.step():
            break
        losses.append(walk.best[0])
        way.append(walk.beam[0][1][0] if walk.beam else walk.best[1][0])
    return OracleSearch(walk.best[1][0], walk.best[0], losses, way)


class _Walk:
    """A search by comparisons over states of any kind, with the pairs that it decides."""

    def __init__(
        self,
        successors: Callable[[Any], Iterable[Any]],
        loss: Callable[[Any], float],
        start: Any,
        width: int,
        *,
        breadth: bool = False,
        skip: bool = False,
        key: Callable[[Any], Hashable] = lambda state: state,
    ) -> None:
        self.successors, self.loss, self.width = successors, loss, width
        self.breadth, self.skip, self.key = breadth, skip or width > 1, key
        self.best: tuple[float, Any] = (self._price(start), start)
        self.beam = [self.best]
        self.seen = {key(start)} if self.skip else set()
        self.pairs: list[tuple[Any, Any]] = []

    def _price(self, state: Any) -> float:
        value = float(self.loss(state))
        if not np.isfinite(value):
            raise ValueError(f"The loss must be a finite number, got {value} for {state!r}.")
        return value

    def _decide(self, better: list[tuple[float, Any]], worse: list[tuple[float, Any]]) -> None:
        """Keep the pairs of different loss."""
        for one in better:
            self.pairs += [(one[1], two[1]) for two in worse if one[0] < two[0]]

    def step(self) -> bool:
        """Select, expand and prune; return whether anything is left to expand."""
        if not self.beam:
            return False
        chosen = self.beam if self.breadth else self.beam[:1]
        rest = [] if self.breadth else self.beam[1:]
        self._decide(chosen, rest)  # selection
        fresh, met = [], set(self.seen)
        for _, node in chosen:
            for state in self.successors(node):
                if self.skip:
                    name = self.key(state)
                    if name in met:
                        continue
                    met.add(name)
                fresh.append((self._price(state), state))
        pool = rest + fresh
        ranked = sorted(range(len(pool)), key=lambda k: pool[k][0])
        self.beam = [pool[k] for k in ranked[: self.width]]
        kept, pruned = sorted(ranked[: self.width]), sorted(ranked[self.width :])
        self._decide([pool[k] for k in kept], [pool[k] for k in pruned])  # pruning
        if self.skip:  # what greedy search did not follow stays a candidate
            self.seen = met if self.width > 1 else self.seen | {self.key(s) for _, s in self.beam}
        if fresh:
            new = min(fresh, key=lambda pair: pair[0])
            if new[0] < self.best[0]:
                self._decide([new], [self.best])  # anytime
                self.best = new
            else:
                self._decide([self.best], [new])
        return bool(self.beam)


@checked
def ranking_constraints(
    successors: Callable[[Any], Iterable[Any]],
    loss: Callable[[Any], float],
    start: Any,
    n_steps: int,
    beam_width: int = 1,
    *,
    search: str = "beam",
) -> list[tuple[Any, Any]]:
    """Return the pairs (better, worse) that a cost must rank to make a search go the same way.

    Parameters
    ----------
    successors : callable
        Takes a state and returns its neighbours.
    loss : callable
        Takes a state and returns a number.
    start : object
        The first state; states are hashable where ``beam_width`` is above 1.
    n_steps : int
        Search steps.
    beam_width : int, default=1
        States kept; 1 is greedy search.
    search : {"beam", "breadth"}, default="beam"
        Expand the best state of the beam, or all of them.

    Returns
    -------
    pairs : list of (better, worse)
        Step by step: the state selected against the rest of the beam, states kept against those
        pruned, and the best so far against the best new one. Pairs of equal loss say nothing and
        are left out.

    Examples
    --------
    >>> from octavo.structured import ranking_constraints
    >>> tree = {1: [2, 3, 4], 3: [8, 9, 10]}
    >>> losses = {1: 5, 2: 4, 3: 1, 4: 3, 8: 6, 9: 7, 10: 2}
    >>> ranking_constraints(lambda s: tree.get(s, []), losses.get, 1, 2)
    [(3, 2), (3, 4), (3, 1), (10, 8), (10, 9), (3, 10)]
    """
    if beam_width < 1 or n_steps < 0:
        raise ValueError(
            f"beam_width must be positive and n_steps not negative, got {beam_width} and {n_steps}."
        )
    if search not in ("beam", "breadth"):
        raise ValueError(f"search must be 'beam' or 'breadth', got {search!r}.")
    walk = _Walk(successors, loss, start, beam_width, breadth=search == "breadth")
    for _ in range(n_steps):
        if not walk.step():
            break
    return list(dict.fromkeys(walk.pairs)) if beam_width > 1 else walk.pairs
