"""A crawler that fetches no page twice, also when it is killed and started again.

    python crawler.py [PAGES]

serves a site of linked pages on this machine, crawls it, kills the crawler in the middle, and lets it resume. The queue is a file
of URLs, and a second file has a byte for each that is done. The filter is made from the queue, so nothing else has to be kept.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urljoin
from urllib.request import urlopen

import pymayhap


def crawl(start: str, folder: Path, capacity: int) -> None:
    """Fetches every page that can be reached, in the order in which links to them were found."""
    seen = pymayhap.Scalable(capacity, rate=1e-6)  # one page in a million may be taken for one that was seen
    # Both files only ever grow: whenever the crawler is killed, what was written before is there.
    with (folder / "queue").open("a+b") as queue, (folder / "done").open("ab") as done:
        queue.seek(0)
        written = queue.read()
        queue.truncate(written.rfind(b"\n") + 1)  # a line that was cut off
        urls = written.decode().split("\n")[:-1]
        position = done.tell()  # a byte for each page

        def append(new: list[str]) -> None:
            urls.extend(new)
            queue.write("".join(url + "\n" for url in new).encode())
            queue.flush()

        append([] if urls else [start])
        seen.update(urls)
        while position < len(urls):
            page = urls[position]
            links = [urljoin(page, link) for link in re.findall(r'href="([^"]*)"', urlopen(page).read().decode())]
            append([link for link, is_new in zip(links, seen.add_many(links)) if is_new])
            # Only now: a crawler that is killed before this fetches the page again, and finds no new link on it.
            done.write(b".")
            done.flush()
            position += 1


class Site(BaseHTTPRequestHandler):
    """Pages that link to pages; every one can be reached from the first."""

    pages = 0
    fetched: Counter[str] = Counter()

    def do_GET(self) -> None:
        number = int(self.path.removeprefix("/page/"))
        self.fetched[self.path] += 1
        links = {2 * number + 1, 2 * number + 2, number * 7 % self.pages, number * 31 % self.pages, 0}
        body = "".join(f'<a href="/page/{link}">{link}</a>' for link in links if link < self.pages).encode()
        try:
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except ConnectionError:
            pass  # the crawler was killed

    def log_message(self, *arguments: object) -> None:
        pass


def main() -> None:
    Site.pages = int(sys.argv[1]) if len(sys.argv) > 1 else 3000
    server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    start = f"http://127.0.0.1:{server.server_port}/page/0"
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "--crawl", start, folder, str(Site.pages)]
        kills = 0
        while True:
            crawler = subprocess.Popen(command)
            enough = (kills + 1) * Site.pages // 4
            while crawler.poll() is None and (kills == 3 or Site.fetched.total() < enough):
                time.sleep(0.001)
            if crawler.poll() is not None:
                break
            crawler.kill()
            crawler.wait()
            kills += 1
        assert crawler.returncode == 0, "the crawler failed"
    took = time.monotonic() - began
    server.shutdown()
    missing = Site.pages - len(Site.fetched)
    again = Site.fetched.total() - len(Site.fetched)
    size = pymayhap.Scalable.planned_bytes(Site.pages, 1e-6)
    print(f"{len(Site.fetched)} pages fetched, {missing} missed, {kills} kills, {again} fetched again")
    print(f"{size} bytes for the filter, {size * 8 / Site.pages:.0f} bits per page; {took:.1f} s")
    assert missing == 0 and again <= kills, "a page is fetched again only when its fetch was killed"


if __name__ == "__main__":
    if sys.argv[1:2] == ["--crawl"]:
        crawl(sys.argv[2], Path(sys.argv[3]), int(sys.argv[4]))
    else:
        main()
