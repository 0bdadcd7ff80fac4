"""A search for graphs on which a quality function breaks an axiom.

T. van Laarhoven and E. Marchiori (2014). Axioms for Graph Clustering Quality Functions.
Definitions 1 to 10. Small graphs are enumerated or drawn, and all their clusterings scored at
once. An order of two clusterings counts as broken when it is strict and reversed; ties that are
broken do not count. By the letter of Definition 7, where they do, the indicator of connected
components would not be local, against Table 1.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from octavo.cluster.communities.qualities import QualityFunction
from octavo.cluster.communities.searches import subset_sums
from octavo.engine.discrete.set_partitions import parts_of_partitions, set_partitions
from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.estimators.checked import checked

__all__ = ["Counterexample", "check_axioms"]

_TOL = 1e-9  # of the largest score: far above rounding, far below what small weights differ by
_SCALES = (1.0, 10.0, 100.0, 1000.0, 0.1)
_FACTORS = (0.1, 0.5, 3.0, 10.0, 100.0)
_CALLS = 1500  # scores of one size and axiom that a function of the user's own is asked for
_PAIRS = 400_000  # pairs of clusterings that are compared at once


class Counterexample(NamedTuple):
    """A violation of an axiom.

    ``axiom`` is its name, ``graphs`` the dense matrices of the graphs, ``labels`` the clusterings,
    ``scores`` their qualities in the order that ``text`` gives.
    """

    axiom: str
    graphs: tuple[Floats, ...]
    labels: tuple[Indices, ...]
    scores: tuple[float, ...]
    text: str


class _Scorer:
    """The qualities of all partitions of small graphs."""

    def __init__(self, quality: Any) -> None:
        self.quality = quality
        self.is_fast = isinstance(quality, QualityFunction)

    def __call__(self, graphs: Floats) -> Floats:
        n = graphs.shape[1]
        if self.is_fast:
            scores = self.quality.score_partitions(
                graphs, subset_sums(graphs), parts_of_partitions(n)
            )
        else:
            score = self.quality.score if hasattr(self.quality, "score") else self.quality
            partitions = set_partitions(n)
            scores = np.array([[float(score(E, C.copy())) for C in partitions] for E in graphs])
            scores = scores.reshape(len(graphs), len(partitions))
        if not np.isfinite(scores).all():
            raise ValueError("quality must answer with finite numbers; it gave NaN or infinity.")
        return scores

    def limit(self, n: int, repeats: int, graphs: Floats) -> Floats:
        """Return as many of the graphs as can be scored `repeats` times."""
        if self.is_fast:
            return graphs
        most = max(1, _CALLS // (repeats * len(set_partitions(n))))
        step = max(1, -(-len(graphs) // most))
        return graphs[::step]


def _tolerance(*scores: Floats) -> Floats:
    """Return what two scores of one graph must differ by, a number for each graph.

    It is a share of the largest score of all: where a graph's own are all 0, rounding is not.
    """
    return np.full(len(scores[0]), _TOL * max(np.abs(s).max(initial=0.0) for s in scores))


class _Graphs:
    """Small graphs with given weights: all of them, or random ones; the lightest first."""

    def __init__(self, weights: Floats, n_random: int, rng: np.random.RandomState) -> None:
        self.weights, self.n_random, self.rng = weights, n_random, rng
        self._made: dict[int, Floats] = {}

    def of_size(self, n: int) -> Floats:
        if n not in self._made:
            self._made[n] = self._make(n)
        return self._made[n]

    def draw(self, count: int, n: int) -> Floats:
        # Sparse and dense ones, with some links far above the others.
        dense = self.rng.uniform(0.2, 1.0, size=(count, 1, 1))
        half = self.rng.choice(self.weights, size=(count, n, n))
        half = np.where(self.rng.rand(count, n, n) < dense, half, self.weights[0])
        heavy = (self.rng.rand(count, n, n) < 0.15) & (self.rng.rand(count, 1, 1) < 0.5)
        half = np.triu(np.where(heavy, 4.0 * half, half))
        return half + np.triu(half, 1).transpose(0, 2, 1)

    def _make(self, n: int) -> Floats:
        entries = n * (n + 1) // 2
        if len(self.weights) ** entries <= max(1000, self.n_random):
            values = np.array(list(itertools.product(self.weights, repeat=entries)))
            half = np.zeros((len(values), n, n))
            half[:, *np.triu_indices(n)] = values
            graphs = half + np.triu(half, 1).transpose(0, 2, 1)
        else:
            graphs = self.draw(self.n_random, n)
        graphs = graphs[np.argsort(graphs.sum(axis=(1, 2)), kind="stable")]
        return np.concatenate([scale * graphs for scale in _SCALES])


def _found(
    axiom: str, graphs: list[Floats], labels: list[Indices], scores: list[float], text: str
) -> Counterexample:
    values = ", ".join(f"{score:.6g}" for score in scores)
    return Counterexample(
        axiom, tuple(graphs), tuple(labels), tuple(map(float, scores)), f"{text}: {values}."
    )


def _first(mask: Any) -> tuple[int, ...] | None:
    flat = np.flatnonzero(mask)
    return None if not flat.size else tuple(map(int, np.unravel_index(flat[0], mask.shape)))


def _partition_rows(n: int) -> dict[tuple[int, ...], int]:
    return {tuple(row): place for place, row in enumerate(set_partitions(n).tolist())}


def _canonical(labels: Indices) -> tuple[int, ...]:
    names: dict[int, int] = {}
    return tuple(names.setdefault(int(c), len(names)) for c in labels)


# --- the axioms, each on graphs of n nodes --------------------------------------------------------


def _permutation_invariance(score: _Scorer, graphs: _Graphs, n: int) -> Counterexample | None:
    """Definition 1: Q(f(G), f(C)) = Q(G, C)."""
    orders = list(itertools.permutations(range(n)))[1:]
    chosen = [orders[k] for k in graphs.rng.permutation(len(orders))[:3]]
    batch = score.limit(n, 1 + len(chosen), graphs.of_size(n))
    plain, partitions, row = score(batch), set_partitions(n), _partition_rows(n)
    for order in map(list, chosen):
        moved = batch[:, order][:, :, order]
        images = [row[_canonical(C[order])] for C in partitions]
        other = score(moved)[:, images]
        at = _first(np.abs(other - plain) > _tolerance(plain, other)[:, None])
        if at:
            g, c = at
            C = partitions[c]
            return _found(
                "permutation_invariance", [batch[g], moved[g]], [C, C[order]],
                [plain[g, c], other[g, c]], "The same clustering of the same graph, renumbered",
            )  # fmt: skip
    return None


def _reversed(before: Floats, after: Floats) -> tuple[int, ...] | None:
    """Return (graph, C, D) where C is better than D before and worse after."""
    tol = _tolerance(before)[:, None, None]
    tol_after = _tolerance(after)[:, None, None]
    better = before[:, :, None] - before[:, None, :] > tol
    return _first(better & (after[:, None, :] - after[:, :, None] > tol_after))


def _scale_invariance(score: _Scorer, graphs: _Graphs, n: int) -> Counterexample | None:
    """Definition 2: the order of clusterings of G is that of α G."""
    return _scaling(score, graphs, n, "scale_invariance", lambda factor: score)


def _scale_invariance_family(score: _Scorer, graphs: _Graphs, n: int) -> Counterexample | None:
    """Definition 3: the order of clusterings of G is that of α G for another member."""
    if not hasattr(score.quality, "rescaled"):
        raise ValueError(
            "scale_invariance_family needs a quality with rescaled(factor): the member of its "
            "family for graphs whose weights are multiplied by factor."
        )
    return _scaling(
        score, graphs, n, "scale_invariance_family",
        lambda factor: _Scorer(score.quality.rescaled(factor)),
    )  # fmt: skip


def _scaling(
    score: _Scorer, graphs: _Graphs, n: int, axiom: str, member: Callable[[float], _Scorer]
) -> Counterexample | None:
    partitions = set_partitions(n)
    batch = score.limit(n, 1 + len(_FACTORS), graphs.of_size(n))
    for part in _pieces(batch, len(partitions) ** 2):
        plain = score(part)
        for factor in _FACTORS:
            # Definition 2; Definition 3 for a family, whose parameter goes along
            scaled = member(factor)(factor * part)
            if at := _reversed(plain, scaled):
                g, c, d = at
                return _found(
                    axiom, [part[g], factor * part[g]], [partitions[c], partitions[d]],
                    [plain[g, c], plain[g, d], scaled[g, c], scaled[g, d]],
                    f"C above D, and below when weights are multiplied by {factor:g}",
                )  # fmt: skip
    return None


def _pieces(batch: Floats, cost: int) -> Iterator[Floats]:
    step = max(1, _PAIRS // cost)
    # At most ten pieces, spread over all graphs of one size and scale.
    starts = range(0, len(batch), step)
    chosen = (
        starts
        if len(starts) <= 10
        else [starts[k] for k in np.linspace(0, len(starts) - 1, 10, dtype=int)]
    )
    for start in chosen:
        yield batch[start : start + step]


def _richness(score: _Scorer, graphs: _Graphs, n: int) -> Counterexample | None:
    """Definition 4: each partition but the two trivial ones is the only best one of some graph."""
    partitions = set_partitions(n)
    unit = float(graphs.weights[graphs.weights > 0].min())
    powers = np.arange(-4.0, 8.5, 0.5) if score.is_fast else np.arange(-2.0, 5.0)
    pool = score.limit(n, 1, graphs.of_size(n)) if n > 2 else graphs.of_size(n)[:0]
    pool_best = None
    for place, C in enumerate(partitions):
        if not 1 < C.max() + 1 < n:
            continue
        together = (C[:, None] == C).astype(np.float64)
        sizes = together.sum(axis=1)
        bare = together - np.eye(n) * (sizes > 1)
        # Cliques with loops and without, of unit weights, and of equal degrees and volumes.
        volumes = bare.sum(axis=1) * sizes
        kinds = [together, bare, together / sizes, together / sizes**2, bare / volumes]
        tries = np.array([unit * 10.0**p * kind for p in powers for kind in kinds])
        if _only_best(score(tries), place).any():
            continue
        if pool_best is None:
            pool_best = score(pool)
        if not _only_best(pool_best, place).any():
            text = f"No graph of {len(tries) + len(pool)} has this clustering as its only best"
            return Counterexample("richness", (), (C,), (), f"{text}: {C.tolist()}.")
    return None


def _only_best(scores: Floats, place: int) -> Any:
    others = np.delete(scores, place, axis=1).max(axis=1)
    # Each graph by its own scores here: they lie many powers of ten apart.
    return scores[:, place] - others > _TOL * np.abs(scores).max(axis=1)


def _changes(graphs: _Graphs, n: int) -> Iterator[tuple[int, int, float]]:
    """Yield single links and the weights they change to; all improvements are chains of these."""
    for i, j in zip(*np.triu_indices(n)):
        for weight in graphs.weights:
            yield int(i), int(j), float(weight)


def _changed(batch: Floats, i: int, j: int, weight: float, base: Floats) -> Floats:
    after = batch.copy()
    after[:, i, j] = after[:, j, i] = weight * base
    return after


def _with_scale(graphs: _Graphs, n: int) -> tuple[Floats, Floats]:
    """Return the graphs and the scale that each was multiplied by."""
    batch = graphs.of_size(n)
    return batch, np.repeat(_SCALES, len(batch) // len(_SCALES))


def _monotonicity(score: _Scorer, graphs: _Graphs, n: int) -> Counterexample | None:
    """Definition 6: more weight within clusters, or less between, does not lower the quality."""
    partitions = set_partitions(n)
    batch, scales = _with_scale(graphs, n)
    repeats = 1 + n * (n + 1) // 2 * len(graphs.weights)
    kept = score.limit(n, repeats, np.arange(len(batch), dtype=np.float64)).astype(int)
    if score.is_fast and n > 3:  # a fifth of the graphs of each scale
        kept = kept[::5]
    batch, scales = batch[kept], scales[kept]
    plain = score(batch)
    best: Counterexample | None = None
    for i, j, weight in _changes(graphs, n):
        after = _changed(batch, i, j, weight, scales)
        other = score(after)
        within = partitions[:, i] == partitions[:, j]
        # what a consistent improvement may raise
        more = (after[:, i, j] > batch[:, i, j])[:, None] & within
        less = (after[:, i, j] < batch[:, i, j])[:, None] & ~within  # and what it may lower
        worse = plain - other > _tolerance(plain, other)[:, None]
        at = _first((more | less) & worse)
        # the lightest graph is the one to read
        if at and (best is None or batch[at[0]].sum() < best.graphs[0].sum()):
            g, c = at
            best = _found(
                "monotonicity", [batch[g], after[g]], [partitions[c]],
                [plain[g, c], other[g, c]], "A consistent improvement lowers the quality",
            )  # fmt: skip
    return best


def _relative_monotonicity(score: _Scorer, graphs: _Graphs, n: int) -> Counterexample | None:
    """Definition 10: a change that improves C and undoes D does not put D above C."""
    partitions = set_partitions(n)
    batch, scales = _with_scale(graphs, n)
    repeats = 1 + n * (n + 1) // 2 * len(graphs.weights)
    kept = score.limit(n, repeats, np.arange(len(batch), dtype=np.float64)).astype(int)
    kept = kept[:: max(1, len(kept) * len(partitions) ** 2 // (5 * _PAIRS))]
    batch, scales = batch[kept], scales[kept]
    plain = score(batch)
    best: Counterexample | None = None
    for i, j, weight in _changes(graphs, n):
        if i == j:
            continue  # a loop is within both clusterings
        after = _changed(batch, i, j, weight, scales)
        other = score(after)
        within = partitions[:, i] == partitions[:, j]
        tol, tol_after = _tolerance(plain), _tolerance(other)
        for sign in (1.0, -1.0):  # more weight within C alone; less within D alone
            rows = np.flatnonzero(sign * (after[:, i, j] - batch[:, i, j]) > 0)
            C = np.flatnonzero(within if sign > 0 else ~within)
            D = np.flatnonzero(~within if sign > 0 else within)
            above = plain[np.ix_(rows, C)][:, :, None] - plain[np.ix_(rows, D)][:, None, :]
            below = other[np.ix_(rows, D)][:, None, :] - other[np.ix_(rows, C)][:, :, None]
            broken = (above > tol[rows, None, None]) & (below > tol_after[rows, None, None])
            at = _first(broken)
            if at and (best is None or batch[rows[at[0]]].sum() < best.graphs[0].sum()):
                g, c, d = rows[at[0]], C[at[1]], D[at[2]]
                best = _found(
                    "relative_monotonicity", [batch[g], after[g]], [partitions[c], partitions[d]],
                    [plain[g, c], plain[g, d], other[g, c], other[g, d]],
                    "C above D, and below after a change that favours C",
                )  # fmt: skip
    return best


def _locality(score: _Scorer, graphs: _Graphs, n: int) -> Counterexample | None:
    """Definition 7: what is far away does not change the order of clusterings; n is the larger."""
    best: Counterexample | None = None
    for shared in range(2, min(3, n) + 1):
        for common in range(shared, min(shared + 1, n) + 1):
            for small in range(common, n + 1):
                for size in {(small, n), (n, small)}:
                    found = _disagreement(score, graphs, shared, common, size)
                    if found and (best is None or found.graphs[0].size < best.graphs[0].size):
                        best = found
    return best


def _disagreement(
    score: _Scorer, graphs: _Graphs, shared: int, common: int, size: tuple[int, int]
) -> Counterexample | None:
    count = max(1, graphs.n_random // 2)
    if not score.is_fast:
        count = max(1, min(count, _CALLS // 8 // len(set_partitions(max(size)))))
    pair = [graphs.draw(count, n) for n in size]
    for E in pair:  # Definition 7: V_a with its links to its neighbourhood
        E[:, :shared, :common] = pair[0][:, :shared, :common]
        E[:, :common, :shared] = pair[0][:, :common, :shared]
        E[:, :shared, common:] = 0.0  # no other links of V_a
        E[:, common:, :shared] = 0.0
    order = np.argsort(sum(E.sum(axis=(1, 2)) for E in pair), kind="stable")
    pair = [E[order] for E in pair]
    tables = [_apart(n, shared) for n in size]
    scores = [score(E)[:, table] for E, table in zip(pair, tables)]  # graph, C_a, rest
    # C_a ∪ rest against D_a ∪ rest, in either graph
    first, second = (s[:, :, None, :] - s[:, None, :, :] for s in scores)
    above = first > _tolerance(scores[0])[:, None, None, None]
    below = second < -_tolerance(scores[1])[:, None, None, None]
    at = _first(above.any(axis=3) & below.any(axis=3))
    if at is None:
        return None
    g, c, d = at
    r1, r2 = int(np.argmax(above[g, c, d])), int(np.argmax(below[g, c, d]))
    labels = [
        set_partitions(n)[table[x, r]]
        for n, table, r in zip(size, tables, (r1, r2))
        for x in (c, d)
    ]
    values = [scores[0][g, c, r1], scores[0][g, d, r1], scores[1][g, c, r2], scores[1][g, d, r2]]
    return _found(
        "locality", [pair[0][g], pair[1][g]], labels, values,
        f"Both graphs agree on the first {shared} nodes and their links; C above D in the first, "
        "below in the second",
    )  # fmt: skip


def _apart(n: int, shared: int) -> Indices:
    """Return rows of partitions that keep the first nodes apart, by theirs and by the others'."""
    row, inner, rest = _partition_rows(n), set_partitions(shared), set_partitions(n - shared)
    return np.array(
        [[row[_canonical(np.concatenate([C, R + shared]))] for R in rest] for C in inner]
    )


