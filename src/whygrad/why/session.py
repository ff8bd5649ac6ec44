"""One run under the watch: starts the watch, and prints and writes the answers at the end of the run."""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn

from whygrad.why import report, terminal
from whygrad.why.answers import Answer
from whygrad.why.html_watch import HtmlWatch
from whygrad.why.step_limit import StepLimit
from whygrad.why.termination import Termination
from whygrad.why.watch import Watch

# Findings that may still come to nothing if the program was ended before its end: what was missing may come later.
MAY_COME_LATER = {"schedule-wrong", "step-missing"}
# Seconds for which threads of a program that was ended may go on.
GRACE = 5.0


class Session:
    """`steps` ends the program after so many steps of optimizers; 0 lets it run to its end."""

    def __init__(self, *, json_file: str | None = None, html_file: str | None = None, only: str | None = None, live: bool = False,
                 quiet: bool = False, steps: int = 0) -> None:
        # Absolute paths: the program may change the working directory.
        self.json_file = None if json_file is None else os.path.abspath(json_file)
        self.html_file = None if html_file is None else os.path.abspath(html_file)
        self.only = only
        self.quiet = quiet
        self.live = live and not quiet
        on_answer = self._print_live if self.live else None
        self.watch: Watch = (Watch if self.html_file is None else HtmlWatch)(on_answer)
        self.watch.start()
        # After the watch, so that it has heard of the last step.
        self.limit = StepLimit(steps, self._stepped, self._conclude)
        self._answers: list[Answer] | None = None
        self._process = os.getpid()
        self._finished = False
        self._problems = 0
        self._exit = os._exit
        os._exit = self._finish_and_exit
        self._termination = Termination(lambda: self.finish("the program was ended by SIGTERM"))

    @property
    def was_cut_short(self) -> bool:
        """True if the program was ended after the last step asked for."""
        return self.limit.was_reached

    def wanted(self, answer: Answer) -> bool:
        if self.only is None:
            return True
        return any(fnmatch.fnmatch(text, self.only) or self.only in text
                   for text in (answer.explanation.category, answer.location.expression))

    def _print_live(self, answer: Answer) -> None:
        if self.wanted(answer):
            terminal.print_answer(answer)

    def _stepped(self, number: int) -> None:
        """An optimizer has stepped."""

    def _conclude(self) -> list[Answer]:
        """Stop watching, and decide what is wrong."""
        if self._answers is None:
            self._answers = self.watch.stop()
            if self.was_cut_short:
                for answer in self._answers:
                    if answer.explanation.category in MAY_COME_LATER:
                        answer.explanation.odd = True
                        answer.explanation.text += f" ({self._end_of_steps().capitalize()}: it may come later.)"
        return self._answers

    def _end_of_steps(self) -> str:
        return f"the program was ended after {self.watch.audit.round} steps"

    def _finish_and_exit(self, status: int) -> NoReturn:
        """`os._exit` skips exit handlers; report the answers before it."""
        self.finish()
        self._exit(status)

    def wait_for_threads(self) -> None:
        """The run ends when all non-daemon threads have ended."""
        for thread in _other_threads():
            thread.join()

    def end_threads(self, status: int) -> None:
        """End the process if threads of a program that was cut short do not end by themselves."""
        until = time.monotonic() + GRACE
        for thread in _other_threads():
            thread.join(max(until - time.monotonic(), 0))
        left = _other_threads()
        if left:
            print(f"whygrad: threads of the program still run and are ended: {', '.join(thread.name for thread in left)}",
                  file=sys.stderr)
            for stream in (sys.stdout, sys.stderr):
                with suppress(*terminal.STREAM_ERRORS):
                    stream.flush()
            os._exit(status)

    def finish(self, ended: str | None = None) -> int:
        """Print and write the answers, and return how many report a problem. It is done once, and not in a forked child.

        `ended` tells how the program ended, if the exception that is being handled does not.
        """
        if self._finished or os.getpid() != self._process:
            return self._problems
        self._finished = True
        os._exit = self._exit
        error = sys.exc_info()[1]
        self._termination.stop()
        with self._termination.deferred():
            answers = self._conclude()
            self.limit.stop()
            if ended is None:
                ended = self._end_of_steps() if self.was_cut_short else _exit_description(error)
            self._problems = self._report([answer for answer in answers if self.wanted(answer)], ended)
        return self._problems

    def _report(self, answers: list[Answer], ended: str) -> int:
        self.write_files(answers, [answer.to_dict() for answer in answers], ended)
        if not self.quiet:
            terminal.print_failures(self.watch.failures)
            if self.was_cut_short:
                terminal.print_line(f"whygrad: {ended}")
        if answers and not self.quiet and not self.live:
            with suppress(*terminal.STREAM_ERRORS):
                sys.stdout.flush()
            terminal.print_answers(answers)
        return len([answer for answer in answers if not (answer.explanation.harmless or answer.explanation.odd)])

    def write_files(self, answers: list[Answer], data: Any, ended: str) -> None:
        """Write `data` to the file of --json, and the report to that of --html."""
        if self.json_file is not None:
            write("--json", self.json_file, lambda path: write_json(path, data))
        if self.html_file is not None:
            script = getattr(sys.modules.get("__main__"), "__file__", None)
            write("--html", self.html_file, lambda path: report.write(path, answers, self.watch, script, ended))


def _other_threads() -> list[threading.Thread]:
    """The threads for which the interpreter waits when it ends."""
    return [thread for thread in threading.enumerate() if not thread.daemon and thread is not threading.current_thread()]


def write_json(path: str, data: Any) -> None:
    with open(path, "w", encoding="utf-8") as file:
        json.dump(data, file, indent=2, ensure_ascii=False)
        file.write("\n")


def write(option: str, path: str, write: Callable[[str], None]) -> None:
    """Write a file; a failure must not change the program's exit code."""
    try:
        write(path)
    except OSError as error:
        print(f"whygrad: {option}: can't write {path}: {error.strerror or error}", file=sys.stderr)


def _exit_description(error: BaseException | None) -> str:
    if error is None or (isinstance(error, SystemExit) and error.code in (None, 0)):
        return ""
    if isinstance(error, KeyboardInterrupt):
        return "the program was ended by Ctrl-C"
    if isinstance(error, SystemExit):
        return f"the program exited with {error.code}"
    return f"the program ended with {type(error).__name__}: {error}"[:200]


def refuse_unwritable(parser: argparse.ArgumentParser, files: dict[str, str | None]) -> None:
    """End with a usage error if the file of an option cannot be written: better now than after hours."""
    for option, file in files.items():
        if file == "-":
            parser.error(f"{option}: give the name of a file; standard output belongs to the program")
        if file is not None and unwritable(file):
            parser.error(f"{option}: {unwritable(file)}")


def unwritable(path: str) -> str:
    """Why a file cannot be written; "" if it can."""
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        return f"there is no folder {folder}"
    if os.path.isdir(path):
        return f"{path} is a folder"
    there = os.path.exists(path)
    if there and not os.path.isfile(path):
        return ""  # a device or a pipe
    return "" if os.access(path if there else folder, os.W_OK) else f"{path} can't be written: permission denied"
