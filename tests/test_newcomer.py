"""The first hour of somebody who has just cloned octavo, in a shell and in a real browser.

Each step is what the README and the pages tell a newcomer to do. Nothing may write an error to a
console. The environment is the one that runs the tests, seen from a checkout of its own: what is
installed is not what is tested here.
"""

import os
import re
import signal
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_circles

pytest.importorskip("bokeh")
pytest.importorskip("pandas")
sync_api = pytest.importorskip("playwright.sync_api")

from tests.app.browser import Served, Tab, open_browser, time_limit, wait_until  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs" / "_build" / "html"
LIMIT = 900  # seconds for one test
PAPERS = "online-ranking knowledge-kernel-pca"
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """Return a fresh checkout, with an environment that has the packages of this one."""
    folder = tmp_path_factory.mktemp("newcomer") / "octavo"
    found = subprocess.run(
        ["git", "clone", "--quiet", str(ROOT), str(folder)], capture_output=True, text=True
    )
    if found.returncode:
        pytest.skip(f"this is no git checkout that can be cloned: {found.stderr.strip()}")
    # What has been changed and not yet committed belongs to what is tested.
    changed = subprocess.run(["git", "diff", "HEAD", "--binary"], cwd=ROOT, capture_output=True)
    if changed.stdout:
        subprocess.run(["git", "apply"], input=changed.stdout, cwd=folder, check=True)
    venv = folder / ".venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    site = next((venv / "lib").glob("python*")) / "site-packages"
    (site / "newcomer.pth").write_text(f"{folder}\n{sysconfig.get_paths()['purelib']}\n")
    script = venv / "bin" / "octavo"
    start = "from octavo.cli import main\n\nif __name__ == '__main__':\n    main()\n"
    script.write_text(f"#!{venv}/bin/python\n{start}")
    script.chmod(0o755)
    (venv / ".stamp-core").touch()  # make has nothing to install
    return folder


def shell(clone, line, seconds=600):
    """Run a line as a newcomer would, in the checkout; return what it printed."""
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "MAKEFLAGS", "MAKELEVEL")}
    env |= {"PATH": f"{clone}/.venv/bin:{env['PATH']}", "OMP_NUM_THREADS": "1", "COLUMNS": "100"}
    started = subprocess.Popen(
        line,
        shell=True,
        cwd=clone,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        said, complained = started.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(started.pid, signal.SIGKILL)  # what the shell started, too: it holds the pipes
        said, complained = started.communicate(timeout=30)
        pytest.fail(f"`{line}` was not done after {seconds} s; it said:\n{said}{complained}")
    assert started.returncode == 0, said + complained
    assert "Traceback" not in complained, complained
    return said


@pytest.fixture(autouse=True)
def bounded(request):
    """No test here may hang: each has LIMIT seconds, its fixtures of this module not counted."""
    with time_limit(LIMIT, request.node.name):
        yield


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        browser = open_browser(playwright)
        yield browser
        browser.close()


@pytest.fixture
def watched(browser):
    """Return a way to open pages; what any of them complains about fails the test."""
    complaints, contexts = [], []

    def look(path, width=1280, height=800, scheme="light"):
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, offline=True
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(30_000)
        page.on("pageerror", lambda error: complaints.append(f"{path}: {error}"))
        page.on(
            "console",
            lambda said: said.type == "error" and complaints.append(f"{path}: {said.text}"),
        )
        page.on(
            "requestfailed",
            # What was still on its way when a page was left is no failure.
            lambda asked: (
                asked.failure != "net::ERR_ABORTED"
                and complaints.append(f"{path}: {asked.url}: {asked.failure}")
            ),
        )
        page.goto(Path(path).as_uri())
        return page

    yield look
    for context in contexts:
        context.close()
    assert complaints == []


def sideways(page):
    """Return by how many pixels a page is wider than its window."""
    return page.evaluate("document.documentElement.scrollWidth - innerWidth")


def test_the_demo_ends_in_a_report_that_can_be_read(clone, watched):
    said = shell(clone, f"make demo PAPERS='{PAPERS}'")
    assert "reproduced" in said
    report = clone / "octavo-report.html"
    assert report.stat().st_size < 3_000_000
    for width in (1280, 390):
        page = watched(report, width=width)
        assert sideways(page) <= 0
        assert page.locator("a[href^='#']").count() > 0  # contents
        shown = page.locator("#filters output")
        everything = int(shown.inner_text().split()[0])
        page.select_option("#filters select[aria-label=paper]", PAPERS.split()[0])
        assert 0 < int(shown.inner_text().split()[0]) < everything
        assert page.locator("section[data-paper]:visible").count() == 1
        page.click(f"a[href='#{PAPERS.split()[1]}'] >> nth=0")  # out of the filter
        page.wait_for_selector(f"section[data-paper={PAPERS.split()[1]}]:visible")
    assert str(clone) not in report.read_text("utf-8")


@pytest.fixture(scope="module")
def docs():
    if not (DOCS / "index.html").is_file():
        pytest.skip("the documentation is not built; `make docs` builds it")
    return DOCS


def test_a_method_is_found_by_its_problem_and_its_example_runs(clone, docs, watched):
    page = watched(docs / "index.html")
    page.click("a:has-text('Which method?') >> visible=true")
    page.wait_for_selector("h1:has-text('Which method?')")
    section = page.locator("section", has_text="I have results of games").last
    section.locator("summary", has_text="OnlineRanker").click()
    section.locator("a:visible", has_text="OnlineRanker").first.click()
    page.wait_for_selector("h1:has-text('OnlineRanker')")
    code = page.locator(".highlight pre").first.inner_text()
    assert "OnlineRanker" in code
    # Typed in as it stands, it prints what the page shows.
    (clone / "example.txt").write_text(code + "\n", encoding="utf-8")
    runner = "import doctest, sys; sys.exit(doctest.testfile('example.txt', False).failed)"
    shell(clone, f'python -c "{runner}"')


def test_a_link_to_a_problem_unfolds_it_and_the_page_is_short(docs, watched):
    page = watched(docs / "which_method.html", width=390)
    assert page.evaluate("document.documentElement.scrollHeight") < 12_000
    assert page.locator("details.problem[open]").count() == 0
    page.goto((docs / "which_method.html").as_uri() + "#problem-survival")
    page.wait_for_selector("details.problem[open] a:has-text('MinlipSurvival')")
    assert page.locator("details.problem[open]").count() == 1


def test_verdicts_can_be_filtered(docs, watched):
    page = watched(docs / "verdicts.html")
    count = page.locator("#verdict-filters output")
    everything = int(count.inner_text().split()[0])
    page.select_option("#verdict-filters select[aria-label=verdict]", "refuted")
    assert 0 < int(count.inner_text().split()[0]) < everything


PAGES = ("index", "install", "getting_started", "which_method", "verdicts", "benchmarks")


@pytest.mark.parametrize("name", [*PAGES, "methods/ranking/ratings"])
def test_pages_fit_their_window(docs, watched, name):
    for width, scheme in ((1280, "light"), (390, "dark")):
        page = watched(docs / f"{name}.html", width=width, scheme=scheme)
        assert sideways(page) <= 0
        assert page.locator("header.bd-header").bounding_box()["height"] < 100  # one line


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("imbalanced", "BiasedMPM"),
        ("named entity recognition", "HighOrderCRF"),
        ("hyper-parameter", ""),
        ("concept drift", ""),
        ("causal discovery", "BayesianNetworkStructureLearner"),
        ("differential privacy", "PrivateLinearClassifier"),
    ],
)
def test_the_search_finds_problems_in_their_words(docs, watched, words, found):
    page = watched(docs / "search.html")
    page.goto((docs / "search.html").as_uri() + f"?q={words.replace(' ', '+')}")
    page.wait_for_selector("#search-results li a")
    page.wait_for_function(
        "!document.querySelector('#search-results h2')?.textContent.includes('ing')"
    )
    titles = page.locator("#search-results li a").all_inner_texts()
    assert any(found in title or "Which method" in title for title in titles), titles


