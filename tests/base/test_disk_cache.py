"""What is kept on disk between processes: a second process compiles no text of rows, and a damaged file is none."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from whygrad.backends import row_text
from whygrad.backends.row_text import STORED
from whygrad.base import disk_cache

PROGRAM = """
import builtins
texts = []
plain = builtins.compile
builtins.compile = lambda *args, **more: (texts.append(args[1]), plain(*args, **more))[1]
import whygrad
x = whygrad.ones(3, requires_grad=True)
(x.tanh() * x).sum().backward()
print(sum(str(name).startswith("<whygrad rows") for name in texts), x.grad.tolist())
try:
    x.tanh().reshape(7)
except RuntimeError:
    pass
"""


def run(folder):
    environment = os.environ | {"WHYGRAD_CACHE": str(folder), "WHYGRAD_KERNELS": "0"}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True)
    count, gradient = done.stdout.split(maxsplit=1)
    return int(count), gradient


def test_the_text_of_rows_is_compiled_once(tmp_path):
    (first, expected), (second, gradient) = run(tmp_path), run(tmp_path)
    assert first > 0
    assert (second, gradient) == (0, expected)


def test_of_too_many_texts_those_used_last_are_kept(monkeypatch, tmp_path):
    """Several versions of whygrad share the file: none may remove what another one has just written."""
    monkeypatch.setattr(disk_cache, "cache_folder", lambda: str(tmp_path))
    monkeypatch.setattr(row_text, "MAX_STORED", 250)
    monkeypatch.setattr(row_text, "_stored_codes", dict)
    sizes = []
    for texts in (["a", "b"], ["c"], ["a", "d"]):
        monkeypatch.setattr(row_text, "_compiled_texts", {text: compile(text, "f", "eval") for text in texts})
        row_text._store()
        sizes.append(row_text._read_stored().keys())
    a, b, c, d = map(disk_cache.digest_of, "abcd")
    one = len(next(iter(row_text._read_stored().values())))
    assert 250 // one == 2, "two of these texts fit"
    assert sizes == [{a, b}, {b, c}, {a, d}]


@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: data[:9] + b"?" + data[10:], lambda data: b""])
def test_a_damaged_file_is_none(tmp_path, damage):
    first, expected = run(tmp_path)
    path = tmp_path / STORED
    path.write_bytes(damage(path.read_bytes()))
    assert run(tmp_path) == (first, expected)
    assert run(tmp_path) == (0, expected)  # it was written anew


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """A cache with one file."""
    place = tmp_path / "cache"
    monkeypatch.setattr(disk_cache, "cache_folder", lambda: str(place))
    disk_cache.write("rows-a", b"content")
    assert disk_cache.read("rows-a") == b"content"
    return place


def linked(path):
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


def a_pipe(path):
    path.unlink()
    os.mkfifo(path)


# Each makes the file one that others may have written. The name as read by the second is another file's, whole and our own.
UNTRUSTED = {
    "a link": linked,
    "a pipe": a_pipe,
    "writable by the group": lambda path: path.chmod(0o660),
    "writable by all": lambda path: path.chmod(0o602),
    "a folder that the group may write to": lambda path: path.parent.chmod(0o770),
    "a folder that all may write to": lambda path: path.parent.chmod(0o1777),
    "another file renamed": lambda path: (disk_cache.write("rows-b", b"of b"), path.with_name("rows-b").rename(path)),
}


@pytest.mark.skipif(sys.platform == "win32", reason="rights of files are those of POSIX systems")
@pytest.mark.parametrize("change", UNTRUSTED)
def test_what_others_may_have_written_is_not_read(folder, change):
    UNTRUSTED[change](folder / "rows-a")
    assert disk_cache.read("rows-a") is None
    disk_cache.write("rows-a", b"new")
    safe = not folder.stat().st_mode & 0o022
    assert disk_cache.read("rows-a") == (b"new" if safe else None)


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only the administrator can give a file away")
@pytest.mark.parametrize("path", ["rows-a", "."])
def test_another_users_file_is_not_read(folder, path):
    os.chown(folder / path, 12345, -1)
    assert disk_cache.read("rows-a") is None


def test_the_cache_is_bounded(folder, monkeypatch):
    day = 86400
    ages = {"rows-a": 1, "whygrad_old.o": 100, "whygrad_used.o": 80, ".whygrad-killed": 1, ".whygrad-writing": 0, "notes": 900}
    for name, age in ages.items():
        (folder / name).write_bytes(b"x" * 1000)
        os.utime(folder / name, (1e9 - age * day,) * 2)
    disk_cache.clean(1e9)
    assert {path.name for path in folder.iterdir()} == {"rows-a", "whygrad_used.o", ".whygrad-writing", "notes"}
    monkeypatch.setattr(disk_cache, "MAX_BYTES", 2500)
    disk_cache.clean(1e9)
    assert {path.name for path in folder.iterdir()} == {"rows-a", ".whygrad-writing", "notes"}  # the oldest of ours


def test_a_file_that_is_read_stays_young(folder):
    os.utime(folder / "rows-a", (1e9, 1e9))
    disk_cache.read("rows-a")
    assert (folder / "rows-a").stat().st_mtime > 1e9


def test_what_cannot_be_written_is_no_error(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(disk_cache, "cache_folder", lambda: str(tmp_path / "file" / "below"))
    disk_cache.write("name", b"content")
    assert disk_cache.read("name") is None
