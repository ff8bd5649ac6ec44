"""Runs a program under the watch, in a process that runs many of them, and tells what came of it."""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout, suppress
from typing import Any

from play import plotting
from play.steps import Steps

from whygrad import cli
from whygrad.base.frames import add_own_package
from whygrad.for_whygrad.fresh_start import fresh_start
from whygrad.why.session import Outputs, Session

add_own_package("play")
plotting.install()

NAME = "program.py"
# Characters of output that are passed on, and seconds between two messages with output.
MAX_OUTPUT, PAUSE = 200_000, 0.05

MISSING = """
This page has Python, NumPy and whygrad (as torch), and no {0}. On your own machine, in a clone of whygrad:
    pip install '.[torch]' {0}
    whygrad run program.py"""
TOO_LARGE = """
This program needs more memory than a page may have. On your own machine, in a clone of whygrad:
    pip install '.[torch]'
    whygrad run program.py"""

# Called with a piece of output and its kind: "out", "error", or "plot" (an SVG drawing).
Tell = Callable[[str, str], Any]


class Output:
    """What a program writes, passed on in pieces and in order, up to a limit."""

    def __init__(self, tell: Tell, folder: str) -> None:
        self._tell, self._folder = tell, folder + os.sep
        self._pieces: list[str] = []
        self._kind = "out"
        self._left = MAX_OUTPUT
        self._told = 0.0

    def write(self, text: str, kind: str) -> None:
        if self._left <= 0:
            return
        if kind != self._kind or time.monotonic() > self._told + PAUSE:
            self.flush()
        self._kind = kind
        self._pieces.append(text[:self._left].replace(self._folder, ""))
        self._left -= len(text)
        if self._left <= 0:
            self._pieces.append(f"\n... what is written beyond {MAX_OUTPUT:,} characters is not shown\n")

    def draw(self, svg: str) -> None:
        self.flush()
        self._tell(svg, "plot")

    def flush(self) -> None:
        if self._pieces:
            text, self._pieces = "".join(self._pieces), []
            self._tell(text, self._kind)
            self._told = time.monotonic()


class Stream(io.TextIOBase):
    """Standard output, or standard error."""

    def __init__(self, output: Output, kind: str) -> None:
        self._output, self._kind = output, kind

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self._output.write(text, self._kind)
        return len(text)

    def flush(self) -> None:
        self._output.flush()


def run(source: str, tell: Tell, with_report: bool = True) -> dict[str, Any]:
    """The program's exit code, its answers, the report as a page, and the steps it took."""
    folder = tempfile.mkdtemp()
    script, answers, report = [os.path.join(folder, name) for name in (NAME, "answers.json", "report.html")]
    with open(script, "w", encoding="utf-8") as file:
        file.write(source)
    outputs = Outputs(json=answers, html=report if with_report else None, quiet=True)
    output = Output(tell, folder)
    began = time.perf_counter()
    with fresh_start(), redirect_stdout(Stream(output, "out")), redirect_stderr(Stream(output, "error")):
        os.chdir(folder)
        sys.path.insert(0, folder)
        cli.use_engine("whygrad")
        plotting.pyplot.deliver = output.draw
        session = Session(outputs)
        with Steps(session.watch, script) as steps:
            code = _executed(script)
        plotting.pyplot.show()
        with suppress(SystemExit):
            session.finish()
    output.flush()
    result = {"code": code, "seconds": time.perf_counter() - began, "steps": steps.told(), "steps_left_out": steps.left_out,
              "failures": session.watch.failures, "answers": json.loads(_text(answers) or "[]"), "report": _text(report)}
    shutil.rmtree(folder, ignore_errors=True)
    return result


def _executed(script: str) -> int:
    """Run it as `python` does; what remains of an error is printed."""
    try:
        cli.execute(cli.Program("script", script, []))
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except (SyntaxError, IndentationError) as error:
        traceback.print_exception(error.with_traceback(None))
        return 1
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
        if isinstance(error, ModuleNotFoundError) and error.name:
            print(MISSING.format(error.name.partition(".")[0]), file=sys.stderr)
        elif isinstance(error, MemoryError) or "can't allocate memory" in str(error):
            print(TOO_LARGE, file=sys.stderr)
        return 1
    return 0


def _text(path: str) -> str:
    """What a file has, with the program's file named without its folder."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().replace(os.path.dirname(path) + os.sep, "")
    except OSError:
        return ""
