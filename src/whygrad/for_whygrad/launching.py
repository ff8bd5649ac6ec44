"""`whygrad launch -n 2 train.py`: each rank is a `whygrad run`, and what they have to say is printed together."""

from __future__ import annotations

import sys
from typing import Any

from whygrad import cli
from whygrad.distributed import launcher
from whygrad.why.ending import Ending
from whygrad.why.ranks import LauncherSession
from whygrad.why.session import Outputs


def main(arguments: list[str], command: str = "launch") -> int:
    """Run the program that `arguments` name in ranks, until they end."""
    parser = cli.run_parser(command)
    launcher.add_options(parser)
    options, program = cli.parsed(parser, arguments)
    count = launcher.number_of_ranks(options)
    cli.use_engine("whygrad")
    outputs = Outputs.of(parser, options)
    session = LauncherSession(outputs, only=options.only, live=options.live, strict=options.strict, steps=options.steps)
    how = [program.target] if program.how == "script" else [program.how, *([program.target] if program.how != "-" else [])]
    ranks = [sys.executable, "-m", "whygrad", "run", "--engine=whygrad", f"--rank-report={session.folder}",
             *_passed_on(options), *how, *program.arguments]
    status = launcher.run(count, ranks, options.restarts)
    session.finish(Ending(f"the ranks ended with status {status}" if status else "", status))
    return session.status


def _passed_on(options: Any) -> list[str]:
    """The options of `whygrad run` that each rank gets, too."""
    files = [f"--{name}={path}" for name in ("json", "html", "sarif") if (path := getattr(options, name))]
    return [*files, *([f"--only={options.only}"] if options.only is not None else []), *(["--live"] if options.live else []),
            *(["--quiet"] if options.quiet else []), *(["--give-local-rank"] if options.give_local_rank else []),
            f"--steps={options.steps}"]
