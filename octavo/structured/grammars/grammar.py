"""The dependency model with valence: its parameters, their counts, and sums over trees.

A head stops or goes on by side and by how many dependents it has there; dependents depend on head,
side and that number, and with back-off on side and number alone, in a fixed share.

Reference: D. Klein and C. Manning (2004); the extended model with back-off is Section 5.3, Eq. (10)
of Gillenwater et al. (2011). The last of V valence classes holds V - 1 or more: the paper's text
says so, its printed min(V, a) would be one too many.
"""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.probability.mixtures import safe_log
from octavo.engine.trees.projective import best_tree, tree_marginals
from octavo.structured.grammars.corpus import Batch, Corpus


class Grammar(NamedTuple):
    """Weights of the model, probabilities or less (variational).

    ``root`` (T,); ``stop`` and ``go`` (T, 2, stop valence), to stop and to go on; ``own``
    (T, 2, child valence, T), dependents by head; ``shared`` (2, child valence, T), dependents
    whatever the head, of which the share of ``own`` is ``backoff``; without back-off that is one.
    """

    root: Floats
    stop: Floats
    go: Floats
    own: Floats
    shared: Floats
    backoff: float

    @property
    def child(self) -> Floats:
        """Dependents by head with back-off, Eq. (10)."""
        if self.backoff == 1.0:
            return self.own
        # λ p(c | h, d, v) + (1 - λ) p(c | d, v)
        return self.backoff * self.own + (1.0 - self.backoff) * self.shared


class Counts(NamedTuple):
    """Expected numbers of decisions, shaped as in `Grammar`."""

    root: Floats
    stop: Floats
    go: Floats
    child: Floats


class Trees(NamedTuple):
    """Sums over trees: log sums of the sentences, edges of all batches, flat, and counts."""

    log_partition: Floats
    edges: Floats
    counts: Counts


def classes_of(grammar: Grammar) -> int:
    """Return how many valence classes the sums need to tell apart."""
    return max(grammar.stop.shape[2], grammar.own.shape[2])


def log_tables(grammar: Grammar) -> tuple[Floats, Floats, Floats]:
    """Return log weights of roots (T,), stops (T, 2, V) and edges (T, 2, V, T), by class."""
    V = classes_of(grammar)
    # valence class min(V - 1, a): min(V, a) as printed would have V + 1 classes
    s = np.minimum(np.arange(V), grammar.stop.shape[2] - 1)
    c = np.minimum(np.arange(V), grammar.own.shape[2] - 1)
    # going on, then which dependent: the two factors of an edge
    edges = safe_log(grammar.go)[:, :, s, None] + safe_log(grammar.child)[:, :, c]
    stops = np.ascontiguousarray(safe_log(grammar.stop)[:, :, s])
    return safe_log(grammar.root), stops, np.ascontiguousarray(edges)


@njit(cache=True, nogil=True)
def _weights(x, log_root, log_stop, log_edge, penalty, roots, stops, edges):
    """Look up the log weights of one sentence; penalties (n + 1, n) are taken off, if any."""
    n, V = x.shape[0], log_stop.shape[2]
    for c in range(n):
        roots[c] = log_root[x[c]]
        for d in range(2):
            for s in range(V):
                stops[c, d, s] = log_stop[x[c], d, s]
        for h in range(n):
            d = 1 if c > h else 0
            for s in range(V):
                edges[h, c, s] = log_edge[x[h], d, s, x[c]]
    if penalty.shape[0]:
        for c in range(n):
            roots[c] -= penalty[0, c]  # exp(-λ) on an edge, of Section 4.4
            for h in range(n):
                for s in range(V):
                    edges[h, c, s] -= penalty[h + 1, c]


