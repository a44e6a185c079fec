"""Filters of Python beside each other: nanoseconds of CPU per key, the least of alternated runs, and memory.

    cargo build --release --manifest-path crates/mayhap-python/Cargo.toml --example batch --target-dir target/python/cargo
    python crates/mayhap-python/bench/peers.py [KEYS …] [--runs N] [--columns]

Peers that are not installed are left out: pip install abloom rbloom fastbloom-rs poppy-py pybloomfiltermmap3 pybloom-live.
Runs alternate between all, so that noise of the machine meets each alike. The time is that of the thread, which leaves out
what other programs take. The program `batch` does in Rust what columns do here, and is left out where it is not built;
`--columns` measures nothing else.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pymayhap

SINGLE = ["add(str)", "str hit", "str miss", "add(int)", "int hit", "int miss", "update(str)", "update(int)"]
COLUMNS = ["update", "contains_many", "add_many"]
#: Keys that peers of more than a microsecond per key are given.
FEW = 200_000
OURS = "pymayhap Blocked"
#: The program that measures columns in Rust alone.
BATCH = Path(__file__).resolve().parents[3] / "target/python/cargo/release/examples/batch"

#: Each peer's name, its module, how its filter is made, and whether it is given few keys.
PEERS: list[tuple[str, str, Callable[[Any, int], Any], bool]] = [
    (OURS, "pymayhap", lambda module, keys: module.Blocked(keys, 0.01), False),
    ("pymayhap AtomicBlocked", "pymayhap", lambda module, keys: module.AtomicBlocked(keys, 0.01), False),
    ("abloom serializable", "abloom", lambda module, keys: module.BloomFilter(keys, 0.01, serializable=True), False),
    ("abloom (hash())", "abloom", lambda module, keys: module.BloomFilter(keys, 0.01), False),
    ("rbloom (hash())", "rbloom", lambda module, keys: module.Bloom(keys, 0.01), False),
    ("poppy-py", "poppy", lambda module, keys: module.BloomFilter(keys, 0.01), False),
    ("fastbloom-rs", "fastbloom_rs", lambda module, keys: module.BloomFilter(keys, 0.01), False),
    ("pybloomfiltermmap3", "pybloomfilter", lambda module, keys: module.BloomFilter(keys, 0.01), False),
    ("pybloom-live", "pybloom_live", lambda module, keys: module.BloomFilter(keys, 0.01), True),
    ("set", "builtins", lambda module, keys: module.set(), False),
]


def peers() -> Iterator[tuple[str, Callable[[int], Any], bool]]:
    """The peers that are installed."""
    for name, module, make, is_slow in PEERS:
        try:
            found = importlib.import_module(module)
        except ImportError:
            continue
        yield name, lambda keys, make=make, found=found: make(found, keys), is_slow


def timed(work: Callable[[], Any], keys: int) -> float:
    gc.collect()
    gc.disable()
    start = time.thread_time()
    work()
    took = time.thread_time() - start
    gc.enable()
    return took / keys * 1e9


def add_each(add: Callable[[Any], Any], keys: list[Any]) -> None:
    for key in keys:
        add(key)


def ask_each(seen: Any, keys: list[Any]) -> None:
    for key in keys:
        key in seen  # noqa: B015


Least = dict[tuple[str, str], float]


def measure(keys: int, runs: int, only_columns: bool) -> Least:
    least: Least = defaultdict(lambda: float("inf"))
    of_type = {
        "str": ([f"https://example.org/{i}" for i in range(keys)], [f"https://example.com/{i}" for i in range(keys)]),
        "int": ([i * 7919 for i in range(keys)], [i * 7919 + 1 for i in range(keys)]),
    }

    def note(name: str, what: str, work: Callable[[], Any], count: int) -> None:
        try:
            least[name, what] = min(least[name, what], timed(work, count))
        except TypeError:
            pass  # a peer that does not take such keys

    for _ in range(0 if only_columns else runs):
        for name, make, is_slow in peers():
            count = FEW if is_slow else keys
            for type_, (present, absent) in of_type.items():
                present, absent = present[:count], absent[:count]
                seen = make(keys)
                add = getattr(seen, "add", None) or seen.insert_str
                note(name, f"add({type_})", lambda: add_each(add, present), len(present))
                for what, asked in (("hit", present), ("miss", absent)):
                    if hasattr(seen, "__contains__"):
                        note(name, f"{type_} {what}", lambda: ask_each(seen, asked), len(asked))
                    else:
                        contains = getattr(seen, "contains", None) or seen.contains_str
                        note(name, f"{type_} {what}", lambda: add_each(contains, asked), len(asked))
                seen = make(keys)
                if hasattr(seen, "update"):
                    note(name, f"update({type_})", lambda: seen.update(present), len(present))
    columns(note, least, runs, of_type["str"][0], of_type["int"][0])
    return least


def in_rust(keys: int, least: Least) -> None:
    """Measures the same columns in Rust alone."""
    if not BATCH.exists():
        return
    done = subprocess.run([str(BATCH), str(keys), "10"], capture_output=True, text=True, check=True)
    for line in done.stdout.splitlines():
        column, what, took = line.split()
        name = f"Rust {column}"
        least[name, what] = min(least[name, what], float(took))


def columns(note: Callable[..., None], least: Least, runs: int, texts: list[str], numbers: list[int]) -> None:
    try:
        import numpy
        import pyarrow as pa
    except ImportError:
        return
    keys = len(texts)
    sources = {
        "NumPy int64": numpy.array(numbers),
        "NumPy int32": numpy.arange(keys, dtype="i4"),
        "Arrow int64": pa.array(numbers),
        "Arrow string": pa.array(texts),
        "Arrow large_string": pa.array(texts, type=pa.large_string()),
        "Arrow string_view": pa.array(texts, type=pa.string_view()),
        "list[str]": texts,
        "list[int]": numbers,
    }
    for _ in range(runs):
        in_rust(keys, least)
        for name, column in sources.items():
            seen = pymayhap.Blocked(keys, 0.01)
            note(name, "update", lambda: seen.update(column), keys)
            note(name, "contains_many", lambda: seen.contains_many(column), keys)
            seen = pymayhap.Blocked(keys, 0.01)
            note(name, "add_many", lambda: seen.add_many(column), keys)


def shown(least: Least, whats: list[str], width: int) -> None:
    names = list(dict.fromkeys(name for name, _ in least))
    print(" " * 24 + "".join(f"{what:>{width}}" for what in whats))
    for name in names:
        row = [least.get((name, what), float("inf")) for what in whats]
        if min(row) < float("inf"):
            cells = (f"{value:{width}.1f}" if value < float("inf") else f"{'-':>{width}}" for value in row)
            print(f"{name:24}" + "".join(cells))


def ratios(least: Least) -> None:
    """The time of each peer as a multiple of ours: above 1 it is slower."""
    print(f"\ntimes the time of {OURS}")
    others = [name for name in dict.fromkeys(name for name, _ in least) if name != OURS]
    divided = {
        (name, what): value / least[OURS, what]
        for (name, what), value in least.items()
        if name in others and what in SINGLE and value < float("inf") and (OURS, what) in least
    }
    shown(divided, SINGLE, 12)


MEMORY = """
import pymayhap
def resident():
    fields = dict(line.split(":") for line in open("/proc/self/status") if line.startswith("VmRSS"))
    return int(fields["VmRSS"].split()[0]) * 1024
before = resident()
seen = pymayhap.Blocked(450_000_000, 0.01)
seen |= seen.copy()  # writes every page
print(resident() - before, memoryview(seen).nbytes)
"""


def memory() -> None:
    """Bytes that a process takes for a filter, to those of its bits."""
    try:
        done = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return
    resident, bits = map(int, done.stdout.split())
    print(f"\nmemory: {resident / 2**20:.1f} MiB resident for {bits / 2**20:.1f} MiB of bits: {resident / bits:.4f}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("keys", nargs="*", type=int, default=[1_000_000, 10_000_000])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--columns", action="store_true")
    options = parser.parse_args()
    for keys in options.keys:
        least = measure(keys, options.runs, options.columns)
        print(f"\n{keys} keys, ns per key, least of {options.runs}")
        if not options.columns:
            shown(least, SINGLE, 12)
            ratios(least)
        print("\ncolumns, ns per key")
        shown(least, COLUMNS, 15)
    memory()


if __name__ == "__main__":
    main()
