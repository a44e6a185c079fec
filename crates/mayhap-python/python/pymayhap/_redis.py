"""Filters that many machines share, in Redis or Valkey."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self, TypeVar

from ._pymayhap import Filter, RedisFilter, RedisRebuild, Stats
from ._types import Key, Keys

__all__ = ["AsyncRedisFilter", "RedisFilter", "RedisRebuild"]

T = TypeVar("T")


class AsyncRedisFilter:
    """A `RedisFilter` whose methods are awaited. Of all processes that add a key, exactly one gets True.

    It uses this many ``connections`` to the server at a time, each in a thread of its own.

    .. code-block:: python

        seen = await AsyncRedisFilter.connect("redis://localhost#seen")
        if await seen.add(url):
            ...
    """

    def __init__(self, clients: list[RedisFilter]) -> None:
        self._idle: asyncio.LifoQueue[RedisFilter] = asyncio.LifoQueue()
        self._clients = clients
        self._threads = ThreadPoolExecutor(len(clients), thread_name_prefix="pymayhap")
        for client in clients:
            self._idle.put_nowait(client)

    @classmethod
    async def connect(
        cls, url: str, *, connections: int = 4, secret: bytes | None = None, timeout: float | None = None
    ) -> Self:
        """Opens the filter of this name on the server, as `RedisFilter` does."""
        if connections < 1:
            raise ValueError(f"connections is {connections}; expected at least 1")

        def open_all() -> list[RedisFilter]:
            return [RedisFilter(url, secret=secret, timeout=timeout) for _ in range(connections)]

        return cls(await asyncio.to_thread(open_all))

    @classmethod
    async def create(
        cls,
        url: str,
        capacity: int,
        rate: float = 0.01,
        *,
        connections: int = 4,
        secret: bytes | None = None,
        timeout: float | None = None,
        **options: Any,
    ) -> Self:
        """Makes an empty filter on the server; options are those of `RedisFilter.create`."""
        made = await asyncio.to_thread(
            RedisFilter.create, url, capacity, rate, secret=secret, timeout=timeout, **options
        )
        made.close()
        return await cls.connect(url, connections=connections, secret=secret, timeout=timeout)

    async def _ask(self, ask: Callable[[RedisFilter], T]) -> T:
        client = await self._idle.get()
        future = asyncio.get_running_loop().run_in_executor(self._threads, ask, client)
        # A cancelled call still runs to its end: only then is the client idle.
        future.add_done_callback(lambda _: self._idle.put_nowait(client))
        return await future

    async def add(self, key: Key) -> bool:
        """Inserts a key; returns True to exactly one of all processes that insert it."""
        return await self._ask(lambda client: client.add(key))

    async def contains(self, key: Key) -> bool:
        """Returns whether the key may be in the filter."""
        return await self._ask(lambda client: key in client)

    async def add_many(self, keys: Keys) -> list[bool]:
        """Inserts each key; True where this process was the first."""
        return await self._ask(lambda client: client.add_many(keys))

    async def contains_many(self, keys: Keys) -> list[bool]:
        """Looks up each key; True where it may be in the filter."""
        return await self._ask(lambda client: client.contains_many(keys))

    async def update(self, keys: Keys) -> int:
        """Inserts every key and returns how many were new."""
        return await self._ask(lambda client: client.update(keys))

    async def stats(self) -> Stats:
        """Has the server count every bit, and returns the estimated number of keys and the rate now."""
        return await self._ask(lambda client: client.stats())

    async def clear(self) -> None:
        """Forgets every key."""
        await self._ask(lambda client: client.clear())

    async def pull(self) -> Filter:
        """Copies the filter into memory."""
        return await self._ask(lambda client: client.pull())

    async def delete(self) -> None:
        """Deletes the filter on the server."""
        await self._ask(lambda client: client.delete())

    async def close(self) -> None:
        """Closes every connection; the filter stays on the server."""
        for client in self._clients:
            await asyncio.to_thread(client.close)
        self._threads.shutdown(wait=False)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
