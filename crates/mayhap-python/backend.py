"""The build backend for pip: maturin makes a wheel of the module, and the command `mayhap` is added to it.

    pip install .                                             # compiles both
    pip install . --config-settings command=PATH/TO/mayhap    # takes a program that is built already
    pip install . --config-settings command=none              # the module alone

The program is the file that cargo builds, so signals, pipes and exit codes are those of the command. A source distribution
contains the module alone, and so does an installation from it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import maturin
from maturin import (  # noqa: F401: pip calls these
    build_editable,
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

#: The manifest of the command, in the repository.
COMMAND = Path(__file__).resolve().parent.parent / "mayhap-cli/Cargo.toml"


def build_wheel(folder: str, config_settings: dict[str, Any] | None = None, metadata_directory: str | None = None) -> str:
    """Builds the wheel in the folder, and returns its name."""
    settings = dict(config_settings or {})
    asked = settings.pop("command", None)
    wheel: str = maturin.build_wheel(folder, settings, metadata_directory)
    if asked not in (None, "none"):
        bundle(Path(folder, wheel), Path(asked))
    elif asked is None and COMMAND.exists():
        bundle(Path(folder, wheel), built())
    return wheel


def built() -> Path:
    """Compiles the command and returns its path."""
    options = ["--profile", "dist", "--locked", "--features", "redis", "--bin", "mayhap"]
    build = ["cargo", "build", *options, "--manifest-path", str(COMMAND), "--message-format", "json-render-diagnostics"]
    messages = subprocess.run(build, check=True, stdout=subprocess.PIPE).stdout.splitlines()
    programs = (json.loads(message).get("executable") for message in messages)
    return Path(next(program for program in programs if program))


def bundle(wheel: Path, program: Path) -> None:
    """Adds the program to the wheel, in place."""
    with zipfile.ZipFile(wheel) as old:
        files = [(info, old.read(info)) for info in old.infolist()]
    record = next(info for info, _ in files if info.filename.endswith(".dist-info/RECORD"))
    name = record.filename.removesuffix(".dist-info/RECORD") + ".data/scripts/" + program.name
    data = program.read_bytes()
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    added = zipfile.ZipInfo(name, record.date_time)
    added.external_attr = 0o100755 << 16
    changed = wheel.with_suffix(".part")
    with zipfile.ZipFile(changed, "w", zipfile.ZIP_DEFLATED) as new:
        for info, content in files:
            if info is record:
                new.writestr(added, data, zipfile.ZIP_DEFLATED)
                content = f"{name},sha256={digest},{len(data)}\n".encode() + content
            new.writestr(info, content, zipfile.ZIP_DEFLATED)
    changed.replace(wheel)
