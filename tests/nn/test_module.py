"""Module and containers against torch: the same program on both, and everything that shows is compared."""

from __future__ import annotations

import copy
import gc
import inspect
import io
import pickle
import warnings
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from oracle import assert_same, same_error

import whygrad
import whygrad.nn


def shown(value: Any) -> Any:
    """A value in a form that can be compared between the two."""
    if isinstance(value, (torch.Tensor, whygrad.Tensor)):
        return ("tensor", str(value.dtype), tuple(value.shape), value.requires_grad, value.tolist())
    if isinstance(value, (torch.nn.Module, whygrad.nn.Module)):
        return ("module", repr(value))
    if isinstance(value, dict):
        return [(key, shown(v)) for key, v in value.items()]
    if isinstance(value, (tuple, list)) or hasattr(value, "__next__"):
        return [shown(v) for v in value]
    return str(value) if isinstance(value, type) else value


def same(program: Callable[[Any], Any]) -> None:
    """`program(torch)` and `program(whygrad)` give the same values, warnings, or errors."""
    outcomes = []
    for module in (torch, whygrad):
        module.manual_seed(0)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                result = ("value", shown(program(module)))
            except Exception as error:
                result = ("error", type(error).__name__, _neutral(str(error)))
        outcomes.append((result, [(w.category, _neutral(str(w.message))) for w in caught]))
    assert alike(*outcomes), f"torch: {outcomes[0]}\nwe: {outcomes[1]}"


