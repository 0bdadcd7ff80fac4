"""Independent subspace analysis beside FastICA alone, and its searches."""

from __future__ import annotations

import numpy as np
from sklearn.decomposition import FastICA

from benchmarks.harness import Contest
from octavo.data import make_subspace_mixture
from octavo.decomposition import (
    IndependentSubspaceAnalysis,
    amari_index,
    find_subspaces,
)


def letters():
    return make_subspace_mixture("letters", n_subspaces=5, n_samples=2000, random_state=0)


def analysed(sample):
    model = IndependentSubspaceAnalysis(subspace_dims=[2] * 5, random_state=0).fit(sample.X)
    return model.unmixing_, model.subspaces_


def components_only(sample):
    """FastICA; the groups are then taken from the truth, which it cannot know."""
    model = FastICA(whiten="unit-variance", max_iter=1000, random_state=0).fit(sample.X)
    G = np.abs(model.components_ @ sample.mixing)
    owner = np.array([[np.linalg.norm(row[g]) for g in sample.subspaces] for row in G]).argmax(1)
    return model.components_, [np.flatnonzero(owner == m) for m in range(len(sample.subspaces))]


def separated(sample, answers):
    indices = {
        name: amari_index(W, sample.mixing, groups, sample.subspaces)
        for name, (W, groups) in answers.items()
    }
    assert max(indices.values()) < 3 / np.sqrt(len(sample.X))
    listed = ", ".join(f"{name} {index:.4f}" for name, index in indices.items())
    return f"Amari index {listed}; only octavo finds the groups."


def clean_components():
    sample = make_subspace_mixture("wires", n_subspaces=3, n_samples=1000, random_state=0)
    return sample.sources[:, np.random.default_rng(0).permutation(9)]


def search(optimizer):
    return lambda S: find_subspaces(S, [3, 3, 3], optimizer=optimizer, random_state=0)


def same_groups(S, answers):
    groups = [
        {frozenset(group.tolist()) for group in found.subspaces} for found in answers.values()
    ]
    assert all(other == groups[0] for other in groups)
    return "All find the same subspaces, the least of 280 by enumeration."


CONTESTS = [
    Contest(
        name="letters",
        problem="five letters of two dimensions, n = 2,000",
        setup=letters,
        solvers={"octavo": analysed, "scikit-learn FastICA, groups known": components_only},
        agree=separated,
        repeats=3,
        limit="FastICA and then one entropy a rotation of two components",
    ),
    Contest(
        name="searches",
        problem="nine components, three subspaces of three, n = 1,000, sum of entropies",
        setup=clean_components,
        solvers={
            "octavo, greedy": search("greedy"),
            "octavo, cross-entropy": search("ce"),
            "octavo, spectral": search("spectral"),
            "octavo, exhaustive": search("exhaustive"),
        },
        agree=same_groups,
        repeats=3,
        limit="one entropy a pair of components and candidate",
    ),
]
