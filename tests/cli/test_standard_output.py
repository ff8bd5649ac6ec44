"""The standard output of a program is its own: whatever whygrad prints, the program's is what plain Python writes."""

from __future__ import annotations

import os
from pathlib import Path

import interpreters
import pytest
from interpreters import SOURCE

# It has answers of all kinds: of a read, of an error that is caught, of the training; and it prints before, between and after.
TRAINING = """
import sys
import torch
print("begins")
torch.manual_seed(0)
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
for step in range(12):
    loss = model(torch.ones(4, 3) * step).mean()
    loss.backward()
    optimizer.step()
    print(step, end=" ")
try:
    loss.backward()
except RuntimeError as error:
    print(type(error))
out = model(torch.ones(2, 3))
out.sum().backward()
print(out.is_leaf, sys.argv)
print("asked", out.grad)
print("no end of line", end="")
"""
INDENTED = "".join(f"    {line}\n" for line in TRAINING.splitlines())
PROGRAMS = {
    "plain": TRAINING,
    "standard error is standard output": "import sys\nsys.stderr = sys.stdout\n" + TRAINING,
    "standard error is redirected": "import contextlib, io\ncaught = io.StringIO()\nwith contextlib.redirect_stderr(caught):\n"
                                    f"{INDENTED}print(caught.getvalue())\n",
    "an error": TRAINING + "1 / 0\n",
    "os._exit": TRAINING + "import os\nsys.stdout.flush()\nos._exit(0)\n",
}
FILES = ["--json=a.json", "--html=a.html", "--sarif=a.sarif"]
COMMANDS = [["run"], ["run", "--live"], ["run", "--quiet"], ["run", "--strict", "--github", *FILES],
            ["audit", "--steps=0"], ["audit", "--steps=0", "--github", *FILES]]


def written(folder: Path, *command: str) -> tuple[str, str]:
    """Standard output, which is a file, and standard error."""
    done = interpreters.run(command, cwd=folder, env={**os.environ, "PYTHONPATH": SOURCE, "PYTHONWARNINGS": "ignore"})
    return done.stdout, done.stderr


@pytest.mark.parametrize("name", PROGRAMS)
def test_standard_output_is_the_programs(name: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(PROGRAMS[name])
    expected, _ = written(tmp_path, "train.py", "x")
    assert expected.startswith("begins\n")
    for command in COMMANDS:
        out, told = written(tmp_path, "-m", "whygrad", *command, "train.py", "x")
        assert out == expected, command
        assert ("[learning-rate-zero]" in told) == ("--quiet" not in command), told


def test_asking_and_mending_show_nothing_of_it(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAINING)
    answer, _ = written(tmp_path, "-m", "whygrad", "ask", "why is out.grad None", "train.py")
    assert answer.startswith(str(tmp_path / "train.py"))
    assert "begins" not in answer
    diff, _ = written(tmp_path, "-m", "whygrad", "fix", "train.py")
    assert not [line for line in diff.splitlines() if line[:1] not in ("+", "-", " ", "@")]
