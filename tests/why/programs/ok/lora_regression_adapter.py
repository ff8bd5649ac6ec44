# ok
# evidence: base unchanged: True, starts equal to base: True, both factors moved: True, loss went down: True
import math

import torch
from torch import nn


class LoRALinear(nn.Module):
    def __init__(self, base, rank=4, alpha=8.0):
        super().__init__()
        self.base = base
        self.base.requires_grad_(False)
        self.lora_a = nn.Parameter(torch.empty(rank, base.in_features))
        self.lora_b = nn.Parameter(torch.zeros(base.out_features, rank))
        nn.init.kaiming_uniform_(self.lora_a, a=math.sqrt(5))
        self.scale = alpha / rank

    def forward(self, x):
        return self.base(x) + (x @ self.lora_a.T @ self.lora_b.T) * self.scale


def base_model():
    return nn.Sequential(nn.Linear(10, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 3))


def inject(model):
    for i, layer in enumerate(model):
        if isinstance(layer, nn.Linear):
            model[i] = LoRALinear(layer)
    return model


def fit(model, task, steps, lr):
    opt = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=lr)
    history = []
    for _ in range(steps):
        x = torch.randn(48, 10)
        loss = (model(x) - task(x)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        history.append(loss.item())
    return history


def main():
    torch.manual_seed(4)
    w1, w2 = torch.randn(10, 3) / 3, torch.randn(10, 3) / 3
    model = base_model()
    fit(model, lambda x: torch.tanh(x @ w1), 40, 1e-2)

    probe = torch.randn(16, 10)
    before = model(probe).detach()
    inject(model)
    equal_start = torch.allclose(before, model(probe).detach(), atol=1e-6)
    base = model[2].base.weight.clone()
    a0, b0 = model[2].lora_a.detach().clone(), model[2].lora_b.detach().clone()

    hist = fit(model, lambda x: torch.tanh(x @ w1) + 0.5 * torch.tanh(x @ w2), 60, 5e-3)
    for i in range(0, 60, 15):
        print(f"adapt {i}: {hist[i]:.4f}")
    moved = not torch.equal(a0, model[2].lora_a.detach()) and not torch.equal(b0, model[2].lora_b.detach())
    print(f"base unchanged: {torch.equal(base, model[2].base.weight)}, starts equal to base: {equal_start}, "
          f"both factors moved: {moved}, loss went down: {sum(hist[-8:]) < sum(hist[:8])}")


if __name__ == "__main__":
    main()
