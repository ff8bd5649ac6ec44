"""`whygrad run`: each puzzling outcome of a program is answered with its cause; a program in order gets no answer.

In the programs `#READ` marks the line of the puzzling read (or of the call that raises), `#CAUSE` the root cause.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import interpreters
import pytest

HEAD = "import torch\nimport torch.nn as nn\ntorch.manual_seed(0)\n"

PUZZLES: dict[str, tuple[str, str]] = {
    "an output's gradient": ("non-leaf-no-retain", """
net = nn.Linear(3, 1)
out = net(torch.randn(4, 3))  #CAUSE
out.mean().backward()
print(out.grad)  #READ
"""),
    "a plain input": ("never-required-grad", """
net = nn.Linear(3, 1)
x = torch.randn(4, 3)  #CAUSE
net(x).mean().backward()
g = x.grad  #READ
"""),
    "frozen, then asked": ("frozen", """
net = nn.Linear(3, 1)
net.weight.requires_grad_(False)  #CAUSE
net(torch.randn(4, 3)).mean().backward()
print(net.weight.grad)  #READ
"""),
    "left over from before the freeze": ("stale-grad-after-freeze", """
w = torch.ones(3, requires_grad=True)
(w * 2).sum().backward()
w.requires_grad_(False)  #CAUSE
print(w.grad)  #READ
"""),
    "detached inside a helper": ("detach", """
w = torch.ones(3, requires_grad=True)
b = torch.ones(3, requires_grad=True)
def encode(x):
    return (x * w).detach()  #CAUSE
loss = (encode(torch.ones(3)) + b).sum()
loss.backward()
print(w.grad)  #READ
"""),
    "computed under no_grad": ("grad-mode-off", """
w = torch.ones(3, requires_grad=True)
b = torch.ones(3, requires_grad=True)
@torch.no_grad()
def features(x):
    return x * w  #CAUSE
(features(torch.ones(3)) * b).sum().backward()
print(w.grad)  #READ
"""),
    "grad mode left off": ("grad-mode-off", """
w = torch.ones(3, requires_grad=True)
def evaluate():
    torch.set_grad_enabled(False)
evaluate()
loss = (w * 2).sum()  #CAUSE
try:
    loss.backward()  #READ
except RuntimeError:
    pass
"""),
    "an integer on the way": ("non-differentiable-op", """
w = torch.randn(3, requires_grad=True)
loss = (w > 0).float().mean()  #CAUSE
try:
    loss.backward()  #READ
except RuntimeError as error:
    print(error)
"""),
    "numbers copied into a new leaf": ("value-copied-out", """
w = torch.ones(3, requires_grad=True)
parts = [w[0] * 2, w[1] * 3]
loss = torch.tensor(parts, requires_grad=True).sum()  #CAUSE
loss.backward()
print(w.grad)  #READ
"""),
    "wrapped as a parameter": ("parameter-rewrapped", """
theta = torch.ones(3, requires_grad=True)
fast = nn.Parameter(theta - 0.1)  #CAUSE
(fast * 2).sum().backward()
print(theta.grad)  #READ
"""),
    "a head that is not in the loss": ("unused-in-loss", """
body, head, other = nn.Linear(2, 2), nn.Linear(2, 1), nn.Linear(2, 1)
h = body(torch.ones(1, 2))
loss = head(h).sum()  #CAUSE
loss.backward()
print(other.weight.grad)  #READ
"""),
    "an unused input of grad": ("unused-in-loss", """
a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
try:
    torch.autograd.grad((a * 2).sum(), b)  #READ #CAUSE
except RuntimeError:
    pass
"""),
    "the name means something else": ("leaf-replaced", """
w = torch.ones(3, requires_grad=True)
(w * 2).sum().backward()
w = w - 0.1 * w.grad  #CAUSE
(w * 2).sum().backward()
print(w.grad)  #READ
"""),
    "scaled at creation": ("leaf-replaced", """
w = torch.randn(3, requires_grad=True) * 0.01  #CAUSE
(w * 2).sum().backward()
print(w.grad)  #READ
"""),
    "a loss made to require grad": ("loss-requires-grad-patch", """
w = torch.ones(3, requires_grad=True)
loss = (w * 2).detach().sum()
loss.requires_grad = True  #CAUSE
loss.backward()
print(w.grad)  #READ
"""),
    "never cleared": ("grad-accumulated", """
