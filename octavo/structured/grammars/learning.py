"""Learning a grammar from sentences without trees: EM, variational Bayes, sparse posteriors.

Reference: Gillenwater et al. (2011), Sections 3 to 5 and Table 1 (whose "log p" within the digamma
function stands for counts).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import digamma, gammaln, xlogy

from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.projections.group_balls import Groups, group_entries, largest_of_groups
from octavo.engine.smooth.em import Climb, Steps, climb
from octavo.structured.grammars.corpus import Corpus
from octavo.structured.grammars.grammar import (
    Counts,
    Grammar,
    estimated,
    split_children,
    sum_over_trees,
)
from octavo.structured.grammars.regularizer import PosteriorProjection, project_posterior

GAP = 1e-3  # of the penalty's value, where the inner steps of an iteration end
ROUNDING = 1e-12  # of a bound, by which no posterior is judged better than another
LEAST_DIGAMMA = -690.0  # exp of less underflows


class Learned(NamedTuple):
    """A grammar, its climb, the duality gap of its posterior, and that posterior's penalties."""

    grammar: Grammar
    climb: Climb
    gap: float
    lam: Floats | None


def check_possible(logs: Floats) -> None:
    """Refuse sentences of log-probability -inf, which the grammar cannot make."""
    impossible = np.flatnonzero(logs == -np.inf)
    if impossible.size:
        raise ValueError(
            f"Sequence {impossible[0]} has probability zero under the grammar"
            + (f", as have {impossible.size - 1} others" if impossible.size > 1 else "")
            + ". Start elsewhere, or raise smoothing."
        )


# --- EM -----------------------------------------------------------------------------------------


def learn_em(
    corpus: Corpus, start: Grammar, n_iter: int, progress: Steps | None, n_jobs: int | None
) -> Learned:
    """Return the grammar after some steps of EM, Eq. (2)."""

    def expect(grammar: Grammar) -> tuple[float, Counts]:
        trees = sum_over_trees(grammar, corpus, n_jobs=n_jobs)
        check_possible(trees.log_partition)
        return float(trees.log_partition.sum()), trees.counts  # Eq. (4) without a prior

    def maximize(grammar: Grammar, counts: Counts) -> Grammar:
        return estimated(counts, grammar, grammar.backoff)

    # the E- and M-step of Eq. (2)
    run = climb(expect, maximize, start, max_iter=n_iter, tol=-1.0, progress=progress)
    return Learned(run.params, run, 0.0, None)


# --- a Dirichlet prior --------------------------------------------------------------------------


def _dirichlet_mean(counts: Floats, alpha: float) -> tuple[Floats, float]:
    """Return exp E[log θ] of Dirichlet posteriors, and their divergence from the prior."""
    after = counts + alpha
    total, K = after.sum(axis=-1, keepdims=True), counts.shape[-1]
    # exp(ψ(count + α) - ψ(total)) of Table 1: weights that need not sum to one
    logs = np.maximum(digamma(after) - digamma(total), LEAST_DIGAMMA)
    apart = gammaln(total[..., 0]) - gammaln(K * alpha)  # KL(Dir(count + α) ‖ Dir(α))
    apart = apart - (gammaln(after) - gammaln(alpha)).sum(axis=-1) + (counts * logs).sum(axis=-1)
    return np.exp(logs), float(apart.sum())


def variational(
    counts: Counts, grammar: Grammar | None, backoff: float, alpha: float
) -> tuple[Grammar, float]:
    """Return the weights exp(ψ(count + α) - ψ(total)) and the posterior's divergence."""
    own, shared = split_children(counts.child, grammar, backoff)
    root, a = _dirichlet_mean(counts.root, alpha)
    stop, b = _dirichlet_mean(np.stack([counts.stop, counts.go], axis=-1), alpha)
    own, c = _dirichlet_mean(own, alpha)
    shared, d = _dirichlet_mean(shared, alpha)
    if backoff == 1.0:
        d = 0.0
    return Grammar(root, stop[..., 0], stop[..., 1], own, shared, backoff), a + b + c + d


