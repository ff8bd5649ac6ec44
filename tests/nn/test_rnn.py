"""Recurrent layers and packed sequences against torch: the same seed gives the same network and the same training."""

from __future__ import annotations

import copy
import inspect
import pickle
import warnings
from typing import Any

import numpy as np
import pytest
import torch
from oracle import assert_same, node_name, same_error, to_numpy

import whygrad
import whygrad.nn

rng = np.random.default_rng(3)


def f(*shape: int) -> np.ndarray:
    return rng.uniform(-1, 1, shape).astype(np.float32)


def made(m: Any, constructor: str) -> Any:
    m.manual_seed(7)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eval(f"m.nn.{constructor}", {"m": m})


def leaf(m: Any, array: np.ndarray) -> Any:
    return m.from_numpy(array.copy()).requires_grad_()


def flat(value: Any) -> list[Any]:
    """The tensors of a result, out of tuples and packed sequences."""
    if isinstance(value, tuple):
        return [t for part in value if part is not None for t in flat(part)]
    return [value]


def loss_of(m: Any, tensors: list[Any]) -> Any:
    """A number in which every element of every result counts differently."""
    return sum((t * m.arange(1, t.numel() + 1, dtype=t.dtype).view(t.shape).cos()).sum() for t in tensors
               if t.is_floating_point())


def seen(m: Any, constructor: str, *arrays: Any, pack: Any = None, order: int = 1, dtype: str = "float32") -> list[Any]:
    """What shows of forward and backward, in training and in evaluation."""
    layer = made(m, constructor)
    if dtype != "float32":
        layer = layer.to(getattr(m, dtype))
    result = [repr(layer), list(layer.state_dict()), list(layer.state_dict().values())]
    for mode in (True, False):
        layer.train(mode)
        leaves = [leaf(m, a.astype(dtype)) for a in arrays]
        x, *states = leaves
        if pack is not None:
            x = m.nn.utils.rnn.pack_padded_sequence(x, pack[0], **pack[1])
        hx = () if not states else (tuple(states) if constructor.startswith("LSTM") else states[0],)
        m.manual_seed(11)
        out = flat(layer(x, *hx))
        result += [out, [node_name(t) for t in out]]
        leaves += list(layer.parameters())
        grads = m.autograd.grad(loss_of(m, out), leaves, create_graph=order > 1)
        result.append(grads if order == 1 else [g.detach() for g in grads])
        if order > 1:
            result.append(m.autograd.grad(loss_of(m, list(grads)), leaves))
    return result


