"""A guard before a table of PostgreSQL that several programs write: made-up keys do not reach it.

    python guard_postgres.py [ROWS]

starts a PostgreSQL of its own, which ends with the program. A trigger announces every new row, so rows of all programs get into the
filter. While a second process inserts without a pause, the filter is rebuilt, and no row is missing at any moment. How many queries
reach the table is what the server counts.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pymayhap

try:
    import psycopg
except ImportError:
    sys.exit("SKIPPED: psycopg is not installed; pip install 'psycopg[binary]'")

TABLE = """
    CREATE TABLE users (name TEXT PRIMARY KEY, email TEXT);
    CREATE FUNCTION announce() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN PERFORM pg_notify('users', NEW.name); RETURN NULL; END $$;
    CREATE EXTENSION pg_stat_statements;
"""
TRIGGER = "CREATE TRIGGER announce AFTER INSERT ON users FOR EACH ROW EXECUTE FUNCTION announce()"
FIND = "SELECT email FROM users WHERE name = %s"


class Guard:
    """A table behind a filter of its keys."""

    def __init__(self, where: str, rate: float = 0.01) -> None:
        self.database = psycopg.connect(where, autocommit=True)
        # Before the first row is read: a row that is committed later is announced.
        self.announced = psycopg.connect(where, autocommit=True)
        self.announced.execute("LISTEN users")
        self.rate = rate
        self.next: pymayhap.Filter | None = None
        self.filter = self.rebuilt()

    def rebuilt(self, meanwhile: Callable[[], object] = lambda: None) -> pymayhap.Filter:
        """A filter of the rows that are there now; `meanwhile` is called between pages of rows, as requests would be."""
        (rows,) = self.database.execute("SELECT count(*) FROM users").fetchone()
        # From here on announced rows go into both filters. Rows committed before this are in the snapshot.
        self.next = pymayhap.Scalable(2 * rows + 1, self.rate)
        with self.database.transaction(), self.database.cursor(name="keys") as cursor:
            cursor.execute("SELECT name FROM users")
            while page := cursor.fetchmany(5000):
                self.next.update(name for (name,) in page)
                meanwhile()
        made, self.next = self.next, None
        return made

    def insert(self, name: str, email: str) -> None:
        # The filter first: a key that is in it and not in the table costs a query, the other way round loses a row.
        self.add(name)
        self.database.execute("INSERT INTO users VALUES (%s, %s)", (name, email))

    def add(self, name: str) -> None:
        for filter in (self.filter, self.next):
            if filter is not None:
                filter.add(name)

    def listen(self, timeout: float = 0, stop_after: int | None = None) -> list[str]:
        """Takes in rows of other programs. A service does this when the connection is readable."""
        names = [it.payload for it in self.announced.notifies(timeout=timeout, stop_after=stop_after)]
        for name in names:
            self.add(name)
        return names

    def find(self, name: str) -> str | None:
        if name not in self.filter:
            return None
        row = self.database.execute(FIND, (name,)).fetchone()
        return row and row[0]

    def close(self) -> None:
        self.database.close()
        self.announced.close()


def queries(guard: Guard) -> int:
    """The number of rows that the server has looked up since the last call."""
    asked = "SELECT coalesce(sum(calls), 0)::bigint FROM pg_stat_statements WHERE query LIKE 'SELECT email%'"
    (count,) = guard.database.execute(asked).fetchone()
    guard.database.execute("SELECT pg_stat_statements_reset()")
    return count


def write(where: str, first: int) -> None:
    """Another program, which does not use the guard: inserts rows until it is ended."""
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    with psycopg.connect(where, autocommit=True) as database:
        number = first
        while not ended.is_set():
            database.execute("INSERT INTO users VALUES (%s, %s)", (f"user-{number}", f"{number}@example.org"))
            number += 1


@contextlib.contextmanager
def postgres() -> Iterator[str]:
    """A PostgreSQL of our own, without a port: it listens on a socket in a folder that is removed with it."""
    initdb = shutil.which("initdb") or next(iter(sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))[-1:]), None)
    if initdb is None:
        sys.exit("SKIPPED: PostgreSQL is not installed; apt-get install postgresql")
    # It refuses to run as root.
    other: dict[str, object] = {}
    if os.geteuid() == 0:
        users = {user.pw_name: user for user in pwd.getpwall()}
        user = users.get("postgres") or users["nobody"]
        other = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    with tempfile.TemporaryDirectory(prefix="guard", dir="/tmp") as folder:
        if other:
            os.chown(folder, user.pw_uid, user.pw_gid)
        data = f"{folder}/data"
        # Nothing here must survive a loss of power.
        made = [initdb, "-D", data, "-U", "guard", "-A", "trust", "--no-sync", "--no-instructions", "-E", "UTF8", "--no-locale"]
        subprocess.run(made, check=True, stdout=subprocess.DEVNULL, cwd=folder, **other)
        settings = {
            "listen_addresses": "", "unix_socket_directories": folder, "fsync": "off",
            "shared_preload_libraries": "pg_stat_statements",
        }  # fmt: skip
        command = [str(Path(initdb).with_name("postgres")), "-D", data]
        command += [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        with open(f"{folder}/log", "w") as log:
            server = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder, **other)
        where = f"host={folder} user=guard dbname=postgres"
        try:
            while True:
                try:
                    psycopg.connect(where).close()
                    break
                except psycopg.OperationalError:
                    if server.poll() is not None:
                        sys.exit(f"PostgreSQL does not start: {Path(folder, 'log').read_text()}")
                    time.sleep(0.02)
            yield where
        finally:
            server.send_signal(signal.SIGINT)  # ends open connections, then itself
            server.wait()


def main(where: str, rows: int) -> None:
    with psycopg.connect(where, autocommit=True) as database:
        database.execute(TABLE)
        fill = "INSERT INTO users SELECT 'user-' || i, i || '@example.org' FROM generate_series(0, %s) AS i"
        database.execute(fill, (rows - 1,))
        database.execute(TRIGGER)
    guard = Guard(where)
    queries(guard)

    missed = sum(guard.find(f"user-{number}") is None for number in range(0, rows, 10))
    real = queries(guard)
    start = time.perf_counter()
    invented = sum(guard.find(f"made-up-{number}") is not None for number in range(10 * rows))
    guarded = (time.perf_counter() - start) / (10 * rows)
    through = queries(guard)
    start = time.perf_counter()
    for number in range(1000):
        guard.database.execute(FIND, (f"made-up-{number}",)).fetchone()
    alone = (time.perf_counter() - start) / 1000

    late: list[str] = []
    lost = 0

    def serve() -> None:
        """Waits for a row of the other program, and looks it up."""
        nonlocal lost
        names = guard.listen(timeout=60, stop_after=1)
        late.extend(names)
        lost += sum(guard.find(name) is None for name in names)

    writer = subprocess.Popen([sys.executable, __file__, "--write", where, str(rows)])
    while len(late) < 100:
        serve()
    before = len(late)
    start = time.perf_counter()
    guard.filter = guard.rebuilt(meanwhile=serve)
    rebuild = time.perf_counter() - start
    during = len(late) - before
    while len(late) < before + during + 100:
        serve()
    lost += sum(guard.find(name) is None for name in late)
    writer.terminate()
    writer.wait()
    guard.insert("user-last", "last@example.org")
    lost += guard.find("user-last") is None
    while "user-last" not in late:  # announcements arrive in the order of commits
        serve()
    everyone = [name for (name,) in guard.database.execute("SELECT name FROM users")]
    gap = sum(name not in guard.filter for name in everyone)
    size = guard.filter.stats().nbytes
    guard.close()

    saved = 100 - 100 * through / (10 * rows)
    print(f"{len(range(0, rows, 10))} requests for rows: {real} queries, {missed} not found")
    print(f"{10 * rows} requests for made-up names: {through} queries, {saved:.3f} % kept away")
    print(f"{1e6 * guarded:.2f} µs for a made-up name; {1e6 * alone:.0f} µs if it reaches the table")
    print(f"{len(late)} rows of another program: {lost} not found, {during} of them inserted during a rebuild")
    print(f"{len(everyone)} rows after a rebuild of {rebuild:.2f} s: {gap} not found; {size} bytes for the filter")
    assert (missed, invented, lost, gap) == (0, 0, 0, 0) and through < 0.02 * 10 * rows and during > 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--write"]:
        write(sys.argv[2], int(sys.argv[3]))
    else:
        with postgres() as where:
            main(where, int(sys.argv[1]) if len(sys.argv) > 1 else 50_000)
