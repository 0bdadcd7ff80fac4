"""Sentences of random dependency grammars in which few kinds of dependencies are allowed."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.trees.dependency_draws import draw_dependency_tree

__all__ = ["DependencyGrammar", "make_sparse_grammar"]

TRIES = 1000  # sentences drawn for each one wanted, at most


class DependencyGrammar(NamedTuple):
    """The chances of a grammar, shaped as ``root_``, ``stop_`` and ``child_`` of a `DMV` (2, 1)."""

    root: Floats
    stop: Floats
    child: Floats


@checked
def make_sparse_grammar(
    n_samples: int = 2000,
    n_tags: int = 8,
    n_parents: int = 2,
    max_length: int = 10,
    random_state: Any = None,
) -> tuple[list[list[int]], list[np.ndarray], DependencyGrammar]:
    """Draw a random sparse grammar, and sentences with trees from it.

    Tags stand in a random order; the first two may be roots, and every other tag has few kinds of
    parents among those before it, each on one side, so that sentences end.

    Parameters
    ----------
    n_samples : int, default=2000
        Sentences.
    n_tags : int, default=8
        Tags, at least three.
    n_parents : int, default=2
        Most kinds of parents of a tag.
    max_length : int, default=10
        Longer sentences are drawn again.
    random_state : int, RandomState instance or None, default=None
        Draws all of it.

    Returns
    -------
    sequences : list of list of int
        Tags of each sentence, 0 to ``n_tags - 1``.
    heads : list of ndarray of int
        0 for the root, 1-based else.
    grammar : DependencyGrammar
        The chances that the sentences were drawn with.

    Examples
    --------
    >>> from octavo.data import make_sparse_grammar
    >>> sequences, heads, grammar = make_sparse_grammar(100, random_state=0)
    >>> len(sequences), max(map(len, sequences)) <= 10, len(grammar.root)
    (100, True, 8)
    """
    if n_samples < 1 or n_parents < 1 or max_length < 1 or n_tags < 3:
        raise ValueError(
            "Expected n_samples, n_parents and max_length of at least 1 and n_tags of at least 3, "
            f"got {n_samples}, {n_parents}, {max_length} and {n_tags}."
        )
    random = check_random_state(random_state)
    grammar = _grammar(n_tags, n_parents, random)
    sequences: list[list[int]] = []
    heads: list[np.ndarray] = []
    for _ in range(TRIES * n_samples):
        drawn = draw_dependency_tree(*grammar, random, max_length)
        if drawn is not None:
            sequences.append(drawn[0].tolist())
            heads.append(drawn[1])
            if len(sequences) == n_samples:
                return sequences, heads, grammar
    raise ValueError(
        f"Hardly any sentence of this grammar has at most {max_length} tags. Raise max_length."
    )


def _grammar(T: int, n_parents: int, random: np.random.RandomState) -> DependencyGrammar:
    order = random.permutation(T)
    root, child = np.zeros(T), np.zeros((T, 2, 1, T))
    root[order[:2]] = random.dirichlet(np.ones(2))
    for k in range(1, T):
        count = min(int(random.randint(1, n_parents + 1)), k)
        for parent in random.choice(order[:k], size=count, replace=False):
            child[parent, random.randint(2), 0, order[k]] = random.gamma(1.0) + 0.1
    any_child = child.sum(axis=(2, 3)) > 0
    stop = np.ones((T, 2, 2))
    stop[..., 0] = np.where(any_child, random.uniform(0.2, 0.6, size=(T, 2)), 1.0)
    stop[..., 1] = np.where(any_child, random.uniform(0.5, 0.9, size=(T, 2)), 1.0)
    child[any_child] /= child[any_child].sum(axis=-1, keepdims=True)
    child[~any_child] = 1.0 / T  # never asked
    return DependencyGrammar(root, stop, child)
