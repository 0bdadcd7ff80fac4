"""Matches against all permutations."""

from itertools import permutations

import numpy as np
import pytest

from octavo.decomposition import source_match


def test_the_best_permutation_is_found():
    rng = np.random.default_rng(0)
    for _ in range(20):
        S = rng.normal(size=(50, 4))
        E = S @ rng.normal(size=(4, 4))
        table = np.abs(np.corrcoef(S.T, E.T)[:4, 4:])
        best = max(table[range(4), order].sum() for order in permutations(range(4)))
        match = source_match(E, S)
        assert match.cc.sum() == pytest.approx(best)
        assert set(np.abs(match.signs)) == {1.0}
        aligned = E[:, match.order] * match.signs
        own = [np.corrcoef(aligned[:, k], S[:, k])[0, 1] for k in range(4)]
        np.testing.assert_allclose(own, match.cc, atol=1e-12)
        np.testing.assert_allclose(match.snr, match.cc**2 / (1 - match.cc**2), rtol=1e-6)
        np.testing.assert_allclose(match.snr_db, 10 * np.log10(match.snr), rtol=1e-9)


def test_numbers_of_columns_may_differ():
    S = np.random.default_rng(1).normal(size=(30, 3))
    assert source_match(S[:, :2], S).order.tolist() == [0, 1, -1]
    assert source_match(S[:, :2], S).cc[2] == 0
    assert source_match(S[:, ::-1], S[:, 1]).order.tolist() == [1]
    np.testing.assert_allclose(source_match(-1e200 * S, 1e-200 * S).cc, 1.0)


@pytest.mark.parametrize(
    ("estimates", "sources", "words"),
    [
        (np.zeros((5, 2)), np.ones((4, 2)), "same two rows"),
        (np.zeros((5, 2)), np.arange(10.0).reshape(5, 2), "constant"),
        ([[np.nan], [1.0]], [[1.0], [2.0]], "position 0"),
    ],
)
def test_bad_input_is_told(estimates, sources, words):
    with pytest.raises(ValueError, match=words):
        source_match(estimates, sources)