@njit(cache=True, nogil=True)
def sum_sentences(
    first, stop, tags, log_root, log_stop, log_edge, penalties, log_z, posteriors, by_root,
    by_stop, by_edge, room, tops, ends, in_logs,
):  # fmt: skip
    """Sum over the trees of sentences of one length; add up decisions by tags and class.

    ``room`` (10, n, n, V), ``tops`` (2, n) and ``ends`` (2, n, 2, V) are scratch. Return the first
    sentence that asks for logarithms (see `tree_marginals`), or the end.
    """
    n, V = tags.shape[1], log_stop.shape[2]
    edges, roots, stops = room[8], tops[0], ends[0]
    e, r, t = room[9], tops[1], ends[1]
    for b in range(first, stop):
        x = tags[b]
        penalty = penalties[b] if penalties.shape[0] else penalties[:0, 0]
        _weights(x, log_root, log_stop, log_edge, penalty, roots, stops, edges)
        log_z[b] = tree_marginals(edges, roots, stops, room, e, r, t, in_logs)
        if in_logs is None and math.isnan(log_z[b]):
            return b
        for c in range(n):
            posteriors[b, 0, c] = r[c]
            by_root[x[c]] += r[c]
            for d in range(2):
                for s in range(V):
                    by_stop[x[c], d, s] += t[c, d, s]
            for h in range(n):
                d = 1 if c > h else 0
                total = 0.0
                for s in range(V):
                    by_edge[x[h], d, s, x[c]] += e[h, c, s]
                    total += e[h, c, s]
                posteriors[b, h + 1, c] = total
    return stop


@njit(cache=True, nogil=True)
def parse_sentences(tags, log_root, log_stop, log_edge, penalties, scores, heads):
    """Write the heaviest tree of each of some sentences of one length."""
    B, n = tags.shape
    V = log_stop.shape[2]
    room = np.empty((3, n, n, V))
    edges, roots, stops = np.empty((n, n, V)), np.empty(n), np.empty((n, 2, V))
    for b in range(B):
        penalty = penalties[b] if penalties.shape[0] else penalties[:0, 0]
        _weights(tags[b], log_root, log_stop, log_edge, penalty, roots, stops, edges)
        scores[b] = best_tree(edges, roots, stops, room, heads[b])


def edge_tables(corpus: Corpus, flat: Floats) -> list[Floats]:
    """Return views (B, n + 1, n) of a flat vector over all edges, batch by batch."""
    found, at = [], 0
    for batch in corpus.batches:
        B, n = batch.tags.shape
        found.append(flat[at : at + batch.size].reshape(B, n + 1, n))
        at += batch.size
    return found


def _penalties(corpus: Corpus, lam: Floats | None) -> list[Floats]:
    if lam is None:
        return [np.empty((0, n + 1, n)) for n in (b.tags.shape[1] for b in corpus.batches)]
    return edge_tables(corpus, lam)


def sum_over_trees(
    grammar: Grammar, corpus: Corpus, lam: Floats | None = None, n_jobs: int | None = None
) -> Trees:
    """Return sums over all trees of all sentences, edges weighted by exp(-lam).

    Parameters
    ----------
    grammar : Grammar
        The weights.
    corpus : Corpus
        The sentences.
    lam : ndarray of shape (n_edges,), optional
        Penalties of edges; none by default.
    n_jobs : int, optional
        Threads.

    Returns
    -------
    Trees
        Log sums, edge posteriors and counts.
    """
    tables, V, T = log_tables(grammar), classes_of(grammar), corpus.n_tags
    log_z, edges = np.empty(corpus.n_sentences), np.empty(corpus.n_edges)
    workers = effective_n_jobs(n_jobs)

    def part(batch: Batch, penalty: Floats, posterior: Floats, rows: slice):
        sums = np.zeros(T), np.zeros((T, 2, V)), np.zeros((T, 2, V, T))
        mine = np.empty(len(batch.rows[rows]))
        n = batch.tags.shape[1]
        room = np.empty((10, n, n, V)), np.empty((2, n)), np.empty((2, n, 2, V))
        arrays = batch.tags[rows], *tables, penalty[rows], mine, posterior[rows], *sums, *room
        done, count = 0, len(mine)
        while done < count:
            done = sum_sentences(done, count, *arrays, None)
            if done < count:
                done = sum_sentences(done, done + 1, *arrays, True)
        log_z[batch.rows[rows]] = mine
        return sums

    jobs = [
        (batch, penalty, posterior, rows)
        for batch, penalty, posterior in zip(
            corpus.batches, _penalties(corpus, lam), edge_tables(corpus, edges)
        )
        for rows in _slices(len(batch.rows), workers)
    ]
    if workers == 1:
        found = [part(*job) for job in jobs]
    else:
        found = Parallel(n_jobs, prefer="threads")(delayed(part)(*job) for job in jobs)
    totals = [np.sum(parts, axis=0) for parts in zip(*found)]
    return Trees(log_z, edges, counts_by_class(grammar, *totals))


