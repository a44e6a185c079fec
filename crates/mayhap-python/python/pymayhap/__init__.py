"""Sets that fit in memory: *have I seen this key before?*

A filter answers no, which is certain, or mayhap: yes, except for a small rate of false positives that you choose. It takes
a few bits per key, however long the keys are.

>>> from pymayhap import Blocked
>>> seen = Blocked(capacity=1_000_000, rate=0.01)
>>> [url for url in ["/a", "/b", "/a"] if seen.add(url)]
['/a', '/b']

Keys are `str` (their UTF-8), `bytes`, and `int` of 64 bits; the same key is the same bits here, in Rust, and in the command
`mayhap`. Many keys at once are a list, an iterable, a NumPy array, or an Arrow column of any library.
"""

from ._files import Build, Opened, build, discard, edit, open
from ._kinds import (
    AtomicBlocked,
    AtomicBloom,
    AtomicSplitBlock,
    Blocked,
    Bloom,
    Cascade,
    Counting,
    Cuckoo,
    Fuse,
    Guarded,
    Ribbon,
    Scalable,
    Shifting,
    ShiftingAssociation,
    ShiftingMultiplicity,
    Spatial,
    Spectral,
    SplitBlock,
    Windowed,
    unlock,
)
from ._pymayhap import NULL, CapacityWarning, DamagedError, Filter, Stats, fields
from ._redis import AsyncRedisFilter, RedisFilter, RedisRebuild

__all__ = [
    "NULL",
    "AsyncRedisFilter",
    "AtomicBlocked",
    "AtomicBloom",
    "AtomicSplitBlock",
    "Blocked",
    "Bloom",
    "Build",
    "CapacityWarning",
    "Cascade",
    "Counting",
    "Cuckoo",
    "DamagedError",
    "Filter",
    "Fuse",
    "Guarded",
    "Opened",
    "RedisFilter",
    "RedisRebuild",
    "Ribbon",
    "Scalable",
    "Shifting",
    "ShiftingAssociation",
    "ShiftingMultiplicity",
    "Spatial",
    "Spectral",
    "SplitBlock",
    "Stats",
    "Windowed",
    "build",
    "discard",
    "edit",
    "fields",
    "open",
    "unlock",
]
