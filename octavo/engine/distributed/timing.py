"""Where the time of a distributed computation goes: computing, waiting, communicating.

A phase is one pass: every rank computes, then the results are reduced. The busiest node sets
its pace; the others stall for it, and what the clock shows beyond the busiest node is
communication (and the scheduling that goes with it).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Span(NamedTuple):
    """When a rank computed, by the clock of its node, and how many nonzeros it read."""

    rank: int
    node: str
    start: float
    stop: float
    work: int


class PhaseTiming(NamedTuple):
    """One phase as it was measured.

    ``busy`` holds the seconds that each of ``nodes`` computed, ``shares`` the nonzeros that it
    read, ``bytes_moved`` what crossed between nodes, ``vector_bytes`` the size of the value that
    was reduced and sent out.
    """

    name: str
    wall: float
    nodes: tuple[str, ...]
    busy: NDArray[np.float64]
    shares: NDArray[np.int64]
    bytes_moved: int
    vector_bytes: int

    @property
    def communication(self) -> float:
        """Seconds that even the busiest node spent outside its computation."""
        return max(0.0, self.wall - float(self.busy.max(initial=0.0)))

    @property
    def stall(self) -> NDArray[np.float64]:
        """Seconds that each node waited for the busiest."""
        return self.busy.max(initial=0.0) - self.busy


def busy_seconds(spans: Iterable[Span]) -> float:
    """Return the length of the union of spans on one node."""
    total, end = 0.0, -np.inf
    for span in sorted(spans, key=lambda s: s.start):
        total += max(0.0, span.stop - max(span.start, end))
        end = max(end, span.stop)
    return total


def phase_timing(
    name: str, wall: float, spans: Sequence[Span], bytes_moved: int, vector_bytes: int
) -> PhaseTiming:
    """Gather the spans of a phase by node."""
    nodes = tuple(sorted({span.node for span in spans}))
    by_node = [[span for span in spans if span.node == node] for node in nodes]
    return PhaseTiming(
        name,
        wall,
        nodes,
        np.array([busy_seconds(own) for own in by_node]),
        np.array([sum(span.work for span in own) for own in by_node], dtype=np.int64),
        bytes_moved,
        vector_bytes,
    )


class FitTiming:
    """The phases of a fit, and their sums.

    Attributes
    ----------
    phases : list of PhaseTiming
        In the order in which they ran.
    """

    def __init__(self, phases: Sequence[PhaseTiming] = ()) -> None:
        self.phases = list(phases)

    def of(self, name: str) -> list[PhaseTiming]:
        """Return the phases of one kind."""
        return [phase for phase in self.phases if phase.name == name]

    def summary(self) -> dict[str, dict[str, float]]:
        """Return calls, seconds, bytes and throughput of each kind of phase.

        Returns
        -------
        summary : dict of dict
            By name of phase: calls, wall, compute (mean over nodes), stall (mean over nodes),
            communication, all in seconds; bytes moved between nodes; nonzeros read a second.
        """
        kinds = dict.fromkeys(phase.name for phase in self.phases)
        return {kind: self._totals(self.of(kind)) for kind in kinds}

    def total(self) -> dict[str, float]:
        """Return the same over all phases."""
        return self._totals(self.phases)

    @staticmethod
    def _totals(phases: Sequence[PhaseTiming]) -> dict[str, float]:
        wall = sum(phase.wall for phase in phases)
        read = sum(int(phase.shares.sum()) for phase in phases)
        return {
            "calls": len(phases),
            "wall": wall,
            "compute": sum(float(phase.busy.mean()) for phase in phases if phase.busy.size),
            "stall": sum(float(phase.stall.mean()) for phase in phases if phase.busy.size),
            "communication": sum(phase.communication for phase in phases),
            "bytes": sum(phase.bytes_moved for phase in phases),
            "nonzeros_per_second": read / wall if wall > 0 else 0.0,
        }

    def __repr__(self) -> str:
        total = self.total()
        parts = ", ".join(f"{k} {total[k]:.3g} s" for k in ("compute", "stall", "communication"))
        return f"<FitTiming: {total['calls']:.0f} phases, {total['wall']:.3g} s; {parts}>"

    def __getstate__(self) -> dict[str, Any]:
        return {"phases": self.phases}
