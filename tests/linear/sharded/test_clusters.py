"""The hybrid learner on Dask clusters: the same bits, killed workers, stragglers, memory limits."""

import functools
import os
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

distributed = pytest.importorskip("distributed")

from octavo.engine.distributed.map_reduce import ShardError, communicator_for, join  # noqa: E402
from octavo.engine.distributed.shards import split_rows  # noqa: E402
from octavo.linear import (  # noqa: E402
    DaskCommunicator,
    HybridLinearClassifier,
    OvercompleteSGD,
    ShardWriter,
    write_shards,
)
from tests.linear.sharded.clusters import cluster  # noqa: E402
from tests.linear.sharded.test_estimators import TIGHT, log_objective, zipf  # noqa: E402

REMOTE = {"tol": 1e-8, "max_iter": 200}  # a phase takes tens of milliseconds on a busy machine
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning:distributed")


class AtStep:
    """A callback that does something once, after a given number of steps."""

    def __init__(self, step, action):
        self.step, self.action, self.seen = step, action, 0

    def setup(self, estimator, context): ...
    def teardown(self, estimator, context): ...
    def on_fit_task_begin(self, estimator, context): ...
    def on_fit_task_end(self, estimator, context):
        self.seen += 1
        if self.seen == self.step:
            self.action()


@pytest.fixture(scope="module")
def inside():
    """Three workers that share this process: quick to start, real scheduling."""
    with cluster(3, processes=False) as client:
        yield client


# --- real processes ------------------------------------------------------------------------------


@pytest.mark.slow
def test_processes_give_the_bits_of_threads_and_survive_a_kill(tmp_path):
    """One cluster for both, since processes take seconds to start."""
    X, y = zipf(d=9_000, s=20, seed=30)  # vectors so long that Dask replicates them
    best = LogisticRegression(tol=1e-9, max_iter=10_000).fit(X, y)
    optimum = log_objective(X, y, best.coef_, best.intercept_, 1.0)
    paths = write_shards(tmp_path, X, y, n_shards=4, random_state=0)
    with cluster(2) as client:
        for m in (1, 2, 4, 7):
            remote = HybridLinearClassifier(n_shards=m, comm=client, **REMOTE).fit(X, y)
            local = HybridLinearClassifier(n_shards=m, **REMOTE).fit(X, y)
            assert remote.objective_ == pytest.approx(optimum, rel=1e-6)
            assert remote.coef_.tobytes() == local.coef_.tobytes()
        phase = remote.timing_.of("probe")[-1]
        assert len(phase.nodes) == 2
        # Down to two workers, up the tree and to the client: several vectors.
        assert phase.bytes_moved >= 4 * 9001 * 8

        assert_survives_a_kill(client, (paths,), optimum)


def assert_survives_a_kill(client, data, optimum):
    """Kill one of two workers after a few steps of a fit; the fit must not notice."""

    def kill_one():
        os.kill(client.run(os.getpid)[sorted(client.nthreads())[0]], signal.SIGKILL)

    killed = AtStep(4, kill_one)
    comm = DaskCommunicator(client, timeout=60)
    model = HybridLinearClassifier(n_shards=4, comm=comm, **REMOTE).set_callbacks(killed)
    model.fit(*data)
    assert killed.seen > 4, "the worker was killed in the middle of the fit"
    assert model.objective_ == pytest.approx(optimum, rel=1e-6)


def deadly(X, y, path, deaths):
    """Yield the rows; the first passes kill the process they run in."""
    yield X[:100], y[:100]
    with open(path, "a+") as record:
        record.seek(0)
        if len(record.read()) < deaths:
            record.write("x")
            record.flush()
            os.kill(os.getpid(), signal.SIGKILL)
    yield X[100:], y[100:]


def slow(X, y, seconds):
    time.sleep(seconds)
    yield X, y


@pytest.mark.slow
def test_a_worker_killed_in_the_middle_of_a_pass(tmp_path):
    """The pass is repeated elsewhere; a shard that kills again and again is named."""
    X, y = zipf(seed=31)
    table = HybridLinearClassifier(**TIGHT).fit(X, y)
    with cluster(2) as client:
        assert_survives_a_kill(client, (X, y), table.objective_)  # shards sent to the workers
        client.wait_for_workers(2, timeout=30)
        comm = DaskCommunicator(client, timeout=60, retries=3)
        for name, deaths in (("once", 2), ("always", 10**6)):
            # The width is found here, by a first block, so that only workers die.
            from octavo.engine.distributed.shards import StreamShard

            shards = [
                (X[:50], y[:50]),
                StreamShard(functools.partial(deadly, X[50:], y[50:], tmp_path / name, deaths), 60),
            ]
            model = HybridLinearClassifier(comm=comm, **TIGHT)
            if name == "once":
                assert model.fit(shards).objective_ == pytest.approx(table.objective_, rel=1e-9)
            else:
                with pytest.raises(ShardError, match=r"shard 1 \(stream\)"):
                    model.fit(shards)


