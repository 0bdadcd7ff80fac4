"""Run contests and record their ratios.

A benchmark ``benchmarks/<room>/<family>.py`` (or a folder of that name with one module per method)
binds ``CONTESTS``, a list of `Contest`. In each
repeat every solver runs once, in an order that rotates, so that a slow spell of the machine
hits all of them alike; the ratio is taken repeat by repeat. A module that needs more than a
processor binds ``cannot_run``, which returns what is missing, or nothing, and ``hardware``,
which tells what it ran on.
"""

from __future__ import annotations

import functools
import gc
import importlib
import json
import os
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs" / "results" / "bench.json"
FIRST_CALLS = ROOT / "docs" / "results" / "first_calls.json"
FIRST_CALL_LIMIT = 3.0  # seconds of compilation that a first fit on defaults may take
SCALING = ROOT / "docs" / "results" / "scaling.json"  # of tools/scaling.py
PAGE = ROOT / "docs" / "benchmarks.md"  # the summary; a page a room beside it, in benchmarks/


@dataclass
class Contest:
    """One problem and the solvers that meet on it.

    Parameters
    ----------
    name : str
        Short name, unique in its module.
    problem : str
        The problem with its size and tolerance, as the table shows it.
    setup : callable
        Returns the data, outside the clock.
    solvers : dict of str to callable
        Each takes the data and returns its answer. The first is octavo's.
    agree : callable, optional
        Takes (data, answers by name) and raises AssertionError unless all solved the same
        problem to the same tolerance; returns a sentence on how closely they agree.
    work : dict of str to float, optional
        Units of work that a solver does, when not all do the same amount; times are then
        compared per unit.
    unit : str
        What one unit of work is, such as "game".
    repeats : int
        How many times each solver runs.
    target : str
        The ratio aimed at, in words.
    limit : str
        What bounds octavo's time, in words: memory bandwidth, BLAS, exponentials, tree queries.
    traffic, flops : float
        Bytes that octavo's solver has to move, and operations on floats that it has to make, where
        they can be counted: the page then shows the share of the machine's peak that is reached,
        which is measured in the same run (`peaks`).
    no_limit : str
        Why there is no limit to speak of, for a contest without `limit`.
    warm : bool
        Run every solver once before the clock starts. False where a run takes minutes and
        `setup` has already compiled every kernel.
    """

    name: str
    problem: str
    setup: Callable[[], Any]
    solvers: dict[str, Callable[[Any], Any]]
    agree: Callable[[Any, dict[str, Any]], str] | None = None
    work: dict[str, float] = field(default_factory=dict)
    unit: str = ""
    repeats: int = 5
    target: str = ""
    limit: str = ""
    traffic: float = 0.0
    flops: float = 0.0
    no_limit: str = ""
    warm: bool = True


def benchmark_names() -> list[str]:
    """Return every benchmark as ``room/family`` or ``room/family/method``."""
    folder = ROOT / "benchmarks"
    paths = [p.relative_to(folder).with_suffix("") for p in folder.rglob("[a-z]*.py")]
    return sorted("/".join(p.parts) for p in paths if p.name != "harness")


def load_benchmark(name: str) -> ModuleType:
    """Import one of `benchmark_names`."""
    return importlib.import_module("benchmarks." + name.replace("/", "."))


def installed(contest: Contest, data: Any) -> tuple[list[str], dict[str, Any]]:
    """Return the solvers that can be imported, and their answers in a run without a clock.

    octavo's own solver must run; a peer that is not installed is left out.
    """
    ours, *peers = contest.solvers
    answers = {ours: contest.solvers[ours](data)} if contest.warm else {}
    names = [ours]
    for name in peers:
        try:
            if contest.warm:  # kernels compile, caches fill
                answers[name] = contest.solvers[name](data)
        except ImportError as error:
            print(f"  {name} is left out: {error}")
        else:
            names.append(name)
    return names, answers


@functools.cache
def peaks() -> tuple[float, float]:
    """Return what one core reaches now: bytes a second of a sum of arrays, flops of a product.

    Processor time, as for the shares: other work on the machine stretches the clock alone.
    The arrays are far larger than a cache shared by others is likely to hold; of a sum, two are
    read and one is written, as STREAM counts.
    """
    import numpy as np

    one, other = np.ones(8_000_000), np.ones(8_000_000)
    out = np.zeros(8_000_000)
    matrix = np.ones((1_000, 1_000))

    def fastest(run: Callable[[], Any]) -> float:
        times = []
        for _ in range(5):
            start = time.process_time()
            run()
            times.append(time.process_time() - start)
        return min(times)

    bandwidth = 3 * out.nbytes / fastest(lambda: np.add(one, other, out=out))
    return bandwidth, 2e9 / fastest(lambda: matrix @ matrix)


