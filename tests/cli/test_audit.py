"""`whygrad audit` and `run --steps`: a program runs for some steps, and a check-list tells what keeps it from learning."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import interpreters
import pytest
from interpreters import SOURCE

from whygrad.why.audit import baseline
from whygrad.why.audit.subjects import SUBJECTS

# A classifier that trains as it should; the cases replace a piece of it.
GOOD = """\
import torch
import torch.nn as nn
import torch.nn.functional as F


def batches(count):
    generator = torch.Generator().manual_seed(1)
    weight = torch.randn(8, 3, generator=generator)
    for _ in range(count):
        x = torch.randn(32, 8, generator=generator)
        yield x, (x @ weight).argmax(1)


def main(steps=400):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    done = 0
    try:
        for x, y in batches(steps):
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            done += 1
    finally:
        print("finally", done)


main()
print("end")
"""


def program(*replaced: tuple[str, str]) -> str:
    text = GOOD
    for old, new in replaced:
        assert old in text
        text = text.replace(old, new)
    return text


RATE = ("lr=1e-2", "lr=0.0")
SOFTMAX = ("F.cross_entropy(model(x), y)", "F.cross_entropy(torch.softmax(model(x), 1), y)")
# Most features of the input are constant, which may be meant.
ODD = ("        yield x, (x @ weight).argmax(1)",
       "        y = (x @ weight).argmax(1)\n        x[:, 2:] = 1.0\n        yield x, y")
# A schedule for epochs, which comes after the last step that is run.
SCHEDULE = ("    done = 0\n", "    done = 0\n    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)\n")


def call(folder: Path, command: str, *arguments: str, text: str = "", **more: str) -> subprocess.CompletedProcess[str]:
    return interpreters.run(["-m", "whygrad", command, *arguments], cwd=folder, env=environment(**more), input=text)


def environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    return {**kept, "PYTHONPATH": SOURCE, "PYTHONDONTWRITEBYTECODE": "1", **more}


def write(folder: Path, text: str, name: str = "train.py") -> None:
    (folder / name).write_text(textwrap.dedent(text))


# Options, program, exit code, words on standard error.
ENDINGS: dict[str, tuple[list[str], str, int, list[str]]] = {
    "nothing found": ([], GOOD, 0, ["400 steps seen, 4 parameters, 0 findings\n"]),
    "found": (["--steps", "30"], program(RATE), 3, ["[learning-rate-zero]", "30 steps seen, 4 parameters, 1 finding\n"]),
    "the program's own end": ([], program(("400", "20")), 0, ["20 steps seen"]),
    "odd": (["--steps", "20"], program(ODD), 0, ["  odd       ", "Odd, but perhaps meant:", "0 findings, 1 odd\n"]),
    "odd, strictly": (["--steps", "20", "--strict"], program(ODD), 3, ["0 findings, 1 odd\n"]),
    "an error": ([], program(("done += 1", "done += 1 if done < 19 else 1 // 0")), 1,
                 ["ZeroDivisionError", "20 steps seen", "the program ended with ZeroDivisionError"]),
    "an error of autograd": ([], program(("loss.backward()", "loss.detach().backward()")), 1,
                             ["found     autograd raises no error", "no step of an optimizer was seen"]),
    "another exit code": ([], program(("print(\"end\")", "raise SystemExit('no')"), ("400", "12")), 1,
                          ["no\n", "the program exited with no"]),
    "exit code 0": ([], program(("print(\"end\")", "raise SystemExit(0)"), ("400", "12")), 0, ["12 steps seen"]),
    "os._exit": ([], program(("print(\"end\")", "import os; os._exit(4)"), ("400", "12")), 4, ["12 steps seen"]),
    "quiet": (["--quiet", "--steps", "20"], program(RATE), 3, []),
    "no training": ([], "print(1)\n", 0, ["no step of an optimizer was seen, 0 findings\n"]),
    "ignored": (["--steps", "20", "--ignore", "softmax-*,learning-rate-zero"], program(RATE, SOFTMAX), 0,
                ["  ignored   the learning rate does not become nothing", "0 findings, 2 ignored\n"]),
    "one ignored": (["--steps", "20", "--ignore=softmax-*"], program(RATE, SOFTMAX), 3, ["1 finding, 1 ignored\n"]),
    "a schedule that may come later": (["--steps", "30"], program(SCHEDULE), 0,
                                       ["[schedule-wrong]", "(The program was ended after 30 steps: it may come later.)"]),
}


@pytest.mark.parametrize("name", ENDINGS)
def test_how_it_ends(name: str, tmp_path: Path) -> None:
    options, text, code, words = ENDINGS[name]
    write(tmp_path, text)
    done = call(tmp_path, "audit", *options, "train.py")
    assert done.returncode == code, done.stderr
    for word in words:
        assert word in done.stderr, done.stderr
    if not words:
        assert done.stderr == ""
    assert "could not be resolved" not in done.stderr


@pytest.mark.parametrize("arguments", [
    [], ["--steps", "x.py"], ["--steps=-1", "x.py"], ["--json", "-", "x.py"], ["--baseline", "nowhere.json", "x.py"],
    ["--baseline", "x.py", "x.py"], ["--write-baseline", "nowhere/b.json", "x.py"], ["--nonsense", "x.py"], ["nowhere.py"],
])
def test_usage(arguments: list[str], tmp_path: Path) -> None:
    write(tmp_path, "print('ran')\n", "x.py")
    done = call(tmp_path, "audit", *arguments)
    assert (done.returncode, done.stdout) == (2, "")


def test_help(tmp_path: Path) -> None:
    assert "audit" in call(tmp_path, "--help").stdout
    shown = " ".join(call(tmp_path, "audit", "--help").stdout.split())
    for words in ("--steps N", "--ignore", "--baseline FILE", "--write-baseline FILE", "--strict",
                  "Exit code: 0 if nothing is found"):
        assert words in shown


@pytest.mark.parametrize("how", [["-m", "train"], ["-c", GOOD], ["-"]])
def test_ways_to_name_a_program(how: list[str], tmp_path: Path) -> None:
    write(tmp_path, GOOD)
    done = call(tmp_path, "audit", "--steps", "5", *how, text=GOOD)
    assert (done.returncode, done.stdout) == (0, "finally 4\n"), done.stderr


def statuses(text: str) -> dict[str, str]:
    """Title of each check -> its status, from the plain check-list."""
    lines = [line for line in text.splitlines() if line.startswith("  ") and line[2:10].strip() in (
        "passed", "found", "odd", "not seen", "ignored")]
    return {line[12:].partition(" [")[0]: line[2:10].strip() for line in lines}


def test_check_list(tmp_path: Path) -> None:
    write(tmp_path, program(RATE, SOFTMAX, ODD))
    done = call(tmp_path, "audit", "--steps", "20", "--json", "a.json", "--html", "a.html", "train.py")
    shown = statuses(done.stderr)
    for subject in SUBJECTS:
        for title in subject.checks.values():
            assert title in shown
    assert shown["the learning rate does not become nothing"] == "found"
    assert shown["every loss is given what it expects: logits, probabilities or their logarithms"] == "found"
    assert shown["the inputs are not constant"] == "odd"
    assert shown["losses, gradients and weights stay finite"] == "passed"
    assert shown["clipping leaves something of the gradients"] == "not seen"
    # It follows from the rate, and cannot be passed beside it.
    assert shown["the weights move measurably with the steps"] == "found"
    assert "[follows from learning-rate-zero]" in done.stderr
    # What is odd comes last, under its own heading.
    before, _, after = done.stderr.partition("Odd, but perhaps meant:")
    assert "[learning-rate-zero]\n" in before
    assert "[softmax-before-loss]\n" in before
    assert "[input-degenerate]\n" in after
    assert "softmax-before-loss" not in after
    data = json.loads((tmp_path / "a.json").read_text())
    assert {check["title"]: check["status"] for check in data["checks"]} == shown
    assert (data["steps"], data["parameters"], data["ended"]) == (20, 4, "the program was ended after 20 steps")
    found = {entry["category"]: entry for entry in data["findings"]}
    assert set(found) == {"learning-rate-zero", "softmax-before-loss", "input-degenerate"}
    assert [found[name]["odd"] for name in found] == [name == "input-degenerate" for name in found]
    assert found["learning-rate-zero"]["check"] == "rate"
    assert "learning-rate-zero" in (tmp_path / "a.html").read_text()


def test_steps_without_an_effect_are_not_passed(tmp_path: Path) -> None:
    """No gradient reaches what one of two optimizers holds."""
    write(tmp_path, """\
