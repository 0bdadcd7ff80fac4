"""Gibbs sampling of the variables of a row that are not observed.

What evidence decides is decided once a row: features that it violates are gone, the others are
watched by the number of their parts that the chain violates at the moment.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.discrete.draws import draw_unit, word_seeds
from octavo.engine.estimators.arrays import Floats, Ints
from octavo.graphical.log_linear.conjunctions import Parts, as_parts
from octavo.graphical.log_linear.state_codes import Codes

__all__: list[str] = []


@njit(cache=True)
def find_open_parts(code, indptr, variable, allowed, of_part, parts, starts, alive, begin, active):
    """List, for each hidden variable, the literals of features that the evidence leaves open."""
    for f in range(alive.size):
        alive[f] = True
        for part in range(indptr[f], indptr[f + 1]):
            value = code[variable[part]]
            if value >= 0 and not allowed[part, value]:
                alive[f] = False
    count = 0
    for k in range(code.size):
        begin[k] = count
        if code[k] < 0:
            for at in range(starts[k], starts[k + 1]):
                if alive[of_part[parts[at]]]:
                    active[count] = parts[at]
                    count += 1
    begin[code.size] = count


@njit(cache=True)
def start_chain(code, cards, allowed, of_part, active, begin, state, x, violated):
    """Draw the hidden variables evenly, and count the literals that fail in each feature."""
    for f in range(violated.size):
        violated[f] = 0
    for k in range(code.size):
        x[k] = code[k] if code[k] >= 0 else int(draw_unit(state) * cards[k])
        for at in range(begin[k], begin[k + 1]):
            if not allowed[active[at], x[k]]:
                violated[of_part[active[at]]] += 1


@njit(cache=True, nogil=True)
def _sweep_rows(
    codes, indptr, variable, allowed, weights, speaks, of_part, starts, parts, cards,
    n_chains, burn_in, n_iter, seeds, marginals, last,
):  # fmt: skip
    """Add conditional probabilities of every kept sweep; leave the last state in `last`."""
    n_variables = cards.size
    violated = np.zeros(weights.size, np.int64)
    alive = np.zeros(weights.size, np.bool_)
    begin = np.zeros(n_variables + 1, np.int64)
    active = np.zeros(parts.size, np.int64)
    x = np.zeros(n_variables, np.int64)
    scores = np.zeros(allowed.shape[1])
    for i in range(codes.shape[0]):
        state = seeds[i : i + 1]
        find_open_parts(
            codes[i], indptr, variable, allowed, of_part, parts, starts, alive, begin, active
        )
        for _chain in range(n_chains):
            start_chain(codes[i], cards, allowed, of_part, active, begin, state, x, violated)
            for sweep in range(n_iter):
                for k in range(n_variables):
                    if codes[i, k] >= 0:
                        continue
                    for v in range(cards[k]):
                        scores[v] = 0.0
                    for at in range(begin[k], begin[k + 1]):
                        part = active[at]
                        f = of_part[part]
                        held = allowed[part, x[k]]
                        # the feature's other parts hold: x_k decides
                        if speaks[part] and violated[f] == (0 if held else 1):
                            for v in range(cards[k]):
                                if allowed[part, v]:
                                    scores[v] += weights[f]
                    top = scores[0]
                    for v in range(cards[k]):
                        top = max(top, scores[v])
                    mass = 0.0
                    for v in range(cards[k]):
                        scores[v] = np.exp(scores[v] - top)
                        mass += scores[v]
                    if sweep >= burn_in:
                        for v in range(cards[k]):
                            # the conditional in place of the draw (Rao-Blackwell)
                            marginals[i, k, v] += scores[v] / mass
                    rest = draw_unit(state) * mass
                    new = 0
                    while new < cards[k] - 1 and rest >= scores[new]:
                        rest -= scores[new]
                        new += 1
                    if new != x[k]:
                        for at in range(begin[k], begin[k + 1]):
                            part = active[at]
                            was, now = allowed[part, x[k]], allowed[part, new]
                            if was and not now:
                                violated[of_part[part]] += 1
                            elif now and not was:
                                violated[of_part[part]] -= 1
                        x[k] = new
        for k in range(n_variables):
            last[i, k] = x[k]


def gibbs_marginals(
    codes: Codes,
    parts: Parts,
    weights: Floats,
    cardinalities: Ints,
    *,
    targets: Ints | None = None,
    n_chains: int = 10,
    burn_in: int = 100,
    n_iter: int = 1100,
    random_state: Any = None,
) -> tuple[Floats, NDArray[np.int32]]:
    """Sample what is not observed.

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
    targets : ndarray of int or None
        The one variable whose conditional a feature belongs to (dependency networks); None: all.
    n_chains, burn_in, n_iter : int
        Chains a row, sweeps that are left out, and sweeps in all.
    random_state : int, RandomState or None
        Source of randomness.

    Returns
    -------
    marginals : ndarray of shape (n_samples, n_variables, most states)
        Means of conditional probabilities; certain where a cell is observed.
    last : ndarray of shape (n_samples, n_variables)
        The last state of the last chain.
    """
    of_part = np.repeat(np.arange(weights.size), np.diff(parts.indptr))
    speaks = np.ones(of_part.size, bool) if targets is None else targets[of_part] == parts.variable
    order = np.argsort(parts.variable, kind="stable")
    starts = np.searchsorted(parts.variable[order], np.arange(len(cardinalities) + 1))
    found = np.zeros((*codes.shape, parts.allowed.shape[1]))
    last = np.empty(codes.shape, np.int32)
    _sweep_rows(
        codes, *parts, weights, speaks, of_part, starts.astype(np.int64), order, cardinalities,
        n_chains, burn_in, n_iter, word_seeds(random_state, len(codes)), found, last,
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
    gibbs_marginals(np.full((1, 2), -1, np.int32), parts, np.ones(1), cards, n_chains=1, n_iter=2,
                    burn_in=1)  # fmt: skip
