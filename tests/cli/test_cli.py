"""`whygrad run`: a program cannot tell it from `python`. The same files run on PyTorch and here are compared."""

from __future__ import annotations

import os
import py_compile
import signal
import subprocess
import sys
import textwrap
import time
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import interpreters
import pytest
from interpreters import SOURCE

RUN = [sys.executable, "-m", "whygrad", "run"]


def call(command: list[str], folder: Path, text: str = "") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": SOURCE, "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(command, cwd=folder, env=environment, input=text, capture_output=True, text=True, timeout=120)


def same(folder: Path, *arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    """Run by python and by us: same output, same errors, same exit code."""
    theirs = call([sys.executable, *arguments], folder, text)
    ours = call([*RUN, *arguments], folder, text)
    assert ours.stdout == theirs.stdout
    assert ours.stderr == theirs.stderr
    assert ours.returncode == theirs.returncode
    return ours


def write(folder: Path, name: str, source: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(source))
    return path


SURROUNDINGS = """
    import os, sys
    import helper
    print(sys.argv, __name__, __file__, repr(sys.path[0]), __doc__, __spec__ and __spec__.name, __package__)
    print(sys.modules["__main__"].__dict__ is globals(), helper.VALUE, sys.stdin.read())
    print(sorted(globals()))
"""


@pytest.mark.parametrize("how", [["script.py"], ["sub/script.py"], ["-m", "script"], ["-m", "sub.script"], ["sub"]])
def test_surroundings(how: list[str], tmp_path: Path) -> None:
    for name in ("script.py", "sub/script.py", "sub/__main__.py"):
        write(tmp_path, name, SURROUNDINGS)
    for name in ("helper.py", "sub/helper.py"):
        write(tmp_path, name, f"VALUE = {name!r}\n")
    same(tmp_path, *how, "a", "-b", "--help", text="input\n")


def test_code_and_standard_input(tmp_path: Path) -> None:
    same(tmp_path, "-c", "import sys; print(sys.argv, repr(sys.path[0]), sorted(globals()), __name__)", "x", "-y")
    ours = call([*RUN, "-", "x"], tmp_path, "import sys; print(sys.argv, repr(sys.path[0]))")
    assert ours.stdout == "['-', 'x'] ''\n"


@pytest.mark.parametrize(
    "ending",
    [
        "1 / 0",
        "raise ValueError('a') from KeyError('b')",
        "raise SystemExit",
        "raise SystemExit(3)",
        "raise SystemExit('message')",
        "raise SystemExit(None)",
        "import os; os._exit(7)",
        "import sys; sys.exit(300)",
        "assert False, 'no'",
        "raise KeyboardInterrupt",
        "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
        "import os, signal; os.abort()",
        "x = = 1",
        "def f():\n    g()\ndef g():\n    raise ExceptionGroup('several', [ValueError(1), TypeError(2)])\nf()",
        "import atexit; atexit.register(print, 'last'); 1 / 0",
        "import sys; sys.excepthook = lambda k, e, t: print('hook', k, e, t.tb_lineno, t.tb_next); 1 / 0",
        "try:\n    1 / 0\nfinally:\n    print('finally')",
        "import threading; t = threading.Thread(target=lambda: 1 / 0, name='t'); t.start(); t.join()",
        "import warnings; warnings.warn('careful')",
        "import nowhere",
        "import torch; torch.nowhere_at_all",
    ],
)
def test_endings(ending: str, tmp_path: Path) -> None:
    path = write(tmp_path, "script.py", "print('begins')\n")
    path.write_text(path.read_text() + ending + "\n")
    if "nowhere_at_all" in ending:
        ours = call([*RUN, "script.py"], tmp_path)
        assert ours.returncode == 1
        assert f'File "{path}", line 2, in <module>' in ours.stderr
        assert "module 'torch' has no attribute 'nowhere_at_all'" in ours.stderr
        assert "cli.py" not in ours.stderr
    else:
        same(tmp_path, "script.py")


def test_endings_of_modules_and_code(tmp_path: Path) -> None:
    write(tmp_path, "script.py", "def f():\n    1 / 0\nf()\n")
    same(tmp_path, "-m", "script")
    same(tmp_path, "-c", "def f():\n    1 / 0\nf()")


def test_what_cannot_be_run(tmp_path: Path) -> None:
    for arguments in (["nowhere.py"], ["-m", "nowhere"], ["."]):
        theirs, ours = call([sys.executable, *arguments], tmp_path), call([*RUN, *arguments], tmp_path)
        assert ours.returncode == theirs.returncode
        assert ours.stderr.partition(": ")[2] == theirs.stderr.partition(": ")[2]
    assert call(RUN, tmp_path).returncode == 2
    assert "which program?" in call(RUN, tmp_path).stderr
    assert call([*RUN, "-m"], tmp_path).returncode == 2
    assert call([*RUN, "--nonsense", "x.py"], tmp_path).returncode == 2


def test_overflow_is_no_event(tmp_path: Path) -> None:
    """NumPy warns of it, torch does not; a program's own NumPy still does."""
    done = same(tmp_path, "-c", """if True:
        import torch
        x = torch.full((10,), 3e38)
        print(x + x, x * x, x - -x, x.sum(), x.mean(), x.reshape(2, 5) @ x.reshape(5, 2), x.add_(x))
    """)
    assert done.stderr == ""


def test_encoding_cookie(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_bytes("# -*- coding: latin-1 -*-\nprint(ascii('ä'))\n".encode("latin-1"))
    same(tmp_path, "script.py")


@pytest.mark.parametrize("head", [b"", b"\xef\xbb\xbf", b"# coding: utf-8\n", b"#!python\n# vim: set fileencoding=latin-1 :\n"])
def test_bytes_that_are_no_utf_8(head: bytes, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_bytes(head + "x = 1  # ä\nprint(x)\n".encode("latin-1"))
    same(tmp_path, "script.py")


def test_archives_bytecode_and_pipes(tmp_path: Path) -> None:
    path = write(tmp_path, "script.py", "import sys\nprint(sys.argv, __name__, __file__, sys.path[0])\n")
    with zipfile.ZipFile(tmp_path / "app.pyz", "w") as archive:
        archive.write(path, "__main__.py")
    same(tmp_path, "app.pyz", "x")
    py_compile.compile(str(path), str(tmp_path / "compiled.pyc"))
    same(tmp_path, "compiled.pyc", "x")
    same(tmp_path, "/dev/stdin", text="print(__file__)")
    os.mkfifo(tmp_path / "pipe")
    printed = []
    for command in ([sys.executable], RUN):
        with subprocess.Popen(["cp", "script.py", "pipe"], cwd=tmp_path):
            printed.append(call([*command, "pipe"], tmp_path).stdout)
    assert printed[0] == printed[1] != ""


SIGNALS = {"unhandled": "", "handled": "signal.signal(signal.{0}, lambda number, frame: sys.exit(number + 40))\n",
           "ignored by Python, then raised": "signal.signal(signal.{0}, signal.SIG_DFL)\n"}


@pytest.mark.parametrize("handling", SIGNALS)
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_signals_from_outside(name: str, handling: str, tmp_path: Path) -> None:
    head = "import signal, sys, time\n" + SIGNALS[handling].format(name)
    write(tmp_path, "script.py", head + "print('ready', flush=True)\ntime.sleep(60)\n")
    endings = []
    usual = signal.default_int_handler if name == "SIGINT" else signal.SIG_DFL
    for command in ([sys.executable], RUN):
        child = subprocess.Popen(
            [*command, "script.py"],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": SOURCE},
            preexec_fn=lambda: signal.signal(getattr(signal, name), usual),  # whoever runs the tests may ignore it (nohup)
        )
        assert child.stdout is not None
        child.stdout.readline()
        time.sleep(0.1)
        child.send_signal(getattr(signal, name))
        _, errors = child.communicate(timeout=60)
        endings.append((child.returncode, errors))
    assert endings[0] == endings[1]
    assert endings[0][0] in (-getattr(signal, name), getattr(signal, name) + 40)


def test_console_script(tmp_path: Path) -> None:
    """What pip makes of the entry in pyproject.toml is no other than `python -m whygrad`."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    module, _, function = project["scripts"]["whygrad"].partition(":")
    entry = write(tmp_path, "bin/whygrad", f"""
        import sys
        from {module} import {function}
        if __name__ == "__main__":
            sys.exit({function}())
    """)
    write(tmp_path, "script.py", SURROUNDINGS.replace("import helper", "").replace("helper.VALUE", "0") + "    1 / 0\n")
    for arguments in (["run", "script.py", "a", "-b"], ["run", "-m", "script", "a"], ["run", "-c", "import torch; exit(5)"],
                      ["run", "-", "a"], ["run", "nowhere.py"], ["--version"], []):
        by_module = call([sys.executable, "-m", "whygrad", *arguments], tmp_path, "1 / 0")
        by_script = call([sys.executable, str(entry), *arguments], tmp_path, "1 / 0")
        assert (by_script.stdout, by_script.stderr, by_script.returncode) == (by_module.stdout, by_module.stderr,
                                                                              by_module.returncode)
        assert str(entry) not in by_script.stderr


def test_errors_of_standard_input(tmp_path: Path) -> None:
    program = "def f():\n    1 / 0\nf()\n"
    same(tmp_path, "-", text=program)
    ours = call([*RUN, "--quiet", "-"], tmp_path, "import torch\ntorch.ones(2).backward()\n")
    assert ours.returncode == 1
    assert ours.stderr.startswith('Traceback (most recent call last):\n  File "<stdin>", line 2, in <module>\n')
    assert "cli.py" not in ours.stderr


def test_help_and_version(tmp_path: Path) -> None:
    whole = call([sys.executable, "-m", "whygrad", "--help"], tmp_path)
    assert whole.returncode == 0
    assert "run" in whole.stdout
    part = call([*RUN, "--help"], tmp_path)
    assert part.returncode == 0
    assert "-m module" in part.stdout
    assert "Options stand before the script" in part.stdout
    assert call([sys.executable, "-m", "whygrad", "--version"], tmp_path).stdout.startswith("whygrad ")
    assert call([sys.executable, "-m", "whygrad", "nonsense"], tmp_path).returncode == 2
    assert call([sys.executable, "-m", "whygrad"], tmp_path).returncode == 2


def test_options_behind_the_script_are_its_own(tmp_path: Path) -> None:
    write(tmp_path, "plain.py", "import sys\nprint(sys.argv[1:])\n")
    write(tmp_path, "asks.py", "import sys\nprint('--json' in sys.argv)\n")
    plain, asks = (call([*RUN, name, "--json", "a.json"], tmp_path) for name in ("plain.py", "asks.py"))
    assert plain.stdout == "['--json', 'a.json']\n"
    assert "whygrad run: --json stands behind plain.py" in plain.stderr
    assert (asks.stdout, asks.stderr) == ("True\n", "")
    for given in ("-", "-c"):
        fixed = call([sys.executable, "-m", "whygrad", "fix", given, "1"], tmp_path)
        assert (fixed.returncode, "give the name of a script, or -m module" in fixed.stderr) == (2, True)


PROGRAMS: dict[str, str] = {
    "training": """
        import torch, torch.nn as nn, torch.nn.functional as F
        from torch.utils.data import DataLoader, TensorDataset
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        data = DataLoader(TensorDataset(torch.randn(20, 4), torch.randn(20, 1)), batch_size=5, shuffle=True)
        for epoch in range(3):
            for x, y in data:
                optimizer.zero_grad()
                loss = ((model(x) - y) ** 2).mean()
                loss.backward()
                optimizer.step()
                print(f"{loss.item():.5f}")
    """,
    "checkpoint": """
        import torch, sys
        torch.manual_seed(1)
        torch.save({"a": torch.randn(3), "n": [1, "x"]}, "file.pt")
        print(torch.load("file.pt", map_location="cpu"))
    """,
    "workers": """
        import torch
        from torch.utils.data import DataLoader, Dataset
        class Data(Dataset):
            def __len__(self):
                return 6
            def __getitem__(self, i):
                return torch.tensor([i, i * i]), float(torch.rand(1))
        if __name__ == "__main__":
            import multiprocessing
            for method in ("fork", "spawn"):
                torch.manual_seed(2)
                for batch, noise in DataLoader(Data(), 2, shuffle=True, num_workers=2, multiprocessing_context=method):
                    print(batch.tolist(), [round(x, 6) for x in noise.tolist()])
    """,
    "shared memory": """
        import torch, torch.multiprocessing as mp
        def train(rank, model, total):
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for _ in range(5):
                optimizer.zero_grad()
                model(torch.ones(1, 3)).pow(2).sum().backward()
                optimizer.step()
            total[1:] += rank + 1
        if __name__ == "__main__":
            torch.manual_seed(0)
            for method in ("fork", "spawn"):
                model, total = torch.nn.Linear(3, 2), torch.zeros(2, 3)
                total.share_memory_()
                assert not model.weight.is_shared()
                assert model.share_memory() is model and model.bias.is_shared() and total[1:].is_shared()
                mp.start_processes(train, (model, total), nprocs=1, start_method=method)
                process = mp.get_context(method).Process(target=train, args=(6, model, total[:]))
                process.start()
                process.join()
                print(process.exitcode, total, [round(x, 5) for x in model.weight.flatten().tolist()])
            adagrad = torch.optim.Adagrad(model.parameters())
            adagrad.share_memory()
            print(adagrad.state[model.weight]["sum"].is_shared())
    """,
    "devices": """
        import torch
        import torch.backends.cudnn as cudnn
        from torch.cuda.amp import GradScaler
        from torch.amp import autocast
        cudnn.benchmark = True
        torch.backends.cudnn.deterministic = True
        torch.backends.cuda.matmul.allow_tf32 = True
        torch.set_float32_matmul_precision("high")
        torch.use_deterministic_algorithms(True)
        torch.cuda.manual_seed_all(0)
        torch.cuda.empty_cache()
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        assert not torch.backends.mps.is_available()
        scaler = torch.amp.GradScaler(enabled=False)
        print(device, torch.cuda.device_count(), scaler.is_enabled(), cudnn.benchmark)
        print(torch.get_float32_matmul_precision())
        with autocast("cuda", enabled=False), torch.no_grad():
            print(scaler.scale(torch.ones(2)))
        print(torch.are_deterministic_algorithms_enabled(), torch.distributed.is_initialized())
        print(torch.jit.is_scripting())
    """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str, tmp_path: Path) -> None:
    write(tmp_path, "script.py", PROGRAMS[name])
    theirs, ours = (interpreters.run([*command, "script.py"], cwd=tmp_path, spawned=2) for command in ([], RUN[1:]))
    assert (ours.stdout, ours.stderr, ours.returncode) == (theirs.stdout, theirs.stderr, theirs.returncode)
    assert theirs.returncode == 0


def test_the_alias_ends_with_the_process(tmp_path: Path) -> None:
    """A program that starts another python starts one without the alias."""
    write(tmp_path, "other.py", "import importlib.util\nprint(importlib.util.find_spec('torch').origin)\n")
    program = "import subprocess, sys, torch; print(torch.__name__); subprocess.run([sys.executable, 'other.py'])"
    out: Any = call([*RUN, "-c", program], tmp_path).stdout.split()
    assert out[-1].endswith(os.path.join("torch", "__init__.py"))
    assert "whygrad" not in out[-1]


def test_tensors_that_outlive_the_package(tmp_path: Path) -> None:
    """When Python ends, modules go before what `sys` holds: memory is given back to an allocator that must still stand."""
    program = "import sys, torch\nsys.kept = [torch.ones(100 + i) * 2 for i in range(3000)]"
    assert call([*RUN, "-c", program], tmp_path).returncode == 0
