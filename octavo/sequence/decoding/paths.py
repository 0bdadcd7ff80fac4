"""The decoders as functions of a model's logarithms.

All but a few are one recursion: scores of positions, made from posterior and prior marginals and
from emissions, and a multiple of the transition scores, are maximised over paths.

Reference: J. Lember and A. A. Koloydenko (2014), "Bridging Viterbi and Posterior Decoding: A
Generalized Risk Approach to Hidden Path Inference Based on Hidden Markov Models", Journal of
Machine Learning Research 15. Implemented: Sections 2 to 4 and 8 (Eq. 7-28, 33-38, 55-56); block
counts are in `blocks`, transforms in `transforms`. Corrected: the first state is
constrained in Eq. (8) and (15) too, and label classes add their marginals where the paper
averages them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from octavo.engine.chains.inference import Edges, best_paths, blended_paths, chain_marginals
from octavo.engine.compilation.kernel_cache import njit
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.sequence.decoding.blocks import block_path, pairwise_path
from octavo.sequence.decoding.posterior_risks import (
    PathEvidence,
    checked_labels,
    gain_matrix,
    log_prior_marginals,
    loss_matrix,
    risks_of_each,
)
from octavo.sequence.decoding.transforms import variables_of
from octavo.sequence.hmm.scores import HMMScores, checked_hmm, require_possible

__all__ = ["decode", "decode_path_family"]


METHODS = (
    "viterbi",
    "pmap",
    "constrained-pmap",
    "prior-pmap",
    "pvd",
    "hybrid-pvd",
    "hybrid-pmap",
    "k-block",
    "rabiner",
    "beta",
    "power",
    "brushe",
    "brushe-normalized",
)
FAMILIES = ("hybrid-pvd", "hybrid-pmap", "k-block", "beta")  # methods with weights C


class Weights(NamedTuple):
    """A member of the family of Eq. (56): weights C1..C4, and the powers β1 and β3."""

    C: tuple[float, float, float, float]
    beta: tuple[float, float]


class PointLoss(NamedTuple):
    """What a wrong state costs: a loss matrix, weights of states, or classes of labels."""

    loss: ArrayLike | None = None
    class_weight: Any = None
    labels: ArrayLike | None = None
    label_agg: str = "sum"


# --- which decoder ------------------------------------------------------------------------------


def _checked_weights(
    method: str,
    alpha: float | None,
    k: float | None,
    C: ArrayLike | None,
    beta: ArrayLike,
) -> Weights:
    """Return the weights that a method and its parameters mean."""
    powers = {"hybrid-pvd": (0.0, 0.0), "hybrid-pmap": (1.0, 1.0), "k-block": (0.0, 0.0)}
    if method in powers:
        chosen = powers[method]
    else:
        pair = np.asarray(beta, dtype=np.float64)
        if pair.shape != (2,) or not np.isfinite(pair).all():
            raise ValueError(f"beta must be two finite numbers (beta1, beta3), got {beta!r}.")
        chosen = (float(pair[0]), float(pair[1]))
    if method == "k-block" and k is not None:
        if not k >= 1:
            raise ValueError(f"k must be at least 1, got {k}.")
        # Eq. (34), in the scale of Eq. (38) so that k = inf is Viterbi.
        alpha = 1.0 if np.isinf(k) else 1.0 - 1.0 / k
    if alpha is None and method == "k-block":
        raise ValueError("method 'k-block' needs k or alpha.")
    if alpha is not None:
        if not 0 <= alpha <= 1:
            raise ValueError(f"alpha must lie in [0, 1], got {alpha}.")
        return Weights((1.0 - alpha, float(alpha), 0.0, 0.0), chosen)  # Eq. (38)
    return Weights(_checked_C((1, 0, 0, 0) if C is None else C), chosen)


def _checked_C(C: ArrayLike) -> tuple[float, float, float, float]:
    weights = np.asarray(C, dtype=np.float64)
    if weights.shape != (4,) or not np.isfinite(weights).all() or weights.min() < 0:
        raise ValueError(f"C must be four finite numbers of at least 0, got {C!r}.")
    if not weights.any():
        raise ValueError("C must not be all zero.")
    return (float(weights[0]), float(weights[1]), float(weights[2]), float(weights[3]))


# --- scores of positions ------------------------------------------------------------------------


def _log_gains(log_marginals: Floats, gains: Floats | None) -> Floats:
    """Return the logs of the gains of every state, in the place of the log marginals."""
    if gains is None:
        return log_marginals
    top = log_marginals.max(axis=1, keepdims=True)
    log_marginals -= top
    np.exp(log_marginals, out=log_marginals)
    with np.errstate(divide="ignore"):
        # 1 - ρ_t of Section 8, up to a factor that no comparison sees
        gained = np.log(log_marginals @ gains.T)
    gained += top
    return gained


def _powered(log_gains: Floats, beta: float) -> Floats:
    """Return (g^β - 1) / β, or log g for β = 0, in place: Eq. (55)."""
    if beta == 0.0:
        return log_gains
    if beta == 1.0:  # without the constant, so that the score is the sum of marginals
        return np.exp(log_gains, out=log_gains)
    log_gains *= beta
    np.expm1(log_gains, out=log_gains)
    log_gains /= beta
    return log_gains


def _posterior_feature(
    scores: HMMScores, gains: Floats | None, beta: float, out: Floats | None = None
) -> Floats:
    """Return the scores of positions by their posterior marginals."""
    found = chain_marginals(
        scores.start, scores.trans, scores.emission, scores.lengths, log=True, out=out
    )
    require_possible(scores, found.log_partition)
    return _powered(_log_gains(found.nodes, gains), beta)


def _prior_feature(scores: HMMScores, gains: Floats | None, beta: float) -> Floats:
    return _powered(_log_gains(log_prior_marginals(scores), gains), beta)


@njit(cache=True, nogil=True)
def _add_scaled(total, weight, values):
    """Add weight times values to total in place."""
    for n in range(total.shape[0]):
        for j in range(total.shape[1]):
            total[n, j] += weight * values[n, j]


@njit(cache=True, nogil=True)
def _row_argmax(values, out):
    """Fill out with the smallest place of the maximum of every row."""
    for n in range(values.shape[0]):
        best, where = values[n, 0], 0
        for j in range(1, values.shape[1]):
            x = values[n, j]
            where = j if x > best else where
            best = x if x > best else best
        out[n] = where


def _best_of_rows(values: Floats) -> NDArray[np.int64]:
    states = np.empty(values.shape[0], dtype=np.int64)
    _row_argmax(values, states)
    return states


# --- paths --------------------------------------------------------------------------------------


def _scaled(trans: Floats | Edges, weight: float) -> Floats | Edges:
    if isinstance(trans, Edges):
        return trans._replace(score=trans.score * weight)
    return trans * weight


def _allowed(scores: Floats) -> Floats:
    """Return 0 where a score is possible and -inf where it is not."""
    return np.where(scores > -np.inf, 0.0, -np.inf)


def _weighted_path(scores: HMMScores, weights: Weights, gains: Floats | None) -> NDArray[np.int64]:
    """Return the minimiser of Eq. (56) with β2 = β4 = 0 by the recursion (23)-(25)."""
    c1, c2, c3, c4 = weights.C
    nodes: Floats | None = None  # γ_t(j), above Eq. (23) and in Eq. (28), term by term
    if c1:
        nodes = _posterior_feature(scores, gains, weights.beta[0])
        if c1 != 1.0:
            nodes *= c1
    if c2:
        if nodes is None:
            nodes = scores.emission if c2 == 1.0 else scores.emission * c2
        else:
            _add_scaled(nodes, c2, scores.emission)
    if c3:
        prior = _prior_feature(scores, gains, weights.beta[1])
        if nodes is None:
            nodes = prior * c3
        else:
            nodes = nodes.copy() if nodes is scores.emission else nodes
            _add_scaled(nodes, c3, prior)
    if nodes is None:
        nodes = np.zeros(scores.emission.shape)
    joint = c2 + c4
    if joint == 0.0:  # no transitions count: each position for itself
        return _best_of_rows(nodes)
    # (C2 + C4) log π_j and (C2 + C4) log p_ij, Eq. (23).
    start, trans = scores.start * joint, _scaled(scores.trans, joint)
    return _possible_path(scores, start, trans, nodes)


def _possible_path(
    scores: HMMScores, start: Floats, trans: Floats | Edges, nodes: Floats
) -> NDArray[np.int64]:
    found = best_paths(start, trans, nodes, scores.lengths)  # Eq. (23)-(25)
    _require_finite(scores, found.score)
    return found.states


def _require_finite(scores: HMMScores, best: Floats) -> None:
    """Raise where no path is possible, or where all that are have an infinite risk."""
    require_possible(scores, best)
    infinite = np.flatnonzero(best == -np.inf)
    if infinite.size:
        raise ValueError(
            f"Every possible path of sequence {infinite[0]} has an infinite risk: the loss leaves "
            "a position where no allowed state gains anything; use 'hybrid-pmap' or a smaller loss."
        )


def _constrained_path(scores: HMMScores, method: str, gains: Floats | None) -> NDArray[np.int64]:
    """Return the best path by marginals among those allowed: Eq. (8), (10) or (15)."""
    # log p_t(j | x) in Eq. (10), p_t(j | x) in Eq. (8) and (15).
    nodes = _posterior_feature(scores, gains, 0.0 if method == "pvd" else 1.0)
    if method != "prior-pmap":  # r_t(i, j) of Eq. (8) asks that f_j(x_t) be positive, too
        np.copyto(nodes, -np.inf, where=scores.emission == -np.inf)
    if isinstance(scores.trans, Edges):  # log r_ij
        trans: Floats | Edges = scores.trans._replace(score=_allowed(scores.trans.score))
    else:
        trans = _allowed(scores.trans)
    return _possible_path(scores, _allowed(scores.start), trans, nodes)


def _path(
    scores: HMMScores,
    method: str,
    point: PointLoss,
    *,
    alpha: float | None,
    k: float | None,
    C: ArrayLike | None,
    beta: ArrayLike,
    mu: float | None,
) -> NDArray[np.int64]:
    """Return the stacked state path of one decoder."""
    K = scores.start.size
    if method == "rabiner":
        if point.loss is not None:
            if np.size(point.loss) != K**4 or K == 1:
                raise ValueError(f"'rabiner' takes a loss on pairs of shape {(K,) * 4}.")
            if k not in (None, 2):
                raise ValueError(f"A loss on pairs means k=2, got k={k}.")
            return pairwise_path(scores, point.loss)
        return block_path(scores, 2 if k is None else k)  # type: ignore[arg-type]
    if method in ("power", "brushe", "brushe-normalized"):
        if mu is None:
            raise ValueError(f"method {method!r} needs mu.")
        forward, backward = variables_of(scores, mu, method)
        product = forward + backward if method == "power" else forward * backward
        # Section 6: the power transform is kept in logarithms, Brushe's is not
        return _best_of_rows(product)  # Eq. (49)
    if method == "viterbi":
        # Viterbi: C2 = 1 in Eq. (18)
        return _weighted_path(scores, Weights((0.0, 1.0, 0.0, 0.0), (0.0, 0.0)), None)
    gains = gain_matrix(K, *point)
    if method == "pmap":  # posterior decoding: C1 = 1 in Eq. (26)
        return _weighted_path(scores, Weights((1.0, 0.0, 0.0, 0.0), (1.0, 1.0)), gains)
    if method in ("constrained-pmap", "prior-pmap", "pvd"):
        return _constrained_path(scores, method, gains)
    return _weighted_path(scores, _checked_weights(method, alpha, k, C, beta), gains)


def _reversed(scores: HMMScores) -> HMMScores:
    """Return the same model with its states numbered from the other end."""
    K = scores.start.size
    trans = scores.trans
    if isinstance(trans, Edges):
        size = np.diff(trans.indptr)
        order = np.concatenate(
            [np.arange(trans.indptr[j], trans.indptr[j + 1]) for j in range(K - 1, -1, -1)]
        )
        indptr = np.concatenate([[0], np.cumsum(size[::-1])])
        trans = Edges(indptr, K - 1 - trans.source[order], trans.score[order])
    else:
        trans = np.ascontiguousarray(trans[..., ::-1, ::-1])
    emission = np.ascontiguousarray(scores.emission[:, ::-1])
    return scores._replace(start=scores.start[::-1].copy(), trans=trans, emission=emission)


def _reversed_loss(point: PointLoss, K: int) -> PointLoss:
    loss = point.loss
    if loss is not None:
        array = np.asarray(loss)
        if array.size == K**4 and K > 1:
            array = array.reshape(K, K, K, K)
        loss = array[(slice(None, None, -1),) * array.ndim] if K in array.shape else array
    weight = point.class_weight
    if isinstance(weight, dict):
        weight = {K - 1 - state: value for state, value in weight.items()}
    elif weight is not None:
        weight = np.asarray(weight)[::-1]
    labels = None if point.labels is None else np.asarray(point.labels)[::-1]
    return PointLoss(loss, weight, labels, point.label_agg)


def state_path(
    scores: HMMScores, method: str, point: PointLoss, tie_break: str = "first", **choice: Any
) -> NDArray[np.int64]:
    """Return the state path of a decoder under a rule for ties."""
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}.")
    if tie_break == "first":
        return _path(scores, method, point, **choice)
    if tie_break != "last":
        raise ValueError(f"tie_break must be 'first' or 'last', got {tie_break!r}.")
    K = scores.start.size
    # the first maximum of reversed states is the last of those given
    return K - 1 - _path(_reversed(scores), method, _reversed_loss(point, K), **choice)


def path_risks_of_each(
    scores: HMMScores,
    states: NDArray[np.int64],
    point: PointLoss,
    k: float = 2,
    truth: NDArray[np.int64] | None = None,
) -> dict[str, Floats]:
    """Return the risks of every sequence's path, computing the posteriors they need."""
    found = chain_marginals(
        scores.start, scores.trans, scores.emission, scores.lengths, pairs=states
    )
    require_possible(scores, found.log_partition)
    assert found.pairs is not None
    prior = np.exp(log_prior_marginals(scores))
    loss: Any = point.loss
    if loss is not None and np.ndim(loss) == 4:  # a loss on pairs has no point loss
        loss = None
    cost = loss_matrix(scores.start.size, loss, point.class_weight, point.labels)
    evidence = PathEvidence(found.log_partition, found.nodes, found.pairs, prior)
    return risks_of_each(scores, evidence, states, k, cost, truth)


