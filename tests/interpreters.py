"""Python processes that start at once: each is forked from one that has imported what its program is going to import.

`run(["-m", "whygrad", "run", "train.py"], cwd=...)` is `subprocess.run([sys.executable, "-m", "whygrad", ...])` without the time
for importing PyTorch, NumPy or whygrad, which is most of the time of a short program. What is said of the beginning of a process,
of flags of the interpreter, of settings that whygrad reads when it is imported, or of signals needs a process of its own.

`python interpreters.py KIND` is the process that is forked. A line of its standard input asks for a process, in JSON; a line of
its standard output tells how that ended.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import functools
import gc
import importlib
import json
import os
import pkgutil
import runpy
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import types
import warnings
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

SOURCE = str(Path(__file__).resolve().parents[1] / "src")


# In the tests.

class Interpreter:
    def __init__(self, kind: str) -> None:
        self.process = subprocess.Popen([sys.executable, __file__, kind], env={**os.environ, "PYTHONPATH": SOURCE}, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        atexit.register(self.stop)

    def ask(self, **request: Any) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        ended: dict[str, Any] = json.loads(self.process.stdout.readline())
        return ended

    def stop(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


interpreter = functools.cache(Interpreter)


def kind_of(arguments: Sequence[str]) -> str:
    if list(arguments[:2]) != ["-m", "whygrad"]:
        return "torch"
    return "both" if "--engine=torch" in arguments or "--engine torch" in " ".join(arguments) else "whygrad"


def run(arguments: Sequence[str], *, cwd: Path | None = None, env: Mapping[str, str] | None = None, input: str = "",
        spawned: int = 0, kind: str = "") -> subprocess.CompletedProcess[str]:
    """Run `python ARGUMENTS`, which begin with `-m` and a module, `-c` and a program, or a script.

    The first `spawned` processes that multiprocessing starts by `spawn` are such processes, too.
    """
    environment = {**os.environ, "PYTHONPATH": SOURCE} if env is None else dict(env)
    done = interpreter(kind or kind_of(arguments)).ask(arguments=list(arguments), cwd=str(cwd or os.getcwd()),
                                                       environment=environment, input=input, spawned=spawned)
    return subprocess.CompletedProcess(["python", *arguments], done["code"], done["stdout"], done["stderr"])


def on_both(program: str) -> list[str]:
    """What a program prints on PyTorch, and with whygrad in its place."""
    done = [run(["-c", program]), run(["-c", f"from whygrad import alias\nalias.install()\n{program}"], kind="whygrad")]
    assert [one.returncode for one in done] == [0, 0], [one.stderr for one in done]
    return [one.stdout for one in done]


# In the process that is forked, and its children.

def load(kind: str) -> None:
    """Import what most programs import."""
    if kind != "whygrad":
        import multiprocessing.util

        import torch

        torch.set_num_threads(1)
        torch.optim.SGD([torch.zeros(1)])  # the first optimizer imports torch's compiler
        torch.overrides.resolve_name(torch.relu)  # lists all functions, once
        # What torch has registered empties its caches, for which much memory is copied in a forked process.
        atexit._clear()
        atexit.register(multiprocessing.util._exit_function)  # type: ignore[attr-defined]
        weakref.finalize._registered_with_atexit = False  # type: ignore[attr-defined]
    if kind != "torch":
        import whygrad.cli

        if kind == "both":
            import whygrad.for_torch.engine
            import whygrad.for_torch.launching
        else:
            import whygrad.for_whygrad.engine
            import whygrad.nn
            import whygrad.optim
            from whygrad import alias

            whygrad.manual_seed(0)
            alias.install()  # as all programs of this kind do; it takes longer the more modules are there
        import whygrad.why

        for module in pkgutil.walk_packages(whygrad.why.__path__, "whygrad.why."):
            importlib.import_module(module.name)
    gc.collect()
    gc.freeze()  # collections in the children need not look at it, and so do not copy its pages


def become(request: dict[str, Any], folder: str) -> None:
    """Make this process, which has just been forked, what was asked for."""
    Path(folder, "stdin").write_text(request["input"])
    modes = (("stdin", os.O_RDONLY), ("stdout", os.O_CREAT | os.O_WRONLY | os.O_APPEND),
             ("stderr", os.O_CREAT | os.O_WRONLY | os.O_APPEND))
    for number, (name, mode) in enumerate(modes):
        opened = os.open(f"{folder}/{name}", mode)
        os.dup2(opened, number)
        os.close(opened)
    sys.stdin = sys.__stdin__ = open(0, closefd=False)  # noqa: SIM115
    sys.stdout = sys.__stdout__ = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = sys.__stderr__ = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    paths_before = os.environ["PYTHONPATH"].split(os.pathsep)
    become_in(request["environment"], request["cwd"])
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    sys.path[:] = [request["cwd"], *paths, *sys.path[1 + len(paths_before):]]
    sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
    for action in filter(None, os.environ.get("PYTHONWARNINGS", "").split(",")):
        warnings.simplefilter(action)  # type: ignore[arg-type]
    if request["spawned"]:
        keep_spares(request["spawned"])


def become_in(environment: dict[str, str], cwd: str) -> None:
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(cwd)


def keep_spares(count: int) -> None:
    """Fork the processes that multiprocessing is going to spawn: it sends them the command that a new Python would run."""
    from multiprocessing import util

    spares: list[tuple[int, socket.socket]] = []
    for _ in range(count):
        ours, theirs = socket.socketpair()
        process = os.fork()
        if process == 0:
            ours.close()
            for _, other in spares:
                other.close()
            run_and_end(be_spawned, theirs)
        theirs.close()
        spares.append((process, ours))
    plain = util.spawnv_passfds

    def spawn(path: Any, arguments: Sequence[str], files: Sequence[int]) -> int:
        if not spares or "--multiprocessing-fork" not in arguments:
            return plain(path, arguments, files)
        process, to = spares.pop(0)
        request = {"code": arguments[list(arguments).index("-c") + 1], "files": list(files), "environment": dict(os.environ),
                   "cwd": os.getcwd()}
        socket.send_fds(to, [json.dumps(request).encode()], list(files))
        to.close()
        return process

    util.spawnv_passfds = spawn


def be_spawned(told: socket.socket) -> None:
    message, files, _, _ = socket.recv_fds(told, 1 << 20, 16)
    if not message:  # there was no need
        return
    request = json.loads(message)
    # They must have the numbers that they have in the command. Some of those may be among the numbers that they came with.
    for number, file in zip(request["files"], [fcntl.fcntl(file, fcntl.F_DUPFD, 100) for file in files], strict=True):
        os.dup2(file, number)
    become_in(request["environment"], request["cwd"])
    sys.argv = ["-c", "--multiprocessing-fork"]
    exec(request["code"], {"__name__": "__main__"})


def serve() -> list[str]:
    """Fork a process for each request. In that process it returns what is to be run."""
    for line in sys.stdin:
        folder = tempfile.mkdtemp()
        process = os.fork()
        if process == 0:
            request = json.loads(line)
            become(request, folder)
            arguments: list[str] = request["arguments"]
            return arguments
        _, status = os.waitpid(process, 0)
        out, errors = (Path(folder, name).read_bytes().decode(errors="surrogateescape") for name in ("stdout", "stderr"))
        shutil.rmtree(folder)
        print(json.dumps({"stdout": out, "stderr": errors, "code": os.waitstatus_to_exitcode(status)}), flush=True)
    os._exit(0)


def start(arguments: list[str]) -> None:
    """As Python does with these arguments."""
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        return
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    if arguments[0] == "-c":
        sys.argv = ["-c", *arguments[2:]]
        exec(arguments[1], main.__dict__)
    else:
        sys.argv = arguments
        path = Path(arguments[0]).absolute()
        sys.path[0] = str(path.resolve().parent)
        main.__file__ = str(path)
        exec(compile(path.read_bytes(), str(path), "exec"), main.__dict__)


def run_and_end(function: Callable[[Any], None], argument: Any) -> NoReturn:
    """Python's own end of a process frees all that was imported, one by one, which takes longer than most programs."""
    end, code = os._exit, 0
    try:
        function(argument)
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
        if isinstance(stop.code, str):
            print(stop.code, file=sys.stderr)
    except BaseException as error:
        code, frames = -signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1, error.__traceback__
        while frames is not None and frames.tb_frame.f_code.co_filename in (__file__, "<frozen runpy>"):
            frames = frames.tb_next
        sys.excepthook(type(error), error, frames)
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError):  # the program may have closed or removed it
            stream.flush()
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    end(code)


if __name__ == "__main__":
    load(sys.argv[1])
    run_and_end(start, serve())
