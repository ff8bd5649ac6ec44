"""Twenty public puzzles, whose truths were fixed before there were rules: each is answered by name on both engines.

`puzzles/truths.json` has of each the question, the line of the read or of the call that raises, the cause, and a line of what
it prints on PyTorch (of its traceback, if it ends with an error).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from why.running import run_on

FOLDER = Path(__file__).parent / "puzzles"
TRUTHS: dict[str, dict[str, Any]] = json.loads((FOLDER / "truths.json").read_text())


@pytest.mark.parametrize("engine", ["whygrad", "torch-explained"])
@pytest.mark.parametrize("name", TRUTHS)
def test_puzzle(name: str, engine: str) -> None:
    truth, done = TRUTHS[name], run_on(engine, FOLDER / f"{name}.py")
    assert done["code"] == truth["exit_status"]
    assert truth["evidence"] in done["stderr" if truth["exit_status"] else "stdout"]
    assert "could not be resolved" not in done["stderr"]
    shown = json.dumps(done["answers"], indent=1)
    if truth["category"] == "ok":
        assert done["answers"] == [], shown
        return
    right = [a for a in done["answers"] if a["category"] in [truth["category"], *truth.get("category_also", ())]]
    assert right, shown
    assert {a["category"] for a in done["answers"]} == {a["category"] for a in right}, shown
    answer = next((a for a in right if a["line"] == truth["read_line"]), None)
    assert answer is not None, shown
    causes = truth["cause_line"] if isinstance(truth["cause_line"], list) else [truth["cause_line"]]
    assert {cause["line"] for cause in answer["causes"]} & set(causes), shown
    assert answer["symptom"] == truth["symptom"], shown
    told = f"{answer['text']} {answer['fix']}".lower()
    assert not [words for words in truth["must_mention"] if not any(word in told for word in words)], told
    assert answer["fix"]


def test_there_are_twenty() -> None:
    assert sorted(TRUTHS) == sorted(path.stem for path in FOLDER.glob("*.py"))
    assert len(TRUTHS) == 20
