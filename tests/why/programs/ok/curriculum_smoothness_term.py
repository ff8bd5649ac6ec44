# ok
# evidence: steps without the term: 20, roughness fell after it set in: True, loss went down: True
import torch
import torch.nn.functional as F
from torch import nn


class DepthNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(1, 12, 3, padding=1)
        self.c2 = nn.Conv2d(12, 12, 3, padding=1)
        self.c3 = nn.Conv2d(12, 1, 3, padding=1)

    def forward(self, x):
        x = F.silu(self.c1(x))
        return self.c3(F.silu(self.c2(x)))


def smoothness(d):
    return (d[..., 1:] - d[..., :-1]).abs().mean() + (d[..., 1:, :] - d[..., :-1, :]).abs().mean()


def slopes(n):
    g = torch.linspace(-1, 1, 8)
    a, b = torch.randn(n, 1, 1, 1), torch.randn(n, 1, 1, 1)
    depth = a * g.view(1, 1, 1, 8) + b * g.view(1, 1, 8, 1)
    return depth + 0.4 * torch.randn(n, 1, 8, 8), depth


def main():
    torch.manual_seed(47)
    begin, total = 20, 60
    model = DepthNet()
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    fit, rough, without = [], [], 0
    for step in range(total):
        img, depth = slopes(16)
        pred = model(img)
        loss = F.l1_loss(pred, depth)
        reg = smoothness(pred)
        fit.append(loss.item())
        rough.append((reg / smoothness(depth)).item())
        if step >= begin:              # the regulariser joins when the fit is usable
            loss = loss + 0.3 * reg
        else:
            without += 1
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 10 == 9:
            print(f"step {step + 1} l1 {fit[-1]:.3f} relative roughness {rough[-1]:.3f}")
    print(f"steps without the term: {without}, roughness fell after it set in: "
          f"{sum(rough[-8:]) < sum(rough[12:20])}, loss went down: {sum(fit[-8:]) < sum(fit[:8])}")


if __name__ == "__main__":
    main()
