"""`whygrad ask`: questions in words find what they are about; the four questions the project began from are answered."""

from __future__ import annotations

import linecache
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

import whygrad
from whygrad.why import ask
from whygrad.why.question_watch import QuestionWatch

SEEDS = Path(__file__).parents[1] / "seeds"
SOURCE = str(Path(whygrad.__file__).parents[1])


def asked(question: str, program: str, name: str = "/nowhere/asked.py") -> tuple[str, bool]:
    """The answer, and whether there is one, for a program that is run in this process."""
    text = program.replace("import torch.nn as nn", "import whygrad.nn as nn")
    text = text.replace("import torch\n", "import whygrad as torch\n")
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    scope: dict[str, Any] = {"__name__": "program"}
    heard = QuestionWatch(question, name, lambda: scope)
    error, line = "", 0
    whygrad.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        heard.start()
        try:
            exec(compile(text, name, "exec"), scope)
        except Exception as raised:
            error = f"{type(raised).__name__}: {str(raised).splitlines()[0]}"
            where = raised.__traceback__
            while where is not None:
                line = where.tb_lineno if where.tb_frame.f_code.co_filename == name else line
                where = where.tb_next
        finally:
            heard.stop()
    told = ask.reply(heard, error, line)
    return told["text"], told["found"]


TITLES = {
    "000": "Why is `grad_output.requires_grad` False in PyTorch?",
    "001": "Why is a Tensor with `requires_grad=False` retaining its gradient?",
    "002": "Why is output.grad None after loss.backward()?",
    "003": "Why is the gradient parameter necessary in PyTorch's backward function?",
}

# snippet -> words that the answer has
ANSWERS = {
    "000_1": ["line 6", "[no-create-graph]", "create_graph=True"],
    "000_2": ["line 8", "[gradient-shape-mismatch]", "create_graph=True"],
    "000_3": ["line 17", "[non-scalar-backward]", "y.sum().backward()", "create_graph=True"],
    "001_1": ["retains nothing", "a.grad", "line 15", "[never-required-grad]"],
    "001_2": ["line 5", "[grad-assigned]", "assigned by hand"],
    "001_3": ["line 13", "[grad-assigned]", "assigned by hand"],
    "002_1": ["line 12", "ends in line 7 with RuntimeError: self must be a matrix", "not a leaf", "retain_grad"],
    "002_2": ["line 14", "ends in line 7 with RuntimeError: self must be a matrix", "not a leaf", "retain_grad"],
    "002_3": ["line 14", "ends in line 8 with RuntimeError: self must be a matrix", "nothing is recorded", "raises"],
    "003_1": ["not necessary", "line 13", "one element"],
    "003_2": ["not necessary", "line 21", "one element"],
    "003_3": ["not necessary", "[1, 1], one element; gradient= is given, and is not needed"],
}


@pytest.mark.parametrize("snippet", ANSWERS)
def test_the_questions_it_began_from(snippet: str) -> None:
    text, found = asked(TITLES[snippet[:3]], (SEEDS / f"seed_{snippet}.py").read_text())
    assert found
    for words in ANSWERS[snippet]:
        assert words in text, text


TRAINING = """import torch
import torch.nn as nn
encoder, head = nn.Linear(3, 2), nn.Linear(2, 1)
x = torch.randn(4, 3)
hidden = torch.tanh(encoder(x))
out = head(hidden)
loss = out.pow(2).mean()
loss.backward()
w = encoder.weight
print(w.grad, hidden.grad, x.grad)
flag = hidden.requires_grad
try:
    loss.backward()
except RuntimeError as error:
    print(error)
"""


@pytest.mark.parametrize(("question", "words"), [
    ("why is hidden.grad None", ["hidden.grad", "[non-leaf-no-retain]", "hidden.retain_grad()"]),
    ("Why is `hidden.grad` None??", ["[non-leaf-no-retain]"]),
    ("why hiden.grad is none", ["hidden.grad", "[non-leaf-no-retain]"]),
    ("is hidden.grad supposed to be empty", ["[non-leaf-no-retain]"]),
    ("why is encoder.weight.grad None", ["It is not None here", "Nothing is wrong", "[ok]"]),
    ("what is encoder.bias.grad", ["Nothing is wrong", "computed by the backward in line 8"]),
    ("why is x.grad None after loss.backward()", ["x.grad", "[never-required-grad]"]),
    ("why does hidden.requires_grad say True", ["requires_grad is True", "line 5"]),
    ("why does loss.backward() raise an error", ["[graph-freed]"]),
    ("RuntimeError: Trying to backward through the graph a second time. I call it once!", ["[graph-freed]"]),
    ("what happens in line 13", ["[graph-freed]"]),
    ("is the gradient argument of backward needed", ["not necessary", "`loss` has shape []"]),
])
def test_questions(question: str, words: list[str]) -> None:
    text, found = asked(question, TRAINING)
    assert found, text
    for word in words:
        assert word in text, text