def share_text(contest: Contest, seconds: float) -> str:
    """Return the share of this machine's peak that octavo's fastest run reaches, if it is known."""
    if not (contest.traffic or contest.flops):
        return ""
    bandwidth, arithmetic = peaks()
    return "; ".join(
        f"{amount / seconds / peak:.0%} of {peak / 1e9:.3g} {unit}"
        for amount, peak, unit in (
            (contest.traffic, bandwidth, "GB/s"),
            (contest.flops, arithmetic, "GFLOP/s"),
        )
        if amount
    )


ELSEWHERE: list[Callable[[], float]] = []  # clocks of other processes that a peer runs in


def processor_clock() -> float:
    """Return the processor time of this process and of those that peers run in."""
    return time.process_time() + sum(clock() for clock in ELSEWHERE)


def run_contest(contest: Contest) -> dict[str, Any]:
    """Return times and ratios of one contest as plain data."""
    data = contest.setup()
    names, answers = installed(contest, data)
    times: dict[str, list[float]] = {name: [] for name in names}
    absent: set[str] = set()
    fastest = dict.fromkeys(names, float("inf"))  # in processor time
    for repeat in range(contest.repeats):
        for name in names[repeat % len(names) :] + names[: repeat % len(names)]:
            if name in absent:
                continue
            gc.collect()
            start, processor = time.perf_counter(), processor_clock()
            try:
                answers[name] = contest.solvers[name](data)
            except ImportError as error:  # found out late where nothing ran before the clock
                if contest.warm or name == names[0]:
                    raise
                print(f"  {name} is left out: {error}")
                absent.add(name)
            elapsed = time.perf_counter() - start
            times[name].append(elapsed / contest.work.get(name, 1.0))
            fastest[name] = min(fastest[name], processor_clock() - processor)
    names = [name for name in names if name not in absent]
    complete = len(names) == len(contest.solvers)  # a check may ask for a peer by its name
    agreement = contest.agree(data, answers) if contest.agree and complete else ""
    ours = times[names[0]]
    rows = []
    for name in names:
        ratios = [theirs / mine for theirs, mine in zip(times[name], ours)]
        rows.append(
            {
                "solver": name,
                "seconds": statistics.median(times[name]),
                "ratio": statistics.median(ratios),
                "low": min(ratios),
                "high": max(ratios),
                "processor": fastest[name] / contest.work.get(name, 1.0),
            }
        )
    return {
        "name": contest.name,
        "problem": contest.problem,
        "unit": contest.unit,
        "repeats": contest.repeats,
        "target": contest.target,
        "limit": contest.limit or contest.no_limit,
        "share": share_text(contest, fastest[names[0]]),
        "agreement": agreement,
        "rows": rows,
    }


def machine() -> str:
    """Return the processor, cores, memory and versions in one line."""
    import numpy
    import scipy
    import sklearn

    processor = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        processor = lines[0].split(":")[1].strip() if lines else processor
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{processor}, {os.cpu_count()} cores, {memory:.0f} GiB; Python "
        f"{platform.python_version()}, numpy {numpy.__version__}, scipy {scipy.__version__}, "
        f"scikit-learn {sklearn.__version__}"
    )


def duration(seconds: float, unit: str) -> str:
    """Return a time with the prefix that suits it, per unit of work where there is one."""
    for scale, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")):
        if seconds >= scale or scale == 1e-9:
            return f"{seconds / scale:.3g} {name}" + (f"/{unit}" if unit else "")
    raise AssertionError


def record(module: str, contests: list[dict[str, Any]], hardware: str = "") -> None:
    """Keep the results of one benchmark module and rewrite the page of all of them."""
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    earlier: dict[str, Any] = {}
    if before := kept.get(module):  # contests that were not run now stay, with where and when
        measured = f"{before['date']}, {before['machine']}"
        earlier = {c["name"]: {"measured": measured, **c} for c in before["contests"]}
    known = [contest.name for contest in load_benchmark(module).CONTESTS]
    found = earlier | {contest["name"]: contest for contest in contests}
    kept[module] = {
        "machine": machine() + (f"; {hardware}" if hardware else ""),
        "date": f"{date.today():%Y-%m-%d}",
        "contests": [found[name] for name in known if name in found],
    }
    kept = dict(sorted(kept.items()))
    RESULTS.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    write_page()


