"""The command line: find a method, try methods on data, reproduce a paper, compile the kernels."""

from __future__ import annotations

import itertools
import json
import os
import webbrowser
from math import isfinite
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from octavo import __version__
from octavo._interrupts import second_interrupt_ends
from octavo._outside_text import visible
from octavo._terminal import output, spell_where_needed, spelled
from octavo.catalogue import (
    Method,
    Paper,
    UnknownNameError,
    find_method,
    find_paper,
    methods,
    papers,
)
from octavo.claims import Claim, Result
from octavo.finding import docstring_of, example_of, family_of, matches, unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from octavo.compare import Comparison

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="Published machine-learning methods, and the proof that they do what their papers say.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
data_app = typer.Typer(no_args_is_help=True, help="The data sets of the papers.")
app.add_typer(data_app, name="data")
out = output()
err = Console(stderr=True)

READABLE = 40  # letters of a summary in a line of a table
ROOM_FOR_NAMES, ROOM_FOR_SETTINGS = 70, 120  # widths of a leaderboard that keeps them
COLOURS = {"reproduced": "green", "refuted": "red", "failed": "bold red"}


def shown(text: str) -> str:
    """Return text as a console prints it letter by letter: no markup, no control characters."""
    return escape(spelled(visible(text, keep="\n")))


def fail(message: str) -> NoReturn:
    """Say what went wrong and leave with status 2."""
    err.print(f"[bold red]Error:[/] {shown(message)}", soft_wrap=True)
    raise typer.Exit(2)


def say(text: str) -> None:
    """Print a line as it is, tabs and all, however long."""
    try:
        typer.echo(text)
    except BrokenPipeError:
        out.on_broken_pipe()


