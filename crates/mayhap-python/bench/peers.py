"""Filters of Python beside each other: nanoseconds per key, the least of alternated runs.

    python bench/python/peers.py [KEYS] [RUNS]

Peers that are not installed are left out. Runs alternate between all, so that noise of the machine meets each alike.
"""

from __future__ import annotations

import gc
import sys
import time
from collections import defaultdict

import pymayhap

KEYS = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
RUNS = int(sys.argv[2]) if len(sys.argv) > 2 else 5


def peers():
    """Each peer's name and how its filter is made."""
    yield "pymayhap Blocked", lambda: pymayhap.Blocked(KEYS, 0.01)
    try:
        import abloom

        yield "abloom serializable", lambda: abloom.BloomFilter(KEYS, 0.01, serializable=True)
        yield "abloom default", lambda: abloom.BloomFilter(KEYS, 0.01)
    except ImportError:
        pass
    try:
        import rbloom

        yield "rbloom", lambda: rbloom.Bloom(KEYS, 0.01)
    except ImportError:
        pass
    try:
        import fastbloom_rs

        yield "fastbloom-rs", lambda: fastbloom_rs.BloomFilter(KEYS, 0.01)
    except ImportError:
        pass
    yield "set", set


def timed(work) -> float:
    gc.collect()
    gc.disable()
    start = time.perf_counter()
    work()
    took = time.perf_counter() - start
    gc.enable()
    return took / KEYS * 1e9


def add_each(add, keys):
    for key in keys:
        add(key)


def ask_each(seen, keys):
    for key in keys:
        key in seen  # noqa: B015


def main() -> None:
    # Made in another order than they are asked in, as keys are that come from elsewhere.
    texts = [f"https://example.org/{i}" for i in range(KEYS)]
    absent_texts = [f"https://example.com/{i}" for i in range(KEYS)]
    numbers = [i * 7919 for i in range(KEYS)]
    absent_numbers = [i * 7919 + 1 for i in range(KEYS)]
    least: dict[tuple[str, str], float] = defaultdict(lambda: float("inf"))

    def note(name, what, work):
        least[name, what] = min(least[name, what], timed(work))

    for _ in range(RUNS):
        for name, make in peers():
            seen = make()
            note(name, "add(str)", lambda: add_each(seen.add, texts))
            note(name, "str hit", lambda: ask_each(seen, texts))
            note(name, "str miss", lambda: ask_each(seen, absent_texts))
            seen = make()
            if hasattr(seen, "update"):
                note(name, "update(str)", lambda: seen.update(texts))
            seen = make()
            note(name, "add(int)", lambda: add_each(seen.add, numbers))
            note(name, "int hit", lambda: ask_each(seen, numbers))
            note(name, "int miss", lambda: ask_each(seen, absent_numbers))
    columns(note, texts, numbers)

    whats = ["add(str)", "update(str)", "str hit", "str miss", "add(int)", "int hit", "int miss"]
    names = list(dict.fromkeys(name for name, _ in least))
    print(f"{KEYS} keys, ns per key, least of {RUNS}")
    print(" " * 22 + "".join(f"{what:>12}" for what in whats))
    for name in names:
        row = [least.get((name, what)) for what in whats]
        if any(row):
            print(f"{name:22}" + "".join(f"{value:12.1f}" if value else f"{'-':>12}" for value in row))
    print("\ncolumns" + " " * 15 + "".join(f"{what:>16}" for what in COLUMNS))
    for name in names:
        row = [least.get((name, what)) for what in COLUMNS]
        if any(row):
            print(f"{name:22}" + "".join(f"{value:16.1f}" if value else f"{'-':>16}" for value in row))


COLUMNS = ["update", "contains_many", "add_many"]


def columns(note, texts, numbers) -> None:
    import numpy
    import pyarrow as pa

    sources = {
        "NumPy int64": numpy.array(numbers),
        "NumPy int32": numpy.arange(KEYS, dtype="i4"),
        "Arrow int64": pa.array(numbers),
        "Arrow string": pa.array(texts),
        "Arrow large_string": pa.array(texts, type=pa.large_string()),
        "Arrow string_view": pa.array(texts, type=pa.string_view()),
        "list[str]": texts,
        "list[int]": numbers,
    }
    for _ in range(RUNS):
        for name, column in sources.items():
            seen = pymayhap.Blocked(KEYS, 0.01)
            note(name, "update", lambda: seen.update(column))
            note(name, "contains_many", lambda: seen.contains_many(column))
            seen = pymayhap.Blocked(KEYS, 0.01)
            note(name, "add_many", lambda: seen.add_many(column))


if __name__ == "__main__":
    main()
