"""Runs a program on PyTorch and on whygrad, in an environment without PyTorch, and compares what it prints."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
SOURCE = HERE.parents[1] / "src"
# Numbers may differ by this share: sums of float32 numbers in another order, over some steps of training.
TOLERANCE = 2e-3
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*(?:e[-+]?\d+)?|\binf\b|\bnan\b)")
# torchvision's compiled ops do not load on a PyTorch of another build: their names are enough for its Python code.
ON_TORCH = """
import runpy, sys, torch
for op in ("nms", "qnms"):
    torch.library.define(f"torchvision::{op}", "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


class Outcome(NamedTuple):
    printed: str
    error: str  # the last line of the traceback, "" if the program ended well
    explained: list[str]  # what `whygrad run` answers on standard error: the line and the category of each


def run(command: list[str], path: Path, timeout: int = 300) -> Outcome:
    environment = {**os.environ, "PYTHONPATH": str(path), "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false",
                   "OMP_NUM_THREADS": "1", "TRANSFORMERS_VERBOSITY": "error", "CUDA_VISIBLE_DEVICES": "", "COLUMNS": "200"}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=environment)
    except subprocess.TimeoutExpired:
        return Outcome("", f"does not end within {timeout} s", [])
    lines = [line for line in done.stderr.splitlines() if re.match(r"[\w.]+(Error|Exception|Failed)\b|SystemExit", line)]
    failed = (lines or done.stderr.splitlines() or ["exit code " + str(done.returncode)])[-1] if done.returncode else ""
    answers = re.findall(r"^whygrad \[[^]]*\] (?:\S*/)?(.*)\n(.*)", done.stderr, re.MULTILINE)
    return Outcome(done.stdout, failed, [f"{line} {title.strip()}" for line, title in answers])


def on_torch(program: Path, oracle: Path) -> Outcome:
    return run([sys.executable, "-c", ON_TORCH, str(program)], oracle)


def on_whygrad(program: Path) -> Outcome:
    return run([sys.executable, "-m", "whygrad", "run", "--engine", "whygrad", str(program)], SOURCE)


def first_difference(ours: str, theirs: str) -> str:
    """Where the two outputs differ: words must be equal, numbers nearly so. "" if they do not differ."""
    for line, expected in zip(ours.splitlines(), theirs.splitlines(), strict=False):
        numbers, wanted = ([float(x) for x in NUMBER.findall(text)] for text in (line, expected))
        same_words = NUMBER.sub("#", line) == NUMBER.sub("#", expected)
        if not same_words or len(numbers) != len(wanted) or not all(
                math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=1e-5) or (math.isnan(a) and math.isnan(b))
                for a, b in zip(numbers, wanted, strict=True)):
            return f"{line!r} instead of {expected!r}"
    if len(ours.splitlines()) != len(theirs.splitlines()):
        return f"{len(ours.splitlines())} lines instead of {len(theirs.splitlines())}"
    return ""
