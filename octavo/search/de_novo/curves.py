"""How good a search was: targets found, how many times more than by chance, and how spread out."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.estimators.checked import checked
from octavo.search.de_novo.evidence import make_kernel

__all__ = ["construction_curve", "dispersion_curve", "lift_curve"]

BLOCK = 100
COLUMNS = 2000  # targets whose kernel with what was found is computed at a time


class _Seen:
    """Tells whether an object was seen before; graphs are the same where they are isomorphic."""

    def __init__(self, key: Callable[[Any], Hashable] | None) -> None:
        self.key = key
        self.buckets: dict[Hashable, list[Any]] = {}

    def is_new(self, state: Any) -> bool:
        import networkx as nx

        if self.key is not None:
            name, is_graph = self.key(state), False
        else:
            is_graph = isinstance(state, nx.Graph)
            name = _graph_key(state) if is_graph else _plain_key(state)
        bucket = self.buckets.setdefault(name, [])
        same = [x for x in bucket if not is_graph or nx.is_isomorphic(x, state, _alike)]
        if not same:
            bucket.append(state)
        return not same


def _alike(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two vertices carry the same label, or both none."""
    return bool(one.get("label") == other.get("label"))


def _graph_key(graph: Any) -> Hashable:
    """Return what isomorphic graphs have in common, by three rounds of colours of vertices."""
    code: dict[Any, Any] = {
        v: hash((len(graph.adj[v]), _plain_key(data.get("label"))))
        for v, data in graph.nodes(data=True)
    }
    for _ in range(3):
        code = {v: hash((code[v], tuple(sorted(code[u] for u in graph.adj[v])))) for v in graph}
    return tuple(sorted(code.values()))


def _plain_key(state: Any) -> Hashable:
    """Return what equal states have in common, whatever they are nested in."""
    if sp.issparse(state):
        state = state.toarray()
    if hasattr(state, "__array__"):
        state = np.asarray(state).tolist()  # numbers, of which 0 and -0.0 are equal
    if isinstance(state, (list, tuple)):
        return tuple(_plain_key(entry) for entry in state)
    if isinstance(state, Mapping):
        return frozenset((name, _plain_key(entry)) for name, entry in state.items())
    if isinstance(state, (set, frozenset)):
        return frozenset(state)
    try:
        hash(state)
    except TypeError:
        raise ValueError(
            f"States of type {type(state).__name__} cannot be told apart: give a key."
        ) from None
    return state


def _are_targets(states: Any, labels: Any, target: Any) -> list[bool]:
    for name, value in (("states", states), ("labels", labels)):
        if isinstance(value, (str, bytes, dict)) or not hasattr(value, "__len__"):
            raise ValueError(f"A list is needed as {name}; got {value!r}.")
    if len(states) != len(labels):
        raise ValueError(f"{len(states)} states and {len(labels)} labels do not match.")
    return [bool(np.all(label == target)) for label in labels]


@checked
def construction_curve(
    states: Any, labels: Any, *, target: Any = 1, key: Callable[[Any], Hashable] | None = None
) -> Ints:
    """Return how many different targets were found after each question (Section 5.1).

    Parameters
    ----------
    states : list
        What was asked about, in order, as `states_` of a search.
    labels : list
        The answers, as `labels_` of a search.
    target : object, default=1
        The label that is wanted.
    key : callable, default=None
        What states have in common that count as one, for instance the ingredients of a recipe. By
        default graphs count once if they are isomorphic and vertices that carry a ``label`` meet
        their like, and others if they are equal.

    Returns
    -------
    curve : ndarray of int of shape (n_states,)
        Rises from 0 or 1.

    Examples
    --------
    >>> import networkx as nx
    >>> from octavo.search import construction_curve
    >>> states = [nx.path_graph(3), nx.star_graph(2), nx.empty_graph(3), nx.cycle_graph(3)]
    >>> print(construction_curve(states, [1, 1, 0, 1]).tolist())
    [1, 1, 1, 2]
    """
    hits = _are_targets(states, labels, target)
    seen = _Seen(key)
    return np.cumsum([hit and seen.is_new(x) for x, hit in zip(states, hits)], dtype=np.int64)


