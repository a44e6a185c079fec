"""Stubs against the module, types against mypy, and every example in a docstring."""

from __future__ import annotations

import doctest
import importlib
import subprocess
import sys
from pathlib import Path

import pymayhap
import pytest

FOLDER = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("name", ["__init__", "_kinds", "_files", "_pymayhap", "dask", "polars"])
def test_examples_in_docstrings_run(name):
    if name in ("dask", "polars"):
        pytest.importorskip(name)
    module = pymayhap if name == "__init__" else importlib.import_module(f"pymayhap.{name}")
    failed, tried = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert tried > 0 and not failed


def run(*arguments: str) -> None:
    pytest.importorskip("mypy")
    done = subprocess.run([sys.executable, "-m", *arguments], cwd=FOLDER, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_types_are_strict():
    for library in ("dask", "pandas", "polars", "pyarrow", "pyspark", "ray", "scrapy"):
        pytest.importorskip(library)
    run("mypy", "--strict", "--config-file", "pyproject.toml", "python/pymayhap")


def test_stubs_are_the_module():
    run("mypy.stubtest", "--concise", "pymayhap._pymayhap")
