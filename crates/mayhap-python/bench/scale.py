"""Three ways to dedupe or look up keys on many machines, measured small: filter union, shuffle by hash, shared Redis.

    python crates/mayhap-python/bench/scale.py [--keys N] [dask] [ray] [spark] [redis]

Prints what each key costs: nanoseconds of CPU in all processes together (the driver, its workers, and for Redis the server),
seconds on the clock, and bytes that leave a process. `docs/scale.md` takes these to 10^9 and 10^11 keys. Engines that are not
installed are left out. Everything is local: two workers, and a server on a free port.
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager

import numpy as np
import pandas as pd
from pymayhap import Blocked, RedisFilter

PARTS = 4
TICK = os.sysconf("SC_CLK_TCK")


def processes() -> dict[int, tuple[int, float]]:
    """The parent of every process, and the seconds of CPU that it has used."""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat") as file:
                    fields = file.read().rpartition(")")[2].split()
            except OSError:
                continue
            # Its own time, and that of children which have ended.
            found[int(name)] = int(fields[1]), sum(map(int, fields[11:15])) / TICK
    return found


def cpu() -> float:
    """Seconds of CPU of this process and all that descend from it."""
    all_processes = processes()
    total, left = 0.0, [os.getpid()]
    while left:
        parent = left.pop()
        total += all_processes.get(parent, (0, 0.0))[1]
        left += [process for process, (of, _) in all_processes.items() if of == parent]
    return total


def report(name: str, keys: int, moved: Callable[[], float], work: Callable[[], object]) -> None:
    started, used = time.perf_counter(), cpu()
    work()
    used, took = cpu() - used, time.perf_counter() - started
    print(f"{name:34}{used / keys * 1e9:10.0f}{took:10.2f}{moved():14.2f}", flush=True)


def frame(keys: int) -> pd.DataFrame:
    """Each key twice, in an order that is not theirs."""
    return pd.DataFrame({"k": np.random.default_rng(1).permutation(np.arange(keys) % (keys // 2)) * 7919})


def union_bytes(keys: int, filters: int) -> float:
    """The bytes sent per key when every part sends a filter of all keys."""
    return filters * Blocked(keys // 2, 0.01).stats().nbytes / keys


def dask(keys: int) -> None:
    import dask.dataframe as dd
    import distributed

    import pymayhap.dask as ours

    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster):
        rows = dd.from_pandas(frame(keys), npartitions=PARTS).persist()
        distributed.wait(rows)
        report("Dask: union", keys, lambda: union_bytes(keys, PARTS), lambda: ours.build(rows, "k", keys // 2))
        kept = ours.dedupe(rows, "k", keys // 2)
        report("Dask: shuffle and filter", keys, lambda: 8, lambda: len(kept))
        report("Dask: drop_duplicates, exact", keys, lambda: 8, lambda: len(rows.drop_duplicates(split_out=PARTS)))


def ray(keys: int) -> None:
    import ray
    import ray.data

    import pymayhap.ray as ours

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=500 << 20)
    try:
        ray.data.DataContext.get_current().enable_progress_bars = False
        whole, size = frame(keys), -(-keys // PARTS)
        rows = ray.data.from_pandas([whole[at : at + size] for at in range(0, keys, size)]).materialize()
        report("Ray: union", keys, lambda: union_bytes(keys, 2), lambda: ours.build(rows, "k", keys // 2))
        report("Ray: shuffle and filter", keys, lambda: 8, lambda: ours.dedupe(rows, "k", keys // 2).count())
    finally:
        ray.shutdown()


def spark(keys: int) -> None:
    from pyspark.sql import SparkSession

    import pymayhap.spark as ours

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.sql.shuffle.partitions", str(PARTS))
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    rows = session.range(0, keys, numPartitions=PARTS).selectExpr(f"id % {keys // 2} * 7919 as k")
    with tempfile.TemporaryDirectory() as folder:
        report(
            "Spark: union through files", keys, lambda: union_bytes(keys, PARTS),
            lambda: ours.build(rows, "k", keys // 2, folder=folder),
        )  # fmt: skip
    report("Spark: shuffle and filter", keys, lambda: 8, lambda: ours.dedupe(rows, "k", keys // 2).count())
    report("Spark: dropDuplicates, exact", keys, lambda: 8, lambda: rows.dropDuplicates(["k"]).count())
    session.stop()


@contextmanager
def server() -> Iterator[int]:
    """A Redis of our own."""
    program = shutil.which("redis-server") or shutil.which("valkey-server")
    if not program:
        raise ImportError("redis-server is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        options = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder]
        process = subprocess.Popen([program, *options], stdout=subprocess.DEVNULL)
        try:
            while not info(port):
                if process.poll() is not None:
                    raise OSError("the server did not start")
                time.sleep(0.05)
            yield port
        finally:
            process.kill()
            process.wait()


def info(port: int) -> dict[str, str]:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
            client.sendall(b"INFO\r\n")
            text = client.recv(1 << 16).decode()
    except OSError:
        return {}
    return dict(line.split(":", 1) for line in text.splitlines() if ":" in line)


def add_share(port: int, share: np.ndarray, capacity: int) -> int:
    seen = RedisFilter.create(f"redis://127.0.0.1:{port}#seen", capacity)
    return sum(sum(seen.add_many(part)) for part in np.array_split(share, max(len(share) // 10_000, 1)))


def redis(keys: int) -> None:
    with server() as port, ProcessPoolExecutor(2) as workers:
        shares = np.array_split(frame(keys)["k"].to_numpy(), 2)

        def wire() -> float:
            stats = info(port)
            return (int(stats["total_net_input_bytes"]) + int(stats["total_net_output_bytes"])) / keys

        def work() -> None:
            list(workers.map(add_share, [port] * 2, shares, [keys // 2] * 2))

        list(workers.map(abs, range(2)))  # started
        report("Redis: two processes share it", keys, wire, work)


def local(keys: int) -> None:
    column = frame(keys)["k"].to_numpy()
    seen = Blocked(keys // 2, 0.01)
    report("one process: add_many", keys, lambda: 0, lambda: seen.add_many(column))
    report("one process: pandas, exact", keys, lambda: 0, lambda: pd.Series(column).duplicated())


ENGINES = {"local": local, "dask": dask, "ray": ray, "spark": spark, "redis": redis}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("engines", nargs="*", choices=[[], *ENGINES], default=list(ENGINES))
    parser.add_argument("--keys", type=int, default=4_000_000)
    options = parser.parse_args()
    print(f"{options.keys} keys, each twice{'':14}CPU ns/key   seconds  bytes moved/key")
    for name in options.engines:
        try:
            ENGINES[name](options.keys)
        except ImportError as error:
            print(f"{name}: SKIPPED: {error}")


if __name__ == "__main__":
    main()
