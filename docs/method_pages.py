"""What the pages take from the catalogue: records, claims, benchmarks, figures.

``.. octavo-method:: NAME`` at the end of a method's page writes its record, API, claims with
their verdicts (from ``docs/results/claims.json``), figures (drawn by the functions that the
report uses) and benchmark (from ``docs/results/bench.json``). ``.. octavo-index::`` lists all
methods by room.
"""

from __future__ import annotations

import importlib
import inspect
import json
from pathlib import Path
from types import FunctionType

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList
from sphinx.util.nodes import nested_parse_with_titles

from octavo.catalogue import find_method, methods

HERE = Path(__file__).parent


def stored(name: str):
    path = HERE / "results" / name
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def cell(text: object) -> str:
    """Return text that is safe in a table of reStructuredText."""
    return (
        str(text).replace("\\", "\\\\").replace("*", "\\*").replace("`", "\\`").replace("|", "\\|")
    )


def table(header: list[str], rows: list[list[str]], widths: str) -> list[str]:
    lines = [".. list-table::", "   :header-rows: 1", f"   :widths: {widths}", ""]
    for row in [header, *rows]:
        lines += [f"   {'* -' if i == 0 else '  -'} {entry}" for i, entry in enumerate(row)]
    return [*lines, ""]


def record_lines(paper, method) -> list[str]:
    peers = ", ".join(method.peers)
    return [
        *("At a glance", "-----------", ""),
        f":Use it when: {method.use_when}",
        f":Avoid it when: {method.avoid_when}",
        f":scikit-learn offers: {cell(method.instead)}",
        f":Compared with: {peers}",
        f":Paper: {paper.reference}",
        "",
    ]


def api_names(method) -> list[tuple[str, str]]:
    return [(method.room, member) for member in method.members] + [
        ("plot", name) for name in method.plots
    ]


def api_lines(method) -> list[str]:
    rows = []
    for package, name in api_names(method):
        thing = getattr(importlib.import_module(f"octavo.{package}"), name)
        summary = (inspect.getdoc(thing) or "").splitlines()[0]
        rows.append(
            [f":doc:`octavo.{package}.{name} </generated/{package}.{name}>`", cell(summary)]
        )
    lines = ["API", "---", "", *table(["name", "what it does"], rows, "40 60")]
    lines += [".. toctree::", "   :hidden:", ""]
    return [*lines, *[f"   /generated/{package}.{name}" for package, name in api_names(method)], ""]


def own_members(cls: type) -> list[str]:
    """Return the public methods that octavo itself defines, not those of scikit-learn."""
    owners = [base for base in cls.__mro__ if base.__module__.startswith("octavo.")]
    return sorted(
        {
            name
            for owner in owners
            for name, member in vars(owner).items()
            if not name.startswith("_") and isinstance(member, (FunctionType, classmethod))
        }
    )


def write_api_pages(app) -> None:
    """Write one page per public name before Sphinx reads the sources."""
    folder = HERE / "generated"
    folder.mkdir(exist_ok=True)
    for _, method in methods():
        for package, name in api_names(method):
            thing = getattr(importlib.import_module(f"octavo.{package}"), name)
            title = f"octavo.{package}.{name}"
            lines = [title, "=" * len(title), "", f".. currentmodule:: octavo.{package}", ""]
            if inspect.isclass(thing):
                lines += [
                    f".. autoclass:: {name}",
                    "   :members:",
                    "   :inherited-members: tuple",
                    "",
                ]
            else:
                lines += [f".. autofunction:: {name}", ""]
            path = folder / f"{package}.{name}.rst"
            text = "\n".join(lines)
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                path.write_text(text, encoding="utf-8")


def claim_lines(paper, method) -> list[str]:
    results = stored("claims.json") or []
    rows = [
        [
            cell(r["says"]),
            cell(r["where"]),
            cell(r["published"]),
            cell(r["measured"]),
            f"**{r['verdict']}**" + (f" {cell(r['evidence'])}" if r["evidence"] else ""),
        ]
        for r in results
        if r["paper"] == paper.key and r["method"] == method.name
    ]
    title = "What the paper claims, and what is measured"
    if not rows:
        return [title, "-" * len(title), "", f"Run ``octavo reproduce {paper.key}``.", ""]
    header = ["claim", "where", "published", "measured", "verdict"]
    intro = f"Full measurements, as ``octavo reproduce {paper.key} --full`` prints them."
    return [title, "-" * len(title), "", intro, "", *table(header, rows, "30 16 12 16 26")]


def figure_lines(paper, build: Path) -> list[str]:
    import matplotlib.pyplot as plt

    lines = []
    for number, figure in enumerate(paper.figures):
        path = build / f"{paper.key}-{number}.png"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            drawn = figure.draw()
            drawn.savefig(path, dpi=110, bbox_inches="tight")
            plt.close(drawn)
        lines += [f".. figure:: /generated/figures/{path.name}", "   :width: 85%", ""]
        lines += [f"   {figure.caption}", ""]
    return lines


def bench_lines(method) -> list[str]:
    entry = (stored("bench.json") or {}).get(method.module)
    lines = ["Speed", "-----", ""]
    if entry is None:
        return [*lines, f'Run ``make bench BENCH="{method.module}"``.', ""]
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


class OctavoDirective(Directive):
    def lines(self) -> list[str]:
        raise NotImplementedError

    def run(self) -> list[nodes.Node]:
        node = nodes.section()
        node.document = self.state.document
        text = StringList(self.lines(), source="catalogue")
        nested_parse_with_titles(self.state, text, node)
        return node.children


class MethodDirective(OctavoDirective):
    required_arguments = 1

    def lines(self) -> list[str]:
        paper, method = find_method(self.arguments[0])
        figures = figure_lines(paper, HERE / "generated" / "figures")
        return [
            *record_lines(paper, method),
            *api_lines(method),
            *claim_lines(paper, method),
            *figures,
            *bench_lines(method),
        ]


class IndexDirective(OctavoDirective):
    def lines(self) -> list[str]:
        lines: list[str] = []
        rooms = sorted({method.room for _, method in methods()})
        for room in rooms:
            rows = [
                [f":doc:`{m.name} <methods/{m.module}>`", cell(m.task), cell(m.summary)]
                for _, m in methods()
                if m.room == room
            ]
            lines += [f"octavo.{room}", "-" * (len(room) + 7), ""]
            lines += table(["method", "task", "what it does"], rows, "22 28 50")
        return lines


def setup(app):
    app.add_directive("octavo-method", MethodDirective)
    app.add_directive("octavo-index", IndexDirective)
    app.connect("builder-inited", write_api_pages)
    return {"parallel_read_safe": False}
