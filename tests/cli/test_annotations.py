"""`--github`: an annotation for each answer on standard error, as GitHub's runner reads it."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import unquote

import interpreters
import pytest
from interpreters import SOURCE

# The read is in a line that needs escapes, in a file whose name does.
NAME = "100%, a:b.py"
PROGRAM = """import torch
w = torch.ones(2)
(torch.ones(2, requires_grad=True) * w).sum().backward()
print("%0A" , w.grad, "a:b, c")
"""
LINES = """import torch
torch.autograd.backward(
    torch.ones(2))
"""
ODD = """import torch
model = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(20):
    x = torch.randn(16, 8)
    y = x[:, :1] * 0.3 + torch.randn(16, 1)
    x[:, 2:] = 1.0
    optimizer.zero_grad()
    ((model(x) - y) ** 2).mean().backward()
    optimizer.step()
"""
COMMAND = re.compile(r"^::(\w+) ([^:]*)::(.*)$", re.MULTILINE)


def annotated(folder: Path, program: str, *options: str, command: str = "run", name: str = "train.py",
              **environment: str) -> list[tuple[str, dict[str, str], str]]:
    """Kind, properties and message of each annotation."""
    (folder / name).write_text(program)
    done = interpreters.run(["-m", "whygrad", command, *options, name], cwd=folder,
                            env={**os.environ, "PYTHONPATH": SOURCE, **environment})
    assert "::error" not in done.stdout
    return [(kind, {key: unquote(value) for key, value in (pair.split("=", 1) for pair in told.split(","))}, unquote(message))
            for kind, told, message in COMMAND.findall(done.stderr)]


def test_an_annotation(tmp_path: Path) -> None:
    [(kind, properties, message)] = annotated(tmp_path, PROGRAM, "--github", name=NAME)
    assert kind == "error"
    assert properties == {"file": NAME, "line": "4", "endLine": "4", "col": "15", "endColumn": "21",
                          "title": "whygrad: never-required-grad"}
    lines = message.splitlines()
    assert lines[0].startswith("w.grad: ")
    assert lines[-2] == f"cause: {NAME}:2: torch.ones(2)"
    assert lines[-1].startswith("fix: ")


# Program, command, options, environment, annotations: kind, and properties that it has.
CASES: dict[str, tuple[str, str, list[str], dict[str, str], list[tuple[str, dict[str, str]]]]] = {
    "not asked for": (PROGRAM, "run", [], {}, []),
    "in a workflow": (PROGRAM, "run", [], {"GITHUB_ACTIONS": "true"}, [("error", {"file": "train.py"})]),
    "relative to the checkout": (PROGRAM, "run", [], {"GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": ".."},
                                 [("error", {"file": "here/train.py"})]),
    "elsewhere": (PROGRAM, "run", ["--github"], {"GITHUB_WORKSPACE": "/usr"}, [("error", {"line": "4"})]),
    "quiet in a workflow": (PROGRAM, "run", ["--quiet"], {"GITHUB_ACTIONS": "true"}, []),
    "nothing else": (PROGRAM, "run", ["--quiet", "--github"], {}, [("error", {"line": "4"})]),
    "live": (PROGRAM, "run", ["--live", "--github"], {}, [("error", {"line": "4"})]),
    "filtered": (PROGRAM, "run", ["--only=detach", "--github"], {}, []),
    "nothing to say": ("print(1)\n", "run", ["--github"], {}, []),
    "several lines": (LINES, "run", ["--github"], {}, [("error", {"line": "2", "endLine": "3"})]),
    "odd": (ODD, "audit", ["--github"], {}, [("notice", {"title": "whygrad: input-degenerate"})]),
    "ignored": (ODD, "audit", ["--github", "--ignore=input-*"], {}, []),
    "behind an unfinished line": ("import sys; sys.stderr.write('no end of line')\n" + PROGRAM, "run", ["--github"], {},
                                      [("error", {"line": "5"})]),
}


@pytest.mark.parametrize("name", CASES)
def test_annotations(name: str, tmp_path: Path) -> None:
    program, command, options, environment, expected = CASES[name]
    folder = tmp_path / "here"
    folder.mkdir()
    found = annotated(folder, program, *options, command=command, **environment)
    assert [kind for kind, _, _ in found] == [kind for kind, _ in expected]
    for (_, properties, _), (_, some) in zip(found, expected, strict=True):
        assert some.items() <= properties.items()
        assert ("col" in properties) == (properties["line"] == properties["endLine"])