def fallen_ratios(module: str, contests: list[dict[str, Any]]) -> list[str]:
    """Return a sentence for each ratio that lies wholly below the spread on record.

    Parameters
    ----------
    module : str
        The benchmark.
    contests : list of dict
        What `run_contest` returned now.

    Returns
    -------
    sentences : list of str
        Empty where nothing became slower beside its peers than it was.
    """
    kept = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    before = {
        (contest["name"], row["solver"]): row
        for contest in kept.get(module, {}).get("contests", [])
        for row in contest["rows"][1:]
    }
    return [
        f"{module}, {contest['name']}: {spread(row)} times octavo's time for {row['solver']}, "
        f"{spread(then)} on record"
        for contest in contests
        for row in contest["rows"][1:]
        if (then := before.get((contest["name"], row["solver"]))) and row["high"] < then["low"]
    ]


def write_page() -> None:
    """Rewrite the pages from the results that are kept: a summary, and one a room."""
    kept = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    first = json.loads(FIRST_CALLS.read_text(encoding="utf-8")) if FIRST_CALLS.exists() else None
    PAGE.write_text(page(kept, first), encoding="utf-8")
    folder = PAGE.with_suffix("")
    folder.mkdir(exist_ok=True)
    for room in rooms_of(kept):
        (folder / f"{room}.md").write_text(room_page(room, kept), encoding="utf-8")
    if first:
        (folder / "first_calls.md").write_text(first_call_page(first), encoding="utf-8")


def rooms_of(kept: dict[str, Any]) -> list[str]:
    """Return the rooms that have results."""
    return sorted({module.split("/")[0] for module in kept})


def first_call_table(found: dict[str, Any]) -> list[str]:
    """Return the rows of a table of first calls, the slowest first."""
    lines = ["| estimator | seconds | kernels compiled |", "|---|---|---|"]
    for name, row in sorted(found.items(), key=lambda item: (-item[1]["seconds"], item[0])):
        star = "" if row["defaults"] else " (as its test makes it)"
        elsewhere = "†" if "on" in row else ""
        lines.append(f"| {name}{star} | {row['seconds']:.2f}{elsewhere} | {row['kernels']} |")
    if others := sorted({row["on"] for row in found.values() if "on" in row}):
        lines += ["", f"† {'; '.join(others)}"]
    return lines


def first_call_lines(first: dict[str, Any]) -> list[str]:
    """Return the section on first calls of the summary: a sentence, and what is too slow."""
    measured = {name: found for name, found in first["estimators"].items() if "error" not in found}
    slow = {name: row for name, row in measured.items() if row["seconds"] > FIRST_CALL_LIMIT}
    times = [row["seconds"] for row in measured.values()]
    lines = [
        "",
        "## First calls",
        "",
        "What the first fit takes beyond a second one when no kernel has been compiled yet, in",
        "processor time, on default parameters and tiny data (`python tools/first_calls.py`).",
        "`octavo warmup` compiles everything beforehand; later processes read the cache.",
        f"Of {len(measured)} estimators {len(measured) - len(slow)} take at most "
        f"{FIRST_CALL_LIMIT:g} s, half of them at most {statistics.median(times):.2f} s;",
        "[all of them](benchmarks/first_calls.md).",
        "",
        f"{first['date']}, {first['machine']}",
    ]
    if others := [row["on"] for row in measured.values() if "on" in row]:
        lines[-1] += f"; {len(others)} of the estimators {'; '.join(sorted(set(others)))}"
    if slow:
        lines += ["", f"Above {FIRST_CALL_LIMIT:g} s:", "", *first_call_table(slow)]
    return lines


def first_call_page(first: dict[str, Any]) -> str:
    """Return the page of all first calls, and in one line those that compile nothing."""
    measured = {name: found for name, found in first["estimators"].items() if "error" not in found}
    compiled = {name: found for name, found in measured.items() if found["kernels"]}
    lines = [
        "# First calls",
        "",
        "Processor time of a first fit beyond a second one, with an empty cache of kernels, on",
        "tiny data; see [Benchmarks](../benchmarks.md).",
        "",
        f"{first['date']}, {first['machine']}",
        "",
        *first_call_table(compiled),
    ]
    if idle := [name for name in measured if name not in compiled]:
        lines += ["", f"Nothing is compiled by {', '.join(idle)}."]
    if failed := [name for name in first["estimators"] if name not in measured]:
        lines += ["", f"Could not be measured: {', '.join(failed)}."]
    return "\n".join([*lines, ""])