def learn_sdp(
    corpus: Corpus,
    start: Counts,
    backoff: float,
    alpha: float,
    n_iter: int,
    progress: Steps | None,
    n_jobs: int | None,
) -> Learned:
    """Return the weights after some steps of variational Bayes with a Dirichlet prior."""

    def expect(state: tuple[Grammar, float]) -> tuple[float, Counts]:
        trees = sum_over_trees(state[0], corpus, n_jobs=n_jobs)
        check_possible(trees.log_partition)
        # log Σ_y of the weights, less the parameters' divergence
        return float(trees.log_partition.sum()) - state[1], trees.counts

    def maximize(state: tuple[Grammar, float], counts: Counts) -> tuple[Grammar, float]:
        return variational(counts, state[0], backoff, alpha)

    first = variational(start, None, backoff, alpha)
    run = climb(expect, maximize, first, max_iter=n_iter, tol=-1.0, progress=progress)
    return Learned(run.params[0], run, 0.0, None)


# --- sparse posteriors --------------------------------------------------------------------------


class EdgeFeatures(NamedTuple):
    """Which feature each edge of a corpus belongs to (None: its own), and features by kind."""

    owner: Indices | None
    groups: Groups
    size: int


def edge_features(corpus: Corpus, symmetric: bool) -> EdgeFeatures:
    """Return the features of PR-S (child token and parent token) or PR-AS (and parent tag).

    Parameters
    ----------
    corpus : Corpus
        The sentences.
    symmetric : bool
        Whether parents are tokens; otherwise all edges into a token from one tag are one feature.

    Returns
    -------
    EdgeFeatures
        The kind of a feature is its pair of tags, the root a tag of its own (number 0).
    """
    T = corpus.n_tags
    kinds, tokens, first = [], [], 0
    for batch in corpus.batches:
        B, n = batch.tags.shape
        parents = np.concatenate([np.zeros((B, 1), dtype=np.int64), batch.tags + 1], axis=1)
        # φ_cpi of Section 4.1, the root being a parent too
        kind = batch.tags[:, None, :] * (T + 1) + parents[:, :, None]
        kind[:, np.arange(1, n + 1), np.arange(n)] = -1  # no token is its own head
        kinds.append(kind.ravel())
        token = first + np.arange(B * n).reshape(B, 1, n)
        tokens.append(np.broadcast_to(token, kind.shape).ravel())
        first += B * n
    kind = np.concatenate(kinds)
    if symmetric:
        # PR-S: every edge to a parent token is its own feature
        return EdgeFeatures(None, group_entries(kind), kind.size)
    # a token has one tag, so that token and kind name token and parent tag
    # PR-AS: edges of a token to parents of one tag share their feature
    which = np.concatenate(tokens) * (T * (T + 1) + 1) + (kind + 1)
    _, places, index = np.unique(which, return_index=True, return_inverse=True)
    return EdgeFeatures(index.ravel(), group_entries(kind[places]), places.size)


class SparsePosterior(NamedTuple):
    """A regularised posterior of all sentences with what the M-step and its bound need."""

    counts: Counts
    entropy: float
    penalty: float