LAYERS = {
    "RNN(3, 4)": (f(5, 2, 3),),
    "RNN(3, 4, 2, 'relu')": (f(5, 2, 3), f(2, 2, 4)),
    "RNN(3, 4, nonlinearity='relu', bias=False, bidirectional=True)": (f(5, 2, 3),),
    "RNN(3, 4, num_layers=3, dropout=0.5)": (f(5, 2, 3),),
    "GRU(3, 4)": (f(5, 2, 3), f(1, 2, 4)),
    "GRU(3, 4, 2, bias=False, batch_first=True)": (f(2, 5, 3), f(2, 2, 4)),
    "GRU(3, 4, 2, dropout=0.3, bidirectional=True)": (f(5, 2, 3), f(4, 2, 4)),
    "GRU(3, 4, 1)": (f(1, 2, 3),),
    "GRU(3, 4, 1, True)": (f(5, 3),),
    "GRU(3, 4, batch_first=True)": (f(5, 3), f(1, 4)),
    "LSTM(3, 4)": (f(5, 2, 3), f(1, 2, 4), f(1, 2, 4)),
    "LSTM(3, 4, 2, bias=False, batch_first=True)": (f(2, 5, 3), f(2, 2, 4), f(2, 2, 4)),
    "LSTM(3, 4, 2, dropout=0.3, bidirectional=True)": (f(5, 2, 3), f(4, 2, 4), f(4, 2, 4)),
    "LSTM(3, 4, 2, dropout=1.0)": (f(5, 2, 3),),
    "LSTM(3, 4, proj_size=2)": (f(5, 2, 3), f(1, 2, 2), f(1, 2, 4)),
    "LSTM(3, 4, 2, proj_size=2, bidirectional=True, bias=False)": (f(5, 2, 3),),
    "LSTM(3, 4, 1, True, True)": (f(5, 3), f(1, 4), f(1, 4)),
    "LSTM(3, 40)": (f(7, 3),),
    "LSTM(3, 4, device='cpu', bidirectional=True)": (f(5, 0, 3),),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("constructor", LAYERS)
def test_layers(constructor: str, dtype: str) -> None:
    arrays = LAYERS[constructor]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert_same(seen(torch, constructor, *arrays, dtype=dtype), seen(whygrad, constructor, *arrays, dtype=dtype), rtol=1e-4)


@pytest.mark.parametrize("constructor", [
    "RNN(2, 3)", "RNN(2, 3, 2, 'relu')", "GRU(2, 3, bidirectional=True)", "GRU(2, 3, bias=False)", "LSTM(2, 3)",
    "LSTM(2, 3, 2, bidirectional=True)", "LSTM(2, 3, proj_size=2)"])
def test_second_derivatives(constructor: str) -> None:
    x = f(3, 2, 2)
    theirs, ours = (seen(m, constructor, x, order=2, dtype="float64") for m in (torch, whygrad))
    assert_same(theirs, ours, rtol=1e-7)


@pytest.mark.parametrize("options", [{}, {"enforce_sorted": False}, {"batch_first": True}])
@pytest.mark.parametrize("constructor", [
    "RNN(3, 4)", "RNN(3, 4, 2, 'relu', bidirectional=True)", "GRU(3, 4, 2, dropout=0.5)", "GRU(3, 4, bidirectional=True)",
    "LSTM(3, 4)", "LSTM(3, 4, 2, dropout=0.5, bidirectional=True)", "LSTM(3, 4, proj_size=2, bidirectional=True)"])
def test_packed(constructor: str, options: dict[str, bool]) -> None:
    layer = made(torch, constructor)
    x = f(3, 5, 3) if options.get("batch_first") else f(5, 3, 3)
    states = [] if constructor.startswith("RNN(3, 4)") else [f(*layer.get_expected_hidden_size(torch.ones(1, 3, 1), None))]
    if states and constructor.startswith("LSTM"):
        states.append(f(*layer.get_expected_cell_size(torch.ones(1, 3, 1), None)))
    lengths = [2, 5, 3] if "enforce_sorted" in options else [5, 3, 2]
    for order in (1, 2) if "proj" in constructor else (1,):
        theirs, ours = (seen(m, constructor, x, *states, pack=(lengths, options), order=order, dtype="float64")
                        for m in (torch, whygrad))
        assert_same(theirs, ours, rtol=1e-7)


def test_packed_sequences_of_one_length() -> None:
    x = f(4, 2, 3)
    theirs, ours = (seen(m, "GRU(3, 4)", x, pack=([4, 4], {})) for m in (torch, whygrad))
    assert_same(theirs, ours, rtol=1e-4)


CELLS = {
    "RNNCell(3, 4)": (f(2, 3), f(2, 4)),
    "RNNCell(3, 4, False, 'relu')": (f(2, 3),),
    "GRUCell(3, 4)": (f(2, 3), f(2, 4)),
    "GRUCell(3, 4, bias=False)": (f(3), f(4)),
    "LSTMCell(3, 4)": (f(2, 3), f(2, 4), f(2, 4)),
    "LSTMCell(3, 4, bias=False)": (f(3),),
    "LSTMCell(3, 4, True)": (f(3), f(4), f(4)),
}


@pytest.mark.parametrize("constructor", CELLS)
def test_cells(constructor: str) -> None:
    for order in (1, 2):
        theirs, ours = (seen(m, constructor, *CELLS[constructor], order=order, dtype="float64") for m in (torch, whygrad))
        assert_same(theirs, ours, rtol=1e-7)


def test_written_outputs() -> None:
    """A layer that torch composes may be written into; its own kernel for LSTMs needs the output again."""
    def write(m: Any, constructor: str) -> Any:
        x = leaf(m, np.ones((3, 2, 3), np.float32))
        out, last = made(m, constructor)(x)
        out.mul_(2)
        return [last[0], m.autograd.grad(out.sum(), x)]

    assert_same(write(torch, "GRU(3, 4)"), write(whygrad, "GRU(3, 4)"))
    same_error(lambda: write(torch, "LSTM(3, 4)"), lambda: write(whygrad, "LSTM(3, 4)"))


def test_only_some_gradients() -> None:
    results = []
    for m in (torch, whygrad):
        layer = made(m, "LSTM(3, 4)")
        layer.weight_hh_l0.requires_grad_(False)
        x = m.ones(5, 2, 3)
        out, (h, c) = layer(x)
        c.sum().backward()
        results.append([out, h, c, [p.grad for p in layer.parameters()]])
        with m.no_grad():
            results[-1].append(layer(x)[0])
    assert_same(*results, rtol=1e-4)


@pytest.mark.parametrize("constructor", ["GRU(3, 4, 2)", "LSTM(3, 4, proj_size=2)", "RNNCell(3, 4, nonlinearity='relu')"])
def test_copies_and_conversions(constructor: str) -> None:
    layer = made(whygrad, constructor)
    for other in (pickle.loads(pickle.dumps(layer)), copy.deepcopy(layer)):
        assert repr(other) == repr(layer)
        for (name, a), (_, b) in zip(layer.named_parameters(), other.named_parameters(), strict=True):
            assert a is not b, name
            assert (a == b).all(), name
    x = whygrad.ones(2, 3) if "Cell" in constructor else whygrad.ones(2, 1, 3)
    with pytest.raises((ValueError, RuntimeError)):
        layer.double()(x)
    layer(x.double())


def test_all_weights() -> None:
    results = []
    for m in (torch, whygrad):
        layer = made(m, "LSTM(3, 4, 2, bidirectional=True, proj_size=2)")
        layer.flatten_parameters()
        results.append([layer.all_weights, layer._flat_weights_names, layer._all_weights])
    assert_same(*results)


@pytest.mark.parametrize("name", ["RNN", "LSTM", "GRU", "RNNBase", "RNNCell", "LSTMCell", "GRUCell"])
def test_signature(name: str) -> None:
    theirs, ours = (inspect.signature(getattr(m.nn, name)) for m in (torch, whygrad))
    assert [(q.name, q.kind, q.default) for q in theirs.parameters.values()] == [
        (q.name, q.kind, q.default) for q in ours.parameters.values()]


ERRORS = [
    "RNN(3, 4, dropout=2)", "RNN(3, 4, dropout=True)", "RNN(3, 4, bias=1)", "LSTM(3, 4, batch_first=1)", "GRU('a', 4)",
    "GRU(3, 4.0)", "GRU(0, 4)", "GRU(3, 0)", "GRU(3, 4, 0)", "LSTM(3, 4, proj_size=-1)", "LSTM(3, 4, proj_size=4)",
    "GRU(3, 4, proj_size=2)", "RNN(3, 4, proj_size=2)", "RNN(3, 4, nonlinearity='sin')", "RNNBase('ABC', 3, 4)",
    "RNN(3, 4)(m.ones(3))", "LSTM(3, 4)(m.ones(3))", "GRU(3, 4)(m.ones(3))", "GRU(3, 4)(m.ones(5, 2, 4))",
    "GRU(3, 4)(m.ones(5, 2, 3), m.ones(2, 4))", "GRU(3, 4)(m.ones(5, 3), m.ones(1, 1, 4))",
    "GRU(3, 4)(m.ones(5, 2, 3), m.ones(1, 3, 4))", "LSTM(3, 4)(m.ones(5, 2, 3), (m.ones(2, 4), m.ones(1, 2, 4)))",
    "LSTM(3, 4)(m.ones(5, 3), (m.ones(1, 4), m.ones(1, 2, 4)))", "LSTM(3, 4)(m.ones(5, 2, 4))",
    "LSTM(3, 4)(m.ones(5, 2, 3), (m.ones(1, 2, 5), m.ones(1, 2, 4)))",
    "LSTM(3, 4)(m.ones(5, 2, 3), (m.ones(1, 2, 4), m.ones(1, 2, 5)))", "LSTM(3, 4)(m.ones(0, 2, 3))",
    "GRU(3, 4)(m.ones(0, 2, 3))", "GRU(3, 4)(m.ones(5, 2, 3, dtype=m.float64))",
    "RNNCell(3, 4)(m.ones(1, 1, 3))", "RNNCell(3, 4)(m.ones(2, 3), m.ones(1, 1, 4))", "RNNCell(3, 4)(m.ones(2, 4))",
    "RNNCell(3, 4)(m.ones(2, 3), m.ones(2, 5))", "RNNCell(3, 4)(m.ones(2, 3), m.ones(3, 4))",
    "RNNCell(3, 4, nonlinearity='sin')(m.ones(2, 3))", "LSTMCell(3, 4)(m.ones(1, 1, 3))",
    "LSTMCell(3, 4)(m.ones(2, 3), (m.ones(1, 1, 4), m.ones(2, 4)))", "LSTMCell(3, 4)(m.ones(2, 3), (m.ones(2, 4),))",
    "LSTMCell(3, 4)(m.ones(2, 3), (m.ones(2, 4), m.ones(2, 5)))", "GRUCell(3, 4)(m.ones(1, 1, 3))",
]


@pytest.mark.parametrize("expression", ERRORS)
def test_errors(expression: str) -> None:
    same_error(lambda: eval(f"m.nn.{expression}", {"m": torch}), lambda: eval(f"m.nn.{expression}", {"m": whygrad}))


def test_dropout_of_one_layer_warns() -> None:
    caught = []
    for m in (torch, whygrad):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            m.nn.GRU(3, 4, dropout=0.5)
        caught.append([(w.category, str(w.message)) for w in found])
    assert caught[0] == caught[1] != []


def trained(m: Any) -> list[float]:
    """A tagger with embeddings and a two-layer LSTM over packed sequences, and plain gradient descent."""
    m.manual_seed(4)
    rnn = m.nn.utils.rnn
    table, lstm = m.nn.Embedding(10, 8), m.nn.LSTM(8, 16, 2, batch_first=True, dropout=0.2, bidirectional=True)
    head = m.nn.Linear(32, 3)
    words = m.randint(0, 10, (4, 6))
    tags = words % 3
    lengths = m.tensor([4, 6, 2, 5])
    parameters = [*table.parameters(), *lstm.parameters(), *head.parameters()]
    losses = []
    for _ in range(8):
        packed = rnn.pack_padded_sequence(table(words), lengths, batch_first=True, enforce_sorted=False)
        out, found = rnn.pad_packed_sequence(lstm(packed)[0], batch_first=True)
        assert found.tolist() == lengths.tolist()
        loss = m.nn.functional.cross_entropy(head(out).flatten(0, 1), tags.flatten())
        for p in parameters:
            p.grad = None
        loss.backward()
        with m.no_grad():
            for p in parameters:
                p -= p.grad
        losses.append(loss.item())
    return losses


def test_training_gives_the_same_losses() -> None:
    assert_same(trained(torch), trained(whygrad), rtol=1e-4)


# nn.utils.rnn

SEQUENCES = [f(2, 3), f(4, 3), f(1, 3)]
X = f(5, 3, 2)
PADDING = {
    "r.pad_sequence(s)": 1, "r.pad_sequence(s, True)": 1, "r.pad_sequence(s, padding_value=-1.5)": 1,
    "r.pad_sequence(s, padding_side='left')": 1, "r.pad_sequence(s, True, 2.0, 'left')": 1,
    "r.pad_sequence([t[:, 0] for t in s])": 1, "r.pad_sequence([m.arange(3), m.arange(2)], padding_value=1.5)": 0,
    "r.pad_sequence([s[0], s[1].double()])": 1, "r.pad_sequence(iter(s))": 1, "r.pad_sequence(x)": 1,
    "r.pack_sequence(s, enforce_sorted=False)": 1, "r.pack_sequence([s[1], s[0]])": 1,
    "r.pack_padded_sequence(x, [5, 3, 2])": 1, "r.pack_padded_sequence(x, m.tensor([4, 4, 1]))": 1,
    "r.pack_padded_sequence(x[:, :, 0], [5, 3, 2])": 1, "r.pack_padded_sequence(x, m.tensor([5.0, 3, 2]))": 1,
    "r.pack_padded_sequence(x, [2, 5, 5], enforce_sorted=False)": 1,
    "r.pack_padded_sequence(x, [3, 3, 2, 1, 1], batch_first=True)": 1,
    "r.pad_packed_sequence(r.pack_padded_sequence(x, [4, 3, 2]))": 1,
    "r.pad_packed_sequence(r.pack_padded_sequence(x, [4, 3, 2]), True, -1.0, 6)": 1,
    "r.pad_packed_sequence(r.pack_padded_sequence(x, [2, 5, 5], enforce_sorted=False), padding_value=3.0)": 1,
    "r.pad_packed_sequence(r.pack_padded_sequence(x, [2, 5, 5], enforce_sorted=False), batch_first=True)": 1,
    "tuple(r.unpad_sequence(x * 1, m.tensor([2, 5, 1])))": 1,
    "tuple(r.unpad_sequence(x * 1, m.tensor([2, 3, 1, 1, 2]), batch_first=True))": 1,
    "tuple(r.unpack_sequence(r.pack_sequence(s, enforce_sorted=False)))": 1,
    "r.PackedSequence((x, m.tensor([5])))": 1, "r.PackedSequence(x, m.tensor([3]), m.tensor([2, 0, 1]))": 1,
    "r.pack_padded_sequence(x, [5, 3, 2]).double()": 1, "r.pack_padded_sequence(x, [5, 3, 2]).to('cpu')": 1,
    "r.pack_padded_sequence(x, [5, 3, 2]).long()": 0, "r.invert_permutation(m.tensor([2, 0, 1]))": 0,
    "(r.pack_padded_sequence(x, [5, 3, 2]).is_cuda, r.pack_sequence(s[:1]).is_pinned())": 0,
}


@pytest.mark.parametrize("expression", PADDING)
def test_padding(expression: str) -> None:
    results = []
    for m in (torch, whygrad):
        s, x = [leaf(m, a) for a in SEQUENCES], leaf(m, X)
        scope = {"m": m, "r": m.nn.utils.rnn, "s": s, "x": x}
        found = eval(expression, scope)
        tensors = flat(found)
        result = [type(found).__name__, tensors]
        if PADDING[expression]:
            result.append([node_name(t) for t in tensors])
            grads = m.autograd.grad(loss_of(m, [t * t for t in tensors]), [*s, x], allow_unused=True, create_graph=True)
            result.append([g if g is None else g.detach() for g in grads])
            again = loss_of(m, [g for g in grads if g is not None])
            result.append(m.autograd.grad(again, [*s, x], allow_unused=True))
        results.append(result)
    assert_same(*results, rtol=1e-4)


PADDING_ERRORS = [
    "pad_sequence(3)", "pad_sequence([])", "pad_sequence([m.ones(3, 2), m.ones(2, 3)])", "pad_sequence([m.ones(3), 2])",
    "pad_sequence([m.ones(3)], padding_side='up')", "pack_sequence([m.ones(2), m.ones(3)])",
    "pack_padded_sequence(m.ones(5, 3, 2), [5, 3])", "pack_padded_sequence(m.ones(5, 3, 2), [3, 5, 2])",
    "pack_padded_sequence(m.ones(5, 3, 2), [5, 3, 0])", "pack_padded_sequence(m.ones(5, 3, 2), [])",
    "pack_padded_sequence(m.ones(5), [5, 3])", "pack_padded_sequence(m.ones(5, 0, 2), [])",
    "pack_padded_sequence(m.ones(5, 3, 2), m.tensor([[5, 3, 2]]))", "pack_padded_sequence(3, [1])",
    "pad_packed_sequence(r.pack_sequence([m.ones(3)]), total_length=2)", "PackedSequence(m.ones(3))",
]


@pytest.mark.parametrize("expression", PADDING_ERRORS)
def test_padding_errors(expression: str) -> None:
    same_error(*[lambda m=m: eval(f"r.{expression}", {"m": m, "r": m.nn.utils.rnn}) for m in (torch, whygrad)])


def test_packed_sequences_can_be_pickled() -> None:
    packed = whygrad.nn.utils.rnn.pack_sequence([whygrad.ones(2), whygrad.ones(3)], enforce_sorted=False)
    again = pickle.loads(pickle.dumps(packed))
    assert type(again) is type(packed)
    assert all((a == b).all() for a, b in zip(again, packed, strict=True))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("biases", [0, 1, 2])
def test_kernel_and_definition_agree(reverse: bool, biases: int) -> None:
    from whygrad.backends import raw
    from whygrad.ops import TABLE

    arrays = [f(4, 2, 12), f(2, 6), f(12, 3), *[f(12)] * biases]
    statics = {"cell": "lstm", "sizes": None, "reverse": reverse, "biases": biases}
    kernel = raw.mkldnn_rnn_layer(*arrays, **statics)
    definition = TABLE["mkldnn_rnn_layer"].forward(raw, *arrays, **statics)
    for a, b in zip(kernel, definition, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


# Parameters and states that do not fit: what is called, of (lib, input, h, the layer's parameters).
WRONG_SIZES = {
    "a narrow state": ("rnn_tanh", lambda lib, p: (lib.zeros(1, 3, 1), p)),
    "a state of another layer": ("gru", lambda lib, p: (lib.zeros(2, 3, 8), p)),
    "a short bias": ("gru", lambda lib, p: (lib.zeros(1, 3, 8), [*p[:3], p[3][:3]])),
    "few rows": ("gru", lambda lib, p: (lib.zeros(1, 3, 8), [p[0], p[1][:5], *p[2:]])),
    "another input": ("gru", lambda lib, p: (lib.zeros(1, 3, 8), [p[0][:, :2], *p[1:]])),
    "a wide hidden weight": ("rnn_relu", lambda lib, p: (lib.zeros(1, 3, 8), [p[0], lib.ones(8, 9), *p[2:]])),
}


@pytest.mark.parametrize("case", WRONG_SIZES)
@pytest.mark.parametrize("calls", [1, 60], ids=["first", "hot"])
def test_sizes_that_do_not_fit_are_refused(case: str, calls: int) -> None:
    function, make = WRONG_SIZES[case]
    for lib in (torch, whygrad):
        layer = lib.nn.GRU(4, 8) if function == "gru" else lib.nn.RNN(4, 8)
        for _ in range(calls):
            layer(lib.ones(5, 3, 4))
        state, params = make(lib, [p.detach() for p in layer.parameters()])
        with pytest.raises(RuntimeError):
            getattr(lib, function)(lib.ones(5, 3, 4), state, params, True, 1, 0.0, False, False, False)


@pytest.mark.parametrize("layer", ["LSTM", "RNN", "GRU"])
def test_a_hook_on_one_bias_leaves_the_other_alone(layer: str) -> None:
    found = []
    for lib in (torch, whygrad):
        lib.manual_seed(0)
        network = getattr(lib.nn, layer)(3, 4)
        network.bias_ih_l0.register_hook(lambda g: g.mul_(0))
        network(lib.ones(2, 2, 3))[0].sum().backward()
        found.append([to_numpy(p.grad) for p in network.parameters()])
    for theirs, ours in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)


def test_checks_of_ones_own_see_the_zeros() -> None:
    for lib in (torch, whygrad):
        class Wary(lib.nn.GRU):  # type: ignore[name-defined,misc]
            def check_forward_args(self, input: Any, hidden: Any, batch_sizes: Any) -> None:
                raise ValueError(f"{tuple(hidden.shape)}")

        with pytest.raises(ValueError, match=r"\(1, 2, 4\)"):
            Wary(3, 4)(lib.ones(5, 2, 3))


@pytest.mark.parametrize("name", ["LSTM", "GRU"])
def test_the_function_wants_a_state(name: str) -> None:
    for lib in (torch, whygrad):
        params = list(getattr(lib.nn, name)(3, 4).parameters())
        with pytest.raises(TypeError):
            getattr(lib, name.lower())(lib.ones(2, 2, 3), None, params, True, 1, 0.0, False, False, False)