w = torch.ones(3, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
for _ in range(2):
    (w * w).sum().backward()  #CAUSE
    print(w.grad)  #READ
    optimizer.step()
"""),
    "cleared too early": ("grad-cleared", """
w = torch.ones(3, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
(w * w).sum().backward()
optimizer.zero_grad()  #CAUSE
print(w.grad)  #READ
"""),
    "cleared before the step": ("grad-cleared", """
w = torch.ones(3, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
(w * w).sum().backward()
optimizer.zero_grad()  #CAUSE
optimizer.step()  #READ
"""),
    "layers in a list": ("not-in-optimizer", """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = [nn.Linear(2, 2)]
        self.out = nn.Linear(2, 1)
    def forward(self, x):
        return self.out(self.layers[0](x))
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)  #CAUSE
net(torch.ones(1, 2)).sum().backward()
optimizer.step()
print(net.layers[0].weight.grad)  #READ
"""),
    "twice through one graph": ("graph-freed", """
x = torch.ones(2, requires_grad=True)
y = x.exp()  #CAUSE
y.sum().backward()
try:
    y.mean().backward()  #READ
except RuntimeError:
    pass
"""),
    "a vector": ("non-scalar-backward", """
x = torch.ones(2, requires_grad=True)
y = x * 2  #CAUSE
try:
    y.backward()  #READ
except RuntimeError:
    pass
"""),
    "a gradient of another shape": ("gradient-shape-mismatch", """
x = torch.ones(2, requires_grad=True)
try:
    x.sum().backward(torch.ones(2))  #READ #CAUSE
except RuntimeError:
    pass
"""),
    "a leaf changed in place": ("leaf-inplace", """
w = torch.ones(2, requires_grad=True)
try:
    w += 1  #READ #CAUSE
except RuntimeError:
    pass
"""),
    "a saved value overwritten": ("inplace-saved-tensor", """
x = torch.ones(2, requires_grad=True)
y = x.exp()
y += 1  #CAUSE
try:
    y.sum().backward()  #READ
except RuntimeError:
    pass
"""),
    "stepped before the backward": ("inplace-saved-tensor", """
net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
loss = net(torch.ones(1, 2)).sum()
loss.backward(retain_graph=True)
optimizer.step()  #CAUSE
try:
    loss.backward()  #READ
except RuntimeError:
    pass
"""),
    "a gradient without history": ("no-create-graph", """
x = torch.ones(2, requires_grad=True)
g, = torch.autograd.grad((x ** 3).sum(), x)  #CAUSE
penalty = (g ** 2).sum()
try:
    penalty.backward()  #READ
except RuntimeError:
    pass
"""),
    "a backward that returns nothing": ("custom-backward", """
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, g):
        g * 2
x = torch.ones(2, requires_grad=True)
y = Double.apply(x)  #CAUSE
y.sum().backward()
print(x.grad)  #READ
"""),
    "a dead relu": ("zero-local-derivative", """
w = torch.ones(2, requires_grad=True)
h = torch.relu(w - 10)  #CAUSE
(h * 3 + 1).sum().backward()
print(w.grad)  #READ
"""),
    "a zero weight": ("zero-factor", """
w = torch.ones(2, requires_grad=True)
loss = ((w * 2) * torch.zeros(2)).sum()  #CAUSE
loss.backward()
print(w.grad)  #READ
"""),
    "the square root of zero": ("nan-derivative", """
x = torch.tensor([0.0, 1.0], requires_grad=True)
y = torch.where(x > 0, torch.sqrt(x), torch.zeros(2))  #CAUSE
y.sum().backward()
print(x.grad)  #READ
"""),
    "a column against a row": ("broadcast-loss", """
net = nn.Linear(2, 1)
target = torch.randn(5)
loss = ((net(torch.randn(5, 2)) - target) ** 2).mean()  #CAUSE
loss.backward()
print(net.weight.grad)  #READ
"""),
}

IN_ORDER: dict[str, str] = {
    "frozen layers, looked at with care": """
net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
net[0].requires_grad_(False)
net(torch.ones(1, 2)).sum().backward()
for p in net.parameters():
    if p.grad is not None:
        print(p.grad.norm())
""",
    "training": """
net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
optimizer = torch.optim.Adam(net.parameters())
x, y = torch.randn(8, 3), torch.randn(8, 1)
for _ in range(3):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(net(x), y)
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        print(net(x).requires_grad, net[0].weight.grad.norm())
""",
    "before anything happened": """
x = torch.ones(2, requires_grad=True)
print(x.grad, torch.ones(2).grad)
""",
    "accumulation on purpose": """
net = nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
    for part in torch.randn(4, 2, 3):
        net(part).mean().backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    print(net.weight.grad)
    optimizer.step()
""",
    "a generator and a discriminator": """
G, D = nn.Linear(2, 2), nn.Linear(2, 1)
og, od = torch.optim.SGD(G.parameters(), lr=0.1), torch.optim.SGD(D.parameters(), lr=0.1)
for _ in range(2):
    fake = G(torch.randn(4, 2))
    od.zero_grad()
    (D(fake.detach()).mean() - D(torch.randn(4, 2)).mean()).backward()
    od.step()
    og.zero_grad()
    (-D(fake).mean()).backward()
    og.step()
    print(G.weight.grad.norm(), D.weight.grad.norm())
""",
    "a hand-written update": """
w = torch.ones(3, requires_grad=True)
for _ in range(3):
    (w * w).sum().backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
        w.grad.zero_()
print(w)
""",
    "rows of an embedding": """
table = nn.Embedding(5, 2)
optimizer = torch.optim.SGD(table.parameters(), lr=0.1)
table(torch.tensor([1, 3])).sum().backward()
print(table.weight.grad)
optimizer.step()
""",
    "truncated backpropagation": """
cell = nn.RNNCell(2, 3)
h = torch.zeros(1, 3)
for x in torch.randn(3, 1, 2):
    h = cell(x, h.detach())
    h.sum().backward()
print(cell.weight_ih.grad.shape)
""",
    "a pairwise difference": """
a = torch.randn(4, 2, requires_grad=True)
((a[:, None] - a[None]) ** 2).sum().backward()
print(a.grad)
""",
    "a straight-through estimator": """
w = torch.randn(3, requires_grad=True)
hard = (w > 0).float()
soft = torch.sigmoid(w)
((hard - soft).detach() + soft).sum().backward()
print(w.grad)
""",
}


def run(tmp_path: Path, program: str) -> tuple[list[dict[str, Any]], subprocess.CompletedProcess[str], list[str]]:
    script, answers = tmp_path / "program.py", tmp_path / "answers.json"
    script.write_text(HEAD + program)
    done = interpreters.run(["-m", "whygrad", "run", f"--json={answers}", str(script)])
    assert answers.exists(), done.stderr
    return json.loads(answers.read_text()), done, (HEAD + program).splitlines()


def lines_marked(lines: list[str], mark: str) -> list[int]:
    return [number for number, line in enumerate(lines, 1) if mark in line]


@pytest.mark.parametrize("name", PUZZLES)
def test_puzzle(name: str, tmp_path: Path) -> None:
    category, program = PUZZLES[name]
    answers, done, lines = run(tmp_path, program)
    shown = json.dumps(answers, indent=1) + done.stderr
    assert done.returncode == 0, shown
    fitting = [a for a in answers if a["category"] == category and a["line"] in lines_marked(lines, "#READ")]
    assert fitting, shown
    assert {c["line"] for c in fitting[0]["causes"]} & set(lines_marked(lines, "#CAUSE")), shown
    assert len(answers) == 1, shown
    assert fitting[0]["fix"] or "why" in fitting[0]["text"] or len(fitting[0]["text"]) > 40
    assert category in done.stderr


FAILING = {
    "an assertion in a function": """
def main():
    model = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
    hidden = model[0](torch.randn(4, 2)).detach()  #CAUSE
    model[2](torch.tanh(hidden)).sum().backward()
    for name, p in model.named_parameters():
        assert p.grad is not None, name  #READ
main()
""",
    "an assertion over all parameters": """
def check(model):
    assert all(p.grad is not None for p in model.parameters()), "no gradient"  #READ
model = nn.Linear(2, 1)
loss = model(torch.ones(1, 2)).detach().requires_grad_().sum()  #CAUSE
loss.backward()
check(model)
""",
    "a test that raises": """
a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
(a.detach() * b).sum().backward()  #CAUSE
if a.grad is None:  #READ
    raise ValueError("a has no gradient")
""",
}


@pytest.mark.parametrize("name", FAILING)
def test_a_failing_assertion_is_a_question(name: str, tmp_path: Path) -> None:
    answers, done, lines = run(tmp_path, FAILING[name])
    assert done.returncode == 1
    [read] = lines_marked(lines, "#READ")
    assert [(a["category"], a["line"]) for a in answers] == [("detach", read)], done.stderr
    assert {c["line"] for c in answers[0]["causes"]} & set(lines_marked(lines, "#CAUSE"))


def test_an_assertion_that_holds_is_none(tmp_path: Path) -> None:
    program = FAILING["an assertion over all parameters"].replace("all(", "not all(")
    answers, done, _ = run(tmp_path, program)
    assert done.returncode == 0, done.stderr
    assert [a["category"] for a in answers] in ([], ["loss-requires-grad-patch"])


@pytest.mark.parametrize("name", IN_ORDER)
def test_in_order(name: str, tmp_path: Path) -> None:
    answers, done, _ = run(tmp_path, IN_ORDER[name])
    assert done.returncode == 0, done.stderr
    assert answers == [], done.stderr
    assert done.stderr == ""


def test_strict_only_and_quiet(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(HEAD + PUZZLES["an output's gradient"][1])

    def result(*options: str) -> tuple[int, str]:
        done = interpreters.run(["-m", "whygrad", "run", *options, str(script)], env={**os.environ, "PYTHONWARNINGS": "ignore"})
        return done.returncode, done.stderr

    assert result("--quiet")[0] == 0
    assert "non-leaf" not in result("--quiet")[1]
    assert result("--strict")[0] == 3
    assert result("--strict", "--only=graph-freed") == (0, "")
    assert "non-leaf" in result("--live")[1]


NEVER_CLEARED = """import torch
w = torch.ones(2, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
for i in range(3):
    w.sum().backward()
    optimizer.step()
import sys
print("the end", file=sys.stderr)
"""


def test_told_while_the_program_runs() -> None:
    """And a program that is in no file is shown how it is mended, too."""
    done = interpreters.run(["-m", "whygrad", "run", "--live", "-c", NEVER_CLEARED])
    told, _, after = done.stderr.partition("the end")
    assert "grad-accumulated" in told
    assert "    optimizer.zero_grad()\n" in told
    assert after.strip() == ""
