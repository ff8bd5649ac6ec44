# ok
# evidence: reversal strength rose: True, label loss went down: True, target accuracy above 0.6: True
import math

import torch
import torch.nn.functional as F
from torch import nn


class ReverseGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, strength):
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return -ctx.strength * g, None


class DANN(nn.Module):
    def __init__(self, d=8, h=24):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(d, h), nn.ReLU())
        self.label = nn.Linear(h, 2)
        self.domain = nn.Sequential(nn.Linear(h, 16), nn.ReLU(), nn.Linear(16, 2))

    def forward(self, x, strength):
        h = self.features(x)
        return self.label(h), self.domain(ReverseGradient.apply(h, strength))


def source(n):
    y = torch.randint(0, 2, (n,))
    x = torch.randn(n, 8)
    x[:, 0] += 3.0 * y - 1.5
    return x, y


def target(n):
    x, y = source(n)
    x[:, 4:] += 1.0
    return x, y


def main():
    torch.manual_seed(49)
    model, total = DANN(), 60
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    strengths, losses = [], []
    for step in range(total):
        # starts at zero: the domain classifier does not disturb the untrained features
        lam = 2 / (1 + math.exp(-10 * step / total)) - 1
        (xs, ys), (xt, _) = source(32), target(32)
        logits, dom_s = model(xs, lam)
        _, dom_t = model(xt, lam)
        label_loss = F.cross_entropy(logits, ys)
        domain_loss = (F.cross_entropy(dom_s, torch.zeros(32, dtype=torch.long))
                       + F.cross_entropy(dom_t, torch.ones(32, dtype=torch.long)))
        loss = label_loss + 0.5 * domain_loss
        opt.zero_grad()
        loss.backward()
        opt.step()
        strengths.append(lam)
        losses.append(label_loss.item())
        if step % 15 == 14:
            print(f"step {step + 1} label {losses[-1]:.3f} domain {domain_loss.item():.3f} lambda {lam:.2f}")
    with torch.no_grad():
        x, y = target(256)
        acc = (model(x, 0.0)[0].argmax(1) == y).float().mean().item()
    print(f"reversal strength rose: {strengths[-1] > strengths[0]}, "
          f"label loss went down: {sum(losses[-6:]) < sum(losses[:6])}, target accuracy above 0.6: {acc > 0.6}")


if __name__ == "__main__":
    main()
