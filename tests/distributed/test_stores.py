"""Stores of small values: every kind against PyTorch's; and `record`."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.distributed.elastic.multiprocessing import errors as torch_errors

import whygrad
from whygrad.distributed.elastic.multiprocessing import errors

SHORT = timedelta(seconds=0.05)
STORES: dict[str, Callable[[Any, Path], Any]] = {
    "HashStore": lambda dist, path: dist.HashStore(),
    "FileStore": lambda dist, path: dist.FileStore(str(path / f"store.{dist.__name__}")),
    "TCPStore": lambda dist, path: dist.TCPStore("127.0.0.1", 0, 1, True),
    "PrefixStore": lambda dist, path: dist.PrefixStore("prefix", dist.HashStore())}
LINES = [
    "s.set('a', 'text'); x = s.get('a')", "s.set('a', 'ü'); x = s.get('a')",
    "x = s.add('n', 3), s.add('n', -1), s.get('n')", "s.set('n', '40'); x = s.add('n', 2)",
    "s.wait(['none'], SHORT)", "s.set('a', ''); s.set('b', '1'); s.wait(['a', 'b']); x = s.get('a')",
    "s.set_timeout(SHORT); x = s.timeout; s.get('none')",
    "s.set('a', '1'); x = s.check(['a']), s.check(['a', 'none'])",
    "x = s.compare_set('a', '', 'b'), s.compare_set('a', 'b', 'c'), s.compare_set('a', 'b', 'd'), s.get('a')",
    "s.set('a', 3)", "s.add('a', 1.5)",
    "s.set('a', '1'); dist.PrefixStore('p', s).set('a', '2'); x = s.get('a'), s.get('p/a'), dist.PrefixStore('p', s).get('a')",
]
# A FileStore counts a key of its own in PyTorch, and does not forget.
NOT_OF_FILES = [
    "s.set('a', '1'); x = s.delete_key('a'), s.delete_key('a'), s.check(['a'])", "s.set('a', '1'); x = s.num_keys()",
    "s.append('a', '12'); s.append('a', '3'); x = s.get('a')",
    "s.multi_set(['a', 'b'], ['1', '2']); x = s.multi_get(['b', 'a']), sorted(s.list_keys())",
]


def outcome(dist: Any, kind: str, folder: Path, text: str) -> Any:
    names = {"s": STORES[kind](dist, folder), "dist": dist, "SHORT": SHORT, "x": None}
    try:
        exec(text, names)
    except (RuntimeError, TypeError) as error:
        return RuntimeError if isinstance(error, RuntimeError) else TypeError  # the words are those of C++
    return names["x"]


@pytest.mark.parametrize("kind", STORES)
@pytest.mark.parametrize("text", [*LINES, *NOT_OF_FILES])
def test_line(kind: str, text: str, tmp_path: Path) -> None:
    if kind == "FileStore" and text in NOT_OF_FILES:
        assert outcome(whygrad.distributed, kind, tmp_path, text) == outcome(whygrad.distributed, "HashStore", tmp_path, text)
    else:
        assert outcome(whygrad.distributed, kind, tmp_path, text) == outcome(torch.distributed, kind, tmp_path, text)


def test_clients_of_a_port() -> None:
    master = whygrad.distributed.TCPStore("127.0.0.1", 0, is_master=True)

    def client() -> None:
        store = whygrad.distributed.TCPStore("127.0.0.1", master.port)
        time.sleep(0.05)
        store.set("from", "the client")

    thread = threading.Thread(target=client)
    thread.start()
    assert master.get("from") == b"the client"
    thread.join()
    with pytest.raises(whygrad.distributed.DistNetworkError, match="failed to listen"):
        whygrad.distributed.TCPStore("127.0.0.1", master.port, is_master=True)


def test_processes_that_do_not_come() -> None:
    with pytest.raises(whygrad.distributed.DistNetworkError, match=r"timed out after 100ms while trying to connect to \(127"):
        whygrad.distributed.TCPStore("127.0.0.1", 1, timeout=timedelta(seconds=0.1))
    with pytest.raises(whygrad.distributed.DistStoreError, match=r"1/2 clients joined"):
        whygrad.distributed.TCPStore("127.0.0.1", 0, 2, True, timedelta(seconds=0.1))


@pytest.mark.parametrize("library", [errors, torch_errors])
def test_record(library: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCHELASTIC_ERROR_FILE", str(tmp_path / "error.json"))

    @library.record
    def main(x: int) -> int:
        return 1 // x

    assert main(1) == 1
    with pytest.raises(ZeroDivisionError):
        main(0)
    found = json.loads((tmp_path / "error.json").read_text())["message"]
    assert found["message"] == "ZeroDivisionError: integer division or modulo by zero"
    assert sorted(found["extraInfo"]) == ["py_callstack", "timestamp"]
    assert "1 // x" in found["extraInfo"]["py_callstack"]
