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
from pathlib import Path

import whygrad
from whygrad import io as checkpoint

KILLS = int(os.environ.get("WHYGRAD_KILLS", "20"))

SAVER = """
import sys, numpy as np, whygrad
from whygrad import io
step = int(sys.argv[2])
print("ready", flush=True)
while True:
    step += 1
    weights = [whygrad.from_numpy(np.full(200_000, step, np.float32)) for _ in range(3)]
    io.save({"step": step, "weights": weights}, sys.argv[1])
    print("saved", flush=True)
"""


def test_a_killed_save_leaves_a_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    chance = random.Random(0)
    last = 0
    duration = 0.02  # of a save on this machine, as it is now
    source = str(Path(whygrad.__file__).parents[1])
    for kill in range(KILLS):
        child = subprocess.Popen(
            [sys.executable, "-c", SAVER, str(path), str(last)],
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": source},
        )
        assert child.stdout is not None
        with child.stdout:
            child.stdout.readline()
            if kill % 3:  # otherwise in its first save
                started = time.monotonic()
                child.stdout.readline()
                duration = time.monotonic() - started
            time.sleep(chance.uniform(0.0, duration))
            child.send_signal(signal.SIGKILL)
        child.wait()
        if not path.exists():
            assert last == 0
            continue
        state = checkpoint.load(path)
        assert state["step"] >= last
        last = state["step"]
        for weight in state["weights"]:
            assert (weight._array == last).all()
    assert last > 0
