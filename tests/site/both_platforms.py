"""What runs here and in WebAssembly, and is compared: rows of the table, and programs of tests/why."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

# Addresses; and of numbers the digits after the fifth, which another mathematical library may round otherwise.
ADDRESS, NUMBER = re.compile(r"0x[0-9a-f]+"), re.compile(r"-?\d+\.\d{4,}(e[-+]\d+)?")
ANY_NUMBER = re.compile(r"-?(\d+(\.\d+)?(e[-+]?\d+)?|nan|inf)\b")


def check_rows(names: Sequence[str]) -> dict[str, Any]:
    """For each sample: what its check says, and the dtypes of its results."""
    from row_checks import check_sample, in_memory
    from row_samples import SAMPLES

    from whygrad.ops.table import TABLE

    warnings.simplefilter("ignore")
    found: dict[str, Any] = {}
    for name in names:
        for number, sample in enumerate(SAMPLES[name]):
            try:
                check_sample(TABLE[name], sample)
                said = ""
            except Exception as error:
                said = f"{type(error).__name__}: {str(error)[:200]}"
            try:
                dtypes = [str(x.dtype) for x in in_memory(TABLE[name], sample.arrays(), sample.statics)]
            except Exception as error:
                dtypes = [type(error).__name__]
            found[f"{name}-{number}"] = [said, dtypes]
    return found


def run_programs(files: Sequence[str]) -> dict[str, Any]:
    """What each program printed and the answers, without what differs from run to run."""
    from play import program

    found = {}
    for file in files:
        pieces: list[str] = []

        def tell(text: str, kind: str, pieces: list[str] = pieces) -> None:
            if kind == "out":
                pieces.append(text)

        done = program.run(Path(file).read_text(), tell, with_report=False)
        out = "".join(pieces)
        if "programs" in Path(file).parts:
            # Losses of a training differ in the last digits, which a diverging one makes large; workers draw other numbers.
            out = ANY_NUMBER.sub("#", out)
        found["/".join(Path(file).parts[-3:])] = [rounded(out), done["code"], rounded(json.dumps(done["answers"])),
                                                  done["failures"]]
    return found


def rounded(text: str) -> str:
    return NUMBER.sub(lambda number: f"{float(number.group()):.4g}", ADDRESS.sub("0x", text))
