"""Filters in files: saved in one step, opened where they are, changed under a lock, built in place."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys

import pymayhap
import pytest
from conftest import FIXED, GROWING, filled
from pymayhap import Blocked, Bloom, Filter

KEYS = [f"key {i}" for i in range(500)]
SECRET = b"sixteen letters!"


@pytest.mark.parametrize("cls", GROWING + FIXED)
def test_every_kind_is_saved_loaded_and_opened(cls, tmp_path):
    seen = filled(cls, KEYS)
    path = tmp_path / "seen.mayhap"
    seen.save(path)
    assert cls.load(path) == Filter.load(path) == seen and type(Filter.load(path)) is cls
    with pymayhap.open(path) as opened:
        assert opened.contains_many(KEYS) == [True] * len(KEYS)
        absent = [f"absent {i}" for i in range(1000)]
        assert opened.contains_many(absent) == seen.contains_many(absent)
        opened.verify()
        assert opened == seen and type(opened.copy()) is cls and opened.copy() == seen
        assert opened.stats() == seen.stats()
        assert "absent" not in repr(opened) and repr(opened).startswith("Opened(")
        with pytest.raises(TypeError, match="read-only"):
            opened.add("more")
        assert pickle.loads(pickle.dumps(opened)) == seen
    with pytest.raises(ValueError, match="the filter is closed"):
        "key" in opened
    assert repr(opened) == "Opened(closed)"


def test_errors_of_the_system_are_their_subclass_with_number_and_name(tmp_path):
    missing = tmp_path / "missing.mayhap"
    for ask in (pymayhap.open, Filter.load, Blocked.load):
        with pytest.raises(FileNotFoundError) as raised:
            ask(missing)
        assert raised.value.errno == 2 and raised.value.filename == str(missing)
        assert "cannot open" in str(raised.value) or "open" in str(raised.value)
    with pytest.raises(OSError, match="not a regular file"):
        pymayhap.open(tmp_path)
    with pytest.raises(FileNotFoundError):
        Blocked(1000).save(tmp_path / "no" / "folder.mayhap")
    (tmp_path / "text").write_text("not a filter at all, but long enough to be looked at")
    with pytest.raises(ValueError):
        pymayhap.open(tmp_path / "text")


def test_no_message_has_bytes_of_a_file_or_the_password_of_an_address(tmp_path):
    secret = tmp_path / "secret"
    secret.write_bytes(bytes.fromhex("d6063f9ac41b7e2558a0f3b9c77d11e4"))
    address = "redis://user:hunter2@127.0.0.1:1"
    asks = [pymayhap.open, Filter.load, Blocked.load, Blocked(10).save, lambda path: pymayhap.build(path, 10)]
    asks += [pymayhap.discard, lambda path: pymayhap.edit(path).__enter__()]
    raised = []
    for ask in asks:
        for given in (str(secret), address, f"{address}#x"):
            try:
                ask(given)
            except Exception as error:
                raised.append(f"{error} {error!r} {getattr(error, 'filename', '')}")
            secret.write_bytes(bytes.fromhex("d6063f9ac41b7e2558a0f3b9c77d11e4"))
    for wrong in (address, "redis:user:hunter2@host#x", "redis://u:1#hunter2@host"):
        with pytest.raises(Exception) as error:
            pymayhap.RedisFilter(wrong, timeout=0.1)
        raised.append(f"{error.value} {error.value!r}")
    assert len(raised) > 12
    for text in raised:
        assert "hunter2" not in text and "d6063f9a" not in text.lower(), text


def test_damage_is_noticed(tmp_path):
    path = tmp_path / "seen.mayhap"
    filled(Blocked, KEYS).save(path)
    data = bytearray(path.read_bytes())
    data[200] ^= 1
    path.write_bytes(data)
    with pytest.raises(pymayhap.DamagedError):
        Filter.load(path)
    with pymayhap.open(path) as opened, pytest.raises(pymayhap.DamagedError):
        opened.verify()


def test_a_file_that_is_changed_in_place_is_not_relied_on(tmp_path):
    path = tmp_path / "seen.mayhap"
    filled(Blocked, KEYS).save(path)
    opened = pymayhap.open(path)
    filled(Blocked, ["another"]).save(path)
    assert all(opened.contains_many(KEYS)), "one that is replaced stays as it was"
    opened.close()
    for size in (None, 0):
        opened = pymayhap.open(path)
        with open(path, "r+b") as file:
            file.write(b"x") if size is None else file.truncate(size)
            os.utime(file.fileno(), ns=(1, 1))
        with pytest.raises(OSError, match="changed in place"):
            opened.contains_many(KEYS)
        with pytest.raises(OSError, match="changed in place"):
            opened.close()
        filled(Blocked, KEYS).save(path)


CUT_SHORT = """
import os, sys, pymayhap
opened = pymayhap.open(sys.argv[1])
os.truncate(sys.argv[1], 0)
"key" in opened
"""


@pytest.mark.skipif(sys.platform == "win32", reason="SKIPPED: bus errors are of Unix")
def test_a_process_whose_file_is_cut_short_says_why_it_ends(tmp_path):
    path = tmp_path / "seen.mayhap"
    filled(Blocked, KEYS).save(path)
    done = subprocess.run([sys.executable, "-c", CUT_SHORT, str(path)], capture_output=True, text=True)
    assert done.returncode == 135 and "was cut short" in done.stderr and "load()" in done.stderr


def test_a_secret_is_asked_for(tmp_path):
    path = tmp_path / "seen.mayhap"
    seen = Blocked(1000, secret=SECRET)
    seen.update(KEYS)
    seen.save(path)
    assert SECRET not in path.read_bytes()
    with pytest.raises(ValueError, match="secret"):
        pymayhap.open(path)
    with pymayhap.open(path, secret=SECRET) as opened:
        assert opened == seen
    with pymayhap.edit(path, secret=SECRET) as edited:
        edited.add("more")
    assert "more" in Blocked.load(path, secret=SECRET)


def test_edits_exclude_each_other_and_are_saved_whole_or_not_at_all(tmp_path):
    path = tmp_path / "seen.mayhap"
    Blocked(1000).save(path)
    with pymayhap.edit(path) as seen:
        seen.add("a")
        assert "a" not in pymayhap.open(path), "not before the block ends"
        with pytest.raises(BlockingIOError), pymayhap.edit(path, wait=False):
            pass
    assert "a" in pymayhap.open(path)
    with pytest.raises(RuntimeError), pymayhap.edit(path) as seen:
        seen.add("b")
        raise RuntimeError
    with pymayhap.edit(path, wait=False) as seen:
        assert "b" not in seen
    assert os.listdir(tmp_path) == ["seen.mayhap"]


EDIT = """
import sys, pymayhap
for key in range(int(sys.argv[2]), int(sys.argv[2]) + 20):
    with pymayhap.edit(sys.argv[1]) as seen:
        seen.add(key)
