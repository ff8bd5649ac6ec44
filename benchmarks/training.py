"""Training steps of networks, and large arrays: what compiled kernels are for. Listed in workloads.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Run = Callable[[], Any]


def wide_mlp(torch: Any) -> Run:
    """1024-2048-1024, batch 256, AdamW."""
    nn = torch.nn
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(1024, 2048), nn.ReLU(), nn.Linear(2048, 1024))
    optimizer = torch.optim.AdamW(model.parameters())
    x, target = torch.randn(256, 1024), torch.randn(256, 1024)
    return _step(torch, optimizer, lambda: nn.functional.mse_loss(model(x), target))


def mlp_adam(torch: Any) -> Run:
    """784-256-128-10, batch 64, Adam."""
    nn = torch.nn
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 10))
    optimizer = torch.optim.Adam(model.parameters())
    x, target = torch.randn(64, 784), torch.randint(0, 10, (64,))
    return _step(torch, optimizer, lambda: nn.functional.cross_entropy(model(x), target))


def _step(torch: Any, optimizer: Any, loss: Callable[[], Any]) -> Run:
    def run() -> None:
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()

    return run


def small_gpt(torch: Any) -> Run:
    """4 layers, width 128, 4 heads, context 64, batch 8, AdamW."""
    nn, F = torch.nn, torch.nn.functional

    class Block(nn.Module):  # type: ignore[name-defined,misc]
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(128), nn.LayerNorm(128)
            self.qkv, self.out = nn.Linear(128, 384), nn.Linear(128, 128)
            self.widen, self.narrow = nn.Linear(128, 512), nn.Linear(512, 128)

        def forward(self, x: Any) -> Any:
            n, t, c = x.shape
            q, k, v = (part.view(n, t, 4, 32).transpose(1, 2) for part in self.qkv(self.norm1(x)).split(c, dim=2))
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(y.transpose(1, 2).contiguous().view(n, t, c))
            return x + self.narrow(F.gelu(self.widen(self.norm2(x))))

    class GPT(nn.Module):  # type: ignore[name-defined,misc]
        def __init__(self) -> None:
            super().__init__()
            self.token, self.position = nn.Embedding(96, 128), nn.Embedding(64, 128)
            self.blocks = nn.Sequential(*[Block() for _ in range(4)])
            self.norm, self.head = nn.LayerNorm(128), nn.Linear(128, 96, bias=False)

        def forward(self, tokens: Any) -> Any:
            return self.head(self.norm(self.blocks(self.token(tokens) + self.position(torch.arange(tokens.shape[1])))))

    torch.manual_seed(0)
    model = GPT()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    tokens = torch.randint(0, 96, (8, 65))
    return _step(torch, optimizer,
                 lambda: F.cross_entropy(model(tokens[:, :-1]).reshape(-1, 96), tokens[:, 1:].reshape(-1)))


def lstm(torch: Any) -> Run:
    """64 to 128, 64 steps, batch 32, Adam."""
    nn = torch.nn
    torch.manual_seed(0)
    model = nn.LSTM(64, 128)
    optimizer = torch.optim.Adam(model.parameters())
    x, target = torch.randn(64, 32, 64), torch.randn(64, 32, 128)
    return _step(torch, optimizer, lambda: nn.functional.mse_loss(model(x)[0], target))


def cnn(torch: Any) -> Run:
    """1, 16, 32 channels of 3x3 with pooling on 28x28, batch 32, Adam."""
    nn = torch.nn
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(),
                          nn.MaxPool2d(2), nn.Flatten(), nn.Linear(32 * 49, 10))
    optimizer = torch.optim.Adam(model.parameters())
    x, target = torch.randn(32, 1, 28, 28), torch.randint(0, 10, (32,))
    return _step(torch, optimizer, lambda: nn.functional.cross_entropy(model(x), target))


def residual_block(torch: Any) -> Run:
    """Two convolutions of 64 channels 3x3 with batch norm on 28x28, batch 16, SGD."""
    nn = torch.nn
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(64, 64, 3, padding=1, bias=False), nn.BatchNorm2d(64), nn.ReLU(),
                          nn.Conv2d(64, 64, 3, padding=1, bias=False), nn.BatchNorm2d(64))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x = torch.randn(16, 64, 28, 28)
    return _step(torch, optimizer, lambda: (torch.relu(model(x) + x) ** 2).mean())


def gradient_penalty(torch: Any) -> Run:
    """A critic of 64-128-128-1, batch 64: the norm of its input's gradient, differentiated."""
    nn = torch.nn
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 128), nn.Tanh(), nn.Linear(128, 128), nn.Tanh(), nn.Linear(128, 1))
    optimizer = torch.optim.Adam(model.parameters())
    x = torch.randn(64, 64, requires_grad=True)

    def loss() -> Any:
        (g,) = torch.autograd.grad(model(x).sum(), x, create_graph=True)
        return ((g.norm(2, dim=1) - 1) ** 2).mean()

    return _step(torch, optimizer, loss)


