"""The programs that are timed. Each function gets the module (`torch` or `whygrad`) and returns the thing to time.

A workload is (function, how many operations one call stands for, how many calls make one measurement).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.training import TRAINING
from benchmarks.transforms import TRANSFORMS

Run = Callable[[], Any]


def small_chain(torch: Any) -> Run:
    """y = y * w, 64 floats, forward and backward: the cost of one op."""
    w = torch.full((64,), 1.0001, requires_grad=True)
    x = torch.ones(64, requires_grad=True)

    def run() -> None:
        y = x
        for _ in range(1000):
            y = y * w
        y.sum().backward()
        w.grad = x.grad = None

    return run


def mixed_small_ops(torch: Any) -> Run:
    """Different small ops with broadcasting, reductions and shapes."""
    w = torch.full((8, 8), 0.1, requires_grad=True)
    b = torch.ones(8, requires_grad=True)
    x = torch.ones(8, 8)

    def run() -> None:
        y = x
        for _ in range(100):
            y = torch.tanh(y @ w + b)
            y = (y * 2.0 - y.mean(dim=0)).relu()
            y = y / (y.sum(dim=1, keepdim=True) + 1.0)
            y = y.reshape(4, 16).reshape(8, 8).transpose(0, 1)
        y.sum().backward()
        w.grad = b.grad = None

    return run


def long_chain(torch: Any) -> Run:
    """200,000 nodes built, walked and freed."""
    x = torch.ones(1, requires_grad=True)

    def run() -> None:
        y = x
        for _ in range(200_000):
            y = y * 1.0000001
        y.backward()
        x.grad = None

    return run


def _mlp(torch: Any, *sizes: int) -> Any:
    torch.manual_seed(0)
    layers: list[Any] = []
    for i in range(len(sizes) - 1):
        layers += [torch.nn.Linear(sizes[i], sizes[i + 1]), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1])


def tiny_mlp_step(torch: Any) -> Run:
    """A training step of a 16-32-32-1 network by plain SGD."""
    model = _mlp(torch, 16, 32, 32, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x, target = torch.randn(8, 16), torch.randn(8, 1)

    def run() -> None:
        for _ in range(50):
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(model(x), target)
            loss.backward()
            optimizer.step()

    return run


def mlp_adam_step(torch: Any) -> Run:
    """A training step of a 784-256-256-10 classifier with Adam, batch 64."""
    model = _mlp(torch, 784, 256, 256, 10)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    x, target = torch.randn(64, 784), torch.randint(0, 10, (64,))

    def run() -> None:
        for _ in range(5):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(x), target)
            loss.backward()
            optimizer.step()

    return run


def double_backward(torch: Any) -> Run:
    """A gradient penalty on a small network: differentiate the norm of a gradient."""
    model = _mlp(torch, 16, 32, 32, 1)
    x = torch.randn(8, 16, requires_grad=True)

    def run() -> None:
        for _ in range(20):
            out = model(x).tanh().sum()
            (g,) = torch.autograd.grad(out, x, create_graph=True)
            (g * g).sum().backward()
            model.zero_grad()
            x.grad = None

    return run


def inplace_and_views(torch: Any) -> Run:
    """Slices written in place, rows read back."""
    w = torch.ones(16, requires_grad=True)

    def run() -> None:
        for _ in range(20):
            buffer = torch.zeros(8, 16)
            for i in range(8):
                buffer[i] = w * float(i)
            buffer.mul_(0.5)
            (buffer[2] + buffer[5:7].sum(0)).sum().backward()
        w.grad = None

    return run


def no_grad_ops(torch: Any) -> Run:
    """Small ops with gradients switched off."""
    x = torch.ones(64)

    def run() -> None:
        with torch.no_grad():
            y = x
            for _ in range(1000):
                y = y * 1.0001 + 0.5

    return run


# name -> (workload, operations in one call)
WORKLOADS: dict[str, tuple[Callable[[Any], Run], int]] = {
    "small-op chain": (small_chain, 1000),
    "mixed small ops": (mixed_small_ops, 1000),
    "200,000-node chain": (long_chain, 200_000),
    "tiny MLP step": (tiny_mlp_step, 50),
    "MLP + Adam step": (mlp_adam_step, 5),
    "double backward": (double_backward, 20),
    "in-place and views": (inplace_and_views, 20),
    "ops under no_grad": (no_grad_ops, 2000),
    **TRAINING,
    **TRANSFORMS,
}
