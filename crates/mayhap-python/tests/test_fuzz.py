"""Files and pickles that were changed at random: an exception, or a filter, and never a crash."""

from __future__ import annotations

import os
import pickle
import random

import pymayhap
import pytest
from conftest import FIXED, GROWING, filled

#: Changed pickles, bytes and files: few, to keep the suite short; more by `MAYHAP_FUZZ=100000`.
ROUNDS = int(os.environ.get("MAYHAP_FUZZ", "4000"))
EXPECTED = (ValueError, TypeError, OSError, MemoryError, EOFError, KeyError, IndexError, AttributeError, ImportError,
            BufferError, OverflowError, UnicodeError, pickle.UnpicklingError)  # fmt: skip


@pytest.fixture
def bounded_memory():
    """A gigabyte more than now: Python's own unpickler takes the memory that a number in the pickle names."""
    resource = pytest.importorskip("resource", reason="SKIPPED: limits of memory are of Unix")
    with open("/proc/self/statm") as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (now + (1 << 30), hard))
    yield
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def mutated(data: bytes, rng: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 8))):
        at = rng.randrange(len(changed)) if rng.random() < 0.3 else rng.randrange(min(len(changed), 160))
        match rng.randrange(5):
            case 0:
                changed[at] ^= 1 << rng.randrange(8)
            case 1:
                changed[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF))
            case 2:
                del changed[at : at + rng.randrange(1, 64)]
            case 3:
                changed[at:at] = rng.randbytes(rng.randrange(1, 16))
            case 4:
                del changed[max(at, 1) :]
        if not changed:
            return b"\0"
    return bytes(changed)


def use(seen: pymayhap.Filter) -> None:
    """Whatever was read is a filter, which answers."""
    seen.contains_many(["key", "other"])
    "key" in seen, repr(seen), seen.to_bytes()


def samples() -> list[bytes]:
    native = [filled(cls, list(range(20)), 20).to_bytes() for cls in GROWING + FIXED]
    foreign = [("guava64", "guava"), ("spark1", "spark"), ("spark2", "spark"), ("dcso", "dcso")]
    others = [pymayhap.Bloom(20, scheme=scheme).to_bytes(format) for scheme, format in foreign]
    return [*native, *others, pymayhap.SplitBlock(20).to_bytes("parquet")]


def test_changed_bytes_are_refused_or_a_filter(bounded_memory):
    rng, originals, refused = random.Random(1), samples(), 0
    for _ in range(ROUNDS):
        try:
            use(pymayhap.Filter.from_bytes(mutated(rng.choice(originals), rng)))
        except (ValueError, TypeError, MemoryError):
            refused += 1
    assert refused > ROUNDS // 2


def test_changed_pickles_are_refused_or_a_filter(bounded_memory):
    rng, refused = random.Random(2), 0
    originals = [pickle.dumps(filled(cls, list(range(20)), 20)) for cls in GROWING + FIXED]
    for _ in range(ROUNDS):
        data = mutated(rng.choice(originals), rng)
        try:
            seen = pickle.loads(data)
            if isinstance(seen, pymayhap.Filter):
                use(seen)
        except EXPECTED:
            refused += 1
    assert refused > ROUNDS // 2


def test_changed_files_are_refused_or_a_filter(tmp_path, bounded_memory):
    rng, originals, path = random.Random(3), samples(), tmp_path / "changed"
    for _ in range(ROUNDS):
        path.write_bytes(mutated(rng.choice(originals), rng))
        try:
            with pymayhap.open(path) as seen:
                use(seen)
                seen.verify()
        except (ValueError, TypeError, MemoryError):
            pass


def test_a_pickle_that_names_another_class_is_refused():
    class Evil:
        def __reduce__(self):
            return pymayhap._kinds._restore, (str, b"")

    with pytest.raises(TypeError, match="names the class"):
        pickle.loads(pickle.dumps(Evil()))
