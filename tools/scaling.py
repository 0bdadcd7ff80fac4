"""Weak scaling over Dask workers and what a task costs: ``python tools/scaling.py``.

The same rows for each of 1, 2, 4 and 8 workers: processor time, memory and bytes of each, and the
clock that `ClusterModel` expects of machines that do nothing else. Its rate of reading is the
processor time of one worker, its spread and the costs of its tree those of eight workers; the clock
of two workers, which it has not seen, stands beside. Writes docs/benchmarks/scaling.md.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import resource
import sys
import time
from contextlib import contextmanager
from datetime import date
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import scipy.sparse as sp

from benchmarks.harness import PAGE, SCALING, machine, write_page
from octavo.linear import ClusterModel, HybridLinearClassifier

WORKERS = (1, 2, 4, 8)
N_FEATURES, PER_ROW, ITERATIONS = 2**14, 50, 5
MACHINES = (2, 10, 100, 1_000)


def shard_blocks(rank: int, n_rows: int):
    """Yield one block of sparse rows whose labels follow a hidden direction."""
    rng = np.random.default_rng(rank)
    columns = np.minimum(rng.zipf(1.3, n_rows * PER_ROW), N_FEATURES) - 1
    shape = (n_rows, N_FEATURES)
    ends = np.arange(0, columns.size + 1, PER_ROW)
    X = sp.csr_matrix((np.ones(columns.size), columns, ends), shape=shape)
    X.sum_duplicates()
    hidden = np.random.default_rng(10**6).normal(size=N_FEATURES)
    yield X, np.where(X @ hidden + rng.normal(size=n_rows) > 0, 1, -1)


@contextmanager
def cluster(n_workers: int):
    """Yield a client of that many processes on this machine."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=n_workers, threads_per_worker=1, dashboard_address=None, memory_limit=0
        ) as running,
        Client(running, set_as_default=False) as client,
    ):
        client.wait_for_workers(n_workers)
        yield client


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def weak_scaling(n_workers: int, n_rows: int) -> tuple[dict[str, float], object]:
    """Return what a fit took with that many workers of n_rows each, and its timing."""
    shards = [functools.partial(shard_blocks, rank, n_rows) for rank in range(n_workers)]
    with cluster(n_workers) as client:
        model = HybridLinearClassifier(comm=client, max_iter=ITERATIONS, tol=1e-300)
        model.fit(shards)  # compiles
        before = client.run(time.process_time)
        start = time.perf_counter()
        model.fit(shards)
        clock = time.perf_counter() - start
        after = client.run(time.process_time)
        memory = client.run(peak_megabytes)
    timing = model.timing_
    own = [after[address] - before[address] for address in after]
    read = sum(int(phase.shares.sum()) for phase in timing.phases)
    found = {
        "workers": n_workers,
        "rows": n_rows * n_workers,
        "epochs": model.n_epochs_,
        "nonzeros": read,
        "processor": float(np.mean(own)),
        "largest processor": float(np.max(own)),
        "clock": clock,
        "megabytes": float(np.max(list(memory.values()))),
        "bytes": sum(phase.bytes_moved for phase in timing.phases) / n_workers,
    }
    return found, timing


def task_overhead(n_tasks: int, n_workers: int = 2) -> float:
    """Return seconds that a machine of an ensemble costs over a Dask client beyond its training."""
    import joblib

    from octavo.svm import EnsembleSVC

    X = np.random.default_rng(0).normal(size=(400, 2))
    y = (X[:, 0] > 0).astype(int)

    def seconds(n: int) -> float:
        model = EnsembleSVC(n_estimators=n, max_samples=50, random_state=0)
        start = time.process_time()
        model.fit(X, y)
        return time.process_time() - start

    seconds(2)
    alone = min(seconds(n_tasks) for _ in range(3))
    with (
        cluster(n_workers) as client,
        joblib.parallel_config(backend="dask", client=client, wait_for_workers_timeout=30),
    ):
        model = EnsembleSVC(n_estimators=n_tasks, max_samples=50, random_state=0, n_jobs=n_workers)
        model.fit(X, y)
        found = []
        for _ in range(3):
            before = sum(client.run(time.process_time).values())
            start = time.process_time()  # the scheduler lives in this process
            model.fit(X, y)
            here = time.process_time() - start
            found.append(here + sum(client.run(time.process_time).values()) - before)
    return max(min(found) - alone, 0.0) / n_tasks


