"""The kernels of two points that the kernel estimators share, by name and bandwidth."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from octavo.engine.estimators.sklearn_door import Interval, StrOptions
from octavo.engine.kernels.pair_sums import KERNELS, PairKernel, median_distance

KERNEL_CONSTRAINTS: dict[str, Any] = {
    "kernel": [StrOptions(set(KERNELS)), callable],
    "bandwidth": [StrOptions({"median"}), Interval(Real, 0, None, closed="neither")],
}
LOW_RANK_CONSTRAINTS: dict[str, Any] = {
    "tol": [Interval(Real, 0, 1, closed="left")],
    "max_rank": [Interval(Integral, 1, None, closed="left"), None],
}


def make_kernel(kernel: Any, bandwidth: float | str, X: np.ndarray) -> PairKernel:
    """Return the kernel that a user named, its bandwidth taken from X where that is "median"."""
    if callable(kernel):
        return PairKernel("function", function=kernel)
    if kernel in ("linear", "distance"):
        return PairKernel(kernel)
    scale = median_distance(X) if isinstance(bandwidth, str) else float(bandwidth)
    return PairKernel(kernel, scale)


def make_kernels(
    kernel: Any, bandwidth: float | str, blocks: Sequence[np.ndarray]
) -> list[PairKernel]:
    """Return a kernel for every group of variables; see `make_kernel`."""
    return [make_kernel(kernel, bandwidth, block) for block in blocks]


def exactly_two(blocks: Sequence[np.ndarray], name: str) -> None:
    """Raise unless there are two groups of variables."""
    if len(blocks) != 2:
        raise ValueError(f"{name} is for two groups of variables, got {len(blocks)}.")


def single_columns(blocks: Sequence[np.ndarray], name: str) -> np.ndarray:
    """Return groups of one variable each as the columns of one array; raise for wider ones."""
    for m, block in enumerate(blocks):
        if block.shape[1] != 1:
            raise ValueError(
                f"{name} is for groups of one real variable each; group {m} has {block.shape[1]}."
            )
    return np.hstack(list(blocks))


def not_constant(X: np.ndarray, name: str) -> np.ndarray:
    """Return X; raise where a column is constant."""
    constant = np.flatnonzero((X[0] == X).all(axis=0))
    if constant.size:
        raise ValueError(
            f"{name} is undefined for a constant variable: column {constant[0]} is "
            f"{X[0, constant[0]]:g} throughout. Drop it."
        )
    return X
