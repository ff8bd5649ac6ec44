"""One answer for each cause, with the parameters it concerns; parameters are told apart by their models; nothing is dropped."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from why.running import piped

from whygrad.why.answers import Answers
from whygrad.why.audit.finding import finding
from whygrad.why.locations import SourceLocation
from whygrad.why.watch import Watch

HEAD = "import torch\nimport torch.nn as nn\n\ntorch.manual_seed(0)\n\n\n"

# Two branches are cut, each by a line of its own.
TWO_CUTS = HEAD + '''\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.left, self.right, self.head = nn.Linear(4, 3), nn.Linear(4, 3), nn.Linear(6, 1)

    def forward(self, x):
        left = self.left(x).detach()
        right = self.right(x).detach()
        return self.head(torch.cat([left, right], 1))


def main():
    net = Net()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(8):
        opt.zero_grad()
        (net(torch.randn(8, 4)) - 1).pow(2).mean().backward()
        opt.step()


main()
'''

# A model is made by %s; the first of the two is cut off. `parts` gives them.
TWO_MODELS = HEAD + '''\
class Net(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.layer = nn.Linear(n_in, n_out)

    def forward(self, x):
        return self.layer(x)


def build(n_in, n_out):
    return Net(n_in, n_out)


class Trainer:
    def __init__(self):
        self.encoder = build(4, 3)
        self.decoder = build(3, 1)

    def parts(self):
        return self.encoder, self.decoder


def train(encoder, decoder):
    opt = torch.optim.SGD([*encoder.parameters(), *decoder.parameters()], lr=0.1)
    for _ in range(8):
        opt.zero_grad()
        codes = encoder(torch.randn(8, 4)).detach()
        (decoder(codes) - 1).pow(2).mean().backward()
        opt.step()


def main():
%s


main()
'''


def answers_of(folder: Path, program: str, engine: str) -> list[dict[str, Any]]:
    (folder / "p.py").write_text(program)
    done = piped(folder, f"--engine={engine}", "--json=answers.json", "p.py")
    assert done.returncode == 0, done.stderr
    assert "could not be resolved" not in done.stderr, done.stderr
    found: list[dict[str, Any]] = json.loads((folder / "answers.json").read_text())
    return found


@pytest.mark.parametrize("engine", ["whygrad", "torch"])
def test_two_causes_at_one_step_are_two_answers(tmp_path: Path, engine: str) -> None:
    found = answers_of(tmp_path, TWO_CUTS, engine)
    assert [(a["category"], a["causes"][0]["line"], a["parameters"]) for a in found] == [
        ("detach", 13, ["left.weight", "left.bias"]), ("detach", 14, ["right.weight", "right.bias"])]


def test_two_causes_in_one_line(tmp_path: Path) -> None:
    one_line = TWO_CUTS.replace("""detach()
        right =""", "detach(); right =")
    assert [a["parameters"] for a in answers_of(tmp_path, one_line, "whygrad")] == [
        ["left.weight", "left.bias"], ["right.weight", "right.bias"]]


@pytest.mark.parametrize(("making", "names"), [
    ("    one = Net(4, 3)\n    other = Net(3, 1)\n    train(one, other)", "one.layer.{}"),
    ("    one, other = Net(4, 3), Net(3, 1)\n    train(one, other)", "one.layer.{}"),
    ("    one = build(4, 3)\n    other = build(3, 1)\n    train(one, other)", "one.layer.{}"),
    ("    nets = [build(4, 3), build(3, 1)]\n    train(*nets)", "nets[0].layer.{}"),
    ("    nets = [build(n, m) for n, m in ((4, 3), (3, 1))]\n    train(*nets)", "nets[0].layer.{}"),
    ("    nets = {'e': build(4, 3), 'd': build(3, 1)}\n    train(*nets.values())", "nets['e'].layer.{}"),
    ("    train(*Trainer().parts())", "encoder.layer.{}"),
    ("    train(Net(4, 3),\n          Net(3, 1))", "layer.{} (Net of line 39)"),
    ("    model = Net(4, 3)\n    train(model, nn.Linear(3, 1))", "layer.{}"),  # clear without
])
def test_models_are_told_apart(tmp_path: Path, making: str, names: str) -> None:
    (found,) = answers_of(tmp_path, TWO_MODELS % making, "whygrad")
    assert found["parameters"] == [names.format("weight"), names.format("bias")]


def test_models_are_told_apart_on_torch(tmp_path: Path) -> None:
    (found,) = answers_of(tmp_path, TWO_MODELS % "    one, other = build(4, 3), build(3, 1)\n    train(one, other)", "torch")
    assert found["parameters"] == ["one.layer.weight", "one.layer.bias"]


def test_the_folds_of_one_line_have_one_name(tmp_path: Path) -> None:
    making = "    for _ in range(3):\n        one, other = Net(4, 3), nn.Linear(3, 1)\n        train(one, other)"
    (found,) = answers_of(tmp_path, TWO_MODELS % making, "whygrad")
    assert found["parameters"] == ["layer.weight", "layer.bias"]


class TestFindingsWithoutALine:
    """A watch that is switched on late knows no line of what was made before."""

    def concluded(self, made_at: SourceLocation | None) -> Answers:
        from whygrad import nn, optim

        opt = optim.SGD(nn.Linear(2, 1).parameters(), lr=0.1)
        watch = Watch()
        watch.start()
        known = watch.audit.record_of(opt)
        known.steps, known.made_at = 1, made_at  # type: ignore[assignment]
        subject = watch.audit.subjects[0]
        subject.findings = lambda: [finding("rates", "learning-rate-zero", "no rate", "It is 0.", "set it.")]  # type: ignore[method-assign]
        return Answers(a for a in watch.stop() if a.explanation.category == "learning-rate-zero")

    def test_the_nearest_is_said(self) -> None:
        made = SourceLocation(__file__, 7, 7, 0, 3, "", "SGD(...)")
        assert [answer.location for answer in self.concluded(made)] == [made]

    def test_or_none(self) -> None:
        (answer,) = self.concluded(None)
        assert answer.location.line == 0
        assert ":0" not in str(answer)
        assert "no rate [learning-rate-zero]" in str(answer)
