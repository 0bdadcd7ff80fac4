"""Where distributed models run, and where their data lie.

The communicators of `octavo.engine` and the writers of shards, under the names that a user of
`octavo.linear` needs them by.
"""

from octavo.engine.dask_communicator import DaskCommunicator
from octavo.engine.map_reduce import ThreadCommunicator, tree_allreduce
from octavo.engine.mpi_communicator import MPICommunicator
from octavo.engine.shards import ShardWriter, write_shards

__all__ = [
    "DaskCommunicator",
    "MPICommunicator",
    "ShardWriter",
    "ThreadCommunicator",
    "tree_allreduce",
    "write_shards",
]
