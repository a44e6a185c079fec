"""A wheel of the module and the command together."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile

import pytest
from conftest import ROOT


def test_a_wheel_with_the_command_installs_it(command, tmp_path):
    pytest.importorskip("pip")
    wheel = tmp_path / "pymayhap-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as file:
        info = "pymayhap-0.1.0.dist-info"
        file.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: pymayhap\nVersion: 0.1.0\n")
        file.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr(f"{info}/RECORD", f"{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")

    bundle = ROOT / "crates/mayhap-python/bundle.py"
    subprocess.run([sys.executable, str(bundle), str(wheel), command], check=True)
    install = ["install", "-q", "--no-index", "--no-deps", "--target", str(tmp_path / "installed"), str(wheel)]
    subprocess.run([sys.executable, "-m", "pip", *install], check=True, capture_output=True)

    program = tmp_path / "installed/bin/mayhap"
    assert os.access(program, os.X_OK)
    new = subprocess.run([program, "uniq"], input=b"a\nb\na\n", capture_output=True)
    assert (new.stdout, new.returncode) == (b"a\nb\n", 0)
    missing = subprocess.run([program, "info", str(tmp_path / "absent")], capture_output=True)
    assert missing.returncode == 2, "exit codes are those of the command"
