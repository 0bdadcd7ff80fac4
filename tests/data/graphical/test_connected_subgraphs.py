"""The generator of variables in small connected groups."""

import numpy as np
from scipy.sparse.csgraph import connected_components

from octavo.data import make_connected_subgraphs


def test_model_is_the_papers():
    drawn = make_connected_subgraphs(60, 50, max_size=5, random_state=0)
    precision = drawn.precision
    np.testing.assert_array_equal(np.diag(precision), 62.0)
    entries = precision[drawn.adjacency]
    assert entries.min() >= -30.0
    assert entries.max() <= -10.0
    assert not precision[~drawn.adjacency & ~np.eye(60, dtype=bool)].any()
    assert np.linalg.eigvalsh(precision)[0] > 0
    np.testing.assert_allclose(precision @ drawn.covariance, np.eye(60), atol=1e-9)
    sizes = np.bincount(connected_components(drawn.adjacency)[1])
    assert sizes.max() <= 5
    assert drawn.adjacency.sum() // 2 >= 60 - len(sizes)  # each group holds a tree


def test_rows_have_the_model_and_margins_are_uniform():
    drawn = make_connected_subgraphs(6, 20_000, random_state=1)
    error = np.abs(np.cov(drawn.X, rowvar=False) - drawn.covariance)
    assert error.max() < 5 * drawn.covariance.max() * np.sqrt(2 / 20_000)
    bent = make_connected_subgraphs(6, 200, "uniform", random_state=1)
    np.testing.assert_allclose(np.sort(bent.X, axis=0)[:, 0], np.arange(1, 201) / 200)
    plain = make_connected_subgraphs(6, 200, random_state=1)
    np.testing.assert_array_equal(bent.X.argsort(axis=0), plain.X.argsort(axis=0))
