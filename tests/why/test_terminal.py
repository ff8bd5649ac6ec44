"""Answers in a terminal are coloured, folded and underlined; in a pipe they are plain."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

pytest.importorskip("rich")
if sys.platform == "win32":
    pytest.skip("there are no pseudo-terminals", allow_module_level=True)

from running import PROGRAM, in_terminal, piped

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


def plain(text: str) -> str:
    return ESCAPE.sub("", text)


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "train.py"
    path.write_text(PROGRAM)
    return path


def test_a_pipe_gets_plain_text(script: Path) -> None:
    done = piped(script.parent, "train.py")
    assert "\x1b" not in done.stderr
    assert done.stderr.startswith(f"\nwhygrad [1 of 2] {script}:27: model.encoder[0].weight.grad\n")
    assert f"    cause: {script}:17 in forward: self.encoder(x).detach()\n" in done.stderr
    assert "\n  fix: " in done.stderr
    assert "\n    line 17 becomes:\n              codes = self.encoder(x)\n" in done.stderr


def test_a_terminal_gets_colours_and_the_expression_underlined(script: Path) -> None:
    shown = in_terminal(script.parent, "train.py")
    assert "\x1b[1;4;31mself.encoder(x).detach()" in shown
    text = plain(shown)
    lines = text.splitlines()
    at = next(i for i, line in enumerate(lines) if "codes = self.encoder(x).detach()" in line)
    start = lines[at].index("self.encoder")
    assert lines[at + 1] == " " * start + "^" * len("self.encoder(x).detach()")
    assert "[detach]" in text
    assert "whygrad 2 of 2" in text
    assert all(len(line.rstrip()) <= 90 for line in lines)


def test_it_is_folded_to_a_narrow_terminal(script: Path) -> None:
    lines = plain(in_terminal(script.parent, "train.py", width=50)).splitlines()
    assert max(len(line.rstrip()) for line in lines) <= 50
    assert any("^^^" in line for line in lines)


def test_no_color_is_honoured(script: Path) -> None:
    shown = in_terminal(script.parent, "train.py", NO_COLOR="1")
    assert not re.search(r"\x1b\[[0-9;]*(3[0-7]|9[0-7]|38)[;m]", shown)
    assert "^^^^" in shown


def test_colours_can_be_had_in_a_pipe(script: Path) -> None:
    assert "\x1b[" in piped(script.parent, "train.py", FORCE_COLOR="1").stderr


def test_without_rich_it_is_plain(script: Path) -> None:
    (script.parent / "rich.py").write_text("raise ImportError('not here')\n")
    shown = in_terminal(script.parent, "train.py", PYTHONPATH=f"{script.parent}:{Path(__file__).parents[2] / 'src'}")
    assert "\x1b" not in shown
    assert "whygrad [1 of 2]" in shown


def test_live(script: Path) -> None:
    assert "\x1b[1;4;31m" in in_terminal(script.parent, "--live", "train.py")


def test_control_characters_do_not_reach_the_terminal(tmp_path: Path) -> None:
    (tmp_path / "evil.py").write_text("import torch\nw = torch.ones(2)\n"
                                      "(torch.ones(2, requires_grad=True) * w).sum().backward()\n"
                                      "print(w.grad, '\x1b]0;owned\x07\x1b[2J')\n")
    shown = in_terminal(tmp_path, "evil.py")
    assert "never-required-grad" in shown
    assert "\x1b]0;" not in shown
    assert "\x1b[2J" not in shown


def test_many_answers_are_folded(tmp_path: Path) -> None:
    lines = ["import torch", "w = torch.ones(2)", "(torch.ones(2, requires_grad=True) * w).sum().backward()"]
    (tmp_path / "many.py").write_text("\n".join(lines + [f"g{i} = w.grad" for i in range(30)]) + "\n")
    text = plain(in_terminal(tmp_path, "many.py"))
    assert "10 more; --json FILE or --html FILE has them in full" in text
    assert text.count("never-required-grad") == 30


@pytest.mark.parametrize("line", ["sys.stderr.close()", "sys.stderr = None", "sys.stderr = open('/dev/null', 'w')"])
def test_a_program_without_standard_error_ends_as_it_does(line: str, tmp_path: Path) -> None:
    (tmp_path / "closed.py").write_text(f"import torch, sys\nw = torch.ones(2)\n(torch.ones(2, requires_grad=True) * w).sum()"
                                        f".backward()\nw.grad\n{line}\nsys.exit(5)\n")
    assert piped(tmp_path, "closed.py").returncode == 5