@pytest.mark.slow
def test_more_data_than_memory(tmp_path):
    """Two workers of 480 MB each pass over 1.1 GB in files; the nanny would kill at the limit.

    About 250 MB of each are the interpreter and its packages.
    """
    rng = np.random.default_rng(0)
    limit, n_rows, width, d = 480e6, 60_000, 100, 20_000
    weights = rng.normal(size=d)
    for k in range(4):
        with ShardWriter(tmp_path / f"shard-{k}", d) as writer:
            for _ in range(5):
                indices = np.sort((d ** rng.uniform(size=(n_rows, width))).astype(np.int32) - 1)
                X = sp.csr_array(
                    (np.ones(n_rows * width), indices.ravel(), np.arange(n_rows + 1) * width),
                    shape=(n_rows, d),
                )
                writer.append(X, X @ weights + 10 * rng.logistic(size=n_rows) > 0)
    size = sum(path.stat().st_size for path in tmp_path.rglob("*.npy"))
    assert size > 1.15 * 2 * limit
    with cluster(2, memory_limit=int(limit)) as client:
        pids = client.run(os.getpid)
        model = HybridLinearClassifier(alpha=10.0, max_iter=5, tol=0.0, comm=client)
        with pytest.warns(match="5 iterations"):
            model.fit(tmp_path)
        peak = client.run(peak_memory)
        assert client.run(os.getpid) == pids, "a worker was restarted"
    assert max(peak.values()) < limit
    (start,) = model.timing_.of("start")
    assert start.shares.sum() * 12 > 0.99 * size - 4 * n_rows * 5 * 16, "a pass reads every entry"
    assert (np.diff(model.objectives_) < 0).all()


def peak_memory():
    with open("/proc/self/status") as status:
        (line,) = (line for line in status if line.startswith("VmHWM"))
    return 1024 * int(line.split()[1])


@pytest.mark.slow
def test_a_cluster_of_its_own():
    X, y = zipf(seed=32)
    model = HybridLinearClassifier(n_shards=2, comm="dask", **TIGHT).fit(X, y)
    assert (
        model.coef_.tobytes()
        == HybridLinearClassifier(n_shards=2, **TIGHT).fit(X, y).coef_.tobytes()
    )


# --- scheduling, in one process ------------------------------------------------------------------


def test_workers_in_this_process_agree_too(inside):
    X, y = zipf(seed=33)
    local = HybridLinearClassifier(n_shards=5).fit(X, y)
    by_client = HybridLinearClassifier(n_shards=5, comm=inside).fit(X, y)
    by_address = HybridLinearClassifier(n_shards=5, comm=inside.scheduler.address).fit(X, y)
    for model in (by_client, by_address):
        assert model.coef_.tobytes() == local.coef_.tobytes()
    replicated = OvercompleteSGD(n_shards=3, n_replicas=2, comm=inside).fit(X, y)
    alone = OvercompleteSGD(n_shards=3, n_replicas=2).fit(X, y)
    assert replicated.coef_.tobytes() == alone.coef_.tobytes()


def test_dask_arrays_stay_on_their_workers(inside):
    import dask.array as da

    X, y = zipf(seed=34)
    table = HybridLinearClassifier(**TIGHT).fit(X, y)
    chunked = da.from_array(X.toarray(), chunks=(90, 60))
    model = HybridLinearClassifier(comm=inside, **TIGHT).fit(chunked, da.from_array(y, chunks=50))
    assert model.objective_ == pytest.approx(table.objective_, rel=1e-9)
    assert len(model.timing_.of("describe")[0].nodes) > 1


def test_clients_are_shared_by_clones_and_pickled_as_addresses(inside):
    import pickle

    model = HybridLinearClassifier(n_shards=2, comm=inside)
    assert clone(model).comm is inside
    X, y = zipf(seed=35)
    again = pickle.loads(pickle.dumps(model.fit(X, y)))
    assert again.comm == inside.scheduler.address
    comm = DaskCommunicator(inside, copies=2, timeout=5)
    assert pickle.loads(pickle.dumps(comm)).timeout == 5


def lagging(X, y, laggard, seconds):
    """Yield the rows, slowly on one worker."""
    if distributed.get_worker().address == laggard:
        time.sleep(seconds)
    yield X, y


