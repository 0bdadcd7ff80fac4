"""Smoothed transport of many pairs on an accelerator beside the same code on two cores."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.accelerator import cannot_run, contest, hardware
from octavo.data import make_grouped_histograms
from octavo.engine.transport.entropic import entropic_transport

__all__ = ["CONTESTS", "cannot_run", "hardware"]

SWEEPS = 1000


def make_pairs() -> dict[str, Any]:
    """Return the 1,770 pairs of 60 histograms of the paper's size, and a metric."""
    X, _, _ = make_grouped_histograms(60, n_groups=32, group_size=4, random_state=0)
    i, j = np.triu_indices(60, 1)
    places = np.random.default_rng(0).random((128, 5))
    M = np.linalg.norm(places[:, None] - places, axis=2)
    rows = (X[i] + 1e-6) / (X[i] + 1e-6).sum(axis=1, keepdims=True)
    columns = (X[j] + 1e-6) / (X[j] + 1e-6).sum(axis=1, keepdims=True)
    return {"M": M, "R": rows, "C": columns}


def smoothed(data: Any) -> Any:
    return entropic_transport(data["M"], data["R"], data["C"], 0.05, tol=0.0, max_iter=SWEEPS).costs


CONTESTS = [
    contest(
        "entropic-transport",
        "1,770 smoothed transports, d = 128, 1,000 sweeps in double precision",
        make_pairs,
        smoothed,
        flops=4.0 * SWEEPS * 1770 * 128**2,
        tolerance=1e-6,
    ),
]
