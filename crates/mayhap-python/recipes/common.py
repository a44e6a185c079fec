"""The users whom two companies have in common, without sending either list.

    python common.py [USERS]

Each has its users in a process of its own. The first sends a filter of its users; the second answers with those of its own that
are in it, which are the common ones and one in a hundred of the others; the first drops the others. Bytes are counted on the way.
"""

from __future__ import annotations

import multiprocessing
import sys
import time
from multiprocessing.connection import Connection

import pymayhap


def second(connection: Connection, users: list[str]) -> None:
    """Has its own list, and learns nothing of the other but the filter."""
    filter = pymayhap.Blocked.from_bytes(connection.recv_bytes())
    found = filter.contains_many(users)
    connection.send_bytes("\n".join(user for user, is_found in zip(users, found) if is_found).encode())


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    ours = [f"user-{number}@example.org" for number in range(count)]
    theirs = [f"user-{number}@example.org" for number in range(count * 9 // 10, count * 19 // 10)]
    here, there = multiprocessing.Pipe()
    process = multiprocessing.Process(target=second, args=(there, theirs))
    process.start()

    start = time.perf_counter()
    filter = pymayhap.Blocked(len(ours), rate=0.01)
    filter.update(ours)
    question = filter.to_bytes()
    here.send_bytes(question)
    answer = here.recv_bytes()
    process.join()
    candidates = answer.decode().split("\n")
    common = set(ours).intersection(candidates)
    took = time.perf_counter() - start

    whole = len("\n".join(theirs).encode())
    print(f"{len(common)} common users, {len(candidates) - len(common)} false positives dropped")
    print(f"{len(question)} bytes sent and {len(answer)} received; the whole list is {whole}; {took:.2f} s")
    assert common == set(ours) & set(theirs) and len(question) + len(answer) < whole / 4


if __name__ == "__main__":
    main()
