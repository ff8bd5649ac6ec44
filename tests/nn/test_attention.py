"""Attention and Transformers against torch: the same seed gives the same model, outputs, gradients and errors."""

from __future__ import annotations

import copy
import inspect
import pickle
import warnings
from typing import Any

import numpy as np
import pytest
import torch
from oracle import assert_same, node_name, same_error

import whygrad
import whygrad.nn

rng = np.random.default_rng(5)
INF = float("inf")


def f(*shape: int) -> np.ndarray:
    return rng.normal(size=shape).astype(np.float32)


def leaf(m: Any, array: Any) -> Any:
    t = m.from_numpy(array.copy())
    return t.requires_grad_() if t.is_floating_point() else t


def loss_of(m: Any, tensors: Any) -> Any:
    return sum((t * m.arange(1, t.numel() + 1, dtype=t.dtype).view(t.shape).cos()).sum() for t in tensors if t is not None)


Q, K, V = f(2, 4, 5, 6), f(2, 4, 7, 6), f(2, 4, 7, 6)
BOOLS = rng.random((5, 7)) > 0.3
BOOLS[1] = False
NUMBERS = np.where(BOOLS, f(5, 7), -np.inf).astype(np.float32)

# call -> arrays q, k, v and perhaps a mask
ATTENTION: dict[str, tuple[Any, ...]] = {
    "q, k, v": (Q, K, V),
    "q, k, v, is_causal=True": (Q, K, V),
    "q, k, v, scale=0.3": (Q, K, V),
    "q, k, v, scale=-0.3": (Q, K, V),
    "q, k, v, mask": (Q, K, V, BOOLS),
    "q, k, v, mask.detach()": (Q, K, V, NUMBERS),
    "q, k, v, mask.detach(), is_causal=True": (Q, K, V, NUMBERS),
    "q, k, v, attn_mask=mask": (Q, K, V, f(5, 7)),
    "q, k, v, mask[None, None]": (Q, K, V, BOOLS),
    "q, k, v, mask[None]": (Q, K, V, BOOLS),
    "q, k, v, mask[:1]": (Q, K, V, BOOLS),
    "q.double(), k.double(), v.double()": (Q, K, V),
    "q.double(), k.double(), v.double(), mask.detach()": (Q, K, V, NUMBERS),
    "q, k, v[..., :3]": (Q, K, V),
    "q, k, m.cat([v, v], -1)": (Q, K, V),
    "q[0], k[0], v[0]": (Q, K, V),
    "q[0], k[0], v[0], mask": (Q, K, V, BOOLS),
    "q[0], k[0], v[0], mask.detach()": (Q, K, V, NUMBERS),
    "q[0], k[0], v[0], mask[0]": (Q, K, V, BOOLS),
    "q[0, 0], k[0, 0], v[0, 0], mask[0].detach()": (Q, K, V, NUMBERS),
    "q, k, v, mask[0]": (Q, K, V, f(5, 7)),
    "q[0], k[0], v[0], is_causal=True": (Q, K, V),
    "q[0, 0], k[0, 0], v[0, 0]": (Q, K, V),
    "q[None], k[None], v[None]": (Q, K, V),
    "q[:1], k, v": (Q, K, V),
    "q, k[:, :1], v[:, :1]": (Q, K, V),
    "q, k[:, :2], v[:, :2], enable_gqa=True": (Q, K, V),
    "q[0], k[0, :2], v[0, :2], enable_gqa=True": (Q, K, V),
    "q, k, v, dropout_p=0.4": (Q, K, V),
    "q, k, v, dropout_p=0.4, is_causal=True": (Q, K, V),
    "q[0], k[0], v[0], mask, 0.4": (Q, K, V, BOOLS),
    "q, k, v, dropout_p=1.0": (Q, K, V),
    "q.transpose(2, 3).contiguous().transpose(2, 3), k, v": (Q, K, V),
    "q[:, :, :0], k, v": (Q, K, V),
    "q, k[:, :, :0], v[:, :, :0]": (Q, K, V),
}


@pytest.mark.parametrize("call", ATTENTION)
def test_scaled_dot_product_attention(call: str) -> None:
    results = []
    for m in (torch, whygrad):
        leaves = [leaf(m, a) for a in ATTENTION[call]]
        q, k, v, *masks = leaves
        m.manual_seed(3)
        out = eval(f"m.nn.functional.scaled_dot_product_attention({call})",
                   {"m": m, "q": q, "k": k, "v": v, "mask": masks[0] if masks else None})
        inputs = [t for t in leaves if t.requires_grad]
        results.append([out, node_name(out), m.autograd.grad(loss_of(m, [out]), inputs, allow_unused=True)])
    assert_same(*results, rtol=1e-4)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("heads", "rows", "depth"), [(4, 64, 32), (2, 150, 24), (3, 40, 8)])
