"""torch.autocast on the CPU and GradScaler against torch: which ops run in which dtype, the cache, the switches, the steps."""

from __future__ import annotations

import gc
import io
import pickle
import threading
import warnings
from typing import Any

import numpy as np
import pytest
import torch
from oracle import outcome

import whygrad

rng = np.random.default_rng(3)
ARRAYS = {"x": rng.normal(size=(4, 4)), "y": rng.normal(size=(4, 4)), "b": rng.normal(size=(2, 4, 4)), "v": rng.normal(size=4),
          "img": rng.normal(size=(2, 4, 6, 6)), "vol": rng.normal(size=(1, 2, 6, 6, 6)), "w2": rng.normal(size=(3, 4, 3, 3)),
          "w3": rng.normal(size=(3, 2, 3, 3, 3)), "u": rng.uniform(0.1, 0.9, size=(4, 4)), "qkv": rng.normal(size=(12, 4))}

# `h` is `x` in bfloat16, `d` in float64, `f` in float16, `i` whole numbers.
LOWER = """
mm(x, y); mm(x, h); x @ y; h @ x; d @ d; x @ d; x @ v; v @ v; f @ f; mv(x, v); dot(v, v); outer(v, v); bmm(b, b)
addmm(x, x, y); addmm(v, x, y); addbmm(x, b, b); baddbmm(b, b, b); baddbmm(h, b, b); addmv(v, x, v); linalg.vecdot(x, y)
inner(x, y); einsum('ij,jk', x, y); einsum('ij,jk', x, h); einsum('ij,ij->ij', x, h); einsum('ij->i', x); tensordot(x, y, 1)
tensordot(x, v, 1); tensordot(v, v, 0); tensordot(x, y); tensordot(v, v, 1); tensordot(x[:1], y[:, :1], 1); tensordot(h, x, 1)
chain_matmul(x, y, x); linalg.multi_dot([x, y, x]); matrix_power(x, 3); F.linear(x, y); F.linear(h, y, v)
F.linear(input=x, weight=y); F.conv1d(b, b[:, :, :2]); F.conv2d(img, w2); conv2d(img, w2, padding='same'); F.conv3d(vol, w3)
F.conv_transpose1d(b, b[0, :, None]); F.conv_transpose2d(img, w2.transpose(0, 1)); F.prelu(x, v[:1]); F.prelu(h, v[:1])
F.scaled_dot_product_attention(b, b, b); F.scaled_dot_product_attention(b, b, b, attn_mask=zeros(4, 4))
mm(x, y, out=empty(4, 4)); x.clone().addmm_(x, y); x.mm(y); x.matmul(h)
F.multi_head_attention_forward(b, b, b, 4, 2, qkv, None, None, None, False, 0.0, x, None)[0]; cov(x); mm(i, i); kron(x, y)
"""
FULL = """
F.mse_loss(h, x); F.mse_loss(h, d); F.l1_loss(h, h); F.smooth_l1_loss(h, x); F.huber_loss(h, h); F.cross_entropy(h, i[0])
F.nll_loss(h, i[0]); F.binary_cross_entropy(u.bfloat16(), u); F.binary_cross_entropy_with_logits(h, u); F.kl_div(h, u)
F.poisson_nll_loss(h, x); F.margin_ranking_loss(h, x, y.sign()); F.hinge_embedding_loss(h, y.sign())
F.soft_margin_loss(h, y.sign()); F.cosine_embedding_loss(h, x, v.sign()); F.triplet_margin_loss(h, x, y)
F.multi_margin_loss(h, i[0]); F.avg_pool3d(vol.bfloat16(), 2); F.max_pool3d(vol.bfloat16(), 2)
F.max_pool2d(img.bfloat16(), 2); F.adaptive_avg_pool3d(vol.bfloat16(), 2); F.avg_pool2d(img, 2)
F.grid_sample(img.bfloat16(), zeros(2, 3, 3, 2), align_corners=False); F.pad(img.bfloat16(), (1, 1, 1, 1), mode='reflect')
F.pad(img.bfloat16(), (1, 1), 'replicate'); F.pad(img.bfloat16(), (1, 1, 1, 1), mode='circular')
F.pad(img.bfloat16(), (1, 1)); F.local_response_norm(img.bfloat16(), 2)
F.max_pool3d(vol.bfloat16(), 2, return_indices=True)[0]; cdist(h, h); prod(h); h.prod(0); quantile(h, 0.5); trace(h)
polar(h.abs(), h).real; fft.fft(h).real; linalg.inv(h); inverse(h); linalg.solve(h, h); linalg.svdvals(h); linalg.det(h)
linalg.qr(h)[0].abs(); pinverse(h); linalg.matrix_rank(h)
"""
OTHERS = """
cat([x, h]); cat([h, h]); cat([h, d]); cat([h, f]); stack([x, h]); stack([h, d]); vstack([x, h]); concat((x, h))
hstack([h, x]); index_copy(h, 0, i[0, :1], x[:1]); where(x > 0, x, h); F.softmax(x, 0); F.softmax(h, 0)
F.layer_norm(h, (4,), v, v); h.exp(); h + x; F.group_norm(h, 2, v, v); F.rms_norm(h, (4,), v)
F.batch_norm(h, None, None, v, v, True); F.gelu(h); h * v; h.sum(); h.mean(); h / 2
"""


