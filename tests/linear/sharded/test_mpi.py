"""MPI: a job of one, and where mpi4py is installed a job of three processes."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from octavo.linear import HybridLinearClassifier, MPICommunicator
from tests.linear.sharded.test_estimators import TIGHT, zipf


class OneProcess:
    """What MPI.COMM_SELF does."""

    def Get_rank(self):
        return 0

    def Get_size(self):
        return 1

    def allgather(self, value):
        return [value]

    gather = allgather

    def bcast(self, value):
        return value

    def Reduce(self, sent, received):
        received[...] = sent

    def Bcast(self, value): ...


def test_a_job_of_one_process():
    X, y = zipf(seed=40)
    threads = HybridLinearClassifier(n_shards=3, **TIGHT).fit(X, y)
    for comm in (OneProcess(), MPICommunicator(OneProcess())):
        model = HybridLinearClassifier(n_shards=3, comm=comm, **TIGHT).fit(X, y)
        assert model.coef_.tobytes() == threads.coef_.tobytes()
    assert {phase.nodes for phase in model.timing_.phases} == {("rank 0",)}
    bad = X.copy()
    bad.data[0] = np.nan
    with pytest.raises(ValueError, match="shard 1"):
        HybridLinearClassifier(comm=OneProcess()).fit([(X, y), (bad, y)])


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["fit", "poison"])
def test_a_job_of_three_processes(kind):
    pytest.importorskip("mpi4py")
    beside = Path(sys.executable).parent / "mpiexec"
    launcher = str(beside) if beside.exists() else shutil.which("mpiexec")
    if launcher is None:
        pytest.skip("no mpiexec")
    command = [launcher, "-n", "3", sys.executable, "-m", "tests.linear.sharded.mpi_program", kind]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    told = done.stdout.split("\n")
    if kind == "poison":
        assert done.stdout.count("shard 2 (table 0) returned a result that is not finite") == 3
        return
    X, y = zipf(seed=40)
    objective = HybridLinearClassifier(n_shards=6, **TIGHT).fit(X, y).objective_
    words = " ".join(told).split()
    assert len(set(words[0::3])) == len(set(words[1::3])) == 1, "processes disagree"
    assert float(words[0]) == pytest.approx(objective, rel=1e-9)
