"""Between the rounds that are recorded in full: errors name their lines, nothing waits for a device, nothing is made up."""

from __future__ import annotations

import itertools
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from whygrad.for_torch import later, tensor_facts  # noqa: E402
from whygrad.for_torch.lean import SIZE, SiteRing  # noqa: E402
from whygrad.why import engine  # noqa: E402
from whygrad.why.audit import rounds  # noqa: E402
from whygrad.why.explain import explain  # noqa: E402
from whygrad.why.watch import Watch  # noqa: E402


@pytest.fixture(autouse=True)
def on_torch() -> Iterator[None]:
    before = engine.current
    engine.choose("torch")
    yield
    engine.current = before


class Training:
    """A small model under a watch; `rest()` trains until the audit rests."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.watch = Watch()
        self.watch.start()
        self.net = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.01)

    def step(self, part: Any = None) -> None:
        self.optimizer.zero_grad()
        (part or self.net)(torch.randn(8, 4)).pow(2).mean().backward()
        self.optimizer.step()

    def rest(self) -> None:
        for _ in itertools.takewhile(lambda _: not self.watch.audit.is_resting, range(100)):
            self.step()
        assert self.watch.audit.is_resting
        assert not self.watch.traces


@pytest.fixture
def training() -> Iterator[Training]:
    running = Training()
    yield running
    running.watch.stop()
    assert running.watch.failures == []


def twice(t: Training) -> None:
    loss = t.net(torch.ones(2, 4)).sum()  # made
    loss.backward()  # cause
    loss.backward()


def carried(t: Training) -> None:
    h = torch.zeros(4)
    for _ in range(3):
        h = torch.tanh(t.net[0](h))  # made
        h.sum().backward()  # cause


def written(t: Training) -> None:
    h = t.net(torch.ones(2, 4)).exp()  # made
    h += 1  # cause
    h.sum().backward()


def stepped(t: Training) -> None:
    loss = t.net(torch.ones(2, 4)).sum()  # made
    loss.backward(retain_graph=True)
    t.optimizer.step()  # cause
    loss.backward()


def detached(t: Training) -> None:
    h = t.net(torch.ones(2, 4)).detach()  # cause
    (h * 2).sum().backward()


def data(t: Training) -> None:
    loss = torch.as_tensor(t.net(torch.ones(2, 4)).sum().detach().tolist()) * 1
    other = t.net(torch.ones(2, 4)).data  # cause
    (loss + other.sum()).backward()


def compared(t: Training) -> None:
    right = t.net(torch.ones(2, 4)) > 0  # cause
    right.float().mean().backward()


def without_grad(t: Training) -> None:
    with torch.no_grad():
        out = t.net(torch.ones(2, 4))  # cause
    loss = out.sum()
    loss.backward()


def not_scalar(t: Training) -> None:
    out = t.net(torch.ones(2, 4)) * 2  # cause
    out.backward()


ERRORS = {twice: "graph-freed", carried: "graph-freed", written: "inplace-saved-tensor", stepped: "inplace-saved-tensor",
          detached: "detach", data: "detach", compared: "non-differentiable-op", without_grad: "grad-mode-off",
          not_scalar: "non-scalar-backward"}


def lines_marked(function: Any, mark: str) -> set[int]:
    first = function.__code__.co_firstlineno
    text = Path(__file__).read_text().splitlines()
    last = next((i for i in range(first, len(text)) if text[i].startswith(("def ", "ERRORS"))), len(text))
    return {i + 1 for i in range(first, last) if text[i].endswith(f"# {mark}")}


@pytest.mark.parametrize("program", ERRORS)
def test_errors_of_resting_rounds_name_their_lines(training: Training, program: Any) -> None:
    training.rest()
    with pytest.raises(RuntimeError):
        program(training)
    (answer,) = training.watch.answers
    assert answer.explanation.category == ERRORS[program]
    lines = {cause.line for cause in answer.explanation.causes}
    assert lines & lines_marked(program, "cause")
    assert lines >= lines_marked(program, "made")


def test_unrecorded_graph_is_not_called_unused(training: Training) -> None:
    """The forward ran while the audit rested, the backward is traced: a detach in it was not followed."""
    training.rest()
    hidden = training.net[0](torch.ones(2, 4)).detach()
    loss = training.net[2](hidden).sum()
    training.optimizer.zero_grad()
    training.watch.trace(True)
    loss.backward()
    found = explain(training.net[0].weight)
    assert found.category == "not-seen"


def test_what_is_carried_over_into_a_full_round_is_not_called_unused(training: Training) -> None:
    training.rest()
    unused = nn.Parameter(torch.ones(4))
    cached = (training.net[0](torch.ones(2, 4)) * unused.detach()).tanh()
    training.watch.trace(True)
    (cached * 2).sum().backward()
    assert explain(unused).category == "not-seen"


def test_untraced_backward_is_not_explained_from_old_ones(training: Training) -> None:
    training.rest()
    training.optimizer.zero_grad()
    training.net[2](torch.ones(2, 4)).sum().backward()
    assert explain(training.net[0].weight).category == "not-seen"
    assert explain(training.net[2].weight).category == "not-seen"
    training.step()  # armed: the next rounds are recorded
    assert not training.watch.audit.is_resting


def test_parameter_that_only_resting_rounds_reach_is_not_called_unused() -> None:
    watch = Watch()
    watch.start()
    torch.manual_seed(0)
    first, late = nn.Linear(4, 4), nn.Linear(4, 4)
    optimizer = torch.optim.SGD([*first.parameters(), *late.parameters()], lr=0.01)
    for number in range(47):  # 17 to 23, 26 to 31 and 34 to 47 are not recorded
        optimizer.zero_grad()
        out = first(torch.randn(8, 4))
        (late(out) if 36 < number < 45 else out).pow(2).mean().backward()
        optimizer.step()
    watch.stop()
    assert watch.failures == []
    assert "unused-in-loss" not in {answer.explanation.category for answer in watch.answers}


@pytest.mark.parametrize("name", ["cpu", "item", "numpy", "tolist", "__float__", "__bool__"])
def test_resting_rounds_read_no_values_of_a_device(training: Training, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if every tensor lay on a device: none of whygrad's frames may ask for its numbers."""
    training.net[0].weight.register_hook(lambda g: g * 1)
    training.net[2].register_full_backward_hook(lambda module, came, left: None)
    training.rest()
    monkeypatch.setattr("whygrad.for_torch.later.read_later", lambda t: lambda: None)
    monkeypatch.setattr("whygrad.for_torch.later.is_near", lambda t: False)
    monkeypatch.setattr("whygrad.for_torch.engine.TorchEngine.is_near", staticmethod(lambda t: False))
    asked: list[str] = []
    plain = getattr(torch.Tensor, name)

    def spy(t: Any, *args: Any, **kwargs: Any) -> Any:
        frame = sys._getframe(1)
        while "torch" in frame.f_globals.get("__name__", "").split("."):
            frame = frame.f_back  # type: ignore[assignment]
        if frame.f_globals.get("__name__", "").startswith("whygrad."):
            asked.append("".join(traceback.format_stack(frame, 2)))
        return plain(t, *args, **kwargs)

    monkeypatch.setattr(torch.Tensor, name, spy)
    while training.watch.audit.is_resting and training.watch.audit.round < 95:
        training.step()
        if training.watch.audit.is_resting:
            nn.utils.clip_grad_norm_(training.net.parameters(), 1.0)
    monkeypatch.undo()
    assert asked == []


