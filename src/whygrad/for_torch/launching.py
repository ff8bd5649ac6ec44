"""Carries the watch into the processes of a distributed program.

Launchers (torchrun) start new interpreters: see launched/sitecustomize.py. torch.multiprocessing.spawn sends a function to new
processes: an object that starts a session where it arrives is sent in its place.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from whygrad.why.audit_session import AuditSession
from whygrad.why.ranks import LauncherSession, RankSession
from whygrad.why.session import Outputs
from whygrad.why.step_limit import EndOfSteps

# Modules that run a program in processes of their own.
LAUNCHERS = frozenset({"torch.distributed.run", "torch.distributed.launch", "torch.distributed.launcher",
                       "accelerate.commands.launch", "accelerate.commands.accelerate_cli", "deepspeed.launcher.runner",
                       "deepspeed.launcher.launch"})
LAUNCHED = str(Path(__file__).parent / "launched")
SPAWNING = "torch.multiprocessing.spawn"


@dataclass
class Settings:
    """What the session of a rank is made with."""

    outputs: Outputs
    folder: str
    only: str | None
    live: bool
    steps: int
    observes_all: bool

    def session(self, rank: int) -> RankSession:
        return RankSession(self.outputs, rank, self.folder, self.observes_all, only=self.only, live=self.live, steps=self.steps)

    def command(self) -> list[str]:
        """The arguments of Python by which the program of a rank is run."""
        to = self.outputs
        files = [f"--{name}={path}" for name, path in (("json", to.json), ("html", to.html), ("sarif", to.sarif)) if path]
        return ["-m", "whygrad", "run", "--engine=torch", f"--rank-report={self.folder}", f"--steps={self.steps}", *files,
                *([f"--only={self.only}"] if self.only is not None else []), *(["--live"] if self.live else []),
                *(["--quiet"] if to.quiet else []), *(["--observe-all"] if self.observes_all else [])]


def prepare(session: LauncherSession | AuditSession, how: str, target: str, observes_all: bool = False) -> None:
    """Let the processes that the program will start watch themselves, too; or audit themselves."""
    outputs = replace(session.outputs, json=None, sarif=None) if observes_all else session.outputs
    settings = Settings(outputs, session.folder, session.only, session.live, session.limit.steps, observes_all)
    if how == "-m" and target in LAUNCHERS:
        os.environ["WHYGRAD_RANK_COMMAND"] = json.dumps(settings.command())
        here = str(Path(__file__).parents[2])
        paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
        os.environ["PYTHONPATH"] = os.pathsep.join([LAUNCHED, *paths, *([] if _is_found(here, paths) else [here])])
        return
    spawning: Any = sys.modules[SPAWNING]
    spawning._wrap = RankProcess(asdict(settings), spawning._wrap)


def _is_found(here: str, paths: list[str]) -> bool:
    """Whether a new interpreter finds this package by itself."""
    return any(os.path.realpath(path) == os.path.realpath(here) for path in paths) or "site-packages" in here


class RankProcess:
    """The function that torch.multiprocessing.spawn runs in each process. It arrives there without `plain`, and starts a
    session; a forked process has a copy of the parent's, which reports nothing."""

    def __init__(self, settings: dict[str, Any], plain: Any = None) -> None:
        self.settings = settings
        self.plain = plain

    def __reduce__(self) -> Any:
        return RankProcess, (self.settings,)

    def __call__(self, fn: Any, i: int, args: Any, error_file: str) -> None:
        if self.plain is not None:
            self.plain(fn, i, args, error_file)
            return
        plain = sys.modules[SPAWNING]._wrap
        try:
            from whygrad.why import engine

            engine.choose("torch")
            session = Settings(**{**self.settings, "outputs": Outputs(**self.settings["outputs"])}).session(i)
        except Exception as error:
            print(f"whygrad: process {i} is not observed: {error}", file=sys.stderr)
            plain(fn, i, args, error_file)
            return
        try:
            plain(fn, i, args, error_file)
        except EndOfSteps:
            pass
        finally:
            session.finish()
