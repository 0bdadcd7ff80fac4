"""Markov blankets by l1-penalised logistic regressions (Ravikumar, Wainwright and Lafferty)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.utils import check_random_state

from octavo.engine.estimators.arrays import Ints
from octavo.graphical.log_linear.conjunctions import Feature, canonical_set
from octavo.graphical.log_linear.pseudo_likelihood import WeightedRows, flat_plan
from octavo.graphical.log_linear_learners.learning import Tuning, choose_weight_sd

__all__: list[str] = []

CS = (0.001, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0)  # Section 7.1


class BlanketChoice(NamedTuple):
    """What tuning chose, with the held-out scores that it saw."""

    C: float
    rule: str
    weight_sd: float
    score: float
    scores: dict[Any, float]


def blanket(rows: WeightedRows, target: int, C: float, seed: int) -> NDArray[np.bool_]:
    """Return the variables with a coefficient in the l1 logistic regression of one on the others.

    Other variables stand for indicators of all their states but the first; a target of more than
    two states is regressed a state against the rest, and a variable counts if any of them uses it.

    Parameters
    ----------
    rows : WeightedRows
        The table.
    target : int
        The variable.
    C : float
        Weight of the loss.
    seed : int
        Of LIBLINEAR's order of coordinates.

    Returns
    -------
    blanket : ndarray of bool of shape (n_variables,)
        False at the target.
    """
    cards = rows.cardinalities
    others = np.flatnonzero(np.arange(len(cards)) != target)
    column = np.repeat(others, cards[others] - 1)
    state = np.concatenate([np.arange(1, cards[k]) for k in others])
    design = sp.csr_matrix((rows.codes[:, column] == state).astype(np.float64))
    found = np.zeros(len(cards), bool)
    for v in range(1 if cards[target] == 2 else 0, int(cards[target])):
        y = rows.codes[:, target] == v
        if y.all() or not y.any():
            continue
        model = LogisticRegression(
            l1_ratio=1.0, C=C, solver="liblinear", random_state=seed, max_iter=1000
        ).fit(design, y, sample_weight=rows.weights.astype(float))
        found[column[model.coef_[0] != 0]] = True
    return found


def blankets(rows: WeightedRows, C: float, seed: int, n_jobs: int | None) -> NDArray[np.bool_]:
    """Return the blankets of all variables, a row each."""
    targets = range(len(rows.cardinalities))
    found = Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(blanket)(rows, k, C, seed) for k in targets
    )
    return np.array(found)


def joined_blankets(found: NDArray[np.bool_], rule: str) -> NDArray[np.bool_]:
    """Return the edges: where either blanket names the other ("or"), or both do ("and")."""
    # Section 3's two ways to make blankets symmetric
    return found | found.T if rule == "or" else found & found.T


def pairwise_features(adjacency: NDArray[np.bool_], cardinalities: Ints) -> list[Feature]:
    """Return single states and pairs of states of joined variables, but for each first state.

    With the prior left aside this is any table on an edge: the others are reparametrisations.
    """
    states = [range(1, int(c)) for c in cardinalities]
    made: list[Any] = [((k, "==", v),) for k, values in enumerate(states) for v in values]
    for one, other in zip(*np.nonzero(np.triu(adjacency, 1))):
        for v, w in product(states[one], states[other]):
            # x_i = v and x_j = w; the first states are what the constants leave over
            made.append(((int(one), "==", v), (int(other), "==", w)))
    return canonical_set(made, cardinalities)


def choose_blankets(
    tuning: Tuning, Cs: Sequence[float], rules: Sequence[str], weight_sd: Any, seed: int
) -> BlanketChoice:
    """Choose C, the rule and the prior by the pseudo-likelihood of held-out rows."""
    cards = tuning.train.cardinalities
    scores: dict[Any, float] = {}
    best: BlanketChoice | None = None
    seen: dict[bytes, tuple[float, float, dict[float, float]]] = {}
    for C in Cs:
        found = blankets(tuning.train, C, seed, tuning.n_jobs)
        tuning.step()
        for rule in rules:
            adjacency = joined_blankets(found, rule)
            key = adjacency.tobytes()
            if key not in seen:
                plan = flat_plan(pairwise_features(adjacency, cards), cards)
                seen[key] = choose_weight_sd(tuning, plan, weight_sd)
            sd, score, tried = seen[key]
            scores |= {(C, rule, s): value for s, value in tried.items()}
            if best is None or score > best.score:
                best = BlanketChoice(C, rule, sd, score, scores)
    assert best is not None
    return best


def blanket_features(
    rows: WeightedRows, C: float, rule: str, seed: int, n_jobs: int | None
) -> list[Feature]:
    """Return the features of the network that C and the rule give on a table."""
    adjacency = joined_blankets(blankets(rows, C, seed, n_jobs), rule)
    return pairwise_features(adjacency, rows.cardinalities)


def seed_of(random_state: Any) -> int:
    """Return a seed that LIBLINEAR can use again and again."""
    return int(check_random_state(random_state).randint(2**31 - 1))
