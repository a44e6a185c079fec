"""Types of arguments: one key, many keys, the treatment of nulls, and the path of a file."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Literal, Protocol, SupportsIndex, TypeAlias


class ArrowArray(Protocol):
    """A column in one piece, of a library that speaks Arrow."""

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...


class ArrowStream(Protocol):
    """A column in pieces, of a library that speaks Arrow."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


Key: TypeAlias = str | bytes | bytearray | memoryview | SupportsIndex
Keys: TypeAlias = Iterable[Key] | ArrowArray | ArrowStream
Nulls: TypeAlias = Literal["keep", "one", "drop"]
Path: TypeAlias = str | os.PathLike[str]
