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
from octavo._whole_files import write_whole
from octavo.catalogue import Paper, PaperFigure
from octavo.claims import VERDICTS, Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = 128  # of a picture in the report
STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem}
body{color:#1c2330}
h1{font-weight:650} h2{margin-top:2.5rem;border-bottom:1px solid #d8dee6;padding-bottom:.2rem}
table{border-collapse:collapse;width:100%;font-size:.92rem} th{text-align:left;color:#5a6675}
td,th{padding:.45rem .6rem;border-bottom:1px solid #e6eaf0;vertical-align:top}
.reproduced{color:#1a7f4b;font-weight:600}.refuted,.failed{color:#b3261e;font-weight:600}
.not,.undecided{color:#8a6100;font-weight:600} .total{font-size:1.15rem}
.wide{overflow-x:auto} .small{color:#5a6675;font-size:.85rem}
figure{margin:1.5rem 0} figure img{max-width:100%} figcaption{color:#5a6675;font-size:.9rem}
@media (prefers-color-scheme:dark){body{background:#14181f;color:#dfe5ee}td,th{border-color:#2b323d}
h2{border-color:#2b323d} figure img{background:#fff} th,.small,figcaption{color:#9aa6b5}
.reproduced{color:#63c795}.refuted,.failed{color:#f2938c}.not,.undecided{color:#e0b45c}}
:root{color-scheme:light dark}
#filters{display:flex;flex-wrap:wrap;gap:.5rem;align-items:center}
select{font:inherit;max-width:100%}
"""


def figure_as_data_url(figure: Figure) -> str:
    """Return a matplotlib figure as a PNG inside a data address.

    128 colours are enough for a plot, and make it a third of the size: a page of all papers stays
    small enough to be sent around.
    """
    from PIL import Image  # matplotlib brings it

    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=90, bbox_inches="tight")
    few = Image.open(buffer).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    buffer = io.BytesIO()
    few.save(buffer, "PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()


def figure_html(figure: Figure, caption: str) -> str:
    """Return a figure with its caption as a part of a page, and close it."""
    import matplotlib.pyplot as plt

    text = html.escape(caption)
    try:
        image = f'<img alt="{text}" src="{figure_as_data_url(figure)}">'
    finally:
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


def figure_error(caption: str, error: Exception) -> str:
    """Return what stands in the place of a figure that could not be drawn."""
    why = html.escape(f"{type(error).__name__}: {error}")
    return (
        f'<figure class="small">This figure could not be drawn ({why}).'
        f"<figcaption>{html.escape(caption)}</figcaption></figure>"
    )


def drawn(figure: PaperFigure) -> str:
    """Draw a figure as HTML; an error costs its own place and no other."""
    try:
        return figure_html(figure.draw(), figure.caption)
    except Exception as error:
        return figure_error(figure.caption, error)


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
        f'<tr class="claim" data-verdict="{kind}"><td>{html.escape(result.claim.says)}{expected}'
        f"</td>{cell(result.claim.where)}"
        f"{cell(result.published_text)}{cell(result.measured_text)}"
        f'<td><span class="{kind}">{result.verdict_text}</span>{evidence}</td>'
        f"<td>{result.seconds:.1f} s</td></tr>"
    )


HEADER = (
    "<tr><th>claim</th><th>where</th><th>published</th><th>measured</th><th>verdict</th>"
    "<th>time</th></tr>"
)


def _section(paper: Paper, results: list[Result], figures: list[str]) -> str:
    rows = "".join(map(_row, results))
    names = ", ".join(method.name for method in paper.methods)
    table = f'<div class="wide"><table>{HEADER}{rows}</table></div>' if rows else ""
    return (
        f'<section data-paper="{paper.key}"><h2 id="{paper.key}">{html.escape(paper.title)}</h2>'
        f'<p class="small">{html.escape(paper.reference)}<br>In octavo: {html.escape(names)}</p>'
        f"{table}{''.join(figures)}</section>"
    )


def verdict_counts(results: Sequence[Result]) -> dict[str, int]:
    """Count verdicts, those on octavo's own claims apart."""
    counts = dict.fromkeys(VERDICTS, 0) | {"own claims": 0}
    for result in results:
        counts["own claims" if result.claim.kind == "own" else result.verdict] += 1
    return {verdict: n for verdict, n in counts.items() if n}


def counts_text(results: Sequence[Result]) -> str:
    """Return the counts in words."""
    return ", ".join(f"{n} {v}" for v, n in verdict_counts(results).items()) or "no claims"


def _summary(papers: Sequence[Paper], outcomes: Sequence[tuple[Paper, Result]]) -> str:
    """What a newcomer wants to know: how many hold, and what was refuted."""
    refuted = [(p, r) for p, r in outcomes if r.verdict == "refuted" and r.claim.kind != "own"]
    items = "".join(
        f'<li><a href="#{p.key}">{html.escape(r.claim.says)}</a> '
        f'<span class="small">({html.escape(p.authors)} {p.year}, {html.escape(r.claim.where)}): '
        f"published {html.escape(r.published_text)}, measured "
        f"{html.escape(r.measured_text)}. {html.escape(p.why_refuted(r.claim.name))}</span></li>"
        for p, r in refuted[:12]
    )
    more = f"<p>and {len(refuted) - 12} more, below.</p>" if len(refuted) > 12 else ""
    surprises = f"<h3>What did not hold</h3><ul>{items}</ul>{more}" if items else ""
    results = [r for _, r in outcomes]
    counted = [r for r in results if r.claim.kind != "own"]
    good = sum(r.verdict == "reproduced" for r in counted)
    links = " · ".join(f'<a href="#{p.key}">{html.escape(p.key)}</a>' for p in papers)
    return (
        f'<p class="total"><b>{good}</b> of <b>{len(counted)}</b> claims of {len(papers)} papers '
        f"are reproduced here ({counts_text(results)}).</p>{surprises}"
        f'<h3>Contents</h3><p class="small">{links}</p>'
    )


SCRIPT = """
<script>{
  const chosen = [...document.querySelectorAll("#filters select")];
  const [verdict, paper] = chosen;
  const count = document.querySelector("#filters output");
  const show = () => {
    let shown = 0;
    for (const part of document.querySelectorAll("section[data-paper]")) {
      const rows = [...part.querySelectorAll("tr.claim")];
      for (const row of rows)
        row.hidden = Boolean(verdict.value) && row.dataset.verdict !== verdict.value;
      const left = rows.filter(row => !row.hidden).length;
      part.hidden = Boolean(paper.value && part.dataset.paper !== paper.value
        || verdict.value && !left);
      shown += part.hidden ? 0 : left;
    }
    count.textContent = `${shown} of ${document.querySelectorAll("tr.claim").length} claims`;
  };
  for (const select of chosen) select.onchange = show;
  // A link of the contents leads to its paper whatever is hidden.
  addEventListener("hashchange", () => {
    const part = document.querySelector(`section[data-paper="${location.hash.slice(1)}"]`);
    if (!part || !part.hidden) return;
    for (const select of chosen) select.value = "";
    show();
    part.scrollIntoView();
  });
  show();
}</script>
"""


def _filters(papers: Sequence[Paper], results: Sequence[Result]) -> str:
    """Return the choices of a verdict and of a paper, and what they do."""

    def choice(label: str, every: str, values: Sequence[tuple[str, str]]) -> str:
        options = "".join(f'<option value="{v}">{html.escape(t)}</option>' for v, t in values)
        return f'<select aria-label="{label}"><option value="">{every}</option>{options}</select> '

    seen = {result.verdict for result in results}
    verdicts = [(v.split()[0], v) for v in VERDICTS if v in seen]
    named = [(p.key, f"{p.key} ({p.authors} {p.year})") for p in papers]
    return (
        f'<p id="filters">Show {choice("verdict", "all verdicts", verdicts)}'
        f"{choice('paper', 'all papers', named)}<output></output></p>"
    )


def write_report(
    path: Path,
    papers: Sequence[Paper],
    outcomes: Sequence[tuple[Paper, Result]],
    *,
    full: bool,
    figures: dict[str, list[str]] | None = None,
) -> None:
    """Write the page; it needs no other file and no network.

    Parameters
    ----------
    path : Path
        Where to write.
    papers : sequence of Paper
        The sections.
    outcomes : sequence of (Paper, Result)
        The measured claims.
    full : bool
        Whether they were measured at the paper's size.
    figures : dict of str to list of str, optional
        Figures that are drawn already, as HTML; they are drawn here by default.
    """
    import matplotlib

    matplotlib.use("Agg")
    if figures is None:
        figures = {paper.key: [drawn(figure) for figure in paper.figures] for paper in papers}
    sections = "".join(
        _section(paper, [r for owner, r in outcomes if owner is paper], figures[paper.key])
        for paper in papers
    )
    body = (
        "<h1>octavo: what the papers say, and what is measured</h1>"
        f"{_summary(papers, outcomes)}"
        f'<p class="small">octavo {__version__}, {"full" if full else "quick"} measurements, '
        f"{date.today():%d %B %Y}, Python {platform.python_version()} on {platform.machine()}. "
        "Intervals are 95 % over the seeds listed.</p>"
        f"{_filters(papers, [r for _, r in outcomes])}{sections}{SCRIPT}"
    )
    write_whole(path, html_page("octavo: claims reproduced", body))