@pytest.mark.parametrize("copies", [1, 2])
def test_a_straggler_drops_out_of_a_race(inside, copies):
    """With two copies of the first pass the slow worker keeps no shard (Section 2.3)."""
    X, y = zipf(n=300, seed=36)
    laggard = sorted(inside.nthreads())[1]
    shards = [functools.partial(lagging, X[k::3], y[k::3], laggard, 0.4) for k in range(3)]
    from octavo.engine.distributed.shards import StreamShard

    streams = [StreamShard(shard, 60, f"part {k}") for k, shard in enumerate(shards)]
    comm = communicator_for(DaskCommunicator(inside, copies=copies, timeout=30))
    comm.open(streams)
    try:
        first = comm.run(row_count, combine=join, race=True)
        comm.run(row_count, combine=join)
        assert first == [100, 100, 100]
        phases = comm.timing.phases
        if copies == 1:
            assert laggard in phases[1].nodes
        else:
            assert laggard not in phases[1].nodes
    finally:
        comm.close()


def row_count(site):
    return [sum(block.y.size for block in site.shard.blocks())]


def test_a_shard_that_does_not_answer_is_named(inside):
    from octavo.engine.distributed.shards import StreamShard

    X, y = zipf(seed=37)
    stuck = StreamShard(functools.partial(slow, X, y, 3.0), 60, "stuck")
    with pytest.raises(TimeoutError, match=r"within 1 s from shard 1 \(stuck\)"):
        HybridLinearClassifier(comm=DaskCommunicator(inside, timeout=1.0)).fit([(X, y), stuck])


def test_errors_at_a_worker_name_the_shard(inside):
    X, y = zipf(seed=38)
    bad = X.copy()
    bad.data[3] = np.inf
    with pytest.raises(ValueError, match=r"shard 1 \(table 1\)"):
        HybridLinearClassifier(comm=inside).fit([(X, y), (bad, y)])


def test_a_scheduler_that_is_not_there():
    X, y = zipf(n=20)
    with pytest.raises(OSError, match=r"127\.0\.0\.1:1"):
        HybridLinearClassifier(comm=DaskCommunicator("tcp://127.0.0.1:1", timeout=1.0)).fit(X, y)


def test_a_worker_that_left_before_its_shard_was_sent(inside):
    """The scheduler answers with a KeyError then; the shard goes to another worker instead."""
    X, y = zipf(n=300, seed=39)
    comm = communicator_for(DaskCommunicator(inside, timeout=30))
    comm.open(split_rows(X, y, None, 3))
    try:
        comm._place[1] = "tcp://127.0.0.1:9"
        assert comm.run(row_count, combine=join) == [100, 100, 100]
        alive = comm._alive
        comm._opened, comm._place[1] = [False] * 3, "tcp://127.0.0.1:9"
        comm._alive = lambda: [*alive(), "tcp://127.0.0.1:9"]  # it leaves after it was looked for
        with pytest.raises(ShardError, match=r"shard 1 \(rows 100 to 199\).* lost their worker"):
            comm.run(row_count, combine=join)
    finally:
        del comm._alive
        comm.close()


@pytest.mark.slow
def test_workers_without_memory_to_start_are_a_sentence():
    X, y = zipf(n=60, seed=40)
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=None,
            memory_limit=200_000_000,
            silence_logs=50,
        ) as short,
        distributed.Client(short, set_as_default=False) as client,
        pytest.raises(ShardError, match=r"shard 0 .*(memory limit|out of memory)"),
    ):
        HybridLinearClassifier(n_shards=4, comm=DaskCommunicator(client, timeout=20)).fit(X, y)


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_a_scheduler_that_ends_or_hangs_is_named_within_seconds(how):
    """It took 75 s to say so, in the words of a socket."""
    X, y = zipf(seed=41)
    program = [sys.executable, "-m", "distributed.cli.dask_scheduler"]
    program += ["--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
    with tempfile.TemporaryDirectory() as folder:
        place = os.path.join(folder, "scheduler.json")
        started = [subprocess.Popen([*program, "--scheduler-file", place], stderr=-3)]
        try:
            worker = [sys.executable, "-m", "distributed.cli.dask_worker", "--nthreads", "1"]
            worker += ["--scheduler-file", place, "--no-dashboard", "--no-nanny"]
            started.append(subprocess.Popen(worker, stderr=-3))
            deadline = time.monotonic() + 60
            while not os.path.exists(place) and time.monotonic() < deadline:
                time.sleep(0.1)
            with distributed.Client(scheduler_file=place, set_as_default=False) as client:
                client.wait_for_workers(1, timeout=60)

                def end():
                    os.kill(started[0].pid, how)

                model = HybridLinearClassifier(n_shards=3, comm=client, tol=1e-12, max_iter=500)
                try:
                    with pytest.raises(ShardError, match=r"scheduler at tcp://127\.0\.0\.1"):
                        model.set_callbacks(AtStep(3, end)).fit(X, y)
                finally:
                    started[0].kill()  # a client waits long for one that is stopped
        finally:
            for process in started:
                process.kill()
                process.wait()
