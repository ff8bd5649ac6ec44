"""A trial run: a program under the watch in its own process, with the text of some files replaced.

`trial.run` starts the process and waits; `python -m whygrad.why.trial` is the process. `__file__`, `sys.path[0]` and the
working directory are as in a normal run, or those of a scratch copy; only the text that the import system reads from a replaced
file differs.
"""

from __future__ import annotations

import contextlib
import json
import linecache
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from whygrad.cli import Program
from whygrad.why.loss_course import courses_of
from whygrad.why.question_watch import QuestionWatch
from whygrad.why.scratch import Copy, Scratch
from whygrad.why.termination import GRACE, Termination
from whygrad.why.watch import Watch


@dataclass
class Outcome:
    """How a program ended, and its answers."""

    answers: list[dict[str, Any]] = field(default_factory=list)
    # The answer to the question of `whygrad ask`.
    asked: dict[str, Any] | None = None
    code: int = 0
    # "RuntimeError: ..." if it ended with an exception, and the line of the script that raised it.
    error: str = ""
    error_line: int = 0
    timed_out: bool = False
    # False if the process ended without a report (os._exit, a crash of the interpreter).
    reported: bool = True
    seconds: float = 0.0
    # How each loss went (fields of LossCourse).
    losses: list[dict[str, Any]] = field(default_factory=list)


def run(program: Program, *, files: dict[str, bytes] | None = None, timeout: float | None = None, question: str | None = None,
        scratch: Scratch | None = None, engine: str = "whygrad") -> Outcome:
    """Run a script or a module with `files` (path -> text) instead of those on disk, in a scratch copy if one is given. Its
    output is discarded."""
    if scratch is None:
        return _run(program, files or {}, timeout, {"question": question, "engine": engine}, None)
    with scratch.made() as copy:
        copied = Program(program.how, copy.argument(program.target), [copy.argument(text) for text in program.arguments])
        return _run(copied, {copy.inside(path): text for path, text in (files or {}).items()}, timeout,
                    {"question": question, "engine": engine}, copy)


def _run(program: Program, files: dict[str, bytes], timeout: float | None, how: dict[str, Any], copy: Copy | None) -> Outcome:
    with tempfile.TemporaryDirectory(prefix="whygrad-") as folder:
        kept = {path: str(Path(folder, str(n))) for n, path in enumerate(files)}
        for path, text in kept.items():
            Path(text).write_bytes(files[path])
        request, report = Path(folder, "order.json"), Path(folder, "report.json")
        request.write_text(json.dumps({**how, "files": kept, "report": str(report), "how": program.how}))
        begun = time.monotonic()
        process = subprocess.Popen([sys.executable, *subprocess._args_from_interpreter_flags(),  # type: ignore[attr-defined]
                                    "-m", "whygrad.why.trial", str(request), program.target, *program.arguments],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   cwd=None if copy is None else copy.inside(os.getcwd()), env=_environment(copy),
                                   start_new_session=True)
        outcome = Outcome()
        try:
            outcome.code = process.wait(timeout)
        except subprocess.TimeoutExpired:
            outcome.timed_out = True
            process.terminate()  # it reports what was seen
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(GRACE)
        finally:
            _end(process, outcome.timed_out)
        outcome.seconds = time.monotonic() - begun
        try:
            result = json.loads(report.read_text())
        except (OSError, ValueError):
            outcome.reported = False
            return outcome
        result = result if copy is None else copy.original(result)
        for name, value in result.items():
            setattr(outcome, name, value)
        return outcome


def _environment(copy: Copy | None) -> dict[str, str]:
    """The environment with this package in PYTHONPATH: it may have been found through a path set at run time."""
    here = str(Path(__file__).parents[2])
    paths = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p]
    if here not in paths:
        paths.append(here)
    if copy is None:
        return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    return {**os.environ, "PYTHONPATH": os.pathsep.join([p if p == here else copy.inside(p) for p in paths]),
            "PWD": copy.inside(os.getcwd())}


