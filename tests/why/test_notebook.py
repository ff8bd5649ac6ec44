"""Notebooks and prompts: locations name the cell, `whygrad run x.ipynb` runs the cells. IPython itself is imitated."""

from __future__ import annotations

import json
import linecache
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import interpreters
import pytest
from running import SOURCE, environment

import whygrad
from whygrad.why import cells
from whygrad.why.locations import SourceLocation

IMPORTS = "import torch\nimport torch.nn as nn"
CUT = ["model = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))\nx = torch.randn(4, 2)",
       "h = model[0](x).detach()\nloss = model[2](torch.tanh(h)).sum()", "loss.backward()", "model[0].weight.grad"]


def notebook(path: Path, *sources: str, **more: Any) -> Path:
    code = [{"cell_type": "code", "source": source.splitlines(keepends=True), "outputs": []} for source in sources]
    path.write_text(json.dumps({"nbformat": 4, "cells": [{"cell_type": "markdown", "source": "# Title"}, *code], **more}))
    return path


def run(path: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return interpreters.run(["-m", "whygrad", *(options or ("run",)), str(path)], cwd=path.parent, env=environment())


def test_locations_name_the_cell(tmp_path: Path) -> None:
    path = notebook(tmp_path / "x.ipynb", IMPORTS, "", *CUT)
    done = run(path)
    assert done.returncode == 0, done.stderr
    assert "whygrad [1 of 1] cell 5, line 1: model[0].weight.grad" in done.stderr
    assert "in cell 3, line 1 by `model[0](x).detach()`" in done.stderr
    assert "cause: cell 3, line 1: model[0](x).detach()" in done.stderr
    assert "cell 3, line 1 becomes:\n      h = model[0](x)\n" in done.stderr
    assert str(tmp_path) not in done.stderr


def test_the_last_expression_is_displayed(tmp_path: Path) -> None:
    done = run(notebook(tmp_path / "x.ipynb", "1 + 1\n2 + 2", "3 + 3;", "None", "a = 4", "'text'"))
    assert done.stdout == "4\n'text'\n", done.stderr


def test_equal_cells_are_different_lines(tmp_path: Path) -> None:
    done = run(notebook(tmp_path / "x.ipynb", IMPORTS, *CUT[:3], "loss.backward()"))
    assert done.returncode == 1
    assert f'File "{tmp_path}/x.ipynb, cell 5", line 1, in <module>\n    loss.backward()\n' in done.stderr
    assert "freed by the backward at cell 4, line 1" in done.stderr
    assert "same line" not in done.stderr
    assert "whygrad/" not in done.stderr.partition("why: ")[0]  # no frames of the package


def test_a_loop_in_a_cell_is_the_same_line(tmp_path: Path) -> None:
    done = run(notebook(tmp_path / "x.ipynb", IMPORTS, *CUT[:2], "for _ in range(2):\n    loss.backward()"))
    assert "It is the same line" in done.stderr


@pytest.mark.parametrize(("source", "skipped", "printed"), [
    ("%matplotlib inline\nprint(1)", "1 line that is not Python: %matplotlib inline", "1\n"),
    ("!pip install x\nfiles = !ls\nprint?\nif True:\n    %autoreload 2\nprint(2)",
     "4 lines that are not Python: !pip install x, files = !ls, print?, %autoreload 2", "2\n"),
    ("%%time\nprint(3)", "%%time", "3\n"),
    ("%time print(4)\n%reset", "%reset", "4\n"),
    ("%%bash\necho 5", "%%bash", ""),
    ("x = 7\nprint('''\n%s''' % 6, x\n% 4)", "", "\n6 3\n"),
])
def test_magics_are_skipped(source: str, skipped: str, printed: str, tmp_path: Path) -> None:
    done = run(notebook(tmp_path / "x.ipynb", source))
    assert done.returncode == 0, done.stderr
    assert done.stdout == printed
    assert skipped in done.stderr
    assert len(done.stderr.splitlines()) == bool(skipped), done.stderr


def test_older_notebooks(tmp_path: Path) -> None:
    path = tmp_path / "x.ipynb"
    path.write_text(json.dumps({"worksheets": [{"cells": [{"cell_type": "code", "input": ["print(", "1)"]}]}]}))
    assert run(path).stdout == "1\n"


def test_what_is_no_notebook(tmp_path: Path) -> None:
    path = tmp_path / "x.ipynb"
    missing = run(path)
    assert missing.returncode == 2
    assert "No such file" in missing.stderr
    for text in ("{", "[]", "{}", '{"cells": 1}'):
        path.write_text(text)
        done = run(path)
        assert done.returncode == 2
        assert done.stderr.startswith(f"whygrad: {path} is not a notebook"), done.stderr


def test_ask_and_fix(tmp_path: Path) -> None:
    path = notebook(tmp_path / "x.ipynb", IMPORTS, *CUT)
    done = run(path, "ask", "why does model[0].weight not get a gradient")
    assert "cause: cell 3, line 1" in done.stdout
    refused = run(path, "fix")
    assert refused.returncode == 2
    assert "not to notebooks" in refused.stderr


class Shell:
    """The part of IPython's shell that is used."""

    def __init__(self) -> None:
        self.compile = SimpleNamespace(_filename_map={})
        self.user_ns: dict[str, Any] = {"In": [""]}
        self.shown: list[BaseException] = []

    def run_cell(self, source: str, file: str, scope: dict[str, Any], *, mapped: bool = True) -> None:
        """As ipykernel: the text is in linecache, under a temporary name."""
        self.user_ns["In"].append(source)
        if mapped:
            self.compile._filename_map[file] = len(self.user_ns["In"]) - 1
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
        exec(compile(source, file, "exec"), scope)

    def set_custom_exc(self, kinds: tuple[type[BaseException], ...], handler: Any) -> None:
        self.handler = handler

    def showtraceback(self, found: Any, tb_offset: int | None = None) -> None:
        self.shown.append(found[1])


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch) -> Shell:
    running, module = Shell(), ModuleType("IPython")
    module.get_ipython = lambda: running  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", module)
    return running


