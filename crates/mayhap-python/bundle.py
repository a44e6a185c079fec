"""Puts the command into a wheel of the module: pip install then gives `import pymayhap`, and `mayhap` on the PATH.

    cargo build --release -p mayhap-cli
    maturin build --release --out wheels        # in crates/mayhap-python
    python bundle.py wheels/pymayhap-*.whl ../../target/release/mayhap

The program is the same file that cargo builds, so signals, pipes and exit codes are those of the command. A wheel that is
made by `pip install` of this folder has the module alone: its build need not compile the command.
"""

from __future__ import annotations

import base64
import hashlib
import sys
import zipfile
from pathlib import Path


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


if __name__ == "__main__":
    bundle(Path(sys.argv[1]), Path(sys.argv[2]))
