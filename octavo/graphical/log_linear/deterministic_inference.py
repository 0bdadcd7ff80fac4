"""Marginals of a row's unobserved variables without chance: exact, mean field, belief propagation.

Evidence comes first: features that it violates are gone, parts that it satisfies too. What is left
is a network over the unobserved variables alone, often far smaller than the whole.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.trees.tables import Factor, TableTree
from octavo.graphical.log_linear.conjunctions import Parts
from octavo.graphical.log_linear.state_codes import Codes

__all__: list[str] = []

SWEEPS, CLOSE = 1000, 1e-10  # of messages: at most so many, until none moves by more


class Reduced(NamedTuple):
    """What evidence leaves: hidden variables, and parts of features over them.

    `feature` numbers the features that are left, `variable` the hidden variables.
    """

    hidden: Ints
    feature: Ints
    variable: Ints
    allowed: NDArray[np.bool_]
    weights: Floats
    cardinalities: Ints


def reduced(row: Codes, parts: Parts, weights: Floats, cardinalities: Ints) -> Reduced:
    """Return the network that is left when the observed cells of a row are known."""
    values = row[parts.variable]
    open_part = values < 0
    held = open_part | parts.allowed[np.arange(values.size), np.maximum(values, 0)]
    feature = np.repeat(np.arange(weights.size), np.diff(parts.indptr))
    alive = np.ones(weights.size, bool)
    alive[feature[~held]] = False
    kept = open_part & alive[feature]
    hidden = np.flatnonzero(row < 0)
    left, number = np.unique(feature[kept], return_inverse=True)
    place = np.searchsorted(hidden, parts.variable[kept])
    return Reduced(hidden, number, place, parts.allowed[kept], weights[left], cardinalities[hidden])


def _factors(net: Reduced) -> list[Factor]:
    """Return one table of log potentials for each set of variables that features share."""
    scopes: dict[tuple[int, ...], Floats] = {}
    cuts = np.flatnonzero(np.diff(net.feature)) + 1
    for at in np.split(np.arange(net.feature.size), cuts) if net.feature.size else []:
        at = at[np.argsort(net.variable[at])]
        scope = tuple(net.variable[at].tolist())
        shape = [int(net.cardinalities[v]) for v in scope]
        table = scopes.setdefault(scope, np.zeros(shape))
        held = [np.flatnonzero(net.allowed[part, : shape[p]]) for p, part in enumerate(at)]
        # log potentials of features on one scope add up
        table[np.ix_(*held)] += net.weights[net.feature[at[0]]]
    return list(scopes.items())


def _scopes(net: Reduced) -> list[list[int]]:
    cuts = np.flatnonzero(np.diff(net.feature)) + 1
    return [np.sort(scope).tolist() for scope in np.split(net.variable, cuts)]


def exact_marginals(net: Reduced) -> tuple[float, list[Floats]]:
    """Return the log partition function and the marginal of each hidden variable.

    Parameters
    ----------
    net : Reduced
        What evidence leaves.

    Returns
    -------
    log_partition : float
        Sum over the hidden variables; satisfied features of observed variables alone are left out.
    marginals : list of ndarray
        Probabilities of each hidden variable.
    """
    tree = TableTree.of(net.cardinalities, _scopes(net))  # too large a cluster is refused here
    log_partition, beliefs = tree.calibrate(_factors(net))
    found = [tree.marginal(beliefs, [k]) for k in range(len(net.hidden))]
    return log_partition, found


def _softmax(scores: Floats, states: NDArray[np.bool_]) -> Floats:
    scores = np.where(states, scores, -np.inf)
    raised = np.exp(scores - scores.max(axis=1, keepdims=True))
    return raised / raised.sum(axis=1, keepdims=True)


def _states(net: Reduced) -> NDArray[np.bool_]:
    return np.arange(net.allowed.shape[1]) < net.cardinalities[:, None]


def _of_others(held: Floats, net: Reduced) -> Floats:
    """Return the probability that the other parts of each part's feature hold."""
    logs = np.log(np.maximum(held, 1e-300))
    # Π over the feature's parts, less its own
    return np.exp(np.bincount(net.feature, logs, minlength=net.weights.size)[net.feature] - logs)


