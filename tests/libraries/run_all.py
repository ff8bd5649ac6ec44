"""Runs every program in programs/ on PyTorch and on whygrad, and writes docs/libraries.md (`make libraries`).

Give names to run only these programs, and to replace their lines there: `run_all.py --oracle FOLDER gpytorch timm`.
"""

from __future__ import annotations

import argparse
import re
from importlib import metadata
from pathlib import Path

from compare import HERE, first_difference, on_torch, on_whygrad

HEAD = """# Libraries

Made by `make libraries`: one program for each library, built from the library's own documentation
([tests/libraries/programs](../tests/libraries/programs)), prints its losses, gradients and results on PyTorch 2.13 and,
unchanged, on whygrad (`whygrad run`), in an environment in which no PyTorch is
installed. "same" means: the words are equal, and the numbers to 2 in 1,000; and `whygrad run` has nothing to
explain, for the programs are correct ("alarm": it has).

"""

# Programs of one library, and imported names that are not the distribution's.
DISTRIBUTIONS = {"ignite": "pytorch-ignite", "pyro": "pyro-ppl", "backpack": "backpack-for-pytorch",
                 "open_clip": "open-clip-torch", "kan": "pykan", "blitz": "blitz-bayesian-pytorch", "laplace": "laplace-torch",
                 "neuralop": "neuraloperator", "rtdl": "rtdl-revisiting-models", "torch_frame": "pytorch-frame",
                 "titans": "titans-pytorch"}
PAGE = HERE.parents[1] / "docs" / "libraries.md"


def version_of(program: str) -> str:
    for name in (DISTRIBUTIONS.get(program, program), program.partition("_")[0]):
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            pass
    return ""


def verdict_of(program: Path, oracle: Path) -> tuple[str, str]:
    """same, different, alarm (`whygrad run` answers, though the program is correct) or fails; and where."""
    expected = on_torch(program, oracle)
    if expected.error:
        return "not compared", f"on PyTorch: {expected.error}"
    found = on_whygrad(program)
    if found.error:
        return "fails", found.error
    different = first_difference(found.printed, expected.printed)
    if different:
        return "different", different
    return ("alarm", "; ".join(found.explained)) if found.explained else ("same", "")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--oracle", type=Path, required=True, help="folder in which PyTorch is installed")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    programs = sorted((HERE / "programs").glob("use_*.py"))
    names = [program.stem.removeprefix("use_") for program in programs]
    rows = known_rows() if options.names else {}
    for name, program in zip(names, programs, strict=True):
        if options.names and name not in options.names:
            continue
        verdict, about = verdict_of(program, options.oracle)
        print(f"{name:32} {verdict:13} {about}", flush=True)
        short = re.sub(r"\s+", " ", about)[:160].replace("|", "\\|")
        rows[name] = f"| {name} | {version_of(name)} | {verdict} | {short} |"
    lines = [rows[name] for name in names if name in rows]
    same = sum(" | same | " in line for line in lines)
    PAGE.write_text("\n".join([f"{HEAD}{same} of {len(lines)} programs give PyTorch's results.\n",
                               "| program | version | verdict | |\n|---|---|---|---|", *lines, ""]))


def known_rows() -> dict[str, str]:
    """The lines of the page, by program."""
    lines = PAGE.read_text().splitlines() if PAGE.exists() else []
    return {line.split(" | ")[0].removeprefix("| "): line for line in lines if line.startswith("| ") and " | " in line[2:]}


if __name__ == "__main__":
    main()
