"""Samples, pairs and groups of variables: what is accepted, and what is said of the rest."""

import numpy as np
import pytest

from octavo.engine.estimators.samples import (
    as_blocks,
    as_columns,
    as_pair,
    as_sample,
    same_sample,
)

X = np.random.default_rng(0).normal(size=(80, 3))
Y = np.random.default_rng(1).normal(0.3, 1.0, size=(60, 3))


def test_a_vector_is_one_column_and_complex_numbers_are_pairs():
    assert as_sample([1.0, 2.0, 3.0]).shape == (3, 1)
    Z = X[:, :2] + 1j * Y[:1, 0]
    np.testing.assert_array_equal(as_sample(Z), np.hstack([Z.real, Z.imag]))


def test_what_already_is_a_sample_is_not_copied():
    assert as_sample(X) is X
    assert as_blocks(X, Y=X)[1] is X


def test_complex_columns_are_refused_where_there_is_no_order():
    with pytest.raises(ValueError, match="complex"):
        as_columns(X[:, 0] + 1j)
    with pytest.raises(ValueError, match="S is complex"):
        as_sample(X + 1j, "S", allow_complex=False)


def test_groups_of_complex_columns_take_both_parts_along():
    Z = X + 1j * X[::-1]
    first, second = as_blocks(Z, groups=[[0, 2], [1]])
    np.testing.assert_array_equal(first, np.hstack([Z.real[:, [0, 2]], Z.imag[:, [0, 2]]]))
    np.testing.assert_array_equal(second, np.column_stack([Z.real[:, 1], Z.imag[:, 1]]))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"groups": [[0], [0, 1]]}, "disjoint"),
        ({"groups": [[0], [7]]}, "column numbers of X"),
        ({"groups": [[0], []]}, "empty"),
        ({"groups": [[0, 1, 2]]}, "at least two groups"),
        ({"groups": [[0], [1]], "Y": X}, "not both"),
        ({"Y": X[:50]}, "same number of rows"),
    ],
)
def test_groups_say_what_is_wrong(arguments, words):
    with pytest.raises(ValueError, match=words):
        as_blocks(X, **arguments)


def test_groups_of_one_column_may_be_numbers():
    blocks = as_blocks(X, groups=[2, [0, -2]])
    np.testing.assert_array_equal(blocks[0], X[:, [2]])
    np.testing.assert_array_equal(blocks[1], X[:, [0, 1]])


def test_blocks_without_density_are_named():
    flat = np.column_stack([X, np.full(80, 2.0)])
    with pytest.raises(ValueError, match=r"group 1 of X has no density: 1 of its 2 columns"):
        as_blocks(flat, groups=[[0], [1, 3]], density=True)
    assert len(as_blocks(flat, groups=[[0], [1, 3]])) == 2


def test_pairs_have_the_same_columns():
    first, second = as_pair(X, Y)
    assert first is X
    assert second is Y
    with pytest.raises(ValueError, match="same number of columns, got 3 and 2"):
        as_pair(X, Y[:, :2])


def test_columns_of_two_arrays_stand_side_by_side():
    np.testing.assert_array_equal(as_columns(X[:, 0], X[:, 2]), X[:, [0, 2]])
    with pytest.raises(ValueError, match="got 80 and 60"):
        as_columns(X, Y)
    with pytest.raises(ValueError, match="at least 2 variables, got 1"):
        as_columns(X[:, 0])


def test_the_same_sample_is_known_by_its_contents():
    assert same_sample(X, X.copy())
    assert not same_sample(X, X[:60])
    assert not same_sample(X[:60], Y)
