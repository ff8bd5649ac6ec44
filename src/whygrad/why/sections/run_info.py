"""Section Run: what ran, when, how long, and on what."""

from __future__ import annotations

import html
import platform
import shlex
import sys
import time
from typing import Any

import numpy as np

from whygrad.base.own_version import own_version
from whygrad.why.engine import description
from whygrad.why.sections.text import count_of

# Optimizers that are listed.
MAX_OPTIMIZERS = 4


def run_info(script: str | None, watch: Any, ended: str) -> str:
    entries = {"program": script or "(no file)", "arguments": shlex.join(sys.argv[1:]) or "none"}
    if watch is not None:
        entries["started"] = watch.started.strftime("%Y-%m-%d %H:%M:%S %z").strip()
        entries["duration"] = duration(time.perf_counter() - watch.began)
    entries["ended"] = ended or "normally"
    if watch is not None:
        records = list(watch.audit.optimizers.values())
        made = ", ".join(f"{record.kind} ({count_of(record.steps, 'step')})" for record in records[:MAX_OPTIMIZERS])
        made += f" and {len(records) - MAX_OPTIMIZERS} more" if len(records) > MAX_OPTIMIZERS else ""
        entries["optimizer steps"] = f"{watch.audit.round:,}{f': {made}' if made else ''}"
        entries["backward passes"] = f"{watch.count_backwards():,}"
        entries["trained parameters"] = f"{len(watch.audit.parameters()):,}"
    ran_on = description()
    entries["engine"] = f"{ran_on['name']} {ran_on['version']} ({ran_on['device']})"
    entries["versions"] = (f"whygrad {own_version()}, Python {platform.python_version()}, NumPy {np.__version__}, "
                           f"{platform.system()} {platform.machine()}")
    rows = "".join(f"<div><dt>{name}</dt><dd>{html.escape(text)}</dd></div>" for name, text in entries.items())
    return f'<section id="run" class="sheet" aria-label="Run"><h2>Run</h2><dl>{rows}</dl></section>'


def duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"
