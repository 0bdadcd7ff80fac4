"""The command line, as a newcomer meets it."""

import inspect
import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from octavo import __version__, cli
from octavo._terminal import PIPED_WIDTH
from octavo.catalogue import find_paper
from octavo.claims import holds

runner = CliRunner()


@pytest.fixture(autouse=True)
def piped_width(monkeypatch):
    """Tables as wide as in a pipe, whatever width the shell exports."""
    monkeypatch.delenv("COLUMNS", raising=False)
    for console in (cli.out, cli.err):
        monkeypatch.setattr(console, "_width", PIPED_WIDTH)


def invoke(*arguments):
    return runner.invoke(cli.app, list(arguments))


@pytest.fixture
def tiny_paper(monkeypatch, tmp_path):
    """The catalogue with one paper of two fast claims, and a cache of its own."""
    monkeypatch.setenv("OCTAVO_CACHE", str(tmp_path / "cache"))
    paper = find_paper("online-ranking")
    kept = [claim for claim in paper.claims if claim.name in ("two-teams-exact", "halo-error")]
    monkeypatch.setattr(paper, "claims", kept)
    monkeypatch.setattr(paper, "figures", paper.figures[:1])
    monkeypatch.setattr(paper, "headlines", ("two-teams-exact",))
    return paper


def test_help_names_the_commands():
    text = invoke("--help").output
    for command in ("list", "show", "reproduce", "compare", "warmup"):
        assert command in text
    assert invoke("--version").output.strip() == __version__


def test_list_shows_methods_and_filters_by_room():
    assert "OnlineRanker" in invoke("list").output
    listed = json.loads(invoke("list", "--room", "ranking", "--json").output)
    assert {entry["room"] for entry in listed} == {"ranking"}
    wrong = invoke("list", "--room", "rankin")
    assert wrong.exit_code == 2
    assert "did you mean ranking" in wrong.output


def test_show_finds_any_member():
    text = invoke("show", "posterior_moments_by_derivatives").output
    assert "from octavo.ranking import posterior_moments_by_derivatives" in text
    assert "avoid it when" in text
    wrong = invoke("show", "OnlineRnker")
    assert wrong.exit_code == 2
    assert "did you mean OnlineRanker" in wrong.output


def test_show_takes_papers_rooms_and_families_and_prints_an_example():
    assert "headlines: " in invoke("show", "online-ranking").output
    assert "OnlineRanker" in invoke("show", "ranking").output
    assert "LpMKLClassifier" in invoke("show", "kernel/mkl").output
    text = invoke("show", "OnlineRanker").output
    assert ">>> from octavo.ranking import OnlineRanker" in text
    assert "read on" in text
    nothing = invoke("show", "zzzzqq")
    assert nothing.exit_code == 2
    assert nothing.output.split("the nearest are: ")[1].count(",") == 4


def test_list_by_words_plain():
    lines = invoke("list", "--task", "privacy", "--plain").output.splitlines()
    assert {line.split("\t")[1] for line in lines} == {"linear"}
    assert invoke("list", "private", "kernel", "--plain").output.startswith("PrivateKernel")
    assert invoke("list", "zzzzqq").exit_code == 2


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("imbalanced", "BiasedMPM"),
        ("named entity recognition", "HighOrderCRF"),
        ("hyper-parameter", "minimize_nes"),
        ("concept drift", "AROW"),
        ("causal discovery", "BayesianNetworkStructureLearner"),
        ("differential privacy", "PrivateLinearClassifier"),
    ],
)
def test_list_knows_what_people_say(words, name):
    lines = invoke("list", "--task", words, "--plain").output.splitlines()
    assert name in {line.split("\t")[0] for line in lines}


def test_what_is_shown_of_docstrings_is_theirs_without_importing_them():
    from octavo.catalogue import find_method
    from octavo.finding import docstring_of, example_of

    for name in ("OnlineRanker", "solve_lp", "AROW"):
        _, method = find_method(name)
        read, told = docstring_of(method.room, name), inspect.getdoc(method.load(name))
        # A class tells what it shares with its base once it is imported.
        assert read.splitlines()[0] == told.splitlines()[0]
        assert example_of(read) == example_of(told) != ""


def octavo_process(*arguments, **environment):
    command = [sys.executable, "-m", "octavo", *arguments]
    env = {**os.environ, **environment}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)


def test_a_reader_that_leaves_and_a_terminal_that_knows_ascii_only():
    process = octavo_process("list")
    process.stdout.read(20)
    process.stdout.close()
    assert process.wait(60) == 0
    assert process.stderr.read() == b""
    process.stderr.close()
    wide = {"PYTHONIOENCODING": "ascii", "COLUMNS": "200"}
    out, _ = octavo_process("list", "--room", "linear", **wide).communicate()
    assert b"epsilon-differential privacy" in out
    plain = {"LC_ALL": "C", "PYTHONIOENCODING": "", "PYTHONUTF8": "", "COLUMNS": "80"}
    out, _ = octavo_process("list", "--room", "linear", **plain).communicate()
    assert b"epsilon" in out
    assert max(map(len, out.decode("ascii").splitlines())) == 80