def spread(row: dict[str, Any]) -> str:
    """Return a ratio with its smallest and largest value."""
    return f"{row['ratio']:.3g} [{row['low']:.3g}, {row['high']:.3g}]"


def nearest_peer(contest: dict[str, Any]) -> dict[str, Any] | None:
    """Return the row of the fastest solver that is not octavo's, or None."""
    peers = [row for row in contest["rows"][1:] if not row["solver"].startswith("octavo")]
    return min(peers, key=lambda row: row["ratio"], default=None)


def totals(kept: dict[str, Any]) -> str:
    """Return in a sentence how often octavo is faster than the fastest peer."""
    rows = [nearest_peer(contest) for entry in kept.values() for contest in entry["contests"]]
    ratios = [row["ratio"] for row in rows if row]
    ahead, far = sum(r > 1 for r in ratios), sum(r >= 10 for r in ratios)
    return (
        f"Of {len(ratios)} contests, octavo is faster than the fastest peer in {ahead} (ten times "
        f"or more in {far}) and slower in {len(ratios) - ahead}."
    )


def page(kept: dict[str, Any], first: dict[str, Any] | None = None) -> str:
    """Return the summary: every contest's nearest peer and, where measured, first calls."""
    lines = [
        "# Benchmarks",
        "",
        "Written by `make bench`. In each contest all solvers work on the same data in one run,",
        "in rotating order; a ratio is the solver's time over octavo's in the same repeat (median,",
        "with the smallest and largest): above 1 octavo is faster. The table shows the fastest",
        "peer of each contest; the rooms' pages have all solvers, how closely they agree, and the",
        "machines. First calls, which compile, are not timed. The limit is what should bound",
        "octavo's time by an account of its algorithm; it is measured only where a share follows:",
        "the part of what one core moves or multiplies, in processor time of the same run.",
        "",
        "```{toctree}",
        ":hidden:",
        "",
        *(f"benchmarks/{room}" for room in rooms_of(kept)),
        *(["benchmarks/first_calls"] if first else []),
        *(["benchmarks/scaling"] if SCALING.exists() else []),
        "```",
    ]
    if kept:
        lines += ["", "## Summary", "", totals(kept), ""]
        lines += [
            "| method | problem | peer | ratio | limit | share |",
            "|---|---|---|---|---|---|",
        ]
    for module, entry in kept.items():
        room = module.split("/")[0]
        for contest in entry["contests"]:
            if row := nearest_peer(contest):
                cells = [f"[{module}](benchmarks/{room}.md)", contest["problem"], row["solver"]]
                cells += [spread(row), contest.get("limit", ""), contest.get("share", "")]
                lines.append(f"| {' | '.join(cells)} |")
    if first is not None:
        lines += first_call_lines(first)
    return "\n".join(lines) + "\n"


def closed(note: str) -> str:
    """Return a note with its full stop."""
    return note if note.endswith((".", "?", "!")) else f"{note}."


def room_page(room: str, kept: dict[str, Any]) -> str:
    """Return the Markdown page of all recorded results of a room."""
    lines = [f"# Benchmarks: {room}"]
    for module, entry in kept.items():
        if module.split("/")[0] != room:
            continue
        lines += ["", f"## {module}", "", f"{entry['date']}, {entry['machine']}"]
        for contest in entry["contests"]:
            when = f"; {contest['measured']}" if "measured" in contest else ""
            lines += ["", f"**{contest['problem']}** ({contest['repeats']} repeats{when})", ""]
            counted = all("processor" in row for row in contest["rows"])
            head = ["solver", "time", "times octavo's", *["least processor time"] * counted]
            lines += [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
            for row in contest["rows"]:
                cells = [row["solver"], duration(row["seconds"], contest["unit"]), spread(row)]
                if counted:
                    cells.append(duration(row["processor"], contest["unit"]))
                lines.append(f"| {' | '.join(cells)} |")
            notes = [contest["agreement"], contest["target"]]
            if contest.get("limit"):
                share = f" ({contest['share']})" if contest.get("share") else ""
                notes.append(f"Limit: {contest['limit'].rstrip('.')}{share}")
            if any(notes):
                lines += ["", " ".join(closed(note) for note in notes if note)]
    return "\n".join(lines) + "\n"
