"""`--github`: answers as commands of GitHub's workflows, which shows them beside the lines of a pull request."""

from __future__ import annotations

import os

from whygrad.why.answers import Answer
from whygrad.why.regions import file_on_disk, region_of, relative
from whygrad.why.sections.verdict import is_odd


def is_running() -> bool:
    return os.environ.get("GITHUB_ACTIONS") == "true"


def annotation(answer: Answer, root: str) -> str:
    """`::error file=train.py,line=3,...::message`; a notice if it is only odd."""
    location, explanation = answer.location, answer.explanation
    properties: dict[str, str | int] = {}
    file, region = file_on_disk(location.file), region_of(location)
    if file:
        properties["file"] = relative(file, root)
    if file and region is not None:
        properties |= {"line": region.line, "endLine": region.end_line}
        if region.column and region.line == region.end_line:  # GitHub allows columns in one line only
            properties |= {"col": region.column, "endColumn": region.end_column}
    properties["title"] = f"whygrad: {explanation.category}"
    lines = [f"{location.shown()}: {explanation.headline}", explanation.text,
             *[f"cause: {relative(cause.file, root)}:{cause.line}: {cause.shown()}" for cause in explanation.causes],
             *([f"fix: {explanation.fix}"] if explanation.fix else [])]
    told = ",".join(f"{name}={_property(str(value))}" for name, value in properties.items())
    return f"::{'notice' if is_odd(answer) else 'error'} {told}::{_data(chr(10).join(lines))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
