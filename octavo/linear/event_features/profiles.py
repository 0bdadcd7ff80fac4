"""Click profiles: the time between consecutive clicks of one source, a day at a time.

Reference: R. Oentaryo et al. (2014), Section 6.1 and Table 21.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.engine.estimators.arrays import Ints
from octavo.engine.estimators.checked import checked
from octavo.linear.event_features.log import DAY, ClickLog
from octavo.linear.event_features.views import LogView

__all__ = ["ClickGaps", "click_gaps"]

# [0, 5), [5, 10), [10, 20), ..., [290, 300), 300 and more
EDGES = np.array([5, *range(10, 301, 10)])
LABELS = ("0_5", "5_10", *(f"{a}_{a + 10}" for a in range(10, 300, 10)), "300_inf")
LONG, SHORT = 10, 5  # Sections 6.1.2 and 6.1.3
FLAG_CLICKS, FLAG_GAP = 5, 20  # Section 6.1.5


class ClickGaps(NamedTuple):
    """Clicks by entity, source and time: rows of the log, gaps in seconds, and flags.

    ``rows`` are positions in the log, ``gap`` the seconds since the same source's click before
    (0 for its first of a day), ``follows`` whether there was one that day, ``same_url`` whether
    both came from one URL, ``n_clicks`` how many clicks the source has at this entity.
    """

    rows: Ints
    gap: Ints
    follows: NDArray[np.bool_]
    same_url: NDArray[np.bool_]
    n_clicks: Ints


@checked
def click_gaps(log: ClickLog, source: str = "numericip") -> ClickGaps:
    """Return the gaps between consecutive clicks of one source at one entity, day by day.

    Parameters
    ----------
    log : ClickLog
        The clicks.
    source : str, default="numericip"
        The field that says who clicked.

    Returns
    -------
    gaps : ClickGaps
        The columns "gap" and "same URL" of the paper's Table 21, with the rows of the log.

    Examples
    --------
    >>> from octavo.linear import ClickLog, click_gaps
    >>> log = ClickLog.from_frame(
    ...     {"publisherid": ["a"] * 3, "numericip": [1] * 3, "clicktime": [60, 63, 90]}
    ... )
    >>> click_gaps(log).gap
    array([ 0,  3, 27])
    """
    if not isinstance(log, ClickLog):
        raise TypeError(f"log must be a ClickLog; got {type(log).__name__}.")
    return _gaps(LogView(log, source))


def _gaps(view: LogView) -> ClickGaps:
    log = view.log
    who = view.key("source")[0]
    url = view.column("referredurl").codes
    rows = np.lexsort((url, log.time, who, log.entity))
    entity, who, url, time = log.entity[rows], who[rows], url[rows], log.time[rows]
    same = np.zeros(len(rows), dtype=bool)
    # Also over midnight, unlike `follows`
    same[1:] = (entity[1:] == entity[:-1]) & (who[1:] == who[:-1])
    follows = same.copy()
    follows[1:] &= time[1:] // DAY == time[:-1] // DAY
    gap = np.zeros(len(rows), dtype=np.int64)
    gap[1:] = np.where(follows[1:], np.diff(time), 0)
    same_url = follows & (url >= 0)  # Section 6.1.4
    same_url[1:] &= url[1:] == url[:-1]
    run = np.cumsum(~same) - 1
    n_clicks = np.bincount(run)[run] if len(run) else np.empty(0, dtype=np.int64)
    return ClickGaps(rows, gap, follows, same_url, n_clicks)


def profile_columns(
    view: LogView, max_sources: int | None = None
) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield histograms of gaps (long, short, same URL) and the red flag of each entity."""
    gaps, m = _gaps(view), len(view.n_clicks)
    entity = view.log.entity[gaps.rows].astype(np.int64)
    allowed = np.ones(m, dtype=bool)
    if max_sources is not None:
        allowed = view.distinct("source") <= max_sources
    place = np.searchsorted(EDGES, gaps.gap, side="right")
    for name, wanted in (
        ("long", gaps.follows & (gaps.n_clicks >= LONG)),
        ("short", gaps.follows & (gaps.n_clicks >= SHORT)),
        ("same_url", gaps.same_url & (gaps.n_clicks >= SHORT)),
    ):
        cell = (entity * len(LABELS) + place)[wanted & allowed[entity]]
        count = np.bincount(cell, minlength=m * len(LABELS)).reshape(m, -1).astype(float)
        for k, label in enumerate(LABELS):
            yield f"{name}_{label}", count[:, k]
    yield "redflag", np.where(allowed, _redflags(view, gaps, entity), 0).astype(float)


def _redflags(view: LogView, gaps: ClickGaps, entity: Ints) -> Ints:
    """Count the (source, URL) pairs with five clicks that follow within 20 seconds."""
    quick = gaps.same_url & (gaps.gap < FLAG_GAP)  # gaps of less than 20 s
    rows, m = gaps.rows[quick], len(view.n_clicks)
    who, n_who = view.key("source")
    url, n_url = view.key("referredurl")
    pair = entity[quick] * max(n_who, 1) + who[rows]
    found, dense = np.unique(pair, return_inverse=True)
    packed = dense.ravel() * np.int64(max(n_url, 1)) + url[rows]
    triple, count = np.unique(packed, return_counts=True)
    owner = found[triple // max(n_url, 1)] // max(n_who, 1)
    return np.bincount(owner[count >= FLAG_CLICKS], minlength=m)
