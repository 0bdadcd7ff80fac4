"""The report stands alone, tells everything, and shows nothing as markup that is data."""

import re
from html.parser import HTMLParser

import joblib
import numpy as np
import pandas as pd
import pytest

from octavo.compare import InputError, compare
from octavo.compare.results.page import verdict
from octavo.compare.running.progress_bar import ComparisonBar, clock
from tests.app.browser import open_browser
from tests.compare.methods.test_candidates import FRAME
from tests.compare.running.test_runner import guess, linear, odd


class Balanced(HTMLParser):
    """Counts tags that are opened and not closed."""

    single = {"meta", "img", "br"}

    def __init__(self):
        super().__init__()
        self.open, self.problems = [], []

    def handle_starttag(self, tag, attrs):
        if tag not in self.single:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.problems.append(tag)


def page_of(result, tmp_path):
    page = result.report(tmp_path / "report.html").read_text(encoding="utf-8")
    parser = Balanced()
    parser.feed(page)
    assert not parser.problems
    assert not parser.open
    assert not re.search(r'(src|href)="(?!data:|#)', page)
    assert "@import" not in page
    return page


@pytest.mark.parametrize(
    ("arguments", "methods", "n_figures"),
    [
        ({"target": "k", "drop": ["m", "y"]}, "linear,AROW,guess", 4),
        ({"target": "m", "drop": ["k", "y"]}, "linear,guess", 3),
        ({"target": "y", "drop": ["k", "m"]}, "linear,guess", 3),
        ({"drop": ["k", "m", "y"]}, "KMeans,GaussianMixture", 2),
        ({"time": "t", "event": "e", "drop": ["k", "m", "y"]}, "RidgeCox,KaplanMeier", 3),
    ],
)
def test_the_report_of_every_task(tmp_path, arguments, methods, n_figures):
    rng = np.random.default_rng(0)
    frame = FRAME.assign(t=np.abs(FRAME["y"]), e=rng.integers(0, 2, len(FRAME)))
    if "time" not in arguments:
        frame = frame.drop(columns=["t", "e"])
    result = compare(frame, methods=methods, journal=False, cv=3, **arguments)
    page = page_of(result, tmp_path)
    # The intervals are drawn twice, for wide and for narrow pages.
    assert page.count("data:image/png;base64,") == n_figures + 1
    for standing in result.leaderboard:
        assert standing.name in page
        assert f"{standing.mean:.4f}" in page
    for step in result.steps:
        assert step.what.split("'")[0] in page
    assert "problem = prepare(frame" in page


def test_the_report_of_a_ranking(tmp_path):
    pairs = [("ann", "bob"), ("bob", "eve"), ("ann", "eve"), ("eve", "bob")] * 8
    frame = pd.DataFrame(pairs, columns=["winner", "loser"])
    result = compare(frame, methods="WinRate,BradleyTerry", journal=False, cv=3)
    assert page_of(result, tmp_path).count("data:image") == 3


def test_failures_and_data_are_text_not_markup(tmp_path):
    frame = FRAME.drop(columns=["m", "y"]).rename(
        columns={"c": "<script>alert(1)</script>", "x": 'q"&<b>'}
    )
    frame["k"] = np.where(frame["k"] == "u", "<u>", "v&v")
    result = compare(frame, "k", methods=[linear(), odd("fail")], journal=False, cv=3)
    page = page_of(result, tmp_path)
    assert "<script>" not in page
    assert "this method cannot do it" in page
    assert "&lt;script&gt;" in page


def test_a_stopped_run_reports_what_there_is(tmp_path):
    from octavo.compare.workbench import Comparison

    result = compare(
        FRAME.drop(columns=["m", "y"]), "k", methods=[linear(), guess()], journal=False, cv=3
    )
    log = result.log
    log.outcomes = {key: outcome for key, outcome in log.outcomes.items() if key == ("guess", 0)}
    log.stopped = "time budget"
    partial = Comparison(
        result.problem, result.candidates, [], log, result.settings, result.steps, None, {}, None
    )
    page = page_of(partial, tmp_path)
    assert "stopped (time budget) after 1 of 3 folds" in page
    assert "1 method compared" in page
    assert "<b>1</b><span>methods tried" in page
    log.outcomes = {}
    empty = Comparison(
        result.problem, result.candidates, [], log, result.settings, result.steps, None, {}, None
    )
    assert "No method finished a fold" in page_of(empty, tmp_path)


