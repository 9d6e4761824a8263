"""A cluster for tests of files that workers read."""

import warnings

import pytest


@pytest.fixture
def scheduler():
    """The address of a cluster of two worker processes."""
    distributed = pytest.importorskip("distributed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ports in use, sockets closed late: not ours
        with distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster:
            yield cluster.scheduler_address