def _large(make: Callable[[Any], tuple[Any, ...]], function: Callable[..., Any]) -> Callable[[Any], Run]:
    """Forward and backward of one function of large arrays; the first of them wants a gradient."""

    def workload(torch: Any) -> Run:
        torch.manual_seed(0)
        x, *rest = make(torch)
        x.requires_grad_()

        def run() -> None:
            function(torch, x, *rest).sum().backward()
            x.grad = None

        return run

    workload.__doc__ = "One function of large arrays, forward and backward."
    return workload


def large_adam(torch: Any) -> Run:
    """One step of Adam for 4 million numbers."""
    torch.manual_seed(0)
    weight = torch.nn.Parameter(torch.randn(4_000_000))
    weight.grad = torch.randn(4_000_000)
    optimizer = torch.optim.Adam([weight])
    return lambda: optimizer.step()


def _pointwise(torch: Any, x: Any) -> Any:
    return (x.sigmoid().tanh().abs().clamp(0.1, 0.6).exp()).mean()


# name -> (workload, operations in one call)
TRAINING: dict[str, tuple[Callable[[Any], Run], int]] = {
    "MLP 784-256-128-10 + Adam": (mlp_adam, 1),
    "wide MLP + AdamW": (wide_mlp, 1),
    "small GPT + AdamW": (small_gpt, 1),
    "LSTM + Adam": (lstm, 1),
    "CNN + Adam": (cnn, 1),
    "residual block": (residual_block, 1),
    "gradient penalty": (gradient_penalty, 1),
    "pointwise, 4M floats": (_large(lambda T: (T.randn(4_000_000),), _pointwise), 1),
    "gelu": (_large(lambda T: (T.randn(4_000_000),), lambda T, x: T.nn.functional.gelu(x)), 1),
    "softmax": (_large(lambda T: (T.randn(4096, 1024),), lambda T, x: T.softmax(x, 1)), 1),
    "layer_norm": (_large(lambda T: (T.randn(8192, 768),), lambda T, x: T.nn.functional.layer_norm(x, (768,))), 1),
    "cross_entropy": (_large(lambda T: (T.randn(1024, 32000), T.randint(0, 32000, (1024,))),
                             lambda T, x, y: T.nn.functional.cross_entropy(x, y)), 1),
    "dropout": (_large(lambda T: (T.randn(4_000_000),), lambda T, x: T.nn.functional.dropout(x, 0.5)), 1),
    "embedding": (_large(lambda T: (T.randn(32000, 256), T.randint(0, 32000, (8192,))),
                         lambda T, x, i: T.nn.functional.embedding(i, x)), 1),
    "max_pool2d": (_large(lambda T: (T.randn(32, 64, 56, 56),), lambda T, x: T.nn.functional.max_pool2d(x, 2)), 1),
    "Adam, 4M floats": (large_adam, 1),
}
