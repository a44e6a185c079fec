"""Filters on a Dask cluster: built per partition, joined in a tree, and asked where the data are.

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
"""

from __future__ import annotations

from typing import Any

import pandas as pd
from dask.delayed import delayed

from ._kinds import Blocked
from ._pymayhap import Filter


def build(frame: Any, column: str, capacity: int, rate: float = 0.01) -> Blocked:
    """The filter of a column of a Dask frame: one per partition, joined two by two on the workers.

    The capacity is that of all partitions together: each makes a filter of the same size, or they could not be joined.
    """
    part = delayed(_part, pure=True)
    join = delayed(_join, pure=True)
    filters = [part(each, capacity, rate) for each in frame[column].to_delayed()]
    while len(filters) > 1:
        filters = [join(*filters[at : at + 2]) for at in range(0, len(filters), 2)]
    seen: Blocked = filters[0].compute()
    return seen


def contains(seen: Filter, keys: Any) -> Any:
    """Whether each key of a Dask column may be in the filter: a column of booleans, made when it is computed."""
    shared = delayed(seen, pure=True)
    return keys.map_partitions(_contains, shared, meta=(keys.name, bool))


def dedupe(frame: Any, column: str, capacity: int, rate: float = 1e-6) -> Any:
    """The frame without rows whose key in the column came before in it.

    Rows are shuffled, so that equal keys are in one partition, each of which has a filter of its own in place of a set of
    keys. At the rate, a row that is the first of its key is dropped all the same.
    """
    shuffled = frame.shuffle(on=column)
    # Partitions are not of one size: hashes spread keys, but not evenly when there are few.
    share = capacity // shuffled.npartitions * 2 + 1000
    return shuffled.map_partitions(_dedupe, column, share, rate, meta=frame._meta)


def _part(keys: pd.Series, capacity: int, rate: float) -> Blocked:
    seen = Blocked(capacity, rate)
    seen.update(keys)
    return seen


def _join(left: Blocked, right: Blocked | None = None) -> Blocked:
    return left if right is None else left | right


def _contains(keys: pd.Series, seen: Filter) -> pd.Series:
    return pd.Series(seen.contains_many(keys), index=keys.index, name=keys.name, dtype=bool)


def _dedupe(rows: pd.DataFrame, column: str, capacity: int, rate: float) -> pd.DataFrame:
    return rows[Blocked(max(capacity, len(rows)), rate).add_many(rows[column])]
