"""Filters on a Spark cluster: built per partition, joined, and asked where the data are.

Spark's own `DataFrame.stat.bloomFilter` stops at 67 108 864 bits without a word: at 50 million keys, 99.8 % of absent keys
pass. These have the size that the capacity needs.
"""

from __future__ import annotations

import os
import tempfile
import uuid
from collections.abc import Callable, Iterator

import pandas as pd
import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.pandas.functions import pandas_udf

from ._kinds import Blocked, Bloom
from ._pymayhap import Filter


def build(df: DataFrame, column: str, capacity: int, rate: float = 0.01, *, folder: str | None = None) -> Blocked:
    """The filter of a column: one per partition, joined by the driver.

    With a ``folder`` on storage that all workers share, the filters go there as files and are joined one at a time, which
    takes half the time and little memory. Without one they come through the driver.
    """
    if folder is None:
        rows = df.select(column).mapInArrow(_parts(capacity, rate, None), "filter binary").toLocalIterator()
        parts: Iterator[Blocked] = (Blocked.from_bytes(bytes(row[0])) for row in rows)
        return _joined(parts, capacity, rate)
    with tempfile.TemporaryDirectory(prefix="pymayhap-", dir=folder) as shared:
        os.chmod(shared, 0o777)
        written = df.select(column).mapInArrow(_parts(capacity, rate, shared), "filter string").collect()
        return _joined((Blocked.load(row[0]) for row in written), capacity, rate)


def contains(seen: Filter, column: Column | str) -> Column:
    """Whether each key of a column may be in the filter, which is sent to every worker once.

    Before a join this drops most rows that have no partner: ``big.filter(contains(seen, "k")).join(small, "k")``.
    """
    session = SparkSession.getActiveSession()
    if session is None:
        raise RuntimeError("there is no active Spark session; expected one, such as of SparkSession.builder.getOrCreate()")
    shared = session.sparkContext.broadcast(seen)

    # Spark reads the types of these.
    def ask(keys: pd.Series) -> pd.Series:
        return pd.Series(shared.value.contains_many(keys))

    asked: Callable[[Column | str], Column] = pandas_udf(ask, "boolean")  # type: ignore[call-overload]
    return asked(column)


def dedupe(df: DataFrame, column: str, capacity: int, rate: float = 1e-6) -> DataFrame:
    """The rows without those whose key in the column came before.

    Rows are shuffled, so that equal keys are in one partition, each of which has a filter of its own in place of a set of
    keys. At the rate, a row that is the first of its key is dropped all the same.
    """
    shuffled = df.repartition(column)

    def first_of_each(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        seen = None
        for batch in batches:
            # All keys may be in one partition; memory is taken only where there are rows.
            seen = seen or Blocked(capacity, rate)
            yield batch.filter(seen.add_many(batch.column(column)))

    return shuffled.mapInArrow(first_of_each, df.schema)


def to_spark(df: DataFrame, column: str, capacity: int, rate: float = 0.01) -> bytes:
    """The bytes of Spark's own filter of a column, of any size: `BloomFilter.readFrom` on the JVM reads them.

    Columns of `long` hash as Spark's `putLong`, text as its `putString`.
    """
    seen = Bloom(capacity, rate, scheme="spark1")
    for (data,) in df.select(column).mapInArrow(_spark_parts(capacity, rate), "filter binary").toLocalIterator():
        seen |= Bloom.from_bytes(bytes(data))
    return seen.to_bytes("spark")


def _joined(parts: Iterator[Blocked], capacity: int, rate: float) -> Blocked:
    seen = Blocked(capacity, rate)
    for part in parts:
        seen |= part
    return seen


def _parts(
    capacity: int, rate: float, folder: str | None
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def fill(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        seen = Blocked(capacity, rate)
        if seen.update(*(batch.column(0) for batch in batches)) == 0:
            return
        if folder is None:
            yield pa.record_batch([pa.array([seen.to_bytes()], pa.binary())], names=["filter"])
            return
        # A task that is tried again writes another file; only that of the try that counts is named.
        path = os.path.join(folder, f"{uuid.uuid4().hex}.mayhap")
        seen.save(path)
        yield pa.record_batch([pa.array([path])], names=["filter"])

    return fill


def _spark_parts(capacity: int, rate: float) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def fill(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        seen = Bloom(capacity, rate, scheme="spark1")
        if seen.update(*(batch.column(0) for batch in batches)):
            yield pa.record_batch([pa.array([seen.to_bytes()], pa.binary())], names=["filter"])

    return fill
