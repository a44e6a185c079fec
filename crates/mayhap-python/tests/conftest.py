"""Fixtures that several tests share: filters of every kind, the command, and a server of our own."""

from __future__ import annotations

import os
import random
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pymayhap
import pytest

ROOT = Path(__file__).resolve().parents[3]

#: Kinds that keys are added to one by one.
GROWING = [
    pymayhap.Bloom, pymayhap.Blocked, pymayhap.SplitBlock, pymayhap.Counting, pymayhap.Spectral, pymayhap.Shifting,
    pymayhap.Spatial, pymayhap.Scalable, pymayhap.Windowed, pymayhap.Guarded, pymayhap.Cuckoo,
]  # fmt: skip
#: Kinds that are built once.
FIXED = [
    pymayhap.Fuse, pymayhap.Ribbon, pymayhap.Cascade, pymayhap.ShiftingAssociation, pymayhap.ShiftingMultiplicity,
]  # fmt: skip
ATOMIC = [pymayhap.AtomicBloom, pymayhap.AtomicBlocked, pymayhap.AtomicSplitBlock]


def filled(cls: type[pymayhap.Filter], keys: list, capacity: int = 1000) -> pymayhap.Filter:
    """A filter of a kind that has these keys."""
    if cls in FIXED:
        is_of_two = cls in (pymayhap.Cascade, pymayhap.ShiftingAssociation)
        return cls(keys, ["another"]) if is_of_two else cls(keys)
    made = cls(capacity)
    made.update(keys)
    return made


#: Types of Arrow columns that keys are in.
TYPES = ["int32", "int64", "string", "large_string", "dictionary"]
NULLS = ["keep", "one", "drop"]


def random_blocks(seed: int, type_: str) -> list[list]:
    """Keys in five blocks, with nulls in all but the first, and nothing else in the last."""
    numbers = random.Random(seed)
    # Neighbours that are one and the same float.
    pool: list = [numbers.randrange(2**30 if type_ == "int32" else 2**60) | 2**29 for _ in range(40)]
    pool += [key + 1 for key in pool]
    if not type_.startswith("int"):
        pool = [f"clé {key}" for key in pool]
    blocks = [[numbers.choice(pool) for _ in range(60)] for _ in range(4)] + [[None] * 7]
    return blocks[:1] + [[key if numbers.random() < 0.7 else None for key in block] for block in blocks[1:]]


def arrow_type(type_: str):
    """The type of PyArrow of this name."""
    import pyarrow as pa

    return pa.dictionary(pa.int32(), pa.string()) if type_ == "dictionary" else getattr(pa, type_)()


def kept(keys: list, nulls: str) -> list:
    """The exact keys without duplicates, sorted, nulls last."""
    count = keys.count(None)
    return sorted(set(keys) - {None}) + [None] * {"keep": count, "one": min(count, 1), "drop": 0}[nulls]


def found(keys: list, among: list, nulls: str) -> list[bool]:
    """Exactly which keys are among others."""
    null = {"keep": True, "one": None in among, "drop": False}[nulls]
    return [null if key is None else key in among for key in keys]


def nulls_last(keys) -> list:
    return sorted(keys, key=lambda key: (key is None, key or 0))


@pytest.fixture(scope="session")
def command() -> str:
    """The command `mayhap`, as it was built beside this."""
    for folder in (os.environ.get("MAYHAP_BIN"), ROOT / "target/debug", ROOT / "target/release"):
        if folder and (Path(folder) / "mayhap").exists():
            return str(Path(folder) / "mayhap")
    pytest.skip("SKIPPED: the command is not built; cargo build -p mayhap-cli")


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of our own, on a free port."""
    program = shutil.which("redis-server") or shutil.which("valkey-server")
    if not program:
        pytest.skip("SKIPPED: neither redis-server nor valkey-server is installed")
    folder = tmp_path_factory.mktemp("redis")
    deadline = time.monotonic() + 60
    while True:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        options = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
        server = subprocess.Popen([program, *options], stdout=subprocess.DEVNULL)
        try:
            while server.poll() is None and not answers(port, server.pid):
                assert time.monotonic() < deadline, "the server does not answer"
                time.sleep(0.01)
            # Another program may have taken the port: the server has ended, and the next port is tried.
            if server.poll() is None:
                yield f"redis://127.0.0.1:{port}"
                return
            assert time.monotonic() < deadline, "the server does not start"
        finally:
            server.kill()
            server.wait()


def answers(port: int, process: int) -> bool:
    """Returns whether this process answers on the port; a connection alone may have reached another, or itself."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=10) as stream:
            stream.sendall(b"INFO server\r\nQUIT\r\n")
            text = b"".join(iter(lambda: stream.recv(65536), b""))
            return b"process_id:%d\r\n" % process in text
    except OSError:
        return False
