"""`whygrad fix`: a change is shown when the program has been run with it and the symptom is gone; files change only if asked."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import interpreters
import pytest

from whygrad.cli import Program
from whygrad.why import fix, scratch
from whygrad.why.answers import Edit
from whygrad.why.loss_course import LossCourse, behaviour
from whygrad.why.trial import Outcome, run

HEAD = "import torch\nimport torch.nn as nn\ntorch.manual_seed(0)\n"
RETAIN = HEAD + """net = nn.Linear(3, 1)
out = net(torch.randn(4, 3))
out.mean().backward()
g = out.grad
"""

# Most features of the input are constant, which may be meant.
ODD = HEAD + """net = nn.Linear(8, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for _ in range(12):
    x = torch.randn(16, 8)
    y = x[:, :1] * 0.3 + torch.randn(16, 1)
    x[:, 2:] = 1.0
    optimizer.zero_grad()
    ((net(x) - y) ** 2).mean().backward()
    optimizer.step()
"""


def fixed(script: Path, *arguments: str, options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    return interpreters.run(["-m", "whygrad", "fix", *options, script.name, *arguments], cwd=script.parent)


def write(folder: Path, text: str, name: str = "program.py") -> Path:
    path = folder / name
    path.write_text(textwrap.dedent(text))
    return path


def added(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [line[1:].strip() for line in done.stdout.splitlines() if line.startswith("+") and not line.startswith("+++")]


def test_a_diff_is_shown_and_nothing_written(tmp_path: Path) -> None:
    script = write(tmp_path, RETAIN)
    done = fixed(script)
    assert done.returncode == 0, done.stderr
    assert added(done) == ["out.retain_grad()"]
    assert done.stdout.startswith("--- program.py\n+++ program.py\n@@")
    assert "the symptom is gone: program.py, line 7, out.grad" in done.stderr  # no loop: nothing is known of the loss
    assert script.read_text() == RETAIN
    assert sorted(os.listdir(tmp_path)) == ["program.py"]


def test_written_with_a_backup(tmp_path: Path) -> None:
    """The link stays a link, the mode stays, an earlier backup stays; tabs, line endings and the encoding stay."""
    text = ("# -*- coding: latin-1 -*-\n" + HEAD + "net = nn.Linear(3, 1)\nname = 'Gr\xfc\xdfe'\nif True:\n"
            "\tout = net(torch.randn(4, 3))\n\tout.mean().backward(); g = out.grad\n").replace("\n", "\r\n").encode("latin-1")
    real = tmp_path / "real.py"
    real.write_bytes(text)
    real.chmod(0o750)
    (tmp_path / "real.py.orig").write_text("kept")
    script = tmp_path / "program.py"
    script.symlink_to(real)
    done = fixed(script, options=("--write",))
    assert done.returncode == 0, done.stderr
    assert script.is_symlink()
    assert real.read_bytes() == text.replace(b"3))\r\n\tout.mean", b"3))\r\n\tout.retain_grad()\r\n\tout.mean")
    assert stat.S_IMODE(real.stat().st_mode) == 0o750
    assert (tmp_path / "real.py.orig").read_text() == "kept"
    assert (tmp_path / "real.py.orig.1").read_bytes() == text
    again = fixed(script, options=("--write",))
    assert again.returncode == 0
    assert again.stdout == ""
    assert "nothing to mend" in again.stderr


def test_one_problem_after_the_other(tmp_path: Path) -> None:
    done = fixed(write(tmp_path, HEAD + """net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x, y = torch.randn(5, 3), torch.randn(5, 1)
for step in range(3):
    out = net(x)
    err = (out - y) ** 2
    err.backward()
    print(out.grad, net.weight.grad)
    opt.step()
"""))
    assert done.returncode == 0, done.stderr
    assert added(done) == ["out.retain_grad()", "opt.zero_grad()", "err.mean().backward()"]
    assert done.stderr.count("the symptom is gone:") == 3
    assert "line 11, net.weight.grad" in done.stderr  # as the lines are now, not as they were in between


def test_surroundings_are_the_programs_own(tmp_path: Path) -> None:
    """Arguments, neighbours, relative files and __file__; the change is in the neighbour."""
    write(tmp_path, """
        import torch
        w = torch.ones(3, requires_grad=True)
        def encode(x):
            return (x * w).detach()
    """, "helper.py")
    (tmp_path / "data.txt").write_text("2.0")
    script = write(tmp_path, """
        import os, sys
        import torch
        import helper
        assert sys.argv == ["program.py", "--write", "x y"], sys.argv
        assert __file__ == os.path.join(os.getcwd(), "program.py")
        assert sys.path[0] == os.getcwd() and __name__ == "__main__"
        scale = float(open("data.txt").read())
        b = torch.ones(3, requires_grad=True)
        (helper.encode(torch.ones(3)) * scale + b).sum().backward()
        print(helper.w.grad)
    """)
    helper = (tmp_path / "helper.py").read_text()
    # Compiled versions of the neighbours are not to be mistaken for the changed text.
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(tmp_path)], check=True)
    done = fixed(script, "--write", "x y")
    assert done.returncode == 0, done.stderr
    assert "--- helper.py" in done.stdout
    assert added(done) == ["return (x * w)"]
    assert (tmp_path / "helper.py").read_text() == helper


@pytest.mark.parametrize(("program", "code", "words"), [
    ("print('fine')\n", 0, "nothing to mend"),
    (HEAD + "a, b = nn.Linear(2, 1), nn.Linear(2, 1)\na(torch.ones(1, 2)).sum().backward()\nprint(b.weight.grad)\n", 1,
     "there is no mechanical change"),
    (HEAD + "w = torch.ones(3, requires_grad=True)\nw.register_hook(lambda g: g * torch.tensor([1.0, 0.0, 1.0]))\n"
     "w.sum().backward()\nprint(w.grad)\n", 0, "nothing to mend"),
    ("def f(:\n", 1, "line 1), which is not a question of gradients"),
    ("1 / 0\n", 1, "ZeroDivisionError: division by zero (line 1), which is not a question of gradients"),
    ("import os\nos._exit(7)\n", 1, "exit code 7 and left no report"),
    ("raise SystemExit(3)\n", 0, "nothing to mend"),
    (ODD, 0, "nothing to mend"),
    (RETAIN + "if g is not None:\n    raise ValueError('worse')\n", 1, "ends with ValueError: worse"),
    (RETAIN + "if g is not None:\n    raise SystemExit(4)\n", 1, "exit code 4"),
], ids=["fine", "no change known", "a masking hook", "syntax error", "another error", "no report", "exit code", "odd", "worse",
        "worse exit code"])
def test_how_it_ends(program: str, code: int, words: str, tmp_path: Path) -> None:
    done = fixed(write(tmp_path, program))
    assert done.returncode == code, done.stderr
    assert words in done.stderr
    assert done.stdout == ""


def test_a_change_after_which_the_program_does_not_end(tmp_path: Path) -> None:
    done = fixed(write(tmp_path, RETAIN + "import time\nwhile g is not None:\n    time.sleep(1)\n"), options=("--timeout", "6"))
    assert done.returncode == 1
    assert "did not end in time" in done.stderr
    assert done.stdout == ""
    assert "run 3" in done.stderr  # it took long enough to say what is going on


@pytest.mark.parametrize("arguments", [
    [], ["--timeout=0", "x.py"], ["--timeout", "x", "x.py"],
    ["--timeout"], ["nowhere.py"], ["-m"], ["-c", "1"], ["-"], ["--nonsense", "x.py"],
])
def test_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        fix.main(arguments)
    assert ended.value.code == 2
    assert "usage: whygrad fix" in capsys.readouterr().err


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        fix.main(["--help"])
    assert ended.value.code == 0
    assert "--write" in capsys.readouterr().out


def test_writing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"new on disk")
    with pytest.raises(OSError, match="changed while"):
        fix.write_file(str(path), b"old", b"new")
    with monkeypatch.context() as patch:
        patch.setattr(os, "access", lambda *_: False)
        with pytest.raises(OSError, match="not writable"):
            fix.write_file(str(path), b"new on disk", b"new")
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
        with pytest.raises(OSError, match="disk full"):
            fix.write_file(str(path), b"new on disk", b"new")
    assert os.listdir(tmp_path) == ["a.py"]
    assert path.read_bytes() == b"new on disk"
    assert fix.write_file(str(path), b"new on disk", b"new") == f"{path}.orig"
    assert path.read_bytes() == b"new"


def test_writing_keeps_owner_mode_and_links(tmp_path: Path) -> None:
    plain, linked, other_name, pointer = (tmp_path / name for name in ("plain.py", "linked.py", "other.py", "pointer.py"))
    for path in (plain, linked):
        path.write_bytes(b"a long old text")
        path.chmod(0o750)
    os.link(linked, other_name)
    pointer.symlink_to(plain)
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        os.chown(plain, 12345, 54321)
    before = {path: path.stat() for path in (plain, linked)}
    for path in (pointer, linked):
        fix.write_file(str(path), b"a long old text", b"new")
    assert [path.read_bytes() for path in (plain, linked, other_name)] == [b"new"] * 3
    assert pointer.is_symlink()
    for path, status in before.items():
        after = path.stat()
        assert (after.st_mode, after.st_uid, after.st_gid, after.st_nlink) == (
            status.st_mode, status.st_uid, status.st_gid, status.st_nlink)
    assert (tmp_path / "linked.py.orig").read_bytes() == b"a long old text"


# The judgement.


def problem(line: int, expression: str = "w.grad", category: str = "detach",
            headline: str = "this leaf requires grad, but its .grad is None", cause: int = 3) -> dict[str, Any]:
    return {"file": "f", "line": line, "expression": expression, "category": category, "headline": headline, "edits": [],
            "causes": [{"file": "f", "line": cause, "expression": "x.detach()"}]}


EDIT = Edit("f", 2, "a\nb")
ERROR = problem(5, "loss.backward()", "graph-freed", "RuntimeError: second time")


@pytest.mark.parametrize(("before", "after", "target", "verdict"), [
    (Outcome([problem(5)]), Outcome([]), problem(5), "good"),
    (Outcome([problem(5)]), Outcome([problem(6, cause=4)]), problem(5), "symptom is still there"),
    (Outcome([problem(5)]), Outcome([problem(6, cause=9)]), problem(5), "uncovers"),  # cut in a second place
    (Outcome([problem(5)]), Outcome([problem(6, category="frozen")]), problem(5), "uncovers"),
    (Outcome([problem(5)]), Outcome([problem(5)]), problem(5), "uncovers"),
    (Outcome([problem(5), problem(9)]), Outcome([problem(10)]), problem(5), "good"),
    (Outcome([problem(5)]), Outcome([problem(6, "b.grad")]), problem(5), "uncovers"),
    (Outcome([problem(5)]), Outcome([], code=1, error="TypeError: x"), problem(5), "ends with TypeError: x"),
    (Outcome([problem(5)], code=1, error="TypeError: x"), Outcome([], code=1, error="TypeError: x"), problem(5), "good"),
    (Outcome([problem(5)], code=1, error="TypeError: x"), Outcome([]), problem(5), "good"),
    (Outcome([ERROR], code=1, error="RuntimeError: second time"), Outcome([]), ERROR, "good"),
    (Outcome([ERROR], code=1, error="RuntimeError: second time"), Outcome([], code=1, error="RuntimeError: second time"), ERROR,
     "symptom is still there"),
    (Outcome([ERROR], code=1, error="RuntimeError: second time"),
     Outcome([problem(9, "x()", "leaf-inplace", "RuntimeError: leaf")], code=1, error="RuntimeError: leaf"), ERROR, "uncovers"),
    (Outcome([ERROR], code=1, error="RuntimeError: second time"),
     Outcome([problem(6, "x()", "leaf-inplace", "RuntimeError: leaf")]), ERROR, "uncovers"),
    (Outcome([problem(5)]), Outcome([], timed_out=True), problem(5), "did not end in time"),
    (Outcome([problem(5)]), Outcome([], reported=False), problem(5), "without a report"),
])
def test_judge(before: Outcome, after: Outcome, target: dict[str, Any], verdict: str) -> None:
    target = before.answers[0]
    assert verdict in fix.judge(before, after, target, EDIT)[0]


def test_libraries_are_not_edited(tmp_path: Path) -> None:
    inside = tmp_path / "site-packages"
    inside.mkdir()
    path = write(inside, "x = 1\n")
    assert not fix._may_edit(Edit(str(path), 1, "y"))
    assert fix._may_edit(Edit(str(write(tmp_path, "x = 1\n")), 1, "y"))
    assert not fix._may_edit(Edit("<stdin>", 1, "y"))


def test_a_trial_ends_what_it_started(tmp_path: Path) -> None:
    script = write(tmp_path, """
        import subprocess, sys, time
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
        open("child", "w").write(str(child.pid))
        time.sleep(300)
    """)
    here = os.getcwd()
    os.chdir(tmp_path)
    try:
        outcome = run(Program("script", "program.py", []), timeout=5)
    finally:
        os.chdir(here)
    assert outcome.timed_out
    state = Path(f"/proc/{(tmp_path / 'child').read_text()}/stat")
    for _ in range(100):  # on a busy machine a killed process may take a while to go
        if not state.exists() or state.read_text().split()[2] == "Z":
            break
        time.sleep(0.1)
    else:
        pytest.fail("the child still runs")
    assert script.exists()


WRITES = """
    import os, shutil, sys
    from pathlib import Path
    import torch
    Path("log.txt").write_text(Path("log.txt").read_text() + "more")
    Path("runs").mkdir()
    torch.save(torch.ones(2), "runs/model.pt")
    Path(__file__).with_name("beside.txt").write_text("new")
    Path(sys.argv[1], "out.txt").write_text("new")
    shutil.rmtree("old")
    Path("../new.txt").write_text("new")
    assert Path("../neighbour/data.txt").read_text() == "4"
    assert Path("link.txt").read_text() == Path("log.txt").read_text()
    v = torch.ones(3, requires_grad=True)
    w = v * 2
    w.sum().backward()
    g = w.grad
"""


def contents(folder: Path) -> dict[str, Any]:
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


def test_the_trials_write_to_a_scratch_copy(tmp_path: Path) -> None:
    """Every run begins with the same files, and leaves them as they were."""
    folder = tmp_path / "project"
    for name in ("project/old", "project/.git", "neighbour"):
        (tmp_path / name).mkdir(parents=True)
    (folder / "log.txt").write_text("begun")
    (folder / "link.txt").symlink_to(folder / "log.txt")
    (folder / "old" / "kept.txt").write_text("kept")
    (tmp_path / "neighbour" / "data.txt").write_text("4")
    script = write(folder, WRITES)
    before = contents(tmp_path)
    done = fixed(script, str(folder))
    assert done.returncode == 0, done.stderr
    assert added(done) == ["w.retain_grad()"]
    assert "--- program.py" in done.stdout
    assert contents(tmp_path) == before


def test_a_program_elsewhere_is_copied_as_well(tmp_path: Path) -> None:
    for name in ("code", "work"):
        (tmp_path / name).mkdir()
    write(tmp_path / "code", "Path = __import__('pathlib').Path\nPath(__file__).with_name('a.txt').write_text('x')\n"
          "Path('b.txt').write_text('x')\n")
    done = interpreters.run(["-m", "whygrad", "fix", "../code/program.py"], cwd=tmp_path / "work")
    assert (done.returncode, done.stderr) == (0, "whygrad fix: nothing to mend\n")
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")) == ["code", "code/program.py", "work"]


def test_large_folders_are_not_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limits hold, the program's source comes first, and what is linked is named."""
    for name in ("data", "small"):
        (tmp_path / name).mkdir()
    for number in range(30):
        (tmp_path / "data" / f"{number}.txt").write_text("x")
    (tmp_path / "weights.bin").write_bytes(bytes(1000))
    (tmp_path / "small" / "a.txt").write_text("x")
    script = write(tmp_path, "x = 1\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(scratch, "MAX_BYTES", 500)
    monkeypatch.setattr(scratch, "MAX_ENTRIES", 20)
    plan = scratch.Scratch(str(tmp_path))
    assert plan.too_large == [str(tmp_path / "weights.bin"), str(tmp_path / "data")]
    with plan.made() as copy:
        here = Path(copy.inside(str(tmp_path)))
        assert here != tmp_path
        assert [path.name for path in sorted(here.iterdir()) if path.is_symlink()] == ["data", "weights.bin"]
        assert not (here / "program.py").is_symlink()
        assert (here / "small" / "a.txt").read_text() == "x"
        assert len(list((here / "data").iterdir())) == 30
        assert copy.original({"file": [f"{here}/program.py"]}) == {"file": [str(script)]}
        assert copy.argument(f"--out={tmp_path}/out") == f"--out={here}/out"
        assert copy.argument("--out=/elsewhere") == "--out=/elsewhere"
    assert not here.exists()
    assert "too large to be copied: weights.bin, data;" in fix._not_copied(plan.too_large)


def test_a_target_is_not_asked_for_a_gradient_to_silence_an_error(tmp_path: Path) -> None:
    program = Path(__file__).parent / "cases" / "value-copied-out" / "numpy_smoothing_in_loss.py"
    done = fixed(write(tmp_path, program.read_text()))
    assert done.returncode == 1
    assert "not mended" in done.stderr
    assert added(done) == []


# One cause, several fates of the loss.
TRAINED = HEAD + """net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=%s)
x = torch.randn(32, 3)
y = x.sum(1, keepdim=True)
for _ in range(%d):
    optimizer.zero_grad()
    hidden = net[:2](x).detach()
    loss = %s
    loss.backward()
    optimizer.step()
"""
ERROR = "((net[2](hidden) - y) ** 2).mean()"


@pytest.mark.parametrize(("program", "code", "words"), [
    (TRAINED % ("0.05", 40, ERROR), 0, ["\nmended: ", "the loss of line 12 falls from ", "(before: falls from "]),
    (TRAINED % ("0.05", 2, ERROR), 0, ["\nthe symptom is gone: ", "cannot be told from 2 backward passes"]),
    (TRAINED % ("0.05", 40, "-" + ERROR.replace("- y", "- y.detach()") + ".clamp(max=1e3)"), 0, ["mended: "]),
    (TRAINED % ("0.001, maximize=True", 40, ERROR), 0,
     ["\nthe symptom is gone: ", "the loss of line 12 does not fall: it goes from "]),
    (TRAINED % ("1e4", 40, f"{ERROR} * (hidden.exp().exp().exp().sum() if hidden.requires_grad else 1)"), 1,
     ["\nthe symptom is gone: ", "the loss of line 12 is not finite"]),
], ids=["falls", "too short", "negative", "rises", "not finite"])
def test_mended_only_if_the_loss_behaves(tmp_path: Path, program: str, code: int, words: list[str]) -> None:
    done = fixed(write(tmp_path, program))
    assert done.returncode == code, done.stderr
    assert added(done) == ["hidden = net[:2](x)"], done.stdout
    assert not [word for word in words if word not in "\n" + done.stderr], done.stderr


def course(first: float, last: float, line: int = 7, count: int = 20, is_finite: bool = True) -> LossCourse:
    return LossCourse("p.py", line, count, first, first, last, is_finite)


@pytest.mark.parametrize(("before", "after", "is_good"), [
    ([course(2.0, 1.0)], [course(2.0, 0.5)], True),
    ([course(2.0, 1.0)], [course(2.0, 1.5)], False),  # not as far as before
    ([course(2.0, 1.0)], [course(80.0, 79.0)], True),  # another quantity since the edit
    ([course(2.0, 1.0)], [course(80.0, 80.0)], False),
    ([], [course(-1.0, -2.0)], True),
    ([], [course(2.0, 1.0, count=4)], None),
    ([], [course(2.0, 1.0, count=4, is_finite=False)], False),
    ([], [course(2.0, 1.0), course(0.5, 0.7, line=9)], True),  # an adversary's loss may rise
    ([course(0.5, 0.4, line=9)], [course(2.0, 1.0), course(0.5, 0.7, line=10)], False),  # moved by the edit
    ([course(0.0, 0.0)], [course(0.0, 0.0)], False),
])
def test_how_losses_behave(before: list[LossCourse], after: list[LossCourse], is_good: bool | None) -> None:
    assert behaviour(before, after, [Edit("p.py", 8, "a\nb")]).is_good is is_good
