"""Whether the verdicts of `octavo compare` hold when the folds are drawn twenty times anew.

``python tools/compare_verdicts.py`` reads the declaration beside it (tables, methods, the rule of
agreement), compares on each table once, repeats the comparison with other seeds, and writes
``docs/results/compare_verdicts.json``. Tables of the folder ``OCTAVO_DATA`` that are not there are
named and left out. Finished folds are kept in octavo's cache: it may be stopped and started again.
``--jobs N`` works in N processes; the numbers are the same. ``--table NAME`` (any number of times)
runs these tables alone and keeps the rows of the others.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import sklearn
from scipy import stats

from octavo._places import cache_folder
from octavo.compare import compare, prepare
from octavo.compare.judging.paired import corrected_t_test
from octavo.compare.methods.candidates import Candidate, candidates_for
from octavo.compare.table.reading import InputError
from octavo.compare.workbench import Comparison

HERE = Path(__file__).resolve().parent
DECLARATION = HERE / "compare_verdicts.json"
RESULTS = HERE.parent / "docs" / "results" / "compare_verdicts.json"


def table_of(entry: dict[str, Any]) -> Any:
    """Return a declared table as a file or a DataFrame."""
    if entry["source"] == "scikit-learn":
        from sklearn import datasets

        return getattr(datasets, f"load_{entry['name']}")(as_frame=True).frame
    return Path(os.environ.get("OCTAVO_DATA", "")) / entry["source"]


def methods_of(data: Any, target: Any, names: list[str]) -> list[Candidate]:
    """Return the declared methods that do the task, with every fourth of their settings."""
    problem, found = prepare(data, target), []
    for name in names:
        try:
            (candidate,) = candidates_for(problem, [name])[0]
        except InputError:
            continue  # of another task
        found.append(replace(candidate, grid=candidate.grid[::4]))
    return found


def compared(
    data: Any, target: Any, methods: list[Candidate], how: dict[str, Any], jobs: int
) -> Comparison:
    """Compare as declared, keeping folds in a journal."""
    with contextlib.ExitStack() as stack:
        if jobs == 1:
            stack.enter_context(joblib.parallel_config(backend="sequential"))
        return compare(
            data,
            target,
            methods=methods,
            cv=how["cv"],
            repeats=how["repeats"],
            inner_cv=2,
            random_state=how["seed"],
            n_jobs=jobs,
        )


def judged(board: Comparison, again: Comparison) -> list[dict[str, Any]]:
    """Return the pairs that the leaderboard calls different, and what the repetition says."""
    scores = {s.name: np.array(s.scores) for s in again.leaderboard}
    best, pairs = board.best.name, []
    for standing in board.leaderboard[1:]:
        if standing.tied:
            continue
        ahead = float((scores[best] - scores[standing.name]).mean())
        p = corrected_t_test(scores[best], scores[standing.name], 1 / (again.settings.cv - 1))
        pairs.append(
            {
                "best": best,
                "other": standing.name,
                "p": standing.p_value,
                "repeated_difference": ahead,
                "repeated_p": p,
                "agrees": ahead > 0,
                "agrees_strictly": ahead > 0 and p <= 0.05,
            }
        )
    return pairs


def report(tables: dict[str, Any], goal: float) -> float:
    """Write what is known so far; return the share of pairs that agree."""
    called = sum(row["called_different"] for row in tables.values())
    agree = sum(row["agree"] for row in tables.values())
    strictly = sum(row["agree_strictly"] for row in tables.values())
    share = agree / called if called else float("nan")
    low = float(stats.beta.ppf(0.05, agree, called - agree + 1)) if agree else 0.0
    print(
        f"  so far {agree} of {called} agree ({share:.1%}; at least {low:.1%} with 95 % "
        f"confidence), {strictly} strictly",
        flush=True,
    )
    summary = {
        "called_different": called,
        "agree": agree,
        "agree_strictly": strictly,
        "at_least": low,
        "goal": goal,
        "tables": tables,
    }
    RESULTS.write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")
    return share


def main() -> int:
    # Checks of arguments cost as much as fits of so few rows; they change no number.
    sklearn.set_config(assume_finite=True, skip_parameter_validation=True)
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--table", action="append", default=[])
    asked = parser.parse_args()
    jobs = asked.jobs
    declared = json.loads(DECLARATION.read_text(encoding="utf-8"))
    names = [entry["name"] for entry in declared["tables"]]
    if unknown := set(asked.table) - set(names):
        parser.error(f"no table is called {', '.join(sorted(unknown))}; there are {names}")
    known = json.loads(RESULTS.read_text(encoding="utf-8"))["tables"] if asked.table else {}
    tables: dict[str, Any] = {name: known[name] for name in names if name in known}
    share = float("nan")
    for entry in declared["tables"]:
        if asked.table and entry["name"] not in asked.table:
            continue
        data = table_of(entry)
        if isinstance(data, Path) and not data.exists():
            print(f"{entry['name']}: not here")
            continue
        methods = methods_of(data, entry["target"], declared["methods"][str(entry["set"])])
        board = compared(data, entry["target"], methods, declared["comparison"], jobs)
        again = compared(data, entry["target"], methods, declared["repetition"], jobs)
        pairs = judged(board, again)
        n_pairs = len(board.leaderboard) - 1
        tables[entry["name"]] = {
            "set": entry["set"],
            "rows": board.problem.n_rows,
            "methods": len(board.leaderboard),
            "pairs": n_pairs,
            "called_different": len(pairs),
            "agree": sum(pair["agrees"] for pair in pairs),
            "agree_strictly": sum(pair["agrees_strictly"] for pair in pairs),
            "details": pairs,
        }
        row = tables[entry["name"]]
        print(
            f"{entry['name']}: {row['called_different']} of {n_pairs} pairs called different, "
            f"{row['agree']} agree, {row['agree_strictly']} strictly",
            flush=True,
        )
        share = report(tables, declared["goal"])
    return 0 if share >= declared["goal"] else 1


if __name__ == "__main__":
    print(f"folds are kept in {cache_folder()}")
    sys.exit(main())
