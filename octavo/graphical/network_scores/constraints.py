"""Expert knowledge about a network, one rule a node: arcs, in-degrees, OR and NOT of them.

A rule is local: it speaks of the parents of one node. A list of rules means that all of them
hold. Templates such as `tan_structure` or `tiered_structure` stand for many rules and are expanded
once the nodes are known.

Reference: C. P. de Campos and Q. Ji (2011), "Efficient Structure Learning of Bayesian Networks
using Constraints", JMLR 12, section 3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from octavo.engine.discrete.bitsets import Masks, masks_of, n_words, sizes_of
from octavo.engine.estimators.checked import checked
from octavo.graphical.network_scores.local_scores import check_acyclic, place_of

__all__ = [
    "NetworkRule",
    "RuleTemplate",
    "forbidden_arc",
    "indegree",
    "max_indegree",
    "naive_bayes_structure",
    "ordered_structure",
    "required_arc",
    "tan_structure",
    "tiered_structure",
    "two_slice_structure",
]


class NetworkRule:
    """A condition on the parents of one node; combine rules by ``|``, ``&`` and ``~``.

    Rules are made by `required_arc`, `forbidden_arc` and `indegree`.

    Parameters
    ----------
    node : int or str
        The node whose parents the rule speaks of.
    kind : {"arc", "lt", "eq", "or", "and", "not"}
        What the rule says.
    value : object
        The parent of an arc, the k of an in-degree, or the rules that are combined.

    Examples
    --------
    >>> from octavo.graphical import indegree, required_arc
    >>> indegree("rain", 0, "eq") | required_arc("season", "rain")
    indegree('rain', 0, 'eq') | required_arc('season', 'rain')
    """

    def __init__(self, node: Any, kind: str, value: Any) -> None:
        self.node, self.kind, self.value = node, kind, value

    def _joined(self, other: Any, kind: str) -> NetworkRule:
        if not isinstance(other, NetworkRule):
            return NotImplemented
        if other.node != self.node:
            raise NotImplementedError(
                f"A rule must speak of the parents of one node, but {self!r} is about "
                f"{self.node!r} and {other!r} about {other.node!r}; such a rule is not local. "
                "List rules that must all hold as separate constraints."
            )
        return NetworkRule(self.node, kind, (self, other))

    def __or__(self, other: NetworkRule) -> NetworkRule:
        return self._joined(other, "or")

    def __and__(self, other: NetworkRule) -> NetworkRule:
        return self._joined(other, "and")

    def __invert__(self) -> NetworkRule:
        return self.value if self.kind == "not" else NetworkRule(self.node, "not", self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NetworkRule) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((self.node, self.kind, self.value))

    def __repr__(self) -> str:
        if self.kind == "arc":
            return f"required_arc({self.value!r}, {self.node!r})"
        if self.kind == "not":
            if self.value.kind == "arc":
                return f"forbidden_arc({self.value.value!r}, {self.node!r})"
            return f"~({self.value!r})"
        if self.kind in ("lt", "eq"):
            return f"indegree({self.node!r}, {self.value}, {self.kind!r})"
        if self.kind == "or":
            return " | ".join(map(repr, self.value))
        return " & ".join(f"({r!r})" if r.kind == "or" else repr(r) for r in self.value)

    def allows(
        self, masks: Masks, sizes: NDArray[np.int64], place: Callable[[Any], int]
    ) -> NDArray[np.bool_]:
        """Return which parent sets satisfy the rule.

        Parameters
        ----------
        masks : ndarray of shape (n_sets, n_words)
            Parent sets as bits.
        sizes : ndarray of shape (n_sets,)
            Their sizes.
        place : callable
            Turns a node's name into its position.

        Returns
        -------
        allowed : ndarray of shape (n_sets,), dtype bool
            Whether each set is allowed.
        """
        if self.kind == "arc":
            word, bit = divmod(place(self.value), 64)
            return (masks[:, word] >> np.uint64(bit)) & np.uint64(1) != 0
        if self.kind == "lt":
            return sizes < self.value
        if self.kind == "eq":
            return sizes == self.value
        if self.kind == "not":
            return ~self.value.allows(masks, sizes, place)
        one, other = (rule.allows(masks, sizes, place) for rule in self.value)
        return one | other if self.kind == "or" else one & other


class RuleTemplate:
    """Rules that can only be written out when the nodes are known.

    Parameters
    ----------
    kind : {"naive_bayes", "tan", "dbn", "tiers", "max_indegree"}
        Which rules.
    **arguments : dict
        What the function of that name was told.

    Examples
    --------
    >>> from octavo.graphical import naive_bayes_structure
    >>> len(naive_bayes_structure("class").expand(["class", "a", "b"]))
    3
    """

    def __init__(self, kind: str, **arguments: Any) -> None:
        self.kind, self.arguments = kind, arguments

    def __repr__(self) -> str:
        return f"{self.kind}({', '.join(f'{k}={v!r}' for k, v in self.arguments.items())})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RuleTemplate) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(repr(self))

    def expand(self, names: Sequence[str]) -> list[NetworkRule]:
        """Write the rules out.

        Parameters
        ----------
        names : sequence of str
            Names of all nodes.

        Returns
        -------
        rules : list of NetworkRule
            The rules.
        """
        return _EXPANSIONS[self.kind](names, **self.arguments)


@checked
def required_arc(parent: Any, child: Any) -> NetworkRule:
    """Require an arc.

    Parameters
    ----------
    parent, child : int or str
        Its ends.

    Returns
    -------
    rule : NetworkRule
        A rule on the parents of `child`.

    Examples
    --------
    >>> from octavo.graphical import required_arc
    >>> ~required_arc("age", "smoker")
    forbidden_arc('age', 'smoker')
    """
    if parent == child:
        raise ValueError(f"An arc needs two different nodes, got {parent!r} twice.")
    return NetworkRule(child, "arc", parent)


@checked
def forbidden_arc(parent: Any, child: Any) -> NetworkRule:
    """Forbid an arc.

    Parameters
    ----------
    parent, child : int or str
        Its ends.

    Returns
    -------
    rule : NetworkRule
        A rule on the parents of `child`.

    Examples
    --------
    >>> from octavo.graphical import forbidden_arc
    >>> forbidden_arc("smoker", "age")
    forbidden_arc('smoker', 'age')
    """
    return ~required_arc(parent, child)


@checked
def indegree(node: Any, n_parents: int, op: Literal["lt", "eq"] = "lt") -> NetworkRule:
    """Bound or fix the number of parents of a node.

    Parameters
    ----------
    node : int or str
        The node.
    n_parents : int
        The number.
    op : {"lt", "eq"}, default="lt"
        Fewer than n_parents parents, or exactly n_parents.

    Returns
    -------
    rule : NetworkRule
        A rule on the parents of `node`.

    Examples
    --------
    >>> from octavo.graphical import indegree
    >>> indegree("age", 0, "eq")
    indegree('age', 0, 'eq')
    """
    if op not in ("lt", "eq"):
        raise ValueError(f'op must be "lt" or "eq", got {op!r}.')
    if not isinstance(n_parents, (int, np.integer)) or n_parents < (1 if op == "lt" else 0):
        raise ValueError(f"indegree({node!r}, {n_parents!r}, {op!r}) leaves no parent set.")
    return NetworkRule(node, op, int(n_parents))


@checked
def naive_bayes_structure(target: Any) -> RuleTemplate:
    """Let a class be the only possible parent of every other node.

    Parameters
    ----------
    target : int or str
        The class.

    Returns
    -------
    template : RuleTemplate
        The rules of a naive Bayes network; features may stay unlinked.

    Examples
    --------
    >>> from octavo.graphical import naive_bayes_structure
    >>> naive_bayes_structure("y").expand(["y", "a", "b"])
    [indegree('y', 0, 'eq'), forbidden_arc('b', 'a'), forbidden_arc('a', 'b')]
    """
    return RuleTemplate("naive_bayes", target=target)


@checked
def tan_structure(target: Any, *, select: bool = True) -> RuleTemplate:
    """Let every feature have the class and at most one other feature as parents.

    Parameters
    ----------
    target : int or str
        The class, which has no parents.
    select : bool, default=True
        Whether features may stay unlinked, as in the paper. Otherwise the class is a
        parent of all.

    Returns
    -------
    template : RuleTemplate
        The rules of a tree-augmented naive Bayes network.

    Examples
    --------
    >>> from octavo.graphical import tan_structure
    >>> tan_structure("y", select=False).expand(["y", "a"])
    [indegree('y', 0, 'eq'), indegree('a', 3, 'lt'), required_arc('y', 'a')]
    """
    return RuleTemplate("tan", target=target, select=select)


@checked
def two_slice_structure(n: int, *, self_arcs: bool = False) -> RuleTemplate:
    """Make the first n of 2n nodes a previous time slice.

    Parameters
    ----------
    n : int
        Variables of a slice; node i is the previous value of node n + i.
    self_arcs : bool, default=False
        Require an arc from each variable to its next value, Eq. (4).

    Returns
    -------
    template : RuleTemplate
        The rules of Eq. (5), and of Eq. (4) on request.

    Examples
    --------
    >>> from octavo.graphical import two_slice_structure
    >>> two_slice_structure(1, self_arcs=True).expand(["x before", "x"])
    [indegree('x before', 0, 'eq'), required_arc('x before', 'x')]
    """
    return RuleTemplate("dbn", n=n, self_arcs=self_arcs)


@checked
def tiered_structure(groups: Iterable[Iterable[Any]], *, within: bool = True) -> RuleTemplate:
    """Forbid arcs from a later group of nodes to an earlier one.

    Parameters
    ----------
    groups : iterable of iterables of int or str
        Nodes from first to last, such as causes, symptoms, outcomes.
    within : bool, default=True
        Whether nodes of one group may be linked.

    Returns
    -------
    template : RuleTemplate
        One rule a forbidden arc; nodes in no group are free.

    Examples
    --------
    >>> from octavo.graphical import tiered_structure
    >>> tiered_structure([["age"], ["disease"]]).expand(["age", "disease", "test"])
    [forbidden_arc('disease', 'age')]
    """
    return RuleTemplate("tiers", groups=[list(group) for group in groups], within=within)


@checked
def ordered_structure(nodes: Sequence[Any]) -> RuleTemplate:
    """Allow arcs only from earlier to later nodes of a sequence.

    Parameters
    ----------
    nodes : sequence of int or str
        The nodes, causes first.

    Returns
    -------
    template : RuleTemplate
        One rule a forbidden arc. With an order of all nodes the best network needs no search.

    Examples
    --------
    >>> from octavo.graphical import ordered_structure
    >>> ordered_structure(["a", "b"]).expand(["b", "a"])
    [forbidden_arc('b', 'a')]
    """
    return tiered_structure([[node] for node in nodes])


@checked
def max_indegree(n_parents: int) -> RuleTemplate:
    """Let no node have more than n_parents parents.

    Parameters
    ----------
    n_parents : int
        The largest number of parents.

    Returns
    -------
    template : RuleTemplate
        One rule a node.

    Examples
    --------
    >>> from octavo.graphical import max_indegree
    >>> max_indegree(2).expand(["a"])
    [indegree('a', 3, 'lt')]
    """
    return RuleTemplate("max_indegree", n_parents=n_parents)


def _expand_naive_bayes(names: Sequence[str], target: Any) -> list[NetworkRule]:
    c = names[place_of(target, names)]
    features = [name for name in names if name != c]
    rules = [forbidden_arc(p, name) for name in features for p in features if p != name]
    return [indegree(c, 0, "eq"), *rules]


def _expand_tan(names: Sequence[str], target: Any, select: bool) -> list[NetworkRule]:
    c = names[place_of(target, names)]
    rules = [indegree(c, 0, "eq")]
    for name in names:
        if name != c:
            arc = required_arc(c, name)
            rules += [indegree(name, 3), indegree(name, 0, "eq") | arc if select else arc]
    return rules


def _expand_dbn(names: Sequence[str], n: int, self_arcs: bool) -> list[NetworkRule]:
    if len(names) != 2 * n:
        raise ValueError(f"dbn({n}) is for {2 * n} nodes, got {len(names)}.")
    rules = [indegree(name, 0, "eq") for name in names[:n]]
    if self_arcs:
        rules += [required_arc(names[i], names[n + i]) for i in range(n)]
    return rules


def _expand_tiers(names: Sequence[str], groups: list[list[Any]], within: bool) -> list[NetworkRule]:
    placed = [[names[place_of(node, names)] for node in group] for group in groups]
    rules = []
    for rank, group in enumerate(placed):
        later = [node for other in placed[rank + 1 :] for node in other]
        same = [] if within else group
        rules += [forbidden_arc(p, c) for c in group for p in [*same, *later] if p != c]
    return rules


def _expand_max_indegree(names: Sequence[str], n_parents: int) -> list[NetworkRule]:
    return [indegree(name, n_parents + 1) for name in names]


_EXPANSIONS: dict[str, Callable[..., list[NetworkRule]]] = {
    "naive_bayes": _expand_naive_bayes,
    "tan": _expand_tan,
    "dbn": _expand_dbn,
    "tiers": _expand_tiers,
    "max_indegree": _expand_max_indegree,
}


@dataclass
class NodeRules:
    """What the rules say about one node, in the form that enumeration uses."""

    required: set[int] = field(default_factory=set)
    forbidden: set[int] = field(default_factory=set)
    max_size: int = 0
    formulas: list[NetworkRule] = field(default_factory=list)


class CompiledRules:
    """Rules by node, ready to be asked about parent sets.

    Parameters
    ----------
    constraints : iterable of NetworkRule or RuleTemplate, one of them, or None
        The rules.
    names : sequence of str
        Names of the nodes.
    max_parents : int or None
        Largest number of parents of any node.
    """

    def __init__(
        self, constraints: Any, names: Sequence[str], max_parents: int | None = None
    ) -> None:
        self.names = list(names)
        n = len(self.names)
        limit = n - 1 if max_parents is None else min(int(max_parents), n - 1)
        self.nodes = [NodeRules(max_size=limit) for _ in range(n)]
        for rule in expanded(constraints, self.names):
            self._add(rule)
        self._check()

    def place(self, node: Any) -> int:
        """Return the position of a node."""
        return place_of(node, self.names)

    def _add(self, rule: NetworkRule) -> None:
        node = self.nodes[self.place(rule.node)]
        if rule.kind == "and":
            for part in rule.value:
                self._add(part)
        elif rule.kind == "arc":
            node.required.add(self.place(rule.value))
        elif rule.kind == "not" and rule.value.kind == "arc":
            node.forbidden.add(self.place(rule.value.value))
        elif rule.kind == "lt":
            node.max_size = min(node.max_size, rule.value - 1)
        else:
            if rule.kind == "eq":
                node.max_size = min(node.max_size, rule.value)
            self._places_of(rule)
            node.formulas.append(rule)

    def _places_of(self, rule: NetworkRule) -> None:
        """Raise if a rule names an unknown node or one that is its own parent."""
        if rule.kind == "arc":
            self.place(rule.value)
        for part in rule.value if rule.kind in ("or", "and") else ():
            self._places_of(part)
        if rule.kind == "not":
            self._places_of(rule.value)

    def _check(self) -> None:
        for name, node in zip(self.names, self.nodes):
            clash = node.required & node.forbidden
            if clash:
                arcs = ", ".join(f"{self.names[p]} -> {name}" for p in sorted(clash))
                raise ValueError(f"Node {name!r}: arcs both required and forbidden: {arcs}.")
            if len(node.required) > node.max_size:
                raise ValueError(
                    f"Node {name!r}: {len(node.required)} required parents, but at most "
                    f"{node.max_size} are allowed."
                )
        try:
            check_acyclic([sorted(node.required) for node in self.nodes], self.names)
        except ValueError as error:
            message = str(error).replace("The arcs", "the required arcs")
            raise ValueError(f"Constraints leave no network: {message}") from None

    def legal(self, node: int, masks: Masks) -> NDArray[np.bool_]:
        """Return which parent sets of a node satisfy all its rules."""
        rules, sizes = self.nodes[node], sizes_of(masks)
        n = len(self.names)
        need = masks_of([rules.required], n)[0]
        avoid = masks_of([rules.forbidden | {node}], n)[0]
        allowed = (sizes <= rules.max_size) & ((masks & avoid) == 0).all(axis=1)
        allowed &= ((masks & need) == need).all(axis=1)
        for formula in rules.formulas:
            allowed &= formula.allows(masks, sizes, self.place)
        return allowed

    def arcs(self) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        """Return the arcs that rules require and forbid outright."""
        required = [(p, c) for c, node in enumerate(self.nodes) for p in sorted(node.required)]
        forbidden = [(p, c) for c, node in enumerate(self.nodes) for p in sorted(node.forbidden)]
        return required, forbidden


def expanded(constraints: Any, names: Sequence[str]) -> list[NetworkRule]:
    """Write out templates and return the rules."""
    if constraints is None:
        return []
    if isinstance(constraints, (NetworkRule, RuleTemplate)):
        constraints = [constraints]
    rules: list[NetworkRule] = []
    for entry in constraints:
        if isinstance(entry, RuleTemplate):
            rules += entry.expand(names)
        elif isinstance(entry, NetworkRule):
            rules.append(entry)
        elif isinstance(entry, (list, tuple)):
            rules += expanded(entry, names)
        else:
            raise TypeError(
                "constraints are made by required_arc, forbidden_arc, indegree, tiers and so on; "
                f"got {entry!r}."
            )
    return rules


def empty_masks(n: int, count: int = 1) -> Masks:
    """Return masks of empty sets."""
    return np.zeros((count, n_words(n)), np.uint64)