def test_new_line_of_backward_is_recorded_in_full(training: Training) -> None:
    for _ in range(35):
        training.step()
    assert training.watch.audit.is_resting
    observed = []
    for _ in range(6):
        training.optimizer.zero_grad()
        loss = training.net(torch.ones(2, 4)).sum()
        loss.backward()  # another line than that of training.step()
        training.optimizer.step()
        observed.append(training.watch.audit.is_observing)
    assert observed == [True] * rounds.FIRST_OF_A_LINE + [False] * 3


def test_two_rounds_in_two_hundred_are_recorded_in_full(training: Training) -> None:
    observed = []
    for _ in range(3 * rounds.SAMPLED_EVERY + 10):
        observed += [training.watch.audit.round] * training.watch.audit.is_observing
        training.step()
    assert [number for number in observed if not rounds.is_observed(number)] == [200, 201, 400, 401, 600, 601]


def test_missing_gradient_arms(training: Training) -> None:
    for _ in range(35):
        training.step()
    assert training.watch.audit.is_resting
    observed = []
    for _ in range(6):
        training.step(training.net[2])
        observed.append(training.watch.audit.is_observing)
    assert sum(observed) == rounds.ARMED


def test_armings_become_rare(training: Training) -> None:
    training.rest()
    observed = 0
    for number in range(200):
        training.optimizer.zero_grad()
        (training.net if number % 8 < 4 else training.net[2])(torch.ones(2, 4)).sum().backward()
        training.optimizer.step()
        observed += not training.watch.audit.is_resting and not rounds.is_observed(training.watch.audit.round)
    assert 2 <= observed <= 24


