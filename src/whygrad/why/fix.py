"""`whygrad fix script.py`: applies suggested edits, runs the program again, and shows those that help.

An edit is accepted if the symptom is gone, no new problem appears, and the program ends no worse. A problem that an edit
uncovers (the program now runs past an error, up to the next one) must be fixed as well, or the edit is rejected. A problem is
called mended only if the loss then behaves (loss_course.py); an edit after which it is not finite is the last choice.
"""

from __future__ import annotations

import argparse
import difflib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

from whygrad.cli import Program, add_engine, engine_for, parsed, refuse_without_file
from whygrad.why.answers import Edit
from whygrad.why.edits.apply import apply, moved
from whygrad.why.loss_course import Behaviour, LossCourse, behaviour
from whygrad.why.scratch import Scratch
from whygrad.why.trial import Outcome, run

USAGE = "whygrad fix [--write] [--engine ENGINE] [--timeout SECONDS] (script.py | -m module) [arguments of the program ...]"
# Edits tried for one problem, runs in all, and length of a chain of edits that uncover new problems.
MAX_CHANGES, MAX_RUNS, MAX_CHAIN = 6, 60, 4

# Files named that are too large to be copied.
MAX_SHOWN = 4

# Categories that are expected at the same read after a fix: a frozen tensor has no gradient, a loss may be at its minimum.
FLAT = {"zero-factor", "zero-local-derivative"}
EXPECTED = {"stale-grad-after-freeze": {"frozen", "never-required-grad"}, "broadcast-loss": FLAT, "nan-derivative": FLAT,
            "missing-detach": {"detach", "unused-in-loss", "grad-mode-off"}}

# The category for a loss computed from tensors none of which requires grad.
NOTHING_TRACKED = "never-required-grad"

Problem = dict[str, Any]


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="whygrad fix", usage=USAGE,
        description="Run a PyTorch program, change its source where an answer suggests a mechanical change, run it "
        "again, and show the change as a diff if the symptom is gone; it is called mended if the loss then falls. The program "
        "is run several times, without input and with its output hidden, each time in a new copy of the working folder: what it "
        "writes there is thrown away. Of a folder with more than 200 MB or 5000 files the rest is not copied but linked.",
        epilog="Options stand before the script or -m; what stands behind it is given to the program. "
        "Exit code: 0 if all symptoms are gone or nothing is wrong, 1 if one remains or the loss is not finite, 2 for "
        "wrong usage.")
    made.add_argument("--write", action="store_true", help="also write the changes to the files; the old text is kept as "
                      "FILE.orig")
    made.add_argument("--timeout", type=_seconds, default=600.0, metavar="SECONDS",
                      help="how long one run may take (default 600)")
    add_engine(made)
    return made


def _seconds(text: str) -> float:
    value = float(text)
    if not value > 0:
        raise argparse.ArgumentTypeError("must be positive")
    return value


def main(arguments: list[str]) -> int:
    parsing = parser()
    options, program = parsed(parsing, arguments)
    refuse_without_file(parsing, program)
    if program.target.endswith(".ipynb"):
        parsing.error(f"{program.target}: changes are made to scripts, not to notebooks; `whygrad run` shows them for each cell")
    progress = Progress()
    search = FixSearch(program, engine_for(program, options.engine), options.timeout, progress)
    if search.scratch.too_large:
        print(_not_copied(search.scratch.too_large), file=sys.stderr)
    state = search.start()
    search.fix_all(state)
    progress.done()
    return _print_result(search, state, options.write)


def _not_copied(paths: list[str]) -> str:
    shown = ", ".join(os.path.relpath(path) for path in paths[:MAX_SHOWN])
    more = f" and {len(paths) - MAX_SHOWN} more" if len(paths) > MAX_SHOWN else ""
    return (f"whygrad fix: too large to be copied: {shown}{more}; the runs use the originals, and what the program writes there "
            "stays")


