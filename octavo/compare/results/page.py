"""The report of a comparison: one HTML page that needs no other file and no network."""

from __future__ import annotations

import html
import math
import platform
from collections.abc import Callable
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from octavo import __version__
from octavo._whole_files import write_whole
from octavo.compare.judging.leaderboard import GUESSES, Standing
from octavo.compare.results.pictures import (
    FONT,
    draw_chances,
    draw_importance,
    draw_intervals,
    draw_winner,
)
from octavo.compare.results.snippet import params_text
from octavo.compare.running.progress_bar import clock
from octavo.compare.running.scores import NAMES
from octavo.compare.table.reading import InputError
from octavo.report import figure_error, figure_html, html_page

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from octavo.compare.workbench import Comparison

STYLE = """
.lead{font-size:1.15rem;max-width:52rem}
.cards{display:flex;flex-wrap:wrap;gap:.8rem;margin:1.4rem 0;padding:0;list-style:none}
.cards li{flex:1 1 8rem;border:1px solid #e6eaf0;border-radius:.6rem;padding:.7rem .9rem}
.cards b{display:block;font-size:1.35rem;font-weight:650;line-height:1.25}
.cards span{color:#5a6675;font-size:.85rem}
.pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(20rem,100%),1fr));gap:1.5rem;align-items:start}
td.num,th.num{text-align:right;font-variant-numeric:tabular-nums}td.num{white-space:nowrap}
tr.best td{background:#eef7f1}
.tag{font-size:.75rem;border-radius:.3rem;padding:.05rem .4rem;background:#eef1f5;color:#5a6675;
white-space:nowrap}
.tag.octavo{background:#e3ecfa;color:#2457a6}
.yes{color:#1a7f4b;font-weight:600}
pre{background:#f5f7fa;border:1px solid #e6eaf0;border-radius:.6rem;padding:1rem;
white-space:pre-wrap;overflow-wrap:anywhere;font-size:.85rem;line-height:1.45}
body,td,li,h1{overflow-wrap:anywhere} th{overflow-wrap:normal} figure{margin-left:0;margin-right:0}
ol.steps li{margin:.25rem 0} li.alarm{color:#8a6100} li.alarm::marker{color:#b3261e}
li.alarm strong{color:#b3261e}
.callout{border-left:4px solid #c98a00;background:#fdf7e7;border-radius:.3rem;padding:.6rem 1rem;
margin:1rem 0}
.narrow-page{display:none}
@media (min-width:70rem){td b{overflow-wrap:break-word}}
@media (max-width:52rem){.wide-page{display:none}.narrow-page{display:block}}
.callout p{margin:.3rem 0;font-size:.95rem}
@media (max-width:52rem){h1{font-size:1.5rem} .cards b{font-size:1.1rem}
table,tbody{display:block} tr{display:block;border-bottom:1px solid #e6eaf0;padding:.5rem 0}
tr.heads{display:none} td{display:block;border:0;padding:.1rem .3rem}
td.num,th.num{text-align:left;white-space:normal}
td[data-label]::before{content:attr(data-label)": ";color:#5a6675;font-size:.85rem}
td div.small{display:inline;margin-left:.4rem} td:nth-child(2) div.small{display:block;margin:0}
td:empty{display:none}}
@media (prefers-color-scheme:dark){tr{border-color:#2b323d} .yes{color:#63c795}
.cards span,td[data-label]::before{color:#9aa6b5}li.alarm strong,li.alarm::marker{color:#f2938c}
.cards li,pre{border-color:#2b323d}pre{background:#1b2029}
tr.best td{background:#17281f}
.callout{background:#2a2413}
.tag{background:#2b323d;color:#aab4c2}.tag.octavo{background:#1d2f4d;color:#9cc0f5}li.alarm{color:#e0b45c}
figure img{border-radius:.6rem}}
"""


def _number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.4f}"


def _seconds(value: float) -> str:
    return clock(value) if value >= 10 else f"{value:.2g} s"


def _p(value: float) -> str:
    if math.isnan(value):
        return ""
    return "p < 0.001" if value < 0.001 else f"p = {value:.3f}"


def _listed(names: list[str], most: int = 4) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    shown = names[:most]
    if not more and len(shown) > 1:
        return ", ".join(shown[:-1]) + f" and {shown[-1]}"
    return ", ".join(shown) + more


