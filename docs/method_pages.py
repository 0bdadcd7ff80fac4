"""What the pages take from the catalogue: records, claims, benchmarks, figures.

The line ``.. octavo-method:: NAME`` at the end of a method's page becomes its record, API,
claims with their verdicts (from ``docs/results/claims.json``), figures (drawn by the functions
that the report uses) and benchmark (from ``docs/results/bench.json``). ``.. octavo-problems::``
becomes the way from problems to methods, ``.. octavo-index::`` the list of all methods by room, and
``.. octavo-verdicts::`` the table of all claims.
"""

from __future__ import annotations

import functools
import html
import importlib
import inspect
import json
import re
import warnings
from pathlib import Path
from types import FunctionType

from plain_docstrings import escape_line

from octavo.catalogue import find_method, methods, papers
from octavo.problems import PROBLEMS, TASKS, problems_of, words_of

HERE = Path(__file__).parent


@functools.cache
def stored(name: str):
    path = HERE / "results" / name
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def cell(text: object) -> str:
    """Return text that is safe in a table of reStructuredText."""
    if text == "-":  # alone it would begin a list
        return "–"
    return re.sub(r"([\\*`|])", r"\\\1", str(text))


@functools.cache
def page_of(method) -> str:
    """Return the page of a method below its room: ``family`` or ``family/method``."""
    folder = HERE / "methods" / method.room
    marker = f".. octavo-method:: {method.name}\n"
    for page in [folder / f"{method.family}.rst", *sorted((folder / method.family).glob("*.rst"))]:
        if page.exists() and marker in page.read_text(encoding="utf-8"):
            return "/".join(page.relative_to(folder).with_suffix("").parts)
    raise LookupError(f"No page in {folder} shows {method.name}.")


def table(header: list[str], rows: list[list[str]], widths: str) -> list[str]:
    lines = [".. list-table::", "   :header-rows: 1", f"   :widths: {widths}", ""]
    for row in [header, *rows]:
        lines += [f"   {'* -' if i == 0 else '  -'} {entry}" for i, entry in enumerate(row)]
    return [*lines, ""]


def linked(text: str, names: tuple[str, ...]) -> str:
    """Return text whose public names lead to the pages of their methods."""

    def link(match: re.Match) -> str:
        if match[1] not in names:
            return f"``{match[1]}``"
        _, method = find_method(match[1])
        return f":doc:`{match[1]} </methods/{method.room}/{page_of(method)}>`"

    return re.sub(r"`([^`]+)`", link, text)


def problem_lines() -> list[str]:
    """Return the tasks with their problems: each a question, its methods, and a way to fold out."""
    known = {problem.key: problem for problem in PROBLEMS}
    lines = [*(f"- :ref:`{task} <task-{place}>`" for place, task in enumerate(TASKS)), ""]
    for place, (task, keys) in enumerate(TASKS.items()):
        lines += [f".. _task-{place}:", "", task, "-" * len(task), ""]
        for key in keys:
            lines += folded_problem(known[key])
    return [*lines, ".. raw:: html", "", '   <script src="_static/problems.js"></script>', ""]


def folded_problem(problem) -> list[str]:
    """Return a problem of which the question and the methods are seen, its decision on a click."""
    room, script = problem.picture.split("/")
    thumb = f"gallery/{room}/images/thumb/sphx_glr_{script}_thumb.png"
    example = f"sphx_glr_gallery_{room}_{script}.py"
    names = ", ".join(html.escape(name) for name in problem.names)
    opening = f'<details class="problem"><summary>{names}</summary>'
    return [
        *(f".. _problem-{problem.key}:", "", problem.question, "~" * len(problem.question), ""),
        *(".. raw:: html", "", f"   {opening}", ""),
        *(f".. image:: {thumb}", "   :class: problem", "   :alt: what the example draws"),
        *("   :loading: lazy", f"   :target: gallery/{problem.picture}.html", ""),
        *(f"{i}. {linked(step, problem.names)}" for i, step in enumerate(problem.steps, 1)),
        *("", f":scikit-learn: {linked(problem.elsewhere, ())}"),
        *(f":Example: :ref:`{example}`", ""),
        *(".. raw:: html", "", "   </details>", ""),
    ]


