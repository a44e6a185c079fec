"""A spam list with a white list: no sender who is known to be good is lost.

    python spam.py [ADDRESSES]

A filter of spam addresses takes about a hundredth of the good senders for spam. Those who are known are found before any mail is
lost: each that the filter finds goes on its list of exceptions.
"""

from __future__ import annotations

import sys
import time

import pymayhap


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    spam = [f"offer-{number}@junk-{number % 997}.example" for number in range(count)]
    known = [f"friend-{number}@mail-{number % 83}.example" for number in range(count // 10)]
    others = [f"visitor-{number}@web-{number % 89}.example" for number in range(count // 10)]

    listed = pymayhap.Guarded(len(spam), rate=0.01)
    listed.update(spam)
    lost = sum(listed.contains_many(known))
    for sender in known:
        if sender in listed:
            listed.report_false_positive(sender)

    start = time.perf_counter()
    kept_out = sum(listed.contains_many(spam))
    each = (time.perf_counter() - start) / len(spam)
    still_lost = sum(listed.contains_many(known))
    unknown = sum(listed.contains_many(others))
    print(f"{kept_out} of {len(spam)} spam addresses are recognised")
    print(f"{lost} of {len(known)} known senders were taken for spam, and {still_lost} are after the white list")
    print(f"{unknown} of {len(others)} unknown senders are taken for spam: ask them to confirm, do not drop their mail")
    set_bytes = sum(map(sys.getsizeof, spam)) + sys.getsizeof(set(spam))
    print(f"{len(listed.to_bytes())} bytes; a set of the addresses takes {set_bytes}; {1e9 * each:.0f} ns for an address")
    assert kept_out == len(spam) and still_lost == 0 and unknown < 0.02 * len(others)


if __name__ == "__main__":
    main()
