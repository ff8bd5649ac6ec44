"""`-m module` for every command: what is run is what `python -m` runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import interpreters
import pytest
from interpreters import SOURCE

MAIN = """import sys
import torch
from . import layers
torch.manual_seed(0)
net = layers.make()
out = net(torch.randn(4, 3))
out.mean().backward()
assert sys.argv[1:] == ["a", "-b"] and __name__ == "__main__" and __spec__.name == "{name}"
g = out.grad
print("printed")
"""
FILES = {
    "package/__init__.py": "", "package/layers.py": "import torch\ndef make():\n    return torch.nn.Linear(3, 1)\n",
    "package/train.py": MAIN.replace("{name}", "package.train"),
    "package/__main__.py": MAIN.replace("{name}", "package.__main__"),
    # Packages without an __init__.py.
    "space/inner/train.py": MAIN.replace("from .", "from package").replace("{name}", "space.inner.train"),
    "broken.py": "x = = 1\n",
}
MODULES = {"package.train": "package/train.py", "package": "package/__main__.py", "space.inner.train": "space/inner/train.py"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / "work" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "work" / name).write_text(text)
    return tmp_path / "work"


def call(folder: Path, *arguments: str, path: str = "") -> subprocess.CompletedProcess[str]:
    return interpreters.run(["-m", "whygrad", *arguments], cwd=folder,
                            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [SOURCE, path]))})


@pytest.mark.parametrize("module", MODULES)
def test_modules(module: str, folder: Path) -> None:
    file = folder / MODULES[module]
    program = ["-m", module, "a", "-b"]
    ran = call(folder, "run", "--json=../a.json", *program)
    assert (ran.returncode, ran.stdout) == (0, "printed\n"), ran.stderr
    assert [answer["file"] for answer in json.loads((folder / "../a.json").read_text())] == [str(file)]
    audited = call(folder, "audit", *program)
    assert (audited.returncode, audited.stdout) == (3, "printed\n"), audited.stderr
    assert f"\nwhygrad audit: -m {module}\n" in audited.stderr
    asked = call(folder, "ask", "why is out.grad None", *program)
    assert asked.returncode == 0, asked.stderr
    assert asked.stdout.startswith(f"{file}:")
    assert "[non-leaf-no-retain]" in asked.stdout
    assert "printed" not in asked.stdout
    before = file.read_text()
    mended = call(folder, "fix", "--write", *program)
    assert mended.returncode == 0, mended.stderr
    assert f"written: {file}, " in mended.stderr
    assert f"+++ {MODULES[module]}\n" in mended.stdout
    assert "printed" not in mended.stdout
    assert file.read_text() == before.replace("out.mean()", "out.retain_grad()\nout.mean()")
    assert call(folder, "run", f"-m{module}", "a", "-b").stderr == ""


def test_a_module_elsewhere(folder: Path) -> None:
    """It is found by PYTHONPATH; what `fix` tries leaves nothing beside it."""
    file = folder / "package" / "train.py"
    file.write_text(file.read_text() + "open(__file__ + '.log', 'w')\n")
    (folder / "../elsewhere").mkdir()
    mended = call(folder / "../elsewhere", "fix", "-m", "package.train", "a", "-b", path=str(folder))
    assert mended.returncode == 0, mended.stderr
    assert "+out.retain_grad()" in mended.stdout
    assert not list(folder.rglob("*.log"))


@pytest.mark.parametrize("module", ["nowhere", "package.nowhere", "nowhere.train", "space", "broken", ".train"])
def test_modules_that_cannot_be_run(module: str, folder: Path) -> None:
    """Exit code and message are Python's."""
    theirs = subprocess.run([sys.executable, "-m", module], cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    last = theirs.stderr.splitlines()[-1].rpartition(": ")[2]
    for command in (["run"], ["audit"], ["fix"], ["ask", "why is out.grad None"]):
        done = call(folder, *command, "-m", module)
        assert done.returncode == theirs.returncode == 1, (command, done.stderr)
        assert last in done.stderr + done.stdout
    assert call(folder, "run", "-m", module).stderr == theirs.stderr
