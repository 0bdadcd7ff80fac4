"""Posterior marginals of a hidden Markov model, and the risks of a path under them.

The risks say what a path is worth when the truth is only known through the posterior: the
expected share of wrong positions (R1), the log-probability of the whole path (R̄∞), and the
risks of blocks in between.

Reference: J. Lember and A. A. Koloydenko (2014), "Bridging Viterbi and Posterior Decoding: A
Generalized Risk Approach to Hidden Path Inference Based on Hidden Markov Models", Journal of
Machine Learning Research 15. Implemented: the risks of Sections 2 to 4 (Eq. 2-6, 20-21, 27, 29,
34) and the point losses of Section 8.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from octavo.engine.chains.inference import Edges, chain_marginals, path_scores
from octavo.engine.chains.sequences import locate, stack_sequences
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.sequence.hmm.scores import HMMScores, checked_hmm, require_possible

__all__ = ["Posteriors", "hmm_posteriors", "path_risks"]


class Posteriors(NamedTuple):
    """Posterior of the hidden path: ``gamma`` (T, K) marginals, ``xi`` (T - 1, K, K) marginals of
    neighbouring pairs or None, ``loglik`` the log-probability of the observations, and
    ``prior_marginals`` (T, K). For several sequences the first axis is stacked, or each field is
    a list where the sequences were one, and ``loglik`` has one entry a sequence.
    """

    gamma: Any
    xi: Any
    loglik: Any
    prior_marginals: Any


@checked
def hmm_posteriors(
    log_start: ArrayLike,
    log_trans: Any,
    log_emission: Any,
    lengths: ArrayLike | None = None,
    *,
    pairs: bool = True,
) -> Posteriors:
    """Return posterior marginals of states and of neighbouring pairs of states.

    Parameters
    ----------
    log_start : array-like of shape (K,)
        Logs of the probabilities of the first state. For a model at hand, whatever its form,
        ``as_hmm(model).logs(X)`` are the first three arguments.
    log_trans : array-like of shape (K, K) or (T - 1, K, K), or sparse matrix
        Logs of the transition probabilities, the same at all steps or one matrix a step. For
        several sequences the steps are stacked, or a list of arrays. The stored entries of a
        scipy sparse matrix are logs; what is not stored is forbidden.
    log_emission : array-like of shape (T, K), or list of such
        Logs of the densities of the observations in each state.
    lengths : array-like of int, optional
        Lengths of stacked sequences.
    pairs : bool, default=True
        Whether to compute ``xi``. It takes K times the memory of ``gamma``, and is not computed
        for sparse transitions.

    Returns
    -------
    posteriors : Posteriors
        Named tuple (gamma, xi, loglik, prior_marginals).

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.sequence import hmm_posteriors
    >>> start, trans = np.log([0.5, 0.5]), np.log([[0.9, 0.1], [0.2, 0.8]])
    >>> emission = np.log([[0.5, 0.1], [0.5, 0.9], [0.5, 0.9]])
    >>> hmm_posteriors(start, trans, emission).gamma.round(3)
    array([[0.711, 0.289],
           [0.569, 0.431],
           [0.527, 0.473]])
    """
    scores = checked_hmm(log_start, log_trans, log_emission, lengths)
    wanted = "step" if pairs and not isinstance(scores.trans, Edges) else None
    found = chain_marginals(
        scores.start, scores.trans, scores.emission, scores.lengths, pairs=wanted
    )
    require_possible(scores, found.log_partition)
    xi: Any = found.pairs
    if xi is not None and scores.listed:
        xi = np.split(xi, np.cumsum(scores.lengths - 1)[:-1])
    single = not scores.listed and lengths is None
    return Posteriors(
        scores.unstack(found.nodes),
        xi,
        float(found.log_partition[0]) if single else found.log_partition,
        scores.unstack(np.exp(log_prior_marginals(scores))),
    )


def log_prior_marginals(scores: HMMScores) -> Floats:
    """Return the logs of p_t(j) = P(Y_t = j), without observations: π P^{t-1}; Eq. (20), (27)."""
    trans: Any = scores.trans
    if isinstance(trans, Edges):
        total = np.bincount(trans.source, np.exp(trans.score), minlength=scores.start.size)
        trans = trans._replace(score=trans.score - np.log(total)[trans.source])
    else:
        # the rows of P as probabilities, whatever scores are given
        trans = trans - logsumexp(trans, axis=-1, keepdims=True)
    nothing = np.zeros(scores.emission.shape)
    return chain_marginals(scores.start, trans, nothing, scores.lengths, log=True).nodes


# --- point losses -------------------------------------------------------------------------------


def gain_matrix(
    K: int,
    loss: ArrayLike | None = None,
    class_weight: Any = None,
    labels: ArrayLike | None = None,
    label_agg: str = "sum",
) -> Floats | None:
    """Return M such that state j gains Σ_y M[j, y] p(y); None for the zero-one loss.

    For a loss l it is max(1, max l) - l, so that the gain is 1 - ρ (Section 8); for weights
    l(y) 1{s ≠ y} it is their diagonal; labels put l(y) wherever the labels agree.
    """
    if loss is not None:
        if class_weight is not None:
            raise ValueError("Give a loss or class_weight, not both.")
        cost = _checked_loss(loss, K, labels)
        return max(1.0, float(cost.max())) - cost  # 1 - ρ_t in the place of p_t, Section 8
    weight = _checked_weights(class_weight, K)
    if labels is None:
        return None if weight is None else np.diag(weight)
    names = checked_labels(labels, K)
    same = (names[:, None] == names[None, :]).astype(float)
    if label_agg == "mean":
        # the paper's average, for comparison: classes of unequal size need the sum
        same /= same.sum(axis=1, keepdims=True)
    elif label_agg != "sum":
        raise ValueError(f"label_agg must be 'sum' or 'mean', got {label_agg!r}.")
    return same if weight is None else same * weight


def loss_matrix(
    K: int,
    loss: ArrayLike | None = None,
    class_weight: Any = None,
    labels: ArrayLike | None = None,
) -> Floats:
    """Return l(s, y), the cost of saying s when y is true."""
    if loss is not None:
        return _checked_loss(loss, K, labels)
    names = np.arange(K) if labels is None else checked_labels(labels, K)
    weight = _checked_weights(class_weight, K)
    wrong = (names[:, None] != names[None, :]).astype(float)  # l(s, y) = l(y) 1{s ≠ y}, Section 8
    return wrong if weight is None else wrong * weight


def checked_labels(labels: ArrayLike, K: int) -> NDArray[Any]:
    """Return one label a state as an array."""
    names = np.asarray(labels)
    if names.shape != (K,):
        raise ValueError(f"labels must name each of the {K} states, got shape {names.shape}.")
    return names


def _checked_loss(loss: ArrayLike, K: int, labels: ArrayLike | None) -> Floats:
    cost = np.asarray(loss, dtype=np.float64)
    if labels is not None and cost.shape != (K, K):
        names, place = np.unique(checked_labels(labels, K), return_inverse=True)
        if cost.shape == (names.size, names.size):
            cost = cost[np.ix_(place, place)]
    if cost.shape != (K, K):
        raise ValueError(f"loss must have shape ({K}, {K}), got {cost.shape}.")
    if not np.isfinite(cost).all() or cost.min() < 0:
        raise ValueError("loss must be finite and not negative.")
    return cost


def _checked_weights(class_weight: Any, K: int) -> Floats | None:
    if class_weight is None:
        return None
    if isinstance(class_weight, dict):
        unknown = [state for state in class_weight if state not in range(K)]
        if unknown:
            raise ValueError(f"class_weight names state {unknown[0]!r}; states are 0..{K - 1}.")
        class_weight = [class_weight.get(state, 1.0) for state in range(K)]
    weight = np.asarray(class_weight, dtype=np.float64)
    if weight.shape != (K,) or not np.isfinite(weight).all() or weight.min() <= 0:
        raise ValueError(f"class_weight must be {K} positive numbers, got {class_weight!r}.")
    return weight


# --- risks --------------------------------------------------------------------------------------


@checked
def path_risks(
    posteriors: Posteriors,
    model: tuple[Any, Any, Any],
    path: Any,
    k: float = 2,
    *,
    lengths: ArrayLike | None = None,
    loss: ArrayLike | None = None,
    class_weight: Any = None,
    labels: ArrayLike | None = None,
    truth: Any = None,
) -> dict[str, float]:
    """Return the risks of a path of states.

    Parameters
    ----------
    posteriors : Posteriors
        From `hmm_posteriors`.
    model : tuple (log_start, log_trans, log_emission)
        As it was given to `hmm_posteriors`; ``as_hmm(model).logs(X)``.
    path : array-like of int of shape (T,), or list of such
        States, counted from 0.
    k : float, default=2
        Length of the blocks of Rk and Rk_bar; any real number of at least 1 for the latter.
    lengths : array-like of int, optional
        Lengths of stacked sequences.
    loss, class_weight, labels : optional
        The point loss of R1 and R1_prior, as in `decode`; zero-one by default.
    truth : array-like of int, or list of such, optional
        The true states, for the share of wrong positions.

    Returns
    -------
    risks : dict of str to float
        ``R1`` expected share of wrong positions (Eq. 5), ``R1_bar`` (6), ``Rinf`` = 1 - p(path|x)
        (2), ``Rinf_bar`` = -log p(path|x) / T (3), ``Rk`` expected share of wrong blocks (29; NaN
        where k is not an integer or exceeds T), ``Rk_bar`` (34); under the prior ``R1_prior``
        (27), ``R1_bar_prior`` (20), ``Rinf_bar_prior`` (21), and ``Rinf_bar_joint`` for p(path, x);
        ``admissible`` 1 if p(path|x) > 0, ``possible`` 1 if p(path) > 0; ``error`` (40) with truth.
        Means over sequences where there are several.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.sequence import hmm_posteriors, path_risks
    >>> model = (
    ...     np.log([0.5, 0.5]),
    ...     np.log([[0.9, 0.1], [0.2, 0.8]]),
    ...     np.log([[0.5, 0.1], [0.5, 0.9], [0.5, 0.9]]),
    ... )
    >>> risks = path_risks(hmm_posteriors(*model), model, [0, 0, 0])
    >>> round(risks["R1"], 3), round(risks["Rinf_bar"], 3)
    (0.398, 0.263)
    """
    scores = checked_hmm(*model, lengths)
    states = stacked_states(path, scores, "path")
    gamma, prior = (
        stack_sequences(part).values if scores.listed else np.asarray(part)
        for part in (posteriors.gamma, posteriors.prior_marginals)
    )
    xi = posteriors.xi
    if xi is None:
        xi = path_pairs(scores, states)
    else:
        xi = np.concatenate(xi) if scores.listed else np.asarray(xi)
        before = step_rows(scores.lengths)
        xi = xi[np.arange(before.size), states[before], states[before + 1]]
    cost = loss_matrix(scores.start.size, loss, class_weight, labels)
    true = None if truth is None else stacked_states(truth, scores, "truth")
    evidence = PathEvidence(np.atleast_1d(posteriors.loglik), gamma, xi, prior)
    found = risks_of_each(scores, evidence, states, k, cost, true)
    return {name: float(np.mean(values)) for name, values in found.items()}


def stacked_states(path: Any, scores: HMMScores, name: str) -> NDArray[np.int64]:
    """Return paths stacked like the emissions, as integers."""
    values, counts = stack_sequences(path, None if scores.listed else scores.lengths, name=name)
    if values.ndim != 1 or values.dtype.kind not in "iu":
        raise ValueError(f"{name} must be a vector of integer states, got {values.dtype}.")
    strange = np.flatnonzero((values < 0) | (values >= scores.start.size))
    if strange.size:
        row = int(strange[0])
        raise ValueError(
            f"{name} holds {values[row]} at {locate(row, counts)}; states are "
            f"0..{scores.start.size - 1}."
        )
    if not np.array_equal(counts, scores.lengths):
        raise ValueError(
            f"{name} has sequences of lengths {counts.tolist()}, expected "
            f"{scores.lengths.tolist()}."
        )
    return values.astype(np.int64)


def step_rows(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the stacked rows from which a step leads to the next row."""
    keep = np.ones(int(lengths.sum()), dtype=bool)
    keep[np.cumsum(lengths) - 1] = False
    return np.flatnonzero(keep)


