"""The bytes of one key, and objects that are not keys."""

from __future__ import annotations

import uuid

import pytest
from pymayhap import Blocked, fields


def same(left, right) -> bool:
    seen = Blocked(1000, 1e-6)
    seen.add(left)
    return right in seen


def test_text_is_its_utf8_and_numbers_are_eight_bytes():
    assert same("é", "é".encode()) and same("é".encode(), "é")
    assert same(5, (5).to_bytes(8, "little")) and same(-2, (-2).to_bytes(8, "little", signed=True))
    assert same(2**64 - 1, -1) and same(2**63, -(2**63))
    assert same(True, 1) and not same("5", 5)
    assert same(b"key", bytearray(b"key")) and same(b"key", memoryview(b"a key")[2:])
    assert same("", b"")


def test_what_derives_from_a_key_is_that_key():
    class Text(str): ...

    class Number(int): ...

    class Raw(bytes): ...

    assert same(Text("a"), "a") and same(Number(7), 7) and same(Raw(b"a"), b"a")
    numpy = pytest.importorskip("numpy")
    assert same(numpy.int8(-3), -3) and same(numpy.uint64(2**64 - 1), -1) and same(numpy.str_("a"), "a")


@pytest.mark.parametrize("key", [1.5, None, [1], {"a"}, uuid.UUID(int=5), object()])
def test_what_is_not_a_key_is_refused_by_its_type(key):
    seen = Blocked(1000)
    for ask in (seen.add, seen.__contains__, lambda key: seen.update([key]), lambda key: seen.add_many(["a", key])):
        with pytest.raises(TypeError, match=f"a key is str, bytes or int; got {type(key).__name__}"):
            ask(key)


def test_tuples_are_refused_with_a_hint_that_helps():
    seen = Blocked(1000)
    with pytest.raises(TypeError, match=r"got tuple; pymayhap.fields\(\*key\)"):
        seen.add((7, "/a"))
    assert seen.add(fields(7, "/a")) and fields(7, "/a") in seen
    assert fields("ab", "c") != fields("a", "bc")


def test_numbers_out_of_range_and_lone_surrogates_are_refused():
    seen = Blocked(1000)
    for number in (2**64, -(2**63) - 1, 10**30):
        with pytest.raises(OverflowError, match="64 bits"):
            seen.add(number)
    with pytest.raises(UnicodeEncodeError):
        seen.add("\ud800")


@pytest.mark.parametrize("one", ["key", b"key", bytearray(b"key")])
def test_one_key_where_many_are_expected_is_refused(one):
    with pytest.raises(TypeError, match="many keys are expected; got one"):
        Blocked(1000).update(one)


def test_errors_of_python_code_come_through():
    def failing():
        yield "a"
        raise RuntimeError("of the generator")

    class Index:
        def __index__(self):
            raise RuntimeError("of the number")

    seen = Blocked(1000)
    with pytest.raises(RuntimeError, match="of the generator"):
        seen.update(failing())
    assert "a" in seen
    with pytest.raises(RuntimeError, match="of the number"):
        seen.add(Index())
    with pytest.raises(TypeError, match="not iterable"):
        seen.update(5)
