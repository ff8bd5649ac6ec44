"""`python -m tests.opdb`: run every sample and write docs/coverage.md. With names, only look at those."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable
from pathlib import Path

import torch

from .samples import (
    ANY_OF_EQUALS,
    EXACT,
    LARGE,
    LEFT_OUT,
    UNDEFINED,
    Report,
    check_op,
    full_name,
    op_db,
    public_ops,
    reason_left_out,
)

PAGE = Path(__file__).parents[2] / "docs" / "coverage.md"

INTRODUCTION = """# Coverage

This page is made by `python -m tests.opdb`, which runs the samples that PyTorch tests its own operators with (`op_db` of
torch {version}) on torch and on whygrad. A sample passes if result, dtype, shape, `requires_grad`, first and second
derivatives agree, or if both raise the same class of exception. Samples are in float64, float32, int64 and bool, where torch
supports them; methods and in-place methods run on three of each. **supported**: every sample passes. **partly**: some do;
the first difference is given. Complex samples (complex128) are counted apart.

What counts as agreement: 1e-8 in float64, 2e-5 in float32, relative and absolute, ten times that for each order of derivatives.
In float32 two things count besides: a result that is closer than torch's own to torch's result in float64; and, of gradients, a
difference of 2e-5 of the largest gradient in the sample, because that is what remains where large numbers cancel. Against
exact values ({exact}), what is closer than torch's own counts. Of several equal elements, an index may point at any
({equals}). Memory that nobody wrote to is not compared ({undefined}). Of second derivatives, None is as good as zeros, and those
of samples with more than {large:,} elements are left out.

| | ops | share |
|---|---|---|
"""


def main(names: list[str]) -> None:
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    ops = public_ops()
    if names:
        for name in names:
            report = check_op(ops[name])
            print(name, report.state, f"{report.passed} of {report.total}",
                  f"(complex {report.complex_passed} of {report.complex_total})", *report.failures, sep="\n    ")
        return
    PAGE.write_text("\n".join(page({name: check_op(op) for name, op in ops.items()})) + "\n")
    print(*[line for line in PAGE.read_text().splitlines() if line.startswith("| ")][:5], sep="\n")


def page(reports: dict[str, Report]) -> Iterable[str]:
    yield INTRODUCTION.format(
        version=torch.__version__.split("+")[0], large=LARGE, equals=", ".join(f"`{name}`" for name in ANY_OF_EQUALS),
        exact=", ".join(f"`{name}`" for name in EXACT), undefined=", ".join(f"`{name}`" for name in UNDEFINED)).rstrip()
    states = {state: [name for name in reports if reports[name].state == state] for state in ("supported", "partly", "missing")}
    for state, names in states.items():
        yield f"| {state} | {len(names)} | {len(names) / len(reports):.1%} |"
    yield f"| all | {len(reports)} | |"
    for state, names in states.items():
        yield f"\n## {state.capitalize()}\n"
        if state == "missing":
            yield ", ".join(f"`{name}`" for name in names)
            continue
        yield "| op | samples | complex | |\n|---|---|---|---|"
        for name in names:
            report = reports[name]
            complex_samples = f"{report.complex_passed} of {report.complex_total}" if report.complex_total else ""
            difference = " ".join(report.failures[0].split()).replace("|", "\\|") if report.failures else ""
            yield f"| `{name}` | {report.passed} of {report.total} | {complex_samples} | {difference} |"
    yield "\n## Left out\n\n| ops | why |\n|---|---|"
    for start, reason in LEFT_OUT.items():
        matching = [name for name in map(full_name, op_db) if reason_left_out(name) == reason and f"{name}$".startswith(start)]
        yield f"| {', '.join(f'`{name}`' for name in matching)} | {reason} |"


if __name__ == "__main__":
    main(sys.argv[1:])
