"""Programs one after the other in one process: nothing of one is seen by the next."""

from __future__ import annotations

import gc
import io
import json
import os
import sys
import warnings
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

import whygrad
from whygrad import alias, cli
from whygrad.for_whygrad.fresh_start import fresh_start
from whygrad.why.watch import Watch

SUM = "import torch\nw = torch.ones(2, requires_grad=True)\n{line}\nprint(w.grad)\n"

# What a program leaves behind in its own process, and how the next one would notice.
LEFT = {
    "grad mode": ("torch.set_grad_enabled(False)", "torch.is_grad_enabled()", True),
    "inference mode": ("torch.inference_mode().__enter__()", "torch.is_inference_mode_enabled()", False),
    "default dtype": ("torch.set_default_dtype(torch.float64)", "torch.get_default_dtype() is torch.float32", True),
    "anomaly mode": ("torch.autograd.set_detect_anomaly(True)", "torch.is_anomaly_enabled()", False),
    "print options": ("torch.set_printoptions(precision=1)", "str(torch.tensor(0.123))", "tensor(0.1230)"),
    "module hooks": ("torch.nn.modules.module.register_module_forward_hook(lambda *a: 1 / 0)",
                     "torch.nn.Identity()(torch.ones(()))", 1.0),
    "a module": ("sys.modules['helper'] = torch; open('helper.py', 'w').write('')", "'helper' in sys.modules", False),
    "path": ("sys.path.insert(0, '/nowhere')", "'/nowhere' in sys.path", False),
    "environment": ("os.environ['LEFT'] = '1'", "'LEFT' in os.environ", False),
    "an attribute of main": ("sys.modules['__main__'].left = 1", "hasattr(sys.modules['__main__'], 'left')", False),
    "standard output": ("sys.stdout = None", "sys.stdout is None", False),
    "filter of warnings": ("warnings.simplefilter('error', FutureWarning)", "warnings.filters[0][0] == 'error'", False),
}


@pytest.fixture(autouse=True)
def real_torch_comes_back(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    torches = {name: module for name, module in sys.modules.items() if name.partition(".")[0] in ("torch", "functorch")}
    for name in torches:
        del sys.modules[name]
    monkeypatch.chdir(tmp_path)
    yield
    alias.uninstall()
    sys.modules.update(torches)


def run(text: str) -> tuple[str, list[dict[str, Any]]]:
    Path("train.py").write_text(text)
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(io.StringIO()), fresh_start(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cli.run(["--json", "answers.json", "--quiet", "train.py"])
    return out.getvalue(), json.loads(Path("answers.json").read_text())


@pytest.mark.parametrize("what", LEFT)
def test_what_a_program_leaves_is_undone(what: str) -> None:
    left, look, expected = LEFT[what]
    imports = "import os, sys, warnings, torch\n"
    run(imports + left)
    assert run(f"{imports}found = {look}\nassert found == {expected!r}, found\nprint('as new')")[0] == "as new\n"


def test_an_answer_quotes_the_program_of_its_own_run() -> None:
    first = run(SUM.format(line="(w * 2).sum().backward()"))[1]
    second = run(SUM.format(line="(w * w.data).sum().backward(); w = w * 3"))[1]
    assert first == []
    assert [answer["category"] for answer in second] == ["leaf-replaced"]
    assert "w * 3" in second[0]["causes"][0]["expression"]


def test_unused_parameters_of_one_program_are_no_answer_to_the_next() -> None:
    wrong = ("import torch\nm = torch.nn.Linear(2, 1)\no = torch.optim.SGD(m.parameters(), 0.1)\n"
             "for _ in range(4):\n    loss = m(torch.randn(3, 2)).sum()\n    o.step()\n")
    for _ in range(2):
        assert [answer["category"] for answer in run(wrong)[1]] == ["no-backward"]
    assert run("import torch\n")[1] == []


OPTIMIZER = """import torch
class Own(torch.optim.{base}):
    def step(self):
        return super().step()
w = torch.ones(2, requires_grad=True)
optimizer = {made}([w], lr=0.1)
optimizer.register_step_post_hook(lambda *a: print("stepped"))
w.sum().backward()
optimizer.step()
"""


def test_a_step_calls_its_hooks_once_whatever_ran_before() -> None:
    for base in ("SGD", "Adam"):
        assert run(OPTIMIZER.format(base=base, made=f"torch.optim.{base}"))[0] == "stepped\n"
        assert run(OPTIMIZER.format(base=base, made="Own"))[0] == "stepped\n"


def test_nothing_is_kept_alive() -> None:
    def watches() -> set[int]:
        gc.collect()
        return {id(x) for x in gc.get_objects() if issubclass(type(x), Watch)}

    before = watches()  # of other tests, which end a watch without a fresh start
    run(SUM.format(line="(w * 2).sum().backward()"))
    assert watches() <= before
    assert whygrad.is_grad_enabled()
    assert "train" not in os.listdir()
