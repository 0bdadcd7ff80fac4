"""Moments of expanded series on an accelerator beside the same code on two cores."""

from __future__ import annotations

from typing import Any

from benchmarks.accelerator import cannot_run, contest, hardware, rows
from octavo.engine.spectral.expansions import StreamingMoments, expansion, n_functions

__all__ = ["CONTESTS", "cannot_run", "hardware"]

T, D, DEGREE = 1_000_000, 6, 4
WIDTH = n_functions(D, DEGREE)
BLOCK = 50_000


def make_series() -> dict[str, Any]:
    values = rows(T, D, 0)
    return {"X": values / abs(values).max(axis=0)}


def moments(data: Any) -> Any:
    functions, found = expansion(D, DEGREE), StreamingMoments()
    for start in range(0, T, BLOCK):
        found.update(functions(data["X"][start : start + BLOCK, :]))
    return found.velocity_covariance


CONTESTS = [
    contest(
        "slow-moments",
        f"{WIDTH} polynomials of 6 variables, 1,000,000 times: covariance and differences",
        make_series,
        moments,
        flops=4.0 * T * WIDTH**2,
    ),
]