def text(record: dict) -> str:
    rows = record["weak"]
    model = ClusterModel(**record["model"])
    lines = [
        "# Scaling",
        "",
        f"Written by `python tools/scaling.py`, {record['date']}, {record['machine']}.",
        "",
        f"`HybridLinearClassifier` over Dask workers, {rows[0]['rows']:,} rows of {PER_ROW}"
        f" nonzeros a worker, {N_FEATURES:,} features, one online pass and {ITERATIONS} iterations."
        " The rows are made on the workers. All workers share the cores of one machine: the clock"
        " of more workers than cores says nothing, processor time and bytes do.",
        "",
        "| workers | processor time a worker | of the slowest | bytes a worker | peak memory a"
        " worker | clock here |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        lines.append(
            f"| {row['workers']} | {row['processor']:.2f} s | {row['largest processor']:.2f} s | "
            f"{row['bytes'] / 1e6:.2f} MB | {row['megabytes']:.0f} MB | {row['clock']:.2f} s |"
        )
    lines += [
        "",
        f"The model (`ClusterModel`): {model.nonzeros_per_second / 1e6:.3g} million nonzeros a"
        f" second and node, log times of nodes spread by {model.spread:.2g}, {model.latency:.2g} s"
        f" a round of the tree and {model.seconds_per_byte * 1e9:.2g} ns a byte. It assumes one"
        " shard a machine, machines that do nothing else, and rounds of the tree as slow as between"
        " processes of this machine.",
        "",
        "| machines | rows | seconds a pass, slowest node | communication a pass | fit, expected |"
        " of it communication |",
        "|---|---|---|---|---|---|",
    ]
    one = rows[0]
    per_pass = one["nonzeros"] / one["epochs"]
    for machines in MACHINES:
        told = model.predict(per_pass * machines, N_FEATURES, machines, one["epochs"])
        share = told.communication / (told.slowest + told.communication)
        lines.append(
            f"| {machines:,} | {one['rows'] * machines:,} | {told.slowest:.3g} | "
            f"{told.communication:.3g} | {told.total:.3g} s | {share:.0%} |"
        )
    two = next(row for row in rows if row["workers"] == 2)
    expected = model.predict(per_pass * 2, N_FEATURES, 2, two["epochs"])
    lines += [
        "",
        f"Two workers took {two['clock']:.2f} s by the clock where {expected.total:.2f} s were"
        f" expected, and {two['processor']:.2f} s of processor time each where"
        f" {two['epochs'] * expected.median:.2f} s were.",
        "",
        "## What a task costs",
        "",
        f"{record['tasks']} machines of an `EnsembleSVC`, each on 50 rows, over a Dask client with"
        f" two workers: {1e3 * record['overhead']:.2f} ms of processor time a machine beyond its"
        " training, in the client, the scheduler and the workers together.",
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=100_000, help="rows of a worker")
    parser.add_argument("--tasks", type=int, default=200)
    arguments = parser.parse_args()
    rows, timings = [], {}
    for n_workers in WORKERS:
        found, timings[n_workers] = weak_scaling(n_workers, arguments.rows)
        print(found, flush=True)
        rows.append(found)
    tree = ClusterModel.from_timing(timings[WORKERS[-1]])
    model = tree._replace(nonzeros_per_second=rows[0]["nonzeros"] / rows[0]["processor"])
    record = {
        "machine": machine(),
        "date": f"{date.today():%Y-%m-%d}",
        "weak": rows,
        "model": model._asdict(),
        "tasks": arguments.tasks,
        "overhead": task_overhead(arguments.tasks),
    }
    print(record["overhead"], record["model"])
    SCALING.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    (PAGE.with_suffix("") / "scaling.md").write_text(text(record), encoding="utf-8")
    write_page()


if __name__ == "__main__":
    main()
