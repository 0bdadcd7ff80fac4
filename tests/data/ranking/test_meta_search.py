"""Simulated engines and ratings have the shares that were asked for."""

import numpy as np
import pytest

from octavo.data import make_meta_search, make_sparse_ratings
from octavo.ranking import kendall_distance


@pytest.mark.parametrize("missing", [0.0, 0.35, 0.65])
def test_the_share_of_missing_ranks(missing):
    ranks, relevance, kinds = make_meta_search(60, missing=missing, random_state=0)
    seen = np.concatenate([R.ravel() for R in ranks])
    # About 34,000 ranks: the standard error is below 0.003.
    assert np.isnan(seen).mean() == pytest.approx(missing, abs=0.012)
    grades = np.concatenate(relevance)
    # About 1,350 documents; standard errors below 0.013.
    assert (grades == 2).mean() == pytest.approx(0.1, abs=0.035)
    assert (grades == 0).mean() == pytest.approx(0.7, abs=0.05)
    assert kinds.size == 25


def test_engines_are_what_they_are_called():
    ranks, relevance, kinds = make_meta_search(40, missing=0.0, random_state=1)
    distance = np.array(
        [
            [kendall_distance(-y, column, normalize=True) for column in R.T]
            for R, y in zip(ranks, relevance)
            if y.max() > y.min()
        ]
    ).mean(axis=0)
    assert distance[kinds == "informative"].max() < 0.4
    assert distance[kinds == "inverted"].min() > 0.6
    assert abs(distance[kinds == "noise"].mean() - 0.5) < 0.05


def test_ratings_are_few_for_most_items():
    ratings, quality = make_sparse_ratings(100, 80, n_ratings=1000, random_state=0)
    count = (~np.isnan(ratings)).sum(axis=1)
    assert set(np.unique(ratings[~np.isnan(ratings)])) <= {1, 2, 3, 4, 5}
    assert count.max() > 10 * np.median(count)
    assert quality.shape == (100,)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"n_items": (9, 5)}, "n_items must be a range"),
        ({"missing": 1.0}, "missing must be"),
        ({"n_queries": 0}, "n_queries must be"),
        ({"noise": -1.0}, "noise must be"),
    ],
)
def test_bad_input(arguments, words):
    with pytest.raises(ValueError, match=words):
        make_meta_search(**arguments)
