"""A few of torch's own samples of each operator. No fewer may pass than when expected.json was written.

The whole of it, and the page docs/coverage.md, is `python -m tests.opdb`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

EXPECTED = Path(__file__).with_name("expected.json")
QUICK: dict[str, Any] = {"limit": 2, "order": 1, "errors": False, "dtypes": (torch.float64, torch.int64)}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("first_letters", ["_abc", "defg", "hijklm", "n", "opqrs", "tuvwxyzTH"])
def test_no_fewer_samples_pass(first_letters: str) -> None:
    pytest.importorskip("expecttest")  # torch's own tests need it
    from .samples import check_op, public_ops

    ops = public_ops()
    worse = {}
    for name, passed in json.loads(EXPECTED.read_text()).items():
        if name[0] in first_letters:
            report = check_op(ops[name], **QUICK)
            if report.passed < passed:
                worse[name] = f"{report.passed} of {report.total} samples pass, {passed} did: {report.failures[:2]}"
    assert not worse