def record_lines(paper, method) -> list[str]:
    peers = ", ".join(method.peers)
    asked = "; ".join(f":ref:`{p.question} <problem-{p.key}>`" for p in problems_of(method.name))
    return [
        *("At a glance", "-----------", ""),
        f":Problem: {asked}",
        f":Use it when: {cell(method.use_when)}",
        f":Avoid it when: {cell(method.avoid_when)}",
        f":scikit-learn offers: {cell(method.instead)}",
        f":Compared with: {peers}",
        rf":Paper: \ {cell(paper.reference)}",
        f":Also searched as: {', '.join(words_of(method.name))}",
        "",
    ]


def api_names(method) -> list[tuple[str, str]]:
    return [(method.room, member) for member in method.members] + [
        ("plot", name) for name in method.plots
    ]


def public(package: str, name: str):
    return getattr(importlib.import_module(f"octavo.{package}"), name)


def api_page(method, package: str, name: str) -> str:
    """Return the page of a public name: its own for an estimator, else one that a method shares.

    A page for each of 1,700 names would be most of the time and of the size of the whole site.
    """
    if hasattr(public(package, name), "get_params"):
        return f"generated/{package}.{name}"
    return f"generated/{method.room}.{method.name}.rest"


def api_lines(method) -> list[str]:
    rows = []
    for package, name in api_names(method):
        summary = escape_line((inspect.getdoc(public(package, name)) or "").splitlines()[0])
        role = "class" if inspect.isclass(public(package, name)) else "func"
        rows.append([f":{role}:`octavo.{package}.{name}`", summary])
    return ["API", "---", "", *table(["name", "what it does"], rows, "40 60")]


def own_members(cls: type) -> list[str]:
    """Return the public methods that octavo itself defines, not those of scikit-learn."""
    owners = [base for base in cls.__mro__ if base.__module__.startswith("octavo.")]
    return sorted(
        {
            name
            for owner in owners
            for name, member in vars(owner).items()
            # what is only offered at times is a function on the class too
            if not name.startswith("_")
            and (isinstance(member, classmethod) or isinstance(getattr(cls, name), FunctionType))
            and not getattr(cls, name).__module__.startswith("sklearn.")  # set_fit_request
        }
    )


def documented(package: str, name: str) -> list[str]:
    """Return the lines that show the docstring of a public name."""
    title = f"octavo.{package}.{name}"
    lines = [title, "-" * len(title), "", f".. currentmodule:: octavo.{package}", ""]
    if not inspect.isclass(public(package, name)):
        return [*lines, f".. autofunction:: {name}", ""]
    members = ", ".join(own_members(public(package, name)))
    return [*lines, f".. autoclass:: {name}", *([f"   :members: {members}"] if members else []), ""]


def write_api_pages(app) -> None:
    """Write the pages of public names before Sphinx reads the sources."""
    pages: dict[str, list[str]] = {}
    shown: set[tuple[str, str]] = set()  # a plot may serve several methods
    for _, method in methods():
        back = f":doc:`{method.name} </methods/{method.room}/{page_of(method)}>`"
        for package, name in api_names(method):
            if (package, name) in shown:
                continue
            shown.add((package, name))
            page = api_page(method, package, name)
            if page not in pages:
                alone = not page.endswith(".rest")
                title = f"octavo.{package}.{name}" if alone else f"Beside {method.name}"
                pages[page] = [":orphan:", "", title, "=" * len(title), ""]
                pages[page] += [f"A part of {back}, whose page says when to use it.", ""]
            pages[page] += documented(package, name)[0 if page.endswith(".rest") else 3 :]
    folder = HERE / "generated"
    folder.mkdir(exist_ok=True)
    for path in folder.glob("*.rst"):
        if f"generated/{path.stem}" not in pages:
            path.unlink()  # of a name that is gone
    for page, lines in pages.items():
        path, text = HERE / f"{page}.rst", "\n".join(lines)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def claim_lines(paper, method) -> list[str]:
    rows = [
        row
        for row in stored("claims.json") or []
        if row["paper"] == paper.key and row["method"] == method.name
    ]
    title = "What the paper claims, and what is measured"
    lines = [title, "-" * len(title), ""]
    if not rows:
        return [*lines, f"Run ``octavo reproduce {paper.key}``.", ""]
    full = all(row.get("full", True) for row in rows)
    size, flag = ("Full", " --full") if full else ("Quick", "")
    intro = f"{size} measurements, as ``octavo reproduce {paper.key}{flag}`` prints them: "
    lines += [f"{intro}{counted(rows)}.", "", ".. raw:: html", ""]
    heads = "".join(f"<th>{name}</th>" for name in COLUMNS[2:])
    body = "".join(f"<tr>{''.join(verdict_cells(row)[2:])}</tr>" for row in rows)
    text = f"<thead><tr>{heads}</tr></thead><tbody>{body}</tbody>"
    return [*lines, f'   <div class="verdicts"><table>{text}</table></div>', ""]


