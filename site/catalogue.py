"""The catalogue: for each category of answers its shortest program in the tests, and what whygrad says of it, run now."""

from __future__ import annotations

import io
import re
import tempfile
import warnings
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path

from play.gallery import without_marks

from whygrad import cli
from whygrad.for_whygrad.fresh_start import fresh_start
from whygrad.why.categories import DESCRIPTIONS

HEAD = """# The catalogue of answers

Every category of answers, with the shortest program of the tests that gets it, the answer as it is printed, and the fix.
What stands in `[brackets]` after a headline is the category, by which `--only`, `--ignore`, `--json` and `--sarif` name
it. All of this is made by running the programs when the site is built.

"""
NO_PROGRAM = "*It has no program that runs here: it needs several processes, or is tested as a part of others.*"
# Lines of a program that is shown at once.
MAX_OPEN = 40


def written(root: Path) -> str:
    """The page, in Markdown."""
    parts = [HEAD]
    with tempfile.TemporaryDirectory() as folder:
        for category, description in DESCRIPTIONS.items():
            parts.append(f"## {category}\n\n{description}\n\n{_entry(root, category, Path(folder))}\n")
    return "\n".join(parts)


def _entry(root: Path, category: str, folder: Path) -> str:
    for program in _programs(root, category):
        answer = answers(program, folder).get(category)
        if answer is not None:
            kind = "python live" if program.count("\n") <= MAX_OPEN else "python live folded"
            return f"```{kind}\n{program}```\n```answers\n{answer}```\n"
    return NO_PROGRAM


def _programs(root: Path, category: str) -> list[str]:
    """Those of the category, the shortest first; those that explain a read come before whole trainings."""
    return [without_marks(text) for kind in ("cases", "programs")
            for text in sorted([file.read_text() for file in (root / "tests/why" / kind / category).glob("*.py")], key=len)]


def answers(program: str, folder: Path) -> dict[str, str]:
    """The first answer of each category, as printed."""
    path = folder / "program.py"
    path.write_text(program)
    out = io.StringIO()
    with redirect_stdout(io.StringIO()), redirect_stderr(out), fresh_start(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with suppress(SystemExit):
            cli.run(["--engine", "whygrad", str(path)])
    found: dict[str, str] = {}
    for text in re.split(r"^whygrad \[\d+ of \d+\] ", out.getvalue().replace(f"{folder}/", ""), flags=re.MULTILINE)[1:]:
        category = re.search(r"\[([\w-]+)\]$", text, re.MULTILINE)
        if category:
            found.setdefault(category[1], text.rstrip() + "\n")
    return found