@pytest.mark.parametrize("width", [40, 80, 100])
def test_nothing_that_is_there_to_be_typed_is_cut(monkeypatch, width):
    from octavo.catalogue import find_method

    monkeypatch.setattr(cli.out, "_width", width)
    assert cli.out.width == width
    for words in (["list"], ["show", "ranking"], ["data", "list"]):
        said = invoke(*words).output
        assert "…" not in said
        assert max(map(len, said.splitlines())) <= width
    lines = invoke("list").output.splitlines()
    paper, method = find_method("SemiSupervisedGenerativeClassifier")
    place = next(k for k, line in enumerate(lines) if method.name in line)
    assert paper.key in lines[place] + lines[place + 1]
    if width >= 80:
        assert "uci/ionosphere " in invoke("data", "list").output


def test_a_narrow_leaderboard_has_its_names_and_the_settings_below(monkeypatch, tmp_path):
    pytest.importorskip("pandas")
    monkeypatch.setattr(cli.out, "_width", 80)
    monkeypatch.setenv("OCTAVO_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "line.csv"
    rows = [f"{k * k},{'up' if k > 20 else 'down'}" for k in range(40)]
    path.write_text("\n".join(["x,y", *rows]) + "\n")
    asked = ["compare", str(path), "--target", "y", "--methods", "linear,guess", "--repeats", "1"]
    said = invoke(*asked, "--jobs", "1").output
    table = [line for line in said.splitlines() if line.startswith(("┃", "│"))]
    assert any("LogisticRegression" in line for line in table)
    assert not any("C=" in line for line in table)
    assert max(map(len, table)) <= 80
    assert re.search(r"^LogisticRegression: C=", said, re.MULTILINE)


def test_json_has_no_number_that_json_has_not():
    assert json.loads(cli.json_text({"p": [float("nan"), np.float64(0.5), np.int64(2)]})) == {
        "p": [None, 0.5, 2]
    }


def test_data_sets_from_the_command_line(tmp_path, monkeypatch):
    monkeypatch.setenv("OCTAVO_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("OCTAVO_DATA", str(tmp_path))
    assert str(tmp_path) in invoke("data", "where").output
    listed = invoke("data", "list", "--plain").output.splitlines()
    line = next(line for line in listed if "uci/sonar" in line)
    assert line.split("\t")[:4] == ["uci/sonar", "208", "60", "no"]
    wrong = invoke("data", "fetch", "uci/sonor")
    assert wrong.exit_code == 2
    assert "uci/sonar" in wrong.output
    refused = invoke("data", "fetch", "libol/glass")
    assert refused.exit_code == 2
    assert "convert_libol" in refused.output


def test_reproduce_prints_a_table_and_writes_a_page_that_stands_alone(tiny_paper, tmp_path):
    report = tmp_path / "report.html"
    done = invoke("reproduce", "online-ranking", "--report", str(report), "--jobs", "2")
    assert done.exit_code == 0
    assert "1 reproduced, 1 not measurable here" in done.output
    page = report.read_text(encoding="utf-8")
    assert "data:image/png;base64," in page
    assert not re.search(r'(src|href)="(?!data:|#)', page)
    assert "<b>1</b> of <b>2</b> claims of 1 papers" in page


def test_verdicts_are_printed_as_they_come_also_when_piped(tiny_paper):
    lines = invoke("reproduce", "online-ranking", "--jobs", "1", "--fresh").output.splitlines()
    first = next(line for line in lines if "two-teams-exact" in line)
    assert re.match(r"\d/2 online-ranking two-teams-exact: .* reproduced \(\d", first)


def test_finished_claims_are_kept_and_fresh_forgets_them(tiny_paper):
    for arguments, words in (((), r"\(\d"), ((), r"\(kept\)"), (("--fresh",), r"\(\d")):
        done = invoke("reproduce", "online-ranking", "two-teams-exact", "--jobs", "1", *arguments)
        assert done.exit_code == 0
        assert re.search(rf"1/1 .*two-teams-exact.*{words}", done.output), done.output


def test_a_figure_that_fails_costs_its_own_place(tiny_paper, tmp_path, monkeypatch):
    @tiny_paper.figure("A figure that cannot be drawn")
    def broken():
        raise ImportError("the table needs pandas")

    report = tmp_path / "report.html"
    done = invoke("reproduce", "online-ranking", "--report", str(report), "--jobs", "1")
    assert done.exit_code == 0
    page = report.read_text(encoding="utf-8")
    assert "could not be drawn (ImportError: the table needs pandas)" in page
    assert "data:image/png;base64," in page


def test_reproduce_without_names_runs_the_headlines(monkeypatch):
    chosen = cli._chosen_claims([], everything=False)
    assert {paper.key for paper, _ in chosen} == {paper.key for paper in cli.papers()}
    assert len(chosen) < len(cli._chosen_claims([], everything=True)) / 4
    with pytest.raises(cli.UnknownNameError, match="did you mean two-teams-exact"):
        cli._chosen_claims(["online-ranking", "two-teams-exakt"], everything=False)


def test_reproduce_prints_json(tiny_paper):
    entries = json.loads(invoke("reproduce", "online-ranking", "--json", "--jobs", "1").stdout)
    assert {entry["verdict"] for entry in entries} == {"reproduced", "not measurable here"}
    assert all(entry["because"] for entry in entries)


def test_a_claim_that_fails_to_run_sets_the_exit_status(tiny_paper):
    @tiny_paper.claim(says="s", where="w", published="p", expect=holds(because="b"))
    def broken(run):
        raise RuntimeError("no luck")

    done = invoke("reproduce", "online-ranking", "--jobs", "1")
    assert done.exit_code == 1
    assert "no luck" in done.output


def test_reproduce_refuses_before_it_works(tmp_path):
    wrong = invoke("reproduce", "online-rnking")
    assert wrong.exit_code == 2
    assert "did you mean online-ranking" in wrong.output
    nowhere = invoke("reproduce", "--report", str(tmp_path / "no" / "report.html"))
    assert nowhere.exit_code == 2
    assert "does not exist" in nowhere.output


@pytest.fixture
def small_table(tmp_path, monkeypatch):
    """A table of two classes, a cache of its own, and work in this process."""
    import joblib
    import numpy as np
    import pandas as pd

    monkeypatch.setenv("OCTAVO_CACHE", str(tmp_path / "cache"))
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    path = tmp_path / "small.csv"
    pd.DataFrame(X, columns=["a", "b"]).assign(kind=np.where(X[:, 0] > 0, "u", "v")).to_csv(
        path, index=False
    )
    with joblib.parallel_config(backend="sequential"):
        yield path


def test_compare_ends_in_leaderboard_code_and_page(small_table, tmp_path):
    report = tmp_path / "report.html"
    arguments = [
        "compare",
        str(small_table),
        "--target",
        "kind",
        "--methods",
        "linear,guess",
        "--cv",
        "3",
        "--repeats",
        "1",
    ]
    done = invoke(*arguments, "--jobs", "1", "--report", str(report))
    assert done.exit_code == 0, done.output
    for words in (
        "Task: classification",
        "LogisticRegression",
        "95 % interval",
        "Refit the winner",
        "from octavo.compare",
    ):
        assert words in done.output
    assert "data:image/png;base64," in report.read_text(encoding="utf-8")
    again = invoke(*arguments, "--jobs", "1", "--json")
    entry = json.loads(again.stdout)
    assert entry["leaderboard"][0]["name"] == "LogisticRegression"
    assert any(
        "6 finished folds were taken from an earlier run" in step["what"] for step in entry["steps"]
    )
    fresh = json.loads(invoke(*arguments, "--jobs", "1", "--json", "--fresh").stdout)
    assert not any("earlier run" in step["what"] for step in fresh["steps"])
    assert fresh["leaderboard"][0]["scores"] == entry["leaderboard"][0]["scores"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--target", "knid"], "did you mean kind?"),
        (["--target", "kind", "--methods", "lineer"], "did you mean linear"),
        (["--target", "kind", "--task", "sorting"], "No task is called 'sorting'"),
        (["--time", "a"], "--event is not given"),
        (["--target", "kind", "--report", "/no/such/folder/r.html"], "does not exist"),
    ],
)
def test_compare_refuses_in_a_sentence(small_table, arguments, words):
    wrong = invoke("compare", str(small_table), *arguments)
    assert wrong.exit_code == 2
    assert words in wrong.output.replace("\n", " ")
    assert "Traceback" not in wrong.output


def test_compare_without_a_file(tmp_path):
    wrong = invoke("compare", str(tmp_path / "none.csv"))
    assert wrong.exit_code == 2
    assert "There is no file" in wrong.output


def test_compare_that_was_stopped_says_how_to_go_on(small_table, monkeypatch):
    from octavo.compare.running.pools import JoblibPool

    def interrupted(self, timeout):
        raise KeyboardInterrupt

    monkeypatch.setattr(JoblibPool, "wait", interrupted)
    done = invoke("compare", str(small_table), "--target", "kind", "--methods", "guess")
    assert done.exit_code == 130
    assert "the same command goes on from there" in done.output
