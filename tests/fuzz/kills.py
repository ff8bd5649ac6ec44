"""`kill -9` while a checkpoint or a file of the kernel cache is written: it is the old one or the new one, whole.

A process loads the library once. For each line (the last number that was saved) a child saves one number after another, to
both, until it is killed.
"""

from __future__ import annotations

import atexit
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import whygrad
from whygrad import io as checkpoint
from whygrad.base import disk_cache

SAVER = r"""
import os, sys, numpy as np, whygrad
from whygrad import io
from whygrad.base import disk_cache
disk_cache.cache_folder = lambda: sys.argv[1]
for line in sys.stdin:
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        continue
    step = int(line)
    os.write(1, b"%d\n" % os.getpid())
    while True:
        step += 1
        weights = [whygrad.from_numpy(np.full(200_000, step, np.float32)) for _ in range(3)]
        io.save({"step": step, "weights": weights}, os.path.join(sys.argv[1], "model.pt"))
        disk_cache.write("whygrad_kernel.o", step.to_bytes(8, "little") * 50_000)
        os.write(1, b"saved\n")  # at once: a child that is killed must not leave a part of a line
"""


class Saver:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.last = 0
        self.duration = 0.02  # of a save on this machine, as it is now
        source = str(Path(whygrad.__file__).parents[1])
        self.process = subprocess.Popen([sys.executable, "-c", SAVER, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, env={**os.environ, "PYTHONPATH": source})

    def kill_once(self, delay: float, in_first_save: bool) -> str | None:
        """Kill it after `delay` of a save, and say what is wrong with the files."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{self.last}\n")
        self.process.stdin.flush()
        while (child := self.process.stdout.readline()) == "saved\n":  # by the one before
            pass
        if not in_first_save:
            started = time.monotonic()
            self.process.stdout.readline()
            self.duration = time.monotonic() - started
        time.sleep(delay * self.duration)
        os.kill(int(child), signal.SIGKILL)
        return self._wrong()

    def _wrong(self) -> str | None:
        path = self.folder / "model.pt"
        if not path.exists():
            return None if self.last == 0 else "the checkpoint is gone"
        state = checkpoint.load(path)
        if state["step"] < self.last:
            return f"step {state['step']} after {self.last}"
        self.last = state["step"]
        if not all(bool((weight == self.last).all()) for weight in state["weights"]):
            return "weights of different steps"
        cached = self.folder / "whygrad_kernel.o"
        if cached.exists():
            data = cached.read_bytes()
            content = data[disk_cache.DIGEST:]
            if disk_cache._digest(cached.name, content) != data[:disk_cache.DIGEST] or content != content[:8] * 50_000:
                return "the cached file is not whole"
        return None

    def stop(self) -> None:
        with self.process:  # closes its pipes, which ends it
            pass


@cache
def _saver() -> Saver:
    folder = tempfile.TemporaryDirectory()
    saver = Saver(Path(folder.name))
    atexit.register(folder.cleanup)
    atexit.register(saver.stop)
    return saver


class Kills:
    name = "kills"

    def make(self, choose: random.Random) -> tuple[float, bool]:
        return choose.random(), choose.random() < 0.3

    def problem(self, case: tuple[float, bool]) -> str | None:
        return _saver().kill_once(*case)

    def smaller(self, case: tuple[float, bool]) -> Iterable[tuple[float, bool]]:
        return ()

    def script(self, case: tuple[float, bool]) -> str:
        return f"# killed after {case[0]:.2f} of {'the first' if case[1] else 'a later'} save\n"


KIND = Kills()
