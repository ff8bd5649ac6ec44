"""What is kept on disk between processes: a second process compiles no text of rows, and a damaged file is none."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

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


@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: data[:9] + b"?" + data[10:], lambda data: b""])
def test_a_damaged_file_is_none(tmp_path, damage):
    first, expected = run(tmp_path)
    path = tmp_path / STORED
    path.write_bytes(damage(path.read_bytes()))
    assert run(tmp_path) == (first, expected)
    assert run(tmp_path) == (0, expected)  # it was written anew


def test_what_cannot_be_written_is_no_error(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(disk_cache, "cache_folder", lambda: str(tmp_path / "file" / "below"))
    disk_cache.write("name", b"content")
    assert disk_cache.read("name") is None
