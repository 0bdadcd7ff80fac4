"""The six objectives of semi-supervised generative learning as functions of log p(x, y).

With q_ik = log p(x_i, k), l_i = log p(x_i) and r_ik = p(k | x_i), every one is

    J = Σ_labelled v_i (q_iy - l_i) + b_L Σ_labelled v_i l_i + b_U Σ_unlabelled l_i + extra,

and its gradient in any parameter is Σ W_ik ∂q_ik with weights W that depend on r alone. A model
needs no more than weighted sums to follow it. Labelled rows stand first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from octavo.engine.estimators.arrays import Floats, Indices

OBJECTIVES = (
    "unbiased",
    "labelled",
    "ml",
    "entropy_reg",
    "multi_conditional",
    "expectation_reg",
)
EXPECTATION_WEIGHT = 10.0  # Section 5: ten times the number of labelled rows


class Goal(NamedTuple):
    """What is maximised: the classes of the labelled rows, which stand first, and the weights.

    ``balance`` weighs each labelled row (one, unless rows were labelled class by class);
    ``class_share`` is the class distribution that expectation regularisation asks for.
    """

    codes: Indices
    balance: Floats
    labelled_weight: float
    unlabelled_weight: float
    entropy_weight: float
    expectation_weight: float
    class_share: Floats

    @property
    def is_likelihood(self) -> bool:
        """Whether no weight W can be negative, so that EM applies."""
        return (
            self.labelled_weight == 1.0
            and self.entropy_weight == 0.0
            and self.expectation_weight == 0.0
        )


def make_goal(
    objective: str,
    codes: Indices,
    n_rows: int,
    balance: Floats,
    n_classes: int,
    unlabelled_weight: float | None = None,
    trade_off: float | None = None,
) -> Goal:
    """Return the weights of an objective.

    Parameters
    ----------
    objective : str
        One of `OBJECTIVES`.
    codes : ndarray of shape (n_labelled,)
        Classes of the labelled rows.
    n_rows : int
        Number of all rows.
    balance : ndarray of shape (n_labelled,)
        Weights of the labelled rows.
    n_classes : int
        Number of classes.
    unlabelled_weight : float, optional
        Weight of log p(x) for "unbiased" (N_L / N by default) and "ml" (one).
    trade_off : float, optional
        λ of the two regularisers (1, and 10 N_L), β of "multi_conditional" (1).

    Returns
    -------
    goal : Goal
    """
    n_labelled = len(codes)
    on_labelled, on_unlabelled, entropy, expectation = 1.0, 1.0, 0.0, 0.0
    if objective == "unbiased":  # Eq. (20)
        # N_L / N
        share = n_labelled / n_rows if unlabelled_weight is None else float(unlabelled_weight)
        on_labelled = on_unlabelled = share
    elif objective == "labelled":  # Eq. (1)
        on_unlabelled = 0.0
    elif objective == "multi_conditional":
        # β of the marginal part, α being one
        on_labelled = on_unlabelled = 1.0 if trade_off is None else float(trade_off)
    else:  # Eq. (3), and what is added to it
        on_unlabelled = 1.0 if unlabelled_weight is None else float(unlabelled_weight)
        if objective == "entropy_reg":
            entropy = 1.0 if trade_off is None else float(trade_off)
        elif objective == "expectation_reg":
            expectation = EXPECTATION_WEIGHT * n_labelled if trade_off is None else float(trade_off)
    share_of = np.bincount(codes, weights=balance, minlength=n_classes)
    return Goal(
        codes, balance, on_labelled, on_unlabelled, entropy, expectation, share_of / share_of.sum()
    )


def posterior(q: Floats) -> tuple[Floats, Floats]:
    """Return log p(x) and p(y | x) from log p(x, y)."""
    top = q.max(axis=1)
    share = np.exp(q - top[:, None])
    total = share.sum(axis=1)
    share /= total[:, None]
    return top + np.log(total), share


def evaluate(goal: Goal, q: Floats) -> tuple[float, Floats]:
    """Return J and the weights W of its gradient.

    Parameters
    ----------
    goal : Goal
        The objective.
    q : ndarray of shape (n, n_classes)
        log p(x, y), labelled rows first.

    Returns
    -------
    value : float
        J.
    weights : ndarray of shape (n, n_classes)
        ∂J/∂q; each row sums to the weight of its log p(x).
    """
    n = len(goal.codes)
    rows = np.arange(n)
    marginal, W = posterior(q)
    unlabelled = W[n:].copy() if goal.entropy_weight or goal.expectation_weight else W[n:]
    b = goal.labelled_weight
    # log p(y | x) + b log p(x) = q_y - (1 - b) l
    value = goal.balance @ (q[rows, goal.codes] - (1.0 - b) * marginal[:n])
    value += goal.unlabelled_weight * marginal[n:].sum()
    # -(1 - b) r_ik, the derivative of -(1 - b) l: weights can be negative
    W[:n] *= -(1.0 - b) * goal.balance[:, None]
    W[rows, goal.codes] += goal.balance
    W[n:] *= goal.unlabelled_weight
    if len(unlabelled):
        if goal.entropy_weight:  # λ Σ r log r
            logs = q[n:] - marginal[n:, None]
            negative = (unlabelled * logs).sum(axis=1)
            value += goal.entropy_weight * negative.sum()
            # r (log r - Σ r log r): r itself moves too, and Σ_k ∂r_k = 0
            W[n:] += goal.entropy_weight * unlabelled * (logs - negative[:, None])
        if goal.expectation_weight:  # -λ KL(share of labels || mean of r)
            mean = np.maximum(unlabelled.mean(axis=0), 1e-300)
            wanted = goal.class_share
            seen = wanted > 0
            divergence = np.sum(wanted[seen] * np.log(wanted[seen] / mean[seen]))
            value -= goal.expectation_weight * divergence
            pull = wanted / mean
            change = unlabelled * (pull - (unlabelled @ pull)[:, None])
            # ∂r_k / ∂q_j = r_k ([j = k] - r_j)
            W[n:] += goal.expectation_weight / len(unlabelled) * change
    return float(value), W