class Progress:
    """Progress on standard error: on a terminal at once, otherwise only after five seconds."""

    def __init__(self) -> None:
        self.begun = time.monotonic()
        self.terminal = sys.stderr.isatty()

    def say(self, text: str) -> None:
        if self.terminal:
            print(f"\r\x1b[Kwhygrad fix: {text}", end="", file=sys.stderr, flush=True)
        elif time.monotonic() - self.begun > 5:
            print(f"whygrad fix: {text}", file=sys.stderr, flush=True)

    def done(self) -> None:
        if self.terminal:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


@dataclass
class State:
    """The changed files so far, and the outcome of a run with them."""

    files: dict[str, bytes]
    outcome: Outcome
    fixed: list[Problem] = field(default_factory=list)
    # The accepted edits, in order.
    edits: list[Edit] = field(default_factory=list)
    # Problems that could not be fixed, and why.
    remaining: list[tuple[Problem, str]] = field(default_factory=list)


class FixSearch:
    def __init__(self, program: Program, engine: str, timeout: float, progress: Progress) -> None:
        self.program = program
        self.engine = engine
        self.timeout = timeout
        self.progress = progress
        self.scratch = Scratch(_folder_of(program))
        self.original: dict[str, bytes] = {}
        self.runs = 0
        # Keys of the problems in the current chain of edits, to fix none of them twice.
        self.chain: list[tuple[Any, ...]] = []
        # Answers (file, category, expression) that are expected after an accepted edit.
        self.settled: list[tuple[str, str, str]] = []
        # How the losses of the program go as it is.
        self.courses: list[LossCourse] = []

    def start(self) -> State:
        self.progress.say(f"running {self.program.title}")
        state = State({}, self._run({}))
        self.courses = _courses(state.outcome)
        return state

    def loss_after(self, outcome: Outcome, edits: list[Edit]) -> Behaviour:
        """How the losses of a run with these edits behave, compared with the program as it is."""
        return behaviour(self.courses, _courses(outcome), edits)

    def _run(self, files: dict[str, bytes]) -> Outcome:
        self.runs += 1
        outcome = run(self.program, files=files, timeout=self.timeout, scratch=self.scratch, engine=self.engine)
        if self.runs == 1:
            # An edit may make the program hang: later runs get a limit relative to the first.
            self.timeout = min(self.timeout, 30 + 10 * outcome.seconds)
        outcome.answers = [a for a in outcome.answers if not (a["harmless"] or a["odd"])
                           and (a["file"], a["category"], a["expression"]) not in self.settled]
        return outcome

    def fix_all(self, state: State) -> None:
        """Fix one problem after the other; those that cannot be fixed are set aside."""
        aside: list[tuple[Problem, str]] = []
        while True:
            open_problems = [p for p in state.outcome.answers if not any(_is_same(p, a) for a, _ in aside)]
            if not open_problems:
                break
            self.chain = [_key(open_problems[0])]
            found, reason = self._try_edits(state, open_problems[0], 0)
            if found is None:
                aside.append((open_problems[0], reason))
                continue
            edit_trail = found[1]
            aside = [(_moved_problem(p, edit_trail), why) for p, why in aside]
            state.files, state.outcome = found[0].files, found[0].outcome
            state.fixed += found[0].fixed
            state.edits += edit_trail
        state.remaining = aside

    def _try_edits(self, state: State, problem: Problem, depth: int) -> tuple[tuple[State, list[Edit]] | None, str]:
        """The state after the first accepted edit, with the edits of its chain; otherwise the reason why there is none."""
        edits = [e for e in _edits(problem) if _may_edit(e)]
        if not edits:
            return None, "there is no mechanical change for it"
        reason = ""
        # An edit that is good, but the loss is then not finite; and the answers that are expected after it.
        second_best: tuple[tuple[State, list[Edit]], list[Problem]] | None = None
        for number, edit in enumerate(edits[:MAX_CHANGES], 1):
            if self.runs >= MAX_RUNS:
                reason = "too many changes had been tried already"
                break
            self.progress.say(f"run {self.runs + 1}: {os.path.basename(edit.file)}, line {edit.line}, change {number} of "
                              f"{len(edits[:MAX_CHANGES])}")
            files = self._changed(state.files, edit)
            if files is None:
                reason = reason or "the change cannot be written into the file"
                continue
            outcome = self._run(files)
            expected = [a for a in outcome.answers if _is_at(a, problem, edit) and
                        a["category"] in EXPECTED.get(problem["category"], ())]
            outcome.answers = [a for a in outcome.answers if a not in expected]
            if is_error(problem) and problem["category"] != NOTHING_TRACKED and any(
                    _is_at(a, problem, edit) and a["category"] == NOTHING_TRACKED for a in outcome.answers):
                # Setting requires_grad on some other tensor would silence the error without connecting the loss.
                reason = reason or "it is still not connected to what is trained"
                continue
            verdict, uncovered = judge(state.outcome, outcome, problem, edit)
            after = State(files, outcome, [_at_original_line(problem, state.edits)], edits=[*state.edits, edit])
            if verdict == "good":
                good = (after, [edit]), expected
                if self.loss_after(outcome, after.edits).is_finite:
                    return self._accepted(*good), ""
                second_best = second_best or good
                continue
            if verdict == "uncovers" and depth < MAX_CHAIN:
                chain = self._fix_uncovered(after, uncovered, depth + 1)
                if chain is not None:
                    return (chain[0], [edit, *chain[1]]), ""
                verdict = "with the change, something else goes wrong: " + headline(uncovered[0])
            reason = reason or verdict
        if second_best is not None:
            return self._accepted(*second_best), ""
        if self.runs >= MAX_RUNS:
            return None, reason
        tried = "one change was" if len(edits) == 1 else f"{min(len(edits), MAX_CHANGES)} changes were"
        return None, f"{tried} tried in vain: {reason}"

    def _accepted(self, found: tuple[State, list[Edit]], expected: list[Problem]) -> tuple[State, list[Edit]]:
        self.settled += [(a["file"], a["category"], a["expression"]) for a in expected]
        return found

    def _fix_uncovered(self, state: State, uncovered: list[Problem], depth: int) -> tuple[State, list[Edit]] | None:
        """Fix all problems that an edit uncovered, or return None."""
        chain = list(self.chain)
        try:
            return self._fix_one_by_one(state, uncovered, depth)
        finally:
            self.chain = chain

    def _fix_one_by_one(self, state: State, uncovered: list[Problem], depth: int) -> tuple[State, list[Edit]] | None:
        trail: list[Edit] = []
        while uncovered:
            key = _key(uncovered[0])
            if depth > MAX_CHAIN or key in self.chain:
                return None
            self.chain.append(key)
            found, _ = self._try_edits(state, uncovered[0], depth)
            if found is None:
                return None
            after, edits = found
            trail += edits
            rest = [_moved_problem(p, edits) for p in uncovered[1:]]
            uncovered = [p for p in after.outcome.answers if any(_is_same(p, r) for r in rest)]
            state = State(after.files, after.outcome, [*state.fixed, *after.fixed], edits=after.edits)
            depth += 1
        return state, trail

    def _changed(self, files: dict[str, bytes], edit: Edit) -> dict[str, bytes] | None:
        files = dict(files)
        try:
            for file in {edit.file, *[e.file for e in edit.also]}:
                if file not in files:
                    self.original[file] = files[file] = self.original.get(file) or Path(file).read_bytes()
            return apply(files, edit)
        except (OSError, UnicodeError, SyntaxError):
            return None