def test_the_verdict_names_the_winner_the_tied_and_the_guess():
    result = compare(
        FRAME.drop(columns=["m", "y"]), "k", methods="linear,guess", journal=False, cv=3
    )
    text = verdict(result)
    assert result.best.name in text
    assert "without features" in text.lower()
    table = result.frame()
    assert list(table["method"]) == [s.name for s in result.leaderboard]
    assert result.as_dict()["leaderboard"][0]["name"] == result.best.name


def test_what_deserves_a_look_stands_at_the_top(tmp_path):
    frame = FRAME.drop(columns=["m", "y"]).assign(copy=FRAME["k"].map({"u": 7, "v": 3}))
    result = compare(frame, "k", methods="guess", journal=False, cv=3)
    page = page_of(result, tmp_path)
    assert page.index("Look before you believe it") < page.index("Leaderboard")
    assert page.count("tells the target one to one") == 2


def test_a_folder_that_does_not_exist(tmp_path):
    result = compare(FRAME.drop(columns=["m", "y"]), "k", methods="guess", journal=False, cv=3)
    with pytest.raises(InputError, match="does not exist"):
        result.report(tmp_path / "no" / "report.html")


def test_the_bar_shows_the_best_so_far_and_the_time_left():
    import io

    from rich.console import Console

    console = Console(file=io.StringIO(), force_terminal=True, width=120)
    with ComparisonBar(console) as bar:
        bar.begin(10, 2)
        bar.update(3, ("AROW", 0.8754), 42.0)
        text = "".join(
            str(column.render(bar._bar.tasks[0]))
            for column in bar._bar.columns
            if hasattr(column, "text_format")
        )
    assert "best so far: AROW 0.8754" in text
    assert "about 42 s left" in text
    assert [clock(s) for s in (None, 12.3, 300, 7200)] == ["?", "12 s", "5 min", "2.0 h"]


FORMULA = r"$\frac{1}$"


@pytest.mark.slow
def test_a_name_that_looks_like_a_formula_is_a_name(tmp_path):
    """It ended the report after all the work was done."""
    frame = FRAME.rename(columns={"k": FORMULA, "y": "a$b$"}).drop(columns="m")
    frame[FORMULA] = [f"${v}_{{$" for v in frame[FORMULA]]
    result = compare(frame, FORMULA, methods="linear,guess", cv=2, journal=False)
    page = page_of(result, tmp_path)
    assert "could not be drawn" not in page
    assert page.count("<img") == 5
    result = compare(frame, "a$b$", methods="linear,guess", cv=2, journal=False)
    page = page_of(result, tmp_path)
    assert "could not be drawn" not in page


@pytest.mark.parametrize("name", ["draw_intervals", "draw_winner", "draw_importance"])
def test_a_picture_that_fails_costs_its_own_place(tmp_path, monkeypatch, name):
    from octavo.compare.results import page as module

    def fails(comparison):
        raise RuntimeError("no <ink>")

    result = compare(FRAME, "k", drop=["m", "y"], methods="linear,guess", cv=2, journal=False)
    monkeypatch.setattr(module, name, fails)
    page = page_of(result, tmp_path)
    assert "could not be drawn (RuntimeError: no &lt;ink&gt;)" in page
    assert page.count("<img") == (3 if name == "draw_intervals" else 4)
    assert "Refit the winner" in page


def made_board(standings, folds=5, stopped=""):
    """A comparison as the verdict reads it."""
    from types import SimpleNamespace

    from octavo.compare.judging.leaderboard import Leaderboard, Standing

    lines = [
        Standing(
            rank, name, "scikit-learn", mean, 0.1, 0.9, 0.5, tied, [], {}, {}, s, s, s, 9, False
        )
        for rank, name, mean, tied, s in standings
    ]
    return SimpleNamespace(
        leaderboard=lines,
        board=Leaderboard(lines, [], list(range(folds))),
        stopped=stopped,
        score_name="accuracy",
        settings=SimpleNamespace(cv=5),
        steps=[],
    )


