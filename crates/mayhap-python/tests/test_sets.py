"""Filters as sets: what people know of `set`, and what is different."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
import re
import subprocess
import sys
import warnings

import pymayhap
import pytest
from conftest import ATOMIC, FIXED, GROWING, filled
from pymayhap import Blocked, Bloom, CapacityWarning, Counting, Fuse, Scalable

SECRET = b"sixteen letters!"
EVERY = GROWING + FIXED + ATOMIC


@pytest.mark.parametrize("cls", EVERY)
def test_every_kind_finds_every_key_it_has(cls):
    keys = [f"key {i}" for i in range(500)]
    seen = filled(cls, keys)
    assert all(key in seen for key in keys)
    assert seen.contains_many(keys) == [True] * 500


@pytest.mark.parametrize("cls", GROWING + ATOMIC)
def test_add_returns_whether_the_key_was_new(cls):
    seen = cls(1000)
    assert (seen.add("key"), seen.add("key")) == (True, False)
    assert seen.add_many(["key", "other", "other"]) == [False, True, False]
    assert seen.update(["a", "b"], ["b", "c"]) == 3


@pytest.mark.parametrize("cls", GROWING + ATOMIC)
def test_a_filter_that_is_cleared_is_empty(cls):
    seen = filled(cls, ["a", "b"])
    assert bool(seen)
    seen.clear()
    assert not seen and "a" not in seen and seen.add("a")


@pytest.mark.parametrize("cls", EVERY)
def test_copies_and_pickles_are_equal_and_of_the_same_class(cls):
    seen = filled(cls, [f"key {i}" for i in range(100)])
    copies = [seen.copy(), copy.copy(seen), copy.deepcopy(seen), pickle.loads(pickle.dumps(seen))]
    for each in copies:
        assert type(each) is cls and each == seen and not each != seen
    if cls not in FIXED:
        copies[0].add("another")
        assert copies[0] != seen and "another" not in seen


@pytest.mark.parametrize("cls", [Bloom, Blocked, pymayhap.SplitBlock, pymayhap.Shifting, *ATOMIC])
def test_a_union_is_bit_for_bit_the_filter_of_both(cls):
    left, right, both = cls(1000), cls(1000), cls(1000)
    left.update(range(200))
    right.update(range(100, 300))
    both.update(range(300))
    assert left | right == both == left.union(right)
    common = left & right
    assert all(common.contains_many(list(range(100, 200))))
    assert (left | right).issuperset(left) and not left.issuperset(right)
    before = left
    left |= right
    assert left is before and left == both
    left &= right
    assert all(left.contains_many(list(range(100, 300))))


def test_filters_of_different_make_are_not_joined_and_the_sentence_says_what_differs():
    with pytest.raises(ValueError, match="filters differ in shape"):
        Blocked(1000) | Blocked(2000)
    with pytest.raises(ValueError, match="filters differ in kind: blocked and bloom"):
        Blocked(1000) | Bloom(1000)
    with pytest.raises(ValueError, match="under another secret|filters differ in scheme"):
        Blocked(1000, secret=SECRET) | Blocked(1000)
    with pytest.raises(TypeError, match="unsupported operand"):
        Blocked(1000) | {"a"}
    with pytest.raises(TypeError, match="fuse"):
        Fuse(["a"]) | Fuse(["b"])
    assert (Blocked(1000) == {"a"}) is False


def test_a_filter_joined_with_itself_is_itself():
    seen = filled(Blocked, ["a"])
    assert seen | seen == seen
    seen |= seen
    seen &= seen
    assert "a" in seen and seen == seen


def test_len_iteration_and_hash_raise_what_explains_why():
    seen = Blocked(1000)
    with pytest.raises(TypeError, match="keeps bits of its keys, not the keys; stats"):
        len(seen)
    with pytest.raises(TypeError, match="cannot be iterated over"):
        list(seen)
    with pytest.raises(TypeError, match="unhashable"):
        hash(seen)


def test_refusals_are_the_sentences_of_the_library():
    with pytest.raises(ValueError, match="capacity is 0 keys; expected at least 1"):
        Blocked(0)
    with pytest.raises(ValueError, match="capacity is 0 keys"):
        Blocked(-5)
    with pytest.raises(ValueError, match="false-positive rate is 1.5; expected a number above 0 and below 1"):
        Blocked(1000, 1.5)
    with pytest.raises(ValueError, match="the secret has 3 bytes; expected 16"):
        Blocked(1000, secret=b"abc")
    with pytest.raises(ValueError, match="scheme"):
        Bloom(1000, scheme="fnv")
    with pytest.raises(TypeError, match="built once from all its keys"):
        Fuse(["a"]).add("b")
    with pytest.raises(AttributeError):
        Blocked(1000).remove("a")
    with pytest.raises(ValueError, match="format"):
        Blocked(1000).to_bytes("protobuf")


def test_the_shapes_of_repr_and_of_stats():
    seen = Blocked(capacity=1_000_000, rate=0.01)
    seen.update(range(10_000))
    text = repr(seen)
    assert text.startswith("Blocked(capacity=1000000, rate=0.01)  # ")
    assert "keys" in text and "% full" in text and "rate now" in text and "MB" in text
    assert "<table>" in seen._repr_html_() and "capacity=1000000" in seen._repr_html_()
    stats = seen.stats()
    assert stats.capacity == 1_000_000 and stats.promised_rate == 0.01 and not stats.over_capacity
    assert abs(stats.keys - 10_000) < 200 and 0 < stats.fill < 0.1
    assert stats.nbytes * 8 == stats.bits == Blocked.planned_bytes(1_000_000, 0.01) * 8
    assert stats == seen.stats() and "keys=" in repr(stats)


def test_the_bits_are_a_buffer():
    seen = Blocked(1000)
    view = memoryview(seen)
    assert view.readonly and view.nbytes == seen.stats().nbytes
    assert not any(bytes(view))
    seen.update(range(100), threads=2)
    assert sum(byte.bit_count() for byte in bytes(view)) == seen.stats().ones
    for other in (Scalable(1000), pymayhap.AtomicBlocked(1000)):
        with pytest.raises(BufferError, match="to_bytes"):
            memoryview(other)
    seen.clear()
    assert not any(bytes(view)), "in place"
    with pytest.raises(ValueError, match="in memory"):
        pymayhap._pymayhap.close(seen)


RESIDENT = """
import pymayhap
def resident():
    return next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith("VmRSS"))