def test_a_question_that_names_nothing_is_about_what_is_puzzling() -> None:
    program = ("import torch\nw = torch.ones(2, requires_grad=True)\nb = torch.ones(2, requires_grad=True)\n"
               "((w * 2).detach() + b).sum().backward()\nprint(b.grad, w.grad)\n")
    text, found = asked("My model does not learn at all. What is going on?", program)
    assert found
    assert "[detach]" in text


def test_a_question_about_another_program() -> None:
    text, found = asked("why is foo.grad None", TRAINING)
    assert not found
    assert "Nothing in this program fits" in text
    assert "hidden.grad" in text


def test_a_kept_gradient() -> None:
    text, _ = asked(TITLES["001"], "import torch\nw = torch.ones(2, requires_grad=True)\n(w * 2).sum().backward()\n"
                    "w.requires_grad_(False)\nprint(w.grad)\n")
    assert "[stale-grad-after-freeze]" in text


def test_grad_output_with_create_graph() -> None:
    program = "import torch\nx = torch.ones(2, requires_grad=True)\n(x ** 2).sum().backward(create_graph=True)\n"
    text, found = asked(TITLES["000"], program)
    assert found
    assert "was recorded (create_graph=True)" in text


@pytest.mark.parametrize(("question", "found"), [
    ("why is `a.grad` None after loss.backward()?", ["a.grad", "loss.backward()"]),
    ("after loss.backward() why is a[0].grad None", ["a[0].grad", "loss.backward()"]),
    ("why is this. Not that", []),
    ("model.blocks[0].weight.grad", ["model.blocks[0].weight.grad"]),
    ("`a b c`", []),
])
def test_expressions(question: str, found: list[str]) -> None:
    assert ask.expressions(question) == found


def test_the_command(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(TRAINING + "import sys\nassert sys.argv[1:] == ['--timeout=3', 'b']\nprint('hidden output')\n")

    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-m", "whygrad", "ask", *arguments], cwd=tmp_path, capture_output=True, text=True,
                              env={**os.environ, "PYTHONPATH": SOURCE}, timeout=120, check=False)

    done = call("why is hidden.grad None", "program.py", "--timeout=3", "b")
    assert done.returncode == 0, done.stderr
    assert "[non-leaf-no-retain]" in done.stdout
    assert "hidden output" not in done.stdout
    assert call("why is foo.grad None", "program.py", "--timeout=3", "b").returncode == 1
    script.write_text("import os\nos._exit(3)\n")
    assert "left no report" in call("why", "program.py").stderr


@pytest.mark.parametrize("arguments", [[], ["why"], ["why", "nowhere.py"], ["--nonsense", "why", "x.py"]])
def test_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        ask.main(arguments)
    assert ended.value.code == 2
    assert "usage: whygrad ask" in capsys.readouterr().err


FROZEN_AND_UNSTEPPED = """import torch
import torch.nn as nn
model = nn.Linear(2, 1)
model.bias.requires_grad_(False)
opt = torch.optim.SGD([model.weight], lr=0.1)
for _ in range(3):
    opt.zero_grad()
    model(torch.ones(1, 2)).sum().backward()
kept = model(torch.ones(1, 2)).grad
"""


@pytest.mark.parametrize(("question", "words"), [
    ("hello", None), ("why is loss nan", None), ("why is model.bias.grad None", "[frozen]"),
    ("why does the model not learn", "[step-missing]")])
def test_an_answer_fits_the_question_or_there_is_none(question: str, words: str | None) -> None:
    text, found = asked(question, FROZEN_AND_UNSTEPPED)
    assert found is (words is not None)
    assert (words or "Nothing in this program fits") in text


def test_a_change_is_told_once() -> None:
    told, _ = asked("why is y.grad None?", "import torch\nw = torch.ones(2, requires_grad=True)\ny = w * 2\ny.sum().backward()\n"
                                           "print(y.grad)\n")
    assert told.count("becomes") == 1, told