def alike(a: Any, b: Any) -> bool:
    """Equal, and floats nearly so."""
    if isinstance(a, (tuple, list)) and isinstance(b, (tuple, list)):
        return len(a) == len(b) and all(alike(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, float) and isinstance(b, float):
        return bool(np.isclose(a, b, rtol=1e-4, atol=1e-5, equal_nan=True))
    return bool(a == b)


def _neutral(text: str) -> str:
    return text.replace("whygrad.nn.containers.", "torch.nn.modules.container.").replace(
        "whygrad.nn.module.", "torch.nn.modules.module.")


def net(m: Any) -> Any:
    class Net(m.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = m.nn.Linear(3, 4)
            self.norm = m.nn.BatchNorm1d(4)
            self.rest = m.nn.Sequential(m.nn.ReLU(), m.nn.Linear(4, 2, bias=False))
            self.scale = m.nn.Parameter(m.ones(2))
            self.register_buffer("steps", m.tensor(3))
            self.register_buffer("cache", m.zeros(2), persistent=False)
            self.note = "plain"

        def forward(self, x: Any, *, twice: bool = False) -> Any:
            y = self.rest(self.norm(self.first(x))) * self.scale
            return y * 2 if twice else y

    return Net()


def under(m: Any, flag: str, program: Callable[[], Any]) -> Any:
    """`program` with a flag of torch.__future__ set."""
    future = m.__future__
    get, put = (getattr(future, f"{word}_{flag}_module_params_on_conversion") for word in ("get", "set"))
    put(True)
    try:
        return get(), program()
    finally:
        put(False)


def converted(m: Any, flag: str) -> Any:
    def program() -> Any:
        module = m.nn.Linear(3, 2)
        module(m.ones(3)).sum().backward()
        before, grad, kept = module.weight, module.weight.grad, module.weight.detach()
        module.double()
        return (module.weight is before, module.weight.grad is grad, before, grad, kept, module.weight, module.weight.grad,
                type(module.weight).__name__)

    return under(m, flag, program)


def loaded(m: Any, assign: bool) -> Any:
    def program() -> Any:
        module, other = m.nn.Linear(3, 2).requires_grad_(False), m.nn.Linear(3, 2).double()
        before, buffer = module.weight, other.state_dict()["bias"]
        keys = module.load_state_dict(other.state_dict(), assign=assign)
        return module.weight is before, module.state_dict(), before, buffer, repr(keys), type(module.bias).__name__

    return under(m, "swap", program)


def unreferenced(m: Any) -> int:
    """The objects in reference cycles after loading."""
    module, state = net(m), net(m).state_dict()
    gc.collect()
    module.load_state_dict(state)
    return gc.collect()


def loading_itself(m: Any) -> Any:
    class Own(m.Tensor):  # type: ignore[misc,name-defined]
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return args[0] if func is m.Tensor.module_load else super().__torch_function__(func, types, args, kwargs or {})

    module = m.nn.Linear(2, 1, bias=False)
    module.weight = m.nn.Parameter(m.ones(1, 2).as_subclass(Own))
    return module.load_state_dict({"weight": m.zeros(1, 2)})


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "repr": lambda m: repr(net(m)),
    "named_parameters": lambda m: list(net(m).named_parameters()),
    "named_parameters own": lambda m: list(net(m).named_parameters(prefix="p", recurse=False)),
    "named_buffers": lambda m: list(net(m).named_buffers()),
    "named_modules": lambda m: list(net(m).named_modules()),
    "named_children": lambda m: list(net(m).named_children()),
    "state_dict": lambda m: net(m).state_dict(),
    "state_dict metadata": lambda m: net(m).state_dict()._metadata,
    "state_dict prefix": lambda m: list(net(m).state_dict(prefix="a.")),
    "state_dict keep_vars": lambda m: [v.requires_grad for v in net(m).state_dict(keep_vars=True).values()],
    "state_dict positional": lambda m: net(m).state_dict(OrderedDict(), "x."),
    "dir": lambda m: [name for name in dir(net(m)) if name in ("first", "scale", "steps", "note", "forward")],
    "forward": lambda m: net(m)(m.ones(5, 3), twice=True),
    "eval": lambda m: net(m).eval()(m.ones(5, 3)),
    "missing attribute": lambda m: net(m).nothing,
    "get_submodule": lambda m: net(m).get_submodule("rest.1"),
    "get_submodule missing": lambda m: net(m).get_submodule("rest.7"),
    "get_submodule of a parameter": lambda m: net(m).get_submodule("scale"),
    "get_parameter": lambda m: net(m).get_parameter("rest.1.weight"),
    "get_parameter of a buffer": lambda m: net(m).get_parameter("steps"),
    "get_buffer": lambda m: net(m).get_buffer("norm.running_mean"),
    "type in a message": lambda m: setattr(net(m), "scale", m.nn.Sequential),
    "class in a message": lambda m: net(m).register_buffer("b", m.nn.ModuleList),
    "get_buffer of a parameter": lambda m: net(m).get_buffer("scale"),
    "set_submodule": lambda m: (n := net(m), n.set_submodule("rest.0", m.nn.Tanh()), n)[-1],
    "set_submodule strict": lambda m: net(m).set_submodule("rest.5", m.nn.Tanh(), strict=True),
    "train of a number": lambda m: net(m).train(1),
    "unexpected argument": lambda m: m.nn.Module(3),
    "unexpected keyword": lambda m: m.nn.Module(x=3),
    "no forward": lambda m: m.nn.Module()(1),
    "register_parameter twice": lambda m: net(m).register_parameter("note", m.nn.Parameter(m.ones(1))),
    "register_parameter dot": lambda m: net(m).register_parameter("a.b", None),
    "register_parameter empty": lambda m: net(m).register_parameter("", None),
    "register_parameter number": lambda m: net(m).register_parameter(3, None),
    "register_parameter tensor": lambda m: net(m).register_parameter("w", m.ones(1)),
    "register_parameter non-leaf": lambda m: net(m).register_parameter("w", m.ones(1)),
    "register_buffer dot": lambda m: net(m).register_buffer("a.b", None),
    "register_buffer list": lambda m: net(m).register_buffer("b", [1]),
    "register_buffer taken": lambda m: net(m).register_buffer("first", None),
    "add_module dot": lambda m: net(m).add_module("a.b", None),
    "add_module empty": lambda m: net(m).add_module("", None),
    "add_module taken": lambda m: net(m).add_module("note", m.nn.ReLU()),
    "add_module string": lambda m: net(m).add_module("a", "b"),
    "add_module number": lambda m: net(m).add_module(3, m.nn.ReLU()),
    "to int": lambda m: net(m).to(m.int64),
    "double": lambda m: net(m).double().state_dict(),
    "to dtype": lambda m: net(m).to(m.float16).state_dict(),
    "to device and dtype": lambda m: net(m).to("cpu", m.float64).state_dict(),
    "to tensor": lambda m: net(m).to(m.ones(1, dtype=m.float64)).state_dict(),
    "to keyword": lambda m: net(m).to(device="cpu", dtype=m.float64).state_dict(),
    "to channels last": lambda m: [v.stride() for v in m.nn.Sequential(
        m.nn.Conv2d(3, 4, 3), m.nn.BatchNorm2d(4), m.nn.Conv1d(4, 4, 2)).to(memory_format=m.channels_last).state_dict().values()],
    "to channels last and dtype": lambda m: m.nn.Conv2d(3, 4, 3).to(m.float64, memory_format=m.channels_last).weight.stride(),
    "to channels last of volumes": lambda m: m.nn.Conv3d(2, 2, 3).to(memory_format=m.channels_last),
    "cpu float half": lambda m: net(m).cpu().half().float().state_dict(),
    "requires_grad_": lambda m: [p.requires_grad for p in net(m).requires_grad_(False).parameters()],
    "load strict": lambda m: net(m).load_state_dict({"scale": m.ones(3), "other": m.ones(1), "first.x.y": 3}),
    "load not strict": lambda m: net(m).load_state_dict({"scale": m.zeros(2), "other": m.ones(1)}, strict=False),
    "load not strict, shown": lambda m: repr(net(m).load_state_dict({"scale": m.zeros(2), "other": m.ones(1)}, strict=False)),
    "load all": lambda m: repr(net(m).load_state_dict(net(m).state_dict())),
    "load a list": lambda m: net(m).load_state_dict([1]),
    "load no tensor": lambda m: net(m).load_state_dict({**net(m).state_dict(), "scale": [1, 2]}),
    "load wrong shape": lambda m: net(m).load_state_dict({**net(m).state_dict(), "scale": m.ones(2, 2)}),
    "load 1 element into 0-dim": lambda m: net(m).load_state_dict({**net(m).state_dict(), "steps": m.tensor([5])}),
    "overwritten on conversion": lambda m: converted(m, "overwrite"),
    "swapped on conversion": lambda m: converted(m, "swap"),
    "loaded by swapping": lambda m: loaded(m, False),
    "assigned by swapping": lambda m: loaded(m, True),
    "converted to another layout": lambda m: (
        n := m.nn.Linear(3, 2), n._apply(lambda t: t.to_sparse()), n.weight.layout == m.sparse_coo, n.weight.to_dense(),
        isinstance(n.weight, m.nn.Parameter))[2:],
    "nothing loaded by swapping": lambda m: under(m, "swap", lambda: repr(m.nn.Linear(2, 1, device="meta").load_state_dict(
        m.nn.Linear(2, 1).state_dict()))),
    "loaded by swapping, wrong shape": lambda m: under(m, "swap", lambda: net(m).load_state_dict(
        {**net(m).state_dict(), "scale": m.ones(2, 2)})),
    "load by a method of its own": lambda m: under(m, "swap", lambda: loading_itself(m)),
    "swap a tensor with a weak reference": lambda m: (t := m.ones(2), [weakref.ref(t), m.utils.swap_tensors(t, m.ones(3))]),
    "swap a view": lambda m: (x := m.ones(3), v := x[:2], m.utils.swap_tensors(v, w := m.zeros(4)), v, w, w._is_view()),
    "to with copy": lambda m: net(m).to("cpu", copy=True),
    "to with copy by position": lambda m: net(m).to(m.float64, False, True),
    "to without waiting": lambda m: net(m).to("cpu", m.float64, True).state_dict(),
    "a handle's registry": lambda m: (n := net(m), h := n.register_forward_hook(print), list(h.hooks_dict_ref()) == [h.id])[-1],
    "materialize by a number": lambda m: (p := m.nn.UninitializedParameter(), p.materialize(4), tuple(p.shape))[-1],
    "loading leaves no cycle": lambda m: unreferenced(m),
    "module list": lambda m: m.nn.ModuleList([m.nn.Linear(1, 1), m.nn.Linear(1, 1), m.nn.ReLU()]),
    "empty module list": lambda m: m.nn.ModuleList(),
    "nested repr": lambda m: m.nn.ModuleDict({"a": m.nn.ModuleList([m.nn.Sequential(m.nn.ReLU(), m.nn.Tanh())] * 2)}),
    "none child": lambda m: (n := net(m), setattr(n, "first", None), repr(n))[-1],
    "sequential slice": lambda m: m.nn.Sequential(m.nn.ReLU(), m.nn.Tanh(), m.nn.ReLU())[1:],
    "sequential index": lambda m: m.nn.Sequential(m.nn.ReLU(), m.nn.Tanh())[-1],
    "sequential out of range": lambda m: m.nn.Sequential(m.nn.ReLU())[3],
    "sequential add": lambda m: m.nn.Sequential(m.nn.ReLU()) + m.nn.Sequential(m.nn.Tanh()),
    "sequential add list": lambda m: m.nn.Sequential(m.nn.ReLU()) + 1,
    "sequential mul": lambda m: m.nn.Sequential(m.nn.ReLU(), m.nn.Tanh()) * 2,
    "sequential mul 0": lambda m: m.nn.Sequential(m.nn.ReLU()) * 0,
    "sequential mul text": lambda m: m.nn.Sequential(m.nn.ReLU()) * "a",
    "sequential names": lambda m: m.nn.Sequential(OrderedDict(a=m.nn.ReLU(), b=m.nn.Tanh())),
    "sequential of a number": lambda m: m.nn.Sequential(3),
    "parameter list": lambda m: m.nn.ParameterList([m.ones(2, 3), m.nn.Parameter(m.ones(1)), 3]),
    "parameter list call": lambda m: m.nn.ParameterList([m.ones(2)])(1),
    "parameter list extend": lambda m: m.nn.ParameterList([m.ones(2)]).extend(m.ones(3)),
    "parameter dict": lambda m: m.nn.ParameterDict({"b": m.ones(2, 3), "a": m.nn.Parameter(m.ones(1))}),
    "parameter dict number": lambda m: m.nn.ParameterDict({"b": m.ones(2, 3)})[3],
    "module dict update": lambda m: m.nn.ModuleDict([("a", m.nn.ReLU()), ("b", 3)]),
    "module dict update numbers": lambda m: m.nn.ModuleDict(3),
    "module dict triples": lambda m: m.nn.ModuleDict([(1, 2, 3)]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str) -> None:
    same(PROGRAMS[name])


def fused(m: Any, layer: str, norm: str, **options: Any) -> Any:
    """The parameters of a layer and a batch norm in one, and what it computes."""
    first = eval(f"nn.{layer}", {"nn": m.nn}).eval()
    second = eval(f"nn.{norm}", {"nn": m.nn}).eval()
    for i, buffer in enumerate(second.buffers()):
        buffer.add_(i + 1)
    fuse = m.nn.utils.fuse_linear_bn_eval if "Linear" in layer else m.nn.utils.fuse_conv_bn_eval
    result = fuse(first, second, **options)
    x = m.arange(48.0).reshape(4, 3, 4)[:, :, 0] if "Linear" in layer else m.arange(48.0).reshape(1, 3, 4, 4)
    return result.state_dict(), [p.requires_grad for p in result.parameters()], (result(x) - second(first(x))).abs().max() < 1e-3


@pytest.mark.parametrize(("layer", "norm", "options"), [
    ("Conv2d(3, 4, 2)", "BatchNorm2d(4)", {}), ("Conv2d(3, 4, 2, bias=False)", "BatchNorm2d(4, affine=False)", {}),
    ("ConvTranspose2d(3, 4, 2)", "BatchNorm2d(4)", {"transpose": True}), ("Linear(3, 4)", "BatchNorm1d(4)", {}),
    ("Linear(3, 4, bias=False).requires_grad_(False)", "BatchNorm1d(4)", {}), ("Linear(3, 4)", "BatchNorm1d(5)", {}),
    ("Conv2d(3, 4, 2)", "BatchNorm2d(4, track_running_stats=False)", {})])
def test_fusion(layer: str, norm: str, options: dict[str, Any]) -> None:
    same(lambda m: fused(m, layer, norm, **options))


def test_assignments() -> None:
    def program(m: Any) -> Any:
        n = net(m)
        seen = []

        def attempt(name: str, value: Any) -> None:
            try:
                setattr(n, name, value)
                seen.append(("ok", name, [*n._parameters], [*n._buffers], [*n._modules],
                             sorted(n._non_persistent_buffers_set), name in n.__dict__))
            except Exception as error:
                seen.append((type(error).__name__, str(error)))

        attempt("scale", m.ones(2))
        attempt("scale", m.nn.Linear(1, 1))
        attempt("scale", None)
        attempt("first", m.ones(2))
        attempt("first", 3)
        attempt("steps", 3)
        attempt("steps", None)
        attempt("steps", m.ones(2))
        attempt("cache", m.ones(2))
        attempt("cache", m.nn.Parameter(m.ones(2)))
        attempt("note", m.nn.Parameter(m.ones(2)))
        attempt("note", m.nn.ReLU())
        attempt("buffered", m.nn.Buffer(m.ones(2), persistent=False))
        attempt("plain", m.ones(2))
        attempt("plain", m.nn.Parameter(m.ones(2)))
        for name in ("plain", "buffered", "first", "scale"):
            delattr(n, name)
        seen.append(([*n._parameters], [*n._buffers], [*n._modules]))
        try:
            del n.nothing
        except AttributeError as error:
            seen.append(str(error))
        return seen

    same(program)


def test_before_init() -> None:
    def program(m: Any) -> Any:
        seen = []
        for name in ("parameter", "module", "buffer", "register_parameter", "register_buffer"):
            class Early(m.nn.Module):
                def __init__(self, name: str = name) -> None:
                    if name == "parameter":
                        self.x = m.nn.Parameter(m.ones(1))
                    elif name == "module":
                        self.x = m.nn.ReLU()
                    elif name == "buffer":
                        self.x = m.nn.Buffer(m.ones(1))
                    elif name == "register_parameter":
                        self.register_parameter("x", None)
                    else:
                        self.register_buffer("x", None)

            try:
                Early()
            except Exception as error:
                seen.append((type(error).__name__, str(error)))
        return seen

    same(program)


def test_non_leaf_parameter() -> None:
    def program(m: Any) -> Any:
        n = net(m)
        p = m.nn.Parameter(m.ones(2))
        p *= 1  # a leaf changed in place
        n.register_parameter("w", p)

    same(program)


def test_shared_parameters_are_listed_once() -> None:
    def program(m: Any) -> Any:
        n = m.nn.Module()
        n.a, n.b = m.nn.Linear(2, 2), m.nn.Linear(2, 2)
        n.b.weight = n.a.weight
        n.c = n.a
        return [[name for name, _ in n.named_parameters()],
                [name for name, _ in n.named_parameters(remove_duplicate=False)],
                [name for name, _ in n.named_modules(remove_duplicate=False)], len(list(n.children())),
                list(n.state_dict())]

    same(program)


def test_state_dict_shares_memory_and_load_copies() -> None:
    def program(m: Any) -> Any:
        a, b = net(m), net(m)
        state = a.state_dict()
        weight = b.first.weight
        b.load_state_dict(state)
        with m.no_grad():
            a.scale.fill_(7)
        return [state["scale"], b.scale, b.first.weight is weight, weight._version]

    same(program)


def test_load_with_assign() -> None:
    def program(m: Any) -> Any:
        n = net(m)
        state = net(m).double().state_dict()
        n.load_state_dict(state, assign=True)
        return [n.first.weight.data_ptr() == state["first.weight"].data_ptr(), n.first.weight.dtype is m.float64,
                type(n.first.weight).__name__, n.scale.requires_grad]

    same(program)


def test_state_dict_hooks_and_extra_state() -> None:
    def program(m: Any) -> Any:
        seen: list[Any] = []

        class Extra(m.nn.Linear):
            def get_extra_state(self) -> Any:
                return {"answer": 42}

            def set_extra_state(self, state: Any) -> None:
                seen.append(("extra", state))

        n = m.nn.Sequential(Extra(2, 2))
        n.register_state_dict_pre_hook(lambda module, prefix, keep: seen.append(("pre", prefix, keep)))
        n.register_state_dict_post_hook(lambda module, state, prefix, meta: state.update(added=m.ones(1)))
        n[0]._register_state_dict_hook(lambda module, state, prefix, meta: seen.append((prefix, meta)))
        n.register_load_state_dict_pre_hook(
            lambda module, state, prefix, meta, strict, missing, unexpected, errors: state.pop("added"))
        n.register_load_state_dict_post_hook(lambda module, keys: seen.append(keys))
        state = n.state_dict()
        return seen, state, n.load_state_dict(state)

    same(program)


def test_forward_hooks() -> None:
    def program(m: Any) -> Any:
        seen: list[Any] = []
        n = m.nn.Linear(2, 2)
        n.register_forward_pre_hook(lambda module, args: seen.append(("pre", args)))
        n.register_forward_pre_hook(lambda module, args, kwargs: (args, {"input": kwargs["input"] * 2}),
                                    with_kwargs=True, prepend=True)
        n.register_forward_hook(lambda module, args, out: seen.append(("post", args, out)))
        n.register_forward_hook(lambda module, args, kwargs, out: out * 3, with_kwargs=True, prepend=True)
        handle = n.register_forward_hook(lambda module, args, out: seen.append("removed"))
        handle.remove()
        seen.append(n(input=m.ones(1, 2)))
        n.register_forward_pre_hook(lambda module, args: (m.zeros(1, 2),))
        try:
            n(m.ones(1, 2))
        except Exception as error:
            seen.append(type(error).__name__)
        return seen, len(n._forward_hooks), len(n._forward_hooks_with_kwargs)

    same(program)


def test_always_called_hooks() -> None:
    def program(m: Any) -> Any:
        seen: list[Any] = []

        class Fails(m.nn.Module):
            def forward(self, x: Any) -> Any:
                raise ValueError("no")

        def broken(module: Any, args: Any, out: Any) -> None:
            raise KeyError("hook")

        n = Fails()
        n.register_forward_hook(lambda module, args, out: seen.append(("always", out)), always_call=True)
        n.register_forward_hook(broken, always_call=True)
        n.register_forward_hook(lambda module, args, out: seen.append("never"))
        try:
            n(3)
        except ValueError as error:
            seen.append(str(error))
        return seen

    same(program)


def test_bad_pre_hook_result() -> None:
    def program(m: Any) -> Any:
        n = m.nn.ReLU()
        n.register_forward_pre_hook(lambda module, args, kwargs: 3, with_kwargs=True)
        n(m.ones(1))

    same(program)


def test_global_hooks() -> None:
    def program(m: Any) -> Any:
        module = m.nn.modules.module
        seen: list[Any] = []
        handles = [
            module.register_module_forward_pre_hook(lambda n, args: seen.append(("pre", type(n).__name__))),
            module.register_module_forward_hook(lambda n, args, out: seen.append(("post", type(n).__name__))),
            module.register_module_full_backward_pre_hook(lambda n, go: seen.append(("bpre", type(n).__name__))),
            module.register_module_full_backward_hook(lambda n, gi, go: seen.append(("bpost", type(n).__name__))),
            module.register_module_parameter_registration_hook(lambda n, name, p: seen.append(("parameter", name))),
            module.register_module_module_registration_hook(lambda n, name, p: seen.append(("module", name))),
            module.register_module_buffer_registration_hook(lambda n, name, p: seen.append(("buffer", name))),
        ]
        try:
            n = net(m)
            n(m.ones(5, 3, requires_grad=True)).sum().backward()
        finally:
            for handle in handles:
                handle.remove()
        net(m)(m.ones(5, 3))
        return seen

    same(program)


def two(m: Any) -> Any:
    class Two(m.nn.Module):
        def forward(self, a: Any, b: Any) -> Any:
            return a * 2, b * 3

    return Two()


def test_full_backward_hooks() -> None:
    def program(m: Any) -> Any:
        seen: list[Any] = []
        n = two(m)
        n.register_full_backward_hook(lambda module, gi, go: seen.append(("hook", gi, go)))
        n.register_full_backward_pre_hook(lambda module, go: seen.append(("pre", go)))
        a, b = m.ones(2, requires_grad=True), m.ones(2, requires_grad=True)
        out = n(a, b)
        seen.append([type(out[0].grad_fn).__name__, out[0]._is_view(),
                     [type(fn).__name__ for fn, _ in out[0].grad_fn.next_functions]])
        out[0].sum().backward()
        seen += [a.grad, b.grad]
        out = n(a, m.ones(2))
        seen.append([t.requires_grad for t in out])
        out[0].sum().backward()
        n(m.ones(2), m.ones(2))
        with m.no_grad():
            n(a, b)
        return seen

    same(program)


def test_backward_hooks_change_gradients() -> None:
    def program(m: Any) -> Any:
        n = m.nn.Linear(2, 2)
        n.register_full_backward_hook(lambda module, gi, go: (gi[0] * 2,))
        n.register_full_backward_hook(lambda module, gi, go: (gi[0] + 1,), prepend=True)
        n.register_full_backward_pre_hook(lambda module, go: (go[0] * 5,))
        x = m.ones(1, 2, requires_grad=True)
        n(x).sum().backward()
        return x.grad, n.weight.grad

    same(program)


@pytest.mark.parametrize("kind", ["too few", "too few pre", "no inputs", "no inputs, wrong", "list output",
                                  "mixed kinds"])
def test_backward_hook_trouble(kind: str) -> None:
    def program(m: Any) -> Any:
        n = m.nn.Linear(2, 2)
        seen: list[Any] = []
        x = m.ones(1, 2, requires_grad="no inputs" not in kind)
        if kind == "too few":
            n.register_full_backward_hook(lambda *_: ())
        elif kind == "too few pre":
            n.register_full_backward_pre_hook(lambda *_: ())
        elif kind == "no inputs":
            n.register_full_backward_hook(lambda module, gi, go: seen.append((gi, go)))
        elif kind == "no inputs, wrong":
            n.register_full_backward_hook(lambda module, gi, go: (m.ones(1),))
        elif kind == "list output":
            class Lists(m.nn.Module):
                def forward(self, x: Any) -> Any:
                    return [x * 2]

            n = Lists()
            n.register_full_backward_hook(lambda *_: None)
            return n(x)[0]
        else:
            n.register_full_backward_hook(lambda *_: None)
            n.register_backward_hook(lambda *_: None)
        n(x).sum().backward()
        return seen

    same(program)


def test_inplace_on_a_hooked_output() -> None:
    def program(m: Any) -> Any:
        n = m.nn.Sequential(m.nn.Linear(2, 2), m.nn.ReLU(inplace=True))
        n[1].register_full_backward_hook(lambda *_: None)
        n(m.ones(3, 2))

    same(program)


def test_old_backward_hooks() -> None:
    def program(m: Any) -> Any:
        seen: list[Any] = []
        n = m.nn.ReLU()
        n.register_backward_hook(lambda module, gi, go: seen.append((type(module).__name__, gi, go)))
        x = m.ones(2, requires_grad=True)
        n(x * 2).sum().backward()
        k = m.nn.Sequential(m.nn.ReLU(), m.nn.Tanh())
        k.register_backward_hook(lambda module, gi, go: None)
        k(x * 2).sum().backward()
        return seen, x.grad

    same(program)


def test_double_backward_through_hooks() -> None:
    def program(m: Any) -> Any:
        n = m.nn.Linear(2, 2)
        seen: list[Any] = []
        n.register_full_backward_hook(lambda module, gi, go: seen.append((gi[0].requires_grad, go[0].requires_grad)))
        x = m.ones(1, 2, requires_grad=True)
        g, = m.autograd.grad((n(x) ** 2).sum(), x, create_graph=True)
        g.sum().backward()
        return seen, x.grad, n.weight.grad

    same(program)


def test_zero_grad_apply_and_conversion_keep_identity() -> None:
    def program(m: Any) -> Any:
        n = net(m)
        n(m.ones(5, 3)).sum().backward()
        parameters = list(n.parameters())
        n.double()
        seen: list[Any] = [all(p is q for p, q in zip(parameters, n.parameters(), strict=True)),
                           [(p.grad.dtype is m.float64, p.grad.shape) for p in parameters]]
        n.zero_grad(set_to_none=False)
        seen.append([p.grad for p in parameters])
        n.zero_grad()
        seen.append([p.grad for p in parameters])
        names: list[str] = []
        n.apply(lambda module: names.append(type(module).__name__))
        return seen, names

    same(program)


def test_copies_and_pickles() -> None:
    def program(m: Any) -> Any:
        n = m.nn.Sequential(m.nn.Linear(2, 3), m.nn.BatchNorm1d(3), m.nn.ReLU(), m.nn.CrossEntropyLoss())
        n[0].register_forward_hook(_double_output)
        seen = []
        for other in (copy.deepcopy(n), pickle.loads(pickle.dumps(n))):
            same_values = all((p == q).all() for p, q in zip(n.parameters(), other.parameters(), strict=True))
            seen.append([repr(other), same_values, other[0].weight is not n[0].weight, other[0](m.ones(1, 2)),
                         type(other[0].weight).__name__, other[0].weight.requires_grad])
        return seen

    same(program)


def _double_output(module: Any, args: Any, out: Any) -> Any:
    return out * 2


def test_container_methods() -> None:
    def program(m: Any) -> Any:
        relu, tanh, linear = m.nn.ReLU(), m.nn.Tanh(), m.nn.Linear(1, 1)
        s = m.nn.Sequential(relu)
        s.append(tanh).insert(1, linear)
        s.extend([m.nn.Sigmoid()])
        s[0] = m.nn.GELU()
        seen = [repr(s), len(s), s.pop(1) is linear, repr(s)]
        del s[0:1]
        s += m.nn.Sequential(relu)
        s *= 2
        seen.append(repr(s))
        k = m.nn.ModuleList([relu])
        k.append(tanh)
        k.insert(0, linear)
        k += [relu]
        k[1] = m.nn.SiLU()
        seen += [repr(k), repr(k[1:]), repr(k.__add__([tanh])), k.pop(0) is linear, k[-1] is relu, [*k._modules]]
        d = m.nn.ModuleDict({"a": relu})
        d["b"] = tanh
        d.update(m.nn.ModuleDict({"c": linear}))
        seen += [list(d), "a" in d, len(d), d.pop("a") is relu, [*d.keys()], repr(d)]
        d.clear()
        seen.append(len(d))
        ps = m.nn.ParameterList([m.ones(1), m.zeros(2)])
        ps += [m.ones(3)]
        ps[0] = m.ones(4)
        seen += [len(ps), repr(ps), repr(ps[1:]), [name for name, _ in ps.named_parameters()], ps[-1]]
        pd = m.nn.ParameterDict({"b": m.ones(1), "a": m.zeros(2)})
        pd["c"] = m.ones(3)
        seen += [list(pd), list(reversed(pd)), repr(pd), pd.get("z", 5), pd.setdefault("d", m.ones(1)), pd.popitem()[0],
                 pd.pop("a"), list(pd.items()), repr(pd | m.nn.ParameterDict({"q": m.ones(1)})),
                 repr(pd.fromkeys(["k"], 1))]
        return seen

    same(program)


def test_lazy_linear() -> None:
    def program(m: Any) -> Any:
        n = m.nn.LazyLinear(3)
        seen = [repr(n), repr(n.weight), list(n.state_dict())]
        m.manual_seed(1)
        seen.append(n(m.ones(2, 4)))
        other = m.nn.LazyLinear(3)
        other.load_state_dict(n.state_dict())
        return seen, repr(n), type(n).__name__, n.weight, other.weight, other(m.ones(2, 4))

    same(program)


def test_uninitialized_shape() -> None:
    same_error(lambda: torch.nn.LazyLinear(3).weight.shape, lambda: whygrad.nn.LazyLinear(3).weight.shape)


NO_VALUES_YET = {
    "w + 1": lambda m, w: w + 1, "1 + w": lambda m, w: 1 + w, "x + w": lambda m, w: m.ones(3) + w, "-w": lambda m, w: -w,
    "w == w": lambda m, w: w == w, "w @ w": lambda m, w: w @ w, "bool": lambda m, w: bool(w), "numel": lambda m, w: w.numel(),
    "sum": lambda m, w: w.sum(), "detach": lambda m, w: w.detach(), "clone": lambda m, w: w.clone(),
    "zero_": lambda m, w: w.zero_(), "item": lambda m, w: w.item(), "dim": lambda m, w: w.dim(), "view": lambda m, w: w.view(-1),
    "init": lambda m, w: m.nn.init.zeros_(w), "size": lambda m, w: (list(w.size()), w.size(0)),
    "dtype": lambda m, w: str(w.double().dtype).split(".")[1],
    "attributes": lambda m, w: (repr(w), w.requires_grad, w.is_leaf, w.grad, w.ndim, isinstance(hash(w), int)),
}


@pytest.mark.parametrize("name", NO_VALUES_YET)
@pytest.mark.parametrize("owner", ["LazyLinear(3).weight", "LazyBatchNorm1d().running_mean"])
def test_uninitialized(owner: str, name: str) -> None:
    def outcome(m: Any) -> Any:
        tensor = eval(f"nn.{owner}", {"nn": m.nn})
        try:
            return NO_VALUES_YET[name](m, tensor)
        except ValueError as error:
            return str(error)

    assert outcome(whygrad) == outcome(torch)


def test_names_that_programs_import() -> None:
    from whygrad.nn.modules.batchnorm import _BatchNorm
    from whygrad.nn.modules.loss import _Loss
    from whygrad.nn.modules.module import Module, register_module_forward_hook

    from whygrad.nn.modules import container
    from whygrad.nn.parameter import Parameter

    nn = whygrad.nn
    assert container.Sequential is nn.Sequential is nn.modules.Sequential
    assert issubclass(nn.BatchNorm2d, _BatchNorm)
    assert issubclass(nn.MSELoss, _Loss)
    assert (Module, Parameter) == (nn.Module, nn.Parameter)
    assert register_module_forward_hook is nn.hooks.register_module_forward_hook


def test_arguments_are_called_as_in_torch() -> None:
    """`criterion(input=x, target=y)`."""
    modules = [name for name, kind in vars(torch.nn).items() if inspect.isclass(kind) and issubclass(kind, torch.nn.Module)]
    wrong = {}
    for name in set(modules) - {"Container", "NLLLoss2d"}:  # deprecated, and not there
        for method in ("__init__", "forward"):
            functions = [getattr(getattr(lib.nn, name), method) for lib in (torch, whygrad)]
            theirs, ours = [list(inspect.signature(function).parameters) for function in functions]
            if ours != theirs:
                wrong[name] = theirs, ours
    assert not wrong
    same(lambda m: m.nn.MSELoss()(m.ones(2)))
    same(lambda m: m.nn.CosineEmbeddingLoss()(m.ones(1, 2), m.zeros(1, 2), target=m.ones(1)))


def test_call_without_hooks_is_just_forward() -> None:
    n = whygrad.nn.Identity()
    marker = object()
    assert n(marker) is marker
    buffer = io.BytesIO()
    pickle.dump(n, buffer)
    assert_same(torch.nn.Identity()(torch.ones(1)), n(whygrad.ones(1)))