def _end(process: subprocess.Popen[bytes], timed_out: bool) -> None:
    """Kill the process and its children, if it is still running or was asked to end."""
    if process.poll() is None or timed_out:
        with contextlib.suppress(OSError, AttributeError):
            os.killpg(process.pid, signal.SIGKILL)
        process.kill()
        process.wait()


# The functions below run in the new process.


def main() -> None:
    request = json.loads(Path(sys.argv[1]).read_text())
    program = Program(request["how"], sys.argv[2], sys.argv[3:])
    replace_files({path: Path(copy).read_bytes() for path, copy in request["files"].items()})
    from whygrad import cli

    cli.use_engine(request["engine"])
    asking = QuestionWatch(request["question"], "") if request["question"] is not None else None
    watch = asking or Watch()
    result: dict[str, Any] = {}

    def report() -> None:
        answers = watch.stop()
        result["answers"] = [{**a.to_dict(), "headline": a.explanation.headline, "harmless": a.explanation.harmless,
                              "edits": [e.to_dict() for e in a.explanation.edits()]} for a in answers]
        result["losses"] = courses_of(list(watch.audit.losses.values()))
        if asking is not None:
            asking.script = _file_of(program)  # of a module it is known when it has been run
            raised, line = result.get("error", ""), result.get("error_line", 0)
            result["asked"] = asking.answer(raised, line) if asking.script else {"found": False, "text": raised}
        Path(request["report"]).write_text(json.dumps(result))

    watch.start()
    termination = Termination(report)
    try:
        cli.execute(program)
    except SystemExit as ended:
        if not isinstance(ended.code, (int, type(None))):
            result["error"] = str(ended.code)
        raise
    except BaseException as error:
        result["error"] = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}".rstrip(": ")
        result["error_line"] = _line_of(error, _file_of(program))
        raise
    finally:
        termination.stop()
        report()


def _file_of(program: Program) -> str:
    """The file of the script, or of the module that was run; "" if the import system did not find one."""
    if program.how == "script":
        return os.path.abspath(program.target)
    return getattr(getattr(sys.modules.get("__main__"), "__spec__", None), "origin", None) or ""


def _line_of(error: BaseException, script: str) -> int:
    """The line of the script that was being executed when the error was raised."""
    traceback = error.__traceback__
    line = getattr(error, "lineno", 0) if isinstance(error, SyntaxError) else 0
    while traceback is not None:
        if os.path.abspath(traceback.tb_frame.f_code.co_filename) == os.path.abspath(script):
            line = traceback.tb_lineno
        traceback = traceback.tb_next
    return line or 0


def replace_files(files: dict[str, bytes]) -> None:
    """Make the import system, and tracebacks, use these texts instead of the files on disk."""
    from importlib.machinery import SourceFileLoader

    texts = {os.path.realpath(path): text for path, text in files.items()}
    read, stats = SourceFileLoader.get_data, SourceFileLoader.path_stats

    def get_data(self: SourceFileLoader, path: str) -> bytes:
        found = texts.get(os.path.realpath(path))
        return read(self, path) if found is None else found

    def path_stats(self: SourceFileLoader, path: str) -> Any:
        if os.path.realpath(path) in texts:
            raise OSError("no compiled version of a replaced file")
        return stats(self, path)

    SourceFileLoader.get_data = get_data  # type: ignore[assignment, method-assign]
    SourceFileLoader.path_stats = path_stats  # type: ignore[method-assign]
    for path, text in files.items():
        import importlib.util

        lines = re.findall(r".*\n|.+$", importlib.util.decode_source(text))
        for name in {path, os.path.realpath(path), os.path.abspath(path)}:
            linecache.cache[name] = (len(text), None, lines, name)


if __name__ == "__main__":
    from whygrad.why import trial

    trial.main()
