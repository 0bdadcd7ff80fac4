"""Planted label chains have the frequencies of their model."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose

from octavo.data import make_label_chain


def test_frequencies_are_those_of_the_ising_model():
    n, m = 3, 40_000
    X, Y, edges = make_label_chain(
        m, n_labels=n, n_features=1, signal=1e-9, shuffle=False, coupling=0.6, random_state=1
    )
    signs = 2 * Y - 1
    pulls = [0.6 * np.sign(np.mean(signs[:, i] * signs[:, i + 1])) for i in range(2)]
    sets = np.array(list(itertools.product((-1, 1), repeat=n)))
    weights = np.exp(pulls[0] * sets[:, 0] * sets[:, 1] + pulls[1] * sets[:, 1] * sets[:, 2])
    weights /= weights.sum()
    codes = (Y @ [4, 2, 1]).astype(int)
    # four standard errors of a share of 40,000
    assert_allclose(np.bincount(codes, minlength=8) / m, weights, atol=4 * 0.5 / np.sqrt(m))
    assert edges.tolist() == [[0, 1], [1, 2]]


def test_seeds_repeat_and_bad_sizes_are_named():
    one, two = (make_label_chain(20, random_state=3) for _ in range(2))
    assert all((a == b).all() for a, b in zip(one, two))
    with pytest.raises(ValueError, match="n_labels at least 2"):
        make_label_chain(10, n_labels=1)
    with pytest.raises(ValueError, match="finite"):
        make_label_chain(10, coupling=np.inf)