def mean_field_marginals(net: Reduced) -> Floats:
    """Return the independent distributions nearest to a network, by damped fixed-point steps."""
    states = _states(net)
    q = states / states.sum(axis=1, keepdims=True)
    for _ in range(SWEEPS):
        held = (q[net.variable] * net.allowed).sum(axis=1)
        speech = (net.weights[net.feature] * _of_others(held, net))[:, None] * net.allowed
        scores = np.zeros_like(q)
        np.add.at(scores, net.variable, speech)
        # half a step: undamped sweeps can swing between two points
        new = 0.5 * (q + _softmax(scores, states))
        moved = float(np.abs(new - q).max(initial=0.0))
        q = new
        if moved < CLOSE:
            return q
    _warn("Mean field", moved)
    return q


def propagated_marginals(net: Reduced) -> Floats:
    """Return the beliefs of loopy belief propagation, a feature being a factor.

    A message of a feature of weight w to one of its variables is 1 + (e^w - 1) a(v) r, where a(v)
    says whether the value is allowed and r is the probability that all other parts hold.
    """
    states = _states(net)
    own = states[net.variable]
    from_variable = own / own.sum(axis=1, keepdims=True)
    weight = net.weights[net.feature][:, None]
    low, high = np.exp(np.minimum(-weight, 0.0)), np.exp(np.minimum(weight, 0.0))
    message = np.zeros(own.shape)
    for _ in range(SWEEPS):
        held = (from_variable * net.allowed).sum(axis=1)
        share = net.allowed * _of_others(held, net)[:, None]
        new = np.log(np.maximum(low * (1 - share) + high * share, 1e-300))
        moved = float(np.abs(new - message).max(initial=0.0))
        message = 0.5 * (message + new) if moved > CLOSE else new
        scores = np.zeros(states.shape)
        np.add.at(scores, net.variable, message)
        if moved <= CLOSE:
            return _softmax(scores, states)
        from_variable = _softmax(scores[net.variable] - message, own)
    _warn("Belief propagation", moved)
    return _softmax(scores, states)


def _warn(what: str, moved: float) -> None:
    warnings.warn(
        f"{what} still moves by {moved:.2g} after {SWEEPS} steps.", ConvergenceWarning, stacklevel=6
    )


def marginals_of_rows(
    codes: Codes, parts: Parts, weights: Floats, cardinalities: Ints, method: str
) -> Floats:
    """Return marginals of every row by a method without chance, equal rows once.

    Parameters
    ----------
    codes : ndarray of shape (n_samples, n_variables)
        -1 where a cell is not observed.
    parts, weights, cardinalities
        The network.
    method : {"exact", "mean_field", "bp"}
        How.

    Returns
    -------
    marginals : ndarray of shape (n_samples, n_variables, most states)
        Certain where a cell is observed.
    """
    distinct, back = np.unique(codes, axis=0, return_inverse=True)
    found = np.zeros((*distinct.shape, parts.allowed.shape[1]))
    for i, (row, net) in enumerate(_nets(distinct, parts, weights, cardinalities)):
        seen = np.flatnonzero(row >= 0)
        found[i, seen, row[seen]] = 1.0
        if not net.hidden.size:
            continue
        if method == "exact":
            for k, table in zip(net.hidden, exact_marginals(net)[1]):
                found[i, k, : table.size] = table
        else:
            solve = mean_field_marginals if method == "mean_field" else propagated_marginals
            found[i, net.hidden] = solve(net)
    return found[back.reshape(-1)]


def _nets(
    rows: Codes, parts: Parts, weights: Floats, cardinalities: Ints
) -> Iterator[tuple[Codes, Reduced]]:
    for row in rows:
        yield row, reduced(row, parts, weights, cardinalities)
