"""The programs in examples/ run on PyTorch and, unchanged, on whygrad: the same seed gives the same losses, step by step.

The environment may say how many steps: WHYGRAD_EXAMPLE_STEPS (50), WHYGRAD_GPT_STEPS for the long run of the GPT (200).
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import runpy
import sys
import warnings
from pathlib import Path

import interpreters
import numpy as np
import pytest
import torch
from interpreters import SOURCE

torch.set_num_threads(1)

EXAMPLES = Path(__file__).parents[2] / "examples"
STEPS = int(os.environ.get("WHYGRAD_EXAMPLE_STEPS", "50"))
GPT_STEPS = int(os.environ.get("WHYGRAD_GPT_STEPS", "200"))
PROGRAMS = sorted(path.stem for path in EXAMPLES.glob("*.py") if path.stem != "demo")

NUMBER = re.compile(r"-?\d+\.\d+")


def on_torch(program: str, *arguments: str) -> str:
    """What the program prints on PyTorch. In this process: to import torch takes longer than most of the programs."""
    path = str(EXAMPLES / f"{program}.py")
    before = sys.argv, torch.get_default_dtype()
    sys.argv = [path, *arguments]
    try:
        with contextlib.redirect_stdout(io.StringIO()) as printed, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # nn.Transformer warns of its own prototypes
            runpy.run_path(path, run_name="__main__")
    finally:
        sys.argv = before[0]
        torch.set_default_dtype(before[1])
    return printed.getvalue()


def on_whygrad(program: str, *arguments: str) -> str:
    """What the program prints by `whygrad run`, which has nothing to complain of."""
    done = interpreters.run(["-m", "whygrad", "run", str(EXAMPLES / f"{program}.py"), *arguments],
                            env={**os.environ, "PYTHONPATH": SOURCE, "PYTHONWARNINGS": "error"})
    assert done.stderr == ""
    assert done.returncode == 0
    return done.stdout


def assert_same_run(program: str, steps: int) -> None:
    arguments = ["--steps", str(steps)]
    theirs, ours = on_torch(program, *arguments), on_whygrad(program, *arguments)
    assert len(re.findall(r"^step \d+ loss -?\d+\.\d{6}\b", theirs, re.MULTILINE)) == steps
    for their_line, our_line in zip(theirs.splitlines(), ours.splitlines(), strict=True):
        assert NUMBER.sub("#", our_line) == NUMBER.sub("#", their_line)
        for their_number, our_number in zip(NUMBER.findall(their_line), NUMBER.findall(our_line), strict=True):
            one_digit = 1.01 * 10.0 ** -len(their_number.partition(".")[2])  # both were rounded to be printed
            np.testing.assert_allclose(float(our_number), float(their_number), rtol=1e-4, atol=one_digit,
                                       err_msg=f"torch: {their_line}")


@pytest.mark.parametrize("program", PROGRAMS)
def test_same_losses(program: str) -> None:
    assert_same_run(program, GPT_STEPS if program == "gpt" else STEPS)


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_know_nothing_of_whygrad(program: str) -> None:
    assert "whygrad" not in (EXAMPLES / f"{program}.py").read_text()
