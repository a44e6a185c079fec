"""A local Spark with several worker processes: the same answers as one process, and Spark's own filters."""

from __future__ import annotations

import os
import shutil
import signal
import sys

import pytest
from conftest import found, kept, nulls_last, random_blocks
from pymayhap import Blocked, Bloom

pytest.importorskip("pyspark")
if not shutil.which("java"):
    pytest.skip("SKIPPED: Spark needs a JDK, and there is no java", allow_module_level=True)
ROWS, DISTINCT = 20_000, 8000


@pytest.fixture(scope="module")
def spark():
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    # A task that fails is tried again, as on a cluster.
    builder = SparkSession.builder.master("local[2,3]").appName("pymayhap").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
    builder = builder.config("spark.sql.shuffle.partitions", "3").config("spark.driver.memory", "1g")
    try:
        session = builder.getOrCreate()
    except Exception as error:  # noqa: BLE001
        pytest.skip(f"SKIPPED: Spark does not start: {error}")
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture
def longs(spark):
    return spark.range(0, ROWS, numPartitions=5).selectExpr(f"id % {DISTINCT} as k", "id")


def model() -> Blocked:
    seen = Blocked(DISTINCT)
    seen.update(range(DISTINCT))
    return seen


def test_a_cluster_builds_the_filter_of_one_process(longs, tmp_path):
    from pymayhap.spark import build

    assert build(longs, "k", DISTINCT) == model()
    assert build(longs, "k", DISTINCT, folder=str(tmp_path)) == model()
    assert os.listdir(tmp_path) == []


def test_keys_are_looked_up_before_a_join(spark, longs):
    from pymayhap.spark import contains

    asked = spark.range(DISTINCT - 1000, DISTINCT + 1000).withColumn("found", contains(model(), "id"))
    found = {row["id"]: row["found"] for row in asked.collect()}
    expected = model().contains_many(sorted(found))
    assert [found[key] for key in sorted(found)] == expected


def test_a_cluster_keeps_one_row_of_each_key(longs):
    from pymayhap.spark import dedupe

    kept = [row["k"] for row in dedupe(longs, "k", DISTINCT).collect()]
    assert sorted(kept) == list(range(DISTINCT))


def test_nulls_and_integers_are_what_they_are(spark):
    from pymayhap.spark import build, contains, dedupe

    types = [("int", "int32", "keep"), ("long", "int64", "one"), ("string", "string", "one"), ("string", "string", "drop")]
    for type_, name, nulls in types:
        blocks = random_blocks(6, name)
        keys = [key for block in blocks for key in block]
        rows = spark.createDataFrame([(key,) for key in keys], f"k {type_}").repartition(3)
        rest = [row["k"] for row in dedupe(rows, "k", 1000, nulls=nulls).collect()]
        assert nulls_last(rest) == kept(keys, nulls)
        few = blocks[0] + blocks[1]
        seen = build(spark.createDataFrame([(key,) for key in few], f"k {type_}"), "k", 1000, 1e-6, nulls=nulls)
        answers = rows.withColumn("found", contains(seen, "k", nulls=nulls)).collect()
        assert {row["k"]: row["found"] for row in answers} == dict(zip(keys, found(keys, few, nulls)))


def test_spark_reads_our_filters_and_we_read_those_of_spark(spark, longs):
    from pymayhap.spark import to_spark

    data = to_spark(longs, "k", DISTINCT)
    jvm = spark._jvm
    theirs = jvm.org.apache.spark.util.sketch.BloomFilter.readFrom(jvm.java.io.ByteArrayInputStream(data))
    ours = Bloom.from_bytes(data)
    asked = list(range(DISTINCT - 200, DISTINCT + 200))
    assert [theirs.mightContainLong(key) for key in asked] == ours.contains_many(asked)
    made = longs.stat.bloomFilter("k", DISTINCT, 0.01) if hasattr(longs.stat, "bloomFilter") else None
    if made is None:
        made = jvm.org.apache.spark.util.sketch.BloomFilter.create(DISTINCT, 0.01)
        for key in range(2000):
            made.putLong(key)
    output = jvm.java.io.ByteArrayOutputStream()
    made.writeTo(output)
    read = Bloom.from_bytes(bytes(output.toByteArray()))
    asked = list(range(1500, 2500))
    assert [made.mightContainLong(key) for key in asked] == read.contains_many(asked)


def test_a_worker_that_is_killed_changes_nothing(longs, tmp_path):
    from pymayhap.spark import build

    marker = str(tmp_path / "died")

    def die_once(batches):
        for batch in batches:
            try:
                os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                yield batch
            else:
                os.kill(os.getpid(), signal.SIGKILL)

    dying = longs.mapInArrow(die_once, longs.schema)
    assert build(dying, "k", DISTINCT) == model()
    assert os.path.exists(marker)
