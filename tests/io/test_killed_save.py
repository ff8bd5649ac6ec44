"""`kill -9` in the middle of a save loses nothing: the file is the old one or the new one, whole.

WHYGRAD_KILLS sets how often (100 for a thorough run).
"""

from __future__ import annotations

import fcntl
import os
import random
from pathlib import Path

from fuzz.kills import Saver

import whygrad
from whygrad import io as checkpoint

KILLS = int(os.environ.get("WHYGRAD_KILLS", "20"))


def test_what_a_killed_save_has_left_is_removed_by_the_next(tmp_path: Path) -> None:
    left, young, foreign = [tmp_path / f".{name}.{'0' * 15}{n}.tmp" for n, name in enumerate(("a.pt", "a.pt", "b.pt"))]
    in_use = tmp_path / f".a.pt.{'1' * 16}.tmp"
    for path in (left, young, foreign, in_use):
        path.write_bytes(b"half")
        if path is not young:
            os.utime(path, (1e9, 1e9))
    with in_use.open("rb") as file:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX)
        checkpoint.save(whygrad.ones(2), tmp_path / "a.pt")
    assert {path for path in (left, young, foreign, in_use) if path.exists()} == {young, foreign, in_use}
    assert checkpoint.load(tmp_path / "a.pt").tolist() == [1, 1]


def test_a_killed_save_leaves_a_whole_file(tmp_path: Path) -> None:
    saver, chance = Saver(tmp_path), random.Random(0)
    try:
        for kill in range(KILLS):
            assert saver.kill_once(chance.random(), in_first_save=kill % 3 == 0) is None
    finally:
        saver.stop()
    assert saver.last > 0
