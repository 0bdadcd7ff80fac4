"""Bits that a model saves on the data: from sums of squares, or from correlated residuals.

Reference: Dhillon, Foster and Ungar (2011), sections 3.1.1 and 4.1.2. "plugin" is the paper's text:
the variance of the code is that of the model without the candidate. "profile" codes with the
variance of the model that has it, which saves more, and is what the paper's Table 3 agrees with.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from octavo.engine.estimators.arrays import Floats, Indices, Numbers
from octavo.engine.linalg.forward_selection import EXACT

LN2 = float(np.log(2.0))


class CodePath(NamedTuple):
    """A greedy selection, step by step."""

    order: Indices  # the feature of each step
    tasks: list[Indices]  # the tasks that took it
    data_bits: Floats  # before the first step and after each
    model_bits: Floats
    support: Numbers  # (p, h), bool
    saturated: Indices  # tasks that were closed because nothing was left to explain


def saved_bits(falls: Any, rss: Any, n: int, variance: str) -> Floats:
    """Return ΔS_E of each fall of a residual sum of squares (both over the total, any shape)."""
    share = np.where(rss > 0.0, falls / np.where(rss > 0.0, rss, 1.0), 0.0)
    if variance == "plugin":
        return n / (2.0 * LN2) * share  # Section 3.1.1: σ² of the model before
    # A fit that leaves less than 1e-12 of the total counts as one that leaves that much.
    floor = np.minimum(EXACT / np.where(rss > 0.0, rss, 1.0), 1.0)
    # σ² fitted anew: n/2 lg(RSS before / after)
    return -0.5 * n * np.log2(np.maximum(1.0 - share, floor))


def gaussian_bits(lengths: Floats, n: int) -> float:
    """Return the bits of residuals of these lengths, coded by normal densities."""
    known = np.log2(lengths[lengths > 0.0])
    # Eq. (2) at the maximum likelihood σ²
    return float(0.5 * n * np.sum(np.log2(2.0 * np.pi / n) + 2.0 * known + 1.0 / LN2))