@checked
def lift_curve(curve: Any, baseline: Any) -> Floats:
    """Return how many times more targets were found than by a baseline, after each question.

    Parameters
    ----------
    curve : array-like of shape (n,)
        Targets found, as `construction_curve` counts them.
    baseline : array-like of shape (n,) or float
        The same of a `MonteCarloSearch`, or the share of targets among proposals.

    Returns
    -------
    lift : ndarray of shape (n,)
        NaN where the baseline has found none yet.

    Examples
    --------
    >>> from octavo.search import lift_curve
    >>> print(lift_curve([1, 2, 3, 4], 0.25).tolist())
    [4.0, 4.0, 4.0, 4.0]
    """
    found = np.asarray(curve, dtype=np.float64)
    base = np.asarray(baseline, dtype=np.float64)
    if found.ndim != 1:
        raise ValueError(f"A curve is a vector; got an array of shape {found.shape}.")
    if base.ndim == 0:
        base = base * np.arange(1, len(found) + 1)
    if base.shape != found.shape or not (np.isfinite(found).all() and (base >= 0).all()):
        raise ValueError("A baseline must be a share, or a curve as long as the other.")
    return np.divide(found, base, out=np.full(len(found), np.nan), where=base > 0)


def _cover(distance: Floats, radius: float, which: Ints) -> Floats:
    """Return the number of columns within the radius of one of the first rows, for each count."""
    if not len(distance):
        return np.zeros(len(which))
    near = distance <= radius
    first = np.where(near.any(axis=0), near.argmax(axis=0), len(near))
    covered = np.cumsum(np.bincount(first, minlength=len(near) + 1)[: len(near)])
    return np.concatenate([[0], covered]).astype(np.float64)[which]


def _diagonal(kernel: Any, states: list[Any]) -> Floats:
    """Return k(x, x), from blocks along the diagonal."""
    parts = [states[i : i + BLOCK] for i in range(0, len(states), BLOCK)]
    return np.concatenate([np.diag(kernel(part, part)) for part in parts])


def distances(kernel: Any, rows: list[Any], columns: list[Any]) -> Floats:
    """Return distances of features, √(k(x, x) + k(y, y) - 2 k(x, y))."""
    if not rows:
        return np.zeros((0, len(columns)))
    own, other = (_diagonal(kernel, part) for part in (rows, columns))
    parts = [columns[i : i + COLUMNS] for i in range(0, len(columns), COLUMNS)]
    products = np.hstack([kernel(rows, part) for part in parts])
    return np.sqrt(np.maximum(own[:, None] + other - 2.0 * products, 0.0))


@checked
def dispersion_curve(
    states: Any,
    labels: Any,
    targets: Any,
    kernel: Any,
    *,
    target: Any = 1,
    radius: float | None = None,
    random_state: Any = None,
) -> Floats:
    """Return how much of the targets' space was reached after each question (Section 5.6.2).

    Around each target of a sample lies a ball. Counted are the balls that hold a target found so
    far, divided by the count of an ideal search, whose every question is a target of the sample
    drawn at random.

    Parameters
    ----------
    states : list
        What was asked about, in order, as `states_` of a search.
    labels : list
        The answers, as `labels_` of a search.
    targets : list
        Targets of a large sample of proposals.
    kernel : str or callable
        As in `DeNovoSearch`; distances are those of its features.
    target : object, default=1
        The label that is wanted.
    radius : float, default=None
        The thesis's κ; the mean distance between targets and as many of them, drawn at random, as
        there are questions, by default.
    random_state : int, RandomState instance or None, default=None
        Source of the ideal search's draws.

    Returns
    -------
    curve : ndarray of shape (n_states,)
        Near 1 for a search as good as one that asks about random targets only; 0 before the first
        target is found.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.search import dispersion_curve
    >>> x = np.linspace(0.0, 1.0, 50)[:, None]
    >>> narrow = dispersion_curve(x[:20], np.ones(20), x, "linear", random_state=0)
    >>> wide = dispersion_curve(x[::-2], np.ones(25), x, "linear", random_state=0)
    >>> print(round(narrow[-1], 2), round(wide[-1], 2))
    0.72 1.0
    """
    hits = np.array(_are_targets(states, labels, target), dtype=bool)
    if isinstance(targets, (str, bytes, dict)) or not hasattr(targets, "__len__"):
        raise ValueError(f"A list of targets is needed; got {targets!r}.")
    pool = list(targets)
    if len(pool) < 2:
        raise ValueError(f"At least two targets are needed to measure a spread; got {len(pool)}.")
    gram = make_kernel(kernel)
    rng = check_random_state(random_state)
    size = min(len(hits), len(pool))
    ideal = [pool[i] for i in rng.permutation(len(pool))[:size]]
    apart = distances(gram, ideal, pool)
    if radius is None:
        radius = float(apart.mean()) if len(apart) else 0.0
    elif not isinstance(radius, (int, float, np.number)) or not 0 <= radius < np.inf:
        raise ValueError(f"The radius must be a finite number of at least 0; got {radius!r}.")
    found = [x for x, hit in zip(states, hits) if hit]
    ours = _cover(distances(gram, found, pool), radius, np.cumsum(hits))
    best = _cover(apart, radius, np.minimum(np.arange(1, len(hits) + 1), size))
    return ours / np.maximum(best, 1.0)
