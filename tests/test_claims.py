"""Expectations and verdicts."""

import math
import re

import pytest
from scipy import stats

from octavo.catalogue import Method, Paper, UnknownNameError, find_method, find_paper
from octavo.claims import (
    NotMeasurable,
    at_least,
    at_most,
    holds,
    mean_interval,
    measured,
    run_claim,
    stated,
    within,
)
from octavo.data import load_dataset

METHOD = Method("M", "ranking", "m", *["a long enough text"] * 5, ("peer",), ("plot",))


def result_of(measure, expect, seeds=(0,), published=1.0, full=False, **about):
    paper = Paper("p", "Title", "A. Author", 2000, "Venue", (METHOD,))
    paper.claim(says="s", where="w", published=published, expect=expect, seeds=seeds, **about)(
        measure
    )
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
    seeds = tuple(range(5))
    result = result_of(lambda run: float(run.seed), at_least(1.0, because="b"), seeds=seeds)
    assert result.verdict == "undecided"
    assert "straddles" in result.evidence
    assert "seeds 0 to 4" in result.evidence
    clear = result_of(lambda run: 5.0 + run.seed / 10, at_least(1.0, because="b"), seeds=seeds)
    assert clear.verdict == "reproduced"


def test_the_whole_interval_counts_for_a_tolerance_too():
    seeds = tuple(range(8))
    noisy = result_of(lambda run: (-1.0) ** run.seed * 3.0, within(1, 0, because="b"), seeds=seeds)
    assert noisy.measured == 0.0
    assert noisy.verdict == "undecided"
    match = re.search(r"about (\d+) seeds would decide", noisy.evidence)
    assert match
    n = int(match[1])
    more = result_of(
        lambda run: (-1.0) ** run.seed * 3.0, within(1, 0, because="b"), seeds=tuple(range(n))
    )
    assert more.verdict == "reproduced"
    near = result_of(lambda run: 2.0 + run.seed / 100, within(1, 0, because="b"), seeds=seeds)
    assert near.verdict == "refuted"


def test_few_seeds_and_seeds_that_never_vary_decide_nothing_on_random_data():
    few = result_of(lambda run: 5.0 + run.seed / 10, at_least(1.0, because="b"), seeds=(0, 1, 2))
    assert few.verdict == "undecided"
    assert "5 are needed" in few.evidence
    constant = result_of(lambda run: 5.0, at_least(1.0, because="b"), seeds=tuple(range(6)))
    assert constant.verdict == "undecided"
    assert "never vary" in constant.evidence
    assert result_of(lambda run: 5.0, at_least(1.0, because="b")).verdict == "reproduced"
    wide = result_of(lambda run: 5.0, at_least(1.0, because="b"), random=True)
    assert wide.verdict == "undecided"


def test_an_identity_is_judged_by_its_worst_seed():
    good = result_of(lambda run: 1e-9 * run.seed, at_most(1e-6, because="b"), seeds=(0, 1))
    assert good.verdict == "reproduced"
    bad = result_of(lambda run: 2e-6 * run.seed, at_most(1e-6, because="b"), seeds=(0, 1))
    assert bad.verdict == "refuted"


def test_a_stand_in_supports_and_does_not_refute():
    given = {"stand_in": "simulated rows"}
    refuted = result_of(lambda run: 1.0, at_least(2.0, because="b"), **given)
    assert refuted.verdict == "undecided"
    assert "does not refute" in refuted.evidence
    assert "stand-in: simulated rows" in refuted.evidence
    assert result_of(lambda run: 3.0, at_least(2.0, because="b"), **given).verdict == "reproduced"


def test_small_effects_have_a_direction_only():
    result = result_of(lambda run: 1.0, at_least(0.0, because="b"), published=10.0, kind="ordering")
    assert result.verdict == "reproduced"
    assert "direction only: 10% of the published effect" in result.evidence


def test_tolerances_lie_around_the_published_figure_by_default():
    assert (
        result_of(lambda run: 7.4, within(0.5, because="b"), published=7.0).verdict == "reproduced"
    )
    assert result_of(lambda run: 7.6, within(0.5, because="b"), published=7.0).verdict == "refuted"
    bounds = [at_least(because="b"), at_most(because="b")]
    assert [e.placed(7.0).text for e in bounds] == ["≥ 7", "≤ 7"]
    assert [result_of(lambda run: 7.1, e, published=7.0).verdict for e in bounds] == [
        "reproduced", "refuted",
    ]  # fmt: skip
    with pytest.raises(TypeError, match="needs a published number"):
        result_of(lambda run: 1.0, within(0.5, because="b"), published="about 7")