def _continuity(score: _Scorer, graphs: _Graphs, n: int) -> Counterexample | None:
    """Definition 9: small changes of weights change the quality little.

    At graphs whose nodes all have links: w / v has no limit at a node without any, so that
    normalised cut and M = 0 are continuous nowhere else.
    """
    batch = graphs.of_size(n)
    batch = score.limit(n, 3, batch[(batch.sum(axis=2) > 0).all(axis=1)])
    if not len(batch):
        return None
    plain = score(batch)
    half = np.triu(graphs.rng.uniform(-1.0, 1.0, size=batch.shape))
    noise = (half + np.triu(half, 1).transpose(0, 2, 1)) * batch.max(axis=(1, 2))[:, None, None]
    near = [np.maximum(0.0, batch + step * noise) for step in (1e-6, 1e-9)]
    coarse, fine = (np.abs(score(E) - plain) for E in near)
    spread = np.maximum(np.abs(plain).max(axis=1), _tolerance(plain))[:, None]
    at = _first((fine > 1e-3 * spread) & (fine > 0.5 * coarse))
    if at is None:
        return None
    g, c = at
    return _found(
        "continuity", [batch[g], near[1][g]], [set_partitions(n)[c]],
        [plain[g, c], score(near[1][g : g + 1])[0, c]],
        "Weights that change by a billionth change the quality",
    )  # fmt: skip


