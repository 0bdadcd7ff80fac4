"""Groups of kernels: what a user may write, checked, and groups that follow from the kernels."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from octavo.engine.estimators.arrays import Floats, Indices

PRESETS = ("one", "each")


class KernelGroups(NamedTuple):
    """A partition of the kernels: the names of the groups, and the kernels of each."""

    names: list[Any]
    members: list[Indices]

    @property
    def sizes(self) -> list[int]:
        """Return the number of kernels of each group."""
        return [len(kernels) for kernels in self.members]

    @property
    def order(self) -> Indices:
        """Return the kernels, group after group."""
        return np.concatenate(self.members)


def as_kernel_groups(
    groups: Any, n_kernels: int, descriptors: Sequence[Hashable] | None = None
) -> KernelGroups:
    """Return the groups that a user wrote.

    Parameters
    ----------
    groups : None, str, array-like of shape (n_kernels,) or list of lists of int
        A label for each kernel; the kernels of each group; ``"one"`` group of all, ``"each"``
        kernel a group of its own. None: kernels with the same descriptor belong together, all
        kernels where there are no descriptors.
    n_kernels : int
        Number of kernels.
    descriptors : sequence of hashable, default=None
        What each kernel looks at.

    Returns
    -------
    KernelGroups
        Groups in the order of their first kernels, or as they were listed.
    """
    if groups is None:
        return _by_label([0] * n_kernels if descriptors is None else list(descriptors))
    if isinstance(groups, str):
        if groups not in PRESETS:
            raise ValueError(
                f"groups must be one label per kernel, a list of lists of kernels, or one of "
                f"{PRESETS}; got {groups!r}."
            )
        return _by_label([0] * n_kernels if groups == "one" else list(range(n_kernels)))
    if isinstance(groups, (bytes, dict, set)) or not hasattr(groups, "__len__"):
        raise ValueError(
            f"groups must be one label per kernel or a list of lists of kernels, got {groups!r}."
        )
    if any(isinstance(group, (list, tuple, range, np.ndarray)) for group in groups):
        return _listed(groups, n_kernels)
    labels = np.asarray(groups).tolist()
    if len(labels) != n_kernels:
        raise ValueError(
            f"groups must hold one label per kernel: there are {n_kernels} kernels, got "
            f"{len(labels)} labels."
        )
    if any(label is None or label != label for label in labels):
        raise ValueError("groups must hold a label for every kernel; some are missing.")
    return _by_label(labels)


def _by_label(labels: Sequence[Hashable]) -> KernelGroups:
    """Return the kernels of each label, in the order in which labels first appear."""
    found: dict[Hashable, list[int]] = {}
    for kernel, label in enumerate(labels):
        found.setdefault(label, []).append(kernel)
    members = [np.array(kernels, dtype=np.intp) for kernels in found.values()]
    return KernelGroups(list(found), members)


def _listed(groups: Any, n_kernels: int) -> KernelGroups:
    """Return groups that were written as lists of kernels; together they must be a partition."""
    members = []
    for position, group in enumerate(groups):
        kernels = np.atleast_1d(np.asarray(group))
        if not kernels.size:
            raise ValueError(f"groups[{position}] is empty; every group needs a kernel.")
        if kernels.ndim != 1 or kernels.dtype.kind not in "iu":
            raise ValueError(f"groups[{position}] must list numbers of kernels, got {group!r}.")
        if kernels.min() < 0 or kernels.max() >= n_kernels:
            raise ValueError(
                f"groups[{position}] must hold kernels from 0 to {n_kernels - 1}, got {group!r}."
            )
        members.append(kernels.astype(np.intp))
    counts = np.bincount(np.concatenate(members), minlength=n_kernels)
    if (counts != 1).any():
        kernel = int(np.flatnonzero(counts != 1)[0])
        where = "no group" if counts[kernel] == 0 else f"{counts[kernel]} places"
        raise ValueError(
            f"groups must hold every kernel exactly once; kernel {kernel} is in {where}."
        )
    return KernelGroups(list(range(len(members))), members)


def without_kernels(groups: KernelGroups, dropped: Indices) -> KernelGroups:
    """Return the groups less some kernels, and less the groups that have none left."""
    left = [kernels[~np.isin(kernels, dropped)] for kernels in groups.members]
    kept = [j for j, kernels in enumerate(left) if len(kernels)]
    return KernelGroups([groups.names[j] for j in kept], [left[j] for j in kept])


def by_group(values: Floats, groups: KernelGroups) -> list[Floats]:
    """Return values of kernels as one array per group."""
    return [values[kernels] for kernels in groups.members]
