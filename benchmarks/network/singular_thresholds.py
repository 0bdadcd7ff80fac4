"""Singular values thresholded on an accelerator beside the same code on two cores."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.accelerator import cannot_run, contest, hardware
from octavo.engine.proximal.matrices import shrink_singular_values
from octavo.engine.proximal.nuclear_l1 import shrink_both

__all__ = ["CONTESTS", "cannot_run", "hardware"]

N, N_BOTH, RANK, STEPS = 2_000, 1_000, 20, 50


def planted(n: int) -> np.ndarray:
    """Return blocks of nodes that like each other, and noise: RANK values above the threshold."""
    rng = np.random.default_rng(0)
    group = rng.integers(RANK, size=n)
    return (group[:, None] == group) + 0.3 * rng.standard_normal((n, n))


def one_threshold(data: Any) -> Any:
    return shrink_singular_values(data["M"], 0.7 * N**0.5)[0]


def both_penalties(data: Any) -> Any:
    tau = 0.7 * N_BOTH**0.5
    return shrink_both(data["M"], tau, 0.1, True, tol=0.0, max_iter=STEPS).sparse


CONTESTS = [
    contest(
        "singular-values",
        f"Singular values of {N:,} x {N:,} shrunk once, all of them, in double precision",
        lambda: {"M": planted(N)},
        one_threshold,
        # 9n³ for all eigenvectors of a symmetric matrix, 2n³ for the Gram matrix
        flops=11.0 * N**3,
        tolerance=1e-8,
    ),
    contest(
        "both-penalties",
        f"{STEPS} steps towards the nuclear norm and absolute values together, {N_BOTH:,} x "
        f"{N_BOTH:,}, double precision",
        lambda: {"M": planted(N_BOTH)},
        both_penalties,
        flops=11.0 * STEPS * N_BOTH**3,
        tolerance=1e-8,
        repeats=1,
    ),
]
