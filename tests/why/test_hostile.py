"""Programs that end badly, hide their source or misbehave: `whygrad run` never hangs, keeps the program's own error and exit
code, and says what it cannot resolve."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

import whygrad

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(whygrad.__file__).parents[1])}
HEAD = "import torch\nw = torch.ones(3, requires_grad=True)\n"
PUZZLE = HEAD + "y = w * 2\ny.sum().backward()\nprint(y.grad)\n"


def run(folder: Path, program: str | bytes, *options: str) -> subprocess.CompletedProcess[str]:
    path = folder / "program.py"
    if isinstance(program, bytes):
        path.write_bytes(program)
    else:
        path.write_text(textwrap.dedent(program))
    return start([*options, f"--json={folder / 'answers.json'}", str(path)])


def start(arguments: list[str], text: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-W", "ignore", "-m", "whygrad", "run", *arguments], input=text, capture_output=True,
                          text=True, env=ENVIRONMENT, timeout=120, check=False)


def answers(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((folder / "answers.json").read_text())
    return found


def test_syntax_error(tmp_path: Path) -> None:
    done = run(tmp_path, "import torch\nx = = 1\n")
    assert done.returncode == 1
    assert "SyntaxError: invalid syntax" in done.stderr
    assert answers(tmp_path) == []


@pytest.mark.parametrize(("ending", "code"), [
    ("import sys; sys.exit(7)", 7), ("raise SystemExit", 0), ("import os; os._exit(5)", 5), ("exit('stopped')", 1)])
def test_exits(ending: str, code: int, tmp_path: Path) -> None:
    done = run(tmp_path, PUZZLE + ending + "\n")
    assert done.returncode == code
    assert [a["category"] for a in answers(tmp_path)] == ["non-leaf-no-retain"]
    assert "non-leaf-no-retain" in done.stderr


NESTED = """\
import torch
class Net(torch.nn.Module):
    def forward(self, x):
        try:
            return torch.mm(x, x)
        except RuntimeError as error:
            raise ValueError("bad input") from error
Net()(torch.randn(4, 5))
"""


def test_a_traceback_has_the_programs_lines_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = run(tmp_path, NESTED).stderr
    assert "return torch.mm(x, x)" in shown
    assert "RuntimeError: mat1 and mat2 shapes cannot be multiplied (4x5 and 4x5)" in shown
    assert "Net()(torch.randn(4, 5))" in shown
    assert shown.count("program.py") == shown.count("  File ") == 3
    monkeypatch.setitem(ENVIRONMENT, "WHYGRAD_TRACEBACK", "full")
    assert "linalg.py" in run(tmp_path, NESTED).stderr


def test_the_programs_own_error_comes_first(tmp_path: Path) -> None:
    done = run(tmp_path, PUZZLE + "raise ValueError('mine')\n")
    assert done.returncode == 1
    assert done.stderr.index("ValueError: mine") < done.stderr.index("non-leaf-no-retain")
    assert "cli.py" not in done.stderr


def test_an_autograd_error_ends_it(tmp_path: Path) -> None:
    done = run(tmp_path, HEAD + "(w * 2).backward()\n")
    assert done.returncode == 1
    assert "RuntimeError: grad can be implicitly created only for scalar outputs" in done.stderr
    assert [a["category"] for a in answers(tmp_path)] == ["non-scalar-backward"]


def test_output_into_a_closed_pipe(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PUZZLE + "while True:\n    print('x' * 100)\n")
    process = subprocess.Popen([sys.executable, "-W", "ignore", "-m", "whygrad", "run", str(tmp_path / "program.py")],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT, text=True)
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline() == "None\n"
    process.stdout.close()
    told = process.stderr.read()
    process.stderr.close()
    process.wait(60)
    assert "BrokenPipeError" in told
    assert "non-leaf-no-retain" in told


def test_threads(tmp_path: Path) -> None:
    done = run(tmp_path, """
        import sys, threading, time
        import torch

        def work(n):
            w = torch.ones(3, requires_grad=True)
            y = w * n
            y.sum().backward()
            time.sleep(0.2)
            assert y.grad is None and y.is_leaf is False
            sys.stdout.write(f"{y.grad}\\n")  # one write: the lines of `print` may interleave

        for i in range(4):
            threading.Thread(target=work, args=(i,)).start()
    """)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "None\n" * 4
    assert {a["category"] for a in answers(tmp_path)} == {"non-leaf-no-retain"}


def test_a_forked_child_tells_nothing_of_its_own(tmp_path: Path) -> None:
    done = run(tmp_path, PUZZLE + """
import os
child = os.fork()
if child == 0:
    raise SystemExit(0)
