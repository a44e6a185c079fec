"""Filters on a Ray cluster: built where the blocks are, joined in a tree, and asked where the data are.

    import pymayhap.ray
    seen = pymayhap.ray.build(dataset, "url", capacity=1_000_000)
    pymayhap.ray.contains(seen, dataset, "url")             # the dataset with a column `found`
    pymayhap.ray.dedupe(dataset, "url", capacity=1_000_000)

All work is in tasks that depend on nothing but what they are given, so Ray repeats those of a worker that dies.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import ray
import ray.data

from ._kinds import Blocked
from ._pymayhap import Filter


def build(dataset: Any, column: str, capacity: int, rate: float = 0.01) -> Blocked:
    """The filter of a column of a Ray dataset: one per core, joined two by two on the workers.

    The capacity is that of the whole dataset: all parts have filters of the same size, or they could not be joined.
    """
    blocks = dataset.select_columns([column]).to_arrow_refs()
    if not blocks:
        return Blocked(capacity, rate)
    filters = [_part.remote(column, capacity, rate, *share) for share in _shares(blocks)]
    while len(filters) > 1:
        pairs = (filters[at : at + 2] for at in range(0, len(filters), 2))
        filters = [_join.remote(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
    seen: Blocked = ray.get(filters[0])
    return seen


def contains(seen: Filter, dataset: Any, column: str, found: str = "found") -> Any:
    """The dataset with a column that says whether each key may be in the filter, which goes to every worker once."""
    shared = [ray.put(seen)]
    return dataset.map_batches(_contains, fn_args=[shared, column, found], batch_format="pyarrow")


def dedupe(dataset: Any, column: str, capacity: int, rate: float = 1e-6) -> Any:
    """The dataset without rows whose key in the column is that of another row.

    Rows are shuffled, so that equal keys are in one part, each of which has a filter of its own instead of a set of keys.
    At the rate, a row that is the first of its key is dropped all the same.
    """
    blocks = dataset.to_arrow_refs()
    parts = len(_shares(blocks))
    # Parts are not of one size: hashes spread keys, but not evenly when there are few.
    share = capacity // max(parts, 1) * 2 + 1000
    split: Any = _split.options(num_returns=parts).remote if parts > 1 else _whole
    pieces: list[Any] = [split(block, column, parts) for block in blocks]
    kept = [_dedupe.remote(column, share, rate, *(piece[part] for piece in pieces)) for part in range(parts)]
    return ray.data.from_arrow_refs(kept)


def _shares(blocks: Sequence[Any]) -> list[list[Any]]:
    """The blocks, shared among the cores of the cluster."""
    cluster: Any = ray
    cores = max(int(cluster.cluster_resources().get("CPU", 1)), 1)
    return [list(blocks[first::cores]) for first in range(min(cores, len(blocks)))]


@ray.remote
def _part(column: str, capacity: int, rate: float, *tables: pa.Table) -> Blocked:
    seen = Blocked(capacity, rate)
    seen.update(*(table.column(column) for table in tables))
    return seen


@ray.remote
def _join(left: Blocked, right: Blocked) -> Blocked:
    return left | right


@functools.lru_cache(maxsize=1)
def _fetched(shared: Any) -> Filter:
    """The filter, once per worker and not once per batch."""
    seen: Filter = ray.get(shared)
    return seen


def _contains(batch: pa.Table, shared: list[Any], column: str, found: str) -> pa.Table:
    seen = _fetched(shared[0])
    return batch.append_column(found, pa.array(seen.contains_many(batch.column(column)), pa.bool_()))


def _whole(block: Any, column: str, parts: int) -> list[Any]:
    """A block that is a part by itself."""
    return [block]


@ray.remote
def _split(table: pa.Table, column: str, parts: int) -> list[pa.Table]:
    keys = table.column(column).to_pandas().to_numpy()
    part = pd.util.hash_array(keys, categorize=False) % parts
    return [table.take(np.flatnonzero(part == number)) for number in range(parts)]


@ray.remote
def _dedupe(column: str, capacity: int, rate: float, *tables: pa.Table) -> pa.Table:
    rows = pa.concat_tables(tables)
    return rows.filter(Blocked(max(capacity, len(rows)), rate).add_many(rows.column(column)))
