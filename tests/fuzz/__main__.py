"""Runs cases of all kinds, or of those named, in turn, until the time is over; prints each finding as a script."""

from __future__ import annotations

import argparse
import sys
import time
from importlib.util import find_spec
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # the tests' own modules

if find_spec("torch") is None:
    sys.exit("python -m tests.fuzz compares with PyTorch: `make test` installs it into .venv")

from .running import Finding, find, kinds


def main() -> int:
    known = kinds()
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("kinds", nargs="*", metavar="kind", help=f"of {', '.join(known)}; all if none is named")
    parser.add_argument("--minutes", type=float, default=1.0, help="for all kinds together (default 1)")
    parser.add_argument("--seed", type=int, default=0, help="of the cases (default 0)")
    parser.add_argument("--case", type=int, help="run this case of the seed alone")
    options = parser.parse_args()
    if unknown := set(options.kinds) - set(known):
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    chosen = [known[name] for name in options.kinds or known]
    end = time.monotonic() + 60 * options.minutes
    counts = dict.fromkeys([kind.name for kind in chosen], 0)
    findings: dict[str, Finding] = {}
    number = options.case or 0
    while options.case in (None, number) and (time.monotonic() < end or options.case is not None):
        for kind in chosen:
            started = time.monotonic()
            while True:  # the same time for each kind, whatever a case of it costs
                finding = find(kind, options.seed, number + counts[kind.name])
                counts[kind.name] += 1
                if finding is not None and finding.words not in findings:
                    findings[finding.words] = finding
                    print(finding, flush=True)
                if options.case is not None or time.monotonic() > min(started + 2, end):
                    break
        if options.case is not None:
            break
    print(f"{', '.join(f'{count} {name}' for name, count in counts.items())}: {len(findings)} findings")
    return bool(findings)


if __name__ == "__main__":
    sys.exit(main())
