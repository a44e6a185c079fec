"""The result of `pip install` of the folder: the module, and the command on the PATH."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def program() -> str:
    """The command that was installed with the module."""
    files = importlib.metadata.files("pymayhap") or []
    found = [Path(str(file.locate())) for file in files if file.name == "mayhap" and file.hash]
    if not found:
        pytest.skip("SKIPPED: the module was installed without the command")
    return str(found[0].resolve())


def test_the_command_is_where_python_is(program):
    assert Path(program).parent == Path(sys.executable).parent.resolve()
    assert os.access(program, os.X_OK)
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    assert version.stdout.split() == ["mayhap", importlib.metadata.version("pymayhap")]


def test_its_answers_and_exit_codes_are_those_of_the_command(program, tmp_path):
    new = subprocess.run([program, "uniq"], input=b"a\nb\na\n", capture_output=True)
    assert (new.stdout, new.returncode) == (b"a\nb\n", 0)
    missing = subprocess.run([program, "info", str(tmp_path / "absent")], capture_output=True)
    assert missing.returncode == 2


def test_it_ends_quietly_when_nobody_reads_on(program, tmp_path):
    lines = tmp_path / "lines"
    lines.write_text("".join(f"{i}\n" for i in range(300_000)))
    # More lines than a pipe holds, of which one is read.
    line = f'"{program}" uniq < "{lines}" 2> "{tmp_path}/said" | head -1; echo ${{PIPESTATUS[0]}}'
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True)
    first, status = done.stdout.split()
    assert first == "0" and status in ("0", "141")
    assert (tmp_path / "said").read_text() == ""


def test_a_file_of_the_module_is_read_by_the_command(program, tmp_path):
    import pymayhap

    seen = pymayhap.Blocked(100)
    seen.add("a")
    seen.save(tmp_path / "seen.mayhap")
    found = subprocess.run([program, "check", str(tmp_path / "seen.mayhap")], input=b"a\nb\n", capture_output=True)
    assert found.stdout == b"a\n"
