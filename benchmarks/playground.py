"""`python -m benchmarks.playground`: how long the built site (`make site`) takes to a first answer, in Chromium.

For each visit: wall time to the first answer, from the navigation; processor time of the worker in which Python runs, and of all
threads of the browser, which says what an idle machine needs. The files come from this machine. Then programs of fifty lines.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.__main__ import ROOT

sys.path[:0] = [str(Path(ROOT) / "tests/site"), str(Path(ROOT) / "tests")]

VISITS, RUNS = 4, 8
LINES = [f"x{i} = (w * {i + 1}).sum()" for i in range(45)]
FIFTY = "\n".join(["import torch", "w = torch.ones(3, requires_grad=True)", *LINES, "(x1 + x2).backward()", "print(w.grad)", ""])


def processor_times(root: int) -> dict[tuple[int, str], float]:
    """Seconds by thread, of a process and its descendants."""
    family = {root}
    stats = {int(path.name): (path / "stat").read_text() for path in Path("/proc").iterdir() if path.name.isdigit()}
    for _ in range(6):
        family |= {pid for pid, stat in stats.items() if int(stat.rpartition(")")[2].split()[1]) in family}
    found = {}
    for pid in family:
        for task in Path(f"/proc/{pid}/task").glob("*/stat"):
            name, _, rest = task.read_text().partition("(")[2].rpartition(")")
            user, system = rest.split()[11:13]
            found[int(task.parent.name), name] = (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
    return found


def main() -> None:
    import chromium
    from site_building import built_site

    with tempfile.TemporaryDirectory() as profile, chromium.served(built_site()) as base, \
            chromium.started(Path(profile)) as browser:
        page = chromium.Page(browser)
        print(f"load average {os.getloadavg()[0]:.0f} on {os.cpu_count()} processors")
        for visit in range(VISITS):
            browser.get("about:blank")
            before = processor_times(browser.service.process.pid)
            page.open(f"{base}/play/").result()
            after = processor_times(browser.service.process.pid)
            spent = {thread: seconds - before.get(thread, 0) for thread, seconds in after.items()}
            worker = max(seconds for (_, name), seconds in spent.items() if "Worker" in name)
            print(f"visit {visit + 1}: first answer after {page.js('return playground.marks.answer') / 1000:.1f} s; processor: "
                  f"worker {worker:.2f} s, all threads {sum(spent.values()):.2f} s", flush=True)
            if not visit:
                browser.execute_async_script("const done = arguments[0]; navigator.serviceWorker.ready.then(() => done())")
        runs: list[tuple[float, Any]] = []
        for _ in range(RUNS):
            began = time.perf_counter()
            seconds = page.run(FIFTY)["seconds"]
            runs.append((time.perf_counter() - began, seconds))
        print(f"a program of {FIFTY.count(chr(10))} lines: {min(runs)[0]:.2f} s from the click to the answer, "
              f"{min(seconds for _, seconds in runs):.2f} s of it in Python (the shortest of {RUNS})")


if __name__ == "__main__":
    main()
