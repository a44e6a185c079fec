"""The same file for Python, the Rust command and other programs: 10^5 keys each, no difference."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pymayhap
import pytest
from conftest import FIXED, GROWING, ROOT
from pymayhap import Blocked, Bloom, Filter

#: Files per kind and format and direction, each with other keys and another rate; more by `MAYHAP_FILES=20`.
FILES = int(os.environ.get("MAYHAP_FILES", "1"))
RATES = (0.01, 0.001, 0.03, 0.0001, 0.1)


def keys(file: int, first: int = 0, count: int = 100_000) -> list[str]:
    return [f"clé {file} {i}" for i in range(first, first + count)]


KEYS, ASKED = keys(0), keys(0, 90_000)
FOREIGN = ROOT / "crates/mayhap/tests/data/foreign"
GOLDEN = ROOT / "crates/mayhap/tests/data/golden"


def run(command: str, *arguments: object, input: str = "") -> str:
    done = subprocess.run([command, *map(str, arguments)], input=input.encode(), capture_output=True)
    # As in grep, 1 means that no key was found.
    assert done.returncode in (0, 1), done.stderr.decode()
    return done.stdout.decode()


def asked_of_command(command: str, path: Path, keys: list[str]) -> list[bool]:
    """The answer of the command for each key."""
    found = set(run(command, "check", path, input="\n".join(keys)).splitlines())
    return [key in found for key in keys]


@pytest.mark.parametrize("file", range(FILES))
@pytest.mark.parametrize("cls", GROWING + FIXED)
def test_the_command_answers_as_python_for_a_file_of_python(cls, file, command, tmp_path):
    path, inserted = tmp_path / "seen.mayhap", keys(file)
    if cls in FIXED:
        is_of_two = cls in (pymayhap.Cascade, pymayhap.ShiftingAssociation)
        seen = cls(inserted, ["other"]) if is_of_two else cls(inserted)
    else:
        seen = cls(len(inserted), RATES[file % len(RATES)])
        seen.update(inserted)
    seen.save(path)
    asked = keys(file, 90_000)
    assert asked_of_command(command, path, asked) == seen.contains_many(asked)


KINDS = ["bloom", "blocked", "split-block", "counting", "spectral", "shifting", "scalable", "windowed", "guarded",
         "cuckoo", "spatial", "fuse", "ribbon", "cascade", "shifting-association", "shifting-multiplicity"]  # fmt: skip


def built_by_command(command: str, kind: str, file: int, path: Path) -> None:
    """Makes a file by the command, in the way that its kind needs."""
    lines = "\n".join(keys(file))
    rate = ["--rate", RATES[file % len(RATES)]]
    if kind == "spatial":
        run(command, "new", path, "--kind", kind, "--capacity", 100_000, *rate)
        run(command, "add", path, "--area", 3, input=lines)
        return
    others = path.with_suffix(".others")
    others.write_text("other\n")
    second = {"cascade": ["--excluded", others], "shifting-association": ["--second", others]}.get(kind, [])
    # A cascade is exact for both sets.
    rate = [] if kind == "cascade" else rate
    run(command, "new", path, "-", "--kind", kind, *rate, *second, input=lines)


@pytest.mark.parametrize("file", range(FILES))
@pytest.mark.parametrize("kind", KINDS)
def test_python_answers_as_the_command_for_a_file_of_the_command(kind, file, command, tmp_path):
    path, asked = tmp_path / "seen.mayhap", keys(file, 90_000)
    built_by_command(command, kind, file, path)
    seen = Filter.load(path)
    assert seen.kind == kind
    answers = seen.contains_many(asked)
    assert answers[:10_000] == [True] * 10_000 or kind == "windowed"
    assert asked_of_command(command, path, asked) == answers
    with pymayhap.open(path) as opened:
        assert opened.contains_many(asked) == answers
    if kind == "blocked":
        model = Blocked(100_000, RATES[file % len(RATES)])
        model.update(keys(file))
        assert model == seen, "bit for bit"


def test_every_kind_goes_both_ways():
    assert sorted(KINDS) == sorted(cls.kind for cls in GROWING + FIXED)


SCHEMES = ["guava64", "guava32", "spark1", "spark2", "dcso", "salted-md5", "three-hash", "murmur"]


@pytest.mark.parametrize("file", range(FILES))
@pytest.mark.parametrize("scheme", SCHEMES)
def test_filters_of_other_schemes_go_both_ways(scheme, file, command, tmp_path):
    path, asked, rate = tmp_path / "seen.mayhap", keys(file, 90_000), RATES[file % len(RATES)]
    seen = Bloom(100_000, rate, scheme=scheme)
    seen.update(keys(file))
    seen.save(path)
    assert asked_of_command(command, path, asked) == seen.contains_many(asked)
    theirs = tmp_path / "theirs.mayhap"
    run(command, "new", theirs, "--kind", "bloom", "--scheme", scheme, "--capacity", 100_000, "--rate", rate)
    # A scheme that spreads keys badly looks fuller than it is.
    run(command, "add", theirs, "--accept-rate", input="\n".join(keys(file)))
    assert Filter.load(theirs) == seen, "bit for bit"


@pytest.mark.parametrize("file", range(FILES))
@pytest.mark.parametrize(("format", "scheme"), [("guava", "guava64"), ("guava", "guava32"), ("spark", "spark1"),
                                                ("spark", "spark2"), ("dcso", "dcso"), ("parquet", None)])  # fmt: skip
def test_foreign_formats_go_both_ways(format, scheme, file, command, tmp_path):
    ours, theirs, asked = tmp_path / "ours", tmp_path / "theirs", keys(file, 90_000)
    rate = RATES[file % len(RATES)]
    seen = Bloom(100_000, rate, scheme=scheme) if scheme else pymayhap.SplitBlock(100_000, rate)
    seen.update(keys(file))
    seen.save(ours, format=format)
    answers = seen.contains_many(asked)
    assert asked_of_command(command, ours, asked) == answers
    native = tmp_path / "native.mayhap"
    seen.save(native)
    run(command, "convert", native, theirs, "--to", format)
    assert theirs.read_bytes() == ours.read_bytes()
    assert Filter.load(theirs).contains_many(asked) == pymayhap.open(ours).contains_many(asked) == answers


def foreign_files() -> list[Path]:
    """Filters that the other programs wrote."""

    def is_filter(path: Path) -> bool:
        try:
            return path.is_file() and bool(Filter.load(path))
        except ValueError:
            return False

    return sorted(path for folder in (FOREIGN, GOLDEN) for path in folder.rglob("*") if is_filter(path))


@pytest.mark.parametrize("path", foreign_files(), ids=lambda path: path.name)
def test_files_of_other_programs_answer_alike(path, command):
    seen = Filter.load(path)
    answers = seen.contains_many(ASKED)
    assert pymayhap.open(path).contains_many(ASKED) == answers
    assert asked_of_command(command, path, ASKED) == answers
    native = Filter.from_bytes(seen.to_bytes())
    assert native == seen


def test_every_foreign_format_has_files():
    folders = {path.relative_to(ROOT).parts[5] for path in foreign_files()}
    assert {"dcso", "parquet", "spark", "wire"} <= folders and len(foreign_files()) >= 20
