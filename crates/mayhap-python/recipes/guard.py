"""A guard against cache penetration: made-up keys do not reach the database.

    python guard.py [ROWS]

Requests for rows that are not there miss every cache and fall through to the database. A filter of all keys stands before it:
what it does not find is certainly not there. Rows that are inserted later are found, and the filter is rebuilt without a gap.
"""

from __future__ import annotations

import random
import sqlite3
import sys
import tempfile
import time
from pathlib import Path

import pymayhap


class Guard:
    """A table of a database behind a filter of its keys."""

    def __init__(self, database: sqlite3.Connection, rate: float = 0.01) -> None:
        self.database, self.rate, self.queries = database, rate, 0
        self.next: pymayhap.Filter | None = None
        self.filter = self.rebuilt()

    def rebuilt(self) -> pymayhap.Filter:
        """A filter of the keys that are there now. Keys that are inserted meanwhile are in it too."""
        (rows,) = self.database.execute("SELECT count(*) FROM users").fetchone()
        self.next = pymayhap.Scalable(2 * rows, self.rate)
        # From here on `insert` adds to both filters, so the order of reading and inserting does not matter.
        self.next.update(name for (name,) in self.database.execute("SELECT name FROM users"))
        made, self.next = self.next, None
        return made

    def insert(self, name: str, email: str) -> None:
        # The filter first: a key that is in it and not in the table costs a query, the other way round loses a row.
        for filter in (self.filter, self.next):
            if filter is not None:
                filter.add(name)
        with self.database:
            self.database.execute("INSERT INTO users VALUES (?, ?)", (name, email))

    def find(self, name: str) -> str | None:
        if name not in self.filter:
            return None
        self.queries += 1
        row = self.database.execute("SELECT email FROM users WHERE name = ?", (name,)).fetchone()
        return row and row[0]


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000
    choose = random.Random(18)
    with tempfile.TemporaryDirectory() as folder:
        database = sqlite3.connect(Path(folder) / "users.db")
        database.execute("CREATE TABLE users (name TEXT PRIMARY KEY, email TEXT)")
        with database:
            names = ((f"user-{number}", f"{number}@example.org") for number in range(rows))
            database.executemany("INSERT INTO users VALUES (?, ?)", names)
        guard = Guard(database)

        missed = sum(guard.find(f"user-{choose.randrange(rows)}") is None for _ in range(rows))
        real, guard.queries = guard.queries, 0
        start = time.perf_counter()
        invented = sum(guard.find(f"made-up-{number}") is not None for number in range(10 * rows))
        guarded, through = (time.perf_counter() - start) / (10 * rows), guard.queries
        start = time.perf_counter()
        for number in range(1000):
            database.execute("SELECT email FROM users WHERE name = ?", (f"made-up-{number}",)).fetchone()
        alone = (time.perf_counter() - start) / 1000
        for number in range(rows, rows + 1000):
            guard.insert(f"user-{number}", f"{number}@example.org")
        late = sum(guard.find(f"user-{number}") is None for number in range(rows, rows + 1000))
        with database:
            database.execute("DELETE FROM users WHERE name < 'user-2'")
        guard.filter = guard.rebuilt()
        lost = sum(guard.find(name) is None for (name,) in database.execute("SELECT name FROM users").fetchall())
        size = guard.filter.stats().nbytes
        database.close()

    print(f"{rows} requests for rows: {real} queries, {missed} not found")
    print(f"{10 * rows} requests for made-up names: {through} queries, {100 - 100 * through / (10 * rows):.3f} % kept away")
    print(f"{1e6 * guarded:.2f} µs for a made-up name; {1e6 * alone:.2f} µs if it reaches the table")
    print(f"1000 rows inserted later: {late} not found; after a rebuild: {lost} not found")
    print(f"{size} bytes for the filter")
    assert (missed, invented, late, lost) == (0, 0, 0, 0) and through < 0.02 * 10 * rows


if __name__ == "__main__":
    main()