def figure_lines(paper, method, build: Path) -> list[str]:
    import matplotlib.pyplot as plt

    lines = []
    for number, figure in enumerate(paper.figures):
        if figure.method != method.name:
            continue
        path = build / f"{paper.key}-{number}.png"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            with warnings.catch_warnings(action="ignore"):  # they are for who fits, not who builds
                drawn = figure.draw()
            drawn.savefig(path, dpi=110, bbox_inches="tight")
            plt.close(drawn)
        lines += [f".. figure:: /generated/figures/{path.name}", "   :width: 85%", ""]
        lines += [f"   {figure.caption}", ""]
    return lines


def bench_lines(method) -> list[str]:
    kept = stored("bench.json") or {}
    entry = kept.get(f"{method.room}/{page_of(method)}")
    lines = ["Speed", "-----", ""]
    if entry is None:
        return [*lines, f'Run ``make bench BENCH="{method.room}/{method.family}"``.', ""]
    from benchmarks.harness import duration

    lines += [f"{entry['date']}, {entry['machine']}.", ""]
    for contest in entry["contests"]:
        rows = [
            [
                cell(row["solver"]),
                duration(row["seconds"], contest["unit"]),
                f"{row['ratio']:.3g} [{row['low']:.3g}, {row['high']:.3g}]",
            ]
            for row in contest["rows"]
        ]
        lines += [f"**{cell(contest['problem'])}**", ""]
        lines += table(["solver", "time", "times octavo's"], rows, "40 25 35")
        lines += [cell(" ".join(filter(None, (contest["agreement"], contest["target"])))), ""]
    return lines


def method_lines(name: str) -> list[str]:
    paper, method = find_method(name)
    return [
        *record_lines(paper, method),
        *api_lines(method),
        *claim_lines(paper, method),
        *figure_lines(paper, method, HERE / "generated" / "figures"),
        *bench_lines(method),
    ]


def index_lines() -> list[str]:
    lines: list[str] = []
    for room in sorted({method.room for _, method in methods()}):
        rows = [
            [f":doc:`{m.name} <methods/{room}/{page_of(m)}>`", cell(m.task), cell(m.summary)]
            for _, m in methods()
            if m.room == room
        ]
        title = (HERE.parent / "examples" / room / "README.rst").read_text(encoding="utf-8")
        about = inspect.getdoc(importlib.import_module(f"octavo.{room}")) or ""
        lines += [f"octavo.{room}", "-" * (len(room) + 7), "", about, ""]
        # a part of the sidebar, under the name that the gallery gives the room
        pages = sorted((HERE / "methods" / room).rglob("*.rst"))
        lines += [".. toctree::", f"   :caption: {title.splitlines()[0]}", "   :hidden:", ""]
        lines += [*(f"   {page.relative_to(HERE).as_posix()}" for page in pages), ""]
        lines += table(["method", "task", "what it does"], rows, "27 28 45")
    return lines


COLUMNS = ("paper", "kind", "place", "claim", "published", "measured", "verdict", "evidence")


