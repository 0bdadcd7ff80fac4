"""Intervals and tests against formulas worked out apart, and places as they must be."""

from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from octavo.compare.judging.leaderboard import (
    common_folds,
    make_leaderboard,
    ranked_folds,
    usual_params,
)
from octavo.compare.judging.paired import (
    corrected_interval,
    corrected_t_test,
    holm_beside_the_best,
    interval_in_range,
    long_run_error,
    long_run_test,
    mcnemar,
    paired_bootstrap,
    score_range,
)
from octavo.compare.methods.candidates import Candidate
from octavo.compare.running.folds import FoldOutcome
from octavo.compare.running.runner import RunLog

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
    # No spread to test with: the sign test of two folds, and of five.
    assert corrected_t_test([0.5, 0.5], [0.25, 0.25], 0.25) == 0.5
    assert corrected_t_test([0.75, 0.80], [0.5, 0.55], 0.25) == 0.5
    assert corrected_t_test([0.9] * 5, [0.8] * 5, 0.25) == 0.0625


def test_mcnemar_is_the_binomial_test_of_rows_that_differ():
    a = np.r_[np.ones(50), np.ones(15), np.zeros(5), np.zeros(30)]
    b = np.r_[np.ones(50), np.zeros(15), np.ones(5), np.zeros(30)]
    assert mcnemar(a, b) == pytest.approx(stats.binomtest(15, 20).pvalue)
    assert mcnemar(a, b) == mcnemar(b, a)
    assert mcnemar(a, a) == 1


def test_the_bootstrap_agrees_with_the_t_test_on_many_rows():
    rng = np.random.default_rng(0)
    d = rng.normal(0.15, 1, 300)
    p = paired_bootstrap(np.column_stack([d, -d, np.zeros(300), d + 5]))
    assert p[0] == pytest.approx(stats.ttest_1samp(d, 0).pvalue, abs=0.01)
    assert p[0] == p[1]
    assert p[2] == 1
    assert p[3] == 1 / 10_000
    many = rng.normal(0.02, 1, 9000)  # in blocks
    expected = stats.ttest_1samp(many, 0).pvalue
    assert paired_bootstrap(many[:, None])[0] == pytest.approx(expected, abs=0.02)


def test_the_bootstrap_holds_its_level():
    rng = np.random.default_rng(1)
    p = paired_bootstrap(rng.standard_t(4, size=(60, 1000)), draws=999)
    # 1000 tests at 5 %: a standard deviation is 0.7 %.
    assert (p <= 0.05).mean() == pytest.approx(0.05, abs=0.03)


def test_intervals_are_wilsons_and_stay_in_range():
    share, n = 0.9, 50
    z = stats.norm.ppf(0.975)
    wilson = stats.binomtest(45, 50).proportion_ci(method="wilson")
    low, high = interval_in_range(share, np.sqrt(share * (1 - share) / n), n, 1e9, (0, 1))
    assert (low, high) == pytest.approx((wilson.low, wilson.high), rel=1e-6)
    low, high = interval_in_range(1.0, 0.0, 30, 1e9, (0, 1))
    assert (low, high) == pytest.approx((30 / (30 + z**2), 1.0))
    for score in ("accuracy", "r2", "silhouette", "neg_log_loss", "f1_macro", "concordance"):
        limits = score_range(score)
        for mean in np.linspace(max(limits[0], -3), limits[1], 9):
            low, high = interval_in_range(float(mean), 2.0, 5, 1.0, limits)
            assert limits[0] <= low <= mean + 1e-12
            assert mean - 1e-12 <= high <= limits[1]
    assert score_range("neg_root_mean_squared_error") == (-np.inf, 0)
    assert np.isnan(interval_in_range(0.5, np.nan, 1, 0, (0, 1))).all()


def test_corrected_p_values_worked_by_hand():
    # Five methods have ten pairs; one known to be behind leaves six, then three, then one.
    np.testing.assert_allclose(
        holm_beside_the_best([0.01, 0.04, 0.03, 0.005]), [0.06, 0.09, 0.09, 0.05]
    )
    np.testing.assert_allclose(holm_beside_the_best([0.5, 0.9]), [1.0, 1.0])
    np.testing.assert_allclose(holm_beside_the_best([0.03]), [0.03])


