"""Where distributed models run, and where their data lie.

The communicators of `octavo.engine` and the writers of shards, under the names that a user of
`octavo.linear` needs them by.
"""

from octavo.engine.distributed.dask_communicator import DaskCommunicator
from octavo.engine.distributed.map_reduce import ThreadCommunicator, tree_allreduce
from octavo.engine.distributed.mpi_communicator import MPICommunicator
from octavo.engine.distributed.shards import ShardWriter, write_shards

__all__ = [
    "DaskCommunicator",
    "MPICommunicator",
    "ShardWriter",
    "ThreadCommunicator",
    "tree_allreduce",
    "write_shards",
]
