"""One run under the watch: starts the watch, and prints and writes the answers at the end of the run."""

from __future__ import annotations

import fnmatch
import json
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

from whygrad.why import report, terminal
from whygrad.why.answers import Answer
from whygrad.why.html_watch import HtmlWatch
from whygrad.why.watch import Watch


class Session:
    def __init__(self, *, json_file: str | None = None, html_file: str | None = None, only: str | None = None, live: bool = False,
                 quiet: bool = False) -> None:
        # Absolute paths: the program may change the working directory.
        self.json_file = None if json_file is None else os.path.abspath(json_file)
        self.html_file = None if html_file is None else os.path.abspath(html_file)
        self.only = only
        self.quiet = quiet
        self.live = live and not quiet
        self.watch = self._make_watch()
        self.watch.start()
        self._process = os.getpid()
        self._finished = False
        self._exit = os._exit
        os._exit = self._finish_and_exit

    def _make_watch(self) -> Watch:
        on_answer = self._print_live if self.live else None
        if self.html_file is None:
            return Watch(on_answer)

        return HtmlWatch(on_answer)

    def wanted(self, answer: Answer) -> bool:
        if self.only is None:
            return True
        return any(fnmatch.fnmatch(text, self.only) or self.only in text
                   for text in (answer.explanation.category, answer.location.expression))

    def _print_live(self, answer: Answer) -> None:
        if self.wanted(answer):
            terminal.print_answer(answer)

    def _finish_and_exit(self, status: int) -> NoReturn:
        """`os._exit` skips exit handlers; report the answers before it."""
        self.finish()
        self._exit(status)

    def wait_for_threads(self) -> None:
        """The run ends when all non-daemon threads have ended."""
        for thread in threading.enumerate():
            if not thread.daemon and thread is not threading.current_thread():
                thread.join()

    def finish(self) -> int:
        """Print and write the answers, and return how many report a problem. Runs once, and not in a forked child."""
        if self._finished or os.getpid() != self._process:
            return 0
        self._finished = True
        os._exit = self._exit
        error = sys.exc_info()[1]
        answers = [answer for answer in self.watch.stop() if self.wanted(answer)]
        if self.json_file is not None:
            _write("--json", self.json_file, lambda path: _write_json(path, answers))
        if self.html_file is not None:
            script = getattr(sys.modules.get("__main__"), "__file__", None)
            ended = _exit_description(error)
            _write("--html", self.html_file, lambda path: report.write(path, answers, self.watch, script, ended))
        if not self.quiet:
            terminal.print_failures(self.watch.failures)
        if answers and not self.quiet and not self.live:
            with suppress(*terminal.STREAM_ERRORS):
                sys.stdout.flush()
            terminal.print_answers(answers)
        return len([answer for answer in answers if not answer.explanation.harmless])


def _write_json(path: str, answers: list[Answer]) -> None:
    with open(path, "w", encoding="utf-8") as file:
        json.dump([answer.to_dict() for answer in answers], file, indent=2, ensure_ascii=False)
        file.write("\n")


def _write(option: str, path: str, write: Callable[[str], None]) -> None:
    """Write a file; a failure must not change the program's exit code."""
    try:
        write(path)
    except OSError as error:
        print(f"whygrad: {option}: can't write {path}: {error.strerror or error}", file=sys.stderr)


def _exit_description(error: BaseException | None) -> str:
    if error is None or (isinstance(error, SystemExit) and error.code in (None, 0)):
        return ""
    if isinstance(error, SystemExit):
        return f"the program exited with {error.code}"
    return f"the program ended with {type(error).__name__}: {error}"[:200]


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
