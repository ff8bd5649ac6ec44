"""The command `whygrad`. `whygrad run script.py` runs an unchanged PyTorch program, on whygrad or on PyTorch itself.

As with `python`, arguments before the script are whygrad's options, those after it are the script's.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from codecs import BOM_UTF8
from collections.abc import Callable
from types import CodeType, ModuleType, TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from whygrad.base.engine_choice import is_launched_by_mpi
from whygrad.base.frames import is_own, with_causes
from whygrad.base.own_version import own_version

if TYPE_CHECKING:
    from whygrad.why.audit_session import AuditSession
    from whygrad.why.session import Session

RUN_USAGE = "whygrad run [options] (script.py | -m module | -c code | -) [arguments of the program ...]"


class Program(NamedTuple):
    """The program to run: how = "script", "-m", "-c" or "-" (standard input)."""

    how: str
    target: str
    arguments: list[str]

    @property
    def title(self) -> str:
        """What reports call it."""
        if self.how == "script":
            return os.path.basename(self.target)
        return {"-m": f"-m {self.target}", "-c": "-c ...", "-": "standard input"}[self.how]


def main(arguments: list[str] | None = None) -> int | None:
    """Entry point of the console script and of `python -m whygrad`."""
    arguments = sys.argv[1:] if arguments is None else arguments
    parser = argparse.ArgumentParser(prog="whygrad",
                                     description="PyTorch's autograd on NumPy, which can always tell you why.")
    parser.add_argument("--version", action="version", version=f"whygrad {own_version()}")
    parser.add_argument("command", choices=COMMANDS, help="run: run a PyTorch program, unchanged, and explain its gradients; "
                        "audit: run some steps of it and print a check-list of its training; fix: show changes of its source "
                        "that mend what is wrong; ask: answer a question about it; launch: run it in several processes, "
                        "on MPI")
    options = parser.parse_args(arguments[:1])
    return COMMANDS[options.command](arguments[1:])


def run_parser(command: str = "run") -> argparse.ArgumentParser:
    """The parser of `whygrad run`, and of what runs programs as it does."""
    parser = argparse.ArgumentParser(prog=f"whygrad {command}", usage=RUN_USAGE.replace("run", command, 1),
                                     description="Run a PyTorch program: on whygrad, where `import torch` gives whygrad, or "
                                     "on PyTorch itself. What is surprising about its gradients is explained on standard error "
                                     "when it has ended.",
                                     epilog="Options stand before the script: what stands behind it is given to the "
                                     "program, as with python. Exit code and standard output are those of the program; with "
                                     "--strict, a "
                                     "program that ends well exits with 3 if there is something to explain. SIGTERM and Ctrl-C "
                                     "end the program as usual, after the answers. The traceback "
                                     "of an error has the program's lines only; with WHYGRAD_TRACEBACK=full in the "
                                     "environment it has all.")
    parser.add_argument("--json", metavar="FILE", help="also write the answers to FILE")
    parser.add_argument("--html", metavar="FILE", help="also write a report for a browser: the answers, the source and a "
                        "drawing of the gradient's flow")
    add_code_review_options(parser)
    parser.add_argument("--only", metavar="PATTERN", help="only answers whose category or expression contains PATTERN, or "
                        "matches it as a shell pattern")
    parser.add_argument("--live", action="store_true", help="print each answer when it is found")
    parser.add_argument("--quiet", action="store_true", help="print no answers")
    parser.add_argument("--strict", action="store_true", help="exit with 3 if anything is found wrong (what is only odd does not "
                        "count)")
    parser.add_argument("--steps", type=number_of_steps, default=0, metavar="N",
                        help="end the program after N steps of optimizers; its `finally` blocks run")
    add_engine(parser)
    # Of a process that torchrun has started: where its report goes, and whether it is audited.
    parser.add_argument("--rank-report", metavar="FOLDER", default="", help=argparse.SUPPRESS)
    parser.add_argument("--observe-all", action="store_true", help=argparse.SUPPRESS)
    # What torch.distributed.launch does, but not torchrun: the program gets its rank as an argument.
    parser.add_argument("--give-local-rank", action="store_true", help=argparse.SUPPRESS)
    return parser


def add_engine(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--engine", choices=("auto", "whygrad", "torch"), default="auto",
                        help="what the program runs on: whygrad, in torch's place, or torch, the installed PyTorch; auto (the "
                        "default): whygrad, unless the program imports what needs PyTorch")


def engine_for(program: Program, wanted: str, *, quiet: bool = False) -> str:
    """The engine to run the program on; with "auto", one line on standard error tells if it is torch."""
    from whygrad.base import engine_choice

    if wanted == "auto":
        reason = engine_choice.needs_torch(program.how, program.target)
        if reason and not quiet:
            print(f"whygrad: {program.title} imports {reason}: running on torch (--engine whygrad for whygrad's own engine)",
                  file=sys.stderr)
        return "torch" if reason else "whygrad"
    if wanted == "torch" and not engine_choice.is_installed("torch"):
        raise SystemExit("whygrad: --engine torch needs PyTorch, which is not installed: pip install 'whygrad[torch]'")
    return wanted


def use_engine(name: str) -> None:
    """Let `import torch` give whygrad; or PyTorch, which is then what is explained."""
    from whygrad.why import engine

    if name == "whygrad":
        from whygrad import alias

        alias.install()
    engine.choose(name)


def add_code_review_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sarif", metavar="FILE", help="also write the answers to FILE as a SARIF log, which editors and code "
                        "scanning read")
    parser.add_argument("--github", action="store_true", help="also print annotations of GitHub's workflows on standard error; "
                        "without --quiet this is the default where GITHUB_ACTIONS is true")


def number_of_steps(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError("must not be negative")
    return number


def parsed(parser: argparse.ArgumentParser, arguments: list[str]) -> tuple[argparse.Namespace, Program]:
    """The options of a command, and the program with its arguments."""
    own, program = split(parser, arguments)
    options = parser.parse_args(own)
    if program is None:
        parser.error("which program? Give a script, -m module, -c code or - (standard input)")
    if program.how == "script" and program.target == "torchrun" and not os.path.exists("torchrun"):
        program = Program("-m", "torch.distributed.run", program.arguments)
    if program.how == "script":
        warn_misplaced_options(parser, program.target, program.arguments)
    return options, program


def refuse_without_file(parser: argparse.ArgumentParser, program: Program) -> None:
    """End with a usage error if the program is neither a module nor a script that exists."""
    if program.how in ("-c", "-"):
        parser.error(f"{program.how}: give the name of a script, or -m module")
    if program.how == "script" and not os.path.isfile(program.target):
        parser.error(f"there is no file {program.target}")


def split(parser: argparse.ArgumentParser, arguments: list[str]) -> tuple[list[str], Program | None]:
    """Split the arguments into whygrad's options and the program with its arguments."""
    with_value = {name for action in parser._actions if action.nargs != 0 for name in action.option_strings}
    for i, argument in enumerate(arguments):
        if i and arguments[i - 1] in with_value:
            continue  # the value of the option before it
        how, attached = argument[:2], argument[2:]
        if how in ("-m", "-c"):
            rest = [attached, *arguments[i + 1:]] if attached else arguments[i + 1:]
            return arguments[:i], Program(how, rest[0], rest[1:]) if rest else None
        if argument == "-" or not argument.startswith("-"):
            return arguments[:i], Program("-" if argument == "-" else "script", argument, arguments[i + 1:])
    return arguments, None