def test_parts_of_one_product(heads: int, rows: int, depth: int, causal: bool) -> None:
    """As language models do it: large enough for kernels, arguments and gradients are parts of one array."""
    start, slope = f(2, rows, 3 * heads * depth), f(2, rows, heads * depth)
    results = []
    for m in (torch, whygrad):
        together = leaf(m, start)
        parts = [x.view(2, rows, heads, depth).transpose(1, 2) for x in (together * 1).split(heads * depth, dim=2)]
        y = m.nn.functional.scaled_dot_product_attention(*parts, is_causal=causal)
        assert y.transpose(1, 2).is_contiguous()
        out = y.transpose(1, 2).contiguous().view(2, rows, heads * depth)
        of_parts = m.autograd.grad(out, parts, m.from_numpy(slope), retain_graph=True)
        out.backward(m.from_numpy(slope))
        again = together.grad.clone()
        out = (together * together).split(heads * depth, dim=2)[0].sum()
        out.backward()
        results.append([y, y.stride(), of_parts, again, together.grad])
    assert_same(*results, rtol=1e-4)


@pytest.mark.parametrize("order", ["0, 1, 2, 3", "0, 2, 1, 3", "2, 0, 1, 3", "1, 0, 2, 3", "2, 1, 0, 3"])
@pytest.mark.parametrize("rows", [3, 40])
def test_result_lies_as_the_query_does(order: str, rows: int) -> None:
    axes = eval(order)
    arrays = [f(*[(2, 3, rows, 8)[axis] for axis in axes]) for _ in range(3)]

    def run(m: Any) -> Any:
        q, k, v = [m.from_numpy(x).permute([axes.index(i) for i in range(4)]).requires_grad_() for x in arrays]
        y = m.nn.functional.scaled_dot_product_attention(q, k, v)
        return [y, y.stride(), y.grad_fn.next_functions[1][1]]

    assert_same(run(torch), run(whygrad), rtol=1e-4)


def test_shared_heads_are_not_copied() -> None:
    def run(m: Any) -> Any:
        q, k, v = leaf(m, f4), leaf(m, K[:, :2]), leaf(m, V[:, :2])
        y = m.nn.functional.scaled_dot_product_attention(q, k, v, enable_gqa=True)
        return [y, [type(node).__name__ for node, _ in y.grad_fn.next_functions], m.autograd.grad(loss_of(m, [y]), [q, k, v])]

    f4 = f(2, 8, 40, 6)
    assert_same(run(torch), run(whygrad), rtol=1e-4)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_short_floats(dtype: str) -> None:
    results = []
    for m in (torch, whygrad):
        q, k, v = [m.from_numpy(a).to(getattr(m, dtype)).requires_grad_() for a in (Q, K, V)]
        found = []
        for arguments in ((q, k, v), (q[0], k[0], v[0])):
            out = m.nn.functional.scaled_dot_product_attention(*arguments)
            found.append([out, node_name(out), m.autograd.grad(out.sum(), [q, k, v])])
        results.append(found)
    assert_same(*results)


def test_second_derivatives() -> None:
    """As in torch, the fused kernel has none, and the composed one has."""
    def second(m: Any, index: Any) -> Any:
        q, k, v = [leaf(m, a.astype(np.float64)) for a in (Q, K, V)]
        out = m.nn.functional.scaled_dot_product_attention(q[index], k[index], v[index])
        first = m.autograd.grad((out * out).sum(), [q, k, v], create_graph=True)
        assert all(g.requires_grad for g in first)
        return m.autograd.grad(loss_of(m, first), [q, k, v])

    assert_same(second(torch, 0), second(whygrad, 0), rtol=1e-7)
    same_error(lambda: second(torch, ...), lambda: second(whygrad, ...))


ATTENTION_ERRORS = [
    "q, k.double(), v", "q[0, 0, 0], k, v", "q, k, v, m.ones(5, 7, dtype=m.int64)", "q, k, v, m.ones(5, 7).double()",
    "q, k, v, m.ones(5, 8)", "q, k, v, m.ones(7)", "q, k[:, :3], v[:, :3], enable_gqa=True", "q, k[:, :2], v[:, :2]",
    "q, k, v, dropout_p=1.5", "3, k, v", "q, 'a', v", "q.long(), k.long(), v.long()",
    "q[0], k[0], v[0], m.ones(5, 7), is_causal=True", "q[0], k[0], v[0, :, :3]", "q[0], k[0, :, :, :3], v[0]",
]


