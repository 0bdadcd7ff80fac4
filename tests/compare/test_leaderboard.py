"""Intervals and tests against formulas worked out apart, and places as they must be."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from octavo.compare.candidates import Candidate
from octavo.compare.folds import FoldOutcome
from octavo.compare.leaderboard import (
    common_folds,
    corrected_interval,
    corrected_t_test,
    holm,
    make_leaderboard,
    usual_params,
)
from octavo.compare.runner import RunLog

SCORES = [0.8, 0.85, 0.78, 0.83, 0.9]
OTHERS = [0.7, 0.81, 0.79, 0.75, 0.8]


def test_the_corrected_test_is_nadeau_and_bengios():
    d = np.subtract(SCORES, OTHERS)
    t = d.mean() / np.sqrt((1 / 5 + 0.25) * d.var(ddof=1))
    assert corrected_t_test(SCORES, OTHERS, 0.25) == pytest.approx(2 * stats.t.cdf(-abs(t), 4))
    # Without overlap it is the paired t-test.
    assert corrected_t_test(SCORES, OTHERS, 0.0) == pytest.approx(
        stats.ttest_rel(SCORES, OTHERS).pvalue
    )


def test_the_interval_is_what_the_test_does_not_reject():
    low, high = corrected_interval(SCORES, 0.25)
    for bound in (low, high):
        assert corrected_t_test(SCORES, np.full(5, bound), 0.25) == pytest.approx(0.05)
    plain = stats.t.interval(0.95, 4, np.mean(SCORES), stats.sem(SCORES))
    np.testing.assert_allclose(corrected_interval(SCORES, 0.0), plain)


def test_one_fold_and_equal_scores():
    assert np.isnan(corrected_interval([0.5], 0.25)).all()
    assert np.isnan(corrected_t_test([0.5], [0.4], 0.25))
    assert corrected_t_test(SCORES, SCORES, 0.25) == 1
    assert corrected_t_test([0.5, 0.5], [0.25, 0.25], 0.25) == 0


def test_holm_worked_by_hand():
    np.testing.assert_allclose(holm([0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02])
    np.testing.assert_allclose(holm([0.5, 0.9]), [1.0, 1.0])


@given(st.lists(st.integers(0, 100).map(lambda k: k / 100), min_size=1, max_size=8))
@settings(max_examples=60, deadline=None)
def test_holm_lies_between_the_raw_and_bonferroni(p):
    corrected = holm(p)
    assert (corrected >= np.asarray(p) - 1e-15).all()
    assert (corrected <= np.minimum(len(p) * np.asarray(p), 1) + 1e-12).all()
    # The definition: step down through the sorted values, each times the number that are left.
    order = np.argsort(p, kind="stable")
    for rank, place in enumerate(order):
        steps = [(len(p) - i) * p[order[i]] for i in range(rank + 1)]
        assert corrected[place] == pytest.approx(min(1.0, max(steps)), abs=1e-12)


def log_of(table, errors=()):
    outcomes = {}
    for name, scores in table.items():
        for fold, score in enumerate(scores):
            outcomes[name, fold] = FoldOutcome(
                name, fold, score, {"accuracy": score}, {}, n_train=80, n_test=20
            )
    for name, fold, error in errors:
        outcomes[name, fold] = FoldOutcome(name, fold, error=error)
    return RunLog(outcomes, "time budget")


def candidates(*names):
    return [Candidate(name, "octavo", None) for name in names]


def test_places_ties_failures_and_the_unfinished():
    log = log_of(
        {
            "good": [0.9] * 5,
            "same": [0.9, 0.9, 0.9, 0.9, 0.91],
            "bad": [0.5, 0.51, 0.5, 0.49, 0.5],
            "slow": [0.99],
            "broken": [0.9],
        },
        [("broken", 1, "ValueError: no"), ("dead", 0, "out of memory")],
    )
    board = make_leaderboard(
        candidates("bad", "good", "same", "slow", "broken", "dead", "never"),
        log,
        5,
        100,
        "accuracy",
    )
    assert [(s.rank, s.name) for s in board.standings] == [(1, "same"), (2, "good"), (3, "bad")]
    assert [s.tied for s in board.standings] == [True, True, False]
    assert {(f.name, f.kind) for f in board.failures} == {
        ("broken", "failed"),
        ("dead", "failed"),
        ("slow", "unfinished"),
        ("never", "unfinished"),
    }
    why = {f.name: f.why for f in board.failures}
    assert why["broken"] == "ValueError: no (in fold 2)"
    assert why["dead"] == "out of memory"
    assert "1 of 5 folds were done" in why["slow"]


def test_equal_means_are_ordered_by_name_and_intervals_stay_below_one():
    board = make_leaderboard(
        candidates("b", "a"), log_of({"b": [1, 0.9, 1], "a": [0.9, 1, 1]}), 3, 90, "accuracy"
    )
    assert [s.name for s in board.standings] == ["a", "b"]
    assert board.standings[0].high == 1.0


def test_a_stopped_run_is_ranked_on_folds_that_most_methods_have():
    whole = [[0, 1, 2, 3, 4]] * 4
    assert common_folds(whole, 5) == [0, 1, 2, 3, 4]
    assert common_folds([*[[0, 1, 2]] * 8, [0, 1, 2, 3], [0, 1]], 5) == [0, 1, 2]
    assert common_folds([[0], [0], []], 5) == [0]
    assert common_folds([[], []], 5) == []


def test_no_outcome_at_all():
    board = make_leaderboard(candidates("a"), RunLog(stopped="interrupted"), 5, 100, "accuracy")
    assert board.standings == []
    assert "interrupted" in board.failures[0].why


def test_settings_of_most_folds():
    grid = [{"C": 1}, {"C": 2}, {"C": 3}]
    candidate = Candidate("a", "octavo", None, grid)
    assert usual_params(candidate, [{"C": 3}, {"C": 2}, {"C": 3}]) == {"C": 3}
    assert usual_params(candidate, [{"C": 3}, {"C": 2}]) == {"C": 2}
