"""The catalogue: for each category of answers its shortest program in the tests, and what whygrad says of it, run now."""

from __future__ import annotations

import io
import re
import tempfile
import warnings
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import NamedTuple

from play.gallery import NOT_IN_PAGE, preference, without_marks

from whygrad import cli
from whygrad.for_whygrad.fresh_start import fresh_start
from whygrad.why.audit.subjects import SUBJECTS
from whygrad.why.categories import DESCRIPTIONS
from whygrad.why.session import Outputs, Session

HEAD = """# The catalogue of answers

Every category of answers, with the shortest program of the tests that gets it, the answer as it is printed, and the fix.
What stands in `[brackets]` after a headline is the category, by which `--only`, `--ignore`, `--json` and `--sarif` name
it. All of this is made by running the programs when the site is built.

## What do you see?

"""
# Kinds of what is observed (`symptom` of an answer), in words of somebody who sees it.
SIGHTS = {
    "a gradient is None, or `requires_grad` is False": ("none", "not-tracked"),
    "an error is raised": ("error",),
    "a gradient is zero": ("zero", "partly-zero"),
    "something is NaN or infinite": ("nan",),
    "a gradient is there, and not the one you expect": ("wrong-value", "stale", "unwanted", "ok"),
    "the weights do not change": ("no-update",),
}
SILENT = """
Or nothing is seen: the program runs, and does not learn what it should. The check-list of `whygrad audit` has these:

"""
# Categories without a program that gets them, and why.
WITHOUT_PROGRAM = {
    "not-seen": "*It says that nothing can be said. On whygrad's own engine everything is recorded; on PyTorch a part of a "
                "program may have run while nothing was (before `why.on()`, or in a step of a long run that was left out).*",
}
IN_RANKS = "It shows between several processes of a distributed program, on PyTorch, so it does not run in this page:"
NOT_HERE = "It does not run in this page, which has no bfloat16 and no processes:"
# Programs for what is told only if somebody asks (`why()`): their output is the answer.
ASKED = {
    "grad-assigned": """import torch

w = torch.ones(2)
w.grad = torch.tensor([5.0, 5.0])
print(w.why())
""",
}
# Lines of a program that is shown at once.
MAX_OPEN = 40
AUDIT_SUBJECTS = {check: subject for subject in SUBJECTS for check in subject.checks}


class Told(NamedTuple):
    """An answer: what is printed, the kind of what is observed, and the check of the audit it belongs to."""

    printed: str
    symptom: str
    check: str


def written(root: Path) -> str:
    """The page, in Markdown."""
    entries: list[str] = []
    sights: dict[str, list[str]] = {sight: [] for sight in SIGHTS}
    checks: dict[str, list[str]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for category, description in DESCRIPTIONS.items():
            text, told = _entry(root, category, Path(folder))
            entries.append(f"## {category}\n\n{description}\n\n{text}\n")
            if told is not None and told.check in AUDIT_SUBJECTS:
                checks.setdefault(AUDIT_SUBJECTS[told.check].checks[told.check], []).append(category)
            elif told is not None:
                next(names for sight, names in sights.items() if told.symptom in SIGHTS[sight]).append(category)
    return "\n".join([HEAD + _table("you see", sights) + SILENT + _table("what should hold", checks), *entries])


def _table(title: str, rows: dict[str, list[str]]) -> str:
    lines = [f"| {sight} | {', '.join(f'[{name}](#{name})' for name in names)} |" for sight, names in rows.items()]
    return "\n".join([f"| {title} | look at |", "|---|---|", *lines, ""])


def _entry(root: Path, category: str, folder: Path) -> tuple[str, Told | None]:
    """The text below the heading, and the answer it shows."""
    if category in WITHOUT_PROGRAM:
        return WITHOUT_PROGRAM[category], None
    if category in ASKED:
        return _program(ASKED[category]) + f"```output\n{_run(ASKED[category], folder)[0]}```\n", None
    of_ranks = next((root / "tests/for_torch/rank_programs" / category).glob("*.answer"), None)
    if of_ranks is not None:
        program = without_marks(of_ranks.with_suffix(".py").read_text())
        return f"{IN_RANKS}\n\n```python\n{program}```\n```answers\n{of_ranks.read_text()}```\n", None
    other = None
    for program in _programs(root, category):
        answers = _run(program, folder)[1]
        if category in answers:
            told = answers[category]
            return _program(program) + f"```answers\n{told.printed}```\n", told
        other = other or (answers and (program, answers)) or None
    assert other is not None, f"no program gets {category}"
    # The answer names the cause by another category, which is as right.
    program, answers = other
    name, told = next(iter(answers.items()))
    return _program(program) + f"It is answered as [{name}](#{name}):\n\n```answers\n{told.printed}```\n", told


def _program(program: str) -> str:
    if NOT_IN_PAGE.search(program):
        return f"{NOT_HERE}\n\n```python\n{program}```\n"
    folded = " folded" if program.count("\n") > MAX_OPEN else ""
    return f"```python live{folded}\n{program}```\n"


def _programs(root: Path, category: str) -> list[str]:
    """Those of the category, the shortest first; those that explain a read come before whole trainings."""
    return [without_marks(text) for kind in ("cases", "programs")
            for text in sorted([file.read_text() for file in (root / "tests/why" / kind / category).glob("*.py")],
                               key=preference)]


def _run(program: str, folder: Path) -> tuple[str, dict[str, Told]]:
    """What it prints, and the first answer of each category."""
    path = folder / "program.py"
    path.write_text(program)
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), fresh_start(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cli.use_engine("whygrad")
        session = Session(Outputs())
        with suppress(BaseException):
            cli.execute(cli.Program("script", str(path), []))
        with suppress(SystemExit):
            session.finish()
        kinds = {answer.explanation.category: answer.explanation for answer in reversed(session.watch.answers)}
    found: dict[str, Told] = {}
    for text in re.split(r"^whygrad \[\d+ of \d+\] ", err.getvalue().replace(f"{folder}/", ""), flags=re.MULTILINE)[1:]:
        category = re.search(r"\[([\w-]+)\]$", text, re.MULTILINE)
        if category:
            explanation = kinds[category[1]]
            found.setdefault(category[1], Told(text.rstrip() + "\n", explanation.symptom, explanation.check))
    return out.getvalue().replace(f"{folder}/", ""), found