def _without(own: list[str], option: str) -> list[str]:
    """Options without one that has a value."""
    return [given for i, given in enumerate(own) if given.partition("=")[0] != option and (i == 0 or own[i - 1] != option)]


def warn_misplaced_options(parser: argparse.ArgumentParser, script: str, arguments: list[str]) -> None:
    """Print a hint if an option of whygrad comes after the script and the script's text does not mention it."""
    given = {argument.partition("=")[0] for argument in arguments}
    ours = sorted(given & set(parser._option_string_actions) - {"-h", "--help"})
    if not ours or not os.path.isfile(script):  # a pipe can be read only once
        return
    with open(script, encoding="utf-8", errors="replace") as file:
        text = file.read()
    for option in ours:
        if option not in text:
            print(f"{parser.prog}: {option} stands behind {script} and is given to it; for whygrad it comes before: "
                  f"{parser.prog} {option} ... {script}", file=sys.stderr)


def run(arguments: list[str]) -> int | None:
    parser = run_parser()
    options, program = parsed(parser, arguments)
    engine = engine_for(program, options.engine, quiet=options.quiet)
    if engine == "whygrad":
        if program.how == "-m" and program.target in ("torch.distributed.run", "torch.distributed.launch"):
            own = _without(split(parser, arguments)[0], "--engine")
            if program.target == "torch.distributed.launch" and not {"--use-env", "--use_env"} & {*program.arguments}:
                own.append("--give-local-rank")
            return launch([*own, *program.arguments])
        if is_launched_by_mpi():
            from whygrad.distributed import mpi
            from whygrad.distributed.rendezvous import set_torchrun_variables

            set_torchrun_variables()
            mpi.watch_failures()
    if options.give_local_rank:
        program = program._replace(arguments=[f"--local-rank={os.environ.get('LOCAL_RANK', 0)}", *program.arguments])
    use_engine(engine)
    from whygrad.why.step_limit import EndOfSteps

    session = make_session(parser, options, program, engine)
    try:
        execute(program)
        session.wait_for_threads()
    except EndOfSteps:
        pass
    except Exception as error:
        # The traceback comes first, as Python prints it; then the answers.
        sys.excepthook(type(error), error, error.__traceback__)
        session.finish()
        if not session.was_cut_short:
            return 1
    except BaseException as error:
        session.finish()
        if isinstance(error, KeyboardInterrupt) or not session.was_cut_short:
            if engine == "whygrad" and is_launched_by_mpi() and getattr(error, "code", None):
                mpi.note_failure(error)
            raise
    session.finish()
    if session.was_cut_short:
        session.end_threads(session.status)
    return session.status or None


