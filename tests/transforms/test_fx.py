"""torch.fx: the same graphs, the same code, the same results and errors."""

from __future__ import annotations

import copy
import operator
import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.fx
from oracle import outcome

import whygrad
import whygrad.fx

LIBRARIES = {"torch": torch, "whygrad": whygrad}


def model_of(lib: Any) -> Any:
    class Model(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lin = lib.nn.Linear(3, 2)
            self.w = lib.nn.Parameter(lib.ones(2))
            self.register_buffer("scale", lib.ones(1) * 2)
            self.seq = lib.nn.Sequential(lib.nn.ReLU(), lib.nn.Dropout(0.5))
            with lib.no_grad():
                self.lin.weight.copy_(lib.arange(6.0).reshape(2, 3) / 7)
                self.lin.bias.zero_()

        def forward(self, x: Any, y: Any = None, *, flag: bool = True) -> Any:
            a = self.lin(x) + self.w
            b = lib.relu(a).sum(dim=-1, keepdim=True)
            c = self.seq(a[:, 0:1]) if flag else a
            d = lib.cat([b, c], 1) * self.scale
            e, f = d.split(1, dim=1)
            return {"out": -e * 2, "rows": x.shape[0], "f": (f, lib.nn.functional.gelu(f, approximate="tanh")),
                    "g": x @ self.w.new_ones(3, 1), "h": 2 ** (x + 1).size(0), "i": lib.zeros(2, dtype=lib.float64) + e.mean()}

    return Model().eval()


def traced(lib: Any) -> Any:
    module = lib.fx.symbolic_trace(model_of(lib), concrete_args={"flag": True})
    x = lib.arange(12.0).reshape(4, 3)
    nodes = [(n.op, n.name, str(n.args), str(n.kwargs), [str(user) for user in n.users]) for n in module.graph.nodes]
    module.graph.lint()
    return str(module.graph), module.code, str(module), nodes, str(module(x)), str(model_of(lib)(x))


def functions(lib: Any) -> Any:
    def function(x: Any, k: float = 1.5) -> Any:
        x = x.clone()
        x += 1
        return lib.nn.functional.relu(x) + lib.arange(3), abs(x), ~(x > k), x[..., None, 1:], x.T, 3 - x

    module = lib.fx.symbolic_trace(function)
    return module.code, str(module(lib.ones(2, 3)))


def built(lib: Any) -> Any:
    graph = lib.fx.Graph()
    x = graph.placeholder("x", lib.Tensor)
    y = graph.call_function(lib.add, (x, 1))
    z = graph.call_method("relu", (y,))
    graph.output(z)
    shown = [str(graph), graph.python_code("self").src]
    with graph.inserting_before(z):
        sine = graph.call_function(lib.sin, (y,))
    shown += [str(graph), graph.eliminate_dead_code(), str(graph), outcome(lambda: graph.erase_node(y))]
    with graph.inserting_after(y):
        sine = graph.call_function(operator.mul, (y, y))
    y.replace_all_uses_with(sine, lambda user: user is not sine)
    module = lib.fx.GraphModule(lib.nn.Module(), graph, "Built")
    shown += [module.code, str(module(lib.tensor([-3.0, 2.0]))), type(module).__name__]
    shown += [str(lib.fx.Interpreter(module).run(lib.ones(2))), lib.fx.Transformer(module).transform().code]
    shown += [copy.deepcopy(module).code, [node.name for node in reversed(graph.nodes)], y.next.name, y.all_input_nodes]
    shown.append(outcome(lambda: y.args.append(3)))
    return shown


def proxies(lib: Any) -> Any:
    graph = lib.fx.Graph()
    tracer = lib.fx.proxy.GraphAppendingTracer(graph)
    x, y = (lib.fx.Proxy(graph.placeholder(name), tracer) for name in "xy")
    out = lib.einsum("ij,jk->ik", (x, lib.einsum("ij->ij", y))).flatten(0).reshape(-1) + lib.stack([x, y], dim=0).shape[0]
    graph.output(out.node)
    return str(graph), lib.fx.GraphModule({}, graph)(lib.eye(2), lib.ones(2, 2)).tolist()


def pickled(lib: Any) -> Any:
    module = lib.fx.symbolic_trace(lib.nn.Sequential(lib.nn.ReLU(), lib.nn.Flatten()))
    again = pickle.loads(pickle.dumps(module))
    return again.code, again(lib.ones(2, 2, 2)).shape, again.training


def derivatives(lib: Any) -> Any:
    model = model_of(lib)
    module = lib.fx.symbolic_trace(model, concrete_args={"flag": True})
    module(lib.arange(12.0).reshape(4, 3))["out"].sum().backward()
    return [name for name, _ in module.named_parameters()], str(model.w.grad), str(model.lin.weight.grad)


def own_tracer(lib: Any) -> Any:
    class Mine(lib.fx.Tracer):
        def is_leaf_module(self, m: Any, name: str) -> bool:
            return name == "seq"

    graph = Mine().trace(model_of(lib), concrete_args={"flag": True})
    return [(n.op, str(n.target)) for n in graph.nodes if n.op in ("call_module", "get_attr")]


def untraceable(lib: Any) -> Any:
    class Foreign(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.hidden = [lib.nn.Linear(2, 2)]

        def forward(self, x: Any) -> Any:
            return x * self.hidden[0].weight

    def branch(x: Any) -> Any:
        return x if x.sum() > 0 else -x

    calls: list[Callable[..., Any]] = [
        branch, lambda x: len(x), lambda x: [a for a in x], lambda x: x in [1], lambda x: int(x),  # noqa: C416
        lambda x: {**x}, Foreign(), lambda x: x + {1}]
    return [outcome(lambda call=call: lib.fx.symbolic_trace(call).code) for call in calls]


@pytest.mark.parametrize("program", [traced, functions, built, proxies, pickled, derivatives, own_tracer, untraceable],
                         ids=lambda program: program.__name__)
def test_same(program: Callable[[Any], Any]) -> None:
    ours, theirs = program(whygrad), program(torch)
    for mine, wanted in zip(ours, theirs, strict=True):
        assert str(mine).replace("whygrad.fx", "torch.fx") == str(wanted)
