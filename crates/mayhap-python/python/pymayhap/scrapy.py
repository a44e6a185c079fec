"""A duplicate filter for Scrapy that takes a few bytes per page, and crawls that survive `kill -9`.

In the settings of a project::

    ADDONS = {"pymayhap.scrapy.Addon": 500}                   # both, from Scrapy 2.13 on
    DUPEFILTER_CLASS = "pymayhap.scrapy.DupeFilter"           # the filter alone

========================  =========================================================================================
setting                   meaning
========================  =========================================================================================
``MAYHAP_CAPACITY``       expected pages (10 000); the filter grows beyond them. With a window, or on a server, it does
                          not grow (10 million)
``MAYHAP_RATE``           the share of new pages that may be mistaken for old ones (1e-6)
``MAYHAP_WINDOW``         forget a page after this many seconds, and crawl it again: a week is 604800
``MAYHAP_REDIS``          the address of a filter that many crawlers share, such as ``redis://localhost#pages``
========================  =========================================================================================

With ``JOBDIR`` the filter is kept there, and a crawl that is resumed continues with it. It is built in its file, so that a
killed crawler does not lose it; a window is in memory, and saved once a minute.

Scrapy itself saves the waiting requests when it is closed, and loses them when it is killed: they are in the filter, so
nobody fetches them. The add-on keeps a journal of requests in ``JOBDIR``. After a kill it schedules those again whose
callback had not ended; a page may then be fetched twice.
"""

from __future__ import annotations

import logging
import os
import pickle
import shutil
import struct
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Self
from weakref import WeakKeyDictionary

from scrapy import Request, signals
from scrapy.dupefilters import BaseDupeFilter
from scrapy.utils.job import job_dir
from scrapy.utils.request import RequestFingerprinter, referer_str, request_from_dict

from ._files import Build, build
from ._kinds import Scalable, Windowed
from ._redis import RedisFilter

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.settings import BaseSettings
    from scrapy.utils.request import RequestFingerprinterProtocol

#: The generations of a window: its pages are forgotten in three steps.
_GENERATIONS = 3
#: The capacity of a filter that grows, and of one that does not.
_FIRST, _FIXED = 10_000, 10_000_000


class _Kept:
    """A filter in the files of a folder, which survives the process at any moment, and grows by one file at a time."""

    def __init__(self, folder: str, capacity: int, rate: float) -> None:
        self._folder, self._capacity, self._rate = folder, capacity, rate
        self._layers: list[Build] = []
        self._open_layer()
        while os.path.exists(self._path(len(self._layers), ".requests-{}.mayhap.mayhap-building")):
            self._open_layer()
        # The file has bits, not the number of keys. It may have been made with another capacity.
        last = self._layers[-1]
        self._room = (last.capacity or 0) - int(last.stats().keys or 0)

    def _path(self, layer: int, name: str = "requests-{}.mayhap") -> str:
        return os.path.join(self._folder, name.format(layer))

    def _layer_capacity(self, layer: int) -> int:
        return self._capacity << layer

    def _open_layer(self) -> None:
        layer = len(self._layers)
        # The rates of all layers add up to less than the one asked for.
        rate = self._rate / 2 ** (layer + 1)
        self._layers.append(build(self._path(layer), self._layer_capacity(layer), rate))
        self._room = self._layer_capacity(layer)

    def __contains__(self, key: bytes) -> bool:
        return any(key in layer for layer in self._layers)

    def add(self, key: bytes) -> bool:
        if any(key in layer for layer in self._layers[:-1]) or not self._layers[-1].add(key):
            return False
        self._room -= 1
        if self._room <= 0:
            self._open_layer()
        return True

    def close(self) -> None:
        for layer in self._layers:
            layer.checkpoint(0)
            layer.close()


