"""A local Ray of several processes: the same answers as one process."""

from __future__ import annotations

import os
import signal

import pytest
from conftest import TYPES, arrow_type, found, kept, nulls_last, random_blocks
from pymayhap import Blocked

ray = pytest.importorskip("ray", reason="SKIPPED: Ray is not installed; it has no wheel for some Pythons")
pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
KEYS = [f"key {i % 20_000}" for i in range(50_000)]


@pytest.fixture(scope="module")
def cluster():
    options = {"num_cpus": 2, "include_dashboard": False, "object_store_memory": 100 << 20, "log_to_driver": False}
    try:
        ray.init(**options)
    except Exception as error:  # noqa: BLE001
        pytest.skip(f"SKIPPED: Ray does not start: {error}")
    yield
    ray.shutdown()


@pytest.fixture
def rows(cluster):
    frame = pd.DataFrame({"url": KEYS, "row": range(len(KEYS))})
    return ray.data.from_pandas([frame[at : at + 9000] for at in range(0, len(frame), 9000)])


def model() -> Blocked:
    seen = Blocked(20_000)
    seen.update(KEYS)
    return seen


def test_a_cluster_builds_the_filter_of_one_process(rows):
    import pymayhap.ray

    seen = pymayhap.ray.build(rows, "url", 20_000)
    assert seen == model()
    asked = [f"key {i}" for i in range(15_000, 25_000)]
    answers = pymayhap.ray.contains(seen, ray.data.from_pandas(pd.DataFrame({"url": asked})), "url")
    found = {row["url"]: row["found"] for row in answers.take_all()}
    assert [found[key] for key in asked] == model().contains_many(asked)


def test_a_cluster_keeps_one_row_of_each_key(rows):
    import pymayhap.ray

    kept = pymayhap.ray.dedupe(rows, "url", 20_000).to_pandas()
    assert sorted(kept["url"]) == sorted(set(KEYS)) and list(kept.columns) == ["url", "row"]


@pytest.mark.parametrize(
    ("type_", "nulls"), [*((type_, "one") for type_ in TYPES), ("int64", "keep"), ("string", "drop")]
)
def test_nulls_and_integers_are_what_they_are(cluster, type_, nulls):
    import pymayhap.ray

    blocks = random_blocks(5, type_)
    keys = [key for block in blocks for key in block]
    tables = [pa.table({"k": pa.array(block, type=arrow_type(type_))}) for block in blocks]
    rows = ray.data.from_arrow(tables)
    rest = [row["k"] for row in pymayhap.ray.dedupe(rows, "k", 1000, nulls=nulls).take_all()]
    assert nulls_last(rest) == kept(keys, nulls)
    seen = pymayhap.ray.build(ray.data.from_arrow(tables[:2]), "k", 1000, 1e-6, nulls=nulls)
    answers = pymayhap.ray.contains(seen, rows, "k", nulls=nulls).take_all()
    expected = dict(zip(keys, found(keys, blocks[0] + blocks[1], nulls)))
    assert {row["k"]: row["found"] for row in answers} == expected


def test_a_worker_that_is_killed_changes_nothing(rows, tmp_path):
    import pymayhap.ray

    marker = str(tmp_path / "died")

    def die_once(batch):
        try:
            os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return batch
        os.kill(os.getpid(), signal.SIGKILL)

    assert pymayhap.ray.build(rows.map_batches(die_once, batch_format="pyarrow"), "url", 20_000) == model()
    assert os.path.exists(marker)
