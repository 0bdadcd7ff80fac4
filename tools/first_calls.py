"""Measure the first fit of every public estimator with an empty kernel cache.

    python tools/first_calls.py [--jobs N] [NAME ...]

Each estimator is fitted twice in a process of its own, whose cache is empty: what the first fit
takes beyond the second, in processor time, is what a user waits for compilers and late imports.
The estimators and, where they take no table, their input are those of the conformance suite;
pytest is not needed. Results go to ``docs/results/first_calls.json`` and into the page of the
benchmarks.
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

TIMEOUT = 900.0  # seconds by the clock after which a fit counts as failed
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def all_cases() -> dict[str, Any]:
    """Return one case of the conformance suite for every estimator, by name."""
    from tests.conformance.discovery import other_cases, table_cases

    found: dict[str, Any] = {}
    for case in [*other_cases(), *table_cases()]:
        found.setdefault(case.name, case)
    return dict(sorted(found.items()))


def takes_no_arguments(cls: type) -> bool:
    """Tell whether a class has defaults for all its parameters."""
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    parameters = inspect.signature(cls).parameters.values()
    return all(p.default is not p.empty or p.kind in kinds for p in parameters)


def fit_table(estimator: Any) -> None:
    """Fit an estimator on sixty rows of the kind that its tags ask for."""
    import numpy as np
    from sklearn.utils import get_tags

    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    tags = get_tags(estimator)
    y: Any = (X[:, 0] > 0).astype(int)
    if tags.estimator_type == "regressor":
        y = X[:, 0] + 0.1 * rng.normal(size=60)
    if tags.target_tags.multi_output and not tags.target_tags.single_output:
        y = np.column_stack([y, y])
    if tags.input_tags.positive_only or tags.input_tags.categorical:
        X = rng.integers(0, 3, size=X.shape).astype(float)
    if tags.input_tags.pairwise:
        X = X @ X.T
    # A search has the needs of what it searches, which its tags do not know.
    wraps = "estimator" in estimator.get_params(deep=False)
    estimator.fit(X, y) if tags.target_tags.required or wraps else estimator.fit(X)


def measure_here(name: str, on_defaults: bool) -> dict[str, Any]:
    """Fit one estimator twice in this process, whose cache must be empty."""
    from numba.core import event

    case = all_cases()[name]
    cls = type(case.make())

    class Compiled(event.Listener):
        """The kernels of octavo that were compiled."""

        names: set[str] = set()

        def on_start(self, event: Any) -> None:
            kernel = event.data["dispatcher"].py_func
            if kernel.__module__.startswith("octavo"):
                self.names.add(f"{kernel.__module__}.{kernel.__qualname__}")

        def on_end(self, event: Any) -> None:
            return

    times = []
    with event.install_listener("numba:compile", Compiled()):
        for _ in range(2):
            estimator = cls() if on_defaults else case.make()
            start = time.process_time()
            (case.fit or fit_table)(estimator)
            times.append(time.process_time() - start)
    return {
        "seconds": round(max(times[0] - times[1], 0.0), 2),
        "second_fit": round(times[1], 3),
        "kernels": len(Compiled.names),
        "defaults": on_defaults,
    }


def measure(name: str, on_defaults: bool = True) -> dict[str, Any]:
    """Do `measure_here` in a new process with an empty cache; an error is an answer, too."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "OCTAVO_CACHE": cache, **dict.fromkeys(THREADS, "1")}
        environment.pop("NUMBA_CACHE_DIR", None)
        command = [sys.executable, __file__, "--here", name, *(["--case"] * (not on_defaults))]
        try:
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, timeout=TIMEOUT
            )
        except subprocess.TimeoutExpired:
            return {"error": f"took more than {TIMEOUT:.0f} s"}
    if done.returncode:
        # Defaults may be too slow for the input of a case or not fit it: then as the suite does.
        if on_defaults:
            return measure(name, on_defaults=False)
        return {"error": (done.stderr.strip().splitlines() or ["no message"])[-1]}
    return json.loads(done.stdout.splitlines()[-1])


def measure_all(names: list[str], jobs: int) -> dict[str, dict[str, Any]]:
    """Measure estimators, several at a time, and say each result as it comes."""
    results = {}
    with ThreadPoolExecutor(jobs) as pool:
        for name, found in zip(names, pool.map(measure, names)):
            results[name] = found
            text = found.get("error") or f"{found['seconds']:.2f} s, {found['kernels']} kernels"
            print(f"{name}: {text}", flush=True)
    return results


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="estimators; all by default")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--here", metavar="NAME", help=argparse.SUPPRESS)
    parser.add_argument("--case", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.here:
        warnings.simplefilter("ignore")
        print(json.dumps(measure_here(arguments.here, not arguments.case)))
        return 0
    from benchmarks.harness import FIRST_CALL_LIMIT, FIRST_CALLS, machine, write_page

    known = all_cases()
    if unknown := [name for name in arguments.names if name not in known]:
        print(f"No public estimator is named {', '.join(unknown)}.", file=sys.stderr)
        return 2
    results = measure_all(arguments.names or list(known), arguments.jobs)
    record: dict[str, Any] = {"machine": machine(), "date": f"{date.today():%Y-%m-%d}"}
    kept: dict[str, Any] = {}
    if arguments.names and FIRST_CALLS.exists():
        before = json.loads(FIRST_CALLS.read_text(encoding="utf-8"))
        kept = before.pop("estimators")
        if (
            before["machine"] != record["machine"]
        ):  # the page says of these rows where they are from
            for row in results.values():
                row["on"] = f"{record['date']}, {record['machine']}"
            record = before
    record["estimators"] = dict(sorted({**kept, **results}.items()))
    FIRST_CALLS.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    write_page()
    slow = [name for name, found in results.items() if found.get("seconds", 0.0) > FIRST_CALL_LIMIT]
    if slow:
        print(f"More than {FIRST_CALL_LIMIT:g} s: {', '.join(slow)}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