def test_sections_and_rows_share_their_words():
    paper = Paper("p", "Title", "A. Author", 2000, "Venue", (METHOD,))
    table = paper.section(where="Table 1", unit="%", expect=within(1.0, because="b"))

    @table.claim("one", 3.0)
    def first(run):
        return 3.5

    @table.rows({"a b": 1.0, "c": {"published": 2.0, "seeds": (0, 1)}}, says="{row}: {published:g}")
    def row(run, name):
        return float(len(name))

    paper.not_measurable("lost", "the data are lost", says="s", where="w", published=1.0)
    assert [c.name for c in paper.claims] == ["first", "row-a-b", "row-c", "lost"]
    assert [c.says for c in paper.claims[:3]] == ["one", "a b: 1", "c: 2"]
    assert paper.claims[2].seeds == (0, 1)
    assert [run_claim(c).verdict for c in paper.claims] == [
        "reproduced", "refuted", "undecided", "not measurable here",
    ]  # fmt: skip
    assert len({c.fingerprint for c in paper.claims}) == 4
    assert paper.claims[-1].kind == "figure"

    @table.rows({"x": ("says it", 1.0), "y": 0.0}, prefix="of-", says="{row}")
    def more(run, name):
        return 1.0

    assert [(c.name, c.says) for c in paper.claims[4:]] == [("of-x", "says it"), ("of-y", "y")]


def test_words_of_a_claim_stand_in_the_decorators_below_it():
    paper = Paper("p", "Title", "A. Author", 2000, "Venue", (METHOD,))
    place = paper.section(where="Table 1", unit="%", seeds=(0,))

    @place.claim("it is three", kind="ordering")
    @stated(3.0, "Table 2")
    @measured(seeds=(0, 1))
    @within(1.0, because="b")
    def stacked(run):
        return 3.5

    @place.claim("the place is the section's", 2.0)
    @at_least(1.0, because="b")
    def short(run):
        return stacked(run)

    @paper.claim("two claims")
    @stated("equal", "Section 1")
    @holds(because="b")
    @paper.claim("may share a measurement", name="other")
    @stated(1.0, "Section 2")
    @at_most(1.0, because="b")
    def both(run):
        return 1.0

    written = paper.claims[0]
    assert (written.says, written.published, written.where) == ("it is three", 3.0, "Table 2")
    assert (written.kind, written.seeds, written.unit) == ("ordering", (0, 1), "%")
    assert (written.expect.low, written.expect.high) == (2.0, 4.0)
    assert [c.name for c in paper.claims] == ["stacked", "short", "other", "both"]
    assert [c.where for c in paper.claims] == ["Table 2", "Table 1", "Section 2", "Section 1"]
    assert paper.claims[3].expect.every_seed
    assert not vars(both)  # words are left for one claim, not for the next


def test_a_word_is_said_once_and_none_is_missing():
    paper = Paper("p", "Title", "A. Author", 2000, "Venue", (METHOD,))

    def measure(run):
        return 1.0

    with pytest.raises(TypeError, match="`measure` has two values of `expect`"):
        holds(because="b")(at_most(1.0, because="b")(measure))
    with pytest.raises(TypeError, match="`measure` has two values of `published`"):
        paper.claim("s", 1.0)(stated(2.0, "w")(lost(measure)))
    with pytest.raises(TypeError, match="`measure` of p needs `where` and `expect`"):
        paper.claim("s", 1.0)(lost(measure))
    assert paper.claims == []


def lost(measure):
    """Return the function without the words that a refusal left behind."""
    vars(measure).clear()
    return measure


def test_columns_of_a_table_are_dicts_and_templates():
    paper = Paper("p", "Title", "A. Author", 2000, "Venue", (METHOD,))
    table = paper.section(stand_in="simulated", kind="figure")

    @table.rows(
        {"Cold Fish": 1.0, "dog": 2.0},
        name="{row}-bites",
        says="{row} bites {published:g} times",
        where="Table 1, {row}",
        stand_in={"dog": ""},
        seeds={"dog": (3,)},
    )
    @at_most(1.0, because="b")
    def bites(run, row):
        return float(len(row))

    fish, dog = paper.claims
    assert (fish.name, dog.name) == ("cold-fish-bites", "dog-bites")
    assert (fish.where, dog.where) == ("Table 1, Cold Fish", "Table 1, dog")
    assert (fish.says, dog.says) == ("Cold Fish bites 1 times", "dog bites 2 times")
    assert (fish.stand_in, dog.stand_in) == ("simulated", "")
    assert (fish.seeds, dog.seeds) == ((0,), (3,))


