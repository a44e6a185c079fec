"""Many threads: exactly one wins each key, nothing is lost, and nothing waits for ever."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pymayhap
import pytest
from conftest import ATOMIC, FIXED, GROWING, filled

THREADS = 8


def together(work) -> list:
    """What each of eight threads returns that begin at the same moment."""
    barrier = threading.Barrier(THREADS)

    def run(index: int):
        barrier.wait()
        return work(index)

    with ThreadPoolExecutor(THREADS) as threads:
        # The first exception of any is raised here.
        return list(threads.map(run, range(THREADS)))


#: Kinds to which a key is new exactly once: not one that forgets, nor one that takes a key as often as it is given.
WINNING = [cls for cls in GROWING if cls not in (pymayhap.Windowed, pymayhap.Cuckoo, pymayhap.Spatial)] + ATOMIC


@pytest.mark.parametrize("cls", WINNING)
def test_each_key_has_exactly_one_winner(cls):
    keys = range(5000)
    seen = cls(10_000, 1e-6)
    switch = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        wins = together(lambda _: [key for key in keys if seen.add(key)])
    finally:
        sys.setswitchinterval(switch)
    winners = [key for each in wins for key in each]
    assert len(winners) == len(set(winners)), "two threads won one key"
    assert len(winners) >= 4990 and all(key in seen for key in keys)


@pytest.mark.parametrize("cls", [pymayhap.Blocked, *ATOMIC])
def test_columns_of_many_threads_have_one_winner_per_key(cls):
    numpy = pytest.importorskip("numpy")
    column = numpy.arange(100_000)
    seen = cls(100_000, 1e-6)
    masks = together(lambda index: seen.add_many(column, threads=1 + index % 3))
    wins = sum(mask.astype(int) for mask in masks)
    assert wins.max() <= 1 and wins.sum() >= 99_990
    model = cls(100_000, 1e-6)
    model.update(column)
    assert seen == model


def test_filters_that_are_joined_both_ways_at_once_do_not_wait_for_ever():
    left, right = pymayhap.Blocked(10_000), pymayhap.Blocked(10_000)
    left.update(range(100))
    right.update(range(100, 200))

    def join(index: int) -> None:
        nonlocal left, right
        for _ in range(200):
            if index % 2:
                left.__ior__(right)
            else:
                right.__ior__(left)
            assert left == left and (left == right) in (True, False)

    together(join)
    assert left == right and all(left.contains_many(list(range(200))))


@pytest.mark.parametrize("cls", GROWING)
def test_readers_writers_and_clears_at_once_leave_a_filter(cls):
    numpy = pytest.importorskip("numpy")
    column = numpy.arange(2000)
    seen = cls(2000)

    def work(index: int) -> None:
        for turn in range(10):
            match index % 4:
                case 0:
                    seen.update(column)
                case 1:
                    seen.contains_many(column)
                case 2:
                    seen.stats(), seen.copy(), seen.to_bytes()
                case 3 if turn % 5 == 0:
                    seen.clear()

    together(work)
    seen.clear()
    seen.update(column)
    assert seen.contains_many(column[-100:]).all()


@pytest.mark.parametrize("cls", GROWING + FIXED + ATOMIC)
def test_all_that_a_filter_does_can_be_done_at_once(cls):
    seen, keys = filled(cls, [f"key {i}" for i in range(500)], 2000), [f"key {i}" for i in range(500)]
    other = seen.copy()

    def work(index: int) -> None:
        for turn in range(20):
            if index % 2 and cls not in FIXED:
                seen.add(f"new {index} {turn}")
                seen.update([f"newer {turn} {i}" for i in range(20)])
                continue
            assert all(key in seen for key in keys[:: 1 + turn])
            assert all(seen.contains_many(keys))
            assert seen == seen and (seen == other) in (True, False)
            assert type(seen.copy()) is cls and repr(seen) and seen.stats().bits
            assert all(pymayhap.Filter.from_bytes(seen.to_bytes()).contains_many(keys))

    together(work)
    assert all(seen.contains_many(keys))


def test_lists_may_change_while_they_are_read():
    seen, keys = pymayhap.Blocked(200_000, 1e-6), [f"key {i}" for i in range(3000)]
    shared = list(keys)

    def work(index: int) -> None:
        for turn in range(30):
            match index % 4:
                case 0:
                    shared.clear()
                    shared.extend(f"{key} {turn}" for key in keys)
                case 1:
                    del shared[::2]
                    shared.append(turn)
                case 2:
                    seen.update(shared)
                case 3:
                    seen.contains_many(shared)

    together(work)
    shared[:] = keys
    seen.update(shared)
    assert all(seen.contains_many(keys))


def test_one_thread_gets_a_capsule_that_many_are_given():
    pa = pytest.importorskip("pyarrow")

    class Column:
        def __init__(self, capsules: tuple) -> None:
            self.capsules = capsules

        def __arrow_c_array__(self, requested_schema: object = None) -> tuple:
            return self.capsules

    columns = [Column(pa.array([f"{i}", f"{i}'"]).__arrow_c_array__()) for i in range(500)]
    seen = pymayhap.Blocked(10_000, 1e-6)

    def inserted(column: Column) -> int:
        try:
            return seen.update(column)
        except ValueError as error:
            assert "used before" in str(error)
            return 0

    counts = together(lambda _: [inserted(column) for column in columns])
    # Where one thread takes the schema and another the array, nobody has both.
    assert all(sum(of_column) in (0, 2) for of_column in zip(*counts, strict=True))


def test_importing_the_module_leaves_the_lock_of_python_off():
    if getattr(sys, "_is_gil_enabled", lambda: True)():
        pytest.skip("SKIPPED: this is not a free-threaded Python, or its lock was turned on")
    # This turns the lock off for modules that do not declare that they need none.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHON_GIL"}
    check = "import sys, pymayhap; assert not sys._is_gil_enabled()"
    subprocess.run([sys.executable, "-W", "error", "-c", check], env=environment, check=True)


@pytest.mark.parametrize("cls", [pymayhap.Blocked, pymayhap.Counting, *ATOMIC])
def test_single_keys_and_columns_at_once_have_one_winner_per_key(cls):
    # Single keys rely on Python's lock, which columns and unions give back.
    numpy = pytest.importorskip("numpy")
    column = numpy.arange(20_000)
    keys = column.tolist()
    seen = cls(20_000, 1e-6)
    switch = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)

    def work(index: int) -> list[bool]:
        if index % 4 == 0:
            return seen.add_many(column).tolist()
        if index % 4 == 1:
            return seen.add_many(keys)
        return [seen.add(key) for key in (keys if index % 4 == 2 else keys[::-1])][:: 1 if index % 4 == 2 else -1]

    try:
        answers = together(work)
    finally:
        sys.setswitchinterval(switch)
    wins = numpy.array(answers, dtype=int).sum(axis=0)
    assert wins.max() <= 1 and wins.sum() >= 19_990
    model = cls(20_000, 1e-6)
    model.update(keys)
    # A counter counts every insert that was not refused; the others have the same bits.
    assert cls is pymayhap.Counting or seen == model