@pytest.mark.parametrize("call", ATTENTION_ERRORS)
def test_attention_errors(call: str) -> None:
    def run(m: Any) -> Any:
        scope = {"m": m, "q": m.from_numpy(Q), "k": m.from_numpy(K), "v": m.from_numpy(V)}
        return eval(f"m.nn.functional.scaled_dot_product_attention({call})", scope)

    same_error(lambda: run(torch), lambda: run(whygrad))


def made(m: Any, constructor: str) -> Any:
    m.manual_seed(7)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eval(f"m.nn.{constructor}", {"m": m})


def seen(m: Any, constructor: str, arrays: tuple[Any, ...], call: str) -> list[Any]:
    """What shows of a module: its numbers, and forward and backward in training and in evaluation."""
    module = made(m, constructor)
    found = [repr(module), list(module.state_dict()), list(module.state_dict().values())]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for mode in (True, False):
            module.train(mode)
            leaves = [leaf(m, a) for a in arrays]
            scope = {"m": m, "module": module, **dict(zip("abcd", leaves, strict=False))}
            m.manual_seed(11)
            out = eval(f"module({call})", scope)
            out = list(out) if isinstance(out, tuple) else [out]
            inputs = [t for t in (*leaves, *module.parameters()) if t.requires_grad]
            found += [out, [t is not None and node_name(t) for t in out],
                      m.autograd.grad(loss_of(m, out), inputs, allow_unused=True)]
        with m.no_grad():
            out = eval(f"module({call})", scope)
            found.append(list(out) if isinstance(out, tuple) else [out])
    return found


X, Y, Z = f(5, 2, 8), f(7, 2, 8), f(7, 2, 8)
PADDING = np.array([[False] * 5, [False] * 3 + [True] * 2])
MASK = np.triu(np.ones((5, 5), bool), 1)

