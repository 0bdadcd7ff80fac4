"""Expectations and verdicts."""

import math

import pytest
from scipy import stats

from octavo.catalogue import Method, Paper, UnknownNameError, find_method, find_paper
from octavo.claims import (
    NotMeasurable,
    at_least,
    at_most,
    holds,
    mean_interval,
    run_claim,
    within,
)
from octavo.data import load_dataset

METHOD = Method("M", "ranking", "m", *["a long enough text"] * 5, ("peer",), ("plot",))


def result_of(measure, expect, seeds=(0,), published=1.0, full=False, full_seeds=None):
    paper = Paper("p", "Title", "A. Author", 2000, "Venue", (METHOD,))
    paper.claim(
        says="s", where="w", published=published, expect=expect, seeds=seeds, full_seeds=full_seeds
    )(measure)
    return run_claim(paper.claims[0], full=full)


def test_interval_is_students():
    low, mean, high = mean_interval([1.0, 2.0, 4.0])
    reference = stats.t.interval(0.95, 2, loc=7 / 3, scale=stats.sem([1, 2, 4]))
    assert mean == pytest.approx(7 / 3)
    assert (low, high) == pytest.approx(reference)
    assert mean_interval([3.0]) == (3.0, 3.0, 3.0)


@pytest.mark.parametrize(
    ("value", "expect", "verdict"),
    [
        (1.05, within(0.1, 1.0, because="b"), "reproduced"),
        (1.15, within(0.1, 1.0, because="b"), "refuted"),
        (2.0, at_least(2.0, because="b"), "reproduced"),
        (1.99, at_least(2.0, because="b"), "refuted"),
        (1.0, at_most(0.5, because="b"), "refuted"),
        (1.0, holds(because="b"), "reproduced"),
        (0.0, holds(because="b"), "refuted"),
    ],
)
def test_verdict_on_one_value(value, expect, verdict):
    result = result_of(lambda run: value, expect)
    assert result.verdict == verdict
    assert ("expected" in result.evidence) == (verdict == "refuted")


def test_an_interval_that_straddles_the_bound_decides_nothing():
    result = result_of(lambda run: float(run.seed), at_least(1.0, because="b"), seeds=(0, 1, 2))
    assert result.verdict == "not measurable here"
    assert "straddles" in result.evidence
    assert "seeds 0, 1, 2" in result.evidence
    clear = result_of(lambda run: 5.0 + run.seed / 10, at_least(1.0, because="b"), seeds=(0, 1, 2))
    assert clear.verdict == "reproduced"


def test_every_seed_must_hold():
    result = result_of(lambda run: float(run.seed != 1), holds(because="b"), seeds=(0, 1))
    assert result.verdict == "refuted"
    assert result.measured_text == "holds in 50%"


def test_not_measurable_and_failures_are_told_apart():
    def missing(run):
        raise NotMeasurable("no data")

    def broken(run):
        raise ZeroDivisionError("oh")

    assert result_of(missing, holds(because="b")).verdict == "not measurable here"
    failed = result_of(broken, holds(because="b"))
    assert failed.verdict == "failed"
    assert "ZeroDivisionError: oh (broken" in failed.evidence
    assert result_of(lambda run: math.nan, holds(because="b")).verdict == "failed"


def test_a_missing_data_set_is_not_a_failure(tmp_path, monkeypatch):
    def measure(run):
        return float(load_dataset("uci/sonar").data.mean())

    monkeypatch.setenv("OCTAVO_DATA", str(tmp_path))
    monkeypatch.setenv("OCTAVO_CACHE", str(tmp_path))
    result = result_of(measure, holds(because="b"))
    assert result.verdict == "not measurable here"
    assert "fetch_dataset('uci/sonar')" in result.evidence
    (tmp_path / "uci").mkdir()
    (tmp_path / "uci/sonar.csv").write_text("1,2,3")
    assert result_of(measure, holds(because="b")).verdict == "failed"  # damage is not absence


def test_full_runs_use_their_own_seeds_and_notes_are_kept():
    def measure(run):
        run.note(f"full={run.full}")
        return float(run.seed)

    result = result_of(measure, within(1, 7, because="b"), full=True, full_seeds=(7,))
    assert result.measured == 7.0
    assert result.as_dict()["evidence"] == "full=True"


def test_unknown_names_suggest_the_nearest():
    assert find_method("onlineranker")[1].name == "OnlineRanker"
    with pytest.raises(UnknownNameError, match="did you mean OnlineRanker"):
        find_method("OnlinRanker")
    with pytest.raises(UnknownNameError, match="online-ranking"):
        find_paper("online-rankin")
