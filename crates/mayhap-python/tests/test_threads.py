"""Many threads: exactly one wins each key, nothing is lost, and nothing waits for ever."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pymayhap
import pytest
from conftest import ATOMIC, GROWING

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


@pytest.mark.parametrize("cls", [pymayhap.Blocked, pymayhap.Scalable, pymayhap.Counting, *ATOMIC])
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


WITHOUT_LOCK = """
import sys
assert not sys._is_gil_enabled()
import pymayhap, threading
assert not sys._is_gil_enabled(), "importing the module turned the lock on"
seen, wins = pymayhap.AtomicBlocked(100_000, 1e-6), []
def work():
    wins.append(sum(seen.add(key) for key in range(20_000)))
threads = [threading.Thread(target=work) for _ in range(8)]
[thread.start() for thread in threads]; [thread.join() for thread in threads]
print(sum(wins))
"""


def test_one_winner_per_key_without_the_lock_of_python():
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        wins = int(subprocess.check_output([sys.executable, "-c", WITHOUT_LOCK]))
        assert 19_990 <= wins <= 20_000
    else:
        pytest.skip("SKIPPED: this is not a free-threaded Python")


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