MODULES: list[tuple[str, tuple[Any, ...], str]] = [
    ("MultiheadAttention(8, 2)", (X,), "a, a, a"),
    ("MultiheadAttention(8, 2)", (X, Y, Z), "a, b, c"),
    ("MultiheadAttention(8, 2, 0.3)", (X, Y), "a, b, b"),
    ("MultiheadAttention(8, 2, dropout=0.3, bias=False)", (X,), "a, a, a, need_weights=False"),
    ("MultiheadAttention(8, 2, batch_first=True)", (f(2, 5, 8),), "a, a, a, average_attn_weights=False"),
    ("MultiheadAttention(8, 2, batch_first=True)", (f(2, 5, 8), f(2, 7, 8)), "a, b, b, need_weights=False"),
    ("MultiheadAttention(8, 2, batch_first=True)", (f(5, 8),), "a, a, a"),
    ("MultiheadAttention(8, 4)", (f(5, 8), f(7, 8)), "a, b, b, need_weights=False"),
    ("MultiheadAttention(8, 2, kdim=3, vdim=6)", (X, f(7, 2, 3), f(7, 2, 6)), "a, b, c"),
    ("MultiheadAttention(8, 2, kdim=3, vdim=6, bias=False)", (X, f(7, 2, 3), f(7, 2, 6)), "a, b, c, need_weights=False"),
    ("MultiheadAttention(8, 2, add_bias_kv=True)", (X, PADDING, MASK), "a, a, a, b, attn_mask=c"),
    ("MultiheadAttention(8, 2, add_zero_attn=True)", (X, PADDING, MASK), "a, a, a, b, False, attn_mask=c"),
    ("MultiheadAttention(8, 2, add_bias_kv=True, add_zero_attn=True)", (X,), "a, a, a"),
    ("MultiheadAttention(8, 2)", (X, PADDING), "a, a, a, b"),
    ("MultiheadAttention(8, 2)", (X, PADDING), "a, a, a, b, need_weights=False"),
    ("MultiheadAttention(8, 2)", (X, MASK), "a, a, a, attn_mask=b"),
    ("MultiheadAttention(8, 2)", (X, f(5, 5)), "a, a, a, attn_mask=b"),
    ("MultiheadAttention(8, 2)", (X, f(4, 5, 5)), "a, a, a, attn_mask=b, need_weights=False"),
    ("MultiheadAttention(8, 2)", (X, f(4, 5, 5)), "a, a, a, attn_mask=b.detach(), need_weights=False"),
    ("MultiheadAttention(8, 2)", (X, MASK), "a, a, a, attn_mask=b, is_causal=True, need_weights=False"),
    ("MultiheadAttention(8, 2)", (X, PADDING, f(5, 5)), "a, a, a, b, attn_mask=c"),
    ("MultiheadAttention(8, 2, dtype=m.float64)", (X.astype(np.float64),), "a, a, a"),
    ("MultiheadAttention(8, 2)", (f(5, 0, 8),), "a, a, a, need_weights=False"),
    ("TransformerEncoderLayer(8, 2, 12, batch_first=True)", (f(0, 5, 8),), "a"),
    ("TransformerEncoderLayer(8, 2, 12)", (X,), "a"),
    ("TransformerEncoderLayer(8, 2, 12, 0.0, 'gelu', norm_first=True)", (X, MASK), "a, b"),
    ("TransformerEncoderLayer(8, 2, 12, batch_first=True, bias=False)", (f(2, 5, 8), MASK, PADDING), "a, b, c"),
    ("TransformerEncoderLayer(8, 1, 12, activation=m.tanh, layer_norm_eps=1e-3)", (f(5, 8),), "a"),
    ("TransformerEncoderLayer(8, 2, 12, activation=m.nn.SiLU())", (X, MASK), "a, b, is_causal=True"),
    ("TransformerDecoderLayer(8, 2, 12)", (X, Y), "a, b"),
    ("TransformerDecoderLayer(8, 2, 12, activation='gelu', norm_first=True)", (X, Y, MASK), "a, b, c"),
    ("TransformerDecoderLayer(8, 2, 12, batch_first=True)", (f(2, 5, 8), f(2, 7, 8), f(5, 7)), "a, b, memory_mask=c"),
    ("TransformerEncoder(m.nn.TransformerEncoderLayer(8, 2, 12), 2)", (X, MASK), "a, b"),
    ("TransformerEncoder(m.nn.TransformerEncoderLayer(8, 2, 12, batch_first=True), 2, m.nn.LayerNorm(8))",
     (f(2, 5, 8), PADDING), "a, src_key_padding_mask=b"),
    ("TransformerEncoder(m.nn.TransformerEncoderLayer(8, 2, 12, batch_first=True), 2)",
     (f(2, 5, 8), PADDING[:, ::-1].copy()), "a, src_key_padding_mask=b"),
    ("TransformerEncoder(m.nn.TransformerEncoderLayer(8, 2, 12, batch_first=True), 2, enable_nested_tensor=False)",
     (f(2, 5, 8), PADDING), "a, src_key_padding_mask=b"),
    ("TransformerDecoder(m.nn.TransformerDecoderLayer(8, 2, 12), 2, m.nn.LayerNorm(8))", (X, Y),
     "a, b, tgt_mask=m.nn.Transformer.generate_square_subsequent_mask(5)"),
    ("Transformer(8, 2, 2, 1, 12)", (Y, X), "a, b"),
    ("Transformer(8, 2, 1, 1, 12, batch_first=True, norm_first=True, activation='gelu')",
     (f(2, 7, 8), f(2, 5, 8), PADDING), "a, b, tgt_mask=module.generate_square_subsequent_mask(5), tgt_key_padding_mask=c"),
    ("Transformer(8, 2, 1, 1, 12, bias=False)", (f(7, 8), f(5, 8)), "a, b, tgt_is_causal=False"),
]


@pytest.mark.parametrize(("constructor", "arrays", "call"), MODULES, ids=lambda x: x if isinstance(x, str) else "")
def test_modules(constructor: str, arrays: tuple[Any, ...], call: str) -> None:
    assert_same(seen(torch, constructor, arrays, call), seen(whygrad, constructor, arrays, call), rtol=2e-4)


def test_multi_head_attention_forward_with_given_keys() -> None:
    arrays = [X, f(24, 8), f(24), f(8, 8), f(8), f(4, 6, 4), f(4, 6, 4)]
    results = []
    for m in (torch, whygrad):
        x, w, b, out_w, out_b, k, v = leaves = [leaf(m, a) for a in arrays]
        out = m.nn.functional.multi_head_attention_forward(
            x, x, x, 8, 2, w, b, None, None, False, 0.0, out_w, out_b, static_k=k, static_v=v)
        results.append([out, m.autograd.grad(loss_of(m, out), leaves, allow_unused=True)])
    assert_same(*results, rtol=1e-4)