@pytest.mark.parametrize(("values", "state"), [((1.0, 2.0), ""), ((0.0, 2.0), "zero"), ((float("nan"), 2.0), "bad"),
                                               ((float("inf"), 0.0), "bad")])
def test_glance(values: tuple[float, ...], state: str) -> None:
    parameters = [nn.Parameter(torch.ones(3)) for _ in values]
    for p, value in zip(parameters, values, strict=True):
        p.grad = torch.full((3,), value)
    count, state_of = later.glance([*parameters, nn.Parameter(torch.ones(2))], True)
    assert (count, state_of()) == (2, state)


def test_nonfinite_loss_of_a_late_round_is_traced(training: Training) -> None:
    training.rest()
    training.optimizer.zero_grad()
    (training.net(torch.ones(2, 4)) * float("nan")).sum().backward()
    assert training.watch.audit.is_observing


def test_ring_forgets_the_oldest_and_does_not_guess() -> None:
    ring = SiteRing()
    code = test_ring_forgets_the_oldest_and_does_not_guess.__code__
    for number in range(0, 3 * SIZE, 3):
        ring.add(number, number + 2, (code, number))
    assert ring.site_of(3 * SIZE - 3) == ring.site_of(3 * SIZE - 2) == (code, 3 * SIZE - 3)
    assert ring.site_of(3 * SIZE - 1) is None  # made by a call that was not heard of
    ring.add(3 * SIZE, 3 * SIZE + 1, (code, 0))
    assert ring.site_of(1) is None


def test_long_run_keeps_nothing(training: Training) -> None:
    training.rest()
    counts = []
    for number in range(600):
        training.step()
        if number in (100, 599):
            counts.append(tensor_facts.count())
    assert counts[1] <= counts[0] + 2


def test_watch_leaves_nothing_behind() -> None:
    for _ in range(3):
        running = Training()
        running.rest()
        running.watch.stop()
    assert torch._C._len_torch_function_stack() == 0
    assert torch.autograd._engine_run_backward.__module__.startswith("torch")


def test_gradient_reads_do_not_make_every_round_full(training: Training) -> None:
    for _ in range(80):
        training.step()
        total = sum(float(p.grad.norm()) for p in training.net.parameters())
        assert total >= 0
    assert training.watch.audit.is_resting
    assert not training.watch.traces


def test_program_without_optimizer_rests_too() -> None:
    watch = Watch()
    watch.start()
    w = torch.ones(3, requires_grad=True)
    for _ in range(100):
        (w * 2).pow(2).sum().backward()
        with torch.no_grad():
            w -= 0.001 * w.grad
        w.grad = None
    assert watch.audit.is_resting
    watch.stop()
    assert (watch.failures, watch.answers) == ([], [])


def test_compiled_functions_run_uncompiled_in_recorded_rounds(training: Training) -> None:
    compiled: list[Any] = []

    def backend(graph: Any, example: Any) -> Any:
        compiled.append(graph)
        return graph.forward

    plain = training.net
    training.net = torch.compile(plain, backend=backend)
    training.step()
    assert compiled == []
    training.rest()
    training.step()
    assert len(compiled) == 1
    training.net = plain


def test_numbers_of_a_device_come_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight losses are copied at once; at the end, those that are still waiting."""
    monkeypatch.setattr("whygrad.for_torch.later.is_near", lambda t: False)
    losses = [later.total_later((torch.tensor(float(i)),)) for i in range(7)]
    assert [loss() for loss in losses] == [None] * 7
    losses += [later.total_later((torch.full((2, 2), i),)) for i in (7.0, 8.0)]
    assert [loss() for loss in losses] == [0, 1, 2, 3, 4, 5, 6, 28, None]
    later.finish_reading()
    assert losses[-1]() == 32
