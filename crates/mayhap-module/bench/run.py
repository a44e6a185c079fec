#!/usr/bin/env python3
"""Times the module inside servers, and measures memory and rates.

    cargo build --release -p mayhap-module
    crates/mayhap-module/bench/run.py [--keys 1000000] [--rounds 30] [SERVER...]

Without servers, those that `./test.sh` has put into target/servers, and redis-server. Needs nothing but Python.

Times of commands are the server's own (`INFO commandstats`), of 100 keys each, the least of several rounds: other programs on the
machine only add to them. Where redis-benchmark is installed, it sends EXISTS and GET, 64 at a time, in turns, and the most of each
are compared.
Bits per key are those of BF.INFO and CF.INFO; rates are measured with absent keys.
"""

import argparse
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))
BATCH = 100


class Client:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=120)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.socket.makefile("rb", 1 << 16)

    def send(self, packed):
        self.socket.sendall(packed)

    def reply(self):
        line = self.file.readline()
        if not line:
            raise ConnectionError("the server is gone")
        sign, rest = line[:1], line[1:-2]
        if sign == b"-":
            raise RuntimeError(rest.decode())
        if sign == b"$":
            return None if rest == b"-1" else self.file.read(int(rest) + 2)[:-2]
        if sign == b"*":
            return [self.reply() for _ in range(int(rest))]
        return int(rest) if sign == b":" else rest

    def ask(self, *words):
        self.send(pack(words))
        return self.reply()


def pack(words):
    words = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    parts = [b"*%d\r\n" % len(words)]
    for word in words:
        parts.append(b"$%d\r\n%s\r\n" % (len(word), word))
    return b"".join(parts)


class Server:
    """A server of its own on a free port: it is the one that answers with the process id of the child."""

    def __init__(self, program, module):
        self.folder = tempfile.mkdtemp()
        for _ in range(20):
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                port = probe.getsockname()[1]
            options = ["--bind", "127.0.0.1", "--save", "", "--dir", self.folder, "--loadmodule", module, "DIALECT", "redis"]
            self.child = subprocess.Popen([program, "--port", str(port), *options], stdout=subprocess.DEVNULL)
            while self.child.poll() is None:
                try:
                    self.client, self.port = Client(port), port
                    info = self.client.ask("INFO", "server").decode()
                    if f"process_id:{self.child.pid}\r" in info:
                        self.name = field(info, "valkey_version", "") and "Valkey " + field(info, "valkey_version")
                        self.name = self.name or "Redis " + field(info, "redis_version")
                        return
                    break
                except OSError:
                    time.sleep(0.02)
            self.end()
        sys.exit(f"{program} does not start with the module")

    def end(self):
        self.child.kill()
        self.child.wait()

    def close(self):
        self.end()
        shutil.rmtree(self.folder)


def field(info, name, default=None):
    for line in info.splitlines():
        if line.startswith(name + ":"):
            return line.split(":", 1)[1].strip()
    return default


def key(number):
    return b"key:%012d" % number


def batches(command, name, numbers, *words):
    numbers = list(numbers)
    for start in range(0, len(numbers), BATCH):
        yield pack([command, name, *words, *map(key, numbers[start : start + BATCH])])


def run(client, commands):
    """Sends commands, some at a time, and returns the replies."""
    replies = []
    commands = list(commands)
    for start in range(0, len(commands), 16):
        some = commands[start : start + 16]
        client.send(b"".join(some))
        replies += [client.reply() for _ in some]
    return replies


def microseconds(client, command, rounds):
    """The least time of a command, of several rounds of commands that are sent one after the other."""
    least = float("inf")
    for commands in rounds:
        client.ask("CONFIG", "RESETSTAT")
        run(client, commands)
        stats = client.ask("INFO", "commandstats").decode()
        line = next(line for line in stats.splitlines() if line.lower().startswith(f"cmdstat_{command.lower()}:"))
        least = min(least, float(line.split("usec_per_call=")[1].split(",")[0]))
    return least


def per_second(port, *command):
    """Commands per second by redis-benchmark, 64 at a time; each `__rand_int__` is one of a million numbers."""
    options = ["-p", str(port), "-P", "64", "-c", "50", "-n", "1000000", "-r", "1000000", "--csv"]
    output = subprocess.run(["redis-benchmark", *options, *command], capture_output=True, check=True, text=True).stdout
    return float(output.splitlines()[-1].split('","')[1])