def texts(*tables: str) -> list[str]:
    return [text.strip() for table in tables for line in table.strip().splitlines() for text in line.split(";")]


def names(lib: Any) -> dict[str, Any]:
    # F.layer_norm and not torch.layer_norm: the names of torch are those of the table above only where they do not clash.
    tensors = {name: lib.tensor(a.astype(np.float32)) for name, a in ARRAYS.items()}
    x = tensors["x"]
    return {**{name: getattr(lib, name) for name in dir(torch) if name.islower() and hasattr(lib, name)}, **tensors,
            "h": x.bfloat16(), "d": x.double(), "f": x.half(), "i": lib.tensor([[0, 1, 2, 3]] * 4), "F": lib.nn.functional}


def seen(lib: Any, text: str, **options: Any) -> Any:
    """Class and first line of an error, or dtype, shape and numbers."""
    scope = names(lib)
    lib.manual_seed(0)

    def run() -> Any:
        with lib.autocast("cpu", **options):
            return eval(text, scope)

    kind, result = outcome(run)
    return result if kind == "error" else (str(result.dtype), tuple(result.shape), result.double().numpy())


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("text", texts(LOWER, FULL, OTHERS))
def test_dtype_of_an_op(text: str, dtype: str) -> None:
    theirs, ours = [seen(lib, text, dtype=getattr(lib, dtype)) for lib in (torch, whygrad)]
    assert theirs[:2] == ours[:2]
    if len(theirs) == 3:
        tolerance = {"bfloat16": 0.008, "float16": 0.001}[dtype]  # what the dtype resolves
        size = np.abs(theirs[2][np.isfinite(theirs[2])]).max(initial=0)
        np.testing.assert_allclose(ours[2], theirs[2], rtol=tolerance, atol=tolerance * size)


LAYERS = ["LSTM(4, 3)", "LSTM(4, 3, 2, bidirectional=True)", "GRU(4, 3)", "GRU(4, 3, bidirectional=True)", "RNN(4, 3)",
          "RNN(4, 3, nonlinearity='relu')", "LSTM(4, 3, proj_size=2)", "LSTM(4, 3, 2, bias=False, proj_size=2)"]


@pytest.mark.filterwarnings("ignore:LSTM with projections is not supported with oneDNN")
@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("given", ["b", "b.bfloat16()", "packed"])
def test_recurrent_layers(layer: str, given: str) -> None:
    found = []
    for lib in (torch, whygrad):
        lib.manual_seed(0)
        network = eval(f"nn.{layer}", {"nn": lib.nn})
        scope = {**names(lib), "packed": lib.nn.utils.rnn.pack_padded_sequence(names(lib)["b"], [2, 2, 1, 1])}
        with lib.autocast("cpu"):
            output, state = network(eval(given, scope))
        results = [output.data if given == "packed" else output, *(state if isinstance(state, tuple) else (state,))]
        results[0].float().square().sum().backward()
        results += [network.weight_ih_l0.grad, network.weight_hh_l0.grad]
        found.append([(str(t.dtype), t.detach().double().numpy()) for t in results])
    apart = 0.03 if "proj_size" in layer else 0.01  # which rounds to bfloat16 once more in each step
    for (dtype, theirs), (our_dtype, ours) in zip(*found, strict=True):
        assert our_dtype == dtype
        np.testing.assert_allclose(ours, theirs, rtol=0.01, atol=apart * np.abs(theirs).max())