def _courses(outcome: Outcome) -> list[LossCourse]:
    return [LossCourse(**fields) for fields in outcome.losses]


def _folder_of(program: Program) -> str:
    """The folder of the script, or the one in which the import system will find the module, if it is the user's."""
    if program.how == "script":
        return os.path.dirname(os.path.abspath(program.target))
    package = program.target.partition(".")[0]
    folders = [os.getcwd(), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    return next((os.path.abspath(folder) for folder in folders if PathFinder.find_spec(package, [folder])), os.getcwd())


def _edits(problem: Problem) -> list[Edit]:
    return [Edit(e["file"], e["line"], e["new"], [Edit(a["file"], a["line"], a["new"]) for a in e.get("also", ())])
            for e in problem["edits"]]


def _may_edit(edit: Edit) -> bool:
    """True for files of the program, False for those of a library."""
    return all("site-packages" not in e.file and os.path.isfile(e.file) for e in (edit, *edit.also))


def judge(before: Outcome, after: Outcome, problem: Problem, edit: Edit) -> tuple[str, list[Problem]]:
    """ "good", or "uncovers" with the new problems, or what is wrong with the edit."""
    if after.timed_out:
        return "with the change, the program did not end in time", []
    if not after.reported:
        return "with the change, the program ended without a report", []
    was_error = is_error(problem)
    still = [answer for answer in after.answers if _is_at(answer, problem, edit)]
    if any(_has_cause_of(answer, problem, edit) for answer in still):
        return "with the change, the symptom is still there", []
    old = [p for p in before.answers if p is not problem]
    new = [a for a in after.answers if not any(_is_same(a, p, edit) for p in old)]
    # An error that ends the program is a new problem if it is explained.
    explained = any(_explains(a, after.error) for a in new)
    worse = after.code not in (0, before.code) or (after.error and after.error != before.error)
    if worse and not explained:
        return f"with the change, the program ends with {after.error or f'exit code {after.code}'}", []
    if was_error and after.error == before.error and _explains(problem, after.error) and not explained:
        return "with the change, the symptom is still there", []
    return ("uncovers", new) if new else ("good", [])


def _is_at(answer: Problem, problem: Problem, edit: Edit) -> bool:
    """True if an answer is about the same read or raising call as a problem before the edit."""
    if answer["file"] != problem["file"] or answer["line"] not in moved(edit, problem["file"], problem["line"]):
        return False
    return bool(answer["expression"] == problem["expression"] or (is_error(problem) and is_error(answer)))


def _has_cause_of(answer: Problem, problem: Problem, edit: Edit) -> bool:
    """True if an answer has the same first cause as before the edit. (A path may be cut in two places.)"""
    causes = [(c["file"], line) for c in problem["causes"][:1] for line in moved(edit, c["file"], c["line"])]
    same = [(c["file"], c["line"]) in causes for c in answer["causes"][:1]]
    return answer["category"] == problem["category"] and (any(same) or not same)


def _key(problem: Problem) -> tuple[Any, ...]:
    return problem["file"], problem["category"], problem["expression"], *[c["expression"] for c in problem["causes"][:1]]


def headline(problem: Problem) -> str:
    return str(problem["headline"])


def is_error(problem: Problem) -> bool:
    return headline(problem).split(" ", 1)[0].endswith("Error:")


def _explains(problem: Problem, error: str) -> bool:
    """True if an answer explains the error that ended the program. Headlines of answers are truncated."""
    return bool(error) and is_error(problem) and headline(problem)[:150] == error[:150]


def _is_same(a: Problem, b: Problem, edit: Edit | None = None) -> bool:
    """True if two answers are the same, up to lines moved by the edit."""
    lines = moved(edit, b["file"], b["line"]) if edit is not None else [b["line"]]
    return (a["file"], a["category"], a["expression"]) == (b["file"], b["category"], b["expression"]) and a["line"] in lines


def _moved_problem(problem: Problem, edits: list[Edit]) -> Problem:
    line = problem["line"]
    for edit in edits:
        line = moved(edit, problem["file"], line)[-1]
    return {**problem, "line": line}


def _at_original_line(problem: Problem, edits: list[Edit]) -> Problem:
    """A problem with the line it had before any edit."""
    line = problem["line"]
    for edit in reversed(edits):
        line = next((n for n in range(1, line + 100) if line in moved(edit, problem["file"], n)), line)
    return {**problem, "line": line}


def _print_result(search: FixSearch, state: State, write: bool) -> int:
    outcome = state.outcome
    loss = search.loss_after(outcome, state.edits)
    for problem in state.fixed:
        print(f"{'mended' if loss.is_good else 'the symptom is gone'}: {_title(problem)}", file=sys.stderr)
    if state.fixed:
        print(f"  {loss.words}", file=sys.stderr)
    for problem, reason in state.remaining:
        problem = _at_original_line(problem, state.edits)
        print(f"not mended: {_title(problem)}\n  {reason}; {problem['fix'] or problem['text']}", file=sys.stderr)
    failed = False
    if outcome.timed_out:
        print(f"whygrad fix: the program did not end within {search.timeout:g} seconds", file=sys.stderr)
        failed = True
    elif not outcome.reported:
        print(f"whygrad fix: the program ended with exit code {outcome.code} and left no report", file=sys.stderr)
        failed = True
    elif outcome.error and not any(is_error(p) for p, _ in state.remaining):
        # The message of a SyntaxError already has the line.
        known = outcome.error.endswith(f"line {outcome.error_line})")
        at = f" (line {outcome.error_line})" if outcome.error_line and not known else ""
        print(f"whygrad fix: the program ends with {outcome.error}{at}, which is not a question of gradients", file=sys.stderr)
        failed = True
    elif not state.fixed and not state.remaining:
        print("whygrad fix: nothing to mend", file=sys.stderr)
    sys.stderr.flush()
    changed = {file: new for file, new in state.files.items() if new != search.original[file]}
    for file, new in changed.items():
        sys.stdout.write("".join(_diff(file, search.original[file], new)))
    sys.stdout.flush()
    if write:
        for file, new in changed.items():
            try:
                backup = write_file(file, search.original[file], new)
            except OSError as error:
                print(f"whygrad fix: cannot write {file}: {error.strerror or error}", file=sys.stderr)
                failed = True
            else:
                print(f"written: {file}, the old text is in {backup}", file=sys.stderr)
    return 1 if failed or state.remaining or (state.fixed and not loss.is_finite) else 0


def _title(problem: Problem) -> str:
    what = problem["expression"] or "this line"
    return f"{os.path.basename(problem['file'])}, line {problem['line']}, {what}: {headline(problem)} [{problem['category']}]"


def _diff(file: str, old: bytes, new: bytes) -> Iterator[str]:
    from importlib.util import decode_source

    name = os.path.relpath(file) if not os.path.relpath(file).startswith("..") else file
    a, b = (decode_source(text).split("\n") for text in (old, new))
    for line in difflib.unified_diff(a, b, name, name, lineterm=""):
        yield line + "\n"


def write_file(file: str, expected: bytes, new: bytes) -> str:
    """Replace a file's text, keep a backup beside it, and return the backup's name. Owner, mode and links stay as they are.

    It is replaced atomically, unless that would separate it from its other names or give it another owner.
    """
    target = os.path.realpath(file)
    if Path(target).read_bytes() != expected:
        raise OSError("it was changed while the program ran")
    if not os.access(target, os.W_OK):
        raise OSError("it is not writable")
    backup = target + ".orig"
    number = 0
    while os.path.lexists(backup):
        number += 1
        backup = f"{target}.orig.{number}"
    shutil.copy2(target, backup)
    status = os.stat(target)
    if status.st_nlink > 1 or (hasattr(os, "geteuid") and (status.st_uid, status.st_gid) != (os.geteuid(), os.getegid())):
        with open(target, "r+b") as stream:
            stream.write(new)
            stream.truncate()
        return backup
    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(target), prefix=".whygrad-")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(new)
        shutil.copystat(target, temporary)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        os.unlink(backup)
        raise
    return backup
