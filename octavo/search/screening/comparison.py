"""Whether one system beats another over several problems: Wilcoxon's signed ranks."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata, wilcoxon

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked

__all__ = ["SystemComparison", "compare_systems"]

EXACT_BELOW = 10  # problems, ties discarded


class SystemComparison(NamedTuple):
    """Signed ranks of a minus b (0 for a tie), their sum, p-values and counts.

    `pvalue` is two-sided, `pvalue_greater` that of "a is better"; `n_wins`, `n_losses` and
    `n_ties` count problems by score, and by fewer experiments where scores are equal and both
    numbers are given.
    """

    signed_ranks: Floats
    rank_sum: float
    pvalue: float
    pvalue_greater: float
    n_wins: int
    n_losses: int
    n_ties: int


def _scores(values: Any, name: str) -> Floats:
    found = np.asarray(values, dtype=float)
    if found.ndim != 1 or not len(found) or not np.isfinite(found).all():
        raise ValueError(f"{name} must be a sequence of finite numbers, one for each problem.")
    return found


def _pvalues(difference: Floats, ranks: Floats) -> tuple[float, float]:
    """Return the p-values of "differs" and "is greater", exact for few problems, ties or not."""
    n = len(ranks)
    if n >= EXACT_BELOW:
        found = [
            wilcoxon(difference, alternative=side, method="asymptotic").pvalue
            for side in ("two-sided", "greater")
        ]
        return float(found[0]), float(found[1])
    # All 2ⁿ signs of the ranks are equally likely where neither system is better.
    signs = 2.0 * (np.arange(2**n)[:, None] >> np.arange(n) & 1) - 1.0
    sums, seen = signs @ np.abs(ranks), ranks.sum()
    return float(np.mean(np.abs(sums) >= abs(seen))), float(np.mean(sums >= seen))


@checked
def compare_systems(
    scores_a: Any, scores_b: Any, *, experiments_a: Any = None, experiments_b: Any = None
) -> SystemComparison:
    """Compare two systems on the same problems.

    Ties are discarded; below ten problems the p-value is exact, by all signs of the ranks, and
    else by the normal approximation. Scores that differ by rounding alone are ties.

    Parameters
    ----------
    scores_a, scores_b : array-like of shape (n_problems,)
        Scores, larger is better.
    experiments_a, experiments_b : array-like of shape (n_problems,), optional
        Experiments needed, which decide between equal scores in the counts.

    Returns
    -------
    comparison : SystemComparison
        Ranks, p-values, counts.

    Examples
    --------
    >>> from octavo.search import compare_systems
    >>> tuned = [0.591, 0.883, 0.857, 0.802, 0.872, 0.774, 0.674, 0.731]  # Figure 14
    >>> default = [0.504, 0.846, 0.857, 0.714, 0.792, 0.527, 0.551, 0.647]
    >>> found = compare_systems(tuned, default)
    >>> print(found.rank_sum, round(found.pvalue, 4))
    28.0 0.0156
    """
    a, b = _scores(scores_a, "scores_a"), _scores(scores_b, "scores_b")
    if a.shape != b.shape:
        raise ValueError(
            f"The systems must have scores on the same problems; got {len(a)} and {len(b)}."
        )
    size = max(float(np.abs(a).max()), float(np.abs(b).max())) or 1.0
    difference = np.round((a / size - b / size), 12)
    differs = difference != 0.0
    ranks = np.zeros(len(a))
    ranks[differs] = rankdata(np.abs(difference[differs])) * np.sign(difference[differs])
    pvalues = _pvalues(difference[differs], ranks[differs])
    order = np.sign(difference)
    if experiments_a is not None and experiments_b is not None:
        costs = [
            _scores(e, name)
            for e, name in ((experiments_a, "experiments_a"), (experiments_b, "experiments_b"))
        ]
        if costs[0].shape != a.shape or costs[1].shape != a.shape:
            raise ValueError("experiments_a and experiments_b must have an entry for each problem.")
        order = np.where(order == 0.0, np.sign(costs[1] - costs[0]), order)
    counts = [int((order == sign).sum()) for sign in (1, -1, 0)]
    return SystemComparison(ranks, float(ranks.sum()), *pvalues, *counts)
