"""Filters on a Ray cluster: built where the blocks are, joined in a tree, and looked up where the data is.

    import pymayhap.ray
    seen = pymayhap.ray.build(dataset, "url", capacity=1_000_000)
    pymayhap.ray.contains(seen, dataset, "url")             # the dataset with a column `found`
    pymayhap.ray.dedupe(dataset, "url", capacity=1_000_000)

All work is in tasks that depend only on their arguments, so Ray repeats those of a worker that dies. Columns stay in Arrow.
Nulls are one more key; ``nulls="keep"`` and ``nulls="drop"`` keep or drop all their rows.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import ray
import ray.data

from ._kinds import Blocked, Scalable
from ._pymayhap import Filter
from ._pymayhap import parts as parts_of
from ._types import Nulls


def build(dataset: Any, column: str, capacity: int, rate: float = 0.01, *, nulls: Nulls = "one") -> Blocked:
    """Builds the filter of a column of a Ray dataset: one per core, joined two by two on the workers.

    The capacity is that of the whole dataset: all parts have filters of the same size, or they could not be joined.
    """
    blocks = dataset.select_columns([column]).to_arrow_refs()
    if not blocks:
        return Blocked(capacity, rate)
    filters = [_part.remote(column, capacity, rate, nulls, *share) for share in _shares(blocks)]
    while len(filters) > 1:
        pairs = (filters[at : at + 2] for at in range(0, len(filters), 2))
        filters = [_join.remote(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
    seen: Blocked = ray.get(filters[0])
    return seen


def contains(seen: Filter, dataset: Any, column: str, found: str = "found", *, nulls: Nulls = "one") -> Any:
    """Adds a column that is True where the key may be in the filter, which is sent to every worker once."""
    shared = [ray.put(seen)]
    return dataset.map_batches(_contains, fn_args=[shared, column, found, nulls], batch_format="pyarrow")


def dedupe(dataset: Any, column: str, capacity: int, rate: float = 1e-6, *, nulls: Nulls = "one") -> Any:
    """Keeps one row of each key in the column.

    Rows are shuffled, so that equal keys are in one part. Each part has a filter of its own instead of a set of keys: for
    its share of the capacity, or for its rows if those are fewer; with more keys it grows. At the given rate, the first row
    of a key is dropped too.
    """
    blocks = dataset.to_arrow_refs()
    parts = len(_shares(blocks))
    # Hashes do not spread keys quite evenly.
    share = capacity // max(parts, 1) * 21 // 20 + 1000
    split: Any = _split.options(num_returns=parts).remote if parts > 1 else _whole
    pieces: list[Any] = [split(block, column, parts) for block in blocks]
    kept = [_dedupe.remote(column, share, rate, nulls, *(piece[part] for piece in pieces)) for part in range(parts)]
    return ray.data.from_arrow_refs(kept)


def _shares(blocks: Sequence[Any]) -> list[list[Any]]:
    """Divides the blocks among the cores of the cluster."""
    cluster: Any = ray
    cores = max(int(cluster.cluster_resources().get("CPU", 1)), 1)
    return [list(blocks[first::cores]) for first in range(min(cores, len(blocks)))]


@ray.remote
def _part(column: str, capacity: int, rate: float, nulls: Nulls, *tables: pa.Table) -> Blocked:
    seen = Blocked(capacity, rate)
    seen.update(*(table.column(column) for table in tables), nulls=nulls)
    return seen


@ray.remote
def _join(left: Blocked, right: Blocked) -> Blocked:
    return left | right


@functools.lru_cache(maxsize=1)
def _fetched(shared: Any) -> Filter:
    """Fetches the filter once per worker, not once per batch."""
    seen: Filter = ray.get(shared)
    return seen


def _contains(batch: pa.Table, shared: list[Any], column: str, found: str, nulls: Nulls) -> pa.Table:
    seen = _fetched(shared[0])
    return batch.append_column(found, seen.contains_many(batch.column(column), nulls=nulls))


def _whole(block: Any, column: str, parts: int) -> list[Any]:
    """Returns a block that is the only part."""
    return [block]


@ray.remote
def _split(table: pa.Table, column: str, parts: int) -> list[pa.Table]:
    part = parts_of(table.column(column), parts)
    return [table.take(np.flatnonzero(part == number)) for number in range(parts)]


@ray.remote
def _dedupe(column: str, share: int, rate: float, nulls: Nulls, *tables: pa.Table) -> pa.Table:
    seen = Scalable(max(min(sum(map(len, tables)), share), 1), rate)
    kept = [table.filter(seen.add_many(table.column(column), nulls=nulls)) for table in tables]
    # A block whose keys are all null may have the type null.
    return pa.concat_tables(kept, promote_options="permissive")
