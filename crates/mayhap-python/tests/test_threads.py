"""Many threads: exactly one wins each key, nothing is lost, and nothing waits for ever."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pymayhap
import pytest
from conftest import ATOMIC, FIXED, GROWING, filled

THREADS = 8


def together(work) -> list:
    """Runs `work` in eight threads that begin at the same moment, and returns their results."""
    barrier = threading.Barrier(THREADS)

    def run(index: int):
        barrier.wait()
        return work(index)

    with ThreadPoolExecutor(THREADS) as threads:
        # Raises the first exception of any thread.
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


EMPTIED = """
import gc, pymayhap

seen, emptied = pymayhap.Blocked(1000), 0

class Emptier:
    def __init__(self, keys):
        self.itself, self.keys = self, keys

    def __del__(self):
        global emptied
        emptied += 1
        self.keys.clear()

# The collector runs at the n-th object from here on: for some n, while the exception for a lone surrogate is made.
for ask in (seen.contains_many, seen.add_many, seen.update):
    for n in range(1, 40):
        gc.collect()
        gc.disable()
        keys = ["a"] * 20 + [f"\\ud800{i}" for i in range(20)]
        Emptier(keys)
        gc.set_threshold(n)
        gc.enable()
        try:
            ask(keys)
        except UnicodeEncodeError:
            pass
        gc.set_threshold(700)
assert emptied > 30, emptied
"""


def test_a_list_may_be_emptied_while_an_exception_is_made():
    # Reading freed memory does not crash: only a program that watches memory notices it.
    if not shutil.which("valgrind"):
        pytest.skip("SKIPPED: valgrind is not installed")
    environment = {**os.environ, "PYTHONMALLOC": "malloc"}
    command = ["valgrind", "--undef-value-errors=no", "--error-exitcode=9", sys.executable, "-c", EMPTIED]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


class Stop(Exception): ...


def stop(*_: object) -> None:
    raise Stop


#: Long enough to be still under way when the process has used a millisecond of a core.
LONG = 5_000_000


def long_list():
    return [7] * LONG + [8]


def long_iterator():
    return itertools.chain(itertools.repeat(7, LONG), [8])


def long_array():
    numpy = pytest.importorskip("numpy")
    return numpy.append(numpy.full(4 * LONG, 7), 8)


def long_column():
    pa = pytest.importorskip("pyarrow")
    return pa.chunked_array([pa.array(long_array())])


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="SKIPPED: timers are of Unix")
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("ask", ["update", "add_many", "contains_many"])
@pytest.mark.parametrize("keys", [long_list, long_iterator, long_array, long_column])
def test_a_signal_ends_a_long_column(keys, ask, threads):
    seen, keys = pymayhap.Blocked(1000), keys()
    before = signal.signal(signal.SIGVTALRM, stop)
    try:
        with pytest.raises(Stop):
            signal.setitimer(signal.ITIMER_VIRTUAL, 0.001)
            getattr(seen, ask)(keys, threads=threads)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    assert 8 not in seen, "it went on to the end"
    assert bool(seen) == (7 in seen), "keys before the signal stay, and are counted"


@pytest.mark.skipif(os.name != "posix", reason="SKIPPED: signals are of Unix")
@pytest.mark.parametrize("ask", ["update", "add_many"])
def test_an_interrupt_from_another_thread_ends_a_long_array(ask):
    numpy = pytest.importorskip("numpy")
    seen = pymayhap.Blocked(4 * LONG)
    keys = numpy.arange(4 * LONG)
    # Python's lock is free while a step is walked, so that this thread can run.
    interrupter = threading.Timer(0.02, os.kill, (os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        interrupter.start()
        getattr(seen, ask)(keys)
    interrupter.join()
    found = seen.contains_many(keys)
    assert not found.all(), "it went on to the end"
    assert bool(seen) == bool(found.any())


def test_keys_before_an_error_are_counted():
    numpy = pytest.importorskip("numpy")
    for keys in ([*range(5000), 1.5], iter(["a", 1.5]), numpy.array(["a"] * 5000 + ["\ud800"])):
        seen = pymayhap.Blocked(10_000)
        with pytest.raises((TypeError, ValueError)):
            seen.update(keys)
        assert seen, "it has keys"


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
    # If one thread takes the schema and another the array, neither has both.
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