def info(client, command, name):
    fields = client.ask(command, name)
    return dict(zip((name.decode() for name in fields[::2]), fields[1::2]))


def measure(program, module, keys, rounds):
    server = Server(program, module)
    client = server.client
    print(f"\n### {server.name}\n")
    times = []
    step = 2000
    for family, reserve, insert, words in [
        ("BF", ["BF.RESERVE", "f", "0.01", keys], "BF.MADD", []),
        ("CF", ["CF.RESERVE", "f", keys], "CF.INSERT", ["ITEMS"]),
    ]:
        client.ask("DEL", "f")
        client.ask(*reserve)
        last = keys - rounds * step
        run(client, batches(insert, "f", range(last), *words))
        new = (batches(insert, "f", range(at, at + step), *words) for at in range(last, keys, step))
        times.append((f"`{insert}`, 100 new keys", microseconds(client, insert, new)))
        exists = f"{family}.MEXISTS"
        inside = (batches(exists, "f", range(at, at + step * 7, 7)) for at in range(0, rounds * 11, 11))
        times.append((f"`{exists}`, 100 keys of the filter", microseconds(client, exists, inside)))
        absent = (batches(exists, "f", range(keys + at, keys + at + step)) for at in range(0, rounds * step, step))
        times.append((f"`{exists}`, 100 absent keys", microseconds(client, exists, absent)))
        one = f"{family}.EXISTS"
        single = [pack([one, "f", key(at * 5)]) for at in range(step)]
        times.append((f"`{one}`", microseconds(client, one, (single for _ in range(rounds)))))
        if shutil.which("redis-benchmark"):
            run(client, (pack(["MSET", *(w for at in range(start, start + 1000) for w in (key(at), b"xxx"))]) for start in range(0, 1_000_000, 1000)))
            words = [[one, "f", "key:__rand_int__"], ["GET", "key:__rand_int__"]]
            turns = [[per_second(server.port, *command) for command in words] for _ in range(3)]
            asked, got = (max(speeds) for speeds in zip(*turns))
            ratio = f"{asked / got:.2f} ({asked / 1e6:.2f} M/s to {got / 1e6:.2f} M/s)"
            times.append((f"`{one}`, 64 at a time, to `GET`", ratio))
    print("| command | microseconds |\n| --- | --: |")
    for name, value in times:
        print(f"| {name} | {value if isinstance(value, str) else f'{value:.2f}'} |")

    print("\n| filter | bits per key | measured rate |\n| --- | --: | --: |")
    for name, reserve, command, words in [
        ("`BF.RESERVE f 0.01 n NONSCALING`", ["BF.RESERVE", "f", "0.01", keys, "NONSCALING"], "BF", []),
        ("`BF.RESERVE f 0.01 n`", ["BF.RESERVE", "f", "0.01", keys], "BF", []),
        ("`BF.RESERVE f 0.01 n/128`, grown", ["BF.RESERVE", "f", "0.01", keys // 128], "BF", []),
        ("`CF.RESERVE f n`", ["CF.RESERVE", "f", keys], "CF", ["ITEMS"]),
        ("`CF.RESERVE f n/128 EXPANSION 2`, grown", ["CF.RESERVE", "f", keys // 128, "EXPANSION", "2"], "CF", ["ITEMS"]),
    ]:
        client.ask("DEL", "f")
        client.ask(*reserve)
        insert = {"BF": "BF.MADD", "CF": "CF.INSERT"}[command]
        run(client, batches(insert, "f", range(keys), *words))
        asked = 200_000
        found = run(client, batches(f"{command}.MEXISTS", "f", range(keys * 2, keys * 2 + asked)))
        rate = sum(map(sum, found)) / asked
        size = info(client, f"{command}.INFO", "f")["Size"]
        missed = run(client, batches(f"{command}.MEXISTS", "f", range(0, keys, 17)))
        assert all(map(all, missed)), "a key is missed"
        print(f"| {name} | {size * 8 / keys:.2f} | {rate * 100:.2f} % |")
    server.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--module", default=os.path.join(ROOT, "target/release/libmayhap_module.so"))
    parser.add_argument("servers", nargs="*")
    arguments = parser.parse_args()
    folder = os.path.join(ROOT, "target/servers")
    known = [shutil.which("redis-server"), f"{folder}/redis8-server", shutil.which("valkey-server") or f"{folder}/valkey-server"]
    for program in arguments.servers or known:
        if program and os.access(program, os.X_OK):
            measure(program, arguments.module, arguments.keys, arguments.rounds)


main()
