"""Runs in WebAssembly (in_wasm.mjs): calls functions of both_platforms.py. /given/0 is the folder of the tests."""

import json
import sys

sys.path[:0] = ["/given/0", "/given/0/site"]

import both_platforms  # noqa: E402

calls = json.loads(INPUT)  # type: ignore[name-defined]  # noqa: F821
OUTPUT = json.dumps([getattr(both_platforms, name)(argument) for name, argument in calls])
