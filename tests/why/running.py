"""Running a program on one of the engines, and under `whygrad run` for the tests of its output."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import json
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
from pathlib import Path
from typing import Any

import interpreters
from interpreters import SOURCE

# How a program is run: by PyTorch, by `whygrad run`, by `whygrad run --engine=torch`.
ENGINES = {"torch": [], "whygrad": ["-m", "whygrad", "run", "--engine=whygrad", "--json=answers"],
           "torch-explained": ["-m", "whygrad", "run", "--engine=torch", "--json=answers"]}


def run_on(engine: str, program: Path, spawned: int = 0) -> dict[str, Any]:
    """What the program printed, how it ended, and the answers, of all ranks if it starts `spawned` of them."""
    with tempfile.TemporaryDirectory() as folder:
        done = interpreters.run([*ENGINES[engine], str(program)], cwd=Path(folder), spawned=spawned,
                                env={**os.environ, "PYTHONPATH": SOURCE, "PYTHONWARNINGS": "ignore"})
        answers = [answer for file in sorted(Path(folder).glob("answers*")) for answer in json.loads(file.read_text())]
    return {"stdout": done.stdout, "stderr": done.stderr, "code": done.returncode, "answers": answers}


def printed(stdout: str) -> str:
    """What a program printed, without addresses of objects."""
    return re.sub(r"0x[0-9a-f]+", "0x...", stdout)


@functools.lru_cache(maxsize=2)
def run_on_torch(program: Path) -> dict[str, Any]:
    """Both engines are compared with it, one after the other."""
    return run_on("torch", program)

PROGRAM = '''\
import torch
import torch.nn as nn

torch.manual_seed(0)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 6))
        self.hidden = nn.Linear(6, 6)
        self.gate = nn.Linear(6, 6)
        self.head = nn.Linear(6, 2)
        nn.init.constant_(self.gate.bias, -100.0)

    def forward(self, x):
        codes = self.encoder(x).detach()
        return self.head(torch.relu(self.hidden(codes)) + torch.relu(self.gate(codes)))


model = Model()
model.head.bias.requires_grad_(False)
for step in range(3):
    model.zero_grad()
    loss = nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.randint(0, 2, (8,)))
    loss.backward()
print(model.encoder[0].weight.grad)
print(model.gate.weight.grad.sum())
'''


def environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES")}
    return {**kept, "PYTHONPATH": SOURCE, "TERM": "xterm-256color", **more}


def piped(folder: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    return interpreters.run(["-m", "whygrad", "run", *arguments], cwd=folder, env=environment(**more))


def in_terminal(folder: Path, *arguments: str, width: int = 90, **more: str) -> str:
    """What stands on standard error when that is a terminal."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    child = subprocess.Popen([sys.executable, "-m", "whygrad", "run", *arguments], cwd=folder, env=environment(**more),
                             stdout=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)
    pieces = []
    with contextlib.suppress(OSError):  # the other end is closed
        while piece := os.read(ours, 65536):
            pieces.append(piece)
    os.close(ours)
    child.wait(60)
    return b"".join(pieces).decode(errors="replace").replace("\r\n", "\n")
