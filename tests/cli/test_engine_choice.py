"""`--engine auto`: torch where the imports of a program need it and it is installed, otherwise whygrad's own engine."""

from __future__ import annotations

import json
from pathlib import Path

import interpreters
import pytest

from whygrad.base import engine_choice
from whygrad.cli import Program, engine_for


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of installed packages, of which only the metadata is read."""
    folder = tmp_path / "site-packages"
    for name, requires in {"needing": ["torch>=2.0", "numpy"], "not_needing": ["numpy", 'torch; extra == "gpu"'],
                           "through_another": ["needing (>=1)"], "transformers": ['torch; extra == "torch"'],
                           "in_a_circle": ["in-a-circle", "not-needing"], "other-name": ["torch"]}.items():
        module = "hidden" if name == "other-name" else name
        (folder / module).mkdir(parents=True)
        (folder / module / "__init__.py").write_text("raise RuntimeError('nothing is imported')\n")
        info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
        info.mkdir()
        lines = ["Metadata-Version: 2.1", f"Name: {name}", "Version: 1.0", *[f"Requires-Dist: {text}" for text in requires], ""]
        (info / "METADATA").write_text("\n".join(lines))
        (info / "top_level.txt").write_text(f"{module}\n")
    monkeypatch.syspath_prepend(folder)
    return tmp_path


@pytest.mark.parametrize(("text", "needed"), [
    ("import torch\nimport numpy, json", ""),
    ("import needing", "needing, which needs PyTorch"),
    ("def main():\n    from needing.models import x", "needing, which needs PyTorch"),
    ("import not_needing, in_a_circle", ""),
    ("import through_another", "through_another, which needs PyTorch"),
    ("from transformers import Trainer", "transformers, which needs PyTorch"),
    ("import hidden", "hidden, which needs PyTorch"),
    ("try:\n    import needing\nexcept ImportError:\n    needing = None", ""),
    ("try:\n    import needing\nfinally:\n    pass", "needing, which needs PyTorch"),
    ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import needing", ""),
    ("import torch.distributed as dist", "torch.distributed, which whygrad's own engine does not have"),
    ("from torch import onnx", "torch.onnx, which whygrad's own engine does not have"),
    ("from torch.nn.parallel import DistributedDataParallel",
     "torch.nn.parallel.DistributedDataParallel, which whygrad's own engine does not have"),
    ("from torch.nn.parallel import DataParallel", ""),
    ("import torch.utils.cpp_extension", "torch.utils.cpp_extension, which whygrad's own engine does not have"),
    ("from torch.distributed import is_initialized", ""),
    ("import torch.nn.functional, torch.utils.data, torch.cuda.amp\nfrom torch.optim.lr_scheduler import StepLR", ""),
    ("import unknown_package", ""),
    ("import torch.distributed\nthis is no Python", ""),
    ("import torch.distributed\0", ""),
    ("import neighbour", "needing, which needs PyTorch"),
    ("from package.inner import x", "torch.onnx, which whygrad's own engine does not have"),
    ("from package import inner", "torch.onnx, which whygrad's own engine does not have"),
])
def test_what_a_script_imports(text: str, needed: str, packages: Path) -> None:
    (packages / "neighbour.py").write_text("import neighbour\nimport needing\n")
    (packages / "package").mkdir()
    (packages / "package" / "__init__.py").write_text("from . import other\n")
    (packages / "package" / "other.py").write_text("")
    (packages / "package" / "inner.py").write_text("from .deeper import y\nfrom . import other\n")
    (packages / "package" / "deeper.py").write_text("import torch.onnx\n")
    script = packages / "program.py"
    script.write_text(text)
    assert engine_choice.needs_torch("script", str(script)) == needed
    if "neighbour" not in text and "package" not in text and "\0" not in text:
        assert engine_choice.needs_torch("-c", text) == needed


def test_odd_programs(packages: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(packages)
    (packages / "folder").mkdir()
    (packages / "folder" / "__main__.py").write_text("import needing")
    (packages / "binary.pyc").write_bytes(b"\x00\xff import needing")
    (packages / "latin.py").write_bytes(b"# -*- coding: latin-1 -*-\nx = '\xfc'\nimport needing\n")
    (packages / "loop.py").symlink_to("loop.py")
    notebook = {"cells": [{"cell_type": "markdown", "source": "import torch.onnx"},
                          {"cell_type": "code", "source": ["%matplotlib inline\n", "import needing\n", "x = (\n"]}]}
    (packages / "book.ipynb").write_text(json.dumps(notebook))
    (packages / "broken.ipynb").write_text("{import needing")
    (packages / "module.py").write_text("import needing")
    asked = {(how, target): engine_choice.needs_torch(how, target).partition(",")[0] for how, target in [
        ("script", "folder"), ("script", "binary.pyc"), ("script", "latin.py"), ("script", "loop.py"), ("script", "nowhere.py"),
        ("script", "book.ipynb"), ("script", "broken.ipynb"), ("-m", "module"), ("-m", "nowhere"),
        ("-m", "torch.distributed.run"), ("-m", "needing.train"), ("-", "-")]}
    assert {target: found for (_, target), found in asked.items() if found} == {
        "folder": "needing", "latin.py": "needing", "book.ipynb": "needing", "module": "needing",
        "torch.distributed.run": "torch.distributed.run", "needing.train": "needing"}


def test_without_torch(packages: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    program = Program("-c", "import needing", [])
    assert engine_for(program, "auto") == "torch"
    assert capsys.readouterr().err == ("whygrad: -c ... imports needing, which needs PyTorch: running on torch "
                                       "(--engine whygrad for whygrad's own engine)\n")
    assert engine_for(program, "auto", quiet=True) == "torch"
    assert engine_for(program, "whygrad") == "whygrad"
    monkeypatch.setattr(engine_choice, "is_installed", lambda package: package != "torch")
    assert engine_for(program, "auto") == "whygrad"
    assert capsys.readouterr().err == ""
    with pytest.raises(SystemExit, match="--engine torch needs PyTorch, which is not installed"):
        engine_for(program, "torch")


@pytest.mark.parametrize(("options", "text", "engine"), [
    ([], "import torch", "whygrad"), (["--engine=torch"], "import torch", "torch"),
    ([], "import torch\nimport torch.onnx", "torch"), (["--engine=whygrad"], "import torch\nimport torch.onnx", "whygrad")])
def test_the_command(options: list[str], text: str, engine: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(f"{text}\nw = torch.ones(2, requires_grad=True)\ny = w * 2\ny.sum().backward()\n"
                                         "print(torch.__version__, y.grad)\n")
    done = interpreters.run(["-m", "whygrad", "run", *options, "--json", "a.json", "--sarif", "a.sarif", "--html", "a.html",
                             "program.py"], cwd=tmp_path, kind="both" if engine == "torch" else "whygrad")
    assert done.returncode == 0, done.stderr
    assert ("whygrad" in done.stdout) == (engine == "whygrad")
    assert done.stderr.startswith("whygrad: program.py imports torch.onnx,") == (engine == "torch" and not options)
    [answer] = json.loads((tmp_path / "a.json").read_text())
    assert (answer["category"], answer["engine"]) == ("non-leaf-no-retain", engine)
    told = json.loads((tmp_path / "a.sarif").read_text())["runs"][0]["properties"]["engine"]
    assert (told["name"], told["device"]) == (engine, "cpu")
    assert f"{engine} {told['version']} (cpu)" in (tmp_path / "a.html").read_text()
