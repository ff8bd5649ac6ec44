"""torch.jit._get_trace_graph: the same ops with the same shapes as torch's tracer, but for sizes, which are constants here."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import whygrad

pytestmark = pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning")
# Steps that torch's tracer has for sizes and for data, and broadcasting that the losses do in Python.
NOT_COMPARED = ("prim::", "aten::size", "aten::Int", "aten::broadcast_tensors")


def fact(value: Any) -> Any:
    """The shape of a tensor, or a constant."""
    return value.type().sizes() if value.isCompleteTensor() else value.toIValue()


def ops(torch: Any, function: Any, shapes: Any, whole: bool = False) -> list[Any]:
    class Called(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(0)
            self.layer = function(torch) if whole else None

        def forward(self, *inputs: Any) -> Any:
            return self.layer(*inputs) if whole else function(torch, *inputs)

    graph, _ = torch.jit._get_trace_graph(Called().eval(), tuple(torch.rand(shape) for shape in shapes))
    return [(node.kind(), [fact(value) for value in node.inputs()], [fact(value) for value in node.outputs()])
            for node in graph.nodes() if not node.kind().startswith(NOT_COMPARED)]


IMAGE = [(2, 4, 8, 8)]
# Counters read the arguments of these.
COUNTED = {
    "conv2d": lambda t, x: t.nn.functional.conv2d(x, x[:3, :, :3, :3].expand(2, 4, 3, 3), stride=2, padding=1),
    "padding by name": lambda t, x: t.nn.functional.conv2d(x, x[:, :, :3, :3], padding="same"),
    "groups": lambda t, x: t.nn.functional.conv2d(x, x[:, :2, :3, :3].expand(2, 2, 3, 3), groups=2),
    "transposed": lambda t, x: t.nn.functional.conv_transpose2d(x, x[:1, :, :3, :3].transpose(0, 1), stride=(2, 1)),
    "conv1d": lambda t, x: t.nn.functional.conv1d(x[0], x[0][:, :, :3].expand(4, 8, 3)),
    "linear": lambda t, x: t.nn.functional.linear(x, x[0, 0]),
    "matmul": lambda t, x: x @ x,
    "mm": lambda t, x: t.mm(x[0, 0], x[0, 0]),
    "bmm": lambda t, x: t.bmm(x[0], x[1]),
    "addmm": lambda t, x: t.addmm(x[0, 0], x[0, 0], x[0, 0], beta=2),
    "baddbmm": lambda t, x: t.baddbmm(x[0], x[0], x[0]),
    "einsum": lambda t, x: t.einsum("abcd,abde->abce", x, x),
    "batch_norm": lambda t, x: t.nn.functional.batch_norm(x, x[0, :, 0, 0], x[0, :, 1, 1], x[0, :, 2, 2]),
    "instance_norm": lambda t, x: t.nn.functional.instance_norm(x, weight=x[0, :, 2, 2]),
    "group_norm": lambda t, x: t.nn.functional.group_norm(x, 2),
    "layer_norm": lambda t, x: t.nn.functional.layer_norm(x, (8,), x[0, 0, 0]),
    "nearest": lambda t, x: t.nn.functional.interpolate(x, size=(3, 3)),
    "bilinear": lambda t, x: t.nn.functional.interpolate(x, size=(3, 3), mode="bilinear", align_corners=True),
    "grid_sample": lambda t, x: t.nn.functional.grid_sample(x, x[..., :2], align_corners=False, padding_mode="border"),
    "adaptive_avg_pool2d": lambda t, x: t.nn.functional.adaptive_avg_pool2d(x, (1, 1)),
    "scaled_dot_product_attention": lambda t, x: t.nn.functional.scaled_dot_product_attention(x, x, x),
    "leaky_relu": lambda t, x: t.nn.functional.leaky_relu(x, 0.1),
}
# Of these, the names and the shapes of the results.
OTHERS = {
    "in place": lambda t, x: t.nn.functional.relu(x.clone().add_(1), inplace=True),
    "operators": lambda t, x: (1 - x) * 2 + x / 3 - (-x) ** 2,
    "indexing": lambda t, x: x[..., None][:, 1][:, :, 2:4, 0],
    "a mask": lambda t, x: x[x > 2],
    "a Python function of several ops": lambda t, x: t.nn.functional.normalize(x),
    "dropout": lambda t, x: t.nn.functional.dropout2d(t.nn.functional.dropout(x, 0.5, False), 0.5, False),
    "pooling": lambda t, x: t.nn.functional.max_pool2d(t.nn.functional.avg_pool2d(x, 2), 2, return_indices=True)[0],
    "activations": lambda t, x: t.nn.functional.relu6(t.nn.functional.gelu(t.nn.functional.silu(x))),
    "properties": lambda t, x: x[0, 0].T.sum(),
    "what nothing needs": lambda t, x: (x.exp(), x.log())[0],
    "losses": lambda t, x: (t.nn.functional.kl_div(x, x) + t.nn.functional.l1_loss(x, x)
                            + t.nn.functional.cross_entropy(x[0, 0], x[0, 1])),
    "softmax": lambda t, x: t.nn.functional.softmax(t.nn.functional.log_softmax(x, 1), 2),
    "joined": lambda t, x: t.stack([x, t.cat([x[:1], x[1:]])]),
}
MODULES = {
    "multi-head attention": (lambda t: t.nn.MultiheadAttention(8, 2), [(3, 2, 8)] * 3),
    "lstm": (lambda t: t.nn.LSTM(8, 4, num_layers=2, bidirectional=True), [(3, 2, 8)]),
    "a transformer's layer": (lambda t: t.nn.TransformerDecoderLayer(8, 2, dropout=0.0), [(3, 2, 8)] * 2),
    "a network": (lambda t: t.nn.Sequential(t.nn.Conv2d(4, 8, 3), t.nn.BatchNorm2d(8), t.nn.ReLU(), t.nn.MaxPool2d(2),
                                            t.nn.Flatten(), t.nn.Linear(72, 3)), IMAGE),
}


@pytest.mark.parametrize("name", COUNTED)
def test_counted_ops_have_the_arguments_of_aten(name: str) -> None:
    assert ops(whygrad, COUNTED[name], IMAGE)[-1] == ops(torch, COUNTED[name], IMAGE)[-1]


@pytest.mark.filterwarnings("ignore:reduction. 'mean' divides")
@pytest.mark.parametrize("name", OTHERS)
def test_names_and_shapes(name: str) -> None:
    ours, theirs = ([(kind, outputs) for kind, _, outputs in ops(t, OTHERS[name], IMAGE)] for t in (whygrad, torch))
    assert ours == theirs


@pytest.mark.parametrize("name", MODULES)
def test_modules(name: str) -> None:
    make, shapes = MODULES[name]
    ours, theirs = ([(kind, outputs) for kind, _, outputs in ops(t, make, shapes, whole=True)
                     if kind not in ("aten::mul", "aten::div", "aten::zeros")] for t in (whygrad, torch))  # of sizes, there
    assert ours == theirs


def scopes(torch: Any) -> Any:
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Sequential(torch.nn.ReLU()))
    seen = []
    for name, module in model.named_modules():
        module.register_forward_pre_hook(lambda module, args, name=name: torch._C._get_tracing_state().push_scope(name))
        module.register_forward_hook(lambda *given: torch._C._get_tracing_state().pop_scope())
        module.register_forward_hook(lambda *given: seen.append(torch.jit.is_tracing()))
    graph, result = torch.jit._get_trace_graph(model, torch.rand(1, 2))
    nodes = [(node.kind(), node.scopeName()) for node in graph.nodes()]
    values = [(value.debugName() != "", value.type().kind(), value.type().scalarType(), value.type().dim(), value.requires_grad())
              for value in graph.inputs()]
    return nodes, values, list(result.shape), seen, torch.jit.is_tracing(), torch._C._get_tracing_state()


def test_scopes_inputs_and_state() -> None:
    assert scopes(whygrad) == scopes(torch)


def test_constants() -> None:
    def constants(torch: Any) -> Any:
        class Called(torch.nn.Module):
            def forward(self, x: Any) -> Any:
                return torch.nn.functional.gelu(torch.nn.functional.leaky_relu(x, 0.25).flatten(1, -1))

        graph, _ = torch.jit._get_trace_graph(Called(), (torch.rand(1, 2),))
        return [[(name, node.kindOf(name), getattr(node, node.kindOf(name))(name)) for name in node.attributeNames()]
                for node in graph.nodes()]

    assert constants(whygrad) == constants(torch)


def test_what_there_is_not() -> None:
    with pytest.raises(NotImplementedError, match="for modules"):
        whygrad.jit._get_trace_graph(whygrad.relu, (whygrad.ones(1),))
