"""A duplicate filter for Scrapy that takes a few bytes per page.

In the settings of a project::

    DUPEFILTER_CLASS = "pymayhap.scrapy.DupeFilter"

========================  =========================================================================================
setting                   meaning
========================  =========================================================================================
``MAYHAP_CAPACITY``       pages expected (10 million); past it the filter grows
``MAYHAP_RATE``           the share of new pages that may be taken for old ones (1e-6)
``MAYHAP_WINDOW``         forget a page after this many seconds, and crawl it again: a week is 604800
``MAYHAP_REDIS``          the address of a filter that many crawlers share, such as ``redis://localhost#pages``
========================  =========================================================================================

With ``JOBDIR`` the filter is kept there, and a crawl that is resumed continues with it. It is built in its file: a
crawler that is killed loses nothing. A window is the exception: it is in memory, and saved once a minute.
"""

from __future__ import annotations

import logging
import os
import time
from typing import TYPE_CHECKING, Any, Self

from scrapy.dupefilters import BaseDupeFilter
from scrapy.utils.job import job_dir
from scrapy.utils.request import RequestFingerprinter, referer_str

from ._files import Build, build
from ._kinds import Scalable, Windowed
from ._redis import RedisFilter

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.utils.request import RequestFingerprinterProtocol

#: A window is forgotten in three steps, each of which ends one generation.
_GENERATIONS = 3


class _Kept:
    """A filter in the files of a folder, which outlives the process at any moment, and grows by one file at a time."""

    def __init__(self, folder: str, capacity: int, rate: float) -> None:
        self._folder, self._capacity, self._rate = folder, capacity, rate
        self._layers: list[Build] = []
        self._open_layer()
        while os.path.exists(self._path(len(self._layers), ".requests-{}.mayhap.mayhap-building")):
            self._open_layer()
        # The file remembers bits, not how many keys they are of.
        self._room = self._layer_capacity(len(self._layers) - 1) - int(self._layers[-1].stats().keys or 0)

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


class DupeFilter(BaseDupeFilter):
    """Which requests were seen before, by Scrapy's own fingerprints."""

    def __init__(
        self,
        path: str | None = None,
        *,
        fingerprinter: RequestFingerprinterProtocol | None = None,
        capacity: int = 10_000_000,
        rate: float = 1e-6,
        window: float | None = None,
        redis: str | None = None,
        debug: bool = False,
    ) -> None:
        self.fingerprinter = fingerprinter or RequestFingerprinter()
        self.debug = debug
        self.logdupes = True
        self.logger = logging.getLogger(__name__)
        self._window_file: str | None = None
        self._step = window / _GENERATIONS if window else None
        self._last_saved = time.monotonic()
        self.seen: Scalable | Windowed | RedisFilter | _Kept
        if redis:
            self.seen = RedisFilter(redis, capacity, rate, window=window)
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
            capacity=settings.getint("MAYHAP_CAPACITY", 10_000_000),
            rate=settings.getfloat("MAYHAP_RATE", 1e-6),
            window=settings.getfloat("MAYHAP_WINDOW") or None,
            redis=settings.get("MAYHAP_REDIS"),
            debug=settings.getbool("DUPEFILTER_DEBUG"),
        )

    def request_seen(self, request: Request) -> bool:
        """Whether the request was seen before: False is certain."""
        if self._step and isinstance(self.seen, Windowed):
            self.seen.rotate_to(int(time.time() / self._step))
        is_new = self.seen.add(self.fingerprinter.fingerprint(request))
        if is_new and time.monotonic() - self._last_saved > 60:
            self._save()
        return not is_new

    def _save(self) -> None:
        if self._window_file and isinstance(self.seen, Windowed):
            self.seen.save(self._window_file)
        self._last_saved = time.monotonic()

    def close(self, reason: str) -> None:
        self._save()
        if isinstance(self.seen, RedisFilter | _Kept):
            self.seen.close()

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
