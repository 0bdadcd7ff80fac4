"""Gibbs sampling that draws groups of variables together.

Columns that code one category (A, C, G of a place in a gene) allow one of them at a time: a chain
that changes one column can hardly leave a state. A block is drawn from all its joint states.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.discrete.draws import draw_unit, word_seeds
from octavo.engine.estimators.arrays import Floats, Ints
from octavo.graphical.log_linear.conjunctions import Parts, as_parts
from octavo.graphical.log_linear.gibbs import find_open_parts, start_chain
from octavo.graphical.log_linear.state_codes import Codes

__all__: list[str] = []

MOST_STATES = 4096  # of a block


def read_blocks(blocks: Any, cardinalities: Ints) -> list[list[int]]:
    """Return checked blocks, and each variable that is in none as one of its own."""
    d = len(cardinalities)
    if isinstance(blocks, (str, bytes)) or not isinstance(blocks, Sequence):
        raise ValueError(f"blocks must list groups of columns, got {blocks!r}.")
    listed: list[list[int]] = []
    for block in blocks:
        columns = np.atleast_1d(np.asarray(block))
        if columns.ndim != 1 or columns.dtype.kind not in "iu" or not columns.size:
            raise ValueError(f"A block must list columns by their numbers, got {block!r}.")
        if columns.min() < 0 or columns.max() >= d:
            raise ValueError(f"Blocks must name columns from 0 to {d - 1}, got {block!r}.")
        states = np.prod(cardinalities[columns].astype(float))
        if states > MOST_STATES:
            raise ValueError(
                f"The block {columns.tolist()} has {states:.3g} joint states, more than "
                f"{MOST_STATES}."
            )
        listed.append(columns.tolist())
    used = [k for block in listed for k in block]
    if len(set(used)) != len(used):
        twice = next(k for k in used if used.count(k) > 1)
        raise ValueError(f"Column {twice} is in two blocks.")
    return listed + [[k] for k in range(d) if k not in set(used)]


@njit(cache=True, nogil=True)
def _set_state(k, new, x, allowed, of_part, begin, active, violated, weights):
    """Give variable k a state; return the rise of the sum of weights of features that hold."""
    rise = 0.0
    for at in range(begin[k], begin[k + 1]):
        part = active[at]
        was, now = allowed[part, x[k]], allowed[part, new]
        f = of_part[part]
        if was and not now:
            if violated[f] == 0:
                rise -= weights[f]
            violated[f] += 1
        elif now and not was:
            violated[f] -= 1
            if violated[f] == 0:
                rise += weights[f]
    x[k] = new
    return rise


@njit(cache=True, nogil=True)
def _sweep_blocks(
    codes, indptr, variable, allowed, weights, of_part, starts, parts, cards, first, members,
    n_chains, burn_in, n_iter, seeds, marginals, last,
):  # fmt: skip
    """Add conditional probabilities of every kept sweep; leave the last state in `last`."""
    n_variables = cards.size
    violated = np.zeros(weights.size, np.int64)
    alive = np.zeros(weights.size, np.bool_)
    begin = np.zeros(n_variables + 1, np.int64)
    active = np.zeros(parts.size, np.int64)
    x = np.zeros(n_variables, np.int64)
    hidden = np.zeros(n_variables, np.int64)
    scores = np.zeros(MOST_STATES)
    for i in range(codes.shape[0]):
        state = seeds[i : i + 1]
        find_open_parts(
            codes[i], indptr, variable, allowed, of_part, parts, starts, alive, begin, active
        )
        for _chain in range(n_chains):
            start_chain(codes[i], cards, allowed, of_part, active, begin, state, x, violated)
            for sweep in range(n_iter):
                for block in range(first.size - 1):
                    size, n_states = 0, 1
                    for at in range(first[block], first[block + 1]):
                        k = members[at]
                        if codes[i, k] < 0:
                            hidden[size] = k
                            size += 1
                            n_states *= cards[k]
                    if size == 0:
                        continue
                    total, top = 0.0, -np.inf
                    for s in range(n_states):  # the last variable of the block turns fastest
                        rest = s
                        for at in range(size - 1, -1, -1):
                            k = hidden[at]
                            value = rest % cards[k]
                            rest //= cards[k]
                            if value != x[k]:
                                total += _set_state(
                                    k, value, x, allowed, of_part, begin, active, violated, weights
                                )
                        scores[s] = total
                        top = max(top, total)
                    mass = 0.0
                    for s in range(n_states):
                        scores[s] = np.exp(scores[s] - top)
                        mass += scores[s]
                    if sweep >= burn_in:
                        for s in range(n_states):
                            rest = s
                            for at in range(size - 1, -1, -1):
                                k = hidden[at]
                                marginals[i, k, rest % cards[k]] += scores[s] / mass
                                rest //= cards[k]
                    left = draw_unit(state) * mass  # one draw from all joint states of the block
                    chosen = 0
                    while chosen < n_states - 1 and left >= scores[chosen]:
                        left -= scores[chosen]
                        chosen += 1
                    for at in range(size - 1, -1, -1):
                        k = hidden[at]
                        value = chosen % cards[k]
                        chosen //= cards[k]  # digits of the state's number, the fastest first
                        if value != x[k]:
                            _set_state(
                                k, value, x, allowed, of_part, begin, active, violated, weights
                            )
        for k in range(n_variables):
            last[i, k] = x[k]


def block_marginals(
    codes: Codes,
    parts: Parts,
    weights: Floats,
    cardinalities: Ints,
    blocks: Any,
    *,
    n_chains: int = 10,
    burn_in: int = 100,
    n_iter: int = 1100,
    random_state: Any = None,
) -> tuple[Floats, NDArray[np.int32]]:
    """Sample what is not observed, blocks of variables at a time.

    Parameters
    ----------
    codes : ndarray of shape (n_samples, n_variables)
        -1 where a cell is not observed.
    parts : Parts
        Features.
    weights : ndarray
        Of the features.
    cardinalities : ndarray of int
        States of each variable.
    blocks : sequence of sequences of int
        Columns that are drawn together; the others are drawn one at a time.
    n_chains, burn_in, n_iter : int
        Chains a row, sweeps that are left out, and sweeps in all.
    random_state : int, RandomState or None
        Source of randomness.

    Returns
    -------
    marginals, last
        As `gibbs_marginals` returns them.
    """
    listed = read_blocks(blocks, cardinalities)
    first = np.concatenate([[0], np.cumsum([len(block) for block in listed])]).astype(np.int64)
    members = np.concatenate([np.array(block, dtype=np.int64) for block in listed])
    of_part = np.repeat(np.arange(weights.size), np.diff(parts.indptr))
    order = np.argsort(parts.variable, kind="stable")
    starts = np.searchsorted(parts.variable[order], np.arange(len(cardinalities) + 1))
    found = np.zeros((*codes.shape, parts.allowed.shape[1]))
    last = np.empty(codes.shape, np.int32)
    _sweep_blocks(
        codes, *parts, weights, of_part, starts.astype(np.int64), order, cardinalities, first,
        members, n_chains, burn_in, n_iter, word_seeds(random_state, len(codes)), found, last,
    )  # fmt: skip
    hidden = codes < 0
    found[hidden] /= n_chains * max(n_iter - burn_in, 1)
    row, k = np.nonzero(~hidden)
    found[row, k, codes[row, k]] = 1.0
    return found, last


def _warmup() -> None:
    """Compile the kernel."""
    cards = np.array([2, 2])
    parts = as_parts([((0, "==", 1),)], cards)
    block_marginals(np.full((1, 2), -1, np.int32), parts, np.ones(1), cards, [[0, 1]], n_chains=1,
                    n_iter=2, burn_in=1)  # fmt: skip