def make_session(parser: argparse.ArgumentParser, options: argparse.Namespace, program: Program, engine: str) -> Session:
    """The session of `whygrad run`: a program on torch may be, or may start, one of several processes that train together."""
    from whygrad.why.session import Outputs, Session

    outputs = Outputs.of(parser, options)
    given: dict[str, Any] = {"only": options.only, "live": options.live, "strict": options.strict, "steps": options.steps}
    from whygrad.why.ranks import LauncherSession, RankSession, rank_of_environment

    rank = rank_of_environment(options.rank_report != "") if engine == "torch" or is_launched_by_mpi() else None
    if rank is not None:
        return RankSession(outputs, rank, options.rank_report, options.observe_all, **given)
    if engine != "torch":
        return Session(outputs, **given)
    from whygrad.for_torch import launching

    session = LauncherSession(outputs, **given)
    launching.prepare(session, program.how, program.target)
    return session


def let_ranks_audit(session: AuditSession, program: Program) -> None:
    """The processes that a program on torch will start are audited as well."""
    from whygrad.for_torch import launching

    launching.prepare(session, program.how, program.target, observes_all=True)


def audit(arguments: list[str]) -> int:
    from whygrad.why import audit_command

    return audit_command.main(arguments)


def fix(arguments: list[str]) -> int:
    from whygrad.why import fix

    return fix.main(arguments)


def ask(arguments: list[str]) -> int:
    from whygrad.why import ask

    return ask.main(arguments)


def launch(arguments: list[str]) -> int:
    from whygrad.for_whygrad import launching

    return launching.main(arguments)


COMMANDS: dict[str, Callable[[list[str]], int | None]] = {"run": run, "audit": audit, "fix": fix, "ask": ask, "launch": launch}


def execute(program: Program) -> None:
    """Run the program as `python` does, in a new `__main__`."""
    import pkgutil
    import runpy

    module = ModuleType("__main__")
    vars(module).update(__builtins__=__builtins__, __annotations__={}, __spec__=None)
    sys.modules["__main__"] = module
    sys.argv[:] = [program.target if program.how in ("script", "-") else program.how, *program.arguments]
    try:
        if program.how == "-m":
            _set_first_path(os.getcwd())
            runpy._run_module_as_main(program.target)  # type: ignore[attr-defined]
        elif program.how == "script" and pkgutil.get_importer(program.target) is not None:
            _set_first_path(os.path.abspath(program.target))  # a directory or zip file with a __main__.py
            runpy._run_module_as_main("__main__", False)  # type: ignore[attr-defined]
        else:
            if program.how == "script" and program.target.endswith(".ipynb"):
                _run_notebook(os.path.abspath(program.target), module)
                return
            exec(_code(program, module), vars(module))
    except BaseException as error:
        _report_program_lines_only(error.__traceback__)
        raise