def _resolution_limit_free(score: _Scorer, graphs: _Graphs, n: int) -> Counterexample | None:
    """Definition 8: clusters of a best clustering are best in the graph that they induce."""
    batch, partitions = score.limit(n, 4, graphs.of_size(n)), set_partitions(n)
    if not score.is_fast and n > 4:
        return None
    plain = score(batch)
    # ties within rounding are all best
    is_best = plain >= (plain.max(axis=1) - _tolerance(plain))[:, None]
    for bits in range(1, (1 << n) - 1):
        nodes = [i for i in range(n) if bits >> i & 1]
        outside = [i for i in range(n) if not bits >> i & 1]
        induced = batch[:, nodes][:, :, nodes]
        inner, row = score(induced), _partition_rows(len(nodes))
        for c in np.flatnonzero(is_best.any(axis=0)):
            C = partitions[c]
            if set(C[nodes]) & set(C[outside]):
                continue
            d = row[_canonical(C[nodes])]
            lost = inner.max(axis=1) - inner[:, d] > _tolerance(inner, plain)
            at = _first(is_best[:, c] & lost)
            if at:
                (g,) = at
                D = set_partitions(len(nodes))[int(np.argmax(inner[g]))]
                return _found(
                    "resolution_limit_free", [batch[g], induced[g]], [C, C[nodes], D],
                    [plain[g, c], inner[g, d], inner[g].max()],
                    f"C is best, but on nodes {nodes} alone another clustering is better",
                )  # fmt: skip
    return None


