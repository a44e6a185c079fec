"""Filters on a Spark cluster: built per partition, joined, and looked up where the data is.

Spark's own `DataFrame.stat.bloomFilter` silently stops at 67 108 864 bits: at 50 million keys, 99.8 % of absent keys pass.
These filters have the size that the capacity needs.

Columns stay in Arrow, batch by batch. Nulls are one more key; ``nulls="keep"`` and ``nulls="drop"`` keep or drop all their
rows.
"""

from __future__ import annotations

import os
import tempfile
import uuid
from collections.abc import Callable, Iterator

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession

from ._kinds import Blocked, Bloom, Scalable
from ._pymayhap import Filter
from ._types import Nulls

#: The keys that a task of `dedupe` has room for at least: Spark puts small partitions together, up to 64 MB.
_LEAST_SHARE = 1 << 20


def build(
    df: DataFrame,
    column: str,
    capacity: int,
    rate: float = 0.01,
    *,
    folder: str | None = None,
    nulls: Nulls = "one",
) -> Blocked:
    """Builds the filter of a column: one per partition, joined by the driver.

    Each task takes the memory of a filter for the whole capacity, or they could not be joined, and of one batch of rows.
    With a ``folder`` on storage that all workers share, the filters go there as files and are joined one at a time, which
    takes half the time and little memory. Without one, the driver collects them.
    """
    if folder is None:
        rows = df.select(column).mapInArrow(_parts(capacity, rate, nulls, None), "filter binary").toLocalIterator()
        parts: Iterator[Blocked] = (Blocked.from_bytes(bytes(row[0])) for row in rows)
        return _joined(parts, capacity, rate)
    with tempfile.TemporaryDirectory(prefix="pymayhap-", dir=folder) as shared:
        os.chmod(shared, 0o777)
        written = df.select(column).mapInArrow(_parts(capacity, rate, nulls, shared), "filter string").collect()
        return _joined((Blocked.load(row[0]) for row in written), capacity, rate)


def contains(seen: Filter, column: Column | str, *, nulls: Nulls = "one") -> Column:
    """Looks up each key of a column: True where it may be in the filter, which is sent to every worker once.

    Before a join this drops most rows that have no partner: ``big.filter(contains(seen, "k")).join(small, "k")``. Needs
    Spark 4.1, the first with functions on columns of Arrow.
    """
    from pyspark.sql.pandas.functions import ArrowUDFType, arrow_udf

    session = SparkSession.getActiveSession()
    if session is None:
        raise RuntimeError("there is no active Spark session; expected one, such as of SparkSession.builder.getOrCreate()")
    shared = session.sparkContext.broadcast(seen)

    # Spark reads these type hints.
    def ask(keys: pa.Array) -> pa.Array:
        return shared.value.contains_many(keys, nulls=nulls)

    asked: Callable[[Column | str], Column] = arrow_udf(ask, "boolean", ArrowUDFType.SCALAR)
    return asked(column)


def dedupe(df: DataFrame, column: str, capacity: int, rate: float = 1e-6, *, nulls: Nulls = "one") -> DataFrame:
    """Keeps one row of each key in the column.

    Rows are shuffled, so that equal keys are in one partition. Each partition has a filter of its own instead of a set of
    keys: for its share of the capacity, which is divided by ``spark.sql.shuffle.partitions``; with more keys it grows. At the
    given rate, the first row of a key is dropped too.
    """
    parts = int(df.sparkSession.conf.get("spark.sql.shuffle.partitions") or 1)
    # Hashes do not spread keys quite evenly.
    share = min(max(capacity // parts * 21 // 20, _LEAST_SHARE), capacity)

    def first_of_each(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        seen = None
        for batch in batches:
            # Memory is taken only where there are rows.
            if seen is None:
                seen = Scalable(share, rate)
            yield batch.filter(seen.add_many(batch.column(column), nulls=nulls))

    return df.repartition(column).mapInArrow(first_of_each, df.schema)


def to_spark(df: DataFrame, column: str, capacity: int, rate: float = 0.01) -> bytes:
    """Builds Spark's own filter of a column, of any size, as bytes that `BloomFilter.readFrom` on the JVM reads.

    Columns of `long` hash as Spark's `putLong`, text as its `putString`; nulls are left out, as Spark does.
    """

    def fill(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        part = _filled(batches, lambda: Bloom(capacity, rate, scheme="spark1"), "drop")
        if part is not None:
            yield pa.record_batch([pa.array([part.to_bytes()], pa.binary())], names=["filter"])

    seen = Bloom(capacity, rate, scheme="spark1")
    for (data,) in df.select(column).mapInArrow(fill, "filter binary").toLocalIterator():
        seen |= Bloom.from_bytes(bytes(data))
    return seen.to_bytes("spark")


def _joined(parts: Iterator[Blocked], capacity: int, rate: float) -> Blocked:
    seen = Blocked(capacity, rate)
    for part in parts:
        seen |= part
    return seen


def _filled(batches: Iterator[pa.RecordBatch], make: Callable[[], Filter], nulls: Nulls) -> Filter | None:
    """Builds the filter of all batches, holding one at a time; None if there are no rows."""
    seen = None
    for batch in batches:
        if batch.num_rows > 0:
            seen = make() if seen is None else seen
            seen.update(batch.column(0), nulls=nulls)
    return seen


def _parts(
    capacity: int, rate: float, nulls: Nulls, folder: str | None
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def fill(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        seen = _filled(batches, lambda: Blocked(capacity, rate), nulls)
        if seen is None:
            return
        if folder is None:
            yield pa.record_batch([pa.array([seen.to_bytes()], pa.binary())], names=["filter"])
            return
        # A task that is tried again writes another file; only the file of the successful try is named.
        path = os.path.join(folder, f"{uuid.uuid4().hex}.mayhap")
        seen.save(path)
        yield pa.record_batch([pa.array([path])], names=["filter"])

    return fill