@given(st.lists(st.integers(0, 100).map(lambda k: k / 100), min_size=1, max_size=8))
@settings(max_examples=60, deadline=None)
def test_corrected_p_values_step_down_through_the_pairs_that_are_left(p):
    corrected = holm_beside_the_best(p)
    order = np.argsort(p, kind="stable")
    for rank, place in enumerate(order):
        # The best, and those not yet known to be behind it.
        steps = [comb(len(p) + 1 - i, 2) * p[order[i]] for i in range(rank + 1)]
        assert corrected[place] == pytest.approx(min(1.0, max(steps)), abs=1e-12)


def test_equal_methods_are_rarely_called_different():
    """Of ten methods that guess, the best is not ahead of another in more than a twentieth."""
    rng = np.random.default_rng(0)
    false = 0
    for _ in range(200):
        right = rng.random((10, 300)) < 0.5
        right = right[np.argsort(-right.sum(axis=1), kind="stable")]
        p = [mcnemar(right[0], other) for other in right[1:]]
        false += holm_beside_the_best(p).min() <= 0.05
    assert stats.binomtest(false, 200, 0.05, alternative="greater").pvalue > 0.01


def test_errors_of_means_over_time_are_those_of_slow_waves():
    from scipy.fft import dct

    d = np.random.default_rng(0).normal(size=(100, 3)).cumsum(axis=0)
    error, df = long_run_error(d)
    waves = dct(d, type=2, norm="ortho", axis=0)[1:13]
    np.testing.assert_allclose(error, np.sqrt((waves**2).mean(axis=0) / 100))
    assert df == 12
    p = long_run_test(d)
    np.testing.assert_allclose(p, 2 * stats.t.sf(np.abs(d.mean(axis=0)) / error, 12))
    assert (long_run_test(np.zeros((50, 2))) == 1).all()
    assert (long_run_test(np.ones((5, 2))) == 1).all()


