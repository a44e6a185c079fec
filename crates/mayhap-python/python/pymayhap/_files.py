"""Filters in files: opened in place, changed under a lock, and built larger than memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, ClassVar, Self

from . import _pymayhap as _native
from ._kinds import _SECRET, Blocked
from ._pymayhap import Filter
from ._types import Path


class Opened(Filter):
    """A filter in a file, read-only: see `open`."""

    __slots__ = ("_path",)
    kind: ClassVar[str] = ""
    _path: str

    def __new__(cls, path: Path, *, secret: bytes | None = None) -> Self:
        opened = super().__new__(cls, _native.open_file(path, secret))
        opened._path = os.fspath(path)
        return opened

    def verify(self) -> None:
        """Compares every checksum: reads the whole file once. Raises `DamagedError`."""
        _native.verify(self)

    def close(self) -> None:
        """Closes the map. Raises `OSError` if the file was changed in place: answers since then may be wrong."""
        _native.close(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        # By its path: processes of one machine share the pages.
        return _reopen, (self._path,)


def _reopen(path: str) -> Opened:
    return Opened(path, secret=_SECRET.get())


def open(path: Path, *, secret: bytes | None = None) -> Opened:
    """Opens the filter in a file, of any kind and any format that Mayhap reads, to look up keys in it.

    A native file is mapped: opened at once, however large, and shared by processes. `Opened.verify` compares
    its checksums. Files of Guava, Spark, Parquet and DCSO are read into memory.

    The file may be replaced, as `save` and `edit` do, but not overwritten in place: `contains_many` and `close` raise
    `OSError` after that, and looking up a key in a file that was cut short ends the process, with a message.

    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/seen.mayhap"
    >>> seen = Blocked(1000)
    >>> seen.add("key")
    True
    >>> seen.save(path)
    >>> with open(path) as filter:
    ...     "key" in filter, "other" in filter
    (True, False)
    """
    return Opened(path, secret=secret)


@contextmanager
def edit(path: Path, *, secret: bytes | None = None, wait: bool = True) -> Iterator[Filter]:
    """Changes the filter in a file: loads it, and saves it in one step when the block ends without an exception.

    Only one process edits it at a time: others wait, or get `BlockingIOError` when `wait` is false. Whoever opens the file
    sees the old filter or the new one.

    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/seen.mayhap"
    >>> Blocked(1000).save(path)
    >>> with edit(path) as seen:
    ...     seen.add("key")
    True
    >>> "key" in open(path)
    True
    """
    lock = _native.FileLock(path, wait)
    try:
        filter = Filter.load(path, secret=secret)
        yield filter
        lock.save(filter)
    finally:
        lock.release()


class Build(Filter):
    """A filter that is built in its file: see `build`."""

    __slots__ = ()
    kind: ClassVar[str] = ""

    def __new__(
        cls,
        path: Path,
        capacity: int,
        rate: float = 0.01,
        *,
        kind: str = Blocked.kind,
        secret: bytes | None = None,
    ) -> Self:
        return super().__new__(cls, _native.build_file(path, kind, capacity, rate, secret))

    def checkpoint(self, progress: int) -> None:
        """Makes every key so far durable, together with a number of your own that says how far the work has come."""
        _native.checkpoint(self, progress)

    @property
    def progress(self) -> int:
        """The number that the last `checkpoint` was given; 0 before the first."""
        return _native.progress(self)

    def finish(self) -> None:
        """Replaces the file by the filter, in one step."""
        _native.finish(self)

    def close(self) -> None:
        """Leaves the build as it is; `build` with the same path continues it."""
        _native.close(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, error: type[BaseException] | None, _value: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if error is None:
            self.finish()
        else:
            self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a filter that is being built cannot be pickled: finish it, and open its file")


def build(
    path: Path, capacity: int, rate: float = 0.01, *, kind: str = Blocked.kind, secret: bytes | None = None
) -> Build:
    """Builds a filter in its file: larger than memory, and kept when the process is killed.

    The file is in place when the block ends. After an exception, or `kill -9`, the same call continues: keys added since
    the last `Build.checkpoint` may be there already, and adding them again changes nothing.

    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/seen.mayhap"
    >>> with build(path, capacity=1000) as seen:
    ...     seen.update(range(500))
    500
    >>> 499 in open(path)
    True
    """
    return Build(path, capacity, rate, kind=kind, secret=secret)


def discard(path: Path) -> None:
    """Removes what an unfinished `build` left; the file itself stays as it is."""
    _native.discard_build(path)
