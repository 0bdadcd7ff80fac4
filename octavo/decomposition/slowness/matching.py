"""Which estimate belongs to which source, and how well.

Reference: Sprekeler, Zito and Wiskott (2014), "An extension of slow feature analysis for
nonlinear blind source separation", JMLR 15:921-947, Section 4.2.4.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from octavo.data.decomposition.slow_sources import (
    make_colored_noise,
    make_postnonlinear_mixture,
    make_spiral_mixture,
)
from octavo.decomposition.slowness.episodes import stacked_rows
from octavo.engine.estimators.arrays import Floats, Indices
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.doubles import EPS
from octavo.engine.spectral.expansions import box_of

__all__ = [
    "SourceMatch",
    "make_colored_noise",
    "make_postnonlinear_mixture",
    "make_spiral_mixture",
    "source_match",
]


class SourceMatch(NamedTuple):
    """How well each source is matched, in the order of the sources.

    ``cc`` are correlation coefficients without sign, ``snr`` = cc² / (1 - cc²), ``snr_db`` the
    same in decibels, ``order`` the column of the estimate that belongs to each source (-1 for
    none) and ``signs`` what it is to be multiplied by.
    """

    cc: Floats
    snr: Floats
    snr_db: Floats
    order: Indices
    signs: Floats


def _unit_columns(values: Floats, name: str) -> Floats:
    box = box_of(values)
    if not (box.scale > 0).all():
        column = int(np.flatnonzero(~(box.scale > 0))[0])
        raise ValueError(f"Column {column} of {name} is constant; it correlates with nothing.")
    centred = box(values)
    centred = centred - centred.mean(axis=0)
    return centred / np.linalg.norm(centred, axis=0)


@checked
def source_match(estimates: Any, sources: Any) -> SourceMatch:
    """Match estimates to sources, one to one, so that correlations are largest in sum.

    Parameters
    ----------
    estimates : array-like of shape (n_times, n_estimates), or list of such
        What a method found; order and sign do not matter.
    sources : array-like of shape (n_times, n_sources), or list of such
        What there was.

    Returns
    -------
    SourceMatch
        Correlations, ratios of signal to noise, and who belongs to whom. A source without an
        estimate has a correlation of zero.

    References
    ----------
    .. [1] Sprekeler, Zito and Wiskott (2014). An extension of slow feature analysis for nonlinear
       blind source separation. JMLR 15:921-947.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.decomposition import source_match
    >>> S = np.random.default_rng(0).normal(size=(1000, 2))
    >>> match = source_match(-S[:, ::-1] ** 3, S)
    >>> print(match.order, match.signs, np.round(match.cc, 2))
    [1 0] [-1. -1.] [0.76 0.75]
    """
    found, truth = (
        stacked_rows(part, name=name).values
        for part, name in ((estimates, "estimates"), (sources, "sources"))
    )
    if len(found) != len(truth) or len(found) < 2:
        raise ValueError(
            "estimates and sources need the same two rows or more, got "
            f"{len(found)} and {len(truth)}."
        )
    table = _unit_columns(truth, "sources").T @ _unit_columns(found, "estimates")  # correlations
    rows, columns = linear_sum_assignment(-np.abs(table))
    n = truth.shape[1]
    cc, signs = np.zeros(n), np.ones(n)
    order = np.full(n, -1, dtype=np.intp)
    cc[rows] = np.minimum(np.abs(table[rows, columns]), 1.0)
    signs[rows] = np.where(table[rows, columns] < 0, -1.0, 1.0)
    order[rows] = columns
    snr = cc**2 / np.maximum(1.0 - cc**2, EPS)  # of signal and what is not it
    return SourceMatch(cc, snr, 10.0 * np.log10(np.maximum(snr, EPS**2)), order, signs)