@pytest.mark.parametrize("cell", ["LSTMCell", "GRUCell", "RNNCell"])
def test_cells(cell: str) -> None:
    found = []
    for lib in (torch, whygrad):
        lib.manual_seed(0)
        module = getattr(lib.nn, cell)(4, 3)
        with lib.autocast("cpu"):
            result = module(names(lib)["x"])
        found.append([str(t.dtype) for t in (result if isinstance(result, tuple) else (result,))])
    assert found[0] == found[1]


def training(lib: Any, **options: Any) -> list[Any]:
    """A transformer block with a convolution before it, and the losses of its training."""
    lib.manual_seed(0)
    block = lib.nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    before, head = lib.nn.Conv1d(3, 8, 3, padding=1), lib.nn.Linear(8, 2)
    parameters = [*block.parameters(), *before.parameters(), *head.parameters()]
    optimizer = lib.optim.AdamW(parameters, lr=1e-2)
    x, y = lib.randn(4, 3, 6), lib.randn(4, 6, 2)
    losses = []
    for _ in range(8):
        optimizer.zero_grad()
        with lib.autocast("cpu", **options):
            out = head(block(before(x).transpose(1, 2)))
            loss = lib.nn.functional.mse_loss(out, y)
        loss.backward()
        optimizer.step()
        losses.append((str(out.dtype), str(loss.dtype), loss.item()))
    assert all(p.grad.dtype is lib.float32 for p in parameters)
    return losses


@pytest.mark.parametrize("options", [{}, {"cache_enabled": False}, {"enabled": False}])
def test_training(options: dict[str, Any]) -> None:
    theirs, ours = training(torch, **options), training(whygrad, **options)
    assert [line[:2] for line in ours] == [line[:2] for line in theirs]
    np.testing.assert_allclose([line[2] for line in ours], [line[2] for line in theirs],
                               rtol=1e-5 if options == {"enabled": False} else 0.005)


def switches(lib: Any) -> list[Any]:
    """What the questions answer inside, outside and in other threads."""
    answers: list[Any] = []

    def look() -> None:
        answers.append((lib.is_autocast_enabled("cpu"), str(lib.get_autocast_dtype("cpu")), lib.is_autocast_cache_enabled(),
                        str(lib.mm(x, w).dtype)))

    x, w = lib.ones(2, 3), lib.ones(3, 3, requires_grad=True)
    look()
    with lib.autocast("cpu"):
        look()
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
        first, second = lib.mm(x, w), lib.mm(x, w)
        answers.append(first.grad_fn.next_functions[1][0] is second.grad_fn.next_functions[1][0])
        with lib.autocast("cpu", enabled=False):
            look()
        with lib.autocast("cpu", dtype=lib.float16, cache_enabled=False):
            answers.append((str(lib.mm(x, x.T).dtype), lib.is_autocast_cache_enabled()))
        with lib.no_grad():
            w.add_(1)
        answers.append(bool((lib.mm(x, w) == first).all()))  # the cache does not look
        lib.clear_autocast_cache()
        answers.append(bool((lib.mm(x, w) == first).all()))
    with lib.autocast("cpu"):
        with lib.no_grad():
            lib.mm(x, w)
        answers.append(lib.mm(x, w).requires_grad)
    with pytest.raises(ValueError, match="inside"), lib.autocast("cpu"):
        raise ValueError("inside")
    look()
    lib.set_autocast_enabled("cpu", True)
    look()
    lib.set_autocast_enabled("cpu", False)
    lib.set_autocast_dtype("cpu", lib.float16)
    look()
    lib.set_autocast_dtype("cpu", lib.bfloat16)
    answers += [lib.autocast_increment_nesting(), lib.autocast_decrement_nesting(), lib.is_autocast_enabled()]

    @lib.autocast("cpu")
    def product(a: Any) -> Any:
        """The product."""
        return a @ a

    return [*answers, str(product(lib.ones(2, 2)).dtype), product.__name__, product.__doc__]


