"""What a controller perceives, compiled: BIS, its low-pass filter, error and change, cells.

Reference: Moore et al. (2014), JMLR 15:655-696, sections 3.1.2 and 3.2.2, Figure 1.
"""

from __future__ import annotations

import math

import numpy as np

from octavo.engine.compilation.kernel_cache import njit

RATES_ML = np.array(
    [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0]
)  # ml/min, section 3.1.3
MG_PER_ML = 10.0  # 1 % propofol


def filter_share(dt: float, time_constant: float) -> float:
    """Return the share of a new measurement in the smoothed one; 1 without a filter."""
    # exact for a first-order filter; the paper names none
    return 1.0 if time_constant == 0 else 1.0 - math.exp(-dt / time_constant)


@njit(cache=True, error_model="numpy")
def bis_of(curve, table, Ce):
    """Return BIS at a concentration, by Hill's curve or by a table."""
    if table.shape[0] == 0:
        if Ce <= 0.0:
            return curve[0]
        return curve[0] - curve[1] / (1.0 + (curve[2] / Ce) ** curve[3])
    place = Ce / curve[0]
    if place >= table.shape[0] - 1:
        return table[-1]
    low = int(place)
    return table[low] + (place - low) * (table[low + 1] - table[low])


@njit(cache=True, error_model="numpy")
def advance(step, c, rate):
    """Take the exact step of the concentrations, in place."""
    c1 = step[0, 0] * c[0] + step[0, 1] * c[1] + step[0, 2] * c[2] + step[0, 4] * rate
    c2 = step[1, 0] * c[0] + step[1, 1] * c[1] + step[1, 2] * c[2] + step[1, 4] * rate
    c3 = step[2, 0] * c[0] + step[2, 1] * c[1] + step[2, 2] * c[2] + step[2, 4] * rate
    ce = (
        step[3, 0] * c[0] + step[3, 1] * c[1] + step[3, 2] * c[2] + step[3, 3] * c[3]
        + step[3, 4] * rate
    )  # fmt: skip
    c[0], c[1], c[2], c[3] = c1, c2, c3, ce


@njit(cache=True, error_model="numpy")
def side_bin(v, width, n_bins):
    """Return the bin of μ_P less that of μ_N, from −(n_bins − 1) to n_bins − 1."""
    share = abs(v) / width  # |v| / x is the membership on v's side
    k = n_bins - 1 if share >= 1.0 else min(n_bins - 1, int(n_bins * share))
    return k if v >= 0.0 else -k


@njit(cache=True, error_model="numpy")
def cell_of(error, change, wide, narrow, n_bins):
    """Return the reachable cell of an error and its change, row by row."""
    first = side_bin(error, wide, n_bins) + n_bins - 1
    return first * (2 * n_bins - 1) + side_bin(change, narrow, n_bins) + n_bins - 1


def _warmup() -> None:
    """Compile every kernel of this module."""
    bis_of(np.ones(4), np.empty(0), 1.0)
    advance(np.zeros((4, 5)), np.zeros(4), 0.0)
    side_bin(1.0, 1.0, 10)
    cell_of(1.0, 1.0, 20.0, 10.0, 10)
