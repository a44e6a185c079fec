"""A spell checker that keeps no words.

    python spelling.py WORDS [TEXT]

WORDS is a list of words, or any text that is spelled well. The dictionary is a filter that is built once: a word that it does
not have is certainly not in the list. Words one letter apart that it has are the suggestions.
"""

from __future__ import annotations

import re
import string
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pymayhap


def words(text: str) -> list[str]:
    return re.findall(r"[a-z]+", text.lower())


def near(word: str) -> Iterator[str]:
    """All words one letter apart."""
    for at in range(len(word) + 1):
        before, after = word[:at], word[at:]
        yield before + after[1:]
        yield before + after[1:2] + after[:1] + after[2:]
        for letter in string.ascii_lowercase:
            yield before + letter + after[1:]
            yield before + letter + after


def main() -> None:
    listed = sorted(set(words(Path(sys.argv[1]).read_text())))
    dictionary = pymayhap.Ribbon(listed, rate=1e-6)  # each word has hundreds of neighbours
    text = Path(sys.argv[2]).read_text() if len(sys.argv) > 2 else sys.stdin.read()
    start = time.perf_counter()
    for word in dict.fromkeys(words(text)):
        if word not in dictionary:
            close = sorted({other for other in near(word) if other in dictionary})
            print(f"{word}: {', '.join(close[:5]) or 'no suggestion'}")
    took = 1000 * (time.perf_counter() - start)
    letters, size = sum(map(len, listed)), dictionary.stats().nbytes
    print(f"{len(listed)} words of {letters} letters in {size} bytes; text checked in {took:.1f} ms", file=sys.stderr)


if __name__ == "__main__":
    main()
