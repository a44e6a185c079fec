"""The kinds of filters. Each class has its constructor; the methods are in `Filter`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, ClassVar, Literal, Self

from . import _pymayhap as _native
from ._pymayhap import Filter
from ._types import Key, Keys


class _Sized(Filter):
    """A filter that is made for a number of keys and a rate."""

    __slots__ = ()

    def __new__(cls, capacity: int, rate: float = 0.01, *, secret: bytes | None = None) -> Self:
        return super().__new__(cls, _native.make(cls.kind, capacity, rate, secret, is_shared=cls._shared))

    @classmethod
    def planned_bytes(cls, capacity: int, rate: float = 0.01) -> int:
        """The bytes that a filter for this capacity and rate would take.

        >>> Blocked.planned_bytes(1_000_000, 0.01)
        1242112
        """
        return _native.planned_bytes(cls.kind, capacity, rate)


class Blocked(_Sized):
    """The default: one cache line per key, and the fastest.

    >>> seen = Blocked(capacity=1_000_000, rate=0.01)
    >>> seen.add("https://example.org/")  # definitely new
    True
    >>> seen.add("https://example.org/")  # mayhap seen before
    False
    >>> "https://example.org/a" in seen  # certain
    False
    """

    __slots__ = ()
    kind: ClassVar[str] = "blocked"


class Bloom(_Sized):
    """The standard filter, in the bits of Guava, Spark, DCSO and others when a scheme is named.

    >>> guava = Bloom(1000, 0.01, scheme="guava64")
    >>> guava.add("key")
    True
    >>> len(guava.to_bytes("guava"))
    1206
    """

    __slots__ = ()
    kind: ClassVar[str] = "bloom"

    def __new__(
        cls, capacity: int, rate: float = 0.01, *, secret: bytes | None = None, scheme: str | None = None
    ) -> Self:
        made = _native.make(cls.kind, capacity, rate, secret, scheme, is_shared=cls._shared)
        return Filter.__new__(cls, made)


class SplitBlock(_Sized):
    """The filter of Parquet files. It has no secret: the hash is Parquet's.

    >>> column = SplitBlock(1000)
    >>> column.update(["a", "b", "a"])
    2
    """

    __slots__ = ()
    kind: ClassVar[str] = "split-block"


class AtomicBlocked(Blocked):
    """A `Blocked` that many threads add to at once, without waiting for each other.

    >>> seen = AtomicBlocked(1000)
    >>> seen.add("key"), seen.add("key")
    (True, False)
    """

    __slots__ = ()
    _shared: ClassVar[bool] = True


class AtomicBloom(Bloom):
    """A `Bloom` that many threads add to at once, without waiting for each other.

    >>> AtomicBloom(1000).add(7)
    True
    """

    __slots__ = ()
    _shared: ClassVar[bool] = True


class AtomicSplitBlock(SplitBlock):
    """A `SplitBlock` that many threads add to at once, without waiting for each other.

    >>> AtomicSplitBlock(1000).add(7)
    True
    """

    __slots__ = ()
    _shared: ClassVar[bool] = True


class Scalable(_Sized):
    """Grows with its keys: the capacity is only where it starts.

    >>> seen = Scalable(capacity=100)
    >>> seen.update(range(10_000)) > 9_000
    True
    """

    __slots__ = ()
    kind: ClassVar[str] = "scalable"


class Windowed(_Sized):
    """Forgets old keys: remembers the last `capacity` keys, or those of the last generations.

    >>> lately = Windowed(1000)
    >>> _ = lately.update(range(5000))
    >>> all(lately.contains_many(list(range(4000, 5000))))
    True
    >>> lately.contains_many(list(range(1000))).count(True) < 60
    True

    With ``rotation="caller"`` a generation ends when you say so; a key is remembered for three more.

    >>> hours = Windowed(1000, rotation="caller")
    >>> hours.rotate_to(100)
    >>> hours.add("key")
    True
    >>> hours.rotate_to(103)
    >>> "key" in hours
    True
    >>> hours.rotate_to(104)
    >>> "key" in hours
    False
    """

    __slots__ = ()
    kind: ClassVar[str] = "windowed"

    def __new__(
        cls,
        capacity: int,
        rate: float = 0.01,
        *,
        secret: bytes | None = None,
        rotation: Literal["keys", "caller"] = "keys",
    ) -> Self:
        if rotation == "caller":
            return Filter.__new__(cls, _native.make_timed(capacity, rate, secret))
        if rotation != "keys":
            raise ValueError(f'rotation is {rotation!r}; expected "keys" or "caller"')
        return super().__new__(cls, capacity, rate, secret=secret)

    def rotate(self) -> None:
        """Begins the next generation."""
        _native.rotate(self)

    def rotate_to(self, generation: int) -> None:
        """Begins this generation, if it is later than the one now."""
        _native.rotate(self, generation)

    @property
    def generation(self) -> int:
        """The number of the generation now."""
        return _native.generation(self)


class Counting(_Sized):
    """Keys can be removed again. Remove only keys that were added: removing another one removes bits of others.

    >>> here = Counting(1000)
    >>> here.add("key"), here.remove("key"), "key" in here
    (True, True, False)
    """

    __slots__ = ()
    kind: ClassVar[str] = "counting"

    def remove(self, key: Key) -> bool:
        """Removes a key once; returns False when it was certainly not there, and nothing changed."""
        return _native.remove(self, key)


class Cuckoo(_Sized):
    """Keys can be removed again, in a third of the memory of `Counting`, and it grows. Remove only keys that were added.

    >>> here = Cuckoo(1000)
    >>> here.add("key"), here.count("key"), here.remove("key"), "key" in here
    (True, 1, True, False)
    """

    __slots__ = ()
    kind: ClassVar[str] = "cuckoo"

    def remove(self, key: Key) -> bool:
        """Removes a key once; returns False when it was certainly not there, and nothing changed."""
        return _native.remove(self, key)

    def count(self, key: Key) -> int:
        """Returns how often the key was added: never too low."""
        return _native.count(self, key)


class Spectral(_Sized):
    """Counts how often each key was added: never too low.

    >>> words = Spectral(1000)
    >>> for word in "to be or not to be".split():
    ...     _ = words.add(word)
    >>> words.count("be"), words.count("question")
    (2, 0)
    """

    __slots__ = ()
    kind: ClassVar[str] = "spectral"

    def remove(self, key: Key) -> bool:
        """Removes a key once; returns False when it was certainly not there, and nothing changed."""
        return _native.remove(self, key)

    def count(self, key: Key) -> int:
        """Returns how often the key was added."""
        return _native.count(self, key)


class Shifting(_Sized):
    """A `Bloom` with half the memory reads.

    >>> Shifting(1000).add("key")
    True
    """

    __slots__ = ()
    kind: ClassVar[str] = "shifting"


class Spatial(_Sized):
    """Finds which of many areas a key is in.

    >>> shops = Spatial(1000, areas=16)
    >>> shops.add_area("cheese", 3)
    >>> shops.area("cheese"), shops.area("hammer")
    (3, None)
    """

    __slots__ = ()
    kind: ClassVar[str] = "spatial"

    def __new__(
        cls, capacity: int, rate: float = 0.01, *, areas: int = 255, secret: bytes | None = None
    ) -> Self:
        return Filter.__new__(cls, _native.make(cls.kind, capacity, rate, secret, option=areas))

    def add_area(self, key: Key, area: int) -> int | None:
        """Adds a key of an area, from 1 on; returns the area it had before, None if it had none."""
        return _native.add_area(self, key, area)

    def area(self, key: Key) -> int | None:
        """Returns the area of a key: None is certain, an area is mayhap."""
        return _native.area(self, key)


class Guarded(_Sized):
    """A `Blocked` with a list of keys that are known not to be in it.

    >>> seen = Guarded(1000)
    >>> _ = seen.update(range(1000))
    >>> wrong = next(key for key in range(1000, 10**6) if key in seen)
    >>> seen.report_false_positive(wrong), wrong in seen
    (True, False)
    """

    __slots__ = ()
    kind: ClassVar[str] = "guarded"

    def report_false_positive(self, key: Key) -> bool:
        """Lists a key that is found but was never added; returns False if it was not found anyway."""
        return _native.report_false_positive(self, key)


class Fuse(Filter):
    """Small and fast, for keys that never change: it is built once from all of them.

    >>> words = Fuse(["to", "be", "or", "not"], rate=0.01)
    >>> "be" in words
    True
    >>> words.add("question")
    Traceback (most recent call last):
    TypeError: a fuse filter cannot insert keys one by one; it is built once from all its keys
    """

    __slots__ = ()
    kind: ClassVar[str] = "fuse"

    def __new__(cls, keys: Keys, rate: float = 0.01, *, secret: bytes | None = None) -> Self:
        return super().__new__(cls, _native.make_of(cls.kind, keys, rate, secret))


class Ribbon(Filter):
    """The smallest, for keys that never change: it is built once from all of them.

    >>> 7 in Ribbon(range(1000), rate=0.001)
    True
    """

    __slots__ = ()
    kind: ClassVar[str] = "ribbon"

    def __new__(cls, keys: Keys, rate: float = 0.01, *, secret: bytes | None = None) -> Self:
        return super().__new__(cls, _native.make_of(cls.kind, keys, rate, secret))


class Cascade(Filter):
    """Exact for two known sets of keys: finds which of them a key is in. Look up only keys of these sets.

    >>> revoked = Cascade(included=["cert 3"], excluded=[f"cert {i}" for i in range(100) if i != 3])
    >>> "cert 3" in revoked, "cert 4" in revoked
    (True, False)
    """

    __slots__ = ()
    kind: ClassVar[str] = "cascade"

    def __new__(cls, included: Keys, excluded: Keys, *, secret: bytes | None = None) -> Self:
        return super().__new__(cls, _native.make_of_two(cls.kind, included, excluded, 0.5, secret))


class ShiftingAssociation(Filter):
    """Finds which of two sets a key is in; built once.

    >>> sides = ShiftingAssociation(first=["a", "b"], second=["b", "c"], rate=0.001)
    >>> sides.regions("a"), sides.regions("b"), sides.regions("z")
    ({'first'}, {'both'}, set())
    """

    __slots__ = ()
    kind: ClassVar[str] = "shifting-association"

    def __new__(cls, first: Keys, second: Keys, rate: float = 0.01) -> Self:
        return super().__new__(cls, _native.make_of_two(cls.kind, first, second, rate))

    def regions(self, key: Key) -> set[str]:
        """Returns where the key may be: in the `first` set alone, the `second` alone, or `both`. The true one is among them."""
        names = ("first", "second", "both")
        return {name for name, is_in in zip(names, _native.regions(self, key)) if is_in}


class ShiftingMultiplicity(Filter):
    """Counts how often a key occurs, up to 57 times; built once.

    >>> words = ShiftingMultiplicity("to be or not to be".split(), rate=0.001)
    >>> words.count("be"), words.count("question")
    (2, 0)
    """

    __slots__ = ()
    kind: ClassVar[str] = "shifting-multiplicity"

    def __new__(cls, keys: Keys, rate: float = 0.01) -> Self:
        return super().__new__(cls, _native.make_of(cls.kind, keys, rate))

    def count(self, key: Key) -> int:
        """Returns how often the key occurs."""
        return _native.count(self, key)


#: The class of each kind, by its name in files and in the command.
CLASSES: dict[str, type[Filter]] = {
    each.kind: each
    for each in (
        Bloom, Blocked, SplitBlock, Counting, Spectral, Shifting, ShiftingAssociation, ShiftingMultiplicity,
        Spatial, Scalable, Windowed, Fuse, Guarded, Cascade, Ribbon,
        Cuckoo,
    )
}  # fmt: skip

_SECRET: ContextVar[bytes | None] = ContextVar("pymayhap_secret", default=None)


@contextmanager
def unlock(secret: bytes) -> Iterator[None]:
    """Provides the secret for filters that are unpickled in the block: a pickle never contains one.

    >>> import pickle
    >>> seen = Blocked(1000, secret=b"sixteen letters!")
    >>> data = pickle.dumps(seen)
    >>> with unlock(b"sixteen letters!"):
    ...     pickle.loads(data) == seen
    True
    """
    token = _SECRET.set(secret)
    try:
        yield
    finally:
        _SECRET.reset(token)


def _restore(cls: type[Filter], data: Any) -> Filter:
    """Restores a filter from a pickle."""
    if not (isinstance(cls, type) and issubclass(cls, Filter)):
        raise TypeError(f"a pickle of a filter names the class {cls!r}; expected one of pymayhap")
    return cls.from_bytes(data, secret=_SECRET.get())