def verdict(comparison: Comparison) -> str:
    """Return the outcome in two or three sentences."""
    board = comparison.leaderboard
    if not board:
        return f"No method finished a fold: {comparison.stopped or 'all failed'}."
    best, n_folds = board[0], len(comparison.board.folds)
    interval = "" if math.isnan(best.low) else f" (95 % interval {best.low:.3f} to {best.high:.3f})"
    score = f"{comparison.score_name} {best.mean:.3f}{interval}"
    first = [s.name for s in board if s.rank == 1]
    early = not comparison.board.decided and (len(board) > 1 or bool(comparison.stopped))
    if early:
        text = (
            f"No verdict yet: {n_folds} fold{'s' if n_folds > 1 else ''} cannot tell methods "
            f"apart. So far {_listed(first)} {'has' if len(first) == 1 else 'have'} {score}."
        )
    elif len(first) > 1:
        text = f"{_listed(first)} share the first place with {score}."
    else:
        text = f"{best.name} comes first with {score}."
    if len(board) > len(first) and comparison.board.decided:
        text += _lead(board)
    guess = next((s for s in board if s.name in GUESSES), None)
    if guess is best and not early:
        text += " That is a model without features: nothing here predicts the target."
    elif guess is not None and guess is not best:
        text += f" Without features the score is {guess.mean:.3f}."
    if doubts := [step.doubt for step in comparison.steps if step.doubt]:
        text += f" Do not trust this yet: {' and '.join(doubts)} (see the notes)."
    if comparison.stopped:
        wanted = comparison.settings.cv
        when = f"after {n_folds} of {wanted} folds" if n_folds < wanted else "before all was done"
        text += f" The run was stopped ({comparison.stopped}) {when}."
    return text


def _lead(board: list[Standing]) -> str:
    """Return what can be said of the lead of the first over the others."""
    best = board[0]
    tied = [s for s in board[1:] if s.tied and s.rank > 1]
    shared = board[1].rank == 1
    if not tied:
        who = "They are" if shared else "It is"
        return f" {who} ahead of all others beyond chance."
    lead = "their lead" if shared else "its lead"
    guess = next((s.name for s in tied if s.name in GUESSES), None)
    if guess is not None and best.name not in GUESSES:
        return (
            f" With this many rows {lead} over {guess}, which uses no features, could be "
            "chance: nothing here is shown to predict the target."
        )
    text = f" With this many rows {lead} over {_listed([s.name for s in tied])} could be chance"
    first = [s for s in board if s.rank == 1]
    models = [s for s in [*first, *tied] if s.name not in GUESSES] or [best]
    quick = min(models, key=lambda s: s.seconds)
    return text + (f"; {quick.name} is the quickest of them." if quick is not best else ".")


def _cards(comparison: Comparison) -> str:
    problem = comparison.problem
    ranking = problem.task == "ranking"
    shape = problem.n_rows if ranking else f"{problem.n_rows:,} × {problem.X.shape[1]:,}"
    done = sum(outcome.error is None for outcome in comparison.log.outcomes.values())
    cards = [
        (problem.task, f"of {problem.target}" if problem.target else "no target"),
        (f"{shape:,}" if ranking else shape, "games" if ranking else "rows × columns"),
        (str(len({name for name, _ in comparison.log.outcomes})), "methods tried"),
        (str(done), f"folds done, {comparison.settings.cv} a method"),
        (
            clock(sum(o.seconds for o in comparison.log.outcomes.values())),
            "of computing in all",
        ),
    ]
    items = "".join(
        f"<li><b>{html.escape(str(a))}</b><span>{html.escape(b)}</span></li>" for a, b in cards
    )
    return f'<ul class="cards">{items}</ul>'


def _line(comparison: Comparison, s: Standing, extras: list[str]) -> str:
    note = comparison.note(s)
    below = f'<div class="small">{html.escape(note)}</div>' if note else ""
    tried = len(comparison.candidate(s.name).grid)
    settings = html.escape(params_text(s.params)) or "defaults"
    settings += f" (of {tried} tried)" if tried > 1 else ""
    chance = "best" if s.rank == 1 else "could be chance" if s.tied else "behind"
    if s.rank == 1 and sum(t.rank == 1 for t in comparison.leaderboard) > 1:
        chance = "equal first"
    if not comparison.board.decided:
        chance = "too few folds"
    kind = "yes" if s.rank == 1 and comparison.board.decided else "small"
    cells = "".join(
        f'<td class="num" data-label="{html.escape(NAMES.get(k, k))}">{_number(s.extras[k])}</td>'
        if k in s.extras
        else '<td class="num"></td>'
        for k in extras
    )
    interval = "" if math.isnan(s.low) else f'<div class="small">{s.low:.3f} to {s.high:.3f}</div>'
    return (
        f'<tr{" class=best" if s.rank == 1 else ""}><td class="num">{s.rank}</td>'
        f'<td><b>{html.escape(s.name)}</b> <span class="tag {s.origin}">{s.origin}</span>'
        f'<div class="small">{settings}</div>{below}</td>'
        f'<td class="num" data-label="{html.escape(comparison.score_name)}">'
        f"<b>{_number(s.mean)}</b>{interval}</td>"
        f'<td class="num"><span class="{kind}">{chance}</span><div '
        f'class="small">{_p(s.p_value)}</div></td>{cells}'
        f'<td class="num" data-label="one fit">{_seconds(s.fit_seconds)}</td></tr>'
    )


def _table(comparison: Comparison) -> str:
    named = dict.fromkeys(k for s in comparison.leaderboard for k in s.extras)
    extras = [k for k in named if k != comparison.settings.score]
    heads = "".join(f'<th class="num">{html.escape(NAMES.get(k, k))}</th>' for k in extras)
    lines = "".join(_line(comparison, s, extras) for s in comparison.leaderboard)
    return (
        '<table><tr class="heads"><th></th><th>method, settings of most folds</th>'
        f'<th class="num">{html.escape(comparison.score_name)}<br>95 % interval</th>'
        f'<th class="num">beside the best<br>p</th>{heads}<th class="num">one '
        f"fit</th></tr>{lines}</table>"
    )