def _slices(n: int, workers: int) -> list[slice]:
    ends = np.linspace(0, n, min(workers, n) + 1).astype(int)
    return [slice(a, b) for a, b in itertools.pairwise(ends)]


def counts_by_class(grammar: Grammar, by_root: Floats, by_stop: Floats, by_edge: Floats) -> Counts:
    """Return counts in the grammar's valence classes from those of the sums'."""
    Vs, Vc = grammar.stop.shape[2], grammar.own.shape[2]
    return Counts(
        by_root,
        _folded(by_stop, Vs, 2),
        # an edge is one decision to go on, whichever dependent follows
        _folded(by_edge.sum(axis=3), Vs, 2),
        _folded(by_edge, Vc, 2),
    )


def _folded(table: Floats, size: int, axis: int) -> Floats:
    """Return a table whose classes beyond the last are added to it."""
    kept = np.take(table, np.arange(size), axis=axis)
    rest = np.take(table, np.arange(size, table.shape[axis]), axis=axis).sum(axis=axis)
    kept[:, :, -1] += rest
    return kept


def best_trees(
    grammar: Grammar, corpus: Corpus, lam: Floats | None = None
) -> tuple[list[Indices], Floats]:
    """Return the heads of the heaviest tree of each sentence, and its log weight."""
    tables = log_tables(grammar)
    heads: list[Indices] = [np.empty(0, dtype=np.int64)] * corpus.n_sentences
    scores = np.empty(corpus.n_sentences)
    for batch, penalty in zip(corpus.batches, _penalties(corpus, lam)):
        found, mine = np.empty(batch.tags.shape, dtype=np.int64), np.empty(len(batch.rows))
        parse_sentences(batch.tags, *tables, penalty, mine, found)
        scores[batch.rows] = mine
        for q, each in zip(batch.rows, found):
            heads[q] = each
    return heads, scores


def normalized(counts: Floats) -> Floats:
    """Return shares along the last axis, equal ones where nothing was counted."""
    totals = counts.sum(axis=-1, keepdims=True)
    even = np.full_like(counts, 1.0 / counts.shape[-1])
    return np.divide(counts, totals, out=even, where=totals > 0.0)


def split_children(counts: Floats, grammar: Grammar | None, backoff: float) -> tuple[Floats, ...]:
    """Return counts of dependents that were drawn by head, and by back-off (Eq. 10)."""
    if backoff == 1.0:
        return counts, np.zeros(counts.shape[1:])
    if grammar is None:
        return backoff * counts, (1.0 - backoff) * counts.sum(axis=0)
    own = backoff * grammar.own
    total = own + (1.0 - backoff) * grammar.shared
    # the chance that a dependent was drawn by its head, not by back-off
    share = np.divide(own, total, out=np.full_like(own, backoff), where=total > 0.0)
    return share * counts, ((1.0 - share) * counts).sum(axis=0)


def estimated(counts: Counts, grammar: Grammar | None, backoff: float) -> Grammar:
    """Return the grammar of largest likelihood for given counts, the M-step of EM."""
    own, shared = split_children(counts.child, grammar, backoff)
    stop = normalized(np.stack([counts.stop, counts.go], axis=-1))
    return Grammar(
        normalized(counts.root),
        stop[..., 0],
        stop[..., 1],
        normalized(own),
        normalized(shared),
        backoff,
    )


def smoothed(grammar: Grammar, amount: float) -> Grammar:
    """Return a grammar with an amount added to every parameter, probabilities again."""
    stop = normalized(np.stack([grammar.stop, grammar.go], axis=-1) + amount)
    return Grammar(
        normalized(grammar.root + amount),
        stop[..., 0],
        stop[..., 1],
        normalized(grammar.own + amount),
        normalized(grammar.shared + amount),
        grammar.backoff,
    )


def _warmup() -> None:
    grammar = estimated(
        Counts(np.zeros(1), np.zeros((1, 2, 2)), np.zeros((1, 2, 2)), np.zeros((1, 2, 1, 1))),
        None,
        1.0,
    )
    corpus = Corpus((Batch(np.arange(1), np.zeros((1, 2), dtype=np.int64)),), 1, 1)
    sum_over_trees(grammar, corpus)
    sum_over_trees(grammar, corpus, np.full(6, np.inf))  # no tree: in logarithms
    best_trees(grammar, corpus)
