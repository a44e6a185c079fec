"""Filters on a Dask cluster: built per partition, joined in a tree, and looked up where the data is.

>>> import dask.dataframe as dd, pandas as pd
>>> import pymayhap.dask
>>> frame = dd.from_pandas(pd.DataFrame({"url": ["/a", "/b", "/a", "/c"]}), npartitions=2)
>>> seen = pymayhap.dask.build(frame, "url", capacity=1000)
>>> "/c" in seen
True
>>> pymayhap.dask.contains(seen, frame["url"]).compute().tolist()
[True, True, True, True]
>>> sorted(pymayhap.dask.dedupe(frame, "url", capacity=1000).compute()["url"])
['/a', '/b', '/c']

Columns are read as Arrow. Nulls are one more key; ``nulls="keep"`` and ``nulls="drop"`` keep or drop all their rows.
"""

from __future__ import annotations

from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from dask.delayed import delayed

from ._kinds import Blocked, Scalable
from ._pymayhap import Filter, parts
from ._types import Nulls

#: The column that rows are shuffled by.
_PART = "pymayhap part"


def build(frame: Any, column: str, capacity: int, rate: float = 0.01, *, nulls: Nulls = "one") -> Blocked:
    """Builds the filter of a column of a Dask frame: one per partition, joined two by two on the workers.

    The capacity is that of all partitions together: each makes a filter of the same size, or they could not be joined.
    """
    part = delayed(_part, pure=True)
    join = delayed(_join, pure=True)
    filters = [part(each, capacity, rate, nulls) for each in frame[column].to_delayed()]
    while len(filters) > 1:
        filters = [join(*filters[at : at + 2]) for at in range(0, len(filters), 2)]
    seen: Blocked = filters[0].compute()
    return seen


def contains(seen: Filter, keys: Any, *, nulls: Nulls = "one") -> Any:
    """Looks up each key of a Dask column: a lazy column of booleans, True where it may be in the filter."""
    shared = delayed(seen, pure=True)
    return keys.map_partitions(_contains, shared, nulls, meta=(keys.name, bool))


def dedupe(frame: Any, column: str, capacity: int, rate: float = 1e-6, *, nulls: Nulls = "one") -> Any:
    """Keeps one row of each key in the column.

    Rows are shuffled, so that equal keys are in one partition. Each partition has a filter of its own instead of a set of
    keys: for its share of the capacity, or for its rows if those are fewer; with more keys it grows. At the given rate, the
    first row of a key is dropped too.
    """
    # Not by the column itself: pandas may have its integers as integers in one partition and as floats in another.
    parted = frame.map_partitions(_with_part, column, meta=frame._meta.assign(**{_PART: pd.Series(dtype="uint32")}))
    shuffled = parted.shuffle(on=_PART)
    # Hashes do not spread keys quite evenly.
    share = capacity // shuffled.npartitions * 21 // 20 + 1000
    return shuffled.map_partitions(_dedupe, column, share, rate, nulls, meta=frame._meta)


def _arrow(keys: pd.Series) -> Any:
    """Converts a column to Arrow. Integers that pandas turned into floats, because of nulls, become integers again."""
    column = pa.Array.from_pandas(keys)
    if not pa.types.is_floating(column.type):
        return column
    # From 2^53 on, floats stand for several integers. Those, and fractions, stay: the filter refuses them.
    is_whole = pc.and_(pc.equal(column, pc.round(column)), pc.less(pc.abs(column), 2.0**53))
    return column.cast(pa.int64()) if pc.all(is_whole).as_py() is not False else column


def _part(keys: pd.Series, capacity: int, rate: float, nulls: Nulls) -> Blocked:
    seen = Blocked(capacity, rate)
    seen.update(_arrow(keys), nulls=nulls)
    return seen


def _join(left: Blocked, right: Blocked | None = None) -> Blocked:
    return left if right is None else left | right


def _contains(keys: pd.Series, seen: Filter, nulls: Nulls) -> pd.Series:
    found = seen.contains_many(_arrow(keys), nulls=nulls).to_numpy(zero_copy_only=False)
    return pd.Series(found, index=keys.index, name=keys.name, dtype=bool)


def _with_part(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    return rows.assign(**{_PART: parts(_arrow(rows[column]), 2**32 - 1)})


def _dedupe(rows: pd.DataFrame, column: str, share: int, rate: float, nulls: Nulls) -> pd.DataFrame:
    seen = Scalable(max(min(len(rows), share), 1), rate)
    is_new = seen.add_many(_arrow(rows[column]), nulls=nulls).to_numpy(zero_copy_only=False)
    return rows.drop(columns=_PART)[is_new]
