"""`%load_ext whygrad` in a real IPython, on real PyTorch."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("IPython")

import torch
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from test_torch_api import SOURCE, Net, everything_of_torch, state, train
from traitlets.config import Config

from whygrad.for_torch import recording

NET = """class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(2, 3), nn.Linear(3, 1)
    def forward(self, x):
        return self.b(torch.tanh(self.a(x).detach()))
"""
CELLS = ["import torch\nfrom torch import nn", NET,
         "net, x = Net(), torch.randn(4, 2)\nheld = torch.optim.SGD(net.parameters(), lr=0.1)"]


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    InteractiveShell.clear_instance()
    kept = {name: getattr(sys, name) for name in ("displayhook", "excepthook", "ps1", "ps2", "ps3") if hasattr(sys, name)}
    running = InteractiveShell.instance(config=config)
    yield running
    running.run_line_magic("unload_ext", "whygrad")
    InteractiveShell.clear_instance()
    for name in ("displayhook", "excepthook", "ps1", "ps2", "ps3"):
        if name in kept:
            setattr(sys, name, kept[name])
        elif hasattr(sys, name):
            delattr(sys, name)


def run(shell: Any, *cells: str) -> str:
    """What the last cell shows."""
    for cell in cells:
        with capture_output() as shown:
            shell.run_cell(cell, store_history=True)
    return shown.stdout + shown.stderr + "".join(output.data["text/plain"] for output in shown.outputs)


def test_a_notebook(shell: Any) -> None:
    train(Net())  # what torch makes at the first use
    before, outside = everything_of_torch(), state()
    run(shell, "%load_ext whygrad", *CELLS)
    assert recording.is_on()
    told = run(shell, "net(x).sum().backward()", "%why net.a.weight")
    assert "[detach]" in told
    assert "cell 3, line 6 in forward: self.a(x).detach()" in told
    table = run(shell, "%why net")
    assert "a.weight   (3, 2)  None            [detach] cell 3, line 6: self.a(x).detach()" in table
    run(shell, "%unload_ext whygrad")
    assert not recording.is_on()
    assert "`%why` not found" in run(shell, "%why net")
    after = everything_of_torch()
    assert {key for key, value in before.items() if after.get(key) != value} == set()
    assert state() == outside


@pytest.mark.parametrize(("cell", "words"), [
    ("%%why net\nloss = net(x).sum()\nloss.backward()\n'shown' + '!'",
     ["'shown!'", "cell 5, line 3: loss.backward()", "`a.weight` and `a.bias`", "cause: cell 3, line 6 in forward",
      "cell 3, line 6 becomes:\n              return self.b(torch.tanh(self.a(x)))"]),
    ("%%why\nx.sum().backward()", ["RuntimeError", "cell 5, line 2: x.sum().backward()", "[never-required-grad]",
                                   "cause: cell 4, line 1: torch.randn(4, 2)"]),
    ("%%why\n1 / 0", ["ZeroDivisionError", "nothing to explain"]),
    ("%%why\n1 +", ["SyntaxError", "nothing to explain"]),
    ("%%why\ny = 1", ["nothing to explain"]),
    ("%why", ["%why takes a tensor or a model"]),
    ("%why 3", ["takes a Tensor or a Module, not int"]),
    ("%%why 3\ny = 1", ["takes a torch.nn.Module, not int"]),
])
def test_a_cell(cell: str, words: list[str], shell: Any) -> None:
    run(shell, "%load_ext whygrad", *CELLS)
    shown = run(shell, cell)
    for word in words:
        assert word in shown
    assert recording.is_on()
    assert torch._C._len_torch_function_stack() == 1


def test_answers_are_html(shell: Any) -> None:
    run(shell, "%load_ext whygrad", *CELLS, "net(x).sum().backward()")
    data, _ = shell.display_formatter.format(shell.ev("__import__('whygrad.for_torch').for_torch.watch(quiet=True).answers"))
    assert data["text/html"] == "<div>nothing to explain</div>"


def test_recording_of_the_user_stays(shell: Any) -> None:
    recording.on()
    run(shell, "%load_ext whygrad", "import torch", "%unload_ext whygrad")
    assert recording.is_on()
    recording.off()


@pytest.mark.parametrize(("cells", "starts"), [
    (["x = 1"], False), (["import whygrad as torch\ntorch.ones(2).sum()"], False), (["import torch"], True),
    (["x = 1", "  \nfrom torch import nn"], True), (["import torchvision_of_no_kind"], True),
])
def test_recording_starts_when_torch_comes(cells: list[str], starts: bool, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import sys\nfrom IPython.core.interactiveshell import InteractiveShell\nfrom traitlets.config import Config\n"
        "config = Config()\nconfig.HistoryManager.enabled = False\nshell = InteractiveShell.instance(config=config)\n"
        "shell.run_cell('%load_ext whygrad', store_history=True)\nassert 'torch' not in sys.modules\n"
        f"for cell in {cells!r}:\n    shell.run_cell(cell, store_history=True)\n"
        "recording = sys.modules.get('whygrad.for_torch.recording')\n"
        "print('on' if recording is not None and recording.is_on() else 'off')\n")
    done = subprocess.run([sys.executable, str(program)], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False,
                          env={"PYTHONPATH": str(SOURCE), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)})
    assert done.stdout.splitlines()[-1:] == ["on" if starts else "off"], done.stderr