import torch
from torch import nn

body, head = nn.Linear(4, 4), nn.Linear(4, 1)
optimizers = [torch.optim.SGD(part.parameters(), lr=0.1) for part in (body, head)]
for _ in range(10):
    loss = head(body(torch.randn(8, 4)).detach()).pow(2).mean()
    for optimizer in optimizers:
        optimizer.zero_grad()
    loss.backward()
    for optimizer in optimizers:
        optimizer.step()
""")
    done = call(tmp_path, "audit", "train.py")
    shown = statuses(done.stderr)
    assert shown["every optimizer steps, and its steps have an effect"] == "found"
    assert shown["every parameter that an optimizer holds gets a gradient"] == "found"
    assert shown["the gradients that the program reads are what they seem"] == "not seen"
    assert "concerns 2 parameters: `body.weight` and `body.bias`" in done.stderr


def test_colours(tmp_path: Path) -> None:
    pytest.importorskip("rich")
    write(tmp_path, program(RATE, ODD))
    shown = call(tmp_path, "audit", "--steps", "20", "train.py", FORCE_COLOR="1", COLUMNS="100").stderr
    text = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    assert "\x1b[32m" in shown
    for line in ("  ✓ passed    losses, gradients and weights stay finite", "  - not seen  dropout leaves something",
                 "  ✗ found     the learning rate does not become nothing  [learning-rate-zero]",
                 "  ! odd       the inputs are not constant  [input-degenerate]", "Odd, but perhaps meant:"):
        assert line in text
    assert "\x1b" not in call(tmp_path, "audit", "--steps", "20", "train.py").stderr


def test_run_keeps_its_form(tmp_path: Path) -> None:
    """`run --steps` ends the program as well; its JSON stays a list, and what is odd stands apart."""
    write(tmp_path, program(SOFTMAX, ODD))
    done = call(tmp_path, "run", "--steps", "20", "--strict", "--json", "a.json", "train.py")
    assert (done.returncode, done.stdout) == (3, "finally 19\n")
    assert done.stderr.startswith("whygrad: the program was ended after 20 steps\n\nwhygrad [1 of 2] ")
    assert done.stderr.index("[softmax-before-loss]") < done.stderr.index("Odd, but perhaps meant:") < done.stderr.index(
        "[input-degenerate]")
    assert [entry["category"] for entry in json.loads((tmp_path / "a.json").read_text())] != []
    write(tmp_path, program(ODD))
    assert call(tmp_path, "run", "--steps", "20", "--strict", "train.py").returncode == 0


HEAD = """
    import torch, torch.nn as nn
    model = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    def step(optimizer=optimizer):
        loss = ((model(torch.randn(8, 2)) - 1) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
# Program, what it prints, words on standard error. Each is ended after five steps and exits with 0.
STOPS: dict[str, tuple[str, str, str]] = {
    "context managers": ("""
        class Open:
            def __enter__(self): return self
            def __exit__(self, kind, *rest): print("left", kind.__mro__[1].__name__)
        with Open(), torch.no_grad():
            for i in range(50):
                with torch.enable_grad():
                    step()
        print("not reached")
    """, "left BaseException\n", ""),
    "Exception does not catch it": ("""
        for i in range(50):
            try:
                step()
            except Exception:
                print("caught")
    """, "", ""),
    "caught, and it runs on": ("""
        steps = 0
        while steps < 12:
            try:
                step()
            except BaseException as end:
                print("caught")
            steps += 1
        print("end", steps)
    """, "caught\nend 12\n", "has caught its end after 5 steps"),
    "answered by another error": ("""
        try:
            while True:
                step()
        except BaseException as end:
            raise RuntimeError("training failed") from end
    """, "", "RuntimeError: training failed"),
    "answered by an exit": ("""
        try:
            while True:
                step()
        except BaseException:
            raise SystemExit(9)
    """, "", ""),
    "in a thread": ("""
        import threading
        def train():
            for i in range(50):
                step()
            print("not reached")
        thread = threading.Thread(target=train)
        thread.start()
        thread.join()
        print("main goes on")
    """, "main goes on\n", ""),
    "in an executor": ("""
        from concurrent.futures import ThreadPoolExecutor
        def train():
            for i in range(50):
                step()
        with ThreadPoolExecutor(1) as pool:
            pool.submit(train).result()
        print("not reached")
    """, "", ""),
    "threads that do not end": ("""
        import threading
        threading.Thread(target=threading.Event().wait, name="feeder").start()
        while True:
            step()
    """, "", "threads of the program still run and are ended: feeder"),
    "an optimizer that steps another": ("""
        class Outer(torch.optim.Optimizer):
            def __init__(self, inner):
                super().__init__(model.parameters(), {})
                self.inner = inner
            def step(self, closure=None):
                self.inner.step()
                print("outer is done")
        outer = Outer(optimizer)
        for i in range(50):
            step(outer)
    """, "outer is done\n" * 3, ""),
    "asyncio": ("""
        import asyncio
        async def train():
            while True:
                step()
                await asyncio.sleep(0)
        asyncio.run(train())
    """, "", ""),
    "a scaler": ("""
        scaler = torch.amp.GradScaler("cpu")
        for i in range(50):
            optimizer.zero_grad()
            scaler.scale(((model(torch.randn(8, 2)) - 1) ** 2).mean()).backward()
            scaler.step(optimizer)
            scaler.update()
        print("not reached")
    """, "", ""),
}


@pytest.mark.parametrize("name", STOPS)
def test_the_end_after_some_steps(name: str, tmp_path: Path) -> None:
    text, printed, words = STOPS[name]
    write(tmp_path, textwrap.dedent(HEAD) + textwrap.dedent(text))
    done = call(tmp_path, "run", "--steps", "5", "train.py")
    assert (done.returncode, done.stdout) == (0, printed), done.stderr
    assert words in done.stderr
    assert "EndOfSteps" not in done.stderr or "training failed" in words


def test_baseline(tmp_path: Path) -> None:
    """Known findings stay known when lines move and comments change; a second one like them is new."""
    write(tmp_path, program(RATE))
    arguments = ["--steps", "12", "train.py"]
    first = call(tmp_path, "audit", "--write-baseline", "known.json", *arguments)
    assert first.returncode == 0
    assert "[learning-rate-zero]" in first.stderr
    data = json.loads((tmp_path / "known.json").read_text())
    assert data["findings"] == [{"category": "learning-rate-zero", "file": "train.py",
                                 "source": "optimizer = torch . optim . Adam ( model . parameters ( ) , lr = 0.0 )"}]
    write(tmp_path, "# moved\n\n" + program(RATE).replace("lr=0.0)", "lr = 0.0 )  # known"))
    again = call(tmp_path, "audit", "--baseline", "known.json", *arguments)
    assert again.returncode == 0, again.stderr
    assert "0 findings, 1 in the baseline\n" in again.stderr
    assert "[1 of 1]" not in again.stderr
    write(tmp_path, program(RATE, SOFTMAX))
    more = call(tmp_path, "audit", "--baseline", "known.json", *arguments)
    assert more.returncode == 3
    assert "1 finding, 1 in the baseline\n" in more.stderr


@pytest.mark.parametrize(("line", "text"), [
    ("    x = f( a,b )  # comment", "x = f ( a , b )"), ("y = g(a,", "y = g ( a ,"), ("", ""),
    ("for x in '#':", "for x in '#' :"),
])
def test_normalised_source(line: str, text: str) -> None:
    assert baseline.normalised(line) == text


COUNTED = program(("    done = 0", "    done = 0; audit = __import__('whygrad').why.record.watching.audit; seen = 0"),
                  ("done += 1", "done += 1; seen += audit.is_observing"), ("\"finally\", done", "seen"), ("400", "60"))


@pytest.mark.parametrize(("command", "is_every"), [(["audit", "--steps=0"], True), (["run"], False)])
def test_every_round_is_observed(command: list[str], is_every: bool, tmp_path: Path) -> None:
    write(tmp_path, COUNTED)
    seen = int(call(tmp_path, *command, "train.py").stdout.split()[0])
    assert (seen == 60) is is_every


SLOW = program(RATE, ("done += 1", "done += 1; print(done, flush=True)"), ("400", "100000"))
# Command, signal, line that is added to the program, exit code, words on standard error.
SIGNALS: dict[str, tuple[list[str], int, str, int, list[str]]] = {
    "run, SIGTERM": (["run"], signal.SIGTERM, "", -signal.SIGTERM, ["[learning-rate-zero]"]),
    "run, Ctrl-C": (["run"], signal.SIGINT, "", -signal.SIGINT, ["[learning-rate-zero]", "KeyboardInterrupt"]),
    "audit, SIGTERM": (["audit", "--steps=0"], signal.SIGTERM, "", -signal.SIGTERM,
                       ["passed", "[learning-rate-zero]", "the program was ended by SIGTERM"]),
    "audit, Ctrl-C": (["audit", "--steps=0"], signal.SIGINT, "", -signal.SIGINT,
                      ["KeyboardInterrupt", "passed", "[learning-rate-zero]", "the program was ended by Ctrl-C"]),
    "run, SIGTERM, handled for a while": (["run"], signal.SIGTERM,
                                          "import signal\nsignal.signal(15, signal.signal(15, lambda *_: None))\n",
                                          -signal.SIGTERM, ["[learning-rate-zero]"]),
    "the program's own handler": (["run"], signal.SIGTERM,
                                  "import signal, sys; signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))\n", 7,
                                  ["[learning-rate-zero]"]),
}


@pytest.mark.parametrize("name", SIGNALS)
def test_signals_keep_what_was_seen(name: str, tmp_path: Path) -> None:
    command, number, head, code, words = SIGNALS[name]
    write(tmp_path, head + SLOW)
    child = subprocess.Popen([sys.executable, "-m", "whygrad", *command, "--json", "a.json", "train.py"], cwd=tmp_path,
                             env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             preexec_fn=_with_usual_handlers)
    assert child.stdout is not None
    for line in child.stdout:
        if line == "20\n":
            break
    child.send_signal(number)
    _, errors = child.communicate(timeout=120)
    assert child.returncode == code, errors
    for word in words:
        assert word in errors
    data: Any = json.loads((tmp_path / "a.json").read_text())
    assert "learning-rate-zero" in [entry["category"] for entry in (data["findings"] if "audit" in command else data)]


def _with_usual_handlers() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


INTERRUPTED = """
    import os, signal, sys
    from whygrad import cli
    from whygrad.why import terminal
    print_answers, number = terminal.print_answers, int(sys.argv[1])
    def interrupted(answers):
        os.kill(os.getpid(), number)
        print_answers(answers)
    terminal.print_answers = interrupted
    sys.exit(cli.main(["audit", "--steps", "12", "train.py"]))
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_waits_for_the_report(number: int, tmp_path: Path) -> None:
    write(tmp_path, program(RATE))
    write(tmp_path, INTERRUPTED, "interrupted.py")
    done = subprocess.run([sys.executable, "interrupted.py", str(int(number))], cwd=tmp_path, env=environment(), text=True,
                          capture_output=True, timeout=300, check=False, preexec_fn=_with_usual_handlers)
    assert done.returncode == -number, done.stderr
    assert "12 steps seen, 4 parameters, 1 finding\n" in done.stderr


def test_children_die_of_sigterm(tmp_path: Path) -> None:
    """A forked child has no report to write; and the program does not see our handler."""
    write(tmp_path, """
        import os, signal, time
        child = os.fork()
        if not child:
            time.sleep(60)
        time.sleep(0.2)
        os.kill(child, signal.SIGTERM)
        print(os.waitpid(child, 0)[1], signal.getsignal(signal.SIGTERM) is signal.SIG_DFL)
    """)
    done = call(tmp_path, "run", "train.py")
    assert (done.returncode, done.stdout) == (0, f"{int(signal.SIGTERM)} True\n")
