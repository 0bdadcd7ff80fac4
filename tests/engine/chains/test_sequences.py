"""Sequences as lists and stacked arrays are one; bad ones are named."""

import numpy as np
import pytest

from octavo.engine.chains.sequences import locate, split_sequences, stack_sequences


def test_lists_and_stacked_arrays_are_one():
    rng = np.random.default_rng(60)
    parts = [rng.normal(size=(n, 2)) for n in (3, 1, 2)]
    one = stack_sequences(parts)
    other = stack_sequences(np.concatenate(parts), [3, 1, 2])
    np.testing.assert_array_equal(one.values, other.values)
    np.testing.assert_array_equal(one.lengths, other.lengths)
    for part, back in zip(parts, split_sequences(*one)):
        np.testing.assert_array_equal(part, back)
    assert stack_sequences([1, 2, 3]).lengths.tolist() == [3]
    assert stack_sequences([[1, 2, 3], [4]]).lengths.tolist() == [3, 1]
    assert stack_sequences([1, 2, 3], columns=True).values.shape == (3, 1)
    assert stack_sequences([["a", "b"], ["c"]]).values.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("X", "lengths", "words"),
    [
        ([[1, 2], []], None, "sequence 1 is empty"),
        ([], None, "X is empty"),
        (np.zeros((0, 2)), None, "X is empty"),
        ([np.zeros((2, 3)), np.zeros((2, 4))], None, r"sequence 1 has positions of shape \(4,\)"),
        ([[1, 2], 3], None, "sequence 1 is a scalar"),
        (7, None, "array or a list of arrays"),
        (np.zeros(5), [2, 2], "add up to 4, but X has 5 rows"),
        (np.zeros(5), [5, 0], "Sequence 1 has length 0"),
        (np.zeros(5), [7, -2], "Sequence 1 has length -2"),
        (np.zeros(5), [2.5, 2.5], "vector of integers"),
        (np.zeros(5), [], "vector of integers"),
    ],
)
def test_bad_sequences_are_named(X, lengths, words):
    with pytest.raises(ValueError, match=words):
        stack_sequences(X, lengths)


def test_rows_are_located():
    assert locate(0, np.array([3, 2])) == "sequence 0, position 0"
    assert locate(4, np.array([3, 2])) == "sequence 1, position 1"
