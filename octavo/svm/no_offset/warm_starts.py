"""Where to start a dual solver: cold, or from the solution for another regularisation.

All in signed variables β_i = y_i α_i with bounds that grow or shrink by one factor r for all
samples; h = linear − Kβ is carried along instead of being computed afresh, from as few rows of K
as possible.

Reference: Steinwart, Hush and Scovel (2011), "Training SVMs Without Offset", JMLR 12:141-202,
section 2.3 (Procedures 3 to 8). The second branch of Procedure 6 is printed with C_i outside the
sum, where C_j inside it is meant.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from octavo.engine.duals.smo import subtract_rows_at
from octavo.engine.estimators.arrays import Floats

RULES = ("W0", "W1", "W2", "W3", "W4", "W5", "W6")


class Start(NamedTuple):
    """A feasible point and the gradient there."""

    beta: Floats
    h: Floats


def zeros(linear: Floats) -> Start:
    """I0 and W0, Procedure 3: nothing is known."""
    return Start(np.zeros_like(linear), linear.copy())


def kernel_rule(K: Floats, linear: Floats, bound: Floats) -> Start:
    """I1 and W1, Procedure 4: every variable at its bound, the classical kernel rule."""
    return Start(bound.copy(), linear - K @ bound)


def carried(rule: str, beta: Floats, bound: Floats, new: Floats, r: float) -> Floats:
    """Return the old solution carried to other bounds by the rule of that name.

    `bound` is what β can reach at most, y_i C_i, and `new` is r times that. Rules come in pairs,
    one for bounds that grow and one for bounds that shrink: W4 and W6, W3 and W5, W2 and W6.
    Whichever is named, the one that fits is taken.
    """
    bounded = (beta == bound) & (bound != 0.0)
    if rule == "W0":
        return np.zeros_like(beta)
    if rule == "W1":
        return new.copy()
    if rule in ("W3", "W5"):
        return np.where(bounded, new, r * beta)
    if r < 1.0:  # W6: what the new bounds forbid is put on them
        return np.where(np.abs(beta) > np.abs(new), new, beta)
    if rule == "W2":
        return beta.copy()
    return np.where(bounded, new, beta)  # W4: who is bounded follows its bound


def expanded(K: Floats, old: Start, linear: Floats, bound: Floats, new: Floats, r: float) -> Start:
    """W4, Procedure 6: bounded support vectors follow their bound, the others stay."""
    bounded = (old.beta == bound) & (bound != 0.0)
    inner = np.flatnonzero(~bounded & (old.beta != 0.0))
    beta = carried("W4", old.beta, bound, new, r)
    if 2 * inner.size < np.count_nonzero(bounded):
        # Kβ is r times what it was, but for the inner ones
        h = r * old.h + (1.0 - r) * linear  # those are not scaled: (1 − r)β of them is missing
        subtract_rows_at(h, K, inner, (1.0 - r) * old.beta[inner])
    else:
        h, moved = old.h.copy(), np.flatnonzero(bounded)
        # (C_j new − C_j old) inside the sum: print has it outside, with i
        subtract_rows_at(h, K, moved, (new - bound)[moved])
    return Start(beta, h)


def shrunk(K: Floats, old: Start, linear: Floats, bound: Floats, new: Floats, r: float) -> Start:
    """W6, Procedure 7: what the new bounds forbid is put on them, the rest stays."""
    beta = carried("W6", old.beta, bound, new, r)
    bounded = (old.beta == bound) & (bound != 0.0)
    stays = (beta == old.beta) & (beta != 0.0)
    if np.count_nonzero(stays) < np.count_nonzero(bounded):
        # the bounded ones are scaled by r: so is all of Kβ, and the others are put right
        h = r * old.h + (1.0 - r) * linear
        other = np.flatnonzero(~bounded & (old.beta != 0.0))
        subtract_rows_at(h, K, other, beta[other] - r * old.beta[other])
    else:
        h, moved = old.h.copy(), np.flatnonzero(beta != old.beta)
        subtract_rows_at(h, K, moved, (beta - old.beta)[moved])
    return Start(beta, h)


def next_start(
    rule: str, K: Floats, linear: Floats, bound: Floats, new: Floats, r: float, old: Start
) -> Start:
    """Return the start by the rule of that name, with its gradient."""
    if rule == "W0":
        return zeros(linear)
    if rule == "W1":
        return kernel_rule(K, linear, new)
    if rule in ("W3", "W5"):  # Procedure 8
        return Start(carried(rule, old.beta, bound, new, r), linear - r * (linear - old.h))
    if r < 1.0:
        return shrunk(K, old, linear, bound, new, r)
    if rule == "W2":  # Procedure 5
        return Start(old.beta.copy(), old.h.copy())
    return expanded(K, old, linear, bound, new, r)
