"""One self-contained HTML page: claims, verdicts, evidence and figures."""

from __future__ import annotations

import base64
import html
import io
import platform
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from octavo import __version__
from octavo.catalogue import Paper
from octavo.claims import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem}
body{color:#1c2330}
h1{font-weight:650} h2{margin-top:2.5rem;border-bottom:1px solid #d8dee6;padding-bottom:.2rem}
table{border-collapse:collapse;width:100%;font-size:.92rem} th{text-align:left;color:#5a6675}
td,th{padding:.45rem .6rem;border-bottom:1px solid #e6eaf0;vertical-align:top}
.reproduced{color:#1a7f4b;font-weight:600}.refuted,.failed{color:#b3261e;font-weight:600}
.not{color:#8a6100;font-weight:600} .small{color:#5a6675;font-size:.85rem}
figure{margin:1.5rem 0} figure img{max-width:100%} figcaption{color:#5a6675;font-size:.9rem}
@media (prefers-color-scheme:dark){body{background:#14181f;color:#dfe5ee}td,th{border-color:#2b323d}
h2{border-color:#2b323d} figure img{background:#fff}}
"""


def figure_as_data_url(figure: Figure) -> str:
    """Return a matplotlib figure as a PNG inside a data address."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=130, bbox_inches="tight")
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()


def figure_html(figure: Figure, caption: str) -> str:
    """Return a figure with its caption as a part of a page, and close it."""
    import matplotlib.pyplot as plt

    text = html.escape(caption)
    image = f'<img alt="{text}" src="{figure_as_data_url(figure)}">'
    plt.close(figure)
    return f"<figure>{image}<figcaption>{text}</figcaption></figure>"


def html_page(title: str, body: str, *, style: str = "") -> str:
    """Return a page that needs no other file and no network."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{html.escape(title)}</title><style>{STYLE}{style}</style></head><body>"
        f"{body}</body></html>"
    )


def _row(result: Result) -> str:
    def cell(text: str) -> str:
        return f"<td>{html.escape(text)}</td>"

    kind = result.verdict.split()[0]
    evidence = f'<div class="small">{html.escape(result.evidence)}</div>' if result.evidence else ""
    expected = (
        f'<div class="small">expected {html.escape(result.claim.expect.text)}: '
        f"{html.escape(result.claim.expect.because)}</div>"
    )
    return (
        f"<tr><td>{html.escape(result.claim.says)}{expected}</td>{cell(result.claim.where)}"
        f"{cell(result.published_text)}{cell(result.measured_text)}"
        f'<td><span class="{kind}">{result.verdict}</span>{evidence}</td>'
        f"<td>{result.seconds:.1f} s</td></tr>"
    )


def _section(paper: Paper, results: list[Result]) -> str:
    rows = "".join(map(_row, results))
    figures = "".join(figure_html(picture.draw(), picture.caption) for picture in paper.figures)
    names = ", ".join(method.name for method in paper.methods)
    return (
        f'<h2 id="{paper.key}">{html.escape(paper.title)}</h2>'
        f'<p class="small">{html.escape(paper.reference)}<br>In octavo: {html.escape(names)}</p>'
        "<table><tr><th>claim</th><th>where</th><th>published</th><th>measured</th>"
        f"<th>verdict</th><th>time</th></tr>{rows}</table>{figures}"
    )


def write_report(
    path: Path, papers: Sequence[Paper], outcomes: Sequence[tuple[Paper, Result]], *, full: bool
) -> None:
    """Write the page; it needs no other file and no network."""
    import matplotlib

    matplotlib.use("Agg")
    counts: dict[str, int] = {}
    for _, result in outcomes:
        counts[result.verdict] = counts.get(result.verdict, 0) + 1
    summary = ", ".join(f"{n} {verdict}" for verdict, n in counts.items())
    sections = "".join(
        _section(paper, [result for owner, result in outcomes if owner is paper])
        for paper in papers
    )
    body = (
        "<h1>octavo: what the papers say, and what is measured</h1>"
        f"<p>{len(outcomes)} claims of {len(papers)} papers: {summary}.</p>"
        f'<p class="small">octavo {__version__}, {"full" if full else "quick"} measurements, '
        f"{date.today():%d %B %Y}, Python {platform.python_version()} on {platform.machine()}. "
        "Intervals are 95 % over the seeds listed.</p>"
        f"{sections}"
    )
    path.write_text(html_page("octavo: claims reproduced", body), encoding="utf-8")
