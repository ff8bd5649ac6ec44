"""What an installed library does on purpose is not told to the program that uses it."""

from __future__ import annotations

import pytest

from whygrad.why.answers import Explanation
from whygrad.why.library_design import is_by_design
from whygrad.why.locations import SourceLocation

LIBRARY, PROGRAM = "/venv/lib/python3.11/site-packages/kan/layer.py", "/home/me/train.py"


def at(file: str, expression: str) -> SourceLocation:
    return SourceLocation(file, 7, 0, 7, 9, "forward", expression)


@pytest.mark.parametrize(("category", "causes", "check", "expected"), [
    ("unused-in-loss", [at(LIBRARY, "Parameter(x)"), at(PROGRAM, "loss.backward()")], "parameters", True),
    ("weights-shared", [at(LIBRARY, "Parameter(x)"), at(PROGRAM, "Adam(model.parameters())")], "parameters", True),
    ("unused-in-loss", [at(LIBRARY, "Parameter(x)"), at(PROGRAM, "a + b"), at(PROGRAM, "loss.backward()")], "parameters", False),
    ("unused-in-loss", [at(LIBRARY, "Parameter(x)")], "", False),  # the program reads the gradient, and wonders why it is None
    ("unused-in-loss", [at(PROGRAM, "loss.backward()")], "parameters", False),
    ("unused-in-loss", [], "parameters", False),
    ("learning-rate-zero", [at(LIBRARY, "LambdaLR(optimizer)")], "rates", False),  # the program's numbers may be the reason
])
def test_causes(category: str, causes: list[SourceLocation], check: str, expected: bool) -> None:
    assert is_by_design(Explanation("headline", category, "text", causes=causes, check=check)) is expected
