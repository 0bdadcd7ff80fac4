"""``python -m benchmarks [NAME ...]``: run all benchmarks, or a room, a family or one of them."""

from __future__ import annotations

import argparse
import difflib
import os
import sys

os.environ.setdefault("OMP_NUM_THREADS", "1")  # one core each, before numpy loads

from rich.console import Console
from rich.table import Table

from benchmarks.harness import (
    benchmark_names,
    duration,
    fallen_ratios,
    load_benchmark,
    record,
    run_contest,
)


def main() -> int:
    known = benchmark_names()
    parser = argparse.ArgumentParser(prog="benchmarks", description="octavo beside its peers")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(known))
    parser.add_argument("--dry", action="store_true", help="do not write docs/benchmarks.md")
    parser.add_argument(
        "--check", action="store_true", help="record nothing; name what became slower"
    )
    parser.add_argument("--only", action="append", metavar="CONTEST", help="contests of that name")
    arguments = parser.parse_args()
    fallen: list[str] = []
    console = Console()
    wanted = [
        [name for name in known if name == given or name.startswith(f"{given}/")] or [given]
        for given in arguments.names
    ]
    for name in [name for names in wanted for name in names] or known:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            console.print(f"no benchmark {name!r}" + (f"; did you mean {near[0]}?" if near else ""))
            return 2
        module = load_benchmark(name)
        obstacle = module.cannot_run() if hasattr(module, "cannot_run") else ""
        if obstacle:
            console.print(f"{name}: left out; {obstacle}")
            continue
        results = []
        for contest in module.CONTESTS:
            if arguments.only and contest.name not in arguments.only:
                continue
            with console.status(f"{name}: {contest.name}"):
                result = run_contest(contest)
            results.append(result)
            table = Table("solver", "time", "times octavo's", title=contest.problem)
            for row in result["rows"]:
                spread = f"{row['ratio']:.3g} [{row['low']:.3g}, {row['high']:.3g}]"
                table.add_row(row["solver"], duration(row["seconds"], contest.unit), spread)
            console.print(table)
            for note in (result["agreement"], contest.target):
                if note:
                    console.print(f"  {note}")
        fallen += fallen_ratios(name, results)
        if not (arguments.dry or arguments.check):
            record(name, results, module.hardware() if hasattr(module, "hardware") else "")
    if arguments.check:
        for sentence in fallen:
            console.print(f"slower: {sentence}", soft_wrap=True)
        console.print(f"{len(fallen)} ratios fell below the spread on record")
        return int(bool(fallen))
    return 0


if __name__ == "__main__":
    sys.exit(main())
