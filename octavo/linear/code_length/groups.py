"""Codes of features that stand in groups: switches, subsets of groups, whole groups, no groups.

Reference: Dhillon, Foster and Ungar (2011), section 4.2 and, for groups and features whose codes
are learnt from other tasks, section 7.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from octavo.engine.estimators.arrays import Floats, Indices, Numbers
from octavo.linear.code_length.codes import c_normalizer, lg_binomial, lgstar

SCHEMES = ("switch", "subset", "full", "ric")


def as_group_labels(groups: Any, p: int) -> Indices:
    """Return the number of the group of each feature, 0 to K - 1.

    Parameters
    ----------
    groups : array-like of shape (p,), sequence of sequence of int, or None
        A label for each feature; or the features of each group, every feature once; or None for
        one group of all.
    p : int
        Features.

    Returns
    -------
    ndarray of shape (p,)
        Numbers of groups.
    """
    if groups is None:
        return np.zeros(p, dtype=np.intp)
    if isinstance(groups, (str, bytes, dict)) or not hasattr(groups, "__len__"):
        raise ValueError(
            f"groups must be a label for each of the {p} features, or the features of each group; "
            f"got {groups!r:.60}."
        )
    if len(groups) and all(
        hasattr(group, "__len__") and not isinstance(group, (str, bytes)) for group in groups
    ):
        return _from_members(groups, p)
    labels = np.asarray(groups)
    if labels.shape != (p,):
        raise ValueError(
            f"groups must be a label for each of the {p} features, or the features of each group; "
            f"got an array of shape {labels.shape}."
        )
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError("groups must have a label for every feature; it contains NaN or infinity.")
    if labels.dtype.kind not in "iufbUS" and not all(isinstance(v, (str, int)) for v in labels):
        raise ValueError(f"groups must hold numbers or names, got {groups!r:.60}.")
    return np.unique(labels, return_inverse=True)[1].astype(np.intp)


def _from_members(groups: Sequence[Any], p: int) -> Indices:
    members = [np.asarray(group) for group in groups]
    if any(m.ndim != 1 or not m.size or m.dtype.kind not in "iu" for m in members):
        raise ValueError("Each of groups must hold the numbers of one feature or more.")
    flat = np.concatenate(members)
    counts = np.bincount(flat[(flat >= 0) & (flat < p)], minlength=p)
    if flat.size != p or not (counts == 1).all():
        wrong = np.flatnonzero(counts != 1)
        seen = f"feature {wrong[0]} is in {counts[wrong[0]]} of them" if wrong.size else "more"
        raise ValueError(
            f"groups must be a partition of the {p} features, each in exactly one; {seen}."
        )
    labels = np.empty(p, dtype=np.intp)
    for g, group in enumerate(members):
        labels[group] = g
    return labels


@dataclass
class GroupCode:
    """Bits of sets of features under one scheme.

    Parameters
    ----------
    group_of : ndarray of shape (p,)
        The group of each feature.
    scheme : {"switch", "subset", "full", "ric"}
        The code.
    coef_bits : float
        Bits of a coefficient.
    index : {"groups", "paper"}
        Whether a group's index takes lg K bits in "subset" and "full", or the paper's lg p.
    new_bits, feature_bits : ndarray of shape (K,) and (p,), optional
        Bits of the first entry of a group, and of a feature within its group, that replace
        the uniform code of "switch" (or, for features alone, of "ric").
    """

    group_of: Indices
    scheme: str = "switch"
    coef_bits: float = 2.0
    index: str = "groups"
    new_bits: Any = None
    feature_bits: Any = None

    def __post_init__(self) -> None:
        self.p, self.K = self.group_of.size, int(self.group_of.max()) + 1
        self.sizes = np.bincount(self.group_of, minlength=self.K)
        self.members = [np.flatnonzero(self.group_of == g) for g in range(self.K)]
        self.learnt = self.new_bits is not None
        if self.feature_bits is None:
            uniform = np.log2(self.sizes[self.group_of])  # lg m_i
            self.feature_bits = (
                uniform if self.scheme == "switch" else np.full(self.p, np.log2(self.p))
            )
        if self.new_bits is None:
            # C of Section 4.2.1 for a new group.
            self.new_bits = np.full(self.K, 1.0 + np.log2(self.K))  # the switch, and which group
        # Section 4.2.1 prints lg p; a group is named by lg K
        self.group_bits = float(np.log2(self.p if self.index == "paper" else self.K))

    def switch_bits(self, n_used: int) -> Floats:
        """Return the bits of each group if it has been used, with Q = n_used groups so far."""
        bits = np.full(self.K, 1.0 + np.log2(max(n_used, 1)))  # C of a group in the model
        # The minimum of Section 7.1
        return np.minimum(bits, self.new_bits) if self.learnt else bits

    def costs(self, used: Numbers) -> Floats:
        """Return the bits of each feature as the next one, given which groups are used: Eq. (9)."""
        own: Floats = self.feature_bits + self.coef_bits
        if self.scheme == "ric":
            return own
        groups = np.where(used, self.switch_bits(int(used.sum())), self.new_bits)
        return groups[self.group_of] + own  # Eq. (9)

    def subset_costs(self, group: int, most: int) -> Floats:
        """Return the bits of 1, ..., most features of a group: Eq. (5) in the role of tasks."""
        m = int(self.sizes[group])
        k = np.arange(1.0, most + 1.0)
        subset = lgstar(k) + c_normalizer(m) + lg_binomial(float(m), k)  # lg* k + c + lg C(m, k)
        return self.group_bits + subset + self.coef_bits * k

    def full_cost(self, group: int) -> float:
        """Return the bits of a whole group."""
        return self.group_bits + self.coef_bits * float(self.sizes[group])

    def total(self, order: Sequence[int]) -> float:
        """Return the bits of a set of features that entered in this order."""
        if self.scheme in ("subset", "full"):
            groups, counts = np.unique(self.group_of[list(order)], return_counts=True)
            if self.scheme == "full":
                return float(sum(self.full_cost(g) for g in groups.tolist()))
            found = zip(groups.tolist(), counts.tolist())
            return float(sum(self.subset_costs(g, k)[-1] for g, k in found))
        used, bits = np.zeros(self.K, dtype=bool), 0.0
        for j in order:
            bits += float(self.costs_of(j, used))
            used[self.group_of[j]] = True
        return bits

    def costs_of(self, j: int, used: Numbers) -> float:
        """Return the bits of one feature as the next one."""
        own = self.feature_bits[j] + self.coef_bits
        if self.scheme == "ric":
            return float(own)
        g = self.group_of[j]
        group = self.switch_bits(int(used.sum()))[g] if used[g] else self.new_bits[g]
        return float(group + own)

    def removals(self, order: Sequence[int]) -> Floats:
        """Return by how many bits the set becomes shorter without each of its features."""
        if self.scheme == "ric":
            return np.asarray(self.feature_bits[list(order)] + self.coef_bits)
        if self.scheme == "full":  # with all of its group
            return np.array([self.full_cost(int(g)) for g in self.group_of[list(order)]])
        whole, saved = self.total(order), np.empty(len(order))
        by_group: dict[int, float] = {}
        used = np.zeros(self.K, dtype=bool)
        for i, j in enumerate(order):
            g = int(self.group_of[j])
            is_first, before = not used[g], used.copy()
            used[g] = True
            if self.scheme == "switch" and not is_first:
                saved[i] = self.costs_of(j, before)  # no other entry changes its code
                continue
            if self.scheme == "switch" or g not in by_group:
                by_group[g] = whole - self.total([*order[:i], *order[i + 1 :]])
            saved[i] = by_group[g]
        return saved
