"""Run by every process of an MPI job: fit own rows, print what all must agree on."""

import sys
import zlib

import numpy as np
from mpi4py import MPI

from octavo.linear import HybridLinearClassifier
from tests.linear.sharded.test_estimators import TIGHT, zipf

comm = MPI.COMM_WORLD
X, y = zipf(seed=40)
own = np.array_split(np.arange(len(y)), comm.Get_size())[comm.Get_rank()]
if sys.argv[1] == "poison" and comm.Get_rank() == 1:
    X = X.copy()
    X.data[:] = np.inf
try:
    shards = [(X[part], y[part]) for part in np.array_split(own, 2)]
    model = HybridLinearClassifier(comm=comm, **TIGHT).fit(shards)
    print(
        f"{model.objective_!r} {zlib.crc32(model.coef_.tobytes())} {len(model.timing_.phases)}",
        flush=True,
    )
except ValueError as error:
    print(error, flush=True)