def test_the_verdict_never_names_the_guess_as_the_quickest():
    lines = [
        (1, "SVC", 0.8, True, 9.0),
        (2, "AROW", 0.79, True, 2.0),
        (3, "DummyClassifier", 0.7, True, 0.1),
    ]
    text = verdict(made_board(lines))
    assert "could be chance: nothing here is shown to predict" in text
    assert "quickest" not in text
    lines[2] = (3, "DummyClassifier", 0.7, False, 0.1)
    assert "AROW is the quickest of them" in verdict(made_board(lines))


def test_the_verdict_names_ties_and_waits_for_folds():
    lines = [(1, "SVC", 0.8, True, 9.0), (1, "AROW", 0.8, True, 2.0), (3, "x", 0.5, False, 2.0)]
    text = verdict(made_board(lines))
    assert text.startswith("SVC and AROW share the first place")
    assert "They are ahead of all others" in text
    lines[2] = (3, "x", 0.5, True, 5.0)
    text = verdict(made_board(lines))
    assert "With this many rows their lead over x could be chance; AROW is the quickest" in text
    assert verdict(made_board(lines, stopped="time budget")).endswith(") before all was done.")
    early = verdict(made_board(lines, folds=2, stopped="time budget"))
    assert early.startswith("No verdict yet: 2 folds cannot tell methods apart.")
    assert "ahead" not in early


def test_a_warning_stands_beside_its_method_and_evaluations_are_told(tmp_path):
    import warnings

    from octavo.compare.methods.candidates import EVALUATIONS, Candidate
    from tests.compare.running.test_runner import Odd

    class Warns(Odd):
        def fit(self, X, y):
            warnings.warn(f"No compression at {len(X)} rows: use SVC.", UserWarning, stacklevel=1)
            return super().fit(X, y)

    result = compare(
        FRAME.drop(columns=["m", "y"]),
        "k",
        methods=["linear", Candidate("warns", "octavo", Warns("ok"), [{}, {"mark": "x"}])],
        journal=False,
        cv=3,
    )
    page = page_of(result, tmp_path)
    assert "it warned: No compression at" in page
    assert "(7 times)" in page  # three inner folds of two settings, and the fit
    assert f"(of {EVALUATIONS} tried)" in page
    assert any(f"may try {EVALUATIONS} settings" in step.what for step in result.steps)


@pytest.fixture(scope="module")
def shown_page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("a folder of mine")
    data = folder / "data.csv"
    FRAME.drop(columns=["m", "y"]).to_csv(data, index=False)
    with joblib.parallel_config(backend="sequential"):
        methods = "linear,AROW,guess,HybridLinearClassifier"
        result = compare(data, "k", methods=methods, journal=folder / "j", cv=3, repeats=1)
        result = compare(data, "k", methods=methods, journal=folder / "j", cv=3, repeats=1)
    return folder, result.report(folder / "page.html")


def test_the_page_names_no_folder_of_the_machine(shown_page):
    folder, page = shown_page
    text = page.read_text(encoding="utf-8")
    assert "taken from an earlier run" in text
    assert folder.name not in text
    assert "prepare(&quot;data.csv&quot;" in text


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 800, 1280])
def test_nothing_scrolls_sideways(shown_page, width):
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as play:
        browser = open_browser(play)
        page = browser.new_page(viewport={"width": width, "height": 900})
        page.goto(shown_page[1].as_uri())
        wide = page.evaluate(
            "[...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right"
            " > innerWidth + 1 || e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0"
            " && getComputedStyle(e).display != 'inline').map(e => e.tagName + e.className)"
        )
        assert wide == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        small = page.evaluate(
            "Math.min(...[...document.querySelectorAll('td,p,li,pre')].map("
            "e => parseFloat(getComputedStyle(e).fontSize)))"
        )
        assert small >= 12
        browser.close()
