"""Metrics beside scikit-learn and the definitions."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, ndcg_score

from octavo.ranking import (
    expected_reciprocal_rank,
    mean_average_precision,
    ndcg_at,
    precision_at,
)


@pytest.mark.parametrize("k", [None, 1, 3, 20])
@pytest.mark.parametrize("ties", [False, True])
def test_ndcg_is_that_of_scikit_learn_with_exponential_gains(k, ties):
    rng = np.random.default_rng(0)
    for _ in range(5):
        grades = rng.integers(0, 4, 9).astype(float)
        scores = rng.integers(0, 3, 9).astype(float) if ties else rng.normal(size=9)
        theirs = ndcg_score([2**grades - 1], [scores], k=k)
        assert ndcg_at(grades, scores, k) == pytest.approx(theirs, abs=1e-12)


def test_average_precision_is_that_of_scikit_learn():
    rng = np.random.default_rng(1)
    grades = [rng.integers(0, 2, 9) for _ in range(4)]
    scores = [rng.normal(size=9) for _ in range(4)]
    theirs = np.mean([average_precision_score(g, s) for g, s in zip(grades, scores)])
    assert mean_average_precision(grades, scores) == pytest.approx(theirs, abs=1e-12)


def test_precision_and_err_by_hand():
    grades, scores = [0, 2, 1, 0], [4, 3, 2, 1]
    assert precision_at(grades, scores, 2) == 0.5
    assert precision_at(grades, scores, 8) == 0.25
    assert precision_at(grades, scores, 3, threshold=2) == pytest.approx(1 / 3)
    assert expected_reciprocal_rank(grades, scores) == pytest.approx(0.75 / 2 + 0.25 * 0.25 / 3)
    assert expected_reciprocal_rank(grades, scores, k=2, max_relevance=3) == pytest.approx(3 / 16)


def test_a_query_without_a_relevant_item_counts_nothing():
    assert ndcg_at([0, 0], [1, 2]) == 0
    assert mean_average_precision([[0, 0], [1, 0]], [[1, 2], [2, 1]]) == 0.5


@pytest.mark.parametrize(
    ("relevance", "scores", "words"),
    [
        ([1, -1], [1, 2], "item 1 has -1"),
        ([1, 0], [1, np.nan], "without NaN"),
        ([1, 0, 2], [1, 2], "3 grades for 2 items"),
        ([[1, 0]], [[1, 2], [1, 2]], "1 queries have relevance"),
        ([], [], "is empty"),
    ],
)
def test_bad_input(relevance, scores, words):
    for metric in (ndcg_at, mean_average_precision, expected_reciprocal_rank):
        with pytest.raises(ValueError, match=words):
            metric(relevance, scores)
