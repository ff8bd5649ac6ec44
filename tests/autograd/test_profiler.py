"""The profiler: what it counts, how it shows it, and that it is gone when it is off."""

from __future__ import annotations

import json

import pytest

import whygrad
from whygrad.autograd.profiler import emit_nvtx, profile, record_function
from whygrad.autograd.profiler_util import EventList, FunctionEvent, FunctionEventAvg
from whygrad.core.modes import process_state


def work():
    x = whygrad.ones(4, 4, requires_grad=True)
    with record_function("outer"):
        y = x * 2 + 4
        with record_function("inner"):
            y = y - 1
    y = y.clone()
    y.add_(1)
    y.sum().backward()


def test_events_nest_and_count():
    with profile(record_shapes=True) as taken:
        assert whygrad.autograd._profiler_enabled()
        work()
    assert not whygrad.autograd._profiler_enabled()
    names = [event.name for event in taken.function_events]
    wanted = ["outer", "aten::mul", "aten::add", "inner", "aten::sub", "aten::clone", "aten::add_", "aten::sum", "SumBackward0",
              "AddBackward0", "CloneBackward0", "SubBackward0", "AddBackward0", "MulBackward0", "torch::autograd::AccumulateGrad"]
    assert names == wanted
    by_name = {event.name: event for event in taken.function_events}
    assert by_name["aten::sub"].cpu_parent is by_name["inner"]
    assert by_name["inner"].cpu_parent is by_name["outer"]
    assert by_name["aten::mul"].input_shapes == [[4, 4], []]
    averages = {average.key: average for average in taken.key_averages()}
    assert averages["AddBackward0"].count == 2
    total = sum([event.cpu_time_total for event in taken.function_events if event.cpu_parent is None])
    assert taken.self_cpu_time_total == pytest.approx(total)


def test_table():
    with profile() as taken:
        work()
    averages = taken.key_averages()
    lines = averages.table(sort_by="cpu_time_total", row_limit=3).splitlines()
    assert " ".join(lines[1].split()) == "Name Self CPU % Self CPU CPU total % CPU total CPU time avg # of Calls"
    assert len(lines) == 8
    longest = sorted(averages, key=lambda event: event.cpu_time_total, reverse=True)
    assert [line.split()[0] for line in lines[3:6]] == [event.key for event in longest[:3]]
    assert lines[-1].startswith("Self CPU time total: ")
    assert str(taken) == taken.table()
    with pytest.raises(AttributeError, match="cannot be sorted"):
        taken.table(sort_by="beauty")


def test_chrome_trace(tmp_path):
    with profile() as taken:
        work()
    taken.export_chrome_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert {event["ph"] for event in events} == {"X"}
    assert [event["name"] for event in events][:2] == ["outer", "aten::mul"]


def test_nothing_is_left_when_it_is_off():
    assert not process_state.any_mode_active
    with profile():
        assert process_state.any_mode_active
        assert len(process_state.listeners) == 1
        work()
    assert not process_state.any_mode_active
    assert process_state.listeners == ()


def test_gradients_are_the_same():
    def gradient():
        x = whygrad.arange(3.0).requires_grad_()
        y = (x.exp() * x).cumsum(0)
        (g,) = whygrad.autograd.grad(y.sum(), x, create_graph=True)
        g.sum().backward()
        return x.grad

    plain = gradient()
    with profile():
        assert whygrad.equal(gradient(), plain)


def test_an_error_ends_the_event():
    with profile() as taken, pytest.raises(RuntimeError):
        whygrad.ones(2) + whygrad.ones(3)
    assert [event.name for event in taken.function_events] == ["aten::add"]


def test_torch_profiler_with_a_schedule():
    ready = []
    plan = whygrad.profiler.schedule(wait=1, warmup=1, active=2, repeat=1)
    with whygrad.profiler.profile(schedule=plan, on_trace_ready=lambda p: ready.append(len(p.events()))) as taken:
        for _ in range(6):
            whygrad.ones(2).exp()
            taken.step()
    assert ready == [2]
    assert [average.key for average in taken.key_averages()] == ["aten::exp"]


def test_decorated_functions_and_loose_ends():
    @record_function("named")
    def add(a, b):
        return a + b

    with profile() as taken:
        assert add(1, 2) == 3
    assert "named" in str(taken)
    block = record_function("outer")
    block.__enter__()
    with record_function("inner"):
        block.__exit__(None, None, None)
    assert profile(enabled=False).__enter__().function_events == []


def test_events_by_hand():
    events = EventList([FunctionEvent(i, "", thread, start, end) for i, (thread, start, end) in
                        enumerate([(1, 0, 1), (1, 1, 2), (0, 0, 2), (0, 1, 2), (0, 1, 3)])])
    events._populate_cpu_children()
    assert [[child.id for child in event.cpu_children] for event in events] == [[], [], [], [], [3]]
    average = FunctionEventAvg()
    average.add(FunctionEvent(0, "foo", 0, 10, 15)).add(FunctionEvent(1, "foo", 0, 20, 30))
    average += average
    assert (average.key, average.count, average.cpu_time_total, average.cpu_time) == ("foo", 4, 30, 7.5)


def test_what_it_cannot_do_it_says():
    with pytest.raises(NotImplementedError, match="with_stack"):
        profile(with_stack=True)
    with pytest.raises(NotImplementedError, match="NVIDIA"), emit_nvtx():
        pass