@checked
def decode(
    log_start: ArrayLike,
    log_trans: Any,
    log_emission: Any,
    *,
    method: str = "hybrid-pvd",
    alpha: float | None = None,
    k: float | None = None,
    C: ArrayLike = (1, 0, 0, 0),
    beta: ArrayLike = (0, 0),
    mu: float | None = None,
    loss: ArrayLike | None = None,
    class_weight: Any = None,
    labels: ArrayLike | None = None,
    label_agg: str = "sum",
    tie_break: str = "first",
    return_risks: bool = False,
    lengths: ArrayLike | None = None,
) -> Any:
    """Return the path of hidden states by one of many decoders.

    Parameters
    ----------
    log_start : array-like of shape (K,)
        Logs of the probabilities of the first state. For a model at hand, whatever its form,
        ``as_hmm(model).logs(X)`` are the first three arguments.
    log_trans : array-like of shape (K, K) or (T - 1, K, K), or sparse matrix
        Logs of the transition probabilities, the same at all steps or one matrix a step (for
        several sequences stacked, or a list). The stored entries of a scipy sparse matrix are
        logs; what is not stored is forbidden.
    log_emission : array-like of shape (T, K), or list of such
        Logs of the densities of the observations in each state.
    method : str, default="hybrid-pvd"
        "viterbi": the most probable path. "pmap": the most probable state of each position.
        "constrained-pmap" (Eq. 8), "prior-pmap" (15): the same among paths of positive posterior
        or prior probability. "pvd" (10): largest product of marginals among possible paths.
        "hybrid-pvd" (18), "hybrid-pmap" (26): the weighted families. "k-block" (33): blocks of any
        real length k. "rabiner" (29): the expected number of correct blocks of k states. "beta"
        (56): the family in between. "power" (52), "brushe" (51), "brushe-normalized" (54):
        transforms of the forward and backward variables.
    alpha : float in [0, 1], optional
        In the weighted families short for ``C=(1 - alpha, alpha, 0, 0)``: 0 is posterior
        decoding, 1 Viterbi. It takes the place of C.
    k : float, optional
        Block length: any real number of at least 1 (also inf) for "k-block", an integer for
        "rabiner" (default 2).
    C : array-like of 4 floats, default=(1, 0, 0, 0)
        Weights of the risks: posterior marginals, posterior path, prior marginals, prior path.
        (1, 0, 0, c) is posterior decoding with a penalty c on the prior path (Eq. 13, 17).
    beta : array-like of 2 floats, default=(0, 0)
        Powers of the posterior and prior marginals for "beta"; 0 is a logarithm.
    mu : float, optional
        Power of the transform, up to inf: 1 is posterior decoding, inf max-product.
    loss : array-like of shape (K, K), optional
        ``loss[s, y]`` is the cost of saying s when y is true. Only "rabiner" takes
        (K, K, K, K) instead: ``loss[s, s2, y, y2]`` for neighbouring pairs. With labels a
        loss between labels, in sorted order, is accepted too.
    class_weight : array-like of shape (K,) or dict, optional
        Cost of missing each state; scales its marginals.
    labels : array-like of shape (K,), optional
        Label of each state. Positions are right when their labels are, and labels are returned.
    label_agg : {"sum", "mean"}, default="sum"
        How marginals of states with the same label combine. The sum is what the loss means; the
        mean is what the paper says, and differs where classes differ in size.
    tie_break : {"first", "last"}, default="first"
        At equal scores, the smallest or largest state, at the last position and backwards.
    return_risks : bool, default=False
        Also return the risks of the path, as `path_risks` does.
    lengths : array-like of int, optional
        Lengths of stacked sequences.

    Returns
    -------
    path : ndarray of shape (T,), or list of such
        States counted from 0, or labels.
    risks : dict of str to float
        Only with ``return_risks=True``.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.sequence import decode
    >>> start, trans = np.log([0.5, 0.5]), np.log([[0.9, 0.1], [0.2, 0.8]])
    >>> emission = np.log([[0.5, 0.1], [0.5, 0.9], [0.5, 0.9]])
    >>> decode(start, trans, emission, method="viterbi")
    array([0, 0, 0])
    >>> path, risks = decode(start, trans, emission, alpha=0.3, return_risks=True)
    >>> round(risks["R1"], 3)
    0.398
    """
    scores = checked_hmm(log_start, log_trans, log_emission, lengths)
    K = scores.start.size
    names = None if labels is None else checked_labels(labels, K)
    point = PointLoss(loss, class_weight, names, label_agg)
    choice = {"alpha": alpha, "k": k, "C": C, "beta": beta, "mu": mu}
    states = state_path(scores, method, point, tie_break, **choice)
    path = scores.unstack(states if names is None else names[states])
    if not return_risks:
        return path
    risks = path_risks_of_each(scores, states, point, 2 if k is None else k)
    return path, {name: float(values.mean()) for name, values in risks.items()}


