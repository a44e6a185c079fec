"""The recipes of the documentation, each run as a program that checks its own claims."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

RECIPES = Path(__file__).parents[1] / "recipes"
SMALL = {"crawler": ["400"], "spam": ["20000"], "guard": ["5000"], "guard_postgres": ["20000"], "common": ["20000"]}


def run(name: str, *words: str, text: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(RECIPES / f"{name}.py"), *words]
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=300)
    # The recipe needs something that this machine lacks.
    if done.returncode == 1 and done.stderr.startswith("SKIPPED: "):
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.mark.parametrize("name", sorted(SMALL))
def test_a_recipe_does_what_it_claims(name: str) -> None:
    assert run(name, *SMALL[name]).stdout


def test_a_misspelled_word_is_found_and_mended(tmp_path: Path) -> None:
    (tmp_path / "words").write_text("the answer is certain or it may be wrong")
    done = run("spelling", str(tmp_path / "words"), text="the anser is certian")
    assert done.stdout.splitlines() == ["anser: answer", "certian: certain"]
    assert "9 words" in done.stderr


def test_every_recipe_is_run() -> None:
    assert {path.stem for path in RECIPES.glob("*.py")} == {*SMALL, "spelling"}