def test_compare_names_a_correct_winner(clone, watched):
    # Rings: by their construction, no straight line does better than a guess.
    X, y = make_circles(240, noise=0.08, factor=0.4, random_state=0)
    rows = [f"{a:.4f},{b:.4f},{'inner' if k else 'outer'}" for (a, b), k in zip(X, y)]
    (clone / "rings.csv").write_text("x,y,ring\n" + "\n".join(rows) + "\n", encoding="utf-8")
    said = shell(
        clone,
        "octavo compare rings.csv --target ring --methods linear,svm,guess --repeats 1 "
        "--report rings.html --save rings.joblib --jobs 1",
    )
    places = re.findall(r"(SVC|LogisticRegression)\D+(0\.\d+|1\.0+)", said)
    assert places[0][0] == "SVC", said
    scores = dict(reversed(places))
    assert float(scores["SVC"]) > 0.95
    assert float(scores["LogisticRegression"]) < 0.65
    shell(clone, "octavo predict rings.joblib rings.csv > rings-predicted.csv")
    predicted = (clone / "rings-predicted.csv").read_text("utf-8").splitlines()[1:]
    assert len(predicted) == len(rows)
    right = np.mean([row.split(",")[-1] == line for row, line in zip(rows, predicted)])
    assert right > 0.95
    for width in (1280, 390):
        page = watched(clone / "rings.html", width=width)
        assert sideways(page) <= 0
        assert "SVC" in page.inner_text("body")
    assert "/.cache/" not in (clone / "rings.html").read_text("utf-8")


def test_a_map_is_steered_exported_and_opened_again(clone, browser, watched, tmp_path):
    served = Served(command=[str(clone / ".venv/bin/octavo")], root=clone)
    try:
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.set_default_timeout(30_000)
        tab = Tab(page, served.url)
        guide = page.evaluate("octavoAbout.guide")
        row, to = guide["drag"]["row"], guide["drag"]["to"]
        (x, y), end = tab.where(row), tab.pixel(*to)
        tab.drag(row, end[0] - x, end[1] - y)
        for i in guide["apart"]:
            tab.click(i)
        tab.press("separate")
        page.click("#guide-next")
        path = tab.download("#page", tmp_path)
        steered, constraints = tab.points(), tab.constraints()
        assert tab.errors == []
    finally:
        status, said = served.interrupt()
    assert status == 0
    assert "Traceback" not in said
    again = watched(path)
    wait_until(again, "octavoExport.drawn > 0")
    assert again.evaluate("octavoExport.held.constraints") == constraints
    x, y = again.evaluate("octavoExport.pixel(0)")
    again.mouse.move(x, y)
    assert "digit" in again.inner_text("#tip")
    assert len(steered) == again.evaluate("octavoExport.rows") == 1797
