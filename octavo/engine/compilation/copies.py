"""Copies of rows and tables inside kernels, as plain loops.

``a[i] = b`` on arrays makes the compiler build the sentence for shapes that differ, which takes it
two to four seconds in every process that compiles a kernel; these loops take it next to nothing.
The shapes must be equal: nothing checks them.
"""

from __future__ import annotations

import numpy as np

from octavo.engine.compilation.kernel_cache import njit

__all__ = ["copy_row", "copy_table", "fill_row", "fill_table"]


@njit(cache=True)
def copy_row(source, target):
    """Copy numbers of an array of one dimension."""
    for i in range(source.shape[0]):
        target[i] = source[i]


@njit(cache=True)
def copy_table(source, target):
    """Copy numbers of an array of two dimensions."""
    for i in range(source.shape[0]):
        for j in range(source.shape[1]):
            target[i, j] = source[i, j]


@njit(cache=True)
def fill_row(value, target):
    """Set all numbers of an array of one dimension."""
    for i in range(target.shape[0]):
        target[i] = value


@njit(cache=True)
def fill_table(value, target):
    """Set all numbers of an array of two dimensions."""
    for i in range(target.shape[0]):
        for j in range(target.shape[1]):
            target[i, j] = value


def _warmup() -> None:
    copy_row(np.zeros(1), np.zeros(1))
    copy_table(np.zeros((1, 1)), np.zeros((1, 1)))
    fill_row(0.0, np.zeros(1))
    fill_table(0.0, np.zeros((1, 1)))
