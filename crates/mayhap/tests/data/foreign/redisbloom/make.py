#!/usr/bin/env python3
"""Makes dumps as RedisBloom's BF.SCANDUMP would, its pieces one after the other, from a description of layout and hash alone.

Shares no code with the library. The README of the folder above says which keys there are.
"""

import json
import math
import struct

MASK = (1 << 64) - 1
M = 0xC6A4A7935BD1E995


def murmur64a(key, seed):
    hash_ = (seed ^ len(key) * M) & MASK
    whole = len(key) // 8 * 8
    for (word,) in struct.iter_unpack("<Q", key[:whole]):
        word = word * M & MASK
        word ^= word >> 47
        word = word * M & MASK
        hash_ = (hash_ ^ word) * M & MASK
    if key[whole:]:
        hash_ = (hash_ ^ int.from_bytes(key[whole:], "little")) * M & MASK
    hash_ ^= hash_ >> 47
    hash_ = hash_ * M & MASK
    return hash_ ^ hash_ >> 47


class Layer:
    def __init__(self, capacity, rate):
        self.capacity, self.rate, self.keys = capacity, rate, 0
        self.per_key = -math.log(rate) / math.log(2) ** 2
        self.hashes = math.ceil(math.log(2) * self.per_key)
        bits = int(capacity * self.per_key)
        self.bits = (bits + 63) // 64 * 64
        self.array = bytearray(self.bits // 8)

    def positions(self, key):
        a = murmur64a(key, M)
        b = murmur64a(key, a)
        return [((a + i * b) & MASK) % self.bits for i in range(self.hashes)]

    def contains(self, key):
        return all(self.array[p // 8] >> p % 8 & 1 for p in self.positions(key))

    def insert(self, key):
        for p in self.positions(key):
            self.array[p // 8] |= 1 << p % 8
        self.keys += 1

    def header(self):
        numbers = (len(self.array), self.bits, self.keys, self.rate, self.per_key, self.hashes, self.capacity, 0)
        return struct.pack("<QQQddIQB", *numbers)


class Filter:
    def __init__(self, rate, capacity, expansion):
        self.expansion = expansion
        self.layers = [Layer(capacity, rate / 2 if expansion else rate)]

    def contains(self, key):
        return any(layer.contains(key) for layer in reversed(self.layers))

    def insert(self, key):
        if self.contains(key):
            return
        newest = self.layers[-1]
        if newest.keys == newest.capacity:
            newest = Layer(newest.capacity * self.expansion, newest.rate / 2)
            self.layers.append(newest)
        newest.insert(key)

    def dump(self):
        keys = sum(layer.keys for layer in self.layers)
        options = 5 if self.expansion else 13
        header = struct.pack("<QIII", keys, len(self.layers), options, self.expansion or 2)
        header += b"".join(layer.header() for layer in self.layers)
        return header + b"".join(bytes(layer.array) for layer in self.layers)


def key(number):
    return f"clé-{number}".encode()


def main():
    cases = []
    for name, rate, capacity, expansion, keys in [
        ("empty-single.bf", 0.01, 1000, 2, 0),
        ("scaling-single.bf", 0.01, 1000, 2, 900),
        ("fixed-single.bf", 0.001, 500, 0, 500),
        ("grown.bf", 0.01, 100, 2, 1500),
        ("grown-alike.bf", 0.05, 100, 1, 450),
    ]:
        filter_ = Filter(rate, capacity, expansion)
        for number in range(keys):
            filter_.insert(key(number))
        with open(name, "wb") as file:
            file.write(filter_.dump())
        asked_from = max(keys - 210, 0)
        answers = "".join(str(int(filter_.contains(key(n)))) for n in range(asked_from, asked_from + 420))
        layers = len(filter_.layers)
        case = {"file": name, "kind": "texts", "keys": keys, "asked_from": asked_from, "answers": answers}
        cases.append(case | {"rate": rate, "capacity": capacity, "expansion": expansion, "layers": layers})
    with open("cases.json", "w") as file:
        json.dump({"producer": "make.py, after a description", "cases": cases}, file, indent=1)
        file.write("\n")


main()
