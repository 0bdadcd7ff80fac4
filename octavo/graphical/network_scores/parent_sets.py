"""Candidate parent sets of every node, with those left out that no optimal network can have.

The sets of a node are enumerated by size. A set is dropped when a subset of it scores at least as
well (Lemma 1), and whole branches are cut before they are counted: by the size of the penalty
(Theorems 2 and 4) for BIC and AIC, by the number of occupied cells (Theorem 9) for BDeu, and by
the conditional entropy of the added parent. A certificate must itself satisfy the constraints.

References: C. P. de Campos and Q. Ji (2011), "Efficient Structure Learning of Bayesian Networks
using Constraints", JMLR 12, section 4; C. P. de Campos, M. Scanagatta, G. Corani and M. Zaffalon
(2018), "Entropy-based pruning for learning Bayesian networks using BIC", Artificial
Intelligence 260.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import gammaln

from octavo._whole_files import write_whole
from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.discrete.bitsets import (
    Masks,
    masks_of,
    masks_of_members,
    members_of,
    n_words,
    sizes_of,
)
from octavo.graphical.network_scores.constraints import CompiledRules
from octavo.graphical.network_scores.local_scores import FamilyScorer, as_counted_rows

__all__ = ["ParentSetCache"]

TIE = 1e-9  # relative difference below which two scores are equal, and the smaller set is kept
PRUNING = ("all", "paper", "lemma", "none")


@njit(cache=True, nogil=True)
def _find_row(members, target):
    """Return where a row stands among rows in lexicographic order, or -1."""
    lo, hi = 0, members.shape[0]
    size = target.size
    while lo < hi:
        middle = (lo + hi) // 2
        less = False
        for k in range(size):
            if members[middle, k] != target[k]:
                less = members[middle, k] < target[k]
                break
        if less:
            lo = middle + 1
        else:
            hi = middle
    if lo == members.shape[0]:
        return -1
    for k in range(size):
        if members[lo, k] != target[k]:
            return -1
    return lo


@njit(cache=True, nogil=True)
def _count_joins(members):
    """Return how many pairs of rows differ in the last column alone."""
    n, size = members.shape
    total, first = 0, 0
    for row in range(1, n + 1):
        differs = row == n
        if not differs:
            for k in range(size - 1):
                if members[row, k] != members[first, k]:
                    differs = True
                    break
        if differs:
            group = row - first
            total += group * (group - 1) // 2
            first = row
    return total


@njit(cache=True, nogil=True)
def _join(members, best, cells, out, out_best, out_cells):
    """Write the sets one larger all of whose subsets are given; return how many there are.

    With each comes the best score and the largest number of occupied cells of its subsets.
    """
    n, size = members.shape
    subset = np.empty(size, members.dtype)
    made = 0
    for a in range(n):
        for b in range(a + 1, n):
            shared = True
            for k in range(size - 1):
                if members[a, k] != members[b, k]:
                    shared = False
                    break
            if not shared:
                break
            # Lemma 1 and Theorem 4 compare with the best of all subsets
            top, most = max(best[a], best[b]), max(cells[a], cells[b])
            alive = True
            for left_out in range(size - 1):
                for k in range(size - 1):
                    subset[k] = members[a, k + 1 if k >= left_out else k]
                subset[size - 1] = members[b, size - 1]
                row = _find_row(members, subset)
                if row < 0:
                    alive = False
                    break
                top, most = max(top, best[row]), max(most, cells[row])
            if alive:
                for k in range(size):
                    out[made, k] = members[a, k]
                out[made, size] = members[b, size - 1]
                out_best[made], out_cells[made] = top, most
                made += 1
    return made


class Level(NamedTuple):
    """Sets of one size of one node: members beyond the required ones, best score so far, cells."""

    members: NDArray[np.int16]
    best: NDArray[np.float64]
    cells: NDArray[np.int64]

    def keep(self, which: NDArray[np.bool_]) -> Level:
        """Return some of the sets."""
        return Level(self.members[which], self.best[which], self.cells[which])


def first_level() -> Level:
    """Return the level that holds the empty set."""
    return Level(np.empty((1, 0), np.int16), np.array([-np.inf]), np.zeros(1, np.int64))


def next_level(level: Level, allowed: NDArray[np.int16]) -> Level:
    """Return the sets that are one larger and whose subsets are all alive."""
    n, size = level.members.shape
    if n == 0:
        return Level(np.empty((0, size + 1), np.int16), level.best[:0], level.cells[:0])
    if size == 0:
        m = len(allowed)
        return Level(allowed[:, None].copy(), np.full(m, level.best[0]), np.full(m, level.cells[0]))
    room = _count_joins(level.members)
    made = Level(np.empty((room, size + 1), np.int16), np.empty(room), np.empty(room, np.int64))
    count = _join(*level, *made)
    return Level(made.members[:count], made.best[:count], made.cells[:count])


@lru_cache(maxsize=256)
def largest_cell_prior(n_states: int) -> float:
    """Return the largest α_ij up to which Lemma 8 holds for a node of so many states.

    It solves Γ(a)^{1/2} a = Γ(a / r + 1); the paper's 0.8349 is that of two states.
    """
    if n_states < 2:
        return 0.0

    def gap(a: float) -> float:
        return 0.5 * gammaln(a) + math.log(a) - gammaln(a / n_states + 1.0)

    return float(brentq(gap, 0.5, 1.5))


class Enumeration:
    """The sets of all nodes, level by level, and why some were cut.

    Parameters
    ----------
    scorer : FamilyScorer
        The score and its data.
    rules : CompiledRules
        The constraints.
    pruning : {"all", "paper", "lemma", "none"}
        Which rules cut: all, those of the paper, Lemma 1 alone, or none.
    """

    def __init__(self, scorer: FamilyScorer, rules: CompiledRules, pruning: str) -> None:
        self.scorer, self.rules, self.pruning = scorer, rules, pruning
        self.n = len(rules.names)
        self.required = [np.array(sorted(r.required), np.int16) for r in rules.nodes]
        self.allowed = [
            np.array(sorted(set(range(self.n)) - {node} - r.required - r.forbidden), dtype=np.int16)
            for node, r in enumerate(rules.nodes)
        ]
        self.pruned = {"theorem 2": 0, "theorem 4": 0, "theorem 9": 0, "entropy": 0, "lemma 1": 0}
        self.kept: list[list[tuple[NDArray, NDArray]]] = [[] for _ in range(self.n)]
        self.log_states = np.log(np.maximum(scorer.n_states, 1))

    def families(self, node: int, level: Level) -> NDArray[np.int16]:
        """Return the full parent sets, required ones included, ascending."""
        required = self.required[node]
        if required.size == 0:
            return level.members
        whole = np.repeat(required[None, :], len(level.members), axis=0)
        return np.sort(np.concatenate([whole, level.members], axis=1), axis=1)

    def cut_by_bounds(self, node: int, level: Level) -> Level:
        """Theorems 2, 4 and 9 before anything is counted, from what the subsets are known to be."""
        scorer = self.scorer
        if self.pruning not in ("all", "paper") or not len(level.members):
            return level
        parents = self.families(node, level)
        r = int(scorer.n_states[node])
        if scorer.weight > 0 and r > 1:
            cells = scorer.parent_cells(parents)
            # The theorem drops w, which it needs.
            cut4 = scorer.weight * cells * (r - 1.0) + level.best > 0  # Theorem 4
            smallest = scorer.n_states[level.members].max(axis=1, initial=1)
            # (N / w) log(r_i) / (r_i - 1)
            limit = scorer.rows.n_samples / scorer.weight * self.log_states[node] / (r - 1.0)
            # Theorem 2: r_P of the smallest of the subsets, which must be a legal certificate.
            cut2 = cut4 & (cells / smallest > limit)
            self.pruned["theorem 2"] += int(cut2.sum())
            self.pruned["theorem 4"] += int((cut4 & ~cut2).sum())
            return level.keep(~cut4)
        if scorer.score == "bdeu":
            return self.cut_by_cells(node, level, parents)
        return level

    def cut_by_cells(self, node: int, level: Level, parents: NDArray[np.int16]) -> Level:
        """Theorem 9: as many occupied cells as the set is known to have at least."""
        r = int(self.scorer.n_states[node])
        prior = self.scorer.ess / self.scorer.parent_cells(parents)
        # α_ij <= 0.8349 or so, and s_i > -|K| log r_i
        cut = (prior <= largest_cell_prior(r)) & (level.best > -level.cells * self.log_states[node])
        self.pruned["theorem 9"] += int(cut.sum())
        return level.keep(~cut)

    def cut_by_entropy(self, node: int, level: Level) -> Level:
        """Cut P ∪ {Y} where N H(Y | P) does not exceed what Y adds to the penalty.

        The gain N I(i; Y | P) is at most N H(Y | P), which only falls with more parents while
        the penalty grows; P must be legal for every superset, so formulas exclude the rule.
        """
        scorer, r = self.scorer, int(self.scorer.n_states[node])
        size = level.members.shape[1]
        if (
            self.pruning != "all" or scorer.weight <= 0 or r < 2 or size == 0
            or self.rules.nodes[node].formulas or not len(level.members)
        ):  # fmt: skip
            return level
        parents = self.families(node, level)
        whole = scorer.sums(parents)[0][:, 0]
        cells = scorer.parent_cells(parents)
        cut = np.zeros(len(parents), np.bool_)
        for k in range(parents.shape[1]):
            if self.required[node].size and np.isin(parents[:, k], self.required[node]).any():
                optional = ~np.isin(parents[:, k], self.required[node])
            else:
                optional = np.ones(len(parents), np.bool_)
            states = scorer.n_states[parents[:, k]]
            without = scorer.sums(np.delete(parents, k, axis=1))[0][:, 0]
            entropy = without - whole  # N H(Y | P)
            penalty = scorer.weight * (states - 1.0) * (r - 1.0) * cells / states
            cut |= optional & (entropy <= penalty)
        self.pruned["entropy"] += int(cut.sum())
        return level.keep(~cut)

    def score_level(self, levels: list[Level]) -> list[Level]:
        """Score the legal sets of all nodes, keep those that beat their subsets, update bests."""
        legal = [
            self.rules.legal(node, masks_of_members(self.families(node, level), self.n))
            for node, level in enumerate(levels)
        ]
        scores = [np.full(len(level.members), -np.inf) for level in levels]
        cells = [level.cells.copy() for level in levels]
        for size in {level.members.shape[1] + q.size for level, q in zip(levels, self.required)}:
            group = [
                node
                for node, level in enumerate(levels)
                if level.members.shape[1] + self.required[node].size == size and legal[node].any()
            ]
            if not group:
                continue
            families = [self.families(node, levels[node])[legal[node]] for node in group]
            nodes = np.repeat(group, [len(f) for f in families])
            found, occupied = self.scorer(nodes, np.concatenate(families))
            ends = np.cumsum([0, *(len(f) for f in families)])
            for node, lo, hi in zip(group, ends[:-1], ends[1:]):
                scores[node][legal[node]] = found[lo:hi]
                cells[node][legal[node]] = occupied[lo:hi]
        return [
            self._after_scoring(node, level, legal[node], scores[node], cells[node])
            for node, level in enumerate(levels)
        ]

    def _after_scoring(
        self,
        node: int,
        level: Level,
        legal: NDArray[np.bool_],
        scores: NDArray[np.float64],
        cells: NDArray[np.int64],
    ) -> Level:
        better = legal.copy()
        if self.pruning != "none":  # Lemma 1; a tie goes to the subset
            finite = np.isfinite(level.best)
            bar = np.where(finite, level.best, 0.0)
            better &= ~finite | (scores > bar + TIE * np.maximum(1.0, np.abs(bar)))
            self.pruned["lemma 1"] += int((legal & ~better).sum())
        parents = self.families(node, level)[better]
        self.kept[node].append((masks_of_members(parents, self.n), scores[better]))
        updated = Level(level.members, np.maximum(level.best, scores), cells)
        if self.scorer.score == "bdeu" and self.pruning in ("all", "paper"):
            # A set may end its own branch: its score is the certificate for its supersets.
            return self.cut_by_cells(node, updated, self.families(node, updated))
        return updated

    def run(self, on_level: Callable[[], Any] = lambda: None) -> None:
        """Enumerate until no set is left."""
        room = [r.max_size - len(r.required) for r in self.rules.nodes]
        levels = [first_level() for _ in range(self.n)]
        for size in range(max(room, default=0) + 1):
            if size:
                levels = [
                    self.cut_by_entropy(node, self.cut_by_bounds(node, grown))
                    for node, grown in enumerate(
                        next_level(level, self.allowed[node])
                        if size <= room[node]
                        else Level(np.empty((0, size), np.int16), level.best[:0], level.cells[:0])
                        for node, level in enumerate(levels)
                    )
                ]
            if not any(len(level.members) for level in levels):
                break
            levels = self.score_level(levels)
            on_level()


class ParentSetCache:
    """Scored candidate parent sets of every node, best first.

    Make one by `build` or `load`.

    Parameters
    ----------
    names : sequence of str
        Names of the nodes.
    masks : list of ndarray of shape (n_sets, n_words)
        Parent sets of each node as bits.
    scores : list of ndarray of shape (n_sets,)
        Their scores.
    n_evaluated : int, default=0
        How many local scores were computed.
    n_pruned : dict or None, default=None
        How many sets each rule cut.

    Attributes
    ----------
    ptr : ndarray of shape (n_nodes + 1,)
        Node i has the sets ptr[i] to ptr[i + 1].
    masks : ndarray of shape (n_sets, n_words), dtype uint64
        All sets; those of a node by descending score.
    scores : ndarray of shape (n_sets,)
        Their scores.
    n_sets : ndarray of shape (n_nodes,)
        Number of sets of each node.
    n_evaluated, n_pruned : int, dict
        As given.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.graphical import ParentSetCache
    >>> rng = np.random.default_rng(0)
    >>> a = rng.integers(0, 2, 200)
    >>> X = np.column_stack([a, a ^ (rng.random(200) < 0.1), rng.integers(0, 2, 200)])
    >>> cache = ParentSetCache.build(X)
    >>> cache.n_sets, [parents for _, parents in cache.parent_sets(1)]
    (array([2, 2, 1]), [(0,), ()])
    """

    def __init__(
        self,
        names: Sequence[str],
        masks: Sequence[Masks],
        scores: Sequence[NDArray[np.float64]],
        n_evaluated: int = 0,
        n_pruned: dict[str, int] | None = None,
    ) -> None:
        self.names = [str(name) for name in names]
        ordered = [_best_first(m, s) for m, s in zip(masks, scores)]
        self.n_sets = np.array([len(s) for _, s in ordered], np.int64)
        self.ptr = np.concatenate([[0], np.cumsum(self.n_sets)]).astype(np.int64)
        width = n_words(len(self.names))
        self.masks = np.concatenate([m for m, _ in ordered]).reshape(-1, width)
        self.scores = np.concatenate([s for _, s in ordered])
        self.n_evaluated, self.n_pruned = n_evaluated, dict(n_pruned or {})

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.names)

    def __len__(self) -> int:
        return int(self.ptr[-1])

    @classmethod
    def build(
        cls,
        X: ArrayLike,
        score: str = "bic",
        constraints: Any = None,
        *,
        max_parents: int | None = None,
        ess: float = 1.0,
        alpha: Any = 1.0,
        prior: Any = None,
        pruning: str = "all",
        n_jobs: int | None = None,
    ) -> ParentSetCache:
        """Score the parent sets that an optimal network may need.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Complete categorical data.
        score : {"bic", "aic", "loglik", "bdeu", "bde", "bd", "k2"}, default="bic"
            The score.
        constraints : list of NetworkRule or RuleTemplate, or None, default=None
            Rules that parent sets must satisfy.
        max_parents : int or None, default=None
            Largest number of parents.
        ess, alpha, prior : float, float or callable, object
            Parameters of the Bayesian scores, as in `local_score`.
        pruning : {"all", "paper", "lemma", "none"}, default="all"
            Rules that cut; "paper" leaves out the entropy rule of 2018, "none" keeps every set.
        n_jobs : int or None, default=None
            Number of threads that count.

        Returns
        -------
        cache : ParentSetCache
            The sets, with counts of how many were evaluated and cut.
        """
        rows, names = as_counted_rows(X if hasattr(X, "columns") else np.asarray(X))
        rules = CompiledRules(constraints, names, max_parents)
        scorer = FamilyScorer(rows, score, ess=ess, alpha=alpha, prior=prior, n_jobs=n_jobs)
        return cls.from_scorer(scorer, rules, pruning)

    @classmethod
    def from_scorer(
        cls,
        scorer: FamilyScorer,
        rules: CompiledRules,
        pruning: str = "all",
        on_level: Callable[[], Any] = lambda: None,
    ) -> ParentSetCache:
        """Build from a score that holds its data and compiled rules."""
        if pruning not in PRUNING:
            raise ValueError(f"pruning must be one of {PRUNING}, got {pruning!r}.")
        before = scorer.n_evaluations
        search = Enumeration(scorer, rules, pruning)
        search.run(on_level)
        width = n_words(len(rules.names))
        masks = [np.concatenate([np.empty((0, width), np.uint64), *(m for m, _ in k)])
                 for k in search.kept]  # fmt: skip
        scores = [np.concatenate([np.empty(0), *(s for _, s in k)]) for k in search.kept]
        for name, found in zip(rules.names, scores):
            if found.size == 0:
                raise ValueError(
                    f"constraints leave no network: node {name!r} has no parent set that satisfies "
                    "all its rules."
                )
        evaluated = scorer.n_evaluations - before
        return cls(rules.names, masks, scores, evaluated, search.pruned)

    def parent_sets(self, node: int) -> list[tuple[float, tuple[int, ...]]]:
        """Return the sets of a node as (score, members), best first."""
        lo, hi = self.ptr[node], self.ptr[node + 1]
        return [(float(self.scores[row]), members_of(self.masks[row])) for row in range(lo, hi)]

    def score_of(self, parents: Sequence[Sequence[int]]) -> float:
        """Return the score of a network whose parent sets are all in the cache."""
        total = []
        for node, of in enumerate(parents):
            lo, hi = self.ptr[node], self.ptr[node + 1]
            mask = masks_of([of], self.n_nodes)[0]
            at = np.flatnonzero((self.masks[lo:hi] == mask).all(axis=1))
            if at.size == 0:
                raise KeyError(f"the parents {tuple(of)} of node {node} are not in the cache")
            total.append(float(self.scores[lo + at[0]]))
        return math.fsum(total)

    @property
    def log2_space(self) -> float:
        """Logarithm to base 2 of the number of ways to give each node one of its sets."""
        return float(np.log2(self.n_sets).sum())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the sets in the .jkl format of GOBNILP.

        Parameters
        ----------
        path : str or path-like
            Where. One line holds the number of nodes; then, for each node, its name and number
            of sets, and a line a set with its score, its size and its members.
        """
        for name in self.names:
            if not name or any(c.isspace() for c in name):
                raise ValueError(f"The .jkl format has no room for blanks in a name, got {name!r}.")
        lines = [str(self.n_nodes)]
        for node, name in enumerate(self.names):
            lines.append(f"{name} {self.n_sets[node]}")
            for score, members in self.parent_sets(node):
                named = [self.names[m] for m in members]
                lines.append(" ".join([repr(score), str(len(members)), *named]))
        write_whole(path, "\n".join(lines) + "\n")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> ParentSetCache:
        """Read a file in the .jkl format of GOBNILP.

        Parameters
        ----------
        path : str or path-like
            The file.

        Returns
        -------
        cache : ParentSetCache
            Its sets.
        """
        words = Path(path).read_text(encoding="utf-8").split()
        try:
            names, entries = _read_jkl(words)
            place = {name: k for k, name in enumerate(names)}
            masks = [
                masks_of([[place[m] for m in of] for _, of in sets], len(names)) for sets in entries
            ]
        except (IndexError, ValueError, KeyError) as error:
            raise ValueError(f"{path} is not a .jkl file of parent sets: {error!r}") from None
        return cls(names, masks, [np.array([s for s, _ in sets]) for sets in entries])


