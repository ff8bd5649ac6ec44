"""The built site, and Python in WebAssembly under node."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
TESTS = HERE.parent
ROOT = TESTS.parent
SITE = Path(os.environ.get("WHYGRAD_SITE", ROOT / "build/site"))


def built_site() -> Path:
    """The folder that `make site` has built; skips the tests if there is none."""
    if not (SITE / "play/python.gz").exists() or shutil.which("node") is None:
        pytest.skip("the tests of the site need it to be built: make site (which needs npm)", allow_module_level=True)
    return SITE


# Calls of functions of both_platforms.py: names and arguments.
Calls = list[tuple[str, list[str]]]


def here(calls: Calls) -> Any:
    """What they give in a process of its own, on NumPy alone."""
    program = (f"import json, sys\nsys.path[:0] = {[str(HERE), str(TESTS), str(ROOT / 'site')]}\nimport both_platforms\n"
               "print(json.dumps([getattr(both_platforms, name)(argument) for name, argument in json.loads(sys.stdin.read())]))")
    done = subprocess.run([sys.executable, "-c", program], input=json.dumps(calls), capture_output=True, text=True,
                          timeout=3600, env={**os.environ, "WHYGRAD_KERNELS": "0", "PYTHONPATH": str(ROOT / "src")})
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def in_wasm(calls: Calls, folder: Path) -> Any:
    """What they give in WebAssembly."""
    given = folder / "input.json"
    given.write_text(json.dumps(calls))
    files = [HERE / "in_wasm.mjs", built_site() / "play", HERE / "call_in_wasm.py", given, TESTS]
    done = subprocess.run(["node", *map(str, files)], capture_output=True, text=True, timeout=3600)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])
