# Makes the golden files of this folder with the command `bloom`. See README.md one folder up.
import json
import subprocess


def bloom(*arguments, keys=b""):
    return subprocess.run(["bloom", *arguments], input=keys, stdout=subprocess.PIPE, check=True).stdout


def key(kind, i):
    if kind == "texts":
        return f"clé-{i}".encode()
    # No line end: the command reads a key per line.
    return bytes(b if b not in (10, 13) else 0 for b in ((37 * j + 11 * i) % 256 for j in range(i % 41)))


def lines(kind, numbers):
    return b"".join(key(kind, i) + b"\n" for i in numbers)


cases = []
for kind in ["texts", "lines"]:
    for capacity, rate, keys, data in [
        (100, 0.1, 100, b""),
        (1000, 0.001, 1000, b""),
        (300, 0.25, 300, b"some data\nof two lines\n"),
        (1, 0.5, 20, b""),
        (40, 1e-12, 40, b"x\n"),
    ]:
        name = f"{kind}-{capacity}-{rate}.bloom"
        bloom("create", "-n", str(capacity), "-p", str(rate), name, keys=lines(kind, range(keys)))
        if data:
            bloom("set-data", name, keys=data)
        asked = range(keys - 20, keys + 400)
        found = set(bloom("check", name, keys=lines(kind, asked)).split(b"\n")[:-1])
        cases.append({
            "file": name, "kind": kind, "capacity": capacity, "rate": rate, "keys": keys,
            "data": data.decode(), "asked_from": keys - 20,
            "answers": "".join("1" if key(kind, i) in found else "0" for i in asked),
        })

sizes = []
for capacity in [1, 2, 3, 10, 77, 1000, 12345, 1000003]:
    for rate in [0.9, 0.5, 0.25, 0.1, 0.05, 0.03, 0.01, 0.001, 1e-5, 1e-9, 1e-15]:
        bloom("create", "-n", str(capacity), "-p", str(rate), "size.tmp")
        with open("size.tmp", "rb") as file:
            header = file.read(48)
        hashes, bits = (int.from_bytes(header[at : at + 8], "little") for at in (24, 32))
        sizes.append([capacity, rate, bits, hashes])

with open("cases.json", "w") as file:
    file.write('{\n  "producer": "bloom 0.2.4 (golang-github-dcso-bloom-cli)",\n  "cases": [\n')
    file.write(",\n".join("    " + json.dumps(case) for case in cases))
    file.write('\n  ],\n  "sizes": [\n')
    file.write(",\n".join("    " + json.dumps(size) for size in sizes))
    file.write("\n  ]\n}\n")
