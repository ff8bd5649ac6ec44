# ok
# evidence: lr rose then fell: True, lr zero only after the last step: True, loss went down: True
import math

import torch
from torch import nn


def warmup_cosine(warmup, total):
    def factor(step):
        if step < warmup:
            return (step + 1) / warmup
        progress = (step - warmup) / (total - warmup)
        return 0.5 * (1.0 + math.cos(math.pi * progress))
    return factor


class Attention1D(nn.Module):
    """Finds the largest element's value by attention over positions."""

    def __init__(self, dim=16):
        super().__init__()
        self.embed = nn.Linear(1, dim)
        self.score = nn.Sequential(nn.Linear(dim, dim), nn.GELU(), nn.Linear(dim, 1, bias=False))
        self.value = nn.Linear(dim, 1)

    def forward(self, x):
        h = self.embed(x.unsqueeze(-1))
        w = self.score(h).softmax(dim=1)
        return (w * self.value(h)).sum(1).squeeze(-1)


def main():
    torch.manual_seed(2)
    total, warmup = 60, 10
    model = Attention1D()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-2)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, warmup_cosine(warmup, total))
    used, losses = [], []
    for step in range(total):
        x = torch.rand(64, 6)
        target = x.max(dim=1).values
        loss = nn.functional.mse_loss(model(x), target)
        optimizer.zero_grad()
        loss.backward()
        used.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
        if step % 15 == 0:
            print(f"step {step:3d} lr {used[-1]:.5f} loss {losses[-1]:.5f}")
    rose_fell = used[0] < used[warmup] and used[-1] < used[warmup]
    end = min(used) > 0 and optimizer.param_groups[0]["lr"] < 1e-9
    print(f"lr rose then fell: {rose_fell}, lr zero only after the last step: {end}, "
          f"loss went down: {sum(losses[-5:]) < sum(losses[:5])}")


if __name__ == "__main__":
    main()