class _Journal:
    """The requests that were scheduled and are not done, in a file that is only appended to: a kill loses nothing written.

    A record is a letter, the lengths of fingerprint and data, and both. `+` schedules a request, `-` marks it as done, and a
    `.` at the end means that Scrapy was closed, and has written the others to its own queue.
    """

    _HEAD = struct.Struct("<cBI")
    #: The bytes that the journal may grow by before requests that are done are removed from it.
    _SLACK = 64 << 20

    def __init__(self, folder: str) -> None:
        self._path = os.path.join(folder, "requests.journal")
        #: The fingerprints of requests that have to be scheduled again.
        self.lost: set[bytes] = set()
        self._ended = b""
        self._last_letter = b"."
        self._file = -1
        waiting = self._compact()
        if self._last_letter != b".":
            self.lost = waiting
            # A killed Scrapy leaves an incomplete queue; the journal has all of it.
            shutil.rmtree(os.path.join(folder, "requests.queue"), ignore_errors=True)

    def _records(self) -> Iterator[tuple[bytes, bytes, bytes]]:
        with open(self._path, "ab+") as file:
            file.seek(0)
            while len(head := file.read(self._HEAD.size)) == self._HEAD.size:
                letter, *lengths = self._HEAD.unpack(head)
                key, data = (file.read(length) for length in lengths)
                if [len(key), len(data)] != lengths:
                    return  # the last one, which a kill cut short
                yield letter, key, data

    def _compact(self) -> set[bytes]:
        """Keeps only the requests that are not done, and returns their fingerprints."""
        waiting: set[bytes] = set()
        for letter, key, _ in self._records():
            self._last_letter = letter
            if letter == b"+":
                waiting.add(key)
            elif letter == b"-":
                waiting.discard(key)
        left = set(waiting)
        with open(self._path + ".new", "wb") as file:
            for letter, key, data in self._records():
                if letter == b"+" and key in left:
                    left.remove(key)
                    file.write(self._HEAD.pack(letter, len(key), len(data)) + key + data)
            self._size = file.tell()
        os.replace(self._path + ".new", self._path)
        if self._file >= 0:
            os.close(self._file)
        self._file = os.open(self._path, os.O_WRONLY | os.O_APPEND)
        self._limit = 2 * self._size + self._SLACK
        return waiting

    def _write(self, letter: bytes, key: bytes = b"", data: bytes = b"") -> None:
        record = self._HEAD.pack(letter, len(key), len(data)) + key + data
        os.write(self._file, record)
        self._size += len(record)
        if self._size > self._limit:
            self._compact()

    def scheduled(self, key: bytes, request: Request, spider: Spider | None) -> None:
        try:
            data = pickle.dumps(request.to_dict(spider=spider), protocol=4)
        except (ValueError, pickle.PicklingError, AttributeError, TypeError):
            return  # Scrapy keeps such a request only in memory
        self._write(b"+", key, data)

    def done(self, key: bytes) -> None:
        # Written one page late: the last link of the page is scheduled right after this.
        if self._ended:
            self._write(b"-", self._ended)
        self._ended = key

    def requests(self, spider: Spider) -> Iterator[Request]:
        """The requests that have to be scheduled again."""
        if self.lost:
            for _, _, data in list(self._records()):
                yield request_from_dict(pickle.loads(data), spider=spider)

    def close(self) -> None:
        self.done(b"")
        self._write(b".")
        os.close(self._file)


_JOURNALS: WeakKeyDictionary[Crawler, _Journal] = WeakKeyDictionary()


class _Page:
    """A response in its callback: done when that has ended and all its requests were scheduled or dropped."""

    def __init__(self, key: bytes) -> None:
        self.key, self.requests, self.is_over = key, 0, False