def test_switches() -> None:
    assert switches(whygrad) == switches(torch)


REFUSED = ["autocast('cpu', dtype=float32)", "autocast('cpu', dtype=float64)", "autocast('foo')", "autocast('meta')",
           "autocast('cpu')(3)", "autocast('cuda')", "autocast(3)", "cpu.amp.autocast()", "cuda.amp.autocast(enabled=False)",
           "cpu.amp.GradScaler()", "amp.GradScaler('cpu', growth_factor=0.5)", "amp.GradScaler('cpu', backoff_factor=2.0)",
           "amp.GradScaler('cuda')", "is_autocast_enabled('meta')", "get_autocast_dtype('mps')",
           "amp.is_autocast_available('mps')", "amp.is_autocast_available('meta')", "amp.custom_fwd(device_type=3)",
           "amp.custom_bwd(device_type=3)",
           "is_autocast_cpu_enabled()", "get_autocast_cpu_dtype()", "set_autocast_cpu_enabled(False)", "cpu.device_count()"]


@pytest.mark.parametrize("text", REFUSED)
def test_warnings_and_refusals(text: str) -> None:
    found = []
    for lib in (torch, whygrad):
        scope = {name: getattr(lib, name) for name in (
            "amp", "autocast", "cpu", "cuda", "float32", "float64", "get_autocast_cpu_dtype", "get_autocast_dtype",
            "is_autocast_cpu_enabled", "is_autocast_enabled", "set_autocast_cpu_enabled")}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                result = eval(text, scope)
                shown = getattr(result, "_enabled", str(result))
            except Exception as error:
                shown = type(error).__name__, str(error)
        found.append((shown, [(w.category, str(w.message).partition(" (Triggered")[0]) for w in caught]))
    assert found[0] == found[1]


def custom(lib: Any) -> list[Any]:
    seen: list[Any] = []

    def look(ctx: Any, g: Any) -> None:
        seen.append((lib.is_autocast_enabled("cpu"), str(g.dtype), str(ctx._dtype), ctx._fwd_used_autocast))

    class Product(lib.autograd.Function):
        @staticmethod
        @lib.amp.custom_fwd(device_type="cpu")
        def forward(ctx: Any, a: Any, b: Any) -> Any:
            ctx.save_for_backward(a, b)
            return a.mm(b)

        @staticmethod
        @lib.amp.custom_bwd(device_type="cpu")
        def backward(ctx: Any, g: Any) -> Any:
            look(ctx, g)
            a, b = ctx.saved_tensors
            return g.mm(b.t()), a.t().mm(g)

    class InFull(lib.autograd.Function):
        @staticmethod
        @lib.amp.custom_fwd(device_type="cpu", cast_inputs=lib.float32)
        def forward(ctx: Any, a: Any, pair: Any) -> Any:
            seen.append((lib.is_autocast_enabled("cpu"), str(a.dtype), [str(t.dtype) for t in pair]))
            return a * 2

        @staticmethod
        @lib.amp.custom_bwd(device_type="cpu")
        def backward(ctx: Any, g: Any) -> Any:
            look(ctx, g)
            return g * 2, None

    x, w = lib.ones(2, 3), lib.ones(3, 3, requires_grad=True)
    h = lib.ones(2).bfloat16()
    with lib.autocast("cpu"):
        one, two = Product.apply(x, w), InFull.apply(w, [h, h])
    (one.float().sum() + two.sum()).backward()
    outside = Product.apply(x, w)
    outside.sum().backward()
    return [*seen, str(one.dtype), str(two.dtype), str(w.grad.dtype), w.grad.tolist()]


def test_custom_functions() -> None:
    assert custom(whygrad) == custom(torch)