AXIOMS: dict[str, Callable[[_Scorer, _Graphs, int], Counterexample | None]] = {
    "permutation_invariance": _permutation_invariance,
    "scale_invariance": _scale_invariance,
    "richness": _richness,
    "monotonicity": _monotonicity,
    "locality": _locality,
    "continuity": _continuity,
    "relative_monotonicity": _relative_monotonicity,
    "resolution_limit_free": _resolution_limit_free,
    "scale_invariance_family": _scale_invariance_family,
}


def _asked(axioms: Any) -> list[str]:
    if isinstance(axioms, str) and axioms == "all":
        return [name for name in AXIOMS if name != "scale_invariance_family"]
    names = [axioms] if isinstance(axioms, str) else axioms
    if not isinstance(names, (list, tuple, set)) or not names:
        raise ValueError(f"axioms must be 'all', a name or a list of names; got {axioms!r}.")
    for name in names:
        if name not in AXIOMS:
            raise ValueError(f"axioms must be among {', '.join(AXIOMS)}; got {name!r}.")
    return list(names)


@checked
def check_axioms(
    quality: Any,
    axioms: Any = "all",
    max_nodes: int = 5,
    weights: ArrayLike = (0, 1, 2),
    n_random: int = 2000,
    *,
    random_state: Any = 0,
) -> dict[str, Counterexample | None]:
    """Search small graphs for violations of the axioms of graph clustering.

    None means that no violation was found, which is no proof. Graphs of few nodes are enumerated,
    larger ones drawn; all are also tried with their weights multiplied by 10, 100, 1000 and 0.1,
    since some qualities have a scale. Richness is searched by graphs of cliques over many scales; a
    clustering that none of them has as its only best counts as a violation.

    Parameters
    ----------
    quality : quality function or callable
        One of octavo, an object with ``score(graph, labels)``, or a function of a dense matrix and
        labels. One of your own is asked far fewer times, so that it may take a millisecond.
    axioms : str or list of str, default="all"
        ``permutation_invariance``, ``scale_invariance``, ``richness``, ``monotonicity``,
        ``locality``, ``continuity``, ``relative_monotonicity``, ``resolution_limit_free``; and,
        only when named, ``scale_invariance_family`` (Definition 3).
    max_nodes : int, default=5
        Nodes of the largest graphs, from 2 to 6.
    weights : array-like, default=(0, 1, 2)
        Weights of links and loops.
    n_random : int, default=2000
        Number of random graphs of each size that is not enumerated, up to 20,000.
    random_state : int, RandomState or None, default=0
        Seed of the random graphs.

    Returns
    -------
    report : dict of str to Counterexample or None
        For each axiom a violation with the fewest nodes at which one was found, or None.

    Examples
    --------
    >>> from octavo.cluster import Modularity, check_axioms
    >>> report = check_axioms(Modularity(), ["locality", "continuity"], n_random=200)
    >>> report["continuity"] is None, len(report["locality"].graphs)
    (True, 2)
    """
    if isinstance(quality, type) or not (callable(quality) or hasattr(quality, "score")):
        raise ValueError(
            "quality must be a quality function such as Modularity(), or a function of a matrix "
            f"and labels; got {quality!r}."
        )
    names = _asked(axioms)
    for label, value, low, high in (
        ("max_nodes", max_nodes, 2, 6),
        ("n_random", n_random, 1, 20000),
    ):
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
            raise ValueError(f"{label} must be a whole number; got {value!r}.")
        if not low <= value <= high:
            raise ValueError(f"{label} must be from {low} to {high}; got {value}.")
    values = np.unique(np.asarray(weights, dtype=np.float64))
    good = values.ndim == 1 and 2 <= values.size <= 12 and np.isfinite(values).all()
    if not good or values[0] < 0 or values[-1] > 1e100 or values[values > 0].min() < 1e-100:
        raise ValueError(
            "weights must be two to twelve different numbers of at least 0, neither above 1e100 "
            f"nor, but for 0, below 1e-100; got {weights!r}."
        )
    if isinstance(quality, QualityFunction):
        quality.cluster_term(0.0, 0.0, 1.0)  # refuses bad parameters
    graphs = _Graphs(values, int(n_random), check_random_state(random_state))
    score = _Scorer(quality)
    report: dict[str, Counterexample | None] = {}
    for name in names:
        sizes = range(2, int(max_nodes) + 1)
        report[name] = next((c for n in sizes if (c := AXIOMS[name](score, graphs, n))), None)
    return report
