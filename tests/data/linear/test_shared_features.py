"""The generators have the sharing, sizes and noise that they name."""

import numpy as np
import pytest

from octavo.data import (
    make_expression_endpoints,
    make_grouped_features,
    make_shared_features,
    make_word_senses,
)


def test_scenarios_of_table_2():
    counts = {}
    for scenario in ("partial", "full", "independent"):
        sample = make_shared_features(scenario, n_samples=4000, random_state=0)
        assert ((sample.coef != 0).sum(axis=1) == 4).all()
        counts[scenario] = (sample.coef != 0).sum(axis=0)
        left = sample.Y - sample.X @ sample.coef.T
        # 20 tasks of 4000 rows: a variance has a relative error of √(2 / 80,000)
        assert left.var() == pytest.approx(0.1, rel=4.5 * np.sqrt(2 / 80_000))
        np.testing.assert_array_equal(sample.labels, sample.Y.mean(axis=0) <= sample.Y)
    assert counts["partial"][:4].tolist() == [20, 15, 10, 5]
    assert counts["full"].tolist() == [20] * 4 + [0] * 1996
    assert counts["independent"].max() <= 4


def test_groups_of_table_3():
    for sizes, expected in (
        ("unequal", [12, 100, 300, 588]),
        ("equal", [10] * 100),
        ([8, 2], [8, 2]),
    ):
        sample = make_grouped_features(sizes, random_state=0)
        assert np.bincount(sample.groups).tolist() == expected
        assert np.flatnonzero(sample.coef).tolist() == list(range(7))
    wide = make_grouped_features("equal", 5000, random_state=0)
    assert (wide.y - wide.X @ wide.coef).std() == pytest.approx(1.7, rel=0.05)


def test_expression_levels_are_correlated_in_blocks():
    sample = make_expression_endpoints(3000, 400, random_state=0)
    C = np.corrcoef(sample.X.T)
    assert C[0, 1:25].mean() == pytest.approx(0.5, abs=0.03)
    assert abs(C[0, 25:].mean()) < 0.02
    assert ((sample.coef != 0).sum(axis=0) == 5).sum() == 3


def test_words_with_one_meaning_have_the_same_rates():
    words = make_word_senses(rows_rich=4000, n_words=6, n_rich=6, random_state=0)
    rates = {}
    for (X, y), meanings in zip(words.tasks, words.meanings):
        for c in (0, 1):
            rates.setdefault(meanings[c], []).append(X[y == c].mean(axis=0))
    shared = [found for found in rates.values() if len(found) > 1]
    assert shared
    for found in shared:
        assert np.abs(found[0] - found[1]).max() < 0.08
        assert (found[0] > 0.3).sum() == 6


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: make_shared_features(n_features=3), "at most n_features=3"),
        (lambda: make_shared_features("some"), "'scenario'"),
        (lambda: make_grouped_features([3, 4]), "size 3"),
        (lambda: make_grouped_features([0, 4]), "1 or more"),
        (lambda: make_expression_endpoints(n_features=100), "blocks"),
        (lambda: make_word_senses(n_meanings=1), "'n_meanings'"),
    ],
)
def test_wrong_values_are_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()