def verdict_cells(row: dict) -> list[str]:
    """Return the cells of a claim's row in HTML."""
    paper = {paper.key: paper for paper in papers()}[row["paper"]]
    why = f" {paper.why_refuted(row['claim'])}" if row["verdict"] == "refuted" else ""
    size = " --full" if row.get("full") else ""
    command = f"octavo reproduce{size} {row['paper']} {row['claim']}"
    own = " (own)" if row.get("kind") == "own" else ""
    plain = [row["says"], row["published"], row["measured"]]
    return [
        f'<td><span title="{html.escape(paper.title)}">{html.escape(row["paper"])}</span></td>',
        f"<td>{html.escape(row.get('kind', ''))}</td>",
        f"<td>{html.escape(row['where'])}</td>",
        *[f"<td>{html.escape(text)}</td>" for text in plain],
        f'<td><b class="verdict {row["verdict"].split()[0]}">{row["verdict"]}{own}</b></td>',
        f"<td><details><summary>expected {html.escape(row['expected'])}</summary>"
        f"{html.escape(row['because'])}. {html.escape(row['evidence'])}.{html.escape(why)}<br>"
        f"<code>{html.escape(command)}</code></details></td>",
    ]


def counted(rows: list[dict]) -> str:
    """Return the totals in words, octavo's own claims apart."""
    order = ("reproduced", "refuted", "undecided", "not measurable here")
    parts = [f"{sum(r['verdict'] == word for r in rows)} {word}" for word in order]
    return ", ".join(parts)


def verdict_lines() -> list[str]:
    """Return the totals, the refutations with a sentence each, and the table of all claims."""
    rows = stored("claims.json") or []
    theirs = [row for row in rows if row.get("kind") != "own"]
    own = [row for row in rows if row.get("kind") == "own"]
    lines = [
        f"{len(theirs)} claims of {len(papers())} papers: {counted(theirs)}. Beside them "
        f"{len(own)} claims of octavo's own, not counted: {counted(own)}.",
        "",
        *("Refuted", "-------", ""),
        "On the paper's own set-up and data, the whole interval outside:",
        "",
    ]
    records = {paper.key: paper for paper in papers()}
    refuted = [row for row in theirs if row["verdict"] == "refuted"]
    summary = f"{len(refuted)} claims of {len({row['paper'] for row in refuted})} papers"
    lines += [".. raw:: html", "", f"   <details><summary>{summary}</summary>", ""]
    for row in refuted:
        said = f"{row['says']} ({row['where']}; published {row['published']})"
        why = records[row["paper"]].why_refuted(row["claim"])
        lines += [
            f"- **{row['paper']}**: {cell(said)}: measured {cell(row['measured'])}. {cell(why)}"
        ]
    lines += ["", ".. raw:: html", "", "   </details>", ""]
    lines += ["", "All claims", "----------", "", ".. raw:: html", ""]
    body = [f"<tr>{''.join(verdict_cells(row))}</tr>" for row in rows]
    heads = "".join(f'<th><button type="button">{name}</button></th>' for name in COLUMNS)
    lines += [
        f"   {line}"
        for line in [
            '<div id="verdict-filters"></div>',
            '<div class="verdicts"><table id="verdict-table">',
            f"<thead><tr>{heads}</tr></thead><tbody>",
            *body,
            "</tbody></table></div>",
            '<script src="_static/verdicts.js"></script>',
        ]
    ]
    return [*lines, ""]


def total_lines() -> list[str]:
    """Return what there is, in a line."""
    rows = [row for row in stored("claims.json") or [] if row.get("kind") != "own"]
    return [
        f"**{len(list(methods()))} methods** of {len(papers())} papers. **{len(rows)} claims** of "
        f"these papers measured: {counted(rows)}. :doc:`See them all <verdicts>`.",
        "",
    ]


MARKERS = {
    "octavo-totals": total_lines,
    "octavo-problems": problem_lines,
    "octavo-index": index_lines,
    "octavo-verdicts": verdict_lines,
}


def complete_source(app, docname: str, source: list[str]) -> None:
    """Replace the markers by what the catalogue says, before the page is parsed."""
    text = re.sub(
        r"^\.\. octavo-method:: (\S+)$",
        lambda match: "\n".join(method_lines(match[1])),
        source[0],
        flags=re.MULTILINE,
    )
    for marker, lines in MARKERS.items():
        pattern = re.compile(rf"^\.\. {marker}::$", re.MULTILINE)
        if pattern.search(text):
            made = "\n".join(lines())
            text = pattern.sub(lambda _, made=made: made, text)
    source[0] = text


def setup(app):
    app.connect("builder-inited", write_api_pages)
    app.connect("source-read", complete_source)
    return {"parallel_read_safe": True}