def _alarms(comparison: Comparison) -> str:
    """Return what deserves a look before the scores are believed."""
    found = [step.what for step in comparison.steps if step.alarm]
    lines = "".join(f"<p>{html.escape(text)}</p>" for text in found[:6])
    more = f"<p>{len(found) - 6} more below.</p>" if len(found) > 6 else ""
    return (
        f'<div class="callout"><b>Look before you believe it</b>{lines}{more}</div>'
        if found
        else ""
    )


def _failures(comparison: Comparison) -> str:
    if not comparison.failures:
        return ""
    rows = "".join(
        f"<tr><td><b>{html.escape(f.name)}</b></td><td "
        f'class="{"failed" if f.kind == "failed" else "small"}">{f.kind}</td>'
        f"<td>{html.escape(f.why)}</td></tr>"
        for f in comparison.failures
    )
    heads = "<tr class=heads><th>method</th><th></th><th>why</th></tr>"
    return f"<h2>Methods without a place</h2><table>{heads}{rows}</table>"


def _steps(comparison: Comparison) -> str:
    items = "".join(
        f'<li class="alarm"><strong>Look:</strong> {html.escape(s.what)}</li>'
        if s.alarm
        else f"<li>{html.escape(s.what)}</li>"
        for s in comparison.steps
    )
    return f'<h2>What was done to the data</h2><ol class="steps">{items}</ol>'


def _picture(
    draw: Callable[[Comparison], tuple[Figure, str] | None], comparison: Comparison, what: str
) -> str:
    """Draw a picture as HTML; one that fails costs its own place, not the report."""
    try:
        found = draw(comparison)
        return "" if found is None else figure_html(*found)
    except Exception as error:
        return figure_error(f"It would have shown {what}.", error)


def _intervals(comparison: Comparison) -> str:
    """Draw the intervals twice: for a wide page, and for one as narrow as a telephone."""
    wide = _picture(draw_intervals, comparison, "the intervals")
    narrow = _picture(partial(draw_intervals, narrow=True), comparison, "the intervals")
    return f'<div class="wide-page">{wide}</div><div class="narrow-page">{narrow}</div>'


def write_page(comparison: Comparison, path: Path) -> Path:
    """Write the report.

    Parameters
    ----------
    comparison : Comparison
        What to report.
    path : Path
        The HTML file.

    Returns
    -------
    path : Path
        Where it is.
    """
    import matplotlib as mpl

    if not path.resolve().parent.is_dir():
        raise InputError(f"Cannot write {path}: the folder {path.resolve().parent} does not exist.")
    problem = comparison.problem
    n = len(comparison.leaderboard)
    title = f"{problem.name}: {n} method{'s' * (n != 1)} compared"
    parts = [
        f"<h1>{html.escape(title)}</h1>",
        f'<p class="lead">{html.escape(verdict(comparison))}</p>',
        _alarms(comparison),
        _cards(comparison),
    ]
    if comparison.leaderboard:
        with mpl.rc_context(FONT):
            parts.append(_intervals(comparison))
            parts += ["<h2>Leaderboard</h2>", _table(comparison)]
            pictures = _picture(draw_winner, comparison, "what the winner predicts")
            pictures += _picture(draw_chances, comparison, "whether its chances come true")
            pictures += _picture(draw_importance, comparison, "what the columns are worth")
            parts.append(
                f"<h2>A closer look at {html.escape(comparison.best.name)}</h2><div "
                f'class="pair">{pictures}</div>'
            )
        code = html.escape(comparison.snippet(with_path=False))
        parts.append(f"<h2>Refit the winner</h2><pre>{code}</pre>")
    parts += [_steps(comparison), _failures(comparison), _reading(comparison)]
    page = html_page(f"octavo compare: {problem.name}", "".join(parts), style=STYLE)
    return write_whole(path, page)


def _reading(comparison: Comparison) -> str:
    by_row = any(o.values for o in comparison.log.outcomes.values())
    how = (
        "Methods are compared on the same rows: each row that was left out has a value of "
        "either method, and rows are resampled together (where each was tested once and is "
        "right or wrong, by McNemar's exact test)."
        if by_row
        else "This score has no values of single rows, so methods are compared fold by fold; "
        "training parts overlap, so the variance is corrected after Nadeau and Bengio (2003)."
    )
    return (
        '<h2>How to read this</h2><p class="small">Every score is of rows that neither the fit '
        f"nor the choice of settings has seen. {how} p is of the difference from the best method, "
        "corrected for the number of methods after Holm; “could be chance” means p > 0.05. The "
        "best of many scores is a little too good: expect slightly less on new data.</p>"
        f'<p class="small">octavo {__version__}, seed {comparison.settings.seed}, '
        f"{date.today():%d %B %Y}, "
        f"Python {platform.python_version()} on {platform.machine()}.</p>"
    )
