"""The audit over a run: which rounds it looks at, what it remembers, and that the program does not notice it."""

from __future__ import annotations

import weakref
from pathlib import Path

import pytest
from why.running import piped

from whygrad import nn
from whygrad.why.audit import rounds
from whygrad.why.audit.audit import CONSEQUENCES
from whygrad.why.audit.module_tree import ModuleTree
from whygrad.why.audit.series import MAX_ENTRIES, Series

HEAD = "import torch\nimport torch.nn as nn\n\ntorch.manual_seed(0)\n\n\n"

# Born long after the first rounds, while the audit rests.
LATE = HEAD + '''
def main():
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=1e-4)
    for step in range(700):
        out = model(torch.rand(8, 4))
        bound = max(600 - step, 0)
        loss = out.pow(2).mean() + 1e-9 * torch.log(out.abs() * bound).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()


main()
'''

# A second stage, which begins when the audit rests.
SECOND_STAGE = HEAD + '''
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head, self.cut = nn.Sequential(nn.Linear(3, 4), nn.Tanh()), nn.Linear(4, 1), False

    def forward(self, x):
        h = self.body(x)
        return self.head(h.detach() if self.cut else h)


def train(net, steps):
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(steps):
        opt.zero_grad()
        (net(torch.randn(8, 3)) - 1).pow(2).mean().backward()
        opt.step()


train(Net(), 400)
second = Net()
second.cut = True
train(second, 10)
'''

KEYWORDS = HEAD + '''
def main():
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(8):
        opt.zero_grad()
        (model(torch.randn(16, 3)) - 1).pow(2).mean().backward()
        nn.utils.clip_grad_norm_(parameters=model.parameters(), norm_type=2.0, max_norm=1e-7)
        opt.step()


main()
'''

# An optimizer that the audit cannot read: its groups are no dicts of lists.
ODD_OPTIMIZER = HEAD + '''
class Mine(torch.optim.Optimizer):
    def __init__(self, parameters):
        super().__init__(parameters, {})
        self.param_groups = 7

    def step(self, closure=None):
        pass


opt = Mine([torch.zeros(2, requires_grad=True)])
for _ in range(3):
    opt.step()
print("done")
'''


@pytest.mark.parametrize(("program", "words"), [
    (LATE, ["not finite from step 601 on", "log", "[nan-forward]", "line 14"]),
    (SECOND_STAGE, ["[detach]", "body.0.weight", "line 15"]),
    (KEYWORDS, ["[clip-too-tight]", "at most 1e-07"]),
], ids=["late", "second stage", "keywords"])
def test_noticed(tmp_path: Path, program: str, words: list[str]) -> None:
    (tmp_path / "p.py").write_text(program)
    done = piped(tmp_path, "--json=answers.json", "p.py")
    told = done.stderr + (tmp_path / "answers.json").read_text()
    assert not [word for word in words if word not in told], told
    assert "could not be resolved" not in done.stderr


def test_an_error_of_the_audit_does_not_reach_the_program(tmp_path: Path) -> None:
    (tmp_path / "p.py").write_text(ODD_OPTIMIZER)
    done = piped(tmp_path, "p.py")
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


def test_the_id_of_a_module_that_is_gone_is_used_again() -> None:
    tree = ModuleTree()
    try:
        module = nn.Linear(2, 2)
        tree.roots.clear()
        tree._inner[id(module)] = weakref.ref(nn.Linear(1, 1))  # gone by now
        tree._add_root(module)
        assert tree.owner(module.weight) == (module, "weight")
    finally:
        tree.stop()


def test_rounds() -> None:
    observed = [number for number in range(100) if rounds.is_observed(number)]
    assert observed == [*range(12), 16, 17, 24, 25, 32, 33, 48, 49, 64, 65, 96, 97]
    assert [number for number in range(250, 400) if rounds.is_listened(number)] == [*range(250, 257), 320, 384]


def test_a_series_is_bounded_and_knows_its_ends() -> None:
    series = Series()
    for number in range(10_000):
        series.add(number, float(number))
    assert len(series.entries) <= MAX_ENTRIES
    assert (series.first, series.last, series.least, series.greatest) == (0, 9999, 0, 9999)
    steps = {b - a for (a, _), (b, _) in zip(series.entries, series.entries[1:], strict=False)}
    assert len(steps) == 1


def test_no_two_findings_hide_each_other() -> None:
    assert not [(a, b) for a, hidden in CONSEQUENCES.items() for b in hidden if a in CONSEQUENCES.get(b, ())]


def test_while_it_rests_no_round_is_missed() -> None:
    for number in range(3000):
        if not rounds.is_observed(number) and not rounds.is_listened(number):
            between = range(number + 1, rounds.next_look(number))
            assert not any(rounds.is_observed(n) or rounds.is_listened(n) for n in between), number


def test_without_an_optimizer_backward_passes_are_the_rounds() -> None:
    """A loop that updates by hand, or only computes gradients, is not observed closely for ever."""
    from whygrad import ones
    from whygrad.why.watch import Watch

    w = ones(3).requires_grad_()
    watch = Watch()
    watch.start()
    try:
        for _ in range(rounds.PASSES_WITHOUT_STEP + rounds.LISTENED_FIRST + 10):
            (w * 2).sum().backward()
            w.grad = None
        assert watch.audit.is_resting
    finally:
        watch.stop()
