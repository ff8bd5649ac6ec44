"""`--sarif`: the log is one in SARIF 2.1.0, and says what the answers say."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import interpreters
import pytest
from interpreters import SOURCE

import whygrad
from whygrad.why.categories import DESCRIPTIONS

WHY = Path(__file__).parents[1] / "why"

DETACHED = """import torch
import torch.nn as nn
def encode(model, x):
    größe = 1; return model(x).detach()
model, head = nn.Linear(3, 2), nn.Linear(2, 1)
head(encode(model, torch.ones(4, 3))).mean().backward()
print(model.weight.grad)
"""
# `zero_grad` clears the gradient before it is read.
CLEARED = """import torch
model = torch.nn.Linear(3, 1)
model(torch.ones(2, 3)).sum().backward()
model.zero_grad()
print(model.weight.grad)
"""
TRAINING = """import torch
model = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr={rate})
for _ in range(20):
    x = torch.randn(16, 8)
    y = x[:, :1] * 0.3 + torch.randn(16, 1)
    {odd}
    optimizer.zero_grad()
    ((model(x) - y) ** 2).mean().backward()
    optimizer.step()
"""

# The objects of the standard that are written, with their required properties and all properties that we use: `name!` is
# required, `[kind]` an array of at least one, `{kind}` an object with values of that kind. Anything else is an error.
STANDARD = {
    "log": {"version!": "version", "$schema": "uri", "runs!": "[run]"},
    "run": {"tool!": "tool", "invocations": "[invocation]", "originalUriBaseIds": "{artifactLocation}", "results": "list",
            "columnKind": "columnKind", "properties": "any"},
    "tool": {"driver!": "toolComponent"},
    "toolComponent": {"name!": "text", "version": "text", "rules": "list"},
    "reportingDescriptor": {"id!": "text", "shortDescription": "message", "fullDescription": "message", "help": "message"},
    "invocation": {"executionSuccessful!": "bool", "exitCode": "integer", "exitCodeDescription": "text",
                   "exitSignalNumber": "integer", "exitSignalName": "text", "toolExecutionNotifications": "[notification]"},
    "notification": {"message!": "message", "level": "level"},
    "result": {"message!": "message", "ruleId": "text", "ruleIndex": "index", "level": "level", "locations": "[location]",
               "relatedLocations": "[location]", "fixes": "[fix]", "partialFingerprints": "{text}", "properties": "any"},
    "message": {"text!": "text"},
    "location": {"id": "index", "physicalLocation": "physicalLocation", "logicalLocations": "[logicalLocation]",
                 "message": "message"},
    "physicalLocation": {"artifactLocation!": "artifactLocation", "region": "region"},
    "logicalLocation": {"name": "text", "kind": "text"},
    "artifactLocation": {"uri!": "uri", "uriBaseId": "text"},
    "region": {"startLine!": "number", "startColumn": "number", "endLine": "number", "endColumn": "number", "snippet": "message"},
    "fix": {"description": "message", "artifactChanges!": "[artifactChange]"},
    "artifactChange": {"artifactLocation!": "artifactLocation", "replacements!": "[replacement]"},
    "replacement": {"deletedRegion!": "region", "insertedContent": "message"},
}
VALUES: dict[str, Any] = {
    "version": lambda x: x == "2.1.0", "text": lambda x: isinstance(x, str) and x, "bool": lambda x: isinstance(x, bool),
    "integer": lambda x: type(x) is int, "index": lambda x: type(x) is int and x >= 0,
    "number": lambda x: type(x) is int and x >= 1,
    "level": lambda x: x in ("none", "note", "warning", "error"), "any": lambda x: isinstance(x, dict),
    "columnKind": lambda x: x in ("utf16CodeUnits", "unicodeCodePoints"), "list": lambda x: isinstance(x, list),
    "uri": lambda x: isinstance(x, str) and x.isascii() and not set(x) & set(' <>"{}|^`\\'),
}


def check(value: Any, kind: str, where: str = "log") -> None:
    if kind.startswith("["):
        assert isinstance(value, list), where
        assert value, where
        for number, item in enumerate(value):
            check(item, kind[1:-1], f"{where}[{number}]")
    elif kind.startswith("{"):
        for name, item in value.items():
            check(item, kind[1:-1], f"{where}.{name}")
    elif kind in VALUES:
        assert VALUES[kind](value), f"{where}: {value!r} is not of kind {kind}"
    else:
        shape = STANDARD[kind]
        assert {name[:-1] for name in shape if name.endswith("!")} <= set(value) <= {name.rstrip("!") for name in shape}, where
        for name, item in value.items():
            check(item, shape.get(name) or shape[f"{name}!"], f"{where}.{name}")


def check_log(log: Any) -> None:
    """What the standard requires of each object, and of one in relation to another."""
    check(log, "log")
    run = log["runs"][0]
    rules = run["tool"]["driver"]["rules"]
    for rule in rules:
        check(rule, "reportingDescriptor")
    for result in run["results"]:
        check(result, "result")
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        for place in [*result["locations"], *result.get("relatedLocations", ())]:
            region = place.get("physicalLocation", {}).get("region", {"startLine": 1})
            assert (region["startLine"], region.get("startColumn", 1)) <= (region.get("endLine", 1), region.get("endColumn", 1))
    assert all(base["uri"].endswith("/") for base in run["originalUriBaseIds"].values())
    prints = [json.dumps(result["partialFingerprints"]) for result in run["results"]]
    assert len(set(prints)) == len(prints)


def logged(folder: Path, program: str, *options: str, name: str = "train.py", command: str = "run", **environment: str) -> Any:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(program)
    done = interpreters.run(["-m", "whygrad", command, "--sarif", "a.sarif", *options, name], cwd=folder,
                            env={**os.environ, "PYTHONPATH": SOURCE, **environment})
    log = json.loads((folder / "a.sarif").read_text("utf-8"))
    check_log(log)
    invocation = log["runs"][0]["invocations"][0]
    assert invocation.get("exitCode", -invocation.get("exitSignalNumber", 0)) == done.returncode, done.stderr
    return log["runs"][0]


def text_of(folder: Path, place: Any) -> str:
    """The text of a region of one line in the file to which a location refers."""
    physical = place["physicalLocation"]
    region = physical["region"]
    line = (folder / physical["artifactLocation"]["uri"]).read_text().splitlines()[region["startLine"] - 1]
    return line[region["startColumn"] - 1:region["endColumn"] - 1]


def test_an_answer(tmp_path: Path) -> None:
    run = logged(tmp_path, DETACHED)
    [result] = [result for result in run["results"] if result["ruleId"] == "detach"]
    assert result["level"] == "error"
    assert text_of(tmp_path, result["locations"][0]) == "model.weight.grad"
    assert text_of(tmp_path, result["relatedLocations"][0]) == "model(x).detach()"  # columns count characters, not bytes
    assert result["relatedLocations"][0]["logicalLocations"] == [{"name": "encode", "kind": "function"}]
    assert "Cause: [train.py:4](1)" in result["message"]["text"]
    assert "\nFix: do not use .detach()" in result["message"]["text"]
    assert result["properties"]["symptom"] == "none"
    assert run["tool"]["driver"]["version"] == whygrad.__version__
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["shortDescription"]["text"] == DESCRIPTIONS["detach"]
    assert run["originalUriBaseIds"] == {"%SRCROOT%": {"uri": tmp_path.resolve().as_uri() + "/"}}


def applied(text: str, fix: Any) -> str:
    """The text with the replacements of a fix, last one first."""
    lines = text.splitlines(keepends=True)
    starts = [sum(map(len, lines[:number])) for number in range(len(lines) + 1)]
    for replacement in reversed(fix["artifactChanges"][0]["replacements"]):
        region = replacement["deletedRegion"]
        start = starts[region["startLine"] - 1] + region["startColumn"] - 1
        end = starts[region["endLine"] - 1] + region["endColumn"] - 1
        text = text[:start] + replacement.get("insertedContent", {}).get("text", "") + text[end:]
    return text


FIXED = {
    "a line is replaced": (DETACHED, DETACHED.replace(".detach()", "")),
    "a line is moved": (CLEARED, CLEARED.replace("model.zero_grad()\n", "").replace("model(t", "model.zero_grad()\nmodel(t")),
    "lines are added": (TRAINING.format(rate=0.1, odd="pass").replace("    optimizer.zero_grad()\n", ""),
                        TRAINING.format(rate=0.1, odd="pass")),
}


@pytest.mark.parametrize("name", FIXED)
def test_fixes_can_be_applied(name: str, tmp_path: Path) -> None:
    before, after = FIXED[name]
    assert applied(before, logged(tmp_path, before)["results"][0]["fixes"][0]) == after


# Program, options, whether it is a success, description of the exit code.
ENDINGS: dict[str, tuple[str, list[str], bool, str | None]] = {
    "well": (DETACHED, [], True, None),
    "well, strictly": (DETACHED, ["--strict"], True, None),
    "nothing to say": ("print(1)\n", ["--strict"], True, None),
    "an error": (DETACHED + "1 / 0\n", ["--strict"], False, "the program ended with ZeroDivisionError: division by zero"),
    "an exit code": (DETACHED + "exit(300)\n", [], False, "the program exited with 300"),
    "a message": (DETACHED + "exit('no')\n", [], False, "the program exited with no"),
    "at once": (DETACHED + "import os; os._exit(4)\n", ["--strict"], False, "the program exited with 4"),
    "SIGTERM": (DETACHED + "import os; os.kill(os.getpid(), 15)\n", [], False, "the program was ended by SIGTERM"),
    "Ctrl-C": (DETACHED + "raise KeyboardInterrupt\n", [], False, "the program was ended by Ctrl-C"),
    "the last step": (TRAINING.format(rate=0.0, odd="pass"), ["--steps=12", "--strict"], True,
                      "the program was ended after 12 steps"),
}


@pytest.mark.parametrize("name", ENDINGS)
def test_endings(name: str, tmp_path: Path) -> None:
    program, options, is_success, description = ENDINGS[name]
    run = logged(tmp_path, program, *options)
    assert run["invocations"][0]["executionSuccessful"] is is_success
    assert run["invocations"][0].get("exitCodeDescription") == description
    assert bool(run["results"]) == (name != "nothing to say")


@pytest.mark.parametrize(("options", "levels"), [
    ([], {"learning-rate-zero": "error", "input-degenerate": "note"}), (["--ignore=input-*"], {"learning-rate-zero": "error"}),
])
def test_audit(options: list[str], levels: dict[str, str], tmp_path: Path) -> None:
    run = logged(tmp_path, TRAINING.format(rate=0.0, odd="x[:, 2:] = 1.0"), *options, command="audit")
    assert {result["ruleId"]: result["level"] for result in run["results"]} == levels
    assert run["results"][0]["properties"]["check"]


def test_fingerprints_stay_when_lines_move(tmp_path: Path) -> None:
    before, after = (logged(tmp_path, program)["results"] for program in (DETACHED, "# a line\n\n" + DETACHED))
    assert [result["partialFingerprints"] for result in before] == [result["partialFingerprints"] for result in after]


def test_file_names(tmp_path: Path) -> None:
    """They are relative to the checkout; URIs have no spaces; the program may go elsewhere."""
    name = "sub/my train.py"
    for root, uri in ((tmp_path, "sub/my%20train.py"), (tmp_path / "sub", "my%20train.py")):
        run = logged(tmp_path, "import os; os.chdir('/')\n" + DETACHED, name=name, GITHUB_WORKSPACE=str(root))
        assert run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == uri
    (tmp_path / "other").mkdir()
    run = logged(tmp_path, DETACHED, name=name, GITHUB_WORKSPACE=str(tmp_path / "other"))
    artifact = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
    assert artifact == {"uri": (tmp_path / name).resolve().as_uri()}


def test_notebooks_and_code_without_a_file(tmp_path: Path) -> None:
    cells = [{"cell_type": "code", "source": DETACHED}]
    physical = logged(tmp_path, json.dumps({"cells": cells}), name="a.ipynb")["results"][0]["locations"][0]["physicalLocation"]
    assert physical == {"artifactLocation": {"uri": "a.ipynb", "uriBaseId": "%SRCROOT%"}}
    assert interpreters.run(["-m", "whygrad", "run", "--sarif=b.sarif", "-c", DETACHED], cwd=tmp_path).returncode == 0
    log = json.loads((tmp_path / "b.sarif").read_text("utf-8"))
    check_log(log)
    assert log["runs"][0]["results"][0]["locations"] == [{"message": {"text": "<string>:7"}}]


def test_every_category_is_described() -> None:
    categories = {path.name for kind in ("cases", "programs") for path in (WHY / kind).iterdir() if path.is_dir()}
    assert {name for name in categories if not name.startswith("_")} - {"ok"} <= set(DESCRIPTIONS)


@pytest.mark.parametrize("path", ["-", "nowhere/a.sarif", "."])
def test_a_file_that_cannot_be_written(path: str, tmp_path: Path) -> None:
    for command in ("run", "audit"):
        done = interpreters.run(["-m", "whygrad", command, f"--sarif={path}", "-c", "print(1)"], cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert f"whygrad {command}: error: --sarif: " in done.stderr
