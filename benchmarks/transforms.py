"""Functions of functions: Jacobians, Hessians, per-sample gradients and a gradient penalty.

Workloads of the same kind as those of workloads.py, which lists them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Run = Callable[[], Any]


def _network(torch: Any, *sizes: int) -> tuple[Any, dict[str, Any]]:
    torch.manual_seed(0)
    layers: list[Any] = []
    for i in range(len(sizes) - 1):
        layers += [torch.nn.Linear(sizes[i], sizes[i + 1]), torch.nn.Tanh()]
    module = torch.nn.Sequential(*layers[:-1])
    return module, {name: p.detach() for name, p in module.named_parameters()}


def jacobian(torch: Any) -> Run:
    """jacrev of a 64-128-32 network towards its input."""
    module, parameters = _network(torch, 64, 128, 32)
    x = torch.randn(64)
    function = torch.func.jacrev(lambda x: torch.func.functional_call(module, parameters, (x,)))
    return lambda: function(x)


def forward_jacobian(torch: Any) -> Run:
    """jacfwd of a 32-128-64 network towards its input."""
    module, parameters = _network(torch, 32, 128, 64)
    x = torch.randn(32)
    function = torch.func.jacfwd(lambda x: torch.func.functional_call(module, parameters, (x,)))
    return lambda: function(x)


def hessian(torch: Any) -> Run:
    """The Hessian of a 32-64-1 network towards its input."""
    module, parameters = _network(torch, 32, 64, 1)
    x = torch.randn(32)
    function = torch.func.hessian(lambda x: torch.func.functional_call(module, parameters, (x,)).squeeze(0))
    return lambda: function(x)


def per_sample_gradients(torch: Any) -> Run:
    """vmap of grad over 64 samples of a 32-64-10 network."""
    module, parameters = _network(torch, 32, 64, 10)
    x, y = torch.randn(64, 32), torch.randint(0, 10, (64,))

    def loss(parameters: Any, x: Any, y: Any) -> Any:
        return torch.nn.functional.cross_entropy(torch.func.functional_call(module, parameters, (x[None],)), y[None])

    function = torch.func.vmap(torch.func.grad(loss), (None, 0, 0))
    return lambda: function(parameters, x, y)


def per_sample_convolutions(torch: Any) -> Run:
    """The same over 32 images of 1x14x14, two convolutions."""
    torch.manual_seed(0)
    nn = torch.nn
    module = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3), nn.ReLU(), nn.Flatten(),
                           nn.Linear(256, 10))
    parameters = {name: p.detach() for name, p in module.named_parameters()}
    x, y = torch.randn(32, 1, 14, 14), torch.randint(0, 10, (32,))

    def loss(parameters: Any, x: Any, y: Any) -> Any:
        return torch.nn.functional.cross_entropy(torch.func.functional_call(module, parameters, (x[None],)), y[None])

    function = torch.func.vmap(torch.func.grad(loss), (None, 0, 0))
    return lambda: function(parameters, x, y)


def gradient_penalty(torch: Any) -> Run:
    """The gradient of (|d f / d x| - 1)² over 64 samples towards the parameters of a 32-64-1 network."""
    module, parameters = _network(torch, 32, 64, 1)
    x = torch.randn(64, 32)

    def penalty(parameters: Any) -> Any:
        slope = torch.func.grad(lambda x: torch.func.functional_call(module, parameters, (x,)).sum())
        norms = torch.func.vmap(slope)(x).pow(2).sum(1).sqrt()
        return (norms - 1).pow(2).mean()

    function = torch.func.grad(penalty)
    return lambda: function(parameters)


TRANSFORMS: dict[str, tuple[Callable[[Any], Run], int]] = {
    "jacobian, reverse": (jacobian, 1),
    "jacobian, forward": (forward_jacobian, 1),
    "hessian": (hessian, 1),
    "per-sample gradients": (per_sample_gradients, 1),
    "per-sample convolutions": (per_sample_convolutions, 1),
    "gradient penalty": (gradient_penalty, 1),
}