"""


def test_processes_that_edit_one_file_lose_nothing(tmp_path):
    path = tmp_path / "seen.mayhap"
    Blocked(1000, 1e-6).save(path)
    runs = [subprocess.Popen([sys.executable, "-c", EDIT, str(path), str(i * 20)]) for i in range(3)]
    assert [run.wait() for run in runs] == [0, 0, 0]
    assert all(pymayhap.open(path).contains_many(list(range(60))))


def test_a_build_is_in_place_when_its_block_ends_and_continues_after_an_exception(tmp_path):
    path = tmp_path / "seen.mayhap"
    with pytest.raises(RuntimeError), pymayhap.build(path, 1000) as seen:
        seen.update(range(100))
        seen.checkpoint(100)
        seen.update(range(100, 150))
        raise RuntimeError
    assert not path.exists()
    with pymayhap.build(path, 1000) as seen:
        assert seen.progress == 100 and 50 in seen
        with pytest.raises(TypeError, match="being built"):
            seen.clear()
        seen.update(range(seen.progress, 1000))
    model = Blocked(1000)
    model.update(range(1000))
    assert Blocked.load(path) == model
    with pytest.raises(TypeError, match="counting"):
        pymayhap.build(tmp_path / "other", 1000, kind="counting")
    seen = pymayhap.build(path, 1000)
    with pytest.raises(TypeError, match="pickled"):
        pickle.dumps(seen)
    seen.close()
    pymayhap.discard(path)
    assert os.listdir(tmp_path) == ["seen.mayhap"] and Blocked.load(path) == model


KILLED = """
import os, signal, sys, pymayhap
seen = pymayhap.build(sys.argv[1], 10_000)
seen.update(range(5000))
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_build_keeps_every_key(tmp_path):
    path = tmp_path / "seen.mayhap"
    assert subprocess.run([sys.executable, "-c", KILLED, str(path)]).returncode == -9
    with pymayhap.build(path, 10_000) as seen:
        assert all(seen.contains_many(list(range(5000))))
    assert all(pymayhap.open(path).contains_many(list(range(5000))))


def test_formats_of_other_programs_are_written(tmp_path):
    for scheme, format in (("guava64", "guava"), ("spark1", "spark"), ("dcso", "dcso")):
        seen = Bloom(1000, scheme=scheme)
        seen.update(KEYS)
        path = tmp_path / format
        seen.save(path, format=format)
        assert path.read_bytes() == seen.to_bytes(format)
        assert pymayhap.open(path).contains_many(KEYS) == [True] * len(KEYS)
        with pytest.raises(ValueError, match="cannot hold"):
            Blocked(1000).save(tmp_path / "refused", format=format)
        assert not (tmp_path / "refused").exists()
