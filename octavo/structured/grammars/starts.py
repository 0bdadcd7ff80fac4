"""Where the learning of a grammar starts: harmonic, uniform, random, or the best of a random pool.

Reference: Gillenwater et al. (2011), Section 6.2, for Klein and Manning's harmonic start, and its
Appendix A for random pools (Headden, Johnson and McClosky, 2009). The harmonic start does not say
how often heads stop; here the dependents of a head count as independent of one another, so that
the numbers of dependents farther out, and with them all decisions, have a distribution.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from octavo.engine.estimators.arrays import Floats
from octavo.structured.grammars.corpus import Batch, Corpus
from octavo.structured.grammars.grammar import (
    Counts,
    Grammar,
    counts_by_class,
    estimated,
    smoothed,
    sum_over_trees,
)

POOL_SIZE = 20
POOL_STEPS = 5
HELD_OUT = 10  # one sentence in so many judges the pool


@lru_cache(maxsize=64)
def _harmonic_tables(n: int, V: int) -> tuple[Floats, Floats]:
    """Return chances of edges (n, n, V) and of stops (n, 2, V) in sentences of n tokens."""
    place = np.arange(n)
    far = np.abs(place[:, None] - place)
    near = np.divide(1.0, far, out=np.zeros((n, n)), where=far > 0)
    # (1 - 1/n) |h - c|⁻¹ / Σ |h' - c|⁻¹
    chance = (1.0 - 1.0 / n) * near / np.maximum(near.sum(axis=0), 1e-300)
    edges, stops = np.zeros((n, n, V)), np.zeros((n, 2, V))
    for h in range(n):
        for d, there in enumerate((range(h), range(n - 1, h, -1))):  # outermost first
            farther = np.zeros(V)
            farther[0] = 1.0
            for c in there:
                edges[h, c] = chance[h, c] * farther
                more = np.append(0.0, farther[:-1])
                more[-1] += farther[-1]
                # c a dependent or not, independent of those farther out
                farther = (1.0 - chance[h, c]) * farther + chance[h, c] * more
            stops[h, d] = farther
    return edges, stops


def harmonic_counts(corpus: Corpus, shape: Grammar) -> Counts:
    """Return what would be counted if heads were chosen by closeness alone, roots evenly.

    Parameters
    ----------
    corpus : Corpus
        The sentences.
    shape : Grammar
        Any grammar with the valence classes wanted.

    Returns
    -------
    Counts
        Expected numbers of decisions.
    """
    V, T = max(shape.stop.shape[2], shape.own.shape[2]), corpus.n_tags
    by_root, by_stop, by_edge = np.zeros(T), np.zeros((T, 2, V)), np.zeros((T, 2, V, T))
    for batch in corpus.batches:
        x, n = batch.tags, batch.tags.shape[1]
        edges, stops = _harmonic_tables(n, V)
        np.add.at(by_root, x, 1.0 / n)  # 1 / n: the root is any token
        np.add.at(by_stop, x, stops)
        for h in range(n):
            for c in range(n):
                if h != c:
                    pairs = np.zeros((T, T))
                    np.add.at(pairs, (x[:, h], x[:, c]), 1.0)
                    by_edge[:, int(c > h)] += pairs[:, None] * edges[h, c][:, None]
    return counts_by_class(shape, by_root, by_stop, by_edge)


def uniform_grammar(n_tags: int, stop_valence: int, child_valence: int, backoff: float) -> Grammar:
    """Return the grammar in which every decision has equal chances."""
    T = n_tags
    counts = Counts(
        np.zeros(T),
        np.zeros((T, 2, stop_valence)),
        np.zeros((T, 2, stop_valence)),
        np.zeros((T, 2, child_valence, T)),
    )
    return estimated(counts, None, backoff)


def random_grammar(shape: Grammar, random: np.random.RandomState) -> Grammar:
    """Return a grammar whose decisions have chances drawn evenly from their simplices."""
    T, Vs, Vc = shape.root.size, shape.stop.shape[2], shape.own.shape[2]
    stop = random.random_sample((T, 2, Vs))
    return Grammar(
        random.dirichlet(np.ones(T)),
        stop,
        1.0 - stop,
        random.dirichlet(np.ones(T), size=(T, 2, Vc)),
        random.dirichlet(np.ones(T), size=(2, Vc)),
        shape.backoff,
    )


def pooled_grammar(
    corpus: Corpus, shape: Grammar, random: np.random.RandomState, n_jobs: int | None
) -> Grammar:
    """Return the best of some random grammars after a few steps of EM, judged on held-out rows."""
    held = np.zeros(corpus.n_sentences, dtype=bool)
    if corpus.n_sentences >= 2 * HELD_OUT:
        held[random.permutation(corpus.n_sentences)[: corpus.n_sentences // HELD_OUT]] = True
    learn = _part(corpus, ~held)
    judge = _part(corpus, held) if held.any() else learn
    best, reached = shape, -np.inf
    for _ in range(POOL_SIZE):
        grammar = random_grammar(shape, random)
        for _ in range(POOL_STEPS):
            counts = sum_over_trees(grammar, learn, n_jobs=n_jobs).counts
            grammar = estimated(counts, grammar, shape.backoff)
        grammar = smoothed(grammar, np.exp(-10.0))
        value = float(sum_over_trees(grammar, judge, n_jobs=n_jobs).log_partition.sum())
        if value > reached:
            best, reached = grammar, value
    return best


def _part(corpus: Corpus, chosen: np.ndarray) -> Corpus:
    """Return some of the sentences, numbered anew."""
    number = np.cumsum(chosen) - 1
    batches = []
    for batch in corpus.batches:
        mine = chosen[batch.rows]
        if mine.any():
            batches.append(Batch(number[batch.rows[mine]], batch.tags[mine]))
    return Corpus(tuple(batches), corpus.n_tags, int(chosen.sum()))
