"""`__torch_function__` of subclasses, foreign classes and modes: the same program on both, and what was asked in which order."""

from __future__ import annotations

import copy
import pickle
import warnings
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from interpreters import on_both

import whygrad

LIBRARIES = {"torch": torch, "whygrad": whygrad}


def kind_of(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [kind_of(x) for x in value]
    return type(value).__name__


class Log:
    """What was called: name, classes, kinds of the arguments and of the keywords."""

    def __init__(self, lib: Any) -> None:
        self.lib = lib
        self.lines: list[Any] = []

    def add(self, who: str, func: Any, types: Any, args: Any, kwargs: Any) -> None:
        name = self.lib.overrides.resolve_name(func) or getattr(func, "__name__", "?")
        keywords = {key: kind_of(value) for key, value in (kwargs or {}).items()}
        self.lines.append((who, name, [kind.__name__ for kind in types], kind_of(args), keywords))


def scene(lib: Any) -> SimpleNamespace:
    log = Log(lib)

    class Plain(lib.Tensor):
        pass

    class Sub(lib.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            log.add("Sub", func, types, args, kwargs)
            return super().__torch_function__(func, types, args, kwargs or {})

    class SubSub(Sub):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            log.add("SubSub", func, types, args, kwargs)
            return super().__torch_function__(func, types, args, kwargs or {})

    class Shy(lib.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            log.add("Shy", func, types, args, kwargs)
            return NotImplemented

    class Duck:
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            log.add("Duck", func, types, args, kwargs)
            return "quack"

    class Goose(Duck):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            log.add("Goose", func, types, args, kwargs)
            return NotImplemented

    class Quiet(lib.Tensor):
        __torch_function__ = lib._C._disabled_torch_function_impl

    class Mode(lib.overrides.TorchFunctionMode):
        def __init__(self, name: str = "mode", answer: Any = None) -> None:
            super().__init__()
            self.name, self.answer = name, answer

        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            log.add(self.name, func, types, args, kwargs)
            return func(*args, **(kwargs or {})) if self.answer is None else self.answer

    base = lib.tensor([[1.0, 2.0], [3.0, 4.0]])
    return SimpleNamespace(
        T=lib, F=lib.nn.functional, nn=lib.nn, log=log, Plain=Plain, Sub=Sub, SubSub=SubSub, Shy=Shy, Duck=Duck, Goose=Goose,
        Mode=Mode, Quiet=Quiet, x=base, p=base.as_subclass(Plain), s=base.clone().as_subclass(Sub),
        ss=base.clone().as_subclass(SubSub), shy=base.clone().as_subclass(Shy), d=Duck(), g=Goose(), q=base.as_subclass(Quiet),
        w=lib.nn.Parameter(base.clone()), i=lib.tensor([[0, 1]]), copy=copy, pickle=pickle, O=lib.overrides)


# Results of a plain subclass.
PLAIN = """
    p + 1 | 1 + p | x + p | T.add(p, p) | p.sum() | p[0] | p.T | p.grad | p.data | p.detach() | p.clone() | p.shape | p.numpy()
    p.max(0) | p.unbind() | list(p) | p.add_(1) | T.cat([p, x]) | nn.Parameter(p) | Plain([1., 2.]) | Plain(2, 3) | T.relu(p)
    F.relu(p) | p.new_zeros(2) | T.zeros_like(p) | p.double() | p.to('cpu') | p.requires_grad_() | T.as_tensor(p) | T.tensor(2.)
    copy.copy(p) | copy.deepcopy(p) | pickle.loads(pickle.dumps(x)) | p.split(1) | F.linear(p, p) | nn.Linear(2, 3)(p)
    p.view(-1) | p == p | bool((p == p).all()) | p._base | T.stack([p, x]) | T.where(p > 0, p, p) | T.Tensor.add(x, p)
    p.topk(1) | p.sum().item() | T.equal(p, p) | p @ p.T | p.as_subclass(T.Tensor) | p.is_leaf | p.cumsum(0) | p.dtype
    T.rand_like(p) | p.index_select(0, i[0]) | w * p | T.linalg.inv(p) | T.fft.fft(p) | q + 1 | q.sum()
    T.Tensor._make_subclass(Plain, x) | isinstance(nn.Parameter(p), nn.Parameter) | p.mean(dim=0, keepdim=True)
    F.softmax(p, dim=-1) | -p | p ** 2 | 2 / p | ~(p > 1)
"""
# What is asked.
ASKED = """
    s + 1 | 1 + s | x + s | s + x | s - 1 | 1 - s | s * s | 2 / s | s // 2 | s % 2 | s ** 2 | 2 ** s | s @ s | -s | abs(s)
    s == s | s < 1 | s != 1 | s[0] | s[0, 0] | len(s) | s.T | s.grad | s.shape | s.dtype | s.data | s.requires_grad | s.is_leaf
    s.grad_fn | s.sum() | T.sum(s, dim=0) | T.add(x, s) | T.add(x, other=s) | T.cat([x, s]) | T.stack((s, s), dim=1)
    F.linear(s, s) | s.view(4) | s.size() | s.dim() | s.ndim | s.numpy() | s.tolist() | float(s[0, 0]) | bool(s[0, 0] > 0)
    1.0 in s | s.exp() | T.exp(s) | T.linalg.norm(s) | T.fft.fft(s) | T.einsum('ij->i', s) | s.clone() | s.detach()
    s.to(T.float64) | w + s | w * s | T.where(x > 0, s, x) | s.unbind() | T.numel(s) | T.ones_like(s) | s.add_(1) | s.mul_(x)
    T.is_tensor(s) | F.conv1d(s, s[None]) | ss + s | s + ss | T.add(s, ss) | T.add(ss, s) | T.cat([s, ss]) | shy + s | s + shy
    T.add(shy, shy) | p + s | T.maximum(p, s) | T.add(x, d) | T.add(d, x) | T.relu(d) | F.relu(d) | T.cat([x, d])
    T.cat([d, d]) | T.add(x, g) | T.add(d, g) | T.matmul(d, x) | T.sum(d) | T.exp(d) | x + d | d + x | x.add(d) | T.add(s, d)
    T.add(d, s) | T.where(x > 0, d, x) | F.linear(x, d) | F.softmax(d, dim=-1) | T.bmm(x, d) | F.cross_entropy(d, x)
    T.linalg.inv(d) | T.einsum('ij->i', d) | F.dropout(d) | x.mul_(d) | F.conv2d(x, d) | T.split(d, 1) | T.mean(d, 0)
    F.mse_loss(d, x) | F.layer_norm(d, (2,)) | F.gelu(d) | F.embedding(i, d) | T.stack([x, d])
    d == x | x == d | d != x | x < d | d < x | x - d | d - x | x * d | d @ x | x @ d | x / d | x // d | x % d | x ** d | d ** x
    x & d | s.__eq__(1) | s.eq(1) | T.eq(s, 1) | T.mm(s, s) | T.mm(d, x) | s.mm(s) | T.spmm(s, s) | F.softmax(s, -1)
    F.relu(s, inplace=True) | F.gelu(s, approximate='tanh') | F.dropout(s, 0.1, False) | F.mse_loss(s, x, reduction='sum')
    F.cross_entropy(s, x) | F.linear(x, s, bias=None) | F.embedding(i, s) | F.pad(s, (1, 1))
    F.interpolate(s[None], scale_factor=2.)
    F.max_pool1d(s, 2) | F.avg_pool1d(s, 2) | F.normalize(s) | F.one_hot(i) | F.leaky_relu(s) | F.elu(s) | F.silu(s)
    F.log_softmax(s, 0) | F.softplus(s) | F.hardtanh(s) | F.threshold(s, 0., 1.) | F.glu(s)
    F.batch_norm(s, None, None, training=True)
    F.nll_loss(s, i[0]) | F.kl_div(s, x) | F.smooth_l1_loss(s, x) | F.cosine_similarity(s, x) | F.pairwise_distance(s, x)
    F.grid_sample(s[None, None], T.zeros(1, 1, 1, 2)) | F.scaled_dot_product_attention(s, s, s) | F.prelu(s, T.ones(1))
    F.hardshrink(s) | F.softshrink(s) | F.softsign(s) | F.sigmoid(s) | F.tanh(s) | F.logsigmoid(s) | F.hardswish(s) | F.celu(s)
    F.rms_norm(s, (2,)) | F.lp_pool1d(s, 2, 2) | F.conv1d(s[None], x[None]) | F.gumbel_softmax(s) | F.rrelu(s)
    F.ctc_loss(s, x, i, i) | F.multi_margin_loss(s, i[0]) | F.binary_cross_entropy_with_logits(s, x) | F.embedding_bag(i, s)
    F.layer_norm(x, (2,), weight=d) | F.mse_loss(x, d) | F.cross_entropy(x, d) | T.split(s, 1) | T.norm(s) | T.stft(s[0], 2)
    T.meshgrid(s[0], x[0]) | T.broadcast_tensors(s, x) | T.cdist(s, x) | T.tensordot(s, x) | T.atleast_1d(s) | T.unique(s)
    T.pca_lowrank(s) | s.split(1) | s.norm() | s.unique() | s.stft(2) | s.unflatten(0, (2, 1)) | s.nelement() | s.ndimension()
    s.new_zeros(2, dtype=T.float64) | s.std() | s.clamp(min=0) | s.stride(0) | s.real | s.mT | s._version | T.relu_(s)
    T.add(s, x, alpha=2) | T.addmm(x, x, s, beta=0) | T.exp(s, out=None) | T.matmul(x, s) | T.linalg.matmul(x, s)
    T.special.erf(s) | T.erf(s) | T.special.expit(s) | T.special.polygamma(1, s) | T.linalg.multi_dot([s, x]) | list(s) | iter(s)
    x[i.as_subclass(Sub)] | s.__reversed__() | 1 << s | 1 % s | 1 // s | s.__rdiv__(2) | s.__ipow__(2) | s.__iadd__(1) | s // x
    repr(s) | F.l1_loss(s, x) | T.chain_matmul(s, x) | s.__array__() | s.__dlpack__() | T.Tensor.__repr__(s, tensor_contents='a')
    nn.Linear(2, 2)(s) | nn.ReLU()(s) | nn.LayerNorm(2)(s) | nn.MSELoss()(s, x) | nn.CrossEntropyLoss()(s, i[0]) | nn.GELU()(s)
"""


def cases(text: str) -> list[str]:
    return [case.strip() for line in text.strip().splitlines() for case in line.split(" | ")]


def told(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}".replace("test_torch_function.", "")


def outcome(lib: Any, expression: str, modes: Any = ()) -> Any:
    things = scene(lib)
    things.log.lines.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result: Any = eval(expression, vars(things))
            kind = kind_of(result)
        except Exception as error:
            kind = told(error)
    return kind, things.log.lines


@pytest.mark.parametrize("expression", cases(PLAIN))
def test_results_of_a_subclass(expression: str) -> None:
    assert outcome(whygrad, expression)[0] == outcome(torch, expression)[0]


@pytest.mark.parametrize("expression", cases(ASKED))
def test_who_is_asked(expression: str) -> None:
    ours, theirs = outcome(whygrad, expression), outcome(torch, expression)
    assert ours[1] == theirs[1]
    assert ours[0] == theirs[0]


FOREIGN = """
class Duck:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func.__name__, len(args)
d, x = Duck(), torch.ones(2, 2)
print(d.__class__.__name__, x + 1)
"""


@pytest.mark.parametrize("call", cases("""
    torch.relu(d) | torch.nn.functional.relu(d) | torch.add(x, d) | torch.cat([x, d]) | x + d | d + x | x @ d | x.add(d)
    torch.add(x, other=d) | torch.nn.functional.linear(x, d) | torch.stack([d]) | torch.nn.functional.softsign(d) | x.mul_(d)
    torch.exp(d) | torch.sum(d) | torch.mm(d, x)"""))
def test_the_first_foreign_argument_of_a_process(call: str) -> None:
    """No handler is installed before: the function refuses, and then the argument is asked."""
    program = f"import torch\n{FOREIGN}print(({call},))"
    outputs = [told.replace("softsign", "abs") for told in on_both(program)]
    assert outputs[0].count("\n") > 2
    assert outputs[0] == outputs[1]


PROGRAMS = {
    "a mode sees functions, methods, operators, properties": """
        with Mode():
            y = x + 1
            y.sum().exp()
            T.ones(2); T.zeros_like(x); x.shape; x.T; F.relu(x); x[0]; y[0] = 1; T.tensor([1.0]); y += 1; x.requires_grad
            y.grad = None; T.arange(3); T.randn(2); x @ x; T.is_tensor(x)""",
    "modes nest": """
        with Mode("outer"), Mode("inner"):
            x + 1
        x + 1""",
    "a mode answers": """
        with Mode(answer=7):
            results = [x + 1, T.ones(2), F.relu(x)]
        log.lines.append(results)""",
    "a mode comes before subclasses": """
        with Mode():
            s + x
            T.add(x, d)""",
    "a mode calls itself": """
        class Again(O.TorchFunctionMode):
            depth = 0
            def __torch_function__(self, func, types, args=(), kwargs=None):
                log.add(f"again {self.depth}", func, types, args, kwargs)
                if self.depth < 2:
                    self.depth += 1
                    with self:
                        return func(*args, **(kwargs or {}))
                return func(*args, **(kwargs or {}))
        with Again():
            x + 1""",
    "an error inside leaves the mode": """
        try:
            with Mode():
                T.matmul(x, T.ones(3, 3))
        except RuntimeError:
            pass
        log.lines.append(O._get_current_function_mode_stack() == [])""",
    "subclasses are switched off": """
        with T._C.DisableTorchFunctionSubclass():
            log.lines.append(kind_of(s + 1))
            with Mode():
                s + 1
        with T._C.DisableTorchFunction(), Mode():
            log.lines.append(kind_of(s + 1))""",
    "a function of the user's": """
        def scaled(a, b):
            if O.has_torch_function((a, b)):
                return O.handle_torch_function(scaled, (a, b), a, b)
            return a * b + 1
        scaled(s, x); scaled(x, x); log.lines.append(scaled(x, d))
        @O.wrap_torch_function(lambda a: (a,))
        def wrapped(a):
            return a * 2
        log.lines.append([wrapped(d), kind_of(wrapped(x))])
        log.lines.append([O.has_torch_function_unary(d), O.has_torch_function_variadic(x, 3), O.has_torch_function_variadic(x, s),
                          O.is_tensor_like(d), O.is_tensor_like(x), O.is_tensor_like(3), O.has_torch_function_unary(w)])
        try:
            O.has_torch_function(3)
        except TypeError as error:
            log.lines.append(str(error))""",
    "numbers and others, broadcast": """
        log.lines.append(T.distributions.utils.broadcast_all(d, 2))
        T.as_tensor(s)""",
    "one hop is skipped": """
        class Twice(T.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                log.add("Twice", func, types, args, kwargs)
                return O.redispatch_function(func, types, args, kwargs)
        t = x.as_subclass(Twice)
        log.lines.append(kind_of(T.exp(t)))""",
    "nobody takes it": """
        for call in (lambda: shy + 1, lambda: T.add(shy, x), lambda: F.relu(shy), lambda: T.exp(g)):
            try:
                log.lines.append(call())
            except TypeError as error:
                log.lines.append(str(error).splitlines()[0])""",
    "functions are the public ones": """
        found = []
        class Named(O.TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                found.append(func)
                return func(*args, **(kwargs or {}))
        with Named():
            T.add(x, x); x.add(x); x.grad; F.relu(x); x + x; x.data
        log.lines.append([found[0] is T.add, found[1] == T.Tensor.add, found[2] == T.Tensor.grad.__get__, found[3] is F.relu,
                          found[4] == T.Tensor.add, found[5] == T.Tensor.data.__get__])""",
    "gradients": """
        leaf = T.ones(2, requires_grad=True)
        leaf.as_subclass(Plain).mul(3).sum().backward()
        log.lines.append([kind_of(leaf.grad), leaf.grad.tolist()])
        own = Plain([1.0, 2.0]).requires_grad_()
        (own * own).sum().backward()
        log.lines.append([kind_of(own.grad), own.grad.tolist(), repr(own), kind_of(own.grad_fn)])""",
    "attributes stay behind": """
        a = Plain([1.0, 2.0]); a.tag = 3
        log.lines.append([hasattr(a * 2, "tag"), hasattr(a.clone(), "tag"), copy.copy(a).tag, kind_of(copy.copy(a))])""",
    "a training step": """
        model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
        optimizer = T.optim.SGD(model.parameters(), lr=0.1)
        loss = F.mse_loss(model(p), x[:, :1].as_subclass(Plain))
        loss.backward()
        optimizer.step()
        log.lines.append([kind_of(loss), kind_of(model[0].weight.grad), kind_of(model[0].weight)])""",
    "questions": """
        log.lines.append([O.is_tensor_method_or_property(f) for f in (T.Tensor.add, T.add, T.Tensor.grad.__get__, F.relu)])
        log.lines.append([O.resolve_name(f) for f in (T.add, T.Tensor.add, F.relu, T.Tensor.grad.__get__, T.Tensor.__add__)])
        log.lines.append([O.resolve_name(f) for f in (T.mm, T.split, F.relu_, T.special.erf, T.linalg.matmul, T.Tensor.__neg__)])
        ignored = O.get_ignored_functions()
        log.lines.append([f in ignored for f in (T.Tensor.as_subclass, T.add, T.is_tensor, T.ones, T.rand_like, T.save, F.tanh)])
        overridable = O.get_overridable_functions()
        log.lines.append([f in overridable[T] for f in (T.add, T.cat, T.is_tensor, T.ones, T.normal)])
        log.lines.append([T.Tensor.add in overridable[T.Tensor], F.relu in overridable[F]])
        log.lines.append([O.get_testing_overrides()[f](x, x) for f in (T.add, T.Tensor.mul)])
        log.lines.append(T.Tensor.grad.__get__ in O.get_default_nowrap_functions())""",
}


def program_outcome(lib: Any, program: str) -> Any:
    things = scene(lib)
    things.kind_of = kind_of
    things.log.lines.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec("\n".join(line[8:] for line in program.splitlines()), vars(things))
    return [line if not isinstance(line, str) else line.replace("test_torch_function.", "") for line in things.log.lines]


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str) -> None:
    assert program_outcome(whygrad, PROGRAMS[name]) == program_outcome(torch, PROGRAMS[name])


def test_tensors_of_pytorch_are_data() -> None:
    whygrad.ones(2).as_subclass(type("Sub", (whygrad.Tensor,), {}))
    assert whygrad.from_dlpack(torch.arange(3.0)).tolist() == [0, 1, 2]
    with pytest.raises(TypeError):
        whygrad.add(whygrad.ones(2), torch.ones(2))
