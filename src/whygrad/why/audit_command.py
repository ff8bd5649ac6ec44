"""`whygrad audit script.py`: runs a program, or some steps of it, and prints a check-list of its training."""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter

from whygrad import cli
from whygrad.why import ranks
from whygrad.why.audit import baseline
from whygrad.why.audit_session import AuditSession
from whygrad.why.session import Outputs, refuse_unwritable
from whygrad.why.step_limit import EndOfSteps

USAGE = "whygrad audit [options] (script.py | -m module | -c code | -) [arguments of the program ...]"


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="whygrad audit", usage=USAGE,
        description="Run a PyTorch program, watch every one of its first hundred steps and many of the later ones, and print on "
                    "standard error a check-list of what keeps it from learning, with the findings in full. With --steps it is "
                    "ended after the last step: its `finally` blocks run.",
        epilog="Options stand before the script: what stands behind it is given to the program. Exit code: 0 if nothing is "
        "found, 3 if something is (what is only odd counts with --strict), 1 if the program raised an error or exited with "
        "another code than 0, 2 for wrong usage. SIGTERM and Ctrl-C end the program as usual, after the check-list of what was "
        "seen.")
    made.add_argument("--steps", type=cli.number_of_steps, default=0, metavar="N",
                      help="end the program after N steps of optimizers")
    made.add_argument("--strict", action="store_true", help="count what is odd as a finding")
    made.add_argument("--ignore", action="append", default=[], metavar="CATEGORY[,CATEGORY]",
                      help="do not report findings of these categories (shell patterns)")
    made.add_argument("--baseline", metavar="FILE", help="do not report findings that are listed in FILE")
    made.add_argument("--write-baseline", metavar="FILE", help="list the findings in FILE, and exit with 0 if there are any")
    made.add_argument("--json", metavar="FILE", help="also write the check-list and the findings to FILE")
    made.add_argument("--html", metavar="FILE", help="also write a report for a browser")
    cli.add_code_review_options(made)
    made.add_argument("--quiet", action="store_true", help="print nothing")
    cli.add_engine(made)
    return made


def main(arguments: list[str]) -> int:
    parsing = parser()
    options, program = cli.parsed(parsing, arguments)
    outputs = Outputs.of(parsing, options)
    refuse_unwritable(parsing, {"--write-baseline": options.write_baseline})
    if program.how == "script" and not os.path.exists(program.target):
        parsing.error(f"there is no file {program.target}")
    known: Counter[baseline.Key] = Counter()
    if options.baseline is not None:
        try:
            known = baseline.read(options.baseline)
        except (OSError, baseline.BadBaseline) as error:
            parsing.error(f"--baseline: {error}")
    cli.use_engine(engine := cli.engine_for(program, options.engine, quiet=options.quiet))
    starts_ranks = engine == "torch" and ranks.rank_of_environment(False) is None
    session = AuditSession(
        outputs, program=program.title, steps=options.steps, strict=options.strict,
        folder=ranks.new_folder() if starts_ranks else "",
        ignore=[name for given in options.ignore for name in given.split(",")], known=known,
        baseline_file=options.baseline or "", new_baseline=options.write_baseline)
    if starts_ranks:
        cli.let_ranks_audit(session, program)
    try:
        cli.execute(program)
        session.wait_for_threads()
    except EndOfSteps:
        pass
    except SystemExit as ended:
        if not isinstance(ended.code, (int, type(None))):
            print(ended.code, file=sys.stderr)
        session.finish()
    except KeyboardInterrupt as error:
        # The traceback tells where it was; Python then ends the process as it does.
        sys.excepthook(type(error), error, error.__traceback__)
        session.finish()
        sys.excepthook = lambda *_: None
        raise
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
        session.finish()
    session.finish()
    session.end_threads(session.status)
    return session.status
