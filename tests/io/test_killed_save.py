"""`kill -9` in the middle of a save loses nothing: the file is the old one or the new one, whole.

WHYGRAD_KILLS sets how often (100 for a thorough run).
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import whygrad
from whygrad import io as checkpoint
from whygrad.io import atomic

KILLS = int(os.environ.get("WHYGRAD_KILLS", "20"))

# Loads the library once. For each line (the last step that was saved) a child saves one step after another until it is killed.
SAVER = """
import os, sys, numpy as np, whygrad
from whygrad import io
for line in sys.stdin:
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        continue
    step = int(line)
    print(os.getpid(), flush=True)
    while True:
        step += 1
        weights = [whygrad.from_numpy(np.full(200_000, step, np.float32)) for _ in range(3)]
        io.save({"step": step, "weights": weights}, sys.argv[1])
        print("saved", flush=True)
"""


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


@pytest.fixture
def saver(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    source = str(Path(whygrad.__file__).parents[1])
    process = subprocess.Popen([sys.executable, "-c", SAVER, str(tmp_path / "model.pt")], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": source})
    with process:
        yield process
        process.stdin.close()


def test_a_killed_save_leaves_a_whole_file(tmp_path: Path, saver: subprocess.Popen[str]) -> None:
    path = tmp_path / "model.pt"
    chance = random.Random(0)
    last = 0
    duration = 0.02  # of a save on this machine, as it is now
    for kill in range(KILLS):
        saver.stdin.write(f"{last}\n")
        saver.stdin.flush()
        while (child := saver.stdout.readline()) == "saved\n":  # by the one before
            pass
        if kill % 3:  # otherwise in its first save
            started = time.monotonic()
            saver.stdout.readline()
            duration = time.monotonic() - started
        time.sleep(chance.uniform(0.0, duration))
        os.kill(int(child), signal.SIGKILL)
        if not path.exists():
            assert last == 0
            continue
        state = checkpoint.load(path)
        assert state["step"] >= last
        last = state["step"]
        for weight in state["weights"]:
            assert (weight._array == last).all()
    assert last > 0
