"""Explanations cost almost nothing until asked. The timing itself is in `benchmarks.recording` and `benchmarks.watching`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

LOOP = """
import os, torch
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
w = torch.ones(8, requires_grad=True)
def loop(count):
    y = w
    with torch.no_grad():
        for _ in range(count // 2):
            y = y * w + 0.5
loop(10_000)
before = resident()
loop(1_000_000)
print(resident() - before)
"""


def measured(*arguments: str) -> float:
    done = subprocess.run([sys.executable, "-m", "benchmarks.recording", "--measure", *arguments], cwd=ROOT, capture_output=True,
                          text=True, check=True, env={"PYTHONPATH": str(ROOT / "src")})
    return float(json.loads(done.stdout))


needs_proc = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")


@needs_proc
def test_a_million_operations_without_grad_leave_nothing() -> None:
    assert measured("memory") < 2**20


@needs_proc
def test_nor_do_they_under_the_watch(tmp_path: Path) -> None:
    (tmp_path / "loop.py").write_text(LOOP.replace("1_000_000", "200_000"))  # the watch makes it five times as slow
    done = subprocess.run([sys.executable, "-m", "whygrad", "run", "--html=report.html", "loop.py"], cwd=tmp_path,
                          capture_output=True, text=True, check=True, env={"PYTHONPATH": str(ROOT / "src")})
    assert int(done.stdout) < 2**20


def test_recording_can_be_compiled_out_for_the_comparison() -> None:
    assert 0 < measured("without", "--budget", "0.05") < 1e-3


def watching(*arguments: str) -> list[str]:
    done = subprocess.run([sys.executable, "-m", "benchmarks.watching", *arguments], cwd=ROOT, capture_output=True, text=True,
                          check=True, env={"PYTHONPATH": str(ROOT / "src")})
    return done.stdout.splitlines()


def test_a_run_can_be_timed_with_and_without_the_watch() -> None:
    _, line = watching("--rounds=1", "--share=0.002", "tiny MLP step")
    assert 0 < float(line.split()[-1]) < 1000


@needs_proc
def test_memory_does_not_grow_with_the_steps() -> None:
    """`python -m benchmarks.watching --memory` goes on to 50,000."""
    early, late = [float(line.split()[2]) for line in watching("--memory", "1000", "4000")]
    assert late - early < 1.0


LONG_PROGRAMS = {
    "a graph of many lines": ["h{0} = torch.relu(w * {0}.5)", "loss = loss + h{0}.detach().sum() + h{0}.sum()"],
    "an answer on every line": ["y{0} = w * 2; y{0}.sum().backward(); g = y{0}.grad"],
}


@pytest.mark.parametrize("name", LONG_PROGRAMS)
def test_reports_of_long_programs_end(name: str, tmp_path: Path) -> None:
    """What was as the square of their length took a minute for these."""
    lines = [line.format(i) for i in range(250) for line in LONG_PROGRAMS[name]]
    head = "import torch\nw = torch.randn(3, requires_grad=True)\nloss = w.sum()\n"
    (tmp_path / "long.py").write_text(head + "\n".join([*lines, "loss.backward()", ""]))
    done = subprocess.run([sys.executable, "-m", "whygrad", "run", "--html=report.html", "long.py"], cwd=tmp_path, timeout=300,
                          capture_output=True, text=True, check=True, env={"PYTHONPATH": str(ROOT / "src")})
    assert not done.stdout
    assert "long.py" in (tmp_path / "report.html").read_text()