# --- families -----------------------------------------------------------------------------------


@checked
def decode_path_family(
    log_start: ArrayLike,
    log_trans: Any,
    log_emission: Any,
    alphas: ArrayLike,
    *,
    method: str = "hybrid-pvd",
    beta: ArrayLike = (0, 0),
    loss: ArrayLike | None = None,
    class_weight: Any = None,
    labels: ArrayLike | None = None,
    label_agg: str = "sum",
    lengths: ArrayLike | None = None,
) -> Any:
    """Return the paths of many members of a family, at little more than the price of a few.

    Parameters
    ----------
    log_start, log_trans, log_emission : array-like
        The model, as in `decode`.
    alphas : array-like of shape (A,) or (A, 4)
        Points between posterior decoding (0) and Viterbi (1), or weights C1..C4 of each member.
    method : {"hybrid-pvd", "hybrid-pmap", "k-block", "beta"}, default="hybrid-pvd"
        The family.
    beta, loss, class_weight, labels, label_agg : optional
        As in `decode`.
    lengths : array-like of int, optional
        Lengths of stacked sequences.

    Returns
    -------
    paths : ndarray of shape (A, T), or list of such
        One path a row.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.sequence import decode_path_family
    >>> start, trans = np.log([0.5, 0.5]), np.log([[0.9, 0.1], [0.2, 0.8]])
    >>> emission = np.log([[0.5, 0.1], [0.3, 0.9], [0.5, 0.9]])
    >>> decode_path_family(start, trans, emission, [0, 0.5, 1])
    array([[0, 1, 1],
           [0, 0, 0],
           [0, 0, 0]])
    """
    scores = checked_hmm(log_start, log_trans, log_emission, lengths)
    names = None if labels is None else checked_labels(labels, scores.start.size)
    point = PointLoss(loss, class_weight, names, label_agg)
    states = family_states(scores, family_members(alphas, method, beta), point)
    values = states if names is None else names[states]
    if not scores.listed:
        return values
    return np.split(values, np.cumsum(scores.lengths)[:-1], axis=1)


