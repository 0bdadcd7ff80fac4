"""Brute force over all labellings, and random energies."""

import itertools

import numpy as np

from octavo.graphical import PairwiseMRF


def all_labellings(mrf):
    return np.array(list(itertools.product(range(mrf.n_labels), repeat=mrf.n_variables)))


def all_energies(mrf, labellings=None):
    """Energies of labellings by the definition, in plain loops over edges."""
    f = all_labellings(mrf) if labellings is None else labellings
    total = mrf.unary[np.arange(mrf.n_variables), f].sum(axis=1)
    d = {"linear": np.abs, "quadratic": np.square}.get(mrf.d) or np.vectorize(mrf.d)
    for (a, b), w in zip(mrf.edges, mrf.weights):
        total += w * np.minimum(d((f[:, a] - f[:, b]).astype(float)), mrf.truncation)
    return total


GRID = np.array([[0, 1], [1, 2], [3, 4], [4, 5], [0, 3], [1, 4], [2, 5]])


def random_mrf(seed, d="linear", truncation=None, n_labels=5, edges=GRID, n=6):
    rng = np.random.default_rng(seed)
    return PairwiseMRF(
        rng.uniform(0, 10, (n, n_labels)), edges, rng.uniform(0, 5, len(edges)), d, truncation
    )
