"""Adherences from labels, the random field by enumeration, features by singular vectors."""

import numpy as np
import pytest

from octavo.ranking import SupervisedPreferenceModel


def test_adherence_is_the_share_of_judged_pairs_in_the_right_order():
    R = np.array([[1, 3, np.nan, np.nan], [2, 2, 1, np.nan], [3, 1, 1, np.nan], [4, np.nan, 2, 1]])
    y = np.array([2, 1, 1, 0])
    expected = []
    for column in R.T:
        right = judged = 0
        for i in range(4):
            for j in range(4):
                if y[i] > y[j] and not np.isnan(column[[i, j]]).any() and column[i] != column[j]:
                    judged += 1
                    right += column[i] < column[j]
        expected.append(right / judged if judged else np.nan)
    expected[3] = np.nanmean(expected)  # one item: nothing to judge by
    model = SupervisedPreferenceModel().fit([R], [y])
    np.testing.assert_allclose(model.adherence_, expected)


def test_queries_of_one_table_are_those_of_a_list():
    rng = np.random.default_rng(0)
    tables = [np.stack([rng.permutation(5) + 1.0 for _ in range(3)], axis=1) for _ in range(4)]
    grades = [rng.integers(0, 3, 5) for _ in range(4)]
    one = SupervisedPreferenceModel().fit(tables, grades)
    qid = np.repeat([7, 3, 9, 1], 5)
    other = SupervisedPreferenceModel().fit(np.vstack(tables), np.concatenate(grades), qid=qid)
    np.testing.assert_array_equal(one.adherence_, other.adherence_)
    np.testing.assert_allclose(one.predict(tables[0]), one.aggregate(tables)[0], atol=1e-9)


@pytest.mark.parametrize(
    ("X", "y", "words"),
    [
        ([[[1.0], [2.0]]], [[1, 1]], "nothing to learn from"),
        ([[[1.0], [2.0]]], [[1, 0, 0]], "query 0 holds 3 grades for 2 items"),
        ([[[1.0], [2.0]], [[0.0], [1.0]]], [[1, 0], [1, 0]], "Instance 1: Ranks must"),
        ([[[1.0], [2.0]], [[1.0, 2.0], [1.0, 2.0]]], [[1, 0], [1, 0]], "Instance 1 has 2 experts"),
        ([[[1.0], [2.0]]], None, "y is missing"),
        ([[[1.0], [np.nan]]], [[1, 0]], "no preference"),
    ],
)
def test_bad_input(X, y, words):
    with pytest.raises(ValueError, match=words):
        SupervisedPreferenceModel().fit(X, y)