def test_second_derivative_with_weights() -> None:
    results = []
    for m in (torch, whygrad):
        layer = made(m, "MultiheadAttention(4, 2, dtype=m.float64)")
        x = leaf(m, X[:3, :, :4].astype(np.float64))
        out, _ = layer(x, x, x)
        first = m.autograd.grad(loss_of(m, [out]), [x, *layer.parameters()], create_graph=True)
        results.append(m.autograd.grad(loss_of(m, first), [x, *layer.parameters()], allow_unused=True))
    assert_same(*results, rtol=1e-7)


MODULE_ERRORS = [
    "MultiheadAttention(0, 2)", "MultiheadAttention(7, 2)", "TransformerEncoderLayer(8, 2, activation='sin')",
    "MultiheadAttention(8, 2)(m.ones(5, 2, 6), m.ones(5, 2, 6), m.ones(5, 2, 6))",
    "MultiheadAttention(8, 2)(m.ones(5), m.ones(5), m.ones(5))",
    "MultiheadAttention(8, 2)(m.ones(5, 2, 8), m.ones(5, 8), m.ones(5, 2, 8))",
    "MultiheadAttention(8, 2)(m.ones(5, 8), m.ones(5, 2, 8), m.ones(5, 8))",
    "MultiheadAttention(8, 2)(m.ones(5, 2, 8), m.ones(5, 2, 8), m.ones(6, 2, 8))",
    "MultiheadAttention(8, 2)(*[m.ones(5, 2, 8)] * 3, m.ones(5))",
    "MultiheadAttention(8, 2)(*[m.ones(5, 8)] * 3, m.ones(5, 5))",
    "MultiheadAttention(8, 2)(*[m.ones(5, 2, 8)] * 3, m.ones(3, 5))",
    "MultiheadAttention(8, 2)(*[m.ones(5, 2, 8)] * 3, m.ones(2, 4))",
    "MultiheadAttention(8, 2)(*[m.ones(5, 2, 8)] * 3, attn_mask=m.ones(5))",
    "MultiheadAttention(8, 2)(*[m.ones(5, 2, 8)] * 3, attn_mask=m.ones(5, 4))",
    "MultiheadAttention(8, 2)(*[m.ones(5, 2, 8)] * 3, attn_mask=m.ones(3, 5, 5))",
    "MultiheadAttention(8, 2)(*[m.ones(5, 8)] * 3, attn_mask=m.ones(3, 5, 5))",
    "MultiheadAttention(8, 2)(*[m.ones(5, 2, 8)] * 3, attn_mask=m.ones(5, 5, dtype=m.int64))",
    "MultiheadAttention(8, 2)(*[m.ones(5, 2, 8)] * 3, is_causal=True)",
    "MultiheadAttention(8, 2, kdim=3)(m.ones(5, 2, 8), m.ones(5, 2, 4), m.ones(5, 2, 8))",
    "MultiheadAttention(8, 2, kdim=3)(m.ones(5, 2, 8), m.ones(5, 2, 3), m.ones(6, 2, 8))",
    *[f"functional.multi_head_attention_forward(*[m.ones(5, 2, 8)] * 3, 8, {given})" for given in (
        "3, *[None] * 4, False, 0.0, None, None", "2, *[None] * 4, False, 0.0, None, None",
        "2, m.ones(24, 8), None, m.ones(1, 1, 8), None, False, 0.0, None, None",
        "2, m.ones(24, 8), None, None, None, False, 0.0, None, None, static_k=m.ones(3, 5, 4)")],
    "Transformer(8, 2, 1, 1, 12)(m.ones(5, 2, 8), m.ones(5, 3, 8))",
    "Transformer(8, 2, 1, 1, 12)(m.ones(5, 2, 7), m.ones(5, 2, 8))",
]


@pytest.mark.parametrize("expression", MODULE_ERRORS)
def test_module_errors(expression: str) -> None:
    same_error(lambda: eval(f"m.nn.{expression}", {"m": torch}), lambda: eval(f"m.nn.{expression}", {"m": whygrad}))


@pytest.mark.parametrize("layer", [
    "TransformerEncoderLayer(8, 2)", "TransformerEncoderLayer(8, 1, batch_first=True)", "Linear(8, 8)",
    "TransformerEncoderLayer(8, 2, batch_first=True, norm_first=True)",
    "TransformerEncoderLayer(8, 2, batch_first=True, bias=False)",
    "TransformerEncoderLayer(8, 2, batch_first=True, activation=m.tanh)", "TransformerEncoderLayer(8, 2, batch_first=True)"])
