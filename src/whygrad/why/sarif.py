"""`--sarif`: the answers as a log in SARIF 2.1.0 (OASIS), the format that code scanning and editors read."""

from __future__ import annotations

import hashlib
import os
import signal
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from whygrad.base.own_version import own_version
from whygrad.why.answers import Answer, Edit
from whygrad.why.audit.baseline import key_of, normalised
from whygrad.why.audit.check_list import check_of
from whygrad.why.categories import DESCRIPTIONS
from whygrad.why.cells import cell_name
from whygrad.why.ending import Ending
from whygrad.why.engine import description
from whygrad.why.locations import SourceLocation, source_lines
from whygrad.why.regions import file_on_disk, region_of, relative
from whygrad.why.sections.verdict import is_odd

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
ROOT = "%SRCROOT%"

Object = dict[str, Any]


def log(answers: Sequence[Answer], root: str, ended: Ending, status: int, failures: Sequence[str]) -> Object:
    """The whole log. File names are relative to `root`; `status` is the exit code of the process, `failures` are errors of the
    watch itself."""
    categories = list(dict.fromkeys(answer.explanation.category for answer in answers))
    seen: Counter[str] = Counter()
    results = []
    for answer in answers:
        mark = _fingerprint(answer, root)
        seen[mark] += 1
        results.append(_result(answer, root, categories) | {"partialFingerprints": {"whygrad/v1": f"{mark}:{seen[mark]}"}})
    rules = [_rule(category, answers) for category in categories]
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [{
        "tool": {"driver": {"name": "whygrad", "version": own_version(), "rules": rules}},
        "invocations": [_invocation(ended, status, failures)],
        "originalUriBaseIds": {ROOT: {"uri": Path(root).as_uri().rstrip("/") + "/"}},
        "columnKind": "unicodeCodePoints",
        "properties": {"engine": description()},
        "results": results}]}


def _rule(category: str, answers: Sequence[Answer]) -> Object:
    headline = next(answer.explanation.headline for answer in answers if answer.explanation.category == category)
    text = {"text": DESCRIPTIONS.get(category, headline)}
    return {"id": category, "shortDescription": text, "fullDescription": text, "help": text}  # GitHub asks for all three


def _invocation(ended: Ending, status: int, failures: Sequence[str]) -> Object:
    made: Object = {"executionSuccessful": not (ended.code or ended.signal)}
    if ended.signal:
        made |= {"exitSignalNumber": int(ended.signal), "exitSignalName": signal.Signals(ended.signal).name}
    else:
        made["exitCode"] = status & 0xFF if os.name == "posix" else status
    if ended.words:
        made["exitCodeDescription"] = ended.words
    if failures:
        made["toolExecutionNotifications"] = [
            {"level": "error", "message": {"text": f"a question could not be resolved ({failure})"}} for failure in failures]
    return made


def _result(answer: Answer, root: str, categories: list[str]) -> Object:
    explanation = answer.explanation
    causes = [cause for cause in explanation.causes if cause != answer.location]
    # GitHub shows related locations that the message links to.
    links = [f"Cause: [{relative(cause.file, root)}:{cause.line}]({number})" for number, cause in enumerate(causes, 1)]
    text = "\n".join([f"{answer.location.shown()}: {explanation.headline}.", explanation.text, *links,
                      *([f"Fix: {explanation.fix}"] if explanation.fix else [])])
    made: Object = {
        "ruleId": explanation.category, "ruleIndex": categories.index(explanation.category),
        "level": "note" if is_odd(answer) else "error", "message": {"text": text},
        "locations": [_location(answer.location, root)]}
    if causes:
        made["relatedLocations"] = [{"id": number, **_location(cause, root), "message": {"text": f"cause: {cause.shown()}"}}
                                    for number, cause in enumerate(causes, 1)]
    edit = explanation.edit
    if edit is not None and not any(cell_name(one.file) for one in (edit, *edit.also)):
        made["fixes"] = [_fix(edit, explanation.fix, root)]
    made["properties"] = {"symptom": explanation.symptom, "parameters": explanation.parameters, "path": explanation.path,
                          "check": check_of(answer), "expression": answer.location.expression}
    return made


def _location(location: SourceLocation, root: str) -> Object:
    file, region = file_on_disk(location.file), region_of(location)
    if not file:
        return {"message": {"text": str(location)}}
    physical: Object = {"artifactLocation": _artifact(file, root)}
    if region is None:
        return {"physicalLocation": physical, "message": {"text": str(location)}}
    physical["region"] = {"startLine": region.line, "endLine": region.end_line}
    if region.column:
        physical["region"] |= {"startColumn": region.column, "endColumn": region.end_column}
    if location.expression:
        physical["region"]["snippet"] = {"text": location.expression}
    made: Object = {"physicalLocation": physical}
    if location.function not in ("", "<module>"):
        made["logicalLocations"] = [{"name": location.function, "kind": "function"}]
    return made


def _artifact(file: str, root: str) -> Object:
    name = relative(file, root)
    return {"uri": Path(name).as_uri()} if os.path.isabs(name) else {"uri": quote(os.fsencode(name)), "uriBaseId": ROOT}


def _fix(edit: Edit, description: str, root: str) -> Object:
    by_file: dict[str, list[Edit]] = {}
    for one in sorted((edit, *edit.also), key=lambda one: one.line):
        by_file.setdefault(one.file, []).append(one)
    return {"description": {"text": description or "the change that mends it"}, "artifactChanges": [
        {"artifactLocation": _artifact(file, root), "replacements": [_replacement(one) for one in edits]}
        for file, edits in by_file.items()]}


def _replacement(edit: Edit) -> Object:
    """A line is replaced without its end, or deleted with it."""
    lines = source_lines(edit.file)
    line = lines[edit.line - 1].rstrip("\r\n") if edit.line <= len(lines) else ""
    region = {"startLine": edit.line, "startColumn": 1, "endLine": edit.line, "endColumn": len(line) + 1}
    if edit.new:
        return {"deletedRegion": region, "insertedContent": {"text": edit.new}}
    return {"deletedRegion": region | {"endLine": edit.line + 1, "endColumn": 1} if edit.line < len(lines) else region}


def _fingerprint(answer: Answer, root: str) -> str:
    """It stays when lines move: category, cause and text of the line, without line numbers."""
    parts = [*key_of(answer, root), normalised(answer.location.source_line), answer.location.expression]
    return hashlib.sha256("\n".join(parts).encode("utf-8", "replace")).hexdigest()[:32]
