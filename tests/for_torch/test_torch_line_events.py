"""Lines by events of sys.monitoring, which Python has since 3.12; before, the recorder's mode stays on in resting rounds."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from whygrad.for_torch.lean import Line, SiteRing, ring, sequence_number  # noqa: E402
from whygrad.why import engine  # noqa: E402
from whygrad.why.locations import expression_at  # noqa: E402
from whygrad.why.watch import Watch  # noqa: E402

HAS_EVENTS = sys.version_info >= (3, 12)


@pytest.fixture
def step() -> Iterator[Any]:
    """A step of training under a watch that rests."""
    before = engine.current
    engine.choose("torch")
    watch = Watch()
    watch.start()
    net = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)

    def run() -> None:
        optimizer.zero_grad()
        net(torch.ones(2, 4)).sum().backward()
        optimizer.step()

    while watch.audit.round < 35:  # until 48 no round is observed
        run()
    yield run
    watch.stop()
    engine.current = before
    assert watch.failures == []


def modes_on() -> int:
    return int(torch._C._len_torch_function_stack())


def test_mode_is_off_on_known_lines_and_on_for_new_ones(step: Any) -> None:
    seen = []
    for number in range(4):
        step()
        if number == 2:
            seen.append("new")  # this line runs for the first time
        seen.append(str(modes_on()))
    # The first turn of this loop is new ground, too; a backward or step ends that.
    assert seen == (["1", "0", "new", "1", "0"] if HAS_EVENTS else ["1", "1", "new", "1", "1"])


def test_nodes_of_known_lines_have_their_line(step: Any) -> None:
    def helper(x: Any) -> Any:
        return x * 3

    made = []
    for _ in range(3):
        x = torch.ones(2, requires_grad=True)
        first = helper(x) + 1
        made.append((first, first.grad_fn.next_functions[0][0]))
        step()
    total, product = made[-1]
    assert expression_at(ring.site_of(total.grad_fn._sequence_nr())) == "helper(x) + 1"
    assert expression_at(ring.site_of(product._sequence_nr())) == "x * 3"


def test_lines_in_a_ring() -> None:
    lines = SiteRing()
    code = test_lines_in_a_ring.__code__
    first = code.co_firstlineno
    lines.mark(code, first + 1)
    begin = sequence_number()
    made = torch.ones(1, requires_grad=True) * 2
    lines.mark(code, first + 4)
    assert lines.site_of(made.grad_fn._sequence_nr()) == Line(code, first + 1).site()
    assert lines.site_of(begin - 1) is None
    assert expression_at(Line(code, first + 6).site()) == "torch.ones(1, requires_grad=True) * 2"


def test_nothing_is_left_behind() -> None:
    before = engine.current
    engine.choose("torch")
    for _ in range(3):
        watch = Watch()
        watch.start()
        watch.stop()
        if HAS_EVENTS:
            assert [sys.monitoring.get_tool(tool) for tool in (3, 4)] == [None, None]
    engine.current = before
