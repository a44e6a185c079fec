"""A local Dask cluster of several processes: the same answers as one process."""

from __future__ import annotations

import os
import signal

import pytest
from pymayhap import Blocked

distributed = pytest.importorskip("distributed")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")
KEYS = [f"key {i % 20_000}" for i in range(50_000)]


@pytest.fixture(scope="module")
def cluster():
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture
def frame():
    return dd.from_pandas(pd.DataFrame({"url": KEYS, "row": range(len(KEYS))}), npartitions=7)


def test_a_cluster_builds_the_filter_of_one_process(cluster, frame):
    import pymayhap.dask

    model = Blocked(20_000)
    model.update(KEYS)
    seen = pymayhap.dask.build(frame, "url", 20_000)
    assert seen == model
    other = dd.from_pandas(pd.Series([f"key {i}" for i in range(15_000, 25_000)], name="url"), npartitions=3)
    expected = model.contains_many([f"key {i}" for i in range(15_000, 25_000)])
    assert pymayhap.dask.contains(seen, other).compute().tolist() == expected


def test_a_cluster_keeps_one_row_of_each_key(cluster, frame):
    import pymayhap.dask

    kept = pymayhap.dask.dedupe(frame, "url", 20_000).compute()
    assert sorted(kept["url"]) == sorted(set(KEYS)) and list(kept.columns) == ["url", "row"]


def die_once(keys, marker: str):
    """Kills the worker that comes first."""
    try:
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return keys
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_worker_that_is_killed_changes_nothing(cluster, frame, tmp_path):
    import pymayhap.dask

    model = Blocked(20_000)
    model.update(KEYS)
    dying = frame.map_partitions(die_once, str(tmp_path / "died"), meta=frame._meta)
    assert pymayhap.dask.build(dying, "url", 20_000) == model
    assert (tmp_path / "died").exists()
