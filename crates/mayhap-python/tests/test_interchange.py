"""The same file for Python, the Rust command and other programs: 10^5 keys each, no difference."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pymayhap
import pytest
from conftest import FIXED, GROWING, ROOT
from pymayhap import Blocked, Bloom, Filter

KEYS = [f"clé {i}" for i in range(100_000)]
ASKED = [f"clé {i}" for i in range(90_000, 190_000)]
FOREIGN = ROOT / "crates/mayhap/tests/data/foreign"
GOLDEN = ROOT / "crates/mayhap/tests/data/golden"


def run(command: str, *arguments: object, input: str = "") -> str:
    done = subprocess.run([command, *map(str, arguments)], input=input.encode(), capture_output=True)
    # Grep's way: 1 says that some key was not found.
    assert done.returncode in (0, 1), done.stderr.decode()
    return done.stdout.decode()


def asked_of_command(command: str, path: Path, keys: list[str]) -> list[bool]:
    """What the command says of each key."""
    found = set(run(command, "check", path, input="\n".join(keys)).splitlines())
    return [key in found for key in keys]


@pytest.mark.parametrize("cls", GROWING + FIXED)
def test_the_command_answers_as_python_for_a_file_of_python(cls, command, tmp_path):
    path = tmp_path / "seen.mayhap"
    if cls in FIXED:
        is_of_two = cls in (pymayhap.Cascade, pymayhap.ShiftingAssociation)
        seen = cls(KEYS, ["other"]) if is_of_two else cls(KEYS)
    else:
        seen = cls(len(KEYS))
        seen.update(KEYS)
    seen.save(path)
    assert asked_of_command(command, path, ASKED) == seen.contains_many(ASKED)


@pytest.mark.parametrize("kind", ["bloom", "blocked", "split-block", "counting", "spectral", "shifting", "scalable",
                                  "windowed", "guarded", "sliced", "fuse", "ribbon",
                                  "shifting-multiplicity"])  # fmt: skip
def test_python_answers_as_the_command_for_a_file_of_the_command(kind, command, tmp_path):
    path, keys = tmp_path / "seen.mayhap", "\n".join(KEYS)
    run(command, "build", path, "--kind", kind, "--rate", "0.01", input=keys)
    seen = Filter.load(path)
    assert seen.kind == kind
    answers = seen.contains_many(ASKED)
    assert answers[:10_000] == [True] * 10_000 or kind == "windowed"
    assert asked_of_command(command, path, ASKED) == answers
    with pymayhap.open(path) as opened:
        assert opened.contains_many(ASKED) == answers
    if kind == "blocked":
        model = Blocked(len(KEYS))
        model.update(KEYS)
        assert model == seen, "bit for bit"


@pytest.mark.parametrize("scheme", ["guava64", "guava32", "spark1", "spark2", "dcso", "salted-md5", "three-hash",
                                    "murmur"])  # fmt: skip
def test_filters_of_other_schemes_go_both_ways(scheme, command, tmp_path):
    path = tmp_path / "seen.mayhap"
    seen = Bloom(len(KEYS), scheme=scheme)
    seen.update(KEYS)
    seen.save(path)
    assert asked_of_command(command, path, ASKED) == seen.contains_many(ASKED)


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
