"""Clusters of real processes for tests: small, on the loopback, without a dashboard."""

import contextlib
import logging

import dask
from distributed import Client, LocalCluster


@contextlib.contextmanager
def cluster(n_workers=2, **options):
    """Yield a client of a cluster that is closed, whatever happens."""
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with (
        dask.config.set({"distributed.worker.memory.terminate": 0.95}),
        LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            dashboard_address=None,
            host="127.0.0.1" if options.get("processes", True) else None,
            silence_logs=logging.CRITICAL,
            **options,
        ) as running,
        Client(running, set_as_default=False, timeout=20) as client,
    ):
        client.wait_for_workers(n_workers, timeout=30)
        yield client