def test_an_encoder_warns_if_it_is_not_the_fast_one(layer: str) -> None:
    found = []
    for m in (torch, whygrad):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            encoder = m.nn.TransformerEncoder(made(m, layer), 1)
        found.append([encoder.use_nested_tensor, [(w.category, str(w.message)) for w in caught]])
    assert found[0] == found[1]


@pytest.mark.parametrize("name", ["MultiheadAttention", "TransformerEncoderLayer", "TransformerDecoderLayer",
                                  "TransformerEncoder", "TransformerDecoder", "Transformer"])
def test_signature(name: str) -> None:
    def parameters(m: Any, function: Any) -> list[Any]:
        return [(q.name, q.kind, getattr(q.default, "__name__", q.default))
                for q in inspect.signature(function).parameters.values()]

    theirs, ours = (getattr(m.nn, name) for m in (torch, whygrad))
    assert parameters(torch, theirs) == parameters(whygrad, ours)
    assert parameters(torch, theirs.forward) == parameters(whygrad, ours.forward)


def test_copies() -> None:
    layer = made(whygrad, "TransformerEncoderLayer(8, 2, 12, activation='gelu')")
    for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert repr(other) == repr(layer)
        assert all((a == b).all() for a, b in zip(layer.parameters(), other.parameters(), strict=True))


def trained(m: Any) -> list[float]:
    """A language model: embeddings, a causal encoder, a few steps of plain gradient descent."""
    m.manual_seed(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        encoder = m.nn.TransformerEncoder(m.nn.TransformerEncoderLayer(16, 4, 32), 2)
        layers = [m.nn.Embedding(11, 16), encoder, m.nn.Linear(16, 11)]
    model = m.nn.ModuleList(layers)
    words = m.randint(0, 11, (9, 3))
    mask = m.nn.Transformer.generate_square_subsequent_mask(8)
    losses = []
    for _ in range(6):
        logits = layers[2](layers[1](layers[0](words[:-1]), mask))
        loss = m.nn.functional.cross_entropy(logits.flatten(0, 1), words[1:].flatten())
        model.zero_grad()
        loss.backward()
        with m.no_grad():
            for p in model.parameters():
                p -= 0.3 * p.grad
        losses.append(loss.item())
    return losses


def test_training_gives_the_same_losses() -> None:
    assert_same(trained(torch), trained(whygrad), rtol=1e-4)


@pytest.mark.parametrize("backends", ["b.MATH", "b.FLASH_ATTENTION", "[b.MATH, b.FLASH_ATTENTION]", "[]", "b.ERROR", "'abc'"])
@pytest.mark.parametrize("dims", [3, 4])
def test_choice_of_kernel(backends: str, dims: int) -> None:
    def run(m: Any) -> Any:
        from importlib import import_module

        chosen = import_module(f"{m.__name__}.nn.attention")
        q = leaf(m, Q if dims == 4 else Q[0])
        with chosen.sdpa_kernel(eval(backends, {"b": chosen.SDPBackend})):
            return node_name(m.nn.functional.scaled_dot_product_attention(q, q, q))

    same_error(lambda: run(torch), lambda: run(whygrad))
    if "MATH" in backends:
        assert run(torch) == run(whygrad)


@pytest.mark.parametrize("masks", [(), (BOOLS,), (NUMBERS, BOOLS)])
@pytest.mark.parametrize("heads", [4, 2])
@pytest.mark.parametrize("causal", [False, True])
def test_kernel_and_definition_agree(masks: tuple[np.ndarray, ...], heads: int, causal: bool) -> None:
    from whygrad.backends import raw
    from whygrad.ops import TABLE

    name = "scaled_dot_product_flash_attention_for_cpu"
    statics = {"scale": 0.4, "causal": causal}
    k, v = K[:, :heads], V[:, :heads]
    out, sums = getattr(raw, name)(Q, k, v, *masks, **statics)
    for a, b in zip((out, sums), TABLE[name].forward(raw, Q, k, v, *masks, **statics), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    arguments = (f(*out.shape), Q, k, v, out, sums, *masks)
    back = f"{name}_backward"
    for a, b in zip(getattr(raw, back)(*arguments, **statics), TABLE[back].forward(raw, *arguments, **statics), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
