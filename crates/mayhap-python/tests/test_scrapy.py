"""A real crawl over a site of our own: the same pages as Scrapy's own duplicate filter."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest

pytest.importorskip("scrapy")
PAGES = 2000 if os.environ.get("MAYHAP_LONG") else 300

CRAWL = """
import json, os, resource, signal, sys, time
import scrapy
from scrapy.crawler import CrawlerProcess

url, dupefilter, jobdir, most = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
extra = json.loads(sys.argv[5])
killed_at = extra.pop("killed_at", 0)
pages = []

class Site(scrapy.Spider):
    name = "site"
    start_urls = [url]

    def parse(self, response):
        pages.append(response.url)
        if len(pages) == killed_at:
            os.kill(os.getpid(), signal.SIGKILL)
        for link in response.css("a::attr(href)").getall():
            yield response.follow(link)

settings = {
    **({"ADDONS": {dupefilter: 500}} if dupefilter.endswith("Addon") else {"DUPEFILTER_CLASS": dupefilter}),
    "LOG_LEVEL": "ERROR", "TELNETCONSOLE_ENABLED": False,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 16, "CLOSESPIDER_PAGECOUNT": most, "ROBOTSTXT_OBEY": False, "DOWNLOAD_DELAY": 0,
    **extra,
}
if jobdir:
    settings["JOBDIR"] = jobdir
process = CrawlerProcess(settings)
crawler = process.create_crawler(Site)
start = time.monotonic()
process.crawl(crawler)
process.start()
print(json.dumps({
    "pages": sorted(pages), "duplicates": crawler.stats.get_value("dupefilter/filtered", 0),
    "seconds": time.monotonic() - start, "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
}))
"""


class Page(BaseHTTPRequestHandler):
    """Page n links to itself, to the first, and to some others, with fragments and orders of fields that differ."""

    protocol_version = "HTTP/1.1"
    served: ClassVar[Counter[int]] = Counter()

    def do_GET(self) -> None:
        number = int(self.path.split("page=")[1].split("&")[0]) if "page=" in self.path else 0
        links = [0, number, number + 1, 2 * number + 1, 2 * number + 2, number * 7919 % PAGES]
        body = "".join(f'<a href="/?page={link}&x=1#{number}">{link}</a>' for link in links if link < PAGES)
        body += f'<a href="/?x=1&page={number}">again</a>'
        data = body.encode()
        self.served[number] += 1
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/?page=0&x=1"
    server.shutdown()
    server.server_close()


def crawl(site: str, dupefilter: str, jobdir: object = "", most: int = 0, **settings: object) -> dict:
    arguments = [site, dupefilter, str(jobdir), str(most), json.dumps(settings)]
    done = subprocess.run([sys.executable, "-c", CRAWL, *arguments], capture_output=True, timeout=300)
    if "killed_at" in settings:
        assert done.returncode == -9, done.stderr.decode()
        return {}
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout.decode().splitlines()[-1])


OURS = "pymayhap.scrapy.DupeFilter"
ADDON = "pymayhap.scrapy.Addon"
THEIRS = "scrapy.dupefilters.RFPDupeFilter"


def test_a_crawl_visits_the_pages_that_scrapy_alone_visits(site):
    theirs, ours = crawl(site, THEIRS), crawl(site, OURS, MAYHAP_CAPACITY=10_000)
    assert len(set(theirs["pages"])) == PAGES
    assert ours["pages"] == theirs["pages"] and ours["duplicates"] == theirs["duplicates"]
    for name, crawled in (("theirs", theirs), ("ours", ours)):
        print(f"{name}: {crawled['seconds']:.1f} s, {crawled['memory'] / 1e6:.0f} MB")


def test_a_crawl_that_is_resumed_visits_each_page_once(site, tmp_path):
    first = crawl(site, OURS, tmp_path / "job", most=PAGES // 3, MAYHAP_CAPACITY=100)
    second = crawl(site, OURS, tmp_path / "job", MAYHAP_CAPACITY=100)
    # Scrapy does not ask the filter for the page that a spider starts with.
    pages = [page for page in first["pages"] + second["pages"] if page != site]
    assert 0 < len(first["pages"]) < PAGES and len(pages) == len(set(pages)) == PAGES - 1
    assert (tmp_path / "job" / ".requests-1.mayhap.mayhap-building").exists(), "it has grown past its capacity"


def test_a_crawl_that_is_killed_and_resumed_fetches_every_page(site, tmp_path):
    # Killed, closed in order, killed with the queue of the one before, and left to end.
    Page.served.clear()
    crawl(site, ADDON, tmp_path / "job", killed_at=PAGES // 5)
    crawl(site, ADDON, tmp_path / "job", most=PAGES // 5)
    crawl(site, ADDON, tmp_path / "job", killed_at=PAGES // 10)
    crawl(site, ADDON, tmp_path / "job")
    print(f"{len(Page.served)} of {PAGES} pages, {Page.served.total()} fetched")
    assert len(Page.served) == PAGES
    # Each crawl begins with the first page; a kill costs the pages on their way.
    assert Page.served.total() <= PAGES + 4 + 2 * 32
    assert crawl(site, ADDON, tmp_path / "job")["pages"] == [site], "nothing is left to do"


def test_a_journal_is_as_long_as_what_waits(tmp_path, monkeypatch):
    from pymayhap.scrapy import _Journal
    from scrapy import Request

    monkeypatch.setattr(_Journal, "_SLACK", 50_000)
    journal = _Journal(str(tmp_path))
    for number in range(2000):
        journal.scheduled(b"%020d" % number, Request(f"http://example.org/{number}"), None)
        if number % 100:
            journal.done(b"%020d" % number)
    assert (tmp_path / "requests.journal").stat().st_size < 80_000
    again = _Journal(str(tmp_path))
    # The last that was done is written with the next.
    assert {int(key) for key in again.lost} == {*range(0, 2000, 100), 1999}
    assert [request.url for request in again.requests(None)][0] == "http://example.org/0"
    again.close()
    assert not _Journal(str(tmp_path)).lost, "it was closed in order"
    with open(tmp_path / "requests.journal", "ab") as file:
        file.write(b"+\x14\0\0")
    assert len(_Journal(str(tmp_path)).lost) == 21, "a record that was cut short is the end"


def test_a_filter_begins_small_and_grows(tmp_path):
    from pymayhap.scrapy import DupeFilter

    assert DupeFilter().seen.nbytes < 100_000
    kept = DupeFilter(str(tmp_path))
    kept.close("finished")
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 100_000


def test_two_crawlers_share_a_filter_in_redis(site, redis_url):
    address = redis_url + "#crawl"
    # The first crawler sees every page; to the second none is new, but for the one it begins with.
    first = crawl(site, OURS, MAYHAP_REDIS=address, MAYHAP_CAPACITY=10_000)
    second = crawl(site, OURS, MAYHAP_REDIS=address, MAYHAP_CAPACITY=10_000)
    assert len(set(first["pages"])) == PAGES and set(second["pages"]) == {site}


def test_a_window_forgets(tmp_path):
    from pymayhap.scrapy import DupeFilter
    from scrapy import Request

    seen = DupeFilter(str(tmp_path), capacity=1000, window=3600)
    request = Request("http://example.org/")
    assert (seen.request_seen(request), seen.request_seen(request)) == (False, True)
    seen.close("finished")
    again = DupeFilter(str(tmp_path), capacity=1000, window=3600)
    assert again.request_seen(request)
    generation = again.seen.generation
    again.seen.rotate_to(generation + 4)
    assert request.url and again.fingerprinter.fingerprint(request) not in again.seen