def json_text(content: object) -> str:
    """Return JSON that every reader takes: numbers that are not finite are null.

    Parameters
    ----------
    content : object
        Lists, dicts with words as keys, numbers and words; what else there is becomes words.
    """

    def plain(value: object) -> object:
        if isinstance(value, dict):
            return {str(key): plain(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [plain(item) for item in value]
        if hasattr(value, "item"):  # a number of numpy
            value = value.item()
        if isinstance(value, float) and not isfinite(value):
            return None
        return value

    return json.dumps(plain(content), indent=1, allow_nan=False, default=str)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Published machine-learning methods, and the proof that they do what their papers say."""


def _record(paper: Paper, method: Method) -> dict[str, object]:
    return {
        "name": method.name,
        "room": method.room,
        "family": method.family,
        "members": method.members,
        "task": method.task,
        "summary": method.summary,
        "paper": paper.key,
    }


def whole_table(*headings: str, lines: bool = False) -> Table:
    """Return a table that goes on in the next line where it is narrow: names are there to be typed.

    Parameters
    ----------
    *headings : str
        One a column.
    lines : bool, default=False
        Whether lines are drawn between rows.
    """
    table = Table(*headings, show_lines=lines)
    for column in table.columns:
        column.overflow = "fold"
    return table


def _print_methods(chosen: Sequence[tuple[Paper, Method]]) -> None:
    """Print a table of methods, or a paragraph each where a table would cut their summaries up."""
    rows = [
        (method.name, method.room, shown(method.summary), paper.key) for paper, method in chosen
    ]
    beside = sum(max(len(row[k]) for row in rows) for k in (0, 1, 3)) + 13  # and frames
    if out.width - beside >= READABLE:
        table = whole_table("method", "room", "what it does", "paper")
        for name, *rest in rows:
            table.add_row(f"[bold]{name}[/]", *rest)
        out.print(table)
        return
    for name, room, summary, key in rows:
        out.print(f"[bold]{name}[/]  [dim]{room}, {key}[/]", highlight=False)
        out.print(Padding(summary, (0, 0, 0, 2)))


@app.command("list")
def list_methods(
    words: Annotated[
        list[str] | None, typer.Argument(help="Only methods whose record has these words.")
    ] = None,
    task: Annotated[
        str | None, typer.Option(metavar="WORDS", help="The same, such as 'survival risk'.")
    ] = None,
    room: Annotated[str | None, typer.Option(help="Only this room, such as 'ranking'.")] = None,
    plain: Annotated[
        bool, typer.Option("--plain", help="A method a line, its fields between tabs.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead.")] = False,
) -> None:
    """List methods: what they do and which paper they come from."""
    rooms = sorted({method.room for _, method in methods()})
    if room is not None and room not in rooms:
        fail(str(UnknownNameError("room", room, rooms)))
    wanted = [*(words or []), *(task or "").split()]
    chosen = [
        (paper, method)
        for paper, method in methods()
        if room in (None, method.room) and matches(paper, method, wanted)
    ]
    if as_json:
        say(json_text([_record(paper, method) for paper, method in chosen]))
        return
    if plain:
        for paper, method in chosen:
            say("\t".join((method.name, method.room, method.task, paper.key, method.summary)))
        return
    if not chosen:
        fail(f"No method's record has the words {' '.join(wanted)!r}; try fewer, or octavo list.")
    _print_methods(chosen)
    out.print("octavo show NAME tells more; octavo reproduce PAPER measures its claims.")


@app.command()
def show(
    name: Annotated[str, typer.Argument(help="A method, class, function, paper, room or family.")],
) -> None:
    """Show when to use a method, when not, an example, and what its paper claims."""
    try:
        paper, method = find_method(name)
    except UnknownNameError:
        _show_group(name)
        return
    member = next((m for m in method.members if m.lower() == name.lower()), method.members[0])
    docstring = docstring_of(method.room, member)
    out.print(f"[bold]{method.name}[/]  {shown(method.summary)}")
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    first_line = (docstring.splitlines() or [""])[0]
    rows = [
        ("import", f"from octavo.{method.room} import {member}    # {first_line}"),
        ("also", ", ".join(m for m in method.members if m != member)),
        ("task", method.task),
        ("use it when", method.use_when),
        ("avoid it when", method.avoid_when),
        ("scikit-learn has", method.instead),
        ("compared with", ", ".join(method.peers)),
        ("plots", ", ".join(f"octavo.plot.{plot}" for plot in method.plots)),
        ("paper", paper.reference),
        ("claims", f"{len(paper.claims)}; run: octavo reproduce {paper.key}"),
        ("read on", f"docs/methods/{method.room}/{method.family}; help(octavo.{method.room})"),
    ]
    for label, text in rows:
        if text:
            table.add_row(label, shown(text))
    out.print(table)
    if example := example_of(docstring):
        out.print("\n[dim]example[/]")
        out.print(example, markup=False, highlight=False, soft_wrap=True)


def _show_group(name: str) -> None:
    """Show a paper, or the methods of a room or family."""
    found = [paper for paper in papers() if paper.key == name.lower()]
    if found:
        paper = found[0]
        out.print(f"[bold]{paper.key}[/]  {shown(paper.reference)}")
        _print_methods([(paper, method) for method in paper.methods])
        out.print(f"{len(paper.claims)} claims, headlines: {', '.join(paper.headlines)}")
        out.print(f"octavo reproduce {paper.key} measures them.")
        return
    if not (group := family_of(name)):
        fail(str(unknown(name)))
    _print_methods(group)
    out.print("octavo show NAME tells more.")


# --- data sets ------------------------------------------------------------------------------


@data_app.command("list")
def list_data(
    plain: Annotated[
        bool, typer.Option("--plain", help="A set a line, its fields between tabs.")
    ] = False,
) -> None:
    """List the data sets, and whether each is on this machine."""
    from octavo.data import list_datasets

    table = whole_table("data set", "rows", "columns", "what", "from", "here")
    for column in (0, 1, 2, 5):
        table.columns[column].no_wrap = out.width >= ROOM_FOR_NAMES
    for d in list_datasets():
        here = "yes" if d.available else "no"
        if plain:
            say("\t".join((d.name, str(d.n_samples), str(d.n_features), here, d.source, d.what)))
        row = (d.name, f"{d.n_samples:,}", f"{d.n_features:,}", d.what, d.source, here)
        table.add_row(*map(shown, row))
    if not plain:
        out.print(table)


@data_app.command("fetch")
def fetch_data(names: Annotated[list[str], typer.Argument(help="Such as uci/sonar.")]) -> None:
    """Bring data sets from where they live, check them and keep them in the cache."""
    from octavo.data import CorruptDatasetError, DatasetNotFoundError, fetch_dataset

    for name in names:
        try:
            with err.status(f"fetching {name}"):
                paths = fetch_dataset(name)
        except (UnknownNameError, DatasetNotFoundError, CorruptDatasetError) as error:
            fail(str(error))
        for path in paths:
            say(str(path))


@data_app.command("where")
def where_data() -> None:
    """Tell in which folders data sets are looked for."""
    from octavo.data.loaders.datasets import data_folders

    folders = data_folders()
    if "OCTAVO_DATA" not in folders:
        say("OCTAVO_DATA is not set.")
    for title, folder in folders.items():
        say(f"{title}: {folder}")


# --- claims ---------------------------------------------------------------------------------


def _results_table(outcomes: Sequence[tuple[Paper, Result]]) -> Table:
    table = whole_table("paper", "claim", "where", "published", "measured", "verdict", lines=True)
    for paper, result in outcomes:
        colour = COLOURS.get(result.verdict, "yellow")
        verdict = f"[{colour}]{result.verdict_text}[/]"
        if result.verdict != "reproduced" and result.evidence:
            verdict += f"\n{shown(result.evidence)}"
        table.add_row(
            paper.key,
            shown(result.claim.says),
            shown(result.claim.where),
            shown(result.published_text),
            shown(result.measured_text),
            verdict,
        )
    return table


def _chosen_claims(names: list[str], everything: bool) -> list[tuple[Paper, Claim]]:
    """Return the claims that the arguments name: papers, or one paper and claims of it."""
    if not names:
        return [
            (paper, claim)
            for paper in papers()
            for claim in paper.claims
            if everything or claim.name in paper.headlines
        ]
    known = {paper.key.lower() for paper in papers()}
    if len(names) > 1 and names[0].lower() in known and not {n.lower() for n in names[1:]} & known:
        paper = find_paper(names[0])
        return [(paper, paper.find_claim(name)) for name in names[1:]]
    return [
        (paper, claim) for name in names for paper in [find_paper(name)] for claim in paper.claims
    ]


def _teller(total: int, console: Console) -> Callable[[Paper, Result, bool], None]:
    """Return what prints a line for every verdict as it comes, also when piped."""
    count = itertools.count(1)

    def tell(paper: Paper, result: Result, kept: bool) -> None:
        colour = COLOURS.get(result.verdict, "yellow")
        took = "kept" if kept else f"{result.seconds:.1f} s"
        console.print(
            f"[dim]{next(count):>{len(str(total))}}/{total}[/] {paper.key} "
            f"[bold]{result.claim.name}[/]: {shown(result.measured_text)}, published "
            f"{shown(result.published_text)}: [{colour}]{result.verdict_text}[/] [dim]({took})[/]",
            soft_wrap=True,
            highlight=False,
        )

    return tell


@app.command()
def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PAPER...]", help="Papers, or a paper and some of its claims."),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Every claim of every paper, not the headlines alone.")
    ] = False,
    full: Annotated[
        bool, typer.Option("--full", help="At the paper's size, not in seconds.")
    ] = False,
    report: Annotated[Path | None, typer.Option(help="Write an HTML report with figures.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    jobs: Annotated[int | None, typer.Option(help="Processes; all cores by default.")] = None,
    resume: Annotated[
        bool, typer.Option("--resume/--fresh", help="Take finished claims of an earlier run.")
    ] = True,
    fetch: Annotated[
        bool, typer.Option("--fetch", help="Let pip bring data sets that are not here.")
    ] = False,
) -> None:
    """Measure the claims of papers and print them beside the published figures.

    Without names: one to three headline claims of every paper. The verdict is "reproduced",
    "refuted" (with the evidence), "undecided" (with the seeds that would decide) or "not measurable
    here" (with the reason). Finished claims are kept: Ctrl-C loses nothing, the same command goes
    on. The exit status is 1 when a claim failed to run.
    """
    from octavo.report import counts_text, write_report
    from octavo.reproduction import FIGURES, ClaimJournal, draw_figures, reproduce_claims

    try:
        chosen = _chosen_claims(names or [], everything)
    except UnknownNameError as error:
        fail(str(error))
    if report is not None and not report.resolve().parent.is_dir():
        fail(f"Cannot write {report}: the folder {report.resolve().parent} does not exist.")
    journal = ClaimJournal()
    if not resume:
        journal.path.unlink(missing_ok=True)
    tell = _teller(len(chosen), err if as_json else out)
    if fetch:
        os.environ["OCTAVO_FETCH"] = "1"  # read by the processes that measure
    try:
        outcomes = reproduce_claims(chosen, full=full, n_jobs=jobs, journal=journal, tell=tell)
    except KeyboardInterrupt:
        err.print("Stopped; finished claims are kept, the same command goes on from there.")
        raise typer.Exit(130) from None
    if as_json:
        typer.echo(json_text([{"paper": p.key} | r.as_dict() for p, r in outcomes]))
    else:
        out.print(_results_table(outcomes))
        out.print(counts_text([result for _, result in outcomes]))
    if report is not None:
        keys = list(dict.fromkeys(paper.key for paper, _ in chosen))
        sections = [find_paper(key) for key in keys]
        err.print("Drawing the figures.")
        # Beside headlines a newcomer sees one picture of each paper, else all.
        figures = draw_figures(sections, jobs, most=None if names or everything else FIGURES)
        write_report(report, sections, outcomes, full=full, figures=figures)
        err.print(f"Report: {shown(str(report.resolve()))}", soft_wrap=True)
    if any(result.verdict == "failed" for _, result in outcomes):
        raise typer.Exit(1)


def _print_leaderboard(result: Comparison) -> None:
    """Print places and scores; where the table is narrow, settings and failures follow it."""
    from octavo.compare.results.snippet import params_text
    from octavo.compare.running.progress_bar import clock

    narrow = out.width < ROOM_FOR_SETTINGS
    headings = ["", "method", shown(result.score_name), "95 % interval", "p", "a fold", "settings"]
    table = whole_table(*headings[: 6 if narrow else 7])
    table.columns[1].no_wrap = out.width >= ROOM_FOR_NAMES
    for column in (0, 2, 5):
        table.columns[column].justify = "right"
    rows, below = [], []
    for s in result.leaderboard:
        colour = "bold green" if s.rank == 1 else "" if s.tied else "dim"
        interval = "" if s.low != s.low else f"{s.low:.4f} to {s.high:.4f}"
        small = "<0.001" if s.p_value < 0.001 else f"{s.p_value:.3f}"
        chance = "" if s.p_value != s.p_value else small + (" *" if s.tied else "")
        cells = [str(s.rank), s.name, f"{s.mean:.4f}", interval, chance, clock(s.seconds)]
        rows.append(([*map(shown, cells), shown(params_text(s.params))], colour))
    for failure in result.failures:
        if failure.kind == "failed":
            red = f"[red]{failure.kind}[/]"
            rows.append((["-", shown(failure.name), red, "", "", "", shown(failure.why)], ""))
    for cells, style in rows:
        table.add_row(*cells[: len(table.columns)], style=style)
        if narrow and cells[-1]:
            below.append(f"[dim]{cells[1]}: {cells[-1]}[/]")
    out.print(table)
    for line in below:
        out.print(line, soft_wrap=True, highlight=False)


def _print_comparison(result: Comparison) -> None:
    for step in result.steps:
        mark = "[yellow]look[/]" if step.alarm else "[dim]-[/]"
        out.print(f"{mark} {shown(step.what)}", soft_wrap=True, highlight=False)
    _print_leaderboard(result)
    if any(s.tied and s.p_value == s.p_value for s in result.leaderboard):
        out.print("* the difference from the best could be chance (p > 0.05, corrected)")
    for s in result.leaderboard:
        if note := result.note(s):
            out.print(f"[dim]{shown(s.name)}: {shown(note)}[/]", soft_wrap=True, highlight=False)
    from octavo.compare.results.page import verdict

    out.print(f"[bold]{shown(verdict(result))}[/]", soft_wrap=True, highlight=False)
    for kind in ("unfinished", "not tried"):
        why: dict[str, list[str]] = {}
        for f in result.failures:
            if f.kind == kind:
                why.setdefault(f.why, []).append(f.name)
        if why:
            listed = "; ".join(f"{', '.join(names)} ({text})" for text, names in why.items())
            out.print(f"[dim]{kind}: {shown(listed)}[/]", soft_wrap=True, highlight=False)
    if result.leaderboard:
        out.print("\n[bold]Refit the winner:[/]\n")
        typer.echo(result.snippet())


@app.command()
def compare(
    data: Annotated[
        str, typer.Argument(help="A CSV, TSV, JSON lines, Excel, Parquet, ARFF or libsvm file.")
    ],
    target: Annotated[
        list[str] | None,
        typer.Option(
            help="The column to predict: its name, or its place (1 first, -1 last). Several times, "
            "or first:last, for labels."
        ),
    ] = None,
    task: Annotated[
        str,
        typer.Option(
            help="auto, classification, multilabel, regression, ranking, survival or clustering."
        ),
    ] = "auto",
    methods_: Annotated[
        list[str] | None,
        typer.Option("--methods", help="Names, or octavo, baselines, all; commas or repeated."),
    ] = None,
    cv: Annotated[int, typer.Option(help="Outer folds.")] = 5,
    repeats: Annotated[
        int | None,
        typer.Option(help="How often the folds are drawn; small tables: as time allows."),
    ] = None,
    time_budget: Annotated[
        float | None, typer.Option(metavar="MIN", help="Minutes after which to stop.")
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Write an HTML report with plots.")] = None,
    save: Annotated[
        Path | None,
        typer.Option(help="Fit the winner on all rows into this .joblib or .skops file."),
    ] = None,
    probabilities: Annotated[
        bool, typer.Option(help="With --save: calibrate chances where the winner has none.")
    ] = False,
    time: Annotated[str | None, typer.Option(help="Survival: the column of times.")] = None,
    event: Annotated[
        str | None, typer.Option(help="Survival: the column of events, or COLUMN=VALUE.")
    ] = None,
    item: Annotated[
        list[str] | None, typer.Option(help="Ranking: a column of items; twice for pairs.")
    ] = None,
    game: Annotated[str | None, typer.Option(help="Ranking: the column of games.")] = None,
    group: Annotated[
        str | None, typer.Option(help="The column of entities that no fold tears apart.")
    ] = None,
    time_order: Annotated[
        str | None, typer.Option(help="The column of times: learn from the past alone.")
    ] = None,
    score: Annotated[str | None, typer.Option(help="What to rank by; see the docs.")] = None,
    seed: Annotated[int, typer.Option(help="Decides everything random.")] = 0,
    jobs: Annotated[int, typer.Option(help="Processes; -1 for all processors.")] = -1,
    dask: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Work on this Dask scheduler.")
    ] = None,
    rows: Annotated[
        int | None, typer.Option(help="Rows to compare on, at random; 0 for all.")
    ] = None,
    keep: Annotated[
        list[str] | None, typer.Option(help="A column that stays whatever it looks like.")
    ] = None,
    drop: Annotated[list[str] | None, typer.Option(help="A column to leave out.")] = None,
    header: Annotated[
        bool | None,
        typer.Option("--header/--no-header", help="Whether the first line holds names."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume/--fresh", help="Take finished folds of an earlier run.")
    ] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead.")] = False,
) -> None:
    """Try the methods that fit a table of your own, beside the usual baselines.

    Finds the task, cleans the table (every step is told), runs the methods under nested
    cross-validation and ends in a leaderboard, the code that refits the winner and, with
    --report, a page with plots. Ctrl-C stops it; the same command goes on where it was.
    """
    if report is not None and not report.resolve().parent.is_dir():
        fail(f"Cannot write {report}: the folder {report.resolve().parent} does not exist.")
    begin = monotonic()  # the imports below count in a time budget
    if probabilities and save is None:
        fail("--probabilities are those of a saved winner: name a file with --save.")
    from octavo.compare import InputError
    from octavo.compare import compare as run_comparison
    from octavo.compare.results.saved import check_path
    from octavo.compare.running.progress_bar import ComparisonBar
    from octavo.compare.workbench import BudgetClock

    try:
        if save is not None:
            check_path(save)
        with ComparisonBar(err) as bar:
            result = run_comparison(
                data,
                target if target is None or len(target) > 1 else target[0],
                task=task,
                time=time,
                event=event,
                items=item or (),
                game=game,
                group=group,
                time_order=time_order,
                methods=methods_ or (),
                score=score,
                cv=cv,
                repeats=repeats,
                time_budget=time_budget,
                clock=BudgetClock(begin, 0.05 + 0.75 * (report is not None)),  # of 7 s, 5
                random_state=seed,
                n_jobs=jobs,
                client=dask,
                rows=rows,
                keep=keep or (),
                drop=drop or (),
                header=header,
                resume=resume,
                probabilities=probabilities,
                progress=bar,
            )
    except InputError as error:
        fail(str(error))
    except KeyboardInterrupt:
        err.print("Stopped before the first fold.")
        raise typer.Exit(130) from None
    if as_json:
        typer.echo(json_text(result.as_dict()))
    else:
        _print_comparison(result)
    if report is not None:
        with err.status("drawing the figures"):
            result.report(report)
        err.print(f"Report: {shown(str(report.resolve()))}", soft_wrap=True)
    if save is not None and result.leaderboard:
        _save_winner(result, save, probabilities)
    if result.stopped == "interrupted":
        kept = sum(outcome.error is None for outcome in result.log.outcomes.values())
        err.print(f"Stopped; {kept} finished folds are kept, the same command goes on from there.")
        raise typer.Exit(130)
    if not result.leaderboard:
        raise typer.Exit(1)


def _save_winner(result: Comparison, path: Path, probabilities: bool) -> None:
    from octavo.compare import InputError

    try:
        with err.status(f"fitting {shown(result.best.name)} on all rows"):
            result.save(path, probabilities=probabilities)
    except InputError as error:
        fail(str(error))
    where = shown(str(path))
    err.print(f"Model: {where}; octavo predict {where} DATA", soft_wrap=True, highlight=False)
    if path.suffix != ".skops":
        err.print("It is a pickle: whoever loads it has to trust you.", highlight=False)


@app.command()
def predict(
    model: Annotated[Path, typer.Argument(help="A file that octavo compare --save wrote.")],
    data: Annotated[Path, typer.Argument(help="A file with the columns of that comparison.")],
    to: Annotated[
        Path | None, typer.Option("--out", help="Write CSV here instead of printing it.")
    ] = None,
    probabilities: Annotated[bool, typer.Option(help="Add the chance of each class.")] = False,
) -> None:
    """Predict rows of a file with a model that `octavo compare --save` wrote.

    A .joblib file is a pickle, which can run any code when it is loaded: open only files that you
    trust. Prints CSV: a line a row, in the order of the file.
    """
    from octavo._whole_files import write_whole
    from octavo.compare import InputError, load_model, read_table
    from octavo.compare.results.saved import PICKLED

    if to is not None and not to.resolve().parent.is_dir():
        fail(f"Cannot write {to}: the folder {to.resolve().parent} does not exist.")
    if not model.is_file():
        fail(f"There is no file {model}; a model is saved with --save.")
    if model.suffix != ".skops":
        warning = PICKLED.format(name=shown(model.name))
        err.print(f"[yellow]{warning}[/]", soft_wrap=True, highlight=False)
    try:
        table = read_table(data)
        for note in table.notes:
            err.print(shown(note), soft_wrap=True, highlight=False)
        found = load_model(model).table(table, probabilities=probabilities)
    except InputError as error:
        fail(str(error))
    text = found.to_csv(index=False)
    if to is None:
        typer.echo(text.encode(), nl=False)  # data: UTF-8 in every locale, as in a file
    else:
        write_whole(to, text)
        err.print(f"{len(found)} predictions: {shown(str(to))}", soft_wrap=True, highlight=False)


@app.command()
def warmup() -> None:
    """Compile every kernel now, so that no first call has to wait."""
    from octavo.compiled import warm_all

    with err.status("compiling") as status:
        for module, seconds in warm_all():
            status.update(f"compiled {module}")
            out.print(f"{module}: {seconds:.1f} s")


@app.command("app")
def steer(
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="DATA", help="CSV, TSV, Parquet, ARFF or libsvm. Digits by default."
        ),
    ] = None,
    label: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="A column that the map must not see.")
    ] = None,
    kernel: Annotated[str, typer.Option(help="Such as rbf, linear, poly, laplacian.")] = "rbf",
    gamma: Annotated[
        str, typer.Option(help="Scale of the kernel: a number, 'scale' or 'auto'.")
    ] = "scale",
    low_rank: Annotated[
        int | None,
        typer.Option(min=0, help="Rank of the kernel's factor, 300 by default; 0: exact."),
    ] = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port of this machine; 0: any that is free.")
    ] = 0,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page at once.")
    ] = True,
) -> None:
    """Steer a map of a table by hand, in the browser: drag points, link them, label them, undo.

    The page is served to this machine alone, at an address that cannot be guessed. Ctrl-C stops
    it.
    """
    try:
        from octavo.app.map_server import MapServer
    except ImportError as error:
        fail(f"The page needs {error.name}, which is not installed: pip install 'octavo[app]'.")
    from octavo.app.map_sessions import start_session
    from octavo.app.map_tables import load_table

    try:
        scale = gamma if gamma in ("scale", "auto") else float(gamma)
    except ValueError:
        fail(f"--gamma must be a number above 0, 'scale' or 'auto'; got {gamma!r}.")
    try:
        with err.status("reading the table"):
            table = load_table(data, label)
        with err.status("decomposing the kernel"):
            session = start_session(table, kernel=kernel, gamma=scale, low_rank=low_rank)
    except (ValueError, LookupError) as error:
        fail(str(error))
    try:
        server = MapServer(table, session, port)
    except OSError as error:
        fail(f"Port {port} cannot be used ({error.strerror}); name another, or leave --port out.")
    for note in table.notes:
        err.print(shown(note), soft_wrap=True)
    typer.echo(server.url)
    err.print("Ctrl-C stops the page.")
    if browser:
        webbrowser.open(server.url)
    server.run()


def main() -> None:
    """Run the command line."""
    spell_where_needed()
    with second_interrupt_ends():
        app()
