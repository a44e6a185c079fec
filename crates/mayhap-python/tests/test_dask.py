"""A local Dask cluster of several processes: the same answers as one process."""

from __future__ import annotations

import os
import signal

import pytest
from conftest import TYPES, arrow_type, found, kept, nulls_last, random_blocks
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


def as_pandas(blocks: list[list], type_: str) -> list:
    """Blocks as pandas has them: integers are floats where there are nulls, and only there."""
    if type_ == "Int64":
        return [pd.DataFrame({"k": pd.array(block, dtype=type_)}) for block in blocks]
    if type_.startswith("int"):
        return [pd.DataFrame({"k": pd.Series(block, dtype=type_ if None not in block else "float64")}) for block in blocks]
    keys = sorted({key for block in blocks for key in block if key is not None})
    dtype = pd.CategoricalDtype(keys) if type_ == "dictionary" else pd.ArrowDtype(arrow_type(type_))
    return [pd.DataFrame({"k": pd.Series(block, dtype=dtype)}) for block in blocks]


@pytest.mark.parametrize(
    ("type_", "nulls"), [*((type_, "one") for type_ in [*TYPES, "Int64"]), ("int64", "keep"), ("string", "drop")]
)
def test_nulls_and_integers_are_what_they_are(cluster, type_, nulls):
    import pymayhap.dask

    blocks = random_blocks(4, "int64" if type_ == "Int64" else type_)
    if type_ == "int64":
        # Floats have 53 bits.
        blocks = [[key and key >> 10 for key in block] for block in blocks]
    keys = [key for block in blocks for key in block]
    parts = as_pandas(blocks, type_)
    frame = dd.from_map(lambda part: part, parts, meta=parts[1][:0], enforce_metadata=False)
    rest = pymayhap.dask.dedupe(frame, "k", 1000, nulls=nulls).compute()["k"].tolist()
    assert nulls_last(None if pd.isna(key) else key for key in rest) == kept(keys, nulls)
    seen = pymayhap.dask.build(frame.partitions[:2], "k", 1000, 1e-6, nulls=nulls)
    answers = pymayhap.dask.contains(seen, frame["k"], nulls=nulls).compute().tolist()
    assert answers == found(keys, blocks[0] + blocks[1], nulls)


def test_floats_that_are_no_integers_are_refused():
    import pymayhap.dask

    for keys in ([1.5], [2.0**53]):
        with pytest.raises(TypeError, match="keys are text, bytes or integers"):
            pymayhap.dask._part(pd.Series(keys), 1000, 0.01, "one")


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
