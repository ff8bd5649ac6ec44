"""Modules under transforms: functional_call, stacked modules, per-sample gradients, against torch."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
from both import agree


def model(t: Any) -> Any:
    t.manual_seed(0)
    nn = t.nn
    return nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.LayerNorm(5), nn.Linear(5, 3))


def data(t: Any) -> Any:
    return t.arange(24.0).reshape(6, 4).sin(), t.tensor([0, 2, 1, 1, 0, 2])


def parameters(module: Any) -> Any:
    return {name: p.detach() for name, p in module.named_parameters()}


def loss(t: Any, module: Any) -> Any:
    return lambda p, x, y: t.nn.functional.cross_entropy(t.func.functional_call(module, p, (x[None],)), y[None])


def per_sample_gradients(t: Any) -> Any:
    module = model(t)
    return t.func.vmap(t.func.grad(loss(t, module)), (None, 0, 0))(parameters(module), *data(t))


def ensemble(t: Any) -> Any:
    t.manual_seed(0)
    modules = [t.nn.Sequential(t.nn.Linear(4, 5), t.nn.ReLU(), t.nn.Linear(5, 3)) for _ in range(3)]
    params, buffers = t.func.stack_module_state(modules)
    x, _ = data(t)
    result = t.func.vmap(lambda p, b: t.func.functional_call(modules[0], (p, b), (x,)))(params, buffers)
    return result, {name: p.requires_grad for name, p in params.items()}


def convolutions(t: Any) -> Any:
    t.manual_seed(0)
    nn = t.nn
    module = nn.Sequential(nn.Conv2d(1, 3, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(3, 4, 3, groups=1), nn.Flatten(),
                           nn.Linear(4, 3))
    x = t.arange(144.0).reshape(4, 1, 6, 6).sin()
    y = t.tensor([0, 2, 1, 1])
    return t.func.vmap(t.func.grad(loss(t, module)), (None, 0, 0))(parameters(module), x, y)


def attention(t: Any) -> Any:
    t.manual_seed(0)
    module = t.nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True)
    x = t.arange(48.0).reshape(3, 4, 4).sin()
    return t.func.vmap(t.func.grad(lambda p, x: t.func.functional_call(module, p, (x[None],)).pow(2).sum()), (None, 0))(
        parameters(module), x)


def embeddings(t: Any) -> Any:
    t.manual_seed(0)
    module = t.nn.Sequential(t.nn.Embedding(7, 4, padding_idx=0), t.nn.Linear(4, 2))
    index = t.tensor([[0, 1, 3], [2, 2, 6]])
    return t.func.vmap(t.func.grad(lambda p, i: t.func.functional_call(module, p, (i,)).pow(2).sum()), (None, 0))(
        parameters(module), index)


def batch_norm_without_tracking(t: Any) -> Any:
    t.manual_seed(0)
    module = t.nn.BatchNorm1d(4, track_running_stats=False)
    return t.func.vmap(lambda x: module(x).detach())(t.arange(48.0).reshape(2, 6, 4).sin())


def batch_norm_tracking(t: Any) -> Any:
    return t.func.vmap(t.nn.BatchNorm1d(4))(t.arange(48.0).reshape(2, 6, 4).sin())


def jacobian(t: Any) -> Any:
    module = model(t)
    x, _ = data(t)
    return t.func.jacrev(lambda p: t.func.functional_call(module, p, (x,)))(parameters(module))


def forward_jacobian(t: Any) -> Any:
    module = model(t)
    x, _ = data(t)
    return t.func.jacfwd(lambda x: t.func.functional_call(module, parameters(module), (x,)))(x[0])


def hessian(t: Any) -> Any:
    module = model(t)
    x, _ = data(t)
    return t.func.hessian(lambda x: t.func.functional_call(module, parameters(module), (x,)).logsumexp(-1))(x[0])


def hessian_vector_product(t: Any) -> Any:
    module = model(t)
    x, y = data(t)
    p = parameters(module)
    return t.func.jvp(t.func.grad(lambda p: loss(t, module)(p, x[0], y[0])), (p,), ({n: v * 2 for n, v in p.items()},))[1]


def tied(t: Any) -> Any:
    module = t.nn.Linear(2, 2, bias=False)
    module.other = module.weight
    p = {"weight": t.ones(2, 2)}
    out = t.func.functional_call(module, p, (t.ones(2),))
    return out, module.other is module.weight


def strict(t: Any) -> Any:
    return t.func.functional_call(t.nn.Linear(2, 2), {"weight": t.ones(2, 2), "more": t.ones(1)}, (t.ones(2),), strict=True)


def repeated(t: Any) -> Any:
    p = {"weight": t.ones(2, 2)}
    return t.func.functional_call(t.nn.Linear(2, 2), (p, p), (t.ones(2),))


def no_dicts(t: Any) -> Any:
    return t.func.functional_call(t.nn.Linear(2, 2), 3, (t.ones(2),))


def no_modules(t: Any) -> Any:
    return t.func.stack_module_state([])


def modules_differ(t: Any) -> Any:
    return t.func.stack_module_state([t.nn.Linear(2, 2), t.nn.Tanh()])


def modes_differ(t: Any) -> Any:
    return t.func.stack_module_state([t.nn.Linear(2, 2), t.nn.Linear(2, 2).eval()])


def with_functorch(name: str, *args: Any, **kwargs: Any) -> Any:
    """A call of functorch, whose functions all warn."""

    def program(t: Any) -> Any:
        t.manual_seed(0)
        functorch = importlib.import_module("functorch" if t.__name__ == "torch" else "whygrad.compat.functorch")
        with pytest.warns(FutureWarning) as caught:
            result = getattr(functorch, name)(*[a(t) for a in args], **kwargs)
        return str(caught[0].message), called(t, *result) if isinstance(result, tuple) else result

    return program


def called(t: Any, function: Any, params: Any, *buffers: Any) -> Any:
    x = t.arange(8.0).reshape(2, 4).sin()
    if params[0].ndim == 3:
        return t.func.vmap(function, (0, 0, None))(params, *buffers, x), params
    return function(params, *buffers, x), params, [type(p).__name__ for p in params], [type(b).__name__ for b in buffers]


def batch_normed(t: Any) -> Any:
    return t.nn.Sequential(t.nn.Linear(4, 3), t.nn.BatchNorm1d(3)).eval()


def tied_linears(t: Any) -> Any:
    module = t.nn.Sequential(t.nn.Linear(4, 4), t.nn.Linear(4, 4))
    module[1].weight = module[0].weight
    return module


def in_chunks(t: Any) -> Any:
    home = "functorch.experimental" if t.__name__ == "torch" else "whygrad.compat.functorch.experimental"
    chunk_vmap = importlib.import_module(home).chunk_vmap
    x = t.arange(21.0).reshape(7, 3)
    return [chunk_vmap(lambda row, y: (row * y).sum(), (0, None), chunks=n)(x, x[0]) for n in (1, 2, 4, 9)]


FUNCTORCH = {
    "make_functional": with_functorch("make_functional", model),
    "make_functional, untracked": with_functorch("make_functional", model, disable_autograd_tracking=True),
    "make_functional of tied weights": with_functorch("make_functional", tied_linears),
    "make_functional with buffers": with_functorch("make_functional", batch_normed),
    "make_functional_with_buffers": with_functorch("make_functional_with_buffers", batch_normed),
    "combine_state_for_ensemble": with_functorch("combine_state_for_ensemble", lambda t: [t.nn.Linear(4, 3) for _ in range(3)]),
    "combine no models": with_functorch("combine_state_for_ensemble", lambda t: []),
    "combine different models": with_functorch("combine_state_for_ensemble", lambda t: [t.nn.ReLU(), t.nn.Tanh()]),
    "hessian": lambda t: with_functorch("hessian", lambda t: lambda x: x.sin().sum())(t)[0],
    "vmap": lambda t: with_functorch("vmap", lambda t: t.sin)(t)[0],
    "chunk_vmap": in_chunks,
}


@pytest.mark.parametrize("name", FUNCTORCH)
def test_functorch(name: str) -> None:
    agree(FUNCTORCH[name], 1e-5)


CASES = (per_sample_gradients, ensemble, convolutions, attention, embeddings, batch_norm_without_tracking, batch_norm_tracking,
         jacobian, forward_jacobian, hessian, hessian_vector_product, tied, strict, repeated, no_dicts, no_modules,
         modules_differ, modes_differ)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_modules(case: Any) -> None:
    agree(case, rtol=5e-5)