pymayhap.Blocked(1000).update(["warm"])
before = resident()
seen = pymayhap.Blocked(200_000_000)
seen |= seen.copy()  # writes every page
print(resident() - before, memoryview(seen).nbytes)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="SKIPPED: resident memory is read from /proc")
def test_the_memory_of_a_filter_is_that_of_its_bits():
    done = subprocess.run([sys.executable, "-c", RESIDENT], capture_output=True, text=True, check=True)
    resident, bits = map(int, done.stdout.split())
    assert 200 << 20 < bits <= resident <= 1.05 * bits


#: Kinds whose rate rises when they have more keys than they were made for.
BOUNDED = [cls for cls in GROWING if cls not in (Scalable, pymayhap.Cuckoo, pymayhap.Windowed)] + ATOMIC


@pytest.mark.parametrize("cls", BOUNDED)
@pytest.mark.parametrize("way", ["add", "update", "add_many"])
def test_too_many_keys_are_warned_of_once_however_they_are_added(cls, way):
    def insert(seen, keys):
        for part in keys if way == "add" else [list(keys)]:
            getattr(seen, way)(part)

    seen = cls(100)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        insert(seen, range(90))
    with pytest.warns(CapacityWarning, match="made for 100") as warned:
        insert(seen, range(1000))
    assert len(warned) == 1 and warned[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        insert(seen, range(2000))
        insert(Scalable(100), range(1000))
    seen.clear()
    with pytest.warns(CapacityWarning):
        insert(seen, range(1000))


def test_keys_that_were_removed_are_not_too_many():
    here = Counting(100)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for key in range(1000):
            assert here.add(key) and here.remove(key)


def test_a_warning_that_is_an_error_is_raised_by_the_key_that_is_too_many():
    seen = Blocked(100, 1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(CapacityWarning):
            for key in range(1000):
                seen.add(key)
    assert key == 100 and key in seen


@pytest.mark.parametrize("cls", EVERY)
def test_capacity_and_rate_are_those_it_was_made_for(cls):
    seen = filled(cls, ["a", "b"])
    stats = seen.stats()
    if cls not in FIXED:
        assert (seen.capacity, seen.rate) == (1000, 0.01)
    if cls in BOUNDED:
        assert (seen.capacity, seen.rate) == (stats.capacity, stats.promised_rate)
    assert abs(seen.nbytes - stats.nbytes) <= 256


@pytest.mark.parametrize("cls", [Blocked, Bloom, pymayhap.AtomicBlocked])
def test_a_filter_is_true_when_keys_came_by_another_filter(cls):
    empty, full = cls(1000), filled(cls, ["a"])
    assert not (empty | empty.copy()) and (empty | full) and not (empty & full)
    assert pickle.loads(pickle.dumps(full)) and not pickle.loads(pickle.dumps(empty))


FAULTS = """
import resource, pymayhap
def faults(ask):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    ask()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
seen, empty = pymayhap.Blocked(200_000_000), pymayhap.Blocked(200_000_000)
seen.add(1)
print(faults(lambda: (bool(seen), bool(empty), seen.capacity, seen.rate, seen.nbytes)), faults(seen.stats))
"""


def test_cheap_questions_touch_no_page_of_the_bits():
    done = subprocess.run([sys.executable, "-c", FAULTS], capture_output=True, text=True, check=True)
    cheap, counting = map(int, done.stdout.split())
    assert cheap * 4 < counting, done.stdout


def test_a_secret_is_in_neither_pickle_nor_file_and_is_needed_to_load():
    seen = filled_with_secret()
    data = pickle.dumps(seen)
    assert SECRET not in data and SECRET not in seen.to_bytes()
    with pytest.raises(ValueError, match="secret"):
        pickle.loads(data)
    with pymayhap.unlock(SECRET):
        assert pickle.loads(data) == seen
    with pymayhap.unlock(b"another secret!!"), pytest.raises(ValueError, match="secret"):
        pickle.loads(data)
    assert Blocked.from_bytes(seen.to_bytes(), secret=SECRET) == seen
    assert seen.copy() == seen


def filled_with_secret() -> Blocked:
    seen = Blocked(1000, secret=SECRET)
    seen.update(range(100))
    return seen


def test_bytes_of_another_kind_are_refused():
    data = filled(Bloom, ["a"]).to_bytes()
    with pytest.raises(ValueError, match="filters differ in kind: bloom and blocked"):
        Blocked.from_bytes(data)
    assert type(pymayhap.Filter.from_bytes(bytearray(data))) is Bloom
    with pytest.raises(pymayhap.DamagedError):
        pymayhap.Filter.from_bytes(data[:200] + bytes([data[200] ^ 1]) + data[201:])


def test_kinds_have_what_only_they_do():
    here = filled(Counting, ["a", "b"])
    assert here.remove("a") and "a" not in here and not here.remove("a")
    areas = pymayhap.Spatial(1000, areas=4)
    areas.add_area("cheese", 3)
    assert areas.area("cheese") == 3 and areas.area("hammer") is None
    with pytest.raises(ValueError, match="area"):
        areas.add_area("cheese", 9)


def test_every_kind_of_the_library_has_a_class():
    from pymayhap import _kinds, _pymayhap

    with pytest.raises(ValueError) as raised:
        _pymayhap.make("no such kind", 1000, 0.01)
    known = set(re.findall(r"\(([a-z-]+)\)", str(raised.value)))
    assert known == set(_kinds.CLASSES) and {each.kind for each in EVERY} == known


def _ask(seen: Blocked) -> list[bool]:
    return [seen.add(i) for i in (1, 5, 500)]


def test_filters_go_to_other_processes():
    seen = filled(Blocked, list(range(100)))
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert pool.map(_ask, [seen, seen]) == [[False, False, True]] * 2
    assert 500 not in seen
