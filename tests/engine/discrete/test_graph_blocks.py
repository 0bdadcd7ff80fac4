"""Blocks are connected components."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from octavo.engine.discrete.graph_blocks import block_support, connected_blocks


def test_known_graph():
    A = np.zeros((5, 5), dtype=bool)
    A[0, 3] = A[3, 0] = A[3, 4] = A[4, 3] = True
    assert [block.tolist() for block in connected_blocks(A)] == [[0, 3, 4], [1], [2]]


@given(st.integers(0, 2**32 - 1), st.integers(1, 12))
def test_components_by_matrix_powers(seed, n):
    """Two nodes share a block exactly if a power of (I + A) joins them."""
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.uniform(size=(n, n)) < 1.0 / n, 1)
    A = upper | upper.T
    blocks = connected_blocks(A)
    reach = np.linalg.matrix_power((A + np.eye(n)).astype(float), n) > 0
    np.testing.assert_array_equal(block_support(blocks, n), reach)
    assert sorted(np.concatenate(blocks).tolist()) == list(range(n))
    assert all((np.diff(block) > 0).all() for block in blocks)
