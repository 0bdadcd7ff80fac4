"""The benchmark harness: rotation, ratios per unit of work, the page it writes."""

import dataclasses
import functools

import pytest

from benchmarks.harness import (
    Contest,
    benchmark_names,
    duration,
    fallen_ratios,
    first_call_page,
    load_benchmark,
    page,
    peaks,
    room_page,
    run_contest,
    share_text,
)

MODULES = benchmark_names()


@pytest.fixture(autouse=True)
def no_collection(monkeypatch):
    """Leave garbage alone: among the objects of a whole suite each collection takes a second."""
    monkeypatch.setattr("benchmarks.harness.gc.collect", lambda: 0)


def test_solvers_rotate_and_ratios_are_per_unit(monkeypatch):
    clock = iter(range(1000))
    monkeypatch.setattr("time.perf_counter", lambda: float(next(clock)))
    calls = []
    contest = Contest(
        name="c",
        problem="p",
        setup=lambda: None,
        solvers={"a": lambda _: calls.append("a"), "b": lambda _: calls.append("b")},
        agree=lambda data, answers: "agreed",
        work={"a": 2.0},
        repeats=3,
    )
    result = run_contest(contest)
    assert calls == ["a", "b", "a", "b", "b", "a", "a", "b"]
    assert [row["ratio"] for row in result["rows"]] == [1.0, 2.0]
    kept = {"room/c": {"machine": "m", "date": "d", "contests": [result]}}
    assert "| b | 1 s | 2 [2, 2] |" in room_page("room", kept)
    assert "| [room/c](benchmarks/room.md) | p | b | 2 [2, 2] |  |" in page(kept)


def test_a_ratio_that_fell_below_its_spread_is_named(tmp_path, monkeypatch):
    import json

    def contest(low, ratio, high):
        rows = [{"solver": "octavo"}, {"solver": "b", "low": low, "ratio": ratio, "high": high}]
        return {"name": "c", "rows": rows}

    path = tmp_path / "bench.json"
    path.write_text(json.dumps({"room/c": {"contests": [contest(2.0, 3.0, 4.0)]}}))
    monkeypatch.setattr("benchmarks.harness.RESULTS", path)
    (told,) = fallen_ratios("room/c", [contest(1.0, 1.5, 1.9)])
    assert "1.5 [1, 1.9] times octavo's time for b, 3 [2, 4] on record" in told
    assert fallen_ratios("room/c", [contest(1.0, 1.5, 2.1)]) == []  # the spreads meet
    assert fallen_ratios("room/other", [contest(1.0, 1.5, 1.9)]) == []


def test_disagreement_stops_a_contest():
    def agree(data, answers):
        assert answers["a"] == answers["b"]

    contest = Contest("c", "p", lambda: None, {"a": lambda _: 1, "b": lambda _: 2}, agree)
    with pytest.raises(AssertionError):
        run_contest(contest)


def test_durations_read_well():
    assert duration(2.0, "") == "2 s"
    assert duration(4.5e-8, "game") == "45 ns/game"


@pytest.mark.parametrize("name", MODULES)
def test_benchmarks_are_well_formed(name):
    contests = load_benchmark(name).CONTESTS
    assert any(len(contest.solvers) >= 2 for contest in contests), "no peer at all"
    for contest in contests:
        # What no peer can do at that size is measured alone, and says what it aims at.
        assert len(contest.solvers) >= 2 or contest.target, "no peer"
        assert set(contest.work) <= set(contest.solvers)
        # What bounds it, or why there is nothing to say of that: one of the two.
        assert bool(contest.limit) != bool(contest.no_limit), f"{contest.name} has no limit"
        assert contest.limit or not (contest.traffic or contest.flops)


def test_a_limit_tells_the_share_that_is_reached(monkeypatch):
    monkeypatch.setattr("benchmarks.harness.peaks", lambda: (10e9, 50e9))
    made = functools.partial(Contest, "c", "p", lambda: None, {"a": lambda _: None})
    counted = made(limit="BLAS", traffic=1e9, flops=10e9)
    assert share_text(counted, 0.5) == "20% of 10 GB/s; 40% of 50 GFLOP/s"
    assert share_text(made(limit="tree queries"), 0.5) == ""


def test_peaks_are_of_this_machine():
    bandwidth, arithmetic = peaks()
    assert 1e8 < bandwidth < 1e13
    assert 1e8 < arithmetic < 1e14


def test_the_page_lists_first_calls_slowest_first():
    found = {
        "Quick": {"seconds": 0.0, "second_fit": 0.1, "kernels": 0, "defaults": True},
        "Low": {"seconds": 0.4, "second_fit": 0.1, "kernels": 2, "defaults": False},
        "High": {"seconds": 2.5, "second_fit": 0.1, "kernels": 9, "defaults": True},
        "Slow": {"seconds": 3.5, "second_fit": 0.1, "kernels": 9, "defaults": True},
        "Broken": {"error": "ValueError"},
    }
    first = {"machine": "a machine", "date": "2026-01-01", "estimators": found}
    summary = page({}, first)
    assert "Of 4 estimators 3 take at most 3 s, half of them at most 1.45 s;" in summary
    assert "| Slow | 3.50 | 9 |" in summary
    assert "| High" not in summary
    text = first_call_page(first)
    assert text.index("| Slow | 3.50 | 9 |") < text.index("| High | 2.50 | 9 |")
    assert text.index("| High | 2.50 | 9 |") < text.index("| Low (as its test makes it) | 0.40 | 2")
    assert "Nothing is compiled by Quick." in text
    assert "Could not be measured: Broken." in text
    assert "First calls" not in page({}).replace("First calls, which compile", "")


def test_first_calls_of_another_machine_are_told_apart():
    row = {"seconds": 3.5, "second_fit": 0.1, "kernels": 9, "defaults": True}
    found = {"Here": row, "There": {**row, "seconds": 3.2, "on": "2026-01-02, another"}}
    first = {"machine": "a machine", "date": "2026-01-01", "estimators": found}
    summary, text = page({}, first), first_call_page(first)
    assert "2026-01-01, a machine; 1 of the estimators 2026-01-02, another" in summary
    for shown in (summary, text):
        assert "| Here | 3.50 | 9 |" in shown
        assert "| There | 3.20† | 9 |" in shown
        assert "† 2026-01-02, another" in shown


def test_a_peer_that_is_not_installed_is_left_out(capsys):
    def absent(data):
        import no_such_package  # noqa: F401

    contest = Contest(
        "c", "p", lambda: 1, {"octavo": lambda d: d, "peer": absent}, lambda d, a: a["peer"]
    )
    found = run_contest(contest)
    assert [row["solver"] for row in found["rows"]] == ["octavo"]
    assert "peer is left out" in capsys.readouterr().out
    with pytest.raises(ImportError):
        run_contest(Contest("c", "p", lambda: 1, {"octavo": absent}))
    cold = run_contest(dataclasses.replace(contest, warm=False))  # found out under the clock
    assert [row["solver"] for row in cold["rows"]] == ["octavo"]