def project_trees(
    grammar: Grammar,
    corpus: Corpus,
    features: EdgeFeatures,
    sigma: float,
    start: Floats,
    *,
    tol: float,
    max_iter: int,
    n_jobs: int | None,
) -> tuple[PosteriorProjection, float]:
    """Return the posterior of Eq. (7), and the log-likelihood of the sentences.

    Parameters
    ----------
    grammar, corpus : Grammar, Corpus
        Model and sentences.
    features : EdgeFeatures
        What is penalised.
    sigma : float
        Strength.
    start : ndarray of shape (n_features,)
        Dual numbers to start from.
    tol, max_iter : float, int
        As in `project_posterior`.
    n_jobs : int or None
        Threads.

    Returns
    -------
    projection : PosteriorProjection
        ``rest`` holds the counts.
    log_likelihood : float
        Of all sentences.
    """
    free = sum_over_trees(grammar, corpus, n_jobs=n_jobs)
    check_possible(free.log_partition)
    loglik = float(free.log_partition.sum())
    owner = features.owner

    def log_partition(lam: Floats) -> tuple[float, Floats, Counts]:
        if lam.any():
            each = lam if owner is None else lam[owner]
            trees = sum_over_trees(grammar, corpus, each, n_jobs)
        else:
            trees = free
        edges = trees.edges
        if owner is not None:
            edges = np.bincount(owner, edges, features.size).astype(np.float64)
        return float(trees.log_partition.sum()) - loglik, edges, trees.counts

    found = project_posterior(
        log_partition, features.groups, sigma, start, tol=tol, max_iter=max_iter
    )
    return found, loglik


def expected_log_probability(counts: Counts, grammar: Grammar) -> float:
    """Return E_q[log p(X, Y)] of a grammar from the counts of q."""
    pairs = zip(counts, (grammar.root, grammar.stop, grammar.go, grammar.child))
    return float(sum(xlogy(number, chance).sum() for number, chance in pairs))


def learn_pr(
    corpus: Corpus,
    start: Grammar,
    symmetric: bool,
    sigma: float,
    n_iter: int,
    inner_iter: int,
    progress: Steps | None,
    n_jobs: int | None,
) -> Learned:
    """Return the grammar after some steps of EM with regularised posteriors (Section 4.4).

    A posterior that the inner steps have not brought above the last one is not used: the last one
    stays, and the dual numbers go on from where they are. The bound F'(q, θ) therefore never falls.
    """
    features = edge_features(corpus, symmetric)
    expect = _sparse_step(corpus, features, sigma, inner_iter, n_jobs)

    def maximize(grammar: Grammar, found: tuple[SparsePosterior, float, Floats]) -> Grammar:
        return estimated(found[0].counts, grammar, grammar.backoff)

    run = climb(expect, maximize, start, max_iter=n_iter, tol=-1.0, progress=progress)
    _, gap, lam = run.expectations
    each = lam if features.owner is None else lam[features.owner]
    return Learned(run.params, run, gap, each)


def _sparse_step(
    corpus: Corpus, features: EdgeFeatures, sigma: float, inner_iter: int, n_jobs: int | None
) -> Callable[[Grammar], tuple[float, Any]]:
    last: list[SparsePosterior] = []
    warm = [np.zeros(features.size)]

    def expect(grammar: Grammar) -> tuple[float, Any]:
        found, loglik = project_trees(
            grammar,
            corpus,
            features,
            sigma,
            warm[0],
            tol=GAP,
            max_iter=inner_iter,
            n_jobs=n_jobs,
        )
        warm[0] = found.last
        bound, gap, counts = loglik - found.value, found.gap, found.rest[0]  # J(θ) of Eq. (6)
        if last:
            old = last[0]
            # F of Eq. (8) at the last q: an unfinished E-step must not lose what that one had
            kept = expected_log_probability(old.counts, grammar) + old.entropy - old.penalty
            if kept > bound + ROUNDING * abs(bound):
                return kept, (old, max(bound + gap - kept, 0.0), found.lam)
        # σ Σ_cp ξ_cp of Eq. (7)
        penalty = sigma * float(largest_of_groups(found.expectations, features.groups).sum())
        # KL(q ‖ p) = -H(q) - E_q[log p(X, Y)] + log p(X)
        entropy = loglik - (found.value - penalty) - expected_log_probability(counts, grammar)
        last[:] = [SparsePosterior(counts, entropy, penalty)]
        return bound, (last[0], gap, found.lam)

    return expect
