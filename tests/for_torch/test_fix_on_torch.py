"""`whygrad fix --engine torch` finds the same changes as on whygrad's own engine."""

from __future__ import annotations

from pathlib import Path

import interpreters
import pytest

CASES = Path(__file__).parents[1] / "why" / "cases"


@pytest.mark.parametrize("case", ["detach/data_in_an_expression", "graph-freed/baseline_with_history",
                                  "non-leaf-no-retain/activation_fetched_after_backward"])
def test_the_same_changes(case: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text((CASES / f"{case}.py").read_text())
    done = {}
    for engine in ("whygrad", "torch"):
        found = interpreters.run(["-m", "whygrad", "fix", f"--engine={engine}", "program.py"], cwd=tmp_path)
        told = [line for line in found.stderr.splitlines() if not line.startswith(("whygrad fix: run ", "whygrad fix: running "))]
        done[engine] = found.returncode, found.stdout, told
    assert done["torch"] == done["whygrad"]
    assert done["torch"][0] == 0, done["torch"]
    assert "+++ program.py" in done["torch"][1]