class JournalMiddleware:
    """Records in a journal which pages are done, and schedules again those that a killed crawl left: see `Addon`."""

    def __init__(self, crawler: Crawler, journal: _Journal | None) -> None:
        self.crawler, self.journal = crawler, journal
        self._pages: WeakKeyDictionary[Request, _Page] = WeakKeyDictionary()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        folder = job_dir(crawler.settings)
        journal = _Journal(folder) if folder else None
        middleware = cls(crawler, journal)
        if journal:
            _JOURNALS[crawler] = journal
            crawler.signals.connect(middleware.spider_opened, signals.spider_opened)
            crawler.signals.connect(middleware.request_scheduled, signals.request_scheduled)
        return middleware

    def _key(self, request: Request) -> bytes:
        assert self.crawler.request_fingerprinter
        return self.crawler.request_fingerprinter.fingerprint(request)

    def spider_opened(self, spider: Spider) -> None:
        assert self.journal and self.crawler.engine
        for request in self.journal.requests(spider):
            self.crawler.engine.crawl(request)

    def request_scheduled(self, request: Request, spider: Spider) -> None:
        assert self.journal
        # The filter is not asked about these. The spider schedules its start requests again by itself.
        if request.dont_filter and not request.meta.get("is_start_request"):
            self.journal.scheduled(self._key(request), request, spider)
        if page := self._pages.pop(request, None):
            page.requests -= 1
            self._end(page)

    def _end(self, page: _Page) -> None:
        if self.journal and page.is_over and page.requests == 0:
            self.journal.done(page.key)

    def _given(self, page: _Page, output: Any) -> Any:
        if isinstance(output, Request):
            self._pages[output] = page
            page.requests += 1
        return output

    def process_spider_output(self, response: Response, result: Iterable[Any]) -> Iterator[Any]:
        page = _Page(self._key(response.request)) if response.request else _Page(b"")
        for output in result:
            yield self._given(page, output)
        page.is_over = True
        self._end(page)

    async def process_spider_output_async(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        page = _Page(self._key(response.request)) if response.request else _Page(b"")
        async for output in result:
            yield self._given(page, output)
        page.is_over = True
        self._end(page)


class Addon:
    """Installs the duplicate filter, and with ``JOBDIR`` a journal, so that a killed crawl loses no page."""

    def update_settings(self, settings: BaseSettings) -> None:
        settings.set("DUPEFILTER_CLASS", DupeFilter, "addon")
        # Nearest to the engine, so it sees what all other middlewares let through.
        settings["SPIDER_MIDDLEWARES"].set(JournalMiddleware, 0, "addon")


class DupeFilter(BaseDupeFilter):
    """A duplicate filter over Scrapy's own fingerprints of requests."""

    def __init__(
        self,
        path: str | None = None,
        *,
        fingerprinter: RequestFingerprinterProtocol | None = None,
        capacity: int | None = None,
        rate: float = 1e-6,
        window: float | None = None,
        redis: str | None = None,
        debug: bool = False,
        crawler: Crawler | None = None,
    ) -> None:
        self.fingerprinter = fingerprinter or RequestFingerprinter()
        self.debug = debug
        self.logdupes = True
        self.logger = logging.getLogger(__name__)
        self._window_file: str | None = None
        self._step = window / _GENERATIONS if window else None
        self._last_saved = time.monotonic()
        self._crawler = crawler
        self._journal = _JOURNALS.get(crawler) if crawler else None
        self.seen: Scalable | Windowed | RedisFilter | _Kept
        capacity = capacity or (_FIXED if redis or window else _FIRST)
        if redis:
            # Any crawler may be the first. If the server loses the filter, pages are crawled again.
            self.seen = RedisFilter.create(redis, capacity, rate, window=window, exist_ok=True)
        elif window:
            self._window_file = os.path.join(path, "requests.mayhap") if path else None
            if self._window_file and os.path.exists(self._window_file):
                self.seen = Windowed.load(self._window_file)
            else:
                self.seen = Windowed(capacity, rate, rotation="caller")
        elif path:
            self.seen = _Kept(path, capacity, rate)
        else:
            self.seen = Scalable(capacity, rate)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        settings = crawler.settings
        return cls(
            job_dir(settings),
            fingerprinter=crawler.request_fingerprinter,
            capacity=settings.getint("MAYHAP_CAPACITY") or None,
            rate=settings.getfloat("MAYHAP_RATE", 1e-6),
            window=settings.getfloat("MAYHAP_WINDOW") or None,
            redis=settings.get("MAYHAP_REDIS"),
            debug=settings.getbool("DUPEFILTER_DEBUG"),
            crawler=crawler,
        )

    def request_seen(self, request: Request) -> bool:
        """Returns whether the request was seen before: False is certain."""
        if self._step and isinstance(self.seen, Windowed):
            self.seen.rotate_to(int(time.time() / self._step))
        is_new = self._is_new(self.fingerprinter.fingerprint(request), request)
        if is_new and time.monotonic() - self._last_saved > 60:
            self._save()
        return not is_new

    def _is_new(self, key: bytes, request: Request) -> bool:
        if not self._journal:
            return self.seen.add(key)
        if key in self._journal.lost:
            self._journal.lost.remove(key)
            self.seen.add(key)
            return True
        # One of the crawlers that share a filter gets the page. Without sharing, the journal is written first: a page that
        # is only in the journal is fetched again, one that is only in the filter never.
        is_shared = isinstance(self.seen, RedisFilter)
        is_new = self.seen.add(key) if is_shared else key not in self.seen
        if is_new:
            self._journal.scheduled(key, request, self._crawler.spider if self._crawler else None)
            if not is_shared:
                self.seen.add(key)
        return is_new

    def _save(self) -> None:
        if self._window_file and isinstance(self.seen, Windowed):
            self.seen.save(self._window_file)
        self._last_saved = time.monotonic()

    def close(self, reason: str) -> None:
        self._save()
        if isinstance(self.seen, RedisFilter | _Kept):
            self.seen.close()
        if self._journal:
            self._journal.close()

    def log(self, request: Request, spider: Spider) -> None:
        if self.debug:
            args: dict[str, Any] = {"request": request, "referer": referer_str(request)}
            self.logger.debug("Filtered duplicate request: %(request)s (referer: %(referer)s)", args)
        elif self.logdupes:
            self.logger.debug(
                "Filtered duplicate request: %(request)s - no more duplicates will be shown"
                " (see DUPEFILTER_DEBUG to show all duplicates)",
                {"request": request},
            )
            self.logdupes = False
        if spider.crawler.stats:
            spider.crawler.stats.inc_value("dupefilter/filtered")