def path_pairs(scores: HMMScores, states: NDArray[np.int64]) -> Floats:
    """Return the pair marginals along a path, without those of all other pairs."""
    pairs = chain_marginals(
        scores.start, scores.trans, scores.emission, scores.lengths, pairs=states
    ).pairs
    assert pairs is not None
    return pairs


class PathEvidence(NamedTuple):
    """What the risks of a path need of the posterior, all sequences stacked.

    ``loglik`` of each sequence, posterior marginals ``gamma`` (N, K), pair marginals ``xi`` along
    the path only, one a step, and ``prior`` marginals (N, K).
    """

    loglik: Floats
    gamma: Floats
    xi: Floats
    prior: Floats


def risks_of_each(
    scores: HMMScores,
    evidence: PathEvidence,
    states: NDArray[np.int64],
    k: float,
    cost: Floats,
    truth: NDArray[np.int64] | None,
) -> dict[str, Floats]:
    """Return every risk of every sequence's path."""
    loglik, gamma, xi, prior = evidence
    if not k >= 1:
        raise ValueError(f"k must be at least 1, got {k}.")
    rows, first = np.arange(states.size), np.cumsum(scores.lengths) - scores.lengths
    T = scores.lengths.astype(float)

    def mean(values: Floats) -> Floats:
        return np.add.reduceat(values, first) / T

    nothing = np.zeros(scores.emission.shape)
    # log p(s, x)
    joint = path_scores(scores.start, scores.trans, scores.emission, states, scores.lengths)
    alone = path_scores(scores.start, scores.trans, nothing, states, scores.lengths)  # log p(s)
    with np.errstate(divide="ignore"):
        risks = {
            "R1": mean(np.einsum("ty,ty->t", gamma, cost[states])),  # Eq. (5)
            "R1_bar": mean(-np.log(gamma[rows, states])),  # Eq. (6)
            "Rinf": -np.expm1(np.minimum(joint - loglik, 0.0)),  # Eq. (2)
            "Rinf_bar": -(joint - loglik) / T,  # Eq. (3)
            "Rinf_bar_joint": -joint / T,  # R̄∞(s, x), below Eq. (19)
            "R1_prior": mean(np.einsum("ty,ty->t", prior, cost[states])),  # Eq. (27)
            "R1_bar_prior": mean(-np.log(prior[rows, states])),  # Eq. (20)
            "Rinf_bar_prior": -alone / T,  # Eq. (21)
            "admissible": (joint > -np.inf).astype(float),
            "possible": (alone > -np.inf).astype(float),
        }
    risks["Rk"] = _block_risk(scores.lengths, gamma[rows, states], xi, k)
    risks["Rk_bar"] = risks["R1_bar"] + (0.0 if k == 1 else (k - 1) * risks["Rinf_bar"])  # (34)
    if truth is not None:
        risks["error"] = mean((states != truth).astype(float))  # Eq. (40)
    return risks


def _block_risk(lengths: NDArray[np.int64], gamma: Floats, xi: Floats, k: float) -> Floats:
    """Return Eq. (29) for each sequence from the marginals along its path."""
    risk = np.full(lengths.size, np.nan)
    row = 0
    for q, T in enumerate(lengths):
        if k == int(k) and k <= T:
            single = gamma[row : row + T]
            pair = xi[row - q : row - q + T - 1]
            follow = np.divide(pair, single[:-1], out=np.zeros(T - 1), where=single[:-1] > 0)
            blocks = single[: T - int(k) + 1].copy()
            for m in range(int(k) - 1):  # p(s_t..s_{t+k-1} | x) by the Markov property
                blocks *= follow[m : m + blocks.size]
            risk[q] = 1.0 - blocks.mean()  # Eq. (29)
        row += int(T)
    return risk