@pytest.mark.parametrize("mapped", [True, False])
def test_in_ipython(mapped: bool, shell: Shell) -> None:
    scope: dict[str, Any] = {"torch": whygrad, "__name__": "__main__"}
    sources = ["w = torch.ones(2, requires_grad=True)", "y = (w * 2).detach()\nz = torch.ones(2, requires_grad=True)",
               "loss = (y * z).sum()\nloss.backward()"]
    for number, source in enumerate(sources):
        shell.run_cell(source, f"/tmp/ipykernel_77/{number}{int(mapped)}.py", scope, mapped=mapped)
    told = scope["w"].why()
    assert told.category == "detach"
    assert "in cell 2, line 1 by `(w * 2).detach()`" in told.text
    assert "cell 2, line 1: (w * 2).detach()" in str(told)
    assert "ipykernel" not in str(told)
    with pytest.raises(RuntimeError) as raised:
        shell.run_cell("loss.backward()", f"/tmp/ipykernel_77/9{int(mapped)}.py", scope, mapped=mapped)
    [note] = raised.value.__notes__
    assert "at cell 3, line 1 by" in note
    assert "freed by the backward at cell 3, line 2" in note
    assert "same line" not in note


@pytest.mark.parametrize(("file", "name"), [
    ("<ipython-input-12-0123456789ab>", "cell 12"), ("<python-input-3>", "input 3"), ("/tmp/ipykernel_1/99.py", "a cell"),
    ("/home/me/ipykernel_1.py", ""), ("/home/me/train.py", ""), ("<string>", ""), ("<stdin>", "")])
def test_names_of_cells(file: str, name: str) -> None:
    assert cells.cell_name(file) == name
    where = str(SourceLocation(file, 4, 4, 0, 0, "", ""))
    assert where == (f"{name}, line 4" if name else f"{file}:4")


def test_at_the_prompt() -> None:
    program = ("import whygrad as torch\nw = torch.ones(2, requires_grad=True)\nloss = (w ** 2).sum()\nloss.backward()\n"
               "loss.backward()\n(w * 2).detach().why()\n")
    done = subprocess.run([sys.executable, "-i", "-q"], input=program, env={**environment(), "PYTHONPATH": SOURCE},
                          capture_output=True, text=True, timeout=120, check=False)
    assert "freed by the backward at an input at the prompt, line 1" in done.stderr
    assert "same line" not in done.stderr
    assert "[detach]" in done.stdout  # the explanation shows itself
    assert "Explanation(" not in done.stdout


def test_pretty_printing() -> None:
    class Printer:
        def __init__(self) -> None:
            self.written = ""

        def text(self, text: str) -> None:
            self.written += text

    for told in (whygrad.ones(2).why(), whygrad.explain(whygrad.nn.Linear(2, 1))):
        printer = Printer()
        told._repr_pretty_(printer, False)
        assert printer.written == str(told) == repr(told)
        assert told._repr_html_().startswith("<")


def test_tracebacks_in_ipython_show_cells_only(shell: Shell) -> None:
    cells.load_ipython_extension(shell)  # with PyTorch: for_torch/test_torch_ipython.py
    try:
        exec(compile("torch.ones(2).sum().backward()", "<ipython-input-1-0>", "exec"), {"torch": whygrad, "__name__": "__main__"})
    except RuntimeError as error:
        shell.handler(shell, type(error), error, error.__traceback__)
    [shown] = shell.shown
    files, entry = [], shown.__traceback__
    while entry is not None:
        files.append(entry.tb_frame.f_code.co_filename)
        entry = entry.tb_next
    assert files == [__file__, "<ipython-input-1-0>"]
    cells.unload_ipython_extension(shell)
    assert shell.handler is None