def family_members(alphas: ArrayLike, method: str, beta: ArrayLike) -> list[Weights]:
    """Return the weights of every member of a grid."""
    if method not in FAMILIES:
        raise ValueError(f"Only {', '.join(FAMILIES)} have a grid of weights, got {method!r}.")
    grid = np.asarray(alphas, dtype=np.float64)
    if grid.size == 0 or grid.ndim not in (1, 2) or (grid.ndim == 2 and grid.shape[1] != 4):
        raise ValueError(f"alphas must have shape (A,) or (A, 4), got {grid.shape}.")
    if grid.ndim == 1:
        # Eq. (38) or (34), one weight a member
        return [_checked_weights(method, float(a), None, None, beta) for a in grid]
    weights = _checked_weights(method, None if method != "k-block" else 0.0, None, None, beta)
    return [Weights(_checked_C(row), weights.beta) for row in grid]


def family_states(
    scores: HMMScores, members: Sequence[Weights], point: PointLoss
) -> NDArray[np.int64]:
    """Return the state paths (A, N) of members that share their powers β."""
    gains = gain_matrix(scores.start.size, *point)
    C, beta = np.array([member.C for member in members]), members[0].beta
    used = [bool(column.any()) for column in C[:, :3].T]
    features = np.empty((sum(used), *scores.emission.shape))
    at = 0
    if used[0]:
        feature = _posterior_feature(scores, gains, beta[0], out=features[at])
        if feature.base is not features:
            features[at] = feature
        at += 1
    if used[1]:
        features[at] = scores.emission
        at += 1
    if used[2]:
        features[at] = _prior_feature(scores, gains, beta[1])
    joint = C[:, 1] + C[:, 3]  # C2 + C4 of Eq. (23)
    weights = np.column_stack([C[:, :3][:, used], joint])
    if isinstance(scores.trans, Edges) or not any(used):
        return np.stack([_one_blend(scores, features, w) for w in weights])
    found = blended_paths(scores.start, scores.trans, features, weights, scores.lengths)
    _require_finite(scores, found.score.min(axis=0))
    return found.states


def _one_blend(scores: HMMScores, features: Floats, weights: Floats) -> NDArray[np.int64]:
    nodes = np.zeros(scores.emission.shape)
    for weight, feature in zip(weights, features):
        if weight:
            _add_scaled(nodes, weight, feature)
    if weights[-1] == 0.0:
        return _best_of_rows(nodes)
    start, trans = scores.start * weights[-1], _scaled(scores.trans, weights[-1])
    return _possible_path(scores, start, trans, nodes)


def _warmup() -> None:
    rows = np.zeros((1, 1))
    _add_scaled(rows, 1.0, rows.copy())
    _row_argmax(rows, np.empty(1, np.int64))
