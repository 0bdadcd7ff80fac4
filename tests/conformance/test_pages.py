"""Every snippet of every page runs as it stands and prints what it says."""

import re
from pathlib import Path

import pytest

from octavo.data import DatasetNotFoundError
from tools.page_snippets import run_snippet, snippets

ROOT = Path(__file__).resolve().parents[2]
METHOD_PAGES = sorted((ROOT / "docs" / "methods").rglob("*.rst"))
PAGES = [
    *METHOD_PAGES,
    # the build of the site leaves a table of times beside the pages
    *sorted(set((ROOT / "docs").glob("*.rst")) - {ROOT / "docs" / "sg_execution_times.rst"}),
    *sorted((ROOT / "docs").glob("*.md")),
    ROOT / "README.md",
]
# Pages about something that is not typed into Python.
WITHOUT_SNIPPET = {
    "docs/all_methods.rst": "an index, written from the catalogue",
    "docs/verdicts.rst": "a table of claims, written from the record",
    "docs/more.rst": "leads to pages for the curious",
    "docs/which_method.rst": "leads to the pages that have snippets",
    "docs/architecture.md": "the layout of the source",
    "docs/benchmarks.md": "tables, written by make bench",
    "docs/changelog.md": "includes CHANGELOG.md",
    "docs/contributing.md": "includes CONTRIBUTING.md",
    "docs/install.md": "shell commands",
    "docs/roadmap.md": "a list of what is open",
    "docs/reliability.md": "a report on what was tried",
    "docs/vocabulary.md": "a list of words",
}
GALLERY = re.compile(
    r"^See :ref:`sphx_glr_gallery_([a-z]+)_(plot_\w+)\.py` for a longer example\.$"
)


def name(page):
    return page.relative_to(ROOT).as_posix()


def test_no_snippet_is_overlooked():
    for page in PAGES:
        marks = re.findall(r"code-block:: ?py|^ *```+ *\{?py", page.read_text(), re.MULTILINE)
        assert len(snippets(page)) == len(marks), f"{name(page)} has a snippet of another form"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_page_has_a_snippet_or_a_reason(page):
    assert bool(snippets(page)) != (name(page) in WITHOUT_SNIPPET)


SNIPPETS = [(page, i, text) for page in PAGES for i, text in enumerate(snippets(page))]


@pytest.mark.parametrize(
    ("page", "number", "text"), SNIPPETS, ids=[f"{name(page)}-{i}" for page, i, _ in SNIPPETS]
)
def test_snippet_prints_what_it_says(page, number, text):
    try:
        wrong = run_snippet(text, f"snippet {number + 1}")
    except DatasetNotFoundError as absent:
        pytest.skip(str(absent))
    assert wrong == ""


@pytest.mark.parametrize("page", METHOD_PAGES, ids=name)
def test_method_page_links_its_longer_example(page):
    room = page.relative_to(ROOT / "docs" / "methods").parts[0]
    found = [GALLERY.fullmatch(line) for line in page.read_text(encoding="utf-8").splitlines()]
    links = [match.groups() for match in found if match]
    assert links, "no longer example is named"
    for room_of_example, script in links:
        assert room_of_example == room
        assert (ROOT / "examples" / room / f"{script}.py").exists(), script
