"""Parameter groups, hooks, checkpoints, messages: what all optimizers share, against torch."""

from __future__ import annotations

import copy
import gc
import pickle
from typing import Any

import numpy as np
import pytest
import torch
from oracle import outcome_and_warnings

import whygrad
from whygrad import optim
from whygrad.optim.optimizer import (
    OPTIMIZERS,
    Optimizer,
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

LIBRARIES = (torch, whygrad)
NAMES = ["SGD", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "Adagrad", "Adadelta", "RMSprop", "Rprop", "ASGD",
         "Adafactor"]


def parameter(library: Any, *values: float) -> Any:
    p = library.tensor(list(values) or [1.0, -2.0], requires_grad=True)
    p.grad = library.tensor([0.5] * len(p._array if library is whygrad else p))
    return p


def seen(call: Any, library: Any) -> str:
    return str(outcome_and_warnings(lambda: repr(call(library)))).replace("whygrad", "torch")


ERRORS: dict[str, Any] = {
    "tensor instead of list": lambda t: t.optim.SGD(parameter(t)),
    "double tensor instead of list": lambda t: t.optim.SGD(parameter(t).double()),
    "no parameters": lambda t: t.optim.SGD([]),
    "number": lambda t: t.optim.SGD([parameter(t), 3.0]),
    "class": lambda t: t.optim.SGD([dict, parameter(t)]),
    "object": lambda t: t.optim.SGD([parameter(t), np.random.default_rng(0)]),
    "none": lambda t: t.optim.SGD([None]),
    "set": lambda t: t.optim.SGD([{"params": {parameter(t)}}]),
    "non-leaf": lambda t: t.optim.SGD([parameter(t) * 2]),
    "non-leaf allowed": lambda t: t.optim.SGD([parameter(t) * 2], differentiable=True),
    "no params key": lambda t: t.optim.SGD([{"lr": 1}]),
    "group is no dict": lambda t: t.optim.SGD([{"params": [parameter(t)]}, 3]),
    "duplicate": lambda t: t.optim.SGD([parameter(t)] * 2),
    "in two groups": lambda t: (lambda p: t.optim.SGD([{"params": p}, {"params": [p]}]))(parameter(t)),
    "some names missing": lambda t: t.optim.SGD([("a", parameter(t)), parameter(t)]),
    "named": lambda t: t.optim.SGD([("a", parameter(t)), ("b", parameter(t))]),
    "names in one group": lambda t: t.optim.SGD([{"params": [("a", parameter(t))]}, {"params": [parameter(t)]}]),
    "names in the other group": lambda t: t.optim.SGD([{"params": [parameter(t)]}, {"params": [("a", parameter(t))]}]),
    "required": lambda t: t.optim.Optimizer([parameter(t)], {"lr": __import__(
        f"{t.__name__}.optim.optimizer", fromlist=["required"]).required}),
    "base has no step": lambda t: t.optim.Optimizer([parameter(t)], {}).step(),
    "sgd nan": lambda t: t.optim.SGD([parameter(t)], lr=float("nan")),
    "sgd momentum": lambda t: t.optim.SGD([parameter(t)], momentum=-1),
    "sgd nesterov": lambda t: t.optim.SGD([parameter(t)], nesterov=True),
    "sgd nesterov dampening": lambda t: t.optim.SGD([parameter(t)], nesterov=True, momentum=0.9, dampening=0.1),
    "sgd string": lambda t: t.optim.SGD([parameter(t)], lr="fast"),
    "adam string": lambda t: t.optim.Adam([parameter(t)], lr="fast"),
    "adam nan": lambda t: t.optim.Adam([parameter(t)], lr=float("nan")),
    "adam int betas": lambda t: t.optim.Adam([parameter(t)], betas=(0, 0.9)),
    "adam foreach tensor": lambda t: t.optim.Adam([parameter(t)], lr=t.tensor(0.1), foreach=True),
    "adam foreach betas": lambda t: t.optim.Adam([parameter(t)], betas=(t.tensor(0.1), t.tensor(0.2)), foreach=True),
    "adadelta rho": lambda t: t.optim.Adadelta([parameter(t)], rho=1.1),
    "rprop etas": lambda t: t.optim.Rprop([parameter(t)], etas=(1.5, 0.5)),
    "rmsprop alpha": lambda t: t.optim.RMSprop([parameter(t)], alpha=-1),
    "nadam momentum_decay": lambda t: t.optim.NAdam([parameter(t)], momentum_decay=-0.2),
    "adagrad lr_decay": lambda t: t.optim.Adagrad([parameter(t)], lr_decay=-0.5),
    "adagrad start": lambda t: t.optim.Adagrad([parameter(t)], initial_accumulator_value=-0.5),
    "adafactor d": lambda t: t.optim.Adafactor([parameter(t)], d=0.5),
    "adafactor beta2_decay": lambda t: t.optim.Adafactor([parameter(t)], beta2_decay=0.5),
    "adafactor eps": lambda t: t.optim.Adafactor([parameter(t)], eps=(-1, 1)),
    "muon vector": lambda t: t.optim.Muon([parameter(t)]),
    "muon lr": lambda t: t.optim.Muon([parameter(t)], lr=-1),
    "muon adjustment": lambda t: t.optim.Muon([parameter(t)], adjust_lr_fn="huge"),
    "sparse adam": lambda t: t.optim.SparseAdam([parameter(t)]).step(),
    "sparse adam lr": lambda t: t.optim.SparseAdam([parameter(t)], lr=0.0),
    **{f"{name} lr": lambda t, name=name: getattr(t.optim, name)([parameter(t)], lr=-1) for name in NAMES},
    **{f"{name} lr tensor": lambda t, name=name: getattr(t.optim, name)([parameter(t)], lr=t.tensor([0.1, 0.2]))
       for name in NAMES},
    **{f"{name} weight_decay": lambda t, name=name: getattr(t.optim, name)([parameter(t)], weight_decay=-0.5)
       for name in NAMES if name != "Rprop"},
    **{f"{name} eps": lambda t, name=name: getattr(t.optim, name)([parameter(t)], eps=-1e-3)
       for name in NAMES if name not in ("SGD", "Rprop", "ASGD", "Adafactor")},
    **{f"{name} betas {betas}": lambda t, name=name, betas=betas: getattr(t.optim, name)([parameter(t)], betas=betas)
       for name in ("Adam", "AdamW", "Adamax", "NAdam", "RAdam") for betas in ((1.0, 0.9), (0.9, -1.0))},
    **{f"{name} capturable": lambda t, name=name: getattr(t.optim, name)([parameter(t)], capturable=True).step()
       for name in NAMES if name not in ("SGD", "Adagrad", "Adafactor")},
    **{f"{name} fused {other}": lambda t, name=name, other=other: getattr(t.optim, name)(
        [parameter(t)], fused=True, **{other: True}) for name in ("SGD", "Adam", "Adagrad")
       for other in ("differentiable", "foreach")},
}


@pytest.mark.parametrize("case", ERRORS)
def test_same_outcome(case: str) -> None:
    assert seen(ERRORS[case], whygrad) == seen(ERRORS[case], torch)


def test_fused_needs_floating_parameters() -> None:
    texts = []
    for library in LIBRARIES:
        p = library.from_numpy(np.array([1j])).requires_grad_()
        p.grad = library.from_numpy(np.array([1j]))
        with pytest.raises(RuntimeError) as caught:
            library.optim.Adam([p], fused=True).step()
        texts.append(str(caught.value))
    assert texts[0] == texts[1]


def as_numpy(value: Any) -> Any:
    """A state dict with arrays for tensors."""
    if isinstance(value, dict):
        return {key: as_numpy(x) for key, x in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(as_numpy(x) for x in value)
    if isinstance(value, torch.Tensor):
        return value.detach().numpy().copy()
    return value._array.copy() if isinstance(value, whygrad.Tensor) else value


def as_tensors(value: Any, library: Any) -> Any:
    if isinstance(value, dict):
        return {key: as_tensors(x, library) for key, x in value.items()}
    return library.from_numpy(value.copy()) if isinstance(value, np.ndarray) else value


def assert_equal(a: Any, b: Any) -> None:
    assert type(a) is type(b)
    if isinstance(a, dict):
        assert list(a) == list(b) or set(a) == set(b)
        for key in a:
            assert_equal(a[key], b[key])
    elif isinstance(a, list | tuple):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            assert_equal(x, y)
    elif isinstance(a, np.ndarray):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-7)
    else:
        assert a == b


def take_steps(optimizer: Any, params: list[Any], library: Any, count: int) -> None:
    for i in range(count):
        for p in params:
            p.grad = library.tensor([0.3 * (i + 1), -0.2])
        optimizer.step()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("direction", ["torch to whygrad", "whygrad to torch"])
def test_checkpoints_cross(name: str, direction: str) -> None:
    """A checkpoint of one library goes on in the other as it would have at home."""
    home, abroad = LIBRARIES if direction == "torch to whygrad" else LIBRARIES[::-1]
    options = {"momentum": 0.9} if name in ("SGD", "RMSprop") else {"amsgrad": True} if name == "Adam" else {}
    ours = [parameter(home), parameter(home, 3.0, 4.0)]
    optimizer = getattr(home.optim, name)([{"params": ours[:1]}, {"params": ours[1:], "lr": 0.2}], **options)
    take_steps(optimizer, ours, home, 3)
    checkpoint = as_numpy(optimizer.state_dict())

    theirs = [abroad.from_numpy(as_numpy(p)).requires_grad_() for p in ours]
    resumed = getattr(abroad.optim, name)([{"params": theirs[:1]}, {"params": theirs[1:]}])
    resumed.load_state_dict(as_tensors(checkpoint, abroad))
    assert_equal(as_numpy(resumed.state_dict()), checkpoint)
    take_steps(optimizer, ours, home, 3)
    take_steps(resumed, theirs, abroad, 3)
    for p, q in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(as_numpy(p), as_numpy(q), rtol=1e-5)
    assert_equal(as_numpy(resumed.state_dict()), as_numpy(optimizer.state_dict()))


def test_loaded_state_takes_the_dtype_of_the_parameter_but_step_keeps_its_own() -> None:
    p = parameter(whygrad)
    optimizer = optim.Adam([p])
    optimizer.step()
    q = whygrad.from_numpy(np.array([1.0, 2.0])).requires_grad_()
    other = optim.Adam([q])
    other.load_state_dict(optimizer.state_dict())
    assert other.state[q]["exp_avg"].dtype is whygrad.float64
    assert other.state[q]["step"].dtype is whygrad.float32


def test_old_checkpoints_have_numbers_for_steps_and_lack_options() -> None:
    p = parameter(whygrad)
    optimizer = optim.Adam([p])
    optimizer.step()
    checkpoint = optimizer.state_dict()
    checkpoint["state"][0]["step"] = 1
    for name in ("maximize", "foreach", "capturable", "fused"):
        del checkpoint["param_groups"][0][name]
    optimizer.load_state_dict(checkpoint)
    assert isinstance(optimizer.state[p]["step"], whygrad.Tensor)
    assert optimizer.param_groups[0]["maximize"] is False
    optimizer.step()


LOADS: dict[str, Any] = {
    "groups": lambda t: t.optim.SGD([parameter(t)]).load_state_dict(
        t.optim.SGD([{"params": parameter(t)}, {"params": parameter(t)}]).state_dict()),
    "sizes": lambda t: t.optim.SGD([parameter(t)]).load_state_dict(
        t.optim.SGD([parameter(t), parameter(t)]).state_dict()),
}


@pytest.mark.parametrize("case", LOADS)
def test_loading_errors(case: str) -> None:
    assert seen(LOADS[case], whygrad) == seen(LOADS[case], torch)


def test_names_of_parameters_survive_loading() -> None:
    named = optim.SGD([("a", parameter(whygrad))])
    plain = optim.SGD([parameter(whygrad)])
    named.load_state_dict(plain.state_dict())
    assert named.param_groups[0]["param_names"] == ["a"]
    plain.load_state_dict(named.state_dict())
    assert plain.param_groups[0]["param_names"] == ["a"]


@pytest.mark.parametrize("library", LIBRARIES, ids=["torch", "whygrad"])
def test_hooks(library: Any) -> None:
    events: list[str] = []

    def note(event: str) -> Any:
        return lambda *args: events.append(event)

    optimizer = library.optim.SGD([parameter(library)])
    module = __import__(f"{library.__name__}.optim.optimizer", fromlist=["x"])
    handles = [
        module.register_optimizer_step_pre_hook(note("global pre")),
        module.register_optimizer_step_post_hook(note("global post")),
        optimizer.register_step_pre_hook(note("pre")),
        optimizer.register_step_post_hook(note("post")),
        optimizer.register_state_dict_pre_hook(note("state pre")),
        optimizer.register_state_dict_pre_hook(note("state first"), prepend=True),
        optimizer.register_state_dict_post_hook(note("state post")),
        optimizer.register_load_state_dict_pre_hook(note("load pre")),
        optimizer.register_load_state_dict_post_hook(note("load post")),
    ]
    optimizer.step()
    optimizer.load_state_dict(optimizer.state_dict())
    assert events == ["global pre", "pre", "post", "global post", "state first", "state pre", "state post", "load pre",
                      "load post"]
    for handle in handles:
        handle.remove()
    events.clear()
    optimizer.step()
    assert events == []


def test_hooks_may_replace_what_they_see() -> None:
    optimizer = optim.SGD([parameter(whygrad)])
    seen = []
    optimizer.register_step_pre_hook(lambda opt, args, kwargs: ((opt,), {"closure": lambda: seen.append(1)}))
    optimizer.step()
    assert seen == [1]
    optimizer.register_state_dict_post_hook(lambda opt, state: {**state, "extra": 1})
    assert optimizer.state_dict()["extra"] == 1
    optimizer.register_step_pre_hook(lambda opt, args, kwargs: 3)
    with pytest.raises(RuntimeError, match="must return None or a tuple of"):
        optimizer.step()


def test_global_hooks_reach_optimizers_of_users() -> None:
    class Mine(Optimizer):
        def step(self, closure: Any = None) -> None:
            events.append("step")

    events: list[str] = []
    mine = Mine([parameter(whygrad)], {})
    with (register_optimizer_step_pre_hook(lambda *_: events.append("pre")),
          register_optimizer_step_post_hook(lambda *_: events.append("post"))):
        mine.step()
    assert events == ["pre", "step", "post"]


def test_zero_grad() -> None:
    p = parameter(whygrad)
    optimizer = optim.SGD([p])
    grad = p.grad
    optimizer.zero_grad(set_to_none=False)
    assert p.grad is grad
    assert grad._array.tolist() == [0.0, 0.0]
    optimizer.zero_grad()
    assert p.grad is None
    for _ in range(10):
        p.grad = whygrad.tensor([1.0, 1.0])
        optimizer.zero_grad()
    kind, (code, _), _ = p.meta.grad_log[-1]
    assert (kind, code.co_name) == ("cleared", "test_zero_grad")
    assert len(p.meta.grad_log) == 1


def test_zero_grad_detaches_a_gradient_with_history() -> None:
    p = parameter(whygrad)
    x = parameter(whygrad)
    p.grad = x * 2
    optim.SGD([p]).zero_grad(set_to_none=False)
    assert p.grad.grad_fn is None
    assert not p.grad.requires_grad


def test_optimizers_are_known_while_they_live() -> None:
    optimizer = optim.Adam([parameter(whygrad)])
    assert optimizer in OPTIMIZERS
    assert optimizer._site[0].co_name == "test_optimizers_are_known_while_they_live"
    before = len(OPTIMIZERS)
    del optimizer
    gc.collect()
    assert len(OPTIMIZERS) < before


@pytest.mark.parametrize("name", NAMES)
def test_copies_and_pickles(name: str) -> None:
    p = parameter(whygrad)
    optimizer = getattr(optim, name)([p])
    optimizer.step()
    for twin in (copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))):
        q = twin.param_groups[0]["params"][0]
        assert q is not p
        assert repr(twin) == repr(optimizer)
        assert_equal(as_numpy(twin.state_dict()), as_numpy(optimizer.state_dict()))
        q.grad = whygrad.tensor([1.0, 1.0])
        twin.step()


def test_an_optimizer_of_the_user() -> None:
    """The usual way to write one, on tensors."""
    ends = []
    for library in LIBRARIES:
        class SignDescent(library.optim.Optimizer):  # type: ignore[name-defined,misc]
            def __init__(self, params: Any, lr: float) -> None:
                super().__init__(params, {"lr": lr})

            @library.no_grad()
            def step(self, closure: Any = None) -> None:
                for group in self.param_groups:
                    for p in group["params"]:
                        if p.grad is not None:
                            p.add_(p.grad.sign(), alpha=-group["lr"])

        p = parameter(library)
        optimizer = SignDescent([p], lr=0.1)
        optimizer.step()
        ends.append(as_numpy(p).tolist())
    assert ends[0] == ends[1]
