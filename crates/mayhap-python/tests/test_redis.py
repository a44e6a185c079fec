"""Filters on a server: one winner across processes, blocking and awaited."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys

import pymayhap
import pytest
from pymayhap import AsyncRedisFilter, Blocked, RedisFilter

KEYS = [f"key {i}" for i in range(3000)]


def test_a_filter_on_a_server_is_a_filter(redis_url):
    seen = RedisFilter.create(redis_url + "#basic", 10_000, 0.01)
    model = Blocked(10_000, 0.01)
    assert seen.add_many(KEYS) == model.add_many(KEYS)
    assert (seen.add("key 5"), seen.add(7), 7 in seen, "absent" in seen) == (False, True, True, False)
    model.add(7)
    assert seen.contains_many(KEYS) == [True] * len(KEYS)
    assert seen.pull() == model and seen.stats().ones == model.stats().ones
    assert RedisFilter(redis_url + "#basic").update(["key 5", "another"]) == 1
    assert seen.update(str(i) for i in range(10)) == 10
    numpy = pytest.importorskip("numpy")
    assert seen.add_many(numpy.array([7, 8])) == [False, True]
    seen.clear()
    assert "key 5" not in seen
    seen.delete()
    with pytest.raises(ValueError, match="closed"):
        seen.add("a")
    with pytest.raises(LookupError):
        RedisFilter(redis_url + "#basic")


def test_refusals_are_exceptions_people_know(redis_url):
    with pytest.raises(ConnectionError):
        RedisFilter("redis://127.0.0.1:1#name", timeout=0.2)
    with pytest.raises(ValueError):
        RedisFilter("not an address")
    with pytest.raises(ValueError, match="capacity is 0 keys"):
        RedisFilter.create(redis_url + "#refused", 0)
    with pytest.raises(ValueError, match="window"):
        RedisFilter.create(redis_url + "#refused", 1000, window=-1)
    with pytest.raises(TypeError, match="a key is str, bytes or int"):
        RedisFilter.create(redis_url + "#types", 1000).add(1.5)
    assert "hunter2" not in repr(RedisFilter(redis_url.replace("://", "://:@") + "#types"))


def test_a_window_is_made_once_and_opened_after(redis_url):
    first, second, third = (
        RedisFilter.create(redis_url + "#window", 1000, window=3600),
        RedisFilter.create(redis_url + "#window", 1000, window=3600, exist_ok=True),
        RedisFilter(redis_url + "#window"),
    )
    assert (first.add("a"), second.add("a"), third.add("a")) == (True, False, False)


def test_a_server_that_lost_everything_denies_nobody(redis_url):
    url = redis_url + "#guard"
    users = [f"user {i}" for i in range(1000)]
    with RedisFilter.rebuild(url, 2000) as guard:
        assert guard.update(users[:500]) >= 495
        with pytest.raises(LookupError, match="not ready"):
            RedisFilter(url)
        assert guard.update(users[500:]) >= 490
    guard = RedisFilter(url)
    assert all(guard.contains_many(users)) and "somebody" not in guard
    deleted(redis_url, "guard")
    for ask in (lambda: users[0] in guard, lambda: guard.contains_many(users), lambda: RedisFilter(url)):
        with pytest.raises(LookupError, match="no filter is named"):
            ask()
    with pytest.raises(TypeError):
        RedisFilter(url, 2000)


def deleted(redis_url: str, name: str) -> None:
    """Deletes whatever the server has of a filter, as FLUSHALL would, but leaves the filters of other tests."""
    host, port = redis_url.removeprefix("redis://").split(":")
    script = "for _, key in ipairs(redis.call('KEYS', ARGV[1])) do redis.call('DEL', key) end"
    words = ["EVAL", script, "0", f"mayhap:{{{name}*"]
    with socket.create_connection((host, int(port)), timeout=60) as stream:
        stream.sendall(f"*{len(words)}\r\n".encode() + b"".join(f"${len(w)}\r\n{w}\r\n".encode() for w in words))
        assert stream.recv(100).startswith((b"$-1", b"_")), "deleted"


def test_the_old_filter_answers_until_the_new_one_is_filled(redis_url):
    url = redis_url + "#rebuilt"
    seen = RedisFilter.create(url, 1000, 1e-6)
    with pytest.raises(ValueError, match="already"):
        RedisFilter.create(url, 1000)
    seen.update(["old", "both"])
    with pytest.raises(RuntimeError), RedisFilter.rebuild(url, 5000, 1e-6) as following:
        following.update(["never"])
        raise RuntimeError
    assert "old" in seen and "never" not in seen
    with RedisFilter.rebuild(url, 5000, 1e-6) as following:
        following.update(["both"])
        seen.add("meanwhile")
        assert "old" in seen
    assert seen.contains_many(["old", "both", "meanwhile"]) == [False, True, True]
    with pytest.raises(ValueError, match="closed"):
        following.update(["late"])


CLAIM = """
import sys, pymayhap
seen = pymayhap.RedisFilter.create(sys.argv[1], 10_000, 1e-6, exist_ok=True)
print(sum(seen.add(f"key {i}") for i in range(500)))
"""


def test_exactly_one_of_several_processes_wins_each_key(redis_url):
    runs = [
        subprocess.Popen([sys.executable, "-c", CLAIM, redis_url + "#race"], stdout=subprocess.PIPE) for _ in range(4)
    ]
    wins = [int(run.communicate()[0]) for run in runs]
    assert sum(wins) == 500, wins


def test_awaited_filters_have_one_winner_per_key(redis_url):
    async def race() -> list[bool]:
        async with await AsyncRedisFilter.create(redis_url + "#async", 10_000, 1e-6) as seen:
            wins = await asyncio.gather(*(seen.add(f"key {i % 100}") for i in range(400)))
            assert await seen.contains("key 5") and not await seen.contains("absent")
            assert await seen.add_many(["key 5", "new"]) == [False, True]
            assert await seen.contains_many(["key 5", "absent"]) == [True, False]
            assert await seen.update(["newer"]) == 1
            assert (await seen.stats()).ones > 0 and isinstance(await seen.pull(), Blocked)
            return wins

    assert sum(asyncio.run(race())) == 100


def test_a_caller_that_gives_up_leaves_the_connection_in_order(redis_url):
    async def work() -> None:
        async with await AsyncRedisFilter.create(redis_url + "#cancel", 10_000, 1e-6, connections=1) as seen:
            for i in range(20):
                task = asyncio.create_task(seen.add_many([f"{i} {j}" for j in range(100)]))
                await asyncio.sleep(0)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            assert await seen.add("last") and not await seen.add("last")

    asyncio.run(work())
    with pytest.raises(ValueError, match="connections is 0"):
        asyncio.run(AsyncRedisFilter.connect(redis_url + "#none", connections=0))
    assert pymayhap.RedisFilter is RedisFilter
