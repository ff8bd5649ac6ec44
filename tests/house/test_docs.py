"""What the documents show is what happens."""

from __future__ import annotations

import contextlib
import io
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def python_blocks(text: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


def test_readme() -> None:
    """The blocks run one after the other, and print what their comments say."""
    scope: dict[str, object] = {}
    for block in python_blocks((ROOT / "README.md").read_text()):
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(compile(block, "README.md", "exec"), scope)
        promised = re.findall(r"print\(.*?\)\s+# (.*)", block)
        for line in promised:
            assert line in output.getvalue().splitlines()


def test_rows_in_the_readme_of_ops_are_real() -> None:
    from whygrad.ops.table import TABLE

    text = (ROOT / "src" / "whygrad" / "ops" / "README.md").read_text()
    for name in re.findall(r"^def (\w+)\(xp", text, re.MULTILINE):
        assert name in TABLE


def test_demo() -> None:
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        runpy.run_path(str(ROOT / "examples" / "demo.py"), run_name="__main__")
    for words in ("x.grad = tensor([2., 4., 6.])", "non-leaf-no-retain", "stale-grad-after-freeze", "[detach]"):
        assert words in output.getvalue()


def test_the_page_of_explanations() -> None:
    scope: dict[str, object] = {}
    text = (ROOT / "docs" / "explanations.md").read_text()
    for block in python_blocks(text):
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(compile(block, "explanations.md", "exec"), scope)
        assert output.getvalue().splitlines() == re.findall(r"print\(.*\)\s+# (.*)", block)
    for picture in re.findall(r"!\[.*?\]\((.*?)\)", text):
        assert 1000 < (ROOT / "docs" / picture).stat().st_size < 200_000


def test_the_page_of_compile() -> None:
    scope: dict[str, object] = {}
    for block in python_blocks((ROOT / "docs" / "compile.md").read_text()):
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(compile(block, "compile.md", "exec"), scope)
        assert output.getvalue().splitlines() == re.findall(r"^print\(.*\)  # (.*)", block, re.MULTILINE)


def test_the_page_of_pytorch(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "pytorch.md").read_text()
    program, *more = python_blocks(text)
    (tmp_path / "train.py").write_text(program)
    done = subprocess.run([sys.executable, "train.py"], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
                          capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout == ""
    [promised] = re.findall(r"standard error has:\n\n```text\n(.*?)```", text, re.DOTALL)
    assert done.stderr.replace(f"{tmp_path}{os.sep}", "").strip() == promised.strip()
    scope: dict[str, object] = {}
    exec(compile(program, "train.py", "exec"), scope)
    for block in more:
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(compile(block, "pytorch.md", "exec"), scope)
        assert output.getvalue().splitlines() == re.findall(r"print\(.*\)\s+# (.*)", block)