os.waitpid(child, 0)
""")
    assert done.returncode == 0
    assert done.stderr.count("[non-leaf-no-retain]") == 1


def test_it_deletes_its_own_source(tmp_path: Path) -> None:
    done = run(tmp_path, "import os\nos.remove(__file__)\n" + PUZZLE)
    assert done.returncode == 0
    assert answers(tmp_path)[0]["causes"][0]["expression"] == "w * 2"
    assert not (tmp_path / "program.py").exists()


def test_it_changes_its_own_source(tmp_path: Path) -> None:
    run(tmp_path, "open(__file__, 'w').write('changed = 1\\n')\n" + PUZZLE)
    assert answers(tmp_path)[0]["causes"][0]["expression"] == "w * 2"


def test_source_in_another_encoding(tmp_path: Path) -> None:
    program = "# -*- coding: latin-1 -*-\n" + HEAD + "größe = w * 2; größe.sum().backward(); print(größe.grad)\n"
    done = run(tmp_path, program.encode("latin-1"))
    assert done.returncode == 0, done.stderr
    answer = answers(tmp_path)[0]
    assert answer["expression"] == "größe.grad"
    assert answer["causes"][0]["expression"] == "w * 2"


def test_source_that_is_no_text(tmp_path: Path) -> None:
    done = run(tmp_path, b"x = '\xff\xfe'\n")
    assert done.returncode == 1
    assert "SyntaxError" in done.stderr


def test_a_giant_literal(tmp_path: Path) -> None:
    numbers = ", ".join(["1.0"] * 50_000)
    done = run(tmp_path, f"import torch\nx = torch.tensor([{numbers}])\nw = torch.ones(50000, requires_grad=True)\n"
               "(x * w).sum().backward()\nprint(x.grad)\n")
    assert done.returncode == 0
    assert answers(tmp_path)[0]["category"] == "never-required-grad"
    assert len(done.stderr) < 3000


def test_deep_nesting(tmp_path: Path) -> None:
    done = run(tmp_path, PUZZLE + "z = " + "(" * 90 + "1" + ")" * 90 + "\n")
    assert done.returncode == 0
    assert answers(tmp_path)[0]["category"] == "non-leaf-no-retain"


def test_code_without_a_file(tmp_path: Path) -> None:
    file = str(tmp_path / "answers.json")
    for arguments, text in ((["-c", PUZZLE], ""), (["-"], PUZZLE)):
        done = start([f"--json={file}", *arguments], text)
        assert done.returncode == 0, done.stderr
        assert answers(tmp_path)[0]["causes"][0]["expression"] == "w * 2"


def test_executed_code_has_no_source(tmp_path: Path) -> None:
    done = run(tmp_path, f"exec(compile({PUZZLE!r}, '<made up>', 'exec'))\n")
    assert done.returncode == 0
    assert answers(tmp_path)[0]["category"] == "non-leaf-no-retain"
    assert "source not available" in done.stderr


def test_a_cell_of_a_notebook() -> None:
    import linecache

    source = "import whygrad as torch\nw = torch.ones(3, requires_grad=True)\ny = w * 2\ny.sum().backward()\n"
    name = "<ipython-input-1-abc>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    scope: dict[str, Any] = {}
    exec(compile(source, name, "exec"), scope)
    told = scope["y"].why()
    assert told.causes[0].expression == "w * 2"
    assert "<b>" in told._repr_html_()


def test_streams_that_the_program_has_closed(tmp_path: Path) -> None:
    done = run(tmp_path, PUZZLE + "import sys\nsys.stdout.close()\nsys.stderr.close()\n")
    assert len(answers(tmp_path)) == 1
    assert done.stdout == "None\n"


def test_objects_that_resist(tmp_path: Path) -> None:
    done = run(tmp_path, """
        import torch

        class Odd:
            def __getattr__(self, name):
                raise RuntimeError("do not look")
            def __eq__(self, other):
                raise RuntimeError("do not compare")
            __hash__ = None

        odd = Odd()
        net = torch.nn.Linear(2, 1)
        net.thing = [odd, {"a": odd}]
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            opt.zero_grad()
            net(torch.ones(1, 2)).sum().backward()
            opt.step()
        print(net.weight.grad is not None)
    """)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "True\n"
    assert "could not be resolved" not in done.stderr


def test_deep_recursion(tmp_path: Path) -> None:
    done = run(tmp_path, HEAD + "def f(x):\n    y = x * 1.0\n    y.requires_grad\n    return f(y)\nf(w)\n")
    assert done.returncode == 1
    assert "RecursionError" in done.stderr
