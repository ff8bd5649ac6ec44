"""Training steps, each as a function that makes (the step, its arguments for a number of steps, the tensors it changes).

`torch` is whygrad or torch; the benchmark runs the same programs on both.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

Step = tuple[Callable[..., Any], Callable[[], tuple[Any, ...]], list[Any]]


def _mlp(torch: Any, *sizes: int, act: Any = None) -> Any:
    layers: list[Any] = []
    for a, b in itertools.pairwise(sizes):
        layers += [torch.nn.Linear(a, b), (act or torch.nn.ReLU)()]
    return torch.nn.Sequential(*layers[:-1])


def tiny_mlp(torch: Any) -> Step:
    model = _mlp(torch, 2, 16, 16, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step, lambda: (torch.randn(8, 2), torch.randn(8, 1)), list(model.parameters())


def classifier(torch: Any, optimizer: str = "Adam", sizes: tuple[int, ...] = (784, 256, 128, 10), batch: int = 64) -> Step:
    model = _mlp(torch, *sizes)
    opt = getattr(torch.optim, optimizer)(model.parameters(), lr=1e-3)

    def step(x: Any, y: Any) -> Any:
        opt.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        opt.step()
        return loss.detach()

    return step, lambda: (torch.randn(batch, sizes[0]), torch.randint(0, sizes[-1], (batch,))), list(model.parameters())


def wide_mlp(torch: Any) -> Step:
    return classifier(torch, "AdamW", (1024, 2048, 1024), 128)


def gradient_penalty(torch: Any) -> Step:
    model = _mlp(torch, 16, 32, 32, 1, act=torch.nn.Tanh)
    opt = torch.optim.SGD(model.parameters(), lr=0.01)

    def step(x: Any) -> Any:
        opt.zero_grad()
        x = x.detach().requires_grad_()
        (g,) = torch.autograd.grad(model(x).sum(), x, create_graph=True)
        loss = ((g.norm(dim=1) - 1) ** 2).mean()
        loss.backward()
        opt.step()
        return loss

    return step, lambda: (torch.randn(8, 16),), list(model.parameters())


def pointwise(torch: Any, n: int = 4_000_000) -> Step:
    def step(x: Any) -> Any:
        return (torch.sigmoid(x) + torch.tanh(x).abs().clamp(0.1, 0.9) * torch.exp(-x * x)).mean()

    return step, lambda: (torch.randn(n),), []


class Block:
    """A transformer block; made late because there are two libraries."""

    def __new__(cls, torch: Any, width: int, heads: int) -> Any:
        nn, F = torch.nn, torch.nn.functional

        class Attention(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.n1, self.n2 = nn.LayerNorm(width), nn.LayerNorm(width)
                self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
                self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
                self.drop = nn.Dropout(0.1)

            def forward(self, x: Any) -> Any:
                b, t, c = x.shape
                q, k, v = self.qkv(self.n1(x)).split(c, dim=2)
                q, k, v = (z.view(b, t, heads, c // heads).transpose(1, 2) for z in (q, k, v))
                y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
                x = x + self.drop(self.out(y.transpose(1, 2).reshape(b, t, c)))
                return x + self.drop(self.down(F.gelu(self.up(self.n2(x)))))

        return Attention()


def gpt(torch: Any, width: int = 64, layers: int = 2, tokens: int = 32, batch: int = 4, vocabulary: int = 65) -> Step:
    nn = torch.nn

    class GPT(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(tokens, width)
            self.blocks = nn.ModuleList([Block(torch, width, 4) for _ in range(layers)])
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)

        def forward(self, i: Any) -> Any:
            x = self.tokens(i) + self.places(torch.arange(i.shape[1]))
            for block in self.blocks:
                x = block(x)
            return self.head(self.norm(x))

    model = GPT()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def step(i: Any, y: Any) -> Any:
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(i).view(-1, vocabulary), y.view(-1))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        return loss

    return step, lambda: (torch.randint(0, vocabulary, (batch, tokens)), torch.randint(0, vocabulary, (batch, tokens))), list(
        model.parameters())


def lstm(torch: Any, steps: int = 16) -> Step:
    model = torch.nn.LSTM(64, 128, batch_first=True)
    head = torch.nn.Linear(128, 10)
    params = [*model.parameters(), *head.parameters()]
    opt = torch.optim.Adam(params, lr=1e-3)

    def step(x: Any, y: Any) -> Any:
        opt.zero_grad()
        out, _ = model(x)
        loss = torch.nn.functional.cross_entropy(head(out[:, -1]), y)
        loss.backward()
        opt.step()
        return loss

    return step, lambda: (torch.randn(16, steps, 64), torch.randint(0, 10, (16,))), params


def cnn(torch: Any, batch: int = 8) -> Step:
    nn = torch.nn
    model = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
                          nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10))
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

    def step(x: Any, y: Any) -> Any:
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        opt.step()
        return loss

    return step, lambda: (torch.randn(batch, 3, 16, 16), torch.randint(0, 10, (batch,))), [*model.parameters(), *model.buffers()]


def pinn(torch: Any, points: int = 128) -> Step:
    """The heat equation u_t = u_xx, with second derivatives by autograd."""
    model = _mlp(torch, 2, 64, 64, 64, 64, 1, act=torch.nn.Tanh)
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)

    def step(x: Any, t: Any) -> Any:
        x, t = x.detach().requires_grad_(), t.detach().requires_grad_()
        u = model(torch.cat([x, t], 1))
        u_x, u_t = torch.autograd.grad(u.sum(), (x, t), create_graph=True)
        (u_xx,) = torch.autograd.grad(u_x.sum(), x, create_graph=True)
        start = model(torch.cat([x, torch.zeros_like(x)], 1))
        loss = ((u_t - 0.1 * u_xx) ** 2).mean() + ((start - torch.sin(3.14159 * x)) ** 2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss

    return step, lambda: (torch.rand(points, 1), torch.rand(points, 1)), list(model.parameters())


def reinforce(torch: Any) -> Step:
    policy = _mlp(torch, 4, 32, 2, act=torch.nn.Tanh)
    opt = torch.optim.Adam(policy.parameters(), lr=1e-2)

    def step(states: Any, actions: Any, returns: Any) -> Any:
        advantage = (returns - returns.mean()) / (returns.std() + 1e-6)
        log_p = torch.log_softmax(policy(states), -1).gather(1, actions[:, None]).squeeze(1)
        entropy = -(torch.softmax(policy(states), -1) * torch.log_softmax(policy(states), -1)).sum(-1).mean()
        loss = -(log_p * advantage).mean() - 0.01 * entropy
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss

    return step, lambda: (torch.randn(64, 4), torch.randint(0, 2, (64,)), torch.randn(64)), list(policy.parameters())


def maml(torch: Any) -> Step:
    model = _mlp(torch, 1, 40, 40, 1)
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    names = [name for name, _ in model.named_parameters()]

    def step(x: Any, y: Any, x2: Any, y2: Any) -> Any:
        fast = list(model.parameters())
        for _ in range(2):
            inner = torch.nn.functional.mse_loss(torch.func.functional_call(model, dict(zip(names, fast, strict=True)), (x,)), y)
            grads = torch.autograd.grad(inner, fast, create_graph=True)
            fast = [p - 0.01 * g for p, g in zip(fast, grads, strict=True)]
        loss = torch.nn.functional.mse_loss(torch.func.functional_call(model, dict(zip(names, fast, strict=True)), (x2,)), y2)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss

    return step, lambda: tuple(torch.randn(10, 1) for _ in range(4)), list(model.parameters())


def neural_ode(torch: Any) -> Step:
    field = _mlp(torch, 2, 32, 2, act=torch.nn.Tanh)
    opt = torch.optim.Adam(field.parameters(), lr=1e-3)

    def step(y: Any, target: Any) -> Any:
        h = 0.1
        for _ in range(10):
            k1 = field(y)
            k2 = field(y + h / 2 * k1)
            k3 = field(y + h / 2 * k2)
            k4 = field(y + h * k3)
            y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        loss = (y - target).abs().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss

    return step, lambda: (torch.randn(32, 2), torch.randn(32, 2)), list(field.parameters())


STEPS: dict[str, Callable[[Any], Step]] = {
    "tiny MLP": tiny_mlp, "gradient penalty": gradient_penalty, "pointwise": pointwise, "MLP, Adam": classifier,
    "wide MLP, AdamW": wide_mlp, "GPT": gpt,
    "LSTM": lstm, "CNN": cnn, "PINN": pinn, "REINFORCE": reinforce, "MAML": maml, "neural ODE": neural_ode}
