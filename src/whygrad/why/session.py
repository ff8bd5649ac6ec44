"""One run under the watch: starts the watch, and prints and writes the answers at the end of the run."""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NoReturn

from whygrad.io.atomic import replacing
from whygrad.why import github, report, sarif, terminal
from whygrad.why.answers import Answer
from whygrad.why.ending import Ending, ending_of
from whygrad.why.html_watch import HtmlWatch
from whygrad.why.regions import repository
from whygrad.why.sections.verdict import is_odd
from whygrad.why.step_limit import StepLimit
from whygrad.why.termination import Termination
from whygrad.why.watch import Watch

# Findings that may still come to nothing if the program was ended before its end: what was missing may come later.
MAY_COME_LATER = {"schedule-wrong", "step-missing", "copy-not-updated"}
# Seconds for which threads of a program that was ended may go on.
GRACE = 5.0
# Exit code of a program that ended well, if what was found is to count.
FOUND = 3

SIGTERM = Ending("the program was ended by SIGTERM", 128 + signal.SIGTERM, signal.SIGTERM, is_final=True)


@dataclass
class Outputs:
    """Where the answers go: files, and standard error."""

    json: str | None = None
    html: str | None = None
    sarif: str | None = None
    github: bool = False
    quiet: bool = False
    # The folder to which other tools want file names to be relative.
    root: str = ""

    @classmethod
    def of(cls, parser: argparse.ArgumentParser, options: argparse.Namespace) -> Outputs:
        """From the options of a command. It is made before the program can change the working directory or the environment."""
        files = {name: getattr(options, name) for name in ("json", "html", "sarif")}
        refuse_unwritable(parser, {f"--{name}": file for name, file in files.items()})
        return cls(**{name: file and os.path.abspath(file) for name, file in files.items()}, quiet=options.quiet,
                   github=options.github or (github.is_running() and not options.quiet), root=repository())


class Session:
    """`steps` ends the program after so many steps of optimizers; 0 lets it run to its end. With `strict`, the exit code tells
    whether something is wrong."""

    # Called with their number after each step of an optimizer, if anything is.
    _stepped: Callable[[int], None] | None = None

    def __init__(self, outputs: Outputs, *, only: str | None = None, live: bool = False, strict: bool = False,
                 steps: int = 0) -> None:
        self.outputs = outputs
        self.only = only
        self.live = live and not outputs.quiet
        self.strict = strict
        # The exit code of the process, when it is known.
        self.status = 0
        terminal.print_to(sys.stderr)
        on_answer = self._print_live if self.live else None
        self.watch: Watch = (Watch if outputs.html is None else HtmlWatch)(on_answer)
        self.watch.start()
        # After the watch, so that it has heard of the last step.
        self.limit = StepLimit(steps, self._stepped, self._conclude)
        self._answers: list[Answer] | None = None
        self._process = os.getpid()
        self._finished = False
        self._exit = os._exit
        os._exit = self._finish_and_exit
        self._termination = Termination(lambda: self.finish(SIGTERM))

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
        words = self._end_of_steps() if self.was_cut_short else ending_of(SystemExit(status)).words
        self.finish(Ending(words, status, is_final=True))
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
            terminal.print_line("whygrad: threads of the program still run and are ended: "
                                f"{', '.join(thread.name for thread in left)}")
            for stream in (sys.stdout, sys.stderr):
                with suppress(*terminal.STREAM_ERRORS):
                    stream.flush()
            os._exit(status)

    def finish(self, ended: Ending | None = None) -> None:
        """Print and write the answers. It is done once, and not in a forked child.

        `ended` tells how the program ended, if the exception that is being handled does not.
        """
        if self._finished or os.getpid() != self._process:
            return
        self._finished = True
        os._exit = self._exit
        error = sys.exc_info()[1]
        self.watch.may_run_again = ended is not SIGTERM
        self._termination.stop()
        with self._termination.deferred():
            answers = self._conclude()
            self.limit.stop()
            if ended is None:
                # A program may answer its end by an error of its own: it was not asked to go on.
                ended = Ending(self._end_of_steps()) if self.was_cut_short else ending_of(error)
            self._report([answer for answer in answers if self.wanted(answer)], ended)

    def _report(self, answers: list[Answer], ended: Ending) -> None:
        found = self.strict and not all(is_odd(answer) for answer in answers)
        self.status = FOUND if found and not (ended.code or ended.is_final) else ended.code
        self.write_files(answers, [answer.to_dict() for answer in answers], ended)
        if not self.outputs.quiet:
            terminal.print_failures(self.watch.failures)
            for remark in self.watch.remarks:
                terminal.print_line(f"whygrad: {remark}")
            if self.was_cut_short:
                terminal.print_line(f"whygrad: {ended.words}")
        if answers and not self.outputs.quiet and not self.live:
            with suppress(*terminal.STREAM_ERRORS):
                sys.stdout.flush()
            terminal.print_answers(answers)
        self.annotate(answers)

    def write_files(self, answers: list[Answer], data: Any, ended: Ending) -> None:
        """Write `data` to the file of --json, the report to that of --html, and the answers to that of --sarif."""
        to = self.outputs
        if to.json is not None:
            write("--json", to.json, lambda path: write_json(path, data))
        if to.html is not None:
            script = getattr(sys.modules.get("__main__"), "__file__", None)
            write("--html", to.html, lambda path: report.write(path, answers, self.watch, script, ended.words))
        if to.sarif is not None:
            log = sarif.log(answers, to.root, ended, self.status, self.watch.failures)
            write("--sarif", to.sarif, lambda path: write_json(path, log))

    def annotate(self, answers: list[Answer]) -> None:
        if self.outputs.github and answers:
            # A workflow command is recognized at the start of a line only.
            terminal.print_line("\n" + "\n".join(github.annotation(answer, self.outputs.root) for answer in answers))


def _other_threads() -> list[threading.Thread]:
    """The threads for which the interpreter waits when it ends."""
    return [thread for thread in threading.enumerate() if not thread.daemon and thread is not threading.current_thread()]


def write_json(path: str, data: Any) -> None:
    with replacing(path) as file:
        file.write((json.dumps(data, indent=2, ensure_ascii=False) + "\n").encode("utf-8", "replace"))


def write(option: str, path: str, write: Callable[[str], None]) -> None:
    """Write a file; a failure must not change the program's exit code."""
    try:
        write(path)
    except OSError as error:
        terminal.print_line(f"whygrad: {option}: can't write {path}: {error.strerror or error}")


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
    needed = [folder, path] if there else [folder]  # it is replaced by a new file
    return "" if all(os.access(name, os.W_OK) for name in needed) else f"{path} can't be written: permission denied"