def test_a_table_is_columns_by_row():
    paper = Paper("p", "Title", "A. Author", 2000, "Venue", (METHOD,))
    table = paper.section(unit="%")

    @table.table("{row} errs by {published:g} %", method={"b": "N"})
    @stated({"a x": 1.0, "b": 2.0}, "Table 3, {row}", stand_in="simulated")
    @within(0.5, because="b")
    def error(run, row):
        return float(len(row))

    @table.table({"fast": "It is fast", "lean": "It is lean"}, "holds", "Section 1", name="{row}")
    @holds(because="b")
    def said(run, row):
        return float(row == "fast")

    assert [c.name for c in paper.claims] == ["error-a-x", "error-b", "fast", "lean"]
    assert [c.says for c in paper.claims[:2]] == ["a x errs by 1 %", "b errs by 2 %"]
    assert [c.says for c in paper.claims[2:]] == ["It is fast", "It is lean"]
    assert [c.where for c in paper.claims[:2]] == ["Table 3, a x", "Table 3, b"]
    assert [c.method for c in paper.claims[:2]] == ["M", "N"]
    assert [c.expect.high for c in paper.claims[:2]] == [1.5, 2.5]
    assert [run_claim(c).verdict for c in paper.claims[1:]] == [
        "undecided", "reproduced", "refuted",
    ]  # fmt: skip
    with pytest.raises(TypeError, match="`error` needs a dict of published figures by row"):
        table.table("no rows", 1.0)(error)


def test_what_cannot_be_measured_is_said_in_the_same_words():
    paper = Paper("p", "Title", "A. Author", 2000, "Venue", (METHOD,))
    paper.not_measurable("old", "lost", says="s", where="w", published=1.0, unit="%")
    gone = paper.section(where="Table 3", unit="%")
    gone.not_measurable("new", "lost", "s", stated(1.0, "w"))
    gone.not_measurable("newest", "lost", "s", stated(2.0))
    assert [(c.says, c.where, c.published, c.unit) for c in paper.claims] == [
        ("s", "w", 1.0, "%"), ("s", "w", 1.0, "%"), ("s", "Table 3", 2.0, "%"),
    ]  # fmt: skip
    assert {run_claim(c).verdict for c in paper.claims} == {"not measurable here"}
    assert {c.kind for c in paper.claims} == {"figure"}


def test_a_section_of_a_section_keeps_its_words():
    paper = Paper("p", "Title", "A. Author", 2000, "Venue", (METHOD,))
    inner = paper.section(where="w", unit="%").section(unit="s", kind="own")
    assert inner.defaults == {"where": "w", "unit": "s", "kind": "own"}


def test_an_identity_is_a_small_upper_bound_and_not_a_negative_figure():
    paper = Paper("p", "Title", "A. Author", 2000, "Venue", (METHOD,))
    place = paper.section(where="w", says="s")
    for name, published, expect in (
        ("identity", "equal", at_most(1e-9, because="b")),
        ("negative", -773.4, within(0.1, because="b")),
    ):
        paper.add_claim(
            lambda run: 0.0, name=name, published=published, expect=expect, **place.defaults
        )
    assert [c.kind for c in paper.claims] == ["theorem", "figure"]


def test_a_mean_on_the_bound_asks_for_no_number_of_seeds():
    values = {0: 0.9, 1: 1.1, 2: 0.95, 3: 1.05, 4: 1.0 + 1e-6}
    given = {"seeds": tuple(values)}
    result = result_of(lambda run: values[run.seed], at_least(1.0, because="b"), **given)
    assert result.verdict == "undecided"
    assert "would decide" not in result.evidence


def test_a_fingerprint_changes_with_what_the_verdict_rests_on():
    def make(bound, scale):
        paper = Paper("p", "Title", "A. Author", 2000, "Venue", (METHOD,))

        @paper.claim(says="s", where="w", published=1.0, expect=at_least(bound, because="b"))
        def measure(run):
            return scale * 1.0

        return paper.claims[0].fingerprint

    assert make(1.0, 2.0) == make(1.0, 2.0)
    assert make(1.0, 2.0) != make(1.5, 2.0)
    assert make(1.0, 2.0) != make(1.0, 3.0)


def doubled(run):
    return 2.0


MEASURES = {"doubled": doubled}


def by_table(run):
    return MEASURES["doubled"](run)


def test_a_fingerprint_follows_tables_of_functions_but_not_their_addresses():
    from octavo.claims import _sources

    text = "".join(_sources(by_table))
    assert " at 0x" not in text
    assert "return 2.0" in text


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