def _read_jkl(words: list[str]) -> tuple[list[str], list[list[tuple[float, list[str]]]]]:
    """Return the names and, for each node, its (score, names of members)."""
    names, entries, at = [], [], 1
    for _ in range(int(words[0])):
        names.append(words[at])
        count = int(words[at + 1])
        if count < 1:
            raise ValueError(f"Node {words[at]} has {count} sets.")
        at += 2
        sets = []
        for _ in range(count):
            size = int(words[at + 1])
            if len(words) < at + 2 + size:
                raise IndexError("The file ends early.")
            sets.append((float(words[at]), words[at + 2 : at + 2 + size]))
            at += 2 + size
        entries.append(sets)
    return names, entries


def _best_first(masks: Masks, scores: NDArray[np.float64]) -> tuple[Masks, NDArray[np.float64]]:
    """Sort sets by score, descending; ties by size, then by members."""
    order = np.lexsort((*masks.T, sizes_of(masks), -scores))
    return masks[order], scores[order]


def _warmup() -> None:
    """Compile the kernels."""
    level = Level(np.array([[0], [1], [2]], np.int16), np.zeros(3), np.zeros(3, np.int64))
    next_level(next_level(level, level.members[:, 0]), level.members[:, 0])
    _find_row(level.members, level.members[1])