@pytest.mark.parametrize("length", [1, 5, 10])
def test_rows_that_follow_one_another_are_no_more_evidence_than_they_hold(length):
    """Runs of equal differences without a mean give no false verdict by their number."""
    rng = np.random.default_rng(length)
    runs = rng.choice([-1.0, 0.0, 1.0], size=(500 // length, 1000))
    p = long_run_test(np.repeat(runs, length, axis=0))
    assert stats.binomtest(int((p <= 0.05).sum()), 1000, 0.05, alternative="greater").pvalue > 0.01


@pytest.mark.parametrize("n", [5, 10, 60])
def test_few_groups_are_not_called_different_too_often(n):
    p = paired_bootstrap(np.random.default_rng(n).normal(size=(n, 600)), draws=1999)
    assert stats.binomtest(int((p <= 0.05).sum()), 600, 0.05, alternative="greater").pvalue > 0.01


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


def test_equal_means_share_a_place_and_intervals_stay_in_range():
    table = {"b": [1, 0.9, 1], "a": [0.9, 1, 1], "c": [0.1, 0.9, 0.2]}
    board = make_leaderboard(candidates("b", "a", "c"), log_of(table), 3, 90, "accuracy")
    assert [(s.rank, s.name) for s in board.standings] == [(1, "b"), (1, "a"), (3, "c")]
    assert all(0 <= s.low < s.high <= 1 for s in board.standings)


def test_a_guess_whose_score_is_a_definition_has_no_interval():
    table = {"RidgeCox": [0.7, 0.75, 0.73, 0.71, 0.74], "KaplanMeier": [0.5] * 5}
    board = make_leaderboard(
        candidates("RidgeCox", "KaplanMeier"), log_of(table), 5, 90, "concordance_harrell"
    )
    cox, guess = board.standings
    assert cox.low < cox.mean < cox.high
    assert np.isnan([guess.low, guess.high]).all()
    assert guess.p_value < 0.05


def test_two_folds_are_no_verdict():
    table = {"a": [0.75, 0.8], "b": [0.5, 0.55]}
    board = make_leaderboard(candidates("a", "b"), log_of(table), 5, 100, "accuracy")
    assert not board.decided
    assert np.isnan(board.standings[1].p_value)


def by_row(right, parts):
    """Outcomes of a method that is right on some rows."""
    return [
        FoldOutcome(
            "", fold, right[rows].mean(), n_train=80, n_test=20, values=right[rows].tolist()
        )
        for fold, rows in enumerate(parts)
    ]


def board_by_row(table, parts, n_rows, cv=5, **more):
    outcomes = {
        (name, fold): outcome
        for name, right in table.items()
        for fold, outcome in enumerate(by_row(right, parts))
    }
    return make_leaderboard(
        candidates(*table),
        RunLog(outcomes),
        cv,
        n_rows,
        "accuracy",
        test_rows=lambda fold: parts[fold],
        **more,
    )


def test_rows_tell_apart_what_five_folds_cannot():
    """1,000 rows, 76.7 % against 70 %: McNemar's p is tiny; the folds' test says chance."""
    rng = np.random.default_rng(0)
    good, plain = np.ones(1000), np.ones(1000)
    good[:233] = 0  # wrong where the other is wrong too, mostly
    plain[:200] = 0
    plain[233:333] = 0
    order = rng.permutation(1000)
    good, plain = good[order], plain[order]
    parts = np.split(rng.permutation(1000), 5)
    board = board_by_row({"good": good, "plain": plain}, parts, 1000)
    first, second = board.standings
    assert (first.name, first.mean) == ("good", pytest.approx(0.767))
    assert second.p_value == pytest.approx(stats.binomtest(100, 133).pvalue)
    assert not second.tied
    wilson = stats.binomtest(767, 1000).proportion_ci(method="wilson")
    assert (first.low, first.high) == pytest.approx((wilson.low, wilson.high), abs=1e-3)


def test_groups_are_resampled_together():
    """Ten groups of a hundred equal rows hold the evidence of ten rows."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(10), 100)
    good = np.repeat([1.0] * 7 + [0.0] * 3, 100)
    plain = np.repeat([1.0] * 4 + [0.0] * 3 + [1.0] * 1 + [0.0] * 2, 100)
    parts = np.split(rng.permutation(1000), 5)
    alone = board_by_row({"good": good, "plain": plain}, parts, 1000)
    grouped = board_by_row({"good": good, "plain": plain}, parts, 1000, groups=groups)
    assert alone.standings[1].p_value < 1e-6
    assert grouped.standings[1].p_value > 0.1
    assert grouped.standings[0].low < alone.standings[0].low
    ten = board_by_row(
        {"good": good[::100], "plain": plain[::100]}, np.split(rng.permutation(10), 5), 10
    )
    for one, other in zip(grouped.standings, ten.standings):
        assert (one.name, one.mean) == (other.name, pytest.approx(other.mean))
        assert (one.low, one.high) == pytest.approx((other.low, other.high), rel=1e-9)


def test_repeats_count_when_all_have_them():
    assert ranked_folds({"a": list(range(9)), "b": list(range(6))}, 3) == (
        list(range(6)),
        ["a", "b"],
    )
    assert ranked_folds({"a": list(range(9)), "b": [0, 1]}, 3) == ([0, 1], ["a", "b"])
    rng = np.random.default_rng(0)
    parts = [part for _ in range(2) for part in np.split(rng.permutation(100), 5)]
    good, bad = (rng.random(100) < 0.9).astype(float), (rng.random(100) < 0.5).astype(float)
    board = board_by_row({"good": good, "bad": bad}, parts, 100)
    assert len(board.folds) == 10
    once = board_by_row({"good": good, "bad": bad}, parts[:5], 100)
    # The same values again are no more rows: the interval stays.
    assert board.standings[0].low == pytest.approx(once.standings[0].low)
    assert not board.standings[1].tied


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