def _code(program: Program, module: ModuleType) -> CodeType:
    from whygrad.why.locations import remember_source

    if program.how in ("-c", "-"):
        _set_first_path("")
        name, text = ("<string>", program.target) if program.how == "-c" else ("<stdin>", sys.stdin.read())
        remember_source(name, text)
        return compile(text, name, "exec", dont_inherit=True)
    from importlib.machinery import SourceFileLoader, SourcelessFileLoader

    path = os.path.abspath(program.target)
    loader: SourceFileLoader | SourcelessFileLoader
    loader = (SourcelessFileLoader if path.endswith(".pyc") else SourceFileLoader)("__main__", path)
    try:
        source = loader.get_data(path)
    except OSError as error:
        _fail(f"can't open file {path!r}: [Errno {error.errno}] {error.strerror}")
    _set_first_path(os.path.dirname(os.path.realpath(path)))
    vars(module).update(__file__=path, __cached__=None, __loader__=loader)
    if isinstance(loader, SourcelessFileLoader):
        return loader.get_code("__main__")  # type: ignore[return-value]
    _refuse_other_encodings(source, path)
    remember_source(path, source)
    return compile(source, path, "exec", dont_inherit=True)


def _refuse_other_encodings(source: bytes, path: str) -> None:
    """As Python does with a script; `compile` lets any byte pass in a comment."""
    try:
        source.decode()
    except UnicodeDecodeError as error:
        head = b"\n".join(source.splitlines()[:2])
        if not head.startswith(BOM_UTF8) and not re.search(rb"^[ \t\f]*#.*?coding[:=][ \t]*[-\w.]+", head, re.MULTILINE):
            line = source.count(b"\n", 0, error.start) + 1
            raise SyntaxError(f"Non-UTF-8 code starting with '\\x{source[error.start]:02x}' in file {path} on line {line}, but "
                              "no encoding declared; see https://peps.python.org/pep-0263/ for details") from None


def _run_notebook(path: str, module: ModuleType) -> None:
    from whygrad.why.notebook import Notebook

    try:
        notebook = Notebook(path)
    except (OSError, ValueError) as error:
        _fail(str(error))
    _set_first_path(os.path.dirname(os.path.realpath(path)))
    notebook.run(vars(module))


def _fail(message: str) -> NoReturn:
    print(f"whygrad: {message}", file=sys.stderr)
    raise SystemExit(2)


def _set_first_path(path: str) -> None:
    """Replace sys.path[0], which is the directory of whygrad's script, by that of the program."""
    if sys.flags.safe_path:
        return
    sys.path[0] = path


def _report_program_lines_only(traceback: TracebackType | None) -> None:
    """Install an excepthook that prints only the program's lines of the traceback."""
    while traceback is not None and traceback.tb_frame.f_code.co_filename == __file__:
        traceback = traceback.tb_next
    report = sys.excepthook
    first = traceback

    def report_program_lines(kind: type[BaseException], error: BaseException, _: Any) -> None:
        error = error.with_traceback(first)
        if os.environ.get("WHYGRAD_TRACEBACK") != "full":
            keep_program_lines(error)
        from whygrad.why import late_notes

        late_notes.add_all(error)
        report(kind, error, error.__traceback__)

    sys.excepthook = report_program_lines


def keep_program_lines(error: BaseException) -> None:
    """Remove the package's frames from the tracebacks of an error and of its causes and contexts."""
    for link in with_causes(error):
        entries = []
        entry = link.__traceback__
        while entry is not None:
            entries.append(entry)
            entry = entry.tb_next
        own: list[TracebackType] = []
        for entry in entries:
            if not is_own(entry.tb_frame):
                own.append(entry)
            elif len(own) >= 2 and own[-1].tb_frame.f_code.co_name == "handle_torch_function":
                del own[-2:]  # a function of torch that the recorder has entered a second time
        for entry, following in zip(own, [*own[1:], None], strict=False):
            entry.tb_next = following
        if own:
            link.__traceback__ = own[0]