def scaled_steps(lib: Any) -> list[Any]:
    scaler = lib.amp.GradScaler("cpu", init_scale=4.0, growth_interval=2)
    p = lib.nn.Parameter(lib.ones(2))
    optimizer = lib.optim.SGD([p], lr=0.1)
    seen: list[Any] = [scaler.state_dict(), scaler.get_scale()]
    for factor in (2.0, 2.0, float("inf"), 3.0, float("nan"), 1.0):
        optimizer.zero_grad()
        loss = (p * factor).sum()
        scaler.scale(loss).backward()
        if factor == 3.0:
            scaler.unscale_(optimizer)
            seen.append(p.grad.tolist())
        scaler.step(optimizer)
        scaler.update()
        seen += [scaler.get_scale(), p.tolist(), scaler.state_dict()]
    loss = (p * 2).sum()
    seen.append([t.item() for t in scaler.scale([loss, loss])])

    def refused(function: Any, *args: Any, **kwargs: Any) -> None:
        try:
            seen.append(function(*args, **kwargs))
        except Exception as error:
            seen.append((type(error).__name__, str(error)))

    refused(scaler.step, optimizer)
    refused(scaler.step, optimizer)
    refused(scaler.unscale_, optimizer)
    refused(scaler.update, 3.0)
    refused(scaler.unscale_, optimizer)
    refused(scaler.unscale_, optimizer)
    refused(scaler.update, lib.tensor(2.0))
    refused(scaler.update, lib.ones(2))
    refused(scaler.update)
    refused(scaler.scale, 3)
    refused(scaler.step, optimizer, closure=lambda: None)
    other = lib.amp.GradScaler("cpu")
    for method in (other.step, other.unscale_):
        refused(method, optimizer)
    refused(other.update)
    refused(other.load_state_dict, {})
    other.load_state_dict(scaler.state_dict())
    half = lib.nn.Parameter(lib.ones(1).half())
    other.scale(half.sum()).backward()
    refused(other.unscale_, lib.optim.SGD([half], lr=0.1))
    refused(other.step, lib.optim.SGD([lib.nn.Parameter(lib.ones(1))], lr=0.1))
    loaded = pickle.loads(pickle.dumps(scaler))
    return [*seen, other.state_dict(), loaded.state_dict(), scaler.is_enabled(), lib.amp.GradScaler(enabled=False).state_dict()]


def test_grad_scaler() -> None:
    assert scaled_steps(whygrad) == scaled_steps(torch)


def nested_backwards(lib: Any, depth: int) -> list[Any]:
    """What the innermost of many backwards, each inside the last, has of autocast."""
    seen: list[Any] = []

    class Nested(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, a: Any, depth: int) -> Any:
            ctx.depth = depth
            return a * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            if ctx.depth:
                with lib.enable_grad():
                    Nested.apply(lib.ones(2, requires_grad=True), ctx.depth - 1).sum().backward()
            else:
                seen.append((lib.is_autocast_enabled("cpu"), str(lib.mm(lib.ones(2, 2), lib.ones(2, 2)).dtype)))
            return g * 2, None

    x = lib.ones(2, requires_grad=True)
    with lib.autocast("cpu"):
        Nested.apply(x, depth).sum().backward()
    return [*seen, x.grad.tolist(), lib.is_autocast_enabled("cpu")]


@pytest.mark.parametrize("depth", [3, 70])
def test_nested_backwards(depth: int) -> None:
    ours, theirs = nested_backwards(whygrad, depth), nested_backwards(torch, depth)
    assert str(ours).replace("whygrad", "torch") == str(theirs)


def at_the_door() -> list[bool]:
    F = whygrad.nn.functional
    gc.collect()  # what tests before this one have left may keep their threads' state
    functions = (whygrad.mm, whygrad.Tensor.matmul, F.linear, F.cross_entropy)
    return [any(h.place == "autocast" for h in f.spec.handlers) for f in functions]


def test_a_thread_that_ends_inside() -> None:
    thread = threading.Thread(target=lambda: whygrad.autocast("cpu").__enter__())
    thread.start()
    thread.join()
    assert not any(at_the_door())


def test_nobody_stands_at_the_door_when_it_is_off() -> None:
    with whygrad.autocast("cpu"):
        assert all(at_the_door())
        assert not any(h.place == "autocast" for h in whygrad.add.spec.handlers)
        with whygrad.autocast("cpu", enabled=False):
            pass
        assert all(at_the_door())
    assert not any(at_the_door())


def test_scaler_in_a_checkpoint() -> None:
    scaler = whygrad.amp.GradScaler("cpu", init_scale=8.0)
    buffer = io.BytesIO()
    whygrad.save(scaler.state_dict(), buffer)
    buffer.seek(0)
    assert torch.load(buffer) == scaler.state_dict()
