"""The first of torch's own samples of each operator: every one passes, but for those that are known not to.

All samples in all dtypes, and the page docs/coverage.md, are `python -m tests.opdb`.
"""

from __future__ import annotations

import pytest
import torch

from .samples import check_op, public_ops

# Not float32: what two sums in different order round to depends on the machine.
DTYPES = (torch.float64, torch.int64, torch.bool, torch.complex128)
OTHERWISE = (torch.float32,)
OPS = public_ops()

# By operator: how many of its samples are known to fail, what each of them says, and why that is right.
KNOWN = {
    "acosh": (2, "gradient 1: does not raise NotImplementedError", "torch has no derivative of acosh_ for complex numbers"),
    "chalf": (16, "raises NotImplementedError: Tensor.chalf() is not supported", "NumPy has no complex32"),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", OPS)
def test_samples_pass(name: str) -> None:
    dtypes = DTYPES if OPS[name].supported_dtypes("cpu").intersection(DTYPES) else OTHERWISE
    report = check_op(OPS[name], limit=2, dtypes=dtypes)
    number, text, _ = KNOWN.get(name, (0, "", ""))
    assert report.total + report.complex_total, "nothing was tried"
    assert len(report.failures) == number, report.failures
    assert all(text in failure for failure in report.failures)
