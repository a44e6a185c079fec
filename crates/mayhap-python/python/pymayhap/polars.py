"""Filters in Polars expressions: importing this module gives expressions the namespace `mh`.

>>> import polars as pl
>>> import pymayhap.polars
>>> seen = pymayhap.Blocked(1000)
>>> frame = pl.DataFrame({"url": ["/a", "/b", "/a"]})
>>> frame.filter(pl.col("url").mh.is_new(seen))["url"].to_list()
['/a', '/b']
>>> frame.select(pl.col("url").mh.is_in(seen))["url"].to_list()
[True, True, True]

Nulls are one more key, as in `unique()`; the mask is True for each of them with ``nulls="keep"``, False with ``nulls="drop"``.
"""

from __future__ import annotations

import polars as pl

from ._pymayhap import Filter
from ._types import Nulls


@pl.api.register_expr_namespace("mh")
class MayhapExpr:
    """Lookup and insertion of the keys in a column."""

    def __init__(self, expr: pl.Expr) -> None:
        self._expr = expr

    def is_in(self, filter: Filter, *, nulls: Nulls = "one") -> pl.Expr:
        """Looks up each key; True where it may be in the filter."""
        return self._expr.map_batches(
            lambda keys: filter.contains_many(keys, nulls=nulls).alias(keys.name),
            return_dtype=pl.Boolean,
            is_elementwise=True,
        )

    def is_new(self, filter: Filter, *, nulls: Nulls = "one") -> pl.Expr:
        """Inserts each key; True where it was definitely not in the filter before.

        Rows are taken in the order in which Polars gives them: of equal keys in one column the first is new.
        """
        return self._expr.map_batches(
            lambda keys: filter.add_many(keys, nulls=nulls).alias(keys.name),
            return_dtype=pl.Boolean,
            is_elementwise=False,
        )
